//! Disks: [`DiskDrive`] is a controller with caches and a queue, and an arm over spinning platters.
//!
//! # Model
//! A command waits for one of the drive's places, for the controller's time and, if it writes, for its data to come over
//! the link; then it is answered from a cache or waits for the arm. The arm takes the next command by the profile's
//! scheduling: it seeks (`a + b sqrt(d)`, then `c + e d`) and switches heads at the same time, settles before a write, waits
//! until the first sector passes, and reads or writes as the sectors pass, track after track with their skews. Nothing is
//! random: the angle follows from the clock.
//!
//! While nothing else is asked for a read is read on into its segment of the cache. Writes past the write cache wait for
//! the medium; the write cache answers at once, joins what follows and what overlaps, and is emptied in the order of the
//! scheduling, among the oldest of its extents. A physical sector that is written in part is read first and written a
//! revolution later. A flush waits for all that was submitted before it and holds up what comes after it.
//!
//! # Not modelled
//! Defects and spare sectors, thermal recalibration, errors, spinning up and down, contention on the link between reads
//! from the medium. A discard takes the controller's time and changes nothing; a purge forgets the caches and takes no
//! time.
//!
//! # Power
//! The write cache is volatile. Of a write in progress the sectors that have passed are on the medium, the physical sector
//! under the head is unreadable, the others are as before.

mod arm;
mod controller;
mod counters;
mod geometry;
mod power_loss;
mod queue;
mod saved_state;
mod segments;
mod write_cache;

use crate::block_device::{
    BlockDevice, Decisions, Event, EventClass, Loss, ManagedDevice, ManagementError, Misuse, PowerCut, Submission, Tag,
    TaggedCompletion,
};
use crate::device::{Life, Refusal, Request, RequestKind, Status, check};
use crate::management::PowerCutError;
use crate::number_hasher::NumberHashing;
use crate::page_sizes::PageSizes;
use crate::profile::{Basics, DiskProfile};
use crate::saved_state::StateError;
use controller::{Command, Controller, Decision, Kind};
pub(crate) use counters::{COUNTER_NAMES, GAUGE_NAMES};
use counters::{Counter, SERIES_NAMES};
use power_loss::Part;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

const SECTOR_BYTES: u32 = 512;
const NEVER: u64 = u64::MAX;

/// A request that has not completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct OutstandingRequest {
    sequence: u64,
    /// [`NEVER`] until it is decided.
    complete_ns: u64,
}

/// A simulated hard disk in virtual time; the module describes the model.
#[derive(Clone, Debug)]
pub struct DiskDrive {
    profile: DiskProfile,
    controller: Controller,
    now_ns: u64,
    last_submit_ns: u64,
    /// Since when it is switched off.
    off_ns: Option<u64>,
    /// Submissions that were not refused.
    sequence: u64,
    /// Behind the last sector of the last read or write.
    last_end: u64,
    /// Outstanding requests by tag; completed ones are removed now and then.
    outstanding: HashMap<u64, OutstandingRequest, NumberHashing>,
    /// Number of entries above which completed ones are removed.
    crowded: usize,
    /// Requests submitted at `last_submit_ns` that will be refused.
    refused: Vec<(u64, Refusal)>,
    decided: Vec<Decision>,
}

impl DiskDrive {
    /// A disk as it leaves the factory: its clock at 0, its heads over the outermost track.
    pub fn new(profile: DiskProfile) -> Self {
        Self {
            controller: Controller::new(&profile),
            profile,
            now_ns: 0,
            last_submit_ns: 0,
            off_ns: None,
            sequence: 0,
            last_end: 0,
            outstanding: HashMap::default(),
            crowded: 64,
            refused: Vec::new(),
            decided: Vec::new(),
        }
    }

    /// The data sheet.
    pub fn profile(&self) -> &DiskProfile {
        &self.profile
    }

    /// Requests that have not completed, by their submission.
    fn unfinished(&self) -> Vec<u64> {
        let mut tags: Vec<(u64, u64)> = self
            .outstanding
            .iter()
            .filter(|(_, it)| it.complete_ns > self.now_ns)
            .map(|(tag, it)| (it.sequence, *tag))
            .collect();
        tags.sort_unstable();
        tags.into_iter().map(|(_, tag)| tag).collect()
    }

    /// A request that was not refused.
    fn take(&mut self, request: &Request, tag: u64) {
        let Request { kind, fua, offset_bytes, length_bytes, submit_ns } = *request;
        let (sequence, lba, sectors) = (self.sequence, offset_bytes / 512, length_bytes / 512);
        self.sequence += 1;
        let counters = &mut self.controller.counters;
        let kind = match kind {
            RequestKind::Read => Kind::Read,
            RequestKind::Write => Kind::Write { fua },
            RequestKind::Discard => Kind::Discard,
            RequestKind::Flush => Kind::Flush,
        };
        if let Kind::Read | Kind::Write { .. } = kind {
            counters.add(if kind == Kind::Read { Counter::HostRead } else { Counter::HostWritten }, length_bytes);
            counters.add(Counter::Commands, 1);
            counters.add(Counter::Sequential, u64::from(lba == self.last_end));
            counters.add(Counter::Distance, lba.abs_diff(self.last_end));
            self.last_end = lba + sectors;
        }
        if let Kind::Write { .. } = kind {
            let part = Part { tag, first: lba, end: lba + sectors, accepted: 0 };
            self.controller.volatile.parts.insert(sequence, part);
        }
        if self.outstanding.len() >= self.crowded {
            let now_ns = self.now_ns;
            self.outstanding.retain(|_, it| it.complete_ns > now_ns);
            self.crowded = 64 + 2 * self.outstanding.len();
        }
        self.outstanding.insert(tag, OutstandingRequest { sequence, complete_ns: NEVER });
        self.controller.submit(Command { tag, sequence, kind, lba, sectors, submit_ns });
    }

    fn next_ns(&self) -> Option<u64> {
        let refusal = (!self.refused.is_empty()).then_some(self.last_submit_ns);
        refusal.into_iter().chain(self.controller.next_ns()).min()
    }

    /// Decide everything before `at_ns`.
    fn decide(&mut self, at_ns: u64, out: &mut Decisions) {
        while let Some(next_ns) = self.next_ns().filter(|next_ns| *next_ns < at_ns) {
            if !self.refused.is_empty() && next_ns == self.last_submit_ns {
                out.completions.extend(self.refused.drain(..).map(|(tag, refusal)| TaggedCompletion {
                    tag: Tag(tag),
                    complete_ns: next_ns,
                    status: Status::Refused(refusal),
                }));
            }
            if self.controller.next_ns() == Some(next_ns) {
                self.controller.step(next_ns, &mut self.decided);
            }
            for Decision { tag, complete_ns } in self.decided.drain(..) {
                if let Some(it) = self.outstanding.get_mut(&tag) {
                    it.complete_ns = complete_ns;
                }
                out.completions.push(TaggedCompletion { tag: Tag(tag), complete_ns, status: Status::Done });
            }
        }
        self.controller.volatile.settle(at_ns);
        out.persisted.append(&mut self.controller.volatile.persisted);
    }

    fn can_cut(&self, at_ns: u64) -> Result<(), PowerCutError> {
        if at_ns < self.now_ns {
            return Err(PowerCutError::Past { at_ns, now_ns: self.now_ns });
        }
        match self.next_ns() {
            Some(event_ns) if event_ns < at_ns => Err(PowerCutError::PastEvent { at_ns, event_ns }),
            _ => Ok(()),
        }
    }

    /// Everything outstanding at `at_ns` fails.
    fn fail_outstanding(&mut self, at_ns: u64, out: &mut Decisions) {
        self.now_ns = at_ns;
        let status = Status::DroppedOff { at_ns };
        let failed = self.unfinished().into_iter().chain(self.refused.drain(..).map(|(tag, _)| tag));
        let failed: Vec<u64> = failed.collect();
        out.completions.extend(failed.iter().map(|tag| TaggedCompletion {
            tag: Tag(*tag),
            complete_ns: at_ns,
            status,
        }));
        self.outstanding.clear();
        self.controller.volatile.settle(at_ns);
        (self.off_ns, self.last_submit_ns) = (Some(at_ns), at_ns);
    }
}

#[deny(clippy::missing_trait_methods)]
impl BlockDevice for DiskDrive {
    fn capacity_bytes(&self) -> u64 {
        self.profile.basics.capacity_bytes
    }

    fn sector_bytes(&self) -> u32 {
        SECTOR_BYTES
    }

    fn page_bytes(&self) -> u32 {
        self.profile.physical_sectors * SECTOR_BYTES
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn submit(&mut self, submission: Submission) -> Result<(), Misuse> {
        let Submission { request, tag, .. } = submission;
        let (submit_ns, earliest_ns) = (request.submit_ns, self.now_ns.max(self.last_submit_ns));
        if submit_ns < earliest_ns {
            return Err(Misuse::Past { submit_ns, earliest_ns });
        }
        if let Some(event_ns) = self.next_ns().filter(|event_ns| *event_ns < submit_ns) {
            return Err(Misuse::PastEvent { submit_ns, event_ns });
        }
        let outstanding = self.outstanding.get(&tag.0).is_some_and(|it| it.complete_ns > self.now_ns);
        if outstanding || self.refused.iter().any(|(refused, _)| *refused == tag.0) {
            return Err(Misuse::DuplicateTag(tag));
        }
        self.last_submit_ns = submit_ns;
        let refusal = match self.off_ns {
            Some(at_ns) => Some(Refusal::DroppedOff { at_ns }),
            None => check(&request, self.capacity_bytes(), SECTOR_BYTES).err(),
        };
        match refusal {
            Some(refusal) => self.refused.push((tag.0, refusal)),
            None => self.take(&request, tag.0),
        }
        Ok(())
    }

    fn advance_to(&mut self, at_ns: u64, out: &mut Decisions) -> Result<(), Misuse> {
        if at_ns > self.now_ns {
            self.decide(at_ns, out);
            self.now_ns = at_ns;
        }
        Ok(())
    }

    fn next_event(&self) -> Option<Event> {
        let serves = !self.refused.is_empty() || self.controller.serves_host();
        let class = if serves { EventClass::Foreground } else { EventClass::Background };
        let next = self.next_ns().map(|at_ns| Event { at_ns, class });
        let volatile = &self.controller.volatile;
        let persists = volatile.writing.filter(|_| volatile.reports);
        let persists = persists.map(|writing| Event { at_ns: writing.end_ns, class: EventClass::Background });
        next.into_iter().chain(persists).min()
    }

    fn report_persisted(&mut self, wanted: bool) {
        self.controller.volatile.reports = wanted;
    }

    fn losses(&self, offset_bytes: u64, length_bytes: u64, cut: PowerCut) -> Result<Vec<Loss>, PowerCutError> {
        self.can_cut(cut.at_ns)?;
        let within = (offset_bytes / 512, offset_bytes.saturating_add(length_bytes).div_ceil(512));
        let unit = u64::from(self.profile.physical_sectors);
        Ok(self.controller.volatile.losses(&self.controller.geometry, within, unit, cut.at_ns))
    }

    fn counter_names(&self) -> &'static [&'static str] {
        COUNTER_NAMES
    }

    fn counters(&self, out: &mut [u64]) {
        out.copy_from_slice(&self.controller.counters.0);
    }

    fn gauge_names(&self) -> &'static [&'static str] {
        GAUGE_NAMES
    }

    fn gauges(&self, out: &mut [u64]) {
        out.copy_from_slice(&[self.controller.dirty.sectors * 512, u64::from(self.controller.arm.track.0)]);
    }

    fn series_names(&self) -> &'static [&'static str] {
        SERIES_NAMES
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
impl ManagedDevice for DiskDrive {
    fn page_sizes(&mut self) -> Option<&mut PageSizes> {
        None
    }

    fn basics(&self) -> &Basics {
        &self.profile.basics
    }

    fn life(&self) -> Life {
        Life::Working
    }

    fn may_lag(&self) -> bool {
        true
    }

    fn purge(&mut self) -> Result<(), ManagementError> {
        match self.unfinished().len() as u64 {
            0 => {
                self.controller.stop(self.now_ns);
                Ok(())
            }
            outstanding => Err(ManagementError::Busy { outstanding }),
        }
    }

    fn power_cut(&mut self, cut: PowerCut, out: &mut Decisions) -> Result<Vec<Loss>, ManagementError> {
        let losses = self.losses(0, self.capacity_bytes(), cut)?;
        if self.off_ns.is_none() {
            self.fail_outstanding(cut.at_ns, out);
            self.controller.stop(cut.at_ns);
        }
        Ok(losses)
    }

    fn power_off(&mut self, at_ns: u64, out: &mut Decisions) -> Result<(), ManagementError> {
        self.can_cut(at_ns)?;
        if self.off_ns.is_none() {
            self.fail_outstanding(at_ns, out);
            self.controller.forget_commands();
            while let Some(next_ns) = self.controller.next_ns() {
                self.controller.step(next_ns, &mut self.decided);
            }
            self.now_ns = at_ns.max(self.controller.arm.free_ns);
            self.controller.volatile.settle(self.now_ns);
            out.persisted.append(&mut self.controller.volatile.persisted);
            self.controller.stop(self.now_ns);
            self.last_submit_ns = self.now_ns;
        }
        Ok(())
    }

    fn power_on(&mut self) {
        self.off_ns = None;
    }
}
