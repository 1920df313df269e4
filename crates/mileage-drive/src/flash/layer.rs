//! The translation layer of a drive: one of those that there are, as its profile chooses.

use super::blocks::Blocks;
use super::dftl::Demand;
use super::map::{Geometry, Map, Rules};
use super::packed::PackedMap;
use super::slc_cache::MapWithCache;
use crate::profile::FlashProfile;
use crate::profile::flash::choices::Mapping;

/// A translation layer. Not `dyn`: the page map is inlined into the drive's loops, where a call would cost a tenth of
/// the speed.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "a drive has one, and the page map is on the hot path")]
pub(super) enum Layer {
    Page(Map),
    MapWithCache(Box<MapWithCache>),
    Demand(Box<Demand>),
    Blocks(Box<Blocks>),
    Packed(Box<PackedMap>),
}

/// Evaluate the same expression for whichever mapping layer a drive has.
macro_rules! each {
    ($layer:expr, $one:ident => $does:expr) => {
        match $layer {
            $crate::flash::layer::Layer::Page($one) => $does,
            $crate::flash::layer::Layer::MapWithCache($one) => $does,
            $crate::flash::layer::Layer::Demand($one) => $does,
            $crate::flash::layer::Layer::Blocks($one) => $does,
            $crate::flash::layer::Layer::Packed($one) => $does,
        }
    };
}

pub(super) use each;

impl Layer {
    pub(super) fn new(profile: &FlashProfile) -> Self {
        let map = || Map::new(Geometry::of(profile), Rules::of(profile));
        match profile.policies.mapping {
            Mapping::Page if profile.packing.packs() => Self::Packed(Box::new(PackedMap::new(profile))),
            Mapping::Page => match profile.slc_cache {
                None => Self::Page(map()),
                Some(cache) => Self::MapWithCache(Box::new(MapWithCache::new(map(), cache))),
            },
            Mapping::Demand => Self::Demand(Box::new(Demand::new(
                map(),
                profile.logical_pages() as u32,
                profile.entries_per_map_page(),
                profile.policies.map_cache_entries,
            ))),
            Mapping::Block | Mapping::Bast | Mapping::Fast => Self::Blocks(Box::new(Blocks::new(profile))),
        }
    }
}
