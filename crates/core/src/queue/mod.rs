//! Queueing disciplines: one file each, behind one small trait.

mod cake;
mod codel;
mod drops;
mod dualpi2;
mod fifo;
mod fq_codel;
mod fq_pie;
mod hash;
mod jiffies;
mod line;
mod pie;
mod place;
pub mod red;
mod rounds;
#[cfg(test)]
mod tests;

use serde::Deserialize;

pub use cake::{Cake, CakeConfig};
pub use codel::{Codel, CodelConfig};
pub use drops::{Drops, Reason};
pub use dualpi2::{DualPi2, DualPi2Config};
pub use fifo::{DropFrom, Fifo, FifoConfig};
pub use fq_codel::{FqCodel, FqCodelConfig};
pub use fq_pie::{FqPie, FqPieConfig};
pub use pie::{Pie, PieConfig};
pub use place::Place;
pub use red::{Red, RedConfig};

use crate::info::Info;
use crate::packet::Packet;
use crate::units::{Bytes, Instant};

/// A queueing discipline. The link asks it for a packet whenever it is free to send one, and never while it is empty.
pub trait Queue<P>: Send {
    /// Takes a packet that arrives at `now`, or drops it or others to make room.
    fn enqueue(&mut self, packet: Packet<P>, now: Instant, drops: &mut Drops<P>);

    /// The packet to send next, if there is one; may drop others on the way.
    fn dequeue(&mut self, now: Instant, drops: &mut Drops<P>) -> Option<Packet<P>>;

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
    /// Controlled delay; see [`Codel`].
    Codel(CodelConfig),
    /// Controlled delay in many lines; see [`FqCodel`].
    FqCodel(FqCodelConfig),
    /// A proportional integral controller; see [`Pie`].
    Pie(PieConfig),
    /// The same in many lines; see [`FqPie`].
    FqPie(FqPieConfig),
    /// Random early detection; see [`Red`].
    Red(RedConfig),
    /// Two coupled lines; see [`DualPi2`].
    #[serde(rename = "dualpi2")]
    DualPi2(DualPi2Config),
    /// COBALT in many lines; see [`Cake`].
    Cake(CakeConfig),
}

impl QueueConfig {
    /// Checks that the parameters make sense; else says what is wrong, and what would be right.
    pub fn check(&self, place: &Place<'_>) -> Result<(), String> {
        let (info, checked) = match self {
            Self::Fifo(_) => return Ok(()),
            Self::Codel(config) => (codel::INFO, config.check()),
            Self::FqCodel(config) => (fq_codel::INFO, config.check()),
            Self::Pie(config) => (pie::INFO, config.check()),
            Self::FqPie(config) => (fq_pie::INFO, config.check()),
            Self::Red(config) => (red::INFO, config.check(place)),
            Self::DualPi2(config) => (dualpi2::INFO, config.check()),
            Self::Cake(config) => (cake::INFO, config.check(place)),
        };
        checked.map_err(|problem| format!("queue {}: {problem}", info.name))
    }

    /// Builds the queue for payloads of type `P`.
    pub fn build<P: Send + 'static>(&self, place: &Place<'_>) -> Box<dyn Queue<P>> {
        match self {
            Self::Fifo(config) => Box::new(Fifo::new(config, place.mean_rate)),
            Self::Codel(config) => Box::new(Codel::new(config, place)),
            Self::FqCodel(config) => Box::new(FqCodel::new(config, place)),
            Self::Pie(config) => Box::new(Pie::new(config, place)),
            Self::FqPie(config) => Box::new(FqPie::new(config, place)),
            Self::Red(config) => Box::new(Red::new(config, place)),
            Self::DualPi2(config) => Box::new(DualPi2::new(config, place)),
            Self::Cake(config) => Box::new(Cake::new(config, place)),
        }
    }
}

/// Every queueing discipline there is, for listings and documentation.
pub const QUEUES: &[Info] =
    &[fifo::INFO, codel::INFO, fq_codel::INFO, pie::INFO, fq_pie::INFO, red::INFO, dualpi2::INFO, cake::INFO];
