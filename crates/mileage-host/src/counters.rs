//! What explains a host's speed.

use crate::host::Host;
use serde::{Deserialize, Serialize};

/// What the parts do not count themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostCounters {
    /// Pages that reads found in the cache, and those they did not.
    pub pages_hit: u64,
    /// See `pages_hit`.
    pub pages_missed: u64,
    /// Windows read because a page was missing, or because a marker was hit, and their pages.
    pub windows_sync: u64,
    /// See `windows_sync`.
    pub windows_async: u64,
    /// See `windows_sync`.
    pub pages_read: u64,
    /// Pages that became dirty, and writes to pages that were dirty already.
    pub pages_dirtied: u64,
    /// See `pages_dirtied`.
    pub pages_absorbed: u64,
    /// Dirty pages of data that were given up with their file.
    pub pages_dropped: u64,
    /// Pages of data that were written: by the flusher above its threshold, because they were old, by a sync.
    pub written_background: u64,
    /// See `written_background`.
    pub written_old: u64,
    /// See `written_background`.
    pub written_sync: u64,
    /// Pages of metadata that were written in place.
    pub metadata_pages_written: u64,
    /// How often writers waited, and how long.
    pub throttled: u64,
    /// See `throttled`.
    pub throttled_ns: u64,
    /// Bytes read and written past the cache.
    pub direct_bytes: u64,
    /// Blocks of metadata that were read.
    pub metadata_pages_read: u64,
}

/// Names of the counters, in the order of [`Host::counters`].
pub(crate) const NAMES: &[&str] = &[
    "host_cache_pages_hit",
    "host_cache_pages_missed",
    "host_cache_pages_evicted",
    "host_cache_pages_activated",
    "host_read_ahead_windows_sync",
    "host_read_ahead_windows_async",
    "host_read_ahead_pages",
    "host_pages_dirtied",
    "host_pages_absorbed",
    "host_pages_dropped",
    "host_pages_written_background",
    "host_pages_written_old",
    "host_pages_written_sync",
    "host_metadata_pages_written",
    "host_metadata_pages_read",
    "host_writers_throttled",
    "host_writers_throttled_ns",
    "host_direct_bytes",
    "host_journal_commits",
    "host_journal_bytes",
    "host_requests_read",
    "host_requests_written",
    "host_requests_discarded",
    "host_requests_flushed",
    "host_requests_fua",
    "host_requests_merged",
    "host_requests_sequential",
    "host_bytes_read",
    "host_bytes_written",
    "host_bytes_discarded",
    "host_processor_ns",
];

/// Names of the gauges.
pub(crate) const GAUGES: &[&str] =
    &["host_cache_pages", "host_cache_pages_active", "host_pages_dirty", "host_file_extents", "host_files_with_blocks"];

impl Host {
    /// The host's own counters, in the order of their names.
    pub(crate) fn own_counters(&self) -> [u64; NAMES.len()] {
        let (it, cache, block) = (&self.state.counters, &self.state.cache, &self.state.block.counters);
        let journal = &self.state.files.journal;
        [
            it.pages_hit,
            it.pages_missed,
            cache.evicted(),
            cache.activated(),
            it.windows_sync,
            it.windows_async,
            it.pages_read,
            it.pages_dirtied,
            it.pages_absorbed,
            it.pages_dropped,
            it.written_background,
            it.written_old,
            it.written_sync,
            it.metadata_pages_written,
            it.metadata_pages_read,
            it.throttled,
            it.throttled_ns,
            it.direct_bytes,
            journal.commits,
            journal.blocks_written * crate::page_cache::PAGE_BYTES,
            block.requests[0],
            block.requests[1],
            block.requests[2],
            block.flushes,
            block.fua_writes,
            block.merges,
            block.sequential,
            block.bytes[0],
            block.bytes[1],
            block.bytes[2],
            self.state.processors.used_ns,
        ]
    }

    /// The host's own gauges, in the order of their names.
    pub(crate) fn own_gauges(&self) -> [u64; GAUGES.len()] {
        let (cache, (extents, files)) = (&self.state.cache, self.state.files.fragments());
        [cache.present(), cache.active(), cache.dirty() + cache.writeback(), extents, files]
    }
}
