//! A shingled disk by brute force: the disk of `disk_reference`, and before it a translation that keeps for every sector of
//! the host where it was written last. Like the disk it is looked at every microsecond.
//!
//! Figures are in us and sectors. The disk has no write cache, so that what it has written is durable.

use crate::disk_reference::{Ask, Reference, Toy, Work};
use crate::smr_disk::Shingles;
use std::collections::VecDeque;

/// A write in the log: its journal is at position `at`, and behind that are the sectors `[first, end)` of the host.
#[derive(Clone, Debug)]
struct LogEntry {
    at: u64,
    first: u64,
    end: u64,
    home: bool,
    /// The disk's request.
    request: usize,
}

/// A command of the host, and the disk's requests for it so far.
#[derive(Clone, Debug)]
struct Command {
    requests: Vec<usize>,
    /// Sectors that are not logged yet.
    left: (u64, u64),
}

/// A band that is being cleaned: the accesses still to make.
#[derive(Clone, Debug, Default)]
struct CleaningJob {
    plan: VecDeque<(Work, u64, u64)>,
    band: Option<(u64, u64)>,
    /// What is logged from here on is not durable yet.
    head: Option<u64>,
    access: Option<usize>,
    host_came: bool,
    pause_until: Option<u64>,
}

pub struct ShingledReference {
    shingles: Shingles,
    unit: u64,
    disk: Reference,
    /// Of each sector of the host: the number of the write that holds it, unless it is at home.
    written: Vec<Option<usize>>,
    bands: Vec<(u64, u64)>,
    writes: Vec<LogEntry>,
    /// Number of the oldest write that the log keeps.
    oldest: usize,
    head: u64,
    commands: Vec<Command>,
    blocked: VecDeque<usize>,
    cleaning: Option<CleaningJob>,
    full: bool,
}

/// Bands, from the first sector of the host on: it is counted from the end of the media cache.
fn bands(toy: &Toy, shingles: &Shingles) -> Vec<(u64, u64)> {
    let (mut bands, mut sector, mut tracks) = (Vec::<(u64, u64)>::new(), 0, 0);
    for cylinder in 0..toy.cylinders {
        let (first, count) = *toy.zones.iter().rfind(|zone| zone.0 <= cylinder).unwrap();
        for head in 0..toy.heads {
            if (cylinder, head) == (first, 0) {
                tracks = 0;
            }
            for _ in 0..count {
                sector += 1;
                let Some(host) = (sector - 1_u64).checked_sub(shingles.cache) else { continue };
                if host == 0 || tracks == 0 {
                    tracks = u64::from(count) * shingles.tracks;
                    bands.push((host, host));
                }
                tracks -= 1;
                bands.last_mut().unwrap().1 = host + 1;
            }
        }
    }
    bands
}

impl ShingledReference {
    /// When each request completes, in us.
    pub fn run(toy: &Toy, shingles: &Shingles, asks: &[Ask]) -> Vec<u64> {
        let disk = Reference::new(toy);
        let mut it = Self {
            shingles: shingles.clone(),
            unit: toy.physical,
            written: vec![None; disk.sectors() as usize - shingles.cache as usize],
            bands: bands(toy, shingles),
            disk,
            writes: Vec::new(),
            oldest: 0,
            head: 0,
            commands: Vec::new(),
            blocked: VecDeque::new(),
            cleaning: None,
            full: false,
        };
        while it.commands.len() < asks.len() || it.ends().any(|end| end.is_none()) {
            it.instant(asks);
            it.disk.now += 1;
            assert!(it.disk.now < 60_000_000, "the reference does not end");
        }
        it.ends().flatten().collect()
    }

    /// When each command that has come is complete.
    fn ends(&self) -> impl Iterator<Item = Option<u64>> + '_ {
        self.commands.iter().map(|command| {
            let ends: Option<Vec<u64>> = command.requests.iter().map(|request| self.disk.end_of(*request)).collect();
            ends.filter(|_| command.left.0 == command.left.1).and_then(|ends| ends.into_iter().max())
        })
    }

    fn host_waits(&self) -> bool {
        self.ends().any(|end| end.is_none_or(|end| end > self.disk.now))
    }

    fn instant(&mut self, asks: &[Ask]) {
        self.disk.turn();
        while let Some(&ask) = asks.get(self.commands.len()).filter(|ask| ask.3 == self.disk.now) {
            self.take(ask);
        }
        // Twice, because what a flush waited for may be done at this instant.
        for _ in 0..2 {
            if self.cleans_now() {
                self.clean();
            }
            self.disk.instant();
        }
    }

    fn ask(&mut self, command: usize, work: Work, first: u64, sectors: u64) -> usize {
        let request = self.disk.ask(work, first, sectors);
        self.commands[command].requests.push(request);
        if let Some(cleaning) = &mut self.cleaning {
            cleaning.host_came = true;
        }
        request
    }

    fn take(&mut self, (work, first, sectors, _): Ask) {
        let (command, end) = (self.commands.len(), first + sectors);
        self.commands.push(Command { requests: Vec::new(), left: (0, 0) });
        match work {
            Work::Flush => {
                self.ask(command, work, 0, 0);
            }
            Work::Read => {
                for (from, count) in self.runs(first, end, |_| true, true) {
                    self.ask(command, work, from, count);
                }
            }
            Work::Write => {
                self.commands[command].left = (first, end);
                self.blocked.push_back(command);
                self.log();
            }
        }
    }

    /// Place on the disk of a sector of the host.
    fn place(&self, sector: u64, write: Option<usize>) -> u64 {
        write.map_or(sector + self.shingles.cache, |write| {
            let it = &self.writes[write];
            (it.at + self.shingles.journal + (sector - it.first)) % self.shingles.cache
        })
    }

    /// Pieces of a range that lie together on the disk, with all sectors of a piece from one write or from home.
    fn runs(&self, first: u64, end: u64, wanted: impl Fn(&LogEntry) -> bool, home: bool) -> Vec<(u64, u64)> {
        let (mut runs, mut last) = (Vec::<(u64, u64)>::new(), None);
        for sector in first..end {
            let write = self.written[sector as usize];
            if !write.map_or(home, |write| wanted(&self.writes[write])) {
                last = None;
                continue;
            }
            if last == Some(write)
                && let Some(run) = runs.last_mut()
            {
                run.1 += 1;
            } else {
                runs.push((self.place(sector, write), 1));
            }
            last = Some(write);
        }
        runs
    }

    /// Pieces of all that is logged.
    fn pieces(&self) -> u64 {
        let starts = (0..self.written.len()).filter(|sector| {
            let before = sector.checked_sub(1).and_then(|before| self.written[before]);
            self.written[*sector].is_some() && self.written[*sector] != before
        });
        starts.count() as u64
    }

    fn tail(&self) -> u64 {
        self.writes.get(self.oldest).map_or(self.head, |oldest| oldest.at)
    }

    /// Log what the host writes as far as there is room.
    fn log(&mut self) {
        let cache = self.shingles.cache;
        let most = (cache / 8 / self.unit * self.unit).max(self.unit);
        while let Some(&command) = self.blocked.front() {
            let (first, to) = self.commands[command].left;
            let band = self.bands.iter().find(|band| (band.0..band.1).contains(&first)).unwrap();
            let end = to.min(band.1).min(first + most);
            let takes = (self.shingles.journal + end - first).next_multiple_of(self.unit);
            let mut at = self.head;
            while at % cache + takes > cache {
                at += 1;
            }
            if at + takes > self.tail() + cache || self.pieces() >= self.shingles.entries as u64 {
                break;
            }
            let request = self.ask(command, Work::Write, at % cache, takes);
            self.head = at + takes;
            self.written[first as usize..end as usize].fill(Some(self.writes.len()));
            self.writes.push(LogEntry { at, first, end, home: false, request });
            self.commands[command].left.0 = end;
            if end == to {
                self.blocked.pop_front();
            }
        }
        let used = (self.head - self.tail()) * 100 >= cache * self.shingles.high;
        let mapped = self.pieces() * 100 >= self.shingles.entries as u64 * self.shingles.high;
        if (!self.blocked.is_empty() || used || mapped) && self.cleaning.is_none() {
            self.full = true;
        }
    }

    fn cleans_now(&self) -> bool {
        let now = self.disk.now;
        if let Some(cleaning) = &self.cleaning {
            let ended = |request: usize| self.disk.end_of(request).is_some_and(|end| end <= now);
            return cleaning.pause_until.map_or_else(|| cleaning.access.is_some_and(ended), |until| until <= now);
        }
        let idle = |end: u64| now >= end + self.shingles.idle;
        self.full
            || self.oldest < self.writes.len() && !self.host_waits() && self.ends().flatten().max().is_none_or(idle)
    }

    /// Forget the oldest writes that are at home, or replaced by what is durable.
    fn reclaim(&mut self, head: u64) {
        while let Some(oldest) = self.writes.get(self.oldest) {
            let needed = |write: &usize| *write == self.oldest || self.writes[*write].at >= head;
            let mut now = self.written[oldest.first as usize..oldest.end as usize].iter().flatten();
            if !oldest.home && now.any(needed) {
                return;
            }
            self.oldest += 1;
        }
    }

    fn clean(&mut self) {
        self.full = false;
        let mut it = self.cleaning.take().unwrap_or_default();
        let ends_band = it.plan.is_empty() && it.band.is_some();
        if it.host_came && it.pause_until.is_none() && !ends_band && self.shingles.pause > 0 {
            it.pause_until = Some(self.disk.now + self.shingles.pause);
            self.cleaning = Some(it);
            return;
        }
        loop {
            if let Some((work, first, sectors)) = it.plan.pop_front() {
                let host_came = work == Work::Flush || self.host_waits();
                it.access = Some(self.disk.ask(work, first, sectors));
                self.cleaning = Some(CleaningJob { host_came, pause_until: None, ..it });
                return;
            }
            if let (Some(band), Some(head)) = (it.band, it.head) {
                self.bring_home(band, head);
                self.cleaning = Some(CleaningJob::default());
                self.log();
                it = self.cleaning.take().unwrap();
            }
            let Some(head) = it.head else {
                it.head = Some(self.head);
                let durable =
                    |write: &LogEntry| self.disk.end_of(write.request).is_some_and(|end| end <= self.disk.now);
                if !self.writes.iter().all(durable) {
                    it.plan.push_back((Work::Flush, 0, 0));
                }
                continue;
            };
            self.reclaim(head);
            let Some(oldest) = self.writes.get(self.oldest) else { return self.log() };
            if oldest.at >= head {
                it.head = None;
                continue;
            }
            let band = *self.bands.iter().find(|band| (band.0..band.1).contains(&oldest.first)).unwrap();
            it.band = Some(band);
            let whole = (band.0 + self.shingles.cache, band.1 - band.0);
            let logged = self.runs(band.0, band.1, |write| write.at < head, false);
            for (work, runs) in [(Work::Read, vec![whole]), (Work::Read, logged), (Work::Write, vec![whole])] {
                for (mut from, mut left) in runs {
                    while left > 0 {
                        let count = left.min(self.shingles.chunk);
                        it.plan.push_back((work, from, count));
                        (from, left) = (from + count, left - count);
                    }
                }
            }
        }
    }

    /// What was logged of a band before `head` is in its place.
    fn bring_home(&mut self, band: (u64, u64), head: u64) {
        for write in &mut self.written[band.0 as usize..band.1 as usize] {
            *write = write.filter(|write| self.writes[*write].at >= head);
        }
        for write in &mut self.writes {
            write.home |= write.at < head && (band.0..band.1).contains(&write.first);
        }
        self.reclaim(head);
    }
}
