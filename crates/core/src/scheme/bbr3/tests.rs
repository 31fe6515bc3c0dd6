//! The draft's example test cases, on the acks of an ideal path: one packet per millisecond, 40 ms of round trip.
#![allow(clippy::float_cmp, reason = "gains and bounds are set, not computed")]

use super::*;
use crate::scheme::window::{ack as one_ack, timeout};
use crate::scheme::{RateSample, State as Transport};

pub(super) struct Path {
    pub(super) bbr: Bbr3,
    pub(super) now: Instant,
    pub(super) gap: Duration,
    pub(super) rtt: Duration,
    pub(super) in_flight: u32,
    pub(super) delivered: u64,
    pub(super) is_app_limited: bool,
    is_cwnd_limited: bool,
    state: Transport,
    is_recovering: bool,
    /// Stamps of what is on its way.
    flying: std::collections::VecDeque<u64>,
}

impl Path {
    fn new() -> Self {
        let mut bbr = Bbr3::new(Bytes::new(1_448), Bytes::new(1_500), RandomStream::new(1, "bbr3"));
        bbr.on_connected(&Connected { initial_window: INITIAL_WINDOW, srtt: Some(Duration::from_millis(40)) });
        let mut path = Self {
            bbr,
            now: Instant::ZERO,
            gap: Duration::from_millis(1),
            rtt: Duration::from_millis(40),
            in_flight: 40,
            delivered: 0,
            is_app_limited: false,
            is_cwnd_limited: false,
            state: Transport::Open,
            is_recovering: false,
            flying: std::collections::VecDeque::new(),
        };
        path.send();
        path
    }

    /// In `ProbeBW`, where a cycle starts.
    pub(super) fn probing() -> Self {
        let mut path = Self::new();
        path.until(State::Cruise);
        path
    }

    fn send(&mut self) {
        while self.flying.len() < self.in_flight as usize {
            let sent = Sent {
                now: self.now,
                size: Bytes::new(1_448),
                is_retransmission: false,
                in_flight: self.flying.len() as u32 + 1,
                delivered: self.delivered,
            };
            self.flying.push_back(self.bbr.on_sent(&sent));
        }
    }

    /// The next packet arrives; those before it that are to be lost are lost.
    pub(super) fn ack_after(&mut self, losses: u32) {
        self.now += self.gap;
        for _ in 0..losses {
            let packet = self.flying.pop_front().expect("enough in flight");
            self.bbr.on_lost(&Lost { now: self.now, size: Bytes::new(1_448), packet, is_timer: false });
        }
        if losses > 0 && !std::mem::replace(&mut self.is_recovering, true) {
            self.bbr.on_congestion(&Congestion {
                now: self.now,
                cause: Cause::Loss,
                in_flight: self.in_flight,
                is_timer: false,
            });
        }
        let stamp = self.flying.pop_front().expect("something is in flight");
        self.delivered += 1;
        self.send();
        let flight = u64::from(self.in_flight);
        let rate = RateSample {
            delivered: flight,
            interval: Some(self.gap * flight),
            prior_delivered: self.delivered.saturating_sub(flight),
            is_app_limited: self.is_app_limited,
            is_retransmission: false,
        };
        self.bbr.on_ack(&Ack {
            now: self.now,
            newly_lost: losses,
            is_cwnd_limited: self.is_cwnd_limited,
            prior_in_flight: self.in_flight,
            in_flight: self.in_flight.saturating_sub(1),
            state: self.state,
            rtt: Some(self.rtt),
            srtt: self.rtt,
            min_rtt: self.rtt,
            rate,
            delivered: self.delivered,
            packets: &[stamp],
            ..one_ack(1)
        });
    }

    pub(super) fn ack(&mut self) {
        self.ack_after(0);
    }

    /// From now on no more than this is in flight.
    pub(super) fn keep(&mut self, in_flight: u32) {
        self.in_flight = in_flight;
        self.flying.truncate(in_flight as usize);
    }

    /// Milliseconds until a state begins.
    pub(super) fn until(&mut self, state: State) -> u64 {
        let before = self.now;
        while self.bbr.state != state {
            self.ack();
            assert!(self.now.since(before) < Duration::from_secs(30), "never: {:?}", self.bbr.state);
        }
        self.now.since(before).as_millis()
    }
}

#[test]
fn the_first_window_is_paced_over_a_round_trip_of_start_up() {
    let mut bbr = Path::new().bbr;
    for window in [10, 1] {
        bbr.on_connected(&Connected { initial_window: window, srtt: Some(Duration::from_millis(40)) });
        assert_eq!(bbr.cwnd(), window);
        let expected = startup::PACING_GAIN * f64::from(window) / 0.04;
        assert!((bbr.pacing_rate / expected - 1.0).abs() < 1e-9, "{}", bbr.pacing_rate);
    }
}

#[test]
fn without_a_handshake_it_is_paced_over_a_millisecond_until_the_first_round_trip() {
    let mut path = Path::new();
    path.bbr = Bbr3::new(Bytes::new(1_448), Bytes::new(1_500), RandomStream::new(1, "bbr3"));
    path.bbr.on_connected(&Connected { initial_window: 10, srtt: None });
    let expected = startup::PACING_GAIN * 10.0 / 0.001;
    assert!((path.bbr.pacing_rate / expected - 1.0).abs() < 1e-9, "{}", path.bbr.pacing_rate);
    path.ack();
    // The path delivers a packet per millisecond.
    assert!((path.bbr.pacing_rate / (startup::PACING_GAIN * 990.0) - 1.0).abs() < 1e-9, "{}", path.bbr.pacing_rate);
}

#[test]
fn the_round_trip_of_the_handshake_counts_for_ten_seconds() {
    let mut path = Path::new();
    (path.now, path.rtt) = (Instant::from_nanos(20_000_000_000), Duration::from_millis(45));
    path.ack();
    let known = |path: &Path| path.bbr.min_rtt.value.map(Duration::as_millis);
    assert_eq!(known(&path), Some(40));
    (0..10_010).for_each(|_| path.ack());
    assert_eq!(known(&path), Some(45));
}

#[test]
fn what_an_ack_delivers_is_delivered_before_what_it_shows_lost() {
    let mut path = Path::probing();
    let ack = one_ack(3);
    path.bbr.on_acked(&Acked {
        now: path.now,
        newly_delivered: 3,
        newly_delivered_bytes: ack.newly_delivered_bytes,
        is_unforeseen: true,
        rtt: None,
        srtt: path.rtt,
        first_unacked: 0,
        next_sequence: 0,
    });
    let packet = path.flying.pop_front().unwrap();
    path.bbr.on_lost(&Lost { now: path.now, size: Bytes::new(1_448), packet, is_timer: false });
    assert_eq!(path.bbr.latest.round_delivered, path.delivered + 3);
}

#[test]
fn a_spurious_timeout_that_ended_a_probe_brings_it_back() {
    let mut path = Path::probing();
    path.until(State::Up);
    path.bbr.inflight_longterm = 80.0;
    path.bbr.is_bw_probe_sample = true;
    for packet in std::mem::take(&mut path.flying) {
        path.bbr.on_lost(&Lost { now: path.now, size: Bytes::new(1_448), packet, is_timer: false });
    }
    assert_eq!(path.bbr.state, State::Down);
    path.bbr.on_timeout(&Timeout { now: path.now, prior_in_flight: 40, ..timeout(true) });
    assert!(path.bbr.inflight_longterm < 80.0);
    path.bbr.on_undo(path.now);
    assert_eq!((path.bbr.state, path.bbr.inflight_longterm), (State::Refill, 80.0));
}

#[test]
fn acks_in_lumps_are_remembered_past_the_end_of_startup() {
    let mut path = Path::new();
    path.bbr.aggregation.restart(path.now);
    (0..100).for_each(|_| path.ack());
    for _ in 0..20 {
        let before = path.now;
        path.ack();
        path.now = before;
    }
    let lump = path.bbr.aggregation.extra_acked();
    assert!(lump > 10.0, "{lump}");
    path.bbr.full_bw.is_reached = true;
    path.now += path.gap * 20;
    path.ack();
    assert!(path.bbr.aggregation.extra_acked() >= lump);
    (0..50).for_each(|_| path.ack());
    assert_eq!(path.bbr.cwnd(), (2.0 * path.bbr.bdp_multiple(1.0) + path.bbr.aggregation.extra_acked()) as u32);
}

#[test]
fn the_short_term_bound_caps_the_window() {
    let mut path = Path::probing();
    path.bbr.inflight_shortterm = 12.0;
    path.ack();
    assert_eq!((path.bbr.state, path.bbr.cwnd()), (State::Cruise, 12));
}

#[test]
fn what_is_to_be_in_flight_is_three_quanta_at_least_and_two_packets_more_while_probing_upward() {
    let mut bbr = Path::probing().bbr;
    // A packet of BDP, and quanta of a millisecond, two packets at least.
    (bbr.bw, bbr.pacing_rate) = (25.0, 25.0);
    assert_eq!(bbr.inflight(1.0), 6.0);
    bbr.pacing_rate = 10_000.0;
    assert_eq!(bbr.inflight(1.0), 30.0);
    bbr.bw = 1_000.0;
    assert_eq!(bbr.inflight(1.0), 40.0);
    bbr.state = State::Up;
    assert_eq!(bbr.inflight(1.0), 42.0);
}

#[test]
fn a_window_that_is_cut_already_is_not_what_to_return_to() {
    let mut bbr = Path::probing().bbr;
    (bbr.prior_cwnd, bbr.cwnd, bbr.recovery) = (80, 20, Some(Recovery::Other));
    bbr.save_cwnd();
    assert_eq!(bbr.prior_cwnd, 80);
    (bbr.recovery, bbr.state) = (None, State::ProbeRtt);
    bbr.save_cwnd();
    assert_eq!(bbr.prior_cwnd, 80);
    bbr.state = State::Cruise;
    bbr.save_cwnd();
    assert_eq!(bbr.prior_cwnd, 20);
}

#[test]
fn a_limited_sample_counts_only_where_it_is_the_most() {
    let mut path = Path::probing();
    path.is_app_limited = true;
    path.bbr.max_bw.advance();
    path.gap = Duration::from_millis(2);
    (0..10).for_each(|_| path.ack());
    path.bbr.max_bw.advance();
    assert!((path.bbr.max_bw.get() / 1_000.0 - 1.0).abs() < 0.01, "{}", path.bbr.max_bw.get());
    path.gap = Duration::from_micros(500);
    path.ack();
    assert!((path.bbr.max_bw.get() / 2_000.0 - 1.0).abs() < 0.01, "{}", path.bbr.max_bw.get());
}

#[test]
fn each_cycle_draws_its_wait_and_counts_its_own_rounds_and_signals() {
    let mut path = Path::probing();
    let mut firsts = [0, 0];
    let (mut least, mut most) = (Duration::MAX, Duration::ZERO);
    for _ in 0..200 {
        path.bbr.enter_down(path.now);
        firsts[path.bbr.rounds_since_probe_up as usize] += 1;
        (least, most) = (least.min(path.bbr.bw_probe_wait), most.max(path.bbr.bw_probe_wait));
    }
    assert!(firsts.iter().all(|count| *count > 50), "zero or one: {firsts:?}");
    assert!(least >= Duration::from_secs(2) && least < Duration::from_millis(2_100), "{least}");
    assert!(most < Duration::from_secs(3) && most > Duration::from_millis(2_900), "{most}");

    path.until(State::Up);
    (0..20).for_each(|_| path.ack());
    path.bbr.latest.is_loss_in_round = true;
    let round = path.bbr.rounds.count;
    path.bbr.enter_down(path.now);
    assert!(!path.bbr.latest.is_loss_in_round);
    assert_eq!((path.bbr.latest.bw, path.bbr.latest.inflight), (0.0, 0.0));
    (0..39).for_each(|_| path.ack());
    assert_eq!(path.bbr.rounds.count, round);
    path.ack();
    assert_eq!(path.bbr.rounds.count, round + 1);
}

#[test]
fn startup_ends_on_a_bandwidth_plateau() {
    let mut path = Path::new();
    path.in_flight = 60;
    let took = path.until(State::Drain);
    // The round that sets the baseline and three without growth.
    assert!((160..=250).contains(&took), "{took} ms");
    assert!(path.bbr.full_bw.is_now && path.bbr.full_bw.is_reached);
    assert_eq!(path.bbr.full_bw.count, 3);
    assert!((path.bbr.max_bw.get() / 1_000.0 - 1.0).abs() < 0.02, "{}", path.bbr.max_bw.get());
}

#[test]
fn startup_ends_on_loss_even_when_the_application_limits() {
    let mut path = Path::new();
    path.is_app_limited = true;
    for _ in 0..400 {
        path.ack();
    }
    assert_eq!(path.bbr.state, State::Startup, "an application's plateau ends nothing");
    path.state = Transport::Recovery;
    path.in_flight = 60;
    for ack in 0..200 {
        path.ack_after(u32::from(ack % 5 == 0));
        if path.bbr.state != State::Startup {
            break;
        }
    }
    assert_eq!(path.bbr.state, State::Drain);
    assert!(path.bbr.full_bw.is_reached && path.bbr.full_bw.is_now);
    assert!(path.bbr.inflight_longterm.is_finite());
}

#[test]
fn six_ranges_and_more_than_two_percent_lost_end_startup_after_a_round_of_recovery() {
    let is_over = |rounds: u64, ranges, lost| {
        let mut bbr = Path::new().bbr;
        (bbr.recovery, bbr.losses.ranges) = (Some(Recovery::Fast(5)), ranges);
        bbr.rounds.count = 5 + rounds;
        let mut sample = Sample::new(&one_ack(1), 0, false);
        (sample.lost, sample.tx_in_flight) = (lost, 100.0);
        bbr.check_startup_high_loss(&sample);
        bbr.full_bw.is_reached
    };
    assert!(is_over(1, 6, 3.0));
    assert!(!is_over(1, 5, 3.0));
    assert!(!is_over(1, 7, 1.0));
    assert!(!is_over(0, 7, 3.0), "the round in which the recovery began");
}

#[test]
fn the_ranges_that_end_startup_are_those_of_one_round() {
    for (ranges, is_over) in [(5, false), (6, true)] {
        let mut path = Path::new();
        path.is_app_limited = true;
        path.in_flight = 60;
        (0..400).for_each(|_| path.ack());
        // A round of 60 acks begins with the first loss.
        for ack in 0..200 {
            path.ack_after(u32::from(ack % 60 < ranges && path.bbr.state == State::Startup));
        }
        assert_eq!(path.bbr.state != State::Startup, is_over, "{ranges} ranges");
    }
}

#[test]
fn startup_that_ends_on_loss_takes_the_path_to_hold_a_bdp_or_what_a_round_delivered() {
    for (delivered, bound) in [(30.0, 40.0), (70.0, 70.0)] {
        let mut bbr = Path::new().bbr;
        (bbr.recovery, bbr.losses.ranges) = (Some(Recovery::Fast(0)), 6);
        (bbr.rounds.count, bbr.bw, bbr.latest.inflight) = (1, 1_000.0, delivered);
        let mut sample = Sample::new(&one_ack(1), 0, false);
        (sample.lost, sample.tx_in_flight) = (3.0, 100.0);
        bbr.check_startup_high_loss(&sample);
        assert_eq!(bbr.inflight_longterm, bound);
    }
}

#[test]
fn losses_after_a_timeout_do_not_end_startup() {
    let mut path = Path::new();
    path.is_app_limited = true;
    (0..400).for_each(|_| path.ack());
    path.in_flight = 60;
    path.ack_after(1);
    assert!(matches!(path.bbr.recovery, Some(Recovery::Fast(_))));
    path.bbr.on_timeout(&timeout(true));
    path.state = Transport::Loss;
    (0..200).for_each(|ack| path.ack_after(u32::from(ack % 5 == 0)));
    assert_eq!(path.bbr.state, State::Startup);
}

#[test]
fn a_fast_recovery_counts_its_rounds_from_its_own_beginning() {
    let mut bbr = Path::new().bbr;
    let congestion = |cause| Congestion { now: Instant::ZERO, cause, in_flight: 10, is_timer: false };
    for (round, cause) in [(3, Cause::TailLoss), (7, Cause::Loss), (9, Cause::TailLoss)] {
        bbr.rounds.count = round;
        bbr.on_congestion(&congestion(cause));
    }
    assert_eq!(bbr.recovery, Some(Recovery::Fast(7)));
}

#[test]
fn a_flow_that_starts_late_does_not_begin_with_a_probe_of_the_round_trip() {
    let mut path = Path::new();
    path.now += Duration::from_secs(60);
    path.ack();
    assert_eq!(path.bbr.state, State::Startup);
}

#[test]
fn until_there_is_a_model_the_window_is_what_the_connection_was_granted() {
    let mut bbr = Bbr3::new(Bytes::new(1_448), Bytes::new(1_500), RandomStream::new(1, "bbr3"));
    bbr.on_connected(&Connected { initial_window: 1, srtt: None });
    assert_eq!(bbr.bdp_multiple(2.0), 1.0);
    // More is delivered than was granted, and nine packets are more than three quanta.
    let mut sample = Sample::new(&one_ack(1), 0, false);
    (bbr.cwnd, sample.total_delivered) = (9, 6);
    bbr.set_cwnd(&sample);
    assert_eq!(bbr.cwnd, 9);
}

#[test]
fn drain_ends_when_one_bdp_is_in_flight_or_after_three_rounds() {
    let mut path = Path::new();
    path.in_flight = 60;
    path.until(State::Drain);
    assert_eq!(path.bbr.pacing_gain, 0.5);
    path.in_flight = 39;
    path.flying.truncate(39);
    path.ack();
    assert_eq!(path.bbr.state, State::Cruise, "and there is nothing to drain for ProbeBW_DOWN");

    let mut path = Path::new();
    path.in_flight = 60;
    path.until(State::Drain);
    let start = path.bbr.rounds.count;
    path.until(State::Down);
    assert_eq!(path.bbr.rounds.count, start + 4, "more than three rounds");
}

#[test]
fn a_probe_goes_up_after_one_round_of_refilling_and_ends_on_a_plateau() {
    let mut path = Path::probing();
    let took = path.until(State::Refill);
    assert!((1_500..3_000).contains(&took), "{took} ms: two to three seconds, or 40 rounds of 40 ms");
    assert_eq!(path.until(State::Up), 40);
    assert_eq!((path.bbr.pacing_gain, path.bbr.cwnd_gain), (1.25, 2.25));
    let before = path.bbr.rounds.count;
    path.until(State::Down);
    assert_eq!(path.bbr.rounds.count, before + 3);
    assert_eq!(path.bbr.pacing_gain, 0.90);
    assert!(path.bbr.is_bw_probe_sample, "what was sent while probing is still under way");
    (0..41).for_each(|_| path.ack());
    assert!(!path.bbr.is_bw_probe_sample);
}

#[test]
fn the_next_probe_waits_for_63_rounds_at_most() {
    // 100 packets of BDP, and 10 ms.
    let mut path = Path::new();
    (path.gap, path.rtt, path.in_flight) = (Duration::from_micros(100), Duration::from_millis(10), 100);
    path.until(State::Up);
    path.in_flight = 90;
    path.flying.truncate(90);
    path.bbr.enter_down(path.now);
    let before = path.now;
    path.until(State::Refill);
    // Rounds of 90 packets, of which it counts the first from none or one.
    let rounds = path.now.since(before).as_secs_f64() / 0.009;
    assert!((61.0..64.0).contains(&rounds), "{rounds}");
}

#[test]
fn a_probe_that_loses_half_leaves_seven_tenths_of_the_target() {
    // 100 packets of BDP; the window is the target where it is smaller.
    for (cwnd, bound) in [(150, 70.0), (80, 56.0)] {
        let mut path = Path::probing();
        path.until(State::Up);
        (path.bbr.bw, path.bbr.cwnd, path.bbr.lost) = (2_500.0, cwnd, 50);
        let sent = Sent {
            now: path.now,
            size: Bytes::new(1_448),
            is_retransmission: false,
            in_flight: 100,
            delivered: path.delivered,
        };
        path.bbr.handle_lost_packet(Stamp::new(1, 0, &sent), path.now);
        assert!((path.bbr.inflight_longterm - bound).abs() < 1e-9, "{}", path.bbr.inflight_longterm);
    }
}

#[test]
fn an_application_that_limits_never_ends_a_probe_without_loss() {
    let mut path = Path::probing();
    path.until(State::Up);
    path.is_app_limited = true;
    for _ in 0..1_000 {
        path.ack();
    }
    assert_eq!(path.bbr.state, State::Up);
    path.ack_after(3);
    assert_ne!(path.bbr.state, State::Up, "but loss does");
    assert!(path.bbr.inflight_longterm.is_infinite(), "and says nothing about the path");
}

#[test]
fn loss_in_a_probe_sets_the_bound_and_the_next_probe_is_careful() {
    let mut path = Path::probing();
    path.until(State::Up);
    path.ack_after(3);
    assert_ne!(path.bbr.state, State::Up);
    assert!(path.bbr.prev_probe_too_high);
    let bound = path.bbr.inflight_longterm;
    assert!((0.7 * 40.0..=40.0).contains(&bound), "{bound}");
    path.in_flight = 20;
    path.flying.truncate(20);
    path.until(State::Cruise);
    assert!(f64::from(path.bbr.cwnd()) <= 0.85 * bound, "{} of {bound}", path.bbr.cwnd());
    path.until(State::Up);
    path.bbr.inflight_longterm = 30.5;
    path.in_flight = 29;
    path.ack();
    assert_eq!(path.bbr.state, State::Up);
    path.in_flight = 30;
    path.ack();
    assert_eq!(path.bbr.state, State::Down, "as soon as the bound is reached, in whole packets and before the ack");
    assert!(path.bbr.prev_probe_precautionary && !path.bbr.prev_probe_too_high);
    path.until(State::Refill);
    path.until(State::Up);
    assert!(!path.bbr.prev_probe_precautionary, "and a safe one is followed by another at once");
}

#[test]
fn the_bound_grows_by_one_two_four_packets_per_round_while_it_limits() {
    let mut path = Path::probing();
    path.until(State::Up);
    path.bbr.inflight_longterm = 30.0;
    path.bbr.cwnd = 30;
    path.in_flight = 30;
    path.flying.truncate(30);
    path.is_cwnd_limited = true;
    let mut bounds = Vec::new();
    let mut round = path.bbr.rounds.count;
    while bounds.len() < 5 {
        path.in_flight = path.bbr.cwnd();
        path.ack();
        if path.bbr.rounds.count > round {
            round = path.bbr.rounds.count;
            bounds.push(path.bbr.inflight_longterm);
        }
    }
    let growth: Vec<_> = bounds.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(path.bbr.state, State::Up);
    assert!(growth.windows(2).all(|pair| pair[1] >= 1.5 * pair[0]), "{growth:?}");
}

#[test]
fn down_leaves_room_and_gives_up_after_the_wait() {
    let mut path = Path::probing();
    path.until(State::Up);
    path.in_flight = 60;
    path.until(State::Down);
    for _ in 0..500 {
        path.ack();
    }
    assert_eq!(path.bbr.state, State::Down, "60 of 40 packets are in flight");
    let mut short = Path::probing();
    short.until(State::Down);
    short.in_flight = 39;
    short.flying.truncate(39);
    assert!(short.until(State::Cruise) < 60);
    short.bbr.enter_down(short.now);
    short.bbr.inflight_longterm = 44.0;
    // One less after the ack; 0.85 x 44 = 37.4.
    short.in_flight = 39;
    (0..20).for_each(|_| short.ack());
    assert_eq!(short.bbr.state, State::Down, "there is no room for others yet");
    short.in_flight = 38;
    short.ack();
    assert_eq!(short.bbr.state, State::Cruise);
    path.until(State::Refill);
    assert!(path.bbr.rounds_since_probe_up >= 40 || path.now > path.bbr.cycle_stamp + path.bbr.bw_probe_wait);
}

#[test]
fn after_five_seconds_half_a_bdp_shows_the_empty_path() {
    let mut path = Path::probing();
    path.rtt = Duration::from_millis(41);
    let window = path.bbr.cwnd();
    path.until(State::ProbeRtt);
    // The path's 40 ms were first seen with the first ack.
    assert_eq!(path.now.as_millis(), 5_002);
    assert_eq!(path.bbr.cwnd_gain, 0.5);
    assert_eq!(path.bbr.cwnd(), 20, "half of 40 packets");
    path.bbr.inflight_shortterm = 50.0;
    path.in_flight = 20;
    path.flying.truncate(20);
    let began = path.now;
    while path.bbr.state == State::ProbeRtt {
        path.ack();
    }
    let took = path.now.since(began).as_millis();
    assert!((200..=240).contains(&took), "{took} ms");
    assert_eq!((path.bbr.state, path.bbr.cycle_stamp), (State::Cruise, path.now), "a new cycle, and no draining");
    assert!(path.bbr.inflight_shortterm.is_infinite());
    assert!(path.bbr.cwnd() >= window, "{} after {window}", path.bbr.cwnd());
}

#[test]
fn a_flow_that_was_idle_does_not_probe_the_round_trip() {
    let mut path = Path::probing();
    path.until(State::Up);
    assert!((path.bbr.pacing_rate / (1.25 * 0.99 * path.bbr.bw) - 1.0).abs() < 1e-9, "{}", path.bbr.pacing_rate);
    path.rtt = Duration::from_millis(41);
    path.now += Duration::from_secs(6);
    let (now, idle, delivered) = (path.now, Duration::from_secs(6), path.bbr.delivered);
    let mut start = TxStart { now, idle, delivered, next_sequence: 0, is_app_limited: false };
    path.bbr.on_tx_start(&start);
    assert!(!path.bbr.is_idle_restart, "a packet that is alone in the network is no return from idle");
    start.is_app_limited = true;
    path.bbr.on_tx_start(&start);
    assert!(path.bbr.is_idle_restart);
    assert!((path.bbr.pacing_rate / (0.99 * path.bbr.bw) - 1.0).abs() < 1e-9, "{}", path.bbr.pacing_rate);
    for _ in 0..100 {
        path.ack();
        assert_ne!(path.bbr.state, State::ProbeRtt);
    }
}

#[test]
fn an_unfinished_startup_goes_on_after_a_probe_of_the_round_trip() {
    let mut path = Path::new();
    path.is_app_limited = true;
    path.ack();
    path.rtt = Duration::from_millis(41);
    path.until(State::ProbeRtt);
    path.in_flight = 5;
    path.flying.truncate(5);
    path.until(State::Startup);
    assert_eq!(path.bbr.pacing_gain, startup::PACING_GAIN);
}

#[test]
fn loss_between_probes_lowers_the_short_term_bounds_to_what_is_delivered() {
    let mut path = Path::probing();
    path.ack_after(2);
    for _ in 0..80 {
        path.ack();
    }
    assert_eq!(path.bbr.state, State::Cruise);
    assert!((path.bbr.bw_shortterm / 1_000.0 - 1.0).abs() < 0.01, "{}", path.bbr.bw_shortterm);
    assert!(path.bbr.inflight_shortterm.is_finite());
    path.until(State::Refill);
    assert!(path.bbr.bw_shortterm.is_infinite() && path.bbr.inflight_shortterm.is_infinite());
}

#[test]
fn what_is_delivered_is_the_most_of_the_round() {
    let mut path = Path::probing();
    path.gap = Duration::from_micros(1_250);
    (0..100).for_each(|_| path.ack());
    path.ack_after(2);
    for ack in 0..100 {
        path.gap = Duration::from_micros(if ack == 20 { 1_100 } else { 1_250 });
        path.ack();
    }
    assert_eq!(path.bbr.state, State::Cruise);
    assert!((path.bbr.bw_shortterm * 0.001_1 - 1.0).abs() < 0.01, "{}", path.bbr.bw_shortterm);
}

#[test]
fn a_spurious_loss_gives_back_bounds_and_state() {
    let mut path = Path::probing();
    path.until(State::Up);
    let cwnd = path.bbr.cwnd();
    path.ack_after(3);
    assert_ne!(path.bbr.state, State::Up);
    assert!(path.bbr.latest.is_loss_in_round && path.bbr.full_bw.bw > 0.0);
    path.bbr.on_undo(path.now);
    assert_eq!(path.bbr.state, State::Refill, "back to probing");
    assert!(!path.bbr.latest.is_loss_in_round);
    assert_eq!(path.bbr.full_bw.bw, 0.0);
    assert!(path.bbr.inflight_longterm.is_infinite());
    assert!(path.bbr.cwnd() >= cwnd);
}

#[test]
fn a_spurious_loss_gives_back_the_larger_of_each_bound() {
    let mut bbr = Path::probing().bbr;
    for (before, now, left) in [(900.0, 630.0, 900.0), (630.0, 900.0, 900.0)] {
        (bbr.bw_shortterm, bbr.inflight_shortterm, bbr.inflight_longterm) = (before, before / 10.0, before / 5.0);
        bbr.save_state_upon_loss();
        (bbr.bw_shortterm, bbr.inflight_shortterm, bbr.inflight_longterm) = (now, now / 10.0, now / 5.0);
        bbr.handle_spurious_loss();
        let bounds = (bbr.bw_shortterm, bbr.inflight_shortterm, bbr.inflight_longterm);
        assert_eq!(bounds, (left, left / 10.0, left / 5.0));
    }
}

#[test]
fn after_a_timeout_the_window_comes_back() {
    let mut path = Path::probing();
    let cwnd = path.bbr.cwnd();
    let timeout = Timeout { now: path.now, prior_in_flight: 40, ..timeout(true) };
    path.bbr.on_timeout(&timeout);
    assert_eq!(path.bbr.cwnd(), 1);
    path.bbr.on_recovered(path.now);
    assert_eq!(path.bbr.cwnd(), cwnd);
}

#[test]
fn a_bdp_below_a_packet_still_has_four_in_flight() {
    let mut path = Path::new();
    path.gap = Duration::from_millis(100);
    path.in_flight = 4;
    path.flying.truncate(4);
    path.until(State::Cruise);
    assert!((4..=6).contains(&path.bbr.cwnd()), "{}", path.bbr.cwnd());
}
