//! The map against a shadow of the flash, for every policy, and an audit of every invariant.

use super::geometry::{Divider, GROUP};
use super::{Frontier, Geometry, Map, NO_VICTIM, NOWHERE, Rules};
use crate::flash::cells::NoWatch;
use crate::flash::shadow::Shadow;
use crate::flash::wear_policy::Wear;
use crate::profile::flash::choices::{Frontiers, Victim};
use proptest::prelude::*;
use rand::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::{HashMap, HashSet};

fn plain(units: u32) -> Rules {
    Rules {
        victim: Victim::Greedy,
        choices: 0,
        free_min: 1,
        idle_free: 0,
        idle_after_ns: 0,
        frontiers: Frontiers::Shared,
        by_address: false,
        factory_bad: vec![0; units as usize],
        order: (0..units).collect(),
        wear: Wear { dynamic: false, static_gap: None, limit: None, spread: 0.0 },
    }
}

/// Use of block `index` of a unit, and how many of its pages are written.
#[derive(PartialEq)]
enum Use {
    Free,
    Open(u32),
    Full,
    OutOfService,
}

fn use_of(map: &Map, unit: u32, index: u32) -> Use {
    let state = &map.units[unit as usize];
    let block = unit * map.geometry.stride() + index;
    let open = [0, 1].map(|class| map.frontiers[(2 * unit + class) as usize]);
    let frontier: Option<&Frontier> = open.iter().find(|frontier| frontier.open == block);
    let never = (state.fresh..state.blocks).contains(&index);
    match frontier {
        Some(frontier) => Use::Open(map.geometry.pages - frontier.left),
        None if state.bad.contains(&block) => Use::OutOfService,
        None if index >= state.blocks + state.bad.len() as u32 => Use::OutOfService,
        None if never || state.free.contains(&block) => Use::Free,
        None => Use::Full,
    }
}

/// Every invariant of the map, from scratch: forward and reverse agree, no page has two uses, and in every block free
/// and valid and stale pages are all there are.
pub(in crate::flash) fn audit(map: &Map) {
    let Geometry { units, blocks, replacements, pages, .. } = map.geometry;
    let mut valid: HashMap<u32, u32> = HashMap::new();
    let mut places = HashSet::new();
    for (logical, page) in map.forward.iter().enumerate().filter(|(_, page)| **page != NOWHERE) {
        assert!(places.insert(*page), "two logical pages at {page}");
        assert_eq!(map.reverse[*page as usize] as usize, logical, "page {page} holds something else");
        let (word, bit) = map.word_of(*page, map.block_of(*page));
        assert_eq!(map.stale[word] >> bit & 1, 0, "page {page} is mapped and stale");
        *valid.entry(page / pages).or_default() += 1;
    }
    assert_eq!(map.mapped(), places.len() as u64);
    let mut free = 0;
    for unit in 0..units {
        let mut free_here = 0;
        for index in 0..blocks + replacements {
            let block = unit * map.geometry.stride() + index;
            let holds = valid.remove(&block).unwrap_or(0);
            let count = i32::from(map.stale_count[block as usize]);
            let words = (block * map.geometry.words()) as usize..((block + 1) * map.geometry.words()) as usize;
            let marked: u32 = map.stale[words].iter().map(|word| word.count_ones()).sum();
            match use_of(map, unit, index) {
                Use::Free | Use::OutOfService => {
                    assert_eq!((holds, marked, count), (0, 0, i32::from(NO_VICTIM)), "erased block {block}");
                }
                Use::Open(written) => {
                    assert_eq!(holds + marked, written, "open block {block}");
                    assert_eq!(count, marked.cast_signed() + i32::from(NO_VICTIM), "open block {block}");
                }
                Use::Full => {
                    assert_eq!(holds + marked, pages, "full block {block}");
                    assert_eq!(count, marked.cast_signed(), "full block {block}");
                }
            }
            free_here += u32::from(use_of(map, unit, index) == Use::Free);
        }
        assert!(free_here >= map.rules.free_min, "unit {unit} has {free_here} erased blocks");
        assert_eq!(free_here, map.free_of(unit));
        free += free_here;
    }
    assert_eq!(free, map.free_blocks);
    assert!(map.free_blocks_least <= free);
    assert!(valid.is_empty(), "pages in blocks that are not there: {valid:?}");
    for (group, best) in map.group_best.iter().enumerate() {
        let counts = &map.stale_count[group * GROUP as usize..(group + 1) * GROUP as usize];
        assert_eq!(Some(best), counts.iter().max(), "group {group}");
    }
    let in_service = (0..units).flat_map(|unit| (0..blocks + replacements).map(move |index| (unit, index)));
    let in_service = in_service.filter(|(unit, index)| use_of(map, *unit, *index) != Use::OutOfService);
    let erases = || in_service.clone().map(|(unit, index)| map.erases[(unit * map.geometry.stride() + index) as usize]);
    let spread = map.erase_spread();
    assert_eq!((Some(spread.least), Some(spread.most)), (erases().min(), erases().max()));
}

fn geometries() -> impl Strategy<Value = Geometry> {
    let pages = prop_oneof![Just(2_u32), Just(5), Just(64), Just(65), Just(130)];
    let per_program = prop::sample::select(&[1_u32, 1, 2, 4]);
    (1_u32..5, 5_u32..40, 0_u32..3, pages, per_program).prop_map(|(units, blocks, replacements, pages, per_program)| {
        Geometry { units, blocks, replacements, pages: pages * per_program, per_program, logical: 0 }
    })
}

/// Any policies; how much of what they leave the host uses, in percent.
fn cases() -> impl Strategy<Value = (Geometry, Rules)> {
    let victims = prop::sample::select(Victim::ALL);
    let frontiers = prop::sample::select(Frontiers::ALL);
    let wear = (any::<bool>(), prop::option::of(1_u32..5), prop::option::of(2_u32..40), 0.0..0.5);
    (geometries(), victims, 2_u32..6, 1_u32..3, frontiers, any::<bool>(), wear, 1_u32..=100, 0_u32..4).prop_map(
        |(geometry, victim, choices, free_min, frontiers, by_address, wear, percent, bad)| {
            let (dynamic, static_gap, limit, spread) = wear;
            let open = if frontiers == Frontiers::Shared { 1 } else { 2 };
            // Bad blocks in every other unit only: a rule that takes units of equal size for granted must fail here.
            let most_bad = (geometry.blocks - free_min - open - 1).min(bad);
            let factory_bad: Vec<u32> = (0..geometry.units).map(|unit| most_bad * (unit % 2)).collect();
            let usable = |bad: u32| geometry.blocks - bad - free_min - open;
            let fewest = usable(factory_bad.iter().copied().max().unwrap_or(0)) * geometry.units;
            let blocks = if by_address { fewest } else { factory_bad.iter().map(|bad| usable(*bad)).sum() };
            let logical = (blocks * geometry.pages * percent / 100 / geometry.units * geometry.units).max(1);
            let idle_free = free_min + choices;
            let wear = Wear { dynamic, static_gap, limit, spread };
            let rules =
                Rules { victim, choices, free_min, idle_free, frontiers, by_address, factory_bad, wear, ..plain(0) };
            let order = (0..geometry.units).collect();
            (Geometry { logical, ..geometry }, Rules { order, ..rules })
        },
    )
}

/// Random operations, a tenth of the pages hotter than the rest; the shadow watches every program.
fn work(map: &mut Map, seed: u64, rounds: u64, discards: u64, shadow: &mut Shadow) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let Geometry { units, blocks, pages, logical, .. } = map.geometry;
    let operations = rounds * u64::from(units * blocks * pages);
    for operation in 0..operations {
        let among = if rng.next_u64().is_multiple_of(2) { logical } else { logical.div_ceil(10) };
        let page = (rng.next_u64() % u64::from(among)) as u32;
        let chance = rng.next_u64() % 1000;
        if chance < discards {
            assert_eq!(map.discard(page), shadow.discard(page));
        } else if chance >= 995 {
            map.collect_idle((rng.next_u64() % u64::from(units)) as u32, shadow);
        } else {
            shadow.host_writes(page);
            let placement = map.write(page, shadow);
            assert_eq!(map.unit_holding(page), Some(placement.unit));
            assert!(!map.rules.by_address || placement.unit == page % units);
        }
        if operation % (operations / 6 + 1) == 0 {
            audit(map);
            shadow.compare(&map.forward);
        }
    }
    audit(map);
    shadow.compare(&map.forward);
    assert_eq!(map.erases.iter().map(|erases| u64::from(*erases)).sum::<u64>(), shadow.erases);
    assert!(shadow.programs + shadow.copies >= shadow.programs, "write amplification below 1");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(250))]

    #[test]
    fn random_operations_keep_every_invariant((geometry, rules) in cases(), seed in any::<u64>(), discards in 0_u64..400) {
        let mut map = Map::new(geometry, rules);
        let mut shadow = Shadow::new(geometry.units * geometry.stride(), geometry.pages, geometry.logical);
        work(&mut map, seed, 4, discards, &mut shadow);
    }

    #[test]
    fn what_is_derived_is_what_was_kept((geometry, rules) in cases(), seed in any::<u64>()) {
        let mut map = Map::new(geometry, rules.clone());
        let mut shadow = Shadow::new(geometry.units * geometry.stride(), geometry.pages, geometry.logical);
        work(&mut map, seed, 3, 100, &mut shadow);
        let mut derived = Map::new(geometry, rules);
        derived.forward.clone_from(&map.forward);
        derived.frontiers.clone_from(&map.frontiers);
        derived.units.clone_from(&map.units);
        derived.free_blocks_least = map.free_blocks_least;
        prop_assert!(derived.units_hold());
        prop_assert!(derived.derive());
        audit(&derived);
        prop_assert_eq!(derived.stale, map.stale);
        prop_assert_eq!(derived.stale_count, map.stale_count);
        prop_assert_eq!(derived.group_best, map.group_best);
    }

    #[test]
    fn a_purged_map_keeps_its_wear_and_works((geometry, rules) in cases(), seed in any::<u64>()) {
        let mut map = Map::new(geometry, rules);
        let mut shadow = Shadow::new(geometry.units * geometry.stride(), geometry.pages, geometry.logical);
        work(&mut map, seed, 2, 100, &mut shadow);
        let (written, before): (u64, u64) =
            (map.blocks_written().map(u64::from).sum(), map.erases.iter().map(|erases| u64::from(*erases)).sum());
        map.erase_all();
        prop_assert_eq!(map.erases.iter().map(|erases| u64::from(*erases)).sum::<u64>(), before + written);
        audit(&map);
        let mut shadow = Shadow::new(geometry.units * geometry.stride(), geometry.pages, geometry.logical);
        shadow.erases = before + written;
        work(&mut map, seed, 2, 100, &mut shadow);
    }

    #[test]
    fn equal_maps_do_equal_things((geometry, rules) in cases(), seed in any::<u64>()) {
        let [first, second] = [(), ()].map(|()| {
            let mut map = Map::new(geometry, rules.clone());
            let mut shadow = Shadow::new(geometry.units * geometry.stride(), geometry.pages, geometry.logical);
            work(&mut map, seed, 2, 50, &mut shadow);
            (map.forward, map.erases, map.draws)
        });
        prop_assert!(first == second);
    }

    #[test]
    fn division_is_exact(number in any::<u32>(), by in 2_u32..100_000) {
        prop_assert_eq!(Divider::new(by).divide(number), number / by);
        prop_assert_eq!(Divider::new(by).divide(u32::MAX), u32::MAX / by);
    }
}

/// A drive as full as allowed is written sequentially several times: no page is ever copied.
#[test]
fn one_unit_written_in_order_copies_nothing() {
    let geometry = Geometry { units: 1, blocks: 10, replacements: 0, pages: 16, per_program: 1, logical: 128 };
    let mut map = Map::new(geometry, plain(1));
    for operation in 0..5000 {
        let opening = map.write(operation % 128, &mut NoWatch).opening;
        assert!(opening.is_none_or(|opening| opening.moved == 0), "write {operation}: {opening:?}");
    }
    audit(&map);
}

/// The textbook's three steps of garbage collection. Pages A to D are written to block X; then new pages E to H and
/// the replacements A' to D', which leaves the old A to D stale; then the eight good pages are read and written to
/// block Y, and X is erased.
#[test]
fn the_three_steps_of_garbage_collection() {
    let geometry = Geometry { units: 1, blocks: 3, replacements: 0, pages: 12, per_program: 1, logical: 12 };
    let mut map = Map::new(geometry, Rules { idle_free: 3, ..plain(1) });
    let mut shadow = Shadow::new(32, 12, 12);
    let (x, y) = (0, 1);
    let mut write = |map: &mut Map, pages: std::ops::Range<u32>| {
        for page in pages {
            shadow.host_writes(page);
            let opening = map.write(page, &mut shadow).opening;
            assert!(opening.is_none_or(|opening| opening.erased == 0));
        }
    };
    write(&mut map, 0..4);
    write(&mut map, 4..8);
    write(&mut map, 0..4);
    let held = |map: &Map, block: usize| map.reverse[12 * block..12 * (block + 1)].to_vec();
    assert_eq!(held(&map, x), [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3]);
    assert_eq!((map.stale[x], map.mapped()), (0b1111, 8));
    let opening = map.collect_idle(0, &mut shadow).expect("fewer erased blocks than wanted when idle");
    assert_eq!((opening.moved, opening.erased), (8, 1));
    assert_eq!(held(&map, y)[..8], [4, 5, 6, 7, 0, 1, 2, 3]);
    assert_eq!(map.forward[..8], [16, 17, 18, 19, 12, 13, 14, 15]);
    assert_eq!((map.frontiers[0], map.erases[x], map.free_blocks), (Frontier { open: 1, left: 4 }, 1, 2));
    audit(&map);
    shadow.compare(&map.forward);
}
