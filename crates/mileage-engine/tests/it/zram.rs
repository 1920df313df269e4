//! A compressed block device of the kernel finds in what the engine writes what the compressor itself finds.
//!
//! The kernel compresses page by page with its own copy of LZ4 (an older release than the library's) or zstd; sizes of a
//! page may differ by a few bytes, which a tolerance of half a percent of the page allows. A page that stays longer than
//! about three quarters is stored as it is: levels below 50 % would show that rule and not the compressor.

use crate::scratch::{plain, run};
use mileage_engine::Options;
use mileage_workload::{Content, PatternKind, Stop, Sync, Workload};
use std::fs;
use std::path::PathBuf;

const CONTROL: &str = "/sys/class/zram-control";
const BYTES: u64 = 32 << 20;

type Compress = fn(&[u8]) -> usize;

/// A device of our own, removed however the test ends.
struct Zram {
    number: String,
}

impl Zram {
    fn new() -> Result<Self, String> {
        let path = format!("{CONTROL}/hot_add");
        let number = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        Ok(Self { number: number.trim().to_owned() })
    }

    fn attribute(&self, name: &str) -> String {
        format!("/sys/block/zram{}/{name}", self.number)
    }

    fn set(&self, name: &str, value: &str) -> Result<(), String> {
        let path = self.attribute(name);
        fs::write(&path, value).map_err(|error| format!("{value} to {path}: {error}"))
    }

    fn path(&self) -> PathBuf {
        format!("/dev/zram{}", self.number).into()
    }

    /// Bytes stored, and bytes that they take compressed.
    fn stored(&self) -> (u64, u64) {
        let text = fs::read_to_string(self.attribute("mm_stat")).unwrap();
        let mut figures = text.split_whitespace().map(|figure| figure.parse().unwrap());
        (figures.next().unwrap(), figures.next().unwrap())
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        let removed = self.set("reset", "1").and_then(|()| {
            let path = format!("{CONTROL}/hot_remove");
            fs::write(&path, &self.number).map_err(|error| format!("{path}: {error}"))
        });
        if let Err(error) = removed {
            eprintln!("zram{} is left behind: {error}", self.number);
        }
    }
}

fn lz4(page: &[u8]) -> usize {
    lz4::block::compress(page, None, false).unwrap().len()
}

fn zstd(page: &[u8]) -> usize {
    zstd::bulk::compress(page, 3).unwrap().len()
}

/// An algorithm that both the kernel and this test have.
fn choose(zram: &Zram) -> Result<(&'static str, Compress), String> {
    let algorithms = fs::read_to_string(zram.attribute("comp_algorithm")).map_err(|error| error.to_string())?;
    let known: [(&'static str, Compress); 2] = [("lz4", lz4), ("zstd", zstd)];
    let has = |name: &str| algorithms.split_whitespace().any(|found| found.trim_matches(['[', ']']) == name);
    let chosen = known.into_iter().find(|(name, _)| has(name));
    chosen.ok_or_else(|| format!("the kernel's zram has neither lz4 nor zstd, only {}", algorithms.trim()))
}

fn compare(level: u8) -> Result<(), String> {
    let zram = Zram::new()?;
    let (name, compress) = choose(&zram)?;
    zram.set("comp_algorithm", name)?;
    zram.set("disksize", &BYTES.to_string())?;
    let content = Content::Mixed { compressible_percent: level, duplicate_percent: 0 };
    let workload = Workload {
        pattern: PatternKind::Shuffled,
        record_bytes: 65_536,
        span_bytes: BYTES,
        stop: Stop { bytes: Some(BYTES), ..Stop::default() },
        content,
        sync: Sync::Fsync,
        ..plain()
    };
    let record = run(workload, Options { direct: true, ..Options::new(zram.path()) }).record;
    assert_eq!(record.error, None);
    let (stored, packed) = zram.stored();
    assert_eq!(stored, BYTES);
    let pages = fs::read(zram.path()).unwrap();
    let expected: usize = pages.chunks(4096).map(compress).sum();
    let percent = |bytes: f64| 100.0 * (1.0 - bytes / BYTES as f64);
    let (theirs, ours) = (percent(packed as f64), percent(expected as f64));
    eprintln!("{level} %: zram saves {theirs:.2} % with {name}, the compressor {ours:.2} %");
    assert!((theirs - ours).abs() < 0.5, "{level} %: zram saves {theirs:.2} % with {name}, the compressor {ours:.2} %");
    assert!((theirs - f64::from(level)).abs() < 2.0);
    Ok(())
}

#[test]
fn the_kernel_saves_what_the_compressor_saves() {
    for level in [50, 75, 98] {
        if let Err(missing) = compare(level) {
            eprintln!("skipped the_kernel_saves_what_the_compressor_saves: {missing}");
            return;
        }
    }
}
