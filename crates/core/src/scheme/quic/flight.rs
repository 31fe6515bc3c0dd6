//! What is in flight, packet by packet and in bytes.
//!
//! **Source.** Chromium `quic/core`: `quic_unacked_packet_map.cc` (a packet is in flight until it is acknowledged or
//! lost, and then never again), and `bandwidth_sampler.cc`: what a packet remembers of the time when it was sent, and
//! what its ack shows.

use std::collections::VecDeque;

use super::bandwidth::Bandwidth;
use super::clock::Clock;
use crate::scheme::{Ack, Lost, Sent};
use crate::units::{Duration, Instant};

/// The packet that was acknowledged last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Acked {
    /// Bytes that had been sent with it.
    sent: u64,
    /// When it was sent, and acknowledged.
    sent_at: Instant,
    at: Instant,
}

/// A packet in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::scheme) struct Packet {
    /// What QUIC counts of it.
    pub(in crate::scheme) bytes: u64,
    is_retransmission: bool,
    /// Bytes that had been acknowledged when it was sent, and sent with it.
    delivered: u64,
    sent: u64,
    sent_at: Instant,
    /// As it was when the packet was sent.
    last_acked: Acked,
    is_app_limited: bool,
}

/// What the ack of a packet shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::scheme) struct Sample {
    pub(in crate::scheme) bandwidth: Bandwidth,
    pub(in crate::scheme) rtt: Duration,
    /// The packet was sent while the sender could have sent more.
    pub(in crate::scheme) is_app_limited: bool,
}

/// What has been found lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::scheme) struct Losses {
    pub(in crate::scheme) bytes: u64,
    /// Number of the newest packet of them.
    pub(in crate::scheme) newest: Option<u64>,
}

/// The packets in flight. They are numbered from one; a retransmission is a packet of its own.
#[derive(Debug)]
pub(in crate::scheme) struct Flight {
    clock: Clock,
    /// What QUIC counts of a packet beside its payload.
    overhead: u64,
    /// The packets from number `first` on, `None` for those that are not in flight any more.
    packets: VecDeque<Option<Packet>>,
    first: u64,
    count: u32,
    bytes: u64,
    /// Bytes sent and acknowledged so far.
    sent: u64,
    delivered: u64,
    last_acked: Acked,
    /// Found lost since losses were last looked at; in flight until then.
    lost: Vec<u64>,
    /// What the ack that is being processed acknowledges, in order.
    acked: Vec<u64>,
    /// The round trip of the retransmissions among them, where it is not the one since they left.
    echoed: Option<Duration>,
    /// Of lost packets that the sender is never told of: bytes that count as acknowledged from the next event on.
    untold: u64,
    /// The sender is limited by its application until a packet after this one is acknowledged.
    limited_until: Option<u64>,
}

impl Flight {
    /// An empty one, of packets with so many bytes beside their payload.
    pub(in crate::scheme) fn new(overhead: u64, clock: Clock) -> Self {
        Self {
            clock,
            overhead,
            packets: VecDeque::new(),
            first: 1,
            count: 0,
            bytes: 0,
            sent: 0,
            delivered: 0,
            last_acked: Acked::default(),
            lost: Vec::new(),
            acked: Vec::new(),
            echoed: None,
            untold: 0,
            limited_until: None,
        }
    }

    /// Bytes in flight.
    pub(in crate::scheme) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes acknowledged so far.
    pub(in crate::scheme) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Number of the packet sent last; zero before the first.
    pub(in crate::scheme) fn newest(&self) -> u64 {
        self.first + self.packets.len() as u64 - 1
    }

    /// True if what is sent now shows no more than what the application has to send.
    pub(in crate::scheme) fn is_app_limited(&self) -> bool {
        self.limited_until.is_some()
    }

    /// The sender could send more than it has, up to now (`OnAppLimited`).
    pub(in crate::scheme) fn on_app_limited(&mut self) {
        self.limited_until = Some(self.newest());
    }

    /// A packet leaves, and what it counts for.
    pub(in crate::scheme) fn on_sent(&mut self, sent: &Sent) -> u64 {
        let (bytes, now) = (sent.size.count() + self.overhead, self.clock.read(sent.now));
        self.sent += bytes;
        if self.bytes == 0 {
            // What is sent from here on is measured from here on.
            self.last_acked = Acked { sent: self.sent, sent_at: now, at: now };
        }
        self.packets.push_back(Some(Packet {
            bytes,
            is_retransmission: sent.is_retransmission,
            delivered: self.delivered,
            sent: self.sent,
            sent_at: sent.now,
            last_acked: self.last_acked,
            is_app_limited: self.is_app_limited(),
        }));
        self.count += 1;
        self.bytes += bytes;
        bytes
    }

    /// A packet was found lost, which is looked at with the next event.
    pub(in crate::scheme) fn on_lost(&mut self, lost: &Lost) {
        self.lost.push(lost.packet);
    }

    /// A timeout was needless: what was found lost since is in flight after all.
    pub(in crate::scheme) fn forget_losses(&mut self) {
        self.lost.clear();
    }

    /// An ack begins: what was found lost leaves the flight, but for what the ack shows to have arrived.
    pub(in crate::scheme) fn begin_ack(&mut self, ack: &Ack<'_>) -> Losses {
        self.acked.clear();
        self.acked.extend_from_slice(ack.packets);
        self.acked.sort_unstable();
        self.echoed = self.echo_of_earlier_transmission(ack);
        self.take_losses()
    }

    /// Of a segment that was sent twice our transport takes the last transmission for what arrived. If the ack echoes
    /// the round trip of none of its packets, it was an earlier one.
    fn echo_of_earlier_transmission(&self, ack: &Ack<'_>) -> Option<Duration> {
        let packets = || self.acked.iter().filter_map(|number| self.get(*number));
        if !packets().any(|packet| packet.is_retransmission) {
            return None;
        }
        let echoed = ack.rtt?.as_micros();
        let since = |packet: &Packet| ack.now.since(packet.sent_at).as_micros();
        let is_known = packets().any(|packet| since(packet) == echoed);
        (!is_known).then_some(Duration::from_micros(echoed))
    }

    /// What the ack that is being processed acknowledges, in order.
    pub(in crate::scheme) fn acked(&self) -> &[u64] {
        &self.acked
    }

    /// The round trip that an ack shows, if its newest packet is newer than `largest`, before that is taken.
    pub(in crate::scheme) fn newest_round_trip(&self, largest: u64, now: Instant) -> Option<Duration> {
        let newest = self.acked.last().filter(|newest| **newest > largest)?;
        self.get(*newest).map(|packet| self.round_trip(packet, now))
    }

    /// What was found lost leaves the flight.
    pub(in crate::scheme) fn take_losses(&mut self) -> Losses {
        let mut losses = Losses::default();
        for number in std::mem::take(&mut self.lost) {
            if self.acked.binary_search(&number).is_err()
                && let Some(packet) = self.take(number)
            {
                losses.bytes += packet.bytes;
                losses.newest = losses.newest.max(Some(number));
            }
        }
        losses
    }

    /// The sender is not told of these losses, and takes them for acknowledged once they are history
    /// (`RemoveObsoletePackets`).
    pub(in crate::scheme) fn keep_untold(&mut self, losses: Losses) {
        self.untold += losses.bytes;
    }

    /// A packet was acknowledged; `None` if it had been lost.
    pub(in crate::scheme) fn on_acked(&mut self, number: u64, now: Instant) -> Option<Packet> {
        let packet = self.take(number)?;
        self.delivered += packet.bytes;
        self.last_acked =
            Acked { sent: packet.sent, sent_at: self.clock.read(packet.sent_at), at: self.clock.read(now) };
        self.limited_until = self.limited_until.filter(|end| number <= *end);
        Some(packet)
    }

    /// What an ack shows, right after [`Flight::on_acked`] gave its packet (`OnPacketAcknowledgedInner`). The bandwidth
    /// is the lesser of two rates, both since the packet that had been acknowledged last when this one was sent: of
    /// what was acknowledged since it was, and of what was sent since it was.
    pub(in crate::scheme) fn sample(&self, packet: &Packet, now: Instant) -> Option<Sample> {
        let (since, acked_at, sent_at) = (packet.last_acked, self.clock.read(now), self.clock.read(packet.sent_at));
        if acked_at <= since.at {
            return None;
        }
        let acked = Bandwidth::of(self.delivered - packet.delivered, acked_at.since(since.at));
        let bandwidth = if sent_at <= since.sent_at {
            acked
        } else {
            acked.min(Bandwidth::of(packet.sent - since.sent, sent_at.since(since.sent_at)))
        };
        Some(Sample { bandwidth, rtt: self.round_trip(packet, now), is_app_limited: packet.is_app_limited })
    }

    /// By the clock, so that it varies even where nothing else does.
    fn round_trip(&self, packet: &Packet, now: Instant) -> Duration {
        let earlier = self.echoed.filter(|_| packet.is_retransmission).map(|rtt| now - rtt);
        self.clock.read(now).since(self.clock.read(earlier.unwrap_or(packet.sent_at)))
    }

    /// An event has been processed, after which the transport waits for so many packets.
    pub(in crate::scheme) fn end_ack(&mut self, ack: &Ack<'_>) {
        // Of a packet that was sent twice as a probe the transport knows one copy.
        while self.count > ack.in_flight {
            let Some(oldest) = self.packets.iter().position(Option::is_some) else { break };
            self.take(self.first + oldest as u64);
        }
    }

    /// What the sender was not told of is history.
    pub(in crate::scheme) fn count_untold(&mut self) {
        self.delivered += std::mem::take(&mut self.untold);
    }

    fn get(&self, number: u64) -> Option<&Packet> {
        self.packets.get(number.checked_sub(self.first)? as usize)?.as_ref()
    }

    fn take(&mut self, number: u64) -> Option<Packet> {
        let packet = self.packets.get_mut(number.checked_sub(self.first)? as usize)?.take()?;
        self.count -= 1;
        self.bytes -= packet.bytes;
        while self.packets.len() > 1 && self.packets.front().is_some_and(Option::is_none) {
            self.packets.pop_front();
            self.first += 1;
        }
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::window::ack as one_ack;
    use crate::units::{Bytes, Duration};

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn sent(payload: u64, now: Instant) -> Sent {
        Sent { now, size: Bytes::new(payload), is_retransmission: false, in_flight: 1, delivered: 0 }
    }

    fn lost(packet: u64) -> Lost {
        Lost { now: Instant::ZERO, size: Bytes::ZERO, packet, is_timer: false }
    }

    /// An ack of these packets begins; `rtt` is what it echoes.
    fn begin(flight: &mut Flight, packets: &[u64], now: Instant, rtt: Duration) -> Losses {
        flight.begin_ack(&Ack { now, rtt: Some(rtt), packets, ..one_ack(1) })
    }

    #[test]
    fn packets_of_all_sizes_are_counted_until_they_are_acknowledged_or_lost() {
        let (mut flight, now) = (Flight::new(22, Clock::default()), at(1));
        assert_eq!(flight.newest(), 0);
        let counted = [1_387, 1_387, 187].map(|payload| flight.on_sent(&sent(payload, at(0))));
        assert_eq!((counted, flight.newest(), flight.bytes()), ([1_409, 1_409, 209], 3, 3_027));
        assert_eq!(flight.on_acked(1, now).map(|packet| packet.bytes), Some(1_409));
        flight.on_lost(&lost(2));
        assert_eq!((flight.bytes(), flight.delivered()), (1_618, 1_409), "until the next ack");
        flight.on_sent(&sent(1_387, now));
        assert_eq!(begin(&mut flight, &[4, 3], now, Duration::ZERO), Losses { bytes: 1_409, newest: Some(2) });
        assert_eq!((flight.bytes(), flight.acked()), (1_618, &[3, 4][..]));
        assert_eq!(flight.on_acked(2, now), None, "it was lost");
        assert_eq!(flight.on_acked(4, now).map(|packet| packet.delivered), Some(1_409));
        assert_eq!(flight.on_acked(3, now).map(|packet| packet.delivered), Some(0));
        assert_eq!((flight.bytes(), flight.newest()), (0, 4));
        assert_eq!(flight.on_acked(5, now), None, "never sent");
    }

    #[test]
    fn what_the_next_ack_shows_to_have_arrived_was_not_lost() {
        let mut flight = Flight::new(0, Clock::default());
        (0..3).for_each(|_| _ = flight.on_sent(&sent(1_000, at(0))));
        (1..4).for_each(|number| flight.on_lost(&lost(number)));
        assert_eq!(begin(&mut flight, &[3], at(1), Duration::ZERO), Losses { bytes: 2_000, newest: Some(2) });
        flight.on_lost(&lost(3));
        flight.forget_losses();
        assert_eq!((flight.take_losses(), flight.bytes()), (Losses::default(), 1_000));
    }

    #[test]
    fn losses_that_nobody_is_told_of_count_as_acknowledged_after_the_next_event() {
        let mut flight = Flight::new(0, Clock::default());
        flight.on_sent(&sent(1_000, at(0)));
        flight.keep_untold(Losses { bytes: 700, newest: Some(1) });
        assert_eq!(flight.delivered(), 0);
        flight.count_untold();
        flight.count_untold();
        assert_eq!(flight.delivered(), 700);
    }

    #[test]
    fn what_leaves_after_the_application_fell_silent_is_limited_until_a_packet_of_that_is_acknowledged() {
        let mut flight = Flight::new(0, Clock::default());
        let send = |flight: &mut Flight, millis| flight.on_sent(&sent(1_000, at(millis)));
        send(&mut flight, 0);
        flight.on_app_limited();
        (1..4).for_each(|millis| _ = send(&mut flight, millis));
        let limited = |flight: &mut Flight, number| {
            let packet = flight.on_acked(number, at(10 + number)).unwrap();
            (flight.sample(&packet, at(10 + number)).unwrap().is_app_limited, flight.is_app_limited())
        };
        assert_eq!(limited(&mut flight, 1), (false, true));
        assert_eq!(limited(&mut flight, 2), (true, false));
        send(&mut flight, 20);
        assert_eq!(limited(&mut flight, 3), (true, false));
        assert_eq!(limited(&mut flight, 5), (false, false));
    }

    #[test]
    fn a_round_trip_is_that_of_the_transmission_that_arrived() {
        let trip = |rtt: u64| {
            let mut flight = Flight::new(0, Clock::default());
            flight.on_sent(&sent(1_000, at(0)));
            flight.on_sent(&Sent { is_retransmission: true, ..sent(1_000, at(300)) });
            begin(&mut flight, &[2], at(340), Duration::from_millis(rtt));
            assert_eq!(flight.newest_round_trip(2, at(340)), None, "no news");
            flight.newest_round_trip(1, at(340)).map(Duration::as_millis)
        };
        assert_eq!((trip(40), trip(340)), (Some(40), Some(340)));
    }

    #[test]
    fn both_ends_of_a_round_trip_are_cut_by_the_clock() {
        let trip = |clock: Clock, sent_ns: u64, acked_ns: u64| {
            let mut flight = Flight::new(0, clock);
            flight.on_sent(&sent(1_000, Instant::from_nanos(sent_ns)));
            let now = Instant::from_nanos(acked_ns);
            begin(&mut flight, &[1], now, Duration::from_nanos(acked_ns - sent_ns));
            flight.newest_round_trip(0, now).map(Duration::as_nanos)
        };
        assert_eq!(trip(Clock::default(), 1_900, 42_100), Some(41_000));
        assert_eq!(trip(Clock::default(), 1_100, 42_900), Some(41_000));
    }

    #[test]
    fn what_the_transport_does_not_wait_for_is_not_in_flight() {
        let mut flight = Flight::new(0, Clock::default());
        for _ in 0..3 {
            flight.on_sent(&sent(1_000, at(0)));
        }
        flight.on_acked(3, at(1));
        flight.end_ack(&Ack { in_flight: 1, ..one_ack(1) });
        assert_eq!(flight.bytes(), 1_000);
        assert_eq!(flight.on_acked(1, at(1)), None);
        assert!(flight.on_acked(2, at(1)).is_some());
    }

    /// Packets of 1000 bytes that leave at the first times, and whose acks come at the second ones; `None` is lost, as
    /// the next ack shows. What the acks show, in bytes per millisecond.
    fn bandwidths(packets: &[(u64, Option<u64>)]) -> Vec<Option<u64>> {
        let mut flight = Flight::new(0, Clock::default());
        let mut events: Vec<_> = (1..).zip(packets).map(|(number, (sent, _))| (*sent, true, number)).collect();
        events.extend((1..).zip(packets).filter_map(|(number, (_, acked))| Some(((*acked)?, false, number))));
        events.sort_unstable();
        let mut shown = Vec::new();
        for (millis, is_departure, number) in events {
            if is_departure {
                flight.on_sent(&sent(1_000, at(millis)));
                continue;
            }
            (1..number).for_each(|earlier| flight.on_lost(&lost(earlier)));
            flight.take_losses();
            let packet = flight.on_acked(number, at(millis)).unwrap();
            let sample = flight.sample(&packet, at(millis));
            shown.push(sample.map(|sample| sample.bandwidth.bytes_in(Duration::from_millis(1))));
        }
        shown
    }

    #[test]
    fn the_first_flight_is_measured_from_its_first_packet_on() {
        // 1, 2 and 3 packets in 100, 110 and 120 ms; the last two left 1 and 2 ms behind the first, which is faster.
        assert_eq!(bandwidths(&[(0, Some(100)), (1, Some(110)), (2, Some(120))]), [Some(10), Some(18), Some(25)]);
    }

    #[test]
    fn after_silence_it_begins_anew_and_no_time_shows_nothing() {
        assert_eq!(bandwidths(&[(0, Some(50)), (1_000, Some(1_050))])[1], Some(20));
        let mut flight = Flight::new(0, Clock::default());
        flight.on_sent(&sent(1_000, at(5)));
        let packet = flight.on_acked(1, at(5)).unwrap();
        assert_eq!(flight.sample(&packet, at(5)), None);
    }

    #[test]
    fn acks_that_come_faster_than_packets_left_show_the_rate_at_which_they_left() {
        let packets = [(0, Some(100)), (60, Some(129)), (70, Some(130)), (120, Some(150)), (131, Some(151))];
        // Since the third packet two more left in 61 ms, and were acknowledged in 21.
        assert_eq!(bandwidths(&packets)[4], Some(32));
    }

    #[test]
    fn what_was_lost_counts_as_sent() {
        // Since the second packet two more left in 71 ms, one of which was acknowledged, in 21.
        let packets = [(0, Some(100)), (60, Some(130)), (70, None), (131, Some(151))];
        assert_eq!(bandwidths(&packets)[2], Some(28));
    }
}
