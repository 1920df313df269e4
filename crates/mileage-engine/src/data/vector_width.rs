//! Blocks made and compared with the widest vectors that the processor has.
//!
//! The code is that of `mileage-workload`, compiled three times: it is inlined here into functions for which the
//! compiler may use AVX2 or AVX-512. Other architectures have their vectors in the baseline.

use mileage_workload::{BLOCK_BYTES, Blocks, ExpectedContent, WriteIdentity};

/// Room for one block.
pub(crate) type Scratch = [u8; BLOCK_BYTES];

/// Width of the processor's vector registers that are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    /// Instructions that every processor of the architecture has.
    Baseline,
    /// 256 bits.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 512 bits.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Width {
    /// The widest that this processor has and the system lets us use.
    pub(crate) fn best() -> Self {
        Self::all().pop().unwrap_or(Self::Baseline)
    }

    /// Width in bits; of the baseline, what `x86-64` and `AArch64` have.
    pub(crate) fn bits(self) -> u32 {
        match self {
            Self::Baseline => 128,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => 256,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => 512,
        }
    }

    /// All widths of this processor, the widest last.
    pub(crate) fn all() -> Vec<Self> {
        let mut all = vec![Self::Baseline];
        #[cfg(target_arch = "x86_64")]
        {
            all.extend(is_x86_feature_detected!("avx2").then_some(Self::Avx2));
            all.extend(is_x86_feature_detected!("avx512f").then_some(Self::Avx512));
        }
        all
    }

    /// As [`Blocks::fill`].
    #[inline]
    pub(crate) fn fill(self, blocks: &Blocks, writing: WriteIdentity, offset_bytes: u64, out: &mut [u8]) {
        match self {
            Self::Baseline => blocks.fill(writing, offset_bytes, out),
            // SAFETY: the value exists only where the processor has the feature.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => unsafe { fill_avx2(blocks, writing, offset_bytes, out) },
            // SAFETY: a value is made only after the processor was asked for its features.
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => unsafe { fill_avx512(blocks, writing, offset_bytes, out) },
        }
    }

    /// As [`Blocks::agrees`].
    #[inline]
    pub(crate) fn agrees(
        self,
        blocks: &Blocks,
        expected: ExpectedContent,
        offset_bytes: u64,
        found: &[u8],
        scratch: &mut Scratch,
    ) -> bool {
        match self {
            Self::Baseline => blocks.agrees(expected, offset_bytes, found, scratch),
            // SAFETY: the value exists only where the processor has the feature.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => unsafe { agrees_avx2(blocks, expected, offset_bytes, found, scratch) },
            // SAFETY: a value is made only after the processor was asked for its features.
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => unsafe { agrees_avx512(blocks, expected, offset_bytes, found, scratch) },
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn fill_avx2(blocks: &Blocks, writing: WriteIdentity, offset_bytes: u64, out: &mut [u8]) {
    blocks.fill(writing, offset_bytes, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn fill_avx512(blocks: &Blocks, writing: WriteIdentity, offset_bytes: u64, out: &mut [u8]) {
    blocks.fill(writing, offset_bytes, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn agrees_avx2(
    blocks: &Blocks,
    expected: ExpectedContent,
    offset_bytes: u64,
    found: &[u8],
    scratch: &mut Scratch,
) -> bool {
    blocks.agrees(expected, offset_bytes, found, scratch)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn agrees_avx512(
    blocks: &Blocks,
    expected: ExpectedContent,
    offset_bytes: u64,
    found: &[u8],
    scratch: &mut Scratch,
) -> bool {
    blocks.agrees(expected, offset_bytes, found, scratch)
}

#[cfg(test)]
mod tests {
    use super::Width;
    use mileage_workload::{Blocks, Content, ExpectedContent, Lap, WriteIdentity};

    #[test]
    fn all_widths_make_the_same_bytes() {
        for (level, duplicate_percent) in [(0, 0), (2, 50), (50, 0), (75, 30), (98, 0), (100, 0)] {
            let content = Content::Mixed { compressible_percent: level, duplicate_percent };
            let blocks = Blocks::new(1, &content).unwrap();
            let writing = WriteIdentity { file: 1, generation: 2, lap: 3 };
            for (offset, length) in [(0, 65_536), (512, 512), (1024, 10_240), (7, 9001)] {
                let made = |width: Width| {
                    let mut out = vec![0; length];
                    width.fill(&blocks, writing, offset, &mut out);
                    out
                };
                let plain = made(Width::Baseline);
                for width in Width::all() {
                    assert!(made(width) == plain, "{width:?}, level {level}, {length} bytes at {offset}");
                    let expected = ExpectedContent { file: 1, generation: 2, lap: Lap::Exactly(3) };
                    assert!(width.agrees(&blocks, expected, offset, &plain, &mut [0; 4096]), "{width:?}");
                    let older = ExpectedContent { lap: Lap::Exactly(2), ..expected };
                    assert!(!width.agrees(&blocks, older, offset, &plain, &mut [0; 4096]), "{width:?}");
                }
            }
        }
    }
}
