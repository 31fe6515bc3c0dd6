//! CoDel and BLUE together, in one queue: COBALT.
//!
//! **What it is.** A CoDel whose count runs backwards at the pace at which it grew, and BLUE, which drops at random
//! what keeps coming although the queue overflows. On request, a second CoDel with half the target turns ECT(0) into
//! ECT(1), which says "some congestion experienced".
//!
//! **Source.** `net/sched/sch_cobalt.c` of the SCE project (chromi/sce, 2022). CAKE's own COBALT, with its ramp for
//! SCE, is `cake` with `flow_mode = "flowblind"`.
//!
//! **Parameters.** The defaults are the source's but for `sce_interval`, which there is 25 ms (its comment says off, as
//! it is in `cnq` and `lfq`). `tc`'s `rtt` is the interval, and its `sce N` is an N-th of that.
//!
//! **Deviations.** What arrives at a full queue is dropped, and BLUE is told; the source has the limit and does not
//! look at it.
//!
//! **How it is validated.** Unit tests here; beside a second implementation, written from the source alone
//! (`tests/kernel_queues`).

mod control;
mod root;

pub(super) use control::{BLUE_DOWN, BLUE_UP, Control, Law, random};
pub(super) use root::{LINUX, inverse_root};

pub use control::CobaltConfig;

use super::packet_queue::PacketQueue;
use super::setup::QueueSetup;
use super::{Queue, Reason, Verdicts};
use crate::info::{Info, Parameter};
use crate::packet::Packet;
use crate::random::RandomStream;
use crate::units::{Bytes, Instant};

/// Name, parameters and source, for listings and documentation.
pub(super) const INFO: Info = Info {
    name: "cobalt",
    title: "CoDel and BLUE together (COBALT)",
    source: "SCE project (chromi/sce) net/sched/sch_cobalt.c",
    parameters: &PARAMETERS,
    telemetry: &[],
};

/// What every queue under this control has.
pub(super) const PARAMETERS: [Parameter; 4] = [
    Parameter::quantity("limit", "10240pkt", "packets", "the most packets that wait"),
    super::codel::TARGET,
    super::codel::INTERVAL,
    Parameter::quantity(
        "sce_interval",
        "off",
        "time",
        "turn ECT(0) into ECT(1) by a CoDel with this interval and half the target; the SCE project uses 25ms",
    ),
];

/// A queue under COBALT.
#[derive(Debug)]
pub struct Cobalt<P> {
    queue: PacketQueue<P>,
    limit: usize,
    law: Law,
    control: Control,
    random: RandomStream,
}

impl<P> Cobalt<P> {
    /// An empty queue.
    pub(super) fn new(config: &CobaltConfig, setup: &QueueSetup<'_>) -> Self {
        Self {
            queue: PacketQueue::default(),
            limit: config.limit_packets as usize,
            law: config.law(1),
            control: Control::default(),
            random: random(setup),
        }
    }
}

impl<P: Send> Queue<P> for Cobalt<P> {
    fn enqueue(&mut self, packet: Box<Packet<P>>, now: Instant, verdicts: &mut Verdicts<P>) {
        if self.queue.packets() < self.limit {
            self.queue.push(packet);
        } else {
            self.control.on_overflow(&self.law, now);
            verdicts.drop(packet, Reason::Overlimit);
        }
    }

    fn dequeue(&mut self, now: Instant, verdicts: &mut Verdicts<P>) -> Option<Box<Packet<P>>> {
        loop {
            let mut packet = self.queue.pop()?;
            if self.queue.is_empty() {
                self.control.on_empty(&self.law, now);
                return Some(packet);
            }
            match self.control.judge(&self.law, &mut packet, now, &mut self.random, verdicts) {
                Some(reason) => verdicts.drop(packet, reason),
                None => return Some(packet),
            }
        }
    }

    fn packets(&self) -> usize {
        self.queue.packets()
    }

    fn bytes(&self) -> Bytes {
        self.queue.bytes()
    }
}

#[cfg(test)]
mod tests {
    use crate::packet::Ecn;
    use crate::queue::Reason;
    use crate::queue::tests::{Bench, problem};

    #[test]
    fn drops_come_by_the_square_root() {
        let mut bench = Bench::new(r#"{"kind": "cobalt"}"#);
        bench.standing(20, 400);
        // The first packet above the target begins, the next is dropped at once, then after 100 / sqrt(2), sqrt(3) ...
        // ms.
        let times = bench.drop_times_ms();
        assert_eq!(times[..5], [7, 77, 135, 185, 230]);
        assert!(bench.dropped.iter().all(|drop| drop.reason == Reason::Congestion));
    }

    #[test]
    fn what_can_be_marked_is_marked() {
        let mut bench = Bench::new(r#"{"kind": "cobalt"}"#);
        bench.ecn = Ecn::Ect0;
        bench.standing(20, 300);
        assert!(bench.dropped.is_empty());
        assert_eq!(bench.mark_times_ms()[..4], [7, 77, 135, 185]);
    }

    #[test]
    fn the_count_runs_backwards_while_the_delay_is_low() {
        let mut bench = Bench::new(r#"{"kind": "cobalt"}"#);
        bench.standing(20, 400);
        (0..15).for_each(|_| bench.send());
        let busy = bench.dropped.len();
        bench.standing(3, 2_000);
        assert_eq!(bench.dropped.len(), busy, "3 ms are below the target");
        let rested = bench.now.as_millis();
        bench.standing(20, 300);
        // All is forgotten: the first signal comes after an interval.
        let first = bench.drop_times_ms()[busy];
        assert!((100..=130).contains(&(first - rested)), "{first} after {rested}");
    }

    #[test]
    fn after_a_mark_of_some_congestion_the_first_of_congestion_comes_an_interval_late() {
        let mut bench = Bench::new(r#"{"kind": "cobalt", "sce_interval_ns": 25000000}"#);
        bench.ecn = Ecn::Ect0;
        bench.standing(20, 300);
        let first =
            bench.marked.iter().find(|(_, reason)| *reason == Reason::Congestion).map(|(time, _)| time.as_millis());
        assert!(first.is_some_and(|first| (100..=110).contains(&first)), "at {first:?} ms, not 7");
    }

    #[test]
    fn a_wait_of_four_intervals_wakes_blue() {
        let mut bench = Bench::new(r#"{"kind": "cobalt"}"#);
        bench.standing(600, 4_000);
        assert!(bench.dropped.iter().any(|drop| drop.reason == Reason::Blue));
    }

    #[test]
    fn sce_marks_from_half_the_target_on_and_more_often() {
        let mut bench = Bench::new(r#"{"kind": "cobalt", "sce_interval_ns": 25000000}"#);
        bench.ecn = Ecn::Ect0;
        bench.standing(4, 200);
        let times = bench.mark_times_ms();
        assert!(bench.marked.iter().all(|(_, reason)| *reason == Reason::Sce), "4 ms are below the target of CE");
        // 25 / sqrt(2), sqrt(3) ... ms apart.
        let gaps: Vec<_> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        for (gap, law) in gaps.iter().zip([17, 15, 12, 11, 10]) {
            assert!(gap.abs_diff(law) <= 1, "{gaps:?}");
        }
        assert!(bench.sent.iter().any(|sent| sent.2 == Ecn::Ect1));
    }

    #[test]
    fn the_last_packet_is_never_dropped() {
        let mut bench = Bench { gap_ms: 50, ..Bench::new(r#"{"kind": "cobalt"}"#) };
        bench.standing(1, 100);
        assert!(bench.dropped.is_empty());
    }

    #[test]
    fn the_count_runs_backwards_while_one_packet_waits_at_a_time() {
        let after = Bench::new(r#"{"kind": "cobalt"}"#).first_drop_after_a_rest();
        assert!((100..=130).contains(&after), "{after}");
    }

    #[test]
    fn a_queue_that_keeps_overflowing_wakes_blue() {
        assert!(Bench::new(r#"{"kind": "cobalt", "limit_packets": 3}"#).wakes_blue());
    }

    #[test]
    fn impossible_parameters_are_refused() {
        for (json, part) in [
            (r#"{"kind": "cobalt", "target_ns": 200000000}"#, "longer than the interval"),
            (r#"{"kind": "cobalt", "limit_packets": 0}"#, "limit 0 is not possible"),
            (r#"{"kind": "cobalt", "sce_interval_ns": 0}"#, "sce_interval 0s is not possible"),
        ] {
            assert!(problem(json).contains(part), "{}", problem(json));
        }
    }
}
