//! Marks, and what the sender hears of them.

use bakeoff_core::packet::{Ecn, Packet};
use bakeoff_core::transport::stream::{EcnMode, Ect, Segment, StreamConfig};

use super::exchange::{Fate, exchange, exchange_with_thin_acks, sequence};

#[test]
fn a_mark_halves_the_window_once_and_is_echoed_until_the_answer() {
    let config = StreamConfig { ecn: EcnMode::Classic, ..StreamConfig::DEFAULT };
    // Three marks in one flight are one congestion event.
    let (sender, receiver, falls) = exchange(config, 1_000, |packet| {
        assert!(packet.ecn == Ecn::Ect0 || sequence(packet).is_none());
        if sequence(packet).is_some_and(|sequence| (300..303).contains(&sequence)) { Fate::Mark } else { Fate::Pass }
    });
    assert_eq!((receiver.stats.ce_marks, sender.stats.retransmissions), (3, 0));
    let (first, last) = (falls[0].0, falls[falls.len() - 1].0);
    assert!(last - first < 500, "the window falls within one round trip of the queue: {first} to {last} ms");
}

#[test]
fn accurate_ecn_tells_of_every_mark() {
    let config = StreamConfig::DEFAULT.with_ecn(EcnMode::Accurate, Ect::Ect1);
    // Now and then, in bursts, or always; with and without losses, and with most acks lost too.
    for (period, marks, losses) in [(97, 1, 0), (7, 3, 0), (50, 30, 0), (1, 1, 0), (20, 6, 1)] {
        for acks in [1, 2, 5] {
            let fate = |packet: &Packet<Segment>| match packet.number % period {
                _ if sequence(packet).is_none() || packet.sent.as_millis() > 3_700 => Fate::Pass,
                place if place < losses => Fate::Drop,
                place if place < losses + marks => Fate::Mark,
                _ => {
                    assert_eq!((packet.ecn, packet.size.count()), (Ecn::Ect1, 1_500));
                    Fate::Pass
                }
            };
            let (sender, receiver, _) = exchange_with_thin_acks(config, 4_000, fate, acks);
            let (told, arrived) = (sender.stats.marked, receiver.stats.ce_marks);
            // What only lost acks told at the end stays untold.
            let untold = if acks == 1 { 0 } else { 6 };
            let is_told = told <= arrived && arrived - told <= untold;
            assert!(arrived > 5 && is_told, "{marks} of {period}, acks 1/{acks}: {told} of {arrived} told");
        }
    }
}

#[test]
fn a_scheme_that_answers_once_per_window_does_so_with_accurate_ecn_too() {
    let falls = |ecn| {
        let config = StreamConfig::DEFAULT.with_ecn(ecn, Ect::Ect0);
        let is_marked = |packet: &Packet<_>| sequence(packet).is_some_and(|n| (300..303).contains(&n));
        let (.., falls) = exchange(config, 1_000, |packet| if is_marked(packet) { Fate::Mark } else { Fate::Pass });
        (falls[0].0, falls[falls.len() - 1].1)
    };
    assert_eq!(falls(EcnMode::Accurate), falls(EcnMode::Classic));
}

#[test]
fn without_ecn_a_mark_means_nothing() {
    let (_, receiver, falls) =
        exchange(
            StreamConfig::DEFAULT,
            500,
            |packet| {
                if sequence(packet) == Some(100) { Fate::Mark } else { Fate::Pass }
            },
        );
    assert_eq!((receiver.stats.ce_marks, falls.len()), (1, 0));
}
