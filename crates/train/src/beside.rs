//! Any scheme of bakeoff on a network of the training, in bakeoff's own simulator.

use bakeoff_core::record::{Column, Table};
use bakeoff_sim::{Scenario, ScenarioError};
use serde_json::{Value, json};

use crate::network::Network;
use crate::utility::Tally;

/// IP packets of 1250 bytes: 10 Mbit/s are one in a millisecond.
const PACKET_BYTES: u64 = 1_250;
const HEADER_BYTES: u64 = 52;

/// Why there is nothing to compare.
#[derive(Debug, thiserror::Error)]
pub enum BesideError {
    /// The scheme or its parameters.
    #[error("{0}")]
    Scenario(#[from] ScenarioError),
    /// The run.
    #[error("{0}")]
    Run(#[from] bakeoff_sim::Error),
    /// Its recording.
    #[error("the recording lacks {0}")]
    Missing(&'static str),
}

/// What each sender achieves with a scheme, when the same senders are on at the same times as in `Network::run`. Every
/// on period is a connection of its own, opened a round trip earlier, so that its first packet leaves when the period
/// begins.
pub fn run(
    network: &Network,
    scheme: &str,
    parameters: &Value,
    seed: u64,
    duration_ms: f64,
) -> Result<Vec<Tally>, BesideError> {
    let periods: Vec<Vec<(f64, f64)>> =
        (0..network.senders).map(|sender| network.periods(seed, sender, duration_ms)).collect();
    let mut tallies = on_times(&periods);
    let owners: Vec<usize> = periods.iter().enumerate().flat_map(|(sender, own)| vec![sender; own.len()]).collect();
    let nanos = |ms: f64| (ms.max(0.0) * 1e6) as u64;
    let flow = |&(from_ms, to_ms): &(f64, f64)| {
        json!({
            "scheme": scheme, "parameters": parameters, "traffic": {"kind": "bulk"},
            "start_ns": nanos(from_ms - network.rtt_ms), "stop_ns": nanos(to_ms),
            "mss_bytes": PACKET_BYTES - HEADER_BYTES, "header_bytes": HEADER_BYTES,
        })
    };
    let delay_ns = nanos(network.rtt_ms / 2.0);
    let rate_bps = (network.rate * 8e3 * PACKET_BYTES as f64) as u64;
    let scenario = json!({
        "seed": seed,
        "duration_ns": nanos(duration_ms),
        "record": {"level": "series", "interval_ns": 1_000_000_000},
        "forward": [{
            "link": {"kind": "constant", "rate_bps": rate_bps},
            "queue": {"kind": "fifo", "limit_packets": 10_000_000},
            "delay_ns": delay_ns,
        }],
        "reverse": [{"link": {"kind": "unlimited"}, "queue": {"kind": "fifo"}, "delay_ns": delay_ns}],
        "flows": periods.iter().flatten().map(flow).collect::<Vec<_>>(),
    });
    let recording = bakeoff_sim::run(&Scenario::from_json(&scenario.to_string())?)?;
    let series = recording.tables.iter().find(|table| table.name == "series");
    let series = series.ok_or(BesideError::Missing("its series"))?;
    let (flows, packets) = (column(series, "flow")?, column(series, "received_packets")?);
    for ((flow, packets), owd_ns) in flows.iter().zip(packets).zip(column(series, "owd_mean_ns")?) {
        if packets > 0.0 {
            let tally = &mut tallies[owners[*flow as usize - 1]];
            tally.packets += packets;
            tally.delay_ms += packets * (owd_ns / 1e6 + network.rtt_ms / 2.0);
        }
    }
    Ok(tallies)
}

/// How long each sender is on, and how much of that is its share.
fn on_times(periods: &[Vec<(f64, f64)>]) -> Vec<Tally> {
    let mut edges: Vec<f64> = periods.iter().flatten().flat_map(|(from_ms, to_ms)| [*from_ms, *to_ms]).collect();
    edges.sort_by(f64::total_cmp);
    let mut tallies = vec![Tally::default(); periods.len()];
    for edge in edges.windows(2) {
        let (middle_ms, passed_ms) = (f64::midpoint(edge[0], edge[1]), edge[1] - edge[0]);
        let is_on = |own: &Vec<(f64, f64)>| own.iter().any(|(from_ms, to_ms)| (*from_ms..*to_ms).contains(&middle_ms));
        let on: Vec<bool> = periods.iter().map(is_on).collect();
        let count = on.iter().filter(|is_on| **is_on).count() as f64;
        let those_on = tallies.iter_mut().zip(on).filter(|(_, is_on)| *is_on);
        those_on.for_each(|(tally, _)| tally.be_on(passed_ms, passed_ms / count));
    }
    tallies
}

fn column(table: &Table, name: &'static str) -> Result<Vec<f64>, BesideError> {
    let found = table.columns.iter().find(|(known, _)| *known == name).map(|(_, column)| column);
    match found {
        Some(Column::U32(values)) => Ok(values.iter().map(|value| f64::from(*value)).collect()),
        Some(Column::U64(values)) => Ok(values.iter().map(|value| *value as f64).collect()),
        Some(Column::I64(values)) => Ok(values.iter().map(|value| *value as f64).collect()),
        _ => Err(BesideError::Missing(name)),
    }
}
