//! Epochs, slow start, losses and timeouts.
#![allow(clippy::float_cmp, reason = "steps of whole milliseconds are exact")]

use std::collections::BTreeMap;

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

/// One that was sent with that window.
fn send_with(verus: &mut Verus, window: u16, millis: u64) -> u64 {
    let own = std::mem::replace(&mut verus.window, f64::from(window));
    let packet = send(verus, millis);
    verus.window = own;
    packet
}

fn acknowledge(verus: &mut Verus, packet: u64, millis: u64) {
    verus.on_ack(&Ack { now: at(millis), in_flight: 0, packets: &[packet], ..ack(1) });
}

/// After slow start: windows of 1 to 200 take 50 ms, and a millisecond for each packet above 50.
fn informed() -> Verus {
    let mut verus = Verus::new(6.0);
    (1..=200).for_each(|window| verus.profile.add(window, 50.0 + (window as f64 - 50.0).max(0.0)));
    verus.is_slow_start = false;
    verus.refresh(MOST_WINDOWS, at(0));
    (verus.shortest, verus.target, verus.longest, verus.smoothed) = (50.0, 100.0, Some(100.0), 100.0);
    verus.last_ack = at(1_000);
    verus
}

#[test]
fn tags_keep_what_they_are_told() {
    for (number, sent) in [(1, 0), (1 << 20, 268_435), (12_345_678, 86_399_999)] {
        let tag = Tag { number, window: 39_999, sent: at(sent) };
        for (newest, now) in [(number, sent), (number + 999_999, sent + 200_000)] {
            assert_eq!(Tag::decode(tag.encode(), newest, at(now)), tag);
        }
    }
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
    let packets = [60, 60].map(|window| send_with(&mut verus, window, 0));
    // Half a second and 0.999 µs, on a clock of microseconds.
    let now = at(500) + Duration::from_nanos(999);
    verus.on_ack(&Ack { now, in_flight: 0, packets: &packets[..1], ..ack(1) });
    assert!(verus.is_slow_start);
    let window = verus.window;
    acknowledge(&mut verus, packets[1], 501);
    assert!(!verus.is_slow_start && verus.is_loss_phase && window > 1.0);
    assert!((verus.window - (42.0 + 1.0 / 42.0)).abs() < 1e-9, "{}", verus.window);
    assert_eq!(verus.target, 336.0, "as long as the window took: the curve is drawn afterwards");
    assert!(verus.profile.has_curve());
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
    verus.in_flight = 50;
    let packets = [80, 60, 100].map(|window| send_with(&mut verus, window, 950));
    verus.window = 100.0;
    acknowledge(&mut verus, packets[2], 1_000);
    verus.expire(at(1_149));
    assert_eq!((verus.window, verus.in_flight), (100.0, 52));
    verus.expire(at(1_150));
    assert!((verus.window - 56.0).abs() < 1e-9 && verus.is_loss_phase, "{}", verus.window);
    assert_eq!(verus.in_flight, 50);
    let packets = [40, 57, 56].map(|window| send_with(&mut verus, window, 1_150));
    acknowledge(&mut verus, packets[1], 1_200);
    verus.expire(at(1_400));
    assert!(verus.is_loss_phase && (verus.window - 56.0 - 1.0 / 56.0).abs() < 1e-9, "the same loss phase");
    acknowledge(&mut verus, packets[2], 1_402);
    assert!(!verus.is_loss_phase);
}

#[test]
fn a_missing_packet_that_comes_in_time_is_not_lost_and_one_that_comes_later_is_no_delay() {
    let mut verus = informed();
    let packets = [(); 3].map(|()| send(&mut verus, 1_000));
    acknowledge(&mut verus, packets[2], 1_100);
    verus.epoch_longest = None;
    acknowledge(&mut verus, packets[0], 1_249);
    assert_eq!((verus.in_flight, verus.missing.len(), verus.epoch_longest), (1, 1, Some(249.0)));
    verus.expire(at(1_250));
    assert_eq!((verus.in_flight, verus.is_loss_phase), (0, true));
    let next = send(&mut verus, 1_260);
    acknowledge(&mut verus, packets[1], 1_300);
    assert_eq!((verus.in_flight, verus.epoch_longest), (1, None), "the ack ends the loss phase, and is no delay");
    acknowledge(&mut verus, next, 1_310);
    assert_eq!((verus.in_flight, verus.epoch_longest), (0, Some(50.0)));
}

/// The epoch that follows at once looks at the delays themselves.
#[test]
fn a_loss_ends_slow_start_after_one_epoch_without_a_curve() {
    let mut verus = Verus::new(6.0);
    let packets = [60, 80].map(|window| send_with(&mut verus, window, 0));
    (1..=60).for_each(|window| verus.profile.add(window, 40.0 + window as f64));
    acknowledge(&mut verus, packets[1], 50);
    (verus.window, verus.next_epoch) = (90.0, Some(at(200)));
    verus.on_timer(at(200));
    assert!(!verus.is_slow_start && verus.profile.has_curve());
    // 42 packets took 82 ms, and 44 are the most that took no more than 84.
    assert_eq!((verus.target, verus.window, verus.in_flight), (84.0, 44.0, 0));
}

#[test]
fn silence_forgets_what_is_outstanding_and_falls_to_the_shortest_delay() {
    let mut verus = informed();
    let packets = [(); 3].map(|()| send(&mut verus, 950));
    acknowledge(&mut verus, packets[0], 980);
    (verus.next_epoch, verus.timeout, verus.latest) = (Some(at(2_000)), at(1_000), 100.0);
    verus.on_timer(at(1_000));
    assert_eq!((verus.target, verus.in_flight, verus.newest), (30.0, 0, 3));
    assert_eq!(verus.timeout, at(1_500), "five delays");
    for (latest, patience_ms) in [(20.0, 150), (100.0, 500), (100.199, 500), (100.2, 501), (500.0, 1_000)] {
        verus.latest = latest;
        assert_eq!(verus.patience(), Duration::from_millis(patience_ms), "{latest} ms");
    }
    let mut unheard = Verus::new(6.0);
    send(&mut unheard, 0);
    unheard.on_timer(at(1_000));
    assert!(unheard.is_slow_start && unheard.allowance.left() == 1);
}

#[test]
fn only_a_packet_newer_than_those_before_and_not_forgotten_ends_the_silence() {
    let mut verus = informed();
    let [older, newer, forgotten, last] = [1_000, 1_001, 1_002, 1_003].map(|millis| send(&mut verus, millis));
    acknowledge(&mut verus, newer, 1_100);
    acknowledge(&mut verus, older, 1_200);
    assert_eq!(verus.last_ack, at(1_100));
    verus.forget_outstanding();
    verus.epoch_longest = None;
    acknowledge(&mut verus, forgotten, 1_300);
    assert_eq!((verus.last_ack, verus.epoch_longest), (at(1_100), None));
    acknowledge(&mut verus, last, 1_300);
    assert_eq!((verus.last_ack, verus.epoch_longest), (at(1_100), Some(297.0)), "but the last one counts");
}

/// A packet each millisecond but in a pause; some are lost, some late, and some come after they count as lost.
#[test]
fn the_windows_are_those_of_the_program() {
    // Window, target, in flight and loss phase every 300 ms.
    let mut expected = [
        (13.0, 46.0, 5, true),
        (74.013_514, 47.914_493, 51, false),
        (111.0, 49.451_285, 47, false),
        (64.0, 47.493_138, 64, false),
        (1.0, 46.377_705, 58, false),
        (210.0, 57.008_264, 54, false),
        (145.0, 52.598_197, 1, true),
        (762.0, 60.0, 0, false),
        (1_273.0, 110.0, 0, false),
        (830.004_819, 66.683_59, 54, true),
        (993.0, 58.082_249, 49, false),
        (1_008.0, 58.942_013, 66, false),
        (1.0, 47.726_599, 60, false),
    ]
    .into_iter();
    let mut verus = Verus::new(6.0);
    let mut acks = BTreeMap::<u64, Vec<u64>>::new();
    for millis in 0..4_000 {
        for packet in acks.remove(&millis).unwrap_or_default() {
            acknowledge(&mut verus, packet, millis);
        }
        while verus.next_timer().is_some_and(|due| due <= at(millis)) {
            verus.on_timer(at(millis));
        }
        if !(2_000..2_700).contains(&millis) {
            let packet = send(&mut verus, millis);
            let delay = match verus.sent {
                number if number % 97 == 0 => None,
                number if number % 53 == 0 => Some(120),
                number if number % 101 == 0 => Some(240),
                _ => Some(40 + millis / 16 % 25),
            };
            if let Some(delay) = delay {
                acks.entry(millis + delay).or_default().push(packet);
            }
        }
        if millis % 300 == 299 {
            let (window, target, in_flight, is_loss_phase) = expected.next().expect("a row");
            let found = (verus.in_flight, verus.is_loss_phase);
            assert_eq!(found, (in_flight, is_loss_phase), "{millis} ms");
            let off = (verus.window - window).abs() + (verus.target - target).abs();
            assert!(off < 1e-3, "{millis} ms: {} and {} for {window} and {target}", verus.window, verus.target);
        }
    }
}

#[test]
fn that_slow_start_has_just_ended_is_remembered_over_a_restart() {
    let mut verus = informed();
    verus.has_just_started = true;
    verus.restart(at(2_000));
    assert!(verus.is_slow_start && verus.has_just_started);
}

#[test]
fn a_restart_waits_as_long_for_an_ack_as_the_start() {
    let mut verus = informed();
    verus.restart(at(2_000));
    assert_eq!(verus.timeout, at(2_000) + MAX_TIMEOUT);
}

#[test]
fn with_fewer_windows_than_a_curve_has_nodes_slow_start_begins_again() {
    for (windows, is_restarted) in [(4, true), (5, false)] {
        let mut verus = Verus::new(6.0);
        (1..=windows).for_each(|window| verus.profile.add(window, 50.0 + window as f64));
        let packet = send_with(&mut verus, 5, 0);
        (verus.is_slow_start, verus.window) = (false, 5.0);
        verus.refresh(MOST_WINDOWS, at(100));
        assert_eq!((verus.is_slow_start, verus.profile.has_curve()), (is_restarted, !is_restarted));
        // What was sent before is of another session; the first of the new one may leave.
        acknowledge(&mut verus, packet, 120);
        let expected = if is_restarted { (1.0, 0.0, 1) } else { (5.0, 120.0, 0) };
        assert_eq!((verus.window, verus.latest, verus.allowance.left()), expected);
    }
}

#[test]
fn a_delay_that_no_window_reaches_begins_slow_start_again() {
    for (target, is_restarted) in [(39_000.0, false), (41_000.0, true)] {
        let mut verus = informed();
        send(&mut verus, 1_000);
        (verus.next_epoch, verus.timeout, verus.next_refresh) = (Some(at(1_010)), at(9_000), at(9_000));
        (verus.target, verus.epoch_longest) = (target, Some(100.0));
        verus.on_timer(at(1_010));
        assert_eq!(verus.is_slow_start, is_restarted, "{target} ms");
        if is_restarted {
            assert_eq!((verus.window, verus.allowance.left(), verus.session), (1.0, 1, 1));
            assert_eq!((verus.shortest, verus.next_epoch), (FIRST_SHORTEST, Some(at(1_015))));
        }
    }
}
