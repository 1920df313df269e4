//! Content of what the host writes, for a drive that compresses.
//!
//! The drive gets the sizes to which the pages of the current run compress ([`PageSizes`]), and takes every page for one of
//! the run, those of the journal and of metadata among them. What is dirty is written before a run with another
//! content begins. Work files are made of what does not compress, and so is what nobody describes: writes of metadata
//! workloads, and calls alone before the first run. Drives that do not compress get nothing.

use crate::call::{Call, CallError};
use crate::host::Host;
use mileage_drive::PageSizes;
use mileage_workload::{Content, Error, FileCall, FileJob, FilePhase, FileWork, MetadataOp, NamesPart, Workload};

/// A job whose phases change the content only where nothing is dirty.
pub(crate) struct JobContents {
    /// The job, with a sync before each phase of another content than before.
    pub job: FileJob,
    /// The content of each phase that changes it; empty if the drive does not look at it.
    pub changes: Vec<Option<PageSizes>>,
}

impl Host {
    /// What the workload writes, if it writes and anything depends on it.
    pub(crate) fn content_of(&mut self, workload: &Workload) -> Option<PageSizes> {
        let page_bytes = self.device.page_bytes();
        let is_looked_at = workload.writes() && self.device.page_sizes().is_some();
        is_looked_at.then(|| PageSizes::of(workload, page_bytes))
    }

    /// Write what is dirty, if it has another content than what is written from here on.
    ///
    /// # Errors
    /// The drive fails.
    pub(crate) fn change_content(&mut self, content: PageSizes) -> Result<(), CallError> {
        if self.device.page_sizes().is_some() && self.state.content != content {
            self.call(Call::SyncAll)?;
            self.set_content(content);
        }
        Ok(())
    }

    /// What is written from here on has this content.
    pub(crate) fn set_content(&mut self, content: PageSizes) {
        if let Some(sizes) = self.device.page_sizes() {
            sizes.clone_from(&content);
            self.state.content = content;
        }
    }

    /// Find where a job changes the content.
    ///
    /// # Errors
    /// The job breaks a rule, or tasks of one phase write different contents.
    pub(crate) fn contents_of(&mut self, job: FileJob) -> Result<JobContents, Error> {
        if self.device.page_sizes().is_none() {
            return Ok(JobContents { job, changes: Vec::new() });
        }
        job.check()?;
        let page_bytes = self.device.page_bytes();
        let mut current = self.state.content.clone();
        let (mut phases, mut changes) = (Vec::new(), Vec::new());
        // Compressing takes milliseconds, and most phases are like one before.
        let mut known = Vec::new();
        let undescribed = Workload::default();
        for phase in job.phases {
            let written = written_in(&phase, &undescribed)?;
            let content = written.map_or_else(|| current.clone(), |it| sizes_of(it, page_bytes, &mut known));
            if content == current {
                changes.push(None);
            } else {
                let work = vec![FileWork::Calls { calls: vec![FileCall::SyncAll], tolerant: false }];
                phases.push(FilePhase { name: "sync".to_owned(), timed: false, work });
                changes.extend([None, Some(content.clone())]);
                current = content;
            }
            phases.push(phase);
        }
        Ok(JobContents { job: FileJob { phases }, changes })
    }
}

/// What the sizes of a workload's pages depend on.
type Facts = (Content, u64, u32, u64);

/// The sizes of a workload's pages, from those that are known if one was alike.
fn sizes_of(workload: &Workload, page_bytes: u32, known: &mut Vec<(Facts, PageSizes)>) -> PageSizes {
    let end_bytes = workload.span_start_bytes + workload.span_bytes;
    let facts = (workload.content, workload.seed, workload.length_bytes_max(), end_bytes);
    if let Some((_, sizes)) = known.iter().find(|(other, _)| *other == facts) {
        return sizes.clone();
    }
    let sizes = PageSizes::of(workload, page_bytes);
    known.push((facts, sizes.clone()));
    sizes
}

/// The workload whose content a phase writes, if it writes; for writes that nobody describes it is `undescribed`.
fn written_in<'a>(phase: &'a FilePhase, undescribed: &'a Workload) -> Result<Option<&'a Workload>, Error> {
    let writes = |work: &'a FileWork| match work {
        FileWork::Rest | FileWork::Pause(_) => None,
        FileWork::Calls { calls, .. } => {
            calls.iter().any(|call| matches!(call, FileCall::Write { .. })).then_some(undescribed)
        }
        FileWork::Names { metadata, part, .. } => {
            let creates = match part {
                NamesPart::Operate { .. } => metadata.operation == MetadataOp::Create,
                NamesPart::Make { .. } => true,
                NamesPart::Remove { .. } => false,
            };
            (creates && metadata.file_bytes > 0).then_some(undescribed)
        }
        FileWork::Records { workload, .. } => workload.writes().then_some(&**workload),
    };
    let mut all = phase.work.iter().filter_map(writes);
    let Some(first) = all.next() else { return Ok(None) };
    match all.find(|other| other.content != first.content) {
        None => Ok(Some(first)),
        Some(other) => Err(Error::Refused {
            what: "content",
            found: format!("{:?} and {:?} in one phase", first.content, other.content),
            expected: "one content for all tasks of a phase: a modelled host hands on one at a time",
        }),
    }
}
