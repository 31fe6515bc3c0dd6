//! FillP and FillP-Sheep, as far as they are public: BBR without and with a window.
//!
//! **What it is.** The two programs of Huawei are binaries. Their descriptions say that FillP-Sheep is BBR over a
//! protocol with few acks, and FillP the same without a limit on what is in flight, so that only the pacing rate holds
//! it back. **These are approximations**: numbers of theirs say how such a design behaves, not how the programs do.
//! Beside the programs, over four links (`docs/originals.md`), one flow has the same throughput within 6 %. FillP
//! leaves start-up half a second later than its program, and drops more for it; FillP-Sheep keeps twice as much in the
//! queue.
//!
//! **Source.** The descriptions in `fillthepipe/fill-the-pipe` and `fillthepipe/fillp-sheep`; Li et al., "TACK:
//! Improving Wireless Transport Performance by Taming Acknowledgments", SIGCOMM 2020; BBR as in [`super::bbr`].
//!
//! **Parameters.** None.
//!
//! **Deviations.** The programs' initial rate, gains and recovery are unknown (unverified): here they are BBR's. Their
//! receiver measures the delivery rate four times per round trip; here our transport does, with every ack. Before the
//! first ack, and while BBR looks at the empty path, the window counts for both. Theirs is a protocol with few acks;
//! ours are the flow's.
//!
//! **How it is validated.** The window here; higher queues than BBR's where flows share a link in the simulator's
//! behaviour tests.

use super::bbr::{self, Bbr, Generation};
use super::{Ack, Congestion, Connected, Feedback, Lost, Restart, Scheme, Sent, Setup, Timeout, TxStart};
use crate::info::Info;
use crate::units::{Instant, Rate};

/// FillP.
pub(super) const FILLP: Info = Info {
    name: "fillp",
    title: "FillP (approximation)",
    source: "descriptions in fillthepipe/fill-the-pipe; Li et al., SIGCOMM 2020",
    parameters: &[],
    telemetry: bbr::INFO.telemetry,
};

/// FillP-Sheep.
pub(super) const FILLP_SHEEP: Info = Info {
    name: "fillp_sheep",
    title: "FillP-Sheep (approximation)",
    source: "descriptions in fillthepipe/fillp-sheep; Li et al., SIGCOMM 2020",
    ..FILLP
};

/// As good as no limit, packets.
const UNLIMITED: u32 = 1 << 24;

/// Makes a FillP for a flow that starts.
pub(super) fn new_fillp(setup: Setup) -> Box<dyn Scheme> {
    Box::new(FillP { bbr: Bbr::of(setup, Generation::CURRENT), has_limit: false, has_ack: false })
}

/// Makes a FillP-Sheep for a flow that starts.
pub(super) fn new_fillp_sheep(setup: Setup) -> Box<dyn Scheme> {
    Box::new(FillP { bbr: Bbr::of(setup, Generation::CURRENT), has_limit: true, has_ack: false })
}

struct FillP {
    bbr: Bbr,
    has_limit: bool,
    has_ack: bool,
}

impl Scheme for FillP {
    fn cwnd(&self) -> u32 {
        let is_limited = self.has_limit || !self.has_ack || self.bbr.is_probing_rtt();
        if is_limited { self.bbr.cwnd() } else { UNLIMITED }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.bbr.pacing_rate()
    }

    fn feedback(&self) -> Feedback {
        Feedback::Numbered
    }

    fn on_connected(&mut self, connected: &Connected) {
        self.bbr.on_connected(connected);
    }

    fn on_sent(&mut self, sent: &Sent) -> u64 {
        self.bbr.on_sent(sent)
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.has_ack = true;
        self.bbr.on_ack(ack);
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        self.bbr.on_congestion(congestion);
    }

    fn on_lost(&mut self, lost: &Lost) {
        self.bbr.on_lost(lost);
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        self.bbr.on_timeout(timeout);
    }

    fn on_recovered(&mut self, now: Instant) {
        self.bbr.on_recovered(now);
    }

    fn on_undo(&mut self, now: Instant) {
        self.bbr.on_undo(now);
    }

    fn on_restart(&mut self, restart: &Restart) {
        self.bbr.on_restart(restart);
    }

    fn on_tx_start(&mut self, start: &TxStart) {
        self.bbr.on_tx_start(start);
    }

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        self.bbr.telemetry(report);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::RandomStream;
    use crate::scheme::{Parameters, window};
    use crate::units::{Bytes, Duration};

    fn setup() -> Setup {
        Setup {
            mss: Bytes::new(1_448),
            mss_cache: Bytes::new(1_448),
            packet_size: Bytes::new(1_500),
            is_paced: false,
            random: RandomStream::new(1, "scheme"),
            parameters: Parameters::default(),
        }
    }

    #[test]
    fn only_the_sheep_keeps_a_window_after_the_first_ack() {
        for (new, is_limited) in [(new_fillp as fn(Setup) -> Box<dyn Scheme>, false), (new_fillp_sheep, true)] {
            let mut fillp = new(setup());
            assert_eq!(fillp.cwnd(), 10);
            fillp.on_ack(&window::ack(1));
            assert_eq!(fillp.cwnd() < UNLIMITED, is_limited);
        }
    }

    #[test]
    fn the_window_counts_for_both_while_bbr_looks_at_the_empty_path() {
        let mut fillp = new_fillp(setup());
        let windows = [0, 11].map(|seconds| {
            // The shortest round trip is ten seconds old, and the next is longer.
            let (now, rtt) = (Instant::ZERO + Duration::from_secs(seconds), Duration::from_millis(40 + seconds));
            fillp.on_ack(&Ack { now, rtt: Some(rtt), ..window::ack(1) });
            fillp.cwnd()
        });
        assert_eq!(windows, [UNLIMITED, 4]);
    }
}
