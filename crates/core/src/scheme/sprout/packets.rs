//! Packets numbered by their bytes, and which of them are received or lost by now: the program's accounts of what is in
//! the queue (`network.cc`, `RecvQueue`).

use std::collections::VecDeque;

use super::TICK;
use super::select_loop::clock;
use crate::units::{Duration, Instant};

/// What a packet counts for in the queue beyond its payload, bytes (`Connection::new_packet`).
const OVERHEAD: u64 = 50;
/// Packets that left within so long before another may still arrive when it has (`SendQueue`).
const REORDER_LIMIT: Duration = Duration::from_millis(10);
/// As far back as a packet's header can say, bytes (`throwaway_window`).
const FARTHEST_BACK: u64 = 65_535;
/// Later than this no packet arrives.
const LATEST: Duration = Duration::from_secs(10);
/// Bytes of every payload that say how long its forecast is (`ForecastPacket`).
const FORECAST_LENGTH: u64 = 2;
/// Bytes of the forecast for the other direction, in the first packet of a flight.
const FORECAST: u64 = 18;

/// A packet, as its receiver sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Packet {
    pub(super) sent: Instant,
    /// Bytes that had left before it, with [`OVERHEAD`].
    pub(super) number: u64,
    /// Its payload, bytes.
    pub(super) length: u64,
    /// What has a lower number is received or lost.
    pub(super) settled: u64,
    /// For how long no other will follow (`time_to_next`).
    pub(super) pause: Duration,
}

/// Packets that left, the newest last.
#[derive(Debug, Default)]
pub(super) struct SentPackets {
    packets: VecDeque<Packet>,
    /// Packets that left before those.
    forgotten: u64,
    /// The oldest within [`REORDER_LIMIT`] of the newest.
    oldest_recent: u64,
    next_number: u64,
}

impl SentPackets {
    /// A packet leaves; returns what [`SentPackets::get`] wants to know of it.
    pub(super) fn push(&mut self, now: Instant, length: u64, pause: Duration) -> u64 {
        let (index, number) = (self.forgotten + self.packets.len() as u64, self.next_number);
        self.packets.push_back(Packet { sent: now, number, length, settled: number, pause });
        self.next_number += length + OVERHEAD;
        let is_old = |packet: &Packet| clock(packet.sent) + REORDER_LIMIT < clock(now);
        while self.get(self.oldest_recent).is_some_and(is_old) {
            self.oldest_recent += 1;
        }
        let settled = self.get(self.oldest_recent).map_or(number, |oldest| oldest.number);
        if let Some(packet) = self.packets.back_mut() {
            packet.settled = settled.max(number.saturating_sub(FARTHEST_BACK));
        }
        while self.packets.front().is_some_and(|packet| packet.sent + LATEST < now) {
            self.packets.pop_front();
            self.forgotten += 1;
        }
        index
    }

    pub(super) fn get(&self, index: u64) -> Option<&Packet> {
        self.packets.get(usize::try_from(index.checked_sub(self.forgotten)?).ok()?)
    }

    /// Bytes that have left, with [`OVERHEAD`] (`get_next_seq`).
    pub(super) fn bytes(&self) -> u64 {
        self.next_number
    }
}

/// What is received or lost.
#[derive(Debug, Default)]
pub(super) struct ReceivedPackets {
    settled: u64,
    /// Number and length of those that are not settled.
    recent: Vec<(u64, u64)>,
}

impl ReceivedPackets {
    pub(super) fn push(&mut self, packet: &Packet) {
        self.recent.push((packet.number, packet.length));
        self.settled = self.settled.max(packet.settled);
    }

    /// Bytes received or lost; of recent ones without their overhead, as in the source (`packet_count`).
    pub(super) fn bytes(&mut self) -> u64 {
        self.recent.retain(|(number, _)| *number >= self.settled);
        self.settled + self.recent.iter().map(|(_, length)| length).sum::<u64>()
    }
}

/// Ticks of 20 ms as the program counts them: one is over when a millisecond more has passed (`advance_to`).
fn tick_of(tick: Instant, now: Instant) -> Instant {
    tick + TICK * (clock(now).since(tick).as_nanos().saturating_sub(1) / TICK.as_nanos())
}

/// What packets carry besides what is sent: the sender forecasts the other direction (`SproutConnection::send`).
#[derive(Debug, Default)]
pub(super) struct Carried {
    is_within_flight: bool,
    /// A tick of the sender's forecasts, which begin anew with the first report.
    tick: Option<Instant>,
    /// The tick of the last that it sent.
    told: Option<Instant>,
}

impl Carried {
    /// A report arrives.
    pub(super) fn hear(&mut self, now: Instant) {
        self.tick.get_or_insert(clock(now));
    }

    /// A packet leaves; the bytes that it carries.
    pub(super) fn next(&mut self, now: Instant, ends_flight: bool) -> u64 {
        let begins_flight = !std::mem::replace(&mut self.is_within_flight, !ends_flight);
        self.tick = self.tick.map(|tick| tick_of(tick, now));
        let is_new = begins_flight && (self.tick.is_none() || self.tick != self.told);
        if is_new {
            self.told = self.tick;
        }
        FORECAST_LENGTH + if is_new { FORECAST } else { 0 }
    }
}

/// What a packet with nothing to send has: a forecast.
pub(super) const EMPTY: u64 = FORECAST_LENGTH + FORECAST;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn send(sent: &mut SentPackets, now: Instant, length: u64) -> Packet {
        let index = sent.push(now, length, Duration::ZERO);
        *sent.get(index).expect("it has just left")
    }

    #[test]
    fn packets_settle_when_another_left_ten_milliseconds_later() {
        let mut sent = SentPackets::default();
        let settled: Vec<_> = [0, 3, 10, 11, 14, 40].map(|now| send(&mut sent, at(now), 1_402).settled).to_vec();
        assert_eq!(settled, [0, 0, 0, 1_452, 2 * 1_452, 5 * 1_452], "at ten they are as recent as at zero");
        assert_eq!(sent.bytes(), 6 * 1_452);
    }

    #[test]
    fn a_header_reaches_back_by_65535_bytes() {
        let mut sent = SentPackets::default();
        let last = (0..60).map(|_| send(&mut sent, at(0), 1_402)).last().expect("the sixtieth");
        assert_eq!(last.settled, 59 * 1_452 - 65_535);
    }

    #[test]
    fn what_is_missing_of_late_is_still_in_the_queue() {
        let (mut sent, mut received) = (SentPackets::default(), ReceivedPackets::default());
        let first = send(&mut sent, at(0), 1_402);
        let _lost = send(&mut sent, at(1), 1_402);
        let third = send(&mut sent, at(2), 22);
        received.push(&first);
        received.push(&third);
        assert_eq!((sent.bytes(), received.bytes()), (2 * 1_452 + 72, 1_402 + 22));
        let late = send(&mut sent, at(13), 1_402);
        received.push(&late);
        assert_eq!(received.bytes(), 2 * 1_452 + 72 + 1_402, "all but the overhead of the newest");
        received.push(&third);
        assert_eq!(received.bytes(), 2 * 1_452 + 72 + 1_402, "which is settled");
    }

    #[test]
    fn no_packet_is_remembered_for_longer_than_it_may_take() {
        let mut sent = SentPackets::default();
        let index = sent.push(at(0), 20, Duration::ZERO);
        sent.push(at(10_000), 20, Duration::ZERO);
        assert!(sent.get(index).is_some());
        let newest = sent.push(at(10_001), 20, Duration::ZERO);
        assert_eq!(sent.get(index), None);
        assert_eq!(sent.get(newest).map(|packet| packet.number), Some(140));
    }

    #[test]
    fn the_first_packet_of_a_flight_carries_a_forecast_once_per_tick() {
        let mut carried = Carried::default();
        assert_eq!(carried.next(at(0), true), 20, "nothing has been heard");
        carried.hear(at(60));
        assert_eq!(carried.next(at(60), false), 20);
        assert_eq!(carried.next(at(60), true), 2, "not the first");
        assert_eq!(carried.next(at(80), true), 2, "the same tick");
        assert_eq!(carried.next(at(81), true), 20);
    }
}
