use super::*;
use crate::packet::Ecn;
use crate::queue::tests::{Bench, packet_of, problem, setup};

#[test]
fn flows_take_turns_and_the_blind_do_not() {
    for (mode, expected) in [("triple-isolate", [10, 10]), ("flows", [10, 10]), ("flowblind", [20, 0])] {
        let mut bench = Bench::new(&format!(r#"{{"kind": "cake", "flow_mode": "{mode}", "target_ns": 50000000}}"#));
        bench.offer(40);
        bench.flow = 1;
        bench.offer(40);
        (0..20).for_each(|_| bench.send());
        let of = |flow| bench.sent.iter().filter(|(sender, ..)| *sender == flow).count();
        let sent = [of(0), of(1)];
        assert!(sent[0].abs_diff(expected[0]) <= 1 && sent[1].abs_diff(expected[1]) <= 1, "{mode}: {sent:?}");
    }
}

#[test]
fn a_flow_that_sends_less_than_its_share_overtakes_every_time() {
    let mut bench = Bench::new(r#"{"kind": "cake"}"#);
    bench.offer(50);
    for _ in 0..10 {
        bench.flow = 0;
        bench.offer(3);
        (0..3).for_each(|_| bench.send());
        bench.flow = 1;
        bench.offer(1);
        bench.send();
        assert_eq!(bench.sent.last().map(|(flow, ..)| *flow), Some(1));
    }
}

#[test]
fn eight_flows_of_one_set_have_lines_of_their_own_and_the_ninth_shares_one() {
    let mut cake = Cake::<()>::new(&CakeConfig::default(), &setup());
    let first = cake.classify(&packet_of(0, 0, 100)) / WAYS;
    let of_one_set: Vec<_> = (0..100_000)
        .filter(|flow| cake.hash.of(&packet_of(*flow, 0, 100)) as usize % FLOWS / WAYS == first)
        .take(9)
        .collect();
    let mut verdicts = Verdicts::default();
    let mut queues = std::collections::BTreeSet::new();
    for flow in &of_one_set[..8] {
        cake.enqueue(packet_of(*flow, 0, 100), Instant::ZERO, &mut verdicts);
        queues.insert(cake.classify(&packet_of(*flow, 0, 100)));
    }
    assert_eq!(queues.len(), 8);
    assert!(queues.contains(&cake.classify(&packet_of(of_one_set[8], 0, 100))));
}

#[test]
fn a_full_queue_drops_from_the_head_of_the_longest_queue() {
    let mut bench = Bench::new(r#"{"kind": "cake", "memory_limit_bytes": 36080}"#);
    bench.offer(5);
    bench.flow = 1;
    bench.offer(15);
    assert!(bench.dropped.is_empty());
    bench.flow = 0;
    bench.offer(2);
    let dropped: Vec<_> = bench.dropped.iter().map(|drop| (drop.flow, drop.number, drop.reason)).collect();
    assert_eq!(dropped, [(1, 5, Reason::Overlimit), (1, 6, Reason::Overlimit)]);
}

#[test]
fn the_last_packet_of_a_line_is_never_dropped() {
    let mut bench = Bench { gap_ms: 50, ..Bench::new(r#"{"kind": "cake"}"#) };
    bench.standing(1, 100);
    assert!(bench.dropped.is_empty());
    bench.ecn = Ecn::Ect0;
    bench.standing(1, 100);
    assert!(!bench.marked.is_empty(), "though it is marked");
}

#[test]
fn parameters_follow_from_the_rate_of_the_shaper() {
    let slow = QueueSetup { mean_rate: Some(crate::units::Rate::from_bits_per_second(1_000_000)), ..setup() };
    let config = CakeConfig { own_shaper: true, ..CakeConfig::default() };
    // 1014 bytes at 1 Mbit/s take 8.112 ms.
    let Law { target, interval, packet_time, .. } = config.law(&slow);
    assert_eq!((target, interval, packet_time), (12_168_000, 107_168_000, 8_112_000));
    assert_eq!((config.quantum(&slow), config.memory(&slow)), (300, 4 << 20));
    let Law { target, interval, packet_time, .. } = CakeConfig::default().law(&slow);
    assert_eq!((target, interval, packet_time), (5_000_000, 100_000_000, 0));
}

fn cake_of(json: &str) -> Cake<()> {
    Cake::new(&serde_json::from_str(json).expect("a queue"), &setup())
}

fn queue_of(cake: &mut Cake<()>, flow: u32) -> usize {
    cake.classify(&packet_of(flow, 0, 1_000))
}

#[test]
fn a_flow_that_has_sent_its_quantum_and_nothing_more_counts_as_sparse_until_it_sends_again() {
    let (mut cake, mut verdicts) = (cake_of("{}"), Verdicts::default());
    for (flow, packets) in [(0, 2), (1, 4)] {
        (0..packets).for_each(|number| cake.enqueue(packet_of(flow, number, 1_000), Instant::ZERO, &mut verdicts));
    }
    let [one, other] = [0, 1].map(|flow| queue_of(&mut cake, flow));
    let sent: Vec<_> = (0..3).filter_map(|_| cake.dequeue(Instant::ZERO, &mut verdicts)).map(|p| p.flow.0).collect();
    assert_eq!(sent, [0, 0, 1]);
    assert_eq!((cake.flows[one].set, cake.flows[other].set, cake.bulk_flows), (Set::SparseWait, Set::Sparse, 0));
    cake.enqueue(packet_of(0, 2, 1_000), Instant::ZERO, &mut verdicts);
    assert_eq!((cake.flows[one].set, cake.bulk_flows), (Set::Bulk, 1));
}

#[test]
fn a_line_that_has_overflowed_decays_until_nothing_is_left_of_it() {
    let (mut cake, mut verdicts) = (cake_of(r#"{"memory_limit_bytes": 18040}"#), Verdicts::default());
    let mut pass = |cake: &mut Cake<()>, flow, millis, packets| {
        let now = Instant::ZERO + crate::units::Duration::from_millis(millis);
        for number in 0..packets {
            let packet = Packet { enqueued: now, ..*packet_of(flow, number, 1_000) };
            cake.enqueue(Box::new(packet), now, &mut verdicts);
        }
        while cake.packets > 0 {
            cake.dequeue(now, &mut verdicts);
        }
    };
    for ms in [10, 16] {
        pass(&mut cake, 0, ms, 11);
    }
    let queue = queue_of(&mut cake, 0);
    // Two overflows take BLUE 32 steps of 6 ms.
    (17..200).for_each(|ms| pass(&mut cake, 1, ms, 1));
    assert_eq!(cake.flows[queue].set, Set::Decaying);
    (200..220).for_each(|ms| pass(&mut cake, 1, ms, 1));
    assert_eq!(cake.flows[queue].set, Set::None);
}

#[test]
fn what_a_host_may_send_is_divided_among_its_bulk_flows() {
    for (mode, turn) in [("triple-isolate", 378), ("dual-dsthost", 378), ("flows", 1_513), ("flowblind", 1_513)] {
        let mut cake = cake_of(&format!(r#"{{"flow_mode": "{mode}"}}"#));
        cake.bulk_flows = 4;
        let turns: Vec<_> = (0..100).map(|_| cake.turn()).collect();
        assert!(turns.iter().all(|found| (turn..=turn + 1).contains(found)), "{mode}: {turns:?}");
    }
}

#[test]
fn of_equally_long_lines_the_first_in_turn_loses_packets() {
    let mut bench = Bench::new(r#"{"kind": "cake", "memory_limit_bytes": 36080}"#);
    for (flow, packets) in [(7, 10), (3, 10), (5, 1)] {
        bench.flow = flow;
        bench.offer(packets);
    }
    assert_eq!(bench.dropped.iter().map(|drop| (drop.flow, drop.number)).collect::<Vec<_>>(), [(7, 0)]);
}

#[test]
fn parameters_of_a_shaper_between_their_bounds_follow_from_its_rate() {
    let config = CakeConfig { own_shaper: true, ..CakeConfig::default() };
    let at = |bps| QueueSetup { mean_rate: Some(crate::units::Rate::from_bits_per_second(bps)), ..setup() };
    // 20 Mbit/s in 1/4096 s, four intervals of 100 Mbit/s, and a packet of 81.12 ms of which an interval holds
    // three.
    assert_eq!(config.quantum(&at(20_000_000)), 610);
    assert_eq!(config.memory(&at(100_000_000)), 5_000_000);
    assert_eq!(config.law(&at(100_000)).interval, 243_360_000);
}

#[test]
fn impossible_parameters_are_refused() {
    for (json, part) in [
        (r#"{"kind": "cake", "target_ns": 200000000}"#, "is longer than the rtt"),
        (r#"{"kind": "cake", "sce_thresh": 4}"#, "sce_thresh is for sce"),
        (r#"{"kind": "cake", "sce": "ramp", "sce_thresh": 0}"#, "sce_thresh 0 is not possible"),
        (r#"{"kind": "cake", "rtt_ns": 0}"#, "rtt 0s is not possible"),
    ] {
        assert!(problem(json).contains(part), "{}", problem(json));
    }
}
