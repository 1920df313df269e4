//! Fields that every drive profile has: name, capacity, rated endurance, injected faults and published rates.

use crate::faults::Faults;
use crate::figure::{FigureText, ProfileError, alternatives_hold, impossible};
use crate::rates::{PublishedRate, rates_hold};

/// The fields that profiles of all kinds of drives share.
#[derive(Clone, Debug, PartialEq)]
pub struct Basics {
    /// Short name, as in `virtual:NAME`.
    pub name: String,
    /// Name for people.
    pub title: String,
    /// Bytes that the host can address.
    pub capacity_bytes: u64,
    /// Rated endurance in bytes written by the host; `None` when the profile does not state it.
    pub rated_write_bytes: Option<u64>,
    /// Injected faults; the drive applies them.
    pub faults: Faults,
    /// Every figure with its source and confidence, in the order of the data sheet; a policy that the profile does not
    /// state has the confidence [`super::Confidence::Default`].
    pub figures: Vec<FigureText>,
    /// Published rates of the drive, to compare with those of the simulation.
    pub rates: Vec<PublishedRate>,
}

impl Basics {
    /// Whether the name can stand in `virtual:NAME` and in a file name, and the alternatives of figures and the roles of
    /// rates make sense.
    pub(crate) fn holds(&self) -> Result<(), ProfileError> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if self.name.is_empty() || !self.name.chars().all(plain) {
            return impossible("name", format!("{:?}", self.name), "lower-case letters, digits and hyphens");
        }
        alternatives_hold(&self.figures)?;
        rates_hold(&self.rates, &self.figures)
    }
}
