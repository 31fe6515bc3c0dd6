//! A scheme under watch: whatever it is told, what it answers must make sense.

use bakeoff_core::info::Info;
use bakeoff_core::scheme::{
    Ack, Acked, Congestion, Connected, EcnFeedback, Lost, Restart, Scheme, Sent, Timeout, TxStart,
};
use bakeoff_core::units::{Instant, Rate};

/// Far more than any path holds; a window beyond it has run away.
pub(crate) const LARGEST_WINDOW: u32 = 1 << 30;
/// A timer that asks to be called more often than this without time passing would hang the transport.
const MAX_CALLS_AT_ONE_INSTANT: u32 = 100;

/// All that a scheme says at one time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) cwnd: u32,
    pub(crate) ssthresh: Option<u32>,
    pub(crate) pacing_rate: Option<Rate>,
    pub(crate) next_departure: Option<Instant>,
    pub(crate) next_timer: Option<Instant>,
    /// Bits, not numbers: two runs must agree exactly.
    pub(crate) telemetry: Vec<(&'static str, u64)>,
}

/// A scheme whose answers are checked after every call.
pub(crate) struct Watched {
    scheme: Box<dyn Scheme>,
    info: Info,
}

impl Watched {
    pub(crate) fn new(scheme: Box<dyn Scheme>, info: Info) -> Self {
        let watched = Self { scheme, info };
        watched.check();
        watched
    }

    pub(crate) fn has_room(&self, in_flight: u32) -> bool {
        self.scheme.has_room(in_flight)
    }

    pub(crate) fn next_timer(&self) -> Option<Instant> {
        self.scheme.next_timer()
    }

    pub(crate) fn on_connected(&mut self, connected: &Connected) {
        self.scheme.on_connected(connected);
        self.check();
    }

    pub(crate) fn on_sent(&mut self, sent: &Sent) -> u64 {
        let state = self.scheme.on_sent(sent);
        self.check();
        state
    }

    pub(crate) fn on_ecn_feedback(&mut self, feedback: &EcnFeedback) {
        self.scheme.on_ecn_feedback(feedback);
        self.check();
    }

    pub(crate) fn on_acked(&mut self, acked: &Acked) {
        self.scheme.on_acked(acked);
        self.check();
    }

    pub(crate) fn on_ack(&mut self, ack: &Ack<'_>) {
        self.scheme.on_ack(ack);
        self.check();
    }

    pub(crate) fn on_congestion(&mut self, congestion: &Congestion) {
        self.scheme.on_congestion(congestion);
        self.check();
    }

    pub(crate) fn on_loss_while_reducing(&mut self, congestion: &Congestion) {
        self.scheme.on_loss_while_reducing(congestion);
        self.check();
    }

    pub(crate) fn on_lost(&mut self, lost: &Lost) {
        self.scheme.on_lost(lost);
        self.check();
    }

    pub(crate) fn on_timeout(&mut self, timeout: &Timeout) {
        self.scheme.on_timeout(timeout);
        self.check();
    }

    pub(crate) fn on_reduced(&mut self, now: Instant) {
        self.scheme.on_reduced(now);
        self.check();
    }

    pub(crate) fn on_recovered(&mut self, now: Instant) {
        self.scheme.on_recovered(now);
        self.check();
    }

    pub(crate) fn on_undo(&mut self, now: Instant) {
        self.scheme.on_undo(now);
        self.check();
    }

    pub(crate) fn on_restart(&mut self, restart: &Restart) {
        self.scheme.on_restart(restart);
        self.check();
    }

    pub(crate) fn on_tx_start(&mut self, start: &TxStart) {
        self.scheme.on_tx_start(start);
        self.check();
    }

    /// Calls the timer as often as it wants to be called at `now`.
    pub(crate) fn run_timer(&mut self, now: Instant) {
        let mut calls = 0;
        while self.scheme.next_timer().is_some_and(|timer| timer <= now) {
            self.scheme.on_timer(now);
            self.check();
            calls += 1;
            assert!(calls < MAX_CALLS_AT_ONE_INSTANT, "next_timer stays in the past after {calls} calls of on_timer");
        }
    }

    fn check(&self) {
        let cwnd = self.scheme.cwnd();
        assert!((1..=LARGEST_WINDOW).contains(&cwnd), "cwnd is {cwnd}");
        assert!(self.scheme.has_timer() || self.scheme.next_timer().is_none(), "a timer that nobody will ask for");
        assert_ne!(self.scheme.pacing_rate(), Some(Rate::default()), "pacing rate of zero: nothing would ever leave");
    }

    /// Everything it says now.
    pub(crate) fn answer(&self) -> Answer {
        let mut telemetry = Vec::new();
        self.scheme.telemetry(&mut |name, value| {
            assert!(
                self.info.telemetry.iter().any(|quantity| quantity.name == name),
                "telemetry {name} is not declared"
            );
            assert!(value.is_finite(), "telemetry {name} is {value}");
            telemetry.push((name, value.to_bits()));
        });
        Answer {
            cwnd: self.scheme.cwnd(),
            ssthresh: self.scheme.ssthresh(),
            pacing_rate: self.scheme.pacing_rate(),
            next_departure: self.scheme.next_departure(),
            next_timer: self.scheme.next_timer(),
            telemetry,
        }
    }
}
