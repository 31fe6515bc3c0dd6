//! A tree of rules: which action belongs to which memory.

use super::wire::{Fields, Value, WireError};

/// Where memory ends: no field reaches this (`MemoryRange`).
const END: f64 = 163_840.0;
/// Fields of a memory.
const AXES: usize = 4;
/// No tree is deeper than this.
const DEEPEST: usize = 64;
/// A window never exceeds this, packets.
pub(super) const MOST_WINDOW: f64 = 1_000_000.0;

/// Why a file is not a tree.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TreeError {
    /// It is not a message at all.
    #[error("not a tree of rules: {0}")]
    Wire(#[from] WireError),
    /// A part that every tree has is missing or makes no sense.
    #[error("not a tree of rules that this scheme can follow: {0}")]
    Invalid(&'static str),
}

/// What a sender remembers: moving averages of the times between packets sent and between packets received
/// (milliseconds), the last round trip over the shortest, and a slower average of the times between packets received.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Memory(pub [f64; AXES]);

/// A box of memories: each field at least `lower`, less than `upper`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Domain {
    /// The least of each field.
    pub lower: [f64; AXES],
    /// What each field stays below.
    pub upper: [f64; AXES],
}

impl Domain {
    /// All memories.
    pub const ALL: Self = Self { lower: [0.0; AXES], upper: [END; AXES] };

    fn contains(&self, memory: Memory) -> bool {
        (0..AXES).all(|axis| self.lower[axis] <= memory.0[axis] && memory.0[axis] < self.upper[axis])
    }
}

/// What to do: window = `multiple` x window + `increment`, and at least `intersend_ms` between packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Action {
    /// Packets added.
    pub increment: f64,
    /// Share of the window that is kept.
    pub multiple: f64,
    /// Milliseconds from packet to packet.
    pub intersend_ms: f64,
}

impl Action {
    /// What training begins with (Remy, `OptimizationSettings`): one packet per ack, 3 ms apart.
    pub const UNTRAINED: Self = Self { increment: 1.0, multiple: 1.0, intersend_ms: 3.0 };

    /// The window after an ack, in whole packets.
    pub(super) fn window(&self, window: f64) -> f64 {
        (window * self.multiple + self.increment).trunc().clamp(0.0, MOST_WINDOW)
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    /// Boxes and what lies in them.
    Fork(Vec<(Domain, usize)>),
    /// Index of an action.
    Leaf(usize),
}

/// A tree of rules.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    /// The root is the last one.
    nodes: Vec<Node>,
    actions: Vec<Action>,
}

impl Tree {
    /// One rule for all memories.
    pub fn single(action: Action) -> Self {
        Self { nodes: vec![Node::Leaf(0)], actions: vec![action] }
    }

    /// Reads what Remy writes: one protobuf message `WhiskerTree`.
    pub fn from_dna(bytes: &[u8]) -> Result<Self, TreeError> {
        let mut tree = Self { nodes: Vec::new(), actions: Vec::new() };
        tree.read(bytes, 0)?;
        Ok(tree)
    }

    /// The actions; their order is that of the file.
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// The actions, to be changed.
    pub fn actions_mut(&mut self) -> &mut [Action] {
        &mut self.actions
    }

    /// Index of the action for a memory. Memories outside of all boxes are moved to the nearest edge of all memories,
    /// and where boxes leave a gap the last of them counts.
    pub fn find(&self, memory: Memory) -> usize {
        let memory =
            Memory(memory.0.map(|field| if field.is_finite() { field.clamp(0.0, END.next_down()) } else { 0.0 }));
        let mut node = self.nodes.len() - 1;
        loop {
            match &self.nodes[node] {
                Node::Leaf(action) => return *action,
                Node::Fork(children) => {
                    let inside = children.iter().find(|(domain, _)| domain.contains(memory));
                    let Some((_, child)) = inside.or(children.last()) else { return 0 };
                    node = *child;
                }
            }
        }
    }

    /// Reads a node with all below it; returns its box and its index.
    fn read(&mut self, bytes: &[u8], depth: usize) -> Result<(Domain, usize), TreeError> {
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
                (CHILDREN, Value::Bytes(bytes)) => children.push(self.read(bytes, depth + 1)?),
                (LEAF, Value::Bytes(bytes)) => leaf = Some(read_action(bytes)?),
                _ => {}
            }
        }
        let node = match (leaf, children.is_empty()) {
            (Some(action), true) => {
                self.actions.push(action);
                Node::Leaf(self.actions.len() - 1)
            }
            (None, false) => Node::Fork(children),
            (None, true) => return Err(TreeError::Invalid("a node has neither an action nor children")),
            (Some(_), false) => return Err(TreeError::Invalid("a node has an action and children")),
        };
        self.nodes.push(node);
        Ok((domain, self.nodes.len() - 1))
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
    if (0..AXES).all(|axis| domain.lower[axis] < domain.upper[axis]) {
        Ok(domain)
    } else {
        Err(TreeError::Invalid("a box of memories is empty"))
    }
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
    let is_sound =
        increment.abs() <= MOST_WINDOW && (0.0..=1_000.0).contains(&multiple) && (0.0..=1e6).contains(&intersend_ms);
    if is_sound {
        Ok(Action { increment, multiple, intersend_ms })
    } else {
        Err(TreeError::Invalid("an action has an increment beyond a million, a multiple or a time beyond all use"))
    }
}

/// A signed number as protobuf's `sint32` writes it.
fn zigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tag(out: &mut Vec<u8>, number: u64, wire: u64) {
        varint(out, number << 3 | wire);
    }

    fn varint(out: &mut Vec<u8>, mut value: u64) {
        while value >= 0x80 {
            out.push(value as u8 | 0x80);
            value >>= 7;
        }
        out.push(value as u8);
    }

    fn double(out: &mut Vec<u8>, number: u64, value: f64) {
        tag(out, number, 1);
        out.extend(value.to_le_bytes());
    }

    fn message(out: &mut Vec<u8>, number: u64, bytes: &[u8]) {
        tag(out, number, 2);
        varint(out, bytes.len() as u64);
        out.extend(bytes);
    }

    fn write_memory(fields: [f64; AXES]) -> Vec<u8> {
        let mut out = Vec::new();
        fields.iter().enumerate().for_each(|(axis, value)| double(&mut out, 21 + axis as u64, *value));
        out
    }

    fn write_domain(domain: &Domain) -> Vec<u8> {
        let mut out = Vec::new();
        message(&mut out, 11, &write_memory(domain.lower));
        message(&mut out, 12, &write_memory(domain.upper));
        out
    }

    fn write_action(action: &Action) -> Vec<u8> {
        let mut out = Vec::new();
        let increment = action.increment as i64;
        tag(&mut out, 31, 0);
        varint(&mut out, ((increment << 1) ^ (increment >> 63)) as u64);
        double(&mut out, 32, action.multiple);
        double(&mut out, 33, action.intersend_ms);
        out
    }

    fn write_node(tree: &Tree, domain: &Domain, node: usize) -> Vec<u8> {
        let mut out = Vec::new();
        message(&mut out, 1, &write_domain(domain));
        match &tree.nodes[node] {
            Node::Leaf(action) => message(&mut out, 3, &write_action(&tree.actions[*action])),
            Node::Fork(children) => {
                for (domain, child) in children {
                    message(&mut out, 2, &write_node(tree, domain, *child));
                }
            }
        }
        // Fields that nobody reads are skipped.
        message(&mut out, 4, b"configuration");
        out
    }

    /// A tree as Remy writes it.
    pub(in crate::scheme::remy) fn write(tree: &Tree) -> Vec<u8> {
        write_node(tree, &Domain::ALL, tree.nodes.len() - 1)
    }

    fn action() -> impl Strategy<Value = Action> {
        (-300_i32..300, 0.0..1.0, 0.0..30.0).prop_map(|(increment, multiple, intersend_ms)| Action {
            increment: f64::from(increment),
            multiple,
            intersend_ms,
        })
    }

    /// Splits a box in two along an axis, again and again.
    fn grow(tree: &mut Tree, domain: Domain, cuts: &mut Vec<(usize, f64)>, actions: &[Action], depth: usize) -> usize {
        let node = if let Some((axis, share)) = cuts.pop().filter(|_| depth < 6) {
            let middle = domain.lower[axis] + share * (domain.upper[axis] - domain.lower[axis]);
            let (mut low, mut high) = (domain, domain);
            (low.upper[axis], high.lower[axis]) = (middle, middle);
            let left = grow(tree, low, cuts, actions, depth + 1);
            let right = grow(tree, high, cuts, actions, depth + 1);
            Node::Fork(vec![(low, left), (high, right)])
        } else {
            tree.actions.push(actions[tree.actions.len() % actions.len()]);
            Node::Leaf(tree.actions.len() - 1)
        };
        tree.nodes.push(node);
        tree.nodes.len() - 1
    }

    fn tree() -> impl Strategy<Value = Tree> {
        let cuts = prop::collection::vec((0..AXES, 0.05..0.95), 0..20);
        (cuts, prop::collection::vec(action(), 1..10)).prop_map(|(mut cuts, actions)| {
            let mut tree = Tree { nodes: Vec::new(), actions: Vec::new() };
            grow(&mut tree, Domain::ALL, &mut cuts, &actions, 0);
            tree
        })
    }

    /// The action whose box holds a memory, by looking at every leaf.
    fn search(tree: &Tree, node: usize, domain: &Domain, memory: Memory) -> Option<usize> {
        match &tree.nodes[node] {
            Node::Leaf(action) => domain.contains(memory).then_some(*action),
            Node::Fork(children) => children.iter().find_map(|(domain, child)| search(tree, *child, domain, memory)),
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(tree in tree()) {
            prop_assert_eq!(Tree::from_dna(&write(&tree)), Ok(tree));
        }

        #[test]
        fn the_rule_of_a_memory_is_the_one_whose_box_holds_it(tree in tree(), fields in [0.0..END, 0.0..END, 0.0..END, 0.0..END]) {
            let found = search(&tree, tree.nodes.len() - 1, &Domain::ALL, Memory(fields));
            prop_assert_eq!(Some(tree.find(Memory(fields))), found);
        }

        #[test]
        fn any_bytes_are_a_tree_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Tree::from_dna(&bytes);
        }

        #[test]
        fn a_damaged_file_is_a_tree_or_an_error(tree in tree(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>()) {
            let mut bytes = write(&tree);
            let index = at.index(bytes.len());
            bytes[index] = byte;
            bytes.truncate(cut.index(bytes.len()) + 1);
            if let Ok(tree) = Tree::from_dna(&bytes) {
                prop_assert!(tree.find(Memory([1.0; AXES])) < tree.actions.len());
            }
        }
    }

    #[test]
    fn memories_beyond_all_boxes_are_moved_to_the_edge() {
        let mut tree = Tree { nodes: Vec::new(), actions: Vec::new() };
        let actions = [Action::UNTRAINED, Action { increment: 2.0, ..Action::UNTRAINED }];
        grow(&mut tree, Domain::ALL, &mut vec![(2, 0.5)], &actions, 0);
        for (ratio, action) in [(-1.0, 0), (0.0, 0), (81_919.0, 0), (81_920.0, 1), (1e300, 1), (f64::NAN, 0)] {
            assert_eq!(tree.find(Memory([1.0, 1.0, ratio, 1.0])), action, "{ratio}");
        }
    }

    #[test]
    fn errors_say_what_is_wrong() {
        let complaint = |bytes: &[u8]| Tree::from_dna(bytes).expect_err("no tree").to_string();
        assert!(complaint(b"").contains("neither an action nor children"));
        assert!(complaint(b"\x1a\x05abc").contains("byte 1"), "{}", complaint(b"\x1a\x05abc"));
        assert!(complaint(b"\x1a\x00").contains("lacks its increment"));
        let mut newer = Vec::new();
        double(&mut newer, 25, 1.0);
        let (mut range, mut node) = (Vec::new(), Vec::new());
        message(&mut range, 11, &newer);
        message(&mut node, 1, &range);
        assert!(complaint(&node).contains("four fields"));
        let mut deep = write(&Tree::single(Action::UNTRAINED));
        for _ in 0..70 {
            let mut out = Vec::new();
            message(&mut out, 2, &deep);
            deep = out;
        }
        assert!(complaint(&deep).contains("64 levels"));
    }
}
