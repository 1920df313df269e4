//! Flash pages that hold several pages of the map: what waits for one to be filled, and what is read of one.
//!
//! # Model
//! A page of the map that does not fill its flash page stays in the controller, in its place of the write buffer if it
//! has one, until others fill the flash page with it, or a flush, a write with FUA or the end of an unbuffered command has
//! the flash page programmed as it is. One array read serves all that a command wants of a flash page; the channel
//! carries what is wanted.
//!
//! # Not modelled
//! What becomes without power of survivors of a collection that wait: the controller keeps them.

use super::array_operation::PagePlace;
use super::map::NOWHERE;
use super::timing::{Clocks, UNKNOWN, WaitingPage};

/// Which cells are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadFrom {
    /// Those with one bit in each.
    OneBit,
    /// Those with all bits.
    AllBits(PagePlace),
}

impl Clocks {
    /// The slot of a plane's cells of one bit; those below are frontiers of the map.
    pub(crate) fn slc_slot(&self, unit: u32) -> u32 {
        2 * self.wires.len() as u32 + unit
    }

    /// A page of the host waits for others to fill a flash page of this frontier. It is on the medium at an instant that
    /// is not known yet; `ready_ns` stands for it.
    #[inline(never)]
    pub(crate) fn wait_in_buffer(&mut self, slot: u32, ready_ns: u64) -> u64 {
        let mut waiting = WaitingPage { slot, place: NOWHERE, there_ns: ready_ns };
        if let Some(place) = self.buffer.get_mut(self.buffer_next as usize) {
            *place = UNKNOWN;
            waiting.place = self.buffer_next;
            let next = self.buffer_next + 1;
            self.buffer_next = if next as usize == self.buffer.len() { 0 } else { next };
        }
        self.waiting.push(waiting);
        ready_ns
    }

    /// A page that is copied waits likewise, without a place in the buffer.
    pub(crate) fn wait_in_controller(&mut self, slot: u32, there_ns: u64) {
        self.waiting.push(WaitingPage { slot, place: NOWHERE, there_ns });
    }

    /// Whether something waits in this frontier.
    pub(crate) fn waits_in(&self, slot: u32) -> bool {
        self.waiting.iter().any(|waiting| waiting.slot == slot)
    }

    /// Whether the next place of the buffer holds a page that waits for its flash page to be filled.
    #[inline]
    pub(crate) fn next_place_waits(&self) -> bool {
        self.buffer.get(self.buffer_next as usize) == Some(&UNKNOWN)
    }

    /// Time at which all data waiting in this frontier, and the data ready at `ready_ns`, has arrived.
    pub(crate) fn arrived(&self, slot: u32, ready_ns: u64) -> u64 {
        let here = self.waiting.iter().filter(|waiting| waiting.slot == slot);
        here.fold(ready_ns, |last_ns, waiting| last_ns.max(waiting.there_ns))
    }

    /// The open flash page of this frontier is on the medium at `done_ns`.
    pub(crate) fn programmed(&mut self, slot: u32, done_ns: u64) {
        let Self { waiting, buffer, durable_ns, .. } = self;
        waiting.retain(|waiting| {
            if waiting.slot == slot
                && let Some(place) = buffer.get_mut(waiting.place as usize)
            {
                *place = done_ns;
                *durable_ns = (*durable_ns).max(done_ns);
            }
            waiting.slot != slot
        });
    }

    /// A part of a flash page from a plane to the controller: when it is there, and the array reads that it took.
    pub(crate) fn fetch_part(&mut self, unit: u32, flash_page: u32, cells: ReadFrom, ready_ns: u64) -> (u64, u64) {
        let wire = self.wires[unit as usize];
        let again = self.last_read.0 != flash_page;
        if again {
            let (takes_ns, kind) = match cells {
                ReadFrom::OneBit => (self.costs.slc_read, self.read_of(PagePlace::ANYWHERE).1),
                ReadFrom::AllBits(place) => self.read_of(place),
            };
            self.last_read = (flash_page, self.operate(wire, ready_ns, takes_ns, kind));
        }
        let register_ns = self.last_read.1.max(ready_ns);
        (
            self.channels[wire.channel as usize].carry(self.now_ns, register_ns, self.costs.channel_part),
            u64::from(again),
        )
    }
}
