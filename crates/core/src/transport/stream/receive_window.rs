//! The receive window: when it widens, which decides when acks begin to be delayed, and what acks say of it.
//!
//! **Source.** Linux `net/ipv4/tcp_input.c`: `tcp_grow_window` widens the window by two segments for each that arrives,
//! as long as what the buffer has left allows it, and asks for a quick ack each time; `tcp_measure_rcv_mss` learns from
//! the first segment how much of the buffer payload can fill. The application reads several segments at a time, so that
//! those it has not read yet take room too. `tcp_select_window` grants what is free, in whole steps of the window
//! scale, and never takes back what it has granted: only after many segments have become readable at once is the window
//! smaller. A limit is no smaller buffer, but a bound of what is granted (`TCP_WINDOW_CLAMP`), from the beginning on.
//! The kernel forgets it when the first segment tells how large segments are (`tcp_update_scaling_ratio`), and the
//! application sets it anew.

use crate::units::Bytes;

/// The window in the end, of a receiver with a buffer of 32 MiB and full packets of 1500 bytes.
const DEFAULT_WINDOW: u64 = 21_233_664;
/// What a segment takes of the buffer beside its payload: `struct sk_buff`, `skb_shared_info`, and room for headers.
const OVERHEAD: u64 = 832;
/// Payload over buffer is counted in parts of this (`TCP_RMEM_TO_WIN_SCALE`); before the first segment it is a half.
const RATIO_UNIT: u64 = 256;
/// Segments that the application waits for before it reads.
const READ_SEGMENTS: u64 = 8;
/// The most that a receiver may have of memory (`tcp_rmem[2]`), for which the window is scaled.
const MAX_MEMORY: u64 = 1 << 28;
/// Bits of a window without the sign, which a scaled one may fill.
const WINDOW_BITS: u32 = 15;

/// The window that a receiver would grant (`rcv_ssthresh`), and what its buffer holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceiveWindow {
    granted: u64,
    limit: u64,
    has_measured: bool,
    buffer: u64,
    ratio: u64,
    mss: u64,
    /// Segments in order that the application has not read yet.
    unread: u64,
    /// Segments that took room when the last one had arrived, those included that are read since.
    held: u64,
    /// Bits by which the header's window is scaled, and where the window granted last ends, bytes from the start.
    scale: u32,
    right_edge: u64,
}

impl ReceiveWindow {
    /// The window of a receiver that grants `limit` in the end, for segments of `mss`.
    pub(super) fn new(limit: Option<Bytes>, mss: Bytes) -> Self {
        let mss = mss.count();
        let ratio = (mss * RATIO_UNIT / (mss + OVERHEAD)).max(1);
        let buffer = DEFAULT_WINDOW * RATIO_UNIT / ratio;
        let half = buffer / 2;
        let limit = limit.map_or(u64::MAX, Bytes::count);
        let granted = (half - half % mss).min(half.saturating_sub(mss)).min(limit);
        let scale = limit.clamp(1, MAX_MEMORY).ilog2();
        Self {
            granted,
            limit,
            has_measured: false,
            buffer,
            ratio,
            mss,
            unread: 0,
            held: 0,
            scale: scale.saturating_sub(WINDOW_BITS),
            right_edge: granted,
        }
    }

    /// A segment arrived in order; `waiting` others wait behind holes. True if the window widens.
    pub(super) fn on_next(&mut self, waiting: u64) -> bool {
        self.unread += 1;
        self.widen(self.unread + waiting)
    }

    /// A segment arrived out of order, `waiting` others before it. True if the window widens.
    pub(super) fn on_later(&mut self, waiting: u64) -> bool {
        self.held = self.unread + waiting + 1;
        self.widen(self.unread + waiting)
    }

    /// Segments that waited can be read too, now that the hole before them is closed; `waiting` others cannot. True if
    /// the application reads.
    pub(super) fn on_released(&mut self, segments: u64, waiting: u64) -> bool {
        self.unread += segments;
        self.held = self.unread + waiting;
        let is_read = self.unread >= READ_SEGMENTS;
        if is_read {
            self.unread = 0;
        }
        is_read
    }

    fn widen(&mut self, held: u64) -> bool {
        let limit = if std::mem::replace(&mut self.has_measured, true) { self.limit } else { u64::MAX };
        let room = self.space(held).min(limit).saturating_sub(self.granted);
        self.granted = (self.granted + room.min(2 * self.mss)).min(self.limit);
        room > 0
    }

    /// Payload that fits into what so many segments leave of the buffer (`tcp_space`).
    fn space(&self, held: u64) -> u64 {
        self.buffer.saturating_sub(held * (self.mss + OVERHEAD)) * self.ratio / RATIO_UNIT
    }

    /// Segments of what is granted.
    pub(super) fn segments(&self) -> u64 {
        self.granted / self.mss
    }

    /// The window in the header of an ack of everything before segment `next`, scaled (`tcp_select_window`).
    pub(super) fn advertise(&mut self, next: u64) -> u64 {
        let (position, step) = (next * self.mss, 1 << self.scale);
        let left = self.right_edge.saturating_sub(position);
        let window = self.space(self.held).min(self.granted).max(left).next_multiple_of(step);
        self.right_edge = position + window;
        window >> self.scale
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
                window.on_released(0, 0);
                is_wider
            })
            .collect()
    }

    #[test]
    fn the_last_steps_depend_on_what_is_not_read() {
        let window = ReceiveWindow::new(None, Bytes::new(1_448));
        // 16 MiB less one segment at first, and 2896 bytes a step.
        assert_eq!(window.granted, 16_777_216 - 1_448);
        let found = widening(window, 2_000);
        assert_eq!(found[..1_539], (1..=1_539).collect::<Vec<_>>());
        assert_eq!(found[1_539..], [1_545], "the first of eight leaves most room");
    }

    #[test]
    fn the_207th_segment_reaches_the_next_step() {
        let mut window = ReceiveWindow::new(None, Bytes::new(1_448));
        let mut arrive = |next| {
            window.on_next(0);
            window.on_released(0, 0);
            window.advertise(next)
        };
        let windows = (1..=208).map(&mut arrive).collect::<Vec<_>>();
        assert_eq!(windows[204..], [2_121, 2_121, 2_122, 2_122], "as a receiver of Linux 7.3 tells");
    }

    /// What a receiver of Linux 7.3 tells in its first acks, in units of 8 KiB.
    const WINDOWS: [u64; 12] = [2_049, 2_049, 2_049, 2_050, 2_050, 2_050, 2_051, 2_051, 2_052, 2_052, 2_052, 2_053];

    #[test]
    fn the_window_grows_by_steps_and_is_smaller_after_many_segments_at_once() {
        let mut window = ReceiveWindow::new(None, Bytes::new(1_448));
        let mut arrive = |next, released| {
            window.on_next(released);
            window.on_released(released, 0);
            window.advertise(next)
        };
        assert_eq!((1..=12).map(|next| arrive(next, 0)).collect::<Vec<_>>(), WINDOWS);
        (13..=1_700).for_each(|next| assert!((2_049..=2_592).contains(&arrive(next, 0))));
        assert_eq!([arrive(1_731, 30), arrive(1_732, 0), arrive(1_734, 1)], [2_587, 2_592, 2_592]);
    }

    #[test]
    fn segments_behind_a_hole_take_room() {
        let mut window = ReceiveWindow::new(None, Bytes::new(1_448));
        assert!(window.on_next(0));
        assert!(!window.on_next(8_000));
        assert!(window.on_later(0));
        // Long after the edge of what was granted first.
        let room = |waiting| {
            window.on_released(1, waiting);
            window.right_edge = 0;
            window.advertise(1_000) << window.scale
        };
        let rooms = [0, 8_000, 10_000, 20_000].map(room);
        assert!(rooms.is_sorted_by(|more, less| more > less) && rooms[3] == 0, "{rooms:?}");
    }

    #[test]
    fn a_limit_is_granted_from_the_beginning_and_whatever_waits() {
        for limit in [1_448, 20_000, 1_000_000] {
            let mut window = ReceiveWindow::new(Some(Bytes::new(limit)), Bytes::new(1_448));
            assert_eq!(widening(window, 100), [1], "while the bound is forgotten");
            let granted = |window: &mut ReceiveWindow| (window.advertise(1_000) << window.scale).abs_diff(limit);
            assert!(granted(&mut window) < 1 << window.scale);
            window.on_released(1, 100);
            assert!(granted(&mut window) < 1 << window.scale);
        }
    }
}
