//! A scheme that somebody else computes: each event leaves as a small message, and each answer is the scheme's
//! decision.
//!
//! **What it is.** The other end may be in this process or behind a socket; a [`Channel`] takes messages there and
//! waits for the answers. It is told of an event the moment it happens, and the transport waits for the answer.
//!
//! **Source.** The events are those of [`Scheme`], in the units of its Python face: seconds, bytes and bit/s. Numbers
//! are little-endian, without padding; a time or rate that does not exist is not a number.
//!
//! | event | message |
//! |---|---|
//! | hello | `u8` 0, `u64` payload and IP size of a full packet, `u64` seed |
//! | ack | `u8` 1, `f64` now, `u64` delivered now, lost now, in flight, `f64` round trip, smoothed, shortest, one-way delay, delivery rate, `u64` delivered so far, delivered so far when the packet of the rate left, acknowledged in order so far, sent so far, newly reported as marked, `u8` limited by the application, by the window, ECN echo, state |
//! | congestion | `u8` 2, `f64` now, `u64` in flight, `u8` cause, found by a timer |
//! | packet lost | `u8` 3, `f64` now, `u64` size |
//! | timeout | `u8` 4, `f64` now, `u64` in flight before, in flight, `u8` first of its window |
//! | sent | `u8` 5, `f64` now, `u64` size, in flight, `u8` retransmission |
//! | recovered, undo, timer | `u8` 6, 7, 9, `f64` now |
//! | restart | `u8` 8, `f64` now, idle time, retransmission timeout |
//!
//! An answer is `u8` 0, `u32` window and slow-start threshold in packets, `u64` pacing rate in bit/s and time of the
//! next timer in ns (0: none), `u16` events that it wants to hear of, a bit each; or `u8` 1 and a sentence in UTF-8.
//!
//! **Parameters.** None; what an experiment states goes to the other end.
//!
//! **Deviations.** Packets carry no state of the scheme's own.
//!
//! **How it is validated.** Layout of messages and answers here; a flow in Python beside the same law in Rust, and all
//! that can go wrong, in the tests of the Python face.

use super::{Ack, Cause, Congestion, EcnFeedback, Lost, Restart, Scheme, Sent, Setup, Timeout};
use crate::units::{Bytes, Duration, Instant, Rate};

const ANSWER_BYTES: usize = 27;

/// The way to whoever computes the scheme.
pub trait Channel: Send {
    /// Takes a message there and waits for the answer. `None` if there is none: the run is lost, and the channel tells
    /// those who have to know.
    fn exchange(&mut self, message: &[u8]) -> Option<Answer>;
}

/// What the other end has decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Congestion window, packets.
    pub cwnd: u32,
    /// Pacing rate.
    pub pacing_rate: Option<Rate>,
    /// Slow-start threshold, packets.
    pub ssthresh: Option<u32>,
    /// When it wants to be woken.
    pub timer: Option<Instant>,
    wanted: u16,
}

impl Answer {
    /// Reads an answer; the sentence of the other end if it has failed.
    pub fn decode(bytes: &[u8]) -> Result<Self, String> {
        if let [1, sentence @ ..] = bytes {
            return Err(String::from_utf8_lossy(sentence).into_owned());
        }
        let Ok(fixed) = <&[u8; ANSWER_BYTES]>::try_from(bytes) else {
            return Err(format!("an answer has {} bytes, not {ANSWER_BYTES}", bytes.len()));
        };
        let number = |start: usize, length: usize| {
            fixed[start..start + length].iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte))
        };
        let positive = |number: u64| (number > 0).then_some(number);
        Ok(Self {
            cwnd: number(1, 4) as u32,
            ssthresh: positive(number(5, 4)).map(|packets| packets as u32),
            pacing_rate: positive(number(9, 8)).map(Rate::from_bits_per_second),
            timer: positive(number(17, 8)).map(Instant::from_nanos),
            wanted: number(25, 2) as u16,
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Hello,
    Ack,
    Congestion,
    PacketLost,
    Timeout,
    Sent,
    Recovered,
    Undo,
    Restart,
    Timer,
}

/// The first message.
pub fn hello(setup: &mut Setup) -> Vec<u8> {
    // As many bits as a number of any language holds.
    let seed = setup.random.below(1 << 53);
    let numbers = [setup.mss.count(), setup.packet_size.count(), seed];
    [Kind::Hello as u8].into_iter().chain(numbers.into_iter().flat_map(u64::to_le_bytes)).collect()
}

/// A scheme at the other end of a channel.
pub struct ExternalScheme<C> {
    channel: C,
    mss: Bytes,
    answer: Answer,
    message: Vec<u8>,
    /// Packets reported as marked since the last ack was told.
    newly_marked: u32,
    is_lost: bool,
}

impl<C: Channel> ExternalScheme<C> {
    /// The scheme of a flow that starts, whose other end has given this answer to [`hello`].
    pub fn new(setup: &Setup, first: Answer, channel: C) -> Self {
        Self { channel, mss: setup.mss, answer: first, message: Vec::new(), newly_marked: 0, is_lost: false }
    }

    fn begin(&mut self, kind: Kind, now: Instant) -> &mut Self {
        self.message.clear();
        self.message.push(kind as u8);
        self.time(now.since(Instant::ZERO))
    }

    fn number(&mut self, number: u64) -> &mut Self {
        self.message.extend(number.to_le_bytes());
        self
    }

    fn real(&mut self, number: f64) -> &mut Self {
        self.message.extend(number.to_le_bytes());
        self
    }

    fn time(&mut self, time: Duration) -> &mut Self {
        self.real(time.as_secs_f64())
    }

    fn packets(&mut self, packets: u64) -> &mut Self {
        self.number((self.mss * packets).count())
    }

    fn small(&mut self, number: u8) -> &mut Self {
        self.message.push(number);
        self
    }

    fn wants(&self, kind: Kind) -> bool {
        self.answer.wanted >> kind as u16 & 1 == 1
    }

    /// Takes the message there, and does what the answer says. Without one the flow goes on with the least window until
    /// somebody ends the run.
    fn exchange(&mut self) {
        if self.is_lost {
            return;
        }
        let Some(answer) = self.channel.exchange(&self.message) else {
            self.is_lost = true;
            (self.answer.timer, self.answer.cwnd) = (None, 1);
            return;
        };
        self.answer = answer;
    }
}

fn seconds_or_nan(time: Option<Duration>) -> f64 {
    time.map_or(f64::NAN, Duration::as_secs_f64)
}

impl<C: Channel> Scheme for ExternalScheme<C> {
    fn cwnd(&self) -> u32 {
        self.answer.cwnd
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.answer.pacing_rate
    }

    fn ssthresh(&self) -> Option<u32> {
        self.answer.ssthresh
    }

    fn on_sent(&mut self, sent: &Sent) -> u64 {
        if self.wants(Kind::Sent) {
            self.begin(Kind::Sent, sent.now).number(sent.size.count()).packets(sent.in_flight.into());
            self.small(sent.is_retransmission.into()).exchange();
        }
        0
    }

    fn on_ecn_feedback(&mut self, feedback: &EcnFeedback) {
        self.newly_marked += feedback.newly_marked;
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        let newly_marked = std::mem::take(&mut self.newly_marked);
        let rate = ack.rate.rate(self.mss).map_or(f64::NAN, |rate| rate.as_bits_per_second() as f64);
        self.begin(Kind::Ack, ack.now).number(ack.newly_delivered_bytes.count()).packets(ack.newly_lost.into());
        self.packets(ack.in_flight.into()).real(seconds_or_nan(ack.rtt)).time(ack.srtt).time(ack.min_rtt);
        self.real(seconds_or_nan(ack.one_way_delay)).real(rate);
        self.packets(ack.delivered).packets(ack.rate.prior_delivered).packets(ack.first_unacked);
        self.packets(ack.next_sequence).packets(newly_marked.into()).small(ack.rate.is_app_limited.into());
        self.small(ack.is_cwnd_limited.into()).small(ack.is_ecn_echo.into()).small(ack.state as u8).exchange();
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        let cause = match congestion.cause {
            Cause::Loss => 0,
            Cause::Ecn => 1,
            Cause::TailLoss => 2,
        };
        self.begin(Kind::Congestion, congestion.now).packets(congestion.in_flight.into()).small(cause);
        self.small(congestion.is_timer.into()).exchange();
    }

    fn on_lost(&mut self, lost: &Lost) {
        if self.wants(Kind::PacketLost) {
            self.begin(Kind::PacketLost, lost.now).number(lost.size.count()).exchange();
        }
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        self.begin(Kind::Timeout, timeout.now).packets(timeout.prior_in_flight.into());
        self.packets(timeout.in_flight.into()).small(timeout.is_first.into()).exchange();
    }

    fn on_recovered(&mut self, now: Instant) {
        if self.wants(Kind::Recovered) {
            self.begin(Kind::Recovered, now).exchange();
        }
    }

    fn on_undo(&mut self, now: Instant) {
        if self.wants(Kind::Undo) {
            self.begin(Kind::Undo, now).exchange();
        }
    }

    fn on_restart(&mut self, restart: &Restart) {
        if self.wants(Kind::Restart) {
            self.begin(Kind::Restart, restart.now).time(restart.idle).time(restart.rto).exchange();
        }
    }

    fn has_timer(&self) -> bool {
        true
    }

    fn next_timer(&self) -> Option<Instant> {
        self.answer.timer
    }

    fn on_timer(&mut self, now: Instant) {
        self.begin(Kind::Timer, now).exchange();
        // The transport asks until the timer lies ahead.
        if self.answer.timer.is_some_and(|timer| timer <= now) {
            self.answer.timer = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::random::RandomStream;
    use crate::scheme::window::{ack, timeout};
    use crate::scheme::{Parameters, State};

    type Messages = Arc<Mutex<Vec<Vec<u8>>>>;

    /// Keeps messages, and gives the same answer until there is none.
    struct Tape {
        messages: Messages,
        answers: u32,
        answer: Answer,
    }

    impl Channel for Tape {
        fn exchange(&mut self, message: &[u8]) -> Option<Answer> {
            self.messages.lock().unwrap().push(message.to_vec());
            self.answers = self.answers.checked_sub(1)?;
            Some(self.answer)
        }
    }

    const NOW: Instant = Instant::from_nanos(1_500_000_000);

    fn encoded(cwnd: u32, rate: u64, timer: u64, wanted: u16) -> Vec<u8> {
        let mut bytes = vec![0];
        bytes.extend(cwnd.to_le_bytes());
        bytes.extend(0_u32.to_le_bytes());
        bytes.extend(rate.to_le_bytes());
        bytes.extend(timer.to_le_bytes());
        bytes.extend(wanted.to_le_bytes());
        bytes
    }

    fn scheme(answers: u32, wanted: u16) -> (ExternalScheme<Tape>, Messages) {
        let messages = Messages::default();
        let answer = Answer::decode(&encoded(12, 5_000_000, 7, wanted)).unwrap();
        let mut setup = Setup {
            mss: Bytes::new(1_000),
            mss_cache: Bytes::new(1_000),
            packet_size: Bytes::new(1_052),
            is_paced: false,
            random: RandomStream::new(1, "test"),
            parameters: Parameters::default(),
        };
        assert_eq!(hello(&mut setup).len(), 25);
        let channel = Tape { messages: Arc::clone(&messages), answers, answer };
        (ExternalScheme::new(&setup, answer, channel), messages)
    }

    #[test]
    fn an_answer_is_a_decision_or_a_sentence() {
        let answer = Answer::decode(&encoded(70_000, 5_000_000_000, 7, 0x201)).unwrap();
        assert_eq!((answer.cwnd, answer.ssthresh, answer.wanted), (70_000, None, 0x201));
        assert_eq!(answer.pacing_rate, Some(Rate::from_bits_per_second(5_000_000_000)));
        assert_eq!(answer.timer, Some(Instant::from_nanos(7)));
        assert_eq!(Answer::decode(&encoded(1, 0, 0, 0)).unwrap().pacing_rate, None);
        assert_eq!(Answer::decode(b"\x01line 7 is wrong"), Err("line 7 is wrong".to_owned()));
        assert!(Answer::decode(&[0; 3]).unwrap_err().starts_with("an answer has 3 bytes"));
        assert!(Answer::decode(&[]).is_err());
    }

    #[test]
    fn messages_count_bytes_and_seconds() {
        let (mut scheme, messages) = scheme(10, 0);
        scheme.on_timeout(&Timeout { now: NOW, prior_in_flight: 9, in_flight: 2, ..timeout(true) });
        let message = messages.lock().unwrap()[0].clone();
        let mut expected = vec![4];
        expected.extend(1.5_f64.to_le_bytes());
        expected.extend(9_000_u64.to_le_bytes());
        expected.extend(2_000_u64.to_le_bytes());
        expected.push(1);
        assert_eq!(message, expected);
    }

    #[test]
    fn an_ack_tells_what_is_in_order_what_was_sent_and_the_marks_since_the_last_ack() {
        let (mut scheme, messages) = scheme(10, 0);
        let feedback = EcnFeedback {
            now: NOW,
            newly_delivered: 2,
            newly_marked: 3,
            delivered: 2,
            marked: 3,
            is_sce_echo: false,
            state: State::Open,
            first_unacked: 7,
            next_sequence: 9,
        };
        scheme.on_ecn_feedback(&feedback);
        scheme.on_ecn_feedback(&feedback);
        for marked in [6_000_u64, 0] {
            scheme.on_ack(&Ack { first_unacked: 7, next_sequence: 9, ..ack(2) });
            let message = messages.lock().unwrap().pop().unwrap();
            let counts = [7_000, 9_000, marked].map(u64::to_le_bytes).concat();
            assert_eq!((message.len(), &message[89..113]), (117, &counts[..]));
        }
    }

    #[test]
    fn a_loss_tells_whether_an_ack_follows() {
        let (mut scheme, messages) = scheme(10, 0);
        for is_timer in [false, true] {
            scheme.on_congestion(&Congestion { now: NOW, cause: Cause::TailLoss, in_flight: 4, is_timer });
            let message = messages.lock().unwrap().pop().unwrap();
            assert_eq!(message[9..], [&4_000_u64.to_le_bytes()[..], &[2, is_timer.into()]].concat());
        }
    }

    #[test]
    fn only_wanted_events_are_told() {
        let lost = Lost { now: NOW, size: Bytes::new(1_000), packet: 0, is_timer: false };
        for (wanted, told) in [(0, 0), (1 << 3, 1)] {
            let (mut scheme, messages) = scheme(10, wanted);
            scheme.on_lost(&lost);
            scheme.on_recovered(NOW);
            assert_eq!(messages.lock().unwrap().len(), told);
        }
    }

    #[test]
    fn after_the_last_answer_a_flow_creeps() {
        let (mut scheme, messages) = scheme(0, 0);
        assert_eq!(scheme.next_timer(), Some(Instant::from_nanos(7)));
        scheme.on_timer(NOW);
        scheme.on_timer(NOW);
        assert_eq!(messages.lock().unwrap().len(), 1);
        assert_eq!((scheme.cwnd(), scheme.next_timer()), (1, None));
    }
}
