//! Positions of sectors: zones of cylinders with equally long tracks, one track for each head in a cylinder, tracks
//! skewed so that the next one begins when the heads are there.
//!
//! Sectors are numbered along a track, then track by track through the cylinder, then cylinder by cylinder inwards. An
//! angle is a time: how long after the index mark a point passes under the head, in ns of a revolution.

use crate::profile::disk::{DiskProfile, SeekCurve};

/// Cylinders whose tracks have equally many sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Zone {
    first_lba: u64,
    first_cylinder: u32,
    sectors: u32,
    /// Angle of sector 0 of the first track, in ns of a revolution.
    first_skew_ns: u64,
}

/// A run of sectors on one track: cylinder, head, angle and length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub cylinder: u32,
    pub head: u32,
    /// Angle of the beginning of the sector, in ns of a revolution.
    pub angle_ns: u64,
    /// Sectors from this one to the end of the track.
    pub left: u32,
    /// The sector on its track.
    sector: u32,
    /// Sectors of the track.
    sectors: u32,
}

/// Zones, tracks and skew of a disk, with its seek and rotation times.
#[derive(Clone, Debug)]
pub(super) struct Geometry {
    zones: Vec<Zone>,
    heads: u32,
    pub revolution_ns: u64,
    track_skew_ns: u64,
    cylinder_skew_ns: u64,
    seek: SeekCurve,
    head_switch_ns: u64,
    write_settle_ns: u64,
}

impl Geometry {
    pub(super) fn new(profile: &DiskProfile) -> Self {
        let (heads, revolution_ns) = (profile.heads, profile.revolution_ns);
        let mut zones: Vec<Zone> = Vec::new();
        let (mut first_lba, mut first_skew_ns) = (0, 0);
        for (index, &(first_cylinder, sectors)) in profile.zones.0.iter().enumerate() {
            zones.push(Zone { first_lba, first_cylinder, sectors, first_skew_ns });
            let end = profile.zones.0.get(index + 1).map_or(profile.cylinders, |next| next.0);
            let cylinders = u64::from(end - first_cylinder);
            first_lba += cylinders * u64::from(heads) * u64::from(sectors);
            let of_cylinder = u64::from(heads - 1) * profile.track_skew_ns + profile.cylinder_skew_ns;
            first_skew_ns = (first_skew_ns + cylinders * of_cylinder) % revolution_ns;
        }
        Self {
            zones,
            heads,
            revolution_ns,
            track_skew_ns: profile.track_skew_ns,
            cylinder_skew_ns: profile.cylinder_skew_ns,
            seek: profile.seek,
            head_switch_ns: profile.head_switch_ns,
            write_settle_ns: profile.write_settle_ns,
        }
    }

    /// Position of a sector.
    #[inline]
    pub(super) fn place(&self, lba: u64) -> Place {
        let zone = &self.zones[self.zones.partition_point(|zone| zone.first_lba <= lba) - 1];
        let (sectors, heads) = (u64::from(zone.sectors), u64::from(self.heads));
        let (track, sector) = ((lba - zone.first_lba) / sectors, (lba - zone.first_lba) % sectors);
        let (cylinder, head) = (track / heads, track % heads);
        let of_cylinder = (heads - 1) * self.track_skew_ns + self.cylinder_skew_ns;
        let skew_ns = zone.first_skew_ns + cylinder * of_cylinder + head * self.track_skew_ns;
        Place {
            cylinder: zone.first_cylinder + cylinder as u32,
            head: head as u32,
            angle_ns: (skew_ns + sector * self.revolution_ns / sectors) % self.revolution_ns,
            left: (sectors - sector) as u32,
            sector: sector as u32,
            sectors: zone.sectors,
        }
    }

    /// From the beginning of a place to the end of its `count`-th sector; `count` is at most what is left of the track.
    #[inline]
    pub(super) fn pass_ns(&self, place: &Place, count: u32) -> u64 {
        let at = |sector: u32| u64::from(sector) * self.revolution_ns / u64::from(place.sectors);
        at(place.sector + count) - at(place.sector)
    }

    /// Whole sectors of a place that passed in `ns`.
    pub(super) fn passed(&self, place: &Place, ns: u64) -> u32 {
        let (from, sectors) = (u64::from(place.sector), u64::from(place.sectors));
        let begin_ns = from * self.revolution_ns / sectors;
        // The inverse of `pass_ns`, which rounds down: with another rounding a transfer would end one sector early.
        let end = ((begin_ns + ns + 1) * sectors - 1) / self.revolution_ns;
        (end - from).min(u64::from(place.left)) as u32
    }

    /// Time from `at_ns` until the beginning of a place passes under its head.
    #[inline]
    pub(super) fn wait_ns(&self, angle_ns: u64, at_ns: u64) -> u64 {
        let now_ns = at_ns % self.revolution_ns;
        if angle_ns >= now_ns { angle_ns - now_ns } else { angle_ns + self.revolution_ns - now_ns }
    }

    /// At least the number of cylinders that the arm can move over in this time.
    #[inline]
    pub(super) fn farthest(&self, ns: u64) -> u32 {
        self.seek.farthest(ns)
    }

    /// From one track to another: the arm and the switch of heads at the same time, and the settling before a write.
    #[inline]
    pub(super) fn move_ns(&self, from: (u32, u32), to: (u32, u32), writes: bool) -> u64 {
        if from == to {
            return 0;
        }
        let switch_ns = if from.1 == to.1 { 0 } else { self.head_switch_ns };
        let settle_ns = if writes { self.write_settle_ns } else { 0 };
        self.seek.ns(from.0.abs_diff(to.0)).max(switch_ns) + settle_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 7 cylinders of 3 heads in two zones; a revolution of 1,333,333 ns, which no track divides.
    fn profile() -> DiskProfile {
        let figures = [
            ("capacity_bytes", "235_008"),
            ("physical_sector_bytes", "512"),
            ("rpm", "45000"),
            ("heads", "3"),
            ("cylinders", "7"),
            ("zones", "\"0:27 3:18\""),
            ("track_skew_us", "150.0"),
            ("cylinder_skew_us", "777.0"),
            ("seek_track_us", "200.0"),
            ("seek_average_us", "250.0"),
            ("seek_full_us", "450.0"),
            ("seek_knee_cylinders", "2"),
            ("head_switch_us", "90.0"),
            ("write_settle_us", "0.0"),
            ("command_us", "0.0"),
            ("queue_depth_max", "1"),
            ("scheduling", "\"fcfs\""),
            ("link_mb_per_s", "300.0"),
            ("cache_bytes", "0"),
            ("cache_segments", "0"),
            ("read_ahead_bytes", "0"),
            ("write_cache_bytes", "0"),
        ];
        let mut text = String::from("name = \"toy\"\ntitle = \"Toy\"\nkind = \"disk\"\n");
        for (key, value) in figures {
            text += &[key, " = { value = ", value, ", source = \"a test\", confidence = \"defined\" }\n"].concat();
        }
        DiskProfile::parse(&text).unwrap()
    }

    /// Every sector of a small disk, found by walking from the first one.
    #[test]
    fn every_sector_is_where_a_walk_finds_it() {
        let profile = profile();
        let geometry = Geometry::new(&profile);
        let (mut lba, mut skew_ns) = (0, 0);
        for cylinder in 0..profile.cylinders {
            let sectors = profile.zones.0.iter().rfind(|zone| zone.0 <= cylinder).unwrap().1;
            for head in 0..profile.heads {
                for sector in 0..sectors {
                    let place = geometry.place(lba);
                    assert_eq!((place.cylinder, place.head, place.left), (cylinder, head, sectors - sector));
                    let angle_ns = skew_ns + u64::from(sector) * profile.revolution_ns / u64::from(sectors);
                    assert_eq!(place.angle_ns, angle_ns % profile.revolution_ns);
                    for count in 0..=place.left {
                        let pass_ns = geometry.pass_ns(&place, count);
                        assert_eq!(geometry.passed(&place, pass_ns), count);
                        assert!(count == 0 || geometry.passed(&place, pass_ns - 1) == count - 1);
                    }
                    lba += 1;
                }
                let last = head + 1 == profile.heads;
                skew_ns += if last { profile.cylinder_skew_ns } else { profile.track_skew_ns };
            }
        }
        assert_eq!(lba, profile.zones.sectors(profile.heads, profile.cylinders));
    }
}
