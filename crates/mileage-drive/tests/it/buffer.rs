//! What the write buffer does, added up by hand; and which of its figures make no sense.
//! A page: controller 1, link 10, channel 20, read 50, program 200 us.

use crate::drives::{Sketch, counter, request, submit};
use mileage_drive::RequestKind::{Discard, Flush, Read, Write};
use mileage_drive::{FlashProfile, Request};

const PAGE: u64 = 4096;

const COMBINING: (&str, &str) = ("write_combining", "\"rewrites\"");
const READS: (&str, &str) = ("write_buffer_reads", "\"buffer\"");

fn us(microseconds: u64) -> u64 {
    microseconds * 1000
}

/// One die, and a buffer of four pages.
fn one_die(more: &[(&'static str, &'static str)]) -> Sketch {
    Sketch { channels: 1, dies: 1, blocks: 40, buffer: 4, ..Sketch::tiny() }.with(more)
}

fn dirty(drive: &mileage_drive::FlashDrive) -> u64 {
    drive.named_gauges().iter().find(|(name, _)| *name == "dirty_bytes").expect("a gauge").1
}

#[test]
fn a_rewrite_replaces_what_waits_in_the_buffer() {
    let mut drive = one_die(&[COMBINING]).drive();
    assert_eq!(submit(&mut drive, request(Write, 0, PAGE, 0)), us(11));
    assert_eq!(submit(&mut drive, request(Write, PAGE, PAGE, 11)), us(22));
    // Page 0 is on its way to its chip since 11; page 1 waits until 231 for it, and its own way takes 220.
    assert_eq!(submit(&mut drive, request(Write, 0, PAGE, 22)), us(33));
    assert_eq!(submit(&mut drive, request(Write, PAGE, PAGE, 50)), us(61));
    assert_eq!(submit(&mut drive, request(Write, PAGE, PAGE, 190)), us(201));
    assert_eq!(counter(&drive, "buffer_pages_combined"), 2);
    // The data would be there at 212: one microsecond too late for page 1, which takes the fourth place.
    assert_eq!(submit(&mut drive, request(Write, PAGE, PAGE, 201)), us(212));
    assert_eq!(dirty(&drive), 4 * PAGE);
    assert_eq!((counter(&drive, "buffer_pages_combined"), counter(&drive, "flash_pages_programmed")), (2, 4));
    assert_eq!(submit(&mut drive, request(Flush, 0, 0, 212)), us(31 + 4 * 200));
    assert_eq!((counter(&drive, "host_pages_written"), counter(&drive, "flushes")), (6, 1));
}

#[test]
fn neighbouring_sectors_share_a_program() {
    for (more, programs, reads) in [(&[][..], 16, 14), (&[COMBINING], 3, 0), (&[COMBINING, READS], 3, 0)] {
        let mut drive = Sketch { buffer: 16, ..one_die(more) }.drive();
        // A page before them keeps the die busy.
        submit(&mut drive, request(Write, 40 * PAGE, PAGE, 0));
        let mut now_us = 12;
        for sector in 0..16 {
            now_us = submit(&mut drive, request(Write, sector * 512, 512, now_us)).div_ceil(1000);
        }
        assert_eq!(counter(&drive, "flash_pages_programmed"), 1 + programs - u64::from(!more.is_empty()), "{more:?}");
        assert_eq!(counter(&drive, "flash_pages_read"), reads, "{more:?}");
    }
}

#[test]
fn a_page_in_the_buffer_is_read_from_it() {
    let mut drive = one_die(&[READS]).drive();
    submit(&mut drive, request(Write, 0, 3 * PAGE, 0));
    // In the buffer until 231; from the flash it would come after all three programs.
    assert_eq!(submit(&mut drive, request(Read, 0, PAGE, 100)), us(111));
    assert_eq!((counter(&drive, "buffer_pages_read"), counter(&drive, "flash_pages_read")), (1, 0));
    assert_eq!(submit(&mut drive, request(Read, 0, PAGE, 1000)), us(1081));
    assert_eq!((counter(&drive, "buffer_pages_read"), counter(&drive, "flash_pages_read")), (1, 1));
    let mut without = one_die(&[]).drive();
    submit(&mut without, request(Write, 0, 3 * PAGE, 0));
    assert_eq!(submit(&mut without, request(Read, 0, PAGE, 100)), us(31 + 600 + 50 + 20 + 10));
}

#[test]
fn what_was_discarded_or_written_with_fua_is_not_combined_with() {
    let mut drive = one_die(&[COMBINING, READS]).drive();
    submit(&mut drive, request(Write, 9 * PAGE, PAGE, 0));
    submit(&mut drive, request(Write, 0, PAGE, 11));
    submit(&mut drive, request(Discard, 0, PAGE, 22));
    assert_eq!(submit(&mut drive, request(Read, 0, PAGE, 23)), us(34));
    submit(&mut drive, request(Write, 0, PAGE, 34));
    assert_eq!((drive.mapped_pages(), counter(&drive, "buffer_pages_combined")), (2, 0));
    assert_eq!(counter(&drive, "buffer_pages_read"), 0);
    // The third program before it ends at 631.
    let fua = Request { fua: true, ..request(Write, 0, PAGE, 50) };
    assert_eq!(submit(&mut drive, fua), us(831));
    assert_eq!(submit(&mut drive, request(Write, 0, PAGE, 832)), us(843));
    assert_eq!(counter(&drive, "buffer_pages_combined"), 0);
}

#[test]
fn a_flush_costs_what_the_profile_says_unless_it_is_ignored() {
    for (more, plain_us, alone_us) in [
        (vec![], 231, 231),
        (vec![("flush_us", "40.0")], 271, 271),
        (vec![("write_buffer_flush", "\"ignored\"")], 12, 12),
    ] {
        for (link, done_us) in [(None, plain_us), (Some(("link", "\"sata-3\"")), alone_us)] {
            let mut drive = one_die(&more).with(link.as_slice()).drive();
            submit(&mut drive, request(Write, 0, PAGE, 0));
            assert_eq!(submit(&mut drive, request(Flush, 0, 0, 11)), us(done_us), "{more:?} {link:?}");
        }
    }
}

#[test]
fn figures_of_a_buffer_without_effect_are_refused() {
    let blocks = ("mapping", "\"block\"");
    let ignored = ("write_buffer_flush", "\"ignored\"");
    for (buffer, more, key) in [
        (0, vec![("write_buffer_power", "\"volatile\"")], "write_buffer_power"),
        (0, vec![ignored], "write_buffer_flush"),
        (0, vec![READS], "write_buffer_reads"),
        (0, vec![COMBINING], "write_combining"),
        (4, vec![COMBINING, blocks], "write_combining"),
        (4, vec![COMBINING, ("dedupe_contents", "9")], "write_combining"),
        (4, vec![("write_buffer_power", "\"volatile\""), ("dedupe_contents", "9")], "write_buffer_power"),
        (4, vec![ignored, ("flush_us", "5.0")], "flush_us"),
        (4, vec![("flush_us", "-1.0")], "flush_us"),
        (4, vec![("write_buffer_power", "\"battery\"")], "battery"),
    ] {
        let error =
            FlashProfile::parse(&Sketch { buffer, ..Sketch::tiny().with(&more) }.text()).unwrap_err().to_string();
        assert!(error.contains(key) && error.contains("expected") && !error.contains('\n'), "{error}");
    }
    assert!(FlashProfile::parse(&Sketch::tiny().with(&[("flush_us", "5.0")]).text()).is_ok());
}
