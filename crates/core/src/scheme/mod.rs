//! Congestion-control schemes: one file each, behind one trait.
//!
//! The transport tells a scheme what happened; the scheme answers with a congestion window and, if it has one, a pacing
//! rate. The events are those of Linux TCP (`struct tcp_congestion_ops`), so that a kernel controller can be followed
//! line by line, and carry enough for schemes that come from elsewhere.

mod allowance;
mod bbr;
mod bbr3;
mod catalogue;
mod copa;
mod cubic;
mod dctcp;
mod dctcp_sce;
mod event;
pub mod external;
mod fillp;
pub mod hystart;
pub mod hystart_plus_plus;
mod illinois;
mod indigo;
mod koho;
mod ledbat;
mod parameters;
mod pcc;
mod prague;
pub mod prr;
mod quic;
mod quic_bbr;
mod quic_cubic;
pub mod remy;
mod reno;
mod reno_sce;
mod sce;
mod sprout;
mod vegas;
mod verus;
mod westwood;
pub mod window;

pub use catalogue::{EcnNeed, SCHEMES, SchemeEntry, Validation, build, check, needed_ecn};
pub use event::{
    Ack, Acked, Cause, Congestion, Connected, EcnFeedback, Feedback, Lost, RateSample, Restart, Sent, State, Timeout,
    TxStart,
};
pub use parameters::{ParameterError, Parameters, Value};

use crate::random::RandomStream;
use crate::units::{Bytes, Instant, Rate};

/// The initial window (RFC 6928), packets.
pub const INITIAL_WINDOW: u32 = 10;

/// How much leaves per smoothed round trip, in percent of the window (Linux `tcp_pacing_ss_ratio`,
/// `tcp_pacing_ca_ratio`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacingRatios {
    /// While the window is far below the slow-start threshold.
    pub slow_start: u64,
    /// Afterwards.
    pub avoidance: u64,
}

impl PacingRatios {
    /// The kernel's defaults.
    pub const LINUX: Self = Self { slow_start: 200, avoidance: 120 };
}

/// What a scheme is told when a flow starts.
#[derive(Debug)]
pub struct Setup {
    /// Payload of a full packet.
    pub mss: Bytes,
    /// What Linux takes for it ([`StreamConfig::mss_cache`](crate::transport::stream::StreamConfig::mss_cache)).
    pub mss_cache: Bytes,
    /// IP size of a full packet.
    pub packet_size: Bytes,
    /// True if the transport paces a scheme that has no rate of its own.
    pub is_paced: bool,
    /// The scheme's own random numbers.
    pub random: RandomStream,
    /// Parameters as the experiment states them; see [`Parameters`].
    pub parameters: Parameters,
}

/// A congestion-control scheme. Windows and packet counts are in packets of one MSS.
pub trait Scheme: Send {
    /// Congestion window: packets that may be in flight.
    fn cwnd(&self) -> u32;

    /// Whether the window lets one more packet leave while so many are in flight. A scheme that counts bytes keeps an
    /// account of its own.
    fn has_room(&self, in_flight: u32) -> bool {
        in_flight < self.cwnd()
    }

    /// The rate at which packets are to leave, IP headers included but for [`Scheme::unpaced_header`], and never zero;
    /// `None` if the scheme leaves timing to the returning acks.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// The payload of the next packet at most, for a scheme whose packets have any size; `None` if they are whole,
    /// which is asked once.
    fn next_size(&self) -> Option<Bytes> {
        None
    }

    /// Bytes of every packet's headers that [`Scheme::pacing_rate`] does not count; it is asked once.
    fn unpaced_header(&self) -> Bytes {
        Bytes::ZERO
    }

    /// Before this time no packet is to leave, which an ack may change; [`Scheme::pacing_rate`] then only informs.
    /// Always `None` if the transport counts the gaps.
    fn next_departure(&self) -> Option<Instant> {
        None
    }

    /// How the transport is to pace a scheme that has no rate of its own, whatever a flow asks for; it is asked once.
    fn pacing_ratios(&self) -> Option<PacingRatios> {
        None
    }

    /// Slow-start threshold in packets, if the scheme has one.
    fn ssthresh(&self) -> Option<u32> {
        None
    }

    /// The connection is there: the first event, unless the protocol has no handshake. A scheme that does not begin
    /// with what TCP grants need not listen.
    fn on_connected(&mut self, _connected: &Connected) {}

    /// A packet leaves. Whatever is returned comes back with the packet's ack or loss.
    fn on_sent(&mut self, _sent: &Sent) -> u64 {
        0
    }

    /// What an acknowledgement tells of marks. Called before [`Scheme::on_acked`] of the same ack, and only if the
    /// stream uses ECN.
    fn on_ecn_feedback(&mut self, _feedback: &EcnFeedback) {}

    /// What an acknowledgement reports as delivered. Called before [`Scheme::on_congestion`] and all else that follows
    /// from the same ack (`pkts_acked`).
    fn on_acked(&mut self, _acked: &Acked) {}

    /// An acknowledgement was processed: the one place where windows grow. Called after [`Scheme::on_congestion`] of
    /// the same ack.
    fn on_ack(&mut self, ack: &Ack<'_>);

    /// Congestion, at most once per window of data: the transport enters recovery because of a loss or an ECN echo.
    fn on_congestion(&mut self, congestion: &Congestion);

    /// A loss while the window is being reduced for a mark or a lost tail: the transport enters recovery, but begins no
    /// new reduction, and none may be undone (`set_state`, where `tcp_enter_recovery` finds one under way).
    fn on_loss_while_reducing(&mut self, _congestion: &Congestion) {}

    /// A packet was declared lost.
    fn on_lost(&mut self, _lost: &Lost) {}

    /// The retransmission timer expired: everything in flight is taken for lost.
    fn on_timeout(&mut self, timeout: &Timeout);

    /// A reduction has run its course (`CA_EVENT_COMPLETE_CWR`), also one that was undone meanwhile;
    /// [`Scheme::on_recovered`] follows. A timeout ends a reduction before that.
    fn on_reduced(&mut self, _now: Instant) {}

    /// Recovery is over: everything that was outstanding when it began has been acknowledged.
    fn on_recovered(&mut self, _now: Instant) {}

    /// The last congestion event or timeout proved spurious: what was reduced may be restored.
    fn on_undo(&mut self, _now: Instant) {}

    /// Data goes out again after everything had been acknowledged.
    fn on_restart(&mut self, _restart: &Restart) {}

    /// Data, new or not, goes out while nothing is in flight (`CA_EVENT_TX_START`); after [`Scheme::on_restart`], if
    /// both are due.
    fn on_tx_start(&mut self, _start: &TxStart) {}

    /// The application has nothing to send, and the window would let it; told again and again while that lasts. Only
    /// with [`Feedback::Numbered`].
    fn on_app_limited(&mut self) {}

    /// Whether the scheme is ever to be woken by a timer of its own; it is asked once.
    fn has_timer(&self) -> bool {
        false
    }

    /// When [`Scheme::on_timer`] wants to be called; `None` for never, and always without a [timer](Scheme::has_timer).
    fn next_timer(&self) -> Option<Instant> {
        None
    }

    /// The time of [`Scheme::next_timer`] has come.
    fn on_timer(&mut self, _now: Instant) {}

    /// What the scheme's own protocol lets it know.
    fn feedback(&self) -> Feedback {
        Feedback::Tcp
    }

    /// Whether the retransmission timer takes all that is overdue for lost, and tests with new data whether it went off
    /// in vain, as TCP's does. If not, it only repeats the first packet outstanding, and acks tell what else is lost
    /// (RFC 9002, section 6.2). It is asked once.
    fn loses_flight_at_timeout(&self) -> bool {
        true
    }

    /// Reports inner state under the names that the scheme's [`crate::info::Info`] declares.
    fn telemetry(&self, _report: &mut dyn FnMut(&'static str, f64)) {}
}
