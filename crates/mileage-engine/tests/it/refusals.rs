//! What cannot be honoured is refused before anything is done.

use crate::scratch::{file_of, folder, has_direct, plain};
use mileage_engine::{Advice, Api, Error, Options, start};
use mileage_workload::{Stop, Verify, Workload};
use std::path::Path;

fn refusal(workload: Workload, options: Options) -> String {
    let error = start(workload, options).expect_err("refused");
    assert!(error.is_refusal(), "{error:?}");
    let text = error.to_string();
    assert!(!text.contains('\n'), "one line: {text}");
    text
}

fn reads() -> Workload {
    Workload { read_percent: 100, ..plain() }
}

#[test]
fn depth() {
    let (_folder, path) = file_of(4 << 20);
    assert_eq!(
        refusal(Workload { depth: 8, ..plain() }, Options::new(path)),
        "depth is 8: positioned keeps one operation per thread outstanding; use threads = 8, or the API uring"
    );
}

#[test]
fn a_workload_that_is_not_valid() {
    let (_folder, path) = file_of(4 << 20);
    let endless = Workload { stop: Stop::default(), ..plain() };
    assert!(refusal(endless, Options::new(path)).starts_with("no stop rule"));
}

#[test]
fn what_is_not_storage() {
    let folder = folder();
    let at = |path: &Path| refusal(plain(), Options { create: true, ..Options::new(path) });
    assert_eq!(
        at(folder.path()),
        format!("{} is a directory: expected a regular file or a block device", folder.path().display())
    );
    assert!(at(Path::new("/dev/null")).contains("is a character device"));
    let fifo = folder.path().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    assert!(at(&fifo).contains("is a FIFO"));
}

#[test]
fn a_file_that_is_not_there() {
    let folder = folder();
    let path = folder.path().join("absent");
    assert_eq!(
        refusal(plain(), Options::new(&path)),
        format!(
            "cannot open {}: No such file or directory (ENOENT): lay the file out first, or let the run create it",
            path.display()
        )
    );
    assert!(refusal(reads(), Options { create: true, ..Options::new(&path) }).contains("ENOENT"));
    assert!(!path.exists());
}

#[test]
fn a_file_that_is_too_small() {
    let (_folder, path) = file_of(1 << 20);
    let text = refusal(plain(), Options::new(&path));
    assert_eq!(
        text,
        format!(
            "{} has 1048576 bytes (1 MiB), the workload's span ends at 4194304 bytes (4 MiB): lay the file out first, or choose a smaller span",
            path.display()
        )
    );
    assert_eq!(refusal(reads(), Options { create: true, ..Options::new(&path) }), text);
    let beyond = Workload { span_start_bytes: 1 << 40, ..reads() };
    assert!(refusal(beyond, Options::new(&path)).contains("1099515822080 bytes (1.00 TiB)"));
}

#[test]
fn records_that_direct_io_cannot_carry() {
    if !has_direct("records_that_direct_io_cannot_carry", 4096) {
        return;
    }
    // Every target's sector is 512 bytes or more.
    let (folder, path) = file_of(4 << 20);
    let stop = Stop { operations: Some(8), ..Stop::default() };
    let odd = Workload { record_bytes: 1000, span_bytes: 1_000_000, stop, ..plain() };
    assert!(
        refusal(odd, Options { direct: true, ..Options::new(path) })
            .starts_with("record_bytes is 1000 bytes, O_DIRECT")
    );
    // A loop device of 4 KiB sectors has an alignment above 512.
    let Some(device) = Loop::attach(&folder.path().join("disk")) else { return };
    let small = Workload { record_bytes: 512, ..plain() };
    assert_eq!(
        refusal(small, Options { direct: true, ..Options::new(&device.0) }),
        format!("record_bytes is 512 bytes, O_DIRECT on {} needs a multiple of 4096 bytes", device.0)
    );
    let shifted = Workload { record_bytes: 12_288, span_bytes: 12_288, span_start_bytes: 12_288, ..plain() };
    let shifted = Workload { stop: Stop { operations: Some(1), ..Stop::default() }, ..shifted };
    assert!(
        start(shifted, Options { direct: true, ..Options::new(&device.0) }).is_ok(),
        "a multiple of 4096 is honoured"
    );
}

/// A block device over a file, detached whatever happens.
pub struct Loop(pub String);

impl Loop {
    pub fn attach(file: &Path) -> Option<Self> {
        Self::attach_of(file, 8 << 20)
    }

    pub fn attach_of(file: &Path, bytes: u64) -> Option<Self> {
        std::fs::File::create(file).unwrap().set_len(bytes).unwrap();
        let output = std::process::Command::new("losetup")
            .args(["--find", "--show", "--sector-size", "4096"])
            .arg(file)
            .output()
            .ok()
            .filter(|output| output.status.success());
        if output.is_none() {
            eprintln!("skipped the part on a loop device: none could be attached");
        }
        output.map(|output| Self(String::from_utf8(output.stdout).unwrap().trim().to_owned()))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let detached = std::process::Command::new("losetup").args(["--detach", &self.0]).status();
        assert!(detached.is_ok_and(|status| status.success()) || std::thread::panicking(), "{} is attached", self.0);
    }
}

#[test]
fn a_block_device_that_is_held() {
    let folder = folder();
    let Some(device) = Loop::attach(&folder.path().join("disk")) else { return };
    let made = std::process::Command::new("mkfs.ext4").args(["-q", "-F", &device.0]).status();
    let mounted = made.is_ok_and(|status| status.success())
        && std::process::Command::new("mount").arg(&device.0).arg(folder.path()).status().unwrap().success();
    if !mounted {
        eprintln!("skipped a_block_device_that_is_held: no ext4 could be mounted");
        return;
    }
    let written = start(plain(), Options::new(&device.0)).err().map(|error| error.to_string());
    let read = start(reads(), Options::new(&device.0)).map(|handle| crate::scratch::finish(&handle));
    assert!(std::process::Command::new("umount").arg(folder.path()).status().unwrap().success());
    assert!(written.is_some_and(|text| text.contains("(EBUSY): it is mounted")), "writing to a mounted device");
    assert!(read.is_ok_and(|finished| finished.is_ok()), "reading is harmless");
}

#[test]
fn a_refused_run_leaves_no_file() {
    let folder = folder();
    let path = folder.path().join("never");
    let memory = tempfile::Builder::new().tempfile_in("/proc").err();
    assert!(memory.is_some(), "a place where nothing can be created");
    assert!(refusal(plain(), Options { create: true, ..Options::new("/proc/never") }).starts_with("cannot create"));
    let many = Workload { depth: 2, ..plain() };
    assert!(matches!(start(many, Options { create: true, ..Options::new(&path) }), Err(Error::Depth { found: 2, .. })));
    assert!(!path.exists());
}

#[test]
fn a_touch_without_effect_or_that_spoils_a_comparison() {
    let (_folder, path) = file_of(4 << 20);
    let touched = |touch_bytes, api| Options { touch_bytes, api, ..Options::new(&path) };
    let ring = Api::Uring { registered: false, batch: 0, sqpoll: false, iopoll: false };
    let compared = Workload { verify: Verify::All, ..reads() };
    let cases = [
        (plain(), touched(512, Api::Positioned), "where nothing is read"),
        (compared, touched(512, Api::Positioned), "where what was read is compared"),
        (reads(), touched(512, ring), "which does not hand over what one read has brought"),
        (reads(), touched(512, Api::Null), "which does not hand over what one read has brought"),
        (reads(), touched(plain().record_bytes + 1, Api::Positioned), "where no record is as long"),
    ];
    for (workload, options, because) in cases {
        let refused = refusal(workload, options);
        assert!(refused.starts_with("touch_bytes is ") && refused.contains(because), "{refused}");
    }
    assert!(start(reads(), touched(plain().record_bytes, Api::Positioned)).is_ok());
}

#[test]
fn advice_where_nothing_is_read_ahead() {
    let (_folder, path) = file_of(4 << 20);
    let advised = |api, direct| Options { advice: Advice::Random, api, direct, ..Options::new(&path) };
    for (api, direct, because) in [
        (Api::Positioned, true, "direct I/O has the kernel read nothing ahead"),
        (Api::Null, false, "which opens nothing"),
    ] {
        let refused = refusal(reads(), advised(api, direct));
        assert!(refused.starts_with("advice is random") && refused.contains(because), "{refused}");
    }
    for api in [Api::Positioned, Api::Mmap, Api::Uring { registered: false, batch: 0, sqpoll: false, iopoll: false }] {
        assert!(start(reads(), advised(api, false)).is_ok());
    }
}

#[test]
fn dropping_the_page_cache_where_an_api_cannot() {
    let (_folder, path) = file_of(4 << 20);
    let dropped = |api, direct| Options { drop_cache_every_bytes: 1 << 20, api, direct, ..Options::new(&path) };
    let ring = Api::Uring { registered: false, batch: 0, sqpoll: false, iopoll: false };
    let cases = [
        (Api::Positioned, true, "direct I/O leaves nothing"),
        (ring, true, "direct I/O leaves nothing"),
        (Api::Mmap, false, "choose positioned, seek, vectored or uring"),
        (Api::Null, false, "choose positioned, seek, vectored or uring"),
    ];
    for (api, direct, because) in cases {
        let refused = refusal(reads(), dropped(api, direct));
        assert!(refused.starts_with("drop_cache_every_bytes is ") && refused.contains(because), "{refused}");
    }
    for api in [Api::Positioned, Api::Seek, Api::Vectored { parts: 1 }, ring] {
        assert!(start(reads(), dropped(api, false)).is_ok());
    }
}
