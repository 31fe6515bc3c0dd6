#![allow(clippy::float_cmp, reason = "rates and steps are exact")]

use super::super::monitor::tests::numbered;
use super::*;

fn of_profile(objective: Utility) -> Vivace {
    Vivace::new(Bytes::new(1_500), objective, RandomStream::new(1, "vivace"))
}

fn vivace() -> Vivace {
    of_profile(PANTHEON)
}

/// What an interval of a second at `rate` Mbit/s came to, that lost `lost` packets.
fn result(pcc: &mut Vivace, number: u64, next: u64, rate: f64, lost: u32) -> Order {
    let sent = (rate * 1e6 / 12_000.0) as u32;
    pcc.on_result(&numbered(number, rate, sent, lost), next, None)
}

#[test]
fn intervals_last_three_tenths_of_a_second_until_one_has_a_result() {
    let mut pcc = vivace();
    assert!(pcc.begin(0).1 == 40);
    result(&mut pcc, 0, 2, 1.6, 0);
    assert!(pcc.begin(2).1 == 26, "at 3.2 Mbit/s");
    // 100 ms at 1000 Mbit/s would be 8333 packets, and 1 ms at 3.2 none.
    for (rate, rtt, packets) in [(1_000.0, 100_000, 3_000), (3.2, 1_000, 10)] {
        let mut pcc = searching(0);
        (pcc.rate, pcc.rtt) = (rate, rtt);
        let found = pcc.begin(9).1;
        assert_eq!(found, packets, "{rate} Mbit/s");
    }
}

#[test]
fn an_interval_lasts_a_round_trip_of_whole_microseconds() {
    // With its fraction the first would last a packet more, and so would the last.
    for (rate, rtt, packets) in [(39.247_658, 20_791.5, 67), (39.247_658, 20_793.5, 68), (9.018_293, 42_580.811, 31)] {
        let mut pcc = searching(0);
        pcc.on_result(&numbered(0, rate, 70, 0), 9, Some(rtt));
        pcc.rate = rate;
        assert_eq!(pcc.begin(9).1, packets, "{rtt} us");
    }
}

#[test]
fn the_start_doubles_with_each_result_and_halves_when_it_hurts() {
    let mut pcc = vivace();
    assert_eq!(pcc.begin(0).0, 1.6);
    assert_eq!(pcc.begin(1).0, 1.6, "no result yet");
    result(&mut pcc, 0, 2, 1.6, 0);
    assert_eq!(pcc.begin(2).0, 3.2);
    result(&mut pcc, 1, 3, 1.6, 0);
    assert_eq!(result(&mut pcc, 2, 3, 3.2, 100), Order::GoOn, "the rate changes with the next interval");
    assert_eq!(pcc.rate, 1.6);
    assert!(matches!(pcc.mode, Mode::Probe(_)));
}

#[test]
fn the_start_of_the_source_forgives_fifty_losses_and_then_spends_them_all() {
    let mut pcc = of_profile(LOSS);
    let mut lost = |lost| pcc.outcome(&numbered(0, 8.0, 1_000, lost)).lost;
    assert_eq!([lost(50), lost(50), lost(60), lost(1), lost(0)], [0, 0, 10, 1, 0]);
    let mut pcc = vivace();
    assert_eq!(pcc.outcome(&numbered(0, 8.0, 1_000, 7)).lost, 7, "the program does not");
}

#[test]
fn probes_give_a_gradient_and_the_rate_follows_it_at_once() {
    let mut pcc = vivace();
    pcc.rate = 20.0;
    pcc.search(0);
    let Mode::Probe(trials) = &pcc.mode else { panic!("{:?}", pcc.mode) };
    let rates = trials.rates.clone();
    assert_eq!(rates.len(), 4);
    assert!(rates.iter().all(|rate| ((rate - 20.0).abs() - 1.0).abs() < 1e-9));
    let orders: Vec<_> = (0..4).map(|n| result(&mut pcc, n, 0, rates[n as usize], 0)).collect();
    // 0.9 x^-0.1 at 19.07 units of 2^20 bit/s is 0.67, times a million over 2^20.
    assert!((0.5..0.7).contains(&(pcc.rate - 20.0)), "{}", pcc.rate);
    assert!((pcc.gradient - 0.64).abs() < 0.01, "{}", pcc.gradient);
    assert_eq!(orders[2..], [Order::GoOn, Order::Pace(pcc.rate)]);
}

/// Searching around 20 Mbit/s.
fn searching(trend: u32) -> Vivace {
    let mut pcc = vivace();
    (pcc.rate, pcc.trend) = (20.0, trend);
    pcc.search(0);
    pcc
}

fn outcome(rate: f64, utility: f64, sent: u32, lost: u32) -> Outcome {
    Outcome { rate, utility, sent, lost, speed: rate, slope: 0.0 }
}

#[test]
fn a_probe_is_at_least_half_a_megabit_wide() {
    for (rate, width) in [(4.0, 0.5), (10.0, 0.5), (12.0, 0.6)] {
        let mut pcc = Vivace { rate, ..vivace() };
        pcc.search(0);
        let Mode::Probe(trials) = &pcc.mode else { panic!("{:?}", pcc.mode) };
        assert!(trials.rates.iter().all(|probe| ((probe - rate).abs() - width).abs() < 1e-9), "{:?}", trials.rates);
    }
}

#[test]
fn probes_that_lose_a_percent_or_less_together_are_compared_at_that() {
    // The higher rate lost all of it, for which its own utility is the lower one.
    for (lost, is_up) in [(20, true), (21, false)] {
        let mut pcc = searching(1);
        pcc.decide(vec![outcome(21.0, 1.0, 1_000, lost), outcome(19.0, 2.0, 1_000, 0)], 5);
        assert_eq!(pcc.rate > 20.0, is_up, "{lost} of 2000: {}", pcc.rate);
    }
}

#[test]
fn equal_utilities_do_not_vote() {
    let mut pcc = searching(0);
    let tied = [outcome(21.0, 1.0, 100, 9), outcome(19.0, 1.0, 100, 9)];
    assert_eq!(pcc.decide(tied.to_vec(), 5), Order::GoOn);
    assert_eq!((pcc.trend, pcc.rate), (2, 20.0));
    let with_one_up = [tied[0], tied[1], outcome(21.0, 1.5, 100, 9), outcome(19.0, 1.0, 100, 9)];
    pcc.decide(with_one_up.to_vec(), 5);
    assert_ne!(pcc.step.turn(1.0), Turn::First, "one vote is a decision");
}

#[test]
fn a_decision_that_losses_make_doubtful_is_taken_when_it_comes_again() {
    let mut pcc = searching(1);
    // The higher rate lost less.
    let odd = vec![outcome(21.0, 2.0, 100, 5), outcome(19.0, 1.0, 100, 9)];
    assert_eq!(pcc.decide(odd.clone(), 5), Order::GoOn);
    assert_eq!((pcc.trend, pcc.rate), (2, 20.0));
    let Mode::Probe(trials) = &pcc.mode else { panic!("{:?}", pcc.mode) };
    assert_eq!(trials.rates.len(), 2);
    // A gradient of a half.
    assert_eq!(pcc.decide(odd.clone(), 7), Order::Pace(20.5));
    assert!(!pcc.has_doubted);
    // After a move that was doubtful too, and searched around with one pair then.
    let mut pcc = Vivace { has_doubted: true, ..searching(0) };
    assert_eq!(pcc.decide(odd, 7), Order::Pace(20.5));
    assert_eq!(pcc.trend, 2);
}

#[test]
fn a_decision_is_doubtful_if_it_goes_up_and_the_lower_rate_lost_more_than_two_packets_more_at_a_loss_of_five_percent() {
    for (up, down, sent, up_utility, is_doubtful) in [
        (5, 9, 100, 2.0, true),
        (5, 8, 100, 2.0, true),
        (5, 7, 100, 2.0, false),
        (0, 20, 100, 2.0, false),
        (20, 25, 1_000, 2.0, false),
        (4, 7, 110, 2.0, true),
        (4, 7, 111, 2.0, false),
        (5, 9, 100, 0.0, false),
    ] {
        let mut pcc = searching(1);
        pcc.decide(vec![outcome(21.0, up_utility, sent, up), outcome(19.0, 1.0, sent, down)], 5);
        assert_eq!(pcc.has_doubted, is_doubtful, "{up} and {down} of {sent}, {up_utility}");
        assert_eq!(pcc.rate == 20.0, is_doubtful);
    }
}

/// Five steps up, so that the boundary lets the sixth be a large one.
fn moving() -> Vivace {
    let mut pcc = searching(1);
    for _ in 0..5 {
        pcc.change(100.0);
    }
    pcc
}

#[test]
fn a_large_change_is_made_with_the_next_interval_and_compared_with_the_one_before() {
    let mut pcc = moving();
    let up = vec![outcome(21.0, 9.0, 100, 0), outcome(19.0, 1.0, 100, 0)];
    assert_eq!(pcc.decide(up, 20), Order::GoOn);
    let Mode::Move(Move { reference: None, target: 20, rate }) = pcc.mode else { panic!("{:?}", pcc.mode) };
    assert!(rate > 22.0 && pcc.rate == 20.0, "{rate}");
    assert_eq!(pcc.begin(20).0, rate);
    assert_eq!(pcc.rate, rate);
    result(&mut pcc, 19, 22, 20.0, 0);
    assert!(matches!(pcc.mode, Mode::Move(Move { reference: Some(_), target: 20, .. })));
    // Worth less than 20 Mbit/s were: back, and at once.
    let order = result(&mut pcc, 20, 22, rate, 400);
    assert!(pcc.rate < rate, "{}", pcc.rate);
    assert_eq!(order, Order::Pace(pcc.rate));
}

#[test]
fn a_move_after_which_less_is_lost_is_not_believed() {
    let mut pcc = moving();
    let (reference, target) = (outcome(20.0, 1.0, 1_000, 10), outcome(25.0, 9.0, 1_000, 7));
    pcc.compare(reference, target, 30);
    assert!(matches!(pcc.mode, Mode::Probe(_)) && pcc.has_doubted && pcc.trend == 2);
    assert_eq!(pcc.step.turn(1.0), Turn::First);
    let mut pcc = moving();
    pcc.compare(reference, Outcome { lost: 8, ..target }, 30);
    assert!(!pcc.has_doubted, "two packets are noise");
}

#[test]
fn five_percent_lost_of_the_first_interval_and_the_losses_of_the_second_are_too_many_too() {
    // 7 of 103, and 4 of 102: a packet's difference alone is noise.
    for (reference, target, is_doubted) in [(4, 3, true), (2, 1, false)] {
        let mut pcc = moving();
        pcc.compare(outcome(20.0, 1.0, 100, reference), outcome(25.0, 9.0, 100, target), 30);
        assert_eq!(pcc.has_doubted, is_doubted, "{reference} and {target}");
    }
}

#[test]
fn a_large_change_in_the_same_direction_goes_on_from_the_one_before() {
    let mut pcc = moving();
    pcc.rate = 25.0;
    assert_eq!(pcc.compare(outcome(20.0, 1.0, 1_000, 0), outcome(25.0, 9.0, 1_000, 0), 30), Order::GoOn);
    let Mode::Move(Move { reference: Some(reference), target: 30, rate }) = pcc.mode else { panic!("{:?}", pcc.mode) };
    assert_eq!(reference.rate, 25.0);
    // 5 % and five times 6 %.
    assert!((rate - 1.35 * 25.0).abs() < 1e-9, "{rate}");
}

#[test]
fn changes_in_a_row_are_counted_from_a_turn_on() {
    let mut pcc = searching(0);
    let trends = [1.0, 1.0, 1.0, -1.0, -1.0, 0.0].map(|gradient| {
        pcc.change(gradient);
        pcc.trend
    });
    assert_eq!(trends, [0, 1, 2, 0, 1, 1]);
}

#[test]
fn half_lost_halves_the_rate_in_the_start_too_and_again_for_what_was_under_way() {
    let mut pcc = vivace();
    pcc.rate = 20.0;
    assert_eq!(result(&mut pcc, 3, 6, 20.0, 1_000), Order::Pace(10.0));
    for (number, rate) in [(4, 10.0), (5, 5.0), (6, 5.0), (7, 2.5)] {
        result(&mut pcc, number, number + 3, 20.0, 1_000);
        assert_eq!(pcc.rate, rate, "after interval {number}");
    }
}

#[test]
fn an_interval_a_hundred_before_the_one_under_way_is_taken_for_it_and_those_behind_the_end_of_the_ring() {
    let mut pcc = vivace();
    // The number of an interval whose half is lost, of the next one, and whether the rate is halved.
    for (number, next, is_halved) in [
        (404, 478, true),
        (403, 478, false),
        (377, 478, true),
        (376, 478, false),
        (477, 510, true),
        (508, 520, false),
        (509, 520, true),
        (519, 1_003, true),
        (1_001, 1_004, false),
        (1_002, 1_004, true),
    ] {
        pcc.rate = 20.0;
        result(&mut pcc, number, next, 20.0, 1_000);
        assert_eq!(pcc.rate == 10.0, is_halved, "{number} before {next}");
    }
}

#[test]
fn a_good_interval_ends_the_emergency_and_no_search_is_below_the_least_rate() {
    let mut pcc = vivace();
    pcc.rate = 4.0;
    result(&mut pcc, 3, 9, 4.0, 200);
    result(&mut pcc, 4, 9, 4.0, 0);
    assert_eq!(result(&mut pcc, 5, 9, 4.0, 200), Order::Pace(MIN_RATE));
    assert_eq!(pcc.rate, MIN_RATE);
    // Less than the base rate until the next interval begins, as much as a probe is.
    assert_eq!(pcc.change_rate(-0.5, 9), Order::Pace(0.8));
    assert_eq!(pcc.rate, MIN_RATE);
}

#[test]
fn a_small_step_in_the_same_direction_is_made_at_once_and_searched_around_with_one_pair() {
    let mut pcc = searching(0);
    assert_eq!(pcc.compare(outcome(19.0, 1.0, 1_000, 0), outcome(20.0, 1.1, 1_000, 0), 9), Order::Pace(20.5));
    let Mode::Probe(trials) = &pcc.mode else { panic!("{:?}", pcc.mode) };
    assert_eq!((pcc.trend, trials.rates.len()), (2, 2));
}

#[test]
fn an_interval_is_known_with_the_ack_of_its_last_packet_or_of_the_next_one() {
    let mut interval = numbered(7, 10.0, 100, 0);
    interval.acked = 90;
    let known = |interval: &Interval, newest| Vivace::is_known(interval, Some(newest));
    assert!(known(&interval, 7));
    (interval.acked, interval.is_last_acked) = (100, false);
    assert_eq!([known(&interval, 7), known(&interval, 8)], [false, true]);
}
