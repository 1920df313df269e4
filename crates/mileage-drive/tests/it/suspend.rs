//! Erases and programs that are interrupted for reads, and copies that stay in their plane, added up by hand. A page:
//! controller 1, link 10, channel 20, read 50, program 200, erase 1000 us; interrupting takes 30 us.

use crate::drives::{Sketch, counter, request, submit};
use mileage_drive::RequestKind::{Read, Write};
use mileage_drive::conformance::{self, Requests, completions};
use mileage_drive::{FlashDrive, FlashProfile};

const PAGE: u64 = 4096;
const ERASE: [(&str, &str); 2] = [("suspend", "\"erase\""), ("suspend_us", "30.0")];
const BOTH: [(&str, &str); 2] = [("suspend", "\"erase-and-program\""), ("suspend_us", "30.0")];
const BACK: (&str, &str) = ("gc_copies", "\"copy-back\"");

/// One die with four blocks of four pages whose next write, of page 5 or 6, collects a block with one valid page.
fn about_to_collect(more: &[(&'static str, &'static str)]) -> FlashDrive {
    let sketch = Sketch { channels: 1, dies: 1, blocks: 4, capacity_bytes: 8 * PAGE, ..Sketch::tiny() };
    let mut drive = sketch.with(more).drive();
    submit(&mut drive, request(Write, 0, 8 * PAGE, 0));
    for page in [0, 1, 2, 4] {
        submit(&mut drive, request(Write, page * PAGE, PAGE, 10_000 + page * 1000));
    }
    drive
}

/// When a read of page 7 that is submitted so long after the write is done, in us after that write; and when another
/// write, submitted with the read, is.
fn read_during_collection(more: &[(&'static str, &'static str)], after_us: u64) -> (u64, u64, FlashDrive) {
    let mut drive = about_to_collect(more);
    let written_ns = submit(&mut drive, request(Write, 5 * PAGE, PAGE, 100_000));
    // 1 controller, 10 link: the plane copies a page until 261, erases until 1261, and programs until 1461.
    assert_eq!(written_ns, (100_000 + 1461) * 1000);
    let read_us = submit(&mut drive, request(Read, 7 * PAGE, PAGE, 100_000 + after_us)) / 1000 - 100_000;
    let next_us = submit(&mut drive, request(Write, 6 * PAGE, PAGE, 100_000 + after_us)) / 1000 - 100_000;
    (read_us, next_us, drive)
}

#[test]
fn a_read_waits_for_the_interruption_and_not_for_the_erase() {
    // The way to the cells takes 1 us of the controller; back, 20 on the channel and 10 on the link.
    let cells = 50 + 30;
    for (after_us, off, erase, both) in [
        // In the copy: it waits for that, and then goes before the erase; or interrupts it.
        (100, 1461 + cells, 261 + cells, 101 + 30 + cells),
        // In the erase.
        (500, 1461 + cells, 501 + 30 + cells, 501 + 30 + cells),
        // In the program behind it.
        (1300, 1461 + cells, 1461 + cells, 1301 + 30 + cells),
        // Shortly before its end, which comes sooner than the interruption.
        (1450, 1461 + cells, 1461 + cells, 1461 + cells),
        // Behind all of it.
        (2000, 2001 + cells, 2001 + cells, 2001 + cells),
    ] {
        for (more, wanted) in [(&[][..], off), (&ERASE[..], erase), (&BOTH[..], both)] {
            let (read_us, next_us, drive) = read_during_collection(more, after_us);
            assert_eq!(read_us, wanted, "{after_us} us, {more:?}");
            // No work is lost: the next program comes behind what was interrupted.
            let interrupted = counter(&drive, "suspensions");
            let busy_us = 1461 + 50 + 30 * interrupted;
            let begins_us = busy_us.max(after_us + 2 + 10 + 20);
            if after_us < 1461 {
                assert_eq!(next_us, begins_us + 200, "{after_us} us, {more:?}");
            }
            assert_eq!(interrupted, u64::from(read_us == after_us + 1 + 30 + cells), "{after_us} us, {more:?}");
        }
    }
}

#[test]
fn reads_that_interrupt_follow_each_other_and_interrupt_once() {
    let mut drive = about_to_collect(&ERASE);
    submit(&mut drive, request(Write, 5 * PAGE, PAGE, 100_000));
    let read = |drive: &mut FlashDrive, page, at_us| submit(drive, request(Read, page * PAGE, PAGE, at_us)) / 1000;
    // 1 and 30 until the cells are free, 50 for each in turn; the channel and the link are free.
    assert_eq!(read(&mut drive, 7, 100_500), 100_500 + 1 + 30 + 50 + 30);
    assert_eq!(read(&mut drive, 6, 100_520), 100_500 + 1 + 30 + 100 + 30);
    assert_eq!(counter(&drive, "suspensions"), 1);
    // Until 100,631 it was interrupted; later it is interrupted again.
    assert_eq!(read(&mut drive, 7, 100_700), 100_700 + 1 + 30 + 50 + 30);
    assert_eq!(counter(&drive, "suspensions"), 2);
}

/// Whatever is interrupted: all arrays do the same work, only reads and interruptions come to it, and no write is
/// promised earlier than without.
#[test]
fn no_work_is_lost() {
    for seed in 0..20 {
        let shape = Sketch { blocks: 14, ..Sketch::tiny() };
        let (mut plain, mut interrupting) = (shape.drive(), shape.clone().with(&BOTH).drive());
        let requests = Requests::new(seed, &plain).take(2000);
        let (without, with) = (completions(&mut plain, &requests), completions(&mut interrupting, &requests));
        let counters = |drive: &FlashDrive| {
            let all = drive.named_counters();
            let own = ["suspensions", "queue_wait_ns", "service_ns"];
            all.into_iter().filter(|(name, _)| !own.contains(name)).collect::<Vec<_>>()
        };
        assert_eq!(counters(&plain), counters(&interrupting), "seed {seed}");
        let sum = |all: &[mileage_drive::Completion], kind| {
            let of = requests.iter().zip(all).filter(|(request, _)| request.kind == kind);
            of.map(|(request, done)| u128::from(done.complete_ns - request.submit_ns)).sum::<u128>()
        };
        assert!(sum(&with, Read) < sum(&without, Read), "seed {seed}: reads wait less");
        assert!(counter(&interrupting, "suspensions") > 0);
    }
}

#[test]
fn drives_that_interrupt_or_copy_back_are_block_devices() {
    let shape = Sketch { blocks: 14, ..Sketch::tiny() };
    let single = Sketch { channels: 1, dies: 1, blocks: 40, capacity_bytes: 100 * PAGE, ..shape.clone() };
    let buffered = Sketch { buffer: 8, ..shape.clone() }.with(&[("write_buffer_reads", "\"buffer\"")]);
    let shared = Sketch { planes: 2, channels: 1, ..shape.clone() }.with(&[("plane_work", "\"one\"")]);
    let demand = shape.clone().with(&[("mapping", "\"demand\""), ("map_cache_entries", "7")]);
    let logs = single.clone().with(&[("mapping", "\"bast\""), ("log_blocks", "3")]);
    let idle = shape.clone().with(&[("gc_idle_free_blocks", "4"), ("gc_idle_after_us", "100.0")]);
    for sketch in [shape, single, buffered, shared, demand, logs, idle] {
        conformance::check(5, 5, || sketch.clone().with(&ERASE).drive());
        conformance::check(6, 5, || sketch.clone().with(&BOTH).with(&[BACK]).drive());
    }
}

/// A copy in its plane is a read and a program; over the controller the channel carries the page there and back, and
/// the plane waits for it when that takes longer.
#[test]
fn a_copy_back_needs_no_channel() {
    for (channel_mb_per_s, transfer_us) in [(204.8, 20), (4.096, 1000)] {
        for (more, channel_us) in [(&[][..], 2 * transfer_us), (&[BACK][..], 0)] {
            let sketch = Sketch { channels: 1, dies: 1, blocks: 4, capacity_bytes: 8 * PAGE, ..Sketch::tiny() };
            let mut drive = Sketch { channel_mb_per_s, ..sketch }.with(more).drive();
            submit(&mut drive, request(Write, 0, 8 * PAGE, 0));
            for page in [0, 1, 2, 4] {
                submit(&mut drive, request(Write, page * PAGE, PAGE, 20_000 + page * 2000));
            }
            let done_us = submit(&mut drive, request(Write, 5 * PAGE, PAGE, 100_000)) / 1000 - 100_000;
            // The write's own transfer waits for the channel, and its program for the erase.
            let carried_us: u64 = 11 + channel_us;
            let erased_us = carried_us.max(11 + 250) + 1000;
            assert_eq!(done_us, erased_us.max(carried_us + transfer_us) + 200, "{transfer_us} us, {more:?}");
            assert_eq!(counter(&drive, "gc_pages_moved"), 1);
        }
    }
}

#[test]
fn what_has_no_effect_or_no_model_is_refused() {
    for (more, found) in [
        (vec![("suspend_us", "30.0")], "without it the figure has no effect"),
        (vec![ERASE[0], ("gc_pace", "\"paced\"")], "gc_pace at-once"),
        (vec![BOTH[0], ("write_buffer_pages", "")], "write_buffer_reads buffer"),
        (vec![BACK, ("compression_unit_bytes", "64")], "packs what is valid anew"),
        (
            vec![BACK, ("bit_error_rate", "0.001"), ("ecc_codeword_bytes", "512"), ("ecc_correctable_bits", "8")],
            "is not corrected",
        ),
        (vec![("suspend", "\"reads\"")], "unknown variant"),
    ] {
        let buffered = more.iter().any(|(key, _)| *key == "write_buffer_pages");
        let more: Vec<_> = more.into_iter().filter(|(key, _)| *key != "write_buffer_pages").collect();
        let sketch = Sketch { buffer: if buffered { 8 } else { 0 }, ..Sketch::tiny() };
        let error = FlashProfile::parse(&sketch.with(&more).text()).unwrap_err().to_string();
        assert!(error.contains(found) && !error.contains('\n'), "{found}: {error}");
    }
}
