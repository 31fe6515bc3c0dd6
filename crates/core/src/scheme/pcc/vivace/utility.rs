//! What Vivace maximises: a reward for speed, less what losses and a growing round trip cost.

use crate::scheme::pcc::MEBIBIT;
use crate::scheme::pcc::monitor::Interval;
use crate::units::Bytes;

const EXPONENT: f64 = 0.9;
/// Cost of loss above and below the limit.
const LOSS_COEFFICIENT: f64 = 11.35;
const LOSS_LIMIT: f64 = 0.03;
/// Latency coefficient of the Pantheon's program.
const LATENCY_COEFFICIENT: f64 = 900.0;
/// What the start phase of the source forgives: intervals with so many losses, as many in the first one that has more,
/// and slopes below this meanwhile. The Pantheon's program has the same count and never reads it.
const START_LOSSES: u32 = 50;
pub(super) const START_SLOPE: f64 = 0.2;

#[derive(Clone, Copy, Debug)]
pub(super) struct Utility {
    /// Cost of a slope of the round trip, per unit of speed.
    latency: f64,
    /// Cost of a ratio of loss, per unit of speed and loss.
    loss_weight: fn(f64) -> f64,
    /// Losses that the start forgives.
    pub(super) start_losses: u32,
}

pub(super) const PANTHEON: Utility = Utility { latency: LATENCY_COEFFICIENT, loss_weight, start_losses: 0 };
pub(super) const PAPER: Utility = Utility { loss_weight: |_| LOSS_COEFFICIENT, ..PANTHEON };
pub(super) const LOSS: Utility = Utility { latency: 0.0, start_losses: START_LOSSES, ..PANTHEON };

impl Utility {
    /// The utility of sending at `speed` (2^20 bit/s).
    pub(super) fn at(&self, speed: f64, loss: f64, slope: f64) -> f64 {
        speed.powf(EXPONENT) - speed * (self.loss_weight)(loss) * loss - self.latency * speed * quantised(slope)
    }
}

/// How fast an interval was sent, 2^20 bit/s: all its packets, over the time from its start to the last of them.
pub(super) fn speed(interval: &Interval, packet: Bytes) -> f64 {
    f64::from(interval.sent) * packet.count() as f64 * 8.0 / MEBIBIT / interval.sending_time().max(1e-6)
}

/// What a ratio of loss costs, per unit of speed.
fn loss_weight(loss: f64) -> f64 {
    if loss > LOSS_LIMIT { LOSS_COEFFICIENT } else { 1.0 }
}

/// A slope in steps of two percent, towards zero; in whole percents twice, by which 58 and some others lose one.
fn quantised(slope: f64) -> f64 {
    let percent = (slope * 100.0).trunc();
    let percent = (percent / 100.0 * 100.0).trunc();
    (percent / 2.0).trunc() * 2.0 / 100.0
}

#[cfg(test)]
mod tests {
    #![allow(clippy::float_cmp, reason = "slopes are exact")]

    use super::*;

    #[test]
    fn the_utility_has_the_published_values() {
        for (speed, expected) in [(1.0, 1.0), (2.0, 1.866), (10.0, 7.943), (50.0, 33.81), (100.0, 63.10)] {
            let found = PANTHEON.at(speed, 0.0, 0.0);
            assert!((found - expected).abs() < 0.005, "{speed}: {found}");
        }
        for (objective, loss, expected) in
            [(PANTHEON, 0.01, 7.84), (PANTHEON, 0.05, 2.27), (PAPER, 0.01, 6.81), (PAPER, 0.05, 2.27)]
        {
            let found = objective.at(10.0, loss, 0.0);
            assert!((found - expected).abs() < 0.005, "{found}, not {expected}, at {loss}");
        }
    }

    #[test]
    fn slopes_count_from_two_percent_on() {
        assert_eq!(PANTHEON.at(10.0, 0.0, 0.019), PANTHEON.at(10.0, 0.0, 0.0));
        assert!((PANTHEON.at(10.0, 0.0, 0.025) - (7.943 - 180.0)).abs() < 0.001);
        assert!(PANTHEON.at(10.0, 0.0, -0.025) > 180.0);
        assert_eq!(LOSS.at(10.0, 0.0, 0.025), LOSS.at(10.0, 0.0, 0.0));
    }

    #[test]
    fn slopes_are_made_even_percents_as_by_the_program() {
        for (slope, counted) in [
            (0.019, 0.0),
            (0.025, 0.02),
            (0.57, 0.56),
            (0.58, 0.56),
            (0.599, 0.58),
            (0.6, 0.6),
            (1.14, 1.12),
            (2.3, 2.28),
            (-0.58, -0.56),
            (-0.025, -0.02),
            (-1.15, -1.12),
        ] {
            assert_eq!(quantised(slope), counted, "{slope}");
        }
    }

    #[test]
    fn at_some_loss_more_rate_does_not_pay() {
        for (speed, zero) in [(1.0, 0.079), (10.0, 0.063), (100.0, 0.050), (1_000.0, 0.040)] {
            for objective in [LOSS, PAPER] {
                let slope = |loss: f64| objective.at(speed * 1.001, loss, 0.0) - objective.at(speed, loss, 0.0);
                assert!(slope(zero - 0.001) > 0.0 && slope(zero + 0.001) < 0.0, "{speed}");
            }
        }
    }
}
