//! What the engine adds to a bare loop of `pread` or `pwrite`: cached random records of 4 KiB by one thread, engine and
//! loop in turn, the ratio of the processor time of an operation. The bare loop writes one buffer again and again, the engine
//! takes new bytes from its pool for every write: that ratio shows what honest content costs where nothing but memory
//! is written. `cargo bench` measures; `cargo test --benches` only tries that it runs.

#![allow(clippy::disallowed_methods, reason = "it makes the files that it works on")]

use mileage_engine::{Api, Options, start_observed};
use mileage_workload::{Completion, Content, Observer, PatternKind, Stop, Sync, Workload};
use rand::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const RECORD_BYTES: u32 = 4096;

/// Takes the processor time of a thread from its first completion to its last.
struct Processor {
    left: u64,
    began_ns: u64,
    used: Arc<AtomicU64>,
}

impl Observer for Processor {
    #[inline]
    fn completed(&mut self, _completion: &Completion) {
        if self.began_ns == 0 {
            self.began_ns = thread_ns();
        }
        self.left -= 1;
        if self.left == 0 {
            self.used.store(thread_ns() - self.began_ns, Ordering::Relaxed);
        }
    }
}

/// Processor time of the calling thread in nanoseconds.
fn thread_ns() -> u64 {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    used.tv_sec as u64 * 1_000_000_000 + used.tv_nsec as u64
}

struct Case<'a> {
    name: &'static str,
    path: &'a Path,
    read_percent: u8,
    content: Content,
    records: u64,
    operations: u64,
}

impl Case<'_> {
    /// Nanoseconds per operation of the engine.
    fn engine_ns(&self, seed: u64) -> f64 {
        self.run_ns(seed, Options::new(self.path))
    }

    fn run_ns(&self, seed: u64, options: Options) -> f64 {
        let workload = Workload {
            pattern: PatternKind::Random,
            read_percent: self.read_percent,
            record_bytes: RECORD_BYTES,
            span_start_bytes: 0,
            span_bytes: self.records * u64::from(RECORD_BYTES),
            depth: 1,
            threads: 1,
            stop: Stop { operations: Some(self.operations), ..Stop::default() },
            seed,
            content: self.content,
            sync: Sync::None,
            sync_timed: false,
            ..Workload::default()
        };
        let used = Arc::new(AtomicU64::new(0));
        let watch = |_| Processor { left: self.operations, began_ns: 0, used: Arc::clone(&used) };
        let handle = start_observed(workload, options, watch).expect("the file is there");
        let finished = handle.wait(Duration::from_secs(3600)).expect("ends").expect("is not void");
        assert_eq!(finished.record.error, None);
        used.load(Ordering::Relaxed) as f64 / (self.operations - 1) as f64
    }

    /// Nanoseconds per operation of a loop that does nothing but draw an offset and make the call, on a thread of its
    /// own since the kernel finds a file faster for a process with a single thread.
    fn bare_ns(&self, seed: u64) -> f64 {
        let file = std::fs::File::options().read(true).write(true).open(self.path).expect("the file is there");
        let (records, operations, reads) = (self.records, self.operations, self.read_percent == 100);
        let elapsed = std::thread::spawn(move || {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut buffer = vec![1_u8; 2 * RECORD_BYTES as usize];
            let aligned = buffer.as_ptr().align_offset(RECORD_BYTES as usize);
            let buffer = &mut buffer[aligned..aligned + RECORD_BYTES as usize];
            let began_ns = thread_ns();
            for _ in 0..operations {
                let record = ((u128::from(rng.next_u64()) * u128::from(records)) >> 64) as u64;
                let offset_bytes = record * u64::from(RECORD_BYTES);
                let moved = if reads {
                    rustix::io::pread(&file, &mut *buffer, offset_bytes)
                } else {
                    rustix::io::pwrite(&file, buffer, offset_bytes)
                };
                assert_eq!(black_box(moved), Ok(RECORD_BYTES as usize));
            }
            thread_ns() - began_ns
        });
        elapsed.join().expect("does not panic") as f64 / operations as f64
    }

    fn compare(&self, rounds: u64) -> std::io::Result<()> {
        let (mut engine, mut bare, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..rounds {
            // The two in turn, and the first of a pair in turn as well.
            let (a, b) = if round % 2 == 0 {
                let a = self.engine_ns(round);
                (a, self.bare_ns(round))
            } else {
                let b = self.bare_ns(round);
                (self.engine_ns(round), b)
            };
            engine.push(a);
            bare.push(b);
            ratios.push(a / b);
        }
        // The least time of either is the one that the rest of the machine disturbed least.
        let (engine, bare, ratio) = (quantile(&mut engine, 0), quantile(&mut bare, 0), quantile(&mut ratios, 2));
        let (low, high, least) = (quantile(&mut ratios, 1), quantile(&mut ratios, 3), engine / bare);
        writeln!(
            std::io::stdout(),
            "{}: least engine {engine:.0} ns, bare loop {bare:.0} ns, ratio {least:.3}; of {rounds} pairs: median ratio {ratio:.3}, quartiles {low:.3} and {high:.3}",
            self.name,
        )
    }
}

/// Fill the file record by record in no order: a file written in large records is cached in large folios, in which
/// some kernels take ten times longer for a rewrite of 4 KiB, and that would hide what is compared here.
fn lay_out_in_small_pieces(path: &Path, records: u64) -> std::io::Result<()> {
    use std::os::unix::fs::FileExt;
    let file = std::fs::File::create(path)?;
    // An odd stride visits every record of a power of two once.
    (0..records)
        .map(|step| step * 40_503 % records)
        .try_for_each(|record| file.write_all_at(&[1; RECORD_BYTES as usize], record * u64::from(RECORD_BYTES)))?;
    file.sync_all()
}

fn quantile(values: &mut [f64], quarter: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() - 1) * quarter / 4]
}

fn main() -> std::io::Result<()> {
    let measuring = std::env::args().any(|argument| argument == "--bench");
    let (records, operations, rounds) = if measuring { (65_536, 100_000, 41) } else { (256, 2_000, 3) };
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let path = folder.path().join("cached");
    lay_out_in_small_pieces(&path, records)?;
    let case = |name, read_percent, content| Case { name, path: &path, read_percent, content, records, operations };
    case("cached 4 KiB random reads", 100, Content::Incompressible).compare(rounds)?;
    case("cached 4 KiB random rewrites, zeros", 0, Content::Zeros).compare(rounds)?;
    case("cached 4 KiB random rewrites, incompressible", 0, Content::Incompressible).compare(rounds)?;
    no_call(&path, records, if measuring { 20_000_000 } else { 2_000 }, if measuring { 9 } else { 3 })
}

/// Nanoseconds per operation of the engine with no call at all, everything that a run records included.
fn no_call(path: &Path, records: u64, operations: u64, rounds: u64) -> std::io::Result<()> {
    let case = Case { name: "no call", path, read_percent: 100, content: Content::Zeros, records, operations };
    let options = Options { api: Api::Null, ..Options::new(path) };
    let mut costs: Vec<f64> = (0..rounds).map(|round| case.run_ns(round, options.clone())).collect();
    let (least, median, most) = (quantile(&mut costs, 0), quantile(&mut costs, 2), quantile(&mut costs, 4));
    writeln!(std::io::stdout(), "no call: {least:.1} ns, median {median:.1}, most {most:.1}; of {rounds} runs")
}
