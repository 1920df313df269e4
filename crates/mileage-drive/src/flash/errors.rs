//! Bits that are read wrongly: error correction, reading again, and reads that fail.
//!
//! # Model
//! A bit is wrong with the chance `rate x (worn / rate)^(erases / rated) x (1 + growth x years)`, independently of the
//! others; the years count from when the host first wrote to the block after its last erase. A codeword with more wrong
//! bits than are corrected fails, and with it the page; the page is read again, which takes an array read and a
//! transfer and leaves a share of the wrong bits, drawn anew. After the last time the read fails. The draws follow from
//! the number of reads so far, so that equal operations give equal errors.
//!
//! # Not modelled
//! Errors in what collections and writes of parts of pages read; read disturb.

use super::map::Geometry;
use crate::profile::FlashProfile;
use crate::profile::flash::BitErrors;

const YEAR_NS: f64 = 365.25 * 86_400e9;

/// The error model of a drive, and when its blocks were written to.
#[derive(Clone, Debug)]
pub(crate) struct Errors {
    pub bits: BitErrors,
    codewords: f64,
    rated_cycles: f64,
    /// Natural logarithm of the number of ways to choose the least that is too much of a codeword's bits.
    ln_ways: f64,
    /// For every block its erases when the host first wrote to it after the last of them, and that instant.
    pub since: Vec<(u32, u64)>,
    /// First byte of a page that could not be read in the present command.
    pub failed_bytes: Option<u64>,
}

impl Errors {
    pub(crate) fn of(profile: &FlashProfile) -> Option<Box<Self>> {
        let bits = profile.bit_errors?;
        let geometry = Geometry::of(profile);
        let blocks = (geometry.units * geometry.stride()) as usize;
        let over = bits.correctable + 1;
        let ln_ways = (0..over).map(|k| (f64::from(bits.codeword_bits - k) / f64::from(k + 1)).ln()).sum();
        Some(Box::new(Self {
            bits,
            codewords: f64::from(8 * profile.mapping_bytes) / f64::from(bits.codeword_bits),
            rated_cycles: profile.pe_cycles.map_or(1.0, |cycles| cycles as f64),
            ln_ways,
            since: vec![(u32::MAX, 0); if bits.growth_per_year > 0.0 { blocks } else { 0 }],
            failed_bytes: None,
        }))
    }

    /// Chance of a bit to be wrong.
    pub(super) fn rate(&self, block: u32, erases: u32, now_ns: u64) -> f64 {
        let BitErrors { rate, rate_worn, growth_per_year, .. } = self.bits;
        let worn = rate * (rate_worn / rate).powf(f64::from(erases) / self.rated_cycles);
        let since = self.since.get(block as usize).filter(|(when, _)| *when == erases);
        let years = since.map_or(0.0, |(_, since_ns)| now_ns.saturating_sub(*since_ns) as f64 / YEAR_NS);
        worn * (1.0 + growth_per_year * years)
    }

    /// Chance of a page to fail when each bit is wrong with this one.
    pub(super) fn page_fails(&self, rate: f64) -> f64 {
        let (bits, p) = (f64::from(self.bits.codeword_bits), rate.clamp(1e-300, 0.5));
        let (ln_wrong, ln_right) = (p.ln(), (-p).ln_1p());
        let mut wrong = f64::from(self.bits.correctable + 1);
        let mut term = (self.ln_ways + wrong * ln_wrong + (bits - wrong) * ln_right).exp();
        let mut sum = 0.0;
        if wrong > bits * p {
            // Sum upwards from the smallest uncorrectable count, where the terms fall and the sum converges.
            while term > sum * 1e-16 && wrong <= bits {
                sum += term;
                term *= (bits - wrong) / (wrong + 1.0) * p / (1.0 - p);
                wrong += 1.0;
            }
        } else {
            // The correctable part is the smaller one here: sum it downwards, where the terms fall as well.
            while wrong > 0.0 {
                term *= wrong / (bits - wrong + 1.0) * (1.0 - p) / p;
                wrong -= 1.0;
                sum += term;
            }
            sum = 1.0 - sum;
        }
        -(self.codewords * (-sum.clamp(0.0, 1.0)).ln_1p()).exp_m1()
    }
}

/// A number from 0 to 1 that follows from another (`SplitMix64` of Steele, Lea and Flood).
pub(super) fn even(number: u64) -> f64 {
    let state = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}
