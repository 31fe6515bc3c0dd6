//! The simulator that rules are trained in: one link with a queue without end, then the round trip, and senders that
//! are on and off.
//!
//! Acks are never lost, and the queue is served in order, so that an ack's time is known when its packet is sent. What
//! is on its way is one line, and a packet costs a few comparisons.

use std::collections::VecDeque;

use bakeoff_core::random::RandomStream;
use bakeoff_core::scheme::remy::{Domain, Memory, Tree};
use bakeoff_core::units::Duration;

use crate::utility::Tally;

/// A link, its round trip, and who uses it. Times are in milliseconds, as in Remy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Network {
    /// Packets per millisecond; one is 10 Mbit/s with packets of 1250 bytes.
    pub rate: f64,
    /// From a packet's departure from the link to its ack.
    pub rtt_ms: f64,
    /// Senders.
    pub senders: usize,
    /// Mean time for which a sender is on; exponential.
    pub on_ms: f64,
    /// Mean time for which a sender is off, with which it begins; exponential.
    pub off_ms: f64,
}

/// Rules, and the box of each.
#[derive(Clone, Debug)]
pub struct Rules {
    tree: Tree,
    domains: Vec<Domain>,
}

impl Rules {
    /// The rules of a tree.
    pub fn new(tree: Tree) -> Self {
        let domains = tree.domains();
        Self { tree, domains }
    }

    /// The tree.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The tree, for changes of its actions.
    pub fn tree_mut(&mut self) -> &mut Tree {
        &mut self.tree
    }

    /// The box of a rule.
    pub fn domain(&self, rule: usize) -> Domain {
        self.domains[rule]
    }
}

/// Is told which rule was used for which memory.
pub trait Watch {
    /// A rule was used.
    fn used(&mut self, rule: usize, memory: Memory);
}

impl Watch for () {
    fn used(&mut self, _rule: usize, _memory: Memory) {}
}

/// A packet on its way.
#[derive(Clone, Copy)]
struct Packet {
    sent_ms: f64,
    acked_ms: f64,
    sender: u32,
    /// How often its sender was on before.
    flow: u32,
}

/// Whether a sender is on, and until when.
struct Switch {
    random: RandomStream,
    is_on: bool,
    until_ms: f64,
}

impl Switch {
    fn new(network: &Network, seed: u64, sender: usize) -> Self {
        let random = RandomStream::new(seed, &format!("sender.{sender}"));
        let mut switch = Self { random, is_on: true, until_ms: 0.0 };
        switch.turn(network);
        switch
    }

    fn turn(&mut self, network: &Network) {
        self.is_on = !self.is_on;
        let mean_ms = if self.is_on { network.on_ms } else { network.off_ms };
        let mean = Duration::from_nanos((mean_ms * 1e6) as u64);
        self.until_ms += self.random.exponential(mean).as_secs_f64() * 1e3;
    }
}

struct Sender {
    switch: Switch,
    /// When it may send next; never while the window is full.
    send_ms: f64,
    last_send_ms: f64,
    flow: u32,
    in_flight: f64,
    window: f64,
    intersend_ms: f64,
    memory: Memory,
    rule: usize,
    domain: Domain,
    /// When the packet acknowledged last was sent, and when its ack came.
    last: Option<(f64, f64)>,
    min_rtt_ms: f64,
    tally: Tally,
}

impl Sender {
    fn new(rules: &Rules, switch: Switch) -> Self {
        let rule = rules.tree.find(Memory::default());
        Self {
            switch,
            send_ms: f64::INFINITY,
            last_send_ms: f64::NEG_INFINITY,
            flow: 0,
            in_flight: 0.0,
            window: 0.0,
            intersend_ms: 0.0,
            memory: Memory::default(),
            rule,
            domain: rules.domains[rule],
            last: None,
            min_rtt_ms: f64::INFINITY,
            tally: Tally::default(),
        }
    }

    /// Forgets everything.
    fn begin(&mut self, rules: &Rules, watch: &mut impl Watch) {
        self.flow += 1;
        (self.in_flight, self.window, self.last_send_ms) = (0.0, 0.0, f64::NEG_INFINITY);
        (self.memory, self.last, self.min_rtt_ms) = (Memory::default(), None, f64::INFINITY);
        self.follow(rules, watch);
    }

    fn follow(&mut self, rules: &Rules, watch: &mut impl Watch) {
        if !self.domain.contains(self.memory) {
            self.rule = rules.tree.find(self.memory);
            self.domain = rules.domains[self.rule];
        }
        watch.used(self.rule, self.memory);
        let action = &rules.tree.actions()[self.rule];
        // A window of nothing is one packet, as for the scheme.
        self.window = action.window(self.window);
        self.intersend_ms = action.intersend_ms;
    }

    fn acknowledge(&mut self, packet: &Packet, rules: &Rules, watch: &mut impl Watch) {
        let (sent_ms, now_ms) = (packet.sent_ms, packet.acked_ms);
        let rtt_ms = now_ms - sent_ms;
        self.tally.receive(rtt_ms);
        if packet.flow != self.flow {
            return;
        }
        self.in_flight -= 1.0;
        self.min_rtt_ms = self.min_rtt_ms.min(rtt_ms);
        if let Some((last_sent_ms, last_ms)) = self.last {
            self.memory.average(sent_ms - last_sent_ms, now_ms - last_ms);
            self.memory.set_rtt_ratio(rtt_ms / self.min_rtt_ms);
        }
        self.last = Some((sent_ms, now_ms));
        self.follow(rules, watch);
    }

    fn plan(&mut self, now_ms: f64) {
        let may_send = self.switch.is_on && self.in_flight < self.window.max(1.0);
        self.send_ms = if may_send { (self.last_send_ms + self.intersend_ms).max(now_ms) } else { f64::INFINITY };
    }
}

/// What came of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// What each sender achieved; nothing if there were too many packets on their way.
    pub senders: Option<Vec<Tally>>,
    /// Packets sent.
    pub packets: u64,
}

impl Network {
    /// Packets on their way that are beyond all bounds for a training: ten times what the path holds, and first windows
    /// on top of that. The published tree stays below three times.
    pub fn bound(&self) -> usize {
        (10.0 * self.rate * self.rtt_ms) as usize + 300
    }

    /// When a sender is on, for so long: from when to when.
    pub fn periods(&self, seed: u64, sender: usize, duration_ms: f64) -> Vec<(f64, f64)> {
        let mut switch = Switch::new(self, seed, sender);
        let mut periods = Vec::new();
        while switch.until_ms < duration_ms {
            let from_ms = switch.until_ms;
            switch.turn(self);
            periods.push((from_ms, switch.until_ms.min(duration_ms)));
            switch.turn(self);
        }
        periods
    }

    /// Simulates for so long, or until more packets are on their way than `bound`. The same seed has the same senders
    /// on at the same times, whatever the rules are.
    pub fn run(&self, rules: &Rules, seed: u64, duration_ms: f64, bound: usize, watch: &mut impl Watch) -> Outcome {
        let mut senders: Vec<_> =
            (0..self.senders).map(|index| Sender::new(rules, Switch::new(self, seed, index))).collect();
        let mut on_the_way: VecDeque<Packet> = VecDeque::with_capacity(1 << 10);
        let service_ms = 1.0 / self.rate;
        let (mut link_free_ms, mut switched_ms, mut packets) = (0.0_f64, 0.0_f64, 0);
        loop {
            let (mut now_ms, mut next) = on_the_way.front().map_or((f64::INFINITY, None), |p| (p.acked_ms, None));
            for (index, sender) in senders.iter().enumerate() {
                let due_ms = sender.send_ms.min(sender.switch.until_ms);
                if due_ms < now_ms {
                    (now_ms, next) = (due_ms, Some(index));
                }
            }
            let Some(index) = next.filter(|_| now_ms <= duration_ms) else {
                if now_ms > duration_ms {
                    break;
                }
                let Some(packet) = on_the_way.pop_front() else { break };
                let sender = &mut senders[packet.sender as usize];
                sender.acknowledge(&packet, rules, watch);
                sender.plan(now_ms);
                continue;
            };
            if senders[index].switch.until_ms <= now_ms {
                share(&mut senders, now_ms - std::mem::replace(&mut switched_ms, now_ms));
                senders[index].switch.turn(self);
                if senders[index].switch.is_on {
                    senders[index].begin(rules, watch);
                }
            } else {
                link_free_ms = link_free_ms.max(now_ms) + service_ms;
                let sender = &mut senders[index];
                let acked_ms = link_free_ms + self.rtt_ms;
                on_the_way.push_back(Packet { sent_ms: now_ms, acked_ms, sender: index as u32, flow: sender.flow });
                (sender.in_flight, sender.last_send_ms) = (sender.in_flight + 1.0, now_ms);
                packets += 1;
                if on_the_way.len() > bound {
                    return Outcome { senders: None, packets };
                }
            }
            senders[index].plan(now_ms);
        }
        share(&mut senders, duration_ms - switched_ms);
        Outcome { senders: Some(senders.into_iter().map(|sender| sender.tally).collect()), packets }
    }
}

/// Counts time for those that are on, each as its share.
fn share(senders: &mut [Sender], passed_ms: f64) {
    let on = senders.iter().filter(|sender| sender.switch.is_on).count() as f64;
    let those_on = senders.iter_mut().filter(|sender| sender.switch.is_on);
    those_on.for_each(|sender| sender.tally.be_on(passed_ms, passed_ms / on));
}

#[cfg(test)]
mod tests {
    use bakeoff_core::scheme::remy::Action;

    use super::*;

    /// One sender that is nearly always on.
    fn alone(rate: f64) -> Network {
        Network { rate, rtt_ms: 150.0, senders: 1, on_ms: 1e9, off_ms: 1e-3 }
    }

    fn rule(increment: f64, multiple: f64, intersend_ms: f64) -> Rules {
        Rules::new(Tree::single(Action { increment, multiple, intersend_ms }))
    }

    fn achieved(network: &Network, rules: &Rules) -> (f64, f64) {
        let tally = network.run(rules, 1, 100_000.0, network.bound(), &mut ()).senders.expect("no flood")[0];
        (tally.packets / tally.on_ms, tally.delay_ms / tally.packets)
    }

    #[test]
    fn a_paced_sender_has_its_pace_and_no_queue() {
        let (rate, delay_ms) = achieved(&alone(1.0), &rule(50.0, 0.5, 10.0));
        // The last round trip of packets is not received.
        assert!((rate / 0.1 - 1.0).abs() < 0.002, "{rate}");
        assert!((delay_ms - 151.0).abs() < 1e-6, "{delay_ms}");
    }

    #[test]
    fn a_window_is_sent_once_a_round_trip() {
        let (rate, delay_ms) = achieved(&alone(1.0), &rule(10.0, 0.5, 0.0));
        // 10, then 15, 17, 18, 19 and 19 for ever, which take 151 ms.
        assert!((rate / (19.0 / 151.0) - 1.0).abs() < 0.01, "{rate}");
        assert!(delay_ms < 152.5, "{delay_ms}");
    }

    #[test]
    fn what_the_path_does_not_hold_is_queued() {
        let (rate, delay_ms) = achieved(&alone(1.0), &rule(300.0, 0.0, 0.0));
        assert!((rate - 1.0).abs() < 0.005, "{rate}");
        // 300 packets at one in a millisecond.
        assert!((delay_ms / 300.0 - 1.0).abs() < 0.01, "{delay_ms}");
    }

    #[test]
    fn a_queue_beyond_all_bounds_ends_the_simulation() {
        let outcome = alone(1.0).run(&rule(1.0, 1.0, 0.0), 1, 1e6, 1_800, &mut ());
        assert_eq!(outcome.senders, None);
        assert!(outcome.packets < 200_000, "{}", outcome.packets);
    }

    #[test]
    fn senders_are_on_half_of_the_time_and_when_they_say() {
        let network = Network { senders: 2, on_ms: 1_000.0, off_ms: 1_000.0, ..alone(1.0) };
        let senders = network.run(&rule(1.0, 0.0, 20.0), 3, 1e6, network.bound(), &mut ()).senders.expect("no flood");
        for (sender, tally) in senders.iter().enumerate() {
            let on_ms: f64 = network.periods(3, sender, 1e6).iter().map(|(from_ms, to_ms)| to_ms - from_ms).sum();
            assert!((tally.on_ms - on_ms).abs() < 1e-3, "{} {on_ms}", tally.on_ms);
            assert!((on_ms / 5e5 - 1.0).abs() < 0.1, "{on_ms}");
            // Alone for half of it.
            assert!((tally.share_ms / on_ms - 0.75).abs() < 0.05, "{}", tally.share_ms / on_ms);
        }
    }

    #[test]
    fn uses_are_told_with_their_memories() {
        struct First(Vec<Memory>);
        impl Watch for First {
            fn used(&mut self, _rule: usize, memory: Memory) {
                if self.0.len() < 3 {
                    self.0.push(memory);
                }
            }
        }
        let mut first = First(Vec::new());
        alone(1.0).run(&rule(5.0, 1.0, 8.0), 1, 1_000.0, 1_800, &mut first);
        // The start and the first ack know nothing; the second packet left 8 ms after the first.
        let known = Memory([1.0, 1.0, 1.0, 8.0 / 256.0]);
        assert_eq!(first.0[..2], [Memory::default(); 2]);
        for (found, expected) in first.0[2].0.iter().zip(known.0) {
            assert!((found - expected).abs() < 1e-9, "{:?}", first.0[2]);
        }
    }
}
