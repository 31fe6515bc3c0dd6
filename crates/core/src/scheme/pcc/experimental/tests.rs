#![allow(clippy::float_cmp, reason = "rates and steps are exact")]

use super::super::monitor::tests::{interval, numbered};
use super::*;
use crate::scheme::window;
use crate::units::Rate;

const PACKET: Bytes = Bytes::new(1_500);

#[test]
fn latency_dwarfs_everything_once_it_is_seen() {
    let steady = interval(10.0, 1_000, 0, 0.1);
    let speed: f64 = 1_000.0 * 12_000.0 / MEBIBIT;
    assert!((utility(&steady, PACKET) - speed.powf(0.9)).abs() < 1e-9);
    let odd = interval(10.0, 999, 0, 0.1);
    assert!((utility(&odd, PACKET) - (0.999 * speed).powf(0.9)).abs() < 1e-9, "the last round trip has no partner");
    let mut rising = steady.clone();
    for rtt in &mut rising.rtts[500..] {
        *rtt = 0.103;
    }
    let cost = speed * 11_330.0 * 1_500.0 * 0.02;
    assert!((utility(&rising, PACKET) - (speed.powf(0.9) - cost)).abs() < 1e-3);
    rising.rtts.reverse();
    assert!(utility(&rising, PACKET) > cost, "and a falling round trip is rewarded");
}

#[test]
fn three_percent_of_loss_is_where_it_begins_to_cost() {
    let at = |lost| utility(&interval(10.0, 1_000, lost, 0.1), PACKET);
    assert!(at(0) - at(30) < 1.0);
    assert!(at(30) - at(31) > 3.0);
}

#[test]
fn the_first_rate_is_ten_packets_in_ten_milliseconds() {
    let pcc = Sender::new(Experimental::new(PACKET, RandomStream::new(1, "pcc")), FIRST_RATE);
    assert_eq!(pcc.pacing_rate().map(Rate::as_bits_per_second), Some(11_200_000));
}

fn started() -> Experimental {
    let mut pcc = Experimental::new(PACKET, RandomStream::new(1, "pcc"));
    pcc.on_ack(&ack(0, 100));
    pcc.after_ack(0);
    pcc
}

fn ack(millis: u64, rtt_ms: u64) -> Ack<'static> {
    let now = Instant::ZERO + Duration::from_millis(millis);
    Ack { now, rtt: Some(Duration::from_millis(rtt_ms)), ..window::ack(1) }
}

#[test]
fn the_start_doubles_while_utility_grows_and_both_pairs_have_to_agree() {
    let mut pcc = started();
    let order = pcc.on_result(&interval(FIRST_RATE, 900, 0, 0.1), 0, None);
    assert_eq!(order, Order::Begin, "half a round trip before the interval under way would end");
    assert!((pcc.rate - 2.0 * FIRST_RATE).abs() < 1e-9);
    pcc.on_result(&interval(2.0 * FIRST_RATE, 850, 0, 0.1), 0, None);
    assert!((pcc.rate - FIRST_RATE).abs() < 1e-9);
    assert!(matches!(pcc.mode, Mode::Probing(_)));
    pcc.decide(&[(11.0, 2.0), (10.0, 1.0), (11.0, 1.0), (10.0, 2.0)], 9);
    assert!(matches!(pcc.mode, Mode::Probing(_)));
    pcc.decide(&[(11.0, 2.0), (10.0, 1.0), (10.0, 1.0), (11.0, 3.0)], 9);
    assert!(matches!(pcc.mode, Mode::Decided { previous: (11.0, 3.0), .. }) && pcc.is_up);
    assert!(pcc.rate >= FIRST_RATE + MIN_CHANGE);
    let decided = pcc.rate;
    pcc.follow((decided, 2.0), (11.0, 3.0), 10);
    assert!((pcc.rate - decided / 1.02).abs() < 1e-9 && matches!(pcc.mode, Mode::Probing(_)), "{}", pcc.rate);
}

#[test]
fn a_decision_that_proves_wrong_is_taken_back_by_two_percent_and_no_rate_is_below_two() {
    let mut pcc = started();
    pcc.rate = 2.2;
    pcc.decide(&[(2.3, 1.0), (2.1, 2.0), (2.3, 1.0), (2.1, 2.0)], 9);
    assert_eq!(pcc.rate, MIN_RATE, "the least change of 0.5 would lead below");
    pcc.follow((2.0, 1.0), (2.1, 2.0), 10);
    assert!((pcc.rate - MIN_RATE / 0.98).abs() < 1e-9 && matches!(pcc.mode, Mode::Probing(_)));
}

#[test]
fn the_first_pair_says_how_far() {
    let mut pcc = started();
    pcc.rate = 100.0;
    // Gradients of one and of four.
    pcc.decide(&[(105.0, 11.0), (95.0, 1.0), (95.0, 1.0), (105.0, 41.0)], 9);
    assert_eq!(pcc.rate, 101.0);
}

#[test]
fn an_interval_lasts_for_one_and_a_half_average_round_trips() {
    let mut pcc = started();
    for (rtt_ms, millis) in [(None, 150), (Some(200), 187)] {
        if let Some(rtt_ms) = rtt_ms {
            pcc.on_ack(&ack(1, rtt_ms));
        }
        let Span::Until(end) = pcc.begin(0, Instant::ZERO).1 else { panic!("a time") };
        assert_eq!(end.since(Instant::ZERO).as_millis(), millis);
    }
}

#[test]
fn the_utility_counts_packets_without_the_headers_of_ip_udp_and_udt() {
    let mut pcc = started();
    let result = interval(FIRST_RATE, 900, 0, 0.1);
    pcc.on_result(&result, 0, None);
    // 1500 less 28, and less 16.
    let speed = 900.0 * 1_456.0 * 8.0 / MEBIBIT;
    assert!((pcc.utility - speed.powf(0.9)).abs() < 1e-9, "{}", pcc.utility);
}

#[test]
fn a_round_trip_that_rises_by_a_third_ends_the_start() {
    for (rtt_ms, is_starting) in [(129, true), (131, false)] {
        let mut pcc = started();
        pcc.begin(0, Instant::ZERO);
        pcc.on_ack(&ack(10, rtt_ms));
        pcc.on_result(&interval(FIRST_RATE, 900, 0, 0.1), 5, None);
        assert_eq!(pcc.after_ack(5), if is_starting { Order::GoOn } else { Order::Begin });
        assert_eq!(matches!(pcc.mode, Mode::Starting { .. }), is_starting, "{rtt_ms} ms");
        assert_eq!(pcc.rate, FIRST_RATE * if is_starting { 2.0 } else { 0.5 });
    }
}

#[test]
fn what_is_of_no_interest_is_not_waited_for() {
    let mut pcc = started();
    pcc.mode = Mode::Decided { awaited: 5, previous: (1.0, 1.0) };
    let is_known = |number| {
        let mut interval = numbered(number, 10.0, 100, 0);
        interval.acked = 50;
        pcc.is_known(&interval, None, interval.last_sent)
    };
    assert_eq!([is_known(4), is_known(5)], [true, false]);
}

#[test]
fn losses_count_after_two_round_trips_and_four_deviations() {
    let mut pcc = started();
    // 10 s and 5 s, and one round trip of 100 ms.
    assert!((pcc.loss_delay() - 39.356).abs() < 0.001, "{}", pcc.loss_delay());
    (pcc.udt_rtt, pcc.udt_deviation) = (0.1, 0.043_75);
    let now = Instant::ZERO + Duration::from_secs(9);
    let before = |age_ms| now - Duration::from_millis(age_ms);
    let with = |last_sent, last_lost, lost| {
        let mut interval = interval(10.0, 10, 1, 0.1);
        (interval.last_sent, interval.last_lost, interval.lost) = (last_sent, last_lost, lost);
        pcc.is_known(&interval, None, now)
    };
    let lost = |age_ms| with(now, Some(before(age_ms)), 1);
    assert_eq!([lost(374), lost(376)], [false, true]);
    let unheard_of = |age_ms| with(before(age_ms), None, 0);
    assert_eq!([unheard_of(374), unheard_of(376)], [false, true]);
}
