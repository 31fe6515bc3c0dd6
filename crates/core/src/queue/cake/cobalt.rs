//! COBALT: CoDel on a schedule that also runs backwards, BLUE for traffic without any control, and the ramp of SCE.
//!
//! **Source.** Linux 7.3 `net/sched/sch_cake.c` (`cobalt_*`), whose arithmetic is kept. The ramp:
//! `net/sched/sch_cake.c` of the SCE project (chromi/sce) and draft-morton-tsvwg-sce.

use crate::packet::Packet;
use crate::queue::cobalt::{BLUE_DOWN, BLUE_UP, LINUX, inverse_root};
use crate::queue::{Reason, Verdicts};
use crate::random::RandomStream;
use crate::units::Instant;

/// So many packets may wait on the link however long that takes.
const SERVED_PACKETS: i64 = 4;

/// When to turn ECT(0) into ECT(1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ramp {
    /// From half the target on; the chance reaches this part (one in so many) at the target, and one at twice that.
    From(u32),
    /// From the target on; the chance reaches one at twice the target.
    Single,
}

/// What does not change during a run (`struct cobalt_params`); times in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Law {
    pub(super) target: i64,
    pub(super) interval: i64,
    /// How long the link takes for the largest packet; zero if it is not known to be limited.
    pub(super) packet_time: i64,
    pub(super) ramp: Option<Ramp>,
}

/// The state of the control (`struct cobalt_vars`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Control {
    count: u32,
    /// `1 / sqrt(count)` as a fraction of 2^32. Zero before the first signal, so that this one comes at once.
    rec_inv_sqrt: u32,
    drop_next: i64,
    blue_changed: i64,
    /// BLUE's probability as a fraction of 2^32.
    blue: u32,
    is_dropping: bool,
}

impl Law {
    /// The chance that a packet which waited so long is to say "some congestion experienced".
    fn sce_chance(&self, sojourn: i64, is_over_target: bool) -> f64 {
        let (sojourn, target) = (sojourn as f64, self.target as f64);
        match self.ramp {
            Some(Ramp::Single) if is_over_target => (sojourn - target) / target,
            Some(Ramp::Single) | None => 0.0,
            Some(Ramp::From(parts)) => {
                let knee = 1.0 / f64::from(parts);
                if is_over_target {
                    knee + (1.0 - knee) * (sojourn - target) / target
                } else {
                    knee * (sojourn - target / 2.0) / (target / 2.0)
                }
            }
        }
    }
}

impl Control {
    /// `cobalt_invsqrt`.
    fn take_root(&mut self) {
        self.rec_inv_sqrt = inverse_root(&LINUX, self.count, self.rec_inv_sqrt);
    }

    /// When the next signal is due after `time` (`cobalt_control`).
    fn after(&self, time: i64, law: &Law) -> i64 {
        time + ((law.interval as u64 * u64::from(self.rec_inv_sqrt)) >> 32) as i64
    }

    fn is_due(&self, now: i64) -> bool {
        self.count > 0 && now >= self.drop_next
    }

    /// A packet of this queue was dropped because CAKE overflowed (`cobalt_queue_full`).
    pub(super) fn on_overflow(&mut self, law: &Law, now: Instant) {
        let now = now.as_nanos() as i64;
        if now - self.blue_changed > law.target {
            self.blue = self.blue.saturating_add(BLUE_UP);
            self.blue_changed = now;
        }
        self.is_dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// The queue was to be served and is empty (`cobalt_queue_empty`).
    pub(super) fn on_empty(&mut self, law: &Law, now: Instant) {
        let now = now.as_nanos() as i64;
        if self.blue > 0 && now - self.blue_changed > law.target {
            self.blue = self.blue.saturating_sub(BLUE_DOWN);
            self.blue_changed = now;
        }
        self.is_dropping = false;
        if self.is_due(now) {
            self.count -= 1;
            self.take_root();
            self.drop_next = self.after(self.drop_next, law);
        }
    }

    /// True once nothing is left of the last congestion.
    pub(super) fn is_at_rest(&self, now: Instant) -> bool {
        self.blue == 0 && self.count == 0 && now.as_nanos() as i64 >= self.drop_next
    }

    /// Marks a packet that is to leave, or says why it should be dropped (`cobalt_should_drop`).
    pub(super) fn judge<P>(
        &mut self,
        law: &Law,
        packet: &mut Packet<P>,
        now: Instant,
        random: &mut RandomStream,
        verdicts: &mut Verdicts<P>,
    ) -> Option<Reason> {
        let sojourn = now.since(packet.enqueued).as_nanos() as i64;
        let now = now.as_nanos() as i64;
        let is_over_target = sojourn > law.target && sojourn > law.packet_time * SERVED_PACKETS;
        let is_due = self.is_due(now);
        let mut schedule = now - self.drop_next;
        if is_over_target {
            if !self.is_dropping {
                self.is_dropping = true;
                self.drop_next = self.after(now, law);
            }
            self.count = self.count.max(1);
        } else {
            self.is_dropping = false;
        }
        let mut reason = None;
        if is_due && self.is_dropping {
            reason = (!verdicts.mark(packet, Reason::Congestion)).then_some(Reason::Congestion);
            self.count = self.count.saturating_add(1);
            self.take_root();
            self.drop_next = self.after(self.drop_next, law);
            schedule = now - self.drop_next;
        } else if is_due {
            schedule = self.run_backwards(law, now);
        }
        if self.blue > 0 && reason.is_none() && (random.below(1 << 32) as u32) < self.blue {
            reason = Some(Reason::Blue);
        }
        // While there is no control, the time of the next signal says until when the queue was busy.
        if self.count == 0 {
            self.drop_next = now + law.interval;
        } else if schedule > 0 && reason.is_none() {
            self.drop_next = now;
        }
        if reason.is_none() && law.ramp.is_some() && sojourn > law.target / 2 {
            let chance = law.sce_chance(sojourn, is_over_target);
            if chance > 0.0 && random.chance(chance) {
                verdicts.mark_sce(packet);
            }
        }
        reason
    }

    /// Forgets one signal at each time at which one was due.
    fn run_backwards(&mut self, law: &Law, now: i64) -> i64 {
        loop {
            self.count -= 1;
            self.take_root();
            self.drop_next = self.after(self.drop_next, law);
            if !self.is_due(now) {
                return now - self.drop_next;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Ecn;
    use crate::queue::tests::{packet_of, setup};
    use crate::units::Bytes;
    use crate::units::Duration;

    const LAW: Law = Law { target: 5_000_000, interval: 100_000_000, packet_time: 0, ramp: None };

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// Judges a packet a millisecond, each of which waited so long; the times at which one is to be dropped.
    fn drops_at(control: &mut Control, waited_ms: u64, from_ms: u64, steps: u64) -> Vec<u64> {
        let (mut random, mut verdicts) = (setup().random("test"), Verdicts::default());
        (from_ms..from_ms + steps)
            .filter(|ms| {
                let mut packet = packet_of(0, 0, 1_000);
                packet.enqueued = at(ms - waited_ms);
                control.judge(&LAW, &mut packet, at(*ms), &mut random, &mut verdicts).is_some()
            })
            .collect()
    }

    #[test]
    fn signals_come_by_the_square_root_and_are_forgotten_on_the_same_schedule() {
        let mut control = Control::default();
        // The first one at once, as in the kernel, then after 100 / sqrt(2), sqrt(3) ...
        assert_eq!(drops_at(&mut control, 20, 1_000, 300), [1_001, 1_071, 1_129, 1_179, 1_224, 1_264]);
        assert_eq!(control.count, 7);
        assert!(drops_at(&mut control, 2, 1_300, 200).is_empty());
        // One is forgotten at 1302, 1343, 1387, 1437 and 1495 ms.
        assert_eq!(control.count, 2);
        assert!(drops_at(&mut control, 2, 1_500, 1_500).is_empty());
        assert_eq!(control.count, 0);
        // The second time, there is an interval until the first signal.
        assert_eq!(drops_at(&mut control, 20, 3_000, 102), [3_100]);
    }

    #[test]
    fn a_packet_that_the_link_takes_long_for_is_no_standing_queue() {
        let slow = Law { packet_time: 6_000_000, ..LAW };
        let mut packet = packet_of(0, 0, 1_000);
        let (mut random, mut verdicts) = (setup().random("test"), Verdicts::default());
        let mut control = Control::default();
        control.judge(&slow, &mut packet, at(24), &mut random, &mut verdicts);
        assert!(!control.is_dropping);
        control.judge(&slow, &mut packet, at(25), &mut random, &mut verdicts);
        assert!(control.is_dropping);
    }

    #[test]
    fn blue_grows_with_overflows_and_shrinks_with_idleness_once_per_target() {
        let mut control = Control::default();
        control.on_overflow(&LAW, at(10));
        control.on_overflow(&LAW, at(12));
        assert_eq!(control.blue, BLUE_UP);
        control.on_overflow(&LAW, at(16));
        assert_eq!(control.blue, 2 * BLUE_UP);
        control.on_empty(&LAW, at(22));
        control.on_empty(&LAW, at(23));
        assert_eq!(control.blue, 2 * BLUE_UP - BLUE_DOWN);
        assert!(!control.is_at_rest(at(1_000_000)));
        let (mut random, mut verdicts) = (setup().random("test"), Verdicts::default());
        let dropped = (0..100_000).filter(|_| {
            let mut packet = packet_of(0, 0, 1_000);
            (packet.ecn, packet.enqueued) = (Ecn::Ect0, at(30));
            control.judge(&LAW, &mut packet, at(30), &mut random, &mut verdicts) == Some(Reason::Blue)
        });
        let expected = f64::from(2 * BLUE_UP - BLUE_DOWN) / 2_f64.powi(32) * 1e5;
        assert!((dropped.count() as f64 - expected).abs() < 100.0);
    }

    #[test]
    fn the_ramp_of_sce_has_its_knee_at_the_target() {
        let chance =
            |ramp, sojourn_us: i64, is_over| Law { ramp: Some(ramp), ..LAW }.sce_chance(sojourn_us * 1_000, is_over);
        for (ramp, sojourn, is_over, expected) in [
            (Ramp::From(1), 2_500, false, 0.0),
            (Ramp::From(1), 3_750, false, 0.5),
            (Ramp::From(1), 6_000, true, 1.0),
            (Ramp::From(4), 5_000, false, 0.25),
            (Ramp::From(4), 7_500, true, 0.625),
            (Ramp::From(4), 10_000, true, 1.0),
            (Ramp::Single, 5_000, false, 0.0),
            (Ramp::Single, 7_500, true, 0.5),
        ] {
            let found: f64 = chance(ramp, sojourn, is_over);
            assert!((found - expected).abs() < 1e-9, "{ramp:?} at {sojourn} us: {found}");
        }
    }

    #[test]
    fn sce_turns_ect0_into_ect1_and_nothing_else() {
        let law = Law { ramp: Some(Ramp::From(1)), ..LAW };
        let (mut random, mut verdicts) = (setup().random("test"), Verdicts::default());
        for (ecn, expected) in
            [(Ecn::NotEct, Ecn::NotEct), (Ecn::Ect0, Ecn::Ect1), (Ecn::Ect1, Ecn::Ect1), (Ecn::Ce, Ecn::Ce)]
        {
            let mut packet = packet_of(0, 0, 1_000);
            packet.ecn = ecn;
            Control::default().judge(&law, &mut packet, at(6), &mut random, &mut verdicts);
            assert_eq!(packet.ecn, expected);
        }
        assert_eq!(verdicts.marked(), [(Bytes::new(1_000), Reason::Sce)]);
    }

    #[test]
    fn an_overflow_makes_the_next_signal_due_at_once() {
        let mut control = Control { count: 3, drop_next: i64::MAX, ..Control::default() };
        control.on_overflow(&LAW, at(10));
        assert_eq!((control.count, control.drop_next, control.is_dropping), (3, 10_000_000, true));
    }

    #[test]
    fn an_empty_line_forgets_one_signal_at_a_time_and_rests_once_the_last_is_over() {
        let mut control = Control { count: 2, drop_next: 10_000_000, is_dropping: true, ..Control::default() };
        control.on_empty(&LAW, at(9));
        assert_eq!((control.count, control.is_dropping), (2, false));
        control.on_empty(&LAW, at(500));
        assert_eq!((control.count, control.drop_next), (1, 109_999_999));
        control.on_empty(&LAW, at(500));
        assert_eq!((control.count, control.drop_next), (0, 209_999_998));
        assert!(!control.is_at_rest(at(209)) && control.is_at_rest(at(210)));
    }

    #[test]
    fn a_control_that_was_due_long_ago_and_begins_anew_signals_at_once() {
        let mut control = Control { count: 1, rec_inv_sqrt: u32::MAX, drop_next: 990_000_000, ..Control::default() };
        assert_eq!(drops_at(&mut control, 2, 985, 1), [0_u64; 0]);
        assert_eq!(control.drop_next, 990_000_000, "it is not due yet");
        let mut packet = packet_of(0, 0, 1_000);
        (packet.ecn, packet.enqueued) = (Ecn::Ect0, at(980));
        control.is_dropping = true;
        control.judge(&LAW, &mut packet, at(1_100), &mut setup().random("test"), &mut Verdicts::default());
        // Marked at 1100 ms for 990 ms, and the next would have been at 990 + 100 / sqrt(2) ms.
        assert_eq!((packet.ecn, control.count, control.drop_next), (Ecn::Ce, 2, 1_100_000_000));
    }
}
