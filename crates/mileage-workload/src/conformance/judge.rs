//! Check the log of a driver's operations against the execution contract.

use super::{Log, expected};
use crate::execution::Completion;
use crate::load_model::{Cap, Think};
use crate::operation::{Op, OpKind};
use crate::pace::CATCH_UP_NS;
use crate::{PatternKind, Sync, Workload};
use std::collections::BTreeMap;

/// Judge a log by the contract.
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
        let mut done = by_thread.remove(&thread).unwrap_or_default();
        done.sort_by_key(|completion| (completion.submit_ns, completion.complete_ns));
        judge_thread(workload, thread, &done).map_err(|clause| format!("thread {thread}: {clause}"))?;
    }
    Ok(())
}

fn judge_thread(workload: &Workload, thread: u32, done: &[Completion]) -> Result<(), String> {
    clause(done.iter().all(|it| it.submit_ns <= it.complete_ns), "a completion before its submission")?;
    judge_depth(workload, done)?;
    let (syncs, moves): (Vec<Completion>, Vec<Completion>) = done.iter().partition(|it| it.op.kind == OpKind::Sync);
    let plan = judge_order(workload, thread, &moves)?;
    judge_syncs(workload, &plan, &moves, &syncs)?;
    judge_end(workload, thread, &moves, &plan)?;
    judge_starts(workload, &moves, &plan.due_ns)?;
    judge_rates(workload, &moves)
}

/// Check that never more operations are outstanding than the depth allows, and that syncs are alone.
fn judge_depth(workload: &Workload, done: &[Completion]) -> Result<(), String> {
    for (at, it) in done.iter().enumerate() {
        // An operation that takes no time at all is not outstanding by this count.
        let open = done[..at].iter().filter(|earlier| earlier.complete_ns > it.submit_ns);
        let (mut count, mut sync) = (1, it.op.kind == OpKind::Sync);
        for earlier in open {
            count += 1;
            sync |= earlier.op.kind == OpKind::Sync;
        }
        clause(count <= workload.depth as usize, "more operations outstanding than the depth")?;
        clause(count == 1 || !sync, "another operation was outstanding together with a sync")?;
    }
    Ok(())
}

fn key(op: &Op) -> (u64, u32, u8) {
    (op.offset_bytes, op.length_bytes, op.kind as u8)
}

/// Operations that the workload prescribes for the observed ones.
struct Plan {
    /// All operations in order, with the syncs between them.
    order: Vec<Op>,
    /// Their due times since the thread's start, without the syncs.
    due_ns: Vec<u64>,
    /// Syncs that come next in the order.
    syncs_behind: usize,
    /// Whether no further operation follows, because a trace has ended.
    ended: bool,
}

/// The operations are the first ones of the workload's order.
fn judge_order(workload: &Workload, thread: u32, moves: &[Completion]) -> Result<Plan, String> {
    // Allow for a sync before every operation; in a trace several may follow each other.
    let trace = matches!(workload.pattern, PatternKind::Trace { .. });
    let whole = expected(workload, thread, if trace { usize::MAX } else { 2 * moves.len() + 2 });
    let (mut order, mut due_ns, mut wanted) = (Vec::new(), Vec::new(), Vec::new());
    for (op, due) in &whole {
        if wanted.len() == moves.len() {
            break;
        }
        order.push(*op);
        if op.kind != OpKind::Sync {
            wanted.push(key(op));
            due_ns.push(*due);
        }
    }
    clause(wanted.len() == moves.len(), "more operations than the stop rule allows")?;
    let mut found: Vec<_> = moves.iter().map(|it| key(&it.op)).collect();
    found.sort_unstable();
    wanted.sort_unstable();
    clause(found == wanted, "not the operations that the workload says, in its order")?;
    let syncs_behind = whole[order.len()..].iter().take_while(|(op, _)| op.kind == OpKind::Sync).count();
    let ended = trace && order.len() + syncs_behind == whole.len();
    Ok(Plan { order, due_ns, syncs_behind, ended })
}

/// Syncs stand where the order has them, and one at the end if anything was changed since the last.
fn judge_syncs(workload: &Workload, plan: &Plan, moves: &[Completion], syncs: &[Completion]) -> Result<(), String> {
    let (mut before, mut at, mut dirty) = (Vec::new(), 0, false);
    for op in &plan.order {
        match op.kind {
            OpKind::Sync => {
                before.push(at);
                dirty = false;
            }
            kind => {
                at += 1;
                dirty |= kind != OpKind::Read;
            }
        }
    }
    let final_one = usize::from(dirty && workload.sync != Sync::None && workload.sync_last);
    let least = before.len() + final_one;
    let most = before.len() + final_one.max(plan.syncs_behind);
    clause((least..=most).contains(&syncs.len()), "a missing or a needless sync")?;
    before.resize(syncs.len(), at);
    for (sync, at) in syncs.iter().zip(before) {
        // The submission order of what is between two syncs is free; their number before a sync is not.
        let earlier = moves.iter().filter(|it| it.complete_ns <= sync.submit_ns).count();
        let later = moves.iter().filter(|it| it.submit_ns >= sync.complete_ns).count();
        clause(earlier >= at, "a sync began before everything before it had completed")?;
        clause(later >= moves.len() - at, "an operation began before the sync in front of it had completed")?;
    }
    Ok(())
}

/// The stop rule, of what is counted.
fn judge_end(workload: &Workload, thread: u32, moves: &[Completion], plan: &Plan) -> Result<(), String> {
    let counted = moves.iter().filter(|it| it.counted).count() as u64;
    let first_counted = moves.iter().position(|it| it.counted).unwrap_or(moves.len());
    clause(moves[first_counted..].iter().all(|it| it.counted), "an operation after the warm-up was not counted")?;
    let (limit, limit_bytes) = (workload.operations_of(thread), workload.bytes_of(thread));
    let bytes = moves.iter().filter(|it| it.counted).map(|it| u64::from(it.op.length_bytes)).sum::<u64>();
    let met = counted == limit || bytes >= limit_bytes;
    let last = plan.order.iter().rfind(|op| op.kind != OpKind::Sync).map_or(0, |op| u64::from(op.length_bytes));
    let before_last = bytes.saturating_sub(last);
    clause(counted <= limit && before_last < limit_bytes, "more operations than the stop rule allows")?;
    let Some(first) = moves.first() else {
        return clause(met || workload.stop.time_ns.is_some() || plan.ended, "no operation at all");
    };
    let warm_up_ns = workload.load.warm_up_ns;
    if let Some(warm) = moves[..first_counted].last() {
        clause(warm.submit_ns - first.submit_ns < warm_up_ns, "an operation after the warm-up was not counted")?;
    }
    match workload.stop.time_ns {
        None => clause(met || plan.ended, "fewer operations than the stop rule says"),
        Some(time_ns) => {
            let late = moves.iter().any(|it| it.submit_ns - first.submit_ns >= time_ns + warm_up_ns);
            clause(!late, "issued after the time limit")
        }
    }
}

/// Check that no operation starts before it is due, and that due times are those of the workload.
fn judge_starts(workload: &Workload, moves: &[Completion], due: &[u64]) -> Result<(), String> {
    if !workload.has_due_times() {
        return clause(moves.iter().all(|it| it.due_ns == it.submit_ns), "in the closed loop, due is when submitted");
    }
    clause(moves.iter().all(|it| it.due_ns <= it.submit_ns), "an operation was submitted before it was due")?;
    let mut found: Vec<u64> = moves.iter().map(|it| it.due_ns).collect();
    found.sort_unstable();
    let Some(start_ns) = found.first().zip(due.first()).map(|(found, due)| found.wrapping_sub(*due)) else {
        return Ok(());
    };
    let agree = found.iter().zip(due).all(|(found, due)| found.wrapping_sub(*due) == start_ns);
    clause(agree, "due at other times than the workload says")?;
    let mut by_due = moves.to_vec();
    by_due.sort_by_key(|it| it.due_ns);
    let overtaken =
        by_due.windows(2).any(|pair| pair[0].due_ns < pair[1].due_ns && pair[0].submit_ns > pair[1].submit_ns);
    clause(!overtaken, "an operation was submitted before an earlier one that was due")
}

/// Caps and pauses.
fn judge_rates(workload: &Workload, moves: &[Completion]) -> Result<(), String> {
    if let Some(cap) = workload.load.cap {
        let rate = match cap {
            Cap::OperationsPerS(rate) | Cap::BytesPerS(rate) => rate as f64,
        };
        let amount = |it: &Completion| match cap {
            Cap::OperationsPerS(_) => 1.0,
            Cap::BytesPerS(_) => f64::from(it.op.length_bytes),
        };
        for (at, it) in moves.iter().enumerate() {
            let mut before = it;
            let mut least_ns = -(CATCH_UP_NS as f64) - 2.0;
            for later in &moves[at + 1..] {
                least_ns += amount(before) * f64::from(workload.threads) * 1e9 / rate;
                // Compare only across instants, because the order of operations submitted together is unknown.
                let together = later.submit_ns == before.submit_ns;
                let apart_ns = (later.submit_ns - it.submit_ns) as f64;
                clause(together || apart_ns >= least_ns, "faster than the cap")?;
                before = later;
            }
        }
    }
    if let Some(Think { pause_ns, every_operations }) = workload.load.think {
        let bursts: Vec<&[Completion]> = moves.chunks(every_operations as usize).collect();
        for pair in bursts.windows(2) {
            let last_ns = pair[0].iter().map(|it| it.complete_ns).max().unwrap_or(0);
            clause(pair[1].iter().all(|it| it.submit_ns >= last_ns + pause_ns), "a pause was cut short")?;
        }
    }
    Ok(())
}

fn clause(holds: bool, broken: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(broken.to_owned()) }
}
