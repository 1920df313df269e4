//! What it costs that a system call is not an instruction of the loop but of a function that the loop calls: the first
//! return after a deep path through the kernel is mispredicted (`docs/decisions/0009`). The third column, the call in the
//! loop and a function called after it, is the check: calling a function is not what costs. `cargo bench` measures;
//! `cargo test --benches` only tries that it runs.

#![allow(clippy::disallowed_methods, reason = "it makes the files that it works on")]

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, stat, utimensat};
use std::cell::RefCell;
use std::ffi::CString;
use std::fs::File;
use std::hint::black_box;
use std::io::Write;
use std::time::Instant;

/// Calls that are timed together, and how often, in turn; the least is printed: other guests of the machine only add to it.
const CALLS: u32 = 5_000;
const TIMES: u32 = 60;

/// A buffer whose place in its page is always the same: copying to an odd one takes up to four times as long.
#[repr(align(4096))]
struct Page([u8; 4096]);

#[inline(never)]
fn in_a_function<R>(call: &impl Fn() -> R) -> u8 {
    black_box(call());
    1
}

#[inline(never)]
fn nothing() -> u8 {
    black_box(1)
}

/// Nanoseconds of a turn of the loop.
#[inline]
fn turn_ns(calls: u32, turn: impl Fn()) -> f64 {
    let began = Instant::now();
    (0..calls).for_each(|_| turn());
    began.elapsed().as_nanos() as f64 / f64::from(calls)
}

fn report<R>(name: &str, (calls, times): (u32, u32), call: impl Fn() -> R) -> std::io::Result<()> {
    let [mut here, mut there, mut after] = [f64::MAX; 3];
    for _ in 0..times {
        here = here.min(turn_ns(calls, || {
            black_box(call());
        }));
        there = there.min(turn_ns(calls, || {
            in_a_function(&call);
        }));
        after = after.min(turn_ns(calls, || {
            black_box(call());
            nothing();
        }));
    }
    writeln!(std::io::stdout(), "{name:<22} {here:9.0} ns {there:9.0} ns {after:9.0} ns")
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let size = if std::env::args().any(|argument| argument == "--bench") { (CALLS, TIMES) } else { (10, 1) };
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("file");
    std::fs::write(&path, vec![0; 1 << 16])?;
    let (file, name) = (File::open(&path)?, CString::new(path.as_os_str().as_encoded_bytes())?);
    let buffer = RefCell::new(Page([0; 4096]));
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    let times = Timestamps { last_access: now, last_modification: now };
    writeln!(std::io::stdout(), "{:<22} {:>12} {:>12} {:>12}", "", "in the loop", "in a function", "one after")?;
    report("getppid", size, rustix::process::getppid)?;
    report("pread 4 KiB, cached", size, || rustix::io::pread(&file, &mut buffer.borrow_mut().0, 0))?;
    report("stat", size, || stat(&*name))?;
    report("utimensat", size, || utimensat(CWD, &*name, &times, AtFlags::empty()))?;
    Ok(())
}
