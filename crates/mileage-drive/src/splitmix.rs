//! Random numbers without a state (SplitMix64): a pure function of a seed and an index.

/// One of 2^64 numbers, for the `index`-th draw of a seed (Steele, Lea and Flood 2014, `SplitMix`).
pub(crate) fn draw(seed: u64, index: u64) -> u64 {
    let mut mixed = seed.wrapping_add((index.wrapping_add(1)).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}
