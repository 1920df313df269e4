//! `cargo run -p mileage-units --example sizes -- 4KiB 64GB 4K`: each size in bytes and in words, or why it is refused.
#![expect(clippy::print_stdout, reason = "what the program is for")]

use mileage_units::{format_bytes, parse_bytes};

fn main() {
    let mut texts: Vec<String> = std::env::args().skip(1).collect();
    if texts.is_empty() {
        texts = ["4KiB", "64GB", "1.5 GiB", "4K"].map(String::from).to_vec();
    }
    for text in texts {
        match parse_bytes(&text) {
            Ok(bytes) => println!("{text}: {bytes} bytes, {}", format_bytes(bytes)),
            Err(refused) => println!("{refused}"),
        }
    }
}
