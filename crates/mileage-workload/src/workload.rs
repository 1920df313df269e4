//! The [`Workload`]: a full description of the I/O of a run, and the rules for a valid one.

use crate::content::Content;
use crate::error::{Error, in_range};
use crate::load_model::Load;
use crate::pattern::PatternKind;
use serde::{Deserialize, Serialize};

/// How a thread makes its writes durable: after its last operation, and between writes as [`Workload::sync_every`]
/// says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sync {
    /// Not at all.
    None,
    /// Data and all metadata.
    Fsync,
    /// Data and the metadata needed to read it back.
    Fdatasync,
    /// By force unit access (FUA): each write completes when it is durable, and nothing is synced. For a virtual drive; a
    /// real target is opened for it (`O_DSYNC`).
    Fua,
}

impl Sync {
    /// Whether the workload has sync operations.
    pub(crate) fn is_a_call(self) -> bool {
        matches!(self, Self::Fsync | Self::Fdatasync)
    }
}

/// Whether all threads work on one file or each on its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Files {
    /// One file (or device) for all; patterns that visit each record once divide the span among the threads.
    #[default]
    Shared,
    /// A file for each thread; each has the whole span in its own.
    PerThread,
}

/// Share of the reads that is compared with the written data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verify {
    /// None.
    #[default]
    Off,
    /// One read in `one_in`, drawn by seed; 2 or more.
    Sampled {
        /// Reads for each one that is compared.
        one_in: u32,
    },
    /// Every read.
    All,
}

/// When a run ends: at the first limit reached; a trace ends by itself too. Bytes and operations are totals over all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// Bytes moved; a multiple of the record. Where operations differ in size, a thread ends with the one that reaches
    /// its share.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// Operations issued.
    #[serde(default)]
    pub operations: Option<u64>,
    /// Time since the thread began (since the end of the warm-up, if there is one), in nanoseconds.
    #[serde(default)]
    pub time_ns: Option<u64>,
}

/// Description of the I/O of a run. Valid once [`Workload::check`] has passed; everything that takes one checks it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Order of the offsets.
    pub pattern: PatternKind,
    /// Share of operations that read, 0 to 100 percent of those that do not discard; the others write. Drawn per
    /// operation, seeded.
    pub read_percent: u8,
    /// Size of every operation in bytes (of the largest, where they differ), 1 to 1 GiB. A device, and direct access, need
    /// multiples of a sector.
    pub record_bytes: u32,
    /// First byte of the span; a multiple of a sector on a device.
    pub span_start_bytes: u64,
    /// Length of the span, a multiple of the record (any where operations differ in size): at most 2^40 records, and at least one, for each thread if the pattern divides the span among them.
    pub span_bytes: u64,
    /// Operations outstanding per thread, 1 to 4096, held constant (closed loop).
    pub depth: u32,
    /// Threads, 1 to 1024.
    pub threads: u32,
    /// When to stop; at least one limit, unless the pattern is a trace.
    pub stop: Stop,
    /// Source of every random choice.
    pub seed: u64,
    /// Content of writes.
    pub content: Content,
    /// How writes are made durable at the end.
    pub sync: Sync,
    /// Whether the final sync counts in the run's time.
    pub sync_timed: bool,
    /// Writes of a thread after which it syncs, besides the final sync, which follows if anything was changed since; 0
    /// for the final one only.
    #[serde(default)]
    pub sync_every: u64,
    /// Whether there is a final sync; without one `sync_every` is what remains, and nothing after it is timed.
    #[serde(default = "yes")]
    pub sync_last: bool,
    /// Share of operations that discard (TRIM, punch a hole), 0 to 100 percent, taken before the read share is drawn.
    #[serde(default)]
    pub discard_percent: u8,
    /// One file, or one for each thread.
    #[serde(default)]
    pub files: Files,
    /// When operations start: as soon as one completes (the default), or by a clock.
    #[serde(default)]
    pub load: Load,
    /// Share of the reads that is compared with the written data.
    #[serde(default)]
    pub verify: Verify,
    /// Number of this writing of the target, part of every block's content: what is read back shows which pass it
    /// is from.
    #[serde(default)]
    pub generation: u32,
}

const fn yes() -> bool {
    true
}

impl Default for Workload {
    /// Sequential 4 KiB reads, one at a time, on one thread; span and stop rule are still to be given.
    fn default() -> Self {
        Self {
            pattern: PatternKind::Sequential,
            read_percent: 100,
            record_bytes: 4096,
            span_start_bytes: 0,
            span_bytes: 0,
            depth: 1,
            threads: 1,
            stop: Stop::default(),
            seed: 0,
            content: Content::Incompressible,
            sync: Sync::None,
            sync_timed: false,
            sync_every: 0,
            sync_last: true,
            discard_percent: 0,
            files: Files::Shared,
            load: Load::default(),
            verify: Verify::Off,
            generation: 0,
        }
    }
}

impl Workload {
    /// What direct access needs at the least, in bytes; and the largest unit of operations that differ in size.
    pub const SECTOR_BYTES: u32 = 512;
    /// Largest record, in bytes.
    pub const RECORD_BYTES_MAX: u32 = 1 << 30;
    /// Most operations outstanding per thread.
    pub const DEPTH_MAX: u32 = 4096;
    /// Most threads.
    pub const THREADS_MAX: u32 = 1024;

    /// Check that the workload can be done at all.
    ///
    /// # Errors
    /// The first rule it breaks.
    pub fn check(&self) -> Result<(), Error> {
        let record = u64::from(self.record_bytes);
        in_range("record_bytes", record, 1, u64::from(Self::RECORD_BYTES_MAX))?;
        in_range("read_percent", u64::from(self.read_percent), 0, 100)?;
        in_range("depth", u64::from(self.depth), 1, u64::from(Self::DEPTH_MAX))?;
        in_range("threads", u64::from(self.threads), 1, u64::from(Self::THREADS_MAX))?;
        self.check_span()?;
        if let Some(operations) = self.stop.operations {
            let what = "stop.operations, one for each thread at least,";
            in_range(what, operations, u64::from(self.threads), u64::MAX)?;
        }
        if let Some(time_ns) = self.stop.time_ns {
            in_range("stop.time_ns", time_ns, 1, u64::MAX / 2)?;
        }
        if self.stop == Stop::default() && !matches!(self.pattern, PatternKind::Trace { .. }) {
            return Err(Error::Endless);
        }
        self.load.check()?;
        self.check_content()?;
        in_range("discard_percent", u64::from(self.discard_percent), 0, 100)?;
        if self.sync_every > 0 && !self.sync.is_a_call() {
            return Err(Error::Refused {
                what: "sync_every",
                found: self.sync_every.to_string(),
                expected: "without a sync at the end there is none between writes either: choose sync fsync or fdatasync",
            });
        }
        if !self.sync_last && (self.sync_timed || self.sync_every == 0) {
            return Err(Error::Refused {
                what: "sync_last",
                found: "false".to_owned(),
                expected: "without a final sync there is none to time, and syncs between writes are needed: sync_every",
            });
        }
        self.check_pattern()
    }

    /// Records in the span.
    pub fn records(&self) -> u64 {
        self.span_bytes / u64::from(self.record_bytes)
    }

    /// First record and number of records of a thread's share of the span, for a pattern that divides it.
    pub(crate) fn share_of(&self, thread: u32) -> (u64, u64) {
        match self.files {
            Files::Shared => share(self.records(), thread, self.threads),
            Files::PerThread => (0, self.records()),
        }
    }
}

/// Start and length of one thread's share of `total` things.
pub(crate) fn share(total: u64, thread: u32, threads: u32) -> (u64, u64) {
    let (thread, threads) = (u64::from(thread), u64::from(threads));
    let (each, rest) = (total / threads, total % threads);
    (thread * each + thread.min(rest), each + u64::from(thread < rest))
}
