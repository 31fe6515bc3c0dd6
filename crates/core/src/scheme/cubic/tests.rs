//! The curve and the end of slow start, against RFC 9438's formula and the kernel's rules.

use super::linux::{Linux, cube_root};
use super::rfc9438::Rfc9438;
use super::{Cubic, Law, SlowStart};
use crate::scheme::hystart::{HyStart, rise};
use crate::scheme::hystart_plus_plus::HyStartPlusPlus;
use crate::scheme::window::{Window, WindowAlgorithm, WindowBased, ack, acked, timeout};
use crate::scheme::{Ack, Acked, Cause, Congestion, Scheme, Timeout, TxStart};
use crate::units::{Duration, Instant};

/// The curve W(t) = 0.4 (t - K)^3 + plateau after a reduction to 0.7 of the plateau.
struct Vector {
    plateau: u32,
    k: f64,
    /// Seconds, and the window in packets then.
    expected: [(u64, f64); 6],
}

const VECTORS: [Vector; 3] = [
    Vector {
        plateau: 100,
        k: 4.2172,
        expected: [(1, 86.68), (2, 95.64), (4, 100.00), (8, 121.65), (12, 288.57), (16, 754.35)],
    },
    Vector {
        plateau: 1_000,
        k: 9.0856,
        expected: [(1, 788.56), (2, 857.70), (4, 947.39), (8, 999.49), (12, 1_009.90), (16, 1_132.23)],
    },
    Vector {
        plateau: 10_000,
        k: 19.5743,
        expected: [(1, 7_436.7), (2, 7_828.8), (4, 8_488.9), (8, 9_379.8), (12, 9_826.2), (16, 9_981.7)],
    },
];

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn one_acked(now: Instant, rtt: Duration, first_unacked: u64, next_sequence: u64) -> Acked {
    acked(&Ack { now, rtt: Some(rtt), srtt: rtt, first_unacked, next_sequence, ..ack(1) })
}

/// A window that has just left slow start at `cwnd`.
fn window(cwnd: u32) -> Window {
    let mut window = Window::initial();
    window.cwnd = cwnd;
    window.ssthresh = cwnd;
    window
}

/// The window after each second, when a window of acks arrives every 10 ms, spread evenly.
fn follow(mut window: Window, seconds: u64, mut grow: impl FnMut(&mut Window, Instant)) -> Vec<f64> {
    let mut after_second = vec![f64::from(window.cwnd)];
    for second in 0..seconds {
        for step in 0..100 {
            let acks = u64::from(window.cwnd);
            for n in 0..acks {
                let nanos = second * 1_000_000_000 + step * 10_000_000 + n * 10_000_000 / acks;
                grow(&mut window, Instant::from_nanos(nanos));
            }
        }
        after_second.push(f64::from(window.cwnd));
    }
    after_second
}

/// `tolerance` in packets, by the window.
fn assert_on_curve(windows: &[f64], expected: &[(u64, f64)], tolerance: impl Fn(f64) -> f64) {
    for (second, target) in expected {
        let reached = windows[*second as usize];
        assert!((reached - target).abs() <= tolerance(*target), "at {second} s: {reached}, not {target}");
    }
}

#[test]
fn linux_follows_the_curve() {
    for Vector { plateau, k, expected } in VECTORS {
        // Without the Reno-friendly region, which a round trip of 10 ms would lead into.
        let mut law = Linux::new(true, false);
        let start = law.reduce(plateau, 0.7);
        assert!((f64::from(start) / (0.7 * f64::from(plateau)) - 1.0).abs() < 0.001);
        let windows = follow(window(start), 16, |window, now| {
            let count = law.packets_per_increase(window.cwnd, 1, now, ms(10));
            window.grow_one_per(count, 1);
        });
        // As exact as the kernel's cube root, which is all of the difference between the two laws here.
        assert!((law.curve().1 / k - 1.0).abs() < 0.002, "K {} for {plateau}", law.curve().1);
        assert_on_curve(&windows, &expected, |window| 0.01 * window);
    }
}

#[test]
fn rfc9438_follows_the_curve() {
    for Vector { plateau, k, expected } in VECTORS {
        let mut law = Rfc9438::new(true, false);
        let start = law.reduce(plateau, 0.7);
        let windows = follow(window(start), 16, |window, now| law.grow(window, 1, now, ms(10)));
        assert!((law.curve().1 - k).abs() < 1e-4, "K {} for {plateau}", law.curve().1);
        assert_on_curve(&windows, &expected, |_| 1.0);
    }
}

/// The mean window where every so many packets one is lost; the last of twelve such cycles. The first begins at `peak`:
/// the plateau is so flat that from elsewhere a window of whole packets would not get there.
fn mean_window(law: &mut Rfc9438, peak: f64, rtt: Duration, packets_per_loss: u32) -> f64 {
    let mut window = window(peak.round() as u32);
    window.cwnd = law.reduce(window.cwnd, 0.7);
    let mut now = Instant::ZERO;
    let mut length = Duration::ZERO;
    for _ in 0..12 {
        let start = now;
        for _ in 0..packets_per_loss {
            law.grow(&mut window, 1, now, rtt);
            now += Duration::from_nanos(rtt.as_nanos() / u64::from(window.cwnd));
        }
        length = now.since(start);
        window.cwnd = law.reduce(window.cwnd, 0.7);
    }
    f64::from(packets_per_loss) * rtt.as_secs_f64() / length.as_secs_f64()
}

#[test]
fn the_mean_window_is_that_of_the_response_function() {
    // RFC 9438, section 5.1, with C = 0.4; and Reno's sqrt(3 / 2p) where that is more and CUBIC is to be friendly.
    let cubic = |p: f64, rtt: f64| (0.4_f64 * 3.7 / 1.2).powf(0.25) * (rtt / p).powf(0.75);
    let cases = [
        (100, 1_000, false, 33.3),
        (100, 1_000, true, 38.7),
        (100, 10_000, false, 187.0),
        (100, 100_000, false, 1_054.0),
        (100, 1_000_000, false, 5_926.0),
        (10, 1_000_000, false, 1_054.0),
        (10, 1_000_000, true, 1_225.0),
    ];
    for (rtt_ms, packets_per_loss, is_friendly, expected) in cases {
        let p = 1.0 / f64::from(packets_per_loss);
        let formula = if is_friendly { (1.5 / p).sqrt() } else { cubic(p, rtt_ms as f64 / 1e3) };
        assert!((formula / expected - 1.0).abs() < 0.003, "{formula}, not {expected}");
        let found = mean_window(&mut Rfc9438::new(false, is_friendly), expected / 0.925, ms(rtt_ms), packets_per_loss);
        // A window is whole packets, and early in a cycle the cubic curve is above Reno's.
        let tolerance = if is_friendly { 0.04 } else { 0.02 } * expected + 1.0;
        let is_near = (found - expected).abs() < tolerance;
        assert!(is_near, "{rtt_ms} ms, {packets_per_loss} packets: {found}, not {expected}");
    }
}

#[test]
fn fast_convergence_gives_up_an_eighth_more() {
    let mut with = Linux::new(true, true);
    with.reduce(1_000, 0.7);
    with.reduce(800, 0.7);
    assert!((with.curve().0 - 680.0).abs() < 1e-9);
    let mut without = Linux::new(false, true);
    without.reduce(1_000, 0.7);
    without.reduce(800, 0.7);
    assert!((without.curve().0 - 800.0).abs() < 1e-9);
    assert_eq!([4, 3, 2, 1].map(|cwnd| without.reduce(cwnd, 0.7)), [2; 4], "at least two packets are left");
    for (has_fast_convergence, w_max) in [(true, 680.0), (false, 800.0)] {
        let mut law = Rfc9438::new(has_fast_convergence, true);
        law.reduce(1_000, 0.7);
        law.reduce(800, 0.7);
        assert!((law.curve().0 - w_max).abs() < 1e-9);
    }
}

#[test]
fn linux_looks_a_round_trip_ahead() {
    let mut law = Linux::new(true, false);
    law.reduce(1_000, 0.7);
    // A second after its start the curve is at 788.56.
    assert_eq!(law.packets_per_increase(700, 1, Instant::ZERO + ms(1), ms(1_000)), 700 / 88);
}

#[test]
fn what_was_acknowledged_before_a_reduction_does_not_count_for_renos_window() {
    let mut law = Linux::new(true, true);
    law.packets_per_increase(100, 180, Instant::ZERO + ms(1), ms(100));
    law.reduce(100, 0.7);
    // 70 packets x 1.875 = 131 make one.
    law.packets_per_increase(70, 1, Instant::ZERO + ms(200), ms(100));
    assert!((law.curve().2 - 70.0).abs() < 1e-9, "{}", law.curve().2);
}

#[test]
fn renos_window_grows_by_a_whole_packet_once_it_is_what_it_was_before_the_reduction() {
    let mut law = Rfc9438::new(true, true);
    let mut window = window(law.reduce(10, 0.7));
    let (mut before, mut growths) = (7.0, Vec::new());
    while before < 12.0 {
        law.grow(&mut window, 7, Instant::ZERO + ms(1), ms(100));
        let after = law.curve().2;
        growths.push((before, (after - before) * before / 7.0));
        before = after;
    }
    for (before, growth) in growths {
        let expected = if before < 10.0 { 0.529_4 } else { 1.0 };
        assert!((growth - expected).abs() < 1e-3, "{growth} at {before}");
    }
}

#[test]
fn by_the_rfc_a_window_grows_by_half_a_round_trip_at_most() {
    let mut law = Rfc9438::new(true, false);
    law.reduce(1_000, 0.7);
    let mut window = window(10);
    law.grow(&mut window, 0, Instant::ZERO, ms(100));
    law.grow(&mut window, 10, Instant::ZERO + Duration::from_secs(100), ms(100));
    assert_eq!(window.cwnd, 15);
}

#[test]
fn idle_time_does_not_count_and_a_timeout_forgets_curve_and_round_trip() {
    for mut law in [Law::Linux(Linux::new(true, true)), Law::Rfc9438(Rfc9438::new(true, true))] {
        match &mut law {
            Law::Linux(law) => law.reduce(100, 0.7),
            Law::Rfc9438(law) => law.reduce(100, 0.7),
        };
        let mut cubic = Cubic { law, slow_start: SlowStart::Standard, min_rtt: Some(ms(10)), has_abe: false };
        let mut window = window(70);
        cubic.grow(&mut window, &Ack { now: Instant::ZERO + ms(1_000), ..ack(1) });
        let later = Instant::ZERO + ms(10_000);
        for (idle, epoch) in [(4_000, 5_000), (6_000, 10_000)] {
            let start = TxStart { now: later, idle: ms(idle), delivered: 0, next_sequence: 0, is_app_limited: true };
            cubic.on_tx_start(&start);
            assert_eq!(cubic.epoch_start(), Some(Instant::ZERO + ms(epoch)), "never later than now");
        }
        cubic.on_timeout(&timeout(true));
        assert_eq!((cubic.epoch_start(), cubic.min_rtt), (None, None));
        let mut w_max = None;
        cubic.telemetry(&mut |name, value| w_max = w_max.or((name == "w_max").then_some(value)));
        assert_eq!(w_max, Some(0.0));
    }
}

#[test]
fn linux_counts_idle_time_and_the_first_second_in_jiffies() {
    let micros = |micros| Instant::ZERO + Duration::from_micros(micros);
    let mut law = Linux::new(true, true);
    law.packets_per_increase(100, 1, micros(1_000_700), ms(10));
    law.shift_epoch(micros(1_010_600), Duration::from_micros(5_400));
    assert_eq!(law.epoch_start(), Some(micros(1_005_000)), "from jiffy 1005 to 1010");
    let slow_start = SlowStart::HyStart(HyStart::new(false));
    let mut cubic = Cubic { law: Law::Linux(law), slow_start, min_rtt: None, has_abe: false };
    for (now, found) in [(2_004_999, None), (2_005_000, Some(Duration::from_micros(9_000)))] {
        cubic.on_acked(&mut window(100), &one_acked(micros(now), Duration::from_nanos(9_000_900), 1, 2));
        assert_eq!(cubic.min_rtt, found, "at {now} us");
    }
}

#[test]
fn before_the_first_loss_linux_grows_by_a_twentieth() {
    let mut law = Linux::new(true, false);
    assert_eq!(law.packets_per_increase(100, 1, Instant::ZERO + ms(1), ms(100)), 20);
}

#[test]
fn growth_never_exceeds_half_a_window() {
    let mut law = Linux::new(true, true);
    law.reduce(1_000, 0.7);
    law.packets_per_increase(10, 1, Instant::ZERO + ms(1), ms(100));
    assert_eq!(law.packets_per_increase(10, 1, Instant::ZERO + Duration::from_secs(100), ms(100)), 2);
}

#[test]
fn the_cube_root_is_the_kernels() {
    /// One packet, as the curve counts (`cube_factor`).
    const PACKET: u64 = (1 << 40) / 410;
    assert_eq!([0, 1, 8, 27, 63].map(cube_root), [0, 1, 2, 3, 4]);
    let roots = [(1, 1_388), (2, 1_750), (3, 2_003), (10, 2_991), (100, 6_451), (1_000, 13_897), (100_000, 64_487)];
    for (packets, root) in roots {
        assert_eq!(cube_root(packets * PACKET), root);
    }
    let mut sum = 0;
    for packets in 1..100_000 {
        let root = cube_root(packets * PACKET);
        let exact = ((packets * PACKET) as f64).cbrt();
        assert!((root as f64 / exact - 1.0).abs() < 0.002, "{packets}");
        sum += root;
    }
    assert_eq!(sum, 4_836_312_482, "of the kernel's formula in another language");
    assert!(cube_root(u64::MAX) > 2_600_000);
}

#[test]
fn a_rising_round_trip_ends_slow_start() {
    let mut hystart = HyStart::new(false);
    let mut window = Window::initial();
    window.cwnd = 16;
    // Acks 5 ms apart are no train; 100 ms + 12.5 ms is the limit, after eight samples of a round.
    for n in 0..9 {
        let now = Instant::ZERO + ms(1_000 + 5 * n);
        assert!(window.is_in_slow_start(), "after {n} samples");
        hystart.on_acked(&mut window, &one_acked(now, ms(113), 1_000 + n, 2_000), ms(113), ms(100));
    }
    assert_eq!(window.ssthresh, 16);
}

#[test]
fn the_rise_that_counts_is_an_eighth_within_4_and_16_ms() {
    assert_eq!([10, 40, 400].map(|millis| rise(ms(millis))), [4, 5, 16].map(ms));
}

#[test]
fn slow_start_stays_ended_if_the_loss_that_the_same_ack_shows_is_undone() {
    let slow_start = SlowStart::HyStart(HyStart::new(false));
    let law = Law::Linux(Linux::new(true, true));
    let mut scheme = WindowBased::new(Cubic { law, slow_start, min_rtt: Some(ms(100)), has_abe: false });
    (0..90).for_each(|_| scheme.on_ack(&ack(1)));
    assert_eq!((scheme.cwnd(), scheme.ssthresh()), (100, None));
    (0..9).for_each(|n| scheme.on_acked(&one_acked(Instant::ZERO + ms(1_000 + 5 * n), ms(113), 1_000 + n, 2_000)));
    let now = Instant::ZERO + ms(1_040);
    scheme.on_congestion(&Congestion { now, cause: Cause::Loss, in_flight: 90, is_timer: false });
    assert_eq!(scheme.ssthresh(), Some(70));
    scheme.on_undo(now);
    assert_eq!((scheme.cwnd(), scheme.ssthresh()), (100, Some(100)));
}

#[test]
fn after_a_timeout_the_first_round_lasts_until_the_losses_are_repaired() {
    let slow_start = SlowStart::HyStart(HyStart::new(false));
    let law = Law::Linux(Linux::new(true, true));
    let mut cubic = Cubic { law, slow_start, min_rtt: None, has_abe: false };
    let mut window = Window::initial();
    cubic.on_timeout(&Timeout { next_sequence: 1_500, ..timeout(true) });
    window.cwnd = 100;
    // A train of 400 ms, and then another: only what is acknowledged beyond 1500 begins a round in which it counts.
    for (first_unacked, may_end) in [(1_500, false), (1_501, true)] {
        for n in 0..400 {
            let now = Instant::ZERO + ms(1_000 + first_unacked + n);
            cubic.on_acked(&mut window, &one_acked(now, ms(100), first_unacked, 3_000));
        }
        assert_eq!(!window.is_in_slow_start(), may_end);
    }
}

#[test]
fn a_small_rise_or_a_small_window_does_not() {
    for (cwnd, rtt) in [(100, 112), (15, 300)] {
        let mut hystart = HyStart::new(false);
        let mut window = Window::initial();
        window.cwnd = cwnd;
        for n in 0..20 {
            let now = Instant::ZERO + ms(1_000 + 5 * n);
            hystart.on_acked(&mut window, &one_acked(now, ms(rtt), 1_000 + n, 2_000), ms(rtt), ms(100));
        }
        assert!(window.is_in_slow_start());
    }
}

#[test]
fn an_ack_train_of_half_the_delay_ends_slow_start() {
    for (is_paced, limit_ms) in [(false, 50), (true, 101)] {
        let mut hystart = HyStart::new(is_paced);
        let mut window = Window::initial();
        window.cwnd = 100;
        let mut length = 0;
        while window.is_in_slow_start() {
            let now = Instant::ZERO + ms(1_000 + length);
            hystart.on_acked(&mut window, &one_acked(now, ms(100), 1_000, 2_000), ms(100), ms(100));
            length += 1;
        }
        assert!(((limit_ms)..=(limit_ms + 3)).contains(&length), "paced {is_paced}: {length} ms");
    }
}

#[test]
fn acks_more_than_two_milliseconds_apart_are_no_train() {
    // The clock has microseconds.
    for (spacing_ns, is_train) in [(2_000_000, true), (2_000_009, true), (2_001_000, false)] {
        let mut hystart = HyStart::new(false);
        let mut window = Window::initial();
        window.cwnd = 100;
        for n in 0..100 {
            let now = Instant::ZERO + ms(1_000) + Duration::from_nanos(spacing_ns * n);
            hystart.on_acked(&mut window, &one_acked(now, ms(100), 1_000, 2_000), ms(100), ms(100));
        }
        assert_eq!(!window.is_in_slow_start(), is_train);
    }
}

#[test]
fn hystart_plus_plus_slows_down_and_then_stops() {
    let mut hystart = HyStartPlusPlus::new(false);
    let mut window = Window::initial();
    window.cwnd = 100;
    let mut round = |window: &mut Window, number: u64, rtt: u64| {
        for n in 0..10 {
            hystart.on_acked(
                window,
                &one_acked(Instant::ZERO + ms(number * 200 + n), ms(rtt), number * 100 + n + 1, number * 100 + 100),
                ms(rtt),
            );
        }
        (0..8).map(|_| hystart.growth(1)).sum::<u32>()
    };
    assert_eq!(round(&mut window, 0, 100), 8, "slow start");
    assert_eq!(round(&mut window, 1, 113), 2, "conservative: a quarter");
    assert_eq!(round(&mut window, 2, 112), 8, "a false alarm");
    assert_eq!(round(&mut window, 3, 130), 2);
    for number in 4..8 {
        assert_eq!(round(&mut window, number, 130), 2);
        assert!(window.is_in_slow_start());
    }
    assert_eq!(round(&mut window, 8, 130), 8, "done after five rounds");
    assert_eq!(window.ssthresh, 100);
}
