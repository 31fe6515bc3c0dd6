//! Which transmission of a segment has arrived, where every packet is acknowledged with the time at which it was sent.
//!
//! A needless retransmission and its original are both on their way, and what the scheme said of each is to come back
//! with it.

use std::collections::BTreeMap;

use super::scoreboard::Outstanding;
use crate::units::{Duration, Instant};

/// What has been away for so long, and is not awaited, is lost.
const GIVEN_UP: Duration = Duration::from_secs(60);

/// The scheme's words of all transmissions of segments that were sent more than once, by segment and time.
#[derive(Debug, Default)]
pub(super) struct Resent {
    words: BTreeMap<(u64, Instant), u64>,
}

impl Resent {
    /// A segment is sent again with this word; everything below `first` is acknowledged.
    pub(super) fn insert(&mut self, sequence: u64, segment: &Outstanding, now: Instant, word: u64, first: u64) {
        while self.words.first_key_value().is_some_and(|((old, sent), _)| *old < first && *sent + GIVEN_UP < now) {
            self.words.pop_first();
        }
        if !segment.is_sacked {
            self.words.insert((sequence, segment.sent), segment.scheme_state);
        }
        self.words.insert((sequence, now), word);
    }

    /// A transmission that left no later than `until` has arrived: the word of the latest one. Those before it are
    /// lost.
    pub(super) fn take(&mut self, sequence: u64, until: Instant) -> Option<u64> {
        let mut word = None;
        while let Some((key, found)) = self.words.range((sequence, Instant::ZERO)..=(sequence, until)).next() {
            let key = *key;
            word = Some(*found);
            self.words.remove(&key);
        }
        word
    }
}

#[cfg(test)]
mod tests {
    use super::super::rate_sampler::RateSampler;
    use super::super::scoreboard::Scoreboard;
    use super::*;
    use crate::units::Bytes;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// Three segments sent at once with the word 0, and again with 1 and 2 after 300 and 500 ms.
    fn resent() -> Resent {
        let (mut scoreboard, mut sampler) = (Scoreboard::new(), RateSampler::new());
        let mut resent = Resent::default();
        for sequence in 0..3 {
            scoreboard.push(at(0), Bytes::new(1_448), sampler.on_sent(at(0), false), 0);
            for (millis, word) in [(300, 1), (500, 2)] {
                let segment = scoreboard.get(sequence).copied().expect("it was sent");
                resent.insert(sequence, &segment, at(millis), word, 0);
                scoreboard.mark_sent_again(sequence, at(millis), sampler.on_sent(at(millis), false), word);
            }
        }
        resent
    }

    #[test]
    fn the_latest_that_may_have_arrived_did_and_those_after_it_may_still() {
        let mut resent = resent();
        assert_eq!([0, 300, 499, 500].map(|millis| resent.take(0, at(millis))), [Some(0), Some(1), None, Some(2)]);
        assert_eq!([499, 0, 500, 500].map(|millis| resent.take(1, at(millis))), [Some(1), None, Some(2), None]);
        assert_eq!(resent.take(3, at(500)), None, "sent once");
    }

    #[test]
    fn what_is_acknowledged_and_has_been_away_for_a_minute_is_forgotten() {
        for (first, millis, left) in [(2, 60_400, 9), (2, 60_501, 5), (1, 60_501, 8)] {
            let mut resent = resent();
            assert_eq!(resent.take(0, at(300)), Some(1));
            let (mut scoreboard, mut sampler) = (Scoreboard::new(), RateSampler::new());
            scoreboard.push(at(1_000), Bytes::new(1_448), sampler.on_sent(at(1_000), false), 7);
            let segment = scoreboard.get(0).copied().expect("it was sent");
            resent.insert(9, &segment, at(millis), 8, first);
            assert_eq!(resent.words.len(), left, "{first} {millis}");
        }
    }
}
