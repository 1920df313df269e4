//! A mapping by blocks as a translation layer, and as bytes: what follows from these is derived again.

use super::Blocks;
use crate::flash::cells::NoWatch;
use crate::flash::map::NOWHERE;
use crate::flash::medium::Medium;
use crate::flash::saved_mapping::{read_runs, write_runs};
use crate::flash::translation::{Levels, Run, TranslationLayer};
use crate::saved_state::{Reader, StateError, Writer, corrupt};

impl TranslationLayer for Blocks {
    fn read_page(&mut self, page: u32, ready_ns: u64, medium: &mut Medium) -> u64 {
        self.unit_holding(page).map_or(ready_ns, |unit| medium.fetch(unit, ready_ns))
    }

    fn run_of(&self, page: u32, left: u32) -> u32 {
        self.pages_of_one_merge(page, left)
    }

    fn write_pages(&mut self, run: Run, ready_ns: u64, medium: &mut Medium) -> u64 {
        let done_ns = self.write(run.page, run.count, ready_ns, medium, &mut NoWatch);
        (0..run.count).for_each(|_| medium.clocks.leave_buffer(done_ns));
        done_ns
    }

    fn discard_page(&mut self, page: u32, ready_ns: u64, medium: &mut Medium) -> bool {
        self.discard(page, ready_ns, medium, &mut NoWatch)
    }

    fn purge(&mut self) {
        self.erase_all();
    }

    fn is_worn_out(&self) -> bool {
        self.worn_out
    }

    fn mapped_pages(&self) -> u64 {
        self.mapped()
    }

    fn written_blocks(&self) -> Vec<u32> {
        self.blocks_written()
    }

    fn levels(&self) -> Levels {
        Levels {
            free_blocks: self.free.len() as u32,
            free_blocks_least: self.free_least,
            replaced_blocks: self.bad.len() as u64,
            erases: self.erase_spread(),
            slc_free_pages: 0,
        }
    }

    fn save(&self, out: &mut Writer) {
        out.repeated(&self.next);
        out.repeated(&self.erases);
        out.repeated(&self.data);
        // A flag is enough for a new drive, whose erased blocks are in numerical order: its state stays small.
        let fresh = self.next.iter().all(|next| *next == 0) && self.bad.is_empty() && self.free.iter().is_sorted();
        out.half(u32::from(fresh));
        if !fresh {
            out.list(self.free.iter().copied());
        }
        out.list(self.logs.iter().map(|(log, _)| *log));
        out.list(self.logs.iter().map(|(_, owner)| *owner));
        let (log, owner) = self.stream.unwrap_or((NOWHERE, NOWHERE));
        out.half(log);
        out.half(owner);
        out.half(self.free_least);
        out.list(self.spare.iter().copied());
        out.list(self.bad.iter().copied());
        out.half(u32::from(self.worn_out));
        write_runs(out, &self.place);
    }

    fn restore(&mut self, reader: &mut Reader) -> Result<(), StateError> {
        let count = self.next.len() as u32;
        reader.repeated(&mut self.next, u64::from(self.pages) + 1)?;
        reader.repeated(&mut self.erases, 1 << 32)?;
        reader.repeated(&mut self.data, 1 << 32)?;
        if reader.half()? == 0 {
            self.free = reader.list(count)?.into();
        }
        let (logs, owners) = (reader.list(count)?, reader.list(count)?);
        if logs.len() != owners.len() {
            return corrupt("log blocks without owners");
        }
        self.logs = logs.into_iter().zip(owners).collect();
        let stream = (reader.half()?, reader.half()?);
        self.stream = (stream.0 != NOWHERE).then_some(stream);
        self.free_least = reader.half()?;
        self.spare = reader.list(count)?.into();
        self.bad = reader.list(count)?;
        self.worn_out = reader.half()? != 0;
        read_runs(reader, &mut self.place)?;
        if self.derive() {
            Ok(())
        } else {
            corrupt("the uses of a block, or the places of a page, contradict each other")
        }
    }
}
