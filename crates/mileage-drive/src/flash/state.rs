//! A drive's state as bytes: what cannot be derived, little-endian, with a checksum.
//!
//! Header: magic `MILEDRIV`, version, fingerprint of the profile's figures, checksum of what follows. Then life,
//! clocks, counters, and the mapping ([`mapping`]). What follows from these is derived again.

mod bytes;
mod contents;
mod mapping;
mod packed;

use super::queue::Queue;
use super::suspend::Window;
use super::timing::{Array, Clocks, Share};
use super::{COUNTER_NAMES, Counters, FlashDrive, Layer, Life};
use crate::profile::Profile;
use crate::profile::policies::EndOfLife;
use bytes::{Reader, Writer};

const MAGIC: [u8; 8] = *b"MILEDRIV";
const VERSION: u64 = 9;
const HEADER_BYTES: usize = 32;

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

/// The figures that decide what the drive does; those that only judge it may differ.
fn fingerprint(profile: &Profile) -> u64 {
    let judged_only = |name: &str| match name {
        "rated_endurance_bytes" => true,
        "pe_cycles" | "cell" => profile.policies.end_of_life == EndOfLife::Ignored,
        _ => false,
    };
    let figures = profile.describe().iter().filter(|figure| !judged_only(figure.name));
    let text: Vec<String> = figures.map(|figure| format!("{}={}", figure.name, figure.value)).collect();
    hash(text.join("\n").as_bytes())
}

pub(super) fn save(drive: &FlashDrive) -> Vec<u8> {
    let FlashDrive { profile, layer, medium, life, buffer, .. } = drive;
    let mut out = Writer::new(HEADER_BYTES + 4096);
    out.bytes(&MAGIC);
    out.words([VERSION, fingerprint(profile), 0]);
    out.word(match life {
        Life::Working => 0,
        Life::ReadOnly => 1,
        Life::Dead => 2,
    });
    out.words(medium.counters.values());
    save_clocks(&mut out, &medium.clocks);
    if let Some(errors) = &drive.errors {
        let (erases, instants): (Vec<u32>, Vec<u64>) = errors.since.iter().copied().unzip();
        out.repeated(&erases);
        out.repeated(&instants);
    }
    match layer {
        Layer::Page(map) => mapping::save_map(&mut out, map),
        Layer::Cached(cached) => mapping::save_cached(&mut out, cached),
        Layer::Demand(demand) => mapping::save_demand(&mut out, demand),
        Layer::Blocks(blocks) => mapping::save_blocks(&mut out, blocks),
        Layer::Packed(packed) => packed::save(&mut out, packed),
    }
    buffer.iter().for_each(|buffer| contents::save(&mut out, buffer));
    let mut out = out.into_bytes();
    let checksum = hash(&out[HEADER_BYTES..]);
    out[HEADER_BYTES - 8..HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
    out
}

fn save_clocks(out: &mut Writer, clocks: &Clocks) {
    out.words([clocks.now_ns, clocks.controller_ns, clocks.durable_ns, clocks.last_ns, u64::from(clocks.buffer_next)]);
    out.lane(&clocks.link);
    clocks.channels.iter().for_each(|lane| out.lane(lane));
    for array in &clocks.arrays {
        out.words([array.busy_ns, array.joint_from_ns, array.joint_planes, u64::from(array.joint_program)]);
    }
    for share in &clocks.shares {
        out.words([share.array, share.channel]);
    }
    out.words(clocks.buffer.iter().copied());
    let taken = clocks.queue.taken();
    out.word(taken.len() as u64);
    out.words(taken);
    for line in &clocks.lines {
        out.words([line.reads_ns, line.windows.len() as u64]);
        out.words(line.windows.iter().flat_map(|window| [window.from_ns, window.to_ns]));
    }
}

/// A drive of this profile in the state that the bytes describe.
pub(super) fn restore(profile: &Profile, state: &[u8]) -> Result<FlashDrive, StateError> {
    let mut reader = Reader::new(state);
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
    if reader.word()? != hash(reader.rest()) {
        return corrupt("its checksum does not match its contents; it was cut short or changed");
    }
    let mut drive = FlashDrive::new(profile.clone());
    drive.life = match reader.below(3, "no such point of life")? {
        0 => Life::Working,
        1 => Life::ReadOnly,
        _ => Life::Dead,
    };
    drive.medium.counters = counters(&mut reader)?;
    clocks(&mut reader, &mut drive.medium.clocks)?;
    drive.medium.clocks.suspensions = drive.medium.counters.suspensions;
    if let Some(errors) = &mut drive.errors {
        let (mut erases, mut instants) = (vec![0_u32; errors.since.len()], vec![0_u64; errors.since.len()]);
        reader.repeated(&mut erases, 1 << 32)?;
        reader.repeated(&mut instants, 1 << 60)?;
        errors.since = erases.into_iter().zip(instants).collect();
    }
    match &mut drive.layer {
        Layer::Page(map) => mapping::map(&mut reader, map)?,
        Layer::Cached(cached) => mapping::cached(&mut reader, cached)?,
        Layer::Demand(demand) => mapping::demand(&mut reader, demand)?,
        Layer::Blocks(blocks) => mapping::blocks(&mut reader, blocks)?,
        Layer::Packed(packed) => packed::restore(&mut reader, packed)?,
    }
    if let Some(buffer) = &mut drive.buffer {
        contents::restore(&mut reader, buffer, profile)?;
    }
    if reader.rest().is_empty() { Ok(drive) } else { corrupt("bytes after its end") }
}

fn counters(reader: &mut Reader) -> Result<Counters, StateError> {
    let mut values = [0; COUNTER_NAMES.len()];
    for value in &mut values {
        *value = reader.below(u64::MAX / 2, "a counter that no drive reaches")?;
    }
    Ok(Counters::of(values))
}

fn clocks(reader: &mut Reader, clocks: &mut Clocks) -> Result<(), StateError> {
    clocks.now_ns = reader.instant()?;
    clocks.controller_ns = reader.instant()?;
    clocks.durable_ns = reader.instant()?;
    clocks.last_ns = reader.instant()?;
    clocks.buffer_next = reader.below((clocks.buffer.len() as u64).max(1), "no such place in the write buffer")? as u32;
    clocks.link = reader.lane()?;
    for lane in &mut clocks.channels {
        *lane = reader.lane()?;
    }
    for array in &mut clocks.arrays {
        *array = Array {
            busy_ns: reader.instant()?,
            joint_from_ns: reader.instant()?,
            joint_planes: reader.word()?,
            joint_program: reader.below(2, "neither a program nor a read")? == 1,
        };
    }
    for share in &mut clocks.shares {
        *share = Share { array: reader.instant()?, channel: reader.instant()? };
    }
    for instant in &mut clocks.buffer {
        *instant = reader.instant()?;
    }
    let places = clocks.queue.places();
    let count = reader.below(u64::from(places) + 1, "more commands than the drive takes")?;
    let taken: Result<Vec<u64>, StateError> = (0..count).map(|_| reader.instant()).collect();
    clocks.queue = Queue::with_taken(places, taken?);
    lines(reader, clocks)
}

/// What may be interrupted; in order, and the array is at work that long.
fn lines(reader: &mut Reader, clocks: &mut Clocks) -> Result<(), StateError> {
    let Clocks { lines, arrays, .. } = clocks;
    for (line, array) in lines.iter_mut().zip(arrays) {
        line.reads_ns = reader.instant()?;
        let count = reader.below(1 << 32, "more windows than fit")?;
        let mut before_ns = 0;
        for _ in 0..count {
            let window = Window { from_ns: reader.instant()?, to_ns: reader.instant()? };
            if window.from_ns < before_ns || window.to_ns <= window.from_ns || window.to_ns > array.busy_ns {
                return corrupt("what may be interrupted is out of order");
            }
            before_ns = window.to_ns;
            line.windows.push_back(window);
        }
    }
    Ok(())
}
