//! The mappings as bytes: forward maps as runs, and per block or unit what does not follow from them.

use super::super::blocks::Blocks;
use super::super::cached::Cached;
use super::super::dftl::Demand;
use super::super::map::{Frontier, Lent, Map, NOWHERE, Unit};
use super::{Reader, StateError, Writer, corrupt};
use crate::profile::policies::Victim;

/// More erases, or blocks opened, than a drive lives for.
const EVER: u64 = u64::MAX / 2;

/// Which numbers of every block the policies need: the order of opening, and the age.
fn needs(map: &Map) -> (bool, bool) {
    let rules = &map.rules;
    (rules.victim == Victim::Fifo, rules.victim == Victim::CostBenefit || rules.wear.static_gap.is_some())
}

pub(super) fn save_map(out: &mut Writer, map: &Map) {
    out.words([u64::from(map.turn), map.opened, u64::from(map.gain), map.sequence, map.written, map.draws]);
    out.words([u64::from(map.free_blocks_least), u64::from(map.worn_out)]);
    for frontier in &map.frontiers {
        out.half(frontier.open);
        out.half(frontier.left);
    }
    for unit in &map.units {
        out.half(unit.fresh);
        out.list(unit.free.iter().copied());
        out.list(unit.bad.iter().copied());
        out.word(unit.passed_at);
    }
    out.repeated(&map.erases);
    let (order, age) = needs(map);
    if order {
        out.repeated(&map.opened_as);
    }
    if age {
        out.repeated(&map.opened_at);
    }
    if !map.heat.marks.is_empty() {
        out.word(u64::from(map.heat.since));
        out.words(map.heat.writes);
        out.repeated(&map.heat.streams);
        out.bytes(&map.heat.marks);
    }
    out.reserve(4 * map.mapped() as usize * 9 / 8);
    out.places(&map.forward);
}

pub(super) fn map(reader: &mut Reader, map: &mut Map) -> Result<(), StateError> {
    let geometry = map.geometry;
    map.turn = reader.below(u64::from(geometry.units), "no such plane")? as u32;
    map.opened = reader.below(EVER, "more blocks opened than a drive lives for")?;
    map.gain = reader.below(u64::from(geometry.pages) + 1, "more pages gained than a block has")? as u32;
    map.sequence = reader.below(EVER, "more blocks opened than a drive lives for")?;
    map.written = reader.below(EVER, "more pages written than a drive lives for")?;
    map.draws = reader.word()?;
    map.free_blocks_least = reader.below(1 << 32, "more erased blocks than a drive has")? as u32;
    map.worn_out = reader.below(2, "neither worn out nor not")? == 1;
    for frontier in &mut map.frontiers {
        *frontier = Frontier { open: reader.half()?, left: reader.half()? };
    }
    for unit in &mut map.units {
        let longest = geometry.stride();
        *unit = Unit {
            blocks: unit.blocks,
            fresh: reader.half()?,
            free: reader.list(longest)?,
            bad: reader.list(longest)?,
            passed_at: reader.word()?,
            kept: unit.kept,
            lent: std::mem::take(&mut unit.lent),
        };
    }
    if !map.units_hold() {
        return corrupt("a plane's open and erased blocks contradict each other");
    }
    reader.repeated(&mut map.erases, 1 << 32)?;
    let (order, age) = needs(map);
    if order {
        reader.repeated(&mut map.opened_as, EVER)?;
    }
    if age {
        reader.repeated(&mut map.opened_at, EVER)?;
    }
    if !map.heat.marks.is_empty() {
        map.heat.since = reader.below(u64::from(geometry.logical), "the marks of heat were not halved in time")? as u32;
        for writes in &mut map.heat.writes {
            *writes = reader.below(EVER, "more pages written than a drive lives for")?;
        }
        reader.repeated(&mut map.heat.streams, 2)?;
        reader.fill(&mut map.heat.marks)?;
        map.heat.sum_up();
    }
    reader.places(&mut map.forward)?;
    if map.derive() { Ok(()) } else { corrupt("a page is mapped to where nothing, or something else, was written") }
}

pub(super) fn save_cached(out: &mut Writer, cached: &Cached) {
    out.half(cached.turn);
    out.half(u32::from(cached.full));
    for unit in &cached.map.units {
        out.list(unit.lent.iter().map(|lent| lent.block));
        out.list(unit.lent.iter().map(|lent| lent.filled));
    }
    save_map(out, &cached.map);
}

pub(super) fn cached(reader: &mut Reader, cached: &mut Cached) -> Result<(), StateError> {
    cached.turn = reader.half()?;
    cached.full = reader.half()? != 0;
    let (geometry, most) = (cached.map.geometry, cached.pages_per_block());
    for unit in &mut cached.map.units {
        let (blocks, filled) = (reader.list(geometry.stride())?, reader.list(geometry.stride())?);
        if blocks.len() != filled.len() || filled.iter().any(|pages| *pages == 0 || *pages > most) {
            return corrupt("blocks of the SLC cache without pages, or with too many");
        }
        unit.lent = blocks.into_iter().zip(filled).map(|(block, filled)| Lent { block, filled }).collect();
    }
    if cached.turn >= geometry.units || !cached.keep() {
        return corrupt("more blocks in the SLC cache than it may have");
    }
    map(reader, &mut cached.map)?;
    cached.note_lent();
    Ok(())
}

pub(super) fn save_demand(out: &mut Writer, demand: &Demand) {
    save_map(out, &demand.map);
    let entries: Vec<u32> = demand.entries().flat_map(|(page, changed)| [page, u32::from(changed)]).collect();
    out.list(entries.into_iter());
}

pub(super) fn demand(reader: &mut Reader, demand: &mut Demand) -> Result<(), StateError> {
    map(reader, &mut demand.map)?;
    let entries = reader.list(u32::MAX)?;
    let entries: Vec<(u32, bool)> =
        entries.as_chunks::<2>().0.iter().map(|[page, changed]| (*page, *changed != 0)).collect();
    if demand.hold(&entries) { Ok(()) } else { corrupt("map entries that the controller cannot hold") }
}

pub(super) fn save_blocks(out: &mut Writer, blocks: &Blocks) {
    out.repeated(&blocks.next);
    out.repeated(&blocks.erases);
    out.repeated(&blocks.data);
    // A drive on which nothing was written has its erased blocks in the order of their numbers.
    let fresh = blocks.next.iter().all(|next| *next == 0) && blocks.bad.is_empty() && blocks.free.iter().is_sorted();
    out.half(u32::from(fresh));
    if !fresh {
        out.list(blocks.free.iter().copied());
    }
    out.list(blocks.logs.iter().map(|(log, _)| *log));
    out.list(blocks.logs.iter().map(|(_, owner)| *owner));
    let (log, owner) = blocks.stream.unwrap_or((NOWHERE, NOWHERE));
    out.half(log);
    out.half(owner);
    out.half(blocks.free_least);
    out.list(blocks.spare.iter().copied());
    out.list(blocks.bad.iter().copied());
    out.half(u32::from(blocks.worn_out));
    out.places(&blocks.place);
}

pub(super) fn blocks(reader: &mut Reader, blocks: &mut Blocks) -> Result<(), StateError> {
    let count = blocks.next.len() as u32;
    reader.repeated(&mut blocks.next, u64::from(blocks.pages) + 1)?;
    reader.repeated(&mut blocks.erases, 1 << 32)?;
    reader.repeated(&mut blocks.data, 1 << 32)?;
    if reader.half()? == 0 {
        blocks.free = reader.list(count)?.into();
    }
    let (logs, owners) = (reader.list(count)?, reader.list(count)?);
    if logs.len() != owners.len() {
        return corrupt("log blocks without owners");
    }
    blocks.logs = logs.into_iter().zip(owners).collect();
    let stream = (reader.half()?, reader.half()?);
    blocks.stream = (stream.0 != NOWHERE).then_some(stream);
    blocks.free_least = reader.half()?;
    blocks.spare = reader.list(count)?.into();
    blocks.bad = reader.list(count)?;
    blocks.worn_out = reader.half()? != 0;
    reader.places(&mut blocks.place)?;
    if blocks.derive() {
        Ok(())
    } else {
        corrupt("the uses of a block, or the places of a page, contradict each other")
    }
}
