//! What the kernel's RED wants ready-made: probabilities as shifts, and a table of the decay while idle.
//!
//! **Source.** What `tc_red.c` of iproute2 computes; the formulas are Floyd and Jacobson's.

use bakeoff_core::queue::red::Averaging;
use bakeoff_core::units::Rate;

/// One more than the largest shift of a number of four bytes.
const SHIFTS: u8 = 32;
/// The cells of the table.
const CELLS: usize = 256;
/// The table covers what the longest decay takes, within twice its length.
const SPAN_CELLS: f64 = 512.0;
/// The kernel shifts the average at most so far.
const LARGEST_SHIFT: f64 = 31.0;
/// `tc` computes the table in the scheduler's ticks of 64 ns, while the kernel looks it up in microseconds. It is kept:
/// whoever sets up RED on Linux has it.
const TICKS_PER_SECOND: f64 = 15_625_000.0;

/// How the average decays while the queue is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct IdleDecay {
    /// A cell of the table is 2 to the power of this.
    pub(super) cell_log: u8,
    /// By how much to shift the average, for each cell of idle time.
    pub(super) table: [u8; CELLS],
}

impl IdleDecay {
    /// The decay if packets of this size had gone on arriving at an empty queue; `None` if it is too slow for a table.
    pub(super) fn new(averaging: Averaging, average_packet: u32, rate: Rate) -> Option<Self> {
        let bytes_per_second = (rate.as_bits_per_second() / 8).max(1);
        let packet_ticks = (TICKS_PER_SECOND * (f64::from(average_packet) / bytes_per_second as f64)).ceil();
        let shifts_per_tick = -(1.0 - averaging.weight()).ln() / packet_ticks;
        let longest_ticks = LARGEST_SHIFT / shifts_per_tick;
        let cell_log = (0..SHIFTS).find(|log| longest_ticks / cell(*log) < SPAN_CELLS)?;
        let mut table = [LARGEST_SHIFT as u8; CELLS];
        for (index, shift) in table.iter_mut().enumerate().take(CELLS - 1) {
            *shift = (index as f64 * cell(cell_log) * shifts_per_tick).min(LARGEST_SHIFT) as u8;
        }
        Some(Self { cell_log, table })
    }
}

fn cell(log: u8) -> f64 {
    2_f64.powi(i32::from(log))
}

/// How often `probability` per byte between the thresholds can be doubled before it passes 1.
pub(super) fn probability_log(probability: f64, bytes: u32) -> u8 {
    let per_byte = probability / f64::from(bytes);
    // A kernel that has `TCA_RED_MAX_P` does not use the result, so that one too large for it does no harm.
    (0..SHIFTS - 1).find(|log| per_byte * cell(*log) > 1.0).unwrap_or(SHIFTS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Logarithms and runs of equal shifts (first cell, shift) of what is computed.
    fn tables(min: u32, burst: u32, packet: u32, rate: u64) -> (u8, u8, Vec<(usize, u8)>) {
        let averaging = Averaging::new(min, burst, packet).unwrap();
        let decay = IdleDecay::new(averaging, packet, Rate::from_bits_per_second(rate)).unwrap();
        let changes = decay.table.iter().copied().enumerate();
        let mut runs: Vec<(usize, u8)> = Vec::new();
        for (cell, shift) in changes {
            if runs.last().is_none_or(|(_, last)| *last != shift) {
                runs.push((cell, shift));
            }
        }
        (averaging.log, decay.cell_log, runs)
    }

    #[test]
    fn tables_are_those_of_tc() {
        let (weight, cell, runs) = tables(30_000, 55, 1_000, 10_000_000);
        assert_eq!((weight, cell), (5, 15));
        assert_eq!(runs[..4], [(0, 0), (13, 1), (25, 2), (37, 3)]);
        assert_eq!(runs[runs.len() - 2..], [(253, 21), (255, 31)]);

        let (weight, cell, runs) = tables(83_333, 92, 1_500, 100_000_000);
        assert_eq!((weight, cell), (6, 13));
        assert_eq!(runs[..4], [(0, 0), (15, 1), (30, 2), (44, 3)]);
        assert_eq!(runs[runs.len() - 2..], [(248, 17), (255, 31)]);

        let (weight, cell, runs) = tables(5_000, 5, 1_500, 1_000_000);
        assert_eq!((weight, cell), (2, 16));
        assert_eq!(runs[runs.len() - 3..], [(239, 24), (249, 25), (255, 31)]);
    }

    #[test]
    fn probabilities_become_the_logarithms_of_tc() {
        assert_eq!(probability_log(0.02, 60_000), 22);
        assert_eq!(probability_log(0.02, 166_667), 23);
        assert_eq!(probability_log(0.1, 10_000), 17);
        assert_eq!(probability_log(1e-6, u32::MAX), 31);
    }
}
