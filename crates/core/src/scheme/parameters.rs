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
    /// What a file holds; an experiment names the file.
    #[serde(skip)]
    Data(Vec<u8>),
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
    /// The scheme is nothing without a file, and none was named.
    #[error("{scheme} needs {content}; write parameters = {{ {name} = \"FILE\" }}")]
    NoFile {
        /// The scheme.
        scheme: &'static str,
        /// The parameter.
        name: &'static str,
        /// What the file has to hold.
        content: &'static str,
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

    /// Reads the files that `declared` parameters name.
    pub(super) fn with_files(
        mut self,
        scheme: &'static str,
        declared: &'static [Parameter],
    ) -> Result<Self, ParameterError> {
        for parameter in declared {
            let Kind::File { content, problem } = parameter.kind else { continue };
            let (name, path) = (parameter.name, self.text(parameter.name));
            if path.is_empty() {
                return Err(ParameterError::NoFile { scheme, name, content });
            }
            let invalid = |why: String| ParameterError::Invalid {
                scheme,
                name,
                value: format!("{path:?}"),
                expected: format!("{content}; {why}"),
            };
            let data = std::fs::read(path).map_err(|error| invalid(format!("this one cannot be read: {error}")))?;
            if let Some(problem) = problem(&data, &self) {
                return Err(invalid(problem));
            }
            self.values.insert(name, Value::Data(data));
        }
        Ok(self)
    }

    /// What the file called `name` holds; nothing if none was named.
    pub fn data(&self, name: &str) -> &[u8] {
        match self.value(name) {
            Some(Value::Data(data)) => data,
            _ => &[],
        }
    }

    /// The number called `name`.
    pub fn number(&self, name: &str) -> f64 {
        match self.value(name) {
            Some(Value::Number(number)) => *number,
            _ => f64::NAN,
        }
    }

    /// The flag called `name`.
    pub fn flag(&self, name: &str) -> bool {
        self.value(name) == Some(&Value::Flag(true))
    }

    /// The word called `name`.
    pub fn text(&self, name: &str) -> &str {
        match self.value(name) {
            Some(Value::Text(text)) => text,
            _ => "",
        }
    }

    fn value(&self, name: &str) -> Option<&Value> {
        let value = self.values.get(name);
        // A scheme asks for what it declares; the tests, which build every one of them, find a misspelt name.
        debug_assert!(value.is_some(), "no parameter is called {name}");
        value
    }
}

fn default(kind: Kind) -> Value {
    match kind {
        Kind::Number { default, .. } => Value::Number(default),
        Kind::Flag { default } => Value::Flag(default),
        Kind::Choice { default, .. } | Kind::Profile { default, .. } | Kind::Text { default } => {
            Value::Text(default.to_owned())
        }
        Kind::File { .. } => Value::Text(String::new()),
    }
}

fn check(scheme: &'static str, parameter: &Parameter, value: &Value) -> Result<Value, ParameterError> {
    let expected = match (parameter.kind, value) {
        (Kind::Number { min, max, .. }, Value::Number(number)) if (min..=max).contains(number) => {
            return Ok(value.clone());
        }
        (Kind::Flag { .. }, Value::Flag(_)) | (Kind::Text { .. } | Kind::File { .. }, Value::Text(_)) => {
            return Ok(value.clone());
        }
        (Kind::Choice { options, .. }, Value::Text(text)) if options.contains(&text.as_str()) => {
            return Ok(value.clone());
        }
        (Kind::Profile { profiles, .. }, Value::Text(text)) if profiles.iter().any(|profile| profile.name == text) => {
            return Ok(value.clone());
        }
        (Kind::Number { min, max, .. }, _) => format!("a number from {min} to {max}"),
        (Kind::Flag { .. }, _) => "true or false".to_owned(),
        (Kind::Text { .. }, _) => "a text".to_owned(),
        (Kind::File { content, .. }, _) => (*content).to_owned(),
        (Kind::Choice { options, .. }, _) => format!("one of {}", options.join(", ")),
        (Kind::Profile { profiles, .. }, _) => {
            format!("one of {}", profiles.iter().map(|profile| profile.name).collect::<Vec<_>>().join(", "))
        }
    };
    let value = match value {
        Value::Flag(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Text(text) => format!("{text:?}"),
        Value::Data(data) => format!("{} bytes", data.len()),
    };
    Err(ParameterError::Invalid { scheme, name: parameter.name, value, expected })
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
        let problem =
            |bytes: &[u8], _: &Parameters| (!bytes.starts_with(b"//!")).then(|| "this one begins otherwise".to_owned());
        let kind = Kind::File { content: "a file of code", problem };
        let declared: &'static [Parameter] = Box::leak(Box::new([Parameter { name: "file", kind, unit: "", doc: "" }]));
        let resolve = |name: &str| {
            let given = BTreeMap::from([("file".to_owned(), Value::Text(name.to_owned()))]);
            let parameters = Parameters::resolve("test", declared, &given).expect("a name is a name");
            parameters.with_files("test", declared).map_err(|error| error.to_string())
        };
        assert!(resolve("src/lib.rs").expect("it is there").data("file").len() > 3);
        let missing = resolve("").expect_err("no file");
        assert_eq!(missing, "test needs a file of code; write parameters = { file = \"FILE\" }");
        let wrong = resolve("Cargo.toml").expect_err("no code");
        assert_eq!(
            wrong,
            "parameter file of test cannot be \"Cargo.toml\"; it takes a file of code; this one begins otherwise"
        );
        assert!(resolve("nowhere").expect_err("no such file").contains("this one cannot be read"));
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
