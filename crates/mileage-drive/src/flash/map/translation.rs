//! The page map as a translation layer.

use super::{Map, NOWHERE, state};
use crate::flash::cells::Unwatched;
use crate::flash::medium::Medium;
use crate::flash::translation::{Levels, Run, TranslationLayer};
use crate::saved_state::{Reader, StateError, Writer};

impl TranslationLayer for Map {
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "hot, and called from several places: calls cost a tenth of the speed")]
    fn read_page(&mut self, page: u32, ready_ns: u64, medium: &mut Medium) -> u64 {
        self.unit_holding(page).map_or(ready_ns, |unit| medium.fetch(unit, ready_ns))
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "hot, and called from several places: calls cost a tenth of the speed")]
    fn write_pages(&mut self, run: Run, ready_ns: u64, medium: &mut Medium) -> u64 {
        let placement = self.write(run.page, &mut Unwatched);
        medium.place(&placement, ready_ns)
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
        // The earliest first, so that it does not matter in how many steps the time passes.
        loop {
            let wanting = (0..self.geometry.units).filter(|unit| self.wants_idle(*unit));
            let next = wanting.map(|unit| (medium.clocks.idle_from(unit).max(idle_ns), unit)).min();
            let Some((from_ns, unit)) = next.filter(|(from_ns, _)| *from_ns < now_ns) else { break };
            let Some(opening) = self.collect_idle(unit, &mut Unwatched) else { break };
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
        state::save(out, self);
    }

    fn restore(&mut self, reader: &mut Reader) -> Result<(), StateError> {
        state::restore(reader, self)
    }
}

impl Map {
    /// Mapped pages of the first `count` logical ones.
    pub(crate) fn mapped_below(&self, count: u32) -> u64 {
        self.forward[..count as usize].iter().filter(|page| **page != NOWHERE).count() as u64
    }
}
