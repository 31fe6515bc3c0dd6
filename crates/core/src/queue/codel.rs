//! Controlled delay: CoDel.
//!
//! **What it is.** One queue of packets. Once packets have waited longer than a target for a whole interval, one is
//! dropped or marked when it would leave, and the next after `interval / sqrt(count)`, until the delay is below the
//! target.
//!
//! **Source.** RFC 8289; Linux 7.3 `include/net/codel_impl.h`, `net/sched/sch_codel.c`, whose arithmetic is kept: times
//! in units of 1024 ns, a reciprocal square root of 16 bits that takes one Newton step at a time, no drop while one
//! largest packet or less waits, at most 256 drops at once.
//!
//! **Parameters.** The defaults are the kernel's.
//!
//! **Deviations.** With that arithmetic the second gap of an episode is half an interval, where the law of RFC 8289 has
//! 0.71 of it; from the third on they agree within 3 %. As under Linux' htb, the link never asks an empty queue for a
//! packet. Before its first control the kernel takes the last one to have been at the boot of the machine: within 1.6 s
//! of that, a queue that has overflowed drops packet after packet. Here it was long ago.
//!
//! **How it is validated.** Unit tests here; next to the kernel's in the suite `agreement/queues`; and fed with the
//! arrivals at a kernel's, it drops and marks the same packets at the same times (`tests/kernel_queues`).

use serde::Deserialize;

use super::bounds::{limit_within, time_within};
use super::packet_queue::PacketQueue;
use super::setup::QueueSetup;
use super::{Queue, Reason, Verdicts};
use crate::info::{Info, Parameter};
use crate::packet::Packet;
use crate::problem::Problem;
use crate::units::{Bytes, Duration, Instant};

/// Name, parameters and source, for listings and documentation.
pub(super) const INFO: Info = Info {
    name: "codel",
    title: "Controlled delay (CoDel)",
    source: "RFC 8289; Linux net/sched/sch_codel.c, include/net/codel_impl.h",
    parameters: &[
        Parameter::quantity("limit", "1000pkt", "packets", "the most packets that wait"),
        TARGET,
        INTERVAL,
        Parameter::flag("ecn", false, "mark packets that can be marked instead of dropping them"),
        CE_THRESHOLD,
    ],
    telemetry: &[],
};

pub(super) const TARGET: Parameter =
    Parameter::quantity("target", "5ms", "time", "the standing delay that is acceptable");
pub(super) const INTERVAL: Parameter = Parameter::quantity(
    "interval",
    "100ms",
    "time",
    "how long the delay may stay above the target; a worst-case round-trip time",
);
pub(super) const CE_THRESHOLD: Parameter =
    Parameter::quantity("ce_threshold", "off", "time", "mark every packet that waited longer than this");

/// Times are counted in units of 2^10 ns (`CODEL_SHIFT`).
const TICK_SHIFT: u32 = 10;
/// `CODEL_MAX_DROPS_PER_DEQUEUE`.
const MAX_DROPS: u32 = 256;
/// A control that was needed so recently, in intervals, goes on where it left off.
const MEMORY_INTERVALS: u64 = 16;
/// What the kernel's attributes in microseconds can resolve.
const SHORTEST_NS: u64 = 2_000;

/// The parameters of the law, as an experiment states them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodelConfig {
    #[serde(default = "default_limit")]
    limit_packets: u64,
    #[serde(default = "default_target")]
    target_ns: u64,
    #[serde(default = "default_interval")]
    interval_ns: u64,
    #[serde(default)]
    ecn: bool,
    ce_threshold_ns: Option<u64>,
}

fn default_limit() -> u64 {
    1_000
}

pub(super) fn default_target() -> u64 {
    5_000_000
}

pub(super) fn default_interval() -> u64 {
    100_000_000
}

/// Checks target and interval.
pub(super) fn check_times(target_ns: u64, interval_ns: u64) -> Result<(), Problem> {
    time_within("target", target_ns, SHORTEST_NS)?;
    time_within("interval", interval_ns, SHORTEST_NS)?;
    check_order(target_ns, "interval", interval_ns)
}

/// Checks that the target is within the time called `name`.
pub(super) fn check_order(target_ns: u64, name: &str, longest_ns: u64) -> Result<(), Problem> {
    if target_ns > longest_ns {
        let [target, longest] = [target_ns, longest_ns].map(Duration::from_nanos);
        return Err(Problem::new(format!("target {target} is longer than the {name}, {longest}; make it shorter")));
    }
    Ok(())
}

impl CodelConfig {
    pub(super) fn check(&self) -> Result<(), Problem> {
        limit_within("limit", self.limit_packets)?;
        check_times(self.target_ns, self.interval_ns)
    }

    fn law(&self, setup: &QueueSetup<'_>) -> Law {
        Law {
            target: ticks(self.target_ns),
            interval: ticks(self.interval_ns),
            least_backlog: setup.mtu(),
            ecn: self.ecn,
            threshold: self.ce_threshold_ns.map(|nanos| Threshold { ticks: ticks(nanos), selector: 0, mask: 0 }),
        }
    }
}

pub(super) const fn ticks(nanos: u64) -> u64 {
    nanos >> TICK_SHIFT
}

/// Above this time in the queue packets are marked whose type-of-service byte, under the mask, is the selector.
#[derive(Clone, Copy, Debug)]
pub(super) struct Threshold {
    pub(super) ticks: u64,
    pub(super) selector: u8,
    pub(super) mask: u8,
}

/// What does not change during a run (`struct codel_params`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Law {
    pub(super) target: u64,
    pub(super) interval: u64,
    /// With so little in the queue nothing is dropped.
    pub(super) least_backlog: Bytes,
    pub(super) ecn: bool,
    pub(super) threshold: Option<Threshold>,
}

/// What one dequeue draws on.
pub(super) struct Supply<'a, P> {
    pub(super) law: &'a Law,
    /// The packets under the control.
    pub(super) queue: &'a mut PacketQueue<P>,
    /// Bytes that wait elsewhere in the same queue.
    pub(super) others: Bytes,
    /// In ticks.
    pub(super) now: u64,
    pub(super) verdicts: &'a mut Verdicts<P>,
}

/// The state of the control (`struct codel_vars`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Control {
    /// Drops and marks since the control began.
    pub(super) count: u32,
    last_count: u32,
    is_dropping: bool,
    /// `1 / sqrt(count)` as a fraction of 2^16.
    rec_inv_sqrt: u16,
    /// When the delay will have been above the target for an interval.
    first_above: Option<u64>,
    drop_next: u64,
    /// How long the last packet waited.
    delay: u64,
}

impl Control {
    /// One step towards `1 / sqrt(count)` (`codel_Newton_step`).
    fn newton_step(&mut self) {
        let inverse = u64::from(self.rec_inv_sqrt) << 16;
        let square = (inverse * inverse) >> 32;
        let step = (3_u64 << 32).wrapping_sub(u64::from(self.count).wrapping_mul(square)) >> 2;
        self.rec_inv_sqrt = (step.wrapping_mul(inverse) >> 31 >> 16) as u16;
    }

    /// When to drop after `time` (`codel_control_law`).
    fn after(&self, time: u64, law: &Law) -> u64 {
        time + ((law.interval * (u64::from(self.rec_inv_sqrt) << 16)) >> 32).max(1)
    }

    /// Whether the delay has been above the target for an interval (`codel_should_drop`).
    fn should_drop<P>(&mut self, packet: Option<&Packet<P>>, supply: &Supply<'_, P>) -> bool {
        let Some(packet) = packet else {
            self.first_above = None;
            return false;
        };
        self.delay = supply.now - ticks(packet.enqueued.as_nanos());
        if self.delay < supply.law.target || supply.queue.bytes() + supply.others <= supply.law.least_backlog {
            self.first_above = None;
            return false;
        }
        let first_above = *self.first_above.get_or_insert(supply.now + supply.law.interval);
        supply.now > first_above
    }

    /// The next packet to send (`codel_dequeue`).
    pub(super) fn dequeue<P>(&mut self, mut supply: Supply<'_, P>) -> Option<Box<Packet<P>>> {
        let mut packet = supply.queue.pop();
        let should_drop = self.should_drop(packet.as_deref(), &supply);
        if !should_drop {
            self.is_dropping = false;
        } else if self.is_dropping {
            packet = self.continue_dropping(packet, &mut supply);
        } else {
            packet = self.drop_or_mark(packet, &mut supply).0;
            self.start_dropping(&supply);
        }
        self.mark_above_threshold(packet.as_deref_mut(), &mut supply);
        packet
    }

    /// Marks the packet, or drops it for the next one; also says whether that should be dropped as well.
    fn drop_or_mark<P>(
        &mut self,
        packet: Option<Box<Packet<P>>>,
        supply: &mut Supply<'_, P>,
    ) -> (Option<Box<Packet<P>>>, bool) {
        if let Some(mut packet) = packet {
            if supply.law.ecn && supply.verdicts.mark(&mut packet, Reason::Congestion) {
                return (Some(packet), true);
            }
            supply.verdicts.drop(packet, Reason::Congestion);
        }
        let next = supply.queue.pop();
        let should_drop = self.should_drop(next.as_deref(), supply);
        (next, should_drop)
    }

    /// All drops that are due by now, or the one mark.
    fn continue_dropping<P>(
        &mut self,
        mut packet: Option<Box<Packet<P>>>,
        supply: &mut Supply<'_, P>,
    ) -> Option<Box<Packet<P>>> {
        for _ in 0..MAX_DROPS {
            if supply.now < self.drop_next {
                return packet;
            }
            self.count = self.count.wrapping_add(1);
            self.newton_step();
            let waiting = supply.queue.packets();
            let (next, should_drop) = self.drop_or_mark(packet, supply);
            packet = next;
            if !should_drop {
                self.is_dropping = false;
                return packet;
            }
            self.drop_next = self.after(self.drop_next, supply.law);
            let is_marked = supply.queue.packets() == waiting;
            if is_marked {
                return packet;
            }
        }
        if supply.now >= self.drop_next {
            self.drop_next = self.after(supply.now, supply.law);
        }
        packet
    }

    /// Begins where the last control ended, if that is not long ago.
    fn start_dropping<P>(&mut self, supply: &Supply<'_, P>) {
        let (law, now) = (supply.law, supply.now);
        self.is_dropping = true;
        let delta = self.count.wrapping_sub(self.last_count);
        // The next drop may have been planned for later than now. Without any control so far, the last one is long ago,
        // as on a machine that has been up for a while; a full queue may have raised the count all the same.
        let is_first = self.last_count == 0;
        if delta > 1 && !is_first && now.saturating_sub(self.drop_next) < MEMORY_INTERVALS * law.interval {
            self.count = delta;
            self.newton_step();
        } else {
            self.count = 1;
            self.rec_inv_sqrt = u16::MAX;
        }
        self.last_count = self.count;
        self.drop_next = self.after(now, law);
    }

    fn mark_above_threshold<P>(&self, packet: Option<&mut Packet<P>>, supply: &mut Supply<'_, P>) {
        if let (Some(threshold), Some(packet)) = (supply.law.threshold, packet)
            && self.delay > threshold.ticks
            && (threshold.mask == 0 || packet.ds_field() & threshold.mask == threshold.selector)
        {
            supply.verdicts.mark(packet, Reason::Threshold);
        }
    }
}

/// A queue under CoDel.
#[derive(Debug)]
pub struct Codel<P> {
    queue: PacketQueue<P>,
    limit: usize,
    law: Law,
    control: Control,
}

impl<P> Codel<P> {
    /// An empty queue.
    pub(super) fn new(config: &CodelConfig, setup: &QueueSetup<'_>) -> Self {
        Self {
            queue: PacketQueue::default(),
            limit: config.limit_packets as usize,
            law: config.law(setup),
            control: Control::default(),
        }
    }
}

impl<P: Send> Queue<P> for Codel<P> {
    fn enqueue(&mut self, packet: Box<Packet<P>>, _now: Instant, verdicts: &mut Verdicts<P>) {
        if self.queue.packets() < self.limit {
            self.queue.push(packet);
        } else {
            verdicts.drop(packet, Reason::Overlimit);
        }
    }

    fn dequeue(&mut self, now: Instant, verdicts: &mut Verdicts<P>) -> Option<Box<Packet<P>>> {
        let now = ticks(now.as_nanos());
        self.control.dequeue(Supply { law: &self.law, queue: &mut self.queue, others: Bytes::ZERO, now, verdicts })
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
    use super::*;
    use crate::packet::Ecn;
    use crate::queue::QueueConfig;
    use crate::queue::tests::{Bench, packet_of, problem};

    /// In ticks and bytes.
    const LAW: Law =
        Law { target: 100, interval: 1_000, least_backlog: Bytes::new(1_014), ecn: false, threshold: None };

    fn arrived(tick: u64) -> Box<Packet<()>> {
        let mut packet = packet_of(0, 0, 1_000);
        packet.enqueued = Instant::from_nanos(tick << TICK_SHIFT);
        packet
    }

    /// Whether a packet that arrived at the start should be dropped while so many bytes wait in its queue and in
    /// others.
    fn should_drop(control: &mut Control, now: u64, [own, others]: [u64; 2]) -> bool {
        let (mut queue, mut verdicts) = (PacketQueue::default(), Verdicts::default());
        queue.push(packet_of(0, 1, own));
        let others = Bytes::new(others);
        let supply = Supply { law: &LAW, queue: &mut queue, others, now, verdicts: &mut verdicts };
        control.should_drop(Some(&arrived(0)), &supply)
    }

    fn codel(json: &str) -> Bench {
        Bench::new(json)
    }

    #[test]
    fn the_first_drop_comes_an_interval_after_the_delay_passed_the_target() {
        // A queue of 100 ms that neither grows nor shrinks: every packet waits 100 ms.
        let mut bench = codel(r#"{"kind": "codel"}"#);
        bench.standing(100, 4_000);
        let times = bench.drop_times_ms();
        // Control begins with the first packet that waited more than 5 ms.
        assert!((105..=107).contains(&times[0]), "{times:?}");
        let gaps: Vec<_> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        // interval / sqrt(count) is 100, 71, 58, 50, 45 ms; the kernel's one Newton step at a time begins with 50.
        for (gap, law) in gaps.iter().zip([100, 50, 56, 49, 44]) {
            assert!(gap.abs_diff(law) <= 2, "{gaps:?}");
        }
    }

    #[test]
    fn what_can_be_marked_is_marked_at_the_same_times() {
        let mut dropping = codel(r#"{"kind": "codel"}"#);
        dropping.standing(100, 1_000);
        let mut marking = codel(r#"{"kind": "codel", "ecn": true}"#);
        marking.ecn = Ecn::Ect0;
        marking.standing(100, 1_000);
        assert!(marking.dropped.is_empty());
        let [drops, marks] = [dropping.drop_times_ms(), marking.mark_times_ms()];
        assert_eq!(drops[0], marks[0]);
        assert!(drops.len().abs_diff(marks.len()) <= 1, "{drops:?} {marks:?}");
        marking.ecn = Ecn::NotEct;
        marking.standing(100, 1_000);
        assert!(!marking.dropped.is_empty(), "what cannot be marked is dropped");
    }

    #[test]
    fn one_packet_is_no_standing_queue() {
        let mut bench = codel(r#"{"kind": "codel"}"#);
        bench.standing(2, 2_000);
        assert!(bench.dropped.is_empty(), "2 ms are below the target");
        let mut bench = Bench { gap_ms: 50, ..codel(r#"{"kind": "codel"}"#) };
        bench.standing(1, 100);
        assert!(bench.dropped.is_empty(), "one packet that waits 50 ms is all there is");
    }

    #[test]
    fn the_threshold_marks_without_a_control() {
        let mut bench = codel(r#"{"kind": "codel", "ce_threshold_ns": 1000000}"#);
        bench.ecn = Ecn::Ect1;
        bench.standing(3, 50);
        assert!(bench.mark_times_ms().len() >= 46);
        assert!(bench.marked.iter().all(|(_, reason)| *reason == Reason::Threshold));
    }

    #[test]
    fn the_threshold_is_for_packets_whose_ds_field_is_the_one_that_is_meant() {
        // DSCP 1 under a mask that leaves the codepoint out.
        for (dscp, marks) in [(1, true), (0, false)] {
            let mut bench = Bench::new(
                r#"{"kind": "fq_codel", "flows": 1, "ce_threshold_ns": 1000000, "ce_threshold_selector": 4, "ce_threshold_mask": 252}"#,
            );
            (bench.ecn, bench.dscp) = (Ecn::Ect0, dscp);
            bench.standing(3, 50);
            assert_eq!(!bench.marked.is_empty(), marks, "DSCP {dscp}");
        }
    }

    #[test]
    fn the_limit_drops_what_arrives() {
        let mut bench = codel(r#"{"kind": "codel", "limit_packets": 3}"#);
        bench.offer(5);
        assert_eq!(
            bench.dropped.iter().map(|drop| (drop.number, drop.reason)).collect::<Vec<_>>(),
            [(3, Reason::Overlimit), (4, Reason::Overlimit)]
        );
    }

    #[test]
    fn a_control_soon_after_the_last_goes_on_at_its_rate() {
        let law = Law { target: 100, interval: 1_000, least_backlog: Bytes::ZERO, ecn: false, threshold: None };
        let mut control = Control { count: 20, last_count: 1, drop_next: 5_000, ..Control::default() };
        let (mut queue, mut verdicts) = (PacketQueue::<()>::default(), Verdicts::default());
        let mut start = |control: &mut Control, now| {
            control.start_dropping(&Supply {
                law: &law,
                queue: &mut queue,
                others: Bytes::ZERO,
                now,
                verdicts: &mut verdicts,
            });
            control.count
        };
        assert_eq!(start(&mut control, 6_000), 19);
        control = Control { count: 20, last_count: 1, drop_next: 5_000, ..Control::default() };
        assert_eq!(start(&mut control, 21_001), 1, "sixteen intervals later all is forgotten");
        control = Control { count: 6, ..Control::default() };
        assert_eq!(start(&mut control, 900), 1, "there was no control yet, only a full queue");
    }

    #[test]
    fn the_square_root_is_that_of_the_kernel() {
        let mut control = Control { rec_inv_sqrt: u16::MAX, ..Control::default() };
        let roots: Vec<_> = (2..=5)
            .map(|count| {
                control.count = count;
                control.newton_step();
                control.rec_inv_sqrt
            })
            .collect();
        // By hand from codel_Newton_step: x (3 - n x^2) / 2 with x = 65535/65536.
        assert_eq!(roots, [32_769, 36_864, 31_968, 28_935]);
    }

    #[test]
    fn the_delay_has_to_reach_the_target_and_to_stay_there_for_more_than_an_interval() {
        let mut control = Control::default();
        let much = [5_000, 0];
        assert!(!should_drop(&mut control, 99, much));
        assert_eq!(control.first_above, None);
        assert!(!should_drop(&mut control, 100, much));
        assert_eq!(control.first_above, Some(1_100));
        assert!(!should_drop(&mut control, 1_100, much));
        assert!(should_drop(&mut control, 1_101, much));
    }

    #[test]
    fn a_backlog_of_more_than_one_frame_in_all_queues_is_a_standing_queue() {
        for (waiting, is_standing) in [([1_014, 0], false), ([1_015, 0], true), ([500, 514], false), ([500, 515], true)]
        {
            let mut control = Control::default();
            should_drop(&mut control, 200, waiting);
            assert_eq!(control.first_above.is_some(), is_standing, "{waiting:?}");
        }
    }

    #[test]
    fn a_line_that_is_found_empty_has_no_delay_above_the_target() {
        let mut control = Control { first_above: Some(50), is_dropping: true, ..Control::default() };
        let (mut queue, mut verdicts) = (PacketQueue::<()>::default(), Verdicts::default());
        let supply =
            Supply { law: &LAW, queue: &mut queue, others: Bytes::new(5_000), now: 2_000, verdicts: &mut verdicts };
        assert!(control.dequeue(supply).is_none());
        assert_eq!((control.first_above, control.is_dropping), (None, false));
    }

    #[test]
    fn a_control_begins_with_the_first_drop_even_if_that_was_the_last_packet() {
        let mut control = Control { first_above: Some(1_000), ..Control::default() };
        let (mut queue, mut verdicts) = (PacketQueue::default(), Verdicts::default());
        queue.push(arrived(0));
        let supply =
            Supply { law: &LAW, queue: &mut queue, others: Bytes::new(5_000), now: 1_500, verdicts: &mut verdicts };
        assert!(control.dequeue(supply).is_none());
        assert_eq!((verdicts.drops(), control.is_dropping, control.count, control.drop_next), (1, true, 1, 2_499));
    }

    #[test]
    fn at_most_256_packets_go_at_once_and_the_next_drop_is_planned_from_then() {
        let mut control =
            Control { first_above: Some(1_000), is_dropping: true, rec_inv_sqrt: 60, ..Control::default() };
        control.count = 1_200_000;
        let (mut queue, mut verdicts) = (PacketQueue::default(), Verdicts::default());
        (0..1_000).for_each(|_| queue.push(arrived(0)));
        let now = 1_000_000;
        let supply = Supply { law: &LAW, queue: &mut queue, others: Bytes::ZERO, now, verdicts: &mut verdicts };
        assert!(control.dequeue(supply).is_some());
        assert_eq!((verdicts.drops(), queue.packets()), (256, 743));
        assert!(control.is_dropping && control.drop_next == control.after(now, &LAW));
    }

    #[test]
    fn the_threshold_marks_what_waited_longer_and_not_as_long() {
        let mut queue = Codel::<()>::new(
            &serde_json::from_str(r#"{"ce_threshold_ns": 1024000}"#).expect("a queue"),
            &crate::queue::tests::setup(),
        );
        for (tick, is_marked) in [(1_000, false), (1_001, true)] {
            let mut verdicts = Verdicts::default();
            let mut packet = arrived(0);
            packet.ecn = Ecn::Ect0;
            queue.enqueue(packet, Instant::ZERO, &mut verdicts);
            queue.dequeue(Instant::from_nanos(tick << TICK_SHIFT), &mut verdicts);
            assert_eq!(!verdicts.marked().is_empty(), is_marked, "{tick}");
        }
    }

    #[test]
    fn impossible_parameters_are_refused() {
        for (json, part) in [
            (r#"{"kind": "codel", "target_ns": 200000000}"#, "longer than the interval"),
            (r#"{"kind": "codel", "limit_packets": 0}"#, "limit 0 is not possible"),
            (r#"{"kind": "codel", "interval_ns": 0}"#, "interval 0s is not possible"),
        ] {
            assert!(problem(json).contains(part), "{}", problem(json));
        }
        assert!(serde_json::from_str::<QueueConfig>(r#"{"kind": "codel", "flows": 3}"#).is_err());
    }
}
