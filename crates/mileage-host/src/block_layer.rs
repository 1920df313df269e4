//! From ranges of a device to requests: split at the largest request, merged with neighbours that wait, ordered by the
//! scheduler, and no more of them at the device than it takes.
//!
//! Ranges submitted between [`BlockLayer::plug`] and [`BlockLayer::unplug`] wait for each other, so that neighbours become one
//! request; behind that only what waits because the device is busy is merged.

use crate::block_request::{BlockRequest, IoId, Kind};
use crate::request_queue::{Arrival, RequestQueue};
use mileage_drive::{ManagedDevice, Misuse, Request, Submission, Tag};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How waiting requests are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// As they came (`none`, `noop`).
    None,
    /// By address, reads before writes, none older than its deadline (`mq-deadline`, `deadline`).
    Deadline,
}

/// Limits of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLimits {
    /// Bytes of the largest request (`max_sectors_kb`).
    pub request_bytes: u64,
    /// Bytes of the largest request whose pages are separate in memory: those of programs and of the journal.
    pub separate_bytes: u64,
    /// Bytes of the largest discard.
    pub discard_bytes: u64,
    /// Requests that the device takes at a time.
    pub depth: u32,
    /// Requests that may wait before writers have to.
    pub waiting: u32,
    /// Order of those that wait.
    pub scheduler: Scheduler,
}

impl QueueLimits {
    /// The most bytes that a read or write may have.
    fn most(&self, request: &BlockRequest) -> u64 {
        if request.separate { self.separate_bytes } else { self.request_bytes }
    }
}

/// Counters of the layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockCounters {
    /// Requests and bytes of reads, writes and discards, in this order.
    pub requests: [u64; 3],
    /// Bytes of each.
    pub bytes: [u64; 3],
    /// Flushes.
    pub flushes: u64,
    /// Writes with FUA.
    pub fua_writes: u64,
    /// Ranges that became part of a request that waited.
    pub merges: u64,
    /// Requests that begin where the one before ended.
    pub sequential: u64,
}

/// Reads wait no longer than this for writes, and for requests at lower addresses (`read_expire`).
const READ_EXPIRE_NS: u64 = 500_000_000;
/// The same for writes (`write_expire`).
const WRITE_EXPIRE_NS: u64 = 5_000_000_000;
/// Requests in the order of addresses before deadlines are looked at (`fifo_batch`).
const BATCH: u32 = 16;
/// How often reads may go before writes (`writes_starved`).
const STARVED: u32 = 2;

/// The queue of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockLayer {
    plugs: u32,
    plugged: RequestQueue,
    queue: RequestQueue,
    in_flight: BTreeMap<u64, BlockRequest>,
    /// Requests of an I/O that have not ended, and how many were refused or failed.
    ios: BTreeMap<IoId, u32>,
    next_io: IoId,
    next_request: u64,
    /// Where the last request ended.
    head: u64,
    batch: u32,
    batch_writes: bool,
    starved: u32,
    /// What was done.
    pub counters: BlockCounters,
    /// Every request at its dispatch, if somebody looks: kind, offset, length, FUA.
    #[serde(skip)]
    pub trace: Option<Vec<BlockRequest>>,
    /// Every write's tag and what it belongs to, if somebody looks.
    #[serde(skip)]
    pub(crate) log_sent: Option<Vec<(u64, Vec<IoId>)>>,
}

impl BlockLayer {
    /// A new piece of work; it ends when all that is submitted for it has.
    pub fn new_io(&mut self) -> IoId {
        self.next_io += 1;
        self.ios.insert(self.next_io, 0);
        self.next_io
    }

    /// Number the requests of a new layer from here, as the drive knows smaller numbers from its former user.
    pub(crate) fn number_from(&mut self, first: u64) {
        self.next_request = first;
    }

    /// Whether a piece of work has not ended.
    pub fn is_pending(&self, io: IoId) -> bool {
        self.ios.get(&io).is_some_and(|requests| *requests > 0)
    }

    /// Requests that wait or are at the device.
    pub fn busy(&self) -> usize {
        self.queue.len() + self.in_flight.len() + self.plugged.len()
    }

    /// Whether nothing waits and nothing is at the device.
    pub fn is_idle(&self) -> bool {
        self.busy() == 0
    }

    /// Whether writers of the background should wait.
    pub fn is_congested(&self, limits: &QueueLimits) -> bool {
        self.queue.len() as u32 >= limits.waiting
    }

    /// Hold requests back until [`Self::unplug`].
    pub fn plug(&mut self) {
        self.plugs += 1;
    }

    /// Let the requests go that were held back.
    pub fn unplug(&mut self) {
        self.plugs = self.plugs.saturating_sub(1);
        if self.plugs == 0 {
            self.queue.append(&mut self.plugged);
        }
    }

    /// Submit a range for a piece of work.
    pub fn submit(&mut self, limits: &QueueLimits, io: IoId, mut request: BlockRequest) {
        let most = if request.kind == Kind::Discard { limits.discard_bytes } else { limits.most(&request) };
        request.ios = vec![io];
        let mut left = request.length;
        loop {
            let length = left.min(most);
            let piece = BlockRequest { length, ..request.clone() };
            self.add(limits, io, piece);
            left -= length;
            request.offset += length;
            if left == 0 {
                break;
            }
        }
    }

    fn add(&mut self, limits: &QueueLimits, io: IoId, piece: BlockRequest) {
        if matches!(piece.kind, Kind::Read | Kind::Write) && self.merge(limits, io, &piece) {
            self.counters.merges += 1;
            return;
        }
        *self.ios.entry(io).or_default() += 1;
        if self.plugs > 0 {
            self.plugged.push(piece);
        } else {
            self.queue.push(piece);
        }
    }

    /// Make the piece a part of a request that waits, if it is its neighbour.
    fn merge(&mut self, limits: &QueueLimits, io: IoId, piece: &BlockRequest) -> bool {
        // A deadline queue is searched by address; without a scheduler the kernel looks at the last 8 requests.
        let reach = if limits.scheduler == Scheduler::Deadline { usize::MAX } else { 8 };
        let most = limits.most(piece);
        let merged = self.plugged.merge(piece, io, most, usize::MAX);
        let Some(is_new) = merged.or_else(|| self.queue.merge(piece, io, most, reach)) else { return false };
        if is_new {
            *self.ios.entry(io).or_default() += 1;
        }
        true
    }

    /// Give the device what it takes.
    ///
    /// # Errors
    /// The device was used against its contract.
    pub fn dispatch(
        &mut self,
        limits: &QueueLimits,
        device: &mut dyn ManagedDevice,
        now_ns: u64,
    ) -> Result<(), Misuse> {
        while (self.in_flight.len() as u32) < limits.depth {
            let Some(request) = self.next(limits, now_ns) else { break };
            let (kind, fua) = (request.kind.of_device(), request.fua);
            let (offset_bytes, length_bytes) = (request.offset, request.length);
            let tag = Tag(self.next_request);
            self.next_request += 1;
            let to_device = Request { kind, fua, offset_bytes, length_bytes, submit_ns: now_ns };
            device.submit(Submission::new(to_device, tag))?;
            self.count(&request);
            if request.kind == Kind::Write {
                self.log_sent.iter_mut().for_each(|log| log.push((tag.0, request.ios.clone())));
            }
            self.in_flight.insert(tag.0, request);
        }
        Ok(())
    }

    fn count(&mut self, request: &BlockRequest) {
        let at = match request.kind {
            Kind::Read => 0,
            Kind::Write => 1,
            Kind::Discard => 2,
            Kind::Flush => {
                self.counters.flushes += 1;
                self.trace.iter_mut().for_each(|trace| trace.push(request.clone()));
                return;
            }
        };
        self.counters.requests[at] += 1;
        self.counters.bytes[at] += request.length;
        self.counters.fua_writes += u64::from(request.fua);
        self.counters.sequential += u64::from(request.offset == self.head);
        self.head = request.offset + request.length;
        self.trace.iter_mut().for_each(|trace| trace.push(request.clone()));
    }

    fn next(&mut self, limits: &QueueLimits, now_ns: u64) -> Option<BlockRequest> {
        let at = match self.queue.first_flush() {
            Some(flush) => flush,
            None if limits.scheduler == Scheduler::None => self.queue.first()?,
            None => self.by_deadline(now_ns)?,
        };
        self.queue.remove(at)
    }

    /// The next request of a deadline queue.
    fn by_deadline(&mut self, now_ns: u64) -> Option<Arrival> {
        if self.batch > 0
            && let Some(at) = self.queue.lowest_from(self.batch_writes, self.head)
        {
            self.batch -= 1;
            return Some(at);
        }
        let writing = match (self.queue.first_of(false), self.queue.first_of(true)) {
            (None, None) => return None,
            (Some(_), None) => false,
            (None, Some(_)) => true,
            (Some(_), Some(_)) => {
                self.starved += 1;
                self.starved > STARVED
            }
        };
        if writing {
            self.starved = 0;
        }
        (self.batch, self.batch_writes) = (BATCH - 1, writing);
        let expire_ns = if writing { WRITE_EXPIRE_NS } else { READ_EXPIRE_NS };
        let (first, oldest) = self.queue.first_of(writing)?;
        if oldest.queued_ns + expire_ns <= now_ns {
            return Some(first);
        }
        self.queue.lowest_from(writing, self.head).or_else(|| self.queue.lowest_from(writing, 0))
    }

    /// A request has ended; the pieces of work that ended with it are appended.
    pub fn end(&mut self, tag: Tag, ended: &mut Vec<IoId>) {
        let Some(request) = self.in_flight.remove(&tag.0) else { return };
        for io in request.ios {
            if let Some(left) = self.ios.get_mut(&io) {
                *left -= 1;
                if *left == 0 {
                    self.ios.remove(&io);
                    ended.push(io);
                }
            }
        }
    }

    /// Forget a piece of work for which nothing was submitted; whether that was so.
    pub fn end_empty(&mut self, io: IoId) -> bool {
        let is_empty = self.ios.get(&io) == Some(&0);
        if is_empty {
            self.ios.remove(&io);
        }
        is_empty
    }

    /// The power failed: nothing waits any more.
    pub fn reset(&mut self) {
        let (next_io, next_request, counters) = (self.next_io, self.next_request, self.counters);
        *self = Self { next_io, next_request, counters, ..Self::default() };
    }
}
