//! The mappings by blocks against a shadow of the flash, and their merges counted by hand.

use super::super::shadow::{Shadow, small_profile};
use super::{Blocks, Medium, NOWHERE};
use crate::flash::counters::Counters;
use crate::flash::timing::Clocks;
use crate::profile::FlashProfile;
use proptest::prelude::*;
use rand::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A drive of `units` planes with blocks of `pages` pages, `logical` blocks of them for the host and `spare` more.
fn profile(mapping: &str, units: u32, pages: u32, logical: u32, logs: u32, spare: u32) -> FlashProfile {
    worn_profile(mapping, units, pages, logical, logs, spare, None)
}

/// The same with cells that endure `cycles`, and in every plane `replacements` for worn blocks and one bad block.
fn worn_profile(
    mapping: &str,
    units: u32,
    pages: u32,
    logical: u32,
    logs: u32,
    spare: u32,
    worn: Option<(u32, u32)>,
) -> FlashProfile {
    let more = worn.map_or(0, |(_, replacements)| replacements + 1);
    let blocks = (logical + logs + 2 + spare).div_ceil(units).max(3) + more;
    let mut figures = vec![("mapping", format!("{mapping:?}"))];
    if mapping != "block" {
        figures.push(("log_blocks", logs.to_string()));
    }
    if let Some((cycles, replacements)) = worn {
        figures.extend([
            ("end_of_life", "\"read-only\"".to_owned()),
            ("pe_cycles", cycles.to_string()),
            ("pe_spread_percent", "60.0".to_owned()),
            ("replacement_blocks", replacements.max(1).to_string()),
            ("factory_bad_blocks_per_die", "1".to_owned()),
        ]);
    }
    small_profile((units, blocks, pages), 4096, u64::from(logical) * u64::from(pages) * 4096, &figures)
}

struct Bench {
    blocks: Blocks,
    medium: Medium,
    shadow: Shadow,
}

impl Bench {
    fn new(profile: &FlashProfile) -> Self {
        let blocks = Blocks::new(profile);
        let shadow = Shadow::new(blocks.next.len() as u32, blocks.pages, blocks.place.len() as u32);
        Self { blocks, medium: Medium { clocks: Clocks::new(profile), counters: Counters::default() }, shadow }
    }

    fn write(&mut self, page: u32, count: u32) {
        (page..page + count).for_each(|page| self.shadow.host_writes(page));
        self.blocks.write(page, count, 0, &mut self.medium, &mut self.shadow);
    }

    fn discard(&mut self, page: u32) {
        let expected = self.shadow.discard(page);
        assert_eq!(self.blocks.discard(page, 0, &mut self.medium, &mut self.shadow), expected);
    }

    /// Every invariant: each block has one use, each mapped page a place of its own, and all is read back.
    fn audit(&self) {
        self.shadow.compare(&self.blocks.place);
        let mut again = self.blocks.clone();
        again.reverse.fill(NOWHERE);
        assert!(again.derive(), "{:?}", self.blocks);
        assert_eq!(again.mapped_in, self.blocks.mapped_in);
        for (place, page) in again.reverse.iter().enumerate().filter(|(_, page)| **page != NOWHERE) {
            assert_eq!(self.blocks.reverse[place], *page, "the reverse map of {place}");
        }
        for out in [&self.blocks.factory_bad, &self.blocks.bad] {
            assert!(
                out.iter().all(|block| !self.blocks.free.contains(block) && self.blocks.next[*block as usize] == 0)
            );
        }
        let past = |block: &u32| self.blocks.erases[*block as usize] >= self.blocks.wear.limit_of(*block).unwrap_or(0);
        assert!(self.blocks.bad.iter().all(past), "a block was replaced before its time");
        let over = (0..self.blocks.next.len() as u32).filter(|block| self.blocks.wear.limit.is_some() && past(block));
        assert!(self.blocks.worn_out || over.count() == self.blocks.bad.len(), "a worn block is still in service");
        let counters = &self.medium.counters;
        assert_eq!(counters.flash_pages_programmed, self.shadow.programs + self.shadow.copies);
        assert_eq!((counters.gc_pages_moved, counters.blocks_erased), (self.shadow.copies, self.shadow.erases));
    }

    fn counts(&self) -> (u64, u64, u64) {
        let Counters { flash_pages_programmed, gc_pages_moved, blocks_erased, .. } = self.medium.counters;
        (flash_pages_programmed, gc_pages_moved, blocks_erased)
    }

    fn merges(&self) -> (u64, u64, u64) {
        let Counters { switch_merges, partial_merges, full_merges, .. } = self.medium.counters;
        (switch_merges, partial_merges, full_merges)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn random_operations_keep_every_invariant(
        mapping in prop::sample::select(vec!["block", "bast", "fast"]), units in 1_u32..5,
        pages in prop_oneof![Just(2_u32), Just(5), Just(16), Just(65)], logical in 1_u32..12, logs in 2_u32..6,
        spare in 0_u32..8, seed in any::<u64>(), sequential in 0_u64..100,
        worn in prop::option::of((1_u32..30, 1_u32..4))
    ) {
        let mut bench = Bench::new(&worn_profile(mapping, units, pages, logical, logs, spare, worn));
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let all = u64::from(logical * pages);
        let mut page = 0;
        for operation in 0..8 * all {
            let follows = rng.next_u64() % 100 < sequential;
            page = if follows { (page + 1) % all } else { rng.next_u64() % all };
            let longest = bench.blocks.pages_of_one_merge(page as u32, (all - page) as u32);
            match rng.next_u64() % 20 {
                0 => bench.discard(page as u32),
                _ => bench.write(page as u32, 1 + (rng.next_u64() % u64::from(longest)) as u32),
            }
            if operation % all == 0 {
                bench.audit();
            }
        }
        bench.audit();
    }
}

/// One overwrite in a mapping by blocks: all other pages of the block are copied, and the old one is erased.
#[test]
fn an_overwrite_of_one_page_costs_a_whole_block() {
    let mut bench = Bench::new(&profile("block", 2, 16, 4, 0, 4));
    (0..64).for_each(|page| bench.write(page, 1));
    assert_eq!(bench.counts(), (64, 0, 0), "written in order nothing is copied");
    bench.write(21, 1);
    assert_eq!(bench.counts(), (64 + 16, 15, 1));
    bench.write(0, 16);
    assert_eq!(bench.counts(), (64 + 32, 15, 2), "a whole block is replaced without a copy");
    (0..16).for_each(|page| bench.discard(page));
    assert_eq!(bench.counts(), (64 + 32, 15, 3), "a block discarded as a whole is erased");
    bench.audit();
}

#[test]
fn bast_merges_by_switch_when_written_in_order_and_fully_when_not() {
    let mut bench = Bench::new(&profile("bast", 1, 8, 4, 2, 2));
    (0..32).for_each(|page| bench.write(page, 1));
    assert_eq!((bench.counts(), bench.merges()), ((32, 0, 0), (0, 0, 0)));
    // Logical block 0 again in order: its log block becomes its data block when the next one is needed.
    (0..8).for_each(|page| bench.write(page, 1));
    bench.write(0, 1);
    assert_eq!((bench.counts(), bench.merges()), ((41, 0, 1), (1, 0, 0)));
    // Blocks 1 and 2 need log blocks; block 0's, with page 0 in order, is merged in part: seven copies.
    bench.write(9, 1);
    bench.write(17, 1);
    assert_eq!((bench.counts(), bench.merges()), ((43 + 7, 7, 2), (1, 1, 0)));
    // Block 3 takes the log block of block 1, whose page 9 is not in order: a full merge, two erases.
    bench.write(25, 1);
    assert_eq!((bench.counts(), bench.merges()), ((51 + 8, 7 + 8, 4), (1, 1, 1)));
    bench.audit();
}

#[test]
fn fast_streams_switch_and_a_full_shared_log_costs_a_merge_for_each_block_in_it() {
    let mut bench = Bench::new(&profile("fast", 1, 4, 8, 3, 4));
    (0..32).for_each(|page| bench.write(page, 1));
    (0..32).for_each(|page| bench.write(page, 1));
    assert_eq!((bench.counts(), bench.merges()), ((64, 0, 8), (8, 0, 0)), "a sequential overwrite only switches");
    // Eight pages of eight blocks fill both shared log blocks; the ninth empties the first: four merges of four
    // pages, an erase each, and the log block's own.
    (0..8).for_each(|block| bench.write(4 * block + 1, 1));
    assert_eq!(bench.merges(), (8, 0, 0));
    bench.write(2, 1);
    assert_eq!((bench.counts(), bench.merges()), ((64 + 9 + 16, 16, 8 + 4 + 1), (8, 0, 4)));
    bench.audit();
}
