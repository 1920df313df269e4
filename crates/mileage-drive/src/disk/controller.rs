//! The controller: from a command's submission to its completion, instant by instant.
//!
//! A command enters when one of the drive's places is free, is ready after the controller's time (a write when its data
//! have come over the link, too), and is then answered from a cache or waits for the arm. Everything that happens at one
//! instant is decided in this order: the arm ends its access, places become free, commands become ready, the arm begins.

use super::arm::Arm;
use super::counters::{Counter, Counters};
use super::geometry::Geometry;
use super::power_loss::{CurrentWrite, Source, Volatile};
use super::queue::{Entry, Rules};
use super::segments::Segments;
use super::write_cache::{Dirty, Extent};
use crate::profile::disk::DiskProfile;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Kind of a command: read, write, flush or other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    Read,
    Write {
        fua: bool,
    },
    Flush,
    /// A disk has nothing to discard: the command takes the controller's time, and the data stay.
    Discard,
}

/// An accepted command that has not completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Command {
    pub tag: u64,
    pub sequence: u64,
    pub kind: Kind,
    pub lba: u64,
    pub sectors: u64,
    pub submit_ns: u64,
}

/// A command whose completion time is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decision {
    pub tag: u64,
    pub complete_ns: u64,
}

/// Ordered by its instant, then by its submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Arrival {
    pub ready_ns: u64,
    pub command: Command,
}

impl Ord for Arrival {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.ready_ns, self.command.sequence).cmp(&(other.ready_ns, other.command.sequence))
    }
}

impl PartialOrd for Arrival {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// State of the disk: its controller with queue and caches, and the arm.
#[derive(Clone, Debug)]
pub(super) struct Controller {
    pub rules: Rules,
    pub geometry: Geometry,
    pub figures: Figures,
    pub arm: Arm,
    pub segments: Segments,
    pub dirty: Dirty,
    /// The extent that is being written.
    pub destaging: Option<Extent>,
    /// Commands for which there is no place yet.
    pub waiting: VecDeque<Command>,
    /// Times at which queue entries become free, for commands whose end is known.
    pub releases: BinaryHeap<Reverse<u64>>,
    /// Places that are taken.
    pub taken: u32,
    pub arriving: BinaryHeap<Reverse<Arrival>>,
    /// Commands behind a flush.
    pub held: VecDeque<Command>,
    /// Writes for which the write cache has no room.
    pub full: VecDeque<Command>,
    pub queue: Vec<Entry>,
    /// Writes past the cache of which the cache holds older data: they complete when that is written.
    pub forced: Vec<Command>,
    pub flush: Option<Command>,
    /// Writes that are not durable.
    pub volatile: Volatile,
    /// Everything before this instant is decided.
    pub now_ns: u64,
    /// Times until which the link is busy with the data of the last write, and with those of the last cache hit.
    pub link_in_ns: u64,
    pub link_out_ns: u64,
    pub choices: u64,
    pub counters: Counters,
}

/// The figures of a profile that the controller needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figures {
    command_ns: u64,
    places: u32,
    /// ns for 1024 sectors over the link.
    link_ns: u64,
    pub physical_sectors: u64,
    read_ahead_sectors: u64,
    /// Sectors of the write cache.
    write_cache_sectors: u64,
    /// The most sectors of an extent that grows by what follows it.
    longest: u64,
    pub sectors: u64,
}

impl Controller {
    pub(super) fn new(profile: &DiskProfile) -> Self {
        let sectors = profile.basics.capacity_bytes / 512;
        let write_cache_sectors = profile.write_cache_bytes / 512;
        Self {
            rules: Rules::new(profile),
            geometry: Geometry::new(profile),
            figures: Figures {
                command_ns: profile.command_ns,
                places: profile.queue_depth_max,
                // For 1024 sectors, so that integer arithmetic with a shift stays exact to a thousandth of a nanosecond
                // per sector.
                link_ns: (1024.0 * 512e3 / profile.link_mb_per_s).round() as u64,
                physical_sectors: u64::from(profile.physical_sectors),
                read_ahead_sectors: profile.read_ahead_sectors,
                write_cache_sectors,
                // Bounded, so that a sequential stream is written out in several accesses and other writes get their
                // turn between them.
                longest: write_cache_sectors / 8,
                sectors,
            },
            arm: Arm::default(),
            segments: Segments::new(profile.cache_segments, profile.segment_sectors),
            dirty: Dirty::default(),
            destaging: None,
            waiting: VecDeque::new(),
            releases: BinaryHeap::new(),
            taken: 0,
            arriving: BinaryHeap::new(),
            held: VecDeque::new(),
            full: VecDeque::new(),
            queue: Vec::new(),
            forced: Vec::new(),
            flush: None,
            volatile: Volatile::default(),
            now_ns: 0,
            link_in_ns: 0,
            link_out_ns: 0,
            choices: 0,
            counters: Counters::default(),
        }
    }

    fn link_ns(&self, sectors: u64) -> u64 {
        (sectors * self.figures.link_ns) >> 10
    }

    /// Take a command; nothing before its submission is undecided.
    pub(super) fn submit(&mut self, command: Command) {
        let due = |at_ns: &Reverse<u64>| at_ns.0 <= command.submit_ns;
        while self.waiting.is_empty() && self.releases.peek().is_some_and(due) {
            self.releases.pop();
            self.taken -= 1;
        }
        // A free place goes to the waiting commands first, or a later command would overtake them.
        if self.taken < self.figures.places && self.waiting.is_empty() {
            self.admit(command, command.submit_ns);
        } else {
            self.waiting.push_back(command);
        }
    }

    fn admit(&mut self, command: Command, now_ns: u64) {
        self.taken += 1;
        self.counters.add(Counter::QueueWait, now_ns - command.submit_ns);
        let mut ready_ns = now_ns + self.figures.command_ns;
        if let Kind::Write { .. } = command.kind {
            self.link_in_ns = self.link_in_ns.max(now_ns) + self.link_ns(command.sectors);
            ready_ns = ready_ns.max(self.link_in_ns);
        }
        self.arriving.push(Reverse(Arrival { ready_ns, command }));
    }

    /// The next instant at which something is decided without a submission.
    #[inline]
    pub(super) fn next_ns(&self) -> Option<u64> {
        let ready = self.arriving.peek().map(|Reverse(arriving)| arriving.ready_ns);
        let place = self.releases.peek().filter(|_| !self.waiting.is_empty()).map(|Reverse(at_ns)| *at_ns);
        let flushes = self.flush.is_some() && self.arm.free_ns > self.now_ns;
        // Without work for the arm its end is no event: progress of reading ahead stays unnoticed until a command asks
        // for it.
        let works = flushes || !self.queue.is_empty() || self.destaging.is_some() || !self.dirty.is_empty();
        let arm = works.then_some(self.arm.free_ns);
        [ready, place, arm].into_iter().flatten().min()
    }

    /// Decide everything that is due at `now_ns`.
    pub(super) fn step(&mut self, now_ns: u64, out: &mut Vec<Decision>) {
        self.now_ns = now_ns;
        self.volatile.settle(now_ns);
        // Room in the cache becomes free when the data is on the medium, not when its access begins.
        if self.arm.free_ns <= now_ns && self.destaging.take().is_some() {
            self.make_room(now_ns, out);
        }
        loop {
            self.end_flush(now_ns, out);
            while !self.waiting.is_empty() && self.releases.peek().is_some_and(|Reverse(at_ns)| *at_ns <= now_ns) {
                self.releases.pop();
                self.taken -= 1;
                let command = self.waiting.pop_front();
                command.into_iter().for_each(|command| self.admit(command, now_ns));
            }
            let due = self.arriving.peek().is_some_and(|Reverse(arriving)| arriving.ready_ns <= now_ns);
            let Some(Reverse(arriving)) = due.then(|| self.arriving.pop()).flatten() else { break };
            self.ready(arriving.command, now_ns, out);
            // Commands cross the link one after another, and an idle disk does not wait for the next one. If it chose among
            // all that are submitted at an instant, it would begin a stream of reads in the middle, and those before would
            // wait until the stream ends.
            if self.queue.len() == 1 && self.arm.free_ns <= now_ns {
                self.begin_access(now_ns, out);
            }
        }
        if self.arm.free_ns <= now_ns {
            self.begin_access(now_ns, out);
        }
    }

    /// There is room in the write cache again.
    fn make_room(&mut self, now_ns: u64, out: &mut Vec<Decision>) {
        while let Some(&command) = self.full.front() {
            if !self.accept(command, now_ns, out) {
                break;
            }
            self.full.pop_front();
        }
    }

    /// A flush ends when nothing that was submitted before it is left to do.
    fn end_flush(&mut self, now_ns: u64, out: &mut Vec<Decision>) {
        let Some(flush) = self.flush else { return };
        let before = |sequence: u64| sequence < flush.sequence;
        let left = self.queue.iter().any(|entry| before(entry.sequence))
            // The oldest extent is enough: all others were written after it.
            || self.dirty.by_age().next().is_some_and(|extent| before(extent.sequence))
            || self.full.iter().any(|command| before(command.sequence))
            || self.arriving.iter().any(|Reverse(arriving)| before(arriving.command.sequence))
            || self.arm.free_ns > now_ns;
        if left {
            return;
        }
        self.flush = None;
        self.decide(flush, now_ns, out);
        for command in std::mem::take(&mut self.held) {
            self.arriving.push(Reverse(Arrival { ready_ns: now_ns, command }));
        }
    }

    fn decide(&mut self, command: Command, complete_ns: u64, out: &mut Vec<Decision>) {
        self.counters.add(Counter::Service, complete_ns - command.submit_ns);
        self.releases.push(Reverse(complete_ns));
        out.push(Decision { tag: command.tag, complete_ns });
    }

    /// A command whose work can begin.
    fn ready(&mut self, command: Command, now_ns: u64, out: &mut Vec<Decision>) {
        // Commands behind a flush wait for it, or a steady stream of writes could delay it without end.
        if self.flush.is_some_and(|flush| flush.sequence < command.sequence) {
            self.held.push_back(command);
            return;
        }
        match command.kind {
            Kind::Flush => self.flush = Some(command),
            Kind::Discard => self.decide(command, now_ns, out),
            Kind::Read => self.ready_to_read(command, now_ns, out),
            Kind::Write { fua } => {
                let through = fua || command.sectors > self.figures.write_cache_sectors;
                // The cache holds older data for these sectors, which would later overwrite the newer data: write both
                // as one extent.
                if through && self.dirty.overlaps(command.lba, command.lba + command.sectors) {
                    self.keep(command);
                    self.forced.push(command);
                } else if through {
                    self.wait_for_arm(command, command.lba, now_ns);
                // Writes that wait for room keep their order, even if a smaller one behind them would fit.
                } else if !self.full.is_empty() || !self.accept(command, now_ns, out) {
                    self.full.push_back(command);
                }
            }
        }
    }

    fn ready_to_read(&mut self, command: Command, now_ns: u64, out: &mut Vec<Decision>) {
        let (mut lba, end) = (command.lba, command.lba + command.sectors);
        self.look_ahead(now_ns);
        let mut hit_ns = self.dirty.holds(lba, end).then_some(now_ns);
        if let (None, Some(found)) = (hit_ns, self.segments.find(lba)) {
            let segment = self.segments.list[found];
            lba = segment.end.min(end);
            hit_ns = (lba == end).then(|| segment.ready_ns.max(now_ns));
            // A hit in the stream that is being read ahead continues it, so that a sequential reader never catches up.
            if lba == end && found == self.segments.active {
                self.arm.extend(&self.geometry, self.ahead_of(end), now_ns);
            }
        }
        if let Some(there_ns) = hit_ns {
            self.counters.add(Counter::ReadHits, 1);
            let link_ns = self.link_ns(command.sectors);
            if there_ns > now_ns {
                // Do not reserve the link for data that the medium has not delivered yet.
                return self.decide(command, there_ns + link_ns, out);
            }
            self.link_out_ns = self.link_out_ns.max(now_ns) + link_ns;
            self.decide(command, self.link_out_ns, out);
        } else {
            self.wait_for_arm(command, lba, now_ns);
        }
    }

    /// Cylinder, head and angle of the first sector that the arm visits.
    pub(super) fn place_of(&self, lba: u64, writes: bool) -> (u32, u32, u64) {
        let unit = if writes { self.figures.physical_sectors } else { 1 };
        let place = self.geometry.place(lba - lba % unit);
        (place.cylinder, place.head, place.angle_ns)
    }

    fn wait_for_arm(&mut self, command: Command, lba: u64, ready_ns: u64) {
        let Command { tag, sequence, submit_ns, kind, .. } = command;
        let (writes, end) = (kind != Kind::Read, command.lba + command.sectors);
        let at = self.place_of(lba, writes);
        self.queue.push(Entry { tag, sequence, submit_ns, ready_ns, writes, lba, end, at });
    }

    /// Take a write into the write cache, if there is room.
    fn accept(&mut self, command: Command, now_ns: u64, out: &mut Vec<Decision>) -> bool {
        let busy = self.destaging.map_or(0, |extent| extent.end - extent.first);
        if self.dirty.sectors + busy + command.sectors > self.figures.write_cache_sectors {
            return false;
        }
        self.keep(command);
        self.decide(command, now_ns, out);
        true
    }

    /// Put a write into the write cache.
    fn keep(&mut self, command: Command) {
        let end = command.lba + command.sectors;
        let new = self.dirty.add(command.lba, end, command.sequence, self.figures.longest);
        self.counters.add(Counter::Absorbed, (command.sectors - new) * 512);
        self.drop_read(command.lba, end);
        self.volatile.accept(command.sequence);
    }

    /// Sectors are written, so that what was read of them is no longer true.
    fn drop_read(&mut self, first: u64, end: u64) {
        if self.segments.drop_range(first, end) {
            self.arm.stream = None;
        }
    }

    /// Sector up to which to read ahead, after a read that ends here.
    fn ahead_of(&self, end: u64) -> u64 {
        (end + self.figures.read_ahead_sectors).min(self.figures.sectors)
    }

    /// Find out how far reading ahead has come.
    fn look_ahead(&mut self, now_ns: u64) {
        let read = self.arm.read_ahead(&self.geometry, now_ns);
        self.counters.add(Counter::ReadAhead, read * 512);
        if let Some(stream) = self.arm.stream {
            self.segments.reached(stream.lba, now_ns);
        }
    }

    /// Choose among what waits for the arm, and begin it.
    fn begin_access(&mut self, now_ns: u64, out: &mut Vec<Decision>) {
        if self.queue.is_empty() && self.dirty.is_empty() {
            return;
        }
        self.look_ahead(now_ns);
        let hosts = self.queue.len();
        // As many cached writes as the queue has places: a longer list would let them displace the host's commands.
        let window: Vec<Extent> = self.dirty.by_age().take(self.figures.places as usize).collect();
        for Extent { first, end, sequence } in window {
            let at = self.place_of(first, true);
            let (submit_ns, ready_ns) = (now_ns, now_ns);
            self.queue.push(Entry { tag: 0, sequence, submit_ns, ready_ns, writes: true, lba: first, end, at });
        }
        let chosen = self.rules.next(&self.queue, hosts, &self.arm, &self.geometry, (now_ns, self.choices));
        let entry = chosen.map(|index| self.queue[index]);
        // The cached writes were candidates for this choice only; they may be overwritten before the next one.
        self.queue.truncate(hosts);
        let (Some(index), Some(entry)) = (chosen, entry) else { return };
        self.choices += 1;
        let source = if index < hosts { Source::Host(entry.sequence) } else { self.volatile.taken_so_far() };
        let end_ns = if entry.writes { self.write(&entry, source, now_ns) } else { self.read(&entry, now_ns) };
        if index < hosts {
            self.queue.swap_remove(index);
            self.counters.add(Counter::Service, end_ns - entry.submit_ns);
            self.releases.push(Reverse(end_ns));
            out.push(Decision { tag: entry.tag, complete_ns: end_ns });
        } else {
            let extent = Extent { first: entry.lba, end: entry.end, sequence: entry.sequence };
            self.dirty.remove(&extent);
            self.destaging = Some(extent);
            let covers = |command: &mut Command| extent.first <= command.lba && command.lba < extent.end;
            let forced: Vec<Command> = self.forced.extract_if(.., covers).collect();
            forced.into_iter().for_each(|command| self.decide(command, end_ns, out));
        }
    }

    /// Read for the host; when the last byte is there.
    fn read(&mut self, entry: &Entry, now_ns: u64) -> u64 {
        let sectors = entry.end - entry.lba;
        let access = self.arm.access(&self.geometry, entry.lba, sectors, false, now_ns);
        self.segments.fill(entry.lba, entry.end, access.end_ns);
        if self.figures.read_ahead_sectors > 0 {
            self.arm.begin_stream(entry.end, self.ahead_of(entry.end));
        }
        self.counters.access(&access, sectors, false);
        // The link sends what has passed; it ends after the last sector, or is slower than the medium.
        (access.end_ns + self.link_ns(self.figures.physical_sectors)).max(access.begin_ns + self.link_ns(sectors))
    }

    /// Write; when the last sector is on the medium.
    ///
    /// A physical sector of which only a part is written is read first and written when it passes again: a revolution for
    /// the first and the last one together if they are on one track, otherwise for each of them.
    fn write(&mut self, entry: &Entry, source: Source, now_ns: u64) -> u64 {
        let unit = self.figures.physical_sectors;
        let (first, end) = (entry.lba - entry.lba % unit, entry.end.next_multiple_of(unit));
        let access = self.arm.access(&self.geometry, first, end - first, true, now_ns);
        let (head, tail) = (first < entry.lba, end > entry.end);
        let (from, to) = (self.geometry.place(first), self.geometry.place(end - unit));
        let together = (from.cylinder, from.head) == (to.cylinder, to.head);
        let again = if together { u64::from(head || tail) } else { u64::from(head) + u64::from(tail) };
        let again_ns = again * self.geometry.revolution_ns;
        self.arm.free_ns += again_ns;
        let (begin_ns, end_ns) = (access.begin_ns + again_ns, self.arm.free_ns);
        self.volatile.writing = Some(CurrentWrite { first, end, begin_ns, end_ns, source });
        self.drop_read(entry.lba, entry.end);
        self.counters.access(&access, end - first, true);
        self.counters.add(Counter::Reread, u64::from(head) + u64::from(tail));
        self.arm.free_ns
    }

    /// Whether a command of the host is waiting.
    pub(super) fn serves_host(&self) -> bool {
        let lists = [&self.waiting, &self.held, &self.full];
        !self.queue.is_empty()
            || !self.arriving.is_empty()
            || self.flush.is_some()
            || !self.forced.is_empty()
            || lists.iter().any(|list| !list.is_empty())
    }

    /// Forget the commands of the host; what the write cache took stays.
    pub(super) fn forget_commands(&mut self) {
        for list in [&mut self.waiting, &mut self.held, &mut self.full] {
            list.clear();
        }
        (self.releases, self.taken, self.flush) = (BinaryHeap::new(), 0, None);
        self.arriving.clear();
        self.queue.clear();
        self.forced.clear();
        self.volatile.forget_uncached();
    }

    /// The power is off: caches are empty, and nothing is read or written any more.
    pub(super) fn stop(&mut self, at_ns: u64) {
        self.forget_commands();
        self.volatile.forget();
        (self.dirty, self.destaging) = (Dirty::default(), None);
        self.segments.clear();
        (self.arm.stream, self.arm.free_ns) = (None, self.arm.free_ns.min(at_ns));
        (self.link_in_ns, self.link_out_ns) = (self.link_in_ns.min(at_ns), self.link_out_ns.min(at_ns));
    }
}
