//! What an ack tells the scheme.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bakeoff_core::packet::Packet;
use bakeoff_core::scheme::{Ack, Acked, Congestion, Feedback, Scheme, Sent, Timeout};
use bakeoff_core::transport::stream::{AckMode, EcnMode, Ect, Segment, StreamConfig};
use bakeoff_core::units::{Bytes, Duration, Instant};

use super::exchange::{Fate, exchange_of, sequence};
use super::script::Script;

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

/// A window of 30 that counts the acks that deliver something, and those of them that time nothing.
struct Timed {
    counts: Arc<Mutex<(u32, u32)>>,
}

impl Scheme for Timed {
    fn cwnd(&self) -> u32 {
        30
    }

    fn feedback(&self) -> Feedback {
        Feedback::EveryPacket
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.0 += u32::from(ack.newly_delivered > 0);
        counts.1 += u32::from(ack.newly_delivered > 0 && ack.rtt.is_none());
    }

    fn on_congestion(&mut self, _congestion: &Congestion) {}

    fn on_timeout(&mut self, _timeout: &Timeout) {}
}

#[test]
fn where_every_packet_is_acknowledged_each_is_timed_and_what_was_sent_twice_too() {
    let config = StreamConfig { feedback: Feedback::EveryPacket, ..StreamConfig::DEFAULT };
    let counts = Arc::new(Mutex::new((0, 0)));
    let mut sent = BTreeMap::new();
    let fate = |packet: &Packet<Segment>| {
        let Some(number) = sequence(packet) else { return Fate::Pass };
        let times = sent.entry(number).and_modify(|times| *times += 1).or_insert(1);
        // Of two holes the first is there once more when the second is filled.
        let is_lost = (number % 20 == 4 && *times < 3) || (number % 20 == 8 && *times < 2);
        if is_lost { Fate::Drop } else { Fate::Pass }
    };
    exchange_of(Box::new(Timed { counts: Arc::clone(&counts) }), config, 2_000, fate, 1);
    let (delivering, untimed) = *counts.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(delivering > 400, "{delivering}");
    assert_eq!(untimed, 0);
}

/// A window of 30 that writes down which acks were foreseen, by what they acknowledge.
struct Foresight {
    acks: Arc<Mutex<Vec<(u64, bool)>>>,
}

impl Scheme for Foresight {
    fn cwnd(&self) -> u32 {
        30
    }

    fn on_acked(&mut self, acked: &Acked) {
        let mut acks = self.acks.lock().unwrap_or_else(PoisonError::into_inner);
        acks.push((acked.first_unacked, !acked.is_unforeseen));
    }

    fn on_ack(&mut self, _ack: &Ack<'_>) {}

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
    // While the segment is missing; when 32 are released at once, so that the window is smaller, and when it is what it
    // was; and for one round trip of the path and its queue from the mark on.
    assert_eq!(late[..3], [2_000, 2_032, 2_033]);
    assert!(late[3..].iter().all(|first| (2_301..2_301 + 30).contains(first)), "{late:?}");
    assert_eq!(late.len(), 3 + 15, "every second segment is acknowledged: {late:?}");
}

/// So many packets at a time, every second one a runt; writes down which acks may have been held back, by what they
/// acknowledge.
struct Runts {
    cwnd: u32,
    next: u64,
    acks: Arc<Mutex<Vec<(u64, bool)>>>,
}

impl Scheme for Runts {
    fn cwnd(&self) -> u32 {
        self.cwnd
    }

    fn next_size(&self) -> Option<Bytes> {
        Some(Bytes::new(if self.next.is_multiple_of(2) { 300 } else { 1_448 }))
    }

    fn on_sent(&mut self, sent: &Sent) -> u64 {
        self.next += u64::from(!sent.is_retransmission);
        0
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        let mut acks = self.acks.lock().unwrap_or_else(PoisonError::into_inner);
        acks.push((ack.first_unacked - 1, ack.is_delayed));
    }

    fn on_congestion(&mut self, _congestion: &Congestion) {}

    fn on_timeout(&mut self, _timeout: &Timeout) {}
}

#[test]
fn the_ack_of_a_lone_runt_may_have_been_held_back() {
    let acks = Arc::new(Mutex::new(Vec::new()));
    let scheme = Box::new(Runts { cwnd: 1, next: 0, acks: Arc::clone(&acks) });
    let config = StreamConfig { ecn: EcnMode::Classic, ..StreamConfig::DEFAULT };
    let fate = |packet: &Packet<Segment>| match sequence(packet) {
        Some(10) if !packet.is_retransmission => Fate::Drop,
        Some(20) => Fate::Mark,
        _ => Fate::Pass,
    };
    exchange_of(scheme, config, 4_000, fate, 1);
    let acks = acks.lock().unwrap_or_else(PoisonError::into_inner);
    let held_back: Vec<_> = acks.iter().filter(|(_, is_delayed)| *is_delayed).map(|(last, _)| *last).collect();
    // 10 was sent twice. That the acks from 20 on echo its mark makes no difference: `tcp_clean_rtx_queue` looks for it
    // among flags of its own, which have none.
    assert_eq!(held_back[..12], [0, 2, 4, 6, 8, 12, 14, 16, 18, 20, 22, 24]);
}

#[test]
fn beside_counters_of_marks_a_lone_whole_segment_is_taken_for_a_runt() {
    for (config, expected) in [
        (StreamConfig::DEFAULT, [0, 2, 4, 6]),
        (StreamConfig::DEFAULT.with_ecn(EcnMode::Accurate, Ect::Ect0), [0, 1, 2, 3]),
    ] {
        let acks = Arc::new(Mutex::new(Vec::new()));
        let scheme = Box::new(Runts { cwnd: 1, next: 0, acks: Arc::clone(&acks) });
        exchange_of(scheme, config, 2_000, |_| Fate::Pass, 1);
        let acks = acks.lock().unwrap_or_else(PoisonError::into_inner);
        let held_back: Vec<_> = acks.iter().filter(|(_, is_delayed)| *is_delayed).map(|(last, _)| *last).collect();
        assert_eq!(held_back[..4], expected, "{:?}", config.ecn);
    }
}

#[test]
fn among_others_a_runt_is_acknowledged_at_once() {
    let acks = Arc::new(Mutex::new(Vec::new()));
    let scheme = Box::new(Runts { cwnd: 3, next: 0, acks: Arc::clone(&acks) });
    // Every packet has an ack of its own.
    let config = StreamConfig { acks: AckMode::Each, ..StreamConfig::DEFAULT };
    exchange_of(scheme, config, 2_000, |_| Fate::Pass, 1);
    let acks = acks.lock().unwrap_or_else(PoisonError::into_inner);
    let held_back: Vec<_> = acks.iter().filter(|(_, is_delayed)| *is_delayed).map(|(last, _)| *last).collect();
    assert_eq!((acks.len() > 100, held_back), (true, vec![0]), "the first is the only one that was delivered so far");
}

#[test]
fn what_was_selectively_acknowledged_shows_no_second_round_trip() {
    let mut script = Script::new(StreamConfig::DEFAULT);
    // Three segments, a millisecond apart.
    for (cwnd, millis) in [(1, 100), (2, 101), (3, 102)] {
        assert_eq!(script.send(cwnd, millis).len(), 1);
    }
    script.ack(0, &[(1, 3)], 101, 142);
    // The first one was late, not lost.
    script.ack(3, &[], 100, 143);
    assert_eq!(script.sender.stats.lost, 0);
    assert_eq!(script.round_trips(), [Some(40), Some(43)]);
}

/// A window of 20 that writes down what it is told, in order.
#[derive(Clone, Default)]
struct Order {
    calls: Arc<Mutex<Vec<&'static str>>>,
}

impl Order {
    fn note(&self, call: &'static str) {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(call);
    }
}

impl Scheme for Order {
    fn cwnd(&self) -> u32 {
        20
    }

    fn on_acked(&mut self, _acked: &Acked) {
        self.note("acked");
    }

    fn on_ack(&mut self, _ack: &Ack<'_>) {
        self.note("ack");
    }

    fn on_congestion(&mut self, _congestion: &Congestion) {
        self.note("congestion");
    }

    fn on_reduced(&mut self, _now: Instant) {
        self.note("reduced");
    }

    fn on_recovered(&mut self, _now: Instant) {
        self.note("recovered");
    }

    fn on_timeout(&mut self, _timeout: &Timeout) {
        self.note("timeout");
    }
}

/// What such a scheme is told beside plain acks if these transmissions are dropped.
fn told_of(dropped: std::ops::Range<u64>) -> Vec<&'static str> {
    let scheme = Order::default();
    let mut sent = 0;
    let fate = |packet: &Packet<Segment>| {
        sent += u64::from(sequence(packet).is_some());
        if dropped.contains(&sent) { Fate::Drop } else { Fate::Pass }
    };
    exchange_of(Box::new(scheme.clone()), StreamConfig::DEFAULT, 4_000, fate, 1);
    let calls = scheme.calls.lock().unwrap_or_else(PoisonError::into_inner);
    let is_plain = |at: usize| matches!(calls.get(at..at + 2), Some(["acked", "ack"]));
    let mut told = Vec::new();
    let mut at = 0;
    while at < calls.len() {
        if is_plain(at) {
            at += 2;
        } else {
            told.push(calls[at]);
            at += 1;
        }
    }
    told
}

#[test]
fn what_is_acknowledged_is_told_before_what_follows_and_a_reduction_ends_before_a_recovery() {
    let recovery = ["acked", "congestion", "ack", "acked", "reduced", "recovered", "ack"];
    assert_eq!(told_of(100..101), recovery);
    assert_eq!(told_of(100..121), ["timeout", "acked", "recovered", "ack"], "a timeout leaves nothing to be reduced");
}
