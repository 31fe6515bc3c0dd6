use super::super::testing::{ack, at};
use super::*;
use crate::scheme::window::timeout;

const LOST: Lost = Lost { now: Instant::ZERO, size: Bytes::new(1_448), packet: 0, is_timer: false };

/// Past slow start with 40 packets on a path of 100 ms.
fn sender() -> Paper {
    let mut paper = Paper::new(Bytes::new(1_500), 0.5, true);
    paper.on_ack(&ack(0, 100, 0));
    (paper.window, paper.is_slow_start) = (40.0, false);
    paper
}

#[test]
fn the_window_moves_towards_one_over_delta_packets_in_the_queue() {
    // At 110 ms, 40 packets keep 40 x 10 / 110 = 3.6 in the queue; at 105 ms, 1.9.
    for (rtt_ms, change) in [(110, -1.0), (105, 1.0), (100, 1.0)] {
        let mut paper = sender();
        paper.on_ack(&ack(1_000, rtt_ms, 1));
        assert!((paper.window - 40.0 - change * 1.0 / (0.5 * 40.0)).abs() < 1e-9, "{rtt_ms} ms: {}", paper.window);
    }
}

#[test]
fn slow_start_doubles_until_the_rate_is_above_its_target() {
    let mut paper = Paper::new(Bytes::new(1_500), 0.5, true);
    (0..10).for_each(|n| paper.on_ack(&ack(n, 100, n)));
    assert_eq!(paper.cwnd(), 20);
    // The first round is counted from the last ack of slow start, before which 100 packets were under way.
    assert_eq!((paper.round_end, paper.round_window), (110, 20.0));
    paper.on_ack(&ack(1_000, 200, 10));
    assert!(!paper.is_slow_start && paper.window < 20.0);
    assert_eq!((paper.round_end, paper.round_window), (110, 20.0));
}

#[test]
fn the_velocity_doubles_from_the_third_round_in_one_direction_and_starts_again_in_the_other() {
    let mut paper = sender();
    (paper.window, paper.round_window) = (400.0, 400.0);
    let mut velocities = Vec::new();
    for (round, rtt_ms) in [100, 100, 100, 100, 100, 300, 300].into_iter().enumerate() {
        paper.on_ack(&ack(1_000 + 200 * round as u64, rtt_ms, paper.round_end));
        velocities.push(paper.velocity);
    }
    assert_eq!(velocities, [1.0, 1.0, 2.0, 4.0, 8.0, 1.0, 1.0]);
}

#[test]
fn an_ack_moves_the_window_by_a_packet_at_most() {
    let mut paper = sender();
    paper.velocity = 1e6;
    paper.on_ack(&ack(1_000, 100, 1));
    assert!((paper.window - 41.0).abs() < 1e-9, "{}", paper.window);
    assert!((paper.velocity - 20.0).abs() < 1e-9, "no more than window x delta: {}", paper.velocity);
    // Where δ is so small that even a velocity of one is more.
    (paper.window, paper.delta, paper.default_delta) = (10.0, 0.05, 0.05);
    paper.on_ack(&ack(2_000, 100, 2));
    assert!((paper.window - 11.0).abs() < 1e-9, "{}", paper.window);
    assert!((paper.velocity - 1.0).abs() < 1e-9, "and no less than one: {}", paper.velocity);
}

#[test]
fn a_queue_that_is_never_nearly_empty_brings_the_competitive_mode_and_an_empty_one_ends_it() {
    let mut paper = sender();
    for n in 1..=20 {
        paper.on_ack(&ack(100 * n, 150 + 10 * (n % 2), 200 * n));
    }
    assert!(paper.is_competitive);
    assert!(paper.delta < 0.5, "{}", paper.delta);
    let before = paper.delta;
    (0..2).for_each(|_| paper.on_lost(&LOST));
    assert!((paper.delta - 2.0 * before).abs() < 1e-9, "once in a round");
    paper.on_ack(&ack(2_300, 160, paper.round_end));
    assert!((paper.delta - 2.0 * before).abs() < 1e-9, "no growth after a round with a loss");
    paper.on_lost(&LOST);
    assert!((paper.delta - 4.0 * before).abs() < 1e-9, "{}", paper.delta);
    paper.on_ack(&ack(2_400, 101, 10_000));
    assert!(!paper.is_competitive && (paper.delta - 0.5).abs() < 1e-9);
    let mut constant = Paper { switches_mode: false, ..sender() };
    (1..=20).for_each(|n| constant.on_ack(&ack(100 * n, 150, 200 * n)));
    assert!(!constant.is_competitive);
}

#[test]
fn a_queue_is_nearly_empty_up_to_a_tenth_of_its_longest_delay() {
    // A path of 100 ms, with 100 ms of queue at every second ack and between these as much as makes the round trip.
    for (rtt_ms, is_competitive) in [(110, false), (111, true)] {
        let mut paper = sender();
        (1..=40).for_each(|n| paper.on_ack(&ack(60 * n, if n % 2 == 0 { 200 } else { rtt_ms }, 200 * n)));
        assert_eq!(paper.is_competitive, is_competitive, "{rtt_ms} ms");
    }
}

#[test]
fn a_loss_in_the_competitive_mode_leaves_no_fewer_packets_in_the_queue_than_the_default() {
    let mut paper = Paper { is_competitive: true, delta: 0.4, ..sender() };
    paper.on_lost(&LOST);
    assert!((paper.delta - 0.5).abs() < 1e-9, "{}", paper.delta);
}

#[test]
fn the_shortest_round_trip_is_forgotten_after_ten_seconds() {
    let mut paper = sender();
    for (millis, queueing_ms) in [(10_000, 50), (10_001, 0)] {
        paper.on_ack(&ack(millis, 150, 1));
        assert_eq!(paper.queueing.as_millis(), queueing_ms, "after {millis} ms");
    }
}

#[test]
fn after_a_timeout_the_window_has_no_direction_yet() {
    let mut paper = sender();
    (paper.same_rounds, paper.velocity, paper.round_window) = (5, 8.0, 40.0);
    paper.on_timeout(&Timeout { now: at(500), prior_in_flight: 40, ..timeout(true) });
    assert_eq!((paper.cwnd(), paper.velocity, paper.same_rounds), (2, 1.0, 0));
    // The window has grown since then, though it is below that of before.
    paper.on_ack(&ack(700, 100, paper.round_end));
    assert!(paper.is_up && paper.window < 40.0);
}

#[test]
fn losses_do_not_count_in_the_default_mode() {
    let mut paper = sender();
    paper.on_lost(&LOST);
    assert_eq!((paper.cwnd(), paper.delta), (40, 0.5));
}

#[test]
fn two_windows_are_paced_over_the_standing_round_trip() {
    let mut paper = sender();
    paper.on_ack(&ack(1_000, 100, 1));
    paper.window = 40.0;
    // 80 packets of 12000 bits in 100 ms.
    assert_eq!(paper.pacing_rate(), Some(Rate::from_bits_per_second(9_600_000)));
}
