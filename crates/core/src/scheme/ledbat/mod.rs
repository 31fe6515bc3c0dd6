//! LEDBAT: fill the link only as long as the queue stays below 100 ms.
//!
//! **What it is.** A sender for background traffic. It compares the one-way delay with the least of the last
//! minutes, takes the difference for its queue, and lets the window grow or shrink in proportion to the distance from a
//! target delay.
//!
//! **Source.** RFC 6817; `bittorrent/libutp`, `utp_internal.cpp` (`apply_ccontrol`, `maybe_decay_win`,
//! `check_timeouts`, `DelayHist`).
//!
//! **Parameters.** `profile`: "libutp" (default; the program behind "LEDBAT" in Pantheon: 3000 bytes per round trip,
//! halved at most every 100 ms, at most 1 MiB) or "rfc6817" (one packet per round trip, at least two packets).
//!
//! **Deviations.** Loss detection, retransmission and timers are those of our transport, not of uTP.
//! - uTP waits at least 1 s for a timeout, doubles it, and gives up after four; ours waits 200 ms or more and goes on.
//!   Only a timeout finds a lost retransmission there, and takes the window to one packet; here RACK does within a
//!   round trip, and it counts as a loss. Beside losses of 1 % at random that is some 5 % of throughput.
//! - A selective ack of uTP tells of 30 packets at most, and a retransmission leaves whatever the window says. A loss
//!   that our transport finds without an ack halves the window at once; uTP has none.
//! - The window of libutp may fall to 10 bytes, at which it sends nothing until a timeout; here one packet may always
//!   be in flight.
//! - libutp moves its base when the delay of the reverse direction falls; the reverse direction of a bulk transfer
//!   carries only acks, whose delay is not looked at here.
//! - The RFC lets a sender slow-start; this one does not. libutp calls a phase slow start in which the window grows by
//!   a packet per round trip, or by the 3000 bytes of its gain where those are more.
//! - A timeout that our transport finds to be spurious is undone; neither uTP nor the RFC can tell. Neither profile
//!   reacts to ECN.
//!
//! **How it is validated.** Gain, decrease, base history, decay and timeouts beside the parts; standing queue,
//! utilisation, the latecomer's advantage and yielding to CUBIC in the simulator's behaviour tests; beside libutp over
//! four links, and beside its code, event by event (`docs/event-by-event.md`).

mod drift;
mod history;
mod libutp;
pub(super) mod plus_plus;
mod rfc6817;

use super::{Scheme, Setup};
use crate::info::{Info, Parameter, Profile, Quantity};
use crate::units::Duration;

/// Queueing delay to aim at (RFC 6817, section 2.5; libutp `CCONTROL_TARGET`).
const TARGET: Duration = Duration::from_millis(100);

/// Name, parameters and source.
pub(super) const INFO: Info = Info {
    name: "ledbat",
    title: "LEDBAT",
    source: "RFC 6817; bittorrent/libutp utp_internal.cpp",
    parameters: &[Parameter::profile(
        &[
            Profile {
                name: "libutp",
                source: "bittorrent/libutp, utp_internal.cpp, the program behind Pantheon's LEDBAT",
            },
            Profile { name: "rfc6817", source: "RFC 6817" },
        ],
        "libutp",
    )],
    telemetry: &[
        Quantity { name: "window", unit: "bytes", doc: "congestion window, payload" },
        Quantity { name: "queueing_delay", unit: "ms", doc: "one-way delay above the base" },
        Quantity { name: "base_delay", unit: "ms", doc: "least one-way delay of the last minutes" },
        Quantity { name: "off_target", unit: "ms", doc: "target less queueing delay" },
    ],
};

/// Makes one for a flow that starts.
pub(super) fn new(setup: Setup) -> Box<dyn Scheme> {
    let Setup { mss, parameters, .. } = setup;
    match parameters.text("profile") {
        "rfc6817" => Box::new(rfc6817::Rfc6817::new(mss)),
        _ => Box::new(libutp::Libutp::new(mss)),
    }
}

/// Reports what both profiles show.
fn report_delays(report: &mut dyn FnMut(&'static str, f64), window: f64, queueing: Duration, base: Option<Duration>) {
    let millis = |delay: Duration| delay.as_secs_f64() * 1e3;
    report("window", window);
    report("queueing_delay", millis(queueing));
    if let Some(base) = base {
        report("base_delay", millis(base));
    }
    report("off_target", millis(TARGET) - millis(queueing));
}

#[cfg(test)]
mod testing {
    use crate::scheme::{Ack, RateSample, State};
    use crate::units::{Bytes, Duration, Instant};

    pub(super) const MSS: u64 = 1_448;

    /// An ack at `now` of one packet that took `delay` one way and came back in 200 ms.
    pub(super) fn ack(now: Instant, delay: Duration) -> Ack<'static> {
        Ack {
            now,
            newly_delivered: 1,
            newly_delivered_bytes: Bytes::new(MSS),
            newly_lost: 0,
            is_advance: true,
            may_raise_cwnd: true,
            is_cwnd_limited: true,
            max_packets_out: 1_000,
            prior_in_flight: 1_000,
            in_flight: 999,
            state: State::Open,
            rtt: Some(Duration::from_millis(200).max(delay)),
            srtt: Duration::from_millis(200),
            min_rtt: Duration::from_millis(200),
            is_delayed: false,
            one_way_delay: Some(delay),
            rate: RateSample::default(),
            delivered: 0,
            first_unacked: 0,
            next_sequence: 0,
            next_departure: Instant::ZERO,
            is_ecn_echo: false,
            packets: &[],
        }
    }
}
