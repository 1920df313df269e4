//! Where metadata lies: made with the file system (ext4), or as it is needed (xfs).

use super::allocator::{Allocator, Extent};
use serde::{Deserialize, Serialize};

/// Which file system it is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// ext4: block groups, `flex_bg`, journal of blocks.
    Ext4,
    /// xfs: allocation groups, inodes in chunks, log of bytes.
    Xfs,
}

/// Blocks of an ext4 group: as many as a bitmap of one block has bits.
const GROUP_BLOCKS: u64 = 32_768;
/// Groups whose metadata lie together (`flex_bg`, mke2fs.conf).
const FLEX: u64 = 16;
/// Blocks for each inode that mke2fs makes (`inode_ratio` 16384).
const BLOCKS_PER_INODE: u64 = 4;
/// Inodes of 256 bytes in a block.
const EXT4_INODES_PER_BLOCK: u64 = 16;
/// Block-group descriptors of 64 bytes in a block.
const DESCRIPTORS_PER_BLOCK: u64 = 64;
/// Inodes of 512 bytes in a block.
const XFS_INODES_PER_BLOCK: u64 = 8;
/// Blocks of a chunk of 64 inodes.
const XFS_CHUNK_BLOCKS: u64 = 8;
/// Allocation groups that mkfs.xfs makes on one device.
const XFS_GROUPS: u64 = 4;
/// Blocks at the start of each that hold its headers and the roots of its trees.
const XFS_HEADER_BLOCKS: u64 = 8;
/// What a changed inode takes in a log of bytes: its core, data fork and their headers.
pub(super) const INODE_LOG_BYTES: u64 = 256;
/// What a change of the free-space trees takes.
pub(super) const ALLOCATION_LOG_BYTES: u64 = 512;

/// A part of the device with its own inodes and bitmaps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Group {
    first: u64,
    blocks: u64,
    block_bitmap: u64,
    inode_bitmap: u64,
    descriptor: u64,
    /// First block of its inode table (ext4).
    table: u64,
    inodes: u64,
    used: u64,
    /// Numbers that were used and are free again, lowest last.
    free: Vec<u64>,
    directories: u64,
    /// Its block bitmap is on the drive; before its first use ext4 makes it in memory (`BLOCK_UNINIT`).
    initialised: bool,
}

/// Whether a group of ext4 begins with a copy of the superblock (`sparse_super`): 0, 1 and the powers of 3, 5 and 7.
fn has_copy(group: u64) -> bool {
    let is_power =
        |base: u64| std::iter::successors(Some(base), move |at| at.checked_mul(base)).take_while(|at| *at <= group);
    group <= 1 || [3, 5, 7].into_iter().any(|base| is_power(base).any(|at| at == group))
}

/// Blocks that mke2fs reserves next to the descriptors, so that a file system can grow by a factor of 1024 (`resize_inode`).
fn reserved_descriptors(blocks: u64, descriptors: u64) -> u64 {
    let most = blocks.saturating_mul(1024).min(u64::from(u32::MAX));
    let wanted = most.div_ceil(GROUP_BLOCKS).div_ceil(DESCRIPTORS_PER_BLOCK);
    wanted.saturating_sub(descriptors).min(1024)
}

/// The layout of a file system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Layout {
    pub family: Family,
    /// Blocks of the device.
    pub blocks: u64,
    groups: Vec<Group>,
    metadata: Vec<Extent>,
    stripe_blocks: u64,
}

impl Layout {
    /// Lay a file system out; first block of its journal. What is left is given to `allocator`.
    pub(super) fn make(
        family: Family,
        blocks: u64,
        journal_blocks: u64,
        stripe_blocks: u64,
        allocator: &mut Allocator,
    ) -> (Self, u64) {
        allocator.give(Extent { start: 0, count: blocks });
        let mut made = Self { family, blocks, groups: Vec::new(), metadata: Vec::new(), stripe_blocks };
        match family {
            Family::Ext4 => made.make_ext4(allocator),
            Family::Xfs => made.make_xfs(allocator),
        }
        let middle = made.groups[made.groups.len() / 2].first;
        let journal = allocator.take(middle, journal_blocks).unwrap_or(Extent { start: 0, count: 0 });
        if journal.count > 0 {
            made.metadata.push(journal);
            made.touch(journal);
        }
        (made, journal.start)
    }

    fn claim(&mut self, allocator: &mut Allocator, extent: Extent) {
        allocator.claim(extent);
        self.metadata.push(extent);
    }

    fn make_ext4(&mut self, allocator: &mut Allocator) {
        let group_blocks = GROUP_BLOCKS.min(self.blocks);
        let count = (self.blocks / group_blocks).max(1);
        let inodes = group_blocks / BLOCKS_PER_INODE;
        let table_blocks = inodes.div_ceil(EXT4_INODES_PER_BLOCK);
        let descriptors = count.div_ceil(DESCRIPTORS_PER_BLOCK);
        let copied = 1 + descriptors + reserved_descriptors(self.blocks, descriptors);
        for group in (0..count).filter(|group| has_copy(*group)) {
            let start = group * group_blocks;
            self.claim(allocator, Extent { start, count: copied.min(self.blocks - start) });
        }
        for flex in (0..count).step_by(FLEX as usize) {
            let members = FLEX.min(count - flex);
            let room = if has_copy(flex) { copied } else { 0 };
            let start = flex * group_blocks + room;
            self.claim(allocator, Extent { start, count: members * (2 + table_blocks) });
            for member in 0..members {
                let group = flex + member;
                self.groups.push(Group {
                    first: group * group_blocks,
                    blocks: group_blocks,
                    block_bitmap: start + member,
                    inode_bitmap: start + members + member,
                    descriptor: 1 + group / DESCRIPTORS_PER_BLOCK,
                    table: start + 2 * members + member * table_blocks,
                    inodes,
                    used: if group == 0 { 10 } else { 0 },
                    free: Vec::new(),
                    directories: 0,
                    // mke2fs writes the bitmaps of the first group, which it uses, and of the last.
                    initialised: group == 0 || group == count - 1,
                });
            }
        }
        let end = count * group_blocks;
        if end < self.blocks {
            // mke2fs leaves a last group out that is too small for its own metadata; here every incomplete one.
            self.claim(allocator, Extent { start: end, count: self.blocks - end });
        }
    }

    fn make_xfs(&mut self, allocator: &mut Allocator) {
        let each = self.blocks / XFS_GROUPS;
        for group in 0..XFS_GROUPS {
            let first = group * each;
            self.claim(allocator, Extent { start: first, count: XFS_HEADER_BLOCKS });
            self.groups.push(Group {
                first,
                blocks: each,
                block_bitmap: first + 1,
                inode_bitmap: first + 3,
                descriptor: first,
                table: 0,
                inodes: u64::MAX,
                used: 0,
                free: Vec::new(),
                directories: 0,
                initialised: true,
            });
        }
        let end = each * XFS_GROUPS;
        if end < self.blocks {
            self.claim(allocator, Extent { start: end, count: self.blocks - end });
        }
    }

    pub(super) fn metadata(&self) -> impl Iterator<Item = Extent> {
        self.metadata.iter().copied()
    }

    fn group_of_block(&self, block: u64) -> usize {
        let at = self.groups.partition_point(|group| group.first <= block);
        at.saturating_sub(1)
    }

    fn group_of(&self, number: u64) -> usize {
        match self.family {
            Family::Ext4 => (number / self.groups[0].inodes) as usize,
            Family::Xfs => self.group_of_block(number / XFS_INODES_PER_BLOCK),
        }
    }

    /// The block of the inode table that holds an inode.
    pub(super) fn inode_block(&self, number: u64) -> u64 {
        match self.family {
            Family::Ext4 => {
                let group = &self.groups[self.group_of(number)];
                group.table + number % group.inodes / EXT4_INODES_PER_BLOCK
            }
            Family::Xfs => number / XFS_INODES_PER_BLOCK,
        }
    }

    /// A number for a new inode: a file's in the group of its directory, a directory's in the group with the fewest. `None`:
    /// there is none left.
    pub(super) fn new_inode(&mut self, parent: Option<u64>, directory: bool, allocator: &mut Allocator) -> Option<u64> {
        let first = match parent {
            Some(parent) if !directory => self.group_of(parent),
            _ => (0..self.groups.len()).min_by_key(|at| (self.groups[*at].directories, *at))?,
        };
        let count = self.groups.len();
        for at in (0..count).map(|step| (first + step) % count) {
            if self.groups[at].free.is_empty() && self.family == Family::Xfs {
                self.new_chunk(at, allocator);
            }
            let group = &mut self.groups[at];
            let number = match group.free.pop() {
                Some(number) => number,
                None if self.family == Family::Ext4 && group.used < group.inodes => {
                    group.used += 1;
                    at as u64 * group.inodes + group.used - 1
                }
                None => continue,
            };
            group.directories += u64::from(directory);
            return Some(number);
        }
        None
    }

    /// Blocks for 64 more inodes.
    fn new_chunk(&mut self, at: usize, allocator: &mut Allocator) {
        let Some(extent) = allocator.take(self.groups[at].first, XFS_CHUNK_BLOCKS) else { return };
        self.metadata.push(extent);
        let first = extent.start * XFS_INODES_PER_BLOCK;
        self.groups[at].free.extend((first..first + extent.count * XFS_INODES_PER_BLOCK).rev());
    }

    pub(super) fn free_inode(&mut self, number: u64, directory: bool) {
        let at = self.group_of(number);
        let group = &mut self.groups[at];
        group.directories -= u64::from(directory);
        let place = group.free.partition_point(|other| *other > number);
        group.free.insert(place, number);
    }

    /// The bitmaps of the groups of an extent, and whether each was on the drive before; from now on they are.
    pub(super) fn touch(&mut self, extent: Extent) -> Vec<(u64, bool)> {
        let last = extent.start + extent.count.max(1) - 1;
        let groups = self.group_of_block(extent.start)..=self.group_of_block(last);
        let mut touched = Vec::new();
        for group in &mut self.groups[groups] {
            touched.push((group.block_bitmap, std::mem::replace(&mut group.initialised, true)));
            if self.family == Family::Xfs {
                // The list of reserved blocks, and the second tree of free extents, which is sorted by size.
                touched.extend([(group.descriptor, true), (group.block_bitmap + 1, true)]);
            }
        }
        touched
    }

    /// The block bitmaps that are on the drive.
    pub(super) fn bitmaps_on_drive(&self) -> impl Iterator<Item = u64> {
        self.groups.iter().filter(|group| group.initialised).map(|group| group.block_bitmap)
    }

    /// The blocks that change when an inode is made or removed, besides its own.
    pub(super) fn inode_bitmaps(&self, number: u64) -> [u64; 2] {
        let group = &self.groups[self.group_of(number)];
        [group.inode_bitmap, group.descriptor]
    }

    /// The blocks that change when blocks are taken or given.
    pub(super) fn allocation_blocks(&self, extent: Extent) -> Vec<u64> {
        let last = extent.start + extent.count.max(1) - 1;
        let groups = self.group_of_block(extent.start)..=self.group_of_block(last);
        groups.flat_map(|at| [self.groups[at].block_bitmap, self.groups[at].descriptor]).collect()
    }

    /// Whether two blocks are in the same group.
    pub(super) fn is_one_group(&self, one: u64, other: u64) -> bool {
        self.group_of_block(one) == self.group_of_block(other)
    }

    /// An extent, cut at the borders of groups.
    pub(super) fn by_group(&self, extent: Extent) -> Vec<Extent> {
        let (mut start, end) = (extent.start, extent.start + extent.count);
        let mut parts = Vec::new();
        while start < end {
            let group = &self.groups[self.group_of_block(start)];
            let stop = (group.first + group.blocks).clamp(start + 1, end);
            parts.push(Extent { start, count: stop - start });
            start = stop;
        }
        parts
    }

    /// Where the first block of a file or directory should lie. ext4 keeps the first group of sixteen for directories
    /// (`ext4_inode_to_goal_block`).
    pub(super) fn goal(&self, number: u64, directory: bool) -> u64 {
        let group = self.group_of(number);
        let flex = group - group % FLEX as usize + usize::from(!directory);
        let known = self.family == Family::Ext4 && flex < self.groups.len();
        self.groups[if known { flex } else { group }].first
    }

    /// How many blocks to look for when `wanted` are needed in a file that will be so long: what is not needed now is
    /// reserved for what follows.
    pub(super) fn wish(&self, size: u64, wanted: u64) -> u64 {
        let file_blocks = size.div_ceil(crate::page_cache::PAGE_BYTES);
        match self.family {
            // Small files are packed; those of more than 16 blocks get a power of two up to 8 MiB, or a whole stripe.
            Family::Ext4 if file_blocks <= 16 => wanted,
            Family::Ext4 => {
                wanted.max(file_blocks.next_power_of_two().min(2048)).next_multiple_of(self.stripe_blocks.max(1))
            }
            // Speculative preallocation: 64 KiB, then as much as the file has, up to 8 GiB.
            Family::Xfs if file_blocks <= 1 => wanted,
            Family::Xfs => wanted.max(file_blocks.clamp(16, 1 << 21)),
        }
    }
}
