//! A disk profile as it is written: every key with its type. What the keys mean together is checked by who reads them.

use super::queue_order::Scheduling;
use super::zones::Zones;
use crate::profile::figure::{Figure, FigureText, row};
use crate::profile::rates::PublishedRate;
use serde::Deserialize;

/// The kind of these profiles.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Disk,
}

/// Declares every figure once, in the order of the data sheet: those that every profile has, and those that it may have.
macro_rules! text {
    (required $($required:ident: $type:ty),+; optional $($optional:ident: $other:ty),+;) => {
        #[derive(Clone, Debug, PartialEq, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(super) struct Text {
            pub name: String,
            pub title: String,
            #[serde(rename = "kind")]
            _kind: Kind,
            #[serde(default, rename = "rate")]
            pub rates: Vec<PublishedRate>,
            $(pub $required: Figure<$type>,)+
            $(pub $optional: Option<Figure<$other>>,)+
        }

        /// The keys of all figures that a profile may have.
        pub fn figure_names() -> &'static [&'static str] {
            &[$(stringify!($required),)+ $(stringify!($optional),)+]
        }

        impl Text {
            pub(super) fn figures(&self) -> Vec<FigureText> {
                let mut rows = vec![$(row(stringify!($required), &self.$required)),+];
                $(rows.extend(self.$optional.iter().map(|figure| row(stringify!($optional), figure)));)+
                rows
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
    link: String, link_mb_per_s: f64, scheduling_error_us: f64, age_limit_ms: f64;
}
