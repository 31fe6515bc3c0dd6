//! Vegas: keeps two to four packets in the queue.
//!
//! **What it is.** Once per round trip it compares the window with what the path would need without a queue, and grows
//! or shrinks by one.
//!
//! **Source.** Brakmo and Peterson, "TCP Vegas", 1995; Linux `net/ipv4/tcp_vegas.c`.
//!
//! **Parameters.** See [`INFO`].
//!
//! **Deviations.** As Linux: slow start doubles every round trip, not every second one; the backlog is estimated as
//! window x (rtt - base) / base, which exceeds the packets queued by the ratio of rtt to base; the base round trip
//! never ages.
//!
//! **How it is validated.** The rules here; backlog and late-comer effect in the simulator's behaviour tests.

use super::window::{Window, WindowAlgorithm, WindowBased};
use super::{Ack, Acked, Scheme, Setup, State, Timeout, TxStart};
use crate::info::{Info, Kind, Parameter, Quantity};
use crate::units::{Duration, Instant};

/// Name, parameters and source.
pub(super) const INFO: Info = Info {
    name: "vegas",
    title: "TCP Vegas",
    source: "Brakmo and Peterson 1995; Linux net/ipv4/tcp_vegas.c",
    parameters: &[
        Parameter {
            name: "alpha",
            kind: Kind::Number { default: 2.0, min: 0.0, max: 1_000.0 },
            unit: "packets",
            doc: "grow while fewer are queued",
        },
        Parameter {
            name: "beta",
            kind: Kind::Number { default: 4.0, min: 0.0, max: 1_000.0 },
            unit: "packets",
            doc: "shrink while more are queued",
        },
        Parameter {
            name: "gamma",
            kind: Kind::Number { default: 1.0, min: 0.0, max: 1_000.0 },
            unit: "packets",
            doc: "leave slow start when more are queued",
        },
    ],
    telemetry: &[
        Quantity { name: "base_rtt", unit: "ms", doc: "smallest round-trip time ever seen" },
        Quantity {
            name: "backlog",
            unit: "packets",
            doc: "estimate of the packets queued, at the end of the last round",
        },
    ],
};

/// Makes one for a flow that starts.
pub(super) fn new(setup: Setup) -> Box<dyn Scheme> {
    let Setup { parameters, .. } = setup;
    let packets = |name| parameters.number(name) as u64;
    let (alpha, beta, gamma) = (packets("alpha"), packets("beta"), packets("gamma"));
    Box::new(WindowBased::new(Vegas {
        alpha,
        beta,
        gamma,
        state: State::Open,
        is_on: true,
        base_rtt: None,
        round: Round::default(),
        backlog: 0,
    }))
}

/// One round trip.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    /// It ends when this segment is acknowledged.
    end: u64,
    min_rtt: Option<Duration>,
    samples: u32,
}

#[derive(Debug)]
struct Vegas {
    alpha: u64,
    beta: u64,
    gamma: u64,
    /// Of the transport, at the last ack or timeout.
    state: State,
    /// Off while the transport repairs losses, as a rule; Reno rules then (`doing_vegas_now`).
    is_on: bool,
    base_rtt: Option<Duration>,
    round: Round,
    backlog: u64,
}

impl Vegas {
    /// The end of a round with enough samples.
    fn adjust(&mut self, window: &mut Window, ack: &Ack<'_>, rtt: Duration, base: Duration) {
        let cwnd = u64::from(window.cwnd);
        let (rtt, base) = (rtt.as_micros() + 1, base.as_micros() + 1);
        self.backlog = cwnd * (rtt - base) / base;
        if window.is_in_slow_start() {
            if self.backlog > self.gamma {
                window.cwnd = window.cwnd.min((cwnd * base / rtt) as u32 + 1);
                window.ssthresh = window.ssthresh.min(window.cwnd);
            } else {
                window.slow_start(ack.newly_delivered);
            }
        } else if self.backlog > self.beta {
            window.cwnd -= 1;
            window.ssthresh = window.ssthresh.min(window.cwnd);
        } else if self.backlog < self.alpha {
            window.cwnd += 1;
        }
        window.cwnd = window.cwnd.max(2);
        window.ssthresh = window.ssthresh.max(window.cwnd / 2 + window.cwnd / 4);
    }
}

impl WindowAlgorithm for Vegas {
    fn ssthresh_after_loss(&mut self, window: &Window, _now: Instant) -> u32 {
        window.half()
    }

    /// `tcp_vegas_pkts_acked`.
    fn on_acked(&mut self, _window: &mut Window, acked: &Acked) {
        if let Some(rtt) = acked.rtt {
            self.base_rtt = Some(self.base_rtt.map_or(rtt, |base| base.min(rtt)));
            self.round.min_rtt = Some(self.round.min_rtt.map_or(rtt, |least| least.min(rtt)));
            self.round.samples += 1;
        }
    }

    /// `tcp_vegas_state`.
    fn on_ack(&mut self, _window: &mut Window, ack: &Ack<'_>) {
        if ack.state != self.state {
            self.is_on = ack.state == State::Open;
            if self.is_on {
                self.round = Round { end: ack.next_sequence, ..Round::default() };
            }
        }
        self.state = ack.state;
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack<'_>) {
        /// A single sample may be that of a delayed ack.
        const MIN_SAMPLES: u32 = 3;
        if !self.is_on {
            window.grow_as_reno(ack);
        } else if ack.first_unacked > self.round.end {
            let round = std::mem::replace(&mut self.round, Round { end: ack.next_sequence, ..Round::default() });
            match (round.min_rtt, self.base_rtt) {
                (Some(rtt), Some(base)) if round.samples >= MIN_SAMPLES => self.adjust(window, ack, rtt, base),
                _ => window.grow_as_reno(ack),
            }
        } else if window.is_in_slow_start() {
            window.slow_start(ack.newly_delivered);
        }
    }

    fn on_timeout(&mut self, _timeout: &Timeout) {
        self.state = State::Loss;
        self.is_on = false;
    }

    /// What is known of the path is old (`tcp_vegas_cwnd_event_tx_start`). That is so after every timeout with nothing in flight,
    /// too, and Vegas then rules before the losses are repaired.
    fn on_tx_start(&mut self, start: &TxStart) {
        self.base_rtt = None;
        self.round = Round { end: start.next_sequence, ..Round::default() };
        self.is_on = true;
    }

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        if let Some(base_rtt) = self.base_rtt {
            report("base_rtt", base_rtt.as_secs_f64() * 1e3);
        }
        report("backlog", self.backlog as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::window::{ack, acked, timeout};

    const BASE_MS: u64 = 100;
    const START: TxStart = TxStart { now: Instant::ZERO, delivered: 900, next_sequence: 1_100, is_app_limited: false };

    fn vegas() -> Vegas {
        Vegas {
            alpha: 2,
            beta: 4,
            gamma: 1,
            state: State::Open,
            is_on: true,
            base_rtt: None,
            round: Round::default(),
            backlog: 0,
        }
    }

    fn window(cwnd: u32, ssthresh: u32) -> Window {
        let mut window = Window::initial();
        (window.cwnd, window.ssthresh) = (cwnd, ssthresh);
        window
    }

    fn hear(vegas: &mut Vegas, window: &mut Window, ack: &Ack<'_>) {
        vegas.on_acked(window, &acked(ack));
        vegas.on_ack(window, ack);
    }

    /// Acks of one packet each until a round has passed: `samples` of them before the one that ends it.
    fn round(vegas: &mut Vegas, window: &mut Window, rtt: Duration, samples: u64) {
        let first = vegas.round.end + 1 - samples;
        for n in 0..=samples {
            let ack = Ack { first_unacked: first + n, next_sequence: 10_000 + first + n, rtt: Some(rtt), ..ack(1) };
            hear(vegas, window, &ack);
            vegas.grow(window, &ack);
        }
    }

    /// A sender that knows the base and is in the middle of a round.
    fn informed() -> Vegas {
        let mut vegas = vegas();
        vegas.base_rtt = Some(Duration::from_millis(BASE_MS));
        vegas.round.end = 1_000;
        vegas
    }

    fn rtt_with(backlog_per_window: f64) -> Duration {
        Duration::from_secs_f64(BASE_MS as f64 / 1e3 * (1.0 + backlog_per_window))
    }

    #[test]
    fn two_to_four_packets_are_enough() {
        for (backlog, cwnd) in [(0.0, 101), (1.5, 101), (2.5, 100), (4.5, 100), (5.5, 99), (50.5, 99)] {
            let (mut vegas, mut window) = (informed(), window(100, 50));
            round(&mut vegas, &mut window, rtt_with(backlog / 100.0), 10);
            assert_eq!((window.cwnd, vegas.backlog), (cwnd, backlog as u64));
        }
    }

    #[test]
    fn shrinking_is_not_a_return_to_slow_start() {
        let (mut vegas, mut window) = (informed(), window(100, 100));
        round(&mut vegas, &mut window, rtt_with(0.5), 10);
        assert_eq!((window.cwnd, window.ssthresh), (99, 99));
    }

    #[test]
    fn slow_start_ends_when_a_round_shows_a_queue() {
        let (mut vegas, mut window) = (informed(), window(100, u32::MAX));
        round(&mut vegas, &mut window, rtt_with(0.0), 10);
        assert_eq!(window.cwnd, 111, "one packet for each of eleven acks");
        vegas.round.end = 1_000;
        round(&mut vegas, &mut window, rtt_with(1.0), 10);
        // 121 packets at twice the base: half of them are the path's.
        assert_eq!((window.cwnd, window.ssthresh), (61, 61));
    }

    #[test]
    fn two_samples_are_too_few_to_judge() {
        for (samples, cwnd) in [(1, 100), (2, 99)] {
            let (mut vegas, mut window) = (informed(), window(100, 50));
            round(&mut vegas, &mut window, rtt_with(0.5), samples);
            assert_eq!(window.cwnd, cwnd, "{samples} samples and that of the last ack");
        }
    }

    #[test]
    fn the_least_round_trip_of_a_round_counts() {
        let (mut vegas, mut window) = (informed(), window(100, 50));
        let ack = Ack { first_unacked: 900, rtt: Some(rtt_with(0.035)), ..ack(1) };
        hear(&mut vegas, &mut window, &ack);
        round(&mut vegas, &mut window, rtt_with(0.5), 10);
        assert_eq!((window.cwnd, vegas.backlog), (100, 3));
    }

    #[test]
    fn while_losses_are_repaired_it_is_reno() {
        let (mut vegas, mut window) = (informed(), window(100, 50));
        vegas.round.samples = 10;
        let lossy = Ack { state: State::Loss, first_unacked: 2_000, rtt: Some(rtt_with(0.5)), ..ack(100) };
        hear(&mut vegas, &mut window, &lossy);
        vegas.grow(&mut window, &lossy);
        assert_eq!(window.cwnd, 101);
        let open = Ack { state: State::Open, next_sequence: 5_000, ..lossy };
        hear(&mut vegas, &mut window, &open);
        assert_eq!((vegas.round.end, vegas.round.samples), (5_000, 0), "a new round begins after the first good ack");
    }

    #[test]
    fn what_leaves_while_nothing_is_in_flight_forgets_the_base() {
        let mut vegas = informed();
        vegas.on_tx_start(&START);
        assert_eq!((vegas.base_rtt, vegas.round.end, vegas.round.samples), (None, START.next_sequence, 0));
    }

    #[test]
    fn after_a_timeout_with_nothing_in_flight_it_rules_at_once() {
        let (mut vegas, mut window) = (informed(), window(100, 50));
        let lossy = Ack { state: State::Loss, first_unacked: 950, next_sequence: 1_100, rtt: None, ..ack(200) };
        vegas.on_timeout(&timeout(true));
        hear(&mut vegas, &mut window, &lossy);
        vegas.grow(&mut window, &lossy);
        let by_reno = window.cwnd;
        assert!(by_reno > 100, "with some in flight Reno rules");
        vegas.on_timeout(&timeout(true));
        vegas.on_tx_start(&START);
        hear(&mut vegas, &mut window, &lossy);
        vegas.grow(&mut window, &lossy);
        assert_eq!(window.cwnd, by_reno, "Vegas waits for the end of its round");
        hear(&mut vegas, &mut window, &Ack { state: State::Recovery, ..lossy });
        assert!(!vegas.is_on, "until the state changes");
    }
}
