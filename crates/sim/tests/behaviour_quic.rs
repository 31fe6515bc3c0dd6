//! How the QUIC senders behave on a path. The loss rates are those of a published study of nine links, which the suites
//! `bbr-loss/*` repeat in full; here are three of them, with fewer seeds.

mod common;

use std::ops::Range;

use common::{Dumbbell, Run, bulk, mean_after, run};
use serde_json::{Value, json};

const SEEDS: std::ops::RangeInclusive<u64> = 1..=5;

/// What packets a flow sends, and how the queue takes them.
struct Packets {
    mss_bytes: u64,
    traffic: fn() -> Value,
    room_bytes: u64,
}

/// All alike.
const EQUAL: Packets = Packets { mss_bytes: 987, traffic: || json!({"kind": "bulk"}), room_bytes: 0 };
/// Those of the program of the study, with the same mean: two large ones and a small one in turn, which the queue takes only
/// while a packet of the MTU would fit.
const PUBLISHED: Packets =
    Packets { mss_bytes: 1_387, traffic: || json!({"kind": "bulk", "write_bytes": 2961}), room_bytes: 1_500 };

/// Three flows, 40 s apart and up to 100 ms late, over a link with the same rate both ways and 200 ms of round trip, for 300 s.
fn study(
    seed: u64,
    (scheme, parameters): (&str, &Value),
    (rate_bps, queue_bytes): (u64, u64),
    loss: f64,
    packets: &Packets,
) -> Run {
    let flows: Vec<_> = (0..3_u64)
        .map(|flow| {
            json!({
                "scheme": scheme, "parameters": parameters, "start_ns": flow * 40_000_000_000, "acks": "each",
                "mss_bytes": packets.mss_bytes, "traffic": (packets.traffic)(),
            })
        })
        .collect();
    let path =
        Dumbbell { seed, seconds: 300.0, rate_bps, one_way_ms: 100.0, loss, level: "summary", ..Dumbbell::new(&flows) };
    let mut scenario = path.json();
    scenario["reverse"][0]["link"] = scenario["forward"][0]["link"].clone();
    scenario["forward"][0]["queue"] =
        json!({"kind": "fifo", "limit_bytes": queue_bytes, "room_bytes": packets.room_bytes});
    run(&scenario)
}

fn loss_rate(run: &Run) -> f64 {
    run.flow(0, "dropped_packets") / run.flow(0, "sent_packets")
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Cases 4, 5 and 7 of the study: link rate and bytes of queue.
const LINKS: [(u64, u64); 3] = [(4_000_000, 150_000), (4_000_000, 200_000), (5_000_000, 187_500)];

#[test]
fn draining_to_target_loses_less() {
    // The aim is 1.5. In case 5 the suite has 1.5 by this measure with 100 seeds. What is published, 1.3 to 4.5 %, is for
    // packets of two sizes, of which more are lost.
    compare_draining(25, &json!({"initial_window": 10}), [1.5, 1.2, 1.5], 0.009..0.045);
}

#[test]
fn draining_to_target_loses_next_to_nothing_after_a_slower_start_up() {
    let start_up = json!({"initial_window": 10, "startup_gain": 2.0, "startup_growth": 1.5});
    // The program of the study, run again, loses 0.06 to 2 % there.
    compare_draining(25, &start_up, [1.5; 3], 0.000_6..0.022);
}

/// The median loss without draining to target, and over that with it.
fn compare_draining(seeds: u64, parameters: &Value, least_ratios: [f64; 3], expected: Range<f64>) {
    for (link, least) in LINKS.into_iter().zip(least_ratios) {
        let losses = |drains: bool| {
            let mut parameters = parameters.clone();
            parameters["drain_to_target"] = drains.into();
            // The phases of the gain cycle are drawn, and with few seeds a median depends on them.
            let run = |seed| loss_rate(&study(seed, ("quic_bbr", &parameters), link, 0.0, &EQUAL));
            median((1..=seeds).map(run).collect())
        };
        let (without, with) = (losses(false), losses(true));
        assert!(expected.contains(&without), "{link:?}: {without}");
        assert!(without >= least * with, "{link:?}: {without} without, {with} with");
    }
}

#[test]
fn the_published_packets_lose_as_published() {
    let parameters = json!({"initial_window": 10, "pacing_margin": 1, "first_rtt": 100});
    for (link, published) in LINKS.into_iter().zip([0.0400, 0.0255, 0.0330]) {
        let losses = SEEDS.map(|seed| loss_rate(&study(seed, ("quic_bbr", &parameters), link, 0.0, &PUBLISHED)));
        let loss = median(losses.collect());
        assert!((0.75..1.25).contains(&(loss / published)), "{link:?}: {loss}, published {published}");
    }
}

#[test]
fn one_percent_of_injected_loss_hides_what_the_flag_does() {
    for link in LINKS {
        let parameters = json!({
            "initial_window": 10, "drain_to_target": true, "startup_gain": 2.0, "startup_growth": 1.5,
            "pacing_margin": 1, "first_rtt": 100,
        });
        let losses = SEEDS.map(|seed| loss_rate(&study(seed, ("quic_bbr", &parameters), link, 0.01, &PUBLISHED)));
        let loss = median(losses.collect());
        assert!((0.0095..0.0135).contains(&loss), "{link:?}: {loss}");
    }
}

#[test]
fn cubic_loses_as_published_when_it_is_told_half_of_the_round_trip() {
    // The published program reports a round trip of 100 ms, which is half of what the path has, before it sends.
    let parameters = json!({"initial_window": 10, "first_rtt": 100});
    let loss = |link: (u64, u64)| {
        median(SEEDS.map(|seed| loss_rate(&study(seed, ("quic_cubic", &parameters), link, 0.0, &PUBLISHED))).collect())
    };
    // Link rate and bytes of queue of cases 1 and 3, 4 and 6, 7 and 9, and their published loss.
    let pairs = [
        [((3_000_000, 112_500), 0.0077), ((3_000_000, 225_000), 0.0106)],
        [((4_000_000, 150_000), 0.0054), ((4_000_000, 300_000), 0.0088)],
        [((5_000_000, 187_500), 0.0047), ((5_000_000, 375_000), 0.0076)],
    ];
    let mut slower = [f64::MAX; 2];
    for pair in pairs {
        let losses = pair.map(|(link, published)| {
            let loss = loss(link);
            assert!((0.75..1.25).contains(&(loss / published)), "{link:?}: {loss}, published {published}");
            loss
        });
        assert!(losses[0] < losses[1], "{losses:?}: more queue, more loss");
        assert!(losses[0] < slower[0] && losses[1] < slower[1], "{losses:?} after {slower:?}: more rate, less loss");
        slower = losses;
    }
}

/// 10 Mbit/s, 100 ms, 83 packets of BDP, a buffer that never overflows.
fn deep(flows: &[Value]) -> Dumbbell {
    Dumbbell { one_way_ms: 50.0, queue_packets: 1_000, ..Dumbbell::new(flows) }
}

/// What waits at the bottleneck after a time: the mean, and the 95th percentile.
fn queue_ms(run: &Run, path: &Dumbbell, from_s: f64) -> (f64, f64) {
    let packet_ms = 12e6 / path.rate_bps as f64;
    let mut late: Vec<_> = run.queue().into_iter().filter(|(time, _)| *time >= from_s).map(|(_, n)| n).collect();
    late.sort_by(f64::total_cmp);
    (mean_after(from_s, &run.queue()) * packet_ms, late[late.len() * 95 / 100] * packet_ms)
}

#[test]
fn quic_bbr_fills_a_link_and_leaves_the_queue_empty_but_for_its_probes() {
    for seed in SEEDS {
        let alone = Dumbbell { seed, ..deep(&[bulk("quic_bbr", 0.0)]) };
        let run = alone.run();
        // 97.4 %, 0.04 BDP of queue and 21 ms of it at the 95th percentile in an independent implementation.
        assert!((run.utilisation() - 0.974).abs() < 0.005, "seed {seed}: {}", run.utilisation());
        let (mean, late) = queue_ms(&run, &alone, 10.0);
        assert!((3.5..4.5).contains(&mean) && (19.0..23.0).contains(&late), "seed {seed}: {mean} and {late} ms");
    }
}

#[test]
fn two_quic_bbr_flows_queue_for_most_of_a_round_trip_and_for_half_of_one_when_they_drain() {
    let mut with_draining = Vec::new();
    for seed in SEEDS {
        let standing = |drains: bool| {
            let flow = |start_ns: u64| json!({"scheme": "quic_bbr", "start_ns": start_ns, "parameters": {"drain_to_target": drains}});
            let path = Dumbbell { seed, seconds: 120.0, ..deep(&[flow(0), flow(10_000_000_000)]) };
            let run = path.run();
            (run.utilisation(), queue_ms(&run, &path, 20.0))
        };
        // 97.7 %, 86 ms of queue and 126 ms at the 95th percentile in an independent implementation, and 51 ms with draining.
        let (utilisation, (mean, late)) = standing(false);
        assert!((utilisation - 0.977).abs() < 0.01, "seed {seed}: {utilisation}");
        assert!(
            (mean / 86.0 - 1.0).abs() < 0.2 && (late / 126.0 - 1.0).abs() < 0.1,
            "seed {seed}: {mean} and {late} ms"
        );
        with_draining.push(standing(true).1.0);
    }
    // 40 to 52 ms in sixteen seeds.
    let mean = with_draining.iter().sum::<f64>() / with_draining.len() as f64;
    assert!((mean / 51.0 - 1.0).abs() < 0.15, "{with_draining:?} ms with draining to target");
}

#[test]
fn quic_bbr_lives_with_ten_percent_of_loss() {
    for seed in SEEDS {
        let run = Dumbbell { seed, loss: 0.1, ..deep(&[bulk("quic_bbr", 0.0)]) }.run();
        // 89 % of the link in an independent implementation: what arrives is 90 % of what is sent, and that is what it paces.
        let sent = run.utilisation() / 0.9;
        assert!((0.86..0.93).contains(&sent), "seed {seed}: {sent}");
    }
}

#[test]
fn quic_cubic_as_two_connections_takes_more_than_as_one() {
    let mut ratios = Vec::new();
    for seed in SEEDS {
        let flow = |connections: u32, start_ns: u64| json!({"scheme": "quic_cubic", "start_ns": start_ns, "parameters": {"connections": connections}});
        let path = Dumbbell { seed, seconds: 180.0, queue_packets: 83, ..deep(&[flow(1, 0), flow(2, 1_000_000_000)]) };
        let run = path.run();
        ratios.push(run.received(2, 60.0, 180.0) / run.received(1, 60.0, 180.0));
        assert!(run.utilisation() >= 0.97, "seed {seed}: {}", run.utilisation());
    }
    // 1.14 to 1.49 in twelve seeds, 1.35 in the mean.
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    assert!((1.2..1.6).contains(&mean) && ratios.iter().all(|ratio| *ratio > 1.0), "{ratios:?}");
}
