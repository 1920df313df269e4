//! Blocks of a given compressibility and duplication, each a pure function of (seed, block, generation).
//!
//! # Layout of a block
//! A block of 4 KiB begins with bytes that no compressor shortens, continues with a short run of zeros and ends with
//! sixteen bytes repeated. The border is set so that zlib-1, zstd-1 and lz4 save the nominal share within 2 points, of
//! each block alone and of many together: [`OVERHEAD_BYTES`] taken from the random part pay for what a compressor writes
//! besides literals. The run of zeros is there for compressors that take longer and longer steps while they find nothing
//! (lz4, zstd-1): it is what they notice at once, however long the step. All bytes but the run differ from block to
//! block, so that no window over several blocks finds more.
//!
//! # Duplicates
//! A block is a duplicate with the given probability, drawn from (seed, block); it then holds the content of its class,
//! the block number modulo 1024, which it has in common with all other duplicates of that class. Two copies are thus a
//! multiple of 4 MiB apart in the file, further than the windows of zlib (32 KiB), lz4 (64 KiB) and zstd-1 (512 KiB)
//! reach: compression sees none of it. The first copy of each class is not a duplicate of anything: a counter over n
//! blocks finds up to 1024 / n less than nominal, within 1 point from 400 MiB on. Written in random order and compressed
//! in that order, 64 KiB at a time (a log-structured device), the chance that two copies fall together is 1.5 %.
//!
//! # Limits
//! A record of 512 bytes is a slice of its block: in a block of 50 % four sectors are incompressible and four are
//! nothing but a repetition. The share holds for whole blocks.

use super::Content;
use super::identity::{BlockKey, Cipher, Identity, STEP, WriteIdentity, mix, unmix};

/// Size of a block in bytes; blocks are aligned in the file.
pub const BLOCK_BYTES: usize = 4096;

/// Bytes of a block that a compressor spends on headers, lengths and the repeated bytes themselves: with these, what
/// zlib-1, zstd-1 and lz4 save lies around the nominal share, on single blocks and on many.
const OVERHEAD_BYTES: usize = 64;
/// Zeros between the random and the repeated part: two steps of lz4 after a whole block of literals, and what it hashes.
pub(super) const RUN_BYTES: usize = 48;

/// Words made at a time: eight vectors of 256 bits keep every unit of the processor busy.
const LANES: usize = 32;
const STRIDE_BYTES: usize = LANES * 8;
pub(super) const PAIR_BYTES: usize = 16;
/// Place, in pairs of words, from which the repeated pair is taken: beyond the end of every block.
const REPEATED_PAIR: u64 = 1 << 20;

/// Generator of the 4 KiB blocks that a workload writes.
#[derive(Clone, Copy, Debug)]
pub struct Blocks {
    cipher: Cipher,
    /// Bytes at the beginning of a block that do not compress; a multiple of a pair.
    random_bytes: usize,
    /// End of the run of zeros after them; a multiple of a pair.
    run_end: usize,
    duplicate_percent: u8,
}

impl Blocks {
    /// The blocks of a content made of blocks; `None` for zeros and for IOzone's.
    pub fn new(seed: u64, content: &Content) -> Option<Self> {
        let (compressible, duplicate_percent) = match *content {
            Content::Incompressible => (0, 0),
            Content::Mixed { compressible_percent, duplicate_percent } => (compressible_percent, duplicate_percent),
            _ => return None,
        };
        let nominal = BLOCK_BYTES * (100 - usize::from(compressible.min(100))) / 100;
        let random_bytes = match compressible {
            0 => BLOCK_BYTES,
            _ => nominal.saturating_sub(OVERHEAD_BYTES).next_multiple_of(PAIR_BYTES),
        };
        let run_bytes = if random_bytes == 0 || random_bytes == BLOCK_BYTES { 0 } else { RUN_BYTES };
        Some(Self { cipher: Cipher::new(seed), random_bytes, run_end: random_bytes + run_bytes, duplicate_percent })
    }

    /// Identity of the content of a block in a writing.
    #[inline(always)]
    pub fn identity(&self, writing: WriteIdentity, block: u64) -> Identity {
        self.cipher.identity(writing, block, self.duplicate_percent)
    }

    /// The bytes that the writing has at `offset_bytes` of its file. Fastest on whole blocks; any range is possible.
    ///
    /// Inlined wherever it is called, so that a caller compiled for wider vectors makes use of them.
    #[inline(always)]
    pub fn fill(&self, writing: WriteIdentity, offset_bytes: u64, out: &mut [u8]) {
        let mut block = offset_bytes / BLOCK_BYTES as u64;
        let within = offset_bytes as usize % BLOCK_BYTES;
        let head = if within == 0 { 0 } else { out.len().min(BLOCK_BYTES - within) };
        let (first, rest) = out.split_at_mut(head);
        if head > 0 {
            self.fill_part(self.identity(writing, block), within, first);
            block += 1;
        }
        let (whole, last) = rest.as_chunks_mut::<BLOCK_BYTES>();
        for out in whole {
            self.fill_even(self.cipher.key(self.identity(writing, block)), 0, out);
            block += 1;
        }
        if !last.is_empty() {
            self.fill_part(self.identity(writing, block), 0, last);
        }
    }

    /// The bytes of the block of `identity` from byte `from` of it on.
    #[inline(always)]
    pub(super) fn fill_part(&self, identity: Identity, from: usize, out: &mut [u8]) {
        let key = self.cipher.key(identity);
        if from.is_multiple_of(STRIDE_BYTES) && out.len().is_multiple_of(STRIDE_BYTES) {
            self.fill_even(key, from, out);
        } else {
            self.fill_uneven(key, from, out);
        }
    }

    /// A range of whole strides.
    #[inline(always)]
    fn fill_even(&self, key: BlockKey, from: usize, out: &mut [u8]) {
        let random = self.random_bytes.saturating_sub(from).min(out.len());
        let run_end = self.run_end.saturating_sub(from).min(out.len());
        // Generate whole strides: the surplus at the end is overwritten by what follows.
        weave(key, from / 8, &mut out[..random.next_multiple_of(STRIDE_BYTES)]);
        // Not called for nothing: a buffer may end where memory does, and the C library's masked store of no bytes there
        // takes longer than making the block.
        if random < run_end {
            out[random..run_end].fill(0);
        }
        repeat(key, &mut out[run_end..]);
    }

    #[cold]
    fn fill_uneven(&self, key: BlockKey, from: usize, out: &mut [u8]) {
        let mut whole = [0; BLOCK_BYTES];
        self.fill_even(key, 0, &mut whole);
        out.copy_from_slice(&whole[from..from + out.len()]);
    }

    /// Identity that sixteen bytes at byte `at` of a block (a multiple of sixteen) decode to. It is valid only if the
    /// bytes around them, generated from it, are equal.
    #[inline(always)]
    pub(super) fn claim(&self, at: usize, pair: &[u8; PAIR_BYTES]) -> Option<Identity> {
        let number = if at < self.random_bytes { (at / PAIR_BYTES) as u64 } else { REPEATED_PAIR };
        let word = |half: usize| u64::from_le_bytes(std::array::from_fn(|byte| pair[8 * half + byte]));
        let base = |word: u64, place: u64| unmix(word).wrapping_sub(STEP.wrapping_mul(place));
        self.cipher.identity_of(BlockKey { even: base(word(0), 2 * number), odd: base(word(1), 2 * number + 1) })
    }
}

/// Words `first_word` onwards; `out` is a whole number of strides.
#[inline(always)]
fn weave(key: BlockKey, first_word: usize, out: &mut [u8]) {
    let mut counters = [0_u64; LANES];
    for (lane, counter) in counters.iter_mut().enumerate() {
        let base = if lane % 2 == 0 { key.even } else { key.odd };
        *counter = base.wrapping_add(STEP.wrapping_mul((first_word + lane) as u64));
    }
    for stride in out.as_chunks_mut::<STRIDE_BYTES>().0 {
        for (counter, out) in counters.iter_mut().zip(stride.as_chunks_mut::<8>().0) {
            *out = mix(*counter).to_le_bytes();
            *counter = counter.wrapping_add(STEP.wrapping_mul(LANES as u64));
        }
    }
}

/// The repeated pair, over a whole number of pairs.
#[inline(always)]
fn repeat(key: BlockKey, out: &mut [u8]) {
    const WIDE: usize = 8 * PAIR_BYTES;
    let mut pattern = [0; WIDE];
    for pair in pattern.as_chunks_mut::<PAIR_BYTES>().0 {
        let place = 2 * REPEATED_PAIR;
        pair[..8].copy_from_slice(&mix(key.even.wrapping_add(STEP.wrapping_mul(place))).to_le_bytes());
        pair[8..].copy_from_slice(&mix(key.odd.wrapping_add(STEP.wrapping_mul(place + 1))).to_le_bytes());
    }
    let (wide, rest) = out.as_chunks_mut::<WIDE>();
    wide.fill(pattern);
    rest.copy_from_slice(&pattern[..rest.len()]);
}
