//! Flows in lists from which any of them can be taken out at once.

/// One past the last flow: the end of a list.
const NONE: u16 = u16::MAX;

/// The list a flow is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    /// Served before the old ones.
    New,
    /// Served in turns.
    Old,
    /// Empty, until nothing is left of its last congestion.
    Decaying,
}

/// Three doubly linked lists of flows, each flow on one of them at most.
#[derive(Debug)]
pub(super) struct Lists {
    links: Vec<(u16, u16)>,
    ends: [(u16, u16); 3],
}

impl Lists {
    pub(super) fn new(flows: usize) -> Self {
        Self { links: vec![(NONE, NONE); flows], ends: [(NONE, NONE); 3] }
    }

    pub(super) fn first(&self, list: List) -> Option<usize> {
        Some(self.ends[list as usize].0).filter(|flow| *flow != NONE).map(usize::from)
    }

    /// Puts a flow that is on no list behind all others of this one.
    pub(super) fn push(&mut self, list: List, flow: usize) {
        let (_, last) = self.ends[list as usize];
        self.links[flow] = (last, NONE);
        match last {
            NONE => self.ends[list as usize].0 = flow as u16,
            last => self.links[usize::from(last)].1 = flow as u16,
        }
        self.ends[list as usize].1 = flow as u16;
    }

    /// Takes a flow out of the list that it is on.
    pub(super) fn remove(&mut self, list: List, flow: usize) {
        let (before, after) = self.links[flow];
        match before {
            NONE => self.ends[list as usize].0 = after,
            before => self.links[usize::from(before)].1 = after,
        }
        match after {
            NONE => self.ends[list as usize].1 = before,
            after => self.links[usize::from(after)].0 = before,
        }
    }

    /// The flows of a list, first to last.
    pub(super) fn flows(&self, list: List) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(self.first(list), |flow| {
            Some(self.links[*flow].1).filter(|flow| *flow != NONE).map(usize::from)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_stay_in_order_when_one_leaves() {
        let mut lists = Lists::new(5);
        (0..5).for_each(|flow| lists.push(List::Old, flow));
        for (leaving, left) in [(2, vec![0, 1, 3, 4]), (0, vec![1, 3, 4]), (4, vec![1, 3])] {
            lists.remove(List::Old, leaving);
            assert_eq!(lists.flows(List::Old).collect::<Vec<_>>(), left);
        }
        lists.push(List::New, 0);
        assert_eq!((lists.first(List::New), lists.first(List::Decaying)), (Some(0), None));
        lists.remove(List::Old, 1);
        lists.remove(List::Old, 3);
        lists.push(List::Old, 2);
        assert_eq!(lists.flows(List::Old).collect::<Vec<_>>(), [2]);
    }
}
