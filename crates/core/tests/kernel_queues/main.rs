//! Queues that decide without chance, beside those of Linux 7.3: fed with the packets that came to a qdisc below an htb
//! of 2 Mbit/s in a User-mode Linux guest (two flows of the kernel's CUBIC, one with ECN where the queue marks), they
//! drop and mark the same packets at the same times. Those of the SCE project are no part of Linux; they stand beside a
//! second implementation, written from the project's files alone, and drawn arrivals of three flows that yield to drops
//! and marks, one of them with ECN.

#![allow(clippy::expect_used, reason = "a broken test may panic")]

use bakeoff_core::packet::{Ecn, FlowId, Packet};
use bakeoff_core::queue::{Queue, QueueConfig, QueueSetup, Verdicts};
use bakeoff_core::units::{Bytes, Duration, Instant, Rate};

const RATE: Rate = Rate::from_bits_per_second(2_000_000);
/// Clocks tick in 256 ns, htb may be a microsecond late, and its rate is rounded.
const TOLERANCE: Duration = Duration::from_micros(50);

/// A packet as it arrived, and what the kernel made of it.
#[derive(Clone, Copy, Debug)]
struct Recorded {
    arrival: Instant,
    flow: u32,
    number: u64,
    size: Bytes,
    ecn: Ecn,
    /// How long it waited, and its codepoint then; `None` if it was dropped.
    fate: Option<(Duration, Ecn)>,
}

fn read(text: &str) -> Vec<Recorded> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let words: Vec<_> = line.split(' ').collect();
            let number = |index: usize| words[index].parse::<u64>().expect("a number");
            let ecn = if words[4] == "ect0" { Ecn::Ect0 } else { Ecn::NotEct };
            let after = match words.get(6) {
                Some(&"ce") => Ecn::Ce,
                Some(&"sce") => Ecn::Ect1,
                _ => ecn,
            };
            Recorded {
                arrival: Instant::from_nanos(number(0)),
                flow: number(1) as u32,
                number: number(2),
                size: Bytes::new(number(3)),
                ecn,
                fate: (words[5] != "drop").then(|| (Duration::from_micros(number(5)), after)),
            }
        })
        .collect()
}

/// What our queue makes of the same arrivals: waiting time and codepoint of those that left, by position; `None` for
/// the rest.
fn replay(json: &str, recorded: &[Recorded]) -> Vec<Option<(Duration, Ecn)>> {
    let config: QueueConfig = serde_json::from_str(json).expect("a queue");
    let setup = QueueSetup { mean_rate: Some(RATE), largest_packet: Bytes::new(1_500), seed: 1, hop: "forward.0" };
    let mut queue: Box<dyn Queue<usize>> = config.build(&setup).expect("a possible queue");
    let (mut fates, mut verdicts) = (vec![None; recorded.len()], Verdicts::default());
    let mut free = Instant::ZERO;
    let mut serve = |queue: &mut dyn Queue<usize>, free: &mut Instant, until: Instant| {
        while *free <= until && queue.packets() > 0 {
            let Some(packet) = queue.dequeue(*free, &mut verdicts) else { continue };
            fates[packet.payload] = Some((free.since(packet.enqueued), packet.ecn));
            *free += RATE.time_for(packet.size);
        }
    };
    for (index, packet) in recorded.iter().enumerate() {
        let now = packet.arrival;
        serve(&mut *queue, &mut free, now);
        if queue.packets() == 0 {
            free = free.max(now);
        }
        let mut arriving = Packet::new(FlowId(packet.flow), true, packet.number, packet.size, now, index);
        arriving.ecn = packet.ecn;
        queue.enqueue(Box::new(arriving), now, &mut Verdicts::default());
        serve(&mut *queue, &mut free, now);
    }
    serve(&mut *queue, &mut free, Instant::FAR_FUTURE);
    fates
}

fn compare(json: &str, text: &str) {
    let recorded = read(text);
    let fates = replay(json, &recorded);
    assert!(recorded.iter().filter(|packet| packet.fate.is_none()).count() > 20, "{json}: too few drops to compare");
    for (packet, fate) in recorded.iter().zip(fates) {
        let is_same = match (packet.fate, fate) {
            (None, None) => true,
            (Some((theirs, left_with)), Some((ours, ecn))) => {
                left_with == ecn && theirs.saturating_sub(ours).max(ours.saturating_sub(theirs)) < TOLERANCE
            }
            _ => false,
        };
        assert!(is_same, "{json}: {packet:?} became {fate:?}");
    }
}

#[test]
fn codel_decides_as_the_kernel() {
    compare(r#"{"kind": "codel", "ecn": true}"#, include_str!("codel.txt"));
    compare(r#"{"kind": "codel", "limit_packets": 12}"#, include_str!("codel_limit.txt"));
}

#[test]
fn fq_codel_decides_as_the_kernel() {
    let small = r#"{"kind": "fq_codel", "limit_packets": 40, "target_ns": 10000000}"#;
    compare(small, include_str!("fq_codel.txt"));
    let one_line = r#"{"kind": "fq_codel", "flows": 1, "ce_threshold_ns": 23000000}"#;
    compare(one_line, include_str!("fq_codel_one_line.txt"));
}

#[test]
fn cake_decides_as_the_kernel() {
    // Turns are dithered at random, which takes more than three seconds to show.
    compare(r#"{"kind": "cake", "flow_mode": "flows"}"#, include_str!("cake.txt"));
    compare(r#"{"kind": "cake", "flow_mode": "flowblind"}"#, include_str!("cake_flowblind.txt"));
}

#[test]
fn the_queues_of_the_sce_project_decide_as_written_a_second_time() {
    compare(r#"{"kind": "cobalt", "sce_interval_ns": 25000000}"#, include_str!("cobalt.txt"));
    compare(r#"{"kind": "lfq"}"#, include_str!("lfq.txt"));
    compare(r#"{"kind": "cnq_codel_af"}"#, include_str!("cnq_codel_af.txt"));
}
