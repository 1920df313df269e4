//! Duplicate 4 KiB blocks of the files that IOzone's children write: in one file, in another child's, in those of all.

use mileage_workload::{BLOCK_BYTES, Content, IozoneBytes};
use serde::Serialize;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Bytes of each file that are looked at, at most.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// Files that are looked at, at most.
const CHILDREN_MAX: u32 = 16;

/// Shares of 4 KiB blocks that equal another one, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FileDuplicates {
    /// Bytes of each file that were looked at.
    pub bytes: u64,
    /// Of the first child's file: blocks that equal an earlier one of it.
    pub within_percent: f64,
    /// Of the second child's file: blocks that equal one of the first child's.
    pub across_two_percent: f64,
    /// Files that were looked at for `across_all_percent`.
    pub children: u32,
    /// Of the files of all children together: blocks that equal an earlier one.
    pub across_all_percent: f64,
}

/// Count the duplicates of IOzone's content in files of `file_bytes` by `children`, of which two at least are made; `None`
/// for other contents, and for files without a block.
pub fn file_duplicates(content: Content, record_bytes: u32, file_bytes: u64, children: u32) -> Option<FileDuplicates> {
    let records = file_bytes / u64::from(record_bytes).max(1);
    let made = IozoneBytes::new(&content, 0, record_bytes, records)?;
    let looked_at = (FILE_BYTES_MAX / u64::from(record_bytes)).clamp(1, records.max(1));
    let children = children.clamp(1, CHILDREN_MAX);
    let mut file = vec![0; usize::try_from(looked_at * u64::from(record_bytes)).ok()?];
    let mut all = HashSet::new();
    let (mut first, mut within, mut across_two, mut earlier) = (HashSet::new(), 0, 0, 0);
    let blocks = file.len() / BLOCK_BYTES;
    if blocks == 0 {
        return None;
    }
    for child in 0..children.max(2) {
        (0..).zip(file.chunks_exact_mut(record_bytes as usize)).for_each(|(record, out)| made.fill(child, record, out));
        for block in file.as_chunks::<BLOCK_BYTES>().0 {
            let mut hasher = DefaultHasher::new();
            block.hash(&mut hasher);
            let hash = hasher.finish();
            match child {
                0 => within += usize::from(!first.insert(hash)),
                1 => across_two += usize::from(first.contains(&hash)),
                _ => {}
            }
            if child < children {
                earlier += usize::from(!all.insert(hash));
            }
        }
    }
    let percent = |count: usize, of: usize| 100.0 * count as f64 / of as f64;
    Some(FileDuplicates {
        bytes: file.len() as u64,
        within_percent: percent(within, blocks),
        across_two_percent: percent(across_two, blocks),
        children,
        across_all_percent: percent(earlier, blocks * children as usize),
    })
}
