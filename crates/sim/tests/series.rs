//! What a run records of its intervals, and what becomes of a flow when it stops.

mod common;

use common::{Dumbbell, Run, bulk, run};
use serde_json::json;

/// One flow of reno for a second, whose start is exact.
fn one_second(flow: &serde_json::Value) -> Run {
    let dumbbell = Dumbbell { seconds: 1.0, level: "packets", ..Dumbbell::new(std::slice::from_ref(flow)) };
    let mut scenario = dumbbell.json();
    scenario["start_jitter_ns"] = json!(0);
    run(&scenario)
}

#[test]
fn every_interval_is_sampled_to_the_last_with_what_the_link_could_carry_in_it() {
    let run = one_second(&bulk("reno", 0.0));
    let times: Vec<_> = run.queue().into_iter().map(|(time, _)| (time * 1e3).round()).collect();
    assert_eq!(times, (1..=100).map(|n| f64::from(n) * 10.0).collect::<Vec<_>>());
    let capacity = run.column("hop_series", "capacity_bytes");
    assert!(capacity.iter().all(|bytes| [12_500.0, -1.0].contains(bytes)), "{capacity:?}");
    let goodput: f64 = run.column("series", "goodput_bytes").iter().sum();
    assert!((goodput - run.flow(1, "goodput_bytes")).abs() < 0.5);
}

#[test]
fn a_flow_that_stops_sends_nothing_more_and_shows_its_state_up_to_then() {
    let run = one_second(&json!({"scheme": "reno", "stop_ns": 500_000_000}));
    let last = run.column("packets", "sent_ns").into_iter().fold(0.0, f64::max);
    assert!((450e6..500e6).contains(&last), "{last}");
    let shown = run.telemetry(1, "cwnd");
    assert!((shown[shown.len() - 1].0 - 0.5).abs() < 1e-9);
}

#[test]
fn what_is_acknowledged_after_a_flow_has_stopped_completes_nothing() {
    // Request and answer take 40 ms, data and its ack as long.
    for (stop_ms, is_complete) in [(70, false), (90, true)] {
        let traffic = json!({"kind": "finite", "size_bytes": 1_000});
        let run = one_second(&json!({"scheme": "reno", "traffic": traffic, "stop_ns": stop_ms * 1_000_000}));
        assert!((run.flow(1, "goodput_bytes") - 1_000.0).abs() < 0.5);
        assert_eq!(run.flow(1, "completed_ns") > 0.0, is_complete, "{stop_ms} ms");
    }
}

#[test]
fn requests_to_connect_that_are_repeated_are_timeouts_of_the_flow() {
    let dumbbell = Dumbbell { seconds: 3.5, loss: 1.0, ..Dumbbell::new(&[bulk("reno", 0.0)]) };
    let mut scenario = dumbbell.json();
    scenario["start_jitter_ns"] = json!(0);
    let run = run(&scenario);
    // The second, third and fourth, a second and a little after the one before.
    assert_eq!([run.flow(1, "sent_packets"), run.flow(1, "timeouts")].map(|count| count.round() as u64), [4, 3]);
}
