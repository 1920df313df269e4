//! Unmount and mount again what the files are on, by the system's programs, as IOzone does before each test (`-U`).
//!
//! IOzone tries `umount` 199 times, for hours, and continues where `mount` fails. Here a few seconds are waited for a file
//! system that is in use, and then the test fails.

use mileage_measure::RunError;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Pauses before further tries: threads that closed a file a moment ago may still be ending.
const PAUSES_MS: [u64; 6] = [10, 50, 200, 500, 1000, 2000];

/// Unmount and mount; why that failed.
pub(super) fn remount(mount_point: &Path) -> Result<(), RunError> {
    call("umount", mount_point)?;
    call("mount", mount_point)
}

/// Run a program until it ends with 0, a few times.
fn call(program: &str, mount_point: &Path) -> Result<(), RunError> {
    let mut pauses = PAUSES_MS.iter();
    loop {
        let said = match Command::new(program).arg(mount_point).stdin(Stdio::null()).output() {
            Ok(done) if done.status.success() => return Ok(()),
            Ok(done) => String::from_utf8_lossy(&done.stderr).trim().replace('\n', "; "),
            Err(error) => error.to_string(),
        };
        let Some(pause_ms) = pauses.next() else {
            let message = format!("{program} {} failed {} times: {said}", mount_point.display(), PAUSES_MS.len() + 1);
            return Err(RunError { kind: "EBUSY".to_owned(), message });
        };
        std::thread::sleep(Duration::from_millis(*pause_ms));
    }
}
