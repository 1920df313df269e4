//! The order in which pages are given up: an inactive and an active list, as Linux keeps them, of runs of pages instead of
//! pages.
//!
//! An entry is not removed when a page leaves the middle of a list: each page knows the number of its last entry
//! ([`Run::turn`]), and older ones are skipped.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Neighbouring pages of a file that came to a list together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Run {
    pub file: u32,
    pub start: u32,
    pub length: u16,
    pub turn: u8,
}

/// Both lists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Lru {
    inactive: VecDeque<Run>,
    active: VecDeque<Run>,
    pub inactive_pages: u64,
    pub active_pages: u64,
}

impl Lru {
    fn list(&mut self, active: bool) -> &mut VecDeque<Run> {
        if active { &mut self.active } else { &mut self.inactive }
    }

    /// Append a run, together with the last one if it continues that.
    pub(crate) fn push(&mut self, active: bool, run: Run) {
        let list = self.list(active);
        if let Some(last) = list.back_mut()
            && (last.file, last.turn) == (run.file, run.turn)
            && last.start + u32::from(last.length) == run.start
            && let Some(length) = last.length.checked_add(run.length)
            && length <= 1 << 14
        {
            last.length = length;
            return;
        }
        list.push_back(run);
    }

    /// Take the oldest run, or a number of pages of it.
    pub(crate) fn pop(&mut self, active: bool, most: u16) -> Option<Run> {
        let list = self.list(active);
        let run = list.front_mut()?;
        if run.length <= most {
            return list.pop_front();
        }
        let taken = Run { length: most, ..*run };
        run.start += u32::from(most);
        run.length -= most;
        Some(taken)
    }

    /// Entries of a list.
    pub(crate) fn runs(&self, active: bool) -> usize {
        if active { self.active.len() } else { self.inactive.len() }
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
