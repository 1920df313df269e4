"""Planted bugs: each patch of this folder breaks a rule of flash, and the tests of the crate must catch it.

`make mutants` copies the workspace to a scratch folder, sees that its tests pass, and then, patch by patch, that the
code still compiles and a test fails. Exit status 1 if a bug is not caught, or a patch no longer applies: then the code
has moved and the patch must follow.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PATCHES = sorted(Path(__file__).parent.glob("*.patch"))
TEST = ["cargo", "test", "--quiet", "--locked", "-p", "mileage-drive", "--lib", "--test", "it"]


def cargo(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """The crate's tests in a scratch copy, with a target folder that all patches share."""
    settings = {**os.environ, "CARGO_TARGET_DIR": str(folder / "target"), "RUST_BACKTRACE": "0"}
    settings |= {"PROPTEST_MAX_SHRINK_ITERS": "0", "PROPTEST_FAILURE_PERSISTENCE": "off"}
    return subprocess.run(
        [*TEST, *more], cwd=folder, env=settings, capture_output=True, text=True, check=False
    )


def failed_tests(output: str) -> list[str]:
    """Names of the tests that failed, from what cargo printed."""
    lines = (line.strip() for line in output.splitlines())
    return sorted({line.split()[1] for line in lines if line.startswith("---- ") and line.endswith("----")})


def caught(folder: Path, patch: Path) -> str | None:
    """What caught the bug; None when nothing did."""
    apply = ["git", "apply", "--unsafe-paths", str(patch)]
    if subprocess.run(apply, cwd=folder, check=False).returncode != 0:
        raise SystemExit(f"{patch.name} does not apply: the code has moved, and the patch must follow")
    try:
        if (built := cargo(folder, "--no-run")).returncode != 0:
            raise SystemExit(f"{patch.name} does not compile:\n{built.stderr[-2000:]}")
        result = cargo(folder)
        if result.returncode == 0:
            return None
        names = failed_tests(result.stdout)
        return f"{len(names)} tests, such as {names[0]}" if names else "an abort"
    finally:
        subprocess.run([*apply, "--reverse"], cwd=folder, check=True)


def say(line: str) -> None:
    """One line, at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    """Every patch in turn; the exit status."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch:
        folder = Path(scratch)
        for name in ("Cargo.toml", "Cargo.lock", "rustfmt.toml", "clippy.toml"):
            shutil.copy(ROOT / name, folder)
        for name in ("crates", "drives"):
            shutil.copytree(ROOT / name, folder / name, symlinks=True)
        if (clean := cargo(folder)).returncode != 0:
            say(f"the tests fail without any patch: {failed_tests(clean.stdout)}")
            return 1
        missed = 0
        for patch in PATCHES:
            by = caught(folder, patch)
            missed += by is None
            say(f"{'caught' if by else 'MISSED'}  {patch.stem}" + (f": {by}" if by else ""))
    say(f"{len(PATCHES) - missed} of {len(PATCHES)} caught in {time.monotonic() - start:.0f} s")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
