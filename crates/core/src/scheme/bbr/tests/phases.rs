//! Modes and the gain cycle.

use std::collections::BTreeSet;

use super::*;
use crate::scheme::window::{ack as one_ack, timeout};

#[test]
fn gains_are_those_of_the_kernel() {
    assert_eq!((model::HIGH_GAIN, model::DRAIN_GAIN, model::CWND_GAIN), (739, 88, 512));
    assert_eq!(model::CYCLE, [320, 192, 256, 256, 256, 256, 256, 256]);
}

#[test]
fn start_up_ends_three_rounds_after_the_last_growth_and_drains() {
    let mut path = Path::new(CURRENT, 1);
    path.in_flight = 100;
    path.ack_until(|bbr| bbr.mode == Mode::Drain);
    // The first round sets the mark, three more do not exceed it; a round is 100 packets.
    assert_eq!(path.delivered, 301);
    assert_eq!((path.bbr.pacing_gain, path.bbr.cwnd_gain), (88, 739));
    assert_eq!(path.bbr.ssthresh(), Some(46));
    path.acks(20);
    assert_eq!(path.bbr.mode, Mode::Drain);
    // In a gap at the gain of draining three leave the network, less a part.
    (path.in_flight, path.held) = (48, Duration::from_micros(1_900));
    path.ack();
    assert_eq!(path.bbr.mode, Mode::Drain);
    path.held = Duration::from_micros(2_900);
    path.ack();
    assert_eq!(path.bbr.mode, Mode::ProbeBandwidth);
}

#[test]
fn the_cycle_starts_anywhere_but_in_the_draining_phase() {
    let phases: BTreeSet<_> = (0..200)
        .map(|seed| {
            let mut path = Path::new(CURRENT, seed);
            path.ack_until(|bbr| bbr.mode == Mode::ProbeBandwidth);
            path.bbr.phase
        })
        .collect();
    assert_eq!(phases, BTreeSet::from([0, 2, 3, 4, 5, 6, 7]));
}

#[test]
fn each_phase_lasts_a_round_trip() {
    let mut path = Path::probing(CURRENT, 1);
    path.ack_until(|bbr| bbr.phase == 7);
    path.ack_until(|bbr| bbr.phase == 0);
    let mut gains = Vec::new();
    for phase in 0..8_usize {
        gains.push(path.bbr.pacing_gain);
        assert_eq!(path.ack_until(|bbr| bbr.phase == (phase + 1) % 8), 41, "phase {phase}");
    }
    assert_eq!(gains, model::CYCLE);
}

#[test]
fn probing_goes_on_until_there_is_enough_in_flight_or_a_loss() {
    let mut path = Path::probing(CURRENT, 1);
    path.ack_until(|bbr| bbr.phase == 7);
    path.ack_until(|bbr| bbr.phase == 0);
    // 50 packets of 1.25 BDP, a budget of 6 and 2 while probing; less the segment goal of 2.
    path.in_flight = 55;
    path.acks(100);
    assert_eq!(path.bbr.phase, 0);
    path.in_flight = 56;
    path.ack();
    assert_eq!(path.bbr.phase, 1);
    path.in_flight = 60;
    path.ack_until(|bbr| bbr.phase == 0);
    path.in_flight = 55;
    path.acks(100);
    path.ack_with_losses(1);
    assert_eq!(path.bbr.phase, 1);
}

#[test]
fn draining_ends_as_soon_as_the_queue_is_empty() {
    let mut path = Path::probing(CURRENT, 1);
    path.ack_until(|bbr| bbr.phase == 1);
    path.in_flight = 46;
    path.ack();
    assert_eq!(path.bbr.phase, 2);
}

#[test]
fn after_ten_seconds_the_window_falls_to_four_for_200_milliseconds_and_a_round() {
    let mut path = Path::probing(CURRENT, 1);
    path.rtt = Duration::from_millis(41);
    let window = path.bbr.cwnd();
    path.ack_until(|bbr| bbr.mode == Mode::ProbeRtt);
    // The path's 40 ms were first seen with the first ack.
    assert_eq!(path.now.as_millis(), 10_002);
    assert_eq!((path.bbr.cwnd(), path.bbr.pacing_gain), (4, 256));
    path.acks(30);
    path.in_flight = 4;
    let bandwidth = path.bbr.bandwidth();
    path.rtt = Duration::from_millis(39);
    path.gap = Duration::from_millis(2);
    // The first ack starts the clock; the probe ends with the first ack after 200 ms more.
    assert_eq!(path.ack_until(|bbr| bbr.mode != Mode::ProbeRtt), 204);
    assert_eq!(path.bbr.min_rtt.micros, Some(39_000));
    assert_eq!(path.bbr.bandwidth(), bandwidth, "25 rounds with four packets in flight say nothing of it");
    assert!(path.bbr.cwnd() + 4 >= window, "{} after {window}", path.bbr.cwnd());
    let (left, rtt) = (path.now, Duration::from_millis(60));
    (path.in_flight, path.gap, path.rtt) = (40, Duration::from_millis(1), rtt);
    path.ack_until(|bbr| bbr.mode == Mode::ProbeRtt);
    assert_eq!(path.now.since(left).as_millis(), 10_001);
}

#[test]
fn only_a_shorter_round_trip_puts_off_the_probe() {
    let probe = |generation, seen_again| {
        let mut path = Path::probing(generation, 1);
        path.acks(4_700);
        path.rtt = Duration::from_micros(seen_again);
        path.ack();
        path.rtt = Duration::from_millis(41);
        path.ack_until(|bbr| bbr.mode == Mode::ProbeRtt);
        path.now.as_millis()
    };
    // The path's 40 ms are seen from the first ack to that of 5 s, and 39.999 or 40 ms with the one after it.
    assert_eq!(probe(CURRENT, 39_999), 15_002);
    assert_eq!(probe(CURRENT, 40_000), 10_002);
    assert_eq!(probe(OLD, 40_000), 15_002);
}

#[test]
fn the_shortest_round_trip_is_at_first_that_of_the_handshake_and_a_shorter_first_ack_puts_off_the_probe() {
    let probe = |first| {
        let mut path = Path::new(CURRENT, 1);
        assert_eq!(path.bbr.min_rtt.micros, Some(40_000));
        path.bbr.min_rtt.start(Instant::ZERO);
        path.now += Duration::from_secs(2);
        path.rtt = Duration::from_micros(first);
        path.ack();
        path.rtt = Duration::from_millis(41);
        path.ack_until(|bbr| bbr.mode == Mode::ProbeRtt);
        path.now.as_millis()
    };
    assert_eq!(probe(40_000), 10_001);
    assert_eq!(probe(39_999), 12_002);
}

#[test]
fn after_idle_it_paces_at_the_bandwidth() {
    let mut path = Path::probing(CURRENT, 1);
    path.ack_until(|bbr| bbr.pacing_gain == 320);
    let mut start = TxStart {
        now: path.now + Duration::from_secs(20),
        idle: Duration::from_secs(20),
        delivered: path.bbr.delivered,
        next_sequence: 0,
        is_app_limited: false,
    };
    path.bbr.on_tx_start(&start);
    assert!(!path.bbr.is_idle_restart, "a packet that is alone in the network is no return from idle");
    start.is_app_limited = true;
    path.bbr.on_tx_start(&start);
    let expected = 1_448_000.0 * 0.99;
    assert!((path.pacing_bytes() as f64 / expected - 1.0).abs() < 1e-3, "{}", path.pacing_bytes());
    path.now += Duration::from_secs(20);
    path.rtt = Duration::from_millis(45);
    path.ack();
    assert_ne!(path.bbr.mode, Mode::ProbeRtt, "the idle period was as good as a probe");
    assert_eq!(path.bbr.min_rtt.micros, Some(45_000));
}

#[test]
fn a_late_copy_does_not_end_what_a_probe_of_the_round_trip_limits() {
    let mut path = Path::probing(CURRENT, 1);
    let (now, delivered) = (path.now, path.delivered);
    path.bbr.min_rtt.limited.begin(delivered);
    // The copy counts as delivered, and its ack is of nothing outstanding.
    path.bbr.on_tx_start(&TxStart {
        now,
        delivered: delivered + 1,
        idle: Duration::ZERO,
        next_sequence: 0,
        is_app_limited: false,
    });
    assert!(path.bbr.is_idle_restart);
}

#[test]
fn a_policed_path_is_used_at_its_rate() {
    let mut path = Path::probing(CURRENT, 1);
    for packet in 0..1_000 {
        path.ack_with_losses(u32::from(packet % 4 == 0));
    }
    assert!(path.bbr.long_term.bandwidth_in_use().is_some());
    assert_eq!(path.bbr.pacing_gain, GAIN_UNIT);
    path.bbr.on_undo(path.now);
    assert!(path.bbr.long_term.bandwidth_in_use().is_none());
}

#[test]
fn what_a_policer_lets_through_is_counted_from_when_the_flight_left() {
    let mut path = Path::new(CURRENT, 1);
    path.now += Duration::from_secs(1);
    let (now, rto) = (path.now, Duration::from_millis(500));
    path.bbr.on_restart(&Restart { now, idle: Duration::ZERO, rto, is_app_limited: false });
    path.bbr.on_sent(&Sent { now, size: Bytes::new(1_448), is_retransmission: false, in_flight: 1, delivered: 0 });
    path.now += rto;
    path.bbr.on_timeout(&Timeout { now: path.now, prior_in_flight: 1, in_flight: 0, ..timeout(true) });
    (path.in_flight, path.gap, path.state) = (1, Duration::from_millis(50), State::Loss);
    path.acks(11);
    path.ack_with_losses(3);
    // Twelve packets in 1.1 s.
    assert_eq!(path.bbr.long_term.bandwidth.0, (12 << 24) / 1_100_000);
}

#[test]
fn a_return_from_idle_lasts_until_an_ack_gives_a_sample() {
    let mut path = Path::probing(CURRENT, 1);
    path.bbr.is_idle_restart = true;
    path.bbr.on_ack(&Ack { now: path.now, delivered: path.delivered, ..one_ack(1) });
    assert!(path.bbr.is_idle_restart, "what was sent twice and arrived twice gives none");
    path.ack();
    assert!(!path.bbr.is_idle_restart);
}

#[test]
fn the_probe_of_the_round_trip_lasts_a_whole_round_from_when_four_are_in_flight() {
    let mut path = Path::probing(CURRENT, 1);
    path.rtt = Duration::from_millis(41);
    path.ack_until(|bbr| bbr.mode == Mode::ProbeRtt);
    (path.in_flight, path.gap) = (4, Duration::from_millis(100));
    path.ack();
    assert_eq!(path.ack_until(|bbr| bbr.mode != Mode::ProbeRtt), 400);
}

#[test]
fn in_2018_only_a_delivery_cut_the_window_of_the_probe_or_ended_it() {
    let after = |generation| {
        let mut path = Path::probing(generation, 1);
        path.rtt = Duration::from_millis(41);
        path.ack_until(|bbr| bbr.mode == Mode::ProbeRtt);
        let prior = path.bbr.prior_cwnd;
        path.bbr.cwnd = 9;
        path.bbr.on_ack(&Ack { now: path.now, delivered: path.delivered, in_flight: 9, ..one_ack(0) });
        let without_delivery = path.bbr.cwnd;
        path.in_flight = 4;
        path.ack();
        path.now += Duration::from_millis(300);
        let (now, delivered) = (path.now, path.delivered);
        path.bbr.on_tx_start(&TxStart { now, delivered, idle: Duration::ZERO, next_sequence: 0, is_app_limited: true });
        (without_delivery, path.bbr.mode, path.bbr.cwnd == prior)
    };
    assert_eq!(after(CURRENT), (4, Mode::ProbeBandwidth, true));
    assert_eq!(after(OLD), (9, Mode::ProbeRtt, false));
}

#[test]
fn in_2018_the_window_before_a_probe_came_back_after_losses_had_counted() {
    let is_whole = |generation| {
        let mut path = Path::probing(generation, 1);
        path.rtt = Duration::from_millis(41);
        path.ack_until(|bbr| bbr.mode == Mode::ProbeRtt);
        path.in_flight = 4;
        path.ack();
        path.now += Duration::from_millis(300);
        path.acks(3);
        path.ack_with_losses(10);
        assert_eq!(path.bbr.mode, Mode::ProbeBandwidth);
        path.bbr.cwnd >= path.bbr.prior_cwnd
    };
    assert_eq!((is_whole(CURRENT), is_whole(OLD)), (false, true));
}

#[test]
fn an_ack_that_the_receiver_may_have_held_back_renews_no_round_trip() {
    let mut path = Path::probing(CURRENT, 1);
    path.now += Duration::from_secs(11);
    for (is_delayed, expected) in [(true, 40_000), (false, 45_000)] {
        path.bbr.on_ack(&Ack {
            now: path.now,
            rtt: Some(Duration::from_millis(45)),
            delivered: path.delivered,
            is_delayed,
            ..one_ack(1)
        });
        assert_eq!(path.bbr.min_rtt.micros, Some(expected));
    }
}
