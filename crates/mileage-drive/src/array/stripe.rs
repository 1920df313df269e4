//! What a write to a row with parity reads and writes: the cheapest way that the members that are left allow. Pure.
//!
//! *Read-modify-write* reads what is replaced and the parity; *reconstruct-write* reads what is left of the row; with all of it
//! replaced neither reads anything. With equal numbers of reads the latter is chosen, as `md` does. If a chunk is missing and
//! its old content matters, the row is *recovered*: all that is left of it is read.

use serde::{Deserialize, Serialize};

/// A range in a chunk: first byte, byte behind the last.
pub(crate) type Range = (u64, u64);

/// A chunk of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Unit {
    /// A data chunk.
    Data(usize),
    /// A parity: 0 is P, 1 is Q.
    Parity(usize),
}

/// How a write gets its parity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Way {
    /// Everything is replaced.
    FullStripe,
    /// From old data and old parity.
    ReadModifyWrite,
    /// From the data that stays.
    Reconstruct,
    /// From all that is left.
    Recover,
    /// No parity is left.
    NoParity,
}

/// What a write reads, and over which range the parity changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub way: Way,
    pub reads: Vec<(Unit, Range)>,
    pub hull: Range,
}

/// What is missing of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MissingChunks {
    /// By data chunk.
    pub data: Vec<bool>,
    /// By parity.
    pub parity: Vec<bool>,
}

impl MissingChunks {
    /// Whether the row can be read.
    pub(crate) fn is_bearable(&self) -> bool {
        let lost = self.data.iter().chain(&self.parity).filter(|missing| **missing).count();
        lost <= self.parity.len()
    }

    fn parities_left(&self) -> impl Iterator<Item = usize> {
        (0..self.parity.len()).filter(|at| !self.parity[*at])
    }

    /// What must be read to know `range` of everything that is missing; `None`: too much is missing.
    pub(crate) fn recovery(&self, range: Range) -> Option<Vec<(Unit, Range)>> {
        let lost = self.data.iter().filter(|missing| **missing).count();
        let left = (0..self.data.len()).filter(|at| !self.data[*at]).map(Unit::Data);
        let parities: Vec<Unit> = self.parities_left().take(lost).map(Unit::Parity).collect();
        (parities.len() == lost).then(|| left.chain(parities).map(|unit| (unit, range)).collect())
    }
}

/// What of `hull` the sorted ranges do not cover.
fn gaps(hull: Range, ranges: &[Range]) -> Vec<Range> {
    let (mut at, mut gaps) = (hull.0, Vec::new());
    for range in ranges {
        if at < range.0 {
            gaps.push((at, range.0));
        }
        at = at.max(range.1);
    }
    if at < hull.1 {
        gaps.push((at, hull.1));
    }
    gaps
}

/// Sorted ranges without overlaps, neighbours joined.
pub(crate) fn joined(mut ranges: Vec<Range>) -> Vec<Range> {
    ranges.sort_unstable();
    let mut out: Vec<Range> = Vec::new();
    for range in ranges {
        match out.last_mut().filter(|last| last.1 >= range.0) {
            Some(last) => last.1 = last.1.max(range.1),
            None => out.push(range),
        }
    }
    out
}

/// How to write these ranges, by data chunk, each sorted and without overlaps; `None`: too much is missing.
pub(crate) fn plan(touched: &[Vec<Range>], missing: &MissingChunks) -> Option<Plan> {
    let all = touched.iter().flatten();
    let hull = (all.clone().map(|range| range.0).min()?, all.map(|range| range.1).max()?);
    if !missing.is_bearable() {
        return None;
    }
    let parities: Vec<(Unit, Range)> = missing.parities_left().map(|at| (Unit::Parity(at), hull)).collect();
    if parities.is_empty() {
        return Some(Plan { way: Way::NoParity, reads: Vec::new(), hull });
    }
    let mut plans = Vec::new();
    let kept: Vec<Vec<Range>> = touched.iter().map(|ranges| gaps(hull, ranges)).collect();
    if (0..touched.len()).all(|at| !missing.data[at] || kept[at].is_empty()) {
        let reads: Vec<(Unit, Range)> =
            (0..touched.len()).flat_map(|at| kept[at].iter().map(move |range| (Unit::Data(at), *range))).collect();
        let way = if reads.is_empty() { Way::FullStripe } else { Way::Reconstruct };
        plans.push(Plan { way, reads, hull });
    }
    if (0..touched.len()).all(|at| !missing.data[at] || touched[at].is_empty()) {
        let old = (0..touched.len()).flat_map(|at| touched[at].iter().map(move |range| (Unit::Data(at), *range)));
        plans.push(Plan { way: Way::ReadModifyWrite, reads: old.chain(parities).collect(), hull });
    }
    if plans.is_empty() {
        plans.push(Plan { way: Way::Recover, reads: missing.recovery(hull)?, hull });
    }
    // Of equal ones the first.
    plans.into_iter().min_by_key(|plan| plan.reads.len())
}
