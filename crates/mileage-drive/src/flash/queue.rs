//! The places for commands.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Places that commands take, one each. When none is known to be free, those that were taken since the last time are
/// looked through once, and what is still taken goes into a heap: a queue that is seldom full costs next to nothing, a
/// full one the logarithm of its places.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    /// Places known to be free.
    free: u32,
    /// Times at which the other queue entries become free: recently taken ones in no order, and the rest as a heap.
    lately: Vec<u64>,
    before: BinaryHeap<Reverse<u64>>,
}

impl Queue {
    pub(super) fn new(places: u32) -> Self {
        let places_all = places as usize;
        Self { free: places, lately: Vec::with_capacity(places_all), before: BinaryHeap::with_capacity(places_all) }
    }

    /// A queue whose slots are taken until these instants, one for each.
    pub(super) fn with_taken(places: u32, taken: Vec<u64>) -> Self {
        let mut queue = Self::new(places);
        queue.free -= taken.len() as u32;
        queue.lately.extend(taken);
        queue
    }

    /// Total number of queue entries.
    pub(super) fn places(&self) -> u32 {
        self.free + (self.lately.len() + self.before.len()) as u32
    }

    /// Times at which the occupied queue entries become free, the earliest first.
    pub(super) fn taken(&self) -> Vec<u64> {
        let mut taken: Vec<u64> = self.lately.iter().copied().chain(self.before.iter().map(|free| free.0)).collect();
        taken.sort_unstable();
        taken
    }

    /// Take a place; the instant from which it is there, `now_ns` or later.
    #[inline]
    pub(super) fn enter(&mut self, now_ns: u64) -> u64 {
        if self.free > 0 {
            self.free -= 1;
            return now_ns;
        }
        self.wait(now_ns)
    }

    #[inline(never)]
    fn wait(&mut self, now_ns: u64) -> u64 {
        let places = self.lately.len() + self.before.len();
        while self.before.peek().is_some_and(|free| free.0 <= now_ns) {
            self.before.pop();
        }
        self.before.extend(self.lately.drain(..).filter(|free_ns| *free_ns > now_ns).map(Reverse));
        let freed = places - self.before.len();
        if freed > 0 {
            self.free = freed as u32 - 1;
            return now_ns;
        }
        self.before.pop().map_or(now_ns, |free| free.0)
    }

    /// The place that was entered last is free from then on.
    #[inline]
    pub(super) fn leave(&mut self, free_ns: u64) {
        self.lately.push(free_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::Queue;
    use proptest::prelude::*;

    proptest! {
        /// Against a list of the instants at which places become free, looked through for every command; saved and
        /// restored at some point.
        #[test]
        fn a_command_waits_for_the_first_place_that_becomes_free(
            places in 1_u32..20,
            commands in prop::collection::vec((0_u64..8, 0_u64..100), 1..300),
            restored_at in 0_usize..300,
        ) {
            let (mut queue, mut plain, mut now_ns) = (Queue::new(places), Vec::new(), 0);
            for (at, (pause_ns, takes_ns)) in commands.into_iter().enumerate() {
                now_ns += pause_ns;
                if at == restored_at {
                    queue = Queue::with_taken(places, queue.taken());
                }
                prop_assert_eq!(queue.places(), places);
                plain.retain(|free_ns| *free_ns > now_ns);
                let mut from_ns = now_ns;
                if plain.len() == places as usize {
                    plain.sort_unstable();
                    from_ns = plain.remove(0);
                }
                prop_assert_eq!(queue.enter(now_ns), from_ns);
                queue.leave(from_ns + takes_ns);
                plain.push(from_ns + takes_ns);
            }
        }
    }
}
