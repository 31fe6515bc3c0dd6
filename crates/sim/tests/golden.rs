//! What every scheme does on a small dumbbell, as a table of whole numbers: a change of behaviour, meant or not, shows
//! as changed lines.
//!
//! `BAKEOFF_BLESS=1 cargo test -p bakeoff-sim --test golden` writes the table anew; look at the difference before
//! committing it.

mod common;

use std::fmt::Write as _;
use std::path::Path;

use bakeoff_core::scheme::SCHEMES;
use common::{Dumbbell, bulk};

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/dumbbell.txt");
const HEADER: &str = "\
# 10 Mbit/s, 40 ms of round trip, 30 s, seed 1. One flow, and three that start at 0, 5 and 10 s.
# buffer: BDP (33.3 packets). loss: percent. received: packets, flow by flow. queue_p95: microseconds, of all packets.
scheme           buffer loss flows           received dropped retransmits timeouts queue_p95
";

fn row(scheme: &str, buffer_bdp: f64, loss: f64, starts: &[f64]) -> String {
    let flows: Vec<_> = starts.iter().map(|start| bulk(scheme, *start)).collect();
    let dumbbell = Dumbbell { seconds: 30.0, loss, level: "summary", ..Dumbbell::new(&flows) };
    let queue_packets = (buffer_bdp * dumbbell.bdp_packets()).round() as u64;
    let run = Dumbbell { queue_packets, ..dumbbell }.run();
    let received: Vec<_> = (1..=starts.len()).map(|flow| run.flow(flow, "received_packets").to_string()).collect();
    let total = |column| run.flow(0, column);
    format!(
        "{scheme:16} {buffer_bdp:6} {:4} {:5} {:>18} {:7} {:11} {:8} {:9}",
        loss * 100.0,
        starts.len(),
        received.join("+"),
        total("dropped_packets"),
        total("retransmits"),
        total("timeouts"),
        (total("queue_p95_ns") / 1e3).round(),
    )
}

fn table() -> String {
    let mut table = HEADER.to_owned();
    for entry in SCHEMES {
        for loss in [0.0, 0.01] {
            for buffer_bdp in [0.3, 1.0, 4.0] {
                for starts in [&[0.0][..], &[0.0, 5.0, 10.0]] {
                    let _ = writeln!(table, "{}", row(entry.info.name, buffer_bdp, loss, starts));
                }
            }
        }
    }
    table
}

#[test]
fn every_scheme_does_what_the_table_says() {
    let table = table();
    if std::env::var_os("BAKEOFF_BLESS").is_some() {
        std::fs::create_dir_all(Path::new(TABLE).parent().expect("a folder")).expect("writable");
        std::fs::write(TABLE, table).expect("writable");
        return;
    }
    let golden = std::fs::read_to_string(TABLE).unwrap_or_default();
    let mut difference = String::new();
    for (before, now) in golden.lines().zip(table.lines()).filter(|(before, now)| before != now) {
        let _ = writeln!(difference, "- {before}\n+ {now}");
    }
    let counts = (golden.lines().count(), table.lines().count());
    assert!(golden == table, "{counts:?} lines before and now; if this is meant, BAKEOFF_BLESS=1:\n{difference}");
}
