//! The control of CoDel, which a queue has once and FQ-CoDel once for each of its queues.

use crate::packet::Packet;
use crate::queue::packet_queue::PacketQueue;
use crate::queue::{Reason, Verdicts};
use crate::units::Bytes;

/// Times are counted in units of 2^10 ns (`CODEL_SHIFT`).
const TICK_SHIFT: u32 = 10;
/// `CODEL_MAX_DROPS_PER_DEQUEUE`.
const MAX_DROPS: u32 = 256;
/// A control that was needed so recently, in intervals, goes on where it left off.
const MEMORY_INTERVALS: u64 = 16;

pub(in crate::queue) const fn ticks(nanos: u64) -> u64 {
    nanos >> TICK_SHIFT
}

/// Above this time in the queue packets are marked whose type-of-service byte, under the mask, is the selector.
#[derive(Clone, Copy, Debug)]
pub(in crate::queue) struct Threshold {
    pub(in crate::queue) ticks: u64,
    pub(in crate::queue) selector: u8,
    pub(in crate::queue) mask: u8,
}

/// What does not change during a run (`struct codel_params`).
#[derive(Clone, Copy, Debug)]
pub(in crate::queue) struct Law {
    pub(in crate::queue) target: u64,
    pub(in crate::queue) interval: u64,
    /// With so little in the queue nothing is dropped.
    pub(in crate::queue) least_backlog: Bytes,
    pub(in crate::queue) ecn: bool,
    pub(in crate::queue) threshold: Option<Threshold>,
}

/// What one dequeue draws on.
pub(in crate::queue) struct Supply<'a, P> {
    pub(in crate::queue) law: &'a Law,
    /// The packets under the control.
    pub(in crate::queue) queue: &'a mut PacketQueue<P>,
    /// Bytes that wait elsewhere in the same queue.
    pub(in crate::queue) others: Bytes,
    /// In ticks.
    pub(in crate::queue) now: u64,
    pub(in crate::queue) verdicts: &'a mut Verdicts<P>,
}

/// The state of the control (`struct codel_vars`).
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::queue) struct Control {
    /// Drops and marks since the control began.
    pub(in crate::queue) count: u32,
    last_count: u32,
    is_dropping: bool,
    /// `1 / sqrt(count)` as a fraction of 2^16.
    rec_inv_sqrt: u16,
    /// When the delay will have been above the target for an interval.
    first_above: Option<u64>,
    drop_next: u64,
    /// How long the last packet waited.
    delay: u64,
}

impl Control {
    /// One step towards `1 / sqrt(count)` (`codel_Newton_step`).
    fn newton_step(&mut self) {
        let inverse = u64::from(self.rec_inv_sqrt) << 16;
        let square = (inverse * inverse) >> 32;
        let step = (3_u64 << 32).wrapping_sub(u64::from(self.count).wrapping_mul(square)) >> 2;
        self.rec_inv_sqrt = (step.wrapping_mul(inverse) >> 31 >> 16) as u16;
    }

    /// When to drop after `time` (`codel_control_law`).
    fn after(&self, time: u64, law: &Law) -> u64 {
        time + ((law.interval * (u64::from(self.rec_inv_sqrt) << 16)) >> 32).max(1)
    }

    /// Whether the delay has been above the target for an interval (`codel_should_drop`).
    fn should_drop<P>(&mut self, packet: Option<&Packet<P>>, supply: &Supply<'_, P>) -> bool {
        let Some(packet) = packet else {
            self.first_above = None;
            return false;
        };
        self.delay = supply.now - ticks(packet.enqueued.as_nanos());
        if self.delay < supply.law.target || supply.queue.bytes() + supply.others <= supply.law.least_backlog {
            self.first_above = None;
            return false;
        }
        let first_above = *self.first_above.get_or_insert(supply.now + supply.law.interval);
        supply.now > first_above
    }

    /// The next packet to send (`codel_dequeue`).
    pub(in crate::queue) fn dequeue<P>(&mut self, mut supply: Supply<'_, P>) -> Option<Box<Packet<P>>> {
        let mut packet = supply.queue.pop();
        let should_drop = self.should_drop(packet.as_deref(), &supply);
        if !should_drop {
            self.is_dropping = false;
        } else if self.is_dropping {
            packet = self.continue_dropping(packet, &mut supply);
        } else {
            packet = self.drop_or_mark(packet, &mut supply).0;
            self.start_dropping(&supply);
        }
        self.mark_above_threshold(packet.as_deref_mut(), &mut supply);
        packet
    }

    /// Marks the packet, or drops it for the next one; also says whether that should be dropped as well.
    fn drop_or_mark<P>(
        &mut self,
        packet: Option<Box<Packet<P>>>,
        supply: &mut Supply<'_, P>,
    ) -> (Option<Box<Packet<P>>>, bool) {
        if let Some(mut packet) = packet {
            if supply.law.ecn && supply.verdicts.mark(&mut packet, Reason::Congestion) {
                return (Some(packet), true);
            }
            supply.verdicts.drop(packet, Reason::Congestion);
        }
        let next = supply.queue.pop();
        let should_drop = self.should_drop(next.as_deref(), supply);
        (next, should_drop)
    }

    /// All drops that are due by now, or the one mark.
    fn continue_dropping<P>(
        &mut self,
        mut packet: Option<Box<Packet<P>>>,
        supply: &mut Supply<'_, P>,
    ) -> Option<Box<Packet<P>>> {
        for _ in 0..MAX_DROPS {
            if supply.now < self.drop_next {
                return packet;
            }
            self.count = self.count.wrapping_add(1);
            self.newton_step();
            let waiting = supply.queue.packets();
            let (next, should_drop) = self.drop_or_mark(packet, supply);
            packet = next;
            if !should_drop {
                self.is_dropping = false;
                return packet;
            }
            self.drop_next = self.after(self.drop_next, supply.law);
            let is_marked = supply.queue.packets() == waiting;
            if is_marked {
                return packet;
            }
        }
        if supply.now >= self.drop_next {
            self.drop_next = self.after(supply.now, supply.law);
        }
        packet
    }

    /// Begins where the last control ended, if that is not long ago.
    fn start_dropping<P>(&mut self, supply: &Supply<'_, P>) {
        let (law, now) = (supply.law, supply.now);
        self.is_dropping = true;
        let delta = self.count.wrapping_sub(self.last_count);
        // The next drop may have been planned for later than now. Without any control so far, the last one is long ago,
        // as on a machine that has been up for a while; a full queue may have raised the count all the same.
        let is_first = self.last_count == 0;
        if delta > 1 && !is_first && now.saturating_sub(self.drop_next) < MEMORY_INTERVALS * law.interval {
            self.count = delta;
            self.newton_step();
        } else {
            self.count = 1;
            self.rec_inv_sqrt = u16::MAX;
        }
        self.last_count = self.count;
        self.drop_next = self.after(now, law);
    }

    fn mark_above_threshold<P>(&self, packet: Option<&mut Packet<P>>, supply: &mut Supply<'_, P>) {
        if let (Some(threshold), Some(packet)) = (supply.law.threshold, packet)
            && self.delay > threshold.ticks
            && (threshold.mask == 0 || packet.ds_field() & threshold.mask == threshold.selector)
        {
            supply.verdicts.mark(packet, Reason::Threshold);
        }
    }
}

#[cfg(test)]
mod tests;
