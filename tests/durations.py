"""What each test costs: kept in `tests/durations.json`, compared after a run, and used to choose the fast tests.

`pytest` writes the durations of a run to `.build/durations.json`. `python -m tests.durations` compares them with the
kept file and names the tests that take three times as long, and new tests that take long and carry no mark `slow`.
`python -m tests.durations --accept` makes the last run, of the tier `whole`, the kept file.

A duration is the wall time in seconds of all cases of a test function with their fixtures. The kept file holds those
of at least `FAST_S`; a test that is not in it is fast.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]
KEPT: Final = ROOT / "tests" / "durations.json"
LAST: Final = ROOT / ".build" / "durations.json"

FAST_S: Final = 0.2
"""What takes as long is not in `make quick`, unless the change is in the file that it tests."""
LONG_S: Final = 0.5
"""Of the cases of tests that take as long, `make test` runs a share."""
SLOW_S: Final = 5.0
"""A new test that takes longer carries the mark `slow`."""
FACTOR: Final = 3.0
"""How many times its kept duration a test may take: the machine is shared, and a run next to others takes longer."""


class Recorder:
    """Adds up what the tests of this run take; in the process that gathers the reports of all."""

    def __init__(self, *, adds: bool = False) -> None:
        """Begin with nothing. `adds`: the cases follow those of the run before, and their durations are added."""
        self.adds = adds
        self.seconds: dict[str, float] = {}
        self.slow: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One phase of one case: set-up, call or tear-down."""
        name = function_of(report.nodeid)
        self.seconds[name] = self.seconds.get(name, 0.0) + report.duration
        if "slow" in report.keywords:
            self.slow.add(name)

    def pytest_sessionfinish(self) -> None:
        """Write them down."""
        if self.adds and LAST.exists():
            before = json.loads(LAST.read_text(encoding="utf-8"))
            self.slow |= set(before["slow"])
            for name, seconds in before["seconds"].items():
                self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        if self.seconds:
            LAST.parent.mkdir(exist_ok=True)
            LAST.write_text(
                json.dumps({"seconds": self.seconds, "slow": sorted(self.slow)}), encoding="utf-8"
            )


def function_of(nodeid: str) -> str:
    """The test function of a case: its node without parameters and without the group that it ran in."""
    return nodeid.partition("[")[0].partition("@")[0]


@functools.cache
def kept() -> dict[str, float]:
    """The kept durations in seconds, by test function."""
    found: dict[str, float] = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    return found


def grown(before: Mapping[str, float], now: Mapping[str, float], slow: Iterable[str]) -> list[str]:
    """A line for each test that takes `FACTOR` times as long as before, and for each new one that needs a mark."""
    marked = set(slow)
    lines = []
    for name, seconds in sorted(now.items(), key=lambda item: -item[1]):
        was = max(before.get(name, 0.0), LONG_S)
        if name not in before and seconds > SLOW_S and name not in marked:
            lines.append(
                f"{name}: {seconds:.1f} s, new or fast before; make it faster, or mark it slow and accept it"
            )
        elif name in before and seconds > FACTOR * was:
            lines.append(f"{name}: {seconds:.1f} s, {seconds / was:.1f} times the kept {was:.1f} s")
    return lines


def main(arguments: list[str]) -> int:
    """Compare or accept the last run; 0 also where tests grew: wall time on a shared machine is no proof."""
    if not LAST.exists():
        print(f"{LAST} is missing: run the tests first", file=sys.stderr)
        return 2
    last = json.loads(LAST.read_text(encoding="utf-8"))
    if arguments == ["--accept"]:
        long = {name: round(s, 1) for name, s in sorted(last["seconds"].items()) if s >= FAST_S}
        KEPT.write_text(json.dumps(long, indent=1) + "\n", encoding="utf-8")
        print(f"{KEPT.relative_to(ROOT)}: {len(long)} tests of at least {FAST_S} s")
        return 0
    lines = grown(kept(), last["seconds"], last["slow"])
    head = "tests that take three times as long as kept, or are new and long without a mark"
    print(f"{head}: {len(lines) or 'none'}")
    for line in lines:
        print(f"  {line}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
