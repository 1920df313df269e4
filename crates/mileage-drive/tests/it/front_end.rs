//! The controller as a pipeline, the two directions of the link, dies that channels share unevenly, and reads that depend on
//! where their page is. Times are added up by hand: see [`Sketch::tiny`].

use crate::drives::{Sketch, request, submit};
use mileage_drive::RequestKind::{Discard, Read, Write};
use mileage_drive::{FlashDrive, FlashProfile};

const PAGE: u64 = 4096;

fn us(microseconds: u64) -> u64 {
    microseconds * 1000
}

#[test]
fn the_controller_begins_commands_at_its_rate_and_keeps_each_for_its_latency() {
    let slow = Sketch::tiny().with(&[("controller_latency_us", "11")]);
    let mut drive = slow.drive();
    for command in 0..5 {
        assert_eq!(submit(&mut drive, request(Discard, 0, PAGE, 0)), us(11 + command));
    }
    assert_eq!(submit(&mut drive, request(Write, 0, PAGE, 100)), us(100 + 11 + 10 + 20 + 200));
    // What it still does when a command has left it holds up the next one only.
    let quick = Sketch { controller_us: 10.0, ..Sketch::tiny() }.with(&[("controller_latency_us", "2")]);
    let mut drive = quick.drive();
    for command in 0..5 {
        assert_eq!(submit(&mut drive, request(Discard, 0, PAGE, 0)), us(2 + 10 * command));
    }
}

#[test]
fn a_link_carries_one_way_at_a_time_or_both() {
    let sketch = Sketch::tiny().with(&[("link_write_mb_per_s", "204.8")]);
    for (duplex, written_us) in [("\"half\"", 251), ("\"full\"", 242)] {
        let mut drive = sketch.clone().with(&[("link_duplex", duplex)]).drive();
        // The read is on the link until 11 us; a write takes 20 us on it.
        assert_eq!(submit(&mut drive, request(Read, 0, PAGE, 0)), us(11));
        assert_eq!(submit(&mut drive, request(Write, 0, PAGE, 0)), us(written_us), "{duplex}");
    }
}

#[test]
fn the_standard_of_the_link_decides_whether_it_carries_both_ways() {
    let text = Sketch::tiny().text();
    for (link, duplex) in [("sata-3", "half"), ("sas-2", "full"), ("pcie-3-x4", "full")] {
        let named =
            [&text, "link = { value = \"", link, "\", source = \"a test\", confidence = \"defined\" }\n"].concat();
        let profile = FlashProfile::parse(&named).expect("a valid profile");
        assert_eq!(profile.link_duplex.to_string(), duplex, "{link}");
    }
    let more = Sketch::tiny().with(&[("link", "\"sata-3\""), ("link_write_mb_per_s", "601")]);
    let refusal = FlashProfile::parse(&more.text()).unwrap_err().to_string();
    assert!(refusal.contains("link_write_mb_per_s") && refusal.contains("600"), "{refusal}");
}

#[test]
fn channels_may_have_different_numbers_of_dies() {
    let with = |dies: &str, channels: &str| {
        let text = Sketch::tiny()
            .text()
            .replace("dies_per_channel = { value = 2", &["dies_per_channel = { value = ", dies].concat());
        FlashProfile::parse(&text.replace("channels = { value = 2", &["channels = { value = ", channels].concat()))
    };
    // Three dies: the third shares the first channel, the fourth page has to wait for the first die.
    let profile = with("1.5", "2").expect("three dies");
    assert_eq!(profile.planes(), 3);
    for (pages, written_us) in [(2, 241), (3, 251), (4, 431)] {
        let mut drive = FlashDrive::new(profile.clone());
        assert_eq!(submit(&mut drive, request(Write, 0, pages * PAGE, 0)), us(written_us), "{pages} pages");
    }
    assert_eq!(with("1.333", "3").expect("four dies").planes(), 4);
    for (dies, channels) in [("1.3", "2"), ("0.5", "2"), ("0", "2")] {
        let refusal = with(dies, channels).unwrap_err().to_string();
        assert!(refusal.contains("dies_per_channel"), "{refusal}");
    }
}

#[test]
fn planes_read_together_what_was_written_together() {
    let sketch = Sketch { planes: 2, channels: 1, dies: 1, capacity_bytes: 32 * PAGE, ..Sketch::tiny() };
    for (reads, torn_apart_us) in [("\"any-pages\"", 101), ("\"same-page\"", 131)] {
        let mut drive = sketch.clone().with(&[("plane_work", "\"together\""), ("plane_reads", reads)]).drive();
        submit(&mut drive, request(Write, 0, 2 * PAGE, 0));
        assert_eq!(submit(&mut drive, request(Read, 0, 2 * PAGE, 1000)), us(1101));
        // The first page moves on to the next place of its block, the second stays.
        submit(&mut drive, request(Write, 0, PAGE, 2000));
        assert_eq!(submit(&mut drive, request(Read, 0, 2 * PAGE, 3000)), us(3000 + torn_apart_us), "{reads}");
    }
}

#[test]
fn a_block_that_is_not_full_may_be_slower_to_read() {
    let mut drive = Sketch::tiny().with(&[("open_block_read_us", "80")]).drive();
    submit(&mut drive, request(Write, 0, PAGE, 0));
    assert_eq!(submit(&mut drive, request(Read, 0, PAGE, 1000)), us(1000 + 1 + 80 + 20 + 10));
    // Every fourth page goes to the same die; a block has four.
    submit(&mut drive, request(Write, PAGE, 15 * PAGE, 2000));
    assert_eq!(submit(&mut drive, request(Read, 0, PAGE, 9000)), us(9000 + 1 + 50 + 20 + 10));
}
