//! What explains a host's speed.

use crate::host::Host;

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
