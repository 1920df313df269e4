//! Commands of the host and their pages, each in a numbered place as long as it is in the drive.

use crate::{Request, RequestKind};
use serde::{Deserialize, Serialize};

/// No command, no job, no plane.
pub(super) const NONE: u32 = u32::MAX;

/// A command of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Command {
    pub tag: u64,
    /// Which submission it was.
    pub sequence: u64,
    pub request: Request,
    /// Pages that are not done.
    pub left: u32,
    /// When it leaves the controller.
    pub ready_ns: u64,
    /// When the last of its pages is done that is known.
    pub end_ns: u64,
    /// Whether that is its end.
    pub decided: bool,
}

impl Command {
    pub(super) fn new(tag: u64, sequence: u64, request: Request) -> Self {
        Self { tag, sequence, request, left: 0, ready_ns: 0, end_ns: 0, decided: false }
    }
}

impl Default for Command {
    fn default() -> Self {
        let request = Request { kind: RequestKind::Read, fua: false, offset_bytes: 0, length_bytes: 0, submit_ns: 0 };
        Self::new(0, 0, request)
    }
}

/// A page of a command; that of a write stays until it is on the medium.
#[expect(clippy::struct_excessive_bools, reason = "facts of a write that become true in any order")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Job {
    pub tag: u64,
    /// The submission, and which page of it.
    pub order: u64,
    pub offset_bytes: u64,
    pub bytes: u32,
    /// Its command; after the acknowledgement of a write that may be another one.
    pub command: u32,
    pub unit: u32,
    pub writes: bool,
    /// A write that was acknowledged from the buffer.
    pub acknowledged: bool,
    /// A write whose data has arrived.
    pub in_controller: bool,
    /// A write that has its place on the medium, programmed or not.
    pub placed: bool,
}

/// Numbered places; those that are free are used again, the last freed first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Slab<T> {
    pub places: Vec<T>,
    pub free: Vec<u32>,
}

impl<T: Copy + Default> Slab<T> {
    #[inline]
    pub(super) fn insert(&mut self, it: T) -> u32 {
        if let Some(number) = self.free.pop() {
            self.places[number as usize] = it;
            return number;
        }
        self.places.push(it);
        self.places.len() as u32 - 1
    }

    #[inline]
    pub(super) fn at(&self, number: u32) -> &T {
        &self.places[number as usize]
    }

    #[inline]
    pub(super) fn at_mut(&mut self, number: u32) -> &mut T {
        &mut self.places[number as usize]
    }

    #[inline]
    pub(super) fn remove(&mut self, number: u32) -> T {
        self.free.push(number);
        std::mem::take(&mut self.places[number as usize])
    }

    /// Those that are in use, with their numbers.
    pub(super) fn used(&self) -> impl Iterator<Item = (u32, &T)> {
        let free: std::collections::HashSet<u32> = self.free.iter().copied().collect();
        (0..).zip(&self.places).filter(move |(number, _)| !free.contains(number))
    }
}
