//! Ten seconds in which everything is lost: a stack between nothing but a delay each way.

#![allow(clippy::expect_used, reason = "a test may fail")]

use std::collections::VecDeque;

use bakeoff_core::random::RandomStream;
use bakeoff_core::transport::stack::{Outgoing, Stack, StackEntry, StackPair, StackSetup};
use bakeoff_core::units::{Bytes, Duration, Instant};
use bakeoff_stacks::STACKS;

const DELAY: Duration = Duration::from_millis(20);

fn at(seconds: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}

/// A sender, a receiver, and what is on its way to them.
struct Line {
    ends: [Box<dyn Stack>; 2],
    on_the_way: VecDeque<(Instant, usize, Outgoing)>,
}

impl Line {
    /// A connection whose window allows 20 Mbit/s.
    fn new(entry: &StackEntry) -> Self {
        let setup = StackSetup {
            start: Instant::ZERO,
            largest_datagram: Bytes::new(1_472),
            transfer: None,
            receive_window: Some(Bytes::new(100_000)),
            random: RandomStream::new(1, "flow1.stack"),
        };
        let StackPair { sender, receiver } = (entry.open)(setup).expect("nothing is asked that it cannot do");
        Self { ends: [sender, receiver], on_the_way: VecDeque::new() }
    }

    fn goodput(&self) -> u64 {
        self.ends[1].stats().goodput.count()
    }

    /// Lets time pass until `end`, and loses what is sent if `is_dark`.
    fn advance(&mut self, end: Instant, is_dark: bool) {
        loop {
            let arrival = self.on_the_way.front().map(|(time, ..)| *time);
            let timers = self.ends.iter().filter_map(|end| end.next_wakeup());
            let Some(now) = timers.chain(arrival).min().filter(|now| *now < end) else { return };
            while let Some((_, to, arriving)) = self.on_the_way.pop_front_if(|(time, ..)| *time <= now) {
                self.ends[to].accept(&arriving.datagram, arriving.ecn, now);
            }
            for from in 0..2 {
                while let Some(sent) = self.ends[from].poll(now) {
                    if !is_dark {
                        self.on_the_way.push_back((now + DELAY, 1 - from, sent));
                    }
                }
                assert!(self.ends[from].next_wakeup().is_none_or(|next| next > now), "it has had its say");
            }
        }
    }
}

#[test]
fn an_outage_of_ten_seconds_is_survived() {
    for entry in STACKS {
        let mut line = Line::new(entry);
        line.advance(at(5), false);
        let before = line.goodput();
        assert!(before > 8_000_000, "{}: {before} bytes in 5 s", entry.info.name);
        line.advance(at(15), true);
        let dark = line.goodput() - before;
        assert!(dark < 100_000, "{}: {dark} bytes that were on their way", entry.info.name);
        // The next probe may take as long as the outage did.
        line.advance(at(25), false);
        let again = line.goodput();
        line.advance(at(35), false);
        let after = line.goodput() - again;
        assert!(after > 20_000_000, "{}: {after} bytes in 10 s", entry.info.name);
        assert!(line.ends.iter().all(|end| end.failure().is_none()), "{}", entry.info.name);
    }
}

#[test]
fn an_outage_that_does_not_end_is_a_failure() {
    let mut line = Line::new(&STACKS[0]);
    line.advance(at(5), false);
    line.advance(at(60), true);
    for end in &line.ends {
        let failure = end.failure().expect("nobody waits for ever");
        assert_eq!(failure.why, "timed out");
        assert!((at(34)..at(36)).contains(&failure.at), "30 s of silence: {:?}", failure.at);
    }
}
