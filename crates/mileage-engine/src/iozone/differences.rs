//! Differences between IOzone's tests and what their names suggest, in words.

use super::steps::twice_backward;
use super::suite::{Iozone, Mode, Test, workload_of};
use mileage_units::format_bytes;
use mileage_workload::{Error, Execution, Files, Step, Stop, Workload};

/// Most records of a file whose visits are counted one by one.
const COUNTED_MAX: u64 = 1 << 24;

/// Describe how IOzone's tests differ from their names, one line for each such test of the suite, then a line that
/// holds for all. The suite's own mode does not matter.
///
/// # Errors
/// A suite that breaks a rule.
pub fn iozone_differences(suite: &Iozone) -> Result<String, Error> {
    let faithful = Iozone { mode: Mode::Fidelity, ..suite.clone() };
    let order = faithful.order();
    let mut lines = Vec::new();
    for test in &order {
        if let Some(line) = of_test(&faithful, *test)? {
            lines.push(format!("{}: {line}", test.name()));
        }
    }
    let skipped = suite.order().into_iter().filter(|test| !order.contains(test)).map(Test::name);
    let skipped: Vec<&str> = skipped.collect();
    if suite.mode == Mode::Intended && !skipped.is_empty() {
        lines.push(format!("not done by IOzone's workers: {}", skipped.join(", ")));
    }
    lines.extend(of_all(&faithful));
    Ok(lines.join("\n"))
}

fn of_test(suite: &Iozone, test: Test) -> Result<Option<String>, Error> {
    let together = suite.workers.is_some();
    let line = match test {
        Test::Write if together => "an existing file is written over and keeps its length".to_owned(),
        Test::Write => {
            "an existing file is emptied and removed, the new one is made by creat with mode 0640".to_owned()
        }
        Test::Read | Test::Reread if !together => {
            "the first record is read once before the clock, which wakes the read-ahead".to_owned()
        }
        Test::RandomRead | Test::RandomWrite | Test::Mix if !(test == Test::Mix && suite.mix_sequential) => {
            "each record once in both; IOzone's order is the same in every run and for every worker (MT19937-64 from a \
             fixed seed, each record swapped with one of all, which favours some orders), the intended one is drawn by \
             the run's seed; IOzone calls lseek and read or write, the intended test pread or pwrite"
                .to_owned()
        }
        Test::BackwardRead => {
            let twice = if twice_backward(suite) { "; all of it is done twice and the first pass counts" } else { "" };
            format!("lseek and read; after the last record an lseek before the file's start fails{twice}")
        }
        Test::RecordRewrite => "lseek to the start after each write".to_owned(),
        Test::StrideRead => stride(suite)?,
        Test::Fwrite => {
            "the file of the earlier tests is rewritten if there is one, where the name asks for a new file".to_owned()
        }
        Test::Fread | Test::Freread if suite.flush_timed => {
            "no flush counts in the time of a stream that is read".to_owned()
        }
        _ => return Ok(None),
    };
    Ok(Some(line))
}

fn stride(suite: &Iozone) -> Result<String, Error> {
    let records = suite.file_bytes / u64::from(suite.record_bytes);
    let step = suite.stride_records;
    let how = format!(
        "every {step} records in both; at the end IOzone goes to the record whose number is the count of rounds, the \
         intended test to the first one not yet read; lseek follows each read"
    );
    if records > COUNTED_MAX {
        return Ok(how);
    }
    let visited = visited(&workload_of(suite, Test::StrideRead))?;
    Ok(format!("{how}; of {records} records IOzone reads {visited} and some of them again, the intended test all"))
}

/// Different records that one worker visits.
fn visited(workload: &Workload) -> Result<u64, Error> {
    let records = workload.records();
    let stop = Stop { operations: Some(records), ..Stop::default() };
    let alone = Workload { threads: 1, files: Files::Shared, stop, ..workload.clone() };
    let mut execution = Execution::new(&alone, 0)?;
    let (mut seen, mut out) = (vec![false; records as usize], Vec::with_capacity(1));
    while execution.next(0, &mut out) == Step::Issue {
        for op in out.drain(..) {
            seen[(op.offset_bytes / u64::from(op.length_bytes)) as usize] = true;
            execution.complete(0);
        }
    }
    Ok(seen.into_iter().filter(|seen| *seen).count() as u64)
}

fn of_all(suite: &Iozone) -> Vec<String> {
    let mut lines = Vec::new();
    if suite.content.is_none() {
        lines.push(
            "data: IOzone writes its default bytes (iozone_default), which a compressor reduces to almost nothing; \
             intended is incompressible data"
                .to_owned(),
        );
    }
    match (suite.flush_timed, suite.close_timed) {
        (false, true) => lines.push(
            "flush: IOzone does not flush at all when closing counts in the time and flushing does not".to_owned(),
        ),
        (true, _) => lines.push(
            "flush: IOzone calls fsync inside the clock of every test but fread, those that only read included, and \
             once more after it unless closing counts as well"
                .to_owned(),
        ),
        (false, false) => {
            lines.push("flush: IOzone calls fsync after the clock of every test but fread, reads included".to_owned());
        }
    }
    if suite.direct {
        lines.push("direct: the streams of fwrite and fread go through the page cache, in both".to_owned());
    }
    if suite.workers.is_some() {
        lines.push(
            "workers: IOzone's are processes unless -T, these are threads; its readers leave when the first worker is \
             done, these finish and are counted up to there; a writer that sees the first one's end flushes and closes \
             its file in mid-run with -e or -c, these do not; it pauses 2 s after each test, here that is pause_ns"
                .to_owned(),
        );
    }
    lines.push(format!(
        "clock: IOzone reads gettimeofday and subtracts its resolution of about 1 us; here it is the run's clock. Its kB \
         is 1024 bytes: a record of {} counts {} kB",
        format_bytes(u64::from(suite.record_bytes)),
        suite.record_bytes / 1024
    ));
    lines.push(
        "file: IOzone removes the file at the end even if it only read it; here a file that was not made stays"
            .to_owned(),
    );
    lines
}
