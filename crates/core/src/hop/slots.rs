//! Slots: packets wait on the wire for the next of the times at which some may go together.
//!
//! **What it is.** What radio links do to a stream of packets: it comes out in bursts. A slot opens a random time after
//! the one before, and lets through what is waiting, but no more than so many packets. A packet that comes after the
//! slot has opened waits for the next one, which is chosen then.
//!
//! **Source.** Linux 7.3 `net/sched/sch_netem.c`: `slot MIN MAX packets N` (`get_slot_next`, `netem_dequeue`).
//!
//! **Parameters.** `min` and `max`: the time to the next slot, evenly distributed; `packets`: the most that a slot lets
//! through. None has a default.
//!
//! **Deviations.** No limit in bytes and no table of a distribution. `min` may not be shorter than the delay of the
//! hop, for which netem would choose slots over and over.
//!
//! **How it is validated.** `tests/elements.rs`: sizes and times of bursts.

use serde::Deserialize;

use crate::problem::Problem;
use crate::random::RandomStream;
use crate::units::{Duration, Instant};

/// When packets may go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlotsConfig {
    /// The least time from one slot to the next.
    #[serde(rename = "min_ns")]
    pub min: Duration,
    /// The longest.
    #[serde(rename = "max_ns")]
    pub max: Duration,
    /// The most packets that go together.
    pub packets: u32,
}

impl SlotsConfig {
    /// Checks it for a hop with this delay.
    pub(super) fn check(&self, delay: Duration) -> Result<(), Problem> {
        let Self { min, max, packets } = *self;
        if packets == 0 {
            Err(Problem::new("slots.packets 0 lets nothing pass; give 1 or more"))
        } else if max.is_zero() || min > max {
            Err(Problem::new(format!(
                "slots.max {max} is not possible with slots.min {min}; give a time above zero and no shorter"
            )))
        } else if min < delay {
            Err(Problem::new(format!(
                "slots.min {min} is shorter than the delay of the hop, {delay}; give the delay to a hop of its own"
            )))
        } else {
            Ok(())
        }
    }
}

/// The slot that is next (`struct slotinfo`).
#[derive(Debug)]
pub(super) struct Slots {
    config: SlotsConfig,
    random: RandomStream,
    next: Instant,
    packets_left: u32,
    /// When the last packet went.
    last: Instant,
}

impl Slots {
    pub(super) fn new(config: SlotsConfig, seed: u64, name: &str) -> Self {
        let random = RandomStream::new(seed, &format!("{name}.slots"));
        Self { config, random, next: Instant::ZERO, packets_left: config.packets, last: Instant::ZERO }
    }

    fn choose(&mut self, now: Instant) {
        let SlotsConfig { min, max, packets } = self.config;
        let spread = max.saturating_sub(min).as_nanos();
        self.next = now + min + Duration::from_nanos(self.random.below(spread + 1));
        self.packets_left = packets;
    }

    /// When a packet goes that was sent at `sent` and may go from `due` on.
    pub(super) fn departure(&mut self, sent: Instant, due: Instant) -> Instant {
        if self.next < due {
            self.choose(sent.max(self.last));
        }
        self.last = due.max(self.next);
        self.packets_left -= 1;
        if self.packets_left == 0 {
            self.choose(self.last);
        }
        self.last
    }
}
