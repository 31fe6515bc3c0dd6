//! The stream transport on a path: what it must do whatever the scheme.

#![allow(clippy::float_cmp, reason = "whole numbers held as f64 are exact")]

mod common;

use bakeoff_core::scheme::{SCHEMES, needed_ecn};
use common::{Dumbbell, bulk, files, run, with};
use proptest::prelude::*;
use serde_json::{Value, json};

#[test]
fn a_finite_transfer_arrives_exactly_once() {
    for loss in [0.0, 0.05, 0.3] {
        for entry in SCHEMES {
            let scheme = entry.info.name;
            let traffic = json!({"kind": "finite", "size_bytes": 300_001});
            let transfer = with(&bulk(scheme, 0.0), &json!({"traffic": traffic}));
            let run = Dumbbell { seconds: 300.0, loss, ..Dumbbell::new(&[transfer]) }.run();
            assert_eq!(run.flow(1, "goodput_bytes"), 300_001.0, "{scheme} at loss {loss}");
            assert!(run.flow(1, "completed_ns") > 0.0, "{scheme} at loss {loss}");
        }
    }
}

#[test]
fn the_last_of_a_transfer_is_acknowledged_at_once() {
    // Beside it every second segment is, since a window of 20 does not grow.
    for size_bytes in [100, 101, 102].map(|segments| segments * 1_448 - 5) {
        let transfer = json!({
            "scheme": "reno", "receive_window_bytes": 28_960, "traffic": {"kind": "finite", "size_bytes": size_bytes},
        });
        let run = Dumbbell { seconds: 5.0, ..Dumbbell::new(&[transfer]) }.run();
        let waited = run.flow(1, "completed_ns") - run.flow(1, "last_received_ns");
        assert_eq!(waited, 20e6, "the way back of the ack of {size_bytes} bytes");
    }
}

#[test]
fn on_a_clean_path_every_retransmission_answers_a_drop() {
    let run = Dumbbell { seconds: 30.0, ..Dumbbell::new(&[bulk("reno", 0.0), bulk("reno", 3.0)]) }.run();
    assert!(run.flow(0, "dropped_packets") > 0.0);
    assert_eq!(run.flow(0, "retransmits"), run.flow(0, "dropped_packets"));
    assert_eq!(run.flow(0, "timeouts"), 0.0);
}

#[test]
fn the_first_flight_is_ten_packets_and_comes_one_round_trip_after_the_handshake() {
    let run = Dumbbell { seconds: 1.0, level: "packets", ..Dumbbell::new(&[bulk("reno", 0.0)]) }.run();
    let sent = run.column("packets", "sent_ns");
    // Handshake: 40 ms of propagation and the serialisation of a 60-byte SYN at 10 Mbit/s.
    assert_eq!(sent[1] - sent[0], 40_048_000.0);
    // The last packet of the handshake leaves with it.
    let first_flight = sent.iter().filter(|time| **time == sent[1]).count();
    assert_eq!(first_flight, 1 + 10);
}

#[test]
fn a_lost_tail_is_repaired_by_a_probe_and_not_by_a_timeout() {
    // The queue holds three packets: the initial flight of ten loses its tail.
    let transfer = json!({"scheme": "reno", "traffic": {"kind": "finite", "size_bytes": 14_480}});
    let run = Dumbbell { seconds: 5.0, queue_packets: 3, ..Dumbbell::new(&[transfer]) }.run();
    assert!(run.flow(1, "dropped_packets") >= 6.0);
    assert_eq!(run.flow(1, "timeouts"), 0.0);
    assert_eq!(run.flow(1, "goodput_bytes"), 14_480.0);
}

#[test]
fn a_dead_path_is_probed_ever_less_often() {
    let mut scenario = Dumbbell { seconds: 120.0, level: "packets", ..Dumbbell::new(&[bulk("reno", 0.0)]) }.json();
    scenario["forward"][0]["link"] = json!({
        "kind": "schedule", "period_ns": null,
        "steps": [{"at_ns": 0, "rate_bps": 10_000_000}, {"at_ns": 5_000_000_000_u64, "rate_bps": 0}],
    });
    let run = run(&scenario);
    let late: Vec<_> = run.column("packets", "sent_ns").into_iter().filter(|time| *time > 8e9).collect();
    assert!((3..=7).contains(&late.len()), "{} retransmissions in 112 s of silence", late.len());
    assert!(late.windows(3).all(|three| three[2] - three[1] > 1.5 * (three[1] - three[0])), "{late:?}");
}

#[test]
fn the_receive_window_limits_what_is_outstanding() {
    let limited = json!({"scheme": "reno", "receive_window_bytes": 14_480});
    let run = Dumbbell { seconds: 20.0, ..Dumbbell::new(&[limited]) }.run();
    // Ten segments per round trip: 40 ms, and the serialisation of the two that one ack covers.
    let expected = 14_480.0 * 19.9 / 0.0424;
    assert!((run.flow(1, "goodput_bytes") / expected - 1.0).abs() < 0.02, "{}", run.flow(1, "goodput_bytes"));
    // The kernel forgets the limit until the application has read, which is two segments more.
    let most = |time_s| if time_s < 0.5 { 12.0 } else { 10.0 };
    assert!(run.telemetry(1, "in_flight").iter().all(|(time_s, packets)| *packets <= most(*time_s)));
}

#[test]
fn an_application_that_pauses_does_not_burst_when_it_returns() {
    let talk = json!({"scheme": "reno", "traffic": {"kind": "on-off", "on_ns": 3_000_000_000_u64, "off_ns": 3_000_000_000_u64}});
    let run = Dumbbell { seconds: 20.0, ..Dumbbell::new(&[talk]) }.run();
    let after_pause: Vec<_> =
        run.telemetry(1, "in_flight").into_iter().filter(|(t, _)| (5.5..6.0).contains(t)).collect();
    assert!(after_pause.iter().all(|(_, packets)| *packets == 0.0), "silent while off");
    let restart = run.telemetry(1, "cwnd").into_iter().find(|(t, _)| *t > 6.13).map(|(_, cwnd)| cwnd);
    assert!(restart.is_some_and(|cwnd| cwnd < 40.0), "window validated after idling: {restart:?}");
}

#[test]
fn internal_pacing_spreads_a_window() {
    let paced = json!({"scheme": "reno", "pacing": "internal"});
    let unpaced = Dumbbell { seconds: 2.0, queue_packets: 10, ..Dumbbell::new(&[bulk("reno", 0.0)]) };
    let paced = Dumbbell { flows: vec![paced], ..unpaced.clone() };
    let peak = |run: &common::Run| run.telemetry(1, "cwnd").iter().fold(0.0, |peak: f64, (_, cwnd)| peak.max(*cwnd));
    assert!(peak(&paced.run()) > peak(&unpaced.run()), "bursts hit the small queue earlier");
}

#[test]
fn data_can_flow_the_other_way() {
    let backward = json!({"scheme": "reno", "direction": "reverse"});
    let mut scenario = Dumbbell { seconds: 5.0, ..Dumbbell::new(&[backward]) }.json();
    scenario["reverse"][0]["link"] = json!({"kind": "constant", "rate_bps": 5_000_000});
    let run = run(&scenario);
    assert!(run.column("hops", "out_bytes")[1] > 20.0 * run.column("hops", "out_bytes")[0]);
}

#[test]
fn extra_delay_belongs_to_one_flow() {
    let far = json!({"scheme": "reno", "extra_delay_ns": 50_000_000, "receive_window_bytes": 14_480});
    let near = json!({"scheme": "reno", "receive_window_bytes": 14_480});
    let run = Dumbbell { seconds: 10.0, ..Dumbbell::new(&[near, far]) }.run();
    assert!((run.flow(2, "owd_p50_ns") - run.flow(1, "owd_p50_ns") - 50e6).abs() < 5e6);
    let min_rtt = |flow| run.telemetry(flow, "min_rtt").last().expect("sampled").1;
    assert!((min_rtt(2) - min_rtt(1) - 100.0).abs() < 1.0);
}

fn any_link() -> impl Strategy<Value = Value> {
    prop_oneof![
        (100_000_u64..20_000_000).prop_map(|rate_bps| json!({"kind": "constant", "rate_bps": rate_bps})),
        (100_000_u64..20_000_000).prop_map(|rate_bps| json!({"kind": "poisson", "rate_bps": rate_bps})),
        (100_000_u64..20_000_000).prop_map(|rate_bps| {
            json!({"kind": "token-bucket", "rate_bps": rate_bps, "burst_bytes": 9_000, "peak_bps": 2 * rate_bps})
        }),
        Just(json!({"kind": "trace", "opportunities_ms": [1, 1, 2, 40, 300]})),
        (1_u64..8_000_000).prop_map(|rate_bps| json!({
            "kind": "schedule", "period_ns": 700_000_000,
            "steps": [{"at_ns": 0, "rate_bps": rate_bps}, {"at_ns": 400_000_000, "rate_bps": 0}],
        })),
    ]
}

/// What else a hop may do to packets.
fn any_elements() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => Just(json!({})),
        1 => (0.0..0.4).prop_map(|duplicate| json!({"duplicate": duplicate})),
        1 => Just(json!({"loss": {"to_bad": 0.02, "to_good": 0.3}, "duplicate": 0.05})),
        1 => Just(json!({"reorder": {"probability": 0.1, "change": {"kind": "ahead", "gap": 3}}})),
        1 => Just(json!({"reorder": {"probability": 0.1, "change": {"kind": "late", "late_ns": 9_000_000}}})),
        1 => (1_u64..5).prop_map(|packets| {
            let change = json!({"kind": "behind", "packets": packets, "within_ns": 50_000_000});
            json!({"reorder": {"probability": 0.1, "change": change}})
        }),
        1 => (500_000_u64..9_000_000).prop_map(|rate_bps| {
            json!({"policer": {"rate_bps": rate_bps, "burst_bytes": 9_000}})
        }),
        1 => Just(json!({"mangle": [{"set": {"ecn": "ect1", "dscp": 4}}]})),
    ]
}

fn any_hop() -> impl Strategy<Value = Value> {
    (
        any_link(),
        any_elements(),
        1_u64..60,
        any::<bool>(),
        0_u64..80_000_000,
        prop_oneof![Just(0.0), 0.0..0.4],
        prop_oneof![Just(0), 0_u64..20_000_000],
    )
        .prop_map(|(link, elements, limit, is_head, delay_ns, loss, jitter_ns)| {
            let drop = if is_head { "head" } else { "tail" };
            let queue = json!({"kind": "fifo", "limit_packets": limit, "drop": drop});
            let delay_ns = delay_ns + 1;
            let hop = json!({"link": link, "queue": queue, "delay_ns": delay_ns, "loss": loss, "jitter_ns": jitter_ns});
            with(&hop, &elements)
        })
}

fn any_flow() -> impl Strategy<Value = Value> {
    let traffic = prop_oneof![
        Just(json!({"kind": "bulk"})),
        (1_u64..500_000).prop_map(|size_bytes| json!({"kind": "finite", "size_bytes": size_bytes})),
        Just(json!({"kind": "on-off", "on_ns": 300_000_000, "off_ns": 200_000_000, "distribution": "exponential"})),
    ];
    let options = (
        any::<bool>(),
        1_u32..12,
        prop_oneof![Just(Value::Null), (1_448_u64..100_000).prop_map(Value::from)],
        any::<bool>(),
        any::<bool>(),
    );
    (0..SCHEMES.len(), traffic, 0_u64..3_000_000_000, options).prop_map(|(scheme, traffic, start_ns, (is_paced, burst, window, is_reverse, handshake))| {
        json!({
            "scheme": SCHEMES[scheme].info.name, "parameters": files(SCHEMES[scheme].info.name),
            "traffic": traffic, "start_ns": start_ns, "stop_ns": start_ns + 4_000_000_000,
            "pacing": if is_paced { "internal" } else { "auto" }, "burst_packets": burst, "receive_window_bytes": window,
            "direction": if is_reverse { "reverse" } else { "forward" }, "extra_delay_ns": start_ns / 100, "handshake": handshake, "send_jitter_ns": start_ns / 1_000,
            "ecn": needed_ecn(SCHEMES[scheme].info.name).map_or(Some(if is_paced { "classic" } else { "off" }), |_| None),
        })
    })
}

fn any_probe() -> impl Strategy<Value = Value> {
    (1_u64..200, 36_u64..1_500, 0_u64..5_000, any::<bool>()).prop_map(|(interval_ms, size, start_ms, is_reverse)| {
        json!({
            "interval_ns": interval_ms * 1_000_000, "size_bytes": size, "start_ns": start_ms * 1_000_000,
            "stop_ns": 6_000_000_000_u64, "direction": if is_reverse { "reverse" } else { "forward" },
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Any path and any flows: the run ends, and packets add up (which `run` checks).
    #[test]
    fn every_run_adds_up(
        seed in any::<u64>(),
        forward in prop::collection::vec(any_hop(), 1..4),
        reverse in prop::collection::vec(any_hop(), 1..3),
        flows in prop::collection::vec(any_flow(), 1..5),
        probes in prop::collection::vec(any_probe(), 0..3),
    ) {
        let run = run(&json!({
            "seed": seed, "duration_ns": 6_000_000_000_u64, "record": {"level": "packets", "interval_ns": 100_000_000},
            "start_jitter_ns": 1_000_000, "forward": forward, "reverse": reverse, "flows": flows, "probes": probes,
        }));
        for flow in 1..=flows.len() {
            let (sent, received) = (run.flow(flow, "sent_packets"), run.flow(flow, "received_packets"));
            let copies = run.flow(flow, "duplicated_packets");
            let ended = received + run.flow(flow, "dropped_packets") + run.flow(flow, "inside_packets");
            prop_assert_eq!(sent + copies, ended);
            prop_assert!(run.flow(flow, "goodput_bytes") <= run.flow(flow, "received_bytes"));
        }
        let rows = run.column("packets", "flow").len() as f64;
        prop_assert_eq!(rows, run.flow(0, "sent_packets"));
    }
}

#[test]
fn a_pause_of_the_path_is_not_taken_for_congestion() {
    // For half a second nothing passes and nothing is lost: the timeout is spurious, and the window comes back.
    let limited = json!({"scheme": "reno", "receive_window_bytes": 60_000});
    let mut scenario = Dumbbell { seconds: 10.0, queue_packets: 1_000, ..Dumbbell::new(&[limited]) }.json();
    scenario["forward"][0]["link"] = json!({
        "kind": "schedule", "period_ns": null,
        "steps": [
            {"at_ns": 0, "rate_bps": 10_000_000},
            {"at_ns": 5_000_000_000_u64, "rate_bps": 0},
            {"at_ns": 5_600_000_000_u64, "rate_bps": 10_000_000},
        ],
    });
    let run = run(&scenario);
    assert_eq!(run.flow(1, "dropped_packets"), 0.0);
    assert!(run.flow(1, "timeouts") >= 1.0);
    assert!(run.flow(1, "retransmits") <= 4.0, "{} needless retransmissions", run.flow(1, "retransmits"));
    let cwnd_at = |t: f64| run.telemetry(1, "cwnd").into_iter().find(|(at, _)| *at >= t).map_or(0.0, |(_, cwnd)| cwnd);
    assert!(cwnd_at(4.9) > 40.0);
    assert!(cwnd_at(6.0) >= cwnd_at(4.9), "{} packets before, {} after", cwnd_at(4.9), cwnd_at(6.0));
}

#[test]
fn ecn_marks_nothing_on_a_drop_tail_path() {
    let capable = json!({"scheme": "reno", "ecn": "classic"});
    let run = Dumbbell { seconds: 5.0, ..Dumbbell::new(&[capable]) }.run();
    assert_eq!(run.flow(1, "ce_marks"), 0.0);
    assert!(run.utilisation() > 0.9);
}
