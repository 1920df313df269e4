//! A file system: where files lie, what a change of metadata writes, and the journal that makes changes durable.
//!
//! Two families: one like ext4 (block groups, tables of inodes made with the file system, a journal of whole blocks in ordered
//! mode) and one like xfs (four allocation groups, inodes made in chunks, a log of changed bytes).
//!
//! # Invariant
//! Every block belongs to one file, to metadata or is free. *Guard:* [`FileSystem::check`], called by the tests.

mod allocator;
mod inode;
mod journal;
mod layout;
mod names;

pub use allocator::{Allocator, Extent};
pub use inode::{Directory, Inode};
pub use journal::{Commit, CommitPhase, Journal, Transaction};
pub use layout::Family;
pub use names::NameError;

use crate::kernel_set::KernelSet;
use crate::page_cache::{DEVICE_FILE, FileId, PAGE_BYTES};
use layout::Layout;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The directory that everything lies in.
pub const ROOT: FileId = 1;
/// Blocks of one allocation at most (ext4's largest request of the allocator).
const ALLOCATED_MAX: u64 = 2048;

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSystem {
    layout: Layout,
    /// Free blocks.
    pub allocator: Allocator,
    inodes: Vec<Option<Box<Inode>>>,
    /// The journal.
    pub journal: Journal,
    /// Blocks that dirty pages will need.
    pub delayed: u64,
    /// Bitmaps that changed since the host last looked, and whether each was on the drive before.
    pub touched_bitmaps: Vec<(u64, bool)>,
    /// The kernel that has mounted it.
    kernel: KernelSet,
    /// Blocks that the file system had free when it was made.
    usable: u64,
}

impl FileSystem {
    /// A new file system on a device.
    pub fn new(
        family: Family,
        capacity_bytes: u64,
        journal_blocks: u64,
        stripe_blocks: u64,
        kernel: KernelSet,
    ) -> Self {
        let mut allocator = Allocator::default();
        let (layout, journal_first) =
            Layout::make(family, capacity_bytes / PAGE_BYTES, journal_blocks, stripe_blocks, &mut allocator);
        let journal = Journal { first: journal_first, blocks: journal_blocks, is_empty: true, ..Journal::default() };
        let usable = allocator.free_blocks();
        let mut made = Self {
            layout,
            allocator,
            inodes: vec![None, None],
            journal,
            delayed: 0,
            touched_bitmaps: Vec::new(),
            kernel,
            usable,
        };
        made.journal.running.id = 1;
        let number = made.layout.new_inode(None, true, &mut made.allocator).unwrap_or_default();
        let mut root = Inode { number, dirtied_ns: u64::MAX, parent: ROOT, ..Inode::default() };
        root.directory = Some(Box::default());
        made.inodes[ROOT as usize] = Some(Box::new(root));
        made.usable = made.allocator.free_blocks();
        made
    }

    /// Which family.
    pub fn family(&self) -> Family {
        self.layout.family
    }

    /// Blocks for data, used or free.
    pub fn usable_blocks(&self) -> u64 {
        self.usable
    }

    /// A file or directory that there is.
    ///
    /// # Panics
    /// When there is none: a programmer's mistake.
    pub fn inode(&self, file: FileId) -> &Inode {
        self.find(file).unwrap_or_else(|| unreachable!("file {file} is there"))
    }

    /// A file or directory, if there is one.
    pub fn find(&self, file: FileId) -> Option<&Inode> {
        self.inodes.get(file as usize)?.as_deref()
    }

    /// As [`Self::inode`].
    ///
    /// # Panics
    /// When there is none: a programmer's mistake.
    pub fn inode_mut(&mut self, file: FileId) -> &mut Inode {
        self.inodes[file as usize].as_deref_mut().unwrap_or_else(|| unreachable!("file {file} is there"))
    }

    /// All files and directories.
    pub fn files(&self) -> impl Iterator<Item = (FileId, &Inode)> {
        (0..).zip(&self.inodes).filter_map(|(file, inode)| Some((file, inode.as_deref()?)))
    }

    /// Where a page of a file lies: see [`Inode::map`]. The device's own mapping lies where it says.
    ///
    /// # Errors
    /// There is no block: how many pages are so.
    pub fn map(&self, file: FileId, page: u32, most: u32) -> Result<(u64, u32), u32> {
        if file == DEVICE_FILE { Ok((u64::from(page), most)) } else { self.inode(file).map(page, most) }
    }

    /// Note that blocks of metadata are changed by the running transaction, with the bytes that they take in a logical log.
    pub fn log(&mut self, blocks: impl IntoIterator<Item = u64>, log_bytes: u64, now_ns: u64) -> u64 {
        let running = &mut self.journal.running;
        if running.is_empty() {
            running.began_ns = now_ns;
        }
        match self.layout.family {
            Family::Ext4 => running.blocks.extend(blocks),
            Family::Xfs => {
                let blocks: Vec<u64> = blocks.into_iter().collect();
                let each = log_bytes / (blocks.len() as u64).max(1);
                for block in &blocks {
                    running.log_item((*block, false), each, PAGE_BYTES, self.kernel);
                }
                running.blocks.extend(blocks);
            }
        }
        running.id
    }

    /// Note that a file's inode is changed; `data`: in a way that is needed to read its data.
    pub fn log_inode(&mut self, file: FileId, data: bool, now_ns: u64) {
        let number = self.inode(file).number;
        let block = self.layout.inode_block(number);
        let id = self.log([block], 0, now_ns);
        if self.layout.family == Family::Xfs {
            let bytes = layout::INODE_LOG_BYTES;
            self.journal.running.log_item((number, true), bytes, bytes, self.kernel);
        }
        let inode = self.inode_mut(file);
        inode.changed_in = id;
        if data {
            inode.data_changed_in = id;
        }
    }

    /// The block of the inode table that holds a file.
    pub fn inode_block(&self, file: FileId) -> u64 {
        self.layout.inode_block(self.inode(file).number)
    }

    /// Give blocks to pages of a file that have none; how many got them, from `page` on. `None`: the device is full.
    pub fn allocate(&mut self, file: FileId, page: u32, count: u32, now_ns: u64) -> Option<u32> {
        let wanted = u64::from(count).min(ALLOCATED_MAX);
        let inode = self.inode(file);
        let before = page.checked_sub(1).and_then(|last| inode.map(last, 1).ok()).map(|(block, _)| block + 1);
        let goal = before.unwrap_or_else(|| self.layout.goal(inode.number, false));
        let wish = self.layout.wish(inode.size.max(u64::from(page + count) * PAGE_BYTES), wanted);
        let mut reserved = inode.reserved.filter(|it| it.count > 0 && before.is_none_or(|goal| it.start == goal));
        if reserved.is_none() {
            let old = self.inode_mut(file).reserved.take();
            old.into_iter().for_each(|old| self.allocator.give(old));
            reserved = self.allocator.take(goal, wish);
        }
        let reserved = reserved?;
        let taken = Extent { start: reserved.start, count: reserved.count.min(wanted) };
        let rest = Extent { start: reserved.start + taken.count, count: reserved.count - taken.count };
        if before.is_none() && self.kernel.prefetches_bitmaps() && self.family() == Family::Ext4 {
            let searched = self.layout.bitmaps_on_drive().map(|block| (block, true));
            self.touched_bitmaps.extend(searched);
        }
        let bitmaps = self.layout.allocation_blocks(taken);
        self.touched_bitmaps.extend(self.layout.touch(taken));
        let id = self.log(bitmaps, layout::ALLOCATION_LOG_BYTES, now_ns);
        let inode = self.inode_mut(file);
        inode.reserved = (rest.count > 0).then_some(rest);
        inode.place(page, taken);
        (inode.changed_in, inode.data_changed_in) = (id, id);
        self.log_inode(file, true, now_ns);
        self.journal.running.ordered.insert(file);
        Some(taken.count as u32)
    }

    /// Give back what is reserved for a file that nobody writes any more.
    pub fn release_reserved(&mut self, file: FileId) {
        if let Some(rest) = self.inode_mut(file).reserved.take() {
            self.allocator.give(rest);
        }
    }

    /// Shorten or lengthen a file; blocks behind its end are free once the transaction has committed.
    pub fn resize(&mut self, file: FileId, size: u64, now_ns: u64) {
        let inode = self.inode_mut(file);
        let shorter = size < inode.size;
        inode.size = size;
        if shorter {
            let page = size.div_ceil(PAGE_BYTES) as u32;
            let freed = inode.cut(page);
            self.release_reserved(file);
            self.free_later(&freed, now_ns);
        }
        self.log_inode(file, true, now_ns);
    }

    fn free_later(&mut self, freed: &[Extent], now_ns: u64) {
        for extent in freed {
            let bitmaps = self.layout.allocation_blocks(*extent);
            self.touched_bitmaps.extend(self.layout.touch(*extent));
            self.log(bitmaps, layout::ALLOCATION_LOG_BYTES, now_ns);
        }
        self.journal.running.freed.extend_from_slice(freed);
    }

    /// Punch a hole into a file: whole pages inside the range lose their blocks.
    pub fn punch(&mut self, file: FileId, from: u32, end: u32, now_ns: u64) {
        let freed = self.inode_mut(file).punch(from, end);
        self.free_later(&freed, now_ns);
        self.log_inode(file, true, now_ns);
    }

    /// What a mount with `discard` discards of extents that are free since a commit.
    pub fn discards_of(&self, freed: Vec<Extent>) -> Vec<Extent> {
        if self.family() != Family::Ext4 || !self.kernel.discards_free_extents() {
            return freed;
        }
        let mut parts: Vec<Extent> = freed.into_iter().flat_map(|extent| self.layout.by_group(extent)).collect();
        parts.sort_unstable_by_key(|extent| extent.start);
        let mut ends = BTreeMap::new();
        let mut before: Option<Extent> = None;
        for part in parts {
            let end = part.start + part.count;
            let joins =
                before.filter(|it| it.start + it.count == part.start && self.layout.is_one_group(it.start, part.start));
            let start = joins.map_or(part.start, |it| it.start);
            ends.insert(start, end);
            before = Some(Extent { start, count: end - start });
        }
        let to_end_of_free = |(start, end): (u64, u64)| {
            let end = self.allocator.end_of_free(start).unwrap_or(end);
            self.layout.by_group(Extent { start, count: end - start }).first().copied()
        };
        ends.into_iter().filter_map(to_end_of_free).collect()
    }

    /// The free extents, cut at the borders of groups, as `fstrim` takes them.
    pub fn free_by_group(&self) -> Vec<Extent> {
        self.allocator.extents().flat_map(|extent| self.layout.by_group(extent)).collect()
    }

    /// The bitmaps that say which blocks are free, as far as they are on the drive.
    pub fn bitmaps_on_drive(&self) -> Vec<u64> {
        self.layout.bitmaps_on_drive().collect()
    }

    /// Extents of all files, and files that have any.
    pub fn fragments(&self) -> (u64, u64) {
        let with_blocks = self.files().filter(|(_, inode)| !inode.extents.is_empty());
        with_blocks.fold((0, 0), |(extents, files), (_, inode)| (extents + inode.extents.len() as u64, files + 1))
    }

    /// Whether every block has one owner; for tests.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self) -> Result<(), String> {
        let mut all: Vec<Extent> = self.allocator.extents().collect();
        for (file, inode) in self.files() {
            let own: u64 = inode.extents.values().map(|(count, _)| u64::from(*count)).sum();
            if own != inode.blocks {
                return Err(format!("file {file} counts {} blocks and has {own}", inode.blocks));
            }
            all.extend(inode.extents.values().map(|(count, start)| Extent { start: *start, count: u64::from(*count) }));
            all.extend(inode.reserved);
            let directory = inode.directory.iter().flat_map(|it| &it.blocks);
            all.extend(directory.map(|start| Extent { start: *start, count: 1 }));
        }
        let commit = self.journal.commit.iter().flat_map(|commit| &commit.transaction.freed);
        all.extend(self.journal.running.freed.iter().chain(commit));
        all.extend(self.layout.metadata());
        all.sort_unstable_by_key(|it| it.start);
        let mut at = 0;
        for extent in all {
            if extent.start != at {
                return Err(format!(
                    "block {at} belongs to nobody or to two: the next owner begins at {}",
                    extent.start
                ));
            }
            at += extent.count;
        }
        if at == self.layout.blocks {
            Ok(())
        } else {
            Err(format!("{at} of {} blocks have an owner", self.layout.blocks))
        }
    }
}
