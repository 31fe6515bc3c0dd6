//! Monitor intervals and their utility (`pcc_monitor_interval_queue.cpp`), in its units and in its precision: where two
//! utilities are next to equal, their last bits decide.

use crate::units::Bytes;

const EXPONENT: f32 = 0.9;
const LATENCY_COEFFICIENT: f32 = 11_330.0;
const LOSS_COEFFICIENT: f64 = 11.35;
/// Up to this ratio of loss counts as it is.
const LOSS_LIMIT: f64 = 0.03;
const BITS_PER_MEBIBIT: f32 = 1_048_576.0;
const MICROS_PER_SECOND: f32 = 1e6;

/// Rate and utility of an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Outcome {
    pub(super) rate: f64,
    pub(super) utility: f32,
}

/// Of the interval under way. Times are in microseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Current {
    pub(super) rate: f64,
    /// Its utility is of interest.
    pub(super) is_useful: bool,
    pub(super) start: u64,
    pub(super) end: u64,
    /// The average round trip when it began, or 0.
    pub(super) rtt: u64,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fate {
    /// It arrived, after so many microseconds.
    Arrived(u64),
    Lost,
}

/// What an event completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    Nothing,
    /// The utilities of all useful intervals are known.
    Known,
    /// One of them has none, since a single packet has no speed.
    Void,
}

#[derive(Debug)]
struct Interval {
    rate: f64,
    /// Numbers of its packets.
    first: u64,
    last: u64,
    start: u64,
    last_sent: u64,
    end: u64,
    acked: u32,
    lost: u32,
    /// Round trips in the order of their acks, microseconds.
    rtts: Vec<u64>,
    utility: f32,
}

impl Interval {
    fn sent(&self) -> u32 {
        (self.last + 1 - self.first) as u32
    }

    fn is_known(&self, now: u64) -> bool {
        now >= self.end && self.acked + self.lost == self.sent()
    }

    /// True if the packet is one of it.
    fn count(&mut self, packet: u64, fate: Fate) -> bool {
        let is_of = (self.first..=self.last).contains(&packet);
        match fate {
            _ if !is_of => {}
            Fate::Arrived(rtt) => {
                self.acked += 1;
                self.rtts.push(rtt);
            }
            Fate::Lost => self.lost += 1,
        }
        is_of
    }

    /// How much longer round trips were in the second half than in the first, as a share of their mean, in steps of two
    /// percent, towards zero.
    fn trend(&self) -> f32 {
        let half = self.rtts.len() / 2;
        let sum = |part: &[u64]| part.iter().fold(0.0, |sum: f32, rtt| sum + *rtt as f32);
        let (first, second) = (sum(&self.rtts[..half]), sum(&self.rtts[half..2 * half]));
        let rise = (2.0 * f64::from(second - first) / f64::from(first + second)) as f32;
        // Of a single round trip or none.
        if rise.is_nan() {
            return 0.0;
        }
        // There and back is not always the same: 58 hundredths become 57.
        let hundredths = (f64::from((rise * 100.0).trunc()) / 100.0 * 100.0).trunc();
        ((hundredths / 2.0).trunc() * 2.0 / 100.0) as f32
    }

    /// The utility as coded: the latency term is per packet, and a falling round trip is rewarded. Of payload; `None`
    /// if there is no time between the first packet and the last.
    fn utility(&self, payload: Bytes) -> Option<f32> {
        let micros = self.last_sent - self.start;
        if micros == 0 {
            return None;
        }
        let packets = self.sent() as f32;
        let bytes = |packets: u32| (payload.count() * u64::from(packets)) as f32;
        let speed = bytes(self.sent()) * 8.0 / (micros as f32 / MICROS_PER_SECOND) / BITS_PER_MEBIBIT;
        let reward = f64::from(speed).powf(f64::from(EXPONENT)) as f32;
        let latency = LATENCY_COEFFICIENT * bytes(self.sent()) * self.trend();
        let ratio = bytes(self.lost) / bytes(self.sent());
        let coefficient = if f64::from(ratio) <= LOSS_LIMIT { 1.0 } else { LOSS_COEFFICIENT };
        let loss = (f64::from(packets) * (coefficient * (f64::from(1.0 + ratio) - 1.0))) as f32;
        Some(reward - (loss + latency) * speed / packets)
    }
}

/// The useful intervals whose utilities are awaited, and the one under way.
#[derive(Debug)]
pub(super) struct Intervals {
    payload: Bytes,
    useful: Vec<Interval>,
    current: Option<Current>,
    /// Memory for the round trips of new ones.
    spare: Vec<Vec<u64>>,
}

impl Intervals {
    /// None yet, of packets with so much payload.
    pub(super) fn new(payload: Bytes) -> Self {
        Self { payload, useful: Vec::new(), current: None, spare: Vec::new() }
    }

    /// How many useful ones are awaited.
    pub(super) fn useful(&self) -> usize {
        self.useful.len()
    }

    /// The one under way; `None` if the next packet begins one.
    pub(super) fn current(&self) -> Option<Current> {
        self.current
    }

    /// True if one is under way that is useful.
    pub(super) fn is_in_useful(&self) -> bool {
        self.current.is_some_and(|current| current.is_useful)
    }

    /// The next packet, of this number, begins one.
    pub(super) fn begin(&mut self, current: Current, first: u64) {
        let Current { rate, start, end, .. } = current;
        if current.is_useful {
            let rtts = self.spare.pop().unwrap_or_default();
            let counts = Interval {
                rate,
                first,
                last: first,
                start,
                last_sent: start,
                end,
                acked: 0,
                lost: 0,
                rtts,
                utility: 0.0,
            };
            self.useful.push(counts);
        }
        self.current = Some(current);
    }

    /// A packet leaves in the one under way.
    pub(super) fn on_sent(&mut self, packet: u64, now: u64) {
        let is_useful = self.is_in_useful();
        if let Some(interval) = self.useful.last_mut().filter(|_| is_useful) {
            (interval.last, interval.last_sent) = (packet, now);
        }
    }

    /// What became of a packet.
    pub(super) fn on_event(&mut self, packet: u64, fate: Fate, now: u64) -> News {
        let payload = self.payload;
        for interval in &mut self.useful {
            if !interval.is_known(now) && interval.count(packet, fate) && interval.is_known(now) {
                let Some(utility) = interval.utility(payload) else { return News::Void };
                interval.utility = utility;
            }
        }
        let is_known = !self.useful.is_empty() && self.useful.iter().all(|interval| interval.is_known(now));
        if is_known { News::Known } else { News::Nothing }
    }

    /// What the useful ones came to.
    pub(super) fn outcomes(&self) -> Vec<Outcome> {
        self.useful.iter().map(|interval| Outcome { rate: interval.rate, utility: interval.utility }).collect()
    }

    /// The useful ones are done with, and the one under way too if it is among them.
    pub(super) fn forget(&mut self) {
        self.current = self.current.filter(|current| !current.is_useful);
        self.spare.extend(self.useful.drain(..).map(|interval| {
            let mut rtts = interval.rtts;
            rtts.clear();
            rtts
        }));
    }

    /// All are done with.
    pub(super) fn clear(&mut self) {
        self.forget();
        self.current = None;
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "the last bit is meant")]
mod tests {
    use super::*;

    const START: u64 = 1_000_000;

    /// One interval of packets a millisecond apart, which is over with the last of them.
    fn of(packets: u64) -> Intervals {
        let mut intervals = Intervals::new(Bytes::new(1_456));
        let end = START + 1_000 * (packets - 1);
        intervals.begin(Current { rate: 10.0, is_useful: true, start: START, end, rtt: 50_000 }, 7);
        for n in 0..packets {
            intervals.on_sent(7 + n, START + 1_000 * n);
        }
        intervals
    }

    /// The utility of an interval of a hundred packets with such round trips, of which the rest is lost.
    fn utility(rtts: &[u64]) -> f32 {
        let mut intervals = of(100);
        for n in 0..100 {
            let fate = rtts.get(n as usize).map_or(Fate::Lost, |rtt| Fate::Arrived(*rtt));
            let news = intervals.on_event(7 + n, fate, 2 * START);
            assert_eq!(news, if n == 99 { News::Known } else { News::Nothing });
        }
        intervals.outcomes()[0].utility
    }

    #[test]
    fn utilities_are_those_of_the_program_to_the_last_bit() {
        let steady = vec![50_000; 100];
        let rising = [vec![50_000; 50], vec![51_600; 50]].concat();
        let falling = [vec![51_600; 50], vec![50_000; 50]].concat();
        let huge = [vec![50_000; 50], vec![90_900; 50]].concat();
        let found = [&steady[..], &steady[..97], &steady[..96], &rising, &falling, &huge].map(utility);
        let program = [8.810_785, 8.474_168, 3.716_635_7, -3_702_000.8, 3_702_018.3, -103_656_264.0];
        assert_eq!(found, program, "none lost; 3 and 4 %; 3.1 % longer and shorter; 58 %");
    }

    #[test]
    fn a_single_round_trip_has_no_trend() {
        assert!((-200.0..0.0).contains(&utility(&[50_000])), "only the loss counts");
    }

    #[test]
    fn a_result_waits_for_the_end_and_for_every_packet() {
        let mut intervals = of(3);
        let end = START + 2_000;
        assert_eq!(intervals.on_event(6, Fate::Arrived(1), end), News::Nothing, "none of its packets");
        assert_eq!(intervals.on_event(7, Fate::Arrived(1), end), News::Nothing);
        assert_eq!(intervals.on_event(8, Fate::Lost, end), News::Nothing);
        assert_eq!(intervals.on_event(9, Fate::Arrived(1), end), News::Known);
        intervals.forget();
        assert_eq!((intervals.useful(), intervals.current().is_none()), (0, true));
    }

    #[test]
    fn one_whose_packets_are_all_known_before_its_end_is_worth_nothing() {
        let mut intervals = of(3);
        for packet in 7..10 {
            assert_eq!(intervals.on_event(packet, Fate::Arrived(1), START + 1_999), News::Nothing);
        }
        assert_eq!(intervals.on_event(10, Fate::Arrived(1), START + 2_000), News::Known);
        assert_eq!(intervals.outcomes(), [Outcome { rate: 10.0, utility: 0.0 }]);
    }

    #[test]
    fn a_single_packet_has_no_utility() {
        assert_eq!(of(1).on_event(7, Fate::Arrived(1), START), News::Void);
    }
}
