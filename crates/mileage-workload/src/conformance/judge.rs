//! What the contract says of a driver's log.

use super::{Log, expected};
use crate::execution::{Completion, Op, OpKind};
use crate::load::{Cap, Think};
use crate::pace::CATCH_UP_NS;
use crate::{Sync, Workload};
use std::collections::BTreeMap;

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
    let (due, order) = judge_order(workload, thread, &moves)?;
    judge_syncs(workload, &order, &moves, &syncs)?;
    judge_end(workload, thread, &moves, order.len())?;
    judge_starts(workload, &moves, &due)?;
    judge_rates(workload, &moves)
}

/// No more outstanding than the depth; syncs alone.
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
        clause(count == 1 || !sync, "another operation was outstanding beside a sync")?;
    }
    Ok(())
}

fn key(op: &Op) -> (u64, u32, u8) {
    let kind = match op.kind {
        OpKind::Read => 0,
        OpKind::Write => 1,
        OpKind::Discard => 2,
        OpKind::Sync => 3,
    };
    (op.offset_bytes, op.length_bytes, kind)
}

/// The operations are the first ones of the workload's order. Returns their due times since the thread's start, and
/// the order up to the last of them with the syncs in it.
fn judge_order(workload: &Workload, thread: u32, moves: &[Completion]) -> Result<(Vec<u64>, Vec<Op>), String> {
    // Every operation may have a sync before it.
    let whole = expected(workload, thread, 2 * moves.len() + 2);
    let (mut order, mut due, mut wanted) = (Vec::new(), Vec::new(), Vec::new());
    for (op, due_ns) in whole {
        if wanted.len() == moves.len() {
            break;
        }
        order.push(op);
        if op.kind != OpKind::Sync {
            wanted.push(key(&op));
            due.push(due_ns);
        }
    }
    clause(wanted.len() == moves.len(), "more operations than the stop rule allows")?;
    let mut found: Vec<_> = moves.iter().map(|it| key(&it.op)).collect();
    found.sort_unstable();
    wanted.sort_unstable();
    clause(found == wanted, "not the operations that the workload says, in its order")?;
    Ok((due, order))
}

/// Syncs stand where the order has them, and one at the end if anything was changed since the last.
fn judge_syncs(workload: &Workload, order: &[Op], moves: &[Completion], syncs: &[Completion]) -> Result<(), String> {
    let (mut before, mut at, mut dirty) = (Vec::new(), 0, false);
    for op in order {
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
    if dirty && workload.sync != Sync::None {
        before.push(at);
    }
    clause(syncs.len() == before.len(), "a missing or a needless sync")?;
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
fn judge_end(workload: &Workload, thread: u32, moves: &[Completion], planned: usize) -> Result<(), String> {
    let counted = moves.iter().filter(|it| it.counted).count() as u64;
    let first_counted = moves.iter().position(|it| it.counted).unwrap_or(moves.len());
    clause(moves[first_counted..].iter().all(|it| it.counted), "an operation after the warm-up was not counted")?;
    let limit = workload.operations_of(thread);
    clause(counted <= limit, "more operations than the stop rule allows")?;
    let Some(first) = moves.first() else {
        return clause(limit == 0 || workload.stop.time_ns.is_some() || planned == 0, "no operation at all");
    };
    let warm_up_ns = workload.load.warm_up_ns;
    if let Some(warm) = moves[..first_counted].last() {
        clause(warm.submit_ns - first.submit_ns < warm_up_ns, "an operation after the warm-up was not counted")?;
    }
    match workload.stop.time_ns {
        None => clause(counted == limit, "fewer operations than the stop rule says"),
        Some(time_ns) => {
            let late = moves.iter().any(|it| it.submit_ns - first.submit_ns >= time_ns + warm_up_ns);
            clause(!late, "issued after the time limit")
        }
    }
}

/// Nothing before it was due, and due when the workload says.
fn judge_starts(workload: &Workload, moves: &[Completion], due: &[u64]) -> Result<(), String> {
    if workload.load.open.is_none() {
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
        let (rate, amount) = match cap {
            Cap::OperationsPerS(rate) => (rate, 1),
            Cap::BytesPerS(rate) => (rate, u64::from(workload.record_bytes)),
        };
        let gap_ns = amount as f64 * f64::from(workload.threads) * 1e9 / rate as f64;
        for (at, it) in moves.iter().enumerate() {
            for (later_at, later) in moves.iter().enumerate().skip(at + 1) {
                let least_ns = gap_ns * (later_at - at) as f64 - CATCH_UP_NS as f64 - 2.0;
                let apart_ns = (later.submit_ns - it.submit_ns) as f64;
                clause(apart_ns >= least_ns, "faster than the cap")?;
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
