//! A sender that a test drives step by step: what leaves when, and what acks say.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bakeoff_core::endpoint::Endpoint;
use bakeoff_core::packet::{Ecn, Envelope, FlowId};
use bakeoff_core::packet_pool::PacketPool;
use bakeoff_core::scheme::{Ack, Cause, Congestion, Lost, RateSample, Scheme, Timeout};
use bakeoff_core::traffic::{Source, TrafficConfig};
use bakeoff_core::transport::stream::{AckSegment, EcnMode, Range, Segment, Sender, StreamConfig};
use bakeoff_core::units::{Duration, Instant};

use super::exchange::{ONE_WAY, random};

/// The receive window of acks that say nothing else: more than any test needs, and less than an ack can tell. A receiver
/// with a limit tells of that instead, and what is above this, above that.
pub(super) const WINDOW: u16 = 0xff00;

/// What a scheme was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// An ack, and how many packets it delivered.
    Ack {
        delivered: u32,
        may_raise_cwnd: bool,
    },
    Congestion(Cause),
    LossWhileReducing {
        is_timer: bool,
    },
    Timeout {
        is_first: bool,
    },
    /// A reduction has run its course.
    Reduced,
    Undo,
}

/// What leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Out {
    New(u64),
    /// New data that says that the window was reduced (CWR).
    Reduced(u64),
    Again(u64),
}

/// A window that the test sets, and what it is told.
#[derive(Clone, Default)]
struct Told {
    cwnd: Arc<AtomicU32>,
    /// Has a threshold, since the last reduction or for ever.
    has_threshold: Arc<AtomicBool>,
    keeps_threshold: Arc<AtomicBool>,
    events: Arc<Mutex<Vec<Event>>>,
    /// Of every ack, in milliseconds.
    round_trips: Arc<Mutex<Vec<Option<u64>>>>,
    /// The delivery-rate sample of every ack.
    samples: Arc<Mutex<Vec<RateSample>>>,
    /// Of every lost packet, whether a timer found it.
    losses: Arc<Mutex<Vec<bool>>>,
    /// How often the application was said to limit the sender.
    silences: Arc<AtomicU32>,
    /// How often a recovery was over.
    recoveries: Arc<AtomicU32>,
    /// Of every ack, how many packets were lost because of it; whether the window limited the sender, and how many
    /// packets were outstanding at most.
    newly_lost: Arc<Mutex<Vec<u32>>>,
    usage: Arc<Mutex<Vec<(bool, u32)>>>,
}

impl Told {
    fn forget(&self) {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn push(&self, event: Event) {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }
}

impl Scheme for Told {
    fn cwnd(&self) -> u32 {
        self.cwnd.load(Ordering::Relaxed)
    }

    fn ssthresh(&self) -> Option<u32> {
        self.has_threshold.load(Ordering::Relaxed).then_some(2)
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        let mut round_trips = self.round_trips.lock().unwrap_or_else(PoisonError::into_inner);
        round_trips.push(ack.rtt.map(Duration::as_millis));
        self.samples.lock().unwrap_or_else(PoisonError::into_inner).push(ack.rate);
        self.newly_lost.lock().unwrap_or_else(PoisonError::into_inner).push(ack.newly_lost);
        let usage = (ack.is_cwnd_limited, ack.max_packets_out);
        self.usage.lock().unwrap_or_else(PoisonError::into_inner).push(usage);
        self.push(Event::Ack { delivered: ack.newly_delivered, may_raise_cwnd: ack.may_raise_cwnd });
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        self.has_threshold.store(true, Ordering::Relaxed);
        self.push(Event::Congestion(congestion.cause));
    }

    fn on_loss_while_reducing(&mut self, congestion: &Congestion) {
        self.push(Event::LossWhileReducing { is_timer: congestion.is_timer });
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        self.push(Event::Timeout { is_first: timeout.is_first });
    }

    fn on_lost(&mut self, lost: &Lost) {
        self.losses.lock().unwrap_or_else(PoisonError::into_inner).push(lost.is_timer);
    }

    fn on_app_limited(&mut self) {
        self.silences.fetch_add(1, Ordering::Relaxed);
    }

    fn on_reduced(&mut self, _now: Instant) {
        self.push(Event::Reduced);
    }

    fn on_recovered(&mut self, _now: Instant) {
        self.recoveries.fetch_add(1, Ordering::Relaxed);
    }

    fn on_undo(&mut self, _now: Instant) {
        self.has_threshold.fetch_and(self.keeps_threshold.load(Ordering::Relaxed), Ordering::Relaxed);
        self.push(Event::Undo);
    }
}

/// A connected sender with endless data. Times are in milliseconds; a round trip takes 20.
pub(super) struct Script {
    pub(super) sender: Sender,
    /// The receiver's, in bytes.
    limit: Option<u16>,
    told: Told,
    pool: PacketPool<Segment>,
}

impl Script {
    pub(super) fn new(config: StreamConfig) -> Self {
        Self::with_traffic(config, &TrafficConfig::Bulk { write: None })
    }

    /// One whose application sends this.
    pub(super) fn with_traffic(config: StreamConfig, traffic: &TrafficConfig) -> Self {
        let mut script = Self::unconfirmed(config, traffic);
        assert_eq!(script.send(0, 20), [], "ACK");
        script
    }

    /// The same, before anything but the SYN has left.
    pub(super) fn unconfirmed(config: StreamConfig, traffic: &TrafficConfig) -> Self {
        let told = Told::default();
        Self::connected(config, traffic, Box::new(told.clone()), told)
    }

    /// One with a window of its own, before anything but the SYN has left.
    pub(super) fn with_scheme(config: StreamConfig, scheme: Box<dyn Scheme>) -> Self {
        Self::connected(config, &TrafficConfig::Bulk { write: None }, scheme, Told::default())
    }

    fn connected(config: StreamConfig, traffic: &TrafficConfig, scheme: Box<dyn Scheme>, told: Told) -> Self {
        let source = Source::new(traffic, Instant::ZERO, random());
        let sender = Sender::new(FlowId(0), config, scheme, source, Instant::ZERO, random());
        let limit = config.receive_window.map(|limit| limit.count() as u16);
        let mut script = Self { sender, limit, told, pool: PacketPool::default() };
        assert_eq!(script.send(0, 0), [], "SYN");
        script.accept(&Segment::SynAck { ecn: config.ecn, timestamp_echo: at(0) }, 20);
        script
    }

    /// What is undone leaves the threshold of slow start where it is.
    pub(super) fn keep_threshold(&self) {
        self.told.keeps_threshold.store(true, Ordering::Relaxed);
    }

    /// What leaves at `millis` with this window.
    pub(super) fn send(&mut self, cwnd: u32, millis: u64) -> Vec<Out> {
        self.told.cwnd.store(cwnd, Ordering::Relaxed);
        let mut out = Vec::new();
        while let Some(packet) = self.sender.poll(at(millis), &mut self.pool) {
            if let Segment::Data { sequence, is_window_reduced, .. } = packet.payload {
                out.push(match (packet.is_retransmission, is_window_reduced) {
                    (true, _) => Out::Again(sequence),
                    (false, true) => Out::Reduced(sequence),
                    (false, false) => Out::New(sequence),
                });
            }
        }
        out
    }

    /// So many segments fill the receive window and left at 100 ms; the last was sent again as a loss probe, at this
    /// time.
    pub(super) fn with_probe(segments: u32) -> (Self, u64) {
        let receive_window = Some(StreamConfig::DEFAULT.mss * u64::from(segments));
        let mut script = Self::new(StreamConfig { receive_window, ..StreamConfig::DEFAULT });
        assert_eq!(script.send(segments, 100).len(), segments as usize);
        let (out, due) = script.wake(segments);
        assert_eq!(out, [Out::Again(u64::from(segments) - 1)]);
        assert_eq!(script.sender.stats.probes, 1);
        (script, due)
    }

    /// What leaves when the timer goes off, and when that is.
    pub(super) fn wake(&mut self, cwnd: u32) -> (Vec<Out>, u64) {
        self.told.forget();
        let due = self.sender.next_wakeup().map_or(0, Instant::as_millis);
        (self.send(cwnd, due), due)
    }

    /// An ack of everything before `cumulative` and of these blocks, for what was sent at `sent`; what the scheme is
    /// told.
    pub(super) fn ack(&mut self, cumulative: u64, blocks: &[(u64, u64)], sent: u64, millis: u64) -> Vec<Event> {
        self.accept(&Segment::Ack(with_blocks(cumulative, blocks, sent)), millis)
    }

    /// The same, with an ECN echo.
    pub(super) fn echo(&mut self, cumulative: u64, blocks: &[(u64, u64)], sent: u64, millis: u64) -> Vec<Event> {
        let mut ack = with_blocks(cumulative, blocks, sent);
        ack.is_ecn_echo = true;
        self.accept(&Segment::Ack(ack), millis)
    }

    /// An ack that left at `left`, of what was sent at 100 ms.
    pub(super) fn late(&mut self, cumulative: u64, blocks: &[(u64, u64)], left: u64, millis: u64) -> Vec<Event> {
        self.take(with_blocks(cumulative, blocks, 100), left, millis)
    }

    /// The same, that tells of another window.
    pub(super) fn late_with_window(&mut self, cumulative: u64, window: u16, left: u64, millis: u64) -> Vec<Event> {
        let mut ack = with_blocks(cumulative, &[], 100);
        ack.window = window;
        self.take(ack, left, millis)
    }

    /// An ack that tells that a segment has arrived twice.
    pub(super) fn duplicate(&mut self, cumulative: u64, sequence: u64, sent: u64, millis: u64) -> Vec<Event> {
        let mut ack = AckSegment::new(cumulative, at(sent), ONE_WAY);
        ack.set_duplicate(Range { start: sequence, end: sequence + 1 });
        self.accept(&Segment::Ack(ack), millis)
    }

    fn accept(&mut self, segment: &Segment, millis: u64) -> Vec<Event> {
        self.accept_late(segment, millis, millis)
    }

    fn take(&mut self, ack: AckSegment, left: u64, millis: u64) -> Vec<Event> {
        self.accept_late(&Segment::Ack(ack), left, millis)
    }

    fn accept_late(&mut self, segment: &Segment, left: u64, millis: u64) -> Vec<Event> {
        self.told.forget();
        let mut segment = segment.clone();
        if let (Segment::Ack(ack), Some(limit)) = (&mut segment, self.limit) {
            ack.window = ack.window - WINDOW + limit;
        }
        self.sender.accept(&segment, Envelope { number: 0, ecn: Ecn::NotEct, sent: at(left) }, at(millis));
        self.events()
    }

    /// How many bare acks leave at `millis` while the window is full.
    pub(super) fn bare_acks(&mut self, millis: u64) -> usize {
        self.told.cwnd.store(0, Ordering::Relaxed);
        let polled = std::iter::from_fn(|| self.sender.poll(at(millis), &mut self.pool));
        polled.filter(|packet| matches!(packet.payload, Segment::HandshakeAck)).count()
    }

    /// What the scheme was told since the last ack or the timer.
    pub(super) fn events(&self) -> Vec<Event> {
        self.told.events.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The last ack's sample of the delivery rate.
    pub(super) fn last_sample(&self) -> Option<RateSample> {
        self.told.samples.lock().unwrap_or_else(PoisonError::into_inner).last().copied()
    }

    /// Of every lost packet, whether a timer found it.
    pub(super) fn losses(&self) -> Vec<bool> {
        self.told.losses.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How often the application was said to limit the sender, since the last time this was asked.
    pub(super) fn silences(&self) -> u32 {
        self.told.silences.swap(0, Ordering::Relaxed)
    }

    /// How often a recovery was over.
    pub(super) fn recoveries(&self) -> u32 {
        self.told.recoveries.load(Ordering::Relaxed)
    }

    /// Of every ack, how many packets were lost because of it.
    pub(super) fn newly_lost(&self) -> Vec<u32> {
        self.told.newly_lost.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Of every ack, whether the window limited the sender, and how many packets were outstanding at most.
    pub(super) fn usage(&self) -> Vec<(bool, u32)> {
        self.told.usage.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What the sender reports under this name.
    pub(super) fn telemetry(&self, name: &str) -> Option<f64> {
        let mut found = None;
        self.sender.telemetry(&mut |reported, value| found = if reported == name { Some(value) } else { found });
        found
    }

    /// The round trips that acks have shown.
    pub(super) fn round_trips(&self) -> Vec<Option<u64>> {
        self.told.round_trips.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn with_blocks(cumulative: u64, blocks: &[(u64, u64)], sent: u64) -> AckSegment {
    let mut ack = AckSegment::new(cumulative, at(sent), ONE_WAY);
    ack.set_blocks(blocks.iter().map(|(start, end)| Range { start: *start, end: *end }));
    ack.window = WINDOW;
    ack
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// Classic ECN.
pub(super) fn with_ecn() -> StreamConfig {
    StreamConfig { ecn: EcnMode::Classic, ..StreamConfig::DEFAULT }
}
