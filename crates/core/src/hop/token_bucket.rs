//! A link that is limited by a token bucket: it sends at once what the bucket has tokens for.
//!
//! **What it is.** The packet that is next waits until the bucket holds its tokens, and then leaves in no time; after a
//! pause, a burst leaves back to back. With a peak rate, packets of a burst are that far apart. In a queue whose head
//! is known, such as a FIFO, it waits there and takes its room; from others it is taken as soon as the one before has
//! left, but counts in their limits until it is sent.
//!
//! **Source.** Linux 7.3 `net/sched/sch_tbf.c` (`tbf_dequeue`), which looks at the next packet of its queue (`peek`).
//! Where that means to take it out (`qdisc_peek_dequeued`), the queue's own law decides then. The second bucket, for
//! the peak rate, holds one largest packet.
//!
//! **Parameters.** `token_bucket`, the rate; `burst`, in bytes, at least the largest packet; `peak`, a rate, without
//! which bursts take no time. Rate and burst have no default, as in `tc`; its `mtu`, the size of the second bucket, is
//! the largest packet.
//!
//! **Deviations.** Sizes are those of IP packets.
//!
//! **How it is validated.** `tests/elements.rs`: the long-term rate and the burst are exact; next to the kernel's `tbf`
//! in `tests/worlds/test_elements_against_kernel.py`.

use super::bucket::Bucket;
use super::service::dequeue;
use super::wire::Wire;
use crate::packet::Packet;
use crate::queue::{Queue, Verdicts};
use crate::units::{Bytes, Instant, Rate};

/// A link with a token bucket.
#[derive(Debug)]
pub struct TokenBucket<P> {
    rate: Rate,
    bucket: Bucket,
    peak: Option<Bucket>,
    /// When the packet that is next may go.
    ready: Option<Instant>,
    /// That packet, if it has left its queue to be looked at.
    taken: Option<Box<Packet<P>>>,
}

impl<P> TokenBucket<P> {
    pub(super) fn new(rate: Rate, burst: Bytes, peak: Option<Rate>, largest: Bytes) -> Self {
        let peak = peak.map(|rate| Bucket::new(rate, largest));
        Self { rate, bucket: Bucket::new(rate, burst), peak, ready: None, taken: None }
    }

    pub(super) fn rate(&self) -> Rate {
        self.rate
    }

    /// Looks at `now` which packet is next.
    fn look(&mut self, now: Instant, queue: &mut dyn Queue<P>, verdicts: &mut Verdicts<P>) {
        let size = queue.peek().or_else(|| {
            self.taken = if queue.packets() > 0 { dequeue(queue, now, verdicts) } else { None };
            let size = self.taken.as_ref().map(|packet| packet.size);
            if size.is_some() {
                queue.set_ahead(size, now);
            }
            size
        });
        self.ready = size.map(|size| {
            let peak = self.peak.map_or(now, |peak| peak.ready(size, now));
            self.bucket.ready(size, now).max(peak)
        });
    }

    /// When the packet that is next may go.
    #[inline(never)]
    pub(super) fn next_service(&self) -> Option<Instant> {
        self.ready
    }

    /// Size of the packet that has left the queue but is not yet on the wire.
    pub(super) fn in_service(&self) -> Option<Bytes> {
        self.taken.as_ref().map(|packet| packet.size)
    }
}

impl<P: Clone> TokenBucket<P> {
    /// Sends what may go by `now`.
    #[inline(never)]
    pub(super) fn serve(
        &mut self,
        now: Instant,
        queue: &mut dyn Queue<P>,
        wire: &mut Wire<P>,
        verdicts: &mut Verdicts<P>,
    ) {
        while let Some(ready) = self.ready.take_if(|ready| *ready <= now) {
            let looked_at = self.taken.take();
            if looked_at.is_some() {
                queue.set_ahead(None, ready);
            }
            if let Some(mut packet) = looked_at.or_else(|| dequeue(queue, ready, verdicts)) {
                self.bucket.take(packet.size, ready);
                if let Some(peak) = &mut self.peak {
                    peak.take(packet.size, ready);
                }
                packet.leave_queue(ready);
                wire.push(packet, ready, verdicts);
            }
            self.look(ready, queue, verdicts);
        }
    }

    /// Takes notice of a packet that has just entered the queue: it may be next.
    #[inline(never)]
    pub(super) fn start_if_idle(
        &mut self,
        now: Instant,
        queue: &mut dyn Queue<P>,
        wire: &mut Wire<P>,
        verdicts: &mut Verdicts<P>,
    ) {
        if self.taken.is_none() {
            self.look(now, queue, verdicts);
            self.serve(now, queue, wire, verdicts);
        }
    }
}
