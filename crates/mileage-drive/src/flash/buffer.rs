//! Contents of the write buffer: a part of the drive that exists only where the profile makes something depend on it.
//!
//! # Model
//! The clocks decide when a page has a place in the buffer, begins its program and leaves; this part knows which page
//! that is. It lets rewrites replace data whose way to the flash has not begun, lets reads find what is still there,
//! and keeps the list of writes that a power cut may lose.
//!
//! What is on the flash counts only once the map says so, and the map is written in the order in which pages took
//! their places: a page survives a power cut when it and all before it are programmed. A write with FUA writes its
//! own part of the map and survives from its own completion on. A rewrite that replaced data in the buffer shares the
//! fate of its place. Of a page, the newest version that survives stands for those before it.

mod path;
pub(super) mod saved_state;

use super::map::NOWHERE;
use crate::management::{LostWrite, Undurable, UndurablePart};
use crate::number_hasher::NumberHashing;
use crate::profile::FlashProfile;
use crate::profile::flash::choices::{Combining, Power, Reads};
use std::collections::{HashMap, VecDeque};

/// A place in the buffer and the page that took it last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The page, [`NOWHERE`] if there is none or its newest version is elsewhere.
    pub page: u32,
    /// The whole page is in the buffer.
    pub there_ns: u64,
    /// Data that arrives later is too late to replace it.
    pub until_ns: u64,
    /// Time at which the page has left the buffer.
    pub done_ns: u64,
    /// Time from which on it survives a power cut.
    pub kept_ns: u64,
}

const EMPTY: Place = Place { page: NOWHERE, there_ns: 0, until_ns: 0, done_ns: 0, kept_ns: 0 };

/// A write to a page, or to a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageWrite {
    /// Number of the write command, from 0.
    pub write: u64,
    pub offset_bytes: u64,
    pub bytes: u32,
    /// Time at which the command was acknowledged to the host.
    pub acknowledged_ns: u64,
    /// Time from which on it survives a power cut.
    pub kept_ns: u64,
}

/// Contents of the write buffer.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    combines: bool,
    serves_reads: bool,
    loses: bool,
    page_shift: u32,
    pub places: Vec<Place>,
    /// The place of each page that is in one.
    newest: HashMap<u32, u32, NumberHashing>,
    /// Write commands so far.
    pub writes: u64,
    /// The writes that may be lost, in their order.
    pub unkept: VecDeque<PageWrite>,
}

impl Buffer {
    pub(super) fn new(profile: &FlashProfile) -> Self {
        let rules = profile.write_buffer;
        Self {
            combines: rules.combining == Combining::Rewrites,
            serves_reads: rules.reads == Reads::Buffer,
            loses: rules.power == Some(Power::Volatile),
            page_shift: profile.mapping_bytes.trailing_zeros(),
            places: vec![EMPTY; profile.write_buffer_pages as usize],
            newest: HashMap::default(),
            writes: 0,
            unkept: VecDeque::new(),
        }
    }

    /// The place whose page can be replaced until after `ready_ns`, and until when.
    fn replaceable(&self, page: u32, ready_ns: u64) -> Option<(u32, u64)> {
        let place = *self.newest.get(&page).filter(|_| self.combines)?;
        let until_ns = self.places[place as usize].until_ns;
        (until_ns > ready_ns).then_some((place, until_ns))
    }

    /// Time at which a page is completely in the buffer, if it has not left by `ready_ns` and reads are served from
    /// the buffer.
    fn holding(&self, page: u32, ready_ns: u64) -> Option<u64> {
        let place = *self.newest.get(&page).filter(|_| self.serves_reads)?;
        let Place { there_ns, done_ns, .. } = self.places[place as usize];
        (done_ns > ready_ns).then_some(there_ns)
    }

    /// Record which logical page the place `index` of the buffer holds from now on.
    pub(super) fn put(&mut self, index: u32, place: Place) {
        let before = std::mem::replace(&mut self.places[index as usize], place);
        if before.page != NOWHERE {
            self.newest.remove(&before.page);
        }
        if place.page == NOWHERE {
            return;
        }
        if let Some(older) = self.newest.insert(place.page, index) {
            self.places[older as usize].page = NOWHERE;
        }
    }

    /// A page that is not in the buffer, or no longer, was written; its acknowledgement follows.
    fn note(&mut self, offset_bytes: u64, bytes: u32, kept_ns: u64) {
        if self.loses {
            let written = PageWrite { write: self.writes, offset_bytes, bytes, acknowledged_ns: u64::MAX, kept_ns };
            self.unkept.push_back(written);
        }
    }

    /// The write command is complete at `acknowledged_ns`; what is kept by `now_ns` is forgotten.
    fn end_write(&mut self, acknowledged_ns: u64, now_ns: u64) {
        let parts = self.unkept.iter_mut().rev().take_while(|written| written.write == self.writes);
        parts.for_each(|written| written.acknowledged_ns = acknowledged_ns);
        self.writes += 1;
        while self.unkept.front().is_some_and(|written| written.kept_ns <= now_ns) {
            self.unkept.pop_front();
        }
    }

    /// The host discards these pages: nobody misses what was in them.
    pub(super) fn forget(&mut self, first: u64, end: u64) {
        let shift = self.page_shift;
        let places = &mut self.places;
        self.newest.retain(|page, place| {
            let stays = !(first..end).contains(&u64::from(*page));
            if !stays {
                places[*place as usize].page = NOWHERE;
            }
            stays
        });
        self.unkept.retain(|written| !(first..end).contains(&(written.offset_bytes >> shift)));
    }

    /// Nothing is in the buffer.
    pub(super) fn clear(&mut self) {
        self.places.fill(EMPTY);
        self.newest.clear();
        self.unkept.clear();
    }

    /// The parts of writes that a power failure at `at_ns` would lose: of each page those behind its last version that is
    /// kept.
    pub(super) fn undurable_at(&self, at_ns: u64) -> Undurable {
        let mut kept = HashMap::new();
        for PageWrite { write, offset_bytes, kept_ns, .. } in &self.unkept {
            if *kept_ns <= at_ns {
                kept.insert(offset_bytes >> self.page_shift, *write);
            }
        }
        let lost = self.unkept.iter().filter(|written| {
            let page = written.offset_bytes >> self.page_shift;
            written.kept_ns > at_ns && kept.get(&page).is_none_or(|write| *write < written.write)
        });
        let parts = lost.map(|PageWrite { write, offset_bytes, bytes, acknowledged_ns, .. }| UndurablePart {
            part: LostWrite { write: *write, offset_bytes: *offset_bytes, length_bytes: *bytes },
            acknowledged_ns: *acknowledged_ns,
        });
        Undurable { writes: self.writes, parts: parts.collect() }
    }
}
