//! Adapter from the general to the immediate block-device contract: [`SingleHost`] submits requests to a general device and
//! waits for them. It numbers its writes, so that a write lost in a power cut can be listed by its number.
//!
//! In that form operations of one batch are outstanding together, and the clock moves on until all of them are decided; a
//! batch that comes later begins then at the earliest. [`crate::run_general`] keeps operations outstanding as a workload asks.

use crate::block_device::{Decisions, ManagedDevice, ManagementError, Misuse, PowerCut, Submission, Tag};
use crate::device::{Completion, Life, Request, RequestKind};
use crate::forward::{forward, forward_facts};
use crate::immediate_device::Immediate;
use crate::management::{LostWrite, ManagedImmediate, PowerCutError, Undurable, UndurablePart};
use crate::page_sizes::PageSizes;
use crate::profile::Basics;
use crate::saved_state::{Format, StateError, reachable};

const FORMAT: Format = Format { magic: "MILEHOST", version: 2 };

/// Places from which requests are submitted; more than any workload has.
const PLACES: u64 = 1 << 24;

/// A general device and its only user, which waits for every request.
#[derive(Clone, Debug)]
pub struct SingleHost<D> {
    device: D,
    /// Write commands so far.
    writes: u64,
    outstanding: u64,
    /// When everything that was decided has completed.
    busy_until_ns: u64,
    /// Violation of the contract by the device: it is not used any more then.
    misuse: Option<Misuse>,
    out: Decisions,
}

impl<D: ManagedDevice> SingleHost<D> {
    /// A device that nobody has used.
    pub fn new(device: D) -> Self {
        Self { device, writes: 0, outstanding: 0, busy_until_ns: 0, misuse: None, out: Decisions::default() }
    }

    /// The device.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// The device, and the number of its next write.
    pub(crate) fn into_parts(self) -> (D, u64) {
        (self.device, self.writes)
    }

    /// What [`Immediate::save`] gives for a device whose next write has this number.
    pub(crate) fn state_of(device: &D, writes: u64, busy_until_ns: u64) -> Vec<u8> {
        let mut out = FORMAT.begin(0);
        out.value(&(writes, busy_until_ns));
        out.bytes(&device.save());
        Format::end(out)
    }

    /// Submit an operation. Its tag is unique among those outstanding by its place, and among all writes by its number.
    pub(crate) fn send(&mut self, request: &Request, place: u32) {
        // Move the clock first: a tag is free again only when the clock has reached the completion that the host acts
        // on.
        if self.device.now_ns() < request.submit_ns {
            self.move_to(request.submit_ns);
        }
        let mut tag = next_tag(&mut self.writes, request.kind, place);
        self.outstanding += 1;
        while self.misuse.is_none() {
            match self.device.submit(Submission::new(*request, tag)) {
                // A request of an earlier batch from this place has not completed.
                Err(Misuse::DuplicateTag(_)) => tag.0 += PLACES,
                outcome => {
                    self.misuse = outcome.err();
                    break;
                }
            }
        }
    }

    /// The device, and the number of its next write, for somebody who submits directly.
    pub(crate) fn parts_mut(&mut self) -> (&mut D, &mut u64) {
        (&mut self.device, &mut self.writes)
    }

    pub(crate) fn device_mut(&mut self) -> &mut D {
        &mut self.device
    }

    /// Violation of the contract by the device.
    pub(crate) fn misuse(&self) -> Option<Misuse> {
        self.misuse
    }

    fn move_to(&mut self, at_ns: u64) {
        self.out.clear();
        if self.misuse.is_none() {
            self.misuse = self.device.advance_to(at_ns, &mut self.out).err();
        }
    }

    /// Let the device do what comes next, if it comes before this instant, and before [`u64::MAX`] only while operations
    /// are outstanding. Whether there was anything; the places whose operations ended are appended.
    pub(crate) fn decide_next(&mut self, before_ns: u64, ended: &mut Vec<(u32, Completion)>) -> bool {
        let waits = self.misuse.is_none() && (before_ns < u64::MAX || self.outstanding > 0);
        let Some(event) = self.device.next_event().filter(|event| waits && event.at_ns < before_ns) else {
            return false;
        };
        self.move_to(event.at_ns + 1);
        self.outstanding -= self.out.completions.len() as u64;
        for it in &self.out.completions {
            self.busy_until_ns = self.busy_until_ns.max(it.complete_ns);
            let completion = Completion { complete_ns: it.complete_ns, status: it.status };
            ended.push(((it.tag.0 % PLACES) as u32, completion));
        }
        true
    }

    fn lost(&self, cut: PowerCut) -> Result<Vec<LostWrite>, PowerCutError> {
        let losses = self.device.losses(0, self.device.capacity_bytes(), cut)?;
        let lost = |write, offset_bytes, length_bytes| LostWrite { write, offset_bytes, length_bytes };
        // Split a range that is longer than one entry can hold.
        let parts = losses.iter().flat_map(|loss| {
            let starts = (0..loss.length_bytes).step_by(1 << 30);
            starts.map(move |at| {
                lost(loss.tag.0 >> 32, loss.offset_bytes + at, (loss.length_bytes - at).min(1 << 30) as u32)
            })
        });
        Ok(parts.collect())
    }
}

/// The tag of the next request from this place, where the next write has the number `writes`.
pub(crate) fn next_tag(writes: &mut u64, kind: RequestKind, place: u32) -> Tag {
    let tag = Tag(*writes << 32 | u64::from(place));
    *writes += u64::from(kind == RequestKind::Write);
    tag
}

#[deny(clippy::missing_trait_methods)]
impl<D: ManagedDevice> Immediate for SingleHost<D> {
    forward_facts! { device }
    forward! { device;
        ref page_bytes() -> u32;
        ref now_ns() -> u64;
        ref gauge_names() -> &'static [&'static str];
    }

    fn advance_to(&mut self, now_ns: u64) {
        self.move_to(now_ns);
    }

    fn idle_ns(&mut self, ns: u64) {
        self.move_to(self.device.now_ns().saturating_add(ns));
    }

    fn submit_one(&mut self, request: &Request) -> Completion {
        let mut out = Vec::with_capacity(1);
        Immediate::submit(self, std::slice::from_ref(request), &mut out);
        out[0]
    }

    fn submit(&mut self, batch: &[Request], out: &mut Vec<Completion>) {
        let mut ended = Vec::new();
        for (place, request) in (0..).zip(batch) {
            let submit_ns = request.submit_ns.max(self.device.now_ns());
            while self.decide_next(submit_ns, &mut ended) {}
            self.send(&Request { submit_ns, ..*request }, place);
        }
        while self.decide_next(u64::MAX, &mut ended) {}
        if let Some(misuse) = self.misuse {
            unreachable!("a device that keeps its contract: {misuse}");
        }
        ended.sort_unstable_by_key(|(place, _)| *place);
        out.extend(ended.iter().map(|(_, completion)| *completion));
    }

    fn prefetch(&mut self, _: &[mileage_workload::Op], _: &[mileage_workload::Op]) {}

    fn look_at_content(&mut self, _: Option<&mileage_workload::Workload>) -> bool {
        false
    }

    fn begin_lap(&mut self, _: u32) {}

    fn page_sizes(&mut self) -> Option<&mut PageSizes> {
        None
    }

    fn save(&self) -> Vec<u8> {
        Self::state_of(&self.device, self.writes, self.busy_until_ns.max(self.device.now_ns()))
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), StateError> {
        let mut reader = FORMAT.open(state, 0, "")?;
        let (writes, busy_until_ns) = reader.value()?;
        reachable([busy_until_ns])?;
        self.device.restore(reader.rest())?;
        (self.writes, self.outstanding, self.busy_until_ns) = (writes, 0, busy_until_ns);
        Ok(())
    }
}

#[deny(clippy::missing_trait_methods)]
impl<D: ManagedDevice> ManagedImmediate for SingleHost<D> {
    forward! { device;
        ref basics() -> &Basics;
        ref life() -> Life;
    }

    fn purge(&mut self) {
        self.wait();
        if let Err(error) = self.device.purge() {
            unreachable!("a device with nothing outstanding: {error}");
        }
    }

    fn power_cycle(&mut self) {
        self.wait();
        let at_ns = self.device.now_ns();
        if let Err(error) = self.device.power_off(at_ns, &mut self.out) {
            unreachable!("a device whose events were collected: {error}");
        }
        self.device.power_on();
    }

    fn power_cut(&mut self, at_ns: u64) -> Result<Vec<LostWrite>, PowerCutError> {
        if at_ns >= self.device.now_ns() {
            self.move_to(at_ns);
        }
        let cut = PowerCut { at_ns, seed: 0 };
        let lost = self.lost(cut)?;
        match self.device.power_cut(cut, &mut self.out) {
            Ok(_) => {}
            Err(ManagementError::PowerCut(error)) => return Err(error),
            Err(error) => unreachable!("a power cut needs nothing: {error}"),
        }
        self.outstanding = 0;
        self.device.power_on();
        Ok(lost)
    }

    fn undurable_at(&self, at_ns: u64) -> Result<Option<Undurable>, PowerCutError> {
        let lost = self.lost(PowerCut { at_ns, seed: 0 })?;
        let parts = lost.into_iter().map(|part| UndurablePart { part, acknowledged_ns: 0 });
        Ok(Some(Undurable { writes: self.writes, parts: parts.collect() }))
    }

    fn discard_all(&mut self) {
        let (length_bytes, submit_ns) = (self.capacity_bytes(), self.now_ns());
        let kind = RequestKind::Discard;
        let completion = self.submit_one(&Request { kind, fua: false, offset_bytes: 0, length_bytes, submit_ns });
        self.move_to(completion.complete_ns);
    }
}

impl<D: ManagedDevice> SingleHost<D> {
    /// Let time pass until everything that was decided has completed.
    fn wait(&mut self) {
        let mut ended = Vec::new();
        while self.decide_next(u64::MAX, &mut ended) {}
        self.move_to(self.busy_until_ns);
    }
}
