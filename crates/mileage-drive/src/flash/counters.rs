//! Counters, which only grow, and gauges, which show a current state: they explain a result.

/// Declares the counters with their names, in one place and one order.
macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)+) => {
        /// Counts of all work since the drive was first powered on.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub(crate) struct Counters { $($(#[$doc])* pub $name: u64,)+ }

        /// Their names.
        pub(crate) const COUNTER_NAMES: &[&str] = &[$(stringify!($name),)+];

        impl Counters {
            /// Their values, in the order of the names.
            pub(crate) fn values(&self) -> [u64; COUNTER_NAMES.len()] {
                [$(self.$name,)+]
            }

            /// The counters of these values.
            pub(crate) fn of(values: [u64; COUNTER_NAMES.len()]) -> Self {
                let [$($name,)+] = values;
                Self { $($name,)+ }
            }
        }
    };
}

counters! {
    /// Pages that the host read, in whole or in part.
    host_pages_read,
    /// Pages that the host wrote, in whole or in part.
    host_pages_written,
    /// Bytes that the host wrote.
    host_bytes_written,
    /// Array reads, for whatever reason.
    flash_pages_read,
    /// Programs, for whatever reason.
    flash_pages_programmed,
    /// Bytes of these: write amplification is what they are over the bytes that the host wrote.
    flash_bytes_programmed,
    /// Blocks erased, for whatever reason.
    blocks_erased,
    /// Valid pages copied to make room, by collections and merges.
    gc_pages_moved,
    /// Mapped pages that the host discarded.
    trimmed_pages,
    /// Valid pages copied to level wear.
    levelling_pages_moved,
    /// Blocks collected while the drive was idle.
    idle_collections,
    /// Reads of pages of a map on flash.
    map_pages_read,
    /// Programs of pages of a map on flash.
    map_pages_programmed,
    /// Log blocks that became data blocks as they were.
    switch_merges,
    /// Log blocks that became data blocks after the rest was copied to them.
    partial_merges,
    /// Data blocks built anew from a data block and log blocks, or from a block and an overwrite of it.
    full_merges,
    /// Bytes of pages that the host wrote to a controller that compresses or finds duplicates.
    packing_bytes_in,
    /// Bytes that were stored of them, after compression and without duplicates.
    packing_bytes_stored,
    /// Pages that the host wrote whose content was stored already.
    duplicate_pages_found,
    /// Programs with one bit in a cell, of pages of the host.
    slc_pages_programmed,
    /// Valid pages copied from there to cells of all bits.
    slc_pages_folded,
    /// Times that a page of the host was read again because it could not be corrected.
    read_retries,
    /// Pages of the host that could not be read.
    reads_uncorrectable,
    /// Pages that the host read from the write buffer.
    buffer_pages_read,
    /// Pages that the host wrote over one in the write buffer, without a program of their own.
    buffer_pages_combined,
    /// Flushes.
    flushes,
    /// Erases and programs that were interrupted for reads.
    suspensions,
    /// Nanoseconds that commands waited for a place in the queue and for the controller, summed over commands.
    queue_wait_ns,
    /// Nanoseconds from there to completion, summed over commands.
    service_ns,
}

/// Names of the gauges.
pub(crate) const GAUGE_NAMES: &[&str] = &[
    "free_blocks",
    "free_blocks_least",
    "mapped_pages",
    "replaced_blocks",
    "erase_count_least",
    "erase_count_most",
    "wear_indicator_percent",
    "slc_free_pages",
    "dirty_bytes",
];

/// The names of the counters and, behind them, of the gauges.
pub(crate) const SERIES_NAMES: [&str; COUNTER_NAMES.len() + GAUGE_NAMES.len()] = {
    let mut names = [""; COUNTER_NAMES.len() + GAUGE_NAMES.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] =
            if index < COUNTER_NAMES.len() { COUNTER_NAMES[index] } else { GAUGE_NAMES[index - COUNTER_NAMES.len()] };
        index += 1;
    }
    names
};
