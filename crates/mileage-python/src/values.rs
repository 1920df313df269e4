//! Conversions for Python: byte sizes, histogram quantiles, the schema of a run record.

use mileage_measure::{Histogram, HistogramData};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Bytes named by a text such as `4096`, `4KiB` or `64GB`. Raises `ValueError` for anything else.
#[pyfunction]
pub fn parse_bytes(text: &str) -> PyResult<u64> {
    mileage_units::parse_bytes(text).map_err(|cause| PyValueError::new_err(cause.to_string()))
}

/// Bytes in words, such as `4 KiB`.
#[pyfunction]
#[pyo3(signature = (byte_count: "int") -> "str")]
pub fn format_bytes(byte_count: u64) -> String {
    mileage_units::format_bytes(byte_count)
}

/// Nearest-rank quantile in nanoseconds of a stored histogram (JSON), `q` in 0..=1; `None` when it is empty.
/// Raises `ValueError` when the text is no histogram or `q` is out of range.
#[pyfunction]
pub fn latency_quantile_ns(histogram: &str, q: f64) -> PyResult<Option<u64>> {
    if !(0.0..=1.0).contains(&q) {
        return Err(PyValueError::new_err(format!("q is {q}: expected 0 to 1")));
    }
    let data: HistogramData = serde_json::from_str(histogram)
        .map_err(|cause| PyValueError::new_err(format!("not a stored histogram: {cause}")))?;
    let whole =
        Histogram::from_data(&data).ok_or_else(|| PyValueError::new_err("the histogram's parts do not agree"))?;
    Ok(whole.quantile_ns(q))
}

/// The types that a run record consists of, as its owner defines them: of each the name and its fields in order, with
/// their names and Rust types. `RunRecord` is the first.
#[pyfunction]
pub fn record_schema() -> Vec<(&'static str, Vec<(&'static str, &'static str)>)> {
    mileage_measure::schema().map(|(name, fields)| (name, fields.to_vec())).to_vec()
}

/// The value that Student's t with `freedom` degrees of freedom does not exceed with `probability` (0..1).
#[pyfunction]
pub fn t_quantile(freedom: f64, probability: f64) -> f64 {
    mileage_measure::t_quantile(freedom, probability)
}

/// The probability that Student's t with `freedom` degrees of freedom is at least as far from 0 as `t`.
#[pyfunction]
pub fn t_two_sided(freedom: f64, t: f64) -> f64 {
    mileage_measure::t_two_sided(freedom, t)
}

/// The probabilities of `counts` (each 1 or more) or more successes in `totals` trials.
#[pyfunction]
pub fn binomial_tails(counts: Vec<f64>, totals: Vec<f64>, probability: f64) -> Vec<f64> {
    counts
        .into_iter()
        .zip(totals)
        .map(|(count, total)| mileage_measure::binomial_tail(count, total, probability))
        .collect()
}

/// The probability that chi-square with `freedom` degrees of freedom is at most `value`.
#[pyfunction]
pub fn chi_square_below(freedom: f64, value: f64) -> f64 {
    mileage_measure::chi_square_below(freedom, value)
}

/// The probability that noncentral t with `freedom` degrees of freedom, shifted by `shift`, is above `value`.
#[pyfunction]
pub fn noncentral_t_above(freedom: f64, shift: f64, value: f64) -> f64 {
    mileage_measure::noncentral_t_above(freedom, shift, value)
}

/// The value that a beta distribution does not exceed with `probability` (0..1): bounds of a share.
#[pyfunction]
pub fn beta_quantile(one: f64, other: f64, probability: f64) -> f64 {
    mileage_measure::beta_quantile(one, other, probability)
}
