//! From the gradient of the utility to a change of rate: larger the longer it points the same way, within a boundary
//! that grows while it binds.

/// A boundary of this share of the rate ...
const BOUNDARY: f64 = 0.05;
/// ... and so much more for every time in a row that it binds.
const BOUNDARY_STEP: f64 = 0.06;
/// The least change, Mbit/s.
pub(super) const MIN_CHANGE: f64 = 0.5;

/// How the confidence amplifier grows; the two programs differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Growth {
    /// By one, and by a half above three; its last line is 8a - 50.
    Vivace,
    /// By a half below three, and by one above; its last line is 9a - 50.
    Experimental,
}

#[derive(Debug)]
pub(super) struct Step {
    growth: Growth,
    amplifier: f64,
    boundary: f64,
    /// Changes of direction that are still to be made up for.
    swing: u32,
    previous: f64,
}

/// What a change is to the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// There is none before.
    First,
    On,
    Back,
}

impl Step {
    pub(super) fn new(growth: Growth) -> Self {
        Self { growth, amplifier: 0.0, boundary: 0.0, swing: 0, previous: 0.0 }
    }

    /// The change that was made, or 0 for none: the next one is compared with it.
    pub(super) fn remember(&mut self, change: f64) {
        self.previous = change;
    }

    /// True if the change before was up.
    pub(super) fn was_up(&self) -> bool {
        self.previous > 0.0
    }

    /// What a change in this direction is. The experimental program knows two signs, and takes zero for a negative one.
    pub(super) fn turn(&self, gradient: f64) -> Turn {
        let product = gradient * self.previous;
        let (is_on, is_back) = match self.growth {
            Growth::Vivace => (product > 0.0, product < 0.0),
            Growth::Experimental => {
                let is_on = (gradient > 0.0) == (self.previous > 0.0);
                (is_on, !is_on)
            }
        };
        match (is_on, is_back) {
            (true, _) => Turn::On,
            (_, true) => Turn::Back,
            _ => Turn::First,
        }
    }

    /// The change of `rate` for a gradient of utility per Mbit/s.
    pub(super) fn change(&mut self, gradient: f64, rate: f64) -> f64 {
        let turn = self.turn(gradient);
        if turn == Turn::Back {
            (self.amplifier, self.boundary) = (0.0, 0.0);
            self.swing = (self.swing + 1).min(2);
        }
        let mut change = gradient * self.factor();
        if turn == Turn::On {
            self.gain_confidence();
        }
        let limit = self.limit();
        if self.is_beyond(change, limit, rate) {
            change = (limit * rate).copysign(change);
            self.boundary += 1.0;
        } else {
            self.boundary = (self.boundary - 1.0).max(0.0);
        }
        if turn == Turn::Back {
            (self.amplifier, self.boundary) = (0.0, 0.0);
        }
        if change != 0.0 && change.abs() < MIN_CHANGE {
            change = MIN_CHANGE.copysign(change);
        }
        change
    }

    /// The largest change, as a share of the rate. The experimental program has it in single precision, and compares it
    /// so.
    fn limit(&self) -> f64 {
        match self.growth {
            Growth::Vivace => BOUNDARY + BOUNDARY_STEP * self.boundary,
            Growth::Experimental => f64::from(BOUNDARY as f32 + self.boundary as f32 * BOUNDARY_STEP as f32),
        }
    }

    fn is_beyond(&self, change: f64, limit: f64, rate: f64) -> bool {
        match self.growth {
            Growth::Vivace => change.abs() > limit * rate,
            Growth::Experimental => (change as f32 / rate as f32).abs() > limit as f32,
        }
    }

    fn factor(&self) -> f64 {
        let a = self.amplifier;
        if a < 3.0 {
            a + 1.0
        } else if a < 6.0 {
            2.0 * a - 2.0
        } else if a < 9.0 {
            4.0 * a - 14.0
        } else if self.growth == Growth::Vivace {
            8.0 * a - 50.0
        } else {
            9.0 * a - 50.0
        }
    }

    fn gain_confidence(&mut self) {
        if self.swing > 0 {
            self.swing -= 1;
            return;
        }
        let is_slow = match self.growth {
            Growth::Vivace => self.amplifier > 3.0,
            Growth::Experimental => self.amplifier < 3.0,
        };
        self.amplifier += if is_slow { 0.5 } else { 1.0 };
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "rates and steps are exact")]
mod tests {
    use super::*;

    fn changes(growth: Growth, gradients: &[f64]) -> Vec<f64> {
        let mut step = Step::new(growth);
        let change = |gradient: &f64| {
            let change = step.change(*gradient, 1_000.0);
            step.remember(change);
            change
        };
        gradients.iter().map(change).collect()
    }

    #[test]
    fn steps_grow_with_confidence() {
        let vivace = [1.0, 1.0, 2.0, 3.0, 4.0, 6.0, 7.0, 8.0, 9.0, 10.0, 12.0, 14.0, 16.0, 18.0, 20.0, 22.0, 26.0];
        assert_eq!(changes(Growth::Vivace, &[1.0; 17]), vivace);
        let other = [1.0, 1.0, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 6.0, 8.0, 10.0, 14.0, 18.0, 31.0, 40.0];
        assert_eq!(changes(Growth::Experimental, &[1.0; 16]), other, "the first one is a turn");
        assert_eq!(changes(Growth::Experimental, &[-1.0; 3]), [-1.0, -1.5, -2.0], "unless it is down");
    }

    #[test]
    fn the_boundary_is_five_percent_and_six_more_each_time_it_binds() {
        for (gradients, expected) in [
            (&[1e6, 1e6, 1e6][..], &[50.0, 110.0, 170.0][..]),
            // Six percent less each time it does not bind, down to five.
            (&[1e6, 1e6, 1e6, 0.1, 1e6], &[50.0, 110.0, 170.0, 0.5, 170.0]),
            (&[0.1, 0.1, 1e6], &[0.5, 0.5, 50.0]),
            // And five after a turn, and in it.
            (&[1e6, 1e6, -1e6, -1e6, -1e6], &[50.0, 110.0, -50.0, -50.0, -110.0]),
        ] {
            for (change, bound) in changes(Growth::Vivace, gradients).iter().zip(expected) {
                assert!((change - bound).abs() < 1e-9, "{change}, not {bound}: {gradients:?}");
            }
        }
    }

    #[test]
    fn the_experimental_program_has_the_boundary_in_single_precision() {
        let [first, second] = [0.05_f32, 0.05 + 0.06].map(|share| -1_000.0 * f64::from(share));
        assert_eq!(changes(Growth::Experimental, &[-1e6, -1e6]), [first, second]);
        assert_eq!(changes(Growth::Experimental, &[-40.0]), [-40.0], "within it");
    }

    #[test]
    fn a_change_of_direction_costs_confidence() {
        assert_eq!(changes(Growth::Vivace, &[1.0, 1.0, -1.0, -1.0, -1.0]), [1.0, 1.0, -1.0, -1.0, -1.0]);
        // Three in a row cost no more than two.
        let swinging = changes(Growth::Vivace, &[1.0, -1.0, 1.0, -1.0, -1.0, -1.0, -1.0, -1.0]);
        assert_eq!(swinging, [1.0, -1.0, 1.0, -1.0, -1.0, -1.0, -1.0, -2.0]);
    }

    #[test]
    fn half_a_megabit_is_the_least() {
        assert_eq!(changes(Growth::Vivace, &[0.001, -0.001, 0.0]), [0.5, -0.5, 0.0]);
    }
}
