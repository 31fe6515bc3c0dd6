//! Controlled delay: `codel`.
//!
//! **Source.** Linux `net/sched/sch_codel.c`, `include/net/codel.h`; RFC 8289.
//!
//! **Deviations.** The kernel keeps times in units of 1.024 µs.

use super::mapping::{LARGEST, Mapping, Parameter, Values, Wire};

/// What there is to know of this queue in Linux.
pub(super) const MAPPING: Mapping = Mapping {
    queue: "codel",
    qdiscs: &["codel"],
    source: "net/sched/sch_codel.c",
    doc: "The kernel keeps times in units of 1.024 µs, and does not drop while less than one packet of the device's \
          largest size waits.",
    parameters: &[
        Parameter {
            name: "limit_packets",
            attribute: "TCA_CODEL_LIMIT",
            wire: Wire::U32(2),
            values: Values::count(1.0, LARGEST, "packets"),
            default: "1000",
            doc: "the most packets that wait",
        },
        Parameter {
            name: "target_ns",
            attribute: "TCA_CODEL_TARGET",
            wire: Wire::U32(1),
            values: Values::time(2e3),
            default: "5 ms",
            doc: "the standing delay that is acceptable",
        },
        Parameter {
            name: "interval_ns",
            attribute: "TCA_CODEL_INTERVAL",
            wire: Wire::U32(3),
            values: Values::time(2e3),
            default: "100 ms",
            doc: "how long the delay may stay above the target; a worst-case round-trip time",
        },
        Parameter {
            name: "ecn",
            attribute: "TCA_CODEL_ECN",
            wire: Wire::U32(4),
            values: Values::Flag,
            default: "false",
            doc: "mark packets that can be marked instead of dropping them",
        },
        Parameter {
            name: "ce_threshold_ns",
            attribute: "TCA_CODEL_CE_THRESHOLD",
            wire: Wire::U32(5),
            values: Values::time(0.0),
            default: "off",
            doc: "mark every packet that waited longer than this",
        },
    ],
    gaps: &[],
};

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::qdisc::tests::{attributes, bytes};

    #[test]
    fn times_are_microseconds_and_what_is_not_stated_is_not_sent() {
        let queue = json!({
            "kind": "codel", "limit_packets": 1_000, "target_ns": 5_000_000, "interval_ns": 100_000_000, "ecn": true,
            "ce_threshold_ns": null,
        });
        let expected = attributes(&[
            (2, &[0xe8, 3, 0, 0]),
            (1, &[0x88, 0x13, 0, 0]),
            (3, &[0xa0, 0x86, 1, 0]),
            (4, &[1, 0, 0, 0]),
        ]);
        assert_eq!(bytes(&queue), ("codel", expected));
    }
}
