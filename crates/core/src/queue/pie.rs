//! Proportional integral controller enhanced: PIE.
//!
//! **What it is.** One queue of packets. Every few milliseconds a probability is moved by how far the delay is from a
//! target and by how much it has changed; arriving packets are dropped or marked with it.
//!
//! **Source.** RFC 8033; Linux 7.3 `net/sched/sch_pie.c`, `include/net/pie.h`, whose arithmetic is kept: probabilities
//! as fractions of 2^56, time in ticks of 64 ns, derandomised drops, a burst allowance of 150 ms, marks up to a
//! probability of 10 %, no early drop while less than two largest packets wait.
//!
//! **Parameters.** The defaults are the kernel's.
//!
//! **Deviations.** Two of the largest frames are 3028 bytes, and packets count 1500, as in the linux world: with three
//! of them waiting early drops begin, as in the RFC (more than two packets), where the kernel begins with two on an
//! Ethernet that counts frames. As in Linux the period is rounded up to whole milliseconds, and one more passes until
//! the timer fires.
//!
//! **How it is validated.** Unit tests here; next to the kernel's in the suite `agreement/queues`.

use serde::Deserialize;

use super::bounds::{limit_within, time_within, within};
use super::jiffies::JiffyTimer;
use super::packet_queue::PacketQueue;
use super::setup::QueueSetup;
use super::{Queue, Reason, Verdicts};
use crate::info::{Info, Parameter};
use crate::packet::Packet;
use crate::problem::Problem;
use crate::random::RandomStream;
use crate::units::{Bytes, Instant};

/// Name, parameters and source, for listings and documentation.
pub(super) const INFO: Info = Info {
    name: "pie",
    title: "Proportional integral controller enhanced (PIE)",
    source: "RFC 8033; Linux net/sched/sch_pie.c, include/net/pie.h",
    parameters: &[
        Parameter::quantity("limit", "1000pkt", "packets", "the most packets that wait"),
        TARGET,
        TUPDATE,
        ALPHA,
        BETA,
        ECN,
        BYTEMODE,
        DQ_RATE_ESTIMATOR,
    ],
    telemetry: &[],
};

pub(super) const TARGET: Parameter = Parameter::quantity("target", "15ms", "time", "the delay to steer to");
pub(super) const TUPDATE: Parameter =
    Parameter::quantity("tupdate", "15ms", "time", "how often the probability is computed; whole milliseconds");
pub(super) const ALPHA: Parameter =
    Parameter::number("alpha", [0.125, 0.0, MAX_GAIN], "Hz", "gain on the distance from the target");
pub(super) const BETA: Parameter =
    Parameter::number("beta", [1.25, 0.0, MAX_GAIN], "Hz", "gain on the change of the delay");
pub(super) const ECN: Parameter =
    Parameter::flag("ecn", false, "mark packets that can be marked instead of dropping them, up to 10 %");
pub(super) const BYTEMODE: Parameter =
    Parameter::flag("bytemode", false, "drop small packets less often, in proportion to their size");
pub(super) const DQ_RATE_ESTIMATOR: Parameter = Parameter::flag(
    "dq_rate_estimator",
    false,
    "take the delay from the queue and its measured rate, not from the packets' stamps",
);

/// `struct pie_params`: gains are from 0 to 32, in sixteenths.
const MAX_GAIN: f64 = 2.0;
/// `MAX_PROB`: certainty.
pub(super) const CERTAIN: u64 = u64::MAX >> 8;
/// `PSCHED_SHIFT`: a tick is 2^6 ns.
const TICK_SHIFT: u32 = 6;
const TICKS_PER_SECOND: u64 = 1_000_000_000 >> TICK_SHIFT;
/// After a quiet time this much delay passes without a drop.
const BURST_NS: u64 = 150_000_000;
/// Above this delay the probability grows by another 2 % each time.
const HIGH_DELAY_NS: u64 = 250_000_000;
/// `QUEUE_THRESHOLD`: so many bytes are measured at a time.
const MEASURED_BYTES: u64 = 16_384;
/// `PIE_SCALE`: rates are bytes per tick, times 2^8.
const RATE_SHIFT: u32 = 8;
/// HZ / 2.
const FIRST_UPDATE: u64 = 500;
const JIFFY_NS: u64 = 1_000_000;
/// Up to this probability what can be marked is marked.
const MARKED_UP_TO: u64 = CERTAIN / 10;

const fn ticks(nanos: u64) -> u64 {
    nanos >> TICK_SHIFT
}

/// What an experiment states of the law.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PieConfig {
    #[serde(default = "default_limit")]
    limit_packets: u64,
    #[serde(default = "default_time")]
    target_ns: u64,
    #[serde(default = "default_time")]
    tupdate_ns: u64,
    #[serde(default = "default_alpha")]
    alpha_hz: f64,
    #[serde(default = "default_beta")]
    beta_hz: f64,
    #[serde(default)]
    ecn: bool,
    #[serde(default)]
    bytemode: bool,
    #[serde(default)]
    dq_rate_estimator: bool,
}

fn default_limit() -> u64 {
    1_000
}

pub(super) fn default_time() -> u64 {
    15_000_000
}

pub(super) fn default_alpha() -> f64 {
    0.125
}

pub(super) fn default_beta() -> f64 {
    1.25
}

impl PieConfig {
    pub(super) fn check(&self) -> Result<(), Problem> {
        limit_within("limit", self.limit_packets)?;
        self.gains().check()
    }

    fn gains(&self) -> Gains {
        let Self { target_ns, tupdate_ns, alpha_hz, beta_hz, bytemode, dq_rate_estimator, .. } = *self;
        Gains { target_ns, tupdate_ns, alpha_hz, beta_hz, bytemode, dq_rate_estimator }
    }
}

/// What PIE and FQ-PIE state alike.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gains {
    pub(super) target_ns: u64,
    pub(super) tupdate_ns: u64,
    pub(super) alpha_hz: f64,
    pub(super) beta_hz: f64,
    pub(super) bytemode: bool,
    pub(super) dq_rate_estimator: bool,
}

impl Gains {
    pub(super) fn check(&self) -> Result<(), Problem> {
        time_within("target", self.target_ns, 1_000)?;
        time_within("tupdate", self.tupdate_ns, 1_000)?;
        within("alpha", self.alpha_hz, &(0.0..=MAX_GAIN), "")?;
        within("beta", self.beta_hz, &(0.0..=MAX_GAIN), "")
    }

    pub(super) fn law(&self, setup: &QueueSetup<'_>) -> Law {
        let scaled = |gain: f64| ((CERTAIN / TICKS_PER_SECOND) as f64 * gain) as u64;
        Law {
            target: ticks(self.target_ns),
            period: self.tupdate_ns.div_ceil(JIFFY_NS),
            alpha: scaled(self.alpha_hz),
            beta: scaled(self.beta_hz),
            bytemode: self.bytemode,
            measures_rate: self.dq_rate_estimator,
            mtu: setup.mtu(),
            frame_header: setup.mtu() - setup.largest_packet,
        }
    }
}

/// What does not change during a run (`struct pie_params`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Law {
    target: u64,
    period: u64,
    /// In fractions of [`CERTAIN`] per tick of delay.
    alpha: u64,
    beta: u64,
    bytemode: bool,
    measures_rate: bool,
    mtu: Bytes,
    /// The kernel counts frames where it looks at single packets.
    frame_header: Bytes,
}

/// The state of the control (`struct pie_vars`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Control {
    timer: JiffyTimer,
    vars: Vars,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Vars {
    delay: u64,
    old_delay: u64,
    burst: u64,
    probability: u64,
    /// The sum of probabilities since the last drop.
    accumulated: u64,
    /// When the rate was last measured, or a packet left.
    stamp: Option<u64>,
    /// Bytes of the measurement under way.
    measured: Option<u64>,
    rate: u64,
}

impl Vars {
    /// `pie_vars_init`.
    fn restart(&mut self) {
        self.burst = ticks(BURST_NS);
        self.stamp = None;
        self.accumulated = 0;
        self.measured = None;
        self.rate = 0;
    }

    /// `pie_calculate_probability`.
    fn update(&mut self, law: &Law, backlog: u64) {
        let (delay, old_delay) = if law.measures_rate {
            self.old_delay = self.delay;
            ((backlog << RATE_SHIFT).checked_div(self.rate).unwrap_or(0), self.old_delay)
        } else {
            (self.delay, self.old_delay)
        };
        // A delay of zero with something in the queue means that the queue is very small.
        let mut may_decay = delay != 0 || backlog == 0;
        let before = self.probability;
        let change = self.change(law, delay, old_delay);
        self.probability = before.wrapping_add_signed(change);
        if change > 0 {
            if self.probability < before {
                self.probability = CERTAIN;
                may_decay = false;
            }
        } else if self.probability > before {
            self.probability = 0;
        }
        if delay == 0 && old_delay == 0 && may_decay {
            self.probability -= self.probability / 64;
        }
        self.delay = delay;
        let is_quiet = delay < law.target / 2 && self.old_delay < law.target / 2 && self.probability == 0;
        if is_quiet && (!law.measures_rate || self.rate > 0) {
            self.restart();
        }
        if !law.measures_rate {
            self.old_delay = delay;
        }
    }

    /// By how much the probability moves: gains are smaller while it is small (RFC 8033, section 4.2).
    fn change(&self, law: &Law, delay: u64, old_delay: u64) -> i64 {
        let mut shift = 0;
        if self.probability < CERTAIN / 10 {
            shift = 1;
            let mut power = 100;
            while self.probability < CERTAIN / power && power <= 1_000_000 {
                shift += 2;
                power *= 10;
            }
        }
        let part = |gain: u64, from: u64| ((gain >> shift) as i64).wrapping_mul(delay.wrapping_sub(from) as i64);
        let mut change = part(law.alpha, law.target).wrapping_add(part(law.beta, old_delay));
        let (two_percent, two_of_hundred) = ((CERTAIN / 50) as i64, (CERTAIN / 100 * 2) as i64);
        if change > two_percent && self.probability >= CERTAIN / 10 {
            change = two_of_hundred;
        }
        if delay > ticks(HIGH_DELAY_NS) {
            change = change.wrapping_add(two_percent);
        }
        change
    }

    /// `pie_drop_early`.
    fn drops_early(&mut self, law: &Law, backlog: Bytes, size: Bytes, random: &mut RandomStream) -> bool {
        let is_low = self.delay < law.target / 2 && self.probability < CERTAIN / 5;
        if self.burst > 0 || is_low || backlog < law.mtu * 2 {
            return false;
        }
        let mut probability = self.probability;
        if law.bytemode && size <= law.mtu {
            probability = size.count() * (probability / law.mtu.count());
        }
        if probability == 0 {
            self.accumulated = 0;
        } else {
            self.accumulated = self.accumulated.wrapping_add(probability);
        }
        // Never two drops close to each other, and never too long none (RFC 8033, section 5.4).
        if self.accumulated < CERTAIN / 100 * 85 {
            return false;
        }
        if self.accumulated >= CERTAIN / 2 * 17 {
            return true;
        }
        let drops = random.below(CERTAIN + 1) < probability;
        if drops {
            self.accumulated = 0;
        }
        drops
    }

    /// `pie_process_dequeue`.
    fn leave(&mut self, law: &Law, waited: u64, size: Bytes, backlog: u64, now: u64) {
        let since = |stamp: Option<u64>| stamp.map_or(0, |stamp| now - stamp);
        let elapsed = if law.measures_rate {
            if backlog >= MEASURED_BYTES && self.measured.is_none() {
                self.stamp = Some(now);
                self.measured = Some(0);
            }
            let Some(measured) = self.measured.map(|bytes| bytes + size.count()) else { return };
            self.measured = Some(measured);
            let elapsed = since(self.stamp);
            if measured < MEASURED_BYTES || elapsed == 0 {
                return;
            }
            let rate = (measured << RATE_SHIFT) / elapsed;
            self.rate = if self.rate == 0 { rate } else { self.rate - (self.rate >> 3) + (rate >> 3) };
            if backlog < MEASURED_BYTES {
                self.measured = None;
            } else {
                self.measured = Some(0);
                self.stamp = Some(now);
            }
            elapsed
        } else {
            self.delay = if backlog > 0 { waited } else { 0 };
            let elapsed = since(self.stamp);
            self.stamp = Some(now);
            elapsed
        };
        self.burst = self.burst.saturating_sub(elapsed);
    }
}

impl Control {
    pub(super) fn new(law: &Law) -> Self {
        let mut vars = Vars::default();
        vars.restart();
        Self { timer: JiffyTimer::new(FIRST_UPDATE, law.period), vars }
    }

    /// Computes the probabilities of all timers up to `now`, during which so much waited.
    pub(super) fn catch_up(&mut self, law: &Law, backlog: Bytes, now: Instant) {
        let mut is_settled = false;
        while self.timer.fire(now) {
            if !is_settled {
                let before = self.vars;
                self.vars.update(law, backlog.count());
                is_settled = self.vars == before;
            }
        }
    }

    /// Whether an arriving packet is to be dropped or marked.
    pub(super) fn drops_early<P>(
        &mut self,
        law: &Law,
        backlog: Bytes,
        packet: &Packet<P>,
        random: &mut RandomStream,
    ) -> bool {
        self.vars.drops_early(law, backlog, packet.size + law.frame_header, random)
    }

    /// The probability, as a fraction of [`CERTAIN`].
    pub(super) fn probability(&self) -> u64 {
        self.vars.probability
    }

    /// A packet was dropped on arrival.
    pub(super) fn on_drop(&mut self) {
        self.vars.accumulated = 0;
    }

    /// A packet leaves, behind which so much still waits.
    pub(super) fn on_leaving<P>(&mut self, law: &Law, packet: &Packet<P>, backlog: Bytes, now: Instant) {
        let (arrived, now) = (ticks(packet.enqueued.as_nanos()), ticks(now.as_nanos()));
        self.vars.leave(law, now - arrived, packet.size + law.frame_header, backlog.count(), now);
    }
}

/// A queue under PIE.
#[derive(Debug)]
pub struct Pie<P> {
    queue: PacketQueue<P>,
    limit: usize,
    ecn: bool,
    law: Law,
    control: Control,
    random: RandomStream,
}

impl<P> Pie<P> {
    /// An empty queue.
    pub(super) fn new(config: &PieConfig, setup: &QueueSetup<'_>) -> Self {
        let law = config.gains().law(setup);
        Self {
            queue: PacketQueue::default(),
            limit: config.limit_packets as usize,
            ecn: config.ecn,
            law,
            control: Control::new(&law),
            random: setup.random("pie"),
        }
    }

    /// Why the packet is not let in.
    fn refusal(&mut self, packet: &mut Packet<P>, verdicts: &mut Verdicts<P>) -> Option<Reason> {
        if self.queue.packets() >= self.limit {
            return Some(Reason::Overlimit);
        }
        let backlog = self.queue.bytes();
        let is_in = !self.control.drops_early(&self.law, backlog, packet, &mut self.random)
            || (self.ecn && self.control.probability() <= MARKED_UP_TO && verdicts.mark(packet, Reason::Congestion));
        (!is_in).then_some(Reason::Congestion)
    }
}

impl<P: Send> Queue<P> for Pie<P> {
    fn enqueue(&mut self, mut packet: Box<Packet<P>>, now: Instant, verdicts: &mut Verdicts<P>) {
        self.control.catch_up(&self.law, self.queue.bytes(), now);
        match self.refusal(&mut packet, verdicts) {
            None => self.queue.push(packet),
            Some(reason) => {
                self.control.on_drop();
                verdicts.drop(packet, reason);
            }
        }
    }

    fn dequeue(&mut self, now: Instant, _verdicts: &mut Verdicts<P>) -> Option<Box<Packet<P>>> {
        self.control.catch_up(&self.law, self.queue.bytes(), now);
        let packet = self.queue.pop()?;
        self.control.on_leaving(&self.law, &packet, self.queue.bytes(), now);
        Some(packet)
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
    use crate::queue::tests::{Bench, packet_of, problem, setup};
    use crate::units::Duration;

    const DEFAULT: Gains = Gains {
        target_ns: 15_000_000,
        tupdate_ns: 15_000_000,
        alpha_hz: 0.125,
        beta_hz: 1.25,
        bytemode: false,
        dq_rate_estimator: false,
    };

    /// The probability after updates at these delays in milliseconds, starting from `start`.
    fn after(start: f64, delays_ms: &[u64]) -> f64 {
        let law = DEFAULT.law(&setup());
        let mut vars = Vars { probability: (start * CERTAIN as f64) as u64, ..Vars::default() };
        vars.old_delay = ticks(delays_ms[0] * 1_000_000);
        for delay in &delays_ms[1..] {
            vars.delay = ticks(delay * 1_000_000);
            vars.update(&law, 30_000);
        }
        vars.probability as f64 / CERTAIN as f64
    }

    #[test]
    fn the_probability_moves_by_distance_and_change() {
        // alpha (20 ms - 15 ms) + beta (20 ms - 18 ms), at the full gain.
        let expected = 0.2 + 0.125 * 0.005 + 1.25 * 0.002;
        assert!((after(0.2, &[18, 20]) - expected).abs() < 1e-6);
        // An eighth of it between 0.1 % and 1 %, half of it between 1 % and 10 %.
        for (start, gain) in [(0.05, 0.5), (0.005, 0.125), (0.000_5, 1.0 / 32.0)] {
            let expected = start + gain * (0.125 * 0.005 + 1.25 * 0.002);
            assert!((after(start, &[18, 20]) - expected).abs() < 1e-7, "{start}");
        }
    }

    #[test]
    fn the_probability_grows_by_two_percent_at_most_and_faster_above_a_quarter_second() {
        assert!((after(0.2, &[0, 100]) - 0.22).abs() < 1e-6);
        assert!((after(0.2, &[0, 300]) - 0.24).abs() < 1e-6);
    }

    #[test]
    fn the_probability_decays_when_the_queue_is_empty_and_never_below_zero() {
        let law = DEFAULT.law(&setup());
        let mut vars = Vars { probability: CERTAIN / 2, ..Vars::default() };
        vars.update(&law, 0);
        let expected = (0.5 - 0.125 * 0.015) * (1.0 - 1.0 / 64.0);
        assert!((vars.probability as f64 / CERTAIN as f64 - expected).abs() < 1e-6);
        for _ in 0..10_000 {
            vars.update(&law, 0);
        }
        assert_eq!((vars.probability, vars.burst), (0, ticks(BURST_NS)), "then the allowance is granted anew");
    }

    #[test]
    fn nothing_is_dropped_within_the_burst_allowance() {
        let mut bench = Bench::new(r#"{"kind": "pie"}"#);
        bench.standing(200, 2_000);
        let first = bench.drop_times_ms()[0];
        assert!((150..400).contains(&first), "{first}");
        assert!(bench.dropped.iter().all(|drop| drop.reason == Reason::Congestion));
    }

    #[test]
    fn drops_are_spread_out() {
        // At 5 % the first of 17 packets may go, and one of 170 does.
        let (law, mut random) = (DEFAULT.law(&setup()), setup().random("test"));
        let mut vars = Vars { probability: CERTAIN / 20, delay: ticks(20_000_000), ..Vars::default() };
        let backlog = Bytes::new(20_000);
        let mut drops = || {
            let drops = vars.drops_early(&law, backlog, Bytes::new(1_014), &mut random);
            vars.accumulated *= u64::from(!drops);
            drops
        };
        let dropped: Vec<_> = (0..100_000).filter(|_| drops()).collect();
        let gaps: Vec<_> = dropped.windows(2).map(|pair: &[i32]| pair[1] - pair[0]).collect();
        let (least, most) = (gaps.iter().min().copied(), gaps.iter().max().copied());
        assert!(least >= Some(17) && most <= Some(171), "{least:?} {most:?}");
        let mean = 100_000.0 / dropped.len() as f64;
        assert!((mean - 36.0).abs() < 1.5, "16 and then one in 20: {mean}");
    }

    #[test]
    fn what_can_be_marked_is_marked_up_to_ten_percent() {
        let mut bench = Bench::new(r#"{"kind": "pie", "ecn": true}"#);
        bench.ecn = Ecn::Ect0;
        bench.standing(300, 20_000);
        let first_drop = bench.dropped[0].time.as_millis();
        assert!(!bench.marked.is_empty() && bench.mark_times_ms().iter().all(|ms| *ms <= first_drop));
    }

    #[test]
    fn two_packets_are_no_queue() {
        let mut bench = Bench { gap_ms: 20, ..Bench::new(r#"{"kind": "pie"}"#) };
        bench.standing(2, 3_000);
        assert!(bench.dropped.is_empty());
    }

    #[test]
    fn the_rate_estimator_finds_the_rate() {
        let mut bench = Bench::new(r#"{"kind": "pie", "dq_rate_estimator": true}"#);
        bench.standing(60, 3_000);
        assert!(!bench.dropped.is_empty(), "60 ms at the measured rate are above the target");
        let mut bench = Bench::new(r#"{"kind": "pie", "dq_rate_estimator": true}"#);
        bench.standing(12, 20_000);
        assert!(bench.dropped.is_empty(), "too little waits for a measurement");
    }

    /// A state in which early drops are possible.
    fn busy(probability: u64) -> Vars {
        Vars { probability, delay: ticks(20_000_000), ..Vars::default() }
    }

    const BACKLOG: Bytes = Bytes::new(20_000);
    const FRAME: Bytes = Bytes::new(1_014);

    #[test]
    fn a_short_delay_spares_packets_only_while_the_probability_is_below_a_fifth() {
        let (law, mut random) = (DEFAULT.law(&setup()), setup().random("test"));
        let mut drops = |probability: f64, delay_ns| {
            let mut vars = Vars { delay: ticks(delay_ns), ..busy((probability * CERTAIN as f64) as u64) };
            (0..1_000).any(|_| vars.drops_early(&law, BACKLOG, FRAME, &mut random))
        };
        assert!(!drops(0.19, 7_000_000) && drops(0.21, 7_000_000) && drops(0.19, 7_600_000));
    }

    #[test]
    fn less_than_two_frames_are_spared() {
        let (law, mut random) = (DEFAULT.law(&setup()), setup().random("test"));
        for (backlog, drops) in [(2_027, false), (2_028, true)] {
            let found = busy(CERTAIN).drops_early(&law, Bytes::new(backlog), FRAME, &mut random);
            assert_eq!(found, drops, "{backlog}");
        }
    }

    #[test]
    fn with_bytemode_a_packet_counts_by_its_size() {
        let mut random = setup().random("test");
        let law = Gains { bytemode: true, ..DEFAULT }.law(&setup());
        for (size, share) in [(507, 507), (1_014, 1_014)] {
            let mut vars = busy(CERTAIN / 20);
            vars.drops_early(&law, BACKLOG, Bytes::new(size), &mut random);
            assert_eq!(vars.accumulated, share * (CERTAIN / 20 / 1_014));
        }
    }

    #[test]
    fn chance_decides_from_a_sum_of_0_85_on_and_certainty_from_8_5_on() {
        let (law, mut random) = (DEFAULT.law(&setup()), setup().random("test"));
        let mut share = |probability: u64, accumulated| {
            let mut drops = || Vars { accumulated, ..busy(probability) }.drops_early(&law, BACKLOG, FRAME, &mut random);
            (0..1_000).filter(|_| drops()).count()
        };
        let (half, least, most) = (CERTAIN / 2, CERTAIN / 100 * 85, CERTAIN / 2 * 17);
        assert_eq!(share(half, least - half - 1), 0);
        assert!((400..600).contains(&share(half, least - half)));
        assert_eq!((share(1, most - 2), share(1, most - 1)), (0, 1_000));
    }

    #[test]
    fn the_sum_begins_anew_with_a_drop_by_chance_and_with_one_at_the_limit() {
        let (law, mut random) = (DEFAULT.law(&setup()), setup().random("test"));
        let mut vars = Vars { accumulated: CERTAIN, ..busy(CERTAIN) };
        assert!(vars.drops_early(&law, BACKLOG, FRAME, &mut random));
        assert_eq!(vars.accumulated, 0);
        let config = serde_json::from_str(r#"{"limit_packets": 1}"#).expect("a queue");
        let (mut queue, mut verdicts) = (Pie::<()>::new(&config, &setup()), Verdicts::default());
        queue.enqueue(packet_of(0, 0, 1_000), Instant::ZERO, &mut verdicts);
        queue.control.vars.accumulated = CERTAIN;
        queue.enqueue(packet_of(0, 1, 1_000), Instant::ZERO, &mut verdicts);
        assert_eq!((verdicts.drops(), queue.control.vars.accumulated), (1, 0));
    }

    #[test]
    fn a_small_probability_may_grow_by_more_than_two_percent_and_250_ms_are_not_above_a_quarter_second() {
        let expected = 0.05 + 0.5 * (0.125 * 0.085 + 1.25 * 0.1);
        assert!((after(0.05, &[0, 100]) - expected).abs() < 1e-6);
        assert!((after(0.2, &[0, 250]) - 0.22).abs() < 1e-6);
        assert!((after(0.2, &[0, 251]) - 0.24).abs() < 1e-6);
    }

    #[test]
    fn gains_shrink_down_to_a_2048th_below_one_in_a_million() {
        let law = DEFAULT.law(&setup());
        let change = |one_in: u64| {
            Vars { probability: CERTAIN / one_in, ..Vars::default() }.change(&law, ticks(20_000_000), ticks(18_000_000))
        };
        for (one_in, part) in [(200_000, 512.0), (2_000_000, 2_048.0), (20_000_000, 2_048.0)] {
            let found = change(5) as f64 / change(one_in) as f64;
            assert!((found / part - 1.0).abs() < 1e-3, "one in {one_in}: {found}");
        }
    }

    #[test]
    fn the_probability_does_not_decay_while_something_waits() {
        let mut vars = Vars { probability: CERTAIN / 2, ..Vars::default() };
        vars.update(&DEFAULT.law(&setup()), 30_000);
        assert!((vars.probability as f64 / CERTAIN as f64 - (0.5 - 0.125 * 0.015)).abs() < 1e-6);
    }

    #[test]
    fn the_burst_allowance_comes_back_after_two_low_delays() {
        let law = DEFAULT.law(&setup());
        let mut vars = Vars { old_delay: ticks(10_000_000), delay: ticks(5_000_000), ..Vars::default() };
        vars.update(&law, 30_000);
        assert_eq!((vars.probability, vars.burst), (0, 0));
        vars.update(&law, 30_000);
        assert_eq!(vars.burst, ticks(BURST_NS));
    }

    #[test]
    fn a_restart_forgets_all_measurements_and_no_delay() {
        let delays = Vars { delay: 1, old_delay: 2, ..Vars::default() };
        let mut vars = Vars { stamp: Some(3), accumulated: 4, measured: Some(5), rate: 6, ..delays };
        vars.restart();
        assert_eq!(vars, Vars { burst: ticks(BURST_NS), ..delays });
    }

    #[test]
    fn the_rate_is_measured_over_16_kib_of_frames_and_smoothed_by_an_eighth() {
        let law = Gains { dq_rate_estimator: true, ..DEFAULT }.law(&setup());
        let mut control = Control::new(&law);
        let leave = |control: &mut Control, backlog, ms| {
            let packet = packet_of(0, 0, 1_000);
            control.on_leaving(&law, &packet, Bytes::new(backlog), Instant::ZERO + Duration::from_millis(ms));
        };
        leave(&mut control, 16_383, 0);
        assert_eq!(control.vars.measured, None, "too little waits");
        leave(&mut control, 16_384, 0);
        assert_eq!(control.vars.measured, Some(1_014));
        (1..17).for_each(|ms| leave(&mut control, 16_384, ms));
        let first = ((17 * 1_014) << RATE_SHIFT) / ticks(16_000_000);
        assert_eq!((control.vars.rate, control.vars.measured), (first, Some(0)));
        (0..17).for_each(|n| leave(&mut control, 16_384, 18 + 2 * n));
        let second = ((17 * 1_014) << RATE_SHIFT) / ticks(34_000_000);
        assert_eq!(control.vars.rate, first - first / 8 + second / 8);
    }

    #[test]
    fn the_last_packet_leaves_no_delay() {
        let mut vars = Vars::default();
        vars.leave(&DEFAULT.law(&setup()), 500, FRAME, 1_000, 10);
        assert_eq!(vars.delay, 500);
        vars.leave(&DEFAULT.law(&setup()), 500, FRAME, 0, 20);
        assert_eq!(vars.delay, 0);
    }

    #[test]
    fn above_ten_percent_what_could_be_marked_is_dropped() {
        let config = serde_json::from_str(r#"{"ecn": true}"#).expect("a queue");
        for (probability, drops_it) in [(MARKED_UP_TO, false), (MARKED_UP_TO + 1, true)] {
            let (mut queue, mut verdicts) = (Pie::<()>::new(&config, &setup()), Verdicts::default());
            (0..3).for_each(|number| queue.enqueue(packet_of(0, number, 1_000), Instant::ZERO, &mut verdicts));
            queue.control.vars = Vars { accumulated: CERTAIN / 2 * 17, ..busy(probability) };
            let mut packet = packet_of(0, 3, 1_000);
            packet.ecn = Ecn::Ect0;
            queue.enqueue(packet, Instant::ZERO, &mut verdicts);
            assert_eq!((verdicts.drops(), verdicts.marked().len()), (usize::from(drops_it), usize::from(!drops_it)));
        }
    }

    #[test]
    fn probabilities_are_computed_every_whole_millisecond_that_is_no_shorter_before_a_packet_comes_or_leaves() {
        assert_eq!(Gains { tupdate_ns: 15_000_001, ..DEFAULT }.law(&setup()).period, 16);
        let config = serde_json::from_str("{}").expect("a queue");
        let (mut queue, mut verdicts) = (Pie::<()>::new(&config, &setup()), Verdicts::default());
        (0..2).for_each(|number| queue.enqueue(packet_of(0, number, 1_000), Instant::ZERO, &mut verdicts));
        let now = Instant::ZERO + Duration::from_millis(100);
        assert!(queue.control.timer.clone().fire(now));
        queue.dequeue(now, &mut verdicts);
        assert!(!queue.control.timer.fire(now));
    }

    #[test]
    fn impossible_parameters_are_refused() {
        for (json, part) in [
            (r#"{"kind": "pie", "limit_packets": 0}"#, "limit 0 is not possible"),
            (r#"{"kind": "pie", "tupdate_ns": 0}"#, "tupdate 0s is not possible"),
            (r#"{"kind": "pie", "alpha_hz": 3.0}"#, "alpha 3 is not possible; give 0 to 2"),
        ] {
            assert!(problem(json).contains(part), "{}", problem(json));
        }
    }
}
