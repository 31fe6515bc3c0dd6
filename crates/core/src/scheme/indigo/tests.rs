use super::network::tests::{KERNEL, LINEAR_BIAS, LINEAR_WEIGHT, file};
use super::*;
use crate::scheme::window::ack as one_ack;
use crate::units::Duration;

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// A policy that always takes one action.
fn always(action: usize) -> Indigo {
    let network = Network::read(&file(|floats| floats[LINEAR_BIAS + action] = 1.0));
    assert!(network.is_some());
    Indigo::new(Bytes::new(1_400), network)
}

fn send(indigo: &mut Indigo, now: Instant) -> u64 {
    let size = Bytes::new(1_400);
    indigo.on_sent(&Sent { now, size, is_retransmission: false, in_flight: 1, delivered: 0 })
}

fn acknowledge(indigo: &mut Indigo, packet: u64, now: Instant) {
    indigo.on_ack(&Ack { now, packets: &[packet], ..one_ack(1) });
}

/// One packet per millisecond, each acknowledged after `rtt`, from `from` on.
fn run(indigo: &mut Indigo, from: u64, count: u64, rtt: u64) {
    run_until(indigo, from, count, rtt, from + count + rtt);
}

/// The same up to a time, with acks still on their way.
fn run_until(indigo: &mut Indigo, from: u64, count: u64, rtt: u64, end: u64) {
    let mut numbers = VecDeque::new();
    for now in from..end {
        if now >= from + rtt
            && let Some(number) = numbers.pop_front()
        {
            acknowledge(indigo, number, at(now));
        }
        if now < from + count {
            numbers.push_back(send(indigo, at(now)));
        }
    }
}

#[test]
fn a_step_is_longer_than_ten_milliseconds_and_starts_at_the_first_ack() {
    for (action, expected) in [(0, 5), (1, 2), (2, 10), (3, 20), (4, 20)] {
        let mut indigo = always(action);
        run(&mut indigo, 0, 11, 50);
        assert_eq!(indigo.cwnd(), 10, "eleven acks span ten milliseconds");
        let mut indigo = always(action);
        run(&mut indigo, 0, 12, 50);
        assert_eq!((indigo.cwnd(), indigo.action), (expected, action));
    }
    let mut indigo = always(4);
    run(&mut indigo, 0, 23, 50);
    assert_eq!(indigo.cwnd(), 40, "two steps");
    let mut indigo = always(0);
    run(&mut indigo, 0, 23, 50);
    assert_eq!(indigo.cwnd(), 3, "with a window of two and a half a third packet leaves");
}

#[test]
fn the_features_are_delay_above_the_least_and_rates_in_megabits() {
    let mut indigo = always(2);
    run_until(&mut indigo, 0, 200, 50, 200);
    let [delay, delivery, sending] = indigo.shown.map(Option::unwrap_or_default);
    assert!(delay.abs() < 1e-9);
    // 1400 bytes per millisecond are 11.2 Mbit/s.
    assert!((delivery - 11.2).abs() < 0.5 && (sending - 11.2).abs() < 0.5, "{delivery} {sending}");
    run(&mut indigo, 1_000, 100, 70);
    assert!((indigo.shown[0].unwrap_or_default() - 20.0).abs() < 1e-9, "{:?}", indigo.shown);
}

/// Five packets, a millisecond apart, of which the first arrives at 50 ms and the second at `second_ms`.
fn five_packets(indigo: &mut Indigo, second_ms: u64) {
    (0..5).for_each(|millis| assert_eq!(send(indigo, at(millis)), millis));
    for (packet, millis) in [(0, 50), (1, second_ms)] {
        acknowledge(indigo, packet, at(millis));
    }
}

#[test]
fn what_was_sent_counts_over_the_round_trip_and_what_arrived_since_the_last_arrival_before_sending() {
    let mut indigo = always(2);
    five_packets(&mut indigo, 60);
    let [delay, delivery, sending] = indigo.averages.map(Option::unwrap_or_default);
    let ewma = |first: f64, second: f64| 0.875 * first + 0.125 * second;
    // Five packets of 1400 bytes in 50 ms, and four in 59; one arrived in 50 ms, and two in 60.
    assert!((delay - ewma(0.0, 9.0)).abs() < 1e-9, "{delay}");
    assert!((delivery - ewma(0.224, 0.008 * 2_800.0 / 60.0)).abs() < 1e-9, "{delivery}");
    assert!((sending - ewma(1.12, 0.008 * 5_600.0 / 59.0)).abs() < 1e-9, "{sending}");
}

#[test]
fn the_policy_sees_delay_rates_window_and_the_last_action_which_was_to_double_before_the_first() {
    // As above, with the second ack, and the step, at 61 ms; in units of 200 ms, 200 Mbit/s and 5000 packets.
    let delay = 0.125 * 10.0 / 200.0;
    let delivery = (0.875 * 0.224 + 0.125 * 0.008 * 2_800.0 / 61.0) / 200.0;
    let sending = (0.875 * 1.12 + 0.125 * 0.008 * 5_600.0 / 60.0) / 200.0;
    let expected = [delay, delivery, sending, 10.0 / 5_000.0, 0.0, 0.0, 0.0, 0.0, 1.0];
    for (input, value) in expected.into_iter().enumerate() {
        // An input that comes to one gives action 0 a weight of 10 x tanh(tanh(1) / 2) / 2, 1.817, and 2 % less 1.80.
        for (other, action) in [(1.80, 0), (1.835, 2)] {
            let weight = if value == 0.0 { 1.0 } else { 1.0 / value };
            let network = file(|floats| {
                floats[KERNEL + input * 128 + 32] = weight as f32;
                floats[LINEAR_WEIGHT] = 10.0;
                floats[LINEAR_BIAS + 2] = other;
            });
            let mut indigo = Indigo::new(Bytes::new(1_400), Network::read(&network));
            five_packets(&mut indigo, 61);
            let action = if value == 0.0 { 2 } else { action };
            assert_eq!(indigo.action, action, "input {input} is not {value}");
        }
    }
}

#[test]
fn what_an_ack_overtakes_leaves_the_window_and_is_a_sample_all_the_same_if_it_comes() {
    let mut indigo = always(2);
    (0..10).for_each(|_| assert!(indigo.has_room(0) && send(&mut indigo, at(0)) < 10));
    assert!(!indigo.has_room(0), "ten are out");
    acknowledge(&mut indigo, 3, at(50));
    (10..14).for_each(|number| assert!(indigo.has_room(10) && send(&mut indigo, at(50)) == number));
    assert!(!indigo.has_room(0), "4 to 13 are");
    let delivered = indigo.delivered_bytes;
    acknowledge(&mut indigo, 1, at(58));
    assert_eq!(indigo.delivered_bytes, delivered + 1_400);
    assert!((indigo.averages[0].unwrap_or_default() - 0.125 * 8.0).abs() < 1e-9, "eight milliseconds later");
    assert!(!indigo.has_room(0));
}

#[test]
fn one_packet_leaves_for_every_second_of_silence() {
    let mut indigo = always(2);
    while indigo.has_room(0) {
        send(&mut indigo, at(0));
    }
    acknowledge(&mut indigo, 0, at(50));
    assert_eq!(indigo.next_timer(), None, "the window has room");
    send(&mut indigo, at(400));
    assert_eq!(indigo.next_timer(), Some(at(1_050)));
    for second in 1..4 {
        let due = at(1_000 * second + 50);
        assert!(indigo.next_timer() == Some(due) && !indigo.has_room(0));
        indigo.on_timer(due);
        assert!(indigo.next_timer().is_none() && indigo.has_room(100));
        send(&mut indigo, due);
    }
    indigo.on_timer(at(5_000));
    acknowledge(&mut indigo, 4, at(5_000));
    send(&mut indigo, at(5_000));
    assert!(!indigo.has_room(0), "an ack ends it");
}

#[test]
fn the_clock_begins_with_the_first_packet() {
    let micros = |micros| Instant::ZERO + Duration::from_micros(micros);
    for (sent, rtt) in [(0, 10), (500, 11)] {
        let mut indigo = always(2);
        indigo.clock_ms(micros(1_700));
        let packet = send(&mut indigo, micros(1_700 + sent));
        acknowledge(&mut indigo, packet, micros(1_700 + sent + 10_600));
        assert_eq!(indigo.min_rtt_ms, Some(rtt));
    }
}
