//! What the engine adds to a bare loop of metadata calls: create and close, stat, utime and unlink by one worker and by
//! two, engine and loop in turn on the same file system, the ratio of their processor times per operation. As root on a
//! fresh journalled ext4 in a loop file, since ext4 without a journal is slow at random; else where the build lies.
//! `cargo bench` measures; `cargo test --benches` only tries that it runs.

#![allow(clippy::disallowed_methods, reason = "it makes the files that it works on")]

use mileage_engine::{MetadataOptions, start_metadata};
use mileage_workload::{CreateCall, Metadata, MetadataOp, Names, Paths, Place, SetUp};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, Timespec, Timestamps, UTIME_NOW};
use rustix::time::{ClockId, clock_gettime};
use std::ffi::CStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const OPERATIONS: [MetadataOp; 4] = [MetadataOp::Create, MetadataOp::Stat, MetadataOp::Utime, MetadataOp::Unlink];

/// Processor time of the calling thread.
fn cpu_ns() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
}

/// Processor time of the workers per operation of the four operations, one after the other on the same files.
fn engine_ns(directory: &Path, files: u64, threads: u32) -> [f64; 4] {
    OPERATIONS.map(|operation| {
        let metadata = Metadata {
            operation,
            files,
            threads,
            names: Names { item: "n{worker}f{item}".to_owned(), ..Names::default() },
            create_with: if operation.needs_items() { CreateCall::Exclusive } else { CreateCall::Truncating },
            paths: Paths::Full,
            place: Place::Given,
            set_up: if operation.needs_items() { SetUp::Existing } else { SetUp::Owner },
            keep: true,
            ..Metadata::default()
        };
        let job = start_metadata(metadata, directory, MetadataOptions::default()).expect("the directory is there");
        let record = job.wait(Duration::from_secs(3600)).expect("ends").expect("is not void");
        assert_eq!((record.error, record.ops_metadata), (None, files));
        (record.usage.user_ns + record.usage.system_ns) as f64 / files as f64
    })
}

/// A loop that does nothing but write the number into the path and make the call.
fn bare_loop(directory: &Path, operation: MetadataOp, worker: u64, files: u64) {
    let mut path = format!("{}/n{worker}f", directory.display()).into_bytes();
    let stem = path.len();
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    let times = Timestamps { last_access: now, last_modification: now };
    for item in 0..files {
        path.truncate(stem);
        let mut digits = [0_u8; 20];
        let (mut first, mut rest) = (digits.len(), item);
        while first == digits.len() || rest > 0 {
            first -= 1;
            digits[first] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        path.extend_from_slice(&digits[first..]);
        path.push(0);
        let name = CStr::from_bytes_with_nul(&path).expect("one NUL, at the end");
        let done = match operation {
            MetadataOp::Create => {
                let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::TRUNC;
                rustix::fs::openat(CWD, name, flags, Mode::from_raw_mode(0o666)).map(drop)
            }
            MetadataOp::Stat => rustix::fs::statat(CWD, name, AtFlags::empty()).map(drop),
            MetadataOp::Utime => rustix::fs::utimensat(CWD, name, &times, AtFlags::empty()),
            _ => rustix::fs::unlinkat(CWD, name, AtFlags::empty()),
        };
        assert_eq!(done, Ok(()));
    }
}

fn bare_ns(directory: &Path, files: u64, threads: u32) -> [f64; 4] {
    OPERATIONS.map(|operation| {
        let each = files / u64::from(threads);
        let timed = |worker| {
            let before = cpu_ns();
            bare_loop(directory, operation, worker, each);
            cpu_ns() - before
        };
        let whole: f64 = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..u64::from(threads)).map(|worker| scope.spawn(move || timed(worker))).collect();
            workers.into_iter().map(|worker| worker.join().expect("does not panic")).sum()
        });
        whole / files as f64
    })
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn compare(place: &Path, files: u64, threads: u32, rounds: u64) -> std::io::Result<()> {
    let (mut engine, mut bare) = (Vec::new(), Vec::new());
    for round in 0..2 * rounds {
        // Each in a directory of its own; engine, bare, bare, engine, ...
        let directory = place.join(format!("{threads}-{round}"));
        std::fs::create_dir(&directory)?;
        if round % 4 == 0 || round % 4 == 3 {
            engine.push(engine_ns(&directory, files, threads));
        } else {
            bare.push(bare_ns(&directory, files, threads));
        }
    }
    for (index, operation) in OPERATIONS.iter().enumerate() {
        let column = |all: &[[f64; 4]]| median(&mut all.iter().map(|row| row[index]).collect::<Vec<_>>());
        let mut ratios: Vec<f64> = engine.iter().zip(&bare).map(|(one, other)| one[index] / other[index]).collect();
        let (middle, engine, bare) = (median(&mut ratios), column(&engine), column(&bare));
        let (low, high) = (ratios[ratios.len() / 4], ratios[ratios.len() - 1 - ratios.len() / 4]);
        writeln!(
            std::io::stdout(),
            "{} by {threads}: median engine {engine:.0} ns of processor time, bare loop {bare:.0} ns; of {rounds} pairs: \
             median ratio {middle:.3}, quartiles {low:.3} and {high:.3}",
            operation.name(),
        )?;
    }
    Ok(())
}

/// A file system made for this, unmounted whatever happens.
struct Mount(PathBuf);

impl Mount {
    fn ext4(folder: &Path) -> Option<Self> {
        let (image, point) = (folder.join("image"), folder.join("mounted"));
        std::fs::create_dir(&point).ok()?;
        std::fs::File::create(&image).ok()?.set_len(2 << 30).ok()?;
        let lazy = "lazy_itable_init=0,lazy_journal_init=0";
        let ran = |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
        (ran(Command::new("mkfs.ext4").args(["-q", "-E", lazy, "-N", "400000"]).arg(&image))
            && ran(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(&point)))
        .then_some(Self(point))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(&self.0).status().is_ok_and(|status| status.success());
        assert!(unmounted || std::thread::panicking(), "{} is still mounted", self.0.display());
    }
}

fn main() -> std::io::Result<()> {
    let measuring = std::env::args().any(|argument| argument == "--bench");
    let (files, rounds) = if measuring { (20_000, 16) } else { (200, 2) };
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let mounted = if measuring { Mount::ext4(folder.path()) } else { None };
    let place = mounted.as_ref().map_or(folder.path(), |mounted| mounted.0.as_path());
    let kind = if mounted.is_some() { "a fresh journalled ext4" } else { "the file system of the build" };
    writeln!(std::io::stdout(), "on {kind}, {files} files")?;
    compare(place, files, 1, rounds)?;
    compare(place, files, 2, rounds)
}
