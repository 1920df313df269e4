//! The TOML form of a disk profile: every key with its type. The parent module checks how the values fit together.

use super::queue_order::Scheduling;
use super::zones::Zones;
use crate::faults::FaultFigures;
use crate::figure::{Figure, FigureText, row};
use crate::rates::PublishedRate;
use serde::Deserialize;

/// The kinds of these profiles.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Disk,
    SmrDisk,
}

/// Declares every figure once, in the order of the data sheet: those that every profile has, and those that it may have.
macro_rules! text {
    (required $($required:ident: $type:ty),+; optional $($optional:ident: $other:ty),+;
     shingled $($shingled:ident: $of_bands:ty),+;) => {
        #[derive(Clone, Debug, PartialEq, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(super) struct Text {
            pub name: String,
            pub title: String,
            kind: Kind,
            #[serde(default, rename = "rate")]
            pub rates: Vec<PublishedRate>,
            $(pub $required: Figure<$type>,)+
            $(pub $optional: Option<Figure<$other>>,)+
            $(pub $shingled: Option<Figure<$of_bands>>,)+
        }

        /// The keys of all figures that a profile may have.
        pub fn figure_names() -> &'static [&'static str] {
            &[$(stringify!($required),)+ $(stringify!($optional),)+ $(stringify!($shingled),)+]
        }

        impl Text {
            pub(super) fn faults(&self) -> FaultFigures<'_> {
                let Text { stall_s, stall_every_s, lost_command_every, command_timeout_s, drop_off_s, fault_seed, .. } = self;
                FaultFigures { stall_s, stall_every_s, lost_command_every, command_timeout_s, drop_off_s, fault_seed }
            }

            pub(super) fn figures(&self) -> Vec<FigureText> {
                let mut rows = vec![$(row(stringify!($required), &self.$required)),+];
                $(rows.extend(self.$optional.iter().map(|figure| row(stringify!($optional), figure)));)+
                $(rows.extend(self.$shingled.iter().map(|figure| row(stringify!($shingled), figure)));)+
                rows
            }

            /// Whether the profile is one of kind `smr-disk`.
            pub(super) fn is_shingled(&self) -> bool {
                self.kind == Kind::SmrDisk
            }

            /// The keys that stand in the profile and are only for kind `smr-disk`.
            pub(super) fn shingled_figures(&self) -> Vec<&'static str> {
                let mut keys = Vec::new();
                $(keys.extend(self.$shingled.iter().map(|_| stringify!($shingled)));)+
                keys
            }
        }
    };
}

text! {
    required
    capacity_bytes: u64, physical_sector_bytes: u64, rpm: u64, heads: u64, cylinders: u64, zones: Zones,
    track_skew_us: f64, cylinder_skew_us: f64,
    seek_track_us: f64, seek_average_us: f64, seek_full_us: f64, seek_knee_cylinders: u64,
    head_switch_us: f64, write_settle_us: f64, command_us: f64, queue_depth_max: u64, scheduling: Scheduling,
    cache_bytes: u64, cache_segments: u64, read_ahead_bytes: u64, write_cache_bytes: u64;
    optional
    link: String, link_mb_per_s: f64, scheduling_error_us: f64, age_limit_ms: f64,
    stall_s: f64, stall_every_s: f64, lost_command_every: u64, command_timeout_s: f64, drop_off_s: f64,
    fault_seed: u64;
    shingled
    media_cache_bytes: u64, media_cache_entries: u64, media_cache_journal_bytes: u64, band_tracks: u64,
    cleaning_idle_ms: f64, cleaning_high_percent: u64, cleaning_chunk_bytes: u64, cleaning_pause_ms: f64;
}
