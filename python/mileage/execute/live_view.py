"""Live view of a running study: a few lines on a terminal, redrawn twice a second; elsewhere an occasional line.

Models the position in the plan, the cell, the recent rate, the last run's latency and drive counters, and the time
left. A separate thread draws; a run pays one addition per poll. NO_COLOR, a dumb terminal and a file get no colours and
no moving lines: they get one line a minute, and one per stage if the last line is five seconds old, since a virtual
drive finishes stages faster than anybody reads.
Refuses nothing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from mileage.execute.progress import Progress
from mileage.execute.status import Standing
from mileage.log import is_log_on
from mileage.model.run_record import RunRecord
from mileage.plan import Plan, PlannedRun
from mileage.terminal import ascii_of, beneath, cut, harmless, is_coloured, one_line

if TYPE_CHECKING:
    from rich.live import Live

DRAWN_PER_S: Final = 2
LINE_EVERY_S: Final = 60.0
STAGE_LINE_EVERY_S: Final = 5.0
_WIDEST: Final = 80


class Terminal(Progress):
    """Writes to standard error; a context manager that restores the terminal on the way out."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Writes nothing before :meth:`start`, so that a refusal is printed alone."""
        self._clock = clock
        self._standing = Standing(clock)
        self._moving = is_coloured(sys.stderr) and not is_log_on()
        self._live: Live | None = None
        self._lined_s = clock() - STAGE_LINE_EVERY_S
        self._untold = ""
        self._began_s = clock()

    def __enter__(self) -> Terminal:
        """Nothing yet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the lines away."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def start(self, plan: Plan, spent_s: Mapping[int, float], lanes: int) -> None:
        """Show the lines."""
        self._standing.start(plan, spent_s, lanes)
        if not self._moving or self._live is not None:
            return
        from rich.console import Console
        from rich.live import Live

        console = Console(file=beneath(sys.stderr), highlight=False)
        self._live = Live(
            console=console,
            get_renderable=lambda: self._drawn(min(console.width, _WIDEST)),
            refresh_per_second=DRAWN_PER_S,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start()

    def stage(self, text: str) -> None:
        """Name the stage."""
        self._standing.stage = self._untold = one_line(text)
        self._maybe_line()

    def run(self, run: PlannedRun) -> None:
        """Name the cell."""
        self._standing.run(run)
        self._maybe_line()

    def advance(self, byte_count: int) -> None:
        """Count."""
        self._standing.advance(byte_count)
        self._maybe_line()

    def finished(self, run: PlannedRun, record: RunRecord) -> None:
        """Count the run, and keep what it showed."""
        self._standing.finished(run, record)

    def note(self, text: str) -> None:
        """Print above the lines."""
        if self._live is not None:
            self._live.console.print(harmless(text), markup=False, soft_wrap=True)
        else:
            print(text, file=sys.stderr, flush=True)

    def _maybe_line(self) -> None:
        """Without a live display, print a line each minute, or after five seconds if the stage has changed."""
        if self._moving:
            return
        quiet_s = self._clock() - self._lined_s
        if self._untold and quiet_s >= STAGE_LINE_EVERY_S:
            text = self._untold
        elif quiet_s >= LINE_EVERY_S:
            self._standing.look()
            text = self.line()
        else:
            return
        self._untold = ""
        self._lined_s = self._clock()
        print(f"  {text}", file=sys.stderr, flush=True)

    def line(self) -> str:
        """How far it is, in a line for a log."""
        standing = self._standing
        minutes = int(self._clock() - self._began_s) // 60
        rate = standing.rate.rpartition(" ")
        parts = [f"{minutes} min", standing.stage, one_line(standing.cell), *_how_far(standing)]
        parts.append(f"{rate[0].rpartition(' ')[2]} {rate[2]}" if rate[2] else "")
        return ", ".join(part for part in parts if part)

    def lines(self, width: int) -> list[str]:
        """What is drawn, in lines of at most `width` columns."""
        standing = self._standing
        standing.look()
        plan = standing.plan
        virtual = plan is not None and plan.facts.virtual
        name = "" if plan is None else f"{plan.study.name} on {plan.study.target}"
        share = standing.share() or 0.0
        full = int(share * (width - 2))
        rows = [
            ("cell", standing.cell),
            ("simulating" if virtual else "rate", standing.rate),
            *standing.last(),
        ]
        return [
            cut(one_line(f"{standing.stage or 'starting'}: {name}"), width),
            cut("━" * full + "─" * (width - 2 - full), width),
            cut("  ".join(_how_far(standing)), width),
            *[cut(f"{name:<11} {one_line(text)}", width) for name, text in rows if text],
        ]

    def _drawn(self, width: int) -> Any:
        from rich.text import Text

        plain = "\n".join(self.lines(width))
        encoding = (getattr(sys.stderr, "encoding", "") or "").lower()
        text = Text(plain if encoding.startswith("utf") else ascii_of(plain), no_wrap=True)
        text.highlight_regex(r"^.*", "bold")
        text.highlight_regex(r"━+", "cyan")
        return text


def _how_far(standing: Standing) -> list[str]:
    plan = standing.plan
    if plan is None:
        return []
    share = standing.share()
    parts = [] if share is None else [f"{100 * share:.0f} %"]
    return [*parts, f"{standing.runs_done:,} of {len(plan.runs):,} runs", standing.left()]
