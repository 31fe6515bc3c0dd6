//! What every scheme does on a small dumbbell, as tables of whole numbers: a change of behaviour, meant or not, shows
//! as changed lines.
//!
//! `BAKEOFF_BLESS=1 cargo test -p bakeoff-sim --test golden` writes the tables anew; look at the difference before
//! committing it.

mod common;

use std::fmt::Write as _;
use std::path::Path;

use bakeoff_core::scheme::{SCHEMES, needed_ecn};
use bakeoff_core::transport::stream::EcnMode;
use common::{Dumbbell, Run, bulk, run, with};
use serde_json::{Value, json};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden");
const DUMBBELL: &str = "\
# 10 Mbit/s, 40 ms of round trip, one BDP of buffer (33.3 packets), 30 s, seed 1, but for what the situation says:
# alone and three: one flow, or three that start at 0, 5 and 10 s; buffer in BDP, and 1 % of random loss where it says so.
# case-a: three flows on 2 Mbit/s, 60 ms, 10 packets. case-b: three on 50 Mbit/s, 80 ms, 333 packets, 10 s.
# step-up, step-down: from 2 to 10 Mbit/s at 10 s, and from 10 to 2. cubic: a flow of the scheme, and of cubic at 5 s.
# received: packets, flow by flow. queue_p95: microseconds, of all packets. After the last start or step, jain: Jain's
# index in thousandths, and settled: milliseconds to the first two seconds in which 80 % of the link is used, and shared at
# an index of 900 or more.
scheme           situation       received dropped retransmits timeouts queue_p95 jain settled
";
const SUITES: &str = "\
# As in dumbbell.txt: schemes with the parameters of the shipped suites that are not the defaults, but for those that need
# files which are not in this repository (taova, indigo).
scheme           parameters       situation       received dropped retransmits timeouts queue_p95 jain settled
";
const MARKS: &str = "\
# As in dumbbell.txt, but for 50 Mbit/s, 20 ms and 20 s, three flows at 0, 5 and 10 s, and ECN, the classic one where a scheme needs
# none: the schemes that answer to marks on CoDel, on DualPI2, and those that answer to SCE on CAKE with one queue and its ramp.
# marks: packets that arrived with CE.
scheme           parameters       situation       received dropped retransmits timeouts queue_p95 jain settled marks
";
/// The schemes that answer to marks.
const ANSWERING: &[&str] = &[
    "cubic",
    "cubic_sce",
    "dctcp",
    "dctcp_sce",
    "illinois",
    "ledbat_plus_plus",
    "prague",
    "reno",
    "reno_sce",
    "vegas",
    "westwood",
];
const BINS_PER_SECOND: usize = 10;

/// Parameters with which the shipped suites run a scheme: what they are called here, and their values.
fn of_suites() -> Vec<(&'static str, &'static str, Value)> {
    let published = json!({"initial_window": 10, "pacing_margin": 1, "first_rtt": 100, "clock_resolution": 1});
    let fast_start = json!({"startup_gain": 2.0, "startup_growth": 1.5});
    let to_target = json!({"drain_to_target": true});
    vec![
        ("bbr", "2018", json!({"generation": "2018"})),
        ("copa", "pantheon-2017-08", json!({"profile": "pantheon-2017-08"})),
        ("copa", "pantheon-2018-01", json!({"profile": "pantheon-2018-01"})),
        ("dctcp", "l4s", json!({"law": "l4s"})),
        ("dctcp_sce", "unpaced", json!({"pacing": false})),
        ("prague", "2019b", json!({"profile": "2019b"})),
        ("prague", "2020", json!({"profile": "2020"})),
        ("quic_bbr", "published", published.clone()),
        ("quic_bbr", "published-target", with(&published, &to_target)),
        ("quic_bbr", "published-start", with(&published, &fast_start)),
        ("quic_bbr", "published-both", with(&with(&published, &fast_start), &to_target)),
        ("quic_cubic", "2017", json!({"generation": "2017"})),
        ("quic_cubic", "published", json!({"initial_window": 10, "first_rtt": 100, "clock_resolution": 1})),
        ("reno_sce", "unpaced", json!({"pacing": false})),
    ]
}

/// A path with flows, and what happens on it.
struct Situation {
    name: String,
    path: Dumbbell,
    /// The rates before and after ten seconds, where they differ.
    step_bps: Option<[u64; 2]>,
    /// Another queue than that of packets.
    queue: Option<Value>,
    /// Of the last start or step, s.
    last_change_s: f64,
}

impl Situation {
    fn new(name: impl Into<String>, path: Dumbbell, last_change_s: f64) -> Self {
        Self {
            name: name.into(),
            path: Dumbbell { level: "series", ..path },
            step_bps: None,
            queue: None,
            last_change_s,
        }
    }

    fn run(&self) -> Run {
        let mut scenario = self.path.json();
        scenario["record"]["interval_ns"] = json!(1_000_000_000 / BINS_PER_SECOND);
        if let Some([before, after]) = self.step_bps {
            let steps = json!([{"at_ns": 0, "rate_bps": before}, {"at_ns": 10_000_000_000_u64, "rate_bps": after}]);
            scenario["forward"][0]["link"] = json!({"kind": "schedule", "steps": steps, "period_ns": null});
        }
        if let Some(queue) = &self.queue {
            scenario["forward"][0]["queue"] = queue.clone();
        }
        run(&scenario)
    }

    /// What a run comes to, and how many packets arrived marked.
    fn row(&self) -> (String, f64) {
        let run = self.run();
        let received: Vec<_> =
            (1..=self.path.flows.len()).map(|flow| run.flow(flow, "received_packets").to_string()).collect();
        let total = |column| run.flow(0, column);
        let shares = Shares::after(self, &run);
        let row = format!(
            "{:15} {:>18} {:7} {:11} {:8} {:9} {:4} {:>7}",
            self.name,
            received.join("+"),
            total("dropped_packets"),
            total("retransmits"),
            total("timeouts"),
            (total("queue_p95_ns") / 1e3).round(),
            (1e3 * shares.jain(0, usize::MAX)).round(),
            shares.settled_ms().map_or_else(|| "-".to_owned(), |millis| millis.to_string()),
        );
        (row, total("ce_marks"))
    }
}

/// What each flow received in each bin after the last change, bytes.
struct Shares {
    flows: Vec<Vec<f64>>,
    /// What the link carries in a bin, less its random loss.
    capacity: f64,
}

impl Shares {
    fn after(situation: &Situation, run: &Run) -> Self {
        let path = &situation.path;
        let from = (situation.last_change_s * BINS_PER_SECOND as f64) as usize;
        let length = (path.seconds * BINS_PER_SECOND as f64) as usize - from;
        let mut flows = vec![vec![0.0; length]; path.flows.len()];
        let (times, numbers) = (run.column("series", "t_ns"), run.column("series", "flow"));
        let bytes = run.column("series", "received_bytes");
        for ((time, number), bytes) in times.iter().zip(numbers).zip(bytes) {
            let bin = (time / 1e9 * BINS_PER_SECOND as f64).round() as usize;
            let flow = flows.get_mut((number as usize).wrapping_sub(1));
            if let Some(received) = flow.and_then(|flow| flow.get_mut(bin.wrapping_sub(from))) {
                *received += bytes;
            }
        }
        let rate_bps = situation.step_bps.map_or(path.rate_bps, |[_, after]| after);
        Self { flows, capacity: rate_bps as f64 * (1.0 - path.loss) / 8.0 / BINS_PER_SECOND as f64 }
    }

    fn received(&self, from: usize, to: usize) -> impl Iterator<Item = f64> + '_ {
        self.flows.iter().map(move |flow| flow[from..to.min(flow.len())].iter().sum())
    }

    fn jain(&self, from: usize, to: usize) -> f64 {
        let (sum, squares) =
            self.received(from, to).fold((0.0, 0.0), |(sum, squares), x: f64| (sum + x, squares + x * x));
        if squares == 0.0 { 0.0 } else { sum * sum / squares / self.flows.len() as f64 }
    }

    fn settled_ms(&self) -> Option<usize> {
        let span = 2 * BINS_PER_SECOND;
        let is_settled = |from: &usize| {
            let sum: f64 = self.received(*from, from + span).sum();
            sum >= 0.8 * self.capacity * span as f64 && self.jain(*from, from + span) >= 0.9
        };
        (0..=self.flows[0].len().checked_sub(span)?).find(is_settled).map(|bin| bin * 1_000 / BINS_PER_SECOND)
    }
}

/// A flow as in the tables, with these parameters beside the files that its scheme needs.
fn flow(scheme: &str, parameters: &Value, start_s: f64) -> Value {
    let mut flow = bulk(scheme, start_s);
    flow["parameters"] = with(&flow["parameters"], parameters);
    flow
}

fn dumbbell(flows: &[Value]) -> Dumbbell {
    Dumbbell { seconds: 30.0, ..Dumbbell::new(flows) }
}

fn situations(scheme: &str, parameters: &Value) -> Vec<Situation> {
    let flow = |start_s| flow(scheme, parameters, start_s);
    let flows = |starts: &[f64]| -> Vec<Value> { starts.iter().map(|start| flow(*start)).collect() };
    let mut all = Vec::new();
    for (loss, suffix) in [(0.0, ""), (0.01, "/1%")] {
        for buffer_bdp in [0.3, 1.0, 4.0] {
            for (name, starts) in [("alone", &[0.0][..]), ("three", &[0.0, 5.0, 10.0])] {
                let path = dumbbell(&flows(starts));
                let queue_packets = (buffer_bdp * path.bdp_packets()).round() as u64;
                let name = format!("{name}/{buffer_bdp}{suffix}");
                let last_start_s = starts[starts.len() - 1];
                all.push(Situation::new(name, Dumbbell { queue_packets, loss, ..path }, last_start_s));
            }
        }
    }
    let three = dumbbell(&flows(&[0.0; 3]));
    let slow = Dumbbell { rate_bps: 2_000_000, one_way_ms: 30.0, queue_packets: 10, ..three.clone() };
    all.push(Situation::new("case-a", slow, 0.0));
    let fast = Dumbbell { rate_bps: 50_000_000, one_way_ms: 40.0, queue_packets: 333, seconds: 10.0, ..three };
    all.push(Situation::new("case-b", fast, 0.0));
    for (name, rates) in [("step-up", [2_000_000, 10_000_000]), ("step-down", [10_000_000, 2_000_000])] {
        let still = Situation::new(name, dumbbell(&flows(&[0.0])), 10.0);
        all.push(Situation { step_bps: Some(rates), ..still });
    }
    all.push(Situation::new("cubic", dumbbell(&[flow(0.0), bulk("cubic", 5.0)]), 5.0));
    all
}

/// Three flows at a queue that marks, if the scheme answers to its marks.
fn marking_situations(scheme: &str, parameters: &Value) -> Vec<Situation> {
    let needed = needed_ecn(scheme).map(|need| need.mode);
    let sce = json!({
        "kind": "cake", "flow_mode": "flowblind", "diffserv": "besteffort", "own_shaper": true, "sce": "ramp",
    });
    let queues =
        [("codel", json!({"kind": "codel", "ecn": true})), ("dualpi2", json!({"kind": "dualpi2"})), ("sce", sce)];
    let flows: Vec<_> = [0.0, 5.0, 10.0]
        .map(|start_s| {
            let mut flow = flow(scheme, parameters, start_s);
            if needed.is_none() {
                flow["ecn"] = json!("classic");
            }
            flow
        })
        .into();
    let is_heard = |name: &str| name != "sce" || needed == Some(EcnMode::Sce);
    let path = Dumbbell { rate_bps: 50_000_000, one_way_ms: 10.0, seconds: 20.0, ..dumbbell(&flows) };
    let of_queue = |(name, queue)| Situation { queue: Some(queue), ..Situation::new(name, path.clone(), 10.0) };
    queues.into_iter().filter(|(name, _)| is_heard(name)).map(of_queue).collect()
}

/// Compares a table with the one of a file, or writes the file.
#[allow(clippy::expect_used, reason = "a broken test may panic")]
fn hold(file: &str, table: &str) {
    let file = Path::new(FOLDER).join(file);
    if std::env::var_os("BAKEOFF_BLESS").is_some() {
        std::fs::create_dir_all(FOLDER).expect("writable");
        std::fs::write(file, table).expect("writable");
        return;
    }
    let golden = std::fs::read_to_string(file).unwrap_or_default();
    let mut difference = String::new();
    for (before, now) in golden.lines().zip(table.lines()).filter(|(before, now)| before != now) {
        let _ = writeln!(difference, "- {before}\n+ {now}");
    }
    let counts = (golden.lines().count(), table.lines().count());
    assert!(golden == table, "{counts:?} lines before and now; if this is meant, BAKEOFF_BLESS=1:\n{difference}");
}

#[test]
fn every_scheme_does_what_the_table_says() {
    let mut table = DUMBBELL.to_owned();
    for entry in SCHEMES {
        let scheme = entry.info.name;
        for situation in situations(scheme, &json!({})) {
            let _ = writeln!(table, "{scheme:16} {}", situation.row().0);
        }
    }
    hold("dumbbell.txt", &table);
}

#[test]
fn the_parameters_of_the_suites_do_what_the_table_says() {
    let mut table = SUITES.to_owned();
    for (scheme, name, parameters) in of_suites() {
        for situation in situations(scheme, &parameters) {
            let _ = writeln!(table, "{scheme:16} {name:16} {}", situation.row().0);
        }
    }
    hold("suites.txt", &table);
}

#[test]
fn answers_to_marks_are_those_of_the_table() {
    let mut table = MARKS.to_owned();
    let defaults = ANSWERING.iter().map(|scheme| (*scheme, "", json!({})));
    let of_suites = of_suites().into_iter().filter(|(scheme, ..)| ANSWERING.contains(scheme));
    for (scheme, name, parameters) in defaults.chain(of_suites) {
        for situation in marking_situations(scheme, &parameters) {
            let (row, marks) = situation.row();
            let _ = writeln!(table, "{scheme:16} {name:16} {row} {marks:5}");
        }
    }
    hold("marks.txt", &table);
}
