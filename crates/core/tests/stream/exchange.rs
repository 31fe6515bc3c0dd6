//! A sender and a receiver with nothing between them but a delay and a hand that drops or marks.

use std::collections::{BTreeMap, VecDeque};

use bakeoff_core::endpoint::Endpoint;
use bakeoff_core::packet::{Ecn, FlowId, Packet};
use bakeoff_core::packet_pool::PacketPool;
use bakeoff_core::random::RandomStream;
use bakeoff_core::scheme::{self, Parameters, Scheme, Setup};
use bakeoff_core::traffic::{Source, TrafficConfig};
use bakeoff_core::transport::stream::{Receiver, Segment, Sender, StreamConfig};
use bakeoff_core::units::{Duration, Instant};

pub(super) const ONE_WAY: Duration = Duration::from_millis(20);
/// Time between two packets on the forward path, so that windows stay finite.
pub(super) const SPACING: Duration = Duration::from_millis(1);

pub(super) fn random() -> RandomStream {
    RandomStream::new(1, "test")
}

pub(super) fn scheme_of(name: &str) -> Box<dyn Scheme> {
    let setup = Setup {
        mss: StreamConfig::DEFAULT.mss,
        mss_cache: StreamConfig::DEFAULT.mss_cache(),
        packet_size: StreamConfig::DEFAULT.packet_size(),
        is_paced: false,
        random: random(),
        parameters: Parameters::default(),
    };
    scheme::build(name, &BTreeMap::new(), setup).unwrap_or_else(|error| panic!("{error}"))
}

fn reno() -> Box<dyn Scheme> {
    scheme_of("reno")
}

/// What happens to a data packet on the way.
pub(super) enum Fate {
    Pass,
    Mark,
    Drop,
    /// The link stands still for so long before it.
    Stall(Duration),
}

/// Runs for `millis` and returns the ends, and (time in ms, window) whenever the window fell.
pub(super) fn exchange(
    config: StreamConfig,
    millis: u64,
    fate: impl FnMut(&Packet<Segment>) -> Fate,
) -> (Sender, Receiver, Vec<(u64, f64)>) {
    exchange_with_thin_acks(config, millis, fate, 1)
}

/// The same, but of so many acks one arrives.
pub(super) fn exchange_with_thin_acks(
    config: StreamConfig,
    millis: u64,
    fate: impl FnMut(&Packet<Segment>) -> Fate,
    acks: u64,
) -> (Sender, Receiver, Vec<(u64, f64)>) {
    exchange_of(reno(), config, millis, fate, acks)
}

/// The same for any scheme.
pub(super) fn exchange_of(
    scheme: Box<dyn Scheme>,
    config: StreamConfig,
    millis: u64,
    mut fate: impl FnMut(&Packet<Segment>) -> Fate,
    acks: u64,
) -> (Sender, Receiver, Vec<(u64, f64)>) {
    let source = Source::new(&TrafficConfig::Bulk { write: None }, Instant::ZERO, random());
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

pub(super) fn sequence(packet: &Packet<Segment>) -> Option<u64> {
    match packet.payload {
        Segment::Data { sequence, .. } => Some(sequence),
        _ => None,
    }
}
