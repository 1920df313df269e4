//! The cached map against a shadow of the flash, and against a list of the entries used last.

use super::super::shadow::{Shadow, small_profile};
use super::{Demand, Map, Medium, NOWHERE};
use crate::flash::cells::Cells;
use crate::flash::counters::Counters;
use crate::flash::map::tests::audit as audit_map;
use crate::flash::map::{Geometry, Rules};
use crate::flash::timing::Clocks;
use crate::profile::FlashProfile;
use proptest::prelude::*;
use rand::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// `units` planes of blocks of `pages` pages, as much of them for the host as the profile allows.
fn profile(units: u32, blocks: u32, pages: u32, cached: u32, policies: &[(&str, &str)]) -> FlashProfile {
    let own = [("mapping", "\"demand\"".to_owned()), ("map_cache_entries", cached.to_string())];
    let given = policies.iter().map(|(key, value)| (*key, (*value).to_owned()));
    let figures: Vec<(&str, String)> = own.into_iter().chain(given).collect();
    let open = 1 + u32::from(policies.iter().any(|(key, _)| *key == "frontiers"));
    let usable = u64::from(units * (blocks - 1 - open) * pages);
    // Pages of 512 bytes: each describes 128 others.
    let host = usable * 128 / 129 - u64::from(units);
    small_profile((units, blocks, pages), 512, host.max(1) * 512, &figures)
}

/// Passes on what happens to the cells; a page of the map that is programmed is a new version of it.
struct Watch {
    shadow: Shadow,
    host: u32,
}

impl Cells for Watch {
    fn programmed(&mut self, page: u32, logical: u32) {
        if logical >= self.host {
            self.shadow.host_writes(logical);
        }
        self.shadow.programmed(page, logical);
    }

    fn copied(&mut self, from: u32, to: u32) {
        self.shadow.copied(from, to);
    }

    fn erased(&mut self, block: u32) {
        self.shadow.erased(block);
    }
}

/// The entries that must be held, the one used last at the end, and the traffic that they must have caused.
struct Oracle {
    held: Vec<(u32, bool)>,
    capacity: usize,
    written: Vec<bool>,
    reads: u64,
    programs: u64,
}

impl Oracle {
    fn uses(&mut self, page: u32, change: bool) {
        let found = self.held.iter().position(|(held, _)| *held == page);
        let mut changed = change;
        if let Some(index) = found {
            changed |= self.held.remove(index).1;
        } else {
            if self.held.len() == self.capacity
                && let (old, true) = self.held.remove(0)
            {
                let map_page = old as usize / 128;
                self.reads += u64::from(self.written[map_page]);
                self.programs += 1;
                self.written[map_page] = true;
            }
            self.reads += u64::from(self.written[page as usize / 128]);
        }
        self.held.push((page, changed));
    }
}

struct Bench {
    demand: Demand,
    medium: Medium,
    watch: Watch,
    oracle: Oracle,
}

impl Bench {
    fn new(profile: &FlashProfile) -> Self {
        let geometry = Geometry::of(profile);
        let host = profile.logical_pages() as u32;
        let map = Map::new(geometry, Rules::of(profile));
        let cached = profile.policies.map_cache_entries;
        Self {
            demand: Demand::new(map, host, profile.entries_per_map_page(), cached),
            medium: Medium { clocks: Clocks::new(profile), counters: Counters::default() },
            watch: Watch {
                shadow: Shadow::new(geometry.units * geometry.stride(), geometry.pages, geometry.logical),
                host,
            },
            oracle: Oracle {
                held: Vec::new(),
                capacity: cached.min(host) as usize,
                written: vec![false; (geometry.logical - host) as usize],
                reads: 0,
                programs: 0,
            },
        }
    }

    fn resolve(&mut self, page: u32, change: bool) {
        self.oracle.uses(page, change);
        self.demand.resolve(page, change, 0, &mut self.medium, &mut self.watch);
    }

    fn write(&mut self, page: u32) {
        self.resolve(page, true);
        self.watch.shadow.host_writes(page);
        let placement = self.demand.map.write(page, &mut self.watch);
        self.medium.place(&placement, 0);
    }

    fn discard(&mut self, page: u32) {
        let expected = self.watch.shadow.discard(page);
        if self.demand.map.unit_holding(page).is_some() {
            self.resolve(page, true);
        }
        assert_eq!(self.demand.map.discard(page), expected);
    }

    /// All is read back, the map's pages too; what is cached and what that cost is what the list says.
    fn audit(&self) {
        audit_map(&self.demand.map);
        self.watch.shadow.compare(&self.demand.map.forward);
        assert_eq!(self.demand.entries().collect::<Vec<_>>(), self.oracle.held);
        let counters = &self.medium.counters;
        let traffic = (counters.map_pages_read, counters.map_pages_programmed);
        assert_eq!(traffic, (self.oracle.reads, self.oracle.programs));
        let copies = counters.gc_pages_moved + counters.levelling_pages_moved;
        assert_eq!(counters.flash_pages_programmed, self.watch.shadow.programs + self.watch.shadow.copies);
        assert_eq!((copies, counters.blocks_erased), (self.watch.shadow.copies, self.watch.shadow.erases));
        for (place, page) in self.demand.map.forward.iter().enumerate().filter(|(_, page)| **page != NOWHERE) {
            let unit = self.demand.map.unit_holding(place as u32);
            assert_eq!(unit, Some(page / (self.demand.map.geometry.stride() * self.demand.map.geometry.pages)));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn random_operations_keep_every_invariant(
        units in 1_u32..4, blocks in 6_u32..20, pages in prop_oneof![Just(5_u32), Just(16), Just(65)],
        cached in 1_u32..200, seed in any::<u64>(), reads in 0_u64..60,
        policies in prop::sample::select(vec![
            vec![], vec![("gc_victim", "\"fifo\"")], vec![("gc_victim", "\"random\""), ("allocation", "\"by-address\"")],
            vec![("gc_victim", "\"d-choices\""), ("gc_victim_choices", "3")], vec![("gc_victim", "\"cost-benefit\"")],
            vec![("frontiers", "\"hot-cold\"")], vec![("frontiers", "\"survivors-apart\""), ("levelling", "\"dynamic\"")],
            vec![("levelling", "\"static\""), ("levelling_gap", "2")],
        ])
    ) {
        let mut bench = Bench::new(&profile(units, blocks, pages, cached, &policies));
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let host = u64::from(bench.watch.host);
        for operation in 0..6 * host {
            let among = if rng.next_u64().is_multiple_of(2) { host } else { host.div_ceil(10) };
            let page = (rng.next_u64() % among) as u32;
            match rng.next_u64() % 100 {
                0..3 => bench.discard(page),
                chance if chance < 3 + reads => bench.resolve(page, false),
                _ => bench.write(page),
            }
            if operation % (host + 1) == 0 {
                bench.audit();
            }
        }
        bench.audit();
    }
}
