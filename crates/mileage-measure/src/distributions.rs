//! Probabilities of Student's t, chi-square, the binomial and the beta distribution, and their quantiles.
//!
//! The incomplete beta and gamma functions are those of Cephes (Moshier 1989) in `spec_math`: relative errors below
//! 1e-10 for the parameters that verdicts have, tails included, of t up to 100,000 degrees of freedom. Quantiles get steps of
//! Newton's method, since the inverse function alone is off by up to 1e-8 far out. What has no value is `NaN`.

use spec_math::cephes64::{igam, incbet, incbi, lgam, ndtr, ndtri};

/// Degrees of freedom from which the normal distribution is nearer than what the rounding of its argument leaves of t.
const NORMAL_FROM: f64 = 1e8;
/// The value of t below which less than half lies outside.
const INNER: f64 = 0.7;
/// Degrees of freedom from which an expansion is a better start than the inverse beta function.
const EXPANSION_FROM: f64 = 500.0;
/// Standard deviations of a Poisson count beyond which the terms of a sum over it are nothing.
const POISSON_REACH: f64 = 12.0;

/// P(|T| <= |t|) for `freedom` degrees of freedom.
fn t_within(freedom: f64, t: f64) -> f64 {
    incbet(0.5, freedom / 2.0, t * t / (freedom + t * t))
}

/// P(|T| >= |t|): the two-sided p value of Student's t with `freedom` degrees of freedom.
pub fn t_two_sided(freedom: f64, t: f64) -> f64 {
    if freedom.is_nan() || t.is_nan() || freedom <= 0.0 {
        f64::NAN
    } else if freedom > NORMAL_FROM {
        2.0 * ndtr(-t.abs())
    } else if t.is_infinite() {
        0.0
    } else if t.abs() < INNER {
        1.0 - t_within(freedom, t)
    } else {
        incbet(freedom / 2.0, 0.5, freedom / (freedom + t * t))
    }
}

/// The value that Student's t with `freedom` degrees of freedom does not exceed with `probability` (0..1).
pub fn t_quantile(freedom: f64, probability: f64) -> f64 {
    if freedom.is_nan() || freedom <= 0.0 || !(0.0..=1.0).contains(&probability) {
        return f64::NAN;
    }
    if freedom > NORMAL_FROM {
        return ndtri(probability);
    }
    let outside = 2.0 * probability.min(1.0 - probability);
    let sign = if probability < 0.5 { -1.0 } else { 1.0 };
    if outside == 0.0 {
        return sign * f64::INFINITY;
    }
    let inside = (2.0 * probability - 1.0).abs();
    // Of the two, the one whose incomplete beta function is small keeps its digits.
    let is_tail = outside < inside;
    let half = f64::midpoint(freedom, 1.0);
    let log_peak = lgam(half) - lgam(freedom / 2.0) - 0.5 * (freedom * std::f64::consts::PI).ln();
    let mut t = first_t(freedom, outside, is_tail);
    for _ in 0..2 {
        let density = (log_peak - half * (t * t / freedom).ln_1p()).exp();
        let missing = if is_tail { t_two_sided(freedom, t) - outside } else { inside - t_within(freedom, t) };
        let step = missing / (2.0 * density);
        // Where the density has no digits left, neither has the step.
        if step.abs() < 0.01 * t {
            t += step;
        }
    }
    sign * t
}

/// A value near the quantile of t with the probability `outside` on both its sides.
fn first_t(freedom: f64, outside: f64, is_tail: bool) -> f64 {
    if freedom > EXPANSION_FROM {
        // The first term of Cornish and Fisher's expansion about the normal quantile (1937).
        let z = -ndtri(outside / 2.0);
        z + z * (z * z + 1.0) / (4.0 * freedom)
    } else if is_tail {
        let share = incbi(freedom / 2.0, 0.5, outside);
        (freedom * (1.0 - share) / share).sqrt()
    } else {
        let share = incbi(0.5, freedom / 2.0, 1.0 - outside);
        (freedom * share / (1.0 - share)).sqrt()
    }
}

/// The probability of `count` (1 or more) or more successes in `total` trials of `probability`.
pub fn binomial_tail(count: f64, total: f64, probability: f64) -> f64 {
    if count > total { 0.0 } else { incbet(count, total - count + 1.0, probability) }
}

/// The probability that chi-square with `freedom` degrees of freedom is at most `value`.
pub fn chi_square_below(freedom: f64, value: f64) -> f64 {
    if value < 0.0 { 0.0 } else { igam(freedom / 2.0, value / 2.0) }
}

/// The value that a beta distribution does not exceed with `probability`: bounds of a share (Clopper and Pearson 1934).
pub fn beta_quantile(one: f64, other: f64, probability: f64) -> f64 {
    let first = incbi(one, other, probability);
    let log_density =
        lgam(one + other) - lgam(one) - lgam(other) + (one - 1.0) * first.ln() + (other - 1.0) * (-first).ln_1p();
    let step = (probability - incbet(one, other, first)) / log_density.exp();
    if step.abs() < 1e-4 * first.min(1.0 - first) { first + step } else { first }
}

/// The probability that noncentral t with `freedom` degrees of freedom, shifted by `shift`, is above `value`.
///
/// Lenth's sum over a Poisson count (1989, AS 243), over the terms that matter.
pub fn noncentral_t_above(freedom: f64, shift: f64, value: f64) -> f64 {
    if value < 0.0 {
        return 1.0 - noncentral_t_above(freedom, -shift, -value);
    }
    let mean = shift * shift / 2.0;
    let share = value * value / (value * value + freedom);
    let reach = POISSON_REACH * (mean.sqrt() + 3.0);
    let first = (mean - reach).max(0.0).floor();
    let count = (mean + reach - first) as usize;
    let below: f64 = (0..count)
        .map(|k| {
            let j = first + k as f64;
            // A mean of 0 has the term of j = 0 alone.
            let power = if mean == 0.0 { if j == 0.0 { 0.0 } else { f64::NEG_INFINITY } } else { j * mean.ln() };
            let even = (power - mean - lgam(j + 1.0)).exp() * incbet(j + 0.5, freedom / 2.0, share);
            let odd = (power - mean - lgam(j + 1.5)).exp() * incbet(j + 1.0, freedom / 2.0, share);
            even + shift / std::f64::consts::SQRT_2 * odd
        })
        .sum();
    (1.0 - ndtr(-shift) - below / 2.0).clamp(0.0, 1.0)
}
