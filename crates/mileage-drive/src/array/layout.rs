//! Where an array keeps what: addresses of the host to members and back. Pure.

use crate::profile::Level;
use serde::{Deserialize, Serialize};

/// A range on a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Segment {
    /// Place of the member in the array.
    pub slot: usize,
    /// First byte on the member.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
}

/// A part of a row: of one of its data chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Piece {
    /// Row of chunks, one on each member.
    pub row: u64,
    /// Which data chunk of the row.
    pub data: usize,
    /// First byte in the chunk.
    pub from: u64,
    /// Byte behind the last in the chunk.
    pub to: u64,
}

/// How an array places its chunks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Layout {
    pub level: Level,
    pub chunk: u64,
    /// Bytes of each member; whole chunks unless the array is a row of members of their own sizes.
    pub sizes: Vec<u64>,
}

impl Layout {
    pub(crate) fn new(level: Level, chunk: u64, capacities: &[u64]) -> Self {
        let least = capacities.iter().min().map_or(0, |least| least / chunk * chunk);
        let sizes = match level {
            Level::Jbod => capacities.to_vec(),
            _ => vec![least; capacities.len()],
        };
        Self { level, chunk, sizes }
    }

    pub(crate) fn slots(&self) -> usize {
        self.sizes.len()
    }

    /// Rows of chunks.
    pub(crate) fn rows(&self) -> u64 {
        if self.level == Level::Jbod { 0 } else { self.sizes[0] / self.chunk }
    }

    /// Data chunks of a row.
    pub(crate) fn data(&self) -> usize {
        match self.level {
            Level::Jbod | Level::Raid1 => 1,
            Level::Raid10 => self.slots() / 2,
            level => self.slots() - level.parities(),
        }
    }

    /// The member with the data chunk of this number; of copies the first.
    pub(crate) fn data_slot(&self, row: u64, data: usize) -> usize {
        let n = self.slots();
        let p = n - 1 - (row % n as u64) as usize;
        match self.level {
            Level::Jbod | Level::Raid0 => data,
            Level::Raid1 => 0,
            Level::Raid10 => 2 * data,
            Level::Raid5 => (p + 1 + data) % n,
            Level::Raid6 => (p + 2 + data) % n,
        }
    }

    /// The member with this parity of a row: 0 is P, 1 is Q.
    pub(crate) fn parity_slot(&self, row: u64, parity: usize) -> usize {
        let n = self.slots();
        (n - 1 - (row % n as u64) as usize + parity) % n
    }

    /// How many members behind [`Self::data_slot`], itself included, hold the same.
    pub(crate) fn copies(&self) -> usize {
        match self.level {
            Level::Raid1 => self.slots(),
            Level::Raid10 => 2,
            _ => 1,
        }
    }

    /// The parts of a range by rows and chunks, in the order of addresses.
    pub(crate) fn pieces(&self, offset: u64, length: u64) -> Vec<Piece> {
        let (mut at, end, data) = (offset, offset + length, self.data() as u64);
        let mut pieces = Vec::new();
        while at < end {
            let (number, from) = (at / self.chunk, at % self.chunk);
            let to = self.chunk.min(from + end - at);
            pieces.push(Piece { row: number / data, data: (number % data) as usize, from, to });
            at += to - from;
        }
        pieces
    }

    /// Where a piece begins in the array.
    pub(crate) fn address(&self, piece: &Piece) -> u64 {
        (piece.row * self.data() as u64 + piece.data as u64) * self.chunk + piece.from
    }

    /// A range as ranges on members, of copies on the first; neighbours on a member are one.
    pub(crate) fn segments(&self, offset: u64, length: u64) -> Vec<Segment> {
        match self.level {
            Level::Jbod => return self.in_turn(offset, length),
            Level::Raid1 => return vec![Segment { slot: 0, offset, length }],
            _ => {}
        }
        let mut segments: Vec<Segment> = Vec::new();
        for piece in self.pieces(offset, length) {
            let (slot, offset) = (self.data_slot(piece.row, piece.data), piece.row * self.chunk + piece.from);
            let length = piece.to - piece.from;
            let last = segments.iter_mut().rev().find(|it| it.slot == slot);
            match last.filter(|it| it.offset + it.length == offset) {
                Some(before) => before.length += length,
                None => segments.push(Segment { slot, offset, length }),
            }
        }
        segments
    }

    /// The only member that a range lies on, where members share chunks without copies and parity, if there is just one.
    pub(crate) fn on_one(&self, offset: u64, length: u64) -> Option<Segment> {
        let from = offset & (self.chunk - 1);
        if self.level != Level::Raid0 || !self.chunk.is_power_of_two() || from + length > self.chunk {
            return None;
        }
        // A shift: a division takes as long as much of the rest.
        let number = offset >> self.chunk.trailing_zeros();
        let members = self.sizes.len() as u64;
        Some(Segment { slot: (number % members) as usize, offset: number / members * self.chunk + from, length })
    }

    fn in_turn(&self, offset: u64, length: u64) -> Vec<Segment> {
        let (mut segments, mut start, end) = (Vec::new(), 0, offset + length);
        for (slot, size) in self.sizes.iter().enumerate() {
            let (from, to) = (offset.max(start), end.min(start + size));
            if from < to {
                segments.push(Segment { slot, offset: from - start, length: to - from });
            }
            start += size;
        }
        segments
    }

    /// What part of the array a range on a member holds, as (first byte in the array, bytes, its first byte on the member);
    /// parity and what no chunk covers is skipped.
    pub(crate) fn held(&self, slot: usize, offset: u64, length: u64) -> Vec<(u64, u64, u64)> {
        if self.level == Level::Jbod {
            let start: u64 = self.sizes[..slot].iter().sum();
            return vec![(start + offset, length, offset)];
        }
        let (mut at, end) = (offset, (offset + length).min(self.sizes[slot]));
        let mut held = Vec::new();
        while at < end {
            let (row, from) = (at / self.chunk, at % self.chunk);
            let to = self.chunk.min(from + end - at);
            if let Some(data) = self.data_at(row, slot) {
                held.push((self.address(&Piece { row, data, from, to }), to - from, at));
            }
            at += to - from;
        }
        held
    }

    /// Which data chunk of a row a member holds.
    pub(crate) fn data_at(&self, row: u64, slot: usize) -> Option<usize> {
        let n = self.slots();
        let p = n - 1 - (row % n as u64) as usize;
        let behind = |first: usize| (slot + n - first % n) % n;
        match self.level {
            Level::Jbod | Level::Raid0 => Some(slot),
            Level::Raid1 => Some(0),
            Level::Raid10 => Some(slot / 2),
            Level::Raid5 => Some(behind(p + 1)).filter(|data| *data < n - 1),
            Level::Raid6 => Some(behind(p + 2)).filter(|data| *data < n - 2),
        }
    }
}
