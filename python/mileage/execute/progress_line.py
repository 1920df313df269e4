"""Progress of a short study: the current run, bytes, rate, time left; on a terminal as a live line.

Models the end of each run by its plan: a time, or bytes at the present rate. Refuses to guess: where neither is known,
the time left is not printed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from mileage.execute.progress import Progress
from mileage.log import is_log_on
from mileage.plan import PlannedRun
from mileage.plan.sizes import format_bytes
from mileage.terminal import beneath, harmless, is_coloured, one_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar


class Watch(Progress):
    """Writes to standard error; a context manager that restores the terminal on the way out.

    Reports neither stages nor finished runs: each run is named, and the figures are printed at the end.

    `runs` are all runs in their order, `labels` what each is called, `simulated` whether their times are simulated.
    """

    def __init__(self, runs: Sequence[PlannedRun], labels: Sequence[str], *, simulated: bool) -> None:
        self._runs = runs
        self._labels = labels
        self._simulated = simulated
        self._now = 0
        self._bytes = 0
        self._began = time.monotonic()
        self._bar: Bar | None = None
        self._console: Console | None = None
        if is_coloured(sys.stderr) and not is_log_on():
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Columns

            self._console = Console(file=beneath(sys.stderr), highlight=False)
            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=None),
                TextColumn("{task.fields[figures]}", markup=False),
            )
            self._bar = Columns(*columns, console=self._console, transient=True)
            self._task = self._bar.add_task("starting", total=None, figures="")

    def __enter__(self) -> Watch:
        """Show the line."""
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the line away."""
        if self._bar is not None:
            self._bar.stop()

    def run(self, run: PlannedRun) -> None:
        """A run begins."""
        self._now, self._bytes, self._began = run.index, 0, time.monotonic()
        text = one_line(f"{run.index + 1}/{len(self._runs)} {self._labels[run.index]}")
        if self._bar is not None:
            self._bar.reset(self._task, total=1.0, description=text, figures="")
        else:
            print(f"  {text}", file=sys.stderr, flush=True)

    def advance(self, byte_count: int) -> None:
        """Add completed bytes; 0 when only time has passed."""
        self._bytes += byte_count
        if self._bar is None:
            return
        elapsed_s = max(time.monotonic() - self._began, 1e-9)
        rate = self._bytes / elapsed_s
        figures = f"{format_bytes(self._bytes)}  {format_bytes(int(rate))}/s"
        whole_s = self._length_s(self._runs[self._now], rate)
        if whole_s is not None:
            rest = [self._length_s(run, rate) or 0.0 for run in self._runs[self._now + 1 :]]
            left_s = max(whole_s - elapsed_s, 0.0) + sum(rest)
            figures += f"  {left_s:.0f} s left"
            self._bar.update(self._task, completed=min(elapsed_s / max(whole_s, 1e-9), 1.0))
        self._bar.update(self._task, figures=figures)

    def print(self, text: str) -> None:
        """Print to standard output, above the line."""
        if self._bar is not None and sys.stdout.isatty():
            self._bar.console.print(harmless(text), markup=False, soft_wrap=True)
        else:
            print(text, flush=True)

    def note(self, text: str) -> None:
        """Print above the line."""
        if self._console is not None:
            self._console.print(harmless(text), markup=False, soft_wrap=True)
        else:
            print(text, file=sys.stderr, flush=True)

    def _length_s(self, run: PlannedRun, rate: float) -> float | None:
        """How long a run takes in all, in seconds of the user's time; None when that is not known."""
        if run.workload is None:
            return 0.0
        stop = run.workload.stop
        limits = []
        if stop.time_ns is not None and not self._simulated:
            limits.append(stop.time_ns / 1e9)
        operations = run.workload.operations
        if operations is not None and rate > 0:
            limits.append(operations * run.workload.mean_bytes / rate)
        return min(limits, default=None)
