//! `bakeoff-train`: trains a tree, scores trees, writes the one that is shipped.

#![allow(clippy::print_stderr, reason = "it talks to a person")]

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use bakeoff_core::scheme::remy::Tree;
use bakeoff_train::breeder::{Step, Training};
use bakeoff_train::evaluate::Range;
use bakeoff_train::in_lines;
use bakeoff_train::network::Rules;
use bakeoff_train::score;

const USAGE: &str = "\
bakeoff-train train STATE EVALUATIONS [SEED]  begins a training (seed 1) or goes on with it, until it has drawn so many sets of links; it may be stopped at any time
bakeoff-train score TREE                      utility over the range, and Remy's own regression table
bakeoff-train beside SCHEME                   utility of one of bakeoff's schemes in bakeoff's own simulator, on ten links of the range
bakeoff-train ship STATE TREE                 writes the tree of a training, with how it came to be";

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let done = match arguments.as_slice() {
        ["train", state, evaluations] => train(Path::new(state), evaluations, "1"),
        ["train", state, evaluations, seed] => train(Path::new(state), evaluations, seed),
        ["score", tree] => print_score(Path::new(tree)),
        ["beside", scheme] => print_beside(scheme),
        ["ship", state, tree] => ship(Path::new(state), Path::new(tree)),
        ["--help" | "-h"] => say(USAGE),
        _ => Err(USAGE.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn train(file: &Path, evaluations: &str, seed: &str) -> Result<(), Box<dyn Error>> {
    let evaluations: u64 = evaluations
        .parse()
        .map_err(|_| format!("evaluations {evaluations:?} is not a whole number; give one such as 177"))?;
    let mut training = if file.exists() {
        read(file)?
    } else {
        let seed = seed.parse().map_err(|_| format!("seed {seed:?} is not a whole number; give one such as 1"))?;
        Training::new(Range::HUNDREDFOLD, seed)
    };
    while training.evaluations < evaluations {
        let step = training.step();
        let (done, packets) = (training.evaluations, training.packets / 1_000_000);
        say(&format!("{done:4} of {evaluations}, {packets:7} million packets: {}", describe(&step)))?;
        write(file, &training.to_json())?;
    }
    Ok(())
}

fn describe(step: &Step) -> String {
    match step {
        Step::Chose { rule, share, score } => format!("rule {rule}, {:.1} % of uses; score {score:.4}", share * 100.0),
        Step::Improved { score, action } => {
            format!("  {score:.4} with window x {} + {}, {} ms", action.multiple, action.increment, action.intersend_ms)
        }
        Step::Left { rule } => format!("  nothing better for rule {rule}"),
        Step::Generation { before, after } => format!("GENERATION, from {before:.4} to {after:.4}"),
        Step::Split { rules } => format!("SPLIT, {rules} rules"),
    }
}

fn read(file: &Path) -> Result<Training, Box<dyn Error>> {
    let bytes = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    Training::from_json(&bytes).map_err(|error| format!("{}: {error}", file.display()).into())
}

/// Prints a line; whoever reads may have gone.
fn say(line: &str) -> Result<(), Box<dyn Error>> {
    writeln!(std::io::stdout(), "{line}").map_err(Into::into)
}

/// A file is complete or as it was.
fn write(file: &Path, json: &serde_json::Value) -> Result<(), Box<dyn Error>> {
    let part = file.with_extension("part");
    std::fs::write(&part, in_lines(json))?;
    std::fs::rename(&part, file).map_err(|error| format!("{}: {error}", file.display()).into())
}

fn print_score(file: &Path) -> Result<(), Box<dyn Error>> {
    let bytes = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let tree = Tree::read(&bytes).map_err(|error| format!("{}: {error}", file.display()))?;
    let rules = Rules::new(tree);
    say(&format!("{} rules, score {:.4}", rules.tree().actions().len(), score::over(&Range::HUNDREDFOLD, &rules)))?;
    say("Mbit/s  throughput  delay ms  utility   published throughput  delay")?;
    for row in score::REGRESSION {
        let published = format!("{:21.1} {:6}", row.throughput_mbps, row.delay_ms);
        let own = match row.run(&rules) {
            Some(own) => format!(
                "{:6.2} {:11.2} {:9.1} {:8.3} {published}",
                row.link_mbps, own.throughput_mbps, own.delay_ms, own.utility
            ),
            None => format!("{:6.2} the queue grows beyond all bounds {published}", row.link_mbps),
        };
        say(&own)?;
    }
    Ok(())
}

fn print_beside(scheme: &str) -> Result<(), Box<dyn Error>> {
    say(&format!("{scheme}: score {:.4}", score::beside(&Range::HUNDREDFOLD, scheme, &serde_json::json!({}))?))
}

fn ship(state: &Path, tree: &Path) -> Result<(), Box<dyn Error>> {
    let training = read(state)?;
    let score = score::over(&training.range, &Rules::new(training.before.clone()));
    write(tree, &training.shipped(score))
}
