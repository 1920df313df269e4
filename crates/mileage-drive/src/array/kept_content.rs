//! Arrays that keep data: what each member holds, with real parity, so that what is read back can be compared by bytes.
//!
//! Nothing of this changes what an array does or when.

use super::layout::Piece;
use super::model::Array;
use super::parity::{parity, recover};
use super::stripe::{Plan, Range, Unit};
use super::work::{Part, Record, tag_of};
use crate::block_device::{Decisions, DurableExtent, ManagedDevice, Submission, TaggedCompletion};
use crate::content::Content;
use crate::content_store::{ContentStore, StoredContent};
use crate::device::{Request, RequestKind, Status};
use crate::splitmix::draw;
use std::collections::BTreeSet;

/// What a row will hold between two bytes of its chunks; empty if no data is kept.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowContents {
    data: Vec<Option<Vec<u8>>>,
    parity: Vec<Vec<u8>>,
}

impl RowContents {
    /// What is to be written of a unit.
    pub(crate) fn of(&self, unit: Unit, hull: Range, range: Range) -> Content {
        let bytes = match unit {
            Unit::Data(at) => self.data.get(at).and_then(Option::as_ref),
            Unit::Parity(at) => self.parity.get(at),
        };
        bytes.map_or(Content::Unknown, |bytes| {
            Content::Bytes(bytes[(range.0 - hull.0) as usize..(range.1 - hull.0) as usize].into())
        })
    }
}

/// The bytes of a content.
fn bytes_of(content: &Content, length: u64, sector_bytes: u32) -> Vec<u8> {
    match content {
        Content::Unknown => vec![0; length as usize],
        Content::Bytes(bytes) => bytes.to_vec(),
        Content::Synthetic { seed, generation, first_sector } => {
            let sector = u64::from(sector_bytes);
            let byte = |at: u64| draw(draw(draw(*seed, *generation), first_sector + at / sector), at % sector) as u8;
            (0..length).map(byte).collect()
        }
        Content::Xor(parts) => {
            let mut sum = vec![0; length as usize];
            for part in parts.iter() {
                sum.iter_mut().zip(bytes_of(part, length, sector_bytes)).for_each(|(sum, byte)| *sum ^= byte);
            }
            sum
        }
    }
}

impl<M: ManagedDevice> Array<M> {
    /// Keep what is written from now on; the array is new. Slow, and for small arrays.
    pub fn keep_content(&mut self) {
        let stores = self.devices.iter().map(|device| ContentStore::new(device.sector_bytes()));
        self.stores = Some(stores.collect());
        self.devices.iter_mut().for_each(|device| device.report_persisted(true));
    }

    /// What a read of a range returns when no write is in progress, if data is kept and was not lost. What was torn or never
    /// written is zeros.
    pub fn content(&self, offset_bytes: u64, length_bytes: u64) -> Option<Vec<u8>> {
        self.stores.as_ref()?;
        let mut bytes = Vec::with_capacity(length_bytes as usize);
        if self.fixed.layout.level == crate::profile::Level::Jbod {
            for segment in self.fixed.layout.segments(offset_bytes, length_bytes) {
                bytes.extend(self.on_member(segment.slot, (segment.offset, segment.offset + segment.length))?);
            }
        } else {
            for piece in self.fixed.layout.pieces(offset_bytes, length_bytes) {
                bytes.extend(self.piece_content(&piece)?);
            }
        }
        let operations = self.cache.destages.iter().filter_map(|id| self.operations.get(id));
        let under_way = operations.flat_map(|it| it.parts.iter().cloned());
        let dirty = self.cache.dirty.iter().map(|(from, (to, content))| Part {
            offset: *from,
            length: to - from,
            content: content.clone(),
        });
        for part in under_way.chain(dirty) {
            overlay(&mut bytes, offset_bytes, &part, self.fixed.sector_bytes);
        }
        Some(bytes)
    }

    fn piece_content(&self, piece: &Piece) -> Option<Vec<u8>> {
        let chunk = self.fixed.layout.chunk;
        let range = (piece.row * chunk + piece.from, piece.row * chunk + piece.to);
        let first = self.fixed.layout.data_slot(piece.row, piece.data);
        let copies = first..first + self.fixed.layout.copies();
        if let Some(slot) = copies.into_iter().find(|slot| self.is_usable(*slot, range)) {
            return self.on_member(slot, range);
        }
        self.row_data(piece.row, (piece.from, piece.to))?.swap_remove(piece.data)
    }

    /// What the member at a place holds.
    fn on_member(&self, slot: usize, (from, to): Range) -> Option<Vec<u8>> {
        let device = self.device_at(slot)?;
        let sector = u64::from(self.devices[device].sector_bytes());
        let mut bytes = vec![0; (to - from) as usize];
        for (first, sectors, stored) in self.stores.as_ref()?[device].read(from, to - from, self.at_ns.max(self.now_ns))
        {
            if let StoredContent::Written(content) = stored {
                let held = bytes_of(&content, sectors * sector, sector as u32);
                let at = (first * sector - from) as usize;
                bytes[at..at + held.len()].copy_from_slice(&held);
            }
        }
        Some(bytes)
    }

    /// The data chunks of a row between two bytes, the missing ones recovered; `None`: too much is missing.
    fn row_data(&self, row: u64, range: Range) -> Option<Vec<Option<Vec<u8>>>> {
        let (layout, length) = (&self.fixed.layout, (range.1 - range.0) as usize);
        let missing = self.missing(row, range);
        let on_member = (row * layout.chunk + range.0, row * layout.chunk + range.1);
        let held = |slot: usize, is_missing: bool| if is_missing { None } else { self.on_member(slot, on_member) };
        let mut data: Vec<Option<Vec<u8>>> =
            (0..layout.data()).map(|at| held(layout.data_slot(row, at), missing.data[at])).collect();
        let parities: Vec<Option<Vec<u8>>> =
            (0..missing.parity.len()).map(|at| held(layout.parity_slot(row, at), missing.parity[at])).collect();
        recover(&mut data, &parities, length).then_some(data)
    }

    /// What an operation will write to a row.
    pub(crate) fn row_contents(&self, id: u64, row: u64, plan: &Plan) -> RowContents {
        let Some(operation) = self.operations.get(&id).filter(|_| self.stores.is_some()) else {
            return RowContents::default();
        };
        let (hull, length) = (plan.hull, (plan.hull.1 - plan.hull.0) as usize);
        let old = self.row_data(row, hull);
        let mut data = old.unwrap_or_else(|| vec![Some(vec![0; length]); self.fixed.layout.data()]);
        for part in &operation.parts {
            for piece in self.fixed.layout.pieces(part.offset, part.length) {
                let start = self.fixed.layout.address(&Piece { from: hull.0, ..piece });
                if let Some(chunk) = &mut data[piece.data] {
                    overlay(chunk, start, part, self.fixed.sector_bytes);
                }
            }
        }
        let parity = (0..self.fixed.layout.level.parities()).map(|at| parity(at, &data, length)).collect();
        RowContents { data, parity }
    }

    /// What of a part lies in a range of the member at a place.
    pub(crate) fn plain_content(&self, part: &Part, slot: usize, (from, to): Range) -> Content {
        if self.stores.is_none() {
            return Content::Unknown;
        }
        let mut bytes = vec![0; (to - from) as usize];
        for (address, length, at) in self.fixed.layout.held(slot, from, to - from) {
            let place = &mut bytes[(at - from) as usize..(at - from + length) as usize];
            overlay(place, address, part, self.fixed.sector_bytes);
        }
        Content::Bytes(bytes.into())
    }

    /// What the member at a place must hold of a row.
    pub(crate) fn rebuilt_content(&self, slot: usize, row: u64) -> Content {
        if self.stores.is_none() {
            return Content::Unknown;
        }
        let (layout, whole) = (&self.fixed.layout, (0, self.fixed.layout.chunk));
        let found = match layout.data_at(row, slot) {
            Some(data) => self.piece_content(&Piece { row, data, from: 0, to: layout.chunk }),
            None => self.row_data(row, whole).map(|data| {
                let number = (0..layout.level.parities()).find(|at| layout.parity_slot(row, *at) == slot);
                parity(number.unwrap_or(0), &data, layout.chunk as usize)
            }),
        };
        found.map_or(Content::Unknown, |bytes| Content::Bytes(bytes.into()))
    }

    /// After a power cut: copies become equal to the first, parity that of the data, where writes were in progress.
    pub(crate) fn make_equal(&mut self, records: &[Record]) {
        let mut rows = BTreeSet::new();
        for record in records {
            rows.extend(self.fixed.layout.pieces(record.offset, record.length).iter().map(|piece| piece.row));
        }
        self.count(super::counters::Count::Resynchronized, rows.len() as u64);
        if self.stores.is_none() {
            return;
        }
        let chunk = self.fixed.layout.chunk;
        for row in rows {
            let whole = (row * chunk, (row + 1) * chunk);
            let missing = self.missing(row, (0, chunk));
            for slot in 0..self.slots.len() {
                let is_parity = self.fixed.layout.data_at(row, slot).is_none();
                let is_wanted = is_parity || self.fixed.layout.level.is_mirrored();
                if !is_wanted || !self.is_usable(slot, whole) || (is_parity && missing.data.contains(&true)) {
                    continue;
                }
                if let Content::Bytes(bytes) = self.rebuilt_content(slot, row) {
                    self.store(slot, whole.0, &bytes);
                }
            }
        }
    }

    /// Let the member at a place hold these bytes.
    fn store(&mut self, slot: usize, offset_bytes: u64, bytes: &[u8]) {
        let (tag, at_ns) = (tag_of(self.next_request), self.at_ns);
        self.next_request += 1;
        let length_bytes = bytes.len() as u64;
        let request = Request { kind: RequestKind::Write, fua: true, offset_bytes, length_bytes, submit_ns: at_ns };
        let Some(device) = self.device_at(slot) else { return };
        let Some(stores) = &mut self.stores else { return };
        stores[device].submitted(&Submission { request, content: Content::Bytes(bytes.into()), tag });
        stores[device].decided(&Decisions {
            completions: vec![TaggedCompletion { tag, complete_ns: at_ns, status: Status::Done }],
            persisted: vec![DurableExtent { tag, offset_bytes, length_bytes, at_ns }],
        });
    }
}

/// Put what a part has of a range that begins at `start` over its bytes.
fn overlay(bytes: &mut [u8], start: u64, part: &Part, sector_bytes: u32) {
    let end = start + bytes.len() as u64;
    let (from, to) = (start.max(part.offset), end.min(part.offset + part.length));
    if from < to {
        let new = bytes_of(&part.content, part.length, sector_bytes);
        let (at, source) = ((from - start) as usize, (from - part.offset) as usize);
        let length = (to - from) as usize;
        bytes[at..at + length].copy_from_slice(&new[source..source + length]);
    }
}
