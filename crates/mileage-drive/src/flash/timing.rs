//! When things are done: busy-until times of the controller, the link, the channels and the planes.
//!
//! # Model
//! A command takes one of `queue_depth_max` places, waiting for the first that becomes free, and then the
//! controller for its serial work. Pages of one command proceed independently of each other:
//!
//! - *read*: array read on the plane, transfer over its channel, transfer over the link;
//! - *write*: a place in the write buffer if there is one, transfer over the link, over the channel, program;
//! - *collection* of a block with k valid pages: the plane works k reads, k programs and an erase, the channel
//!   carries 2 k pages (each goes to the controller and back) in one piece; it ends when both are done.
//!
//! A plane has a cache register: a transfer overlaps with the array's work. Transfers never overlap each other on
//! one channel or on the link, so that no rate exceeds what they carry; a transfer that waits for its plane leaves
//! the gap before it to others.
//!
//! # Not modelled
//! Commands on the channel, suspension of programs and erases, copy-back inside a die, spread of cell times.

use crate::Profile;

/// Something that carries one transfer at a time, in order of request except that one gap is remembered and filled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "units come last in every name")]
pub(crate) struct Lane {
    /// Nothing is planned from here on.
    pub busy_ns: u64,
    /// Start of the longest known gap before that.
    pub gap_from_ns: u64,
    /// Its end.
    pub gap_to_ns: u64,
}

impl Lane {
    /// Carry something that is ready at `ready_ns` and takes `takes_ns`; when it has arrived.
    #[inline]
    pub(crate) fn carry(&mut self, ready_ns: u64, takes_ns: u64) -> u64 {
        let start = self.gap_from_ns.max(ready_ns);
        let end = start + takes_ns;
        if end <= self.gap_to_ns {
            let (before, after) = (start - self.gap_from_ns, self.gap_to_ns - end);
            if after >= before {
                self.gap_from_ns = end;
            } else {
                self.gap_to_ns = start;
            }
            return end;
        }
        let start = self.busy_ns.max(ready_ns);
        if start - self.busy_ns > self.gap_to_ns.saturating_sub(self.gap_from_ns.max(ready_ns)) {
            (self.gap_from_ns, self.gap_to_ns) = (self.busy_ns, start);
        }
        self.busy_ns = start + takes_ns;
        self.busy_ns
    }
}

/// The places for commands. When no place is known to be free, the taken ones are looked through once; a queue that
/// is seldom full costs next to nothing.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    /// Places known to be free.
    pub free: u32,
    /// When each of the others becomes free, in no order.
    pub taken: Vec<u64>,
}

impl Queue {
    fn new(places: u32) -> Self {
        Self { free: places, taken: Vec::with_capacity(places as usize) }
    }

    /// Take a place; the instant from which it is there, `now_ns` or later.
    #[inline]
    fn enter(&mut self, now_ns: u64) -> u64 {
        if self.free > 0 {
            self.free -= 1;
            return now_ns;
        }
        self.wait(now_ns)
    }

    #[inline(never)]
    fn wait(&mut self, now_ns: u64) -> u64 {
        let places = self.taken.len();
        self.taken.retain(|free_ns| *free_ns > now_ns);
        let freed = places - self.taken.len();
        if freed > 0 {
            self.free = freed as u32 - 1;
            return now_ns;
        }
        let (first, free_ns) =
            self.taken.iter().copied().enumerate().min_by_key(|(_, free_ns)| *free_ns).unwrap_or((0, now_ns));
        self.taken.swap_remove(first);
        free_ns
    }
}

/// How long things take, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Costs {
    read: u64,
    program: u64,
    erase: u64,
    controller: u64,
    channel_page: u64,
    link_page: u64,
    link_ns_per_byte: f64,
    page_bytes: u32,
}

impl Costs {
    #[inline]
    fn link(&self, bytes: u32) -> u64 {
        if bytes == self.page_bytes {
            self.link_page
        } else {
            (f64::from(bytes) * self.link_ns_per_byte).round() as u64
        }
    }
}

/// The clocks of one drive.
#[derive(Clone, Debug)]
pub(crate) struct Clocks {
    costs: Costs,
    /// The channel of every plane.
    channel_of: Vec<u32>,
    /// The latest instant that the drive was told of.
    pub(super) now_ns: u64,
    pub(super) queue: Queue,
    pub(super) controller_ns: u64,
    pub(super) link: Lane,
    pub(super) channels: Vec<Lane>,
    /// When each plane has done everything asked of it.
    pub(super) units: Vec<u64>,
    /// When each place in the write buffer becomes free; they are used in turn.
    pub(super) buffer: Vec<u64>,
    pub(super) buffer_next: u32,
    /// When everything written is on the medium.
    pub(super) durable_ns: u64,
}

impl Clocks {
    pub(crate) fn new(profile: &Profile) -> Self {
        let link_ns_per_byte = 1e3 / profile.link_mb_per_s;
        Self {
            costs: Costs {
                read: profile.read_ns,
                program: profile.program_ns,
                erase: profile.erase_ns,
                controller: profile.controller_ns,
                channel_page: profile.channel_page_ns,
                link_page: (f64::from(profile.page_bytes) * link_ns_per_byte).round() as u64,
                link_ns_per_byte,
                page_bytes: profile.page_bytes,
            },
            channel_of: (0..profile.planes() as u32).map(|unit| unit % profile.channels).collect(),
            now_ns: 0,
            queue: Queue::new(profile.queue_depth_max),
            controller_ns: 0,
            link: Lane::default(),
            channels: vec![Lane::default(); profile.channels as usize],
            units: vec![0; profile.planes() as usize],
            buffer: vec![0; profile.write_buffer_pages as usize],
            buffer_next: 0,
            durable_ns: 0,
        }
    }

    /// A command arrives; when the controller has taken it.
    #[inline]
    pub(crate) fn begin(&mut self, submit_ns: u64) -> u64 {
        self.now_ns = self.now_ns.max(submit_ns);
        let entered_ns = self.queue.enter(self.now_ns);
        self.controller_ns = self.controller_ns.max(entered_ns) + self.costs.controller;
        self.controller_ns
    }

    /// The command that began last is complete then.
    #[inline]
    pub(crate) fn end(&mut self, complete_ns: u64) {
        self.queue.taken.push(complete_ns);
    }

    #[inline]
    fn channel(&mut self, unit: u32) -> &mut Lane {
        &mut self.channels[self.channel_of[unit as usize] as usize]
    }

    /// A page from a plane to the controller; when it is there.
    #[inline]
    pub(crate) fn fetch(&mut self, unit: u32, ready_ns: u64) -> u64 {
        let array_ns = self.units[unit as usize].max(ready_ns) + self.costs.read;
        self.units[unit as usize] = array_ns;
        let takes_ns = self.costs.channel_page;
        self.channel(unit).carry(array_ns, takes_ns)
    }

    /// Bytes from the controller to the host; when they are there.
    #[inline]
    pub(crate) fn deliver(&mut self, bytes: u32, ready_ns: u64) -> u64 {
        let takes_ns = self.costs.link(bytes);
        self.link.carry(ready_ns, takes_ns)
    }

    /// Bytes from the host to the controller; when they are there.
    #[inline]
    pub(crate) fn accept(&mut self, bytes: u32, ready_ns: u64) -> u64 {
        let free_ns = self.buffer.get(self.buffer_next as usize).copied().unwrap_or(0);
        let takes_ns = self.costs.link(bytes);
        self.link.carry(ready_ns.max(free_ns), takes_ns)
    }

    /// A plane copies the valid pages of a block and erases it.
    #[inline]
    pub(crate) fn collect(&mut self, unit: u32, moved: u32, ready_ns: u64) {
        let moved = u64::from(moved);
        let takes_ns = 2 * moved * self.costs.channel_page;
        let carried_ns = if moved > 0 { self.channel(unit).carry(ready_ns, takes_ns) } else { 0 };
        let array_ns = self.units[unit as usize].max(ready_ns) + moved * (self.costs.read + self.costs.program);
        self.units[unit as usize] = array_ns.max(carried_ns) + self.costs.erase;
    }

    /// A page from the controller into the array; when it is on the medium.
    #[inline]
    pub(crate) fn program(&mut self, unit: u32, ready_ns: u64) -> u64 {
        let takes_ns = self.costs.channel_page;
        let carried_ns = self.channel(unit).carry(ready_ns, takes_ns);
        let done_ns = self.units[unit as usize].max(carried_ns) + self.costs.program;
        self.units[unit as usize] = done_ns;
        self.durable_ns = self.durable_ns.max(done_ns);
        if let Some(place) = self.buffer.get_mut(self.buffer_next as usize) {
            *place = done_ns;
            self.buffer_next =
                if self.buffer_next as usize + 1 == self.buffer.len() { 0 } else { self.buffer_next + 1 };
        }
        done_ns
    }

    /// Whether a write returns before its program.
    #[inline]
    pub(crate) fn buffered(&self) -> bool {
        !self.buffer.is_empty()
    }

    /// Erase this many blocks of every plane, all planes at the same time, after what is under way.
    pub(crate) fn erase_everything(&mut self, blocks_each: impl Iterator<Item = u32>) {
        for (unit, blocks) in self.units.iter_mut().zip(blocks_each) {
            *unit = self.now_ns.max(*unit) + u64::from(blocks) * self.costs.erase;
        }
        self.now_ns = self.units.iter().copied().fold(self.now_ns, u64::max);
        self.durable_ns = self.durable_ns.max(self.now_ns);
    }
}
