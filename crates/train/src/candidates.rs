//! Which actions are tried in place of one.

use bakeoff_core::random::RandomStream;
use bakeoff_core::scheme::remy::Action;

/// Steps of one number of an action (Remy's `OptimizationSetting`).
struct Steps {
    min: f64,
    max: f64,
    smallest: f64,
    largest: f64,
}

/// Each step is so many times the one before.
const GROWTH: f64 = 4.0;
/// Of the tree for links of 3 to 316 Mbit/s, from its file.
const INCREMENT: Steps = Steps { min: 0.0, max: 256.0, smallest: 1.0, largest: 32.0 };
const MULTIPLE: Steps = Steps { min: 0.0, max: 1.0, smallest: 0.01, largest: 0.5 };
const INTERSEND_MS: Steps = Steps { min: 0.006_67, max: 30.0, smallest: 0.006_67, largest: 30.0 };
/// What training begins with, likewise.
pub const FIRST: Action = Action { increment: 1.0, multiple: 1.0, intersend_ms: 15.0 };

impl Steps {
    /// A value, and those that lie a step from it.
    fn around(&self, value: f64) -> Vec<f64> {
        let mut values = vec![value];
        let mut step = self.smallest;
        while step <= self.largest {
            values
                .extend([value + step, value - step].into_iter().filter(|value| (self.min..=self.max).contains(value)));
            step *= GROWTH;
        }
        values
    }
}

/// Rounds down to what a file holds.
fn round(value: f64) -> f64 {
    // 0.29 x 10000 is less than 2900 in binary.
    (value * 1e4 + 1e-6).floor() / 1e4
}

/// One in so many of the combinations in which more than one number changes is tried (Remy: all). What a draw leaves
/// out, a later one finds.
const ONE_IN: u64 = 3;

/// The action, all in which one of its numbers is another, and some in which more are.
pub fn candidates(action: Action, random: &mut RandomStream) -> Vec<Action> {
    let increments = INCREMENT.around(action.increment);
    let [multiples, intersends] = [MULTIPLE.around(action.multiple), INTERSEND_MS.around(action.intersend_ms)]
        .map(|values| values.into_iter().map(round).collect::<Vec<_>>());
    let mut actions = Vec::new();
    for (i, increment) in increments.iter().enumerate() {
        for (m, multiple) in multiples.iter().enumerate() {
            for (s, intersend_ms) in intersends.iter().enumerate() {
                let changes = [i, m, s].iter().filter(|place| **place > 0).count();
                if changes < 2 || random.below(ONE_IN) == 0 {
                    actions.push(Action { increment: *increment, multiple: *multiple, intersend_ms: *intersend_ms });
                }
            }
        }
    }
    actions
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "what does not change stays the same")]
mod tests {
    use super::*;

    #[test]
    fn steps_grow_fourfold_within_the_bounds() {
        assert_eq!(INCREMENT.around(10.0), [10.0, 11.0, 9.0, 14.0, 6.0, 26.0]);
        let multiples: Vec<_> = MULTIPLE.around(0.5).into_iter().map(round).collect();
        assert_eq!(multiples, [0.5, 0.51, 0.49, 0.54, 0.46, 0.66, 0.34]);
    }

    #[test]
    fn every_number_is_changed_alone_and_some_together() {
        let action = Action { increment: 100.0, multiple: 0.5, intersend_ms: 15.0 };
        let actions = candidates(action, &mut RandomStream::new(1, "candidates"));
        assert_eq!(actions[0], action);
        let changes = |other: &Action| {
            [
                other.increment != action.increment,
                other.multiple != action.multiple,
                other.intersend_ms != action.intersend_ms,
            ]
            .map(usize::from)
            .iter()
            .sum::<usize>()
        };
        // 27.3 ms is a step beyond both bounds: 6 + 6 + 12 neighbours, and a third of the other combinations of 7 x 7 x
        // 13.
        assert_eq!(actions.iter().filter(|other| changes(other) == 1).count(), 24);
        let together = actions.len() - 25;
        assert!((together as f64 / (7.0 * 7.0 * 13.0 - 25.0) - 1.0 / 3.0).abs() < 0.08, "{together}");
        assert!(actions.iter().all(|action| (0.0..=256.0).contains(&action.increment)));
    }

    #[test]
    fn rounding_keeps_what_is_round() {
        for value in [0.29, 0.58, 0.0067, 15.0, 1.0] {
            assert!((round(value) - value).abs() < 1e-12, "{value}");
        }
        assert!((round(0.006_67) - 0.0066).abs() < 1e-12);
    }
}
