//! COBALT as the SCE project developed it on: two schedules that also run backwards, one for CE and one for SCE, and
//! BLUE.
//!
//! **Source.** `net/sched/sch_cobalt.c` of the SCE project (chromi/sce, 2022): `cobalt_should_drop`,
//! `cobalt_queue_full`, `cobalt_queue_empty`.

use serde::Deserialize;

use super::root::{COMPUTED, inverse_root};
use crate::packet::Packet;
use crate::problem::Problem;
use crate::queue::bounds::{limit_within, time_within};
use crate::queue::codel::check_order;
use crate::queue::setup::QueueSetup;
use crate::queue::{Reason, Verdicts};
use crate::random::RandomStream;
use crate::units::{Duration, Instant};

/// By how much BLUE's probability grows when the queue overflows, and shrinks when it is empty (`p_inc`, `p_dec`).
pub(in crate::queue) const BLUE_UP: u32 = 1 << 24;
pub(in crate::queue) const BLUE_DOWN: u32 = 1 << 20;
/// BLUE takes a wait of so many intervals for an overflow (`blue_thresh`).
const BLUE_INTERVALS: i64 = 4;

/// What an experiment states of the control and of the limit.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CobaltConfig {
    pub(in crate::queue) limit_packets: u64,
    target_ns: u64,
    interval_ns: u64,
    sce_interval_ns: Option<u64>,
}

impl Default for CobaltConfig {
    fn default() -> Self {
        Self { limit_packets: 10_240, target_ns: 5_000_000, interval_ns: 100_000_000, sce_interval_ns: None }
    }
}

impl CobaltConfig {
    pub(in crate::queue) fn check(&self) -> Result<(), Problem> {
        limit_within("limit", self.limit_packets)?;
        time_within("target", self.target_ns, 1_000)?;
        time_within("interval", self.interval_ns, 1_000)?;
        self.sce_interval_ns.map_or(Ok(()), |interval| time_within("sce_interval", interval, 1_000))?;
        check_order(self.target_ns, "interval", self.interval_ns)
    }

    /// With all times divided by this.
    pub(in crate::queue) fn law(&self, divisor: u64) -> Law {
        let time = |nanos: u64| (nanos / divisor) as i64;
        Law {
            target: time(self.target_ns),
            interval: time(self.interval_ns),
            sce: self.sce_interval_ns.map(|interval| (time(self.target_ns.div_ceil(2)), time(interval))),
        }
    }
}

/// What does not change during a run (`struct cobalt_params`); times in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(in crate::queue) struct Law {
    target: i64,
    interval: i64,
    /// Target and interval of the marks that say "some congestion experienced".
    sce: Option<(i64, i64)>,
}

/// When signals are due: more and more often while it is on, and forgotten at the same pace while it is off.
#[derive(Clone, Copy, Debug, Default)]
struct Schedule {
    count: u32,
    /// `1 / sqrt(count)` as a fraction of 2^32. Zero before the first signal, so that this one comes at once.
    root: u32,
    next: i64,
    is_on: bool,
    /// The count has moved, which refreshes the root of the other schedule too.
    has_recounted: bool,
}

impl Schedule {
    fn after(&self, time: i64, interval: i64) -> i64 {
        time + ((interval as u64 * u64::from(self.root)) >> 32) as i64
    }

    fn is_due(&self, now: i64) -> bool {
        self.count > 0 && now >= self.next
    }

    fn recount(&mut self, count: u32, interval: i64) {
        self.count = count;
        self.has_recounted = true;
        self.refresh();
        self.next = self.after(self.next, interval);
    }

    fn refresh(&mut self) {
        self.root = inverse_root(&COMPUTED, self.count, self.root);
    }

    /// Forgets one signal at each time at which one was due.
    fn run_backwards(&mut self, now: i64, interval: i64) {
        while self.is_due(now) {
            self.recount(self.count - 1, interval);
        }
    }

    /// Whether a packet that leaves now is to carry a signal, and by how much the schedule was late before.
    fn step(&mut self, now: i64, is_over_target: bool, interval: i64) -> (bool, i64) {
        let late = now - self.next;
        let was_due = self.is_due(now);
        let begins = is_over_target && !self.is_on;
        if self.is_on != is_over_target {
            self.is_on = is_over_target;
            self.next = self.after(now, interval);
        }
        if is_over_target {
            self.count = self.count.max(1);
            return (was_due && !begins, late);
        }
        if !was_due {
            return (false, late);
        }
        // One at least, as it was due before the schedule moved.
        self.recount(self.count - 1, interval);
        self.run_backwards(now, interval);
        (false, now - self.next)
    }

    fn signalled(&mut self, interval: i64) {
        self.recount(self.count.saturating_add(1), interval);
    }

    fn overflow(&mut self, now: i64) {
        (self.is_on, self.next, self.count) = (true, now, self.count.max(1));
    }

    fn empty(&mut self, now: i64, interval: i64) {
        self.run_backwards(now, interval);
        if self.is_on {
            (self.is_on, self.next) = (false, self.after(now, interval));
        }
    }
}

/// The state of the control (`struct cobalt_vars`).
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::queue) struct Control {
    ce: Schedule,
    sce: Schedule,
    /// BLUE's probability as a fraction of 2^32.
    blue: u32,
    blue_changed: i64,
}

impl Control {
    /// The queue overflowed, or as good as did.
    pub(in crate::queue) fn on_overflow(&mut self, law: &Law, now: Instant) {
        let now = now.as_nanos() as i64;
        if now - self.blue_changed > law.target {
            (self.blue, self.blue_changed) = (self.blue.saturating_add(BLUE_UP), now);
        }
        self.ce.overflow(now);
        if law.sce.is_some() {
            self.sce.overflow(now);
        }
    }

    /// Nothing is left to control.
    pub(in crate::queue) fn on_empty(&mut self, law: &Law, now: Instant) {
        let now = now.as_nanos() as i64;
        if self.blue > 0 && now - self.blue_changed > law.target {
            (self.blue, self.blue_changed) = (self.blue.saturating_sub(BLUE_DOWN), now);
        }
        self.ce.empty(now, law.interval);
        if let Some((_, interval)) = law.sce {
            self.refresh_sce();
            self.sce.empty(now, interval);
            self.refresh_ce();
        }
    }

    /// With SCE one function has both roots (`cobalt_invsqrt`), so that its first mark ends the state in which the
    /// first CE comes at once.
    fn refresh_ce(&mut self) {
        if std::mem::take(&mut self.sce.has_recounted) {
            self.ce.refresh();
        }
    }

    fn refresh_sce(&mut self) {
        if std::mem::take(&mut self.ce.has_recounted) {
            self.sce.refresh();
        }
    }

    /// Marks a packet that is to leave, or says why it should be dropped.
    pub(in crate::queue) fn judge<P>(
        &mut self,
        law: &Law,
        packet: &mut Packet<P>,
        instant: Instant,
        random: &mut RandomStream,
        verdicts: &mut Verdicts<P>,
    ) -> Option<Reason> {
        let sojourn = instant.since(packet.enqueued);
        self.judge_as(law, packet, sojourn, instant, random, verdicts)
    }

    /// As [`Control::judge`], as if the packet had waited so long.
    pub(in crate::queue) fn judge_as<P>(
        &mut self,
        law: &Law,
        packet: &mut Packet<P>,
        sojourn: Duration,
        instant: Instant,
        random: &mut RandomStream,
        verdicts: &mut Verdicts<P>,
    ) -> Option<Reason> {
        let sojourn = sojourn.as_nanos() as i64;
        let now = instant.as_nanos() as i64;
        if let Some((target, interval)) = law.sce {
            let (is_due, _) = self.sce.step(now, sojourn > target, interval);
            if is_due && verdicts.mark_sce(packet) {
                self.sce.signalled(interval);
            }
            self.refresh_ce();
        }
        let (is_due, mut late) = self.ce.step(now, sojourn > law.target, law.interval);
        let mut reason = None;
        if is_due {
            reason = (!verdicts.mark(packet, Reason::Congestion)).then_some(Reason::Congestion);
            self.ce.signalled(law.interval);
            late = now - self.ce.next;
        }
        if law.sce.is_some() {
            self.refresh_sce();
        }
        if sojourn > BLUE_INTERVALS * law.interval {
            self.on_overflow(law, instant);
        }
        if self.blue > 0 && reason.is_none() && (random.below(1 << 32) as u32) < self.blue {
            reason = Some(Reason::Blue);
        }
        // While there is no control, the time of the next signal says until when the queue was busy.
        if self.ce.count == 0 {
            self.ce.next = now + law.interval;
        } else if late > 0 && reason.is_none() {
            self.ce.next = now;
        }
        reason
    }
}

/// The random numbers that BLUE draws.
pub(in crate::queue) fn random(setup: &QueueSetup<'_>) -> RandomStream {
    setup.random("cobalt")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Ecn;
    use crate::queue::tests::{packet_of, setup};

    fn law(sce_interval_ns: Option<u64>) -> Law {
        CobaltConfig { sce_interval_ns, ..CobaltConfig::default() }.law(1)
    }

    const SCE: Option<u64> = Some(25_000_000);

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn nanos(millis: u64) -> i64 {
        at(millis).as_nanos() as i64
    }

    #[test]
    fn blue_grows_with_overflows_and_shrinks_with_idleness_once_per_target() {
        let (law, mut control) = (law(None), Control::default());
        for ms in [10, 12, 16] {
            control.on_overflow(&law, at(ms));
        }
        assert_eq!(control.blue, 2 * BLUE_UP);
        for ms in [22, 23] {
            control.on_empty(&law, at(ms));
        }
        assert_eq!(control.blue, 2 * BLUE_UP - BLUE_DOWN);
    }

    #[test]
    fn an_overflow_makes_all_signals_due_at_once() {
        for (sce, has_sce) in [(SCE, true), (None, false)] {
            let mut control = Control::default();
            control.on_overflow(&law(sce), at(10));
            assert_eq!((control.ce.is_on, control.ce.next, control.ce.count), (true, nanos(10), 1));
            assert_eq!((control.sce.is_on, control.sce.count), (has_sce, u32::from(has_sce)));
        }
    }

    #[test]
    fn an_empty_line_forgets_all_signals_that_were_due_and_ends_the_control() {
        let mut control = Control::default();
        control.ce =
            Schedule { count: 5, root: inverse_root(&COMPUTED, 5, 0), next: nanos(100), is_on: true, ..control.ce };
        // At 100 ms and after 100 / sqrt(4), sqrt(3), sqrt(2) and 1 of them.
        control.on_empty(&law(None), at(230));
        assert_eq!((control.ce.count, control.ce.is_on), (2, false));
        assert_eq!(control.ce.next, control.ce.after(nanos(230), nanos(100)));
        let next = control.ce.next;
        control.on_empty(&law(None), at(231));
        assert_eq!((control.ce.count, control.ce.next), (2, next));
    }

    #[test]
    fn below_the_target_a_schedule_forgets_the_signals_that_were_due_and_the_last_of_them_begins_anew() {
        let (mut random, mut verdicts) = (setup().random("test"), Verdicts::default());
        // Signals, whether they were on, milliseconds; signals that are left, and when the next of them is forgotten.
        for (count, is_on, ms, left, next_ms) in [
            (5, false, 99, 5, 100.0),
            (5, false, 100, 4, 150.0),
            // The root of two is 0.06 % less there.
            (5, false, 230, 2, 150.0 + 100.0 / 3_f64.sqrt() + 70.671),
            (5, true, 100, 4, 100.0 + 100.0 / 5_f64.sqrt() + 50.0),
            (1, false, 130, 0, 230.0),
        ] {
            let mut control = Control::default();
            control.ce =
                Schedule { count, root: inverse_root(&COMPUTED, count, 0), next: nanos(100), is_on, ..control.ce };
            let mut packet = packet_of(0, 0, 1_000);
            packet.enqueued = at(ms - 1);
            assert_eq!(control.judge(&law(None), &mut packet, at(ms), &mut random, &mut verdicts), None);
            assert_eq!((control.ce.count, control.ce.is_on), (left, false), "{count} {is_on} {ms}");
            let off = control.ce.next as f64 / 1e6 - next_ms;
            assert!(off.abs() < 0.01, "{count} {is_on} {ms}: {off} ms off");
        }
    }

    #[test]
    fn one_function_has_both_roots() {
        let mut control = Control::default();
        control.sce = Schedule { count: 2, ..control.sce };
        control.on_empty(&law(SCE), at(1_000));
        assert_eq!((control.sce.count, control.ce.root), (0, u32::MAX));
    }

    #[test]
    fn a_control_that_was_due_long_ago_and_begins_anew_signals_at_once() {
        let (mut random, mut verdicts) = (setup().random("test"), Verdicts::default());
        let mut control = Control::default();
        control.ce = Schedule { count: 1, root: u32::MAX, ..control.ce };
        let mut judge = |control: &mut Control, ms| {
            let mut packet = packet_of(0, 0, 1_000);
            packet.enqueued = at(ms - 20);
            control.judge(&law(None), &mut packet, at(ms), &mut random, &mut verdicts)
        };
        assert_eq!(judge(&mut control, 1_000), None);
        assert_eq!(control.ce.next, nanos(1_000));
        assert_eq!(judge(&mut control, 1_001), Some(Reason::Congestion));
    }

    #[test]
    fn some_congestion_is_counted_only_where_it_could_be_told() {
        let (mut random, mut verdicts) = (setup().random("test"), Verdicts::default());
        let mut control = Control::default();
        let mut count_after = |ecn, ms| {
            let mut packet = packet_of(0, 0, 1_000);
            (packet.ecn, packet.enqueued) = (ecn, at(ms - 3));
            control.judge(&law(SCE), &mut packet, at(ms), &mut random, &mut verdicts);
            control.sce.count
        };
        assert_eq!([10, 60].map(|ms| count_after(Ecn::NotEct, ms)), [1, 1]);
        assert_eq!(count_after(Ecn::Ect0, 61), 2);
    }
}
