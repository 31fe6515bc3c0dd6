//! What is recorded of one flow.

use super::histogram::Histogram;
use super::{Packets, Series};
use crate::hop::Count;
use crate::packet::{Ecn, Packet};
use crate::queue::Reason;
use crate::units::{Bytes, Duration, Instant};

/// A time that does not exist.
const NONE: i64 = -1;

/// An instant for a table; -1 if there was none.
pub(super) fn instant_or_none(instant: Option<Instant>) -> i64 {
    instant.map_or(NONE, |instant| instant.as_nanos() as i64)
}

/// A duration for a table; -1 if there was none.
pub(super) fn duration_or_none(duration: Option<Duration>) -> i64 {
    duration.map_or(NONE, |duration| duration.as_nanos() as i64)
}

/// One interval.
#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    sent: Bytes,
    received: Bytes,
    goodput: Bytes,
    received_packets: u64,
    delay_sum: Duration,
    delay_max: Duration,
}

/// One interval after the other.
#[derive(Clone, Debug)]
struct Bins {
    interval: Duration,
    filled: Vec<Bin>,
    goodput_before: Bytes,
}

impl Bins {
    fn at(&mut self, time: Instant) -> &mut Bin {
        let index = (time.as_nanos() / self.interval.as_nanos()) as usize;
        if index >= self.filled.len() {
            self.filled.resize(index + 1, Bin::default());
        }
        &mut self.filled[index]
    }
}

/// One packet.
#[derive(Clone, Copy, Debug)]
struct PacketRow {
    sent: Instant,
    received: Option<Instant>,
    queued_for: Duration,
    size: u32,
    is_retransmission: bool,
    has_ce: bool,
    drop: Option<Reason>,
}

/// Totals of one flow, and its series and packets where they are asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct FlowRecord {
    pub(super) sent: Count,
    pub(super) received: Count,
    pub(super) dropped: Count,
    pub(super) duplicated: Count,
    pub(super) acks_sent: u64,
    pub(super) acks_received: u64,
    pub(super) acks_dropped: u64,
    pub(super) acks_duplicated: u64,
    pub(super) ce_marks: u64,
    pub(super) first_sent: Option<Instant>,
    pub(super) first_received: Option<Instant>,
    pub(super) last_received: Option<Instant>,
    pub(super) delay: Histogram,
    pub(super) queued: Histogram,
    bins: Option<Bins>,
    /// By number of the packet.
    packets: Option<Vec<PacketRow>>,
}

impl FlowRecord {
    pub(super) fn new(interval: Option<Duration>, has_packets: bool) -> Self {
        Self {
            bins: interval.map(|interval| Bins { interval, filled: Vec::new(), goodput_before: Bytes::ZERO }),
            packets: has_packets.then(Vec::new),
            ..Self::default()
        }
    }

    /// A data packet leaves its sender.
    pub(super) fn on_sent<P>(&mut self, packet: &Packet<P>) {
        self.sent.add(packet.size);
        self.first_sent.get_or_insert(packet.sent);
        if self.bins.is_some() {
            self.follow_sent(packet);
        }
    }

    /// What a series and a table of packets need to know of it.
    #[inline(never)]
    fn follow_sent<P>(&mut self, packet: &Packet<P>) {
        if let Some(bins) = &mut self.bins {
            bins.at(packet.sent).sent += packet.size;
        }
        if let Some(rows) = &mut self.packets {
            rows.push(PacketRow {
                sent: packet.sent,
                received: None,
                queued_for: Duration::ZERO,
                size: packet.size.count() as u32,
                is_retransmission: packet.is_retransmission,
                has_ce: false,
                drop: None,
            });
        }
    }

    /// A data packet reaches its receiver.
    pub(super) fn on_received<P>(&mut self, packet: &Packet<P>, now: Instant) {
        let delay = now.since(packet.sent);
        self.received.add(packet.size);
        // A log may be read packet by packet.
        self.first_received = Some(self.first_received.map_or(now, |first| first.min(now)));
        self.last_received = self.last_received.max(Some(now));
        self.ce_marks += u64::from(packet.ecn == Ecn::Ce);
        self.delay.add(delay);
        self.queued.add(packet.queued_for);
        if self.bins.is_some() {
            self.follow_received(packet, delay, now);
        }
    }

    #[inline(never)]
    fn follow_received<P>(&mut self, packet: &Packet<P>, delay: Duration, now: Instant) {
        if let Some(bins) = &mut self.bins {
            let bin = bins.at(now);
            bin.received += packet.size;
            bin.received_packets += 1;
            bin.delay_sum += delay;
            bin.delay_max = bin.delay_max.max(delay);
        }
        // Of two copies the first that arrives counts.
        if let Some(row) = self.row(packet.number).filter(|row| row.received.is_none()) {
            row.received = Some(now);
            row.queued_for = packet.queued_for;
            row.has_ce = packet.ecn == Ecn::Ce;
        }
    }

    /// A data packet is dropped.
    pub(super) fn on_dropped<P>(&mut self, packet: &Packet<P>, reason: Reason) {
        self.dropped.add(packet.size);
        if let Some(row) = self.row(packet.number) {
            row.queued_for = packet.queued_for;
            row.drop = Some(reason);
        }
    }

    /// A data packet has left a queue.
    #[inline(never)]
    pub(super) fn left_queue<P>(&mut self, packet: &Packet<P>) {
        if let Some(row) = self.row(packet.number).filter(|row| row.received.is_none()) {
            row.queued_for = packet.queued_for;
        }
    }

    fn row(&mut self, number: u64) -> Option<&mut PacketRow> {
        self.packets.as_mut()?.get_mut(number as usize)
    }

    /// An interval ends at which the application has this much.
    pub(super) fn sample(&mut self, goodput: Bytes, now: Instant) {
        if let Some(bins) = &mut self.bins {
            let news = goodput - std::mem::replace(&mut bins.goodput_before, goodput);
            let start = now - bins.interval;
            bins.at(start).goodput += news;
        }
    }

    /// The run has ended, some time after the last sample, and the application has this much.
    pub(super) fn close(&mut self, goodput: Bytes, last_sample: Instant) {
        if let Some(bins) = &mut self.bins
            && goodput > bins.goodput_before
        {
            let rest = goodput - bins.goodput_before;
            bins.at(last_sample).goodput += rest;
        }
    }

    /// Data packets on the path.
    pub(super) fn inside(&self) -> Count {
        Count {
            packets: self.sent.packets + self.duplicated.packets - self.received.packets - self.dropped.packets,
            bytes: self.sent.bytes + self.duplicated.bytes - self.received.bytes - self.dropped.bytes,
        }
    }

    /// Adds the totals of another flow.
    pub(super) fn absorb(&mut self, other: &Self) {
        for (total, more) in [
            (&mut self.sent, other.sent),
            (&mut self.received, other.received),
            (&mut self.dropped, other.dropped),
            (&mut self.duplicated, other.duplicated),
        ] {
            total.packets += more.packets;
            total.bytes += more.bytes;
        }
        self.ce_marks += other.ce_marks;
        self.first_sent = [self.first_sent, other.first_sent].into_iter().flatten().min();
        self.first_received = [self.first_received, other.first_received].into_iter().flatten().min();
        self.last_received = self.last_received.max(other.last_received);
        self.delay.merge(&other.delay);
        self.queued.merge(&other.queued);
    }

    /// Acks on the path.
    pub(super) fn acks_inside(&self) -> u64 {
        self.acks_sent + self.acks_duplicated - self.acks_received - self.acks_dropped
    }

    /// Adds the intervals as rows of the flow with this number.
    pub(super) fn write_series(&self, flow: u32, series: &mut Series) {
        let Some(bins) = &self.bins else { return };
        for (index, bin) in bins.filled.iter().enumerate() {
            let mean = bin.delay_sum.as_nanos().checked_div(bin.received_packets);
            series.flow.push(flow);
            series.t_ns.push(bins.interval.as_nanos() * index as u64);
            series.sent_bytes.push(bin.sent.count());
            series.received_bytes.push(bin.received.count());
            series.goodput_bytes.push(bin.goodput.count());
            series.received_packets.push(bin.received_packets);
            series.owd_mean_ns.push(duration_or_none(mean.map(Duration::from_nanos)));
            series.owd_max_ns.push(duration_or_none(mean.map(|_| bin.delay_max)));
        }
    }

    /// Adds the packets as rows of the flow with this number.
    pub(super) fn write_packets(&mut self, flow: u32, packets: &mut Packets) {
        for (number, row) in (0..).zip(self.packets.take().unwrap_or_default()) {
            packets.flow.push(flow);
            packets.number.push(number);
            packets.size_bytes.push(row.size);
            packets.sent_ns.push(row.sent.as_nanos());
            packets.received_ns.push(instant_or_none(row.received));
            packets.queue_ns.push(row.queued_for.as_nanos());
            packets.fate.push(match (row.received, row.drop) {
                (Some(_), _) => "received",
                (None, Some(_)) => "dropped",
                (None, None) => "inside",
            });
            packets.reason.push(row.drop.filter(|_| row.received.is_none()).map_or("", Reason::name));
            packets.retransmit.push(row.is_retransmission);
            packets.ce.push(row.has_ce);
        }
    }
}
