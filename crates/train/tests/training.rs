//! A training from beginning to end, though a small one.

use bakeoff_core::scheme::remy::Tree;
use bakeoff_train::breeder::{Step, Training};
use bakeoff_train::candidates::FIRST;
use bakeoff_train::evaluate::Range;
use bakeoff_train::network::Rules;
use bakeoff_train::{in_lines, score};
use serde_json::json;

fn small() -> Range {
    Range { slowest: 0.3, fastest: 1.2, links: 2, shortest_ms: 2_000.0, ..Range::HUNDREDFOLD }
}

#[test]
fn a_training_that_was_interrupted_ends_as_one_that_was_not() {
    let mut straight = Training::new(small(), 7);
    let mut interrupted = straight.clone();
    let mut has_split = false;
    for number in 0..30 {
        let step = straight.step();
        has_split |= matches!(step, Step::Split { .. });
        assert_eq!(interrupted.step(), step, "step {number}");
        interrupted = Training::from_json(in_lines(&interrupted.to_json()).as_bytes()).expect("what was written");
    }
    assert!(has_split, "30 steps were too few");
    let score = |training: &Training| score::over(&small(), &training.rules);
    assert!((score(&straight) - score(&interrupted)).abs() < 1e-12);
    assert_eq!(straight.rules.tree(), interrupted.rules.tree());
}

#[test]
fn a_training_improves_the_score_on_links_that_it_has_not_seen() {
    let mut training = Training::new(small(), 1);
    for _ in 0..300 {
        training.step();
    }
    let [first, last] = [Tree::single(FIRST), training.before].map(|tree| score::over(&small(), &Rules::new(tree)));
    assert!(last > first + 1.5, "from {first} to {last}");
}

#[test]
fn the_shipped_file_is_a_tree_and_says_how_it_came_to_be() {
    let training = Training::new(small(), 5);
    let shipped = training.shipped(-1.0);
    assert_eq!(shipped["name"], "own-100x");
    assert_eq!(shipped["training"]["seed"], 5);
    assert_eq!(shipped["state"], serde_json::Value::Null);
    assert_eq!(Tree::read(in_lines(&shipped).as_bytes()), Ok(training.before));
}

#[test]
fn a_file_that_is_no_training_is_refused() {
    let complaint = |text: &str| Training::from_json(text.as_bytes()).expect_err("no training").to_string();
    assert!(complaint("{}").contains("missing field `tree`"));
    let shipped = Training::new(small(), 1).shipped(-1.0).to_string();
    assert!(complaint(&shipped).contains("missing field `state`"));
    let mut begun = Training::new(small(), 1);
    begun.step();
    for (field, value) in [("/state/generations", json!([0, 0])), ("/state/search/rule", json!(1))] {
        let mut other = begun.to_json();
        *other.pointer_mut(field).expect("a training has it") = value;
        assert!(complaint(&other.to_string()).starts_with("not the state of this tree, which has 1 rules"), "{field}");
    }
}
