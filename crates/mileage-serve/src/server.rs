//! A server: what a program does with a served drive.

use crate::clock::{Clock, Speed};
use crate::core::Core;
use crate::error::ServeError;
use crate::fuse;
use crate::medium::{DataFile, Medium};
use crate::monitor::DriveMonitor;
use crate::nbd;
use crate::request::{Call, Failure, HostAnswer, HostRequest};
use crate::stats::{LatenessStats, PowerCutResult, ServerStats};
use mileage_drive::{BlockDevice, Drive, PowerCut, PowerCutError, Profile};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Pages that are written before others get the lock.
const WEAR_PAGES: u64 = 4096;

/// Options of a server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// State that a virtual drive of this profile saved; a new drive without one.
    pub state: Option<Vec<u8>>,
    /// File that keeps the data; in memory without one.
    pub data: Option<PathBuf>,
    /// Speed of the drive's clock.
    pub speed: Speed,
    /// Whether the end of each wait is spent spinning rather than asleep.
    pub spins: bool,
}

/// A served drive. It ends when it is dropped; what is mounted has to be unmounted before.
pub struct Server {
    shared: Arc<DriveMonitor>,
    thread: Option<JoinHandle<()>>,
}

/// A mounted file system with the drive as its file.
pub struct DriveMount {
    session: Option<std::thread::JoinHandle<io::Result<()>>>,
}

impl DriveMount {
    /// Whether it was unmounted.
    pub fn is_over(&self) -> bool {
        self.session.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Wait until it is unmounted.
    ///
    /// # Errors
    /// Those of the system.
    pub fn join(&mut self) -> io::Result<()> {
        match self.session.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(_)) => Err(io::Error::other("the thread of the file system panicked")),
            None => Ok(()),
        }
    }
}

impl Server {
    /// Serve the drive of a profile.
    ///
    /// # Errors
    /// The state does not fit the profile, or the data cannot be kept.
    pub fn new(profile: Profile, options: &ServerOptions) -> Result<Self, ServeError> {
        let drive = match &options.state {
            Some(state) => Drive::restored(profile, state)?,
            None => Drive::new(profile),
        };
        let (device, writes) = drive.into_device();
        let (capacity_bytes, sector_bytes) = (device.capacity_bytes(), device.sector_bytes());
        let file = match &options.data {
            Some(path) => DataFile::at(path, capacity_bytes)?,
            None => DataFile::in_memory(capacity_bytes)?,
        };
        let known = device.losses(0, capacity_bytes, PowerCut { at_ns: device.now_ns(), seed: 0 });
        let can_cut = !matches!(known, Err(PowerCutError::Unknown | PowerCutError::Packed));
        let clock = Clock::new(options.speed, device.now_ns());
        let core = Core::new(device, writes, Medium::new(file, sector_bytes, can_cut), clock, can_cut);
        let shared = Arc::new(DriveMonitor::new(core, capacity_bytes, sector_bytes));
        let (threads, spins) = (Arc::clone(&shared), options.spins);
        let thread =
            std::thread::Builder::new().name("mileage-drive".to_owned()).spawn(move || threads.answer_later(spins))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Mount a file system at this directory whose only file is the drive. `block_bytes`: what it reports as its block
    /// size, which is the discard granularity of a loop device over the file.
    ///
    /// # Errors
    /// Those of the system.
    pub fn mount(&self, at: &Path, block_bytes: u32) -> Result<DriveMount, ServeError> {
        Ok(DriveMount { session: Some(fuse::mount(&self.shared, at, block_bytes)?) })
    }

    /// Serve the drive to NBD clients of a unix socket at this path, until the process ends.
    ///
    /// # Errors
    /// Those of the system.
    pub fn listen_nbd(&self, at: &Path) -> Result<(), ServeError> {
        Ok(nbd::listen(&self.shared, at)?)
    }

    /// Do a request, and wait for its answer.
    ///
    /// # Errors
    /// Reason why it failed.
    pub fn request(&self, request: HostRequest<()>) -> Result<Vec<u8>, Failure> {
        let (sender, receiver) = std::sync::mpsc::channel();
        let answer: HostAnswer = Box::new(Call(sender));
        let HostRequest { kind, fua, offset_bytes, length_bytes, data, .. } = request;
        self.shared.submit(HostRequest { kind, fua, offset_bytes, length_bytes, data, answer });
        receiver.recv().unwrap_or(Err(Failure::Io))
    }

    /// Statistics since the server began.
    pub fn stats(&self) -> ServerStats {
        self.shared.lock().core.stats(Instant::now())
    }

    /// How late answers were since this was last asked.
    pub fn recent_lateness(&self) -> LatenessStats {
        self.shared.lock().core.recent_lateness()
    }

    /// The state of the drive with all that was written, as a virtual drive takes it.
    ///
    /// # Errors
    /// The drive has no power.
    pub fn save(&self) -> Result<Vec<u8>, ServeError> {
        self.shared.with(|core, _, _| core.save())
    }

    /// Age the drive by this number of bytes of random writes, in simulated time and without a change of its data. `stop` is asked
    /// now and then.
    ///
    /// # Errors
    /// The drive has no power, or ended.
    pub fn age(&self, bytes: u64, seed: u64, stop: &mut dyn FnMut(u64) -> bool) -> Result<u64, ServeError> {
        let page_bytes = self.shared.lock().core.page_bytes();
        let pages = self.shared.capacity_bytes / page_bytes;
        let wanted = bytes.div_ceil(page_bytes);
        let mut draw = Draw(seed);
        let mut done = 0;
        while done < wanted && !stop(done * page_bytes) {
            let some = (wanted - done).min(WEAR_PAGES);
            self.shared.with(|core, _, _| {
                core.begin_ageing()?;
                let worn = (0..some).try_for_each(|_| core.wear(draw.below(pages)));
                core.end_ageing()?;
                worn
            })?;
            done += some;
        }
        Ok(done * page_bytes)
    }

    /// The power fails.
    ///
    /// # Errors
    /// The drive has no power, or nobody knows what a power cut loses.
    pub fn power_cut(&self, seed: u64) -> Result<PowerCutResult, ServeError> {
        self.shared.with(|core, now, ready| core.power_cut(seed, now, ready))
    }

    /// Switch the drive on again.
    ///
    /// # Errors
    /// The drive has power.
    pub fn power_on(&self) -> Result<(), ServeError> {
        self.shared.with(|core, now, _| core.power_on(now))
    }

    /// The drive is missing until it is switched on; the number of requests that failed.
    ///
    /// # Errors
    /// The drive has no power.
    pub fn drop_off(&self) -> Result<u64, ServeError> {
        self.shared.with(Core::drop_off)
    }

    /// Nothing is answered for this time of the host's clock, whatever the speed of the drive's.
    pub fn stall(&self, time: Duration) {
        self.shared.with(|core, now, _| core.stall(time, now));
    }

    /// Reading a range fails until it is written; the number of its sectors.
    ///
    /// # Errors
    /// The range is not one of whole sectors of the drive.
    pub fn damage(&self, offset_bytes: u64, length_bytes: u64) -> Result<u64, ServeError> {
        self.shared.with(|core, _, _| core.damage(offset_bytes, length_bytes))
    }

    /// End all faults that were injected; the number of sectors that can be read again.
    pub fn heal(&self) -> usize {
        self.shared.with(|core, now, _| {
            core.stall(Duration::ZERO, now);
            core.medium().heal()
        })
    }

    /// Bytes that can be addressed.
    pub fn capacity_bytes(&self) -> u64 {
        self.shared.capacity_bytes
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.lock().stops = true;
        self.shared.wake.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Random numbers for ageing (splitmix64).
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^= word >> 31;
        ((u128::from(word) * u128::from(bound)) >> 64) as u64
    }
}
