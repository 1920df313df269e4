//! The smallest general block device: one server, the same time for every request, a volatile write cache. An example for
//! new devices, a member for tests of composite ones, and no model of anything.
//!
//! # Model
//! When the server is free it takes the waiting request with the lowest address, of equal ones the one submitted first; so
//! a later submission can overtake. A write or discard completes after its time and is durable some time later, or when a
//! flush completes that was submitted after it had completed. A power cut leaves of the write that is being served a number
//! of sectors and tears the next one.

use crate::block_device::{
    BlockDevice, Decisions, DurableExtent, Event, EventClass, Fate, Loss, ManagedDevice, ManagementError, Misuse,
    PowerCut, Submission, Tag, TaggedCompletion,
};
use crate::device::{Life, Refusal, Request, RequestKind, Status, check};
use crate::management::PowerCutError;
use crate::page_sizes::PageSizes;
use crate::profile::{Basics, Faults};
use crate::saved_state::{Format, StateError, reachable, saved_fields};
use crate::splitmix::draw;
use serde::{Deserialize, Serialize};

const FORMAT: Format = Format { magic: "MILECONS", version: 2 };
const SECTOR_BYTES: u32 = 512;
const COUNTERS: &[&str] = &["requests_read", "requests_written", "requests_discarded", "requests_flushed"];
const NEVER: u64 = u64::MAX;

/// A request that has not ended, or whose effect is not durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    request: Request,
    tag: Tag,
    /// Reason for which it will be refused.
    refusal: Option<Refusal>,
    /// [`NEVER`] until it is decided.
    complete_ns: u64,
    /// [`NEVER`] until it is decided.
    durable_ns: u64,
}

impl Entry {
    fn waits(&self) -> bool {
        self.complete_ns == NEVER
    }

    fn changes(&self) -> bool {
        self.refusal.is_none() && matches!(self.request.kind, RequestKind::Write | RequestKind::Discard)
    }
}

/// A device that takes the same time for every request, as the module describes.
#[derive(Clone, Debug)]
pub struct ConstantTime {
    basics: Basics,
    service_ns: u64,
    persist_ns: u64,
    now_ns: u64,
    last_submit_ns: u64,
    off_ns: Option<u64>,
    /// The server is free from then on.
    free_ns: u64,
    /// In the order of submission.
    entries: Vec<Entry>,
    reports_persisted: bool,
    counters: [u64; COUNTERS.len()],
}

impl ConstantTime {
    /// A new device that takes `service_ns` (at least 1) for each request, and `persist_ns` more until a write is durable.
    pub fn new(capacity_bytes: u64, service_ns: u64, persist_ns: u64) -> Self {
        let basics = Basics {
            name: "constant-time".to_owned(),
            title: "A device that takes the same time for every request".to_owned(),
            capacity_bytes,
            rated_write_bytes: None,
            faults: Faults::default(),
            figures: Vec::new(),
            rates: Vec::new(),
        };
        Self {
            basics,
            service_ns: service_ns.max(1),
            persist_ns,
            now_ns: 0,
            last_submit_ns: 0,
            off_ns: None,
            free_ns: 0,
            entries: Vec::new(),
            reports_persisted: false,
            counters: [0; COUNTERS.len()],
        }
    }

    /// Time at which the next request is taken or refused.
    fn decision_ns(&self) -> Option<u64> {
        let waiting = self.entries.iter().filter(|entry| entry.waits());
        let at_ns = |entry: &Entry| match entry.refusal {
            Some(_) => entry.request.submit_ns,
            None => entry.request.submit_ns.max(self.free_ns),
        };
        waiting.map(at_ns).min()
    }

    /// Decide what is due at this instant, in the order of submission.
    fn decide(&mut self, at_ns: u64, out: &mut Decisions) {
        let due = |entry: &Entry| entry.waits() && entry.request.submit_ns <= at_ns;
        let servable = self.entries.iter().enumerate().filter(|(_, entry)| due(entry) && entry.refusal.is_none());
        let free = self.free_ns <= at_ns;
        let next = servable.min_by_key(|(index, entry)| (entry.request.offset_bytes, *index)).map(|(index, _)| index);
        for index in 0..self.entries.len() {
            let entry = &mut self.entries[index];
            if !due(entry) {
                continue;
            }
            let (complete_ns, status) = match entry.refusal {
                Some(refusal) => (entry.request.submit_ns, Status::Refused(refusal)),
                None if free && next == Some(index) => (at_ns + self.service_ns, Status::Done),
                None => continue,
            };
            entry.complete_ns = complete_ns;
            out.completions.push(TaggedCompletion { tag: entry.tag, complete_ns, status });
            if status == Status::Done {
                self.serve(index, complete_ns);
            }
        }
    }

    fn serve(&mut self, index: usize, complete_ns: u64) {
        self.free_ns = complete_ns;
        let Entry { request: Request { kind, fua, submit_ns, .. }, .. } = self.entries[index];
        self.counters[kind as usize] += 1;
        let lasts_ns = if kind == RequestKind::Write && !fua { self.persist_ns } else { 0 };
        self.entries[index].durable_ns = complete_ns + lasts_ns;
        if kind == RequestKind::Flush {
            for entry in self.entries.iter_mut().filter(|entry| entry.complete_ns <= submit_ns) {
                entry.durable_ns = entry.durable_ns.min(complete_ns);
            }
        }
    }

    /// Forget what has completed and is durable.
    fn settle(&mut self, out: &mut Decisions) {
        let (now_ns, reports, first) = (self.now_ns, self.reports_persisted, out.persisted.len());
        self.entries.retain(|entry| {
            let settled = entry.complete_ns <= now_ns && (!entry.changes() || entry.durable_ns <= now_ns);
            if settled && reports && entry.changes() {
                let Entry { tag, request: Request { offset_bytes, length_bytes, .. }, durable_ns, .. } = *entry;
                out.persisted.push(DurableExtent { tag, offset_bytes, length_bytes, at_ns: durable_ns });
            }
            !settled
        });
        out.persisted[first..].sort_by_key(|persisted| persisted.at_ns);
    }

    fn outstanding(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.complete_ns > self.now_ns)
    }

    fn can_cut(&self, at_ns: u64) -> Result<(), PowerCutError> {
        if at_ns < self.now_ns {
            return Err(PowerCutError::Past { at_ns, now_ns: self.now_ns });
        }
        match self.decision_ns() {
            Some(event_ns) if event_ns < at_ns => Err(PowerCutError::PastEvent { at_ns, event_ns }),
            _ => Ok(()),
        }
    }

    fn switch_off(&mut self, at_ns: u64, out: &mut Decisions) {
        self.now_ns = at_ns;
        let status = Status::DroppedOff { at_ns };
        let failed = self.outstanding().map(|entry| TaggedCompletion { tag: entry.tag, complete_ns: at_ns, status });
        out.completions.extend(failed);
        self.entries.clear();
        (self.off_ns, self.free_ns, self.last_submit_ns) = (Some(at_ns), at_ns, at_ns);
    }
}

#[deny(clippy::missing_trait_methods)]
impl BlockDevice for ConstantTime {
    fn capacity_bytes(&self) -> u64 {
        self.basics.capacity_bytes
    }

    fn sector_bytes(&self) -> u32 {
        SECTOR_BYTES
    }

    fn page_bytes(&self) -> u32 {
        SECTOR_BYTES
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
        if let Some(Event { at_ns: event_ns, .. }) = self.next_event().filter(|event| event.at_ns < submit_ns) {
            return Err(Misuse::PastEvent { submit_ns, event_ns });
        }
        if self.outstanding().any(|entry| entry.tag == tag) {
            return Err(Misuse::DuplicateTag(tag));
        }
        self.last_submit_ns = submit_ns;
        let refusal = match self.off_ns {
            Some(at_ns) => Some(Refusal::DroppedOff { at_ns }),
            None => check(&request, self.basics.capacity_bytes, SECTOR_BYTES).err(),
        };
        self.entries.push(Entry { request, tag, refusal, complete_ns: NEVER, durable_ns: NEVER });
        Ok(())
    }

    fn advance_to(&mut self, at_ns: u64, out: &mut Decisions) -> Result<(), Misuse> {
        while let Some(decision_ns) = self.decision_ns().filter(|decision_ns| *decision_ns < at_ns) {
            self.decide(decision_ns, out);
        }
        self.now_ns = self.now_ns.max(at_ns);
        self.settle(out);
        Ok(())
    }

    fn next_event(&self) -> Option<Event> {
        let foreground = self.decision_ns().map(|at_ns| Event { at_ns, class: EventClass::Foreground });
        let durable = self.entries.iter().filter(|entry| self.reports_persisted && entry.durable_ns != NEVER);
        let background = durable.map(|entry| Event { at_ns: entry.durable_ns, class: EventClass::Background });
        foreground.into_iter().chain(background).min()
    }

    fn report_persisted(&mut self, wanted: bool) {
        self.reports_persisted = wanted;
    }

    fn losses(&self, offset_bytes: u64, length_bytes: u64, cut: PowerCut) -> Result<Vec<Loss>, PowerCutError> {
        self.can_cut(cut.at_ns)?;
        let mut losses = Vec::new();
        for entry in self.entries.iter().filter(|entry| entry.changes() && entry.durable_ns > cut.at_ns) {
            let (from, bytes) = (entry.request.offset_bytes, entry.request.length_bytes);
            let mut lose = |start: u64, end: u64, fate| {
                let (start, end) = (start.max(offset_bytes), end.min(offset_bytes.saturating_add(length_bytes)));
                if start < end {
                    losses.push(Loss { tag: entry.tag, offset_bytes: start, length_bytes: end - start, fate });
                }
            };
            if entry.complete_ns > cut.at_ns && !entry.waits() {
                let sector = u64::from(SECTOR_BYTES);
                let torn = from + draw(cut.seed, entry.tag.0) % (bytes / sector) * sector;
                lose(torn, torn + sector, Fate::Torn);
                lose(torn + sector, from + bytes, Fate::Old);
            } else {
                lose(from, from + bytes, Fate::Old);
            }
        }
        Ok(losses)
    }

    fn counter_names(&self) -> &'static [&'static str] {
        COUNTERS
    }

    fn counters(&self, out: &mut [u64]) {
        out.copy_from_slice(&self.counters);
    }

    fn gauge_names(&self) -> &'static [&'static str] {
        &[]
    }

    fn gauges(&self, out: &mut [u64]) {
        assert!(out.is_empty(), "a device without gauges was asked for {}", out.len());
    }

    fn series_names(&self) -> &'static [&'static str] {
        COUNTERS
    }

    fn save(&self) -> Vec<u8> {
        let mut out = FORMAT.begin(self.fingerprint());
        out.value(&self.now_ns.max(self.last_submit_ns));
        self.save_fields(&mut out);
        Format::end(out)
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), StateError> {
        let mut reader = FORMAT.open(state, self.fingerprint(), &self.basics.name)?;
        let mut new = self.clone();
        new.last_submit_ns = reader.value()?;
        new.restore_fields(&mut reader)?;
        reader.end()?;
        reachable([new.now_ns, new.last_submit_ns, new.free_ns])?;
        *self = new;
        Ok(())
    }
}

impl ConstantTime {
    saved_fields!(now_ns, off_ns, free_ns, reports_persisted, counters, entries);

    /// Hash of all figures that determine the behaviour of the device.
    fn fingerprint(&self) -> u64 {
        [self.basics.capacity_bytes, self.service_ns, self.persist_ns].into_iter().fold(0, draw)
    }
}

#[deny(clippy::missing_trait_methods)]
impl ManagedDevice for ConstantTime {
    fn page_sizes(&mut self) -> Option<&mut PageSizes> {
        None
    }

    fn basics(&self) -> &Basics {
        &self.basics
    }

    fn life(&self) -> Life {
        Life::Working
    }

    fn may_lag(&self) -> bool {
        true
    }

    fn purge(&mut self) -> Result<(), ManagementError> {
        match self.outstanding().count() as u64 {
            0 => {
                self.entries.clear();
                self.now_ns += self.service_ns;
                Ok(())
            }
            outstanding => Err(ManagementError::Busy { outstanding }),
        }
    }

    fn power_cut(&mut self, cut: PowerCut, out: &mut Decisions) -> Result<Vec<Loss>, ManagementError> {
        let losses = self.losses(0, self.capacity_bytes(), cut)?;
        if self.off_ns.is_none() {
            self.switch_off(cut.at_ns, out);
        }
        Ok(losses)
    }

    fn power_off(&mut self, at_ns: u64, out: &mut Decisions) -> Result<(), ManagementError> {
        self.can_cut(at_ns)?;
        if self.off_ns.is_none() {
            self.switch_off(at_ns, out);
        }
        Ok(())
    }

    fn power_on(&mut self) {
        self.off_ns = None;
    }
}
