//! Checks what a queue states against its mapping.

use serde_json::{Map, Value};

use super::mapping::{Mapping, Parameter, Values, Wire};
use super::{Options, Qdisc, Unmappable};
use crate::netlink::Message;

/// The parameters that a queue states, each within its bounds.
pub(super) struct Settings {
    /// The mapping that they follow.
    pub(super) mapping: &'static Mapping,
    stated: Vec<(&'static Parameter, f64)>,
}

impl Settings {
    /// Checks every key of `queue` but `kind`; null stands for what is not stated.
    pub(super) fn check(mapping: &'static Mapping, queue: &Map<String, Value>) -> Result<Self, Unmappable> {
        let known = |name: &str| name == "kind" || mapping.parameters.iter().any(|parameter| parameter.name == name);
        if let Some(name) = queue.keys().find(|name| !known(name)) {
            let names: Vec<_> = mapping.parameters.iter().map(|parameter| parameter.name).collect();
            return Err(Unmappable::UnknownParameter {
                queue: mapping.queue,
                name: name.clone(),
                known: names.join(", "),
            });
        }
        let mut stated = Vec::new();
        for parameter in mapping.parameters {
            match queue.get(parameter.name) {
                None | Some(Value::Null) => {}
                Some(value) => stated.push((parameter, number(mapping.queue, parameter, value)?)),
            }
        }
        Ok(Self { mapping, stated })
    }

    /// What is stated for a parameter: a number in our unit, 0 or 1 for a flag, the kernel's number for a word.
    pub(super) fn get(&self, name: &str) -> Option<f64> {
        self.stated.iter().find(|(parameter, _)| parameter.name == name).map(|(_, value)| *value)
    }

    /// What is stated, as attributes in the order of the mapping.
    pub(super) fn attributes(&self) -> Message {
        self.stated.iter().fold(Message::attributes(), |message, (parameter, value)| {
            let value = in_kernel_units(&parameter.values, *value);
            match parameter.wire {
                Wire::U8(number) => message.u8(number, value as u8),
                Wire::U32(number) => message.u32(number, value),
                Wire::Field => message,
            }
        })
    }

    /// The qdisc, if each parameter is one attribute.
    pub(super) fn qdisc(&self) -> Qdisc {
        Qdisc { kind: self.mapping.qdiscs[0], options: Options::Attributes(self.attributes()) }
    }

    /// The refusal of a value that is within its bounds and yet does not fit.
    pub(super) fn invalid(&self, name: &'static str, value: &impl ToString, expected: impl Into<String>) -> Unmappable {
        Unmappable::Invalid { queue: self.mapping.queue, name, value: value.to_string(), expected: expected.into() }
    }
}

/// A value that was checked, as the kernel counts it.
fn in_kernel_units(values: &Values, value: f64) -> u32 {
    match values {
        Values::Number { unit, .. } => (value / unit.step).round() as u32,
        Values::Flag | Values::Choice { .. } => value as u32,
    }
}

/// The value as a number, if the parameter can have it.
fn number(queue: &'static str, parameter: &Parameter, value: &Value) -> Result<f64, Unmappable> {
    let found = match parameter.values {
        Values::Number { min, max, .. } => value.as_f64().filter(|found| (min..=max).contains(found)),
        Values::Flag => value.as_bool().map(f64::from),
        Values::Choice { options } => value
            .as_str()
            .and_then(|word| options.iter().find(|(option, _)| *option == word))
            .map(|(_, number)| f64::from(*number)),
    };
    let invalid = |expected| Unmappable::Invalid { queue, name: parameter.name, value: value.to_string(), expected };
    let found = found.ok_or_else(|| invalid(allowed(&parameter.values)))?;
    if let Values::Number { unit, .. } = parameter.values {
        let nearest = (found / unit.step).round() * unit.step;
        if (nearest - found).abs() > unit.tolerance * found {
            let step = with_unit(unit.step, unit.unit);
            return Err(invalid(format!("multiples of {step}, of which {nearest} is the nearest")));
        }
    }
    Ok(found)
}

/// The values that a parameter takes, in words.
fn allowed(values: &Values) -> String {
    match values {
        Values::Number { min, max, unit } => format!("a number from {min} to {}", with_unit(*max, unit.unit)),
        Values::Flag => "true or false".to_owned(),
        Values::Choice { options } => {
            let words: Vec<_> = options.iter().map(|(word, _)| format!("{word:?}")).collect();
            words.join(" or ")
        }
    }
}

fn with_unit(value: f64, unit: &str) -> String {
    if unit.is_empty() { value.to_string() } else { format!("{value} {unit}") }
}
