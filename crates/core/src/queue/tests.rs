//! A bench on which queues are tried: packets of 1000 bytes arrive and leave by hand.

#![allow(clippy::expect_used, reason = "a broken test may panic")]

use super::{Queue, QueueConfig, QueueSetup, Reason, Verdicts};
use crate::packet::{Ecn, FlowId, Packet};
use crate::units::{Bytes, Duration, Instant, Rate};

const SIZE: u64 = 1_000;

/// The setup of a queue on the bench: at 8 Mbit/s, one packet takes a millisecond.
pub(super) fn setup() -> QueueSetup<'static> {
    QueueSetup {
        mean_rate: Some(Rate::from_bits_per_second(8_000_000)),
        largest_packet: Bytes::new(SIZE),
        seed: 1,
        hop: "forward.0",
    }
}

pub(super) fn packet_of(flow: u32, number: u64, size: u64) -> Box<Packet<()>> {
    Box::new(Packet::new(FlowId(flow), true, number, Bytes::new(size), Instant::ZERO, ()))
}

/// What is wrong with a queue that cannot be.
pub(super) fn problem(json: &str) -> String {
    let config: QueueConfig = serde_json::from_str(json).expect("a queue");
    config.check(&setup()).expect_err("it is impossible").to_string()
}

/// A packet that was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dropped {
    pub(super) time: Instant,
    pub(super) flow: u32,
    pub(super) number: u64,
    pub(super) reason: Reason,
}

/// A queue, and what became of the packets so far.
pub(super) struct Bench {
    pub(super) queue: Box<dyn Queue<()>>,
    pub(super) now: Instant,
    /// Time from one packet that leaves to the next.
    pub(super) gap_ms: u64,
    /// Codepoint of the packets that arrive.
    pub(super) ecn: Ecn,
    /// The flow they belong to.
    pub(super) flow: u32,
    /// And their DSCP.
    pub(super) dscp: u8,
    pub(super) dropped: Vec<Dropped>,
    pub(super) marked: Vec<(Instant, Reason)>,
    /// Flow, number and codepoint.
    pub(super) sent: Vec<(u32, u64, Ecn)>,
    pub(super) next: u64,
    pub(super) verdicts: Verdicts<()>,
}

impl Bench {
    pub(super) fn new(json: &str) -> Self {
        let config: QueueConfig = serde_json::from_str(json).expect("a queue");
        config.check(&setup()).expect("a possible queue");
        Self {
            queue: config.build(&setup()).expect("a possible queue"),
            now: Instant::ZERO,
            gap_ms: 1,
            ecn: Ecn::NotEct,
            flow: 0,
            dscp: 0,
            dropped: Vec::new(),
            marked: Vec::new(),
            sent: Vec::new(),
            next: 0,
            verdicts: Verdicts::default(),
        }
    }

    /// So many packets arrive now.
    pub(super) fn offer(&mut self, packets: usize) {
        for _ in 0..packets {
            let mut packet = packet_of(self.flow, self.next, SIZE);
            self.next += 1;
            (packet.ecn, packet.dscp, packet.enqueued) = (self.ecn, self.dscp, self.now);
            self.queue.enqueue(packet, self.now, &mut self.verdicts);
            self.note();
        }
    }

    /// Time passes, and a packet leaves.
    pub(super) fn send(&mut self) {
        self.now += Duration::from_millis(self.gap_ms);
        if self.queue.packets() > 0
            && let Some(packet) = self.queue.dequeue(self.now, &mut self.verdicts)
        {
            self.sent.push((packet.flow.0, packet.number, packet.ecn));
        }
        self.note();
    }

    /// Keeps so many packets waiting while others leave one by one.
    pub(super) fn standing(&mut self, depth: usize, steps: usize) {
        for _ in 0..steps {
            let mut attempts = depth;
            while self.queue.packets() < depth && attempts > 0 {
                self.offer(1);
                attempts -= 1;
            }
            self.send();
        }
    }

    /// Tries whether packets of a sparse flow go first and are all let through, while a bulk flow's have to wait and
    /// are dropped.
    pub(super) fn favour_a_sparse_flow(&mut self) {
        for _ in 0..100 {
            self.flow = 0;
            self.standing(20, 25);
            self.flow = 1;
            self.offer(1);
            self.send();
            assert_eq!(self.sent.last().map(|sent| sent.0), Some(1));
        }
        assert!(!self.dropped.is_empty() && self.dropped.iter().all(|drop| drop.flow == 0));
    }

    fn note(&mut self) {
        let now = self.now;
        self.dropped.extend(self.verdicts.dropped().iter().map(|(packet, reason)| Dropped {
            time: now,
            flow: packet.flow.0,
            number: packet.number,
            reason: *reason,
        }));
        self.marked.extend(self.verdicts.marked().iter().map(|(_, reason)| (now, *reason)));
        self.verdicts.clear();
    }

    /// Overloads the queue, lets one packet at a time wait for two seconds, overloads it again, and tells how long that
    /// takes to bring a drop, in milliseconds.
    pub(super) fn first_drop_after_a_rest(&mut self) -> u64 {
        self.standing(20, 400);
        (0..20).for_each(|_| self.send());
        let busy = self.dropped.len();
        self.standing(1, 2_000);
        let rested = self.now.as_millis();
        self.standing(20, 300);
        self.drop_times_ms()[busy] - rested
    }

    /// Whether BLUE drops packets that could be marked after the queue has overflowed three thousand times.
    pub(super) fn wakes_blue(&mut self) -> bool {
        self.ecn = Ecn::Ect0;
        for _ in 0..3_000 {
            self.offer(2);
            self.send();
        }
        self.dropped.iter().any(|drop| drop.reason == Reason::Blue)
    }

    pub(super) fn drop_times_ms(&self) -> Vec<u64> {
        self.dropped.iter().map(|drop| drop.time.as_millis()).collect()
    }

    pub(super) fn mark_times_ms(&self) -> Vec<u64> {
        self.marked.iter().map(|(time, _)| time.as_millis()).collect()
    }
}
