//! Reductions that prove needless (Linux `tcp_try_undo_recovery`, `tcp_try_undo_dsack`, `tcp_try_undo_partial`,
//! `tcp_try_undo_loss`).

use bakeoff_core::scheme::Cause;
use bakeoff_core::transport::stream::StreamConfig;

use super::exchange::scheme_of;
use super::script::{Event, Out, Script, with_ecn};

/// Ten segments left at 100 ms; at 121 an ack tells of those from 3 to 6, and the first three count as lost.
fn with_three_lost(config: StreamConfig) -> Script {
    let mut script = Script::new(config);
    assert_eq!(script.send(10, 100).len(), 10);
    assert!(script.ack(0, &[(3, 7)], 100, 121).contains(&Event::Congestion(Cause::Loss)));
    script
}

/// All three have been sent again at 121 ms.
fn with_three_sent_again(config: StreamConfig) -> Script {
    let mut script = with_three_lost(config);
    assert_eq!(script.send(6, 121), [0, 1, 2].map(Out::Again));
    script
}

#[test]
fn a_recovery_is_undone_when_every_retransmission_has_arrived_as_a_duplicate() {
    let mut script = with_three_sent_again(StreamConfig::DEFAULT);
    // The retransmissions have arrived, by their time stamp: no original was only late.
    assert!(!script.ack(7, &[], 121, 141).contains(&Event::Undo));
    assert!(!script.duplicate(7, 0, 121, 142).contains(&Event::Undo));
    assert!(!script.duplicate(7, 1, 121, 143).contains(&Event::Undo));
    assert!(script.duplicate(7, 2, 121, 144).contains(&Event::Undo));
    assert_eq!(script.sender.stats.undone, 1);
}

#[test]
fn a_duplicate_from_before_the_recovery_does_not_count() {
    let mut script = Script::new(StreamConfig::DEFAULT);
    assert_eq!(script.send(11, 100).len(), 11);
    script.ack(1, &[], 100, 120);
    script.ack(1, &[(4, 8)], 100, 121);
    assert_eq!(script.send(6, 121), [1, 2, 3].map(Out::Again));
    script.ack(8, &[], 121, 141);
    for (sequence, millis) in [(0, 142), (1, 143), (2, 144)] {
        assert!(!script.duplicate(8, sequence, 121, millis).contains(&Event::Undo), "{sequence}");
    }
}

#[test]
fn a_duplicate_of_what_was_sent_once_does_not_count() {
    let mut script = with_three_sent_again(StreamConfig::DEFAULT);
    for millis in 122..125 {
        assert!(!script.duplicate(0, 4, 121, millis).contains(&Event::Undo), "the network made it");
    }
}

#[test]
fn more_duplicates_than_were_sent_again_are_the_networks() {
    let mut script = Script::new(StreamConfig::DEFAULT);
    assert_eq!(script.send(4, 100).len(), 4);
    assert_eq!(script.ack(1, &[], 100, 120), [Event::Ack { delivered: 1, may_raise_cwnd: true }]);
    assert_eq!(script.duplicate(1, 0, 100, 121), [Event::Ack { delivered: 0, may_raise_cwnd: false }]);
}

#[test]
fn a_needless_retransmission_is_delivered_and_raises_no_window() {
    let mut script = with_three_sent_again(StreamConfig::DEFAULT);
    script.ack(7, &[], 121, 141);
    assert_eq!(script.duplicate(7, 0, 121, 142), [Event::Ack { delivered: 1, may_raise_cwnd: false }]);
}

#[test]
fn nobody_hears_of_an_ack_while_nothing_is_outstanding_but_of_an_undo() {
    let mut script = with_three_sent_again(StreamConfig::DEFAULT);
    script.send(0, 122);
    script.ack(10, &[], 121, 141);
    assert_eq!(script.ack(10, &[], 121, 142), []);
    assert_eq!(script.duplicate(10, 0, 121, 143), []);
    assert_eq!(script.duplicate(10, 1, 121, 144), []);
    assert_eq!(script.duplicate(10, 2, 121, 145), [Event::Undo]);
}

#[test]
fn what_is_undone_is_not_announced() {
    // The originals were late, and nothing had been sent again.
    let mut script = with_three_lost(with_ecn());
    assert!(script.ack(7, &[], 100, 122).contains(&Event::Undo));
    assert_eq!(script.send(20, 122).first(), Some(&Out::New(10)));
    let mut script = with_three_lost(with_ecn());
    script.keep_threshold();
    assert!(script.ack(7, &[], 100, 122).contains(&Event::Undo));
    assert_eq!(script.send(20, 122).first(), Some(&Out::Reduced(10)), "the threshold did not rise again");
    // The retransmissions have arrived.
    let mut script = with_three_sent_again(with_ecn());
    assert!(!script.ack(7, &[], 121, 141).contains(&Event::Undo));
    assert_eq!(script.send(20, 141)[3..5], [Out::Reduced(10), Out::New(11)]);
}

#[test]
fn a_recovery_that_ends_with_originals_is_undone() {
    for (echo, is_undone) in [(100, true), (121, false)] {
        let told = with_three_sent_again(StreamConfig::DEFAULT).ack(10, &[], echo, 141);
        assert_eq!(told.contains(&Event::Undo), is_undone, "{echo}");
        assert!(told.contains(&Event::Reduced), "and over in any case");
    }
}

#[test]
fn a_late_original_undoes_nothing_while_retransmissions_are_in_flight_but_none_leaves_any_more() {
    let mut script = with_three_lost(StreamConfig::DEFAULT);
    assert_eq!(script.send(5, 121), [0, 1].map(Out::Again));
    assert!(!script.ack(1, &[(3, 7)], 100, 122).contains(&Event::Undo));
    // The third is lost, and there is room for two.
    assert_eq!(script.send(6, 122), [10, 11].map(Out::New));
    assert!(script.ack(2, &[(3, 7)], 100, 123).contains(&Event::Undo));
}

#[test]
fn what_an_ecn_echo_came_with_is_not_undone() {
    for (has_echo, undone) in [(false, 1), (true, 0)] {
        let mut script = Script::new(with_ecn());
        assert_eq!(script.send(10, 100).len(), 10);
        let events = if has_echo { script.echo(0, &[(3, 7)], 100, 121) } else { script.ack(0, &[(3, 7)], 100, 121) };
        assert!(events.contains(&Event::Congestion(Cause::Loss)));
        script.ack(7, &[], 100, 122);
        assert_eq!(script.sender.stats.undone, undone, "echo: {has_echo}");
    }
}

#[test]
fn where_a_mark_bars_the_undo_of_a_needless_recovery_the_window_stays_where_it_is() {
    // Twenty packets, of which three seem lost: 15 early in the reduction, and half of twenty at its end. What the last
    // ack delivers makes that one more.
    for (echo, cwnd) in [(40, 16.0), (61, 11.0)] {
        let mut script = Script::with_scheme(with_ecn(), scheme_of("reno"));
        assert_eq!(script.send(0, 20).len(), 10);
        script.ack(10, &[], 20, 40);
        assert_eq!(script.send(0, 40).len(), 20);
        script.echo(10, &[(13, 17)], 40, 61);
        assert_eq!(script.send(0, 61), [10, 11].map(Out::Again));
        script.ack(30, &[], echo, 81);
        assert_eq!(script.telemetry("cwnd"), Some(cwnd), "{echo}");
    }
}

#[test]
fn a_timeout_is_undone_by_what_had_left_before_it_be_it_a_probe() {
    // `retrans_stamp` is the time of the first retransmission, and a probe is none.
    for (is_undone, arrived) in [(true, 0), (false, 1)] {
        let (mut script, probed) = Script::with_probe(3);
        let (out, due) = script.wake(1);
        assert_eq!(out, [Out::Again(0)]);
        assert_eq!(script.events(), [Event::Timeout { is_first: true }]);
        let sent = [probed, due][arrived];
        assert_eq!(script.ack(1, &[], sent, due + 20).contains(&Event::Undo), is_undone);
    }
}

#[test]
fn a_probe_in_flight_is_a_retransmission_that_has_yet_to_prove_needless() {
    let (mut script, due) = Script::with_probe(10);
    script.ack(0, &[(3, 7)], 100, due + 1);
    assert_eq!(script.send(6, due + 1), [0, 1, 2].map(Out::Again));
    script.ack(7, &[], due + 1, due + 21);
    for sequence in [0, 1, 2] {
        assert!(!script.duplicate(7, sequence, due + 1, due + 22).contains(&Event::Undo), "{sequence}");
    }
    assert!(script.duplicate(7, 9, due, due + 23).contains(&Event::Undo));
}
