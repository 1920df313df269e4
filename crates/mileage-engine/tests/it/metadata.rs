//! A metadata run does what it says, counts it, and leaves the directory as it found it, however it ends.

use crate::freezing::Freezable;
use crate::scratch::folder;
use mileage_engine::{Job, MetadataOptions, start_metadata};
use mileage_measure::RunRecord;
use mileage_workload::{Directories, Items, Metadata, MetadataOp, MetadataOrder, Paths, Place, SetUp, Tree};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const OPERATIONS: [MetadataOp; 10] = [
    MetadataOp::Create,
    MetadataOp::Open,
    MetadataOp::Read,
    MetadataOp::Stat,
    MetadataOp::Utime,
    MetadataOp::Rename,
    MetadataOp::Unlink,
    MetadataOp::Mkdir,
    MetadataOp::Rmdir,
    MetadataOp::Readdir,
];

fn finish(job: &Job<RunRecord>) -> RunRecord {
    job.wait(Duration::from_secs(60)).expect("the run ends within a minute").expect("is not void")
}

fn run(metadata: Metadata, directory: &Path) -> RunRecord {
    finish(&start_metadata(metadata, directory, MetadataOptions::default()).unwrap())
}

/// Names in a directory and all below it, directories with a slash.
fn everything_in(directory: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            let inside = everything_in(&entry.path());
            names.extend(inside.into_iter().map(|below| format!("{name}/{below}")));
            names.push(name + "/");
        } else {
            names.push(name);
        }
    }
    names.sort();
    names
}

fn of(operation: MetadataOp) -> Metadata {
    let file_bytes = if operation == MetadataOp::Read { 5000 } else { 0 };
    Metadata { operation, files: 101, threads: 3, file_bytes, ..Metadata::default() }
}

#[test]
fn each_operation_is_counted_and_leaves_nothing() {
    let folder = folder();
    let layouts: [fn(&mut Metadata); 4] = [
        |_| {},
        |m| (m.directories, m.paths) = (Directories::PerWorker, Paths::Full),
        |m| m.tree = Tree { depth: 2, fan_out: 3, leaves_only: true },
        |m| {
            (m.directories, m.order) = (Directories::PerWorker, MetadataOrder::Shuffled);
            m.tree = Tree { depth: 1, fan_out: 2, leaves_only: false };
        },
    ];
    for (operation, layout) in OPERATIONS.iter().flat_map(|op| layouts.iter().map(move |layout| (*op, layout))) {
        let mut metadata = of(operation);
        layout(&mut metadata);
        let record = run(metadata.clone(), folder.path());
        assert_eq!(record.error, None, "{operation:?}");
        let expected = match operation {
            MetadataOp::Readdir if metadata.directories == Directories::Shared => {
                3 * if metadata.tree.depth == 0 { 1 } else { 9 }
            }
            MetadataOp::Readdir => metadata.directories_total(),
            _ => 101,
        };
        assert_eq!(record.ops_metadata, expected, "{operation:?}");
        assert_eq!(record.latency.metadata.count, expected);
        assert_eq!(record.series.ops.iter().sum::<u64>(), expected);
        assert_eq!(record.threads.iter().map(|thread| thread.ops_metadata).sum::<u64>(), expected);
        assert_eq!(record.bytes_read, if operation == MetadataOp::Read { 101 * 5000 } else { 0 });
        assert_eq!(everything_in(folder.path()), Vec::<String>::new(), "{operation:?}");
        let done = record.concurrency.expect("three workers");
        assert!(done.first_done_ops >= expected / 3 && done.first_done_ops <= expected, "{done:?}");
        assert!(record.threads.iter().all(|thread| thread.elapsed_ns <= record.elapsed_ns));
    }
}

fn trees(operation: MetadataOp) -> Metadata {
    Metadata {
        on: Items::Tree,
        directories: Directories::PerWorker,
        tree: Tree { depth: 3, fan_out: 4, leaves_only: false },
        files: 2 * 85,
        threads: 2,
        ..of(operation)
    }
}

#[test]
fn a_tree_is_made_and_removed_whole() {
    let folder = folder();
    for operation in [MetadataOp::Mkdir, MetadataOp::Rmdir] {
        let record = run(trees(operation), folder.path());
        assert_eq!((record.error, record.ops_metadata), (None, 170), "{operation:?}");
        assert_eq!(everything_in(folder.path()), Vec::<String>::new(), "{operation:?}");
    }
    let there = |operation, set_up| Metadata { place: Place::Given, keep: true, set_up, ..trees(operation) };
    assert_eq!(run(there(MetadataOp::Mkdir, SetUp::Owner), folder.path()).ops_metadata, 170);
    let made = everything_in(folder.path());
    assert_eq!(made.len(), 170);
    assert!(made.contains(&"w1/d4/d20/d84/".to_owned()), "{made:?}");
    let again = run(there(MetadataOp::Mkdir, SetUp::Owner), folder.path());
    assert_eq!((again.error.unwrap().kind.as_str(), again.ops_metadata), ("EEXIST", 0));
    let removed = run(there(MetadataOp::Rmdir, SetUp::Existing), folder.path());
    assert_eq!((removed.error, removed.ops_metadata), (None, 170));
    assert_eq!(everything_in(folder.path()), Vec::<String>::new());
    let missing = run(there(MetadataOp::Rmdir, SetUp::Existing), folder.path());
    assert_eq!(missing.error.unwrap().kind, "ENOENT", "what is not there is not made to be removed");
    for operation in [MetadataOp::Mkdir, MetadataOp::Rmdir] {
        let cut = run(Metadata { time_ns: Some(1), ..trees(operation) }, folder.path());
        assert!(cut.ops_metadata < 170);
        assert_eq!(everything_in(folder.path()), Vec::<String>::new(), "{operation:?} cut short leaves nothing");
    }
}

/// A file is in the way of the tree: what was made is removed, the file stays.
#[test]
fn a_tree_that_meets_a_file_is_removed_again() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("w0")).unwrap();
    std::fs::write(folder.path().join("w1"), "mine").unwrap();
    let record = run(Metadata { place: Place::Given, ..trees(MetadataOp::Mkdir) }, folder.path());
    assert_eq!(record.error.unwrap().kind, "EEXIST");
    assert_eq!(everything_in(folder.path()), ["w0/", "w1"]);
}

#[test]
fn readdir_finds_every_file_and_directory() {
    let folder = folder();
    let tree = Tree { depth: 1, fan_out: 3, leaves_only: false };
    let record = run(Metadata { tree, passes: 2, threads: 1, ..of(MetadataOp::Readdir) }, folder.path());
    assert_eq!((record.ops_metadata, record.counters["entries"]), (2 * 4, 2 * (101 + 3)));
}

#[test]
fn files_have_their_size_and_no_two_blocks_are_equal() {
    let folder = folder();
    let metadata = Metadata {
        file_bytes: 10_000,
        fsync: true,
        place: Place::Given,
        keep: true,
        directories: Directories::PerWorker,
        ..of(MetadataOp::Create)
    };
    let record = run(metadata, folder.path());
    assert_eq!((record.bytes_written, record.ops_metadata), (1_010_000, 101));
    let mut blocks = std::collections::HashSet::new();
    let names = everything_in(folder.path());
    for name in names.iter().filter(|name| !name.ends_with('/')) {
        let bytes = std::fs::read(folder.path().join(name)).unwrap();
        assert_eq!(bytes.len(), 10_000);
        bytes.chunks(4096).for_each(|block| assert!(blocks.insert(block.to_vec()), "{name} repeats a block"));
    }
    assert_eq!(blocks.len(), 303);
}

#[test]
fn one_set_of_files_serves_several_runs_in_turn() {
    let folder = folder();
    let kept = |operation| Metadata { place: Place::Given, keep: true, ..of(operation) };
    assert_eq!(run(kept(MetadataOp::Create), folder.path()).ops_metadata, 101);
    assert_eq!(everything_in(folder.path()).len(), 101);
    for operation in [MetadataOp::Stat, MetadataOp::Utime, MetadataOp::Open, MetadataOp::Readdir] {
        let others = Metadata { set_up: SetUp::Existing, stride_workers: 2, ..kept(operation) };
        assert_eq!(run(others, folder.path()).error, None);
    }
    let removing = Metadata { set_up: SetUp::Existing, ..kept(MetadataOp::Unlink) };
    let record = run(Metadata { keep: false, ..removing.clone() }, folder.path());
    assert_eq!((record.ops_metadata, everything_in(folder.path()).len()), (101, 0));
    let error = run(removing, folder.path()).error.unwrap();
    assert_eq!(error.kind, "ENOENT");
    assert!(error.message.contains("did an earlier run keep these files"), "{}", error.message);
}

#[test]
fn a_strangers_file_is_neither_overwritten_nor_removed() {
    let folder = folder();
    std::fs::write(folder.path().join("f0.7"), "precious").unwrap();
    let metadata = Metadata { place: Place::Given, threads: 1, ..of(MetadataOp::Create) };
    for metadata in [metadata.clone(), Metadata { operation: MetadataOp::Stat, ..metadata }] {
        let record = run(metadata.clone(), folder.path());
        let error = record.error.unwrap();
        assert_eq!(error.kind, "EEXIST");
        let when = if metadata.operation == MetadataOp::Stat { "set-up: " } else { "" };
        let path = folder.path().join("f0.7");
        let expected = format!("{when}create of {}: File exists (EEXIST)", path.display());
        assert!(error.message.starts_with(&expected), "{}: expected {expected}", error.message);
        assert_eq!(record.ops_metadata, if metadata.operation == MetadataOp::Stat { 0 } else { 7 });
        assert_eq!(everything_in(folder.path()), ["f0.7"]);
        assert_eq!(std::fs::read_to_string(path).unwrap(), "precious");
    }
}

#[test]
fn the_first_worker_may_make_all_files() {
    let folder = folder();
    for operation in [MetadataOp::Stat, MetadataOp::Rename, MetadataOp::Unlink] {
        let metadata = Metadata { set_up: SetUp::First, stride_workers: 1, ..of(operation) };
        assert_eq!(run(metadata, folder.path()).ops_metadata, 101);
        assert_eq!(everything_in(folder.path()).len(), 0);
    }
    let directories = Metadata { on: Items::Directories, ..of(MetadataOp::Rename) };
    assert_eq!(run(directories, folder.path()).ops_metadata, 101);
    assert_eq!(everything_in(folder.path()).len(), 0);
}

#[test]
fn an_interrupted_run_removes_what_it_made() {
    let folder = folder();
    for operation in [MetadataOp::Create, MetadataOp::Stat] {
        let order = MetadataOrder::Shuffled;
        let metadata = Metadata { files: 30_000_000, threads: 2, order, ..of(operation) };
        let job = start_metadata(metadata, folder.path(), MetadataOptions::default()).unwrap();
        assert_eq!(job.wait(Duration::from_millis(100)), None);
        while operation == MetadataOp::Create && job.progress().operations == 0 {
            assert_eq!(job.wait(Duration::from_millis(20)), None);
        }
        job.stop();
        let record = finish(&job);
        assert!(record.interrupted && record.error.is_none() && record.notes.iter().all(|note| !note.contains("left")));
        assert_eq!(record.ops_metadata > 0, operation == MetadataOp::Create, "the other is still at its set-up");
        assert_eq!(everything_in(folder.path()).len(), 0);
    }
}

#[test]
fn interrupted_twice_it_says_what_is_left() {
    let folder = folder();
    let metadata = Metadata { files: 30_000_000, threads: 1, ..of(MetadataOp::Create) };
    let job = start_metadata(metadata, folder.path(), MetadataOptions::default()).unwrap();
    while job.progress().operations < 2000 {
        assert_eq!(job.wait(Duration::from_millis(20)), None);
    }
    job.stop();
    job.stop();
    let record = finish(&job);
    let left = everything_in(folder.path()).iter().filter(|name| !name.ends_with('/')).count() as u64;
    assert!(left > 0);
    assert_eq!(record.counters["files_left"], left);
    let note = record.notes.iter().find(|note| note.contains("files are left in")).unwrap();
    assert!(note.starts_with(&left.to_string()) && note.ends_with("interrupted a second time"), "{note}");
}

#[test]
fn time_ends_a_run_and_that_is_no_interruption() {
    let folder = folder();
    let metadata = Metadata {
        files: 200,
        passes: u32::MAX,
        time_ns: Some(100_000_000),
        threads: 2,
        order: MetadataOrder::Shuffled,
        ..of(MetadataOp::Stat)
    };
    let record = run(metadata, folder.path());
    assert!(record.ops_metadata > 0 && record.ops_metadata < 200 * u64::from(u32::MAX), "{record:?}");
    assert!(!record.interrupted && record.error.is_none() && record.concurrency.is_none());
    assert_eq!(everything_in(folder.path()).len(), 0);
}

/// A small file system, unmounted whatever happens.
struct Mount(tempfile::TempDir);

impl Mount {
    fn tmpfs(test: &str, options: &str) -> Option<Self> {
        let folder = folder();
        let mount =
            Command::new("mount").args(["-t", "tmpfs", "-o", options, "mileage-test"]).arg(folder.path()).output();
        if !mount.is_ok_and(|output| output.status.success()) {
            eprintln!("skipped {test}: mounting a tmpfs needs root");
            return None;
        }
        Some(Self(folder))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(self.0.path()).status().is_ok_and(|status| status.success());
        assert!(unmounted || std::thread::panicking(), "{} is still mounted", self.0.path().display());
    }
}

#[test]
fn a_full_file_system_ends_the_run_with_its_name() {
    let test = "a_full_file_system_ends_the_run_with_its_name";
    let Some(small) = Mount::tmpfs(test, "size=1m,nr_inodes=60") else { return };
    let before = everything_in(small.0.path());
    for metadata in [
        of(MetadataOp::Create),
        of(MetadataOp::Stat),
        Metadata { file_bytes: 40_000, threads: 1, ..of(MetadataOp::Create) },
        Metadata { tree: Tree { depth: 1, fan_out: 90, leaves_only: false }, ..of(MetadataOp::Create) },
    ] {
        let record = run(metadata.clone(), small.0.path());
        let error = record.error.as_ref().unwrap();
        assert_eq!(error.kind, "ENOSPC", "{metadata:?}: {error:?}");
        let set_up = metadata.operation == MetadataOp::Stat || metadata.tree.depth > 0;
        assert_eq!((record.ops_metadata == 0, error.message.starts_with("set-up: ")), (set_up, set_up), "{error:?}");
        assert_eq!(everything_in(small.0.path()), before, "a file that could not be filled is removed as well");
    }
}

#[test]
fn a_directory_that_cannot_be_used_is_refused() {
    let folder = folder();
    let missing =
        start_metadata(of(MetadataOp::Create), folder.path().join("none"), MetadataOptions::default()).unwrap_err();
    assert!(missing.is_refusal() && missing.to_string().contains("(ENOENT)"), "{missing}");
    std::fs::write(folder.path().join("file"), "").unwrap();
    let file =
        start_metadata(of(MetadataOp::Create), folder.path().join("file"), MetadataOptions::default()).unwrap_err();
    assert!(file.is_refusal() && file.to_string().contains("(ENOTDIR)"), "{file}");
    let nothing =
        start_metadata(Metadata { files: 0, ..of(MetadataOp::Create) }, folder.path(), MetadataOptions::default())
            .unwrap_err();
    assert!(nothing.is_refusal(), "{nothing}");
}

#[test]
fn a_target_that_no_longer_answers_ends_the_run() {
    let test = "a_target_that_no_longer_answers_ends_the_run";
    let Some(target) = Freezable::ext4(test) else { return };
    let metadata = Metadata { files: 100, passes: u32::MAX, threads: 2, ..of(MetadataOp::Utime) };
    let options = MetadataOptions { timeout_ns: 300_000_000, ..MetadataOptions::default() };
    let job = start_metadata(metadata, target.point(), options).unwrap();
    while job.progress().operations == 0 {
        assert_eq!(job.wait(Duration::from_millis(20)), None);
    }
    target.freeze();
    let record = finish(&job);
    let error = record.error.as_ref().unwrap();
    assert_eq!(error.kind, "ETIMEDOUT");
    assert!(error.message.contains("has not returned for 0.3 s"), "{}", error.message);
    assert!(record.ops_metadata > 0 && record.latency.metadata.count == record.ops_metadata, "what was done is kept");
    assert!(record.notes.iter().any(|note| note.contains("left in")), "{:?}", record.notes);
    assert!(!record.interrupted);
}

/// Whole paths would be longer than the kernel takes; from the directory above they are not.
#[test]
fn files_are_named_from_a_directory_above_however_deep_it_lies() {
    let folder = folder();
    let mut above = folder.path().to_owned();
    while above.as_os_str().len() < 3_900 {
        above.push("d".repeat(100));
    }
    let given = above.join("run");
    std::fs::create_dir_all(&given).unwrap();
    let options = MetadataOptions { names_from: Some(above.clone()), ..MetadataOptions::default() };
    for operation in OPERATIONS {
        let mut metadata = Metadata { paths: Paths::Full, place: Place::Given, ..of(operation) };
        metadata.names.item = format!("{}{{worker}}.{{item}}", "n".repeat(200));
        let whole = start_metadata(metadata.clone(), &given, MetadataOptions::default());
        let failed = whole.map_or(true, |job| finish(&job).error.is_some());
        assert!(failed || operation == MetadataOp::Readdir, "{operation:?} of paths that are too long");
        let record = finish(&start_metadata(metadata.clone(), &given, options.clone()).unwrap());
        assert_eq!(record.error, None, "{operation:?}");
        assert!(record.ops_metadata > 0);
        assert_eq!(everything_in(&above), ["run/"], "{operation:?}");
    }
    let missing = Metadata { set_up: SetUp::Existing, paths: Paths::Full, place: Place::Given, ..of(MetadataOp::Stat) };
    let record = finish(&start_metadata(missing, &given, options.clone()).unwrap());
    let message = record.error.unwrap().message;
    assert!(message.contains(&format!("{}/", given.display())), "a message has the whole path: {message}");
    for wrong in [folder.path().join("elsewhere"), given.clone()] {
        let options = MetadataOptions { names_from: Some(wrong), ..options.clone() };
        let metadata = Metadata { paths: Paths::Full, place: Place::Given, ..of(MetadataOp::Stat) };
        let refused = start_metadata(metadata, &given, options).unwrap_err().to_string();
        assert!(refused.contains("from a directory above"), "{refused}");
    }
}
