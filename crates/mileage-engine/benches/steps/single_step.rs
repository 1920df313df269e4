//! The run that is stepped through, and who steps.

use mileage_engine::{Api, Options, start};
use mileage_workload::{PatternKind, Stop, Workload};
use std::collections::{BTreeMap, HashSet};
use std::error::Error;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::time::Duration;

/// Calls that are let pass before counting, so that nothing happens for the first time.
const PASSED: u32 = 500;
/// Operations that are counted: the offsets of 64 are chosen at a time.
const COUNTED: u32 = 128;
const RECORDS: u64 = 4096;

/// `(what, system call, depth, options)` of a row.
fn rows() -> [(&'static str, libc::c_long, u32, Options); 4] {
    // One interval: stepping takes so long that each operation would end one.
    let plain = || Options { interval_ns: 1_000_000_000_000, ..Options::new("") };
    let ring = Api::Uring { registered: true, batch: 0, sqpoll: false, iopoll: false };
    [
        ("pread", libc::SYS_pread64, 1, plain()),
        ("pread, with a time-out", libc::SYS_pread64, 1, Options { timeout_ns: 600_000_000_000, ..plain() }),
        ("registered ring, depth 1", libc::SYS_io_uring_enter, 1, Options { api: ring, ..plain() }),
        ("registered ring, depth 32", libc::SYS_io_uring_enter, 32, Options { api: ring, ..plain() }),
    ]
}

/// The run that is stepped through.
fn be_stepped(row: usize, path: &str) -> Result<(), Box<dyn Error>> {
    let (_, _, depth, options) = rows().into_iter().nth(row).ok_or("no such row")?;
    let operations = u64::from(depth * PASSED + COUNTED) * 4;
    let workload = Workload {
        pattern: PatternKind::Random,
        read_percent: 100,
        record_bytes: 4096,
        span_bytes: RECORDS * 4096,
        depth,
        stop: Stop { operations: Some(operations), ..Stop::default() },
        ..Workload::default()
    };
    let handle = start(workload, Options { path: path.into(), ..options })?;
    while handle.wait(Duration::from_millis(50)).transpose()?.is_none() {}
    Ok(())
}

/// Instructions and lines of code of 64 bytes between two calls of the traced thread that makes them.
#[derive(Default)]
struct Steps {
    instructions: Vec<usize>,
    lines: HashSet<u64>,
}

fn ptrace(request: libc::c_uint, thread: libc::pid_t, data: usize) -> Result<libc::c_long, std::io::Error> {
    // SAFETY: the requests used here read and write the traced process, and this one only where `registers` says.
    let answer = unsafe { libc::ptrace(request, thread, 0, data) };
    if answer < 0 { Err(std::io::Error::last_os_error()) } else { Ok(answer) }
}

fn registers(thread: libc::pid_t) -> Result<libc::user_regs_struct, std::io::Error> {
    // SAFETY: a structure of numbers, into which the kernel writes as many.
    let mut found: libc::user_regs_struct = unsafe { std::mem::zeroed() };
    ptrace(libc::PTRACE_GETREGS, thread, &raw mut found as usize)?;
    Ok(found)
}

/// Wait for `thread`, or for any with -1, to stop: which one did, and with what signal.
fn wait(thread: libc::pid_t) -> Result<(libc::pid_t, i32), Box<dyn Error>> {
    loop {
        let mut status = 0;
        // SAFETY: the status is written where it stands.
        let who = unsafe { libc::waitpid(thread, &raw mut status, libc::__WALL) };
        if who < 0 || who == thread && !libc::WIFSTOPPED(status) {
            return Err(format!("the stepped run ended early (thread {who}, status {status})").into());
        }
        if libc::WIFSTOPPED(status) {
            return Ok((who, libc::WSTOPSIG(status)));
        }
    }
}

/// Let `child` run to the call after which is counted; the thread that made it.
fn reach(child: &Child, call: libc::c_long) -> Result<libc::pid_t, Box<dyn Error>> {
    let process = child.id().cast_signed();
    wait(process)?;
    let options = libc::PTRACE_O_TRACECLONE | libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_EXITKILL;
    ptrace(libc::PTRACE_SETOPTIONS, process, options as usize)?;
    ptrace(libc::PTRACE_SYSCALL, process, 0)?;
    // Every call stops its thread twice, on its way in and out.
    let (mut inside, mut passed) = (BTreeMap::<libc::pid_t, bool>::new(), 0);
    loop {
        let (thread, signal) = wait(-1)?;
        let at_call = signal == libc::SIGTRAP | 0x80;
        if at_call {
            let inside = inside.entry(thread).or_default();
            *inside = !*inside;
            passed += u32::from(!*inside && registers(thread)?.orig_rax.cast_signed() == call);
            if passed == PASSED {
                return Ok(thread);
            }
        }
        let own = at_call || signal == libc::SIGTRAP || signal == libc::SIGSTOP;
        ptrace(libc::PTRACE_SYSCALL, thread, if own { 0 } else { signal as usize })?;
    }
}

/// Step `thread` through `counted` calls.
fn step(thread: libc::pid_t, call: libc::c_long, counted: u32) -> Result<Steps, Box<dyn Error>> {
    const SYSCALL: [u8; 2] = [0x0f, 0x05];
    let mut steps = Steps::default();
    let mut instructions = 0;
    while steps.instructions.len() < counted as usize {
        let at = registers(thread)?;
        // SAFETY: reads a word of the traced process at its next instruction.
        let word = unsafe { libc::ptrace(libc::PTRACE_PEEKTEXT, thread, at.rip, 0) };
        instructions += 1;
        steps.lines.insert(at.rip / 64);
        if word.to_le_bytes()[..2] == SYSCALL && at.rax.cast_signed() == call {
            steps.instructions.push(std::mem::take(&mut instructions));
        }
        ptrace(libc::PTRACE_SINGLESTEP, thread, 0)?;
        wait(thread)?;
    }
    Ok(steps)
}

fn report(row: usize, operations: u32) -> Result<(), Box<dyn Error>> {
    let (name, call, depth, _) = rows().into_iter().nth(row).ok_or("no such row")?;
    let counted = (operations / depth).max(1);
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("data");
    std::fs::write(&path, vec![1; RECORDS as usize * 4096])?;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--stepped").arg(row.to_string()).arg(&path);
    // SAFETY: between fork and exec only system calls are made.
    let traced = unsafe { command.pre_exec(|| ptrace(libc::PTRACE_TRACEME, 0, 0).map(drop)) };
    let mut child = traced.spawn()?;
    let steps = reach(&child, call).and_then(|thread| step(thread, call, counted));
    // It may have ended by itself, which is reported then.
    let _ = child.kill();
    // All of its threads, which are this process's to take leave of.
    // SAFETY: no status is asked for.
    while unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::__WALL) } > 0 {}
    let Steps { instructions, lines } = steps?;
    let each = instructions.iter().sum::<usize>() as f64 / f64::from(counted * depth);
    let least = *instructions.iter().min().unwrap_or(&0) as f64 / f64::from(depth);
    writeln!(std::io::stdout(), "{name:28} {each:8.1} {least:8.1} {:6}", lines.len())?;
    Ok(())
}

pub fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, row, path] = arguments.as_slice()
        && flag == "--stepped"
    {
        return be_stepped(row.parse()?, path);
    }
    let counted = if arguments.iter().any(|word| word == "--bench") { COUNTED } else { 2 };
    writeln!(std::io::stdout(), "{:28} {:>8} {:>8} {:>6}", "an operation's instructions", "mean", "least", "lines")?;
    for (row, (name, _, _, options)) in rows().into_iter().enumerate() {
        match report(row, counted) {
            Err(error) if may_be_refused(&options, &*error) => {
                writeln!(std::io::stdout(), "{name:28} not counted here: {error}")?;
            }
            failed => failed?,
        }
    }
    Ok(())
}

/// Whether a machine may be without what a row needs: a ring, or leave to trace a process.
fn may_be_refused(options: &Options, error: &(dyn Error + 'static)) -> bool {
    let refused = error.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
    matches!(options.api, Api::Uring { .. }) || refused == Some(std::io::ErrorKind::PermissionDenied)
}
