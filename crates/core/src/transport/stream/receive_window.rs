//! How the receive window widens, which decides when acks begin to be delayed.
//!
//! **Source.** Linux `net/ipv4/tcp_input.c`: `tcp_grow_window` widens the window by two segments for each that arrives,
//! as long as what the buffer has left allows it, and asks for a quick ack each time; `tcp_measure_rcv_mss` learns from
//! the first segment how much of the buffer payload can fill. The application reads several segments at a time, so that
//! those it has not read yet take room too.

use crate::units::Bytes;

/// The window in the end, of a receiver with a buffer of 32 MiB and full packets of 1500 bytes.
const DEFAULT_WINDOW: u64 = 21_233_664;
/// What a segment takes of the buffer beside its payload: `struct sk_buff`, `skb_shared_info`, and room for headers.
const OVERHEAD: u64 = 832;
/// Payload over buffer is counted in parts of this (`TCP_RMEM_TO_WIN_SCALE`); before the first segment it is a half.
const RATIO_UNIT: u64 = 256;
/// The time stamp, which counts as payload in the announced MSS.
const TIMESTAMP_OPTION: u64 = 12;
/// Segments that the application waits for before it reads.
const READ_SEGMENTS: u64 = 8;

/// The window that a receiver would grant (`rcv_ssthresh`), and what its buffer holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceiveWindow {
    granted: u64,
    buffer: u64,
    ratio: u64,
    mss: u64,
    /// Segments in order that the application has not read yet.
    unread: u64,
}

impl ReceiveWindow {
    /// The window of a receiver that grants `limit` in the end, for segments of `mss`.
    pub(super) fn new(limit: Option<Bytes>, mss: Bytes) -> Self {
        let mss = mss.count();
        let ratio = (mss * RATIO_UNIT / (mss + OVERHEAD)).max(1);
        let buffer = limit.map_or(DEFAULT_WINDOW, |limit| limit.count().min(DEFAULT_WINDOW)) * RATIO_UNIT / ratio;
        let half = buffer / 2;
        let granted = (half - half % mss).min(half.saturating_sub(mss + TIMESTAMP_OPTION));
        Self { granted, buffer, ratio, mss, unread: 0 }
    }

    /// A segment arrived in order; `waiting` others wait behind holes. True if the window widens.
    pub(super) fn on_next(&mut self, waiting: u64) -> bool {
        self.unread += 1;
        self.widen(self.unread + waiting)
    }

    /// A segment arrived out of order, `waiting` others before it. True if the window widens.
    pub(super) fn on_later(&mut self, waiting: u64) -> bool {
        self.widen(self.unread + waiting)
    }

    /// Segments that waited can be read too, now that the hole before them is closed. True if the application reads.
    pub(super) fn on_released(&mut self, segments: u64) -> bool {
        self.unread += segments;
        let is_read = self.unread >= READ_SEGMENTS;
        if is_read {
            self.unread = 0;
        }
        is_read
    }

    fn widen(&mut self, held: u64) -> bool {
        let free = self.buffer.saturating_sub(held * (self.mss + OVERHEAD));
        let room = (free * self.ratio / RATIO_UNIT).saturating_sub(self.granted);
        self.granted += room.min(2 * self.mss);
        room > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of the segments, from 1, that widen the window of a receiver that gets them all in order.
    fn widening(mut window: ReceiveWindow, count: u64) -> Vec<u64> {
        (1..=count)
            .filter(|_| {
                let is_wider = window.on_next(0);
                window.on_released(0);
                is_wider
            })
            .collect()
    }

    #[test]
    fn the_last_steps_depend_on_what_is_not_read() {
        let window = ReceiveWindow::new(None, Bytes::new(1_448));
        // 16 MiB less one segment at first, and 2896 bytes a step.
        assert_eq!(window.granted, 16_777_216 - 1_460);
        let found = widening(window, 2_000);
        assert_eq!(found[..1_539], (1..=1_539).collect::<Vec<_>>());
        assert_eq!(found[1_539..], [1_545], "the first of eight leaves most room");
    }

    #[test]
    fn segments_behind_a_hole_take_room() {
        let mut window = ReceiveWindow::new(Some(Bytes::new(100_000)), Bytes::new(1_448));
        assert!(window.on_next(0));
        assert!(!window.on_next(20));
        assert!(window.on_later(0));
    }

    #[test]
    fn a_tiny_window_never_widens_for_long() {
        let window = ReceiveWindow::new(Some(Bytes::new(1_448)), Bytes::new(1_448));
        assert!(widening(window, 100).len() < 2);
    }
}
