//! The suite that every driver of the execution contract runs: [`check`] with the driver as a closure.
//!
//! A driver does the workload it is given and reports every completion; the suite compares what was done with what
//! the contract allows. Workloads are drawn from a seed; the failing one is printed whole. The suite's own knowledge of
//! the order is an [`Execution`] turned by a device that completes at once ([`expected`]); the crate's tests compare
//! that order with independent sources.

mod draw;
mod judge;

use crate::execution::{Completion, Execution, Observer, Step};
use crate::operation::Op;
use crate::{Stop, Workload};
pub use draw::random_workload;
pub use judge::judge;

/// Observer that collects all completions.
#[derive(Clone, Debug, Default)]
pub struct Log(pub Vec<Completion>);

impl Observer for Log {
    fn completed(&mut self, completion: &Completion) {
        self.0.push(*completion);
    }
}

/// Optional features of a driver that the suite may use.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is one independent ability of a driver")]
pub struct Scope {
    /// Size of the target: a multiple of 64 KiB, at least 1 MiB.
    pub target_bytes: u64,
    /// Most operations outstanding per thread.
    pub depth_max: u32,
    /// Open loop, caps and think time.
    pub loads: bool,
    /// A warm-up.
    pub warm_up: bool,
    /// Syncs between writes.
    pub syncs: bool,
    /// Discards.
    pub discards: bool,
    /// Patterns whose operations differ in size, and bring their own times and syncs: access specifications and traces.
    pub own_sizes: bool,
    /// A file for each thread; the target is a folder of them.
    pub files: bool,
}

impl Scope {
    /// Everything that can be asked of a driver of one target.
    pub const fn whole(target_bytes: u64, depth_max: u32) -> Self {
        let (loads, warm_up, syncs, discards, own_sizes) = (true, true, true, true, true);
        Self { target_bytes, depth_max, loads, warm_up, syncs, discards, own_sizes, files: false }
    }

    /// Reads and writes in the closed loop, a sync at the end.
    pub const fn plain(target_bytes: u64, depth_max: u32) -> Self {
        let (loads, warm_up, syncs, discards, own_sizes) = (false, false, false, false, false);
        Self { target_bytes, depth_max, loads, warm_up, syncs, discards, own_sizes, files: false }
    }
}

/// Run `count` random workloads through a driver and compare what it did with the contract.
///
/// # Panics
/// When the driver breaks the contract; the message names the clause, the seed and the workload.
pub fn check(first_seed: u64, count: u64, scope: &Scope, mut drive: impl FnMut(&Workload) -> Log) {
    for seed in first_seed..first_seed + count {
        let workload = random_workload(seed, scope);
        let log = drive(&workload);
        if let Err(clause) = judge(&workload, &log) {
            panic!("contract broken: {clause}\nseed {seed}, {workload:?}");
        }
    }
}

/// At most `count` operations of a thread without time limit and warm-up, in order and with their due times since the
/// thread's start (0 in the closed loop): a device that completes at once.
///
/// # Panics
/// When the workload is not valid.
pub fn expected(workload: &Workload, thread: u32, count: usize) -> Vec<(Op, u64)> {
    let mut untimed = workload.clone();
    untimed.stop.time_ns = None;
    if untimed.load.warm_up_ns > 0 {
        // Count without the warm-up, which comes in addition to the stop rule.
        untimed.load.warm_up_ns = 0;
        untimed.stop = Stop { time_ns: Some(u64::MAX / 2), ..Stop::default() };
    }
    let mut execution = Execution::new(&untimed, thread).expect("a valid workload");
    let (mut all, mut out, mut now_ns) = (Vec::new(), Vec::new(), 0);
    while all.len() < count {
        match execution.next(now_ns, &mut out) {
            Step::Done => break,
            Step::WaitUntil(until_ns) => now_ns = until_ns,
            Step::Issue | Step::AwaitCompletion => {}
        }
        let due_ns = execution.due_ns();
        all.extend(out.iter().enumerate().map(|(index, op)| (*op, due_ns.get(index).copied().unwrap_or(0))));
        for _ in out.drain(..) {
            execution.complete(now_ns);
        }
    }
    all.truncate(count);
    all
}
