//! The least delay of the last minutes, and the delay above it now (RFC 6817, section 3.4; libutp `DelayHist`).

use std::collections::VecDeque;

use crate::units::{Duration, Instant};

/// How long a bin of the base collects (RFC 6817 `BASE_HISTORY` is in minutes; libutp: 60 s).
const BIN: Duration = Duration::from_secs(60);

/// Base delay from bins of a minute, current delay from a few samples.
#[derive(Debug)]
pub(super) struct DelayHistory {
    bins: VecDeque<Duration>,
    max_bins: usize,
    bin_start: Instant,
    base: Option<Duration>,
    /// Delays, and what they were above the base of their time.
    recent: VecDeque<(Duration, Duration)>,
    max_recent: usize,
}

impl DelayHistory {
    /// Keeps `max_bins` minutes of base delay and the last `max_recent` samples.
    pub(super) fn new(max_bins: usize, max_recent: usize) -> Self {
        Self {
            bins: VecDeque::new(),
            max_bins,
            bin_start: Instant::ZERO,
            base: None,
            recent: VecDeque::with_capacity(max_recent),
            max_recent,
        }
    }

    /// Takes the one-way delay of a packet.
    pub(super) fn add(&mut self, delay: Duration, now: Instant) {
        if self.bins.is_empty() {
            self.bin_start = now;
            self.bins.push_back(delay);
        } else if let Some(bin) = self.bins.back_mut() {
            *bin = delay.min(*bin);
        }
        let base = self.base.map_or(delay, |base| base.min(delay));
        if self.recent.len() == self.max_recent {
            self.recent.pop_front();
        }
        self.recent.push_back((delay, delay.saturating_sub(base)));
        self.base = Some(base);
        if now.since(self.bin_start) > BIN {
            self.bin_start = now;
            if self.bins.len() == self.max_bins {
                self.bins.pop_front();
            }
            self.bins.push_back(delay);
            self.base = self.bins.iter().min().copied();
        }
    }

    /// The least delay of the last minutes; `None` before the first sample.
    pub(super) fn base(&self) -> Option<Duration> {
        self.base
    }

    /// The least of the last delays, above the base (RFC 6817, section 2.4.2).
    pub(super) fn queueing(&self) -> Duration {
        let least = self.recent.iter().map(|(delay, _)| *delay).min();
        least.zip(self.base).map_or(Duration::ZERO, |(delay, base)| delay.saturating_sub(base))
    }

    /// The least that one of the last delays was above the base of its time (libutp `cur_delay_hist`).
    pub(super) fn queueing_of_its_time(&self) -> Duration {
        self.recent.iter().map(|(_, above)| *above).min().unwrap_or_default()
    }

    /// The base was too low by `excess`.
    pub(super) fn raise_base(&mut self, excess: Duration) {
        for bin in &mut self.bins {
            *bin += excess;
        }
        self.base = self.base.map(|base| base + excess);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn the_queueing_delay_is_the_least_of_three_above_the_base() {
        let mut history = DelayHistory::new(13, 3);
        let mut queueing = Vec::new();
        for (time, delay) in [50, 60, 70, 80, 65, 90, 95, 99].into_iter().enumerate() {
            history.add(ms(delay), Instant::ZERO + ms(time as u64));
            queueing.push(history.queueing().as_millis());
        }
        assert_eq!(queueing, [0, 0, 0, 10, 15, 15, 15, 40]);
        assert_eq!(history.base(), Some(ms(50)));
    }

    #[test]
    fn a_base_is_forgotten_after_its_minutes() {
        let forgotten_after = |bins| {
            let mut history = DelayHistory::new(bins, 3);
            history.add(ms(50), Instant::ZERO);
            (1..2_000_u64)
                .find(|second| {
                    history.add(ms(80), Instant::ZERO + Duration::from_secs(*second));
                    history.base() == Some(ms(80))
                })
                .expect("every base is forgotten some day")
        };
        // A bin is closed by the first sample after its minute.
        assert_eq!(forgotten_after(13), 13 * 61);
        assert_eq!(forgotten_after(10), 10 * 61);
    }

    #[test]
    fn the_last_delays_are_above_the_base_of_now_or_of_their_time() {
        let mut history = DelayHistory::new(1, 3);
        history.add(ms(50), Instant::ZERO);
        let mut queueing = Vec::new();
        // The last one begins a minute, and with it the base is 80 ms.
        for (second, delay) in [(58, 80), (59, 90), (60, 85), (61, 80)] {
            history.add(ms(delay), Instant::ZERO + Duration::from_secs(second));
            queueing.push((history.queueing().as_millis(), history.queueing_of_its_time().as_millis()));
        }
        assert_eq!(queueing, [(0, 0), (0, 0), (30, 30), (0, 30)]);
    }

    #[test]
    fn the_least_delay_of_a_minute_outlives_it() {
        let mut history = DelayHistory::new(13, 3);
        for (second, delay) in [(0, 50), (1, 40), (2, 60), (61, 80)] {
            history.add(ms(delay), Instant::ZERO + Duration::from_secs(second));
        }
        assert_eq!(history.base(), Some(ms(40)));
    }

    #[test]
    fn a_raised_base_lowers_what_follows() {
        let mut history = DelayHistory::new(13, 1);
        history.add(ms(50), Instant::ZERO);
        history.raise_base(ms(20));
        history.add(ms(90), Instant::ZERO);
        assert_eq!((history.base(), history.queueing()), (Some(ms(70)), ms(20)));
    }
}
