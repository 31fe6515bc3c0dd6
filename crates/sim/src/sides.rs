//! The two sides of a path, each of which can be run for a while without the other.
//!
//! What the far side sends shows at the near one only when it has propagated. So the near side is run for as long as
//! that takes by itself, and then the far one up to the same time. The result is that of strict order of time; but the
//! processor has the code of one side at hand, and meets its events in an order that it can predict.
//!
//! **Source.** The lookahead of conservative simulation: R. M. Fujimoto, Parallel Discrete Event Simulation,
//! Communications of the ACM 33(10), 1990.

use bakeoff_core::hop::{HopConfig, LinkConfig};
use bakeoff_core::scenario::{Direction, Scenario};
use bakeoff_core::units::Duration;

/// A side of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Where the forward direction begins.
    Near,
    /// Where it ends.
    Far,
}

impl Side {
    /// Both, in the order in which they take turns; what there is one of for each is kept in this order too.
    pub(crate) const BOTH: [Self; 2] = [Self::Near, Self::Far];
}

/// Where packets pass from one side to the other.
#[derive(Clone, Copy, Debug)]
struct Crossing {
    /// The forward hop behind which the far side begins, and the reverse hop behind which the near side does.
    forward: usize,
    reverse: usize,
    /// What a packet takes at least to get back over the reverse hop.
    back: Duration,
}

/// Who is on which side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sides(Option<Crossing>);

impl Sides {
    /// Those of a scenario.
    pub(crate) fn of(scenario: &Scenario) -> Self {
        // The recorder tells copies of a packet apart by what happens to them first.
        if scenario.forward.iter().chain(&scenario.reverse).any(|hop| hop.duplicate > 0.0) {
            return Self(None);
        }
        let forward = longest_delay(&scenario.forward, |_| true);
        // The near side must not need to know what the far one is about to send: nothing may queue on its way back.
        let reverse = longest_delay(&scenario.reverse, |hop| matches!(hop.link, LinkConfig::Unlimited));
        Self(forward.zip(reverse).map(|((forward, _), (reverse, back))| Crossing { forward, reverse, back }))
    }

    /// All on the near side, which is strict order of time.
    #[cfg(test)]
    pub(crate) const ONE: Self = Self(None);

    /// How long the near side can be run without the far one.
    pub(crate) fn lookahead(self) -> Duration {
        self.0.map_or(Duration::MAX, |crossing| crossing.back)
    }

    /// Where what comes out of each hop is dealt with, in the order of [`Path::hops`](bakeoff_core::path::Path::hops).
    pub(crate) fn hops(self, scenario: &Scenario) -> impl Iterator<Item = Side> {
        let far_if = |is_far| if is_far { Side::Far } else { Side::Near };
        let [forward, reverse] = [&scenario.forward, &scenario.reverse].map(|hops| 0..hops.len());
        let own = scenario.flows.iter().filter(|flow| !flow.extra_delay.is_zero());
        forward
            .map(move |hop| far_if(self.0.is_some_and(|crossing| hop >= crossing.forward)))
            .chain(reverse.map(move |hop| far_if(self.0.is_some_and(|crossing| hop < crossing.reverse))))
            .chain(own.flat_map(move |flow| [self.sender(flow.direction); 2]))
    }

    /// Where the sender of a flow is whose data goes in this direction, or the asker of a probe.
    pub(crate) fn sender(self, direction: Direction) -> Side {
        if self.0.is_some() && direction == Direction::Reverse { Side::Far } else { Side::Near }
    }

    /// Where its receiver is.
    pub(crate) fn receiver(self, direction: Direction) -> Side {
        if self.0.is_some() && direction == Direction::Forward { Side::Far } else { Side::Near }
    }
}

/// The hop with the longest delay among those where packets stay for that long and keep their order, and the delay.
fn longest_delay(hops: &[HopConfig], may_be: impl Fn(&HopConfig) -> bool) -> Option<(usize, Duration)> {
    let keeps_order = |hop: &HopConfig| hop.reorder.is_none() && hop.slots.is_none();
    hops.iter()
        .enumerate()
        .filter(|(_, hop)| !hop.delay.is_zero() && keeps_order(hop) && may_be(hop))
        .max_by_key(|(_, hop)| hop.delay)
        .map(|(index, hop)| (index, hop.delay))
}

#[cfg(test)]
mod tests {
    use bakeoff_core::units::Instant;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::world::World;
    use crate::{Recording, Transport};

    fn link() -> impl Strategy<Value = Value> {
        prop_oneof![
            3 => Just(json!({"kind": "unlimited"})),
            2 => (1_u64..12).prop_map(|mbps| json!({"kind": "constant", "rate_bps": mbps * 1_000_000})),
            1 => Just(json!({"kind": "poisson", "rate_bps": 6_000_000})),
            1 => Just(json!({"kind": "trace", "opportunities_ms": [1, 1, 3, 7, 8, 8, 8, 20]})),
            1 => Just(json!({"kind": "token-bucket", "rate_bps": 4_000_000, "burst_bytes": 15_000, "peak_bps": null})),
        ]
    }

    fn queue() -> impl Strategy<Value = Value> {
        prop_oneof![
            3 => (5_u64..40).prop_map(|limit| json!({"kind": "fifo", "limit_packets": limit})),
            1 => prop::sample::select(vec!["codel", "fq_codel", "pie", "dualpi2"]).prop_map(|kind| json!({"kind": kind})),
        ]
    }

    /// Times in whole milliseconds, so that much falls together.
    fn hop() -> impl Strategy<Value = Value> {
        let delay = prop_oneof![1 => Just(0_u64), 4 => 1_u64..15];
        let odd = prop_oneof![
            5 => Just(json!({})),
            1 => Just(json!({"jitter_ns": 3_000_000})),
            1 => Just(json!({"loss": 0.01})),
            1 => Just(json!({"replay_window": 3})),
        ];
        (link(), queue(), delay, odd).prop_map(|(link, queue, delay, mut odd)| {
            odd["link"] = link;
            odd["queue"] = queue;
            odd["delay_ns"] = json!(delay * 1_000_000);
            odd
        })
    }

    fn direction() -> impl Strategy<Value = &'static str> {
        prop_oneof![2 => Just("forward"), 1 => Just("reverse")]
    }

    fn flow() -> impl Strategy<Value = Value> {
        let scheme = prop::sample::select(vec!["reno", "cubic", "bbr", "vivace", "prague"]);
        let own_delay = prop_oneof![2 => Just(0_u64), 1 => 1_u64..9];
        (scheme, direction(), own_delay, 0_u64..300).prop_map(|(scheme, direction, own_delay, start)| {
            json!({
                "scheme": scheme, "traffic": {"kind": "bulk"}, "direction": direction,
                "ecn": if scheme == "prague" { "accurate" } else { "off" }, "extra_delay_ns": own_delay * 1_000_000,
                "start_ns": start * 1_000_000, "stop_ns": 2_000_000_000, "receive_window_bytes": 100_000,
            })
        })
    }

    fn probe() -> impl Strategy<Value = Value> {
        direction().prop_map(|direction| {
            json!({
                "interval_ns": 20_000_000, "size_bytes": 64, "direction": direction, "start_ns": 0,
                "stop_ns": 2_000_000_000,
            })
        })
    }

    fn scenario() -> impl Strategy<Value = Value> {
        let hops = || prop::collection::vec(hop(), 1..4);
        (hops(), hops(), prop::collection::vec(flow(), 1..4), prop::collection::vec(probe(), 0..3)).prop_map(
            |(mut forward, reverse, flows, probes)| {
                // A window that comes back at once is none.
                forward[0]["delay_ns"] = json!(forward[0]["delay_ns"].as_u64().unwrap().max(1_000_000));
                json!({
                    "seed": 1, "duration_ns": 2_000_000_000, "record": {"level": "packets", "interval_ns": 10_000_000},
                    "forward": forward, "reverse": reverse, "flows": flows, "probes": probes,
                })
            },
        )
    }

    fn recording(scenario: &Scenario, sides: Sides) -> Recording {
        let mut world = World::new(scenario, sides, |flow| Transport::named(scenario, flow, &[])).unwrap();
        world.run_until(Instant::FAR_FUTURE);
        world.finish().unwrap()
    }

    /// The sides of forward and reverse hops, and the lookahead in milliseconds.
    fn sides(forward: &[Value], reverse: &[Value]) -> (Vec<Side>, u64) {
        let scenario = Scenario::from_json(
            &json!({
                "seed": 1, "duration_ns": 1_000_000_000, "record": {"level": "summary", "interval_ns": 10_000_000},
                "forward": forward, "reverse": reverse,
                "flows": [{"scheme": "reno", "traffic": {"kind": "bulk"}, "start_ns": 0, "stop_ns": 1_000_000_000}],
            })
            .to_string(),
        )
        .unwrap();
        let sides = Sides::of(&scenario);
        (sides.hops(&scenario).collect(), sides.lookahead().as_millis())
    }

    #[test]
    fn the_far_side_begins_behind_the_longest_delay() {
        let hop = |link: &Value, delay_ms: u64| json!({"link": link, "queue": {"kind": "fifo", "limit_packets": 9}, "delay_ns": delay_ms * 1_000_000});
        let (free, slow) = (json!({"kind": "unlimited"}), json!({"kind": "constant", "rate_bps": 1_000_000}));
        let (near, far) = (Side::Near, Side::Far);
        assert_eq!(sides(&[hop(&slow, 20)], &[hop(&free, 30)]), (vec![far, near], 30));
        let forward = [hop(&slow, 1), hop(&slow, 8), hop(&slow, 1)];
        assert_eq!(sides(&forward, &[hop(&free, 1), hop(&free, 2)]), (vec![near, far, far, far, near], 2));
        let (one_side, _) = sides(&forward, &[hop(&slow, 2)]);
        assert_eq!(one_side, [near; 4], "what queues on the way back cannot be foreseen");
        for odd in [
            json!({"reorder": {"probability": 0.5, "change": {"kind": "ahead", "gap": 1}}}),
            json!({"slots": {"min_ns": 90_000_000, "max_ns": 90_000_000, "packets": 1}}),
        ] {
            let mut far_hop = hop(&slow, 20);
            far_hop.as_object_mut().unwrap().extend(odd.as_object().unwrap().clone());
            let forward = [far_hop, hop(&slow, 8)];
            assert_eq!(sides(&forward, &[hop(&free, 5)]), (vec![near, far, near], 5), "{odd}");
        }
        let mut doubling = hop(&slow, 20);
        doubling["duplicate"] = json!(0.1);
        assert_eq!(sides(&[doubling], &[hop(&free, 30)]).0, [near; 2], "copies are told apart by what happens first");
        let mut doubling = hop(&free, 30);
        doubling["duplicate"] = json!(0.1);
        assert_eq!(sides(&[hop(&slow, 20)], &[doubling]).0, [near; 2], "on the way back, too");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn sides_that_take_turns_make_the_run_of_strict_order(scenario in scenario()) {
            let scenario = Scenario::from_json(&scenario.to_string()).unwrap();
            prop_assert_eq!(recording(&scenario, Sides::of(&scenario)), recording(&scenario, Sides::ONE));
        }
    }
}
