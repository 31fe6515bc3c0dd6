//! Rules that change the DS field of packets at the door of a hop.
//!
//! **What it is.** Each packet of a flow passes the rules in order; a rule that it matches sets its ECN codepoint, its
//! DSCP or both. The first packet of a flow, which asks for the connection, passes unchanged, and so do probes.
//!
//! **Source.** Linux' `iptables -t mangle -j TOS` for TCP packets without SYN, in POSTROUTING and so before the queue,
//! as the SCE / L4S bake-off had it (heistp/sce-l4s-bakeoff, `commands.sh`): its target value 1 sets ECT(1) and clears
//! the DSCP, on all packets or on those with DSCP 1, and erases a CE mark from before.
//!
//! **Parameters.** What a packet has to have (`match`): a DSCP, an ECN codepoint, both or neither; what is set (`set`):
//! the same.
//!
//! **Deviations.** A repeated request for a connection is changed as well.
//!
//! **How it is validated.** `tests/elements.rs`.

use serde::Deserialize;

use crate::packet::{Ecn, Packet};
use crate::problem::Problem;
use crate::queue::{Reason, Verdicts};

/// The largest DSCP.
const MAX_DSCP: u8 = 63;

/// A part of the DS field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Field {
    /// ECN codepoint.
    pub ecn: Option<Ecn>,
    /// Differentiated services codepoint.
    pub dscp: Option<u8>,
}

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MangleConfig {
    /// What a packet has to have.
    #[serde(default, rename = "match")]
    pub matching: Field,
    /// What it has from then on.
    pub set: Field,
}

impl MangleConfig {
    pub(super) fn check(self) -> Result<(), Problem> {
        if self.set == Field::default() {
            return Err(Problem::new("mangle.set is empty; say which ecn or dscp packets are to have"));
        }
        let largest = self.set.dscp.max(self.matching.dscp).unwrap_or_default();
        if largest > MAX_DSCP {
            return Err(Problem::new(format!("mangle: dscp {largest} is not possible; give 0 to {MAX_DSCP}")));
        }
        Ok(())
    }

    fn applies<P>(self, packet: &Packet<P>) -> bool {
        self.matching.ecn.is_none_or(|ecn| packet.ecn == ecn)
            && self.matching.dscp.is_none_or(|dscp| packet.dscp == dscp)
    }
}

/// Passes a packet through the rules.
pub(super) fn mangle<P>(rules: &[MangleConfig], packet: &mut Packet<P>, verdicts: &mut Verdicts<P>) {
    let is_first = packet.is_data_direction && packet.number == 0;
    if is_first {
        return;
    }
    let before = (packet.ecn, packet.dscp);
    for rule in rules {
        if rule.applies(packet) {
            packet.ecn = rule.set.ecn.unwrap_or(packet.ecn);
            packet.dscp = rule.set.dscp.unwrap_or(packet.dscp);
        }
    }
    if (packet.ecn, packet.dscp) != before {
        verdicts.note_change(packet, Reason::Mangle);
    }
}
