//! A channel or the link: one transfer at a time, in the gaps between earlier ones.

/// Gaps that a lane remembers at most; then the [`FORGOTTEN`] earliest are forgotten at once.
pub(super) const GAPS: usize = 256;
const FORGOTTEN: usize = 64;

/// A time in which a lane carries nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// Gaps before that, in order of time.
    pub gaps: Vec<Gap>,
}

impl Lane {
    /// Carry something that is ready at `ready_ns` and takes `takes_ns`; when it has arrived.
    #[inline]
    pub(crate) fn carry(&mut self, ready_ns: u64, takes_ns: u64) -> u64 {
        let in_time = |gap: &Gap| ready_ns + takes_ns <= gap.to_ns;
        if self.gaps.last().is_some_and(in_time)
            && let Some(end_ns) = self.fill(ready_ns, takes_ns)
        {
            return end_ns;
        }
        let start_ns = self.busy_ns.max(ready_ns);
        if start_ns > self.busy_ns {
            self.remember(self.gaps.len(), Gap { from_ns: self.busy_ns, to_ns: start_ns });
        }
        self.busy_ns = start_ns + takes_ns;
        self.busy_ns
    }

    #[inline]
    fn remember(&mut self, at: usize, gap: Gap) {
        self.gaps.insert(at, gap);
        if self.gaps.len() == GAPS {
            self.gaps.drain(..FORGOTTEN);
        }
    }

    /// Carry it in the first gap that is long enough, if there is one; when it has arrived.
    #[inline(never)]
    fn fill(&mut self, ready_ns: u64, takes_ns: u64) -> Option<u64> {
        let first = self.gaps.partition_point(|gap| gap.to_ns < ready_ns + takes_ns);
        let fits = |gap: &Gap| gap.from_ns.max(ready_ns) + takes_ns <= gap.to_ns;
        let at = first + self.gaps[first..].iter().position(fits)?;
        let Gap { from_ns, to_ns } = self.gaps[at];
        let start_ns = from_ns.max(ready_ns);
        let end_ns = start_ns + takes_ns;
        let before = Gap { from_ns, to_ns: start_ns };
        let after = Gap { from_ns: end_ns, to_ns };
        match (start_ns > from_ns, to_ns > end_ns) {
            (false, false) => {
                self.gaps.remove(at);
            }
            (true, false) => self.gaps[at] = before,
            (false, true) => self.gaps[at] = after,
            (true, true) => {
                self.gaps[at] = after;
                self.remember(at, before);
            }
        }
        Some(end_ns)
    }
}
