//! How late packets reached their hosts.

use bakeoff_core::record::Histogram;
use bakeoff_core::units::{Duration, Instant};
use serde::Serialize;

/// Upper bounds of the classes that a report counts, in microseconds.
const BOUNDS_US: [u64; 12] = [5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 20_000, 100_000];

/// How late packets were handed over.
#[derive(Debug, Default)]
pub(super) struct Lateness {
    all: Histogram,
    classes: [u64; BOUNDS_US.len() + 1],
    most: Duration,
}

/// What the report says of it.
#[derive(Debug, Serialize)]
pub(super) struct LatenessReport {
    p50_ns: u64,
    p90_ns: u64,
    p99_ns: u64,
    p999_ns: u64,
    max_ns: u64,
    /// Packets by lateness: upper bound of the class in microseconds (`null`: none), and how many.
    packets: Vec<(Option<u64>, u64)>,
}

impl Lateness {
    /// A packet that was due at one time was handed over at another.
    pub(super) fn add(&mut self, due: Instant, now: Instant) {
        let lateness = now.since(due);
        self.all.add(lateness);
        self.most = self.most.max(lateness);
        let class = BOUNDS_US.partition_point(|bound| *bound < lateness.as_micros());
        self.classes[class] += 1;
    }

    pub(super) fn report(&self) -> LatenessReport {
        let percentile = |percent| self.all.percentile(percent).map_or(0, Duration::as_nanos);
        let bounds = BOUNDS_US.iter().copied().map(Some).chain([None]);
        LatenessReport {
            p50_ns: percentile(50.0),
            p90_ns: percentile(90.0),
            p99_ns: percentile(99.0),
            p999_ns: percentile(99.9),
            max_ns: self.most.as_nanos(),
            packets: bounds.zip(self.classes).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_counted_by_how_late_they_were() {
        let mut lateness = Lateness::default();
        let due = Instant::from_nanos(1_000_000);
        for (micros, packets) in [(5, 900), (6, 90), (150_000, 1), (3_000, 8)] {
            (0..packets).for_each(|_| lateness.add(due, due + Duration::from_micros(micros)));
        }
        // Ahead of time.
        lateness.add(due, Instant::ZERO);
        let report = lateness.report();
        let packets: Vec<_> = report.packets.iter().filter(|(_, packets)| *packets > 0).copied().collect();
        assert_eq!(packets, [(Some(5), 901), (Some(10), 90), (Some(5_000), 8), (None, 1)]);
        assert_eq!(report.max_ns, 150_000_000);
        let near = |found: u64, micros: u64| found.abs_diff(1_000 * micros) <= micros;
        assert!(
            near(report.p50_ns, 5) && near(report.p90_ns, 5) && near(report.p99_ns, 6) && near(report.p999_ns, 3_000)
        );
    }
}
