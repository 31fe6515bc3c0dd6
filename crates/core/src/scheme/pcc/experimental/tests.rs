#![allow(clippy::float_cmp, reason = "rates and steps are exact")]

use super::*;
use crate::scheme::window;

const PACKET: Bytes = Bytes::new(1_500);

fn new() -> Experimental {
    Experimental::new(PACKET, RandomStream::new(1, "pcc"))
}

fn at(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

fn send(pcc: &mut Experimental, micros: u64) -> u64 {
    pcc.on_sent(&Sent { now: at(micros), size: PACKET, is_retransmission: false, in_flight: 1, delivered: 0 })
}

fn acknowledge(pcc: &mut Experimental, packet: u64, micros: u64) {
    pcc.on_ack(&Ack { now: at(micros), packets: &[packet], ..window::ack(1) });
}

/// One that knows a round trip of 100 ms, at 200 ms.
fn started() -> Experimental {
    let mut pcc = new();
    let packet = send(&mut pcc, 100_000);
    acknowledge(&mut pcc, packet, 200_000);
    pcc
}

fn outcome(rate: f64, utility: f32) -> Outcome {
    Outcome { rate, utility }
}

#[test]
fn the_first_rate_is_ten_packets_in_ten_milliseconds() {
    assert_eq!(new().pacing_rate().map(Rate::as_bits_per_second), Some(11_200_000));
}

#[test]
fn before_the_first_round_trip_every_packet_begins_an_interval_of_no_use() {
    let mut pcc = new();
    for micros in [0, 1_000] {
        send(&mut pcc, micros);
        assert!(pcc.intervals.current().is_some_and(|current| current.start == micros && !current.is_useful));
    }
    acknowledge(&mut pcc, 0, 100_000);
    send(&mut pcc, 101_000);
    assert!(pcc.intervals.is_in_useful());
}

#[test]
fn an_interval_lasts_for_one_and_a_half_average_round_trips_and_to_the_packet_after() {
    let mut pcc = started();
    send(&mut pcc, 200_000);
    send(&mut pcc, 350_000);
    assert!(pcc.intervals.is_in_useful());
    send(&mut pcc, 350_001);
    assert!(!pcc.intervals.is_in_useful(), "the next one is of no use until the result of that one is known");
}

#[test]
fn the_utility_counts_packets_without_the_44_bytes_of_their_headers() {
    let mut pcc = started();
    let packets = [200_000, 300_000, 350_000, 350_001].map(|micros| (send(&mut pcc, micros), micros));
    for (packet, micros) in &packets[..3] {
        acknowledge(&mut pcc, *packet, micros + 100_000);
    }
    let bits_per_mebibit = 1_048_576.0;
    let speed = 3.0 * 1_456.0 * 8.0 / 0.15 / bits_per_mebibit;
    let error = f64::from(pcc.latest.utility) - f64::powf(speed, 0.9);
    assert!(error.abs() < 1e-6, "{:?} for {speed} Mibit/s", pcc.latest);
}

#[test]
fn the_average_is_cut_to_microseconds() {
    let mut pcc = started();
    let packet = send(&mut pcc, 200_000);
    acknowledge(&mut pcc, packet, 300_003);
    assert_eq!(pcc.rtt, 100_000);
}

#[test]
fn the_start_doubles_while_utility_grows() {
    let mut pcc = started();
    pcc.on_results(&[outcome(FIRST_RATE, 9.0)]);
    assert_eq!((pcc.rate, pcc.mode), (2.0 * FIRST_RATE, Mode::Starting));
    pcc.on_results(&[outcome(2.0 * FIRST_RATE, 8.0)]);
    assert_eq!((pcc.rate, pcc.mode), (FIRST_RATE, Mode::Probing));
}

#[test]
fn a_round_trip_that_rises_by_a_third_ends_the_start() {
    for (rtt, mode) in [(129_999, Mode::Starting), (130_000, Mode::Probing)] {
        let mut pcc = started();
        let packet = send(&mut pcc, 200_000);
        acknowledge(&mut pcc, packet, 200_000 + rtt);
        assert_eq!(pcc.mode, mode, "{rtt}");
    }
}

/// One that tries rates around 100.
fn probing() -> Experimental {
    let mut pcc = started();
    (pcc.mode, pcc.rate) = (Mode::Probing, 100.0);
    pcc
}

#[test]
fn trials_are_pairs_of_five_percent_around_the_rate_to_which_it_returns() {
    let mut pcc = probing();
    let rates: Vec<_> = (0..6)
        .map(|n| {
            send(&mut pcc, 200_000 + 150_001 * n);
            (pcc.rate, pcc.base_rate())
        })
        .collect();
    let [up, down] = [1.05_f32, 0.95].map(|share| 100.0 * f64::from(share));
    for pair in rates[..4].chunks(2) {
        let (one, other) = (pair[0].0, pair[1].0);
        assert!((one.max(other) - up).abs() < 1e-9 && (one.min(other) - down).abs() < 1e-9, "{one} and {other}");
    }
    assert!(rates.iter().all(|(_, base)| (base - 100.0).abs() < 1e-9), "{rates:?}");
    assert_eq!(rates[4].0, rates[4].1);
    assert_eq!(rates[5], rates[4]);
}

#[test]
fn both_pairs_have_to_agree() {
    let mut pcc = probing();
    pcc.on_results(&[outcome(105.0, 2.0), outcome(95.0, 1.0), outcome(105.0, 1.0), outcome(95.0, 2.0)]);
    assert_eq!((pcc.mode, pcc.rate), (Mode::Probing, 100.0));
    // A gradient of one and one of four: the first says how far.
    let [first, second] = [[outcome(105.0, 11.0), outcome(95.0, 1.0)], [outcome(95.0, 1.0), outcome(105.0, 41.0)]];
    pcc.on_results(&[first, second].concat());
    assert_eq!((pcc.mode, pcc.rate, pcc.is_up), (Mode::Decided, 101.0, true));
    assert_eq!(pcc.latest, second[1], "and the better one of the second is to beat");
}

#[test]
fn fewer_than_four_trials_decide_nothing() {
    let mut pcc = probing();
    send(&mut pcc, 200_000);
    for few in [1, 2, 3] {
        pcc.on_results(&vec![outcome(105.0, 2.0); few]);
        assert_eq!(pcc.mode, Mode::Probing);
    }
}

#[test]
fn a_decision_that_proves_wrong_is_taken_back_by_two_percent() {
    for (is_up, share) in [(true, 1.02_f32), (false, 0.98)] {
        let mut pcc = probing();
        let sign = if is_up { 1.0 } else { -1.0 };
        (pcc.mode, pcc.is_up, pcc.latest) = (Mode::Decided, is_up, outcome(99.0, 2.0));
        pcc.step.remember(sign);
        pcc.on_results(&[outcome(100.0, 2.0 + sign as f32)]);
        assert_eq!((pcc.mode, pcc.rate), (Mode::Decided, 100.0 + sign));
        pcc.on_results(&[outcome(101.0, 2.0)]);
        let back = (100.0 + sign) * (1.0 / f64::from(share));
        assert_eq!((pcc.mode, pcc.rate), (Mode::Probing, back), "{is_up}");
    }
}

#[test]
fn no_decision_leads_below_two() {
    let mut pcc = probing();
    pcc.rate = 2.2;
    pcc.on_results(&[outcome(2.3, 1.0), outcome(2.1, 2.0), outcome(2.3, 1.0), outcome(2.1, 2.0)]);
    assert!((pcc.rate - MIN_RATE).abs() < 1e-12, "the least change of 0.5 would: {}", pcc.rate);
}

#[test]
fn a_single_packet_ends_the_trials_without_a_result_at_the_rate_that_it_had() {
    let mut pcc = probing();
    let packet = send(&mut pcc, 200_000);
    let rate = pcc.rate;
    send(&mut pcc, 350_001);
    acknowledge(&mut pcc, packet, 350_001);
    assert_eq!((pcc.intervals.useful(), pcc.intervals.current().is_none()), (0, true));
    assert_ne!(pcc.rate, rate, "the second trial's");
    assert_eq!(pcc.base_rate(), pcc.rate);
}

#[test]
fn what_is_not_heard_of_is_looked_for_every_hundred_milliseconds() {
    let mut pcc = started();
    assert_eq!(pcc.next_timer(), None, "nothing is under way");
    send(&mut pcc, 210_000);
    assert_eq!(pcc.next_timer(), Some(at(300_000)));
    pcc.on_timer(at(300_000));
    assert_eq!(pcc.next_timer(), Some(at(400_000)));
    pcc.on_timer(at(60_000_000));
    assert_eq!((pcc.next_timer(), pcc.tracker.is_waiting()), (None, false));
}
