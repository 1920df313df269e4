//! A virtual drive.

use crate::{Refused, ask, parse_workload, to_json};
use mileage_drive::{BlockDevice, Error, FlashDrive, Profile};
use mileage_workload::Unobserved;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

fn parse_profile(text: &str) -> PyResult<Profile> {
    Profile::parse(text).map_err(|cause| Refused::new_err(cause.to_string()))
}

/// The title of a drive profile (TOML). Raises `mileage.errors.Refused` when it is none.
#[pyfunction]
pub fn drive_title(profile: &str) -> PyResult<String> {
    Ok(parse_profile(profile)?.title)
}

/// A virtual drive in virtual time, built from a profile (TOML).
///
/// `Drive(profile)` takes the text of a profile, or the name of a drive that ships with Mileage. The drive has no
/// randomness of its own: equal operations give equal times.
#[pyclass(name = "Drive", module = "mileage._core")]
pub struct PyDrive {
    drive: FlashDrive,
}

#[pymethods]
impl PyDrive {
    /// A factory-fresh drive. Raises `mileage.errors.Refused` for an unknown name or an impossible profile.
    #[new]
    fn new(py: Python<'_>, profile: &str) -> PyResult<Self> {
        let named = !profile.contains('\n');
        let text: String = if named {
            py.import("mileage.target.profiles")?.call_method1("load_profile", (profile,))?.extract()?
        } else {
            profile.to_owned()
        };
        Ok(Self { drive: FlashDrive::new(parse_profile(&text)?) })
    }

    /// Short name.
    #[getter]
    fn name(&self) -> &str {
        &self.drive.profile().name
    }

    /// Bytes that the host can address.
    #[getter]
    fn capacity_bytes(&self) -> u64 {
        self.drive.profile().capacity_bytes
    }

    /// Bytes the maker warrants to be written, or `None`.
    #[getter]
    fn rated_write_bytes(&self) -> Option<u64> {
        self.drive.profile().rated_write_bytes()
    }

    /// Virtual time since power-on, in nanoseconds.
    #[getter]
    fn now_ns(&self) -> u64 {
        self.drive.now_ns()
    }

    /// Do a workload (JSON) and return its record (JSON). `poll(bytes, operations)` is called now and then; when it
    /// answers true the run is interrupted. Raises `ValueError` when the drive cannot do the workload.
    #[pyo3(signature = (workload, poll = None))]
    #[expect(clippy::needless_pass_by_value, reason = "an argument from Python arrives owned")]
    fn run(&mut self, py: Python<'_>, workload: &str, poll: Option<Py<PyAny>>) -> PyResult<String> {
        let workload = parse_workload(workload)?;
        let mut failure = None;
        let drive = &mut self.drive;
        let outcome = py.detach(|| {
            let mut poll = |bytes, operations| {
                Python::attach(|py| ask(py, poll.as_ref(), bytes, operations)).unwrap_or_else(|error| {
                    failure = Some(error);
                    true
                })
            };
            mileage_drive::run(drive, &workload, &mut Unobserved, &mut poll)
        });
        match failure {
            Some(error) => Err(error),
            None => to_json(&outcome.map_err(|error: Error| PyValueError::new_err(error.to_string()))?),
        }
    }

    /// Let virtual time pass without I/O, in nanoseconds.
    fn idle(&mut self, nanoseconds: u64) {
        self.drive.idle_ns(nanoseconds);
    }

    /// Discard the whole capacity, as `blkdiscard` does.
    fn discard_all(&mut self) {
        self.drive.discard_all();
    }

    /// What explains the drive's speed: name and value since power-on.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.drive.named_counters()
    }

    /// The whole state, to be given to `restore`.
    fn save<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let state = py.detach(|| self.drive.save());
        PyBytes::new(py, &state)
    }

    /// The drive that goes on where a saved one of the same profile stopped. Raises `ValueError` when the state is
    /// damaged or belongs to another profile.
    #[staticmethod]
    fn restore(py: Python<'_>, profile: &str, state: &[u8]) -> PyResult<Self> {
        let profile = parse_profile(profile)?;
        let drive = py.detach(|| FlashDrive::restored(profile, state));
        drive.map(|drive| Self { drive }).map_err(|cause| PyValueError::new_err(cause.to_string()))
    }
}
