//! The tables of a transfer from logs made by hand: of taps (the kernel's path), and of events (the emulator's).

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::fs;
use std::path::PathBuf;

use bakeoff_core::hop::Count;
use bakeoff_core::packet::{Ecn, FlowId};
use bakeoff_core::queue::Reason;
use bakeoff_core::record::{Column, Table};
use bakeoff_core::units::{Bytes, Duration, Instant};
use bakeoff_emu::events::{EVENTS_FILE, Event, HEADERS_FILE, PacketId, REPORT_FILE, encode_header, logged_size};
use bakeoff_emu::job::Job;
use bakeoff_emu::layout::{Layout, Point};
use bakeoff_emu::log::{PACKETS_FILE, PacketRecord, Protocol, RECEIVER_PORT, SAMPLES_FILE, SENDER_PORT};
use bakeoff_emu::tables::{from_events, from_log};
use serde_json::{Value, json};

/// Headers of IP and TCP with time stamps.
const HEADER: u64 = 52;
const SYN: u8 = 2;
const ACK: u8 = 16;
/// What the sender's sequence numbers begin with.
const FIRST: u32 = u32::MAX - 1_500;

fn ms(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// A transfer of 3000 bytes over 1 Mbit/s with queues of this kind; intervals of 100 ms.
fn scenario(queue: &str) -> Value {
    let hop = |link: Value| json!({"link": link, "queue": {"kind": queue}, "delay_ns": 20_000_000});
    json!({
        "seed": 1, "duration_ns": 1_000_000_000, "record": {"level": "series", "interval_ns": 100_000_000},
        "forward": [hop(json!({"kind": "constant", "rate_bps": 1_000_000}))],
        "reverse": [hop(json!({"kind": "unlimited"}))],
        "flows": [{
            "scheme": "kernel:reno", "traffic": {"kind": "finite", "size_bytes": 3_000}, "start_ns": 0, "stop_ns": 1_000_000_000,
        }],
    })
}

/// A packet of the transfer: from the sender with its first byte and payload, or from the receiver with the first byte
/// that it waits for.
#[derive(Clone, Copy)]
enum Says {
    Syn,
    Data { start: u32, payload: u16 },
    Expects(u32),
}

/// Where a packet was: milliseconds at which it came to its hop, left the queue, and came out; and whether the queue
/// marked it.
#[derive(Clone, Copy)]
struct Journey {
    says: Says,
    entry: u64,
    link: Option<u64>,
    exit: Option<u64>,
    is_marked: bool,
}

const fn journey(says: Says, entry: u64, link: u64, exit: u64) -> Journey {
    Journey { says, entry, link: Some(link), exit: Some(exit), is_marked: false }
}

/// The first of three segments is marked, the second one is dropped, and the third leaves its queue at the end of an
/// interval; what was dropped arrives at the end of another.
const JOURNEYS: [Journey; 8] = [
    journey(Says::Syn, 0, 0, 20),
    Journey { is_marked: true, ..journey(Says::Data { start: 0, payload: 1_000 }, 50, 58, 78) },
    Journey { link: None, exit: None, ..journey(Says::Data { start: 1_000, payload: 1_000 }, 51, 0, 0) },
    journey(Says::Data { start: 2_000, payload: 1_000 }, 52, 200, 220),
    journey(Says::Expects(1_000), 78, 78, 98),
    journey(Says::Expects(1_000), 220, 220, 240),
    journey(Says::Data { start: 1_000, payload: 1_000 }, 380, 380, 400),
    journey(Says::Expects(3_000), 400, 400, 420),
];

impl Journey {
    fn is_data_direction(&self) -> bool {
        !matches!(self.says, Says::Expects(_))
    }

    fn payload(&self) -> u16 {
        if let Says::Data { payload, .. } = self.says { payload } else { 0 }
    }

    fn size(&self) -> Bytes {
        Bytes::new(HEADER + u64::from(self.payload()))
    }

    /// As a tap sees it, which tells packets apart by their identification.
    fn record(&self, identification: u16) -> PacketRecord {
        let position = |byte: u32| FIRST.wrapping_add(1).wrapping_add(byte).to_be_bytes();
        let mut transport = [0; 28];
        (transport[8], transport[9]) = (8 << 4, ACK);
        match self.says {
            Says::Syn => {
                transport[..4].copy_from_slice(&FIRST.to_be_bytes());
                transport[9] = SYN;
            }
            Says::Data { start, .. } => transport[..4].copy_from_slice(&position(start)),
            Says::Expects(byte) => transport[4..8].copy_from_slice(&position(byte)),
        }
        let ports = [SENDER_PORT, RECEIVER_PORT];
        let [source_port, destination_port] = if self.is_data_direction() { ports } else { [ports[1], ports[0]] };
        PacketRecord {
            time: ms(self.entry),
            point: Point { tap: 0, is_outgoing: false },
            protocol: Protocol::Tcp,
            tos: Ecn::Ect0.bits(),
            identification,
            size: logged_size(self.size()),
            source_port,
            destination_port,
            transport,
        }
    }
}

fn in_folder(name: &str, make: impl FnOnce(&PathBuf) -> Vec<Table>) -> Vec<Table> {
    let folder = std::env::temp_dir().join(format!("bakeoff-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(SAMPLES_FILE), "").unwrap();
    let tables = make(&folder);
    fs::remove_dir_all(&folder).unwrap();
    tables
}

/// What taps saw of these journeys.
fn tables_of_taps(scenario: &Value, name: &str, journeys: &[Journey]) -> Vec<Table> {
    let text = scenario.to_string();
    let flow = Layout::of(&Job::from_json(&text).unwrap().scenario).flows[0].clone();
    let mut records = Vec::new();
    for (identification, journey) in (1..).zip(journeys) {
        let way = if journey.is_data_direction() { &flow.data } else { &flow.acks };
        let mut points = vec![(Some(journey.entry), way[0].entry, false)];
        if way[0].link != way[0].entry && way[0].link != way[0].exit {
            points.push((journey.link, way[0].link, journey.is_marked));
        }
        points.push((journey.exit, way[0].exit, journey.is_marked));
        for (at, point, is_marked) in points {
            let Some(at) = at else { continue };
            let record = journey.record(identification);
            let tos = if is_marked { Ecn::Ce.bits() } else { record.tos };
            records.push(PacketRecord { time: ms(at), point, tos, ..record });
        }
    }
    records.sort_by_key(|record| record.time);
    in_folder(name, |folder| {
        let bytes: Vec<_> = records.iter().flat_map(PacketRecord::encode).collect();
        fs::write(folder.join(PACKETS_FILE), bytes).unwrap();
        from_log(&text, folder).unwrap()
    })
}

/// What the emulator noted of these journeys, of which so many data packets waited at the ends of the intervals.
fn tables_of_events(scenario: &Value, name: &str, journeys: &[Journey], waiting: &[u64]) -> Vec<Table> {
    let mut events = Vec::new();
    let mut numbers = [0_u32; 2];
    let mut counts = [[Count::default(); 3]; 2];
    for (identification, journey) in (1..).zip(journeys) {
        let is_data_direction = journey.is_data_direction();
        let hop = u16::from(!is_data_direction);
        let number = &mut numbers[usize::from(hop)];
        let packet = PacketId { flow: FlowId(0), is_data_direction, number: *number };
        *number += 1;
        let header = journey.record(identification).header();
        let (size, ecn) = (logged_size(journey.size()), Ecn::Ect0);
        events.push((ms(journey.entry), Event::Sent { packet, ecn, size }, Some(header)));
        let [accepted, delivered, _] = &mut counts[usize::from(hop)];
        accepted.add(journey.size());
        let (Some(link), Some(exit)) = (journey.link, journey.exit) else {
            let (reason, sojourn) = (Reason::Overlimit, Duration::ZERO);
            events.push((ms(journey.entry), Event::Dropped { packet, hop, reason, sojourn, ecn, marked: None }, None));
            continue;
        };
        let marked = journey.is_marked.then_some(Reason::Qdisc);
        if let Some(reason) = marked {
            events.push((ms(link), Event::Marked { hop, reason, size }, None));
        }
        let (sojourn, ecn) =
            (Duration::from_millis(link - journey.entry), if journey.is_marked { Ecn::Ce } else { ecn });
        events.push((ms(exit), Event::LeftHop { packet, hop, sojourn, ecn, marked, is_last: true }, None));
        delivered.add(journey.size());
    }
    for (interval, packets) in (1..).zip(waiting) {
        let waiting = Count { packets: *packets, bytes: packets * (HEADER + 1_000) };
        for (hop, backlog) in [(0, waiting), (1, Count::default())] {
            events.push((ms(100 * interval), Event::Backlog { hop, backlog }, None));
        }
    }
    events.sort_by_key(|(time, ..)| *time);
    let both = |count: Count| json!([count.packets, count.bytes]);
    let hop = |(name, [accepted, delivered, inside]): (&str, [Count; 3])| {
        json!({
            "name": name, "accepted": both(accepted), "delivered": both(delivered), "inside": both(inside), "on_wire_bytes": 0,
        })
    };
    let hops: Vec<_> = ["forward.0", "reverse.0"].into_iter().zip(counts).map(hop).collect();
    let report = json!({"hops": hops});
    in_folder(name, |folder| {
        let headers: Vec<_> =
            events.iter().filter_map(|(.., header)| *header).flat_map(|header| encode_header(&header)).collect();
        let bytes: Vec<_> = events.iter().flat_map(|(time, event, _)| event.encode(*time)).collect();
        fs::write(folder.join(EVENTS_FILE), bytes).unwrap();
        fs::write(folder.join(HEADERS_FILE), headers).unwrap();
        fs::write(folder.join(REPORT_FILE), report.to_string()).unwrap();
        from_events(&scenario.to_string(), folder).unwrap()
    })
}

fn numbers(tables: &[Table], table: &str, name: &str) -> Vec<i64> {
    let table = tables.iter().find(|found| found.name == table).unwrap();
    match &table.columns.iter().find(|(found, _)| *found == name).unwrap().1 {
        Column::U64(values) => values.iter().map(|value| *value as i64).collect(),
        Column::I64(values) => values.clone(),
        column => panic!("{column:?} holds no whole numbers"),
    }
}

/// The words of a column of categories, and the other columns' numbers.
fn verdicts(tables: &[Table]) -> Vec<(String, String, i64)> {
    let table = tables.iter().find(|found| found.name == "verdicts").unwrap();
    let words = |name: &str| match &table.columns.iter().find(|(found, _)| *found == name).unwrap().1 {
        Column::Category { codes, names } => {
            codes.iter().map(|code| names[usize::from(*code)].to_owned()).collect::<Vec<_>>()
        }
        column => panic!("{column:?} holds no words"),
    };
    let counts = numbers(tables, "verdicts", "packets");
    let rows = words("verdict").into_iter().zip(words("reason")).zip(counts);
    rows.map(|((verdict, reason), packets)| (verdict, reason, packets)).collect()
}

#[test]
fn both_kinds_of_log_tell_the_same_of_a_transfer() {
    let (fifo, waiting) = (scenario("fifo"), [1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    for tables in [tables_of_taps(&fifo, "taps", &JOURNEYS), tables_of_events(&fifo, "events", &JOURNEYS, &waiting)] {
        let flow = |name| numbers(&tables, "flows", name)[0];
        assert_eq!([flow("sent_packets"), flow("received_packets"), flow("dropped_packets")], [5, 4, 1]);
        assert_eq!([flow("retransmits"), flow("goodput_bytes"), flow("ce_marks"), flow("timeouts")], [1, 3_000, 1, -1]);
        assert_eq!(flow("completed_ns"), 420_000_000, "when the ack of the last byte arrives");
        let goodput = [1_000, 0, 0, 2_000, 0, 0, 0, 0, 0, 0];
        assert_eq!(numbers(&tables, "series", "goodput_bytes"), goodput, "what waits for the second is not there yet");
        let of_forward = |name| numbers(&tables, "hop_series", name).into_iter().step_by(2).collect::<Vec<_>>();
        assert_eq!(of_forward("queue_packets"), waiting.map(|packets| packets as i64));
        assert_eq!(of_forward("queue_bytes"), [1_052, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(of_forward("capacity_bytes"), [12_500; 10]);
        let hops = |name| numbers(&tables, "hops", name);
        assert_eq!([hops("in_packets"), hops("out_packets")], [[5, 3], [4, 3]]);
        assert_eq!([hops("dropped_packets"), hops("marked_packets")], [[1, 0], [1, 0]]);
        let expected = [("drop", "overlimit", 1), ("mark", "qdisc", 1)]
            .map(|(verdict, reason, packets)| (verdict.to_owned(), reason.to_owned(), packets));
        let mut found = verdicts(&tables);
        found.sort();
        assert_eq!(found, expected);
        // 0, 8, 148 and 0 ms.
        let longest = flow("queue_p95_ns");
        assert!(longest.abs_diff(148_000_000) < 148_000, "{longest}");
    }
}

#[test]
fn what_is_sent_or_arrives_after_the_end_does_not_count_and_what_is_under_way_is_inside() {
    let data = Says::Data { start: 1_000, payload: 1_000 };
    let late = [journey(data, 985, 1_010, 1_030), journey(data, 990, 995, 1_015), journey(data, 1_100, 1_100, 1_120)];
    let tables = tables_of_taps(&scenario("fifo"), "late-taps", &[&JOURNEYS[..], &late[..]].concat());
    let flow = |name| numbers(&tables, "flows", name)[0];
    assert_eq!(
        [flow("sent_packets"), flow("retransmits"), flow("received_packets"), flow("inside_packets")],
        [7, 3, 4, 2]
    );
    let hops = |name| numbers(&tables, "hops", name)[0];
    assert_eq!([hops("inside_packets"), hops("inside_bytes"), hops("on_wire_bytes")], [2, 2_104, 1_052]);
    assert_eq!(numbers(&tables, "hop_series", "queue_packets")[18], 1, "one still waits");
}

#[test]
fn why_another_queue_than_a_fifo_drops_only_the_kernel_knows() {
    let found = verdicts(&tables_of_taps(&scenario("codel"), "codel-taps", &JOURNEYS));
    let reasons: Vec<_> = found.iter().map(|(verdict, reason, _)| (verdict.as_str(), reason.as_str())).collect();
    assert_eq!((reasons.len(), reasons.contains(&("drop", "qdisc"))), (2, true), "{reasons:?}");
}

/// A flow from 250 ms on in a run of 950 ms. Three segments wait, for 90, 200 and 380 ms; a fourth arrives after the end
/// of the last whole interval, and another is under way then.
const LATE: [Journey; 6] = [
    journey(Says::Syn, 250, 250, 270),
    journey(Says::Data { start: 0, payload: 1_000 }, 310, 400, 420),
    journey(Says::Data { start: 1_000, payload: 1_000 }, 310, 510, 600),
    journey(Says::Data { start: 2_000, payload: 1_000 }, 320, 700, 720),
    journey(Says::Data { start: 3_000, payload: 1_000 }, 880, 920, 940),
    Journey { exit: None, ..journey(Says::Data { start: 4_000, payload: 1_000 }, 890, 940, 0) },
];

#[test]
fn intervals_begin_with_the_run_and_only_whole_ones_are_sampled() {
    let mut late = scenario("fifo");
    late["duration_ns"] = json!(950_000_000);
    late["flows"][0]["start_ns"] = json!(250_000_000);
    late["flows"][0]["stop_ns"] = json!(950_000_000);
    late["flows"][0]["traffic"] = json!({"kind": "bulk"});
    // What leaves at the end of an interval does not wait then.
    let waiting = [0, 0, 0, 2, 2, 1, 0, 0, 2];
    let of_taps = tables_of_taps(&late, "taps-late-start", &LATE);
    // The emulator tells what is under way in its report alone.
    let of_events = tables_of_events(&late, "events-late-start", &LATE[..5], &waiting);
    for (tables, waiting, sent) in [(of_taps, waiting, 6), (of_events, waiting, 5)] {
        let flow = |name| numbers(&tables, "flows", name)[0];
        assert_eq!([flow("sent_packets"), flow("goodput_bytes"), flow("start_ns")], [sent, 4_000, 250_000_000]);
        // The rest came after the last sample.
        assert_eq!(numbers(&tables, "series", "goodput_bytes"), [0, 0, 0, 0, 1_000, 1_000, 0, 1_000, 0, 1_000]);
        let times = numbers(&tables, "hop_series", "t_ns");
        let ends = (1..=9).flat_map(|interval| [interval * 100_000_000; 2]);
        assert_eq!(times, ends.collect::<Vec<_>>());
        let of_forward = |name| numbers(&tables, "hop_series", name).into_iter().step_by(2).collect::<Vec<_>>();
        assert_eq!(of_forward("queue_packets"), waiting.map(|packets| packets as i64));
        assert_eq!(of_forward("queue_bytes"), waiting.map(|packets| packets as i64 * 1_052));
    }
    late["record"]["level"] = json!("summary");
    let without =
        [tables_of_taps(&late, "taps-summary", &LATE), tables_of_events(&late, "events-summary", &LATE[..5], &[])];
    for tables in without {
        assert_eq!(numbers(&tables, "flows", "goodput_bytes")[0], 4_000);
        assert!(tables.iter().all(|table| !["series", "hop_series"].contains(&table.name)), "none was asked for");
    }
}
