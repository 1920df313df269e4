//! How many instructions an operation takes outside the kernel: a run is stepped through one instruction at a time,
//! which counts them exactly, however busy or slow the machine is. Next to them the cache lines of code that they lie
//! in. `cargo bench` measures; `cargo test --benches` only tries that it runs.

#![allow(clippy::disallowed_methods, reason = "it makes the files that it works on")]
#[cfg(target_arch = "x86_64")]
mod single_step;

#[cfg(target_arch = "x86_64")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    single_step::main()
}

#[cfg(not(target_arch = "x86_64"))]
fn main() {
    eprintln!("instructions are counted on x86-64 only");
}
