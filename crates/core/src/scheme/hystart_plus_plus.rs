//! HyStart++: leaves slow start on a rise of the round-trip time, but first slows down to see whether it was a false
//! alarm.
//!
//! **Source.** RFC 9406, section 4.
//!
//! **Deviations.** None known; a round trip without an increase in delay returns to slow start as section 4.2 says.
//!
//! **How it is validated.** Unit tests here.

use super::Acked;
use super::window::Window;
use crate::units::Duration;

/// RFC 9406, section 4.3.
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
const MIN_RTT_DIVISOR: u64 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: u32 = 4;
const CSS_ROUNDS: u32 = 5;
/// Packets counted per ack while packets are not paced.
const L: u32 = 8;

/// Where the flow stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    SlowStart,
    /// Conservative slow start: the round trip at which it began, and the rounds it has lasted.
    Conservative {
        baseline: Duration,
        rounds: u32,
    },
    Done,
}

/// The first slow start of a flow.
#[derive(Clone, Debug)]
pub struct HyStartPlusPlus {
    is_paced: bool,
    phase: Phase,
    round_end: u64,
    last_round_rtt: Option<Duration>,
    round_rtt: Option<Duration>,
    samples: u32,
    /// Packets acknowledged in conservative slow start that have not yet made the window grow.
    credit: u32,
}

impl HyStartPlusPlus {
    /// For a flow that starts; `is_paced` if the transport spreads packets over the round trip.
    pub fn new(is_paced: bool) -> Self {
        Self {
            is_paced,
            phase: Phase::SlowStart,
            round_end: 0,
            last_round_rtt: None,
            round_rtt: None,
            samples: 0,
            credit: 0,
        }
    }

    /// A loss or an ECN echo ends the first slow start, and later ones are ordinary.
    pub fn finish(&mut self) {
        self.phase = Phase::Done;
    }

    /// Takes a round-trip sample.
    pub fn on_acked(&mut self, window: &mut Window, acked: &Acked, rtt: Duration) {
        if self.phase == Phase::Done {
            return;
        }
        if acked.first_unacked > self.round_end {
            self.end_round(window, acked.next_sequence);
        }
        self.samples += 1;
        let round_rtt = self.round_rtt.map_or(rtt, |least| least.min(rtt));
        self.round_rtt = Some(round_rtt);
        if self.samples < N_RTT_SAMPLE {
            return;
        }
        match (self.phase, self.last_round_rtt) {
            (Phase::SlowStart, Some(last)) => {
                let rise = last.scale(1, MIN_RTT_DIVISOR).max(MIN_RTT_THRESH).min(MAX_RTT_THRESH);
                if round_rtt >= last + rise {
                    self.phase = Phase::Conservative { baseline: round_rtt, rounds: 0 };
                }
            }
            (Phase::Conservative { baseline, .. }, _) if round_rtt < baseline => self.phase = Phase::SlowStart,
            _ => {}
        }
    }

    fn end_round(&mut self, window: &mut Window, round_end: u64) {
        self.round_end = round_end;
        self.last_round_rtt = self.round_rtt.take();
        self.samples = 0;
        if let Phase::Conservative { baseline, rounds } = self.phase {
            if rounds + 1 >= CSS_ROUNDS {
                self.phase = Phase::Done;
                window.ssthresh = window.cwnd;
            } else {
                self.phase = Phase::Conservative { baseline, rounds: rounds + 1 };
            }
        }
    }

    /// How much of `acked` packets counts for growth in slow start.
    pub fn growth(&mut self, acked: u32) -> u32 {
        let counted = if self.is_paced { acked } else { acked.min(L) };
        match self.phase {
            Phase::Done => acked,
            Phase::SlowStart => counted,
            Phase::Conservative { .. } => {
                self.credit += counted;
                let grown = self.credit / CSS_GROWTH_DIVISOR;
                self.credit %= CSS_GROWTH_DIVISOR;
                grown
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::Ack;
    use crate::scheme::window::{ack, acked};

    /// A round of so many samples of a round trip.
    fn round(hystart: &mut HyStartPlusPlus, samples: u32, rtt_ms: u64) {
        let (end, mut window) = (hystart.round_end, Window::initial());
        for _ in 0..samples {
            let rtt = Duration::from_millis(rtt_ms);
            let ack = Ack { first_unacked: end + 1, next_sequence: end + 100, ..ack(1) };
            hystart.on_acked(&mut window, &acked(&ack), rtt);
        }
    }

    #[test]
    fn eight_samples_of_a_round_show_a_rise_of_an_eighth_within_4_and_16_ms() {
        let slows_down = |first_ms, samples, second_ms| {
            let mut hystart = HyStartPlusPlus::new(false);
            round(&mut hystart, 10, first_ms);
            round(&mut hystart, samples, second_ms);
            hystart.phase != Phase::SlowStart
        };
        assert!(!slows_down(100, 7, 113));
        for (first_ms, least_ms) in [(100, 113), (16, 20), (400, 416)] {
            assert!(slows_down(first_ms, 8, least_ms) && !slows_down(first_ms, 8, least_ms - 1), "{first_ms} ms");
        }
    }

    #[test]
    fn an_ack_counts_for_eight_packets_at_most_unless_packets_are_paced() {
        assert_eq!([false, true].map(|is_paced| HyStartPlusPlus::new(is_paced).growth(20)), [8, 20]);
    }

    #[test]
    fn a_round_ends_when_what_was_sent_first_in_it_is_acknowledged() {
        let (mut hystart, mut window) = (HyStartPlusPlus::new(false), Window::initial());
        let samples =
            [(1, 100), (99, 190), (100, 200), (101, 210), (150, 250)].map(|(first_unacked, next_sequence)| {
                let ack = Ack { first_unacked, next_sequence, ..ack(1) };
                hystart.on_acked(&mut window, &acked(&ack), Duration::from_millis(100));
                (hystart.samples, hystart.round_end)
            });
        assert_eq!(samples, [(1, 100), (2, 100), (3, 100), (1, 210), (2, 210)]);
    }
}
