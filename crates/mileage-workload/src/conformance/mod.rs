//! The suite that every driver of the execution contract runs: [`check`] with the driver as a closure.
//!
//! A driver does the workload it is given and reports every completion; the suite compares what was done with what
//! the contract allows. Workloads are drawn from a seed; the failing one is printed whole. The suite's own knowledge of
//! the order is an [`Execution`] turned by a device that completes at once ([`expected`]); the crate's tests compare
//! that order with independent sources.

mod judge;

use crate::execution::{Completion, Execution, Observer, Op, Step};
use crate::pattern::{below, stream};
use crate::{Cap, Content, Load, Open, PatternKind, Ramp, Spacing, Stop, Sync, Think, Workload};
pub use judge::judge;

/// Collects completions.
#[derive(Clone, Debug, Default)]
pub struct Log(pub Vec<Completion>);

impl Observer for Log {
    fn completed(&mut self, completion: &Completion) {
        self.0.push(*completion);
    }
}

/// What the suite may ask of a driver.
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
}

impl Scope {
    /// Everything that can be asked of a driver of one target.
    pub fn whole(target_bytes: u64, depth_max: u32) -> Self {
        Self { target_bytes, depth_max, loads: true, warm_up: true, syncs: true, discards: true }
    }

    /// Reads and writes in the closed loop, a sync at the end.
    pub fn plain(target_bytes: u64, depth_max: u32) -> Self {
        Self { target_bytes, depth_max, loads: false, warm_up: false, syncs: false, discards: false }
    }
}

/// A random valid workload inside the scope.
pub fn random_workload(seed: u64, scope: &Scope) -> Workload {
    let mut rng = stream(seed, 0, 2);
    let mut draw = |count: u64| below(&mut rng, count);
    let target_bytes = scope.target_bytes;
    let record_bytes = 512_u32 << draw(7);
    let threads = 1 + draw(4) as u32;
    let record = u64::from(record_bytes);
    let records = (u64::from(threads) + draw(200)).min(target_bytes / record);
    let start = draw(target_bytes / record - records + 1);
    let limit = (u64::from(threads) + draw(400)) * record;
    let sync = [Sync::None, Sync::Fsync, Sync::Fdatasync][draw(3) as usize];
    Workload {
        pattern: [PatternKind::Sequential, PatternKind::Shuffled, PatternKind::Random][draw(3) as usize].clone(),
        read_percent: [0, 30, 100][draw(3) as usize],
        record_bytes,
        span_start_bytes: start * record,
        span_bytes: records * record,
        depth: 1 + draw(u64::from(scope.depth_max)) as u32,
        threads,
        stop: Stop {
            bytes: Some(limit),
            operations: (draw(2) == 0).then(|| u64::from(threads) + draw(400)),
            time_ns: (draw(3) == 0).then(|| 1 + draw(2_000_000)),
        },
        seed: draw(u64::MAX),
        content: Content::Incompressible,
        sync,
        sync_timed: draw(2) == 0,
        sync_every: if scope.syncs && sync != Sync::None { [0, 1, 7][draw(3) as usize] } else { 0 },
        discard_percent: if scope.discards { [0, 0, 20][draw(3) as usize] } else { 0 },
        load: random_load(scope, &mut draw),
        ..Workload::default()
    }
}

/// A load under which the suite's workloads take some ten milliseconds at most.
fn random_load(scope: &Scope, draw: &mut impl FnMut(u64) -> u64) -> Load {
    let mut load = Load::default();
    if scope.warm_up {
        load.warm_up_ns = [0, 0, 500_000][draw(3) as usize];
    }
    if !scope.loads {
        return load;
    }
    let rate = 20_000 + draw(200_000);
    match draw(4) {
        0 => {}
        1 => {
            let ramp = Ramp { to_operations_per_s: 20_000 + draw(200_000), over_ns: 1 + draw(5_000_000) };
            load.open = Some(Open {
                operations_per_s: rate,
                spacing: [Spacing::Constant, Spacing::Poisson][draw(2) as usize],
                ramp: (draw(2) == 0).then_some(ramp),
            });
        }
        2 => load.cap = Some([Cap::OperationsPerS(rate), Cap::BytesPerS(rate << 12)][draw(2) as usize]),
        _ => load.think = Some(Think { pause_ns: 1 + draw(100_000), every_operations: 1 + draw(20) }),
    }
    if load.cap.is_some() && draw(2) == 0 {
        load.think = Some(Think { pause_ns: 1 + draw(100_000), every_operations: 5 });
    }
    load
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
        // What the warm-up does comes on top of the stop rule.
        untimed.load.warm_up_ns = 0;
        untimed.stop = Stop { operations: Some(u64::from(workload.threads) * count.max(1) as u64), ..Stop::default() };
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
