//! Errors of the engine: runs that were refused, and runs whose results are invalid.

use crate::errno;
use mileage_units::format_bytes;
use rustix::io::Errno;
use std::any::Any;
use std::path::{Path, PathBuf};

/// A run that did not take place, or of which nothing may be reported. An input or output error during a run is
/// neither: it stands in the record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The workload itself is not valid.
    #[error(transparent)]
    Workload(#[from] mileage_workload::Error),
    /// More than one operation outstanding per thread.
    #[error(
        "depth is {found}: {api} keeps one operation per thread outstanding; use threads = {found}, or the API uring"
    )]
    Depth {
        /// Requested value.
        found: u32,
        /// The API.
        api: &'static str,
    },
    /// An option that the API cannot honour.
    #[error("{what} is {found}: not with the API {api}, {because}")]
    Api {
        /// The API.
        api: &'static str,
        /// Name of the option or field.
        what: &'static str,
        /// Given value.
        found: String,
        /// Reason, and the remedy.
        because: &'static str,
    },
    /// A processor that the threads may not run on.
    #[error("pin_cpus names processor {found}: this process may run on {allowed}")]
    Processor {
        /// Requested value.
        found: u32,
        /// The processors that are allowed.
        allowed: String,
    },
    /// A NUMA node that the machine does not have.
    #[error("NUMA node {node} has no processors here: {reason}")]
    NoNode {
        /// Requested node.
        node: u32,
        /// Answer of the machine.
        reason: String,
    },
    /// The start barrier of several processes.
    #[error("cannot {what} the start barrier {} of several processes: {reason}", path.display())]
    StartBarrier {
        /// Attempted action.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Reason why it is impossible.
        reason: String,
    },
    /// A part of a run that is none.
    #[error("threads {first_thread} and on, {threads} of them, are no share of a run of {of} threads: {reason}")]
    Share {
        /// Its first thread.
        first_thread: u32,
        /// Number of threads of the share.
        threads: u32,
        /// Threads of the run.
        of: u32,
        /// Description of the fault.
        reason: String,
    },
    /// A file for each thread, on a device.
    #[error("files is per_thread: {} is one block device; use a directory's file, or files = \"shared\"", path.display())]
    DeviceForEach {
        /// The target.
        path: PathBuf,
    },
    /// The target could not be opened or examined.
    #[error("cannot {what} {}: {reason} ({kind}){advice}", path.display())]
    Target {
        /// Attempted action.
        what: &'static str,
        /// The target.
        path: PathBuf,
        /// The operating system's name for the error, such as `ENOENT`.
        kind: String,
        /// The operating system's sentence.
        reason: String,
        /// Remedy, with its own separator; may be empty.
        advice: &'static str,
    },
    /// The target, or its directory, is another one than it was when it was checked.
    #[error(
        "{} was replaced: found {found}, expected the {expected} that was checked; it is not used any more. Put back \
         what was there and resume, or start a new study",
        path.display()
    )]
    Replaced {
        /// The target.
        path: PathBuf,
        /// Kind of the object that is there now.
        found: &'static str,
        /// Kind of the object that was there.
        expected: &'static str,
    },
    /// Neither a regular file nor a block device.
    #[error("{} is {found}: expected a regular file or a block device", path.display())]
    NotStorage {
        /// The target.
        path: PathBuf,
        /// Kind of the object.
        found: &'static str,
    },
    /// The span ends beyond the target.
    #[error(
        "{} has {found} bytes ({}), the workload's span ends at {needed} bytes ({}): lay the file out first, or choose a smaller span",
        path.display(), format_bytes(*.found), format_bytes(*.needed)
    )]
    TooSmall {
        /// The target.
        path: PathBuf,
        /// Its size in bytes.
        found: u64,
        /// End of the span in bytes.
        needed: u64,
    },
    /// The file system does not do direct I/O.
    #[error("{} does not support O_DIRECT: choose another target, or cache = \"cold\"", path.display())]
    NoDirect {
        /// The target.
        path: PathBuf,
    },
    /// The kernel's `io_uring` does not do this, or not on this target.
    #[error("{what} for {}: {reason}", path.display())]
    NoUring {
        /// Impossible action: `io_uring` itself or one of its settings.
        what: &'static str,
        /// The target.
        path: PathBuf,
        /// Finding, and the remedy.
        reason: String,
    },
    /// Direct I/O cannot carry these sizes.
    #[error("{what} is {found} bytes, O_DIRECT on {} needs a multiple of {of} bytes", path.display())]
    Misaligned {
        /// Name of the field.
        what: &'static str,
        /// Given value in bytes.
        found: u64,
        /// The target's alignment in bytes.
        of: u64,
        /// The target.
        path: PathBuf,
    },
    /// The kernel keeps no account per thread.
    #[error("audit: cannot read /proc/thread-self/io ({kind}); the kernel needs CONFIG_TASK_IO_ACCOUNTING")]
    NoAudit {
        /// The operating system's name for the error.
        kind: String,
    },
    /// No memory for a buffer.
    #[error("no memory for a buffer of {bytes} bytes ({}): fewer threads or a smaller record need less", format_bytes(*.bytes))]
    NoMemory {
        /// Size of the buffer.
        bytes: u64,
    },
    /// A thread could not be started.
    #[error("thread {thread} of {threads} could not be started: {reason}")]
    NoThread {
        /// Number of the thread.
        thread: u32,
        /// Number of all threads.
        threads: u32,
        /// The operating system's sentence.
        reason: String,
    },
    /// A worker broke; nothing of its run is reported.
    #[error("the run is void: thread {thread} stopped on a programming error: {reason}")]
    Broken {
        /// Number of the thread.
        thread: u32,
        /// Message of the panic.
        reason: String,
    },
    /// Something broke before or after the timed part; nothing of the run is reported.
    #[error("the run is void: reaching the target stopped on a programming error: {reason}")]
    BrokenOutside {
        /// Message of the panic.
        reason: String,
    },
}

impl Error {
    /// Whether the run was refused before it began; otherwise it failed and is void.
    pub fn is_refusal(&self) -> bool {
        !matches!(
            self,
            Self::Replaced { .. }
                | Self::NoMemory { .. }
                | Self::NoThread { .. }
                | Self::Broken { .. }
                | Self::BrokenOutside { .. }
        )
    }
}

/// The error of a call on a target: what was tried, on which path, and what the kernel answered.
pub(crate) fn failed<'a>(what: &'static str, path: &'a Path) -> impl Fn(Errno) -> Error + 'a {
    move |error| Error::Target {
        what,
        path: path.to_owned(),
        kind: errno::name(error),
        reason: errno::sentence(error),
        advice: match error {
            Errno::NOENT => ": lay the file out first, or let the run create it",
            Errno::BUSY => ": it is mounted, or held by swap, md, dm or another program",
            Errno::ACCESS | Errno::PERM => ": run as a user who may open it",
            Errno::OPNOTSUPP => {
                ": the file system or device does not do it; choose another target or leave discards out"
            }
            Errno::MFILE => ": each thread opens the target for itself; raise `ulimit -n`",
            _ => "",
        },
    }
}

/// Message of a panic.
pub(crate) fn words_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("it gave no reason").to_owned()
}
