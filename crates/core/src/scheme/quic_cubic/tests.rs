//! The curve, the end of slow start, and one reduction per window.

use super::*;
use crate::scheme::window::{ack as one_ack, timeout};
use crate::units::{Bytes, Instant};

const PACKET: u64 = 1_011;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + ms(millis)
}

fn flow() -> QuicCubic {
    flow_after(None)
}

/// A flow that has been told a round trip before it sends.
fn flow_after(first_rtt: Option<Duration>) -> QuicCubic {
    QuicCubic::new(
        PacketSize::of(Bytes::new(PACKET + 28), Bytes::new(PACKET)),
        10 * MSS,
        Curve::new(2.0, Generation::Current),
        RoundTrips::with_first(first_rtt),
        Clock::default(),
    )
}

/// Sends what the window allows, and returns the numbers.
fn fill(flow: &mut QuicCubic, now: Instant) -> Vec<u64> {
    let mut numbers = Vec::new();
    while flow.has_room(0) {
        let sent = Sent { now, size: Bytes::new(PACKET), is_retransmission: false, in_flight: 1, delivered: 0 };
        numbers.push(flow.on_sent(&sent));
    }
    numbers
}

/// One packet arrives after `rtt`.
fn acked(flow: &mut QuicCubic, number: u64, rtt: Duration, now: Instant) {
    let ack = Ack { now, rtt: Some(rtt), srtt: rtt, in_flight: 1_000, packets: &[number], ..one_ack(1) };
    flow.on_ack(&ack);
}

fn lose(flow: &mut QuicCubic, number: u64) {
    flow.on_lost(&Lost { now: Instant::ZERO, size: Bytes::new(PACKET), packet: number, is_timer: false });
}

#[test]
fn factors_are_those_of_two_connections() {
    let mut curve = Curve::new(2.0, Generation::Current);
    assert_eq!(curve.after_loss(100_000), 85_000);
    // Well below the last maximum: the plateau goes down too, by (2 - 1 + 0.85) / 2.
    assert_eq!(curve.after_loss(80_000), 68_000);
    assert!((curve.state().0 - 74_000.0).abs() < 1.0, "{}", curve.state().0);
    // Less than a packet below it is as good as the last maximum.
    curve.after_loss(74_000 - MSS);
    assert!((curve.state().0 - (74_000.0 - MSS as f64)).abs() < 1.0, "{}", curve.state().0);
    let mut one = Curve::new(1.0, Generation::Current);
    assert_eq!(one.after_loss(100_000), 70_000);
}

#[test]
fn in_2017_the_plateau_falls_further_and_at_once_and_the_curve_has_steps() {
    let mut curve = Curve::new(2.0, Generation::Of2017);
    assert_eq!(curve.after_loss(100 * MSS), 85 * MSS);
    // Not a packet below the last maximum, and to 0.85 of it.
    assert_eq!(curve.after_loss(100 * MSS - 1), 124_099);
    assert!((curve.state().0 - 124_099.0).abs() < 1.0, "{}", curve.state().0);
    let mut windows = [Generation::Current, Generation::Of2017].map(|generation| {
        let mut curve = Curve::new(2.0, generation);
        let mut window = curve.after_loss(1_000 * MSS);
        // K is 7.21 s; 5 s before it the curve is 0.4004 x 5.0^3 = 50 packets below the plateau.
        for second in 0..2 {
            (0..1_000).for_each(|step| window = curve.after_ack(MSS, window, ms(10), at(second * 1_000 + step)));
        }
        window
    });
    assert!(windows[1].is_multiple_of(MSS) && !windows[0].is_multiple_of(MSS), "{windows:?}");
    windows.sort_unstable();
    assert!(windows[1] - windows[0] < MSS, "{windows:?}");
}

#[test]
fn the_window_follows_the_curve() {
    // 1000 MSS, one loss, a round trip of 10 ms: K = cbrt(150 / 0.4004) = 7.21 s.
    let mut curve = Curve::new(2.0, Generation::Current);
    let mut window = curve.after_loss(1_000 * MSS);
    let plateau = 1_000.0;
    for second in 0..9_u64 {
        let t = second as f64 + 0.01;
        let expected = plateau + 410.0 / 1_024.0 * (t - 7.2083).powi(3);
        let reached = window as f64 / MSS as f64;
        assert!((reached / expected - 1.0).abs() < 0.01, "{second} s: {reached}, not {expected}");
        // A window of acks every 10 ms is more than enough to follow.
        for step in 0..1_000 {
            window = curve.after_ack(MSS, window, ms(10), at(1_000 + second * 1_000 + step));
        }
    }
    assert!((curve.state().1 - 7.2083).abs() < 0.001, "{}", curve.state().1);
}

#[test]
fn the_curve_is_looked_at_a_round_trip_ahead_and_grows_by_half_of_what_is_acknowledged() {
    // K = 7.208 s; a second after its start the curve is 0.4004 x 6.208^3 = 95.79 packets below the plateau.
    for (acked, expected) in [(200, 1_320_141), (20, 860 * MSS)] {
        let mut curve = Curve::new(2.0, Generation::Current);
        let window = curve.after_loss(1_000 * MSS);
        assert_eq!(curve.after_ack(acked * MSS, window, ms(1_000), at(0)), expected);
    }
}

/// Windows and Reno's windows after so many acks, one a millisecond, and plateaus and windows after two losses.
type Course = ([(u64, f64); 6], [(u64, f64); 2]);

fn course(connections: f32, generation: Generation) -> Course {
    let mut curve = Curve::new(connections, generation);
    let mut window = curve.after_loss(1_000 * MSS);
    let mut passed = 0;
    let windows = [1, 2, 1_000, 5_000, 8_000, 12_000].map(|acks| {
        for millis in passed..acks {
            window = curve.after_ack(MSS, window, ms(10), at(millis));
        }
        passed = acks;
        (window, curve.state().2)
    });
    window -= 5_000;
    let losses = [(); 2].map(|()| {
        window = curve.after_loss(window);
        (window, curve.state().0)
    });
    (windows, losses)
}

#[test]
fn windows_are_those_of_the_original_to_the_byte() {
    // What `CubicBytes` of google/quiche 790af403 and of google/proto-quic 77961f1a computes.
    let one = [
        (1_022_730, 1_022_001.0),
        (1_023_460, 1_022_002.0),
        (1_152_404, 1_023_000.0),
        (1_420_495, 1_027_000.0),
        (1_459_278, 1_030_000.0),
        (1_474_655, 1_034_000.0),
    ];
    assert_eq!(course(1.0, Generation::Current), (one, [(1_028_758, 1_469_655.0), (720_130, 874_444.0)]));
    let two = [
        (1_241_730, 1_241_001.0),
        (1_242_059, 1_241_002.0),
        (1_320_734, 1_242_000.0),
        (1_453_783, 1_246_000.0),
        (1_460_300, 1_249_000.0),
        (1_524_680, 1_253_000.0),
    ];
    assert_eq!(course(2.0, Generation::Current), (two, [(1_291_728, 1_519_680.0), (1_097_968, 1_194_848.0)]));
    // A result holds for 30 ms while the window stays, so that what Reno gains is rounded down less often.
    let two_in_2017 = [
        (1_241_730, 1_241_001.0),
        (1_242_460, 1_241_002.0),
        (1_321_300, 1_242_617.0),
        (1_454_160, 1_249_126.0),
        (1_461_460, 1_254_078.0),
        (1_524_240, 1_260_598.0),
    ];
    assert_eq!(course(2.0, Generation::Of2017), (two_in_2017, [(1_291_354, 1_519_240.0), (1_097_650, 1_097_650.0)]));
}

/// 300 packets of 1472 bytes, one every 0.8 ms, come back 40 ms later, one every millisecond and up to 14 microseconds;
/// the 150th is lost. After some of the acks: window in bytes, bits per second.
fn window_and_rate(generation: Generation) -> [(u64, u64, u64); 8] {
    let size = PacketSize::of(Bytes::new(1_500), Bytes::new(1_472));
    let mut flow = QuicCubic::new(size, 32 * MSS, Curve::new(2.0, generation), RoundTrips::default(), Clock::default());
    let micros = |count| Instant::ZERO + Duration::from_micros(count);
    let mut sent = 0;
    let mut ack_up_to = |last: u64, first: u64| {
        for number in (first..=last).filter(|number| *number != 150) {
            let now = micros(39_000 + 1_000 * number + 7 * (number % 3));
            while sent < 300 && micros(800 * sent) < now {
                let size = Bytes::new(1_472);
                sent += 1;
                let now = micros(800 * (sent - 1));
                flow.on_sent(&Sent { now, size, is_retransmission: false, in_flight: 1, delivered: 0 });
            }
            if number == 153 {
                flow.on_lost(&Lost { now, size: Bytes::new(1_472), packet: 150, is_timer: false });
            }
            flow.on_ack(&Ack { now, rtt: None, in_flight: 1_000, packets: &[number], ..one_ack(1) });
        }
        (last, flow.window, flow.pacing_rate().map_or(0, Rate::as_bits_per_second))
    };
    let mut before = 0;
    [1, 2, 10, 60, 152, 153, 200, 300].map(|last| {
        let state = ack_up_to(last, before + 1);
        before = last;
        state
    })
}

#[test]
fn slow_start_its_end_and_a_reduction_are_those_of_the_original_to_the_byte() {
    // What `TcpCubicSenderBytes` of both revisions has after these events.
    let common =
        [(1, 48_180, 19_268_624), (2, 49_640, 19_839_632), (10, 61_320, 24_030_560), (60, 131_400, 26_065_730)];
    let current = [
        (152, 131_505, 19_153_350),
        (153, 111_779, 16_228_780),
        (200, 111_779, 14_256_430),
        (300, 111_779, 11_359_070),
    ];
    let in_2017 = [
        (152, 134_320, 19_563_340),
        (153, 114_172, 16_576_210),
        (200, 114_172, 14_561_640),
        (300, 114_172, 11_602_250),
    ];
    for (generation, later) in [(Generation::Current, current), (Generation::Of2017, in_2017)] {
        assert_eq!(window_and_rate(generation)[..], [common, later].concat());
    }
}

#[test]
fn a_window_that_does_not_limit_ends_the_epoch() {
    let mut flow = flow();
    (flow.window, flow.ssthresh) = (100 * MSS, 100 * MSS);
    flow.curve.after_loss(200 * MSS);
    assert!(flow.is_limiting(97 * MSS) && !flow.is_limiting(97 * MSS - 1), "three packets of room are a burst");
    let numbers = fill(&mut flow, at(0));
    acked(&mut flow, numbers[0], ms(100), at(100));
    assert!(flow.curve.state().1 > 0.0);
    flow.window = 200 * MSS;
    acked(&mut flow, numbers[1], ms(100), at(101));
    assert!(flow.curve.state().1 < f64::EPSILON);
}

#[test]
fn where_reno_is_faster_it_grows_by_nearly_a_packet_per_round() {
    // A plateau of 20 MSS and a round trip of 10 ms: the curve is slow.
    let mut curve = Curve::new(2.0, Generation::Current);
    let mut window = curve.after_loss(20 * MSS);
    let mut now = Instant::ZERO;
    for round in 0..10 {
        let before = window;
        let mut acked = 0;
        while acked < before {
            acked += MSS;
            now += Duration::from_micros(10_000 * MSS / before);
            window = curve.after_ack(MSS, window, ms(10), now);
        }
        let growth = (window - before) as f64 / MSS as f64;
        assert!((0.9..1.1).contains(&growth), "round {round}: {growth}");
    }
}

#[test]
fn slow_start_ends_when_eight_samples_of_a_round_have_risen() {
    let mut flow = flow_after(Some(ms(100)));
    flow.window = 40 * MSS;
    let numbers = fill(&mut flow, at(0));
    for (index, number) in numbers.iter().take(8).enumerate() {
        assert!(flow.is_in_slow_start(), "after {index} samples");
        // 12.5 ms above the minimum is the limit.
        acked(&mut flow, *number, ms(113), at(113));
    }
    assert!(!flow.is_in_slow_start());
    assert_eq!(flow.ssthresh, 40 * MSS + 7 * MSS);
}

#[test]
fn a_low_sample_among_the_first_eight_keeps_slow_start() {
    let mut flow = flow_after(Some(ms(100)));
    flow.window = 40 * MSS;
    let numbers = fill(&mut flow, at(0));
    for (index, number) in numbers.iter().enumerate() {
        let rtt = if index == 0 { 100 } else { 113 };
        acked(&mut flow, *number, ms(rtt), at(rtt));
    }
    assert!(flow.is_in_slow_start());
}

#[test]
fn a_first_round_trip_below_that_of_the_path_ends_slow_start_with_the_eighth_ack() {
    for (first, ends) in [(None, false), (Some(ms(50)), true), (Some(ms(95)), false)] {
        let mut flow = flow_after(first);
        let numbers = fill(&mut flow, at(0));
        for number in numbers.iter().take(8) {
            acked(&mut flow, *number, ms(100), at(100));
            fill(&mut flow, at(100));
        }
        assert_eq!(flow.ssthresh == 17 * MSS, ends, "{first:?}: {}", flow.ssthresh);
    }
}

#[test]
fn slow_start_adds_an_mss_per_packet_and_only_while_the_window_limits() {
    let mut flow = flow();
    let numbers = fill(&mut flow, at(0));
    assert_eq!(numbers.len(), 15, "14600 bytes are 14.4 packets");
    for number in &numbers {
        acked(&mut flow, *number, ms(100), at(100));
    }
    // Nothing was sent meanwhile: with less than half of the window in flight it stays.
    let grown = (flow.window - 10 * MSS) / MSS;
    assert!((4..9).contains(&grown), "{grown}");
}

#[test]
fn a_window_of_losses_is_one_reduction_and_a_lost_retransmission_is_the_next() {
    let mut flow = flow();
    flow.window = 100 * MSS;
    flow.ssthresh = flow.window;
    let numbers = fill(&mut flow, at(0));
    lose(&mut flow, numbers[0]);
    lose(&mut flow, numbers[1]);
    acked(&mut flow, numbers[2], ms(100), at(100));
    assert_eq!((flow.window, flow.ssthresh), (85 * MSS, 85 * MSS));
    lose(&mut flow, numbers[3]);
    acked(&mut flow, numbers[4], ms(100), at(100));
    assert_eq!(flow.window, 85 * MSS);
    let later = fill(&mut flow, at(110));
    lose(&mut flow, later[0]);
    acked(&mut flow, later[1], ms(100), at(210));
    assert_eq!(flow.window, 85 * MSS * 85 / 100);
}

#[test]
fn the_window_is_in_bytes_whatever_the_packets() {
    let mut flow = flow();
    let mut counted = 0;
    for payload in [1_387, 1_387, 187].into_iter().cycle() {
        if !flow.has_room(0) {
            break;
        }
        counted += payload;
        flow.on_sent(&Sent {
            now: at(0),
            size: Bytes::new(payload),
            is_retransmission: false,
            in_flight: 1,
            delivered: 0,
        });
    }
    assert_eq!(
        (flow.flight.newest(), counted),
        (14, 14_618),
        "the last one leaves while less than 14600 bytes are in flight"
    );
}

#[test]
fn a_reduction_sends_in_proportion_and_then_in_slow_start() {
    let mut reduction = Reduction::new(100 * PACKET);
    assert!(reduction.may_send(85 * PACKET, 99 * PACKET), "the first one always");
    for _ in 0..20 {
        reduction.on_acked(PACKET);
    }
    let mut sent = 0;
    while reduction.may_send(85 * PACKET, 90 * PACKET) {
        reduction.on_sent(PACKET);
        sent += 1;
    }
    assert_eq!(sent, 17);
    while reduction.may_send(85 * PACKET, 80 * PACKET) {
        reduction.on_sent(PACKET);
        sent += 1;
    }
    assert_eq!(sent, 49, "20 packets and 20 MSS in packets of 1011 bytes");
}

#[test]
fn a_reduction_counts_from_what_was_in_flight_with_what_was_lost() {
    let mut flow = flow();
    (flow.window, flow.ssthresh) = (100 * MSS, 100 * MSS);
    let numbers = fill(&mut flow, at(0));
    assert_eq!(numbers.len(), 145);
    numbers[..10].iter().for_each(|number| lose(&mut flow, *number));
    let sent: usize = numbers[10..20]
        .iter()
        .map(|number| {
            acked(&mut flow, *number, ms(100), at(100));
            fill(&mut flow, at(100)).len()
        })
        .sum();
    // Ten packets times 85 MSS over 145 packets are 8.5.
    assert_eq!(sent, 9);
}

#[test]
fn a_timeout_starts_over_from_two_once_an_ack_shows_that_it_was_needed() {
    let timeout = Timeout { now: at(1_000), prior_in_flight: 144, ..timeout(true) };
    let sent = Sent { now: at(1_000), size: Bytes::new(PACKET), is_retransmission: true, in_flight: 1, delivered: 0 };
    for (is_answer_to_retransmission, is_spurious, window) in
        [(true, false, 2 * MSS), (false, false, 100 * MSS), (true, true, 100 * MSS)]
    {
        let mut flow = flow();
        (flow.window, flow.ssthresh) = (100 * MSS, 100 * MSS);
        flow.curve.after_loss(100 * MSS);
        (0..8).for_each(|_| assert!(!flow.detector.on_sample(ms(113), ms(100), 9, 0)));
        let numbers = fill(&mut flow, at(0));
        for number in &numbers {
            lose(&mut flow, *number);
        }
        flow.on_timeout(&timeout);
        assert_eq!((flow.window, flow.has_room(0)), (100 * MSS, false), "not before the answer");
        let again = flow.on_sent(&sent);
        flow.on_timeout(&timeout);
        if is_spurious {
            flow.on_undo(at(1_100));
        }
        acked(&mut flow, if is_answer_to_retransmission { again } else { numbers[0] }, ms(100), at(1_100));
        assert_eq!(flow.window / MSS, window / MSS, "{is_answer_to_retransmission} {is_spurious}");
        assert_eq!(flow.has_room(0), !is_spurious, "what was taken for lost is in flight again");
        if window == 2 * MSS {
            assert_eq!(flow.ssthresh / MSS, 50);
            assert_eq!(flow.cwnd(), 3, "2920 bytes let a third packet of 1011 bytes out");
            assert!(flow.curve.state().0 < f64::EPSILON, "the curve is forgotten");
            assert!(!flow.detector.on_sample(ms(113), ms(100), 16, 0), "and so is the rise of the round trip");
        }
    }
}

#[test]
fn a_rise_found_with_a_small_window_ends_slow_start_with_the_next_ack() {
    let mut detector = DelayDetector::default();
    let found: Vec<_> = (0..9).map(|_| detector.on_sample(ms(113), ms(100), 9, 50)).collect();
    assert_eq!(found, [[false; 8].as_slice(), &[true]].concat());
}

#[test]
fn packets_are_paced_at_twice_the_window_and_a_quarter_more() {
    let mut flow = flow();
    let rate = |flow: &QuicCubic| flow.pacing_rate().map(Rate::as_bits_per_second).unwrap_or_default() as f64;
    // 14600 bytes of UDP payload per 100 ms, twice.
    let expected = 2.0 * 14_600.0 * 8.0 / 0.1;
    assert_eq!(flow.unpaced_header().count(), 28, "IP and UDP headers");
    assert!((rate(&flow) / expected - 1.0).abs() < 1e-3, "{} {expected}", rate(&flow));
    flow.ssthresh = flow.window;
    assert!((rate(&flow) / expected - 0.625).abs() < 1e-3);
}

#[test]
fn what_a_timer_finds_lost_reduces_the_window_at_once() {
    let mut flow = flow();
    (flow.window, flow.ssthresh) = (100 * MSS, 100 * MSS);
    let packet = fill(&mut flow, at(0))[0];
    flow.on_lost(&Lost { now: at(50), size: Bytes::new(PACKET), packet, is_timer: true });
    assert_eq!(flow.window, 85 * MSS);
}

#[test]
fn a_packet_that_arrives_after_it_was_taken_for_lost_counts_as_one_of_no_bytes_and_in_2017_not_at_all() {
    for (generation, grown) in [(Generation::Current, MSS), (Generation::Of2017, 0)] {
        let mut flow = flow();
        flow.curve = Curve::new(2.0, generation);
        let numbers = fill(&mut flow, at(0));
        lose(&mut flow, numbers[0]);
        acked(&mut flow, numbers[5], ms(100), at(100));
        let later = fill(&mut flow, at(100));
        acked(&mut flow, *later.last().unwrap(), ms(100), at(200));
        flow.ssthresh = 100 * MSS;
        fill(&mut flow, at(200));
        let before = flow.window;
        acked(&mut flow, numbers[0], ms(210), at(210));
        assert_eq!(flow.window - before, grown);
    }
}

#[test]
fn the_window_begins_with_32_mss_and_ends_with_2000() {
    let crate::info::Kind::Number { default, .. } = INITIAL_WINDOW.kind else { panic!("{:?}", INITIAL_WINDOW.kind) };
    assert!((default - 32.0).abs() < f64::EPSILON);
    let mut flow = flow();
    assert_eq!(flow.ssthresh(), None);
    flow.window = MAX_WINDOW - MSS / 2;
    for number in fill(&mut flow, at(0)) {
        acked(&mut flow, number, ms(40), at(40));
    }
    // In slow start, as in the original, a window below the end grows by a whole one.
    assert_eq!(flow.window, 2_000 * 1_460 + MSS / 2);
}
