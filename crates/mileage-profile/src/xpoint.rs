//! The profile of an `XPoint` drive: rates and latencies of its dies, and how its writes are counted.

use crate::basics::Basics;
use crate::faults::{Faults, fault_figures};
use crate::figure::{ProfileError, impossible, in_one_line, megabytes_per_s, microseconds, profile_text, rated, whole};
use crate::link::{Link, link_rate, queue_depth};
use crate::rates::PublishedRate;
use serde::Deserialize;

/// The kind of these profiles.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Xpoint,
}

profile_text! {
    plain {
        name: String,
        title: String,
        #[serde(rename = "kind")]
        _kind: Kind,
        #[serde(default, rename = "rate")]
        rates: Vec<PublishedRate>,
    }
    required {
        capacity_bytes: u64, dies: u64, stripe_bytes: u64, read_us: f64, write_us: f64, read_mb_per_s: f64,
        write_mb_per_s: f64, command_interval_us: f64, queue_depth_max: u64, regions: u64,
    }
    optional {
        link: String, link_mb_per_s: f64, rated_endurance_bytes: u64,
        stall_s: f64, stall_every_s: f64, lost_command_every: u64, command_timeout_s: f64, drop_off_s: f64,
        fault_seed: u64,
    }
}

/// A valid profile of an `XPoint` drive.
#[derive(Clone, Debug, PartialEq)]
pub struct XpointProfile {
    /// Properties of drives of all kinds; the capacity is a multiple of the stripe.
    pub basics: Basics,
    /// Dies; each does one thing at a time.
    pub dies: u32,
    /// Bytes that follow each other on one die.
    pub stripe_bytes: u64,
    /// Duration of a read in addition to its transfer from the dies, in ns.
    pub read_ns: u64,
    /// Duration of a write in addition to its transfer to the dies, in ns.
    pub write_ns: u64,
    /// Read rate of all dies together, in MB/s (10^6 bytes).
    pub read_mb_per_s: f64,
    /// Write rate of all dies together, in MB/s (10^6 bytes).
    pub write_mb_per_s: f64,
    /// The controller begins commands at least so far apart, in ns.
    pub command_interval_ns: u64,
    /// The link's standard, where the profile names it.
    pub link: Option<Link>,
    /// Payload rate between host and drive, in MB/s (10^6 bytes), of each direction.
    pub link_mb_per_s: f64,
    /// Commands that the drive takes at a time; further ones wait.
    pub queue_depth_max: u32,
    /// Parts of equal size whose writes are counted.
    pub regions: u32,
}

impl XpointProfile {
    /// The profile that a TOML text describes.
    ///
    /// # Errors
    /// One line: which key, what was found, what is expected.
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        let raw: Text = toml::from_str(text).map_err(|error| in_one_line(text, &error))?;
        let link = raw.link.as_ref().map(Link::parse).transpose()?;
        let (stripe, capacity) = (raw.stripe_bytes.value, raw.capacity_bytes.value);
        if !stripe.is_power_of_two() || !(512..=1 << 20).contains(&stripe) {
            return impossible("stripe_bytes", stripe, "a power of two from 512 to 1048576");
        }
        if capacity == 0 || !capacity.is_multiple_of(stripe) {
            return impossible(
                "capacity_bytes",
                capacity,
                format!("a multiple of stripe_bytes ({stripe}), at least one"),
            );
        }
        let profile = Self {
            dies: whole("dies", &raw.dies, 1, 1024)?,
            stripe_bytes: stripe,
            read_ns: microseconds("read_us", &raw.read_us, 0.0)?,
            write_ns: microseconds("write_us", &raw.write_us, 0.0)?,
            read_mb_per_s: megabytes_per_s("read_mb_per_s", &raw.read_mb_per_s)?,
            write_mb_per_s: megabytes_per_s("write_mb_per_s", &raw.write_mb_per_s)?,
            command_interval_ns: microseconds("command_interval_us", &raw.command_interval_us, 0.0)?,
            link_mb_per_s: link_rate(link.as_ref(), raw.link_mb_per_s.as_ref())?,
            queue_depth_max: queue_depth(link.as_ref(), &raw.queue_depth_max)?,
            link,
            regions: whole("regions", &raw.regions, 1, (capacity / stripe).min(1 << 20))?,
            basics: Basics {
                figures: raw.figures(),
                faults: Faults::read(&fault_figures!(raw))?,
                rated_write_bytes: rated("rated_endurance_bytes", raw.rated_endurance_bytes.as_ref())?,
                capacity_bytes: capacity,
                rates: raw.rates,
                name: raw.name,
                title: raw.title,
            },
        };
        profile.basics.holds()?;
        Ok(profile)
    }
}
