//! Adapter from the immediate to the general block-device contract: [`QueueAdapter`] wraps a device that computes a
//! completion time as soon as it has a request, and reports the completion when the clock reaches that time.

use crate::array::Answers;
use crate::block_device::{
    BlockDevice, Decisions, DurableExtent, Event, EventClass, Fate, Loss, ManagedDevice, ManagementError, Misuse,
    PowerCut, Submission, Tag, TaggedCompletion,
};
use crate::device::{Completion, Life, Refusal, Request, RequestKind, Status};
use crate::forward::{forward, forward_facts};
use crate::management::{ManagedImmediate, PowerCutError};
use crate::page_sizes::PageSizes;
use crate::profile::Basics;
use crate::saved_state::{Format, StateError, corrupt, reachable};
use crate::splitmix::draw;
use mileage_workload::Op;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet, VecDeque};

const FORMAT: Format = Format { magic: "MILEQUED", version: 2 };

/// A request that has not completed, or a write whose durability the host wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    tag: Tag,
    kind: RequestKind,
    offset_bytes: u64,
    length_bytes: u64,
    complete_ns: u64,
    status: Status,
    decided: bool,
    /// Number of the write command, counted by the device; of other requests the next one's.
    write: u64,
}

impl Entry {
    fn changes(&self) -> bool {
        self.status == Status::Done && matches!(self.kind, RequestKind::Write | RequestKind::Discard)
    }
}

/// Wraps an [`crate::Immediate`] device so that it can be used as a [`BlockDevice`].
#[derive(Clone, Debug)]
pub struct QueueAdapter<D> {
    device: D,
    now_ns: u64,
    last_submit_ns: u64,
    /// Since when it is switched off.
    off_ns: Option<u64>,
    submissions: u64,
    /// Requests that have not completed, by (completion, submission).
    outstanding: BTreeMap<(u64, u64), Entry>,
    tags: HashSet<Tag>,
    /// Keys of those that were submitted at `last_submit_ns` and are not decided.
    undecided: Vec<(u64, u64)>,
    /// Write commands that the device has counted, and the tags of the last of them.
    writes: u64,
    write_tags: VecDeque<Tag>,
    reports_persisted: bool,
    /// Writes that were not reported as durable yet.
    unreported: VecDeque<Entry>,
}

/// The part of a range inside another.
fn clipped(offset_bytes: u64, length_bytes: u64, within: (u64, u64)) -> Option<(u64, u64)> {
    let from = offset_bytes.max(within.0);
    let end = (offset_bytes + length_bytes).min(within.0.saturating_add(within.1));
    (from < end).then(|| (from, end - from))
}

impl<D: ManagedImmediate> QueueAdapter<D> {
    /// A device on which nothing is outstanding.
    pub fn new(device: D) -> Self {
        let now_ns = device.now_ns();
        let writes = device.undurable_at(now_ns).ok().flatten().map_or(0, |undurable| undurable.writes);
        Self {
            device,
            now_ns,
            last_submit_ns: now_ns,
            off_ns: None,
            submissions: 0,
            outstanding: BTreeMap::new(),
            tags: HashSet::new(),
            undecided: Vec::new(),
            writes,
            write_tags: VecDeque::new(),
            reports_persisted: false,
            unreported: VecDeque::new(),
        }
    }

    /// The device.
    pub fn inner(&self) -> &D {
        &self.device
    }

    pub(crate) fn inner_mut(&mut self) -> &mut D {
        &mut self.device
    }

    pub(crate) fn into_inner(self) -> D {
        self.device
    }

    /// The tags of writes that the device may still lose.
    fn needed_write_tags(&self) -> usize {
        let undurable = match self.device.undurable_at(self.device.now_ns()) {
            // No power cut is possible before `until_ns`, so the state at that instant answers the question.
            Err(PowerCutError::Stalled { until_ns, .. }) => self.device.undurable_at(until_ns),
            known => known,
        };
        let undurable = undurable.ok().flatten();
        let first = undurable.and_then(|it| it.parts.iter().map(|part| part.part.write).min());
        first.map_or(0, |first| (self.writes - first) as usize).min(self.write_tags.len())
    }

    fn note_write(&mut self, tag: Tag) {
        self.writes += 1;
        self.write_tags.push_back(tag);
        if self.write_tags.len().is_power_of_two() && self.write_tags.len() >= 1024 {
            let needed = self.needed_write_tags();
            self.write_tags.drain(..self.write_tags.len() - needed);
        }
    }

    fn answer(&mut self, request: &Request, tag: Tag) -> Completion {
        self.last_submit_ns = request.submit_ns;
        if let Some(at_ns) = self.off_ns {
            let status = Status::Refused(Refusal::DroppedOff { at_ns });
            return Completion { complete_ns: request.submit_ns, status };
        }
        let completion = self.device.submit_one(request);
        // A command that was lost on its way never became a write of the device, so it must not count.
        let is_lost = matches!(completion.status, Status::Refused(_) | Status::TimedOut { .. });
        if request.kind == RequestKind::Write && !is_lost {
            self.note_write(tag);
        }
        completion
    }

    /// Whether requests may be submitted by [`Self::submit_at_once`]: nothing is outstanding, and no reports are wanted.
    pub(crate) fn answers(&self) -> Answers {
        if !self.outstanding.is_empty() || self.off_ns.is_some() || self.reports_persisted {
            return Answers::Uncertain;
        }
        let loses_writes = !matches!(
            self.device.undurable_at(self.device.now_ns()),
            Ok(None) | Err(PowerCutError::Unknown | PowerCutError::Packed)
        );
        Answers::AtOnce { loses_writes }
    }

    /// Submit a request whose completion the caller waits for. The clock stays where it is until it is advanced.
    pub(crate) fn submit_at_once(&mut self, request: &Request, tag: Tag) -> Completion {
        self.answer(request, tag)
    }

    /// As [`crate::Immediate::prefetch`].
    pub(crate) fn prefetch(&mut self, later: &[Op], soon: &[Op]) {
        self.device.prefetch(later, soon);
    }

    fn undecided_event(&self) -> Option<u64> {
        (!self.undecided.is_empty()).then_some(self.last_submit_ns)
    }

    /// Forget what has completed.
    fn complete(&mut self) {
        while let Some(first) = self.outstanding.first_entry() {
            if first.key().0 > self.now_ns {
                break;
            }
            let entry = first.remove();
            self.tags.remove(&entry.tag);
            if self.reports_persisted && entry.changes() {
                self.unreported.push_back(entry);
            }
        }
    }

    fn report(&mut self, out: &mut Decisions) {
        if self.unreported.is_empty() {
            return;
        }
        let Ok(undurable) = self.device.undurable_at(self.device.now_ns()) else { return };
        let lost_from = undurable.and_then(|it| it.parts.iter().map(|part| part.part.write).min());
        while let Some(entry) = self.unreported.front()
            && lost_from.is_none_or(|first| entry.write < first)
        {
            let Entry { tag, offset_bytes, length_bytes, .. } = *entry;
            out.persisted.push(DurableExtent { tag, offset_bytes, length_bytes, at_ns: self.now_ns });
            self.unreported.pop_front();
        }
    }

    fn can_cut(&self, at_ns: u64) -> Result<(), PowerCutError> {
        if at_ns < self.now_ns {
            return Err(PowerCutError::Past { at_ns, now_ns: self.now_ns });
        }
        match self.undecided_event() {
            Some(event_ns) if event_ns < at_ns => Err(PowerCutError::PastEvent { at_ns, event_ns }),
            _ => Ok(()),
        }
    }

    /// Fail all requests that are outstanding at `at_ns`, and switch the device off. A request that was submitted at
    /// this instant fails even if its answer takes no time: it was not decided before the power failed.
    fn fail_outstanding(&mut self, at_ns: u64, out: &mut Decisions) {
        self.now_ns = at_ns;
        let status = Status::DroppedOff { at_ns };
        let fails = |(key, entry): &(&(u64, u64), &Entry)| key.0 > at_ns || !entry.decided;
        let mut failing: Vec<(u64, Tag)> =
            self.outstanding.iter().filter(fails).map(|(key, entry)| (key.1, entry.tag)).collect();
        failing.sort_unstable();
        out.completions.extend(failing.iter().map(|(_, tag)| TaggedCompletion {
            tag: *tag,
            complete_ns: at_ns,
            status,
        }));
        self.outstanding.clear();
        self.undecided.clear();
        self.tags.clear();
        self.unreported.clear();
        self.write_tags.clear();
        self.off_ns = Some(at_ns);
        self.now_ns = self.now_ns.max(self.device.now_ns());
        self.last_submit_ns = self.now_ns;
    }
}

/// Draw for each page of a request that is outstanding when the power fails whether it is done: nobody can know which
/// are.
fn drawn(entry: &Entry, page_bytes: u64, seed: u64, mut lost: impl FnMut(u64, u64)) {
    let end = entry.offset_bytes + entry.length_bytes;
    let mut from = entry.offset_bytes;
    while from < end {
        let to = ((from / page_bytes + 1) * page_bytes).min(end);
        if draw(draw(seed, entry.tag.0), from / page_bytes).is_multiple_of(2) {
            lost(from, to - from);
        }
        from = to;
    }
}

#[deny(clippy::missing_trait_methods)]
impl<D: ManagedImmediate> BlockDevice for QueueAdapter<D> {
    forward_facts! { device }
    forward! { device;
        ref page_bytes() -> u32;
        ref gauge_names() -> &'static [&'static str];
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
        if let Some(event_ns) = self.undecided_event().filter(|event_ns| submit_ns > *event_ns) {
            return Err(Misuse::PastEvent { submit_ns, event_ns });
        }
        if !self.tags.insert(tag) {
            return Err(Misuse::DuplicateTag(tag));
        }
        let write = self.writes;
        let Completion { complete_ns, status } = self.answer(&request, tag);
        let Request { kind, offset_bytes, length_bytes, .. } = request;
        let entry = Entry { tag, kind, offset_bytes, length_bytes, complete_ns, status, decided: false, write };
        let key = (complete_ns, self.submissions);
        self.submissions += 1;
        self.outstanding.insert(key, entry);
        self.undecided.push(key);
        Ok(())
    }

    fn advance_to(&mut self, at_ns: u64, out: &mut Decisions) -> Result<(), Misuse> {
        if at_ns <= self.now_ns {
            return Ok(());
        }
        if self.last_submit_ns < at_ns {
            for key in self.undecided.drain(..) {
                if let Some(entry) = self.outstanding.get_mut(&key) {
                    entry.decided = true;
                    let Entry { tag, complete_ns, status, .. } = *entry;
                    out.completions.push(TaggedCompletion { tag, complete_ns, status });
                }
            }
        }
        self.now_ns = at_ns;
        if self.off_ns.is_none() {
            self.device.advance_to(at_ns);
        }
        self.complete();
        self.report(out);
        Ok(())
    }

    fn next_event(&self) -> Option<Event> {
        self.undecided_event().map(|at_ns| Event { at_ns, class: EventClass::Foreground })
    }

    fn report_persisted(&mut self, wanted: bool) {
        self.reports_persisted = wanted;
        if !wanted {
            self.unreported.clear();
        }
    }

    fn losses(&self, offset_bytes: u64, length_bytes: u64, cut: PowerCut) -> Result<Vec<Loss>, PowerCutError> {
        self.can_cut(cut.at_ns)?;
        if self.off_ns.is_some() {
            return Ok(Vec::new());
        }
        let within = (offset_bytes, length_bytes);
        let mut losses = Vec::new();
        let mut lose = |tag, offset_bytes, length_bytes| {
            if let Some((offset_bytes, length_bytes)) = clipped(offset_bytes, length_bytes, within) {
                losses.push(Loss { tag, offset_bytes, length_bytes, fate: Fate::Old });
            }
        };
        if let Some(undurable) = self.device.undurable_at(cut.at_ns)? {
            let first = self.writes - self.write_tags.len() as u64;
            for part in undurable.parts.iter().map(|it| it.part) {
                if let Some(tag) = part.write.checked_sub(first).and_then(|at| self.write_tags.get(at as usize)) {
                    lose(*tag, part.offset_bytes, u64::from(part.length_bytes));
                }
            }
        } else {
            let mut late: Vec<(u64, &Entry)> =
                self.outstanding.range((cut.at_ns + 1, 0)..).map(|(key, it)| (key.1, it)).collect();
            late.sort_unstable_by_key(|(sequence, _)| *sequence);
            for (_, entry) in late.iter().filter(|(_, entry)| entry.changes()) {
                drawn(entry, u64::from(self.page_bytes()), cut.seed, |from, length| lose(entry.tag, from, length));
            }
        }
        Ok(losses)
    }

    fn save(&self) -> Vec<u8> {
        let mut out = FORMAT.begin(0);
        let earliest_ns = self.now_ns.max(self.last_submit_ns);
        out.value(&(self.now_ns, earliest_ns, self.off_ns, self.reports_persisted, self.writes));
        let forgotten = self.write_tags.len() - self.needed_write_tags();
        out.value(&self.write_tags.iter().skip(forgotten).collect::<Vec<_>>());
        // In the order of submission, which is all that their numbers say.
        let mut outstanding: Vec<(u64, &Entry)> = self.outstanding.iter().map(|(key, entry)| (key.1, entry)).collect();
        outstanding.sort_unstable_by_key(|(submission, _)| *submission);
        out.value(&outstanding.iter().map(|(_, entry)| *entry).collect::<Vec<_>>());
        out.value(&self.unreported);
        out.bytes(&self.device.save());
        Format::end(out)
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), StateError> {
        let mut reader = FORMAT.open(state, 0, "")?;
        let (now_ns, last_submit_ns, off_ns, reports_persisted, writes) = reader.value()?;
        reachable([now_ns, last_submit_ns, writes])?;
        let write_tags: VecDeque<Tag> = reader.value()?;
        if write_tags.len() as u64 > writes {
            return corrupt("more tags than writes");
        }
        let (entries, unreported): (Vec<Entry>, VecDeque<Entry>) = (reader.value()?, reader.value()?);
        self.device.restore(reader.rest())?;
        let key = |(submission, entry): (u64, &Entry)| (entry.complete_ns, submission);
        self.undecided = (0..).zip(&entries).filter(|(_, entry)| !entry.decided).map(key).collect();
        self.tags = entries.iter().map(|entry| entry.tag).collect();
        self.outstanding = (0..).zip(&entries).map(|(submission, entry)| (key((submission, entry)), *entry)).collect();
        self.submissions = entries.len() as u64;
        (self.now_ns, self.last_submit_ns, self.off_ns) = (now_ns, last_submit_ns, off_ns);
        (self.writes, self.write_tags) = (writes, write_tags);
        (self.reports_persisted, self.unreported) = (reports_persisted, unreported);
        Ok(())
    }
}

#[deny(clippy::missing_trait_methods)]
impl<D: ManagedImmediate> ManagedDevice for QueueAdapter<D> {
    forward! { device;
        mut page_sizes() -> Option<&mut PageSizes>;
        ref basics() -> &Basics;
        ref life() -> Life;
    }

    fn may_lag(&self) -> bool {
        // The device inside may collect garbage while time passes, which is no event.
        false
    }

    fn purge(&mut self) -> Result<(), ManagementError> {
        if !self.outstanding.is_empty() {
            return Err(ManagementError::Busy { outstanding: self.outstanding.len() as u64 });
        }
        self.device.purge();
        self.now_ns = self.now_ns.max(self.device.now_ns());
        Ok(())
    }

    fn power_cut(&mut self, cut: PowerCut, out: &mut Decisions) -> Result<Vec<Loss>, ManagementError> {
        let losses = self.losses(0, self.capacity_bytes(), cut)?;
        if self.off_ns.is_none() {
            self.device.power_cut(cut.at_ns)?;
            self.fail_outstanding(cut.at_ns, out);
        }
        Ok(losses)
    }

    fn power_off(&mut self, at_ns: u64, out: &mut Decisions) -> Result<(), ManagementError> {
        self.can_cut(at_ns)?;
        if self.off_ns.is_none() {
            self.device.advance_to(at_ns);
            self.device.power_cycle();
            self.fail_outstanding(at_ns, out);
        }
        Ok(())
    }

    fn power_on(&mut self) {
        self.off_ns = None;
    }
}
