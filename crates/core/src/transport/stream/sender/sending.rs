//! What a sender sends: what a timeout or a probe calls for, what is lost, what is new.
//!
//! **Source.** Linux `net/ipv4/tcp_output.c` (`tcp_write_xmit`, `tcp_xmit_retransmit_queue`, `tcp_retransmit_skb`).

use super::{Forced, Sender};
use crate::packet::{Ecn, Packet};
use crate::packet_pool::PacketPool;
use crate::scheme::{Feedback, Restart, Sent, TxStart};
use crate::transport::stream::EcnMode;
use crate::transport::stream::recovery::Retransmit;
use crate::transport::stream::segment::Segment;
use crate::transport::stream::timer::Purpose;
use crate::units::{Bytes, Instant};

impl Sender {
    /// What a timeout or a probe sends at once.
    pub(super) fn poll_forced<Q: From<Segment> + Default>(
        &mut self,
        now: Instant,
        pool: &mut PacketPool<Q>,
    ) -> Option<Box<Packet<Q>>> {
        match self.forced.take()? {
            Forced::FirstSegment => self.retransmit(self.scoreboard.first(), now, pool),
            Forced::Probe => {
                let new = self.send_new(now, pool);
                let is_retransmission = new.is_none();
                let probe = new.or_else(|| self.send_again(self.scoreboard.next().checked_sub(1)?, now, pool));
                if probe.is_some() {
                    self.on_probe_sent(is_retransmission);
                    self.timer = None;
                    self.rearm_retransmission_timer(now);
                }
                probe
            }
        }
    }

    /// What the window allows: first what is lost, then what is new.
    #[inline(always)]
    pub(super) fn poll_window<Q: From<Segment> + Default>(
        &mut self,
        now: Instant,
        pool: &mut PacketPool<Q>,
    ) -> Option<Box<Packet<Q>>> {
        if self.is_source_silent {
            self.note_write(now);
        }
        let has_room = self.scheme.has_room(self.scoreboard.in_flight());
        if self.next_departure() > now {
            if !has_room {
                self.note_usage(true, now);
            }
            return None;
        }
        if has_room {
            if self.recovery.retransmit == Retransmit::First
                && let Some(sequence) = self.scoreboard.next_to_retransmit()
            {
                return self.retransmit_lost(sequence, now, pool);
            }
            if let Some(packet) = self.send_new(now, pool) {
                return Some(packet);
            }
            self.tell_if_application_is_silent(now);
            if self.recovery.retransmit == Retransmit::Last {
                self.give_up_frto();
                return self
                    .scoreboard
                    .next_to_retransmit()
                    .and_then(|sequence| self.retransmit_lost(sequence, now, pool));
            }
        }
        self.note_usage(!has_room, now);
        None
    }

    #[inline(always)]
    fn send_new<Q: From<Segment> + Default>(
        &mut self,
        now: Instant,
        pool: &mut PacketPool<Q>,
    ) -> Option<Box<Packet<Q>>> {
        let length = self.ask_application(now).min(self.largest_payload());
        if length == Bytes::ZERO || self.scoreboard.next() >= self.window_end() {
            return None;
        }
        let is_idle = self.scoreboard.outstanding() == 0;
        if is_idle {
            let (idle, is_app_limited) = (now.since(self.last_sent), self.sampler.is_app_limited());
            self.scheme.on_restart(&Restart { now, idle, rto: self.rtt.rto(), is_app_limited });
        }
        self.tell_if_nothing_is_in_flight(now);
        let snapshot = self.sampler.on_sent(now, is_idle);
        let scheme_state = self.scheme.on_sent(&Sent {
            now,
            size: length,
            is_retransmission: false,
            in_flight: self.scoreboard.in_flight() + 1,
            delivered: self.sampler.delivered(),
        });
        let sequence = self.scoreboard.next();
        self.pushes.before(sequence, self.scoreboard.first());
        self.scoreboard.push(now, length, snapshot, scheme_state);
        self.source.take(length);
        self.is_source_silent = self.source.next_wakeup().is_some();
        self.usage.has_sent = true;
        self.after_sending(now, length);
        if self.finds_nothing_queued {
            self.note_limit(now);
        }
        self.tell_if_application_is_silent(now);
        let must_rearm = is_idle || self.timer.is_some_and(|timer| timer.purpose == Purpose::LossProbe);
        if !self.schedule_loss_probe(now, false) && must_rearm {
            self.rearm_retransmission_timer(now);
        }
        // With accurate ECN the bit belongs to a counter (`tcp_ecn_queue_cwr`).
        let is_window_reduced = matches!(self.config.ecn, EcnMode::Classic | EcnMode::Sce)
            && std::mem::take(&mut self.must_announce_reduction);
        let ecn = if self.config.ecn == EcnMode::Off { Ecn::NotEct } else { self.config.ect.into() };
        if self.next_departure() > now {
            // The pacer ends what is sent at once, and with a packet of it the window may be full or not. What waits
            // for it leaves as ever, the lost first (`tcp_tsq_write`).
            self.recovery.retransmit = Retransmit::First;
            self.note_usage(!self.scheme.has_room(self.scoreboard.in_flight()), now);
        }
        Some(self.packet(
            now,
            length + self.config.header,
            ecn,
            false,
            self.data(sequence, length, is_window_reduced),
            pool,
        ))
    }

    #[inline(always)]
    fn largest_payload(&self) -> Bytes {
        let own = if self.scheme_sizes { self.scheme.next_size() } else { None };
        own.map_or(self.config.mss, |size| size.clamp(Bytes::new(1), self.config.mss))
    }

    /// Data is about to leave (`tcp_event_data_sent`).
    fn tell_if_nothing_is_in_flight(&mut self, now: Instant) {
        if self.scoreboard.in_flight() == 0 {
            self.scheme.on_tx_start(&TxStart {
                now,
                idle: now.since(self.last_sent),
                delivered: self.sampler.delivered(),
                next_sequence: self.scoreboard.next(),
                is_app_limited: self.sampler.is_app_limited(),
            });
        }
    }

    /// What the window allows of the lost (`tcp_xmit_retransmit_queue`).
    fn retransmit_lost<Q: From<Segment> + Default>(
        &mut self,
        sequence: u64,
        now: Instant,
        pool: &mut PacketPool<Q>,
    ) -> Option<Box<Packet<Q>>> {
        let packet = self.retransmit(sequence, now, pool)?;
        if sequence == self.scoreboard.first() && self.timer.is_none_or(|timer| timer.purpose != Purpose::Reordering) {
            self.rearm_retransmission_timer(now);
        }
        Some(packet)
    }

    /// A segment that counts as lost leaves again (`tcp_retransmit_skb`).
    fn retransmit<Q: From<Segment> + Default>(
        &mut self,
        sequence: u64,
        now: Instant,
        pool: &mut PacketPool<Q>,
    ) -> Option<Box<Packet<Q>>> {
        let packet = self.send_again(sequence, now, pool)?;
        self.recovery.undo.on_retransmission(now);
        Some(packet)
    }

    /// Any segment does (`__tcp_retransmit_skb`).
    fn send_again<Q: From<Segment> + Default>(
        &mut self,
        sequence: u64,
        now: Instant,
        pool: &mut PacketPool<Q>,
    ) -> Option<Box<Packet<Q>>> {
        let segment = *self.scoreboard.get(sequence)?;
        let length = segment.length;
        self.tell_if_nothing_is_in_flight(now);
        let snapshot = self.sampler.on_sent(now, false);
        self.stats.retransmissions += 1;
        let scheme_state = self.scheme.on_sent(&Sent {
            now,
            size: length,
            is_retransmission: true,
            in_flight: self.scoreboard.in_flight() + 1,
            delivered: self.sampler.delivered(),
        });
        if self.config.feedback == Feedback::EveryPacket {
            self.resent.insert(sequence, &segment, now, scheme_state, self.scoreboard.first());
        }
        self.scoreboard.mark_sent_again(sequence, now, snapshot, scheme_state);
        self.after_sending(now, length);
        let ecn = self.config.ecn.control(self.config.ect);
        let segment = self.data(sequence, length, false);
        Some(self.packet(now, length + self.config.header, ecn, true, segment, pool))
    }

    /// What leaves of a segment that was sent before, or is now; the last of a transfer is pushed in any case
    /// (`tcp_push`).
    #[inline(always)]
    fn data(&self, sequence: u64, length: Bytes, is_window_reduced: bool) -> Segment {
        let is_last = self.source.is_finished() && sequence + 1 == self.scoreboard.next();
        let is_pushed = is_last || self.pushes.contains(sequence);
        Segment::Data { sequence, length, timestamp_echo: self.newest_ack, is_window_reduced, is_pushed }
    }

    #[inline(always)]
    fn after_sending(&mut self, now: Instant, length: Bytes) {
        self.last_sent = now;
        let rate = if self.scheme_paces { self.config.max_pacing_rate } else { self.pacing_rate() };
        self.pacer.on_sent(now, (length + self.config.header).saturating_sub(self.unpaced_header), rate);
    }

    // Built where it stays, see [`PacketPool::put`].
    #[inline(always)]
    pub(super) fn packet<Q: From<Segment> + Default>(
        &mut self,
        now: Instant,
        size: Bytes,
        ecn: Ecn,
        is_retransmission: bool,
        payload: Segment,
        pool: &mut PacketPool<Q>,
    ) -> Box<Packet<Q>> {
        let number = self.next_packet;
        self.next_packet += 1;
        let mut packet = Packet::new(self.flow, true, number, size, now, payload.into());
        packet.is_retransmission = is_retransmission;
        packet.ecn = ecn;
        pool.put(packet)
    }
}
