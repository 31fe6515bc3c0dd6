//! A training as a file: the tree as the scheme reads it, beside the state from which the training goes on.

use bakeoff_core::scheme::remy::{Tree, TreeError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::breeder::{Search, Training};
use crate::evaluate::Range;
use crate::network::Rules;

/// The tree's name: not that of the published one, whose range it shares.
const NAME: &str = "own-100x";

/// Why a file is not a training that can go on.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The tree or the one before.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The state.
    #[error("not the state of a training: {0}")]
    State(#[from] serde_json::Error),
    /// The state is of another tree.
    #[error("not the state of this tree, which has {0} rules: it counts the improvements of {1} and improves {2}")]
    Rules(usize, usize, String),
}

/// What goes on.
#[derive(Serialize, Deserialize)]
struct State {
    range: Range,
    seed: u64,
    evaluations: u64,
    packets: u64,
    generation: u32,
    generations: Vec<u32>,
    search: Option<Search>,
    before: Value,
}

#[derive(Deserialize)]
struct File {
    state: State,
}

impl Training {
    /// What the file holds.
    pub fn to_json(&self) -> Value {
        let Self { seed, evaluations, packets, generation, search, .. } = *self;
        let (range, generations) = (self.range.clone(), self.generations.clone());
        let state =
            State { range, seed, evaluations, packets, generation, generations, search, before: self.before.to_json() };
        json!({"name": NAME, "state": state, "tree": self.rules.tree().to_json()})
    }

    /// The tree after the last generation that made it better, and how it came to be.
    pub fn shipped(&self, score: f64) -> Value {
        let Self { seed, evaluations, packets, .. } = *self;
        let training = json!({
            "program": concat!("bakeoff-train ", env!("CARGO_PKG_VERSION")),
            "command": format!("cargo run --release -p bakeoff-train -- train STATE {evaluations} {seed}"),
            "seed": seed,
            "range": self.range,
            "evaluations": evaluations,
            "packets": packets,
            "score": score,
        });
        json!({"name": NAME, "training": training, "tree": self.before.to_json()})
    }

    /// A training that goes on where another one stopped, as if nothing had come between.
    pub fn from_json(bytes: &[u8]) -> Result<Self, FileError> {
        let rules = Rules::new(Tree::from_json(bytes)?);
        let State { range, seed, evaluations, packets, generation, generations, search, before } =
            serde_json::from_slice::<File>(bytes)?.state;
        let count = rules.tree().actions().len();
        if generations.len() != count || search.is_some_and(|search| search.rule >= count) {
            let improved = search.map_or_else(|| "none".to_owned(), |search| format!("rule {}", search.rule));
            return Err(FileError::Rules(count, generations.len(), improved));
        }
        let before = Tree::from_json(json!({"tree": before}).to_string().as_bytes())?;
        let begun = Self::new(range, seed);
        Ok(Self { evaluations, packets, rules, generations, before, generation, search, ..begun })
    }
}

/// Columns of a line.
const WIDTH: usize = 120;

/// JSON with one line for whatever fits into one.
pub fn in_lines(value: &Value) -> String {
    let mut text = String::new();
    print(value, 0, &mut text);
    text.push('\n');
    text
}

fn print(value: &Value, indent: usize, text: &mut String) {
    let line = value.to_string();
    let (brackets, entries): (_, Vec<(String, &Value)>) = match value {
        _ if indent + line.len() <= WIDTH => (["", ""], Vec::new()),
        Value::Array(items) => (["[", "]"], items.iter().map(|item| (String::new(), item)).collect()),
        Value::Object(fields) => {
            (["{", "}"], fields.iter().map(|(name, item)| (format!("{}: ", json!(name)), item)).collect())
        }
        _ => (["", ""], Vec::new()),
    };
    if entries.is_empty() {
        text.push_str(&line);
        return;
    }
    text.push_str(brackets[0]);
    let mut separator = "\n";
    for (name, item) in entries {
        text.push_str(separator);
        text.push_str(&" ".repeat(indent + 2));
        text.push_str(&name);
        print(item, indent + 2, text);
        separator = ",\n";
    }
    text.push('\n');
    text.push_str(&" ".repeat(indent));
    text.push_str(brackets[1]);
}
