//! `cargo run -p mileage-measure --example merged_series`: two threads count on their own, and are merged at the end.
#![expect(clippy::print_stdout, reason = "what the program is for")]

use mileage_measure::{CompletedOperation, Series};

const MILLISECOND_NS: u64 = 1_000_000;

/// A thread that writes 4 KiB every `period_ns` for ten milliseconds.
fn thread(period_ns: u64) -> Series {
    let mut series = Series::new(MILLISECOND_NS, &[]);
    for end_ns in (period_ns..=10 * MILLISECOND_NS).step_by(period_ns as usize) {
        series.record(CompletedOperation {
            at_ns: end_ns - 1,
            bytes_read: 0,
            bytes_written: 4096,
            latency_ns: period_ns,
        });
    }
    series
}

fn main() {
    let mut both = thread(50_000);
    both.merge(&thread(100_000));
    let data = both.to_data();
    println!("  ms      MB/s    p99 us");
    for (interval, (bytes, p99_ns)) in data.bytes_written.iter().zip(&data.latency_p99_ns).enumerate() {
        let mb_per_s = *bytes as f64 * 1e3 / data.interval_ns as f64;
        println!("{interval:>4} {mb_per_s:>9.1} {:>9.1}", *p99_ns as f64 / 1e3);
    }
    println!("{} operations", both.latency().count());
}
