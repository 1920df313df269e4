//! Fingerprints of the contents written last, so that equal ones are found again.

use super::super::map::NOWHERE;
use std::collections::HashMap;

/// A ring of fingerprints: the newest takes the place of the oldest.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// Fingerprint and content of every place; [`NOWHERE`]: none, or gone since.
    pub ring: Vec<(u64, u32)>,
    /// The place that is taken next.
    pub next: u32,
    capacity: u32,
    places: HashMap<u64, u32>,
}

impl Table {
    pub(crate) fn new(capacity: u32) -> Self {
        Self { ring: Vec::new(), next: 0, capacity, places: HashMap::new() }
    }

    pub(crate) fn capacity(&self) -> u32 {
        self.capacity
    }

    /// The content with this fingerprint.
    pub(crate) fn find(&self, print: u64) -> Option<u32> {
        self.places.get(&print).map(|place| self.ring[*place as usize].1)
    }

    /// Remember a content that is in no place; where.
    pub(crate) fn remember(&mut self, print: u64, content: u32) {
        let place = self.next as usize;
        if place == self.ring.len() {
            self.ring.push((print, content));
        } else {
            let (oldest, gone) = std::mem::replace(&mut self.ring[place], (print, content));
            if gone != NOWHERE {
                self.places.remove(&oldest);
            }
        }
        self.places.insert(print, self.next);
        self.next = if self.next + 1 == self.capacity { 0 } else { self.next + 1 };
    }

    /// A content of this fingerprint was removed.
    pub(crate) fn forget(&mut self, print: u64, content: u32) {
        let Some(place) = self.places.get(&print).copied() else { return };
        if self.ring[place as usize].1 == content {
            self.ring[place as usize].1 = NOWHERE;
            self.places.remove(&print);
        }
    }

    /// Know the places again from a ring of a saved state; whether it could be one.
    pub(crate) fn derive(&mut self) -> bool {
        let full = self.ring.len() == self.capacity as usize;
        let fits = self.ring.len() <= self.capacity as usize
            && (if full { self.next < self.capacity } else { self.next as usize == self.ring.len() });
        let known = self.ring.iter().zip(0..).filter(|((_, content), _)| *content != NOWHERE);
        self.places = known.map(|((print, _), place)| (*print, place)).collect();
        fits && self.places.len() == self.ring.iter().filter(|(_, content)| *content != NOWHERE).count()
    }
}
