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
