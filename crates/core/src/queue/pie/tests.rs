use super::*;
use crate::packet::Ecn;
use crate::queue::tests::{Bench, problem};

#[test]
fn nothing_is_dropped_within_the_burst_allowance() {
    let mut bench = Bench::new(r#"{"kind": "pie"}"#);
    bench.standing(200, 2_000);
    let first = bench.drop_times_ms()[0];
    assert!((150..400).contains(&first), "{first}");
    assert!(bench.dropped.iter().all(|drop| drop.reason == Reason::Congestion));
}

#[test]
fn what_can_be_marked_is_marked_up_to_ten_percent() {
    let mut bench = Bench::new(r#"{"kind": "pie", "ecn": true}"#);
    bench.ecn = Ecn::Ect0;
    bench.standing(300, 20_000);
    let first_drop = bench.dropped[0].time.as_millis();
    assert!(!bench.marked.is_empty() && bench.mark_times_ms().iter().all(|ms| *ms <= first_drop));
}

#[test]
fn two_packets_are_no_queue() {
    let mut bench = Bench { gap_ms: 20, ..Bench::new(r#"{"kind": "pie"}"#) };
    bench.standing(2, 3_000);
    assert!(bench.dropped.is_empty());
}

#[test]
fn the_rate_estimator_finds_the_rate() {
    let mut bench = Bench::new(r#"{"kind": "pie", "dq_rate_estimator": true}"#);
    bench.standing(60, 3_000);
    assert!(!bench.dropped.is_empty(), "60 ms at the measured rate are above the target");
    let mut bench = Bench::new(r#"{"kind": "pie", "dq_rate_estimator": true}"#);
    bench.standing(12, 20_000);
    assert!(bench.dropped.is_empty(), "too little waits for a measurement");
}

#[test]
fn impossible_parameters_are_refused() {
    for (json, part) in [
        (r#"{"kind": "pie", "limit_packets": 0}"#, "limit 0 is not possible"),
        (r#"{"kind": "pie", "tupdate_ns": 0}"#, "tupdate 0s is not possible"),
        (r#"{"kind": "pie", "alpha_hz": 3.0}"#, "alpha 3 is not possible; give 0 to 2"),
    ] {
        assert!(problem(json).contains(part), "{}", problem(json));
    }
}
