//! Compression and deduplication: what reaches the flash, against arithmetic, the mean field and a count of contents.

use super::drive_builder::{PAGE_BYTES, Sketch, Work};
use super::{Case, Row, formulas};
use mileage_drive::run;
use mileage_workload::{BLOCK_BYTES, Blocks, Content, NoObserver, PatternKind, Stop, Workload, WriteIdentity};
use std::collections::HashSet;

const UNIT_BYTES: u64 = 64;
const PAGES: u32 = 64;

pub(super) fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = [0, 10, 25, 50, 75, 90, 100]
        .into_iter()
        .map(|percent| Case::new(percent == 50, move || vec![compressed(percent)]))
        .collect();
    cases.push(Case::new(true, || [0, 25, 50, 90].into_iter().flat_map(duplicates).collect()));
    cases
}

/// Overwrite the whole drive at random `times` times with this content.
fn overwrite(work: &mut Work, logical: u64, content: Content, times: u64, pattern: PatternKind, seed: u64) {
    let span_bytes = logical * PAGE_BYTES;
    let workload = Workload {
        pattern,
        read_percent: 0,
        record_bytes: PAGE_BYTES as u32,
        span_bytes,
        content,
        seed,
        stop: Stop { bytes: Some(span_bytes * times), ..Stop::default() },
        ..Workload::default()
    };
    if let Err(error) = run(&mut work.drive, &workload, &mut NoObserver, &mut |_, _| false) {
        unreachable!("a check's own workload: {error}");
    }
}

/// Random overwrites of contents of which `percent` are saved: a page takes c = (1 - saved) pages, in whole units. The
/// flash is used like one with c times the data on it: write amplification is c A(c rho), A of greedy collection.
fn compressed(percent: u8) -> Row {
    let (blocks, logical) = (2048, 2048 * u64::from(PAGES) * 85 / 100);
    let sketch = Sketch::plane(blocks, PAGES, logical).with("compression_unit_bytes", UNIT_BYTES);
    let mut work = Work::new(&sketch, 5);
    let content = Content::Mixed { compressible_percent: percent, duplicate_percent: 0 };
    overwrite(&mut work, logical, content, 1, PatternKind::Sequential, 1);
    // The better the content packs, the more overwrites it takes to fill the flash once and reach steady state.
    let settle = 4 + 100 / (101 - u64::from(percent)).min(20);
    overwrite(&mut work, logical, content, settle, PatternKind::Random, 2);
    let simulated = work.amplification_of(|work| overwrite(work, logical, content, 4, PatternKind::Random, 3));
    let stored_bytes = (PAGE_BYTES - PAGE_BYTES * u64::from(percent) / 100).max(1).next_multiple_of(UNIT_BYTES);
    let share = stored_bytes as f64 / PAGE_BYTES as f64;
    // Contents in a block, and blocks: one stays free, half of what the open one gains is not written, and at the end of each
    // remains what is too little for another content.
    let contents = (f64::from(PAGES) / share).floor();
    let mut theory = 1.0;
    for _ in 0..50 {
        let data = f64::from(blocks) - 1.0 - 0.5 / theory;
        theory = formulas::greedy(logical as f64 / (contents * data), contents as u32);
    }
    Row::within(0.02, format!("WA of contents that save {percent} %, spare 0.15"), share * theory, simulated)
}

/// Deduplication of contents of which some recur: the drive stores each distinct content once, and a set counts these.
fn duplicates(percent: u8) -> Vec<Row> {
    let logical = 100_000;
    let sketch = Sketch::plane(2048, PAGES, logical).with("dedupe_contents", 1_000_000);
    let mut work = Work::new(&sketch, 5);
    let content = Content::Mixed { compressible_percent: 0, duplicate_percent: percent };
    overwrite(&mut work, logical, content, 1, PatternKind::Sequential, 7);
    let mut bytes = vec![0; BLOCK_BYTES];
    let contents: HashSet<Vec<u8>> = Blocks::new(7, &content)
        .into_iter()
        .flat_map(|blocks| (0..logical).map(move |block| (blocks, block)))
        .map(|(blocks, block)| {
            blocks.fill(WriteIdentity::default(), block * BLOCK_BYTES as u64, &mut bytes);
            // The first 64 bytes are random in every content, so that contents differ.
            bytes[..64].to_vec()
        })
        .collect();
    let found = work.counter("duplicate_pages_found");
    let again = logical as f64 - contents.len() as f64;
    vec![
        Row::exact(format!("pages found again of {logical}, {percent} % duplicates"), again, found),
        Row::exact(
            format!("pages programmed of {logical}, {percent} % duplicates"),
            contents.len() as f64,
            work.counter("flash_pages_programmed"),
        ),
    ]
}
