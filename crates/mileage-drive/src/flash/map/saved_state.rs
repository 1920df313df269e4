//! A page map as bytes: the forward map as runs, and per block or unit what does not follow from it.

use super::heat::WINDOW;
use super::{Frontier, Map, Unit};
use crate::flash::saved_mapping::{read_runs, write_runs};
use crate::profile::flash::choices::Victim;
use crate::saved_state::{Reader, StateError, Writer, corrupt};

/// More erases, or blocks opened, than a drive lives for.
const EVER: u64 = u64::MAX / 2;

/// Which per-block numbers the policies need: the order of opening, and the age.
fn needs(map: &Map) -> (bool, bool) {
    let rules = &map.rules;
    (rules.victim == Victim::Fifo, rules.victim == Victim::CostBenefit || rules.wear.static_gap.is_some())
}

pub(crate) fn save(out: &mut Writer, map: &Map) {
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
        out.word(unit.skipped_at);
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
        out.word(map.heat.since);
        out.words(map.heat.writes);
        out.repeated(&map.heat.streams);
        out.bytes(&map.heat.marks);
    }
    out.reserve(4 * map.mapped() as usize * 9 / 8);
    write_runs(out, &map.forward);
}

pub(crate) fn restore(reader: &mut Reader, map: &mut Map) -> Result<(), StateError> {
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
            skipped_at: reader.word()?,
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
        let most = WINDOW * u64::from(geometry.logical);
        map.heat.since = reader.below(most, "the marks of heat were not halved in time")?;
        for writes in &mut map.heat.writes {
            *writes = reader.below(EVER, "more pages written than a drive lives for")?;
        }
        reader.repeated(&mut map.heat.streams, 2)?;
        reader.fill(&mut map.heat.marks)?;
        map.heat.sum_up();
    }
    read_runs(reader, &mut map.forward)?;
    if map.derive() { Ok(()) } else { corrupt("a page is mapped to where nothing, or something else, was written") }
}
