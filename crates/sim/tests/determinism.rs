//! The same scenario gives the same recording; another seed gives another one.

mod common;

use bakeoff_core::scheme::SCHEMES;
use common::{Dumbbell, bulk};
use serde_json::json;

fn every_scheme() -> Dumbbell {
    let flows: Vec<_> = SCHEMES.iter().map(|entry| bulk(entry.info.name, 0.5)).collect();
    Dumbbell { seconds: 10.0, level: "packets", loss: 0.01, ..Dumbbell::new(&flows) }
}

#[test]
fn a_run_repeats_itself() {
    let dumbbell = every_scheme();
    assert_eq!(dumbbell.run().recording, dumbbell.run().recording);
}

#[test]
fn the_seed_matters() {
    let dumbbell = every_scheme();
    let other = Dumbbell { seed: 2, ..dumbbell.clone() };
    assert_ne!(dumbbell.run().recording, other.run().recording);
}

#[test]
fn the_level_changes_what_is_recorded_and_nothing_else() {
    let packets = every_scheme();
    let summary = Dumbbell { level: "summary", ..packets.clone() };
    assert_eq!(packets.run().table("flows"), summary.run().table("flows"));
}

#[test]
fn a_flow_does_not_feel_a_silent_neighbour() {
    // Random streams belong to components by name, so one more flow changes nothing for the others until it sends.
    let alone = Dumbbell { seconds: 5.0, ..Dumbbell::new(&[bulk("reno", 0.0)]) };
    let late = json!({"scheme": "reno", "start_ns": 4_890_000_000_u64});
    let neighbour = Dumbbell { flows: vec![bulk("reno", 0.0), late], ..alone.clone() };
    let until = |run: &common::Run| run.telemetry(1, "cwnd").into_iter().filter(|(t, _)| *t < 4.8).collect::<Vec<_>>();
    assert_eq!(until(&alone.run()), until(&neighbour.run()));
}
