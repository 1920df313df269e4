//! The general block-device contract: the trait [`BlockDevice`] and its rules. [`crate::conformance::general`] checks
//! it.
//!
//! A device that reorders its queue, or whose second phase follows its first, does not know a completion when it has the
//! request. So requests go in, time is moved on, and completions come out as soon as they are certain. Devices that do
//! know at once implement [`crate::Immediate`] and become a [`BlockDevice`] inside [`crate::QueueAdapter`].
//!
//! 1. **Submission.** [`BlockDevice::submit`] takes a request with a tag that no outstanding request has. Its instant is not
//!    before the device's clock, not before the last submission, and not after [`BlockDevice::next_event`]: nobody
//!    submits past an event that was not collected. Anything else is a [`Misuse`] and changes nothing. Content that the
//!    device does not keep is ignored.
//! 2. **Time.** [`BlockDevice::advance_to`] decides everything with an instant *before* `at_ns`, then sets the clock to
//!    `at_ns`. So all submissions of an instant are made before anything of that instant is decided, and how they are
//!    spread over calls changes nothing. The clock never runs backwards.
//! 3. **Decisions.** A completion is appended to [`Decisions`] as soon as no later submission can change it, possibly with a
//!    `complete_ns` in the future, never with one before its submission or before the decision. A request is outstanding
//!    until the clock has reached its `complete_ns`. Only a power cut, switching off or the loss of a member before
//!    `complete_ns` withdraws a decision: the tag is then reported again, with the failure. So each tag ends exactly
//!    once in the eye of a host that acts at `complete_ns`. What is decided at one instant is in the order (instant,
//!    foreground before background, member, submission), never in the order of tags.
//! 4. **Events.** [`BlockDevice::next_event`] is the earliest instant at which something may be decided, or may happen
//!    inside, if nothing is submitted; never before the clock. After an advance past it the next one is later, or something was
//!    decided. `None`: nothing will ever be decided without a submission. An advance through foreground events until none is
//!    left ends; background work continues only while time passes.
//!    Work that becomes due at the instant at which it was caused is done in the same call; after [`STEPS_MAX`] steps at
//!    one instant the device reports [`Misuse::Endless`].
//! 5. **Refusals.** A request that is misaligned, empty or outside the device, or that the device is too worn for, is decided
//!    with [`crate::Status::Refused`] and `complete_ns` equal to its submission; nothing else changes.
//! 6. **Durability.** Data is durable when a power cut does not lose it. A write with FUA is durable when it completes. A
//!    flush makes every write durable that completed at or before the flush's submission; its completion comes after that.
//!    Writes that are outstanding then may or may not be covered, as the profile says. [`BlockDevice::losses`] is what a cut would
//!    lose, a pure function of (state, instant, seed); a cut with the same arguments loses exactly that. Nothing that
//!    [`DurableExtent`] reported is ever lost.
//! 7. **Power.** After a cut or after switching off every outstanding request has ended with
//!    [`crate::Status::DroppedOff`], and the device refuses all others with [`crate::Refusal::DroppedOff`] until
//!    [`ManagedDevice::power_on`].
//! 8. **Counters** only grow. **State**: a device that restores what [`BlockDevice::save`] gave continues as the saved one
//!    would have: clock, queues, phases, timers, decided but not yet completed requests, members. Anything else than a
//!    state of the same device is refused, never a panic, and changes nothing.

use crate::content::Content;
use crate::device::{Life, Request, Status};
use crate::management::PowerCutError;
use crate::page_sizes::PageSizes;
use crate::profile::Basics;
use crate::saved_state::StateError;
use serde::{Deserialize, Serialize};

/// A device that does more steps than these at one instant is broken.
pub const STEPS_MAX: u32 = 1 << 20;

/// Identifier of a request, chosen by the host: opaque to the device, unique among the outstanding requests. [`Loss`]
/// and [`DurableExtent`] refer to requests that may have completed, by their tag; a host that asks for these does not use
/// a tag again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Tag(pub u64);

/// A request on its way to a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submission {
    /// The operation, and its submission time.
    pub request: Request,
    /// Content of a write; [`Content::Unknown`] if nobody keeps it.
    pub content: Content,
    /// Identifier of the request.
    pub tag: Tag,
}

impl Submission {
    /// A request whose content nobody keeps.
    pub fn new(request: Request, tag: Tag) -> Self {
        Self { request, content: Content::Unknown, tag }
    }
}

/// When and how a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaggedCompletion {
    /// Identifier of the request.
    pub tag: Tag,
    /// Completion time, in nanoseconds of the device's clock.
    pub complete_ns: u64,
    /// Outcome.
    pub status: Status,
}

/// A part of a write or discard that no power cut at or after `at_ns` loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DurableExtent {
    /// Identifier of the request.
    pub tag: Tag,
    /// First byte.
    pub offset_bytes: u64,
    /// Bytes, whole sectors.
    pub length_bytes: u64,
    /// From when on.
    pub at_ns: u64,
}

/// Decisions of a device, in the order in which they were made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decisions {
    /// Requests that ended or will end.
    pub completions: Vec<TaggedCompletion>,
    /// Writes that became durable; only if the host asked for them ([`BlockDevice::report_persisted`]).
    pub persisted: Vec<DurableExtent>,
}

impl Decisions {
    /// Forget all, but keep the memory.
    pub fn clear(&mut self) {
        self.completions.clear();
        self.persisted.clear();
    }
}

/// Whether an event can complete a request of the host or is background work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventClass {
    /// It serves a request of the host.
    Foreground,
    /// Cleaning, destaging, rebuilding: goes ahead only while time passes.
    Background,
}

/// The next time at which the state of a device may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Event {
    /// The earliest instant, in nanoseconds of the device's clock.
    pub at_ns: u64,
    /// For whom.
    pub class: EventClass,
}

/// Wrong use of a device by its caller. The call had no effect, except with [`Misuse::Endless`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misuse {
    /// The clock, or an earlier submission, stands later.
    #[error("a submission at {submit_ns} ns: expected {earliest_ns} ns or later")]
    Past {
        /// Requested submission time.
        submit_ns: u64,
        /// The earliest instant that is possible.
        earliest_ns: u64,
    },
    /// The device has an event before it.
    #[error("a submission at {submit_ns} ns: expected the event at {event_ns} ns to be collected first")]
    PastEvent {
        /// Requested submission time.
        submit_ns: u64,
        /// The event.
        event_ns: u64,
    },
    /// An outstanding request has the same tag.
    #[error("tag {} belongs to a request that is outstanding: expected another one", .0.0)]
    DuplicateTag(Tag),
    /// Work causes work at one instant, without end.
    #[error("more than {STEPS_MAX} steps at {at_ns} ns: the device causes work at one instant without end")]
    Endless {
        /// The instant.
        at_ns: u64,
    },
}

/// A power failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerCut {
    /// Instant of the power cut; not before the device's clock.
    pub at_ns: u64,
    /// Seed of all random outcomes of the cut, for instance which of several outstanding sectors were written.
    pub seed: u64,
}

/// Effect of a power cut on a sector that was not durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fate {
    /// The sector is as if the request had not been.
    Old,
    /// It is read without an error and holds neither the old data nor the new.
    Torn,
    /// Reading it fails.
    Unreadable,
}

/// Sectors of a write or discard that a power cut loses. Of a sector with several requests that are not durable, each one
/// that is lost is listed: the newest that is not listed, or what was there before them, is what remains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Identifier of the request.
    pub tag: Tag,
    /// First byte.
    pub offset_bytes: u64,
    /// Bytes, whole sectors.
    pub length_bytes: u64,
    /// Effect on these sectors.
    pub fate: Fate,
}

/// A virtual block device; the module states the rules that an implementation must keep.
pub trait BlockDevice {
    /// Bytes that can be addressed.
    fn capacity_bytes(&self) -> u64;

    /// Smallest unit of addressing, in bytes.
    fn sector_bytes(&self) -> u32;

    /// Smallest unit that is written without reading first, in bytes.
    fn page_bytes(&self) -> u32;

    /// The clock, in nanoseconds since the device was first powered on.
    fn now_ns(&self) -> u64;

    /// Submit a request (clause 1).
    ///
    /// # Errors
    /// What the layer above did wrong; nothing was changed.
    fn submit(&mut self, submission: Submission) -> Result<(), Misuse>;

    /// Decide everything with an instant before `at_ns`, append it to `out`, and set the clock to `at_ns` (clauses 2, 3);
    /// earlier instants than the clock's change nothing.
    ///
    /// # Errors
    /// [`Misuse::Endless`]: the device, or one of its members, is broken.
    fn advance_to(&mut self, at_ns: u64, out: &mut Decisions) -> Result<(), Misuse>;

    /// The earliest instant at which something may happen without a submission (clause 4).
    fn next_event(&self) -> Option<Event>;

    /// Set whether [`DurableExtent`] is appended from now on; off at first.
    fn report_persisted(&mut self, wanted: bool);

    /// Losses that `cut` would cause among the sectors of a range, in the order in which the requests were done
    /// (clause 6).
    ///
    /// # Errors
    /// Nobody knows, or the instant lies before the clock or behind an event that was not collected.
    fn losses(&self, offset_bytes: u64, length_bytes: u64, cut: PowerCut) -> Result<Vec<Loss>, PowerCutError>;

    /// Names of the counters, in the order of [`BlockDevice::counters`].
    fn counter_names(&self) -> &'static [&'static str];

    /// The counters since the device was first powered on.
    ///
    /// # Panics
    /// When `out` has another length than the names: a programmer's mistake.
    fn counters(&self, out: &mut [u64]);

    /// Names of the gauges, in the order of [`BlockDevice::gauges`]; they may fall.
    fn gauge_names(&self) -> &'static [&'static str];

    /// The gauges now.
    ///
    /// # Panics
    /// When `out` has another length than the names: a programmer's mistake.
    fn gauges(&self, out: &mut [u64]);

    /// Names of the counters, and behind them those of the gauges.
    fn series_names(&self) -> &'static [&'static str];

    /// The whole state.
    fn save(&self) -> Vec<u8>;

    /// Continue from a saved state of the same device.
    ///
    /// # Errors
    /// What is wrong with the state; the device is as it was.
    fn restore(&mut self, state: &[u8]) -> Result<(), StateError>;
}

/// Reason why a device cannot be managed now.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManagementError {
    /// Requests are outstanding.
    #[error("{outstanding} requests are outstanding: expected none; let time pass until they have completed")]
    Busy {
        /// How many.
        outstanding: u64,
    },
    /// A power cut whose outcome is not known.
    #[error(transparent)]
    PowerCut(#[from] PowerCutError),
    /// A member of a composite device has the reason.
    #[error("member {member}: {source}")]
    Member {
        /// Its number, from 0.
        member: u32,
        /// The reason.
        source: Box<ManagementError>,
    },
}

/// Management of a block device besides reads and writes: power, erasing and remaining life. A wrapper forwards every
/// method to the device inside, or documents why not.
pub trait ManagedDevice: BlockDevice {
    /// Properties that profiles of all kinds have.
    fn basics(&self) -> &Basics;

    /// Whether the drive still writes, only reads, or has failed.
    fn life(&self) -> Life;

    /// Whether nothing that anybody can observe changes between its events, except the clock, so that a layer above may leave
    /// the clock behind until the next event or submission.
    fn may_lag(&self) -> bool;

    /// As [`crate::Immediate::page_sizes`].
    fn page_sizes(&mut self) -> Option<&mut PageSizes> {
        None
    }

    /// Erase everything, wear aside; the clock moves on until that is done. A device that no longer writes stays as it
    /// is.
    ///
    /// # Errors
    /// Requests are outstanding.
    fn purge(&mut self) -> Result<(), ManagementError>;

    /// The power fails at `cut.at_ns` (clauses 6, 7). The outstanding requests that fail are appended to `out`; all that is
    /// lost is returned, as [`BlockDevice::losses`] of the whole capacity was before.
    ///
    /// # Errors
    /// As [`BlockDevice::losses`]; nothing was changed.
    fn power_cut(&mut self, cut: PowerCut, out: &mut Decisions) -> Result<Vec<Loss>, ManagementError>;

    /// Switch off in order at `at_ns`: as a power cut that loses nothing that was acknowledged. The clock moves on until
    /// that is done.
    ///
    /// # Errors
    /// The instant lies before the clock; nothing was changed.
    fn power_off(&mut self, at_ns: u64, out: &mut Decisions) -> Result<(), ManagementError>;

    /// Switch on again, now. A device at the end of its life may not come back; one that is on stays as it is.
    fn power_on(&mut self);
}
