//! How many packets the link will deliver, cautiously: quantiles of the count of the coming ticks
//! (`processforecaster.cc`).

use std::sync::OnceLock;

use super::rates::{Belief, RATES, evolve, packets_per_tick};

/// Ticks that are forecast (`NUM_TICKS`).
pub(super) const TICKS: usize = 8;
/// Packets of one tick that are told apart (`MAX_ARRIVALS_PER_TICK`).
const COUNTS: usize = 30;
/// The share of cases in which less may be delivered than is forecast.
const RISK: f64 = 0.05;

/// Cumulative packets after one to eight ticks.
pub(super) type Forecast = [u32; TICKS];

/// For a number of ticks and a count, the probability of at most that count, by the rate at their beginning.
type Table = Vec<Vec<Belief>>;

/// Computed once, for all flows.
fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table: Table = (1..=TICKS).map(|ticks| vec![[0.0; RATES]; ticks * (COUNTS - 1) + 1]).collect();
        for start in 0..RATES {
            fill(&mut table, start);
        }
        table
    })
}

/// The rows of one rate: the counts of successive ticks are added as if independent, as in the source.
fn fill(table: &mut Table, start: usize) {
    let poisson = poisson();
    let mut belief = [0.0; RATES];
    belief[start] = 1.0;
    let mut sum = vec![1.0];
    for counts in table.iter_mut() {
        let tick: Vec<f64> = poisson
            .iter()
            .map(|row| row.iter().zip(&belief).map(|(count, probability)| count * probability).sum())
            .collect();
        let mut next = vec![0.0; sum.len() + COUNTS - 1];
        for (before, probability) in sum.iter().enumerate() {
            for (count, share) in tick.iter().enumerate() {
                next[before + count] += probability * share;
            }
        }
        sum = next;
        let mut below = 0.0;
        for (row, probability) in counts.iter_mut().zip(&sum) {
            below += probability;
            row[start] = below;
        }
        evolve(&mut belief);
        super::rates::normalise(&mut belief);
    }
}

/// The probability of each count in a tick, by rate.
fn poisson() -> &'static [Belief] {
    static POISSON: OnceLock<Vec<Belief>> = OnceLock::new();
    POISSON.get_or_init(|| {
        let mut rows = vec![[0.0; RATES]; COUNTS];
        for index in 0..RATES {
            let expected = packets_per_tick(index);
            let mut probability = (-expected).exp();
            for (count, row) in rows.iter_mut().enumerate() {
                row[index] = probability;
                probability *= expected / (count + 1) as f64;
            }
        }
        rows
    })
}

/// What is delivered with 95 % certainty, if the rate is what `belief` says.
pub(super) fn forecast(belief: &Belief) -> Forecast {
    let mut counts = [0; TICKS];
    for (count, rows) in counts.iter_mut().zip(table()) {
        let at_most =
            |row: &Belief| row.iter().zip(belief).map(|(below, probability)| below * probability).sum::<f64>();
        *count = rows.partition_point(|row| at_most(row) < RISK) as u32;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::super::rates::{observe, rate};
    use super::*;

    const UNIFORM: Belief = [1.0 / RATES as f64; RATES];

    fn after(mut belief: Belief, ticks: usize, count: Option<u32>) -> Belief {
        for _ in 0..ticks {
            evolve(&mut belief);
            if let Some(count) = count {
                observe(&mut belief, count);
            }
        }
        super::super::rates::normalise(&mut belief);
        belief
    }

    /// The forecasts of an independent implementation, and the rates that it believes in, packets per second.
    #[test]
    fn steady_counts_are_forecast_with_caution() {
        let cases = [
            (0, 0.8, [0, 0, 0, 0, 0, 0, 0, 0]),
            (1, 68.0, [0, 0, 0, 1, 1, 2, 3, 4]),
            (2, 113.0, [0, 1, 2, 2, 4, 5, 6, 7]),
            (4, 209.0, [1, 3, 5, 8, 10, 13, 15, 18]),
            (8, 407.0, [3, 9, 15, 21, 27, 33, 39, 45]),
            (12, 605.0, [6, 15, 25, 34, 44, 54, 63, 73]),
            (16, 805.0, [9, 22, 35, 48, 62, 75, 89, 102]),
            (20, 953.0, [12, 28, 44, 61, 77, 94, 111, 128]),
        ];
        for (count, expected_rate, expected) in cases {
            let belief = after(UNIFORM, 200, Some(count));
            let mean: f64 = belief.iter().enumerate().map(|(index, probability)| rate(index) * probability).sum();
            let tolerance = if count == 0 { 0.05 } else { 0.5 };
            assert!((mean - expected_rate).abs() <= tolerance, "{count} per tick: {mean}, not {expected_rate}");
            assert_eq!(forecast(&belief), expected, "{count} per tick");
        }
    }

    /// Why a flow that sends this little may stay there: figures of a second computation of the model.
    #[test]
    fn a_packet_in_each_second_tick_is_forecast_as_none_within_five() {
        let mut belief = UNIFORM;
        for _ in 0..100 {
            belief = after(after(belief, 1, Some(1)), 1, None);
        }
        assert_eq!(forecast(&belief), [0, 0, 0, 0, 0, 0, 1, 2]);
    }

    #[test]
    fn what_is_not_observed_makes_it_more_cautious_and_silence_makes_it_expect_nothing() {
        assert_eq!(forecast(&UNIFORM), [1, 1, 3, 4, 5, 6, 8, 9]);
        let steady = after(UNIFORM, 200, Some(8));
        assert_eq!(forecast(&after(steady, 5, None)), [3, 8, 13, 18, 23, 29, 34, 39]);
        let silent = after(steady, 5, Some(0));
        assert_eq!(forecast(&silent), [0; TICKS]);
        assert!((silent[0] - 0.43).abs() < 0.01, "outage: {}", silent[0]);
        let outage = after(UNIFORM, 200, Some(0));
        assert_eq!(forecast(&after(outage, 5, Some(8))), [2, 5, 9, 12, 16, 20, 24, 27]);
    }
}
