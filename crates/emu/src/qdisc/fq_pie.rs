//! PIE with a queue for each flow: `fq_pie`.
//!
//! **Source.** Linux `net/sched/sch_fq_pie.c`, `include/net/pie.h`; RFC 8033.
//!
//! **Deviations.** As for `pie`. The limit of memory counts buffers, which are larger than the packets in them.

use super::mapping::{Gap, LARGEST, Mapping, Parameter, Values, Wire};

/// What there is to know of this queue in Linux.
pub(super) const MAPPING: Mapping = Mapping {
    queue: "fq_pie",
    qdiscs: &["fq_pie"],
    source: "net/sched/sch_fq_pie.c",
    doc: "The kernel does not drop early while less than two packets of the device's largest size wait in a \
          flow's queue.",
    parameters: &[
        Parameter {
            name: "limit_packets",
            attribute: "TCA_FQ_PIE_LIMIT",
            wire: Wire::U32(1),
            values: Values::count(1.0, LARGEST, "packets"),
            default: "10240",
            doc: "the most packets that wait, in all queues",
        },
        Parameter {
            name: "memory_limit_bytes",
            attribute: "TCA_FQ_PIE_MEMORY_LIMIT",
            wire: Wire::U32(8),
            values: Values::count(1.0, LARGEST, "bytes"),
            default: "33554432",
            doc: "the most memory of packets that wait, with the kernel's overhead",
        },
        Parameter {
            name: "flows",
            attribute: "TCA_FQ_PIE_FLOWS",
            wire: Wire::U32(2),
            values: Values::count(1.0, 65_536.0, "queues"),
            default: "1024",
            doc: "the queues that flows are hashed to",
        },
        Parameter {
            name: "quantum_bytes",
            attribute: "TCA_FQ_PIE_QUANTUM",
            wire: Wire::U32(7),
            values: Values::count(256.0, (1_u32 << 20) as f64, "bytes"),
            default: "the device's MTU and 14 bytes",
            doc: "what a flow may send in its turn",
        },
        Parameter {
            name: "target_ns",
            attribute: "TCA_FQ_PIE_TARGET",
            wire: Wire::U32(3),
            values: Values::time(1e3),
            default: "15 ms",
            doc: "the delay to steer to",
        },
        Parameter {
            name: "tupdate_ns",
            attribute: "TCA_FQ_PIE_TUPDATE",
            wire: Wire::U32(4),
            values: Values::time(1e3),
            default: "15 ms",
            doc: "how often the probability is computed; the kernel rounds up to whole jiffies",
        },
        Parameter {
            name: "alpha_hz",
            attribute: "TCA_FQ_PIE_ALPHA",
            wire: Wire::U32(5),
            values: Values::scaled(0.0, 2.0, "Hz", "1/16 Hz", 1.0 / 16.0),
            default: "0.125",
            doc: "gain on the distance from the target",
        },
        Parameter {
            name: "beta_hz",
            attribute: "TCA_FQ_PIE_BETA",
            wire: Wire::U32(6),
            values: Values::scaled(0.0, 2.0, "Hz", "1/16 Hz", 1.0 / 16.0),
            default: "1.25",
            doc: "gain on the change of the delay",
        },
        Parameter {
            name: "ecn",
            attribute: "TCA_FQ_PIE_ECN",
            wire: Wire::U32(10),
            values: Values::Flag,
            default: "false",
            doc: "mark packets that can be marked instead of dropping them",
        },
        Parameter {
            name: "ecn_prob",
            attribute: "TCA_FQ_PIE_ECN_PROB",
            wire: Wire::U32(9),
            values: Values::scaled(0.0, 1.0, "", "%", 0.01),
            default: "0.1",
            doc: "above this probability packets are dropped that could be marked",
        },
        Parameter {
            name: "bytemode",
            attribute: "TCA_FQ_PIE_BYTEMODE",
            wire: Wire::U32(11),
            values: Values::Flag,
            default: "false",
            doc: "drop small packets less often, in proportion to their size",
        },
        Parameter {
            name: "dq_rate_estimator",
            attribute: "TCA_FQ_PIE_DQ_RATE_ESTIMATOR",
            wire: Wire::U32(12),
            values: Values::Flag,
            default: "false",
            doc: "take the delay from the queue and its measured rate, not from the packets' stamps",
        },
    ],
    gaps: &[Gap { what: "the burst allowance of RFC 8033", why: "it is 150 ms in the kernel" }],
};

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::qdisc::tests::{attributes, bytes};

    #[test]
    fn a_ratio_becomes_percent() {
        let queue =
            json!({ "kind": "fq_pie", "quantum_bytes": 300, "target_ns": 15_000_000, "ecn": true, "ecn_prob": 0.07 });
        let expected =
            attributes(&[(7, &[0x2c, 1, 0, 0]), (3, &[0x98, 0x3a, 0, 0]), (10, &[1, 0, 0, 0]), (9, &[7, 0, 0, 0])]);
        assert_eq!(bytes(&queue), ("fq_pie", expected));
    }
}
