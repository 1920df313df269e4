//! What responds to what: rates against read-ahead, device, file system, kernel and processor, each changed alone.

use crate::calls::{do_run, rate, workload};
use crate::profiles::{drive, folder, host};
use mileage_drive::{Profile, general_drive};
use mileage_host::{Call, Host, OpenHow};
use mileage_workload::PatternKind;

fn x25e(changes: &[(&str, &str)]) -> Host {
    let small = [("memory_bytes", "268435456"), ("cache_bytes", "201326592"), ("journal_bytes", "16777216")];
    let changes: Vec<(&str, &str)> = small.iter().chain(changes).copied().collect();
    Host::new(host("phenom-8gib", &changes), general_drive(drive("intel-x25e-64gb")))
}

/// Reading a file of 64 MiB with an empty cache, in MB/s.
fn cold_read(changes: &[(&str, &str)], pattern: PatternKind, record_bytes: u32) -> f64 {
    let mut host = x25e(changes);
    let mut read = workload(100, record_bytes, 64 << 20);
    read.pattern = pattern;
    host.make_work_file(64 << 20).expect("the file fits");
    rate(&do_run(&mut host, &read, false))
}

#[test]
fn large_records_respond_to_read_ahead_in_any_order_and_small_backward_ones_do_not() {
    let kib = |size: u64| (size << 10).to_string();
    for (name, pattern) in [("sequential", PatternKind::Sequential), ("backward", PatternKind::Backward)] {
        let [small, usual] =
            [16, 128].map(|size| cold_read(&[("read_ahead_bytes", &kib(size))], pattern.clone(), 1 << 20));
        println!("{name}, 1 MiB: {small:.0} MB/s with 16 KiB of read-ahead, {usual:.0} with 128 KiB");
        assert!(usual > small * 1.2, "{name}");
    }
    let backward = [16, 128].map(|size| cold_read(&[("read_ahead_bytes", &kib(size))], PatternKind::Backward, 4096));
    println!("backward, 4 KiB: {:.1} and {:.1} MB/s", backward[0], backward[1]);
    assert!((backward[0] - backward[1]).abs() < 1e-9);
    let sequential = cold_read(&[], PatternKind::Sequential, 4096);
    assert!(sequential > 3.0 * backward[1], "sequential {sequential:.1} MB/s");
}

/// Files that are made, written and synced one after the other, a second.
fn synced_creates(host: &mut Host, files: u64) -> f64 {
    host.call(Call::Mkdir { path: "d".to_owned() }).expect("mkdir");
    let began_ns = host.now_ns();
    for at in 0..files {
        let how = OpenHow { create: true, exclusive: true, ..OpenHow::default() };
        host.call(Call::Open { path: format!("d/{at}"), handle: 1, how }).expect("open");
        host.call(Call::Sync { handle: 1, data_only: false }).expect("fsync");
        host.call(Call::Close { handle: 1 }).expect("close");
    }
    files as f64 * 1e9 / (host.now_ns() - began_ns) as f64
}

#[test]
fn metadata_rates_respond_to_the_device_alone_and_to_the_file_system_alone() {
    let text = std::fs::read_to_string(folder().join("drives/plain-64gib.toml")).expect("a drive");
    let slow = text.replace("program_us = { value = 400", "program_us = { value = 1600");
    assert_ne!(text, slow);
    let made = |text: &str, file_system: &str| {
        let changes = [("file_system", file_system), ("journal_bytes", "16777216")];
        let drive = general_drive(Profile::parse(text).expect("a drive"));
        synced_creates(&mut Host::new(host("server-2025", &changes), drive), 300)
    };
    let (base, slow_device, other_system) = (made(&text, "\"ext4\""), made(&slow, "\"ext4\""), made(&text, "\"xfs\""));
    println!("synced creates a second: {base:.0}; programs four times as long {slow_device:.0}; xfs {other_system:.0}");
    assert!(slow_device < base * 0.5);
    assert!((other_system / base - 1.0).abs() > 0.05);
}

#[test]
fn looking_names_up_in_memory_costs_processor_time_only() {
    let stat = |drive_name: &str, name_us: &str| {
        let changes = [("name_us", name_us), ("journal_bytes", "16777216")];
        let mut host = Host::new(host("server-2025", &changes), general_drive(drive(drive_name)));
        synced_creates(&mut host, 100);
        let began_ns = host.now_ns();
        (0..100).for_each(|at| {
            host.call(Call::Stat { path: format!("d/{at}") }).expect("stat");
        });
        host.now_ns() - began_ns
    };
    assert_eq!(stat("plain-64gib", "1.5"), stat("hpe-7k2-500gb", "1.5"), "the drive is not asked");
    assert!(stat("plain-64gib", "3.0") > stat("plain-64gib", "1.5"));
}

#[test]
fn a_barrier_drains_the_queue_in_old_kernels_only() {
    let synced = |kernel: &str, barrier: &str| {
        let mut host = x25e(&[("kernel", kernel), ("barrier", barrier)]);
        synced_creates(&mut host, 50)
    };
    let (old, new) = (synced("\"2.6.34\"", "true"), synced("\"2.6.38\"", "true"));
    let without = synced("\"2.6.34\"", "false");
    println!("synced creates a second: 2.6.34 {old:.0}, 2.6.38 {new:.0}, without barriers {without:.0}");
    assert!(without > old);
    assert!(new >= old);
}

#[test]
fn discards_reach_the_drive_after_the_commit_and_where_the_kernel_has_them() {
    let removed = |kernel: &str, discard: &str| {
        let mut host = x25e(&[("kernel", kernel), ("discard", discard)]);
        host.make_work_file(8 << 20).expect("the file fits");
        host.call(Call::Unlink { path: "work".to_owned(), directory: false }).expect("unlink");
        let before = host.named_counters().iter().find(|(name, _)| *name == "host_requests_discarded").expect("it").1;
        host.call(Call::SyncAll).expect("sync");
        let bytes = host.named_counters().iter().find(|(name, _)| *name == "host_bytes_discarded").expect("it").1;
        (before, bytes)
    };
    assert_eq!(removed("\"2.6.34\"", "false"), (0, 0));
    assert_eq!(removed("\"2.6.34\"", "true"), (0, 8 << 20));
    let refused = x25e(&[]).call(Call::TrimFree).expect_err("2.6.34 has no FITRIM").to_string();
    assert!(refused.contains("2.6.34"), "{refused}");
}
