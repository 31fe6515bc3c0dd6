//! How a stream begins, and what its scheme is told of that.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use bakeoff_core::endpoint::Endpoint;
use bakeoff_core::packet::{Ecn, FlowId, Packet};
use bakeoff_core::packet_pool::PacketPool;
use bakeoff_core::scheme::{Ack, Congestion, Connected, Scheme, Timeout};
use bakeoff_core::transport::stream::{EcnMode, Ect, Receiver, Segment, StreamConfig};
use bakeoff_core::units::{Duration, Instant};

use super::exchange::{Fate, ONE_WAY, SPACING, exchange, exchange_of, scheme_of, sequence};
use super::pacing::Paced;

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
fn of_requests_that_arrive_together_two_are_answered_and_both_answers_are_confirmed() {
    let (mut syns, mut confirmations) = (0, 0);
    let fate = |packet: &Packet<Segment>| {
        syns += u32::from(matches!(packet.payload, Segment::Syn { .. }));
        confirmations += u32::from(matches!(packet.payload, Segment::HandshakeAck));
        if syns == 1 && confirmations == 0 { Fate::Stall(Duration::from_millis(2_500)) } else { Fate::Pass }
    };
    exchange_of(Paced::new(Duration::from_millis(40), 40), StreamConfig::DEFAULT, 6_000, fate, 1);
    assert_eq!((syns, confirmations), (3, 2));
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
fn an_answer_is_repeated_until_it_is_confirmed_and_after_the_first_time_without_ecn() {
    let config = StreamConfig { ecn: EcnMode::Classic, ..StreamConfig::DEFAULT };
    let mut receiver = Receiver::new(FlowId(0), config);
    let arrive = |receiver: &mut Receiver, payload, now| {
        let packet = Packet::new(FlowId(0), true, 0, config.header, now, payload);
        receiver.accept(&packet.payload, packet.envelope(), now);
    };
    arrive(&mut receiver, Segment::Syn { ecn: EcnMode::Classic }, Instant::ZERO);
    let (mut answers, mut pool) = (Vec::new(), PacketPool::default());
    while let Some(now) = receiver.next_wakeup().filter(|_| answers.len() < 4) {
        assert!(receiver.is_silent_before(now) && !receiver.is_silent_before(now + Duration::from_nanos(1)));
        let Some(Segment::SynAck { ecn, .. }) = receiver.poll(now, &mut pool).map(|packet| packet.payload) else {
            break;
        };
        answers.push((now.as_millis(), ecn));
    }
    let (with, without) = (EcnMode::Classic, EcnMode::Off);
    assert_eq!(answers, [(0, with), (1_016, with), (3_064, without), (7_096, without)]);
    arrive(&mut receiver, Segment::HandshakeAck, Instant::ZERO + Duration::from_millis(7_200));
    assert_eq!(receiver.next_wakeup(), None);
}
