//! What schemes that answer to "some congestion experienced" have in common.
//!
//! **Source.** draft-morton-tsvwg-sce; the SCE project's `net/ipv4/tcp_{reno,dctcp,cubic}_sce.c`. There a signed counter
//! of bytes moves the window by one packet for every window of bytes; here it counts packets.

use super::window::Window;
use super::{Ack, EcnFeedback, PacingRatios};
use crate::info::Parameter;

/// The parameters that all have.
pub(super) const PARAMETERS: [Parameter; 3] = [
    Parameter::flag("pacing", true, "send so much of the window per round trip as the ratios say"),
    Parameter::number("ss_ratio", [100.0, 1.0, 1_000.0], "%", "of the window per round trip, far below the threshold"),
    Parameter::number("ca_ratio", [40.0, 1.0, 1_000.0], "%", "of the window per round trip, otherwise"),
];

/// The pacing that parameters ask for.
pub(super) fn ratios(parameters: &super::Parameters) -> Option<PacingRatios> {
    let percent = |name| parameters.number(name).round() as u64;
    parameters.flag("pacing").then(|| PacingRatios { slow_start: percent("ss_ratio"), avoidance: percent("ca_ratio") })
}

/// A window that moves by fractions of a packet, up and down.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Credit {
    /// Packets; a whole window of them is worth one (`snd_cwnd_cnt`).
    packets: f64,
    /// Acks until the last echo is forgotten (`recent_sce`).
    recent: u32,
    /// The last ack carried an echo.
    is_marked: bool,
}

impl Credit {
    /// Reads an ack; returns the packets that count as marked by it, if it carries an echo. A duplicate ack counts as one.
    pub(super) fn read(&mut self, window: &Window, feedback: &EcnFeedback) -> Option<f64> {
        self.recent = self.recent.saturating_sub(1);
        self.is_marked = feedback.is_sce_echo;
        if !self.is_marked {
            return None;
        }
        self.recent = window.cwnd + 1;
        Some(f64::from(feedback.newly_delivered.max(1)))
    }

    /// True if an echo came within the last window of acks.
    pub(super) fn is_recent(&self) -> bool {
        self.recent > 0
    }

    /// Adds packets, or takes them; returns by how much the window has moved. It never falls below two.
    pub(super) fn add(&mut self, window: &mut Window, packets: f64) -> i64 {
        self.packets += packets;
        let mut moved = 0;
        while self.packets >= f64::from(window.cwnd) {
            self.packets -= f64::from(window.cwnd);
            window.cwnd += 1;
            moved += 1;
        }
        while self.packets <= -f64::from(window.cwnd) {
            self.packets += f64::from(window.cwnd);
            if window.cwnd > 2 {
                window.cwnd -= 1;
            }
            moved -= 1;
        }
        moved
    }

    /// As Reno, the SCE project's variants of which differ in `fall`: what so many marked packets take off a window of
    /// that size, in packets as [`Credit::add`] counts them. An echo also ends slow start. While CE makes the window fall,
    /// no echo counts.
    pub(super) fn fall(&mut self, window: &mut Window, feedback: &EcnFeedback, fall: impl FnOnce(f64, f64) -> f64) {
        let Some(marked) = self.read(window, feedback) else { return };
        if feedback.is_reducing {
            return;
        }
        window.ssthresh = window.half();
        self.add(window, -fall(marked, f64::from(window.cwnd)));
    }

    /// As Reno, unless the last ack carried an echo; of what slow start leaves over, a share counts.
    pub(super) fn grow(&mut self, window: &mut Window, ack: &Ack<'_>, ratios: Option<PacingRatios>, share: f64) {
        if self.is_marked || !is_limiting(window, ack, ratios) {
            return;
        }
        if window.is_in_slow_start() {
            let left = window.slow_start(ack.newly_delivered);
            self.add(window, f64::from(left) * share);
        } else {
            self.add(window, f64::from(ack.newly_delivered));
        }
    }

    /// A loss: the count begins anew.
    pub(super) fn reset(&mut self) {
        self.packets = 0.0;
    }

    /// The threshold after CE: 0.75 of the window, or 0.875 where marks of some congestion had made it fall already.
    pub(super) fn ssthresh_after_mark(&self, window: &Window) -> u32 {
        let eighths = if self.is_recent() { 7 } else { 6 };
        (window.cwnd * eighths / 8).max(2)
    }
}

/// True if the network limits the sender. A paced one seldom fills its window, which in the kernel would end its growth.
pub(super) fn is_limiting(window: &Window, ack: &Ack<'_>, ratios: Option<PacingRatios>) -> bool {
    window.is_limiting(ack) || (ratios.is_some() && !ack.rate.is_app_limited)
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::window::{INFINITE_SSTHRESH, window_of};
    use super::*;
    use crate::units::Instant;

    /// An ack of `newly_delivered` packets.
    pub(in crate::scheme) fn feedback(newly_delivered: u32, is_sce_echo: bool) -> EcnFeedback {
        EcnFeedback {
            now: Instant::ZERO,
            newly_delivered,
            newly_marked: 0,
            delivered: 0,
            marked: 0,
            is_sce_echo,
            is_reducing: false,
            first_unacked: 0,
            next_sequence: 0,
        }
    }

    #[test]
    fn a_window_of_packets_is_worth_one() {
        let (mut credit, mut window) = (Credit::default(), window_of(10, INFINITE_SSTHRESH));
        (0..9).for_each(|_| assert_eq!(credit.add(&mut window, 1.0), 0));
        assert_eq!((credit.add(&mut window, 1.0), window.cwnd), (1, 11));
        assert_eq!((credit.add(&mut window, -33.0), window.cwnd), (-3, 8), "11 for the first, 10 and 9 for the next");
        window.cwnd = 2;
        assert_eq!((credit.add(&mut window, -100.0) < 0, window.cwnd), (true, 2));
    }

    #[test]
    fn a_mark_of_congestion_costs_less_while_some_congestion_is_recent() {
        let (mut credit, window) = (Credit::default(), window_of(80, INFINITE_SSTHRESH));
        assert_eq!(credit.ssthresh_after_mark(&window), 60);
        assert_eq!(credit.read(&window, &feedback(2, true)), Some(2.0));
        for _ in 0..80 {
            assert_eq!(credit.read(&window, &feedback(1, false)), None);
            assert_eq!(credit.ssthresh_after_mark(&window), 70);
        }
        credit.read(&window, &feedback(1, false));
        assert_eq!(credit.ssthresh_after_mark(&window), 60, "a window and one ack later");
    }
}
