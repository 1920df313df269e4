//! The map against a naive model: a table of what is mapped, and an audit of every invariant.

use super::{Divider, GROUP, Geometry, Map, NO_VICTIM, NOWHERE};
use proptest::prelude::*;
use std::collections::{HashMap, HashSet};

/// Every invariant of the map, from scratch.
fn audit(map: &Map) {
    let Geometry { units, blocks, pages, .. } = map.geometry;
    let mut valid: HashMap<u32, u32> = HashMap::new();
    let mut places = HashSet::new();
    for (logical, page) in map.forward.iter().enumerate().filter(|(_, page)| **page != NOWHERE) {
        assert!(places.insert(*page), "two logical pages at {page}");
        assert_eq!(map.reverse[*page as usize] as usize, logical, "page {page} holds something else");
        let (word, bit) = map.word_of(*page, map.block_of(*page));
        assert_eq!(map.stale[word] >> bit & 1, 0, "page {page} is mapped and stale");
        *valid.entry(page / pages).or_default() += 1;
    }
    let (mut free, mut open, mut full) = (0, 0, 0);
    for unit in 0..units {
        let frontier = map.frontiers[unit as usize];
        for index in 0..blocks {
            let block = unit * map.geometry.stride() + index;
            let holds = valid.remove(&block).unwrap_or(0);
            let count = i32::from(map.stale_count[block as usize]);
            let words = (block * map.geometry.words()) as usize..((block + 1) * map.geometry.words()) as usize;
            let marked: u32 = map.stale[words].iter().map(|word| word.count_ones()).sum();
            let never_opened = index >= frontier.fresh && index + 1 < blocks;
            if block == frontier.spare || never_opened {
                free += 1;
                assert_eq!((holds, marked, count), (0, 0, i32::from(NO_VICTIM)), "free block {block}");
            } else if block == frontier.open {
                open += 1;
                assert_eq!(holds + marked, pages - frontier.left, "open block {block}");
                assert_eq!(count, marked.cast_signed() + i32::from(NO_VICTIM), "open block {block}");
            } else {
                full += 1;
                assert_eq!(holds + marked, pages, "full block {block}");
                assert_eq!(count, marked.cast_signed(), "full block {block}");
            }
        }
    }
    assert!(valid.is_empty(), "pages in blocks that are not there: {valid:?}");
    assert_eq!(free + open + full, units * blocks);
    for (group, best) in map.group_best.iter().enumerate() {
        let counts = &map.stale_count[group * GROUP as usize..(group + 1) * GROUP as usize];
        assert_eq!(Some(best), counts.iter().max(), "group {group}");
    }
}

fn geometries() -> impl Strategy<Value = Geometry> {
    (1_u32..5, 3_u32..40, prop_oneof![Just(2_u32), Just(5), Just(64), Just(65), Just(130)], 1_u32..=100).prop_map(
        |(units, blocks, pages, percent)| {
            let most = units * (blocks - 2) * pages;
            Geometry { units, blocks, pages, logical: (most * percent / 100).max(1) }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn random_writes_and_discards_keep_every_invariant(geometry in geometries(), seed in any::<u64>(), discards in 0_u64..40) {
        use rand::{RngCore, SeedableRng};
        let mut rng = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut map = Map::new(geometry);
        let mut model: HashSet<u32> = HashSet::new();
        let operations = 6 * u64::from(geometry.units * geometry.blocks * geometry.pages);
        let mut moved = 0;
        for operation in 0..operations {
            let logical = (rng.next_u64() % u64::from(geometry.logical)) as u32;
            if rng.next_u64() % 100 < discards {
                prop_assert_eq!(map.discard(logical), model.remove(&logical));
            } else {
                let placement = map.write(logical);
                model.insert(logical);
                prop_assert_eq!(map.unit_holding(logical), Some(placement.unit));
                moved += placement.collected.map_or(0, |collected| collected.moved);
                prop_assert!(placement.collected.is_none_or(|collected| collected.moved < geometry.pages));
            }
            if operation % (operations / 8 + 1) == 0 {
                audit(&map);
            }
        }
        audit(&map);
        for logical in 0..geometry.logical {
            prop_assert_eq!(map.unit_holding(logical).is_some(), model.contains(&logical), "page {}, {} moved", logical, moved);
        }
        prop_assert_eq!(map.mapped(), model.len() as u64);
    }

    #[test]
    fn what_is_derived_is_what_was_kept(geometry in geometries(), seed in any::<u64>()) {
        use rand::{RngCore, SeedableRng};
        let mut rng = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut map = Map::new(geometry);
        for _ in 0..3 * geometry.units * geometry.blocks * geometry.pages {
            map.write((rng.next_u64() % u64::from(geometry.logical)) as u32);
        }
        let mut derived = Map::new(geometry);
        derived.forward.clone_from(&map.forward);
        derived.frontiers.clone_from(&map.frontiers);
        prop_assert!(derived.derive());
        audit(&derived);
        prop_assert_eq!(derived.stale, map.stale);
        prop_assert_eq!(derived.stale_count, map.stale_count);
        prop_assert_eq!(derived.group_best, map.group_best);
    }

    #[test]
    fn division_is_exact(number in any::<u32>(), by in 2_u32..100_000) {
        prop_assert_eq!(Divider::new(by).divide(number), number / by);
        prop_assert_eq!(Divider::new(by).divide(u32::MAX), u32::MAX / by);
    }
}

/// Sequential passes over a drive that is as full as allowed: no page is ever copied.
#[test]
fn one_unit_written_in_order_copies_nothing() {
    let geometry = Geometry { units: 1, blocks: 10, pages: 16, logical: 128 };
    let mut map = Map::new(geometry);
    for operation in 0..5000 {
        let collected = map.write(operation % 128).collected;
        assert!(collected.is_none_or(|collected| collected.moved == 0), "write {operation}: {collected:?}");
    }
    audit(&map);
}
