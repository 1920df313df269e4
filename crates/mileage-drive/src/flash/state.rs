//! A drive's state as bytes: what cannot be derived, little-endian, with a checksum.
//!
//! Header: magic `MILEDRIV`, version, fingerprint of the profile's figures, checksum of what follows. Then clocks,
//! counters, the units' frontiers, and the forward map as runs: unmapped pages by their number, mapped pages one by
//! one. The reverse map, the stale marks and their counts follow from these.

use super::map::{Frontier, Geometry, Map, NOWHERE};
use super::timing::{Clocks, Lane};
use super::{Counters, FlashDrive};
use crate::profile::Profile;

const MAGIC: [u8; 8] = *b"MILEDRIV";
const VERSION: u64 = 1;
const HEADER_BYTES: usize = 32;
/// Instants beyond this are no drive's: 36 years.
const LATEST_NS: u64 = 1 << 60;

/// Why bytes are not a state of this drive.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// The bytes do not begin as a drive's state does.
    #[error("not a drive state: expected it to begin with MILEDRIV")]
    NotAState,
    /// Written by another version of the format.
    #[error("drive state of version {found}: this program reads version {VERSION}; age the drive again")]
    OtherVersion {
        /// The version in the header.
        found: u64,
    },
    /// The state of a drive with other figures.
    #[error("the state belongs to a drive with other figures than {name:?}: restore it with the profile that made it")]
    OtherProfile {
        /// The drive that was to be restored.
        name: String,
    },
    /// Fewer bytes than there must be.
    #[error("drive state truncated: it ends after {found} bytes")]
    Truncated {
        /// Bytes that there are.
        found: usize,
    },
    /// The checksum or the contents contradict themselves.
    #[error("drive state corrupt: {what}")]
    Corrupt {
        /// What is wrong.
        what: &'static str,
    },
}

fn corrupt<T>(what: &'static str) -> Result<T, StateError> {
    Err(StateError::Corrupt { what })
}

/// A 64-bit hash of bytes, eight at a time; for accidents, not for attackers.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let mix = |state: u64, word: u64| (state.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let (words, rest) = bytes.as_chunks::<8>();
    let state = words.iter().fold(bytes.len() as u64, |state, word| mix(state, u64::from_le_bytes(*word)));
    let state = rest.iter().fold(state, |state, byte| mix(state, u64::from(*byte)));
    mix(state, state >> 29)
}

fn fingerprint(profile: &Profile) -> u64 {
    let figures =
        profile.describe().iter().filter(|figure| !matches!(figure.name, "rated_endurance_bytes" | "pe_cycles"));
    let text: Vec<String> = figures.map(|figure| format!("{}={}", figure.name, figure.value)).collect();
    hash(text.join("\n").as_bytes())
}

struct Writer(Vec<u8>);

impl Writer {
    fn word(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn half(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn words(&mut self, values: impl IntoIterator<Item = u64>) {
        values.into_iter().for_each(|value| self.word(value));
    }

    fn lane(&mut self, lane: &Lane) {
        self.words([lane.busy_ns, lane.gap_from_ns, lane.gap_to_ns]);
    }

    /// Pairs of (unmapped, mapped) run lengths, each followed by the places of its mapped pages.
    fn runs(&mut self, forward: &[u32]) {
        let mut rest = forward;
        while !rest.is_empty() {
            let unmapped = rest.iter().position(|page| *page != NOWHERE).unwrap_or(rest.len());
            let (_, mapped) = rest.split_at(unmapped);
            let length = mapped.iter().position(|page| *page == NOWHERE).unwrap_or(mapped.len());
            self.half(unmapped as u32);
            self.half(length as u32);
            self.0.extend(mapped[..length].iter().flat_map(|page| page.to_le_bytes()));
            rest = &mapped[length..];
        }
    }
}

pub(super) fn save(drive: &FlashDrive) -> Vec<u8> {
    let FlashDrive { profile, map, clocks, counters, .. } = drive;
    let mut out = Writer(Vec::with_capacity(HEADER_BYTES + 4096 + 4 * map.mapped() as usize * 9 / 8));
    out.0.extend_from_slice(&MAGIC);
    out.words([VERSION, fingerprint(profile), 0]);
    out.words(counters.values());
    out.words([clocks.now_ns, clocks.controller_ns, clocks.durable_ns, u64::from(clocks.buffer_next)]);
    out.lane(&clocks.link);
    clocks.channels.iter().for_each(|lane| out.lane(lane));
    out.words(clocks.units.iter().copied());
    out.words(clocks.buffer.iter().copied());
    out.word(clocks.queue.taken.len() as u64);
    out.words(clocks.queue.taken.iter().copied());
    out.words([u64::from(map.turn), map.opened, u64::from(map.gain)]);
    for frontier in &map.frontiers {
        [frontier.open, frontier.left, frontier.fresh, frontier.spare].into_iter().for_each(|value| out.half(value));
        out.word(frontier.passed_at);
    }
    out.runs(&map.forward);
    let checksum = hash(&out.0[HEADER_BYTES..]);
    out.0[HEADER_BYTES - 8..HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
    out.0
}

struct Reader<'a> {
    bytes: &'a [u8],
    total: usize,
}

impl<'a> Reader<'a> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], StateError> {
        let (taken, rest) = self.bytes.split_first_chunk::<N>().ok_or(StateError::Truncated { found: self.total })?;
        self.bytes = rest;
        Ok(*taken)
    }

    fn slice(&mut self, length: usize) -> Result<&'a [u8], StateError> {
        let (taken, rest) = self.bytes.split_at_checked(length).ok_or(StateError::Truncated { found: self.total })?;
        self.bytes = rest;
        Ok(taken)
    }

    fn word(&mut self) -> Result<u64, StateError> {
        Ok(u64::from_le_bytes(self.take()?))
    }

    fn half(&mut self) -> Result<u32, StateError> {
        Ok(u32::from_le_bytes(self.take()?))
    }

    fn below(&mut self, limit: u64, what: &'static str) -> Result<u64, StateError> {
        let value = self.word()?;
        if value < limit { Ok(value) } else { corrupt(what) }
    }

    fn instant(&mut self) -> Result<u64, StateError> {
        self.below(LATEST_NS, "a time that no drive reaches")
    }

    fn lane(&mut self) -> Result<Lane, StateError> {
        Ok(Lane { busy_ns: self.instant()?, gap_from_ns: self.instant()?, gap_to_ns: self.instant()? })
    }
}

/// A drive of this profile in the state that the bytes describe.
pub(super) fn restore(profile: &Profile, state: &[u8]) -> Result<FlashDrive, StateError> {
    let mut reader = Reader { bytes: state, total: state.len() };
    if reader.take::<8>().ok() != Some(MAGIC) {
        return Err(StateError::NotAState);
    }
    let version = reader.word()?;
    if version != VERSION {
        return Err(StateError::OtherVersion { found: version });
    }
    if reader.word()? != fingerprint(profile) {
        return Err(StateError::OtherProfile { name: profile.name.clone() });
    }
    if reader.word()? != hash(reader.bytes) {
        return corrupt("its checksum does not match its contents; it was cut short or changed");
    }
    let mut drive = FlashDrive::new(profile.clone());
    drive.counters = counters(&mut reader)?;
    clocks(&mut reader, &mut drive.clocks)?;
    map(&mut reader, &mut drive.map)?;
    if reader.bytes.is_empty() { Ok(drive) } else { corrupt("bytes after its end") }
}

fn counters(reader: &mut Reader) -> Result<Counters, StateError> {
    let limit = u64::MAX / 2;
    let mut next = || reader.below(limit, "a counter that no drive reaches");
    Ok(Counters {
        host_pages_read: next()?,
        host_pages_written: next()?,
        flash_pages_read: next()?,
        flash_pages_programmed: next()?,
        blocks_erased: next()?,
        gc_pages_moved: next()?,
        trimmed_pages: next()?,
    })
}

fn clocks(reader: &mut Reader, clocks: &mut Clocks) -> Result<(), StateError> {
    clocks.now_ns = reader.instant()?;
    clocks.controller_ns = reader.instant()?;
    clocks.durable_ns = reader.instant()?;
    clocks.buffer_next = reader.below((clocks.buffer.len() as u64).max(1), "no such place in the write buffer")? as u32;
    clocks.link = reader.lane()?;
    for lane in &mut clocks.channels {
        *lane = reader.lane()?;
    }
    for instant in clocks.units.iter_mut().chain(&mut clocks.buffer) {
        *instant = reader.instant()?;
    }
    let places = clocks.queue.free;
    let taken = reader.below(u64::from(places) + 1, "more commands than the drive takes")?;
    clocks.queue.free = places - taken as u32;
    for _ in 0..taken {
        clocks.queue.taken.push(reader.instant()?);
    }
    Ok(())
}

fn map(reader: &mut Reader, map: &mut Map) -> Result<(), StateError> {
    let geometry = map.geometry;
    map.turn = reader.below(u64::from(geometry.units), "no such plane")? as u32;
    map.opened = reader.below(u64::MAX / 2, "more blocks opened than a drive lives for")?;
    map.gain = reader.below(u64::from(geometry.pages) + 1, "more pages gained than a block has")? as u32;
    for unit in 0..geometry.units {
        let frontier = Frontier {
            open: reader.half()?,
            left: reader.half()?,
            fresh: reader.half()?,
            spare: reader.half()?,
            passed_at: reader.word()?,
        };
        check_frontier(&geometry, unit, &frontier)?;
        map.frontiers[unit as usize] = frontier;
    }
    let mut at = 0;
    while at < map.forward.len() {
        let (unmapped, mapped) = (reader.half()? as usize, reader.half()? as usize);
        let places = reader.slice(4 * mapped)?;
        let Some(run) = map.forward.get_mut(at + unmapped..at + unmapped + mapped) else {
            return corrupt("more pages mapped than the drive has");
        };
        if unmapped + mapped == 0 {
            return corrupt("an empty run of pages");
        }
        for (page, place) in run.iter_mut().zip(places.as_chunks::<4>().0) {
            *page = u32::from_le_bytes(*place);
        }
        at += unmapped + mapped;
    }
    if map.derive() { Ok(()) } else { corrupt("a page is mapped to where nothing, or something else, was written") }
}

fn check_frontier(geometry: &Geometry, unit: u32, frontier: &Frontier) -> Result<(), StateError> {
    let first = unit * geometry.stride();
    let in_unit = |block: u32| (first..first + geometry.blocks).contains(&block);
    let Frontier { open, left, fresh, spare, .. } = *frontier;
    let opened = |block: u32| in_unit(block) && (block - first < fresh || block - first == geometry.blocks - 1);
    // As long as blocks are left that were never opened, nothing was collected.
    let collecting = fresh + 1 == geometry.blocks;
    let holds = fresh < geometry.blocks
        && if open == NOWHERE { left == 0 } else { opened(open) && left < geometry.pages + 1 && open != spare }
        && in_unit(spare)
        && (collecting || spare == first + geometry.blocks - 1);
    if holds { Ok(()) } else { corrupt("a plane's open and spare blocks contradict each other") }
}
