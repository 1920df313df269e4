//! What counting costs: nanoseconds per value of the histogram and of the series, compared with
//! `HdrHistogram` (3 digits), on latencies as a device gives them (log-normal about 80 us), as a page cache does (within 20 %), on one
//! value only (each count waits for the one before), and on values of every size.
//!
//! `cargo bench -p mileage-measure` measures, the least of 25 rounds; `cargo test --benches` only tries that it runs.

use mileage_measure::{CompletedOperation, Histogram, Series};
use std::hint::black_box;
use std::io::Write;
use std::time::Instant;

const VALUES: usize = 1 << 16;

/// Nanoseconds per value of the fastest round.
fn least_ns(rounds: u32, values: &[u64], mut each: impl FnMut(&[u64])) -> f64 {
    let round = |_| {
        let began = Instant::now();
        each(black_box(values));
        began.elapsed().as_nanos() as f64 / values.len() as f64
    };
    (0..rounds).map(round).fold(f64::INFINITY, f64::min)
}

/// Uniform in 0..1, from a fixed seed (the generator is `SplitMix64`).
fn uniform(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

fn cases() -> [(&'static str, Vec<u64>); 4] {
    let mut state = 1;
    let mut of = |value: fn(&mut u64) -> f64| (0..VALUES).map(|_| value(&mut state) as u64).collect();
    [
        (
            "log-normal",
            of(|state| {
                // Box and Muller's transform.
                let radius = (-2.0 * (1.0 - uniform(state)).ln()).sqrt();
                80_000.0 * (0.4 * radius * (std::f64::consts::TAU * uniform(state)).cos()).exp()
            }),
        ),
        ("cached", of(|state| 1_000.0 + 200.0 * uniform(state))),
        ("one value", of(|_| 1_234.0)),
        ("every size", of(|state| (40.0 * uniform(state)).exp2())),
    ]
}

fn main() -> std::io::Result<()> {
    let rounds = if std::env::args().any(|argument| argument == "--bench") { 25 } else { 1 };
    let out = &mut std::io::stdout();
    writeln!(out, "ns per value   histogram  series  HdrHistogram")?;
    for (name, values) in cases() {
        let mut ours = Histogram::default();
        let histogram_ns = least_ns(rounds, &values, |values| values.iter().for_each(|value| ours.record(*value)));
        let mut series = Series::new(10_000_000, &[]);
        let mut at_ns = 0;
        let series_ns = least_ns(rounds, &values, |values| {
            for value in values {
                at_ns += 1_000;
                series.record(CompletedOperation { at_ns, bytes_read: 4096, bytes_written: 0, latency_ns: *value });
            }
        });
        let mut theirs = hdrhistogram::Histogram::<u64>::new_with_bounds(1, 1 << 60, 3).expect("valid bounds");
        let theirs_ns = least_ns(rounds, &values, |values| {
            values.iter().for_each(|value| theirs.record(*value).expect("inside the bounds"));
        });
        assert_eq!((ours.count(), theirs.len()), (u64::from(rounds) * VALUES as u64, ours.count()));
        black_box(series.to_data());
        writeln!(out, "{name:<12}  {histogram_ns:>9.2}  {series_ns:>6.2}  {theirs_ns:>12.2}")?;
    }
    Ok(())
}
