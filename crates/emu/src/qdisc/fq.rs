//! Fair queueing: `fq`.
//!
//! **Source.** Linux `net/sched/sch_fq.c`.
//!
//! **Deviations.** Times are whole milliseconds (`refill_delay`) and microseconds.

use super::mapping::{Gap, LARGEST, Mapping, Parameter, Values, Wire};

/// What there is to know of this queue in Linux.
pub(super) const MAPPING: Mapping = Mapping {
    queue: "fq",
    qdiscs: &["fq"],
    source: "net/sched/sch_fq.c",
    doc: "Packets come from a router, so flows are told apart by 10 bits of their hash and are not paced here.",
    parameters: &[
        Parameter {
            name: "limit_packets",
            attribute: "TCA_FQ_PLIMIT",
            wire: Wire::U32(1),
            values: Values::count(1.0, LARGEST, "packets"),
            default: "10000",
            doc: "the most packets that wait in each band",
        },
        Parameter {
            name: "flow_limit_packets",
            attribute: "TCA_FQ_FLOW_PLIMIT",
            wire: Wire::U32(2),
            values: Values::count(1.0, LARGEST, "packets"),
            default: "100",
            doc: "the most packets of one flow that wait",
        },
        Parameter {
            name: "quantum_bytes",
            attribute: "TCA_FQ_QUANTUM",
            wire: Wire::U32(3),
            values: Values::count(256.0, 1_048_576.0, "bytes"),
            default: "2 × (the device's MTU and 14 bytes)",
            doc: "what a flow may send in its turn",
        },
        Parameter {
            name: "initial_quantum_bytes",
            attribute: "TCA_FQ_INITIAL_QUANTUM",
            wire: Wire::U32(4),
            values: Values::count(0.0, 1_048_576.0, "bytes"),
            default: "10 × (the device's MTU and 14 bytes)",
            doc: "what a flow may send when it is seen for the first time",
        },
        Parameter {
            name: "refill_delay_ns",
            attribute: "TCA_FQ_FLOW_REFILL_DELAY",
            wire: Wire::U32(9),
            values: Values::time(1e6),
            default: "40 ms",
            doc: "after a silence longer than this a flow may send a quantum again",
        },
        Parameter {
            name: "ce_threshold_ns",
            attribute: "TCA_FQ_CE_THRESHOLD",
            wire: Wire::U32(12),
            values: Values::time(0.0),
            default: "off",
            doc: "mark what waited longer than this, but for what took the fast path",
        },
    ],
    gaps: &[Gap { what: "maxrate, low_rate_threshold, horizon", why: "senders pace by themselves" }],
};

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::qdisc::tests::{attributes, bytes};

    #[test]
    fn limits_are_packets_and_times_microseconds() {
        let queue = json!({ "kind": "fq", "flow_limit_packets": 200, "ce_threshold_ns": 1_000_000 });
        let expected = attributes(&[(2, &[200, 0, 0, 0]), (12, &[0xe8, 3, 0, 0])]);
        assert_eq!(bytes(&queue), ("fq", expected));
    }
}
