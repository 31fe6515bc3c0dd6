#![allow(clippy::float_cmp, reason = "eighths are exact")]

use std::io::Write as _;

use super::*;
use crate::scheme::window::{ack, timeout};

const PACKET: Bytes = Bytes::new(1_500);

fn at(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

fn sender(profile: Profile, action: Action) -> RemyCc {
    RemyCc::new(Arc::new(Tree::single(action)), profile, PACKET)
}

fn send(remy: &mut RemyCc, micros: u64) -> u64 {
    remy.on_sent(&Sent {
        now: at(micros),
        size: Bytes::new(1_448),
        is_retransmission: false,
        in_flight: 1,
        delivered: 0,
    })
}

/// The ack of a packet that took 100 ms there and `rtt_ms` in all.
fn acknowledge(remy: &mut RemyCc, packet: u64, rtt_ms: u64) {
    let sent = Tag::decode(packet, at(10_000_000)).sent;
    let one_way_delay = Some(Duration::from_millis(100));
    remy.on_ack(&Ack { now: sent + Duration::from_millis(rtt_ms), one_way_delay, packets: &[packet], ..ack(1) });
}

#[test]
fn the_averages_begin_with_the_second_ack() {
    let mut remy = sender(Profile::Pantheon, Action::UNTRAINED);
    let packets = [0, 8_000, 24_000].map(|micros| send(&mut remy, micros));
    acknowledge(&mut remy, packets[0], 150);
    assert_eq!(remy.memory(), Memory::default());
    acknowledge(&mut remy, packets[1], 150);
    assert_eq!(remy.memory(), Memory([1.0, 1.0, 1.0, 8.0 / 256.0]));
    acknowledge(&mut remy, packets[2], 300);
    assert_eq!(remy.memory(), Memory([2.875, 2.875, 2.0, 8.0 / 256.0 * 255.0 / 256.0 + 16.0 / 256.0]));
}

#[test]
fn packets_received_are_timed_by_the_receivers_clock_in_generic_cc_and_by_the_acks_in_remy() {
    for (profile, received_ms) in [(Profile::Pantheon, 24.0), (Profile::Remy, 8.0)] {
        let mut remy = sender(profile, Action::UNTRAINED);
        let packets = [0, 8_000].map(|micros| send(&mut remy, micros));
        // The second one takes 16 ms more there, and as long in all.
        for (packet, there) in packets.into_iter().zip([100, 116]) {
            let now = Tag::decode(packet, at(10_000_000)).sent + Duration::from_millis(150);
            let one_way_delay = Some(Duration::from_millis(there));
            remy.on_ack(&Ack { now, one_way_delay, packets: &[packet], ..ack(1) });
        }
        assert_eq!(remy.memory(), Memory([1.0, received_ms / 8.0, 1.0, received_ms / 256.0]), "{profile:?}");
    }
}

#[test]
fn of_several_packets_the_latest_counts_and_an_overtaken_one_does_not_set_the_count_back() {
    let mut remy = sender(Profile::Pantheon, Action::UNTRAINED);
    let packets = [0, 8_000, 16_000, 24_000, 32_000].map(|micros| send(&mut remy, micros));
    let mut acknowledge = |packets: &[u64]| {
        remy.on_ack(&Ack { now: at(150_000), packets, ..ack(1) });
        (remy.expected, remy.memory().0[0])
    };
    assert_eq!(acknowledge(&packets[..1]), (Some(1), 0.0));
    // The third, and with it the second, which is told of last.
    assert_eq!(acknowledge(&[packets[2], packets[1]]), (Some(3), 0.0));
    assert_eq!(acknowledge(&packets[1..2]), (Some(3), 0.0));
    // 24 ms after the first: the others were not next.
    assert_eq!(acknowledge(&packets[3..4]), (Some(4), 3.0));
}

#[test]
fn a_gap_rests_the_averages_of_generic_cc_but_not_of_remy() {
    for (profile, send_ewma) in [(Profile::Pantheon, 0.0), (Profile::Remy, 2.0)] {
        let mut remy = sender(profile, Action::UNTRAINED);
        let packets = [0, 8_000, 16_000, 24_000].map(|micros| send(&mut remy, micros));
        acknowledge(&mut remy, packets[0], 150);
        acknowledge(&mut remy, packets[2], 150);
        assert_eq!(remy.memory().0[0], send_ewma, "{profile:?}");
        assert_eq!(remy.memory().0[2], 1.0);
        acknowledge(&mut remy, packets[3], 150);
        assert!(remy.memory().0[0] > send_ewma, "consecutive again");
    }
}

#[test]
fn the_window_is_whole_after_every_ack() {
    let mut remy = sender(Profile::Pantheon, Action { increment: 212.0, multiple: 0.9, intersend_ms: 0.4 });
    assert_eq!((remy.cwnd(), remy.pacing_rate()), (2, None));
    let windows: Vec<_> = (0..4)
        .map(|n| {
            let packet = send(&mut remy, n);
            acknowledge(&mut remy, packet, 150);
            remy.cwnd()
        })
        .collect();
    // 212, 402.8, 573.8, 727.7: each cut to a whole number before it is used again.
    assert_eq!(windows, [212, 402, 573, 727]);
    assert_eq!(remy.pacing_rate(), Some(Rate::from_bits_per_second(30_000_000)));
}

#[test]
fn remy_begins_with_its_rule_and_a_closing_window_leaves_one_packet() {
    assert_eq!(sender(Profile::Remy, Action { increment: 60.0, ..Action::UNTRAINED }).cwnd(), 60);
    let mut remy = sender(Profile::Pantheon, Action { increment: -5.0, multiple: 0.5, intersend_ms: 0.0 });
    let packet = send(&mut remy, 0);
    acknowledge(&mut remy, packet, 150);
    assert_eq!((remy.cwnd(), remy.pacing_rate()), (1, None));
}

#[test]
fn a_new_gap_counts_from_the_last_packet() {
    for (profile, departures) in [(Profile::Remy, [101, 107]), (Profile::Pantheon, [101, 102])] {
        let mut remy = sender(profile, Action { increment: 9.0, intersend_ms: 1.0, ..Action::UNTRAINED });
        (remy.window, remy.intersend_ms, remy.departed) = (9.0, 10.0, at(90_000));
        let packet = send(&mut remy, 100_000);
        assert_eq!(remy.next_departure(), Some(at(110_000)));
        let rtt = Duration::from_millis(6);
        remy.on_ack(&Ack { now: at(106_000), rtt: Some(rtt), packets: &[packet], in_flight: 0, ..ack(1) });
        let first = remy.next_departure();
        send(&mut remy, 106_000);
        assert_eq!([first, remy.next_departure()], departures.map(|millis| Some(at(1_000 * millis))), "{profile:?}");
    }
}

#[test]
fn generic_cc_makes_up_for_a_gap_only_while_its_window_is_open() {
    for (in_flight, departure) in [(1, 110), (2, 115)] {
        let mut remy = sender(Profile::Pantheon, Action::UNTRAINED);
        (remy.intersend_ms, remy.departed) = (10.0, at(90_000));
        assert_eq!(remy.cwnd(), 2);
        remy.depart(at(105_000), in_flight);
        assert_eq!(remy.next_departure(), Some(at(1_000 * departure)), "{in_flight} in flight");
    }
}

#[test]
fn what_a_closed_window_held_back_is_not_made_up_for() {
    let mut remy = sender(Profile::Pantheon, Action { increment: 2.0, multiple: 0.0, intersend_ms: 1.0 });
    let packets = [0, 0, 0].map(|micros| send(&mut remy, micros));
    remy.intersend_ms = 1.0;
    remy.on_ack(&Ack { now: at(100_000), packets: &packets[..1], in_flight: 2, ..ack(1) });
    assert_eq!(remy.next_departure(), Some(at(101_000)), "full");
    remy.on_ack(&Ack { now: at(150_000), packets: &packets[1..2], in_flight: 1, ..ack(1) });
    assert_eq!(remy.next_departure(), Some(at(150_000)), "at once");
    send(&mut remy, 150_000);
    assert_eq!(remy.next_departure(), Some(at(151_000)));
    remy.on_restart(&restart(true));
    assert_eq!(remy.next_departure(), Some(at(900_000)), "idle");
}

fn restart(is_app_limited: bool) -> Restart {
    Restart { now: at(900_000), idle: Duration::from_millis(700), rto: Duration::from_secs(1), is_app_limited }
}

#[test]
fn only_who_was_switched_off_begins_anew() {
    let idle = Duration::from_millis(700);
    for (profile, is_app_limited, idle, is_forgotten) in [
        (Profile::Remy, false, idle, false),
        (Profile::Remy, true, idle, true),
        (Profile::Remy, true, Duration::ZERO, false),
        (Profile::Pantheon, true, idle, false),
    ] {
        let mut remy = sender(profile, Action { increment: 2.0, multiple: 0.5, intersend_ms: 1.0 });
        for micros in [0, 8_000] {
            let packet = send(&mut remy, micros);
            acknowledge(&mut remy, packet, 150);
        }
        let known = remy.memory;
        remy.on_restart(&Restart { idle, ..restart(is_app_limited) });
        assert_eq!(remy.memory != known, is_forgotten, "{profile:?} {is_app_limited} {idle:?}");
    }
}

#[test]
fn the_shipped_tree_is_read() {
    let tree = Tree::read(OWN).expect("a tree");
    assert!(tree.actions().len() > 16, "{} rules", tree.actions().len());
    assert_eq!(tree.domains().iter().filter(|domain| domain.contains(Memory([1.0; AXES]))).count(), 1);
    assert_eq!(tree, **Tree::own());
}

#[test]
fn silence_forgets_everything() {
    let mut remy = sender(Profile::Pantheon, Action { increment: 50.0, ..Action::UNTRAINED });
    let packet = send(&mut remy, 0);
    acknowledge(&mut remy, packet, 100);
    let timeout =
        |millis| Timeout { now: Instant::ZERO + Duration::from_millis(millis), prior_in_flight: 50, ..timeout(true) };
    remy.on_timeout(&timeout(2_100));
    assert_eq!(remy.cwnd(), 50);
    let late = [0, 8_000].map(|micros| send(&mut remy, 2_000_000 + micros));
    remy.on_timeout(&timeout(2_101));
    assert_eq!((remy.cwnd(), remy.pacing_rate()), (2, None));
    // What was sent before counts from the first that comes.
    for packet in late {
        acknowledge(&mut remy, packet, 150);
    }
    assert_eq!(remy.memory().0[0], 1.0);
}

#[test]
fn a_tag_keeps_nanoseconds_and_the_number() {
    let second = |seconds, nanos| Instant::ZERO + Duration::from_secs(seconds) + Duration::from_nanos(nanos);
    // The nanoseconds of a tag begin anew after 1099.5 s.
    for (sent, now) in [
        (second(0, 1), second(0, 1)),
        (second(1_099, 999_999_999), second(1_101, 0)),
        (second(90_000, 7), second(91_000, 0)),
    ] {
        let tag = Tag { sent, number: Tag::NUMBERS - 1 };
        assert_eq!(Tag::decode(tag.encode(), now), tag);
    }
}

/// What is known of the tree of 2014 for links of 3 to 316 Mbit/s, which others distribute; `BAKEOFF_REMY_TREE` names
/// its file.
#[test]
fn the_published_tree_has_the_published_rules() {
    let Some(file) = std::env::var_os("BAKEOFF_REMY_TREE") else {
        // Not `eprintln`, which a test that passes keeps to itself.
        let _ = writeln!(std::io::stderr(), "not compared: BAKEOFF_REMY_TREE names no tree");
        return;
    };
    let bytes = std::fs::read(file).unwrap();
    assert_eq!(bytes.len(), 19_174);
    let tree = Tree::read(&bytes).unwrap();
    assert_eq!(tree.actions().len(), 91);
    for (memory, increment, multiple, intersend_ms) in [
        ([0.0, 0.0, 0.0, 0.0], 60.0, 0.01, 0.292),
        ([1.0, 1.0, 1.0, 1.0], 159.0, 0.45, 0.910_5),
        ([1.0, 1.0, 1.5, 1.0], 91.0, 0.79, 1.789_8),
        ([1.0, 1.0, 3.0, 1.0], 119.0, 0.48, 2.569_6),
        ([10.0, 10.0, 1.0, 10.0], 67.0, 0.64, 1.877),
        ([10.0, 10.0, 2.0, 10.0], 33.0, 0.06, 4.796_4),
        ([0.1, 0.1, 1.3, 0.1], 212.0, 0.9, 0.404_4),
    ] {
        let action = tree.actions()[tree.find(Memory(memory))];
        assert_eq!(action.increment, increment, "{memory:?}");
        assert!((action.multiple - multiple).abs() < 0.005, "{memory:?}: {}", action.multiple);
        assert!((action.intersend_ms / intersend_ms - 1.0).abs() < 1e-3, "{memory:?}: {}", action.intersend_ms);
    }
    let bounds = |of: fn(&Action) -> f64| {
        let values: Vec<_> = tree.actions().iter().map(of).collect();
        [values.iter().copied().fold(f64::INFINITY, f64::min), values.into_iter().fold(0.0, f64::max)]
    };
    assert_eq!(bounds(|action| action.increment), [3.0, 256.0]);
    for (found, expected) in
        [(bounds(|action| action.multiple), [0.0098, 1.0]), (bounds(|action| action.intersend_ms), [0.045, 27.58])]
    {
        assert!(found.iter().zip(expected).all(|(found, expected)| (found / expected - 1.0).abs() < 0.02), "{found:?}");
    }
}
