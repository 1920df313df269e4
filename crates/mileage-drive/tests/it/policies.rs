//! The choices that a profile may make: what excludes what, and what each of them moves.

use crate::drives::{Sketch, counter, do_workload, ops_per_s, request, submit, workload};
use mileage_drive::RequestKind::{Flush, Read, Write};
use mileage_drive::{FlashDrive, FlashProfile, Immediate, Life, ManagedImmediate, Refusal, Request, Status, WornOut};
use mileage_workload::PatternKind::{Random, Sequential};

const PAGE: u64 = 4096;

fn refusal(sketch: &Sketch) -> String {
    FlashProfile::parse(&sketch.text()).expect_err("a choice without effect").to_string()
}

#[test]
fn a_choice_without_effect_and_a_missing_one_are_refused() {
    let base = Sketch { blocks: 16, ..Sketch::tiny() };
    let block = ("mapping", "\"block\"");
    let rates = ("end_of_life", "\"read-only\"");
    for (more, key) in [
        (vec![("gc_victim_choices", "3")], "gc_victim_choices"),
        (vec![("gc_victim", "\"d-choices\"")], "gc_victim_choices"),
        (vec![("map_cache_entries", "10")], "map_cache_entries"),
        (vec![("mapping", "\"demand\"")], "map_cache_entries"),
        (vec![("log_blocks", "10")], "log_blocks"),
        (vec![("mapping", "\"fast\"")], "log_blocks"),
        (vec![block, ("gc_victim", "\"fifo\"")], "gc_victim"),
        (vec![block, ("gc_pace", "\"paced\"")], "gc_pace"),
        (vec![block, ("frontiers", "\"hot-cold\"")], "frontiers"),
        (vec![block, ("allocation", "\"die-first\"")], "allocation"),
        (vec![block, ("levelling", "\"dynamic\"")], "levelling"),
        (vec![("gc_idle_after_us", "1.0")], "gc_idle_after_us"),
        (vec![("gc_idle_free_blocks", "2"), ("gc_free_blocks_min", "2")], "gc_idle_free_blocks"),
        (vec![("plane_work", "\"together\"")], "plane_work"),
        (vec![("levelling_gap", "3")], "levelling_gap"),
        (vec![("levelling", "\"static\"")], "levelling_gap"),
        (vec![rates], "end_of_life"),
        (vec![("replacement_blocks", "3")], "replacement_blocks"),
        (vec![block, ("replacement_blocks", "3")], "replacement_blocks"),
        (vec![("factory_bad_seed", "3")], "factory_bad_seed"),
        (vec![("factory_bad_blocks_per_die", "16")], "factory_bad_blocks_per_die"),
        (vec![("factory_bad_blocks_per_die", "15")], "factory_bad_blocks_per_die"),
        (vec![("factory_bad_blocks_per_die", "1000000000")], "factory_bad_blocks_per_die"),
        (vec![("pe_spread_percent", "3.0")], "pe_spread_percent"),
        (vec![rates, ("pe_cycles", "5"), ("pe_spread_percent", "91.0")], "pe_spread_percent"),
        (vec![("link", "\"sata-4\"")], "link"),
        (vec![("link", "\"pcie-3-x3\"")], "link"),
        (vec![("link", "\"sata-2\"")], "link_mb_per_s"),
    ] {
        let error = refusal(&base.clone().with(&more));
        assert!(error.contains(key) && error.contains("expected") && !error.contains('\n'), "{more:?}: {error}");
    }
    let error = refusal(&base.clone().with(&[("mapping", "\"pages\"")]));
    assert!(error.contains("pages") && error.contains("demand"), "{error}");
    let error = refusal(&Sketch { queue: 33, link_mb_per_s: 100.0, ..base }.with(&[("link", "\"sata-1\"")]));
    assert!(error.contains("queue_depth_max") && error.contains("32"), "{error}");
}

/// The figures of the standards; a link alone is a rate.
#[test]
fn a_link_carries_what_its_standard_says() {
    for (link, mb_per_s) in [
        ("sata-1", 150.0),
        ("sata-2", 300.0),
        ("sata-3", 600.0),
        ("sas-3", 1200.0),
        ("pcie-1-x1", 250.0),
        ("pcie-2-x4", 2000.0),
        ("pcie-3-x4", 3940.0),
    ] {
        let text = Sketch::tiny().text()
            + &format!("link = {{ value = \"{link}\", source = \"a test\", confidence = \"defined\" }}\n");
        let text: String =
            text.lines().filter(|line| !line.starts_with("link_mb")).flat_map(|line| [line, "\n"]).collect();
        let profile = FlashProfile::parse(&text).unwrap();
        assert!((profile.link_mb_per_s - mb_per_s).abs() < 1e-9, "{link}");
    }
}

/// On SATA a flush waits for all outstanding commands, and what follows waits for the flush; elsewhere it is one of many.
#[test]
fn a_flush_is_alone_on_sata_and_queued_elsewhere() {
    for (link, read_us) in [("sata-3", 261 + 1 + 80), ("sas-2", 81 + 2)] {
        let sketch = Sketch { buffer: 4, ..Sketch::tiny() }.with(&[("link", &format!("{link:?}").leak()[..])]);
        let mut drive = sketch.drive();
        submit(&mut drive, request(Write, 0, PAGE, 0));
        // Written at 10,231; a flush behind a read that takes until 10,081 and a write on the medium at 10,241.
        submit(&mut drive, request(Write, PAGE, PAGE, 10_000));
        assert_eq!(submit(&mut drive, request(Flush, 0, 0, 10_000)), 10_231_000, "{link}");
        let read = submit(&mut drive, request(Read, 0, PAGE, 10_000)) / 1000 - 10_000;
        let expected = if link == "sata-3" { 231 + 81 } else { 83 };
        assert_eq!(read, expected, "{link} ({read_us})");
    }
}

/// Two planes: one page each. Independent and together they take one program time; one at a time two.
#[test]
fn planes_of_a_die_work_as_the_profile_says() {
    for (work, written_us, read_us) in
        [("independent", 1 + 10 + 20 + 20 + 200, 1 + 50 + 20 + 20 + 10), ("together", 251, 101), ("one", 431, 131)]
    {
        let sketch = Sketch { channels: 1, dies: 1, planes: 2, blocks: 16, ..Sketch::tiny() };
        let work_text: &'static str = format!("{work:?}").leak();
        let mut drive = sketch.with(&[("plane_work", work_text)]).drive();
        assert_eq!(submit(&mut drive, request(Write, 0, 2 * PAGE, 0)), written_us * 1000, "{work}");
        assert_eq!(submit(&mut drive, request(Read, 0, 2 * PAGE, 1000)), (1000 + read_us) * 1000, "{work}");
    }
}

/// A page of every die is read in the time of one; how the data was laid out decides how many dies that are.
#[test]
fn the_order_of_allocation_decides_how_parallel_data_reads_back() {
    // 2 channels of 2 dies. Four pages read at once take 50 us each on their own dies; on one channel their
    // transfers queue, on both they overlap.
    for (allocation, two_pages_us) in [("channel-first", 1 + 50 + 20 + 10 + 10), ("die-first", 1 + 50 + 20 + 20 + 10)] {
        let text: &'static str = format!("{allocation:?}").leak();
        let mut drive = Sketch::tiny().with(&[("allocation", text)]).drive();
        submit(&mut drive, request(Write, 0, 2 * PAGE, 0));
        assert_eq!(
            submit(&mut drive, request(Read, 0, 2 * PAGE, 10_000)),
            (10_000 + two_pages_us) * 1000,
            "{allocation}"
        );
    }
    // Written in an order that puts every fourth page on one die, by turns; by address it does not matter.
    for (allocation, us) in [("channel-first", 1 + 4 * 50 + 20 + 10), ("by-address", 111)] {
        let text: &'static str = format!("{allocation:?}").leak();
        let mut drive = Sketch::tiny().with(&[("allocation", text)]).drive();
        for page in 0..4 {
            for follower in [page, 8 + 3 * page, 9 + 3 * page, 10 + 3 * page] {
                submit(&mut drive, request(Write, follower * PAGE, PAGE, 1000 * (page + 1)));
            }
        }
        assert_eq!(submit(&mut drive, request(Read, 0, 4 * PAGE, 100_000)), (100_000 + us) * 1000, "{allocation}");
    }
}

/// A collection that makes room for three pages: paced, each of them carries a third of it.
#[test]
fn a_paced_collection_is_paid_in_equal_shares() {
    let sketch = Sketch { channels: 1, dies: 1, blocks: 4, capacity_bytes: 8 * PAGE, ..Sketch::tiny() };
    let mut drive = sketch.with(&[("gc_pace", "\"paced\"")]).drive();
    submit(&mut drive, request(Write, 0, 8 * PAGE, 0));
    for page in [0, 1, 2, 4] {
        submit(&mut drive, request(Write, page * PAGE, PAGE, 10_000 + page * 1000));
    }
    // One copy and an erase, 1250 us, and 40 us on the channel for three pages: 416.667 and 13.334 each.
    for (page, at_us) in [(5, 100_000), (6, 110_000), (7, 120_000)] {
        let done = submit(&mut drive, request(Write, page * PAGE, PAGE, at_us));
        assert_eq!(done, at_us * 1000 + 11_000 + 416_667 + 200_000, "page {page}");
    }
    assert_eq!((counter(&drive, "blocks_erased"), counter(&drive, "gc_pages_moved")), (1, 1));
}

#[test]
fn idle_time_makes_room_and_a_burst_finds_it() {
    let sketch = Sketch { channels: 2, dies: 1, blocks: 32, pages: 16, ..Sketch::tiny() }.with_spare(0.35);
    let idle = sketch.clone().with(&[("gc_idle_free_blocks", "5"), ("gc_idle_after_us", "1000.0")]);
    let mut erases = Vec::new();
    let rates = [sketch, idle].map(|sketch| {
        let mut drive = sketch.drive();
        do_workload(&mut drive, &workload(Random, 0, sketch.capacity_bytes, 4.0, 1));
        drive.idle_ns(10_000_000_000);
        let burst = do_workload(&mut drive, &workload(Random, 0, sketch.capacity_bytes, 0.1, 2));
        erases.push(burst.counters["blocks_erased"]);
        ops_per_s(&burst)
    });
    assert!(rates[1] > 1.5 * rates[0], "{rates:?}");
    assert!(erases[1] == 0 && erases[0] > 0, "{erases:?}");
}

/// A discard that is ignored leaves the page mapped; one that is refused changes nothing, not even the clock.
#[test]
fn a_discard_does_what_the_profile_says() {
    for (trim, mapped, status) in [
        ("\"honoured\"", 0, Status::Done),
        ("\"ignored\"", 1, Status::Done),
        ("\"refused\"", 1, Status::Refused(Refusal::NoDiscard)),
    ] {
        let sketch = Sketch { more: vec![("trim", trim)], ..Sketch::tiny() };
        let mut drive = FlashDrive::new(FlashProfile::parse(&sketch.text()).unwrap());
        submit(&mut drive, request(Write, 0, PAGE, 0));
        let before = drive.save();
        let discard = request(mileage_drive::RequestKind::Discard, 0, PAGE, 1_000_000);
        assert_eq!(submit_any(&mut drive, discard), status, "{trim}");
        assert_eq!(drive.mapped_pages(), mapped, "{trim}");
        assert_eq!(drive.save() == before, status != Status::Done, "{trim}");
        assert_eq!(counter(&drive, "trimmed_pages"), 1 - mapped, "{trim}");
    }
}

fn worn(text: &str) -> FlashDrive {
    FlashDrive::new(FlashProfile::parse(text).unwrap())
}

fn submit_any(drive: &mut FlashDrive, request: Request) -> Status {
    let mut out = Vec::new();
    drive.submit(&[request], &mut out);
    out[0].status
}

#[test]
fn a_worn_drive_reads_only_and_is_dead_after_a_power_cycle() {
    for (end, after) in [("read-only", Life::ReadOnly), ("read-only-then-dead", Life::Dead)] {
        let end: &'static str = format!("{end:?}").leak();
        let sketch = Sketch { blocks: 16, ..Sketch::tiny() }.with(&[("pe_cycles", "60"), ("end_of_life", end)]);
        let sketch = sketch.with(&[("levelling", "\"dynamic\"")]);
        let mut drive = worn(&sketch.text());
        let mut writes = 0;
        let mut indicator = 100;
        while submit_any(&mut drive, request(Write, writes % 64 * PAGE, PAGE, 0)) == Status::Done {
            writes += 1;
            assert!(drive.wear_indicator_percent() <= indicator);
            indicator = drive.wear_indicator_percent();
        }
        assert_eq!(drive.life(), Life::ReadOnly);
        assert!(indicator <= 10, "{indicator}");
        let before = drive.save();
        let why = WornOut::NoReplacement { used_percent: (100.0 * drive.life_used().unwrap()) as u64 };
        assert_eq!(submit_any(&mut drive, request(Write, 0, PAGE, 0)), Status::Refused(Refusal::ReadOnly(why)));
        drive.purge();
        assert!(drive.save() == before, "a refused write, or a purge, changed a drive that reads only");
        assert_eq!(submit_any(&mut drive, request(Read, 0, PAGE, 0)), Status::Done);
        let mut restored = FlashDrive::restored(sketch.profile(), &drive.save()).unwrap();
        for drive in [&mut drive, &mut restored] {
            drive.power_cycle();
            assert_eq!(drive.life(), after);
            let read = submit_any(drive, request(Read, 0, PAGE, 0));
            assert_eq!(read, if after == Life::Dead { Status::Refused(Refusal::Dead(why)) } else { Status::Done });
        }
    }
}

/// Host bytes = raw bytes x cycles x evenness / amplification, written in order and at random, by pages and by blocks.
/// (Written at random, log blocks are erased before they are full: their erases are more than the law's.)
#[test]
fn life_is_what_the_wear_law_says() {
    let demand = [("mapping", "\"demand\""), ("map_cache_entries", "200"), ("levelling", "\"dynamic\"")];
    for (pattern, mapping) in [
        (Sequential, &[("levelling", "\"dynamic\"")][..]),
        (Random, &[("levelling", "\"dynamic\"")]),
        (Random, &demand),
        (Sequential, &[("mapping", "\"block\"")]),
        (Random, &[("mapping", "\"block\"")]),
        (Sequential, &[("mapping", "\"bast\""), ("log_blocks", "4")]),
        (Sequential, &[("mapping", "\"fast\""), ("log_blocks", "4")]),
    ] {
        let sketch = Sketch { channels: 2, dies: 1, blocks: 40, pages: 32, ..Sketch::tiny() }.with_spare(0.35);
        let sketch = sketch.with(&[("cell", "\"slc\""), ("pe_cycles", "200"), ("end_of_life", "\"read-only\"")]);
        let sketch = sketch.with(&[("replacement_blocks", "1"), ("pe_spread_percent", "0.0")]);
        let sketch = Sketch { blocks: 41, ..sketch }.with(mapping);
        let mut drive = sketch.drive();
        // Blocks that are not yet full are erased for less than they hold.
        do_workload(&mut drive, &workload(Sequential, 0, sketch.capacity_bytes, 1.0, 1));
        let record = do_workload(&mut drive, &workload(pattern.clone(), 0, sketch.capacity_bytes, 1e4, 1));
        assert_eq!(record.error.map(|error| error.kind), Some("EIO".to_owned()));
        let amplification =
            counter(&drive, "flash_pages_programmed") as f64 / counter(&drive, "host_pages_written") as f64;
        let profile = drive.profile();
        let evenness = drive.life_used().unwrap();
        let host_pages = 2.0 * 41.0 * 32.0 * 200.0 * evenness / amplification;
        let off = counter(&drive, "host_pages_written") as f64 / host_pages - 1.0;
        assert!(off.abs() < 0.01, "{pattern:?}, {mapping:?}: {off:+.4}, {}", profile.basics.name);
        // A mapping by blocks only takes turns among the erased ones.
        let least = if profile.policies.by_page() { 0.9 } else { 0.75 };
        assert!(evenness > least, "{pattern:?}, {mapping:?}: {evenness}");
        assert_eq!(drive.life(), Life::ReadOnly);
    }
}

/// A quarter of the drive is never written again. Without static levelling its blocks are erased never, with it they
/// take their share.
#[test]
fn static_levelling_wears_what_lies_still() {
    let sketch = Sketch { channels: 2, dies: 1, blocks: 40, pages: 16, ..Sketch::tiny() }.with_spare(0.3);
    let mut spreads = Vec::new();
    for more in [vec![], vec![("levelling", "\"dynamic\"")], vec![("levelling", "\"static\""), ("levelling_gap", "8")]]
    {
        let mut drive = sketch.clone().with(&more).drive();
        do_workload(&mut drive, &workload(Sequential, 0, sketch.capacity_bytes, 1.0, 1));
        do_workload(&mut drive, &workload(Random, 0, sketch.capacity_bytes / 4 * 3, 60.0, 2));
        let gauges = drive.named_gauges();
        let gauge = |name: &str| gauges.iter().find(|(known, _)| *known == name).unwrap().1;
        spreads.push(gauge("erase_count_most") - gauge("erase_count_least"));
        assert_eq!(counter(&drive, "levelling_pages_moved") > 0, more.len() == 2);
    }
    assert!(spreads[2] <= 12 && spreads[0] > 60 && spreads[1] > 60, "{spreads:?}");
}

/// Blocks that fail early are replaced as long as there are replacements, whatever the mapping.
#[test]
fn early_failures_use_up_the_replacements_first() {
    let fast = [("mapping", "\"fast\""), ("log_blocks", "4")];
    for mapping in [&[][..], &[("mapping", "\"block\"")], &fast] {
        early_failures(&Sketch { blocks: 20, ..Sketch::tiny() }.with(mapping));
    }
}

fn early_failures(sketch: &Sketch) {
    let ends = [("pe_cycles", "50"), ("end_of_life", "\"read-only\""), ("pe_spread_percent", "40.0")];
    let lives = ["1", "3", "6"].map(|replacements| {
        let mut drive = sketch.clone().with(&ends).with(&[("replacement_blocks", replacements)]).drive();
        do_workload(&mut drive, &workload(Random, 0, 64 * PAGE, 1e4, 1));
        let replaced = drive.named_gauges().iter().find(|(name, _)| *name == "replaced_blocks").unwrap().1;
        assert_eq!(drive.life(), Life::ReadOnly);
        assert!((1..=4 * replacements.parse::<u64>().unwrap()).contains(&replaced), "{replaced}");
        counter(&drive, "host_pages_written")
    });
    assert!(lives.is_sorted() && lives[2] > lives[0], "{lives:?}");
}

/// Blocks that are bad from the factory: as many of each die, elsewhere with another seed, and what they cost is spare.
#[test]
fn bad_blocks_of_the_factory_come_out_of_the_spare() {
    let shape = Sketch { channels: 2, dies: 1, planes: 2, blocks: 128, pages: 32, ..Sketch::tiny() }.with_spare(0.2);
    let bad = |seed| shape.clone().with(&[("factory_bad_blocks_per_die", "12"), ("factory_bad_seed", seed)]);
    let [first, other] = ["1", "2"].map(|seed| bad(seed).profile().factory_bad_blocks());
    assert_eq!(first, bad("1").profile().factory_bad_blocks());
    assert_ne!(first, other);
    // Planes 0 and 2 are on the first die, 1 and 3 on the other.
    for planes in [&first, &other] {
        assert_eq!((planes[0].len() + planes[2].len(), planes[1].len() + planes[3].len()), (12, 12), "{planes:?}");
        assert!(planes.iter().all(|plane| plane.is_sorted_by(|a, b| a < b) && plane.iter().all(|block| *block < 128)));
    }
    let amplification = [shape.clone(), bad("1"), bad("2")].map(|sketch| {
        let mut drive = sketch.drive();
        let mut random = workload(Random, 0, sketch.capacity_bytes / PAGE * PAGE, 4.0, 1);
        do_workload(&mut drive, &random);
        random.seed = 2;
        let record = do_workload(&mut drive, &random);
        let seen = record.counters["flash_pages_programmed"] as f64 / record.counters["host_pages_written"] as f64;
        let theory = crate::formulas::of_drive(drive.profile());
        assert!((seen / theory - 1.0).abs() < 0.03, "{seen} where theory says {theory}");
        seen
    });
    assert!(
        amplification[1] > 1.1 * amplification[0] && amplification[2] > 1.1 * amplification[0],
        "{amplification:?}"
    );
    // A mapping by blocks has fewer to choose from, and refuses a capacity that no longer fits.
    let block =
        Sketch { blocks: 20, capacity_bytes: 64 * 4 * PAGE, ..Sketch::tiny() }.with(&[("mapping", "\"block\"")]);
    let of = |sketch: &Sketch| sketch.drive().named_gauges().iter().find(|(name, _)| *name == "free_blocks").unwrap().1;
    assert_eq!((of(&block), of(&block.clone().with(&[("factory_bad_blocks_per_die", "3")]))), (80, 80 - 12));
    let error = refusal(&block.with(&[("factory_bad_blocks_per_die", "4")]));
    assert!(error.contains("capacity_bytes") && error.contains("bad"), "{error}");
}
