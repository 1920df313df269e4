"""Planted bugs: each patch in the folder `mutants` of a crate breaks a rule, and the tests of the crate must catch it.

A patch begins with a line `Caught by: FILTER`: the tests, by the start of their names, that look at that rule; those of
the crate's modules, or with `it::` those of `tests/it`.
`make mutants` copies the workspace into the target folder, checks that all these tests pass, and then, patch by patch,
that the code still compiles and one of the patch's own tests fails. Exit status 1 if a bug is not caught, or a patch
no longer applies or compiles: then the code has moved and the patch must follow. With arguments, only the patches whose
path contains one of them: `crates/mutants.py mileage-engine`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WANTED = sys.argv[1:] or [""]
PATCHES = [
    patch
    for patch in sorted(ROOT.glob("crates/*/mutants/*.patch"))
    if any(part in str(patch.relative_to(ROOT)) for part in WANTED)
]
MARK = "Caught by: "
# A bug may make the drive collect for ever; the tests alone take seconds.
LONGEST_S = 300
TEST = ["cargo", "test", "--quiet", "--locked"]
OUTSIDE = "it::"
# Less optimised than the tests are by default: what counts is building, once for each, more than running.
SETTINGS = {
    "RUST_BACKTRACE": "0",
    "PROPTEST_MAX_SHRINK_ITERS": "0",
    "PROPTEST_FAILURE_PERSISTENCE": "off",
    "CARGO_PROFILE_TEST_OPT_LEVEL": "1",
}


def tests_of(patch: Path) -> str:
    """The tests that the patch says catch it."""
    first = patch.read_text().partition("\n")[0]
    if not first.startswith(MARK):
        raise SystemExit(
            f"{patch.name} begins with {first!r}: expected {MARK!r} and the start of a test's name"
        )
    return first.removeprefix(MARK).strip()


def crate_of(patch: Path) -> str:
    """The crate whose tests catch the bug."""
    return patch.parents[1].name


def program_of(patch: Path) -> list[str]:
    """The test program that holds the patch's tests, as cargo's options, and their names within it."""
    crate, tests = ["-p", crate_of(patch)], tests_of(patch)
    if tests.startswith(OUTSIDE):
        return [*crate, "--test", "it", "--", tests.removeprefix(OUTSIDE)]
    return [*crate, "--lib", "--", tests]


def fails_unpatched(tree: Path) -> str:
    """What fails without any patch; nothing if all is well."""
    programs = [program_of(patch) for patch in PATCHES]
    for program in sorted({tuple(options[:-1]) for options in programs}):
        names = sorted({options[-1] for options in programs if tuple(options[:-1]) == program})
        result = cargo(tree, *program, *names)
        if result.returncode != 0:
            return str(failed_tests(result.stdout) or result.stderr[-2000:])
    return ""


def files_of(patch: Path) -> list[str]:
    """The files that a patch changes."""
    return [
        line.removeprefix("+++ b/") for line in patch.read_text().splitlines() if line.startswith("+++ b/")
    ]


def cargo(tree: Path, *more: str, longest_s: float | None = None) -> subprocess.CompletedProcess[str]:
    """The crate's tests in the copy, with a target folder that all patches, and later runs, share."""
    settings = {**os.environ, **SETTINGS, "CARGO_TARGET_DIR": str(tree.parent / "target")}
    return subprocess.run(
        [*TEST, *more], cwd=tree, env=settings, capture_output=True, text=True, check=False, timeout=longest_s
    )


def failed_tests(output: str) -> list[str]:
    """Names of the tests that failed, from what cargo printed."""
    lines = (line.strip() for line in output.splitlines())
    return sorted({line.split()[1] for line in lines if line.startswith("---- ") and line.endswith("----")})


def applies(tree: Path, patch: Path) -> bool:
    """Apply a patch to the copy; whether every file that it names was changed."""
    before = {name: (tree / name).read_text() for name in files_of(patch) if (tree / name).exists()}
    # Not as a part of the repository around it: git skips paths that its ignore rules exclude.
    outside = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tree.parent)}
    apply = ["git", "apply", "-C1", str(patch)]
    done = subprocess.run(apply, cwd=tree, env=outside, capture_output=True, check=False)
    return done.returncode == 0 and all((tree / name).read_text() != text for name, text in before.items())


def judged(tree: Path, patch: Path) -> tuple[bool, str]:
    """Whether the bug was caught, and by what, or why not."""
    originals = {name: (tree / name).read_bytes() for name in files_of(patch) if (tree / name).exists()}
    try:
        if not applies(tree, patch):
            return False, "does not apply: the code has moved, and the patch must follow"
        options = program_of(patch)
        if (built := cargo(tree, *options[: options.index("--")], "--no-run")).returncode != 0:
            return False, f"does not compile:\n{built.stderr[-2000:]}"
        try:
            result = cargo(tree, *options, longest_s=LONGEST_S)
        except subprocess.TimeoutExpired:
            return True, f"a test that was not over after {LONGEST_S} s"
        if result.returncode == 0:
            return False, f"no test of {tests_of(patch)} fails"
        names = failed_tests(result.stdout)
        return True, ", ".join(names) or "an abort"
    finally:
        for name, content in originals.items():
            (tree / name).write_bytes(content)


def say(line: str) -> None:
    """One line, at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def copied(folder: Path) -> Path:
    """A fresh copy of the workspace, always at the same place, so that cargo knows its dependencies again."""
    tree = folder / "tree"
    if tree.exists():
        shutil.rmtree(tree)
    tree.mkdir(parents=True)
    for name in ("Cargo.toml", "Cargo.lock", "rustfmt.toml", "clippy.toml"):
        shutil.copy2(ROOT / name, tree)
    for name in ("crates", "profiles"):
        # With the time of now: what cargo built last was a mutant.
        shutil.copytree(ROOT / name, tree / name, symlinks=True, copy_function=shutil.copy)
    return tree


def main() -> int:
    """Every patch in turn; the exit status."""
    start = time.monotonic()
    tree = copied(Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve() / "mutants")
    if failing := fails_unpatched(tree):
        say(f"the tests fail without any patch: {failing}")
        return 1
    missed = 0
    for patch in PATCHES:
        began = time.monotonic()
        caught, by = judged(tree, patch)
        missed += not caught
        took_s = time.monotonic() - began
        say(f"{'caught' if caught else 'MISSED'}  {crate_of(patch)} {patch.stem}: {by} ({took_s:.0f} s)")
    say(f"{len(PATCHES) - missed} of {len(PATCHES)} caught in {time.monotonic() - start:.0f} s")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
