//! Common applications kept enhanced: `cake`.
//!
//! **Source.** Linux `net/sched/sch_cake.c`; the words for modes are those of `tc`.
//!
//! **Deviations.** A round-trip time without a target sets the target to its twentieth, as `tc` does; the kernel alone
//! would leave it at 5 ms.

use super::mapping::{Gap, LARGEST, Mapping, Parameter, Values, Wire};
use super::settings::Settings;
use super::{Link, Options, Qdisc, Unmappable};

const DIFFSERV: &[(&str, u32)] =
    &[("diffserv3", 0), ("diffserv4", 1), ("diffserv8", 2), ("besteffort", 3), ("precedence", 4)];
const FLOW_MODES: &[(&str, u32)] = &[
    ("flowblind", 0),
    ("srchost", 1),
    ("dsthost", 2),
    ("hosts", 3),
    ("flows", 4),
    ("dual-srchost", 5),
    ("dual-dsthost", 6),
    ("triple-isolate", 7),
];
/// `TCA_CAKE_TARGET`, in microseconds.
const TARGET: u16 = 8;
/// `tc` takes this part of the round-trip time as the target.
const TARGETS_PER_RTT: f64 = 20.0;

/// What there is to know of this queue in Linux.
pub(super) const MAPPING: Mapping = Mapping {
    queue: "cake",
    qdiscs: &["cake"],
    source: "net/sched/sch_cake.c",
    doc: "The shaper of the link is in front of it, so that its own has no limit.",
    parameters: &[
        Parameter {
            name: "diffserv",
            attribute: "TCA_CAKE_DIFFSERV_MODE",
            wire: Wire::U32(3),
            values: Values::Choice { options: DIFFSERV },
            default: "diffserv3",
            doc: "the classes that DSCPs are sorted into",
        },
        Parameter {
            name: "flow_mode",
            attribute: "TCA_CAKE_FLOW_MODE",
            wire: Wire::U32(5),
            values: Values::Choice { options: FLOW_MODES },
            default: "triple-isolate",
            doc: "between what the link is shared fairly",
        },
        Parameter {
            name: "rtt_ns",
            attribute: "TCA_CAKE_RTT",
            wire: Wire::U32(7),
            values: Values::time(1e3),
            default: "100 ms",
            doc: "the round-trip time that CoDel's interval is meant for",
        },
        Parameter {
            name: "target_ns",
            attribute: "TCA_CAKE_TARGET",
            wire: Wire::U32(8),
            values: Values::time(1e3),
            default: "a twentieth of `rtt_ns`",
            doc: "the standing delay that is acceptable",
        },
        Parameter {
            name: "memory_limit_bytes",
            attribute: "TCA_CAKE_MEMORY",
            wire: Wire::U32(10),
            values: Values::count(1.0, LARGEST, "bytes"),
            default: "10240 × (the device's MTU and 14 bytes)",
            doc: "the most memory of packets that wait, with the kernel's overhead",
        },
        Parameter {
            name: "wash",
            attribute: "TCA_CAKE_WASH",
            wire: Wire::U32(13),
            values: Values::Flag,
            default: "false",
            doc: "clear the DSCP of packets that leave",
        },
        Parameter {
            name: "ack_filter",
            attribute: "TCA_CAKE_ACK_FILTER",
            wire: Wire::U32(16),
            values: Values::Choice { options: &[("none", 0), ("filter", 1), ("aggressive", 2)] },
            default: "none",
            doc: "which pure acks to drop where later ones wait",
        },
        Parameter {
            name: "split_gso",
            attribute: "TCA_CAKE_SPLIT_GSO",
            wire: Wire::U32(17),
            values: Values::Flag,
            default: "true",
            doc: "split packets that the stack joined",
        },
    ],
    gaps: &[
        Gap { what: "bandwidth, ingress, autorate-ingress", why: "the link has a rate of its own, by `htb`" },
        Gap { what: "overhead, mpu, atm, ptm", why: "they count for cake's own shaper only" },
        Gap { what: "nat", why: "it needs connection tracking, without which the kernel refuses the attribute" },
        Gap { what: "fwmark", why: "nothing marks packets" },
    ],
};

#[expect(clippy::unnecessary_wraps, reason = "other queues refuse here what does not fit together")]
/// Makes the qdisc out of settings that were checked one by one.
pub(super) fn build(settings: &Settings, _link: &Link) -> Result<Qdisc, Unmappable> {
    let mut attributes = settings.attributes();
    if let (Some(rtt_ns), None) = (settings.get("rtt_ns"), settings.get("target_ns")) {
        let target_us = (rtt_ns / 1e3).round() / TARGETS_PER_RTT;
        attributes = attributes.u32(TARGET, (target_us as u32).max(1));
    }
    Ok(Qdisc { kind: "cake", options: Options::Attributes(attributes) })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::qdisc::tests::{attributes, bytes};

    #[test]
    fn words_become_the_numbers_of_the_kernel() {
        let queue =
            json!({ "kind": "cake", "diffserv": "besteffort", "flow_mode": "flowblind", "ack_filter": "aggressive" });
        let expected = attributes(&[(3, &[3, 0, 0, 0]), (5, &[0, 0, 0, 0]), (16, &[2, 0, 0, 0])]);
        assert_eq!(bytes(&queue), ("cake", expected));
    }

    #[test]
    fn a_round_trip_time_sets_the_target_unless_that_is_stated() {
        let rtt = attributes(&[(7, &[0x30, 0x75, 0, 0])]);
        let target = attributes(&[(8, &[0xdc, 5, 0, 0])]);
        assert_eq!(bytes(&json!({ "kind": "cake", "rtt_ns": 30_000_000 })).1, [rtt.clone(), target].concat());
        let target = attributes(&[(8, &[0x10, 0x27, 0, 0])]);
        let queue = json!({ "kind": "cake", "rtt_ns": 30_000_000, "target_ns": 10_000_000 });
        assert_eq!(bytes(&queue).1, [rtt, target].concat());
    }
}
