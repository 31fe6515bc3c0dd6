//! What a scheme or a queue says of itself: the one place that listings, validation and reference pages read.

use serde::Serialize;

use crate::scheme::Parameters;

/// Name, source, parameters and telemetry of a scheme or a queue.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Info {
    /// The word in experiment files.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// The paper, RFC or program it follows.
    pub source: &'static str,
    /// What can be set.
    pub parameters: &'static [Parameter],
    /// What it shows of its inner state.
    pub telemetry: &'static [Quantity],
}

/// Something that can be set.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Parameter {
    /// The word in experiment files.
    pub name: &'static str,
    /// Which values it takes, and the default.
    #[serde(flatten)]
    pub kind: Kind,
    /// The unit of a number.
    pub unit: &'static str,
    /// What it means.
    pub doc: &'static str,
}

/// The values a parameter takes.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Kind {
    /// A number between two bounds, both included.
    Number {
        /// Used when the experiment says nothing.
        default: f64,
        /// The smallest value.
        min: f64,
        /// The largest value.
        max: f64,
    },
    /// Yes or no.
    Flag {
        /// Used when the experiment says nothing.
        default: bool,
    },
    /// One of a few words.
    Choice {
        /// The words.
        options: &'static [&'static str],
        /// Used when the experiment says nothing.
        default: &'static str,
    },
    /// One of a few sets of values for everything that an experiment does not set otherwise.
    Profile {
        /// The sets.
        profiles: &'static [Profile],
        /// Used when the experiment says nothing.
        default: &'static str,
    },
    /// The path of a file, which an experiment has to name. It is read when a flow is built.
    File {
        /// What the file holds.
        content: &'static str,
        /// What is wrong with a content beside the other parameters, if anything is.
        #[serde(skip)]
        problem: fn(&[u8], &Parameters) -> Option<String>,
    },
    /// Free text in a form that `doc` describes.
    Text {
        /// Used when the experiment says nothing.
        default: &'static str,
    },
}

/// A named set of parameters, as somebody published it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Profile {
    /// The word in experiment files.
    pub name: &'static str,
    /// The paper, RFC or program it follows, with the revision where it matters, and what it stands for.
    pub source: &'static str,
}

/// A quantity that is shown while a run goes on.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Quantity {
    /// The name in recordings.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// What it means.
    pub doc: &'static str,
}

impl Parameter {
    /// A quantity with a unit, such as "5ms", written as text; `unit` says of what kind it is.
    pub const fn quantity(name: &'static str, default: &'static str, unit: &'static str, doc: &'static str) -> Self {
        Self { name, kind: Kind::Text { default }, unit, doc }
    }

    /// A number within bounds, both included.
    pub const fn number(
        name: &'static str,
        [default, min, max]: [f64; 3],
        unit: &'static str,
        doc: &'static str,
    ) -> Self {
        Self { name, kind: Kind::Number { default, min, max }, unit, doc }
    }

    /// Yes or no.
    pub const fn flag(name: &'static str, default: bool, doc: &'static str) -> Self {
        Self { name, kind: Kind::Flag { default }, unit: "", doc }
    }

    /// Which profile, by its key `profile`.
    pub const fn profile(profiles: &'static [Profile], default: &'static str) -> Self {
        let doc = "whose constants and rules; what else is set replaces its own";
        Self { name: "profile", kind: Kind::Profile { profiles, default }, unit: "", doc }
    }

    /// One of a few words, the first of which is the default.
    pub const fn choice(name: &'static str, options: &'static [&'static str], doc: &'static str) -> Self {
        Self { name, kind: Kind::Choice { options, default: options[0] }, unit: "", doc }
    }
}
