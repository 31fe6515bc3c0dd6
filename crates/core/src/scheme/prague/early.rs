//! What the first revision of Prague's code does otherwise.
//!
//! **Source.** dboru/linux 696e94e3 `net/ipv4/tcp_prague.c` and `tcp_cong_avoid_ai` in `net/ipv4/tcp_cong.c`.

use super::{EcnFeedback, Prague};

/// What was acknowledged in a round, and of it with marks (`prague_update_ce_stats`). The source counts bytes, as
/// packets of average size.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MarkedBytes {
    first_unacked: u64,
    delivered: u64,
    marked: u64,
    acked: f64,
    acked_marked: f64,
}

impl MarkedBytes {
    /// An ack; if nothing is acknowledged in order, its marks are forgotten.
    pub(super) fn add(&mut self, feedback: &EcnFeedback) {
        let EcnFeedback { first_unacked, delivered, marked, .. } = *feedback;
        let acked = (first_unacked - self.first_unacked) as f64;
        if delivered > self.delivered {
            self.acked_marked += (marked - self.marked) as f64 * acked / (delivered - self.delivered) as f64;
        }
        self.acked += acked;
        (self.first_unacked, self.delivered, self.marked) = (first_unacked, delivered, marked);
    }

    /// The share of the round that ends.
    pub(super) fn take_share(&mut self) -> f64 {
        let share = if self.acked_marked > 0.0 { self.acked_marked / self.acked.max(1.0) } else { 0.0 };
        (self.acked, self.acked_marked) = (0.0, 0.0);
        share
    }
}

impl Prague {
    /// Grows by one per window acknowledged (`tcp_cong_avoid_ai`).
    pub(super) fn count(&mut self, acked: f64) {
        let window = f64::from(self.cwnd);
        // Counted at a larger window.
        if self.counted >= window {
            self.counted = 0.0;
            self.cwnd += 1;
        }
        self.counted += acked;
        let grown = (self.counted / window).floor();
        self.counted -= grown * window;
        self.set_cwnd(self.cwnd + grown as u32);
    }
}
