//! A page map that lies on flash itself and is cached on demand (DFTL: Gupta, Kim and Urgaonkar, 2009).
//!
//! # Model
//! The map's own pages, each of which describes `page / 4` logical pages, are pages of the same flash behind those of
//! the host, so that collection moves them too. The controller holds the entries of the pages that were used last. A
//! page whose entry it does not hold costs a read of the map's page; the entry that makes room for it costs, if it
//! was changed, a read and a program of its page: every entry is written back alone.
//!
//! # Not modelled
//! What collection moves is noted in the controller and reaches the map's page when that is next written: it costs no
//! traffic of its own. The directory of the map's pages is in the controller.

use super::cells::{Cells, NoWatch};
use super::map::{Map, NOWHERE};
use super::medium::Medium;
use super::translation::{Levels, Run, TranslationLayer};
use crate::saved_state::{Reader, StateError, Writer, corrupt};

/// The entries that the controller holds, in the order of their last use.
#[derive(Clone, Debug)]
pub(crate) struct Demand {
    pub(super) map: Map,
    /// Logical pages of the host; the map's pages follow.
    logical: u32,
    entries_per_page: u32,
    capacity: u32,
    /// Cache slot of each logical page's entry; [`NOWHERE`]: not cached.
    slot_of: Vec<u32>,
    /// The page of each entry held, whether it was changed, and its neighbours in the order of use.
    held: Vec<Held>,
    /// The entry used last and the one used longest ago.
    newest: u32,
    oldest: u32,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    page: u32,
    changed: bool,
    newer: u32,
    older: u32,
}

impl Demand {
    pub(crate) fn new(map: Map, logical: u32, entries_per_page: u32, capacity: u32) -> Self {
        Self {
            map,
            logical,
            entries_per_page,
            capacity: capacity.min(logical),
            slot_of: vec![NOWHERE; logical as usize],
            held: Vec::new(),
            newest: NOWHERE,
            oldest: NOWHERE,
        }
    }

    /// Have the entry of a page at hand, `change` it or not; when it is there.
    pub(crate) fn resolve<C: Cells>(
        &mut self,
        page: u32,
        change: bool,
        ready_ns: u64,
        medium: &mut Medium,
        cells: &mut C,
    ) -> u64 {
        let slot = self.slot_of[page as usize];
        if slot != NOWHERE {
            self.unlink(slot);
            self.link_newest(slot);
            self.held[slot as usize].changed |= change;
            return ready_ns;
        }
        let mut there_ns = ready_ns;
        let slot = if self.held.len() < self.capacity as usize {
            self.held.push(Held { page, changed: change, newer: NOWHERE, older: NOWHERE });
            self.held.len() as u32 - 1
        } else {
            let slot = self.oldest;
            let Held { page: old, changed, .. } = self.held[slot as usize];
            self.unlink(slot);
            self.slot_of[old as usize] = NOWHERE;
            // An unchanged entry is on the flash as it is here: it is dropped without a write.
            if changed {
                there_ns = self.write_back(old, ready_ns, medium, cells);
            }
            slot
        };
        self.held[slot as usize] = Held { page, changed: change, newer: NOWHERE, older: NOWHERE };
        self.slot_of[page as usize] = slot;
        self.link_newest(slot);
        match self.map.unit_holding(self.map_page_of(page)) {
            Some(unit) => medium.read_map(unit, there_ns),
            // A map page that was never written describes unmapped pages only: there is nothing to read.
            None => there_ns,
        }
    }

    /// The logical page of the map that describes a page of the host.
    fn map_page_of(&self, page: u32) -> u32 {
        self.logical + page / self.entries_per_page
    }

    fn write_back<C: Cells>(&mut self, page: u32, ready_ns: u64, medium: &mut Medium, cells: &mut C) -> u64 {
        let map_page = self.map_page_of(page);
        let mut there_ns = ready_ns;
        // The page holds other entries too, and flash cannot be changed in place: read, merged, written elsewhere.
        if let Some(unit) = self.map.unit_holding(map_page) {
            there_ns = medium.read_map(unit, ready_ns);
        }
        let placement = self.map.write(map_page, cells);
        medium.write_map(&placement, there_ns)
    }

    fn unlink(&mut self, slot: u32) {
        let Held { newer, older, .. } = self.held[slot as usize];
        match newer {
            NOWHERE => self.newest = older,
            newer => self.held[newer as usize].older = older,
        }
        match older {
            NOWHERE => self.oldest = newer,
            older => self.held[older as usize].newer = newer,
        }
    }

    fn link_newest(&mut self, slot: u32) {
        let entry = &mut self.held[slot as usize];
        (entry.newer, entry.older) = (NOWHERE, self.newest);
        match self.newest {
            NOWHERE => self.oldest = slot,
            newest => self.held[newest as usize].newer = slot,
        }
        self.newest = slot;
    }

    /// The pages whose entries are held, the one used longest ago first, and whether each was changed.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (u32, bool)> + '_ {
        let mut slot = self.oldest;
        std::iter::from_fn(move || {
            let held = self.held.get(slot as usize)?;
            slot = held.newer;
            Some((held.page, held.changed))
        })
    }

    /// Hold these entries again; false when there are too many, or one of them is no page or comes twice.
    pub(crate) fn hold(&mut self, entries: &[(u32, bool)]) -> bool {
        let mut fits = entries.len() <= self.capacity as usize;
        for (page, changed) in entries {
            fits = fits && self.slot_of.get(*page as usize) == Some(&NOWHERE);
            if !fits {
                return false;
            }
            let slot = self.held.len() as u32;
            self.held.push(Held { page: *page, changed: *changed, newer: NOWHERE, older: NOWHERE });
            self.slot_of[*page as usize] = slot;
            self.link_newest(slot);
        }
        fits
    }

    /// Forget all entries: the map is erased.
    pub(crate) fn erase_all(&mut self) {
        self.map.erase_all();
        self.slot_of.fill(NOWHERE);
        self.held.clear();
        (self.newest, self.oldest) = (NOWHERE, NOWHERE);
    }
}

impl TranslationLayer for Demand {
    fn read_page(&mut self, page: u32, ready_ns: u64, medium: &mut Medium) -> u64 {
        let known_ns = self.resolve(page, false, ready_ns, medium, &mut NoWatch);
        self.map.read_page(page, known_ns, medium)
    }

    fn find_entry(&mut self, page: u32, ready_ns: u64, medium: &mut Medium) -> u64 {
        self.resolve(page, true, ready_ns, medium, &mut NoWatch)
    }

    fn write_pages(&mut self, run: Run, ready_ns: u64, medium: &mut Medium) -> u64 {
        self.map.write_pages(run, ready_ns, medium)
    }

    fn discard_page(&mut self, page: u32, ready_ns: u64, medium: &mut Medium) -> bool {
        self.map.unit_holding(page).is_some() && {
            self.resolve(page, true, ready_ns, medium, &mut NoWatch);
            self.map.discard(page)
        }
    }

    fn purge(&mut self) {
        self.erase_all();
    }

    fn work_while_idle(&mut self, idle_ns: u64, now_ns: u64, medium: &mut Medium) {
        self.map.work_while_idle(idle_ns, now_ns, medium);
    }

    fn is_worn_out(&self) -> bool {
        self.map.worn_out
    }

    /// Of the host, without those of the map itself.
    fn mapped_pages(&self) -> u64 {
        self.map.mapped_below(self.logical)
    }

    fn written_blocks(&self) -> Vec<u32> {
        self.map.written_blocks()
    }

    fn levels(&self) -> Levels {
        self.map.levels()
    }

    fn page_map(&self) -> Option<&Map> {
        Some(&self.map)
    }

    fn save(&self, out: &mut Writer) {
        self.map.save(out);
        let entries: Vec<u32> = self.entries().flat_map(|(page, changed)| [page, u32::from(changed)]).collect();
        out.list(entries.into_iter());
    }

    fn restore(&mut self, reader: &mut Reader) -> Result<(), StateError> {
        self.map.restore(reader)?;
        let entries = reader.list(u32::MAX)?;
        let entries: Vec<(u32, bool)> =
            entries.as_chunks::<2>().0.iter().map(|[page, changed]| (*page, *changed != 0)).collect();
        if self.hold(&entries) { Ok(()) } else { corrupt("map entries that the controller cannot hold") }
    }
}

#[cfg(test)]
#[path = "dftl_tests.rs"]
mod tests;
