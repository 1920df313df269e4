//! The data of a served drive: a sparse file with the newest content, and of every change that a power cut could lose the
//! content before it.
//!
//! A power cut undoes all such changes, last one first, and makes those parts again that the drive does not lose. So reading and
//! writing cost no more than with a plain file, whatever the drive may lose.

use crate::request::Failure;
use mileage_drive::{Fate, Loss};
use rustix::fs::{FallocateFlags, MemfdFlags, SeekFrom, fallocate, memfd_create, seek};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Ranges up to this are kept whole, longer ones without their holes.
const WHOLE_BYTES: u64 = 1 << 20;
/// Page of the memory that holds a file.
const PAGE_BYTES: u64 = 4096;

/// A sparse file of a fixed size: what was never written or was discarded reads as zeroes and takes no room.
#[derive(Debug)]
pub struct DataFile {
    file: File,
}

impl DataFile {
    /// A file in memory, without a name.
    ///
    /// # Errors
    /// Those of the system.
    pub fn in_memory(bytes: u64) -> io::Result<Self> {
        let file = File::from(memfd_create("mileage-drive", MemfdFlags::CLOEXEC)?);
        file.set_len(bytes)?;
        Ok(Self { file })
    }

    /// The file at this path, which is made where there is none.
    ///
    /// # Errors
    /// Those of the system; `InvalidInput` when it has another size.
    pub fn at(path: &Path, bytes: u64) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        let found = file.metadata()?.len();
        if found != 0 && found != bytes {
            let text = format!("has {found} bytes: expected {bytes}, the capacity of the drive, or a new file");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        file.set_len(bytes)?;
        Ok(Self { file })
    }

    fn read(&self, offset_bytes: u64, length_bytes: u64) -> io::Result<Vec<u8>> {
        let mut data = vec![0; length_bytes as usize];
        self.file.read_exact_at(&mut data, offset_bytes)?;
        Ok(data)
    }

    fn write(&self, offset_bytes: u64, data: &[u8]) -> io::Result<()> {
        self.file.write_all_at(data, offset_bytes)
    }

    /// Let a range read as zeroes.
    fn punch(&self, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        if fallocate(&self.file, flags, offset_bytes, length_bytes).is_ok() {
            return Ok(());
        }
        // A file system without holes.
        let zeroes = vec![0; WHOLE_BYTES.min(length_bytes) as usize];
        let mut at = offset_bytes;
        let end = offset_bytes + length_bytes;
        while at < end {
            let length = (end - at).min(WHOLE_BYTES);
            self.write(at, &zeroes[..length as usize])?;
            at += length;
        }
        Ok(())
    }

    /// Content of a range, in pieces; what is in none of them is zero.
    fn pieces(&self, offset_bytes: u64, length_bytes: u64) -> io::Result<Pieces> {
        if length_bytes <= WHOLE_BYTES {
            return Ok(vec![(offset_bytes, self.read(offset_bytes, length_bytes)?)]);
        }
        let end = offset_bytes + length_bytes;
        let mut pieces = Vec::new();
        let mut at = offset_bytes;
        while at < end {
            let from = match seek(&self.file, SeekFrom::Data(at)) {
                Ok(from) if from < end => from,
                Ok(_) | Err(rustix::io::Errno::NXIO) => break,
                Err(error) => return Err(error.into()),
            };
            let to = seek(&self.file, SeekFrom::Hole(from))?.min(end);
            pieces.push((from, self.read(from, to - from)?));
            at = to;
        }
        Ok(pieces)
    }

    fn put_back(&self, offset_bytes: u64, length_bytes: u64, pieces: &Pieces) -> io::Result<()> {
        if length_bytes > WHOLE_BYTES {
            self.punch(offset_bytes, length_bytes)?;
        }
        pieces.iter().try_for_each(|(at, data)| self.write(*at, data))
    }
}

type Pieces = Vec<(u64, Vec<u8>)>;

/// A change of the content of a range.
#[derive(Clone, Copy, Debug)]
pub enum Change<'a> {
    /// New data.
    Data(&'a [u8]),
    /// This number of zero bytes.
    Zeroes(u64),
}

impl Change<'_> {
    fn length_bytes(&self) -> u64 {
        match self {
            Self::Data(data) => data.len() as u64,
            Self::Zeroes(bytes) => *bytes,
        }
    }
}

/// A change that a power cut may undo.
#[derive(Debug)]
struct Version {
    tag: u64,
    offset_bytes: u64,
    length_bytes: u64,
    before: Pieces,
    unreadable_before: Vec<u64>,
    durable_bytes: u64,
}

/// Sectors that a power cut changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CutSectors {
    /// Sectors that hold what was there before.
    pub old: u64,
    /// Torn sectors.
    pub torn: u64,
    /// Sectors that cannot be read.
    pub unreadable: u64,
}

/// The data of a drive.
#[derive(Debug)]
pub struct Medium {
    file: DataFile,
    sector_bytes: u64,
    keeps_versions: bool,
    versions: VecDeque<Version>,
    /// Number of the first version, and the numbers of all by their tags.
    first: u64,
    numbers: HashMap<u64, u64>,
    unreadable: BTreeSet<u64>,
}

impl Medium {
    /// Data in this file. `keeps_versions`: whether [`Self::cut`] will be called, and [`Self::durable`] for it.
    pub fn new(file: DataFile, sector_bytes: u32, keeps_versions: bool) -> Self {
        Self {
            file,
            sector_bytes: u64::from(sector_bytes),
            keeps_versions,
            versions: VecDeque::new(),
            first: 0,
            numbers: HashMap::new(),
            unreadable: BTreeSet::new(),
        }
    }

    /// Changes that a power cut may undo.
    pub fn versions(&self) -> usize {
        self.versions.len()
    }

    /// The content of a range.
    ///
    /// # Errors
    /// A sector of it is unreadable, or the file cannot be read.
    pub fn read(&self, offset_bytes: u64, length_bytes: u64) -> Result<Vec<u8>, Failure> {
        if self.unreadable.range(self.sectors(offset_bytes, length_bytes)).next().is_some() {
            return Err(Failure::Io);
        }
        self.file.read(offset_bytes, length_bytes).map_err(|_| Failure::Io)
    }

    /// Make a change that the drive has done. `is_durable`: whether all of it is durable already.
    ///
    /// # Errors
    /// The file cannot be written; the content is as it was.
    pub fn apply(&mut self, tag: u64, offset_bytes: u64, change: Change, is_durable: bool) -> io::Result<()> {
        let length_bytes = change.length_bytes();
        // Nothing has to be undone to reach it, and a page is written whole or not at all.
        let is_certain =
            is_durable && self.versions.is_empty() && offset_bytes % PAGE_BYTES + length_bytes <= PAGE_BYTES;
        if !self.keeps_versions || is_certain {
            return self.make(offset_bytes, change);
        }
        let before = self.file.pieces(offset_bytes, length_bytes)?;
        let sectors = self.sectors(offset_bytes, length_bytes);
        let unreadable_before: Vec<u64> = self.unreadable.range(sectors).copied().collect();
        if let Err(error) = self.make(offset_bytes, change) {
            self.file.put_back(offset_bytes, length_bytes, &before)?;
            self.unreadable.extend(unreadable_before);
            return Err(error);
        }
        self.numbers.insert(tag, self.first + self.versions.len() as u64);
        self.versions.push_back(Version {
            tag,
            offset_bytes,
            length_bytes,
            before,
            unreadable_before,
            durable_bytes: 0,
        });
        Ok(())
    }

    /// This number of bytes of a change became durable.
    pub fn durable(&mut self, tag: u64, bytes: u64) {
        let Some(number) = self.numbers.get(&tag) else { return };
        if let Some(version) = self.versions.get_mut((number - self.first) as usize) {
            version.durable_bytes += bytes;
        }
        while let Some(version) = self.versions.front().filter(|it| it.durable_bytes >= it.length_bytes) {
            self.numbers.remove(&version.tag);
            self.versions.pop_front();
            self.first += 1;
        }
    }

    /// Everything is durable.
    pub fn all_durable(&mut self) {
        self.first += self.versions.len() as u64;
        self.versions.clear();
        self.numbers.clear();
    }

    /// The power failed, and the drive lost this. `undecided`: changes whose end was not known then, in their order.
    ///
    /// # Errors
    /// The file cannot be written; its content is then undefined.
    pub fn cut(&mut self, losses: &[Loss], undecided: &[(u64, u64, Change)]) -> io::Result<CutSectors> {
        let mut lost: HashMap<u64, Vec<(u64, u64, Fate)>> = HashMap::new();
        for loss in losses {
            lost.entry(loss.tag.0).or_default().push((loss.offset_bytes, loss.length_bytes, loss.fate));
        }
        // Back to what is certain, last change first: what a change made is what is there when all later ones are undone.
        let mut made = Vec::new();
        for version in std::mem::take(&mut self.versions).into_iter().rev() {
            let Version { tag, offset_bytes, length_bytes, before, unreadable_before, .. } = version;
            made.push((tag, offset_bytes, length_bytes, self.file.pieces(offset_bytes, length_bytes)?));
            self.file.put_back(offset_bytes, length_bytes, &before)?;
            self.unreadable.extend(unreadable_before);
        }
        self.all_durable();
        let mut cut = CutSectors::default();
        for (tag, offset_bytes, length_bytes, pieces) in made.into_iter().rev() {
            self.make_again((offset_bytes, length_bytes), &pieces, lost.remove(&tag).unwrap_or_default(), &mut cut)?;
        }
        for (tag, offset_bytes, change) in undecided {
            let pieces = match change {
                Change::Data(data) => vec![(*offset_bytes, data.to_vec())],
                Change::Zeroes(_) => Vec::new(),
            };
            let range = (*offset_bytes, change.length_bytes());
            self.make_again(range, &pieces, lost.remove(tag).unwrap_or_default(), &mut cut)?;
        }
        Ok(cut)
    }

    /// Damage a range: reading it fails until it is written.
    pub fn damage(&mut self, offset_bytes: u64, length_bytes: u64) {
        let sectors = self.sectors(offset_bytes, length_bytes);
        self.unreadable.extend(sectors);
    }

    /// Heal what [`Self::damage`] or a power cut made unreadable; the number of sectors.
    pub fn heal(&mut self) -> usize {
        std::mem::take(&mut self.unreadable).len()
    }

    fn sectors(&self, offset_bytes: u64, length_bytes: u64) -> std::ops::Range<u64> {
        offset_bytes / self.sector_bytes..(offset_bytes + length_bytes) / self.sector_bytes
    }

    fn make(&mut self, offset_bytes: u64, change: Change) -> io::Result<()> {
        match change {
            Change::Data(data) => self.file.write(offset_bytes, data)?,
            Change::Zeroes(bytes) => self.file.punch(offset_bytes, bytes)?,
        }
        if !self.unreadable.is_empty() {
            let sectors = self.sectors(offset_bytes, change.length_bytes());
            self.unreadable.retain(|sector| !sectors.contains(sector));
        }
        Ok(())
    }

    /// Make a change again, but for what is lost of it.
    fn make_again(
        &mut self,
        (offset_bytes, length_bytes): (u64, u64),
        pieces: &Pieces,
        mut lost: Vec<(u64, u64, Fate)>,
        cut: &mut CutSectors,
    ) -> io::Result<()> {
        lost.sort_unstable();
        let end = offset_bytes + length_bytes;
        let mut at = offset_bytes;
        for (from, length, fate) in lost {
            self.copy(pieces, at, from.max(at))?;
            let sectors = length / self.sector_bytes;
            match fate {
                Fate::Old => cut.old += sectors,
                Fate::Torn => {
                    self.tear(pieces, from, from + length)?;
                    cut.torn += sectors;
                }
                Fate::Unreadable => {
                    self.unreadable.extend(self.sectors(from, length));
                    cut.unreadable += sectors;
                }
            }
            at = from + length;
        }
        self.copy(pieces, at, end)
    }

    /// Write a part of a changed range.
    fn copy(&mut self, pieces: &Pieces, from: u64, to: u64) -> io::Result<()> {
        if from >= to {
            return Ok(());
        }
        let whole = pieces.iter().find(|(at, data)| *at <= from && to <= at + data.len() as u64);
        if let Some((at, data)) = whole {
            return self.make(from, Change::Data(&data[(from - at) as usize..(to - at) as usize]));
        }
        self.make(from, Change::Zeroes(to - from))?;
        for (at, data) in pieces {
            let (start, end) = (from.max(*at), to.min(at + data.len() as u64));
            if start < end {
                self.make(start, Change::Data(&data[(start - at) as usize..(end - at) as usize]))?;
            }
        }
        Ok(())
    }

    /// Write the first half of each sector of a range.
    fn tear(&mut self, pieces: &Pieces, from: u64, to: u64) -> io::Result<()> {
        let mut at = from;
        while at < to {
            let sectors = self.sectors(at, self.sector_bytes);
            self.copy(pieces, at, at + self.sector_bytes / 2)?;
            self.unreadable.retain(|sector| !sectors.contains(sector));
            at += self.sector_bytes;
        }
        Ok(())
    }
}
