//! Random loss, each packet on its own.
//!
//! The generator is that of Linux' netem, with its seed. So the simulator and a real kernel lose the same packets of a
//! run with the same seed, and what differs between them is not chance.
//!
//! **Source.** Linux `net/sched/sch_netem.c` (`loss_event`), `lib/random32.c` (`prandom_u32_state`), `include/linux/prandom.h`
//! (`prandom_seed_state`); the generator is L'Ecuyer's taus113 (Mathematics of Computation 68, 1999).

use crate::random::RandomStream;

/// The seed of the losses on the wire of the hop called `hop`, in the run with this `seed`.
pub fn loss_seed(seed: u64, hop: &str) -> u64 {
    RandomStream::new(seed, &format!("{hop}.loss")).below(u64::MAX)
}

/// Decides which packets are lost.
#[derive(Clone, Debug)]
pub(super) struct Loss {
    /// Probability as a fraction of the largest 32-bit number.
    threshold: u32,
    state: [u32; 4],
}

impl Loss {
    pub(super) fn new(probability: f64, seed: u64) -> Self {
        let folded = ((seed >> 32) ^ (seed << 10) ^ seed) as u32;
        let start = |least: u32| if folded < least { folded + least } else { folded };
        Self { threshold: loss_threshold(probability), state: [2, 8, 16, 128].map(start) }
    }

    /// Whether the next packet is lost.
    pub(super) fn next(&mut self) -> bool {
        let step = |s: u32, a, b, mask, d| ((s & mask) << d) ^ (((s << a) ^ s) >> b);
        let [first, second, third, fourth] = self.state;
        self.state = [
            step(first, 6, 13, 0xffff_fffe, 18),
            step(second, 2, 27, 0xffff_fff8, 2),
            step(third, 13, 21, 0xffff_fff0, 7),
            step(fourth, 3, 12, 0xffff_ff80, 13),
        ];
        self.threshold >= self.state.iter().fold(0, |sum, part| sum ^ part)
    }
}

/// A probability as netem takes it: a fraction of the largest 32-bit number.
pub fn loss_threshold(probability: f64) -> u32 {
    (probability * f64::from(u32::MAX)).round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_losses_is_the_probability() {
        for probability in [0.001, 0.01, 0.5] {
            let mut loss = Loss::new(probability, loss_seed(1, "forward.0"));
            let lost = (0..1_000_000).filter(|_| loss.next()).count() as f64 / 1e6;
            let deviation = (probability * (1.0 - probability) / 1e6).sqrt();
            assert!((lost - probability).abs() < 4.0 * deviation, "{lost} for {probability}");
        }
    }

    #[test]
    fn certain_loss_loses_everything() {
        let mut loss = Loss::new(1.0, 1);
        assert!((0..1_000).all(|_| loss.next()));
    }
}
