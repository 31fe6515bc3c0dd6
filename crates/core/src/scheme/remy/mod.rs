//! RemyCC: a table of rules that a computer found. With a tree of our own, and as "TaoVA" of the Pantheon with that of
//! a file.
//!
//! **What it is.** With every ack four averages are brought up to date, and a tree says for them by how much to change
//! the window and how far apart packets are to leave. `remycc` follows a tree that `crates/train` made by Remy's
//! method, called `own-100x`; `taova` follows the tree of a file, as Remy's training writes it. The one that the
//! Pantheon calls TaoVA-100x is `RemyCC-2014-100x.dna`, which is not part of this project; no result of `remycc` is one
//! of that tree.
//!
//! **Source.** Winstein and Balakrishnan, "TCP ex Machina", SIGCOMM 2013; Sivaraman et al., "An Experimental Study of
//! the Learnability of Congestion Control", SIGCOMM 2014; `tcpexmachina/remy` (`rat.cc`, `memory.cc`,
//! `whiskertree.cc`); `venkatarun95/genericCC` (`remycc.cc`, `rat.cc`, `memory-default.cc`).
//!
//! **Parameters.** `tree` (of `taova`): a file; an experiment has to name one. `profile`: "pantheon" (default
//! of `taova`; genericCC: the first window is two packets, averages rest while packets are missing) or "remy" (default
//! of `remycc`, whose tree was trained so; Remy's simulator: the first window is that of the rule for an empty memory,
//! every ack counts, and a sender that was idle begins anew).
//!
//! **Deviations.**
//! - The originals send datagrams once, and count as in flight what was sent after the latest packet acknowledged; here
//!   lost packets are sent again, and leave the window when our transport declares them lost.
//! - A window of nothing is one packet here. genericCC, which counts acks from one, lets out a packet more than its
//!   window says.
//! - While its window is full, genericCC begins a gap whenever one ends; here with the last ack.
//! - genericCC begins again after two seconds without an ack; here with the first retransmission timeout after that. If
//!   the silence proves to have been a delay, the window comes back; there it does not.
//! - Remy's sender begins anew whenever it is switched on; here only if all it sent before has been acknowledged.
//! - A memory outside of all boxes, at which the originals stop, is moved to the nearest.
//!
//! **How it is validated.** Averages and actions here, files and look-up beside the tree, pacing and windows in the
//! simulator's behaviour tests. With the published tree the throughputs and delays of Remy's own regression test are
//! met within its 5 %, but for the delay at 2.21 Mbit/s (9 % less, since senders begin anew less often), and the rates
//! of genericCC over four links; its code, told the same events, has the same window, gap and averages after each
//! (`docs/event-by-event.md`). `own-100x` is a small training, five billion packets where Remy spent weeks of many
//! processors. Utility is log2 of throughput over that of an equal share, less log2 of the round trip over the
//! shortest; over links of 3 to 316 Mbit/s with 150 ms and two senders that are on and off for a second, in the
//! simulator of the training, with a queue without end: `own-100x` -0.64, the published tree -0.60, the rule that
//! training begins with -5.7. In bakeoff's own simulator, on ten of these links: `remycc` -0.65, Copa -1.61, Cubic
//! -1.68, BBR -1.98, none of which was made for a queue without end. Remy's regression tests, with throughput of a
//! sender while it is on and mean round trip:
//!
//! | link, Mbit/s | own-100x | published tree, published |
//! | --- | --- | --- |
//! | 2.21 | 2.0 Mbit/s, 941 ms | 1.8 Mbit/s, 346 ms |
//! | 9.93 | 6.9 Mbit/s, 198 ms | 6.0 Mbit/s, 165 ms |
//! | 29.41 | 19.8 Mbit/s, 200 ms | 18.0 Mbit/s, 174 ms |
//! | 185.04 | 111 Mbit/s, 159 ms | 91.1 Mbit/s, 157 ms |
//! | 300.25 | 135 Mbit/s, 152 ms | 133 Mbit/s, 152 ms |
//! | 401.4 | 137 Mbit/s, 150 ms | 146 Mbit/s, 151 ms |
//! | 801.5 | 135 Mbit/s, 150 ms | 156 Mbit/s, 150 ms |
//!
//! It takes more throughput at the price of more delay on slow links. Below 3 Mbit/s it floods the queue, more than the
//! published tree does. It has seen one round trip only, 150 ms, no losses and no link whose rate changes. Do not take
//! its results for those of TaoVA-100x.

mod dna;
mod error;
mod json;
mod tree;
mod wire;

use std::sync::{Arc, LazyLock};

pub use self::error::{JsonError, TreeError};
pub use self::tree::{AXES, Action, Domain, Memory, Tree};
pub use self::wire::WireError;
use super::{Ack, Congestion, Feedback, Restart, Scheme, Sent, Setup, Timeout};
use crate::info::{self, Info, Kind, Parameter, Quantity};
use crate::units::{Bytes, Duration, Instant, Rate};

const SOURCE: &str = "Winstein and Balakrishnan, SIGCOMM 2013; tcpexmachina/remy; venkatarun95/genericCC remycc.cc";

const PROFILES: &[info::Profile] = &[
    info::Profile { name: "pantheon", source: "venkatarun95/genericCC, remycc.cc, the program that Pantheon ran" },
    info::Profile { name: "remy", source: "tcpexmachina/remy, rat.cc, the simulator of the training" },
];

const TELEMETRY: &[Quantity] = &[
    Quantity { name: "rule", unit: "", doc: "index of the rule in use" },
    Quantity { name: "intersend", unit: "ms", doc: "least time between two packets" },
    Quantity { name: "send_ewma", unit: "ms", doc: "average time between packets sent" },
    Quantity { name: "rec_ewma", unit: "ms", doc: "average time between packets received" },
    Quantity { name: "rtt_ratio", unit: "", doc: "last round trip over the shortest" },
    Quantity { name: "slow_rec_ewma", unit: "ms", doc: "slow average of the time between packets received" },
];

/// Name, parameters and source of the sender with the shipped tree.
pub(super) const REMYCC: Info = Info {
    name: "remycc",
    title: "RemyCC (own tree)",
    source: SOURCE,
    parameters: &[Parameter::profile(PROFILES, "remy")],
    telemetry: TELEMETRY,
};

/// Name, parameters and source of the sender with a tree from a file.
pub(super) const TAOVA: Info = Info {
    name: "taova",
    title: "RemyCC (tree of a file)",
    source: SOURCE,
    parameters: &[
        Parameter {
            name: "tree",
            kind: Kind::File {
                content: "a tree of rules, as Remy or bakeoff-train writes it",
                problem: |bytes, _| Tree::read(bytes).err().map(|error| error.to_string()),
            },
            unit: "",
            doc: "the tree of rules; the Pantheon's TaoVA-100x is RemyCC-2014-100x.dna of venkatarun95/genericCC",
        },
        Parameter::profile(PROFILES, "pantheon"),
    ],
    telemetry: TELEMETRY,
};

/// The shipped tree, as `bakeoff-train` wrote it.
const OWN: &[u8] = include_bytes!("own-100x.json");

impl Tree {
    /// Reads a file, be it JSON or Remy's.
    pub fn read(bytes: &[u8]) -> Result<Self, TreeError> {
        // No message of Remy's begins with a brace: that would be a field 15.
        if bytes.trim_ascii_start().first() == Some(&b'{') { Self::from_json(bytes) } else { Self::from_dna(bytes) }
    }

    /// The shipped tree, `own-100x`.
    pub fn own() -> &'static Arc<Self> {
        static OWN_TREE: LazyLock<Arc<Tree>> = LazyLock::new(|| Arc::new(read_or_untrained(OWN)));
        &OWN_TREE
    }
}

/// genericCC's first window, packets.
const FIRST_WINDOW: f64 = 2.0;
/// Without an ack for so long, genericCC begins again.
const SILENCE: Duration = Duration::from_secs(2);

/// Makes one with the shipped tree for a flow that starts.
pub(super) fn new_remycc(setup: Setup) -> Box<dyn Scheme> {
    build(Arc::clone(Tree::own()), setup)
}

/// Makes one with the tree of a file for a flow that starts.
pub(super) fn new_taova(setup: Setup) -> Box<dyn Scheme> {
    let tree = read_or_untrained(setup.parameters.data("tree"));
    build(Arc::new(tree), setup)
}

fn build(tree: Arc<Tree>, setup: Setup) -> Box<dyn Scheme> {
    let Setup { packet_size, parameters, .. } = setup;
    let profile = if parameters.text("profile") == "remy" { Profile::Remy } else { Profile::Pantheon };
    Box::new(RemyCc::new(tree, profile, packet_size))
}

/// A file was read when the parameters were checked, and the shipped tree by a test.
fn read_or_untrained(bytes: &[u8]) -> Tree {
    Tree::read(bytes).unwrap_or_else(|_| Tree::single(Action::UNTRAINED))
}

/// Which program to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// genericCC.
    Pantheon,
    /// Remy's simulator, in which trees are trained.
    Remy,
}

/// What a packet remembers: when it left, and its number.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Tag {
    sent: Instant,
    number: u32,
}

impl Tag {
    /// Bits of the number; the rest is nanoseconds, which begin anew after 18 minutes.
    const BITS: u32 = 24;
    const NUMBERS: u32 = 1 << Self::BITS;

    fn encode(self) -> u64 {
        self.sent.as_nanos() << Self::BITS | u64::from(self.number)
    }

    /// Of a packet that left before `now`.
    fn decode(bits: u64, now: Instant) -> Self {
        let age = ((now.as_nanos() << Self::BITS).wrapping_sub(bits & !u64::from(Self::NUMBERS - 1))) >> Self::BITS;
        Self { sent: now - Duration::from_nanos(age), number: bits as u32 % Self::NUMBERS }
    }
}

/// Times of the packet that was received last.
#[derive(Clone, Copy, Debug)]
struct Last {
    sent: Instant,
    received: Instant,
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A sender that follows a tree of rules. Several may share one tree.
#[derive(Debug)]
pub struct RemyCc {
    tree: Arc<Tree>,
    profile: Profile,
    packet_size: Bytes,
    memory: Memory,
    rule: usize,
    window: f64,
    intersend_ms: f64,
    last: Option<Last>,
    min_rtt: Duration,
    /// The gap before the next packet counts from here.
    departed: Instant,
    sent: u32,
    /// The number that comes next if nothing is missing; the first ack tells.
    expected: Option<u32>,
    last_ack: Instant,
    /// The window before silence, which may prove to have been a delay.
    before_silence: f64,
}

impl RemyCc {
    /// A sender at the start of its flow.
    pub fn new(tree: Arc<Tree>, profile: Profile, packet_size: Bytes) -> Self {
        let mut sender = Self {
            tree,
            profile,
            packet_size,
            memory: Memory::default(),
            rule: 0,
            window: 0.0,
            intersend_ms: 0.0,
            last: None,
            min_rtt: Duration::ZERO,
            departed: Instant::ZERO,
            sent: 0,
            expected: None,
            last_ack: Instant::ZERO,
            before_silence: 0.0,
        };
        sender.begin();
        sender
    }

    /// What the sender remembers.
    pub fn memory(&self) -> Memory {
        self.memory
    }

    /// Index of the rule in use.
    pub fn rule(&self) -> usize {
        self.rule
    }

    /// `reset`.
    fn begin(&mut self) {
        (self.memory, self.last, self.expected) = (Memory::default(), None, None);
        (self.window, self.intersend_ms) = (0.0, 0.0);
        if self.profile == Profile::Remy {
            self.follow();
        }
    }

    /// Does what the tree says.
    fn follow(&mut self) {
        self.rule = self.tree.find(self.memory);
        let action = self.tree.actions()[self.rule];
        self.window = action.window(self.window);
        self.intersend_ms = action.intersend_ms;
    }

    fn intersend(&self) -> Duration {
        Duration::from_secs_f64(self.intersend_ms / 1e3)
    }

    /// A packet leaves (`Rat::send`, `CTCP::send_data`). When a gap has become shorter than the time since the last
    /// packet, genericCC makes up for the rest while its window is open.
    fn depart(&mut self, now: Instant, in_flight: u32) {
        let catches_up = self.profile == Profile::Pantheon && in_flight < self.cwnd();
        self.departed = if catches_up { now.min(self.departed + self.intersend()) } else { now };
    }

    /// genericCC makes up for no gap in which nothing could leave.
    fn forget_gaps(&mut self, now: Instant) {
        if self.profile == Profile::Pantheon {
            self.departed = self.departed.max(now - self.intersend());
        }
    }

    /// `Memory::packets_received`.
    fn remember(&mut self, sent: Instant, received: Instant, rtt: Duration, is_next: bool) {
        let Some(last) = self.last else {
            (self.last, self.min_rtt) = (Some(Last { sent, received }), rtt);
            return;
        };
        if is_next || self.profile == Profile::Remy {
            self.memory.average(millis(sent.since(last.sent)), millis(received.since(last.received)));
            self.last = Some(Last { sent, received });
        }
        self.min_rtt = self.min_rtt.min(rtt).max(Duration::from_nanos(1));
        self.memory.set_rtt_ratio(millis(rtt) / millis(self.min_rtt));
    }
}

impl Scheme for RemyCc {
    fn cwnd(&self) -> u32 {
        let has_begun = self.last.is_some() || self.profile == Profile::Remy;
        (if has_begun { self.window } else { FIRST_WINDOW }).max(1.0) as u32
    }

    fn pacing_rate(&self) -> Option<Rate> {
        let rate = self.packet_size.count() as f64 * 8e3 / self.intersend_ms;
        rate.is_finite().then(|| Rate::from_bits_per_second((rate as u64).max(1)))
    }

    /// `Rat::next_event_time`.
    fn next_departure(&self) -> Option<Instant> {
        Some(self.departed + self.intersend())
    }

    fn feedback(&self) -> Feedback {
        Feedback::EveryPacket
    }

    fn on_sent(&mut self, sent: &Sent) -> u64 {
        self.depart(sent.now, sent.in_flight);
        let number = self.sent;
        self.sent = (self.sent + 1) % Tag::NUMBERS;
        Tag { sent: sent.now, number }.encode()
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        let tags = ack.packets.iter().map(|packet| Tag::decode(*packet, ack.now));
        let Some(tag) = tags.max_by_key(|tag| tag.sent) else { return };
        let received = match (self.profile, ack.one_way_delay) {
            (Profile::Pantheon, Some(delay)) => tag.sent + delay,
            _ => ack.now,
        };
        let is_next = self.expected == Some(tag.number);
        self.remember(tag.sent, received, ack.now.since(tag.sent), is_next);
        // What lies ahead by less than half of all numbers is new.
        let is_ahead = |expected| tag.number.wrapping_sub(expected) % Tag::NUMBERS < Tag::NUMBERS / 2;
        if self.expected.is_none_or(is_ahead) {
            self.expected = Some((tag.number + 1) % Tag::NUMBERS);
        }
        self.last_ack = ack.now;
        self.forget_gaps(ack.now);
        self.follow();
        if self.profile == Profile::Pantheon && ack.in_flight >= self.cwnd() {
            self.departed = ack.now;
        }
    }

    fn on_congestion(&mut self, _congestion: &Congestion) {}

    fn on_timeout(&mut self, timeout: &Timeout) {
        if self.profile == Profile::Pantheon && timeout.now.since(self.last_ack) > SILENCE {
            self.last_ack = timeout.now;
            self.before_silence = self.before_silence.max(self.window);
            self.begin();
        }
    }

    fn on_recovered(&mut self, _now: Instant) {
        self.before_silence = 0.0;
    }

    /// What was forgotten is in flight again: a smaller window would wait for it in vain.
    fn on_undo(&mut self, _now: Instant) {
        self.window = self.window.max(std::mem::take(&mut self.before_silence));
    }

    fn on_restart(&mut self, restart: &Restart) {
        self.forget_gaps(restart.now);
        // A sender that has more to send and is alone with each packet has not been switched off.
        if self.profile == Profile::Remy && restart.is_app_limited && !restart.idle.is_zero() {
            self.begin();
        }
    }

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        report("rule", self.rule as f64);
        report("intersend", self.intersend_ms);
        for (name, value) in ["send_ewma", "rec_ewma", "rtt_ratio", "slow_rec_ewma"].into_iter().zip(self.memory.0) {
            report(name, value);
        }
    }
}

#[cfg(test)]
mod tests;
