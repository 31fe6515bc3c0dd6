//! CUBIC's growth by the equations of RFC 9438.

use crate::scheme::window::Window;
use crate::units::{Duration, Instant};

/// Section 5, packets per cubed second.
const C: f64 = 0.4;
/// Section 4.6.
const BETA: f64 = 0.7;
/// Section 4.3: as much as Reno with this decrease.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// Section 4.2: at most half as much again per round trip.
const FASTEST: f64 = 1.5;

/// The curve since the last reduction.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Instant,
    /// Time to the plateau in seconds.
    k: f64,
    /// Window that Reno would have.
    w_est: f64,
}

#[derive(Debug)]
pub(super) struct Rfc9438 {
    has_fast_convergence: bool,
    is_reno_friendly: bool,
    w_max: Option<f64>,
    cwnd_prior: f64,
    /// The part of a packet by which the true window exceeds the whole one.
    fraction: f64,
    epoch: Option<Epoch>,
}

impl Rfc9438 {
    pub(super) fn new(has_fast_convergence: bool, is_reno_friendly: bool) -> Self {
        Self {
            has_fast_convergence,
            is_reno_friendly,
            w_max: None,
            cwnd_prior: f64::INFINITY,
            fraction: 0.0,
            epoch: None,
        }
    }

    pub(super) fn epoch_start(&self) -> Option<Instant> {
        self.epoch.map(|epoch| epoch.start)
    }

    /// Section 4.8: after a timeout the curve begins anew from the window that slow start reaches.
    pub(super) fn reset(&mut self) {
        self.w_max = None;
        self.epoch = None;
        self.fraction = 0.0;
    }

    /// Section 5.8: time without data does not count.
    pub(super) fn shift_epoch(&mut self, now: Instant, idle: Duration) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start = (epoch.start + idle).min(now);
        }
    }

    /// Sections 4.6 and 4.7: a reduction of `cwnd` to this share of it; returns the new threshold.
    pub(super) fn reduce(&mut self, cwnd: u32, share: f64) -> u32 {
        let cwnd = f64::from(cwnd);
        let is_shrinking = self.has_fast_convergence && self.w_max.is_some_and(|w_max| cwnd < w_max);
        self.w_max = Some(if is_shrinking { cwnd * (1.0 + BETA) / 2.0 } else { cwnd });
        self.cwnd_prior = cwnd;
        self.epoch = None;
        self.fraction = 0.0;
        ((cwnd * share) as u32).max(2)
    }

    /// Sections 4.2 to 4.5.
    pub(super) fn grow(&mut self, window: &mut Window, acked: u32, now: Instant, srtt: Duration) {
        let (mut cwnd, acked) = (f64::from(window.cwnd) + self.fraction, f64::from(acked));
        let w_max = self.w_max.map_or(cwnd, |w_max| w_max.max(cwnd));
        let epoch = self.epoch.get_or_insert_with(|| {
            self.w_max = Some(w_max);
            Epoch { start: now, k: ((w_max - cwnd) / C).cbrt(), w_est: cwnd }
        });
        let w_max = self.w_max.unwrap_or(cwnd);
        let curve = |t: f64| C * (t - epoch.k).powi(3) + w_max;
        let t = now.since(epoch.start).as_secs_f64();
        epoch.w_est += acked / cwnd * if epoch.w_est >= self.cwnd_prior { 1.0 } else { ALPHA };
        if self.is_reno_friendly && curve(t) < epoch.w_est {
            cwnd = cwnd.max(epoch.w_est);
        } else {
            let target = curve(t + srtt.as_secs_f64()).clamp(cwnd, FASTEST * cwnd);
            cwnd += acked * (target - cwnd) / cwnd;
        }
        window.cwnd = cwnd as u32;
        self.fraction = cwnd.fract();
    }

    /// `w_max` in packets, K in seconds, Reno's window in packets.
    pub(super) fn curve(&self) -> (f64, f64, f64) {
        let (k, w_est) = self.epoch.map_or((0.0, 0.0), |epoch| (epoch.k, epoch.w_est));
        (self.w_max.unwrap_or(0.0), k, w_est)
    }
}
