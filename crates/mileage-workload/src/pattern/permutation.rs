//! A pseudo-random permutation in constant memory, and the shuffle of records that is based on it.
//!
//! The domain is the numbers of `bits` bits. Each round multiplies by an odd number, adds, and folds the upper half of
//! the bits into the lower: three steps that can each be undone within the domain, so that any number of rounds is a
//! permutation, whatever the keys. A shuffle of fewer records walks through the whole domain and skips what lies
//! behind them, which is less than half of it; there is no search, and no branch that depends on a random number.
//!
//! The rounds choose among few of all orders. In domains of thousands no statistic of steps and positions shows it (four
//! rounds still show, six do not); below that it does, and there a table is small enough to be shuffled exactly.

use super::random::{below, stream};
use rand::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::ops::Range;

const ROUNDS: usize = 6;
/// Most records that are shuffled exactly, in a table of 8 KiB.
const TABLE_MAX: u64 = 4096;

/// A permutation of `0..=mask`.
#[derive(Clone, Debug)]
pub(crate) struct Permutation {
    mask: u64,
    fold: u32,
    /// Odd factors and summands.
    keys: [(u64, u64); ROUNDS],
}

impl Permutation {
    /// A permutation of the smallest domain of whole bits that has `count` (at least 1) numbers.
    pub(crate) fn over(count: u64, rng: &mut Xoshiro256PlusPlus) -> Self {
        let mask = count.next_power_of_two() - 1;
        let fold = mask.count_ones().div_ceil(2).max(1);
        let mut permutation = Self { mask, fold, keys: [(1, 0); ROUNDS] };
        permutation.rekey(rng);
        permutation
    }

    fn rekey(&mut self, rng: &mut Xoshiro256PlusPlus) {
        self.keys = std::array::from_fn(|_| (rng.next_u64() | 1, rng.next_u64()));
    }

    #[inline]
    fn map(&self, number: u64) -> u64 {
        self.keys.iter().fold(number, |number, (factor, summand)| {
            let mixed = number.wrapping_mul(*factor).wrapping_add(*summand) & self.mask;
            mixed ^ (mixed >> self.fold)
        })
    }

    /// Put the images of `range` that are below `count` into `out`, which has a place for each, and add `first`; how
    /// many there were.
    #[inline]
    fn those_below(&self, count: u64, first: u64, range: Range<u64>, out: &mut [u64]) -> usize {
        let mut kept = 0;
        for number in range {
            let image = self.map(number);
            out[kept] = first + image;
            kept += usize::from(image < count);
        }
        kept
    }

    /// The image of `number` in a permutation of `0..count`: along its cycle to the first one below. `count` is that of
    /// [`Permutation::over`], `number` below it.
    pub(crate) fn below(&self, count: u64, number: u64) -> u64 {
        let mut image = self.map(number);
        while image >= count {
            image = self.map(image);
        }
        image
    }
}

/// The records `first..first + count`, each once per pass, in another order for every pass.
#[derive(Clone, Debug)]
pub(crate) struct Shuffle {
    first: u64,
    count: u64,
    order: Order,
    /// The next place of the table, or the next number of the domain to be mapped.
    position: u64,
    rng: Xoshiro256PlusPlus,
}

#[derive(Clone, Debug)]
enum Order {
    Table(Box<[u16]>),
    Keyed(Permutation),
}

impl Shuffle {
    pub(crate) fn new(first: u64, count: u64, seed: u64, thread: u32) -> Self {
        let mut rng = stream(seed, thread, 0);
        let (order, position) = if count <= TABLE_MAX {
            // Start at the end of an imagined earlier pass, so that the first pass is shuffled like all others.
            (Order::Table((0..count as u16).collect()), count)
        } else {
            (Order::Keyed(Permutation::over(count, &mut rng)), 0)
        };
        Self { first, count, order, position, rng }
    }

    pub(crate) fn fill(&mut self, out: &mut [u64]) {
        let mut filled = 0;
        while filled < out.len() {
            filled += match &mut self.order {
                Order::Table(table) => {
                    if self.position == self.count {
                        self.position = 0;
                        shuffle(table, &mut self.rng);
                    }
                    let left = &table[self.position as usize..];
                    let taken = left.len().min(out.len() - filled);
                    for (record, place) in out[filled..].iter_mut().zip(left) {
                        *record = self.first + u64::from(*place);
                    }
                    self.position += taken as u64;
                    taken
                }
                Order::Keyed(permutation) => {
                    if self.position > permutation.mask {
                        self.position = 0;
                        permutation.rekey(&mut self.rng);
                    }
                    // The domain is larger than the number of records: skip numbers that stand for none.
                    let rest = permutation.mask - self.position + 1;
                    let numbers = rest.min((out.len() - filled) as u64);
                    let range = self.position..self.position + numbers;
                    self.position = range.end;
                    permutation.those_below(self.count, self.first, range, &mut out[filled..])
                }
            }
        }
    }
}

/// Fisher and Yates, from the back.
fn shuffle(table: &mut [u16], rng: &mut Xoshiro256PlusPlus) {
    for last in (1..table.len()).rev() {
        table.swap(last, below(rng, last as u64 + 1) as usize);
    }
}
