//! The TOML form of a disk profile: every key with its type. The parent module checks how the values fit together.

use super::queue_order::Scheduling;
use super::zones::Zones;
use crate::figure::profile_text;
use crate::rates::PublishedRate;
use serde::Deserialize;

/// The kinds of these profiles.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    Disk,
    SmrDisk,
}

profile_text! {
    plain {
        name: String,
        title: String,
        kind: Kind,
        #[serde(default, rename = "rate")]
        rates: Vec<PublishedRate>,
    }
    required {
        capacity_bytes: u64, physical_sector_bytes: u64, rpm: u64, heads: u64, cylinders: u64, zones: Zones,
        track_skew_us: f64, cylinder_skew_us: f64,
        seek_track_us: f64, seek_average_us: f64, seek_full_us: f64, seek_knee_cylinders: u64,
        head_switch_us: f64, write_settle_us: f64, command_us: f64, queue_depth_max: u64, scheduling: Scheduling,
        cache_bytes: u64, cache_segments: u64, read_ahead_bytes: u64, write_cache_bytes: u64,
    }
    optional {
        link: String, link_mb_per_s: f64, scheduling_error_us: f64, age_limit_ms: f64,
        stall_s: f64, stall_every_s: f64, lost_command_every: u64, command_timeout_s: f64, drop_off_s: f64,
        fault_seed: u64,
        media_cache_bytes: u64, media_cache_entries: u64, media_cache_journal_bytes: u64, band_tracks: u64,
        cleaning_idle_ms: f64, cleaning_high_percent: u64, cleaning_chunk_bytes: u64, cleaning_pause_ms: f64,
    }
}

/// The keys that are only for kind `smr-disk`.
const SHINGLED: [&str; 8] = [
    "media_cache_bytes",
    "media_cache_entries",
    "media_cache_journal_bytes",
    "band_tracks",
    "cleaning_idle_ms",
    "cleaning_high_percent",
    "cleaning_chunk_bytes",
    "cleaning_pause_ms",
];

impl Text {
    /// Whether the profile is one of kind `smr-disk`.
    pub(super) fn is_shingled(&self) -> bool {
        self.kind == Kind::SmrDisk
    }

    /// The first key of the profile that is only for kind `smr-disk`.
    pub(super) fn first_shingled_figure(&self) -> Option<&'static str> {
        self.figures().into_iter().map(|figure| figure.name).find(|name| SHINGLED.contains(name))
    }
}
