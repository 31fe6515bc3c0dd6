//! A link that is limited by a token bucket: it sends at once what the bucket has tokens for.
//!
//! **What it is.** The packet that is next waits, outside the queue, until the bucket holds its tokens, and then leaves in no
//! time; after a pause, a burst leaves back to back. With a peak rate, packets of a burst are that far apart.
//!
//! **Source.** Linux 7.3 `net/sched/sch_tbf.c` (`tbf_dequeue`), which also asks its queue for the next packet as soon as the last
//! one has left, so that the queue's own law decides then. The second bucket, for the peak rate, holds one largest packet.
//!
//! **Parameters.** `token_bucket`, the rate; `burst`, in bytes, at least the largest packet; `peak`, a rate, without which bursts
//! take no time. Rate and burst have no default, as in `tc`; its `mtu`, the size of the second bucket, is the largest packet.
//!
//! **Deviations.** Sizes are those of IP packets.
//!
//! **How it is validated.** `tests/elements.rs`: the long-term rate and the burst are exact; next to the kernel's `tbf` in
//! `tests/worlds/test_elements_against_kernel.py`.

use super::Wire;
use super::bucket::Bucket;
use crate::packet::Packet;
use crate::queue::{Drops, Queue};
use crate::units::{Bytes, Instant, Rate};

/// A link with a token bucket.
#[derive(Debug)]
pub struct TokenBucket<P> {
    rate: Rate,
    bucket: Bucket,
    peak: Option<Bucket>,
    /// The packet that has left the queue, and when it may go.
    next: Option<(Box<Packet<P>>, Instant)>,
}

impl<P> TokenBucket<P> {
    pub(super) fn new(rate: Rate, burst: Bytes, peak: Option<Rate>, largest: Bytes) -> Self {
        let peak = peak.map(|rate| Bucket::new(rate, largest));
        Self { rate, bucket: Bucket::new(rate, burst), peak, next: None }
    }

    pub(super) fn rate(&self) -> Rate {
        self.rate
    }

    /// Takes the next packet from the queue at `now`.
    fn fetch(&mut self, now: Instant, queue: &mut dyn Queue<P>, drops: &mut Drops<P>) {
        if queue.packets() == 0 {
            return;
        }
        let known = drops.len();
        let taken = queue.dequeue(now, drops);
        drops.leave_queue(known, now);
        self.next = taken.map(|packet| {
            let peak = self.peak.map_or(now, |peak| peak.ready(packet.size, now));
            let ready = self.bucket.ready(packet.size, now).max(peak);
            (packet, ready)
        });
    }

    /// When the packet that is next may go.
    #[inline(never)]
    pub(super) fn next_service(&self) -> Option<Instant> {
        self.next.as_ref().map(|(_, ready)| *ready)
    }

    /// Size of the packet that has left the queue but is not yet on the wire.
    pub(super) fn in_service(&self) -> Option<Bytes> {
        self.next.as_ref().map(|(packet, _)| packet.size)
    }
}

impl<P: Clone> TokenBucket<P> {
    /// Sends what may go by `now`.
    #[inline(never)]
    pub(super) fn serve(&mut self, now: Instant, queue: &mut dyn Queue<P>, wire: &mut Wire<P>, drops: &mut Drops<P>) {
        while let Some((mut packet, ready)) = self.next.take_if(|(_, ready)| *ready <= now) {
            self.bucket.take(packet.size, ready);
            if let Some(peak) = &mut self.peak {
                peak.take(packet.size, ready);
            }
            packet.leave_queue(ready);
            wire.push(packet, ready, drops);
            self.fetch(ready, queue, drops);
        }
    }

    /// Takes a packet that has just found the link without one.
    #[inline(never)]
    pub(super) fn start_if_idle(
        &mut self,
        now: Instant,
        queue: &mut dyn Queue<P>,
        wire: &mut Wire<P>,
        drops: &mut Drops<P>,
    ) {
        if self.next.is_none() {
            self.fetch(now, queue, drops);
            self.serve(now, queue, wire, drops);
        }
    }
}
