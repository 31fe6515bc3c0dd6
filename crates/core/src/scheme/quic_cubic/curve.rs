//! The window in congestion avoidance, for a flow that stands for several (`cubic_bytes.cc`).

use crate::scheme::quic::MSS;
use crate::units::{Duration, Instant};

/// Packets per cubed second (`kCubeCongestionWindowScale` over 1024).
const C: f64 = 410.0 / 1_024.0;
/// What one connection keeps after a loss (`kDefaultCubicBackoffFactor`).
const BETA: f64 = 0.7;
/// And of the plateau, if that was not reached again (`kBetaLastMax`).
const BETA_LAST_MAX: f64 = 0.85;

/// Whose curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Generation {
    /// Chromium's since 2018.
    Current,
    /// That of May 2017. What later corrects it is there, but off unless the client asks (`SetFixCubicQuantization`,
    /// `SetFixConvexMode`, `SetFixBetaLastMax`).
    Of2017,
}

impl Generation {
    /// How far a window may stay below the last one without another flow being the reason, bytes.
    fn tolerance(self) -> u64 {
        if self == Self::Current { MSS } else { 0 }
    }

    /// The distance from the plateau, in packets; in 2017 whole ones, those above it rounded up.
    fn distance(self, packets: f64) -> f64 {
        if self == Self::Current { packets } else { packets.ceil() }
    }
}

/// The curve since the last reduction.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Instant,
    /// Seconds to the plateau.
    k: f64,
    /// The plateau, bytes.
    origin: u64,
}

/// A cubic curve through the window before the last loss. Windows are whole bytes, as Chromium's, and so is what Reno
/// would have gained with an ack: a large window loses a part of it.
#[derive(Debug)]
pub(super) struct Curve {
    connections: f64,
    generation: Generation,
    last_max: u64,
    epoch: Option<Epoch>,
    acked: u64,
    reno: u64,
}

impl Curve {
    /// For a flow that counts as this many connections.
    pub(super) fn new(connections: f64, generation: Generation) -> Self {
        Self { connections, generation, last_max: 0, epoch: None, acked: 0, reno: 0 }
    }

    /// The share that `one` connection of several keeps becomes this share of all (`Beta`).
    fn of_all(&self, one: f64) -> f64 {
        (self.connections - 1.0 + one) / self.connections
    }

    fn beta_last_max(&self) -> f64 {
        match self.generation {
            Generation::Current => self.of_all(BETA_LAST_MAX),
            Generation::Of2017 => BETA_LAST_MAX,
        }
    }

    /// Growth per round in the Reno-friendly region, packets (`Alpha`).
    fn alpha(&self) -> f64 {
        let beta = self.of_all(BETA);
        3.0 * self.connections * self.connections * (1.0 - beta) / (1.0 + beta)
    }

    /// A timeout: everything is forgotten.
    pub(super) fn reset(&mut self) {
        *self = Self::new(self.connections, self.generation);
    }

    /// The window did not limit the sender, so the time since the last loss means nothing.
    pub(super) fn on_app_limited(&mut self) {
        self.epoch = None;
    }

    /// The window after a loss.
    pub(super) fn after_loss(&mut self, window: u64) -> u64 {
        let is_shrinking = window + self.generation.tolerance() < self.last_max;
        self.last_max = if is_shrinking { (self.beta_last_max() * window as f64) as u64 } else { window };
        self.epoch = None;
        (self.of_all(BETA) * window as f64) as u64
    }

    /// The window after an ack of `acked` bytes.
    pub(super) fn after_ack(&mut self, acked: u64, window: u64, min_rtt: Duration, now: Instant) -> u64 {
        self.acked += acked;
        let last_max = self.last_max;
        let epoch = *self.epoch.get_or_insert_with(|| {
            (self.acked, self.reno) = (acked, window);
            let below = last_max.saturating_sub(window) as f64 / MSS as f64;
            Epoch { start: now, k: (below / C).cbrt(), origin: last_max.max(window) }
        });
        let t = (now.since(epoch.start) + min_rtt).as_secs_f64();
        let distance = self.generation.distance(C * (t - epoch.k).powi(3));
        let curve = epoch.origin as f64 + distance * MSS as f64;
        let target = (curve as u64).min(window + self.acked / 2);
        self.reno += (self.acked as f64 * self.alpha() * MSS as f64 / self.reno as f64) as u64;
        self.acked = 0;
        target.max(self.reno)
    }

    /// Plateau in bytes, K in seconds, Reno's window in bytes.
    pub(super) fn state(&self) -> (f64, f64, f64) {
        (self.last_max as f64, self.epoch.map_or(0.0, |epoch| epoch.k), self.reno as f64)
    }
}
