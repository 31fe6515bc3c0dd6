//! Deficit round robin with new and old flows: whose turn it is to send.
//!
//! **Source.** RFC 8290, section 4.1; Linux `net/sched/sch_fq_codel.c` and `sch_fq_pie.c`, whose dequeue functions take
//! turns in the same way.

use std::collections::VecDeque;

use crate::units::Bytes;

/// Where a flow stands.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    deficit: i64,
    is_listed: bool,
}

/// The lists of new and of old flows.
#[derive(Debug)]
pub(super) struct DeficitRoundRobin {
    quantum: i64,
    turns: Vec<Turn>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
}

impl DeficitRoundRobin {
    pub(super) fn new(flows: usize, quantum: Bytes) -> Self {
        Self {
            quantum: quantum.count() as i64,
            turns: vec![Turn::default(); flows],
            new: VecDeque::new(),
            old: VecDeque::new(),
        }
    }

    /// A packet of this flow arrives: a flow that is on no list is new.
    pub(super) fn arrive(&mut self, flow: usize) {
        let turn = &mut self.turns[flow];
        if !turn.is_listed {
            *turn = Turn { deficit: self.quantum, is_listed: true };
            self.new.push_back(flow as u32);
        }
    }

    /// The flow whose turn it is: it stays first of its list until it is found empty or has sent its quantum.
    pub(super) fn next(&mut self) -> Option<usize> {
        loop {
            let list = if self.new.is_empty() { &mut self.old } else { &mut self.new };
            let flow = *list.front()?;
            let turn = &mut self.turns[flow as usize];
            if turn.deficit > 0 {
                return Some(flow as usize);
            }
            turn.deficit += self.quantum;
            list.pop_front();
            self.old.push_back(flow);
        }
    }

    /// The flow whose turn it is has sent a packet of this size.
    pub(super) fn sent(&mut self, flow: usize, size: Bytes) {
        self.turns[flow].deficit -= size.count() as i64;
    }

    /// The flow whose turn it is has nothing to send. A new one has to pass through the old ones once, so that it
    /// cannot starve them by coming back.
    pub(super) fn found_empty(&mut self, flow: usize) {
        let was_new = self.new.pop_front().is_some();
        if was_new && !self.old.is_empty() {
            self.old.push_back(flow as u32);
            return;
        }
        if !was_new {
            self.old.pop_front();
        }
        self.turns[flow].is_listed = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Serves flows that have these numbers of packets of 1000 bytes; a flow joins `late` once so many were served.
    fn order(backlogs: &[u32], late: Option<(usize, usize)>) -> Vec<usize> {
        let mut waiting = backlogs.to_vec();
        let mut round_robin = DeficitRoundRobin::new(waiting.len(), Bytes::new(1_500));
        (0..waiting.len()).filter(|flow| backlogs[*flow] > 0).for_each(|flow| round_robin.arrive(flow));
        let mut served = Vec::new();
        while let Some(flow) = round_robin.next() {
            if waiting[flow] == 0 {
                round_robin.found_empty(flow);
                continue;
            }
            waiting[flow] -= 1;
            round_robin.sent(flow, Bytes::new(1_000));
            served.push(flow);
            if let Some((flow, _)) = late.filter(|(_, after)| *after == served.len()) {
                waiting[flow] += 1;
                round_robin.arrive(flow);
            }
        }
        served
    }

    #[test]
    fn a_quantum_of_one_and_a_half_packets_alternates_two_and_one() {
        assert_eq!(order(&[6, 6], None), [0, 0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 1]);
    }

    #[test]
    fn a_new_flow_goes_first() {
        assert_eq!(order(&[6, 6, 0], Some((2, 5)))[..7], [0, 0, 1, 1, 0, 2, 1]);
    }

    #[test]
    fn a_flow_that_comes_back_at_once_is_not_new_again() {
        let mut round_robin = DeficitRoundRobin::new(2, Bytes::new(1_500));
        round_robin.arrive(0);
        round_robin.sent(0, Bytes::new(1_500));
        assert_eq!(round_robin.next(), Some(0), "it is old now");
        round_robin.arrive(1);
        assert_eq!(round_robin.next(), Some(1));
        round_robin.sent(1, Bytes::new(100));
        round_robin.found_empty(1);
        round_robin.arrive(1);
        assert_eq!(round_robin.next(), Some(0), "it waits among the old ones");
    }
}
