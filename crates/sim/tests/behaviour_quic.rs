//! How the QUIC senders behave on a path. The loss rates are those of a published study of nine links, which the suites
//! `bbr-loss/*` repeat in full; here are three of them, with fewer seeds.

mod common;

use common::{Dumbbell, Run, bulk, mean_after, run};
use serde_json::{Value, json};

const SEEDS: std::ops::RangeInclusive<u64> = 1..=5;

/// Three flows, 40 s apart and up to 100 ms late, over a link with the same rate both ways and 200 ms of round trip,
/// for 300 s. As from the program of the study two large packets and a small one leave in turn, which the queue takes
/// only while a packet of the MTU would fit.
fn study(seed: u64, (scheme, parameters): (&str, &Value), (rate_bps, queue_bytes): (u64, u64), loss: f64) -> Run {
    let flows: Vec<_> = (0..3_u64)
        .map(|flow| {
            json!({
                "scheme": scheme, "parameters": parameters, "start_ns": flow * 40_000_000_000, "acks": "each",
                "handshake": false, "mss_bytes": 1_387, "traffic": {"kind": "bulk", "write_bytes": 2_961},
            })
        })
        .collect();
    let path =
        Dumbbell { seed, seconds: 300.0, rate_bps, one_way_ms: 100.0, loss, level: "summary", ..Dumbbell::new(&flows) };
    let mut scenario = path.json();
    scenario["reverse"][0]["link"] = scenario["forward"][0]["link"].clone();
    scenario["forward"][0]["queue"] = json!({"kind": "fifo", "limit_bytes": queue_bytes, "room_bytes": 1_500});
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

/// What the program of the study gives all of its flows, and the start-up that it had when the study appeared.
fn published(is_slow_start_up: bool, drains_to_target: bool) -> Value {
    let mut parameters = json!({
        "initial_window": 10, "pacing_margin": 1, "first_rtt": 100, "clock_resolution": 1, "drain_to_target": drains_to_target,
    });
    if is_slow_start_up {
        parameters["startup_gain"] = 2.0.into();
        parameters["startup_growth"] = 1.5.into();
    }
    parameters
}

/// The median loss without draining to target, and with it.
fn losses_of_draining(seeds: u64, link: (u64, u64), is_slow_start_up: bool) -> [f64; 2] {
    [false, true].map(|drains| {
        let parameters = published(is_slow_start_up, drains);
        // The phases of the gain cycle are drawn, and with few seeds a median depends on them.
        median((1..=seeds).map(|seed| loss_rate(&study(seed, ("quic_bbr", &parameters), link, 0.0))).collect())
    })
}

#[test]
fn draining_to_target_loses_less() {
    for link in LINKS {
        let [without, with] = losses_of_draining(25, link, false);
        assert!((0.013..0.045).contains(&without), "{link:?}: {without}");
        // The program of the study has 0.60 to 0.68.
        assert!((0.5..0.8).contains(&(with / without)), "{link:?}: {without} without, {with} with");
    }
}

#[test]
fn draining_to_target_loses_next_to_nothing_after_a_slower_start_up() {
    for link in LINKS {
        let [without, with] = losses_of_draining(25, link, true);
        // The program of the study, run again, loses 0.06 to 2 % there, and with the flag 0.15 % at most.
        assert!((0.000_6..0.022).contains(&without), "{link:?}: {without}");
        assert!(with < 0.003 && without >= 1.5 * with, "{link:?}: {without} without, {with} with");
    }
}

#[test]
fn the_published_packets_lose_as_published() {
    let parameters = published(false, false);
    for (link, published) in LINKS.into_iter().zip([0.0400, 0.0255, 0.0330]) {
        let losses = SEEDS.map(|seed| loss_rate(&study(seed, ("quic_bbr", &parameters), link, 0.0)));
        let loss = median(losses.collect());
        assert!((0.75..1.25).contains(&(loss / published)), "{link:?}: {loss}, published {published}");
    }
}

#[test]
fn one_percent_of_injected_loss_hides_what_the_flag_does() {
    for link in LINKS {
        let parameters = published(true, true);
        let losses = SEEDS.map(|seed| loss_rate(&study(seed, ("quic_bbr", &parameters), link, 0.01)));
        let loss = median(losses.collect());
        assert!((0.0095..0.0135).contains(&loss), "{link:?}: {loss}");
    }
}

#[test]
fn cubic_loses_as_published_when_it_is_told_half_of_the_round_trip() {
    // The published program reports a round trip of 100 ms, which is half of what the path has, before it sends.
    let parameters = json!({"initial_window": 10, "first_rtt": 100, "clock_resolution": 1});
    let loss = |link: (u64, u64)| {
        median(SEEDS.map(|seed| loss_rate(&study(seed, ("quic_cubic", &parameters), link, 0.0))).collect())
    };
    // Link rate and bytes of queue of the nine cases, three of each rate, and their published loss.
    let rates = [
        [((3_000_000, 112_500), 0.0077), ((3_000_000, 150_000), 0.0099), ((3_000_000, 225_000), 0.0106)],
        [((4_000_000, 150_000), 0.0054), ((4_000_000, 200_000), 0.0073), ((4_000_000, 300_000), 0.0088)],
        [((5_000_000, 187_500), 0.0047), ((5_000_000, 250_000), 0.0062), ((5_000_000, 375_000), 0.0076)],
    ];
    let mut slower = [f64::MAX; 3];
    for cases in rates {
        let losses = cases.map(|(link, published)| {
            let loss = loss(link);
            assert!((0.75..1.25).contains(&(loss / published)), "{link:?}: {loss}, published {published}");
            loss
        });
        assert!(losses.is_sorted(), "{losses:?}: more queue, more loss");
        let is_less = losses.iter().zip(slower).all(|(faster, slower)| *faster < slower);
        assert!(is_less, "{losses:?} after {slower:?}: more rate, less loss");
        slower = losses;
    }
}

#[test]
fn delays_and_losses_of_the_study_stand_in_its_order() {
    let cubic = json!({"initial_window": 10, "first_rtt": 100, "clock_resolution": 1});
    let (drains, does_not) = (published(false, true), published(false, false));
    for link in LINKS {
        let medians = [("quic_cubic", &cubic), ("quic_bbr", &drains), ("quic_bbr", &does_not)].map(|sender| {
            let runs: Vec<_> = SEEDS.map(|seed| study(seed, sender, link, 0.0)).collect();
            [|run: &Run| run.bottleneck("queue_p50_ns") / 1e6, loss_rate]
                .map(|of| median(runs.iter().map(of).collect()))
        });
        let [[cubic_ms, cubic_loss], [drained_ms, drained_loss], [other_ms, other_loss]] = medians;
        assert!(drained_ms < other_ms && other_ms < cubic_ms, "{link:?}: {medians:?}");
        assert!(cubic_loss < drained_loss && drained_loss < other_loss, "{link:?}: {medians:?}");
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
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    // Of the seeds: the mean queue, and its 95th percentile.
    let standing = |drains: bool| {
        let flow = |start_ns: u64| json!({"scheme": "quic_bbr", "start_ns": start_ns, "parameters": {"drain_to_target": drains}});
        let (means, lates): (Vec<_>, Vec<_>) = SEEDS
            .map(|seed| {
                let path = Dumbbell { seed, seconds: 120.0, ..deep(&[flow(0), flow(10_000_000_000)]) };
                let run = path.run();
                let utilisation = run.utilisation();
                assert!((utilisation - 0.977).abs() < 0.01, "seed {seed}: {utilisation}");
                queue_ms(&run, &path, 20.0)
            })
            .unzip();
        (mean(&means), mean(&lates))
    };
    // 97.7 %, 86 ms of queue and 126 ms at the 95th percentile in one run of an independent implementation, and 51 ms
    // with draining; here 98 to 105 ms and 40 to 52 ms in sixteen seeds.
    let (queue, late) = standing(false);
    assert!((queue / 86.0 - 1.0).abs() < 0.2 && (late / 126.0 - 1.0).abs() < 0.1, "{queue} and {late} ms");
    let (queue, _) = standing(true);
    assert!((queue / 51.0 - 1.0).abs() < 0.15, "{queue} ms with draining to target");
}

/// Rate in Mbit/s, round trip in ms, buffer in BDP, and the mean queue in ms without draining and with it of an
/// independent implementation: three flows 10 s apart, 120 s. It loses 4 to 11 %, and 1.5 to 6 % with draining. Ours,
/// which is Chromium's to the byte, loses as much in one BDP without draining, and less otherwise: what is lost is lost
/// when flows start, and it hangs on how those meet the looks at the empty path every ten seconds.
const DRAINED: [(u64, f64, f64, [f64; 2]); 5] = [
    (12, 100.0, 1.0, [88.0, 61.0]),
    (12, 100.0, 1.5, [98.0, 64.0]),
    (6, 100.0, 1.5, [99.0, 62.0]),
    (3, 200.0, 1.5, [f64::NAN; 2]),
    (3, 200.0, 1.0, [173.0, 115.0]),
];

#[test]
fn draining_to_target_takes_a_third_of_the_queue_and_half_of_the_loss_in_one_bdp() {
    for (mbps, rtt_ms, buffer, expected) in DRAINED {
        let found = [false, true].map(|drains| {
            let flow = |n: u64| json!({"scheme": "quic_bbr", "start_ns": n * 10_000_000_000, "acks": "each", "parameters": {"drain_to_target": drains}});
            let (rate_bps, flows) = (mbps * 1_000_000, [0, 1, 2].map(flow));
            let path = Dumbbell { seconds: 120.0, rate_bps, one_way_ms: rtt_ms / 2.0, ..Dumbbell::new(&flows) };
            let queue_packets = (buffer * path.bdp_packets()).round() as u64;
            let path = Dumbbell { queue_packets, ..path };
            let runs: Vec<_> = SEEDS.map(|seed| Dumbbell { seed, ..path.clone() }.run()).collect();
            let queue = median(runs.iter().map(|run| queue_ms(run, &path, 0.0).0).collect());
            (queue, median(runs.iter().map(loss_rate).collect()))
        });
        let place = format!("{mbps} Mbit/s, {rtt_ms} ms, {buffer} BDP: {found:?}");
        let [(queue, loss), (drained, drained_loss)] = found;
        for (found, expected) in [queue, drained].into_iter().zip(expected).filter(|(_, expected)| !expected.is_nan()) {
            assert!((found / expected - 1.0).abs() < 0.2, "{place}, not {expected} ms");
        }
        assert!((0.6..0.82).contains(&(drained / queue)), "{place}");
        let factor = loss / drained_loss;
        assert!(if buffer > 1.0 { (0.8..3.5).contains(&factor) } else { (1.5..3.5).contains(&factor) }, "{place}");
    }
}

#[test]
fn where_it_drains_one_quic_bbr_flow_returns_to_what_the_path_holds_and_a_packet_after_each_probe() {
    for seed in SEEDS {
        let flow = json!({"scheme": "quic_bbr", "acks": "each", "parameters": {"drain_to_target": true}});
        let path = Dumbbell { seed, ..deep(&[flow]) };
        let run = path.run();
        let (gains, in_flight) = (run.telemetry(1, "pacing_gain"), run.telemetry(1, "in_flight"));
        let ends = gains.windows(2).filter(|pair| pair[0].1 > 1.0 && pair[1].1 < 1.0 && pair[0].0 > 5.0);
        let ends: Vec<_> = ends.map(|pair| pair[1].0).filter(|end| *end < 59.0).collect();
        assert!(ends.len() > 40, "seed {seed}: {ends:?}");
        // The shortest round trip has a packet's own time, too.
        let most = path.bdp_packets() + 1.0 + 1.0;
        for end in ends {
            let cycle = in_flight.iter().filter(|(time, _)| (end..end + 0.9).contains(time));
            let least = cycle.map(|(_, packets)| *packets).fold(f64::INFINITY, f64::min);
            assert!(least <= most, "seed {seed}: {least} packets after {end} s, {most} fit");
        }
    }
}

#[test]
fn quic_bbr_lives_with_ten_percent_of_loss() {
    for seed in SEEDS {
        let run = Dumbbell { seed, loss: 0.1, ..deep(&[bulk("quic_bbr", 0.0)]) }.run();
        // 89 % of the link in an independent implementation: what arrives is 90 % of what is sent, and that is what it
        // paces.
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
    // 1.14 to 1.49 in twelve seeds, 1.35 in the mean. About two are said of the emulation, without a path: it is 1.6
    // with a round trip of 40 ms, and 4.3 with one of 20 ms, where windows are as small as Reno's. The law is
    // Chromium's to the byte.
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    assert!((1.2..1.6).contains(&mean) && ratios.iter().all(|ratio| *ratio > 1.0), "{ratios:?}");
}
