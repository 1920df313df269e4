//! The SLC cache from outside: what is refused, what every figure of it does, and what a saved drive remembers.

use crate::drives::{BX200, INTEL_600P, Sketch, counter, forge, request, submit};
use mileage_drive::conformance::{Requests, completions};
use mileage_drive::{FlashDrive, FlashProfile, Immediate, ManagedImmediate, Request, RequestKind};
use proptest::prelude::*;

type Figures<'a> = &'a [(&'static str, &'static str)];

/// 12 pages a block, 4 with one bit; six such blocks: 24 pages in four planes.
const STATIC: [(&str, &str); 6] = [
    ("cell", "\"tlc\""),
    ("slc_cache_bytes", "98304"),
    ("slc_design", "\"bypass\""),
    ("slc_read_us", "20.0"),
    ("slc_program_us", "70.0"),
    ("slc_idle_after_us", "1000.0"),
];

fn base() -> Sketch {
    Sketch { blocks: 16, pages: 12, ..Sketch::tiny() }.with_spare(0.6)
}

fn with(changed: Figures) -> Sketch {
    let kept = STATIC.into_iter().filter(|(key, _)| changed.iter().all(|(other, _)| other != key));
    let figures: Vec<_> = kept.chain(changed.iter().copied()).filter(|(_, value)| !value.is_empty()).collect();
    base().with(&figures)
}

#[test]
fn what_makes_no_sense_with_a_cache_is_refused() {
    assert!(FlashProfile::parse(&with(&[]).text()).is_ok());
    let cases: [(Figures, &str, &str); 20] = [
        (&[("slc_cache_bytes", "")], "slc_design", "slc_cache_bytes"),
        (&[("slc_cache_percent", "50.0")], "slc_cache_percent", "one of the two"),
        (&[("slc_cache_bytes", ""), ("slc_cache_percent", "0.5")], "slc_cache_percent", "percent from 1 to 100"),
        (&[("slc_cache_bytes", "100")], "slc_cache_bytes", "at least half of 16384"),
        (&[("slc_cache_bytes", "4_000_000")], "slc_cache_bytes", "spare blocks"),
        (&[("slc_design", "")], "slc_design", "needs it"),
        (&[("slc_design", "\"around\"")], "around", "bypass"),
        (&[("slc_read_us", "")], "slc_read_us", "needs it"),
        (&[("slc_read_us", "0.0")], "slc_read_us", "microseconds"),
        (&[("slc_program_us", "")], "slc_program_us", "needs it"),
        (&[("slc_idle_after_us", "")], "slc_idle_after_us", "bypass"),
        (&[("cell", "")], "slc_cache_bytes", "mlc, tlc or qlc"),
        (&[("cell", "\"slc\"")], "slc_cache_bytes", "mlc, tlc or qlc"),
        (&[("mapping", "\"demand\""), ("map_cache_entries", "9")], "slc_cache_bytes", "mapping page"),
        (&[("mapping", "\"block\"")], "slc_cache_bytes", "mapping page"),
        (&[("mapping", "\"fast\""), ("log_blocks", "4")], "slc_cache_bytes", "mapping page"),
        (&[("allocation", "\"by-address\"")], "slc_cache_bytes", "by-address"),
        (&[("dedupe_contents", "100")], "slc_cache_bytes", "dedupe_contents"),
        (&[("frontiers", "\"hot-cold\"")], "slc_cache_bytes", "hot-cold"),
        (&[("gc_idle_free_blocks", "3")], "slc_cache_bytes", "gc_idle_free_blocks"),
    ];
    for (changed, key, expected) in cases {
        let error = FlashProfile::parse(&with(changed).text()).expect_err(key).to_string();
        assert!(error.contains(key) && error.contains(expected), "{changed:?}: {error}");
        assert!(!error.contains('\n') && error.contains("expected"), "{error}");
    }
    let together = Sketch { planes: 2, ..with(&[("plane_work", "\"together\"")]) };
    assert!(FlashProfile::parse(&together.text()).unwrap_err().to_string().contains("plane_work"));
    // Everything passes the cache whether or not the drive is ever idle.
    assert!(FlashProfile::parse(&with(&[("slc_design", "\"through\""), ("slc_idle_after_us", "")]).text()).is_ok());
}

/// Writes, a pause and a read: all completions.
fn times(sketch: &Sketch) -> Vec<u64> {
    let mut drive = sketch.drive();
    let mut done = Vec::new();
    for page in 0..60 {
        let submit_ns = drive.now_ns();
        done.push(submit(&mut drive, Request { submit_ns, ..request(RequestKind::Write, page * 4096, 4096, 0) }));
        drive.advance_to(done[done.len() - 1]);
    }
    for (kind, page) in [(RequestKind::Read, 3), (RequestKind::Write, 100), (RequestKind::Read, 100)] {
        drive.idle_ns(3_000_000);
        let submit_ns = drive.now_ns();
        done.push(submit(&mut drive, Request { submit_ns, ..request(kind, page * 4096, 4096, 0) }));
        drive.advance_to(done[done.len() - 1]);
    }
    done
}

#[test]
fn every_figure_of_the_cache_has_an_effect() {
    let before = times(&with(&[]));
    for change in [
        ("slc_cache_bytes", "114688"),
        ("slc_design", "\"through\""),
        ("slc_read_us", "21.0"),
        ("slc_program_us", "71.0"),
        ("slc_idle_after_us", "2900.0"),
        ("cell", "\"mlc\""),
    ] {
        assert_ne!(times(&with(&[change])), before, "{change:?}");
    }
    let [half, most] = ["50.0", "90.0"].map(|share| with(&[("slc_cache_bytes", ""), ("slc_cache_percent", share)]));
    assert_ne!(free_pages(&half.drive()), free_pages(&most.drive()));
}

fn free_pages(drive: &FlashDrive) -> u64 {
    drive.named_gauges().iter().find(|(name, _)| *name == "slc_free_pages").map_or(0, |(_, value)| *value)
}

/// One page: 1 us of the controller, 10 of the link, 20 of the channel and the cells: 70 in the cache, 200 behind it;
/// a read of the cache 20 us of the cells, of others 50.
#[test]
fn times_add_up_by_hand() {
    let done = times(&with(&[]));
    let took = |index: usize| done[index] - done[index - 1];
    assert_eq!((done[0], took(1), took(23)), (101_000, 101_000, 101_000));
    // 24 pages are in the cache, the next are not.
    assert_eq!((took(24), took(50)), (231_000, 231_000));
    // The pause emptied the cache: the page is read with all bits; a page just written, with one bit.
    let waited = |index: usize| took(index) - 3_000_000;
    assert_eq!(waited(60), 1000 + 50_000 + 20_000 + 10_000);
    assert_eq!(waited(61), 101_000);
}

#[test]
fn a_purged_drive_has_its_cache_again() {
    for size in [("slc_cache_bytes", "98304"), ("slc_cache_percent", "80.0")] {
        let other = if size.0 == "slc_cache_bytes" { "slc_cache_percent" } else { "slc_cache_bytes" };
        let sketch = with(&[size, (other, "")]);
        let mut drive = sketch.drive();
        let new = free_pages(&drive);
        let mut requests = Requests::new(3, &drive);
        completions(&mut drive, &requests.take(500));
        assert!(counter(&drive, "slc_pages_programmed") > 0);
        drive.purge();
        assert_eq!((free_pages(&drive), drive.mapped_pages(), drive.written_pages()), (new, 0, 0));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_restored_cache_continues_byte_for_byte(
        seed in any::<u64>(), before in 0_usize..500, after in 1_usize..300, dynamic in any::<bool>(), through in any::<bool>()
    ) {
        let design = if through { "\"through\"" } else { "\"bypass\"" };
        let mut figures = vec![("slc_design", design)];
        if dynamic {
            figures.extend([("slc_cache_bytes", ""), ("slc_cache_percent", "70.0")]);
        }
        let sketch = with(&figures);
        let mut drive = sketch.drive();
        let mut requests = Requests::new(seed, &drive);
        completions(&mut drive, &requests.take(before));
        let mut other = FlashDrive::restored(sketch.profile(), &drive.save()).unwrap();
        let next = requests.take(after);
        prop_assert_eq!(completions(&mut drive, &next), completions(&mut other, &next));
        prop_assert_eq!(drive.save(), other.save());
    }

    #[test]
    fn a_forged_cache_never_panics(seed in any::<u64>(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let sketch = with(&[]);
        forge(&sketch, seed, |body| changes.into_iter().map(|(at, value)| (at.index(body), value)).collect());
    }
}

#[test]
fn drives_that_were_sold_with_a_cache_have_one() {
    for (text, pages) in [(BX200, 3_000_000_000_u64 / 4096), (INTEL_600P, 17_500_000_000 / 4096)] {
        let profile = FlashProfile::parse(text).unwrap();
        let block = 4 * u64::from(profile.slc_cache.unwrap().pages_per_block);
        assert!(free_pages(&FlashDrive::new(profile)).abs_diff(pages) <= block);
    }
}
