//! How much window the receiver's buffer is to have: twice what the application takes in a round trip, and more while
//! that grows (dynamic right-sizing).
//!
//! **Source.** Linux `net/ipv4/tcp_input.c`: the round trip is that of time stamps, in whole milliseconds
//! (`tcp_rcv_rtt_measure_ts`), or what a whole window takes to arrive (`tcp_rcv_rtt_measure`); the window follows from
//! `tcp_rcv_space_adjust` and `tcp_rcvbuf_grow`.
//!
//! **Deviation.** Over sockets of UDP data does not tell which ack it has seen, so that the buffer keeps its size.

use std::hint::cold_path;

use crate::units::{Duration, Instant};

/// Below this the window does not follow a growing rate, but is wider by a share (`tcp_rcvbuf_low_rtt`).
const LOW_RTT_US: u64 = 1_000;

/// Of the clock that time stamps show (`TCP_TS_HZ`).
const TICK: Duration = Duration::from_millis(1);

/// What a receiver knows of its round trip, and of what its application takes in one. Positions are in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Autotuning {
    /// The round trip in eighths of a microsecond; zero before the first sample (`rcv_rtt_est.rtt_us`).
    rtt_eighths: u64,
    /// When the tick began that data echoed last (`rcv_rtt_last_tsecr`).
    last_tick: Instant,
    /// Where a window ends that has been arriving for a while, and since when (`rcv_rtt_est.seq`, `time`).
    window_end: u64,
    window_since: Option<Instant>,
    /// Taken by the application in a round trip, the most so far (`rcvq_space.space`).
    taken: u64,
    /// Where the present round trip's share begins, and when it began (`rcvq_space.seq`, `time`).
    counted_from: u64,
    counted_since: Instant,
}

impl Autotuning {
    /// That of a receiver whose application is taken to want so much in the first round trip.
    pub(super) fn new(taken: u64) -> Self {
        Self {
            rtt_eighths: 0,
            last_tick: Instant::ZERO,
            window_end: 0,
            window_since: None,
            taken,
            counted_from: 0,
            counted_since: Instant::ZERO,
        }
    }

    /// The connection is there (`tcp_init_buffer_space`).
    pub(super) fn begin(&mut self, now: Instant) {
        self.counted_since = now;
    }

    /// The round trip, zero as long as it seems to take none; `None` where data tells of no ack.
    pub(super) fn rtt(&self) -> Option<Duration> {
        (self.last_tick > Instant::ZERO).then(|| Duration::from_nanos(self.rtt_eighths * 1_000 / 8))
    }

    /// A full segment came that had seen an ack of time `echo`; what came before it has been read or not. True if that
    /// tells of the round trip anew.
    #[inline(always)]
    pub(super) fn on_echo(&mut self, echo: Instant, is_all_read: bool, now: Instant) -> bool {
        let is_known = echo >= self.last_tick && echo.since(self.last_tick) < TICK;
        if !is_known {
            cold_path();
            self.last_tick = Instant::from_nanos(echo.as_millis() * TICK.as_nanos());
            let sample = now.as_millis().saturating_sub(echo.as_millis()) * 1_000;
            if sample > 0 {
                self.sample(sample, is_all_read);
            }
        }
        !is_known
    }

    /// Everything before `next` has come, while a window of `window` was told (`tcp_rcv_rtt_measure`). Without time
    /// stamps that is no measure: it takes as long as the sender lets it.
    #[inline(always)]
    pub(super) fn on_next(&mut self, next: u64, window: u64, now: Instant) {
        if next >= self.window_end {
            cold_path();
            if self.rtt().is_none() {
                return;
            }
            if let Some(since) = self.window_since.replace(now) {
                let sample = now.as_micros().saturating_sub(since.as_micros()).max(1);
                if self.rtt_eighths == 0 || sample * 8 < self.rtt_eighths {
                    self.rtt_eighths = sample * 8;
                }
            }
            self.window_end = next + window;
        }
    }

    /// `tcp_rcv_rtt_update`.
    fn sample(&mut self, micros: u64, is_all_read: bool) {
        if self.rtt_eighths == 0 || micros * 8 < self.rtt_eighths {
            self.rtt_eighths = micros * 8;
        } else if is_all_read {
            self.rtt_eighths = self.rtt_eighths - self.rtt_eighths / 8 + micros;
        }
    }

    /// The application begins to take what is there, up to `next`: its first segment ends at `taken`. The window that
    /// the buffer should have, if that may be more than before (`tcp_rcv_space_adjust`), where `span` bytes from the
    /// first hole on are not all there.
    pub(super) fn on_read(&mut self, taken: u64, next: u64, span: u64, now: Instant) -> Option<u64> {
        let elapsed = now.as_micros().saturating_sub(self.counted_since.as_micros());
        if self.rtt_eighths == 0 || elapsed < self.rtt_eighths / 8 {
            return None;
        }
        let in_round_trip = (taken - self.counted_from).saturating_sub(next - taken);
        self.counted_from = taken;
        self.counted_since = now;
        if in_round_trip <= self.taken {
            return None;
        }
        let before = std::mem::replace(&mut self.taken, in_round_trip);
        let twice = 2 * in_round_trip;
        let more = self.share_in_short_time(twice).unwrap_or_else(|| {
            let growth = u128::from(in_round_trip - before) * 2 * u128::from(twice) / u128::from(before.max(1));
            growth as u64
        });
        Some(twice + more + span)
    }

    /// The window that the buffer should have while `span` bytes from the first hole on are not all there.
    pub(super) fn on_later(&self, span: u64) -> u64 {
        let twice = 2 * self.taken;
        twice + self.share_in_short_time(twice).unwrap_or_default() + span
    }

    /// What is added if the round trip is short, in place of what follows from a rate that grows (`tcp_rcvbuf_grow`).
    #[inline(always)]
    fn share_in_short_time(&self, window: u64) -> Option<u64> {
        let rtt = self.rtt_eighths / 8;
        (rtt < LOW_RTT_US).then(|| window * rtt / LOW_RTT_US)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// A receiver whose round trip is known to be 100 ms.
    fn tuned() -> Autotuning {
        let mut tuning = Autotuning::new(14_480);
        tuning.begin(at(100));
        tuning.on_echo(at(100), true, at(200));
        tuning
    }

    #[test]
    fn the_round_trip_is_the_mean_of_what_time_stamps_tell_while_nothing_waits_for_the_reader() {
        let mut tuning = tuned();
        assert_eq!(tuning.rtt_eighths, 800_000);
        tuning.on_echo(at(101), true, at(281));
        assert_eq!(tuning.rtt_eighths, 880_000, "an eighth of the way to 180 ms");
        tuning.on_echo(at(102), false, at(282));
        tuning.on_echo(at(102) + Duration::from_micros(999), true, at(382));
        assert_eq!(tuning.rtt_eighths, 880_000, "data waits for the reader; the tick has been seen");
        tuning.on_echo(at(103), false, at(153));
        assert_eq!(tuning.rtt_eighths, 400_000, "the least counts in any case");
        let mut short = Autotuning::new(14_480);
        short.on_echo(at(100), true, at(100) + Duration::from_micros(900));
        assert_eq!(short.rtt(), Some(Duration::ZERO), "less than a tick is nothing");
        assert_eq!((tuning.rtt(), Autotuning::new(14_480).rtt()), (Some(Duration::from_millis(50)), None));
    }

    #[test]
    fn a_window_that_arrives_in_less_than_the_round_trip_makes_it_shorter() {
        let mut tuning = tuned();
        tuning.on_next(1_000, 50_000, at(200));
        tuning.on_next(50_999, 50_000, at(210));
        assert_eq!(tuning.rtt_eighths, 800_000);
        tuning.on_next(51_000, 50_000, at(220));
        assert_eq!(tuning.rtt_eighths, 160_000);
        tuning.on_next(101_000, 50_000, at(320));
        assert_eq!(tuning.rtt_eighths, 160_000, "a longer one changes nothing");
    }

    #[test]
    fn the_window_is_twice_what_is_taken_and_more_while_that_grows() {
        let mut tuning = tuned();
        assert_eq!(tuning.on_read(10_000, 10_000, 0, at(199)), None, "a round trip is not over");
        // Half as much again: 2 * 21,720, and twice that by the growth.
        assert_eq!(tuning.on_read(21_720, 21_720, 0, at(200)), Some(86_880));
        assert_eq!(tuning.on_read(40_000, 40_000, 0, at(300)), None, "less than before");
        assert_eq!(
            tuning.on_read(70_000, 72_000, 5_000, at(400)),
            Some(56_000 + 112_000 * 6_280 / 21_720 + 5_000),
            "what waits is taken off, and what is not all there is added"
        );
        assert_eq!(tuning.on_later(1_000_000), 1_056_000);
    }

    #[test]
    fn without_time_stamps_the_window_stays() {
        let mut tuning = Autotuning::new(14_480);
        tuning.begin(at(0));
        (0..1_000).for_each(|number| {
            tuning.on_next(number * 50_000, 50_000, at(number * 100));
            let next = number * 50_000;
            assert_eq!(tuning.on_read(next, next, 0, at(number * 100)), None);
        });
    }

    #[test]
    fn with_a_short_round_trip_the_window_is_wider_by_a_share() {
        let mut tuning = Autotuning::new(14_480);
        tuning.on_echo(at(1), true, at(1));
        tuning.on_next(0, 100_000, at(1));
        tuning.on_next(100_000, 100_000, at(1) + Duration::from_micros(250));
        assert_eq!(tuning.on_read(100_000, 100_000, 0, at(2)), Some(250_000));
    }
}
