//! Parameters of a scheme, checked against what it declares.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::info::{Kind, Parameter};

/// The value of a parameter as it stands in an experiment.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// Yes or no.
    Flag(bool),
    /// A number.
    Number(f64),
    /// A word.
    Text(String),
    /// What a file holds; experiments give its name.
    #[serde(skip)]
    Bytes(Vec<u8>),
}

/// Why a set of parameters cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ParameterError {
    /// The scheme has no such parameter.
    #[error("{scheme} has no parameter {name:?}; it has {known}")]
    Unknown {
        /// The scheme.
        scheme: &'static str,
        /// The parameter.
        name: String,
        /// Those it has.
        known: String,
    },
    /// The parameter cannot have this value.
    #[error("parameter {name} of {scheme} cannot be {value}; it takes {expected}")]
    Invalid {
        /// The scheme.
        scheme: &'static str,
        /// The parameter.
        name: &'static str,
        /// What was given.
        value: String,
        /// What would be right.
        expected: String,
    },
    /// The file that a parameter names cannot be used.
    #[error("parameter {name} of {scheme} names the file {file:?}: {problem}")]
    File {
        /// The scheme.
        scheme: &'static str,
        /// The parameter.
        name: &'static str,
        /// The file.
        file: String,
        /// What is wrong with it.
        problem: String,
    },
    /// There is no such scheme.
    #[error("there is no scheme called {0:?}")]
    NoScheme(String),
}

/// The value of every parameter that a scheme declares: given, or its default.
#[derive(Clone, Debug, Default)]
pub struct Parameters {
    values: BTreeMap<&'static str, Value>,
}

impl Parameters {
    /// Checks what was given against what `scheme` declares and fills in the defaults.
    pub fn resolve(
        scheme: &'static str,
        declared: &'static [Parameter],
        given: &BTreeMap<String, Value>,
    ) -> Result<Self, ParameterError> {
        if let Some(name) = given.keys().find(|name| !declared.iter().any(|parameter| parameter.name == *name)) {
            let names: Vec<_> = declared.iter().map(|parameter| parameter.name).collect();
            let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(ParameterError::Unknown { scheme, name: name.clone(), known });
        }
        let mut values = BTreeMap::new();
        for parameter in declared {
            let value = match given.get(parameter.name) {
                Some(value) => check(scheme, parameter, value)?,
                None => default(parameter.kind),
            };
            values.insert(parameter.name, value);
        }
        Ok(Self { values })
    }

    /// The number called `name`.
    pub fn number(&self, name: &str) -> f64 {
        match self.values.get(name) {
            Some(Value::Number(number)) => *number,
            _ => f64::NAN,
        }
    }

    /// The content of the file called `name`; empty if there is none.
    pub fn bytes(&self, name: &str) -> &[u8] {
        match self.values.get(name) {
            Some(Value::Bytes(bytes)) => bytes,
            _ => &[],
        }
    }

    /// The flag called `name`.
    pub fn flag(&self, name: &str) -> bool {
        self.values.get(name) == Some(&Value::Flag(true))
    }

    /// The word called `name`.
    pub fn text(&self, name: &str) -> &str {
        match self.values.get(name) {
            Some(Value::Text(text)) => text,
            _ => "",
        }
    }
}

fn default(kind: Kind) -> Value {
    match kind {
        Kind::Number { default, .. } => Value::Number(default),
        Kind::Flag { default } => Value::Flag(default),
        Kind::Choice { default, .. } | Kind::Text { default } | Kind::File { default, .. } => {
            Value::Text(default.to_owned())
        }
    }
}

fn check(scheme: &'static str, parameter: &Parameter, value: &Value) -> Result<Value, ParameterError> {
    let expected = match (parameter.kind, value) {
        (Kind::File { .. }, Value::Text(file)) if file.is_empty() => return Ok(value.clone()),
        (Kind::File { problem, .. }, Value::Text(file)) => return read(scheme, parameter.name, file, problem),
        (Kind::Number { min, max, .. }, Value::Number(number)) if (min..=max).contains(number) => {
            return Ok(value.clone());
        }
        (Kind::Flag { .. }, Value::Flag(_)) | (Kind::Text { .. }, Value::Text(_)) => return Ok(value.clone()),
        (Kind::Choice { options, .. }, Value::Text(text)) if options.contains(&text.as_str()) => {
            return Ok(value.clone());
        }
        (Kind::Number { min, max, .. }, _) => format!("a number from {min} to {max}"),
        (Kind::Flag { .. }, _) => "true or false".to_owned(),
        (Kind::Text { .. }, _) => "a text".to_owned(),
        (Kind::File { .. }, _) => "the name of a file".to_owned(),
        (Kind::Choice { options, .. }, _) => format!("one of {}", options.join(", ")),
    };
    let value = match value {
        Value::Flag(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Text(text) => format!("{text:?}"),
        Value::Bytes(bytes) => format!("{} bytes", bytes.len()),
    };
    Err(ParameterError::Invalid { scheme, name: parameter.name, value, expected })
}

fn read(
    scheme: &'static str,
    name: &'static str,
    file: &str,
    problem: fn(&[u8]) -> Option<String>,
) -> Result<Value, ParameterError> {
    let error = |problem| ParameterError::File { scheme, name, file: file.to_owned(), problem };
    let bytes = std::fs::read(file).map_err(|cause| error(format!("{cause}; give a file that can be read")))?;
    problem(&bytes).map_or(Ok(Value::Bytes(bytes)), |problem| Err(error(problem)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DECLARED: &[Parameter] = &[
        Parameter { name: "gain", kind: Kind::Number { default: 2.0, min: 1.0, max: 4.0 }, unit: "", doc: "" },
        Parameter {
            name: "law",
            kind: Kind::Choice { options: &["linux", "rfc"], default: "linux" },
            unit: "",
            doc: "",
        },
    ];

    fn resolve(name: &str, value: Value) -> Result<Parameters, String> {
        let given = BTreeMap::from([(name.to_owned(), value)]);
        Parameters::resolve("test", DECLARED, &given).map_err(|error| error.to_string())
    }

    #[test]
    fn defaults_fill_what_is_not_given() {
        let parameters = resolve("gain", Value::Number(3.0)).expect("3 is between 1 and 4");
        assert_eq!((parameters.number("gain"), parameters.text("law")), (3.0, "linux"));
    }

    #[test]
    fn a_file_is_read_and_checked_when_it_is_named() {
        let is_rust = |bytes: &[u8]| (!bytes.starts_with(b"//!")).then(|| "it does not begin as code".to_owned());
        let declared =
            [Parameter { name: "file", kind: Kind::File { default: "", problem: is_rust }, unit: "", doc: "" }];
        let declared: &'static [Parameter] = Box::leak(Box::new(declared));
        let resolve = |name: &str| {
            let given = BTreeMap::from([("file".to_owned(), Value::Text(name.to_owned()))]);
            Parameters::resolve("test", declared, &given).map_err(|error| error.to_string())
        };
        assert!(resolve("src/lib.rs").expect("it is there").bytes("file").len() > 3);
        assert!(resolve("").expect("no file").bytes("file").is_empty());
        let wrong = resolve("Cargo.toml").expect_err("no code");
        assert_eq!(wrong, "parameter file of test names the file \"Cargo.toml\": it does not begin as code");
        assert!(resolve("nowhere").expect_err("no such file").ends_with("give a file that can be read"));
    }

    #[test]
    fn errors_say_what_would_be_right() {
        let unknown = resolve("gian", Value::Number(1.0)).expect_err("a typing error");
        assert_eq!(unknown, "test has no parameter \"gian\"; it has gain, law");
        let range = resolve("gain", Value::Number(5.0)).expect_err("too large");
        assert_eq!(range, "parameter gain of test cannot be 5; it takes a number from 1 to 4");
        let choice = resolve("law", Value::Text("ns3".to_owned())).expect_err("no such law");
        assert_eq!(choice, "parameter law of test cannot be \"ns3\"; it takes one of linux, rfc");
    }
}
