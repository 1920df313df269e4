//! Workloads on a host: what reaches the drive, and what the cache gives back.

use crate::profiles::{drive, host};
use mileage_drive::Device;
use mileage_host::block_request::{BlockRequest, Kind};
use mileage_host::{Call, Host, OpenHow, OpenMode, run};
use mileage_measure::RunRecord;
use mileage_workload::{NoObserver, PatternKind, Stop, Workload};

pub fn small_host(changes: &[(&str, &str)]) -> Host {
    Host::new(host("server-2025", changes), Device::new(drive("plain-64gib")))
}

pub fn workload(read_percent: u8, record_bytes: u32, span_bytes: u64) -> Workload {
    let stop = Stop { bytes: Some(span_bytes), ..Stop::default() };
    Workload { read_percent, record_bytes, span_bytes, stop, ..Workload::default() }
}

pub fn do_run(host: &mut Host, workload: &Workload, direct: bool) -> RunRecord {
    let opening = OpenMode { direct, dsync: false };
    let record = run(host, workload, opening, &mut NoObserver, &mut |_, _| false).expect("a run");
    assert!(record.error.is_none(), "{:?}", record.error);
    host.cache().check().expect("the cache's counters");
    host.files().check().expect("the blocks");
    record
}

pub fn rate(record: &RunRecord) -> f64 {
    (record.bytes_read + record.bytes_written) as f64 * 1e3 / record.elapsed_ns as f64
}

const MIB: u64 = 1 << 20;
const MEMORY: &[(&str, &str)] = &[("memory_bytes", "1073741824"), ("cache_bytes", "805306368")];

#[test]
fn a_file_below_memory_is_read_again_at_copy_speed_and_one_of_twice_memory_is_not() {
    for (span, again_is_faster) in [(256 << 20, true), (2 << 30, false)] {
        let mut host = small_host(MEMORY);
        let read = workload(100, 1 << 20, span);
        let first = do_run(&mut host, &read, false);
        let again = do_run(&mut host, &read, false);
        let ratio = rate(&again) / rate(&first);
        println!("{} MiB: read {:.0}, again {:.0} MB/s", span >> 20, rate(&first), rate(&again));
        assert_eq!(ratio > 2.0, again_is_faster, "{ratio}");
        assert_eq!(again.counters["host_requests_read"] == 0, again_is_faster);
    }
}

#[test]
fn direct_requests_are_the_records() {
    let mut host = small_host(MEMORY);
    let mut write = workload(0, 16384, 64 << 20);
    write.pattern = PatternKind::Random;
    let record = do_run(&mut host, &write, true);
    assert_eq!(record.counters["host_requests_written"] - record.counters["host_journal_commits"] * 2, 4096);
    let mut read = workload(100, 4096, 64 << 20);
    read.pattern = PatternKind::Random;
    let record = do_run(&mut host, &read, true);
    assert_eq!(record.counters["host_requests_read"], 16384);
    assert_eq!(record.counters["host_bytes_read"], 64 << 20);
}

#[test]
fn a_file_system_that_is_full_of_removed_files_commits_before_it_refuses() {
    for (family, direct) in [("ext4", false), ("ext4", true), ("xfs", false)] {
        let family = format!("\"{family}\"");
        let profile = host("server-2025", &[MEMORY, &[("file_system", &family)]].concat());
        let mut host = Host::new(profile, Device::new(drive("optane-16gb")));
        let how = OpenHow { create: true, direct, ..OpenHow::default() };
        let bytes = host.free_bytes() * 3 / 5 / MIB * MIB;
        for turn in 0..2 {
            let path = format!("file{turn}");
            host.call(Call::Open { path: path.clone(), handle: 1, how }).expect("open");
            for offset in (0..bytes).step_by(MIB as usize) {
                let call = Call::Write { handle: 1, offset, length: MIB };
                host.call(call).unwrap_or_else(|error| panic!("{family} direct {direct} {turn}: {error}"));
            }
            host.files().check().expect("the blocks");
            if turn == 1 {
                let rest = (bytes..host.free_bytes() + bytes + MIB).step_by(MIB as usize);
                let full = rest.map(|offset| host.call(Call::Write { handle: 1, offset, length: MIB }));
                assert!(full.last().is_some_and(|last| last.is_err()), "nothing is refused");
            }
            host.call(Call::Close { handle: 1 }).expect("close");
            host.call(Call::Unlink { path, directory: false }).expect("unlink");
        }
    }
}

/// The discards, each as its first block and its blocks, after the removal of two files of 1 MiB that lie one behind the other, and
/// those of `fstrim` then.
fn discards_of_two_files(kernel: &str) -> [Vec<(u64, u64)>; 2] {
    let kernel = format!("\"{kernel}\"");
    let mut host = small_host(&[MEMORY, &[("discard", "true"), ("kernel", &kernel)]].concat());
    let how = OpenHow { create: true, direct: true, ..OpenHow::default() };
    for handle in 1..=2 {
        host.call(Call::Open { path: format!("file{handle}"), handle, how }).expect("open");
        host.call(Call::Write { handle, offset: 0, length: MIB }).expect("write");
        host.call(Call::Sync { handle, data_only: false }).expect("fsync");
        host.call(Call::Close { handle }).expect("close");
    }
    let blocks = |it: &BlockRequest| (it.offset / 4096, it.length / 4096);
    host.trace_requests();
    for at in 1..=2 {
        host.call(Call::Unlink { path: format!("file{at}"), directory: false }).expect("unlink");
    }
    host.call(Call::SyncAll).expect("sync");
    host.advance_to(host.now_ns() + 1_000_000_000);
    let discards = host.take_requests().iter().filter(|it| it.kind == Kind::Discard).map(blocks).collect();
    host.call(Call::TrimFree).expect("fstrim");
    [discards, host.take_requests().iter().filter(|it| it.kind == Kind::Discard).map(blocks).collect()]
}

#[test]
fn linux_6_discards_neighbours_together_and_up_to_the_end_of_the_free_extent() {
    let [old, _] = discards_of_two_files("2.6.38");
    let first = old[0].0.min(old[1].0);
    assert_eq!(old.iter().map(|it| it.1).collect::<Vec<_>>(), [256, 256]);
    let [new, free] = discards_of_two_files("6.x");
    let [(start, count)] = new[..] else { panic!("{new:?}") };
    assert!(count >= 512, "{new:?} after {old:?} from {first}");
    // fstrim, which takes every free extent of each group, finds the same end.
    assert!(free.iter().any(|(at, blocks)| *at <= start && at + blocks == start + count), "{new:?} in {free:?}");
}
