//! The page map as a translation layer.

use super::{Frontier, Map, NOWHERE, saved_state};
use crate::flash::array_operation::PagePlace;
use crate::flash::cells::NoWatch;
use crate::flash::medium::Medium;
use crate::flash::part_pages::ReadFrom;
use crate::flash::translation::{Levels, Run, TranslationLayer};
use crate::saved_state::{Reader, StateError, Writer};

impl TranslationLayer for Map {
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "hot, and called from several places: calls cost a tenth of the speed")]
    fn read_page(&mut self, page: u32, ready_ns: u64, medium: &mut Medium) -> u64 {
        if self.geometry.per_program > 1 {
            return self.read_part(page, ready_ns, medium);
        }
        if medium.clocks.reads_by_place() {
            return self.read_by_place(page, ready_ns, medium);
        }
        self.unit_holding(page).map_or(ready_ns, |unit| medium.fetch(unit, ready_ns))
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "hot, and called from several places: calls cost a tenth of the speed")]
    fn write_pages(&mut self, run: Run, ready_ns: u64, medium: &mut Medium) -> u64 {
        let placement = self.write(run.page, &mut NoWatch);
        medium.place(&placement, ready_ns)
    }

    fn program_open(&mut self, ready_ns: u64, medium: &mut Medium) {
        self.program_partly_filled(ready_ns, medium);
    }

    fn discard_page(&mut self, page: u32, _: u64, _: &mut Medium) -> bool {
        self.discard(page)
    }

    fn purge(&mut self) {
        self.erase_all();
    }

    fn work_while_idle(&mut self, idle_ns: u64, now_ns: u64, medium: &mut Medium) {
        let idle_ns = idle_ns + self.rules.idle_after_ns;
        if idle_ns >= now_ns {
            return;
        }
        // The earliest unit first, so that the result does not depend on how many steps the time passes in.
        loop {
            let wanting = (0..self.geometry.units).filter(|unit| self.wants_idle(*unit));
            let next = wanting.map(|unit| (medium.clocks.idle_from(unit).max(idle_ns), unit)).min();
            let Some((from_ns, unit)) = next.filter(|(from_ns, _)| *from_ns < now_ns) else { break };
            let Some(opening) = self.collect_idle(unit, &mut NoWatch) else { break };
            medium.open(unit, &opening, from_ns);
            medium.counters.idle_collections += 1;
        }
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "asked after every write")]
    fn is_worn_out(&self) -> bool {
        self.worn_out
    }

    fn mapped_pages(&self) -> u64 {
        self.mapped()
    }

    fn written_blocks(&self) -> Vec<u32> {
        self.blocks_written().collect()
    }

    fn levels(&self) -> Levels {
        let spread = self.erase_spread();
        Levels {
            free_blocks: self.free_blocks,
            free_blocks_least: self.free_blocks_least,
            replaced_blocks: self.bad_blocks(),
            erases: (spread.least, spread.most),
            slc_free_pages: 0,
        }
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "asked before every operation")]
    fn page_map(&self) -> Option<&Map> {
        Some(self)
    }

    fn save(&self, out: &mut Writer) {
        saved_state::save(out, self);
    }

    fn restore(&mut self, reader: &mut Reader) -> Result<(), StateError> {
        saved_state::restore(reader, self)
    }
}

impl Map {
    /// Read a page where that depends on its place in its block; when the controller has it.
    #[inline(never)]
    fn read_by_place(&self, page: u32, ready_ns: u64, medium: &mut Medium) -> u64 {
        let Some((unit, block)) = self.place_of(page) else { return ready_ns };
        medium.fetch_at(unit, self.page_place(unit, block, page), ready_ns)
    }

    /// Where in this block of this unit a logical page is.
    fn page_place(&self, unit: u32, block: u32, logical: u32) -> PagePlace {
        let is_open = |slot: u32| {
            let Frontier { open, left } = self.frontiers[slot as usize];
            open == block && left > 0
        };
        let row = (self.forward[logical as usize] - block * self.geometry.pages) / self.geometry.per_program;
        PagePlace { row, open: is_open(2 * unit) || is_open(2 * unit + 1) }
    }

    /// Read a page that is part of a flash page; when the controller has it.
    pub(crate) fn read_part(&self, page: u32, ready_ns: u64, medium: &mut Medium) -> u64 {
        let Some((unit, block)) = self.place_of(page) else { return ready_ns };
        let flash_page = self.flash_page_of(page);
        let open = [2 * unit, 2 * unit + 1].into_iter().find(|slot| self.frontiers[*slot as usize].open == block);
        if open.is_some_and(|slot| self.waiting_in(slot) > 0 && self.next_flash_page(slot) == flash_page) {
            return ready_ns;
        }
        medium.fetch_part(unit, flash_page, ReadFrom::AllBits(self.page_place(unit, block, page)), ready_ns)
    }

    /// The flash page that holds a logical page, which must be mapped.
    pub(crate) fn flash_page_of(&self, logical: u32) -> u32 {
        self.forward[logical as usize] / self.geometry.per_program
    }

    /// The flash page that a frontier's next page goes to.
    fn next_flash_page(&self, slot: u32) -> u32 {
        let Frontier { open, left } = self.frontiers[slot as usize];
        ((open + 1) * self.geometry.pages - left) / self.geometry.per_program
    }

    /// Program the flash pages of frontiers that the host's data waits in, with nothing in the rest of them.
    pub(crate) fn program_partly_filled(&mut self, ready_ns: u64, medium: &mut Medium) {
        for slot in 0..self.frontiers.len() as u32 {
            if medium.clocks.waits_in(slot) {
                while !self.geometry.fills(self.frontiers[slot as usize].left) {
                    let Frontier { open, left } = self.frontiers[slot as usize];
                    self.frontiers[slot as usize].left -= 1;
                    self.invalidate((open + 1) * self.geometry.pages - left);
                }
                medium.program_filled(slot / 2, slot, ready_ns);
                if self.rules.order[self.turn as usize] == slot / 2 {
                    self.turn = self.after(self.turn);
                }
            }
        }
    }

    /// Mapped pages of the first `count` logical ones.
    pub(crate) fn mapped_below(&self, count: u32) -> u64 {
        self.forward[..count as usize].iter().filter(|page| **page != NOWHERE).count() as u64
    }
}
