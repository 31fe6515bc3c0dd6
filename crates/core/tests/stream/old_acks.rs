//! What a sender makes of acks that others have overtaken.

use bakeoff_core::scheme::{Cause, Feedback};
use bakeoff_core::transport::stream::StreamConfig;

use super::script::{Event, Out, Script, WINDOW};

/// Twenty segments left at 100 ms; an ack that left at 115 ms has told of the first four.
fn script(feedback: Feedback) -> Script {
    let mut script = Script::new(StreamConfig { feedback, ..StreamConfig::DEFAULT });
    assert_eq!(script.send(20, 100).len(), 20);
    assert_eq!(script.late(4, &[], 115, 120), [Event::Ack { delivered: 4, may_raise_cwnd: true }]);
    script
}

#[test]
fn an_outdated_one_is_not_read_and_answered_twice_a_second() {
    let mut script = script(Feedback::Tcp);
    assert_eq!(script.late(3, &[], 114, 121), []);
    assert_eq!(script.late(0, &[(6, 12)], 113, 121), [], "the newest left at 115 ms");
    assert_eq!(script.bare_acks(121), 1);
    assert_eq!(script.late(6, &[], 113, 122), [], "nor is news");
    assert_eq!(script.bare_acks(122), 0);
    assert_eq!(script.late(0, &[], 113, 620), []);
    assert_eq!(script.bare_acks(620), 0);
    assert_eq!(script.late(0, &[], 113, 621), []);
    assert_eq!(script.bare_acks(621), 1);
    assert_eq!(script.ack(6, &[], 100, 622), [Event::Ack { delivered: 2, may_raise_cwnd: true }]);
}

#[test]
fn of_one_that_is_a_tick_older_the_blocks_are_read_and_no_scheme_grows_by_it() {
    let mut script = script(Feedback::Tcp);
    assert_eq!(script.late(3, &[], 114, 121), []);
    assert_eq!(script.late(3, &[(6, 12)], 114, 121), [Event::Congestion(Cause::Loss)]);
    assert_eq!(script.bare_acks(121), 0);
    let told = script.late(4, &[], 116, 121).len();
    assert_eq!((told, script.last_sample().map(|sample| sample.delivered)), (1, Some(0)), "its sample is nobody's");
    assert_eq!(script.send(10, 121), [4, 5].map(Out::Again));
}

#[test]
fn one_that_acknowledges_less_is_old_whenever_it_left() {
    // Over sockets of UDP it left when it arrives.
    assert_eq!(script(Feedback::Tcp).late(3, &[(6, 12)], 121, 121), [Event::Congestion(Cause::Loss)]);
}

#[test]
fn a_duplicate_is_read_unless_it_widens_the_window_or_is_older_than_any_retransmission() {
    let sacked = [Event::Ack { delivered: 1, may_raise_cwnd: false }];
    assert_eq!(script(Feedback::Tcp).late(4, &[(5, 6)], 104, 121), sacked);
    let read = |script: &mut Script, window, left, millis| script.late_with_window(4, window, left, millis).len();
    for (window, is_read) in [(WINDOW, 1), (WINDOW + 1, 0), (u16::MAX, 0), (WINDOW - 1, 1), (0, 1)] {
        assert_eq!(read(&mut script(Feedback::Tcp), window, 104, 121), is_read, "{window}");
    }
    // The timeout is 220 ms: a round trip of 20 ms and the least that is added to it.
    for (age_ms, is_read) in [(264, 1), (265, 0)] {
        let mut script = script(Feedback::Tcp);
        assert_eq!(script.late(4, &[], 1_000, 1_020).len(), 1);
        assert_eq!(read(&mut script, WINDOW, 1_000 - age_ms, 1_021), is_read, "{age_ms} ms");
    }
}

#[test]
fn a_narrower_window_of_an_older_one_is_not_taken() {
    let mut script = script(Feedback::Tcp);
    assert_eq!(script.late_with_window(4, WINDOW - 2, 104, 121).len(), 1);
    assert_eq!(script.late_with_window(4, WINDOW - 1, 104, 121).len(), 1, "no wider than that of the newest");
    // Nor is it where nothing is outstanding.
    script.late(20, &[], 121, 122);
    script.late_with_window(20, WINDOW - 2, 122, 123);
    assert_eq!(script.send(5, 130).len(), 5);
    assert_eq!(script.late_with_window(20, WINDOW - 1, 104, 131).len(), 1);
}

#[test]
fn quic_reads_all_of_them() {
    for feedback in [Feedback::Numbered, Feedback::EveryPacket] {
        let read = script(feedback).late(0, &[(6, 12)], 50, 121);
        assert!(matches!(read.last(), Some(Event::Ack { delivered: 6, .. })), "{read:?}");
    }
}

#[test]
fn no_more_is_outstanding_than_the_window_that_the_newest_tells() {
    for (feedback, first, second) in [(Feedback::Tcp, 11, 1), (Feedback::Numbered, 20, 20)] {
        let mut script = script(feedback);
        script.late_with_window(20, 2, 120, 121);
        // Two steps of 8 KiB.
        assert_eq!(script.send(20, 122).len(), first);
        let next = 20 + first as u64;
        script.late_with_window(next, 0, 142, 142);
        // One that is closed is probed.
        assert_eq!(script.send(20, 143).len(), second);
    }
}
