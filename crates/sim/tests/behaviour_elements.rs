//! What flows make of duplicates, reordering, bursts of losses, token buckets, policers and rules on their way.

mod common;

use common::{Dumbbell, Run, bulk, mean_after, run, with};
use serde_json::{Value, json};

const SEEDS: [u64; 3] = [1, 2, 3];

/// 20 Mbit/s, 40 ms of round trip, two BDP of queue, 20 s, with elements on the only forward hop.
fn scenario(elements: &Value, flows: &[Value], seed: u64) -> Value {
    let dumbbell = Dumbbell {
        seed,
        seconds: 20.0,
        rate_bps: 20_000_000,
        queue_packets: 134,
        level: "summary",
        ..Dumbbell::new(flows)
    };
    let mut scenario = dumbbell.json();
    scenario["forward"][0] = with(&scenario["forward"][0], elements);
    scenario
}

fn flow(scheme: &str, ecn: &str) -> Value {
    let mut flow = bulk(scheme, 0.0);
    flow["ecn"] = json!(ecn);
    flow
}

/// Goodput of a flow in Mbit/s.
fn goodput(run: &Run, number: usize) -> f64 {
    run.flow(number, "goodput_bytes") * 8.0 / 20e6
}

#[test]
fn duplicates_are_no_goodput_and_hardly_hurt() {
    for seed in SEEDS {
        let clean = run(&scenario(&json!({}), &[flow("cubic", "off")], seed));
        let doubled = run(&scenario(&json!({"duplicate": 0.02}), &[flow("cubic", "off")], seed));
        let copies = doubled.flow(1, "duplicated_packets") / doubled.flow(1, "sent_packets");
        assert!((copies - 0.02).abs() < 0.005, "seed {seed}: {copies}");
        assert!(goodput(&doubled, 1) > 0.97 * goodput(&clean, 1), "seed {seed}: {}", goodput(&doubled, 1));
        assert!(goodput(&doubled, 1) < 20.0);
    }
}

#[test]
fn a_finite_transfer_over_duplicates_reordering_and_loss_arrives_exactly_once() {
    for (scheme, seed) in [("cubic", 1), ("reno", 2), ("bbr", 3)] {
        let mut sender = flow(scheme, "off");
        sender["traffic"] = json!({"kind": "finite", "size_bytes": 1_000_000});
        let elements = json!({
            "duplicate": 0.1, "loss": {"to_bad": 0.01, "to_good": 0.4},
            "reorder": {"probability": 0.05, "change": {"kind": "behind", "packets": 4, "within_ns": 30_000_000}},
        });
        let run = run(&scenario(&elements, &[sender], seed));
        assert_eq!(run.flow(1, "goodput_bytes") as u64, 1_000_000, "{scheme}");
        assert!(run.flow(1, "completed_ns") > 0.0, "{scheme}");
    }
}

#[test]
fn a_sender_that_meets_reordering_learns_to_wait() {
    // RACK widens its window once reordering has been seen: a packet behind three others is not sent again for long.
    for seed in SEEDS {
        let change = json!({"kind": "behind", "packets": 5, "within_ns": 30_000_000});
        let elements = json!({"reorder": {"probability": 0.01, "change": change}});
        let run = run(&scenario(&elements, &[flow("cubic", "off")], seed));
        assert!(goodput(&run, 1) > 17.0, "seed {seed}: {} Mbit/s", goodput(&run, 1));
        let needless = run.flow(1, "retransmits") - run.flow(1, "dropped_packets");
        assert!(needless < 0.005 * run.flow(1, "sent_packets"), "seed {seed}: {needless} needless repetitions");
    }
}

#[test]
fn what_was_sent_again_needlessly_makes_no_round_trip_shorter() {
    // A packet that comes 60 ms late has been sent again a moment before.
    let late = json!({"reorder": {"probability": 0.002, "change": {"kind": "late", "late_ns": 60_000_000}}});
    for seed in SEEDS {
        let late = |scheme: &str| {
            let mut scenario = scenario(&late, &[bulk(scheme, 0.0)], seed);
            scenario["record"]["level"] = json!("series");
            run(&scenario)
        };
        let verus = late("verus").telemetry(1, "shortest_delay");
        let shortest = verus.into_iter().map(|(_, millis)| millis).fold(f64::INFINITY, f64::min);
        assert!(shortest > 40.0, "seed {seed}: {shortest} ms");
        // With the weights of this test its window stays at ten packets, which leave no queue.
        let indigo = mean_after(5.0, &late("indigo").telemetry(1, "queueing_delay"));
        assert!(indigo < 2.0, "seed {seed}: {indigo} ms");
        let koho = late("koho_cc");
        assert!(goodput(&koho, 1) > 18.0, "seed {seed}: {} Mbit/s", goodput(&koho, 1));
    }
}

#[test]
fn losses_in_bursts_hurt_less_than_as_many_alone() {
    // Both lose 0.1 %, which leaves windows of some forty packets; in bursts of four on average, of which a run has a
    // few.
    let total = |loss: Value| {
        (1..=8)
            .map(|seed| goodput(&run(&scenario(&json!({"loss": loss}), &[flow("reno", "off")], seed)), 1))
            .sum::<f64>()
    };
    let (alone, bursts) = (total(json!(0.001)), total(json!({"to_bad": 0.000_250_25, "to_good": 0.25})));
    assert!(bursts > 1.15 * alone, "{alone} Mbit/s alone, {bursts} in bursts");
}

#[test]
fn a_token_bucket_carries_its_rate() {
    for seed in SEEDS {
        let link = json!({"kind": "token-bucket", "rate_bps": 20_000_000, "burst_bytes": 30_000, "peak_bps": null});
        let run = run(&scenario(&json!({"link": link}), &[flow("cubic", "off")], seed));
        assert!((0.95..1.001).contains(&run.utilisation()), "seed {seed}: {}", run.utilisation());
    }
}

#[test]
fn a_policer_lets_no_more_than_its_rate_pass() {
    for seed in SEEDS {
        let policer = json!({"policer": {"rate_bps": 10_000_000, "burst_bytes": 50_000}});
        let run = run(&scenario(&policer, &[flow("cubic", "off")], seed));
        let received = run.flow(1, "received_bytes") * 8.0;
        assert!(received <= 10e6 * 20.0 + 50_000.0 * 8.0, "seed {seed}: {received} bit");
        assert!(received > 0.6 * 10e6 * 20.0, "seed {seed}: {received} bit");
        assert!(run.flow(1, "queue_p95_ns") < 25e6, "seed {seed}: it drops, and delays nothing but a burst");
    }
}

/// As scenario 4 of the SCE / L4S bake-off: all packets of the flows that match become ECT(1) before the queue.
fn gamed(queue: &Value, matching: &Value, flows: &[Value], rtt_ms: u64, seed: u64) -> Run {
    let mut scenario = scenario(&json!({"queue": queue}), flows, seed);
    let one_way_ns = rtt_ms * 500_000;
    scenario["forward"][0]["delay_ns"] = json!(one_way_ns);
    scenario["reverse"][0]["delay_ns"] = json!(one_way_ns);
    scenario["forward"][0]["mangle"] = json!([{"match": matching, "set": {"ecn": "ect1", "dscp": 0}}]);
    run(&scenario)
}

#[test]
fn a_classic_flow_dressed_as_a_scalable_one_loses_by_it_in_dualpi2_and_not_in_cake() {
    let cubic = || flow("cubic", "classic");
    for seed in SEEDS {
        let (dualpi2, cake) = (json!({"kind": "dualpi2"}), json!({"kind": "cake", "diffserv": "besteffort"}));
        let [near, far] = [10, 80].map(|rtt| gamed(&dualpi2, &json!({}), &[cubic()], rtt, seed).utilisation());
        assert!(near < 0.97 && far < 0.9 * near, "seed {seed}: in the low-latency queue {near}, {far}");
        let unharmed = gamed(&cake, &json!({}), &[cubic()], 80, seed).utilisation();
        assert!(unharmed > 0.9, "seed {seed}: {unharmed}");
    }
}

#[test]
fn a_rule_for_a_dscp_is_for_the_flow_that_has_it() {
    let mut marked = flow("cubic", "classic");
    marked["dscp"] = json!(1);
    for seed in SEEDS {
        let flows = [flow("cubic", "classic"), marked.clone()];
        let run = gamed(&json!({"kind": "dualpi2"}), &json!({"dscp": 1}), &flows, 80, seed);
        assert!(goodput(&run, 2) < 0.7 * goodput(&run, 1), "{} {}", goodput(&run, 1), goodput(&run, 2));
    }
}

#[test]
fn an_urgent_flow_overtakes_in_pfifo_fast() {
    let mut urgent = bulk("reno", 0.0);
    urgent["dscp"] = json!(4);
    urgent["receive_window_bytes"] = json!(20_000);
    let queue = json!({"queue": {"kind": "pfifo_fast"}});
    let run = run(&scenario(&queue, &[bulk("cubic", 0.0), urgent], 1));
    assert!(run.flow(2, "queue_p95_ns") < 3e6 && run.flow(1, "queue_p95_ns") > 20e6);
}
