//! A file system that can be frozen: writes into it wait until it is thawed, as on a target that no longer answers.

use crate::scratch::folder;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// Thaws and unmounts its argument when its input ends, or after two minutes.
const KEEPER: &str = r#"timeout 120 cat; fsfreeze -u "$0"; umount -l "$0""#;

/// An ext4 of its own in a loop file, thawed and unmounted whatever happens. If it stayed frozen, whoever touches it
/// would hang, and a process with outstanding writes in it could not even be killed: so a second process thaws it
/// when the test has ended.
pub struct Freezable {
    folder: TempDir,
    keeper: Child,
}

impl Freezable {
    /// `None`, said by the test's name, where there is no such thing.
    pub fn ext4(test: &str) -> Option<Self> {
        let folder = folder();
        let (image, point) = (folder.path().join("image"), folder.path().join("mounted"));
        std::fs::create_dir(&point).unwrap();
        std::fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
        let mounted = did(Command::new("mkfs.ext4").arg("-q").arg(&image))
            && did(Command::new("fsfreeze").arg("--version"))
            && did(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(&point));
        if !mounted {
            eprintln!("skipped {test}: freezing an ext4 in a loop file needs root, mkfs.ext4 and fsfreeze");
            return None;
        }
        let keeper = Command::new("sh")
            .args(["-c", KEEPER])
            .arg(&point)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // What ends the test ends this only if it is meant to.
            .process_group(0)
            .spawn()
            .unwrap();
        Some(Self { folder, keeper })
    }

    /// Where it is mounted.
    pub fn point(&self) -> PathBuf {
        self.folder.path().join("mounted")
    }

    /// From now on writes wait.
    pub fn freeze(&self) {
        assert!(did(Command::new("fsfreeze").arg("-f").arg(self.point())), "it is mounted and not frozen");
    }

    /// Let writes continue. False if it is not frozen.
    pub fn thaw(&self) -> bool {
        did(Command::new("fsfreeze").arg("-u").arg(self.point()))
    }
}

impl Drop for Freezable {
    fn drop(&mut self) {
        self.thaw();
        // A thread that was left behind holds its file until its call has returned.
        let unmounted = (0..50).any(|_| {
            did(Command::new("umount").arg(self.point())) || {
                std::thread::sleep(Duration::from_millis(100));
                false
            }
        });
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
        assert!(unmounted || std::thread::panicking(), "something of the run still holds {}", self.point().display());
    }
}

fn did(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}
