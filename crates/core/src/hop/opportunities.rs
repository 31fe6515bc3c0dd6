//! A link that sends when a delivery opportunity comes: a mahimahi trace, or a Poisson process.
//!
//! Each opportunity lets [`OPPORTUNITY`] bytes pass. Small packets share one, a large packet may need several, and what
//! is left when the queue runs empty is lost. A packet counts [`FRAME_HEADER`] bytes more than its IP size, because
//! mahimahi sees it with the header of its TUN device; a full packet therefore fits one opportunity exactly (mahimahi
//! `src/frontend/link_queue.cc`).

use super::service::take;
use super::wire::Wire;
use crate::packet::Packet;
use crate::queue::{Queue, Verdicts};
use crate::random::RandomStream;
use crate::units::{Bytes, Duration, Instant, Rate};

/// Bytes that one opportunity lets pass: a full packet with its TUN header.
const OPPORTUNITY: u64 = 1_504;
/// The TUN header that mahimahi counts with every packet.
const FRAME_HEADER: u64 = 4;
/// What one opportunity is worth in IP bytes.
pub(super) const FULL_PACKET: Bytes = Bytes::new(OPPORTUNITY - FRAME_HEADER);

/// A link that serves by opportunities.
#[derive(Debug)]
pub struct Opportunities<P> {
    times: Times,
    /// The packet that has left the queue and the bytes it still needs.
    in_service: Option<(Box<Packet<P>>, u64)>,
    /// A second walk over the same times, for [`Opportunities::capacity`].
    counted: Times,
    /// Until when it has come.
    counted_to: Instant,
    first: Times,
}

impl<P> Opportunities<P> {
    /// Opportunities at the times of a mahimahi trace, which is not empty and ends after zero.
    pub fn trace(opportunities_ms: Vec<u64>) -> Self {
        Self::at(Times::trace(opportunities_ms))
    }

    /// Opportunities at exponentially distributed intervals; `name` and `seed` fix them.
    pub fn poisson(rate: Rate, seed: u64, name: &str) -> Self {
        Self::at(Times::poisson(rate.time_for(FULL_PACKET), RandomStream::new(seed, name)))
    }

    fn at(times: Times) -> Self {
        Self { counted: times.clone(), counted_to: Instant::ZERO, first: times.clone(), times, in_service: None }
    }

    /// The next opportunity, if something waits for it.
    #[inline(never)]
    pub fn next_service(&self, has_backlog: bool) -> Option<Instant> {
        (has_backlog || self.in_service.is_some()).then(|| self.times.next())
    }

    /// The packet that has left the queue but is not yet on the wire.
    pub fn being_sent(&self) -> Option<&Packet<P>> {
        self.in_service.as_ref().map(|(packet, _)| &**packet)
    }

    /// What all opportunities from `from` to `to` let pass, used or not.
    pub fn capacity(&mut self, from: Instant, to: Instant) -> Bytes {
        if from < self.counted_to {
            self.counted = self.first.clone();
        }
        self.counted_to = to;
        let mut capacity = Bytes::ZERO;
        while self.counted.next() < to {
            if self.counted.next() >= from {
                capacity += FULL_PACKET;
            }
            self.counted.advance();
        }
        capacity
    }
}

impl<P: Clone> Opportunities<P> {
    /// Sends what can be sent by `now`.
    #[inline(never)]
    pub fn serve(&mut self, now: Instant, queue: &mut dyn Queue<P>, wire: &mut Wire<P>, verdicts: &mut Verdicts<P>) {
        while self.times.next() <= now {
            let at = self.times.next();
            self.times.advance();
            if self.in_service.is_none() && queue.packets() == 0 {
                continue;
            }
            self.use_opportunity(at, queue, wire, verdicts);
        }
    }

    fn use_opportunity(
        &mut self,
        at: Instant,
        queue: &mut dyn Queue<P>,
        wire: &mut Wire<P>,
        verdicts: &mut Verdicts<P>,
    ) {
        let mut credit = OPPORTUNITY;
        while credit > 0 {
            let Some((packet, needed)) = self.in_service.take().or_else(|| {
                let packet = (queue.packets() > 0).then(|| take(queue, at, verdicts)).flatten()?;
                let needed = packet.size.count() + FRAME_HEADER;
                Some((packet, needed))
            }) else {
                break;
            };
            if needed > credit {
                self.in_service = Some((packet, needed - credit));
                break;
            }
            credit -= needed;
            wire.push(packet, at, verdicts);
        }
    }
}

/// When opportunities come.
#[derive(Clone, Debug)]
enum Times {
    Trace { opportunities_ms: std::sync::Arc<[u64]>, index: usize, period_start_ms: u64 },
    Poisson { mean_gap: Duration, stream: RandomStream, next: Instant },
}

impl Times {
    fn trace(opportunities_ms: Vec<u64>) -> Self {
        Self::Trace { opportunities_ms: opportunities_ms.into(), index: 0, period_start_ms: 0 }
    }

    fn poisson(mean_gap: Duration, mut stream: RandomStream) -> Self {
        let next = Instant::ZERO + stream.exponential(mean_gap);
        Self::Poisson { mean_gap, stream, next }
    }

    fn next(&self) -> Instant {
        match self {
            Self::Trace { opportunities_ms, index, period_start_ms } => {
                Instant::ZERO + Duration::from_millis(period_start_ms + opportunities_ms[*index])
            }
            Self::Poisson { next, .. } => *next,
        }
    }

    fn advance(&mut self) {
        match self {
            Self::Trace { opportunities_ms, index, period_start_ms } => {
                *index += 1;
                if *index == opportunities_ms.len() {
                    *index = 0;
                    *period_start_ms += opportunities_ms[opportunities_ms.len() - 1];
                }
            }
            Self::Poisson { mean_gap, stream, next } => *next += stream.exponential(*mean_gap),
        }
    }
}
