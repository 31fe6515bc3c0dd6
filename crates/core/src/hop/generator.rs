//! The random numbers of the wire, which are those of Linux' netem.
//!
//! With the same seed the simulator and a real kernel lose, duplicate and reorder the same packets of a run, and what
//! differs between them is not chance.
//!
//! **Source.** Linux `lib/random32.c` (`prandom_u32_state`), `include/linux/prandom.h` (`prandom_seed_state`); the
//! generator is L'Ecuyer's taus113 (Mathematics of Computation 68, 1999).

use crate::random::RandomStream;

/// The seed of the wire of the hop called `hop`, in the run with this `seed`.
pub fn wire_seed(seed: u64, hop: &str) -> u64 {
    RandomStream::new(seed, &format!("{hop}.loss")).below(u64::MAX)
}

/// A probability as netem takes it: a fraction of the largest 32-bit number.
pub fn wire_probability(probability: f64) -> u32 {
    (probability * f64::from(u32::MAX)).round() as u32
}

/// The generator of one wire.
#[derive(Clone, Debug)]
pub(super) struct Generator {
    state: [u32; 4],
}

impl Generator {
    pub(super) fn new(seed: u64) -> Self {
        let folded = ((seed >> 32) ^ (seed << 10) ^ seed) as u32;
        let start = |least: u32| if folded < least { folded + least } else { folded };
        Self { state: [2, 8, 16, 128].map(start) }
    }

    pub(super) fn next(&mut self) -> u32 {
        let step = |s: u32, a, b, mask, d| ((s & mask) << d) ^ (((s << a) ^ s) >> b);
        let [first, second, third, fourth] = self.state;
        self.state = [
            step(first, 6, 13, 0xffff_fffe, 18),
            step(second, 2, 27, 0xffff_fff8, 2),
            step(third, 13, 21, 0xffff_fff0, 7),
            step(fourth, 3, 12, 0xffff_ff80, 13),
        ];
        self.state.iter().fold(0, |sum, part| sum ^ part)
    }

    /// Whether something of this probability happens, which draws only where it is not impossible (`get_crandom`).
    pub(super) fn happens(&mut self, threshold: u32) -> bool {
        threshold > 0 && threshold >= self.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_the_probability() {
        for probability in [0.001, 0.01, 0.5] {
            let mut generator = Generator::new(wire_seed(1, "forward.0"));
            let threshold = wire_probability(probability);
            let share = (0..1_000_000).filter(|_| generator.happens(threshold)).count() as f64 / 1e6;
            let deviation = (probability * (1.0 - probability) / 1e6).sqrt();
            assert!((share - probability).abs() < 4.0 * deviation, "{share} for {probability}");
        }
    }

    #[test]
    fn what_is_certain_always_happens_and_what_is_impossible_never() {
        let mut generator = Generator::new(1);
        assert!((0..1_000).all(|_| generator.happens(u32::MAX)));
        assert!(!(0..1_000).any(|_| generator.happens(0)));
    }

    #[test]
    fn what_is_impossible_draws_no_number() {
        let [mut asked, mut fresh] = [Generator::new(1), Generator::new(1)];
        asked.happens(0);
        assert_eq!(asked.next(), fresh.next());
    }
}
