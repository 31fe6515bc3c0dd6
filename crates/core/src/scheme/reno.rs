//! Reno: slow start, one packet per round trip, half after a loss.
//!
//! **What it is.** The classic AIMD of TCP, with SACK-based recovery left to the transport.
//!
//! **Source.** RFC 5681, RFC 6582; Linux `net/ipv4/tcp_cong.c` (`tcp_reno_ssthresh`, `tcp_reno_cong_avoid`).
//!
//! **Parameters.** None.
//!
//! **Deviations.** As Linux: the threshold after a loss is half the window, not half the data in flight, and slow start
//! counts every packet that an ack covers (no limit of RFC 3465).
//!
//! **How it is validated.** Growth and halving here; utilisation and the √(3/2p) law in the simulator's behaviour
//! tests.

use super::window::{Window, WindowAlgorithm, WindowBased};
use super::{Ack, Scheme, Setup};
use crate::info::Info;
use crate::units::Instant;

/// Name, parameters and source.
pub(super) const INFO: Info = Info {
    name: "reno",
    title: "TCP Reno",
    source: "RFC 5681, RFC 6582; Linux net/ipv4/tcp_cong.c",
    parameters: &[],
    telemetry: &[],
};

/// Makes one for a flow that starts.
pub(super) fn new(_setup: Setup) -> Box<dyn Scheme> {
    Box::new(WindowBased::new(Reno))
}

#[derive(Debug)]
struct Reno;

impl WindowAlgorithm for Reno {
    fn ssthresh_after_loss(&mut self, window: &Window, _now: Instant) -> u32 {
        (window.cwnd / 2).max(2)
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack<'_>) {
        window.grow_as_reno(ack);
    }
}
