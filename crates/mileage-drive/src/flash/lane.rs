//! A channel or the link: one transfer at a time, in the gaps between earlier ones.

/// A lane that has this number of gaps forgets those that are past or, if none is, the [`FORGOTTEN`] earliest.
pub(super) const GAPS: usize = 256;
const FORGOTTEN: usize = 64;

/// A time in which a lane carries nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gap {
    pub from_ns: u64,
    pub to_ns: u64,
}

/// Something that carries one transfer at a time, each as early as it is ready and the lane is free: what is requested
/// later and ready sooner fills the gaps before what was requested first. Completions stay as they were announced, so
/// that a gap shorter than a transfer is lost: a queue that serves what arrives first loses none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lane {
    /// Time from which on nothing is planned.
    pub busy_ns: u64,
    /// The last gap before that; empty if there is none. It is not with the others, because writes make many gaps that
    /// nothing fills: memory for all of them would leave less of the processor's cache to the map.
    last: Gap,
    /// The gaps before it, in order of time.
    earlier: Vec<Gap>,
}

impl Lane {
    /// A lane with these gaps, which are in order of time.
    pub(super) fn with_gaps(busy_ns: u64, mut gaps: Vec<Gap>) -> Self {
        Self { busy_ns, last: gaps.pop().unwrap_or_default(), earlier: gaps }
    }

    /// The gaps, in order of time.
    pub(super) fn gaps(&self) -> impl Iterator<Item = Gap> + '_ {
        self.earlier.iter().copied().chain((self.last != Gap::default()).then_some(self.last))
    }

    /// Carry something that is ready at `ready_ns`, `now_ns` or later, and takes `takes_ns`; when it has arrived. The clock,
    /// `now_ns`, never goes back.
    #[inline]
    pub(crate) fn carry(&mut self, now_ns: u64, ready_ns: u64, takes_ns: u64) -> u64 {
        if ready_ns + takes_ns <= self.last.to_ns
            && let Some(end_ns) = self.fill(now_ns, ready_ns, takes_ns)
        {
            return end_ns;
        }
        let start_ns = self.busy_ns.max(ready_ns);
        if start_ns > self.busy_ns {
            // Nothing can fill what is past.
            if self.last.to_ns > now_ns {
                self.keep_last(now_ns);
            } else if !self.earlier.is_empty() {
                self.earlier.clear();
            }
            self.last = Gap { from_ns: self.busy_ns, to_ns: start_ns };
        }
        self.busy_ns = start_ns + takes_ns;
        self.busy_ns
    }

    /// Another gap becomes the last one.
    #[inline(never)]
    fn keep_last(&mut self, now_ns: u64) {
        self.earlier.push(self.last);
        if self.earlier.len() + 1 == GAPS {
            forget_some(&mut self.earlier, now_ns);
        }
    }

    /// Carry it in the first gap that is long enough, if there is one; when it has arrived.
    #[inline(never)]
    fn fill(&mut self, now_ns: u64, ready_ns: u64, takes_ns: u64) -> Option<u64> {
        let mut gaps = std::mem::take(&mut self.earlier);
        gaps.push(self.last);
        let end_ns = fill_first(&mut gaps, ready_ns, takes_ns);
        if gaps.len() == GAPS {
            forget_some(&mut gaps, now_ns);
        }
        *self = Self::with_gaps(self.busy_ns, gaps);
        end_ns
    }
}

/// Forget what is past, else the earliest gaps: a lane restored without past gaps continues as the one that has them.
fn forget_some(gaps: &mut Vec<Gap>, now_ns: u64) {
    let past = gaps.partition_point(|gap| gap.to_ns <= now_ns);
    gaps.drain(..if past > 0 { past } else { FORGOTTEN });
}

fn fill_first(gaps: &mut Vec<Gap>, ready_ns: u64, takes_ns: u64) -> Option<u64> {
    let first = gaps.partition_point(|gap| gap.to_ns < ready_ns + takes_ns);
    let fits = |gap: &Gap| gap.from_ns.max(ready_ns) + takes_ns <= gap.to_ns;
    let at = first + gaps[first..].iter().position(fits)?;
    let Gap { from_ns, to_ns } = gaps[at];
    let start_ns = from_ns.max(ready_ns);
    let end_ns = start_ns + takes_ns;
    let before = Gap { from_ns, to_ns: start_ns };
    let after = Gap { from_ns: end_ns, to_ns };
    match (start_ns > from_ns, to_ns > end_ns) {
        (false, false) => {
            gaps.remove(at);
        }
        (true, false) => gaps[at] = before,
        (false, true) => gaps[at] = after,
        (true, true) => {
            gaps[at] = after;
            gaps.insert(at, before);
        }
    }
    Some(end_ns)
}

#[cfg(test)]
mod tests {
    use super::{GAPS, Lane};
    use proptest::prelude::*;

    /// A lane as a list of its transfers: each begins at the first instant, from its readiness on, at which nothing that was
    /// requested before is carried for as long as it takes.
    fn first_free(carried: &[(u64, u64)], ready_ns: u64, takes_ns: u64) -> u64 {
        let free = |from_ns: u64| carried.iter().all(|(begin, end)| from_ns + takes_ns <= *begin || *end <= from_ns);
        let ends = carried.iter().map(|(_, end)| *end).filter(|end| *end > ready_ns);
        ends.chain([ready_ns]).filter(|from_ns| free(*from_ns)).min().unwrap_or(ready_ns)
    }

    proptest! {
        #[test]
        fn a_transfer_begins_at_the_first_instant_that_is_free_for_long_enough(
            transfers in prop::collection::vec((0_u64..6, 0_u64..20, 1_u64..6), 1..GAPS),
            saved_at in 0_usize..GAPS,
        ) {
            let (mut lane, mut carried, mut now_ns) = (Lane::default(), Vec::new(), 0);
            for (at, (pause_ns, later_ns, takes_ns)) in transfers.into_iter().enumerate() {
                now_ns += pause_ns;
                if at == saved_at {
                    lane = Lane::with_gaps(lane.busy_ns, lane.gaps().collect());
                }
                let begin_ns = first_free(&carried, now_ns + later_ns, takes_ns);
                prop_assert_eq!(lane.carry(now_ns, now_ns + later_ns, takes_ns), begin_ns + takes_ns);
                carried.push((begin_ns, begin_ns + takes_ns));
            }
        }
    }
}
