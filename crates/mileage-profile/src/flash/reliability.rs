//! Bit errors of the cells, and what the controller does about them.

use super::choices::{Frontiers, Levelling, Mapping};
use super::policies::Policies;
use super::text::Text;
use crate::figure::{Figure, ProfileError, impossible, whole};

/// Raw bit error rate, and the number of wrong bits that the error correction corrects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BitErrors {
    /// Share of bits that are wrong in a block that was never erased.
    pub rate: f64,
    /// The same in a block that was erased as often as it is rated for; between and beyond, the rate grows by the same
    /// factor with every erase. Equal to `rate`: wear does nothing.
    pub rate_worn: f64,
    /// Increase of the rate in every year since a block was opened, in multiples of the rate.
    pub growth_per_year: f64,
    /// Bits of a codeword.
    pub codeword_bits: u32,
    /// Number of wrong bits in a codeword that the controller can correct.
    pub correctable: u32,
    /// Times that a page is read again before the read fails.
    pub retries_max: u32,
    /// Share of the wrong bits that is left by each of them.
    pub retry_leaves: f64,
}

fn number(key: &'static str, figure: Option<&Figure<f64>>, min: f64, max: f64) -> Result<Option<f64>, ProfileError> {
    match figure {
        Some(figure) if !(min..=max).contains(&figure.value) => {
            impossible(key, figure.value, format!("a number from {min} to {max}"))
        }
        figure => Ok(figure.map(|figure| figure.value)),
    }
}

impl BitErrors {
    pub(super) fn read(text: &Text, policies: &Policies, other_map: bool) -> Result<Option<Self>, ProfileError> {
        let Some(rate) = number("bit_error_rate", text.bit_error_rate.as_ref(), 1e-15, 0.1)? else {
            return match Self::given(text) {
                Some(key) => impossible(key, "given", "bit_error_rate; without it the figure has no effect"),
                None => Ok(None),
            };
        };
        if policies.mapping != Mapping::Page || other_map {
            return impossible(
                "bit_error_rate",
                "given",
                "mapping page without packing or an SLC cache: other maps have no errors yet",
            );
        }
        let (Some(codeword), Some(corrected)) = (&text.ecc_codeword_bytes, &text.ecc_correctable_bits) else {
            let expected = "ecc_codeword_bytes and ecc_correctable_bits with it";
            return impossible("bit_error_rate", "given", expected);
        };
        let codeword_bytes = whole("ecc_codeword_bytes", codeword, 64, text.page_bytes.value)?;
        if !text.page_bytes.value.is_multiple_of(u64::from(codeword_bytes)) {
            return impossible("ecc_codeword_bytes", codeword_bytes, "a part of page_bytes without rest");
        }
        let worn = number("bit_error_rate_worn", text.bit_error_rate_worn.as_ref(), rate, 0.1)?;
        if worn.is_some() && text.pe_cycles.is_none() && text.cell.is_none() {
            return impossible("bit_error_rate_worn", "given", "pe_cycles or cell, to know when a block is worn");
        }
        let growth = text.bit_error_growth_per_year.as_ref();
        let growth = number("bit_error_growth_per_year", growth, 0.0, 1e6)?;
        if growth.is_some() && (policies.frontiers != Frontiers::Shared || policies.levelling == Levelling::Static) {
            let expected = "frontiers shared and levelling other than static: the age of survivors is not known else";
            return impossible("bit_error_growth_per_year", "given", expected);
        }
        let retries = text.read_retries_max.as_ref();
        let retries_max = retries.map_or(Ok(0), |figure| whole("read_retries_max", figure, 1, 64))?;
        let leaves = number("read_retry_leaves", text.read_retry_leaves.as_ref(), 0.0, 1.0)?;
        if (retries_max > 0) != leaves.is_some() {
            return impossible(
                "read_retries_max",
                retries_max,
                "read_retry_leaves with it, and neither without the other",
            );
        }
        Ok(Some(Self {
            rate,
            rate_worn: worn.unwrap_or(rate),
            growth_per_year: growth.unwrap_or(0.0),
            codeword_bits: 8 * codeword_bytes,
            correctable: whole("ecc_correctable_bits", corrected, 0, 4096.min(8 * u64::from(codeword_bytes) - 1))?,
            retries_max,
            retry_leaves: leaves.unwrap_or(1.0),
        }))
    }

    /// A key that is given and needs the rate.
    fn given(text: &Text) -> Option<&'static str> {
        let keys = [
            ("bit_error_rate_worn", text.bit_error_rate_worn.is_some()),
            ("bit_error_growth_per_year", text.bit_error_growth_per_year.is_some()),
            ("ecc_codeword_bytes", text.ecc_codeword_bytes.is_some()),
            ("ecc_correctable_bits", text.ecc_correctable_bits.is_some()),
            ("read_retries_max", text.read_retries_max.is_some()),
            ("read_retry_leaves", text.read_retry_leaves.is_some()),
        ];
        keys.into_iter().find(|(_, given)| *given).map(|(key, _)| key)
    }
}
