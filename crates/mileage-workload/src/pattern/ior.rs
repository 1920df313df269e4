//! IOR's layouts: a file is segments, a segment one block of each task, a block transfers of one record.
//!
//! In a shared file of `P` tasks, transfer `j` of segment `i` of task `k` lies at `i P b + k b + j t`, in a file of its
//! own at `i b + j t` (`b` the block, `t` the transfer).

use super::random::{SHARED, below, stream};
use super::{IorOrder, PatternKind};
use crate::workload::{Files, Workload, share};

/// Most transfers of a segment that can be shuffled: their table takes four bytes for each.
pub(crate) const SHUFFLED_MAX: u64 = 1 << 28;

/// One task's transfers, segment by segment.
#[derive(Clone, Debug)]
pub(crate) struct Ior {
    segments: u64,
    /// Records from one segment to the next.
    segment: u64,
    transfers: Transfers,
    /// The current segment, and the next of its transfers.
    at: (u64, u64),
}

/// One task's transfers of a segment, as records from the segment's start.
#[derive(Clone, Debug)]
enum Transfers {
    Row { first: u64, count: u64 },
    Listed(Box<[u32]>),
}

/// Transfers of a block, and tasks that share a segment.
fn shape(workload: &Workload, block_bytes: u64) -> (u64, u64) {
    let tasks = match workload.files {
        Files::Shared => u64::from(workload.threads),
        Files::PerThread => 1,
    };
    (block_bytes / u64::from(workload.record_bytes), tasks)
}

impl Ior {
    pub(crate) fn new(workload: &Workload, thread: u32, block_bytes: u64, order: IorOrder) -> Self {
        let (block, tasks) = shape(workload, block_bytes);
        let task = match order {
            IorOrder::Reordered { tasks } => u64::from(thread) + u64::from(tasks),
            IorOrder::InOrder | IorOrder::Random => u64::from(thread),
        };
        let transfers = match order {
            IorOrder::Random => Transfers::Listed(shuffled(workload, thread, block, tasks)),
            _ => Transfers::Row { first: task % tasks * block, count: block },
        };
        Self { segments: workload.records() / (block * tasks), segment: block * tasks, transfers, at: (0, 0) }
    }

    /// Only for a task that has transfers.
    pub(crate) fn fill(&mut self, out: &mut [u64]) {
        let count = match &self.transfers {
            Transfers::Row { count, .. } => *count,
            Transfers::Listed(list) => list.len() as u64,
        };
        for record in out {
            let (segment, transfer) = self.at;
            let within = match &self.transfers {
                Transfers::Row { first, .. } => first + transfer,
                Transfers::Listed(list) => u64::from(list[transfer as usize]),
            };
            *record = segment * self.segment + within;
            self.at = match (transfer + 1 < count, segment + 1 < self.segments) {
                (true, _) => (segment, transfer + 1),
                (false, true) => (segment + 1, 0),
                (false, false) => (0, 0),
            };
        }
    }
}

/// The transfers that fall to a task, shuffled. Every task deals the same cards.
fn shuffled(workload: &Workload, thread: u32, block: u64, tasks: u64) -> Box<[u32]> {
    let mut dealer = stream(workload.seed, SHARED, 1);
    let mut list: Vec<u32> =
        (0..(block * tasks) as u32).filter(|_| tasks == 1 || below(&mut dealer, tasks) == u64::from(thread)).collect();
    let mut rng = stream(workload.seed, thread, 0);
    for last in (1..list.len()).rev() {
        list.swap(last, below(&mut rng, last as u64 + 1) as usize);
    }
    list.into()
}

/// Transfers of a segment that fall to each task, where that is not the same for all.
fn hands(workload: &Workload) -> Option<(Vec<u64>, u64)> {
    let PatternKind::Ior { block_bytes, order: IorOrder::Random } = workload.pattern else { return None };
    let (block, tasks) = shape(workload, block_bytes);
    if tasks == 1 {
        return None;
    }
    let mut dealer = stream(workload.seed, SHARED, 1);
    let mut hands = vec![0; tasks as usize];
    (0..block * tasks).for_each(|_| hands[below(&mut dealer, tasks) as usize] += 1);
    Some((hands, workload.records() / (block * tasks)))
}

/// Operations of this task out of `total` (or for ever), where the tasks do unequal work: whole passes as they are
/// dealt, what is left over equally among the tasks that have anything to do.
pub(crate) fn unequal_share(workload: &Workload, thread: u32, total: u64) -> Option<u64> {
    let (hands, segments) = hands(workload)?;
    let mine = hands[thread as usize];
    if mine == 0 || total == u64::MAX {
        return Some(if mine == 0 { 0 } else { total });
    }
    let busy = |hands: &[u64]| hands.iter().filter(|hand| **hand > 0).count() as u32;
    let (passes, rest) = (total / workload.records(), total % workload.records());
    Some(passes * segments * mine + share(rest, busy(&hands[..thread as usize]), busy(&hands)).1)
}

/// Operations of a pass of this task, where the tasks do unequal work.
pub(crate) fn unequal_pass(workload: &Workload, thread: u32) -> Option<u64> {
    hands(workload).map(|(hands, segments)| segments * hands[thread as usize])
}
