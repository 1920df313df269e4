//! The corruptions that [`crate::verify_grid`] plants: what each does to a slot of two records, and what it is named.

use mileage_workload::{Blocks, Content, WriteIdentity};

pub const BLOCK: usize = 4096;
pub const RECORD: usize = 4 * BLOCK;
pub const SLOT: usize = 2 * RECORD;
const SECTOR: usize = 512;
pub const SEED: u64 = 77;
pub const CONTENT: Content = Content::Mixed { compressible_percent: 60, duplicate_percent: 0 };
/// The generation that is right; what an older one left lies below it.
pub const GENERATION: u32 = 2;

/// Two records of one file, to be damaged.
pub struct Slot {
    pub bytes: Vec<u8>,
    /// Of the file.
    pub file: u16,
    /// First byte in the file.
    pub offset: u64,
    /// The lap that is right: 0 of a run that only wrote, 1 of one that compares what it writes.
    pub lap: u32,
}

/// The bytes of a slot in a writing.
fn made(seed: u64, writing: WriteIdentity, offset: u64) -> Vec<u8> {
    let mut bytes = vec![0; SLOT];
    Blocks::new(seed, &CONTENT).unwrap().fill(writing, offset, &mut bytes);
    bytes
}

impl Slot {
    /// What the slot holds in a run that only writes.
    fn generation(&self, generation: u32) -> Vec<u8> {
        made(SEED, WriteIdentity { file: self.file, generation, lap: 0 }, self.offset)
    }

    /// What the slot holds when nothing is wrong.
    pub fn right(&self) -> Vec<u8> {
        self.of_lap(self.lap)
    }

    fn of_lap(&self, lap: u32) -> Vec<u8> {
        made(SEED, WriteIdentity { file: self.file, generation: GENERATION, lap }, self.offset)
    }

    fn elsewhere(&self, file: u16, generation: u32, by: u64) -> Vec<u8> {
        made(SEED, WriteIdentity { file, generation, lap: 0 }, self.offset + by)
    }

    /// Bytes `from` to `to` come from another writing of the slot.
    fn take(&mut self, other: &[u8], from: usize, to: usize) {
        self.bytes[from..to].copy_from_slice(&other[from..to]);
    }

    fn swap(&mut self, one: usize, other: usize, length: usize) {
        let (low, high) = self.bytes.split_at_mut(other);
        low[one..one + length].swap_with_slice(&mut high[..length]);
    }

    fn invert(&mut self, from: usize, length: usize) {
        self.bytes[from..from + length].iter_mut().for_each(|byte| *byte = !*byte);
    }

    /// Bytes of no pattern, other ones for each place.
    fn garbage(&mut self, from: usize, length: usize) {
        let mut state = self.offset + from as u64 + 1;
        for byte in &mut self.bytes[from..from + length] {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *byte = (state >> 56) as u8;
        }
    }
}

/// One way in which storage fails.
pub struct Corruption {
    pub name: &'static str,
    pub damage: fn(&mut Slot),
    /// Which of the slot's records is wrong, and how that is named.
    pub expected: &'static [(usize, &'static str)],
    /// Whether a later run can know it as well: it accepts every lap of its generation.
    pub later: bool,
}

const fn one(name: &'static str, kind: &'static [(usize, &'static str)], damage: fn(&mut Slot)) -> Corruption {
    Corruption { name, damage, expected: kind, later: true }
}

const FLIPPED: &[(usize, &str)] = &[(0, "flipped")];
const STALE: &[(usize, &str)] = &[(0, "stale")];
const TORN: &[(usize, &str)] = &[(0, "torn")];
const MISPLACED: &[(usize, &str)] = &[(0, "misplaced")];
const FOREIGN: &[(usize, &str)] = &[(0, "foreign")];
const BOTH_MISPLACED: &[(usize, &str)] = &[(0, "misplaced"), (1, "misplaced")];

/// All of them.
pub fn corruptions() -> Vec<Corruption> {
    [flips(), foreign(), stale(), torn(), misplaced()].into_iter().flatten().collect()
}

fn flips() -> Vec<Corruption> {
    vec![
        one("the first bit", FLIPPED, |slot| slot.bytes[0] ^= 1),
        one("the last bit", FLIPPED, |slot| slot.bytes[RECORD - 1] ^= 0x80),
        one("a bit in the middle", FLIPPED, |slot| slot.bytes[9000] ^= 0x10),
        one("three bits of a sector", FLIPPED, |slot| {
            for at in [5, 99, 300] {
                slot.bytes[at] ^= 4;
            }
        }),
        one("a byte inverted", FLIPPED, |slot| slot.invert(7000, 1)),
        one("sixteen bytes inverted", FLIPPED, |slot| slot.invert(160, 16)),
        one("a bit in each block", FLIPPED, |slot| (0..4).for_each(|block| slot.bytes[block * BLOCK + 17] ^= 2)),
    ]
}

fn foreign() -> Vec<Corruption> {
    vec![
        one("a sector inverted", FOREIGN, |slot| slot.invert(SECTOR, SECTOR)),
        one("a block zeroed", FOREIGN, |slot| slot.bytes[BLOCK..2 * BLOCK].fill(0)),
        one("a record zeroed", FOREIGN, |slot| slot.bytes[..RECORD].fill(0)),
        one("a record of ones", FOREIGN, |slot| slot.bytes[..RECORD].fill(0xFF)),
        one("garbage in a sector", FOREIGN, |slot| slot.garbage(2 * SECTOR, SECTOR)),
        one("garbage in a block", FOREIGN, |slot| slot.garbage(2 * BLOCK, BLOCK)),
        one("garbage in a record", FOREIGN, |slot| slot.garbage(0, RECORD)),
        one("a text", FOREIGN, |slot| {
            let text = b"Your mileage may vary. ".iter().cycle();
            slot.bytes[..RECORD].iter_mut().zip(text).for_each(|(byte, letter)| *byte = *letter);
        }),
        one("another seed", FOREIGN, |slot| {
            let writing = WriteIdentity { file: slot.file, generation: GENERATION, lap: 0 };
            slot.take(&made(SEED + 1, writing, slot.offset), 0, RECORD);
        }),
        one("a newer generation", FOREIGN, |slot| slot.take(&slot.generation(GENERATION + 1), 0, RECORD)),
    ]
}

fn stale() -> Vec<Corruption> {
    vec![
        one("a record of the generation before", STALE, |slot| slot.take(&slot.generation(1), 0, RECORD)),
        one("a record of the oldest generation", STALE, |slot| slot.take(&slot.generation(0), 0, RECORD)),
        one("an old block in the middle", STALE, |slot| slot.take(&slot.generation(1), BLOCK, 2 * BLOCK)),
        one("every second block old", STALE, |slot| {
            let old = slot.generation(1);
            for at in [BLOCK, 3 * BLOCK] {
                slot.take(&old, at, at + BLOCK);
            }
        }),
        Corruption {
            name: "a record of another lap",
            damage: |slot| slot.take(&slot.of_lap(7), 0, RECORD),
            expected: STALE,
            later: false,
        },
        Corruption {
            name: "what was laid out",
            damage: |slot| slot.take(&slot.of_lap(0), 0, RECORD),
            expected: STALE,
            later: false,
        },
        Corruption {
            name: "a block of another lap",
            damage: |slot| slot.take(&slot.of_lap(7), BLOCK, 2 * BLOCK),
            expected: STALE,
            later: false,
        },
    ]
}

fn torn() -> Vec<Corruption> {
    vec![
        one("the first sector zeroed", TORN, |slot| slot.bytes[..SECTOR].fill(0)),
        one("a sector zeroed", TORN, |slot| slot.bytes[BLOCK + SECTOR..BLOCK + 2 * SECTOR].fill(0)),
        one("the last sector zeroed", TORN, |slot| slot.bytes[RECORD - SECTOR..RECORD].fill(0)),
        one("two sectors zeroed", TORN, |slot| {
            slot.bytes[SECTOR..2 * SECTOR].fill(0);
            slot.bytes[BLOCK + SECTOR..BLOCK + 2 * SECTOR].fill(0);
        }),
        one("the last block never written", TORN, |slot| slot.bytes[3 * BLOCK..RECORD].fill(0)),
        one("the end never written", TORN, |slot| slot.bytes[BLOCK + 1536..RECORD].fill(0)),
        one("the first half old", TORN, |slot| slot.take(&slot.generation(1), 0, RECORD / 2)),
        one("the last block old", TORN, |slot| slot.take(&slot.generation(1), 3 * BLOCK, RECORD)),
        one("an old sector", TORN, |slot| slot.take(&slot.generation(1), BLOCK + 1024, BLOCK + 1536)),
        one("torn after the first sector", TORN, |slot| slot.take(&slot.generation(1), SECTOR, RECORD)),
        one("torn in the first block", TORN, |slot| slot.take(&slot.generation(1), 1536, RECORD)),
        one("torn, old first", TORN, |slot| slot.take(&slot.generation(1), 0, BLOCK + 1536)),
        one("torn before the last sector", TORN, |slot| slot.take(&slot.generation(1), RECORD - SECTOR, RECORD)),
        one("torn inside a sector", TORN, |slot| slot.take(&slot.generation(1), 100, RECORD)),
        one("three generations in a block", TORN, |slot| {
            slot.take(&slot.generation(1), 512, 1024);
            slot.take(&slot.generation(0), 1024, 1536);
        }),
        one("two laps in a block", TORN, |slot| slot.take(&slot.of_lap(7), 512, BLOCK)),
    ]
}

fn misplaced() -> Vec<Corruption> {
    vec![
        one("the next record", MISPLACED, |slot| slot.bytes.copy_within(RECORD.., 0)),
        one("the block before", MISPLACED, |slot| slot.bytes.copy_within(BLOCK..2 * BLOCK, 2 * BLOCK)),
        one("two blocks swapped", MISPLACED, |slot| slot.swap(BLOCK, 2 * BLOCK, BLOCK)),
        one("two records swapped", BOTH_MISPLACED, |slot| slot.swap(0, RECORD, RECORD)),
        one("blocks of two records swapped", BOTH_MISPLACED, |slot| slot.swap(BLOCK, RECORD + 2 * BLOCK, BLOCK)),
        one("another file", MISPLACED, |slot| {
            slot.take(&slot.elsewhere(slot.file + 1, GENERATION, 0), 0, RECORD);
        }),
        one("far away", MISPLACED, |slot| slot.take(&slot.elsewhere(slot.file, GENERATION, 1 << 30), 0, RECORD)),
        one("elsewhere, and old", MISPLACED, |slot| slot.take(&slot.elsewhere(slot.file, 1, 1 << 20), 0, BLOCK)),
        one("a sector too early", MISPLACED, |slot| slot.bytes.copy_within(SECTOR..RECORD + SECTOR, 0)),
        one("a block too late", MISPLACED, |slot| slot.bytes.copy_within(..3 * BLOCK, BLOCK)),
        one("two sectors swapped", MISPLACED, |slot| slot.swap(0, SECTOR, SECTOR)),
        one("halves of a block swapped", MISPLACED, |slot| slot.swap(BLOCK, BLOCK + 2048, 2048)),
    ]
}
