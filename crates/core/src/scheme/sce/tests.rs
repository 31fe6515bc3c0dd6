//! Echoes, and a window that moves by fractions.

use std::collections::BTreeMap;

use super::super::parameters::Value;
use super::super::window::{ack, window_of};
use super::*;
use crate::units::Instant;

/// Of packets of 1448 bytes, counted in segments of `rcv_mss`.
pub(in crate::scheme) fn echoes(rcv_mss: u32) -> Echoes {
    let given = BTreeMap::from([("rcv_mss".to_owned(), Value::Number(rcv_mss.into()))]);
    Echoes::new(Bytes::new(1_448), &Parameters::resolve("sce", &PARAMETERS, &given).expect("a segment"))
}

/// An ack of what goes before `first_unacked`.
pub(in crate::scheme) fn feedback(first_unacked: u64, is_sce_echo: bool) -> EcnFeedback {
    EcnFeedback {
        now: Instant::ZERO,
        newly_delivered: 1,
        newly_marked: 0,
        delivered: 0,
        marked: 0,
        is_sce_echo,
        state: State::Open,
        first_unacked,
        next_sequence: first_unacked,
    }
}

/// Takes an ack; an echo costs nothing.
fn take(counter: &mut Counter, window: &mut Window, feedback: &EcnFeedback, ack: &Ack<'_>) {
    counter.fall(window, feedback, |_, _| 0);
    let ack = Ack { first_unacked: feedback.first_unacked, ..*ack };
    counter.take(window, &ack, None);
    counter.grow(window, &ack, None);
}

/// The window after a round trip without marks, from 100 packets on.
fn grown(rcv_mss: u32, packets_per_ack: u32) -> u32 {
    let (mut counter, mut window) = (Counter::new(echoes(rcv_mss)), window_of(100, 50));
    for number in 1..=u64::from(100 / packets_per_ack) {
        let told = feedback(number * u64::from(packets_per_ack), false);
        take(&mut counter, &mut window, &told, &ack(packets_per_ack));
    }
    window.cwnd
}

#[test]
fn a_host_that_receives_nothing_counts_in_segments_of_536_bytes() {
    assert_eq!((grown(1_448, 1), grown(1_448, 2)), (101, 101), "one per round trip");
    // 144800 bytes: 53600 for the first, 54136 for the next, and 37064 of 54672 for a third.
    assert_eq!((grown(536, 1), grown(536, 2)), (102, 102));
}

#[test]
fn nothing_is_counted_after_an_echo_or_where_the_window_does_not_limit() {
    let (mut counter, mut window) = (Counter::new(echoes(1_448)), window_of(100, 50));
    take(&mut counter, &mut window, &feedback(1, true), &ack(1));
    take(&mut counter, &mut window, &feedback(2, false), &Ack { is_cwnd_limited: false, ..ack(1) });
    assert_eq!(counter.bytes, 0);
    take(&mut counter, &mut window, &feedback(3, false), &ack(1));
    assert_eq!(counter.bytes, 1_448);
    // What is due is settled whoever limits.
    counter.bytes = 1_448 * 100;
    take(&mut counter, &mut window, &feedback(4, false), &Ack { is_cwnd_limited: false, ..ack(1) });
    assert_eq!((counter.bytes, window.cwnd), (0, 101));
}

#[test]
fn the_threshold_is_half_of_the_largest_window_since_the_last_reduction_or_what_it_is() {
    let (mut counter, mut window) = (Counter::new(echoes(1_448)), window_of(80, 60));
    take(&mut counter, &mut window, &feedback(1, false), &ack(1));
    assert_eq!(counter.ssthresh(&window), 60);
    assert_eq!(counter.ssthresh(&window_of(20, 10)), 40);
    assert_eq!(Counter::new(echoes(1_448)).ssthresh(&window_of(2, 1)), 2);
}

#[test]
fn the_root_follows_the_window_step_by_step_but_not_through_slow_start() {
    let (mut counter, mut window) = (Counter::new(echoes(1_448)), window_of(10, INFINITE_SSTHRESH));
    take(&mut counter, &mut window, &feedback(90, false), &ack(90));
    assert_eq!((window.cwnd, counter.root), (100, 1));
    window.ssthresh = 50;
    for steps in 1..=12 {
        counter.bytes += 1_448 * i64::from(window.cwnd);
        counter.settle(&mut window);
        assert_eq!((window.cwnd, counter.root), (100 + steps, (1 + steps).min(11)));
    }
    counter.bytes -= 1_448 * 200;
    counter.settle(&mut window);
    assert_eq!((window.cwnd, counter.root), (111, 10), "112 packets for one");
    assert_eq!((counter.ssthresh_after_timeout(&window), counter.root, counter.bytes), (55, 7, 0));
}

#[test]
fn the_window_stays_above_two_packets() {
    let (mut counter, mut window) = (Counter::new(echoes(536)), window_of(4, 2));
    counter.fall(&mut window, &feedback(10, true), |_, _| 1_000_000);
    assert_eq!((window.cwnd, counter.root), (2, 1));
}

#[test]
fn an_ack_that_acknowledges_nothing_in_order_counts_for_a_segment() {
    let mut echoes = echoes(536);
    for (first_unacked, acked) in [(2, 2_896), (2, 536), (3, 1_448)] {
        assert_eq!(echoes.read(&feedback(first_unacked, true)), Some(acked));
        assert_eq!(echoes.read(&feedback(first_unacked, false)), None);
        assert_eq!(echoes.take(&Ack { first_unacked, ..ack(1) }), acked);
    }
}

/// The window after the transport has reduced it from 80, `acks` after the last echo.
fn reduced(acks: u64) -> (u32, u32) {
    let (mut counter, mut window) = (Counter::new(echoes(1_448)), window_of(80, 2));
    counter.fall(&mut window, &feedback(1, true), |_, _| 0);
    for number in 2..=acks {
        counter.echoes.read(&feedback(number, false));
    }
    window.ssthresh = counter.ssthresh(&window);
    window.cwnd = window.ssthresh;
    counter.on_reduced(&mut window);
    (window.cwnd, window.ssthresh)
}

#[test]
fn a_reduction_to_half_is_followed_by_another_which_is_milder_after_a_recent_echo() {
    assert_eq!((reduced(80), reduced(81)), ((35, 20), (30, 20)), "a window of acks later it is forgotten");
}

#[test]
fn the_first_reduction_in_slow_start_takes_a_quarter() {
    let (mut counter, mut window) = (Counter::new(echoes(536)), window_of(80, INFINITE_SSTHRESH));
    window.ssthresh = counter.ssthresh(&window);
    assert_eq!(window.ssthresh, 80);
    counter.on_reduced(&mut window);
    assert_eq!((window.cwnd, window.ssthresh), (60, 40));
}

#[test]
fn an_echo_halves_the_threshold_and_the_largest_window_is_then_that_of_the_echo() {
    let (mut counter, mut window) = (Counter::new(echoes(1_448)), window_of(80, 2));
    take(&mut counter, &mut window, &feedback(1, false), &ack(1));
    window.cwnd = 60;
    counter.fall(&mut window, &feedback(2, true), |_, _| 0);
    assert_eq!((window.ssthresh, counter.ssthresh(&window_of(60, 10))), (30, 30), "not 40");
}

#[test]
fn an_echo_that_comes_with_ce_is_none_and_its_ack_counts_towards_growth() {
    let (mut counter, mut window) = (Counter::new(echoes(1_448)), window_of(80, 30));
    let echo = EcnFeedback { newly_marked: 1, ..feedback(1, true) };
    take(&mut counter, &mut window, &echo, &ack(1));
    assert_eq!((window.cwnd, window.ssthresh, counter.bytes, counter.echoes.is_recent()), (80, 30, 1_448, false));
}

#[test]
fn an_echo_ends_slow_start_but_moves_no_threshold_to_which_the_window_is_being_reduced() {
    for (state, ssthresh) in [(State::Open, 40), (State::Loss, 40), (State::Cwr, 60), (State::Recovery, 60)] {
        let (mut counter, mut window) = (Counter::new(echoes(1_448)), window_of(80, 60));
        counter.fall(&mut window, &EcnFeedback { state, ..feedback(1, true) }, |_, _| 0);
        assert_eq!((window.ssthresh, counter.echoes.is_recent()), (ssthresh, true), "{state:?}");
    }
}

#[test]
fn of_what_is_counted_while_the_window_is_reduced_the_root_stays() {
    let (mut counter, mut window) = (Counter::new(echoes(1_448)), window_of(80, 40));
    // The transport moves the window, from ack to ack.
    let mut reducing = |counter: &mut Counter, number, is_marked| {
        window.cwnd = 80;
        let told = EcnFeedback { state: State::Cwr, ..feedback(number, is_marked) };
        take(counter, &mut window, &told, &ack(80));
        window.cwnd
    };
    assert_eq!((reducing(&mut counter, 80, false), counter.root), (81, 2));
    assert_eq!((reducing(&mut counter, 160, false), counter.root), (81, 3));
    assert_eq!((reducing(&mut counter, 161, true), counter.root), (80, 3));
    window.cwnd = 40;
    counter.on_reduced(&mut window);
    assert_eq!((window.cwnd, counter.root, counter.bytes), (35, 3, 0), "an eighth after an echo");
    // The ack that ends it was taken before that.
    take(&mut counter, &mut window, &feedback(162, false), &ack(1));
    assert_eq!(counter.bytes, 0);
    take(&mut counter, &mut window, &feedback(163, false), &ack(1));
    assert_eq!(counter.bytes, 1_448);
}

#[test]
fn without_ecn_a_window_grows_all_the_same() {
    let (mut counter, mut window) = (Counter::new(echoes(1_448)), window_of(100, 50));
    for first_unacked in 1..=100 {
        counter.take(&mut window, &Ack { first_unacked, ..ack(1) }, None);
    }
    assert_eq!(window.cwnd, 101);
}

#[test]
fn the_fall_at_the_end_of_a_reduction_takes_a_packet_at_least_and_leaves_two() {
    for (cwnd, after_echo, without) in [(2, 2, 2), (3, 2, 2), (7, 6, 6), (8, 7, 6), (17, 15, 13), (80, 70, 60)] {
        for (is_echo, left) in [(true, after_echo), (false, without)] {
            let (mut counter, mut window) = (Counter::new(echoes(1_448)), window_of(cwnd, 2));
            counter.fall(&mut window, &feedback(1, is_echo), |_, _| 0);
            counter.on_reduced(&mut window);
            assert_eq!(window.cwnd, left, "{cwnd} {is_echo}");
        }
    }
}

#[test]
fn after_a_timeout_the_root_is_that_of_the_larger_half() {
    for (cwnd, root) in [(98, 6), (99, 7), (100, 7), (3, 1)] {
        let mut counter = Counter { root: 10, ..Counter::new(echoes(1_448)) };
        counter.ssthresh_after_timeout(&window_of(cwnd, 2));
        assert_eq!(counter.root, root, "{cwnd} packets");
    }
}
