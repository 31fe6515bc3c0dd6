//! Random early detection: `red`.
//!
//! **Source.** Linux `net/sched/sch_red.c`, `include/net/red.h`; Floyd and Jacobson 1993. The kernel wants fields that
//! follow from what people state; those are computed as by `tc` (iproute2), defaults included.
//!
//! **Deviations.** An average packet is the largest one unless stated, where `tc` has no default. The flags go into
//! `tc_red_qopt`: a kernel that finds them in `TCA_RED_FLAGS`, where newer versions of `tc` put them, does not start
//! to adapt.

use bakeoff_core::queue::red::{Misfit, Stated, Thresholds};
use bakeoff_core::units::Rate;

use super::mapping::{LARGEST, Mapping, Parameter, Values, Wire};
use super::red_tables::{IdleDecay, probability_log};
use super::settings::Settings;
use super::{Link, Options, Qdisc, Unmappable};
use crate::netlink::Message;

/// Probabilities are numbers of four bytes, and this is one more than the largest.
const STEPS: f64 = (1_u64 << 32) as f64;
/// The rate that `tc` assumes for a link that has none.
const RATE_OF_UNLIMITED_LINK: Rate = Rate::from_bits_per_second(10_000_000);
const DEFAULT_PROBABILITY: f64 = 0.02;
/// `TCA_RED_PARMS`.
const PARMS: u16 = 1;
/// `TCA_RED_STAB`.
const STAB: u16 = 2;
/// `TCA_RED_MAX_P`.
const MAX_P: u16 = 3;
/// The bits of `tc_red_qopt.flags`.
const FLAGS: [(&str, u8); 3] = [("ecn", 1), ("harddrop", 2), ("adaptive", 4)];

/// What there is to know of this queue in Linux.
pub(super) const MAPPING: Mapping = Mapping {
    queue: "red",
    qdiscs: &["red"],
    source: "net/sched/sch_red.c",
    doc: "Thresholds are in bytes; what follows from them is computed as by `tc`. How fast the average decays while \
          the queue is empty follows from the link's mean rate, or from 10 Mbit/s where the link is unlimited.",
    parameters: &[
        Parameter {
            name: "limit_bytes",
            attribute: "tc_red_qopt.limit",
            wire: Wire::Field,
            values: Values::count(1.0, LARGEST, "bytes"),
            default: "none: it has to be stated",
            doc: "the most bytes that wait",
        },
        Parameter {
            name: "min_bytes",
            attribute: "tc_red_qopt.qth_min",
            wire: Wire::Field,
            values: Values::count(1.0, LARGEST, "bytes"),
            default: "a third of `max_bytes`",
            doc: "the average length from which packets are dropped or marked",
        },
        Parameter {
            name: "max_bytes",
            attribute: "tc_red_qopt.qth_max",
            wire: Wire::Field,
            values: Values::count(1.0, LARGEST, "bytes"),
            default: "three times `min_bytes` if that is stated, else a quarter of `limit_bytes`",
            doc: "the average length from which every packet is",
        },
        Parameter {
            name: "probability",
            attribute: "TCA_RED_MAX_P",
            wire: Wire::Field,
            values: Values::scaled(1e-6, 1.0, "", "1/2^32", 1.0 / STEPS),
            default: "0.02",
            doc: "the probability just below `max_bytes`",
        },
        Parameter {
            name: "avpkt_bytes",
            attribute: "TCA_RED_STAB",
            wire: Wire::Field,
            values: Values::count(1.0, 65_535.0, "bytes"),
            default: "the largest packet of the link",
            doc: "the size of an average packet",
        },
        Parameter {
            name: "burst_packets",
            attribute: "tc_red_qopt.Wlog",
            wire: Wire::Field,
            values: Values::count(1.0, 1e6, "packets"),
            default: "(2 `min_bytes` + `max_bytes`) / (3 `avpkt_bytes`)",
            doc: "the burst that passes while the average is below `min_bytes`",
        },
        Parameter {
            name: "ecn",
            attribute: "TC_RED_ECN",
            wire: Wire::Field,
            values: Values::Flag,
            default: "false",
            doc: "mark packets that can be marked instead of dropping them",
        },
        Parameter {
            name: "harddrop",
            attribute: "TC_RED_HARDDROP",
            wire: Wire::Field,
            values: Values::Flag,
            default: "false",
            doc: "above `max_bytes` drop also what could be marked",
        },
        Parameter {
            name: "adaptive",
            attribute: "TC_RED_ADAPTATIVE",
            wire: Wire::Field,
            values: Values::Flag,
            default: "false",
            doc: "steer the probability to keep the average midway (1 to 50 %)",
        },
    ],
    gaps: &[],
};

/// Makes the qdisc out of settings that were checked one by one.
pub(super) fn build(settings: &Settings, link: &Link) -> Result<Qdisc, Unmappable> {
    let stated = |name| settings.get(name).map(|value| value as u32);
    let Some(limit) = stated("limit_bytes") else {
        let expected = "the most bytes that wait";
        return Err(Unmappable::Missing { queue: "red", key: "limit", expected });
    };
    let stated = Stated {
        limit,
        min: stated("min_bytes"),
        max: stated("max_bytes"),
        average_packet: stated("avpkt_bytes"),
        burst: stated("burst_packets"),
    };
    let Thresholds { min, max, average_packet, burst, averaging, .. } =
        Thresholds::new(&stated, link.largest_packet)
            .map_err(|Misfit { key, value, expected }| settings.invalid(key, value, expected))?;
    let rate = link.mean_rate.unwrap_or(RATE_OF_UNLIMITED_LINK);
    let decay = IdleDecay::new(averaging, average_packet, rate)
        .ok_or_else(|| settings.invalid("burst", format!("{burst}pkt"), format!("less, at a link of {rate}")))?;
    let probability = settings.get("probability").unwrap_or(DEFAULT_PROBABILITY);
    let flags = FLAGS.iter().filter(|(name, _)| settings.get(name) == Some(1.0)).fold(0, |flags, (_, bit)| flags | bit);

    let mut parms = Vec::new();
    for field in [limit, min, max] {
        parms.extend_from_slice(&field.to_ne_bytes());
    }
    parms.extend_from_slice(&[averaging.log, probability_log(probability, max - min), decay.cell_log, flags]);
    let attributes = Message::attributes()
        .attribute(PARMS, &parms)
        .attribute(STAB, &decay.table)
        .u32(MAX_P, (probability * STEPS) as u32);
    Ok(Qdisc { kind: "red", options: Options::Attributes(attributes) })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::qdisc::tests::{attributes, bytes, refusal};

    #[test]
    fn the_structure_is_that_of_tc_with_flags() {
        let queue = json!({
            "kind": "red", "limit_bytes": 60_000, "min_bytes": 5_000, "max_bytes": 15_000, "avpkt_bytes": 1_500,
            "probability": 0.1, "ecn": true, "harddrop": false, "adaptive": true,
        });
        let (kind, bytes) = bytes(&queue);
        let parms = [0x60, 0xea, 0, 0, 0x88, 0x13, 0, 0, 0x98, 0x3a, 0, 0, 2, 17, 12, 5];
        assert_eq!((kind, &bytes[..20]), ("red", &attributes(&[(1, &parms)])[..]));
        assert_eq!(bytes[20..24], [4, 1, 2, 0]);
        assert_eq!(bytes[24 + 256..], attributes(&[(3, &[0x99, 0x99, 0x99, 0x19])]));
    }

    #[test]
    fn thresholds_follow_from_the_limit() {
        let fields = |queue| {
            let (_, bytes) = bytes(&queue);
            [8, 12].map(|at| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]))
        };
        assert_eq!(fields(json!({ "kind": "red", "limit_bytes": 1_000_000 })), [83_333, 250_000]);
        assert_eq!(fields(json!({ "kind": "red", "limit_bytes": 90_000, "min_bytes": 6_000 })), [6_000, 18_000]);
    }

    #[test]
    fn what_cannot_be_averaged_is_refused() {
        for (queue, sentence) in [
            (
                json!({ "kind": "red", "min_bytes": 3_000 }),
                "queue red needs parameter limit in Linux, which has no default for it; set it to the most bytes that \
                 wait",
            ),
            (
                json!({ "kind": "red", "limit_bytes": 15_000 }),
                "parameter min of queue red cannot be 1250B in Linux; it takes more than avpkt, 1500B, and is a third \
                 of max by default",
            ),
            (
                json!({ "kind": "red", "limit_bytes": 15_000, "min_bytes": 6_000, "max_bytes": 6_000 }),
                "parameter max of queue red cannot be 6000B in Linux; it takes more than min, 6000B, and is a quarter \
                 of limit by default",
            ),
            (
                json!({ "kind": "red", "limit_bytes": 1_000_000, "burst_packets": 10 }),
                "parameter burst of queue red cannot be 10pkt in Linux; it takes 56pkt (min / avpkt) or more, yet so \
                 few that an average can follow them",
            ),
            (
                json!({
                    "kind": "red", "limit_bytes": 1_000_000, "min_bytes": 83_333, "max_bytes": 90_000_000,
                    "burst_packets": 10_000,
                }),
                "parameter max of queue red cannot be 90000000B in Linux; it takes less than 2048B with a burst of \
                 10000pkt, and more with a smaller burst",
            ),
        ] {
            assert_eq!(refusal(&queue), sentence);
        }
    }
}
