//! Sizes in bytes: parse and print.
//!
//! # Invariant
//! Depends on no other crate of the workspace. Every text form that [`parse_bytes`] accepts is exact: a size is a
//! whole number of bytes or it is refused. *Guard:* the house test on the manifests; the round-trip property below.
//!
//! `GB` is 10^9 bytes and `GiB` is 2^30 bytes; a bare letter (`G`) is refused because tools disagree about it.
#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

/// Why a text is not a size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{found:?} is not a size: expected a whole number of bytes, or a number with B, kB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB (powers of 1024); for example 4KiB"
)]
pub struct NotASize {
    /// The text that was given.
    pub found: String,
}

const UNITS: [(&str, u64); 11] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("KB", 1_000),
    ("B", 1),
    ("", 1),
];

/// Bytes named by a text such as `4096`, `4KiB`, `1.5 GiB` or `64GB`.
///
/// # Errors
/// [`NotASize`] when the text has no number, an unknown unit, or names a fraction of a byte.
pub fn parse_bytes(text: &str) -> Result<u64, NotASize> {
    let refuse = || NotASize { found: text.to_owned() };
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(split);
    let scale = UNITS.iter().find(|(name, _)| *name == unit.trim()).map(|(_, scale)| *scale).ok_or_else(refuse)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || fraction.len() > 9 || (number.contains('.') && fraction.is_empty()) {
        return Err(refuse());
    }
    let whole: u64 = whole.parse().map_err(|_| refuse())?;
    let tenth_power = 10_u128.pow(fraction.len() as u32);
    let numerator = if fraction.is_empty() { 0 } else { fraction.parse::<u128>().map_err(|_| refuse())? };
    let scaled = numerator * u128::from(scale);
    if scaled % tenth_power != 0 {
        return Err(refuse());
    }
    let bytes = u128::from(whole) * u128::from(scale) + scaled / tenth_power;
    u64::try_from(bytes).map_err(|_| refuse())
}

/// Bytes in words: an exact binary unit where there is one, else three significant digits of a binary unit.
///
/// ```
/// assert_eq!(mileage_units::format_bytes(4096), "4 KiB");
/// assert_eq!(mileage_units::format_bytes(64_000_000_000), "59.6 GiB");
/// ```
pub fn format_bytes(bytes: u64) -> String {
    for (unit, scale) in &UNITS[..4] {
        if bytes >= *scale {
            let amount = bytes as f64 / *scale as f64;
            return if bytes.is_multiple_of(*scale) {
                format!("{} {unit}", bytes / scale)
            } else if amount >= 100.0 {
                format!("{amount:.0} {unit}")
            } else if amount >= 10.0 {
                format!("{amount:.1} {unit}")
            } else {
                format!("{amount:.2} {unit}")
            };
        }
    }
    format!("{bytes} B")
}

#[cfg(test)]
mod tests {
    use super::{format_bytes, parse_bytes};
    use proptest::prelude::*;

    #[test]
    fn sizes_mean_what_they_say() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("4KiB", 4096),
            ("4 KiB", 4096),
            ("1.5GiB", 3 << 29),
            ("64GB", 64_000_000_000),
            ("0.5 kB", 500),
            ("16TiB", 16 << 40),
        ] {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_size_is_refused() {
        for text in
            ["", "x", "4K", "4k", "1.5", "1.5B", "-1", "1e3", ".5GB", "1.GB", "4 KiBs", "99999999TiB", "0.0001kB"]
        {
            let message = parse_bytes(text).unwrap_err().to_string();
            assert!(message.contains(&format!("{text:?}")), "{message}");
        }
    }

    proptest! {
        #[test]
        fn whole_bytes_round_trip(bytes in 0_u64..=u64::MAX) {
            prop_assert_eq!(parse_bytes(&bytes.to_string()), Ok(bytes));
        }

        #[test]
        fn exact_units_round_trip(count in 1_u64..1024, power in 1_u32..=4) {
            let bytes = count << (10 * power);
            prop_assert_eq!(parse_bytes(&format_bytes(bytes)), Ok(bytes));
        }
    }
}
