//! Check flash pages that hold several mapping units: write amplification, rate and reads against arithmetic.

use super::drive_builder::{Sketch, Work};
use super::{Case, Row, formulas};
use mileage_drive::Immediate;
use mileage_drive::RequestKind::{Flush, Read, Write};

/// Units of the map in a flash page of 16 KiB.
const PARTS: u32 = 4;

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new(true, || vec![amplification("shared"), amplification("survivors-apart")]),
        Case::new(true, || vec![sequential(), synchronous()]),
        Case::new(true, || vec![read(1), read(17)]),
    ]
}

/// A plane of `blocks` blocks of `pages` flash pages, with a buffer of four of these.
fn sketch(blocks: u32, pages: u32, logical: u64) -> Sketch {
    let sketch = Sketch::plane(blocks, pages, logical / u64::from(PARTS) * u64::from(PARTS));
    sketch.with("page_bytes", 16384).with("mapping_bytes", 4096).with("write_buffer_pages", 4)
}

/// Random writes of 4 KiB amplify as on a flash whose blocks have four times the pages, each of 4 KiB: packing them into
/// programs of 16 KiB wastes nothing.
fn amplification(frontiers: &str) -> Row {
    let (blocks, pages, spare) = (1024, 64, 0.15);
    let theory = formulas::greedy(1.0 - spare, pages * PARTS);
    // One block stays free; each open one lacks half of what a collection gains.
    let open = if frontiers == "shared" { 0.5 } else { 0.5 + 0.5 * theory };
    let data = f64::from(pages * PARTS) * (f64::from(blocks) - 1.0 - open / theory);
    let logical = ((1.0 - spare) * data) as u64 / u64::from(PARTS) * u64::from(PARTS);
    let mut work = Work::new(&sketch(blocks, pages, logical).with("frontiers", format!("{frontiers:?}")), 41);
    work.write_all(0..logical);
    let overwrite = |work: &mut Work, times: u64| {
        (0..times * logical).for_each(|_| {
            let page = work.draw(logical);
            work.write(page);
        });
    };
    overwrite(&mut work, 4);
    let simulated = f64::from(PARTS) * work.amplification_of(|work| overwrite(work, 3));
    Row::within(0.01, format!("WA 4 KiB writes on 16 KiB pages, spare {spare}, {frontiers}"), theory, simulated)
}

/// Sequential writes of 4 KiB program a flash page for every four of them, one after the other on a plane.
fn sequential() -> Row {
    let mut work = Work::new(&sketch(64, 64, 8000), 0);
    for page in 0..8000 {
        work.submit(Write, page, 1, 0);
    }
    let durable_ns = work.submit_flush();
    Row::within(1e-3, "sequential 4 KiB writes on 16 KiB pages, us each", 200.0 / 4.0, durable_ns / 8000.0 / 1e3)
}

/// A flush after each write programs a flash page for each.
fn synchronous() -> Row {
    let mut work = Work::new(&sketch(256, 64, 8000), 0);
    let amplification = work.amplification_of(|work| {
        for page in 0..4001 {
            work.write(page);
            work.submit_flush();
        }
    });
    Row::exact("WA of 4 KiB writes on 16 KiB pages, each flushed, new drive", 4.0, amplification * f64::from(PARTS))
}

/// A read of 16 KiB that was written in this stride takes one array read, or one for each of its parts where these lie
/// in different flash pages of the plane.
fn read(stride: u64) -> Row {
    let logical = 17 * 64;
    let mut work = Work::new(&sketch(64, 64, logical), 0);
    work.write_all((0..logical).map(|write| write * stride % logical + write * stride / logical % stride.max(1)));
    work.submit_flush();
    let from_ns = work.drive.now_ns() + 1_000_000_000;
    work.drive.advance_to(from_ns);
    let done_ns = work.submit(Read, 68, 4, from_ns).unwrap_or(0);
    let reads = if stride == 1 { 1.0 } else { 4.0 };
    let name = format!("read of 16 KiB that was written in strides of {stride}, us");
    Row::within(1e-3, name, 50.0 * reads, (done_ns - from_ns) as f64 / 1e3)
}

impl Work {
    /// Flush; when that is complete, in ns.
    fn submit_flush(&mut self) -> f64 {
        let done_ns = self.submit(Flush, 0, 0, self.drive.now_ns()).unwrap_or(0);
        self.drive.advance_to(done_ns);
        done_ns as f64
    }
}
