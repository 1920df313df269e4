//! Corruptions of every kind, by 1 and 4 threads, in shared and own files, direct and cached, at depth 1 and 8: each is
//! found and rightly named; runs on healthy storage in the same grid raise no alarm.
//!
//! A run is compared by itself (it writes, the damage is done, it reads) or by a later one that only reads. All corruptions
//! of a run are planted at once, each in a slot of its own; what is not damaged must be right. `make test` runs a part of
//! the grid, drawn by the seed, `make thorough` all of it; `--nocapture` prints the counts.

use crate::conformance::{cases, seed};
use crate::scratch::{finish, folder, has_direct, plain, run, start_observed};
use crate::verify_corruptions::{CONTENT, Corruption, GENERATION, RECORD, SEED, SLOT, Slot, corruptions};
use mileage_engine::{Api, Error, Options, start};
use mileage_measure::RunRecord;
use mileage_workload::{
    AccessLine, Completion, Content, Files, Observer, OpKind, PatternKind, Stop, TraceOp, Verify, Workload,
};
use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// One place of the grid.
#[derive(Clone, Copy, Debug)]
struct Place {
    threads: u32,
    files: Files,
    direct: bool,
    depth: u32,
}

impl Place {
    /// All of the grid, in an order that the seed draws; without direct I/O where the file system has none.
    fn all(test: &str) -> Vec<Self> {
        let can_direct = has_direct(test, 512);
        let mut places: Vec<Self> = (0..16)
            .map(|bits| Self {
                threads: if bits & 1 == 0 { 1 } else { 4 },
                files: if bits & 2 == 0 { Files::Shared } else { Files::PerThread },
                direct: bits & 4 != 0 && can_direct,
                depth: if bits & 8 == 0 { 1 } else { 8 },
            })
            .collect();
        let mut draw = Draw(seed());
        (1..16).rev().for_each(|last| places.swap(last, draw.below(last as u64 + 1) as usize));
        places
    }

    fn options(self, path: &Path) -> Options {
        let ring = Api::Uring { registered: true, batch: 0, sqpoll: false, iopoll: false };
        let api = if self.depth > 1 { ring } else { Api::Positioned };
        Options { api, direct: self.direct, ..Options::new(path) }
    }

    fn workload(self, more: Workload) -> Workload {
        Workload { threads: self.threads, files: self.files, depth: self.depth, ..more }
    }

    /// How many files there are.
    fn files(self) -> u32 {
        if self.files == Files::PerThread { self.threads } else { 1 }
    }

    fn path(self, path: &Path, file: u32) -> PathBuf {
        match self.files {
            Files::Shared => path.to_owned(),
            Files::PerThread => PathBuf::from(format!("{}.{file}", path.display())),
        }
    }

    /// Write every file once, whole.
    fn lay_out(self, path: &Path, workload: Workload) {
        let stop = Stop { bytes: Some(workload.span_bytes * u64::from(self.files())), ..Stop::default() };
        let fills =
            Workload { read_percent: 0, verify: Verify::Off, pattern: PatternKind::Sequential, stop, ..workload };
        let workload = Workload { discard_percent: 0, depth: 1, ..self.workload(fills) };
        let record = run(Workload { depth: 1, ..workload }, Options { create: true, ..Options::new(path) }).record;
        assert_eq!(record.error, None);
    }
}

struct Draw(u64);

impl Draw {
    fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 32) * count) >> 32
    }

    fn of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize].clone()
    }
}

/// The slots of a run: as many as there are corruptions, and a multiple of the threads.
fn slots(threads: u32) -> usize {
    corruptions().len().next_multiple_of(threads as usize)
}

/// Number of the file that a slot is damaged in.
fn file_of(place: Place, slot: usize) -> u32 {
    if place.files == Files::PerThread { slot as u32 % place.threads } else { 0 }
}

fn slot_bytes(slots: usize) -> u64 {
    (slots * SLOT) as u64
}

/// What is written and read.
fn plainly(place: Place, generation: u32) -> Workload {
    let span_bytes = slot_bytes(slots(place.threads));
    let stop = Stop { bytes: Some(span_bytes * u64::from(place.files())), ..Stop::default() };
    let sizes = Workload { record_bytes: RECORD as u32, span_bytes, stop, ..plain() };
    place.workload(Workload { content: CONTENT, seed: SEED, generation, ..sizes })
}

/// Plant the corruptions, each in its slot.
fn plant(place: Place, path: &Path, lap: u32, planted: &[Corruption]) {
    for (number, corruption) in planted.iter().enumerate() {
        let file = file_of(place, number);
        let offset = slot_bytes(number);
        let mut slot = Slot { bytes: Vec::new(), file: file as u16, offset, lap };
        slot.bytes = slot.right();
        let there = OpenOptions::new().read(true).write(true).open(place.path(path, file)).unwrap();
        let mut found = vec![0; SLOT];
        there.read_exact_at(&mut found, offset).unwrap();
        assert!(found == slot.bytes, "{}: the slot was not as it should be", corruption.name);
        (corruption.damage)(&mut slot);
        assert!(found != slot.bytes, "{} changes nothing", corruption.name);
        there.write_all_at(&slot.bytes, offset).unwrap();
    }
}

/// Whether the record names what was planted and nothing else; what it gets wrong.
fn judge(record: &RunRecord, planted: &[Corruption]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut expected = BTreeSet::new();
    for (number, corruption) in planted.iter().enumerate() {
        let records = corruption.expected.iter().map(|(record, kind)| (2 * number + record, (*kind).to_owned()));
        expected.extend(records);
    }
    let named = record.mismatches.iter().map(|found| (found.offset_bytes as usize / RECORD, found.kind.clone()));
    let named: BTreeSet<(usize, String)> = named.collect();
    for (at, kind) in expected.symmetric_difference(&named) {
        let name = planted.get(at / 2).map_or("healthy", |corruption| corruption.name);
        let what = if named.contains(&(*at, kind.clone())) { "wrongly named" } else { "not named" };
        let seen = record.mismatches.iter().filter(|found| found.offset_bytes as usize / RECORD == *at);
        let seen: Vec<&String> = seen.map(|found| &found.message).collect();
        faults.push(format!("{name} is {what} {kind}: {seen:?}"));
    }
    let wrong: BTreeSet<usize> = expected.iter().map(|(at, _)| *at).collect();
    if record.ops_mismatched != wrong.len() as u64 {
        faults.push(format!("{} records are damaged, {} reads were wrong", wrong.len(), record.ops_mismatched));
    }
    if record.error.as_ref().map(|error| error.kind.as_str()) != Some("VERIFY") {
        faults.push(format!("the run ended with {:?}", record.error));
    }
    faults
}

/// A run that only reads, after the damage.
fn later(place: Place, path: &Path) -> (Vec<Corruption>, RunRecord) {
    place.lay_out(path, plainly(place, GENERATION));
    let planted: Vec<Corruption> = corruptions().into_iter().filter(|corruption| corruption.later).collect();
    plant(place, path, 0, &planted);
    let reads = Workload { read_percent: 100, verify: Verify::All, ..plainly(place, GENERATION) };
    let record = run(Workload { pattern: PatternKind::Shuffled, ..reads }, place.options(path)).record;
    (planted, record)
}

/// A run that writes everything and later reads it; `damage` comes in between.
fn by_itself(place: Place, path: &Path, damage: impl Fn()) -> RunRecord {
    let mut pause = Duration::from_millis(400);
    loop {
        place.lay_out(path, plainly(place, GENERATION));
        let (workload, writes) = written_and_read(place, pause);
        let done = Arc::new(AtomicU64::new(0));
        let handle = start_observed(workload, place.options(path), |_| Counts(Arc::clone(&done))).unwrap();
        let began = Instant::now();
        let in_time = wait_for(&done, writes, began + pause);
        if in_time {
            damage();
        }
        // Reads are due a pause after their thread began, which is later than `began`: with a quarter to spare, all that
        // was done until now was done before them.
        if in_time && began.elapsed() < pause * 3 / 4 {
            return finish(&handle).unwrap().record;
        }
        handle.stop();
        let _ = finish(&handle);
        pause *= 2;
        assert!(pause < Duration::from_secs(20), "{place:?}: the writes take too long");
    }
}

/// Counts the writes that have completed: what a handle says of a run that waits is late.
struct Counts(Arc<AtomicU64>);

impl Observer for Counts {
    fn completed(&mut self, completion: &Completion) {
        self.0.fetch_add(u64::from(completion.op.kind == OpKind::Write), Ordering::SeqCst);
    }
}

fn wait_for(done: &AtomicU64, writes: u64, until: Instant) -> bool {
    while done.load(Ordering::SeqCst) < writes && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(2));
    }
    done.load(Ordering::SeqCst) == writes
}

/// Every slot is written by its thread, and read by it after a pause.
fn written_and_read(place: Place, pause: Duration) -> (Workload, u64) {
    let threads = place.threads as usize;
    let mut operations = Vec::new();
    for (at_ns, kind) in [(0, OpKind::Write), (pause.as_nanos() as u64, OpKind::Read)] {
        for group in (0..slots(place.threads)).step_by(threads) {
            for record in 0..2 {
                operations.extend((group..group + threads).map(|slot| TraceOp {
                    at_ns,
                    kind,
                    offset_bytes: (slot * SLOT + record * RECORD) as u64,
                    length_bytes: RECORD as u32,
                }));
            }
        }
    }
    let writes = operations.len() as u64 / 2;
    let pattern = PatternKind::Trace { operations: operations.into(), timed: true };
    let plainly = plainly(place, GENERATION);
    (Workload { pattern, read_percent: 100, verify: Verify::All, stop: Stop::default(), ..plainly }, writes)
}

#[test]
fn each_corruption_is_found_and_named_in_the_whole_grid() {
    let folder = folder();
    let (mut planted_in_all, mut named, mut faults) = (0, 0, Vec::new());
    let places = Place::all("each_corruption_is_found_and_named_in_the_whole_grid");
    for (number, place) in places.into_iter().take(cases(16) as usize).enumerate() {
        let path = folder.path().join(format!("data-{number}"));
        let again = later(place, &path);
        let all = corruptions();
        let own = by_itself(place, &path, || plant(place, &path, 1, &all));
        for (how, (planted, record)) in [("a later run", again), ("the run itself", (all, own))] {
            let wrong = judge(&record, &planted);
            planted_in_all += planted.len();
            named += planted.len() - wrong.len().min(planted.len());
            faults.extend(wrong.into_iter().map(|fault| format!("{place:?}, {how}: {fault}")));
        }
        (0..place.files()).for_each(|file| std::fs::remove_file(place.path(&path, file)).unwrap());
    }
    eprintln!("{planted_in_all} corruptions of {} kinds planted, {named} found and named", corruptions().len());
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn a_truncated_file_is_named_in_the_whole_grid() {
    let folder = folder();
    let places = Place::all("a_truncated_file_is_named_in_the_whole_grid");
    let mut named = 0;
    for (number, place) in places.into_iter().take(cases(16) as usize).enumerate() {
        let path = folder.path().join(format!("data-{number}"));
        let span_bytes = plainly(place, GENERATION).span_bytes;
        let last = place.path(&path, place.files() - 1);
        let truncate = || OpenOptions::new().write(true).open(&last).unwrap().set_len(span_bytes / 2).unwrap();
        let record = by_itself(place, &path, truncate);
        let error = record.error.expect("a truncated file fails a run");
        assert!(error.kind == "EOF" && error.message.contains("has become shorter"), "{place:?}: {error:?}");
        let reads = Workload { read_percent: 100, verify: Verify::All, ..plainly(place, GENERATION) };
        let refused = start(reads, place.options(&path)).err();
        assert!(matches!(refused, Some(Error::TooSmall { .. })), "{place:?}: {refused:?}");
        named += 2;
    }
    eprintln!("{named} truncated files found and named");
}

/// A workload that reads, writes and compares, and what its file is laid out with.
fn healthy(place: Place, draw: &mut Draw) -> Workload {
    let record_bytes = 512_u32 << draw.below(6);
    let span_bytes = u64::from(record_bytes) * (8 + draw.below(120));
    let pattern = draw.of(&[
        PatternKind::Random,
        PatternKind::Shuffled,
        PatternKind::Sequential,
        PatternKind::Backward,
        PatternKind::Zipf { theta_hundredths: 110 },
        PatternKind::HotCold { hot_percent: 20, access_percent: 80 },
        PatternKind::PartlySequential { random_percent: 20 },
        PatternKind::Access { lines: access(record_bytes) },
    ]);
    let content = draw.of(&[
        Content::Incompressible,
        CONTENT,
        Content::Mixed { compressible_percent: 30, duplicate_percent: 40 },
        Content::Zeros,
        Content::IozoneDefault,
        Content::IozoneDedup { within_percent: 50, across_percent: 50, compress_percent: 50 },
        Content::IozoneDiagnostic,
    ]);
    let access = matches!(pattern, PatternKind::Access { .. });
    let identity = matches!(content, Content::Incompressible | Content::Mixed { .. });
    place.workload(Workload {
        pattern,
        read_percent: if access { 100 } else { draw.of(&[30, 50, 80]) },
        discard_percent: if access { 0 } else { draw.of(&[0, 0, 5]) },
        record_bytes,
        span_bytes,
        stop: Stop { operations: Some(500 + draw.below(2500)), ..Stop::default() },
        seed: draw.below(1 << 30),
        content: if access && !identity { CONTENT } else { content },
        verify: Verify::All,
        generation: if identity { draw.below(3) as u32 } else { 0 },
        ..plain()
    })
}

fn access(record_bytes: u32) -> Arc<[AccessLine]> {
    let line = |size_bytes, share_percent, random_percent| AccessLine {
        size_bytes,
        share_percent,
        read_percent: 60,
        random_percent,
        delay_ms: 0,
        burst: 1,
        align_bytes: 0,
    };
    [line(record_bytes, 40, 0), line(512.max(record_bytes / 2), 60, 100)].into()
}

#[test]
fn healthy_storage_is_never_accused_in_the_whole_grid() {
    let folder = folder();
    let places = Place::all("healthy_storage_is_never_accused_in_the_whole_grid");
    let mut draw = Draw(seed());
    let (mut runs, mut compared) = (0, 0);
    for number in 0..cases(150) as usize {
        let place = places[number % places.len()];
        let path = folder.path().join(format!("data-{number}"));
        let workload = healthy(place, &mut draw);
        place.lay_out(&path, workload.clone());
        let record = run(workload.clone(), place.options(&path)).record;
        assert_eq!(record.error, None, "{place:?} {workload:?}");
        assert_eq!((record.ops_compared, record.ops_mismatched), (record.ops_read, 0));
        compared += record.ops_compared;
        runs += 1;
        if workload.discard_percent == 0 && !matches!(workload.pattern, PatternKind::Access { .. }) {
            let stop = Stop { bytes: Some(workload.span_bytes * u64::from(place.files())), ..Stop::default() };
            let reads = Workload { pattern: PatternKind::Shuffled, read_percent: 100, stop, ..workload.clone() };
            let again = run(reads, place.options(&path)).record;
            assert_eq!((again.error, again.ops_mismatched), (None, 0), "{place:?} {workload:?}");
            compared += again.ops_compared;
            runs += 1;
        }
        (0..place.files()).for_each(|file| std::fs::remove_file(place.path(&path, file)).unwrap());
    }
    eprintln!("{runs} healthy runs, {compared} reads compared, no alarm");
}
