//! The whole controller, fed with the acks of an ideal path: one packet per millisecond unless a test says otherwise.

mod phases;
mod window;

use super::*;
use crate::scheme::RateSample;
use crate::units::Bytes;

const CURRENT: Generation = Generation::CURRENT;
const OLD: Generation = Generation::OF_2018;

/// Acks of a path that delivers one packet every `gap`.
struct Path {
    bbr: Bbr,
    now: Instant,
    gap: Duration,
    rtt: Duration,
    in_flight: u32,
    /// How long the pacer holds the next packet back after an ack.
    held: Duration,
    delivered: u64,
    state: State,
}

impl Path {
    fn new(generation: Generation, seed: u64) -> Self {
        let mut bbr = Bbr::new(1_448, 1_500, generation, RandomStream::new(seed, "bbr"));
        bbr.on_connected(&Connected { initial_window: INITIAL_WINDOW, srtt: Some(Duration::from_millis(40)) });
        Self {
            bbr,
            now: Instant::ZERO,
            gap: Duration::from_millis(1),
            rtt: Duration::from_millis(40),
            in_flight: 40,
            held: Duration::ZERO,
            delivered: 0,
            state: State::Open,
        }
    }

    /// Past start-up and drain, in the gain cycle; with enough in flight to end the phase that probes, too much to end
    /// the one that drains early.
    fn probing(generation: Generation, seed: u64) -> Self {
        let mut path = Self::new(generation, seed);
        path.acks(300);
        assert_eq!(path.bbr.mode, Mode::ProbeBandwidth);
        path.in_flight = 60;
        path
    }

    fn ack(&mut self) {
        self.ack_with_losses(0);
    }

    fn ack_with_losses(&mut self, newly_lost: u32) {
        self.now += self.gap;
        self.delivered += 1;
        (0..newly_lost).for_each(|_| {
            self.bbr.on_lost(&Lost { now: self.now, size: Bytes::new(1_448), packet: 0, is_timer: false });
        });
        let in_flight = u64::from(self.in_flight);
        let rate = RateSample {
            delivered: in_flight,
            interval: Some(self.gap * in_flight),
            prior_delivered: self.delivered.saturating_sub(in_flight),
            is_app_limited: false,
            is_retransmission: false,
        };
        self.bbr.on_ack(&Ack {
            now: self.now,
            newly_delivered: 1,
            newly_delivered_bytes: Bytes::new(1_448),
            newly_lost,
            is_advance: true,
            may_raise_cwnd: true,
            is_cwnd_limited: true,
            max_packets_out: self.in_flight,
            prior_in_flight: self.in_flight,
            in_flight: self.in_flight,
            state: self.state,
            rtt: Some(self.rtt),
            srtt: self.rtt,
            min_rtt: self.rtt,
            is_delayed: false,
            one_way_delay: None,
            rate,
            delivered: self.delivered,
            first_unacked: self.delivered,
            next_sequence: self.delivered + in_flight,
            next_departure: self.now + self.held,
            is_ecn_echo: false,
            packets: &[],
        });
    }

    fn acks(&mut self, count: usize) {
        for _ in 0..count {
            self.ack();
        }
    }

    fn ack_until(&mut self, is_done: impl Fn(&Bbr) -> bool) -> u64 {
        let before = self.now;
        while !is_done(&self.bbr) {
            self.ack();
            assert!(self.now.since(before) < Duration::from_secs(30), "never");
        }
        self.now.since(before).as_millis()
    }

    fn pacing_bytes(&self) -> u64 {
        self.bbr.pacing_rate
    }
}
