//! How fast to send (`bbr_set_pacing_rate`).

use super::fixed_point::Bandwidth;
use super::{Bbr, model};
use crate::transmission_time::TransmissionTime;
use crate::units::{Bytes, Duration, Instant, Rate};

/// The round trip while none is known (`bbr_init_pacing_rate_from_rtt`).
const NOMINAL_RTT: Duration = Duration::from_millis(1);
/// Below this rate a segment is one packet, bytes per second (`bbr_min_tso_rate`).
const SINGLE_SEGMENT_RATE: u64 = 1_200_000 / 8;
/// A segment lasts 1/1024 s (`sk_pacing_shift`) ...
const SEGMENT_RATE_SHIFT: u32 = 10;
/// ... and holds at most this many bytes (`GSO_MAX_SIZE` less the largest header).
const SEGMENT_LIMIT: u64 = 65_535 - 320;
/// The first packets of a connection after which no gap is counted.
const UNPACED_PACKETS: u32 = 9;

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
        self.set_pacing_rate(bandwidth.bytes_per_second(self.paced_size, model::HIGH_GAIN, self.generation.margin_percent));
    }

    /// Until the pipe is full the rate only grows (`bbr_set_pacing_rate`).
    pub(super) fn pace(&mut self, gain: u32) {
        let rate = self.bandwidth().bytes_per_second(self.paced_size, gain, self.generation.margin_percent);
        if self.full_pipe.is_reached || rate > self.pacing_rate {
            self.set_pacing_rate(rate);
        }
    }

    /// Takes a rate in bytes per second. A transport paces packets, with their headers.
    pub(super) fn set_pacing_rate(&mut self, rate: u64) {
        if rate != self.pacing_rate {
            self.pacing_rate = rate;
            self.segment_goal = segment_goal(rate, self.mss);
            self.packet_rate = Rate::from_bits_per_second(rate * 8).scale(self.packet_size, self.paced_size);
        }
    }
}

/// Packets of a segment that the kernel would hand to the network card (`bbr_tso_segs_goal`), at a pacing rate in bytes per second.
fn segment_goal(rate: u64, mss: u64) -> u32 {
    let least = if rate < SINGLE_SEGMENT_RATE { 1 } else { 2 };
    let packets = (rate >> SEGMENT_RATE_SHIFT).min(SEGMENT_LIMIT) / mss;
    (packets as u32).clamp(least, 127)
}

/// When the pacer lets the next packet go (`tcp_update_skb_after_send`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Departure {
    at: Instant,
    unpaced_packets: u32,
    transmission_time: TransmissionTime,
}

impl Departure {
    pub(super) fn new() -> Self {
        Self { at: Instant::ZERO, unpaced_packets: UNPACED_PACKETS, transmission_time: TransmissionTime::new() }
    }

    /// A packet of this payload leaves at `now`.
    pub(super) fn on_sent(&mut self, now: Instant, size: Bytes, payload_rate: Rate) {
        let late = now.since(self.at);
        self.at = self.at.max(now);
        if self.unpaced_packets > 0 {
            self.unpaced_packets -= 1;
        } else if !payload_rate.is_zero() {
            let gap = self.transmission_time.of(size, payload_rate);
            self.at += gap.saturating_sub(late.min(gap.scale(1, 2)));
        }
    }

    /// How long the next packet has to wait.
    pub(super) fn wait(&self, now: Instant) -> Duration {
        self.at.since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_the_tenth_packet_on_a_gap_is_counted_and_lateness_pays_for_half_of_it_at_most() {
        let rate = Rate::from_bits_per_second(11_584_000);
        let at = |micros| Instant::ZERO + Duration::from_micros(micros);
        let mut departure = Departure::new();
        let mut wait_after = |micros| {
            departure.on_sent(at(micros), Bytes::new(1_448), rate);
            departure.wait(at(micros)).as_micros()
        };
        for _ in 0..9 {
            assert_eq!(wait_after(0), 0);
        }
        assert_eq!(wait_after(0), 1_000);
        assert_eq!(wait_after(1_000), 1_000);
        assert_eq!(wait_after(2_300), 700);
        assert_eq!(wait_after(9_000), 500);
        assert_eq!(wait_after(9_000), 1_500, "before its time");
    }
}
