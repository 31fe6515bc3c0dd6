//! Why a queue cannot become a qdisc.

/// What is wrong with a queue for Linux, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unmappable {
    /// The queue does not say which it is.
    #[error("a queue needs a `kind`, which is one of {known}")]
    NoKind {
        /// The kinds that Linux has.
        known: String,
    },
    /// Linux has no such queue.
    #[error("there is no queue called {kind:?} in Linux; it has {known}")]
    UnknownKind {
        /// What was asked for.
        kind: String,
        /// The kinds that Linux has.
        known: String,
    },
    /// The queue has no such parameter in Linux.
    #[error("queue {queue} has no parameter {key:?} in Linux; leave it out (it has {known})")]
    UnknownParameter {
        /// The queue.
        queue: &'static str,
        /// The parameter's key in an experiment file.
        key: String,
        /// The keys of those it has.
        known: String,
    },
    /// The parameter cannot have this value.
    #[error("parameter {key} of queue {queue} cannot be {value} in Linux; it takes {expected}")]
    Invalid {
        /// The queue.
        queue: &'static str,
        /// The parameter's key in an experiment file.
        key: &'static str,
        /// What was given, as an experiment file has it.
        value: String,
        /// What would be right.
        expected: String,
    },
    /// Two parameters exclude each other.
    #[error("queue {queue} cannot have both {first} and {second} in Linux: {why}; {instead}")]
    Together {
        /// The queue.
        queue: &'static str,
        /// A parameter, with its value or the unit that it is in.
        first: &'static str,
        /// Another one.
        second: &'static str,
        /// What the kernel lacks.
        why: &'static str,
        /// What would be right.
        instead: &'static str,
    },
    /// The kernel has no default for a parameter that is not stated.
    #[error("queue {queue} needs parameter {key} in Linux, which has no default for it; set it to {expected}")]
    Missing {
        /// The queue.
        queue: &'static str,
        /// The parameter's key in an experiment file.
        key: &'static str,
        /// What would be right.
        expected: &'static str,
    },
}
