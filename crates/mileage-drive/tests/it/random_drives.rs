//! Drives of any mapping, policies and shape, drawn at random: every one is a block device that keeps its books.

use crate::drives::{Sketch, cases};
use mileage_drive::{FlashProfile, Immediate, conformance};
use rand::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Choices from a seed.
pub struct Draw(Xoshiro256PlusPlus);

impl Draw {
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.0.next_u64() % limit
    }

    pub fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    fn number(&mut self, from: u64, to: u64) -> &'static str {
        (from + self.below(to - from + 1)).to_string().leak()
    }

    /// What a write buffer does with its pages.
    fn buffer(&mut self, by_page: bool) -> Vec<(&'static str, &'static str)> {
        let mut chosen = vec![("write_buffer_power", self.of(&["\"volatile\"", "\"protected\""]))];
        chosen.push(("write_buffer_reads", self.of(&["\"flash\"", "\"buffer\""])));
        if by_page {
            chosen.push(("write_combining", self.of(&["\"none\"", "\"rewrites\""])));
        }
        // Flushes that are ignored break the contract, as they do in drives that exist.
        if self.below(2) == 0 {
            chosen.push(("flush_us", "30.0"));
        }
        chosen
    }

    /// Each choice of a mapping by pages, or what else it takes.
    fn policies(&mut self, mapping: &'static str) -> Vec<(&'static str, &'static str)> {
        let mut chosen = vec![("mapping", mapping)];
        match mapping {
            "\"bast\"" | "\"fast\"" => chosen.push(("log_blocks", self.number(2, 6))),
            "\"demand\"" => chosen.push(("map_cache_entries", self.number(1, 90))),
            _ => {}
        }
        if matches!(mapping, "\"page\"" | "\"demand\"") {
            let victim = self.of(&["\"greedy\"", "\"fifo\"", "\"d-choices\"", "\"cost-benefit\"", "\"random\""]);
            chosen.push(("gc_victim", victim));
            if victim == "\"d-choices\"" {
                chosen.push(("gc_victim_choices", self.number(2, 6)));
            }
            chosen.push(("gc_pace", self.of(&["\"at-once\"", "\"paced\""])));
            chosen.push(("gc_free_blocks_min", self.number(1, 2)));
            if self.below(2) == 0 {
                chosen.extend([("gc_idle_free_blocks", self.number(3, 5)), ("gc_idle_after_us", "100.0")]);
            }
            chosen.push(("frontiers", self.of(&["\"shared\"", "\"survivors-apart\"", "\"hot-cold\""])));
            let orders = ["\"channel-first\"", "\"die-first\"", "\"plane-first\"", "\"by-address\""];
            chosen.push(("allocation", self.of(&orders)));
            chosen.push(("levelling", self.of(&["\"none\"", "\"dynamic\"", "\"static\""])));
            if chosen.contains(&("levelling", "\"static\"")) {
                chosen.push(("levelling_gap", self.number(1, 5)));
            }
        }
        chosen
    }

    /// An SLC cache for half of the drives that map by pages, in place of what excludes it.
    fn add_cache(&mut self, sketch: &mut Sketch) {
        if !sketch.more.contains(&("mapping", "\"page\"")) || self.below(2) == 0 {
            return;
        }
        let excluded = ["\"by-address\"", "\"hot-cold\"", "\"together\""];
        sketch.more.retain(|(key, value)| !key.starts_with("gc_idle") && !excluded.contains(value));
        let (cell, bits) = self.of(&[("\"mlc\"", 2), ("\"tlc\"", 3)]);
        sketch.pages = sketch.pages.max(bits);
        sketch.blocks += 4;
        let block_bytes = u64::from(sketch.pages / bits * sketch.page_bytes);
        let size = if self.below(2) == 0 {
            ("slc_cache_bytes", ((1 + self.below(6)) * block_bytes).to_string().leak() as &'static str)
        } else {
            ("slc_cache_percent", self.number(1, 100))
        };
        let times = [("slc_read_us", "20.0"), ("slc_program_us", "70.0")];
        let design = self.of(&["\"bypass\"", "\"through\""]);
        *sketch = sketch.clone().with(&[("cell", cell), size, ("slc_design", design)]).with(&times);
        if design == "\"bypass\"" || self.below(2) == 0 {
            *sketch = sketch.clone().with(&[("slc_idle_after_us", self.number(0, 5000))]);
        }
    }

    /// Flash pages of four units of the map for a quarter of the drives, where what else they have allows it.
    fn map_parts(&mut self, sketch: &mut Sketch) {
        if self.below(4) > 0 {
            return;
        }
        let mapping = if sketch.page_bytes == 512 { "512" } else { "4096" };
        let capacity_bytes = 4 * u64::from(sketch.page_bytes);
        let parts = Sketch { page_bytes: 4 * sketch.page_bytes, capacity_bytes, ..sketch.clone() };
        let parts = parts.with(&[("mapping_bytes", mapping)]);
        match FlashProfile::parse(&parts.text()) {
            Err(error) if error.to_string().contains("mapping_bytes") => {}
            _ => *sketch = parts,
        }
    }

    /// A drive of one to eighteen planes, as full as it may be or less.
    pub fn sketch(&mut self) -> Sketch {
        let mappings = ["\"page\"", "\"block\"", "\"demand\"", "\"bast\"", "\"fast\""];
        let mapping = self.of(&mappings);
        let single = self.below(3) == 0;
        let mut up_to = |most: u64| if single { 1 } else { 1 + self.below(most) as u32 };
        let (channels, dies, planes) = (up_to(3), up_to(3), up_to(2));
        let mut sketch = Sketch {
            channels,
            dies,
            planes,
            blocks: 8 + self.below(30) as u32,
            pages: self.of(&[2, 4, 5, 16, 65]),
            page_bytes: self.of(&[512, 4096]),
            buffer: self.of(&[0, 0, 1, 7]),
            queue: self.of(&[1, 2, 32]),
            ..Sketch::tiny()
        }
        .with(&self.policies(mapping));
        if self.below(3) == 0 {
            sketch.blocks += 12;
            let bad = self.number(1, 5);
            sketch = sketch.with(&[("factory_bad_blocks_per_die", bad), ("factory_bad_seed", self.number(0, 99))]);
        }
        if self.below(3) == 0 {
            let cycles = [("end_of_life", "\"read-only\""), ("pe_cycles", "100_000"), ("pe_spread_percent", "50.0")];
            sketch.blocks += 3;
            sketch = sketch.with(&cycles).with(&[("replacement_blocks", self.number(1, 3))]);
        }
        if sketch.buffer > 0 && self.below(3) > 0 {
            sketch.buffer *= self.of(&[1, 5]);
            sketch = sketch.with(&self.buffer(mapping == "\"page\"" || mapping == "\"demand\""));
        }
        if planes > 1 {
            sketch = sketch.with(&[("plane_work", self.of(&["\"independent\"", "\"together\"", "\"one\""]))]);
        }
        self.add_cache(&mut sketch);
        self.map_parts(&mut sketch);
        let raw = u64::from(channels * dies * planes * sketch.blocks * sketch.pages);
        let mut logical = raw * (30 + self.below(71)) / 100;
        loop {
            sketch.capacity_bytes = logical.max(1) * u64::from(sketch.page_bytes);
            match FlashProfile::parse(&sketch.text()) {
                Ok(_) => return sketch,
                Err(error) if logical > 1 && room_is_short(&error.to_string()) => logical = logical * 9 / 10,
                Err(error) => panic!("{error}: {}", sketch.text()),
            }
        }
    }
}

fn room_is_short(error: &str) -> bool {
    error.contains("capacity_bytes") || error.contains("slc_cache_bytes")
}

/// Books that balance: no more pages programmed than there is erased flash for, none fewer than the host wrote, and of
/// every page mapped one place.
fn balances(sketch: &Sketch, seed: u64) {
    let mut drive = sketch.drive();
    let mut again = sketch.drive();
    for drive in [&mut drive, &mut again] {
        let mut requests = conformance::Requests::new(seed, drive);
        (0..12).for_each(|_| {
            conformance::completions(drive, &requests.take(200));
        });
    }
    assert!(drive.save() == again.save(), "equal drives, equal operations, another end");
    let named = drive.named_counters();
    let counter = |name: &str| named.iter().find(|(known, _)| *known == name).unwrap().1;
    let (programs, moved) = (counter("flash_pages_programmed"), counter("gc_pages_moved"));
    let (cached, folded) = (drive.profile().slc_cache.is_some(), counter("slc_pages_folded"));
    let more = moved + counter("levelling_pages_moved") + counter("map_pages_programmed") + folded;
    let written = counter("host_pages_written");
    let combined = counter("buffer_pages_combined");
    let parts = u64::from(sketch.page_bytes / drive.page_bytes());
    if parts == 1 {
        assert!(programs + combined >= written, "write amplification below 1: {programs} for {written}");
        assert_eq!(programs + combined, written + more, "programs that nobody asked for");
        assert!(counter("flash_pages_read") >= moved);
    } else {
        // Less than a flash page waits in each frontier, and in each plane's cache.
        let waiting = 3 * (parts - 1) * drive.profile().planes();
        assert!(parts * programs + waiting >= written + more, "data that was never programmed: {programs}");
        assert!(parts * counter("flash_pages_read") >= moved);
    }
    let raw_pages = drive.profile().raw_bytes() / u64::from(sketch.page_bytes);
    let erased = counter("blocks_erased") * u64::from(sketch.pages);
    assert!(programs <= erased + raw_pages, "more pages programmed than were ever erased");
    assert!(drive.mapped_pages() <= drive.profile().logical_pages());
    let by_page = drive.profile().policies.by_page();
    assert!(folded <= parts * counter("slc_pages_programmed"), "pages left the cache that never were in it");
    assert!(cached || counter("slc_pages_programmed") == 0);
    // A block that is erased after it held one bit in a cell had fewer pages.
    if by_page && counter("slc_pages_programmed") == 0 && counter("levelling_pages_moved") == 0 && parts == 1 {
        assert_eq!(programs, erased + drive.written_pages(), "pages programmed are in erased blocks or still there");
    }
    assert!(!by_page || drive.mapped_pages() <= drive.written_pages());
    let gauges = drive.named_gauges();
    let gauge = |name: &str| gauges.iter().find(|(known, _)| *known == name).unwrap().1;
    assert!(gauge("free_blocks_least") <= gauge("free_blocks"));
    assert!(gauge("erase_count_least") <= gauge("erase_count_most"));
}

#[test]
fn a_drive_of_any_mapping_policies_and_shape_keeps_its_books() {
    let (mut mappings, mut caches) = (std::collections::BTreeMap::new(), 0_u64);
    let count = cases(150);
    for seed in 0..count {
        let sketch = Draw::new(seed).sketch();
        let judged = std::panic::catch_unwind(|| {
            balances(&sketch, seed);
            conformance::check(seed, 1, || sketch.drive());
        });
        assert!(judged.is_ok(), "seed {seed}: {}", sketch.text());
        caches += u64::from(sketch.more.iter().any(|(key, _)| *key == "slc_design"));
        *mappings.entry(sketch.more[0].1).or_insert(0_u64) += 1;
    }
    assert!(caches >= count / 20, "{caches} drives with a cache");
    assert!(mappings.len() == 5 && mappings.values().all(|drives| *drives >= count / 10), "{mappings:?}");
}
