//! What the utility of Vivace is made of.

use super::monitor::Interval;
use crate::units::Bytes;

/// Utilities count speed in units of 2^20 bit/s.
pub(super) const MEBIBIT: f64 = 1_048_576.0;
const EXPONENT: f64 = 0.9;
/// Cost of loss above and below the limit.
pub(super) const LOSS_COEFFICIENT: f64 = 11.35;
const LOSS_LIMIT: f64 = 0.03;

/// How fast an interval was sent, 2^20 bit/s: all its packets, over the time from its start to the last of them.
pub(super) fn speed(interval: &Interval, packet: Bytes) -> f64 {
    f64::from(interval.sent) * packet.count() as f64 * 8.0 / MEBIBIT / interval.sending_time().max(1e-6)
}

/// What speed is worth.
pub(super) fn reward(speed: f64) -> f64 {
    speed.powf(EXPONENT)
}

/// What a ratio of loss costs, per unit of speed.
pub(super) fn loss_weight(loss: f64) -> f64 {
    if loss > LOSS_LIMIT { LOSS_COEFFICIENT } else { 1.0 }
}

/// A slope in steps of two percent, towards zero; in whole percents twice, by which 58 and some others lose one.
pub(super) fn quantised(slope: f64) -> f64 {
    let percent = (slope * 100.0).trunc();
    let percent = (percent / 100.0 * 100.0).trunc();
    (percent / 2.0).trunc() * 2.0 / 100.0
}
