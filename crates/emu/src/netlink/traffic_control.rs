//! Links and wires out of the kernel's queueing disciplines: htb is the link, with the experiment's queue as its leaf;
//! netem on the next device is the wire. A link with a token bucket is tbf, with the queue in it.
//!
//! Sizes are those of IP packets: a size table takes the Ethernet header off again, which the kernel counts.

use bakeoff_core::hop::{GilbertElliott, LossConfig, wire_probability};
use bakeoff_core::units::{Bytes, Duration, Rate};

use super::{CREATE, CREATE_IF_ABSENT, Message, REPLACE};
use crate::qdisc::Qdisc;

const RTM_NEWQDISC: u16 = 36;
const RTM_NEWTCLASS: u16 = 40;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_STAB: u16 = 8;
const TCA_STAB_BASE: u16 = 1;
const TC_H_ROOT: u32 = 0xffff_ffff;
const ETHERNET_HEADER: i32 = 14;

const HTB_HANDLE: u32 = 0x0001_0000;
const HTB_CLASS: u32 = 0x0001_0001;
const LEAF_HANDLE: u32 = 0x0002_0000;
const TCA_HTB_PARMS: u16 = 1;
const TCA_HTB_INIT: u16 = 2;
const TCA_HTB_RATE64: u16 = 6;
const TCA_HTB_CEIL64: u16 = 7;
const HTB_VERSION: u32 = 3;
/// `TC_LINKLAYER_ETHERNET`: lengths as they are, without a rate table.
const LINKLAYER: u8 = 1;
/// Sixteen ticks of 64 ns: the bucket makes up for a timer that is a microsecond late, and never lets packets leave
/// back to back.
const BURST_TICKS: u32 = 16;

const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
const TCA_TBF_PRATE64: u16 = 5;
const TCA_TBF_BURST: u16 = 6;
const TCA_TBF_PBURST: u16 = 7;

const NETEM_HANDLE: u32 = 0x0003_0000;
const TCA_NETEM_REORDER: u16 = 3;
const TCA_NETEM_LOSS: u16 = 5;
const NETEM_LOSS_GE: u16 = 2;
const TCA_NETEM_RATE: u16 = 6;
const TCA_NETEM_RATE64: u16 = 8;
const TCA_NETEM_LATENCY64: u16 = 10;
const TCA_NETEM_PRNG_SEED: u16 = 14;
/// More packets than any wire holds.
const NETEM_LIMIT: u32 = 10_000_000;
/// Netem rounds each packet's time by itself; a wire that is faster by this part never holds up the link.
const WIRE_SPEED_UP: u64 = 1_000_000;
/// Twice the granularity of the guest's clock: a packet that an ack has called for arrives when the link has become
/// free, and not in the same moment.
const AFTER_SERVICE: Duration = Duration::from_nanos(512);

/// `struct tcmsg`.
fn header(device: u32, handle: u32, parent: u32) -> Vec<u8> {
    [0, device, handle, parent, 0].iter().flat_map(|word: &u32| word.to_ne_bytes()).collect()
}

/// Lengths without the Ethernet header, for this discipline and all below it.
fn ip_sizes(message: Message) -> Message {
    let mut base = vec![0; 4];
    base.extend_from_slice(&(-ETHERNET_HEADER).to_ne_bytes());
    base.extend_from_slice(&[0; 16]);
    message.nested(TCA_STAB, &Message::attributes().attribute(TCA_STAB_BASE, &base))
}

/// A link of a constant rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shaper {
    /// Its rate.
    pub rate: Rate,
}

impl Shaper {
    /// Puts it on a device that sends without limit so far.
    pub fn install(self, device: u32) -> [Message; 2] {
        let glob: Vec<u8> =
            [HTB_VERSION, 10, HTB_CLASS & 0xffff, 0, 0].iter().flat_map(|word: &u32| word.to_ne_bytes()).collect();
        let options = Message::attributes().attribute(TCA_HTB_INIT, &glob);
        let root = Message::new(RTM_NEWQDISC, CREATE, &header(device, HTB_HANDLE, TC_H_ROOT)).text(TCA_KIND, "htb");
        [ip_sizes(root).nested(TCA_OPTIONS, &options), self.class(device, CREATE)]
    }

    /// Changes the rate of the link that is there.
    pub fn change(self, device: u32) -> Message {
        self.class(device, REPLACE)
    }

    fn class(self, device: u32, flags: u16) -> Message {
        let bytes_per_second = bytes_per_second(self.rate);
        let mut parameters = rate_specification(bytes_per_second).repeat(2);
        for word in [BURST_TICKS, BURST_TICKS, 1_514, 0, 0] {
            parameters.extend_from_slice(&word.to_ne_bytes());
        }
        let options = Message::attributes()
            .attribute(TCA_HTB_PARMS, &parameters)
            .u64(TCA_HTB_RATE64, bytes_per_second)
            .u64(TCA_HTB_CEIL64, bytes_per_second);
        Message::new(RTM_NEWTCLASS, flags, &header(device, HTB_CLASS, HTB_HANDLE))
            .text(TCA_KIND, "htb")
            .nested(TCA_OPTIONS, &options)
    }
}

fn bytes_per_second(rate: Rate) -> u64 {
    rate.as_bits_per_second() / 8
}

/// `struct tc_ratespec`.
fn rate_specification(bytes_per_second: u64) -> Vec<u8> {
    let mut specification = vec![0, LINKLAYER, 0, 0, 0, 0, 0, 0];
    specification.extend_from_slice(&u32::try_from(bytes_per_second).unwrap_or(u32::MAX).to_ne_bytes());
    specification
}

/// A link that a token bucket limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    /// Its rate.
    pub rate: Rate,
    /// What may leave at once.
    pub burst: Bytes,
    /// The rate within a burst; `None` if it takes no time.
    pub peak: Option<Rate>,
    /// Size of the largest packet, which is what the bucket of the peak rate holds.
    pub largest: Bytes,
}

impl TokenBucket {
    /// Puts it on a device that sends without limit so far; its queue is the class that [`leaf`] goes to.
    pub fn install(self, device: u32) -> Message {
        let rate = bytes_per_second(self.rate);
        let mut parameters = rate_specification(rate);
        parameters.extend_from_slice(&rate_specification(self.peak.map_or(0, bytes_per_second)));
        // Without a queue of its own: one is put into it.
        parameters.extend_from_slice(&[0; 12]);
        let mut options = Message::attributes()
            .attribute(TCA_TBF_PARMS, &parameters)
            .u64(TCA_TBF_RATE64, rate)
            .u32(TCA_TBF_BURST, self.burst.count() as u32);
        if let Some(peak) = self.peak {
            options =
                options.u64(TCA_TBF_PRATE64, bytes_per_second(peak)).u32(TCA_TBF_PBURST, self.largest.count() as u32);
        }
        let root = Message::new(RTM_NEWQDISC, CREATE, &header(device, HTB_HANDLE, TC_H_ROOT)).text(TCA_KIND, "tbf");
        ip_sizes(root).nested(TCA_OPTIONS, &options)
    }
}

/// Lets a device send at once, without any queue before it.
pub fn without_queue(device: u32) -> Message {
    Message::new(RTM_NEWQDISC, REPLACE | CREATE_IF_ABSENT, &header(device, 0, TC_H_ROOT)).text(TCA_KIND, "noqueue")
}

/// Puts a queue in front of the link of a device.
pub fn leaf(device: u32, queue: &Qdisc) -> Message {
    queue.add_to(Message::new(RTM_NEWQDISC, CREATE, &header(device, LEAF_HANDLE, HTB_CLASS)))
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// A wire: every packet takes its time of transmission, may be lost, and comes out after the delay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wire {
    /// Rate of the link before it; `None` if that is unlimited.
    pub rate: Option<Rate>,
    /// Propagation delay.
    pub delay: Duration,
    /// How packets are lost.
    pub loss: LossConfig,
    /// The probability that a packet skips the delay, and which one of so many may.
    pub reorder: Option<(f64, u32)>,
    /// Fixes which.
    pub seed: u64,
}

impl Wire {
    /// Puts it on a device that sends without delay so far.
    pub fn install(self, device: u32) -> Message {
        self.message(device, CREATE)
    }

    /// Changes the wire that is there.
    pub fn change(self, device: u32) -> Message {
        self.message(device, REPLACE)
    }

    fn message(self, device: u32, flags: u16) -> Message {
        let loss = if let LossConfig::Alone(probability) = self.loss { wire_probability(probability) } else { 0 };
        let gap = self.reorder.map_or(0, |(_, gap)| gap);
        let latency = self.delay + self.rate.map_or(Duration::ZERO, |_| AFTER_SERVICE);
        let fixed: Vec<u8> =
            [0, NETEM_LIMIT, loss, gap, 0, 0].iter().flat_map(|word: &u32| word.to_ne_bytes()).collect();
        let mut options = Message::attributes()
            .raw(&fixed)
            .u64(TCA_NETEM_LATENCY64, latency.as_nanos())
            .u64(TCA_NETEM_PRNG_SEED, self.seed);
        if let Some((probability, _)) = self.reorder {
            options = options.attribute(TCA_NETEM_REORDER, &words(&[wire_probability(probability), 0]));
        }
        if let LossConfig::Bursts(GilbertElliott { to_bad, to_good, in_bad, in_good }) = self.loss {
            // `struct tc_netem_gemodel`: p, r, h, 1-k.
            let model = [to_bad, to_good, 1.0 - in_bad, in_good].map(wire_probability);
            let inner = Message::attributes().attribute(NETEM_LOSS_GE, &words(&model));
            options = options.nested(TCA_NETEM_LOSS, &inner);
        }
        if let Some(rate) = self.rate.map(bytes_per_second) {
            let bytes_per_second = rate + rate / WIRE_SPEED_UP;
            let mut rate = vec![0; 16];
            rate[..4].copy_from_slice(&u32::try_from(bytes_per_second).unwrap_or(u32::MAX).to_ne_bytes());
            options = options.attribute(TCA_NETEM_RATE, &rate).u64(TCA_NETEM_RATE64, bytes_per_second);
        }
        let root = Message::new(RTM_NEWQDISC, flags, &header(device, NETEM_HANDLE, TC_H_ROOT)).text(TCA_KIND, "netem");
        ip_sizes(root).attribute(TCA_OPTIONS, options.as_bytes())
    }
}
