//! All queues alike, under random traffic: nothing vanishes, flows stay in order, marks are where they may be, and a
//! run repeats itself.

#![allow(clippy::expect_used, reason = "a broken test may panic")]

use bakeoff_core::packet::{Ecn, FlowId, Packet};
use bakeoff_core::queue::{QUEUES, Queue, QueueConfig, QueueSetup, Reason, Verdicts};
use bakeoff_core::units::{Bytes, Duration, Instant, Rate};
use proptest::collection::vec;
use proptest::prelude::*;

const LARGEST: u64 = 1_500;

/// Every queue with small limits, so that they are reached, and some with all lines in one.
const CONFIGS: &[&str] = &[
    r#"{"kind": "fifo", "limit_packets": 20, "limit_bytes": null, "limit_time_ns": null, "drop": "tail"}"#,
    r#"{"kind": "fifo", "limit_packets": null, "limit_bytes": 9000, "limit_time_ns": null, "drop": "head"}"#,
    r#"{"kind": "pfifo_fast", "limit_packets": 20}"#,
    r#"{"kind": "fq", "limit_packets": 40, "flow_limit_packets": 15, "ce_threshold_ns": 9000000}"#,
    r#"{"kind": "cobalt", "limit_packets": 60, "sce_interval_ns": 25000000}"#,
    r#"{"kind": "cnq", "limit_packets": 60, "target_ns": 2000000}"#,
    r#"{"kind": "cnq_codel_af", "limit_packets": 60, "target_ns": 2000000}"#,
    r#"{"kind": "lfq", "limit_packets": 40, "target_ns": 2000000, "sce_interval_ns": 25000000}"#,
    r#"{"kind": "codel", "ecn": true, "limit_packets": 60, "ce_threshold_ns": 20000000}"#,
    r#"{"kind": "codel"}"#,
    r#"{"kind": "fq_codel", "flows": 4, "limit_packets": 50, "drop_batch_packets": 5, "quantum_bytes": 300}"#,
    r#"{"kind": "fq_codel", "flows": 1, "memory_limit_bytes": 60000, "ecn": false}"#,
    r#"{"kind": "pie", "ecn": true, "bytemode": true}"#,
    r#"{"kind": "pie", "limit_packets": 40, "dq_rate_estimator": true}"#,
    r#"{"kind": "fq_pie", "flows": 3, "ecn": true, "limit_packets": 70}"#,
    r#"{"kind": "red", "limit_bytes": 60000, "min_bytes": 4000, "max_bytes": 12000, "ecn": true, "adaptive": true}"#,
    r#"{"kind": "red", "limit_bytes": 12000, "min_bytes": 4000, "max_bytes": 11000, "ecn": true, "harddrop": true}"#,
    r#"{"kind": "dualpi2"}"#,
    r#"{"kind": "dualpi2", "limit_packets": 40, "drop_early": true, "drop_overload": false, "min_qlen_step_packets": 2}"#,
    r#"{"kind": "cake", "memory_limit_bytes": 80000, "sce": "ramp", "sce_thresh": 4}"#,
    r#"{"kind": "cake", "flow_mode": "flowblind", "own_shaper": true, "sce": "single"}"#,
];

#[derive(Clone, Copy, Debug)]
struct Offer {
    gap_us: u64,
    flow: u32,
    size: u64,
}

/// Flow, number and codepoints there and back of packets that came out, and flow, number and reason of those dropped.
type Outcome = (Vec<(u32, u64, Ecn, Ecn)>, Vec<(u32, u64, Reason)>);

fn ecn_of(flow: u32) -> Ecn {
    [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ect0][flow as usize % 4]
}

fn build(json: &str, seed: u64) -> Box<dyn Queue<()>> {
    let config: QueueConfig = serde_json::from_str(json).expect("a queue");
    let rate = Rate::from_bits_per_second(8_000_000);
    let setup = QueueSetup { mean_rate: Some(rate), largest_packet: Bytes::new(LARGEST), seed, hop: "forward.0" };
    config.check(&setup).expect("a possible queue");
    config.build(&setup).expect("a possible queue")
}

/// Lets a link of 8 Mbit/s serve the queue while packets arrive, and then until it is empty.
fn pass(json: &str, seed: u64, offers: &[Offer]) -> Outcome {
    let mut queue = build(json, seed);
    let (mut sent, mut dropped, mut verdicts) = (Vec::new(), Vec::new(), Verdicts::default());
    let mut inside = (0, 0);
    let (mut now, mut free) = (Instant::ZERO, Instant::ZERO);
    let end = Offer { gap_us: 100_000_000, flow: 0, size: 0 };
    for (number, offer) in (0..).zip(offers.iter().chain([&end])) {
        now += Duration::from_micros(offer.gap_us);
        let mut note = |verdicts: &mut Verdicts<()>, inside: &mut (usize, u64)| {
            for (packet, reason) in verdicts.dropped() {
                *inside = (inside.0 - 1, inside.1 - packet.size.count());
                dropped.push((packet.flow.0, packet.number, *reason));
            }
            verdicts.clear();
        };
        while free <= now && queue.packets() > 0 {
            if let Some(packet) = queue.dequeue(free, &mut verdicts) {
                inside = (inside.0 - 1, inside.1 - packet.size.count());
                sent.push((packet.flow.0, packet.number, ecn_of(packet.flow.0), packet.ecn));
                free += Duration::from_micros(packet.size.count());
            }
            note(&mut verdicts, &mut inside);
            assert_eq!((queue.packets(), queue.bytes().count()), inside, "{json}");
        }
        if queue.packets() == 0 {
            free = free.max(now);
        }
        if offer.size > 0 {
            let mut packet = Packet::new(FlowId(offer.flow), true, number, Bytes::new(offer.size), now, ());
            (packet.ecn, packet.enqueued) = (ecn_of(offer.flow), now);
            packet.dscp = (2 * offer.flow) as u8;
            inside = (inside.0 + 1, inside.1 + offer.size);
            queue.enqueue(Box::new(packet), now, &mut verdicts);
            note(&mut verdicts, &mut inside);
            assert_eq!((queue.packets(), queue.bytes().count()), inside, "{json}");
        }
    }
    assert_eq!(inside, (0, 0), "{json}: everything came out in the end");
    (sent, dropped)
}

fn offers() -> impl Strategy<Value = Vec<Offer>> {
    let offer = (0_u64..2_500, 0_u32..6, 40..=LARGEST).prop_map(|(gap_us, flow, size)| Offer { gap_us, flow, size });
    // Bursts: half of the packets come with the one before.
    vec((offer, any::<bool>()), 0..1_500).prop_map(|offers| {
        offers.into_iter().map(|(offer, alone)| Offer { gap_us: offer.gap_us * u64::from(alone), ..offer }).collect()
    })
}

/// What a queue may make of a codepoint.
fn may_become(before: Ecn, after: Ecn, json: &str) -> bool {
    let is_sce = before == Ecn::Ect0 && after == Ecn::Ect1 && json.contains("sce");
    before == after || is_sce || (before.is_capable() && after == Ecn::Ce)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn nothing_vanishes_and_flows_stay_in_order(offers in offers(), seed in 0_u64..1_000) {
        for json in CONFIGS {
            let (sent, dropped) = pass(json, seed, &offers);
            prop_assert_eq!(sent.len() + dropped.len(), offers.len());
            for flow in 0..6 {
                let numbers: Vec<_> = sent.iter().filter(|packet| packet.0 == flow).map(|packet| packet.1).collect();
                prop_assert!(numbers.is_sorted(), "{json}: {numbers:?}");
            }
            for (_, _, before, after) in sent {
                prop_assert!(may_become(before, after, json), "{json}: {before:?} became {after:?}");
            }
        }
    }

    #[test]
    fn a_run_repeats_itself(offers in offers()) {
        for json in CONFIGS {
            prop_assert_eq!(pass(json, 7, &offers), pass(json, 7, &offers));
        }
    }
}

#[test]
fn every_queue_is_tried() {
    for info in QUEUES {
        let kind = format!(r#""kind": "{}""#, info.name);
        assert!(CONFIGS.iter().any(|json| json.contains(&kind)), "{}", info.name);
        // Everything that a queue declares has a place in its configuration.
        assert!(!info.parameters.is_empty());
    }
}
