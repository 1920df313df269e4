"""The study of a drop-in command: made, done and kept in a folder, with its figures read back from there.

Scope: the study folder (`--study DIR`, or in the directory of MILEAGE_STUDIES; else a temporary one) and
the guard of files that a command line names for writing.
What it refuses: a folder that is there; a file with content unless `--destroy` names it; what no study can do.
"""

from __future__ import annotations

import atexit
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mileage.app.measurement import Measurement, measure, planned, refuse_existing
from mileage.app.temporary_studies import one_off_folder
from mileage.dropin.flags import GivenFlags
from mileage.dropin.task_values import KEEP_IN
from mileage.errors import RunFailed
from mileage.execute import Silent
from mileage.model.run_record import RunRecord, TestResult
from mileage.plan import Plan, PlannedRun, Study
from mileage.store import StudyFolder
from mileage.targets.door import Door, WorkPath

if TYPE_CHECKING:
    from mileage.execute.live_view import Terminal

Finished = Callable[[PlannedRun, RunRecord], str]
"""Function that returns the text to print after a finished run."""
Begun = Callable[[PlannedRun], str]
"""Function that returns the words to print when a run begins."""
Moved = Callable[[int | None], None]
Tested = Callable[[PlannedRun, TestResult], str]
"""Function that returns the text to print after a test of a set, before its run is finished."""


@dataclass(frozen=True)
class DropinResult:
    """Result of a drop-in command, with every run's record."""

    plan: Plan
    folder: StudyFolder
    measurement: Measurement

    def runs(self, role: str = "measure") -> list[tuple[PlannedRun, RunRecord]]:
        """The runs of that role with their records, in the order of the plan."""
        by_index = {run.index: run for run in self.plan.runs}
        entries = self.folder.content().runs()
        return [(by_index[entry.run], entry.record) for entry in entries if entry.role == role]


def folder_of(given: GivenFlags) -> Path:
    """Path of the study folder; one that is removed at the end when none is to be kept.

    Raises Refused when something is there.
    """
    named = given.last("--study") or os.environ.get(KEEP_IN)
    if named is None:
        # Figures are read back from the folder, so that there is one in any case. What a killed command leaves is found
        # by the next one through its folder.
        held = ExitStack()
        atexit.register(held.close)
        return held.enter_context(one_off_folder())
    if not given.has("--study"):
        stem = time.strftime(f"mileage-{given.tool.name}-%Y%m%d-%H%M%S")
        found, number = Path(named, stem), 1
        while found.exists():
            number += 1
            found = Path(named, f"{stem}-{number}")
        return found
    refuse_existing(Path(named))
    return Path(named)


def work_files(given: GivenFlags, paths: Iterable[Path]) -> tuple[Door, list[WorkPath]]:
    """Files that are to be written, as the door checks them. Raises Refused for one whose content must stay."""
    door = Door(given.tool.name, given.every("--destroy"))
    files = [door.work(str(path), writes=True, removes=True) for path in paths]
    door.release()
    return door, files


def do_study(
    given: GivenFlags,
    study: Study,
    *,
    destroy: str | None = None,
    lost: Sequence[WorkPath] = (),
    head: str = "",
    finished: Finished | None = None,
    tested: Tested | None = None,
    begun: Begun | None = None,
    moved: Moved | None = None,
    failed: Callable[[PlannedRun], str] | None = None,
) -> DropinResult:
    """Do the study and keep its folder. `lost`: files that are emptied first, when all else is known to be right.

    `head` is printed when the study begins. `finished` takes every measured run with its record when it is done, before
    the next begins, and returns what is printed of it; `tested` does so with each test of a set, `failed` with the run
    that failed. `begun` returns the first words of what `finished` returns, which are printed when the run begins.
    `moved` takes the bytes of the measured run as they are done, and None when it begins. Raises Refused and RunFailed.
    """
    save = folder_of(given)
    plan = plan_of(given, study, destroy)
    for file in lost:
        os.close(file.open(os.O_RDWR | os.O_TRUNC))
        file.door.release()
    command = ("mileage", given.tool.name, *given.words)
    is_kept = given.has("--study") or KEEP_IN in os.environ
    with _watch() as watch:
        printing = _ResultPrinter(watch, head, finished, tested)
        printing.words, printing.moved = begun, moved
        progress = printing if head or finished or tested or moved else watch
        try:
            measured = measure(
                plan, destroy=destroy, save=save, progress=progress, command=command, kept=is_kept
            )
        except RunFailed:
            if failed is not None and printing.begun is not None:
                printing.print(failed(printing.begun))
            raise
    kept = f"study folder: {save}" if is_kept else "no study is kept; --study DIR keeps one"
    print_notes([*(f"[!] {caution}" for caution in measured.cautions), kept])
    return DropinResult(plan, StudyFolder.open(save), measured)


def plan_of(given: GivenFlags, study: Study, destroy: str | None) -> Plan:
    """Plan a study without writing anything. Raises Refused."""
    return planned(study, destroy)


def _watch() -> Any:
    if not sys.stderr.isatty():
        return nullcontext(None)
    from mileage.execute.live_view import Terminal

    return Terminal()


class _ResultPrinter(Silent):
    """Prints to standard output a head, then what is said of each measured run as soon as it is done."""

    def __init__(
        self, watch: Terminal | None, head: str, finished: Finished | None, tested: Tested | None
    ) -> None:
        self._watch = watch
        self._head = head
        self._finished = finished
        self._tested = tested
        self.words: Begun | None = None
        self.moved: Moved | None = None
        self._said = ""
        self.begun: PlannedRun | None = None
        """The run that was begun last."""

    def start(self, plan: Plan, spent_s: Mapping[int, float], lanes: int) -> None:
        """Print the head, then show the study on a terminal."""
        self.print(self._head)
        if self._watch is not None:
            self._watch.start(plan, spent_s, lanes)

    def stage(self, text: str) -> None:
        """Name the stage on a terminal."""
        if self._watch is not None:
            self._watch.stage(text)

    def run(self, run: PlannedRun) -> None:
        """Name the run that begins in the progress line on the terminal."""
        self.begun = run
        if self._watch is not None:
            self._watch.run(run)
        if run.role != "measure":
            return
        if self.moved is not None:
            self.moved(None)
        # A terminal shows lines as a whole.
        if self.words is not None and self._watch is None:
            self._said = self.words(run)
            self.print(self._said)

    def advance(self, byte_count: int) -> None:
        """Show how far it is on a terminal."""
        if self._watch is not None:
            self._watch.advance(byte_count)
        if self.moved is not None and self.begun is not None and self.begun.role == "measure":
            self.moved(byte_count)

    def tested(self, run: PlannedRun, result: TestResult) -> None:
        """Print what is said of the test, except on a terminal, which shows lines as a whole."""
        if self._tested is not None and self._watch is None and run.role == "measure":
            self.print(self._tested(run, result))

    def finished(self, run: PlannedRun, record: RunRecord) -> None:
        """Print what is said of the run."""
        if self._watch is not None:
            self._watch.finished(run, record)
        if run.role == "measure" and self._finished is not None:
            self.print(self._finished(run, record).removeprefix(self._said))
            self._said = ""

    def print(self, text: str) -> None:
        """Print text to standard output, above the progress lines."""
        if not text:
            return
        if self._watch is not None:
            self._watch.print(text.removesuffix("\n"))
        else:
            sys.stdout.write(text)
            sys.stdout.flush()

    def note(self, text: str) -> None:
        """Print a note to standard error."""
        if self._watch is not None:
            self._watch.note(text)
        else:
            print_notes([text])


def print_notes(lines: Iterable[str]) -> None:
    """Print a note on standard error; the tool's own text goes to standard output."""
    for line in lines:
        sys.stderr.write(f"mileage: {line}\n")
