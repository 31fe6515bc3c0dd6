//! The backlog, and what it does to the window.

use super::*;
use crate::scheme::Value;
use crate::scheme::window::{ack, acked, timeout};

const BASE_MS: u64 = 100;
const START: TxStart =
    TxStart { now: Instant::ZERO, idle: Duration::ZERO, delivered: 900, next_sequence: 1_100, is_app_limited: false };

fn with_parameters(given: &[(&str, f64)]) -> Vegas {
    let given = given.iter().map(|(name, value)| ((*name).to_owned(), Value::Number(*value))).collect();
    Vegas::new(&Parameters::resolve("vegas", INFO.parameters, &given).expect("within bounds"))
}

fn window(cwnd: u32, ssthresh: u32) -> Window {
    let mut window = Window::initial();
    (window.cwnd, window.ssthresh) = (cwnd, ssthresh);
    window
}

fn hear(vegas: &mut Vegas, window: &mut Window, ack: &Ack<'_>) {
    vegas.on_acked(window, &acked(ack));
    vegas.on_ack(window, ack);
}

/// Acks of one packet each until a round has passed: `samples` of them before the one that ends it.
fn round(vegas: &mut Vegas, window: &mut Window, rtt: Duration, samples: u64) {
    let first = vegas.round.end + 1 - samples;
    for n in 0..=samples {
        let ack = Ack { first_unacked: first + n, next_sequence: 10_000 + first + n, rtt: Some(rtt), ..ack(1) };
        hear(vegas, window, &ack);
        vegas.grow(window, &ack);
    }
}

/// A sender that knows the base and is in the middle of a round.
fn informed() -> Vegas {
    informed_with(&[])
}

fn informed_with(given: &[(&str, f64)]) -> Vegas {
    let mut vegas = with_parameters(given);
    vegas.base_rtt = Some(Duration::from_millis(BASE_MS));
    vegas.round.end = 1_000;
    vegas
}

fn rtt_with(backlog_per_window: f64) -> Duration {
    Duration::from_secs_f64(BASE_MS as f64 / 1e3 * (1.0 + backlog_per_window))
}

#[test]
fn two_to_four_packets_are_enough() {
    for (backlog, cwnd) in [(0.0, 101), (1.5, 101), (2.5, 100), (4.5, 100), (5.5, 99), (50.5, 99)] {
        let (mut vegas, mut window) = (informed(), window(100, 50));
        round(&mut vegas, &mut window, rtt_with(backlog / 100.0), 10);
        assert_eq!((window.cwnd, vegas.backlog), (cwnd, backlog as u64));
    }
}

#[test]
fn a_bound_may_lie_between_two_packets() {
    let given = [("alpha", 2.5), ("beta", 4.5)];
    for (backlog, cwnd) in [(2.5, 101), (3.5, 100), (4.5, 100), (5.5, 99)] {
        let (mut vegas, mut window) = (informed_with(&given), window(100, 50));
        round(&mut vegas, &mut window, rtt_with(backlog / 100.0), 10);
        assert_eq!(window.cwnd, cwnd, "{backlog} packets");
    }
}

#[test]
fn shrinking_is_not_a_return_to_slow_start() {
    let (mut vegas, mut window) = (informed(), window(100, 100));
    round(&mut vegas, &mut window, rtt_with(0.5), 10);
    assert_eq!((window.cwnd, window.ssthresh), (99, 99));
}

#[test]
fn the_threshold_is_no_less_than_three_quarters_of_the_window() {
    for (threshold, after) in [(10, 75), (80, 80)] {
        let (mut vegas, mut window) = (informed(), window(100, threshold));
        round(&mut vegas, &mut window, rtt_with(0.035), 10);
        assert_eq!((window.cwnd, window.ssthresh), (100, after));
    }
}

#[test]
fn slow_start_ends_when_a_round_shows_a_queue() {
    let (mut vegas, mut window) = (informed(), window(100, u32::MAX));
    round(&mut vegas, &mut window, rtt_with(0.0), 10);
    assert_eq!(window.cwnd, 111, "one packet for each of eleven acks");
    vegas.round.end = 1_000;
    round(&mut vegas, &mut window, rtt_with(1.0), 10);
    // 121 packets at twice the base: half of them are the path's.
    assert_eq!((window.cwnd, window.ssthresh), (61, 61));
}

#[test]
fn two_samples_are_too_few_to_judge() {
    for (samples, cwnd) in [(1, 100), (2, 99)] {
        let (mut vegas, mut window) = (informed(), window(100, 50));
        round(&mut vegas, &mut window, rtt_with(0.5), samples);
        assert_eq!(window.cwnd, cwnd, "{samples} samples and that of the last ack");
    }
}

#[test]
fn the_least_round_trip_of_a_round_counts() {
    let (mut vegas, mut window) = (informed(), window(100, 50));
    let ack = Ack { first_unacked: 900, rtt: Some(rtt_with(0.035)), ..ack(1) };
    hear(&mut vegas, &mut window, &ack);
    round(&mut vegas, &mut window, rtt_with(0.5), 10);
    assert_eq!((window.cwnd, vegas.backlog), (100, 3));
}

#[test]
fn while_losses_are_repaired_it_is_reno() {
    let (mut vegas, mut window) = (informed(), window(100, 50));
    vegas.round.samples = 10;
    let lossy = Ack { state: State::Loss, first_unacked: 2_000, rtt: Some(rtt_with(0.5)), ..ack(100) };
    hear(&mut vegas, &mut window, &lossy);
    vegas.grow(&mut window, &lossy);
    assert_eq!(window.cwnd, 101);
    let open = Ack { state: State::Open, next_sequence: 5_000, ..lossy };
    hear(&mut vegas, &mut window, &open);
    assert_eq!((vegas.round.end, vegas.round.samples), (5_000, 0), "a new round begins after the first good ack");
}

#[test]
fn a_tail_loss_ends_the_round() {
    let (mut vegas, mut window) = (informed(), window(100, 50));
    vegas.round.samples = 10;
    let open = Ack { first_unacked: 1_001, next_sequence: 1_100, rtt: Some(rtt_with(0.0)), ..ack(1) };
    vegas.on_acked(&mut window, &acked(&open));
    assert_eq!(vegas.ssthresh_after_tail_loss(&window, Instant::ZERO), 50);
    vegas.on_ack(&mut window, &open);
    vegas.grow(&mut window, &open);
    assert_eq!((window.cwnd, vegas.round.end, vegas.round.samples), (100, 1_100, 0));
}

#[test]
fn after_a_loss_that_a_timer_found_it_rules_from_the_first_packet_that_leaves_alone() {
    let (mut vegas, mut window) = (informed(), window(100, 50));
    vegas.ssthresh_after_loss(&window, Instant::ZERO);
    vegas.on_tx_start(&START);
    hear(&mut vegas, &mut window, &Ack { state: State::Recovery, rtt: None, ..ack(1) });
    assert!(vegas.is_on);
}

#[test]
fn what_leaves_while_nothing_is_in_flight_forgets_the_base() {
    let mut vegas = informed();
    vegas.on_tx_start(&START);
    assert_eq!((vegas.base_rtt, vegas.round.end, vegas.round.samples), (None, START.next_sequence, 0));
}

#[test]
fn after_a_timeout_with_nothing_in_flight_it_rules_at_once() {
    let (mut vegas, mut window) = (informed(), window(100, 50));
    let lossy = Ack { state: State::Loss, first_unacked: 950, next_sequence: 1_100, rtt: None, ..ack(200) };
    vegas.on_timeout(&timeout(true));
    hear(&mut vegas, &mut window, &lossy);
    vegas.grow(&mut window, &lossy);
    let by_reno = window.cwnd;
    assert!(by_reno > 100, "with some in flight Reno rules");
    vegas.on_timeout(&timeout(true));
    vegas.on_tx_start(&START);
    hear(&mut vegas, &mut window, &lossy);
    vegas.grow(&mut window, &lossy);
    assert_eq!(window.cwnd, by_reno, "Vegas waits for the end of its round");
    hear(&mut vegas, &mut window, &Ack { state: State::Recovery, ..lossy });
    assert!(!vegas.is_on, "until the state changes");
}
