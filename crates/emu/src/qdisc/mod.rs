//! How our queues map to the kernel's queueing disciplines.
//!
//! [`Qdisc::from_queue`] turns the queue of a scenario into the kind and the options of a qdisc. What a queue does not
//! state is not sent, so that the kernel's own default applies. Each queue has a file with a [`Mapping`], which
//! declares its parameters once: for checking, for the message to the kernel, and for the reference page.
//!
//! **Source.** Linux 7.3: `include/uapi/linux/pkt_sched.h` and `net/sched/sch_*.c`.

mod cake;
mod codel;
mod dualpi2;
mod error;
mod fifo;
mod fq;
mod fq_codel;
mod fq_pie;
mod mapping;
mod pfifo_fast;
mod pie;
mod red;
mod red_tables;
mod settings;
#[cfg(test)]
mod tests;

use bakeoff_core::units::{Bytes, Rate};
use serde_json::{Map, Value};

pub use error::Unmappable;
pub use mapping::{Gap, Mapping, Parameter, Unit, Values};

use crate::netlink::Message;
use settings::Settings;

/// `TCA_KIND`.
const KIND: u16 = 1;
/// `TCA_OPTIONS`.
const OPTIONS: u16 = 2;

/// What a queue has to know of the link that empties it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The mean rate; `None` where the link is unlimited.
    pub mean_rate: Option<Rate>,
    /// The size of the largest packet, from its IP header on.
    pub largest_packet: Bytes,
}

/// A queueing discipline of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qdisc {
    /// The kernel's name for it.
    pub kind: &'static str,
    /// How it is set.
    pub options: Options,
}

/// What goes into `TCA_OPTIONS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Options {
    /// Attributes; none of them leaves every default as it is.
    Attributes(Message),
    /// The bytes of a C structure.
    Structure(Vec<u8>),
}

impl Qdisc {
    /// The qdisc that does what `queue`, an object of a resolved scenario with a `kind`, describes.
    pub fn from_queue(queue: &Map<String, Value>, link: &Link) -> Result<Self, Unmappable> {
        let Some(kind) = queue.get("kind").and_then(Value::as_str) else {
            return Err(Unmappable::NoKind { known: kinds() });
        };
        let Some((mapping, build)) = MAPPINGS.iter().find(|(mapping, _)| mapping.queue == kind) else {
            return Err(Unmappable::UnknownKind { kind: kind.to_owned(), known: kinds() });
        };
        let settings = Settings::check(mapping, queue)?;
        build.map_or_else(|| Ok(settings.qdisc()), |build| build(&settings, link))
    }

    /// Adds `TCA_KIND` and `TCA_OPTIONS` to a message that makes a qdisc.
    #[must_use]
    pub fn add_to(&self, message: Message) -> Message {
        let message = message.text(KIND, self.kind);
        match &self.options {
            Options::Attributes(attributes) if attributes.as_bytes().is_empty() => message,
            Options::Attributes(attributes) => message.nested(OPTIONS, attributes),
            Options::Structure(bytes) => message.attribute(OPTIONS, bytes),
        }
    }
}

/// Every mapping there is, for documentation.
pub fn mappings() -> impl Iterator<Item = &'static Mapping> {
    MAPPINGS.iter().map(|(mapping, _)| *mapping)
}

/// Makes a qdisc out of settings that were checked one by one.
type Build = fn(&Settings, &Link) -> Result<Qdisc, Unmappable>;

/// Every mapping, and how its qdisc is made, if not by an attribute for each parameter.
const MAPPINGS: &[(&Mapping, Option<Build>)] = &[
    (&fifo::MAPPING, Some(fifo::build)),
    (&pfifo_fast::MAPPING, None),
    (&fq::MAPPING, None),
    (&codel::MAPPING, None),
    (&fq_codel::MAPPING, None),
    (&pie::MAPPING, None),
    (&fq_pie::MAPPING, None),
    (&cake::MAPPING, Some(cake::build)),
    (&red::MAPPING, Some(red::build)),
    (&dualpi2::MAPPING, Some(dualpi2::build)),
];

fn kinds() -> String {
    let kinds: Vec<_> = mappings().map(|mapping| mapping.queue).collect();
    kinds.join(", ")
}
