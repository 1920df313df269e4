//! Interface between mappings and flash: the clocks of the flash, and the counters of its work.

use super::array_operation::PagePlace;
use super::counters::Counters;
use super::map::{BlockOpening, Placement};
use super::part_pages::ReadFrom;
use super::timing::Clocks;

/// Clocks and counters.
#[derive(Clone, Debug)]
pub(crate) struct Medium {
    pub clocks: Clocks,
    pub counters: Counters,
}

impl Medium {
    /// A block was opened, and perhaps others collected for it.
    pub(crate) fn open(&mut self, unit: u32, opening: &BlockOpening, ready_ns: u64) {
        self.clocks.collect(unit, opening, ready_ns);
        self.counters.gc_pages_moved += u64::from(opening.moved);
        self.counters.levelling_pages_moved += u64::from(opening.levelled);
        self.counters.flash_pages_read += u64::from(opening.reads);
        self.counters.flash_pages_programmed += u64::from(opening.programs);
        self.counters.blocks_erased += u64::from(opening.erased);
    }

    /// A page of the host is programmed where the page map has placed it; when it is on the medium.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "hot, and called from several places: calls cost a tenth of the speed")]
    pub(crate) fn place(&mut self, placement: &Placement, ready_ns: u64) -> u64 {
        if let Some(opening) = &placement.opening {
            self.open(placement.unit, opening, ready_ns);
        }
        if !placement.fills {
            return self.clocks.wait_in_buffer(placement.slot, ready_ns);
        }
        self.counters.flash_pages_programmed += 1;
        self.clocks.program_accepted(placement.unit, placement.slot, ready_ns)
    }

    /// Program the data waiting in a frontier, with the pages that have arrived so far.
    pub(crate) fn program_filled(&mut self, unit: u32, slot: u32, ready_ns: u64) -> u64 {
        self.counters.flash_pages_programmed += 1;
        let ready_ns = self.clocks.arrived(slot, ready_ns);
        let done_ns = self.clocks.program(unit, ready_ns);
        self.clocks.programmed(slot, done_ns);
        self.clocks.durable_ns = self.clocks.durable_ns.max(done_ns);
        done_ns
    }

    /// A page of the map that lies in this flash page of a plane, or of its cells of one bit; when the controller has
    /// it. The array reads a flash page once for all that a command wants of it.
    pub(crate) fn fetch_part(&mut self, unit: u32, flash_page: u32, cells: ReadFrom, ready_ns: u64) -> u64 {
        let (done_ns, reads) = self.clocks.fetch_part(unit, flash_page, cells, ready_ns);
        self.counters.flash_pages_read += reads;
        self.counters.suspensions = self.clocks.suspensions;
        done_ns
    }

    /// A page that a plane holds; when the controller has it.
    #[inline]
    pub(crate) fn fetch(&mut self, unit: u32, ready_ns: u64) -> u64 {
        self.counters.flash_pages_read += 1;
        let done_ns = self.clocks.fetch(unit, ready_ns);
        self.counters.suspensions = self.clocks.suspensions;
        done_ns
    }

    /// The same where reads depend on the place.
    pub(crate) fn fetch_at(&mut self, unit: u32, place: PagePlace, ready_ns: u64) -> u64 {
        self.counters.flash_pages_read += 1;
        self.clocks.fetch_at(unit, place, ready_ns)
    }

    /// A page of the host is programmed with one bit in a cell; when it is on the medium.
    #[inline]
    pub(crate) fn place_slc(&mut self, unit: u32, fills: bool, ready_ns: u64) -> u64 {
        let slot = self.clocks.slc_slot(unit);
        if !fills {
            return self.clocks.wait_in_buffer(slot, ready_ns);
        }
        let done_ns = self.program_slc(unit, ready_ns);
        self.clocks.leave_buffer(done_ns);
        done_ns
    }

    /// The flash page that a plane fills with one bit in a cell is programmed; when it is on the medium.
    pub(crate) fn program_slc(&mut self, unit: u32, ready_ns: u64) -> u64 {
        self.counters.flash_pages_programmed += 1;
        self.counters.slc_pages_programmed += 1;
        let slot = self.clocks.slc_slot(unit);
        let ready_ns = self.clocks.arrived(slot, ready_ns);
        let done_ns = self.clocks.program_slc(unit, ready_ns);
        self.clocks.programmed(slot, done_ns);
        self.clocks.durable_ns = self.clocks.durable_ns.max(done_ns);
        done_ns
    }

    /// A page that lies in cells of one bit; when the controller has it.
    #[inline]
    pub(crate) fn fetch_slc(&mut self, unit: u32, ready_ns: u64) -> u64 {
        self.counters.flash_pages_read += 1;
        let done_ns = self.clocks.fetch_slc(unit, ready_ns);
        self.counters.suspensions = self.clocks.suspensions;
        done_ns
    }

    /// A page from there is programmed where the page map has placed it.
    pub(crate) fn place_folded(&mut self, placement: &Placement, ready_ns: u64) {
        if let Some(opening) = &placement.opening {
            self.open(placement.unit, opening, ready_ns);
        }
        self.counters.slc_pages_folded += 1;
        if !placement.fills {
            self.clocks.wait_in_controller(placement.slot, ready_ns);
            return;
        }
        self.counters.flash_pages_programmed += 1;
        let ready_ns = self.clocks.arrived(placement.slot, ready_ns);
        let done_ns = self.clocks.program(placement.unit, ready_ns);
        self.clocks.programmed(placement.slot, done_ns);
    }

    /// A page of a map that lies on flash; when the controller has it.
    pub(crate) fn read_map(&mut self, unit: u32, ready_ns: u64) -> u64 {
        self.counters.map_pages_read += 1;
        self.fetch(unit, ready_ns)
    }

    /// A page of a map goes to flash; when it is on the medium.
    pub(crate) fn write_map(&mut self, placement: &Placement, ready_ns: u64) -> u64 {
        if let Some(opening) = &placement.opening {
            self.open(placement.unit, opening, ready_ns);
        }
        self.counters.map_pages_programmed += 1;
        self.counters.flash_pages_programmed += 1;
        let done_ns = self.clocks.program(placement.unit, ready_ns);
        self.clocks.durable_ns = self.clocks.durable_ns.max(done_ns);
        done_ns
    }

    /// A page of the host is programmed in this unit; when it is on the medium.
    pub(crate) fn program(&mut self, unit: u32, ready_ns: u64) -> u64 {
        self.counters.flash_pages_programmed += 1;
        let done_ns = self.clocks.program(unit, ready_ns);
        self.clocks.durable_ns = self.clocks.durable_ns.max(done_ns);
        done_ns
    }

    /// A page goes from one unit to another; when it is on the medium.
    pub(crate) fn copy(&mut self, from: u32, to: u32, ready_ns: u64) -> u64 {
        self.counters.gc_pages_moved += 1;
        if from == to && self.clocks.copies_back() {
            self.counters.flash_pages_read += 1;
            self.counters.flash_pages_programmed += 1;
            let done_ns = self.clocks.copy_back(from, ready_ns);
            self.counters.suspensions = self.clocks.suspensions;
            self.clocks.durable_ns = self.clocks.durable_ns.max(done_ns);
            return done_ns;
        }
        let there_ns = self.fetch(from, ready_ns);
        self.program(to, there_ns)
    }

    /// A unit does these reads, programs and erases while its next `pages` are written, in equal shares.
    pub(crate) fn share(&mut self, unit: u32, reads: u32, programs: u32, erases: u32, pages: u32) {
        self.counters.flash_pages_read += u64::from(reads);
        self.counters.flash_pages_programmed += u64::from(programs);
        self.counters.blocks_erased += u64::from(erases);
        self.clocks.share_collection(unit, reads, programs, erases, pages);
    }

    /// A block of this unit is erased; when that is done.
    pub(crate) fn erase(&mut self, unit: u32, ready_ns: u64) -> u64 {
        self.counters.blocks_erased += 1;
        self.clocks.erase(unit, ready_ns)
    }
}
