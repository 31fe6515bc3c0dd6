//! Losses, retransmissions and timeouts.

use std::sync::{Arc, Mutex, PoisonError};

use bakeoff_core::packet::Packet;
use bakeoff_core::scheme::{Ack, Congestion, Scheme, Sent, Timeout, TxStart};
use bakeoff_core::transport::stream::{Segment, StreamConfig};

use super::exchange::{Fate, exchange, exchange_of, sequence};

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
