use super::*;
use crate::scheme::{Connected, Restart, window};

const BASE_MS: u64 = 100;

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn ack_at(millis: u64, queueing_ms: u64) -> Ack<'static> {
    let rtt = Duration::from_millis(BASE_MS + queueing_ms);
    Ack { now: at(millis), rtt: Some(rtt), srtt: Duration::from_millis(BASE_MS), ..window::ack(1) }
}

/// In congestion avoidance with 100 packets and this much queue.
fn avoiding(queueing_ms: u64) -> (PlusPlus, Window) {
    let (mut plus_plus, mut window) = (PlusPlus::new(), Window::initial());
    plus_plus.history.add(Duration::from_millis(BASE_MS), at(0));
    for _ in 0..CURRENT_FILTER {
        plus_plus.history.add(Duration::from_millis(BASE_MS + queueing_ms), at(0));
    }
    plus_plus.phase = Phase::Avoidance { slowdown: Some(at(1_000_000)) };
    (window.cwnd, window.ssthresh) = (100, 100);
    (plus_plus, window)
}

fn step(plus_plus: &mut PlusPlus, window: &mut Window, ack: &Ack<'_>) {
    plus_plus.on_acked(window, &window::acked(ack));
    plus_plus.grow(window, ack);
}

#[test]
fn the_gain_falls_with_the_path_down_to_a_sixteenth() {
    for (base_ms, divisor) in [(500, 1), (120, 1), (119, 2), (60, 2), (40, 3), (10, 12), (7, 16), (1, 16)] {
        let mut plus_plus = PlusPlus::new();
        plus_plus.history.add(Duration::from_millis(base_ms), at(0));
        assert!((plus_plus.gain() * f64::from(divisor) - 1.0).abs() < 1e-9, "{base_ms} ms: {}", plus_plus.gain());
    }
}

#[test]
fn it_adds_the_gain_below_the_target_and_shrinks_in_proportion_above_by_half_at_most() {
    // The base of 100 ms gives a gain of a half. Above: 0.5 - 100 x (q / 60 - 1).
    for (queueing_ms, packets) in [(0, 0.5), (59, 0.5), (60, 0.5), (66, -9.5), (120, -50.0), (600, -50.0)] {
        let (plus_plus, window) = avoiding(queueing_ms);
        let change = plus_plus.change_per_round(&window);
        assert!((change - packets).abs() < 1e-9, "{queueing_ms} ms: {change}");
    }
    let (mut plus_plus, mut window) = avoiding(66);
    (0..100).for_each(|_| step(&mut plus_plus, &mut window, &ack_at(1, 66)));
    assert!((89..=92).contains(&window.cwnd), "{}", window.cwnd);
}

#[test]
fn it_grows_only_where_the_window_limits_and_shrinks_always() {
    for (queueing_ms, packets) in [(0, 0.0), (66, -0.095)] {
        let (mut plus_plus, mut window) = avoiding(queueing_ms);
        step(&mut plus_plus, &mut window, &Ack { is_cwnd_limited: false, ..ack_at(1, queueing_ms) });
        let change = if plus_plus.exact == 0.0 { 0.0 } else { plus_plus.exact - 100.0 };
        assert!((change - packets).abs() < 1e-9, "{queueing_ms} ms: {change}");
    }
}

#[test]
fn it_begins_with_two_packets_and_again_after_a_long_silence() {
    for (transport, packets) in [(10, 2), (1, 1)] {
        let mut scheme = WindowBased::new(PlusPlus::new());
        scheme.on_connected(&Connected { initial_window: transport, srtt: None });
        assert_eq!(scheme.cwnd(), packets);
        for n in 0..40 {
            scheme.on_ack(&ack_at(n, 0));
        }
        let (idle, rto) = (Duration::from_secs(60), Duration::from_secs(1));
        scheme.on_restart(&Restart { now: at(100_000), idle, rto, is_app_limited: true });
        assert_eq!(scheme.cwnd(), 2);
    }
}

#[test]
fn three_thirds_of_a_packet_are_one() {
    let (mut plus_plus, mut window) = (PlusPlus::new(), Window::initial());
    plus_plus.history.add(Duration::from_millis(40), at(0));
    window.cwnd = 2;
    let mut windows = Vec::new();
    for n in 0..15 {
        plus_plus.grow(&mut window, &ack_at(n, 0));
        windows.push(window.cwnd);
    }
    assert_eq!(windows, [2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6, 7]);
}

#[test]
fn the_ack_that_ends_the_initial_slow_start_counts_in_the_next_phase() {
    let (mut plus_plus, mut window) = avoiding(60 + 30);
    plus_plus.phase = Phase::InitialSlowStart;
    window.ssthresh = INFINITE_SSTHRESH;
    plus_plus.grow(&mut window, &Ack { newly_delivered: 10, ..ack_at(5, 90) });
    // Half a packet less for each, and 0.05 more for all: 0.5 - 100 x (90 / 60 - 1) in a round trip, by half at most.
    assert_eq!((window.cwnd, window.ssthresh), (95, 95));
}

#[test]
fn nothing_but_the_end_of_a_rest_raises_the_window_above_two() {
    let (mut plus_plus, mut window) = avoiding(0);
    plus_plus.phase = Phase::Rest { began: at(1_000), until: at(1_200) };
    // As after an undo.
    window.cwnd = 50;
    step(&mut plus_plus, &mut window, &ack_at(1_100, 0));
    assert_eq!((window.cwnd, window.ssthresh), (2, 100));
}

#[test]
fn slow_start_grows_by_the_gain_and_ends_at_45_milliseconds() {
    let (mut plus_plus, mut window) = (PlusPlus::new(), Window::initial());
    (0..10).for_each(|n| step(&mut plus_plus, &mut window, &ack_at(n, 0)));
    assert_eq!(window.cwnd, 15);
    (0..4).for_each(|n| step(&mut plus_plus, &mut window, &ack_at(100 + n, 45)));
    assert_eq!(plus_plus.phase, Phase::InitialSlowStart);
    (0..4).for_each(|n| step(&mut plus_plus, &mut window, &ack_at(200 + n, 46)));
    assert_eq!(plus_plus.phase, Phase::Avoidance { slowdown: Some(at(403)) });
    assert_eq!(window.ssthresh, window.cwnd);
}

#[test]
fn a_slowdown_rests_for_two_rounds_returns_and_takes_a_tenth_of_the_time() {
    let (mut plus_plus, mut window) = avoiding(0);
    plus_plus.phase = Phase::Avoidance { slowdown: Some(at(1_000)) };
    step(&mut plus_plus, &mut window, &ack_at(1_000, 0));
    assert_eq!((window.cwnd, window.ssthresh), (2, 100));
    step(&mut plus_plus, &mut window, &ack_at(1_199, 0));
    assert_eq!(plus_plus.phase, Phase::Rest { began: at(1_000), until: at(1_200) });
    step(&mut plus_plus, &mut window, &ack_at(1_200, 0));
    for n in 0..195 {
        step(&mut plus_plus, &mut window, &ack_at(1_300 + n, 0));
    }
    assert_eq!(window.cwnd, 100, "half a packet for each of 196 acks, that of the last moment of the rest included");
    assert_eq!(plus_plus.phase, Phase::Avoidance { slowdown: Some(at(1_494 + 9 * 494)) });
}

#[test]
fn the_return_ends_at_the_threshold() {
    let (mut plus_plus, mut window) = avoiding(0);
    plus_plus.phase = Phase::Return { began: at(1_000) };
    window.cwnd = 99;
    // Half a packet for each of three.
    step(&mut plus_plus, &mut window, &Ack { newly_delivered: 3, ..ack_at(1_500, 0) });
    assert_eq!((window.cwnd, plus_plus.phase), (100, Phase::Avoidance { slowdown: Some(at(1_500 + 9 * 500)) }));
    assert!((plus_plus.exact - 100.0).abs() < 1e-9, "{}", plus_plus.exact);
}

#[test]
fn a_loss_halves_and_ends_the_initial_slow_start() {
    let mut plus_plus = PlusPlus::new();
    let mut window = Window::initial();
    window.cwnd = 40;
    window.ssthresh = plus_plus.ssthresh_after_loss(&window, at(5));
    assert_eq!(window.ssthresh, 20);
    window.cwnd = 20;
    // The two round trips to the first slowdown begin when the recovery is over.
    step(&mut plus_plus, &mut window, &ack_at(200, 0));
    assert_eq!(plus_plus.phase, Phase::Avoidance { slowdown: Some(at(400)) });
    step(&mut plus_plus, &mut window, &ack_at(399, 0));
    assert_eq!(window.cwnd, 20);
    step(&mut plus_plus, &mut window, &ack_at(400, 0));
    assert_eq!((window.cwnd, window.ssthresh), (2, 20));
}

#[test]
fn losses_that_prove_spurious_do_not_end_the_initial_slow_start() {
    let (mut plus_plus, mut window) = avoiding(46);
    plus_plus.phase = Phase::InitialSlowStart;
    plus_plus.ssthresh_after_loss(&window, at(5));
    assert_eq!(plus_plus.phase, Phase::Avoidance { slowdown: None });
    // An undo gives back both.
    (window.cwnd, window.ssthresh) = (100, INFINITE_SSTHRESH);
    step(&mut plus_plus, &mut window, &ack_at(200, 0));
    assert_eq!(plus_plus.phase, Phase::InitialSlowStart);
    (0..4).for_each(|n| step(&mut plus_plus, &mut window, &ack_at(300 + n, 46)));
    assert_eq!(plus_plus.phase, Phase::Avoidance { slowdown: Some(at(503)) });
}

#[test]
fn after_a_timeout_the_first_slowdown_waits_for_the_return_to_the_threshold() {
    let mut plus_plus = PlusPlus::new();
    let mut window = Window::initial();
    window.cwnd = 40;
    window.ssthresh = plus_plus.ssthresh_after_loss(&window, at(5));
    window.cwnd = 18;
    (0..3).for_each(|n| step(&mut plus_plus, &mut window, &ack_at(1_000 + n, 0)));
    assert_eq!((window.cwnd, plus_plus.phase), (19, Phase::Avoidance { slowdown: None }));
    (0..2).for_each(|n| step(&mut plus_plus, &mut window, &ack_at(2_000 + n, 0)));
    assert_eq!((window.cwnd, plus_plus.phase), (20, Phase::Avoidance { slowdown: Some(at(2_201)) }));
}
