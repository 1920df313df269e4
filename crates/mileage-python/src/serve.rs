//! Python class for a virtual drive that is served to the kernel in real time.

use crate::conversions::{refused, to_json};
use mileage_drive::Profile;
use mileage_serve::{DriveMount, Server, ServerOptions};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;

/// A virtual drive with real data whose requests are answered at their modelled instants.
///
/// `profile` is the text of a profile. `state`: what a virtual drive of this profile saved. `data`: a file that keeps the
/// data; in memory without one. `speed`: "real", "unbounded" or a factor such as "x10". `spins`: spend the end of each wait
/// spinning, which is more precise and uses a processor. Raises `mileage.errors.Refused`.
#[pyclass(name = "DriveServer", module = "mileage._core")]
pub struct PyDriveServer {
    server: Server,
    mounted: Option<DriveMount>,
}

#[pymethods]
impl PyDriveServer {
    #[new]
    #[pyo3(signature = (profile, state = None, data = None, speed = "real", spins = false))]
    fn new(profile: &str, state: Option<Vec<u8>>, data: Option<PathBuf>, speed: &str, spins: bool) -> PyResult<Self> {
        let profile = Profile::parse(profile).map_err(refused)?;
        let speed = speed.parse().map_err(|text: String| refused(text))?;
        let server = Server::new(profile, &ServerOptions { state, data, speed, spins }).map_err(refused)?;
        Ok(Self { server, mounted: None })
    }

    /// Bytes that can be addressed.
    #[getter]
    fn capacity_bytes(&self) -> u64 {
        self.server.capacity_bytes()
    }

    /// Mount a file system at a directory whose only file, `drive`, is the drive; `block_bytes` is the block size that
    /// it reports.
    #[expect(clippy::needless_pass_by_value, reason = "an argument from Python arrives owned")]
    fn mount(&mut self, py: Python<'_>, at: PathBuf, block_bytes: u32) -> PyResult<()> {
        let server = &self.server;
        self.mounted = Some(py.detach(|| server.mount(&at, block_bytes)).map_err(refused)?);
        Ok(())
    }

    /// Serve the drive to NBD clients of a unix socket.
    #[expect(clippy::needless_pass_by_value, reason = "an argument from Python arrives owned")]
    fn listen_nbd(&self, at: PathBuf) -> PyResult<()> {
        self.server.listen_nbd(&at).map_err(refused)
    }

    /// Whether the file system was unmounted, or never mounted.
    #[getter]
    fn is_unmounted(&self) -> bool {
        self.mounted.as_ref().is_none_or(DriveMount::is_over)
    }

    /// Statistics as JSON.
    fn stats(&self, py: Python<'_>) -> PyResult<String> {
        to_json(&py.detach(|| self.server.stats()))
    }

    /// How late answers were since this was last asked, as JSON.
    fn recent_lateness(&self, py: Python<'_>) -> PyResult<String> {
        to_json(&py.detach(|| self.server.recent_lateness()))
    }

    /// The drive's state with all that was written. Raises `mileage.errors.Refused` when the drive has no power.
    fn save<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let state = py.detach(|| self.server.save()).map_err(refused)?;
        Ok(PyBytes::new(py, &state))
    }

    /// Age the drive by this number of bytes of random writes without a change of its data; the bytes written. `stop(bytes)` is
    /// called now and then and ends it by answering true.
    #[expect(clippy::needless_pass_by_value, reason = "an argument from Python arrives owned")]
    fn age(&self, py: Python<'_>, written_bytes: u64, seed: u64, stop: Py<PyAny>) -> PyResult<u64> {
        let mut failure = None;
        let aged = py.detach(|| {
            self.server.age(written_bytes, seed, &mut |bytes| {
                let asked = Python::attach(|py| stop.call1(py, (bytes,))?.extract(py));
                asked.unwrap_or_else(|error| {
                    failure = Some(error);
                    true
                })
            })
        });
        match failure {
            Some(error) => Err(error),
            None => aged.map_err(refused),
        }
    }

    /// Cut the power; what that did, as JSON. Raises `mileage.errors.Refused` when nobody knows what that loses.
    fn power_cut(&self, py: Python<'_>, seed: u64) -> PyResult<String> {
        to_json(&py.detach(|| self.server.power_cut(seed)).map_err(refused)?)
    }

    /// Switch the drive on again.
    fn power_on(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.server.power_on()).map_err(refused)
    }

    /// Let the drive be missing until it is switched on; the number of requests that failed.
    fn drop_off(&self, py: Python<'_>) -> PyResult<u64> {
        py.detach(|| self.server.drop_off()).map_err(refused)
    }

    /// Let the drive answer nothing for this time of the host's clock.
    fn stall(&self, py: Python<'_>, nanoseconds: u64) {
        py.detach(|| self.server.stall(std::time::Duration::from_nanos(nanoseconds)));
    }

    /// Let reading a range fail until it is written; the number of its sectors. Raises `mileage.errors.Refused` when the
    /// range is not one of whole sectors of the drive.
    fn damage(&self, py: Python<'_>, offset_bytes: u64, length_bytes: u64) -> PyResult<u64> {
        py.detach(|| self.server.damage(offset_bytes, length_bytes)).map_err(refused)
    }

    /// End all faults that were injected; the number of sectors that can be read again.
    fn heal(&self, py: Python<'_>) -> usize {
        py.detach(|| self.server.heal())
    }
}
