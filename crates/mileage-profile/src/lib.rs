//! Profiles of virtual drives and arrays: every figure with its unit, its source and how far to trust it.
//!
//! A profile is a TOML text. `name`, `title` and `kind` are plain; every other key is a figure:
//!
//! ```toml
//! read_us = { value = 25, source = "where it is written", confidence = "source" }
//! ```
//!
//! A figure that is not published may have `alternatives`, a list of `{ value, reason }`: what the drive may be instead.
//!
//! `kind` says which keys there are; a profile without it is one of flash, as all were before there were kinds. Every
//! figure has an effect on the simulated drive or on what is judged of it (endurance); an unknown key is refused. All
//! errors are one line that names the key, what was found and what is expected.
//!
//! `mileage-drive` builds what a profile describes, and has most tests of both.
//!
//! # Invariant
//! A profile that was read can be built and run: what no drive can have is refused here. *Guard:* `random_drives` and
//! `profile` of the tests of `mileage-drive`: drives of any shape run, and impossible ones are refused in one line.
#![forbid(unsafe_code)]

mod array;
mod basics;
pub mod disk;
mod faults;
mod figure;
pub mod flash;
mod link;
mod rates;
pub mod xpoint;

pub use array::{
    ArrayProfile, CachePower, Controller, Discards, Level, Member, MemberProfile, Protocol, capacity_bytes,
};
pub use basics::Basics;
pub use disk::DiskProfile;
pub use faults::{Faults, Lost, Stall};
pub use figure::{Alternative, Confidence, Figure, FigureText, ProfileError};
pub use flash::FlashProfile;
pub use link::Link;
pub use rates::{PublishedRate, RateUnit, RateWorkload};
pub use xpoint::XpointProfile;

use figure::in_one_line;
use serde::Deserialize;
use toml::Spanned;

/// A drive's profile, by its kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Profile {
    /// `kind = "flash"`.
    Flash(Box<FlashProfile>),
    /// `kind = "disk"` or `kind = "smr-disk"`.
    Disk(Box<DiskProfile>),
    /// `kind = "xpoint"`.
    Xpoint(Box<XpointProfile>),
    /// `kind = "array"`.
    Array(Box<ArrayProfile<Profile>>),
}

/// A kind of profile.
struct Kind {
    /// Name in profiles.
    name: &'static str,
    parse: fn(&str) -> Result<Profile, ProfileError>,
    /// The keys of its figures.
    figure_names: fn() -> &'static [&'static str],
}

/// Every kind; the first is that of a profile that names none.
const KINDS: &[Kind] = &[
    Kind { name: "flash", parse: |text| Ok(FlashProfile::parse(text)?.into()), figure_names: flash::figure_names },
    Kind { name: "disk", parse: |text| Ok(DiskProfile::parse(text)?.into()), figure_names: disk::figure_names },
    Kind { name: "smr-disk", parse: |text| Ok(DiskProfile::parse(text)?.into()), figure_names: disk::figure_names },
    Kind { name: "xpoint", parse: |text| Ok(XpointProfile::parse(text)?.into()), figure_names: xpoint::figure_names },
    Kind {
        name: "array",
        parse: |text| Ok(Profile::Array(Box::new(ArrayProfile::parse(text)?))),
        figure_names: array::figure_names,
    },
];

/// The one key that is read before the others.
#[derive(Deserialize)]
struct KindText {
    kind: Option<Spanned<String>>,
}

impl Profile {
    /// The profile that a TOML text describes.
    ///
    /// # Errors
    /// One line: which key, what was found, what is expected.
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        let KindText { kind: found } = toml::from_str(text).map_err(|error| in_one_line(text, &error))?;
        let Some(found) = found else { return (KINDS[0].parse)(text) };
        let kind = KINDS.iter().find(|kind| kind.name == found.get_ref());
        let Some(kind) = kind else {
            let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
            let what = format!("kind is {:?}: expected {}", found.get_ref(), names.join(" or "));
            return Err(ProfileError::at(text, found.span().start, what));
        };
        (kind.parse)(text)
    }

    /// Properties of drives of all kinds.
    pub fn basics(&self) -> &Basics {
        match self {
            Self::Flash(profile) => &profile.basics,
            Self::Disk(profile) => &profile.basics,
            Self::Xpoint(profile) => &profile.basics,
            Self::Array(profile) => &profile.basics,
        }
    }

    fn basics_mut(&mut self) -> &mut Basics {
        match self {
            Self::Flash(profile) => &mut profile.basics,
            Self::Disk(profile) => &mut profile.basics,
            Self::Xpoint(profile) => &mut profile.basics,
            Self::Array(profile) => &mut profile.basics,
        }
    }
}

impl MemberProfile for Profile {
    fn member(text: &str, place: u64) -> Result<Self, ProfileError> {
        let mut profile = Self::parse(text)?;
        let faults = &mut profile.basics_mut().faults;
        faults.seed = faults.seed.map(|seed| seed.wrapping_add(place));
        Ok(profile)
    }

    fn basics_of(&self) -> &Basics {
        self.basics()
    }
}

impl From<FlashProfile> for Profile {
    fn from(profile: FlashProfile) -> Self {
        Self::Flash(Box::new(profile))
    }
}

impl From<DiskProfile> for Profile {
    fn from(profile: DiskProfile) -> Self {
        Self::Disk(Box::new(profile))
    }
}

impl From<XpointProfile> for Profile {
    fn from(profile: XpointProfile) -> Self {
        Self::Xpoint(Box::new(profile))
    }
}

/// The keys of all figures that a profile of any kind may have.
pub fn figure_names() -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    for name in KINDS.iter().flat_map(|kind| (kind.figure_names)()) {
        if !names.contains(name) {
            names.push(name);
        }
    }
    names
}
