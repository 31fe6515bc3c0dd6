use super::*;
use crate::packet::Ecn;
use crate::queue::tests::{Bench, packet_of, problem, setup};
use crate::units::Duration;

/// A bench with so many packets in each queue, low-latency ones of flow 1.
fn filled(json: &str, classic: usize, low: usize) -> Bench {
    let mut bench = Bench::new(json);
    bench.offer(classic);
    (bench.ecn, bench.flow) = (Ecn::Ect1, 1);
    bench.offer(low);
    bench
}

#[test]
fn gains_are_those_of_the_kernel() {
    let controller = Controller::new(&DualPi2Config::default());
    assert_eq!((controller.alpha, controller.beta), (44, 879));
    let slow = Controller::new(&DualPi2Config { gain_scale: 0.5, ..DualPi2Config::default() });
    assert_eq!((slow.alpha, slow.beta), (22, 439));
}

#[test]
fn the_probability_moves_by_distance_and_change() {
    let mut controller = Controller::new(&DualPi2Config::default());
    controller.update(20_000_000);
    // 0.16 Hz x 5 ms + 3.2 Hz x 20 ms.
    let expected = 0.16 * 0.005 + 3.2 * 0.020;
    let found = |controller: &Controller| controller.probability as f64 / CERTAIN as f64;
    assert!((found(&controller) / expected - 1.0).abs() < 0.005, "{}", found(&controller));
    controller.update(0);
    assert_eq!(controller.probability, 0);
    for _ in 0..100 {
        controller.update(2_000_000_000);
    }
    assert_eq!(controller.probability, CERTAIN);
}

#[test]
fn of_a_step_of_more_than_certainty_the_rest_counts() {
    let mut controller = Controller::new(&DualPi2Config::default());
    (controller.probability, controller.last_delay_ns) = (CERTAIN, 400_000_000);
    controller.update(0);
    let step: u64 = (15_000_000 * 44 + 400_000_000 * 879) >> 6;
    assert_eq!(controller.probability, CERTAIN - (step - (CERTAIN + 1)), "{step}");
}

#[test]
fn without_drops_on_overload_the_coupled_probability_ends_at_one() {
    let config = DualPi2Config { drop_overload: false, ..DualPi2Config::default() };
    let mut controller = Controller::new(&config);
    controller.update(2_000_000_000);
    assert_eq!(controller.probability, CERTAIN / 2);
}

#[test]
fn codepoints_choose_the_line() {
    for (mask, expected) in [("l4s_ect", [0, 0, 1, 1]), ("cla_ect", [0, 1, 0, 1]), ("any_ect", [0, 1, 1, 1])] {
        let mut bench = Bench::new(&format!(r#"{{"kind": "dualpi2", "ecn_mask": "{mask}"}}"#));
        for (flow, ecn) in (0..).zip([Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]) {
            (bench.flow, bench.ecn) = (flow, ecn);
            bench.offer(1);
        }
        (0..4).for_each(|_| bench.send());
        let low: usize = expected.iter().sum();
        let first: Vec<_> = bench.sent.iter().take(low).map(|(flow, ..)| *flow as usize).collect();
        assert!(first.iter().all(|flow| expected[*flow] == 1), "{mask}: {:?}", bench.sent);
    }
}

#[test]
fn the_classic_line_gets_a_tenth() {
    let mut bench = filled(r#"{"kind": "dualpi2", "target_ns": 10000000000}"#, 200, 200);
    (0..200).for_each(|_| bench.send());
    let classic = bench.sent.iter().filter(|(flow, ..)| *flow == 0).count();
    assert!((18..=21).contains(&classic), "{classic}");
}

#[test]
fn what_was_taken_out_to_be_looked_at_is_backlog() {
    for is_ahead in [false, true] {
        let json = r#"{"kind": "dualpi2", "drop_early": true, "target_ns": 1000000}"#;
        let mut bench = Bench { gap_ms: 20, ..Bench::new(json) };
        bench.queue.set_ahead(is_ahead.then_some(Bytes::new(1_000)), bench.now);
        bench.standing(3, 1_000);
        assert_eq!(bench.dropped.is_empty(), !is_ahead, "two wait when one arrives, and a third if there is one ahead");
    }
}

#[test]
fn the_step_marks_what_waited_a_millisecond() {
    let mut bench = filled(r#"{"kind": "dualpi2", "target_ns": 10000000000}"#, 0, 10);
    (0..10).for_each(|_| bench.send());
    // The first one waited 1 ms and no longer.
    assert_eq!(bench.mark_times_ms(), (2..=10).collect::<Vec<_>>());
    assert!(bench.marked.iter().all(|(_, reason)| *reason == Reason::Threshold));
    let mut bench = filled(r#"{"kind": "dualpi2", "target_ns": 10000000000, "step_thresh_packets": 4}"#, 0, 10);
    (0..10).for_each(|_| bench.send());
    assert_eq!(bench.mark_times_ms(), (1..=5).collect::<Vec<_>>());
    let mut bench = filled(r#"{"kind": "dualpi2", "target_ns": 10000000000, "min_qlen_step_packets": 3}"#, 0, 10);
    (0..10).for_each(|_| bench.send());
    assert_eq!(bench.mark_times_ms(), (4..=10).collect::<Vec<_>>());
}

#[test]
fn classic_packets_suffer_the_square_and_scalable_ones_twice_the_probability() {
    let shares = |probability: f64| {
        let config = DualPi2Config::default();
        let mut queue = DualPi2::<()>::new(&config, &crate::queue::tests::setup());
        queue.controller.probability = (probability * CERTAIN as f64) as u64;
        let mut verdicts = Verdicts::default();
        (0..10).for_each(|n| queue.classic.push(crate::queue::tests::packet_of(0, n, 1_000)));
        let mut share = |is_low: bool| {
            let hit = (0..20_000).filter(|_| {
                let mut packet = crate::queue::tests::packet_of(0, 0, 1_000);
                packet.ecn = if is_low { Ecn::Ect1 } else { Ecn::NotEct };
                queue.must_drop(&mut packet, is_low, &mut verdicts) || packet.ecn == Ecn::Ce
            });
            hit.count() as f64 / 20_000.0
        };
        [share(false), share(true)]
    };
    let [classic, low] = shares(0.2);
    assert!((classic - 0.04).abs() < 0.006 && (low - 0.4).abs() < 0.02, "{classic} {low}");
    let [classic, low] = shares(0.8);
    assert!((classic - 0.64).abs() < 0.02 && (low - 1.0).abs() < 1e-9, "overload: {classic} {low}");
}

#[test]
fn on_overload_packets_that_could_be_marked_are_dropped_too() {
    let mut bench = Bench::new(r#"{"kind": "dualpi2"}"#);
    bench.ecn = Ecn::Ect0;
    bench.standing(300, 3_000);
    assert!(!bench.marked.is_empty() && !bench.dropped.is_empty());
    let first_drop = bench.dropped[0].time;
    assert!(bench.marked[0].0 < first_drop);
}

fn queue_of(json: &str) -> DualPi2<()> {
    DualPi2::new(&serde_json::from_str(json).expect("a queue"), &setup())
}

/// Packets that arrive at the start of the run.
fn offer(queue: &mut DualPi2<()>, ecn: Ecn, packets: u64) -> Verdicts<()> {
    let mut verdicts = Verdicts::default();
    for number in 0..packets {
        let mut packet = packet_of(0, number, 1_000);
        packet.ecn = ecn;
        queue.enqueue(packet, Instant::ZERO, &mut verdicts);
    }
    verdicts
}

#[test]
fn the_controller_looks_at_the_longer_delay_of_both_lines_every_16_ms_since_a_second_before_the_run() {
    for ecn in [Ecn::NotEct, Ecn::Ect1] {
        let mut queue = queue_of("{}");
        offer(&mut queue, ecn, 1);
        queue.catch_up(Instant::ZERO + Duration::from_millis(20));
        assert_eq!((queue.controller.last_delay_ns, queue.controller.due.as_millis()), (8_000_000, 24), "{ecn:?}");
    }
}

#[test]
fn less_than_two_frames_are_spared() {
    for (waiting, drops_it) in [(2_027, false), (2_028, true)] {
        let mut queue = queue_of("{}");
        queue.controller.probability = CERTAIN;
        queue.classic.push(packet_of(0, 0, waiting));
        let found = queue.must_drop(&mut packet_of(0, 1, 1_000), false, &mut Verdicts::default());
        assert_eq!(found, drops_it, "{waiting}");
    }
}

#[test]
fn the_credit_moves_only_while_both_lines_wait_and_begins_anew_with_an_empty_queue() {
    let mut verdicts = Verdicts::default();
    for ecn in [Ecn::NotEct, Ecn::Ect1] {
        let mut queue = queue_of("{}");
        offer(&mut queue, ecn, 3);
        (0..3).for_each(|_| drop(queue.dequeue(Instant::ZERO, &mut verdicts)));
        assert_eq!(queue.credit, queue.first_credit, "{ecn:?}");
    }
    let mut queue = queue_of("{}");
    offer(&mut queue, Ecn::NotEct, 1);
    offer(&mut queue, Ecn::Ect1, 2);
    queue.credit = 0;
    let sent = queue.dequeue(Instant::ZERO, &mut verdicts);
    assert_eq!((sent.map(|packet| packet.ecn), queue.credit), (Some(Ecn::Ect1), 10_000));
    queue = queue_of("{}");
    queue.credit = 5;
    assert!(queue.dequeue(Instant::ZERO, &mut verdicts).is_none());
    assert_eq!(queue.credit, queue.first_credit);
}

#[test]
fn a_low_latency_packet_that_is_dropped_takes_its_step_with_it() {
    let mut queue = queue_of(r#"{"min_qlen_step_packets": 1}"#);
    offer(&mut queue, Ecn::Ect1, 4);
    queue.controller.probability = CERTAIN;
    queue.controller.due = Instant::FAR_FUTURE;
    let mut verdicts = Verdicts::default();
    let sent = queue.dequeue(Instant::ZERO + Duration::from_millis(5), &mut verdicts).expect("one is spared");
    assert_eq!((verdicts.drops(), sent.number, sent.marked), (1, 1, Some(Reason::Threshold)));
    assert_eq!(queue.low.has_step.len(), queue.low.queue.packets());
}

#[test]
fn the_memory_counts_the_arriving_packet_with_what_linux_adds() {
    let mut queue = queue_of(r#"{"memory_limit_bytes": 19843}"#);
    assert_eq!(offer(&mut queue, Ecn::NotEct, 12).drops(), 2, "eleven take 19844 bytes");
}

#[test]
fn the_law_acts_on_arrival_or_when_a_packet_leaves_and_never_twice() {
    for (json, on_arrival) in [(r#"{"drop_early": true}"#, true), ("{}", false)] {
        let mut queue = queue_of(json);
        queue.controller.due = Instant::FAR_FUTURE;
        offer(&mut queue, Ecn::NotEct, 5);
        queue.controller.probability = CERTAIN;
        let mut verdicts = Verdicts::default();
        queue.dequeue(Instant::ZERO, &mut verdicts);
        assert_eq!(verdicts.drops(), if on_arrival { 0 } else { 2 });
        offer(&mut queue, Ecn::Ect1, 2);
        let verdicts = offer(&mut queue, Ecn::NotEct, 2);
        assert_eq!(verdicts.drops(), if on_arrival { 2 } else { 0 });
        assert!(verdicts.dropped().iter().all(|(_, reason)| *reason == Reason::Congestion));
    }
}

#[test]
fn the_coupling_factor_is_the_stated_one() {
    let mut queue = queue_of(r#"{"coupling": 4}"#);
    (queue.controller.probability, queue.controller.due) = (CERTAIN / 8, Instant::FAR_FUTURE);
    queue.classic.push(packet_of(0, 0, 5_000));
    let mut marked = || {
        let mut packet = packet_of(0, 0, 1_000);
        packet.ecn = Ecn::Ect1;
        queue.must_drop(&mut packet, true, &mut Verdicts::default());
        packet.ecn == Ecn::Ce
    };
    let share = (0..10_000).filter(|_| marked()).count();
    assert!(share.abs_diff(5_000) < 200, "{share}");
}

#[test]
fn impossible_parameters_are_refused() {
    for (json, part) in [
        (r#"{"kind": "dualpi2", "coupling": 0}"#, "coupling 0 is not possible; give 1 to 255"),
        (r#"{"kind": "dualpi2", "limit_packets": 0}"#, "limit 0 is not possible"),
        (r#"{"kind": "dualpi2", "c_protection": 1.5}"#, "c_protection 1.5 is not possible"),
        (
            r#"{"kind": "dualpi2", "c_protection": 0.155}"#,
            "c_protection 0.155 is not in whole percents; the nearest is 0.16",
        ),
        (r#"{"kind": "dualpi2", "step_thresh_ns": 1, "step_thresh_packets": 1}"#, "in time or in packets"),
    ] {
        assert!(problem(json).contains(part), "{}", problem(json));
    }
}
