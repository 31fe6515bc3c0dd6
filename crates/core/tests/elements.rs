//! What a hop may do to packets beside queueing them, against arithmetic: token buckets, policers, duplicates,
//! reordering, rules.

#![allow(clippy::expect_used, reason = "a broken test may panic")]

use bakeoff_core::hop::{Hop, HopConfig, HopSetup};
use bakeoff_core::packet::{Ecn, FlowId, Packet};
use bakeoff_core::queue::{Reason, Verdicts};
use bakeoff_core::units::{Bytes, Duration, Instant};
use proptest::prelude::*;

const LARGEST: Bytes = Bytes::new(1_500);

fn config(parts: &str) -> HopConfig {
    let parts = parts.trim_start_matches(',');
    let link = if parts.contains("\"link\"") { "" } else { r#""link": {"kind": "unlimited"}, "# };
    let delay = if parts.contains("delay_ns") { "" } else { r#""delay_ns": 0, "# };
    let queue = if parts.contains("\"queue\"") { "" } else { r#""queue": {"kind": "fifo"}, "# };
    serde_json::from_str(&format!("{{{link}{delay}{queue}{parts}}}")).expect("a hop")
}

fn problem(parts: &str) -> String {
    config(parts).check(LARGEST).expect_err("it is impossible").to_string()
}

/// A hop at work, and what became of the packets so far.
struct Bench {
    hop: Hop<()>,
    verdicts: Verdicts<()>,
    /// Time in µs, number, codepoint and DSCP.
    out: Vec<(u64, u64, Ecn, u8)>,
    dropped: Vec<(u64, Reason)>,
    waits_of_dropped: Vec<Duration>,
    duplicated: usize,
    marked: Vec<Reason>,
    next: u64,
}

impl Bench {
    fn with_seed(parts: &str, seed: u64) -> Self {
        let config = config(parts);
        config.check(LARGEST).expect("a possible hop");
        let setup = HopSetup { largest_packet: LARGEST, flows: 2, seed, name: "forward.0" };
        Self {
            hop: Hop::new(&config, &setup).expect("a possible queue"),
            verdicts: Verdicts::default(),
            out: Vec::new(),
            dropped: Vec::new(),
            waits_of_dropped: Vec::new(),
            duplicated: 0,
            marked: Vec::new(),
            next: 0,
        }
    }

    fn new(parts: &str) -> Self {
        Self::with_seed(parts, 1)
    }

    fn note(&mut self) {
        self.dropped.extend(self.verdicts.dropped().iter().map(|(packet, reason)| (packet.number, *reason)));
        self.waits_of_dropped.extend(self.verdicts.dropped().iter().map(|(packet, _)| packet.queued_for));
        self.marked.extend(self.verdicts.marked().iter().map(|(_, reason)| *reason));
        self.duplicated += self.verdicts.duplicated().len();
        self.verdicts.clear();
    }

    fn run_until(&mut self, until: Instant) {
        while let Some(now) = self.hop.next_wakeup().filter(|wakeup| *wakeup <= until) {
            while let Some(packet) = self.hop.poll(now, &mut self.verdicts) {
                self.out.push((now.as_micros(), packet.number, packet.ecn, packet.dscp));
            }
            self.note();
        }
    }

    fn offer_packet(&mut self, micros: u64, change: impl FnOnce(&mut Packet<()>), size: u64) {
        let now = Instant::ZERO + Duration::from_micros(micros);
        self.run_until(now);
        let mut packet = Box::new(Packet::new(FlowId(0), true, self.next, Bytes::new(size), now, ()));
        change(&mut packet);
        self.next += 1;
        self.hop.accept(packet, now, &mut self.verdicts);
        self.note();
    }

    fn offer(&mut self, micros: u64, size: u64) {
        self.offer_packet(micros, |_| {}, size);
    }

    fn finish(&mut self) {
        self.run_until(Instant::ZERO + Duration::from_secs(10_000));
    }

    fn times(&self) -> Vec<(u64, u64)> {
        self.out.iter().map(|out| (out.0, out.1)).collect()
    }

    fn numbers(&self) -> Vec<u64> {
        self.out.iter().map(|out| out.1).collect()
    }
}

const TOKENS: &str = r#""link": {"kind": "token-bucket", "rate_bps": 12000000, "burst_bytes": 4500, "peak_bps": null}"#;

#[test]
fn a_token_bucket_lets_a_burst_through_and_then_its_rate() {
    let mut bench = Bench::new(TOKENS);
    (0..5).for_each(|_| bench.offer(0, 1_500));
    // After 2 ms at 12 Mbit/s the bucket is empty again; 10 ms later it is full.
    bench.offer(12_000, 1_500);
    (0..3).for_each(|_| bench.offer(12_000, 1_500));
    bench.finish();
    assert_eq!(
        bench.times(),
        [(0, 0), (0, 1), (0, 2), (1_000, 3), (2_000, 4), (12_000, 5), (12_000, 6), (12_000, 7), (13_000, 8)]
    );
}

#[test]
fn a_peak_rate_spreads_the_burst() {
    let mut bench = Bench::new(&TOKENS.replace("null", "120000000"));
    (0..5).for_each(|_| bench.offer(0, 1_500));
    bench.finish();
    // 0.1 ms at the peak; the bucket holds three packets and gains a tenth of one with each.
    assert_eq!(bench.times(), [(0, 0), (100, 1), (200, 2), (1_000, 3), (2_000, 4)]);
}

#[test]
fn the_rate_of_a_token_bucket_is_exact_in_the_long_run() {
    let mut bench = Bench::new(&TOKENS.replace("12000000", "7000000"));
    (0..200_000).for_each(|_| bench.offer(0, 52));
    bench.finish();
    // 4500 bytes at once, the other 199913.46 packets at 59.428571 us each.
    let (last, number) = *bench.times().last().expect("a packet");
    assert_eq!((last, number), ((200_000 * 52 - 4_500) * 8 / 7, 199_999));
}

#[test]
fn what_is_dropped_on_its_way_out_of_the_queue_has_waited_there() {
    let queue = r#""queue": {"kind": "codel", "target_ns": 1000000, "interval_ns": 10000000}"#;
    let mut bench = Bench::new(&format!("{TOKENS}, {queue}"));
    (0..200).for_each(|number| bench.offer(number * 500, 1_500));
    assert!(!bench.waits_of_dropped.is_empty());
    assert!(bench.waits_of_dropped.iter().all(|wait| *wait > Duration::from_millis(1)), "{:?}", bench.waits_of_dropped);
}

#[test]
fn what_waits_for_tokens_takes_room_in_its_queue() {
    let queues = [
        (r#""kind": "fifo", "limit_packets": 2"#, 2),
        (r#""kind": "pfifo_fast", "limit_packets": 2"#, 2),
        (r#""kind": "red", "limit_bytes": 3000, "min_bytes": 10000, "max_bytes": 30000, "probability": 0.1"#, 2),
        (r#""kind": "codel", "limit_packets": 2"#, 2),
        (r#""kind": "fq_codel", "limit_packets": 2"#, 2),
        (r#""kind": "pie", "limit_packets": 2"#, 2),
        (r#""kind": "fq_pie", "limit_packets": 2"#, 2),
        (r#""kind": "dualpi2", "limit_packets": 2"#, 2),
    ];
    for (queue, waiting) in queues {
        let mut bench = Bench::new(&format!(r#"{TOKENS}, "queue": {{{queue}}}"#));
        (0..8).for_each(|_| bench.offer(0, 1_500));
        assert_eq!((bench.hop.inside().packets, bench.dropped.len()), (waiting, 5 - waiting as usize), "{queue}");
        bench.finish();
        bench.offer(20_000_000, 1_500);
        bench.finish();
        assert_eq!((bench.hop.inside().packets, bench.out.len()), (0, waiting as usize + 4), "{queue}");
    }
}

#[test]
fn tokens_are_counted_for_the_packet_that_is_next_now() {
    let mut bench =
        Bench::new(&format!(r#"{TOKENS}, "queue": {{"kind": "fifo", "limit_packets": 1, "drop": "head"}}"#));
    (0..4).for_each(|_| bench.offer(0, 1_500));
    // The fourth would leave after a millisecond; the small one in its place has its tokens after a tenth of that.
    bench.offer(50, 150);
    bench.finish();
    assert_eq!(bench.dropped, [(3, Reason::Overlimit)]);
    assert_eq!(bench.times().last(), Some(&(100, 4)));
}

#[test]
fn a_policer_passes_rate_and_burst_exactly() {
    let mut bench = Bench::new(r#""policer": {"rate_bps": 12000000, "burst_bytes": 3000}"#);
    // A packet every 0.5 ms is twice the rate: 10 s bring 10000 packets' worth of tokens, and the bucket two.
    (0..20_000).for_each(|number| bench.offer(number * 500, 1_500));
    bench.finish();
    assert_eq!(bench.out.len(), 10_001, "the tokens of the last half millisecond are not enough");
    assert!(bench.dropped.iter().all(|(_, reason)| *reason == Reason::Police));
    assert_eq!(bench.out.len() + bench.dropped.len(), 20_000);
    let mut bench = Bench::new(r#""policer": {"rate_bps": 12000000, "burst_bytes": 3000}"#);
    for micros in [0, 0, 0, 1_000, 1_000] {
        bench.offer(micros, 1_500);
    }
    bench.finish();
    assert_eq!(bench.numbers(), [0, 1, 3]);
}

#[test]
fn duplicates_come_with_their_probability_and_are_accounted_for() {
    for seed in 1..4 {
        let mut bench = Bench::with_seed(r#""duplicate": 0.1, "delay_ns": 1000000"#, seed);
        (0..20_000).for_each(|number| bench.offer(number * 10, 1_000));
        bench.finish();
        assert!((1_830..2_170).contains(&bench.duplicated), "{} of 20000", bench.duplicated);
        assert_eq!(bench.out.len(), 20_000 + bench.duplicated);
        assert!(bench.numbers().is_sorted());
    }
}

#[test]
fn a_packet_that_is_doubled_and_lost_arrives_once() {
    let mut bench = Bench::new(r#""duplicate": 1.0, "loss": 1.0"#);
    (0..10).for_each(|number| bench.offer(number, 1_000));
    bench.finish();
    assert_eq!((bench.out.len(), bench.duplicated, bench.dropped.len()), (10, 10, 10));
}

#[test]
fn of_a_packet_that_is_doubled_and_lost_no_copy_is_left_to_chance() {
    // Half are lost before they are doubled and arrive once; of the others every other copy is lost.
    let mut bench = Bench::new(r#""duplicate": 1.0, "loss": 0.5"#);
    (0..10_000).for_each(|n| bench.offer(n * 10, 100));
    bench.finish();
    assert!(bench.out.len().abs_diff(12_500) < 200, "{}", bench.out.len());
}

#[test]
fn every_third_packet_skips_the_delay() {
    let reorder = r#""delay_ns": 10000000, "reorder": {"probability": 1.0, "change": {"kind": "ahead", "gap": 3}}"#;
    let mut bench = Bench::new(reorder);
    (0..6).for_each(|number| bench.offer(number * 1_000, 1_000));
    bench.finish();
    assert_eq!(bench.times(), [(2_000, 2), (5_000, 5), (10_000, 0), (11_000, 1), (13_000, 3), (14_000, 4)]);
}

#[test]
fn a_packet_behind_a_link_comes_ahead_when_it_has_been_sent() {
    let reorder = r#""delay_ns": 10000000, "reorder": {"probability": 1.0, "change": {"kind": "ahead", "gap": 3}}"#;
    let mut bench = Bench::new(&format!(r#""link": {{"kind": "constant", "rate_bps": 12000000}}, {reorder}"#));
    (0..4).for_each(|_| bench.offer(0, 1_500));
    bench.finish();
    assert_eq!(bench.times(), [(3_000, 2), (11_000, 0), (12_000, 1), (14_000, 3)]);
}

#[test]
fn a_packet_that_skips_the_delay_holds_up_nobody() {
    let delays = |probability: f64| {
        let mut bench = Bench::new(&format!(
            r#""delay_ns": 10000000, "jitter_ns": 5000000,
               "reorder": {{"probability": {probability}, "change": {{"kind": "ahead", "gap": 1}}}}"#
        ));
        (0..20_000).for_each(|number| bench.offer(number * 1_000, 1_000));
        bench.finish();
        let waits: Vec<_> =
            bench.times().iter().map(|(time, number)| time - number * 1_000).filter(|wait| *wait > 0).collect();
        waits.iter().sum::<u64>() as f64 / waits.len() as f64 / 1e3
    };
    // With a tenth of the packets left, ten times as far apart, the running maximum of the jitter is lower.
    let (all, few) = (delays(0.0), delays(0.9));
    assert!((20.5..23.0).contains(&all) && (15.0..17.0).contains(&few), "{all} and {few} ms");
}

#[test]
fn chosen_packets_are_late_and_the_others_overtake_them() {
    let reorder =
        r#""delay_ns": 1000000, "reorder": {"probability": 0.2, "change": {"kind": "late", "late_ns": 5000000}}"#;
    for seed in 1..4 {
        let mut bench = Bench::with_seed(reorder, seed);
        (0..10_000).for_each(|number| bench.offer(number * 1_000, 1_000));
        bench.finish();
        let late = bench.times().iter().filter(|(time, number)| time - number * 1_000 == 6_000).count();
        let punctual = bench.times().iter().filter(|(time, number)| time - number * 1_000 == 1_000).count();
        assert!((1_840..2_160).contains(&late), "{late} of 10000");
        assert_eq!(late + punctual, 10_000);
    }
}

#[test]
fn a_packet_arrives_behind_the_nth_after_it_or_after_a_time() {
    let behind = |packets, within| {
        format!(
            r#""delay_ns": 1000000, "reorder": {{"probability": 1.0, "change": {{"kind": "behind", "packets": {packets}, "within_ns": {within}}}}}"#
        )
    };
    // All are held back, so none passes another: each goes on when its time is over.
    let mut bench = Bench::new(&behind(2, 50_000_000));
    (0..3).for_each(|number| bench.offer(number * 1_000, 1_000));
    bench.finish();
    assert_eq!(bench.times(), [(51_000, 0), (52_000, 1), (53_000, 2)]);
    // With a chance of 30 %, each that is chosen arrives with the second that is not.
    let some = behind(2, 50_000_000).replace("1.0", "0.3");
    for seed in 1..6 {
        let mut bench = Bench::with_seed(&some, seed);
        (0..1_000).for_each(|number| bench.offer(number * 100, 1_000));
        bench.finish();
        let punctual: Vec<_> =
            bench.times().into_iter().filter(|(time, number)| time - number * 100 == 1_000).map(|out| out.1).collect();
        for (time, number) in bench.times() {
            let after = punctual.partition_point(|other| *other < number);
            let expected = match punctual.get(after) {
                Some(other) if *other == number => number * 100 + 1_000,
                _ => punctual.get(after + 1).map_or(number * 100 + 51_000, |other| other * 100 + 1_000),
            };
            assert_eq!(time, expected, "packet {number} of seed {seed}");
        }
        assert_eq!(bench.out.len(), 1_000);
    }
}

#[test]
fn a_packet_falls_behind_for_no_longer_than_it_may() {
    let behind = r#""reorder": {"probability": 0.5, "change": {"kind": "behind", "packets": 1, "within_ns": 1000000}}"#;
    let mut bench = Bench::new(&format!(r#""delay_ns": 10000000, {behind}"#));
    (0..200).for_each(|n| bench.offer(n * 5_000, 1_000));
    bench.finish();
    let late = bench.times().iter().map(|(time, number)| time - number * 5_000).max();
    assert_eq!(late, Some(11_000), "those that come 5 ms later do not count");
}

#[test]
fn rules_change_what_they_match_and_nothing_else() {
    // As the SCE / L4S bake-off had it: the type-of-service byte of packets with DSCP 1 becomes 1.
    let mut bench = Bench::new(r#""mangle": [{"match": {"dscp": 1}, "set": {"ecn": "ect1", "dscp": 0}}]"#);
    let offer = |bench: &mut Bench, flow, dscp, ecn| {
        bench.offer_packet(0, |packet| (packet.flow, packet.dscp, packet.ecn) = (FlowId(flow), dscp, ecn), 1_000);
    };
    offer(&mut bench, 0, 1, Ecn::NotEct);
    offer(&mut bench, 0, 1, Ecn::Ect0);
    offer(&mut bench, 1, 0, Ecn::Ect0);
    offer(&mut bench, 1, 1, Ecn::Ce);
    offer(&mut bench, 2, 1, Ecn::NotEct);
    bench.finish();
    let fields: Vec<_> = bench.out.iter().map(|out| (out.2, out.3)).collect();
    // The first packet of a flow asks for the connection; flow 2 is a probe; a mark from before is erased.
    let expected = [(Ecn::NotEct, 1), (Ecn::Ect1, 0), (Ecn::Ect0, 0), (Ecn::Ect1, 0), (Ecn::NotEct, 1)];
    assert_eq!(fields, expected);
    assert_eq!(bench.marked, [Reason::Mangle; 2]);
}

#[test]
fn rules_follow_each_other() {
    let rules = r#""mangle": [{"set": {"ecn": "ect1"}}, {"match": {"ecn": "ect1"}, "set": {"dscp": 46}}]"#;
    let mut bench = Bench::new(rules);
    bench.next = 1;
    bench.offer(0, 1_000);
    bench.finish();
    assert_eq!((bench.out[0].2, bench.out[0].3, bench.marked.len()), (Ecn::Ect1, 46, 1));
}

#[test]
fn impossible_elements_are_refused() {
    for (parts, part) in [
        (TOKENS.replace("4500", "1499"), "rate.burst 1499B holds no packet of 1500B; give at least 1500B"),
        (TOKENS.replace("12000000", "0"), "rate.rate 0 lets nothing pass"),
        (TOKENS.replace("null", "12000000"), "rate.peak must be more than the rate"),
        (r#""policer": {"rate_bps": 0, "burst_bytes": 3000}"#.to_owned(), "policer.rate 0 lets nothing pass"),
        (r#""policer": {"rate_bps": 1, "burst_bytes": 3}"#.to_owned(), "policer.burst 3B holds no packet"),
        (r#""loss": 1.5"#.to_owned(), "loss 1.5 is not a probability; give 0 to 1"),
        (r#""duplicate": 2"#.to_owned(), "duplicate 2 is not a probability"),
        (r#""loss": {"to_bad": 0.1, "to_good": 7}"#.to_owned(), "loss.to_good 7 is not a probability"),
        (r#""mangle": [{"set": {}}]"#.to_owned(), "mangle.set is empty"),
        (r#""mangle": [{"set": {"dscp": 64}}]"#.to_owned(), "dscp 64 is not possible; give 0 to 63"),
        (
            r#""reorder": {"probability": 0.1, "change": {"kind": "ahead", "gap": 1}}"#.to_owned(),
            "packets cannot skip a delay of 0",
        ),
        (
            r#""reorder": {"probability": 1.1, "change": {"kind": "late", "late_ns": 1}}"#.to_owned(),
            "reorder.probability 1.1 is not a probability",
        ),
        (
            r#""reorder": {"probability": 0.1, "change": {"kind": "behind", "packets": 0, "within_ns": 1}}"#.to_owned(),
            "reorder.behind 0 is not possible",
        ),
    ] {
        assert!(problem(&parts).contains(part), "{}", problem(&parts));
    }
}

proptest! {
    #[test]
    fn nothing_appears_or_vanishes(
        link in prop_oneof![
            Just(r#"{"kind": "unlimited"}"#),
            Just(r#"{"kind": "constant", "rate_bps": 3000000}"#),
            Just(r#"{"kind": "poisson", "rate_bps": 3000000}"#),
            Just(r#"{"kind": "token-bucket", "rate_bps": 3000000, "burst_bytes": 5000, "peak_bps": 9000000}"#),
        ],
        loss in prop_oneof![Just("0.0"), Just("0.2"), Just(r#"{"to_bad": 0.1, "to_good": 0.4}"#)],
        change in prop_oneof![
            Just(r#"{"kind": "ahead", "gap": 2}"#),
            Just(r#"{"kind": "late", "late_ns": 7000000}"#),
            Just(r#"{"kind": "behind", "packets": 3, "within_ns": 9000000}"#),
        ],
        policer in prop_oneof![Just("null"), Just(r#"{"rate_bps": 2000000, "burst_bytes": 3000}"#)],
        offered in prop::collection::vec((0_u64..4_000, 40_u64..1_501), 1..300),
        seed in 0_u64..1_000,
    ) {
        let mut bench = Bench::with_seed(&format!(
            r#""link": {link}, "queue": {{"kind": "fifo", "limit_packets": 9}}, "delay_ns": 5000000, "duplicate": 0.2,
               "loss": {loss}, "policer": {policer}, "reorder": {{"probability": 0.2, "change": {change}}}"#
        ), seed);
        let mut at = 0;
        for (gap, size) in &offered {
            at += gap;
            bench.offer(at, *size);
            let inside = bench.hop.inside().packets as usize;
            prop_assert_eq!(bench.out.len() + bench.dropped.len() + inside, bench.next as usize + bench.duplicated);
        }
        bench.finish();
        prop_assert_eq!(bench.hop.inside().packets, 0);
        let size = bench.hop.accepted.bytes;
        prop_assert_eq!(size, offered.iter().map(|(_, size)| size).sum::<u64>());
        prop_assert!(bench.out.is_sorted_by_key(|out| out.0));
    }
}

/// One packet every 0.1 ms through slots that open 2 to 3 ms apart; times at which packets come out, and how many.
fn bursts(slots: &str, seed: u64) -> Vec<(u64, usize)> {
    let mut bench = Bench::with_seed(&format!(r#""slots": {slots}"#), seed);
    (0..1_000).for_each(|n| bench.offer(n * 100, 1_000));
    bench.finish();
    assert!(bench.numbers().is_sorted() && bench.out.len() == 1_000 && bench.dropped.is_empty());
    bench.out.chunk_by(|a, b| a.0 == b.0).map(|burst| (burst[0].0, burst.len())).collect()
}

#[test]
fn slots_let_packets_through_together() {
    for seed in 1..=3 {
        let found = bursts(r#"{"min_ns": 2000000, "max_ns": 3000000, "packets": 1000}"#, seed);
        // The first packet comes at the very time at which slots begin.
        for pair in found[1..].windows(2) {
            // A slot is chosen when the packet behind the last burst looks for one.
            assert!((2_000..=3_100).contains(&(pair[1].0 - pair[0].0)), "{pair:?}");
            assert!((19..=32).contains(&pair[0].1), "{pair:?}");
        }
        let apart: Vec<_> = found[1..].windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
        assert!(apart.iter().min() < Some(&2_200) && apart.iter().max() > Some(&2_800), "{apart:?}");
    }
    assert_ne!(
        bursts(r#"{"min_ns": 2000000, "max_ns": 3000000, "packets": 1000}"#, 1),
        bursts(r#"{"min_ns": 2000000, "max_ns": 3000000, "packets": 1000}"#, 2)
    );
}

#[test]
fn a_slot_lets_no_more_packets_through_than_it_may() {
    let found = bursts(r#"{"min_ns": 2000000, "max_ns": 2000000, "packets": 16}"#, 1);
    assert!(found.iter().all(|(_, packets)| *packets <= 16), "{found:?}");
    // 16 packets in 2 ms are less than come: the slots follow each other.
    assert!(found[1..].windows(2).all(|pair| pair[1].0 - pair[0].0 == 2_000), "{found:?}");
}

#[test]
fn a_packet_that_comes_as_a_slot_opens_goes_with_it_and_the_next_slot_is_chosen_when_the_last_packet_is_gone() {
    let mut bench = Bench::new(r#""slots": {"min_ns": 2000000, "max_ns": 2000000, "packets": 100}"#);
    for micros in [0, 1_000, 3_000] {
        bench.offer(micros, 1_000);
    }
    bench.finish();
    assert_eq!(bench.times(), [(0, 0), (3_000, 1), (3_000, 2)]);
    let mut bench =
        Bench::new(r#""delay_ns": 1000000, "slots": {"min_ns": 1000000, "max_ns": 1000000, "packets": 100}"#);
    for micros in [0, 500] {
        bench.offer(micros, 1_000);
    }
    bench.finish();
    assert_eq!(bench.times(), [(1_000, 0), (2_000, 1)]);
}

#[test]
fn impossible_slots_are_refused() {
    let slots = |min, max, packets| format!(r#""slots": {{"min_ns": {min}, "max_ns": {max}, "packets": {packets}}}"#);
    assert!(problem(&slots(1, 2, 0)).contains("slots.packets 0 lets nothing pass"));
    assert!(problem(&slots(3, 2, 1)).contains("is not possible with slots.min"));
    assert!(problem(&format!(r#""delay_ns": 5, {}"#, slots(4, 8, 1))).contains("shorter than the delay of the hop"));
    assert!(problem(&format!(r#""jitter_ns": 5, {}"#, slots(4, 8, 1))).contains("leave jitter and reorder out"));
    assert!(problem(r#""replay_window": 0"#).contains("replay_window 0 lets nothing pass"));
}

#[test]
fn a_replay_window_drops_what_too_many_have_overtaken() {
    // Every packet is late by 1 ms with a chance of 1 %; others follow every 0.1 ms, so that 10 overtake it.
    let dropped = |window: u32, seed| {
        let reorder = r#""reorder": {"probability": 0.01, "change": {"kind": "late", "late_ns": 1000000}}"#;
        let mut bench = Bench::with_seed(&format!(r#"{reorder}, "replay_window": {window}"#), seed);
        (0..10_000).for_each(|n| bench.offer(n * 100, 1_000));
        bench.finish();
        assert_eq!(bench.out.len() + bench.dropped.len(), 10_000);
        assert!(bench.dropped.iter().all(|(_, reason)| *reason == Reason::Replay));
        bench.dropped.len()
    };
    for seed in 1..=3 {
        assert!((50..=150).contains(&dropped(8, seed)), "{}", dropped(8, seed));
        assert_eq!(dropped(12, seed), 0);
    }
}

#[test]
fn a_replay_window_lets_no_copy_through() {
    let mut bench = Bench::new(r#""duplicate": 1.0, "replay_window": 64"#);
    (0..100).for_each(|n| bench.offer(n * 100, 1_000));
    bench.finish();
    assert_eq!(bench.numbers(), (0..100).collect::<Vec<_>>());
    assert_eq!(bench.dropped.len(), 100);
}
