//! The window of libutp, fed with acks.

use super::*;
use crate::scheme::ledbat::testing::{MSS, ack};
use crate::scheme::window::timeout;

const BASE: Duration = Duration::from_millis(20);

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A sender past slow start with a window of `packets` that has seen the base delay.
fn sender(packets: u64) -> Libutp {
    let mut sender = Libutp::new(Bytes::new(MSS));
    sender.history.add(BASE, Instant::ZERO);
    sender.is_slow_start = false;
    sender.window = packets * MSS;
    sender
}

/// Bytes gained in a round trip with this much queueing delay.
fn change_per_round(queueing: Duration) -> i64 {
    let mut sender = sender(100);
    for _ in 0..CURRENT_SAMPLES {
        sender.history.add(BASE + queueing, Instant::ZERO);
    }
    let before = sender.window as i64;
    for packet in 0..100 {
        sender.on_ack(&ack(Instant::ZERO + ms(2 * packet), BASE + queueing));
    }
    sender.window as i64 - before
}

#[test]
fn it_gains_3000_bytes_per_round_trip_at_zero_delay_and_in_proportion_above() {
    // Bytes are whole, which costs up to one per ack; the window grows meanwhile, which costs 1 %.
    assert!((2_870..=3_000).contains(&change_per_round(ms(0))), "{}", change_per_round(ms(0)));
    assert!((1_390..=1_500).contains(&change_per_round(ms(50))), "{}", change_per_round(ms(50)));
    assert_eq!(change_per_round(ms(100)), 0);
    assert!((-1_650..=-1_500).contains(&change_per_round(ms(150))), "{}", change_per_round(ms(150)));
    assert!((-6_300..=-6_000).contains(&change_per_round(ms(300))), "{}", change_per_round(ms(300)));
}

#[test]
fn it_does_not_grow_a_window_that_is_not_used() {
    let mut sender = sender(100);
    let mut unlimited = ack(Instant::ZERO + ms(1_001), BASE);
    unlimited.is_cwnd_limited = false;
    sender.last_limited = Some(Instant::ZERO);
    sender.on_ack(&unlimited);
    assert_eq!(sender.window, 100 * MSS);
    unlimited.now = Instant::ZERO + ms(1_000);
    sender.on_ack(&unlimited);
    assert!(sender.window > 100 * MSS);
}

#[test]
fn slow_start_ends_at_90_milliseconds() {
    let mut sender = Libutp::new(Bytes::new(MSS));
    sender.on_ack(&ack(Instant::ZERO, BASE));
    assert_eq!((sender.window, sender.cwnd()), (MSS + 3_000, 3), "the gain is more than the packet of slow start");
    sender.window = 50 * MSS;
    for (delay, is_slow_start) in [(90, true), (90, true), (90, true), (91, true), (91, true), (91, false)] {
        sender.on_ack(&ack(Instant::ZERO, BASE + ms(delay)));
        assert_eq!(sender.is_slow_start, is_slow_start);
    }
    assert_eq!(sender.ssthresh, sender.window);
}

/// A loss that an ack of nothing shows at `micros`.
fn lose(sender: &mut Libutp, micros: u64) {
    let now = Instant::ZERO + Duration::from_micros(micros);
    sender.on_congestion(&Congestion { now, cause: Cause::Loss, in_flight: 64, is_timer: false });
    sender.on_ack(&Ack { newly_lost: 1, newly_delivered: 0, ..ack(now, BASE) });
}

#[test]
fn it_halves_at_most_every_100_milliseconds_of_a_clock_that_counts_whole_ones() {
    let mut sender = sender(64);
    sender.is_slow_start = true;
    let mut packets = Vec::new();
    for micros in [900, 50_000, 99_999, 100_000, 150_000, 200_000] {
        lose(&mut sender, micros);
        packets.push(sender.cwnd());
    }
    assert_eq!(packets, [32, 32, 32, 16, 16, 8]);
    assert_eq!((sender.is_slow_start, sender.ssthresh), (false, 8 * MSS));
    // A mark does not count.
    let now = Instant::ZERO + ms(500);
    sender.on_congestion(&Congestion { now, cause: Cause::Ecn, in_flight: 4, is_timer: false });
    sender.on_ack(&Ack { newly_delivered: 0, ..ack(now, BASE) });
    assert_eq!(sender.window, 8 * MSS);
}

#[test]
fn an_ack_that_shows_a_loss_counts_before_it_and_a_loss_without_an_ack_at_once() {
    let mut sender = sender(100);
    let now = Instant::ZERO + ms(1_000);
    sender.on_congestion(&Congestion { now, cause: Cause::Loss, in_flight: 64, is_timer: false });
    sender.on_ack(&Ack { newly_lost: 1, ..ack(now, BASE) });
    // A hundredth of 3000 bytes, and then half.
    assert_eq!(sender.window, 50 * MSS + 15);
    let size = Bytes::new(MSS);
    sender.on_lost(&Lost { now: now + ms(100), size, packet: 0, is_timer: false });
    assert_eq!(sender.window, 50 * MSS + 15);
    sender.on_lost(&Lost { now: now + ms(100), size, packet: 0, is_timer: true });
    assert_eq!(sender.window, 25 * MSS + 7);
}

#[test]
fn what_a_slow_clock_seems_to_save_is_added_to_the_delay() {
    let mut sender = sender(100);
    // Four tenths of a second in every five.
    for second in 0..100 {
        let delay = Duration::from_millis(100_000 - 80 * second);
        sender.drift.add(delay, Instant::ZERO + Duration::from_secs(second));
    }
    let penalty = sender.drift.penalty().as_micros() as f64;
    assert!(penalty > 20_000.0, "{penalty}");
    sender.last_limited = Some(Instant::ZERO);
    sender.control(&ack(Instant::ZERO, BASE), Instant::ZERO);
    // A hundredth of the 3000 bytes, less the share of the target.
    assert_eq!(sender.window, 100 * MSS + (30.0 * (1.0 - penalty / 100_000.0)) as u64);
}

#[test]
fn one_packet_may_always_be_sent() {
    let mut sender = sender(1);
    for halving in 0..20 {
        lose(&mut sender, 100_000 * halving);
    }
    assert_eq!((sender.window, sender.cwnd()), (10, 1));
}

#[test]
fn the_window_ends_at_a_mebibyte() {
    let mut sender = sender(724);
    for packet in 0..4_000 {
        sender.on_ack(&ack(Instant::ZERO + ms(packet), BASE));
    }
    assert_eq!((sender.window, sender.cwnd()), (1 << 20, 724));
}

#[test]
fn a_timeout_starts_from_one_packet_and_idleness_takes_a_third() {
    let mut sender = sender(90);
    let restart = |idle| Restart { now: Instant::ZERO, idle, rto: ms(300), is_app_limited: true };
    sender.on_restart(&restart(ms(999)));
    assert_eq!(sender.cwnd(), 90);
    // Timeouts after 1 s and 2 s more.
    sender.on_restart(&restart(ms(3_000)));
    assert_eq!(sender.cwnd(), 40);
    sender.on_timeout(&Timeout { prior_in_flight: 40, ..timeout(true) });
    assert_eq!((sender.cwnd(), sender.is_slow_start), (1, true));
}

#[test]
fn only_a_timeout_that_is_still_open_can_be_undone() {
    let timeout = Timeout { prior_in_flight: 90, ..timeout(true) };
    let mut sender = sender(90);
    sender.on_timeout(&timeout);
    sender.on_timeout(&timeout);
    sender.on_undo(Instant::ZERO);
    assert_eq!((sender.cwnd(), sender.is_slow_start), (90, false));
    sender.on_timeout(&timeout);
    sender.on_recovered(Instant::ZERO);
    sender.on_undo(Instant::ZERO);
    assert_eq!((sender.cwnd(), sender.is_slow_start), (1, true));
}

#[test]
fn a_delay_above_the_round_trip_raises_the_base() {
    let mut sender = sender(100);
    let mut impossible = ack(Instant::ZERO, BASE + ms(500));
    impossible.rtt = Some(ms(80));
    for _ in 0..CURRENT_SAMPLES {
        sender.on_ack(&impossible);
    }
    assert_eq!(sender.history.base(), Some(BASE + ms(420)));
}
