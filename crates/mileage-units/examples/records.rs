//! `cargo run -p mileage-units --example records -- 1GiB 4KiB`: how many records of one size a span holds.
#![expect(clippy::print_stdout, reason = "what the program is for")]

use mileage_units::{NotASize, format_bytes, parse_bytes};

fn main() -> Result<(), NotASize> {
    let mut sizes = std::env::args().skip(1);
    let span_bytes = parse_bytes(&sizes.next().unwrap_or_else(|| "1GiB".into()))?;
    let record_bytes = parse_bytes(&sizes.next().unwrap_or_else(|| "4KiB".into()))?.max(1);
    let (span, record) = (format_bytes(span_bytes), format_bytes(record_bytes));
    println!("{span} hold {} records of {record}", span_bytes / record_bytes);
    if !span_bytes.is_multiple_of(record_bytes) {
        println!("{} are left over", format_bytes(span_bytes % record_bytes));
    }
    Ok(())
}
