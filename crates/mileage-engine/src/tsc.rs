//! The processor's time stamp counter, where it may serve as a clock.

use std::arch::x86_64::{__cpuid, _rdtsc};

/// Highest basic and extended leaf, and the bit of leaf `0x8000_0007` EDX that promises one rate in all power states
/// (Intel SDM volume 3, "Invariant TSC"; AMD64 APM volume 3, the same bit).
const EXTENDED: u32 = 0x8000_0000;
const POWER: u32 = 0x8000_0007;
const INVARIANT: u32 = 1 << 8;

/// File with the kernel's current clock source; the kernel gives up the counter when processors disagree.
const CLOCKSOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// The counter now. Not serialising: a few nanoseconds of neighbouring work may be seen on the wrong side.
#[inline]
pub(crate) fn ticks() -> u64 {
    // SAFETY: the instruction only reads a register; the kernel allows it to user mode, or `usable` is false.
    unsafe { _rdtsc() }
}

/// Whether the counter runs at a constant rate, and the kernel itself uses it as its clock (so that processors agree).
pub(crate) fn usable() -> bool {
    invariant() && std::fs::read_to_string(CLOCKSOURCE).is_ok_and(|name| name.trim() == "tsc")
}

#[allow(
    unused_unsafe,
    reason = "reading the processor's identity became a safe call after the oldest compiler allowed"
)]
fn invariant() -> bool {
    // SAFETY: every processor of this architecture has the instruction, and the leaf is asked for only if it exists.
    unsafe { __cpuid(EXTENDED).eax >= POWER && __cpuid(POWER).edx & INVARIANT != 0 }
}
