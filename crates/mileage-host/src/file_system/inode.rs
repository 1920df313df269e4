//! A file or directory: its size, where its blocks lie, and what was changed since the last commit.

use super::allocator::Extent;
use crate::page_cache::{FileId, PAGE_BYTES};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The entries of a directory, and its blocks: the first is the root of the index once there are several.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directory {
    /// What is in it, by name.
    pub entries: BTreeMap<Box<str>, FileId>,
    /// Its blocks on the device.
    pub blocks: Vec<u64>,
    /// Bytes of all entries that there ever were at once: leaves are never joined.
    pub entry_bytes: u64,
}

/// A file or directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inode {
    /// Length in bytes.
    pub size: u64,
    /// First page, then number of pages and first block on the device.
    pub extents: BTreeMap<u32, (u32, u64)>,
    /// Blocks on the device.
    pub blocks: u64,
    /// Its entries, if it is a directory.
    pub directory: Option<Box<Directory>>,
    /// The directory that it lies in.
    pub parent: FileId,
    /// Its number in the inode table.
    pub number: u64,
    /// Reserved for its next blocks.
    pub reserved: Option<Extent>,
    /// The transaction that last changed anything of it, and the last that changed what is needed to read its data.
    pub changed_in: u64,
    /// See `changed_in`.
    pub data_changed_in: u64,
    /// The tick in which its times were last set.
    pub tick: u64,
    /// Its access time is older than its last change.
    pub atime_is_old: bool,
    /// When its oldest dirty page was made; [`u64::MAX`] without.
    pub dirtied_ns: u64,
    /// Open handles.
    pub open: u32,
    /// It has no name any more.
    pub is_unlinked: bool,
    /// Where write-back stopped.
    pub writeback_page: u32,
}

impl Inode {
    /// Where a page lies, and how many pages from there on lie behind each other, at most `most`.
    ///
    /// # Errors
    /// A hole, or not allocated yet: how many pages are so.
    pub fn map(&self, page: u32, most: u32) -> Result<(u64, u32), u32> {
        if let Some((first, (count, block))) = self.extents.range(..=page).next_back()
            && page - first < *count
        {
            let inside = page - first;
            return Ok((block + u64::from(inside), (count - inside).min(most)));
        }
        let next = self.extents.range(page..).next().map_or(u32::MAX, |(first, _)| *first);
        Err((next - page).min(most))
    }

    /// Pages from `page` on lie at a block.
    pub fn place(&mut self, page: u32, extent: Extent) {
        self.blocks += extent.count;
        let count = extent.count as u32;
        if let Some((first, (length, block))) = self.extents.range_mut(..=page).next_back()
            && first + *length == page
            && *block + u64::from(*length) == extent.start
        {
            *length += count;
            return;
        }
        self.extents.insert(page, (count, extent.start));
    }

    /// Take away the blocks of pages from `page` on: first page, number and first block of each piece.
    fn take_from(&mut self, page: u32) -> Vec<(u32, u32, u64)> {
        let mut taken = Vec::new();
        let behind = self.extents.split_off(&page);
        if let Some((first, (count, block))) = self.extents.range_mut(..page).next_back()
            && first + *count > page
        {
            let keep = page - first;
            taken.push((page, *count - keep, *block + u64::from(keep)));
            *count = keep;
        }
        taken.extend(behind.into_iter().map(|(first, (count, block))| (first, count, block)));
        self.blocks -= taken.iter().map(|(_, count, _)| u64::from(*count)).sum::<u64>();
        taken
    }

    /// Give up all blocks of pages from `page` on.
    pub fn cut(&mut self, page: u32) -> Vec<Extent> {
        let taken = self.take_from(page);
        taken.into_iter().map(|(_, count, start)| Extent { start, count: u64::from(count) }).collect()
    }

    /// Give up the blocks of pages from `page` to `end`.
    pub fn punch(&mut self, page: u32, end: u32) -> Vec<Extent> {
        let mut freed = Vec::new();
        for (first, count, start) in self.take_from(page) {
            let inside = count.min(end.saturating_sub(first));
            if inside > 0 {
                freed.push(Extent { start, count: u64::from(inside) });
            }
            if inside < count {
                let rest = Extent { start: start + u64::from(inside), count: u64::from(count - inside) };
                self.place(first + inside, rest);
            }
        }
        freed
    }

    /// Pages that its length needs.
    pub fn pages(&self) -> u32 {
        self.size.div_ceil(PAGE_BYTES) as u32
    }
}
