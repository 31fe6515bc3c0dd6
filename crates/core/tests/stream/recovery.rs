//! Where the sender stands after timeouts and probes, and what it learns of reordering.

use bakeoff_core::scheme::Cause;
use bakeoff_core::transport::stream::StreamConfig;

use super::script::{Event, Out, Script, WINDOW, with_ecn};

/// True if the path is known to reorder packets by more than three, so that windows grow with any delivery.
fn is_reordering_common(mut script: Script, cumulative: u64, blocks: &[(u64, u64)]) -> bool {
    matches!(script.ack(cumulative, blocks, 100, 150).last(), Some(Event::Ack { may_raise_cwnd: true, .. }))
}

#[test]
fn a_probe_has_repaired_a_loss_if_what_left_after_it_is_acknowledged_without_a_duplicate() {
    let (mut script, probed) = Script::with_probe(3);
    // What is acknowledged before the probe says nothing of it.
    script.ack(0, &[], 100, probed + 1);
    assert_eq!(script.ack(3, &[], probed, probed + 20), [Event::Ack { delivered: 3, may_raise_cwnd: true }]);
    assert_eq!(script.send(10, probed + 20), [3, 4, 5].map(Out::New));
    let told = script.ack(4, &[], probed + 20, probed + 40);
    assert_eq!(told[..2], [Event::Congestion(Cause::TailLoss), Event::Reduced]);
    assert_eq!(script.recoveries(), 1, "and over at once");
}

#[test]
fn a_probe_that_arrives_twice_has_repaired_nothing() {
    let (mut script, probed) = Script::with_probe(3);
    script.ack(3, &[], 100, probed + 1);
    assert_eq!(script.send(10, probed + 1), [3, 4, 5].map(Out::New));
    assert_eq!(script.duplicate(4, 2, probed, probed + 21), [Event::Ack { delivered: 2, may_raise_cwnd: true }]);
}

#[test]
fn a_timeout_after_progress_is_a_first_one_again() {
    let (mut script, _) = Script::with_probe(4);
    let first = |script: &Script| script.events() == [Event::Timeout { is_first: true }];
    assert_eq!(script.wake(1).0, [Out::Again(0)]);
    assert!(first(&script));
    let (out, due) = script.wake(1);
    assert_eq!(out, [Out::Again(0)]);
    assert!(!first(&script), "nothing has arrived since");
    script.ack(1, &[], due, due + 20);
    assert_eq!(script.wake(0).0, [Out::Again(1)]);
    assert!(first(&script));
}

#[test]
fn the_round_trip_of_the_highest_segment_tells_what_is_lost() {
    let mut script = Script::new(StreamConfig::DEFAULT);
    assert_eq!(script.send(6, 100).len(), 6);
    assert_eq!(script.send(10, 110).len(), 4);
    // The ninth overtook the others and takes 11 ms, which the third, told of after it, does not change.
    assert!(script.ack(0, &[(8, 9), (2, 3)], 110, 121).contains(&Event::Congestion(Cause::Loss)));
}

#[test]
fn a_late_segment_is_as_far_behind_as_the_highest_that_its_own_ack_tells_of() {
    for (highest, is_common) in [(4, true), (3, false)] {
        let mut script = Script::new(StreamConfig::DEFAULT);
        assert_eq!(script.send(10, 100).len(), 10);
        script.ack(0, &[(2, 3)], 100, 120);
        script.ack(1, &[(2, highest)], 100, 120);
        assert_eq!(is_reordering_common(script, 1, &[(2, 9)]), is_common, "{highest}");
    }
}

#[test]
fn an_original_that_comes_after_its_retransmission_has_left_was_late() {
    for (first_sacked, is_common) in [(3, true), (2, false)] {
        let mut script = Script::new(StreamConfig::DEFAULT);
        assert_eq!(script.send(first_sacked, 100).len(), first_sacked as usize);
        assert_eq!(script.send(10, 110).len(), 10 - first_sacked as usize);
        let first_sacked = u64::from(first_sacked);
        script.ack(0, &[(first_sacked, first_sacked + 1)], 110, 131);
        assert_eq!(script.send(8, 131).first(), Some(&Out::Again(0)));
        script.ack(1, &[(first_sacked, first_sacked + 1)], 100, 132);
        assert_eq!(is_reordering_common(script, 1, &[(first_sacked, 6)]), is_common, "{first_sacked}");
    }
}

#[test]
fn a_needless_retransmission_that_comes_after_its_original_shows_reordering() {
    for (repeated, is_common) in [(None, false), (Some(1), true), (Some(4), false)] {
        let mut script = Script::new(StreamConfig::DEFAULT);
        assert_eq!(script.send(10, 100).len(), 10);
        script.ack(0, &[(3, 7)], 100, 121);
        assert_eq!(script.send(6, 121), [0, 1, 2].map(Out::Again));
        script.ack(0, &[(1, 7)], 121, 141);
        if let Some(repeated) = repeated {
            // It raises no window itself, be reordering common or not.
            for millis in [142, 143] {
                let told = script.duplicate(0, repeated, 121, millis);
                assert_eq!(told, [Event::Ack { delivered: 1, may_raise_cwnd: false }]);
            }
        }
        assert_eq!(is_reordering_common(script, 0, &[(1, 8)]), is_common, "{repeated:?}");
    }
}

#[test]
fn a_reduction_for_a_mark_ends_with_the_first_segment_that_left_after_it() {
    let mut script = Script::new(with_ecn());
    assert_eq!(script.send(10, 100).len(), 10);
    assert_eq!(script.echo(1, &[], 100, 120)[0], Event::Congestion(Cause::Ecn));
    assert_eq!(script.send(10, 120), [Out::Reduced(10)]);
    assert!(!script.ack(10, &[], 100, 121).contains(&Event::Reduced));
    assert_eq!(script.ack(11, &[], 120, 140)[0], Event::Reduced);
}

#[test]
fn a_loss_while_the_window_is_reduced_for_a_mark_begins_a_recovery_but_no_reduction() {
    let mut script = Script::new(with_ecn());
    assert_eq!(script.send(10, 100).len(), 10);
    assert_eq!(script.echo(1, &[], 100, 120)[0], Event::Congestion(Cause::Ecn));
    assert_eq!(script.ack(1, &[(4, 8)], 100, 121)[0], Event::LossWhileReducing { is_timer: false });
    // In a recovery another loss is nothing new.
    assert!(matches!(script.ack(1, &[(4, 8), (9, 10)], 100, 122)[..], [Event::Ack { delivered: 1, .. }]));
    // One beyond the hole: RACK's timer waits for a quarter of the round trip.
    let mut script = Script::new(with_ecn());
    assert_eq!(script.send(10, 100).len(), 10);
    script.echo(1, &[], 100, 120);
    assert!(matches!(script.ack(1, &[(2, 3)], 100, 121)[..], [Event::Ack { delivered: 1, .. }]));
    let (out, _) = script.wake(8);
    assert_eq!((out, script.events()), (vec![Out::Again(1)], vec![Event::LossWhileReducing { is_timer: true }]));
}

#[test]
fn of_several_late_segments_the_lowest_tells_how_far_packets_change_places() {
    for (lowest, is_common) in [(3, true), (6, false)] {
        let mut script = Script::new(StreamConfig::DEFAULT);
        assert_eq!(script.send(10, 100).len(), 10);
        script.ack(0, &[(8, 9)], 100, 120);
        script.ack(0, &[(8, 9), (lowest, lowest + 1), (7, 8)], 100, 120);
        assert_eq!(is_reordering_common(script, 0, &[(7, 10)]), is_common, "{lowest}");
    }
}

#[test]
fn a_loss_says_whether_a_timer_found_it() {
    let mut script = Script::new(StreamConfig::DEFAULT);
    script.send(5, 100);
    script.ack(0, &[(2, 5)], 100, 120);
    assert_eq!(script.losses(), [false, false], "three later ones have arrived");
    let mut script = Script::new(StreamConfig::DEFAULT);
    script.send(3, 100);
    script.ack(0, &[(2, 3)], 100, 120);
    assert!(script.losses().is_empty(), "it may be reordering");
    script.wake(3);
    assert_eq!((script.losses(), script.sender.stats.lost), (vec![true, true], 2));
    let mut script = Script::new(StreamConfig::DEFAULT);
    script.send(1, 100);
    script.wake(1);
    script.wake(1);
    assert_eq!(script.sender.stats.timeouts, 1);
    assert_eq!((script.losses(), script.sender.stats.lost), (vec![false, false], 2), "a timeout is told as one");
}

#[test]
fn a_probe_whose_duplicate_comes_while_nothing_is_outstanding_has_repaired_nothing() {
    for is_duplicate in [true, false] {
        let (mut script, probed) = Script::with_probe(3);
        script.send(0, probed);
        script.ack(3, &[], 100, probed + 1);
        if is_duplicate {
            script.duplicate(3, 2, probed, probed + 20);
        } else {
            script.ack(3, &[], 100, probed + 20);
        }
        assert_eq!(script.send(10, probed + 21), [3, 4, 5].map(Out::New));
        let told = script.ack(4, &[], probed + 21, probed + 41);
        assert_eq!(told, [Event::Ack { delivered: 1, may_raise_cwnd: true }], "duplicate: {is_duplicate}");
    }
}

#[test]
fn an_ack_that_only_widens_the_window_is_no_duplicate() {
    for (window, told) in
        [(WINDOW, Event::Ack { delivered: 1, may_raise_cwnd: true }), (WINDOW + 1, Event::Congestion(Cause::TailLoss))]
    {
        let (mut script, probed) = Script::with_probe(3);
        script.send(0, probed);
        script.ack(3, &[], 100, probed + 1);
        script.late_with_window(3, window, probed + 20, probed + 20);
        assert_eq!(script.send(10, probed + 21), [3, 4, 5].map(Out::New));
        assert_eq!(script.ack(4, &[], probed + 21, probed + 41)[0], told, "window: {window}");
    }
}

#[test]
fn a_probe_of_new_data_repairs_nothing() {
    let mut script = Script::new(StreamConfig::DEFAULT);
    assert_eq!(script.send(3, 100).len(), 3);
    let (out, probed) = script.wake(3);
    assert_eq!(out, [Out::New(3)]);
    script.ack(4, &[], probed, probed + 20);
    assert_eq!(script.send(2, probed + 20), [4, 5].map(Out::New));
    let told = script.ack(5, &[], probed + 20, probed + 40);
    assert_eq!(told, [Event::Ack { delivered: 1, may_raise_cwnd: true }]);
}

#[test]
fn an_ack_tells_how_many_packets_it_shows_to_be_lost() {
    let mut script = Script::new(StreamConfig::DEFAULT);
    assert_eq!(script.send(10, 100).len(), 10);
    script.ack(1, &[], 100, 120);
    script.ack(1, &[(4, 7)], 100, 121);
    script.ack(1, &[(4, 8)], 100, 121);
    assert_eq!(script.newly_lost(), [0, 3, 0]);
}

#[test]
fn an_ack_of_what_was_never_sent_is_not_read() {
    let mut script = Script::new(StreamConfig::DEFAULT);
    assert_eq!(script.send(3, 100).len(), 3);
    assert_eq!(script.ack(4, &[], 100, 120), []);
    assert_eq!(script.telemetry("in_flight"), Some(3.0));
    assert_eq!(script.ack(3, &[], 100, 121), [Event::Ack { delivered: 3, may_raise_cwnd: true }]);
}

#[test]
fn after_a_needless_retransmission_what_left_before_it_is_not_taken_for_lost() {
    let mut script = Script::new(StreamConfig::DEFAULT);
    assert_eq!(script.send(10, 100).len(), 10);
    script.ack(0, &[(3, 7)], 100, 121);
    assert_eq!(script.send(6, 121), [0, 1, 2].map(Out::Again));
    // The original of the first, by its time stamp, when its retransmission may have arrived.
    script.ack(1, &[(3, 7)], 100, 141);
    script.ack(1, &[(3, 7)], 100, 142);
    assert_eq!(script.sender.stats.lost, 3);
}

#[test]
fn a_round_trip_is_that_of_the_youngest_and_of_none_that_was_sent_again() {
    let mut script = Script::new(StreamConfig::DEFAULT);
    assert_eq!(script.send(1, 100).len(), 1);
    assert_eq!(script.send(2, 110).len(), 1);
    script.ack(2, &[], 110, 125);
    assert_eq!(script.round_trips(), [Some(15)]);
    assert_eq!(script.telemetry("min_rtt"), Some(15.0), "the oldest took 25 ms");
    assert_eq!(script.send(10, 200).len(), 10);
    script.ack(2, &[(5, 9)], 200, 221);
    assert_eq!(script.send(6, 221), [2, 3, 4].map(Out::Again));
    script.ack(2, &[(3, 9)], 221, 241);
    script.ack(12, &[], 221, 241);
    assert_eq!(script.round_trips()[2..], [None, Some(20)], "by its time stamp, and only in order");
}

#[test]
fn that_the_window_was_full_counts_for_all_that_left_until_then() {
    let receive_window = Some(StreamConfig::DEFAULT.mss * 3);
    let mut script = Script::new(StreamConfig { receive_window, ..StreamConfig::DEFAULT });
    assert_eq!(script.send(2, 100).len(), 2, "the window is full");
    script.ack(1, &[], 100, 120);
    assert_eq!(script.send(10, 120).len(), 2, "it has room, and the receiver has none");
    script.ack(2, &[], 100, 121);
    assert_eq!(script.send(10, 121).len(), 1);
    script.ack(4, &[], 120, 140);
    assert_eq!(script.usage(), [(true, 2), (true, 2), (false, 3)]);
}
