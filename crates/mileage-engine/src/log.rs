//! The log of single operations: a CSV file, written by a thread of its own during the run.
//!
//! A worker puts each operation that counts into a chunk of memory, hands full ones over and takes empty ones back; it
//! never waits, allocates or formats. Where the writer cannot keep up, operations are missing from the log, never from
//! the record, which says how many. Rows are in the order of completion for each thread, threads in turn.
//!
//! The file can be replayed as a trace.

use crate::errno;
use crate::error::Error;
use crate::identity::Identity;
use mileage_measure::LogRecord;
use mileage_workload::Op;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The first line of the file. Times are in nanoseconds since the run's threads were released; `due_ns` is empty where
/// nothing but the end of the one before says when an operation starts.
const HEADER: &str = "start_ns,due_ns,end_ns,thread,kind,offset_bytes,length_bytes\n";
/// Operations of a chunk.
const CHUNK: usize = 1024;
/// Limit of the memory for all chunks of a run, in bytes.
const BYTES_MAX: usize = 64 << 20;
/// Fewest chunks of a thread: one to fill while the other is written.
const CHUNKS_MIN: usize = 2;
/// Interval at which the writer checks whether the run is over.
const LOOK: Duration = Duration::from_millis(20);

/// Log entry of one operation.
#[derive(Clone, Copy, Debug)]
struct Entry {
    op: Op,
    due_ns: Option<u64>,
    start_ns: u64,
    end_ns: u64,
}

#[derive(Debug)]
struct Chunk {
    thread: u32,
    entries: Vec<Entry>,
    back: SyncSender<Vec<Entry>>,
}

/// The log of a run in progress.
#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
    own: Identity,
    chunks: Sender<Chunk>,
    of_each: usize,
    closing: Arc<AtomicBool>,
    written: Mutex<Receiver<Result<u64, String>>>,
}

/// One thread's access to the log.
#[derive(Debug)]
pub(crate) struct LogWriter {
    thread: u32,
    full: Sender<Chunk>,
    empty: Receiver<Vec<Entry>>,
    back: SyncSender<Vec<Entry>>,
    entries: Option<Vec<Entry>>,
}

impl Log {
    /// Make the file, which must not be there yet, and start what writes it.
    ///
    /// # Errors
    /// The file exists or cannot be made, or there is no thread for it.
    pub(crate) fn create(path: &Path, threads: u32) -> Result<Self, Error> {
        let refused = |error: std::io::Error| {
            let errno = rustix::io::Errno::from_io_error(&error).unwrap_or(rustix::io::Errno::IO);
            Error::Target {
                what: "make the log",
                path: path.to_owned(),
                kind: errno::name(errno),
                reason: errno::sentence(errno),
                advice: if errno == rustix::io::Errno::EXIST {
                    ": a log is never written over; name another"
                } else {
                    ""
                },
            }
        };
        let file = File::options().write(true).create_new(true).open(path).map_err(refused)?;
        let own = Identity::of(&file).map_err(|errno| refused(errno.into()))?;
        let (chunks, incoming) = channel();
        let (outcome, written) = channel();
        let closing = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&closing);
        let writing = move || {
            // Ignore the error: after `give_up` no thread receives the entries.
            let _ = outcome.send(write(file, &incoming, &over).map_err(|error| error.to_string()));
        };
        std::thread::Builder::new().name("mileage-log".to_owned()).spawn(writing).map_err(|error| {
            own.remove(path);
            Error::NoThread { thread: threads, threads: threads + 1, reason: error.to_string() }
        })?;
        let of_each = (BYTES_MAX / (CHUNK * size_of::<Entry>()) / threads.max(1) as usize).max(CHUNKS_MIN);
        Ok(Self { path: path.to_owned(), own, chunks, of_each, closing, written: Mutex::new(written) })
    }

    /// The end of one thread, with its memory.
    pub(crate) fn pen(&self, thread: u32) -> LogWriter {
        let (back, empty) = sync_channel(self.of_each);
        for _ in 1..self.of_each {
            // Cannot fail: the channel was made with room for every chunk of the thread.
            let _ = back.try_send(Vec::with_capacity(CHUNK));
        }
        LogWriter { thread, full: self.chunks.clone(), empty, back, entries: Some(Vec::with_capacity(CHUNK)) }
    }

    /// The outcome of the log of a run that has counted `booked` operations and whose threads have all ended. Waits
    /// for the writer, `timeout_ns` at most if that is not 0.
    pub(crate) fn finish(&self, booked: u64, timeout_ns: u64) -> LogRecord {
        self.closing.store(true, Ordering::SeqCst);
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = match timeout_ns {
            0 => written.recv().map_err(|_| "its writer broke".to_owned()),
            _ => written.recv_timeout(Duration::from_nanos(timeout_ns)).map_err(|error| match error {
                RecvTimeoutError::Timeout => format!("no answer within {:.1} s", timeout_ns as f64 * 1e-9),
                RecvTimeoutError::Disconnected => "its writer broke".to_owned(),
            }),
        };
        match outcome.flatten() {
            Ok(written) => LogRecord { written, lost: booked.saturating_sub(written), failure: String::new() },
            Err(reason) => {
                LogRecord { written: 0, lost: booked, failure: format!("{}: {reason}", self.path.display()) }
            }
        }
    }

    /// Abandon the log, because the run did not take place.
    pub(crate) fn give_up(&self) {
        self.closing.store(true, Ordering::SeqCst);
        self.own.remove(&self.path);
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.closing.store(true, Ordering::SeqCst);
    }
}

impl LogWriter {
    /// Write down one operation.
    #[inline]
    pub(crate) fn note(&mut self, op: Op, due_ns: Option<u64>, start_ns: u64, end_ns: u64) {
        if self.entries.is_none() {
            self.entries = self.empty.try_recv().ok();
        }
        let Some(entries) = &mut self.entries else { return };
        entries.push(Entry { op, due_ns, start_ns, end_ns });
        if entries.len() == CHUNK {
            self.hand_over();
        }
    }

    /// Let the writer have what was noted.
    #[cold]
    pub(crate) fn hand_over(&mut self) {
        if let Some(entries) = self.entries.take() {
            // A failed writer has recorded its own error, so nothing is added here.
            let _ = self.full.send(Chunk { thread: self.thread, entries, back: self.back.clone() });
        }
    }
}

/// Write chunks until the run is over and none is left; how many operations that were.
fn write(file: File, chunks: &Receiver<Chunk>, over: &AtomicBool) -> std::io::Result<u64> {
    let mut out = BufWriter::with_capacity(1 << 20, file);
    out.write_all(HEADER.as_bytes())?;
    let mut written = 0;
    loop {
        // Read the flag before the chunks: the thread that sets it has handed over all chunks before.
        let last = over.load(Ordering::SeqCst);
        let chunk = match chunks.try_recv() {
            Err(TryRecvError::Empty) if !last => chunks.recv_timeout(LOOK).ok(),
            found => found.ok(),
        };
        match chunk {
            Some(Chunk { thread, mut entries, back }) => {
                for entry in &entries {
                    row(&mut out, thread, entry)?;
                }
                written += entries.len() as u64;
                entries.clear();
                // Fails only if the thread that fills chunks has ended, and then nobody needs an empty one.
                let _ = back.try_send(entries);
            }
            None if last => break,
            None => {}
        }
    }
    out.flush()?;
    Ok(written)
}

fn row(out: &mut impl Write, thread: u32, entry: &Entry) -> std::io::Result<()> {
    let Entry { op, due_ns, start_ns, end_ns } = entry;
    let kind = op.kind.name();
    let Op { offset_bytes, length_bytes, .. } = op;
    match due_ns {
        Some(due_ns) => write!(out, "{start_ns},{due_ns},{end_ns}")?,
        None => write!(out, "{start_ns},,{end_ns}")?,
    }
    writeln!(out, ",{thread},{kind},{offset_bytes},{length_bytes}")
}

#[cfg(test)]
mod tests {
    use super::{CHUNK, Log};
    use mileage_workload::{Op, OpKind};

    fn op(number: u64) -> Op {
        Op { kind: OpKind::Write, offset_bytes: number * 512, length_bytes: 512 }
    }

    #[test]
    fn a_log_that_is_given_up_is_removed_unless_another_file_has_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.csv");
        Log::create(&path, 1).unwrap().give_up();
        assert!(!path.exists());

        let log = Log::create(&path, 1).unwrap();
        std::fs::rename(&path, folder.path().join("moved")).unwrap();
        std::fs::write(&path, b"of somebody else").unwrap();
        log.give_up();
        assert_eq!(std::fs::read(&path).unwrap(), b"of somebody else");
    }

    #[test]
    fn every_row_arrives_whatever_the_chunks() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.csv");
        let log = Log::create(&path, 2).unwrap();
        let count = 3 * CHUNK as u64 + 7;
        std::thread::scope(|scope| {
            for thread in 0..2 {
                let mut pen = log.pen(thread);
                scope.spawn(move || {
                    (0..count).for_each(|n| pen.note(op(n), (n % 2 == 0).then_some(n), n + 1, n + 2));
                    pen.hand_over();
                });
            }
        });
        let record = log.finish(2 * count, 0);
        assert_eq!((record.written, record.lost, record.failure.as_str()), (2 * count, 0, ""));
        let text = std::fs::read_to_string(&path).unwrap();
        for thread in 0..2 {
            let rows: Vec<&str> =
                text.lines().filter(|row| row.split(',').nth(3) == Some(&thread.to_string())).collect();
            assert_eq!(rows.len() as u64, count);
            assert_eq!(rows[0], format!("1,0,2,{thread},write,0,512"));
            assert_eq!(rows[5000 % rows.len()].split(',').nth(6), Some("512"));
            assert_eq!(rows[3], format!("4,,5,{thread},write,1536,512"));
        }
        assert!(Log::create(&path, 1).unwrap_err().to_string().contains("never written over"));
    }

    #[test]
    fn what_has_no_room_is_lost_and_counted() {
        let folder = tempfile::tempdir().unwrap();
        let log = Log::create(&folder.path().join("log.csv"), u32::MAX).unwrap();
        let mut pen = log.pen(0);
        // Cut the way back of chunks, so that the two that exist fill up.
        pen.back = std::sync::mpsc::sync_channel(1).0;
        (0..5 * CHUNK as u64).for_each(|n| pen.note(op(n), None, n, n));
        pen.hand_over();
        let record = log.finish(5 * CHUNK as u64, 0);
        assert_eq!((record.written, record.lost), (2 * CHUNK as u64, 3 * CHUNK as u64));
    }

    #[test]
    fn a_file_that_cannot_be_written_is_reported() {
        let Ok(full) = std::fs::File::options().write(true).open("/dev/full") else { return };
        let (give, take) = std::sync::mpsc::channel();
        drop(give);
        let error = super::write(full, &take, &true.into()).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
        let folder = tempfile::tempdir().unwrap();
        let nowhere = Log::create(&folder.path().join("nowhere").join("log.csv"), 1).unwrap_err();
        assert!(nowhere.to_string().contains("ENOENT"), "{nowhere}");
    }
}
