//! Facts recorded next to a run's results to explain them: device counters, clock drift, the engine's own cost.

use crate::clock::Drift;
use crate::cpu_affinity;
use crate::device_counters::{Counters, Device};
use mileage_measure::Usage;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Readings taken at the start of a run, from which its [`Facts`] are computed at the end.
#[derive(Debug)]
pub(crate) struct RunContext {
    device: Option<Device>,
    overhead_ps: u64,
    processors: u32,
    begun: Mutex<Option<StartFacts>>,
}

#[derive(Debug)]
struct StartFacts {
    counters: Counters,
    drift: Drift,
}

/// Device counters, clock drift and engine cost of one process's part of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Facts {
    device: BTreeMap<String, u64>,
    clock_gained_ns: i64,
    overhead_ps: u64,
    /// Processors that the threads may be on at once.
    pub(crate) processors: u32,
}

impl RunContext {
    /// The context of a run on `path`, if it has one, whose threads are bound to these processors. Calls the file system,
    /// which may block.
    pub(crate) fn of(path: Option<&Path>, pin_cpus: &[u32]) -> Self {
        let device = path.and_then(Device::under);
        Self { device, overhead_ps: 0, processors: cpu_affinity::processors(pin_cpus), begun: Mutex::new(None) }
    }

    /// Add the engine's own time per operation, in picoseconds.
    pub(crate) fn with_overhead(self, overhead_ps: u64) -> Self {
        Self { overhead_ps, ..self }
    }

    /// Note the start of what counts. Called by the first thread, before it is ready, and again after its warm-up.
    #[cold]
    pub(crate) fn begin(&self) {
        let begun = StartFacts { counters: self.counters(), drift: Drift::begin() };
        *self.begun.lock().unwrap_or_else(PoisonError::into_inner) = Some(begun);
    }

    /// Note the end of what counts.
    pub(crate) fn end(&self) -> Facts {
        let begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(StartFacts { counters, drift }) = begun else { return Facts::default() };
        Facts {
            device: counters.until(&self.counters()),
            clock_gained_ns: drift.gained_ns(),
            overhead_ps: self.overhead_ps,
            processors: self.processors,
        }
    }

    fn counters(&self) -> Counters {
        self.device.as_ref().map(Device::counters).unwrap_or_default()
    }
}

impl Facts {
    /// Facts of one run whose parts, first thread first, several processes did. The device is one for all; the process
    /// with the first thread began and ended with the run.
    pub(crate) fn of_all(parts: &[&Self]) -> Self {
        Self {
            device: parts.first().map(|part| part.device.clone()).unwrap_or_default(),
            clock_gained_ns: parts.iter().map(|part| part.clock_gained_ns).max_by_key(|ns| ns.abs()).unwrap_or(0),
            // Take the smallest of several tries, which was disturbed least.
            overhead_ps: parts.iter().map(|part| part.overhead_ps).filter(|ps| *ps > 0).min().unwrap_or(0),
            processors: parts.iter().map(|part| part.processors).max().unwrap_or(0),
        }
    }

    /// Write them down.
    pub(crate) fn add_to(&self, usage: &mut Usage) {
        usage.device.clone_from(&self.device);
        usage.clock_gained_ns = self.clock_gained_ns;
        usage.overhead_ps = self.overhead_ps;
    }
}
