use std::collections::BTreeSet;
use std::io::PipeWriter;
use std::os::fd::AsFd;

use bakeoff_core::endpoint::Endpoint;
use bakeoff_core::packet::{Envelope, Packet};
use bakeoff_core::packet_pool::PacketPool;
use bakeoff_core::transport::stack::Datagram;
use bakeoff_core::transport::stream::{EcnMode, Segment};
use bakeoff_core::units::{Bytes, Duration, Instant};

use super::FLOW;
use super::sockets::{clock, connected, prepared};
use crate::udp::{FlowSocket, SocketCounts, Timetable, drive};

const MILLISECOND: Duration = Duration::from_millis(1);

fn syn<Q: From<Segment>>(number: u64, now: Instant) -> Packet<Q> {
    Packet::new(FLOW, true, number, Bytes::new(60), now, Segment::Syn { ecn: EcnMode::Off }.into())
}

fn datagram<Q: From<Datagram>>(now: Instant) -> Packet<Q> {
    Packet::new(FLOW, true, 0, Bytes::new(128), now, vec![0; 100].into())
}

/// Sends a packet at the start and one a millisecond after each.
#[derive(Default)]
struct Beat {
    next: Instant,
    sent: Vec<Instant>,
    polls: usize,
}

impl Endpoint<Segment> for Beat {
    fn accept(&mut self, _: &Segment, _: Envelope, _: Instant) {}

    fn poll<Q: From<Segment> + Default>(&mut self, now: Instant, pool: &mut PacketPool<Q>) -> Option<Box<Packet<Q>>> {
        self.polls += 1;
        if now < self.next {
            return None;
        }
        self.next = now + MILLISECOND;
        self.sent.push(now);
        Some(pool.put(syn(self.sent.len() as u64 - 1, now)))
    }

    fn next_wakeup(&self) -> Option<Instant> {
        Some(self.next)
    }
}

/// Answers every packet with one; hangs up after three.
struct Echo {
    events: Vec<&'static str>,
    is_reader_held: bool,
    times: BTreeSet<Instant>,
    owes: u64,
    signal: Option<PipeWriter>,
}

impl Echo {
    fn new(signal: PipeWriter) -> Self {
        Self { events: Vec::new(), is_reader_held: false, times: BTreeSet::new(), owes: 0, signal: Some(signal) }
    }

    fn hear(&mut self, now: Instant) {
        self.events.push("accept");
        self.times.insert(now);
        self.owes += 1;
    }

    fn speak(&mut self, now: Instant) -> Option<()> {
        self.owes = self.owes.checked_sub(1)?;
        self.events.push("send");
        self.times.insert(now);
        if self.events.len() == 6 {
            self.signal = None;
        }
        Some(())
    }
}

impl Endpoint<Segment> for Echo {
    fn accept(&mut self, _: &Segment, _: Envelope, now: Instant) {
        self.hear(now);
    }

    fn hold_reader(&mut self) -> bool {
        !std::mem::replace(&mut self.is_reader_held, true)
    }

    fn release_reader(&mut self, _now: Instant) {
        self.is_reader_held = false;
        self.events.push("read");
    }

    fn poll<Q: From<Segment> + Default>(&mut self, now: Instant, pool: &mut PacketPool<Q>) -> Option<Box<Packet<Q>>> {
        self.speak(now).map(|()| pool.put(syn(0, now)))
    }

    fn next_wakeup(&self) -> Option<Instant> {
        None
    }
}

impl Endpoint<Datagram> for Echo {
    fn accept(&mut self, _: &Datagram, _: Envelope, now: Instant) {
        self.hear(now);
    }

    fn poll<Q: From<Datagram> + Default>(&mut self, now: Instant, pool: &mut PacketPool<Q>) -> Option<Box<Packet<Q>>> {
        self.speak(now).map(|()| pool.put(datagram(now)))
    }

    fn next_wakeup(&self) -> Option<Instant> {
        None
    }
}

#[test]
fn an_endpoint_is_asked_after_every_arrival_until_it_is_cancelled_and_reads_after_the_last() {
    let (mut left, mut right) = prepared();
    for number in 0..3 {
        left.send(&syn(number, Instant::ZERO)).unwrap();
    }
    let (end, signal) = std::io::pipe().unwrap();
    let mut echo = Echo::new(signal);
    let timetable =
        Timetable { start: Instant::ZERO, end: Instant::FAR_FUTURE, sampling: None, cancel: Some(end.as_fd()) };
    drive(&mut echo, &mut right, clock(), &timetable, &mut |_, _| {}).unwrap();
    assert_eq!(echo.events, ["accept", "send", "accept", "send", "accept", "send", "read"]);
    assert_eq!((right.counts().received, right.counts().sent), (3, 3));
    assert_eq!(left.receive().unwrap(), 3);
}

#[test]
fn the_end_of_a_stack_hears_all_that_waits_at_one_time_before_it_answers() {
    let (left, right) = connected();
    let [mut left, mut right] =
        [left, right].map(|socket| FlowSocket::of_stack(socket, FLOW, Bytes::new(1_500)).unwrap());
    for _ in 0..3 {
        left.send(&datagram(Instant::ZERO)).unwrap();
    }
    // What is none of the flow's does not keep it from answering.
    left.send(&Packet { payload: vec![0; 2_000], ..datagram(Instant::ZERO) }).unwrap();
    let (end, signal) = std::io::pipe().unwrap();
    let mut echo = Echo::new(signal);
    let timetable =
        Timetable { start: Instant::ZERO, end: Instant::FAR_FUTURE, sampling: None, cancel: Some(end.as_fd()) };
    drive(&mut echo, &mut right, clock(), &timetable, &mut |_, _| {}).unwrap();
    assert_eq!(echo.events, ["accept", "accept", "accept", "send", "send", "send"]);
    assert_eq!(echo.times.len(), 1);
    assert_eq!((right.counts().received, right.counts().malformed, left.receive().unwrap()), (3, 1, 3));
}

#[test]
fn an_endpoint_sleeps_between_its_wakeups_and_is_silent_from_the_end_on() {
    let (mut left, _right) = prepared();
    let end = Instant::ZERO + MILLISECOND * 20;
    let timetable = Timetable { start: Instant::ZERO, end, sampling: Some(MILLISECOND * 10), cancel: None };
    let (mut beat, mut samples) = (Beat::default(), Vec::new());
    drive(&mut beat, &mut left, clock(), &timetable, &mut |time, _: &Beat| samples.push(time.as_millis())).unwrap();
    assert!(beat.sent.iter().all(|sent| *sent < end), "{:?}", beat.sent);
    assert!(beat.sent.windows(2).all(|pair| pair[1].since(pair[0]) >= MILLISECOND), "{:?}", beat.sent);
    assert_eq!(beat.polls, 2 * beat.sent.len(), "one poll that yields a packet and one that does not");
    assert_eq!(samples, [10, 20]);
}

#[test]
fn a_run_that_is_over_at_once_sends_nothing() {
    let (mut left, mut right) = prepared();
    let timetable = Timetable { start: Instant::ZERO, end: Instant::ZERO, sampling: Some(MILLISECOND), cancel: None };
    drive(&mut Beat::default(), &mut left, clock(), &timetable, &mut |_, _| panic!("no sample")).unwrap();
    assert_eq!((left.counts(), right.receive().unwrap()), (SocketCounts::default(), 0));
}
