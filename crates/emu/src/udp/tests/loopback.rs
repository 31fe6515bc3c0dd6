use std::collections::BTreeMap;
use std::io::PipeReader;
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::thread;

use bakeoff_core::packet::{Ecn, Packet};
use bakeoff_core::random::RandomStream;
use bakeoff_core::scheme::{self, Parameters, Setup};
use bakeoff_core::traffic::{Source, TrafficConfig};
use bakeoff_core::transport::stream::{EcnMode, Ect, Receiver, Segment, Sender, StreamConfig};
use bakeoff_core::units::{Bytes, Duration, Instant};

use super::FLOW;
use super::sockets::{clock, connected, prepared};
use crate::udp::{FlowError, FlowSocket, SocketCounts, Timetable, drive, sys};

const TRANSFER: u64 = 2_000_000;
const SAMPLING: Duration = Duration::from_millis(2);
/// A transfer that takes longer has stalled.
const PATIENCE: Instant = Instant::from_nanos(60_000_000_000);

fn sender(config: StreamConfig) -> Sender {
    let random = || RandomStream::new(1, "test");
    let setup = Setup {
        mss: config.mss,
        mss_cache: config.mss_cache(),
        packet_size: config.packet_size(),
        is_paced: false,
        random: random(),
        parameters: Parameters::default(),
    };
    let cubic = scheme::build("cubic", &BTreeMap::new(), setup).unwrap();
    let source = Source::new(&TrafficConfig::Finite { size: Bytes::new(TRANSFER) }, Instant::ZERO, random());
    Sender::new(FLOW, config, cubic, source, Instant::ZERO, random())
}

/// Carries datagrams between two sockets and drops every `period`th one that comes from the first.
fn relay(left: &UdpSocket, right: &UdpSocket, period: usize, end: &PipeReader) {
    let mut buffer = [0; 2_000];
    let mut count = 0;
    loop {
        let [from_left, from_right, is_over] =
            sys::wait([Some(left.as_fd()), Some(right.as_fd()), Some(end.as_fd())]).unwrap();
        if is_over {
            return;
        }
        if from_left && let Ok(length) = left.recv(&mut buffer) {
            count += 1;
            if count % period != 0 {
                right.send(&buffer[..length]).unwrap();
            }
        }
        if from_right && let Ok(length) = right.recv(&mut buffer) {
            left.send(&buffer[..length]).unwrap();
        }
    }
}

/// Transfers [`TRANSFER`] bytes over these sockets and returns the ends and the times of the samples.
fn transfer(
    config: StreamConfig,
    sockets: (UdpSocket, UdpSocket),
    between: Option<(UdpSocket, UdpSocket, usize)>,
) -> (Sender, Receiver, Vec<u64>) {
    let mut sending = FlowSocket::new(sockets.0, FLOW).unwrap();
    let mut receiving = FlowSocket::new(sockets.1, FLOW).unwrap();
    let (mut sender, mut receiver) = (sender(config), Receiver::new(FLOW, config));
    let (end, signal) = std::io::pipe().unwrap();
    let mut signal = Some(signal);
    let clock = clock();
    let timetable = Timetable { start: Instant::ZERO, end: PATIENCE, sampling: None, cancel: Some(end.as_fd()) };
    let mut samples = Vec::new();
    thread::scope(|scope| {
        scope.spawn(|| drive(&mut receiver, &mut receiving, clock, &timetable, &mut |_, _| {}).unwrap());
        if let Some((left, right, period)) = between {
            let end = &end;
            scope.spawn(move || relay(&left, &right, period, end));
        }
        let timetable = Timetable { sampling: Some(SAMPLING), ..timetable };
        let sampled = drive(&mut sender, &mut sending, clock, &timetable, &mut |time, sender: &Sender| {
            samples.push(time.as_nanos());
            if sender.stats.completed.is_some() {
                signal.take();
            }
        });
        drop(signal);
        sampled.unwrap();
    });
    (sender, receiver, samples)
}

#[test]
fn a_transfer_arrives_whole() {
    let (sender, receiver, samples) = transfer(StreamConfig::DEFAULT, connected(), None);
    assert!(sender.stats.completed.is_some(), "{:?}", sender.stats);
    assert_eq!(receiver.stats.goodput, Bytes::new(TRANSFER));
    let multiples = (1..).map(|number| number * SAMPLING.as_nanos());
    assert!(multiples.take(samples.len()).eq(samples));
}

#[test]
fn a_transfer_arrives_whole_when_every_fiftieth_packet_is_lost() {
    let ((left, from_left), (from_right, right)) = (connected(), connected());
    let (sender, receiver, _) = transfer(StreamConfig::DEFAULT, (left, right), Some((from_left, from_right, 50)));
    assert!(sender.stats.completed.is_some(), "{:?}", sender.stats);
    assert_eq!(receiver.stats.goodput, Bytes::new(TRANSFER));
    assert!(sender.stats.retransmissions >= TRANSFER / 1_448 / 50, "{:?}", sender.stats);
}

#[test]
fn a_transfer_with_ecn_arrives_whole() {
    for ecn in [EcnMode::Classic, EcnMode::Accurate, EcnMode::Sce] {
        let config = StreamConfig::DEFAULT.with_ecn(ecn, Ect::Ect0);
        let (sender, receiver, _) = transfer(config, connected(), None);
        assert!(sender.stats.completed.is_some(), "{:?}", sender.stats);
        assert_eq!((receiver.stats.goodput, receiver.stats.ce_marks), (Bytes::new(TRANSFER), 0));
    }
}

#[test]
fn packets_cross_with_size_number_and_codepoint() {
    let (left, mut right) = prepared();
    // A DSCP leaves the codepoint as it is.
    let mut left = left.with_dscp(46);
    let codepoints = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect0, Ecn::Ect1, Ecn::Ce, Ecn::NotEct];
    let segment = Segment::Data {
        sequence: 9,
        length: Bytes::new(1_448),
        timestamp_echo: Instant::ZERO,
        is_window_reduced: false,
        is_pushed: false,
    };
    for (number, ecn) in (0..).zip(codepoints) {
        let packet = Packet::new(FLOW, true, number, Bytes::new(1_500), Instant::from_nanos(5), segment.clone());
        left.send(&Packet { ecn, ..packet }).unwrap();
    }
    assert_eq!(right.receive().unwrap(), codepoints.len());
    for (number, ecn) in (0..).zip(codepoints) {
        let packet = right.packet(number as usize, Instant::from_nanos(8)).unwrap();
        assert_eq!((packet.number, packet.size, packet.ecn), (number, Bytes::new(1_500), ecn));
        assert_eq!(packet.sent, Instant::from_nanos(5));
    }
    assert_eq!(right.receive().unwrap(), 0);
}

#[test]
fn a_refused_packet_is_no_error() {
    let (left, right) = connected();
    let mut socket = FlowSocket::new(left, FLOW).unwrap();
    drop(right);
    let syn = Packet::new(FLOW, true, 0, Bytes::new(60), Instant::ZERO, Segment::Syn { ecn: EcnMode::Off });
    for _ in 0..3 {
        socket.send(&syn).unwrap();
    }
    assert_eq!(socket.receive().unwrap(), 0);
    let SocketCounts { sent, unsent, .. } = socket.counts();
    assert_eq!(sent + unsent, 3);
}

#[test]
fn bytes_of_others_are_counted_and_passed_over() {
    let (left, right) = connected();
    let mut socket = FlowSocket::new(right, FLOW).unwrap();
    left.send(b"who is there?").unwrap();
    left.send(&[]).unwrap();
    assert_eq!(socket.receive().unwrap(), 2);
    assert!((0..2).all(|place| socket.packet(place, Instant::ZERO).is_none()));
    assert_eq!((socket.counts().malformed, socket.counts().received), (2, 0));
}

#[test]
fn a_packet_that_cannot_be_sent_ends_the_flow_with_one_sentence() {
    let (mut socket, _right) = prepared();
    let config = StreamConfig { mss: Bytes::new(65_500), ..StreamConfig::DEFAULT };
    let segment = Segment::Data {
        sequence: 0,
        length: config.mss,
        timestamp_echo: Instant::ZERO,
        is_window_reduced: false,
        is_pushed: false,
    };
    let packet = Packet::new(FLOW, true, 0, config.packet_size(), Instant::ZERO, segment);
    let error = socket.send(&packet).unwrap_err();
    assert!(matches!(error, FlowError::Encode(_)), "{error}");
    assert_eq!(error.to_string(), "a packet of 65552 bytes cannot be sent over UDP; the largest has 65535");
}
