//! The two contracts: execution above the drive, block device below it.

use crate::drives::{Sketch, counter, do_workload, forge, workload};
use mileage_drive::{Error, Immediate, conformance, run};
use mileage_measure::{Histogram, RunRecord};
use mileage_workload::conformance::{Log, Scope, check};
use mileage_workload::{NoObserver, OpKind, PatternKind, Sync, Workload};

fn shapes() -> Vec<Sketch> {
    let tiny = Sketch::tiny();
    vec![
        tiny.clone(),
        Sketch { buffer: 8, ..tiny.clone() },
        Sketch { channels: 1, dies: 1, blocks: 40, capacity_bytes: 140 * 4096, ..tiny.clone() },
        Sketch {
            channels: 3,
            dies: 1,
            pages: 5,
            blocks: 33,
            queue: 2,
            page_bytes: 512,
            capacity_bytes: 400 * 512,
            ..tiny.clone()
        },
        Sketch { page_bytes: 16384, capacity_bytes: 256 * 4096, ..tiny.clone() }.with(&[("mapping_bytes", "4096")]),
        Sketch { page_bytes: 8192, buffer: 2, capacity_bytes: 512 * 1024, ..tiny.clone() }.with(&[
            ("mapping_bytes", "1024"),
            ("gc_pace", "\"paced\""),
            ("frontiers", "\"survivors-apart\""),
        ]),
        Sketch { channels: 1, dies: 2, pages: 130, blocks: 5, page_bytes: 16384, capacity_bytes: 700 * 16384, ..tiny },
    ]
}

/// A drive for every policy: each choice once, single planes among them.
pub fn policies() -> Vec<Sketch> {
    let shape = Sketch { blocks: 14, ..Sketch::tiny() };
    let single = Sketch { channels: 1, dies: 1, blocks: 40, capacity_bytes: 100 * 4096, ..shape.clone() };
    let two_planes = Sketch { planes: 2, channels: 1, ..shape.clone() };
    let idle = [("gc_idle_free_blocks", "4"), ("gc_idle_after_us", "100.0")];
    let ends = [("end_of_life", "\"read-only\""), ("pe_cycles", "100_000"), ("replacement_blocks", "2")];
    let mut sketches = vec![
        shape.clone().with(&[("gc_victim", "\"fifo\""), ("gc_pace", "\"paced\"")]),
        single.clone().with(&[("gc_victim", "\"fifo\""), ("frontiers", "\"survivors-apart\"")]),
        shape.clone().with(&[("gc_victim", "\"d-choices\""), ("gc_victim_choices", "3")]).with(&idle),
        shape.clone().with(&[("gc_victim", "\"cost-benefit\""), ("frontiers", "\"hot-cold\"")]),
        shape.clone().with(&[("gc_victim", "\"random\""), ("allocation", "\"by-address\"")]),
        shape.clone().with(&[("allocation", "\"die-first\""), ("levelling", "\"dynamic\"")]).with(&idle),
        two_planes.clone().with(&[("allocation", "\"plane-first\""), ("plane_work", "\"together\"")]),
        two_planes.clone().with(&[("gc_pace", "\"paced\""), ("plane_work", "\"together\"")]),
        two_planes.with(&[("plane_work", "\"one\""), ("gc_free_blocks_min", "3")]),
        shape.clone().with(&[("levelling", "\"static\""), ("levelling_gap", "3")]).with(&ends),
        Sketch { queue: 32, buffer: 5, ..shape.clone() }.with(&[("link", "\"sata-3\"")]),
        shape.clone().with(&[("mapping", "\"demand\""), ("map_cache_entries", "7")]),
        single.clone().with(&[("mapping", "\"demand\""), ("map_cache_entries", "20"), ("gc_victim", "\"fifo\"")]),
    ];
    let packs = |sketch: &Sketch, more: &[(&'static str, &'static str)]| {
        let sketch = Sketch { capacity_bytes: sketch.capacity_bytes / 2, ..sketch.clone() };
        sketch.with(more)
    };
    let errs = [
        ("bit_error_rate", "0.001"),
        ("ecc_codeword_bytes", "512"),
        ("ecc_correctable_bits", "8"),
        ("read_retries_max", "20"),
        ("read_retry_leaves", "0.5"),
        ("bit_error_growth_per_year", "1.0"),
    ];
    sketches.push(shape.clone().with(&errs));
    let suspends = [("suspend", "\"erase-and-program\""), ("suspend_us", "20.0"), ("gc_copies", "\"copy-back\"")];
    sketches.push(shape.clone().with(&suspends));
    sketches.push(packs(&shape, &[("compression_unit_bytes", "64")]));
    sketches.push(packs(&single, &[("compression_unit_bytes", "2048"), ("dedupe_contents", "9")]));
    sketches.push(packs(&shape, &[("dedupe_contents", "1000"), ("allocation", "\"die-first\"")]));
    for base in [shape, Sketch { buffer: 3, ..single }] {
        sketches.push(base.clone().with(&[("mapping", "\"block\"")]));
        sketches.push(base.clone().with(&[("mapping", "\"bast\""), ("log_blocks", "3")]));
        sketches.push(base.with(&[("mapping", "\"fast\""), ("log_blocks", "4")]));
    }
    sketches
}

#[test]
fn every_shape_of_flash_is_a_block_device() {
    for sketch in shapes() {
        conformance::check(2010, 12, || sketch.drive());
    }
}

#[test]
fn every_policy_of_flash_is_a_block_device() {
    for sketch in policies() {
        conformance::check(1999, 6, || sketch.drive());
    }
}

/// Bytes of a state changed at random with the checksum made right again: refused or taken, but never a panic.
#[test]
fn a_forged_state_of_any_policy_never_panics() {
    for sketch in policies() {
        for seed in 0..60_u64 {
            forge(&sketch, seed, |body| {
                let random = |change: u64| (seed * 3 + change).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                (0..=seed % 3).map(random).map(|random| ((random >> 32) as usize % body, random as u8)).collect()
            });
        }
    }
}

#[test]
fn time_that_passes_in_steps_is_time_that_passes_at_once() {
    let sketch = Sketch { blocks: 14, ..Sketch::tiny() };
    let sketch = sketch.with(&[("gc_idle_free_blocks", "6"), ("gc_idle_after_us", "50.0")]);
    let (mut steps, mut once) = (sketch.drive(), sketch.drive());
    for drive in [&mut steps, &mut once] {
        do_workload(drive, &workload(PatternKind::Random, 0, 64 * 4096, 20.0, 3));
    }
    (0..100).for_each(|_| steps.idle_ns(170_000));
    once.idle_ns(17_000_000);
    assert!(steps.named_counters().contains(&("idle_collections", counter(&once, "idle_collections"))));
    assert!(counter(&once, "idle_collections") > 0);
    assert!(steps.save() == once.save());
}

#[test]
fn the_virtual_driver_keeps_the_contract_of_execution() {
    let target_bytes = 4 << 20;
    let sketch = Sketch { blocks: 128, capacity_bytes: target_bytes, ..Sketch::tiny() };
    for buffer in [0, 16] {
        let sketch = Sketch { buffer, queue: 8, ..sketch.clone() };
        let mut drive = sketch.drive();
        let scope = Scope::whole(target_bytes, 40);
        check(7, 600, &scope, |workload| {
            let mut log = Log::default();
            let record = run(&mut drive, workload, &mut log, &mut |_, _| false).unwrap();
            assert_eq!(record.error, None);
            agrees(workload, &record, &log);
            log
        });
    }
}

/// What the record says, added up again from the log of completions.
fn agrees(workload: &Workload, record: &RunRecord, log: &Log) {
    let counted = || log.0.iter().filter(|it| it.counted);
    let of = |kind| counted().filter(move |it| it.op.kind == kind);
    let moves = || counted().filter(|it| it.op.kind != OpKind::Sync);
    let start_ns = counted().map(|it| it.submit_ns).min().unwrap_or(0);
    let since = |end_ns: Option<u64>| end_ns.map_or(0, |end_ns| end_ns - start_ns);
    assert_eq!(record.ops_read, of(OpKind::Read).count() as u64);
    assert_eq!(record.ops_written, of(OpKind::Write).count() as u64);
    assert_eq!(record.ops_discarded, of(OpKind::Discard).count() as u64);
    assert_eq!(record.bytes_discarded, of(OpKind::Discard).map(|it| u64::from(it.op.length_bytes)).sum::<u64>());
    assert_eq!(record.latency.sync.count, of(OpKind::Sync).count() as u64);
    assert_eq!(record.latency.discard.count, record.ops_discarded);
    assert_eq!(record.series.ops.iter().sum::<u64>(), moves().count() as u64);
    assert_eq!(record.submit_ns, since(moves().map(|it| it.complete_ns).max()));
    let warm = || log.0.iter().filter(|it| !it.counted && it.op.kind != OpKind::Sync);
    assert_eq!(record.warm_up.is_some(), workload.load.warm_up_ns > 0);
    let warm_up = record.warm_up.clone().unwrap_or_default();
    assert_eq!(warm_up.ops.iter().sum::<u64>(), warm().count() as u64);
    let waited = warm().map(|it| it.complete_ns - it.submit_ns).sum::<u64>();
    assert_eq!(warm_up.latency_sum_ns.iter().sum::<u64>(), waited);
    for (kind, latency) in [
        (OpKind::Read, &record.latency.read),
        (OpKind::Write, &record.latency.write),
        (OpKind::Discard, &record.latency.discard),
        (OpKind::Sync, &record.latency.sync),
    ] {
        let mut counted = Histogram::default();
        of(kind).for_each(|it| counted.record(it.complete_ns - it.submit_ns));
        assert_eq!(*latency, counted.to_data(), "{kind:?}");
    }
    let open = record.latency.response.count > 0;
    let response = counted().filter(|it| open && matches!(it.op.kind, OpKind::Read | OpKind::Write));
    assert_eq!(record.latency.response.sum_ns, response.map(|it| it.complete_ns - it.due_ns).sum::<u64>());
    for (thread, part) in record.threads.iter().enumerate() {
        let mine = || counted().filter(|it| it.thread == thread as u32);
        let first_ns = mine().map(|it| it.submit_ns).min().unwrap_or(0);
        let last = mine().filter(|it| it.op.kind != OpKind::Sync).map(|it| it.complete_ns).max();
        assert!(part.elapsed_ns >= last.map_or(0, |last_ns| last_ns - first_ns), "thread {thread}");
    }
    if let Some(first) = &record.concurrency {
        // A thread that waits for its next operation is done when the time is up.
        let limit_ns = workload.stop.time_ns.unwrap_or(0);
        let by_then = moves().filter(|it| it.complete_ns - start_ns <= first.first_done_ns).count() as u64;
        assert!(first.first_done_ops <= by_then && first.first_done_ns <= record.durable_ns.max(limit_ns));
    }
}

#[test]
fn a_record_adds_up() {
    let sketch = Sketch { blocks: 128, capacity_bytes: 4 << 20, buffer: 64, ..Sketch::tiny() };
    let mut drive = sketch.drive();
    let mut wanted = workload(PatternKind::Random, 30, 4 << 20, 20.0, 5);
    (wanted.threads, wanted.depth, wanted.sync, wanted.sync_timed) = (3, 4, Sync::Fsync, true);
    let record = do_workload(&mut drive, &wanted);
    assert_eq!(record.ops_read + record.ops_written, 20 * 1024);
    assert_eq!(record.bytes_read, 4096 * record.ops_read);
    assert_eq!(record.latency.read.count, record.ops_read);
    assert_eq!(record.latency.write.count, record.ops_written);
    assert_eq!(record.series.ops.iter().sum::<u64>(), 20 * 1024);
    assert_eq!(record.series.bytes_written.iter().sum::<u64>(), record.bytes_written);
    assert_eq!(record.threads.iter().map(|thread| thread.ops_written).sum::<u64>(), record.ops_written);
    assert_eq!(record.threads[0].tid, None);
    assert!(record.durable_ns > record.submit_ns, "buffered writes are not yet on the medium");
    assert_eq!(record.elapsed_ns, record.durable_ns);
    for (name, total) in &record.counters {
        assert_eq!(record.series.counters[name].last(), Some(total), "{name}");
        assert!(record.series.counters[name].is_sorted(), "{name}");
    }
    assert_eq!(record.counters["host_pages_written"], record.ops_written);
    assert_eq!(record.counters["host_bytes_written"], record.bytes_written);
    for (name, now) in drive.named_gauges() {
        assert_eq!(record.series.counters[name].last(), Some(&now), "{name}");
    }
    let moved = record.counters["gc_pages_moved"];
    assert_eq!(record.counters["flash_pages_programmed"], record.ops_written + moved);
    assert_eq!(record.counters["flash_bytes_programmed"], record.bytes_written + 4096 * moved);
    wanted.sync_timed = false;
    let next = do_workload(&mut drive, &wanted);
    assert_eq!(next.elapsed_ns, next.submit_ns);
}

#[test]
fn the_clock_continues_from_run_to_run() {
    let mut drive = Sketch::tiny().drive();
    let wanted = workload(PatternKind::Random, 0, 64 * 4096, 2.0, 1);
    let first = do_workload(&mut drive, &wanted);
    assert_eq!(drive.now_ns(), first.durable_ns);
    drive.idle_ns(1000);
    let second = do_workload(&mut drive, &wanted);
    assert_eq!(drive.now_ns(), first.durable_ns + 1000 + second.durable_ns);
}

#[test]
fn equal_drives_do_equal_workloads_in_equal_time() {
    let run_twice = || {
        let mut drive = Sketch { buffer: 3, ..Sketch::tiny() }.drive();
        do_workload(&mut drive, &workload(PatternKind::Random, 50, 64 * 4096, 50.0, 9))
    };
    assert_eq!(run_twice(), run_twice());
}

#[test]
fn a_workload_that_does_not_fit_is_refused_with_both_sizes() {
    let mut drive = Sketch::tiny().drive();
    let error =
        run(&mut drive, &workload(PatternKind::Random, 0, 65 * 4096, 1.0, 1), &mut NoObserver, &mut |_, _| false);
    let error = error.unwrap_err();
    assert_eq!(error, Error::SpanBehindDrive { end_bytes: 65 * 4096, capacity_bytes: 64 * 4096 });
    assert!(error.to_string().contains("260 KiB") && error.to_string().contains("256 KiB"), "{error}");
    let behind = Workload { span_start_bytes: 4096, ..workload(PatternKind::Random, 0, 64 * 4096, 1.0, 1) };
    let error = run(&mut drive, &behind, &mut NoObserver, &mut |_, _| false).unwrap_err();
    assert_eq!(error, Error::SpanBehindDrive { end_bytes: 65 * 4096, capacity_bytes: 64 * 4096 });
}

#[test]
fn an_interrupt_ends_the_run_and_is_recorded() {
    let mut drive = Sketch::tiny().drive();
    let mut polls = 0;
    let record =
        run(&mut drive, &workload(PatternKind::Random, 0, 64 * 4096, 1e5, 1), &mut NoObserver, &mut |_, done| {
            polls += 1;
            done > 100_000
        });
    let record = record.unwrap();
    assert!(record.interrupted && polls >= 2);
    assert!((100_000..300_000).contains(&record.ops_written), "{}", record.ops_written);
}
