"""`mileage iozone -U`: an unmount and a mount before each test, in a mount namespace with a table of its own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import mileage

PROGRAM = str(Path(sys.executable).with_name("mileage"))
ENTER = ["unshare", "--mount", "--propagation", "private", "sh", "-c"]
SCRIPT = """set -e
truncate -s 16m image && mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 image && mkdir -p mp
echo "$PWD/image $PWD/mp ext4 loop 0 0" > fstab
mount --bind fstab /etc/fstab
mount "$PWD/mp"
PLACE="$PWD"
trap 'cd /; umount "$PLACE/mp"' EXIT
set +e
"""
ARGUMENTS = "-s 64k -r 16k -f mp/file"
needs_mounts = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None or shutil.which("mkfs.ext4") is None,
    reason="needs root, unshare and mkfs.ext4",
)


def _inside(place: Path, command: str) -> subprocess.CompletedProcess[str]:
    """A shell's command in a mount namespace where `mp` is a file system in the table of file systems."""
    done = subprocess.run([*ENTER, SCRIPT + command], cwd=place, capture_output=True, text=True, check=False)
    if "failed to setup loop device" in done.stderr or "unshare failed" in done.stderr:
        pytest.skip(done.stderr.strip())
    return done


@needs_mounts
@pytest.mark.xdist_group("devices")
@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
@pytest.mark.parametrize(
    ("tests", "passes"), [("-i 0 -i 1 -i 2", 6), ("-i 0 -i 3 -+n", 2), ("-i 0 -i 4 -i 6", 5)]
)
def test_the_file_system_is_mounted_anew_before_each_test_and_each_pass(
    tmp_path: Path, tests: str, passes: int
) -> None:
    words = f"{ARGUMENTS} -w -U mp {tests}"
    programs = {"own": f"{PROGRAM} iozone", **({"real": real} if (real := shutil.which("iozone")) else {})}
    for name, program in programs.items():
        place = tmp_path / name
        place.mkdir()
        watch = f"strace -f -qq -e trace=mount,umount2,openat -P {place}/mp -P {place}/mp/file -P mp/file -o trace"
        done = _inside(place, f"{watch} {program} {words} && test -s mp/file && echo kept")
        assert done.returncode == 0, done.stderr
        assert done.stdout.endswith("kept\n")
        lines = (place / "trace").read_text().splitlines()
        # In order: u for an unmount, m for a mount, o for an open of the file, by its path or in its directory.
        calls = [line for line in lines if re.search(r"(umount2\(|[ ]mount\(|[/\"]file\").*= [0-9]+", line)]
        kinds = "".join("u" if "umount2(" in line else "o" if "openat(" in line else "m" for line in calls)
        assert re.fullmatch(rf"o*(umo+){{{passes}}}o*", kinds), kinds


MOUNT = """#!/bin/sh
# Takes the loop device that was free a moment ago, as another program may.
losetup --find --show "{place}/taken" >> "{place}/devices"
exec {mount} "$@"
"""


@needs_mounts
@pytest.mark.xdist_group("devices")
def test_a_file_system_may_come_back_on_another_device(tmp_path: Path) -> None:
    real = shutil.which("mount")
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "mount"
    program.write_text(MOUNT.format(place=tmp_path, mount=real))
    program.chmod(0o755)
    (tmp_path / "taken").write_bytes(bytes(1 << 20))
    command = f"PATH={tmp_path}/bin:$PATH {PROGRAM} iozone {ARGUMENTS} -U mp -i 0 -i 1 -r 32k; echo status $?; ls mp"
    try:
        done = _inside(tmp_path, command)
    finally:
        for device in (tmp_path / "devices").read_text().split():
            subprocess.run(["losetup", "--detach", device], check=True)
    assert "status 0\nlost+found\n" in done.stdout, done.stdout + done.stderr


@needs_mounts
@pytest.mark.xdist_group("devices")
def test_a_file_system_that_stays_in_use_ends_the_test(tmp_path: Path) -> None:
    use = "sleep 100 < mp/lost+found & "
    end = "; echo status $?; kill $!; wait"
    command = f"{use}{PROGRAM} iozone {ARGUMENTS} -U mp -i 0{end}"
    done = _inside(tmp_path, command)
    assert "status 3" in done.stdout
    assert f"umount {tmp_path}/mp failed 7 times: " in " ".join(done.stderr.split())
    assert "iozone test complete" not in done.stdout


@needs_mounts
@pytest.mark.xdist_group("devices")
@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("cd mp; {} -f file -U .", "the working directory is below it"),
        ("{} -f file -U mp", "which is not below it"),
        ("mkdir a; mount -t tmpfs none a; {} -f a/file -U a", "has no line in /etc/fstab"),
    ],
)
def test_what_cannot_be_mounted_anew_is_refused(tmp_path: Path, command: str, reason: str) -> None:
    done = _inside(tmp_path, command.format(f"{PROGRAM} iozone -s 64k -r 16k -i 0") + "; echo status $?")
    assert "status 2" in done.stdout, done.stderr
    assert reason in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("words", "status"),
    [("-U /nowhere -t 2", 15), ("-U /nowhere -l 1", 5), ("-U /nowhere -u 2", 7), ("-t 2 -U /nowhere", 16)],
)
def test_children_are_refused_with_the_status_of_iozone(tmp_path: Path, words: str, status: int) -> None:
    done = mileage("iozone", *words.split(), "-i", "0", "-s", "64k", "-r", "16k", cwd=tmp_path)
    assert done.returncode == status
    assert "unmount & remounts" in done.stderr
    assert not list(tmp_path.iterdir())
