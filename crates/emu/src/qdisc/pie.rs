//! Proportional integral controller, enhanced: `pie`.
//!
//! **Source.** Linux `net/sched/sch_pie.c`, `include/net/pie.h`; RFC 8033.
//!
//! **Deviations.** The kernel updates the probability every so many whole jiffies (1 ms at `HZ` = 1000), and keeps the
//! target in units of 64 ns.

use super::mapping::{Gap, LARGEST, Mapping, Parameter, Values, Wire};

/// What there is to know of this queue in Linux.
pub(super) const MAPPING: Mapping = Mapping {
    queue: "pie",
    qdiscs: &["pie"],
    source: "net/sched/sch_pie.c",
    doc: "The kernel does not drop early while less than two packets of the device's largest size wait.",
    parameters: &[
        Parameter {
            name: "limit_packets",
            attribute: "TCA_PIE_LIMIT",
            wire: Wire::U32(2),
            values: Values::count(1.0, LARGEST, "packets"),
            default: "1000",
            doc: "the most packets that wait",
        },
        Parameter {
            name: "target_ns",
            attribute: "TCA_PIE_TARGET",
            wire: Wire::U32(1),
            values: Values::time(1e3),
            default: "15 ms",
            doc: "the delay to steer to",
        },
        Parameter {
            name: "tupdate_ns",
            attribute: "TCA_PIE_TUPDATE",
            wire: Wire::U32(3),
            values: Values::time(1e3),
            default: "15 ms",
            doc: "how often the probability is computed; the kernel rounds up to whole jiffies",
        },
        Parameter {
            name: "alpha_hz",
            attribute: "TCA_PIE_ALPHA",
            wire: Wire::U32(4),
            values: Values::scaled(0.0, 2.0, "Hz", "1/16 Hz", 1.0 / 16.0),
            default: "0.125",
            doc: "gain on the distance from the target",
        },
        Parameter {
            name: "beta_hz",
            attribute: "TCA_PIE_BETA",
            wire: Wire::U32(5),
            values: Values::scaled(0.0, 2.0, "Hz", "1/16 Hz", 1.0 / 16.0),
            default: "1.25",
            doc: "gain on the change of the delay",
        },
        Parameter {
            name: "ecn",
            attribute: "TCA_PIE_ECN",
            wire: Wire::U32(6),
            values: Values::Flag,
            default: "false",
            doc: "mark packets that can be marked instead of dropping them",
        },
        Parameter {
            name: "bytemode",
            attribute: "TCA_PIE_BYTEMODE",
            wire: Wire::U32(7),
            values: Values::Flag,
            default: "false",
            doc: "drop small packets less often, in proportion to their size",
        },
        Parameter {
            name: "dq_rate_estimator",
            attribute: "TCA_PIE_DQ_RATE_ESTIMATOR",
            wire: Wire::U32(8),
            values: Values::Flag,
            default: "false",
            doc: "take the delay from the queue and its measured rate, not from the packets' stamps",
        },
    ],
    gaps: &[
        Gap { what: "the burst allowance of RFC 8033", why: "it is 150 ms in the kernel" },
        Gap {
            what: "up to which probability packets are marked",
            why: "it is 10 % in the kernel; `fq_pie` can set it",
        },
    ],
};

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::qdisc::tests::{attributes, bytes};

    #[test]
    fn gains_are_sixteenths() {
        let queue = json!({ "kind": "pie", "tupdate_ns": 15e6, "alpha_hz": 0.125, "beta_hz": 1.25, "bytemode": false });
        let expected =
            attributes(&[(3, &[0x98, 0x3a, 0, 0]), (4, &[2, 0, 0, 0]), (5, &[20, 0, 0, 0]), (7, &[0, 0, 0, 0])]);
        assert_eq!(bytes(&queue), ("pie", expected));
    }
}
