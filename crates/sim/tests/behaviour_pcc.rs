//! How the PCC family behaves on a path.

mod common;

use common::{Dumbbell, Run, bulk, mean_after};
use serde_json::{Value, json};

const SEEDS: std::ops::RangeInclusive<u64> = 1..=5;

/// 20 Mbit/s, 50 ms, one BDP of buffer.
fn path(flows: &[Value]) -> Dumbbell {
    Dumbbell { rate_bps: 20_000_000, one_way_ms: 25.0, queue_packets: 83, ..Dumbbell::new(flows) }
}

fn utilisation_at_loss(scheme: &str, seed: u64, loss: f64) -> f64 {
    Dumbbell { seed, loss, level: "summary", ..path(&[bulk(scheme, 0.0)]) }.run().utilisation()
}

fn loss_rate(run: &Run) -> f64 {
    run.flow(0, "dropped_packets") / run.flow(0, "sent_packets")
}

/// Three flows 10 s apart, over 1.9 Mbit/s with 47 packets of buffer and 80 ms, for 30 s.
fn slow_link(scheme: &str, seed: u64) -> Run {
    let flows = [bulk(scheme, 0.0), bulk(scheme, 10.0), bulk(scheme, 20.0)];
    Dumbbell { seed, seconds: 30.0, rate_bps: 1_900_000, one_way_ms: 40.0, queue_packets: 47, ..Dumbbell::new(&flows) }
        .run()
}

#[test]
fn allegro_climbs_in_seconds_and_fills_the_link() {
    for seed in SEEDS {
        let run = Dumbbell { seed, ..path(&[bulk("pcc", 0.0)]) }.run();
        let rate = |from_s: f64, to_s: f64| run.received(1, from_s, to_s) * 8.0 / (to_s - from_s) / 20e6;
        assert!(rate(3.0, 4.0) >= 0.95, "seed {seed}: {} after three seconds", rate(3.0, 4.0));
        assert!(rate(5.0, 60.0) >= 0.95, "seed {seed}: {}", rate(5.0, 60.0));
        assert!(loss_rate(&run) < 0.05, "seed {seed}: {}", loss_rate(&run));
    }
}

#[test]
fn allegro_in_a_shallow_buffer_loses_less_than_the_five_percent_that_it_would_bear() {
    for seed in SEEDS {
        let run = Dumbbell { seed, queue_packets: 8, ..path(&[bulk("pcc", 0.0)]) }.run();
        // Steps of a percent around the link's rate: half a percent.
        assert!((0.001..0.05).contains(&loss_rate(&run)), "seed {seed}: {}", loss_rate(&run));
        assert!(run.utilisation() > 0.93, "seed {seed}: {}", run.utilisation());
    }
}

#[test]
fn allegro_takes_random_loss_for_what_it_is_up_to_its_cliff() {
    let median = |loss| {
        let mut found: Vec<_> = SEEDS.map(|seed| utilisation_at_loss("pcc", seed, loss)).collect();
        found.sort_by(f64::total_cmp);
        found[found.len() / 2]
    };
    // An interval has about 125 packets: at 3 % of loss some of them lose more than the 5 % that matter.
    for (loss, least) in [(0.01, 0.92), (0.02, 0.88), (0.03, 0.7), (0.04, 0.65)] {
        assert!(median(loss) >= least, "{} at a loss of {loss}", median(loss));
    }
    // Here an interval loses 5 +- 2 %, where the utility is steepest: chance decides more votes than a step of the rate
    // does.
    for (loss, most) in [(0.05, 0.5), (0.06, 0.3), (0.08, 0.3)] {
        assert!(median(loss) < most, "{} at a loss of {loss}", median(loss));
    }
}

#[test]
fn three_allegro_flows_flood_a_slow_link() {
    for seed in SEEDS {
        // 48, 72 and 92 % in the Pantheon's report: steps of a percent hardly come down from where the start has
        // doubled to.
        let loss = loss_rate(&slow_link("pcc", seed));
        assert!(loss > 0.3, "seed {seed}: {loss}");
    }
}

#[test]
fn vivace_climbs_and_keeps_the_queue_short() {
    for seed in SEEDS {
        let path = Dumbbell { seed, queue_packets: 1_000, ..path(&[bulk("vivace", 0.0)]) };
        let run = path.run();
        let rate = |from_s: f64, to_s: f64| run.received(1, from_s, to_s) * 8.0 / (to_s - from_s) / 20e6;
        // By doubling, in two to four seconds.
        assert!(
            rate(1.0, 2.0) < 0.9 && rate(3.0, 4.0) >= 0.9,
            "seed {seed}: {} and {}",
            rate(1.0, 2.0),
            rate(3.0, 4.0)
        );
        assert!(rate(5.0, 60.0) >= 0.95, "seed {seed}: {}", rate(5.0, 60.0));
        let queue = mean_after(5.0, &run.queue()) / path.bdp_packets();
        assert!(queue < 0.3, "seed {seed}: {queue} BDP");
    }
}

#[test]
fn two_vivace_flows_share_equally_within_tens_of_seconds() {
    for seed in SEEDS {
        let run = Dumbbell { seed, ..path(&[bulk("vivace", 0.0), bulk("vivace", 20.0)]) }.run();
        let [first, second] = [1, 2].map(|flow| run.received(flow, 40.0, 60.0));
        let jain = (first + second).powi(2) / (2.0 * (first * first + second * second));
        assert!(jain > 0.9, "seed {seed}: {first} and {second} bytes");
    }
}

#[test]
fn vivace_loss_fills_the_queue_that_the_other_profile_spares() {
    for seed in SEEDS {
        let flow = json!({"scheme": "vivace", "parameters": {"profile": "loss"}});
        let path = Dumbbell { seed, ..path(&[flow]) };
        let run = path.run();
        let queue = mean_after(20.0, &run.queue()) / path.bdp_packets();
        assert!(queue > 0.5, "seed {seed}: {queue} BDP");
        assert!(run.utilisation() > 0.95 && loss_rate(&run) < 0.08, "seed {seed}: {}", loss_rate(&run));
    }
}

#[test]
fn vivace_tolerates_random_loss_of_less_than_five_percent_and_no_more() {
    let median = |loss| {
        let mut found: Vec<_> = SEEDS.map(|seed| utilisation_at_loss("vivace", seed, loss)).collect();
        found.sort_by(f64::total_cmp);
        found[found.len() / 2]
    };
    // Beyond 3 % a loss costs eleven times as much, and an interval has no more than 80 packets: at 3 % about half of
    // them lose that.
    for (loss, least) in [(0.01, 0.9), (0.02, 0.8), (0.03, 0.6)] {
        assert!(median(loss) >= least, "{} at a loss of {loss}", median(loss));
    }
    for loss in [0.05, 0.06, 0.08] {
        assert!(median(loss) < 0.5, "{} at a loss of {loss}", median(loss));
    }
}

#[test]
fn what_the_papers_vivace_pays_for_any_loss_leaves_it_the_link() {
    for seed in SEEDS {
        let flow = json!({"scheme": "vivace", "parameters": {"profile": "paper"}});
        let [some, beyond] = [0.01, 0.08].map(|loss| {
            Dumbbell { seed, loss, level: "summary", ..path(std::slice::from_ref(&flow)) }.run().utilisation()
        });
        assert!(some > 0.8, "seed {seed}: {some}");
        assert!(beyond < 0.5, "seed {seed}: {beyond}");
        let utility = |profile: &str| {
            let flow = json!({"scheme": "vivace", "parameters": {"profile": profile}});
            let run = Dumbbell { seed, loss: 0.01, ..path(&[flow]) }.run();
            // Slopes make for values far from most.
            let mut values: Vec<f64> = run.telemetry(1, "utility").into_iter().map(|(_, value)| value).collect();
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        // 18 Mbit/s in units of 2^20 bit/s are worth 13; a hundredth lost costs 2 of these, not a fifth.
        let cost = utility("pantheon") - utility("paper");
        assert!(cost > 1.0, "seed {seed}: {cost}");
    }
}

#[test]
fn vivace_flows_overload_a_link_slower_than_their_least_rates() {
    for seed in SEEDS {
        let run = slow_link("vivace", seed);
        assert!(loss_rate(&run) > 0.2, "seed {seed}: {}", loss_rate(&run));
        let least = run.telemetry(1, "rate").into_iter().filter(|(time, _)| *time > 5.0).map(|(_, rate)| rate);
        assert!(least.fold(f64::INFINITY, f64::min) >= 1.3e6, "seed {seed}");
    }
}

#[test]
fn pcc_expr_minds_nothing_as_much_as_the_round_trip() {
    for seed in SEEDS {
        let run = Dumbbell { seed, queue_packets: 1_000, ..path(&[bulk("pcc_experimental", 0.0)]) }.run();
        let queue = mean_after(10.0, &run.queue());
        // What rises by less than two percent in an interval is not seen, and what stands has no slope: seed 2 keeps
        // 164 packets.
        assert!(queue < 300.0, "seed {seed}: {queue} packets");
        assert!((0.1..0.99).contains(&run.utilisation()), "seed {seed}: {}", run.utilisation());
    }
}
