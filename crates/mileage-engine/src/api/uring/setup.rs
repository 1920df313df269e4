//! Create `io_uring` rings; refuse settings that the kernel or the target does not support.

use super::slots::slots_of;
use crate::errno;
use crate::error::Error;
use crate::options::{Api, Options};
use io_uring::squeue::Entry;
use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode};
use mileage_units::format_bytes;
use mileage_workload::Workload;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use std::path::Path;
use std::time::{Duration, Instant};

/// `BLOCK_URING_CMD_DISCARD` of `linux/blkdev.h`, since Linux 6.12.
pub(super) const BLOCK_DISCARD: u32 = 0x1200;
/// Time that the submitting kernel thread spins before it sleeps, in milliseconds.
const SQPOLL_IDLE_MS: u32 = 1000;
/// Time-out of a trial operation.
const TRIAL_WAIT: Duration = Duration::from_secs(5);

/// The flags of a ring that one thread uses alone, as the log names them.
const ISSUER_FLAGS: &str = "single_issuer defer_taskrun taskrun_flag";

/// Settings of a ring: depth, polling, registered buffers and others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) registered: bool,
    /// Operations submitted with one call at most, and completions waited for; 0 for the loop's own rule.
    pub(crate) batch: u32,
    pub(crate) sqpoll: bool,
    pub(crate) iopoll: bool,
}

impl Settings {
    /// What the options ask for, if they ask for a ring.
    pub(crate) fn of(options: &Options) -> Option<Self> {
        match options.api {
            Api::Uring { registered, batch, sqpoll, iopoll } => Some(Self { registered, batch, sqpoll, iopoll }),
            _ => None,
        }
    }
}

/// Make a ring with an entry for each of `depth` operations. Where the kernel has it, only the calling thread may
/// submit and completions are processed only when it asks for them, which spares interrupts.
pub(super) fn build(settings: Settings, depth: u32, path: &Path) -> Result<IoUring, Error> {
    let mut builder = IoUring::builder();
    builder.dontfork();
    if settings.iopoll {
        builder.setup_iopoll();
    }
    let plain = builder.clone();
    if settings.sqpoll {
        builder.setup_sqpoll(SQPOLL_IDLE_MS);
    } else {
        builder.setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag();
    }
    // A kernel thread that submits gives entries back in batches, later than their operations complete.
    let entries = if settings.sqpoll { 2 * depth } else { depth };
    let mut built = builder.build(entries);
    if built.as_ref().is_err_and(|error| error.raw_os_error() == Some(libc::EINVAL)) && !settings.sqpoll {
        // Kernels before 6.1 do not know these flags.
        tracing::info!(?path, refused = ISSUER_FLAGS, reason = "EINVAL", "ring: fall back to a ring without flags");
        built = plain.build(entries);
    }
    if let Err(error) = &built {
        tracing::info!(?path, entries, ?settings, %error, "ring: refused");
    }
    let ring = built.map_err(|error| refused(&error, settings, path))?;
    if ring.params().is_feature_ext_arg() && ring.params().is_feature_nodrop() {
        Ok(ring)
    } else {
        Err(Error::NoUring {
            what: "io_uring",
            path: path.to_owned(),
            reason: "this kernel's is too old (Linux 5.11 or later is needed)".to_owned(),
        })
    }
}

/// Log a ring that is ready: what was asked for and what the kernel granted.
pub(super) fn log(ring: &IoUring, settings: Settings, depth: u32, buffers: &[libc::iovec], path: &Path) {
    let kernel = ring.params();
    let words = |flags: [(bool, &'static str); 3]| {
        flags.into_iter().filter_map(|(set, word)| set.then_some(word)).collect::<Vec<_>>().join(" ")
    };
    tracing::info!(
        ?path,
        depth,
        submission_entries = kernel.sq_entries(),
        completion_entries = kernel.cq_entries(),
        asked = words([(settings.iopoll, "iopoll"), (settings.sqpoll, "sqpoll"), (!settings.sqpoll, ISSUER_FLAGS)]),
        granted = words([
            (kernel.is_setup_iopoll(), "iopoll"),
            (kernel.is_setup_sqpoll(), "sqpoll"),
            // One of the three is enough, because they are granted together or not at all.
            (kernel.is_setup_single_issuer(), ISSUER_FLAGS),
        ]),
        registered_files = u32::from(settings.registered),
        registered_buffers = if settings.registered { buffers.len() } else { 0 },
        buffer_bytes = buffers.first().map_or(0, |buffer| buffer.iov_len),
        "ring: set up"
    );
}

/// Register the file and the buffers.
pub(super) fn register(ring: &IoUring, file: &OwnedFd, buffers: &[libc::iovec], path: &Path) -> Result<(), Error> {
    let refuse = |what, advice| {
        move |error: std::io::Error| Error::NoUring {
            what,
            path: path.to_owned(),
            reason: format!("{}{advice}", in_words(&error)),
        }
    };
    ring.submitter().register_files(&[file.as_raw_fd()]).map_err(refuse("a registered file", ""))?;
    let advice = "; a smaller depth or record, a higher `ulimit -l`, or registered = false";
    // SAFETY: the vectors are the slots of the ring that this one becomes part of, mapped for as long as it exists.
    let registered = unsafe { ring.submitter().register_buffers(buffers) };
    registered.map_err(refuse("registered buffers", advice))
}

/// Refuse what a ring cannot do for this workload on this target, before anything is done.
pub(crate) fn check(settings: Settings, workload: &Workload, options: &Options, file: &OwnedFd) -> Result<(), Error> {
    let path = options.path.as_path();
    let refuse = |what, reason: &str| Err(Error::NoUring { what, path: path.to_owned(), reason: reason.to_owned() });
    if settings.batch > workload.depth {
        let Workload { depth, .. } = workload;
        return refuse(
            "batch",
            &format!("{} operations cannot be submitted together at depth {depth}", settings.batch),
        );
    }
    check_memory(workload, options.direct, path)?;
    let ring = build(settings, workload.depth, path)?;
    if settings.iopoll {
        if !options.direct {
            return refuse("iopoll", "completions can be polled for with direct I/O only; use direct");
        }
        if workload.discards() {
            return refuse("iopoll", "a ring that polls cannot discard");
        }
        check_polling(ring, path)
    } else if workload.discards() && is_block_device(file) {
        check_discard(ring, file, path)
    } else {
        Ok(())
    }
}

/// Check that there is enough memory for the buffers, because the kernel would end other programs otherwise.
fn check_memory(workload: &Workload, direct: bool, path: &Path) -> Result<(), Error> {
    let operations = u64::from(workload.threads) * u64::from(workload.depth);
    let slots = u64::from(workload.threads) * u64::from(slots_of(workload, direct));
    let needed = slots * u64::from(workload.length_bytes_max()).next_multiple_of(4096);
    let facts = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = facts.lines().find_map(|line| line.strip_prefix("MemAvailable:")?.split_whitespace().next());
    match available.and_then(|kib| kib.parse::<u64>().ok()).map(|kib| kib << 10) {
        Some(available) if needed > available => {
            let (needed, available) = (format_bytes(needed), format_bytes(available));
            let reason = format!(
                "{operations} outstanding operations need {needed} of buffers, {available} of memory is available"
            );
            Err(Error::NoUring { what: "depth", path: path.to_owned(), reason })
        }
        _ => Ok(()),
    }
}

/// Try one polled read.
fn check_polling(mut ring: IoUring, path: &Path) -> Result<(), Error> {
    let refuse = |error: &dyn std::fmt::Display| {
        let reason = format!(
            "the target does not poll for completions ({error}); NVMe drives do when the driver has poll queues"
        );
        Err(Error::NoUring { what: "iopoll", path: path.to_owned(), reason })
    };
    let opened = rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECT | OFlags::CLOEXEC, Mode::empty());
    // A target that cannot be opened for reading may be written only; if it cannot be opened at all, the run reports that.
    let Ok(file) = opened else { return Ok(()) };
    let stat = rustix::fs::fstat(&file);
    if let Ok(stat) = stat {
        let device =
            if FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice { stat.st_rdev } else { stat.st_dev };
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        for queue in ["queue", "../queue"] {
            let polls = std::fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/{queue}/io_poll"));
            if polls.is_ok_and(|text| text.trim() == "0") {
                return refuse(&format!("queue/io_poll of device {major}:{minor} is 0"));
            }
        }
    }
    let mut page = crate::memory::Pages::new(4096)?;
    let entry = opcode::Read::new(Fd(file.as_raw_fd()), page.bytes_mut().as_mut_ptr(), 4096).build();
    match try_one(&mut ring, &entry) {
        Some(result) if result >= 0 => Ok(()),
        Some(result) => refuse(&errno::name(Errno::from_raw_os_error(-result))),
        None => {
            // Leak the buffer of a trial that did not end, because the kernel may still write there.
            std::mem::forget((ring, page));
            refuse(&"no answer")
        }
    }
}

/// Discard nothing: a device that could says that nothing is not a range, one that cannot says that it cannot.
fn check_discard(mut ring: IoUring, file: &OwnedFd, path: &Path) -> Result<(), Error> {
    let answer =
        try_one(&mut ring, &discard(Fd(file.as_raw_fd()), 0, 0)).map(|result| Errno::from_raw_os_error(-result));
    match answer {
        Some(Errno::INVAL) => Ok(()),
        other => {
            let reason = other.map_or_else(|| "no answer".to_owned(), errno::name);
            let reason =
                format!("the kernel or the device discards nothing through a ring ({reason}); use api = positioned");
            Err(Error::NoUring { what: "discard", path: path.to_owned(), reason })
        }
    }
}

/// Return value of a trial operation, if it completes.
fn try_one(ring: &mut IoUring, entry: &Entry) -> Option<i32> {
    // SAFETY: the callers' buffer and file outlive the operation, or are leaked when it does not end.
    unsafe { ring.submission().push(entry) }.ok()?;
    let began = Instant::now();
    let step = Timespec::from(Duration::from_millis(10));
    let polls = ring.params().is_setup_iopoll();
    while began.elapsed() < TRIAL_WAIT {
        let arguments = SubmitArgs::new().timespec(&step);
        if let Err(error) = ring.submitter().submit_with_args(usize::from(!polls), &arguments) {
            passing(Errno::from_io_error(&error)?).ok()?;
        }
        if let Some(entry) = ring.completion().next() {
            return Some(entry.result());
        }
    }
    None
}

fn is_block_device(file: &OwnedFd) -> bool {
    rustix::fs::fstat(file).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice)
}

fn in_words(error: &std::io::Error) -> String {
    let number = Errno::from_io_error(error).unwrap_or(Errno::IO);
    format!("{} ({})", errno::sentence(number), errno::name(number))
}

fn refused(error: &std::io::Error, settings: Settings, path: &Path) -> Error {
    let words = in_words(error);
    let (what, reason) = match error.raw_os_error() {
        Some(libc::ENOSYS) => ("io_uring", format!("this kernel has none: {words}")),
        Some(libc::EPERM | libc::EACCES) => {
            ("io_uring", format!("it is not allowed here: {words}; see `sysctl kernel.io_uring_disabled`"))
        }
        Some(libc::ENOMEM) => ("io_uring", format!("{words}; a smaller depth or a higher `ulimit -l`")),
        _ if settings.sqpoll => ("sqpoll", words),
        _ if settings.iopoll => ("iopoll", words),
        _ => ("io_uring", words),
    };
    Error::NoUring { what, path: path.to_owned(), reason }
}

/// An entry that discards blocks of a device.
pub(super) fn discard(fd: Fd, offset_bytes: u64, length_bytes: u64) -> Entry {
    let mut command = [0; 16];
    command[..8].copy_from_slice(&length_bytes.to_ne_bytes());
    opcode::UringCmd16::new(fd, BLOCK_DISCARD).addr(Some(offset_bytes)).cmd(command).build()
}

/// Classify an error of `io_uring_enter`: an interruption, a shortage of memory or of room for completions, or the end
/// of a wait is temporary; any other error is not.
#[cold]
pub(super) fn passing(errno: Errno) -> Result<(), Errno> {
    match errno {
        Errno::INTR | Errno::AGAIN | Errno::BUSY | Errno::TIME => Ok(()),
        other => Err(other),
    }
}
