//! Flash: [`FlashDrive`] joins the map (where pages are), the clocks (when things are done) and the counters.
//!
//! # Model
//! Pages that were never written, or were discarded, are read without the flash. A write that covers part of a
//! mapped page reads the page first. Collection is in the foreground: the write that needs it waits, behind the
//! write buffer if there is one. A discard costs the controller's time for one command.
//!
//! # Not modelled
//! Wear-out (cycles are counted, nothing fails), retention, power loss. What data the pages hold is not kept.

mod map;
mod state;
mod timing;

pub use state::StateError;
#[cfg(any(test, feature = "conformance"))]
pub(crate) use state::hash as state_checksum;

use crate::device::{BlockDevice, Completion, Request, RequestKind, Status, check};
use crate::profile::Profile;
use map::{Geometry, Map};
use mileage_workload::Op;
use timing::Clocks;

const SECTOR_BYTES: u32 = 512;

const COUNTER_NAMES: [&str; 7] = [
    "host_pages_read",
    "host_pages_written",
    "flash_pages_read",
    "flash_pages_programmed",
    "blocks_erased",
    "gc_pages_moved",
    "trimmed_pages",
];

/// What explains a result, since the drive was first powered on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counters {
    host_pages_read: u64,
    host_pages_written: u64,
    flash_pages_read: u64,
    flash_pages_programmed: u64,
    blocks_erased: u64,
    gc_pages_moved: u64,
    trimmed_pages: u64,
}

impl Counters {
    fn values(&self) -> [u64; COUNTER_NAMES.len()] {
        [
            self.host_pages_read,
            self.host_pages_written,
            self.flash_pages_read,
            self.flash_pages_programmed,
            self.blocks_erased,
            self.gc_pages_moved,
            self.trimmed_pages,
        ]
    }
}

/// A flash drive in virtual time. The module's text says what it models.
#[derive(Clone, Debug)]
pub struct FlashDrive {
    profile: Profile,
    page_shift: u32,
    map: Map,
    clocks: Clocks,
    counters: Counters,
}

/// The part of a page that a request covers.
#[derive(Clone, Copy)]
struct Part {
    page: u32,
    bytes: u32,
}

impl FlashDrive {
    /// A drive as it leaves the factory: nothing written, its clock at 0.
    pub fn new(profile: Profile) -> Self {
        let geometry = Geometry {
            units: profile.planes() as u32,
            blocks: profile.blocks_per_plane,
            pages: profile.pages_per_block,
            logical: (profile.capacity_bytes / u64::from(profile.page_bytes)) as u32,
        };
        Self {
            page_shift: profile.page_bytes.trailing_zeros(),
            map: Map::new(geometry),
            clocks: Clocks::new(&profile),
            counters: Counters::default(),
            profile,
        }
    }

    /// The drive that continues where a saved one of the same profile stopped.
    ///
    /// # Errors
    /// What is wrong with the state: another profile or version, truncated, corrupt.
    pub fn restored(profile: Profile, state: &[u8]) -> Result<Self, StateError> {
        let mut drive = Self::new(profile);
        drive.restore(state)?;
        Ok(drive)
    }

    /// The data sheet.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The counters with their names, since the drive was first powered on.
    pub fn named_counters(&self) -> Vec<(&'static str, u64)> {
        COUNTER_NAMES.into_iter().zip(self.counters.values()).collect()
    }

    /// Pages that hold data of the host now.
    pub fn mapped_pages(&self) -> u64 {
        self.map.mapped()
    }

    /// Share of the rated program and erase cycles that are used up on average (0 new, 1 at the rating); `None`
    /// when the profile does not know the rating.
    pub fn life_used(&self) -> Option<f64> {
        let blocks = self.profile.planes() * u64::from(self.profile.blocks_per_plane);
        self.profile.pe_cycles.map(|cycles| self.counters.blocks_erased as f64 / (blocks as f64 * cycles as f64))
    }

    /// Erase everything (a secure erase): the drive is fast again as when new. Every block that was written is
    /// erased, all planes at the same time, and the clock goes on until that is done. Counters and wear stay.
    pub fn purge(&mut self) {
        self.counters.blocks_erased += self.map.written_blocks();
        self.clocks.erase_everything(self.map.frontiers.iter().map(|frontier| frontier.fresh));
        self.map = Map::new(self.map.geometry);
    }

    /// Discard the whole capacity (as `blkdiscard` does), now.
    pub fn discard_all(&mut self) {
        let request = Request {
            kind: RequestKind::Discard,
            fua: false,
            offset_bytes: 0,
            length_bytes: self.profile.capacity_bytes,
            submit_ns: self.clocks.now_ns,
        };
        let mut out = Vec::with_capacity(1);
        self.submit(&[request], &mut out);
        self.clocks.now_ns = out[0].complete_ns;
    }

    /// The pages of a range, the first and the last perhaps in part.
    #[inline]
    fn parts(&self, offset_bytes: u64, length_bytes: u64) -> impl Iterator<Item = Part> + use<> {
        let (shift, end) = (self.page_shift, offset_bytes + length_bytes);
        let page_bytes = 1_u64 << shift;
        let last = (end - 1) >> shift;
        (offset_bytes >> shift..=last).map(move |page| {
            let first_byte = (page << shift).max(offset_bytes);
            let end_byte = ((page << shift) + page_bytes).min(end);
            Part { page: page as u32, bytes: (end_byte - first_byte) as u32 }
        })
    }

    #[inline]
    fn read(&mut self, request: &Request, ready_ns: u64) -> u64 {
        let mut done_ns = ready_ns;
        for part in self.parts(request.offset_bytes, request.length_bytes) {
            let mut there_ns = ready_ns;
            if let Some(unit) = self.map.unit_holding(part.page) {
                self.counters.flash_pages_read += 1;
                there_ns = self.clocks.fetch(unit, ready_ns);
            }
            self.counters.host_pages_read += 1;
            done_ns = done_ns.max(self.clocks.deliver(part.bytes, there_ns));
        }
        done_ns
    }

    #[inline]
    fn write(&mut self, request: &Request, ready_ns: u64) -> u64 {
        let (mut accepted_ns, mut durable_ns) = (ready_ns, ready_ns);
        for part in self.parts(request.offset_bytes, request.length_bytes) {
            let mut there_ns = self.clocks.accept(part.bytes, ready_ns);
            accepted_ns = accepted_ns.max(there_ns);
            if part.bytes != self.profile.page_bytes
                && let Some(unit) = self.map.unit_holding(part.page)
            {
                self.counters.flash_pages_read += 1;
                there_ns = there_ns.max(self.clocks.fetch(unit, ready_ns));
            }
            let placement = self.map.write(part.page);
            if let Some(collected) = placement.collected {
                self.clocks.collect(placement.unit, collected.moved, there_ns);
                self.counters.gc_pages_moved += u64::from(collected.moved);
                self.counters.flash_pages_read += u64::from(collected.moved);
                self.counters.flash_pages_programmed += u64::from(collected.moved);
                self.counters.blocks_erased += 1;
            }
            self.counters.host_pages_written += 1;
            self.counters.flash_pages_programmed += 1;
            durable_ns = durable_ns.max(self.clocks.program(placement.unit, there_ns));
        }
        if self.clocks.buffered() && !request.fua { accepted_ns } else { durable_ns }
    }

    fn discard(&mut self, request: &Request) {
        let first = request.offset_bytes.div_ceil(1 << self.page_shift);
        let end = (request.offset_bytes + request.length_bytes) >> self.page_shift;
        for page in first..end {
            self.counters.trimmed_pages += u64::from(self.map.discard(page as u32));
        }
    }

    #[inline]
    fn one(&mut self, request: &Request) -> Completion {
        if let Err(refusal) = check(request, self.profile.capacity_bytes, SECTOR_BYTES) {
            return Completion { complete_ns: request.submit_ns, status: Status::Refused(refusal) };
        }
        let ready_ns = self.clocks.begin(request.submit_ns);
        let complete_ns = match request.kind {
            RequestKind::Read => self.read(request, ready_ns),
            RequestKind::Write => self.write(request, ready_ns),
            RequestKind::Flush => ready_ns.max(self.clocks.durable_ns),
            RequestKind::Discard => {
                self.discard(request);
                ready_ns
            }
        };
        self.clocks.end(complete_ns);
        Completion { complete_ns, status: Status::Done }
    }
}

impl BlockDevice for FlashDrive {
    fn capacity_bytes(&self) -> u64 {
        self.profile.capacity_bytes
    }

    fn sector_bytes(&self) -> u32 {
        SECTOR_BYTES
    }

    fn page_bytes(&self) -> u32 {
        self.profile.page_bytes
    }

    fn now_ns(&self) -> u64 {
        self.clocks.now_ns
    }

    fn advance_to(&mut self, now_ns: u64) {
        self.clocks.now_ns = self.clocks.now_ns.max(now_ns);
    }

    #[inline]
    fn submit(&mut self, batch: &[Request], out: &mut Vec<Completion>) {
        for request in batch {
            out.push(self.one(request));
        }
    }

    #[inline]
    fn prefetch(&mut self, upcoming: &[Op]) {
        let mut pages = [0; 64];
        for ops in upcoming.chunks(pages.len()) {
            for (page, op) in pages.iter_mut().zip(ops) {
                *page = (op.offset_bytes >> self.page_shift) as u32;
            }
            std::hint::black_box(self.map.touch(&pages[..ops.len()]));
        }
    }

    fn counter_names(&self) -> &'static [&'static str] {
        &COUNTER_NAMES
    }

    fn counters(&self, out: &mut [u64]) {
        out.copy_from_slice(&self.counters.values());
    }

    fn save(&self) -> Vec<u8> {
        state::save(self)
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), StateError> {
        *self = state::restore(&self.profile, state)?;
        Ok(())
    }
}
