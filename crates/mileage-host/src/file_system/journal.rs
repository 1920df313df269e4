//! The journal: what the running transaction has changed, and how far its commit is.

use super::allocator::Extent;
use crate::kernel_set::KernelSet;
use crate::page_cache::FileId;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Changes that become durable together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transaction {
    /// Its number.
    pub id: u64,
    /// Metadata blocks that were changed.
    pub blocks: BTreeSet<u64>,
    /// Bytes of a logical log (xfs).
    pub log_bytes: u64,
    /// What was logged so far of each item: an item that changes again is logged once (xfs's delayed logging).
    pub logged: BTreeMap<(u64, bool), u64>,
    /// Files whose new blocks must be written before it commits (`data=ordered`).
    pub ordered: BTreeSet<FileId>,
    /// Blocks that are free once it has committed.
    pub freed: Vec<Extent>,
    /// When it began.
    pub began_ns: u64,
}

impl Transaction {
    /// Log bytes of an item, which has `most` bytes. Before the delayed logging of 2.6.39 every change is logged.
    pub(super) fn log_item(&mut self, item: (u64, bool), bytes: u64, most: u64, kernel: KernelSet) {
        if !kernel.logs_items_once() {
            self.log_bytes += bytes;
            return;
        }
        let logged = self.logged.entry(item).or_default();
        let more = bytes.min(most - *logged);
        *logged += more;
        self.log_bytes += more;
    }

    /// Whether there is nothing to commit.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.log_bytes == 0
    }
}

/// What a commit waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommitPhase {
    /// The data of its files.
    Data,
    /// Its blocks in the journal.
    Blocks,
    /// The flush before the commit record.
    PreFlush,
    /// The commit record.
    Record,
    /// The flush after it.
    PostFlush,
}

/// A commit that has begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// What commits.
    pub transaction: Transaction,
    /// What it waits for.
    pub phase: CommitPhase,
    /// The I/O of that phase.
    pub io: u64,
    /// Write-backs that were begun up to this one belong to its data.
    pub data_sequence: u64,
}

/// The journal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    /// Its blocks on the device.
    pub first: u64,
    /// How many.
    pub blocks: u64,
    /// Where the next block goes, in blocks from the first.
    pub head: u64,
    /// What is changed now.
    pub running: Transaction,
    /// What commits now.
    pub commit: Option<Commit>,
    /// The last transaction that is durable.
    pub committed: u64,
    /// Nothing in it is needed: everything was written in place.
    pub is_empty: bool,
    /// Blocks that are in it: they stay in memory, whatever is dropped.
    pub pinned: BTreeSet<u64>,
    /// Somebody waits for the running transaction.
    pub wanted: u64,
    /// Blocks written into it, and commits.
    pub blocks_written: u64,
    /// See `blocks_written`.
    pub commits: u64,
}

impl Journal {
    /// Reserve blocks one behind another, as extents: two where the journal begins anew.
    pub fn advance(&mut self, count: u64) -> Vec<Extent> {
        if self.head < 2 || self.head + count > self.blocks {
            // It begins anew: what it holds was written in place long ago. Its first block is its superblock.
            self.pinned.clear();
            self.head = 1;
        }
        let mut left = count;
        let mut places = Vec::new();
        while left > 0 {
            let here = left.min(self.blocks - self.head);
            places.push(Extent { start: self.first + self.head, count: here });
            self.head = if self.head + here == self.blocks { 1 } else { self.head + here };
            left -= here;
        }
        self.blocks_written += count;
        places
    }
}
