//! Bands: tracks that overlap, so that one of them can be written again only with all that follow it in its band.
//!
//! Every sector of the host has its home behind the media cache, in the order of addresses. Bands have equally many tracks,
//! so that they become smaller towards the inner diameter; the last one of a zone ends with the zone.

use crate::profile::disk::{DiskProfile, ShingleProfile};

/// Bands with equally long tracks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Zone {
    first: u64,
    end: u64,
    band_sectors: u64,
}

/// Boundaries of bands, in sectors of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bands(Vec<Zone>);

impl Bands {
    pub(super) fn new(profile: &DiskProfile, shingled: &ShingleProfile) -> Self {
        let (cache, heads) = (shingled.cache_sectors, u64::from(profile.heads));
        let sectors = profile.basics.capacity_bytes / 512;
        let ends = profile.zones.0.iter().skip(1).map(|zone| zone.0).chain([profile.cylinders]);
        let (mut zones, mut at) = (Vec::new(), 0);
        for (&(first, track), end) in profile.zones.0.iter().zip(ends) {
            let zone_end = at + u64::from(end - first) * heads * u64::from(track);
            let (from, to) = (at.max(cache) - cache, (zone_end.max(cache) - cache).min(sectors));
            if from < to {
                let band_sectors = u64::from(shingled.band_tracks) * u64::from(track);
                zones.push(Zone { first: from, end: to, band_sectors });
            }
            at = zone_end;
        }
        Self(zones)
    }

    /// First sector of the band of a sector, and the one behind its last.
    pub(super) fn of(&self, lba: u64) -> (u64, u64) {
        let zone = self.0[self.0.partition_point(|zone| zone.first <= lba) - 1];
        let first = lba - (lba - zone.first) % zone.band_sectors;
        (first, (first + zone.band_sectors).min(zone.end))
    }
}
