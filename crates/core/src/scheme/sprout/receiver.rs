//! What Sprout's receiver does: counts packets per tick, keeps a belief about the rate, forecasts (`receiver.cc`).

use super::TICK;
use super::forecast::{Forecast, TICKS, forecast};
use super::rates::{Belief, RATES, evolve, observe};
use crate::units::{Duration, Instant};

/// After so many ticks in one go nothing is left of what was known before them.
const LONGEST_GAP: u64 = 500;
/// Ticks that pass before the first packet: the clock of the program begins at a second, its belief at zero, and a forecast is made
/// when a connection is (`frozen_timestamp`, `Connection`).
const TICKS_BEFORE: usize = 49;
/// Weight of a tick's count in the moving average.
const NEW_SHARE: f64 = 1.0 / 8.0;

/// How counts become a forecast.
#[derive(Debug)]
pub(super) enum Model {
    /// A probability per rate.
    Bayes(Box<Belief>),
    /// A moving average, packets per tick.
    Average(f64),
}

impl Model {
    pub(super) fn bayes() -> Self {
        let mut belief = [1.0 / RATES as f64; RATES];
        (0..TICKS_BEFORE).for_each(|_| evolve(&mut belief));
        Self::Bayes(Box::new(belief))
    }

    fn evolve(&mut self) {
        if let Self::Bayes(belief) = self {
            evolve(belief);
        }
    }

    fn observe(&mut self, packets: f64) {
        match self {
            Self::Bayes(belief) => {
                let count = if packets > 0.0 { packets.round().max(1.0) } else { 0.0 };
                observe(belief, count as u32);
            }
            Self::Average(rate) => *rate += NEW_SHARE * (packets - *rate),
        }
    }

    fn forecast(&self) -> Forecast {
        match self {
            Self::Bayes(belief) => forecast(belief),
            Self::Average(rate) => std::array::from_fn(|tick| (rate * (tick + 1) as f64) as u32),
        }
    }

    /// Packets per tick that are expected.
    pub(super) fn mean(&self) -> f64 {
        match self {
            Self::Bayes(belief) => {
                let share = |(index, probability): (usize, &f64)| probability * super::rates::packets_per_tick(index);
                belief.iter().enumerate().map(share).sum()
            }
            Self::Average(rate) => *rate,
        }
    }
}

/// Counts what arrives, by the receiver's clock.
#[derive(Debug)]
pub(super) struct Receiver {
    model: Model,
    /// The beginning of this tick; `None` before the first packet.
    tick: Option<Instant>,
    /// From then on an empty tick says something: the sender would have sent more (`_score_time`).
    silence_counts_from: Instant,
    packets: f64,
}

impl Receiver {
    pub(super) fn new(model: Model) -> Self {
        Self { model, tick: None, silence_counts_from: Instant::ZERO, packets: 0.0 }
    }

    pub(super) fn model(&self) -> &Model {
        &self.model
    }

    /// A packet arrived, after which the sender promised nothing for a time; a forecast if this is a new tick.
    pub(super) fn accept(&mut self, now: Instant, packets: f64, promised_pause: Duration) -> Option<Forecast> {
        let is_first = self.tick.is_none();
        let start = *self.tick.get_or_insert(now);
        let tick = self.advance(start, now);
        self.packets += packets;
        self.silence_counts_from = self.silence_counts_from.max(tick + promised_pause);
        (is_first || tick > start).then(|| self.model.forecast())
    }

    /// Lets ticks pass; returns the beginning of the one that `now` is in.
    fn advance(&mut self, start: Instant, now: Instant) -> Instant {
        let mut tick = start;
        let gap = now.since(start).as_nanos() / TICK.as_nanos();
        tick += TICK * gap.saturating_sub(LONGEST_GAP);
        while tick + TICK < now {
            self.model.evolve();
            if tick >= self.silence_counts_from || self.packets > 0.0 {
                self.model.observe(self.packets);
                self.packets = 0.0;
            }
            tick += TICK;
        }
        self.tick = Some(tick);
        tick
    }
}

/// What a forecast says of the ticks that have not come yet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outlook {
    counts: Forecast,
    since: Instant,
    tick: usize,
}

impl Outlook {
    pub(super) fn new(counts: Forecast, now: Instant) -> Self {
        Self { counts, since: now, tick: 0 }
    }

    /// Lets ticks pass; returns how many packets the link is taken to have delivered in them. Counts are cumulative,
    /// yet all of them are added up, as in the source.
    pub(super) fn advance(&mut self, now: Instant) -> u32 {
        let passed = (now.since(self.since).as_nanos() / TICK.as_nanos()) as usize;
        let tick = passed.min(TICKS - 1);
        let delivered = if tick > self.tick { self.counts[self.tick..tick].iter().sum() } else { 0 };
        self.tick = self.tick.max(tick);
        delivered
    }

    /// Packets that the link will deliver within `ticks`.
    pub(super) fn within(&self, ticks: usize) -> u32 {
        self.counts[(self.tick + ticks).min(TICKS - 1)].saturating_sub(self.counts[self.tick])
    }

    /// When the next tick begins; `None` if the forecast ends before.
    pub(super) fn next_tick(&self) -> Option<Instant> {
        (self.tick < TICKS - 1).then(|| self.since + TICK * (self.tick + 1) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    const PAUSE: Duration = Duration::from_millis(50);

    #[test]
    fn the_first_forecast_is_of_a_second_without_observation() {
        assert_eq!(Model::bayes().forecast(), [2, 5, 8, 11, 13, 16, 19, 22]);
    }

    #[test]
    fn a_forecast_comes_with_every_new_tick() {
        let mut receiver = Receiver::new(Model::Average(0.0));
        assert!(receiver.accept(at(100), 1.0, Duration::ZERO).is_some());
        assert!(receiver.accept(at(110), 1.0, Duration::ZERO).is_none());
        assert!(receiver.accept(at(120), 1.0, Duration::ZERO).is_none(), "a tick ends after 20 ms");
        assert_eq!(receiver.accept(at(121), 1.0, Duration::ZERO), Some([0, 0, 1, 1, 1, 2, 2, 3]), "3/8 per tick");
    }

    #[test]
    fn empty_ticks_count_only_when_something_was_due() {
        for (pause, averages) in [(PAUSE, 1), (Duration::ZERO, 4)] {
            let mut receiver = Receiver::new(Model::Average(8.0));
            receiver.accept(at(0), 8.0, pause);
            receiver.accept(at(81), 8.0, pause);
            // Eight packets, then three empty ticks.
            let seen = f64::from(averages) - 1.0;
            let expected = 8.0 * 0.875_f64.powf(if pause.is_zero() { seen } else { 1.0 });
            assert!((receiver.model.mean() - expected).abs() < 1e-9, "{}", receiver.model.mean());
        }
    }

    #[test]
    fn a_long_gap_costs_little_and_leaves_a_belief() {
        let mut receiver = Receiver::new(Model::bayes());
        receiver.accept(at(0), 1.0, PAUSE);
        let forecast = receiver.accept(at(86_000_000), 1.0, PAUSE).expect("a new tick");
        assert_eq!(forecast, [0; TICKS], "a day of silence is an outage");
    }

    #[test]
    fn an_outlook_ends_at_its_eighth_tick() {
        let mut outlook = Outlook::new([1, 2, 4, 6, 8, 10, 12, 15], at(0));
        assert_eq!((outlook.advance(at(19)), outlook.within(5)), (0, 9));
        assert_eq!((outlook.advance(at(40)), outlook.within(5)), (3, 11));
        assert_eq!((outlook.advance(at(40)), outlook.next_tick()), (0, Some(at(60))));
        assert_eq!(outlook.advance(at(10_000)), 4 + 6 + 8 + 10 + 12);
        assert_eq!((outlook.within(5), outlook.next_tick()), (0, None));
    }
}
