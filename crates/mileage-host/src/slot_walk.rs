//! How the kernel of now looks for the nearest page that is not cached (`page_cache_prev_miss`, `page_cache_next_miss`).
//!
//! It walks over the slots of a tree whose leaves have 64. The first step lands on the first slot of a folio while the index
//! stays where it was, so the walk sees other pages than it counts until it enters the next leaf, where the slot is taken
//! from the index. The walk is done here in the same way, since it decides how large windows are.

use crate::page_cache::{FileId, PageCache};

const LEAF: u32 = 64;

/// A place in the tree: what is counted, and what is looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlotWalk {
    index: u32,
    slot: u32,
}

impl SlotWalk {
    fn at(cache: &PageCache, file: FileId, page: u32) -> Self {
        Self { index: page, slot: cache.folio_of(file, page).0 }
    }

    /// How many pages before `page` the kernel believes to be there without a gap, looking at `most`; all of them if the walk
    /// leaves the start of the file.
    pub(crate) fn history(cache: &PageCache, file: FileId, page: u32, most: u32) -> u32 {
        if page == 0 {
            return 0;
        }
        let mut walk = Self::at(cache, file, page - 1);
        for _ in 0..most {
            if !cache.is_present(file, walk.slot) {
                return page - walk.index - 1;
            }
            let Some(index) = walk.index.checked_sub(1) else { return page };
            walk.index = index;
            if !walk.slot.is_multiple_of(LEAF) {
                walk.slot -= 1;
            } else if !walk.index.is_multiple_of(LEAF) {
                let Some(leaf) = (walk.slot / LEAF).checked_sub(1) else { return page - walk.index - 1 };
                walk.slot = leaf * LEAF + walk.index % LEAF;
            }
        }
        most
    }

    /// The page from `page` on that the kernel believes to be missing, looking at `most`.
    pub(crate) fn next_miss(cache: &PageCache, file: FileId, page: u32, most: u32) -> u32 {
        let mut walk = Self::at(cache, file, page);
        for _ in 0..most {
            if !cache.is_present(file, walk.slot) {
                break;
            }
            walk.index += 1;
            if walk.slot % LEAF < LEAF - 1 {
                walk.slot += 1;
            } else if walk.index % LEAF != LEAF - 1 {
                walk.slot = (walk.slot / LEAF + 1) * LEAF + walk.index % LEAF;
            }
        }
        walk.index
    }
}
