//! Access patterns that visit fixed-size records, as one enumeration.

use super::PatternKind;
use super::ior::Ior;
use super::iozone::{IozoneShuffle, IozoneStride};
use super::order::{Backward, Order};
use super::permutation::Shuffle;
use super::skew::{HotCold, PartlySequential, Uniform};
use super::zipf::Zipf;
use crate::workload::Workload;

/// Endless sequence of the records that one thread visits.
#[derive(Clone, Debug)]
pub(crate) enum Records {
    Order(Order),
    Backward(Backward),
    Shuffle(Box<Shuffle>),
    Uniform(Uniform),
    HotCold(HotCold),
    PartlySequential(PartlySequential),
    Zipf(Box<Zipf>),
    IozoneShuffle(IozoneShuffle),
    IozoneStride(IozoneStride),
    Ior(Box<Ior>),
}

impl Records {
    /// The order of one thread; `None` for an access specification and a trace.
    pub(crate) fn new(workload: &Workload, thread: u32) -> Option<Self> {
        let (first, count) = workload.share_of(thread);
        Some(match workload.pattern {
            PatternKind::Sequential => Self::Order(Order::sequential(first, count)),
            PatternKind::Shuffled => Self::Shuffle(Box::new(Shuffle::new(first, count, workload.seed, thread))),
            PatternKind::Random => Self::Uniform(Uniform::new(workload, thread)),
            PatternKind::Backward => Self::Backward(Backward::new(first, count)),
            PatternKind::Fixed => Self::Order(Order::fixed(first)),
            PatternKind::Stride { step_records } => Self::Order(Order::stride(first, count, step_records)),
            PatternKind::IozoneShuffle => Self::IozoneShuffle(IozoneShuffle::new(first, count)),
            PatternKind::IozoneStride { step_records } => {
                Self::IozoneStride(IozoneStride::new(first, count, step_records))
            }
            PatternKind::Zipf { theta_hundredths } => {
                Self::Zipf(Box::new(Zipf::new(workload, thread, theta_hundredths)))
            }
            PatternKind::HotCold { hot_percent, access_percent } => {
                Self::HotCold(HotCold::new(workload, thread, hot_percent, access_percent))
            }
            PatternKind::PartlySequential { random_percent } => {
                Self::PartlySequential(PartlySequential::new(workload, thread, first, random_percent))
            }
            PatternKind::Ior { block_bytes, order } => {
                Self::Ior(Box::new(Ior::new(workload, thread, block_bytes, order)))
            }
            PatternKind::Access { .. } | PatternKind::Trace { .. } => return None,
        })
    }

    /// The next records, as numbers in the span.
    pub(crate) fn fill(&mut self, out: &mut [u64]) {
        match self {
            Self::Order(order) => order.fill(out),
            Self::Backward(backward) => backward.fill(out),
            Self::Shuffle(shuffle) => shuffle.fill(out),
            Self::Uniform(uniform) => uniform.fill(out),
            Self::HotCold(hot_cold) => hot_cold.fill(out),
            Self::PartlySequential(partly) => partly.fill(out),
            Self::Zipf(zipf) => zipf.fill(out),
            Self::IozoneShuffle(shuffle) => shuffle.fill(out),
            Self::IozoneStride(stride) => stride.fill(out),
            Self::Ior(ior) => ior.fill(out),
        }
    }
}
