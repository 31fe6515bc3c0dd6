//! Queueing disciplines: one file each, behind one small trait.

mod ahead;
mod bands;
mod bounds;
mod cake;
mod cnq;
mod cnq_codel_af;
mod cobalt;
mod codel;
mod deficit_round_robin;
mod dualpi2;
mod fifo;
mod flows;
mod fq;
mod fq_codel;
mod fq_pie;
mod hash;
mod jiffies;
mod lfq;
mod packet_queue;
mod pfifo_fast;
mod pie;
pub mod red;
mod setup;
#[cfg(test)]
mod tests;
mod verdicts;

use serde::Deserialize;

pub use cake::{Cake, CakeConfig};
pub use cnq::Cnq;
pub use cnq_codel_af::CnqCodelAf;
pub use cobalt::{Cobalt, CobaltConfig};
pub use codel::{Codel, CodelConfig};
pub use dualpi2::{DualPi2, DualPi2Config};
pub use fifo::{DropFrom, Fifo, FifoConfig};
pub use fq::{Fq, FqConfig};
pub use fq_codel::{FqCodel, FqCodelConfig};
pub use fq_pie::{FqPie, FqPieConfig};
pub use lfq::Lfq;
pub use pfifo_fast::{PfifoFast, PfifoFastConfig};
pub use pie::{Pie, PieConfig};
pub use red::{Red, RedConfig};
pub use setup::QueueSetup;
pub use verdicts::{Duplicate, Verdicts};

pub use crate::reason::Reason;

use crate::info::Info;
use crate::packet::Packet;
use crate::problem::Problem;
use crate::units::{Bytes, Instant};

/// A queueing discipline. The link asks it for a packet whenever it is free to send one, and never while it is empty.
pub trait Queue<P>: Send {
    /// Takes a packet that arrives at `now`, or drops it or others to make room.
    fn enqueue(&mut self, packet: Box<Packet<P>>, now: Instant, verdicts: &mut Verdicts<P>);

    /// The packet to send next, if there is one; may drop others on the way.
    fn dequeue(&mut self, now: Instant, verdicts: &mut Verdicts<P>) -> Option<Box<Packet<P>>>;

    /// Size of the packet that is next, where that is known before it leaves; `None` if the queue's law first decides
    /// then.
    fn peek(&self) -> Option<Bytes> {
        None
    }

    /// From `now` on, the link has a packet of this size that it took out ahead of its time, to look at it; it takes
    /// room until it is sent, or `None`.
    fn set_ahead(&mut self, _size: Option<Bytes>, _now: Instant) {}

    /// Packets waiting.
    fn packets(&self) -> usize;

    /// Bytes waiting.
    fn bytes(&self) -> Bytes;
}

/// A queueing discipline and its parameters, as an experiment states them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum QueueConfig {
    /// First in, first out; see [`Fifo`].
    Fifo(FifoConfig),
    /// Three bands by priority; see [`PfifoFast`].
    PfifoFast(PfifoFastConfig),
    /// Controlled delay; see [`Codel`].
    Codel(CodelConfig),
    /// Queues that take turns, without a control; see [`Fq`].
    Fq(FqConfig),
    /// Controlled delay in many queues; see [`FqCodel`].
    FqCodel(FqCodelConfig),
    /// A proportional integral controller; see [`Pie`].
    Pie(PieConfig),
    /// The same in many queues; see [`FqPie`].
    FqPie(FqPieConfig),
    /// Random early detection; see [`Red`].
    Red(RedConfig),
    /// Two coupled queues; see [`DualPi2`].
    #[serde(rename = "dualpi2")]
    DualPi2(DualPi2Config),
    /// CoDel and BLUE together; see [`Cobalt`].
    Cobalt(CobaltConfig),
    /// COBALT in many queues; see [`Cake`].
    Cake(CakeConfig),
    /// COBALT behind a sparse queue; see [`Cnq`].
    Cnq(CobaltConfig),
    /// The same with approximate fairness; see [`CnqCodelAf`].
    CnqCodelAf(CobaltConfig),
    /// COBALT in one queue that is scanned; see [`Lfq`].
    Lfq(CobaltConfig),
}

impl QueueConfig {
    /// Checks that the parameters make sense; else says what is wrong, and what would be right.
    pub fn check(&self, setup: &QueueSetup<'_>) -> Result<(), Problem> {
        let (info, checked) = match self {
            Self::Fifo(config) => (fifo::INFO, config.check(setup)),
            Self::PfifoFast(config) => (pfifo_fast::INFO, config.check()),
            Self::Codel(config) => (codel::INFO, config.check()),
            Self::Fq(config) => (fq::INFO, config.check()),
            Self::FqCodel(config) => (fq_codel::INFO, config.check()),
            Self::Pie(config) => (pie::INFO, config.check()),
            Self::FqPie(config) => (fq_pie::INFO, config.check()),
            Self::Red(config) => (red::INFO, config.check(setup)),
            Self::DualPi2(config) => (dualpi2::INFO, config.check()),
            Self::Cobalt(config) => (cobalt::INFO, config.check()),
            Self::Cake(config) => (cake::INFO, config.check(setup)),
            Self::Cnq(config) => (cnq::INFO, config.check()),
            Self::CnqCodelAf(config) => (cnq_codel_af::INFO, config.check()),
            Self::Lfq(config) => (lfq::INFO, config.check()),
        };
        checked.map_err(|problem| problem.of(&format!("queue {}", info.name)))
    }

    /// What is wrong with the queue on a path whose packets have DSCPs, if anything is.
    pub fn problem_with_dscps(&self) -> Option<&'static str> {
        let Self::Cake(config) = self else { return None };
        config.sorts_by_dscp().then_some(
            "queue cake: packets have DSCPs, and tins for them do not exist here; give it diffserv = \"besteffort\"",
        )
    }

    /// Builds the queue for payloads of type `P`; says what is wrong if it cannot be, which [`QueueConfig::check`]
    /// finds before.
    pub fn build<P: Send + 'static>(&self, setup: &QueueSetup<'_>) -> Result<Box<dyn Queue<P>>, Problem> {
        Ok(match self {
            Self::Fifo(config) => Box::new(Fifo::new(config, setup.mean_rate)),
            Self::PfifoFast(config) => Box::new(PfifoFast::new(config)),
            Self::Codel(config) => Box::new(Codel::new(config, setup)),
            Self::Fq(config) => Box::new(Fq::new(config, setup)),
            Self::FqCodel(config) => Box::new(FqCodel::new(config, setup)),
            Self::Pie(config) => Box::new(Pie::new(config, setup)),
            Self::FqPie(config) => Box::new(FqPie::new(config, setup)),
            Self::Red(config) => {
                let problem = |problem: Problem| problem.of(&format!("queue {}", red::INFO.name));
                Box::new(Red::new(config, setup).map_err(problem)?)
            }
            Self::DualPi2(config) => Box::new(DualPi2::new(config, setup)),
            Self::Cobalt(config) => Box::new(Cobalt::new(config, setup)),
            Self::Cake(config) => Box::new(Cake::new(config, setup)),
            Self::Cnq(config) => Box::new(Cnq::new(config, setup)),
            Self::CnqCodelAf(config) => Box::new(CnqCodelAf::new(config, setup)),
            Self::Lfq(config) => Box::new(Lfq::new(config, setup)),
        })
    }
}

/// Every queueing discipline there is, for listings and documentation.
pub const QUEUES: &[Info] = &[
    fifo::INFO,
    pfifo_fast::INFO,
    fq::INFO,
    codel::INFO,
    fq_codel::INFO,
    pie::INFO,
    fq_pie::INFO,
    red::INFO,
    dualpi2::INFO,
    cobalt::INFO,
    cake::INFO,
    cnq::INFO,
    cnq_codel_af::INFO,
    lfq::INFO,
];
