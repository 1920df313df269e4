"""Calls of other programs: mkfs, mount, losetup and their like.

Scope: one call, its output, and why it failed, in one line. A program is started in a process group of its
own, so that Ctrl-C at a terminal does not cut it off half-way: what it does is short, and is undone afterwards.
What it refuses: a program that is not installed, with the package that brings it on Debian.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from typing import Final

from mileage.errors import Refused, RunFailed
from mileage.log import log_step

_PACKAGES: Final = {
    "mkfs.ext3": "e2fsprogs",
    "mkfs.ext4": "e2fsprogs",
    "dumpe2fs": "e2fsprogs",
    "e2freefrag": "e2fsprogs",
    "mkfs.xfs": "xfsprogs",
    "xfs_info": "xfsprogs",
    "xfs_spaceman": "xfsprogs",
    "mkfs.btrfs": "btrfs-progs",
    "hdparm": "hdparm",
    "nvme": "nvme-cli",
}
HELD: Final[set[int]] = set()
"""Descriptors that every program keeps open until it ends: the locks of ledgers whose steps it may be doing."""
_SYSTEM_PATHS: Final = ("/usr/local/sbin", "/usr/sbin", "/sbin")


def find_program(name: str) -> str | None:
    """Find a program, also in administrators' folders; None when it is not installed."""
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), *_SYSTEM_PATHS))
    return shutil.which(name, path=path)


def missing(name: str) -> str:
    """Message about a program that is not installed."""
    return f"{name} is not installed; on Debian it comes with {_PACKAGES.get(name, 'util-linux')}"


def call(what: str, name: str, *arguments: str, timeout_s: float | None = None) -> str:
    """Run a program to its end and return what it printed. `what` names the target in messages.

    Raises Refused when it is not installed, and RunFailed when it fails or does not end in `timeout_s` seconds.
    """
    place = find_program(name)
    if place is None:
        raise Refused(what, missing(name), code="needs-program")
    try:
        done = subprocess.run(
            [place, *arguments],
            check=False,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            timeout=timeout_s,
            process_group=0,
            pass_fds=tuple(HELD),
            env={**os.environ, "LC_ALL": "C"},
        )
    except subprocess.TimeoutExpired:
        log_step(_command_line(name, arguments), what, f"not ended after {timeout_s:g} s")
        raise RunFailed(f"{what}: {name} has not ended after {timeout_s:g} s", cause="ETIMEDOUT") from None
    printed = (done.stdout or done.stderr).strip().partition("\n")[0]
    result = f"exit status {done.returncode}" + (f", {printed}" if printed else "")
    log_step(_command_line(name, arguments), what, result)
    if done.returncode != 0:
        lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        reason = lines[-1].strip() if lines else f"exit status {done.returncode}"
        raise RunFailed(f"{what}: {name} {' '.join(arguments)} failed: {reason}", cause="program")
    return done.stdout


def _command_line(name: str, arguments: Sequence[str]) -> str:
    """A call as the log shows it: without the password of a drive, which follows an option `--security-...`."""
    options = ("", *arguments)
    pairs = zip(options, arguments, strict=False)
    return " ".join((name, *("***" if option.startswith("--security-") else word for option, word in pairs)))
