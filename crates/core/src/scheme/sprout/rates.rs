//! What is believed of the link's rate: a probability for each of 257 rates, which wander and hold on to outages
//! (`process.cc`, `sampledfunction.hh`).

use std::sync::OnceLock;

use super::TICK;

/// Rates on the grid, and their spacing in packets per second (`NUM_BINS`, `MAX_ARRIVAL_RATE`).
pub(super) const RATES: usize = 257;
const SPACING: f64 = 1_000.0 / 256.0;
/// How far a rate wanders in a second, packets per second (`BROWNIAN_MOTION_RATE`).
const WANDER: f64 = 200.0;
/// How often an outage ends, per second (`OUTAGE_ESCAPE_RATE`).
const OUTAGE_ESCAPE: f64 = 1.0;
/// Nothing wanders further than this many standard deviations in a tick.
const FARTHEST: f64 = 5.0;

/// The normal distribution is a table in the source, of 32768 steps from -1000 to 1000; of each step it has the middle
/// (`GaussianCache`).
const HALF_A_STEP: f64 = 1_000.0 / 32_768.0;

/// A probability per rate.
pub(super) type Belief = [f64; RATES];

/// Packets per tick at a grid point; the first is the outage.
pub(super) fn packets_per_tick(index: usize) -> f64 {
    rate(index) * TICK.as_secs_f64()
}

/// Packets per second at a grid point.
pub(super) fn rate(index: usize) -> f64 {
    if index == 0 { 0.0 } else { (index as f64 + 0.5) * SPACING }
}

/// The standard normal distribution, by a series of positive terms.
fn normal_cdf(x: f64) -> f64 {
    let (mut term, mut sum) = (x, 0.0);
    for odd in (3..).step_by(2) {
        sum += term;
        term *= x * x / f64::from(odd);
        if term.abs() <= f64::EPSILON * sum.abs() {
            break;
        }
    }
    0.5 + sum * (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt()
}

/// Where a grid point's probability goes in a tick: the first target and the shares.
#[derive(Debug)]
struct Spread {
    first: usize,
    shares: Vec<f64>,
}

/// The kernel of one tick, a row per grid point.
fn kernel() -> &'static [Spread] {
    static KERNEL: OnceLock<Vec<Spread>> = OnceLock::new();
    KERNEL.get_or_init(|| (0..RATES).map(spread).collect())
}

fn spread(from: usize) -> Spread {
    let tick = TICK.as_secs_f64();
    let deviation = WANDER * tick.sqrt();
    let escape = 1.0 - (-OUTAGE_ESCAPE * tick).exp();
    let bin = |rate: f64| ((rate / SPACING).max(0.0) as usize).min(RATES - 1);
    // The source looks one bin further than its range, because a bin's upper end belongs to the next.
    let first = bin(rate(from) - FARTHEST * deviation);
    let last = (bin(rate(from) + FARTHEST * deviation) + 1).min(RATES - 1);
    let below = |bin: usize| match bin {
        0 => 0.0,
        RATES => 1.0,
        _ => normal_cdf((bin as f64 * SPACING + HALF_A_STEP - rate(from)) / deviation),
    };
    let share = |to: usize| {
        let outage = match (from, to) {
            (0, 0) => 1.0 - escape,
            (0, _) => escape,
            _ => 1.0,
        };
        outage * (below(to + 1) - below(to)).max(0.0)
    };
    Spread { first, shares: (first..=last).map(share).collect() }
}

/// A tick passes.
pub(super) fn evolve(belief: &mut Belief) {
    let old = std::mem::replace(belief, [0.0; RATES]);
    for (probability, spread) in old.iter().zip(kernel()).filter(|(probability, _)| **probability > 0.0) {
        for (target, share) in belief[spread.first..].iter_mut().zip(&spread.shares) {
            *target += probability * share;
        }
    }
}

/// So many packets were counted in a tick.
pub(super) fn observe(belief: &mut Belief, count: u32) {
    // Logarithms, less the greatest: a count far above every rate would leave nothing at all.
    let likelihood = |index: usize| {
        let expected = packets_per_tick(index);
        match (index, count) {
            (0, 0) => 0.0,
            (0, _) => f64::NEG_INFINITY,
            _ => f64::from(count) * expected.ln() - expected,
        }
    };
    let greatest = (0..RATES).map(likelihood).fold(f64::NEG_INFINITY, f64::max);
    for (index, probability) in belief.iter_mut().enumerate() {
        *probability *= (likelihood(index) - greatest).exp();
    }
    normalise(belief);
}

/// Makes the probabilities add up to one.
pub(super) fn normalise(belief: &mut Belief) {
    let sum: f64 = belief.iter().sum();
    if sum > 0.0 {
        for probability in belief.iter_mut() {
            *probability /= sum;
        }
    } else {
        *belief = [1.0 / RATES as f64; RATES];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(belief: &Belief) -> f64 {
        belief.iter().enumerate().map(|(index, probability)| probability * rate(index)).sum()
    }

    #[test]
    fn the_normal_distribution_is_that_of_the_tables() {
        for (x, expected) in [(0.0, 0.5), (1.0, 0.841_344_746), (-1.96, 0.024_997_895), (4.0, 0.999_968_329)] {
            assert!((normal_cdf(x) - expected).abs() < 1e-9, "{x}: {}", normal_cdf(x));
        }
    }

    #[test]
    fn a_rate_wanders_by_28_packets_per_second_in_a_tick() {
        let mut belief = [0.0; RATES];
        belief[128] = 1.0;
        evolve(&mut belief);
        let variance: f64 =
            belief.iter().enumerate().map(|(index, p)| p * (rate(index) - rate(128)).powi(2)).sum::<f64>();
        assert!((mean(&belief) - rate(128) + HALF_A_STEP).abs() < 0.001, "its table is half a step off");
        assert!((variance.sqrt() - 28.3).abs() < 0.1, "{}", variance.sqrt());
        assert!((belief.iter().sum::<f64>() - 1.0).abs() < 1e-5);
    }

    /// Where the program's own `Process::evolve` puts what it was sure of.
    #[test]
    fn a_tick_moves_the_belief_as_the_program_does() {
        for (from, to, expected) in [
            (0, 0, 0.544_351_683),
            (0, 1, 0.001_066_775_52),
            (1, 0, 0.472_902_992),
            (5, 2, 0.050_554_179_8),
            (100, 64, 2.420_385_87e-7),
            (255, 256, 0.472_044_157),
            (256, 256, 0.527_097_008),
        ] {
            let mut belief = [0.0; RATES];
            belief[from] = 1.0;
            evolve(&mut belief);
            assert!((belief[to] / expected - 1.0).abs() < 1e-8, "from {from} to {to}: {}", belief[to]);
        }
    }

    #[test]
    fn an_outage_lasts_a_second() {
        let mut belief = [0.0; RATES];
        belief[0] = 1.0;
        evolve(&mut belief);
        // Half of a wandering rate of zero falls below zero and stays there, as in the source.
        let stayed = belief[0] / belief.iter().sum::<f64>();
        assert!(stayed > 0.98, "{stayed}");
    }

    #[test]
    fn counts_move_the_belief_and_impossible_ones_do_not_break_it() {
        // Mean rates after 200 ticks of a constant count, of an independent implementation.
        for (count, expected) in [(0, 0.8), (1, 68.0), (4, 209.0), (8, 407.0), (16, 805.0), (20, 953.0)] {
            let mut belief = [1.0 / RATES as f64; RATES];
            for _ in 0..200 {
                evolve(&mut belief);
                observe(&mut belief, count);
            }
            let found = mean(&belief);
            assert!((found - expected).abs() < 1.0, "{count}: {found}");
        }
        let mut belief = [1.0 / RATES as f64; RATES];
        observe(&mut belief, 100_000);
        assert!(mean(&belief) > 995.0);
    }
}
