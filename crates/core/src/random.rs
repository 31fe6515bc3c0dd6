//! Named streams of random numbers.
//!
//! Every component draws from a stream of its own, chosen by the seed of the run and the component's name, so that
//! adding a component never changes what another one draws. The distributions are written here because results must not
//! move with a library's version.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64;

use crate::units::Duration;

/// An independent, reproducible stream of random numbers.
#[derive(Clone, Debug)]
pub struct RandomStream {
    generator: Pcg64,
}

impl RandomStream {
    /// The stream of the component called `name` in the run with this `seed`.
    pub fn new(seed: u64, name: &str) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        bytes[16..24].copy_from_slice(&fnv1a(name).to_le_bytes());
        Self { generator: Pcg64::from_seed(bytes) }
    }

    /// Uniform in [0, 1), with 53 random bits.
    pub fn uniform(&mut self) -> f64 {
        (self.generator.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Uniform integer in `0..bound` (Lemire's multiply-shift; the bias is below `bound` / 2^64).
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.generator.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// True with the given probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }

    /// Exponentially distributed with the given mean.
    pub fn exponential(&mut self, mean: Duration) -> Duration {
        Duration::from_nanos((-(1.0 - self.uniform()).ln() * mean.as_nanos() as f64) as u64)
    }
}

/// FNV-1a, 64 bit: a fixed hash, so that a name means the same stream for ever.
fn fnv1a(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_a_seed_fix_the_stream() {
        let draw = |seed, name| {
            let mut stream = RandomStream::new(seed, name);
            [stream.below(1_000), stream.below(1_000), stream.below(1_000)]
        };
        assert_eq!(draw(1, "forward.0.loss"), draw(1, "forward.0.loss"));
        assert_ne!(draw(1, "forward.0.loss"), draw(2, "forward.0.loss"));
        assert_ne!(draw(1, "forward.0.loss"), draw(1, "forward.0.jitter"));
    }

    #[test]
    fn means_are_right() {
        let mut stream = RandomStream::new(7, "test");
        let draws = 100_000;
        let uniform: f64 = (0..draws).map(|_| stream.uniform()).sum::<f64>() / f64::from(draws);
        assert!((uniform - 0.5).abs() < 0.005, "{uniform}");
        let mean = Duration::from_millis(10);
        let exponential: u64 = (0..draws).map(|_| stream.exponential(mean).as_nanos()).sum::<u64>() / draws as u64;
        assert!(exponential.abs_diff(mean.as_nanos()) < mean.as_nanos() / 50, "{exponential}");
    }
}
