//! Python class for a virtual drive.

use crate::conversions::{ask, parse_workload, refused, to_json};
use mileage_drive::profile::Level;
use mileage_drive::{Drive, Error, Immediate, ManagedImmediate, Profile, Reliability, Request, RequestKind};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

fn parse_profile(text: &str) -> PyResult<Profile> {
    Profile::parse(text).map_err(refused)
}

/// The title of a drive profile (TOML). Raises `mileage.errors.Refused` when it is none.
#[pyfunction]
pub fn drive_title(profile: &str) -> PyResult<String> {
    Ok(parse_profile(profile)?.basics().title.clone())
}

/// The figures of a drive profile (TOML): name, value, source and confidence of each. Raises
/// `mileage.errors.Refused` when it is none.
#[pyfunction]
pub fn drive_figures(profile: &str) -> PyResult<Vec<(&'static str, String, String, String)>> {
    let profile = parse_profile(profile)?;
    let row = |figure: &mileage_drive::profile::FigureText| {
        let confidence = format!("{:?}", figure.confidence).to_lowercase();
        (figure.name, figure.value.clone(), figure.source.clone(), confidence)
    };
    Ok(profile.basics().figures.iter().map(row).collect())
}

/// The alternatives that a drive profile (TOML) declares for figures that are not published: name, value, alternative
/// value and reason of each, in the order of the data sheet. Raises `mileage.errors.Refused` when it is none.
#[pyfunction]
pub fn drive_alternatives(profile: &str) -> PyResult<Vec<(&'static str, String, String, String)>> {
    let profile = parse_profile(profile)?;
    let rows = profile.basics().figures.iter().flat_map(|figure| {
        let row = |one: &mileage_drive::profile::Alternative<String>| {
            (figure.name, figure.value.clone(), one.value.clone(), one.reason.clone())
        };
        figure.alternatives.iter().map(row)
    });
    Ok(rows.collect())
}

/// The keys of all figures that a drive profile may have.
#[pyfunction]
pub fn drive_figure_names() -> Vec<&'static str> {
    mileage_drive::profile::figure_names()
}

/// The published rates that a drive profile (TOML) is held to, and what the simulated drive does, as JSON. Raises
/// `mileage.errors.Refused` when it is none.
#[pyfunction]
pub fn drive_rates(profile: &str) -> PyResult<String> {
    to_json(&parse_profile(profile)?.basics().rates)
}

/// How probable it is that the array of a profile (TOML) loses data within some years: hours of a repair, mean hours to the
/// loss of a set of copies or of the array, the exact probability, and the simulated one with the ends of its 95 % interval
/// over `arrays` simulated arrays. `None` for other drives, and for arrays that do not state `member_afr_percent`. Raises
/// `mileage.errors.Refused` when the text is no profile.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "a tuple is what Python gets")]
pub fn array_data_loss(
    py: Python<'_>,
    profile: &str,
    years: f64,
    arrays: u32,
    seed: u64,
) -> PyResult<Option<(f64, f64, f64, f64, f64, f64)>> {
    let Profile::Array(profile) = parse_profile(profile)? else { return Ok(None) };
    let Some(chain) = Reliability::of(&profile) else { return Ok(None) };
    let hours = years * 8760.0;
    let found = py.detach(|| chain.simulated_loss_within(hours, arrays.max(2), seed));
    let (mean_h, exact) = (chain.mean_h(), chain.loss_within(hours));
    Ok(Some((1.0 / chain.repairs_per_h, mean_h, exact, found.mean, found.low, found.high)))
}

/// Simulated probability that an array loses data within `hours`, and the ends of its 95 % interval, over `arrays` histories.
/// Members fail independently at `failures_per_h`, and each is restored after an exponential time of mean `repair_h`. `level`
/// is 0, 1, 10, 5 or 6. Raises `ValueError` for another level, fewer members than it needs, and times or rates not above 0.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "keyword arguments in Python")]
pub fn simulated_array_loss(
    py: Python<'_>,
    level: u8,
    members: usize,
    failures_per_h: f64,
    repair_h: f64,
    hours: f64,
    arrays: u32,
    seed: u64,
) -> PyResult<(f64, f64, f64)> {
    let (kind, least) = match level {
        0 => (Level::Raid0, 1),
        1 => (Level::Raid1, 2),
        10 => (Level::Raid10, 4),
        5 => (Level::Raid5, 3),
        6 => (Level::Raid6, 4),
        _ => return Err(PyValueError::new_err(format!("level is {level}: expected 0, 1, 10, 5 or 6"))),
    };
    if members < least || level == 10 && members % 2 == 1 {
        return Err(PyValueError::new_err(format!("RAID {level} of {members} members")));
    }
    if ![failures_per_h, repair_h, hours].iter().all(|value| value.is_finite() && *value > 0.0) {
        let found = format!("{failures_per_h} failures per hour, {repair_h} h of repair, {hours} h");
        return Err(PyValueError::new_err(format!("{found}: expected values above 0")));
    }
    let chain = Reliability { level: kind, members, failures_per_h, repairs_per_h: 1.0 / repair_h };
    let found = py.detach(|| chain.simulated_loss_within(hours, arrays.max(2), seed));
    Ok((found.mean, found.low, found.high))
}

/// Unsigned 64-bit numbers as a `NumPy` array.
fn array(py: Python<'_>, values: Vec<u64>) -> PyResult<Bound<'_, PyAny>> {
    py.import("numpy")?.call_method1("array", (values, "uint64"))
}

/// A virtual drive in virtual time, built from a profile (TOML).
///
/// `Drive(profile)` takes the text of a profile, or the name of a drive that ships with Mileage. The drive has no
/// randomness of its own: equal operations give equal times.
#[pyclass(name = "Drive", module = "mileage._core")]
pub struct PyDrive {
    drive: Drive,
}

#[pymethods]
impl PyDrive {
    /// A factory-fresh drive. Raises `mileage.errors.Refused` for an unknown name or an impossible profile.
    #[new]
    fn new(py: Python<'_>, profile: &str) -> PyResult<Self> {
        let named = !profile.contains('\n');
        let text: String = if named {
            py.import("mileage.targets.profiles")?.call_method1("load_profile", (profile,))?.extract()?
        } else {
            profile.to_owned()
        };
        Ok(Self { drive: Drive::new(parse_profile(&text)?) })
    }

    /// Short name.
    #[getter]
    fn name(&self) -> &str {
        &self.drive.basics().name
    }

    /// Bytes that the host can address.
    #[getter]
    fn capacity_bytes(&self) -> u64 {
        self.drive.basics().capacity_bytes
    }

    /// Bytes the maker warrants to be written, or `None`.
    #[getter]
    fn rated_write_bytes(&self) -> Option<u64> {
        self.drive.basics().rated_write_bytes
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
            drive.run_polled(&workload, &mut poll)
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

    /// Discard the whole capacity, as `blkdiscard` does. Raises `ValueError` when the drive refuses it.
    fn discard_all(&mut self) -> PyResult<()> {
        let request = Request {
            kind: RequestKind::Discard,
            fua: false,
            offset_bytes: 0,
            length_bytes: self.drive.basics().capacity_bytes,
            submit_ns: self.drive.now_ns(),
        };
        let completion = self.drive.submit_one(&request);
        if let Some(failure) = completion.status.failure() {
            return Err(PyValueError::new_err(failure));
        }
        self.drive.advance_to(completion.complete_ns);
        Ok(())
    }

    /// Counters that explain the drive's speed: name and value since power-on.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.drive.named_counters()
    }

    /// Gauges, which show the current state: name and value.
    fn gauges(&self) -> Vec<(&'static str, u64)> {
        self.drive.named_gauges()
    }

    /// Names of the counters, in the order of `counter_array`.
    fn counter_names(&self) -> Vec<&'static str> {
        self.drive.counter_names().to_vec()
    }

    /// The counters since power-on as a `NumPy` array of `uint64`.
    fn counter_array<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let mut values = vec![0; self.drive.counter_names().len()];
        self.drive.counters(&mut values);
        array(py, values)
    }

    /// `working`, `read-only`, `dead` or `dropped off`.
    #[getter]
    fn life(&self) -> &'static str {
        self.drive.life().words()
    }

    /// Power off and on again; a drive at the end of its life may not come back.
    fn power_cycle(&mut self) {
        self.drive.power_cycle();
    }

    /// Cut the power at `at_ns` (the present time when none is given) and restore it: nothing is outstanding afterwards.
    /// The acknowledged writes that are lost, in their order: number of the write command since the drive was new
    /// (from 0), first byte, bytes; one entry for each page. Raises `ValueError` for an instant that has passed or
    /// lies in a stall with commands waiting, and when the profile does not say whether the write buffer is volatile or
    /// protected.
    #[pyo3(signature = (at_ns = None))]
    fn power_cut(&mut self, at_ns: Option<u64>) -> PyResult<Vec<(u64, u64, u32)>> {
        let lost = self.drive.power_cut(at_ns.unwrap_or(self.drive.now_ns()));
        let lost = lost.map_err(|cause| PyValueError::new_err(cause.to_string()))?;
        Ok(lost.iter().map(|it| (it.write, it.offset_bytes, it.length_bytes)).collect())
    }

    /// Erase everything, wear aside.
    fn purge(&mut self) {
        self.drive.purge();
    }

    /// Submit operations of one kind (`read`, `write`, `discard`, `flush`) and length at these offsets, all at the
    /// same instant (nanoseconds; the present time when none is given, and never before it); when each is complete,
    /// as a `NumPy` array. Writes with `fua` wait for the flash. The clock does not move on to these completions:
    /// `idle` does that. Raises `ValueError` when the drive refuses one; those before it are done.
    #[pyo3(signature = (kind, offsets_bytes, length_bytes, at_ns = None, fua = false))]
    #[expect(clippy::needless_pass_by_value, reason = "an argument from Python arrives owned")]
    fn submit<'py>(
        &mut self,
        py: Python<'py>,
        kind: &str,
        offsets_bytes: Vec<u64>,
        length_bytes: u64,
        at_ns: Option<u64>,
        fua: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let kind = match kind {
            "read" => RequestKind::Read,
            "write" => RequestKind::Write,
            "discard" => RequestKind::Discard,
            "flush" => RequestKind::Flush,
            _ => {
                return Err(PyValueError::new_err(format!("kind is {kind:?}: expected read, write, discard or flush")));
            }
        };
        let submit_ns = at_ns.unwrap_or(0).max(self.drive.now_ns());
        let requests = offsets_bytes.iter();
        let requests: Vec<Request> =
            requests.map(|at| Request { kind, fua, offset_bytes: *at, length_bytes, submit_ns }).collect();
        let mut out = Vec::with_capacity(requests.len());
        let drive = &mut self.drive;
        py.detach(|| drive.submit(&requests, &mut out));
        for completion in &out {
            if let Some(failure) = completion.status.failure() {
                return Err(PyValueError::new_err(failure));
            }
        }
        array(py, out.iter().map(|completion| completion.complete_ns).collect())
    }

    /// The whole state, to be given to `restore`.
    fn save<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let state = py.detach(|| self.drive.save());
        PyBytes::new(py, &state)
    }

    /// The drive that continues where a saved one of the same profile stopped. Raises `ValueError` when the state is
    /// damaged or belongs to another profile.
    #[staticmethod]
    fn restore(py: Python<'_>, profile: &str, state: &[u8]) -> PyResult<Self> {
        let profile = parse_profile(profile)?;
        let drive = py.detach(|| Drive::restored(profile, state));
        drive.map(|drive| Self { drive }).map_err(|cause| PyValueError::new_err(cause.to_string()))
    }
}
