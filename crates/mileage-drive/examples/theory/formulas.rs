//! Theory of write amplification: steady state, one page per host write, one write frontier, many blocks.
//!
//! `rho` is the share of the pages able to hold data that holds valid data, `pages` a block's pages. All are pure
//! functions; ranges: 0 < rho < 1, pages 2 or more.

use mileage_drive::profile::FlashProfile;

fn harmonic(n: u32) -> f64 {
    (1..=n).map(|i| 1.0 / f64::from(i)).sum()
}

/// Greedy collection under uniform random writes, blocks of `pages` pages: the mean-field fixed point. Victims hold
/// `j` or `j - 1` valid pages, with the one j for which `c (H_b - H_j) < 1 <= c (H_b - H_(j-1))`,
/// `c = (rho b - j) / ((b - j) - j (H_b - H_j))`; the result is `c / rho`.
pub fn greedy(rho: f64, pages: u32) -> f64 {
    let whole = harmonic(pages);
    for j in 1..pages {
        let above = whole - harmonic(j);
        let b = f64::from(pages);
        let c = (rho * b - f64::from(j)) / ((b - f64::from(j)) - f64::from(j) * above);
        if c * above < 1.0 && 1.0 <= c * (above + 1.0 / f64::from(j)) {
            return c / rho;
        }
    }
    1.0
}

/// First in, first out under uniform random writes, any block size: the share x of programs that are the host's
/// solves `1 - x = exp(-x / rho)`; the result is `1 / x` (Desnoyers 2012; Xiang and Kurkoski 2012).
pub fn fifo(rho: f64) -> f64 {
    1.0 / root(1e-9, 1.0, |x| 1.0 - x - (-x / rho).exp())
}

/// The emptiest of `choices` blocks drawn at random, under uniform random writes: with `M_(b+1) = 0`,
/// `M_k + (c/k) M_k^d = M_(k+1) + c/k` for k from b down to 1, and c so that the M add up to `rho b`; the result is
/// `c / rho` (mean field of Van Houdt 2013).
pub fn d_choices(rho: f64, pages: u32, choices: u32) -> f64 {
    let total = |c: f64| {
        let mut above = 0.0;
        let mut sum = 0.0;
        for k in (1..=pages).rev() {
            let rate = c / f64::from(k);
            above = root(0.0, 1.0, |m| above + rate - m - rate * m.powi(choices.cast_signed()));
            sum += above;
        }
        sum - rho * f64::from(pages)
    };
    root(1e-6, 1e4, |c| -total(c)) / rho
}

/// Any block: `1 / (1 - rho)`.
pub fn random(rho: f64) -> f64 {
    1.0 / (1.0 - rho)
}

/// The share of the pages that holds valid data when `trims` of all requests discard a mapped page and the others
/// write anywhere: of the logical pages `(1 - 2 q) / (1 - q)` are mapped (Frankie and others 2012).
pub fn rho_with_trims(rho: f64, trims: f64) -> f64 {
    rho * (1.0 - 2.0 * trims) / (1.0 - trims)
}

/// First in, first out in one log, where each (share of the pages, share of the writes) is uniform in itself:
/// `sum r / (1 - exp(-(r / f) x / rho)) = 1 / x`; the result is `1 / x`.
pub fn fifo_of_classes(rho: f64, classes: &[(f64, f64)]) -> f64 {
    let copies = |x: f64| classes.iter().map(|(f, r)| r / (1.0 - (-r / f * x / rho).exp())).sum::<f64>();
    1.0 / root(1e-6, 1.0, |x| 1.0 / x - copies(x))
}

/// Least write amplification of two separated classes of data, each given as (share of the pages, share of the
/// writes): greedy garbage collection within each class, spare blocks divided between the two in the best way. No
/// drive with one write frontier for each class does better.
pub fn greedy_of_separated(rho: f64, classes: [(f64, f64); 2], pages: u32) -> f64 {
    let [(hot, hot_writes), (cold, cold_writes)] = classes;
    let spare = 1.0 / rho - 1.0;
    let with = |share: f64| {
        let of = |pages_share: f64, spare: f64| greedy(pages_share / (pages_share + spare), pages);
        hot_writes * of(hot, share * spare) + cold_writes * of(cold, (1.0 - share) * spare)
    };
    // The minimum is flat: thousandths of the spare are fine enough.
    (1..1000).map(|share| with(f64::from(share) / 1000.0)).fold(f64::INFINITY, f64::min)
}

/// Root of a function that is positive first and negative then, by bisection to the last bits.
fn root(mut low: f64, mut high: f64, function: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if function(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// Write amplification A of a drive under uniform random writes, with greedy garbage collection and one open block per plane.
///
/// Bad blocks, the reserve of free blocks and the unwritten part of the open blocks hold no data, so they do not count as
/// space for data. Collecting a block of b pages frees b / A of them; an open block is therefore unwritten by
/// b / (2 A) pages on average.
pub fn of_drive(profile: &FlashProfile) -> f64 {
    let logical = profile.logical_pages() as f64;
    let (planes, pages) = (profile.planes() as f64, f64::from(profile.pages_per_block));
    let kept = planes * f64::from(profile.policies.free_blocks_min + profile.policies.replacement_blocks);
    let blocks = profile.good_blocks() as f64 - kept;
    let mut amplification = 2.0;
    for _ in 0..50 {
        let effective = pages * (blocks - planes / (2.0 * amplification));
        amplification = greedy(logical / effective, profile.pages_per_block);
    }
    amplification
}
