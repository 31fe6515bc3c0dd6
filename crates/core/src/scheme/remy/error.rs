//! Why a file is not a tree of rules.

use super::wire::WireError;

/// Why a file is not a tree.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TreeError {
    /// It is not a message at all.
    #[error("not a tree of rules: {0}")]
    Wire(#[from] WireError),
    /// It begins as JSON does, and is none.
    #[error("not a tree of rules: {0}")]
    Json(#[from] JsonError),
    /// A part that every tree has is missing or makes no sense.
    #[error("not a tree of rules that this scheme can follow: {0}")]
    Invalid(&'static str),
}

/// Why text is not a tree.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct JsonError(pub(super) String);
