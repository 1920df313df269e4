//! Diagnoses a record that differs from what was written, from its bytes alone.
//!
//! A record is examined in sectors of 512 bytes. Every sixteen bytes of a generated block encode which block it is; the
//! claim is accepted when the whole sector, generated from it again, compares equal. The sectors together give the kind of
//! damage:
//!
//! | name | the record holds |
//! |---|---|
//! | `flipped` | what was written, but for a few bits |
//! | `stale` | whole blocks of an older generation or another lap, at their place |
//! | `torn` | new and old parts: a change inside a block, or one change in the record, which then begins or ends old |
//! | `misplaced` | blocks, or sectors of them, that belong elsewhere, in this file or another of the same seed |
//! | `foreign` | none of ours, or a newer generation than the one asked for |
//!
//! # Limits
//! Duplicates of one class are the same bytes: one in the place of another is right. Contents that carry no identity
//! (zeros, IOzone's) are compared, and what differs is `flipped` or `foreign`.

use super::blocks::{BLOCK_BYTES, Blocks, PAIR_BYTES, RUN_BYTES};
use super::identity::{Identity, WriteIdentity};
use std::fmt;

const SECTOR_BYTES: usize = 512;
/// Writings that are tried for bytes too few to say whose they are: the more, the more damage passes for one of them.
const WRITINGS_TRIED: u32 = 256;
/// From this length on a part of a block has a pair of words at one of its ends that is not in the run of zeros.
const CLAIMING_BYTES: usize = RUN_BYTES + 2 * PAIR_BYTES;
/// Bytes that the kernel copies at least before another write changes them.
const STRETCH_MIN: usize = 8;
/// Generations among these, the expected one and those before.
const GENERATIONS_TRIED: u32 = 8;

/// Lap of the writing that is expected at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lap {
    /// This one.
    Exactly(u32),
    /// Any lap, the same in the whole block: an earlier run wrote it.
    Any,
    /// Any lap of this or an older generation, one alone in each block: not yet written by this run.
    Older,
    /// Any lap of this or an older generation, and parts of several, cut anywhere: a write to it is outstanding.
    Unsettled,
}

/// Content that is expected at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpectedContent {
    /// Number of the file.
    pub file: u16,
    /// Number of the writing.
    pub generation: u32,
    /// Lap of the writing.
    pub lap: Lap,
}

/// Kind of a wrong record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A few bits differ.
    Flipped,
    /// An older content of the same place.
    Stale,
    /// Another place's content.
    Misplaced,
    /// Part new, part old.
    Torn,
    /// Data that was never written there.
    Foreign,
}

impl Kind {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Flipped => "flipped",
            Self::Stale => "stale",
            Self::Misplaced => "misplaced",
            Self::Torn => "torn",
            Self::Foreign => "foreign",
        }
    }
}

/// A range of a record that is wrong in one way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Kind of the fault.
    pub kind: Kind,
    /// First byte of the file that differs.
    pub offset_bytes: u64,
    /// Message in one line: the expected and the found data.
    pub message: String,
}

/// Classification of a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sector {
    Right,
    Flipped,
    Older(Identity),
    Newer(Identity),
    Other(Identity),
    /// Data that belongs this many bytes after the start of a block, not at the position of this sector.
    Moved(Identity, usize),
    /// Parts of several writings of this place.
    Woven,
    Zeros,
    Unknown,
}

/// Neighbouring sectors of one kind.
struct Run {
    sector: Sector,
    last: Sector,
    expected: Identity,
    from: usize,
    to: usize,
}

impl Blocks {
    /// Whether a record holds what is expected; the way of every read that is right, without allocation. Each block is
    /// made in `scratch` to be compared.
    ///
    /// Inlined wherever it is called, as [`Blocks::fill`].
    #[inline(always)]
    pub fn agrees(
        &self,
        expected: ExpectedContent,
        offset_bytes: u64,
        found: &[u8],
        scratch: &mut [u8; BLOCK_BYTES],
    ) -> bool {
        let (mut at, mut place) = (0, offset_bytes);
        while at < found.len() {
            let within = place as usize % BLOCK_BYTES;
            let part = &found[at..found.len().min(at + BLOCK_BYTES - within)];
            let block = place / BLOCK_BYTES as u64;
            let Some(identity) = self.candidate(expected, block, within, part) else { return false };
            let made = &mut scratch[..part.len()];
            self.fill_part(identity, within, made);
            if made != part {
                return false;
            }
            at += part.len();
            place += part.len() as u64;
        }
        true
    }

    /// The identity that a right block has; where several would be right, the one that its first bytes claim.
    #[inline(always)]
    fn candidate(&self, expected: ExpectedContent, block: u64, within: usize, part: &[u8]) -> Option<Identity> {
        let ExpectedContent { file, generation, lap } = expected;
        if let Lap::Exactly(lap) = lap {
            return Some(self.identity(WriteIdentity { file, generation, lap }, block));
        }
        let mut whole = pairs(within, part);
        // A short run of zeros identifies no writing; and a part that begins with it does not end with it.
        let claimed = [whole.next(), whole.next_back()]
            .into_iter()
            .flatten()
            .filter_map(|(at, pair)| self.claim(at, pair))
            .find(|claimed| self.fits(expected, block, *claimed));
        claimed.or_else(|| self.fitting_by_trial(expected, block, within, part))
    }

    /// The identity of a part that may be too short to claim one, as a record of odd length leaves at the border of a block,
    /// or that may lie in a run of zeros: the first lap that made these bytes, of the expected generation, or of one before
    /// where these are expected too.
    #[cold]
    fn fitting_by_trial(&self, expected: ExpectedContent, block: u64, within: usize, part: &[u8]) -> Option<Identity> {
        if part.len() >= CLAIMING_BYTES {
            return None;
        }
        let ExpectedContent { file, generation, lap } = expected;
        let older = if matches!(lap, Lap::Older | Lap::Unsettled) { generation.min(GENERATIONS_TRIED - 1) } else { 0 };
        // First laps first: what an earlier run prepared is mostly of its first.
        let writings = (0..WRITINGS_TRIED / (older + 1))
            .flat_map(|lap| (0..=older).map(move |back| WriteIdentity { file, generation: generation - back, lap }));
        let mut identities = writings.map(|writing| self.identity(writing, block));
        identities.find(|identity| self.differing_bits(*identity, within, part) == 0)
    }

    /// Whether an identity is one of those expected in block `block`.
    fn fits(&self, expected: ExpectedContent, block: u64, identity: Identity) -> bool {
        let WriteIdentity { file, generation, lap } = identity.writing;
        let in_time = match expected.lap {
            Lap::Exactly(exactly) => generation == expected.generation && lap == exactly.min(WriteIdentity::LAP_MAX),
            Lap::Any => generation == expected.generation,
            Lap::Older | Lap::Unsettled => generation <= expected.generation,
        };
        in_time && file == expected.file && identity == self.identity(identity.writing, block)
    }

    /// Describe the faults of a record for which [`Blocks::agrees`] is false; empty if it is right after all.
    pub fn findings(&self, expected: ExpectedContent, offset_bytes: u64, found: &[u8]) -> Vec<Finding> {
        let mut runs: Vec<Run> = Vec::new();
        let (mut at, mut place) = (0, offset_bytes);
        while at < found.len() {
            let within = place as usize % BLOCK_BYTES;
            let part = &found[at..found.len().min(at + BLOCK_BYTES - within)];
            self.look_at_block(expected, place / BLOCK_BYTES as u64, (within, at), part, &mut runs);
            at += part.len();
            place += part.len() as u64;
        }
        let describe = |run: &Run| self.describe(run, &runs, offset_bytes, found);
        runs.iter().filter(|run| run.sector != Sector::Right).map(describe).collect()
    }

    fn look_at_block(
        &self,
        expected: ExpectedContent,
        block: u64,
        (within, at): (usize, usize),
        part: &[u8],
        runs: &mut Vec<Run>,
    ) {
        let sectors = || {
            (0..part.len()).step_by(SECTOR_BYTES).map(|from| (from, &part[from..part.len().min(from + SECTOR_BYTES)]))
        };
        let claims: Vec<Option<Identity>> =
            sectors().map(|(from, sector)| self.proven(within + from, sector)).collect();
        let newest = |identity: &&Identity| (identity.writing.generation, identity.writing.lap);
        let fitting =
            claims.iter().flatten().filter(|identity| self.fits(expected, block, **identity)).max_by_key(newest);
        let lap = if let Lap::Exactly(lap) = expected.lap { lap } else { 0 };
        let assumed = WriteIdentity { file: expected.file, generation: expected.generation, lap };
        let by_trial = || self.fitting_by_trial(expected, block, within, part);
        let wanted = fitting.copied().or_else(by_trial).unwrap_or_else(|| self.identity(assumed, block));
        let is_unsettled = expected.lap == Lap::Unsettled;
        let writings = if is_unsettled { self.writings_in(expected, block, within, part) } else { Vec::new() };
        // A part of a few bytes says nothing of several writings.
        let is_unclaimable = pairs(within, part).len() == 0;
        for ((from, sector), claim) in sectors().zip(claims) {
            let unsettled = claim.filter(|claim| is_unsettled && self.fits(expected, block, *claim));
            let wanted = unsettled.unwrap_or(wanted);
            let sector_is = match self.sector(wanted, claim, within + from, sector) {
                Sector::Right => Sector::Right,
                // The kernel copies into a page and out of it at once: what was read is cut anywhere.
                _ if is_unsettled && (is_unclaimable || self.is_woven(&writings, within + from, sector)) => {
                    Sector::Right
                }
                Sector::Flipped | Sector::Older(_) | Sector::Newer(_)
                    if self.is_torn_within(expected, block, within + from, sector) =>
                {
                    Sector::Woven
                }
                Sector::Unknown => self.name_unknown(expected, block, within + from, sector),
                wrong => wrong,
            };
            let (from, to) = (at + from, at + from + sector.len());
            match runs.last_mut() {
                Some(run) if run.last.joins(sector_is) => (run.to, run.last) = (to, sector_is),
                _ => runs.push(Run { sector: sector_is, last: sector_is, expected: wanted, from, to }),
            }
        }
    }

    /// The identity that a sector proves: claimed by some of its bytes, and borne out by the rest but for a few bits.
    fn proven(&self, within: usize, sector: &[u8]) -> Option<Identity> {
        let whole = pairs(within, sector);
        let last = whole.len().saturating_sub(1);
        [0, last, last / 2].into_iter().find_map(|number| {
            let (at, pair) = whole.clone().nth(number)?;
            let claimed = self.claim(at, pair)?;
            is_near(self.differing_bits(claimed, within, sector), sector).then_some(claimed)
        })
    }

    /// The writings of block `block` that sixteen bytes of a sector or more claim, and that fit.
    fn writings_in(&self, expected: ExpectedContent, block: u64, within: usize, sector: &[u8]) -> Vec<Identity> {
        let claims = pairs(within, sector).filter_map(|(at, pair)| self.claim(at, pair));
        let mut writings: Vec<Identity> = claims.filter(|identity| self.fits(expected, block, *identity)).collect();
        writings.dedup();
        writings
    }

    /// Whether a sector consists of parts of several writings of its position, cut at any byte.
    #[cold]
    fn is_torn_within(&self, expected: ExpectedContent, block: u64, within: usize, sector: &[u8]) -> bool {
        let writings = self.writings_in(ExpectedContent { lap: Lap::Older, ..expected }, block, within, sector);
        let zeros = self.has_strange_zeros(&writings, within, sector);
        let mut unclaimed: Vec<bool> = sector.iter().map(|byte| !zeros || *byte != 0).collect();
        for writing in &writings {
            let mut made = [0; SECTOR_BYTES];
            self.fill_part(*writing, within, &mut made[..sector.len()]);
            let differs = made.iter().zip(sector).map(|(made, found)| made != found);
            unclaimed.iter_mut().zip(differs).for_each(|(unclaimed, differs)| *unclaimed &= differs);
        }
        writings.len() + usize::from(zeros) > 1 && !unclaimed.contains(&true)
    }

    /// Whether a sector consists of stretches of some writings, cut at any byte.
    fn is_woven(&self, writings: &[Identity], within: usize, sector: &[u8]) -> bool {
        let made = writings.iter().map(|writing| {
            let mut made = [0; SECTOR_BYTES];
            self.fill_part(*writing, within, &mut made[..sector.len()]);
            made
        });
        let made: Vec<[u8; SECTOR_BYTES]> = made.collect();
        let mut at = 0;
        while at < sector.len() {
            let agreeing =
                |made: &[u8; SECTOR_BYTES]| made[at..].iter().zip(&sector[at..]).take_while(|(a, b)| a == b).count();
            let stretch = made.iter().map(agreeing).max().unwrap_or(0);
            // A few bytes agree by chance; at the ends they may be the rest of a longer stretch.
            if stretch == 0 || (stretch < STRETCH_MIN && at > 0 && at + stretch < sector.len()) {
                return false;
            }
            at += stretch;
        }
        true
    }

    /// Classify a sector that is no complete content of this position: torn at any byte, or moved by whole sectors.
    #[cold]
    fn name_unknown(&self, expected: ExpectedContent, block: u64, within: usize, sector: &[u8]) -> Sector {
        if self.is_torn_within(expected, block, within, sector) {
            return Sector::Woven;
        }
        let places = (0..BLOCK_BYTES).step_by(SECTOR_BYTES).filter(|place| *place != within);
        let mut moved = places.filter_map(|place| Some(Sector::Moved(self.proven(place, sector)?, place)));
        moved.next().unwrap_or(Sector::Unknown)
    }

    /// Whether a sector begins or ends with zeros that none of its writings has there.
    fn has_strange_zeros(&self, writings: &[Identity], within: usize, sector: &[u8]) -> bool {
        let ends = [0, sector.len().saturating_sub(PAIR_BYTES)];
        ends.into_iter().any(|at| {
            let end = &sector[at..sector.len().min(at + PAIR_BYTES)];
            end.iter().all(|byte| *byte == 0)
                && !writings.iter().any(|writing| {
                    let mut made = [1; PAIR_BYTES];
                    self.fill_part(*writing, within + at, &mut made[..end.len()]);
                    made[..end.len()] == *end
                })
        })
    }

    fn differing_bits(&self, identity: Identity, within: usize, sector: &[u8]) -> u32 {
        let mut made = [0; SECTOR_BYTES];
        self.fill_part(identity, within, &mut made[..sector.len()]);
        differing_bits(&made[..sector.len()], sector)
    }

    fn sector(&self, wanted: Identity, claim: Option<Identity>, within: usize, sector: &[u8]) -> Sector {
        let bits = self.differing_bits(wanted, within, sector);
        match claim {
            _ if bits == 0 => Sector::Right,
            _ if is_near(bits, sector) => Sector::Flipped,
            Some(claim) if claim.writing.file != wanted.writing.file => Sector::Other(claim),
            Some(claim) if (claim.block, claim.shared) != (wanted.block, wanted.shared) => Sector::Other(claim),
            // Another lap was written before: laps of threads that share a file do not follow each other in time.
            Some(claim) if claim.writing.generation <= wanted.writing.generation => Sector::Older(claim),
            Some(claim) => Sector::Newer(claim),
            None if sector.iter().all(|byte| *byte == 0) => Sector::Zeros,
            None => Sector::Unknown,
        }
    }

    fn describe(&self, run: &Run, runs: &[Run], offset_bytes: u64, found: &[u8]) -> Finding {
        let within = (offset_bytes as usize + run.from) % BLOCK_BYTES;
        let span = run.from..run.to.min(run.from + BLOCK_BYTES - within);
        let mut made = [0; BLOCK_BYTES];
        self.fill_part(run.expected, within, &mut made[..span.len()]);
        let (made, part) = (&made[..span.len()], &found[span]);
        let first = made.iter().zip(part).position(|(a, b)| a != b).unwrap_or(0);
        let place = offset_bytes + run.from as u64;
        let (from, to, expected) = (place, offset_bytes + run.to as u64, run.expected);
        let (kind, message) = match run.sector {
            Sector::Right | Sector::Flipped => (Kind::Flipped, flips(place, made, part)),
            Sector::Older(older) if is_torn(run, runs, offset_bytes, found.len()) => {
                (Kind::Torn, format!("bytes {from} to {to} hold {older}, the rest of the record {expected}"))
            }
            Sector::Older(older) => (Kind::Stale, format!("expected {expected}, found {older}")),
            Sector::Other(other) => (Kind::Misplaced, format!("expected {expected}, found {other}")),
            Sector::Moved(other, at) => {
                (Kind::Misplaced, format!("expected {expected}, found what belongs {at} bytes into {other}"))
            }
            Sector::Woven => (
                Kind::Torn,
                format!("bytes {from} to {to} hold parts of several writings, the last of them {expected}"),
            ),
            Sector::Newer(newer) => {
                (Kind::Foreign, format!("expected {expected}, found {newer}: the target was written again"))
            }
            Sector::Zeros if is_torn(run, runs, offset_bytes, found.len()) => {
                (Kind::Torn, format!("bytes {from} to {to} are zeros, the rest of the record is {expected}"))
            }
            Sector::Zeros => (Kind::Foreign, format!("expected {expected}, found zeros from {from} to {to}")),
            Sector::Unknown => (Kind::Foreign, strange(&expected, made, part, first)),
        };
        Finding { kind, offset_bytes: place + first as u64, message }
    }
}

impl Sector {
    /// Whether a neighbour belongs to the same run of faults: the same fault, whatever its position is.
    fn joins(self, next: Self) -> bool {
        match (self, next) {
            (Self::Older(a), Self::Older(b))
            | (Self::Newer(a), Self::Newer(b))
            | (Self::Moved(a, _), Self::Moved(b, _)) => a.writing == b.writing,
            (Self::Other(a), Self::Other(b)) => a.writing == b.writing && (a == b || b.block == a.block + 1),
            (Self::Flipped, _) => false,
            (a, b) => a == b,
        }
    }
}

/// The sixteen bytes after one another of a sector, each with its place in the block.
#[inline(always)]
fn pairs(
    within: usize,
    sector: &[u8],
) -> impl ExactSizeIterator<Item = (usize, &[u8; PAIR_BYTES])> + DoubleEndedIterator + Clone {
    let skipped = (within.next_multiple_of(PAIR_BYTES) - within).min(sector.len());
    let whole = sector[skipped..].as_chunks::<PAIR_BYTES>().0;
    whole.iter().enumerate().map(move |(number, pair)| (within + skipped + number * PAIR_BYTES, pair))
}

/// Whether an old run is the result of a torn write: it changes inside a block, or it is one end of a record whose
/// other end is new.
fn is_torn(run: &Run, runs: &[Run], offset_bytes: u64, record: usize) -> bool {
    let is_cut = |at: usize| at > 0 && at < record && !(offset_bytes as usize + at).is_multiple_of(BLOCK_BYTES);
    let one_change = runs.len() == 2 && runs.iter().any(|run| matches!(run.sector, Sector::Right | Sector::Flipped));
    one_change || is_cut(run.from) || is_cut(run.to)
}

/// Whether only a few bits differ, so that the rest proves the content.
fn is_near(bits: u32, sector: &[u8]) -> bool {
    bits as usize <= sector.len() / 4
}

fn differing_bits(a: &[u8], b: &[u8]) -> u32 {
    a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones()).sum()
}

/// Describe the faults of bytes that carry no identity; `place` is their offset in the file. Empty if they agree.
pub fn plain_findings(place: u64, expected: &[u8], found: &[u8]) -> Vec<Finding> {
    let sectors = expected.chunks(SECTOR_BYTES).zip(found.chunks(SECTOR_BYTES)).enumerate();
    let wrong = sectors.filter(|(_, (expected, found))| expected != found);
    wrong
        .map(|(number, (expected, found))| {
            let place = place + (number * SECTOR_BYTES) as u64;
            let first = expected.iter().zip(found).position(|(a, b)| a != b).unwrap_or(0);
            let near = is_near(differing_bits(expected, found), found);
            let (kind, message) = if near {
                (Kind::Flipped, flips(place, expected, found))
            } else {
                (Kind::Foreign, strange(&"IOzone's bytes", expected, found, first))
            };
            Finding { kind, offset_bytes: place + first as u64, message }
        })
        .collect()
}

/// Names the first few bits that differ.
fn flips(place: u64, expected: &[u8], found: &[u8]) -> String {
    const NAMED: usize = 4;
    let differing = (place..).zip(expected.iter().zip(found)).filter(|(_, (a, b))| a != b);
    let names = differing.take(NAMED).map(|(at, (a, b))| {
        let bits: Vec<String> = (0..8).filter(|bit| (a ^ b) >> bit & 1 == 1).map(|bit| bit.to_string()).collect();
        format!("byte {at} expected {a:#04x}, found {b:#04x} (bit {})", bits.join(", "))
    });
    let (count, names) = (differing_bits(expected, found), names.collect::<Vec<_>>().join("; "));
    format!("{count} {} flipped: {names}", if count == 1 { "bit" } else { "bits" })
}

fn strange(expected: &dyn fmt::Display, made: &[u8], found: &[u8], first: usize) -> String {
    let word = |bytes: &[u8]| bytes[first..].iter().take(8).fold(0, |word, byte| word << 8 | u64::from(*byte));
    format!(
        "expected {expected} ({:016x}...), found bytes of no writing with this seed ({:016x}...)",
        word(made),
        word(found)
    )
}

impl fmt::Display for Identity {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WriteIdentity { file, generation, lap } = self.writing;
        let what = if self.shared { "duplicate of class" } else { "block" };
        write!(to, "{what} {} of generation {generation}, lap {lap}", self.block)?;
        if file > 0 { write!(to, ", file {file}") } else { Ok(()) }
    }
}
