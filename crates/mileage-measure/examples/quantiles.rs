//! `cargo run -p mileage-measure --example quantiles -- 80 95 110 4000`: quantiles of latencies in microseconds.
#![expect(clippy::print_stdout, reason = "what the program is for")]

use mileage_measure::Histogram;
use std::num::ParseIntError;

fn main() -> Result<(), ParseIntError> {
    let mut latency = Histogram::default();
    for text in std::env::args().skip(1) {
        latency.record(text.parse::<u64>()?.saturating_mul(1000));
    }
    if latency.count() == 0 {
        // 999 operations of about 100 us, and one that waits for an erase.
        (0..999).for_each(|operation| latency.record(100_000 + operation * 10));
        latency.record(2_000_000);
    }
    println!("{} operations", latency.count());
    for q in [0.0, 0.5, 0.9, 0.99, 0.999, 1.0] {
        let microseconds = latency.quantile_ns(q).map_or(0.0, |ns| ns as f64 / 1000.0);
        println!("{q:>6} {microseconds:>10.1} us");
    }
    Ok(())
}
