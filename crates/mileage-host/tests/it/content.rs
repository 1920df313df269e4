//! What a program writes compresses on the drive below as much as it does without a host between them.

use crate::calls::{do_run, small_host, workload};
use crate::profiles::{drive_with, host};
use mileage_drive::{Device, Drive};
use mileage_host::{Call, FIRST_HANDLE, FileJobResult, Host, run_job};
use mileage_workload::{
    Content, FileJob, FilePhase, FileWork, Metadata, MetadataOp, NamesPart, NoObserver, OpenFile, OpenHow, Place,
    Workload,
};

/// What a run writes: metadata and what waits for a full page are small next to it.
const SPAN_BYTES: u64 = 32 << 20;

fn packing_drive(unit_bytes: u32) -> mileage_drive::Profile {
    let unit = unit_bytes.to_string();
    let changes = [
        ("capacity_bytes", "499_998_720"),
        ("blocks_per_plane", "36"),
        ("compression_unit_bytes", unit.as_str()),
        ("write_buffer_pages", "128"),
    ];
    drive_with("sandforce-1222-64gb", &changes)
}

fn packing_host(unit_bytes: u32) -> Host {
    Host::new(host("server-2025", &[]), Device::new(packing_drive(unit_bytes)))
}

fn writing(content: Content, record_bytes: u32) -> Workload {
    Workload { content, ..workload(0, record_bytes, SPAN_BYTES) }
}

fn mixed(compressible_percent: u8) -> Content {
    Content::Mixed { compressible_percent, duplicate_percent: 0 }
}

fn dedup(within_percent: u8, across_percent: u8, compress_percent: u8) -> Content {
    Content::IozoneDedup { within_percent, across_percent, compress_percent }
}

fn counter(host: &Host, name: &str) -> u64 {
    host.named_counters().iter().find(|(known, _)| *known == name).expect("a counter").1
}

/// Bytes that the drive was given, what it stored, and flash pages of it.
fn packed(host: &Host) -> [u64; 3] {
    ["packing_bytes_in", "packing_bytes_stored", "flash_pages_programmed"].map(|name| counter(host, name))
}

/// Growth of these while something is done, everything written at its end.
fn growth(host: &mut Host, act: impl FnOnce(&mut Host)) -> [u64; 3] {
    let before = packed(host);
    act(host);
    host.call(Call::SyncAll).expect("sync");
    let after = packed(host);
    std::array::from_fn(|at| after[at] - before[at])
}

/// A host on which the work file is there, and nothing is dirty.
fn prepared(unit_bytes: u32) -> Host {
    let mut host = packing_host(unit_bytes);
    host.make_work_file(2 * SPAN_BYTES).expect("a work file");
    host
}

fn share([given, stored, _]: [u64; 3]) -> f64 {
    stored as f64 / given as f64
}

#[test]
fn buffered_writes_reach_the_flash_by_their_share() {
    for unit_bytes in [16, 512] {
        let pages_of = |content| {
            let mut host = prepared(unit_bytes);
            let [given, stored, pages] =
                growth(&mut host, |host| drop(do_run(host, &writing(content, 1 << 20), false)));
            assert!((SPAN_BYTES..SPAN_BYTES * 101 / 100).contains(&given), "{given}");
            // Nothing is collected: what is stored is what is programmed, but for what waits for a full page.
            assert!((stored / 4096).abs_diff(pages) <= 16, "{stored} bytes, {pages} pages");
            pages as f64
        };
        let incompressible = pages_of(Content::Incompressible);
        assert!(incompressible >= (SPAN_BYTES / 4096) as f64 - 16.0);
        for (content, left_percent) in [(mixed(98), 2), (mixed(50), 50), (mixed(0), 100), (Content::Zeros, 0)] {
            let bytes = (4096_u32 * left_percent).div_ceil(100).max(1).next_multiple_of(unit_bytes);
            let (found, expected) = (pages_of(content) / incompressible, f64::from(bytes) / 4096.0);
            println!("unit {unit_bytes}, {content:?}: {found:.4} of the pages, expected {expected:.4}");
            assert!((found - expected).abs() < 0.003, "{content:?}: {found}, expected {expected}");
        }
    }
}

#[test]
fn pages_compress_as_without_a_host() {
    let contents = [
        mixed(50),
        dedup(75, 75, 75),
        dedup(50, 100, 0),
        dedup(0, 0, 0),
        Content::IozoneDefault,
        Content::IozoneDiagnostic,
        Content::FioScrambled,
        Content::FioConstant,
        Content::Zeros,
    ];
    let sizes = [(4096, 512), (16384, 512), (1 << 20, 512), (1 << 20, 16)];
    for (content, (record_bytes, unit_bytes)) in contents.iter().flat_map(|it| sizes.map(|sizes| (*it, sizes))) {
        let writing = writing(content, record_bytes);
        let mut bare = Drive::new(packing_drive(unit_bytes));
        let record = mileage_drive::run(&mut bare, &writing, &mut NoObserver, &mut |_, _| false).expect("a run");
        let counted = ["packing_bytes_in", "packing_bytes_stored", "host_pages_written"];
        let without = share(counted.map(|it| record.counters[it]));
        let with = share(growth(&mut prepared(unit_bytes), |host| drop(do_run(host, &writing, false))));
        println!("{content:?}, {record_bytes}, unit {unit_bytes}: {without:.4} without a host, {with:.4} with one");
        assert!((with - without).abs() < 0.01, "{content:?}, {record_bytes}: {without} without, {with} with a host");
    }
}

#[test]
fn what_a_run_leaves_dirty_is_written_as_its_own() {
    let mut host = prepared(512);
    let zeros = writing(Content::Zeros, 1 << 20);
    let random = Workload { span_start_bytes: SPAN_BYTES, ..writing(Content::Incompressible, 1 << 20) };
    let mut of_the_second = [0; 2];
    let [given, stored, _] = growth(&mut host, |host| {
        do_run(host, &zeros, false);
        let record = do_run(host, &random, false);
        of_the_second = ["host_pages_written", "packing_bytes_in"].map(|name| record.counters[name]);
    });
    let excess = stored.abs_diff(SPAN_BYTES / 8 + SPAN_BYTES);
    println!("{given} bytes given, {stored} stored, {of_the_second:?} in the second run");
    assert!(excess < SPAN_BYTES / 100, "{stored} bytes of zeros and of as much that does not compress");
    assert!(given < 2 * SPAN_BYTES + SPAN_BYTES / 50, "no page is written twice");
    // The pages of the first run are not in the record of the second.
    assert!(of_the_second[1] < SPAN_BYTES + SPAN_BYTES / 100, "{of_the_second:?}");
}

#[test]
fn a_run_that_reads_and_one_of_the_same_content_write_nothing_before_they_begin() {
    let mut host = prepared(512);
    let small = Workload { content: Content::Zeros, ..workload(0, 1 << 20, 4 << 20) };
    do_run(&mut host, &small, false);
    let dirty = |host: &Host| host.cache().dirty_of(host.files().resolve("work").expect("a name").2.expect("a file"));
    assert_eq!(dirty(&host), 1024);
    do_run(&mut host, &workload(100, 1 << 20, 4 << 20), false);
    do_run(&mut host, &Workload { span_start_bytes: 8 << 20, ..small.clone() }, false);
    assert_eq!(dirty(&host), 2048);
    do_run(&mut host, &Workload { content: mixed(40), ..small }, false);
    assert_eq!(dirty(&host), 1024);
}

#[test]
fn the_content_survives_a_saved_state() {
    let mut host = prepared(512);
    do_run(&mut host, &writing(dedup(75, 75, 75), 1 << 20), false);
    let saved = host.save();
    let mut other = packing_host(512);
    other.restore(&saved).expect("its own state");
    assert!(other.save() == saved, "the state restored is the state saved");
    let written = [&mut host, &mut other].map(|host| growth(host, |_| ()));
    assert_eq!(written[0], written[1]);
    assert!(written[0][0] > SPAN_BYTES / 2, "pages were dirty: {written:?}");
    assert!(share(written[0]) < 0.6, "{written:?}");
    assert!(host.save() == other.save(), "both continue alike");
}

#[test]
fn a_work_file_does_not_compress() {
    let mut host = packing_host(512);
    do_run(&mut host, &Workload { content: Content::Zeros, ..workload(0, 1 << 20, 4 << 20) }, false);
    let made = growth(&mut host, |host| host.make_work_file(SPAN_BYTES).expect("a work file"));
    // Four MiB of zeros were dirty, and are written first.
    let expected = (SPAN_BYTES - (4 << 20) + (4 << 20) / 8) as f64 / SPAN_BYTES as f64;
    assert!((share(made) - expected).abs() < 0.01, "{made:?}");
}

/// Phases of one task each, which write a file each.
fn job(contents: &[Content]) -> FileJob {
    let phase = |(number, content): (u32, &Content)| {
        let how = OpenHow { create: true, ..OpenHow::default() };
        let open = Some(OpenFile { path: format!("file{number}"), how });
        let workload = Box::new(writing(*content, 1 << 20));
        let work =
            vec![FileWork::Records { workload, thread: 0, handle: FIRST_HANDLE, open, sync: false, close: true }];
        FilePhase { name: format!("phase {number}"), timed: true, work }
    };
    FileJob { phases: (0..).zip(contents).map(phase).collect() }
}

fn done(host: &mut Host, job: FileJob) -> FileJobResult {
    let result = run_job(host, job, &mut |_, _| false).expect("a job");
    assert!(result.phases.iter().all(|phase| phase.record.error.is_none()), "{result:?}");
    result
}

#[test]
fn every_phase_of_a_job_writes_its_own_content() {
    let mut host = packing_host(512);
    let mut names = Vec::new();
    let contents = [Content::Zeros, mixed(50), Content::Incompressible];
    let [given, stored, _] = growth(&mut host, |host| {
        let result = done(host, job(&contents));
        names = result.phases.iter().map(|phase| phase.name.clone()).collect();
        for phase in &result.phases {
            let counters = &phase.record.counters;
            assert!(counters["packing_bytes_in"] <= SPAN_BYTES * 101 / 100, "{}: {counters:?}", phase.name);
        }
    });
    assert_eq!(names, ["phase 0", "phase 1", "phase 2"]);
    println!("{given} bytes given, {stored} stored");
    assert!(stored.abs_diff(SPAN_BYTES * 13 / 8) < SPAN_BYTES / 50, "{stored}");
}

#[test]
fn tasks_of_one_phase_with_different_contents_are_refused() {
    let mut job = job(&[Content::Zeros, Content::Incompressible]);
    let second = job.phases.remove(1).work.remove(0);
    job.phases[0].work.push(second);
    let error = run_job(&mut packing_host(512), job, &mut |_, _| false).expect_err("refused").to_string();
    assert!(error.contains("content") && error.contains("Zeros and Incompressible"), "{error}");
}

#[test]
fn files_of_metadata_workloads_do_not_compress() {
    let mut host = packing_host(512);
    let content = growth(&mut host, |host| {
        done(host, job(&[Content::Zeros]));
    });
    assert!(share(content) < 0.14, "{content:?}");
    let metadata = Metadata {
        operation: MetadataOp::Create,
        files: 400,
        file_bytes: 65536,
        place: Place::Given,
        ..Metadata::default()
    };
    let work = FileWork::Names {
        base: String::new(),
        metadata: Box::new(metadata),
        part: NamesPart::Operate { worker: 0 },
        handle: FIRST_HANDLE,
    };
    let job = FileJob { phases: vec![FilePhase { name: "create".to_owned(), timed: true, work: vec![work] }] };
    let files = growth(&mut host, |host| drop(done(host, job)));
    assert!(files[0] >= 400 * 65536, "{files:?}");
    assert!((share(files) - 1.0).abs() < 0.001, "{files:?}");
}

#[test]
fn duplicates_change_nothing_below_a_host() {
    let states = [0, 70].map(|duplicate_percent| {
        let mut host = prepared(512);
        let content = Content::Mixed { compressible_percent: 30, duplicate_percent };
        do_run(&mut host, &writing(content, 1 << 20), false);
        host.save()
    });
    assert!(states[0] == states[1]);
    // Nor do they without one, as long as the drive does not look for them.
    let stored = [0, 70].map(|duplicate_percent| {
        let mut bare = Drive::new(packing_drive(512));
        let writing = writing(Content::Mixed { compressible_percent: 30, duplicate_percent }, 1 << 20);
        let record = mileage_drive::run(&mut bare, &writing, &mut NoObserver, &mut |_, _| false).expect("a run");
        (record.counters["packing_bytes_stored"], record.elapsed_ns)
    });
    assert_eq!(stored[0], stored[1]);
}

#[test]
fn the_content_changes_nothing_on_a_drive_that_does_not_compress() {
    let states = [Content::Incompressible, Content::Zeros].map(|content| {
        let mut host = small_host(&[]);
        host.make_work_file(2 * SPAN_BYTES).expect("a work file");
        host.trace_calls();
        do_run(&mut host, &writing(Content::Incompressible, 1 << 20), false);
        do_run(&mut host, &writing(content, 1 << 20), false);
        done(&mut host, job(&[Content::Incompressible, content]));
        assert!(host.take_calls().iter().all(|(_, call)| !matches!(call, Call::SyncAll)));
        host.save()
    });
    assert!(states[0] == states[1]);
}
