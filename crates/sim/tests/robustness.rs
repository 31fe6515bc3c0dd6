//! What every scheme must survive: paths that change beyond recognition.

mod common;

use std::sync::{Mutex, PoisonError};

use bakeoff_core::info::{Info, Kind, Parameter, Profile};
use bakeoff_core::scheme::SCHEMES;
use common::{Dumbbell, bulk, run};
use serde_json::{Value, json};

/// A flow of every profile of every scheme, and its name.
fn flows() -> Vec<(String, Value)> {
    let profiles = |parameters: &[Parameter]| {
        let found = parameters.iter().find_map(|parameter| match parameter.kind {
            Kind::Profile { profiles, .. } => Some(profiles),
            _ => None,
        });
        found.unwrap_or_default()
    };
    let mut flows = Vec::new();
    for Info { name, parameters, .. } in SCHEMES.iter().map(|entry| entry.info) {
        let profiles = profiles(parameters);
        if profiles.is_empty() {
            flows.push((name.to_owned(), bulk(name, 0.0)));
        }
        for Profile { name: profile, .. } in profiles {
            let mut flow = bulk(name, 0.0);
            flow["parameters"]["profile"] = json!(profile);
            flows.push((format!("{name} {profile}"), flow));
        }
    }
    flows
}

/// Checks each of them, two at a time: some take as long as ten others.
fn check_each(check: impl Fn(&str, Value) + Sync) {
    let next = Mutex::new(flows().into_iter());
    let take = || next.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some((name, flow)) = take() {
            check(&name, flow);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
}

/// A link that has these rates from these seconds on.
fn stepping(flow: Value, path: &Dumbbell, steps: &[(u64, u64)]) -> Value {
    let steps: Vec<_> =
        steps.iter().map(|(at_s, rate)| json!({"at_ns": at_s * 1_000_000_000, "rate_bps": rate})).collect();
    let mut scenario = Dumbbell { flows: vec![flow], ..path.clone() }.json();
    scenario["forward"][0]["link"] = json!({"kind": "schedule", "steps": steps});
    scenario
}

/// Bytes per second that a scheme has to have on a path that it has used with `before`, for this share of it.
fn least(name: &str, before: f64, share: f64) -> f64 {
    // Sprout takes the rate at which it sends for the link's: of one packet in each tick of 20 ms its forecast makes
    // two within the next five, which a round trip of two ticks uses up, and of one in each second tick none. It may
    // stay at either.
    if name == "sprout" { 0.9 * 1_500.0 / 0.04 } else { share * before }
}

/// Every scheme has, after ten seconds without a link that end at 20 s, more than half of its rate `from` this second
/// on.
fn comes_back(queue_packets: u64, from: f64) {
    check_each(|name, flow| {
        let path = Dumbbell { seconds: from + 40.0, queue_packets, ..Dumbbell::new(&[]) };
        let run = run(&stepping(flow, &path, &[(0, 4_000_000), (10, 0), (20, 4_000_000)]));
        let (before, after) = (run.received(1, 5.0, 10.0) / 5.0, run.received(1, from, from + 40.0) / 40.0);
        assert!(after > least(name, before, 0.5), "{name}: {after} after {before} bytes per second");
    });
}

#[test]
fn every_scheme_comes_back_after_ten_seconds_in_which_packets_wait() {
    // They are a round trip of ten seconds, and make for a long timeout.
    comes_back(34, 100.0);
}

#[test]
fn every_scheme_comes_back_soon_after_ten_seconds_in_which_nearly_all_is_lost() {
    comes_back(2, 25.0);
}

#[test]
fn every_scheme_uses_a_link_that_becomes_a_hundred_times_slower_and_fast_again() {
    check_each(|name, flow| {
        let path = Dumbbell { seconds: 50.0, ..Dumbbell::new(&[]) };
        let run = run(&stepping(flow, &path, &[(0, 50_000_000), (10, 500_000), (30, 50_000_000)]));
        let slow = run.received(1, 15.0, 30.0) * 8.0 / 15.0 / 500e3;
        let (before, after) = (run.received(1, 5.0, 10.0) / 5.0, run.received(1, 40.0, 50.0) / 10.0);
        assert!(slow > 0.3, "{name}: {slow} of the slow link");
        assert!(after > least(name, before, 0.2), "{name}: {after} after {before} bytes per second");
    });
}

#[test]
fn every_scheme_goes_on_when_microseconds_no_longer_fit_into_four_bytes() {
    check_each(|name, flow| {
        // 2^32 microseconds are 4295 seconds.
        let path = Dumbbell { seconds: 5_400.0, rate_bps: 2_000_000, queue_packets: 50, ..Dumbbell::new(&[flow]) };
        let mut scenario = path.json();
        scenario["record"]["interval_ns"] = json!(10_000_000_000_u64);
        let run = run(&scenario);
        let (early, late) = (run.received(1, 600.0, 1_700.0), run.received(1, 4_300.0, 5_400.0));
        assert!((late / early - 1.0).abs() < 0.1, "{name}: {late} after {early} bytes");
    });
}

#[test]
fn every_scheme_lives_on_paths_at_the_ends_of_what_there_is() {
    // Seconds, bit/s, milliseconds one way, packets in the queue, and the least share of the rate: a packet in twelve
    // seconds; a round trip of ten microseconds at 100 Gbit/s, for less than a tick of Sprout; a round trip of ten
    // seconds, with which most have hardly begun.
    for (seconds, rate_bps, one_way_ms, queue_packets, least) in [
        (3_000.0, 1_000, 20.0, 20, 0.5),
        (0.02, 100_000_000_000, 0.005, 100, 1e-7),
        (300.0, 1_000_000, 5_000.0, 800, 1e-3),
    ] {
        check_each(|name, flow| {
            let path = Dumbbell { seconds, rate_bps, one_way_ms, queue_packets, ..Dumbbell::new(&[flow]) };
            let mut scenario = path.json();
            scenario["record"]["interval_ns"] = json!((seconds * 1e7) as u64);
            scenario["start_jitter_ns"] = json!(0);
            let share = run(&scenario).received(1, 0.0, seconds) * 8.0 / seconds / rate_bps as f64;
            assert!(share > least, "{name}: {share} of {rate_bps} bit/s");
        });
    }
}
