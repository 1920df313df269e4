//! The system calls of a metadata run, in the forms that metarates and mdtest make them.

use crate::scratch::folder;
use crate::strace::{Call, traced};
use mileage_workload::{CreateCall, Directories, Metadata, MetadataOp, Names, Paths, Place, SetUp};
use std::path::{Path, PathBuf};

const KINDS: &str = "openat,fsync,close,unlinkat,mkdirat,mkdir,newfstatat,utimensat,renameat";

fn calls(test: &str, metadata: &Metadata, directory: &Path, mark: &str) -> Option<Vec<Call>> {
    let json = serde_json::to_string(metadata).unwrap();
    let (_, calls) = traced(test, KINDS, "one_job", &["metadata", directory.to_str().unwrap(), &json])?;
    Some(calls.into_iter().filter(|call| call.arguments.contains(mark)).collect())
}

fn subdirectory(folder: &tempfile::TempDir, name: &str) -> PathBuf {
    let directory = folder.path().join(name);
    std::fs::create_dir(&directory).unwrap();
    directory
}

fn like_metarates(operation: MetadataOp) -> Metadata {
    Metadata {
        operation,
        files: 4,
        threads: 2,
        names: Names { item: "n{worker}f{item}".to_owned(), directory: "{worker}".to_owned(), ..Names::default() },
        directories: Directories::PerWorker,
        create_with: CreateCall::Truncating,
        paths: Paths::Full,
        place: Place::Given,
        ..Metadata::default()
    }
}

#[test]
fn metarates_creates() {
    let folder = folder();
    let directory = subdirectory(&folder, "junk");
    let metadata = Metadata { fsync: true, ..like_metarates(MetadataOp::Create) };
    let Some(calls) = calls("metarates_creates", &metadata, &directory, "n1f") else { return };
    let (at, here) = (directory.display(), std::env::current_dir().unwrap());
    let mut expected = Vec::new();
    for item in 0..2 {
        let path = format!("{at}/1/n1f{item}");
        expected.push(format!("openat(AT_FDCWD<{}>, \"{path}\", O_WRONLY|O_CREAT|O_TRUNC, 0666)", here.display()));
        expected.extend(["fsync", "close"].map(|call| format!("{call}(#<{path}>)")));
    }
    let unlink = |item| format!("unlinkat(AT_FDCWD<{}>, \"{at}/1/n1f{item}\", 0)", here.display());
    expected.extend((0..2).map(unlink));
    assert_eq!(calls.iter().map(Call::text).collect::<Vec<_>>(), expected);
    assert!(calls.iter().all(|call| call.tid == calls[0].tid), "one thread makes and removes its own");
}

#[test]
fn metarates_looks_at_what_the_first_made() {
    let test = "metarates_looks_at_what_the_first_made";
    let folder = folder();
    let directory = subdirectory(&folder, "junk");
    for (operation, name) in [(MetadataOp::Stat, "newfstatat"), (MetadataOp::Utime, "utimensat")] {
        let metadata = Metadata { set_up: SetUp::First, ..like_metarates(operation) };
        let Some(calls) = calls(test, &metadata, &directory, "/junk/") else { return };
        let created: Vec<&Call> = calls.iter().filter(|call| call.arguments.contains("O_CREAT")).collect();
        let names: Vec<&str> = created.iter().map(|call| call.arguments.split('"').nth(1).unwrap()).collect();
        let ends = ["1/n1f0", "1/n1f1", "0/n0f0", "0/n0f1"];
        assert!(names.iter().zip(ends).all(|(name, end)| name.ends_with(end)), "{names:?}");
        assert!(created.iter().all(|call| call.tid == created[0].tid));
        let timed: Vec<&Call> = calls.iter().filter(|call| call.name == name).collect();
        assert_eq!(timed.len(), 4);
        assert!(timed.iter().any(|call| call.tid != created[0].tid), "each looks at its own");
        let form = if operation == MetadataOp::Utime { "UTIME_NOW" } else { "st_size=0" };
        assert!(timed.iter().all(|call| call.arguments.contains(form)), "{timed:?}");
    }
}

#[test]
fn mdtest_creates_and_opens_another_workers_files() {
    let test = "mdtest_creates_and_opens_another_workers_files";
    let folder = folder();
    let directory = subdirectory(&folder, "out");
    let like = |operation| Metadata {
        operation,
        files: 6,
        threads: 3,
        names: Names { item: "file.mdtest.{worker}.{item}".to_owned(), ..Names::default() },
        create_with: CreateCall::ReadWrite,
        place: Place::Given,
        ..Metadata::default()
    };
    let Some(created) = calls(test, &like(MetadataOp::Create), &directory, "\"file.mdtest.2.0") else { return };
    let expected = format!("openat(#<{}>, \"file.mdtest.2.0\", O_RDWR|O_CREAT, 0664)", directory.display());
    assert_eq!(created[0].text(), expected, "relative to the worker's own descriptor");
    let strided = Metadata { stride_workers: 1, ..like(MetadataOp::Open) };
    let Some(calls) = calls(test, &strided, &directory, "\"file.mdtest") else { return };
    let maker = |name: &str| calls.iter().find(|call| call.arguments.contains(name)).unwrap().tid;
    let opened: Vec<&Call> = calls.iter().filter(|call| call.arguments.contains("O_RDONLY")).collect();
    assert_eq!(opened.len(), 6);
    for call in opened {
        let name = call.arguments.split('"').nth(1).unwrap();
        assert_ne!(call.tid, maker(name), "{name} is opened by another thread than the one that made it");
    }
}

#[test]
fn the_other_operations_are_one_call_each() {
    let test = "the_other_operations_are_one_call_each";
    let folder = folder();
    let directory = subdirectory(&folder, "out");
    for (operation, name, form) in [
        (MetadataOp::Unlink, "unlinkat", "\"f0.1\", 0"),
        (MetadataOp::Mkdir, "mkdirat", "\"f0.1\", 0755"),
        (MetadataOp::Rmdir, "unlinkat", "\"f0.1\", AT_REMOVEDIR"),
        (MetadataOp::Rename, "renameat", "\"f0.1.renamed\""),
    ] {
        let metadata = Metadata { operation, files: 2, place: Place::Given, ..Metadata::default() };
        let Some(calls) = calls(test, &metadata, &directory, form) else { return };
        assert_eq!(calls[0].name, name, "{operation:?}: {calls:?}");
        assert_eq!(calls[0].result, "0");
    }
}
