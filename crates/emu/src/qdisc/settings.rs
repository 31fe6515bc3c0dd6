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
            let mut keys: Vec<_> =
                mapping.parameters.iter().filter_map(|parameter| mapping.key(parameter.name)).collect();
            // A limit in packets stands beside the same in bytes.
            keys.dedup();
            return Err(Unmappable::UnknownParameter {
                queue: mapping.queue,
                key: mapping.key(name).unwrap_or(name).to_owned(),
                known: keys.join(", "),
            });
        }
        let mut stated = Vec::new();
        for parameter in mapping.parameters {
            match queue.get(parameter.name) {
                None | Some(Value::Null) => {}
                Some(value) => stated.push((parameter, number(mapping, parameter, value)?)),
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
    pub(super) fn invalid(&self, key: &'static str, value: String, expected: String) -> Unmappable {
        Unmappable::Invalid { queue: self.mapping.queue, key, value, expected }
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
fn number(mapping: &Mapping, parameter: &Parameter, value: &Value) -> Result<f64, Unmappable> {
    let found = match parameter.values {
        Values::Number { min, max, .. } => value.as_f64().filter(|found| (min..=max).contains(found)),
        Values::Flag => value.as_bool().map(f64::from),
        Values::Choice { options } => value
            .as_str()
            .and_then(|word| options.iter().find(|(option, _)| *option == word))
            .map(|(_, number)| f64::from(*number)),
    };
    let invalid = |expected| Unmappable::Invalid {
        queue: mapping.queue,
        key: mapping.key(parameter.name).unwrap_or(parameter.name),
        value: written(&parameter.values, value),
        expected,
    };
    let found = found.ok_or_else(|| invalid(allowed(&parameter.values)))?;
    if let Values::Number { unit, .. } = parameter.values {
        let nearest = (found / unit.step).round() * unit.step;
        if (nearest - found).abs() > unit.tolerance * found {
            let (step, nearest) = (unit.write(unit.step), unit.write(nearest));
            return Err(invalid(format!("multiples of {step}, of which {nearest} is the nearest")));
        }
    }
    Ok(found)
}

/// The values that a parameter takes, in words.
fn allowed(values: &Values) -> String {
    match values {
        Values::Number { min, max, unit } if max <= min => unit.write(*min),
        Values::Number { min, max, unit } => format!("{} to {}", unit.write(*min), unit.write(*max)),
        Values::Flag => "true or false".to_owned(),
        Values::Choice { options } => {
            let words: Vec<_> = options.iter().map(|(word, _)| format!("{word:?}")).collect();
            words.join(" or ")
        }
    }
}

/// What was given, as an experiment file has it.
fn written(values: &Values, value: &Value) -> String {
    match (values, value.as_f64()) {
        (Values::Number { unit, .. }, Some(number)) => unit.write(number),
        _ => value.to_string(),
    }
}
