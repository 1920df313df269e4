//! Drive, data and clock of a server: takes requests, decides them, and says which answers are due. The one who holds the
//! server's lock owns it.

use crate::clock::Clock;
use crate::error::ServeError;
use crate::lateness::Lateness;
use crate::medium::{Change, Medium};
use crate::request::{Failure, HostRequest, HostRequestKind};
use crate::stats::{LatenessStats, PowerCutResult, RequestStats, ServerStats};
use mileage_drive::{
    BlockDevice, Completion, Decisions, Device, ManagedDevice, Misuse, PowerCut, Refusal, Request, RequestKind, Status,
    Submission, Tag,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::time::{Duration, Instant};

/// Longer writes of zeroes become several requests of the drive.
const PART_BYTES: u64 = 1 << 20;
/// Durable parts of one step of the drive that are searched.
const PERSISTED_SEARCHED: usize = 8;
const KINDS: [&str; 5] = ["read", "write", "write_zeroes", "discard", "flush"];

/// A request that was not answered.
struct OutstandingRequest<A> {
    request: HostRequest<A>,
    /// When it came.
    came: Instant,
    /// Parts that the drive has not decided.
    left: u32,
    complete_ns: u64,
    failure: Option<Failure>,
}

/// A part of it, as the drive sees it.
#[derive(Clone, Copy)]
struct Part {
    request: u64,
    offset_bytes: u64,
    length_bytes: u64,
}

/// An answer that is due.
pub(crate) struct Ready<A> {
    pub answer: A,
    pub result: Result<Vec<u8>, Failure>,
}

pub(crate) struct Core<A> {
    device: Device,
    medium: Medium,
    clock: Clock,
    began: Instant,
    next_tag: u64,
    parts: HashMap<u64, Part>,
    outstanding: HashMap<u64, OutstandingRequest<A>>,
    /// (completion, request) of those that are decided.
    due: BinaryHeap<Reverse<(u64, u64)>>,
    out: Decisions,
    is_on: bool,
    can_cut: bool,
    /// End of a stall by the host's clock, since the drive's stands still between requests when it is unbounded.
    stalled_until: Option<Instant>,
    counts: [RequestStats; 5],
    lateness: Lateness,
    /// The same since it was last asked for.
    recent_lateness: Lateness,
    data_failures: u64,
    data_failure: Option<String>,
}

impl<A> Core<A> {
    pub fn new(device: Device, writes: u64, medium: Medium, clock: Clock, can_cut: bool) -> Self {
        let mut core = Self {
            device,
            medium,
            clock,
            began: Instant::now(),
            next_tag: writes << 32,
            parts: HashMap::new(),
            outstanding: HashMap::new(),
            due: BinaryHeap::new(),
            out: Decisions::default(),
            is_on: true,
            can_cut,
            stalled_until: None,
            counts: [RequestStats::default(); 5],
            lateness: Lateness::default(),
            recent_lateness: Lateness::default(),
            data_failures: 0,
            data_failure: None,
        };
        core.device.report_persisted(can_cut);
        core
    }

    /// Take a request that came at `now`; answers that are due are appended.
    pub fn submit(&mut self, request: HostRequest<A>, now: Instant, ready: &mut Vec<Ready<A>>) {
        let kind = request.kind as usize;
        self.counts[kind].requests += 1;
        self.counts[kind].bytes += request.length_bytes;
        if let Err(failure) = self.check(&request) {
            self.counts[kind].failed += 1;
            ready.push(Ready { answer: request.answer, result: Err(failure) });
            return;
        }
        let submit_ns = self.clock.drive_ns(now).max(self.device.now_ns());
        let id = self.next_tag;
        let passed = self.advance(submit_ns).and_then(|()| self.submit_parts(request, id, submit_ns, now));
        if passed.and_then(|()| self.advance(submit_ns + 1)).is_err() {
            self.fail_all(ready);
            return;
        }
        if self.clock.is_unbounded() && self.finish(id).is_err() {
            self.fail_all(ready);
        }
    }

    fn check(&self, request: &HostRequest<A>) -> Result<(), Failure> {
        if !self.is_on {
            return Err(Failure::Io);
        }
        let sector = u64::from(self.device.sector_bytes());
        let HostRequest { offset_bytes, length_bytes, .. } = *request;
        let is_flush = request.kind == HostRequestKind::Flush;
        let is_aligned = offset_bytes.is_multiple_of(sector) && length_bytes.is_multiple_of(sector);
        let end = offset_bytes.checked_add(length_bytes);
        let is_inside = end.is_some_and(|end| end <= self.device.capacity_bytes());
        if is_flush || (length_bytes > 0 && is_aligned && is_inside) { Ok(()) } else { Err(Failure::Invalid) }
    }

    fn submit_parts(&mut self, request: HostRequest<A>, id: u64, submit_ns: u64, came: Instant) -> Result<(), Misuse> {
        let kind = match request.kind {
            HostRequestKind::Read => RequestKind::Read,
            HostRequestKind::Write | HostRequestKind::WriteZeroes => RequestKind::Write,
            HostRequestKind::Discard => RequestKind::Discard,
            HostRequestKind::Flush => RequestKind::Flush,
        };
        let HostRequest { offset_bytes: from, length_bytes, fua, .. } = request;
        let is_split = request.kind == HostRequestKind::WriteZeroes;
        let step = if is_split { PART_BYTES } else { length_bytes.max(1) };
        let parts = length_bytes.div_ceil(step).max(1);
        let left = parts as u32;
        self.outstanding.insert(id, OutstandingRequest { request, came, left, complete_ns: 0, failure: None });
        for number in 0..parts {
            let offset_bytes = from + number * step;
            let part_bytes = step.min(from + length_bytes - offset_bytes);
            let tag = self.next_tag;
            self.next_tag += 1;
            self.parts.insert(tag, Part { request: id, offset_bytes, length_bytes: part_bytes });
            let request = Request { kind, fua, offset_bytes, length_bytes: part_bytes, submit_ns };
            self.device.submit(Submission::new(request, Tag(tag)))?;
        }
        Ok(())
    }

    /// Move the drive's clock on, and take what it decides.
    fn advance(&mut self, at_ns: u64) -> Result<(), Misuse> {
        self.out.clear();
        self.device.advance_to(at_ns, &mut self.out)?;
        let mut out = std::mem::take(&mut self.out);
        for completion in &out.completions {
            let durable_bytes = durable_bytes(&out, completion.tag);
            let decision = Completion { complete_ns: completion.complete_ns, status: completion.status };
            self.decided(completion.tag.0, decision, durable_bytes);
        }
        for persisted in &out.persisted {
            self.medium.durable(persisted.tag.0, persisted.length_bytes);
        }
        out.clear();
        self.out = out;
        Ok(())
    }

    /// A part is decided, and that many bytes of it are durable.
    fn decided(&mut self, tag: u64, completion: Completion, durable_bytes: u64) {
        let Some(part) = self.parts.remove(&tag) else { return };
        let Some(entry) = self.outstanding.get_mut(&part.request) else { return };
        match completion.status {
            Status::Done => {
                if let Some(change) = change(&entry.request, part)
                    && let Err(error) =
                        self.medium.apply(tag, part.offset_bytes, change, durable_bytes >= part.length_bytes)
                {
                    self.data_failures += 1;
                    self.data_failure = Some(error.to_string());
                    let is_full = error.kind() == std::io::ErrorKind::StorageFull;
                    entry.failure = Some(if is_full { Failure::NoSpace } else { Failure::Io });
                }
            }
            Status::Refused(Refusal::NoDiscard) => entry.failure = Some(Failure::Unsupported),
            _ => entry.failure = Some(Failure::Io),
        }
        entry.complete_ns = entry.complete_ns.max(completion.complete_ns);
        entry.left -= 1;
        if entry.left == 0 {
            entry.request.data = Vec::new();
            self.due.push(Reverse((entry.complete_ns, part.request)));
        }
    }

    /// Let time pass until a request is decided, and on to its completion.
    fn finish(&mut self, id: u64) -> Result<(), Misuse> {
        while self.outstanding.get(&id).is_some_and(|entry| entry.left > 0) {
            let Some(event) = self.device.next_event() else { break };
            self.advance(event.at_ns + 1)?;
        }
        let complete_ns = self.outstanding.get(&id).map_or(0, |entry| entry.complete_ns);
        self.advance(complete_ns)?;
        self.clock.set(self.device.now_ns());
        Ok(())
    }

    /// Decide what is due at `now`, and append the answers that are due.
    pub fn tick(&mut self, now: Instant, ready: &mut Vec<Ready<A>>) {
        let now_ns = self.clock.drive_ns(now);
        let is_event_due = self.device.next_event().is_some_and(|event| event.at_ns <= now_ns);
        if is_event_due && self.advance(now_ns.saturating_add(1)).is_err() {
            self.fail_all(ready);
        }
        self.collect(now, ready);
    }

    /// Append the answers that are due at `now`.
    pub fn collect(&mut self, now: Instant, ready: &mut Vec<Ready<A>>) {
        if self.stalled_until.is_some_and(|until| now < until) {
            return;
        }
        let now_ns = self.clock.drive_ns(now);
        while let Some(Reverse((complete_ns, id))) = self.due.peek().copied().filter(|due| due.0.0 <= now_ns) {
            self.due.pop();
            if let Some(entry) = self.outstanding.remove(&id) {
                if !self.clock.is_unbounded() {
                    let due = self.after_stall(complete_ns);
                    let modelled = due.saturating_duration_since(entry.came);
                    self.lateness.record(due, now, modelled);
                    self.recent_lateness.record(due, now, modelled);
                }
                ready.push(self.answered(entry));
            }
        }
    }

    fn answered(&mut self, entry: OutstandingRequest<A>) -> Ready<A> {
        let HostRequest { kind, offset_bytes, length_bytes, answer, .. } = entry.request;
        let result = match entry.failure {
            Some(failure) => Err(failure),
            None if kind == HostRequestKind::Read => self.medium.read(offset_bytes, length_bytes),
            None => Ok(Vec::new()),
        };
        self.counts[kind as usize].failed += u64::from(result.is_err());
        Ready { answer, result }
    }

    /// Fail everything that is outstanding; how many requests that are.
    fn fail_all(&mut self, ready: &mut Vec<Ready<A>>) -> u64 {
        self.parts.clear();
        self.due.clear();
        let failed = self.outstanding.len() as u64;
        for (_, entry) in self.outstanding.drain() {
            self.counts[entry.request.kind as usize].failed += 1;
            ready.push(Ready { answer: entry.request.answer, result: Err(Failure::Io) });
        }
        failed
    }

    /// The next instant at which [`Self::tick`] has something to do.
    pub fn next_wakeup(&self) -> Option<Instant> {
        let event = self.device.next_event().filter(|_| !self.parts.is_empty());
        let due = self.due.peek().map(|due| self.after_stall(due.0.0));
        event.map(|event| self.clock.host(event.at_ns)).into_iter().chain(due).min()
    }

    /// The instant at which what completes at `complete_ns` is answered.
    fn after_stall(&self, complete_ns: u64) -> Instant {
        let at = self.clock.host(complete_ns);
        self.stalled_until.map_or(at, |until| at.max(until))
    }

    /// Let time pass until nothing is undecided and all that is decided has completed; the host's clock follows.
    fn drain(&mut self) -> Result<(), ServeError> {
        while !self.parts.is_empty() {
            let Some(event) = self.device.next_event() else { break };
            self.advance(event.at_ns + 1)?;
        }
        let last_ns = self.due.iter().map(|due| due.0.0).max().unwrap_or(0);
        self.advance(last_ns)?;
        self.clock.set(self.device.now_ns());
        Ok(())
    }

    /// Do a request of the server's own and let its time pass.
    fn run_one(&mut self, kind: RequestKind, offset_bytes: u64, length_bytes: u64) -> Result<Status, ServeError> {
        let tag = self.next_tag;
        self.next_tag += 1;
        let submit_ns = self.device.now_ns();
        self.device
            .submit(Submission::new(Request { kind, fua: false, offset_bytes, length_bytes, submit_ns }, Tag(tag)))?;
        loop {
            let at_ns = self.device.next_event().map_or(submit_ns, |event| event.at_ns);
            self.out.clear();
            self.device.advance_to(at_ns + 1, &mut self.out)?;
            for persisted in &self.out.persisted {
                self.medium.durable(persisted.tag.0, persisted.length_bytes);
            }
            if let Some(end) = self.out.completions.iter().find(|it| it.tag.0 == tag).copied() {
                self.advance(end.complete_ns)?;
                return Ok(end.status);
            }
        }
    }

    /// Wait for everything, and make it durable.
    fn settle(&mut self) -> Result<(), ServeError> {
        if !self.is_on {
            return Err(ServeError::Off);
        }
        self.drain()?;
        self.run_one(RequestKind::Flush, 0, 0)?;
        self.clock.set(self.device.now_ns());
        Ok(())
    }

    /// The drive's state with all that was written, as a virtual drive takes it.
    pub fn save(&mut self) -> Result<Vec<u8>, ServeError> {
        self.settle()?;
        self.next_tag = ((self.next_tag >> 32) + 1) << 32;
        Ok(self.device.drive_state(self.next_tag >> 32))
    }

    /// Begin to age the drive: what follows changes its state and not its data.
    pub fn begin_ageing(&mut self) -> Result<(), ServeError> {
        self.settle()?;
        self.medium.all_durable();
        self.device.report_persisted(false);
        Ok(())
    }

    /// Write a page, whatever it holds, of the drive and not of its data.
    pub fn wear(&mut self, page: u64) -> Result<(), ServeError> {
        let bytes = self.page_bytes();
        match self.run_one(RequestKind::Write, page * bytes, bytes)? {
            Status::Done => Ok(()),
            status => Err(ServeError::Ageing(status.failure().unwrap_or_default())),
        }
    }

    pub fn end_ageing(&mut self) -> Result<(), ServeError> {
        self.run_one(RequestKind::Flush, 0, 0)?;
        self.device.report_persisted(self.can_cut);
        self.clock.set(self.device.now_ns());
        Ok(())
    }

    /// Smallest unit that is written without reading first.
    pub fn page_bytes(&self) -> u64 {
        u64::from(self.device.page_bytes().max(self.device.sector_bytes()))
    }

    /// The power fails now: answers that are due are appended, and then everything outstanding fails.
    pub fn power_cut(
        &mut self,
        seed: u64,
        now: Instant,
        ready: &mut Vec<Ready<A>>,
    ) -> Result<PowerCutResult, ServeError> {
        if !self.is_on {
            return Err(ServeError::Off);
        }
        let at_ns = self.clock.drive_ns(now).max(self.device.now_ns());
        self.advance(at_ns)?;
        self.collect(now, ready);
        let mut undecided: Vec<(u64, Part)> = self.parts.iter().map(|(tag, part)| (*tag, *part)).collect();
        undecided.sort_unstable_by_key(|(tag, _)| *tag);
        let losses = self.device.power_cut(PowerCut { at_ns, seed }, &mut Decisions::default())?;
        let changes: Vec<(u64, u64, Change)> = undecided
            .iter()
            .filter_map(|(tag, part)| {
                let entry = self.outstanding.get(&part.request)?;
                Some((*tag, part.offset_bytes, change(&entry.request, *part)?))
            })
            .collect();
        let cut = self.medium.cut(&losses, &changes)?;
        self.is_on = false;
        Ok(PowerCutResult {
            at_ns,
            failed_requests: self.fail_all(ready),
            lost_parts: losses.len(),
            old_sectors: cut.old,
            torn_sectors: cut.torn,
            unreadable_sectors: cut.unreadable,
        })
    }

    /// The drive is missing from now on; nothing of its data changes.
    pub fn drop_off(&mut self, now: Instant, ready: &mut Vec<Ready<A>>) -> Result<u64, ServeError> {
        if !self.is_on {
            return Err(ServeError::Off);
        }
        let at_ns = self.clock.drive_ns(now).max(self.device.now_ns());
        self.advance(at_ns)?;
        self.collect(now, ready);
        self.device.power_off(at_ns, &mut Decisions::default())?;
        self.medium.all_durable();
        self.is_on = false;
        Ok(self.fail_all(ready))
    }

    pub fn power_on(&mut self, now: Instant) -> Result<(), ServeError> {
        if self.is_on {
            return Err(ServeError::On);
        }
        let now_ns = self.clock.drive_ns(now);
        self.advance(now_ns)?;
        self.device.power_on();
        self.clock.set(self.device.now_ns().max(now_ns));
        self.is_on = true;
        Ok(())
    }

    /// Nothing is answered for this time of the host; zero ends a stall.
    pub fn stall(&mut self, time: Duration, now: Instant) {
        self.stalled_until = now.checked_add(time).filter(|_| !time.is_zero());
    }

    /// Reading a range fails until it is written; the number of its sectors.
    pub fn damage(&mut self, offset_bytes: u64, length_bytes: u64) -> Result<u64, ServeError> {
        let (sector_bytes, capacity_bytes) = (u64::from(self.device.sector_bytes()), self.device.capacity_bytes());
        let is_aligned = offset_bytes.is_multiple_of(sector_bytes) && length_bytes.is_multiple_of(sector_bytes);
        let is_inside = offset_bytes.checked_add(length_bytes).is_some_and(|end| end <= capacity_bytes);
        if length_bytes == 0 || !is_aligned || !is_inside {
            return Err(ServeError::Range { offset_bytes, length_bytes, sector_bytes, capacity_bytes });
        }
        self.medium.damage(offset_bytes, length_bytes);
        Ok(length_bytes / sector_bytes)
    }

    pub fn medium(&mut self) -> &mut Medium {
        &mut self.medium
    }

    /// How late answers were since this was last asked.
    pub fn recent_lateness(&mut self) -> LatenessStats {
        std::mem::take(&mut self.recent_lateness).stats()
    }

    pub fn stats(&self, now: Instant) -> ServerStats {
        let named = |names: &'static [&'static str], read: &dyn Fn(&mut [u64])| {
            let mut values = vec![0; names.len()];
            read(&mut values);
            names.iter().copied().zip(values).collect::<BTreeMap<_, _>>()
        };
        ServerStats {
            drive: self.device.basics().name.clone(),
            capacity_bytes: self.device.capacity_bytes(),
            served_s: now.saturating_duration_since(self.began).as_secs_f64(),
            drive_ns: self.clock.drive_ns(now),
            is_on: self.is_on,
            life: self.device.life().words(),
            requests: KINDS.iter().copied().zip(self.counts).collect(),
            outstanding: self.outstanding.len(),
            undurable: self.medium.versions(),
            can_cut: self.can_cut,
            lateness: self.lateness.stats(),
            data_failures: self.data_failures,
            data_failure: self.data_failure.clone(),
            counters: named(self.device.counter_names(), &|out| self.device.counters(out)),
            gauges: named(self.device.gauge_names(), &|out| self.device.gauges(out)),
        }
    }
}

/// Bytes of a part that became durable together with its decision; 0 where that much was decided that a search would cost more
/// than it saves.
fn durable_bytes(out: &Decisions, tag: Tag) -> u64 {
    if out.persisted.len() > PERSISTED_SEARCHED {
        return 0;
    }
    out.persisted.iter().filter(|it| it.tag == tag).map(|it| it.length_bytes).sum()
}

/// The change of the content that a part of a request makes.
fn change<A>(request: &HostRequest<A>, part: Part) -> Option<Change<'_>> {
    match request.kind {
        HostRequestKind::Write => {
            let from = (part.offset_bytes - request.offset_bytes) as usize;
            Some(Change::Data(&request.data[from..from + part.length_bytes as usize]))
        }
        HostRequestKind::WriteZeroes | HostRequestKind::Discard => Some(Change::Zeroes(part.length_bytes)),
        HostRequestKind::Read | HostRequestKind::Flush => None,
    }
}
