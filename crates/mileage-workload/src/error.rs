//! Errors of invalid workloads, and range checks of single fields.

use mileage_units::format_bytes;

/// Reason why a workload cannot be done, with the found and the expected value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A number outside its range. What it counts, where the field alone does not say it, stands behind the name,
    /// between commas.
    #[error("{what} is {found}: expected {}", range(*.min, *.max))]
    OutOfRange {
        /// Name of the field.
        what: &'static str,
        /// Given value.
        found: u64,
        /// Smallest allowed.
        min: u64,
        /// Largest allowed.
        max: u64,
    },
    /// A size that is not a whole number of records (or sectors).
    #[error("{what} is {found} bytes, not a multiple of {of} bytes ({}): choose a size that divides evenly", format_bytes(*.of))]
    NotAMultiple {
        /// Name of the field.
        what: &'static str,
        /// Given value in bytes.
        found: u64,
        /// The divisor, in bytes.
        of: u64,
    },
    /// Asked for, known, and not possible here.
    #[error("{what} is {found}: {expected}")]
    Refused {
        /// Name of the field.
        what: &'static str,
        /// Given value.
        found: String,
        /// Possible values, and the remedy.
        expected: &'static str,
    },
    /// An item of a list breaks a rule.
    #[error("{list}[{index}].{cause}")]
    Item {
        /// Name of the list.
        list: &'static str,
        /// Index of the item, from 0.
        index: usize,
        /// Error of the item.
        cause: Box<Error>,
    },
    /// The stop rule has no limit.
    #[error("no stop rule: give stop.bytes, stop.operations or stop.time_ns")]
    Endless,
}

impl Error {
    /// Path of the field that is wrong.
    pub fn field(&self) -> String {
        match self {
            Self::Item { list, index, cause } => format!("{list}[{index}].{}", cause.field()),
            _ => self.what().split(',').next().unwrap_or_default().to_owned(),
        }
    }

    /// Found value, expected values and remedy, without the path of the field.
    pub fn reason(&self) -> String {
        if let Self::Item { cause, .. } = self {
            return cause.reason();
        }
        let whole = self.to_string();
        let Some(rest) = whole.strip_prefix(self.what()).and_then(|rest| rest.strip_prefix(" is ")) else {
            return whole;
        };
        match self.what().split_once(", ") {
            Some((_, counted)) => format!("{rest} ({})", counted.trim_end_matches(',')),
            None => rest.to_owned(),
        }
    }

    /// Name of the wrong field, in the words of the error message.
    fn what(&self) -> &'static str {
        match self {
            Self::OutOfRange { what, .. } | Self::NotAMultiple { what, .. } | Self::Refused { what, .. } => what,
            Self::Item { list, .. } => list,
            Self::Endless => "stop",
        }
    }
}

/// A range in words.
fn range(min: u64, max: u64) -> String {
    if max == u64::MAX { format!("{min} or more") } else { format!("{min} to {max}") }
}

pub(crate) fn in_range(what: &'static str, found: u64, min: u64, max: u64) -> Result<(), Error> {
    if (min..=max).contains(&found) { Ok(()) } else { Err(Error::OutOfRange { what, found, min, max }) }
}

pub(crate) fn multiple(what: &'static str, found: u64, of: u64) -> Result<(), Error> {
    if found.is_multiple_of(of) { Ok(()) } else { Err(Error::NotAMultiple { what, found, of }) }
}
