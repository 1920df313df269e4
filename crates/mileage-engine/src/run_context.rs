//! What lies around a run and explains its figures: the device's counters, the clock's drift, the engine's own cost.

use crate::clock::Drift;
use crate::device::{Counters, Device};
use crate::pin;
use mileage_measure::Usage;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Where the facts about one process's part of a run come from.
#[derive(Debug)]
pub(crate) struct Around {
    device: Option<Device>,
    overhead_ps: u64,
    processors: u32,
    begun: Mutex<Option<Begun>>,
}

#[derive(Debug)]
struct Begun {
    counters: Counters,
    drift: Drift,
}

/// What there is to say about one process's part of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Facts {
    device: BTreeMap<String, u64>,
    clock_gained_ns: i64,
    overhead_ps: u64,
    /// Processors that the threads may be on at once.
    pub(crate) processors: u32,
}

impl Around {
    /// Around a run on `path`, if it has one, whose threads are bound to these processors. Reaches for the file system, which may take as long as any call to it.
    pub(crate) fn of(path: Option<&Path>, pin_cpus: &[u32]) -> Self {
        let device = path.and_then(Device::under);
        Self { device, overhead_ps: 0, processors: pin::processors(pin_cpus), begun: Mutex::new(None) }
    }

    /// The same with what the engine itself takes for an operation, in picoseconds.
    pub(crate) fn with_overhead(self, overhead_ps: u64) -> Self {
        Self { overhead_ps, ..self }
    }

    /// What counts begins here: by the first thread, before it is ready, and again after its warm-up.
    #[cold]
    pub(crate) fn begin(&self) {
        let begun = Begun { counters: self.counters(), drift: Drift::begin() };
        *self.begun.lock().unwrap_or_else(PoisonError::into_inner) = Some(begun);
    }

    /// All that counted has been done.
    pub(crate) fn end(&self) -> Facts {
        let begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Begun { counters, drift }) = begun else { return Facts::default() };
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
            // Of several tries, the one that was disturbed least.
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
