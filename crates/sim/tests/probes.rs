//! Probes feel the path, beside flows or alone.

#![allow(clippy::float_cmp, reason = "whole numbers held as f64 are exact")]

mod common;

use bakeoff_core::record::Column;
use common::{Dumbbell, Run, bulk, run};
use serde_json::{Value, json};

/// 40 ms of propagation, and 84 bytes at 10 Mbit/s one way.
const BASE_NS: f64 = 40_067_200.0;

/// The scenario of a dumbbell, with probes and without random starts.
fn with_probes(dumbbell: &Dumbbell, probes: &Value) -> Value {
    let mut scenario = dumbbell.json();
    scenario["start_jitter_ns"] = json!(0);
    scenario["probes"] = probes.clone();
    scenario
}

fn probe(interval_ms: f64, stop_s: f64) -> Value {
    json!({
        "interval_ns": (interval_ms * 1e6) as u64, "size_bytes": 84,
        "start_ns": 3_000_000, "stop_ns": (stop_s * 1e9) as u64,
    })
}

/// A path on which nothing else moves for five seconds.
fn empty() -> Dumbbell {
    Dumbbell { seconds: 6.0, ..Dumbbell::new(&[bulk("reno", 5.0)]) }
}

fn fates(run: &Run, wanted: &str) -> usize {
    let (_, column) = &run.table("probes").columns[4];
    let Column::Category { codes, names } = column else { panic!("fates are words") };
    codes.iter().filter(|code| names[usize::from(**code)] == wanted).count()
}

#[test]
fn on_an_empty_path_the_round_trip_is_exactly_that_of_the_path() {
    let run = run(&with_probes(&empty(), &json!([probe(100.0, 4.9)])));
    let round_trips = run.column("probes", "rtt_ns");
    assert_eq!(round_trips, vec![BASE_NS; 49]);
    assert_eq!(run.column("probes", "request_ns"), vec![BASE_NS - 20e6; 49]);
    let sent = run.column("probes", "sent_ns");
    assert_eq!((sent[0], sent[48]), (3e6, 4.803e9));
}

#[test]
fn requests_go_the_way_that_they_are_told() {
    let mut scenario = with_probes(&empty(), &json!([probe(100.0, 4.9), probe(100.0, 4.9)]));
    scenario["reverse"][0]["delay_ns"] = json!(50_000_000);
    scenario["probes"][1]["direction"] = json!("reverse");
    let run = run(&scenario);
    let (probes, requests) = (run.column("probes", "probe"), run.column("probes", "request_ns"));
    for (probe, request) in probes.into_iter().zip(requests) {
        assert_eq!(request, if probe == 1.0 { 20_067_200.0 } else { 50_000_000.0 });
    }
}

#[test]
fn a_standing_queue_is_added_to_the_round_trip() {
    // A window of two BDPs keeps one of them in the queue, which moves by the two packets that an ack releases.
    let limited = json!({"scheme": "reno", "receive_window_bytes": 96_000});
    let dumbbell = Dumbbell { seconds: 10.0, queue_packets: 1_000, ..Dumbbell::new(&[limited]) };
    let run = run(&with_probes(&dumbbell, &json!([probe(97.0, 9.9)])));
    let queue = run.flow(1, "queue_p50_ns");
    assert!(queue > 30e6, "{queue} ns in the queue");
    let (sent, round_trips) = (run.column("probes", "sent_ns"), run.column("probes", "rtt_ns"));
    for (sent, round_trip) in sent.into_iter().zip(round_trips).filter(|(sent, _)| *sent > 2e9) {
        assert!((round_trip - BASE_NS - queue).abs() < 2.5e6, "{round_trip} ns at {sent}, the queue is {queue}");
    }
}

#[test]
fn what_the_queue_drops_is_lost_and_counted() {
    let dumbbell = Dumbbell { seconds: 10.0, queue_packets: 5, ..Dumbbell::new(&[bulk("cubic", 0.0)]) };
    let run = run(&with_probes(&dumbbell, &json!([probe(1.0, 10.0), probe(7.0, 10.0)])));
    let rows = run.column("probes", "rtt_ns").len();
    let (received, dropped, inside) = (fates(&run, "received"), fates(&run, "dropped"), fates(&run, "inside"));
    assert_eq!(rows, received + dropped + inside);
    assert!(dropped > 10 && inside > 10, "{dropped} dropped, {inside} inside");
    let lost = run.column("probes", "rtt_ns").iter().filter(|round_trip| **round_trip < 0.0).count();
    assert_eq!(lost, dropped + inside);
    assert_eq!(run.bottleneck("dropped_packets"), run.flow(0, "dropped_packets") + dropped as f64);
    assert_eq!(run.bottleneck("in_packets"), run.flow(0, "sent_packets") + rows as f64);
}

#[test]
fn probes_are_no_flows() {
    let run = run(&with_probes(&empty(), &json!([probe(100.0, 4.9)])));
    assert_eq!(run.column("flows", "flow"), [0.0, 1.0]);
    let alone = empty().run();
    assert!(alone.recording.tables.iter().all(|table| table.name != "probes"));
}

#[test]
fn a_seed_moves_the_start_of_a_probe() {
    let mut scenario = with_probes(&empty(), &json!([probe(100.0, 4.0), probe(100.0, 4.0)]));
    scenario["start_jitter_ns"] = json!(100_000_000);
    let run = run(&scenario);
    let (probes, sent) = (run.column("probes", "probe"), run.column("probes", "sent_ns"));
    let first = |number| probes.iter().position(|probe| *probe == number).map(|row| sent[row]);
    let starts = (first(1.0).unwrap(), first(2.0).unwrap());
    assert!(starts.0 != starts.1, "both begin at {} ns", starts.0);
    assert!([starts.0, starts.1].iter().all(|start| (3e6..103e6).contains(start)), "{starts:?}");
}
