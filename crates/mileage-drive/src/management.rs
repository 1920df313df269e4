//! Operations of a host on a drive other than reading and writing: power, erasing, and queries of its profile.

use crate::device::{Life, Request, RequestKind};
use crate::immediate_device::Immediate;
use crate::profile::Basics;

/// An acknowledged write that a power cut lost, in one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostWrite {
    /// Number of the write command since the drive was new, from 0; refused commands do not count.
    pub write: u64,
    /// First byte.
    pub offset_bytes: u64,
    /// Bytes, all in one page.
    pub length_bytes: u32,
}

/// A part of a write that is not on the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UndurablePart {
    /// The affected part of a write.
    pub part: LostWrite,
    /// Time at which the write was acknowledged, or will be; [`u64::MAX`] if it never will be.
    pub acknowledged_ns: u64,
}

/// Content of a volatile write buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undurable {
    /// Write commands since the drive was new.
    pub writes: u64,
    /// Parts of them that are not on the medium, in the order in which they were written. Of a page with a newer part that
    /// is there no older one is listed.
    pub parts: Vec<UndurablePart>,
}

impl Undurable {
    /// The parts whose writes were acknowledged by then.
    pub(crate) fn lost_at(&self, at_ns: u64) -> Vec<LostWrite> {
        let acknowledged = self.parts.iter().filter(|it| it.acknowledged_ns <= at_ns);
        acknowledged.map(|it| it.part).collect()
    }
}

/// Reason why the effect of a power cut is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PowerCutError {
    /// The profile does not state what happens to the write buffer.
    #[error(
        "write_buffer_power is missing in the drive's profile: expected volatile or protected, to know what a power cut loses"
    )]
    Unknown,
    /// The controller compresses or deduplicates, so that pages have no place of their own.
    #[error("a power cut: expected a drive that stores pages as they are; what is open in one that packs is not known")]
    Packed,
    /// The drive stalls, and holds commands that it will do after the stall.
    #[error(
        "a power cut at {at_ns} ns: the drive stalls with commands waiting; expected {until_ns} ns, the end of the stall, or later"
    )]
    Stalled {
        /// The instant asked for.
        at_ns: u64,
        /// Time at which the last of these commands begins.
        until_ns: u64,
    },
    /// The drive has seen operations at a later instant.
    #[error("a power cut at {at_ns} ns: expected the drive's present time, {now_ns} ns, or later")]
    Past {
        /// The instant asked for.
        at_ns: u64,
        /// The drive's clock.
        now_ns: u64,
    },
    /// The drive has decisions that nobody collected.
    #[error("a power cut at {at_ns} ns: expected the event at {event_ns} ns to be collected first")]
    PastEvent {
        /// The instant asked for.
        at_ns: u64,
        /// The event.
        event_ns: u64,
    },
}

/// Management of an immediate device: power, erasing and remaining life. A wrapper forwards every method to the device
/// inside, or documents why not.
pub trait ManagedImmediate: Immediate {
    /// Properties that profiles of all kinds have.
    fn basics(&self) -> &Basics;

    /// Whether the drive still writes, only reads, or has failed.
    fn life(&self) -> Life;

    /// Erase everything, wear aside; the clock moves on until that is done. A device that no longer writes stays as it
    /// is.
    fn purge(&mut self);

    /// Power off, after all that was written is on the medium, and on again. A device at the end of its life may not
    /// come back.
    fn power_cycle(&mut self);

    /// The power fails at `at_ns`, and is back at once: nothing is in flight any more. What was acknowledged before
    /// and is lost, in the order in which it was written; what was in flight and not acknowledged is no loss, whatever
    /// became of it. A device at the end of its life may not come back.
    ///
    /// # Errors
    /// The profile does not say what a power cut loses; or the instant lies before the device's clock.
    fn power_cut(&mut self, at_ns: u64) -> Result<Vec<LostWrite>, PowerCutError>;

    /// Writes that are not on the medium at `at_ns`, acknowledged or not; `None`: every acknowledged write is safe,
    /// and the fate of outstanding ones is unknown.
    ///
    /// # Errors
    /// Those of [`ManagedImmediate::power_cut`].
    fn undurable_at(&self, at_ns: u64) -> Result<Option<Undurable>, PowerCutError>;

    /// Discard the whole capacity (as `blkdiscard` does), now; the clock moves on until that is done.
    fn discard_all(&mut self) {
        let request = Request {
            kind: RequestKind::Discard,
            fua: false,
            offset_bytes: 0,
            length_bytes: self.capacity_bytes(),
            submit_ns: self.now_ns(),
        };
        let completion = self.submit_one(&request);
        self.advance_to(completion.complete_ns);
    }
}
