//! The window after a loss: what arrives may leave for one round trip, twice that from the next one on
//! (`UpdateRecoveryState`, `CalculateRecoveryWindow`).

use super::MIN_WINDOW;
use crate::scheme::quic::MSS;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    #[default]
    None,
    Conservation,
    Growth,
}

/// What an ack means for recovery.
#[derive(Clone, Copy, Debug)]
pub(super) struct News {
    /// The newest packet acknowledged, and the newest sent.
    pub(super) acked: u64,
    pub(super) sent: u64,
    pub(super) has_losses: bool,
    pub(super) is_round_start: bool,
}

/// Bytes of a window that the newest losses allow.
#[derive(Debug, Default)]
pub(super) struct Recovery {
    pub(super) phase: Phase,
    /// Recovery is over when a packet sent after this one is acknowledged.
    end: u64,
    window: u64,
}

impl Recovery {
    /// True if this is the first loss, so that a round trip is to begin now.
    pub(super) fn on_ack(&mut self, news: &News) -> bool {
        if news.has_losses {
            self.end = news.sent;
        }
        if self.phase == Phase::None {
            if news.has_losses {
                self.phase = Phase::Conservation;
                self.window = 0;
            }
            return news.has_losses;
        }
        if self.phase == Phase::Conservation && news.is_round_start {
            self.phase = Phase::Growth;
        }
        if !news.has_losses && news.acked > self.end {
            self.phase = Phase::None;
        }
        false
    }

    /// Bytes acknowledged, lost and still in flight change the window.
    pub(super) fn adjust(&mut self, acked: u64, lost: u64, in_flight: u64) {
        if self.phase == Phase::None {
            return;
        }
        if self.window > 0 {
            self.window = if self.window >= lost { self.window - lost } else { MSS };
            if self.phase == Phase::Growth {
                self.window += acked;
            }
        }
        self.window = self.window.max(in_flight + acked).max(MIN_WINDOW);
    }

    /// The window that losses leave of `window`.
    pub(super) fn limit(&self, window: u64) -> u64 {
        if self.phase == Phase::None { window } else { window.min(self.window) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: News = News { acked: 1, sent: 100, has_losses: false, is_round_start: false };

    #[test]
    fn the_first_round_conserves_and_the_next_one_grows() {
        let mut recovery = Recovery::default();
        assert!(recovery.on_ack(&News { has_losses: true, ..QUIET }));
        recovery.adjust(1_460, 14_600, 58_400);
        assert_eq!(recovery.limit(1 << 30), 59_860, "what is in flight, and what has arrived");
        recovery.on_ack(&News { acked: 2, ..QUIET });
        recovery.adjust(1_460, 0, 58_400);
        assert_eq!(recovery.limit(1 << 30), 59_860);
        recovery.on_ack(&News { acked: 3, is_round_start: true, ..QUIET });
        recovery.adjust(1_460, 0, 58_400);
        assert_eq!(recovery.limit(1 << 30), 61_320);
        recovery.on_ack(&News { acked: 4, has_losses: true, sent: 150, ..QUIET });
        recovery.adjust(1_460, 20_000, 40_000);
        assert_eq!(recovery.limit(1 << 30), 42_780, "less what was lost, more what arrived");
        recovery.on_ack(&News { acked: 150, sent: 150, ..QUIET });
        assert_eq!(recovery.phase, Phase::Growth);
        recovery.on_ack(&News { acked: 151, sent: 200, ..QUIET });
        assert_eq!((recovery.phase, recovery.limit(1 << 30)), (Phase::None, 1 << 30));
    }

    #[test]
    fn four_packets_are_always_allowed() {
        let mut recovery = Recovery::default();
        recovery.on_ack(&News { has_losses: true, ..QUIET });
        recovery.adjust(0, 0, 0);
        assert_eq!(recovery.limit(1 << 30), 4 * 1_460);
    }
}
