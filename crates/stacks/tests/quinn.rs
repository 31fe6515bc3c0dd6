//! quinn in virtual time: what a user of the simulator relies on.

#![allow(clippy::expect_used, reason = "a test may fail")]

use std::collections::BTreeMap;

use bakeoff_core::record::{Column, Table};
use bakeoff_sim::{Error, Recording, Scenario, Simulation, Transport};
use bakeoff_stacks::STACKS;
use serde_json::{Value, json};

const SCHEMES: [&str; 3] = ["quinn:cubic", "quinn:newreno", "quinn:bbr"];

/// One flow over 10 Mbit/s and 40 ms with a buffer of one BDP.
fn scenario(scheme: &str, seed: u64, seconds: u64) -> Value {
    let end = seconds * 1_000_000_000;
    json!({
        "seed": seed, "duration_ns": end, "record": {"level": "packets", "interval_ns": 100_000_000},
        "forward": [{
            "link": {"kind": "constant", "rate_bps": 10_000_000},
            "queue": {"kind": "fifo", "limit_bytes": 50_000}, "delay_ns": 20_000_000,
        }],
        "reverse": [{"link": {"kind": "unlimited"}, "queue": {"kind": "fifo"}, "delay_ns": 20_000_000}],
        "flows": [{"scheme": scheme, "traffic": {"kind": "bulk"}, "start_ns": 0, "stop_ns": end}],
    })
}

fn run(scenario: &Value) -> Result<Recording, Error> {
    let scenario = Scenario::from_json(&scenario.to_string())?;
    Simulation::with_transports(&scenario, |flow| Transport::named(&scenario, flow, STACKS))?.finish()
}

fn table<'a>(recording: &'a Recording, name: &str) -> &'a Table {
    recording.tables.iter().find(|table| table.name == name).expect("the level asks for it")
}

fn column<'a>(recording: &'a Recording, name: &str, column: &str) -> &'a Column {
    let columns = &table(recording, name).columns;
    &columns.iter().find(|(known, _)| *known == column).expect("it is declared").1
}

/// A number of all flows and of each.
fn of_flows(recording: &Recording, name: &str) -> Vec<i64> {
    match column(recording, "flows", name) {
        Column::U64(values) => values.iter().map(|value| *value as i64).collect(),
        Column::I64(values) => values.clone(),
        _ => panic!("{name} is a number"),
    }
}

/// A number of flow 1.
fn of_flow(recording: &Recording, name: &str) -> i64 {
    of_flows(recording, name)[1]
}

/// Telemetry by name.
fn telemetry(recording: &Recording) -> BTreeMap<&'static str, Vec<f64>> {
    let Column::Category { codes, names } = column(recording, "telemetry", "name") else { panic!("names are words") };
    let Column::F64(values) = column(recording, "telemetry", "value") else { panic!("values are fractions") };
    let mut by_name = BTreeMap::<_, Vec<_>>::new();
    for (code, value) in codes.iter().zip(values) {
        by_name.entry(names[usize::from(*code)]).or_default().push(*value);
    }
    by_name
}

#[test]
fn a_bulk_flow_fills_a_link() {
    for scheme in SCHEMES {
        for seed in 1..=3 {
            let recording = run(&scenario(scheme, seed, 20)).expect("it runs");
            let throughput = of_flow(&recording, "received_bytes") as f64 * 8.0 / 20.0;
            assert!((9.0e6..=1e7).contains(&throughput), "{scheme}, seed {seed}: {throughput}");
            let goodput = of_flow(&recording, "goodput_bytes") as f64 * 8.0 / 20.0;
            // Headers: 28 of IP and UDP, and some 30 of QUIC and STREAM, of 1480 bytes.
            assert!((0.90..0.97).contains(&(goodput / throughput)), "{scheme}, seed {seed}: {goodput} of {throughput}");
        }
    }
}

/// One flow over 200 Mbit/s and 100 ms with a buffer of one BDP, whose slow start loses thousands of packets at once.
fn fast_and_long(scheme: &str) -> Value {
    let mut fast = scenario(scheme, 1, 3);
    fast["record"]["level"] = json!("summary");
    fast["forward"][0]["link"]["rate_bps"] = json!(200_000_000);
    fast["forward"][0]["queue"]["limit_bytes"] = json!(2_500_000);
    for way in ["forward", "reverse"] {
        fast[way][0]["delay_ns"] = json!(50_000_000);
    }
    fast
}

#[test]
fn a_flow_survives_its_slow_start_on_a_fast_and_long_path() {
    for scheme in SCHEMES {
        let recording = run(&fast_and_long(scheme)).expect("it runs");
        assert!(of_flow(&recording, "dropped_packets") > 500, "{scheme}: {}", of_flow(&recording, "dropped_packets"));
        let (received, goodput) = (of_flow(&recording, "received_bytes"), of_flow(&recording, "goodput_bytes"));
        assert!(goodput > 10_000_000 && goodput < received, "{scheme}: {goodput} of {received}");
    }
}

#[test]
fn a_receive_window_limits_a_flow() {
    for scheme in SCHEMES {
        let mut limited = scenario(scheme, 1, 10);
        limited["flows"][0]["receive_window_bytes"] = json!(20_000);
        let recording = run(&limited).expect("it runs");
        let goodput = of_flow(&recording, "goodput_bytes") as f64 * 8.0 / 10.0;
        // A window a round trip, of which an eighth may wait before the receiver tells of it.
        assert!((3.2e6..=4.0e6).contains(&goodput), "{scheme}: {goodput}");
        assert_eq!(of_flow(&recording, "dropped_packets"), 0, "{scheme}");
    }
}

#[test]
fn a_receive_window_is_filled_by_what_waits_behind_a_gap() {
    let mut limited = fast_and_long("quinn:cubic");
    limited["flows"][0]["receive_window_bytes"] = json!(64_000_000);
    let error = run(&limited).expect_err("quinn keeps 1024 pieces at most");
    assert!(error.to_string().ends_with("too many gaps in stream buffer"), "{error}");
}

#[test]
fn a_transfer_completes_over_a_lossy_path() {
    for scheme in SCHEMES {
        for seed in 1..=3 {
            let mut lossy = scenario(scheme, seed, 30);
            lossy["forward"][0]["loss"] = json!(0.03);
            lossy["reverse"][0]["loss"] = json!(0.03);
            lossy["flows"][0]["traffic"] = json!({"kind": "finite", "size_bytes": 1_000_000});
            let recording = run(&lossy).expect("it runs");
            assert_eq!(of_flow(&recording, "goodput_bytes"), 1_000_000, "{scheme}, seed {seed}");
            let completed = of_flow(&recording, "completed_ns");
            assert!((1_000_000_000..30_000_000_000).contains(&completed), "{scheme}, seed {seed}: {completed}");
            assert!(of_flow(&recording, "retransmits") > 5, "{scheme}, seed {seed}");
            assert_eq!(of_flows(&recording, "timeouts"), [-1, -1], "it does not tell");
        }
    }
}

#[test]
fn a_connection_may_end_when_its_work_is_done() {
    for scheme in SCHEMES {
        let mut short = scenario(scheme, 1, 60);
        short["flows"][0]["traffic"] = json!({"kind": "finite", "size_bytes": 100_000});
        let recording = run(&short).expect("an idle connection times out after thirty seconds");
        assert_eq!(of_flow(&recording, "goodput_bytes"), 100_000, "{scheme}");
    }
}

#[test]
fn two_runs_are_the_same() {
    for scheme in SCHEMES {
        let mut lossy = scenario(scheme, 7, 25);
        lossy["forward"][0]["loss"] = json!(0.01);
        let [first, second] = [(); 2].map(|()| run(&lossy).expect("it runs"));
        assert_eq!(first, second, "{scheme}");
        lossy["seed"] = json!(8);
        assert_ne!(first, run(&lossy).expect("it runs"), "{scheme}");
    }
}

#[test]
fn a_connection_that_is_lost_is_an_error_with_a_sentence() {
    let mut cut = scenario("quinn:cubic", 1, 60);
    cut["forward"][0]["loss"] = json!(1.0);
    let error = run(&cut).expect_err("nobody answers");
    assert_eq!(error.to_string(), "flow 1: its sender lost the connection 30 s into the run: timed out");
    cut["flows"][0]["stop_ns"] = json!(20_000_000_000_u64);
    run(&cut).expect("whoever has stopped may lose its connection");
}

#[test]
fn the_end_that_gives_a_connection_up_first_is_named() {
    let mut cut = scenario("quinn:cubic", 1, 60);
    let steps = json!([{"at_ns": 0, "rate_bps": 10_000_000}, {"at_ns": 5_000_000_000_u64, "rate_bps": 0}]);
    cut["forward"][0]["link"] = json!({"kind": "schedule", "period_ns": null, "steps": steps});
    let mut second = cut["flows"][0].clone();
    second["extra_delay_ns"] = json!(5_000_000);
    cut["flows"].as_array_mut().expect("flows are a list").push(second);
    // The last packets arrive some 20 ms after the link stops, and those that acknowledge them later still.
    let error = run(&cut).expect_err("nothing arrives any more").to_string();
    assert!(error.starts_with("flow 2: its receiver lost the connection 35.0"), "{error}");
}

#[test]
fn what_a_stack_cannot_do_is_refused() {
    let refusal = |key: &str, value: Value| {
        let mut asked = scenario("quinn:bbr", 1, 1);
        asked["flows"][0][key] = value;
        run(&asked).expect_err("it cannot").to_string()
    };
    let on_off = json!({"kind": "on-off", "on_ns": 1_000_000, "off_ns": 1_000_000});
    assert_eq!(
        refusal("traffic", on_off),
        "flow 1: quinn:bbr transfers bulk or a size; on-off traffic needs a scheme of ours"
    );
    assert_eq!(
        refusal("mss_bytes", json!(1_000)),
        "flow 1: quinn:bbr: QUIC needs packets of at least 1228 bytes, and these have 1052; give the flow a larger mss"
    );
    assert_eq!(refusal("parameters", json!({"gain": 2.0})), "flow 1: quinn:bbr takes no parameters; leave them out");
    assert_eq!(refusal("handshake", json!(false)), "flow 1: quinn:bbr connects as its stack does; leave handshake out");
    assert_eq!(
        refusal("ecn", json!("accurate")),
        "flow 1: quinn:bbr echoes marks as its stack does; write ecn = \"classic\" to let them through, or leave ecn out"
    );
    let mut unknown = scenario("quinn:vegas", 1, 1);
    unknown["flows"][0]["scheme"] = json!("quinn:vegas");
    assert_eq!(
        run(&unknown).expect_err("there is none").to_string(),
        "flow 1: there is no scheme called \"quinn:vegas\""
    );
}

#[test]
fn the_host_decides_whether_marks_are_seen() {
    let marks = |ecn: &str| {
        let mut marked = scenario("quinn:cubic", 1, 20);
        marked["forward"][0]["queue"] = json!({"kind": "codel", "ecn": true});
        marked["flows"][0]["ecn"] = json!(ecn);
        let recording = run(&marked).expect("it runs");
        let events = telemetry(&recording)["congestion_events"].last().copied().expect("it is sampled");
        (of_flow(&recording, "ce_marks"), of_flow(&recording, "dropped_packets"), events)
    };
    let (ce, dropped, events) = marks("classic");
    assert!(ce > 10 && dropped == 0, "{ce} marks, {dropped} drops");
    assert!(events > 10.0, "the controller hears of marks: {events}");
    let (ce, dropped, _) = marks("off");
    assert!(ce == 0 && dropped > 10, "{ce} marks, {dropped} drops");
}

#[test]
fn telemetry_tells_of_the_path() {
    let recording = run(&scenario("quinn:cubic", 1, 10)).expect("it runs");
    let telemetry = telemetry(&recording);
    let last = |name: &str| *telemetry[name].last().expect("it is sampled");
    assert!((40.0..41.0).contains(&last("min_rtt")), "{}", last("min_rtt"));
    assert!((40.0..85.0).contains(&last("srtt")), "{}", last("srtt"));
    assert!((30.0..75.0).contains(&last("cwnd")), "{}", last("cwnd"));
    assert!((1_451.5..1_452.5).contains(&last("mtu")), "{}", last("mtu"));
    let Column::U32(sizes) = column(&recording, "packets", "size_bytes") else { panic!("sizes are numbers") };
    assert_eq!(sizes.iter().max(), Some(&1_480), "an IPv4 and a UDP header more");
}

#[test]
fn stacks_and_our_own_share_a_path() {
    let mut mixed = scenario("quinn:cubic", 1, 20);
    let mut ours = mixed["flows"][0].clone();
    ours["scheme"] = json!("cubic");
    ours["direction"] = json!("reverse");
    let mut third = mixed["flows"][0].clone();
    third["extra_delay_ns"] = json!(5_000_000);
    mixed["reverse"][0]["link"] = json!({"kind": "constant", "rate_bps": 10_000_000});
    mixed["flows"].as_array_mut().expect("flows are a list").extend([ours, third]);
    // The recorder checks that every packet is accounted for.
    let recording = run(&mixed).expect("it runs");
    let Column::U64(received) = column(&recording, "flows", "received_bytes") else { panic!("bytes are counted") };
    assert!(received[1..].iter().all(|bytes| *bytes > 2_000_000), "{received:?}");
}

#[test]
fn a_stack_sends_on_the_reverse_path_too() {
    let mut reversed = scenario("quinn:cubic", 1, 10);
    reversed["flows"][0]["direction"] = json!("reverse");
    reversed["forward"][0]["link"]["rate_bps"] = json!(100_000_000);
    reversed["reverse"][0]["link"] = json!({"kind": "constant", "rate_bps": 5_000_000});
    reversed["reverse"][0]["queue"] = json!({"kind": "fifo", "limit_bytes": 25_000});
    let recording = run(&reversed).expect("it runs");
    let throughput = of_flow(&recording, "received_bytes") as f64 * 8.0 / 10.0;
    assert!((4.5e6..=5e6).contains(&throughput), "{throughput}");
}

#[test]
fn a_stacks_packets_have_the_dscp_of_their_flow() {
    let mut mixed = scenario("quinn:cubic", 1, 5);
    mixed["flows"][0]["ecn"] = json!("classic");
    let mut second = mixed["flows"][0].clone();
    second["dscp"] = json!(46);
    mixed["flows"].as_array_mut().expect("flows are a list").push(second);
    mixed["forward"][0]["mangle"] = json!([{"match": {"dscp": 46, "ecn": "ect0"}, "set": {"ecn": "ce"}}]);
    let marks = of_flows(&run(&mixed).expect("it runs"), "ce_marks");
    assert!(marks[1] == 0 && marks[2] > 50, "{marks:?}");
}
