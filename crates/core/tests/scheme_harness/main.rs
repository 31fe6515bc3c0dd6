//! Every scheme against random but legal sequences of events: it must not panic or overflow, its answers must make
//! sense, and the same sequence must give the same answers.
//!
//! A failure prints the scheme, its parameters, the number of the step and the shortest sequence found; proptest keeps
//! the sequence under `proptest-regressions` and tries it first the next time.

mod faults;
mod files;
mod sender;
mod step;
mod watched;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use bakeoff_core::info::{Kind, Parameter};
use bakeoff_core::random::RandomStream;
use bakeoff_core::scheme::{self, Connected, INITIAL_WINDOW, Parameters, SCHEMES, Scheme, SchemeEntry, Setup, Value};
use bakeoff_core::units::{Bytes, Duration};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use sender::Sender;
use step::{Step, round_trip, step};
use watched::{Answer, Watched};

/// A flow and what happens to it.
#[derive(Clone, Debug)]
struct Case {
    mss: u64,
    seed: u64,
    is_paced: bool,
    rtt: Duration,
    has_handshake: bool,
    initial_window: u32,
    /// One position between the bounds per parameter; none for the defaults.
    parameters: Vec<f64>,
    steps: Vec<Step>,
}

fn case() -> impl Strategy<Value = Case> {
    let mss = prop_oneof![2 => Just(1_448), 1 => Just(1), 1 => Just(65_000), 3 => 1_u64..=65_000];
    let parameters = prop_oneof![Just(Vec::new()), prop::collection::vec(0.0..=1.0, 8)];
    let steps = prop::collection::vec(step(), 1..80);
    let initial_window = prop_oneof![Just(1), Just(INITIAL_WINDOW)];
    (mss, any::<u64>(), any::<[bool; 2]>(), round_trip(), initial_window, parameters, steps).prop_map(
        |(mss, seed, [is_paced, has_handshake], rtt, initial_window, parameters, steps)| Case {
            mss,
            seed,
            is_paced,
            rtt,
            has_handshake,
            initial_window,
            parameters,
            steps,
        },
    )
}

/// The value of a parameter at a position between 0 and 1.
fn value(parameter: &Parameter, position: f64) -> Value {
    match parameter.kind {
        Kind::Number { min, max, .. } => Value::Number(min + (max - min) * position),
        Kind::Flag { .. } => Value::Flag(position < 0.5),
        Kind::Choice { options, .. } => {
            Value::Text(options[((position * options.len() as f64) as usize).min(options.len() - 1)].to_owned())
        }
        Kind::Profile { profiles, .. } => {
            Value::Text(profiles[((position * profiles.len() as f64) as usize).min(profiles.len() - 1)].name.to_owned())
        }
        Kind::Text { default } => Value::Text(default.to_owned()),
        Kind::File { .. } => Value::Text(files::of(parameter.name)),
    }
}

fn given(entry: &SchemeEntry, case: &Case) -> BTreeMap<String, Value> {
    let positions = case.parameters.iter().cycle();
    let parameters = entry.info.parameters;
    let mut given: BTreeMap<_, _> = parameters
        .iter()
        .zip(positions)
        .map(|(parameter, at)| (parameter.name.to_owned(), value(parameter, *at)))
        .collect();
    let files = parameters.iter().filter(|parameter| matches!(parameter.kind, Kind::File { .. }));
    given.extend(files.map(|parameter| (parameter.name.to_owned(), value(parameter, 0.0))));
    // Other networks have other files.
    given.remove("network");
    given
}

/// A scheme of the catalogue reads its files; a faulty one is in no catalogue.
fn make(entry: &SchemeEntry, given: &BTreeMap<String, Value>, setup: Setup) -> Box<dyn Scheme> {
    let info = entry.info;
    let is_listed = SCHEMES.iter().any(|listed| listed.info.name == info.name);
    if is_listed {
        return scheme::build(info.name, given, setup)
            .unwrap_or_else(|error| panic!("{given:?} is not legal: {error}"));
    }
    let Ok(parameters) = Parameters::resolve(info.name, info.parameters, given) else {
        panic!("{given:?} is not legal")
    };
    (entry.new)(Setup { parameters, ..setup })
}

/// What the scheme answers after each step.
fn answers(entry: &SchemeEntry, given: &BTreeMap<String, Value>, case: &Case, progress: &Cell<usize>) -> Vec<Answer> {
    let setup = Setup {
        mss: Bytes::new(case.mss),
        mss_cache: Bytes::new(case.mss),
        packet_size: Bytes::new(case.mss + 52),
        is_paced: case.is_paced,
        random: RandomStream::new(case.seed, "scheme"),
        parameters: Parameters::default(),
    };
    let mut scheme = Watched::new(make(entry, given, setup), entry.info);
    let srtt = case.has_handshake.then_some(case.rtt);
    scheme.on_connected(&Connected { initial_window: case.initial_window, srtt });
    let mut sender = Sender::new(scheme, Bytes::new(case.mss), case.rtt);
    let take = |(number, step): (usize, &Step)| {
        progress.set(number);
        sender.take(step);
        sender.scheme().answer()
    };
    case.steps.iter().enumerate().map(take).collect()
}

thread_local! {
    static IS_WATCHED: Cell<bool> = const { Cell::new(false) };
}

/// Panics of a scheme are reported once, at the end, and not for every sequence that is tried while shrinking.
fn silence_watched_panics() {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !IS_WATCHED.get() {
                usual(panic);
            }
        }));
    });
}

fn run(entry: &SchemeEntry, case: &Case) -> Result<Vec<Answer>, TestCaseError> {
    silence_watched_panics();
    let (given, progress) = (given(entry, case), Cell::new(0));
    IS_WATCHED.set(true);
    let outcome = catch_unwind(AssertUnwindSafe(|| answers(entry, &given, case, &progress)));
    IS_WATCHED.set(false);
    outcome.map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        let (name, number) = (entry.info.name, progress.get());
        TestCaseError::fail(format!("{name} {given:?}, step {number}: {}", text.unwrap_or("panic")))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, max_shrink_iters: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn every_scheme_survives_any_legal_sequence(case in case()) {
        for entry in SCHEMES {
            run(entry, &case)?;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, max_shrink_iters: 500, ..ProptestConfig::default() })]

    #[test]
    fn the_same_sequence_gives_the_same_answers(case in case()) {
        for entry in SCHEMES {
            prop_assert_eq!(run(entry, &case)?, run(entry, &case)?, "{}", entry.info.name);
        }
    }
}

fn complaint(cases: u32, check: impl Fn(Case) -> Result<(), TestCaseError>) -> Option<String> {
    let config = Config { cases, max_shrink_iters: 0, failure_persistence: None, ..Config::default() };
    let outcome =
        TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha)).run(&case(), check);
    outcome.err().map(|error| error.to_string())
}

#[test]
fn every_fault_is_found() {
    assert_eq!(complaint(50, |case| run(&faults::sound(), &case).map(|_| ())), None);
    // A release build does not check its arithmetic.
    let can_show = |words: &str| words != "overflow" || cfg!(debug_assertions);
    for (entry, words) in faults::all().into_iter().filter(|(_, words)| can_show(words)) {
        let found = complaint(200, |case| run(&entry, &case).map(|_| ())).unwrap_or_default();
        assert!(found.contains(words), "{}: {found:?} does not say {words:?}", entry.info.name);
    }
    let entry = faults::irreproducible();
    let is_repeatable = |case: Case| {
        prop_assert_eq!(run(&entry, &case)?, run(&entry, &case)?);
        Ok(())
    };
    assert!(complaint(1, is_repeatable).is_some());
}
