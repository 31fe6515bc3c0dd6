//! Trees of rules as Remy writes them: one protobuf message `WhiskerTree`, which it calls DNA.

use super::error::TreeError;
use super::tree::{AXES, Action, DEEPEST, Domain, Tree};
use super::wire::{Fields, Value};

impl Tree {
    /// Reads the message.
    pub fn from_dna(bytes: &[u8]) -> Result<Self, TreeError> {
        let mut tree = Self { nodes: Vec::new(), actions: Vec::new() };
        tree.read_node(bytes, 0)?;
        Ok(tree)
    }

    /// Reads a node with all below it; returns its box and its index.
    fn read_node(&mut self, bytes: &[u8], depth: usize) -> Result<(Domain, usize), TreeError> {
        const DOMAIN: u64 = 1;
        const CHILDREN: u64 = 2;
        const LEAF: u64 = 3;
        if depth > DEEPEST {
            return Err(TreeError::Invalid("it is more than 64 levels deep"));
        }
        let (mut domain, mut leaf, mut children) = (Domain::ALL, None, Vec::new());
        for field in Fields::of(bytes) {
            match field? {
                (DOMAIN, Value::Bytes(bytes)) => domain = read_domain(bytes)?,
                (CHILDREN, Value::Bytes(bytes)) => children.push(self.read_node(bytes, depth + 1)?),
                (LEAF, Value::Bytes(bytes)) => leaf = Some(read_action(bytes)?),
                _ => {}
            }
        }
        Ok((domain, self.push_node(leaf, children)?))
    }
}

fn read_domain(bytes: &[u8]) -> Result<Domain, TreeError> {
    const LOWER: u64 = 11;
    const UPPER: u64 = 12;
    let mut domain = Domain::ALL;
    for field in Fields::of(bytes) {
        match field? {
            (LOWER, Value::Bytes(bytes)) => read_memory(bytes, &mut domain.lower)?,
            (UPPER, Value::Bytes(bytes)) => read_memory(bytes, &mut domain.upper)?,
            _ => {}
        }
    }
    domain.check()
}

/// Reads the fields that are there; the others keep their value.
fn read_memory(bytes: &[u8], memory: &mut [f64; AXES]) -> Result<(), TreeError> {
    const FIRST: u64 = 21;
    for field in Fields::of(bytes) {
        if let (number, Value::Double(value)) = field? {
            let axis = number.checked_sub(FIRST).and_then(|axis| usize::try_from(axis).ok());
            let Some(slot) = axis.and_then(|axis| memory.get_mut(axis)) else {
                return Err(TreeError::Invalid("it looks at more than the four fields of 2014"));
            };
            if !value.is_finite() {
                return Err(TreeError::Invalid("a bound of a box is not a number"));
            }
            *slot = value;
        }
    }
    Ok(())
}

fn read_action(bytes: &[u8]) -> Result<Action, TreeError> {
    const INCREMENT: u64 = 31;
    const MULTIPLE: u64 = 32;
    const INTERSEND: u64 = 33;
    let (mut increment, mut multiple, mut intersend) = (None, None, None);
    for field in Fields::of(bytes) {
        match field? {
            (INCREMENT, Value::Varint(value)) => increment = Some(zigzag(value) as f64),
            (MULTIPLE, Value::Double(value)) => multiple = Some(value),
            (INTERSEND, Value::Double(value)) => intersend = Some(value),
            _ => {}
        }
    }
    let (Some(increment), Some(multiple), Some(intersend_ms)) = (increment, multiple, intersend) else {
        return Err(TreeError::Invalid("an action lacks its increment, multiple or time between packets"));
    };
    Action { increment, multiple, intersend_ms }.check()
}

/// A signed number as protobuf's `sint32` writes it.
fn zigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}
