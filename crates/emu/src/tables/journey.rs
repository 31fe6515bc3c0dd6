//! The journeys of packets, put together from what the taps saw.

use bakeoff_core::packet::{Ecn, FlowId, Packet};
use bakeoff_core::units::{Bytes, Duration, Instant};

use super::LogError;
use crate::layout::{HopPoints, Point};
use crate::log::PacketRecord;

/// The identification of the IP header counts a connection's packets with 16 bits, so this many can be told apart.
const WINDOW: usize = 1 << 16;

/// What a tap says of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sighting {
    pub(super) time: Instant,
    identification: u16,
    tos: u8,
}

/// All packets of a flow in one direction, in the order of sending.
#[derive(Debug)]
pub(super) struct Journeys {
    hops: Vec<HopPoints>,
    /// Points on the way, in order, each once.
    points: Vec<Point>,
    /// What each point saw, in order of time.
    sightings: Vec<Vec<Sighting>>,
    /// Per packet: the record of its sending.
    pub(super) sent: Vec<PacketRecord>,
    /// Per point and packet: when it was seen there; [`Instant::FAR_FUTURE`] if never.
    times: Vec<Vec<Instant>>,
    /// Per point and packet: the type-of-service byte with which it was seen there.
    codepoints: Vec<Vec<u8>>,
    /// Per packet: the type-of-service byte with which it arrived.
    last_tos: Vec<u8>,
}

/// How a packet came through one hop until the end of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passage {
    /// It never came this far.
    Absent,
    /// It came out at this time.
    Out(Instant),
    /// It was still in there.
    Inside,
    /// The queue dropped it.
    DroppedByQueue,
    /// The wire lost it.
    LostOnWire,
}

impl Journeys {
    pub(super) fn new(hops: &[HopPoints]) -> Self {
        let mut points = Vec::new();
        for hop in hops {
            for point in [hop.entry, hop.link, hop.exit] {
                if !points.contains(&point) {
                    points.push(point);
                }
            }
        }
        let sightings = vec![Vec::new(); points.len()];
        Self {
            hops: hops.to_vec(),
            points,
            sightings,
            sent: Vec::new(),
            times: Vec::new(),
            codepoints: Vec::new(),
            last_tos: Vec::new(),
        }
    }

    pub(super) fn hops(&self) -> &[HopPoints] {
        &self.hops
    }

    /// Takes a record of this flow and direction.
    pub(super) fn add(&mut self, record: &PacketRecord) {
        let Some(index) = self.points.iter().position(|point| *point == record.point) else { return };
        if index == 0 {
            self.sent.push(*record);
        }
        let PacketRecord { time, identification, tos, .. } = *record;
        self.sightings[index].push(Sighting { time, identification, tos });
    }

    /// Finds out which sightings are of one packet.
    pub(super) fn match_up(&mut self) -> Result<(), LogError> {
        let sightings = std::mem::take(&mut self.sightings);
        self.last_tos = self.sent.iter().map(|record| record.tos).collect();
        self.times.push(self.sent.iter().map(|record| record.time).collect());
        self.codepoints.push(self.last_tos.clone());
        for (seen, point) in sightings.iter().zip(&self.points).skip(1) {
            let mut times = vec![Instant::FAR_FUTURE; self.sent.len()];
            let mut codepoints = vec![0; self.sent.len()];
            let mut next = 0;
            for sighting in seen {
                let found = find(&self.sent, &times, next, *sighting);
                let index = found.ok_or(LogError::Unsent { tap: point.tap, time: sighting.time })?;
                times[index] = sighting.time;
                self.last_tos[index] = sighting.tos;
                codepoints[index] = sighting.tos;
                next = next.max(index + 1);
            }
            self.times.push(times);
            self.codepoints.push(codepoints);
        }
        Ok(())
    }

    fn time_at(&self, point: Point, packet: usize) -> Instant {
        let index = self.points.iter().position(|known| *known == point);
        index.map_or(Instant::FAR_FUTURE, |index| self.times[index][packet])
    }

    /// The codepoint with which a packet was seen at a point; `None` if it never was.
    pub(super) fn ecn_at(&self, point: Point, packet: usize) -> Option<Ecn> {
        let index = self.points.iter().position(|known| *known == point)?;
        (self.times[index][packet] != Instant::FAR_FUTURE).then(|| Ecn::from_bits(self.codepoints[index][packet]))
    }

    /// Whether the queue of a hop marked a packet that it sent by `end`.
    pub(super) fn on_marked(&self, hop: HopPoints, packet: usize, end: Instant) -> bool {
        let codepoint_at = |point: Point| {
            let index = self.points.iter().position(|known| *known == point);
            index.map(|index| Ecn::from_bits(self.codepoints[index][packet]))
        };
        self.time_at(hop.link, packet) <= end
            && codepoint_at(hop.link) == Some(Ecn::Ce)
            && codepoint_at(hop.entry) != Some(Ecn::Ce)
    }

    /// When a packet came to a hop, when its transmission began there, and how it came through, as seen at `end`.
    pub(super) fn passage(&self, hop: HopPoints, packet: usize, end: Instant) -> (Instant, Instant, Passage) {
        let [entry, link, exit] = [hop.entry, hop.link, hop.exit].map(|point| self.time_at(point, packet));
        let passage = if entry > end {
            Passage::Absent
        } else if exit <= end {
            Passage::Out(exit)
        } else if exit == Instant::FAR_FUTURE && link == Instant::FAR_FUTURE {
            Passage::DroppedByQueue
        } else if exit == Instant::FAR_FUTURE && link <= end {
            Passage::LostOnWire
        } else {
            Passage::Inside
        };
        (entry, link, passage)
    }

    /// The packet as the recorder wants it, at the time of its sending.
    pub(super) fn packet(&self, flow: FlowId, is_data_direction: bool, index: usize) -> Packet<()> {
        let record = &self.sent[index];
        let size = Bytes::new(u64::from(record.size));
        let mut packet = Packet::new(flow, is_data_direction, index as u64, size, record.time, ());
        packet.ecn = Ecn::from_bits(self.last_tos[index]);
        packet
    }

    /// Arrivals at the far end until `end`, in order of time, with the number of the packet.
    pub(super) fn arrivals(&self, end: Instant) -> Vec<(Instant, usize)> {
        let last = self.times.last().map_or(&[][..], Vec::as_slice);
        let mut arrivals: Vec<_> = last.iter().copied().zip(0..).filter(|(time, _)| *time <= end).collect();
        arrivals.sort_unstable();
        arrivals
    }
}

/// The packet of a sighting: the first one with its identification that has not been seen there and comes after those
/// that have; or, if packets overtook each other, the last one before.
fn find(sent: &[PacketRecord], times: &[Instant], next: usize, sighting: Sighting) -> Option<usize> {
    let is_it = |index: &usize| {
        sent[*index].identification == sighting.identification
            && times[*index] == Instant::FAR_FUTURE
            && sent[*index].time <= sighting.time
    };
    let ahead = (next..sent.len()).take(WINDOW).take_while(|index| sent[*index].time <= sighting.time).find(is_it);
    ahead.or_else(|| (0..next).rev().take(WINDOW).find(is_it))
}

/// The waiting time in a queue; zero for a packet that has not left it.
pub(super) fn sojourn(entry: Instant, link: Instant) -> Duration {
    if link == Instant::FAR_FUTURE { Duration::ZERO } else { link.since(entry) }
}

#[cfg(test)]
mod tests;
