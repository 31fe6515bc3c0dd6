//! Growth and cost by delay, and what a timeout forgets.

use super::*;
use crate::scheme::Value;
use crate::scheme::window::{ack, acked, timeout};

fn with_parameters(given: &[(&str, f64)]) -> Illinois {
    let given = given.iter().map(|(name, value)| ((*name).to_owned(), Value::Number(*value))).collect();
    Illinois::new(&Parameters::resolve("illinois", INFO.parameters, &given).expect("within bounds"))
}

/// Queueing delays of up to 100 ms above 50 ms have been seen.
fn informed() -> Illinois {
    informed_with(&[])
}

fn informed_with(given: &[(&str, f64)]) -> Illinois {
    let mut illinois = with_parameters(given);
    (illinois.shortest, illinois.longest) = (50_000, 150_000);
    illinois
}

fn window(cwnd: u32, ssthresh: u32) -> Window {
    let mut window = Window::initial();
    (window.cwnd, window.ssthresh) = (cwnd, ssthresh);
    window
}

/// A round in which every packet of a window waited for so long.
fn round(illinois: &mut Illinois, window: &mut Window, delay_ms: u64) {
    let end = illinois.round_end;
    let rtt = Some(Duration::from_millis(50 + delay_ms));
    let last = Ack { rtt, first_unacked: end + 1, next_sequence: end + 100, is_cwnd_limited: false, ..ack(1) };
    illinois.on_acked(window, &acked(&last));
    illinois.grow(window, &last);
}

#[test]
fn growth_falls_from_ten_to_a_third_along_the_curve_of_the_paper() {
    // alpha = k1 / (k2 + da) with 10 packets at a hundredth of the longest delay and 0.3 at all of it.
    for (delay_ms, alpha) in [(2, 7.5), (10, 2.52), (50, 0.586), (100, 0.2969)] {
        let mut illinois = informed();
        round(&mut illinois, &mut window(100, 50), delay_ms);
        let found = f64::from(illinois.alpha) / f64::from(ALPHA_SCALE);
        assert!((found - alpha).abs() < 0.02, "{delay_ms} ms: {found}");
    }
}

#[test]
fn a_loss_costs_an_eighth_to_a_half() {
    for (delay_ms, cwnd) in [(0, 88), (10, 88), (45, 69), (80, 50), (100, 50)] {
        let (mut illinois, mut window) = (informed(), window(100, 50));
        round(&mut illinois, &mut window, delay_ms);
        assert_eq!(illinois.ssthresh_after_loss(&window, Instant::ZERO), cwnd, "{delay_ms} ms");
    }
}

#[test]
fn full_growth_is_there_at_first_and_comes_back_with_the_fifth_round_of_low_delay() {
    let (mut illinois, mut window) = (informed(), window(100, 50));
    round(&mut illinois, &mut window, 0);
    assert_eq!(illinois.alpha, ALPHA_MAX);
    round(&mut illinois, &mut window, 50);
    let slow = illinois.alpha;
    for low in 1..5 {
        round(&mut illinois, &mut window, 1);
        assert_eq!(illinois.alpha, slow, "after {low} rounds");
    }
    round(&mut illinois, &mut window, 1);
    assert_eq!(illinois.alpha, ALPHA_MAX);
}

#[test]
fn rounds_of_low_delay_need_not_follow_one_another() {
    let (mut illinois, mut window) = (informed(), window(100, 50));
    for delay_ms in [50, 0, 0, 0, 0, 50, 0] {
        round(&mut illinois, &mut window, delay_ms);
    }
    assert_eq!(illinois.alpha, ALPHA_MAX);
}

#[test]
fn small_windows_are_renos() {
    let (mut illinois, mut small) = (informed(), window(14, 10));
    round(&mut illinois, &mut small, 0);
    assert_eq!((illinois.alpha, illinois.beta), (ALPHA_SCALE, BETA_MAX));
    assert_eq!(illinois.ssthresh_after_loss(&small, Instant::ZERO), 7);
    assert_eq!(illinois.ssthresh_after_loss(&window(2, 2), Instant::ZERO), 2);
}

#[test]
fn a_threshold_may_lie_between_two_windows_or_rounds() {
    let given = [("win_thresh", 15.5), ("theta", 1.5)];
    for (cwnd, alpha) in [(15, ALPHA_SCALE), (16, ALPHA_MAX)] {
        let mut illinois = informed_with(&given);
        round(&mut illinois, &mut window(cwnd, 10), 0);
        assert_eq!(illinois.alpha, alpha, "{cwnd} packets");
    }
    let (mut illinois, mut window) = (informed_with(&given), window(100, 50));
    for (delay_ms, alpha) in [(50, 74), (0, 74), (0, ALPHA_MAX)] {
        round(&mut illinois, &mut window, delay_ms);
        assert_eq!(illinois.alpha, alpha, "full growth comes back with the second round of low delay");
    }
}

#[test]
fn the_window_grows_by_alpha_per_window_acknowledged() {
    for (alpha, acks, cwnd) in [(ALPHA_MAX, 10, 101), (ALPHA_MAX, 9, 100), (ALPHA_MIN, 337, 101)] {
        let (mut illinois, mut window) = (informed(), window(100, 50));
        (illinois.alpha, illinois.round_end) = (alpha, 10_000);
        for n in 1..=acks {
            let ack = Ack { first_unacked: n, ..ack(1) };
            illinois.on_acked(&mut window, &acked(&ack));
            illinois.grow(&mut window, &ack);
        }
        assert_eq!(window.cwnd, cwnd, "{acks} acks at {alpha}/128");
    }
}

#[test]
fn a_timeout_brings_reno_back_and_begins_a_round() {
    let (mut illinois, mut window) = (informed(), window(100, 50));
    round(&mut illinois, &mut window, 50);
    round(&mut illinois, &mut window, 0);
    let slow = Ack { rtt: Some(Duration::from_millis(150)), first_unacked: illinois.first_unacked, ..ack(1) };
    illinois.on_acked(&mut window, &acked(&slow));
    illinois.on_timeout(&Timeout { next_sequence: 700, ..timeout(true) });
    assert_eq!((illinois.alpha, illinois.beta), (ALPHA_SCALE, BETA_MAX));
    assert_eq!((illinois.round_end, illinois.low_rounds), (700, 0));
    round(&mut illinois, &mut window, 0);
    assert_eq!(illinois.alpha, ALPHA_MAX, "delays and samples from before are forgotten");
}

#[test]
fn round_trips_beyond_three_seconds_are_taken_for_that() {
    let (mut illinois, mut window) = (informed(), window(100, 50));
    illinois.on_acked(&mut window, &acked(&Ack { rtt: Some(Duration::from_secs(60)), ..ack(1) }));
    assert_eq!(illinois.longest, 3_355_443);
}
