use super::*;
use crate::packet::Ecn;
use crate::queue::pie::{MARKED_UP_TO, Pie};
use crate::queue::tests::{packet_of, setup};
use crate::queue::{Queue, Verdicts};
use crate::units::Duration;

const DEFAULT: Gains = Gains {
    target_ns: 15_000_000,
    tupdate_ns: 15_000_000,
    alpha_hz: 0.125,
    beta_hz: 1.25,
    bytemode: false,
    dq_rate_estimator: false,
};

/// The probability after updates at these delays in milliseconds, starting from `start`.
fn after(start: f64, delays_ms: &[u64]) -> f64 {
    let law = DEFAULT.law(&setup());
    let mut vars = Vars { probability: (start * CERTAIN as f64) as u64, ..Vars::default() };
    vars.old_delay = ticks(delays_ms[0] * 1_000_000);
    for delay in &delays_ms[1..] {
        vars.delay = ticks(delay * 1_000_000);
        vars.update(&law, 30_000);
    }
    vars.probability as f64 / CERTAIN as f64
}

#[test]
fn the_probability_moves_by_distance_and_change() {
    // alpha (20 ms - 15 ms) + beta (20 ms - 18 ms), at the full gain.
    let expected = 0.2 + 0.125 * 0.005 + 1.25 * 0.002;
    assert!((after(0.2, &[18, 20]) - expected).abs() < 1e-6);
    // An eighth of it between 0.1 % and 1 %, half of it between 1 % and 10 %.
    for (start, gain) in [(0.05, 0.5), (0.005, 0.125), (0.000_5, 1.0 / 32.0)] {
        let expected = start + gain * (0.125 * 0.005 + 1.25 * 0.002);
        assert!((after(start, &[18, 20]) - expected).abs() < 1e-7, "{start}");
    }
}

#[test]
fn the_probability_grows_by_two_percent_at_most_and_faster_above_a_quarter_second() {
    assert!((after(0.2, &[0, 100]) - 0.22).abs() < 1e-6);
    assert!((after(0.2, &[0, 300]) - 0.24).abs() < 1e-6);
    // What is certain goes on growing, until it overflows.
    assert!((after(1.0, &[0, 300]) - 1.04).abs() < 1e-6);
    assert!((after(255.99, &[0, 300]) - 1.0).abs() < 1e-6);
}

#[test]
fn the_probability_decays_when_the_queue_is_empty_and_never_below_zero() {
    let law = DEFAULT.law(&setup());
    let mut vars = Vars { probability: CERTAIN / 2, ..Vars::default() };
    vars.update(&law, 0);
    let expected = (0.5 - 0.125 * 0.015) * (1.0 - 1.0 / 64.0);
    assert!((vars.probability as f64 / CERTAIN as f64 - expected).abs() < 1e-6);
    for _ in 0..10_000 {
        vars.update(&law, 0);
    }
    assert_eq!((vars.probability, vars.burst), (0, ticks(BURST_NS)), "then the allowance is granted anew");
}

#[test]
fn drops_are_spread_out() {
    // At 5 % the first of 17 packets may go, and one of 170 does.
    let (law, mut random) = (DEFAULT.law(&setup()), setup().random("test"));
    let mut vars = Vars { probability: CERTAIN / 20, delay: ticks(20_000_000), ..Vars::default() };
    let backlog = Bytes::new(20_000);
    let mut drops = || {
        let drops = vars.drops_early(&law, backlog, Bytes::new(1_014), &mut random);
        vars.accumulated *= u64::from(!drops);
        drops
    };
    let dropped: Vec<_> = (0..100_000).filter(|_| drops()).collect();
    let gaps: Vec<_> = dropped.windows(2).map(|pair: &[i32]| pair[1] - pair[0]).collect();
    let (least, most) = (gaps.iter().min().copied(), gaps.iter().max().copied());
    assert!(least >= Some(17) && most <= Some(171), "{least:?} {most:?}");
    let mean = 100_000.0 / dropped.len() as f64;
    assert!((mean - 36.0).abs() < 1.5, "16 and then one in 20: {mean}");
}

/// A state in which early drops are possible.
fn busy(probability: u64) -> Vars {
    Vars { probability, delay: ticks(20_000_000), ..Vars::default() }
}

const BACKLOG: Bytes = Bytes::new(20_000);
const FRAME: Bytes = Bytes::new(1_014);

#[test]
fn a_short_delay_spares_packets_only_while_the_probability_is_below_a_fifth() {
    let (law, mut random) = (DEFAULT.law(&setup()), setup().random("test"));
    let mut drops = |probability: f64, delay_ns| {
        let mut vars = Vars { delay: ticks(delay_ns), ..busy((probability * CERTAIN as f64) as u64) };
        (0..1_000).any(|_| vars.drops_early(&law, BACKLOG, FRAME, &mut random))
    };
    assert!(!drops(0.19, 7_000_000) && drops(0.21, 7_000_000) && drops(0.19, 7_600_000));
}

#[test]
fn less_than_two_frames_are_spared() {
    let (law, mut random) = (DEFAULT.law(&setup()), setup().random("test"));
    for (backlog, drops) in [(2_027, false), (2_028, true)] {
        let found = busy(CERTAIN).drops_early(&law, Bytes::new(backlog), FRAME, &mut random);
        assert_eq!(found, drops, "{backlog}");
    }
}

#[test]
fn with_bytemode_a_packet_counts_by_its_size() {
    let mut random = setup().random("test");
    let law = Gains { bytemode: true, ..DEFAULT }.law(&setup());
    for (size, share) in [(507, 507), (1_014, 1_014)] {
        let mut vars = busy(CERTAIN / 20);
        vars.drops_early(&law, BACKLOG, Bytes::new(size), &mut random);
        assert_eq!(vars.accumulated, share * (CERTAIN / 20 / 1_014));
    }
}

#[test]
fn chance_decides_from_a_sum_of_0_85_on_and_certainty_from_8_5_on() {
    let (law, mut random) = (DEFAULT.law(&setup()), setup().random("test"));
    let mut share = |probability: u64, accumulated| {
        let mut drops = || Vars { accumulated, ..busy(probability) }.drops_early(&law, BACKLOG, FRAME, &mut random);
        (0..1_000).filter(|_| drops()).count()
    };
    let (half, least, most) = (CERTAIN / 2, CERTAIN / 100 * 85, CERTAIN / 2 * 17);
    assert_eq!(share(half, least - half - 1), 0);
    assert!((400..600).contains(&share(half, least - half)));
    assert_eq!((share(1, most - 2), share(1, most - 1)), (0, 1_000));
}

#[test]
fn the_sum_begins_anew_with_a_drop_by_chance_and_with_one_at_the_limit() {
    let (law, mut random) = (DEFAULT.law(&setup()), setup().random("test"));
    let mut vars = Vars { accumulated: CERTAIN, ..busy(CERTAIN) };
    assert!(vars.drops_early(&law, BACKLOG, FRAME, &mut random));
    assert_eq!(vars.accumulated, 0);
    let config = serde_json::from_str(r#"{"limit_packets": 1}"#).expect("a queue");
    let (mut queue, mut verdicts) = (Pie::<()>::new(&config, &setup()), Verdicts::default());
    queue.enqueue(packet_of(0, 0, 1_000), Instant::ZERO, &mut verdicts);
    queue.control.vars.accumulated = CERTAIN;
    queue.enqueue(packet_of(0, 1, 1_000), Instant::ZERO, &mut verdicts);
    assert_eq!((verdicts.drops(), queue.control.vars.accumulated), (1, 0));
}

#[test]
fn a_small_probability_may_grow_by_more_than_two_percent_and_250_ms_are_not_above_a_quarter_second() {
    let expected = 0.05 + 0.5 * (0.125 * 0.085 + 1.25 * 0.1);
    assert!((after(0.05, &[0, 100]) - expected).abs() < 1e-6);
    assert!((after(0.2, &[0, 250]) - 0.22).abs() < 1e-6);
    assert!((after(0.2, &[0, 251]) - 0.24).abs() < 1e-6);
}

#[test]
fn gains_shrink_down_to_a_2048th_below_one_in_a_million() {
    let law = DEFAULT.law(&setup());
    let change = |one_in: u64| {
        Vars { probability: CERTAIN / one_in, ..Vars::default() }.change(&law, ticks(20_000_000), ticks(18_000_000))
    };
    for (one_in, part) in [(200_000, 512.0), (2_000_000, 2_048.0), (20_000_000, 2_048.0)] {
        let found = change(5) as f64 / change(one_in) as f64;
        assert!((found / part - 1.0).abs() < 1e-3, "one in {one_in}: {found}");
    }
}

#[test]
fn the_probability_does_not_decay_while_something_waits() {
    let mut vars = Vars { probability: CERTAIN / 2, ..Vars::default() };
    vars.update(&DEFAULT.law(&setup()), 30_000);
    assert!((vars.probability as f64 / CERTAIN as f64 - (0.5 - 0.125 * 0.015)).abs() < 1e-6);
}

#[test]
fn the_burst_allowance_comes_back_after_two_low_delays() {
    let law = DEFAULT.law(&setup());
    let mut vars = Vars { old_delay: ticks(10_000_000), delay: ticks(5_000_000), ..Vars::default() };
    vars.update(&law, 30_000);
    assert_eq!((vars.probability, vars.burst), (0, 0));
    vars.update(&law, 30_000);
    assert_eq!(vars.burst, ticks(BURST_NS));
}

#[test]
fn a_restart_forgets_all_measurements_and_no_delay() {
    let delays = Vars { delay: 1, old_delay: 2, ..Vars::default() };
    let mut vars = Vars { stamp: Some(3), accumulated: 4, measured: Some(5), rate: 6, ..delays };
    vars.restart();
    assert_eq!(vars, Vars { burst: ticks(BURST_NS), ..delays });
}

#[test]
fn the_rate_is_measured_over_16_kib_of_frames_and_smoothed_by_an_eighth() {
    let law = Gains { dq_rate_estimator: true, ..DEFAULT }.law(&setup());
    let mut control = Control::new(&law);
    let leave = |control: &mut Control, backlog, ms| {
        let packet = packet_of(0, 0, 1_000);
        control.on_leaving(&law, &packet, Bytes::new(backlog), Instant::ZERO + Duration::from_millis(ms));
    };
    leave(&mut control, 16_383, 0);
    assert_eq!(control.vars.measured, None, "too little waits");
    leave(&mut control, 16_384, 0);
    assert_eq!(control.vars.measured, Some(1_014));
    (1..17).for_each(|ms| leave(&mut control, 16_384, ms));
    let first = ((17 * 1_014) << RATE_SHIFT) / ticks(16_000_000);
    assert_eq!((control.vars.rate, control.vars.measured), (first, Some(0)));
    (0..17).for_each(|n| leave(&mut control, 16_384, 18 + 2 * n));
    let second = ((17 * 1_014) << RATE_SHIFT) / ticks(34_000_000);
    assert_eq!(control.vars.rate, first - first / 8 + second / 8);
}

#[test]
fn the_last_packet_leaves_no_delay() {
    let mut vars = Vars::default();
    vars.leave(&DEFAULT.law(&setup()), 500, FRAME, 1_000, 10);
    assert_eq!(vars.delay, 500);
    vars.leave(&DEFAULT.law(&setup()), 500, FRAME, 0, 20);
    assert_eq!(vars.delay, 0);
}

#[test]
fn above_ten_percent_what_could_be_marked_is_dropped() {
    let config = serde_json::from_str(r#"{"ecn": true}"#).expect("a queue");
    for (probability, drops_it) in [(MARKED_UP_TO, false), (MARKED_UP_TO + 1, true)] {
        let (mut queue, mut verdicts) = (Pie::<()>::new(&config, &setup()), Verdicts::default());
        (0..3).for_each(|number| queue.enqueue(packet_of(0, number, 1_000), Instant::ZERO, &mut verdicts));
        queue.control.vars = Vars { accumulated: CERTAIN / 2 * 17, ..busy(probability) };
        let mut packet = packet_of(0, 3, 1_000);
        packet.ecn = Ecn::Ect0;
        queue.enqueue(packet, Instant::ZERO, &mut verdicts);
        assert_eq!((verdicts.drops(), verdicts.marked().len()), (usize::from(drops_it), usize::from(!drops_it)));
    }
}

#[test]
fn probabilities_are_computed_every_whole_millisecond_that_is_no_shorter_before_a_packet_comes_or_leaves() {
    assert_eq!(Gains { tupdate_ns: 15_000_001, ..DEFAULT }.law(&setup()).period, 16);
    let config = serde_json::from_str("{}").expect("a queue");
    let (mut queue, mut verdicts) = (Pie::<()>::new(&config, &setup()), Verdicts::default());
    (0..2).for_each(|number| queue.enqueue(packet_of(0, number, 1_000), Instant::ZERO, &mut verdicts));
    let now = Instant::ZERO + Duration::from_millis(100);
    assert!(queue.control.timer.clone().fire(now));
    queue.dequeue(now, &mut verdicts);
    assert!(!queue.control.timer.fire(now));
}
