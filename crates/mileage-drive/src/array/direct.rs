//! Arrays for the loop that runs workloads, without commands, operations and events of their own: a request of the host becomes
//! requests to members at once, and ends with the last of them. What is done, and when, is the same as step by step; only the
//! counters of a series may have a request that was submitted at the very end of an interval in that one instead of the next.
//!
//! That is so for chunks over all members (RAID 0) and members in a row (jbod) behind a controller that takes no time and has
//! no cache, if no member can fail. Of copies a read would go to the member with the fewest requests, and a row with parity
//! waits for reads: those arrays take the steps.

use super::counters::REQUESTS_GAUGE;
use super::layout::Segment;
use super::model::Array;
use super::work::{Record, Slot, tag_of};
use crate::block_device::{BlockDevice, Decisions, ManagedDevice, Misuse, Submission, Tag};
use crate::device::{Completion, Request, RequestKind, Status};
use crate::forward::forward;
use crate::profile::{Controller, Discards, Level};
use crate::runner_device::RunnerDevice;
use crate::single_host::next_tag;
use mileage_workload::{Op, OpKind, Workload};
use std::collections::VecDeque;

/// What a member is that takes requests directly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    /// It knows each completion at submission. Whether a power cut may lose a write that has completed.
    AtOnce {
        /// It may.
        loses_writes: bool,
    },
    /// It decides when its events come, and never fails.
    Later,
    /// It may fail, or has something outstanding.
    Uncertain,
}

/// A member that may take requests directly.
pub trait DirectMember: ManagedDevice + Clone {
    /// How it answers from now on, whatever is submitted.
    fn answers(&self) -> Answers;

    /// Submit a request, at or after its clock, which stays where it is; `None`: it does not answer at once.
    fn submit_at_once(&mut self, request: &Request, tag: Tag) -> Option<Completion>;

    /// As [`crate::Immediate::prefetch`].
    fn prefetch(&mut self, later: &[Op], soon: &[Op]);
}

/// How a request of the host ends, as far as its requests to members say.
#[derive(Clone, Copy, Debug)]
struct RequestEnd {
    complete_ns: u64,
    /// The first failure: its instant, member and status.
    failed: Option<((u64, usize), Status)>,
}

impl RequestEnd {
    fn new(submit_ns: u64) -> Self {
        Self { complete_ns: submit_ns, failed: None }
    }

    #[inline]
    fn add(&mut self, slot: usize, Completion { complete_ns, status }: Completion) {
        self.complete_ns = self.complete_ns.max(complete_ns);
        let key = (complete_ns, slot);
        if status != Status::Done && self.failed.is_none_or(|(first, _)| key < first) {
            self.failed = Some((key, status));
        }
    }

    #[inline]
    fn completion(&self) -> Completion {
        let status = self.failed.map_or(Status::Done, |(_, status)| status);
        Completion { complete_ns: self.complete_ns, status }
    }
}

impl<M: DirectMember> Array<M> {
    /// Whether requests may go to members directly, as far as this does not depend on the members.
    fn is_direct(&self) -> bool {
        let is_idle = self.commands.is_empty()
            && self.refused.is_empty()
            && self.operations.is_empty()
            && self.due.is_empty()
            && self.tags.is_empty()
            && self.misuse.is_none();
        let is_on = self.off_ns.is_none() && self.lost_ns.is_none();
        let keeps_nothing = self.stores.is_none() && !self.reports_persisted;
        matches!(self.fixed.layout.level, Level::Raid0 | Level::Jbod)
            && takes_no_time(&self.fixed.controller)
            && (is_idle && is_on && keeps_nothing)
            && self.slots.iter().all(|slot| matches!(slot, Slot::Working { .. }))
    }

    /// Submit a request: `ask` gets what each member (by its place) is asked for, with a number. How it ends, if no member
    /// is asked.
    #[inline]
    fn submit_directly(
        &mut self,
        request: &Request,
        tag: Tag,
        remembers: bool,
        mut ask: impl FnMut(&mut Self, usize, &Request, u64),
    ) -> Option<Completion> {
        let Request { kind, offset_bytes: offset, length_bytes: length, submit_ns, .. } = *request;
        (self.last_submit_ns, self.at_ns) = (submit_ns, submit_ns);
        if let Some(refusal) = self.refusal(request) {
            return Some(Completion { complete_ns: submit_ns, status: Status::Refused(refusal) });
        }
        let start_ns = self.pipes.begin(&self.fixed.controller, submit_ns);
        debug_assert_eq!(start_ns, submit_ns);
        let record = Record { command: self.next_command, tag, offset, length };
        self.next_command += 1;
        self.count_command(kind, length);
        let ends_here = match kind {
            RequestKind::Read | RequestKind::Write => false,
            RequestKind::Discard => self.fixed.discards != Discards::Honoured,
            RequestKind::Flush => !self.fixed.controller.passes_flushes,
        };
        if ends_here {
            return Some(Completion { complete_ns: submit_ns, status: Status::Done });
        }
        self.next_operation += 1;
        let changes = matches!(kind, RequestKind::Write | RequestKind::Discard);
        let fua = kind == RequestKind::Write && (request.fua || !self.fixed.controller.member_cache);
        let mut part = |array: &mut Self, Segment { slot, offset, length }: Segment| {
            if changes && remembers {
                array.note_sent(slot, (offset, offset + length), std::slice::from_ref(&record), &[]);
            }
            array.count_member(kind, length);
            let number = array.next_request;
            array.next_request += 1;
            let request = Request { fua, offset_bytes: offset, length_bytes: length, ..*request };
            ask(array, slot, &request, number);
        };
        if kind == RequestKind::Flush {
            (0..self.slots.len()).for_each(|slot| part(self, Segment { slot, offset: 0, length: 0 }));
        } else if let Some(segment) = self.fixed.layout.on_one(offset, length) {
            part(self, segment);
        } else {
            self.fixed.layout.segments(offset, length).into_iter().for_each(|segment| part(self, segment));
        }
        None
    }

    /// Announce operations to the members that they will reach first.
    fn announce(&mut self, later: &[Op], soon: &[Op]) {
        let mut each = |op: &Op, is_later: bool| {
            if let Some(segment) = self.fixed.layout.on_one(op.offset_bytes, u64::from(op.length_bytes)) {
                let op = [Op { offset_bytes: segment.offset, ..*op }];
                let (later, soon): (&[Op], &[Op]) = if is_later { (&op, &[]) } else { (&[], &op) };
                self.devices[segment.slot].prefetch(later, soon);
            }
        };
        later.iter().for_each(|op| each(op, true));
        // Reads have nothing to prepare for twice.
        soon.iter().filter(|op| op.kind != OpKind::Read).for_each(|op| each(op, false));
    }
}

fn takes_no_time(controller: &Controller) -> bool {
    let limits =
        [controller.host_mb_per_s, controller.member_mb_per_s, controller.sata_mb_per_s, controller.sas_mb_per_s];
    limits.iter().all(Option::is_none)
        && controller.command_interval_ns == 0
        && controller.command_ns == 0
        && controller.write_cache_bytes == 0
        && controller.read_cache_bytes == 0
        && controller.member_timeout_ns.is_none()
}

/// Completions are forgotten when this many have gathered besides those that were kept last time.
const ENDS_MIN: usize = 64;

/// Requests to members that have not been decided.
#[derive(Debug, Default)]
struct MemberRequests {
    /// Number of the first of them.
    first: u64,
    /// For each from then on the place of the host's request, or [`DECIDED`].
    places: VecDeque<u32>,
    /// By place: requests that are not decided, and the ending so far.
    open: Vec<(u32, Option<RequestEnd>)>,
    undecided: u64,
    /// Memory for the decisions of a member, empty between its uses.
    decisions: Decisions,
}

const DECIDED: u32 = u32::MAX;

impl MemberRequests {
    fn begin(&mut self, place: u32, submit_ns: u64) {
        let place = place as usize;
        if place >= self.open.len() {
            self.open.resize(place + 1, (0, None));
        }
        self.open[place] = (0, Some(RequestEnd::new(submit_ns)));
    }

    fn ask(&mut self, place: u32, number: u64) {
        if self.places.is_empty() {
            self.first = number;
        }
        self.places.push_back(place);
        self.open[place as usize].0 += 1;
        self.undecided += 1;
    }

    /// The place of a request, and how that of the host ends, if nothing else of it is undecided.
    fn decide(&mut self, slot: usize, number: u64, completion: Completion) -> Option<(u32, Completion)> {
        let at = number.checked_sub(self.first)? as usize;
        let place = std::mem::replace(self.places.get_mut(at)?, DECIDED);
        while self.places.front() == Some(&DECIDED) {
            self.places.pop_front();
            self.first += 1;
        }
        let (pending, ending) = self.open.get_mut(place as usize)?;
        self.undecided -= 1;
        *pending -= 1;
        let ending = ending.as_mut()?;
        ending.add(slot, completion);
        (*pending == 0).then(|| (place, ending.completion()))
    }
}

/// An array whose members are asked directly, as a [`RunnerDevice`]; `AT_ONCE`: and answer at once.
pub(crate) struct DirectArray<'a, M, const AT_ONCE: bool> {
    array: &'a mut Array<M>,
    /// Number of the next write.
    writes: &'a mut u64,
    /// What is written is remembered, because a power cut may lose it after its completion.
    remembers: bool,
    /// Completions of requests to members, as far as they may lie in the future.
    ends: Vec<u64>,
    crowded: usize,
    asked: MemberRequests,
    misuse: Option<Misuse>,
}

impl<'a, M: DirectMember, const AT_ONCE: bool> DirectArray<'a, M, AT_ONCE> {
    /// `None`: the array takes the steps, or its members answer in the other way.
    pub(crate) fn new(array: &'a mut Array<M>, writes: &'a mut u64) -> Option<Self> {
        if !array.is_direct() {
            return None;
        }
        let answers = || array.devices().iter().map(M::answers);
        let fits = |answers| match answers {
            Answers::AtOnce { .. } => AT_ONCE,
            Answers::Later => !AT_ONCE,
            Answers::Uncertain => false,
        };
        if !answers().all(fits) {
            return None;
        }
        let remembers = answers().any(|it| it != Answers::AtOnce { loses_writes: false });
        let (ends, asked) = (Vec::new(), MemberRequests::default());
        Some(Self { array, writes, remembers, ends, crowded: ENDS_MIN, asked, misuse: None })
    }

    fn submit_at_once(&mut self, request: &Request, tag: Tag) -> Completion {
        let mut ending = RequestEnd::new(request.submit_ns);
        let ends = &mut self.ends;
        let ask = |array: &mut Array<M>, slot: usize, request: &Request, number| {
            // Places that work have the devices of their numbers: there are no spares.
            if let Some(completion) = array.devices[slot].submit_at_once(request, tag_of(number)) {
                ends.push(completion.complete_ns);
                ending.add(slot, completion);
            }
        };
        let known = self.array.submit_directly(request, tag, self.remembers, ask);
        known.unwrap_or_else(|| ending.completion())
    }

    fn submit_for_later(&mut self, request: &Request, tag: Tag, place: u32) -> Option<Completion> {
        self.asked.begin(place, request.submit_ns);
        let (asked, misuse) = (&mut self.asked, &mut self.misuse);
        let ask = |array: &mut Array<M>, slot: usize, request: &Request, number| {
            asked.ask(place, number);
            if let Err(found) = array.devices[slot].submit(Submission::new(*request, tag_of(number))) {
                misuse.get_or_insert(found);
            }
            array.note_event(slot);
        };
        self.array.submit_directly(request, tag, self.remembers, ask)
    }

    /// Let the member whose event comes next decide, if that is before this instant.
    fn decide_next(&mut self, before_ns: u64, ended: &mut Vec<(u32, Completion)>) -> bool {
        let array = &mut *self.array;
        let (event_ns, device) = array.device_events.first();
        let waits = before_ns < u64::MAX || self.asked.undecided > 0;
        if event_ns >= before_ns || !waits || self.misuse.is_some() {
            return false;
        }
        let slot = device as usize;
        let mut decisions = std::mem::take(&mut self.asked.decisions);
        self.misuse = array.devices[slot].advance_to(event_ns + 1, &mut decisions).err();
        array.note_event(slot);
        for it in &decisions.completions {
            let completion = Completion { complete_ns: it.complete_ns, status: it.status };
            self.ends.push(it.complete_ns);
            ended.extend(self.asked.decide(slot, it.tag.0, completion));
        }
        decisions.clear();
        self.asked.decisions = decisions;
        true
    }
}

impl<M: DirectMember, const AT_ONCE: bool> RunnerDevice for DirectArray<'_, M, AT_ONCE> {
    const AT_ONCE: bool = AT_ONCE;
    // A general device decides what happens at an instant when its clock is moved to the next.
    const NOTICED_AFTER_NS: u64 = 1;

    forward! { array;
        ref capacity_bytes() -> u64;
        ref sector_bytes() -> u32;
        ref now_ns() -> u64;
        ref counter_names() -> &'static [&'static str];
        ref counters(out: &mut [u64]);
        ref series_names() -> &'static [&'static str];
    }

    fn advance_to(&mut self, now_ns: u64) {
        let mut out = Decisions::default();
        if self.misuse.is_none() {
            self.misuse = self.array.advance_to(now_ns, &mut out).err();
        }
    }

    fn catch_up(&mut self, now_ns: u64) {
        self.advance_to(now_ns);
    }

    fn submit(&mut self, request: &Request, place: u32, _: u32) -> Option<Completion> {
        if self.ends.len() >= self.crowded {
            self.ends.retain(|end_ns| *end_ns >= request.submit_ns);
            self.crowded = ENDS_MIN + 2 * self.ends.len();
        }
        let tag = next_tag(self.writes, request.kind, place);
        if AT_ONCE { Some(self.submit_at_once(request, tag)) } else { self.submit_for_later(request, tag, place) }
    }

    fn collect(&mut self, before_ns: u64, ended: &mut Vec<(u32, Completion)>) -> bool {
        !AT_ONCE && self.decide_next(before_ns, ended)
    }

    fn misuse(&self) -> Option<Misuse> {
        self.misuse
    }

    fn prefetch(&mut self, later: &[Op], soon: &[Op]) {
        if AT_ONCE {
            self.array.announce(later, soon);
        }
    }

    fn look_at_content(&mut self, _: Option<&Workload>) -> bool {
        false
    }

    fn begin_lap(&mut self, _: u32) {}

    fn gauges(&self, out: &mut [u64]) {
        self.array.gauges(out);
        // Those of the array come first.
        let now_ns = self.now_ns();
        out[REQUESTS_GAUGE] +=
            self.asked.undecided + self.ends.iter().filter(|end_ns| **end_ns >= now_ns).count() as u64;
    }
}
