//! What reaches the members of an array, request by request, against a splitter that goes by sectors and shares no code with it.

use crate::arrays::{array_of, plain_controller};
use mileage_drive::conformance::general::completions;
use mileage_drive::profile::{Basics, Level};
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
type Asked = Vec<Vec<(RequestKind, u64, u64)>>;
/// Sectors of a chunk.
const CHUNK: u64 = 16;

/// The member of a data chunk of a row.
fn member(level: Level, n: u64, row: u64, data: u64) -> u64 {
    match level {
        Level::Raid0 => data,
        Level::Raid1 => 0,
        Level::Raid10 => 2 * data,
        Level::Raid5 => (n - row % n + data) % n,
        _ => (n - row % n + 1 + data) % n,
    }
}

/// What a request of a working array becomes, sector by sector; `members` are the sizes, in sectors.
fn split(level: Level, members: &[u64], kind: RequestKind, from: u64, sectors: u64) -> Asked {
    let n = members.len() as u64;
    let mut asked: Asked = vec![Vec::new(); members.len()];
    // Of rows with parity each request stands for itself.
    let is_row = matches!(level, Level::Raid5 | Level::Raid6) && kind == RequestKind::Write;
    let mut add = |at: u64, kind, sector: u64, sectors: u64| {
        let list = &mut asked[at as usize];
        match list.last_mut().filter(|it| !is_row && it.0 == kind && it.1 + it.2 == sector) {
            Some(request) => request.2 += 1,
            None => list.push((kind, sector, sectors)),
        }
    };
    let data = match level {
        Level::Raid1 | Level::Jbod => 1,
        Level::Raid10 => n / 2,
        Level::Raid5 => n - 1,
        Level::Raid6 => n - 2,
        Level::Raid0 => n,
    };
    // Rows with parity that are written: the sectors of each chunk.
    let mut rows: BTreeMap<u64, BTreeMap<u64, Vec<u64>>> = BTreeMap::new();
    for sector in from..from + sectors {
        if level == Level::Jbod {
            let (mut at, mut rest) = (0, sector);
            while rest >= members[at] {
                rest -= members[at];
                at += 1;
            }
            add(at as u64, kind, rest, 1);
            continue;
        }
        let (row, chunk, within) = (sector / (data * CHUNK), sector / CHUNK % data, sector % CHUNK);
        if is_row {
            rows.entry(row).or_default().entry(chunk).or_default().push(within);
            continue;
        }
        let first = member(level, n, row, chunk);
        let copies = match (level, kind) {
            (Level::Raid1, RequestKind::Write) => n,
            (Level::Raid10, RequestKind::Write) => 2,
            _ => 1,
        };
        (first..first + copies).for_each(|at| add(at, kind, row * CHUNK + within, 1));
    }
    for (row, chunks) in rows {
        let all: Vec<u64> = chunks.values().flatten().copied().collect();
        let (low, high) = (*all.iter().min().unwrap(), *all.iter().max().unwrap() + 1);
        let parities: Vec<u64> = (0..n - data).map(|at| (n - 1 - row % n + at) % n).collect();
        let range = |list: &[u64]| (list[0], list.len() as u64);
        let rest: Vec<(u64, u64, u64)> = (0..data)
            .flat_map(|chunk| {
                let has = |within: &u64| chunks.get(&chunk).is_some_and(|list| list.contains(within));
                let left: Vec<u64> = (low..high).filter(|within| !has(within)).collect();
                let gaps = left.chunk_by(|a, b| a + 1 == *b).map(range).collect::<Vec<_>>();
                gaps.into_iter().map(move |(from, length)| (chunk, from, length))
            })
            .collect();
        if rest.len() <= chunks.len() + parities.len() {
            rest.iter().for_each(|it| add(member(level, n, row, it.0), RequestKind::Read, row * CHUNK + it.1, it.2));
        } else {
            for (chunk, list) in &chunks {
                add(member(level, n, row, *chunk), RequestKind::Read, row * CHUNK + list[0], list.len() as u64);
            }
            parities.iter().for_each(|at| add(*at, RequestKind::Read, row * CHUNK + low, high - low));
        }
        for (chunk, list) in &chunks {
            add(member(level, n, row, *chunk), RequestKind::Write, row * CHUNK + list[0], list.len() as u64);
        }
        parities.iter().for_each(|at| add(*at, RequestKind::Write, row * CHUNK + low, high - low));
    }
    asked
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
        let member = || Recorder(ConstantTime::new(20 * CHUNK * 512, 70_000, 0), Vec::new());
        let mut device = array_of((level, count), &plain_controller(), 0, member);
        let requests = mileage_drive::conformance::general::requests(seed, &device).take(60);
        let moves = requests.into_iter().filter(|it| matches!(it.kind, RequestKind::Read | RequestKind::Write));
        for request in moves {
            let before: Vec<usize> = device.devices().iter().map(|it| it.1.len()).collect();
            let request = Request { submit_ns: device.now_ns(), ..request };
            let _: Vec<TaggedCompletion> = completions(&mut device, &[request]);
            let expected = split(
                level,
                &vec![20 * CHUNK; count],
                request.kind,
                request.offset_bytes / 512,
                request.length_bytes / 512,
            );
            let sorted = |list: &[(RequestKind, u64, u64)]| {
                let mut list: Vec<_> = list.iter().map(|it| (it.0 as u8, it.1, it.2)).collect();
                list.sort_unstable();
                list
            };
            for (at, recorder) in device.devices().iter().enumerate() {
                let found = sorted(&recorder.1[before[at]..]);
                assert_eq!(found, sorted(&expected[at]), "{level:?} of {count}, member {at}, {request:?}, seed {seed}");
            }
        }
    }
}
