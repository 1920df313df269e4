//! A flash drive's state as bytes: what cannot be derived.
//!
//! Behind the header: life, counters, clocks, the translation layer, the write buffer. What follows from these is
//! derived again.

use super::FlashDrive;
use super::array_operation::Array;
use super::buffer::saved_state as contents;
use super::counters::{COUNTER_NAMES, Counters};
use super::lane::{GAPS, Gap, Lane};
use super::layer::each;
use super::map::NOWHERE;
use super::queue::Queue;
use super::suspend::Window;
use super::timing::WaitingPage;
use super::timing::{Clocks, Share, UNKNOWN};
use super::translation::TranslationLayer;
use crate::device::Life;
use crate::profile::FlashProfile;
use crate::profile::flash::choices::EndOfLife;
use crate::saved_state::{Format, Reader, StateError, Writer, corrupt, fingerprint};

const FORMAT: Format = Format { magic: "MILEDRIV", version: 11 };

/// The figures that decide what the drive does; those that only judge it may differ.
fn fingerprint_of(profile: &FlashProfile) -> u64 {
    let judged_only = |name: &str| match name {
        "rated_endurance_bytes" => true,
        "pe_cycles" | "cell" => profile.policies.end_of_life == EndOfLife::Ignored,
        _ => false,
    };
    fingerprint(profile.basics.figures.iter().filter(|figure| !judged_only(figure.name)))
}

impl FlashDrive {
    pub(super) fn to_state(&self) -> Vec<u8> {
        let Self { profile, layer, medium, life, buffer, .. } = self;
        let mut out = FORMAT.begin(fingerprint_of(profile));
        out.word(match life {
            Life::Working => 0,
            Life::ReadOnly => 1,
            Life::Dead | Life::DroppedOff => 2,
        });
        out.words(medium.counters.values());
        save_clocks(&mut out, &medium.clocks, self.waits_for_pages);
        if let Some(errors) = &self.errors {
            let (erases, instants): (Vec<u32>, Vec<u64>) = errors.since.iter().copied().unzip();
            out.repeated(&erases);
            out.repeated(&instants);
        }
        each!(layer, layer => layer.save(&mut out));
        buffer.iter().for_each(|buffer| contents::save(&mut out, buffer));
        Format::end(out)
    }

    /// A drive of this profile in the state that the bytes describe.
    pub(super) fn from_state(profile: &FlashProfile, state: &[u8]) -> Result<Self, StateError> {
        let mut reader = FORMAT.open(state, fingerprint_of(profile), &profile.basics.name)?;
        let mut drive = Self::new(profile.clone());
        drive.life = match reader.below(3, "no such point of life")? {
            0 => Life::Working,
            1 => Life::ReadOnly,
            _ => Life::Dead,
        };
        drive.medium.counters = counters(&mut reader)?;
        clocks(&mut reader, &mut drive.medium.clocks, drive.waits_for_pages)?;
        drive.medium.clocks.suspensions = drive.medium.counters.suspensions;
        if let Some(errors) = &mut drive.errors {
            let (mut erases, mut instants) = (vec![0_u32; errors.since.len()], vec![0_u64; errors.since.len()]);
            reader.repeated(&mut erases, 1 << 32)?;
            reader.repeated(&mut instants, 1 << 60)?;
            errors.since = erases.into_iter().zip(instants).collect();
        }
        each!(&mut drive.layer, layer => layer.restore(&mut reader))?;
        if let Some(buffer) = &mut drive.buffer {
            contents::restore(&mut reader, buffer, profile)?;
        }
        reader.end()?;
        Ok(drive)
    }
}

/// Only gaps that are not past at `now_ns`: nothing can fill others, and which of them a lane still knows depends on the
/// steps in which time passed.
fn save_lane(out: &mut Writer, lane: &Lane, now_ns: u64) {
    let gaps: Vec<Gap> = lane.gaps().filter(|gap| gap.to_ns > now_ns).collect();
    out.words([lane.busy_ns, gaps.len() as u64]);
    out.words(gaps.into_iter().flat_map(|gap| [gap.from_ns, gap.to_ns]));
}

fn read_lane(reader: &mut Reader) -> Result<Lane, StateError> {
    let busy_ns = reader.instant()?;
    let count = reader.below(GAPS as u64, "more gaps than a lane remembers")?;
    let (mut gaps, mut before_ns) = (Vec::new(), 0);
    for _ in 0..count {
        let gap = Gap { from_ns: reader.instant()?, to_ns: reader.instant()? };
        if gap.from_ns < before_ns || gap.to_ns <= gap.from_ns || gap.to_ns > busy_ns {
            return corrupt("the gaps of a lane are out of order");
        }
        before_ns = gap.to_ns;
        gaps.push(gap);
    }
    Ok(Lane::with_gaps(busy_ns, gaps))
}

fn save_clocks(out: &mut Writer, clocks: &Clocks, parts: bool) {
    out.words([clocks.now_ns, clocks.controller_ns, clocks.durable_ns, clocks.last_ns, u64::from(clocks.buffer_next)]);
    save_lane(out, &clocks.link, clocks.now_ns);
    save_lane(out, &clocks.link_in, clocks.now_ns);
    clocks.channels.iter().for_each(|lane| save_lane(out, lane, clocks.now_ns));
    for array in &clocks.arrays {
        out.words([array.busy_ns, array.joint_from_ns, array.joint_planes, u64::from(array.joint_kind)]);
    }
    for share in &clocks.shares {
        out.words([share.array, share.channel]);
    }
    out.words(clocks.buffer.iter().map(|done_ns| if *done_ns == UNKNOWN { 0 } else { *done_ns }));
    if parts {
        out.word(clocks.waiting.len() as u64);
        out.words(clocks.waiting.iter().flat_map(|it| [u64::from(it.slot), u64::from(it.place), it.there_ns]));
    }
    let taken = clocks.queue.taken();
    out.word(taken.len() as u64);
    out.words(taken);
    for line in &clocks.lines {
        // Only windows that are not past, as for gaps.
        let windows: Vec<_> = line.windows.iter().filter(|window| window.to_ns > clocks.now_ns).collect();
        out.words([line.reads_ns, windows.len() as u64]);
        out.words(windows.into_iter().flat_map(|window| [window.from_ns, window.to_ns]));
    }
}

fn counters(reader: &mut Reader) -> Result<Counters, StateError> {
    let mut values = [0; COUNTER_NAMES.len()];
    for value in &mut values {
        *value = reader.below(u64::MAX / 2, "a counter that no drive reaches")?;
    }
    Ok(Counters::of(values))
}

/// Restore the pages waiting for a flash page to be filled: at most as many as the map's frontiers and the cache's
/// blocks hold.
fn waiting(reader: &mut Reader, clocks: &mut Clocks) -> Result<(), StateError> {
    let slots = u64::from(clocks.slc_slot(clocks.shares.len() as u32));
    let count = reader.below(64 * slots, "more pages wait for flash pages than these hold")?;
    for _ in 0..count {
        let slot = reader.below(slots, "no such frontier")? as u32;
        let place = reader.below(1 << 32, "no such place in the write buffer")? as u32;
        clocks.waiting.push(WaitingPage { slot, place, there_ns: reader.instant()? });
        match clocks.buffer.get_mut(place as usize) {
            Some(done_ns) => *done_ns = UNKNOWN,
            None if place == NOWHERE => {}
            None => return corrupt("no such place in the write buffer"),
        }
    }
    Ok(())
}

fn clocks(reader: &mut Reader, clocks: &mut Clocks, parts: bool) -> Result<(), StateError> {
    clocks.now_ns = reader.instant()?;
    clocks.controller_ns = reader.instant()?;
    clocks.durable_ns = reader.instant()?;
    clocks.last_ns = reader.instant()?;
    clocks.buffer_next = reader.below((clocks.buffer.len() as u64).max(1), "no such place in the write buffer")? as u32;
    clocks.link = read_lane(reader)?;
    clocks.link_in = read_lane(reader)?;
    for lane in &mut clocks.channels {
        *lane = read_lane(reader)?;
    }
    for array in &mut clocks.arrays {
        *array = Array {
            busy_ns: reader.instant()?,
            joint_from_ns: reader.instant()?,
            joint_planes: reader.word()?,
            joint_kind: reader.below(1 << 32, "neither a program nor a read")? as u32,
        };
    }
    for share in &mut clocks.shares {
        *share = Share { array: reader.instant()?, channel: reader.instant()? };
    }
    for instant in &mut clocks.buffer {
        *instant = reader.instant()?;
    }
    if parts {
        waiting(reader, clocks)?;
    }
    let places = clocks.queue.places();
    let count = reader.below(u64::from(places) + 1, "more commands than the drive takes")?;
    let taken: Result<Vec<u64>, StateError> = (0..count).map(|_| reader.instant()).collect();
    clocks.queue = Queue::with_taken(places, taken?);
    lines(reader, clocks)
}

/// Restore the operations that may be interrupted; they must be in order and end within the array's busy time.
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
