//! Power cuts at random instants of synced writes.
//!
//! A program appends to a file, or overwrites what it has written, and syncs each write. The instants are drawn over the time of
//! a write and its sync and a little beyond, so that cuts fall before, in and after every piece of I/O.

use crate::call::{Call, CallError, HandleId, OpenHow};
use crate::host::Host;
use mileage_drive::PowerCutError;

/// Bytes of a write.
const RECORD_BYTES: u64 = 4096;
/// Every fourth write overwrites an older one: its sync changes no length.
const OVERWRITES: u64 = 4;
/// The file, and the number of the program's call.
const HANDLE: HandleId = 1;
const CALL: u32 = 1;

/// What cuts at random instants would have lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CutCounts {
    /// Cuts, one for each synced write.
    pub cuts: u64,
    /// Those that lose an acknowledged write.
    pub losing: u64,
    /// The most that one of them loses.
    pub lost_most: u64,
    /// Time of all writes and syncs, without pauses.
    pub synced_ns: u64,
}

/// Why the cuts cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum RandomCutsError {
    /// A call failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// Metadata is written in place meanwhile.
    #[error("the writes take longer than {limit_ns} ns (dirty_age_s of the host): expected fewer cuts")]
    TooLong {
        /// The age at which metadata is written in place.
        limit_ns: u64,
    },
    /// The drive does not say what a cut loses.
    #[error(transparent)]
    Cut(#[from] PowerCutError),
}

/// The next number of a sequence that looks random (splitmix64).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut mixed = (*state ^ *state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ mixed >> 31
}

impl Host {
    /// Write and sync `cuts` times, and count at a random instant of each what a power cut would lose then; no power is cut,
    /// and the host works on.
    ///
    /// # Errors
    /// A call fails, or the drive's profile does not say what a cut loses.
    pub fn random_cuts(&mut self, cuts: u64, seed: u64) -> Result<CutCounts, RandomCutsError> {
        let mut state = seed;
        let how = OpenHow { create: true, ..OpenHow::default() };
        self.call(Call::Open { path: "synced".to_owned(), handle: HANDLE, how })?;
        self.track_durability();
        let mut counts = CutCounts { cuts, ..CutCounts::default() };
        let (mut appended, mut usual_ns) = (0, 1_000_000);
        for number in 0..cuts {
            let overwrites = number % OVERWRITES == OVERWRITES - 1;
            let record = if overwrites { next(&mut state) % appended } else { appended };
            appended += u64::from(!overwrites);
            let began_ns = self.now_ns();
            let cut_ns = began_ns + next(&mut state) % (usual_ns + usual_ns / 4);
            let write = Call::Write { handle: HANDLE, offset: record * RECORD_BYTES, length: RECORD_BYTES };
            let mut ended_ns = began_ns;
            let mut is_cut = false;
            for call in [write, Call::Sync { handle: HANDLE, data_only: false }] {
                ended_ns = self.end_of(call, ended_ns, (!is_cut).then_some(cut_ns), &mut |host| {
                    is_cut = true;
                    counts.note(host, seed ^ number)
                })?;
            }
            if !is_cut {
                self.advance_to(cut_ns);
                counts.note(self, seed ^ number)?;
            }
            let limit_ns = self.profile().dirty_age_ns;
            if self.tracked_ns() > limit_ns {
                return Err(RandomCutsError::TooLong { limit_ns });
            }
            usual_ns = (ended_ns - began_ns).max(1);
            counts.synced_ns += usual_ns;
        }
        self.forget_durability();
        self.call(Call::Close { handle: HANDLE })?;
        Ok(counts)
    }

    /// Do a call from an instant on, with a stop on the way if it is not over at `cut_ns`; when it ends.
    fn end_of(
        &mut self,
        call: Call,
        from_ns: u64,
        cut_ns: Option<u64>,
        stop: &mut dyn FnMut(&mut Self) -> Result<(), PowerCutError>,
    ) -> Result<u64, RandomCutsError> {
        let mut outcome = self.begin(CALL, call, from_ns);
        if outcome.is_none()
            && let Some(cut_ns) = cut_ns
        {
            while self.done.is_empty() && self.misuse().is_none() && self.run_next(cut_ns) {}
            if self.done.is_empty() {
                self.advance_to(cut_ns);
                stop(self)?;
            }
        }
        while outcome.is_none() {
            if let Some((_, end_ns, result)) = self.done.pop() {
                outcome = Some((end_ns, result));
            } else if self.misuse().is_some() || !self.run_next(u64::MAX) {
                return Err(CallError::Drive("the drive never answers".to_owned()).into());
            }
        }
        let (end_ns, result) = outcome.unwrap_or((from_ns, Ok(())));
        self.advance_to(end_ns);
        result?;
        Ok(end_ns)
    }
}

impl CutCounts {
    fn note(&mut self, host: &mut Host, seed: u64) -> Result<(), PowerCutError> {
        let lost = host.survival(seed)?.lost;
        self.losing += u64::from(lost > 0);
        self.lost_most = self.lost_most.max(lost);
        Ok(())
    }
}
