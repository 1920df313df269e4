//! What reaches the members of an array, request by request, against a splitter that goes by sectors and shares no code with it.

use crate::arrays::array_of;
use mileage_drive::conformance::general::completions;
use mileage_drive::profile::{Basics, Controller, Level};
use mileage_drive::{
    BlockDevice, ConstantTime, Decisions, Event, Life, Loss, ManagedDevice, ManagementError, Misuse, PowerCut,
    PowerCutError, Request, RequestKind, StateError, Submission, TaggedCompletion,
};
use std::collections::BTreeMap;

/// A device that remembers what it was asked for.
#[derive(Clone, Debug)]
struct Recorder(ConstantTime, Vec<(RequestKind, u64, u64)>);

macro_rules! forward {
    ($($name:ident(&self $(, $arg:ident: $type:ty)*) -> $out:ty;)+) => {
        $(fn $name(&self $(, $arg: $type)*) -> $out { self.0.$name($($arg),*) })+
    };
    ($($name:ident(&mut self $(, $arg:ident: $type:ty)*) -> $out:ty;)+) => {
        $(fn $name(&mut self $(, $arg: $type)*) -> $out { self.0.$name($($arg),*) })+
    };
}

impl BlockDevice for Recorder {
    fn submit(&mut self, submission: Submission) -> Result<(), Misuse> {
        let Request { kind, offset_bytes, length_bytes, .. } = submission.request;
        self.1.push((kind, offset_bytes / 512, length_bytes / 512));
        self.0.submit(submission)
    }

    forward! {
        capacity_bytes(&self) -> u64;
        sector_bytes(&self) -> u32;
        page_bytes(&self) -> u32;
        now_ns(&self) -> u64;
        next_event(&self) -> Option<Event>;
        losses(&self, offset: u64, length: u64, cut: PowerCut) -> Result<Vec<Loss>, PowerCutError>;
        counter_names(&self) -> &'static [&'static str];
        counters(&self, out: &mut [u64]) -> ();
        gauge_names(&self) -> &'static [&'static str];
        gauges(&self, out: &mut [u64]) -> ();
        series_names(&self) -> &'static [&'static str];
        save(&self) -> Vec<u8>;
    }

    forward! {
        advance_to(&mut self, at_ns: u64, out: &mut Decisions) -> Result<(), Misuse>;
        report_persisted(&mut self, wanted: bool) -> ();
        restore(&mut self, state: &[u8]) -> Result<(), StateError>;
    }
}

impl ManagedDevice for Recorder {
    forward! {
        basics(&self) -> &Basics;
        life(&self) -> Life;
        may_lag(&self) -> bool;
    }

    forward! {
        purge(&mut self) -> Result<(), ManagementError>;
        power_cut(&mut self, cut: PowerCut, out: &mut Decisions) -> Result<Vec<Loss>, ManagementError>;
        power_off(&mut self, at_ns: u64, out: &mut Decisions) -> Result<(), ManagementError>;
        power_on(&mut self) -> ();
    }
}

/// Requests of each member: kind, first sector, sectors.
type MemberRequests = Vec<Vec<(RequestKind, u64, u64)>>;
/// Sectors of each chunk of a row that a request covers.
type RowChunks = BTreeMap<u64, Vec<u64>>;
/// Sectors of a chunk.
const CHUNK: u64 = 16;

/// An array as the reference knows it.
struct Reference {
    level: Level,
    /// Of each member, in sectors.
    sizes: Vec<u64>,
    failed: Option<u64>,
}

impl Reference {
    fn data(&self) -> u64 {
        let n = self.sizes.len() as u64;
        match self.level {
            Level::Raid1 | Level::Jbod => 1,
            Level::Raid10 => n / 2,
            Level::Raid5 => n - 1,
            Level::Raid6 => n - 2,
            Level::Raid0 => n,
        }
    }

    /// The member of a data chunk of a row, of copies the first.
    fn member(&self, row: u64, data: u64) -> u64 {
        let n = self.sizes.len() as u64;
        match self.level {
            Level::Raid0 => data,
            Level::Raid1 | Level::Jbod => 0,
            Level::Raid10 => 2 * data,
            Level::Raid5 => (n - row % n + data) % n,
            Level::Raid6 => (n - row % n + 1 + data) % n,
        }
    }

    fn works(&self, member: u64) -> bool {
        self.failed != Some(member)
    }

    /// The members with the parities of a row that work.
    fn parities(&self, row: u64) -> Vec<u64> {
        let n = self.sizes.len() as u64;
        (0..n - self.data()).map(|at| (n - 1 - row % n + at) % n).filter(|at| self.works(*at)).collect()
    }

    /// What a request becomes, sector by sector.
    fn split(&self, kind: RequestKind, from: u64, sectors: u64) -> MemberRequests {
        let mut asked: MemberRequests = vec![Vec::new(); self.sizes.len()];
        let mut add = |at: u64, sector: u64| match asked[at as usize].last_mut().filter(|it| it.1 + it.2 == sector) {
            Some(request) => request.2 += 1,
            None => asked[at as usize].push((kind, sector, 1)),
        };
        let writes = kind == RequestKind::Write;
        let is_row = matches!(self.level, Level::Raid5 | Level::Raid6) && writes;
        let (mut rows, mut lost): (BTreeMap<u64, RowChunks>, BTreeMap<u64, Vec<u64>>) = Default::default();
        for sector in from..from + sectors {
            if self.level == Level::Jbod {
                let (mut at, mut rest) = (0, sector);
                while rest >= self.sizes[at] {
                    rest -= self.sizes[at];
                    at += 1;
                }
                add(at as u64, rest);
                continue;
            }
            let (row, chunk, within) = (sector / (self.data() * CHUNK), sector / CHUNK % self.data(), sector % CHUNK);
            if is_row {
                rows.entry(row).or_default().entry(chunk).or_default().push(within);
                continue;
            }
            let copies = match self.level {
                Level::Raid1 => self.sizes.len() as u64,
                Level::Raid10 => 2,
                _ => 1,
            };
            let first = self.member(row, chunk);
            let holders: Vec<u64> = (first..first + copies).filter(|at| self.works(*at)).collect();
            if holders.is_empty() {
                lost.entry(row).or_default().push(within);
            }
            holders.iter().take(if writes { holders.len() } else { 1 }).for_each(|at| add(*at, row * CHUNK + within));
        }
        for (row, list) in lost {
            self.recover(row, (list[0], list.len() as u64), &mut asked);
        }
        for (row, touched) in rows {
            self.write_row(row, &touched, &mut asked);
        }
        asked
    }

    /// A range of all chunks of a row that are left, and of a parity.
    fn recover(&self, row: u64, (from, length): (u64, u64), asked: &mut MemberRequests) {
        let data = (0..self.data()).map(|chunk| self.member(row, chunk)).filter(|at| self.works(*at));
        for at in data.chain(self.parities(row).into_iter().take(1)) {
            asked[at as usize].push((RequestKind::Read, row * CHUNK + from, length));
        }
    }

    /// A write to a row with parity: each request stands for itself.
    fn write_row(&self, row: u64, touched: &RowChunks, asked: &mut MemberRequests) {
        let mut add = |at: u64, kind, from: u64, length: u64| {
            if self.works(at) {
                asked[at as usize].push((kind, row * CHUNK + from, length));
            }
        };
        let all: Vec<u64> = touched.values().flatten().copied().collect();
        let (low, high) = (*all.iter().min().unwrap(), *all.iter().max().unwrap() + 1);
        let parities = self.parities(row);
        let mut rest = Vec::new();
        for chunk in 0..self.data() {
            let has = |within: &u64| touched.get(&chunk).is_some_and(|list| list.contains(within));
            let left: Vec<u64> = (low..high).filter(|within| !has(within)).collect();
            rest.extend(left.chunk_by(|a, b| a + 1 == *b).map(|list| (chunk, list[0], list.len() as u64)));
        }
        for (chunk, list) in touched {
            add(self.member(row, *chunk), RequestKind::Write, list[0], list.len() as u64);
        }
        parities.iter().for_each(|at| add(*at, RequestKind::Write, low, high - low));
        if parities.is_empty() {
            return;
        }
        let lost = (0..self.data()).find(|chunk| !self.works(self.member(row, *chunk)));
        let leaves = lost.is_some_and(|lost| rest.iter().any(|it| it.0 == lost));
        let replaces = lost.is_some_and(|lost| touched.contains_key(&lost));
        if leaves && replaces {
            self.recover(row, (low, high - low), asked);
        } else if replaces || !leaves && rest.len() <= touched.len() + parities.len() {
            rest.iter().for_each(|it| add(self.member(row, it.0), RequestKind::Read, it.1, it.2));
        } else {
            for (chunk, list) in touched {
                add(self.member(row, *chunk), RequestKind::Read, list[0], list.len() as u64);
            }
            parities.iter().for_each(|at| add(*at, RequestKind::Read, low, high - low));
        }
    }
}

fn sorted(list: &[(RequestKind, u64, u64)]) -> Vec<(u8, u64, u64)> {
    let mut list: Vec<_> = list.iter().map(|it| (it.0 as u8, it.1, it.2)).collect();
    list.sort_unstable();
    list
}

/// What reaches the members, with all of them or without one, against the reference.
fn compare(level: Level, count: usize, failed: Option<u64>, seed: u64) {
    let member = || Recorder(ConstantTime::new(20 * CHUNK * 512, 70_000, 0), Vec::new());
    let mut device = array_of((level, count), &Controller::UNLIMITED, 0, member);
    let reference = Reference { level, sizes: vec![20 * CHUNK; count], failed };
    if let Some(failed) = failed {
        device.fail_member(failed as usize);
    }
    let requests = mileage_drive::conformance::general::requests(seed, &device).take(60);
    let moves = requests.into_iter().filter(|it| matches!(it.kind, RequestKind::Read | RequestKind::Write));
    for request in moves {
        let before: Vec<usize> = device.devices().iter().map(|it| it.1.len()).collect();
        let request = Request { submit_ns: device.now_ns(), ..request };
        let _: Vec<TaggedCompletion> = completions(&mut device, &[request]);
        let expected = reference.split(request.kind, request.offset_bytes / 512, request.length_bytes / 512);
        for (at, recorder) in device.devices().iter().enumerate() {
            let found = sorted(&recorder.1[before[at]..]);
            let which = format!("{level:?} of {count} without {failed:?}, member {at}, {request:?}, seed {seed}");
            assert_eq!(found, sorted(&expected[at]), "{which}");
        }
    }
}

#[test]
fn members_get_exactly_the_requests_of_the_reference() {
    let levels = [
        (Level::Jbod, 3),
        (Level::Raid0, 1),
        (Level::Raid0, 5),
        (Level::Raid1, 3),
        (Level::Raid10, 6),
        (Level::Raid5, 3),
        (Level::Raid5, 7),
        (Level::Raid6, 4),
        (Level::Raid6, 8),
    ];
    for ((level, count), seed) in levels.into_iter().flat_map(|level| (0..20).map(move |seed| (level, seed))) {
        compare(level, count, None, seed);
        if !matches!(level, Level::Jbod | Level::Raid0) {
            compare(level, count, Some(seed % count as u64), seed);
        }
    }
}
