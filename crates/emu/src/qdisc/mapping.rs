//! What is declared of a queue's mapping: the one place that checks, messages to the kernel and reference pages read.

use bakeoff_core::queue::QUEUES;
use bakeoff_core::units::{Bytes, Duration};
use serde::Serialize;

/// The longest time that all qdiscs can count; PIE's arithmetic overflows a little above it.
const LONGEST_NS: f64 = 60e9;
/// The largest number that an attribute of four bytes holds.
pub(super) const LARGEST: f64 = u32::MAX as f64;

/// What a parameter's name has behind its key in experiment files.
const UNITS: [&str; 6] = ["", "_ns", "_time_ns", "_bytes", "_packets", "_hz"];

/// How one queue maps to Linux.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Mapping {
    /// The queue's kind in experiment files.
    pub queue: &'static str,
    /// The qdiscs it may become.
    pub qdiscs: &'static [&'static str],
    /// The kernel's source file.
    pub source: &'static str,
    /// What there is to know of the mapping as a whole.
    pub doc: &'static str,
    /// What can be set.
    pub parameters: &'static [Parameter],
    /// What cannot be mapped.
    pub gaps: &'static [Gap],
}

/// How one parameter maps to Linux.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Parameter {
    /// The name in a scenario's queue.
    pub name: &'static str,
    /// The kernel's name of the attribute, or of the structure's field.
    pub attribute: &'static str,
    /// How the attribute is sent.
    #[serde(skip)]
    pub(super) wire: Wire,
    /// The values it takes.
    #[serde(flatten)]
    pub values: Values,
    /// What applies where the queue does not state it.
    pub default: &'static str,
    /// What it means.
    pub doc: &'static str,
}

/// How the value of a parameter is sent.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wire {
    /// As an attribute of one byte with this number.
    U8(u16),
    /// As an attribute of four bytes with this number.
    U32(u16),
    /// Within a structure, which the queue's own `build` makes.
    Field,
}

/// The values a parameter takes.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Values {
    /// A number between two bounds, both included.
    Number {
        /// The smallest value.
        min: f64,
        /// The largest value.
        max: f64,
        /// In which units we and the kernel count it.
        #[serde(flatten)]
        unit: Unit,
    },
    /// Yes or no.
    Flag,
    /// One of a few words.
    Choice {
        /// The words, each with the kernel's number for it.
        options: &'static [(&'static str, u32)],
    },
}

/// In which units we and the kernel count something.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Unit {
    /// Our unit.
    pub unit: &'static str,
    /// The kernel's unit.
    pub kernel_unit: &'static str,
    /// One of the kernel's units in ours.
    pub step: f64,
    /// How far the kernel's value may be from the one that was asked for.
    #[serde(skip)]
    pub(super) tolerance: f64,
}

/// Something that cannot be mapped.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Gap {
    /// What is asked for.
    pub what: &'static str,
    /// Why Linux cannot do it, or need not.
    pub why: &'static str,
}

impl Mapping {
    /// The key of an experiment file that states a parameter of the queue; `None` if no file can.
    pub(super) fn key(&self, name: &str) -> Option<&'static str> {
        let info = QUEUES.iter().find(|info| info.name == self.queue)?;
        let states = |key: &str| name.strip_prefix(key).is_some_and(|unit| UNITS.contains(&unit));
        info.parameters.iter().map(|parameter| parameter.name).find(|key| states(key))
    }
}

impl Unit {
    /// A number as an experiment file has it.
    pub(super) fn write(&self, value: f64) -> String {
        let is_count = value >= 0.0 && value.fract() == 0.0;
        match self.unit {
            "ns" if is_count => Duration::from_nanos(value as u64).to_string(),
            "bytes" if is_count => Bytes::new(value as u64).to_string(),
            "packets" if is_count => format!("{value}pkt"),
            _ => value.to_string(),
        }
    }
}

impl Values {
    /// A whole number that means the same on both sides.
    pub(super) const fn count(min: f64, max: f64, unit: &'static str) -> Self {
        Self::Number { min, max, unit: Unit { unit, kernel_unit: unit, step: 1.0, tolerance: 0.0 } }
    }

    /// A time that the kernel counts in microseconds.
    pub(super) const fn time(min_ns: f64) -> Self {
        Self::time_up_to(min_ns, LONGEST_NS)
    }

    /// As [`Values::time`], with a bound of its own.
    pub(super) const fn time_up_to(min: f64, max: f64) -> Self {
        Self::scaled(min, max, "ns", "µs", 1e3)
    }

    /// A number that the kernel counts in other units. Off by more than 1 %, it would be another experiment.
    pub(super) const fn scaled(min: f64, max: f64, unit: &'static str, kernel_unit: &'static str, step: f64) -> Self {
        Self::Number { min, max, unit: Unit { unit, kernel_unit, step, tolerance: 0.01 } }
    }
}
