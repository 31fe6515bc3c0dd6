//! What schemes that answer to "some congestion experienced" have in common.
//!
//! **Source.** draft-morton-tsvwg-sce; the SCE project's `net/ipv4/tcp_{reno,dctcp,cubic}_sce.c`: a signed count of
//! bytes, a window of which moves the window by one packet.
//!
//! **In which bytes.** A packet that is acknowledged counts with all it carries, but the window with which the count is
//! compared is measured in `icsk_ack.rcv_mss`. That is the size of the segments a host *receives*, and of one that
//! receives none a guess of 536 bytes (`tcp_initialize_rcv_mss`). So on a host that only sends, everything goes 1448 /
//! 536 = 2.7 times as fast as the draft and the comments of the code say: growth is 2.7 packets per round trip.

use super::window::{INFINITE_SSTHRESH, Window};
use super::{Ack, EcnFeedback, PacingRatios, Parameters, State};
use crate::info::Parameter;
use crate::units::Bytes;

/// The parameters that all have.
pub(super) const PARAMETERS: [Parameter; 4] = [
    Parameter::number(
        "rcv_mss",
        [536.0, 88.0, 65_535.0],
        "bytes",
        "for which the count takes a segment: 536 where the sender receives no data; its own payload, as the draft has it",
    ),
    Parameter::flag("pacing", true, "send so much of the window per round trip as the ratios say"),
    Parameter::number("ss_ratio", [100.0, 1.0, 1_000.0], "%", "of the window per round trip, far below the threshold"),
    Parameter::number("ca_ratio", [40.0, 1.0, 1_000.0], "%", "of the window per round trip, otherwise"),
];

/// The pacing that parameters ask for.
pub(super) fn ratios(parameters: &Parameters) -> Option<PacingRatios> {
    let percent = |name| parameters.number(name).round() as u64;
    parameters.flag("pacing").then(|| PacingRatios { slow_start: percent("ss_ratio"), avoidance: percent("ca_ratio") })
}

/// What the acks say.
#[derive(Debug)]
pub(super) struct Echoes {
    /// Bytes in a packet.
    mss: i64,
    /// Bytes in a segment as the count has it.
    pub rcv_mss: i64,
    /// Of the ack before (`prior_snd_una`).
    first_unacked: u64,
    /// Acks until the last echo is forgotten (`recent_sce`).
    recent: u32,
}

impl Echoes {
    /// None so far, of packets with so many bytes.
    pub(super) fn new(mss: Bytes, parameters: &Parameters) -> Self {
        let rcv_mss = parameters.number("rcv_mss").round() as i64;
        Self { mss: mss.count() as i64, rcv_mss, first_unacked: 0, recent: 0 }
    }

    /// Bytes for which an ack counts. One that acknowledges nothing in order counts for a segment.
    fn acked(&self, first_unacked: u64) -> i64 {
        match first_unacked - self.first_unacked {
            0 => self.rcv_mss,
            packets => packets as i64 * self.mss,
        }
    }

    /// Reads what an ack tells of marks; returns the bytes that count as marked by it, if it carries an echo.
    pub(super) fn read(&mut self, feedback: &EcnFeedback) -> Option<i64> {
        self.recent = self.recent.saturating_sub(1);
        feedback.is_sce_echo.then(|| self.acked(feedback.first_unacked))
    }

    /// The ack has been read; returns the bytes for which it counted.
    pub(super) fn take(&mut self, ack: &Ack<'_>) -> i64 {
        let acked = self.acked(ack.first_unacked);
        self.first_unacked = ack.first_unacked;
        acked
    }

    /// The echo just read counts, for as many acks as the window has packets.
    pub(super) fn remember(&mut self, window: &Window) {
        self.recent = window.cwnd;
    }

    /// True if an echo that counts came within the last window of acks.
    pub(super) fn is_recent(&self) -> bool {
        self.recent > 0
    }

    /// Bytes that move a window by one packet.
    pub(super) fn per_packet(&self, window: &Window) -> i64 {
        self.rcv_mss * i64::from(window.cwnd)
    }
}

/// A window that moves by fractions of a packet, up and down.
#[derive(Debug)]
pub(super) struct Counter {
    echoes: Echoes,
    /// What has not moved the window yet (`snd_cwnd_cnt`).
    bytes: i64,
    /// Of the window, which it follows step by step from 1 on, but not in slow start (`sqrt_cwnd`).
    root: u32,
    /// The largest window since the last reduction, slow start aside (`loss_cwnd`).
    largest: u32,
    /// The ack that is being taken carried an echo, or ended a reduction.
    is_counted: bool,
}

impl Counter {
    /// Nothing counted.
    pub(super) fn new(echoes: Echoes) -> Self {
        Self { echoes, bytes: 0, root: 1, largest: 0, is_counted: false }
    }

    /// Takes an echo. It takes `fall` off the count: what so many marked bytes cost a window of that size and root, in
    /// which the schemes differ. It also ends slow start.
    pub(super) fn fall(
        &mut self,
        window: &mut Window,
        feedback: &EcnFeedback,
        fall: impl FnOnce(i64, (u32, u32)) -> i64,
    ) {
        let marked = self.echoes.read(feedback);
        // One that comes with an echo of CE is none.
        let Some(marked) = marked.filter(|_| feedback.newly_marked == 0) else { return };
        self.is_counted = true;
        self.echoes.remember(window);
        if !is_reducing(feedback) {
            window.ssthresh = window.half();
        }
        self.largest = window.cwnd;
        self.bytes -= fall(marked, (window.cwnd, self.root));
        self.settle(window);
    }

    /// Takes any ack after that: without an echo and out of slow start it counts towards growth, whatever the transport
    /// makes of the window. A window that it reduces is its own; of all that is counted then only the root stays.
    pub(super) fn take(&mut self, window: &mut Window, ack: &Ack<'_>, ratios: Option<PacingRatios>) {
        let acked = self.echoes.take(ack);
        if std::mem::take(&mut self.is_counted) {
            return;
        }
        let is_growing = !window.is_in_slow_start() && is_limiting(window, ack, ratios);
        self.bytes += if is_growing { acked } else { 0 };
        self.settle(window);
        if is_growing {
            self.largest = self.largest.max(window.cwnd);
        }
    }

    /// Slow start; the packets that it leaves over count as segments.
    pub(super) fn grow(&mut self, window: &mut Window, ack: &Ack<'_>, ratios: Option<PacingRatios>) {
        if window.is_in_slow_start() && is_limiting(window, ack, ratios) {
            self.bytes += i64::from(window.slow_start(ack.newly_delivered)) * self.echoes.rcv_mss;
        }
    }

    /// Moves the window by what has come together. It never falls below two.
    fn settle(&mut self, window: &mut Window) {
        let per_packet = self.echoes.per_packet(window);
        while self.bytes <= -per_packet {
            self.bytes += per_packet;
            if window.cwnd > 2 {
                window.cwnd -= 1;
                self.root -= u32::from(self.root * self.root >= window.cwnd);
            }
        }
        while self.bytes >= per_packet {
            self.bytes -= per_packet;
            window.cwnd += 1;
            self.root += u32::from(self.root * self.root < window.cwnd);
        }
    }

    /// The threshold after CE or a loss, to which the transport reduces the window: half of the largest since the last,
    /// or what it is already. Without one the kernel of 2019 keeps what is in flight as it is (`tcp_cwnd_reduction`).
    pub(super) fn ssthresh(&self, window: &Window) -> u32 {
        match window.ssthresh {
            INFINITE_SSTHRESH => window.cwnd,
            ssthresh => ssthresh.max(self.largest / 2).max(2),
        }
    }

    /// The transport has reduced the window: it falls once more, by a quarter, or an eighth after a recent echo
    /// (`CA_EVENT_COMPLETE_CWR`).
    pub(super) fn on_reduced(&mut self, window: &mut Window) {
        let eighths = if self.echoes.is_recent() { 1 } else { 2 };
        self.restart(window);
        self.is_counted = true;
        window.cwnd = (window.cwnd - (window.cwnd * eighths / 8).max(1)).max(2);
        self.follow(window.cwnd);
    }

    /// The threshold after a timeout, half of the window (`CA_EVENT_LOSS`).
    pub(super) fn ssthresh_after_timeout(&mut self, window: &Window) -> u32 {
        let mut after = *window;
        self.restart(&mut after);
        self.follow((window.cwnd - (window.cwnd / 2).max(1)).max(2));
        after.ssthresh
    }

    /// The count begins anew, in a window out of slow start.
    fn restart(&mut self, window: &mut Window) {
        (self.bytes, self.largest) = (0, window.cwnd);
        window.ssthresh = window.half();
    }

    /// The root comes down to that of a window.
    fn follow(&mut self, cwnd: u32) {
        while self.root * self.root >= cwnd {
            self.root -= 1;
        }
    }
}

/// True while the transport reduces the window.
pub(super) fn is_reducing(feedback: &EcnFeedback) -> bool {
    matches!(feedback.state, State::Cwr | State::Recovery)
}

/// True if the network limits the sender. A paced one seldom fills its window, which in the kernel would end its
/// growth.
pub(super) fn is_limiting(window: &Window, ack: &Ack<'_>, ratios: Option<PacingRatios>) -> bool {
    window.is_limiting(ack) || (ratios.is_some() && !ack.rate.is_app_limited)
}

#[cfg(test)]
pub(super) mod tests;
