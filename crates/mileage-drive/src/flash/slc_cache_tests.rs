//! The cache against a shadow of the flash, and an audit of its books.

use super::MapWithCache;
use crate::flash::map::{Geometry, Map, NOWHERE, Rules};
use crate::flash::medium::Medium;
use crate::flash::shadow::Shadow;
use crate::flash::wear_policy::Wear;
use crate::flash::{Counters, timing::Clocks};
use crate::profile::FlashProfile;
use crate::profile::flash::choices::SlcDesign;
use crate::profile::flash::choices::{Frontiers, Victim};
use crate::profile::flash::{SlcCache, SlcSize};
use proptest::prelude::*;
use rand::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const PAGES: u32 = 8;
/// Those of them that hold data when cells hold one bit.
const SLC_PAGES: u32 = 3;

fn medium() -> Medium {
    let text = include_str!("../../../../profiles/drives/plain-64gib.toml");
    let profile = FlashProfile::parse(text).expect("a profile that comes with the project");
    Medium { clocks: Clocks::new(&profile), counters: Counters::default() }
}

/// A cache before a map of `units` planes of 24 blocks, as full as it may be.
fn cached(units: u32, size: SlcSize, design: SlcDesign, frontiers: Frontiers) -> MapWithCache {
    cached_in_parts(1, units, size, design, frontiers)
}

/// The same with `per` pages of the map in a flash page.
fn cached_in_parts(per: u32, units: u32, size: SlcSize, design: SlcDesign, frontiers: Frontiers) -> MapWithCache {
    let open = if frontiers == Frontiers::Shared { 1 } else { 2 };
    let cache_blocks = if let SlcSize::Blocks(blocks) = size { blocks } else { 0 };
    let logical = (units * (24 - 1 - open) - cache_blocks) * PAGES * per;
    let geometry = Geometry { units, blocks: 24, replacements: 0, pages: PAGES * per, per_program: per, logical };
    let rules = Rules {
        victim: Victim::Greedy,
        choices: 0,
        free_min: 1,
        idle_free: 0,
        idle_after_ns: 0,
        frontiers,
        by_address: false,
        factory_bad: vec![0; units as usize],
        order: (0..units).collect(),
        wear: Wear { dynamic: false, static_gap: None, limit: None, spread: 0.0 },
    };
    let cache = SlcCache {
        size,
        pages_per_block: SLC_PAGES,
        design,
        read_ns: 1000,
        program_ns: 2000,
        idle_after_ns: Some(1000),
    };
    MapWithCache::new(Map::new(geometry, rules), cache)
}

/// No page is in two places, every lent block is marked and filled in order, and a static cache has what it may have.
fn audit(cached: &MapWithCache) {
    let quota = cached.quota();
    let Geometry { pages, per_program, .. } = cached.map.geometry;
    let most = SLC_PAGES * per_program;
    for (unit, state) in cached.map.units.iter().enumerate() {
        for (index, lent) in state.lent.iter().enumerate() {
            assert!(cached.lent[lent.block as usize], "block {} is lent and not marked", lent.block);
            assert!(!state.free.contains(&lent.block), "block {} is lent and free", lent.block);
            assert!((1..=most).contains(&lent.filled), "block {} holds {} pages", lent.block, lent.filled);
            assert!(lent.filled == most || index + 1 == state.lent.len(), "only the last may have room");
            let held = cached.map.forward.iter().filter(|page| **page != NOWHERE && **page / pages == lent.block);
            assert_eq!(held.count() as u32, cached.map.valid_of(*lent), "valid pages of block {}", lent.block);
        }
        if cached.fixed() {
            let share = cached.share_of(unit as u32, quota);
            assert_eq!(state.kept + state.lent.len() as u32, share, "unit {unit} keeps or lends its share");
        }
        assert!(state.erased() >= state.kept);
    }
    let marked = cached.lent.iter().filter(|lent| **lent).count();
    assert_eq!(marked, cached.map.units.iter().map(|unit| unit.lent.len()).sum::<usize>());
}

/// Writes, discards and pauses at random, all of them reported to the shadow; returns the cache as it is then.
fn churn(mut cached: MapWithCache, seed: u64, steps: u32) -> (MapWithCache, Medium) {
    let (mut random, mut medium) = (Xoshiro256PlusPlus::seed_from_u64(seed), medium());
    let Geometry { units, logical, pages, .. } = cached.map.geometry;
    let mut shadow = Shadow::new(units * cached.map.geometry.stride(), pages, logical);
    let mut now_ns = 0;
    for step in 0..steps {
        let page = (random.next_u64() % u64::from(logical)) as u32;
        match random.next_u64() % 40 {
            0..=3 => assert_eq!(cached.discard(page), shadow.discard(page), "step {step}"),
            4 if random.next_u64().is_multiple_of(8) => {
                let idle_ns = now_ns.max(medium.clocks.durable_ns);
                now_ns = idle_ns + random.next_u64() % 100_000_000;
                cached.drain(idle_ns, now_ns, &mut medium, &mut shadow);
            }
            _ => {
                shadow.host_writes(page);
                now_ns = cached.write(page, now_ns, &mut medium, &mut shadow);
            }
        }
        if step % 64 == 0 {
            audit(&cached);
            shadow.compare(&cached.map.forward);
        }
    }
    audit(&cached);
    shadow.compare(&cached.map.forward);
    assert_eq!(medium.counters.blocks_erased, shadow.erases);
    let (per, programs) = (u64::from(cached.map.geometry.per_program), medium.counters.flash_pages_programmed);
    if per == 1 {
        assert_eq!(programs, shadow.programs + shadow.copies);
    }
    let waiting = medium.clocks.waiting.len() as u64;
    assert!(per * programs + waiting + per * u64::from(units) >= shadow.programs + shadow.copies);
    (cached, medium)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn nothing_is_lost_in_or_behind_the_cache(
        seed in any::<u64>(), units in 1_u32..5, blocks in 1_u32..20, share in 0_u32..11, through in any::<bool>(), apart in any::<bool>(),
        per in prop::sample::select(&[1_u32, 4])
    ) {
        let size = if share == 0 { SlcSize::Blocks(blocks.min(8 * units)) } else { SlcSize::ShareOfFree(f64::from(share) / 10.0) };
        let design = if through { SlcDesign::Through } else { SlcDesign::Bypass };
        let frontiers = if apart { Frontiers::SurvivorsApart } else { Frontiers::Shared };
        let (_, medium) = churn(cached_in_parts(per, units, size, design, frontiers), seed, 3000 * per);
        prop_assert!(medium.counters.slc_pages_programmed > 0);
    }
}

/// A drive that was filled once has only its reserve to give: nothing is stuck, and the cache shrinks away.
#[test]
fn a_cache_of_the_free_space_shrinks_as_the_drive_fills() {
    let mut cached = cached(3, SlcSize::ShareOfFree(1.0), SlcDesign::Bypass, Frontiers::Shared);
    let mut medium = medium();
    let before = cached.free_pages();
    for page in 0..cached.map.geometry.logical {
        cached.write(page, 0, &mut medium, &mut crate::flash::cells::NoWatch);
        audit(&cached);
    }
    assert!(before > 100, "{before}");
    assert_eq!(cached.free_pages(), 0);
    let held: u32 = (0..3).map(|unit| cached.held(unit)).sum();
    assert!(held <= 3, "{held} blocks are still lent");
}

/// With equal turns the first write behind the cache is the one after its last page.
#[test]
fn the_cache_takes_exactly_its_pages() {
    for (design, blocks) in [(SlcDesign::Bypass, 7), (SlcDesign::Through, 7), (SlcDesign::Bypass, 1)] {
        let mut cached = cached(4, SlcSize::Blocks(blocks), design, Frontiers::Shared);
        let mut medium = medium();
        for page in 0..3 * blocks {
            cached.write(page, 0, &mut medium, &mut crate::flash::cells::NoWatch);
        }
        assert_eq!(cached.free_pages(), 0);
        let counters = medium.counters;
        assert_eq!((counters.slc_pages_programmed, counters.slc_pages_folded), (u64::from(3 * blocks), 0));
        cached.write(3 * blocks, 0, &mut medium, &mut crate::flash::cells::NoWatch);
        let folded = medium.counters.slc_pages_folded;
        assert_eq!(folded > 0, design == SlcDesign::Through, "{folded} pages folded");
    }
}
