//! What a run is asked to use is compared with what it opens; something else is refused and keeps its content.

use crate::scratch::{file_of, plain, run};
use mileage_engine::{Error, Group, Identity, Iozone, MetadataOptions, Options, start, start_iozone, start_metadata};
use mileage_workload::{Files, Metadata, Stop, Workload};
use std::fs::{hard_link, read, remove_file, rename, write};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

const BYTES: usize = 4 << 20;

fn identity_of(path: &Path) -> Identity {
    let found = std::fs::metadata(path).unwrap();
    serde_json::from_value(serde_json::json!({ "device": found.dev(), "inode": found.ino() })).unwrap()
}

/// Puts the file at the first path at the second one.
type Replace = fn(&Path, &Path);

fn replacements() -> [(&'static str, Replace); 3] {
    [
        ("a hard link", |victim, path| hard_link(victim, path).unwrap()),
        ("a symbolic link", |victim, path| symlink(victim, path).unwrap()),
        ("a file that was moved there", |victim, path| rename(victim, path).unwrap()),
    ]
}

/// A victim, and where it is read after it was put at `path`.
fn put(path: &Path, replace: Replace) -> PathBuf {
    let victim = path.with_extension("victim");
    write(&victim, vec![7; BYTES]).unwrap();
    remove_file(path).unwrap();
    replace(&victim, path);
    if victim.exists() { victim } else { path.to_owned() }
}

#[test]
fn a_file_that_was_replaced_is_not_written() {
    for (what, replace) in replacements() {
        let (_folder, path) = file_of(BYTES);
        let kept = std::fs::File::open(&path).unwrap();
        let options = Options { expects: vec![identity_of(&path)], ..Options::new(&path) };
        assert_eq!(run(plain(), options.clone()).record.error, None);
        let victim = put(&path, replace);
        let refused = start(plain(), options).expect_err(what);
        assert!(matches!(refused, Error::Replaced { .. }), "{what}: {refused}");
        assert!(!refused.to_string().contains('\n'));
        assert_eq!(read(&victim).unwrap(), vec![7; BYTES], "{what}");
        drop(kept);
    }
}

#[test]
fn each_threads_file_is_compared() {
    let (folder, path) = file_of(BYTES);
    let of = |thread: u32| folder.path().join(format!("{}.{thread}", path.file_name().unwrap().display()));
    let files: Vec<_> = (0..3).map(of).collect();
    files.iter().for_each(|file| write(file, vec![0; BYTES]).unwrap());
    let expects: Vec<_> = files.iter().map(|file| identity_of(file)).collect();
    let workload = Workload { threads: 3, files: Files::PerThread, ..plain() };
    let options = Options { expects, ..Options::new(&path) };
    assert_eq!(run(workload.clone(), options.clone()).record.error, None);
    rename(&files[1], folder.path().join("kept")).unwrap();
    rename(&files[2], &files[1]).unwrap();
    let refused = start(workload, options).expect_err("the file of another thread").to_string();
    assert!(refused.contains("was replaced: found another file"), "{refused}");
}

#[test]
fn a_file_is_made_in_the_directory_that_was_compared() {
    let (folder, path) = file_of(BYTES);
    let place = folder.path().join("place");
    std::fs::create_dir(&place).unwrap();
    let workload = Workload { stop: Stop { operations: Some(10), ..Stop::default() }, ..plain() };
    let made = place.join("made");
    let options = Options { create: true, directory: Some(identity_of(&place)), ..Options::new(&made) };
    assert_eq!(run(workload.clone(), options.clone()).record.error, None);
    assert!(made.exists());
    remove_file(&made).unwrap();

    for (what, replace) in [replacements()[0], replacements()[1]] {
        write(&path, vec![7; BYTES]).unwrap();
        replace(&path, &made);
        assert!(matches!(start(workload.clone(), options.clone()), Err(Error::Replaced { .. })), "{what}");
        assert_eq!(read(&path).unwrap(), vec![7; BYTES], "{what}");
        remove_file(&made).unwrap();
    }
    rename(&place, folder.path().join("moved")).unwrap();
    std::fs::create_dir(&place).unwrap();
    assert!(matches!(start(workload, options), Err(Error::Replaced { .. })));
    assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0);
}

#[test]
fn names_are_made_in_the_directory_that_was_compared() {
    let (folder, _path) = file_of(BYTES);
    let place = folder.path().join("place");
    std::fs::create_dir(&place).unwrap();
    let options = MetadataOptions { within: Some((place.clone(), identity_of(&place))), ..MetadataOptions::default() };
    let metadata = Metadata { files: 10, ..Metadata::default() };
    let job = start_metadata(metadata.clone(), &place, options.clone()).unwrap();
    let record = loop {
        if let Some(done) = job.wait(std::time::Duration::from_secs(1)) {
            break done.unwrap();
        }
    };
    assert_eq!(record.error, None);
    rename(&place, folder.path().join("moved")).unwrap();
    std::fs::create_dir(&place).unwrap();
    assert!(matches!(start_metadata(metadata, &place, options), Err(Error::Replaced { .. })));
    assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0);
}

#[test]
fn tests_of_iozone_neither_write_through_a_link_nor_empty_a_file_with_other_names() {
    let (folder, path) = file_of(BYTES);
    let place = folder.path().join("place");
    std::fs::create_dir(&place).unwrap();
    let suite = Iozone { tests: vec![Group::Write], directory: Some(identity_of(&place)), ..Iozone::default() };
    for mode in [mileage_engine::Mode::Intended, mileage_engine::Mode::Fidelity] {
        let suite = Iozone { mode, ..suite.clone() };
        for (what, replace) in [replacements()[0], replacements()[1]] {
            write(&path, vec![7; BYTES]).unwrap();
            let named = place.join("named");
            replace(&path, &named);
            let job = start_iozone(suite.clone(), &named).unwrap();
            while job.wait(std::time::Duration::from_secs(1)).is_none() {}
            assert_eq!(read(&path).unwrap(), vec![7; BYTES], "{mode:?}: {what}");
            let _ = remove_file(&named);
        }
    }
}
