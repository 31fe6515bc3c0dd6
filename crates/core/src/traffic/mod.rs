//! Traffic: when an application has data to send.

use serde::Deserialize;

use crate::random::RandomStream;
use crate::units::{Bytes, Duration, Instant};

/// The length of on and off periods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    /// Always the mean.
    #[default]
    Constant,
    /// Exponential with that mean.
    Exponential,
}

/// What an application sends.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum TrafficConfig {
    /// As much as the transport takes, for ever.
    Bulk {
        /// Bytes that the application writes at once, of which the last packet carries what is left; none: one write.
        #[serde(rename = "write_bytes", default)]
        write: Option<Bytes>,
    },
    /// A transfer of this size.
    Finite {
        /// Bytes of payload.
        #[serde(rename = "size_bytes")]
        size: Bytes,
    },
    /// Bulk for a while, nothing for a while.
    OnOff {
        /// Mean length of an on period.
        #[serde(rename = "on_ns")]
        on: Duration,
        /// Mean length of an off period.
        #[serde(rename = "off_ns")]
        off: Duration,
        /// How the lengths vary.
        #[serde(default)]
        distribution: Distribution,
    },
}

/// An application that writes into a transport.
#[derive(Debug)]
pub struct Source {
    left: Bytes,
    writes: Option<Writes>,
    on_off: Option<OnOff>,
}

/// Pieces in which an application writes; no packet carries parts of two.
#[derive(Debug)]
struct Writes {
    size: Bytes,
    left: Bytes,
}

#[derive(Debug)]
struct OnOff {
    on: Duration,
    off: Duration,
    distribution: Distribution,
    random: RandomStream,
    is_on: bool,
    until: Instant,
    /// What the application has written before the transport can take it, while it is on, and what of that is left.
    backlog: Bytes,
    written: Bytes,
}

/// More than any run can send.
const UNLIMITED: Bytes = Bytes::new(u64::MAX);

impl Source {
    /// An application that begins at `start`; on-off traffic begins with an on period.
    pub fn new(config: &TrafficConfig, start: Instant, random: RandomStream) -> Self {
        match *config {
            TrafficConfig::Bulk { write } => {
                let writes = write.map(|size| Writes { size, left: size });
                Self { left: UNLIMITED, writes, on_off: None }
            }
            TrafficConfig::Finite { size } => Self { left: size, writes: None, on_off: None },
            TrafficConfig::OnOff { on, off, distribution } => {
                let (is_on, backlog, written) = (false, Bytes::ZERO, Bytes::ZERO);
                let mut on_off = OnOff { on, off, distribution, random, is_on, until: start, backlog, written };
                on_off.advance(start);
                Self { left: UNLIMITED, writes: None, on_off: Some(on_off) }
            }
        }
    }

    /// One that writes into a socket, which holds so much that the transport has not taken yet: when an on-off
    /// application falls silent, that is still to be sent.
    #[must_use]
    pub fn with_backlog(mut self, backlog: Bytes) -> Self {
        if let Some(on_off) = &mut self.on_off {
            on_off.backlog = backlog;
        }
        self
    }

    /// Bytes that can be sent at `now`, in as many packets as it takes.
    pub fn available(&mut self, now: Instant) -> Bytes {
        if let Some(on_off) = &mut self.on_off {
            on_off.advance(now);
            if !on_off.is_on {
                return on_off.written;
            }
            on_off.written = on_off.backlog;
        }
        self.writes.as_ref().map_or(self.left, |writes| writes.left)
    }

    /// The transport has taken `size` bytes.
    pub fn take(&mut self, size: Bytes) {
        if let Some(on_off) = self.on_off.as_mut().filter(|on_off| !on_off.is_on) {
            on_off.written = on_off.written.saturating_sub(size);
        }
        if self.left != UNLIMITED {
            self.left = self.left.saturating_sub(size);
        }
        if let Some(writes) = &mut self.writes {
            writes.left = writes.left.saturating_sub(size);
            if writes.left == Bytes::ZERO {
                writes.left = writes.size;
            }
        }
    }

    /// True for an application that writes segment by segment.
    pub fn writes_segments(&self) -> bool {
        self.on_off.is_some()
    }

    /// When there will be data again, if there is none at the moment.
    pub fn next_wakeup(&self) -> Option<Instant> {
        let silent = self.on_off.as_ref().filter(|on_off| !on_off.is_on && on_off.written == Bytes::ZERO);
        silent.map(|on_off| on_off.until)
    }

    /// True if everything has been taken and nothing will follow.
    pub fn is_finished(&self) -> bool {
        self.left == Bytes::ZERO
    }
}

impl OnOff {
    #[inline(never)]
    fn advance(&mut self, now: Instant) {
        while self.until <= now {
            self.is_on = !self.is_on;
            let mean = if self.is_on { self.on } else { self.off };
            self.until += match self.distribution {
                Distribution::Constant => mean,
                Distribution::Exponential => self.random.exponential(mean),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(config: &TrafficConfig) -> Source {
        Source::new(config, Instant::ZERO, RandomStream::new(1, "traffic"))
    }

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn a_finite_transfer_ends() {
        let mut source = source(&TrafficConfig::Finite { size: Bytes::new(2_000) });
        source.take(Bytes::new(1_448));
        assert_eq!((source.available(at(1)), source.is_finished()), (Bytes::new(552), false));
        source.take(Bytes::new(552));
        assert!(source.is_finished());
    }

    #[test]
    fn a_write_ends_a_packet() {
        let mut source = source(&TrafficConfig::Bulk { write: Some(Bytes::new(3_000)) });
        let lengths = [(); 7].map(|()| {
            let length = source.available(at(1)).min(Bytes::new(1_400));
            source.take(length);
            length.count()
        });
        assert_eq!(lengths, [1_400, 1_400, 200, 1_400, 1_400, 200, 1_400]);
        assert!(!source.is_finished());
    }

    #[test]
    fn constant_on_off_alternates() {
        let (on, off) = (Duration::from_secs(2), Duration::from_secs(3));
        let on_off = TrafficConfig::OnOff { on, off, distribution: Distribution::Constant };
        let mut source = source(&on_off);
        let is_on: Vec<_> = (0..10).map(|second| source.available(at(second)) > Bytes::ZERO).collect();
        assert_eq!(is_on, [true, true, false, false, false, true, true, false, false, false]);
        assert_eq!(source.next_wakeup(), Some(at(10)));
    }

    #[test]
    fn what_a_socket_holds_is_still_to_be_sent_when_the_application_falls_silent() {
        let (on, off) = (Duration::from_secs(2), Duration::from_secs(3));
        let on_off = TrafficConfig::OnOff { on, off, distribution: Distribution::Constant };
        let segment = Bytes::new(1_448);
        let mut source = source(&on_off).with_backlog(segment * 2);
        assert_eq!(source.available(at(2)), Bytes::ZERO, "nobody asked while it wrote: it waited for the connection");
        source.available(at(5));
        source.take(segment * 9);
        assert_eq!((source.available(at(7)), source.next_wakeup()), (segment * 2, None));
        source.take(segment);
        assert_eq!((source.available(at(8)), source.next_wakeup()), (segment, None));
        source.take(segment);
        assert_eq!((source.available(at(9)), source.next_wakeup()), (Bytes::ZERO, Some(at(10))));
        assert_eq!(source.available(at(10)), UNLIMITED);
    }
}
