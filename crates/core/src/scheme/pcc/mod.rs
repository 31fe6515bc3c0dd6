//! The PCC family: try a rate for a while, see what came of it, and move to where a utility is greater.
//!
//! What is sent at one rate in a row is a monitor interval; about a round trip after its end its result is known, and
//! the schemes, [`allegro`], [`vivace`] and [`experimental`], differ in what they make of it. No loss and no timeout
//! changes the rate at once.
//!
//! The receivers of the last two acknowledge every packet at once, by the number of its interval (`processData` in
//! `receiver/src/core.cpp`) or by its own (`SendAck` in `src/core/core.cpp`); that of the first tells of twenty at a
//! time.
//!
//! In the first two an interval begins with the last packet of the one before (`start_monitor`), so that n packets last
//! n gaps, and in the very first n - 1; in the third it begins with its own first packet.
//!
//! **Deviations of all three.** Their transport was UDT over UDP: ours is another, but every transmission counts in the
//! interval in which it leaves, as there. The window is 100,000 packets, as large as UDT's; packets are as large as the
//! experiment's (1464 bytes of IP in Allegro's program, 1400 in Vivace's, 1500 in PCC-Expr's). Allegro and Vivace number
//! their intervals round a ring, of 100 and of 500: what is not known when its place is needed again is forgotten, and
//! here lost. Acks of the originals are never repeated, so that a lost ack is a lost packet to them (to Allegro twenty);
//! ours tell again what the last ones told. So where acks are lost the originals would slow down, and these do not.

pub(super) mod allegro;
pub(super) mod experimental;
mod monitor;
mod sender;
mod step;
mod trials;
pub(super) mod vivace;

use crate::info::Quantity;
use crate::units::Rate;

/// Packets that may be in flight: UDT's flow window, no limit in practice.
const WINDOW: u32 = 100_000;
/// Some of their programs count in units of 2^20 bit/s.
const MEBIBIT: f64 = 1_048_576.0;
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
