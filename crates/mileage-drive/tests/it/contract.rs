//! The two contracts: execution above the drive, block device below it.

use crate::drives::{Sketch, do_workload, workload};
use mileage_drive::{Error, conformance, run};
use mileage_workload::{PatternKind, Sync, Unobserved};

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
        Sketch { channels: 1, dies: 2, pages: 130, blocks: 5, page_bytes: 16384, capacity_bytes: 700 * 16384, ..tiny },
    ]
}

#[test]
fn every_shape_of_flash_is_a_block_device() {
    for sketch in shapes() {
        conformance::check(2010, 12, || sketch.drive());
    }
}

#[test]
fn the_virtual_driver_keeps_the_contract_of_execution() {
    let target_bytes = 4 << 20;
    let sketch = Sketch { blocks: 128, capacity_bytes: target_bytes, ..Sketch::tiny() };
    for buffer in [0, 16] {
        let sketch = Sketch { buffer, queue: 8, ..sketch.clone() };
        let mut drive = sketch.drive();
        mileage_workload::conformance::check(7, 150, target_bytes, 40, |workload| {
            let mut log = mileage_workload::conformance::Log::default();
            let record = run(&mut drive, workload, &mut log, &mut |_, _| false).unwrap();
            assert_eq!(record.error, None);
            log
        });
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
    let moved = record.counters["gc_pages_moved"];
    assert_eq!(record.counters["flash_pages_programmed"], record.ops_written + moved);
    wanted.sync_timed = false;
    let next = do_workload(&mut drive, &wanted);
    assert_eq!(next.elapsed_ns, next.submit_ns);
}

#[test]
fn the_clock_goes_on_from_run_to_run() {
    use mileage_drive::BlockDevice;
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
        run(&mut drive, &workload(PatternKind::Random, 0, 65 * 4096, 1.0, 1), &mut Unobserved, &mut |_, _| false);
    let error = error.unwrap_err();
    assert_eq!(error, Error::SpanBehindDrive { end_bytes: 65 * 4096, capacity_bytes: 64 * 4096 });
    assert!(error.to_string().contains("260 KiB") && error.to_string().contains("256 KiB"), "{error}");
}

#[test]
fn an_interrupt_ends_the_run_and_is_recorded() {
    let mut drive = Sketch::tiny().drive();
    let mut polls = 0;
    let record =
        run(&mut drive, &workload(PatternKind::Random, 0, 64 * 4096, 1e5, 1), &mut Unobserved, &mut |_, done| {
            polls += 1;
            done > 100_000
        });
    let record = record.unwrap();
    assert!(record.interrupted && polls >= 2);
    assert!((100_000..300_000).contains(&record.ops_written), "{}", record.ops_written);
}
