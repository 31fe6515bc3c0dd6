//! What may happen to a sender, and how it is drawn.

use bakeoff_core::units::Duration;
use proptest::prelude::*;

/// Something happens. What makes no sense in the sender's state does nothing.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Wait(Duration),
    /// The application writes this many packets, the last one perhaps of one byte.
    Offer {
        packets: u32,
        is_runt: bool,
    },
    Ack(AckStep),
    /// Whole windows leave and return unharmed.
    Rounds {
        count: u32,
        rtt: Duration,
        packets_per_ack: u32,
    },
    /// Packets are found lost without an ack.
    ReorderingTimeout {
        lose: u32,
    },
    /// A retransmission timeout that takes this many packets for lost.
    Timeout {
        lose: u32,
    },
    /// The last reduction proves spurious.
    Undo {
        nothing_was_lost: bool,
    },
}

/// An ack: `cumulative` packets from the front, then `selective` packets behind `skip` missing ones; nothing at all
/// makes a duplicate.
#[derive(Clone, Debug, Default)]
pub(crate) struct AckStep {
    pub(crate) after: Duration,
    pub(crate) cumulative: u32,
    pub(crate) skip: u32,
    pub(crate) selective: u32,
    pub(crate) lose: u32,
    pub(crate) has_rtt: bool,
    pub(crate) has_rate: bool,
    pub(crate) has_one_way_delay: bool,
    pub(crate) is_ecn_echo: bool,
    /// Packets that an ECN echo reports, perhaps more than are delivered.
    pub(crate) marked: u32,
    pub(crate) is_sce_echo: bool,
    pub(crate) is_delayed: bool,
    pub(crate) is_reordering_common: bool,
    /// The end of the episode shows that it was spurious.
    pub(crate) is_spurious: bool,
    /// It answers a tail loss probe that repaired a loss.
    pub(crate) is_probe_answer: bool,
}

/// Nothing, or a time of any order of magnitude between two powers of ten of nanoseconds.
fn time(powers: std::ops::Range<f64>) -> impl Strategy<Value = Duration> {
    prop_oneof![
        1 => Just(Duration::ZERO),
        9 => powers.prop_map(|power| Duration::from_nanos(10_f64.powf(power) as u64)),
    ]
}

/// A round trip of one microsecond to 100 s.
pub(crate) fn round_trip() -> impl Strategy<Value = Duration> {
    (3.0..11.0).prop_map(|power| Duration::from_nanos(10_f64.powf(power) as u64))
}

fn count() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), Just(1), Just(2), 0_u32..20, 0_u32..2_000, Just(u32::MAX)]
}

fn ack() -> impl Strategy<Value = AckStep> {
    let numbers = (time(0.0..11.0), count(), count(), count(), prop_oneof![4 => Just(0), 1 => count()]);
    let rarely = || prop::bool::weighted(0.1);
    let measured = (prop::bool::weighted(0.9), prop::bool::weighted(0.9), prop::bool::weighted(0.9));
    let told = (numbers, measured, (rarely(), rarely(), rarely(), rarely(), rarely()));
    let marks = (0_u32..2_000, prop::bool::weighted(0.3));
    (told, marks).prop_map(
        |(((after, cumulative, skip, selective, lose), (has_rtt, has_rate, has_one_way_delay), flags), marks)| {
            let (is_ecn_echo, is_delayed, is_reordering_common, is_spurious, is_probe_answer) = flags;
            AckStep {
                after,
                cumulative,
                skip,
                selective,
                lose,
                has_rtt,
                has_rate,
                has_one_way_delay,
                is_ecn_echo,
                marked: marks.0,
                is_sce_echo: marks.1,
                is_delayed,
                is_reordering_common,
                is_spurious,
                is_probe_answer,
            }
        },
    )
}

/// Any step; acks and data are the most common.
pub(crate) fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => time(0.0..13.6).prop_map(Step::Wait),
        6 => (count(), prop::bool::weighted(0.2)).prop_map(|(packets, is_runt)| Step::Offer { packets, is_runt }),
        10 => ack().prop_map(Step::Ack),
        2 => (1_u32..10, round_trip(), 1_u32..4)
            .prop_map(|(count, rtt, packets_per_ack)| Step::Rounds { count, rtt, packets_per_ack }),
        1 => count().prop_map(|lose| Step::ReorderingTimeout { lose }),
        1 => count().prop_map(|lose| Step::Timeout { lose }),
        1 => any::<bool>().prop_map(|nothing_was_lost| Step::Undo { nothing_was_lost }),
    ]
}
