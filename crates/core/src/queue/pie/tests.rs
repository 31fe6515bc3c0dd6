use super::*;
use crate::packet::Ecn;
use crate::queue::tests::{Bench, packet_of, problem, setup};
use crate::units::Duration;

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
fn what_was_taken_out_to_be_looked_at_is_backlog() {
    for is_ahead in [false, true] {
        let mut bench = Bench { gap_ms: 20, ..Bench::new(r#"{"kind": "pie"}"#) };
        bench.queue.set_ahead(is_ahead.then_some(Bytes::new(1_000)), bench.now);
        bench.standing(3, 3_000);
        assert_eq!(bench.dropped.is_empty(), !is_ahead, "two wait when one arrives, and a third if there is one ahead");
    }
}

#[test]
fn the_probability_is_computed_with_what_was_there_meanwhile() {
    // While something is there that has not waited, the probability does not decay.
    let probability_after = |is_ahead: bool| {
        let config = serde_json::from_str("{}").expect("a queue");
        let (mut queue, mut verdicts) = (Pie::<()>::new(&config, &setup()), Verdicts::default());
        let mut now = Instant::ZERO;
        for _ in 0..3_000 {
            let packet = Packet { enqueued: now, ..*packet_of(0, 0, 1_000) };
            (queue.packets()..60).for_each(|_| queue.enqueue(Box::new(packet), now, &mut verdicts));
            now += Duration::from_millis(1);
            queue.dequeue(now, &mut verdicts);
        }
        while queue.dequeue(now, &mut verdicts).is_some() {}
        queue.set_ahead(is_ahead.then_some(Bytes::new(1_000)), now);
        queue.set_ahead(None, now + Duration::from_millis(100));
        queue.control.probability()
    };
    assert!(probability_after(false) > 0);
    assert!(probability_after(true) > probability_after(false));
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
