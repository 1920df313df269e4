//! The profile of a disk: zones and tracks, arm and spindle, and how the controller works.

mod queue_order;
mod seek_curve;
mod shingles;
mod text;
mod zones;

use super::basics::Basics;
use super::faults::{Faults, fault_figures};
use super::figure::{ProfileError, impossible, in_one_line, microseconds, whole};
use super::link::{Link, link_rate, queue_depth};
pub use queue_order::Scheduling;
pub use seek_curve::SeekCurve;
pub use shingles::ShingleProfile;
use text::Text;
pub use text::figure_names;
pub use zones::Zones;

/// A valid profile of a hard disk.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskProfile {
    /// Properties of drives of all kinds; the capacity is a multiple of the physical sector.
    pub basics: Basics,
    /// Size of a physical sector, the smallest unit of the medium, in logical sectors of 512 bytes.
    pub physical_sectors: u32,
    /// One revolution, in ns.
    pub revolution_ns: u64,
    /// Surfaces, each with a head.
    pub heads: u32,
    /// Cylinders.
    pub cylinders: u32,
    /// Logical sectors of a track, by zone.
    pub zones: Zones,
    /// Track skew: angle from the end of a track to the beginning of the next track of its cylinder, in ns of a
    /// revolution.
    pub track_skew_ns: u64,
    /// From the end of the last track of a cylinder to the beginning of the next cylinder, in ns of a revolution.
    pub cylinder_skew_ns: u64,
    /// Duration of arm movements.
    pub seek: SeekCurve,
    /// From one head to another, in ns; the arm moves meanwhile.
    pub head_switch_ns: u64,
    /// Additional settling time of a write after a movement, compared with a read, in ns.
    pub write_settle_ns: u64,
    /// From the submission of a command until its work can begin or its data be looked for in the cache, in ns; commands
    /// overlap in it.
    pub command_ns: u64,
    /// The link's standard, where the profile names it.
    pub link: Option<Link>,
    /// Payload rate between host and disk, in MB/s (10^6 bytes), of each direction.
    pub link_mb_per_s: f64,
    /// Commands that the disk takes at a time; further ones wait.
    pub queue_depth_max: u32,
    /// How the next of the queued commands is chosen.
    pub scheduling: Scheduling,
    /// SPTF: the disk believes that a command begins up to this time later than it would, drawn evenly for each command
    /// and each choice, in ns.
    pub scheduling_error_ns: u64,
    /// A command that waited longer is next whatever its place, in ns.
    pub age_limit_ns: Option<u64>,
    /// Segments of the cache for reads.
    pub cache_segments: u32,
    /// Logical sectors of a segment.
    pub segment_sectors: u64,
    /// Logical sectors that are read behind a read while nothing else is asked for.
    pub read_ahead_sectors: u64,
    /// Bytes of writes that are acknowledged before they are on the medium; 0: the write cache is off.
    pub write_cache_bytes: u64,
    /// For a shingled disk: its media cache, its bands, and how it cleans them.
    pub shingled: Option<ShingleProfile>,
}

impl DiskProfile {
    /// The disk profile that a TOML text describes.
    ///
    /// # Errors
    /// One line: which key, what was found, what is expected.
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        let raw: Text = toml::from_str(text).map_err(|error| in_one_line(text, &error))?;
        let link = raw.link.as_ref().map(Link::parse).transpose()?;
        let physical = raw.physical_sector_bytes.value;
        if ![512, 4096].contains(&physical) {
            return impossible("physical_sector_bytes", physical, "512 or 4096");
        }
        let rpm = f64::from(whole("rpm", &raw.rpm, 60, 1_000_000)?);
        let cylinders = whole("cylinders", &raw.cylinders, 4, 1 << 24)?;
        let knee = whole("seek_knee_cylinders", &raw.seek_knee_cylinders, 2, u64::from(cylinders) - 2)?;
        let (cache_segments, segment_sectors, read_ahead_sectors) = read_cache(&raw)?;
        let profile = Self {
            physical_sectors: (physical / 512) as u32,
            revolution_ns: (60e9 / rpm).round() as u64,
            heads: whole("heads", &raw.heads, 1, 256)?,
            cylinders,
            zones: raw.zones.value.clone(),
            track_skew_ns: microseconds("track_skew_us", &raw.track_skew_us, 0.0)?,
            cylinder_skew_ns: microseconds("cylinder_skew_us", &raw.cylinder_skew_us, 0.0)?,
            seek: seek(&raw, cylinders, knee)?,
            head_switch_ns: microseconds("head_switch_us", &raw.head_switch_us, 0.0)?,
            write_settle_ns: microseconds("write_settle_us", &raw.write_settle_us, 0.0)?,
            command_ns: microseconds("command_us", &raw.command_us, 0.0)?,
            link_mb_per_s: link_rate(link.as_ref(), raw.link_mb_per_s.as_ref())?,
            queue_depth_max: queue_depth(link.as_ref(), &raw.queue_depth_max)?,
            link,
            scheduling: raw.scheduling.value,
            scheduling_error_ns: scheduling_error(&raw)?,
            age_limit_ns: age_limit(&raw)?,
            cache_segments,
            segment_sectors,
            read_ahead_sectors,
            shingled: ShingleProfile::read(&raw, physical / 512)?,
            write_cache_bytes: u64::from(whole("write_cache_bytes", &raw.write_cache_bytes, 0, 1 << 31)?),
            basics: Basics {
                figures: raw.figures(),
                faults: Faults::read(&fault_figures!(raw))?,
                rated_write_bytes: None,
                capacity_bytes: raw.capacity_bytes.value,
                rates: raw.rates,
                name: raw.name,
                title: raw.title,
            },
        };
        profile.fits()?;
        Ok(profile)
    }

    /// Whether zones, skews and capacity fit each other.
    fn fits(&self) -> Result<(), ProfileError> {
        self.basics.holds()?;
        self.zones.hold(self.cylinders, self.physical_sectors)?;
        for (key, skew_ns) in [("track_skew_us", self.track_skew_ns), ("cylinder_skew_us", self.cylinder_skew_ns)] {
            if skew_ns >= self.revolution_ns {
                return impossible(
                    key,
                    skew_ns as f64 / 1e3,
                    format!("less than a revolution ({} us)", self.revolution_ns as f64 / 1e3),
                );
            }
        }
        let (zones, unit) = (&self.zones.0, 512 * u64::from(self.physical_sectors));
        let most = self.zones.sectors(self.heads, self.cylinders) * 512;
        let last = zones.last().map_or(0, |last| u64::from(self.cylinders - last.0) * u64::from(last.1));
        let without_last = most - last * u64::from(self.heads) * 512;
        let cache_bytes = self.shingled.map_or(0, |shingled| 512 * shingled.cache_sectors);
        let capacity = self.basics.capacity_bytes;
        let (most, without_last) = (most.saturating_sub(cache_bytes), without_last.saturating_sub(cache_bytes));
        if capacity > most || capacity <= without_last || !capacity.is_multiple_of(unit) {
            let expected = format!(
                "a multiple of {unit} above {without_last} and up to {most}, what the zones hold without and with the last"
            );
            return impossible("capacity_bytes", capacity, expected);
        }
        Ok(())
    }
}

/// Segments, their sectors, and the sectors of reading ahead.
fn read_cache(raw: &Text) -> Result<(u32, u64, u64), ProfileError> {
    let segments = whole("cache_segments", &raw.cache_segments, 0, 4096)?;
    let (cache, ahead) = (raw.cache_bytes.value, raw.read_ahead_bytes.value);
    let segment = cache.checked_div(u64::from(segments)).unwrap_or(0) / 512;
    if cache > 1 << 32 || (segments == 0) != (cache == 0) || (segments > 0 && segment == 0) {
        let expected = "at least 512 for each of cache_segments, at most 4 GiB; and 0 without segments";
        return impossible("cache_bytes", cache, expected);
    }
    if !ahead.is_multiple_of(512) || ahead / 512 > segment {
        return impossible(
            "read_ahead_bytes",
            ahead,
            format!("a multiple of 512 up to a segment of the cache ({} bytes)", segment * 512),
        );
    }
    Ok((segments, segment, ahead / 512))
}

fn seek(raw: &Text, cylinders: u32, knee: u32) -> Result<SeekCurve, ProfileError> {
    let keys = [
        ("seek_track_us", &raw.seek_track_us),
        ("seek_average_us", &raw.seek_average_us),
        ("seek_full_us", &raw.seek_full_us),
    ];
    let mut ns = [0.0; 3];
    for (value, (key, figure)) in ns.iter_mut().zip(keys) {
        *value = microseconds(key, figure, 0.001)? as f64;
    }
    match SeekCurve::through(ns, cylinders, knee) {
        Some(curve) => Ok(curve),
        None => impossible(
            "seek_knee_cylinders",
            knee,
            "seeks of one cylinder, of a third of the stroke and of all of it that a rising curve with this knee passes through",
        ),
    }
}

fn scheduling_error(raw: &Text) -> Result<u64, ProfileError> {
    let Some(figure) = &raw.scheduling_error_us else { return Ok(0) };
    if raw.scheduling.value != Scheduling::Sptf {
        return impossible("scheduling_error_us", "given", "scheduling sptf; without it the figure has no effect");
    }
    microseconds("scheduling_error_us", figure, 0.0)
}

fn age_limit(raw: &Text) -> Result<Option<u64>, ProfileError> {
    let Some(figure) = &raw.age_limit_ms else { return Ok(None) };
    if raw.scheduling.value == Scheduling::Fcfs {
        return impossible("age_limit_ms", "given", "scheduling sstf or sptf; without it the figure has no effect");
    }
    if !(0.001..=1e6).contains(&figure.value) {
        return impossible("age_limit_ms", figure.value, "milliseconds from 0.001 to 1000000");
    }
    Ok(Some((figure.value * 1e6).round() as u64))
}
