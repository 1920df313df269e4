//! Random valid workloads.

use super::Scope;
use crate::pattern::{below, stream};
use crate::{
    AccessLine, Cap, Content, Files, IorOrder, Load, OpKind, Open, PatternKind, Ramp, Spacing, Stop, Sync, Think,
    TraceOp, Workload,
};
use rand_xoshiro::Xoshiro256PlusPlus;

struct Draw(Xoshiro256PlusPlus);

impl Draw {
    fn below(&mut self, count: u64) -> u64 {
        below(&mut self.0, count)
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

/// A random valid workload inside the scope.
pub fn random_workload(seed: u64, scope: &Scope) -> Workload {
    let mut draw = Draw(stream(seed, 0, 2));
    let target_bytes = scope.target_bytes;
    let record_bytes = 512_u32 << draw.below(7);
    let threads = 1 + draw.below(4) as u32;
    let record = u64::from(record_bytes);
    let records = (u64::from(threads) + draw.below(200)).min(target_bytes / record);
    let start = draw.below(target_bytes / record - records + 1);
    let limit = u64::from(threads) + draw.below(400);
    let sync = draw.of(&[Sync::None, Sync::Fsync, Sync::Fdatasync]);
    let mut workload = Workload {
        read_percent: draw.of(&[0, 30, 100]),
        record_bytes,
        span_start_bytes: start * record,
        span_bytes: records * record,
        depth: 1 + draw.below(u64::from(scope.depth_max)) as u32,
        threads,
        stop: Stop {
            bytes: Some(limit * record),
            operations: draw.one_in(2).then(|| u64::from(threads) + draw.below(400)),
            time_ns: draw.one_in(3).then(|| 1 + draw.below(2_000_000)),
        },
        seed: draw.below(u64::MAX),
        content: Content::Incompressible,
        sync,
        sync_timed: draw.one_in(2),
        sync_every: if scope.syncs && sync != Sync::None { draw.of(&[0, 1, 7]) } else { 0 },
        discard_percent: if scope.discards { draw.of(&[0, 0, 20]) } else { 0 },
        files: if scope.files && draw.one_in(2) { Files::PerThread } else { Files::Shared },
        load: random_load(&mut draw, scope),
        ..Workload::default()
    };
    if workload.sync_every > 0 && !workload.sync_timed {
        workload.sync_last = draw.one_in(2);
    }
    random_pattern(&mut draw, scope, &mut workload);
    workload
}

/// A load under which the suite's workloads take some ten milliseconds at most.
fn random_load(draw: &mut Draw, scope: &Scope) -> Load {
    let mut load = Load::default();
    if scope.warm_up {
        load.warm_up_ns = draw.of(&[0, 0, 500_000]);
    }
    if !scope.loads {
        return load;
    }
    let rate = 20_000 + draw.below(200_000);
    match draw.below(4) {
        0 => {}
        1 => {
            let ramp = Ramp { to_operations_per_s: 20_000 + draw.below(200_000), over_ns: 1 + draw.below(5_000_000) };
            load.open = Some(Open {
                operations_per_s: rate,
                spacing: draw.of(&[Spacing::Constant, Spacing::Poisson]),
                ramp: draw.one_in(2).then_some(ramp),
            });
        }
        2 => load.cap = Some(draw.of(&[Cap::OperationsPerS(rate), Cap::BytesPerS(rate << 12)])),
        _ => load.think = Some(Think { pause_ns: 1 + draw.below(100_000), every_operations: 1 + draw.below(20) }),
    }
    if load.cap.is_some() && draw.one_in(2) {
        load.think = Some(Think { pause_ns: 1 + draw.below(100_000), every_operations: 5 });
    }
    load
}

/// Give the workload a pattern, and the span what the pattern needs.
fn random_pattern(draw: &mut Draw, scope: &Scope, workload: &mut Workload) {
    let record = u64::from(workload.record_bytes);
    let records = workload.records();
    workload.pattern = match draw.below(if scope.own_sizes { 15 } else { 12 }) {
        0 => PatternKind::Sequential,
        1 => PatternKind::Random,
        2 => PatternKind::Backward,
        3 => PatternKind::Fixed,
        4 => PatternKind::Stride { step_records: 1 + draw.below(40) },
        5 => PatternKind::IozoneShuffle,
        6 => PatternKind::IozoneStride { step_records: 1 + draw.below(20) },
        7 => PatternKind::Zipf { theta_hundredths: 1 + draw.below(300) as u32 },
        8 if records > 1 => {
            PatternKind::HotCold { hot_percent: 1 + draw.below(99) as u8, access_percent: draw.below(101) as u8 }
        }
        9 => PatternKind::PartlySequential { random_percent: draw.below(101) as u8 },
        10 => random_ior(draw, workload, records, record),
        12 | 13 => random_access(draw, workload),
        14 => random_trace(draw, workload),
        _ => PatternKind::Shuffled,
    };
}

fn random_ior(draw: &mut Draw, workload: &mut Workload, records: u64, record: u64) -> PatternKind {
    let tasks = if workload.files == Files::Shared { u64::from(workload.threads) } else { 1 };
    let block = 1 + draw.below(records / tasks);
    workload.span_bytes = records / (block * tasks) * block * tasks * record;
    let order =
        draw.of(&[IorOrder::InOrder, IorOrder::Reordered { tasks: 1 + workload.threads / 2 }, IorOrder::Random]);
    PatternKind::Ior { block_bytes: block * record, order }
}

fn random_access(draw: &mut Draw, workload: &mut Workload) -> PatternKind {
    (workload.read_percent, workload.discard_percent) = (100, 0);
    let largest = workload.record_bytes;
    let delays = workload.load.open.is_none() && draw.one_in(3);
    let mut line = |share_percent, size_bytes| AccessLine {
        size_bytes,
        share_percent,
        read_percent: draw.of(&[0, 50, 100]),
        random_percent: draw.of(&[0, 50, 100]),
        delay_ms: if delays { draw.below(2) as u32 } else { 0 },
        burst: 1 + draw.below(30) as u32 + if delays { 60 } else { 0 },
        align_bytes: draw.of(&[0, 512, largest]),
    };
    PatternKind::Access { lines: [line(70, largest), line(30, 512)].into() }
}

/// A trace over the span, with syncs if the workload may have them.
fn random_trace(draw: &mut Draw, workload: &mut Workload) -> PatternKind {
    (workload.read_percent, workload.discard_percent) = (100, 0);
    let mut at_ns = 0;
    let mut operation = |number: u64| {
        at_ns += draw.below(20_000);
        let kind = match draw.below(10) {
            0 if workload.sync_every > 0 => OpKind::Sync,
            1..=5 => OpKind::Read,
            _ => OpKind::Write,
        };
        let length = if number == 0 {
            workload.record_bytes
        } else {
            512 * (1 + draw.below(u64::from(workload.record_bytes) / 512) as u32)
        };
        let sectors = (workload.span_bytes - u64::from(length)) / 512;
        let (offset_bytes, length_bytes) =
            if kind == OpKind::Sync { (0, 0) } else { (512 * draw.below(sectors + 1), length) };
        TraceOp { at_ns, kind, offset_bytes, length_bytes }
    };
    let mut operations: Vec<TraceOp> = (0..300).map(&mut operation).collect();
    if operations[0].kind == OpKind::Sync {
        operations[0] = TraceOp { kind: OpKind::Read, length_bytes: workload.record_bytes, ..operations[0] };
    }
    let load = &workload.load;
    let timed = load.open.is_none() && load.cap.is_none() && load.think.is_none();
    PatternKind::Trace { operations: operations.into(), timed }
}
