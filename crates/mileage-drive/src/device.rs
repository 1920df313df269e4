//! The block-device contract, written text. [`crate::conformance`] checks it.
//!
//! 1. **Batches.** [`BlockDevice::submit`] takes operations in the order of their submission times, which never run
//!    backwards, neither inside a batch nor from one batch to the next, and appends one [`Completion`] per
//!    operation, in the order of the batch. How operations are cut into batches changes nothing.
//! 2. **Time.** A completion is never before its submission. Its time is known at submission: nothing submitted
//!    later can change it. Completions may overtake each other.
//! 3. **Refusals.** An operation that is misaligned, empty or outside the drive, or that the drive is too worn for, is
//!    refused at once: its completion time is its submission time, and no state and no counter has changed.
//! 4. **Discard** unmaps every page that lies wholly inside the range; what is left of a partly covered page stays.
//! 5. **Flush** completes when everything submitted before it is on the medium. **FUA** on a write makes that
//!    write's completion wait for the medium; on any other operation it is refused, since it would have no effect.
//!    A drive whose profile says that it ignores flushes breaks this clause, as such drives do.
//! 6. **Counters** only grow and say what explains a result; they change when an operation is submitted.
//! 7. **State.** A device that restores what [`BlockDevice::save`] gave continues as the saved one would have, byte
//!    for byte. Anything else than a state of the same drive is refused, never a panic, and changes nothing.
//! 8. **Looking ahead** ([`BlockDevice::prefetch`]) changes no result.

use crate::saved_state::StateError;
use mileage_units::format_bytes;
use mileage_workload::{Op, Workload};

/// What a block operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What to do.
    pub kind: RequestKind,
    /// Only for writes: complete when the data is on the medium, not in a buffer.
    pub fua: bool,
    /// First byte; a multiple of the sector.
    pub offset_bytes: u64,
    /// Length; a multiple of the sector, at least one (0 for a flush).
    pub length_bytes: u64,
    /// When it was submitted, in nanoseconds of the drive's clock.
    pub submit_ns: u64,
}

/// Why an operation was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It ends behind the last byte of the drive.
    #[error("the range of {} at {offset_bytes} ends behind the drive's capacity of {capacity_bytes} bytes", format_bytes(*.length_bytes))]
    OutOfRange {
        /// First byte asked for.
        offset_bytes: u64,
        /// Bytes asked for.
        length_bytes: u64,
        /// What there is.
        capacity_bytes: u64,
    },
    /// Offset or length is not a multiple of the sector.
    #[error("offset {offset_bytes} or length {length_bytes} is not a multiple of the sector of {sector_bytes} bytes")]
    Misaligned {
        /// First byte asked for.
        offset_bytes: u64,
        /// Bytes asked for.
        length_bytes: u64,
        /// What both must be multiples of.
        sector_bytes: u32,
    },
    /// No byte was asked for.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// What Linux calls it when a drive fails so: `EIO`, `ETIMEDOUT` or `ENODEV`.
    pub fn failure_name(self) -> Option<&'static str> {
        match self {
            Self::Done => None,
            Self::TimedOut { .. } => Some("ETIMEDOUT"),
            Self::DroppedOff { .. } | Self::Refused(Refusal::DroppedOff { .. }) => Some("ENODEV"),
            Self::Refused(_) | Self::Uncorrectable { .. } => Some("EIO"),
        }
    }

    /// What went wrong, in words; `None`: nothing.
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
                "the drive dropped off {} s after it was first powered on, with the operation under way",
                seconds(at_ns)
            )),
        }
    }
}

/// How far a drive's life has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// It does what it is asked.
    Working,
    /// It is worn out and reads only.
    ReadOnly,
    /// It was worn out, and does nothing since its power was cycled.
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
    /// When, in nanoseconds of the drive's clock.
    pub complete_ns: u64,
    /// How.
    pub status: Status,
}

/// A virtual block device. The module's text is the contract.
pub trait BlockDevice {
    /// Bytes that can be addressed.
    fn capacity_bytes(&self) -> u64;

    /// Smallest unit of addressing, in bytes.
    fn sector_bytes(&self) -> u32;

    /// Smallest unit that is written without reading first, in bytes.
    fn page_bytes(&self) -> u32;

    /// The latest instant of any call, in nanoseconds since it was first powered on.
    fn now_ns(&self) -> u64;

    /// Let the clock stand at `now_ns` or later; earlier instants change nothing.
    fn advance_to(&mut self, now_ns: u64);

    /// Let `ns` nanoseconds pass without an operation.
    fn idle_ns(&mut self, ns: u64) {
        self.advance_to(self.now_ns().saturating_add(ns));
    }

    /// Submit an operation; when and how it ends.
    fn submit_one(&mut self, request: &Request) -> Completion;

    /// Submit operations; one completion each is appended to `out`, in the same order.
    fn submit(&mut self, batch: &[Request], out: &mut Vec<Completion>) {
        out.extend(batch.iter().map(|request| self.submit_one(request)));
    }

    /// The operations of `later` will be submitted in a while, those of `soon`, which were announced as `later` before, in
    /// a few operations' time, as far as is known: a device may use it to be simulated faster. It changes no result.
    fn prefetch(&mut self, later: &[Op], soon: &[Op]) {
        let _ = (later, soon);
    }

    /// Until this is called again, writes carry what `workload` writes, or, with `None`, what nobody knows. Whether the
    /// device looks at it: if it does, the laps of the writes are announced ([`BlockDevice::begin_lap`]).
    fn look_at_content(&mut self, workload: Option<&Workload>) -> bool {
        let _ = workload;
        false
    }

    /// The operations from here on belong to this lap, counted from 0.
    fn begin_lap(&mut self, lap: u32) {
        let _ = lap;
    }

    /// Names of the counters, in the order of [`BlockDevice::counters`].
    fn counter_names(&self) -> &'static [&'static str];

    /// The counters since the drive was first powered on.
    ///
    /// # Panics
    /// When `out` has another length than the names: a programmer's mistake.
    fn counters(&self, out: &mut [u64]);

    /// Names of the gauges, in the order of [`BlockDevice::gauges`]; they say how things stand and may fall.
    fn gauge_names(&self) -> &'static [&'static str] {
        &[]
    }

    /// The gauges now.
    ///
    /// # Panics
    /// When `out` has another length than the names: a programmer's mistake.
    fn gauges(&self, out: &mut [u64]) {
        assert!(out.is_empty(), "a device without gauges was asked for {}", out.len());
    }

    /// Names of the counters, and behind them those of the gauges: what a run's series follows.
    fn series_names(&self) -> &'static [&'static str] {
        assert!(self.gauge_names().is_empty(), "a device with gauges names its series");
        self.counter_names()
    }

    /// The whole state: maps, clocks, counters.
    fn save(&self) -> Vec<u8>;

    /// Continue from a saved state of the same drive.
    ///
    /// # Errors
    /// What is wrong with the state; the device is as it was.
    fn restore(&mut self, state: &[u8]) -> Result<(), StateError>;
}

/// What clause 3 says of a request, before any device looks at it.
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
