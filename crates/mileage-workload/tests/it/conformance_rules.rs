//! The conformance suite must fail when a driver cheats: one way of cheating for each clause.

use super::driver::{simulate, uneven};
use super::refusals::plain;
use mileage_workload::conformance::{Log, judge};
use mileage_workload::{Cap, Load, OpKind, Open, PatternKind, Spacing, Stop, Sync, Think, Workload};

#[test]
fn the_suite_sees_a_driver_that_cheats() {
    let workload = Workload {
        pattern: PatternKind::Random,
        depth: 4,
        stop: Stop { operations: Some(100), time_ns: Some(50_000_000), ..Stop::default() },
        sync: Sync::Fsync,
        ..plain()
    };
    let honest = simulate(&workload, uneven);
    assert_eq!(judge(&workload, &honest), Ok(()));
    let broken = |cheat: &dyn Fn(&mut Log)| {
        let mut log = honest.clone();
        cheat(&mut log);
        judge(&workload, &log).unwrap_err()
    };
    assert!(broken(&|log| log.0[5].op.offset_bytes ^= 4096).contains("in its order"));
    assert!(broken(&|log| log.0[5].op.kind = OpKind::Read).contains("in its order"));
    assert!(broken(&|log| log.0.truncate(100)).contains("a needless sync"));
    assert!(broken(&|log| log.0[7].thread = 1).contains("does not have"));
    assert!(broken(&|log| log.0.iter_mut().for_each(|done| done.submit_ns = 0)).contains("outstanding"));
    let mut untimed = workload.clone();
    untimed.stop.time_ns = None;
    let mut short = honest.clone();
    short.0.remove(99);
    assert!(judge(&untimed, &short).unwrap_err().contains("fewer operations"));
    let mut late = honest.clone();
    let last = late.0.len() - 2;
    for it in &mut late.0[last..] {
        it.submit_ns += 50_000_000;
        it.due_ns += 50_000_000;
        it.complete_ns += 50_000_000;
    }
    assert!(judge(&workload, &late).unwrap_err().contains("after the time limit"));
}

/// What the suite says of an honest log of this workload after `cheat` has changed it.
fn caught(workload: &Workload, cheat: impl FnOnce(&mut Log)) -> String {
    let mut log = simulate(workload, uneven);
    assert_eq!(judge(workload, &log), Ok(()));
    cheat(&mut log);
    judge(workload, &log).unwrap_err()
}

fn under(load: Load) -> Workload {
    Workload { pattern: PatternKind::Random, depth: 4, load, ..plain() }
}

#[test]
fn an_open_loop_that_is_early_late_or_forgets_when_it_was_due() {
    let open = Open { operations_per_s: 100_000, spacing: Spacing::Constant, ramp: None };
    let workload = under(Load { open: Some(open), ..Load::default() });
    assert!(caught(&workload, |log| log.0[9].submit_ns -= 10).contains("before it was due"));
    assert!(caught(&workload, |log| log.0[9].due_ns -= 1).contains("other times than the workload says"));
    let crowded = under(Load { open: Some(Open { operations_per_s: 5_000_000, ..open }), ..Load::default() });
    let forgotten = caught(&crowded, |log| log.0.iter_mut().for_each(|it| it.due_ns = it.submit_ns));
    assert!(forgotten.contains("other times than the workload says"), "{forgotten}");
    let (a, b) = (10, 11);
    let swapped = caught(&workload, |log| {
        let submit_ns = log.0[b].submit_ns + 5;
        log.0[a].submit_ns = submit_ns;
        log.0[a].complete_ns = submit_ns + 1;
    });
    assert!(swapped.contains("before an earlier one that was due"), "{swapped}");
}

#[test]
fn a_cap_that_is_passed_and_a_pause_that_is_cut() {
    let capped = under(Load { cap: Some(Cap::OperationsPerS(20_000)), ..Load::default() });
    let sped = caught(&capped, |log| {
        for it in &mut log.0 {
            (it.submit_ns, it.due_ns, it.complete_ns) = (it.submit_ns / 2, it.due_ns / 2, it.submit_ns / 2 + 1);
        }
    });
    assert!(sped.contains("faster than the cap"), "{sped}");
    let pausing = under(Load { think: Some(Think { pause_ns: 50_000, every_operations: 8 }), ..Load::default() });
    let cut = caught(&pausing, |log| {
        log.0[8].submit_ns -= 1;
        log.0[8].due_ns -= 1;
    });
    assert!(cut.contains("a pause was cut short"), "{cut}");
}

#[test]
fn a_warm_up_that_is_counted_and_syncs_that_are_missing_or_not_alone() {
    let warm = under(Load { warm_up_ns: 100_000, ..Load::default() });
    assert!(caught(&warm, |log| log.0.iter_mut().for_each(|it| it.counted = true)).contains("more operations"));
    assert!(caught(&warm, |log| log.0.last_mut().unwrap().counted = false).contains("not counted"));
    let syncing = Workload { sync: Sync::Fdatasync, sync_every: 5, ..under(Load::default()) };
    let sync_at = |log: &Log| log.0.iter().position(|it| it.op.kind == OpKind::Sync).unwrap();
    let missing = caught(&syncing, |log| {
        log.0.remove(sync_at(log));
    });
    assert!(missing.contains("a missing or a needless sync"), "{missing}");
    let early = caught(&syncing, |log| {
        let at = sync_at(log);
        log.0[at].submit_ns = log.0[..at].iter().map(|it| it.complete_ns).max().unwrap() - 1;
        log.0[at].due_ns = log.0[at].submit_ns;
    });
    assert!(early.contains("together with a sync"), "{early}");
}
