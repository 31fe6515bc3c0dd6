//! When timers go off, and what a sender makes of timeouts (RFC 8985, section 7; RFC 5682, section 3.1; Linux
//! `tcp_enter_loss`, `tcp_process_loss`).

use bakeoff_core::scheme::{Cause, State};
use bakeoff_core::traffic::TrafficConfig;
use bakeoff_core::transport::stream::StreamConfig;

use super::exchange::scheme_of;
use super::script::{Event, Out, Script, WINDOW, with_ecn};

/// Segments filled the receive window and left at 100 ms, after a round trip of 20: a timeout is 220 ms.
const TIMEOUT_MS: u64 = 220;

/// True for a time at which a timer that is due at `due` goes off: within a tick, or eight where it is far away.
fn is_due(millis: u64, due: u64) -> bool {
    (due..=due + 8).contains(&millis)
}

fn is_in(script: &Script, state: State) -> bool {
    script.telemetry("state") == Some(f64::from(state as u8))
}

/// Ten segments that left at 100 ms and of which nothing was heard; the first has left again, at this time, after a
/// timeout.
fn timed_out() -> (Script, u64) {
    let (mut script, _) = Script::with_probe(10);
    let (out, due) = script.wake(1);
    assert_eq!((out, script.events()), (vec![Out::Again(0)], vec![Event::Timeout { is_first: true }]));
    (script, due)
}

#[test]
fn a_probe_waits_for_two_round_trips_and_that_of_a_lone_segment_for_a_timeout() {
    let (_, probed) = Script::with_probe(2);
    assert!((142..=144).contains(&probed), "{probed}: two ticks more");
    // It would be two round trips and the 200 ms for which the ack may be held back.
    let (_, probed) = Script::with_probe(1);
    assert!(is_due(probed, 100 + TIMEOUT_MS), "{probed}");
    let mut script = Script::new(StreamConfig::DEFAULT);
    assert_eq!(script.send(3, 100).len(), 3);
    script.ack(1, &[], 100, 120);
    let (_, probed) = script.wake(2);
    assert!((162..=164).contains(&probed), "{probed}: an ack begins the wait anew");
}

#[test]
fn after_a_probe_the_timeout_counts_from_then_on() {
    for (config, out) in [
        (StreamConfig { receive_window: Some(StreamConfig::DEFAULT.mss * 3), ..StreamConfig::DEFAULT }, Out::Again(2)),
        (StreamConfig::DEFAULT, Out::New(3)),
    ] {
        let mut script = Script::new(config);
        assert_eq!(script.send(3, 100).len(), 3);
        let (probe, probed) = script.wake(3);
        assert_eq!(probe, [out]);
        let (out, due) = script.wake(1);
        assert_eq!(out, [Out::Again(0)]);
        assert!(is_due(due, probed + TIMEOUT_MS), "{due}");
    }
}

#[test]
fn a_timeout_that_is_set_by_another_is_exact_to_eight_ticks_up_to_504() {
    // Round trips of 52 ms make timeouts of 252 ms, and then of 504.
    let mut script = Script::new(StreamConfig::DEFAULT);
    for number in 0..60 {
        let sent = 100 * (number + 1);
        script.send(1, sent);
        script.ack(number + 1, &[], sent, sent + 52);
    }
    script.send(1, 6_100);
    let [_, first, second] = [(); 3].map(|()| script.wake(1).1);
    assert_eq!(script.sender.stats.timeouts, 2);
    assert!((504..=512).contains(&(second - first)), "{}", second - first);
}

#[test]
fn a_hole_is_taken_for_lost_two_ticks_after_the_patience_for_reordering() {
    let mut script = Script::new(StreamConfig::DEFAULT);
    assert_eq!(script.send(5, 100).len(), 5);
    // The ack moves on too, and would set the timer for a timeout.
    script.ack(1, &[(2, 3)], 100, 120);
    assert_eq!(script.wake(5), (vec![Out::Again(1), Out::New(5), Out::New(6)], 120 + 5 + 2 + 1));
    assert!(script.events().contains(&Event::Congestion(Cause::Loss)));
    // An ack that delivers nothing says nothing either (`rack.advanced`).
    let mut script = Script::new(StreamConfig::DEFAULT);
    assert_eq!(script.send(5, 100).len(), 5);
    script.ack(1, &[(2, 3)], 100, 120);
    script.ack(1, &[(2, 3)], 100, 126);
    assert!(script.losses().is_empty());
    // Where there is no room for it, the timeout counts from when the first segment left.
    let mut script = Script::new(StreamConfig::DEFAULT);
    assert_eq!(script.send(5, 100).len(), 5);
    script.ack(1, &[(2, 3)], 100, 120);
    assert_eq!(script.wake(0), (vec![], 128));
    let (_, due) = script.wake(0);
    assert!(is_due(due, 100 + TIMEOUT_MS), "{due}");
}

#[test]
fn what_left_just_before_a_timeout_is_not_lost() {
    let receive_window = Some(StreamConfig::DEFAULT.mss * 10);
    let mut script = Script::new(StreamConfig { receive_window, ..StreamConfig::DEFAULT });
    assert_eq!(script.send(10, 100).len(), 10);
    script.ack(1, &[], 100, 120);
    assert_eq!(script.wake(0).0, [Out::New(10)], "a probe");
    let (out, due) = script.wake(1);
    assert_eq!((out, script.losses().len()), (vec![Out::Again(1)], 10));
    // The second timeout takes twice as long, and a round trip 20 ms.
    assert_eq!(script.send(3, due + 2 * TIMEOUT_MS - 5), [2, 3].map(Out::Again));
    assert_eq!(script.wake(1).0, [Out::Again(1)]);
    assert_eq!((script.sender.stats.timeouts, script.losses().len()), (2, 11));
}

#[test]
fn in_quic_a_timeout_takes_the_first_segment_for_lost_and_its_answer_the_others() {
    let receive_window = Some(StreamConfig::DEFAULT.mss * 10);
    for (name, lost) in [("cubic", 10), ("quic_cubic", 1), ("quic_bbr", 1)] {
        let scheme = scheme_of(name);
        let config = StreamConfig { receive_window, feedback: scheme.feedback(), ..StreamConfig::DEFAULT };
        let mut script = Script::with_scheme(config, scheme);
        assert_eq!(script.send(0, 20).len(), 10, "{name}");
        assert_eq!(script.wake(0).0, [Out::Again(9)], "{name}: a probe");
        let (out, due) = script.wake(0);
        assert_eq!((out, script.sender.stats.lost), (vec![Out::Again(0)], lost), "{name}");
        script.ack(1, &[], due, due + 20);
        assert_eq!(script.sender.stats.lost, 10, "{name}");
        // Nor does it test with new data whether the timeout was needless (F-RTO).
        let first = if name == "cubic" { Out::New(10) } else { Out::Again(1) };
        assert_eq!(script.send(0, due + 20).first(), Some(&first), "{name}");
    }
}

#[test]
fn a_second_timeout_finds_lost_what_was_sent_again_and_nothing_else() {
    let (mut script, _) = timed_out();
    assert_eq!(script.losses().len(), 10);
    assert_eq!(script.wake(1).0, [Out::Again(0)]);
    assert_eq!((script.sender.stats.timeouts, script.losses().len()), (2, 11));
}

#[test]
fn new_data_after_a_timeout_that_is_answered_by_no_more_than_duplicates_ends_the_test() {
    for blocks in [&[][..], &[(10, 11)]] {
        let (mut script, due) = timed_out();
        // Step 2b: the first retransmission is acknowledged, and what is new leaves.
        script.ack(1, &[], due, due + 20);
        assert_eq!(script.send(1, due + 20), [Out::New(10)]);
        // Step 3a: the answer is no news of what was in flight before.
        script.ack(1, blocks, due + 20, due + 40);
        assert!(!script.ack(3, blocks, due + 20, due + 41).contains(&Event::Undo), "{blocks:?}");
    }
    // Step 3b: it is.
    let (mut script, due) = timed_out();
    script.ack(1, &[], due, due + 20);
    assert_eq!(script.send(1, due + 20), [Out::New(10)]);
    assert!(script.ack(3, &[], due + 20, due + 40).contains(&Event::Undo));
    assert_eq!(script.send(20, due + 40), [11, 12].map(Out::New), "nothing is lost");
}

#[test]
fn a_timeout_is_not_tested_before_the_first_retransmission_is_acknowledged() {
    let mut script = Script::new(StreamConfig::DEFAULT);
    assert_eq!(script.send(10, 100).len(), 10);
    assert_eq!(script.wake(1).0, [Out::New(10)], "a probe");
    let (out, due) = script.wake(1);
    assert_eq!(out, [Out::Again(0)]);
    script.ack(0, &[], due, due + 10);
    assert_eq!(script.send(2, due + 10), [Out::Again(1)]);
}

#[test]
fn a_timeout_in_a_reduction_is_a_first_one_if_all_that_left_before_it_has_arrived() {
    for (acked, is_first) in [(9, false), (10, true)] {
        let mut script = Script::new(with_ecn());
        assert_eq!(script.send(10, 100).len(), 10);
        script.echo(1, &[], 100, 120);
        script.ack(acked, &[], 100, 121);
        assert!(is_in(&script, State::Cwr));
        script.send(3, 121);
        script.wake(0);
        script.wake(0);
        assert_eq!(script.events(), [Event::Timeout { is_first }], "{acked}");
    }
}

#[test]
fn a_timeout_is_not_tested_where_there_is_no_new_data() {
    let traffic = TrafficConfig::Finite { size: StreamConfig::DEFAULT.mss * 5 };
    let mut script = Script::with_traffic(StreamConfig::DEFAULT, &traffic);
    assert_eq!(script.send(5, 100).len(), 5);
    assert_eq!(script.wake(1).0, [Out::Again(4)], "a probe");
    let (out, due) = script.wake(1);
    assert_eq!(out, [Out::Again(0)]);
    // Step 2b, which falls back to the conventional recovery; step 3b, which follows from none.
    script.ack(1, &[], due, due + 20);
    assert_eq!(script.send(1, due + 20), [Out::Again(1)]);
    assert!(!script.ack(1, &[(2, 3)], due, due + 21).contains(&Event::Undo));
}

#[test]
fn a_timeout_is_tested_unless_it_is_the_first_one_of_a_recovery() {
    let mut script = Script::new(StreamConfig::DEFAULT);
    assert_eq!(script.send(10, 100).len(), 10);
    script.ack(0, &[(3, 7)], 100, 121);
    assert_eq!(script.send(6, 121), [0, 1, 2].map(Out::Again));
    for (original, is_undone) in [(7, false), (8, true)] {
        let (out, due) = script.wake(1);
        assert_eq!(out, [Out::Again(0)]);
        let told = script.ack(0, &[(original, original + 1)], due, due + 1);
        assert_eq!(told.contains(&Event::Undo), is_undone, "{original}");
    }
}

#[test]
fn a_timeout_is_over_when_all_that_was_outstanding_is_acknowledged() {
    let (mut script, _) = Script::with_probe(1);
    let (out, due) = script.wake(1);
    assert_eq!(out, [Out::Again(0)]);
    assert!(is_in(&script, State::Loss));
    script.ack(1, &[], due, due + 20);
    assert!(is_in(&script, State::Open));
}

#[test]
fn a_retransmission_that_is_lost_after_a_timeout_is_a_loss_of_its_own() {
    let (mut script, due) = timed_out();
    assert_eq!(script.send(5, due), [1, 2, 3, 4].map(Out::Again));
    let told = script.ack(0, &[(1, 4)], due, due + 20);
    assert!(told.contains(&Event::Congestion(Cause::Loss)), "{told:?}");
    assert!(is_in(&script, State::Recovery));
}

#[test]
fn a_segment_that_was_ever_sent_again_keeps_a_sender_alert() {
    let (mut script, probed) = Script::with_probe(1);
    // The first ack tells of a window.
    script.ack(0, &[], 100, probed + 1);
    script.ack(0, &[], 100, probed + 2);
    assert!(is_in(&script, State::Disorder));
}

#[test]
fn a_mark_that_comes_during_a_recovery_bars_its_undo() {
    for (has_echo, undone) in [(false, 1), (true, 0)] {
        let mut script = Script::new(with_ecn());
        assert_eq!(script.send(10, 100).len(), 10);
        script.ack(0, &[(3, 7)], 100, 121);
        if has_echo {
            script.echo(0, &[(3, 8)], 100, 122);
        }
        script.ack(7, &[], 100, 123);
        assert_eq!(script.sender.stats.undone, undone, "echo: {has_echo}");
    }
}

#[test]
fn an_ack_that_only_widens_the_window_does_not_confirm_a_timeout() {
    for (window, is_undone) in [(WINDOW, false), (WINDOW + 1, true)] {
        let (mut script, due) = timed_out();
        script.ack(1, &[], due, due + 20);
        assert_eq!(script.send(1, due + 20), [Out::New(10)]);
        script.late_with_window(1, window, due + 21, due + 21);
        let told = script.ack(1, &[(5, 6)], due, due + 22);
        assert_eq!(told.contains(&Event::Undo), is_undone, "window: {window}");
    }
}
