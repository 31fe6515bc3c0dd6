//! BBR version 3: a model of the path with a bound that losses set, and probes that are rare and careful.
//!
//! **What it is.** As in version 1 the most that was delivered and the shortest round trip set rate and window. New are
//! a long-term bound on what is in flight, which heavy loss while probing lowers; short-term bounds on rate and flight,
//! which losses at other times lower until the next probe; and a cycle of probing that takes two to three seconds, or
//! as many rounds as Reno would.
//!
//! **Source.** draft-ietf-ccwg-bbr (working-group text of 3 August 2026, ietf-wg-ccwg/draft-ietf-ccwg-bbr 4ce5e87).
//! Every state is a file; functions and variables of the draft's pseudocode stand beside the parts.
//!
//! **Parameters.** None: the draft's constants.
//!
//! **Deviations.**
//! - Volumes are packets of one MSS. The window is whole packets, rounded down.
//! - Whether a lost packet was sent by a limited application is not known here; the newest delivery sample stands for
//!   it.
//! - The application limits what leaves after it writes again, as in Linux; the draft also looks at each ack and timer.
//! - `BBRStartupFullLossCnt` counts runs of transmissions, by the order in which they left.
//! - A cycle of probing without any sample does not advance the bandwidth filter.
//! - What an undo restores is saved with the first loss of an episode. The draft saves it again with later losses of
//!   the same ack, with a timeout that they come with, and with the first loss of every further round, when the first
//!   has already changed it.
//! - Drain is bounded as in the draft's `BoundCwndForModel`: not by `inflight_longterm`, which its summary of the
//!   states names.
//! - The ten seconds of the minimum of the handshake begin with the first ack.
//! - Without a handshake the initial pacing rate is set again with the first round trip, as in Linux.
//! - A careful probe ends when the flight before an ack has reached the bound in whole packets, as in Linux's version 3
//!   (`bbr_update_cycle_phase`). The draft's pseudocode compares `C.inflight`, which the ack has already lowered; where
//!   the window is the bound, that never reaches it.
//! - ECN is ignored, as in the draft.
//!
//! **How it is validated.** The draft's example test cases here and in the simulator's behaviour tests; utilisation,
//! queue, loss in shallow buffers, and tolerance of random loss there too. Beside Linux' version 3, event by event,
//! with the draft's sentences in the place of what Linux does otherwise (`docs/event-by-event.md`).

mod control;
mod cruise;
mod down;
mod drain;
mod long_term;
mod model;
mod probe_rtt;
mod refill;
mod sample;
mod startup;
mod telemetry;
#[cfg(test)]
mod tests;
mod undo;
mod up;

use self::long_term::Losses;
use self::model::{Aggregation, FullBw, Latest, MaxBw, Rounds};
use self::probe_rtt::MinRtt;
use self::sample::{Sample, Stamp};
use self::undo::{Saved, Undo};
use super::bbr::bandwidth::Limited;
use super::{Ack, Acked, Cause, Congestion, Connected, INITIAL_WINDOW, Lost, Scheme, Sent, Setup, Timeout, TxStart};
use crate::info::Info;
use crate::random::RandomStream;
use crate::units::{Bytes, Duration, Instant, Rate};

/// `BBR.DefaultCwndGain`.
const CWND_GAIN: f64 = 2.0;

/// Name, parameters and source.
pub(super) const INFO: Info = Info {
    name: "bbr3",
    title: "BBRv3",
    source: "draft-ietf-ccwg-bbr, text of August 2026",
    parameters: &[],
    telemetry: telemetry::QUANTITIES,
};

/// Makes one for a flow that starts.
pub(super) fn new(setup: Setup) -> Box<dyn Scheme> {
    let Setup { mss, packet_size, random, .. } = setup;
    Box::new(Bbr3::new(mss, packet_size, random))
}

/// `BBR.state`; in this order the numbers of the telemetry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    /// `IsInAProbeBWState`.
    fn is_probe_bw(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }
}

/// Which part of a probe the acks belong to (`BBR.ack_phase`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// What is being repaired (`InLossRecovery`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recovery {
    /// A fast recovery, since this round.
    Fast(u64),
    /// A timeout, or a tail.
    Other,
}

#[derive(Debug)]
struct Bbr3 {
    /// Bytes of payload, and of a whole packet.
    mss: f64,
    packet_size: f64,
    random: RandomStream,

    /// Packets (`C.InitialCwnd`, `C.cwnd`).
    initial_window: u32,
    cwnd: u32,
    prior_cwnd: u32,
    /// Packets per second.
    pacing_rate: f64,
    /// The same as the transport is told.
    packet_rate: Rate,
    pacing_gain: f64,
    cwnd_gain: f64,

    state: State,
    rounds: Rounds,
    max_bw: MaxBw,
    bw: f64,
    full_bw: FullBw,
    aggregation: Aggregation,
    min_rtt: MinRtt,
    limited: Limited,
    is_idle_restart: bool,
    drain_start_round: u64,

    /// `C.delivered`, `C.lost`, transmissions so far, and whether the newest sample was limited by the application.
    delivered: u64,
    lost: u64,
    sent: u64,
    is_app_limited: bool,

    latest: Latest,
    losses: Losses,
    bw_shortterm: f64,
    inflight_shortterm: f64,
    inflight_longterm: f64,
    recovery: Option<Recovery>,
    undo: Saved,

    ack_phase: AckPhase,
    is_bw_probe_sample: bool,
    prev_probe_too_high: bool,
    prev_probe_precautionary: bool,
    rounds_since_probe_up: u32,
    bw_probe_wait: Duration,
    cycle_stamp: Instant,
    probe_up_rounds: u32,
    probe_up_acked: f64,
    probe_up_acked_per_inc: f64,
}

impl Bbr3 {
    /// `OnInit`.
    fn new(mss: Bytes, packet_size: Bytes, random: RandomStream) -> Self {
        Self {
            mss: mss.count() as f64,
            packet_size: packet_size.count() as f64,
            random,
            initial_window: INITIAL_WINDOW,
            cwnd: INITIAL_WINDOW,
            prior_cwnd: 0,
            pacing_rate: 0.0,
            packet_rate: Rate::default(),
            pacing_gain: startup::PACING_GAIN,
            cwnd_gain: CWND_GAIN,
            state: State::Startup,
            rounds: Rounds::default(),
            max_bw: MaxBw::default(),
            bw: 0.0,
            full_bw: FullBw::default(),
            aggregation: Aggregation::new(),
            min_rtt: MinRtt::default(),
            limited: Limited::default(),
            is_idle_restart: false,
            drain_start_round: 0,
            delivered: 0,
            lost: 0,
            sent: 0,
            is_app_limited: false,
            latest: Latest::default(),
            losses: Losses::default(),
            bw_shortterm: f64::INFINITY,
            inflight_shortterm: f64::INFINITY,
            inflight_longterm: f64::INFINITY,
            recovery: None,
            undo: Saved::default(),
            ack_phase: AckPhase::Init,
            is_bw_probe_sample: false,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            rounds_since_probe_up: 0,
            bw_probe_wait: Duration::ZERO,
            cycle_stamp: Instant::ZERO,
            probe_up_rounds: 0,
            probe_up_acked: 0.0,
            probe_up_acked_per_inc: f64::INFINITY,
        }
    }

    /// `UpdateProbeBWCyclePhase`.
    fn update_probe_bw(&mut self, sample: &Sample) {
        if !self.full_bw.is_reached || self.adapt_long_term_model(sample) {
            return;
        }
        match self.state {
            State::Down => self.leave_down(sample),
            State::Cruise => self.leave_cruise(sample),
            State::Refill => self.leave_refill(sample),
            State::Up => self.leave_up(sample),
            State::Startup | State::Drain | State::ProbeRtt => {}
        }
    }
}

impl Scheme for Bbr3 {
    fn cwnd(&self) -> u32 {
        self.cwnd
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.packet_rate).filter(|rate| !rate.is_zero())
    }

    /// The part of `OnInit` that needs a connection.
    fn on_connected(&mut self, connected: &Connected) {
        (self.initial_window, self.cwnd) = (connected.initial_window, connected.initial_window);
        self.init_pacing_rate(connected.srtt);
        self.min_rtt.begin(connected.srtt);
    }

    fn on_sent(&mut self, sent: &Sent) -> u64 {
        self.sent += 1;
        Stamp::new(self.sent, self.lost, sent).pack()
    }

    /// What is lost because of an ack is lost after what it delivers.
    fn on_acked(&mut self, acked: &Acked) {
        self.delivered += u64::from(acked.newly_delivered);
    }

    /// `UpdateOnACK`.
    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.delivered = ack.delivered;
        if self.min_rtt.value.is_none() && ack.rtt.is_some() {
            self.init_pacing_rate(Some(ack.srtt));
        }
        let sample = Sample::new(ack, self.lost, self.limited.covers(ack.rate.prior_delivered));
        self.is_app_limited = sample.is_app_limited;
        if ack.newly_delivered > 0 {
            self.update_model_and_state(&sample);
        }
        self.set_pacing_rate(self.pacing_gain);
        self.set_cwnd(&sample);
        self.losses.are_noted = false;
    }

    /// `OnEnterFastRecovery`.
    fn on_congestion(&mut self, congestion: &Congestion) {
        if congestion.cause != Cause::Ecn {
            if !self.losses.are_noted {
                self.save_state_upon_loss();
            }
            let is_fast = matches!(self.recovery, Some(Recovery::Fast(_)));
            if congestion.cause == Cause::Loss && !is_fast {
                self.recovery = Some(Recovery::Fast(self.rounds.count));
            } else {
                self.recovery.get_or_insert(Recovery::Other);
            }
        }
    }

    fn on_lost(&mut self, lost: &Lost) {
        self.lost += 1;
        self.handle_lost_packet(Stamp::unpack(lost.packet), lost.now);
    }

    /// `OnEnterRTO`.
    fn on_timeout(&mut self, timeout: &Timeout) {
        // What it took for lost may have changed the model already, after that was saved.
        let is_saved = self.losses.are_noted && self.recovery.is_none();
        if timeout.is_first && !is_saved {
            self.save_state_upon_loss();
        }
        self.recovery = Some(Recovery::Other);
        self.cwnd = timeout.in_flight + 1;
    }

    fn on_recovered(&mut self, _now: Instant) {
        if self.recovery.take().is_some() {
            self.restore_cwnd();
        }
    }

    fn on_undo(&mut self, _now: Instant) {
        self.recovery = None;
        self.handle_spurious_loss();
    }

    /// `HandleRestartFromIdle`.
    fn on_tx_start(&mut self, start: &TxStart) {
        if !start.is_app_limited && !self.limited.covers(start.delivered) {
            return;
        }
        self.is_idle_restart = true;
        self.aggregation.restart(start.now);
        if self.state.is_probe_bw() {
            self.set_pacing_rate(1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(start.now);
        }
    }

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        self.report(report);
    }
}
