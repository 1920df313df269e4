//! Requests that wait, in the order in which they came, found by address without looking at each.

use crate::block_request::{BlockRequest, IoId, Kind};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The place of a request in the order of arrival.
pub type Arrival = u64;

/// Requests of one direction: reads, or all others.
#[derive(Clone, Debug, Default)]
struct Direction {
    requests: BTreeMap<Arrival, BlockRequest>,
    /// First bytes, and those behind the last.
    starts: BTreeSet<(u64, Arrival)>,
    ends: BTreeSet<(u64, Arrival)>,
}

/// Requests that wait. It is saved as the list of them in their order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Vec<BlockRequest>", into = "Vec<BlockRequest>")]
pub struct RequestQueue {
    directions: [Direction; 2],
    flushes: BTreeSet<Arrival>,
    next: Arrival,
}

impl Direction {
    fn insert(&mut self, at: Arrival, request: BlockRequest) {
        self.starts.insert((request.offset, at));
        self.ends.insert((request.offset + request.length, at));
        self.requests.insert(at, request);
    }

    fn remove(&mut self, at: Arrival) -> Option<BlockRequest> {
        let request = self.requests.remove(&at)?;
        self.starts.remove(&(request.offset, at));
        self.ends.remove(&(request.offset + request.length, at));
        Some(request)
    }

    /// Make the piece a part of its neighbour; whether the piece of work is new to that.
    fn widen(&mut self, at: Arrival, piece: &BlockRequest, io: IoId) -> Option<bool> {
        let found = self.requests.get_mut(&at)?;
        if found.offset + found.length == piece.offset {
            self.ends.remove(&(piece.offset, at));
            self.ends.insert((piece.offset + piece.length, at));
        } else {
            self.starts.remove(&(found.offset, at));
            self.starts.insert((piece.offset, at));
            found.offset = piece.offset;
        }
        found.length += piece.length;
        let is_new = !found.ios.contains(&io);
        if is_new {
            found.ios.push(io);
        }
        Some(is_new)
    }

    /// The last that came of those that end where the piece begins, or begin where it ends, and may become one with it.
    fn last_neighbour(&self, piece: &BlockRequest, most: u64) -> Option<Arrival> {
        let fits = |at: &Arrival| {
            let it = &self.requests[at];
            (it.kind, it.fua, it.separate) == (piece.kind, piece.fua, piece.separate)
                && it.length + piece.length <= most
        };
        let last = |places: &BTreeSet<(u64, Arrival)>, byte: u64| {
            let there = places.range((byte, 0)..=(byte, Arrival::MAX));
            there.rev().map(|(_, at)| *at).find(|at| fits(at))
        };
        last(&self.ends, piece.offset).max(last(&self.starts, piece.offset + piece.length))
    }
}

impl RequestQueue {
    /// How many wait.
    pub fn len(&self) -> usize {
        self.directions.iter().map(|it| it.requests.len()).sum()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Behind all others.
    pub fn push(&mut self, request: BlockRequest) {
        if request.kind == Kind::Flush {
            self.flushes.insert(self.next);
        }
        self.directions[usize::from(request.is_write())].insert(self.next, request);
        self.next += 1;
    }

    /// All requests of the other queue, in their order, behind these.
    pub fn append(&mut self, other: &mut Self) {
        for request in Vec::from(std::mem::take(other)) {
            self.push(request);
        }
    }

    /// Take a request out.
    pub fn remove(&mut self, at: Arrival) -> Option<BlockRequest> {
        self.flushes.remove(&at);
        self.directions.iter_mut().find_map(|it| it.remove(at))
    }

    /// The first that came.
    pub fn first(&self) -> Option<Arrival> {
        [false, true].into_iter().filter_map(|writing| Some(self.first_of(writing)?.0)).min()
    }

    /// The first flush that came.
    pub fn first_flush(&self) -> Option<Arrival> {
        self.flushes.first().copied()
    }

    /// The first that came of a direction.
    pub fn first_of(&self, writing: bool) -> Option<(Arrival, &BlockRequest)> {
        self.directions[usize::from(writing)].requests.first_key_value().map(|(at, request)| (*at, request))
    }

    /// The one of a direction with the lowest address from `byte` on; of several, the first that came.
    pub fn lowest_from(&self, writing: bool, byte: u64) -> Option<Arrival> {
        self.directions[usize::from(writing)].starts.range((byte, 0)..).next().map(|(_, at)| *at)
    }

    /// Make the piece a part of the last of its neighbours that came, if that has at most `most` bytes then and is one of the
    /// last `reach` requests. Whether the piece of work is new to it; nothing where there is no such neighbour.
    pub fn merge(&mut self, piece: &BlockRequest, io: IoId, most: u64, reach: usize) -> Option<bool> {
        let at = self.directions[usize::from(piece.is_write())].last_neighbour(piece, most)?;
        if reach < self.len() {
            let later = self.directions.iter().map(|it| it.requests.range(at..).take(reach + 1).count());
            if later.sum::<usize>() > reach {
                return None;
            }
        }
        self.directions[usize::from(piece.is_write())].widen(at, piece, io)
    }
}

impl From<Vec<BlockRequest>> for RequestQueue {
    fn from(requests: Vec<BlockRequest>) -> Self {
        let mut queue = Self::default();
        requests.into_iter().for_each(|it| queue.push(it));
        queue
    }
}

impl From<RequestQueue> for Vec<BlockRequest> {
    fn from(queue: RequestQueue) -> Self {
        let [reads, writes] = queue.directions.map(|it| it.requests);
        let mut all: BTreeMap<Arrival, BlockRequest> = reads;
        all.extend(writes);
        all.into_values().collect()
    }
}

impl PartialEq for RequestQueue {
    /// The same requests in the same order.
    fn eq(&self, other: &Self) -> bool {
        Vec::from(self.clone()) == Vec::from(other.clone())
    }
}

impl Eq for RequestQueue {}
