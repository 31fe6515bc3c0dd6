//! A tree of rules: which action belongs to which memory.

use serde::{Deserialize, Serialize};

use super::json::JsonError;
use super::wire::{Fields, Value, WireError};

/// Where memory ends: no field reaches this (`MemoryRange`).
const END: f64 = 163_840.0;
/// Fields of a memory.
pub const AXES: usize = 4;
/// No tree is deeper than this.
pub(super) const DEEPEST: usize = 64;
/// A window never exceeds this, packets.
pub(super) const MOST_WINDOW: f64 = 1_000_000.0;
/// Weights of a new time in the averages (`memory.cc`).
const ALPHA: f64 = 1.0 / 8.0;
const SLOW_ALPHA: f64 = 1.0 / 256.0;

/// Why a file is not a tree.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TreeError {
    /// It is not a message at all.
    #[error("not a tree of rules: {0}")]
    Wire(#[from] WireError),
    /// It begins as JSON does, and is none.
    #[error("not a tree of rules: {0}")]
    Json(#[from] JsonError),
    /// A part that every tree has is missing or makes no sense.
    #[error("not a tree of rules that this scheme can follow: {0}")]
    Invalid(&'static str),
}

/// What a sender remembers: moving averages of the times between packets sent and between packets received
/// (milliseconds), the last round trip over the shortest, and a slower average of the times between packets received.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Memory(pub [f64; AXES]);

impl Memory {
    /// A packet was acknowledged: milliseconds since the one before it was sent, and since that was received.
    pub fn average(&mut self, sent_ms: f64, received_ms: f64) {
        let [send_ewma, rec_ewma, _, slow_rec_ewma] = &mut self.0;
        *send_ewma += ALPHA * (sent_ms - *send_ewma);
        *rec_ewma += ALPHA * (received_ms - *rec_ewma);
        *slow_rec_ewma += SLOW_ALPHA * (received_ms - *slow_rec_ewma);
    }

    /// The last round trip over the shortest.
    pub fn set_rtt_ratio(&mut self, ratio: f64) {
        self.0[2] = ratio;
    }
}

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

    /// Whether a memory lies in the box.
    pub fn contains(&self, memory: Memory) -> bool {
        (0..AXES).all(|axis| self.lower[axis] <= memory.0[axis] && memory.0[axis] < self.upper[axis])
    }

    /// The two parts of the box below and from `at` on.
    fn cut(&self, axis: usize, at: f64) -> [Self; 2] {
        let (mut low, mut high) = (*self, *self);
        (low.upper[axis], high.lower[axis]) = (at, at);
        [low, high]
    }

    pub(super) fn check(self) -> Result<Self, TreeError> {
        let is_sound = (0..AXES).all(|axis| {
            let bounds = [self.lower[axis], self.upper[axis]];
            bounds.iter().all(|bound| bound.is_finite()) && bounds[0] < bounds[1]
        });
        if is_sound { Ok(self) } else { Err(TreeError::Invalid("a box of memories is empty")) }
    }
}

/// What to do: window = `multiple` x window + `increment`, and at least `intersend_ms` between packets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Action {
    /// Packets added.
    pub increment: f64,
    /// Share of the window that is kept.
    pub multiple: f64,
    /// Milliseconds from packet to packet.
    pub intersend_ms: f64,
}

impl Action {
    /// What Remy's training begins with by itself (`OptimizationSettings`): one packet per ack, 3 ms apart; ours begins
    /// with 15.
    pub const UNTRAINED: Self = Self { increment: 1.0, multiple: 1.0, intersend_ms: 3.0 };

    /// The window after an ack, in whole packets.
    pub fn window(&self, window: f64) -> f64 {
        (window * self.multiple + self.increment).trunc().clamp(0.0, MOST_WINDOW)
    }

    pub(super) fn check(self) -> Result<Self, TreeError> {
        let is_sound = self.increment.abs() <= MOST_WINDOW
            && (0.0..=1_000.0).contains(&self.multiple)
            && (0.0..=1e6).contains(&self.intersend_ms);
        if is_sound {
            Ok(self)
        } else {
            Err(TreeError::Invalid("an action has an increment beyond a million, a multiple or a time beyond all use"))
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    /// Boxes and what lies in them.
    Fork(Vec<(Domain, usize)>),
    /// Index of an action.
    Leaf(usize),
}

/// A tree of rules.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    /// The root is the last one.
    pub(super) nodes: Vec<Node>,
    pub(super) actions: Vec<Action>,
}

impl Tree {
    /// One rule for all memories.
    pub fn single(action: Action) -> Self {
        Self { nodes: vec![Node::Leaf(0)], actions: vec![action] }
    }

    /// Reads a file, be it JSON or Remy's.
    pub fn read(bytes: &[u8]) -> Result<Self, TreeError> {
        // No message of Remy's begins with a brace: that would be a field 15.
        if bytes.trim_ascii_start().first() == Some(&b'{') { Self::from_json(bytes) } else { Self::from_dna(bytes) }
    }

    /// Reads what Remy writes: one protobuf message `WhiskerTree`.
    pub fn from_dna(bytes: &[u8]) -> Result<Self, TreeError> {
        let mut tree = Self { nodes: Vec::new(), actions: Vec::new() };
        tree.read_node(bytes, 0)?;
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

    /// The box of each action, in their order.
    pub fn domains(&self) -> Vec<Domain> {
        let mut domains = vec![Domain::ALL; self.actions.len()];
        for node in &self.nodes {
            let Node::Fork(children) = node else { continue };
            for (domain, child) in children {
                if let Node::Leaf(action) = self.nodes[*child] {
                    domains[action] = *domain;
                }
            }
        }
        domains
    }

    /// The tree with the box of one action cut in two along each axis for which there is a value inside of it. All
    /// parts have the action of the whole. Actions are counted anew, from the first branch to the last.
    pub fn split(&self, action: usize, cuts: [Option<f64>; AXES]) -> Self {
        let mut tree = Self { nodes: Vec::new(), actions: Vec::new() };
        self.copy_to(&mut tree, self.nodes.len() - 1, Domain::ALL, &|index, domain| {
            let mut parts = vec![domain];
            if index == action {
                for (axis, at) in cuts.into_iter().enumerate().filter_map(|(axis, cut)| Some((axis, cut?))) {
                    if domain.lower[axis] < at && at < domain.upper[axis] {
                        parts = parts.iter().flat_map(|part| part.cut(axis, at)).collect();
                    }
                }
            }
            parts
        });
        tree
    }

    /// Copies a node with all below it, each leaf as the parts that `parts` makes of its box; returns its index there.
    fn copy_to(
        &self,
        tree: &mut Self,
        node: usize,
        domain: Domain,
        parts: &dyn Fn(usize, Domain) -> Vec<Domain>,
    ) -> usize {
        let copy = match &self.nodes[node] {
            Node::Fork(children) => {
                let copies =
                    children.iter().map(|(domain, child)| (*domain, self.copy_to(tree, *child, *domain, parts)));
                Node::Fork(copies.collect())
            }
            Node::Leaf(action) => {
                let parts = parts(*action, domain);
                let mut leaves: Vec<_> =
                    parts.iter().map(|part| (*part, tree.push_leaf(self.actions[*action]))).collect();
                match leaves.pop() {
                    Some((_, only)) if leaves.is_empty() => return only,
                    last => {
                        leaves.extend(last);
                        Node::Fork(leaves)
                    }
                }
            }
        };
        tree.push(copy)
    }

    pub(super) fn push(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    pub(super) fn push_leaf(&mut self, action: Action) -> usize {
        self.actions.push(action);
        self.push(Node::Leaf(self.actions.len() - 1))
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

    /// Adds a leaf or a fork, whichever it is; returns its index.
    pub(super) fn push_node(
        &mut self,
        leaf: Option<Action>,
        children: Vec<(Domain, usize)>,
    ) -> Result<usize, TreeError> {
        match (leaf, children.is_empty()) {
            (Some(action), true) => Ok(self.push_leaf(action)),
            (None, false) => Ok(self.push(Node::Fork(children))),
            (None, true) => Err(TreeError::Invalid("a node has neither an action nor children")),
            (Some(_), false) => Err(TreeError::Invalid("a node has an action and children")),
        }
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
        fn what_is_written_as_json_is_read(tree in tree()) {
            let text = serde_json::json!({"name": "test", "tree": tree.to_json()}).to_string();
            let read = Tree::read(text.as_bytes()).expect("a tree");
            // Reading a number may be off by its last bit.
            prop_assert_eq!(read.actions().len(), tree.actions().len());
            let domains = read.domains().into_iter().zip(tree.domains());
            let is_close = |(one, other): (f64, f64)| (one - other).abs() <= 1e-12 * other.abs();
            for (one, other) in domains {
                prop_assert!(one.lower.into_iter().zip(other.lower).all(is_close));
                prop_assert!(one.upper.into_iter().zip(other.upper).all(is_close));
            }
        }

        #[test]
        fn any_text_is_a_tree_or_an_error(text in "\\{\"tree\": ?[\\[{a-z\":0-9,.\\]}]{0,60}") {
            let _ = Tree::read(text.as_bytes());
        }

        #[test]
        fn a_split_rule_has_the_same_action_everywhere(tree in tree(), which in any::<prop::sample::Index>(), fields in [0.0..END, 0.0..END, 0.0..END, 0.0..END]) {
            let action = which.index(tree.actions().len());
            let domain = tree.domains()[action];
            // Half of the box along the first axis, nothing along the second, outside along the third, the edge along
            // the last.
            let cuts = [Some(f64::midpoint(domain.lower[0], domain.upper[0])), None, Some(END * 2.0), Some(domain.lower[3])];
            let split = tree.split(action, cuts);
            prop_assert_eq!(split.actions().len(), tree.actions().len() + 1);
            let memory = Memory(fields);
            let [one, other] = [&tree, &split].map(|tree| tree.actions()[tree.find(memory)]);
            prop_assert_eq!(one, other);
            prop_assert!(split.domains()[split.find(memory)].contains(memory));
            let halves = split.domains().into_iter().filter(|part| domain.contains(Memory(part.lower)));
            prop_assert_eq!(halves.count(), 2);
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
        // Where the rule does not look, it makes no difference.
        for field in [-1.0, END, 1e300, f64::INFINITY] {
            assert_eq!(tree.find(Memory([field, 1.0, 1.0, 1.0])), 0, "{field}");
        }
    }

    #[test]
    fn errors_say_what_is_wrong() {
        let complaint = |bytes: &[u8]| Tree::read(bytes).expect_err("no tree").to_string();
        assert!(complaint(b"").contains("neither an action nor children"));
        assert!(complaint(b"\x1a\x05abc").contains("byte 1"), "{}", complaint(b"\x1a\x05abc"));
        assert!(complaint(b"\x1a\x00").contains("lacks its increment"));
        assert!(complaint(b"{}").contains("missing field `tree`"));
        let json = |bounds: &str, action: &str| {
            format!(r#"{{"tree": {{"lower": [0, 0, 0, 0], "upper": [1, {bounds}, 1, 1], "action": {action}}}}}"#)
        };
        let sound = r#"{"increment": 1, "multiple": 1, "intersend_ms": 3}"#;
        assert!(Tree::read(json("1", sound).as_bytes()).is_ok());
        assert!(complaint(json("0", sound).as_bytes()).contains("empty"));
        assert!(complaint(json("1", &sound.replace('3', "-3")).as_bytes()).contains("beyond all use"));
        assert!(complaint(json("1", &sound.replace("increment", "more")).as_bytes()).contains("unknown field `more`"));
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
