//! What a scheme or a queue says of itself: the one place that listings, validation and reference pages read.

use serde::Serialize;

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
    /// The name of a file, whose content is what counts.
    File {
        /// Used when the experiment says nothing; empty for no file.
        default: &'static str,
        /// What is wrong with a content, if anything is.
        #[serde(skip)]
        problem: fn(&[u8]) -> Option<String>,
    },
    /// Free text in a form that `doc` describes.
    Text {
        /// Used when the experiment says nothing.
        default: &'static str,
    },
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
