//! How fast to send (`bbr_set_pacing_rate`).

use super::fixed_point::Bandwidth;
use super::{Bbr, model};
use crate::units::{Duration, Rate};

/// The round trip while none is known (`bbr_init_pacing_rate_from_rtt`).
const NOMINAL_RTT: Duration = Duration::from_millis(1);
/// Below this rate a segment is one packet, bytes per second (`bbr_min_tso_rate`).
const SINGLE_SEGMENT_RATE: u64 = 1_200_000 / 8;
/// A segment lasts 1/1024 s (`sk_pacing_shift`) ...
const SEGMENT_RATE_SHIFT: u32 = 10;
/// ... and holds at most this many bytes (`GSO_MAX_SIZE` less the largest header).
const SEGMENT_LIMIT: u64 = 65_535 - 320;

impl Bbr {
    /// The bandwidth in use (`bbr_bw`).
    pub(super) fn bandwidth(&self) -> Bandwidth {
        self.long_term.bandwidth_in_use().unwrap_or_else(|| self.bandwidth.max())
    }

    /// The window per round trip (`bbr_init_pacing_rate_from_rtt`).
    #[cold]
    pub(super) fn pace_initially(&mut self, srtt: Option<Duration>) {
        self.has_seen_rtt = srtt.is_some();
        let bandwidth = Bandwidth::of(self.cwnd.into(), srtt.unwrap_or(NOMINAL_RTT).as_micros().max(1));
        self.set_pacing_rate(self.rate(bandwidth, model::HIGH_GAIN));
    }

    /// Bytes per second (`bbr_bw_to_pacing_rate`).
    fn rate(&self, bandwidth: Bandwidth, gain: u32) -> u64 {
        bandwidth.bytes_per_second(self.paced_size, gain, self.generation.margin_percent)
    }

    /// Until the pipe is full the rate only grows (`bbr_set_pacing_rate`).
    pub(super) fn pace(&mut self, gain: u32) {
        let rate = self.rate(self.bandwidth(), gain);
        if self.full_pipe.is_reached || rate > self.pacing_rate {
            self.set_pacing_rate(rate);
        }
    }

    /// Takes a rate in bytes per second. A transport paces packets, with their headers.
    pub(super) fn set_pacing_rate(&mut self, rate: u64) {
        if rate != self.pacing_rate {
            self.pacing_rate = rate;
            self.segment_goal = segment_goal(rate, self.mss);
            self.packet_rate = Rate::from_bits_per_second(rate * 8).scale(self.packet_size, self.charged_size);
        }
    }
}

/// Packets of a segment that the kernel would hand to the network card (`bbr_tso_segs_goal`), at a pacing rate in bytes
/// per second.
fn segment_goal(rate: u64, mss: u64) -> u32 {
    let least = if rate < SINGLE_SEGMENT_RATE { 1 } else { 2 };
    let packets = (rate >> SEGMENT_RATE_SHIFT).min(SEGMENT_LIMIT) / mss;
    (packets as u32).clamp(least, 127)
}
