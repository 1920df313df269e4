//! The contract of a translation layer: where pages are, and what reading, writing and forgetting them takes.
//!
//! A layer knows which block holds a page; the clocks and counters of what it does are the [`Medium`]'s. A new one is a
//! file that implements this, and a variant of [`super::layer::Layer`].

use super::map::Map;
use super::medium::Medium;
use super::packed::Contents;
use crate::saved_state::{Reader, StateError, Writer};

/// Consecutive logical pages that are written as one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// The first.
    pub page: u32,
    /// Number of pages; at most that of [`TranslationLayer::run_of`].
    pub count: u32,
    /// Bytes of them that the host sent; the rest was read.
    pub bytes: u32,
}

/// Values of a layer's gauges.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Levels {
    pub free_blocks: u32,
    pub free_blocks_least: u32,
    pub replaced_blocks: u64,
    /// Erases of the least worn block, and of the most worn one.
    pub erases: (u32, u32),
    pub slc_free_pages: u64,
}

/// A flash translation layer. Times are nanoseconds of the drive's clock.
pub(crate) trait TranslationLayer {
    /// Read a page that is asked for at `ready_ns`: when it is at the controller, `ready_ns` if it is not mapped.
    fn read_page(&mut self, page: u32, ready_ns: u64, medium: &mut Medium) -> u64;

    /// Pages from `page` on, of `left`, that one write takes.
    fn run_of(&self, page: u32, left: u32) -> u32 {
        let _ = (page, left);
        1
    }

    /// Have the map's entry of a page at hand that is about to be written: when it is, from `ready_ns` on.
    fn find_entry(&mut self, page: u32, ready_ns: u64, medium: &mut Medium) -> u64 {
        let _ = (page, medium);
        ready_ns
    }

    /// Write pages that are at the controller, and whose entries are at hand, at `ready_ns`: when they are on the
    /// medium. Each leaves its place in the write buffer then.
    fn write_pages(&mut self, run: Run, ready_ns: u64, medium: &mut Medium) -> u64;

    /// Program what waits for a flash page to be filled, as it is.
    fn program_open(&mut self, ready_ns: u64, medium: &mut Medium) {
        let _ = (ready_ns, medium);
    }

    /// Unmap a page; whether it was mapped.
    fn discard_page(&mut self, page: u32, ready_ns: u64, medium: &mut Medium) -> bool;

    /// Forget all pages and erase every block that was written; wear stays. The time it takes is the caller's.
    fn purge(&mut self);

    /// The drive was idle from `idle_ns` to `now_ns`: do what is begun before then.
    fn work_while_idle(&mut self, idle_ns: u64, now_ns: u64, medium: &mut Medium) {
        let _ = (idle_ns, now_ns, medium);
    }

    /// A block is past its limit and none is left to replace it.
    fn is_worn_out(&self) -> bool;

    /// Pages of the host that are mapped.
    fn mapped_pages(&self) -> u64;

    /// Blocks of each plane that were written since they were last erased.
    fn written_blocks(&self) -> Vec<u32>;

    fn levels(&self) -> Levels;

    /// The page map, if pages are mapped one by one.
    fn page_map(&self) -> Option<&Map> {
        None
    }

    /// Content of the current writes, if the layer looks at it.
    fn contents(&mut self) -> Option<&mut Contents> {
        None
    }

    /// Write what cannot be derived from the profile.
    fn save(&self, out: &mut Writer);

    /// Read what [`Self::save`] wrote, into a layer that is new.
    fn restore(&mut self, reader: &mut Reader) -> Result<(), StateError>;
}
