"""Raw outputs of a study for `mileage export raw`: a text for each cell, stage and run, as the cell's tool prints it.

Scope: measured runs of cells that are named after a tool. The name of a file has the cell, the stage, and the
cycle, the arm and the part where there are several, and ends in the number of the repetition.
What it refuses: a folder without a study, an imported study, and one without such a cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from mileage.app.result import StudyResult, load
from mileage.dropin.tool_texts import TOOLS, FinishedRun, texts_of
from mileage.errors import Refused
from mileage.model.cell_key import CellKey
from mileage.model.journal_entries import Run
from mileage.plan import Plan, PlannedRun
from mileage.plan.cell_keys import unit_of
from mileage.plan.task_jobs import IorRun, MdtestRun, MetaratesRun
from mileage.store.safe_directory import refuse_links

_NAME_MAX: Final = 180
"""Characters of a name without its number and ending at most; a file system allows 255."""
_KEPT_BY: Final = ("iometer", "hdparm", "dd")
"""Studies that drop-in commands keep, whose workloads have other names."""


class RawOutputs(msgspec.Struct, frozen=True):
    """The raw outputs of a study."""

    files: list[tuple[str, bytes]]
    """Name and content of each file, in the order of the runs."""
    missing: list[str]
    """Sentences about cells that are of no tool."""
    title: str

    @property
    def readme(self) -> str:
        """What the files are, for the folder that holds them."""
        lines = [
            f"# {self.title}",
            "",
            "Each file has one run of one cell in the layout of the tool after which the workload is named. Mileage "
            "measured the figures and printed the files from the study's records.",
            "",
            "CELL.STAGE.RUN.txt; with several cycles, arms or parts these stand before RUN. np_4 means four tasks. "
            "Times are UTC. The layout of sqlio.* was not compared with a file of SQLIO.",
            "",
            *self.missing,
        ]
        return "\n".join(lines).rstrip() + "\n"


def raw_outputs(folder: Path) -> RawOutputs:
    """The raw outputs of a study folder, finished or not. Raises Refused."""
    refuse_links(folder)
    result = load(folder)
    if result.plan.imported is not None:
        raise Refused(folder, "was imported: the tool's own output is what was imported", code="unsupported")
    files: list[tuple[str, bytes]] = []
    names: set[str] = set()
    omitted: dict[str, None] = {}
    for done in _finished(result):
        texts = texts_of(done)
        if not texts:
            omitted[done.run.cell] = None
            continue
        name = _name(result.plan, done)
        # Two cells can differ only in characters that no file name has.
        if name in names:
            name = f"{name}.of-run-{done.run.index}"
        names.add(name)
        files += [(f"{name}.{ending}", content) for ending, content in texts.items()]
    if not files:
        raise Refused(
            folder,
            "has no finished run of a tool's workload",
            expected=f"a cell of {', '.join(f'{tool}.*' for tool in TOOLS)}",
            code="empty",
        )
    missing = [f"{cell}: of no tool, so that it has no raw output." for cell in omitted]
    study = result.plan.study
    return RawOutputs(files, missing, f"Raw outputs of the study {study.name}")


def _finished(result: StudyResult) -> Iterator[FinishedRun]:
    plan = result.plan
    keys = {cell.unit or cell.label: unit_of(cell) for cell in plan.cells}
    titles = {cell.unit or cell.label: cell.title for cell in plan.cells}
    planned = {run.index: run for run in plan.runs}
    for entry in result.folder.content().runs():
        run = planned[entry.run]
        if entry.role != "measure":
            continue
        key = keys[run.cell]
        workload = key.workload
        if plan.study.name in _KEPT_BY and workload.partition(".")[0] not in TOOLS:
            tool, workload = plan.study.name, titles.get(run.cell, workload)
        else:
            tool = workload.partition(".")[0]
        yield FinishedRun(run, entry, workload, tool, _place(plan, run), _cell_words(run, key))


def _cell_words(run: PlannedRun, key: CellKey) -> list[str]:
    """The cell in the name of a file: its label, of the tools under MPI with "np_4" in place of the threads."""
    if not isinstance(run.job, IorRun | MdtestRun | MetaratesRun):
        return [key.label]
    shown = {name: value for name, value in key.shown.items() if name != "threads"}
    return [msgspec.structs.replace(key, shown=shown).label, f"np_{run.job.workers}"]


def _place(plan: Plan, run: PlannedRun) -> str:
    """The target without its kind, on one line."""
    target = plan.setting_of(run).target
    return re.sub(r"[^\x20-\x7e]", "?", target.partition(":")[2] or target)


def _name(plan: Plan, done: FinishedRun) -> str:
    entry: Run = done.entry
    parts = [*done.cell_words, entry.stage]
    parts += [f"cycle-{entry.cycle}"] if plan.study.cycles > 1 else []
    parts += [entry.arm] if plan.study.sham else []
    parts += [entry.part] if entry.part else []
    words = [re.sub(r"[^A-Za-z0-9_-]+", "-", part.replace(".", "_")).strip("-") for part in parts]
    return f"{'.'.join(words)[:_NAME_MAX]}.{entry.block}"
