//! Runs one benchmark case: `bench_case SCENARIO.json LEVEL`, with the level `summary`, `series` or `packets`. Prints
//! one JSON line with the simulated time and the packets that the bottleneck (hop `forward.0`) forwarded.

#![allow(clippy::print_stdout, reason = "its output is its purpose")]

use std::error::Error;

use bakeoff_core::record::{Column, Table};
use bakeoff_sim::{Recording, Scenario};
use serde_json::{from_value, json};

const BOTTLENECK: &str = "forward.0";

fn main() -> Result<(), Box<dyn Error>> {
    let [path, level] = <[String; 2]>::try_from(std::env::args().skip(1).collect::<Vec<_>>())
        .map_err(|_| "give a scenario file and a level")?;
    let mut scenario = Scenario::from_json(&std::fs::read_to_string(path)?)?;
    scenario.record.level = from_value(level.into())?;
    let recording = bakeoff_sim::run(&scenario)?;
    let forwarded = forwarded(&recording).ok_or("the recording lacks the bottleneck's counters")?;
    let simulated_s = scenario.duration.as_secs_f64();
    println!("{}", json!({"bottleneck_packets": forwarded, "simulated_s": simulated_s}));
    Ok(())
}

/// Packets that left the bottleneck's link: those that came out of the hop and those lost on the wire behind it.
fn forwarded(recording: &Recording) -> Option<u64> {
    let hops = table(recording, "hops")?;
    let row = texts(hops, "hop")?.iter().position(|hop| *hop == BOTTLENECK)?;
    let verdicts = table(recording, "verdicts")?;
    let lost_on_wire: u64 = texts(verdicts, "hop")?
        .iter()
        .zip(texts(verdicts, "reason")?)
        .zip(counts(verdicts, "packets")?)
        .filter(|((hop, reason), _)| **hop == BOTTLENECK && *reason == "loss")
        .map(|(_, packets)| packets)
        .sum();
    Some(counts(hops, "out_packets")?.get(row)? + lost_on_wire)
}

fn table<'a>(recording: &'a Recording, name: &str) -> Option<&'a Table> {
    recording.tables.iter().find(|table| table.name == name)
}

fn column<'a>(table: &'a Table, name: &str) -> Option<&'a Column> {
    table.columns.iter().find(|(column, _)| *column == name).map(|(_, values)| values)
}

fn texts<'a>(table: &'a Table, name: &str) -> Option<Vec<&'a str>> {
    match column(table, name)? {
        Column::Text(values) => Some(values.iter().map(String::as_str).collect()),
        Column::Category { codes, names } => Some(codes.iter().map(|code| names[usize::from(*code)]).collect()),
        _ => None,
    }
}

fn counts<'a>(table: &'a Table, name: &str) -> Option<&'a [u64]> {
    match column(table, name)? {
        Column::U64(values) => Some(values),
        _ => None,
    }
}
