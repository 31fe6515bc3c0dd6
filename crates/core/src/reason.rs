//! The reasons of verdicts on packets.

/// Why a packet was dropped or marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The queue was full.
    Overlimit,
    /// Random loss on the wire, after the queue.
    Loss,
    /// The queue's law wanted less traffic.
    Congestion,
    /// A fixed threshold was passed.
    Threshold,
    /// BLUE, the part of COBALT that is for traffic without any control.
    Blue,
    /// Some congestion experienced: ECT(0) became ECT(1).
    Sce,
    /// A policer's bucket held too few tokens.
    Police,
    /// A tunnel took it for a replay: too many packets had overtaken it.
    Replay,
    /// A rule of the hop changed the DS field.
    Mangle,
    /// The wire made two packets of one.
    Duplicate,
    /// A queueing discipline of the kernel, which does not say why.
    Qdisc,
}

impl Reason {
    /// Every reason there is, in the order of their declaration.
    pub const ALL: [Self; 1 + Self::Qdisc as usize] = [
        Self::Overlimit,
        Self::Loss,
        Self::Congestion,
        Self::Threshold,
        Self::Blue,
        Self::Sce,
        Self::Police,
        Self::Replay,
        Self::Mangle,
        Self::Duplicate,
        Self::Qdisc,
    ];

    /// The word that stands in recordings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Overlimit => "overlimit",
            Self::Loss => "loss",
            Self::Congestion => "congestion",
            Self::Threshold => "threshold",
            Self::Blue => "blue",
            Self::Sce => "sce",
            Self::Police => "police",
            Self::Replay => "replay",
            Self::Mangle => "mangle",
            Self::Duplicate => "duplicate",
            Self::Qdisc => "qdisc",
        }
    }
}
