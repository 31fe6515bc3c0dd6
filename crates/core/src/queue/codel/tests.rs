use super::*;
use crate::packet::Ecn;
use crate::queue::QueueConfig;
use crate::queue::tests::{Bench, packet_of, problem};

fn codel(json: &str) -> Bench {
    Bench::new(json)
}

#[test]
fn the_first_drop_comes_an_interval_after_the_delay_passed_the_target() {
    // A queue of 100 ms that neither grows nor shrinks: every packet waits 100 ms.
    let mut bench = codel(r#"{"kind": "codel"}"#);
    bench.standing(100, 4_000);
    let times = bench.drop_times_ms();
    // Control begins with the first packet that waited more than 5 ms.
    assert!((105..=107).contains(&times[0]), "{times:?}");
    let gaps: Vec<_> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // interval / sqrt(count) is 100, 71, 58, 50, 45 ms; the kernel's one Newton step at a time begins with 50.
    for (gap, law) in gaps.iter().zip([100, 50, 56, 49, 44]) {
        assert!(gap.abs_diff(law) <= 2, "{gaps:?}");
    }
}

#[test]
fn what_can_be_marked_is_marked_at_the_same_times() {
    let mut dropping = codel(r#"{"kind": "codel"}"#);
    dropping.standing(100, 1_000);
    let mut marking = codel(r#"{"kind": "codel", "ecn": true}"#);
    marking.ecn = Ecn::Ect0;
    marking.standing(100, 1_000);
    assert!(marking.dropped.is_empty());
    let [drops, marks] = [dropping.drop_times_ms(), marking.mark_times_ms()];
    assert_eq!(drops[0], marks[0]);
    assert!(drops.len().abs_diff(marks.len()) <= 1, "{drops:?} {marks:?}");
    marking.ecn = Ecn::NotEct;
    marking.standing(100, 1_000);
    assert!(!marking.dropped.is_empty(), "what cannot be marked is dropped");
}

#[test]
fn one_packet_is_no_standing_queue() {
    let mut bench = codel(r#"{"kind": "codel"}"#);
    bench.standing(2, 2_000);
    assert!(bench.dropped.is_empty(), "2 ms are below the target");
    let mut bench = Bench { gap_ms: 50, ..codel(r#"{"kind": "codel"}"#) };
    bench.standing(1, 100);
    assert!(bench.dropped.is_empty(), "one packet that waits 50 ms is all there is");
}

#[test]
fn the_threshold_marks_without_a_control() {
    let mut bench = codel(r#"{"kind": "codel", "ce_threshold_ns": 1000000}"#);
    bench.ecn = Ecn::Ect1;
    bench.standing(3, 50);
    assert!(bench.mark_times_ms().len() >= 46);
    assert!(bench.marked.iter().all(|(_, reason)| *reason == Reason::Threshold));
}

#[test]
fn the_threshold_is_for_packets_whose_ds_field_is_the_one_that_is_meant() {
    // DSCP 1 under a mask that leaves the codepoint out.
    for (dscp, marks) in [(1, true), (0, false)] {
        let mut bench = Bench::new(
            r#"{"kind": "fq_codel", "flows": 1, "ce_threshold_ns": 1000000, "ce_threshold_selector": 4, "ce_threshold_mask": 252}"#,
        );
        (bench.ecn, bench.dscp) = (Ecn::Ect0, dscp);
        bench.standing(3, 50);
        assert_eq!(!bench.marked.is_empty(), marks, "DSCP {dscp}");
    }
}

#[test]
fn the_limit_drops_what_arrives() {
    let mut bench = codel(r#"{"kind": "codel", "limit_packets": 3}"#);
    bench.offer(5);
    assert_eq!(
        bench.dropped.iter().map(|drop| (drop.number, drop.reason)).collect::<Vec<_>>(),
        [(3, Reason::Overlimit), (4, Reason::Overlimit)]
    );
}

#[test]
fn the_threshold_marks_what_waited_longer_and_not_as_long() {
    let mut queue = Codel::<()>::new(
        &serde_json::from_str(r#"{"ce_threshold_ns": 1024000}"#).expect("a queue"),
        &crate::queue::tests::setup(),
    );
    for (tick, is_marked) in [(1_000, false), (1_001, true)] {
        let mut verdicts = Verdicts::default();
        let mut packet = packet_of(0, 0, 1_000);
        packet.ecn = Ecn::Ect0;
        queue.enqueue(packet, Instant::ZERO, &mut verdicts);
        queue.dequeue(Instant::from_nanos(tick * 1_024), &mut verdicts);
        assert_eq!(!verdicts.marked().is_empty(), is_marked, "{tick}");
    }
}

#[test]
fn impossible_parameters_are_refused() {
    for (json, part) in [
        (r#"{"kind": "codel", "target_ns": 200000000}"#, "longer than the interval"),
        (r#"{"kind": "codel", "limit_packets": 0}"#, "limit 0 is not possible"),
        (r#"{"kind": "codel", "interval_ns": 0}"#, "interval 0s is not possible"),
    ] {
        assert!(problem(json).contains(part), "{}", problem(json));
    }
    assert!(serde_json::from_str::<QueueConfig>(r#"{"kind": "codel", "flows": 3}"#).is_err());
}
