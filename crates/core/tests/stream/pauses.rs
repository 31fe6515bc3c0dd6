//! Senders whose application pauses.

use bakeoff_core::endpoint::Endpoint;
use bakeoff_core::scheme::Feedback;
use bakeoff_core::traffic::{Distribution, TrafficConfig};
use bakeoff_core::transport::stream::StreamConfig;
use bakeoff_core::units::{Duration, Instant};

use super::script::{Out, Script};

/// Writes for 100 ms, and is then silent for so long.
fn pausing(off_ms: u64) -> Script {
    let (on, off) = (Duration::from_millis(100), Duration::from_millis(off_ms));
    let traffic = TrafficConfig::OnOff { on, off, distribution: Distribution::Constant };
    Script::with_traffic(StreamConfig::DEFAULT, &traffic)
}

#[test]
fn what_is_written_after_a_pause_is_limited_by_the_application_and_no_repair_before_that() {
    let mut script = pausing(100);
    let is_limited = |script: &Script| script.last_sample().map(|sample| sample.is_app_limited);
    assert_eq!(script.send(5, 90).len(), 5);
    assert_eq!(script.send(8, 105), [], "the window has room, the application is silent");
    script.ack(0, &[(1, 5)], 90, 110);
    assert_eq!(script.send(8, 110), [Out::Again(0)]);
    script.ack(5, &[], 110, 130);
    assert_eq!(is_limited(&script), Some(false));
    assert_eq!(script.send(5, 200).len(), 5);
    script.ack(10, &[], 200, 220);
    assert_eq!(is_limited(&script), Some(true), "the path was empty");
    assert_eq!(script.send(5, 220).len(), 5);
    script.ack(15, &[], 220, 240);
    assert_eq!(is_limited(&script), Some(false));
}

#[test]
fn a_connection_begins_limited_by_an_application_that_writes_segments() {
    let (on, off) = (Duration::from_millis(100), Duration::from_millis(100));
    let traffic = TrafficConfig::OnOff { on, off, distribution: Distribution::Constant };
    let mut script = Script::unconfirmed(StreamConfig::DEFAULT, &traffic);
    assert_eq!(script.send(3, 30).len(), 3);
    let limited = (1..=6).map(|cumulative| {
        let sent = if cumulative < 4 { 30 } else { 50 };
        script.ack(cumulative, &[], sent, 50);
        script.send(3, 50);
        script.last_sample().map(|sample| sample.is_app_limited)
    });
    let expected = [true, true, true, true, true, false].map(Some);
    assert_eq!(limited.collect::<Vec<_>>(), expected);
}

#[test]
fn each_segment_that_finds_nothing_queued_is_limited_by_the_application() {
    let mut script = pausing(100);
    assert_eq!(script.send(3, 30).len(), 3);
    script.ack(3, &[], 30, 50);
    assert_eq!((script.send(3, 105).len(), script.send(3, 200).len()), (0, 3));
    let limited = (4..=9).map(|cumulative| {
        script.ack(cumulative, &[], if cumulative < 7 { 200 } else { 220 }, 220);
        assert_eq!(script.send(3, 220).len(), 1, "{cumulative}");
        script.last_sample().map(|sample| sample.is_app_limited)
    });
    // Before the third of the first three there was room for one more.
    let expected = [true, true, true, true, true, false].map(Some);
    assert_eq!(limited.collect::<Vec<_>>(), expected);
}

#[test]
fn what_is_written_into_a_full_window_is_not_limited() {
    let mut script = pausing(10);
    assert_eq!(script.send(5, 95).len(), 5);
    assert_eq!(script.send(6, 105), []);
    assert_eq!(script.sender.next_wakeup().map(Instant::as_millis), Some(110));
    assert_eq!(script.send(5, 110), [], "the window is full");
    script.ack(5, &[], 95, 115);
    assert_eq!(script.send(5, 115).len(), 5);
    script.ack(10, &[], 115, 135);
    assert_eq!(script.last_sample().map(|sample| sample.is_app_limited), Some(false));
}

#[test]
fn that_the_application_is_silent_is_told_when_its_last_data_has_left_and_while_there_is_room() {
    for (feedback, times) in [(Feedback::Numbered, 1), (Feedback::Tcp, 0)] {
        let config = StreamConfig { feedback, ..StreamConfig::DEFAULT };
        let traffic = TrafficConfig::Finite { size: config.mss * 5 };
        let mut script = Script::with_traffic(config, &traffic);
        script.silences();
        assert_eq!((script.send(3, 100).len(), script.silences()), (3, 0), "there is more");
        script.ack(3, &[], 100, 120);
        assert_eq!((script.send(2, 120).len(), script.silences()), (2, 0), "the window is full");
        script.ack(4, &[], 120, 140);
        assert_eq!((script.send(2, 140).len(), script.silences()), (0, times));
        let mut script = Script::with_traffic(config, &traffic);
        script.silences();
        assert_eq!(script.send(9, 100).len(), 5);
        assert_eq!(script.silences() > 0, feedback == Feedback::Numbered);
    }
}

#[test]
fn how_the_window_was_used_is_not_asked_again_once_the_application_is_silent() {
    let traffic = TrafficConfig::Finite { size: StreamConfig::DEFAULT.mss * 8 };
    let mut script = Script::with_traffic(StreamConfig::DEFAULT, &traffic);
    assert_eq!(script.send(5, 100).len(), 5, "the window is full");
    for (cumulative, left) in [(2, 3), (5, 0), (6, 0)] {
        script.ack(cumulative, &[], 100, 120);
        assert_eq!(script.send(20, 120).len(), left);
    }
    assert_eq!(script.usage(), [(true, 5); 3]);
}
