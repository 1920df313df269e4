//! The map of a controller that packs as a translation layer.

use super::{Contents, PackedMap, ReadCost, saved_state};
use crate::flash::medium::Medium;
use crate::flash::translation::{Levels, Run, TranslationLayer};
use crate::saved_state::{Reader, StateError, Writer};

impl TranslationLayer for PackedMap {
    fn read_page(&mut self, page: u32, ready_ns: u64, medium: &mut Medium) -> u64 {
        let Some(ReadCost { unit, pages }) = self.reading(page) else { return ready_ns };
        (0..pages).map(|_| medium.fetch(unit, ready_ns)).fold(ready_ns, u64::max)
    }

    fn write_pages(&mut self, run: Run, ready_ns: u64, medium: &mut Medium) -> u64 {
        // Use the number of the page, which is counted already, to make unknown content differ from all other.
        let number = medium.counters.host_pages_written - 1;
        let arriving = self.contents.page(run.page, run.bytes, number);
        let done_ns = self.write(run.page, arriving, ready_ns, medium);
        medium.clocks.leave_buffer(done_ns);
        done_ns
    }

    fn discard_page(&mut self, page: u32, _: u64, _: &mut Medium) -> bool {
        self.forget(page)
    }

    fn purge(&mut self) {
        self.erase_all();
    }

    fn is_worn_out(&self) -> bool {
        false
    }

    fn mapped_pages(&self) -> u64 {
        u64::from(self.mapped)
    }

    fn written_blocks(&self) -> Vec<u32> {
        self.blocks_written()
    }

    fn levels(&self) -> Levels {
        Levels {
            free_blocks: self.free_blocks(),
            free_blocks_least: self.free_least,
            erases: self.erase_spread(),
            ..Levels::default()
        }
    }

    fn contents(&mut self) -> Option<&mut Contents> {
        Some(&mut self.contents)
    }

    fn save(&self, out: &mut Writer) {
        saved_state::save(out, self);
    }

    fn restore(&mut self, reader: &mut Reader) -> Result<(), StateError> {
        saved_state::restore(reader, self)
    }
}
