//! The receive window: when it widens, which decides when acks begin to be delayed, and what acks say of it.
//!
//! **Source.** Linux `net/ipv4/tcp_input.c`: `tcp_grow_window` widens the window by two segments for each that arrives,
//! as long as what the buffer has left allows it, and asks for a quick ack each time; `tcp_measure_rcv_mss` learns from
//! the first segment how much of the buffer payload can fill. The application reads several segments at a time, so that
//! those it has not read yet take room too. `tcp_select_window` grants what is free, in whole steps of the window
//! scale, and never takes back what it has granted: only after many segments have become readable at once is the window
//! smaller. How large the buffer has to be [`super::autotuning`] tells. A limit is no smaller buffer, but a bound of what
//! is granted (`TCP_WINDOW_CLAMP`), from the beginning on.
//! The kernel forgets it when the first segment tells how large segments are (`tcp_measure_rcv_mss`), and the
//! application sets it anew once it has something to read.
//!
//! **Deviation.** A receiver that has all the memory that it may have grants any window: that is a setting of a host, and
//! no path's.

use std::hint::cold_path;

use super::autotuning::Autotuning;
use crate::units::{Bytes, Duration, Instant};

/// The receiver's buffer in the beginning.
const BUFFER: u64 = 1 << 25;
/// What a segment takes of the buffer beside its payload: `struct sk_buff`, `skb_shared_info`, and room for headers.
const OVERHEAD: u64 = 832;
/// Payload over buffer is counted in parts of this (`TCP_RMEM_TO_WIN_SCALE`); before the first segment it is a half.
const RATIO_UNIT: u64 = 256;
/// What a receiver takes segments to carry, at most, before it has one (`TCP_MSS_DEFAULT`).
const DEFAULT_MSS: u64 = 536;
/// The most that a receiver may have of memory (`tcp_rmem[2]`), for which the window is scaled.
const MAX_MEMORY: u64 = 1 << 28;
/// Bits of a window without the sign, which a scaled one may fill.
const WINDOW_BITS: u32 = 15;

/// What an ack tells of a window that bounds nothing.
pub(super) const UNBOUNDED: u16 = u16::MAX;
/// Segments that an application is taken to want in the first round trip (`TCP_INIT_CWND`).
const WANTED_AT_FIRST: u64 = 10;

/// Bits by which the window in a header is shifted (`tcp_select_initial_window`).
pub(super) fn scale(limit: Option<Bytes>) -> u32 {
    limit.map_or(MAX_MEMORY, Bytes::count).clamp(1, MAX_MEMORY).ilog2().saturating_sub(WINDOW_BITS)
}

/// Bytes that a window stands for, as a header has it.
pub(super) fn bytes(window: u16, limit: Option<Bytes>) -> u64 {
    u64::from(window) << scale(limit)
}

/// The window that a receiver would grant (`rcv_ssthresh`), and what its buffer holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceiveWindow {
    granted: u64,
    buffer: u64,
    /// The window of an empty buffer (`tcp_full_space`).
    most: u64,
    tuning: Autotuning,
    limit: u64,
    /// False while the kernel has forgotten the limit, and whether the application has set it anew since the last segment
    /// arrived, whose ack may have been due before it read.
    is_limited: bool,
    is_limit_due: bool,
    ratio: u64,
    mss: u64,
    /// By how much a segment widens the window.
    step: u64,
    /// Segments in order that the application has not read yet, for how many it waits (`SO_RCVLOWAT`), how many it has
    /// taken of these, and for how many it will wait then.
    unread: u64,
    wanted: u64,
    taken: u64,
    waits_for: u64,
    /// Segments that took room when the last one had arrived, those included that are read since.
    held: u64,
    /// Bits by which the header's window is scaled, the window granted last (`rcv_wnd`), and where it ends, bytes from the
    /// start.
    scale: u32,
    told: u64,
    right_edge: u64,
}

impl ReceiveWindow {
    /// The window of a receiver that grants `limit` in the end, for segments of `mss`; it has told the sender that they
    /// may be as large as `advertised`, options included (`advmss`). Its application waits for so much
    /// before it reads.
    pub(super) fn new(limit: Option<Bytes>, mss: Bytes, advertised: Bytes, waits_for: Bytes) -> Self {
        let (mss, advertised) = (mss.count(), advertised.count());
        let half = BUFFER / 2;
        let waits_for = waits_for.count().div_ceil(mss);
        let scale = scale(limit);
        let limit = limit.map_or(u64::MAX, Bytes::count);
        let granted = (half - half % advertised).min(half.saturating_sub(advertised)).min(limit);
        // What the first segment tells is news only if it is larger than was taken for granted (`tcp_initialize_rcv_mss`).
        let is_news = mss > DEFAULT_MSS.min(granted / 2);
        let ratio = if is_news { (mss * RATIO_UNIT / (mss + OVERHEAD)).max(1) } else { RATIO_UNIT / 2 };
        Self {
            granted,
            buffer: BUFFER,
            most: BUFFER * ratio / RATIO_UNIT,
            tuning: Autotuning::new(granted.min(WANTED_AT_FIRST * advertised)),
            limit,
            is_limited: !is_news,
            is_limit_due: false,
            ratio,
            mss,
            step: 2 * advertised,
            unread: 0,
            // The application sets the limit anew as soon as it can.
            wanted: if limit == u64::MAX { waits_for } else { 1 },
            taken: 0,
            waits_for,
            held: 0,
            scale,
            told: granted,
            right_edge: granted,
        }
    }

    /// The connection is there.
    pub(super) fn on_connected(&mut self, now: Instant) {
        self.tuning.begin(now);
    }

    /// A full segment comes whose sender has seen an ack that left at `echo`. True if that tells of the round trip anew.
    #[inline(always)]
    pub(super) fn on_echo(&mut self, echo: Instant, now: Instant) -> bool {
        self.tuning.on_echo(echo, self.unread == 0, now)
    }

    /// What time stamps tell of the round trip.
    pub(super) fn rtt(&self) -> Option<Duration> {
        self.tuning.rtt()
    }

    /// The segment before `next` arrived in order; `waiting` others wait behind holes. True if the window widens.
    pub(super) fn on_next(&mut self, waiting: u64, next: u64, now: Instant) -> bool {
        self.tuning.on_next(next * self.mss, self.told, now);
        self.unread += 1;
        self.widen(self.unread + waiting)
    }

    /// A segment arrived out of order, `waiting` others before it, the last of `span` from the first hole on. True if
    /// the window widens.
    pub(super) fn on_later(&mut self, waiting: u64, span: u64) -> bool {
        self.held = self.unread + waiting + 1;
        let is_wider = self.widen(self.unread + waiting);
        self.make_room(self.tuning.on_later(span * self.mss));
        is_wider
    }

    /// Segments that waited can be read too, now that the hole before them is closed; `waiting` others cannot.
    pub(super) fn on_released(&mut self, segments: u64, waiting: u64) {
        self.unread += segments;
        self.held = self.unread + waiting;
    }

    /// True if the application is woken: there is as much as it waits for, or of the window that was told, of which
    /// `unacked` segments have arrived since, hardly one is left (`tcp_epollin_ready`).
    #[inline(always)]
    pub(super) fn is_readable(&self, unacked: u64) -> bool {
        self.is_enough() || (self.told <= (unacked + 1) * self.mss && self.unread > 0)
    }

    fn is_enough(&self) -> bool {
        self.unread >= self.wanted
    }

    /// True if what has arrived lets no ack go before the application reads (`__tcp_ack_snd_check`).
    pub(super) fn is_left_to_reader(&self) -> bool {
        self.is_enough() && self.is_narrower()
    }

    /// The application takes all before segment `next`; `span` segments from there on are not all there. With as much as
    /// it has waited for, it sets its limit anew.
    pub(super) fn on_read(&mut self, next: u64, span: u64, now: Instant) {
        let first = next - self.unread;
        if let Some(window) = self.tuning.on_read((first + 1) * self.mss, next * self.mss, span * self.mss, now) {
            self.make_room(window);
        }
        self.taken += std::mem::take(&mut self.unread);
        if self.taken >= self.wanted {
            (self.taken, self.wanted) = (0, self.waits_for);
            self.is_limit_due = true;
        }
    }

    /// Only `waiting` segments take room when the next ack leaves.
    pub(super) fn on_emptied(&mut self, waiting: u64) {
        self.held = waiting;
    }

    /// The buffer is to have such a window, which forgets the limit (`tcp_rcvbuf_grow`).
    #[inline(always)]
    fn make_room(&mut self, window: u64) {
        if window > self.most {
            cold_path();
            let buffer = (window * RATIO_UNIT / self.ratio).min(MAX_MEMORY);
            self.is_limited &= buffer <= self.buffer;
            self.buffer = self.buffer.max(buffer);
            self.most = self.space(0);
        }
    }

    fn widen(&mut self, held: u64) -> bool {
        if std::mem::take(&mut self.is_limit_due) {
            self.is_limited = true;
            self.granted = self.granted.min(self.limit);
        }
        let limit = if self.is_limited { self.limit } else { u64::MAX };
        let room = self.space(held).min(limit).saturating_sub(self.granted);
        self.granted += room.min(self.step);
        room > 0
    }

    /// Payload that fits into what so many segments leave of the buffer (`tcp_space`).
    fn space(&self, held: u64) -> u64 {
        self.buffer.saturating_sub(held * (self.mss + OVERHEAD)) * self.ratio / RATIO_UNIT
    }

    /// Segments of the window that was told last.
    pub(super) fn segments(&self) -> u64 {
        self.told / self.mss
    }

    /// The window in the header of an ack of everything before segment `next`, scaled (`tcp_select_window`).
    pub(super) fn advertise(&mut self, next: u64) -> u16 {
        let position = next * self.mss;
        let left = self.right_edge.saturating_sub(position);
        self.told = self.in_steps(self.free().max(left));
        self.right_edge = position + self.told;
        if self.buffer < MAX_MEMORY { (self.told >> self.scale) as u16 } else { UNBOUNDED }
    }

    /// Whether an application that has read what there was leaves so much more room than is left of the window that was
    /// told, after `unacked` segments, that an ack tells of it; `waiting` segments it could not read (`tcp_cleanup_rbuf`).
    pub(super) fn must_update(&mut self, waiting: u64, unacked: u64) -> bool {
        let left = self.told.saturating_sub(unacked * self.mss);
        if 2 * left > self.granted || self.unread > 0 {
            return false;
        }
        self.held = waiting;
        let free = self.free();
        free > 0 && free >= 2 * left
    }

    /// True if less is free than the last ack told.
    fn is_narrower(&self) -> bool {
        self.free() < self.told
    }

    /// The window that is free (`__tcp_select_window`).
    fn free(&self) -> u64 {
        let free = self.space(self.held).min(self.granted);
        // What is not scaled is whole segments, and stays as it is while it is within one of what is free.
        let segment = self.mss.min(self.limit);
        let is_near = self.told <= free && free - self.told < segment;
        let whole = if self.scale > 0 { free } else { free - free % segment };
        self.in_steps(if self.scale == 0 && is_near { self.told } else { whole })
    }

    /// In whole steps, and no more than a header can tell.
    fn in_steps(&self, window: u64) -> u64 {
        window.next_multiple_of(1 << self.scale).min(u64::from(u16::MAX) << self.scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1_448);

    fn limited(limit: Option<u64>) -> ReceiveWindow {
        ReceiveWindow::new(limit.map(Bytes::new), MSS, MSS, MSS * 8)
    }

    /// Segments become readable, and the application reads if they are enough; true if it does.
    fn read(window: &mut ReceiveWindow, released: u64, waiting: u64, next: u64, now: Instant) -> bool {
        window.on_released(released, waiting);
        let is_readable = window.is_readable(0);
        if is_readable {
            window.on_read(next, 0, now);
        }
        is_readable
    }

    /// Numbers of the segments, from 1, that widen the window of a receiver that gets them all in order.
    fn widening(mut window: ReceiveWindow, count: u64) -> Vec<u64> {
        (1..=count)
            .filter(|next| {
                let is_wider = window.on_next(0, *next, Instant::ZERO);
                read(&mut window, 0, 0, *next, Instant::ZERO);
                is_wider
            })
            .collect()
    }

    #[test]
    fn the_last_steps_depend_on_what_is_not_read() {
        let window = limited(None);
        // 16 MiB less one segment at first, and 2896 bytes a step.
        assert_eq!(window.granted, 16_777_216 - 1_448);
        let found = widening(window, 2_000);
        assert_eq!(found[..1_539], (1..=1_539).collect::<Vec<_>>());
        assert_eq!(found[1_539..], [1_545], "the first of eight leaves most room");
    }

    #[test]
    fn small_segments_fill_less_of_the_buffer_so_that_the_window_widens_less() {
        // Linux 7.3 acknowledges some 725 segments of 1000 bytes one by one. Of 536 bytes 100 of 256 bytes
        // of the buffer are payload, less than the half with which it begins.
        let last = |mss, advertised| {
            widening(
                ReceiveWindow::new(None, Bytes::new(mss), Bytes::new(advertised), Bytes::new(8 * advertised)),
                4_000,
            )
            .last()
            .copied()
        };
        assert_eq!([last(1_000, 1_000), last(536, 536), last(200, 200)], [Some(729), None, None]);
        assert_eq!(last(1_448, 1_448), Some(1_545));
        assert_eq!(last(1_436, 1_448), Some(1_549), "read by nine: eight are less than eight without other options");
    }

    #[test]
    fn a_limit_holds_from_the_beginning_where_segments_are_as_small_as_was_taken_for_granted() {
        let is_wider = [536, 537].map(|mss| {
            let mss = Bytes::new(mss);
            ReceiveWindow::new(Some(Bytes::new(5_623)), mss, mss, mss * 8).on_next(0, 1, Instant::ZERO)
        });
        assert_eq!(is_wider, [false, true]);
    }

    #[test]
    fn the_limit_is_forgotten_until_the_application_reads() {
        let mut window = limited(Some(150_000));
        assert_eq!([0, 1, 2].map(|waiting| window.on_later(waiting, waiting + 2)), [true; 3]);
        assert!(window.granted > 150_000);
        assert!(window.on_next(3, 1, Instant::ZERO));
        assert!(
            window.advertise(1) > (150_000_u64 >> window.scale) as u16,
            "its ack leaves before the application reads"
        );
        window.on_read(1, 0, Instant::ZERO);
        assert_eq!((window.on_later(3, 6), window.granted), (false, 150_000));
        // A buffer that grows for what is not all there makes the kernel forget it too.
        window.on_later(3, 20_000);
        assert!(window.on_later(4, 20_000));
    }

    #[test]
    fn the_207th_segment_reaches_the_next_step() {
        let mut window = limited(None);
        let mut arrive = |next| {
            window.on_next(0, next, Instant::ZERO);
            read(&mut window, 0, 0, next, Instant::ZERO);
            window.advertise(next)
        };
        let windows = (1..=208).map(&mut arrive).collect::<Vec<_>>();
        assert_eq!(windows[204..], [2_121, 2_121, 2_122, 2_122], "as a receiver of Linux 7.3 tells");
    }

    /// What a receiver of Linux 7.3 tells in its first acks, in units of 8 KiB.
    const WINDOWS: [u16; 12] = [2_049, 2_049, 2_049, 2_050, 2_050, 2_050, 2_051, 2_051, 2_052, 2_052, 2_052, 2_053];

    #[test]
    fn the_window_grows_by_steps_and_is_smaller_after_many_segments_at_once() {
        let mut window = limited(None);
        let mut arrive = |next, released| {
            window.on_next(released, next - released, Instant::ZERO);
            read(&mut window, released, 0, next, Instant::ZERO);
            window.advertise(next)
        };
        assert_eq!((1..=12).map(|next| arrive(next, 0)).collect::<Vec<_>>(), WINDOWS);
        (13..=1_700).for_each(|next| assert!((2_049..=2_592).contains(&arrive(next, 0))));
        assert_eq!([arrive(1_731, 30), arrive(1_732, 0), arrive(1_734, 1)], [2_587, 2_592, 2_592]);
        window.on_next(30, 1_735, Instant::ZERO);
        window.on_released(30, 0);
        assert!(window.is_left_to_reader());
    }

    #[test]
    fn segments_behind_a_hole_take_room() {
        let mut window = limited(None);
        assert!(window.on_next(0, 1, Instant::ZERO));
        assert!(!window.on_next(8_000, 2, Instant::ZERO));
        assert!(window.on_later(0, 2));
        // Long after the edge of what was granted first.
        let room = |waiting| {
            read(&mut window, 1, waiting, 1_000, Instant::ZERO);
            window.right_edge = 0;
            u64::from(window.advertise(1_000)) << window.scale
        };
        let rooms = [0, 8_000, 10_000, 20_000].map(room);
        assert!(rooms.is_sorted_by(|more, less| more > less) && rooms[3] == 0, "{rooms:?}");
    }

    #[test]
    fn the_buffer_grows_with_what_is_taken_in_a_round_trip_and_with_what_waits() {
        let mut window = limited(None);
        window.tuning = Autotuning::new(1_000 * 1_448);
        window.on_connected(Instant::ZERO);
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        window.on_echo(at(1), at(101));
        // Round trips at whose ends nine segments are read, of which the last eight do not count yet.
        let read = |window: &mut ReceiveWindow, next, millis| {
            window.on_next(0, next, at(millis));
            read(window, 8, 0, next, at(millis))
        };
        assert!(read(&mut window, 1_000, 200) && read(&mut window, 3_000, 300));
        assert_eq!(window.buffer, BUFFER);
        assert!(read(&mut window, 7_000, 400));
        // 3992 segments after 1992: twice that, and twice that again by the growth.
        let wanted = (2 * 3_992 + 4 * 3_992 * 2_000 / 1_992) * 1_448;
        assert_eq!(window.most / 1_000_000, wanted / 1_000_000);
        assert!(read(&mut window, 10_000, 500) && window.most / 1_000_000 == wanted / 1_000_000, "no more than before");
        window.on_later(0, 50_000);
        assert_eq!(window.most / 1_000_000, (2 * 3_992 + 50_000) * 1_448 / 1_000_000);
        window.on_later(0, 105_000);
        assert!(window.advertise(0) < UNBOUNDED);
        window.on_later(0, 120_000);
        assert_eq!((window.buffer, window.advertise(0)), (MAX_MEMORY, UNBOUNDED));
    }

    #[test]
    fn a_reader_that_makes_much_room_is_told_of_once() {
        let mut window = limited(None);
        // Nearly all of the buffer waits behind a hole that closes, and is read.
        (0..14_000).for_each(|waiting| _ = window.on_later(waiting, waiting + 2));
        window.on_next(14_000, 1, Instant::ZERO);
        assert!(read(&mut window, 14_000, 0, 14_001, Instant::ZERO));
        window.right_edge = 0;
        assert!(window.advertise(14_001) < 200);
        assert!(window.must_update(0, 0));
        assert!(window.advertise(14_001) > 2_000);
        assert!(!window.must_update(0, 0));
        // Nor is there an end where a bound that is forgotten has let more be granted than a header can tell.
        let mut bounded = limited(Some(50_000));
        (0..100).for_each(|waiting| assert!(bounded.on_later(waiting, waiting + 2)));
        assert_eq!((bounded.advertise(0), bounded.must_update(100, 0)), (u16::MAX, false));
    }

    #[test]
    fn a_window_that_is_not_scaled_is_whole_segments_and_its_reader_is_woken_by_the_last() {
        let mut window = limited(Some(4_382));
        let told = (1..=4).map(|next| {
            window.on_next(0, next, Instant::ZERO);
            let told = window.advertise(next) / 1_448;
            read(&mut window, 0, 0, next, Instant::ZERO);
            told
        });
        // The limit is forgotten for the first, whose ack none of the next takes back.
        assert_eq!(told.collect::<Vec<_>>(), [5, 4, 3, 3]);
        assert_eq!(window.advertise(4), 3 * 1_448);
        assert_eq!([0, 1, 2].map(|unacked| window.is_readable(unacked)), [false, false, true], "one segment is left");
    }

    #[test]
    fn a_limit_is_granted_from_the_beginning_and_whatever_waits() {
        for limit in [1_448, 20_000, 1_000_000] {
            let mut window = limited(Some(limit));
            assert_eq!(widening(window, 100), [1], "while the bound is forgotten");
            let mut filled = window;
            filled.on_next(0, 101, Instant::ZERO);
            read(&mut filled, 20, 20, 121, Instant::ZERO);
            assert!(!filled.is_narrower(), "what waits takes no room of it");
            let granted =
                |window: &mut ReceiveWindow| (u64::from(window.advertise(1_000)) << window.scale).abs_diff(limit);
            assert!(granted(&mut window) < 1 << window.scale);
            read(&mut window, 1, 100, 102, Instant::ZERO);
            assert!(granted(&mut window) < 1 << window.scale);
        }
    }
}
