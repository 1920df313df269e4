//! Find the earliest of many instants: a tournament tree in two arrays, no allocation after construction.
//!
//! Changing one instant replays log2(n) matches. Ties go to the lower index, or, in a tree whose every change has a turn, to
//! the lower turn: one of the two ways is for the whole life of a tree, so that the order is deterministic.

use std::hint::select_unpredictable;

/// An instant that never comes.
pub(crate) const NEVER: u64 = u64::MAX;

/// `n` instants, and the index of the earliest.
#[derive(Clone, Debug)]
pub(crate) struct Earliest {
    leaves: usize,
    /// Node 1 is the root, the children of `i` are `2i` and `2i + 1`, the instants are the last `leaves` nodes.
    nodes: Vec<(u64, u32)>,
    /// Turn of each index, in a tree that is changed by [`Earliest::set_in_turn`].
    turns: Vec<u64>,
}

impl Earliest {
    /// `count` (at least 1) instants, all `at_ns`.
    pub(crate) fn new(count: usize, at_ns: u64) -> Self {
        let leaves = count.next_power_of_two();
        let mut nodes = vec![(NEVER, 0); 2 * leaves];
        for (index, node) in nodes[leaves..].iter_mut().enumerate() {
            *node = (if index < count { at_ns } else { NEVER }, index as u32);
        }
        for node in (1..leaves).rev() {
            nodes[node] = nodes[2 * node].min(nodes[2 * node + 1]);
        }
        Self { leaves, nodes, turns: vec![0; leaves] }
    }

    /// The earliest instant and its index.
    #[inline]
    pub(crate) fn first(&self) -> (u64, u32) {
        self.nodes[1]
    }

    /// Change one instant.
    #[inline]
    pub(crate) fn set(&mut self, index: u32, at_ns: u64) {
        let nodes = &mut self.nodes[..];
        let last = nodes.len() - 1;
        let mut node = self.leaves + index as usize;
        let mut winner = (at_ns, index);
        nodes[node] = winner;
        while node > 1 {
            // The mask lets the compiler know what holds anyway: a node and its sibling exist.
            let sibling = nodes[(node ^ 1) & last];
            // Every index on the left of a match is below those on its right, so the left wins a tie.
            let right = u64::from(node as u32 & 1);
            let sooner = sibling.0 < winner.0.saturating_add(right);
            // A conditional move instead of a branch, because the winner cannot be predicted.
            winner =
                (select_unpredictable(sooner, sibling.0, winner.0), select_unpredictable(sooner, sibling.1, winner.1));
            node = (node / 2) & last;
            nodes[node] = winner;
        }
    }

    /// Change one instant; of equal instants the one with the lowest turn is the first, and of equal turns the lowest index.
    pub(crate) fn set_in_turn(&mut self, index: u32, at_ns: u64, turn: u64) {
        self.turns[index as usize] = turn;
        let (nodes, turns) = (&mut self.nodes[..], &self.turns[..]);
        let last = nodes.len() - 1;
        let mut node = self.leaves + index as usize;
        let mut winner = (at_ns, index);
        nodes[node] = winner;
        while node > 1 {
            let sibling = nodes[(node ^ 1) & last];
            let mut sooner = sibling.0 < winner.0;
            if sibling.0 == winner.0 {
                let key = |index: u32| (turns[index as usize], index);
                sooner = key(sibling.1) < key(winner.1);
            }
            winner =
                (select_unpredictable(sooner, sibling.0, winner.0), select_unpredictable(sooner, sibling.1, winner.1));
            node = (node / 2) & last;
            nodes[node] = winner;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Earliest, NEVER};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_is_the_minimum(count in 1_usize..70, changes in prop::collection::vec((any::<u32>(), 0_u64..50), 0..200)) {
            let mut tree = Earliest::new(count, 25);
            let mut plain = vec![25; count];
            for (index, at_ns) in changes {
                let index = index as usize % count;
                tree.set(index as u32, at_ns);
                plain[index] = at_ns;
                let at = plain.iter().enumerate().min_by_key(|(index, at_ns)| (**at_ns, *index)).unwrap();
                prop_assert_eq!(tree.first(), (*at.1, at.0 as u32));
            }
        }
    }

    proptest! {
        #[test]
        fn of_equal_instants_the_lowest_turn_is_the_first(count in 1_usize..70, changes in prop::collection::vec((any::<u32>(), 0_u64..5, 0_u64..9), 0..200)) {
            let mut tree = Earliest::new(count, 3);
            let mut plain = vec![(3, 0); count];
            for (index, at_ns, turn) in changes {
                let index = index as usize % count;
                tree.set_in_turn(index as u32, at_ns, turn);
                plain[index] = (at_ns, turn);
                let at = plain.iter().enumerate().min_by_key(|(index, key)| (**key, *index)).unwrap();
                prop_assert_eq!(tree.first(), (at.1.0, at.0 as u32));
            }
        }
    }

    #[test]
    fn one_instant_is_a_tree() {
        let mut tree = Earliest::new(1, 7);
        assert_eq!(tree.first(), (7, 0));
        tree.set(0, NEVER);
        assert_eq!(tree.first(), (NEVER, 0));
    }
}
