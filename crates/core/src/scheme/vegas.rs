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
//! window x (rtt - base) / base, which exceeds the packets queued by the ratio of rtt to base; the base round trip is
//! forgotten only when the flow sends again with nothing in flight. Unlike there, that product has more than 32 bits:
//! thousands of packets times a second overflow in Linux.
//!
//! **How it is validated.** The rules here; backlog and late-comer effect in the simulator's behaviour tests; beside
//! the kernel's own code, event by event, in docs/event-by-event.md.

use super::window::{Window, WindowAlgorithm, WindowBased};
use super::{Ack, Acked, Parameters, Scheme, Setup, State, Timeout, TxStart};
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
        Quantity { name: "base_rtt", unit: "ms", doc: "smallest round-trip time since nothing was in flight" },
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
    Box::new(WindowBased::new(Vegas::new(&parameters)))
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
    /// Of the transport, at the last ack, reduction or timeout.
    state: State,
    /// Off while the transport repairs losses, as a rule; Reno rules then (`doing_vegas_now`).
    is_on: bool,
    base_rtt: Option<Duration>,
    round: Round,
    backlog: u64,
}

impl Vegas {
    fn new(parameters: &Parameters) -> Self {
        let number = |name| parameters.number(name);
        Self {
            // A backlog is whole: less than two and a half is less than three.
            alpha: number("alpha").ceil() as u64,
            beta: number("beta") as u64,
            gamma: number("gamma") as u64,
            state: State::Open,
            is_on: true,
            base_rtt: None,
            round: Round::default(),
            backlog: 0,
        }
    }

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
    /// A reduction begins, not always with an ack; that for a tail loss is over with the ack that shows it
    /// (`tcp_process_tlp_ack`), and so is the round.
    fn ssthresh_after_loss(&mut self, window: &Window, _now: Instant) -> u32 {
        self.state = State::Recovery;
        self.is_on = false;
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

    /// What is known of the path is old (`tcp_vegas_cwnd_event_tx_start`). That is so after every timeout with nothing
    /// in flight, too, and Vegas then rules before the losses are repaired.
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
mod tests;
