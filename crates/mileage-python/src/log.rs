//! Forwards the log events of the engine (`tracing`) to Python's `logging`. Without it an event costs one atomic load.

use pyo3::prelude::*;
use std::fmt::{Debug, Write};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Call `sink(level, text)` for every event of Mileage's own crates, from now on until the process ends. `level` is
/// "info" or "debug", also the most detailed one that is forwarded. Raises `ValueError` for another level, and when
/// events are forwarded already.
#[pyfunction]
pub fn forward_log(level: &str, sink: Py<PyAny>) -> PyResult<()> {
    let refuse = |cause: String| pyo3::exceptions::PyValueError::new_err(cause);
    let level = match level {
        "info" => Level::INFO,
        "debug" => Level::DEBUG,
        other => return Err(refuse(format!("level {other:?}: expected info or debug"))),
    };
    tracing::subscriber::set_global_default(Forward { level, sink }).map_err(|cause| refuse(cause.to_string()))
}

struct Forward {
    level: Level,
    sink: Py<PyAny>,
}

impl Subscriber for Forward {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.level && metadata.target().starts_with("mileage")
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::from_level(self.level))
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        let level = if *event.metadata().level() == Level::DEBUG { "debug" } else { "info" };
        // An event has nowhere to report an error of `logging`, and a run does not end because of its log.
        Python::attach(|py| self.sink.call1(py, (level, line.message + &line.fields)).map_or_else(drop, drop));
    }

    // Nothing to do for spans: the engine has none.
    fn new_span(&self, _attributes: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _span: &Id, _values: &Record<'_>) {}
    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}
    fn enter(&self, _span: &Id) {}
    fn exit(&self, _span: &Id) {}
}

/// One event as text: its message, then `name=value` of each field.
#[derive(Default)]
struct Line {
    message: String,
    fields: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let written = if field.name() == "message" {
            write!(self.message, "{value:?}")
        } else {
            write!(self.fields, " {}={value:?}", field.name())
        };
        debug_assert!(written.is_ok(), "a String takes all");
    }
}
