//! The wear law: erases follow from programs, and life from erases.

use super::drive_builder::{Sketch, Work};
use super::{Case, Row};
use mileage_drive::{Life, ManagedImmediate};

pub(super) fn cases() -> Vec<Case> {
    vec![Case::new(true, conservation), Case::new(true, || life(500))]
}

/// Every page programmed is in a block that was erased since, or is there still: programs = b x erases + pages
/// written and not erased.
fn conservation() -> Vec<Row> {
    let policies =
        [("gc_victim", "greedy"), ("gc_victim", "random"), ("frontiers", "hot-cold"), ("levelling", "dynamic")];
    let row = |(key, value): (&'static str, &str)| {
        let sketch = Sketch { channels: 2, ..Sketch::plane(100, 64, 10_000) }.with(key, format!("{value:?}"));
        let mut work = Work::new(&sketch, 13);
        for _ in 0..200_000 {
            let page = work.draw(10_000);
            work.write(page);
        }
        let theory = 64.0 * work.counter("blocks_erased") + work.drive.written_pages() as f64;
        Row::exact(
            format!("programs = pages erased + pages there, {value}"),
            theory,
            work.counter("flash_pages_programmed"),
        )
    };
    policies.into_iter().map(row).collect()
}

/// A drive of 64 GB with single-level cells, at a thousandth of its capacity and flash, written at random until it
/// refuses: host bytes = raw bytes x cycles / amplification.
fn life(pe_cycles: u64) -> Vec<Row> {
    let (channels, blocks, pages, logical) = (2, 82, 128, 15_625);
    let sketch = Sketch { channels, ..Sketch::plane(blocks, pages, logical) }
        .with("cell", "\"slc\"")
        .with("pe_cycles", pe_cycles)
        .with("levelling", "\"dynamic\"")
        .with("end_of_life", "\"read-only-then-dead\"");
    let mut work = Work::new(&sketch, 17);
    let mut indicator = vec![work.drive.wear_indicator_percent()];
    loop {
        let page = work.draw(logical);
        if !work.write(page) {
            break;
        }
        if work.drive.wear_indicator_percent() < indicator[indicator.len() - 1] {
            indicator.push(work.drive.wear_indicator_percent());
        }
    }
    let raw = f64::from(channels * blocks * pages);
    let amplification = work.counter("flash_pages_programmed") / work.counter("host_pages_written");
    let theory = raw * pe_cycles as f64 / amplification;
    let reads = |work: &mut Work| {
        f64::from(u8::from(work.submit(mileage_drive::RequestKind::Read, 0, 1, u64::MAX >> 5).is_some()))
    };
    let refused = f64::from(u8::from(work.drive.life() == Life::ReadOnly));
    let read_only = reads(&mut work);
    work.drive.power_cycle();
    let dead = reads(&mut work);
    let of = format!("64 GB SLC at 1/1000, {pe_cycles} cycles");
    vec![
        Row::within(0.01, format!("{of}: pages written in its life"), theory, work.counter("host_pages_written")),
        Row::within(0.03, format!("{of}: steps that the wear-out indicator fell"), 100.0, indicator.len() as f64 - 1.0),
        Row::exact(format!("{of}: writes refused at the end (1 yes)"), 1.0, refused),
        Row::exact(format!("{of}: reads done then"), 1.0, read_only),
        Row::exact(format!("{of}: reads done after a power cycle"), 0.0, dead),
    ]
}

/// The same check with all 100,000 cycles of single-level cells; it takes a minute or more.
pub fn life_of_the_scaled_drive() -> Vec<Row> {
    life(100_000)
}
