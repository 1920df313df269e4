//! Counters of a host that none of its parts keeps by itself.

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
