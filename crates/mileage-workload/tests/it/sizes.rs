//! Patterns whose operations differ in size: IOMeter's access specifications and traces.

use super::driver::{seed, simulate};
use super::refusals::plain;
use mileage_workload::{
    AccessLine, Completion, Load, OpKind, Open, PatternKind, Spacing, Stop, Sync, TraceOp, Workload,
};

fn line(size_bytes: u32, share_percent: u8) -> AccessLine {
    AccessLine {
        size_bytes,
        share_percent,
        read_percent: 100,
        random_percent: 100,
        delay_ms: 0,
        burst: 1,
        align_bytes: 0,
    }
}

fn specified(lines: &[AccessLine], operations: u64) -> Workload {
    let record_bytes = lines.iter().map(|line| line.size_bytes).max().unwrap();
    let stop = Stop { operations: Some(operations), ..Stop::default() };
    Workload { pattern: PatternKind::Access { lines: lines.into() }, read_percent: 100, record_bytes, stop, ..plain() }
}

#[test]
fn an_access_specification_is_drawn_as_iometer_draws_it() {
    // The table comes from an independent program that follows IOMeter's rule of issue.
    let lines = [
        AccessLine { read_percent: 67, random_percent: 50, burst: 3, ..line(4096, 67) },
        AccessLine { read_percent: 0, align_bytes: 4096, ..line(65_536, 33) },
    ];
    let workload = Workload { span_start_bytes: 512, span_bytes: 1 << 20, seed: 1, ..specified(&lines, 16) };
    let (r, w) = (OpKind::Read, OpKind::Write);
    let wanted = [
        (w, 32_768, 65_536),
        (w, 827_392, 65_536),
        (r, 892_928, 4096),
        (r, 519_168, 4096),
        (r, 523_264, 4096),
        (r, 1_001_472, 4096),
        (w, 1_005_568, 4096),
        (w, 330_240, 4096),
        (w, 909_312, 65_536),
        (w, 49_152, 65_536),
        (r, 114_688, 4096),
        (w, 1_012_224, 4096),
        (r, 969_216, 4096),
        (r, 973_312, 4096),
        (w, 977_408, 4096),
        (w, 981_504, 4096),
    ];
    let found: Vec<_> =
        simulate(&workload, |_| 0).0.iter().map(|it| (it.op.kind, it.op.offset_bytes, it.op.length_bytes)).collect();
    assert_eq!(found, wanted);
}

#[test]
fn sequential_lines_wrap_at_the_end_and_lengths_have_their_shares() {
    let sequential = AccessLine { random_percent: 0, ..line(4096, 100) };
    let workload = Workload { span_bytes: 5 * 4096 + 512, ..specified(&[sequential], 12) };
    let places: Vec<u64> = simulate(&workload, |_| 0).0.iter().map(|it| it.op.offset_bytes / 4096).collect();
    assert_eq!(places, [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1]);
    // The mix of a file server: sizes by share, 80 % reads, all random.
    let mix = [(512, 10), (1024, 5), (2048, 5), (4096, 60), (8192, 2), (16_384, 4), (32_768, 4), (65_536, 10)];
    let lines: Vec<AccessLine> =
        mix.iter().map(|(size, share)| AccessLine { read_percent: 80, ..line(*size, *share) }).collect();
    let workload = Workload { span_bytes: 1 << 30, seed: seed(), ..specified(&lines, 100_000) };
    let log = simulate(&workload, |_| 0);
    for (size, share) in mix {
        let count = log.0.iter().filter(|it| it.op.length_bytes == size).count() as f64;
        // Up to a percentage point of its own from IOMeter's generator, and five standard deviations of chance.
        let expected = 1000.0 * f64::from(share);
        assert!((count - expected).abs() < 1000.0 + 5.0 * expected.sqrt(), "{size} bytes: {count} of {expected}");
    }
    let reads = log.0.iter().filter(|it| it.op.kind == OpKind::Read).count() as f64;
    assert!((reads - 80_000.0).abs() < 1600.0, "{reads}");
    assert!(log.0.iter().all(|it| it.op.offset_bytes + u64::from(it.op.length_bytes) <= 1 << 30));
}

#[test]
fn each_burst_waits_its_delay_first() {
    let bursts = AccessLine { delay_ms: 2, burst: 3, ..line(4096, 100) };
    let workload = Workload { depth: 2, ..specified(&[bursts], 7) };
    let starts: Vec<u64> = simulate(&workload, |_| 100_000).0.iter().map(|it| it.submit_ns).collect();
    // Two at once, the third with the first completion; the pause begins when the next could have been issued.
    let (first, second) = (2_000_000, 2_100_000 + 2_000_000);
    assert_eq!(starts, [first, first, first + 100_000, second, second, second + 100_000, second + 2_100_000]);
}

#[test]
fn a_byte_limit_ends_with_the_operation_that_reaches_it() {
    let workload = Workload { threads: 2, ..specified(&[line(4096, 50), line(512, 50)], 1) };
    let workload = Workload { stop: Stop { bytes: Some(100_001), ..Stop::default() }, ..workload };
    let log = simulate(&workload, |_| 0);
    for (thread, share) in [(0, 50_001), (1, 50_000)] {
        let lengths: Vec<u64> =
            log.0.iter().filter(|it| it.thread == thread).map(|it| u64::from(it.op.length_bytes)).collect();
        let total: u64 = lengths.iter().sum();
        assert!(total >= share && total - lengths.last().unwrap() < share, "thread {thread}: {total}");
    }
}

/// Lines of odd sizes follow each other without gaps, and random places are multiples of what all have in common, or of
/// the alignment that a line gives.
#[test]
fn odd_sizes_have_a_common_unit_and_no_gaps() {
    let in_order = |size, share| AccessLine { random_percent: 0, ..line(size, share) };
    let unit = |lines: &[AccessLine], span_start_bytes| {
        let workload = Workload { span_start_bytes, span_bytes: 1 << 20, ..specified(lines, 500) };
        assert_eq!(workload.check(), Ok(()));
        workload.operations_unit_bytes()
    };
    let lines = [in_order(1000, 50), in_order(2300, 50)];
    assert_eq!((unit(&lines, 0), unit(&lines, 8), unit(&lines, 7), unit(&[line(4096, 100)], 512)), (4, 4, 1, 512));
    let workload = Workload { span_start_bytes: 7, span_bytes: 1 << 20, ..specified(&lines, 500) };
    let log = simulate(&workload, |_| 0).0;
    let mut next = 7;
    for it in &log {
        if next + u64::from(it.op.length_bytes) > 7 + (1 << 20) {
            next = 7;
        }
        assert_eq!(it.op.offset_bytes, next);
        next += u64::from(it.op.length_bytes);
    }
    let random = [AccessLine { align_bytes: 100, ..line(1000, 50) }, line(2300, 50)];
    let log = simulate(&Workload { span_start_bytes: 0, span_bytes: 1 << 20, ..specified(&random, 500) }, |_| 0).0;
    let unit = |it: &Completion| if it.op.length_bytes == 1000 { 100 } else { 4 };
    assert!(log.iter().all(|it| it.op.offset_bytes.is_multiple_of(unit(it))));
    assert!(log.iter().any(|it| !it.op.offset_bytes.is_multiple_of(8)));
    assert!(!workload.is_aligned_to(512) && workload.is_aligned_to(1));
}

#[test]
fn a_trace_of_odd_places_is_replayed_as_it_is() {
    let at = |offset_bytes, length_bytes| TraceOp { at_ns: 0, kind: OpKind::Write, offset_bytes, length_bytes };
    let operations = [at(3, 2300), at(2303, 1), at(5000, 65_537)];
    let workload =
        Workload { record_bytes: 65_537, span_bytes: 100_001, span_start_bytes: 9, ..traced(&operations, false) };
    assert_eq!((workload.check(), workload.operations_unit_bytes()), (Ok(()), 1));
    let log = simulate(&workload, |_| 0).0;
    let found = log.iter().filter(|it| it.op.kind == OpKind::Write).map(|it| (it.op.offset_bytes, it.op.length_bytes));
    assert_eq!(found.collect::<Vec<_>>(), [(12, 2300), (2312, 1), (5009, 65_537)]);
}

fn op(at_us: u64, kind: OpKind, record: u64) -> TraceOp {
    let sync = kind == OpKind::Sync;
    TraceOp { at_ns: at_us * 1000, kind, offset_bytes: record * 4096, length_bytes: if sync { 0 } else { 4096 } }
}

fn traced(operations: &[TraceOp], timed: bool) -> Workload {
    let pattern = PatternKind::Trace { operations: operations.into(), timed };
    Workload { pattern, read_percent: 100, stop: Stop::default(), sync: Sync::Fdatasync, ..plain() }
}

#[test]
fn a_trace_is_replayed_once_at_its_times_or_as_fast_as_it_goes() {
    let (r, w, d) = (OpKind::Read, OpKind::Write, OpKind::Discard);
    let trace = [op(10, r, 3), op(30, w, 1), op(30, r, 2), op(400, d, 5), op(400, r, 0), op(401, r, 7)];
    let key = |it: &Completion| (it.op.kind, it.op.offset_bytes / 4096, it.due_ns / 1000, it.submit_ns / 1000);
    let timed = Workload { depth: 1, ..traced(&trace, true) };
    let found: Vec<_> = simulate(&timed, |_| 15_000).0.iter().map(key).collect();
    let at = |kind, record, due, submit| (kind, record, due, submit);
    assert_eq!(
        found,
        [
            at(r, 3, 10, 10),
            at(w, 1, 30, 30),
            at(r, 2, 30, 45),
            at(d, 5, 400, 400),
            at(r, 0, 400, 415),
            at(r, 7, 401, 430),
            at(OpKind::Sync, 0, 445, 445)
        ]
    );
    let fast = Workload { depth: 1, ..traced(&trace, false) };
    let starts: Vec<u64> = simulate(&fast, |_| 15_000).0.iter().map(|it| it.submit_ns / 1000).collect();
    assert_eq!(starts, [0, 15, 30, 45, 60, 75, 90]);
}

#[test]
fn threads_deal_the_operations_and_a_sync_waits_for_its_own_thread() {
    let (r, w, s) = (OpKind::Read, OpKind::Write, OpKind::Sync);
    let trace =
        [op(0, w, 0), op(0, r, 1), op(0, w, 2), op(0, r, 3), op(0, s, 0), op(0, r, 5), op(0, r, 6), op(0, s, 0)];
    let workload = Workload { threads: 2, depth: 8, ..traced(&trace, false) };
    let log = simulate(&workload, |it| if it.kind == w { 5_000 } else { 1_000 });
    let of = |thread| {
        let mine = log.0.iter().filter(move |it| it.thread == thread);
        mine.map(|it| (it.op.kind, it.op.offset_bytes / 4096, it.submit_ns)).collect::<Vec<_>>()
    };
    assert_eq!(of(0), [(w, 0, 0), (w, 2, 0), (s, 0, 5_000), (r, 6, 6_000)]);
    assert_eq!(of(1), [(r, 1, 0), (r, 3, 0), (r, 5, 0), (s, 0, 1_000)]);
    assert_eq!((workload.operations_of(0), workload.operations_of(1)), (3, 3), "syncs are not counted");
    let short = Workload { stop: Stop { operations: Some(3), ..Stop::default() }, ..workload };
    assert_eq!(simulate(&short, |_| 10).0.iter().filter(|it| it.op.kind != s).count(), 3);
}

fn refusal(workload: &Workload) -> String {
    workload.check().unwrap_err().to_string()
}

#[test]
fn what_does_not_fit_is_refused() {
    let good = specified(&[line(4096, 60), line(512, 40)], 10);
    assert_eq!(good.check(), Ok(()));
    let with = |change: &dyn Fn(&mut AccessLine)| {
        let mut lines = [line(4096, 60), line(512, 40)];
        change(&mut lines[1]);
        refusal(&Workload { pattern: PatternKind::Access { lines: lines.into() }, ..good.clone() })
    };
    assert_eq!(
        with(&|line| line.share_percent = 41),
        "pattern.access.lines, the sum of share_percent, is 101: expected 100 to 100"
    );
    assert_eq!(with(&|line| line.burst = 0), "pattern.access.lines[1].burst is 0: expected 1 to 4294967295");
    let elsewhere =
        Workload { span_start_bytes: 512, ..specified(&[AccessLine { align_bytes: 1 << 21, ..line(512, 100) }], 1) };
    assert!(refusal(&elsewhere).contains("an aligned transfer does not fit"));
    assert!(
        with(&|line| line.size_bytes = 8192).contains("the largest size of the access lines, is 4096: expected 8192")
    );
    assert!(
        refusal(&Workload { read_percent: 50, ..good.clone() }).starts_with("read_percent is 50: the pattern says")
    );
    let open =
        Load { open: Some(Open { operations_per_s: 9, spacing: Spacing::Constant, ramp: None }), ..Load::default() };
    let paused = Workload { load: open.clone(), ..specified(&[AccessLine { delay_ms: 1, ..line(512, 100) }], 1) };
    assert!(refusal(&paused).starts_with("pattern.access.lines, with delays, is given: in the open loop"));

    let trace = traced(&[op(0, OpKind::Write, 0), op(5, OpKind::Sync, 0)], true);
    assert_eq!(trace.check(), Ok(()));
    assert!(refusal(&Workload { sync: Sync::None, ..trace.clone() }).starts_with("sync is none: the trace has syncs"));
    assert!(refusal(&Workload { load: open, ..trace.clone() }).contains("the trace's own times"));
    let bent = |operations: &[TraceOp]| refusal(&traced(operations, true));
    assert!(bent(&[op(5, OpKind::Read, 0), op(4, OpKind::Read, 0)]).contains("is 4000: expected 5000"));
    assert!(bent(&[op(5, OpKind::Read, 1 << 20)]).contains("inside the span"));
    assert!(bent(&[]).starts_with("pattern.trace.operations, their number, is 0"));
}
