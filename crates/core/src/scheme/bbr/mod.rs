//! BBR version 1: pace at the measured bottleneck bandwidth, keep about two bandwidth-delay products in flight at most.
//!
//! **What it is.** A model of the path, the most that was delivered in ten rounds and the shortest round trip in ten
//! seconds, sets the pacing rate and caps the window. Every eight round trips the rate goes up by a quarter for one of
//! them to look for more; every ten seconds the window falls to four packets to look at the empty path. Losses do not
//! count, except those of a policer.
//!
//! **Source.** N. Cardwell et al., BBR: Congestion-Based Congestion Control, ACM Queue 14(5), 2016; Linux
//! `net/ipv4/tcp_bbr.c`, whose integer arithmetic is kept. Names of its functions and constants stand beside the parts.
//!
//! **Parameters.** `generation`: "current" (default; Linux 5.10 and later) or "2018" (Linux 4.17: no pacing
//! margin of 1 %, no correction for packets that wait in the pacer, no allowance for ack aggregation, no two packets
//! more while probing; a round trip equal to the shortest put off its probe, which a return from idle did not end). Its
//! rate was that of packets with their IP headers (`tcp_mss_to_mtu`), as fq counts them where a device has no header of
//! its own; on Ethernet fq counts 14 bytes more, which slows it by 0.9 %.
//!
//! **Deviations.**
//! - The kernel corrects the packets in flight for those whose departure the pacer has booked ahead
//!   (`bbr_packets_in_net_at_edt`). Here the pacer holds back one packet at most, as the kernel's own does where no fq
//!   queueing discipline paces.
//! - There is no segmentation offload. The segment goal of the kernel (`bbr_tso_segs_goal`) still adds to the window;
//!   how many packets leave back to back is the transport's setting.
//!
//! **How it is validated.** Constants, phases, policer detection, the full-pipe test, recovery and the ten-second probe
//! here and beside the parts; utilisation, queue, probing rhythm and loss tolerance in the simulator's behaviour tests.
//! The kernel's file was given the events of our runs (docs/event-by-event.md), and its stack runs beside ours
//! (docs/agreement.md).

mod aggregation;
pub(super) mod bandwidth;
mod fixed_point;
mod long_term;
pub(super) mod model;
mod pacing;
mod window;

#[cfg(test)]
mod tests;

use self::aggregation::Aggregation;
use self::bandwidth::{BandwidthFilter, FullPipe, Rounds};
use self::fixed_point::GAIN_UNIT;
use self::long_term::LongTerm;
use self::model::{MODE, MinRtt, Mode};
use super::{Ack, Congestion, Connected, INITIAL_WINDOW, Lost, Restart, Scheme, Sent, Setup, State, Timeout, TxStart};
use crate::info::{Info, Kind, Parameter, Quantity};
use crate::random::RandomStream;
use crate::units::{Duration, Instant, Rate};

/// Name, parameters and source.
pub(super) const INFO: Info = Info {
    name: "bbr",
    title: "TCP BBR v1",
    source: "Cardwell et al., ACM Queue 14(5), 2016; Linux net/ipv4/tcp_bbr.c",
    parameters: &[Parameter {
        name: "generation",
        kind: Kind::Choice { options: &["current", "2018"], default: "current" },
        unit: "",
        doc: "which kernels to follow: 5.10 and later, or 4.17",
    }],
    telemetry: &[
        MODE,
        Quantity { name: "bw", unit: "bit/s", doc: "bandwidth in use, payload" },
        Quantity { name: "model_min_rtt", unit: "ms", doc: "shortest round trip of the last ten seconds" },
        Quantity { name: "pacing_gain", unit: "", doc: "pacing rate over bandwidth" },
        Quantity { name: "cwnd_gain", unit: "", doc: "window over bandwidth-delay product" },
        Quantity { name: "round_count", unit: "", doc: "round trips so far" },
        Quantity { name: "full_bw", unit: "bit/s", doc: "bandwidth that start-up compares with, payload" },
        Quantity { name: "lt_bw", unit: "bit/s", doc: "rate of a policer, payload; 0 while none is seen" },
        Quantity {
            name: "extra_acked",
            unit: "packets",
            doc: "most packets acknowledged beyond what the bandwidth explains",
        },
    ],
};

/// What differs between generations of the kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Generation {
    /// How far below the bandwidth to pace (`bbr_pacing_margin_percent`).
    margin_percent: u32,
    /// Paces payload instead of packets, corrects for what waits in the pacer, allows for ack aggregation, adds two
    /// packets while probing; only a shorter round trip puts off the probe for it, and idle time may end that; its end
    /// restores the window before losses count, and its cap holds for acks that deliver nothing; gains follow the mode
    /// at the end of an ack.
    is_current: bool,
}

impl Generation {
    /// Linux 5.10 and later.
    pub(super) const CURRENT: Self = Self { margin_percent: 1, is_current: true };
    /// Linux 4.17.
    const OF_2018: Self = Self { margin_percent: 0, is_current: false };
}

/// Makes one for a flow that starts.
pub(super) fn new(setup: Setup) -> Box<dyn Scheme> {
    let is_old = setup.parameters.text("generation") == "2018";
    Box::new(Bbr::of(setup, if is_old { Generation::OF_2018 } else { Generation::CURRENT }))
}

/// The controller.
#[derive(Debug)]
pub(super) struct Bbr {
    /// `mss_cache`.
    mss: u64,
    packet_size: u64,
    /// Bytes of a packet that the pacing rate is worked out from, and that the pacer charges.
    paced_size: u64,
    charged_size: u64,
    generation: Generation,
    random: RandomStream,

    cwnd: u32,
    ssthresh: Option<u32>,
    /// Bytes per second (`sk_pacing_rate`).
    pacing_rate: u64,
    /// The same of whole packets, as the transport is told.
    packet_rate: Rate,
    /// Packets of one of the kernel's segments at this rate.
    segment_goal: u32,
    has_seen_rtt: bool,

    delivered: u64,
    lost: u64,
    /// When the last packet was delivered or, if it is later, the first one left with nothing outstanding, microseconds
    /// (`delivered_mstamp`).
    delivered_at: u64,
    /// True until the packet leaves that is the first outstanding.
    begins_flight: bool,

    mode: Mode,
    pacing_gain: u32,
    cwnd_gain: u32,
    rounds: Rounds,
    bandwidth: BandwidthFilter,
    full_pipe: FullPipe,
    long_term: LongTerm,
    aggregation: Aggregation,
    /// Phase of the gain cycle, and when it began, microseconds.
    phase: usize,
    phase_start: u64,
    min_rtt: MinRtt,
    is_idle_restart: bool,

    /// The window to return to after recovery or a probe of the round-trip time ...
    prior_cwnd: u32,
    /// ... with the next delivery (`restore_cwnd`).
    is_restoring: bool,
    previous_state: State,
    is_conserving: bool,
}

impl Bbr {
    /// One for a flow that starts.
    pub(super) fn of(setup: Setup, generation: Generation) -> Self {
        let charged_size = if generation.is_current { setup.mss } else { setup.packet_size }.count();
        let (mss, packet_size) = (setup.mss_cache.count(), setup.packet_size.count());
        Self { charged_size, ..Self::new(mss, packet_size, generation, setup.random) }
    }

    /// True while it looks at the empty path.
    pub(super) fn is_probing_rtt(&self) -> bool {
        self.mode == Mode::ProbeRtt
    }

    fn new(mss: u64, packet_size: u64, generation: Generation, random: RandomStream) -> Self {
        let paced_size = if generation.is_current { mss } else { packet_size };
        Self {
            mss,
            packet_size,
            paced_size,
            charged_size: paced_size,
            generation,
            random,
            cwnd: INITIAL_WINDOW,
            ssthresh: None,
            pacing_rate: 0,
            packet_rate: Rate::default(),
            segment_goal: 1,
            has_seen_rtt: false,
            delivered: 0,
            lost: 0,
            delivered_at: 0,
            begins_flight: false,
            mode: Mode::StartUp,
            pacing_gain: model::HIGH_GAIN,
            cwnd_gain: model::HIGH_GAIN,
            rounds: Rounds::default(),
            bandwidth: BandwidthFilter::new(),
            full_pipe: FullPipe::new(),
            long_term: LongTerm::new(paced_size, generation.margin_percent),
            aggregation: Aggregation::default(),
            phase: 0,
            phase_start: 0,
            min_rtt: MinRtt::default(),
            is_idle_restart: false,
            prior_cwnd: 0,
            is_restoring: false,
            previous_state: State::Open,
            is_conserving: false,
        }
    }
}

impl Scheme for Bbr {
    fn cwnd(&self) -> u32 {
        self.cwnd
    }

    fn pacing_rate(&self) -> Option<Rate> {
        // A rate that rounds to zero does not pace, as in the kernel.
        Some(self.packet_rate).filter(|rate| !rate.is_zero())
    }

    fn ssthresh(&self) -> Option<u32> {
        self.ssthresh
    }

    /// `bbr_init`.
    fn on_connected(&mut self, connected: &Connected) {
        self.cwnd = connected.initial_window;
        self.min_rtt.micros = connected.srtt.map(Duration::as_micros);
        self.pace_initially(connected.srtt);
    }

    fn on_sent(&mut self, sent: &Sent) -> u64 {
        self.min_rtt.start(sent.now);
        if std::mem::take(&mut self.begins_flight) {
            self.delivered_at = sent.now.as_micros();
        }
        0
    }

    fn on_restart(&mut self, _restart: &Restart) {
        self.begins_flight = true;
    }

    /// `bbr_main`.
    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.update_model(ack);
        if !self.has_seen_rtt && !ack.srtt.is_zero() {
            self.pace_initially(Some(ack.srtt));
        }
        self.pace(self.pacing_gain);
        self.update_window(ack);
    }

    fn on_congestion(&mut self, _congestion: &Congestion) {
        self.save_window();
    }

    fn on_lost(&mut self, _lost: &Lost) {
        self.lost += 1;
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        if timeout.is_first {
            self.save_window();
        }
        self.cwnd = timeout.in_flight + 1;
        self.previous_state = State::Loss;
        self.full_pipe.on_timeout();
        // A timeout ends a round.
        self.rounds.is_start = true;
        self.watch_policer(true, false);
    }

    fn on_undo(&mut self, _now: Instant) {
        self.full_pipe.on_undo();
        self.long_term.reset();
    }

    /// `bbr_cwnd_event_tx_start`.
    fn on_tx_start(&mut self, start: &TxStart) {
        // A probe of the round trip limits as an application does, until an ack of something outstanding
        // (`tcp_rate_gen`).
        if !start.is_app_limited && !self.min_rtt.limited.covers(self.delivered) {
            return;
        }
        self.is_idle_restart = true;
        self.aggregation.restart(start.now.as_micros());
        match self.mode {
            Mode::ProbeBandwidth => self.pace(GAIN_UNIT),
            Mode::ProbeRtt if self.generation.is_current => self.end_rtt_probe(start.now),
            Mode::StartUp | Mode::Drain | Mode::ProbeRtt => {}
        }
    }

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        let gain = |gain: u32| f64::from(gain) / f64::from(GAIN_UNIT);
        report("mode", f64::from(self.mode as u8));
        report("bw", self.bandwidth().bits_per_second(self.mss));
        if let Some(micros) = self.min_rtt.micros {
            report("model_min_rtt", micros as f64 / 1e3);
        }
        report("pacing_gain", gain(self.pacing_gain));
        report("cwnd_gain", gain(self.cwnd_gain));
        report("round_count", self.rounds.count as f64);
        report("full_bw", self.full_pipe.bandwidth.bits_per_second(self.mss));
        report("lt_bw", self.long_term.bandwidth_in_use().unwrap_or_default().bits_per_second(self.mss));
        report("extra_acked", f64::from(self.aggregation.extra_acked()));
    }
}
