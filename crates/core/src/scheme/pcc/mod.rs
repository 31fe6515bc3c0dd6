//! The PCC family: try a rate for a while, see what came of it, and move to where a utility is greater.
//!
//! What is sent at one rate in a row is a monitor interval; about a round trip after its end its result is known, and
//! the schemes, [`allegro`], [`vivace`] and [`experimental`], differ in what they make of it. No loss and no timeout
//! changes the rate at once.
//!
//! The receivers of the last two acknowledge every packet at once, by the number of its interval (`processData` in
//! `receiver/src/core.cpp`) or by its own (`SendAck` in `src/core/core.cpp`); that of the first tells of twenty at a time.
//!
//! **Deviations of all three.** Their transport was UDT over UDP: ours is another, but every transmission counts in the
//! interval in which it leaves, as there. Two round trips and 100 ms after its end the result of an interval is
//! taken, whatever has arrived; the first two originals wait for ever, so that after acks have paused for longer than that, theirs
//! does not take what is on its way for lost. The window is 100,000 packets, as large as UDT's; packets are as large as the
//! experiment's (the originals' 1464, 1400 and 1500 bytes of IP).
//!
//! A new rate begins with an interval. In the first two originals some decisions change the rate within the running one:
//! in Allegro all but a vote that is tied, in Vivace a change by a tenth at most, a reversal, a second small step and an emergency.
//! There an interval of n packets lasts n times the gap, here it is n - 1, so that short intervals look faster by 1/(n - 1).

pub(super) mod allegro;
pub(super) mod experimental;
mod monitor;
mod sender;
mod step;
mod trials;
mod utility;
pub(super) mod vivace;

use crate::info::Quantity;
use crate::units::{Bytes, Rate};

/// Packets that may be in flight: UDT's flow window, no limit in practice.
const WINDOW: u32 = 100_000;
/// Pacing is never slower, bit/s, and never faster.
const SLOWEST: f64 = 1_000.0;
const FASTEST: f64 = 1e11;

/// Telemetry of all three.
const RATE: Quantity = Quantity { name: "rate", unit: "bit/s", doc: "base rate, of packets" };
const UTILITY: Quantity = Quantity { name: "utility", unit: "", doc: "utility of the newest result" };

/// A rate in units of `megabit` bit/s as the transport wants it.
fn pacing(rate: f64, megabit: f64) -> Rate {
    Rate::from_bits_per_second_f64((rate * megabit).clamp(SLOWEST, FASTEST))
}

/// The time between two packets at a rate, seconds.
fn period(packet: Bytes, rate: f64, megabit: f64) -> f64 {
    packet.count() as f64 * 8.0 / (rate * megabit).clamp(SLOWEST, FASTEST)
}
