//! Copa: aim at a rate of one packet per so much queueing delay, and move towards it faster and faster.
//!
//! **What it is.** The queueing delay is the shortest round trip of the last half of one less the shortest of ten
//! seconds. The target rate is 1/(δ x queueing delay): every flow keeps about 1/δ packets in the queue, and all of them
//! the same. Each ack moves the window towards the target, by an amount that doubles every round trip once the
//! direction has stayed for three. Where the queue is not nearly empty for five round trips, others are filling it, and
//! 1/δ then follows additive increase and multiplicative decrease.
//!
//! **Source.** Arun and Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet", NSDI 2018
//! (sections 2.1 and 2.2, of the authors' corrected version of March 2018); `venkatarun95/genericCC`, `markoviancc.cc`,
//! at f7ca42f, 80b516c and d0153f8; `facebook/mvfst`, `quic/congestion_control/Copa.cpp`, at 979f26a.
//!
//! **Parameters.** `profile` names one of five programs, and `delta` replaces its own δ:
//! - "paper" (default): δ = 0.5, both modes, to the letter, with which one flow leaves two thirds of some links unused:
//!   ask "mvfst" what runs on the Internet;
//! - "pantheon-2017-08": genericCC at f7ca42f, the last that Pantheon named which understands the option that it was
//!   given then: δ = 0.5 and both modes; round trips and pace as in the next, one window out, and a velocity of up to a
//!   window;
//! - "pantheon-2018-01": genericCC at 80b516c, which Pantheon named in January 2018, with an option that it does not
//!   understand, so that δ is 1 and constant; the last round trip stands for the shortest of the last half, the
//!   shortest is never forgotten, and packets are paced over a whole round trip, with up to two windows of them out;
//! - "pantheon": genericCC at d0153f8, which Pantheon named from June 2018 on, with both modes and δ = 0.1, as its
//!   option says since March 2020; results from before then have `delta` = 0.5;
//! - "mvfst": δ = 0.05, no second mode; the window doubles at once in slow start, the last round trip gives the
//!   queueing delay, and the window holds 2000 packets at most, as where the application sets no other limit.
//!
//! `switches_mode` = false keeps δ constant where a profile would change it.
//!
//! **Deviations.**
//! - genericCC sends datagrams once, and counts as in flight what was sent after the latest packet acknowledged; here
//!   lost packets are sent again, and leave the window when our transport declares them lost: after a timeout within
//!   the two seconds below, the window goes out again. As there, every packet is acknowledged; "paper" and "mvfst" have
//!   the acks of our stream, with exact times.
//! - If the silence after which genericCC begins again proves to have been a delay, the window comes back; there it
//!   does not.
//! - In genericCC one packet more than the window may be out, and what an ack lets out waits for a whole gap. Where the
//!   window limits, the two cancel at f7ca42f; at d0153f8 half a packet is left, a fifth of the rate at the least
//!   window.
//! - A new gap counts from the packet that leaves next, in genericCC from the last one that left.
//! - After two seconds without an ack genericCC begins again (f7ca42f after one); here with the first retransmission
//!   timeout after that. f7ca42f sends nothing in its first two seconds; here it begins at once.
//! - In "paper" a round ends with an ack in order, so that it is longer where something is missing. With rounds of a
//!   round trip, as the paper says, the velocity overshoots there.
//! - What follows from a source's own laws stays: "paper" may swing for good on long paths, and takes itself for one
//!   among others; "mvfst" never answers a loss, which is why it is not the default (`docs/copa.md`).
//! - The paper names neither the steps of 1/δ nor what a timeout does: in "paper" it grows by one per round trip
//!   without loss and is halved once in one with losses (genericCC halves it with every ack that shows a loss, and
//!   grows it in rounds with losses too), and after a timeout the window is two packets, as after mvfst's persistent
//!   congestion.
//! - In "mvfst" the velocity ends at 2^20, and the smoothed round trip is our transport's. Every packet has a gap of
//!   its own, where mvfst lets five leave together, if it is told to pace at all. The window collapses with the first
//!   timeout, in mvfst after three probe timeouts' time of nothing but losses, and comes back if the timeout proves
//!   spurious.
//!
//! **How it is validated.** Target, velocity, modes and slow start beside the profiles; standing queue, utilisation,
//! fairness, random loss and the two modes against CUBIC in the simulator's behaviour tests; `"pantheon"` beside its
//! program over four links, and all profiles but "paper" beside their code, event by event (`docs/event-by-event.md`).

mod extreme;
mod generic_cc;
mod mvfst;
mod paper;

use super::{Scheme, Setup};
use crate::info::{Info, Kind, Parameter, Profile, Quantity};
use crate::units::{Bytes, Duration, Rate};

const PROFILES: &[Profile] = &[
    Profile { name: "paper", source: "Arun and Balakrishnan, NSDI 2018" },
    Profile { name: "pantheon-2017-08", source: "genericCC at f7ca42f, as Pantheon named it in August 2017" },
    Profile {
        name: "pantheon-2018-01",
        source: "genericCC at 80b516c, as Pantheon named it in January 2018: delta constant",
    },
    Profile { name: "pantheon", source: "genericCC at d0153f8, as Pantheon named it later" },
    Profile { name: "mvfst", source: "facebook/mvfst, quic/congestion_control/Copa.cpp: production code" },
];

/// Name, parameters and source.
pub(super) const INFO: Info = Info {
    name: "copa",
    title: "Copa",
    source: "Arun and Balakrishnan, NSDI 2018; venkatarun95/genericCC markoviancc.cc; facebook/mvfst Copa.cpp",
    parameters: &[
        Parameter::profile(PROFILES, "paper"),
        Parameter {
            name: "delta",
            kind: Kind::Number { default: 0.0, min: 0.0, max: 10.0 },
            unit: "1/packets",
            doc: "inverse of the packets that a flow keeps in the queue; 0 for the profile's own",
        },
        Parameter {
            name: "switches_mode",
            kind: Kind::Flag { default: true },
            unit: "",
            doc: "compete with flows that fill the queue, where the profile does",
        },
    ],
    telemetry: &[
        Quantity { name: "mode", unit: "", doc: "0 slow start, 1 default, 2 competitive" },
        Quantity { name: "delta", unit: "1/packets", doc: "inverse of the packets to keep in the queue" },
        Quantity { name: "velocity", unit: "", doc: "how fast the window moves, in packets x delta per round trip" },
        Quantity { name: "queueing_delay", unit: "ms", doc: "queueing delay that the target is computed from" },
    ],
};

/// The smallest window of all profiles, packets (`max(2.0, _the_window)`; mvfst `minCwndInMss`).
const LEAST_WINDOW: f64 = 2.0;
/// Slow start without a queue would go on for ever.
const MOST_WINDOW: f64 = 1_048_576.0;

/// Makes one for a flow that starts.
pub(super) fn new(setup: Setup) -> Box<dyn Scheme> {
    let Setup { mss, packet_size, parameters, .. } = setup;
    let delta = |own: f64| Some(parameters.number("delta")).filter(|delta| *delta > 0.0).unwrap_or(own);
    let switches_mode = parameters.flag("switches_mode");
    match parameters.text("profile") {
        "pantheon-2017-08" => Box::new(generic_cc::GenericCc::august_2017(packet_size, delta(0.5), switches_mode)),
        "pantheon-2018-01" => Box::new(generic_cc::GenericCc::january_2018(packet_size, delta(1.0))),
        "pantheon" => Box::new(generic_cc::GenericCc::later(packet_size, delta(0.1), switches_mode)),
        "mvfst" => Box::new(mvfst::Mvfst::new(packet_size, mss, delta(0.05))),
        _ => Box::new(paper::Paper::new(packet_size, delta(0.5), switches_mode)),
    }
}

/// The rate at which so many packets leave in so much time; never zero.
fn pace(packet_size: Bytes, packets: f64, time: Duration) -> Option<Rate> {
    let rate = packet_size.count() as f64 * 8.0 * packets / time.as_secs_f64();
    rate.is_finite().then(|| Rate::from_bits_per_second((rate as u64).max(1)))
}

/// What all profiles show.
struct Shown {
    is_slow_start: bool,
    is_competitive: bool,
    delta: f64,
    velocity: f64,
    queueing: Duration,
}

impl Shown {
    fn report(&self, report: &mut dyn FnMut(&'static str, f64)) {
        let mode = if self.is_slow_start { 0.0 } else { 1.0 + f64::from(u8::from(self.is_competitive)) };
        report("mode", mode);
        report("delta", self.delta);
        report("velocity", self.velocity);
        report("queueing_delay", self.queueing.as_secs_f64() * 1e3);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_is_slow_start_or_default_or_competitive() {
        let mode = |is_slow_start, is_competitive| {
            let shown = Shown { is_slow_start, is_competitive, delta: 0.5, velocity: 1.0, queueing: Duration::ZERO };
            let mut found = None;
            shown.report(&mut |name, value| found = found.or_else(|| (name == "mode").then_some(value)));
            found
        };
        let modes =
            [(true, false), (true, true), (false, false), (false, true)].map(|(slow, mode_of)| mode(slow, mode_of));
        assert_eq!(modes, [Some(0.0), Some(0.0), Some(1.0), Some(2.0)]);
    }
}

#[cfg(test)]
mod testing {
    use crate::scheme::{Ack, window};
    use crate::units::{Duration, Instant};

    pub(super) fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// An ack at `millis` of one packet that took `rtt_ms`, the `n`th of a flow with 100 packets in flight.
    pub(super) fn ack(millis: u64, rtt_ms: u64, n: u64) -> Ack<'static> {
        let rtt = Duration::from_millis(rtt_ms);
        let first_unacked = n + 1;
        Ack {
            now: at(millis),
            rtt: Some(rtt),
            srtt: rtt,
            min_rtt: rtt,
            first_unacked,
            next_sequence: first_unacked + 100,
            ..window::ack(1)
        }
    }
}
