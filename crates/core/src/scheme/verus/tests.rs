//! Epochs, slow start, losses and timeouts.
#![allow(clippy::float_cmp, reason = "steps of whole milliseconds are exact")]

use super::*;
use crate::scheme::window::ack;
use crate::units::Bytes;

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn send(verus: &mut Verus, millis: u64) -> u64 {
    let sent = Sent { now: at(millis), size: Bytes::new(1_448), is_retransmission: false, in_flight: 1, delivered: 0 };
    verus.on_sent(&sent)
}

fn acknowledge(verus: &mut Verus, packet: u64, millis: u64) {
    verus.on_ack(&Ack { now: at(millis), in_flight: 0, packets: &[packet], ..ack(1) });
}

/// After slow start: windows of 1 to 200 take 50 ms, and a millisecond for each packet above 50.
fn informed() -> Verus {
    let mut verus = Verus::new(6.0);
    (1..=200).for_each(|window| verus.profile.add(window, 50.0 + (window as f64 - 50.0).max(0.0)));
    verus.leave_slow_start(MOST_WINDOWS, at(0));
    (verus.shortest, verus.target, verus.longest, verus.smoothed) = (50.0, 100.0, Some(100.0), 100.0);
    (verus.last_ack, verus.has_ack) = (at(1_000), true);
    verus
}

#[test]
fn tags_keep_what_they_are_told() {
    let tag = Tag { sent: at(86_399_999), window: 39_999, generation: 15, number: 127 };
    assert_eq!(Tag::decode(tag.encode()), tag);
}

#[test]
fn slow_start_adds_a_packet_per_ack_and_sends_what_is_missing() {
    let mut verus = Verus::new(6.0);
    let first = send(&mut verus, 0);
    acknowledge(&mut verus, first, 50);
    assert_eq!((verus.window, verus.allowance.left()), (2.0, 2));
    let packets = [send(&mut verus, 50), send(&mut verus, 50)];
    acknowledge(&mut verus, packets[0], 100);
    acknowledge(&mut verus, packets[1], 100);
    assert_eq!((verus.window, verus.allowance.left()), (4.0, 4));
}

#[test]
fn half_a_second_ends_slow_start_with_seven_tenths() {
    let mut verus = Verus::new(6.0);
    (1..=60).for_each(|window| verus.profile.add(window, 8.0 * window as f64));
    let tag = Tag { sent: at(0), window: 60, generation: 0, number: 0 };
    // Half a second and 0.999 µs, on a clock of microseconds.
    let now = at(500) + Duration::from_nanos(999);
    verus.on_ack(&Ack { now, in_flight: 0, packets: &[tag.encode()], ..ack(1) });
    assert!(verus.is_slow_start);
    let window = verus.window;
    acknowledge(&mut verus, tag.encode(), 501);
    assert!(!verus.is_slow_start && verus.is_loss_phase && window > 1.0);
    assert!((verus.window - (42.0 + 1.0 / 42.0)).abs() < 1e-9, "{}", verus.window);
    assert!((verus.target - 336.0).abs() < 10.0, "{}", verus.target);
}

#[test]
fn the_target_falls_by_one_if_delays_rose_and_rises_by_two_if_not() {
    for (delay, target) in [(101.0, 99.0), (100.0, 102.0), (90.0, 102.0)] {
        let mut verus = informed();
        verus.epoch_longest = Some(delay);
        verus.epoch(at(1_000));
        assert!((verus.target - target).abs() < 1e-9, "{delay} ms");
        assert!((verus.longest.expect("an epoch has passed") - (20.0 + 0.8 * delay)).abs() < 1e-9);
        assert!((verus.window - target).abs() <= 3.0, "{}: the profile is a millisecond per packet", verus.window);
    }
}

#[test]
fn beyond_the_ratio_the_target_falls_to_the_shortest_delay_which_then_rises() {
    let mut verus = informed();
    (verus.longest, verus.target) = (Some(301.0), 53.0);
    verus.in_flight = 5;
    for target in [51.0, 50.0] {
        verus.longest = Some(301.0);
        verus.epoch_longest = Some(301.0);
        assert_eq!((verus.epoch(at(1_000)), verus.target), (verus.share_if(target > 50.0), target));
    }
    (verus.longest, verus.in_flight) = (Some(301.0), 1);
    verus.epoch(at(1_000));
    assert!((verus.shortest - 60.0).abs() < 1e-9);
    // But not in the loss phase with which slow start ended.
    let mut verus = informed();
    (verus.longest, verus.target, verus.has_just_started) = (Some(301.0), 60.0, true);
    verus.epoch_longest = Some(301.0);
    assert_eq!((verus.epoch(at(1_000)), verus.target), (verus.share_of_window(), 60.0));
}

impl Verus {
    /// What an epoch sends if it may.
    fn share_if(&self, may_send: bool) -> u32 {
        if may_send { self.share_of_window() } else { 0 }
    }
}

#[test]
fn an_epoch_sends_its_share_of_the_window() {
    // 100 ms are twenty epochs: 100 + 100 x (2 - 20) / 19, in whole numbers.
    let mut verus = informed();
    (verus.window, verus.in_flight) = (100.0, 100);
    assert_eq!(verus.share_of_window(), 6);
    verus.smoothed = 4.0;
    assert_eq!(verus.share_of_window(), 0, "a window per epoch");
    verus.in_flight = 30;
    assert_eq!(verus.share_of_window(), 70);
}

#[test]
fn a_missing_packet_costs_three_tenths_of_its_window_once_per_loss_phase() {
    let mut verus = informed();
    (verus.window, verus.in_flight) = (100.0, 50);
    let lost = |window| Tag { sent: at(900), window, generation: 0, number: 0 };
    for window in [80, 60] {
        verus.on_lost(&Lost {
            now: at(1_000),
            size: Bytes::new(1_448),
            packet: lost(window).encode(),
            is_timer: false,
        });
    }
    verus.expire(at(1_149));
    assert_eq!((verus.window, verus.in_flight), (100.0, 50));
    verus.expire(at(1_150));
    assert!((verus.window - 56.0).abs() < 1e-9 && verus.is_loss_phase, "{}", verus.window);
    assert_eq!(verus.in_flight, 48);
    verus.on_lost(&Lost { now: at(1_200), size: Bytes::new(1_448), packet: lost(40).encode(), is_timer: false });
    verus.expire(at(1_400));
    assert!((verus.window - 56.0).abs() < 1e-9, "the same loss phase");
    let later = |window| Tag { sent: at(1_301), ..lost(window) };
    acknowledge(&mut verus, later(57).encode(), 1_401);
    assert!(verus.is_loss_phase && verus.window > 56.0);
    acknowledge(&mut verus, later(56).encode(), 1_402);
    assert!(!verus.is_loss_phase);
}

#[test]
fn a_missing_packet_that_comes_in_time_is_not_lost_and_one_that_comes_later_is_no_delay() {
    let mut verus = informed();
    let packets = [(); 3].map(|()| send(&mut verus, 1_000));
    for packet in [packets[0], packets[2]] {
        verus.on_lost(&Lost { now: at(1_100), size: Bytes::new(1_448), packet, is_timer: false });
    }
    acknowledge(&mut verus, packets[1], 1_110);
    acknowledge(&mut verus, packets[0], 1_249);
    assert_eq!((verus.in_flight, verus.missing.len(), verus.epoch_longest), (1, 1, Some(249.0)));
    verus.expire(at(1_250));
    assert_eq!((verus.in_flight, verus.is_loss_phase), (0, true));
    let next = send(&mut verus, 1_260);
    acknowledge(&mut verus, packets[2], 1_300);
    assert_eq!((verus.in_flight, verus.epoch_longest), (1, None), "the ack ends the loss phase, and is no delay");
    acknowledge(&mut verus, next, 1_310);
    assert_eq!((verus.in_flight, verus.epoch_longest), (0, Some(50.0)));
}

#[test]
fn silence_forgets_what_is_outstanding_and_falls_to_the_shortest_delay() {
    let mut verus = informed();
    (verus.next_epoch, verus.timeout, verus.latest, verus.in_flight) = (Some(at(2_000)), at(1_000), 100.0, 40);
    verus.on_timer(at(1_000));
    assert_eq!((verus.target, verus.in_flight, verus.generation), (50.0, 0, 1));
    assert_eq!(verus.timeout, at(1_500), "five delays");
    for (latest, patience_ms) in [(20.0, 150), (100.0, 500), (500.0, 1_000)] {
        verus.latest = latest;
        assert_eq!(verus.patience().as_millis(), patience_ms, "{latest} ms");
    }
    let mut unheard = Verus::new(6.0);
    send(&mut unheard, 0);
    unheard.on_timer(at(1_000));
    assert!(unheard.is_slow_start && unheard.allowance.left() == 1);
}

#[test]
fn only_a_packet_newer_than_those_before_and_not_forgotten_ends_the_silence() {
    let mut verus = informed();
    let [older, newer, last] = [1_000, 1_001, 1_002].map(|millis| send(&mut verus, millis));
    let mut last_ack = |packet, millis| {
        acknowledge(&mut verus, packet, millis);
        verus.last_ack
    };
    assert_eq!([last_ack(newer, 1_100), last_ack(older, 1_200)], [at(1_100); 2]);
    verus.forget_outstanding();
    acknowledge(&mut verus, last, 1_300);
    assert_eq!(verus.last_ack, at(1_100));
}

#[test]
fn that_slow_start_has_just_ended_is_remembered_over_a_restart() {
    let mut verus = informed();
    verus.has_just_started = true;
    verus.restart(at(2_000));
    assert!(verus.is_slow_start && verus.has_just_started);
}
