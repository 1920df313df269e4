//! Reading again, and reads that fail, against the binomial distribution of wrong bits.

use super::drive_builder::{Sketch, Work};
use super::{Case, Row};
use mileage_drive::{Immediate, ManagedImmediate, RequestKind};

const LOGICAL: u64 = 2048;
const PAGES: u32 = 64;
const READS: u64 = 200_000;
/// Bits of a codeword, those corrected, codewords of a page, times it is read again, share of the errors each leaves.
const BITS: u32 = 8 * 1024;
const CORRECTED: u32 = 24;
const CODEWORDS: i32 = 4;
const RETRIES: i32 = 2;
const LEAVES: f64 = 0.9;
const FRESH: f64 = 0.0012;
const WORN: f64 = 0.002;
const CYCLES: u32 = 100;
const PER_YEAR: f64 = 0.5;

pub(super) fn cases() -> Vec<Case> {
    [(0, 0.0), (60, 0.0), (120, 0.0), (1, 1.0), (60, 1.0)]
        .into_iter()
        .map(|(cycles, years)| Case::new(cycles == 60, move || failing(cycles, years)))
        .collect()
}

/// Chance of more than `CORRECTED` wrong bits in a codeword: bit by bit, the chances of each number of wrong bits so far.
fn codeword_fails(rate: f64) -> f64 {
    let mut chances = vec![0.0; CORRECTED as usize + 1];
    chances[0] = 1.0;
    for _ in 0..BITS {
        for wrong in (1..chances.len()).rev() {
            chances[wrong] = chances[wrong] * (1.0 - rate) + chances[wrong - 1] * rate;
        }
        chances[0] *= 1.0 - rate;
    }
    1.0 - chances.iter().sum::<f64>()
}

/// Blocks erased `cycles` times, written, and left for `years`: how often a page is read again, and how often for nothing.
fn failing(cycles: u32, years: f64) -> Vec<Row> {
    let sketch = Sketch::plane(34, PAGES, LOGICAL)
        .with("bit_error_rate", FRESH)
        .with("bit_error_rate_worn", WORN)
        .with("pe_cycles", CYCLES)
        .with("bit_error_growth_per_year", format!("{PER_YEAR:?}"))
        .with("ecc_codeword_bytes", BITS / 8)
        .with("ecc_correctable_bits", CORRECTED)
        .with("read_retries_max", RETRIES)
        .with("read_retry_leaves", LEAVES);
    let mut work = Work::new(&sketch, 21);
    work.write_all(0..LOGICAL);
    // Purge before each pass: a purged drive writes to the same blocks again, so the blocks that are read later are the
    // worn ones.
    for _ in 0..cycles {
        work.drive.purge();
        work.write_all(0..LOGICAL);
    }
    let gauges = work.drive.named_gauges();
    let most = gauges.iter().find(|(known, _)| *known == "erase_count_most");
    debug_assert_eq!(
        most.map(|(_, erases)| *erases),
        Some(u64::from(cycles)),
        "the blocks in use were erased so often"
    );
    work.drive.idle_ns((years * 365.25 * 86_400e9) as u64);
    for _ in 0..READS {
        let page = work.draw(LOGICAL);
        let now_ns = work.drive.now_ns();
        work.submit(RequestKind::Read, page, 1, now_ns);
    }
    let rate = FRESH * (WORN / FRESH).powf(f64::from(cycles) / f64::from(CYCLES)) * (1.0 + PER_YEAR * years);
    let page_fails = |again: i32| 1.0 - (1.0 - codeword_fails(rate * LEAVES.powi(again))).powi(CODEWORDS);
    let fails: Vec<f64> = (0..=RETRIES).map(page_fails).collect();
    let again = fails[0] + fails[0] * fails[1];
    let never = fails[0] * fails[1] * fails[2];
    let reads = READS as f64;
    let row = |what: &str, chance: f64, counter: &str| {
        // Four standard deviations of a Poisson count: a sound drive fails a row by chance once in 16,000 seeds.
        let tolerance = 4.0 / (chance * reads).sqrt();
        let name = format!("{what} per read, {cycles} cycles, {years} years");
        Row::within(tolerance, name, chance, work.counter(counter) / reads)
    };
    let mut rows = vec![row("reads again", again, "read_retries")];
    // Skip rare errors, which are too few for a count with a small interval.
    if never * reads > 100.0 {
        rows.push(row("uncorrectable", never, "reads_uncorrectable"));
    }
    rows
}
