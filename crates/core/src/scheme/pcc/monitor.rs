//! Monitor intervals: what was sent at one rate, and what became of it.

use std::collections::VecDeque;

use crate::units::Instant;

/// Bits of a packet's state that hold its send time in microseconds; the rest is the number of its interval.
const TIME_BITS: u32 = 40;
const TIME_MASK: u64 = (1 << TIME_BITS) - 1;

/// One interval.
#[derive(Clone, Debug)]
pub(super) struct Interval {
    /// From zero.
    pub(super) number: u64,
    /// What the sender wanted.
    pub(super) rate: f64,
    pub(super) start: Instant,
    pub(super) last_sent: Instant,
    /// When the next one began; `None` while this one is open.
    pub(super) end: Option<Instant>,
    pub(super) sent: u32,
    pub(super) acked: u32,
    /// Its last packet arrived.
    pub(super) is_last_acked: bool,
    pub(super) lost: u32,
    /// When packets were sent and their round trips, as far as those were measured, whole microseconds.
    samples: Vec<(u64, u64)>,
    rtt_sum: u64,
}

impl Interval {
    /// Round trip on average, microseconds; `None` before the first.
    pub(super) fn mean_rtt(&self) -> Option<f64> {
        mean(self.rtt_sum, self.samples.len())
    }

    /// Seconds from its start to its last packet, by a clock of microseconds.
    pub(super) fn sending_time(&self) -> f64 {
        (self.last_sent.as_micros() - self.start.as_micros()) as f64 / 1e6
    }

    /// The slope of round trips over send times, by least squares; zero if it cannot be known.
    ///
    /// Of numbers in microseconds, with their means taken away, packet by packet: without noise slopes are often whole
    /// percents, and the last digit says which side of one they are on.
    pub(super) fn rtt_slope(&self) -> f64 {
        let n = self.samples.len() as f64;
        let sent_sum: u64 = self.samples.iter().map(|(sent, _)| sent).sum();
        let (mean_sent, mean_rtt) = (sent_sum as f64 / n, self.rtt_sum as f64 / n);
        let (mut products, mut squares) = (0.0, 0.0);
        for (sent, rtt) in &self.samples {
            let from_mean = *sent as f64 - mean_sent;
            products += from_mean * (*rtt as f64 - mean_rtt);
            squares += from_mean * from_mean;
        }
        if squares > 0.0 { products / squares } else { 0.0 }
    }

    /// Everything that is not acknowledged counts as lost; what arrived, in the order in which it left.
    fn close(&mut self) {
        self.lost = self.sent - self.acked;
        self.samples.sort_by_key(|(sent, _)| *sent);
    }
}

fn mean(sum: u64, samples: usize) -> Option<f64> {
    (samples > 0).then(|| sum as f64 / samples as f64)
}

/// Microseconds since a packet was sent.
fn age_micros(packet: u64, now: Instant) -> u64 {
    now.as_micros().wrapping_sub(packet & TIME_MASK) & TIME_MASK
}

/// The interval under way and those that wait for their results, oldest first.
#[derive(Debug, Default)]
pub(super) struct Monitors {
    waiting: VecDeque<Interval>,
    next: u64,
    /// Of those before, the round trips in microseconds, their sum and how many.
    past: VecDeque<(u64, usize)>,
}

impl Monitors {
    /// Begins an interval.
    pub(super) fn begin(&mut self, now: Instant, rate: f64) -> u64 {
        let mut expected = 0;
        if let Some(last) = self.waiting.back_mut() {
            last.end = Some(now);
            expected = last.sent as usize;
        }
        let number = self.next;
        self.next += 1;
        self.waiting.push_back(Interval {
            number,
            rate,
            start: now,
            last_sent: now,
            end: None,
            sent: 0,
            acked: 0,
            is_last_acked: false,
            lost: 0,
            // Intervals last about as long as the one before.
            samples: Vec::with_capacity(expected),
            rtt_sum: 0,
        });
        number
    }

    /// The number that the next interval gets.
    pub(super) fn next_number(&self) -> u64 {
        self.next
    }

    /// A packet leaves; returns what is to come back with it.
    pub(super) fn on_sent(&mut self, now: Instant) -> u64 {
        let Some(current) = self.waiting.back_mut() else { return 0 };
        current.sent += 1;
        current.last_sent = now;
        (current.number << TIME_BITS) | (now.as_micros() & TIME_MASK)
    }

    /// The place of a packet's interval, counted from the oldest that waits; negative if it is done.
    #[inline]
    fn place(&self, packet: u64) -> i64 {
        let first = self.next - self.waiting.len() as u64;
        // The state holds the low bits of a number.
        (((packet >> TIME_BITS).wrapping_sub(first) << TIME_BITS) as i64) >> TIME_BITS
    }

    #[inline]
    fn find(&mut self, packet: u64) -> Option<&mut Interval> {
        let place = usize::try_from(self.place(packet)).ok()?;
        self.waiting.get_mut(place)
    }

    /// Measures the round trip of a packet that arrived.
    #[inline]
    pub(super) fn measure(&mut self, packet: u64, now: Instant) {
        let rtt = age_micros(packet, now);
        let Some(interval) = self.find(packet) else { return self.measure_late(packet, rtt) };
        interval.samples.push((packet & TIME_MASK, rtt));
        interval.rtt_sum += rtt;
    }

    /// The same of a packet whose interval is done with.
    #[cold]
    fn measure_late(&mut self, packet: u64, micros: u64) {
        let place = self.place_in_past(packet);
        if let Some((sum, samples)) = place.and_then(|place| self.past.get_mut(place)) {
            (*sum, *samples) = (*sum + micros, *samples + 1);
        }
    }

    fn place_in_past(&self, packet: u64) -> Option<usize> {
        usize::try_from(self.past.len() as i64 + self.place(packet)).ok()
    }

    /// The mean round trip so far of a packet's interval, microseconds, unless that is forgotten.
    pub(super) fn mean_rtt(&self, packet: u64) -> Option<f64> {
        match usize::try_from(self.place(packet)) {
            Ok(place) => self.waiting.get(place)?.mean_rtt(),
            Err(_) => self.past.get(self.place_in_past(packet)?).and_then(|(sum, samples)| mean(*sum, *samples)),
        }
    }

    /// A packet arrived; returns the number of its interval, unless that is done with.
    #[inline]
    pub(super) fn on_acked(&mut self, packet: u64) -> Option<u64> {
        let interval = self.find(packet)?;
        interval.acked += 1;
        let is_last = interval.end.is_some() && (interval.last_sent.as_micros() ^ packet) & TIME_MASK == 0;
        interval.is_last_acked |= is_last;
        Some(interval.number)
    }

    /// How many of the oldest intervals are over and done, or more than `most`.
    #[inline]
    pub(super) fn known(&self, most: usize, is_done: impl Fn(&Interval) -> bool) -> usize {
        let is_known = |interval: &&Interval| interval.end.is_some() && is_done(interval);
        let excess = self.waiting.len().saturating_sub(most);
        // Almost no ack completes an interval.
        if excess == 0 && self.waiting.front().is_none_or(|oldest| !is_known(&oldest)) {
            return 0;
        }
        self.waiting.iter().take_while(is_known).count().max(excess)
    }

    /// Takes the `known` oldest intervals, the newest of them first, as the originals do; of past ones at most `most`
    /// are remembered.
    pub(super) fn take(&mut self, known: usize, most: usize) -> impl Iterator<Item = Interval> {
        self.past.extend(self.waiting.iter().take(known).map(|interval| (interval.rtt_sum, interval.samples.len())));
        self.past.drain(..self.past.len().saturating_sub(most));
        self.waiting.drain(..known).rev().map(|mut interval| {
            interval.close();
            interval
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::units::Duration;

    /// An interval that lasted a second and ended as said.
    pub(in crate::scheme::pcc) fn interval(rate: f64, sent: u32, lost: u32, rtt: f64) -> Interval {
        let end = Instant::ZERO + Duration::from_secs(1);
        Interval {
            number: 0,
            rate,
            start: Instant::ZERO,
            last_sent: end,
            end: Some(end),
            sent,
            acked: sent - lost,
            is_last_acked: true,
            lost,
            samples: vec![(0, (rtt * 1e6) as u64); (sent - lost) as usize],
            rtt_sum: (rtt * 1e6) as u64 * u64::from(sent - lost),
        }
    }

    /// The same with a number.
    pub(in crate::scheme::pcc) fn numbered(number: u64, rate: f64, sent: u32, lost: u32) -> Interval {
        Interval { number, ..interval(rate, sent, lost, 0.1) }
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn take(
        monitors: &mut Monitors,
        most: usize,
        is_done: impl Fn(&Interval) -> bool,
    ) -> impl Iterator<Item = Interval> {
        let known = monitors.known(most, is_done);
        monitors.take(known, most)
    }

    /// An interval of ten packets, 10 ms apart, in which the next one begins with the last packet.
    fn ten_packets() -> (Monitors, Vec<u64>) {
        let mut monitors = Monitors::default();
        monitors.begin(at(1_000), 1.0);
        let packets = (0..10).map(|n| monitors.on_sent(at(1_000 + 10 * n))).collect();
        assert_eq!(monitors.begin(at(1_090), 2.0), 1);
        (monitors, packets)
    }

    #[test]
    fn packets_find_their_interval() {
        let (mut monitors, packets) = ten_packets();
        let later = monitors.on_sent(at(1_100));
        assert_eq!(take(&mut monitors, 9, |_| true).map(|first| first.lost).collect::<Vec<_>>(), [10]);
        assert_eq!(monitors.on_acked(packets[0]), None, "its interval is gone");
        assert_eq!(monitors.on_acked(later), Some(1));
        assert_eq!(take(&mut monitors, 9, |_| true).count(), 0, "it is not over");
    }

    #[test]
    fn the_slope_is_that_of_the_round_trips_that_were_measured() {
        let (mut monitors, packets) = ten_packets();
        for (n, packet) in packets.into_iter().enumerate().skip(1) {
            assert_eq!(monitors.on_acked(packet), Some(0));
            // The round trip of every second one, which grows by 1 ms per 10 ms.
            if n % 2 == 0 {
                monitors.measure(packet, at(1_000 + 10 * n as u64 + 100 + n as u64));
            }
        }
        let done = take(&mut monitors, 9, |interval| interval.is_last_acked).next().expect("its last packet");
        assert_eq!((done.sent, done.acked, done.lost), (10, 9, 1));
        assert!((done.rtt_slope() - 0.1).abs() < 1e-6, "{}", done.rtt_slope());
        assert!(done.mean_rtt().is_some_and(|rtt| (rtt - 105_000.0).abs() < 1e-9), "{:?}", done.mean_rtt());
        assert!((done.sending_time() - 0.09).abs() < 1e-9);
    }

    #[test]
    #[allow(clippy::float_cmp, reason = "the program has them exactly")]
    fn a_slope_of_whole_percents_is_one_to_the_last_digit_in_any_order_of_acks() {
        let micros = |micros| Instant::ZERO + Duration::from_micros(micros);
        for start in [0, 245_000, 1_234_567, 5_765_952] {
            for (gap, growth, expected) in
                [(2_400, 672, 0.28), (3_750, 2_250, 0.6), (1_000, 20, 0.02), (2_500, 150, 0.06)]
            {
                let mut monitors = Monitors::default();
                monitors.begin(micros(start), 1.0);
                let packets: Vec<_> = (0..10).map(|n| (n, monitors.on_sent(micros(start + gap * n)))).collect();
                for (n, packet) in packets.into_iter().rev() {
                    monitors.measure(packet, micros(start + gap * n + 50_000 + growth * n));
                }
                monitors.begin(micros(start + 9 * gap), 2.0);
                let slopes: Vec<_> = take(&mut monitors, 9, |_| true).map(|done| done.rtt_slope()).collect();
                assert_eq!(slopes, [expected], "from {start} us on, every {gap} us");
            }
        }
    }

    #[test]
    fn an_interval_is_sent_from_its_start_to_its_last_packet_however_late_the_next_one_begins() {
        let mut monitors = Monitors::default();
        monitors.begin(at(1_000), 1.0);
        for millis in [1_010, 1_020] {
            monitors.on_sent(at(millis));
        }
        monitors.begin(at(1_050), 2.0);
        let done = take(&mut monitors, 9, |_| true).next().expect("it is over");
        assert!((done.sending_time() - 0.02).abs() < 1e-9, "{}", done.sending_time());
    }

    #[test]
    fn only_an_ack_of_the_last_packet_tells_that_it_arrived() {
        let (mut monitors, packets) = ten_packets();
        monitors.on_acked(packets[8]);
        assert_eq!(take(&mut monitors, 9, |interval| interval.is_last_acked).count(), 0);
        monitors.on_acked(packets[9]);
        assert_eq!(take(&mut monitors, 9, |interval| interval.is_last_acked).count(), 1);
    }

    #[test]
    fn the_oldest_is_given_up_when_too_many_wait() {
        let (mut monitors, _) = ten_packets();
        assert_eq!(take(&mut monitors, 2, |_| false).count(), 0);
        let lost = take(&mut monitors, 1, |_| false).next().expect("one too many");
        assert_eq!((lost.sent, lost.lost), (10, 10));
    }

    #[test]
    fn the_newest_of_those_that_are_known_comes_first() {
        let (mut monitors, _) = ten_packets();
        monitors.begin(at(1_100), 3.0);
        let numbers: Vec<_> = take(&mut monitors, 9, |_| true).map(|interval| interval.number).collect();
        assert_eq!(numbers, [1, 0]);
    }

    #[test]
    fn a_round_trip_counts_for_its_interval_after_the_result_too_until_that_is_forgotten() {
        let (mut monitors, packets) = ten_packets();
        let measure = |monitors: &mut Monitors, packet: usize, millis| {
            monitors.measure(packets[packet], at(millis));
            monitors.mean_rtt(packets[packet])
        };
        assert_eq!(measure(&mut monitors, 0, 1_100), Some(100_000.0));
        assert_eq!(take(&mut monitors, 1, |_| true).count(), 1);
        assert_eq!(measure(&mut monitors, 1, 1_130), Some(110_000.0));
        monitors.begin(at(1_200), 3.0);
        assert_eq!(take(&mut monitors, 1, |_| true).count(), 1);
        assert_eq!(measure(&mut monitors, 2, 1_140), None);
    }

    #[test]
    fn both_ends_of_the_time_of_sending_are_whole_microseconds() {
        let mut one = interval(1.0, 1, 0, 0.1);
        (one.start, one.last_sent) = (Instant::from_nanos(1_999), Instant::from_nanos(3_000));
        assert!((one.sending_time() - 2e-6).abs() < 1e-12, "{}", one.sending_time());
    }
}
