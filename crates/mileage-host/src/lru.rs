//! The order in which pages are given up: an inactive and an active list, as Linux keeps them, of runs of pages instead of
//! pages.
//!
//! An entry is not removed when a page leaves the middle of a list: each page knows the number of its last entry
//! ([`Run::turn`]), and older ones are skipped. When a quarter of the entries may be such, they are dropped.

use crate::page_bits::bits;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Entries below which stale ones are kept.
const FEW: usize = 1 << 12;
const FIRST_BITS: u32 = 6;
const LENGTH_BITS: u32 = 6;
const TURN_BITS: u32 = 2;
const GENERATION_SHIFT: u32 = FIRST_BITS + LENGTH_BITS + TURN_BITS;

/// Neighbouring pages of a chunk that came to a list together, in eight bytes: there may be one for each page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Run {
    /// Place of the chunk.
    pub place: u32,
    /// From the lowest bit: first page, length less one, turn, generation of the place.
    packed: u32,
}

impl Run {
    /// `pages`: the first, and their number.
    pub(crate) fn new(place: u32, pages: (u32, u32), turn: u8, generation: u32) -> Self {
        let (first, length) = pages;
        let turn = u32::from(turn) << (FIRST_BITS + LENGTH_BITS);
        let packed = first | (length - 1) << FIRST_BITS | turn | generation << GENERATION_SHIFT;
        Self { place, packed }
    }

    fn first(self) -> u32 {
        self.packed & ((1 << FIRST_BITS) - 1)
    }

    fn length(self) -> u32 {
        (self.packed >> FIRST_BITS & ((1 << LENGTH_BITS) - 1)) + 1
    }

    /// The number of the entry for its pages.
    pub(crate) fn turn(self) -> u8 {
        (self.packed >> (FIRST_BITS + LENGTH_BITS)) as u8 & 3
    }

    /// Whether the place had this generation; of its number the lowest bits are compared.
    pub(crate) fn is_of(self, generation: u32) -> bool {
        self.packed >> GENERATION_SHIFT == generation << GENERATION_SHIFT >> GENERATION_SHIFT
    }

    /// The pages as bits of the chunk.
    pub(crate) fn pages(self) -> u64 {
        bits(self.first(), self.length())
    }

    /// With other pages.
    fn with(self, first: u32, length: u32) -> Self {
        let others = self.packed & (u32::MAX << (FIRST_BITS + LENGTH_BITS));
        Self { packed: others | first | (length - 1) << FIRST_BITS, ..self }
    }
}

/// Both lists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Lru {
    inactive: VecDeque<Run>,
    active: VecDeque<Run>,
    pub inactive_pages: u64,
    pub active_pages: u64,
    /// Entries of both lists that were left when stale ones were dropped.
    kept: usize,
}

impl Lru {
    fn list(&mut self, active: bool) -> &mut VecDeque<Run> {
        if active { &mut self.active } else { &mut self.inactive }
    }

    /// Append a run, together with the last one if it continues that.
    pub(crate) fn push(&mut self, active: bool, run: Run) {
        let list = self.list(active);
        if let Some(last) = list.back_mut()
            && (last.place, last.packed >> (FIRST_BITS + LENGTH_BITS))
                == (run.place, run.packed >> (FIRST_BITS + LENGTH_BITS))
            && last.first() + last.length() == run.first()
        {
            *last = last.with(last.first(), last.length() + run.length());
            return;
        }
        if list.len() == list.capacity() {
            list.reserve_exact(list.len() / 8 + 64);
        }
        list.push_back(run);
    }

    /// Take the oldest run, or a number of pages of it.
    pub(crate) fn pop(&mut self, active: bool, most: u32) -> Option<Run> {
        let list = self.list(active);
        let run = list.front_mut()?;
        if run.length() <= most {
            return list.pop_front();
        }
        let taken = run.with(run.first(), most);
        *run = run.with(run.first() + most, run.length() - most);
        Some(taken)
    }

    /// Entries of a list.
    pub(crate) fn runs(&self, active: bool) -> usize {
        if active { self.active.len() } else { self.inactive.len() }
    }

    /// Whether a quarter of the entries has come since stale ones were dropped.
    pub(crate) fn is_long(&self) -> bool {
        self.inactive.len() + self.active.len() > self.kept + self.kept / 4 + FEW
    }

    /// Drop the entries of which no page is left; `is_live` is asked for each, with the list that it is on.
    pub(crate) fn drop_stale(&mut self, is_live: impl Fn(Run, bool) -> bool) {
        for active in [false, true] {
            let list = self.list(active);
            list.retain(|run| is_live(*run, active));
            list.shrink_to(list.len() + list.len() / 8);
        }
        self.kept = self.inactive.len() + self.active.len();
    }

    /// Pages came to a list, or left it.
    pub(crate) fn count(&mut self, active: bool, change: i64) {
        let pages = if active { &mut self.active_pages } else { &mut self.inactive_pages };
        *pages = pages.wrapping_add_signed(change);
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        (self.inactive.capacity() + self.active.capacity()) * size_of::<Run>()
    }
}
