//! Completion times, added up by hand. A page: controller 1, link 10, channel 20, read 50, program 200, erase 1000 us.

use crate::drives::{Sketch, counter, request, submit};
use mileage_drive::RequestKind::{Discard, Flush, Read, Write};
use mileage_drive::{Immediate, ManagedImmediate};

const PAGE: u64 = 4096;

/// Microseconds to nanoseconds.
fn us(microseconds: u64) -> u64 {
    microseconds * 1000
}

#[test]
fn one_write_and_one_read() {
    let mut drive = Sketch::tiny().drive();
    assert_eq!(submit(&mut drive, request(Write, 0, PAGE, 0)), us(1 + 10 + 20 + 200));
    assert_eq!(submit(&mut drive, request(Read, 0, PAGE, 500)), us(500 + 1 + 50 + 20 + 10));
}

#[test]
fn what_was_never_written_is_read_without_the_flash() {
    let mut drive = Sketch::tiny().drive();
    assert_eq!(submit(&mut drive, request(Read, 0, PAGE, 0)), us(1 + 10));
    assert_eq!(counter(&drive, "flash_pages_read"), 0);
    submit(&mut drive, request(Write, 0, PAGE, 100));
    assert_eq!(submit(&mut drive, request(Discard, 0, PAGE, 1000)), us(1001));
    assert_eq!(submit(&mut drive, request(Read, 0, PAGE, 2000)), us(2000 + 1 + 10));
    assert_eq!((counter(&drive, "flash_pages_read"), counter(&drive, "trimmed_pages")), (0, 1));
}

#[test]
fn pages_of_one_write_go_to_different_channels_then_to_different_dies() {
    // Pages 0 and 1 have a channel each; page 2 shares page 0's channel but has a die of its own; page 4 waits for
    // the die of page 0. The link delivers a page each 10 us.
    // Reading them back is bound by the dies and the channels in the same way.
    for (pages, written_us, read_us) in
        [(1, 231, 81), (2, 241, 91), (3, 251, 101), (4, 261, 111), (5, 431, 131), (6, 441, 141), (9, 631, 181)]
    {
        let mut drive = Sketch::tiny().drive();
        assert_eq!(submit(&mut drive, request(Write, 0, pages * PAGE, 0)), us(written_us), "{pages} pages");
        assert_eq!(submit(&mut drive, request(Read, 0, pages * PAGE, 1000)), us(1000 + read_us), "{pages} pages");
    }
}

#[test]
fn commands_pass_the_controller_one_by_one() {
    let mut drive = Sketch::tiny().drive();
    for command in 0..5 {
        assert_eq!(submit(&mut drive, request(Discard, 0, PAGE, 0)), us(command + 1));
    }
}

#[test]
fn a_full_queue_makes_commands_wait() {
    let mut drive = Sketch { queue: 2, ..Sketch::tiny() }.drive();
    assert_eq!(submit(&mut drive, request(Write, 0, PAGE, 0)), us(231));
    assert_eq!(submit(&mut drive, request(Write, PAGE, PAGE, 0)), us(241));
    // The third enters when the first is done; the fourth when the second is.
    assert_eq!(submit(&mut drive, request(Write, 2 * PAGE, PAGE, 0)), us(231 + 231));
    assert_eq!(submit(&mut drive, request(Write, 3 * PAGE, PAGE, 0)), us(241 + 231));
}

#[test]
fn a_write_of_part_of_a_page_reads_the_rest_first() {
    let mut drive = Sketch::tiny().drive();
    // Nothing there yet: only the bytes travel on the link.
    assert_eq!(submit(&mut drive, request(Write, 512, 512, 0)), us(1 + 20 + 200) + us(10) / 8);
    assert_eq!(counter(&drive, "flash_pages_read"), 0);
    let done = submit(&mut drive, request(Write, 1024, 512, 1000));
    assert_eq!(done, us(1000 + 1 + 50 + 20 + 20 + 200));
    assert_eq!(counter(&drive, "flash_pages_read"), 1);
    assert_eq!(counter(&drive, "host_pages_written"), 2);
}

#[test]
fn a_buffered_write_returns_before_its_program_and_a_flush_waits_for_it() {
    let mut drive = Sketch { buffer: 2, ..Sketch::tiny() }.drive();
    assert_eq!(submit(&mut drive, request(Write, 0, PAGE, 0)), us(11));
    assert_eq!(submit(&mut drive, request(Write, PAGE, PAGE, 0)), us(21));
    // Both places are taken until the first page is programmed at 231.
    assert_eq!(submit(&mut drive, request(Write, 2 * PAGE, PAGE, 0)), us(231 + 10));
    assert_eq!(submit(&mut drive, request(Flush, 0, 0, 0)), us(231 + 10 + 20 + 200));
    let fua = mileage_drive::Request { fua: true, ..request(Write, 0, PAGE, 10_000) };
    assert_eq!(submit(&mut drive, fua), us(10_000 + 231));
    assert_eq!(submit(&mut drive, request(Flush, 0, 0, 20_000)), us(20_001));
}

#[test]
fn a_collection_is_waited_for() {
    // One die with four blocks of four pages, one of them spare: eight logical pages fill two blocks, four
    // overwrites the third; the next write collects the block with the most stale pages.
    let sketch = Sketch { channels: 1, dies: 1, blocks: 4, capacity_bytes: 8 * PAGE, ..Sketch::tiny() };
    let mut drive = sketch.drive();
    submit(&mut drive, request(Write, 0, 8 * PAGE, 0));
    for page in [0, 1, 2, 4] {
        submit(&mut drive, request(Write, page * PAGE, PAGE, 10_000 + page * 1000));
    }
    assert_eq!((counter(&drive, "blocks_erased"), counter(&drive, "gc_pages_moved")), (0, 0));
    // Block 0 holds page 3 alone: one copy (read and program), an erase, then the write's own program.
    let done = submit(&mut drive, request(Write, 5 * PAGE, PAGE, 100_000));
    assert_eq!(done, us(100_000 + 1 + 10 + (50 + 200) + 1000 + 200));
    assert_eq!((counter(&drive, "blocks_erased"), counter(&drive, "gc_pages_moved")), (1, 1));
    assert_eq!(counter(&drive, "flash_pages_programmed"), 13 + 1);
}

#[test]
fn a_purged_drive_is_as_fast_as_a_new_one() {
    let mut drive = Sketch::tiny().drive();
    for round in 0..40 {
        submit(&mut drive, request(Write, 0, 64 * PAGE, round));
    }
    let erased = counter(&drive, "blocks_erased");
    drive.purge();
    assert_eq!(drive.mapped_pages(), 0);
    assert!(counter(&drive, "blocks_erased") > erased);
    let now_us = drive.now_ns() / 1000;
    assert_eq!(submit(&mut drive, request(Write, 0, PAGE, now_us)), us(now_us + 231));
}

#[test]
fn a_read_that_waits_for_its_die_leaves_the_channel_to_others() {
    let sketch = Sketch { channels: 1, dies: 2, blocks: 16, ..Sketch::tiny() };
    let mut drive = sketch.drive();
    submit(&mut drive, request(Write, 0, 2 * PAGE, 0));
    // Five programs pile up on die 0 (and five on die 1, of which the last ends at the same time); then page 0, on
    // the busy die, is read before page 1 of a die that is free again.
    for page in 2..7 {
        submit(&mut drive, request(Write, page * PAGE, PAGE, 10_000));
    }
    let blocked = submit(&mut drive, request(Read, 0, PAGE, 10_000));
    let other_die = submit(&mut drive, request(Read, PAGE, PAGE, 10_000));
    assert!(other_die < blocked, "{other_die} against {blocked}");
}
