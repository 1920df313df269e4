//! Profile of injected faults: the drive stalls, loses commands, or drops off the bus.

use crate::figure::{Figure, ProfileError, impossible};

/// A periodic stall: once per period the drive answers nothing for a given time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Period in ns; one fault begins and ends in every period.
    pub every_ns: u64,
    /// Duration in ns; less than the period.
    pub length_ns: u64,
}

/// Lost commands: one command in every group of [`Lost::every`] is never answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Commands in a group, of which one is lost.
    pub every: u64,
    /// The host gives it up so long after it was submitted, in ns.
    pub timeout_ns: u64,
}

/// Injected faults in addition to those of the flash itself; none by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Stalls.
    pub stall: Option<Stall>,
    /// Commands that are lost.
    pub lost: Option<Lost>,
    /// From this instant of its clock on the drive does not answer, in ns.
    pub drop_off_ns: Option<u64>,
    /// Seed from which the position of each stall in its period, and the lost command of each group, are drawn;
    /// `None`: at the end of each.
    pub seed: Option<u64>,
}

/// The figures of faults, which profiles of every kind may have.
pub(crate) struct FaultFigures<'a> {
    pub stall_s: &'a Option<Figure<f64>>,
    pub stall_every_s: &'a Option<Figure<f64>>,
    pub lost_command_every: &'a Option<Figure<u64>>,
    pub command_timeout_s: &'a Option<Figure<f64>>,
    pub drop_off_s: &'a Option<Figure<f64>>,
    pub fault_seed: &'a Option<Figure<u64>>,
}

fn seconds(key: &'static str, figure: &Figure<f64>) -> Result<u64, ProfileError> {
    if (1e-6..=1e8).contains(&figure.value) {
        Ok((figure.value * 1e9).round() as u64)
    } else {
        impossible(key, figure.value, "seconds from 0.000001 to 100000000")
    }
}

/// Both of two figures that need each other, or neither.
fn pair<'a, A, B>(
    (key, first): (&'static str, &'a Option<A>),
    (other, second): (&'static str, &'a Option<B>),
) -> Result<Option<(&'a A, &'a B)>, ProfileError> {
    match (first, second) {
        (Some(first), Some(second)) => Ok(Some((first, second))),
        (None, None) => Ok(None),
        (Some(_), None) => impossible(key, "given", format!("{other} with it, and neither without the other")),
        (None, Some(_)) => impossible(other, "given", format!("{key} with it, and neither without the other")),
    }
}

impl Faults {
    /// Whether there is any.
    pub fn any(&self) -> bool {
        self.stall.is_some() || self.lost.is_some() || self.drop_off_ns.is_some()
    }

    pub(crate) fn read(text: &FaultFigures) -> Result<Self, ProfileError> {
        let stall = pair(("stall_s", text.stall_s), ("stall_every_s", text.stall_every_s))?;
        let lost =
            pair(("lost_command_every", text.lost_command_every), ("command_timeout_s", text.command_timeout_s))?;
        let faults = Self {
            stall: stall.map(|(length, every)| stall_of(length, every)).transpose()?,
            lost: lost.map(|(every, timeout)| lost_of(every, timeout)).transpose()?,
            drop_off_ns: text.drop_off_s.as_ref().map(|figure| seconds("drop_off_s", figure)).transpose()?,
            seed: text.fault_seed.as_ref().map(|figure| figure.value),
        };
        if faults.seed.is_some() && faults.stall.is_none() && faults.lost.is_none() {
            let expected = "stall_s or lost_command_every; without them nothing is drawn";
            return impossible("fault_seed", "given", expected);
        }
        Ok(faults)
    }
}

fn stall_of(length: &Figure<f64>, every: &Figure<f64>) -> Result<Stall, ProfileError> {
    let (length_ns, every_ns) = (seconds("stall_s", length)?, seconds("stall_every_s", every)?);
    if length_ns >= every_ns {
        return impossible("stall_s", length.value, format!("less than stall_every_s ({})", every.value));
    }
    Ok(Stall { every_ns, length_ns })
}

fn lost_of(every: &Figure<u64>, timeout: &Figure<f64>) -> Result<Lost, ProfileError> {
    if every.value == 0 {
        return impossible("lost_command_every", 0, "at least 1, or no such key");
    }
    Ok(Lost { every: every.value, timeout_ns: seconds("command_timeout_s", timeout)? })
}

/// The faults of a profile's text that has their figures.
macro_rules! fault_figures {
    ($text:expr) => {
        $crate::faults::FaultFigures {
            stall_s: &$text.stall_s,
            stall_every_s: &$text.stall_every_s,
            lost_command_every: &$text.lost_command_every,
            command_timeout_s: &$text.command_timeout_s,
            drop_off_s: &$text.drop_off_s,
            fault_seed: &$text.fault_seed,
        }
    };
}

pub(crate) use fault_figures;
