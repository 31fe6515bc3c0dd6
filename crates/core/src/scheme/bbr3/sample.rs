//! What BBR remembers of a packet, and what an ack tells it (draft, "Delivery Rate Samples").

use crate::scheme::{Ack, Sent};
use crate::units::{Duration, Instant};

const IN_FLIGHT_BITS: u32 = 20;
const LOST_BITS: u32 = 20;
const ORDER_BITS: u32 = 24;

/// The state that travels with a packet, in 64 bits. Counters wrap; one flight is far smaller than any of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Which transmission it is.
    pub(super) order: u64,
    /// Packets lost before it was sent.
    lost: u64,
    /// `P.tx_in_flight`: packets in flight, this one included.
    pub(super) tx_in_flight: u64,
}

const fn low(bits: u32) -> u64 {
    (1 << bits) - 1
}

impl Stamp {
    pub(super) fn new(order: u64, lost: u64, sent: &Sent) -> Self {
        let tx_in_flight = u64::from(sent.in_flight).min(low(IN_FLIGHT_BITS));
        Self { order: order & low(ORDER_BITS), lost: lost & low(LOST_BITS), tx_in_flight }
    }

    pub(super) fn pack(self) -> u64 {
        (self.order << (LOST_BITS + IN_FLIGHT_BITS)) | (self.lost << IN_FLIGHT_BITS) | self.tx_in_flight
    }

    pub(super) fn unpack(packed: u64) -> Self {
        Self {
            order: packed >> (LOST_BITS + IN_FLIGHT_BITS),
            lost: (packed >> IN_FLIGHT_BITS) & low(LOST_BITS),
            tx_in_flight: packed & low(IN_FLIGHT_BITS),
        }
    }

    /// Packets lost since it was sent (`C.lost - P.lost`).
    pub(super) fn lost_since(self, lost: u64) -> u64 {
        lost.wrapping_sub(self.lost) & low(LOST_BITS)
    }

    /// True if this transmission directly follows `earlier`.
    pub(super) fn follows(self, earlier: Self) -> bool {
        self.order == (earlier.order + 1) & low(ORDER_BITS)
    }

    fn is_later(self, than: Self) -> bool {
        self.order.wrapping_sub(than.order) & low(ORDER_BITS) < 1 << (ORDER_BITS - 1)
    }
}

/// `RS` of the draft, volumes in packets. Those of the packet sent last among the acknowledged ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) now: Instant,
    /// Packets per second; zero if there is no valid sample.
    pub(super) delivery_rate: f64,
    pub(super) delivered: f64,
    pub(super) prior_delivered: u64,
    pub(super) is_app_limited: bool,
    pub(super) newly_acked: f64,
    pub(super) lost: f64,
    pub(super) tx_in_flight: f64,
    pub(super) rtt: Option<Duration>,
    /// `C.delivered`, `C.inflight`, `C.is_cwnd_limited`.
    pub(super) total_delivered: u64,
    pub(super) in_flight: f64,
    /// In flight before the ack.
    pub(super) prior_in_flight: f64,
    pub(super) is_cwnd_limited: bool,
}

impl Sample {
    /// From an ack, with `lost` packets lost so far; samples of a probe of the round trip are application-limited.
    pub(super) fn new(ack: &Ack<'_>, lost: u64, is_probing_rtt: bool) -> Self {
        let stamps = ack.packets.iter().map(|packed| Stamp::unpack(*packed));
        let newest = stamps.reduce(|newest, stamp| if stamp.is_later(newest) { stamp } else { newest });
        let seconds = ack.rate.interval.map_or(0.0, Duration::as_secs_f64);
        Self {
            now: ack.now,
            delivery_rate: if seconds > 0.0 { ack.rate.delivered as f64 / seconds } else { 0.0 },
            delivered: ack.rate.delivered as f64,
            prior_delivered: ack.rate.prior_delivered,
            is_app_limited: ack.rate.is_app_limited || is_probing_rtt,
            newly_acked: f64::from(ack.newly_delivered),
            lost: newest.map_or(0, |stamp| stamp.lost_since(lost)) as f64,
            tx_in_flight: newest.map_or(0, |stamp| stamp.tx_in_flight) as f64,
            rtt: ack.rtt,
            total_delivered: ack.delivered,
            in_flight: f64::from(ack.in_flight),
            prior_in_flight: f64::from(ack.prior_in_flight),
            is_cwnd_limited: ack.is_cwnd_limited,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::window::ack;
    use crate::units::Bytes;

    fn stamp(order: u64, lost: u64, in_flight: u32) -> Stamp {
        let sent = Sent { now: Instant::ZERO, size: Bytes::new(1), is_retransmission: false, in_flight, delivered: 0 };
        Stamp::new(order, lost, &sent)
    }

    #[test]
    fn a_stamp_survives_the_journey_and_its_counters_wrap() {
        let stamp = stamp(u64::from(u32::MAX), (1 << 20) + 7, 4_000);
        assert_eq!(Stamp::unpack(stamp.pack()), stamp);
        assert_eq!(stamp.lost_since((1 << 20) + 9), 2);
        assert_eq!(stamp.tx_in_flight, 4_000);
        let next = self::stamp(u64::from(u32::MAX) + 1, 0, 1);
        assert!(next.follows(stamp) && next.is_later(stamp) && !stamp.is_later(next));
    }

    #[test]
    fn the_sample_is_of_the_packet_sent_last() {
        let packets = [stamp(1, 0, 10).pack(), stamp(3, 1, 30).pack(), stamp(2, 1, 20).pack()];
        let sample = Sample::new(&Ack { packets: &packets, ..ack(3) }, 5, false);
        assert_eq!((sample.lost as u32, sample.tx_in_flight as u32), (4, 30));
    }

    #[test]
    fn a_flight_beyond_a_million_packets_is_cut() {
        assert_eq!(stamp(0, 0, u32::MAX).tx_in_flight, (1 << 20) - 1);
    }
}
