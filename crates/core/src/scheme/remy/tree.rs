//! A tree of rules: which action belongs to which memory.

use serde::{Deserialize, Serialize};

use super::error::TreeError;

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

#[cfg(test)]
pub(super) mod tests;
