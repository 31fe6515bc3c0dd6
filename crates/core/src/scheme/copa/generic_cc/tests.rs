#![allow(clippy::float_cmp, reason = "velocities are exact")]

use super::super::testing::{ack, at};
use super::*;
use crate::scheme::window::timeout;

const PACKET: Bytes = Bytes::new(1_500);

/// Past slow start with 40 packets on a path of 100 ms.
fn steady(mut sender: GenericCc) -> GenericCc {
    for n in 0..20 {
        sender.on_ack(&ack(n, 100, n));
    }
    (sender.window, sender.is_slow_start, sender.acked) = (40.0, false, 1_000);
    sender.round_start = Some(at(0));
    sender
}

#[test]
fn nineteen_acks_change_nothing_and_those_after_add_a_packet_each() {
    for mut sender in [GenericCc::january_2018(PACKET, 1.0), GenericCc::later(PACKET, 0.1, true)] {
        for n in 0..19 {
            sender.on_ack(&ack(n, 100, n));
            assert_eq!(sender.window, 10.0);
        }
        assert_eq!(sender.pacing_rate(), None, "each ack lets a packet out at once");
        (19..24).for_each(|n| sender.on_ack(&ack(n, 100, n)));
        assert_eq!(sender.window, 15.0);
        // 15 packets are more than 200 / (100 x 1) and less than 200 / (100 x 0.1).
        sender.on_ack(&ack(124, 200, 24));
        assert!(sender.window == 16.0 && sender.is_slow_start == (sender.program == Program::Later));
    }
}

#[test]
fn the_target_is_a_packet_in_the_queue_or_ten() {
    let (old, new) = (GenericCc::january_2018(PACKET, 1.0), GenericCc::later(PACKET, 0.1, false));
    for (sender, rtt_ms, step) in [(&old, 102, 1.0), (&old, 103, -1.0), (&new, 133, 10.0), (&new, 134, -10.0)] {
        let fresh = GenericCc::new(PACKET, sender.delta, sender.program, false);
        let mut sender = GenericCc { round_start: Some(at(1_000)), ..steady(fresh) };
        sender.on_ack(&ack(1_000, rtt_ms, 1));
        let expected = 40.0 + step / 40.0;
        assert!((sender.window - expected).abs() < 1e-9, "{rtt_ms} ms: {}", sender.window);
    }
}

#[test]
fn the_older_one_paces_a_window_per_round_trip_and_the_newer_two() {
    let rate = |sender| {
        let sender = steady(sender);
        sender.pacing_rate().map(Rate::as_bits_per_second)
    };
    assert_eq!(rate(GenericCc::january_2018(PACKET, 1.0)), Some(4_800_000));
    assert_eq!(rate(GenericCc::later(PACKET, 0.1, true)), Some(9_600_000));
}

#[test]
fn the_older_one_lets_two_windows_out() {
    assert_eq!(steady(GenericCc::january_2018(PACKET, 1.0)).cwnd(), 80);
    assert_eq!(steady(GenericCc::later(PACKET, 0.1, true)).cwnd(), 40);
}

#[test]
fn the_velocity_doubles_with_every_round_in_one_direction_up_to_window_times_delta() {
    let mut sender = steady(GenericCc::later(PACKET, 0.1, false));
    let mut velocities = Vec::new();
    for round in 0..5 {
        sender.on_ack(&ack(1_000 + 101 * round, 100, round));
        velocities.push(sender.velocity);
    }
    assert_eq!(velocities, [2.0, 4.0, 4.0, 4.0, 4.0], "4 = 40 x 0.1");
    sender.on_ack(&ack(2_000, 1_000, 9));
    sender.on_ack(&ack(3_001, 1_000, 10));
    assert!((sender.velocity - 1.0).abs() < f64::EPSILON);
}

#[test]
fn the_older_one_wants_two_thirds_of_the_acks_to_agree() {
    for (up, down, velocity) in [(9, 1, 2.0), (6, 4, 1.0)] {
        let mut sender = steady(GenericCc::january_2018(PACKET, 1.0));
        (sender.direction, sender.round_acks) = (up - down, up + down);
        sender.on_ack(&ack(1_000, 100, 1));
        assert!((sender.velocity - velocity).abs() < f64::EPSILON, "{up} up and {down} down");
    }
}

#[test]
fn every_ack_that_shows_a_loss_doubles_delta_while_others_fill_the_queue() {
    let mut sender = steady(GenericCc::later(PACKET, 0.1, true));
    for n in 0..40 {
        sender.on_ack(&ack(1_000 + 200 * n, 190, n));
    }
    assert!(!sender.delays.is_copa);
    // A packet more with every round trip, and one with the next ack.
    let before = 1.0 / (1.0 / sender.delta + 1.0);
    assert!(before < 0.021, "{before}");
    for (millis, doublings) in [(9_001, 1), (9_002, 2)] {
        // Three are overtaken.
        let packets = [sender.expected + 3];
        sender.on_ack(&Ack { packets: &packets, ..ack(millis, 190, millis) });
        let expected = before * f64::from(1 << doublings);
        assert!((sender.delta / expected - 1.0).abs() < 1e-9, "{} after {doublings}", sender.delta);
    }
}

#[test]
fn what_an_ack_overtakes_is_lost_once() {
    let mut sender = GenericCc::later(PACKET, 0.1, true);
    let sent = Sent { now: at(0), size: PACKET, is_retransmission: false, in_flight: 1, delivered: 0 };
    for number in 0..10 {
        assert_eq!(sender.on_sent(&sent), number);
    }
    for (packet, lost) in [(0, 0), (3, 2), (1, 0), (2, 0), (4, 0), (6, 1)] {
        assert_eq!(sender.overtaken(&[packet]), lost, "packet {packet}");
    }
    sender.begin_again(at(3_000));
    // What was sent before is forgotten.
    for (packet, lost) in [(9, 0), (11, 1), (12, 0)] {
        assert_eq!(sender.overtaken(&[packet]), lost, "packet {packet}");
    }
}

#[test]
fn a_queue_of_just_a_tenth_of_the_longest_is_not_nearly_empty() {
    for (rtt_ms, is_copa) in [(104, true), (105, false)] {
        let mut sender = GenericCc::later(PACKET, 0.1, true);
        for (millis, rtt_ms) in [(0, 100), (1_000, 150), (1_001, rtt_ms)] {
            sender.on_ack(&ack(millis, rtt_ms, millis));
        }
        assert_eq!(sender.delays.is_copa, is_copa, "{rtt_ms} ms");
    }
}

#[test]
fn when_more_than_three_tenths_of_more_than_twenty_packets_are_lost_the_window_falls_by_three_tenths() {
    // The guard's two round trips of 100 ms are over at 1000 ms, or not yet.
    for (lost, packets, since, window) in
        [(7, 21, 799, 28.0), (7, 20, 799, 40.0), (6, 21, 799, 40.0), (9, 30, 799, 28.0), (7, 21, 800, 40.0)]
    {
        let mut sender = steady(GenericCc::later(PACKET, 0.1, false));
        sender.guard = LossGuard { since: Some(at(since)), ..LossGuard::default() };
        sender.take_losses(lost, at(1_000));
        (1..packets - lost).for_each(|_| sender.take_losses(0, at(1_000)));
        assert!((sender.window - window).abs() < 1e-9, "{lost} of {packets}: {}", sender.window);
    }
}

#[test]
fn delta_follows_the_losses_where_others_fill_the_queue_and_is_no_more_than_its_own_in_the_newer_one() {
    let rtt = Duration::from_millis(100);
    for (mut sender, first) in
        [(GenericCc::later(PACKET, 0.1, true), 1.0 / 11.0), (GenericCc::august_2017(PACKET, 0.5, true), 0.5)]
    {
        let newer = sender.program == Program::Later;
        sender.acked = 1_000;
        sender.update_delta(false, rtt, at(1_000));
        assert!((sender.delta - first).abs() < 1e-9, "{:?}: {}", sender.program, sender.delta);
        sender.update_delta(false, rtt, at(1_100));
        assert!((sender.delta - first).abs() < 1e-9, "one packet in a round trip");
        sender.update_delta(true, Duration::ZERO, at(1_101));
        assert!((sender.delta - if newer { 0.1 } else { 1.0 }).abs() < 1e-9, "{:?}: {}", sender.program, sender.delta);
    }
}

#[test]
fn the_shortest_round_trip_is_forgotten_after_ten_seconds_or_twenty_of_it() {
    for (rtt_ms, believed_ms) in [(100, 10_000), (1_000, 20_000)] {
        let mut sender = GenericCc::later(PACKET, 0.1, false);
        sender.on_ack(&ack(0, rtt_ms, 0));
        for (millis, least) in [(believed_ms, rtt_ms), (believed_ms + 1, rtt_ms + 50)] {
            sender.on_ack(&ack(millis, rtt_ms + 50, 1));
            assert_eq!(sender.delays.min.as_millis(), least, "after {millis} ms");
        }
    }
}

#[test]
fn with_fewer_than_four_round_trips_in_either_half_the_queue_is_not_judged() {
    let now = at(1_000);
    for (newer, older, is_copa) in [(4, 4, false), (3, 4, true), (4, 3, true)] {
        let rtt = Duration::from_millis(180);
        // An empty queue long ago.
        let mut recent = VecDeque::from([(at(0), Duration::from_millis(100))]);
        // Two round trips are 360 ms.
        recent.extend((0..older).map(|n| (at(600 + n), rtt)));
        recent.extend((0..newer).map(|n| (at(990 + n), rtt)));
        assert_eq!(is_emptied_twice(&recent, Duration::from_millis(100), rtt, now), is_copa, "{newer} and {older}");
    }
}

#[test]
fn the_oldest_one_begins_with_five_packets_and_moves_by_up_to_a_window() {
    let mut sender = GenericCc::august_2017(PACKET, 0.5, true);
    assert_eq!(sender.cwnd(), 5);
    (0..9).for_each(|n| sender.on_ack(&ack(n, 100, n)));
    assert_eq!(sender.window, 5.0);
    sender.on_ack(&ack(9, 100, 9));
    assert_eq!(sender.window, 6.0);
    let mut sender = steady(sender);
    assert_eq!(sender.cwnd(), 40);
    sender.velocity = 64.0;
    sender.bound_velocity();
    assert_eq!(sender.velocity, 40.0, "not 40 x 0.5");
}

#[test]
fn the_oldest_one_wants_an_empty_queue_in_both_halves_of_four_round_trips() {
    // An ack every 20 ms; the queue is empty in the newer half, in the older, in both, in the newer and before, and in
    // none.
    let cases =
        [([49, 48], false), ([0, 33], false), ([33, 49], true), ([14, 48], true), ([13, 48], false), ([0, 1], false)];
    for (empty, is_copa) in cases {
        let mut sender = steady(GenericCc::august_2017(PACKET, 0.5, true));
        for n in 0..50 {
            sender.on_ack(&ack(1_000 + 20 * n, if empty.contains(&n) { 100 } else { 180 }, 20 + n));
        }
        assert_eq!(sender.delays.is_copa, is_copa, "{empty:?}");
        assert_eq!(sender.delta == 0.5, is_copa, "{empty:?}: {}", sender.delta);
        if !is_copa {
            assert!(sender.delta < 0.5, "a packet more with every round trip: {}", sender.delta);
            let before = sender.delta;
            sender.on_ack(&Ack { packets: &[2], ..ack(2_000, 180, 90) });
            assert!(sender.delta > 1.4 * before && sender.delta <= 2.0 * before, "and half as many after a loss");
        }
    }
}

#[test]
fn the_oldest_one_takes_the_shortest_of_ten_seconds_for_an_empty_queue() {
    // The path had 100 ms until 19 ms after the start; since then it has 180 ms, and more with every second ack.
    let mut sender = steady(GenericCc::august_2017(PACKET, 0.5, true));
    let is_copa = (0..=451).map(|n| {
        sender.on_ack(&ack(1_019 + 20 * n, 180 + 20 * (n % 2), 20 + n));
        sender.delays.is_copa
    });
    let is_copa: Vec<_> = is_copa.collect();
    assert_eq!(is_copa[449..], [false, false, true], "at 9999, 10019 and 10039 ms");
}

#[test]
fn silence_of_two_seconds_begins_again_and_of_one_in_the_oldest_one() {
    for (sender, silence_ms) in [
        (GenericCc::january_2018(PACKET, 1.0), 2_000),
        (GenericCc::later(PACKET, 0.1, true), 2_000),
        (GenericCc::august_2017(PACKET, 0.5, true), 1_000),
    ] {
        let mut sender = steady(sender);
        let timeout = |millis| Timeout { now: at(millis), prior_in_flight: 40, ..timeout(true) };
        sender.on_timeout(&timeout(19 + silence_ms));
        assert_eq!(sender.window, 40.0);
        sender.on_timeout(&timeout(20 + silence_ms));
        assert!(sender.window == f64::from(sender.probe_packets) && sender.is_probing() && sender.is_slow_start);
        sender.on_ack(&ack(40 + silence_ms, 150, 99));
        assert_eq!(sender.delays.min.as_millis(), 150, "the round trip of 100 ms is forgotten");
    }
}

#[test]
fn once_nobody_fills_the_queue_delta_is_its_own_again_at_once_and_in_the_newer_one_a_round_trip_after_a_loss() {
    let rtt = Duration::from_millis(100);
    for (mut sender, delta) in
        [(GenericCc::later(PACKET, 0.5, true), 0.5), (GenericCc::august_2017(PACKET, 0.5, true), 0.5)]
    {
        let newer = sender.program == Program::Later;
        sender = steady(sender);
        (sender.delta, sender.delays.is_copa) = (0.02, false);
        (sender.last_delta_growth, sender.last_delta_loss) = (Some(at(1_000)), None);
        sender.update_delta(true, Duration::ZERO, at(1_001));
        assert_eq!(sender.delta, 0.04);
        sender.delays.is_copa = true;
        sender.update_delta(false, rtt, at(1_101));
        assert_eq!(sender.delta, if newer { 0.04 } else { delta });
        sender.update_delta(false, rtt, at(1_102));
        assert_eq!(sender.delta, delta);
    }
    // Where nothing has grown yet there is nothing to wait for.
    let mut sender = steady(GenericCc::later(PACKET, 0.5, true));
    (sender.delta, sender.delays.is_copa) = (0.02, true);
    (sender.last_delta_growth, sender.last_delta_loss) = (None, Some(at(1_000)));
    sender.update_delta(false, rtt, at(1_001));
    assert_eq!((sender.delta, sender.last_delta_growth), (0.5, Some(at(1_001))));
}

#[test]
fn a_second_loss_of_the_same_instant_is_a_packet_more() {
    for sender in [GenericCc::later(PACKET, 0.5, true), GenericCc::august_2017(PACKET, 0.5, true)] {
        let mut sender = steady(sender);
        (sender.delta, sender.delays.is_copa, sender.last_delta_growth) = (0.02, false, Some(at(1_000)));
        sender.update_delta(true, Duration::ZERO, at(1_001));
        sender.update_delta(true, Duration::ZERO, at(1_001));
        assert!((1.0 / sender.delta - 26.0).abs() < 1e-9, "{}", sender.delta);
    }
}

#[test]
fn before_its_window_moves_a_loss_is_a_packet_more_in_the_oldest_one() {
    for (acked, delta) in [(8, 0.5), (9, 2.0)] {
        let mut sender = GenericCc::august_2017(PACKET, 0.5, true);
        (sender.acked, sender.delays.is_copa) = (acked, false);
        sender.update_delta(true, Duration::ZERO, at(1_000));
        assert_eq!(sender.delta, delta, "from 1, after {acked} acks");
    }
}

#[test]
fn a_constant_delta_stays() {
    let mut sender = steady(GenericCc::later(PACKET, 0.5, false));
    sender.delays.is_copa = false;
    sender.update_delta(true, Duration::ZERO, at(1_000));
    assert_eq!((sender.delta, sender.last_delta_loss), (0.5, None));
}

#[test]
fn a_round_doubles_the_velocity_cut_to_a_whole_one_or_turns_the_direction() {
    for (direction, was_up, velocity, is_up) in [
        (3, true, 4.0, true),
        (-3, true, 1.0, false),
        (-3, false, 4.0, false),
        (0, true, 1.0, false),
        (0, false, 1.0, true),
    ] {
        let mut sender = steady(GenericCc::later(PACKET, 0.5, false));
        (sender.direction, sender.round_acks, sender.was_up, sender.velocity) = (direction, 9, was_up, 2.5);
        sender.end_round(at(2_000));
        assert_eq!((sender.velocity, sender.was_up), (velocity, is_up), "{direction} after {was_up}");
        assert_eq!((sender.direction, sender.round_acks, sender.round_start), (0, 0, Some(at(2_000))));
    }
    // Before, two thirds of the acks, cut to a whole number, and one more have to agree; else the direction stays.
    for (direction, acks, velocity, is_up) in
        [(7, 10, 4.0, true), (6, 10, 1.0, true), (-7, 10, 1.0, false), (-6, 10, 1.0, true)]
    {
        let mut sender = steady(GenericCc::january_2018(PACKET, 0.5));
        (sender.direction, sender.round_acks, sender.was_up, sender.velocity) = (direction, acks, true, 2.0);
        sender.end_round(at(2_000));
        assert_eq!((sender.velocity, sender.was_up), (velocity, is_up), "{direction} of {acks}");
    }
}

#[test]
fn the_velocity_is_bounded_by_window_times_delta_which_the_newer_one_halves_towards() {
    for (sender, velocity, left) in [
        (GenericCc::later(PACKET, 0.5, false), 20.0, 20.0),
        (GenericCc::later(PACKET, 0.5, false), 21.0, 10.5),
        (GenericCc::later(PACKET, 0.01, false), 1.0, 1.0),
        (GenericCc::january_2018(PACKET, 0.51), 64.0, 20.0),
        (GenericCc::january_2018(PACKET, 0.02), 1.0, 0.0),
    ] {
        let mut sender = steady(sender);
        sender.velocity = velocity;
        sender.bound_velocity();
        assert_eq!(sender.velocity, left, "{:?} {}", sender.program, sender.delta);
    }
}
