//! The run record: all results of one run, as it is written to the journal.

use crate::{CommitTimes, Histogram, HistogramData, SeriesData};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

stored! {
    /// Latencies of one run, from submission to completion.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct LatencyData {
        /// Latencies of reads.
        pub read: HistogramData,
        /// Latencies of writes; syncs are not among them.
        pub write: HistogramData,
        /// Latencies of syncs, the final one included.
        #[serde(default)]
        pub sync: HistogramData,
        /// Latencies of discards.
        #[serde(default)]
        pub discard: HistogramData,
        /// Latencies of metadata operations (create, stat, unlink, ...).
        #[serde(default)]
        pub metadata: HistogramData,
        /// Latencies of reads and writes from their intended start, waiting included; empty in the closed loop.
        #[serde(default)]
        pub response: HistogramData,
        /// Latencies of commits: from the start of the first write that no sync covered yet to the return of the sync that
        /// covers it. Where each write is durable by itself, those of writes. Only where a workload syncs between writes.
        #[serde(default)]
        pub commit: HistogramData,
        /// Latencies of writes from their start to the return of the sync that covers them; likewise.
        #[serde(default)]
        pub durable_write: HistogramData,
        /// Syncs that failed or were given up after a time-out: what they had taken by then. In no other histogram.
        #[serde(default)]
        pub unfinished_sync: HistogramData,
        /// Commits whose sync, or whose durable write, failed or was given up; likewise.
        #[serde(default)]
        pub unfinished_commit: HistogramData,
    }
}

impl LatencyData {
    /// The histograms of kinds of operations, by the names that the members have.
    ///
    /// # Panics
    /// On a kind that has no member here.
    pub fn of(kinds: impl IntoIterator<Item = (&'static str, HistogramData)>) -> Self {
        let mut found = Self::default();
        for (kind, histogram) in kinds {
            let member = match kind {
                "read" => &mut found.read,
                "write" => &mut found.write,
                "sync" => &mut found.sync,
                "discard" => &mut found.discard,
                "metadata" => &mut found.metadata,
                _ => panic!("the run record has no latencies of the kind {kind:?}"),
            };
            *member = histogram;
        }
        found
    }

    /// These latencies with the commits and durable writes of all threads; without the latter where a thread lacks some.
    #[must_use]
    pub fn with_commits<'a>(mut self, timed: impl IntoIterator<Item = &'a CommitTimes>) -> Self {
        let (mut commit, mut durable_write) = (Histogram::default(), Some(Histogram::default()));
        let (mut unfinished_sync, mut unfinished_commit) = (Histogram::default(), Histogram::default());
        for times in timed {
            commit.merge(times.commit());
            unfinished_sync.merge(times.unfinished_sync());
            unfinished_commit.merge(times.unfinished_commit());
            durable_write = durable_write.zip(times.durable_write()).map(|(mut all, own)| {
                all.merge(own);
                all
            });
        }
        self.commit = commit.to_data();
        self.unfinished_sync = unfinished_sync.to_data();
        self.unfinished_commit = unfinished_commit.to_data();
        self.durable_write = durable_write.unwrap_or_default().to_data();
        self
    }
}

stored! {
    /// Latencies of one run in their two parts. Syncs are not among them.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct SplitLatencyData {
        /// From submission to the return of the call that handed the operation to the kernel.
        pub submission: LatencyData,
        /// From there to completion.
        pub completion: LatencyData,
    }
}

stored! {
    /// Resources that a run used on its machine.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default)]
    pub struct Usage {
        /// Processor time of the workers in user mode, in nanoseconds.
        pub user_ns: u64,
        /// Processor time of the workers in the kernel, in nanoseconds.
        pub system_ns: u64,
        /// Times a worker gave up the processor because it had to wait.
        pub switches_voluntary: u64,
        /// Times a worker was taken off the processor.
        pub switches_involuntary: u64,
        /// Time spent generating data to write, in nanoseconds. It lies inside the run's time and outside latencies, but for
        /// the filling of a buffer during which an operation of a ring completes.
        pub fill_ns: u64,
        /// Time spent comparing what was read, in nanoseconds; likewise.
        pub verify_ns: u64,
        /// The engine's own cost of one operation on a target that does nothing, in picoseconds.
        pub overhead_ps: u64,
        /// Clock that timed the run: `tsc` or `monotonic_raw`; empty in virtual time.
        pub clock: String,
        /// Nanoseconds that this clock gained on `CLOCK_MONOTONIC_RAW` over the run (negative: lost).
        pub clock_gained_ns: i64,
        /// Processor time of kernel threads that worked for the run (`io_uring` worker threads), in nanoseconds.
        pub kernel_workers_ns: u64,
        /// The device's own counters over the run (`/sys/dev/block/.../stat`), by name; empty where there is no device.
        pub device: BTreeMap<String, u64>,
        /// Limit of the rate: `device`, `cpu`, `rate`, `memory`; empty when not known.
        pub limited_by: String,
    }
}

stored! {
    /// State of the log of single operations.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct LogRecord {
        /// Operations that stand in the log.
        pub written: u64,
        /// Operations that do not, because memory was full or the file could not be written.
        pub lost: u64,
        /// Error when the file was written, in one line; empty if there was none.
        pub failure: String,
    }
}

impl LogRecord {
    /// Warning for readers of the log, in one line; `None` if the log is complete.
    pub fn warning(&self) -> Option<String> {
        let Self { written, lost, failure } = self;
        if !failure.is_empty() {
            return Some(format!("the log of operations is not whole: {failure}"));
        }
        let all = written + lost;
        (*lost > 0).then(|| format!("the log lacks {lost} of {all} operations: its writer could not keep up"))
    }
}

stored! {
    /// A read that returned other data than was written.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Mismatch {
        /// First byte that differs.
        pub offset_bytes: u64,
        /// `flipped`, `stale`, `misplaced`, `torn` or `foreign`.
        pub kind: String,
        /// Message in one line: the expected and the found data.
        pub message: String,
    }
}

stored! {
    /// Compressibility and duplication of the written data, measured on a sample.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct ContentData {
        /// Bytes of the sample that was compressed, taken evenly over the run.
        pub sample_bytes: u64,
        /// Compressed sizes, by the size of the pieces: 4 KiB, and the record, or as much of it as was copied, where that is
        /// longer.
        pub packed: Vec<PackedData>,
        /// Blocks of 4 KiB that were written, those that were written again to their place with the same bytes once; 0 when
        /// records are smaller. Where all writes carry the same bytes, every one of them.
        pub blocks: u64,
        /// Different ones among them: the share of duplicates is 1 - `blocks_distinct` / `blocks`. Both are estimated within
        /// 1 to 2 % where there are more than 8192.
        pub blocks_distinct: u64,
    }
}

stored! {
    /// Bytes that the sample takes when each piece is compressed on its own; the share saved is 1 - bytes / sample.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct PackedData {
        /// Size of a piece in bytes.
        pub piece_bytes: u64,
        /// With zlib at level 1.
        pub zlib_bytes: u64,
        /// With zstd at level 1.
        pub zstd_bytes: u64,
        /// With LZ4.
        pub lz4_bytes: u64,
    }
}

stored! {
    /// Work of all threads up to the end of the first one, as an additional measure of their rate (IOzone's "children
    /// see" and "parent sees").
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Concurrency {
        /// First submission of any thread to the end of the thread that was done first, in nanoseconds.
        pub first_done_ns: u64,
        /// Bytes that all threads had moved by then, each as far as it hears of that end: what completes in the
        /// microseconds before, or while the thread that is done is not scheduled, counts too.
        pub first_done_bytes: u64,
        /// Operations that all threads had completed by then, likewise.
        pub first_done_ops: u64,
    }
}

stored! {
    /// Work of one thread.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct ThreadRecord {
        /// The operating system's thread number; `None` in virtual time.
        pub tid: Option<u32>,
        /// Reads completed.
        pub ops_read: u64,
        /// Writes completed.
        pub ops_written: u64,
        /// Bytes read.
        pub bytes_read: u64,
        /// Bytes written.
        pub bytes_written: u64,
        /// Metadata operations completed.
        #[serde(default)]
        pub ops_metadata: u64,
        /// Read and write system calls made; more than the operations when the kernel transferred less than asked.
        pub calls: u64,
        /// First submission to last completion of this thread, in nanoseconds.
        #[serde(default)]
        pub elapsed_ns: u64,
        /// Bytes that this thread had moved when the first thread was done; `None` if it was done itself by then.
        #[serde(default)]
        pub first_done_bytes: Option<u64>,
        /// Operations that it had completed by then; `None` likewise.
        #[serde(default)]
        pub first_done_ops: Option<u64>,
        /// Compute cycles between its operations (IOzone's `-J`), in `elapsed_ns` and in no latency.
        #[serde(default)]
        pub computed_ns: u64,
        /// Those by the time when the first thread was done; `None` likewise.
        #[serde(default)]
        pub first_done_computed_ns: Option<u64>,
    }
}

stored! {
    /// Error that ended a run before its stop rule.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct RunError {
        /// The operating system's name for it, such as `ENOSPC`.
        pub kind: String,
        /// Message in one line: the failed action, its position, and the remedy.
        pub message: String,
    }
}

stored! {
    /// Record of one execution of one workload.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct RunRecord {
        /// Bytes read.
        pub bytes_read: u64,
        /// Bytes written.
        pub bytes_written: u64,
        /// Reads completed.
        pub ops_read: u64,
        /// Writes completed.
        pub ops_written: u64,
        /// Discards completed.
        #[serde(default)]
        pub ops_discarded: u64,
        /// Bytes discarded.
        #[serde(default)]
        pub bytes_discarded: u64,
        /// Metadata operations completed.
        #[serde(default)]
        pub ops_metadata: u64,
        /// First submission to last completion without the final sync, in nanoseconds.
        pub submit_ns: u64,
        /// First submission to the end of the final sync, in nanoseconds; equal to `submit_ns` without one.
        pub durable_ns: u64,
        /// The denominator of every rate: `durable_ns` if the workload times its sync, else `submit_ns`.
        pub elapsed_ns: u64,
        /// Latency histograms.
        pub latency: LatencyData,
        /// Latencies in their parts; `None` unless the options ask for them.
        #[serde(default)]
        pub split_latency: Option<SplitLatencyData>,
        /// Rate, latency and counters over time.
        pub series: SeriesData,
        /// Rate and latency over time of the warm-up, from its first submission: what began in it and is nowhere else in
        /// the record. `None` without a warm-up.
        #[serde(default)]
        pub warm_up: Option<SeriesData>,
        /// Commits over time, as operations without bytes; `None` where none were timed.
        #[serde(default)]
        pub commits: Option<SeriesData>,
        /// Change of each counter over the run; counters explain the result.
        pub counters: BTreeMap<String, u64>,
        /// Work of each thread.
        pub threads: Vec<ThreadRecord>,
        /// Resources that the run used on the machine.
        #[serde(default)]
        pub usage: Usage,
        /// Work of all threads up to the end of the first one; `None` with one thread.
        #[serde(default)]
        pub concurrency: Option<Concurrency>,
        /// Compressibility and duplication of the written data; `None` when nothing was written.
        #[serde(default)]
        pub content: Option<ContentData>,
        /// Reads that were compared with what was written.
        #[serde(default)]
        pub ops_compared: u64,
        /// Number of them that did not return the expected data.
        #[serde(default)]
        pub ops_mismatched: u64,
        /// Descriptions of the first 100 mismatches.
        #[serde(default)]
        pub mismatches: Vec<Mismatch>,
        /// State of the log of single operations; `None` when none was requested.
        #[serde(default)]
        pub log: Option<LogRecord>,
        /// Notes that a reader of the run's figures needs, one line each: the log lacks operations, a thread had
        /// to be abandoned, the clock drifted.
        #[serde(default)]
        pub notes: Vec<String>,
        /// Set when the run failed; what was done before stands above.
        pub error: Option<RunError>,
        /// Set when the user interrupted the run.
        pub interrupted: bool,
    }
}

impl RunRecord {
    /// Operations that completed and count: reads, writes, discards, metadata operations and syncs.
    pub fn operations(&self) -> u64 {
        let moved = self.ops_read + self.ops_written + self.ops_discarded;
        moved + self.ops_metadata + self.latency.sync.count
    }
}
