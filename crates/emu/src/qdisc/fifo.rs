//! First in, first out: `pfifo`, `bfifo` or `pfifo_head_drop`, by the limit and the packet to drop.
//!
//! **Source.** Linux `net/sched/sch_fifo.c`; the options are `struct tc_fifo_qopt`, which is one limit.
//!
//! **Deviations.** The kernel counts a limit in packets or in bytes, never in both, and drops the oldest only where it
//! counts packets.

use bakeoff_core::units::{Bytes, Duration};

use super::mapping::{Gap, LARGEST, Mapping, Parameter, Values, Wire};
use super::settings::Settings;
use super::{Link, Options, Qdisc, Unmappable};

const HEAD: u32 = 1;
/// A thousand hours, far beyond what the limit in bytes can hold on any link.
const LONGEST_NS: f64 = 3_600e12;

/// What there is to know of this queue in Linux.
pub(super) const MAPPING: Mapping = Mapping {
    queue: "fifo",
    qdiscs: &["pfifo", "bfifo", "pfifo_head_drop"],
    source: "net/sched/sch_fifo.c",
    doc: "`pfifo` where the limit is in packets, `pfifo_head_drop` where it also drops the oldest, `bfifo` where the \
          limit is in bytes or time. Without a limit it is a `pfifo` of 4294967295 packets.",
    parameters: &[
        Parameter {
            name: "limit_packets",
            attribute: "tc_fifo_qopt.limit",
            wire: Wire::Field,
            values: Values::count(1.0, LARGEST, "packets"),
            default: "infinite",
            doc: "the most packets that wait",
        },
        Parameter {
            name: "limit_bytes",
            attribute: "tc_fifo_qopt.limit",
            wire: Wire::Field,
            values: Values::count(1.0, LARGEST, "bytes"),
            default: "infinite",
            doc: "the most bytes that wait",
        },
        Parameter {
            name: "limit_time_ns",
            attribute: "tc_fifo_qopt.limit",
            wire: Wire::Field,
            values: Values::scaled(1.0, LONGEST_NS, "ns", "bytes at the link's mean rate", 1.0),
            default: "infinite",
            doc: "as a limit in bytes, the smaller of both where both are stated; void on an unlimited link",
        },
        Parameter {
            name: "drop",
            attribute: "TCA_KIND",
            wire: Wire::Field,
            values: Values::Choice { options: &[("tail", 0), ("head", HEAD)] },
            default: "tail",
            doc: "which packet to drop when the limit is passed: the arriving one or the oldest",
        },
    ],
    gaps: &[
        Gap { what: "a limit in packets and one in bytes or time", why: "no qdisc has both" },
        Gap {
            what: "`drop = \"head\"` with a limit in bytes or time",
            why: "`pfifo_head_drop` counts packets, and `bfifo` has no form that drops the oldest",
        },
    ],
};

/// Makes the qdisc out of settings that were checked one by one.
pub(super) fn build(settings: &Settings, link: &Link) -> Result<Qdisc, Unmappable> {
    let packets = settings.get("limit_packets").map(|limit| limit as u32);
    let bytes = limit_bytes(settings, link)?;
    let is_head = settings.get("drop").is_some_and(|drop| drop as u32 == HEAD);
    let together = |first, second, why, instead| Unmappable::Together { queue: "fifo", first, second, why, instead };
    let (kind, limit) = match (packets, bytes) {
        (Some(_), Some((other, _))) => {
            let why = "no qdisc limits packets and bytes at once";
            return Err(together("a limit in packets", other, why, "state one of them"));
        }
        (None, Some((other, _))) if is_head => {
            let why = "pfifo_head_drop counts packets only";
            let instead = "state a limit in packets, or drop = \"tail\"";
            return Err(together("drop = \"head\"", other, why, instead));
        }
        (None, Some((_, limit))) => ("bfifo", limit),
        (limit, None) => (if is_head { "pfifo_head_drop" } else { "pfifo" }, limit.unwrap_or(u32::MAX)),
    };
    Ok(Qdisc { kind, options: Options::Structure(limit.to_ne_bytes().to_vec()) })
}

/// The smaller of the limits in bytes and in time, and which of them it is in words.
fn limit_bytes(settings: &Settings, link: &Link) -> Result<Option<(&'static str, u32)>, Unmappable> {
    let bytes = settings.get("limit_bytes").map(|limit| ("a limit in bytes", Bytes::new(limit as u64)));
    let time = settings
        .get("limit_time_ns")
        .zip(link.mean_rate)
        .map(|(nanos, rate)| ("a limit in time", rate.amount_in(Duration::from_nanos(nanos as u64))));
    let Some((words, limit)) = bytes.into_iter().chain(time).min_by_key(|(_, limit)| *limit) else {
        return Ok(None);
    };
    match u32::try_from(limit.count()) {
        Ok(limit @ 1..) => Ok(Some((words, limit))),
        _ => Err(settings.invalid(
            "limit",
            format!("a time in which the link sends {limit} at its mean rate"),
            "one of 1B to 4294967295B".to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::qdisc::tests::{bytes, refusal, unlimited};

    #[test]
    fn the_limit_and_the_packet_to_drop_decide_the_qdisc() {
        for (queue, qdisc, limit) in [
            (json!({ "kind": "fifo" }), "pfifo", u32::MAX),
            (json!({ "kind": "fifo", "drop": "head", "limit_packets": null }), "pfifo_head_drop", u32::MAX),
            (json!({ "kind": "fifo", "limit_packets": 50, "drop": "tail" }), "pfifo", 50),
            (json!({ "kind": "fifo", "limit_packets": 50, "drop": "head" }), "pfifo_head_drop", 50),
            (json!({ "kind": "fifo", "limit_bytes": 64_000 }), "bfifo", 64_000),
            (json!({ "kind": "fifo", "limit_time_ns": 100_000_000 }), "bfifo", 150_000),
            (json!({ "kind": "fifo", "limit_time_ns": 100_000_000, "limit_bytes": 64_000 }), "bfifo", 64_000),
        ] {
            assert_eq!(bytes(&queue), (qdisc, limit.to_ne_bytes().to_vec()), "{queue}");
        }
    }

    #[test]
    fn a_time_limit_is_void_on_an_unlimited_link() {
        let queue = json!({ "kind": "fifo", "limit_time_ns": 100_000_000, "limit_packets": 7, "drop": "head" });
        assert_eq!(unlimited(&queue), Ok(("pfifo_head_drop", 7_u32.to_ne_bytes().to_vec())));
    }

    #[test]
    fn what_no_qdisc_does_is_refused() {
        assert_eq!(
            refusal(&json!({ "kind": "fifo", "limit_packets": 50, "limit_bytes": 64_000 })),
            "queue fifo cannot have both a limit in packets and a limit in bytes in Linux: no qdisc limits packets and \
             bytes at once; state one of them"
        );
        assert_eq!(
            refusal(&json!({ "kind": "fifo", "limit_time_ns": 1_000_000, "drop": "head" })),
            "queue fifo cannot have both drop = \"head\" and a limit in time in Linux: pfifo_head_drop counts packets \
             only; state a limit in packets, or drop = \"tail\""
        );
        assert_eq!(
            refusal(&json!({ "kind": "fifo", "limit_time_ns": 100 })),
            "parameter limit of queue fifo cannot be a time in which the link sends 0B at its mean rate in Linux; it \
             takes one of 1B to 4294967295B"
        );
    }
}
