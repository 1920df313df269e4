//! Python class for a modelled host above a virtual drive.

use crate::conversions::{ask, parse_workload, refused, to_json};
use mileage_drive::{Device, Drive, Profile};
use mileage_engine::{iozone_file_job, iozone_results};
use mileage_host::{FIRST_HANDLE, FileJobResult, Host, HostProfile, OpenMode, WORK_FILE, run, run_job};
use mileage_workload::{FileJob, NoObserver};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

fn parse_host(text: &str) -> PyResult<HostProfile> {
    HostProfile::parse(text).map_err(refused)
}

#[expect(clippy::needless_pass_by_value, reason = "handed over by `map_err`")]
fn wrong(cause: impl ToString) -> PyErr {
    PyValueError::new_err(cause.to_string())
}

/// The title of a host profile (TOML). Raises `mileage.errors.Refused` when it is none.
#[pyfunction]
pub fn host_title(profile: &str) -> PyResult<String> {
    Ok(parse_host(profile)?.title)
}

/// The figures of a host profile (TOML): name, value, source and confidence of each. Raises
/// `mileage.errors.Refused` when it is none.
#[pyfunction]
pub fn host_figures(profile: &str) -> PyResult<Vec<(&'static str, String, String, String)>> {
    let row = |(name, value, source, confidence): mileage_host::profile::FigureLine| {
        (name, value, source, format!("{confidence:?}").to_lowercase())
    };
    Ok(parse_host(profile)?.figures.into_iter().map(row).collect())
}

/// What of the content of writes matters to a drive and does not reach it through a host.
fn unseen_content(drive: &Profile) -> Option<String> {
    match drive {
        Profile::Flash(flash) if flash.packing.dedupe_contents.is_some() => Some(format!(
            "{} finds duplicates: a modelled host hands on how far the written pages compress, not which of them are equal",
            flash.basics.name
        )),
        Profile::Array(array) => {
            let members = array.members.iter().chain(&array.spares);
            let packs = |profile: &Profile| match profile {
                Profile::Flash(flash) => flash.packing.packs(),
                Profile::Array(_) => unseen_content(profile).is_some(),
                _ => false,
            };
            members.map(|member| &member.profile).find(|profile| packs(profile)).map(|member| {
                format!(
                    "{} is an array of {}, whose content matters: an array does not hand content on to its members",
                    array.basics.name,
                    member.basics().name
                )
            })
        }
        _ => None,
    }
}

/// A modelled host in virtual time: page cache, block layer and file system above a virtual drive.
///
/// `Host(host, drive, state)` takes the texts of two profiles and, if the drive was used before, its state. Equal calls give
/// equal times.
#[pyclass(name = "Host", module = "mileage._core")]
pub struct PyHost {
    host: Host,
}

impl PyHost {
    fn do_job(&mut self, py: Python<'_>, job: FileJob, poll: Option<&Py<PyAny>>) -> PyResult<FileJobResult> {
        let mut failure = None;
        let host = &mut self.host;
        let outcome = py.detach(|| {
            let mut poll = |bytes, operations| {
                Python::attach(|py| ask(py, poll, bytes, operations)).unwrap_or_else(|error| {
                    failure = Some(error);
                    true
                })
            };
            run_job(host, job, &mut poll)
        });
        match failure {
            Some(error) => Err(error),
            None => outcome.map_err(refused),
        }
    }
}

#[pymethods]
impl PyHost {
    /// A host that was just started, with a new file system on a factory-fresh drive, or on one in a state that a virtual drive
    /// of this profile saved. Raises `mileage.errors.Refused` for an impossible profile, for a state of another drive, and for
    /// a drive that finds duplicates: the host hands on how far pages compress, not which are equal.
    #[new]
    #[pyo3(signature = (host, drive, state = None))]
    fn new(host: &str, drive: &str, state: Option<&[u8]>) -> PyResult<Self> {
        let drive = Profile::parse(drive).map_err(refused)?;
        if let Some(why) = unseen_content(&drive) {
            return Err(refused(format!("{why}; choose another drive, or the drive without a host")));
        }
        let host = parse_host(host)?;
        Ok(Self {
            host: match state {
                Some(state) => Host::on_used_drive(host, Drive::restored(drive, state).map_err(refused)?),
                None => Host::new(host, Device::new(drive)),
            },
        })
    }

    /// Bytes that the file system has free.
    #[getter]
    fn free_bytes(&self) -> u64 {
        self.host.free_bytes()
    }

    /// Bytes of memory.
    #[getter]
    fn memory_bytes(&self) -> u64 {
        self.host.profile().memory_bytes
    }

    /// Virtual time since power-on, in nanoseconds.
    #[getter]
    fn now_ns(&self) -> u64 {
        self.host.now_ns()
    }

    /// Make the work file at least so long, by writing what is missing, syncing and emptying the cache. Raises `ValueError`
    /// when it does not fit.
    fn make_work_file(&mut self, py: Python<'_>, bytes: u64) -> PyResult<()> {
        let host = &mut self.host;
        py.detach(|| host.make_work_file(bytes)).map_err(wrong)
    }

    /// Write everything that is dirty, and empty the cache.
    fn empty_caches(&mut self, py: Python<'_>) -> PyResult<()> {
        let host = &mut self.host;
        py.detach(|| host.empty_caches()).map(|_| ()).map_err(wrong)
    }

    /// Read the work file from end to end through the cache.
    fn fill_cache(&mut self, py: Python<'_>) -> PyResult<()> {
        let host = &mut self.host;
        py.detach(|| host.fill_cache()).map_err(wrong)
    }

    /// Do a workload (JSON) on the work file and return its record (JSON). `direct`: past the cache. `dsync`: each write is
    /// synced. `poll(bytes, operations)` is called now and then; when it answers true the run is interrupted. Raises
    /// `ValueError` when the host cannot do the workload.
    #[pyo3(signature = (workload, poll = None, direct = false, dsync = false))]
    #[expect(clippy::needless_pass_by_value, reason = "an argument from Python arrives owned")]
    fn run(
        &mut self,
        py: Python<'_>,
        workload: &str,
        poll: Option<Py<PyAny>>,
        direct: bool,
        dsync: bool,
    ) -> PyResult<String> {
        let workload = parse_workload(workload)?;
        let mut failure = None;
        let host = &mut self.host;
        let outcome = py.detach(|| {
            let mut poll = |bytes, operations| {
                Python::attach(|py| ask(py, poll.as_ref(), bytes, operations)).unwrap_or_else(|error| {
                    failure = Some(error);
                    true
                })
            };
            run(host, &workload, OpenMode { direct, dsync }, &mut NoObserver, &mut poll)
        });
        match failure {
            Some(error) => Err(error),
            None => to_json(&outcome.map_err(wrong)?),
        }
    }

    /// Do a job on files (JSON: `phases`, each with the work of its tasks) and return the records of its timed phases (JSON).
    /// `poll` is as in `run`. Raises `mileage.errors.Refused` when the job breaks a rule.
    #[pyo3(signature = (job, poll = None))]
    #[expect(clippy::needless_pass_by_value, reason = "an argument from Python arrives owned")]
    fn run_files(&mut self, py: Python<'_>, job: &str, poll: Option<Py<PyAny>>) -> PyResult<String> {
        let job = serde_json::from_str(job).map_err(|cause| refused(format!("job: {cause}")))?;
        to_json(&self.do_job(py, job, poll.as_ref())?)
    }

    /// Do a set of IOzone's tests (JSON) on the file at `path` and return their results (JSON), as `run_iozone` does on a real
    /// file. Raises `mileage.errors.Refused` for what only a real file has.
    #[pyo3(signature = (path, suite, poll = None))]
    #[expect(clippy::needless_pass_by_value, reason = "an argument from Python arrives owned")]
    fn run_iozone(&mut self, py: Python<'_>, path: &str, suite: &str, poll: Option<Py<PyAny>>) -> PyResult<String> {
        let suite = serde_json::from_str(suite).map_err(|cause| refused(format!("suite: {cause}")))?;
        let job = iozone_file_job(&suite, path, FIRST_HANDLE).map_err(refused)?;
        let done = self.do_job(py, job, poll.as_ref())?;
        let records = done.phases.into_iter().map(|phase| phase.record).collect();
        to_json(&iozone_results(&suite, records, done.interrupted))
    }

    /// As `run_files`, a metadata workload for each of `shares`: its directory (empty, or ending in a slash) and the workload
    /// (JSON). All begin together. `name`: what the record is called.
    #[pyo3(signature = (name, shares, poll = None))]
    #[expect(clippy::needless_pass_by_value, reason = "an argument from Python arrives owned")]
    fn run_names(
        &mut self,
        py: Python<'_>,
        name: &str,
        shares: Vec<(String, String)>,
        poll: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        let parse = |(base, text): &(String, String)| {
            let metadata = serde_json::from_str(text).map_err(|cause| refused(format!("metadata: {cause}")))?;
            Ok((base.clone(), metadata))
        };
        let shares = shares.iter().map(parse).collect::<PyResult<Vec<_>>>()?;
        let job = FileJob::of_names(name, &shares, FIRST_HANDLE).map_err(refused)?;
        to_json(&self.do_job(py, job, poll.as_ref())?)
    }

    /// Remove a directory with everything in it, if it is there. Raises `OSError`.
    fn remove_tree(&mut self, py: Python<'_>, path: &str) -> PyResult<()> {
        let host = &mut self.host;
        py.detach(|| host.remove_tree(path)).map_err(|error| PyOSError::new_err(format!("{}: {error}", error.errno())))
    }

    /// Let virtual time pass, in nanoseconds; the flusher and the journal work meanwhile.
    fn idle(&mut self, py: Python<'_>, nanoseconds: u64) {
        let host = &mut self.host;
        py.detach(|| host.advance_to(host.now_ns().saturating_add(nanoseconds)));
    }

    /// Discard every free block, as `fstrim` does. Raises `ValueError` when kernel or drive refuse it.
    fn trim(&mut self, py: Python<'_>) -> PyResult<()> {
        let host = &mut self.host;
        py.detach(|| host.call(mileage_host::Call::TrimFree)).map(|_| ()).map_err(wrong)
    }

    /// Do a system call (JSON) alone, and let time pass until it has ended; when that was, in nanoseconds. Raises `OSError`
    /// with what Linux calls the failure.
    fn call(&mut self, py: Python<'_>, call: &str) -> PyResult<u64> {
        let call = serde_json::from_str(call).map_err(|cause| PyValueError::new_err(format!("call: {cause}")))?;
        let host = &mut self.host;
        py.detach(|| host.call(call)).map_err(|error| PyOSError::new_err(format!("{}: {error}", error.errno())))
    }

    /// Record every request to the drive from now on.
    fn trace_requests(&mut self) {
        self.host.trace_requests();
    }

    /// The requests since they are recorded, or since this was last asked: kind (`read`, `write`, `discard` or `flush`), first
    /// byte, bytes, FUA.
    fn take_requests(&mut self) -> Vec<(String, u64, u64, bool)> {
        let requests = self.host.take_requests().into_iter();
        let kind = |kind| format!("{kind:?}").to_lowercase();
        requests.map(|it| (kind(it.kind), it.offset, it.length, it.fua)).collect()
    }

    /// Record every system call from now on.
    fn trace_calls(&mut self) {
        self.host.trace_calls();
    }

    /// The calls since they are recorded, or since this was last asked, as JSON: number of the task, and the call.
    fn take_calls(&mut self) -> PyResult<String> {
        to_json(&self.host.take_calls())
    }

    /// Remember from now on what is written and what is acknowledged as durable.
    fn track_durability(&mut self) {
        self.host.track_durability();
    }

    /// Forget it again.
    fn forget_durability(&mut self) {
        self.host.forget_durability();
    }

    /// Synced writes since that is tracked, and how many of them a power cut now would lose. Raises `ValueError` when the
    /// drive's profile does not say what a cut loses, and when metadata may have been written in place meanwhile.
    fn survival(&mut self, seed: u64) -> PyResult<(u64, u64)> {
        let (tracked_ns, limit_ns) = (self.host.tracked_ns(), self.host.profile().dirty_age_ns);
        if tracked_ns > limit_ns {
            return Err(wrong(format!(
                "the run took {:.1} s: expected at most {:.1} s (dirty_age_s of the host), after which metadata is written in \
                 place; make the run shorter",
                tracked_ns as f64 / 1e9,
                limit_ns as f64 / 1e9
            )));
        }
        let found = self.host.survival(seed).map_err(wrong)?;
        Ok((found.acknowledged, found.lost))
    }

    /// Write and sync 4 KiB `cuts` times, and think of a power cut at a random instant of each: how many cuts lose an
    /// acknowledged write, the most that one loses, and the time of the writes in nanoseconds. Raises `ValueError` when the
    /// drive's profile does not say what a cut loses.
    fn random_cuts(&mut self, py: Python<'_>, cuts: u64, seed: u64) -> PyResult<(u64, u64, u64)> {
        let host = &mut self.host;
        let found = py.detach(|| host.random_cuts(cuts, seed)).map_err(wrong)?;
        Ok((found.losing, found.lost_most, found.synced_ns))
    }

    /// What explains the host's speed, and behind it the drive's: name and value since power-on.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.host.named_counters()
    }

    /// How things stand now: name and value.
    fn gauges(&self) -> Vec<(&'static str, u64)> {
        self.host.named_gauges()
    }

    /// The extents of the work file: byte in the file, byte on the drive and bytes of each.
    fn work_file_extents(&self) -> Vec<(u64, u64, u64)> {
        let files = self.host.files();
        let found = files.resolve(WORK_FILE).ok().and_then(|(_, _, file)| file);
        let extents = found.map(|file| &files.inode(file).extents).into_iter().flatten();
        let bytes = |pages: u64| pages * mileage_host::page_cache::PAGE_BYTES;
        extents.map(|(page, (count, block))| (bytes((*page).into()), bytes(*block), bytes((*count).into()))).collect()
    }

    /// The whole state, to be given to `restore`: cache, files, journal, queues and the drive.
    fn save<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let state = py.detach(|| self.host.save());
        PyBytes::new(py, &state)
    }

    /// The host that continues where a saved one of the same profiles stopped. Raises `ValueError` when the state is damaged or
    /// belongs to other profiles.
    #[staticmethod]
    fn restore(py: Python<'_>, host: &str, drive: &str, state: &[u8]) -> PyResult<Self> {
        let mut made = Self::new(host, drive, None)?;
        py.detach(|| made.host.restore(state)).map_err(wrong)?;
        Ok(made)
    }
}
