//! Dual queue for low latency, low loss and scalable throughput: `dualpi2`.
//!
//! **Source.** Linux `net/sched/sch_dualpi2.c`; RFC 9332.
//!
//! **Deviations.** The kernel keeps gains in steps of its own, of 0.93/256 Hz, and shows them up to a step smaller.

use super::mapping::{LARGEST, Mapping, Parameter, Values, Wire};
use super::settings::Settings;
use super::{Link, Qdisc, Unmappable};

/// The kernel keeps some times in four bytes of nanoseconds.
const LONGEST_NS: f64 = 4_294_967_000.0;

/// What there is to know of this queue in Linux.
pub(super) const MAPPING: Mapping = Mapping {
    queue: "dualpi2",
    qdiscs: &["dualpi2"],
    source: "net/sched/sch_dualpi2.c",
    doc: "From Linux 6.17 on. The kernel does not mark or drop early while less than two packets of the device's \
          largest size wait.",
    parameters: &[
        Parameter {
            name: "limit_packets",
            attribute: "TCA_DUALPI2_LIMIT",
            wire: Wire::U32(1),
            values: Values::count(1.0, LARGEST, "packets"),
            default: "10000",
            doc: "the most packets that wait, in both queues",
        },
        Parameter {
            name: "memory_limit_bytes",
            attribute: "TCA_DUALPI2_MEMORY_LIMIT",
            wire: Wire::U32(2),
            values: Values::count(1.0, LARGEST, "bytes"),
            default: "2 × `limit_packets` × (the device's MTU and 14 bytes)",
            doc: "the most memory of packets that wait, with the kernel's overhead",
        },
        Parameter {
            name: "target_ns",
            attribute: "TCA_DUALPI2_TARGET",
            wire: Wire::U32(3),
            values: Values::time(1e3),
            default: "15 ms",
            doc: "the delay to steer to",
        },
        Parameter {
            name: "tupdate_ns",
            attribute: "TCA_DUALPI2_TUPDATE",
            wire: Wire::U32(4),
            values: Values::time_up_to(1e3, LONGEST_NS),
            default: "16 ms",
            doc: "how often the probability is computed",
        },
        Parameter {
            name: "alpha_hz",
            attribute: "TCA_DUALPI2_ALPHA",
            wire: Wire::U32(5),
            values: Values::scaled(1.0 / 256.0, 8_388_607.0, "Hz", "1/256 Hz", 1.0 / 256.0),
            default: "0.16015625",
            doc: "gain on the distance from the target",
        },
        Parameter {
            name: "beta_hz",
            attribute: "TCA_DUALPI2_BETA",
            wire: Wire::U32(6),
            values: Values::scaled(1.0 / 256.0, 8_388_607.0, "Hz", "1/256 Hz", 1.0 / 256.0),
            default: "3.19921875",
            doc: "gain on the change of the delay",
        },
        Parameter {
            name: "step_thresh_ns",
            attribute: "TCA_DUALPI2_STEP_THRESH_US",
            wire: Wire::U32(8),
            values: Values::time_up_to(0.0, LONGEST_NS),
            default: "1 ms",
            doc: "mark every packet of the low-latency queue that waited longer than this",
        },
        Parameter {
            name: "step_thresh_packets",
            attribute: "TCA_DUALPI2_STEP_THRESH_PKTS",
            wire: Wire::U32(7),
            values: Values::count(0.0, LARGEST, "packets"),
            default: "off",
            doc: "the same threshold in packets instead of time",
        },
        Parameter {
            name: "min_qlen_step_packets",
            attribute: "TCA_DUALPI2_MIN_QLEN_STEP",
            wire: Wire::U32(9),
            values: Values::count(0.0, LARGEST, "packets"),
            default: "0",
            doc: "the step applies from this length of the low-latency queue on",
        },
        Parameter {
            name: "coupling",
            attribute: "TCA_DUALPI2_COUPLING",
            wire: Wire::U8(10),
            values: Values::count(1.0, 255.0, ""),
            default: "2",
            doc: "by how much the probability of the classic queue is coupled into the low-latency queue",
        },
        Parameter {
            name: "drop_overload",
            attribute: "TCA_DUALPI2_DROP_OVERLOAD",
            wire: Wire::U8(11),
            values: Values::Flag,
            default: "true",
            doc: "on overload drop in both queues, instead of marking until they overflow",
        },
        Parameter {
            name: "drop_early",
            attribute: "TCA_DUALPI2_DROP_EARLY",
            wire: Wire::U8(12),
            values: Values::Flag,
            default: "false",
            doc: "drop packets on arrival, instead of when they would leave",
        },
        Parameter {
            name: "c_protection",
            attribute: "TCA_DUALPI2_C_PROTECTION",
            wire: Wire::U8(13),
            values: Values::scaled(0.0, 1.0, "", "%", 0.01),
            default: "0.1",
            doc: "the share of the link that the classic queue has at least",
        },
        Parameter {
            name: "ecn_mask",
            attribute: "TCA_DUALPI2_ECN_MASK",
            wire: Wire::U8(14),
            values: Values::Choice { options: &[("l4s_ect", 1), ("cla_ect", 2), ("any_ect", 3)] },
            default: "l4s_ect",
            doc: "which packets go to the low-latency queue: ECT(1), ECT(0) or both, and CE with each",
        },
        Parameter {
            name: "split_gso",
            attribute: "TCA_DUALPI2_SPLIT_GSO",
            wire: Wire::U8(15),
            values: Values::Flag,
            default: "true",
            doc: "split packets that the stack joined",
        },
    ],
    gaps: &[],
};

/// Makes the qdisc out of settings that were checked one by one.
pub(super) fn build(settings: &Settings, _link: &Link) -> Result<Qdisc, Unmappable> {
    if settings.get("step_thresh_ns").is_some() && settings.get("step_thresh_packets").is_some() {
        return Err(Unmappable::Together {
            queue: "dualpi2",
            first: "a step_thresh in time",
            second: "one in packets",
            why: "the step is in time or in packets",
            instead: "state one of them",
        });
    }
    Ok(settings.qdisc())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::qdisc::tests::{attributes, bytes, refusal};

    #[test]
    fn gains_are_256ths_and_flags_are_one_byte() {
        let queue = json!({
            "kind": "dualpi2", "alpha_hz": 0.16, "beta_hz": 3.2, "step_thresh_packets": 5, "coupling": 2,
            "drop_overload": false, "c_protection": 0.25, "ecn_mask": "any_ect",
        });
        let expected = attributes(&[
            (5, &[41, 0, 0, 0]),
            (6, &[0x33, 3, 0, 0]),
            (7, &[5, 0, 0, 0]),
            (10, &[2]),
            (11, &[0]),
            (13, &[25]),
            (14, &[3]),
        ]);
        assert_eq!(bytes(&queue), ("dualpi2", expected));
    }

    #[test]
    fn a_step_has_one_unit() {
        assert_eq!(
            refusal(&json!({ "kind": "dualpi2", "step_thresh_ns": 1_000_000, "step_thresh_packets": 1 })),
            "queue dualpi2 cannot have both a step_thresh in time and one in packets in Linux: the step is in time or \
             in packets; state one of them"
        );
    }
}
