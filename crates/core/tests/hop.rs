//! Hops against arithmetic: when packets come out, which ones, and that none vanishes.

#![allow(clippy::expect_used, reason = "a broken test may panic")]

use bakeoff_core::hop::{Hop, HopConfig, HopSetup, LinkConfig};
use bakeoff_core::packet::{FlowId, Packet};
use bakeoff_core::queue::{Reason, Verdicts};
use bakeoff_core::units::{Bytes, Duration, Instant, Rate};
use proptest::prelude::*;

const LARGEST: Bytes = Bytes::new(1_500);

fn hop(json: &str) -> Hop<()> {
    let config: HopConfig = serde_json::from_str(json).expect("a hop");
    config.check(LARGEST).expect("a possible hop");
    Hop::new(&config, &HopSetup { largest_packet: LARGEST, flows: 1, seed: 1, name: "forward.0" })
        .expect("a possible hop")
}

fn packet(number: u64, size: u64, now: Instant) -> Box<Packet<()>> {
    Box::new(Packet::new(FlowId(0), true, number, Bytes::new(size), now, ()))
}

/// Offers (time in µs, size) to a hop and returns (time in µs, number) of what comes out, and the numbers of what is
/// dropped.
fn pass(hop: &mut Hop<()>, offered: &[(u64, u64)]) -> (Vec<(u64, u64)>, Vec<u64>) {
    let (mut out, mut verdicts) = (Vec::new(), Verdicts::default());
    let mut take = |hop: &mut Hop<()>, until: Instant, verdicts: &mut Verdicts<()>| {
        while let Some(wakeup) = hop.next_wakeup().filter(|wakeup| *wakeup <= until) {
            while let Some(packet) = hop.poll(wakeup, verdicts) {
                out.push((wakeup.as_micros(), packet.number));
            }
        }
    };
    for (number, (micros, size)) in (0..).zip(offered) {
        let now = Instant::ZERO + Duration::from_micros(*micros);
        take(hop, now, &mut verdicts);
        hop.accept(packet(number, *size, now), now, &mut verdicts);
    }
    take(hop, Instant::ZERO + Duration::from_secs(10_000), &mut verdicts);
    let dropped = verdicts.dropped().iter().map(|(packet, _)| packet.number).collect();
    (out, dropped)
}

const UNLIMITED_QUEUE: &str = r#""queue": {"kind": "fifo"}"#;

#[test]
fn a_constant_link_sends_one_after_the_other() {
    let mut hop = hop(&format!(
        r#"{{"link": {{"kind": "constant", "rate_bps": 12000000}}, {UNLIMITED_QUEUE}, "delay_ns": 20000000}}"#
    ));
    let (out, _) = pass(&mut hop, &[(0, 1_500), (0, 1_500), (0, 750), (10_000, 1_500)]);
    assert_eq!(out, [(21_000, 0), (22_000, 1), (22_500, 2), (31_000, 3)]);
}

#[test]
fn the_mean_rate_of_a_link_is_that_of_a_whole_period() {
    for (link, mean) in [
        (r#"{"kind": "unlimited"}"#, None),
        (r#"{"kind": "constant", "rate_bps": 5000000}"#, Some(5_000_000)),
        (r#"{"kind": "poisson", "rate_bps": 5000000}"#, Some(5_000_000)),
        (r#"{"kind": "token-bucket", "rate_bps": 5000000, "burst_bytes": 3000, "peak_bps": 8000000}"#, Some(5_000_000)),
        (
            r#"{"kind": "schedule", "steps": [{"at_ns": 0, "rate_bps": 4000000}, {"at_ns": 30, "rate_bps": 8000000}], "period_ns": 40}"#,
            Some(5_000_000),
        ),
        (r#"{"kind": "trace", "opportunities_ms": [1, 1, 3, 6]}"#, Some(8_000_000)),
        (r#"{"kind": "trace", "opportunities_ms": [1, 1, 3, 6], "mean_rate_bps": 3000000}"#, Some(3_000_000)),
    ] {
        let found: LinkConfig = serde_json::from_str(link).expect("a link");
        assert_eq!(found.mean_rate().map(Rate::as_bits_per_second), mean, "{link}");
    }
}

#[test]
fn a_time_limit_counts_at_the_rate_that_stays_or_at_the_highest_if_that_is_an_outage() {
    for (steps, held) in [
        (r#"{"at_ns": 0, "rate_bps": 6000000}, {"at_ns": 1000000, "rate_bps": 12000000}"#, 4),
        (r#"{"at_ns": 0, "rate_bps": 12000000}, {"at_ns": 9000000000, "rate_bps": 0}"#, 4),
        (r#"{"at_ns": 0, "rate_bps": 0}, {"at_ns": 9000000000, "rate_bps": 12000000}"#, 4),
    ] {
        let mut hop = hop(&format!(
            r#"{{"link": {{"kind": "schedule", "steps": [{steps}]}}, "queue": {{"kind": "fifo", "limit_time_ns": 4000000}}, "delay_ns": 0}}"#
        ));
        let (out, dropped) = pass(&mut hop, &[(0, 1_500); 10]);
        assert!((held..=held + 1).contains(&out.len()), "{steps}: {} of 10 entered, {dropped:?} did not", out.len());
    }
}

#[test]
fn rounding_to_nanoseconds_does_not_add_up() {
    // 52 bytes at 7 Mbit/s take 59428.57 ns; a million of them must take a million times that.
    let mut hop =
        hop(&format!(r#"{{"link": {{"kind": "constant", "rate_bps": 7000000}}, {UNLIMITED_QUEUE}, "delay_ns": 0}}"#));
    let (out, _) = pass(&mut hop, &vec![(0, 52); 1_000_000]);
    assert_eq!(out.last(), Some(&(59_428_571, 999_999)));
}

#[test]
fn packets_on_the_wire_take_no_room_in_the_buffer() {
    // 600 ms of propagation hold 600 packets, the queue one: spaced packets all pass.
    let queue = r#""queue": {"kind": "fifo", "limit_packets": 1}"#;
    let mut hop =
        hop(&format!(r#"{{"link": {{"kind": "constant", "rate_bps": 12000000}}, {queue}, "delay_ns": 600000000}}"#));
    let offered: Vec<_> = (0..2_000).map(|n| (n * 1_000, 1_500)).collect();
    let (out, dropped) = pass(&mut hop, &offered);
    assert_eq!((out.len(), dropped.len()), (2_000, 0));
}

#[test]
fn the_packet_being_sent_is_outside_the_queue() {
    let queue = r#""queue": {"kind": "fifo", "limit_packets": 1}"#;
    let mut hop = hop(&format!(r#"{{"link": {{"kind": "constant", "rate_bps": 12000000}}, {queue}, "delay_ns": 0}}"#));
    let (out, dropped) = pass(&mut hop, &[(0, 1_500), (0, 1_500), (0, 1_500)]);
    assert_eq!((out, dropped), (vec![(1_000, 0), (2_000, 1)], vec![2]));
}

#[test]
fn a_schedule_changes_the_rate_in_the_middle_of_a_packet() {
    let link = r#"{"kind": "schedule", "period_ns": 2000000, "steps": [{"at_ns": 0, "rate_bps": 12000000}, {"at_ns": 1000000, "rate_bps": 0}]}"#;
    let mut hop = hop(&format!(r#"{{"link": {link}, {UNLIMITED_QUEUE}, "delay_ns": 0}}"#));
    // Half of the first packet leaves before the outage, half after it.
    let (out, _) = pass(&mut hop, &[(500, 1_500), (500, 750)]);
    assert_eq!(out, [(2_500, 0), (3_000, 1)]);
    let capacity = hop.capacity(Instant::ZERO, Instant::ZERO + Duration::from_millis(20));
    assert_eq!(capacity, Some(Bytes::new(15_000)));
}

#[test]
fn a_dead_link_delivers_nothing() {
    let link = r#"{"kind": "schedule", "period_ns": null, "steps": [{"at_ns": 0, "rate_bps": 12000000}, {"at_ns": 1000000, "rate_bps": 0}]}"#;
    let mut hop = hop(&format!(r#"{{"link": {link}, {UNLIMITED_QUEUE}, "delay_ns": 0}}"#));
    let (out, _) = pass(&mut hop, &[(0, 1_500), (0, 1_500)]);
    assert_eq!(out, [(1_000, 0)]);
    assert_eq!(hop.inside().packets, 1);
}

fn trace(opportunities_ms: &str) -> Hop<()> {
    hop(&format!(
        r#"{{"link": {{"kind": "trace", "opportunities_ms": {opportunities_ms}}}, {UNLIMITED_QUEUE}, "delay_ns": 0}}"#
    ))
}

#[test]
fn a_trace_delivers_one_full_packet_per_opportunity_and_repeats() {
    let (out, _) = pass(&mut trace("[1, 1, 5]"), &[(0, 1_500); 7]);
    assert_eq!(out, [(1_000, 0), (1_000, 1), (5_000, 2), (6_000, 3), (6_000, 4), (10_000, 5), (11_000, 6)]);
}

#[test]
fn small_packets_share_an_opportunity_and_a_packet_may_span_two() {
    // Each packet of 996 bytes needs 1000 of 1504: the second one ends in the next opportunity, which has 1008 left for
    // the third.
    let (out, _) = pass(&mut trace("[1, 2, 3]"), &[(0, 996), (0, 996), (0, 996)]);
    assert_eq!(out, [(1_000, 0), (2_000, 1), (2_000, 2)]);
}

#[test]
fn a_packet_counts_with_its_tun_header() {
    let (out, _) = pass(&mut trace("[1, 2, 3]"), &[(0, 748), (0, 748)]);
    assert_eq!(out, [(1_000, 0), (1_000, 1)], "two of 752 bytes fill an opportunity");
    let (out, _) = pass(&mut trace("[1, 2, 3]"), &[(0, 749), (0, 748)]);
    assert_eq!(out, [(1_000, 0), (2_000, 1)]);
}

#[test]
fn an_unused_opportunity_is_lost() {
    let (out, _) = pass(&mut trace("[1, 2, 3]"), &[(2_500, 1_500), (2_500, 1_500)]);
    assert_eq!(out, [(3_000, 0), (4_000, 1)]);
}

#[test]
fn the_capacity_of_a_trace_counts_every_opportunity() {
    let mut hop = trace("[1, 2, 2, 10]");
    let second = Instant::ZERO + Duration::from_secs(1);
    assert_eq!(hop.capacity(Instant::ZERO, second), Some(Bytes::new(1_500 * (4 * 100 - 1))));
    assert_eq!(hop.capacity(Instant::ZERO, second), Some(Bytes::new(1_500 * (4 * 100 - 1))));
}

#[test]
fn the_capacity_of_an_interval_has_its_beginning_and_not_its_end() {
    let mut hop = trace("[1, 2, 2, 10]");
    let at = |ms| Instant::ZERO + Duration::from_millis(ms);
    assert_eq!(hop.capacity(at(1), at(2)), Some(Bytes::new(1_500)));
    assert_eq!(hop.capacity(at(2), at(10)), Some(Bytes::new(3_000)));
}

#[test]
fn a_link_that_was_idle_owes_no_fraction_of_a_nanosecond() {
    // 52 bytes at 7 Mbit/s take 59428.57 ns.
    let mut hop =
        hop(&format!(r#"{{"link": {{"kind": "constant", "rate_bps": 7000000}}, {UNLIMITED_QUEUE}, "delay_ns": 0}}"#));
    let mut verdicts = Verdicts::default();
    for micros in [0, 1_000] {
        let now = Instant::ZERO + Duration::from_micros(micros);
        hop.accept(packet(0, 52, now), now, &mut verdicts);
        let out = hop.next_wakeup().expect("it is under way");
        assert_eq!(out.since(now).as_nanos(), 59_428);
        assert!(hop.poll(out, &mut verdicts).is_some());
    }
}

#[test]
fn a_packet_that_gives_way_to_a_newer_one_has_waited() {
    let mut hop = hop(
        r#"{"link": {"kind": "constant", "rate_bps": 12000}, "queue": {"kind": "fifo", "limit_packets": 1, "drop": "head"}, "delay_ns": 0}"#,
    );
    let mut verdicts = Verdicts::default();
    for (number, millis) in [(0, 0), (1, 10), (2, 35)] {
        let now = Instant::ZERO + Duration::from_millis(millis);
        hop.accept(packet(number, 1_500, now), now, &mut verdicts);
    }
    let waits: Vec<_> =
        verdicts.dropped().iter().map(|(packet, _)| (packet.number, packet.queued_for.as_millis())).collect();
    assert_eq!(waits, [(1, 25)]);
}

#[test]
fn a_poisson_link_reaches_its_mean_rate() {
    let mut hop =
        hop(&format!(r#"{{"link": {{"kind": "poisson", "rate_bps": 12000000}}, {UNLIMITED_QUEUE}, "delay_ns": 0}}"#));
    let (out, _) = pass(&mut hop, &vec![(0, 1_500); 20_000]);
    let (last, _) = out[out.len() - 1];
    assert!((19_600_000..20_400_000).contains(&last), "20000 packets took {last} us");
}

#[test]
fn loss_and_jitter_have_their_means_and_keep_order() {
    let mut hop = hop(
        r#"{"link": {"kind": "unlimited"}, "queue": {"kind": "fifo"}, "delay_ns": 10000000, "loss": 0.1, "jitter_ns": 1000000}"#,
    );
    let offered: Vec<_> = (0..20_000).map(|n| (n * 50_000, 1_500)).collect();
    let (out, dropped) = pass(&mut hop, &offered);
    assert!((1_850..2_150).contains(&dropped.len()), "{} of 20000 lost", dropped.len());
    assert!(out.windows(2).all(|pair| pair[0].1 < pair[1].1));
    let delays: u64 = out.iter().map(|(time, number)| time - number * 50_000).sum();
    let mean = delays / out.len() as u64;
    assert!((10_950..11_050).contains(&mean), "mean delay {mean} us");
}

proptest! {
    #[test]
    fn nothing_appears_or_vanishes(
        link in prop_oneof![
            Just(r#"{"kind": "unlimited"}"#),
            Just(r#"{"kind": "constant", "rate_bps": 3000000}"#),
            Just(r#"{"kind": "poisson", "rate_bps": 3000000}"#),
            Just(r#"{"kind": "trace", "opportunities_ms": [0, 3, 3, 9]}"#),
            Just(r#"{"kind": "schedule", "period_ns": 9000000, "steps": [{"at_ns": 0, "rate_bps": 0}, {"at_ns": 5000000, "rate_bps": 9000000}]}"#),
        ],
        limits in prop_oneof![Just(r#""limit_packets": 5"#), Just(r#""limit_bytes": 4000, "drop": "head""#), Just(r#""limit_time_ns": 9000000"#)],
        loss in prop_oneof![Just(0.0), Just(0.3)],
        offered in prop::collection::vec((0_u64..20_000, 40_u64..1_501), 1..200),
    ) {
        let mut hop = hop(&format!(
            r#"{{"link": {link}, "queue": {{"kind": "fifo", {limits}}}, "delay_ns": 5000000, "loss": {loss}, "jitter_ns": 300000}}"#
        ));
        let mut at = 0;
        let offered: Vec<_> = offered.into_iter().map(|(gap, size)| { at += gap; (at, size) }).collect();
        let (out, dropped) = pass(&mut hop, &offered);
        prop_assert_eq!(out.len() + dropped.len() + hop.inside().packets as usize, offered.len());
        prop_assert!(out.windows(2).all(|pair| pair[0] < pair[1]));
        prop_assert_eq!(hop.accepted.bytes, offered.iter().map(|(_, size)| size).sum::<u64>());
    }
}

#[test]
fn a_copy_is_known_as_one_until_it_enters_the_next_hop() {
    let mut hop =
        hop(&format!(r#"{{"link": {{"kind": "unlimited"}}, {UNLIMITED_QUEUE}, "delay_ns": 0, "duplicate": 1.0}}"#));
    let mut verdicts = Verdicts::default();
    hop.accept(packet(0, 1_500, Instant::ZERO), Instant::ZERO, &mut verdicts);
    let mut out: Vec<_> = std::iter::from_fn(|| hop.poll(Instant::ZERO, &mut verdicts)).collect();
    assert_eq!(out.iter().map(|packet| packet.is_copy).collect::<Vec<_>>(), [true, false]);
    out[0].enter_hop(Instant::ZERO);
    assert!(!out[0].is_copy);
}

#[test]
fn what_skips_the_delay_comes_behind_what_arrives_at_that_time() {
    let mut hop = hop(&format!(
        r#"{{"link": {{"kind": "unlimited"}}, {UNLIMITED_QUEUE}, "delay_ns": 1000000,
            "reorder": {{"probability": 1.0, "change": {{"kind": "ahead", "gap": 3}}}}}}"#
    ));
    let mut verdicts = Verdicts::default();
    for (number, micros) in [(0, 0), (1, 500), (2, 1_000)] {
        let now = Instant::ZERO + Duration::from_micros(micros);
        hop.accept(packet(number, 1_500, now), now, &mut verdicts);
    }
    let end = Instant::ZERO + Duration::from_millis(10);
    let out: Vec<_> = std::iter::from_fn(|| hop.poll(end, &mut verdicts)).map(|packet| packet.number).collect();
    assert_eq!(out, [0, 2, 1]);
}

#[test]
fn a_hop_tells_of_itself_and_adds_up_the_waits() {
    let mut passing = packet(0, 1_500, Instant::ZERO);
    let at = |ms| Instant::ZERO + Duration::from_millis(ms);
    passing.enter_hop(at(10));
    passing.leave_queue(at(13));
    passing.marked = Some(Reason::Congestion);
    passing.enter_hop(at(20));
    assert_eq!((passing.enqueued, passing.sojourn, passing.marked), (at(20), Duration::ZERO, None));
    passing.leave_queue(at(24));
    assert_eq!((passing.sojourn, passing.queued_for), (Duration::from_millis(4), Duration::from_millis(7)));
}
