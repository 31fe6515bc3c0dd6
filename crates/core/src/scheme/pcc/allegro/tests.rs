#![allow(clippy::float_cmp, reason = "rates and steps are exact")]

use super::super::monitor::tests::{interval, numbered};
use super::*;
use crate::scheme::{Sent, window};

#[test]
fn loss_of_up_to_five_percent_hardly_matters() {
    // The paper's values per unit of rate, without the round trip: 0.9933 at no loss, 0.425 at 5 %, below zero from 8 %
    // on.
    for (lost, expected) in [
        (0, 0.9933),
        (10, 0.962),
        (20, 0.914),
        (30, 0.824),
        (40, 0.662),
        (50, 0.425),
        (60, 0.193),
        (80, -0.036),
        (100, -0.094),
    ] {
        // The program halves the first term while the round trip stays, and counts a thousand packets over one of
        // 100,000 us.
        let loss = f64::from(lost) / 1_000.0;
        let program = utility(&interval(10.0, 1_000, lost, 0.1), 1e5, 1e5) * 0.1;
        let paper = 2.0 * (program + loss) - loss;
        assert!((paper - expected).abs() < 0.001, "{lost}: {paper}, not {expected}");
    }
}

#[test]
fn a_growing_round_trip_costs() {
    // A sigmoid of ten times one less the ratio of the round trips, and one of the loss, which is 0.9933 without any.
    for (before, rtt, share) in [(1e5, 1e5, 0.5), (1e5, 1.1e5, 0.28719), (1.1e5, 1e5, 0.73106)] {
        let found = utility(&interval(10.0, 1_000, 0, 0.1), rtt, before);
        let expected = 1_000.0 / rtt * 1_000.0 * 0.99331 * share;
        assert!((found / expected - 1.0).abs() < 1e-4, "{before} to {rtt} us: {found}, not {expected}");
    }
}

#[test]
fn utilities_are_those_of_the_program_to_the_last_bit() {
    let mut one = interval(10.0, 133, 0, 0.1);
    one.last_sent = one.start + Duration::from_micros(153_911);
    let found =
        [(0, 50_123.5, 50_120.25), (2, 61_007.2, 50_120.25), (9, 48_000.0, 51_000.0)].map(|(lost, rtt, before)| {
            one.lost = lost;
            utility(&one, rtt, before)
        });
    assert_eq!(found, [8.559_597_372_358_889, 1.733_444_347_431_520_2, 0.377_133_637_986_985_74]);
}

fn allegro() -> Allegro {
    Allegro::new(Bytes::new(1_500), RandomStream::new(1, "pcc"))
}

#[test]
fn the_first_interval_may_be_as_bad_as_ten_thousand_below_zero() {
    for (utility, goes_on) in [(-9_999.0, true), (-10_000.0, false)] {
        let mut pcc = allegro();
        pcc.utility = utility;
        let Mode::Start { best, expected } = pcc.mode else { panic!("it has begun") };
        pcc.on_start_result(&numbered(0, 2.0, 1_000, 0), 1, best, expected);
        assert_eq!(matches!(pcc.mode, Mode::Start { .. }), goes_on, "{utility}");
    }
}

#[test]
fn the_start_doubles_with_every_interval_and_returns_to_the_best() {
    let mut pcc = allegro();
    let rates: Vec<_> = (0..5).map(|number| pcc.begin(number).0).collect();
    assert_eq!(rates, [2.0, 4.0, 8.0, 16.0, 32.0]);
    for (number, (rate, lost)) in [(2.0, 0), (4.0, 0), (8.0, 0), (16.0, 800)].into_iter().enumerate() {
        let result = numbered(number as u64, rate, (rate * 100.0) as u32, lost);
        let order = pcc.on_result(&result, 5, None);
        assert_eq!(order, if lost == 0 { Order::GoOn } else { Order::Pace(8.0) });
    }
    let Mode::Guess(trials) = &pcc.mode else { panic!("{:?}", pcc.mode) };
    assert_eq!(trials.rates.len(), 4);
    for rate in &trials.rates {
        assert!(((rate - 8.0).abs() - 0.08).abs() < 1e-9, "{rate}");
    }
    assert_eq!(trials.rate(5), Some(trials.rates[0]));
    assert_eq!(pcc.begin(9).0, pcc.begin(8).0, "the last trial goes on");
}

#[test]
fn agreeing_pairs_move_the_rate_and_disagreeing_ones_widen_the_experiment() {
    let mut pcc = allegro();
    pcc.rate = 10.0;
    pcc.guess(0);
    let order = pcc.vote(&[(10.1, 2.0), (9.9, 1.0), (9.9, 2.0), (10.1, 1.0)], 0);
    assert_eq!((pcc.width, order), (2, Order::GoOn));
    let order = pcc.vote(&[(10.2, 2.0), (9.8, 1.0), (9.8, 1.0), (10.2, 2.0)], 0);
    assert!((pcc.rate - 10.2).abs() < 1e-9, "half of two and one: two percent, {}", pcc.rate);
    assert_eq!(order, Order::Pace(pcc.rate));
    let first = numbered(0, 10.2, 1_000, 0);
    let better = numbered(0, 10.4, 1_100, 0);
    pcc.on_result(&first, 0, None);
    assert!((pcc.rate - 10.2 * 1.02).abs() < 1e-9);
    pcc.on_result(&better, 0, None);
    assert!((pcc.rate - 10.2 * 1.02 * 1.03).abs() < 1e-9);
    pcc.on_result(&first, 0, None);
    let base = 10.2 * 1.02 * 1.03 * 0.97;
    assert!((pcc.rate - base).abs() < 1e-9, "one step back");
    let Mode::Guess(trials) = &pcc.mode else { panic!("{:?}", pcc.mode) };
    assert!(((trials.rates[0] - base).abs() - 0.01 * base).abs() < 1e-9, "one percent again: {:?}", trials.rates);
}

#[test]
fn experiments_widen_to_five_percent_and_the_move_after_them_is_half_of_that_and_one() {
    for (guesses, width, moved) in
        [(1, 0.01, 0.01), (2, 0.02, 0.02), (3, 0.03, 0.02), (4, 0.04, 0.03), (5, 0.05, 0.03), (6, 0.01, 0.01)]
    {
        let mut pcc = allegro();
        pcc.rate = 10.0;
        (0..guesses).for_each(|_| pcc.guess(0));
        let Mode::Guess(trials) = &pcc.mode else { panic!("{:?}", pcc.mode) };
        assert!(((trials.rates[0] - 10.0).abs() - 10.0 * width).abs() < 1e-9, "{guesses}: {:?}", trials.rates);
        pcc.vote(&[(10.1, 2.0), (9.9, 1.0), (10.1, 2.0), (9.9, 1.0)], 0);
        assert!((pcc.rate - 10.0 * (1.0 + moved)).abs() < 1e-9, "{guesses}: {}", pcc.rate);
    }
}

#[test]
fn the_utility_of_the_very_first_interval_counts_half() {
    let result = |number| numbered(number, 2.0, 200, 0);
    let whole = utility(&result(0), 1e5, 1e5);
    let mut pcc = allegro();
    for (number, share) in [(0, 0.5), (1, 1.0)] {
        pcc.on_result(&result(number), 5, None);
        assert!((pcc.utility - share * whole).abs() < 1e-9, "{number}: {}", pcc.utility);
    }
    // Not where the start was over before it was known.
    let mut pcc = allegro();
    pcc.guess(0);
    pcc.on_result(&result(0), 5, None);
    assert!((pcc.utility - whole).abs() < 1e-9, "{}", pcc.utility);
}

#[test]
fn an_interval_lasts_for_one_and_a_half_round_trips_or_a_little_more_but_for_five_milliseconds_and_ten_packets() {
    for (rate, srtt, expected) in [
        // Gaps of 1.2 ms, 12 ms, 12 ms and 0.12 ms.
        (10.0, 100_000, &[125, 133, 141][..]),
        (1.0, 114_000, &[14, 15, 16]),
        (1.0, 100_000, &[10]),
        (100.0, 1_000, &[41]),
    ] {
        let mut pcc = allegro();
        (pcc.rate, pcc.srtt) = (rate, srtt);
        pcc.mode = Mode::Move { direction: 1.0, steps: 1, awaited: 0, utility: None };
        let mut found: Vec<_> = (0..50).map(|_| pcc.begin(0).1).collect();
        found.sort_unstable();
        found.dedup();
        assert_eq!(found, expected, "{rate} Mbit/s");
    }
}

#[test]
fn a_result_that_is_missing_ends_the_start() {
    let mut pcc = allegro();
    pcc.on_result(&numbered(0, 2.0, 200, 0), 3, None);
    assert_eq!(pcc.on_result(&numbered(2, 8.0, 800, 0), 3, None), Order::Pace(2.0));
}

#[test]
fn results_wait_for_the_receiver_to_have_twenty_packets() {
    let mut sender = Sender::new(allegro(), FIRST_RATE);
    let at = |millis| Instant::ZERO + Duration::from_millis(millis);
    let (size, is_retransmission) = (Bytes::new(1_500), false);
    // The first interval has 25 packets at least and 28 at most.
    let send = |n: u64| Sent { now: at(5 * n), size, is_retransmission, in_flight: 1, delivered: 0 };
    let packets: Vec<_> = (0..40).map(|n| sender.on_sent(&send(n))).collect();
    let utilities = packets.iter().enumerate().map(|(n, packet)| {
        let now = at(100 + 5 * n as u64);
        sender.on_ack(&Ack { now, packets: std::slice::from_ref(packet), ..window::ack(1) });
        let mut utility = 0.0;
        sender.telemetry(&mut |name, value| {
            if name == "utility" {
                utility = value;
            }
        });
        utility
    });
    assert_eq!(utilities.map(|utility| utility > 0.0).position(|is_known| is_known), Some(39));
}

#[test]
fn equal_utilities_vote_down_whichever_rate_comes_first() {
    for pairs in
        [[(10.1, 1.0), (9.9, 1.0), (9.9, 1.0), (10.1, 1.0)], [(9.9, 1.0), (10.1, 1.0), (10.1, 1.0), (9.9, 1.0)]]
    {
        let mut pcc = allegro();
        pcc.rate = 10.0;
        pcc.guess(0);
        pcc.vote(&pairs, 0);
        assert!((pcc.rate - 9.9).abs() < 1e-9, "{}", pcc.rate);
    }
}

#[test]
fn a_host_that_cannot_keep_up_is_where_the_first_move_ends_too() {
    let mut pcc = allegro();
    pcc.rate = 300.0;
    pcc.mode = Mode::Move { direction: 1.0, steps: 1, awaited: 7, utility: None };
    assert_eq!(pcc.on_result(&numbered(8, 300.0, 20_000, 0), 9, None), Order::GoOn, "not the awaited one");
    // 20,000 packets of 1500 bytes in a second.
    assert_eq!(pcc.on_result(&numbered(7, 300.0, 20_000, 0), 9, None), Order::Pace(240.0));
    assert!(matches!(pcc.mode, Mode::Guess(_)));
}

#[test]
fn only_above_200_megabit_is_a_host_taken_for_the_limit() {
    for (rate, is_limit) in [(200.0, false), (201.0, true)] {
        let mut pcc = allegro();
        pcc.rate = rate;
        pcc.mode = Mode::Move { direction: 1.0, steps: 1, awaited: 7, utility: None };
        pcc.on_result(&numbered(7, rate, 10_000, 0), 9, None);
        assert_eq!(pcc.rate == 120.0, is_limit, "{rate} Mbit/s: {}", pcc.rate);
    }
}

#[test]
fn one_round_trip_of_every_ten_milliseconds_counts_an_eighth() {
    let mut pcc = allegro();
    // Whole microseconds: 90,000 less an eighth of 70,001.
    let expected = [90_000, 90_000, 90_000, 81_249];
    for (millis, srtt) in [0, 3, 9, 10].into_iter().zip(expected) {
        let now = Instant::ZERO + Duration::from_millis(millis);
        pcc.on_ack(&Ack { now, rtt: Some(Duration::from_micros(20_000 - millis / 10)), ..window::ack(1) });
        assert_eq!(pcc.srtt, srtt, "{millis} ms");
    }
}
