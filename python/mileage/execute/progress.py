"""How far a study is: bytes, rate, time left; on a terminal as a live bar, elsewhere as a line per stage."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Protocol

from mileage.plan import PlannedRun
from mileage.terminal import beneath, harmless


class Progress(Protocol):
    """What execute tells while it works; may be called from several threads."""

    def start(self, bytes_total: int, bytes_done: int) -> None:
        """The study will move `bytes_total` bytes; `bytes_done` of them were done before."""

    def stage(self, text: str) -> None:
        """A stage begins."""

    def run(self, run: PlannedRun) -> None:
        """A run begins."""

    def advance(self, byte_count: int) -> None:
        """So many bytes more are done; 0 when only time went by."""

    def note(self, text: str) -> None:
        """Something that the user must know."""


class Silent:
    """Tells nothing."""

    def start(self, bytes_total: int, bytes_done: int) -> None:
        """Nothing."""

    def stage(self, text: str) -> None:
        """Nothing."""

    def run(self, run: PlannedRun) -> None:
        """Nothing."""

    def advance(self, byte_count: int) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """Nothing."""


class Terminal:
    """Writes to standard error; a context manager that restores the terminal on the way out."""

    def __init__(self) -> None:
        """A bar where standard error is a terminal, lines elsewhere."""
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )
        from rich.progress import Progress as Bar

        self._console = Console(file=beneath(sys.stderr), highlight=False)
        self._live = sys.stderr.isatty()
        columns = (
            TextColumn("{task.description:<22}"),
            BarColumn(bar_width=None),
            DownloadColumn(binary_units=True),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
        )
        self._bar = Bar(*columns, console=self._console, disable=not self._live)
        self._task = self._bar.add_task("starting", total=None)

    def __enter__(self) -> Terminal:
        """Nothing yet: the bar comes with :meth:`start`, so that what is refused is told without one."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the bar away."""
        self._bar.stop()

    def start(self, bytes_total: int, bytes_done: int) -> None:
        """Set the scale."""
        self._bar.start()
        self._bar.update(self._task, total=bytes_total, completed=bytes_done)

    def stage(self, text: str) -> None:
        """Name the stage."""
        self._bar.update(self._task, description=text)
        if not self._live:
            print(f"  {text}", file=sys.stderr, flush=True)

    def run(self, run: PlannedRun) -> None:
        """Nothing: stages are named, and a study has many runs."""

    def advance(self, byte_count: int) -> None:
        """Move the bar."""
        self._bar.advance(self._task, byte_count)

    def note(self, text: str) -> None:
        """Print above the bar."""
        self._console.print(harmless(text), markup=False, soft_wrap=True)


def stage_text(run: PlannedRun, cycles: int) -> str:
    """`cycle 2/3 torture`, and the arm where it is the sham."""
    arm = " (sham)" if run.arm == "sham" else ""
    return f"cycle {run.cycle}/{cycles} {run.stage}{arm}"
