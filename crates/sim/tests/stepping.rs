//! A run in pieces, and a flow that is steered from outside.

#![allow(clippy::expect_used, reason = "a broken test may panic")]

mod common;

use bakeoff_core::units::{Duration, Instant, Rate};
use bakeoff_sim::agent::{Agent, FIELDS};
use bakeoff_sim::{Scenario, Simulation, Transport, run};
use common::{Dumbbell, bulk};

fn scenario() -> Scenario {
    let flows = [bulk("cubic", 0.0), bulk("bbr", 0.5)];
    let dumbbell = Dumbbell { seconds: 5.0, loss: 0.001, level: "packets", ..Dumbbell::new(&flows) };
    Scenario::from_json(&dumbbell.json().to_string()).expect("a scenario")
}

#[test]
fn pieces_of_any_length_make_the_same_run() {
    let scenario = scenario();
    let whole = run(&scenario).expect("it runs");
    for piece_us in [700, 33_333, 10_000_000] {
        let mut simulation = Simulation::new(&scenario).expect("a simulation");
        while simulation.now() < simulation.end() {
            simulation.run_until(simulation.now() + Duration::from_micros(piece_us));
        }
        assert_eq!(simulation.finish().expect("it adds up"), whole, "{piece_us}");
    }
}

/// Bytes that arrive in each interval of half a second at these rates, in turn.
fn acked(rates_mbps: &[u64]) -> Vec<f64> {
    let dumbbell = Dumbbell { seconds: 5.0, ..Dumbbell::new(&[bulk("agent", 0.0)]) };
    let scenario = Scenario::from_json(&dumbbell.json().to_string()).expect("a scenario");
    let agent = Agent::default();
    let mut simulation =
        Simulation::with_transports(&scenario, |_| Transport::Stream(Box::new(|setup| Ok(agent.scheme(&setup)))))
            .expect("a simulation");
    let interval = Duration::from_millis(500);
    let take = |rate: &u64| {
        agent.decide(10_000, Some(Rate::from_bits_per_second(rate * 1_000_000)));
        simulation.run_until(simulation.now() + interval);
        let row = agent.take(simulation.now());
        row[FIELDS.iter().position(|name| *name == "acked_bytes").expect("a field")]
    };
    rates_mbps.iter().map(take).collect()
}

#[test]
fn a_flow_sends_at_the_rate_that_its_agent_decides() {
    let rows = acked(&[1, 1, 2, 2, 4, 4]);
    for (row, mbps) in [(1, 1.0), (3, 2.0), (5, 4.0)] {
        let payload = mbps * 1e6 / 8.0 * 0.5 * 1_448.0 / 1_500.0;
        assert!((rows[row] / payload - 1.0).abs() < 0.1, "{mbps} Mbit/s: {} of {payload}", rows[row]);
    }
    let again = [acked(&[3, 8, 3]), acked(&[3, 8, 3])];
    assert_eq!(again[0], again[1]);
}

#[test]
fn time_does_not_go_beyond_the_end() {
    let mut simulation = Simulation::new(&scenario()).expect("a simulation");
    simulation.run_until(Instant::FAR_FUTURE);
    assert_eq!(simulation.now(), simulation.end());
}
