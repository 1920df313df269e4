//! Pages as bits: a word has 64 of them.

/// Pages of a chunk.
pub(crate) const CHUNK: u32 = 64;

/// Bits of `count` pages from bit `first`.
pub(crate) fn bits(first: u32, count: u32) -> u64 {
    debug_assert!(count >= 1 && first + count <= CHUNK);
    (u64::MAX >> (CHUNK - count)) << first
}

/// The parts of a range of pages by chunk: number of the chunk, and its bits.
pub(crate) fn parts(page: u32, count: u32) -> impl Iterator<Item = (u32, u64)> {
    let end = page + count;
    let mut at = page;
    std::iter::from_fn(move || {
        (at < end).then(|| {
            let (chunk, first) = (at / CHUNK, at % CHUNK);
            let length = (CHUNK - first).min(end - at);
            at += length;
            (chunk, bits(first, length))
        })
    })
}

/// The runs of neighbouring ones in a word: first bit and length.
pub(crate) fn runs(mut word: u64) -> impl Iterator<Item = (u32, u32)> {
    std::iter::from_fn(move || {
        (word != 0).then(|| {
            let first = word.trailing_zeros();
            let length = (word >> first).trailing_ones();
            word &= !bits(first, length);
            (first, length)
        })
    })
}
