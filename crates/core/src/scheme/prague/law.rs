//! What the revisions of Prague's code differ in, and which of it a flow is given.

use super::super::Parameters;
use crate::units::Duration;

/// The first revision paces a window of two packets more.
const EARLY_SURPLUS: f64 = 2.0;

/// What revisions differ in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Law {
    /// Of a flow that starts.
    pub(super) alpha: f64,
    /// Alpha is nothing until the first mark, which halves the window.
    pub(super) halves_at_first_mark: bool,
    /// An ack with marks makes the window grow by what it reports unmarked, not by nothing.
    pub(super) grows_by_unmarked: bool,
    /// A shorter round trip grows as if it were this long.
    pub(super) target: Option<Duration>,
    /// Whether the target, and not the transport's round trip, says when the next mark is answered.
    pub(super) answers_by_target: bool,
    /// Packets that the pacer takes the window for more than it is.
    pub(super) surplus: f64,
    /// A round that had marks ends with a fall, and a loss only lowers the threshold (`prague_rtt_expired`, `prague_react_to_loss`).
    pub(super) falls_after_rounds: bool,
    /// What a mark took off stays off while slow start goes on (`cwnd_cnt`); later code forgets it (`frac_cwnd`).
    pub(super) keeps_falling: bool,
    /// The window is of whole packets, and so is the rate, which payload alone is held to.
    pub(super) counts_whole: bool,
    /// A timeout leaves a threshold of no less than the window before it (`prague_ssthresh`).
    pub(super) raises_threshold: bool,
    /// It grows while losses are repaired, too.
    pub(super) grows_in_loss: bool,
    /// It looks for a classic queue and falls as Reno would there.
    pub(super) has_fallback: bool,
}

impl Law {
    /// That of a flow with these parameters.
    pub(super) fn of(parameters: &Parameters) -> Self {
        let profile = parameters.text("profile");
        let given = |name| Some(parameters.text(name)).filter(|word| *word != "profile");
        let [alpha, first_mark, increase, target] = match profile {
            "2019a" => ["0", "alpha", "suppressed", "none"],
            "2019b" | "2020" => ["1", "alpha", "unmarked", "none"],
            _ => ["0", "halve", "unmarked", "25ms"],
        };
        let millis = |word: &str| word.strip_suffix("ms").and_then(|number| number.parse().ok());
        Self {
            alpha: if given("alpha_init").unwrap_or(alpha) == "1" { 1.0 } else { 0.0 },
            halves_at_first_mark: given("first_mark").unwrap_or(first_mark) == "halve",
            grows_by_unmarked: given("increase").unwrap_or(increase) == "unmarked",
            target: millis(given("rtt_target").unwrap_or(target)).map(Duration::from_millis),
            answers_by_target: profile == "draft",
            surplus: if profile == "2019a" { EARLY_SURPLUS } else { 0.0 },
            falls_after_rounds: profile == "2019a",
            keeps_falling: profile.starts_with("20"),
            counts_whole: matches!(profile, "2019b" | "2020"),
            raises_threshold: profile == "2019b",
            grows_in_loss: profile == "2019b",
            has_fallback: parameters.flag("classic_fallback"),
        }
    }
}
