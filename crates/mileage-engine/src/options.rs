//! Options of a run: how it accesses its target, such as the I/O API, direct I/O and registered buffers.

use crate::identity::Identity;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Options for access to the target. As JSON every field is optional and defaults to that of [`Options::new`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is one independent flag of open(2) or of the run")]
pub struct Options {
    /// A regular file or a block device. With a file for each thread (`files`), thread N works on `PATH.N`, N from 0.
    /// The API `null` opens nothing: its path need not exist.
    pub path: PathBuf,
    /// Past the page cache (`O_DIRECT`). Refused where the target cannot, or not with these sizes.
    pub direct: bool,
    /// A missing file is created; writing may extend a file that ends before the span, if the workload only writes.
    /// Nothing is ever truncated.
    pub create: bool,
    /// Also return the kernel's account of each thread.
    pub audit: bool,
    /// The calls by which bytes are moved.
    pub api: Api,
    /// Every write is durable when it completes (`O_DSYNC`).
    pub dsync: bool,
    /// Processors that the threads are bound to, dealt out in turn; empty for the scheduler's choice.
    pub pin_cpus: Vec<u32>,
    /// An operation that has not completed after this long ends the run as failed, in nanoseconds; 0 for never.
    pub timeout_ns: u64,
    /// Every operation that counts is written to this file, which must not exist yet: CSV with start, due, end, thread,
    /// kind, offset and length, by a thread of its own. Where that cannot keep up, the record says how many are missing.
    pub log: Option<PathBuf>,
    /// Length of the series' first intervals, in nanoseconds, 10 ms to an hour; 0 for 10 ms. It doubles whenever the run
    /// outlasts 512 of them.
    pub interval_ns: u64,
    /// After each read, one byte per `touch_bytes` of the buffer is changed, beginning with the first, before the
    /// read counts as complete: as hdparm makes sure that the data have arrived. In bytes, up to the record; 0 for none.
    /// Refused with `uring`, where more than one read is on its way, without reads, and where reads are compared.
    pub touch_bytes: u32,
    /// Each time a thread has moved this many bytes, the target is dropped from the page cache before its next call; in
    /// bytes, 0 for never. With the span: before each pass but the first. For `positioned`, `seek`, `vectored` and `uring`.
    pub drop_cache_every_bytes: u64,
    /// Latencies of all but syncs also in two parts: until the return of the call that handed the operation to the kernel,
    /// and from there to its completion. Where one call does both, the second is the time of another reading of the clock.
    pub split_latency: bool,
    /// The order in which the kernel is to expect reads through the page cache: it reads ahead accordingly.
    pub advice: Advice,
    /// Expected identity of the target, or with a file for each thread those of `PATH.0`, `PATH.1` and so on. Symbolic
    /// links are not followed then. Empty: any target is accepted.
    pub expects: Vec<Identity>,
    /// Expected identity of the directory of the file; the file is opened, or created, by its name in it. A symbolic
    /// link is not followed then, and a file that has other names is refused.
    pub directory: Option<Identity>,
}

/// Advice to the kernel on the order of reads, `posix_fadvise(2)` and for a mapping also `madvise(2)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Advice {
    /// None is given: the kernel finds out.
    #[default]
    None,
    /// In order: the kernel reads ahead twice as far.
    Sequential,
    /// At random: the kernel reads nothing ahead.
    Random,
}

/// The calls by which bytes are moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Api {
    /// `pread`, `pwrite`.
    #[default]
    Positioned,
    /// `lseek`, then `read` or `write`, as IOzone does.
    Seek,
    /// `preadv`, `pwritev` with the record cut into `parts`.
    Vectored {
        /// Buffers of a call, 1 to 1024.
        parts: u32,
    },
    /// The file mapped into memory; a sync is `msync`.
    Mmap,
    /// C streams: `fread`, `fwrite` with a buffer of this size.
    Stdio {
        /// Size of the stream's buffer in bytes; 0 for the record.
        buffer_bytes: u32,
    },
    /// `io_uring`.
    Uring {
        /// Registered files and buffers.
        registered: bool,
        /// Operations submitted with one call at most, and completions waited for; 0 for the engine's choice.
        batch: u32,
        /// A kernel thread submits.
        sqpoll: bool,
        /// Completions are polled for.
        iopoll: bool,
    },
    /// No system call: measures the engine's own cost.
    Null,
}

impl Options {
    /// The page cache, an existing target, no audit.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), ..Self::default() }
    }
}
