//! A reliable byte stream in the image of a current Linux TCP: SACK, RACK-TLP, PRR, F-RTO, delayed acks, delivery-rate
//! samples.
//!
//! Sequence numbers count segments, not bytes: a segment is cut once, when it is first sent, and never changes
//! afterwards. Everything that decides follows Linux `net/ipv4/tcp_input.c`, `tcp_output.c`, `tcp_timer.c`,
//! `tcp_recovery.c` and `tcp.c`; names of functions stand beside the parts. What is left out: segmentation
//! offload, urgent data, simultaneous open, closing.
//!
//! Read first: [`Sender`] and [`Receiver`], two [`crate::endpoint::Endpoint`]s that exchange [`Segment`]s.

mod ack_policy;
mod acking;
mod autotuning;
mod ecn;
mod old_ack;
mod pacer;
mod positions;
mod pushes;
mod rack;
mod range_set;
mod rate_sampler;
mod receive_window;
mod receiver;
mod recent_blocks;
mod recovery;
mod request;
mod resent;
mod rtt;
mod scoreboard;
mod segment;
mod sender;
mod timer;
mod undo;
mod wheel;

pub use ecn::{EcnMode, Ect};
pub use positions::{Positions, answer_flags, data_flags, echo_flags, request_flags};
pub use pushes::PIECE;
pub use receiver::{Receiver, ReceiverStats};
pub use segment::{AckSegment, Range, Segment};
pub use sender::{Sender, SenderStats};

use crate::scheme::Feedback;
use crate::units::{Bytes, Duration, Rate};

/// The application that receives a bulk flow waits for so many segments, of those that may carry most, before it reads.
pub const READ_SEGMENTS: u64 = 8;

/// How a stream paces packets of a scheme that has no rate of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pacing {
    /// Only schemes with a rate of their own are paced; the others send when an ack allows it.
    #[default]
    Auto,
    /// The others are paced too, at 200 % of window per round trip in slow start and 120 % otherwise (Linux
    /// `tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`).
    Internal,
}

/// When the receiver acknowledges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AckMode {
    /// As Linux: delayed, quick and compressed acks.
    #[default]
    Delayed,
    /// Every packet at once.
    Each,
}

/// What both ends of a stream agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamConfig {
    /// Payload of a full segment.
    pub mss: Bytes,
    /// IP and TCP headers with the timestamp option.
    pub header: Bytes,
    /// The most that the receiver lets be outstanding; `None` for no limit.
    pub receive_window: Option<Bytes>,
    /// Explicit congestion notification.
    pub ecn: EcnMode,
    /// The codepoint of packets that may be marked.
    pub ect: Ect,
    /// Data waits until the receiver has agreed to connect; else it leaves at once, as in a connection of QUIC that is
    /// resumed (RFC 9001, section 4.6), and what the two would agree on is known.
    pub has_handshake: bool,
    /// The request to connect may be marked too.
    pub has_capable_syn: bool,
    /// Pacing of schemes without a rate.
    pub pacing: Pacing,
    /// The most at which packets are paced, in bytes of IP (`SO_MAX_PACING_RATE`); schemes without a rate are then
    /// paced, too.
    pub max_pacing_rate: Option<Rate>,
    /// When the receiver acknowledges.
    pub acks: AckMode,
    /// Its application reads whatever arrives; else it waits for [`READ_SEGMENTS`].
    pub reads_at_once: bool,
    /// Packets that the pacer releases back to back.
    pub burst_packets: u32,
    /// What an ack lets go waits for a random time up to this (ns-2's `overhead_`).
    pub send_jitter: Duration,
    /// When acks leave, and how exactly they tell times.
    pub feedback: Feedback,
}

impl StreamConfig {
    /// MSS 1448 in packets of 1500 bytes, no limits, no ECN.
    pub const DEFAULT: Self = Self {
        mss: Bytes::new(1_448),
        header: Bytes::new(52),
        receive_window: None,
        ecn: EcnMode::Off,
        ect: Ect::Ect0,
        has_handshake: true,
        has_capable_syn: false,
        pacing: Pacing::Auto,
        max_pacing_rate: None,
        acks: AckMode::Delayed,
        reads_at_once: false,
        burst_packets: 1,
        send_jitter: Duration::ZERO,
        feedback: Feedback::Tcp,
    };

    /// With this mode of ECN; the counters of accurate ECN take room that payload had.
    pub fn with_ecn(self, ecn: EcnMode, ect: Ect) -> Self {
        let counts = if ecn == EcnMode::Accurate { segment::ACCECN_OPTION } else { Bytes::ZERO };
        Self { ecn, ect, mss: self.mss.saturating_sub(counts).max(Bytes::new(1)), header: self.header + counts, ..self }
    }

    /// Whether schemes without a rate of their own are paced.
    pub fn is_paced(&self) -> bool {
        self.pacing == Pacing::Internal || self.max_pacing_rate.is_some()
    }

    /// Segments that may be outstanding with a `window` as a header has it: one at least, which stands for the probe of
    /// a window that is closed.
    fn receive_window_segments(&self, window: u16) -> u64 {
        let most = match self.feedback {
            Feedback::Tcp if window < receive_window::UNBOUNDED => receive_window::bytes(window, self.receive_window),
            _ => self.receive_window.map_or(u64::MAX, Bytes::count),
        };
        (most / self.mss.count()).max(1)
    }

    /// What Linux takes for the payload of a full segment where it does not look at its own options: the counters of
    /// accurate ECN have no room in it (`mss_cache`, and `advmss` of the receiver).
    pub fn mss_cache(&self) -> Bytes {
        if self.ecn == EcnMode::Accurate { self.mss + segment::ACCECN_OPTION } else { self.mss }
    }

    /// As much as the receiving application waits for before it reads.
    fn waits_for(&self) -> Bytes {
        if self.reads_at_once { Bytes::new(1) } else { self.mss_cache() * READ_SEGMENTS }
    }

    /// IP size of a full segment.
    pub fn packet_size(&self) -> Bytes {
        self.mss + self.header
    }
}
