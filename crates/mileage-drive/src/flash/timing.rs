//! Times of all operations: busy-until times of the controller, the link, the channels and the arrays.
//!
//! # Model
//! A command takes one of `queue_depth_max` places, waiting for the first that becomes free. The controller is a
//! pipeline: it begins commands in order, `controller_us` apart, and each leaves it `controller_latency_us` after its
//! beginning. Pages of one command proceed independently of each other:
//!
//! - *read*: array read on the plane, transfer over its channel, transfer over the link;
//! - *write*: a place in the write buffer if there is one, transfer over the link, over the channel, program;
//! - *collection* of a block with k valid pages: the plane works k reads, k programs and an erase, the channel
//!   carries 2 k pages (each goes to the controller and back). At once: in one piece, before the write that it makes
//!   room for, and it ends when both are done. Paced: every page that it made room for carries an equal share of it.
//!
//! An array has a cache register: a transfer overlaps with the array's work. Transfers never overlap each other on
//! one channel or on the link, so that no rate exceeds what they carry; a transfer that waits for its plane leaves
//! the gap before it to others, as far as a lane remembers its gaps.
//!
//! The planes of a die are arrays of their own (`independent`), or one array (`one`), or one array that does the
//! same operation in several planes in the time of one (`together`): a program joins the one before it when that is
//! in another plane and the page arrives before the program begins, or no later than the transfers of a page for
//! each plane take; the joint program ends a program time after the last page arrived. Reads join likewise, or only those
//! of pages at the same place of their blocks (`plane_reads`).
//!
//! Where the profile says so, erases and programs are interrupted for reads ([`super::suspend`]), and what a collection
//! copies stays in its plane, without the channel (copy-back).
//!
//! On a link whose flush is not queued (SATA) a flush waits for every command before it, and those after it for the
//! flush.
//!
//! # Not modelled
//! Commands on the channel, spread of cell times.

use super::array_operation::{ANY_READ, Array, ArrayPolicy, PROGRAM, PagePlace};
use super::lane::Lane;
use super::map::{BlockOpening, NOWHERE};
use super::queue::Queue;
use super::suspend::Line;
use crate::profile::FlashProfile;
use crate::profile::flash::choices::{Copies, Duplex, Pace, PlaneReads, PlaneWork, Suspend};

/// A page of the map that waits in the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WaitingPage {
    /// The frontier that it was written to.
    pub slot: u32,
    /// Its place in the write buffer, [`NOWHERE`] if it has none.
    pub place: u32,
    /// Time of arrival.
    pub there_ns: u64,
}

/// An instant that is not decided.
pub(super) const UNKNOWN: u64 = u64::MAX;

/// Durations in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Costs {
    pub(super) read: u64,
    pub(super) open_read: u64,
    program: u64,
    erase: u64,
    pub(super) slc_read: u64,
    slc_program: u64,
    /// From the beginning of a command to that of the next.
    controller: u64,
    controller_latency: u64,
    flush: u64,
    channel_page: u64,
    /// A page of the map, of which a flash page may hold several.
    pub(super) channel_part: u64,
    to_host: Direction,
    to_drive: Direction,
    /// Parts of a flash page.
    parts: u32,
    copies_back: bool,
    pub(super) suspend: u64,
    /// A page that arrives this much later still joins an operation of other planes.
    pub(super) join_within: u64,
}

impl Costs {
    fn of(profile: &FlashProfile) -> Self {
        Self {
            read: profile.read_ns,
            open_read: profile.chip.open_block_read_ns,
            program: profile.program_ns,
            erase: profile.erase_ns,
            slc_read: profile.slc_cache.map_or(0, |cache| cache.read_ns),
            slc_program: profile.slc_cache.map_or(0, |cache| cache.program_ns),
            controller: profile.controller_ns,
            controller_latency: profile.controller_latency_ns,
            flush: profile.write_buffer.flush_ns,
            channel_page: profile.channel_page_ns,
            channel_part: profile.channel_page_ns.div_ceil(u64::from(profile.mapped_per_program())),
            to_host: Direction::new(profile.link_mb_per_s, profile.mapping_bytes),
            to_drive: Direction::new(profile.link_write_mb_per_s, profile.mapping_bytes),
            parts: profile.mapped_per_program(),
            copies_back: profile.chip.copies == Copies::CopyBack,
            suspend: profile.chip.suspend_ns,
            join_within: profile.channel_page_ns * u64::from(profile.planes_per_die),
        }
    }
}

/// How long one direction of the link takes.
#[derive(Clone, Copy, Debug)]
struct Direction {
    ns_per_byte: f64,
    /// A page of the map, and how long that takes.
    part_bytes: u32,
    part_ns: u64,
}

impl Direction {
    fn new(mb_per_s: f64, part_bytes: u32) -> Self {
        let ns_per_byte = 1e3 / mb_per_s;
        Self { ns_per_byte, part_bytes, part_ns: (f64::from(part_bytes) * ns_per_byte).round() as u64 }
    }

    #[inline]
    fn takes_ns(&self, bytes: u32) -> u64 {
        if bytes == self.part_bytes { self.part_ns } else { (f64::from(bytes) * self.ns_per_byte).round() as u64 }
    }
}

/// Position of a plane: its array and its channel.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlaneAddress {
    pub channel: u32,
    pub(super) array: u32,
    /// Its bit among the planes of its die.
    pub(super) plane: u64,
}

/// The share of a paced collection that each page written to a plane carries, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Share {
    pub array: u64,
    pub channel: u64,
}

/// The clocks of one drive.
#[expect(clippy::struct_excessive_bools, reason = "rules of the profile, each independent of the others")]
#[derive(Clone, Debug)]
pub(crate) struct Clocks {
    pub(super) costs: Costs,
    paced: bool,
    pub(super) manner: ArrayPolicy,
    flush_alone: bool,
    by_place: bool,
    /// Planes read together only what is at the same place of their blocks.
    pub(super) same_page: bool,
    pub(super) wires: Vec<PlaneAddress>,
    /// The latest instant of any call.
    pub(super) now_ns: u64,
    pub(super) queue: Queue,
    /// When the controller may begin the next command.
    pub(super) controller_ns: u64,
    full_duplex: bool,
    /// Both directions of a link that carries one at a time; else to the host.
    pub(super) link: Lane,
    /// To the drive, where that is a lane of its own.
    pub(super) link_in: Lane,
    pub(super) channels: Vec<Lane>,
    pub(super) arrays: Vec<Array>,
    /// For each plane the share of a paced collection.
    pub(super) shares: Vec<Share>,
    /// When each place in the write buffer becomes free, [`UNKNOWN`] while what it holds waits for others to fill a
    /// flash page with it; they are used in turn.
    pub(super) buffer: Vec<u64>,
    pub(super) buffer_next: u32,
    /// Pages that wait for a flash page to be filled.
    pub(super) waiting: Vec<WaitingPage>,
    /// The flash page that the array read last for the present command, and when it had done so.
    pub(super) last_read: (u32, u64),
    /// Time at which everything written is on the medium.
    pub(super) durable_ns: u64,
    /// Time at which the last command was complete.
    pub(super) last_ns: u64,
    /// For each array the operations that reads may interrupt.
    pub(super) lines: Vec<Line>,
    /// Number of interruptions.
    pub(super) suspensions: u64,
}

impl Clocks {
    pub(crate) fn new(profile: &FlashProfile) -> Self {
        let dies = profile.dies;
        let planes = profile.planes() as u32;
        // Planes that cannot work independently share one busy time, that of their die.
        let apart = profile.policies.plane_work == PlaneWork::Independent;
        let arrays = if apart { planes } else { dies } as usize;
        let same_page = profile.policies.plane_reads == PlaneReads::SamePage;
        let suspends = profile.chip.suspend != Suspend::Off;
        let wire = |unit| PlaneAddress {
            // Neighbouring units are on different channels and dies, so that sequential pages are written in parallel.
            channel: unit % dies % profile.channels,
            array: if apart { unit } else { unit % dies },
            plane: 1 << (unit / dies),
        };
        Self {
            costs: Costs::of(profile),
            paced: profile.policies.pace == Pace::Paced,
            manner: ArrayPolicy::of(profile),
            flush_alone: profile.link.is_some_and(|link| link.flush_alone),
            by_place: same_page || profile.chip.open_block_read_ns != profile.read_ns,
            same_page,
            wires: (0..planes).map(wire).collect(),
            now_ns: 0,
            queue: Queue::new(profile.queue_depth_max),
            controller_ns: 0,
            full_duplex: profile.link_duplex == Duplex::Full,
            link: Lane::default(),
            link_in: Lane::default(),
            channels: vec![Lane::default(); profile.channels as usize],
            arrays: vec![Array::default(); arrays],
            shares: vec![Share::default(); planes as usize],
            buffer: vec![0; (profile.write_buffer_pages * profile.mapped_per_program()) as usize],
            buffer_next: 0,
            waiting: Vec::new(),
            last_read: (NOWHERE, 0),
            durable_ns: 0,
            last_ns: 0,
            lines: vec![Line::default(); if suspends { arrays } else { 0 }],
            suspensions: 0,
        }
    }

    /// A command arrives; when the controller has taken it.
    #[inline]
    pub(crate) fn begin(&mut self, submit_ns: u64) -> u64 {
        self.now_ns = self.now_ns.max(submit_ns);
        let entered_ns = self.queue.enter(self.now_ns);
        let begins_ns = self.controller_ns.max(entered_ns);
        self.controller_ns = begins_ns + self.costs.controller;
        // Units of one flash page share its read within a command only, because the controller keeps no page between
        // commands.
        self.last_read.0 = NOWHERE;
        begins_ns + self.costs.controller_latency
    }

    /// A flush that the controller has taken at `ready_ns`; when it is complete.
    pub(crate) fn flush(&mut self, ready_ns: u64) -> u64 {
        if !self.flush_alone {
            return ready_ns.max(self.durable_ns) + self.costs.flush;
        }
        // SATA cannot queue a flush: the controller takes it only when every earlier command is complete.
        let alone_ns = self.last_ns.max(ready_ns - self.costs.controller_latency) + self.costs.controller_latency;
        self.controller_ns = alone_ns.max(self.durable_ns) + self.costs.flush;
        self.controller_ns
    }

    /// The command that began last is complete then.
    #[inline]
    pub(crate) fn end(&mut self, complete_ns: u64) {
        self.last_ns = self.last_ns.max(complete_ns);
        self.queue.leave(complete_ns);
    }

    /// Time from which on an array is idle; for background work.
    pub(crate) fn idle_from(&self, unit: u32) -> u64 {
        self.arrays[self.wires[unit as usize].array as usize].busy_ns
    }

    /// The array's operation on this plane that cannot begin before `ready_ns`; when it is done.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "hot, and called from several places: calls cost a tenth of the speed")]
    pub(super) fn operate(&mut self, wire: PlaneAddress, ready_ns: u64, takes_ns: u64, kind: u32) -> u64 {
        if self.manner != ArrayPolicy::OneByOne {
            return self.operate_in_particular(wire, ready_ns, takes_ns, kind);
        }
        let array = &mut self.arrays[wire.array as usize];
        array.busy_ns = array.busy_ns.max(ready_ns) + takes_ns;
        array.busy_ns
    }

    /// A page from a plane to the controller; when it is there.
    #[inline]
    pub(crate) fn fetch(&mut self, unit: u32, ready_ns: u64) -> u64 {
        let wire = self.wires[unit as usize];
        let array_ns = self.operate(wire, ready_ns, self.costs.read, ANY_READ);
        self.channels[wire.channel as usize].carry(self.now_ns, array_ns, self.costs.channel_page)
    }

    /// The same where reads depend on the place; when it is there.
    pub(crate) fn fetch_at(&mut self, unit: u32, place: PagePlace, ready_ns: u64) -> u64 {
        let wire = self.wires[unit as usize];
        let (takes_ns, kind) = self.read_of(place);
        let array_ns = self.operate(wire, ready_ns, takes_ns, kind);
        self.channels[wire.channel as usize].carry(self.now_ns, array_ns, self.costs.channel_page)
    }

    /// Whether the time of a read depends on where in its block the page is.
    #[inline]
    pub(crate) fn reads_by_place(&self) -> bool {
        self.by_place
    }

    /// The same from cells of one bit.
    #[inline]
    pub(crate) fn fetch_slc(&mut self, unit: u32, ready_ns: u64) -> u64 {
        let wire = self.wires[unit as usize];
        let array_ns = self.operate(wire, ready_ns, self.costs.slc_read, ANY_READ);
        self.channels[wire.channel as usize].carry(self.now_ns, array_ns, self.costs.channel_page)
    }

    /// A page from the controller into cells of one bit; when it is on the medium. It carries no share of a collection.
    #[inline]
    pub(crate) fn program_slc(&mut self, unit: u32, ready_ns: u64) -> u64 {
        let wire = self.wires[unit as usize];
        let carried_ns = self.channels[wire.channel as usize].carry(self.now_ns, ready_ns, self.costs.channel_page);
        self.operate(wire, carried_ns, self.costs.slc_program, PROGRAM)
    }

    /// Bytes from the controller to the host; when they are there.
    #[inline]
    pub(crate) fn deliver(&mut self, bytes: u32, ready_ns: u64) -> u64 {
        let takes_ns = self.costs.to_host.takes_ns(bytes);
        self.link.carry(self.now_ns, ready_ns, takes_ns)
    }

    /// Bytes from the host to the controller; when they are there.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "hot: a call costs a twentieth of the speed of writes")]
    pub(crate) fn accept(&mut self, bytes: u32, ready_ns: u64) -> u64 {
        // The transfer waits for a free place in the buffer, as the data has to go somewhere; without a buffer it does
        // not.
        let free_ns = self.buffer.get(self.buffer_next as usize).copied().unwrap_or(0);
        self.receive(bytes, ready_ns.max(free_ns))
    }

    #[inline]
    fn receive(&mut self, bytes: u32, ready_ns: u64) -> u64 {
        let takes_ns = self.costs.to_drive.takes_ns(bytes);
        let lane = if self.full_duplex { &mut self.link_in } else { &mut self.link };
        lane.carry(self.now_ns, ready_ns, takes_ns)
    }

    /// A plane works for the block that it opened, `shared` by the pages that the block has room for when collections
    /// are paced.
    pub(crate) fn collect(&mut self, unit: u32, opening: &BlockOpening, ready_ns: u64) {
        let [moved, erased] = [opening.moved + opening.levelled, opening.erased].map(u64::from);
        let [reads, programs] = [opening.reads, opening.programs].map(u64::from);
        let copies = reads * self.costs.read + programs * self.costs.program;
        let there_and_back = moved * self.costs.channel_part + programs * self.costs.channel_page;
        let channel = if self.costs.copies_back { 0 } else { there_and_back };
        if self.paced && opening.gained > 0 {
            // Spread the collection over as many programs as the block has room for: it is paid off exactly when the
            // block is full.
            self.share(unit, copies + erased * self.costs.erase, channel, opening.gained.div_ceil(self.costs.parts));
            return;
        }
        if moved + erased == 0 {
            return;
        }
        let wire = self.wires[unit as usize];
        let carried_ns =
            if channel > 0 { self.channels[wire.channel as usize].carry(self.now_ns, ready_ns, channel) } else { 0 };
        let array = &mut self.arrays[wire.array as usize];
        let from_ns = array.busy_ns.max(ready_ns);
        // The block may be erased only after its last page has been copied, through the channel if copies leave the
        // plane.
        let copied_ns = (from_ns + copies).max(carried_ns);
        let to_ns = copied_ns + erased * self.costs.erase;
        array.busy_ns = to_ns;
        array.joint_planes = 0;
        self.allow_interruption(wire.array, from_ns, copied_ns, to_ns);
        if opening.programs > 0 {
            self.programmed(opening.slot, copied_ns);
        }
    }

    /// Distribute work of the array and of the channel, in ns, evenly over the next pages of a plane.
    fn share(&mut self, unit: u32, array: u64, channel: u64, pages: u32) {
        let pages = u64::from(pages);
        self.shares[unit as usize] = Share { array: array.div_ceil(pages), channel: channel.div_ceil(pages) };
    }

    /// Whether collections are paced.
    pub(crate) fn paces(&self) -> bool {
        self.paced
    }

    /// The next pages (at least one) of a plane carry these reads, programs and erases, through the controller.
    pub(crate) fn share_collection(&mut self, unit: u32, reads: u32, programs: u32, erases: u32, pages: u32) {
        let [reads, programs, erases] = [reads, programs, erases].map(u64::from);
        let array = reads * self.costs.read + programs * self.costs.program + erases * self.costs.erase;
        self.share(unit, array, (reads + programs) * self.costs.channel_page, pages);
    }

    /// A block of a plane is erased; when that is done.
    pub(crate) fn erase(&mut self, unit: u32, ready_ns: u64) -> u64 {
        let number = self.wires[unit as usize].array;
        let array = &mut self.arrays[number as usize];
        let from_ns = array.busy_ns.max(ready_ns);
        let to_ns = from_ns + self.costs.erase;
        // No program may join an erase.
        (array.busy_ns, array.joint_planes) = (to_ns, 0);
        self.allow_interruption(number, from_ns, from_ns, to_ns);
        to_ns
    }

    /// Whether copies stay in their plane.
    pub(crate) fn copies_back(&self) -> bool {
        self.costs.copies_back
    }

    /// A page is copied inside its plane, without the channel; when it is on the medium.
    pub(crate) fn copy_back(&mut self, unit: u32, ready_ns: u64) -> u64 {
        let wire = self.wires[unit as usize];
        let fetched_ns = self.operate(wire, ready_ns, self.costs.read, ANY_READ);
        self.operate(wire, fetched_ns, self.costs.program, PROGRAM)
    }

    /// A page from the controller into the array; when it is on the medium.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "hot, and called from several places: calls cost a tenth of the speed")]
    pub(crate) fn program(&mut self, unit: u32, ready_ns: u64) -> u64 {
        let wire = self.wires[unit as usize];
        let mut takes_ns = self.costs.channel_page;
        if self.paced {
            let share = self.shares[unit as usize];
            takes_ns += share.channel;
            // The share comes before the program, because the page waits for the room that this work makes.
            if share.array > 0 && self.manner != ArrayPolicy::Together {
                let array = &mut self.arrays[wire.array as usize];
                array.busy_ns = array.busy_ns.max(ready_ns) + share.array;
            }
        }
        let carried_ns = self.channels[wire.channel as usize].carry(self.now_ns, ready_ns, takes_ns);
        let mut done_ns = self.operate(wire, carried_ns, self.costs.program, PROGRAM);
        if self.paced && self.manner == ArrayPolicy::Together {
            // Copies are not joint operations, so the share of each plane takes its own time after the program.
            let array = &mut self.arrays[wire.array as usize];
            array.busy_ns += self.shares[unit as usize].array;
            done_ns = array.busy_ns;
        }
        done_ns
    }

    /// A page of the host from the controller into the array, leaving its place in the write buffer; when it is on the
    /// medium.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "hot, and called from several places: calls cost a tenth of the speed")]
    pub(crate) fn program_accepted(&mut self, unit: u32, slot: u32, ready_ns: u64) -> u64 {
        if !self.waiting.is_empty() {
            return self.program_with_waiting(unit, slot, ready_ns);
        }
        let done_ns = self.program(unit, ready_ns);
        self.leave_buffer(done_ns);
        done_ns
    }

    /// The same together with the pages that wait in the frontier.
    #[inline(never)]
    fn program_with_waiting(&mut self, unit: u32, slot: u32, ready_ns: u64) -> u64 {
        let ready_ns = self.arrived(slot, ready_ns);
        let done_ns = self.program(unit, ready_ns);
        self.programmed(slot, done_ns);
        self.leave_buffer(done_ns);
        done_ns
    }

    /// The page that was accepted last is on the medium then.
    #[inline]
    pub(crate) fn leave_buffer(&mut self, done_ns: u64) {
        self.durable_ns = self.durable_ns.max(done_ns);
        if let Some(place) = self.buffer.get_mut(self.buffer_next as usize) {
            *place = done_ns;
            self.buffer_next =
                if self.buffer_next as usize + 1 == self.buffer.len() { 0 } else { self.buffer_next + 1 };
        }
    }

    /// Whether a write returns before its program.
    #[inline]
    pub(crate) fn buffered(&self) -> bool {
        !self.buffer.is_empty()
    }

    /// Pages in the write buffer now: acknowledged, or on the link, and not on the medium.
    pub(crate) fn pages_in_buffer(&self) -> u64 {
        self.buffer.iter().filter(|done_ns| **done_ns > self.now_ns).count() as u64
    }

    /// Remaining time before a program ends during which its data can no longer be replaced in the buffer: transfer
    /// and program.
    pub(crate) fn way_ns(&self) -> u64 {
        self.costs.channel_page + self.costs.program
    }

    /// Bytes from the host over those of a page that is in the buffer; when they are there.
    pub(crate) fn replace(&mut self, bytes: u32, ready_ns: u64) -> u64 {
        self.receive(bytes, ready_ns)
    }

    /// A page whose bytes are in the controller takes its place in the buffer; when it has it.
    pub(crate) fn take_place(&self, there_ns: u64) -> u64 {
        self.buffer.get(self.buffer_next as usize).map_or(there_ns, |free_ns| there_ns.max(*free_ns))
    }

    /// The power fails: nothing is in flight any more, and the buffer is empty.
    pub(crate) fn fail(&mut self, at_ns: u64) {
        (self.now_ns, self.controller_ns, self.durable_ns, self.last_ns) = (at_ns, at_ns, at_ns, at_ns);
        self.queue = Queue::new(self.queue.places());
        (self.link, self.link_in) = (Lane::default(), Lane::default());
        self.channels.fill(Lane::default());
        self.arrays.fill(Array::default());
        self.lines.fill(Line::default());
        self.buffer.fill(0);
        self.waiting.clear();
    }

    /// Erase this many blocks of every plane, all arrays at the same time, after what is in progress.
    pub(crate) fn erase_everything(&mut self, blocks_each: impl Iterator<Item = u32>) {
        for (unit, blocks) in blocks_each.enumerate() {
            let array = &mut self.arrays[self.wires[unit].array as usize];
            array.busy_ns = self.now_ns.max(array.busy_ns) + u64::from(blocks) * self.costs.erase;
            array.joint_planes = 0;
        }
        self.now_ns = self.arrays.iter().map(|array| array.busy_ns).fold(self.now_ns, u64::max);
        self.durable_ns = self.durable_ns.max(self.now_ns);
        self.shares.fill(Share::default());
        (self.waiting, self.last_read) = (Vec::new(), (NOWHERE, 0));
        self.buffer.iter_mut().filter(|done_ns| **done_ns == UNKNOWN).for_each(|done_ns| *done_ns = self.now_ns);
    }
}
