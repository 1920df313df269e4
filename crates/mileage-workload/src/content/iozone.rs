//! The data that IOzone writes: the bytes of version 3.471 on Linux.
//!
//! Every record is a function of its number and its length, of the number of records in the file, of the child that
//! writes and, for `-+d`, of the time at which IOzone was started; here the workload's seed stands for that time.
//!
//! # What differs from IOzone
//! IOzone writes the constant part of a record back into the table from which the following records are made, so that
//! in one process a small record after a larger one comes out constant altogether. Here every record is what a process
//! writes that has only seen records of its length: IOzone started anew for each record size.

use super::Content;

/// Longest record that IOzone takes, in bytes: the length of its table of random words.
pub(super) const RECORD_BYTES_MAX: u64 = 16 << 20;

const PAGE_BYTES: usize = 4096;
/// The word of the constant part, with IOzone's default manual seed (`-+S`) added to it.
const CONSTANT: u32 = 0xDEAD_BEEF + MANUAL_SEED;
const MANUAL_SEED: u32 = 1;
/// Seed of the table of random words.
const TABLE_SEED: u32 = 0x0271_9362;
/// Byte of the default content: a random number seeded with the sum of the characters of the version's name.
const PATTERN: u8 = 0x20;

/// IOzone's contents of one workload.
#[derive(Clone, Debug)]
pub struct IozoneBytes {
    content: Content,
    time: u32,
    records: u32,
    table: Vec<u8>,
}

impl IozoneBytes {
    /// The bytes of one of IOzone's contents for files of `records` records, each of at most `record_bytes`; `None` for
    /// the other contents. `seed` stands for IOzone's time of start (0 is what it takes with `-w`).
    pub fn new(content: &Content, seed: u64, record_bytes: u32, records: u64) -> Option<Self> {
        let table = match content {
            Content::IozoneDefault | Content::IozoneDiagnostic | Content::IozonePattern { .. } => Vec::new(),
            Content::IozoneDedup { .. } => {
                let words = (record_bytes as usize).div_ceil(4);
                Rand::new(TABLE_SEED).take(words).flat_map(u32::to_le_bytes).collect()
            }
            _ => return None,
        };
        Some(Self { content: *content, time: seed as u32, records: records as u32, table })
    }

    /// Record `record` as `child` writes it; its length is that of `out`, a multiple of 8 and not longer than the
    /// records that the contents were made for.
    ///
    /// # Panics
    /// When it is longer: a programmer's mistake.
    pub fn fill(&self, child: u32, record: u64, out: &mut [u8]) {
        match self.content {
            Content::IozoneDedup { within_percent, across_percent, compress_percent } => {
                let shares = [within_percent, across_percent, compress_percent].map(usize::from);
                self.dedup(shares, child, record as u32, out);
            }
            Content::IozoneDiagnostic => diagnostic(self.time.wrapping_add(child).wrapping_add(record as u32), out),
            Content::IozonePattern { byte, whole: true } => out.fill(byte),
            Content::IozonePattern { byte, whole: false } => first_words(byte, out),
            _ => first_words(PATTERN, out),
        }
    }

    /// `-+w`, `-+y`, `-+C`. Three regions of whole words follow one another: constant for this child, from the table in
    /// a way that all children share, from the table in a way of this record and child. They begin at a byte that need
    /// not be a word's first, since each share is rounded down to bytes and each region up to words.
    fn dedup(&self, [within, across, compress]: [usize; 3], child: u32, record: u32, out: &mut [u8]) {
        let length = out.len();
        let common = length * within / 100;
        let interior = common * across / 100;
        let of_child = interior * compress / 100;
        let constant_end = interior.next_multiple_of(4).min(length);
        let (words, rest) = out[..constant_end].as_chunks_mut::<4>();
        words.fill(CONSTANT.to_le_bytes());
        rest.copy_from_slice(&CONSTANT.to_le_bytes()[..rest.len()]);

        let drawn = |seed: u32| Rand::new(seed).next().unwrap_or_default();
        let all_children = self.records.wrapping_mul(MANUAL_SEED);
        let this_child = (child + 1).wrapping_mul(self.records).wrapping_mul(MANUAL_SEED);
        let mut from = interior - of_child;
        let mut region = |bytes: usize, seed: u32| {
            let to = from + bytes.next_multiple_of(4);
            self.transform(drawn(seed), constant_end, from, &mut out[from.min(length)..to.min(length)]);
            from = to;
        };
        region(of_child, child + 1 + MANUAL_SEED);
        region(common - interior, record.wrapping_add(1).wrapping_add(all_children));
        let done = interior + (common - interior).next_multiple_of(4);
        if within < 100 && done < length {
            region(length - done, record.wrapping_add(1).wrapping_add(this_child));
        }
    }

    /// Exclusive or of a word with the source from byte `from` on: constant up to `constant_end`, the table after it.
    fn transform(&self, word: u32, constant_end: usize, from: usize, out: &mut [u8]) {
        let word = word.to_le_bytes();
        let constant = constant_end.saturating_sub(from).min(out.len());
        let (head, tail) = out.split_at_mut(constant);
        let turned: [u8; 4] = std::array::from_fn(|at| CONSTANT.to_le_bytes()[(from + at) % 4] ^ word[at]);
        let (words, rest) = head.as_chunks_mut::<4>();
        words.fill(turned);
        rest.copy_from_slice(&turned[..rest.len()]);
        let source = &self.table[from + constant..][..tail.len()];
        let key: [u8; 32] = std::array::from_fn(|at| word[(constant + at) % 4]);
        let ((wide, last), (from_wide, from_last)) = (tail.as_chunks_mut::<32>(), source.as_chunks::<32>());
        for (out, source) in wide.iter_mut().zip(from_wide) {
            *out = std::array::from_fn(|at| source[at] ^ key[at]);
        }
        for ((out, source), key) in last.iter_mut().zip(from_last).zip(key) {
            *out = source ^ key;
        }
    }
}

/// One byte in the first word of each page, the rest zero.
fn first_words(byte: u8, out: &mut [u8]) {
    out.fill(0);
    out.chunks_mut(PAGE_BYTES).for_each(|page| page[..8].fill(byte));
}

/// `-+d`: an arithmetic sequence of 64-bit words.
fn diagnostic(seed: u32, out: &mut [u8]) {
    let drawn = u64::from(Rand::new(seed).next().unwrap_or_default());
    let folded = (drawn << 48) | (drawn << 32) | (drawn << 16) | drawn;
    let first = folded.wrapping_add(0x0102_0304_0506_0708);
    for (place, word) in (0_u64..).zip(out.as_chunks_mut::<8>().0) {
        *word = first.wrapping_add(place.wrapping_mul(0x0101_0101_0101_0101)).to_le_bytes();
    }
}

/// The C library's `rand` after `srand`: an additive generator over the last 31 numbers, as glibc has it.
struct Rand {
    last: [u32; 31],
    at: usize,
}

impl Rand {
    /// Numbers thrown away at the start.
    const WARM_UP: usize = 310;

    fn new(seed: u32) -> Self {
        let mut last = [0; 31];
        let mut value = if seed == 0 { 1 } else { i64::from(seed.cast_signed()) };
        for number in &mut last {
            *number = value as u32;
            // C's remainder is negative for a seed above 2^31; add the modulus as the C library does.
            value = value * 16_807 % 0x7FFF_FFFF;
            value += if value < 0 { 0x7FFF_FFFF } else { 0 };
        }
        // The first three outputs are these numbers themselves, by the definition of the sequence.
        let mut generator = Self { last, at: 3 };
        for _ in 0..Self::WARM_UP {
            generator.step();
        }
        generator
    }

    fn step(&mut self) -> u32 {
        let sum = self.last[self.at].wrapping_add(self.last[(self.at + 28) % 31]);
        self.last[self.at] = sum;
        self.at = if self.at == 30 { 0 } else { self.at + 1 };
        sum
    }
}

impl Iterator for Rand {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        Some(self.step() >> 1)
    }
}
