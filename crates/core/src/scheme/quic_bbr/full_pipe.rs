//! Start-up's test for a full pipe (`CheckIfFullBandwidthReached`).

use crate::scheme::quic::Bandwidth;

/// Rounds without growth after which it is full (`kRoundTripsWithoutGrowthBeforeExitingStartup`).
const FULL_ROUNDS: u32 = 3;

/// Whether the bandwidth has stopped to grow.
#[derive(Debug)]
pub(super) struct FullPipe {
    /// Growth in a round that shows that it is not full yet.
    growth: f32,
    pub(super) is_reached: bool,
    /// The bandwidth that the next rounds have to exceed by that.
    bandwidth: Bandwidth,
    rounds: u32,
}

impl FullPipe {
    /// A pipe that is full when three rounds bring less growth than this.
    pub(super) fn new(growth: f32) -> Self {
        Self { growth, is_reached: false, bandwidth: Bandwidth::default(), rounds: 0 }
    }

    /// A round of a sender that was not limited by its application ends with this filtered bandwidth.
    pub(super) fn on_round(&mut self, bandwidth: Bandwidth) {
        if self.is_reached {
            return;
        }
        if bandwidth >= self.bandwidth.scaled(self.growth) {
            self.bandwidth = bandwidth;
            self.rounds = 0;
            return;
        }
        self.rounds += 1;
        self.is_reached = self.rounds >= FULL_ROUNDS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pipe_is_full_after_three_rounds_in_a_row_without_a_quarter_more() {
        let mut pipe = FullPipe::new(1.25);
        for bandwidth in [800, 1_600, 1_999, 1_999, 2_000, 2_499, 2_499] {
            pipe.on_round(Bandwidth(bandwidth));
            assert!(!pipe.is_reached, "{bandwidth}");
        }
        pipe.on_round(Bandwidth(2_499));
        assert!(pipe.is_reached);
    }
}
