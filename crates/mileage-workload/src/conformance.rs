//! The suite that every driver of the execution contract runs: [`check`] with the driver as a closure.
//!
//! A driver does the workload it is given and reports every completion; the suite compares what was done with what
//! the contract allows. Workloads are drawn from a seed; the failing one is printed whole.

use crate::pattern::{below, stream};
use crate::{Content, Execution, Observer, Op, OpKind, PatternKind, Step, Stop, Sync, Workload};
use std::collections::BTreeMap;

/// One completion, as a driver reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Thread of the workload.
    pub thread: u32,
    /// What was done.
    pub op: Op,
    /// When it was submitted, in the driver's nanoseconds.
    pub submit_ns: u64,
    /// When it was complete, in the driver's nanoseconds.
    pub complete_ns: u64,
}

/// Collects completions.
#[derive(Clone, Debug, Default)]
pub struct Log(pub Vec<Completion>);

impl Observer for Log {
    fn completed(&mut self, thread: u32, op: &Op, submit_ns: u64, complete_ns: u64) {
        self.0.push(Completion { thread, op: *op, submit_ns, complete_ns });
    }
}

/// A random valid workload inside `target_bytes` (a multiple of 64 KiB, at least 1 MiB) with at most `depth_max`
/// outstanding operations per thread.
pub fn random_workload(seed: u64, target_bytes: u64, depth_max: u32) -> Workload {
    let mut rng = stream(seed, 0, 2);
    let mut draw = |count: u64| below(&mut rng, count);
    let record_bytes = 512_u32 << draw(7);
    let threads = 1 + draw(4) as u32;
    let record = u64::from(record_bytes);
    let records = (u64::from(threads) + draw(200)).min(target_bytes / record);
    let start = draw(target_bytes / record - records + 1);
    let limit = (u64::from(threads) + draw(400)) * record;
    Workload {
        pattern: [PatternKind::Sequential, PatternKind::Shuffled, PatternKind::Random][draw(3) as usize].clone(),
        read_percent: [0, 30, 100][draw(3) as usize],
        record_bytes,
        span_start_bytes: start * record,
        span_bytes: records * record,
        depth: 1 + draw(u64::from(depth_max)) as u32,
        threads,
        stop: Stop {
            bytes: Some(limit),
            operations: (draw(2) == 0).then(|| u64::from(threads) + draw(400)),
            time_ns: (draw(3) == 0).then(|| 1 + draw(2_000_000)),
        },
        seed: draw(u64::MAX),
        content: Content::Incompressible,
        sync: [Sync::None, Sync::Fsync, Sync::Fdatasync][draw(3) as usize],
        sync_timed: draw(2) == 0,
        ..Workload::default()
    }
}

/// Run `count` random workloads through a driver and compare what it did with the contract.
///
/// # Panics
/// When the driver breaks the contract; the message names the clause, the seed and the workload.
pub fn check(first_seed: u64, count: u64, target_bytes: u64, depth_max: u32, mut drive: impl FnMut(&Workload) -> Log) {
    for seed in first_seed..first_seed + count {
        let workload = random_workload(seed, target_bytes, depth_max);
        let log = drive(&workload);
        if let Err(clause) = judge(&workload, &log) {
            panic!("contract broken: {clause}\nseed {seed}, {workload:?}");
        }
    }
}

/// What the contract says of a log, or the clause it breaks.
///
/// # Errors
/// The broken clause, in words.
pub fn judge(workload: &Workload, log: &Log) -> Result<(), String> {
    let mut by_thread: BTreeMap<u32, Vec<Completion>> = BTreeMap::new();
    for completion in &log.0 {
        by_thread.entry(completion.thread).or_default().push(*completion);
    }
    if by_thread.keys().any(|thread| *thread >= workload.threads) {
        return Err("an operation of a thread that the workload does not have".into());
    }
    for thread in 0..workload.threads {
        let done = by_thread.remove(&thread).unwrap_or_default();
        judge_thread(workload, thread, &done).map_err(|clause| format!("thread {thread}: {clause}"))?;
    }
    Ok(())
}

/// The operations of a thread without a time limit, in order: a device that completes at once.
fn expected(workload: &Workload, thread: u32) -> Vec<Op> {
    let mut untimed = workload.clone();
    untimed.stop.time_ns = None;
    let mut execution = Execution::new(&untimed, thread).expect("the suite draws valid workloads");
    let (mut all, mut out) = (Vec::new(), Vec::new());
    while execution.next(0, &mut out) != Step::Done {
        for _ in &out {
            execution.complete(0);
        }
        all.append(&mut out);
    }
    all
}

fn judge_thread(workload: &Workload, thread: u32, done: &[Completion]) -> Result<(), String> {
    let (syncs, mut moves): (Vec<Completion>, Vec<Completion>) =
        done.iter().copied().partition(|completion| completion.op.kind == OpKind::Sync);
    let whole: Vec<Op> = expected(workload, thread).into_iter().filter(|op| op.kind != OpKind::Sync).collect();
    if workload.depth == 1 {
        let in_order = moves.windows(2).all(|pair| pair[0].complete_ns <= pair[1].submit_ns);
        clause(in_order, "at depth 1 an operation was submitted before the one before it had completed")?;
    }
    moves.sort_by_key(|completion| completion.submit_ns);
    let key = |op: &Op| (op.offset_bytes, op.kind == OpKind::Read, op.length_bytes);
    let mut found: Vec<_> = moves.iter().map(|completion| key(&completion.op)).collect();
    clause(found.len() <= whole.len(), "more operations than the stop rule allows")?;
    let mut wanted: Vec<_> = whole[..found.len()].iter().map(key).collect();
    found.sort_unstable();
    wanted.sort_unstable();
    clause(found == wanted, "not the operations that the workload says, in its order")?;
    clause(workload.stop.time_ns.is_some() || moves.len() == whole.len(), "fewer operations than the stop rule says")?;
    for (at, completion) in moves.iter().enumerate() {
        clause(completion.submit_ns <= completion.complete_ns, "a completion before its submission")?;
        let open = moves[..=at].iter().filter(|earlier| earlier.complete_ns > completion.submit_ns).count();
        // An operation that takes no time at all is not outstanding by this count.
        clause(open <= workload.depth as usize, "more operations outstanding than the depth")?;
    }
    if let (Some(time_ns), Some(first), Some(last)) = (workload.stop.time_ns, moves.first(), moves.last()) {
        clause(last.submit_ns - first.submit_ns < time_ns || moves.len() == 1, "issued after the time limit")?;
    }
    let wrote = moves.iter().any(|completion| completion.op.kind == OpKind::Write);
    let due = usize::from(wrote && workload.sync != Sync::None);
    clause(syncs.len() == due, "a missing or a needless final sync")?;
    let last_ns = moves.iter().map(|completion| completion.complete_ns).max().unwrap_or(0);
    clause(syncs.iter().all(|sync| sync.submit_ns >= last_ns), "the final sync began before everything had completed")
}

fn clause(holds: bool, broken: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(broken.to_owned()) }
}
