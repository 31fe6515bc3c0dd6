//! Growth, reductions, undo and restart, against the kernel's rules.

use super::{Window, WindowAlgorithm, WindowBased};
use crate::scheme::{Ack, Acked, Cause, Congestion, RateSample, Restart, Scheme, Sent, State, Timeout};
use crate::units::{Bytes, Duration, Instant};

const NOW: Instant = Instant::ZERO;

/// An ack of `newly_delivered` packets to a sender that the window limits; 100 ms of round trip, 99 packets still in
/// flight.
pub(in crate::scheme) fn ack(newly_delivered: u32) -> Ack<'static> {
    let rtt = Duration::from_millis(100);
    Ack {
        now: NOW,
        newly_delivered,
        newly_delivered_bytes: Bytes::new(1_448) * u64::from(newly_delivered),
        newly_lost: 0,
        is_advance: true,
        may_raise_cwnd: true,
        is_cwnd_limited: true,
        max_packets_out: 100,
        prior_in_flight: 99 + newly_delivered,
        in_flight: 99,
        state: State::Open,
        rtt: Some(rtt),
        srtt: rtt,
        min_rtt: rtt,
        is_delayed: false,
        one_way_delay: None,
        rate: RateSample::default(),
        delivered: 0,
        first_unacked: 0,
        next_sequence: 0,
        next_departure: Instant::ZERO,
        is_ecn_echo: false,
        packets: &[],
    }
}

/// What the same ack, which was foreseen, reports as delivered.
pub(in crate::scheme) fn acked(ack: &Ack<'_>) -> Acked {
    let Ack { now, newly_delivered, newly_delivered_bytes, rtt, srtt, first_unacked, next_sequence, .. } = *ack;
    let is_unforeseen = false;
    Acked { now, newly_delivered, newly_delivered_bytes, is_unforeseen, rtt, srtt, first_unacked, next_sequence }
}

/// A timeout with a hundred packets in flight, the first or one that follows without progress.
pub(in crate::scheme) fn timeout(is_first: bool) -> Timeout {
    Timeout { now: NOW, prior_in_flight: 100, in_flight: 0, next_sequence: 0, is_first }
}

/// A window of a flow that is under way.
pub(in crate::scheme) fn window_of(cwnd: u32, ssthresh: u32) -> Window {
    Window { cwnd, ssthresh, ..Window::initial() }
}

/// Falls to a half and grows as Reno.
struct Half;

impl WindowAlgorithm for Half {
    fn ssthresh_after_loss(&mut self, window: &Window, _now: Instant) -> u32 {
        window.cwnd / 2
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack<'_>) {
        window.grow_as_reno(ack);
    }
}

/// In congestion avoidance at `cwnd`, or in slow start.
fn scheme(cwnd: u32, ssthresh: u32) -> WindowBased<Half> {
    let mut scheme = WindowBased::new(Half);
    (scheme.window.cwnd, scheme.window.ssthresh) = (cwnd, ssthresh);
    scheme
}

fn congestion(cause: Cause, in_flight: u32) -> Congestion {
    Congestion { now: NOW, cause, in_flight, is_timer: false }
}

fn state(scheme: &WindowBased<Half>) -> (u32, Option<u32>) {
    (scheme.cwnd(), scheme.ssthresh())
}

#[test]
fn slow_start_stops_at_the_threshold_and_hands_back_the_rest() {
    let mut window = Window::initial();
    assert_eq!((window.slow_start(5), window.cwnd), (0, 15));
    window.ssthresh = 20;
    assert_eq!((window.slow_start(8), window.cwnd), (3, 20));
    window.ssthresh = u32::MAX;
    window.cwnd = u32::MAX - 1;
    assert_eq!((window.slow_start(8), window.cwnd), (7, u32::MAX));
}

#[test]
fn a_window_of_acks_adds_one_packet_however_it_is_cut() {
    for per_ack in [1, 2, 5, 10] {
        let mut window = Window::initial();
        for _ in 0..10 / per_ack {
            window.grow_one_per(10, per_ack);
        }
        assert_eq!(window.cwnd, 11, "{per_ack} packets per ack");
    }
    let mut window = Window::initial();
    window.grow_one_per(10, 25);
    window.grow_one_per(10, 5);
    assert_eq!(window.cwnd, 13, "what is left over counts the next time");
}

#[test]
fn old_credit_is_worth_one_packet() {
    let mut window = Window::initial();
    window.grow_one_per(1_000, 900);
    window.grow_one_per(10, 1);
    assert_eq!((window.cwnd, window.credit), (11, 1));
}

#[test]
fn a_window_that_limits_nothing_does_not_grow() {
    let idle = Ack { is_cwnd_limited: false, max_packets_out: 50, ..ack(2) };
    for (cwnd, ssthresh, grown) in [(99, 1_000, 101), (100, 1_000, 100), (99, 50, 99)] {
        let mut scheme = scheme(cwnd, ssthresh);
        scheme.on_ack(&idle);
        assert_eq!(scheme.cwnd(), grown, "{cwnd} packets, threshold {ssthresh}, at most 50 used");
    }
    let mut scheme = scheme(100, 1_000);
    scheme.on_ack(&Ack { may_raise_cwnd: false, ..ack(2) });
    assert_eq!(scheme.cwnd(), 100, "out of order");
}

#[test]
fn a_loss_halves_the_window_over_a_round_trip() {
    let mut scheme = scheme(100, 50);
    scheme.on_congestion(&congestion(Cause::Loss, 96));
    assert_eq!(state(&scheme), (97, Some(50)), "the retransmission may leave at once");
    let sent = Sent { now: NOW, size: Bytes::new(1_448), is_retransmission: true, in_flight: 97, delivered: 0 };
    scheme.on_sent(&sent);
    scheme.on_ack(&Ack { state: State::Recovery, in_flight: 95, ..ack(2) });
    assert_eq!(scheme.cwnd(), 95, "half of two packets has already left");
    scheme.on_ack(&Ack { state: State::Recovery, in_flight: 93, ..ack(2) });
    assert_eq!(scheme.cwnd(), 94);
    scheme.on_reduced(NOW);
    scheme.on_recovered(NOW);
    assert_eq!(state(&scheme), (50, Some(50)));
    scheme.on_ack(&ack(50));
    assert_eq!(scheme.cwnd(), 51);
}

#[test]
fn the_retransmission_of_a_loss_probe_does_not_count_as_sent_in_a_reduction_for_a_mark() {
    for (is_retransmission, finds_loss, cwnd) in [(false, false, 95), (true, false, 96), (true, true, 95)] {
        let mut scheme = scheme(100, 50);
        scheme.on_congestion(&congestion(Cause::Ecn, 99));
        if finds_loss {
            scheme.on_loss_while_reducing(&congestion(Cause::Loss, 99));
        }
        scheme.on_sent(&Sent { now: NOW, size: Bytes::ZERO, is_retransmission, in_flight: 100, delivered: 0 });
        // Half of two packets leaves, if it has not.
        scheme.on_ack(&Ack { state: State::Cwr, in_flight: 95, ..ack(2) });
        assert_eq!(scheme.cwnd(), cwnd, "{is_retransmission} {finds_loss}");
    }
}

#[test]
fn a_timer_that_finds_a_loss_counts_as_a_delivery() {
    for (is_timer, cwnd) in [(false, 91), (true, 92)] {
        let mut scheme = scheme(100, 50);
        scheme.on_congestion(&Congestion { is_timer, ..congestion(Cause::Loss, 95) });
        scheme.window.ssthresh = 50;
        scheme.on_sent(&Sent { now: NOW, size: Bytes::ZERO, is_retransmission: true, in_flight: 96, delivered: 0 });
        // Half of what is delivered leaves: of two packets one, which has left, and of three another.
        scheme.on_ack(&Ack { state: State::Recovery, in_flight: 91, is_advance: false, ..ack(2) });
        assert_eq!(scheme.cwnd(), cwnd);
    }
}

#[test]
fn an_ecn_echo_takes_no_packet_away_at_once_and_is_final() {
    let mut scheme = scheme(100, 50);
    scheme.on_congestion(&congestion(Cause::Ecn, 99));
    assert_eq!(state(&scheme), (100, Some(50)));
    scheme.on_reduced(NOW);
    scheme.on_recovered(NOW);
    scheme.on_undo(NOW);
    assert_eq!(state(&scheme), (50, Some(50)));
}

#[test]
fn a_spurious_reduction_is_undone_once() {
    let mut scheme = scheme(100, 40);
    scheme.on_congestion(&congestion(Cause::Loss, 90));
    scheme.on_undo(NOW);
    assert_eq!(state(&scheme), (100, Some(75)), "no reason to slow-start below three quarters");
    scheme.on_reduced(NOW);
    assert_eq!(scheme.cwnd(), 100, "nothing is left to be reduced");
    scheme.window.cwnd = 20;
    scheme.on_undo(NOW);
    assert_eq!(scheme.cwnd(), 20);
}

#[test]
fn timeouts_in_a_row_halve_the_threshold_once() {
    let mut scheme = scheme(100, 50);
    scheme.on_timeout(&timeout(true));
    assert_eq!(state(&scheme), (1, Some(50)));
    scheme.on_timeout(&timeout(false));
    assert_eq!(state(&scheme), (1, Some(50)));
    scheme.on_ack(&Ack { state: State::Loss, max_packets_out: 1, ..ack(1) });
    assert_eq!(scheme.cwnd(), 2, "slow start while the losses are repaired");
    scheme.on_undo(NOW);
    assert_eq!(state(&scheme), (100, Some(75)));
}

#[test]
fn a_timeout_ends_a_reduction() {
    let mut scheme = scheme(100, 50);
    scheme.on_congestion(&congestion(Cause::Loss, 90));
    scheme.on_timeout(&timeout(false));
    scheme.on_reduced(NOW);
    assert_eq!(state(&scheme), (1, Some(50)));
}

#[test]
fn a_recovery_may_end_before_its_reduction() {
    let mut scheme = scheme(100, 40);
    scheme.on_congestion(&congestion(Cause::Loss, 90));
    scheme.on_recovered(NOW);
    assert_eq!(state(&scheme), (91, Some(50)));
    scheme.on_congestion(&congestion(Cause::Loss, 80));
    scheme.on_undo(NOW);
    assert_eq!(state(&scheme), (91, Some(67)), "the second began outside a reduction");
}

#[test]
fn every_timeout_of_idleness_halves_the_window() {
    let rto = Duration::from_millis(300);
    let restart = |idle| Restart { now: NOW + idle, idle, rto, is_app_limited: true };
    for (idle_ms, cwnd) in [(300, 100), (301, 50), (600, 50), (601, 25), (10_000, 10)] {
        let mut scheme = scheme(100, 50);
        scheme.on_restart(&restart(Duration::from_millis(idle_ms)));
        let ssthresh = if idle_ms > 300 { 75 } else { 50 };
        assert_eq!(state(&scheme), (cwnd, Some(ssthresh)), "after {idle_ms} ms");
    }
    // The last packet left at 0.6 of a millisecond.
    for (now_us, cwnd) in [(301_999, 100), (302_000, 50), (601_999, 50), (602_000, 25)] {
        let (now, idle) = (Instant::ZERO + Duration::from_micros(now_us), Duration::from_micros(now_us - 1_600));
        let mut scheme = scheme(100, 50);
        scheme.on_restart(&Restart { now, ..restart(idle) });
        assert_eq!(scheme.cwnd(), cwnd, "at {now_us} us");
    }
    let mut small = scheme(4, 2);
    small.on_restart(&restart(Duration::from_secs(10)));
    assert_eq!(small.cwnd(), 4);
}

#[test]
fn half_a_window_is_two_packets_at_least() {
    assert_eq!([1, 3, 4, 5, 101].map(|cwnd| window_of(cwnd, 50).half()), [2, 2, 2, 2, 50]);
}

#[test]
fn an_undo_takes_away_nothing_that_was_gained_meanwhile() {
    let mut scheme = scheme(100, 40);
    scheme.on_congestion(&congestion(Cause::Loss, 90));
    (scheme.window.cwnd, scheme.window.ssthresh) = (120, 110);
    scheme.on_undo(NOW);
    assert_eq!(state(&scheme), (120, Some(110)));
}

#[test]
fn the_loss_of_a_tail_moves_the_window_that_an_undo_returns_to_but_not_the_threshold() {
    // A recovery from 100 packets has ended at 50 before a duplicate shows that it was needless.
    let after_a_recovery = || {
        let mut scheme = scheme(100, 40);
        scheme.on_congestion(&congestion(Cause::Loss, 90));
        scheme.on_reduced(NOW);
        scheme.on_recovered(NOW);
        scheme
    };
    let mut undone = after_a_recovery();
    undone.on_undo(NOW);
    assert_eq!(state(&undone), (100, Some(75)));
    let mut undone = after_a_recovery();
    undone.on_congestion(&congestion(Cause::TailLoss, 40));
    undone.on_reduced(NOW);
    undone.on_recovered(NOW);
    assert_eq!(state(&undone), (25, Some(25)));
    undone.on_undo(NOW);
    assert_eq!(state(&undone), (50, Some(75)));
}

#[test]
fn the_loss_of_a_tail_can_be_undone_no_more_than_what_came_before() {
    for cause in [None, Some(Cause::Ecn)] {
        let mut scheme = scheme(100, 40);
        if let Some(cause) = cause {
            scheme.on_congestion(&congestion(cause, 90));
        }
        scheme.on_congestion(&congestion(Cause::TailLoss, 40));
        scheme.on_reduced(NOW);
        scheme.on_recovered(NOW);
        scheme.on_undo(NOW);
        assert_eq!(state(&scheme), (50, Some(50)), "{cause:?}");
    }
}

#[test]
fn a_loss_while_the_window_is_reduced_for_a_lost_tail_can_be_undone_no_more_than_what_came_before() {
    let mut scheme = scheme(100, 40);
    scheme.on_congestion(&congestion(Cause::Loss, 90));
    scheme.on_reduced(NOW);
    scheme.on_recovered(NOW);
    scheme.on_congestion(&congestion(Cause::TailLoss, 40));
    scheme.on_loss_while_reducing(&congestion(Cause::Loss, 40));
    scheme.on_undo(NOW);
    assert_eq!(state(&scheme), (50, Some(25)));
}

#[test]
fn what_a_timeout_in_a_recovery_or_after_a_mark_can_undo_is_what_the_recovery_or_the_mark_could() {
    for (cause, is_first, undone) in [
        (Cause::Loss, false, (100, Some(75))),
        (Cause::Ecn, false, (1, Some(50))),
        (Cause::Loss, true, (100, Some(50))),
        (Cause::Ecn, true, (100, Some(50))),
    ] {
        let mut scheme = scheme(100, 40);
        scheme.on_congestion(&congestion(cause, 99));
        scheme.on_timeout(&timeout(is_first));
        scheme.on_undo(NOW);
        assert_eq!(state(&scheme), undone, "{cause:?} {is_first}");
    }
}
