//! What is recorded of probes.

use super::Probes;
use super::flow_record::duration_or_none;
use crate::packet::Packet;
use crate::units::{Duration, Instant};

/// One request and its answer.
#[derive(Clone, Copy, Debug)]
struct Request {
    sent: Instant,
    /// How long the request took.
    there: Option<Duration>,
    /// How long the request and its answer took.
    round_trip: Option<Duration>,
    is_dropped: bool,
}

/// The requests of all probes, by number, and how many of their packets are on the path.
#[derive(Clone, Debug, Default)]
pub(super) struct ProbeRecords {
    /// Probes are numbered from here.
    first: usize,
    probes: Vec<Vec<Request>>,
    pub(super) inside: u64,
}

impl ProbeRecords {
    /// The records of so many probes, which are numbered behind the flows.
    pub(super) fn new(flows: usize, probes: usize) -> Self {
        Self { first: flows, probes: vec![Vec::new(); probes], inside: 0 }
    }

    fn requests<P>(&mut self, packet: &Packet<P>) -> &mut Vec<Request> {
        &mut self.probes[packet.flow.0 as usize - self.first]
    }

    /// A request or an answer leaves its endpoint.
    #[inline(never)]
    pub(super) fn on_sent<P>(&mut self, packet: &Packet<P>) {
        self.inside += 1;
        if packet.is_data_direction {
            let request = Request { sent: packet.sent, there: None, round_trip: None, is_dropped: false };
            self.requests(packet).push(request);
        }
    }

    /// A request or an answer reaches its endpoint.
    #[inline(never)]
    pub(super) fn on_received<P>(&mut self, packet: &Packet<P>, now: Instant) {
        self.inside -= 1;
        let Some(request) = self.requests(packet).get_mut(packet.number as usize) else { return };
        let time = now.since(request.sent);
        // Of two copies the first that arrives counts.
        let of = if packet.is_data_direction { &mut request.there } else { &mut request.round_trip };
        of.get_or_insert(time);
    }

    /// A request or an answer is dropped.
    pub(super) fn on_dropped<P>(&mut self, packet: &Packet<P>) {
        self.inside -= 1;
        if let Some(request) = self.requests(packet).get_mut(packet.number as usize) {
            request.is_dropped = true;
        }
    }

    /// The table; `None` if there are no probes.
    pub(super) fn table(self) -> Option<Probes> {
        if self.probes.is_empty() {
            return None;
        }
        let mut table = Probes::default();
        for (probe, requests) in (1..).zip(self.probes) {
            for request in requests {
                table.probe.push(probe);
                table.sent_ns.push(request.sent.as_nanos());
                table.request_ns.push(duration_or_none(request.there));
                table.rtt_ns.push(duration_or_none(request.round_trip));
                table.fate.push(match (request.round_trip, request.is_dropped) {
                    (Some(_), _) => "received",
                    (None, true) => "dropped",
                    (None, false) => "inside",
                });
            }
        }
        Some(table)
    }
}
