//! The windows that Indigo's published weights settle at, next to those of an independent implementation.
//!
//! The weights are not ours to ship: they are looked for beside the checkout, or in the folder that `BAKEOFF_MODELS`
//! names, and without them there is nothing to compare, which the test then says.

mod common;

use std::io::Write as _;
use std::path::PathBuf;

use common::{Dumbbell, Run};
use serde_json::json;

/// Rate in Mbit/s, one-way delay in ms, and the median window of five files.
const TABLE: [(u64, f64, [f64; 5]); 7] = [
    (5, 10.0, [10.0, 5.0, 20.0, 10.0, 10.0]),
    (5, 40.0, [36.0, 40.0, 40.0, 30.0, 40.0]),
    (20, 20.0, [85.0, 80.0, 80.0, 80.0, 70.0]),
    (50, 20.0, [190.0, 190.0, 200.0, 190.0, 195.0]),
    (50, 80.0, [720.0, 730.0, 730.0, 710.0, 705.0]),
    (100, 20.0, [370.0, 370.0, 390.0, 385.0, 380.0]),
    (100, 40.0, [720.0, 715.0, 725.0, 730.0, 730.0]),
];
const FILES: [&str; 5] = ["w_1-32.bin", "w_1-128.bin", "w_2-256.bin", "w_1-32-nocalib.bin", "w_2-256-nocalib.bin"];

fn weights(file: &str) -> Option<String> {
    let folder = std::env::var_os("BAKEOFF_MODELS")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/models")), PathBuf::from);
    let path = folder.join("indigo").join(file);
    path.is_file().then(|| path.to_string_lossy().into_owned())
}

/// One flow with packets of 1430 bytes for 15 s; no queue overflows.
fn flow(path: &str, rate_mbps: u64, one_way_ms: f64) -> Dumbbell {
    let flow = json!({
        "scheme": "indigo", "parameters": {"weights": path}, "mss_bytes": 1_400, "header_bytes": 30, "acks": "each",
    });
    let rate_bps = rate_mbps * 1_000_000;
    Dumbbell { seconds: 15.0, rate_bps, one_way_ms, queue_packets: 100_000, ..Dumbbell::new(&[flow]) }
}

/// What waits in the second half, 95th percentile.
fn late_queue_ms(run: &Run, rate_mbps: u64) -> f64 {
    let mut packets: Vec<_> = run.queue().into_iter().filter(|(time, _)| *time >= 7.5).map(|(_, n)| n).collect();
    packets.sort_by(f64::total_cmp);
    packets[packets.len() * 95 / 100] * 1_430.0 * 8.0 / (rate_mbps as f64 * 1e3)
}

#[test]
fn the_published_weights_settle_where_they_did_elsewhere() {
    let mut queues = Vec::new();
    for (column, file) in FILES.into_iter().enumerate() {
        let Some(path) = weights(file) else {
            // Not `eprintln`, which a test that passes keeps to itself.
            let _ =
                writeln!(std::io::stderr(), "not compared: no indigo/{file} beside the checkout or in BAKEOFF_MODELS");
            return;
        };
        for (rate_mbps, one_way_ms, expected) in TABLE {
            let run = flow(&path, rate_mbps, one_way_ms).run();
            let mut windows: Vec<_> =
                run.telemetry(1, "cwnd").into_iter().filter(|(time, _)| *time >= 7.5).map(|(_, cwnd)| cwnd).collect();
            windows.sort_by(f64::total_cmp);
            let median = windows[windows.len() / 2];
            let tolerance = (0.06 * expected[column]).max(10.0);
            let place = format!("{file} at {rate_mbps} Mbit/s, {one_way_ms} ms");
            assert!((median - expected[column]).abs() <= tolerance, "{place}: {median}, not {}", expected[column]);
            let rate = run.received(1, 7.5, 15.0) * 8.0 / 7.5 / 1e6 / rate_mbps as f64;
            // The slowest links are nothing that was said there. Steps of ten packets are too large for them: half of
            // the time there are no more than five, of 9.7 that fill the link.
            assert!(rate >= if rate_mbps < 20 { 0.5 } else { 0.94 }, "{place}: {rate} of the link");
            if rate_mbps >= 20 {
                queues.push(late_queue_ms(&run, rate_mbps));
            }
        }
    }
    // 3 to 9 ms at the 95th percentile elsewhere. Here 2 to 17: three of 25 are above, all at 50 Mbit/s and 80 ms,
    // where ten packets are 2.3 ms.
    queues.sort_by(f64::total_cmp);
    let above = queues.iter().filter(|queue| **queue > 9.0).count();
    assert!(
        (3.0..9.0).contains(&queues[queues.len() / 2]) && above <= 3 && queues[queues.len() - 1] < 17.0,
        "{queues:?}"
    );
}

/// Far outside of what it was trained for it is its policy that says how fast it is, and not the link: 166, 172 and 141
/// Mbit/s were measured over a path of 272 ms. An independent implementation has a window of about 3400 and 140 Mbit/s
/// alone, and 125, 119 and 96 over the lives of three flows.
#[test]
fn the_published_weights_stop_at_a_window_of_3400_however_fast_the_link_is() {
    let Some(path) = weights(FILES[0]) else {
        let _ = writeln!(std::io::stderr(), "not compared: no indigo/{} beside the checkout", FILES[0]);
        return;
    };
    for rate_mbps in [500, 1_000] {
        let run = Dumbbell { seconds: 30.0, ..flow(&path, rate_mbps, 136.0) }.run();
        let windows = run.telemetry(1, "cwnd");
        let window = common::mean_after(15.0, &windows);
        assert!((window / 3_400.0 - 1.0).abs() < 0.06, "{rate_mbps} Mbit/s: {window}");
        let rate = run.received(1, 15.0, 30.0) * 8.0 / 15e6;
        assert!((rate / 140.0 - 1.0).abs() < 0.06, "{rate_mbps} Mbit/s: {rate}");
        let queue_ms = run.flow(1, "queue_p95_ns") / 1e6;
        assert!(run.flow(1, "dropped_packets") < 0.5 && queue_ms < 1.0, "{rate_mbps} Mbit/s: {queue_ms} ms");
    }
    let mut three = Dumbbell { seconds: 30.0, queue_packets: 1_000_000, ..flow(&path, 1_000, 136.0) };
    three.flows = (0..3_u64)
        .map(|n| {
            let mut flow = three.flows[0].clone();
            flow["start_ns"] = json!(n * 10_000_000_000);
            flow
        })
        .collect();
    let run = three.run();
    for (flow, expected) in [(1, 125.0), (2, 119.0), (3, 96.0)] {
        let start_s = f64::from(flow - 1) * 10.0;
        let rate = run.received(flow, start_s, 30.0) * 8.0 / (30.0 - start_s) / 1e6;
        assert!((rate / expected - 1.0).abs() < 0.06, "flow {flow}: {rate} Mbit/s");
        let queue_ms = run.flow(flow as usize, "queue_p95_ns") / 1e6;
        assert!(queue_ms < 2.0, "flow {flow}: {queue_ms} ms");
    }
}

#[test]
fn a_file_of_another_size_is_refused() {
    let mut scenario = flow(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"), 10, 20.0).json();
    let error =
        bakeoff_sim::Scenario::from_json(&scenario.to_string()).map(|scenario| bakeoff_sim::run(&scenario).err());
    let error = format!("{error:?}");
    assert!(error.contains("22168"), "{error}");
    scenario["flows"][0]["parameters"]["weights"] = json!("no such file");
    let error =
        bakeoff_sim::Scenario::from_json(&scenario.to_string()).map(|scenario| bakeoff_sim::run(&scenario).err());
    assert!(format!("{error:?}").contains("cannot be read"), "{error:?}");
}
