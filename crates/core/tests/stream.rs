//! A sender and a receiver with nothing between them but a delay and a hand that drops or marks.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bakeoff_core::endpoint::Endpoint;
use bakeoff_core::packet::{Ecn, Envelope, FlowId, Packet};
use bakeoff_core::packet_pool::PacketPool;
use bakeoff_core::random::RandomStream;
use bakeoff_core::scheme::{
    self, Ack, Congestion, Connected, Feedback, Parameters, Scheme, Sent, Setup, Timeout, TxStart,
};
use bakeoff_core::traffic::{Source, TrafficConfig};
use bakeoff_core::transport::stream::{AckSegment, EcnMode, Ect, Range, Receiver, Segment, Sender, StreamConfig};
use bakeoff_core::units::{Duration, Instant, Rate};

const ONE_WAY: Duration = Duration::from_millis(20);
/// Time between two packets on the forward path, so that windows stay finite.
const SPACING: Duration = Duration::from_millis(1);

fn random() -> RandomStream {
    RandomStream::new(1, "test")
}

fn scheme_of(name: &str) -> Box<dyn Scheme> {
    let StreamConfig { mss, .. } = StreamConfig::DEFAULT;
    let packet_size = StreamConfig::DEFAULT.packet_size();
    let setup = Setup { mss, packet_size, is_paced: false, random: random(), parameters: Parameters::default() };
    scheme::build(name, &BTreeMap::new(), setup).unwrap_or_else(|error| panic!("{error}"))
}

fn reno() -> Box<dyn Scheme> {
    scheme_of("reno")
}

/// What happens to a data packet on the way.
enum Fate {
    Pass,
    Mark,
    Drop,
    /// The link stands still for so long before it.
    Stall(Duration),
}

/// Runs for `millis` and returns the ends, and (time in ms, window) whenever the window fell.
fn exchange(
    config: StreamConfig,
    millis: u64,
    fate: impl FnMut(&Packet<Segment>) -> Fate,
) -> (Sender, Receiver, Vec<(u64, f64)>) {
    exchange_with_thin_acks(config, millis, fate, 1)
}

/// The same, but of so many acks one arrives.
fn exchange_with_thin_acks(
    config: StreamConfig,
    millis: u64,
    fate: impl FnMut(&Packet<Segment>) -> Fate,
    acks: u64,
) -> (Sender, Receiver, Vec<(u64, f64)>) {
    exchange_of(reno(), config, millis, fate, acks)
}

/// The same for any scheme.
fn exchange_of(
    scheme: Box<dyn Scheme>,
    config: StreamConfig,
    millis: u64,
    mut fate: impl FnMut(&Packet<Segment>) -> Fate,
    acks: u64,
) -> (Sender, Receiver, Vec<(u64, f64)>) {
    let source = Source::new(&TrafficConfig::Bulk { write_bytes: None }, Instant::ZERO, random());
    let mut sender = Sender::new(FlowId(0), config, scheme, source, Instant::ZERO, random());
    let mut receiver = Receiver::new(FlowId(0), config);
    let mut pool = PacketPool::default();
    let mut forward: VecDeque<(Instant, Box<Packet<Segment>>)> = VecDeque::new();
    let mut back: VecDeque<(Instant, Box<Packet<Segment>>)> = VecDeque::new();
    let (mut link_free, mut cwnd, mut falls) = (Instant::ZERO, 0.0, Vec::new());
    for micros in (0..millis * 1_000).step_by(100) {
        let now = Instant::ZERO + Duration::from_micros(micros);
        while forward.front().is_some_and(|(due, _)| *due <= now) {
            let Some((_, packet)) = forward.pop_front() else { break };
            receiver.accept(&packet.payload, packet.envelope(), now);
            while let Some(ack) = receiver.poll(now, &mut pool) {
                back.push_back((now + ONE_WAY, ack));
            }
        }
        while let Some(ack) = receiver.poll(now, &mut pool) {
            back.push_back((now + ONE_WAY, ack));
        }
        while back.front().is_some_and(|(due, _)| *due <= now) {
            let Some((_, packet)) = back.pop_front() else { break };
            if packet.number % acks == 0 {
                sender.accept(&packet.payload, packet.envelope(), now);
            }
        }
        loop {
            let is_silent = sender.is_silent_before(now + Duration::from_nanos(1));
            assert!(!is_silent || sender.next_wakeup().is_none_or(|next| next > now), "at {now:?}");
            let Some(mut packet) = sender.poll(now, &mut pool) else { break };
            assert!(!is_silent, "at {now:?}");
            link_free = link_free.max(now) + SPACING;
            match fate(&packet) {
                Fate::Drop => continue,
                Fate::Mark => packet.ecn = Ecn::Ce,
                Fate::Stall(wait) => link_free += wait,
                Fate::Pass => {}
            }
            forward.push_back((link_free + ONE_WAY, packet));
        }
        let before = cwnd;
        sender.telemetry(&mut |name, value| {
            if name == "cwnd" {
                cwnd = value;
            }
        });
        if cwnd < before {
            falls.push((now.as_millis(), cwnd));
        }
    }
    (sender, receiver, falls)
}

fn sequence(packet: &Packet<Segment>) -> Option<u64> {
    match packet.payload {
        Segment::Data { sequence, .. } => Some(sequence),
        _ => None,
    }
}

#[test]
fn a_mark_halves_the_window_once_and_is_echoed_until_the_answer() {
    let config = StreamConfig { ecn: EcnMode::Classic, ..StreamConfig::DEFAULT };
    // Three marks in one flight are one congestion event.
    let (sender, receiver, falls) = exchange(config, 1_000, |packet| {
        assert!(packet.ecn == Ecn::Ect0 || sequence(packet).is_none());
        if sequence(packet).is_some_and(|sequence| (300..303).contains(&sequence)) { Fate::Mark } else { Fate::Pass }
    });
    assert_eq!((receiver.stats.ce_marks, sender.stats.retransmissions), (3, 0));
    let (first, last) = (falls[0].0, falls[falls.len() - 1].0);
    assert!(last - first < 500, "the window falls within one round trip of the queue: {first} to {last} ms");
}

/// What the first SYNs ask for if so many are dropped, and the codepoints of all data that follows.
fn handshake(config: StreamConfig, dropped: usize) -> (Vec<(EcnMode, Ecn)>, BTreeSet<u8>) {
    let (mut asked, mut data) = (Vec::new(), BTreeSet::new());
    exchange(config, 1_000 * dropped as u64 + 500, |packet| match packet.payload {
        Segment::Syn { ecn } => {
            asked.push((ecn, packet.ecn));
            if asked.len() <= dropped { Fate::Drop } else { Fate::Pass }
        }
        Segment::Data { .. } => {
            data.insert(packet.ecn.bits());
            Fate::Pass
        }
        _ => Fate::Pass,
    });
    (asked, data)
}

#[test]
fn a_repeated_syn_asks_without_ecn_and_the_data_is_not_capable() {
    let capable = |ecn: Ecn| BTreeSet::from([ecn.bits()]);
    let plain = |modes: &[EcnMode]| modes.iter().map(|mode| (*mode, Ecn::NotEct)).collect::<Vec<_>>();
    let (off, classic, accurate) = (EcnMode::Off, EcnMode::Classic, EcnMode::Accurate);
    for mode in [classic, EcnMode::Sce] {
        let config = StreamConfig { ecn: mode, ..StreamConfig::DEFAULT };
        assert_eq!(handshake(config, 0), (plain(&[mode]), capable(Ecn::Ect0)));
        assert_eq!(handshake(config, 1), (plain(&[mode, off]), capable(Ecn::NotEct)));
        assert_eq!(handshake(config, 2), (plain(&[mode, off, off]), capable(Ecn::NotEct)));
    }
    // The kernel asks twice for accurate ECN.
    let config = StreamConfig::DEFAULT.with_ecn(accurate, Ect::Ect1);
    assert_eq!(handshake(config, 1), (plain(&[accurate; 2]), capable(Ecn::Ect1)));
    assert_eq!(handshake(config, 2), (plain(&[accurate, accurate, off]), capable(Ecn::NotEct)));
    // The request of what needs ECN is capable itself, also when it asks for none.
    let needy = StreamConfig { has_capable_syn: true, ..config };
    let asked = [accurate, accurate, off].map(|mode| (mode, Ecn::Ect1)).to_vec();
    assert_eq!(handshake(needy, 2), (asked, capable(Ecn::NotEct)));
}

/// The first window, and the round trip in ms.
type Told = (u32, Option<u64>);

/// Notes what it is told of the handshake.
struct Listener {
    told: Arc<Mutex<Vec<Told>>>,
}

impl Scheme for Listener {
    fn cwnd(&self) -> u32 {
        10
    }

    fn on_connected(&mut self, connected: &Connected) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.push((connected.initial_window, connected.srtt.map(Duration::as_millis)));
    }

    fn on_ack(&mut self, _ack: &Ack<'_>) {}

    fn on_congestion(&mut self, _congestion: &Congestion) {}

    fn on_timeout(&mut self, _timeout: &Timeout) {}
}

/// Notes what has never been sent whenever it is told that nothing is in flight.
struct Alone {
    told: Arc<Mutex<Vec<u64>>>,
}

impl Scheme for Alone {
    fn cwnd(&self) -> u32 {
        10
    }

    fn on_tx_start(&mut self, start: &TxStart) {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).push(start.next_sequence);
    }

    fn on_ack(&mut self, _ack: &Ack<'_>) {}

    fn on_congestion(&mut self, _congestion: &Congestion) {}

    fn on_timeout(&mut self, _timeout: &Timeout) {}
}

#[test]
fn after_a_timeout_the_first_retransmission_leaves_while_nothing_is_in_flight() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let dark = 1_000..1_150;
    let mut next = 0;
    let fate = |packet: &Packet<Segment>| {
        if packet.sent.as_millis() < dark.end {
            next = sequence(packet).map_or(next, |sequence| next.max(sequence + 1));
        }
        if dark.contains(&packet.sent.as_millis()) { Fate::Drop } else { Fate::Pass }
    };
    let (sender, ..) = exchange_of(Box::new(Alone { told: Arc::clone(&told) }), StreamConfig::DEFAULT, 1_600, fate, 1);
    assert_eq!(sender.stats.timeouts, 1);
    assert_eq!(*told.lock().unwrap_or_else(PoisonError::into_inner), [0, next]);
}

/// What a scheme is told of the handshake if the first SYNs are dropped, or stand still for so long.
fn told(mut fate_of_syn: impl FnMut(usize) -> Fate) -> Vec<Told> {
    let mut syns = 0;
    let fate = |packet: &Packet<Segment>| match packet.payload {
        Segment::Syn { .. } => {
            syns += 1;
            fate_of_syn(syns)
        }
        _ => Fate::Pass,
    };
    told_in(StreamConfig::DEFAULT, fate)
}

fn told_in(config: StreamConfig, fate: impl FnMut(&Packet<Segment>) -> Fate) -> Vec<Told> {
    let told = Arc::new(Mutex::new(Vec::new()));
    exchange_of(Box::new(Listener { told: Arc::clone(&told) }), config, 5_000, fate, 1);
    let told = told.lock().unwrap_or_else(PoisonError::into_inner);
    told.clone()
}

const WITHOUT_HANDSHAKE: StreamConfig = StreamConfig { has_handshake: false, ..StreamConfig::DEFAULT };

#[test]
fn without_a_handshake_the_first_window_leaves_at_once_with_the_ecn_of_the_flow() {
    let mut sent = Vec::new();
    let config = WITHOUT_HANDSHAKE.with_ecn(EcnMode::Classic, Ect::Ect0);
    let told = told_in(config, |packet| {
        assert!(sequence(packet).is_some(), "{:?}", packet.payload);
        sent.push((packet.sent, packet.ecn));
        Fate::Pass
    });
    assert_eq!(told, [(10, None)]);
    assert_eq!(sent[..10], [(Instant::ZERO, Ecn::Ect0); 10]);
    assert_eq!(sent[10].0, Instant::ZERO + ONE_WAY * 2 + SPACING);
}

#[test]
fn a_probe_waits_a_second_while_no_round_trip_is_known() {
    let mut sent = Vec::new();
    exchange(WITHOUT_HANDSHAKE, 1_200, |packet| {
        sent.push((packet.sent.as_millis(), sequence(packet).unwrap_or(u64::MAX)));
        if sent.len() <= 10 { Fate::Drop } else { Fate::Pass }
    });
    // The wheel of timers turns in steps of 64 ms. What the probe takes is new.
    assert_eq!(sent[10], (1_016, 10));
}

#[test]
fn where_two_requests_to_connect_are_lost_the_first_window_is_one_packet() {
    let after = |losses| told(|syn| if syn <= losses { Fate::Drop } else { Fate::Pass });
    assert_eq!([0, 1, 2, 3].map(|losses| after(losses)[0].0), [10, 10, 1, 1]);
    assert_eq!(after(3).len(), 1);
}

#[test]
fn every_repeated_request_to_connect_is_a_timeout() {
    for lost in 0..4 {
        let mut syns = 0;
        let (sender, ..) = exchange(StreamConfig::DEFAULT, 5_000, |packet| {
            syns += u64::from(matches!(packet.payload, Segment::Syn { .. }));
            if syns <= lost { Fate::Drop } else { Fate::Pass }
        });
        assert_eq!((sender.stats.timeouts, sender.stats.retransmissions), (lost, 0));
    }
}

#[test]
fn every_answer_to_a_request_to_connect_is_confirmed() {
    let (mut syns, mut confirmations) = (0, 0);
    let fate = |packet: &Packet<Segment>| {
        syns += u32::from(matches!(packet.payload, Segment::Syn { .. }));
        confirmations += u32::from(matches!(packet.payload, Segment::HandshakeAck));
        if syns == 1 && confirmations == 0 { Fate::Stall(Duration::from_millis(2_500)) } else { Fate::Pass }
    };
    exchange_of(Paced::new(Duration::from_millis(40), 40), StreamConfig::DEFAULT, 6_000, fate, 1);
    assert_eq!((syns, confirmations), (3, 3));
}

#[test]
fn schemes_of_a_kernel_begin_with_the_window_that_tcp_grants() {
    for name in ["bbr", "bbr3", "cubic", "dctcp", "illinois", "prague", "reno", "vegas", "westwood"] {
        let mut scheme = scheme_of(name);
        assert_eq!(scheme.cwnd(), 10, "{name}");
        scheme.on_connected(&Connected { initial_window: 1, srtt: Some(ONE_WAY * 2) });
        assert_eq!(scheme.cwnd(), 1, "{name}");
    }
}

#[test]
fn late_requests_to_connect_are_not_lost_and_the_round_trip_is_that_of_the_one_answered() {
    for late in [500, 1_500, 2_500, 3_500] {
        let told = told(|syn| if syn == 1 { Fate::Stall(Duration::from_millis(late)) } else { Fate::Pass });
        assert_eq!(told, [(10, Some(late + 41))]);
    }
}

#[test]
fn the_first_request_that_arrives_decides_on_ecn() {
    let config = StreamConfig { ecn: EcnMode::Classic, ..StreamConfig::DEFAULT };
    let answers = |asked: [EcnMode; 2]| {
        let mut receiver = Receiver::new(FlowId(0), config);
        asked.map(|ecn| {
            let syn = Packet::new(FlowId(0), true, 0, config.header, Instant::ZERO, Segment::Syn { ecn });
            receiver.accept(&syn.payload, syn.envelope(), Instant::ZERO);
            match receiver.poll(Instant::ZERO, &mut PacketPool::default()).map(|packet| packet.payload) {
                Some(Segment::SynAck { ecn, .. }) => ecn,
                answer => panic!("{answer:?}"),
            }
        })
    };
    assert_eq!(answers([EcnMode::Classic, EcnMode::Off]), [EcnMode::Classic; 2]);
    assert_eq!(answers([EcnMode::Off, EcnMode::Classic]), [EcnMode::Off; 2]);
}

#[test]
fn accurate_ecn_tells_of_every_mark() {
    let config = StreamConfig::DEFAULT.with_ecn(EcnMode::Accurate, Ect::Ect1);
    // Now and then, in bursts, or always; with and without losses, and with most acks lost too.
    for (period, marks, losses) in [(97, 1, 0), (7, 3, 0), (50, 30, 0), (1, 1, 0), (20, 6, 1)] {
        for acks in [1, 2, 5] {
            let fate = |packet: &Packet<Segment>| match packet.number % period {
                _ if sequence(packet).is_none() || packet.sent.as_millis() > 3_700 => Fate::Pass,
                place if place < losses => Fate::Drop,
                place if place < losses + marks => Fate::Mark,
                _ => {
                    assert_eq!((packet.ecn, packet.size.count()), (Ecn::Ect1, 1_500));
                    Fate::Pass
                }
            };
            let (sender, receiver, _) = exchange_with_thin_acks(config, 4_000, fate, acks);
            let (told, arrived) = (sender.stats.marked, receiver.stats.ce_marks);
            // What only lost acks told at the end stays untold.
            let untold = if acks == 1 { 0 } else { 6 };
            let is_told = told <= arrived && arrived - told <= untold;
            assert!(arrived > 5 && is_told, "{marks} of {period}, acks 1/{acks}: {told} of {arrived} told");
        }
    }
}

#[test]
fn a_scheme_that_answers_once_per_window_does_so_with_accurate_ecn_too() {
    let falls = |ecn| {
        let config = StreamConfig::DEFAULT.with_ecn(ecn, Ect::Ect0);
        let is_marked = |packet: &Packet<_>| sequence(packet).is_some_and(|n| (300..303).contains(&n));
        let (.., falls) = exchange(config, 1_000, |packet| if is_marked(packet) { Fate::Mark } else { Fate::Pass });
        (falls[0].0, falls[falls.len() - 1].1)
    };
    assert_eq!(falls(EcnMode::Accurate), falls(EcnMode::Classic));
}

#[test]
fn without_ecn_a_mark_means_nothing() {
    let (_, receiver, falls) =
        exchange(
            StreamConfig::DEFAULT,
            500,
            |packet| {
                if sequence(packet) == Some(100) { Fate::Mark } else { Fate::Pass }
            },
        );
    assert_eq!((receiver.stats.ce_marks, falls.len()), (1, 0));
}

#[test]
fn one_loss_is_one_retransmission_one_round_trip_later() {
    let mut sent = Vec::new();
    let (sender, ..) = exchange(StreamConfig::DEFAULT, 500, |packet| {
        if sequence(packet) == Some(20) {
            sent.push(packet.sent.as_millis());
        }
        if sent.len() == 1 && sequence(packet) == Some(20) { Fate::Drop } else { Fate::Pass }
    });
    assert_eq!((sender.stats.retransmissions, sender.stats.lost, sender.stats.timeouts), (1, 1, 0));
    assert!((40..80).contains(&(sent[1] - sent[0])), "sent at {sent:?} ms");
}

#[test]
fn a_retransmission_that_is_lost_too_is_found_without_a_timeout() {
    let mut tries = 0;
    let (sender, ..) = exchange(StreamConfig::DEFAULT, 800, |packet| {
        let is_the_one = sequence(packet) == Some(60);
        tries += u32::from(is_the_one);
        if is_the_one && tries <= 2 { Fate::Drop } else { Fate::Pass }
    });
    assert_eq!((tries, sender.stats.timeouts), (3, 0));
}

/// A window of 300 packets that is all but closed when the first lost one has been sent again.
struct Closing {
    cwnd: u32,
}

impl Scheme for Closing {
    fn cwnd(&self) -> u32 {
        self.cwnd
    }

    fn on_sent(&mut self, sent: &Sent) -> u64 {
        if sent.is_retransmission {
            self.cwnd = 1;
        }
        0
    }

    fn on_ack(&mut self, _ack: &Ack<'_>) {}

    fn on_congestion(&mut self, congestion: &Congestion) {
        self.cwnd = congestion.in_flight + 1;
    }

    fn on_timeout(&mut self, _timeout: &Timeout) {}
}

#[test]
fn a_timeout_counts_from_the_last_answer_to_what_left_before_the_retransmission() {
    // A round trip takes 300 ms, so a timeout some 500 ms.
    let mut sent = Vec::new();
    let fate = |packet: &Packet<Segment>| {
        let is_the_one = sequence(packet) == Some(1_000);
        if is_the_one {
            sent.push(packet.sent.as_millis());
        }
        if is_the_one && sent.len() <= 2 { Fate::Drop } else { Fate::Pass }
    };
    let (sender, ..) = exchange_of(Box::new(Closing { cwnd: 300 }), StreamConfig::DEFAULT, 3_000, fate, 1);
    assert_eq!((sent.len(), sender.stats.timeouts), (3, 1));
    let waits = [sent[1] - sent[0], sent[2] - sent[1]];
    assert!((300..350).contains(&waits[0]) && (780..950).contains(&waits[1]), "{waits:?} ms");
}

#[test]
fn a_flight_lost_whole_takes_a_timeout_and_then_goes_on() {
    let (sender, receiver, _) = exchange(StreamConfig::DEFAULT, 3_000, |packet| {
        let is_blackout = (100..400).contains(&packet.sent.as_millis());
        if is_blackout { Fate::Drop } else { Fate::Pass }
    });
    assert!(sender.stats.timeouts >= 1);
    assert!(receiver.stats.goodput.count() > 1_000 * 1_448, "{}", receiver.stats.goodput);
}

/// Sends a packet every so often, with one window but from a timeout to the next ack, and tells whether that limited it.
/// It has a timer, for nothing.
struct Paced {
    gap: Duration,
    window: u32,
    cwnd: u32,
    is_cwnd_limited: bool,
    timer: Instant,
}

impl Paced {
    fn new(gap: Duration, cwnd: u32) -> Box<Self> {
        Box::new(Self { gap, window: cwnd, cwnd, is_cwnd_limited: false, timer: Instant::ZERO })
    }
}

impl Scheme for Paced {
    fn cwnd(&self) -> u32 {
        self.cwnd
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Rate::of(StreamConfig::DEFAULT.packet_size(), self.gap)
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.cwnd = self.window;
        self.is_cwnd_limited = ack.is_cwnd_limited;
    }

    fn on_congestion(&mut self, _congestion: &Congestion) {}

    fn on_timeout(&mut self, _timeout: &Timeout) {
        self.cwnd = 1;
    }

    fn has_timer(&self) -> bool {
        true
    }

    fn next_timer(&self) -> Option<Instant> {
        Some(self.timer)
    }

    fn on_timer(&mut self, now: Instant) {
        self.timer = now + Duration::from_millis(100);
    }

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        report("is_cwnd_limited", self.is_cwnd_limited.into());
    }
}

#[test]
fn a_window_that_the_pace_does_not_fill_is_no_limit() {
    // `tcp_cwnd_validate` looks at what is in flight whenever something was sent: here ten packets.
    for (cwnd, expected) in [(40, 0.0), (20, 0.0), (8, 1.0)] {
        let scheme = Paced::new(Duration::from_millis(4), cwnd);
        let (sender, ..) = exchange_of(scheme, StreamConfig::DEFAULT, 1_000, |_| Fate::Pass, 1);
        let mut found = None;
        sender.telemetry(&mut |name, value| {
            if name == "is_cwnd_limited" {
                found = Some(value);
            }
        });
        assert_eq!(found, Some(expected), "window of {cwnd}");
    }
}

/// Has gaps of 100 ms from the packet that left last, and of 10 ms from the first ack on; its rate says otherwise.
struct OwnGaps {
    departed: Instant,
    gap: Duration,
}

impl Scheme for OwnGaps {
    fn cwnd(&self) -> u32 {
        20
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Rate::of(StreamConfig::DEFAULT.packet_size(), Duration::from_secs(1))
    }

    fn next_departure(&self) -> Option<Instant> {
        Some(self.departed + self.gap)
    }

    fn on_sent(&mut self, sent: &Sent) -> u64 {
        self.departed = sent.now;
        0
    }

    fn on_ack(&mut self, _ack: &Ack<'_>) {
        self.gap = Duration::from_millis(10);
    }

    fn on_congestion(&mut self, _congestion: &Congestion) {}

    fn on_timeout(&mut self, _timeout: &Timeout) {}
}

#[test]
fn a_scheme_that_counts_gaps_itself_may_shorten_the_one_that_has_begun() {
    let every_20_ms = Rate::of(StreamConfig::DEFAULT.packet_size(), Duration::from_millis(20));
    // Of the 21 ms that the second packet is behind the highest rate the pacer makes up for ten.
    for (max_pacing_rate, expected) in [(None, [0, 41, 51, 61]), (every_20_ms, [0, 41, 51, 71])] {
        let scheme = Box::new(OwnGaps { departed: Instant::ZERO, gap: Duration::from_millis(100) });
        let config = StreamConfig { max_pacing_rate, feedback: Feedback::EveryPacket, ..StreamConfig::DEFAULT };
        let mut departures = Vec::new();
        let fate = |packet: &Packet<Segment>| {
            departures.extend(sequence(packet).map(|_| packet.sent.as_millis()));
            Fate::Pass
        };
        exchange_of(scheme, config, 300, fate, 1);
        let first = departures[0];
        assert_eq!(departures[..4].iter().map(|millis| millis - first).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_paced_sender_is_silent_until_its_next_packet() {
    let gap = Duration::from_millis(400);
    let mut is_first = true;
    let fate = |packet: &Packet<Segment>| {
        let is_lost = sequence(packet) == Some(15) && std::mem::take(&mut is_first);
        if is_lost { Fate::Drop } else { Fate::Pass }
    };
    let scheme = Paced::new(gap, 40);
    let (sender, ..) = exchange_of(scheme, StreamConfig::DEFAULT, 4_000, fate, 1);
    assert_eq!(sender.stats.retransmissions, 1);
    let next = sender.next_wakeup().expect("the next packet's time or the timer's");
    assert!(sender.is_silent_before(next));
    assert!(!sender.is_silent_before(next + Duration::from_nanos(1)));
}

#[test]
fn timers_do_not_run_while_the_pacer_holds_packets_back() {
    // Longer than a probe and a timeout wait after a round trip of 41 ms.
    let gap = Duration::from_millis(300);
    let mut sent = Vec::new();
    let fate = |packet: &Packet<Segment>| {
        let is_lost =
            sequence(packet).is_some_and(|sequence| (15..18).contains(&sequence)) && !packet.is_retransmission;
        if sequence(packet).is_some() {
            sent.push(packet.sent);
        }
        if is_lost { Fate::Drop } else { Fate::Pass }
    };
    let (sender, ..) = exchange_of(Paced::new(gap, 40), StreamConfig::DEFAULT, 6_000, fate, 1);
    // The first ten are not paced, and the next one makes up for them.
    let early: Vec<_> = sent[11..].windows(2).filter(|pair| pair[1].since(pair[0]) < gap).collect();
    assert!(early.is_empty(), "{early:?}");
    assert_eq!((sender.stats.retransmissions, sender.stats.timeouts, sender.stats.probes), (3, 0, 0));
}

#[test]
fn after_a_timeout_one_new_packet_leaves_and_what_waits_for_the_pacer_is_the_lost_first() {
    // RFC 5682 tests with new data; a paced sender does so with the ack, and not with every packet after it.
    let mut sent = Vec::new();
    let fate = |packet: &Packet<Segment>| {
        let is_blackout = (100..400).contains(&packet.sent.as_millis());
        sent.push((packet.is_retransmission, is_blackout));
        if is_blackout { Fate::Drop } else { Fate::Pass }
    };
    let (sender, ..) = exchange_of(Paced::new(Duration::from_millis(4), 20), StreamConfig::DEFAULT, 2_000, fate, 1);
    assert!(sender.stats.timeouts >= 1);
    let after: Vec<_> = sent.iter().skip_while(|(_, is_blackout)| !is_blackout).filter(|(_, lost)| !lost).collect();
    let are_retransmissions: Vec<_> = after.iter().take(6).map(|(again, _)| *again).collect();
    assert_eq!(are_retransmissions, [true, false, true, true, true, true]);
}

/// A window of 30 that remembers when each packet left, and writes down what comes back.
struct Diary {
    acked: Arc<Mutex<Vec<Instant>>>,
}

impl Scheme for Diary {
    fn cwnd(&self) -> u32 {
        30
    }

    fn on_sent(&mut self, sent: &Sent) -> u64 {
        sent.now.as_nanos()
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        let mut acked = self.acked.lock().unwrap_or_else(PoisonError::into_inner);
        acked.extend(ack.packets.iter().copied().map(Instant::from_nanos));
    }

    fn on_congestion(&mut self, _congestion: &Congestion) {}

    fn on_timeout(&mut self, _timeout: &Timeout) {}
}

#[test]
fn where_every_packet_is_acknowledged_each_comes_back_with_its_own_time() {
    let config = StreamConfig { feedback: Feedback::EveryPacket, ..StreamConfig::DEFAULT };
    for stall_ms in (360..640).step_by(20) {
        let acked = Arc::new(Mutex::new(Vec::new()));
        let scheme = Box::new(Diary { acked: Arc::clone(&acked) });
        let (mut arrived, mut sent) = (Vec::new(), 0);
        let fate = |packet: &Packet<Segment>| {
            if sequence(packet).is_none() {
                return Fate::Pass;
            }
            sent += 1;
            // Behind the second one the packets that wait arrive out of order.
            if [100, 299, 400].contains(&sent) {
                return Fate::Drop;
            }
            arrived.push(packet.sent);
            // Long enough for a timeout, so that what waits is sent again.
            if sent == 300 { Fate::Stall(Duration::from_millis(stall_ms)) } else { Fate::Pass }
        };
        let (_, receiver, _) = exchange_of(scheme, config, 2_000, fate, 1);
        let acked = acked.lock().unwrap_or_else(PoisonError::into_inner);
        let duplicates = receiver.stats.duplicates;
        assert!(duplicates > 0 && acked.len() > 500, "{stall_ms} ms: {duplicates} of {}", acked.len());
        let wrong = acked.iter().zip(&arrived).find(|(acked, sent)| acked != sent);
        assert_eq!(wrong, None, "{stall_ms} ms");
    }
}

/// A window of 30 that writes down which acks were foreseen, by what they acknowledge.
struct Foresight {
    acks: Arc<Mutex<Vec<(u64, bool)>>>,
}

impl Scheme for Foresight {
    fn cwnd(&self) -> u32 {
        30
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        let mut acks = self.acks.lock().unwrap_or_else(PoisonError::into_inner);
        acks.push((ack.first_unacked, !ack.is_unforeseen));
    }

    fn on_congestion(&mut self, _congestion: &Congestion) {}

    fn on_timeout(&mut self, _timeout: &Timeout) {}
}

#[test]
fn an_ack_with_sack_blocks_an_ecn_echo_or_another_window_was_not_foreseen() {
    let acks = Arc::new(Mutex::new(Vec::new()));
    let scheme = Box::new(Foresight { acks: Arc::clone(&acks) });
    let config = StreamConfig { ecn: EcnMode::Classic, ..StreamConfig::DEFAULT };
    let fate = |packet: &Packet<Segment>| match sequence(packet) {
        Some(2_000) if !packet.is_retransmission => Fate::Drop,
        Some(2_300) => Fate::Mark,
        _ => Fate::Pass,
    };
    exchange_of(scheme, config, 4_000, fate, 1);
    let acks = acks.lock().unwrap_or_else(PoisonError::into_inner);
    let mut unforeseen: Vec<_> = acks.iter().filter(|(_, is_foreseen)| !is_foreseen).map(|(first, _)| *first).collect();
    unforeseen.dedup();
    // By then the window grows no more.
    let late: Vec<_> = unforeseen.into_iter().skip_while(|first| *first < 1_600).collect();
    // While the segment is missing; when 32 are released at once, so that the window is smaller, and when it is what it was;
    // and for one round trip of the path and its queue from the mark on.
    assert_eq!(late[..3], [2_000, 2_032, 2_033]);
    assert!(late[3..].iter().all(|first| (2_301..2_301 + 30).contains(first)), "{late:?}");
    assert_eq!(late.len(), 3 + 15, "every second segment is acknowledged: {late:?}");
}

/// A window that others set, and the round trips that acks showed.
#[derive(Clone, Default)]
struct Watch {
    cwnd: Arc<AtomicU32>,
    rtts: Arc<Mutex<Vec<Option<u64>>>>,
}

impl Scheme for Watch {
    fn cwnd(&self) -> u32 {
        self.cwnd.load(Ordering::Relaxed)
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        let mut rtts = self.rtts.lock().unwrap_or_else(PoisonError::into_inner);
        rtts.push(ack.rtt.map(Duration::as_millis));
    }

    fn on_congestion(&mut self, _congestion: &Congestion) {}

    fn on_timeout(&mut self, _timeout: &Timeout) {}
}

#[test]
fn what_was_selectively_acknowledged_shows_no_second_round_trip() {
    let at = |millis| Instant::ZERO + Duration::from_millis(millis);
    let source = Source::new(&TrafficConfig::Bulk { write_bytes: None }, Instant::ZERO, random());
    let scheme = Watch::default();
    let boxed = Box::new(scheme.clone());
    let mut sender = Sender::new(FlowId(0), StreamConfig::DEFAULT, boxed, source, Instant::ZERO, random());
    let mut pool = PacketPool::<Segment>::default();
    let mut poll = |sender: &mut Sender, now| std::iter::from_fn(|| sender.poll(now, &mut pool)).count();
    let arrive = |sender: &mut Sender, segment: &Segment, now| {
        sender.accept(segment, Envelope { number: 0, ecn: Ecn::NotEct, sent: now }, now);
    };
    assert_eq!(poll(&mut sender, at(0)), 1, "SYN");
    arrive(&mut sender, &Segment::SynAck { ecn: EcnMode::Off, timestamp_echo: at(0) }, at(20));
    assert_eq!(poll(&mut sender, at(20)), 1, "ACK");
    // Three segments, a millisecond apart.
    for (cwnd, millis) in [(1, 100), (2, 101), (3, 102)] {
        scheme.cwnd.store(cwnd, Ordering::Relaxed);
        assert_eq!(poll(&mut sender, at(millis)), 1);
    }
    let mut ack = AckSegment::new(0, at(101), ONE_WAY);
    ack.set_blocks([Range { start: 1, end: 3 }]);
    arrive(&mut sender, &Segment::Ack(ack), at(142));
    // The first one was late, not lost.
    arrive(&mut sender, &Segment::Ack(AckSegment::new(3, at(100), ONE_WAY)), at(143));
    assert_eq!(sender.stats.lost, 0);
    let rtts = scheme.rtts.lock().unwrap_or_else(PoisonError::into_inner);
    assert_eq!(*rtts, [Some(40), Some(43)]);
}
