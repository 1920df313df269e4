"""One measurement or one scan, without a study file: a few arguments, run as a study of one stage.

Its command is `mileage measure`. It runs an ordinary study: the folder is temporary unless it is to be kept, and then
`mileage report` and `mileage compare` read it.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from mileage.app.plan_execution import check_built, do, facts_of, facts_of_all, traces_of
from mileage.app.report_level import report_level
from mileage.app.temporary_studies import one_off_folder
from mileage.errors import Refused, RunFailed
from mileage.execute import Progress, Silent
from mileage.model.journal_entries import FailedRun
from mileage.model.target_kind import capabilities_of
from mileage.plan import MeasurementRequest, Plan, Study
from mileage.plan.iozone_suite import Suite
from mileage.plan.resolver import resolve
from mileage.plan.study import State
from mileage.store import StudyFolder
from mileage.targets import parse_target
from mileage.targets.bare_path import with_scheme
from mileage.targets.door import check_result, result_file

if TYPE_CHECKING:
    from mileage.store import MeasuredCell

OPERATION_LOG: Final = "operation-log"
"""Kind of the result of --log."""


class Measurement(msgspec.Struct, frozen=True):
    """Result of a measurement, with the plan that was run."""

    plan: Plan
    cells: tuple[MeasuredCell, ...]
    cautions: tuple[str, ...]
    """Warnings to read before the figures; they are also among the notes of the cells concerned."""
    notes: tuple[str, ...]
    """Explanations of the figures, and how they were measured."""

    def __repr__(self) -> str:
        """What the command prints: how it was measured, warnings, figures."""
        from mileage.report.measurement_setup import setting_text
        from mileage.report.measurement_text import measured_text

        warnings = "".join(f"[!] {caution}\n" for caution in self.cautions)
        return f"{setting_text(self.plan)}\n{warnings}{measured_text(self.cells, self.plan.cells)}"

    def _repr_html_(self) -> str:
        """The same for a notebook."""
        import html

        return f"<pre>{html.escape(repr(self))}</pre>"


def asked_of(target: str, destroy: str | None, cache: str | None) -> MeasurementRequest:
    """Default request for a target: how it is used, and how much space it has.

    Raises:
        Refused: the target cannot be used.
    """
    target = with_scheme(target)
    spec = parse_target(target)
    path = Path(spec.name)
    kind = capabilities_of(target)
    kept = kind.in_place and (kind.is_block_device or (path.exists() and not _is_empty(path)))
    facts = facts_of(target, destroy, state=State(start="kept" if kept else "purged"))
    direct = facts.direct_supported or cache is not None
    return MeasurementRequest(
        target=target, kept=kept, room_bytes=facts.free_bytes, cache="direct" if direct else "warm"
    )


def _is_empty(path: Path) -> bool:
    return path.is_file() and path.stat().st_size == 0


def planned(study: Study, destroy: str | None) -> Plan:
    """The plan of a one-off study. Raises Refused."""
    facts, *others = facts_of_all(study, destroy).items()
    return check_built(resolve(study, facts[1], traces=traces_of(study), others=dict(others)))


def measure(
    resolved: Plan,
    *,
    destroy: str | None = None,
    save: Path | None = None,
    log: Path | None = None,
    progress: Progress | None = None,
    command: Sequence[str] = ("mileage", "measure"),
    kept: bool = True,
    reports: bool = True,
) -> Measurement:
    """Do the plan of a one-off study. With `save`, its folder is made there.

    `kept`: it stays after the command, with its report where `reports` says so.

    With `log`, every operation of its one run is written there; of several runs to `log-1`, `log-2` and so on.

    Raises:
        Refused: what is asked is not possible, or the folder cannot be made; nothing was written.
        RunFailed: a run failed; what Mileage put on the target is removed.
    """
    reporter = progress or Silent()
    if save is not None:
        done = _done_in(save, resolved, destroy, reporter, command, log, temporary=not kept)
        if kept and reports and report_level(None, resolved.study.report) != "none":
            from mileage.app import StudyResult

            StudyResult(StudyFolder.open(save), resolved).write_report()
    else:
        with one_off_folder() as place:
            done = _done_in(place, resolved, destroy, reporter, command, log, temporary=True)
    return done


def _done_in(
    place: Path,
    resolved: Plan,
    destroy: str | None,
    reporter: Progress,
    command: Sequence[str],
    log: Path | None,
    *,
    temporary: bool,
) -> Measurement:
    """Do the plan in a new folder: the cells in the order of the plan."""
    names = [] if log is None else _log_names(resolved, log)
    folder = StudyFolder.create(place, resolved.to_toml(), resolved.to_json().encode(), temporary=temporary)
    do(resolved, folder, destroy, reporter, command=_repeating(command, place), always_clean=True)
    _copy_logs(folder, names)
    # Imported after the runs: these modules are needed only once there are figures, and would delay the start.
    from mileage.analysis.assumptions import missed_rate_notes
    from mileage.analysis.cautions import cautions, with_cautions
    from mileage.analysis.open_loop import load_notes
    from mileage.store import measured_cells

    order = {cell.label: number for number, cell in enumerate(resolved.cells)}
    content = folder.content()
    if (failed := content.of_kind(FailedRun)) and not measured_cells(content):
        raise RunFailed(failed[0].message, cause=failed[0].cause)
    cells = sorted(measured_cells(content, resolved), key=lambda cell: order[cell.cell])
    found = cautions(resolved, content, cells)
    before = [note for cell in cells for note in cell.notes]
    before = [
        *(caution.sentence for caution in found),
        *missed_rate_notes(resolved),
        *_of_cache(resolved),
        *before,
    ]
    notes = [*fidelity_notes(resolved), *load_notes(resolved, content)]
    return Measurement(resolved, with_cautions(cells, found), tuple(dict.fromkeys(before)), tuple(notes))


def _repeating(command: Sequence[str], folder: Path) -> str:
    """The command that does it again: without the folder, which exists now."""
    words = list(command)
    for at, word in enumerate(words[:-1]):
        if word in ("--save", "--study") and Path(words[at + 1]) == folder:
            return shlex.join(words[:at] + words[at + 2 :])
    return shlex.join(words)


def _log_names(resolved: Plan, log: Path) -> list[Path]:
    """Paths of the operation log of each run. Raises Refused when something else is there."""
    count = sum(run.reach is not None and run.reach.log for run in resolved.runs)
    names = [log] if count == 1 else [log.with_stem(f"{log.stem}-{n}") for n in range(1, count + 1)]
    for name in names:
        check_result("--log", name, OPERATION_LOG)
    return names


def _copy_logs(folder: StudyFolder, names: Sequence[Path]) -> None:
    """Copy the logs of the measured runs to where the user wants them. Raises Refused and RunFailed."""
    found = sorted(folder.logs.iterdir()) if names and folder.logs.is_dir() else []
    for source, name in zip(found, names, strict=True):
        with source.open("rb") as log, result_file("--log", name, OPERATION_LOG) as file:
            shutil.copyfileobj(log, file)


def _of_cache(resolved: Plan) -> list[str]:
    """Effect of the page cache on the figures, on file systems that cannot bypass it."""
    if resolved.facts.direct_supported or resolved.study.state.cache != "warm":
        return []
    return ["this file system does not support direct I/O: the figures include the page cache"]


def fidelity_notes(resolved: Plan) -> list[str]:
    """Differences between what a test of another tool does and what its name suggests."""
    notes: list[str] = []
    suites = {cell.unit: cell.job.value for cell in resolved.cells if isinstance(cell.job, Suite)}
    for suite in suites.values():
        if suite.mode == "fidelity":
            from mileage import _core

            differences = _core.iozone_differences(msgspec.json.encode(suite).decode())
            notes += [line for line in differences.splitlines() if line not in notes]
    return notes


def refuse_existing(save: Path) -> None:
    """Refuse a folder that is there already, before anything is measured."""
    if save.exists() and (not save.is_dir() or any(save.iterdir())):
        raise Refused(
            f"--save {save}", "exists and is not an empty folder", advice="name a new one", code="exists"
        )
