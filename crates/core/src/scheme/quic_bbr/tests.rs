//! The whole controller, fed with the acks of an ideal path: one packet per millisecond, 40 ms of round trip.

#![expect(clippy::float_cmp, reason = "gains are constants")]

use std::collections::{BTreeSet, VecDeque};

use super::model::CYCLE;
use super::*;
use crate::scheme::window::{ack as one_ack, timeout};
use crate::units::Bytes;

struct Path {
    bbr: QuicBbr,
    now: Instant,
    gap: Duration,
    /// How many are in flight after an ack.
    in_flight: usize,
    /// Numbers of those in flight.
    sent: VecDeque<u64>,
    rtt: Duration,
}

impl Path {
    fn new(drains_to_target: bool, seed: u64) -> Self {
        let options = Options {
            drains_to_target,
            startup_gain: 2.885,
            startup_growth: 1.25,
            initial_window: 32 * MSS,
            pace: 1.0,
            clock: Clock::default(),
        };
        let size = PacketSize::of(Bytes::new(1_488), Bytes::new(1_420));
        let bbr = QuicBbr::new(size, options, RoundTrips::default(), RandomStream::new(seed, "quic_bbr"));
        let (sent, rtt) = (VecDeque::new(), Duration::from_millis(40));
        Self { bbr, now: Instant::ZERO + rtt, gap: Duration::from_millis(1), in_flight: 39, sent, rtt }
    }

    /// In the gain cycle, with more in flight than it drains to, at the beginning of the phase that probes.
    fn probing(drains_to_target: bool, seed: u64) -> Self {
        let mut path = Self::new(drains_to_target, seed);
        for _ in 0..300 {
            path.ack(0);
        }
        assert_eq!(path.bbr.mode, Mode::ProbeBandwidth);
        path.in_flight = 60;
        path.until(|bbr| bbr.phase == 7);
        path.until(|bbr| bbr.phase == 0);
        path
    }

    /// It counts as sent again, so that its round trip is what the ack echoes.
    fn send(&mut self) {
        let number = self.bbr.on_sent(&Sent {
            now: self.now,
            size: Bytes::new(1_420),
            is_retransmission: true,
            in_flight: 1,
            delivered: 0,
        });
        self.sent.push_back(number);
    }

    fn lose(&mut self, packet: u64) {
        self.bbr.on_lost(&Lost { now: self.now, size: Bytes::new(1_420), packet, is_timer: false });
    }

    fn ack(&mut self, newly_lost: u32) {
        while let Some(needless) = (self.sent.len() > self.in_flight + 1).then(|| self.sent.pop_back()).flatten() {
            self.lose(needless);
            self.bbr.flight.take_losses();
        }
        while self.sent.len() <= self.in_flight + newly_lost as usize {
            self.send();
        }
        self.now += self.gap;
        for _ in 0..newly_lost {
            let oldest = self.sent.pop_front().unwrap();
            self.lose(oldest);
        }
        let number = self.sent.pop_front().unwrap();
        let in_flight = self.in_flight as u32;
        self.bbr.on_ack(&Ack { now: self.now, in_flight, rtt: Some(self.rtt), packets: &[number], ..one_ack(1) });
    }

    fn until(&mut self, is_done: impl Fn(&QuicBbr) -> bool) -> u64 {
        let before = self.now;
        while !is_done(&self.bbr) {
            self.ack(0);
            assert!(self.now.since(before) < Duration::from_secs(30), "never");
        }
        self.now.since(before).as_millis()
    }
}

#[test]
fn start_up_ends_after_three_rounds_and_drain_has_the_inverse_gain() {
    let mut path = Path::new(false, 1);
    path.in_flight = 100;
    path.until(|bbr| bbr.mode == Mode::Drain);
    assert_eq!((path.bbr.pacing_gain, path.bbr.cwnd_gain), (1.0 / 2.885, 2.885));
    path.in_flight = 39;
    path.until(|bbr| bbr.mode == Mode::ProbeBandwidth);
    assert_eq!(path.bbr.cwnd_gain, 2.0);
}

#[test]
fn the_cycle_begins_anywhere_but_in_the_draining_phase() {
    let phases: BTreeSet<_> = (0..200)
        .map(|seed| {
            let mut path = Path::new(false, seed);
            path.until(|bbr| bbr.mode == Mode::ProbeBandwidth);
            path.bbr.phase
        })
        .collect();
    assert_eq!(phases, BTreeSet::from([0, 2, 3, 4, 5, 6, 7]));
}

#[test]
fn a_probe_and_a_drain_are_followed_by_six_phases_at_the_bandwidth() {
    let mut path = Path::probing(false, 1);
    let gains: Vec<_> = (0..8)
        .map(|phase| {
            path.until(|bbr| bbr.phase == phase);
            path.bbr.pacing_gain
        })
        .collect();
    assert_eq!(gains, [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
}

#[test]
fn a_limited_sample_counts_only_where_it_is_the_most() {
    for (gap_us, is_limited, expected) in [(2_000, false, 0.5), (2_000, true, 1.0), (500, true, 2.0)] {
        let mut path = Path::probing(false, 1);
        let before = path.bbr.max_bandwidth().0 as f64;
        path.gap = Duration::from_micros(gap_us);
        for _ in 0..1_000 {
            if is_limited {
                path.bbr.flight.on_app_limited();
            }
            path.ack(0);
        }
        let ratio = path.bbr.max_bandwidth().0 as f64 / before;
        assert!((ratio - expected).abs() < 0.05, "{gap_us} us, {is_limited}: {ratio}");
    }
}

#[test]
fn the_most_of_ten_rounds_counts() {
    let mut bbr = Path::new(false, 1).bbr;
    for most in [&mut bbr.bandwidth, &mut bbr.ack_height] {
        most.update(0, 9);
        let later = [10, 11].map(|round| {
            most.update(round, 1);
            most.get()
        });
        assert_eq!(later, [9, 1]);
    }
}

#[test]
fn without_the_flag_draining_ends_after_a_round_trip() {
    let mut path = Path::probing(false, 3);
    path.until(|bbr| bbr.phase == 1);
    assert_eq!(path.bbr.pacing_gain, CYCLE[1]);
    assert_eq!(path.until(|bbr| bbr.phase == 2), 41);
    assert_eq!(path.bbr.pacing_gain, 1.0);
}

#[test]
fn with_the_flag_it_goes_on_until_one_bdp_is_in_flight() {
    let mut path = Path::probing(true, 3);
    path.until(|bbr| bbr.phase == 1);
    for phase in 2..=4 {
        path.until(|bbr| bbr.phase == phase);
        assert_eq!(path.bbr.pacing_gain, CYCLE[1], "phase {phase}");
    }
    path.in_flight = 39;
    path.ack(0);
    assert_eq!((path.bbr.phase, path.bbr.pacing_gain), (5, 1.0), "the next phase, at once");
    path.in_flight = 60;
    path.until(|bbr| bbr.phase == 6);
    assert_eq!(path.bbr.pacing_gain, 1.0, "and no draining in the middle of the cycle");
}

#[test]
fn with_the_flag_the_next_probe_ends_the_draining_all_the_same() {
    let mut path = Path::probing(true, 4);
    path.until(|bbr| bbr.phase == 7);
    assert_eq!(path.bbr.pacing_gain, CYCLE[1]);
    path.until(|bbr| bbr.phase == 0);
    assert_eq!(path.bbr.pacing_gain, CYCLE[0]);
}

#[test]
fn a_probe_lasts_until_enough_is_in_flight_or_something_is_lost() {
    let mut path = Path::probing(false, 5);
    path.in_flight = 45;
    for _ in 0..100 {
        path.ack(0);
    }
    assert_eq!(path.bbr.phase, 0, "a quarter more than 40 packets was not reached");
    path.ack(1);
    assert_eq!(path.bbr.phase, 1);
}

#[test]
fn losses_limit_start_up_and_what_follows() {
    let mut path = Path::new(false, 6);
    path.in_flight = 20;
    path.ack(0);
    path.ack(5);
    assert_eq!((path.bbr.mode, path.bbr.cwnd()), (Mode::StartUp, 21), "what is in flight, and what has arrived");
    let mut path = Path::probing(false, 6);
    let before = path.bbr.cwnd();
    path.ack(5);
    assert_eq!(path.bbr.recovery.phase, recovery::Phase::Conservation);
    assert_eq!(path.bbr.cwnd(), 61, "what is in flight, and what has arrived, of {before}");
}

#[test]
fn after_a_timeout_nothing_leaves_until_an_ack_whose_losses_do_not_count() {
    let mut path = Path::probing(false, 6);
    let before = path.bbr.cwnd();
    assert!(path.bbr.has_room(0));
    path.bbr.on_timeout(&Timeout { now: path.now, prior_in_flight: 60, ..timeout(true) });
    assert!(!path.bbr.has_room(0));
    path.ack(5);
    assert!(path.bbr.has_room(0));
    assert_eq!((path.bbr.recovery.phase, path.bbr.cwnd()), (recovery::Phase::None, before));
    path.ack(5);
    assert_eq!(path.bbr.recovery.phase, recovery::Phase::Conservation);
}

#[test]
fn the_margin_lowers_the_pace_and_nothing_else() {
    let rates = [1.0, 0.99].map(|pace| {
        let mut path = Path::new(false, 8);
        path.bbr.options.pace = pace;
        path.until(|bbr| bbr.mode == Mode::ProbeBandwidth);
        path.bbr.pacing_rate().map(Rate::as_bits_per_second).unwrap() as f64
    });
    assert!((rates[1] / rates[0] - 0.99).abs() < 1e-4, "{rates:?}");
}

#[test]
fn start_up_begins_with_the_initial_window_in_the_round_trip_that_was_told_or_a_shorter_one_that_is_measured() {
    let rate = [None, Some(Duration::from_millis(100)), Some(Duration::from_millis(10))].map(|first_rtt| {
        let mut path = Path::new(false, 9);
        path.bbr.trips = RoundTrips::with_first(first_rtt);
        path.ack(0);
        path.bbr.pacing_rate.0 / 8
    });
    let window = 32 * MSS;
    assert_eq!(rate, [window * 25, window * 25, window * 100], "bytes per second, with 40 ms measured");
}

#[test]
fn after_ten_seconds_four_packets_show_the_empty_path() {
    let mut path = Path::probing(false, 7);
    path.rtt = Duration::from_millis(45);
    path.until(|bbr| bbr.mode == Mode::ProbeRtt);
    // 40 ms were first seen with the first ack, at 41.
    assert_eq!(path.now, Instant::ZERO + Duration::from_millis(10_042));
    assert_eq!(path.bbr.cwnd(), 4, "4 MSS of 1460 bytes in packets of 1460");
    assert_eq!(path.bbr.pacing_gain, 1.0);
    path.in_flight = 3;
    let took = path.until(|bbr| bbr.mode == Mode::ProbeBandwidth);
    assert!((200..=205).contains(&took), "{took} ms");
    assert_eq!(path.bbr.min_rtt, Some(Duration::from_millis(45)));
    path.in_flight = 60;
    assert_eq!(path.until(|bbr| bbr.mode == Mode::ProbeRtt), 10_001, "and again ten seconds after that");
}

#[test]
fn an_ack_without_a_sample_begins_no_probe_of_the_round_trip() {
    let mut path = Path::probing(false, 1);
    path.rtt = Duration::from_millis(50);
    path.now += Duration::from_secs(11);
    let given_up = path.sent.pop_front().unwrap();
    path.lose(given_up);
    path.bbr.flight.take_losses();
    let next = path.sent.pop_front().unwrap();
    for (packet, mode) in [(given_up, Mode::ProbeBandwidth), (next, Mode::ProbeRtt)] {
        path.bbr.on_ack(&Ack { now: path.now, in_flight: 60, rtt: Some(path.rtt), packets: &[packet], ..one_ack(1) });
        assert_eq!(path.bbr.mode, mode);
    }
}

#[test]
fn a_probe_of_the_round_trip_lasts_until_a_round_begins() {
    let mut path = Path::probing(false, 7);
    path.rtt = Duration::from_millis(45);
    path.until(|bbr| bbr.mode == Mode::ProbeRtt);
    path.in_flight = 3;
    path.ack(0);
    path.now += Duration::from_millis(300);
    path.ack(0);
    assert_eq!(path.bbr.mode, Mode::ProbeRtt, "the packets of the old round are still under way");
    assert!(path.until(|bbr| bbr.mode == Mode::ProbeBandwidth) <= 4);
}

#[test]
fn less_than_four_mss_and_a_packet_in_flight_is_small_enough() {
    // 4 MSS and 1451 or 1452 bytes, of which 40 are no payload.
    for (last, is_small) in [(1_411, true), (1_412, false)] {
        let mut path = Path::probing(false, 7);
        path.bbr.flight = Flight::new(40, Clock::default());
        let [number, ..] = [1_420, 1_420, 1_420, 1_420, 1_420, last].map(|payload| {
            let (now, size) = (path.now, Bytes::new(payload));
            path.bbr.on_sent(&Sent { now, size, is_retransmission: false, in_flight: 1, delivered: 0 })
        });
        path.now += Duration::from_secs(11);
        let (now, rtt) = (path.now, Some(path.rtt));
        path.bbr.on_ack(&Ack { now, rtt, in_flight: 5, packets: &[number], ..one_ack(1) });
        assert_eq!((path.bbr.mode, path.bbr.probe_end.is_some()), (Mode::ProbeRtt, is_small));
    }
}

#[test]
fn conservation_lasts_a_whole_round_from_the_loss() {
    let mut path = Path::probing(false, 6);
    let rounds = path.bbr.rounds;
    path.until(|bbr| bbr.rounds > rounds);
    (0..30).for_each(|_| path.ack(0));
    path.ack(5);
    // What begins the next round was sent after the loss, and ends the recovery.
    for _ in 0..60 {
        assert_eq!(path.bbr.recovery.phase, recovery::Phase::Conservation);
        path.ack(0);
    }
    path.ack(0);
    assert_eq!(path.bbr.recovery.phase, recovery::Phase::None);
}

#[test]
fn what_acks_lump_together_is_added_to_the_window() {
    let mut path = Path::probing(false, 7);
    let height = path.bbr.ack_height.get();
    assert!(height < 5 * MSS, "{height}");
    let before = path.now;
    for _ in 0..10 {
        path.now = before;
        path.ack(0);
    }
    let height = path.bbr.ack_height.get();
    assert!(height.abs_diff(10 * MSS) <= 1, "{height}");
    path.now += Duration::from_millis(10);
    (0..100).for_each(|_| path.ack(0));
    assert_eq!(path.bbr.window, path.bbr.target_window(2.0) + height);
}

#[test]
fn in_start_up_a_window_above_the_target_grows_only_while_little_has_been_delivered() {
    let mut path = Path::new(false, 6);
    path.bbr.window = 1_000 * MSS;
    (0..31).for_each(|_| path.ack(0));
    assert_eq!(path.bbr.window, 1_031 * MSS);
    (0..9).for_each(|_| path.ack(0));
    assert_eq!((path.bbr.mode, path.bbr.window), (Mode::StartUp, 1_031 * MSS), "32 MSS are enough");
}

#[test]
fn an_idle_time_is_as_good_as_a_probe_of_the_round_trip() {
    for (is_app_limited, mode) in [(true, Mode::ProbeBandwidth), (false, Mode::ProbeRtt)] {
        let mut path = Path::probing(false, 7);
        path.rtt = Duration::from_millis(45);
        path.in_flight = 0;
        path.ack(0);
        assert_eq!(path.bbr.flight.bytes(), 0);
        if is_app_limited {
            path.bbr.on_app_limited();
        }
        path.now += Duration::from_secs(11);
        path.ack(0);
        assert_eq!(path.bbr.mode, mode, "{is_app_limited}");
        assert_eq!(path.bbr.min_rtt, Some(path.rtt), "what was known is too old in either case");
    }
    let mut path = Path::probing(false, 7);
    path.in_flight = 0;
    path.ack(0);
    path.bbr.on_app_limited();
    path.ack(0);
    path.now += Duration::from_secs(11);
    path.ack(0);
    assert_eq!(path.bbr.mode, Mode::ProbeRtt, "once is not for ever");
}

#[test]
fn start_up_and_a_recovery_are_those_of_the_original_to_the_byte() {
    // 300 packets of 1472 bytes, one every 0.8 ms, come back 40 ms later, one every millisecond and up to 14
    // microseconds; the 150th is lost. Window and bits per second that `BbrSender` of google/quiche 790af403 has after
    // some of the acks.
    let expected = [
        (1, 48_192, 9_342_360),
        (2, 49_664, 9_342_360),
        (10, 61_440, 9_342_360),
        (60, 110_016, 33_982_900),
        (152, 170_368, 33_982_900),
        (153, 129_536, 33_982_900),
        (154, 131_008, 33_982_900),
        (200, 147_200, 33_982_900),
        (300, 170_368, 33_982_900),
    ];
    let mut bbr = Path::new(false, 1).bbr;
    bbr.packet = PacketSize::of(Bytes::new(1_500), Bytes::new(1_472));
    bbr.flight = Flight::new(0, Clock::default());
    let (micros, size) = (|count| Instant::ZERO + Duration::from_micros(count), Bytes::new(1_472));
    let mut sent = 0;
    for number in (1_u64..=300).filter(|number| *number != 150) {
        let now = micros(39_000 + 1_000 * number + 7 * (number % 3));
        while sent < 300 && micros(800 * sent) < now {
            let now = micros(800 * sent);
            bbr.on_sent(&Sent { now, size, is_retransmission: false, in_flight: 1, delivered: 0 });
            sent += 1;
        }
        if number == 153 {
            bbr.on_lost(&Lost { now, size, packet: 150, is_timer: false });
        }
        bbr.on_ack(&Ack { now, rtt: None, in_flight: 1_000, packets: &[number], ..one_ack(1) });
        if let Some((_, window, rate)) = expected.iter().find(|(after, ..)| *after == number) {
            assert_eq!((bbr.usable_window(), bbr.pacing_rate.0), (*window, *rate), "after ack {number}");
        }
    }
}

#[test]
fn what_a_timer_finds_lost_is_gone_at_once_and_begins_no_recovery() {
    let lose = |path: &mut Path| {
        let packet = path.sent.pop_front().unwrap();
        path.bbr.on_lost(&Lost { now: path.now, size: Bytes::new(1_420), packet, is_timer: true });
    };
    let mut path = Path::probing(false, 6);
    let (before, window) = (path.bbr.flight.bytes(), path.bbr.usable_window());
    lose(&mut path);
    assert_eq!((path.bbr.flight.bytes(), path.bbr.usable_window()), (before - MSS, window));
    assert_eq!(path.bbr.recovery.phase, recovery::Phase::None);
    path.ack(5);
    let window = path.bbr.usable_window();
    lose(&mut path);
    assert_eq!(path.bbr.usable_window(), window - MSS, "one that is under way has room for a packet less");
}

#[test]
fn a_round_ends_with_the_ack_of_a_packet_that_left_after_it_began() {
    let mut bbr = Path::new(false, 1).bbr;
    let (at, size) = (|millis| Instant::ZERO + Duration::from_millis(millis), Bytes::new(1_420));
    let sent = |millis| Sent { now: at(millis), size, is_retransmission: false, in_flight: 1, delivered: 0 };
    (0..3).for_each(|_| _ = bbr.on_sent(&sent(0)));
    let rounds = [1, 2, 3, 4].map(|number: u64| {
        if number == 4 {
            bbr.on_sent(&sent(44));
        }
        bbr.on_ack(&Ack { now: at(40 + number), rtt: None, in_flight: 3, packets: &[number], ..one_ack(1) });
        bbr.rounds
    });
    assert_eq!(rounds, [1, 1, 1, 2]);
}
