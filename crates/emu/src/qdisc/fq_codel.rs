//! Controlled delay with a queue for each flow: `fq_codel`.
//!
//! **Source.** Linux `net/sched/sch_fq_codel.c`, `include/net/codel.h`; RFC 8290.
//!
//! **Deviations.** The kernel keeps times in units of 1.024 µs. Its limit of memory counts buffers, which are larger
//! than the packets in them.

use super::mapping::{LARGEST, Mapping, Parameter, Values, Wire};

/// What there is to know of this queue in Linux.
pub(super) const MAPPING: Mapping = Mapping {
    queue: "fq_codel",
    qdiscs: &["fq_codel"],
    source: "net/sched/sch_fq_codel.c",
    doc: "The kernel keeps times in units of 1.024 µs, and does not drop while less than one packet of the device's \
          largest size waits in all queues together.",
    parameters: &[
        Parameter {
            name: "limit_packets",
            attribute: "TCA_FQ_CODEL_LIMIT",
            wire: Wire::U32(2),
            values: Values::count(1.0, LARGEST, "packets"),
            default: "10240",
            doc: "the most packets that wait, in all queues",
        },
        Parameter {
            name: "memory_limit_bytes",
            attribute: "TCA_FQ_CODEL_MEMORY_LIMIT",
            wire: Wire::U32(9),
            values: Values::count(1.0, (1_u32 << 31) as f64, "bytes"),
            default: "33554432",
            doc: "the most memory of packets that wait, with the kernel's overhead",
        },
        Parameter {
            name: "flows",
            attribute: "TCA_FQ_CODEL_FLOWS",
            wire: Wire::U32(5),
            values: Values::count(1.0, 65_536.0, "queues"),
            default: "1024",
            doc: "the queues that flows are hashed to",
        },
        Parameter {
            name: "quantum_bytes",
            attribute: "TCA_FQ_CODEL_QUANTUM",
            wire: Wire::U32(6),
            values: Values::count(256.0, (1_u32 << 20) as f64, "bytes"),
            default: "the device's MTU and 14 bytes",
            doc: "what a flow may send in its turn",
        },
        Parameter {
            name: "target_ns",
            attribute: "TCA_FQ_CODEL_TARGET",
            wire: Wire::U32(1),
            values: Values::time(2e3),
            default: "5 ms",
            doc: "the standing delay that is acceptable",
        },
        Parameter {
            name: "interval_ns",
            attribute: "TCA_FQ_CODEL_INTERVAL",
            wire: Wire::U32(3),
            values: Values::time(2e3),
            default: "100 ms",
            doc: "how long the delay may stay above the target; a worst-case round-trip time",
        },
        Parameter {
            name: "ecn",
            attribute: "TCA_FQ_CODEL_ECN",
            wire: Wire::U32(4),
            values: Values::Flag,
            default: "true",
            doc: "mark packets that can be marked instead of dropping them",
        },
        Parameter {
            name: "ce_threshold_ns",
            attribute: "TCA_FQ_CODEL_CE_THRESHOLD",
            wire: Wire::U32(7),
            values: Values::time(0.0),
            default: "off",
            doc: "mark every packet that waited longer than this",
        },
        Parameter {
            name: "ce_threshold_selector",
            attribute: "TCA_FQ_CODEL_CE_THRESHOLD_SELECTOR",
            wire: Wire::U8(10),
            values: Values::count(0.0, 255.0, ""),
            default: "0",
            doc: "`ce_threshold_ns` is for packets whose DS field under the mask is this: 1 under mask 3 is ECT(1)",
        },
        Parameter {
            name: "ce_threshold_mask",
            attribute: "TCA_FQ_CODEL_CE_THRESHOLD_MASK",
            wire: Wire::U8(11),
            values: Values::count(0.0, 255.0, ""),
            default: "0, every packet",
            doc: "the bits of the DS field to look at",
        },
        Parameter {
            name: "drop_batch_packets",
            attribute: "TCA_FQ_CODEL_DROP_BATCH_SIZE",
            wire: Wire::U32(8),
            values: Values::count(1.0, LARGEST, "packets"),
            default: "64",
            doc: "the most packets to drop at once from the longest queue when a limit is passed",
        },
    ],
    gaps: &[],
};

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::qdisc::tests::{attributes, bytes};

    #[test]
    fn selector_and_mask_are_one_byte() {
        let queue = json!({
            "kind": "fq_codel", "flows": 1, "ce_threshold_ns": 1_000_000, "ce_threshold_selector": 1,
            "ce_threshold_mask": 3, "drop_batch_packets": 64,
        });
        let expected =
            attributes(&[(5, &[1, 0, 0, 0]), (7, &[0xe8, 3, 0, 0]), (10, &[1]), (11, &[3]), (8, &[64, 0, 0, 0])]);
        assert_eq!(bytes(&queue), ("fq_codel", expected));
    }
}
