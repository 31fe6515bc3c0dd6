//! How BBR version 3 behaves on a path: what the draft promises, and those of its example test cases that need one.
#![allow(clippy::float_cmp, reason = "states and counts are exact")]

mod common;

use common::{Dumbbell, Run, bulk, mean_after, run};
use serde_json::{Value, json};

const SEEDS: std::ops::RangeInclusive<u64> = 1..=5;
const DOWN: f64 = 2.0;
const CRUISE: f64 = 3.0;
const REFILL: f64 = 4.0;
const UP: f64 = 5.0;
const PROBE_RTT: f64 = 6.0;

/// 10 Mbit/s, 100 ms, 83 packets of BDP, one and a half of buffer.
fn path(flows: &[Value]) -> Dumbbell {
    Dumbbell { one_way_ms: 50.0, queue_packets: 125, ..Dumbbell::new(flows) }
}

/// When a state begins.
fn begins(run: &Run, state: f64) -> Vec<f64> {
    let states = run.telemetry(1, "bbr_state");
    let is_entry = |pair: &&[(f64, f64)]| pair[0].1 != state && pair[1].1 == state;
    states.windows(2).filter(is_entry).map(|pair| pair[1].0).collect()
}

fn loss_rate(run: &Run) -> f64 {
    run.flow(0, "dropped_packets") / run.flow(0, "sent_packets")
}

#[test]
fn one_flow_fills_the_link_and_probes_every_few_seconds() {
    for seed in SEEDS {
        let path = Dumbbell { seed, ..path(&[bulk("bbr3", 0.0)]) };
        let run = path.run();
        assert!(run.utilisation() >= 0.95, "seed {seed}: {}", run.utilisation());
        assert_eq!(run.flow(1, "dropped_packets"), 0.0, "seed {seed}");
        let states = run.telemetry(1, "bbr_state");
        let queued = run.queue().into_iter().filter(|(time, _)| {
            states.get(states.partition_point(|(at, _)| at < time)).is_some_and(|(_, state)| *state != UP)
        });
        let queue = mean_after(10.0, &queued.collect::<Vec<_>>()) / path.bdp_packets();
        assert!(queue < 0.1, "seed {seed}: {queue} BDP but for the probes");
        let probes = begins(&run, UP);
        let gaps: Vec<_> = probes.windows(2).map(|pair| pair[1] - pair[0]).collect();
        // Two to three seconds of waiting, and a probe of the round trip starts the wait anew.
        assert!(probes.len() >= 9, "seed {seed}: {probes:?}");
        assert!(gaps.iter().all(|gap| (2.0..8.5).contains(gap)), "seed {seed}: {gaps:?}");
    }
}

#[test]
fn it_waits_two_to_three_seconds_for_the_next_probe_or_63_rounds_where_they_are_shorter() {
    // A wait ends with an ack, and is seen at the next sample.
    for (rate_bps, one_way_ms, seconds, shortest, longest) in
        [(10_000_000, 50.0, 60.0, 2.0, 3.02), (100_000_000, 5.0, 10.0, 0.61, 0.72)]
    {
        let mut all = Vec::new();
        for seed in SEEDS {
            let run = Dumbbell { seed, seconds, rate_bps, one_way_ms, ..path(&[bulk("bbr3", 0.0)]) }.run();
            let mut began = None;
            for pair in run.telemetry(1, "bbr_state").windows(2) {
                let [(_, before), (now, state)] = [pair[0], pair[1]];
                if state == REFILL && before != REFILL {
                    all.extend(began.map(|began: f64| now - began));
                }
                // `ProbeBW_DOWN` may be over before the next sample, and is so after a probe of the round trip.
                let is_waiting = |state| [DOWN, CRUISE].contains(&state);
                if is_waiting(state) && !is_waiting(before) {
                    began = Some(now);
                }
            }
        }
        let (least, most) =
            all.iter().fold((f64::MAX, 0.0_f64), |(least, most), wait| (least.min(*wait), most.max(*wait)));
        assert!(
            all.len() > 40 && least > shortest - 0.01 && most < longest,
            "{one_way_ms} ms there: {least} to {most} s"
        );
        assert!(one_way_ms < 50.0 || most - least > 0.8, "drawn from a second: {least} to {most} s");
    }
}

#[test]
fn every_five_seconds_half_a_bdp_is_in_flight_for_200_ms() {
    for seed in SEEDS {
        let path = Dumbbell { seed, ..path(&[bulk("bbr3", 0.0)]) };
        let run = path.run();
        let starts = begins(&run, PROBE_RTT);
        let gaps: Vec<_> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.iter().all(|gap| (5.0..6.5).contains(gap)), "seed {seed}: {gaps:?}");
        let states = run.telemetry(1, "bbr_state");
        let in_flight = run.telemetry(1, "in_flight");
        for start in &starts {
            let length =
                states.iter().filter(|(time, state)| (0.0..1.0).contains(&(time - start)) && *state == PROBE_RTT);
            // The drain to half a BDP, 200 ms, and a round trip.
            let seconds = length.count() as f64 * 0.01;
            assert!((0.2..0.45).contains(&seconds), "seed {seed} at {start}: {seconds} s");
            let least = in_flight.iter().filter(|(time, _)| (0.0..0.5).contains(&(time - start)));
            let least = least.map(|(_, packets)| packets / path.bdp_packets()).fold(f64::INFINITY, f64::min);
            // Whole packets of half of 83.
            assert!((0.47..0.51).contains(&least), "seed {seed} at {start}: {least} BDP");
        }
    }
}

#[test]
fn what_the_looks_at_the_empty_path_cost_is_half_of_their_time() {
    // 200 ms and a round trip of every five seconds and a quarter, at half the rate.
    for (one_way_ms, most) in [(2.5, 0.02), (5.0, 0.02), (50.0, 0.03)] {
        for seed in SEEDS {
            let run = Dumbbell { seed, one_way_ms, queue_packets: 1_000, ..path(&[bulk("bbr3", 0.0)]) }.run();
            // One percent is the margin of its pace.
            let cost = 1.0 - run.received(1, 5.0, 60.0) * 8.0 / 55.0 / (0.99 * 10e6);
            assert!((0.0..most).contains(&cost), "{one_way_ms} ms there, seed {seed}: {cost}");
        }
    }
}

#[test]
fn a_tenth_of_a_bdp_of_buffer_costs_few_packets() {
    for seed in SEEDS {
        let lost = |scheme| {
            let run = Dumbbell { seed, queue_packets: 8, ..path(&[bulk(scheme, 0.0)]) }.run();
            (loss_rate(&run), run.utilisation())
        };
        let (loss, utilisation) = lost("bbr3");
        assert!(loss < 0.02, "seed {seed}: {loss}");
        assert!(utilisation > 0.85, "seed {seed}: {utilisation}");
        assert!(lost("bbr").0 > 2.0 * loss, "seed {seed}: version 1 loses {}, 3 {loss}", lost("bbr").0);
    }
}

#[test]
fn after_a_probe_that_lost_the_next_one_is_short() {
    for seed in SEEDS {
        let run = Dumbbell { seed, queue_packets: 25, ..path(&[bulk("bbr3", 0.0)]) }.run();
        let lengths: Vec<_> = begins(&run, UP)
            .into_iter()
            .filter_map(|start| Some(begins(&run, DOWN).into_iter().find(|end| *end > start)? - start))
            .collect();
        // One that goes on takes more than a round trip and a half, until its losses are known.
        let careful = lengths.iter().filter(|length| **length < 0.16).count();
        assert!((lengths.len() / 3..=lengths.len() / 2).contains(&careful), "seed {seed}: {lengths:?}");
        let told = run.telemetry(1, "prev_probe_precautionary");
        let begun = told.windows(2).filter(|pair| pair[0].1 < pair[1].1).count();
        assert!(begun.abs_diff(careful) <= 1, "seed {seed}: {begun}, {lengths:?}");
    }
}

#[test]
fn random_loss_below_the_threshold_costs_what_the_rounds_between_probes_add_up_to() {
    for seed in SEEDS {
        let utilisation = |loss: f64, rate_bps: u64| {
            let queue_packets = rate_bps / 120_000;
            Dumbbell { seed, loss, rate_bps, queue_packets, level: "summary", ..path(&[bulk("bbr3", 0.0)]) }
                .run()
                .utilisation()
        };
        // One percent of loss and one of pacing margin in each of about 25 rounds between two probes, then all of it
        // back.
        let tolerated = utilisation(0.01, 100_000_000);
        assert!((0.72..0.92).contains(&tolerated), "seed {seed}: {tolerated}");
        let intolerable = utilisation(0.03, 100_000_000);
        assert!(intolerable < 0.3, "seed {seed}: {intolerable}");
    }
}

fn with_schedule(path: &Dumbbell, steps: &Value, queue_packets: u64) -> Run {
    let mut scenario = path.json();
    scenario["forward"][0]["link"] = json!({"kind": "schedule", "steps": steps});
    scenario["forward"][0]["queue"] = json!({"kind": "fifo", "limit_packets": queue_packets});
    run(&scenario)
}

#[test]
fn ten_times_the_bandwidth_is_found_in_a_few_probes() {
    for seed in SEEDS {
        let steps =
            json!([{"at_ns": 0, "rate_bps": 10_000_000}, {"at_ns": 20_000_000_000_u64, "rate_bps": 100_000_000}]);
        let run = with_schedule(&Dumbbell { seed, ..path(&[bulk("bbr3", 0.0)]) }, &steps, 833);
        let rate = run.received(1, 40.0, 60.0) * 8.0 / 20.0;
        assert!(rate > 0.9 * 100e6, "seed {seed}: {rate} bit/s twenty seconds later");
    }
}

#[test]
fn a_tenth_of_the_bandwidth_is_accepted_within_two_cycles() {
    for seed in SEEDS {
        let steps =
            json!([{"at_ns": 0, "rate_bps": 100_000_000}, {"at_ns": 20_000_000_000_u64, "rate_bps": 10_000_000}]);
        let run = with_schedule(&Dumbbell { seed, ..path(&[bulk("bbr3", 0.0)]) }, &steps, 200);
        let before =
            mean_after(15.0, &run.telemetry(1, "max_bw").into_iter().filter(|(t, _)| *t < 20.0).collect::<Vec<_>>());
        assert!(before > 90e6, "seed {seed}: {before}");
        let bounds: Vec<_> = run.telemetry(1, "bw_shortterm").into_iter().filter(|(time, _)| *time > 21.0).collect();
        assert!(bounds.iter().any(|(_, bound)| *bound < 80e6), "seed {seed}: the losses never bound the rate");
        let later = mean_after(45.0, &run.telemetry(1, "max_bw"));
        assert!((9e6..11e6).contains(&later), "seed {seed}: {later}");
    }
}

#[test]
fn draining_ends_by_the_clock_where_the_bandwidth_shrinks() {
    for seed in SEEDS {
        // Another flow appears whenever this one would drain: a bandwidth of nine tenths from the first probe on.
        let steps = json!([{"at_ns": 0, "rate_bps": 10_000_000}, {"at_ns": 4_500_000_000_u64, "rate_bps": 8_000_000}]);
        let run = with_schedule(&Dumbbell { seed, seconds: 30.0, ..path(&[bulk("bbr3", 0.0)]) }, &steps, 1_000);
        let states = run.telemetry(1, "bbr_state");
        let longest = states.iter().filter(|(_, state)| *state == DOWN).count() as f64 * 0.01;
        assert!(longest > 0.0, "seed {seed}");
        let spells = begins(&run, DOWN).into_iter().map(|start| {
            states.iter().find(|(time, state)| *time > start && *state != DOWN).map_or(30.0, |(time, _)| *time) - start
        });
        assert!(spells.fold(0.0, f64::max) < 3.5, "seed {seed}: no longer than the wait for the next probe");
        assert!(!begins(&run, CRUISE).is_empty());
    }
}

#[test]
fn an_idle_flow_does_not_probe_the_round_trip() {
    let traffic = json!({"kind": "on-off", "on_ns": 2_000_000_000_u64, "off_ns": 6_000_000_000_u64});
    for seed in SEEDS {
        let run = Dumbbell { seed, ..path(&[json!({"scheme": "bbr3", "traffic": traffic})]) }.run();
        assert_eq!(begins(&run, PROBE_RTT), Vec::<f64>::new(), "seed {seed}");
    }
}

#[test]
fn less_than_a_packet_of_bdp_is_paced_and_not_stalled() {
    for seed in SEEDS {
        let path = Dumbbell {
            seed,
            rate_bps: 100_000,
            one_way_ms: 10.0,
            queue_packets: 20,
            ..Dumbbell::new(&[bulk("bbr3", 0.0)])
        };
        let run = path.run();
        assert!(run.utilisation() > 0.93, "seed {seed}: {}", run.utilisation());
        let cwnd = mean_after(20.0, &run.telemetry(1, "cwnd"));
        assert!((4.0..12.0).contains(&cwnd), "seed {seed}: {cwnd}");
    }
}

#[test]
fn two_flows_share_and_queue_less_than_two_of_version_one() {
    for seed in SEEDS {
        let queue = |scheme| {
            let path = Dumbbell {
                seed,
                seconds: 120.0,
                queue_packets: 1_000,
                ..path(&[bulk(scheme, 0.0), bulk(scheme, 3.0)])
            };
            let run = path.run();
            let share = run.received(1, 40.0, 120.0) / (run.received(1, 40.0, 120.0) + run.received(2, 40.0, 120.0));
            (mean_after(40.0, &run.queue()) / path.bdp_packets(), share, run.utilisation())
        };
        let (three, share, utilisation) = queue("bbr3");
        assert!((0.25..0.75).contains(&share), "seed {seed}: {share}");
        assert!(utilisation > 0.95, "seed {seed}: {utilisation}");
        assert!(three < queue("bbr").0, "seed {seed}: {three} BDP, version 1 {}", queue("bbr").0);
    }
}
