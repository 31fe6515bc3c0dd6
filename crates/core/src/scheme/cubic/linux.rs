//! CUBIC's growth in the integer arithmetic of Linux (`bictcp_update`, `cubictcp_recalc_ssthresh`).
//!
//! Time is in jiffies of 1 ms and, inside the curve, in units of 1/1024 s.

use crate::scheme::window::in_jiffies;
use crate::units::{Duration, Instant};

/// At `HZ` = 1000.
const JIFFY: Duration = Duration::from_millis(1);
/// The window falls to this many 1024ths after a loss.
const BETA: u64 = 717;
const SCALE: u64 = 1_024;
/// C = 0.4 in units of 1/1024 packet per cubed second, times ten (`bic_scale` * 10).
const CUBE_SCALE: u64 = 410;
/// 1/1024 s cubed, and the scale of C: the curve is shifted right by as many bits.
const CURVE_SHIFT: u32 = 10 + 3 * 10;
/// While the window is unknown to be too large, it grows by at least 5 % per round trip.
const SLOWEST_BEFORE_LOSS: u64 = 20;
/// And never by more than half.
const FASTEST: u64 = 2;
/// If the window stays the same, the curve is looked at every 31 ms (`HZ` / 32).
const REFRESH_JIFFIES: u64 = 31;
/// Reno's window grows by one per this many eighths of a window of acks: 8 (1024 + 717) / 3 / (1024 - 717).
const RENO_SCALE: i64 = 15;

/// Cube roots of 0 to 63 in 64ths, some of which the kernel's authors adjusted (`cubic_root`).
const ROOTS: [u64; 64] = [
    0, 54, 54, 54, 118, 118, 118, 118, 123, 129, 134, 138, 143, 147, 151, 156, 157, 161, 164, 168, 170, 173, 176, 179,
    181, 185, 187, 190, 192, 194, 197, 199, 200, 202, 204, 206, 209, 211, 213, 215, 217, 219, 221, 222, 224, 225, 227,
    229, 231, 232, 234, 236, 237, 239, 240, 242, 244, 245, 246, 248, 250, 251, 252, 254,
];

#[derive(Debug)]
pub(super) struct Linux {
    has_fast_convergence: bool,
    is_reno_friendly: bool,
    count: u64,
    last_max: u64,
    last_cwnd: u64,
    last_time: u64,
    origin: u64,
    /// In 1/1024 s.
    k: u64,
    /// The beginning of a jiffy.
    epoch_start: Option<Instant>,
    /// What the count below is in: 1 for packets.
    per_packet: i64,
    /// Acknowledged, and not yet counted as growth of Reno's window (`ack_cnt`).
    acked: i64,
    reno_cwnd: u64,
}

impl Linux {
    pub(super) fn new(has_fast_convergence: bool, is_reno_friendly: bool) -> Self {
        Self {
            has_fast_convergence,
            is_reno_friendly,
            count: 0,
            last_max: 0,
            last_cwnd: 0,
            last_time: 0,
            origin: 0,
            k: 0,
            epoch_start: None,
            per_packet: 1,
            acked: 0,
            reno_cwnd: 0,
        }
    }

    /// The same, in which a packet counts for so many.
    pub(super) fn counting(self, per_packet: i64) -> Self {
        Self { per_packet, ..self }
    }

    /// Forgets everything (`bictcp_reset`).
    pub(super) fn reset(&mut self) {
        *self = Self::new(self.has_fast_convergence, self.is_reno_friendly).counting(self.per_packet);
    }

    pub(super) fn epoch_start(&self) -> Option<Instant> {
        self.epoch_start
    }

    /// Idle time does not count (`cubictcp_cwnd_event_tx_start`).
    pub(super) fn shift_epoch(&mut self, now: Instant, idle: Duration) {
        let idle = in_jiffies(idle, now);
        self.epoch_start = self.epoch_start.map(|start| (start + idle).min(now.truncated(JIFFY)));
    }

    /// A reduction of `cwnd` to this share of it, in whole 1024ths; returns the new threshold.
    pub(super) fn reduce(&mut self, cwnd: u32, share: f64) -> u32 {
        let share = (share * SCALE as f64).round() as u64;
        let cwnd = u64::from(cwnd);
        self.epoch_start = None;
        let is_shrinking = cwnd < self.last_max && self.has_fast_convergence;
        self.last_max = if is_shrinking { cwnd * (SCALE + BETA) / (2 * SCALE) } else { cwnd };
        (cwnd * share / SCALE).max(2) as u32
    }

    /// How many acknowledged packets make the window grow by one.
    pub(super) fn packets_per_increase(&mut self, cwnd: u32, acked: u32, now: Instant, min_rtt: Duration) -> u32 {
        let cwnd = u64::from(cwnd);
        self.acked += i64::from(acked) * self.per_packet;
        let jiffies = now.as_millis();
        if self.last_cwnd == cwnd && jiffies - self.last_time <= REFRESH_JIFFIES && self.count > 0 {
            return self.count as u32;
        }
        if self.epoch_start.is_none() || jiffies != self.last_time {
            self.last_cwnd = cwnd;
            self.last_time = jiffies;
            self.count = self.on_the_curve(cwnd, i64::from(acked) * self.per_packet, now, min_rtt);
        }
        if self.is_reno_friendly {
            self.count = self.count.min(self.as_reno(cwnd));
        }
        self.count = self.count.max(FASTEST);
        self.count.min(u64::from(u32::MAX)) as u32
    }

    fn on_the_curve(&mut self, cwnd: u64, acked: i64, now: Instant, min_rtt: Duration) -> u64 {
        let epoch_start = *self.epoch_start.get_or_insert_with(|| {
            self.acked = acked;
            self.reno_cwnd = cwnd;
            self.origin = self.last_max.max(cwnd);
            self.k = cube_root((1 << CURVE_SHIFT) / CUBE_SCALE * (self.origin - cwnd));
            now.truncated(JIFFY)
        });
        // A round trip ahead: what is decided now shows when its acks return.
        let elapsed = now.as_millis() - epoch_start.as_millis() + min_rtt.as_micros().div_ceil(1_000);
        let target = self.target(elapsed);
        let count = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        if self.last_max == 0 { count.min(SLOWEST_BEFORE_LOSS) } else { count }
    }

    /// The curve so many milliseconds after its beginning.
    fn target(&self, elapsed: u64) -> u64 {
        let time = (elapsed << 10) / 1_000;
        let offset = u128::from(time.abs_diff(self.k));
        let delta = ((u128::from(CUBE_SCALE) * offset * offset * offset) >> CURVE_SHIFT).min(1 << 40) as u64;
        if time < self.k { self.origin.saturating_sub(delta) } else { self.origin + delta }
    }

    /// The plateau of the curve comes to now, at the level that the curve has, less so many packets.
    pub(super) fn flatten(&mut self, now: Instant, packets: u64) {
        let Some(start) = self.epoch_start.replace(now.truncated(JIFFY)) else {
            self.epoch_start = None;
            return;
        };
        let level = self.target(now.as_millis().saturating_sub(start.as_millis()));
        self.origin = level.saturating_sub(packets);
        self.k = 0;
    }

    /// Takes so much off what is acknowledged; returns how many windows it falls short by then.
    pub(super) fn take(&mut self, amount: i64, cwnd: u32) -> u32 {
        let window = i64::from(cwnd) * self.per_packet;
        self.acked -= amount;
        let windows = (-self.acked).max(0) / window;
        self.acked += windows * window;
        windows as u32
    }

    fn as_reno(&mut self, cwnd: u64) -> u64 {
        let per_increase = ((cwnd as i64 * RENO_SCALE * self.per_packet) >> 3).max(1);
        if self.acked > per_increase {
            let increases = (self.acked - 1) / per_increase;
            self.acked -= increases * per_increase;
            self.reno_cwnd += increases as u64;
        }
        if self.reno_cwnd > cwnd { cwnd / (self.reno_cwnd - cwnd) } else { u64::MAX }
    }

    /// `w_max` in packets, K in seconds, Reno's window in packets.
    pub(super) fn curve(&self) -> (f64, f64, f64) {
        (self.last_max as f64, self.k as f64 / SCALE as f64, self.reno_cwnd as f64)
    }
}

/// The cube root to 0.2 %, with the kernel's errors (`cubic_root`): a guess from the leading digits and one of Newton's
/// steps. A third is 84/256 and 341/1024.
pub(super) fn cube_root(value: u64) -> u64 {
    let bits = u64::from(u64::BITS - value.leading_zeros());
    if bits < 7 {
        return (ROOTS[value as usize] + 35) >> 6;
    }
    let doublings = ((bits * 84) >> 8) - 1;
    let guess = ((ROOTS[(value >> (3 * doublings)) as usize] + 10) << doublings) >> 6;
    ((2 * guess + value / (guess * (guess - 1))) * 341) >> 10
}
