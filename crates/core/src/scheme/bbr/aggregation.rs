//! Acks that come in lumps: how many more packets they report than the bandwidth explains
//! (`bbr_update_ack_aggregation`).

use super::fixed_point::Bandwidth;

/// Rounds after which the older of two maxima is dropped (`bbr_extra_acked_win_rtts`).
const WINDOW_ROUNDS: u32 = 5;
/// An epoch with as many packets begins anew (`bbr_ack_epoch_acked_reset_thresh`).
const EPOCH_LIMIT: u32 = 1 << 20;
/// The window makes up for at most this much silence, microseconds (`bbr_extra_acked_max_us`).
const MAX_SILENCE: u64 = 100_000;

#[derive(Debug, Default)]
pub(super) struct Aggregation {
    epoch_start: u64,
    epoch_acked: u32,
    maxima: [u32; 2],
    current: usize,
    rounds: u32,
}

impl Aggregation {
    /// An epoch begins at `now`, microseconds.
    pub(super) fn restart(&mut self, now: u64) {
        self.epoch_start = now;
        self.epoch_acked = 0;
    }

    /// `acked` packets were reported at `now` microseconds; at most `cwnd` of them can be extra.
    pub(super) fn on_acked(&mut self, now: u64, acked: u32, bandwidth: Bandwidth, cwnd: u32, is_round_start: bool) {
        if is_round_start {
            self.rounds += 1;
            if self.rounds >= WINDOW_ROUNDS {
                self.rounds = 0;
                self.current = 1 - self.current;
                self.maxima[self.current] = 0;
            }
        }
        let mut expected = bandwidth.packets_in(now.saturating_sub(self.epoch_start));
        if self.epoch_acked <= expected || self.epoch_acked + acked >= EPOCH_LIMIT {
            self.restart(now);
            expected = 0;
        }
        self.epoch_acked = (self.epoch_acked + acked).min(EPOCH_LIMIT - 1);
        let extra = (self.epoch_acked - expected).min(cwnd);
        self.maxima[self.current] = self.maxima[self.current].max(extra);
    }

    /// The most of the last five to ten rounds, packets.
    pub(super) fn extra_acked(&self) -> u32 {
        self.maxima[0].max(self.maxima[1])
    }

    /// What the window is to grow by (`bbr_ack_aggregation_cwnd`).
    pub(super) fn extra_window(&self, bandwidth: Bandwidth) -> u32 {
        self.extra_acked().min(bandwidth.packets_in(MAX_SILENCE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1.0001 packets per millisecond.
    const BANDWIDTH: Bandwidth = Bandwidth(16_779);

    #[test]
    fn steady_acks_have_one_ack_in_excess() {
        let mut aggregation = Aggregation::default();
        for millis in 1..1_000 {
            aggregation.on_acked(millis * 2_000, 2, BANDWIDTH, 1_000, false);
        }
        assert_eq!(aggregation.extra_acked(), 2);
    }

    #[test]
    fn a_lump_after_silence_is_extra() {
        let mut aggregation = Aggregation::default();
        for lump in 1..10 {
            aggregation.on_acked(lump * 40_000, 40, BANDWIDTH, 1_000, false);
        }
        assert_eq!(aggregation.extra_acked(), 40);
        assert_eq!(aggregation.extra_window(BANDWIDTH), 40);
        assert_eq!(aggregation.extra_window(Bandwidth(1_678)), 10, "no more than 100 ms at the bandwidth");
    }

    #[test]
    fn a_lump_is_forgotten_after_five_to_ten_rounds() {
        let mut aggregation = Aggregation::default();
        aggregation.on_acked(40_000, 40, BANDWIDTH, 30, false);
        assert_eq!(aggregation.extra_acked(), 30, "limited by the window");
        let mut rounds_kept = 0;
        for round in 1..=20 {
            aggregation.on_acked(40_000 + round * 40_000, 1, BANDWIDTH, 30, true);
            rounds_kept += u32::from(aggregation.extra_acked() == 30);
        }
        assert_eq!(rounds_kept, 9);
    }
}
