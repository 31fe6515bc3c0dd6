//! What queues do to flows on a path: delay, sharing, marks in place of drops. Bounds are wide enough for every seed
//! tried.

mod common;

use bakeoff_core::record::Column;
use common::{Dumbbell, Run, bulk, run};
use serde_json::{Value, json};

const SEEDS: [u64; 3] = [1, 2, 3];

/// 50 Mbit/s, 40 ms of round trip, 30 s.
fn scenario(queue: &Value, flows: &[Value], seed: u64) -> Value {
    let dumbbell = Dumbbell { seed, seconds: 30.0, rate_bps: 50_000_000, level: "summary", ..Dumbbell::new(flows) };
    let mut scenario = dumbbell.json();
    scenario["forward"][0]["queue"] = queue.clone();
    scenario
}

fn cubic(ecn: &str) -> Value {
    let mut flow = bulk("cubic", 0.0);
    flow["ecn"] = json!(ecn);
    flow
}

/// The 95th percentile of the time in the bottleneck's queue, in milliseconds.
fn queue_p95_ms(run: &Run) -> f64 {
    run.bottleneck("queue_p95_ns") / 1e6
}

/// Packets of a verdict at the bottleneck, by reason.
fn verdicts(run: &Run, verdict: &str) -> Vec<(&'static str, f64)> {
    let columns = &run.table("verdicts").columns;
    let (Column::Text(hops), Column::Category { codes, names }) = (&columns[0].1, &columns[1].1) else {
        panic!("hops and verdicts are words")
    };
    let Column::Category { codes: reasons, names: words } = &columns[2].1 else { panic!("reasons are words") };
    let packets = run.column("verdicts", "packets");
    (0..packets.len())
        .filter(|row| hops[*row] == "forward.0" && names[usize::from(codes[*row])] == verdict)
        .map(|row| (words[usize::from(reasons[row])], packets[row]))
        .collect()
}

#[test]
fn every_aqm_keeps_the_link_busy_and_the_queue_short() {
    // In brackets what Linux had, three flows over 30 s: mean round trip less the 40 ms of the path.
    for (queue, most_ms) in [
        (json!({"kind": "codel"}), 14.0),    // (4 ms)
        (json!({"kind": "fq_codel"}), 20.0), // (2 to 3 ms)
        (json!({"kind": "cake"}), 14.0),     // (2 ms)
        (json!({"kind": "pie"}), 35.0),      // (15 ms)
        (json!({"kind": "fq_pie"}), 35.0),
        (json!({"kind": "dualpi2"}), 35.0),
        (json!({"kind": "red", "limit_bytes": 400_000}), 30.0),
    ] {
        for seed in SEEDS {
            let run = run(&scenario(&queue, &[cubic("off"), cubic("off"), cubic("off")], seed));
            assert!(run.utilisation() > 0.93, "{queue} seed {seed}: {}", run.utilisation());
            assert!(queue_p95_ms(&run) < most_ms, "{queue} seed {seed}: {} ms", queue_p95_ms(&run));
        }
    }
}

#[test]
fn fair_queues_share_between_bbr_cubic_and_vegas() {
    // Linux: 16.1, 15.2 and 16.0 Mbit/s.
    for kind in ["fq_codel", "cake", "fq_pie"] {
        for seed in SEEDS {
            let flows = [bulk("bbr", 0.0), bulk("cubic", 0.0), bulk("vegas", 0.0)];
            let run = run(&scenario(&json!({"kind": kind}), &flows, seed));
            let shares: Vec<_> = (1..4).map(|flow| run.flow(flow, "goodput_bytes") * 8.0 / 30e6).collect();
            assert!(shares.iter().all(|share| (14.3..17.0).contains(share)), "{kind} seed {seed}: {shares:?}");
        }
    }
}

#[test]
fn a_probe_passes_a_fair_queue_at_once() {
    for (kind, most_ms) in [("fq_codel", 1.0), ("cake", 1.0), ("fq_pie", 1.0)] {
        for seed in SEEDS {
            let mut scenario = scenario(&json!({"kind": kind}), &[cubic("off"), cubic("off")], seed);
            scenario["probes"] =
                json!([{"interval_ns": 20_000_000, "size_bytes": 84, "start_ns": 0, "stop_ns": 29_000_000_000_u64}]);
            let run = run(&scenario);
            let mut waits = run.column("probes", "rtt_ns");
            waits.sort_by(f64::total_cmp);
            let p99_ms = waits[waits.len() * 99 / 100] / 1e6 - 40.0;
            assert!(p99_ms < most_ms, "{kind} seed {seed}: {p99_ms} ms");
        }
    }
}

#[test]
fn with_ecn_marks_take_the_place_of_drops() {
    for queue in [
        json!({"kind": "codel", "ecn": true}),
        json!({"kind": "fq_codel"}),
        json!({"kind": "pie", "ecn": true}),
        json!({"kind": "red", "limit_bytes": 400_000, "ecn": true}),
        json!({"kind": "dualpi2"}),
        json!({"kind": "cake"}),
    ] {
        for seed in SEEDS {
            let run = run(&scenario(&queue, &[cubic("classic"), cubic("classic")], seed));
            let (marks, drops) = (verdicts(&run, "mark"), verdicts(&run, "drop"));
            assert!(drops.is_empty(), "{queue} seed {seed}: {drops:?}");
            let marked: f64 = marks.iter().map(|(_, packets)| packets).sum();
            assert!(marked > 5.0 && (run.bottleneck("marked_packets") - marked).abs() < 0.5, "{queue}: {marks:?}");
            assert!(run.flow(0, "retransmits") < 0.5, "{queue} seed {seed}");
            assert!(run.utilisation() > 0.93, "{queue} seed {seed}: {}", run.utilisation());
        }
    }
}

#[test]
fn cake_marks_some_congestion_before_it_marks_congestion() {
    for seed in SEEDS {
        let queue = json!({"kind": "cake", "sce": "ramp", "own_shaper": true});
        let run = run(&scenario(&queue, &[cubic("classic")], seed));
        let marks = verdicts(&run, "mark");
        let of = |reason| marks.iter().find(|(word, _)| *word == reason).map_or(0.0, |(_, packets)| *packets);
        assert!(of("sce") > 20.0 * of("congestion") && of("congestion") > 2.0, "seed {seed}: {marks:?}");
    }
}

#[test]
fn scalable_packets_have_a_line_of_their_own() {
    // CUBIC in the low-latency queue of DualPI2 starves next to CUBIC in the classic one, but its packets do not wait.
    for seed in SEEDS {
        let queue = json!({"kind": "dualpi2", "ecn_mask": "any_ect"});
        let run = run(&scenario(&queue, &[cubic("classic"), cubic("off")], seed));
        let waits = [1, 2].map(|flow| run.flow(flow, "queue_p95_ns") / 1e6);
        assert!(waits[0] < 3.0 && waits[1] > 10.0, "seed {seed}: {waits:?} ms");
        assert!(run.flow(1, "goodput_bytes") < run.flow(2, "goodput_bytes"), "seed {seed}");
    }
}

#[test]
fn the_seed_chooses_the_lines_of_the_flows() {
    let queue = json!({"kind": "fq_codel", "flows": 2});
    let flows = [cubic("off"), cubic("off"), cubic("off")];
    let shares = |seed| {
        let run = run(&scenario(&queue, &flows, seed));
        [1, 2, 3].map(|flow| (run.flow(flow, "goodput_bytes") / 3e7).round() as u64)
    };
    let all: Vec<_> = (1..9).map(shares).collect();
    assert!(all.iter().any(|shares| *shares != all[0]), "{all:?}");
}
