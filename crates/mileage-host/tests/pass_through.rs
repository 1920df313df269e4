//! A host that is none: block operations pass unchanged, file operations are refused by name.

use mileage_drive::conformance::{self, Requests, completions};
use mileage_drive::{BlockDevice, FlashDrive, Profile};
use mileage_host::{FileOperation, FileOperationKind, Host, HostError, PassThrough};

const TEXT: &str = r#"
name = "small"
title = "Small"
kind = "flash"
capacity_bytes = { value = 262144, source = "a test", confidence = "defined" }
page_bytes = { value = 4096, source = "a test", confidence = "defined" }
pages_per_block = { value = 8, source = "a test", confidence = "defined" }
blocks_per_plane = { value = 8, source = "a test", confidence = "defined" }
planes_per_die = { value = 1, source = "a test", confidence = "defined" }
dies_per_channel = { value = 1, source = "a test", confidence = "defined" }
channels = { value = 2, source = "a test", confidence = "defined" }
read_us = { value = 50, source = "a test", confidence = "defined" }
program_us = { value = 200, source = "a test", confidence = "defined" }
erase_us = { value = 1000, source = "a test", confidence = "defined" }
controller_us = { value = 1, source = "a test", confidence = "defined" }
channel_mb_per_s = { value = 200, source = "a test", confidence = "defined" }
link_mb_per_s = { value = 400, source = "a test", confidence = "defined" }
queue_depth_max = { value = 8, source = "a test", confidence = "defined" }
write_buffer_pages = { value = 4, source = "a test", confidence = "defined" }
"#;

fn drive() -> FlashDrive {
    FlashDrive::new(Profile::parse(TEXT).unwrap())
}

#[test]
fn it_is_a_block_device() {
    conformance::check(1, 10, || PassThrough::new(drive()));
}

#[test]
fn it_changes_nothing_below() {
    let (mut bare, mut hosted) = (drive(), PassThrough::new(drive()));
    let requests = Requests::new(3, &bare).take(500);
    assert_eq!(completions(&mut bare, &requests), completions(&mut hosted, &requests));
    assert_eq!(hosted.device().save(), bare.save());
    completions(hosted.device_mut(), &requests[..0]);
    assert_eq!(hosted.into_device().save(), bare.save());
}

#[test]
fn file_operations_are_refused_by_name_and_say_what_to_use() {
    use FileOperationKind::{Create, Open, Read, Remove, Stat, Sync, Write};
    let mut host = PassThrough::new(drive());
    let before = host.save();
    for kind in [Create, Open, Read, Write, Sync, Stat, Remove] {
        let operation = FileOperation { kind, path: "a/b".to_owned() };
        let error = host.file(&operation, 0).unwrap_err();
        assert_eq!(error, HostError::NoFileSystem { kind, path: "a/b".to_owned() });
        let text = error.to_string();
        assert!(text.starts_with(&format!("{kind} \"a/b\": file operations need a modelled host")), "{text}");
        assert!(text.contains("virtual:NAME@HOST is not built yet; use dir: or file:, or a block workload"), "{text}");
        assert!(!text.contains('\n'));
    }
    assert_eq!(host.save(), before);
}
