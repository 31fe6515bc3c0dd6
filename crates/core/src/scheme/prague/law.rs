//! What the revisions of Prague's code differ in, and which of it a flow is given.

use super::super::Parameters;
use crate::units::{Bytes, Duration};

/// What growth is reckoned with, however large packets are (`MTU_SYS` of version 0.7).
const REFERENCE_PACKET: Bytes = Bytes::new(1_500);

/// Which window leaves in a round trip (`prague_update_pacing_rate`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// With its fraction.
    Fraction,
    /// The whole packets of it, or what is in flight if that is more; no less than 100 kbit/s.
    WholePackets,
    /// The transport's window, or what is in flight if that is more; of packets payload alone is held to it.
    InFlight,
    /// The transport's window, or what is outstanding if that is more, and two packets.
    Outstanding,
}

/// What revisions differ in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Law {
    /// Of a flow that starts.
    pub(super) alpha: f64,
    /// A part of it is one of two to this power (`PRAGUE_ALPHA_BITS`).
    pub(super) alpha_bits: i32,
    /// Alpha is nothing until the first mark, which halves the window.
    pub(super) halves_at_first_mark: bool,
    /// An ack with marks makes the window grow by what it reports unmarked, not by nothing.
    pub(super) grows_by_unmarked: bool,
    /// A shorter round trip grows as if it were this long.
    pub(super) target: Option<Duration>,
    /// Whether the target, and not the transport's round trip, says when the next mark is answered.
    pub(super) answers_by_target: bool,
    /// Alpha is corrected before the window falls because of the same ack, as in `udp_prague`; the kernel's code does
    /// so after.
    pub(super) corrects_alpha_first: bool,
    /// A round trip's growth is one packet of this size.
    pub(super) grows_by: Option<Bytes>,
    /// What leaves in a round trip.
    pub(super) pace: Pace,
    /// A round that had marks ends with a fall, and a loss only lowers the threshold (`prague_rtt_expired`,
    /// `prague_react_to_loss`).
    pub(super) falls_after_rounds: bool,
    /// What a mark took off stays off while slow start goes on (`cwnd_cnt`); later code forgets it (`frac_cwnd`).
    pub(super) keeps_falling: bool,
    /// The window is of whole packets.
    pub(super) counts_whole: bool,
    /// An undone loss gives back a rate, and with it as many packets as make it over an average round trip
    /// (`prague_cwnd_undo`).
    pub(super) undoes_by_rate: bool,
    /// A fall and a timeout leave a threshold of no less than the window before it (`prague_ssthresh`).
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
            alpha_bits: match profile {
                "2019a" => 31,
                "2019b" | "2020" => 20,
                _ => 24,
            },
            halves_at_first_mark: given("first_mark").unwrap_or(first_mark) == "halve",
            grows_by_unmarked: given("increase").unwrap_or(increase) == "unmarked",
            target: millis(given("rtt_target").unwrap_or(target)).map(Duration::from_millis),
            answers_by_target: profile == "draft",
            corrects_alpha_first: profile == "draft",
            grows_by: (profile == "linux").then_some(REFERENCE_PACKET),
            pace: match profile {
                "2019a" => Pace::Outstanding,
                "2019b" | "2020" => Pace::InFlight,
                "linux" => Pace::WholePackets,
                _ => Pace::Fraction,
            },
            falls_after_rounds: profile == "2019a",
            keeps_falling: profile.starts_with("20"),
            counts_whole: matches!(profile, "2019b" | "2020"),
            undoes_by_rate: profile == "linux",
            raises_threshold: profile == "2019b",
            grows_in_loss: profile == "2019b",
            has_fallback: parameters.flag("classic_fallback"),
        }
    }
}
