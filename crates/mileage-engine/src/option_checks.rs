//! Checks options before the target is opened, and refuses what an API, or this machine, cannot honour.

use crate::cpu_affinity;
use crate::data::{Laps, UNITS_MAX};
use crate::error::Error;
use crate::options::{Advice, Api, Options};
use mileage_workload::{Files, Sync, Verify, Workload};

/// Most buffers of one vectored call (`IOV_MAX`).
const PARTS_MAX: u32 = 1024;
/// Shortest and longest first interval of a series: closing an interval takes a microsecond, and intervals above an hour show nothing.
pub(crate) const INTERVAL_MIN_NS: u64 = 10_000_000;
const INTERVAL_MAX_NS: u64 = 3_600_000_000_000;
/// Largest buffer of a stream, in bytes.
const STREAM_BYTES_MAX: u32 = 1 << 30;

/// Check that writes can be made durable in this way.
fn check_sync(sync: Sync) -> Result<(), Error> {
    if sync == Sync::Fua {
        return Err(Error::Workload(mileage_workload::Error::Refused {
            what: "sync",
            found: "fua".to_owned(),
            expected: "it is for virtual drives: a real target is opened with dsync (O_DSYNC)",
        }));
    }
    Ok(())
}

/// Check that the options, and the workload through their API, can be honoured, as far as that is known without the
/// target.
///
/// # Errors
/// What cannot be honoured.
pub fn check(workload: &Workload, options: &Options) -> Result<(), Error> {
    let api = name(options.api);
    check_sync(workload.sync)?;
    let many = matches!(options.api, Api::Uring { .. });
    if workload.depth > 1 && !many {
        return Err(Error::Depth { found: workload.depth, api });
    }
    let cannot = |what, found: &dyn std::fmt::Debug, because| {
        Err(Error::Api { api, what, found: format!("{found:?}"), because })
    };
    match options.api {
        Api::Vectored { parts } => {
            if !(1..=PARTS_MAX).contains(&parts) {
                return cannot("parts", &parts, "which takes 1 to 1024 buffers in a call");
            }
            if !workload.lengths_are_multiples_of(parts) {
                return cannot(
                    "parts",
                    &parts,
                    "which cuts every record into equal parts: choose a divisor of the record",
                );
            }
        }
        Api::Mmap => {
            if options.direct {
                return cannot("direct", &true, "a mapping is the page cache");
            }
            if options.dsync {
                return cannot("dsync", &true, "whose writes make no call: let it sync with sync_every");
            }
            if options.create {
                return cannot("create", &true, "a mapping cannot extend a file: lay it out first");
            }
        }
        Api::Stdio { buffer_bytes } => {
            if options.direct {
                return cannot("direct", &true, "whose buffer the C library aligns as it likes");
            }
            if workload.discards() {
                return cannot("discard_percent", &workload.discard_percent, "whose buffer would not know of them");
            }
            if buffer_bytes > STREAM_BYTES_MAX {
                return cannot("buffer_bytes", &buffer_bytes, "whose buffer is at most 1 GiB");
            }
        }
        Api::Null => {
            let asked = [("direct", options.direct), ("dsync", options.dsync), ("create", options.create)];
            if let Some((what, _)) = asked.into_iter().find(|(_, asked)| *asked) {
                return cannot(what, &true, "which opens nothing");
            }
            if workload.verify != Verify::Off {
                return cannot("verify", &workload.verify, "which reads nothing");
            }
        }
        Api::Positioned | Api::Seek | Api::Uring { .. } => {}
    }
    if options.interval_ns != 0 && !(INTERVAL_MIN_NS..=INTERVAL_MAX_NS).contains(&options.interval_ns) {
        return Err(Error::Workload(mileage_workload::Error::OutOfRange {
            what: "interval_ns",
            found: options.interval_ns,
            min: INTERVAL_MIN_NS,
            max: INTERVAL_MAX_NS,
        }));
    }
    check_cache_drop(options)?;
    check_advice(options)?;
    check_touch(workload, options)?;
    check_comparison(workload, options)?;
    cpu_affinity::check(&options.pin_cpus)
}

/// Check that the page cache can be dropped between passes.
fn check_cache_drop(options: &Options) -> Result<(), Error> {
    let because = match options.api {
        _ if options.drop_cache_every_bytes == 0 => return Ok(()),
        Api::Mmap | Api::Stdio { .. } | Api::Null => {
            "of which the page cache is not dropped between passes: choose positioned, seek, vectored or uring"
        }
        _ if options.direct => "whose direct I/O leaves nothing in the page cache",
        _ => return Ok(()),
    };
    let (api, found) = (name(options.api), options.drop_cache_every_bytes.to_string());
    Err(Error::Api { api, what: "drop_cache_every_bytes", found, because })
}

/// Check that the kernel can use advice on the order of reads.
fn check_advice(options: &Options) -> Result<(), Error> {
    let because = match options.api {
        _ if options.advice == Advice::None => return Ok(()),
        Api::Null => "which opens nothing",
        _ if options.direct => "whose direct I/O has the kernel read nothing ahead",
        _ => return Ok(()),
    };
    let (api, found) = (name(options.api), format!("{:?}", options.advice).to_lowercase());
    Err(Error::Api { api, what: "advice", found, because })
}

/// Check that the read data can be touched.
fn check_touch(workload: &Workload, options: &Options) -> Result<(), Error> {
    let because = match options.touch_bytes {
        0 => return Ok(()),
        _ if matches!(options.api, Api::Uring { .. } | Api::Null) => {
            "which does not hand over what one read has brought: choose positioned, or remove touch_bytes"
        }
        _ if !workload.reads() => "where nothing is read: remove touch_bytes",
        _ if workload.verify != Verify::Off => {
            "where what was read is compared, and would be changed: remove touch_bytes or verify"
        }
        most if most > workload.length_bytes_max() => "where no record is as long: choose the record or less",
        _ => return Ok(()),
    };
    let (api, found) = (name(options.api), options.touch_bytes.to_string());
    Err(Error::Api { api, what: "touch_bytes", found, because })
}

/// Check that reads can be compared with data that the run itself writes at the same time.
fn check_comparison(workload: &Workload, options: &Options) -> Result<(), Error> {
    if !Laps::needed(workload) {
        return Ok(());
    }
    let (unit_bytes, units) = Laps::size(workload);
    let units = units.saturating_mul(u64::from(Laps::files(workload)));
    if units > UNITS_MAX {
        return Err(Error::Workload(mileage_workload::Error::OutOfRange {
            what: "records of all files that are written and compared in one run",
            found: units,
            min: 1,
            max: UNITS_MAX,
        }));
    }
    debug_assert!(unit_bytes > 0, "records are not empty");
    let streams = matches!(options.api, Api::Stdio { .. });
    if streams && workload.threads > 1 && workload.files == Files::Shared {
        return Err(Error::Api {
            api: name(options.api),
            what: "verify",
            found: format!("{:?}", workload.verify),
            because: "where each thread has a buffer of its own that others do not see: give each a file, or one thread",
        });
    }
    Ok(())
}

/// Name of an API in the options.
pub(crate) fn name(api: Api) -> &'static str {
    match api {
        Api::Positioned => "positioned",
        Api::Seek => "seek",
        Api::Vectored { .. } => "vectored",
        Api::Mmap => "mmap",
        Api::Stdio { .. } => "stdio",
        Api::Uring { .. } => "uring",
        Api::Null => "null",
    }
}
