//! Three bands by priority: `pfifo_fast`.
//!
//! **Source.** Linux `net/sched/sch_generic.c`, which takes the limit from the device.

use super::mapping::{Mapping, Parameter, Values, Wire};

/// `DEFAULT_TX_QUEUE_LEN`, which the guest's devices have.
const DEVICE_PACKETS: f64 = 1_000.0;

/// What there is to know of this queue in Linux.
pub(super) const MAPPING: Mapping = Mapping {
    queue: "pfifo_fast",
    qdiscs: &["pfifo_fast"],
    source: "net/sched/sch_generic.c",
    doc: "It has no options: each band holds as many packets as the device's transmit queue.",
    parameters: &[Parameter {
        name: "limit_packets",
        attribute: "the device's `txqueuelen`",
        wire: Wire::Field,
        values: Values::count(DEVICE_PACKETS, DEVICE_PACKETS, "packets"),
        default: "1000",
        doc: "the most packets that wait in each band",
    }],
    gaps: &[],
};

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::qdisc::tests::{bytes, refusal};

    #[test]
    fn the_limit_is_that_of_the_device() {
        assert_eq!(bytes(&json!({ "kind": "pfifo_fast", "limit_packets": 1_000 })), ("pfifo_fast", Vec::new()));
        let refused = refusal(&json!({ "kind": "pfifo_fast", "limit_packets": 50 }));
        assert_eq!(refused, "parameter limit of queue pfifo_fast cannot be 50pkt in Linux; it takes 1000pkt");
    }
}
