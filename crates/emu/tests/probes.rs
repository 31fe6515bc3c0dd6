//! Where probes run, and their table from a log made by hand.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::fs;
use std::path::PathBuf;

use bakeoff_core::record::{Column, Table};
use bakeoff_core::units::Instant;
use bakeoff_emu::job::Job;
use bakeoff_emu::layout::{HopPoints, Layout, Point};
use bakeoff_emu::log::{ANSWERER_PORT, ASKER_PORT, PACKETS_FILE, PacketRecord, Protocol, SAMPLES_FILE};
use bakeoff_emu::tables::from_log;
use serde_json::{Value, json};

fn scenario(extra_delays: &[u64], probes: &[&str]) -> Value {
    let times = json!({"start_ns": 0, "stop_ns": 1_000_000_000});
    let with = |own: Value| {
        let mut all = times.as_object().unwrap().clone();
        all.extend(own.as_object().unwrap().clone());
        all
    };
    let flow = |delay| with(json!({"scheme": "kernel:reno", "traffic": {"kind": "bulk"}, "extra_delay_ns": delay}));
    let probe = |way| with(json!({"interval_ns": 100_000_000, "size_bytes": 84, "direction": way}));
    let hop = |link: Value| json!({"link": link, "queue": {"kind": "fifo"}, "delay_ns": 20_000_000});
    json!({
        "seed": 1, "duration_ns": 1_000_000_000, "record": {"level": "summary", "interval_ns": 100_000_000},
        "forward": [hop(json!({"kind": "constant", "rate_bps": 1_000_000}))],
        "reverse": [hop(json!({"kind": "unlimited"}))],
        "flows": extra_delays.iter().map(flow).collect::<Vec<_>>(),
        "probes": probes.iter().map(probe).collect::<Vec<_>>(),
    })
}

fn layout(scenario: &Value) -> Layout {
    Layout::of(&Job::from_json(&scenario.to_string()).unwrap().scenario)
}

#[test]
fn probes_share_the_hosts_of_flows_without_a_delay_of_their_own() {
    let layout = layout(&scenario(&[5_000_000, 0, 0], &["forward", "reverse"]));
    let [forward, reverse] = &layout.probes[..] else { panic!("two probes") };
    let near = &layout.flows[1];
    assert_eq!((forward.pair, reverse.pair, layout.pairs.len()), (near.pair, near.pair, 2));
    assert_eq!((&forward.data, &forward.acks), (&near.data, &near.acks));
    assert_eq!((&reverse.data, &reverse.acks), (&near.acks, &near.data));
}

#[test]
fn probes_get_hosts_where_every_flow_has_a_delay_of_its_own() {
    let layout = layout(&scenario(&[5_000_000], &["forward"]));
    assert_eq!((layout.probes[0].pair, layout.pairs.len()), (1, 2));
    assert_eq!((layout.probes[0].data.len(), layout.probes[0].acks.len()), (1, 1));
}

#[test]
fn without_probes_nothing_is_built_for_them() {
    assert_eq!(layout(&scenario(&[5_000_000], &[])).pairs.len(), 1);
}

/// A log in the making.
#[derive(Default)]
struct Log {
    records: Vec<PacketRecord>,
}

impl Log {
    /// A request or an answer, told apart from others of its end by `identification`, at points and times in ms.
    fn see(&mut self, is_request: bool, identification: u16, request: u64, sightings: &[(u64, Point)]) {
        let mut transport = [0; 28];
        transport[4..12].copy_from_slice(&request.to_be_bytes());
        let ports = if is_request { (ASKER_PORT, ANSWERER_PORT) } else { (ANSWERER_PORT, ASKER_PORT) };
        self.records.extend(sightings.iter().map(|(at_ms, point)| PacketRecord {
            time: Instant::from_nanos(at_ms * 1_000_000),
            point: *point,
            protocol: Protocol::Udp,
            tos: 0,
            identification,
            size: 84,
            source_port: ports.0,
            destination_port: ports.1,
            transport,
        }));
    }

    fn tables(mut self, scenario: &Value, folder: &PathBuf) -> Vec<Table> {
        self.records.sort_by_key(|record| record.time);
        let bytes: Vec<_> = self.records.iter().flat_map(PacketRecord::encode).collect();
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join(PACKETS_FILE), bytes).unwrap();
        fs::write(folder.join(SAMPLES_FILE), "").unwrap();
        let tables = from_log(&scenario.to_string(), folder);
        fs::remove_dir_all(folder).unwrap();
        tables.unwrap()
    }
}

fn column<'a>(tables: &'a [Table], table: &str, column: &str) -> &'a Column {
    let table = tables.iter().find(|found| found.name == table).unwrap();
    &table.columns.iter().find(|(name, _)| *name == column).unwrap().1
}

fn numbers(tables: &[Table], table: &str, name: &str) -> Vec<i64> {
    match column(tables, table, name) {
        Column::U64(values) => values.iter().map(|value| *value as i64).collect(),
        Column::I64(values) => values.clone(),
        column => panic!("{column:?} holds no whole numbers"),
    }
}

#[test]
fn a_log_tells_what_became_of_each_request() {
    let scenario = scenario(&[0], &["forward"]);
    let placed = layout(&scenario).probes[0].clone();
    let (HopPoints { entry, link, exit, .. }, back) = (placed.data[0], placed.acks[0]);
    let mut log = Log::default();
    log.see(true, 7, 0, &[(0, entry), (1, link), (21, exit)]);
    log.see(false, 9, 0, &[(21, back.entry), (41, back.exit)]);
    // The queue drops the second request, and the wire the answer to the third.
    log.see(true, 8, 1, &[(100, entry)]);
    log.see(true, 9, 2, &[(200, entry), (203, link), (223, exit)]);
    log.see(false, 10, 2, &[(223, back.entry)]);
    // The last answer comes after the end.
    log.see(true, 10, 3, &[(970, entry), (971, link), (991, exit)]);
    log.see(false, 11, 3, &[(991, back.entry), (1_011, back.exit)]);
    let folder = std::env::temp_dir().join(format!("bakeoff-probes-{}", std::process::id()));
    let tables = log.tables(&scenario, &folder);

    let millis = |name| -> Vec<_> {
        numbers(&tables, "probes", name).iter().map(|time| if *time < 0 { -1 } else { time / 1_000_000 }).collect()
    };
    assert_eq!(millis("sent_ns"), [0, 100, 200, 970]);
    assert_eq!(millis("request_ns"), [21, -1, 23, 21]);
    assert_eq!(millis("rtt_ns"), [41, -1, -1, -1]);
    let fates = Column::Category { codes: vec![0, 1, 1, 2], names: vec!["received", "dropped", "inside"] };
    assert_eq!(column(&tables, "probes", "fate"), &fates);
    assert_eq!(numbers(&tables, "hops", "in_packets"), [4, 3]);
    assert_eq!(numbers(&tables, "hops", "dropped_packets"), [1, 1]);
    assert_eq!(numbers(&tables, "hops", "inside_packets"), [0, 1]);
    assert_eq!(numbers(&tables, "flows", "sent_packets"), [0, 0]);
}
