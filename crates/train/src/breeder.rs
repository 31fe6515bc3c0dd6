//! The search: improve the rule that is used most, then the next, then split one; and again.

use std::collections::BTreeMap;

use bakeoff_core::random::RandomStream;
use bakeoff_core::scheme::remy::{AXES, Action, Domain, Memory, Tree};

use serde::{Deserialize, Serialize};

use crate::candidates::{FIRST, candidates};
use crate::evaluate::{Evaluation, Range, Utilities};
use crate::network::Rules;

/// All rules are improved at most so often before one is split, ...
const GENERATIONS: u32 = 5;
/// ... and no more once that gains less.
const WORTH_WHILE: f64 = 0.01;
/// Share of the time with which all candidates are tried (`ActionImprover::improve`).
const FIRST_PASS: f64 = 0.1;
/// A candidate gets all the time if it is no worse than the best by this, log2 of 5 %, ...
const CLOSE: f64 = 0.07;
/// ... and among so many (Remy: the better half).
const FINALISTS: usize = 20;
/// Less of a gain is none.
const GAIN: f64 = 0.001;
/// A rule used less often than this is left as it is.
const RARE: f64 = 0.002;
/// Axes along which rules are split: all.
const SPLIT: [bool; AXES] = [true; AXES];

/// A rule that is being improved.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Search {
    /// The rule.
    pub rule: usize,
    /// Number of the evaluation.
    pub evaluation: u64,
    /// What is to be beaten.
    pub score: f64,
}

/// A training on its way.
#[derive(Clone, Debug)]
pub struct Training {
    /// What the tree is for.
    pub range: Range,
    /// Decides everything.
    pub seed: u64,
    /// Evaluations so far.
    pub evaluations: u64,
    /// Packets simulated so far.
    pub packets: u64,
    /// The tree that is being improved.
    pub rules: Rules,
    /// How often each rule was improved.
    pub generations: Vec<u32>,
    /// The tree before that, in case it was better.
    pub before: Tree,
    /// The rules of which generation are being improved.
    pub generation: u32,
    /// The rule that is being improved.
    pub search: Option<Search>,
    pub(crate) tried: Tried,
}

/// What is known of the candidates of a search: the score of the first pass, and whether there was a second.
pub(crate) type Tried = BTreeMap<[u64; 3], (f64, bool)>;

/// What a step did.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Chose a rule.
    Chose {
        /// The rule.
        rule: usize,
        /// Its share of all uses.
        share: f64,
        /// The score before.
        score: f64,
    },
    /// Improved that rule.
    Improved {
        /// The score now.
        score: f64,
        /// What it does now.
        action: Action,
    },
    /// Found nothing better for it.
    Left {
        /// The rule.
        rule: usize,
    },
    /// All rules have been improved once more; the better tree stays.
    Generation {
        /// The careful score before.
        before: f64,
        /// The careful score after.
        after: f64,
    },
    /// Split a rule.
    Split {
        /// How many there are now.
        rules: usize,
    },
}

fn key(action: Action) -> [u64; 3] {
    [action.increment, action.multiple, action.intersend_ms].map(f64::to_bits)
}

impl Training {
    /// Begins with one rule.
    pub fn new(range: Range, seed: u64) -> Self {
        let tree = Tree::single(FIRST);
        Self {
            range,
            seed,
            evaluations: 0,
            packets: 0,
            rules: Rules::new(tree.clone()),
            generations: vec![0],
            before: tree,
            generation: 0,
            search: None,
            tried: Tried::new(),
        }
    }

    /// Does the next step.
    pub fn step(&mut self) -> Step {
        if let Some(search) = self.search {
            self.improve(search)
        } else if self.generation < GENERATIONS {
            self.choose().unwrap_or_else(|| self.finish_generation())
        } else {
            self.split()
        }
    }

    fn evaluation(&self, number: u64) -> Evaluation {
        Evaluation::new(&self.range, self.seed, number)
    }

    fn next_evaluation(&mut self) -> Evaluation {
        self.evaluations += 1;
        self.evaluation(self.evaluations)
    }

    fn evaluate(&mut self, evaluation: &Evaluation, rules: &Rules, share: f64, wanted: &[bool]) -> Utilities {
        let utilities = evaluation.utilities(rules, share, wanted);
        self.packets += utilities.packets;
        utilities
    }

    /// Takes the rule of this generation that is used most, if one is left.
    fn choose(&mut self) -> Option<Step> {
        let evaluation = self.next_evaluation();
        let most_used = most_used(&evaluation.uses(&self.rules), |rule| self.generations[rule] <= self.generation);
        let (rule, share) = most_used.filter(|(_, share)| *share >= RARE)?;
        let utilities = self.evaluate(&evaluation, &self.rules.clone(), 1.0, &evaluation.all());
        let score = utilities.score(&utilities);
        self.search = Some(Search { rule, evaluation: self.evaluations, score });
        Some(Step::Chose { rule, share, score })
    }

    /// Tries all candidates in place of a rule's action, and takes the best.
    fn improve(&mut self, search: Search) -> Step {
        let Search { rule, evaluation, score } = search;
        let (number, evaluation) = (evaluation, self.evaluation(evaluation));
        // Where the rule is not used, its action makes no difference.
        let wanted: Vec<_> = evaluation.uses(&self.rules).iter().map(|uses| uses[rule] > 0.0).collect();
        let rules = self.rules.clone();
        let base = [FIRST_PASS, 1.0].map(|share| self.evaluate(&evaluation, &rules, share, &evaluation.all()));
        let action = rules.tree().actions()[rule];
        let mut random = RandomStream::new(self.seed, &format!("candidates.{number}.{action:?}"));
        let actions = candidates(action, &mut random);
        let mut rules = rules;
        let mut best: Option<(f64, Action)> = None;
        let mut try_one = |training: &mut Self, action: Action, share: f64, base: &Utilities| {
            rules.tree_mut().actions_mut()[rule] = action;
            training.evaluate(&evaluation, &rules, share, &wanted).score(base)
        };
        for action in &actions {
            if !self.tried.contains_key(&key(*action)) {
                let first = try_one(self, *action, FIRST_PASS, &base[0]);
                self.tried.insert(key(*action), (first, false));
            }
        }
        for action in finalists(&actions, &self.tried) {
            let full = try_one(self, action, 1.0, &base[1]);
            self.tried.entry(key(action)).and_modify(|(_, is_done)| *is_done = true);
            if full > best.map_or(score + GAIN, |(score, _)| score) {
                best = Some((full, action));
            }
        }
        let Some((score, action)) = best else {
            (self.search, self.tried) = (None, Tried::new());
            self.generations[rule] = self.generation + 1;
            return Step::Left { rule };
        };
        self.rules.tree_mut().actions_mut()[rule] = action;
        self.search = Some(Search { score, ..search });
        Step::Improved { score, action }
    }

    /// Keeps what was done to the rules of this generation if it was for the better.
    fn finish_generation(&mut self) -> Step {
        self.evaluations += 1;
        let evaluation = Evaluation::careful(&self.range, self.seed, self.evaluations);
        let all = evaluation.all();
        let [before, after] = [Rules::new(self.before.clone()), self.rules.clone()]
            .map(|rules| self.evaluate(&evaluation, &rules, 1.0, &all))
            .map(|utilities| utilities.score(&utilities));
        if after > before {
            self.before = self.rules.tree().clone();
        } else {
            self.rules = Rules::new(self.before.clone());
        }
        self.generation = if after > before + WORTH_WHILE { self.generation + 1 } else { GENERATIONS };
        self.generations.fill(self.generation);
        Step::Generation { before, after }
    }

    /// Splits the rule that is used most at the medians of its memories.
    fn split(&mut self) -> Step {
        let evaluation = self.next_evaluation();
        let uses = evaluation.uses(&self.rules);
        let mut is_whole = vec![false; self.rules.tree().actions().len()];
        while let Some((rule, _)) = most_used(&uses, |rule| !is_whole[rule]) {
            let cuts = cuts(&evaluation.memories(&self.rules, rule), self.rules.domain(rule));
            if cuts.iter().any(Option::is_some) {
                self.rules = Rules::new(self.rules.tree().split(rule, cuts));
                break;
            }
            is_whole[rule] = true;
        }
        let count = self.rules.tree().actions().len();
        self.before = self.rules.tree().clone();
        (self.generation, self.generations) = (0, vec![0; count]);
        Step::Split { rules: count }
    }
}

/// The rule that is used most among some, and its share of all uses, each configuration counting as much as another.
fn most_used(uses: &[Vec<f64>], is_eligible: impl Fn(usize) -> bool) -> Option<(usize, f64)> {
    let rules = uses.first().map_or(0, Vec::len);
    let share = |rule: usize| uses.iter().map(|uses| uses[rule]).sum::<f64>() / uses.len() as f64;
    let used = (0..rules).filter(|rule| is_eligible(*rule)).map(|rule| (rule, share(rule)));
    used.filter(|(_, share)| *share > 0.0).max_by(|one, other| one.1.total_cmp(&other.1))
}

/// Those that the first pass leaves, but for those that had a second already.
fn finalists(actions: &[Action], tried: &Tried) -> Vec<Action> {
    let mut scored: Vec<_> =
        actions.iter().filter_map(|action| tried.get(&key(*action)).map(|known| (*action, *known))).collect();
    scored.sort_by(|(_, one), (_, other)| other.0.total_cmp(&one.0));
    let best = scored.first().map_or(0.0, |(_, (first, _))| *first);
    scored.truncate(FINALISTS);
    let left = scored.into_iter().filter(|(_, (first, is_done))| *first >= best - CLOSE && !is_done);
    left.map(|(action, _)| action).collect()
}

/// Where to cut a box in two along each axis: at the median, or in the middle if that is an edge, or nowhere.
fn cuts(memories: &[(Memory, f64)], domain: Domain) -> [Option<f64>; AXES] {
    let mut cuts = [None; AXES];
    for axis in (0..AXES).filter(|axis| SPLIT[*axis]) {
        let (lower, upper) = (domain.lower[axis], domain.upper[axis]);
        let values = memories.iter().map(|(memory, weight)| (memory.0[axis], *weight)).collect();
        let is_inside = |at: &f64| lower < *at && *at < upper;
        cuts[axis] =
            [median(values).map(six_digits), Some(f64::midpoint(lower, upper))].into_iter().flatten().find(is_inside);
    }
    cuts
}

fn median(mut values: Vec<(f64, f64)>) -> Option<f64> {
    values.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut left = values.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    values
        .iter()
        .find(|(_, weight)| {
            left -= weight;
            left <= 0.0
        })
        .map(|(value, _)| *value)
}

/// A number that is short in a file.
fn six_digits(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "medians are among the values")]
mod tests {
    use super::*;

    fn memories(values: &[[f64; AXES]]) -> Vec<(Memory, f64)> {
        values.iter().map(|value| (Memory(*value), 1.0)).collect()
    }

    #[test]
    fn boxes_are_cut_at_the_medians() {
        let values: Vec<_> = (1..=5).map(f64::from).map(|n| [n, n * 2.0, 1.0 + n / 10.0, n * n]).collect();
        assert_eq!(cuts(&memories(&values), Domain::ALL), [Some(3.0), Some(6.0), Some(1.3), Some(9.0)]);
    }

    #[test]
    fn where_the_median_is_an_edge_the_middle_is_taken_and_an_empty_axis_is_left() {
        let domain = Domain { lower: [1.0, 0.0, 0.0, 0.0], upper: [3.0, 8.0, 1.0_f64.next_up(), 8.0] };
        let values = [[1.0, 4.0, 0.0, 0.0], [1.0, 4.0, 0.0, 0.0], [2.0, 5.0, 0.0, 1.0]];
        let found = cuts(&memories(&values), domain);
        assert_eq!(found, [Some(2.0), Some(4.0), Some(0.5_f64.next_up()), Some(4.0)]);
        let thin = Domain { lower: [1.0; AXES], upper: [1.0_f64.next_up(); AXES] };
        assert_eq!(cuts(&memories(&[[1.0; AXES]]), thin), [None; AXES]);
    }

    #[test]
    fn a_median_weighs() {
        assert_eq!(median(vec![(3.0, 1.0), (1.0, 1.0), (2.0, 1.0)]), Some(2.0));
        assert_eq!(median(vec![(3.0, 5.0), (1.0, 1.0), (2.0, 1.0)]), Some(3.0));
        assert_eq!(median(Vec::new()), None);
    }

    #[test]
    fn every_configuration_has_one_vote_on_the_rule_that_is_used_most() {
        let uses = [vec![0.9, 0.1, 0.0], vec![0.0, 1.0, 0.0], vec![0.3, 0.7, 0.0]];
        assert_eq!(most_used(&uses, |_| true).map(|(rule, _)| rule), Some(1));
        assert_eq!(most_used(&uses, |rule| rule != 1).map(|(rule, _)| rule), Some(0));
        assert_eq!(most_used(&uses, |rule| rule == 2), None);
    }

    #[test]
    fn only_the_best_of_the_first_pass_are_tried_again_and_only_once() {
        let actions: Vec<_> = (0..50).map(|n| Action { increment: f64::from(n), ..FIRST }).collect();
        let score = |n: usize| if n < 10 { -1.0 - n as f64 / 1e3 } else { -2.0 };
        let mut tried: Tried =
            actions.iter().enumerate().map(|(n, action)| (key(*action), (score(n), n == 0))).collect();
        assert_eq!(finalists(&actions, &tried), actions[1..10]);
        for (score, _) in tried.values_mut() {
            *score = -1.0;
        }
        assert_eq!(finalists(&actions, &tried).len(), FINALISTS - 1);
    }
}
