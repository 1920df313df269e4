//! A flash drive whose arrays serve reads first ([`ReadPriorityDrive`]): the general form of the block-device contract over
//! the same page map as [`super::FlashDrive`].
//!
//! A completion is not known when a request is submitted, because a read that comes later delays programs that are decided
//! by their order here and not by their submission. [`stations`] says what is modelled. In return a read waits for one
//! operation at most, or for its interruption, and collections may be paced at the same time.
//!
//! # Not modelled
//! A limit to how long reads may hold up programs: as long as reads keep an array busy, it programs nothing.
//!
//! # Power
//! Pages that are not programmed are lost in a power cut; with a protected buffer only those that have not arrived in the
//! controller.

mod array_queue;
mod figures;
mod jobs;
mod operations;
mod power;
mod saved_state;
mod stations;

use super::counters::{COUNTER_NAMES, GAUGE_NAMES, SERIES_NAMES};
use super::map::{Geometry, Map, Rules};
use crate::block_device::{
    BlockDevice, Decisions, Event, EventClass, Loss, ManagedDevice, ManagementError, Misuse, PowerCut, Submission, Tag,
    TaggedCompletion,
};
use crate::device::{Life, Refusal, RequestKind, Status, check};
use crate::management::PowerCutError;
use crate::number_hasher::NumberHashing;
use crate::page_sizes::PageSizes;
use crate::profile::flash::choices::Trim;
use crate::profile::{Basics, FlashProfile};
use crate::saved_state::StateError;
use figures::Figures;
use stations::Stations;
use std::collections::HashMap;

const SECTOR_BYTES: u32 = 512;

/// A flash drive with `scheduling = "read-priority"`, in virtual time. The module's text says what it models.
#[derive(Clone, Debug)]
pub struct ReadPriorityDrive {
    profile: FlashProfile,
    stations: Stations,
    now_ns: u64,
    last_submit_ns: u64,
    /// Since when it is switched off.
    off_ns: Option<u64>,
    /// Submissions that were not refused.
    sequence: u64,
    /// Numbers of the commands in the drive, by tag.
    tags: HashMap<u64, u32, NumberHashing>,
    /// What was submitted at `last_submit_ns` and will be refused.
    refused: Vec<(u64, Refusal)>,
}

impl ReadPriorityDrive {
    /// A drive as it leaves the factory: nothing written, its clock at 0.
    pub fn new(profile: FlashProfile) -> Self {
        let map = Map::new(Geometry::of(&profile), Rules::of(&profile));
        Self {
            stations: Stations::new(Figures::of(&profile), map),
            profile,
            now_ns: 0,
            last_submit_ns: 0,
            off_ns: None,
            sequence: 0,
            tags: HashMap::default(),
            refused: Vec::new(),
        }
    }

    /// The data sheet.
    pub fn profile(&self) -> &FlashProfile {
        &self.profile
    }

    fn next_ns(&self) -> Option<u64> {
        let refusal = (!self.refused.is_empty()).then_some(self.last_submit_ns);
        refusal.into_iter().chain(self.stations.next_ns()).min()
    }

    /// Decide everything before `at_ns`.
    fn decide(&mut self, at_ns: u64, out: &mut Decisions) -> Result<(), Misuse> {
        while let Some(next_ns) = self.next_ns().filter(|next_ns| *next_ns < at_ns) {
            if !self.refused.is_empty() && next_ns == self.last_submit_ns {
                out.completions.extend(self.refused.drain(..).map(|(tag, refusal)| TaggedCompletion {
                    tag: Tag(tag),
                    complete_ns: next_ns,
                    status: Status::Refused(refusal),
                }));
            }
            if !self.stations.step(next_ns) {
                return Err(Misuse::Endless { at_ns: next_ns });
            }
            self.stations.ended.sort_unstable_by_key(|ended| ended.sequence);
            out.completions.extend(self.stations.ended.drain(..).map(|ended| TaggedCompletion {
                tag: Tag(ended.tag),
                complete_ns: ended.complete_ns,
                status: Status::Done,
            }));
            for (tag, number) in self.stations.released.drain(..) {
                if self.tags.get(&tag) == Some(&number) {
                    self.tags.remove(&tag);
                }
            }
            out.persisted.append(&mut self.stations.persisted);
        }
        Ok(())
    }

    /// Whether a request with this tag is outstanding.
    fn is_outstanding(&self, tag: u64) -> bool {
        let of_command = self.tags.get(&tag).is_some_and(|number| {
            let command = self.stations.commands.at(*number);
            !command.decided || command.end_ns > self.now_ns
        });
        of_command || self.refused.iter().any(|(refused, _)| *refused == tag)
    }

    fn refusal(&self, submission: &Submission) -> Option<Refusal> {
        if let Some(at_ns) = self.off_ns {
            return Some(Refusal::DroppedOff { at_ns });
        }
        let invalid = check(&submission.request, self.capacity_bytes(), SECTOR_BYTES).err();
        let discards = submission.request.kind == RequestKind::Discard;
        invalid.or_else(|| (discards && self.profile.trim == Trim::Refused).then_some(Refusal::NoDiscard))
    }

    fn wear_indicator_percent(&self) -> u64 {
        let cycles = self.profile.pe_cycles.unwrap_or(u64::MAX);
        let rated = cycles.saturating_mul(self.profile.good_blocks());
        100 - (u128::from(self.stations.counters.blocks_erased) * 100 / u128::from(rated)).min(100) as u64
    }
}

#[deny(clippy::missing_trait_methods)]
impl BlockDevice for ReadPriorityDrive {
    fn capacity_bytes(&self) -> u64 {
        self.profile.basics.capacity_bytes
    }

    fn sector_bytes(&self) -> u32 {
        SECTOR_BYTES
    }

    fn page_bytes(&self) -> u32 {
        self.profile.page_bytes
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn submit(&mut self, submission: Submission) -> Result<(), Misuse> {
        let (request, tag) = (submission.request, submission.tag);
        let (submit_ns, earliest_ns) = (request.submit_ns, self.now_ns.max(self.last_submit_ns));
        if submit_ns < earliest_ns {
            return Err(Misuse::Past { submit_ns, earliest_ns });
        }
        if let Some(event_ns) = self.next_ns().filter(|event_ns| *event_ns < submit_ns) {
            return Err(Misuse::PastEvent { submit_ns, event_ns });
        }
        if self.is_outstanding(tag.0) {
            return Err(Misuse::DuplicateTag(tag));
        }
        self.last_submit_ns = submit_ns;
        if let Some(refusal) = self.refusal(&submission) {
            self.refused.push((tag.0, refusal));
        } else {
            let number = self.stations.submit(tag.0, self.sequence, &request);
            self.tags.insert(tag.0, number);
            self.sequence += 1;
        }
        Ok(())
    }

    fn advance_to(&mut self, at_ns: u64, out: &mut Decisions) -> Result<(), Misuse> {
        if at_ns > self.now_ns {
            self.decide(at_ns, out)?;
            self.now_ns = at_ns;
        }
        Ok(())
    }

    fn next_event(&self) -> Option<Event> {
        let serves = !self.refused.is_empty() || self.stations.undecided > 0;
        let class = if serves { EventClass::Foreground } else { EventClass::Background };
        self.next_ns().map(|at_ns| Event { at_ns, class })
    }

    fn report_persisted(&mut self, wanted: bool) {
        self.stations.reports = wanted;
    }

    fn losses(&self, offset_bytes: u64, length_bytes: u64, cut: PowerCut) -> Result<Vec<Loss>, PowerCutError> {
        self.can_cut(cut.at_ns)?;
        Ok(self.stations.losses(offset_bytes, offset_bytes.saturating_add(length_bytes)))
    }

    fn counter_names(&self) -> &'static [&'static str] {
        COUNTER_NAMES
    }

    fn counters(&self, out: &mut [u64]) {
        let mut counters = self.stations.counters;
        counters.flash_bytes_programmed = counters.flash_pages_programmed * u64::from(self.profile.page_bytes);
        out.copy_from_slice(&counters.values());
    }

    fn gauge_names(&self) -> &'static [&'static str] {
        GAUGE_NAMES
    }

    fn gauges(&self, out: &mut [u64]) {
        let map = &self.stations.map;
        let erases = map.erase_spread();
        out.copy_from_slice(&[
            u64::from(map.free_blocks),
            u64::from(map.free_blocks_least),
            map.mapped(),
            map.bad_blocks(),
            u64::from(erases.least),
            u64::from(erases.most),
            self.wear_indicator_percent(),
            0,
            u64::from(self.profile.write_buffer_pages - self.stations.buffer_free) * u64::from(self.profile.page_bytes),
        ]);
    }

    fn series_names(&self) -> &'static [&'static str] {
        &SERIES_NAMES
    }

    fn save(&self) -> Vec<u8> {
        self.to_state()
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), StateError> {
        *self = Self::from_state(&self.profile, state)?;
        Ok(())
    }
}

#[deny(clippy::missing_trait_methods)]
impl ManagedDevice for ReadPriorityDrive {
    fn page_sizes(&mut self) -> Option<&mut PageSizes> {
        None
    }

    fn basics(&self) -> &Basics {
        &self.profile.basics
    }

    fn life(&self) -> Life {
        Life::Working
    }

    /// Every block that was written is erased, all arrays at the same time. Counters and wear stay.
    fn may_lag(&self) -> bool {
        false
    }

    fn purge(&mut self) -> Result<(), ManagementError> {
        let outstanding = self.unfinished().len() as u64;
        if outstanding > 0 {
            return Err(ManagementError::Busy { outstanding });
        }
        let from_ns = self.stations.settle(self.now_ns);
        let erased_ns = from_ns + self.stations.erase_everything();
        self.stop(erased_ns);
        Ok(())
    }

    fn power_cut(&mut self, cut: PowerCut, out: &mut Decisions) -> Result<Vec<Loss>, ManagementError> {
        let losses = self.losses(0, self.capacity_bytes(), cut)?;
        if self.off_ns.is_none() {
            self.fail_outstanding(cut.at_ns, out);
            if self.stations.is_protected() {
                self.stations.settle(cut.at_ns);
                self.stations.persisted.clear();
            }
            self.stop(cut.at_ns);
        }
        Ok(losses)
    }

    fn power_off(&mut self, at_ns: u64, out: &mut Decisions) -> Result<(), ManagementError> {
        if at_ns < self.now_ns || self.next_ns().is_some_and(|event_ns| event_ns < at_ns) {
            self.can_cut(at_ns)?;
        }
        if self.off_ns.is_none() {
            self.fail_outstanding(at_ns, out);
            let end_ns = self.stations.settle(at_ns);
            out.persisted.append(&mut self.stations.persisted);
            self.stop(end_ns);
        }
        Ok(())
    }

    fn power_on(&mut self) {
        self.off_ns = None;
    }
}
