//! The window in congestion avoidance, for a flow that stands for several (`cubic_bytes.cc`), in its integers and its
//! floats.

use crate::scheme::quic::MSS;
use crate::units::{Duration, Instant};

/// 1024 times the packets per cubed second (`kCubeCongestionWindowScale`); time is in 1024th of a second, so that a
/// cube of it has this many bits too many (`kCubeScale`).
const C: u64 = 410;
const CUBE_BITS: u32 = 40;
/// Cubed time per byte (`kCubeFactor`).
const CUBE_PER_BYTE: u64 = (1 << CUBE_BITS) / C / MSS;
/// What one connection keeps after a loss (`kDefaultCubicBackoffFactor`).
const BETA: f32 = 0.7;
/// And of the plateau, if that was not reached again (`kBetaLastMax`).
const BETA_LAST_MAX: f32 = 0.85;
/// How long a result holds in 2017 (`MaxCubicTimeInterval`).
const UPDATE_INTERVAL: Duration = Duration::from_millis(30);

/// Whose curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Generation {
    /// Chromium's since 2018.
    Current,
    /// That of May 2017. What later corrects it is there, but off unless the client asks (`SetFixCubicQuantization`,
    /// `SetFixConvexMode`, `SetFixBetaLastMax`, `SetAllowPerAckUpdates`).
    Of2017,
}

impl Generation {
    /// How far a window may stay below the last one without another flow being the reason, bytes.
    fn tolerance(self) -> u64 {
        if self == Self::Current { MSS } else { 0 }
    }

    /// Bytes between the plateau and the curve at so much time after it, negative below; in 2017 whole packets, those
    /// above it rounded up. As in Chromium, what does not fit 64 bits is lost.
    fn distance(self, time: i64) -> i64 {
        if self == Self::Of2017 {
            let packets = cube(-time, C.cast_signed()) >> CUBE_BITS;
            return packets.wrapping_mul(MSS.cast_signed()).wrapping_neg();
        }
        let bytes = cube(time.abs(), C.cast_signed() * MSS.cast_signed()).cast_unsigned() >> CUBE_BITS;
        if time > 0 { bytes.cast_signed() } else { -bytes.cast_signed() }
    }
}

/// `scale` times the third power of `time`.
fn cube(time: i64, scale: i64) -> i64 {
    scale.wrapping_mul(time).wrapping_mul(time).wrapping_mul(time)
}

/// The curve since the last reduction.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Instant,
    /// 1024th of a second to the plateau.
    k: i64,
    /// The plateau, bytes.
    origin: u64,
}

/// A result, the window that it was computed for, and when.
#[derive(Clone, Copy, Debug)]
struct Update {
    window: u64,
    at: Instant,
    target: u64,
}

/// A cubic curve through the window before the last loss. Windows are whole bytes, and so is what Reno would have
/// gained with an ack: a large window loses a part of it.
#[derive(Debug)]
pub(super) struct Curve {
    connections: f32,
    generation: Generation,
    last_max: u64,
    epoch: Option<Epoch>,
    acked: u64,
    reno: u64,
    last: Option<Update>,
}

impl Curve {
    /// For a flow that counts as this many connections.
    pub(super) fn new(connections: f32, generation: Generation) -> Self {
        Self { connections, generation, last_max: 0, epoch: None, acked: 0, reno: 0, last: None }
    }

    /// The share that `one` connection of several keeps becomes this share of all (`Beta`).
    fn of_all(&self, one: f32) -> f32 {
        (self.connections - 1.0 + one) / self.connections
    }

    fn beta_last_max(&self) -> f32 {
        match self.generation {
            Generation::Current => self.of_all(BETA_LAST_MAX),
            Generation::Of2017 => BETA_LAST_MAX,
        }
    }

    /// Growth per round in the Reno-friendly region, packets (`Alpha`).
    fn alpha(&self) -> f32 {
        let beta = self.of_all(BETA);
        3.0 * self.connections * self.connections * (1.0 - beta) / (1.0 + beta)
    }

    /// Whether a packet that arrives after it was taken for lost counts as one of no bytes, or not at all.
    pub(super) fn counts_late_packets(&self) -> bool {
        self.generation == Generation::Current
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
        self.last_max = if is_shrinking { (self.beta_last_max() * window as f32) as u64 } else { window };
        self.epoch = None;
        (window as f32 * self.of_all(BETA)) as u64
    }

    /// The window after an ack of `acked` bytes.
    pub(super) fn after_ack(&mut self, acked: u64, window: u64, min_rtt: Duration, now: Instant) -> u64 {
        self.acked += acked;
        if self.generation == Generation::Of2017
            && let Some(last) = self.last.filter(|last| last.window == window && now.since(last.at) <= UPDATE_INTERVAL)
        {
            return last.target.max(self.reno);
        }
        let epoch = self.epoch(acked, window, now);
        let elapsed = (((now + min_rtt).since(epoch.start).as_micros() << 10) / 1_000_000).cast_signed();
        let curve = epoch.origin.wrapping_add_signed(self.generation.distance(elapsed - epoch.k));
        let target = curve.min(window + self.acked / 2);
        let gain = self.acked as f32 * (self.alpha() * MSS as f32) / self.reno as f32;
        self.reno = (self.reno as f32 + gain) as u64;
        self.acked = 0;
        self.last = Some(Update { window, at: now, target });
        target.max(self.reno)
    }

    /// The epoch under way, which begins with this ack if there is none.
    fn epoch(&mut self, acked: u64, window: u64, now: Instant) -> Epoch {
        if let Some(epoch) = self.epoch {
            return epoch;
        }
        (self.acked, self.reno) = (acked, window);
        let below = self.last_max.saturating_sub(window);
        let k = ((CUBE_PER_BYTE * below) as f64).cbrt() as i64;
        *self.epoch.insert(Epoch { start: now, k, origin: self.last_max.max(window) })
    }

    /// Plateau in bytes, K in seconds, Reno's window in bytes.
    pub(super) fn state(&self) -> (f64, f64, f64) {
        (self.last_max as f64, self.epoch.map_or(0.0, |epoch| epoch.k as f64 / 1_024.0), self.reno as f64)
    }
}
