//! How BBR and LEDBAT behave on a path. Where a number is not plainly the scheme's own arithmetic, the figure that it
//! is to meet stands beside it.
#![allow(clippy::float_cmp, reason = "gains, modes and counts are exact")]

mod common;

use common::{Dumbbell, Run, bulk, mean_after, run};
use serde_json::{Value, json};

const SEEDS: std::ops::RangeInclusive<u64> = 1..=5;

/// 10 Mbit/s, 100 ms, 83 packets of BDP, a buffer that never overflows.
fn deep(flows: &[Value]) -> Dumbbell {
    Dumbbell { one_way_ms: 50.0, queue_packets: 1_000, ..Dumbbell::new(flows) }
}

fn ledbat(profile: &str, start_s: f64) -> Value {
    json!({"scheme": "ledbat", "parameters": {"profile": profile}, "start_ns": (start_s * 1e9) as u64})
}

/// When a condition on a quantity begins to hold, and for how long it does.
fn spells(values: &[(f64, f64)], holds: impl Fn(f64) -> bool) -> Vec<(f64, f64)> {
    let mut spells = Vec::new();
    let mut start = None;
    for (time, value) in values {
        match (start, holds(*value)) {
            (None, true) => start = Some(*time),
            (Some(began), false) => {
                spells.push((began, time - began));
                start = None;
            }
            _ => {}
        }
    }
    spells
}

/// A flow's share of what two flows received after a time.
fn share_of_two(run: &Run, flow: u32, from_s: f64) -> f64 {
    let both = run.received(1, from_s, f64::MAX) + run.received(2, from_s, f64::MAX);
    run.received(flow, from_s, f64::MAX) / both
}

fn queue_ms(run: &Run, path: &Dumbbell, from_s: f64) -> f64 {
    mean_after(from_s, &run.queue()) * 12_000.0 / path.rate_bps as f64 * 1e3
}

#[test]
fn one_bbr_flow_fills_a_link_with_one_bdp_of_buffer_and_leaves_the_buffer_empty() {
    for seed in SEEDS {
        let path = Dumbbell { seed, ..Dumbbell::new(&[bulk("bbr", 0.0)]) };
        let run = path.run();
        assert!(run.utilisation() >= 0.97, "seed {seed}: {}", run.utilisation());
        let in_flight = mean_after(5.0, &run.telemetry(1, "in_flight")) / path.bdp_packets();
        assert!((1.0..1.5).contains(&in_flight), "seed {seed}: {in_flight} BDP in flight");
        let queue = mean_after(5.0, &run.queue()) / path.bdp_packets();
        assert!(queue < 0.25, "seed {seed}: {queue} BDP in the queue");
    }
}

#[test]
fn bbr_starts_up_in_the_logarithm_of_the_bdp_overshoots_by_the_gain_and_drains_in_a_round() {
    for seed in SEEDS {
        let path = Dumbbell { seed, seconds: 5.0, ..deep(&[bulk("bbr", 0.0)]) };
        let (run, rtt, bdp) = (path.run(), 0.1, path.bdp_packets());
        let first_data = run.flow(1, "first_sent_ns") / 1e9 + rtt;
        // A first flight of ten, then twice as many every round; one more until the rate arrives at the far end.
        let limit = first_data + rtt * ((bdp / 10.0).log2() + 2.0);
        let capacity = 10e6 / 8.0;
        let rate = run.received(1, limit, limit + rtt) / rtt / capacity;
        assert!(rate > 0.95, "seed {seed}: {rate} of the link at {limit} s");
        let peak = run.queue().iter().map(|(_, packets)| *packets).fold(0.0, f64::max) / bdp;
        assert!((1.8..2.1).contains(&peak), "seed {seed}: {peak} BDP, expected 2.89 - 1 and the segment budget");
        let drains = spells(&run.telemetry(1, "mode"), |mode| mode == 1.0);
        assert_eq!(drains.len(), 1);
        assert!(drains[0].1 < rtt * (1.0 + peak), "seed {seed}: drained for {} s", drains[0].1);
    }
}

#[test]
fn bbr_probes_every_eight_round_trips() {
    for seed in SEEDS {
        let run = Dumbbell { seed, seconds: 30.0, ..deep(&[bulk("bbr", 0.0)]) }.run();
        let probes = spells(&run.telemetry(1, "pacing_gain"), |gain| gain == 1.25);
        let mut periods: Vec<_> = probes.windows(2).map(|pair| (pair[1].0 - pair[0].0) / 0.1).collect();
        periods.sort_by(f64::total_cmp);
        let median = periods[periods.len() / 2];
        // A phase ends with the first ack after its round trip.
        assert!((8.0..8.6).contains(&median), "seed {seed}: {median} round trips");
        assert!(probes.len() >= 29, "seed {seed}: {} probes in 30 s", probes.len());
    }
}

#[test]
fn each_probe_of_bbr_queues_a_quarter_of_a_bdp_and_its_budget_which_the_next_round_drains() {
    for seed in SEEDS {
        let path = Dumbbell { seed, ..deep(&[bulk("bbr", 0.0)]) };
        let (run, rtt, bdp) = (path.run(), 0.1, path.bdp_packets());
        let queue = run.queue();
        let longest = |from: f64, to: f64| {
            let inside = queue.iter().filter(|(time, _)| (from..to).contains(time));
            inside.map(|(_, packets)| packets / bdp).fold(0.0, f64::max)
        };
        let looks = spells(&run.telemetry(1, "mode"), |mode| mode == 3.0);
        let is_among_others = |time: f64| looks.iter().all(|(start, _)| (time - start).abs() > 1.0);
        let probes = spells(&run.telemetry(1, "pacing_gain"), |gain| gain == 1.25);
        let probes: Vec<_> = probes.into_iter().filter(|(start, _)| *start > 5.0 && is_among_others(*start)).collect();
        assert!(probes.len() > 40, "seed {seed}: {probes:?}");
        for (start, length) in probes {
            let peak = longest(start, start + length + rtt);
            // Three segments and two packets more make 8 packets, which are a tenth of this BDP.
            assert!((0.25..0.36).contains(&peak), "seed {seed} at {start} s: {peak} BDP");
            let left = longest(start + length + 2.0 * rtt, start + length + 5.0 * rtt);
            assert!(left < 0.1, "seed {seed} at {start} s: {left} BDP two rounds later");
        }
    }
}

#[test]
fn bbr_uses_all_of_the_link_but_for_its_looks_at_the_empty_path() {
    // Each takes 200 ms and a round trip of 10.2 s and one: 2 % for a short one, 3 % for 100 ms.
    for (one_way_ms, least, most) in [(5.0, 0.98, 0.99), (10.0, 0.98, 0.99), (20.0, 0.975, 0.985), (50.0, 0.97, 0.98)] {
        for seed in SEEDS {
            let run = Dumbbell { seed, one_way_ms, ..deep(&[bulk("bbr", 0.0)]) }.run();
            let used = run.received(1, 5.0, 60.0) * 8.0 / 55.0 / 10e6;
            assert!((least..most).contains(&used), "{one_way_ms} ms there, seed {seed}: {used}");
        }
    }
}

#[test]
fn bbr_looks_at_the_empty_path_for_200_ms_every_ten_seconds() {
    for seed in SEEDS {
        let run = Dumbbell { seed, ..deep(&[bulk("bbr", 0.0)]) }.run();
        let probes = spells(&run.telemetry(1, "mode"), |mode| mode == 3.0);
        assert!((4..=6).contains(&probes.len()), "seed {seed}: {probes:?}");
        for pair in probes.windows(2) {
            let between = pair[1].0 - pair[0].0;
            assert!((10.0..12.0).contains(&between), "seed {seed}: {between} s");
        }
        for (start, duration) in &probes {
            // At least a round with four packets, after the round in which the rest drained.
            assert!((0.29..0.5).contains(duration), "seed {seed}: {duration} s at {start} s");
        }
        let small = spells(&run.telemetry(1, "in_flight"), |packets| packets <= 4.0);
        assert!(
            small.iter().filter(|(start, length)| *start > 5.0 && *length > 0.19).count() >= probes.len(),
            "{small:?}"
        );
    }
}

#[test]
fn bbr_delivers_all_that_survives_ten_percent_of_loss_but_not_twenty_five() {
    let utilisation = |seed, loss| {
        let mut scenario = Dumbbell { seed, ..deep(&[bulk("bbr", 0.0)]) }.json();
        let bottleneck = scenario["forward"][0].clone();
        let lossy = json!({"link": {"kind": "unlimited"}, "queue": {"kind": "fifo"}, "delay_ns": 0, "loss": loss});
        scenario["forward"] = json!([lossy, bottleneck]);
        run(&scenario).received(1, 10.0, 60.0) / (50.0 * 10e6 / 8.0)
    };
    for seed in SEEDS {
        // 0.99 of the bandwidth is sent, 0.9 of that arrives.
        let tolerated = utilisation(seed, 0.1);
        assert!(tolerated >= 0.88, "seed {seed}: {tolerated}");
        let intolerable = utilisation(seed, 0.25);
        assert!(intolerable < 0.7, "seed {seed}: {intolerable}");
    }
}

/// "Up to about 15 %" is said to be tolerated. Linux 7.3 has 8.1 Mbit/s of 10 at a loss of 10 %, and 3.8 to 6.5 at 15
/// %: in some of its intervals a fifth is lost by chance, which it takes for a policer.
#[test]
fn bbr_takes_fifteen_percent_of_loss_for_a_policer_as_linux_does() {
    let runs: Vec<_> = SEEDS.map(|seed| Dumbbell { seed, loss: 0.15, ..deep(&[bulk("bbr", 0.0)]) }.run()).collect();
    for run in &runs {
        let used = run.received(1, 10.0, 60.0) * 8.0 / 50.0 / 10e6;
        assert!((0.35..0.7).contains(&used), "{used}");
        let policed = spells(&run.telemetry(1, "lt_bw"), |bw| bw > 0.0);
        assert!(policed.iter().map(|(_, length)| length).sum::<f64>() > 10.0, "{policed:?}");
    }
}

#[test]
fn two_bbr_flows_stand_at_a_queue_of_about_one_bdp() {
    for seed in SEEDS {
        let path = Dumbbell { seed, seconds: 120.0, ..deep(&[bulk("bbr", 0.0), bulk("bbr", 3.0)]) };
        let run = path.run();
        // 1 to 1.5 BDP were measured by others, which is a round trip of two.
        let queue = mean_after(20.0, &run.queue()) / path.bdp_packets();
        assert!((1.0..1.5).contains(&queue), "seed {seed}: {queue} BDP");
        let each = |quantity| [1, 2].map(|flow| mean_after(20.0, &run.telemetry(flow, quantity)));
        let in_flight = each("in_flight").iter().sum::<f64>() / path.bdp_packets();
        assert!((1.9..2.3).contains(&in_flight), "seed {seed}: {in_flight} BDP in flight");
        let round_trips = each("srtt").map(|srtt| srtt / (2.0 * path.one_way_ms));
        assert!(round_trips.iter().all(|ratio| (1.9..2.3).contains(ratio)), "seed {seed}: {round_trips:?}");
        assert!(run.utilisation() >= 0.97, "seed {seed}: {}", run.utilisation());
        let share = share_of_two(&run, 1, 20.0);
        assert!((0.35..0.65).contains(&share), "seed {seed}: {share}");
    }
}

#[test]
fn two_bbr_flows_lose_much_in_a_fifth_of_a_bdp_and_nothing_in_three() {
    for seed in SEEDS {
        let loss = |queue_packets| {
            let path = Dumbbell { seed, queue_packets, ..deep(&[bulk("bbr", 0.0), bulk("bbr", 3.0)]) };
            let run = path.run();
            run.flow(0, "dropped_packets") / run.flow(0, "sent_packets")
        };
        assert!((0.05..0.2).contains(&loss(16)), "seed {seed}: {}", loss(16));
        // Two windows of two BDP each are one more than the path holds: less than a buffer of a BDP loses all the time.
        assert!(loss(75) > 0.03 && loss(167) < 0.002, "seed {seed}: {} and {}", loss(75), loss(167));
        assert_eq!(loss(250), 0.0, "seed {seed}");
    }
}

#[test]
fn bbr_takes_a_shallow_buffer_and_the_longer_path_takes_a_deep_one() {
    for seed in SEEDS {
        let versus_cubic = Dumbbell { seed, queue_packets: 40, ..deep(&[bulk("bbr", 0.0), bulk("cubic", 0.0)]) }.run();
        let share = share_of_two(&versus_cubic, 1, 10.0);
        assert!(share > 0.8, "seed {seed}: {share} against CUBIC in half a BDP");
        let mut longer = bulk("bbr", 1.0);
        longer["extra_delay_ns"] = json!(100_000_000);
        let share = share_of_two(&Dumbbell { seed, ..deep(&[bulk("bbr", 0.0), longer]) }.run(), 2, 20.0);
        assert!(share > 0.6, "seed {seed}: {share} for the longer path");
    }
}

/// A model (Ware et al., IMC 2019) gives BBR 1/2 + 1/(2 X) of the link in a buffer of X BDP however many CUBIC flows
/// there are. Linux 7.3 gives one against one 0.62, 0.47 and 0.36 in 2, 4 and 16 BDP.
#[test]
fn bbr_has_a_share_that_falls_with_the_buffer_and_hardly_depends_on_how_many_cubic_flows_there_are() {
    let share = |queue_bdp: f64, cubics: usize| {
        let mut flows = vec![bulk("bbr", 0.0)];
        flows.extend(vec![bulk("cubic", 0.0); cubics]);
        let path = Dumbbell { seconds: 120.0, ..Dumbbell::new(&flows) };
        let queue_packets = (queue_bdp * path.bdp_packets()) as u64;
        let run = Dumbbell { queue_packets, ..path }.run();
        let received: Vec<_> = (1..=cubics + 1).map(|flow| run.received(flow as u32, 30.0, f64::MAX)).collect();
        received[0] / received.iter().sum::<f64>()
    };
    let alone = [1.0, 2.0, 4.0, 16.0].map(|queue_bdp| share(queue_bdp, 1));
    for (found, expected) in alone.into_iter().zip([0.9, 0.62, 0.47, 0.36]) {
        assert!((found - expected).abs() < 0.06, "{alone:?}");
    }
    for (queue_bdp, beside_one) in [(4.0, alone[2]), (16.0, alone[3])] {
        let beside_four = share(queue_bdp, 4);
        assert!(
            (beside_four - beside_one).abs() < 0.12,
            "{queue_bdp} BDP: {beside_one}, and {beside_four} beside four"
        );
    }
}

#[test]
fn bbr_with_pauses_never_stops_to_look_at_the_empty_path() {
    // Every pause is longer than the ten seconds for which the shortest round trip is believed.
    let traffic = json!({"kind": "on-off", "on_ns": 1_000_000_000_u64, "off_ns": 11_000_000_000_u64});
    for seed in SEEDS {
        let run = Dumbbell { seed, ..deep(&[json!({"scheme": "bbr", "traffic": traffic})]) }.run();
        assert_eq!(spells(&run.telemetry(1, "mode"), |mode| mode == 3.0), []);
    }
}

#[test]
fn fillp_queues_more_than_bbr_where_flows_share_a_link_and_its_sheep_as_much() {
    for seed in SEEDS {
        let queue = |scheme: &str| {
            let flows = [0.0, 2.0, 4.0].map(|start| bulk(scheme, start));
            mean_after(10.0, &Dumbbell { seed, ..deep(&flows) }.run().queue())
        };
        let (bbr, sheep, fillp) = (queue("bbr"), queue("fillp_sheep"), queue("fillp"));
        assert!(fillp > 1.3 * bbr, "seed {seed}: {fillp} and {bbr} packets");
        assert!((0.7..1.4).contains(&(sheep / bbr)), "seed {seed}: {sheep} and {bbr} packets");
    }
}

#[test]
fn fillp_loses_and_takes_from_cubic_what_the_window_of_bbr_and_of_its_sheep_spares() {
    for seed in 1..=2 {
        let loss = |scheme: &str| {
            let flows = [0.0, 2.0, 4.0].map(|start| bulk(scheme, start));
            let run = Dumbbell { seed, queue_packets: 125, level: "summary", ..deep(&flows) }.run();
            run.flow(0, "dropped_packets") / run.flow(0, "sent_packets")
        };
        let share = |scheme: &str| {
            let flows = [bulk(scheme, 0.0), bulk("cubic", 0.0)];
            share_of_two(&Dumbbell { seed, queue_packets: 125, ..deep(&flows) }.run(), 1, 10.0)
        };
        let [bbr, sheep, fillp] = ["bbr", "fillp_sheep", "fillp"].map(|scheme| (loss(scheme), share(scheme)));
        assert!(fillp.0 > 2.5 * bbr.0 && fillp.1 > bbr.1 + 0.2, "seed {seed}: {fillp:?} and {bbr:?}");
        assert!((0.5..2.0).contains(&(sheep.0 / bbr.0)), "seed {seed}: {sheep:?} and {bbr:?}");
        assert!((sheep.1 - bbr.1).abs() < 0.1, "seed {seed}: {sheep:?} and {bbr:?}");
    }
}

#[test]
fn ledbat_holds_100_ms_of_queue_and_fills_the_link() {
    for (profile, rate_bps, one_way_ms) in
        [("libutp", 12_000_000, 25.0), ("libutp", 3_000_000, 50.0), ("rfc6817", 3_000_000, 50.0)]
    {
        for seed in SEEDS {
            let path = Dumbbell { seed, rate_bps, one_way_ms, ..deep(&[ledbat(profile, 0.0)]) };
            let run = path.run();
            let queue = queue_ms(&run, &path, 20.0);
            assert!((95.0..=105.0).contains(&queue), "{profile} at {rate_bps} bit/s, seed {seed}: {queue} ms");
            assert!(run.utilisation() >= 0.95, "{profile} at {rate_bps} bit/s, seed {seed}: {}", run.utilisation());
            assert_eq!(run.flow(1, "dropped_packets"), 0.0);
        }
    }
}

#[test]
fn ledbat_halves_its_window_where_the_buffer_is_less_than_its_target() {
    for seed in SEEDS {
        // 50 packets of BDP and 30 of buffer: 98 % with 0.15 % of loss in an independent implementation.
        let path = Dumbbell {
            rate_bps: 12_000_000,
            one_way_ms: 25.0,
            queue_packets: 30,
            seconds: 120.0,
            ..deep(&[ledbat("libutp", 0.0)])
        };
        let run = Dumbbell { seed, ..path }.run();
        assert!((run.utilisation() - 0.98).abs() < 0.01, "seed {seed}: {}", run.utilisation());
        let loss = run.flow(1, "dropped_packets") / run.flow(1, "sent_packets");
        assert!((0.001..0.002).contains(&loss), "seed {seed}: {loss}");
    }
}

#[test]
fn a_late_ledbat_flow_takes_the_queue_of_the_first_for_its_base() {
    for seed in SEEDS {
        let flows = [ledbat("libutp", 0.0), ledbat("libutp", 10.0)];
        let path = Dumbbell { seed, rate_bps: 12_000_000, one_way_ms: 25.0, seconds: 120.0, ..deep(&flows) };
        let run = path.run();
        // About 97 % for the second and 150 to 200 ms of queue in an independent implementation.
        assert!(share_of_two(&run, 2, 60.0) > 0.97, "seed {seed}: {}", share_of_two(&run, 2, 60.0));
        let queue = queue_ms(&run, &path, 60.0);
        assert!((150.0..=200.0).contains(&queue), "seed {seed}: {queue} ms");
    }
}

#[test]
fn the_last_of_three_ledbat_flows_takes_nearly_all() {
    for seed in SEEDS {
        let flows = [0.0, 10.0, 20.0].map(|start| ledbat("libutp", start));
        let path = Dumbbell { seed, rate_bps: 3_000_000, one_way_ms: 50.0, seconds: 60.0, ..deep(&flows) };
        let run = path.run();
        // 1/15/84 % and about 230 ms in an independent implementation; later the second starves too.
        let bytes: Vec<_> = (1..=3).map(|flow| run.received(flow, 40.0, f64::INFINITY)).collect();
        let shares: Vec<_> = bytes.iter().map(|own| own / bytes.iter().sum::<f64>()).collect();
        let is_near = |share: f64, expected: f64| (share - expected).abs() < 0.1;
        assert!(shares[0] < 0.03 && is_near(shares[1], 0.15) && is_near(shares[2], 0.84), "seed {seed}: {shares:?}");
        let queue = queue_ms(&run, &path, 40.0);
        assert!((220.0..=240.0).contains(&queue), "seed {seed}: {queue} ms");
    }
}

#[test]
fn ledbat_yields_to_cubic() {
    for (profile, seed) in ["libutp", "rfc6817"].into_iter().zip(SEEDS) {
        let flows = [ledbat(profile, 0.0), bulk("cubic", 20.0)];
        let path = Dumbbell {
            seed,
            rate_bps: 12_000_000,
            one_way_ms: 25.0,
            queue_packets: 200,
            seconds: 90.0,
            ..deep(&flows)
        };
        let share = share_of_two(&path.run(), 1, 35.0);
        assert!(share < 0.06, "{profile}: {share}");
    }
}

#[test]
fn libutp_adds_3000_bytes_per_round_trip_up_to_a_mebibyte() {
    let path = Dumbbell { rate_bps: 200_000_000, seconds: 50.0, ..deep(&[ledbat("libutp", 0.0)]) };
    let run = path.run();
    let window: Vec<_> =
        run.telemetry(1, "window").into_iter().filter(|(time, _)| (5.0..25.0).contains(time)).collect();
    let rounds = (window[window.len() - 1].0 - window[0].0) / 0.1;
    let per_round = (window[window.len() - 1].1 - window[0].1) / rounds;
    // Less half a byte for each of 200 to 500 acks, since the window is whole bytes.
    assert!((2_750.0..=2_900.0).contains(&per_round), "{per_round} bytes");
    // 724 whole packets of 1448 bytes fit.
    let rate = run.received(1, 45.0, 50.0) * 8.0 / 5.0;
    assert!((rate / (724.0 * 12_000.0 / 0.1) - 1.0).abs() < 0.01, "{rate} bit/s");
}
