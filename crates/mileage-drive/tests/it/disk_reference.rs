//! A disk simulated by brute force: the clock is advanced by a microsecond at a time, and at each the platter is looked at.
//!
//! Every sector's angle is found by walking over the disk from its first sector; no time is computed in closed form. The
//! times of the toy disk are whole microseconds, so that both must agree to the nanosecond.

use std::collections::VecDeque;

/// The figures of the toy disk, in us and sectors of 512 bytes.
#[derive(Clone, Debug)]
pub struct Toy {
    pub zones: Vec<(u32, u32)>,
    pub cylinders: u32,
    pub heads: u32,
    pub revolution: u64,
    pub track_skew: u64,
    pub cylinder_skew: u64,
    /// `base + slope d` us over d cylinders.
    pub seek: (u64, u64),
    pub head_switch: u64,
    pub settle: u64,
    pub command: u64,
    pub depth: usize,
    pub scheduling: &'static str,
    pub physical: u64,
    pub segments: usize,
    pub segment: u64,
    pub read_ahead: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work {
    Read,
    Write,
    Flush,
}

/// A request of the test: what, first sector, sectors, when (us).
pub type Ask = (Work, u64, u64, u64);

#[derive(Clone, Copy, Debug)]
struct Sector {
    track: (u32, u32),
    angle: u64,
    length: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Motion {
    Moving(u64),
    Waiting,
    Passing(u64),
    /// Reading ahead has come to the end of a track, and moves on unless a request takes the arm at this instant.
    Leaving,
}

/// What the arm is doing.
#[derive(Clone, Copy, Debug)]
struct Task {
    /// The request; none for reading ahead.
    request: Option<usize>,
    next: u64,
    end: u64,
    motion: Motion,
    /// When the first sector began to pass.
    began: Option<u64>,
    /// Revolutions to wait at the end for physical sectors that are read before they are written.
    again: u64,
    /// When the last sector had passed.
    stopped: Option<u64>,
}

#[derive(Clone, Debug, Default)]
struct Segment {
    sectors: VecDeque<u64>,
    /// The request whose sectors are still to come.
    pending: Option<usize>,
    used: usize,
}

pub struct Reference {
    toy: Toy,
    sectors: Vec<Sector>,
    /// Requests in the order of their instants, and how many of them have come.
    asks: Vec<Ask>,
    came: usize,
    pub now: u64,
    track: (u32, u32),
    task: Option<Task>,
    /// Requests by number: outside the disk; in it and not ready; waiting for the arm, with the first sector missing.
    outside: VecDeque<usize>,
    coming: Vec<(u64, usize)>,
    queue: Vec<(usize, u64)>,
    flush: Option<usize>,
    held: Vec<usize>,
    /// Hits that wait for the sectors of another request.
    hits: Vec<(usize, usize)>,
    ends: Vec<Option<u64>>,
    /// When the places of completed requests become free.
    leaving: Vec<u64>,
    inside: usize,
    cache: Vec<Segment>,
    active: usize,
    uses: usize,
    /// Where reading ahead stops.
    limit: u64,
    /// The first sector that the arm visited for each request.
    visited: Vec<(usize, u64)>,
    link_in: u64,
    link_out: u64,
}

/// Every sector of a disk, from the first one on.
fn walk(toy: &Toy) -> Vec<Sector> {
    let (mut sectors, mut skew) = (Vec::new(), 0);
    for cylinder in 0..toy.cylinders {
        let (_, count) = *toy.zones.iter().rfind(|zone| zone.0 <= cylinder).unwrap();
        let length = toy.revolution / u64::from(count);
        for head in 0..toy.heads {
            for sector in 0..u64::from(count) {
                let angle = (skew + sector * length) % toy.revolution;
                sectors.push(Sector { track: (cylinder, head), angle, length });
            }
            skew += if head + 1 == toy.heads { toy.cylinder_skew } else { toy.track_skew };
        }
    }
    sectors
}

impl Reference {
    /// A disk at rest.
    pub fn new(toy: &Toy) -> Self {
        Self {
            sectors: walk(toy),
            toy: toy.clone(),
            asks: Vec::new(),
            came: 0,
            now: 0,
            track: (0, 0),
            task: None,
            outside: VecDeque::new(),
            coming: Vec::new(),
            queue: Vec::new(),
            flush: None,
            held: Vec::new(),
            hits: Vec::new(),
            ends: Vec::new(),
            leaving: Vec::new(),
            inside: 0,
            cache: vec![Segment::default(); toy.segments],
            active: 0,
            uses: 0,
            limit: 0,
            visited: Vec::new(),
            link_in: 0,
            link_out: 0,
        }
    }

    /// When each request completes, in us.
    pub fn run(toy: &Toy, asks: &[Ask]) -> Vec<u64> {
        let mut it = Self { asks: asks.to_vec(), ends: vec![None; asks.len()], ..Self::new(toy) };
        while it.ends.iter().any(Option::is_none) {
            it.instant();
            it.now += 1;
            assert!(it.now < 60_000_000, "the reference does not end");
        }
        it.ends.into_iter().flatten().collect()
    }

    pub fn sectors(&self) -> u64 {
        self.sectors.len() as u64
    }

    /// Ask for something now; the number of the request.
    pub fn ask(&mut self, work: Work, first: u64, sectors: u64) -> usize {
        self.asks.push((work, first, sectors, self.now));
        self.ends.push(None);
        self.asks.len() - 1
    }

    /// When a request completes, if that is decided.
    pub fn end_of(&self, request: usize) -> Option<u64> {
        self.ends[request]
    }

    /// Everything that happens at this microsecond.
    pub fn instant(&mut self) {
        self.turn();
        while self.asks.get(self.came).is_some_and(|ask| ask.3 == self.now) {
            self.outside.push_back(self.came);
            self.came += 1;
        }
        self.arrive();
        if self.idle() {
            self.choose();
        }
        if let Some(task) = self.task
            && task.motion == Motion::Leaving
        {
            self.task = Some(Task { motion: self.toward(task.next, self.now, false), ..task });
        }
        self.turn();
    }

    /// No request has the arm.
    fn idle(&self) -> bool {
        self.task.is_none_or(|task| task.request.is_none())
    }

    fn complete(&mut self, request: usize, at: u64) {
        assert!(self.ends[request].replace(at).is_none());
        self.leaving.push(at);
    }

    /// Commands enter the disk and become ready.
    fn arrive(&mut self) {
        loop {
            let before = self.leaving.len();
            self.leaving.retain(|at| *at > self.now);
            self.inside -= before - self.leaving.len();
            while self.inside < self.toy.depth
                && let Some(request) = self.outside.pop_front()
            {
                self.inside += 1;
                let (work, _, sectors, _) = self.asks[request];
                let mut ready = self.now + self.toy.command;
                if work == Work::Write {
                    self.link_in = self.link_in.max(self.now) + sectors;
                    ready = ready.max(self.link_in);
                }
                self.coming.push((ready, request));
            }
            if let Some(flush) = self.flush
                && self.idle()
                && self.queue.iter().all(|(request, _)| *request > flush)
                && self.coming.iter().all(|(_, request)| *request > flush)
            {
                self.flush = None;
                self.complete(flush, self.now);
                let held = std::mem::take(&mut self.held);
                self.coming.extend(held.into_iter().map(|request| (self.now, request)));
                continue;
            }
            let due = self.coming.iter().filter(|(ready, _)| *ready <= self.now).min().copied();
            let Some(due) = due else { break };
            self.coming.retain(|other| *other != due);
            self.ready(due.1);
            if self.idle() && self.queue.len() == 1 {
                self.choose();
            }
        }
    }

    fn ready(&mut self, request: usize) {
        let (work, first, sectors, _) = self.asks[request];
        let end = first + sectors;
        if self.flush.is_some_and(|flush| flush < request) {
            self.held.push(request);
            return;
        }
        match work {
            Work::Flush => self.flush = Some(request),
            Work::Write => self.queue.push((request, first)),
            Work::Read => {
                let found = self.cache.iter().position(|segment| segment.sectors.contains(&first));
                let Some(found) = found else { return self.queue.push((request, first)) };
                self.uses += 1;
                self.cache[found].used = self.uses;
                let missing = (first..end).find(|sector| !self.cache[found].sectors.contains(sector));
                if let Some(missing) = missing {
                    return self.queue.push((request, missing));
                }
                if let Some(pending) = self.cache[found].pending {
                    self.hits.push((request, pending));
                } else {
                    self.link_out = self.link_out.max(self.now) + sectors;
                    self.complete(request, self.link_out);
                }
                if found == self.active {
                    self.read_further(end);
                }
            }
        }
    }

    fn ahead_of(&self, end: u64) -> u64 {
        (end + self.toy.read_ahead).min(self.sectors.len() as u64)
    }

    /// A hit in the segment that reading ahead fills lets it read on.
    fn read_further(&mut self, end: u64) {
        let limit = self.ahead_of(end);
        self.limit = self.limit.max(limit);
        let Some(task) = self.task.filter(|task| task.request.is_none() && task.end < self.limit) else { return };
        let motion = match task.stopped {
            Some(at) if at < self.now => self.toward(task.next, self.now, false),
            Some(_) => Motion::Leaving,
            None => task.motion,
        };
        self.task = Some(Task { end: self.limit, motion, stopped: None, ..task });
    }

    fn move_time(&self, to: (u32, u32), writes: bool) -> u64 {
        let distance = u64::from(self.track.0.abs_diff(to.0));
        let seek = if distance > 0 { self.toy.seek.0 + self.toy.seek.1 * distance } else { 0 };
        let switch = if self.track.1 == to.1 { 0 } else { self.toy.head_switch };
        if to == self.track { 0 } else { seek.max(switch) + if writes { self.toy.settle } else { 0 } }
    }

    /// Move to the track of a sector.
    fn toward(&mut self, sector: u64, from: u64, writes: bool) -> Motion {
        let to = self.sectors[sector as usize].track;
        let time = self.move_time(to, writes);
        self.track = to;
        Motion::Moving(from + time)
    }

    /// Let the arm do what it does at this instant.
    pub fn turn(&mut self) {
        while let Some(mut task) = self.task {
            let writes = task.request.is_some_and(|request| self.asks[request].0 == Work::Write);
            match task.motion {
                Motion::Moving(until) if self.now >= until => task.motion = Motion::Waiting,
                Motion::Waiting if task.next < task.end => {
                    let sector = self.sectors[task.next as usize];
                    if sector.angle != self.now % self.toy.revolution {
                        break;
                    }
                    task.began = task.began.or(Some(self.now));
                    task.motion = Motion::Passing(self.now + sector.length);
                }
                Motion::Waiting if task.again > 0 => {
                    task.again -= 1;
                    task.motion = Motion::Moving(self.now + self.toy.revolution);
                }
                Motion::Waiting => {
                    if task.request.is_none() {
                        break;
                    }
                    self.finish(task);
                    continue;
                }
                Motion::Passing(until) if self.now >= until => {
                    if task.request.is_none() {
                        self.keep(task.next);
                    }
                    task.next += 1;
                    task.motion = Motion::Waiting;
                    let there = self.sectors.get(task.next as usize).map(|sector| sector.track);
                    if task.next == task.end {
                        task.stopped = Some(self.now);
                    } else if there != Some(self.track) {
                        task.motion = if task.request.is_none() {
                            Motion::Leaving
                        } else {
                            self.toward(task.next, self.now, writes)
                        };
                    }
                }
                _ => break,
            }
            self.task = Some(task);
        }
    }

    /// The arm has done all of a request.
    fn finish(&mut self, task: Task) {
        self.task = None;
        let Some(request) = task.request else { return };
        if self.asks[request].0 != Work::Read {
            return self.complete(request, self.now);
        }
        let from = self.visited.iter().find(|(other, _)| *other == request).unwrap().1;
        let moved = task.end - from;
        self.complete(request, (self.now + self.toy.physical).max(task.began.unwrap() + moved));
        for segment in &mut self.cache {
            segment.pending = segment.pending.filter(|pending| *pending != request);
        }
        for (hit, of) in std::mem::take(&mut self.hits) {
            if of == request {
                self.complete(hit, self.now + self.asks[hit].2);
            } else {
                self.hits.push((hit, of));
            }
        }
        if self.toy.read_ahead > 0 {
            let stopped = (self.limit <= task.next).then_some(self.now);
            let end = self.limit.max(task.next);
            let motion = if stopped.is_some() { Motion::Waiting } else { Motion::Leaving };
            self.task = Some(Task { request: None, end, motion, stopped, began: None, ..task });
        }
    }

    /// A sector comes into the segment that is being filled; the segment forgets its oldest.
    fn keep(&mut self, sector: u64) {
        if let Some(segment) = self.cache.get_mut(self.active) {
            segment.sectors.push_back(sector);
            while segment.sectors.len() as u64 > self.toy.segment {
                segment.sectors.pop_front();
            }
        }
    }

    /// How long until the first sector of a waiting request begins to pass, were it chosen now.
    fn reach(&self, (request, missing): (usize, u64)) -> u64 {
        let (work, first, _, _) = self.asks[request];
        let writes = work == Work::Write;
        let from = if writes { first - first % self.toy.physical } else { missing };
        let sector = self.sectors[from as usize];
        let ahead = self.task.filter(|task| !writes && task.next == from && Self::reads_ahead(task));
        let mut at = match (ahead, self.task.map(|task| task.motion)) {
            (Some(Task { motion: Motion::Passing(_), .. }), _) => return 0,
            (Some(Task { motion: Motion::Moving(until), .. }), _) => until.max(self.now),
            (Some(_), _) => self.now,
            (None, Some(Motion::Moving(until))) => until.max(self.now) + self.move_time(sector.track, writes),
            (None, _) => self.now + self.move_time(sector.track, writes),
        };
        while at % self.toy.revolution != sector.angle {
            at += 1;
        }
        at - self.now
    }

    /// Reading ahead is on the track of its next sector, or on the way there.
    fn reads_ahead(task: &Task) -> bool {
        task.stopped.is_none() && task.motion != Motion::Leaving
    }

    fn best(&self) -> Option<usize> {
        let cost = |waiting: (usize, u64)| match self.toy.scheduling {
            "fcfs" => 0,
            "sstf" => u64::from(self.sectors[waiting.1 as usize].track.0.abs_diff(self.track.0)),
            _ => self.reach(waiting),
        };
        (0..self.queue.len()).min_by_key(|index| (cost(self.queue[*index]), self.queue[*index].0))
    }

    fn choose(&mut self) {
        let Some(chosen) = self.best() else { return };
        let (request, missing) = self.queue.swap_remove(chosen);
        let (work, first, sectors, _) = self.asks[request];
        let writes = work == Work::Write;
        let (mut from, mut end, mut again) = (missing, first + sectors, 0);
        if writes {
            let unit = self.toy.physical;
            (from, end) = (first - first % unit, end.next_multiple_of(unit));
            let (head, tail) = (from < first, end > first + sectors);
            let together = self.sectors[from as usize].track == self.sectors[(end - unit) as usize].track;
            again = if together { u64::from(head || tail) } else { u64::from(head) + u64::from(tail) };
            for segment in &mut self.cache {
                if segment.sectors.iter().any(|sector| (first..first + sectors).contains(sector)) {
                    segment.sectors.clear();
                }
            }
        } else {
            self.open_segment(request, from, end);
        }
        let before = self.task.take();
        let ahead = before.filter(|task| !writes && task.next == from && Self::reads_ahead(task));
        let (motion, began) = match (ahead, before.map(|task| task.motion)) {
            (Some(task), _) => {
                let passing = if let Motion::Passing(until) = task.motion { Some(until) } else { None };
                (task.motion, passing.map(|until| until - self.sectors[from as usize].length))
            }
            (None, Some(Motion::Moving(until))) => (self.toward(from, until.max(self.now), writes), None),
            (None, _) => (self.toward(from, self.now, writes), None),
        };
        self.visited.push((request, from));
        self.task = Some(Task { request: Some(request), next: from, end, motion, began, again, stopped: None });
        self.limit = self.ahead_of(end);
    }

    /// The sectors that a request reads belong to the segment that ends before them, or to the least recently used one.
    fn open_segment(&mut self, request: usize, from: u64, end: u64) {
        if self.cache.is_empty() {
            return;
        }
        let follows = |segment: &Segment| segment.sectors.back().is_some_and(|last| last + 1 == from);
        let oldest = (0..self.cache.len()).min_by_key(|index| self.cache[*index].used).unwrap();
        let found = self.cache.iter().position(follows);
        self.active = found.unwrap_or(oldest);
        self.uses += 1;
        let segment = &mut self.cache[self.active];
        if found.is_none() {
            segment.sectors.clear();
        }
        (segment.used, segment.pending) = (self.uses, Some(request));
        (from..end).for_each(|sector| self.keep(sector));
    }
}
