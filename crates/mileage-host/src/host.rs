//! A host above a drive: its state, and the loop that moves it through time.
//!
//! Calls of programs, the flusher and the journal are machines that run until they must wait; what they wait for is a piece of
//! I/O, a commit, memory or an instant. Time moves to the earliest of these. Everything that happens at one instant on the
//! host happens before the drive decides anything of it, as the drive's contract demands.
//!
//! # Invariant
//! The same profile, drive and calls give the same times and the same saved state. *Guard:* the property test of save and
//! restore compares whole states; `clippy.toml` bans the clock of the machine.

use crate::block_layer::BlockLayer;
use crate::block_request::{BlockRequest, IoId, Kind};
use crate::call::{Active, Call, CallError, Progress};
use crate::file_system::FileSystem;
use crate::flusher::Flusher;
use crate::host_counters::HostCounters;
use crate::page_cache::{FileId, PAGE_BYTES, PageCache};
use crate::processors::Processors;
use crate::profile::HostProfile;
use crate::wait::{Event, Handle, Pages, Wait};
use crate::write_log::WriteLog;
use mileage_drive::{Decisions, Device, Drive, ManagedDevice, Misuse, PageSizes, Status, Tag};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// All that a host's future depends on, besides its profile and its drive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct State {
    pub now_ns: u64,
    pub cache: PageCache,
    pub files: FileSystem,
    pub block: BlockLayer,
    pub processors: Processors,
    pub handles: Vec<Option<Handle>>,
    pub flusher: Flusher,
    pub counters: HostCounters,
    /// Content of writes, as the drive has it.
    pub content: PageSizes,
    /// Pages that are read or written by a piece of I/O.
    pub reads: BTreeMap<IoId, Pages>,
    pub writes: BTreeMap<IoId, Pages>,
    /// Files with dirty pages, by the age of the oldest.
    pub dirty_files: BTreeSet<(u64, FileId)>,
    /// A commit timer is set for this transaction.
    pub timer_for: u64,
    events: BTreeMap<(u64, u64), Event>,
    next_event: u64,
    calls: BTreeMap<u32, Active>,
    waiting: Vec<(u32, Wait)>,
    /// Requests that the drive has decided: when they complete, and which.
    completions: BTreeSet<(u64, u64)>,
    /// The first failure of the drive: from then on every call fails.
    failure: Option<String>,
}

/// A host above a drive. The module's text says how it works.
pub struct Host {
    pub(crate) profile: HostProfile,
    pub(crate) device: Box<dyn ManagedDevice + Send + Sync>,
    pub(crate) state: State,
    decisions: Decisions,
    ended: Vec<IoId>,
    /// Calls that have ended, and when.
    pub(crate) done: Vec<(u32, u64, Result<(), CallError>)>,
    misuse: Option<Misuse>,
    pub(crate) tracking: Option<WriteLog>,
    /// The failure itself; a restored host has its words only.
    pub(crate) status: Option<Status>,
    /// Calls as they began, while they are recorded, each with its number.
    begun: Option<Vec<(u32, Call)>>,
}

impl std::fmt::Debug for Host {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Host")
            .field("profile", &self.profile.name)
            .field("now_ns", &self.state.now_ns)
            .finish_non_exhaustive()
    }
}

impl Host {
    /// A host that was just started, with a new file system on the drive.
    pub fn new(profile: HostProfile, device: Device) -> Self {
        let device = device.into_boxed();
        let capacity_bytes = device.capacity_bytes();
        let active_percent = profile.kernel.active_percent(profile.memory_bytes);
        let mut state = State {
            now_ns: device.now_ns(),
            cache: PageCache::new(profile.cache_pages, active_percent),
            files: FileSystem::new(
                profile.family,
                capacity_bytes,
                profile.journal_blocks,
                profile.stripe_blocks,
                profile.kernel,
            ),
            block: BlockLayer::default(),
            processors: Processors::new(profile.processors),
            handles: Vec::new(),
            flusher: Flusher::default(),
            counters: HostCounters::default(),
            content: PageSizes::default(),
            reads: BTreeMap::new(),
            writes: BTreeMap::new(),
            dirty_files: BTreeSet::new(),
            timer_for: 0,
            events: BTreeMap::new(),
            next_event: 0,
            calls: BTreeMap::new(),
            waiting: Vec::new(),
            completions: BTreeSet::new(),
            failure: None,
        };
        state.at(state.now_ns + profile.flusher_period_ns, Event::FlusherPeriod);
        Self {
            profile,
            device,
            state,
            decisions: Decisions::default(),
            ended: Vec::new(),
            done: Vec::new(),
            misuse: None,
            tracking: None,
            status: None,
            begun: None,
        }
    }

    /// A host that was just started, with a new file system on a drive that was used before. As after `mkfs` without discard,
    /// all that was written there is still mapped; `mkfs` itself writes nothing here.
    pub fn on_used_drive(profile: HostProfile, drive: Drive) -> Self {
        let (device, writes) = drive.into_device();
        let mut host = Self::new(profile, device);
        // The drive may still report writes of its former user by their tags.
        host.state.block.number_from(writes << 32);
        host.set_content(PageSizes::default());
        host
    }

    /// The host's profile.
    pub fn profile(&self) -> &HostProfile {
        &self.profile
    }

    /// The drive below.
    pub fn device(&self) -> &dyn ManagedDevice {
        &*self.device
    }

    /// The clock.
    pub fn now_ns(&self) -> u64 {
        self.state.now_ns
    }

    /// What the drive was found to do against its contract.
    pub fn misuse(&self) -> Option<Misuse> {
        self.misuse
    }

    /// The cached pages.
    pub fn cache(&self) -> &PageCache {
        &self.state.cache
    }

    /// The file system.
    pub fn files(&self) -> &FileSystem {
        &self.state.files
    }

    /// Record every request to the drive from now on.
    pub fn trace_requests(&mut self) {
        self.state.block.trace = Some(Vec::new());
    }

    /// The requests since they are recorded, or since this was last asked.
    pub fn take_requests(&mut self) -> Vec<BlockRequest> {
        self.state.block.trace.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Record every call from now on.
    pub fn trace_calls(&mut self) {
        self.begun = Some(Vec::new());
    }

    /// The calls since they are recorded, or since this was last asked, in the order in which they began; those of a job have
    /// the numbers of its tasks.
    pub fn take_calls(&mut self) -> Vec<(u32, Call)> {
        self.begun.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Begin a call at `now_ns`, which is not before the clock. The number of the call is free. When and how it ends, if that
    /// is known at once; else it will be in `run_next`.
    pub fn begin(&mut self, number: u32, call: Call, now_ns: u64) -> Option<(u64, Result<(), CallError>)> {
        self.state.now_ns = self.state.now_ns.max(now_ns);
        if let Some(begun) = &mut self.begun {
            begun.push((number, call.clone()));
        }
        self.proceed(number, Active::new(call, self.state.now_ns))
    }

    /// Calls that have not ended.
    pub fn pending(&self) -> usize {
        self.state.calls.len()
    }

    /// The next instant at which something happens.
    fn next_instant(&self) -> Option<u64> {
        let event = self.state.events.first_key_value().map(|((at_ns, _), _)| *at_ns);
        let completion = self.state.completions.first().map(|(at_ns, _)| *at_ns);
        let device = if self.misuse.is_none() { self.device.next_event().map(|event| event.at_ns) } else { None };
        [event, completion, device].into_iter().flatten().min()
    }

    /// Do what happens next, if it happens before `before_ns`; whether there was anything. Calls that end are appended to
    /// `done`.
    pub(crate) fn run_next(&mut self, before_ns: u64) -> bool {
        let Some(at_ns) = self.next_instant().filter(|at_ns| *at_ns < before_ns) else { return false };
        let due = self.state.events.first_key_value().filter(|((event_ns, _), _)| *event_ns <= at_ns);
        if let Some((key, event)) = due.map(|(key, event)| (*key, *event)) {
            self.state.events.remove(&key);
            self.state.now_ns = self.state.now_ns.max(at_ns);
            self.happen(event);
            return true;
        }
        if self.state.completions.first().is_some_and(|(complete_ns, _)| *complete_ns <= at_ns) {
            self.state.now_ns = self.state.now_ns.max(at_ns);
            self.deliver();
            return true;
        }
        self.decide(at_ns + 1);
        true
    }

    /// Let the drive decide everything before an instant.
    fn decide(&mut self, before_ns: u64) {
        self.decisions.clear();
        if let Err(misuse) = self.device.advance_to(before_ns, &mut self.decisions) {
            self.misuse = Some(misuse);
            return;
        }
        let device_ns = self.device.now_ns();
        for completion in &self.decisions.completions {
            if completion.status != Status::Done && self.state.failure.is_none() {
                self.state.failure = completion.status.failure().or(Some("the drive failed".to_owned()));
                self.status = Some(completion.status);
            }
            self.state.completions.insert((completion.complete_ns.max(device_ns), completion.tag.0));
        }
    }

    /// Hand over everything that completes now.
    fn deliver(&mut self) {
        while let Some((at_ns, tag)) = self.state.completions.first().copied().filter(|it| it.0 <= self.state.now_ns) {
            self.state.completions.remove(&(at_ns, tag));
            self.state.block.end(Tag(tag), &mut self.ended);
        }
        // The drive's clock follows, so that what is submitted now is not before it.
        for io in std::mem::take(&mut self.ended) {
            if let Some(Pages { file, page, count }) = self.state.reads.remove(&io) {
                self.state.cache.unlock(file, page, count);
            }
            if let Some(Pages { file, page, count }) = self.state.writes.remove(&io) {
                self.state.cache.end_writeback(file, page, count);
            }
        }
        self.dispatch();
        self.step_commit();
        self.resume_flusher();
        self.wake();
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Call(number) => {
                if let Some(call) = self.state.calls.remove(&number)
                    && let Some((end_ns, result)) = self.proceed(number, call)
                {
                    self.done.push((number, end_ns, result));
                }
            }
            Event::FlusherPeriod => {
                self.state.at(self.state.now_ns + self.profile.flusher_period_ns, Event::FlusherPeriod);
                self.start_flusher();
            }
            Event::Flusher => self.run_flusher(),
            Event::CommitTimer(id) => {
                if self.state.files.journal.running.id == id {
                    self.request_commit(id);
                }
            }
        }
    }

    /// Let a call run until it ends or must wait.
    fn proceed(&mut self, number: u32, mut call: Active) -> Option<(u64, Result<(), CallError>)> {
        if let Some(words) = &self.state.failure {
            return Some((self.state.now_ns, Err(CallError::Drive(words.clone()))));
        }
        let mut cost_ns = 0.0;
        let progress = self.step(&mut call, &mut cost_ns);
        let now_ns = self.state.now_ns;
        // Rounded up at the end only, so that many small costs do not add up to nothing.
        let end_ns = if cost_ns > 0.0 { self.state.processors.work(now_ns, (cost_ns + 0.5) as u64) } else { now_ns };
        if self.state.files.journal.running.id != self.state.timer_for && !self.state.files.journal.running.is_empty() {
            let id = self.state.files.journal.running.id;
            self.state.timer_for = id;
            self.state.at(now_ns + self.profile.commit_ns, Event::CommitTimer(id));
        }
        match progress {
            Progress::Done(result) => return Some((end_ns, result)),
            Progress::Again => self.state.at(end_ns, Event::Call(number)),
            Progress::Wait(wait) => {
                debug_assert!(cost_ns == 0.0, "a call waits with its time spent");
                self.state.waiting.push((number, wait));
            }
        }
        self.state.calls.insert(number, call);
        None
    }

    /// Continue the calls whose wait is over, in the order in which they began to wait.
    pub(crate) fn wake(&mut self) {
        let mut waiting = std::mem::take(&mut self.state.waiting);
        waiting.retain(|(number, wait)| {
            let over = self.is_over(*wait) || self.state.failure.is_some();
            if over {
                self.state.at(self.state.now_ns, Event::Call(*number));
            }
            !over
        });
        waiting.append(&mut self.state.waiting);
        self.state.waiting = waiting;
    }

    fn is_over(&self, wait: Wait) -> bool {
        match wait {
            Wait::Io(io) => !self.state.block.is_pending(io),
            Wait::Page(file, page) => {
                let covers = |it: &Pages| it.file == file && (it.page..it.page + it.count).contains(&page);
                !self.state.reads.values().any(covers)
            }
            Wait::Writeback(file, last) => !self.state.writes.range(..=last).any(|(_, pages)| pages.file == file),
            Wait::Commit(id) => self.state.files.journal.committed >= id,
            Wait::Dirty => !self.must_throttle(),
        }
    }

    /// Give the drive what waits.
    pub(crate) fn dispatch(&mut self) {
        if self.misuse.is_none() {
            let now_ns = self.state.now_ns;
            self.misuse = self.state.block.dispatch(&self.profile.queue, &mut *self.device, now_ns).err();
        }
    }

    /// Submit a range of the drive for a piece of I/O.
    pub(crate) fn submit(&mut self, io: IoId, kind: Kind, offset: u64, length: u64, fua: bool) {
        let request = BlockRequest::new(kind, offset, length, fua, self.state.now_ns);
        self.state.block.submit(&self.profile.queue, io, request);
    }

    /// As [`Self::submit`], from or into memory whose pages are separate.
    pub(crate) fn submit_separate(&mut self, io: IoId, kind: Kind, offset: u64, length: u64, fua: bool) {
        let request =
            BlockRequest { separate: true, ..BlockRequest::new(kind, offset, length, fua, self.state.now_ns) };
        self.state.block.submit(&self.profile.queue, io, request);
    }

    /// Read pages of a file that are not in the cache, one piece of I/O for each request; holes are filled at once.
    pub(crate) fn read_pages(&mut self, file: FileId, page: u32, count: u32, marker: Option<u32>) {
        let most = (self.profile.queue.request_bytes / PAGE_BYTES) as u32;
        let (mut at, end) = (page, page + count);
        self.state.block.plug();
        while at < end {
            let missing = self.state.cache.missing(file, at, end - at);
            if missing == 0 {
                at += 1;
                continue;
            }
            let (length, block) = match self.state.files.map(file, at, missing) {
                Ok((block, length)) => (length.min(most), Some(block)),
                Err(length) => (length, None),
            };
            self.state.cache.insert_locked(file, at, length, marker);
            if let Some(block) = block {
                let io = self.state.block.new_io();
                self.state.reads.insert(io, Pages { file, page: at, count: length });
                self.submit(io, Kind::Read, block * PAGE_BYTES, u64::from(length) * PAGE_BYTES, false);
            } else {
                self.state.cache.unlock(file, at, length);
            }
            self.state.counters.pages_read += u64::from(length);
            at += length;
        }
        self.state.block.unplug();
        self.dispatch();
    }

    /// Let time pass until `at_ns`, doing everything that happens before.
    pub fn advance_to(&mut self, at_ns: u64) {
        while self.misuse.is_none() && self.run_next(at_ns) {}
        self.state.now_ns = self.state.now_ns.max(at_ns);
    }

    /// Do a call alone, and let time pass until it has ended.
    ///
    /// # Errors
    /// Why the call failed.
    pub fn call(&mut self, call: Call) -> Result<u64, CallError> {
        const ALONE: u32 = u32::MAX;
        let outcome = self.begin(ALONE, call, self.state.now_ns);
        let (end_ns, result) = outcome.unwrap_or_else(|| {
            loop {
                let found = self.done.iter().position(|(number, ..)| *number == ALONE);
                if let Some(found) = found {
                    let (_, end_ns, result) = self.done.swap_remove(found);
                    break (end_ns, result);
                }
                if self.misuse.is_some() || !self.run_next(u64::MAX) {
                    break (self.state.now_ns, Err(CallError::Drive("the drive never answers".to_owned())));
                }
            }
        });
        self.advance_to(end_ns);
        result.map(|()| end_ns)
    }
}

impl State {
    /// Something happens at an instant.
    pub(crate) fn at(&mut self, at_ns: u64, event: Event) {
        self.next_event += 1;
        self.events.insert((at_ns, self.next_event), event);
    }
}
