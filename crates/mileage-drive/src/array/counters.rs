//! What an array counts, and the names of its counters: its own, then those of each member with its name before them.

use crate::counter_name_lists::joined;

/// Declares the counters in their order.
macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal),+ $(,)?) => {
        /// A counter of the array itself.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Count { $($(#[doc = $doc])+ $name),+ }

        pub(crate) const COUNTERS: &[&str] = &[$($text),+];
    };
}

counters! {
    /// Read commands of the host.
    CommandsRead = "array_commands_read",
    /// Write commands of the host.
    CommandsWritten = "array_commands_written",
    /// Bytes that host commands read.
    BytesRead = "array_bytes_read",
    /// Bytes that host commands wrote.
    BytesWritten = "array_bytes_written",
    /// Reads of members, for whatever reason.
    MemberReads = "member_reads",
    /// Writes to members, for whatever reason.
    MemberWrites = "member_writes",
    /// Bytes read from members.
    MemberBytesRead = "member_bytes_read",
    /// Bytes written to members.
    MemberBytesWritten = "member_bytes_written",
    /// Writes of rows that replaced all of the hull and read nothing.
    FullStripe = "full_stripe_writes",
    /// Writes of rows that read what they replaced, and the parity.
    ReadModifyWrite = "read_modify_writes",
    /// Writes of rows that read the rest of the row.
    Reconstruct = "reconstruct_writes",
    /// Writes of rows that had to read all that is left.
    Recover = "degraded_writes",
    /// Writes joined with another one of the same row.
    Joined = "coalesced_writes",
    /// Reads of what a missing member held.
    Recovered = "degraded_reads",
    /// Reads answered by the cache.
    CacheHits = "cache_read_hits",
    /// Writes taken by the write-back cache.
    CacheWrites = "cache_writes",
    /// Writes that waited for room in the cache.
    CacheWaits = "cache_full_waits",
    /// Destages.
    Destages = "destages",
    /// Bytes destaged.
    DestagedBytes = "destaged_bytes",
    /// Members that did not answer in time.
    TimedOut = "members_timed_out",
    /// Members that failed.
    Failed = "members_failed",
    /// Reads that a member could not correct, answered by the others.
    ReadErrors = "member_read_errors",
    /// Rebuilds begun on a spare.
    Rebuilds = "rebuilds_started",
    /// Rebuilds completed.
    Rebuilt = "rebuilds_completed",
    /// Bytes written to spares by rebuilds.
    RebuiltBytes = "rebuild_bytes",
    /// Rows whose copies or parity were made equal after a power cut.
    Resynchronized = "resynchronized_rows",
}

pub(crate) const GAUGES: &[&str] = &[
    "members_working",
    "spares_left",
    "rebuild_remaining_bytes",
    "cache_dirty_bytes",
    "member_requests_outstanding",
    "array_lost",
];

/// Which of them is the number of requests to members.
pub(crate) const REQUESTS_GAUGE: usize = 4;

/// Names with that of a member before them.
pub(crate) fn of_member(member: &str, names: &'static [&'static str]) -> &'static [&'static str] {
    let names: Vec<&'static str> = names.iter().map(|name| interned(&format!("{member}.{name}"))).collect();
    joined(&[&names])
}

/// A name that lives as long as the program, made once.
fn interned(name: &str) -> &'static str {
    use std::collections::HashSet;
    use std::sync::{Mutex, OnceLock, PoisonError};
    static NAMES: OnceLock<Mutex<HashSet<&'static str>>> = OnceLock::new();
    let mut names = NAMES.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let name: &'static str = name.to_owned().leak();
    names.insert(name);
    name
}
