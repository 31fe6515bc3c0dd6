//! What a run records. Each table is declared once, here: the declaration makes the columns, their Parquet types and
//! their documentation.

mod flow_record;
mod header;
mod histogram;
mod imbalance;
mod passage;
mod passage_table;
mod passages;
mod probe_record;
mod recorder;

use serde::Serialize;

pub use header::Header;
pub use histogram::Histogram;
pub use imbalance::Imbalance;
pub use recorder::{FlowAccount, HopAccount, HopSample, Recorder};

use crate::info::Quantity;

/// A column of values.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Whole numbers that are never negative and small.
    U32(Vec<u32>),
    /// Whole numbers that are never negative.
    U64(Vec<u64>),
    /// Whole numbers; -1 stands for "does not exist".
    I64(Vec<i64>),
    /// Fractions.
    F64(Vec<f64>),
    /// Yes or no.
    Bool(Vec<bool>),
    /// Words.
    Text(Vec<String>),
    /// Words from a short list: an index into `names` per row.
    Category {
        /// The index of each row.
        codes: Vec<u8>,
        /// The words.
        names: Vec<&'static str>,
    },
    /// Names of things of the run: an index into `names` per row.
    Names(Names),
}

/// Words from a short list, stored as one byte per row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Category {
    codes: Vec<u8>,
    names: Vec<&'static str>,
}

impl Category {
    /// Adds a row.
    pub fn push(&mut self, name: &'static str) {
        self.extend([name]);
    }

    /// Adds rows.
    fn extend(&mut self, names: impl IntoIterator<Item = &'static str>) {
        let mut last = None;
        for name in names {
            // Most rows are like the one before.
            let code = match last {
                Some((known, code)) if std::ptr::eq::<str>(known, name) => code,
                _ => self.code(name),
            };
            last = Some((name, code));
            self.codes.push(code);
        }
    }

    fn code(&mut self, name: &'static str) -> u8 {
        let known = self.names.iter().position(|known| std::ptr::eq(*known, name) || *known == name);
        known.unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        }) as u8
    }
}

/// Names of things of the run, stored as their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// The index of each row.
    pub codes: Vec<u32>,
    /// The names.
    pub names: Vec<String>,
}

impl Names {
    /// A column without rows over these names.
    pub fn of(names: Vec<String>) -> Self {
        Self { codes: Vec::new(), names }
    }

    /// Adds a row that has the name with this index.
    pub fn push(&mut self, index: usize) {
        self.codes.push(index as u32);
    }
}

impl From<Names> for Column {
    fn from(names: Names) -> Self {
        Self::Names(names)
    }
}

impl ColumnType for Names {
    const NAME: &'static str = "text";
}

impl From<Category> for Column {
    fn from(category: Category) -> Self {
        Self::Category { codes: category.codes, names: category.names }
    }
}

macro_rules! column_type {
    ($type:ty, $variant:ident, $name:literal) => {
        impl From<Vec<$type>> for Column {
            fn from(values: Vec<$type>) -> Self {
                Self::$variant(values)
            }
        }

        impl ColumnType for Vec<$type> {
            const NAME: &'static str = $name;
        }
    };
}

/// The name of a column's type in the documentation.
trait ColumnType {
    const NAME: &'static str;
}

column_type!(u32, U32, "u32");
column_type!(u64, U64, "u64");
column_type!(i64, I64, "i64");
column_type!(f64, F64, "f64");
column_type!(bool, Bool, "bool");
column_type!(String, Text, "text");

impl ColumnType for Category {
    const NAME: &'static str = "text";
}

/// A table, for documentation.
#[derive(Clone, Debug, Serialize)]
pub struct TableInfo {
    /// Name of the table and of its file.
    pub name: &'static str,
    /// One row is ...
    pub doc: String,
    /// Its columns.
    pub columns: Vec<ColumnInfo>,
}

/// A column, for documentation. The unit is the suffix of the name.
#[derive(Clone, Debug, Serialize)]
pub struct ColumnInfo {
    /// Name, with the unit as suffix.
    pub name: &'static str,
    /// Type here; files have signed numbers only, and null for -1.
    pub kind: &'static str,
    /// What it means.
    pub doc: String,
}

/// A recorded table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Name of the table.
    pub name: &'static str,
    /// Its columns, all of one length.
    pub columns: Vec<(&'static str, Column)>,
}

fn join_doc(lines: &[&str]) -> String {
    lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
}

macro_rules! tables {
    ($($(#[doc = $table_doc:literal])* $name:literal $table:ident { $($(#[doc = $doc:literal])* $column:ident: $type:ty,)* })*) => {
        $(
            $(#[doc = $table_doc])*
            #[derive(Clone, Debug, Default)]
            #[allow(missing_docs, reason = "every field is documented by the declaration")]
            pub struct $table {
                $($(#[doc = $doc])* pub $column: $type,)*
            }

            impl From<$table> for Table {
                fn from(table: $table) -> Self {
                    Self { name: $name, columns: vec![$((stringify!($column), table.$column.into()),)*] }
                }
            }
        )*

        /// Every table there is, for documentation.
        pub fn tables() -> Vec<TableInfo> {
            vec![$(TableInfo {
                name: $name,
                doc: join_doc(&[$($table_doc),*]),
                columns: vec![$(ColumnInfo {
                    name: stringify!($column),
                    kind: <$type as ColumnType>::NAME,
                    doc: join_doc(&[$($doc),*]),
                },)*],
            },)*]
        }
    };
}

tables! {
    /// One row per flow, and row 0 for all flows together. Packets are those of the data direction, handshake and
    /// retransmissions included.
    "flows" Flows {
        /// Number of the flow from 1; 0 for all flows.
        flow: Vec<u32>,
        /// When it began.
        start_ns: Vec<u64>,
        /// When it was to end.
        stop_ns: Vec<u64>,
        /// Packets sent.
        sent_packets: Vec<u64>,
        /// IP bytes sent.
        sent_bytes: Vec<u64>,
        /// Packets received.
        received_packets: Vec<u64>,
        /// IP bytes received.
        received_bytes: Vec<u64>,
        /// Payload handed to the application, in order and without repetition.
        goodput_bytes: Vec<u64>,
        /// Packets that repeated data sent before.
        retransmits: Vec<u64>,
        /// Retransmission timeouts, those of requests to connect included; null where the transport does not tell.
        timeouts: Vec<i64>,
        /// Packets that a queue or a wire dropped.
        dropped_packets: Vec<u64>,
        /// Second copies that wires made of packets.
        duplicated_packets: Vec<u64>,
        /// IP bytes of those copies.
        duplicated_bytes: Vec<u64>,
        /// Packets still on the path at the end of the run.
        inside_packets: Vec<u64>,
        /// IP bytes still on the path at the end of the run.
        inside_bytes: Vec<u64>,
        /// Packets that arrived with a CE mark.
        ce_marks: Vec<u64>,
        /// When the first packet was sent.
        first_sent_ns: Vec<i64>,
        /// When the first packet arrived.
        first_received_ns: Vec<i64>,
        /// When the last packet arrived.
        last_received_ns: Vec<i64>,
        /// Median one-way delay; from a histogram with a relative error of at most 0.1 %, like all percentiles here.
        owd_p50_ns: Vec<i64>,
        /// 95th percentile of the one-way delay.
        owd_p95_ns: Vec<i64>,
        /// 99th percentile of the one-way delay.
        owd_p99_ns: Vec<i64>,
        /// Median time spent in queues.
        queue_p50_ns: Vec<i64>,
        /// 95th percentile of the time spent in queues.
        queue_p95_ns: Vec<i64>,
        /// When the last byte of a finite transfer was acknowledged.
        completed_ns: Vec<i64>,
    }

    /// One row per hop. Always: in + duplicated = out + dropped + inside.
    "hops" Hops {
        /// Name of the hop: its direction and place on the path, or the flow whose extra delay it is.
        hop: Vec<String>,
        /// Packets that came in, of all flows and both directions.
        in_packets: Vec<u64>,
        /// IP bytes that came in.
        in_bytes: Vec<u64>,
        /// Packets that came out.
        out_packets: Vec<u64>,
        /// IP bytes that came out.
        out_bytes: Vec<u64>,
        /// Packets dropped.
        dropped_packets: Vec<u64>,
        /// Packets marked, and changed by a rule.
        marked_packets: Vec<u64>,
        /// Second copies that the wire made of packets.
        duplicated_packets: Vec<u64>,
        /// Packets inside at the end of the run.
        inside_packets: Vec<u64>,
        /// IP bytes inside at the end of the run.
        inside_bytes: Vec<u64>,
        /// Of these, the bytes that had left the queue: being sent, or on the wire.
        on_wire_bytes: Vec<u64>,
        /// Median time in the queue.
        queue_p50_ns: Vec<i64>,
        /// 95th percentile of the time in the queue.
        queue_p95_ns: Vec<i64>,
        /// What the link could have carried during the run; null if unlimited.
        capacity_bytes: Vec<i64>,
    }

    /// One row per hop, verdict and reason.
    "verdicts" Verdicts {
        /// Name of the hop.
        hop: Vec<String>,
        /// Drop, mark or duplicate.
        verdict: Category,
        /// Why.
        reason: Category,
        /// Number of packets.
        packets: Vec<u64>,
        /// Their IP bytes.
        bytes: Vec<u64>,
    }

    /// One row per flow and interval.
    "series" Series {
        /// Number of the flow from 1.
        flow: Vec<u32>,
        /// Start of the interval.
        t_ns: Vec<u64>,
        /// IP bytes sent.
        sent_bytes: Vec<u64>,
        /// IP bytes received.
        received_bytes: Vec<u64>,
        /// Payload handed to the application, in order and without repetition: what is at the very end of the
        /// interval counts in it, while packets received then count in the next.
        goodput_bytes: Vec<u64>,
        /// Packets received.
        received_packets: Vec<u64>,
        /// Mean one-way delay of the packets received.
        owd_mean_ns: Vec<i64>,
        /// Largest one-way delay of the packets received.
        owd_max_ns: Vec<i64>,
    }

    /// One row per flow, sampling time and quantity of the sender's inner state.
    "telemetry" Telemetry {
        /// When it was sampled.
        t_ns: Vec<u64>,
        /// Number of the flow from 1.
        flow: Vec<u32>,
        /// Name of the quantity.
        name: Category,
        /// Its value, in the unit that the quantity declares.
        value: Vec<f64>,
    }

    /// One row per hop and interval.
    "hop_series" HopSeries {
        /// End of the interval, when the queue was looked at.
        t_ns: Vec<u64>,
        /// Name of the hop.
        hop: Vec<String>,
        /// Packets in the queue.
        queue_packets: Vec<u64>,
        /// IP bytes in the queue.
        queue_bytes: Vec<u64>,
        /// What the link could carry during the interval; null if unlimited.
        capacity_bytes: Vec<i64>,
    }

    /// One row per packet of the data direction, handshake and retransmissions included.
    "packets" Packets {
        /// Number of the flow from 1.
        flow: Vec<u32>,
        /// Number of the packet within its flow from 0.
        number: Vec<u64>,
        /// IP size.
        size_bytes: Vec<u32>,
        /// When it was sent.
        sent_ns: Vec<u64>,
        /// When it was received.
        received_ns: Vec<i64>,
        /// Time it spent in the queues that it has left; in `linux` without one that dropped it.
        queue_ns: Vec<u64>,
        /// Received, dropped, or inside the path at the end of the run.
        fate: Category,
        /// Why it was dropped; empty otherwise.
        reason: Category,
        /// It repeats data sent before.
        retransmit: Vec<bool>,
        /// It arrived with a CE mark.
        ce: Vec<bool>,
    }

    /// One row per packet and hop that it came to, of all flows and probes and both directions, by hop and in order of
    /// time. With it stands what its transport's header says, in the terms of TCP; positions are bytes from the start
    /// of the stream.
    "passages" PassageTable {
        /// Name of the hop.
        hop: Names,
        /// When it arrived at the queue.
        in_ns: Vec<u64>,
        /// When it came out at the far end.
        out_ns: Vec<i64>,
        /// Time it spent in the queue; of a packet that was dropped there, until then (0 in `linux`, where that is not
        /// known); 0 if it is still there.
        queue_ns: Vec<u64>,
        /// Passed, dropped, or inside the hop at the end of the run.
        fate: Category,
        /// Why it was dropped; empty otherwise.
        reason: Category,
        /// Why the queue marked it; empty if it did not.
        mark: Category,
        /// ECN codepoint with which it arrived, as the two bits of the IP header.
        ecn_in: Vec<u32>,
        /// ECN codepoint with which it came out, or had when it was last seen.
        ecn_out: Vec<u32>,
        /// Number of the flow from 1; probes are numbered behind the flows.
        flow: Vec<u32>,
        /// Data, and requests of probes; or acks, and answers.
        direction: Category,
        /// Number of the packet within its flow and direction from 0; of an answer, that of its request.
        number: Vec<u64>,
        /// When its endpoint sent it.
        sent_ns: Vec<u64>,
        /// IP size.
        size_bytes: Vec<u32>,
        /// It repeats data sent before.
        retransmit: Vec<bool>,
        /// Flags of TCP; null if the transport has no such header.
        flags: Vec<i64>,
        /// Position of the first byte that it carries, or would carry.
        sequence_bytes: Vec<i64>,
        /// Payload; null if the transport has no such header.
        payload_bytes: Vec<i64>,
        /// Position up to which everything has arrived.
        acknowledged_bytes: Vec<i64>,
        /// First position of the first SACK block.
        sack_1_start_bytes: Vec<i64>,
        /// One past its last position.
        sack_1_end_bytes: Vec<i64>,
        /// First position of the second SACK block.
        sack_2_start_bytes: Vec<i64>,
        /// One past its last position.
        sack_2_end_bytes: Vec<i64>,
        /// First position of the third SACK block.
        sack_3_start_bytes: Vec<i64>,
        /// One past its last position.
        sack_3_end_bytes: Vec<i64>,
    }

    /// One row per request of a probe; only in runs with probes.
    "probes" Probes {
        /// Number of the probe from 1.
        probe: Vec<u32>,
        /// When the request was sent.
        sent_ns: Vec<u64>,
        /// One-way delay of the request; null if it was lost or had not arrived by the end of the run. The answer,
        /// which is sent at once, took the rest of the round trip.
        request_ns: Vec<i64>,
        /// Time from the request to its answer; null if one of them was lost or the answer was not back by the end.
        rtt_ns: Vec<i64>,
        /// Of request and answer: received, dropped, or inside the path at the end of the run.
        fate: Category,
    }
}

/// What every sender shows of its inner state; schemes add their own.
pub const TELEMETRY: &[Quantity] = &[
    Quantity { name: "cwnd", unit: "packets", doc: "congestion window" },
    Quantity { name: "ssthresh", unit: "packets", doc: "slow-start threshold" },
    Quantity { name: "in_flight", unit: "packets", doc: "packets believed to be in the network" },
    Quantity { name: "state", unit: "", doc: "0 open, 1 disorder, 2 window reduction, 3 recovery, 4 loss" },
    Quantity { name: "srtt", unit: "ms", doc: "smoothed round-trip time" },
    Quantity { name: "min_rtt", unit: "ms", doc: "minimum round-trip time" },
    Quantity { name: "pacing_rate", unit: "bit/s", doc: "pacing rate" },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_its_columns_in_order() {
        let mut verdicts = Verdicts::default();
        verdicts.hop.push("forward.0".to_owned());
        verdicts.verdict.push("drop");
        let table = Table::from(verdicts);
        assert_eq!(table.name, "verdicts");
        assert_eq!(table.columns[1].0, "verdict");
        assert_eq!(table.columns[1].1, Column::Category { codes: vec![0], names: vec!["drop"] });
    }

    #[test]
    fn every_column_is_documented() {
        for table in tables() {
            assert!(table.columns.iter().all(|column| !column.doc.is_empty()), "{}", table.name);
        }
    }
}
