//! The block-device contract of devices that compute a completion as soon as they have the request: the trait [`Immediate`]
//! and its rules. [`crate::conformance`] checks it. [`crate::block_device`] is the contract of all other devices, and
//! [`crate::QueueAdapter`] turns a device of this form into one of that.
//!
//! 1. **Batches.** [`Immediate::submit`] takes operations in the order of their submission times, which never run
//!    backwards, neither inside a batch nor from one batch to the next, and appends one [`Completion`] per
//!    operation, in the order of the batch. How operations are cut into batches changes nothing.
//! 2. **Time.** A completion is never before its submission. Its time is known at submission: nothing submitted
//!    later can change it. Completions may overtake each other.
//! 3. **Refusals.** An operation that is misaligned, empty or outside the drive, or that the drive is too worn for, is
//!    refused at once: its completion time is its submission time, and no state and no counter has changed.
//! 4. **Discard** unmaps every page that lies wholly inside the range; what is left of a partly covered page stays.
//! 5. **Flush** completes when everything submitted before it is on the medium. **FUA** on a write makes that
//!    write's completion wait for the medium; on any other operation it is refused, since it would have no effect.
//!    A drive whose profile says that it ignores flushes breaks this clause, as such drives do.
//! 6. **Counters** only grow and say what explains a result; they change when an operation is submitted.
//! 7. **State.** A device that restores what [`Immediate::save`] gave continues as the saved one would have, byte
//!    for byte. Anything else than a state of the same drive is refused, never a panic, and changes nothing.
//! 8. **Looking ahead** ([`Immediate::prefetch`]) changes no result.

use crate::device::{Completion, Request};
use crate::page_sizes::PageSizes;
use crate::saved_state::StateError;
use mileage_workload::{Op, Workload};

/// A virtual block device that knows each completion time at submission; the module states its rules.
pub trait Immediate {
    /// Bytes that can be addressed.
    fn capacity_bytes(&self) -> u64;

    /// Smallest unit of addressing, in bytes.
    fn sector_bytes(&self) -> u32;

    /// Smallest unit that is written without reading first, in bytes.
    fn page_bytes(&self) -> u32;

    /// The latest instant of any call, in nanoseconds since it was first powered on.
    fn now_ns(&self) -> u64;

    /// Let the clock stand at `now_ns` or later; earlier instants change nothing.
    fn advance_to(&mut self, now_ns: u64);

    /// Let `ns` nanoseconds pass without an operation.
    fn idle_ns(&mut self, ns: u64) {
        self.advance_to(self.now_ns().saturating_add(ns));
    }

    /// Submit an operation; when and how it ends.
    fn submit_one(&mut self, request: &Request) -> Completion;

    /// Submit operations; one completion each is appended to `out`, in the same order.
    fn submit(&mut self, batch: &[Request], out: &mut Vec<Completion>) {
        out.extend(batch.iter().map(|request| self.submit_one(request)));
    }

    /// The operations of `later` will be submitted in a while, those of `soon`, which were announced as `later` before, in
    /// a few operations' time, as far as is known: a device may use it to be simulated faster. It changes no result.
    fn prefetch(&mut self, later: &[Op], soon: &[Op]) {
        let _ = (later, soon);
    }

    /// Until this is called again, writes carry what `workload` writes, or, with `None`, what nobody knows. Whether the
    /// device looks at it: if it does, the laps of the writes are announced ([`Immediate::begin_lap`]).
    fn look_at_content(&mut self, workload: Option<&Workload>) -> bool {
        let _ = workload;
        false
    }

    /// The operations from here on belong to this lap, counted from 0.
    fn begin_lap(&mut self, lap: u32) {
        let _ = lap;
    }

    /// Sizes of the pages that are written while no workload is given by [`Immediate::look_at_content`], to be replaced by
    /// whoever knows them; `None` if nothing depends on them. They are no part of the saved state.
    fn page_sizes(&mut self) -> Option<&mut PageSizes> {
        None
    }

    /// Names of the counters, in the order of [`Immediate::counters`].
    fn counter_names(&self) -> &'static [&'static str];

    /// The counters since the drive was first powered on.
    ///
    /// # Panics
    /// When `out` has another length than the names: a programmer's mistake.
    fn counters(&self, out: &mut [u64]);

    /// Names of the gauges, in the order of [`Immediate::gauges`]; they say how things stand and may fall.
    fn gauge_names(&self) -> &'static [&'static str] {
        &[]
    }

    /// The gauges now.
    ///
    /// # Panics
    /// When `out` has another length than the names: a programmer's mistake.
    fn gauges(&self, out: &mut [u64]) {
        assert!(out.is_empty(), "a device without gauges was asked for {}", out.len());
    }

    /// Names of the counters, and behind them those of the gauges: what a run's series follows.
    fn series_names(&self) -> &'static [&'static str] {
        assert!(self.gauge_names().is_empty(), "a device with gauges names its series");
        self.counter_names()
    }

    /// The whole state: maps, clocks, counters.
    fn save(&self) -> Vec<u8>;

    /// Continue from a saved state of the same drive.
    ///
    /// # Errors
    /// What is wrong with the state; the device is as it was.
    fn restore(&mut self, state: &[u8]) -> Result<(), StateError>;
}
