//! The map of a controller that packs as bytes: contents in the order of the first logical page that has each.

use super::{ContentLocation, GONE, PackedMap, SharedContent, Use};
use crate::flash::map::NOWHERE;
use crate::saved_state::{Reader, StateError, Writer, corrupt};

pub(super) fn save(out: &mut Writer, packed: &PackedMap) {
    out.words([u64::from(packed.turn), u64::from(packed.gain_bytes), u64::from(packed.free_least)]);
    for block in &packed.blocks {
        out.half(block.erases);
        out.half(match block.used {
            Use::Erased => 0,
            Use::Open => 1,
            Use::Full => 2,
        });
    }
    for unit in &packed.units {
        out.half(unit.filled_bytes);
        out.list(unit.free.iter().copied());
    }
    // Save a content under its first page, so that equal states give equal bytes; unreferenced contents are dropped.
    let mut first = vec![NOWHERE; packed.stored.len()];
    for (page, content) in (0..).zip(&packed.holds) {
        let Some(stored) = packed.stored.get(*content as usize) else {
            out.half(NOWHERE);
            continue;
        };
        let number = &mut first[*content as usize];
        if *number != NOWHERE {
            out.half(*number);
            continue;
        }
        *number = page;
        out.half(page);
        out.half(stored.block);
        out.half(stored.offset_bytes);
        out.half(stored.bytes);
        if let Some(shared) = packed.shared.get(*content as usize) {
            out.word(shared.print);
        }
    }
    if let Some(table) = &packed.table {
        out.half(table.next);
        out.half(table.ring.len() as u32);
        for (print, content) in &table.ring {
            out.half(first.get(*content as usize).copied().unwrap_or(NOWHERE));
            // Clear the fingerprint of a removed content, which has no effect but would make equal states differ.
            out.word(if *content == NOWHERE { 0 } else { *print });
        }
    }
}

pub(super) fn restore(reader: &mut Reader, packed: &mut PackedMap) -> Result<(), StateError> {
    let shape = packed.shape;
    packed.turn = reader.below(u64::from(shape.units), "no such plane")? as u32;
    packed.gain_bytes = reader.below(u64::from(shape.block_bytes) + 1, "more gained than a block has")? as u32;
    packed.free_least = reader.below(1 << 32, "more erased blocks than a drive has")? as u32;
    uses(reader, packed)?;
    pages(reader, packed)?;
    if let Some(table) = &mut packed.table {
        table.next = reader.half()?;
        let length = reader.half()?;
        if length > table.capacity() {
            return corrupt("more fingerprints than the controller keeps");
        }
        for _ in 0..length {
            let (content, print) = (reader.half()?, reader.word()?);
            let known = packed.stored.get(content as usize).is_some_and(|stored| *stored != GONE);
            if content != NOWHERE && !(known && packed.shared[content as usize].print == print) {
                return corrupt("a fingerprint of no content");
            }
            table.ring.push((print, content));
        }
        if !table.derive() {
            return corrupt("the table of fingerprints contradicts itself");
        }
    }
    packed.vacant = (0..packed.stored.len() as u32).rev().collect();
    packed.vacant.retain(|content| packed.stored[*content as usize] == GONE);
    Ok(())
}

/// Use of every block.
fn uses(reader: &mut Reader, packed: &mut PackedMap) -> Result<(), StateError> {
    let (shape, mut open) = (packed.shape, vec![NOWHERE; packed.units.len()]);
    let mut erased = 0;
    for (number, block) in (0..).zip(&mut packed.blocks) {
        block.erases = reader.half()?;
        block.used = match reader.half()? {
            0 => Use::Erased,
            1 => Use::Open,
            2 => Use::Full,
            _ => return corrupt("no such use of a block"),
        };
        let first = &mut open[(number / shape.blocks) as usize];
        match block.used {
            Use::Open if *first != NOWHERE => return corrupt("a plane with two open blocks"),
            Use::Open => *first = number,
            Use::Erased => erased += 1,
            Use::Full => {}
        }
    }
    let mut seen = vec![false; packed.blocks.len()];
    let good: Vec<u32> = packed.units.iter().flat_map(|unit| unit.free.iter().copied()).collect();
    let bad = packed.blocks.len() - good.len();
    for (number, unit) in (0..).zip(&mut packed.units) {
        unit.open = open[number as usize];
        unit.filled_bytes = reader.half()?;
        if unit.filled_bytes > shape.block_bytes || !unit.filled_bytes.is_multiple_of(shape.step_bytes) {
            return corrupt("an open block filled beyond its end, or not by whole units");
        }
        unit.free = reader.list(shape.blocks)?.into();
        for block in &unit.free {
            let here = block / shape.blocks == number && packed.blocks.get(*block as usize).is_some();
            if !here || packed.blocks[*block as usize].used != Use::Erased {
                return corrupt("a free block that is not erased");
            }
            erased -= usize::from(!std::mem::replace(&mut seen[*block as usize], true));
        }
        if unit.free.len() < shape.free_min as usize {
            return corrupt("fewer erased blocks than the plane keeps");
        }
    }
    // A forged state may omit a block or list it twice: every good block must be free, open or full, and a bad one erased.
    let used = |block: &u32| seen[*block as usize] || packed.blocks[*block as usize].used != Use::Erased;
    if erased != bad || !good.iter().all(used) { corrupt("blocks without a use, or with two") } else { Ok(()) }
}

/// The pages, and the contents that they have.
fn pages(reader: &mut Reader, packed: &mut PackedMap) -> Result<(), StateError> {
    let shape = packed.shape;
    for page in 0..packed.holds.len() as u32 {
        let content = reader.half()?;
        if content == NOWHERE {
            continue;
        }
        if content > page
            || (content < page && packed.shared.get(content as usize).is_none_or(|shared| shared.pages == 0))
        {
            return corrupt("a page with a content that no page before it has");
        }
        packed.holds[page as usize] = content;
        packed.mapped += 1;
        if content == page {
            let stored = ContentLocation { block: reader.half()?, offset_bytes: reader.half()?, bytes: reader.half()? };
            let Some(block) = packed.blocks.get_mut(stored.block as usize) else { return corrupt("no such block") };
            let unit = &packed.units[(stored.block / shape.blocks) as usize];
            let end = if block.used == Use::Open { unit.filled_bytes } else { shape.block_bytes };
            let whole = stored.bytes > 0
                && stored.bytes <= shape.page_bytes
                && (stored.offset_bytes | stored.bytes).is_multiple_of(shape.step_bytes)
                && stored.offset_bytes.checked_add(stored.bytes).is_some_and(|stored_end| stored_end <= end);
            if block.used == Use::Erased || !whole {
                return corrupt("a content where nothing is written");
            }
            block.valid_bytes = block.valid_bytes.saturating_add(stored.bytes);
            block.contents.push((content, stored.offset_bytes));
            packed.stored[page as usize] = stored;
        }
        if let Some(shared) = packed.shared.get_mut(content as usize) {
            let print = if content == page { reader.word()? } else { shared.print };
            *shared = SharedContent { print, pages: shared.pages + 1 };
        }
    }
    for block in &mut packed.blocks {
        block.contents.sort_unstable_by_key(|(_, offset_bytes)| *offset_bytes);
        let mut free_from = 0;
        for (content, offset_bytes) in &block.contents {
            if *offset_bytes < free_from {
                return corrupt("two contents in one place");
            }
            free_from = offset_bytes + packed.stored[*content as usize].bytes;
        }
    }
    Ok(())
}
