//! Requests, how they end, and the life of a device: values that both forms of the block-device contract share.

use mileage_units::format_bytes;
use mileage_workload::{Op, OpKind};
use serde::{Deserialize, Serialize};

/// Kind of a block operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RequestKind {
    /// Read the range.
    Read,
    /// Write the range.
    Write,
    /// Forget the whole pages of the range (TRIM, UNMAP).
    Discard,
    /// Put everything submitted before on the medium; offset and length are 0.
    Flush,
}

/// One block operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Kind of the operation.
    pub kind: RequestKind,
    /// Only for writes: complete when the data is on the medium, not in a buffer.
    pub fua: bool,
    /// First byte; a multiple of the sector.
    pub offset_bytes: u64,
    /// Length; a multiple of the sector, at least one (0 for a flush).
    pub length_bytes: u64,
    /// Submission time, in nanoseconds of the drive's clock.
    pub submit_ns: u64,
}

impl Request {
    /// The request of a workload's operation. `durable`: a write has FUA.
    #[inline]
    pub(crate) fn of(op: Op, submit_ns: u64, durable: bool) -> Self {
        Self {
            kind: match op.kind {
                OpKind::Read => RequestKind::Read,
                OpKind::Write => RequestKind::Write,
                OpKind::Sync => RequestKind::Flush,
                OpKind::Discard => RequestKind::Discard,
            },
            fua: durable && op.kind == OpKind::Write,
            offset_bytes: op.offset_bytes,
            length_bytes: u64::from(op.length_bytes),
            submit_ns,
        }
    }
}

/// Why an operation was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum Refusal {
    /// It ends behind the last byte of the drive.
    #[error("the range of {} at {offset_bytes} ends behind the drive's capacity of {capacity_bytes} bytes", format_bytes(*.length_bytes))]
    OutOfRange {
        /// First byte asked for.
        offset_bytes: u64,
        /// Bytes asked for.
        length_bytes: u64,
        /// Capacity of the drive.
        capacity_bytes: u64,
    },
    /// Offset or length is not a multiple of the sector.
    #[error("offset {offset_bytes} or length {length_bytes} is not a multiple of the sector of {sector_bytes} bytes")]
    Misaligned {
        /// First byte asked for.
        offset_bytes: u64,
        /// Bytes asked for.
        length_bytes: u64,
        /// Sector size, of which both must be multiples.
        sector_bytes: u32,
    },
    /// The request has no byte.
    #[error("an operation of 0 bytes at {offset_bytes}: expected at least one sector")]
    Empty {
        /// First byte asked for.
        offset_bytes: u64,
    },
    /// FUA on something else than a write.
    #[error("FUA on an operation that writes nothing: it is for writes")]
    NeedlessFua,
    /// A flush has no range.
    #[error("a flush with a range: expected offset 0 and length 0, it is for the whole drive")]
    FlushWithRange,
    /// The drive does not know the command.
    #[error("the drive has no TRIM: its profile says trim = refused")]
    NoDiscard,
    /// The drive is worn out.
    #[error("the drive is worn out and reads only: {0}; copy its data to another drive")]
    ReadOnly(WornOut),
    /// The drive was worn out and did not come back after a power cycle.
    #[error("the drive is dead: it was worn out ({0}), and then its power was cycled")]
    Dead(WornOut),
    /// The drive no longer answers.
    #[error("the drive dropped off {} s after it was first powered on", seconds(*at_ns))]
    DroppedOff {
        /// When, in nanoseconds of the drive's clock.
        at_ns: u64,
    },
}

/// Why a drive is worn out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum WornOut {
    /// Its blocks were erased as often as they are rated for, on average.
    #[error("its rated cycles are used up")]
    RatingUsedUp,
    /// A block failed, and the drive has no replacement for it.
    #[error("a block failed and no replacement block is left, with {used_percent} % of its rated cycles used")]
    NoReplacement {
        /// Erases so far, in percent of those that all blocks together are rated for.
        used_percent: u64,
    },
}

/// How an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// Done.
    Done,
    /// Refused; nothing was changed.
    Refused(Refusal),
    /// A read that took its time and failed: more bits of a page were wrong than can be corrected.
    Uncorrectable {
        /// First byte of the first such page.
        offset_bytes: u64,
    },
    /// It was never answered; the host gave it up. Nothing was changed.
    TimedOut {
        /// How long it waited, in nanoseconds.
        timeout_ns: u64,
    },
    /// The drive dropped off before it answered; what became of the operation is not known.
    DroppedOff {
        /// When, in nanoseconds of the drive's clock.
        at_ns: u64,
    },
}

/// Nanoseconds in seconds, for people.
fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

impl Status {
    /// Linux error code for this failure of a drive: `EIO`, `ETIMEDOUT`, `ENODEV` or `EOPNOTSUPP`.
    pub fn failure_name(self) -> Option<&'static str> {
        match self {
            Self::Done => None,
            Self::TimedOut { .. } => Some("ETIMEDOUT"),
            Self::DroppedOff { .. } | Self::Refused(Refusal::DroppedOff { .. }) => Some("ENODEV"),
            Self::Refused(Refusal::NoDiscard) => Some("EOPNOTSUPP"),
            Self::Refused(_) | Self::Uncorrectable { .. } => Some("EIO"),
        }
    }

    /// Description of the failure; `None`: there was none.
    pub fn failure(self) -> Option<String> {
        match self {
            Self::Done => None,
            Self::Refused(refusal) => Some(format!("the drive refused: {refusal}")),
            Self::Uncorrectable { offset_bytes } => Some(format!(
                "the drive could not read the page at byte {offset_bytes}: too many wrong bits to correct"
            )),
            Self::TimedOut { timeout_ns } => {
                Some(format!("the drive did not answer within {} s: the operation timed out", seconds(timeout_ns)))
            }
            Self::DroppedOff { at_ns } => Some(format!(
                "the drive dropped off {} s after it was first powered on, with the operation in flight",
                seconds(at_ns)
            )),
        }
    }
}

/// Stage of a drive's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// It serves all operations.
    Working,
    /// It is worn out and reads only.
    ReadOnly,
    /// It was worn out, and fails all operations since its power was cycled.
    Dead,
    /// A fault took it away.
    DroppedOff,
}

impl Life {
    /// The same in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::ReadOnly => "read-only",
            Self::Dead => "dead",
            Self::DroppedOff => "dropped off",
        }
    }
}

/// When and how an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Completion time, in nanoseconds of the drive's clock.
    pub complete_ns: u64,
    /// Outcome.
    pub status: Status,
}

/// Check a request by the rules that both contracts share, before any device looks at it: it is refused if it is
/// empty, misaligned or outside the device, or has a flag or a range without effect.
///
/// # Errors
/// The refusal.
#[inline]
pub fn check(request: &Request, capacity_bytes: u64, sector_bytes: u32) -> Result<(), Refusal> {
    let Request { kind, fua, offset_bytes, length_bytes, .. } = *request;
    if fua && kind != RequestKind::Write {
        return Err(Refusal::NeedlessFua);
    }
    if kind == RequestKind::Flush {
        return if offset_bytes == 0 && length_bytes == 0 { Ok(()) } else { Err(Refusal::FlushWithRange) };
    }
    if length_bytes == 0 {
        return Err(Refusal::Empty { offset_bytes });
    }
    if !(offset_bytes | length_bytes).is_multiple_of(u64::from(sector_bytes)) {
        return Err(Refusal::Misaligned { offset_bytes, length_bytes, sector_bytes });
    }
    if offset_bytes.checked_add(length_bytes).is_none_or(|end| end > capacity_bytes) {
        return Err(Refusal::OutOfRange { offset_bytes, length_bytes, capacity_bytes });
    }
    Ok(())
}
