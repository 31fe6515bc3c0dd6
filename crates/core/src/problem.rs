//! What is wrong with a setting.

/// What is wrong with a setting of an experiment, and what would be right: one clear sentence, to which whoever knows
/// adds where it stands.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Problem(String);

impl Problem {
    /// A problem in one sentence, without a full stop.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }

    /// The same of a part, whose name comes first.
    pub fn of(self, part: &str) -> Self {
        Self(format!("{part}: {self}"))
    }
}

impl<S: Into<String>> From<S> for Problem {
    fn from(sentence: S) -> Self {
        Self::new(sentence)
    }
}
