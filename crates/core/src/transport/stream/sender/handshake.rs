//! How a sender connects: the requests that it repeats, and the answer.
//!
//! **Source.** RFC 9293, section 3.5; Linux `net/ipv4/tcp_output.c` (`tcp_connect`),
//! `tcp_timer.c` (`tcp_retransmit_timer`) and `tcp_input.c` (`tcp_rcv_synsent_state_process`).

use super::Sender;
use crate::endpoint::Endpoint;
use crate::packet::{Ecn, Packet};
use crate::packet_pool::PacketPool;
use crate::scheme::{Connected, INITIAL_WINDOW};
use crate::transport::stream::segment::{HANDSHAKE_SIZE, Segment, stamped};
use crate::transport::stream::{EcnMode, wheel};
use crate::units::{Duration, Instant};

/// SYNs that are repeated after a second each, before the wait doubles (`tcp_syn_linear_timeouts`).
const LINEAR_SYNS: u32 = 4;
/// Where it takes more of them, the first window is one packet (`tcp_init_transfer`).
const SYNS_OF_FULL_WINDOW: u32 = 2;

/// How far the connection has come.
#[derive(Clone, Copy, Debug)]
pub(super) enum Phase {
    /// A SYN leaves at this time, after `sent` others.
    Connecting {
        first_syn: Instant,
        next_syn: Instant,
        sent: u32,
    },
    /// The connection is there, and a bare ack is to be sent: the last packet of the handshake, or one that answers
    /// what could not be taken.
    Confirming,
    Established,
}

impl Sender {
    /// A bare ack is to leave at once.
    pub(in crate::transport::stream) fn confirm(&mut self) {
        self.phase = Phase::Confirming;
    }

    /// The next SYN, when its time has come, or the first packet of data where there is none.
    #[cold]
    pub(super) fn poll_handshake<Q: From<Segment> + Default>(
        &mut self,
        now: Instant,
        pool: &mut PacketPool<Q>,
    ) -> Option<Box<Packet<Q>>> {
        let Phase::Connecting { first_syn, next_syn, sent } = self.phase else { return None };
        if now < next_syn {
            return None;
        }
        if !self.config.has_handshake {
            self.phase = Phase::Established;
            self.scheme.on_connected(&Connected { initial_window: INITIAL_WINDOW, srtt: None });
            return self.poll(now, pool);
        }
        self.last_sent = now;
        let wait = Duration::from_secs(1 << sent.saturating_sub(LINEAR_SYNS).min(6));
        let first_syn = if sent == 0 { now } else { first_syn };
        self.stats.timeouts += u64::from(sent > 0);
        self.phase = Phase::Connecting { first_syn, next_syn: wheel::expiry(now, wait), sent: sent + 1 };
        // The codepoint stays when nothing is asked for any more (`tcp_ecn_send_syn`, `tcp_ecn_clear_syn`).
        let ecn = if self.config.has_capable_syn { self.config.ect.into() } else { Ecn::NotEct };
        let syn = Segment::Syn { ecn: self.config.ecn.asked_after(sent) };
        Some(self.packet(now, HANDSHAKE_SIZE, ecn, false, syn, pool))
    }

    #[cold]
    pub(super) fn on_connected(&mut self, ecn: EcnMode, timestamp_echo: Instant, now: Instant) {
        let Phase::Connecting { first_syn, sent, .. } = self.phase else {
            // A repeated answer is confirmed again (RFC 5961, section 4.2).
            self.answer(now);
            return;
        };
        self.config.ecn = ecn;
        // Which of several SYNs is answered only its time stamp tells.
        let is_ambiguous = sent > 1;
        let rtt = if is_ambiguous { stamped(timestamp_echo, now) } else { now.since(timestamp_echo) };
        self.rtt.on_min_sample(rtt, false, now);
        self.rtt.on_sample(rtt, 0, 0);
        self.confirm();
        self.last_sent = now;
        // Where the first SYN is answered, the others were needless (`tcp_try_undo_spurious_syn`).
        let is_path_lossy = sent > SYNS_OF_FULL_WINDOW && timestamp_echo != first_syn;
        let initial_window = if is_path_lossy { 1 } else { INITIAL_WINDOW };
        self.scheme.on_connected(&Connected { initial_window, srtt: Some(self.rtt.srtt()) });
        self.update_internal_rate();
    }
}
