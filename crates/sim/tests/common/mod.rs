//! A dumbbell for tests, and a way to read its recording.
#![allow(dead_code, reason = "each test file uses its own part")]
#![allow(clippy::expect_used, reason = "a broken test may panic")]
#![allow(clippy::float_cmp, reason = "whole numbers held as f64 are exact")]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use bakeoff_core::record::{Column, Table};
use bakeoff_sim::{Recording, Scenario};
use serde_json::{Value, json};

/// One bottleneck, symmetric propagation delay, some flows.
#[derive(Clone, Debug)]
pub struct Dumbbell {
    pub seed: u64,
    pub seconds: f64,
    pub rate_bps: u64,
    pub one_way_ms: f64,
    pub queue_packets: u64,
    pub loss: f64,
    pub level: &'static str,
    pub flows: Vec<Value>,
}

impl Dumbbell {
    /// 10 Mbit/s, 40 ms of round trip, one BDP of queue, one minute, level series.
    pub fn new(flows: &[Value]) -> Self {
        Self {
            seed: 1,
            seconds: 60.0,
            rate_bps: 10_000_000,
            one_way_ms: 20.0,
            queue_packets: 34,
            loss: 0.0,
            level: "series",
            flows: flows.to_vec(),
        }
    }

    /// Bandwidth-delay product in full packets.
    pub fn bdp_packets(&self) -> f64 {
        self.rate_bps as f64 * 2.0 * self.one_way_ms / 1e3 / 8.0 / 1_500.0
    }

    pub fn json(&self) -> Value {
        let duration_ns = (self.seconds * 1e9) as u64;
        let delay_ns = (self.one_way_ms * 1e6) as u64;
        let flows: Vec<_> = self.flows.iter().map(|flow| with_defaults(flow, duration_ns)).collect();
        json!({
            "seed": self.seed,
            "duration_ns": duration_ns,
            "record": {"level": self.level, "interval_ns": 10_000_000},
            "start_jitter_ns": 100_000_000,
            "forward": [{
                "link": {"kind": "constant", "rate_bps": self.rate_bps},
                "queue": {"kind": "fifo", "limit_packets": self.queue_packets},
                "delay_ns": delay_ns, "loss": self.loss,
            }],
            "reverse": [{"link": {"kind": "unlimited"}, "queue": {"kind": "fifo"}, "delay_ns": delay_ns}],
            "flows": flows,
        })
    }

    pub fn run(&self) -> Run {
        run(&self.json())
    }
}

/// A bulk flow of `scheme` that starts at `start_s`.
pub fn bulk(scheme: &str, start_s: f64) -> Value {
    json!({"scheme": scheme, "parameters": files(scheme), "start_ns": (start_s * 1e9) as u64})
}

/// The parameters without which `scheme` is refused: small files that any test may use.
pub fn files(scheme: &str) -> Value {
    match scheme {
        "taova" => json!({"tree": concat!(env!("CARGO_MANIFEST_DIR"), "/../core/tests/files/one-rule.json")}),
        "indigo" => json!({"weights": weights_that_keep_the_window()}),
        _ => json!({}),
    }
}

/// Weights of Indigo's smallest network that are all zero but for the bias of its action 2.
fn weights_that_keep_the_window() -> PathBuf {
    static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
        let mut floats = vec![0_f32; 5_542];
        floats[1 + 2] = 1.0;
        let bytes: Vec<u8> = floats.into_iter().flat_map(f32::to_le_bytes).collect();
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let (file, own) = (folder.join("indigo-keep.bin"), folder.join(format!("indigo-{}", std::process::id())));
        // Other test programs write the same file.
        fs::write(&own, bytes).and_then(|()| fs::rename(&own, &file)).expect("a folder for tests is writable");
        file
    });
    FILE.clone()
}

/// A hop with other elements.
pub fn with(hop: &Value, elements: &Value) -> Value {
    let mut hop = hop.clone();
    hop.as_object_mut().expect("a hop").extend(elements.as_object().expect("elements").clone());
    hop
}

fn with_defaults(flow: &Value, duration_ns: u64) -> Value {
    let mut full = json!({"traffic": {"kind": "bulk"}, "start_ns": 0, "stop_ns": duration_ns});
    let fields = full.as_object_mut().expect("an object");
    fields.extend(flow.as_object().expect("a flow is an object").clone());
    full
}

/// Runs a scenario.
pub fn run(scenario: &Value) -> Run {
    let scenario = Scenario::from_json(&scenario.to_string()).expect("a valid scenario");
    Run { recording: bakeoff_sim::run(&scenario).expect("packets add up") }
}

/// A finished run.
pub struct Run {
    pub recording: Recording,
}

impl Run {
    pub fn table(&self, name: &str) -> &Table {
        self.recording.tables.iter().find(|table| table.name == name).expect("a table of that name")
    }

    /// A column as numbers.
    pub fn column(&self, table: &str, column: &str) -> Vec<f64> {
        let (_, column) =
            self.table(table).columns.iter().find(|(name, _)| *name == column).expect("a column of that name");
        match column {
            Column::U32(values) => values.iter().map(|value| f64::from(*value)).collect(),
            Column::U64(values) => values.iter().map(|value| *value as f64).collect(),
            Column::I64(values) => values.iter().map(|value| *value as f64).collect(),
            Column::F64(values) => values.clone(),
            Column::Bool(values) => values.iter().map(|value| f64::from(u8::from(*value))).collect(),
            Column::Text(_) | Column::Category { .. } | Column::Names(_) => panic!("{column:?} holds words"),
        }
    }

    /// A value of the flow table; flow 0 is all flows.
    pub fn flow(&self, flow: usize, column: &str) -> f64 {
        self.column("flows", column)[flow]
    }

    /// A value of the bottleneck.
    pub fn bottleneck(&self, column: &str) -> f64 {
        self.column("hops", column)[0]
    }

    /// IP bytes that a flow received from one time up to another, in seconds.
    pub fn received(&self, flow: u32, from_s: f64, to_s: f64) -> f64 {
        let (times, flows) = (self.column("series", "t_ns"), self.column("series", "flow"));
        let bytes = self.column("series", "received_bytes");
        let is_inside =
            |row: &usize| flows[*row] == f64::from(flow) && (from_s * 1e9..to_s * 1e9).contains(&times[*row]);
        (0..times.len()).filter(is_inside).map(|row| bytes[row]).sum()
    }

    /// Received bytes as a share of what the bottleneck could carry.
    pub fn utilisation(&self) -> f64 {
        self.flow(0, "received_bytes") / self.bottleneck("capacity_bytes")
    }

    /// (time in seconds, value) of a quantity of a flow's sender.
    pub fn telemetry(&self, flow: u32, quantity: &str) -> Vec<(f64, f64)> {
        let (times, flows, values) =
            (self.column("telemetry", "t_ns"), self.column("telemetry", "flow"), self.column("telemetry", "value"));
        let (_, names) = &self.table("telemetry").columns[2];
        let Column::Category { codes, names } = names else { panic!("names are words") };
        let rows = (0..times.len())
            .filter(|row| flows[*row] == f64::from(flow) && names[usize::from(codes[*row])] == quantity);
        rows.map(|row| (times[row] / 1e9, values[row])).collect()
    }

    /// (time in seconds, packets waiting) at the bottleneck.
    pub fn queue(&self) -> Vec<(f64, f64)> {
        let (_, hops) = &self.table("hop_series").columns[1];
        let Column::Text(hops) = hops else { panic!("hops have names") };
        let (times, packets) = (self.column("hop_series", "t_ns"), self.column("hop_series", "queue_packets"));
        let rows = (0..times.len()).filter(|row| hops[*row] == "forward.0");
        rows.map(|row| (times[row] / 1e9, packets[row])).collect()
    }
}

/// The mean of the values from a time on.
pub fn mean_after(from_s: f64, values: &[(f64, f64)]) -> f64 {
    let late: Vec<_> = values.iter().filter(|(time, _)| *time >= from_s).map(|(_, value)| *value).collect();
    late.iter().sum::<f64>() / late.len() as f64
}
