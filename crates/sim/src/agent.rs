//! A flow whose scheme sits outside the simulation: it decides now and then, and sees what happened in between.
//!
//! A run is taken from decision to decision with [`crate::Simulation::run_until`]. The scheme of the flow only counts.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bakeoff_core::scheme::{Ack, Congestion, INITIAL_WINDOW, Lost, Scheme, Sent, Setup, Timeout};
use bakeoff_core::units::{Duration, Instant, Rate};

/// Names of what [`Agent::take`] returns, in its order. Bytes are payload.
pub const FIELDS: [&str; 11] = [
    "start_s",
    "length_s",
    "sent_bytes",
    "acked_bytes",
    "lost_bytes",
    "rtt_mean_s",
    "rtt_gradient",
    "min_rtt_s",
    "srtt_s",
    "in_flight_bytes",
    "rtt_increase_s",
];

/// Who decides for a flow.
#[derive(Clone, Debug, Default)]
pub struct Agent {
    shared: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    cwnd: u32,
    pacing_rate: Option<Rate>,
    mss: u64,
    /// What has happened since `start`; none before the first packet.
    start: Option<Instant>,
    sent: u64,
    acked: u64,
    lost: u64,
    line: Line,
    rtts: Vec<f64>,
    min_rtt: Option<Duration>,
    srtt: Option<Duration>,
    in_flight: u32,
}

impl Default for State {
    fn default() -> Self {
        Self {
            cwnd: INITIAL_WINDOW,
            pacing_rate: None,
            mss: 0,
            start: None,
            sent: 0,
            acked: 0,
            lost: 0,
            line: Line::default(),
            rtts: Vec::new(),
            min_rtt: None,
            srtt: None,
            in_flight: 0,
        }
    }
}

/// A line through round trips over time, by least squares.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    count: f64,
    times: f64,
    values: f64,
    squares: f64,
    products: f64,
}

impl Line {
    fn add(&mut self, time: f64, value: f64) {
        self.count += 1.0;
        self.times += time;
        self.values += value;
        self.squares += time * time;
        self.products += time * value;
    }

    /// Not a number without samples.
    fn mean(&self) -> f64 {
        self.values / self.count
    }

    /// Zero where samples do not tell.
    fn slope(&self) -> f64 {
        let spread = self.count * self.squares - self.times * self.times;
        let slope = (self.count * self.products - self.times * self.values) / spread;
        if slope.is_finite() { slope } else { 0.0 }
    }
}

/// The mean of the later half of some values above that of the earlier half, which is the shorter one (PCC-RL
/// `sender_obs.py`, "latency increase"); zero for fewer than two.
fn increase(values: &[f64]) -> f64 {
    let (earlier, later) = values.split_at(values.len() / 2);
    let mean = |half: &[f64]| half.iter().sum::<f64>() / half.len() as f64;
    if earlier.is_empty() { 0.0 } else { mean(later) - mean(earlier) }
}

impl Agent {
    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The scheme that does what this agent says.
    pub fn scheme(&self, setup: &Setup) -> Box<dyn Scheme> {
        self.state().mss = setup.mss.count();
        Box::new(Driven(self.clone()))
    }

    /// Decides: a window of at least one packet, and a pacing rate above zero, or none.
    pub fn decide(&self, cwnd: u32, pacing_rate: Option<Rate>) {
        let mut state = self.state();
        state.cwnd = cwnd.max(1);
        state.pacing_rate = pacing_rate.filter(|rate| !rate.is_zero());
    }

    /// Whether anything has been acknowledged.
    pub fn is_connected(&self) -> bool {
        self.state().srtt.is_some()
    }

    /// What has happened since this was last asked, in the order of [`FIELDS`]; a time that is not known yet is not a
    /// number.
    pub fn take(&self, now: Instant) -> [f64; FIELDS.len()] {
        let mut state = self.state();
        let or_nan = |time: Option<Duration>| time.map_or(f64::NAN, Duration::as_secs_f64);
        let start = state.start.unwrap_or(now);
        let taken = [
            start.since(Instant::ZERO).as_secs_f64(),
            now.since(start).as_secs_f64(),
            state.sent as f64,
            state.acked as f64,
            state.lost as f64,
            state.line.mean(),
            state.line.slope(),
            or_nan(state.min_rtt),
            or_nan(state.srtt),
            (u64::from(state.in_flight) * state.mss) as f64,
            increase(&state.rtts),
        ];
        state.start = Some(now);
        state.rtts.clear();
        (state.sent, state.acked, state.lost, state.line) = (0, 0, 0, Line::default());
        taken
    }
}

struct Driven(Agent);

impl Scheme for Driven {
    fn cwnd(&self) -> u32 {
        self.0.state().cwnd
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.0.state().pacing_rate
    }

    fn on_sent(&mut self, sent: &Sent) -> u64 {
        let mut state = self.0.state();
        state.start.get_or_insert(sent.now);
        state.sent += sent.size.count();
        state.in_flight = sent.in_flight;
        0
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        let mut state = self.0.state();
        state.acked += ack.newly_delivered_bytes.count();
        state.in_flight = ack.in_flight;
        state.min_rtt = Some(ack.min_rtt);
        state.srtt = Some(ack.srtt);
        if let Some(rtt) = ack.rtt {
            let time = state.start.map_or(0.0, |start| ack.now.since(start).as_secs_f64());
            state.line.add(time, rtt.as_secs_f64());
            state.rtts.push(rtt.as_secs_f64());
        }
    }

    fn on_congestion(&mut self, _congestion: &Congestion) {}

    fn on_lost(&mut self, lost: &Lost) {
        self.0.state().lost += lost.size.count();
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        self.0.state().in_flight = timeout.in_flight;
    }
}

#[cfg(test)]
mod tests {
    use bakeoff_core::random::RandomStream;
    use bakeoff_core::scheme::{Parameters, RateSample, State};
    use bakeoff_core::units::Bytes;

    use super::*;

    #[test]
    #[expect(clippy::float_cmp, reason = "small whole numbers are exact")]
    fn a_line_has_a_mean_and_a_slope() {
        let mut line = Line::default();
        assert!(line.mean().is_nan());
        assert_eq!(line.slope(), 0.0);
        line.add(1.0, 5.0);
        assert_eq!((line.mean(), line.slope()), (5.0, 0.0));
        line.add(3.0, 9.0);
        assert_eq!((line.mean(), line.slope()), (7.0, 2.0));
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "small whole numbers are exact")]
    fn the_middle_of_an_odd_number_of_round_trips_belongs_to_the_later_half() {
        assert_eq!(increase(&[]), 0.0);
        assert_eq!(increase(&[5.0]), 0.0);
        assert_eq!(increase(&[5.0, 6.0]), 1.0);
        assert_eq!(increase(&[5.0, 6.0, 10.0]), 3.0);
    }

    #[test]
    fn what_was_taken_is_forgotten() {
        let agent = Agent::default();
        let at = |seconds| Instant::ZERO + Duration::from_secs(seconds);
        {
            let mut state = agent.state();
            (state.start, state.sent, state.acked, state.lost) = (Some(at(1)), 3, 4, 5);
            state.line.add(0.0, 2.0);
            state.rtts = vec![2.0, 4.0];
        }
        let taken = agent.take(at(3));
        assert_eq!((taken[..6].to_vec(), taken[10]), (vec![1.0, 2.0, 3.0, 4.0, 5.0, 2.0], 2.0));
        let taken = agent.take(at(7));
        assert_eq!((taken[..5].to_vec(), taken[10]), (vec![3.0, 4.0, 0.0, 0.0, 0.0], 0.0));
        assert!(taken[5].is_nan());
    }

    fn setup() -> Setup {
        Setup {
            mss: Bytes::new(1_000),
            mss_cache: Bytes::new(1_000),
            packet_size: Bytes::new(1_052),
            is_paced: false,
            random: RandomStream::new(1, "test"),
            parameters: Parameters::default(),
        }
    }

    fn ack(now: Instant, rtt: Option<Duration>, in_flight: u32) -> Ack<'static> {
        Ack {
            now,
            newly_delivered: 2,
            newly_delivered_bytes: Bytes::new(1_900),
            newly_lost: 0,
            is_advance: true,
            may_raise_cwnd: true,
            is_cwnd_limited: true,
            max_packets_out: 9,
            prior_in_flight: 9,
            in_flight,
            state: State::Open,
            rtt,
            srtt: Duration::from_millis(250),
            min_rtt: Duration::from_millis(90),
            is_delayed: false,
            one_way_delay: None,
            rate: RateSample::default(),
            delivered: 0,
            first_unacked: 0,
            next_sequence: 0,
            next_departure: now,
            is_ecn_echo: false,
            packets: &[],
        }
    }

    #[test]
    fn what_happens_is_counted_from_the_first_packet_on() {
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        let agent = Agent::default();
        let mut scheme = agent.scheme(&setup());
        let in_flight = |agent: &Agent| agent.state().in_flight;
        for (millis, packets) in [(2_000, 1), (2_100, 2)] {
            let size = Bytes::new(950);
            scheme.on_sent(&Sent { now: at(millis), size, is_retransmission: false, in_flight: packets, delivered: 0 });
        }
        assert_eq!((in_flight(&agent), agent.is_connected()), (2, false));
        scheme.on_ack(&ack(at(2_500), Some(Duration::from_millis(100)), 8));
        scheme.on_ack(&ack(at(3_000), None, 6));
        scheme.on_ack(&ack(at(3_500), Some(Duration::from_millis(300)), 7));
        scheme.on_lost(&Lost { now: at(3_600), size: Bytes::new(950), packet: 0, is_timer: false });
        let found = agent.take(at(4_000));
        let expected = [2.0, 2.0, 1_900.0, 5_700.0, 950.0, 0.2, 0.2, 0.09, 0.25, 7_000.0, 0.2];
        assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-9), "{found:?}");
        let (prior_in_flight, next_sequence) = (7, 0);
        scheme.on_timeout(&Timeout { now: at(5_000), prior_in_flight, in_flight: 1, next_sequence, is_first: true });
        assert_eq!((in_flight(&agent), agent.is_connected()), (1, true));
    }

    #[test]
    fn a_decision_leaves_a_packet_in_flight_and_no_rate_of_nothing() {
        let agent = Agent::default();
        let scheme = agent.scheme(&setup());
        agent.decide(0, Some(Rate::from_bits_per_second(0)));
        assert_eq!((scheme.cwnd(), scheme.pacing_rate()), (1, None));
        let rate = Some(Rate::from_bits_per_second(5));
        agent.decide(7, rate);
        assert_eq!((scheme.cwnd(), scheme.pacing_rate()), (7, rate));
    }
}
