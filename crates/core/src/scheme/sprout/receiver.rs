//! What Sprout's receiver does: counts packets per tick, keeps a belief about the rate, forecasts (`receiver.cc`).

use super::TICK;
use super::forecast::{Forecast, TICKS, forecast};
use super::packets::{Packet, ReceivedPackets};
use super::rates::{Belief, RATES, evolve, normalise, observe};
use super::select_loop::{SelectLoop, clock};
use crate::units::{Bytes, Duration, Instant};

/// After a silence of so many ticks nothing is left of what was known before it, nor is there more to report.
const LONGEST_SILENCE: u64 = 500;
/// Ticks that pass before the first packet: the clock of the program begins at a second, its belief at zero, and a
/// forecast is made when a connection is (`frozen_timestamp`, `Connection`).
const TICKS_BEFORE: usize = 49;
/// How often the receiver sends an empty packet with a forecast (`fallback_interval` of the server).
const REPORT_INTERVAL: Duration = Duration::from_millis(20);
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
            // As the source adds them: of a steady rate the last bit decides what is left of the forecast.
            Self::Average(rate) => *rate = (1.0 - NEW_SHARE) * *rate + NEW_SHARE * packets,
        }
    }

    fn forecast(&mut self) -> Forecast {
        match self {
            Self::Bayes(belief) => {
                // Ticks without observation have left less than everything.
                normalise(belief);
                forecast(belief)
            }
            Self::Average(rate) => std::array::from_fn(|tick| (*rate * (tick + 1) as f64) as u32),
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

/// A packet from the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Report {
    /// `None` if the report before was of the same tick.
    pub(super) delivery: Option<Delivery>,
}

/// What a report says (`DeliveryForecast`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Delivery {
    pub(super) forecast: Forecast,
    /// Bytes.
    pub(super) received_or_lost: u64,
}

/// Counts what arrives, and reports.
#[derive(Debug)]
pub(super) struct Receiver {
    model: Model,
    /// Bytes of a packet.
    mss: f64,
    /// The beginning of this tick; `None` before the first packet.
    tick: Option<Instant>,
    /// From then on an empty tick says something: the sender would have sent more (`_score_time`).
    silence_counts_from: Instant,
    /// Packets in this tick.
    packets: f64,
    received: ReceivedPackets,
    last_packet: Instant,
    /// Runs from the first packet on.
    awake: Option<SelectLoop>,
    /// The tick that the last report was of.
    reported: Option<Instant>,
}

impl Receiver {
    pub(super) fn new(model: Model, mss: Bytes) -> Self {
        Self {
            model,
            mss: mss.count() as f64,
            tick: None,
            silence_counts_from: Instant::ZERO,
            packets: 0.0,
            received: ReceivedPackets::default(),
            last_packet: Instant::ZERO,
            awake: None,
            reported: None,
        }
    }

    pub(super) fn model(&self) -> &Model {
        &self.model
    }

    /// A packet arrived; a report if one leaves now.
    pub(super) fn accept(&mut self, now: Instant, packet: &Packet) -> Option<Report> {
        let tick = self.advance(now);
        self.packets += packet.length as f64 / self.mss;
        self.received.push(packet);
        self.last_packet = now;
        self.silence_counts_from = self.silence_counts_from.max(tick + packet.pause);
        self.awake.get_or_insert(SelectLoop::new(now, REPORT_INTERVAL));
        self.wake(now).then(|| self.report())
    }

    /// When it wakes if no packet comes; `None` before the first, and when all of a silence has been reported.
    pub(super) fn next_waking(&self) -> Option<Instant> {
        self.awake.map(|awake| awake.next()).filter(|at| *at <= self.last_packet + TICK * LONGEST_SILENCE)
    }

    /// Time passes without a packet; the last report that has left.
    pub(super) fn wake_until(&mut self, now: Instant) -> Option<Report> {
        let mut has_reported = false;
        while let Some(at) = self.next_waking().filter(|at| *at <= now) {
            has_reported |= self.wake(at);
        }
        has_reported.then(|| self.report())
    }

    /// Wakes; whether a report leaves.
    fn wake(&mut self, now: Instant) -> bool {
        let Some(awake) = &mut self.awake else { return false };
        let is_due = awake.wake(now);
        if is_due {
            awake.on_sent(now);
            self.advance(now);
        }
        is_due
    }

    fn report(&mut self) -> Report {
        let last = std::mem::replace(&mut self.reported, self.tick);
        let delivery = (self.tick != last)
            .then(|| Delivery { forecast: self.model.forecast(), received_or_lost: self.received.bytes() });
        Report { delivery }
    }

    /// Lets ticks pass; returns the beginning of the one that `now` is in.
    fn advance(&mut self, now: Instant) -> Instant {
        let now = clock(now);
        let mut tick = *self.tick.get_or_insert(now);
        let gap = now.since(tick).as_nanos() / TICK.as_nanos();
        tick += TICK * gap.saturating_sub(LONGEST_SILENCE);
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
        Self { counts, since: clock(now), tick: 0 }
    }

    /// Lets ticks pass; returns how many packets the link is taken to have delivered in them. Counts are cumulative,
    /// yet all of them are added up, as in the source.
    pub(super) fn advance(&mut self, now: Instant) -> u32 {
        let passed = (clock(now).since(self.since).as_nanos() / TICK.as_nanos()) as usize;
        let tick = passed.min(TICKS - 1);
        let delivered = if tick > self.tick { self.counts[self.tick..tick].iter().sum() } else { 0 };
        self.tick = self.tick.max(tick);
        delivered
    }

    /// Whether none of its ticks is to come.
    pub(super) fn is_over(&self) -> bool {
        self.tick == TICKS - 1
    }

    /// Packets that the link will deliver within `ticks`.
    pub(super) fn within(&self, ticks: usize) -> u32 {
        self.counts[(self.tick + ticks).min(TICKS - 1)].saturating_sub(self.counts[self.tick])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    const PAUSE: Duration = Duration::from_millis(50);
    const MSS: Bytes = Bytes::new(1_400);

    /// So many packets at once.
    fn packet(packets: u64, pause: Duration) -> Packet {
        Packet { sent: at(0), number: 0, length: packets * 1_400, settled: 0, pause }
    }

    fn forecast(report: Option<Report>) -> Option<Forecast> {
        report.and_then(|report| report.delivery).map(|delivery| delivery.forecast)
    }

    /// The program's own (`Receiver::advance_to`, `forecast`), from its start on.
    #[test]
    fn the_first_forecast_is_of_a_second_without_observation() {
        assert_eq!(Model::bayes().forecast(), [2, 4, 7, 9, 12, 15, 17, 20]);
        let mut longer = Model::bayes();
        longer.evolve();
        assert_eq!(longer.forecast(), [2, 4, 7, 10, 12, 15, 17, 20]);
        (0..10).for_each(|_| longer.evolve());
        assert_eq!(longer.forecast(), [2, 5, 7, 10, 13, 15, 18, 21]);
    }

    #[test]
    fn a_report_leaves_every_20_ms_and_forecasts_if_a_tick_has_passed() {
        let mut receiver = Receiver::new(Model::Average(0.0), MSS);
        let one = packet(1, Duration::ZERO);
        assert_eq!((receiver.wake_until(at(99)), receiver.next_waking()), (None, None), "nothing has arrived");
        assert!(receiver.accept(at(100), &one).is_none());
        assert!(receiver.wake_until(at(119)).is_none());
        assert_eq!(forecast(receiver.accept(at(120), &one)), Some([0; TICKS]), "a tick ends after 20 ms");
        assert!(receiver.accept(at(121), &one).is_none(), "it is not time for a report");
        let report = receiver.wake_until(at(141));
        assert_eq!(forecast(report), Some([0, 0, 0, 1, 1, 1, 1, 2]), "two packets in the first tick");
    }

    #[test]
    fn a_report_of_the_same_tick_forecasts_nothing() {
        let mut receiver = Receiver::new(Model::Average(8.0), MSS);
        let one = packet(1, Duration::ZERO);
        receiver.accept(at(0), &one);
        assert!(forecast(receiver.accept(at(20), &one)).is_some());
        assert!(forecast(receiver.accept(at(40), &one)).is_some());
        receiver.reported = receiver.tick;
        assert!(forecast(receiver.accept(at(60), &one)).is_some());
        receiver.reported = Some(at(60));
        assert_eq!(receiver.accept(at(80), &one), Some(Report { delivery: None }));
    }

    #[test]
    fn silence_is_reported() {
        let mut receiver = Receiver::new(Model::bayes(), MSS);
        receiver.accept(at(0), &packet(8, Duration::ZERO));
        assert_eq!(forecast(receiver.wake_until(at(1_000))), Some([0; TICKS]));
    }

    #[test]
    fn empty_ticks_count_only_when_something_was_due() {
        for (pause, averages) in [(PAUSE, 1), (Duration::ZERO, 4)] {
            let mut receiver = Receiver::new(Model::Average(8.0), MSS);
            receiver.accept(at(0), &packet(8, pause));
            receiver.accept(at(81), &packet(8, pause));
            // Eight packets, then three empty ticks.
            let seen = f64::from(averages) - 1.0;
            let expected = 8.0 * 0.875_f64.powf(if pause.is_zero() { seen } else { 1.0 });
            assert!((receiver.model.mean() - expected).abs() < 1e-9, "{}", receiver.model.mean());
        }
    }

    #[test]
    fn a_long_gap_costs_little_and_leaves_a_belief() {
        let mut receiver = Receiver::new(Model::bayes(), MSS);
        let one = packet(1, PAUSE);
        receiver.accept(at(0), &one);
        receiver.wake_until(at(9_970));
        assert!(receiver.next_waking().is_some(), "ten seconds of it are reported");
        let silent = forecast(receiver.wake_until(at(86_000_000)));
        assert_eq!(silent, Some([0; TICKS]), "a day of silence is an outage");
        assert_eq!(receiver.next_waking(), None, "all has been reported");
        assert!(receiver.accept(at(86_000_001), &one).is_some(), "until something comes");
    }

    #[test]
    fn an_outlook_ends_at_its_eighth_tick() {
        let mut outlook = Outlook::new([1, 2, 4, 6, 8, 10, 12, 15], at(0));
        assert_eq!((outlook.advance(at(19)), outlook.within(5)), (0, 9));
        assert_eq!((outlook.advance(at(40)), outlook.within(5), outlook.is_over()), (3, 11, false));
        assert_eq!(outlook.advance(at(40)), 0);
        assert_eq!(outlook.advance(at(10_000)), 4 + 6 + 8 + 10 + 12);
        assert_eq!((outlook.within(5), outlook.is_over()), (0, true));
    }
}
