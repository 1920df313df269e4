//! A drive as its profile describes it, with whatever wraps the flash.

use crate::device::{BlockDevice, Completion, Request};
use crate::faulty::Faulty;
use crate::flash::{FlashDrive, Life, LostWrite, PowerCutError, StateError};
use crate::profile::Profile;
use crate::run::{Error, run};
use mileage_measure::RunRecord;
use mileage_workload::{Observer, Op, Workload};

/// A drive: flash, and around it the faults that its profile gives it. Without any nothing is wrapped, and none of its
/// operations is the slower for it.
#[derive(Clone, Debug)]
pub enum Drive {
    /// Without faults.
    Flash(FlashDrive),
    /// With faults.
    Faulty(Faulty<FlashDrive>),
}

/// The same expression for whichever it is.
macro_rules! either {
    ($drive:expr, $device:ident => $answer:expr) => {
        match $drive {
            Drive::Flash($device) => $answer,
            Drive::Faulty($device) => $answer,
        }
    };
}

impl Drive {
    /// A drive as it leaves the factory: nothing written, its clock at 0.
    pub fn new(profile: Profile) -> Self {
        let faults = profile.faults;
        let flash = FlashDrive::new(profile);
        if faults.any() { Self::Faulty(Faulty::new(flash, faults)) } else { Self::Flash(flash) }
    }

    /// The drive that continues where a saved one of the same profile stopped.
    ///
    /// # Errors
    /// What is wrong with the state: another profile or version, truncated, corrupt.
    pub fn restored(profile: Profile, state: &[u8]) -> Result<Self, StateError> {
        let mut drive = Self::new(profile);
        drive.restore(state)?;
        Ok(drive)
    }

    /// The flash inside.
    pub fn flash(&self) -> &FlashDrive {
        match self {
            Self::Flash(flash) => flash,
            Self::Faulty(faulty) => faulty.inner(),
        }
    }

    /// Whether the drive dropped off: it answers nothing any more.
    pub fn dropped_off(&self) -> bool {
        matches!(self, Self::Faulty(faulty) if faulty.dropped_off())
    }

    /// Do something to the flash inside, unless the drive dropped off.
    fn with_flash(&mut self, act: impl FnOnce(&mut FlashDrive)) {
        match self {
            Self::Flash(flash) => act(flash),
            Self::Faulty(faulty) if faulty.dropped_off() => {}
            Self::Faulty(faulty) => faulty.with_inner(act),
        }
    }

    /// Run a workload, as [`run()`] does.
    ///
    /// # Errors
    /// Those of [`run()`].
    pub fn run<O: Observer>(
        &mut self,
        workload: &Workload,
        observer: &mut O,
        poll: &mut impl FnMut(u64, u64) -> bool,
    ) -> Result<RunRecord, Error> {
        // One loop for both: a second one costs this a tenth of its speed, since less of it is inlined.
        run(self, workload, observer, poll)
    }

    /// How the drive stands in its life, in a word.
    pub fn life_in_words(&self) -> &'static str {
        match self.flash().life() {
            _ if self.dropped_off() => "dropped off",
            Life::Working => "working",
            Life::ReadOnly => "read-only",
            Life::Dead => "dead",
        }
    }

    /// The counters with their names, since the drive was first powered on.
    pub fn named_counters(&self) -> Vec<(&'static str, u64)> {
        let names = self.counter_names();
        let mut values = vec![0; names.len()];
        self.counters(&mut values);
        names.iter().copied().zip(values).collect()
    }

    /// Erase everything (see [`FlashDrive::purge`]); a drive that dropped off stays as it is.
    pub fn purge(&mut self) {
        self.with_flash(FlashDrive::purge);
    }

    /// Discard the whole capacity, now; a drive that dropped off stays as it is.
    pub fn discard_all(&mut self) {
        self.with_flash(FlashDrive::discard_all);
    }

    /// Power off, after all that was written is on the medium, and on again; it brings back no drive that dropped off.
    pub fn power_cycle(&mut self) {
        self.with_flash(FlashDrive::power_cycle);
    }

    /// Cut the power (see [`FlashDrive::power_cut`]).
    ///
    /// # Errors
    /// Those of [`FlashDrive::power_cut`]; and the drive has faults, with which nobody kept what it acknowledged when.
    pub fn power_cut(&mut self, at_ns: u64) -> Result<Vec<LostWrite>, PowerCutError> {
        match self {
            Self::Flash(flash) => flash.power_cut(at_ns),
            Self::Faulty(_) => Err(PowerCutError::Faulty),
        }
    }
}

/// Out of the way of drives without faults.
#[inline(never)]
fn submit_to_faulty(faulty: &mut Faulty<FlashDrive>, request: &Request) -> Completion {
    faulty.submit_one(request)
}

impl BlockDevice for Drive {
    fn capacity_bytes(&self) -> u64 {
        either!(self, device => device.capacity_bytes())
    }

    fn sector_bytes(&self) -> u32 {
        either!(self, device => device.sector_bytes())
    }

    fn page_bytes(&self) -> u32 {
        either!(self, device => device.page_bytes())
    }

    fn now_ns(&self) -> u64 {
        either!(self, device => device.now_ns())
    }

    fn advance_to(&mut self, now_ns: u64) {
        either!(self, device => device.advance_to(now_ns));
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "hot, and called from several places: calls cost a tenth of the speed")]
    fn submit_one(&mut self, request: &Request) -> Completion {
        match self {
            Self::Flash(flash) => flash.submit_one(request),
            Self::Faulty(faulty) => submit_to_faulty(faulty, request),
        }
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "hot, and called from several places: calls cost a tenth of the speed")]
    fn prefetch(&mut self, later: &[Op], soon: &[Op]) {
        either!(self, device => device.prefetch(later, soon));
    }

    fn look_at_content(&mut self, workload: Option<&Workload>) -> bool {
        either!(self, device => device.look_at_content(workload))
    }

    fn begin_lap(&mut self, lap: u32) {
        either!(self, device => device.begin_lap(lap));
    }

    fn counter_names(&self) -> &'static [&'static str] {
        either!(self, device => device.counter_names())
    }

    fn counters(&self, out: &mut [u64]) {
        either!(self, device => device.counters(out));
    }

    fn gauge_names(&self) -> &'static [&'static str] {
        either!(self, device => device.gauge_names())
    }

    fn gauges(&self, out: &mut [u64]) {
        either!(self, device => device.gauges(out));
    }

    fn series_names(&self) -> &'static [&'static str] {
        either!(self, device => device.series_names())
    }

    fn save(&self) -> Vec<u8> {
        either!(self, device => device.save())
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), StateError> {
        either!(self, device => device.restore(state))
    }
}
