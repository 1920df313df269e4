//! Write amplification of every collection policy against the published values.

use super::drive_builder::{Sketch, Work};
use super::{Case, Row, formulas};
use mileage_drive::RequestKind;

const TABLE: &str = include_str!("write_amplification.csv");
/// Pages of a checked drive, about: as many as fit a fast cache.
const PAGES: u32 = 1 << 18;
/// Overwrites of all pages before the measurement, and during it.
const SETTLE: u64 = 4;
const MEASURE: u64 = 4;

/// Permitted loss against the best division into hot and cold data, because the drive has to find out which page is
/// which.
const SEPARATED: f64 = 0.06;

/// Spare, and share of the pages that has which share of the writes.
const SKEWS: [(f64, (f64, f64)); 12] = [
    (0.15, (0.2, 0.8)),
    (0.15, (0.5, 0.9)),
    (0.15, (0.5, 0.7)),
    (0.15, (0.4, 0.8)),
    (0.15, (0.3, 0.9)),
    (0.15, (0.3, 0.7)),
    (0.15, (0.2, 0.6)),
    (0.15, (0.1, 0.9)),
    (0.15, (0.1, 0.5)),
    (0.15, (0.05, 0.95)),
    (0.07, (0.2, 0.8)),
    (0.28, (0.2, 0.8)),
];

/// One line of the published table.
#[derive(Clone, Debug)]
struct PublishedPoint {
    model: String,
    spare: f64,
    pages: u32,
    amplification: f64,
}

fn published() -> Vec<PublishedPoint> {
    let rows = TABLE.lines().filter(|line| !line.starts_with('#')).skip(1);
    let parse = |row: &str| {
        let [model, spare, pages, amplification] = row.split(',').collect::<Vec<_>>()[..] else { return None };
        Some(PublishedPoint {
            model: model.to_owned(),
            spare: spare.parse().ok()?,
            pages: pages.parse().ok()?,
            amplification: amplification.parse().ok()?,
        })
    };
    rows.filter_map(parse).collect()
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = published()
        .into_iter()
        .map(|row| {
            let slow = ["hotcold_f0.05", "hotcold_f0.10", "trim_q0.10", "trim_q0.30"];
            let slow = slow.iter().any(|model| row.model.starts_with(model));
            let quick = !slow && (row.spare - 0.15).abs() < 1e-9 && (row.pages == 64 || row.pages == 256);
            Case::new(quick, move || vec![check(&row)])
        })
        .collect();
    for (spare, hot) in SKEWS {
        cases.push(Case::new((spare, hot) == SKEWS[0], move || separated(spare, hot)));
    }
    cases.push(Case::new(true, sequential));
    cases.push(Case::new(true, by_blocks));
    cases.push(Case::new(true, cached_map));
    cases
}

/// The numbers behind the letters of a model's name, such as 0.20 and 0.80 in `hotcold_f0.20_r0.80`.
fn number_after(model: &str, mark: &str) -> Option<f64> {
    model.split('_').find_map(|part| part.strip_prefix(mark)?.parse().ok())
}

fn check(row: &PublishedPoint) -> Row {
    let blocks = PAGES / row.pages;
    // Pages that can hold data: not the block that stays free, and not the half of the b / A pages that a collection
    // gains, which the open block lacks on average.
    let data = f64::from(row.pages) * (f64::from(blocks) - 1.0 - 0.5 / row.amplification);
    let logical = ((1.0 - row.spare) * data).round() as u64;
    let sketch = Sketch::plane(blocks, row.pages, logical);
    let model = row.model.as_str();
    let quoted = |text: &str| format!("{text:?}");
    let sketch = match model {
        _ if model.contains("greedy") => sketch,
        "random_victim" => sketch.with("gc_victim", quoted("random")),
        "dchoices_d2" => sketch.with("gc_victim", quoted("d-choices")).with("gc_victim_choices", 2),
        "dchoices_d10" => sketch.with("gc_victim", quoted("d-choices")).with("gc_victim_choices", 10),
        _ => sketch.with("gc_victim", quoted("fifo")),
    };
    let mut work = Work::new(&sketch, 2010);
    work.write_all(0..logical);
    let simulated = if let Some(trims) = number_after(model, "q") {
        MappedPages::new(logical).run(&mut work, trims)
    } else {
        let hot = number_after(model, "f").zip(number_after(model, "r")).unwrap_or((1.0, 1.0));
        let overwrite = |work: &mut Work, times: u64| {
            (0..times * logical).for_each(|_| {
                let page = page_of(work, logical, hot);
                work.write(page);
            });
        };
        // Run longer under skew: cold pages are rarely written, so the steady state comes late.
        overwrite(&mut work, if hot.0 < 1.0 { 4 * SETTLE } else { SETTLE });
        work.amplification_of(|work| overwrite(work, MEASURE))
    };
    Row::within(0.01, format!("WA {model}, spare {}, {} pages", row.spare, row.pages), row.amplification, simulated)
}

/// Frontiers for hot and cold pages, each sort uniform in itself: against a drive that knows which is which, and against
/// one log for both.
fn separated(spare: f64, hot: (f64, f64)) -> Vec<Row> {
    let pages = 64;
    let blocks = PAGES / pages;
    // One block stays free; each open block lacks half of what a collection gains.
    let theory = formulas::greedy_of_separated(1.0 - spare, [hot, (1.0 - hot.0, 1.0 - hot.1)], pages);
    let data = f64::from(pages) * (f64::from(blocks) - 1.0 - 1.0 / theory);
    let logical = ((1.0 - spare) * data).round() as u64;
    let amplification = |frontiers: &str| {
        let sketch = Sketch::plane(blocks, pages, logical).with("frontiers", format!("{frontiers:?}"));
        let mut work = Work::new(&sketch, 2014);
        work.write_all(0..logical);
        let overwrite = |work: &mut Work, times: u64| {
            (0..times * logical).for_each(|_| {
                let page = page_of(work, logical, hot);
                work.write(page);
            });
        };
        overwrite(&mut work, 4 * SETTLE);
        work.amplification_of(|work| overwrite(work, MEASURE))
    };
    let (simulated, one_log) = (amplification("hot-cold"), amplification("shared"));
    let skew = format!("{} of pages {} of writes, spare {spare}", hot.0, hot.1);
    vec![
        Row::within(SEPARATED, format!("WA hot-cold frontiers, {skew}"), theory, simulated),
        // Compared with one log as well, because separate logs must never write more.
        Row {
            name: format!("WA hot-cold over one log, {skew}"),
            theory: one_log,
            simulated,
            tolerance: 1.0,
            bound: Some(one_log),
        },
    ]
}

/// A page of the first `hot.0` of all with the chance `hot.1`, else one of the others.
fn page_of(work: &mut Work, logical: u64, hot: (f64, f64)) -> u64 {
    let hot_pages = (logical as f64 * hot.0).round() as u64;
    if hot_pages == logical || work.draw(1_000_000) < (hot.1 * 1e6) as u64 {
        work.draw(hot_pages)
    } else {
        hot_pages + work.draw(logical - hot_pages)
    }
}

/// The pages that are mapped, so that one of them can be drawn.
struct MappedPages {
    mapped: Vec<u32>,
    index: Vec<u32>,
}

impl MappedPages {
    fn new(logical: u64) -> Self {
        let all: Vec<u32> = (0..logical as u32).collect();
        Self { mapped: all.clone(), index: all }
    }

    fn run(&mut self, work: &mut Work, trims: f64) -> f64 {
        self.requests(work, trims, 2 * SETTLE);
        work.amplification_of(|work| self.requests(work, trims, MEASURE))
    }

    fn requests(&mut self, work: &mut Work, trims: f64, times: u64) {
        let logical = self.index.len() as u64;
        for _ in 0..times * logical {
            if work.draw(1_000_000) < (trims * 1e6) as u64 && !self.mapped.is_empty() {
                let at = work.draw(self.mapped.len() as u64) as usize;
                let page = self.mapped.swap_remove(at);
                self.index[page as usize] = u32::MAX;
                if let Some(moved) = self.mapped.get(at) {
                    self.index[*moved as usize] = at as u32;
                }
                let now_ns = work.drive_now();
                work.submit(RequestKind::Discard, u64::from(page), 1, now_ns);
            } else {
                let page = work.draw(logical);
                if self.index[page as usize] == u32::MAX {
                    self.index[page as usize] = self.mapped.len() as u32;
                    self.mapped.push(page as u32);
                }
                work.write(page);
            }
        }
    }
}

/// Written in order again and again, nothing is copied.
fn sequential() -> Vec<Row> {
    let victims = ["greedy", "fifo", "cost-benefit"];
    let rows = victims.iter().map(|victim| {
        let sketch = Sketch { channels: 2, ..Sketch::plane(64, 64, 7000) }.with("gc_victim", format!("{victim:?}"));
        let mut work = Work::new(&sketch, 1);
        work.write_all(0..7000);
        let simulated = work.amplification_of(|work| work.write_all((0..70_000).map(|page| page % 7000)));
        Row::exact(format!("WA sequential overwrite, {victim}"), 1.0, simulated)
    });
    rows.collect()
}

/// Mappings by blocks: an overwritten page costs its block; a whole block, or a stream with log blocks, nothing more.
fn by_blocks() -> Vec<Row> {
    let pages = 128;
    let mut rows = Vec::new();
    for (mapping, logs) in [("block", None), ("bast", Some(4)), ("fast", Some(4))] {
        let mut sketch = Sketch::plane(40, pages, 32 * u64::from(pages)).with("mapping", format!("{mapping:?}"));
        if let Some(logs) = logs {
            sketch = sketch.with("log_blocks", logs);
        }
        let mut work = Work::new(&sketch, 3);
        work.write_all(0..32 * u64::from(pages));
        if mapping == "block" {
            let before = ["flash_pages_read", "flash_pages_programmed", "blocks_erased"].map(|name| work.counter(name));
            work.write(1000);
            for ((name, theory), before) in
                [("flash_pages_read", 127.0), ("flash_pages_programmed", 128.0), ("blocks_erased", 1.0)]
                    .iter()
                    .zip(before)
            {
                rows.push(Row::exact(
                    format!("block mapping, one page overwritten: {name}"),
                    *theory,
                    work.counter(name) - before,
                ));
            }
        } else {
            let streams = work.amplification_of(|work| work.write_all((0..64 * 128).map(|page| page % (32 * 128))));
            rows.push(Row::exact(format!("WA {mapping}, sequential overwrite"), 1.0, streams));
        }
    }
    rows.push(log_block_of_each());
    rows
}

/// Log blocks that belong to one block each (BAST), written to at random in many more blocks than there are logs: a
/// write finds the log block of its block with the chance of logs / blocks; each of the others merges the log block
/// taken longest ago, which programs a whole block.
fn log_block_of_each() -> Row {
    let (pages, blocks, logs) = (128, 64, 4);
    let logical = blocks * u64::from(pages);
    let sketch = Sketch::plane(80, pages, logical).with("mapping", "\"bast\"").with("log_blocks", logs);
    let mut work = Work::new(&sketch, 3);
    work.write_all(0..logical);
    let overwrite = |work: &mut Work, count: u64| {
        (0..count).for_each(|_| {
            let page = work.draw(logical);
            work.write(page);
        });
    };
    overwrite(&mut work, 1000);
    let simulated = work.amplification_of(|work| overwrite(work, 20_000));
    let theory = 1.0 + f64::from(pages) * (1.0 - f64::from(logs) / blocks as f64);
    Row::within(0.01, "WA bast, random overwrite of 64 blocks with 4 logs", theory, simulated)
}

/// A map of which `held / logical` is cached, uniform random writes: that share of the writes finds its entry; each of the
/// others loads one entry and writes one back.
fn cached_map() -> Vec<Row> {
    let (logical, rows) = (100_000, [10_000, 50_000]);
    rows.iter()
        .flat_map(|held| {
            let sketch =
                Sketch::plane(1200, 128, logical).with("mapping", "\"demand\"").with("map_cache_entries", held);
            let mut work = Work::new(&sketch, 7);
            work.write_all(0..logical);
            let overwrite = |work: &mut Work| {
                (0..2 * logical).for_each(|_| {
                    let page = work.draw(logical);
                    work.write(page);
                });
            };
            overwrite(&mut work);
            let names = ["map_pages_read", "map_pages_programmed", "host_pages_written"];
            let before = names.map(|name| work.counter(name));
            overwrite(&mut work);
            let now = names.map(|name| work.counter(name));
            let [reads, programs, writes] = [0, 1, 2].map(|index| now[index] - before[index]);
            let misses = 1.0 - f64::from(*held) / logical as f64;
            // Every entry written back also reads the page that it is merged into.
            [("loads", reads - programs), ("write-backs", programs)].map(|(what, pages)| {
                Row::within(
                    0.02,
                    format!("demand map, {held} of {logical} held: {what} per write"),
                    misses,
                    pages / writes,
                )
            })
        })
        .collect()
}

impl Work {
    fn drive_now(&self) -> u64 {
        mileage_drive::Immediate::now_ns(&self.drive)
    }
}

#[cfg(test)]
mod tests {
    use super::super::formulas;
    use super::{number_after, published};

    #[test]
    fn the_formulas_give_the_published_values() {
        let mut checked = 0;
        for row in published() {
            let rho = 1.0 - row.spare;
            let model = row.model.as_str();
            let got = match model {
                "greedy" => formulas::greedy(rho, row.pages),
                "fifo_lru" => formulas::fifo(rho),
                "random_victim" => formulas::random(rho),
                "dchoices_d2" => formulas::d_choices(rho, row.pages, 2),
                "dchoices_d10" => formulas::d_choices(rho, row.pages, 10),
                _ if model.starts_with("trim") => {
                    formulas::greedy(formulas::rho_with_trims(rho, number_after(model, "q").unwrap()), row.pages)
                }
                _ => {
                    let (f, r) = (number_after(model, "f").unwrap(), number_after(model, "r").unwrap());
                    formulas::fifo_of_classes(rho, &[(f, r), (1.0 - f, 1.0 - r)])
                }
            };
            assert!((got - row.amplification).abs() < 2e-5 * row.amplification + 1e-5, "{row:?}: {got}");
            checked += 1;
        }
        assert_eq!(checked, 40 + 10 + 20 + 10 + 9 + 9);
        // Over-provisioning as drives are sold, without the drive's own reserve.
        for (over_provisioning, expected) in [(0.07, 7.597), (0.15, 3.960), (0.28, 2.461)] {
            let got = formulas::greedy(1.0 / (1.0 + over_provisioning), 256);
            assert!((got - expected).abs() < 1e-3, "{over_provisioning}: {got} against {expected}");
        }
        // The published bound of ideally separated classes, 64 pages a block.
        for (hot, spare, expected) in [
            ((0.2, 0.8), 0.07, 4.48459),
            ((0.2, 0.8), 0.15, 2.41040),
            ((0.2, 0.8), 0.28, 1.53043),
            ((0.1, 0.9), 0.15, 1.69811),
            ((0.05, 0.95), 0.15, 1.29705),
        ] {
            let got = formulas::greedy_of_separated(1.0 - spare, [hot, (1.0 - hot.0, 1.0 - hot.1)], 64);
            assert!((got / expected - 1.0).abs() < 1e-4, "{hot:?}, {spare}: {got} against {expected}");
        }
    }
}
