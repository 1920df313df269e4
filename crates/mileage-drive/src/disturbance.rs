//! Fault injection for general devices: [`DisturbedDevice`] wraps a device and makes it stall, lose commands, drop
//! off or answer more slowly.
//!
//! # Model
//! Stalls, lost commands and the drop-off are those of [`crate::Faulty`], with one difference: a command that arrives during a
//! stall reaches the device only when the stall ends, so that a power cut before that leaves no trace of it. A slower
//! device answers every request that is not refused a constant time later than the device inside.

use crate::block_device::{
    BlockDevice, Decisions, Event, EventClass, Fate, Loss, ManagedDevice, ManagementError, Misuse, PowerCut,
    Submission, Tag, TaggedCompletion,
};
use crate::device::{Life, Refusal, Request, RequestKind, Status, check};
use crate::fault_injector::FaultInjector;
use crate::forward::forward;
use crate::management::PowerCutError;
use crate::page_sizes::PageSizes;
use crate::profile::{Basics, Faults};
use crate::saved_state::{Format, StateError, corrupt, reachable};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

const FORMAT: Format = Format { magic: "MILEDIST", version: 2 };

/// A request that has not completed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    submission: Submission,
    /// Time at which the inner device receives it.
    forward_ns: u64,
    was_forwarded: bool,
    /// End time and outcome, once they are certain.
    end: Option<(u64, Status)>,
    /// The host was informed of it.
    is_decided: bool,
}

/// A general device wrapped with injected faults or a constant delay, as the module describes.
#[derive(Clone, Debug)]
pub struct DisturbedDevice<D> {
    inner: D,
    faults: FaultInjector,
    slower_ns: u64,
    now_ns: u64,
    last_submit_ns: u64,
    off_ns: Option<u64>,
    submissions: u64,
    /// Outstanding requests, in the order of submission.
    entries: BTreeMap<u64, Entry>,
    tags: HashMap<Tag, u64>,
}

impl<D: ManagedDevice> DisturbedDevice<D> {
    /// A device with these faults, on which nothing is outstanding.
    pub fn faulty(inner: D, faults: Faults) -> Self {
        Self::new(inner, faults, 0)
    }

    /// Wrap an idle device so that every answer comes later.
    pub fn slowed(inner: D, slower_ns: u64) -> Self {
        Self::new(inner, Faults::default(), slower_ns)
    }

    fn new(inner: D, faults: Faults, slower_ns: u64) -> Self {
        let now_ns = inner.now_ns();
        Self {
            inner,
            faults: FaultInjector::new(faults),
            slower_ns,
            now_ns,
            last_submit_ns: now_ns,
            off_ns: None,
            submissions: 0,
            entries: BTreeMap::new(),
            tags: HashMap::new(),
        }
    }

    /// The device inside.
    pub fn inner(&self) -> &D {
        &self.inner
    }

    /// End time and outcome for the host, of a request that the inner device ends at `complete_ns` with `status`.
    fn answer(&mut self, forward_ns: u64, submit_ns: u64, complete_ns: u64, status: Status) -> (u64, Status) {
        if let Status::Refused(_) = status {
            return (complete_ns, status);
        }
        let answered_ns = self.faults.stalled(submit_ns, forward_ns, complete_ns);
        self.faults.unless_dropped(answered_ns + self.slower_ns, status)
    }

    /// Accept a request: the time at which the inner device receives it, and its outcome as far as it is known at
    /// submission.
    fn receive(&mut self, request: &Request) -> (u64, Option<(u64, Status)>) {
        let submit_ns = request.submit_ns;
        // At the very instant of dropping off the device no longer accepts anything.
        let dropped_ns = Some(self.faults.drop_off_ns).filter(|at_ns| submit_ns >= *at_ns);
        let refusal = match check(request, self.capacity_bytes(), self.sector_bytes()) {
            Err(refusal) => Some(refusal),
            Ok(()) => self.off_ns.or(dropped_ns).map(|at_ns| Refusal::DroppedOff { at_ns }),
        };
        if let Some(refusal) = refusal {
            return (submit_ns, Some((submit_ns, Status::Refused(refusal))));
        }
        // A lost command never reaches the device, so it changes nothing there and the host waits for its time-out.
        let time_out = self.faults.time_out();
        self.faults.record.commands += 1;
        if let Some(timeout_ns) = time_out {
            let end = self.faults.unless_dropped(submit_ns.saturating_add(timeout_ns), Status::TimedOut { timeout_ns });
            return (submit_ns, Some(end));
        }
        (self.faults.answered(submit_ns), None)
    }

    /// Hand what is due at this instant over to the device inside.
    fn forward(&mut self, at_ns: u64) -> Result<(), Misuse> {
        for entry in self.entries.values_mut() {
            if entry.end.is_none() && !entry.was_forwarded && entry.forward_ns <= at_ns {
                let mut submission = entry.submission.clone();
                // The inner device must not see the time of the stall, or it would count it as service time.
                submission.request.submit_ns = entry.forward_ns;
                self.inner.submit(submission)?;
                entry.was_forwarded = true;
            }
        }
        Ok(())
    }

    /// Time of this wrapper's own next action: inform the host, hand over, drop off.
    fn own_event_ns(&self) -> Option<u64> {
        let gone_ns = self.faults.drop_off_ns;
        let at_ns = |entry: &Entry| match (entry.is_decided, entry.end) {
            // The host knows the outcome, so nothing is left to do for it.
            (true, _) => None,
            (false, Some(_)) => Some(entry.submission.request.submit_ns),
            (false, None) if entry.was_forwarded => Some(gone_ns).filter(|at_ns| *at_ns < u64::MAX),
            (false, None) => Some(entry.forward_ns.min(gone_ns)),
        };
        self.entries.values().filter_map(at_ns).min()
    }

    /// Decide what is due at this instant.
    fn decide(&mut self, at_ns: u64, out: &mut Decisions) -> Result<(), Misuse> {
        if at_ns < self.faults.drop_off_ns {
            self.forward(at_ns)?;
        }
        let mut inner = Decisions::default();
        if self.inner.next_event().is_some_and(|event| event.at_ns <= at_ns) {
            // One nanosecond further, because an advance decides only what lies before its instant.
            self.inner.advance_to(at_ns + 1, &mut inner)?;
        }
        out.persisted.append(&mut inner.persisted);
        for TaggedCompletion { tag, complete_ns, status } in inner.completions {
            let Some(sequence) = self.tags.get(&tag).copied() else { continue };
            let Some(entry) = self.entries.get(&sequence).filter(|entry| entry.end.is_none()) else { continue };
            let end = self.answer(entry.forward_ns, entry.submission.request.submit_ns, complete_ns, status);
            self.entries.entry(sequence).and_modify(|entry| entry.end = Some(end));
        }
        let drops = at_ns >= self.faults.drop_off_ns;
        let status = Status::DroppedOff { at_ns: self.faults.drop_off_ns };
        for entry in self.entries.values_mut().filter(|entry| !entry.is_decided) {
            if drops && entry.end.is_none() {
                entry.end = Some((self.faults.drop_off_ns, status));
                self.faults.record.dropped += 1;
            }
            if let Some((complete_ns, status)) = entry.end.filter(|_| entry.submission.request.submit_ns <= at_ns) {
                entry.is_decided = true;
                out.completions.push(TaggedCompletion { tag: entry.submission.tag, complete_ns, status });
            }
        }
        Ok(())
    }

    /// Forget what has completed.
    fn settle(&mut self) {
        let (now_ns, tags) = (self.now_ns, &mut self.tags);
        self.entries.retain(|_, entry| {
            let is_over = entry.end.is_some_and(|(complete_ns, _)| entry.is_decided && complete_ns <= now_ns);
            if is_over {
                tags.remove(&entry.submission.tag);
            }
            !is_over
        });
    }

    fn can_cut(&self, at_ns: u64) -> Result<(), PowerCutError> {
        if at_ns < self.now_ns {
            return Err(PowerCutError::Past { at_ns, now_ns: self.now_ns });
        }
        match self.own_event_ns() {
            Some(event_ns) if event_ns < at_ns => Err(PowerCutError::PastEvent { at_ns, event_ns }),
            _ => Ok(()),
        }
    }

    /// Fail all requests that are outstanding at `at_ns`, and switch the device off.
    fn switch_off(&mut self, at_ns: u64, out: &mut Decisions) {
        self.now_ns = at_ns;
        self.settle();
        let status = Status::DroppedOff { at_ns };
        let failed = self.entries.values().map(|entry| entry.submission.tag);
        out.completions.extend(failed.map(|tag| TaggedCompletion { tag, complete_ns: at_ns, status }));
        self.entries.clear();
        self.tags.clear();
        self.off_ns = Some(at_ns);
        self.now_ns = self.now_ns.max(self.inner.now_ns());
        self.last_submit_ns = self.now_ns;
    }
}

#[deny(clippy::missing_trait_methods)]
impl<D: ManagedDevice> BlockDevice for DisturbedDevice<D> {
    forward! { inner;
        ref capacity_bytes() -> u64;
        ref sector_bytes() -> u32;
        ref page_bytes() -> u32;
        mut report_persisted(wanted: bool);
        ref gauge_names() -> &'static [&'static str];
        ref gauges(out: &mut [u64]);
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn submit(&mut self, submission: Submission) -> Result<(), Misuse> {
        let (tag, submit_ns) = (submission.tag, submission.request.submit_ns);
        let earliest_ns = self.now_ns.max(self.last_submit_ns);
        if submit_ns < earliest_ns {
            return Err(Misuse::Past { submit_ns, earliest_ns });
        }
        if let Some(Event { at_ns: event_ns, .. }) = self.next_event().filter(|event| event.at_ns < submit_ns) {
            return Err(Misuse::PastEvent { submit_ns, event_ns });
        }
        if self.tags.contains_key(&tag) {
            return Err(Misuse::DuplicateTag(tag));
        }
        self.last_submit_ns = submit_ns;
        let (forward_ns, end) = self.receive(&submission.request);
        let entry = Entry { submission, forward_ns, was_forwarded: false, end, is_decided: false };
        self.tags.insert(tag, self.submissions);
        self.entries.insert(self.submissions, entry);
        self.submissions += 1;
        Ok(())
    }

    fn advance_to(&mut self, at_ns: u64, out: &mut Decisions) -> Result<(), Misuse> {
        while let Some(event) = self.next_event().filter(|event| event.at_ns < at_ns) {
            self.decide(event.at_ns, out)?;
        }
        if at_ns > self.now_ns {
            let mut inner = Decisions::default();
            self.inner.advance_to(at_ns, &mut inner)?;
            out.persisted.append(&mut inner.persisted);
            self.now_ns = at_ns;
            self.settle();
        }
        Ok(())
    }

    fn next_event(&self) -> Option<Event> {
        let own = self.own_event_ns().map(|at_ns| Event { at_ns, class: EventClass::Foreground });
        own.into_iter().chain(self.inner.next_event()).min()
    }

    /// Losses of the inner device, and of requests that it has not received completely.
    fn losses(&self, offset_bytes: u64, length_bytes: u64, cut: PowerCut) -> Result<Vec<Loss>, PowerCutError> {
        self.can_cut(cut.at_ns)?;
        let mut losses = self.inner.losses(offset_bytes, length_bytes, cut)?;
        // The inner device knows only of requests that it has received: add those still on their way, of which nothing
        // is written.
        let refused = |entry: &Entry| matches!(entry.end, Some((_, Status::Refused(_))));
        for entry in self.entries.values().filter(|entry| !entry.was_forwarded && !refused(entry)) {
            let Request { kind, offset_bytes: start, length_bytes: bytes, .. } = entry.submission.request;
            let (from, end) = (start.max(offset_bytes), (start + bytes).min(offset_bytes.saturating_add(length_bytes)));
            if matches!(kind, RequestKind::Write | RequestKind::Discard) && from < end {
                let tag = entry.submission.tag;
                losses.push(Loss { tag, offset_bytes: from, length_bytes: end - from, fate: Fate::Old });
            }
        }
        Ok(losses)
    }

    fn counter_names(&self) -> &'static [&'static str] {
        FaultInjector::names(self.inner.counter_names(), &[])
    }

    fn counters(&self, out: &mut [u64]) {
        self.faults.counters(out, |out| self.inner.counters(out));
    }

    fn series_names(&self) -> &'static [&'static str] {
        FaultInjector::names(self.inner.counter_names(), self.inner.gauge_names())
    }

    fn save(&self) -> Vec<u8> {
        let mut out = FORMAT.begin(0);
        out.value(&self.now_ns.max(self.last_submit_ns));
        out.value(&self.entries.values().collect::<Vec<_>>());
        out.value(&(self.now_ns, self.off_ns, self.faults.record));
        out.bytes(&self.inner.save());
        Format::end(out)
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), StateError> {
        let mut reader = FORMAT.open(state, 0, "")?;
        let (last_submit_ns, entries): (u64, Vec<Entry>) = (reader.value()?, reader.value()?);
        if entries.iter().any(|entry| entry.is_decided && entry.end.is_none()) {
            return corrupt("a request was decided, and nothing says how");
        }
        let (now_ns, off_ns, record) = reader.value()?;
        reachable([now_ns, last_submit_ns])?;
        self.inner.restore(reader.rest())?;
        self.submissions = entries.len() as u64;
        self.entries = (0..).zip(entries).collect();
        self.tags = self.entries.iter().map(|(at, entry)| (entry.submission.tag, *at)).collect();
        (self.now_ns, self.last_submit_ns, self.off_ns) = (now_ns, last_submit_ns, off_ns);
        self.faults.record = record;
        Ok(())
    }
}

#[deny(clippy::missing_trait_methods)]
impl<D: ManagedDevice> ManagedDevice for DisturbedDevice<D> {
    forward! { inner;
        mut page_sizes() -> Option<&mut PageSizes>;
        ref basics() -> &Basics;
    }

    fn life(&self) -> Life {
        if self.now_ns >= self.faults.drop_off_ns { Life::DroppedOff } else { self.inner.life() }
    }

    /// Nothing happens to a device that dropped off.
    fn may_lag(&self) -> bool {
        false
    }

    fn purge(&mut self) -> Result<(), ManagementError> {
        if !self.entries.is_empty() {
            return Err(ManagementError::Busy { outstanding: self.entries.len() as u64 });
        }
        if self.now_ns < self.faults.drop_off_ns {
            self.inner.purge()?;
            self.now_ns = self.now_ns.max(self.inner.now_ns());
        }
        Ok(())
    }

    fn power_cut(&mut self, cut: PowerCut, out: &mut Decisions) -> Result<Vec<Loss>, ManagementError> {
        let losses = self.losses(0, self.capacity_bytes(), cut)?;
        self.inner.power_cut(cut, &mut Decisions::default())?;
        if self.off_ns.is_none() {
            self.switch_off(cut.at_ns, out);
        }
        Ok(losses)
    }

    fn power_off(&mut self, at_ns: u64, out: &mut Decisions) -> Result<(), ManagementError> {
        self.can_cut(at_ns)?;
        self.inner.power_off(at_ns, &mut Decisions::default())?;
        if self.off_ns.is_none() {
            self.switch_off(at_ns, out);
        }
        Ok(())
    }

    fn power_on(&mut self) {
        self.inner.power_on();
        self.off_ns = None;
    }
}
