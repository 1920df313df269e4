//! The stations of the drive, one event after the other: controller, link, channels, arrays.
//!
//! # Model
//! Controller, link and channels serve what arrived first. An array serves reads before all else, reads in the order of
//! their arrival; then what was interrupted continues, then programs and collections follow in their order. Where the profile
//! says so, a read interrupts a program, a copy or an erase that is in progress; else it waits for the end of that
//! operation alone.
//!
//! A collection is done in pieces, one copy (read and program, two transfers) or one erase at a time, so that reads come
//! in between. Paced, each page that the host writes carries a share of it, as in the other scheduling.

use super::array_queue::{ArrayQueue, Work};
use super::figures::Figures;
use super::jobs::{Command, Job, NONE, Slab};
use crate::block_device::{DurableExtent, Tag};
use crate::flash::cells::NoWatch;
use crate::flash::counters::Counters;
use crate::flash::map::{Map, Placement};
use crate::profile::flash::choices::Power;
use crate::{Request, RequestKind};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// What happens at an event, in the order in which it happens at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum Stage {
    /// A command has passed the controller.
    Controller,
    /// A page of the host is in the controller.
    Arrived,
    /// A page is over the channel on its way to the array.
    AtArray,
    /// An array has done what it was doing.
    ArrayDone,
    /// A page is over the channel on its way to the host.
    AtController,
    /// A command is complete, and leaves its place to another.
    Complete,
}

/// Something that will happen. Events of one instant are in the order of submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct StationEvent {
    pub at_ns: u64,
    /// The submission, and the page of it.
    pub order: u64,
    pub stage: Stage,
    /// Of a command, a job, or an array.
    pub number: u32,
    /// Of an array: which of its operations; an older one was interrupted.
    pub version: u32,
}

/// A flush that waits until this many pages are on the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WaitingFlush {
    pub command: u32,
    pub sequence: u64,
    pub pages: u64,
}

/// A command whose end is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CommandEnd {
    pub tag: u64,
    pub sequence: u64,
    pub complete_ns: u64,
}

/// The stations with all that is in them.
#[derive(Clone, Debug)]
pub(super) struct Stations {
    pub figures: Figures,
    pub map: Map,
    pub counters: Counters,
    pub happenings: BinaryHeap<Reverse<StationEvent>>,
    pub commands: Slab<Command>,
    pub jobs: Slab<Job>,
    /// Commands without a place, in the order of submission.
    pub waiting: VecDeque<u32>,
    pub places_taken: u32,
    /// A flush that is alone holds up what comes after it.
    pub gate_closed: bool,
    pub controller_ns: u64,
    pub to_host_ns: u64,
    pub to_drive_ns: u64,
    pub channels_ns: Vec<u64>,
    pub arrays: Vec<ArrayQueue>,
    /// Arrays that do nothing and may have something to do, within an instant.
    pub idle: Vec<u32>,
    /// What each page written to a plane carries of a paced collection, in ns of the array and of the channel.
    pub shares: Vec<(u64, u64)>,
    pub buffer_free: u32,
    /// Pages that wait for a place in the write buffer.
    pub buffer_waiting: VecDeque<u32>,
    /// Pages of the buffer that are not on the medium yet, and how many of each.
    pub in_buffer: BTreeMap<u32, u32>,
    pub unprogrammed: u64,
    pub flushes: Vec<WaitingFlush>,
    pub reports: bool,
    /// Commands that are not decided.
    pub undecided: u64,
    pub ended: Vec<CommandEnd>,
    /// Commands that are complete: tag and number.
    pub released: Vec<(u64, u32)>,
    pub persisted: Vec<DurableExtent>,
}

impl Stations {
    pub(super) fn new(figures: Figures, map: Map) -> Self {
        Self {
            map,
            counters: Counters::default(),
            happenings: BinaryHeap::new(),
            commands: Slab::default(),
            jobs: Slab::default(),
            waiting: VecDeque::new(),
            places_taken: 0,
            gate_closed: false,
            controller_ns: 0,
            to_host_ns: 0,
            to_drive_ns: 0,
            channels_ns: vec![0; figures.channels as usize],
            arrays: vec![ArrayQueue::default(); figures.array_channels.len()],
            idle: Vec::new(),
            shares: vec![(0, 0); figures.wires.len()],
            buffer_free: figures.buffer_pages,
            buffer_waiting: VecDeque::new(),
            in_buffer: BTreeMap::new(),
            unprogrammed: 0,
            flushes: Vec::new(),
            reports: false,
            undecided: 0,
            ended: Vec::new(),
            released: Vec::new(),
            persisted: Vec::new(),
            figures,
        }
    }

    /// When the next event is.
    #[inline]
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.happenings.peek().map(|next| next.0.at_ns)
    }

    pub(super) fn happens(&mut self, at_ns: u64, order: u64, stage: Stage, number: u32) {
        self.happenings.push(Reverse(StationEvent { at_ns, order, stage, number, version: 0 }));
    }

    /// A command of the host; its number.
    pub(super) fn submit(&mut self, tag: u64, sequence: u64, request: &Request) -> u32 {
        let number = self.commands.insert(Command::new(tag, sequence, *request));
        self.undecided += 1;
        self.waiting.push_back(number);
        self.admit(request.submit_ns);
        number
    }

    /// Let commands in while there are places.
    fn admit(&mut self, now_ns: u64) {
        while let Some(number) = self.waiting.front().copied() {
            let Command { request, sequence, .. } = *self.commands.at(number);
            let alone = self.figures.flush_alone && request.kind == RequestKind::Flush;
            if self.gate_closed || self.places_taken >= self.figures.queue_depth_max || (alone && self.places_taken > 0)
            {
                return;
            }
            self.waiting.pop_front();
            self.places_taken += 1;
            self.gate_closed = alone;
            let begins_ns = self.controller_ns.max(now_ns);
            self.controller_ns = begins_ns + self.figures.controller_ns;
            let ready_ns = begins_ns + self.figures.controller_latency_ns;
            self.commands.at_mut(number).ready_ns = ready_ns;
            self.happens(ready_ns, sequence << 24, Stage::Controller, number);
        }
    }

    /// Do what happens at `now_ns`, until nothing more does; false if that has no end.
    pub(super) fn step(&mut self, now_ns: u64) -> bool {
        for _ in 0..crate::block_device::STEPS_MAX {
            let Some(Reverse(next)) = self.happenings.peek().copied().filter(|next| next.0.at_ns == now_ns) else {
                if self.begin_operations(now_ns) {
                    continue;
                }
                return true;
            };
            self.happenings.pop();
            match next.stage {
                Stage::Controller => self.begin(next.number, now_ns),
                Stage::Arrived => self.arrived(next.number, now_ns),
                Stage::AtArray => self.queue_program(next.number),
                Stage::ArrayDone => self.array_done(next.number, next.version, now_ns),
                Stage::AtController => self.at_controller(next.number, now_ns),
                Stage::Complete => {
                    self.places_taken -= 1;
                    let command = self.commands.remove(next.number);
                    self.released.push((command.tag, next.number));
                    self.gate_closed &= command.request.kind != RequestKind::Flush;
                    self.admit(now_ns);
                }
            }
        }
        false
    }

    /// A command has passed the controller.
    fn begin(&mut self, number: u32, now_ns: u64) {
        let Command { tag, sequence, request, .. } = *self.commands.at(number);
        self.counters.queue_wait_ns += now_ns - request.submit_ns;
        let (shift, end_byte) = (self.figures.page_bytes.trailing_zeros(), request.offset_bytes + request.length_bytes);
        match request.kind {
            RequestKind::Read | RequestKind::Write => {
                let (first, behind) = (request.offset_bytes >> shift, end_byte.div_ceil(1 << shift));
                self.commands.at_mut(number).left = (behind - first) as u32;
                for page in first..behind {
                    let from_byte = (page << shift).max(request.offset_bytes);
                    let bytes = (((page + 1) << shift).min(end_byte) - from_byte) as u32;
                    let order = sequence << 24 | (page - first);
                    let job = Job {
                        tag,
                        order,
                        offset_bytes: from_byte,
                        bytes,
                        command: number,
                        unit: NONE,
                        writes: request.kind == RequestKind::Write,
                        acknowledged: false,
                        in_controller: false,
                        placed: false,
                    };
                    let job = self.jobs.insert(job);
                    if request.kind == RequestKind::Read {
                        self.begin_read(job, page as u32, now_ns);
                    } else {
                        self.begin_write(job, now_ns);
                    }
                }
            }
            RequestKind::Discard => {
                if self.figures.honours_trim {
                    for page in request.offset_bytes.div_ceil(1 << shift)..end_byte >> shift {
                        self.counters.trimmed_pages += u64::from(self.map.discard(page as u32));
                    }
                }
                self.end(number, now_ns);
            }
            RequestKind::Flush => {
                self.counters.flushes += 1;
                if !self.figures.flush_honoured {
                    self.end(number, now_ns);
                } else if self.unprogrammed == 0 {
                    self.end(number, now_ns + self.figures.flush_ns);
                } else {
                    self.flushes.push(WaitingFlush { command: number, sequence, pages: self.unprogrammed });
                }
            }
        }
    }

    fn begin_read(&mut self, job: u32, page: u32, now_ns: u64) {
        self.counters.host_pages_read += 1;
        if self.is_in_buffer(page) {
            self.counters.buffer_pages_read += 1;
            self.deliver(job, now_ns);
            return;
        }
        match self.map.unit_holding(page) {
            None => self.deliver(job, now_ns),
            Some(unit) => self.queue_read(job, unit, now_ns),
        }
    }

    fn is_in_buffer(&self, page: u32) -> bool {
        self.figures.reads_buffer && self.in_buffer.contains_key(&page)
    }

    /// Something over a channel; when it is there.
    pub(super) fn carry(&mut self, channel: u32, takes_ns: u64, now_ns: u64) -> u64 {
        let free_ns = &mut self.channels_ns[channel as usize];
        *free_ns = now_ns.max(*free_ns) + takes_ns;
        *free_ns
    }

    /// A page that was read is in the controller.
    fn at_controller(&mut self, job: u32, now_ns: u64) {
        if self.jobs.at(job).writes {
            self.place(job, now_ns);
        } else {
            self.deliver(job, now_ns);
        }
    }

    /// A page to the host over the link.
    fn deliver(&mut self, job: u32, now_ns: u64) {
        let Job { command, bytes, .. } = self.jobs.remove(job);
        let takes_ns = (f64::from(bytes) * self.figures.to_host_ns_per_byte).round() as u64;
        self.to_host_ns = self.to_host_ns.max(now_ns) + takes_ns;
        self.part_done(command, self.to_host_ns);
    }

    fn begin_write(&mut self, job: u32, now_ns: u64) {
        self.counters.host_pages_written += 1;
        self.counters.host_bytes_written += u64::from(self.jobs.at(job).bytes);
        self.unprogrammed += 1;
        if self.figures.buffer_pages == 0 {
            self.receive(job, now_ns);
        } else if self.buffer_free > 0 {
            self.buffer_free -= 1;
            self.receive(job, now_ns);
        } else {
            self.buffer_waiting.push_back(job);
        }
    }

    /// A page from the host over the link.
    fn receive(&mut self, job: u32, now_ns: u64) {
        let Job { order, bytes, .. } = *self.jobs.at(job);
        let takes_ns = (f64::from(bytes) * self.figures.to_drive_ns_per_byte).round() as u64;
        let link_ns = if self.figures.full_duplex { &mut self.to_drive_ns } else { &mut self.to_host_ns };
        *link_ns = now_ns.max(*link_ns) + takes_ns;
        let there_ns = *link_ns;
        self.happens(there_ns, order, Stage::Arrived, job);
    }

    /// A page of the host is in the controller.
    fn arrived(&mut self, job: u32, now_ns: u64) {
        let Job { command, offset_bytes, bytes, .. } = *self.jobs.at(job);
        let page = (offset_bytes / u64::from(self.figures.page_bytes)) as u32;
        let was_in_buffer = self.is_in_buffer(page);
        self.jobs.at_mut(job).in_controller = true;
        if self.figures.buffer_pages > 0 {
            if self.figures.reads_buffer {
                *self.in_buffer.entry(page).or_insert(0) += 1;
            }
            if !self.commands.at(command).request.fua {
                self.jobs.at_mut(job).acknowledged = true;
                self.part_done(command, now_ns);
            }
            if self.reports && self.figures.power == Some(Power::Protected) {
                self.persists(job, now_ns);
            }
        }
        let whole = bytes == self.figures.page_bytes || was_in_buffer;
        match self.map.unit_holding(page).filter(|_| !whole) {
            Some(unit) => self.queue_read(job, unit, now_ns),
            None => self.place(job, now_ns),
        }
    }

    /// A whole page that is in the controller finds its place on the medium.
    fn place(&mut self, job: u32, now_ns: u64) {
        let Job { order, offset_bytes, .. } = *self.jobs.at(job);
        let page = (offset_bytes / u64::from(self.figures.page_bytes)) as u32;
        let placement = self.map.write(page, &mut NoWatch);
        self.open(&placement);
        let unit = placement.unit;
        let it = self.jobs.at_mut(job);
        (it.unit, it.placed) = (unit, true);
        let share = if self.figures.paced { self.shares[unit as usize] } else { (0, 0) };
        let channel = self.figures.wires[unit as usize].0;
        let there_ns = self.carry(channel, self.figures.channel_page_ns + share.1, now_ns);
        self.happens(there_ns, order, Stage::AtArray, job);
    }

    /// What it took to open a block: at once, or in shares.
    fn open(&mut self, placement: &Placement) {
        let Some(opening) = placement.opening else { return };
        self.counters.gc_pages_moved += u64::from(opening.moved);
        self.counters.levelling_pages_moved += u64::from(opening.levelled);
        self.counters.flash_pages_read += u64::from(opening.reads);
        self.counters.flash_pages_programmed += u64::from(opening.programs);
        self.counters.blocks_erased += u64::from(opening.erased);
        let copies = opening.moved + opening.levelled;
        let figures = &self.figures;
        if figures.paced && opening.gained > 0 {
            let array_ns = u64::from(copies) * (figures.read_ns + figures.program_ns)
                + u64::from(opening.erased) * figures.erase_ns;
            let (channel_ns, pages) = (u64::from(copies) * figures.copy_channel_ns, u64::from(opening.gained));
            self.shares[placement.unit as usize] = (array_ns.div_ceil(pages), channel_ns.div_ceil(pages));
        } else if copies + opening.erased > 0 {
            let number = figures.wires[placement.unit as usize].1;
            let work = Work { job: NONE, copies, erases: opening.erased, share_ns: 0 };
            self.queue_work(number, work);
        }
    }

    fn queue_program(&mut self, job: u32) {
        let unit = self.jobs.at(job).unit as usize;
        let share_ns = if self.figures.paced { self.shares[unit].0 } else { 0 };
        self.counters.flash_pages_programmed += 1;
        let work = Work { job, copies: 0, erases: 0, share_ns };
        self.queue_work(self.figures.wires[unit].1, work);
    }

    fn persists(&mut self, job: u32, at_ns: u64) {
        let Job { tag, offset_bytes, bytes, .. } = *self.jobs.at(job);
        self.persisted.push(DurableExtent { tag: Tag(tag), offset_bytes, length_bytes: u64::from(bytes), at_ns });
    }

    /// A page of the host is on the medium.
    pub(super) fn programmed(&mut self, job: u32, now_ns: u64) {
        let protected = self.figures.buffer_pages > 0 && self.figures.power == Some(Power::Protected);
        if self.reports && !protected {
            self.persists(job, now_ns);
        }
        let Job { command, order, offset_bytes, acknowledged, .. } = self.jobs.remove(job);
        self.unprogrammed -= 1;
        for flush in self.flushes.iter_mut().filter(|flush| order >> 24 < flush.sequence) {
            flush.pages -= 1;
        }
        if self.figures.buffer_pages > 0 {
            let page = (offset_bytes / u64::from(self.figures.page_bytes)) as u32;
            if let Some(count) = self.in_buffer.get_mut(&page) {
                *count -= 1;
                if *count == 0 {
                    self.in_buffer.remove(&page);
                }
            }
            match self.buffer_waiting.pop_front() {
                Some(next) => self.receive(next, now_ns),
                None => self.buffer_free += 1,
            }
        }
        if !acknowledged {
            self.part_done(command, now_ns);
        }
        while let Some(at) = self.flushes.iter().position(|flush| flush.pages == 0) {
            let command = self.flushes.remove(at).command;
            self.end(command, now_ns + self.figures.flush_ns);
        }
    }

    /// A page of a command is where it shall be at this instant, now or later.
    fn part_done(&mut self, number: u32, done_ns: u64) {
        let command = self.commands.at_mut(number);
        command.left -= 1;
        command.end_ns = command.end_ns.max(done_ns);
        if command.left == 0 {
            let end_ns = command.end_ns;
            self.end(number, end_ns);
        }
    }

    /// The end of a command is known.
    fn end(&mut self, number: u32, complete_ns: u64) {
        let command = self.commands.at_mut(number);
        (command.end_ns, command.decided) = (complete_ns, true);
        let Command { tag, sequence, ready_ns, .. } = *command;
        self.counters.service_ns += complete_ns - ready_ns;
        self.undecided -= 1;
        self.ended.push(CommandEnd { tag, sequence, complete_ns });
        self.happens(complete_ns, sequence << 24, Stage::Complete, number);
    }
}
