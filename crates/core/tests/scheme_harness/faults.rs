//! Schemes with one fault each, which the harness must find.

use std::sync::atomic::{AtomicU32, Ordering};

use bakeoff_core::info::{Info, Quantity};
use bakeoff_core::scheme::{Ack, Congestion, Scheme, SchemeEntry, Setup, Timeout, Validation};
use bakeoff_core::units::{Instant, Rate};

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    OverflowsOnUndo,
    ClosesItsWindow,
    GrowsWithoutEnd,
    StopsItsPacer,
    TimerStays,
    TellsAnUndeclaredName,
    TellsInfinity,
    Remembers,
}

/// How often any scheme with that fault was made.
static MADE: AtomicU32 = AtomicU32::new(0);

struct Faulty {
    fault: Fault,
    cwnd: u32,
    losses: u8,
}

impl Scheme for Faulty {
    fn cwnd(&self) -> u32 {
        self.cwnd
    }

    fn pacing_rate(&self) -> Option<Rate> {
        (self.fault == Fault::StopsItsPacer && self.losses > 0).then(Rate::default)
    }

    fn on_ack(&mut self, _ack: &Ack<'_>) {
        if self.fault == Fault::GrowsWithoutEnd {
            self.cwnd = self.cwnd.saturating_mul(2);
        }
    }

    fn on_congestion(&mut self, _congestion: &Congestion) {
        self.losses = self.losses.saturating_add(1);
        if self.fault == Fault::ClosesItsWindow {
            self.cwnd /= 2;
        }
    }

    fn on_timeout(&mut self, _timeout: &Timeout) {}

    fn on_undo(&mut self, _now: Instant) {
        if self.fault == Fault::OverflowsOnUndo {
            self.losses -= 2;
        }
    }

    fn has_timer(&self) -> bool {
        true
    }

    fn next_timer(&self) -> Option<Instant> {
        (self.fault == Fault::TimerStays && self.losses > 1).then_some(Instant::ZERO)
    }

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        let name = if self.fault == Fault::TellsAnUndeclaredName { "looses" } else { "losses" };
        report(
            name,
            if self.fault == Fault::TellsInfinity { 1.0 / f64::from(self.losses) } else { self.losses.into() },
        );
    }
}

fn entry(name: &'static str, new: fn(Setup) -> Box<dyn Scheme>) -> SchemeEntry {
    let telemetry = &[Quantity { name: "losses", unit: "", doc: "" }];
    let info = Info { name, title: "", source: "", parameters: &[], telemetry };
    SchemeEntry { info, validation: Validation::Vectors, new, ecn: None }
}

fn faulty(fault: Fault) -> Box<dyn Scheme> {
    let made = if fault == Fault::Remembers { MADE.fetch_add(1, Ordering::Relaxed) } else { 0 };
    Box::new(Faulty { fault, cwnd: 10 + made, losses: 0 })
}

pub(crate) fn sound() -> SchemeEntry {
    entry("sound", |_| faulty(Fault::None))
}

/// Every fault, and words of the complaint about it.
pub(crate) fn all() -> [(SchemeEntry, &'static str); 7] {
    [
        (entry("overflows", |_| faulty(Fault::OverflowsOnUndo)), "overflow"),
        (entry("closes", |_| faulty(Fault::ClosesItsWindow)), "cwnd is 0"),
        (entry("grows", |_| faulty(Fault::GrowsWithoutEnd)), "cwnd is"),
        (entry("stops", |_| faulty(Fault::StopsItsPacer)), "pacing rate of zero"),
        (entry("stays", |_| faulty(Fault::TimerStays)), "stays in the past"),
        (entry("undeclared", |_| faulty(Fault::TellsAnUndeclaredName)), "not declared"),
        (entry("infinite", |_| faulty(Fault::TellsInfinity)), "telemetry losses is inf"),
    ]
}

/// A scheme that differs from run to run.
pub(crate) fn irreproducible() -> SchemeEntry {
    entry("remembers", |_| faulty(Fault::Remembers))
}
