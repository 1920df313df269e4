//! Names: what is called how, and which blocks a change of names changes.

use super::inode::{Directory, Inode};
use super::layout::INODE_LOG_BYTES;
use super::{Extent, FileSystem, ROOT};
use crate::page_cache::{FileId, PAGE_BYTES};

/// Why a name cannot be used so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// No such file or directory.
    #[error("no such file or directory")]
    Missing,
    /// There is one already.
    #[error("file exists")]
    Exists,
    /// A directory is needed.
    #[error("not a directory")]
    NotADirectory,
    /// A file is needed.
    #[error("is a directory")]
    IsADirectory,
    /// A directory with entries.
    #[error("directory not empty")]
    NotEmpty,
    /// No block or no inode is left.
    #[error("no space left on device")]
    Full,
}

impl NameError {
    /// What Linux calls it.
    pub fn errno(self) -> &'static str {
        match self {
            Self::Missing => "ENOENT",
            Self::Exists => "EEXIST",
            Self::NotADirectory => "ENOTDIR",
            Self::IsADirectory => "EISDIR",
            Self::NotEmpty => "ENOTEMPTY",
            Self::Full => "ENOSPC",
        }
    }
}

/// FNV-1a: which leaf a name goes to; any even spread does.
fn hash(name: &str) -> u64 {
    let mix = |state: u64, byte: u8| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, mix);
    hash ^ hash.rotate_left(32)
}

/// Bytes of an entry besides its name (ext4: inode, length, type; rounded up to 4).
const ENTRY_BYTES: u64 = 8;
/// How full leaves are on average when they split in halves.
const LEAF_FILL_PERCENT: u64 = 75;

impl Directory {
    /// The block in which a name stands, and the root of the index if there is one.
    fn blocks_of(&self, name: &str) -> impl Iterator<Item = u64> + use<> {
        let leaves = self.blocks.len().saturating_sub(1).max(1) as u64;
        let leaf = ((u128::from(hash(name)) * u128::from(leaves)) >> 64) as usize;
        let (root, leaf) = match self.blocks.len() {
            0 => (None, None),
            1 => (None, self.blocks.first().copied()),
            _ => (self.blocks.first().copied(), self.blocks.get(leaf + 1).copied()),
        };
        root.into_iter().chain(leaf)
    }

    /// Blocks that its entries need: one, or a root and leaves.
    fn blocks_needed(&self) -> usize {
        let leaves = self.entry_bytes.div_ceil(PAGE_BYTES * LEAF_FILL_PERCENT / 100).max(1) as usize;
        if self.entry_bytes <= PAGE_BYTES { 1 } else { leaves + 1 }
    }
}

impl FileSystem {
    /// The directory in which a path lies, its last name, and what has the name.
    ///
    /// # Errors
    /// A directory on the way is missing, or none.
    pub fn resolve<'a>(&self, path: &'a str) -> Result<(FileId, &'a str, Option<FileId>), NameError> {
        let path = path.trim_matches('/');
        let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut at = ROOT;
        for folder in folders.split('/').filter(|part| !part.is_empty()) {
            let directory = self.inode(at).directory.as_ref().ok_or(NameError::NotADirectory)?;
            at = *directory.entries.get(folder).ok_or(NameError::Missing)?;
        }
        if name.is_empty() {
            return Ok((ROOT, name, Some(ROOT)));
        }
        let directory = self.inode(at).directory.as_ref().ok_or(NameError::NotADirectory)?;
        Ok((at, name, directory.entries.get(name).copied()))
    }

    /// The blocks that must be in memory before a name can be looked up or changed.
    pub fn blocks_of_name(&self, directory: FileId, name: &str, file: Option<FileId>) -> Vec<u64> {
        let folder = self.inode(directory).directory.as_deref();
        let mut blocks: Vec<u64> = folder.into_iter().flat_map(|it| it.blocks_of(name)).collect();
        blocks.push(self.inode_block(directory));
        blocks.extend(file.map(|file| self.inode_block(file)));
        blocks
    }

    /// The blocks of a directory.
    pub fn blocks_of_directory(&self, directory: FileId) -> &[u64] {
        self.inode(directory).directory.as_ref().map_or(&[], |it| &it.blocks)
    }

    fn log_name(&mut self, directory: FileId, name: &str, now_ns: u64) {
        let folder = self.inode(directory).directory.as_deref();
        // The leaf alone changes; the root only when a leaf splits.
        let leaf: Vec<u64> = folder.into_iter().filter_map(|it| it.blocks_of(name).last()).collect();
        let id = self.log(leaf, ENTRY_BYTES + name.len() as u64, now_ns);
        self.log_inode(directory, true, now_ns);
        self.inode_mut(directory).changed_in = id;
    }

    /// Make a file or directory. It is known by its number from then on.
    ///
    /// # Errors
    /// The name exists, or there is no room.
    pub fn create(
        &mut self,
        directory: FileId,
        name: &str,
        is_directory: bool,
        now_ns: u64,
    ) -> Result<FileId, NameError> {
        let folder = self.inode(directory).directory.as_ref().ok_or(NameError::NotADirectory)?;
        if folder.entries.contains_key(name) {
            return Err(NameError::Exists);
        }
        let parent = self.inode(directory).number;
        let number = self.layout.new_inode(Some(parent), is_directory, &mut self.allocator).ok_or(NameError::Full)?;
        let file = self.inodes.len() as FileId;
        let directory_part = is_directory.then(Box::default);
        let inode = Inode {
            number,
            parent: directory,
            directory: directory_part,
            dirtied_ns: u64::MAX,
            atime_is_old: true,
            ..Inode::default()
        };
        self.inodes.push(Some(Box::new(inode)));
        self.add_entry(directory, name, file, now_ns)?;
        if is_directory {
            self.grow_directory(file, now_ns)?;
        }
        let bitmaps = self.layout.inode_bitmaps(number);
        self.touched_bitmaps.push((bitmaps[0], true));
        self.log(bitmaps, INODE_LOG_BYTES, now_ns);
        self.log_inode(file, true, now_ns);
        Ok(file)
    }

    fn add_entry(&mut self, directory: FileId, name: &str, file: FileId, now_ns: u64) -> Result<(), NameError> {
        let folder = self.inode_mut(directory).directory.as_mut().ok_or(NameError::NotADirectory)?;
        folder.entries.insert(name.into(), file);
        folder.entry_bytes += (ENTRY_BYTES + name.len() as u64).next_multiple_of(4);
        self.grow_directory(directory, now_ns)?;
        self.log_name(directory, name, now_ns);
        Ok(())
    }

    /// Give a directory the blocks that its entries need.
    fn grow_directory(&mut self, directory: FileId, now_ns: u64) -> Result<(), NameError> {
        loop {
            let inode = self.inode(directory);
            let Some(folder) = inode.directory.as_deref() else { return Ok(()) };
            if folder.blocks.len() >= folder.blocks_needed() {
                return Ok(());
            }
            let root = folder.blocks.first().copied();
            let goal = folder.blocks.last().map_or_else(|| self.layout.goal(inode.number, true), |last| last + 1);
            let extent: Extent = self.allocator.take(goal, 1).ok_or(NameError::Full)?;
            let bitmaps = self.layout.allocation_blocks(extent);
            self.layout.touch(extent);
            self.log(bitmaps.into_iter().chain([extent.start]).chain(root), PAGE_BYTES / 2, now_ns);
            let folder = self.inode_mut(directory).directory.as_mut().ok_or(NameError::NotADirectory)?;
            folder.blocks.push(extent.start);
        }
    }

    fn remove_entry(&mut self, directory: FileId, name: &str, now_ns: u64) {
        self.log_name(directory, name, now_ns);
        if let Some(folder) = self.inode_mut(directory).directory.as_mut() {
            folder.entries.remove(name);
            folder.entry_bytes -= (ENTRY_BYTES + name.len() as u64).next_multiple_of(4);
        }
    }

    /// Take a file's name away; without an open handle its blocks are free once the transaction has committed. Whether the
    /// file was removed.
    ///
    /// # Errors
    /// There is none, or it is of the other kind, or a directory that is not empty.
    pub fn unlink(
        &mut self,
        directory: FileId,
        name: &str,
        is_directory: bool,
        now_ns: u64,
    ) -> Result<(FileId, bool), NameError> {
        let folder = self.inode(directory).directory.as_ref().ok_or(NameError::NotADirectory)?;
        let file = *folder.entries.get(name).ok_or(NameError::Missing)?;
        match (&self.inode(file).directory, is_directory) {
            (Some(_), false) => return Err(NameError::IsADirectory),
            (None, true) => return Err(NameError::NotADirectory),
            (Some(folder), true) if !folder.entries.is_empty() => return Err(NameError::NotEmpty),
            _ => {}
        }
        self.remove_entry(directory, name, now_ns);
        self.inode_mut(file).is_unlinked = true;
        self.log_inode(file, true, now_ns);
        Ok((file, self.drop_if_unused(file, now_ns)))
    }

    /// Give up a file that has neither a name nor a handle; whether it was so.
    pub fn drop_if_unused(&mut self, file: FileId, now_ns: u64) -> bool {
        if !self.inode(file).is_unlinked || self.inode(file).open > 0 {
            return false;
        }
        self.release_reserved(file);
        let inode = self.inode_mut(file);
        let number = inode.number;
        let mut freed = inode.cut(0);
        let directory = inode.directory.take();
        let is_directory = directory.is_some();
        freed.extend(directory.into_iter().flat_map(|it| it.blocks).map(|start| Extent { start, count: 1 }));
        self.free_later(&freed, now_ns);
        let bitmaps = self.layout.inode_bitmaps(number);
        self.touched_bitmaps.push((bitmaps[0], true));
        self.log(bitmaps, INODE_LOG_BYTES, now_ns);
        self.log_inode(file, true, now_ns);
        self.layout.free_inode(number, is_directory);
        self.journal.running.ordered.remove(&file);
        self.inodes[file as usize] = None;
        true
    }

    /// Give a file another name. What had the new name before must have been removed.
    ///
    /// # Errors
    /// The old name is missing, or there is no room.
    pub fn rename(&mut self, from: (FileId, &str), to: (FileId, &str), now_ns: u64) -> Result<(), NameError> {
        let folder = self.inode(from.0).directory.as_ref().ok_or(NameError::NotADirectory)?;
        let file = *folder.entries.get(from.1).ok_or(NameError::Missing)?;
        self.remove_entry(from.0, from.1, now_ns);
        self.add_entry(to.0, to.1, file, now_ns)?;
        self.inode_mut(file).parent = to.0;
        self.log_inode(file, false, now_ns);
        Ok(())
    }
}
