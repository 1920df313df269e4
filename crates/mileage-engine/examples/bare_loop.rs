//! What one thread can do on this machine when nothing is measured, kept or checked: the loops that the engine is
//! compared with (`make bench-peers`). Each does its work for a number of seconds and prints, as JSON, how many
//! operations it did, in what time and with how much processor time.
//!
//!     bare_loop calls FILE RECORD_BYTES SECONDS [direct] [write] [sequential]
//!     bare_loop ring FILE RECORD_BYTES SECONDS DEPTH BATCH [direct] [write] [sequential]
//!     bare_loop offsets SECONDS
//!     bare_loop metadata FOLDER FILES create|stat|utime|unlink...

#![allow(clippy::disallowed_methods, reason = "it makes the files that it works on")]

use io_uring::{IoUring, opcode, types};
use rand::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::error::Error;
use std::ffi::CStr;
use std::fs::File;
use std::hint::black_box;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::time::{Duration, Instant};

/// Operations between two looks at the clock where an operation takes about a microsecond.
const UNLOOKED: u64 = 256;

/// A loop's start, on both clocks.
struct Began {
    wall: Instant,
    processor_ns: u64,
}

impl Began {
    fn now() -> Self {
        Self { wall: Instant::now(), processor_ns: processor_ns() }
    }

    fn report(&self, name: &str, operations: u64) -> std::io::Result<()> {
        let (elapsed_ns, processor_ns) = (self.wall.elapsed().as_nanos(), processor_ns() - self.processor_ns);
        writeln!(
            std::io::stdout(),
            r#"{{"name": "{name}", "operations": {operations}, "elapsed_ns": {elapsed_ns}, "processor_ns": {processor_ns}}}"#
        )
    }
}

/// Processor time of this process, in nanoseconds.
fn processor_ns() -> u64 {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    used.tv_sec as u64 * 1_000_000_000 + used.tv_nsec as u64
}

/// The file, the record, and the order of offsets.
struct Place {
    file: File,
    record_bytes: u64,
    records: u64,
    write: bool,
    sequential: bool,
    /// An operation takes so long that looking at the clock after each costs nothing.
    unhurried: bool,
    rng: Xoshiro256PlusPlus,
    next: u64,
}

impl Place {
    fn open(path: &str, record_bytes: u64, words: &[String]) -> std::io::Result<Self> {
        let has = |word: &str| words.iter().any(|other| other == word);
        let flags = if has("direct") { libc::O_DIRECT } else { 0 };
        let file = File::options().read(true).write(has("write")).custom_flags(flags).open(path)?;
        Ok(Self {
            records: file.metadata()?.len() / record_bytes,
            file,
            record_bytes,
            write: has("write"),
            sequential: has("sequential"),
            unhurried: has("direct") || record_bytes > 65_536,
            rng: Xoshiro256PlusPlus::seed_from_u64(88_172_645),
            next: 0,
        })
    }

    #[inline]
    fn offset_bytes(&mut self) -> u64 {
        let record = if self.sequential {
            self.next = if self.next + 1 == self.records { 0 } else { self.next + 1 };
            self.next
        } else {
            ((u128::from(self.rng.next_u64()) * u128::from(self.records)) >> 64) as u64
        };
        record * self.record_bytes
    }
}

/// Page-aligned memory that stays until the process ends.
fn memory(bytes: usize) -> &'static mut [u8] {
    let room = vec![0x5a_u8; bytes + 4096].leak();
    let start = room.as_ptr().align_offset(4096);
    &mut room[start..start + bytes]
}

fn calls(mut place: Place, time: Duration) -> Result<(), Box<dyn Error>> {
    let length = place.record_bytes as usize;
    let buffer = memory(length);
    let (began, mut operations) = (Began::now(), 0);
    let every = if place.unhurried { 1 } else { UNLOOKED };
    loop {
        let offset_bytes = place.offset_bytes();
        let moved = if place.write {
            rustix::io::pwrite(&place.file, buffer, offset_bytes)?
        } else {
            rustix::io::pread(&place.file, &mut *buffer, offset_bytes)?
        };
        if moved != length {
            return Err("a short count".into());
        }
        operations += 1;
        if operations % every == 0 && began.wall.elapsed() > time {
            break;
        }
    }
    Ok(began.report("calls", operations)?)
}

fn ring(mut place: Place, time: Duration, depth: u32, batch: usize) -> Result<(), Box<dyn Error>> {
    let mut ring: IoUring = IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(depth)?;
    let length = place.record_bytes as usize;
    let buffers: Vec<*mut u8> = memory(length * depth as usize).chunks_mut(length).map(<[u8]>::as_mut_ptr).collect();
    let vectors: Vec<libc::iovec> =
        buffers.iter().map(|buffer| libc::iovec { iov_base: buffer.cast(), iov_len: length }).collect();
    ring.submitter().register_files(&[place.file.as_raw_fd()])?;
    // SAFETY: the buffers live until the process ends.
    unsafe { ring.submitter().register_buffers(&vectors)? };
    let (mut submitter, mut submissions, mut completions) = ring.split();
    submitter.register_ring_fd()?;
    let mut free: Vec<u16> = (0..depth as u16).collect();
    let (began, mut operations, mut outstanding) = (Began::now(), 0, 0);
    while began.wall.elapsed() < time {
        while let Some(slot) = free.pop() {
            let (offset_bytes, buffer) = (place.offset_bytes(), buffers[usize::from(slot)]);
            let entry = if place.write {
                opcode::WriteFixed::new(types::Fixed(0), buffer, length as u32, slot).offset(offset_bytes).build()
            } else {
                opcode::ReadFixed::new(types::Fixed(0), buffer, length as u32, slot).offset(offset_bytes).build()
            };
            // SAFETY: the buffer lives until the process ends, and is one operation's at a time.
            unsafe { submissions.push(&entry.user_data(u64::from(slot)))? };
            outstanding += 1;
        }
        submissions.sync();
        submitter.submit_and_wait(batch.min(outstanding))?;
        completions.sync();
        for entry in &mut completions {
            if usize::try_from(entry.result()) != Ok(length) {
                return Err(format!("a completion of {}", entry.result()).into());
            }
            free.push(entry.user_data() as u16);
            outstanding -= 1;
            operations += 1;
        }
        submissions.sync();
    }
    Ok(began.report("ring", operations)?)
}

fn offsets(time: Duration) -> std::io::Result<()> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(88_172_645);
    let (began, mut operations) = (Began::now(), 0);
    while began.wall.elapsed() < time {
        for _ in 0..UNLOOKED {
            black_box(((u128::from(rng.next_u64()) * 262_144) >> 64) as u64 * 4096);
        }
        operations += UNLOOKED;
    }
    began.report("offsets", operations)
}

/// Create, stat, utime or unlink of `files` empty files, each named by its whole path.
fn metadata(folder: &str, files: u64, steps: &[&str]) -> Result<(), Box<dyn Error>> {
    use rustix::fs::{
        AtFlags, Mode, OFlags, Timespec, Timestamps, UTIME_NOW, open, openat, statat, unlinkat, utimensat,
    };
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    let times = Timestamps { last_access: now, last_modification: now };
    let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::TRUNC;
    // As the engine does: names are looked up from the open directory, not along the whole path.
    let folder = open(folder, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
    let mut name = Vec::with_capacity(4096);
    for step in steps {
        let began = Began::now();
        for file in 0..files {
            name.clear();
            write!(name, "f{file}\0")?;
            let name = CStr::from_bytes_with_nul(&name)?;
            match *step {
                "create" => drop(openat(&folder, name, flags, Mode::from_raw_mode(0o644))?),
                "stat" => drop(black_box(statat(&folder, name, AtFlags::empty())?)),
                "utime" => utimensat(&folder, name, &times, AtFlags::empty())?,
                "unlink" => unlinkat(&folder, name, AtFlags::empty())?,
                other => return Err(format!("{other}: expected create, stat, utime or unlink").into()),
            }
        }
        began.report(step, files)?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let time = |text: &str| -> Result<Duration, Box<dyn Error>> { Ok(Duration::try_from_secs_f64(text.parse()?)?) };
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let place = |path: &str, record_bytes: &str, rest: &[&str]| -> Result<Place, Box<dyn Error>> {
        let rest: Vec<String> = rest.iter().map(ToString::to_string).collect();
        Ok(Place::open(path, record_bytes.parse()?, &rest)?)
    };
    match words.as_slice() {
        ["calls", path, record_bytes, seconds, rest @ ..] => calls(place(path, record_bytes, rest)?, time(seconds)?),
        ["ring", path, record_bytes, seconds, depth, batch, rest @ ..] => {
            ring(place(path, record_bytes, rest)?, time(seconds)?, depth.parse()?, batch.parse()?)
        }
        ["offsets", seconds] => Ok(offsets(time(seconds)?)?),
        ["metadata", folder, files, steps @ ..] => metadata(folder, files.parse()?, steps),
        _ => Err("expected calls, ring, offsets or metadata; see the head of this file".into()),
    }
}
