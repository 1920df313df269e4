//! How fast one thread makes what is written, at every level and with each width of vectors, and what comparing costs:
//! gigabytes (10^9) per second of processor time, the best of several rounds in turn. `cargo bench --bench content`
//! measures; `cargo test --benches` only tries that it runs.

use mileage_engine::{Api, Generator, Options, RunResult, start};
use mileage_workload::{Content, PatternKind, Stop, Verify, Workload};
use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use std::io::Write;
use std::time::Duration;

const LEVELS: [u8; 7] = [0, 2, 25, 50, 75, 98, 100];
const RECORDS: [u32; 2] = [4096, 1 << 20];
const WIDTHS: [u32; 3] = [512, 256, 128];

/// Processor time of the calling thread in seconds.
fn thread_s() -> f64 {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    used.tv_sec as f64 + used.tv_nsec as f64 * 1e-9
}

fn workload(content: Content, record_bytes: u32) -> Workload {
    let span_bytes = 1 << 36;
    Workload {
        pattern: PatternKind::Sequential,
        read_percent: 0,
        record_bytes,
        span_bytes,
        stop: Stop { operations: Some(1), ..Stop::default() },
        content,
        ..Workload::default()
    }
}

/// Gigabytes per second of one generator, filling one buffer again and again with the next bytes.
fn rate(generator: &Generator, record_bytes: u32, bytes: u64) -> f64 {
    let mut buffer = vec![0; record_bytes as usize];
    let records = bytes / u64::from(record_bytes);
    let began_s = thread_s();
    for record in 0..records {
        generator.fill(0, record * u64::from(record_bytes), &mut buffer);
        black_box(&mut buffer);
    }
    (records * u64::from(record_bytes)) as f64 / (thread_s() - began_s) * 1e-9
}

fn levels() -> Vec<(String, Content)> {
    let mixed = |compressible_percent, duplicate_percent| Content::Mixed { compressible_percent, duplicate_percent };
    let mut levels: Vec<(String, Content)> =
        LEVELS.iter().map(|level| (format!("{level} %"), mixed(*level, 0))).collect();
    levels.push(("50 %, half duplicates".to_owned(), mixed(50, 50)));
    let dedup = Content::IozoneDedup { within_percent: 50, across_percent: 50, compress_percent: 50 };
    levels.push(("IOzone -+w50 -+y50 -+C50".to_owned(), dedup));
    levels.push(("IOzone -+d".to_owned(), Content::IozoneDiagnostic));
    levels
}

/// A run that ends by itself and without an error.
fn finished(workload: Workload, options: Options) -> Option<RunResult> {
    let handle = start(workload, options).ok()?;
    loop {
        if let Some(finished) = handle.wait(Duration::from_secs(1)) {
            return finished.ok().filter(|finished| finished.record.error.is_none());
        }
    }
}

/// Gigabytes per second of making what does not compress and taking samples of it, as runs on a target that does nothing
/// record it: in a run's own buffers, which end where memory does. The best of many, since they go by the wall clock.
fn making(record_bytes: u32, rounds: u32, bytes: u64) -> Option<f64> {
    let stop = Stop { bytes: Some(bytes), ..Stop::default() };
    let writes = Workload { stop, ..workload(Content::Incompressible, record_bytes) };
    let rates = (0..rounds).map(|_| {
        let finished = finished(writes.clone(), Options { api: Api::Null, ..Options::new("nowhere") })?;
        Some(bytes as f64 / finished.record.usage.fill_ns as f64)
    });
    rates.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max)
}

/// Gigabytes per second of comparing, as runs that read a file from the page cache record it: the best of many short
/// ones, since they go by the wall clock.
fn comparing(record_bytes: u32, rounds: u32) -> Option<f64> {
    let bytes = 4 << 20;
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).ok()?;
    let path = folder.path().join("data");
    let stop = Stop { bytes: Some(bytes), ..Stop::default() };
    let writes = Workload { span_bytes: bytes, stop, ..workload(Content::Incompressible, record_bytes) };
    finished(writes.clone(), Options { create: true, ..Options::new(&path) })?;
    let reads = Workload { read_percent: 100, verify: Verify::All, ..writes };
    let rates = (0..rounds).map(|_| {
        let finished = finished(reads.clone(), Options::new(&path))?;
        Some(bytes as f64 / finished.record.usage.verify_ns as f64)
    });
    rates.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max)
}

fn main() -> std::io::Result<()> {
    let measures = std::env::args().any(|argument| argument == "--bench");
    let (rounds, bytes) = if measures { (7, 1 << 30) } else { (1, 1 << 20) };
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "Content made by one thread, GB/s of processor time (best of {rounds}); vectors of 512, 256, 128 bits"
    )?;
    for record_bytes in RECORDS {
        writeln!(out, "records of {} KiB", record_bytes / 1024)?;
        for (name, content) in levels() {
            let generators =
                WIDTHS.map(|bits| Generator::new(&workload(content, record_bytes)).map(|all| all.with_vectors(bits)));
            let generators: Vec<Generator> = generators.into_iter().flatten().collect();
            let mut best = vec![0.0_f64; generators.len()];
            for _ in 0..rounds {
                for (best, generator) in best.iter_mut().zip(&generators) {
                    *best = best.max(rate(generator, record_bytes, bytes));
                }
            }
            let widths: Vec<String> = generators
                .iter()
                .zip(best)
                .map(|(generator, best)| match generator.vector_bits() {
                    0 => format!("{best:6.1}"),
                    bits => format!("{best:6.1} ({bits})"),
                })
                .collect();
            writeln!(out, "  {name:<26} {}", widths.join("  "))?;
        }
        // Samples of what is written are taken mostly in a run's first 100 MiB.
        if let Some(rate) = making(record_bytes, rounds, 4 * bytes) {
            writeln!(out, "  {:<26} {rate:6.1} (of the wall clock)", "0 %, in a run")?;
        }
        if let Some(rate) = comparing(record_bytes, if measures { 100 } else { 1 }) {
            writeln!(out, "  {:<26} {rate:6.1} (of the wall clock)", "comparing what was read")?;
        }
    }
    Ok(())
}
