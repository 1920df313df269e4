"""A study with factors, run as one study per combination of levels, spread over processes or MPI ranks.

Scope: a grid of virtual drives, or of anything a factor changes about one: each combination is a separate
study on a separate drive, with the study's seed. So no combination waits for another, and the table does not depend on
the process that ran each one.
What it refuses: targets that are not virtual, whose runs would disturb each other.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import msgspec

from mileage.app.plan_execution import check_built, do, facts_of_all
from mileage.app.study import study_of
from mileage.errors import Refused
from mileage.execute import Silent
from mileage.execute.live_view import CountedProgress
from mileage.execute.mpi.futures import spread
from mileage.model.journal_entries import AnyRun
from mileage.model.run_record import RunRecord
from mileage.model.target_kind import capabilities_of
from mileage.model.write_amplification import write_amplification
from mileage.plan import Study
from mileage.plan.factors import at_setting, settings_of
from mileage.plan.resolver import resolve
from mileage.scratch import scratch_directory
from mileage.store import StudyFolder
from mileage.store.tables import measured_of, runs_of

Row = dict[str, Any]
ALL_LEVELS: Final[Mapping[str, Sequence[str]]] = MappingProxyType({})

COLUMNS = ("cycle", "arm", "stage", "block", "cell", "metric", "value", "write_amplification")
"""Columns of the table after those of the factors.

`write_amplification` is that of the run, the same for each of its metrics; None where the drive does not count it, or
nothing was written.
"""


def sweep(
    study: str,
    *,
    target: str | None = None,
    processes: int | None = None,
    counters: Sequence[str] = (),
    levels: Mapping[str, Sequence[str]] = ALL_LEVELS,
) -> list[Row]:
    """Every measured value of every combination of the factors of a study, in the order of the combinations.

    Under an MPI launcher the ranks do them; otherwise `processes` processes, by default one per processor. Each row has
    the counters of its run that `counters` names, in columns of these names. `levels`: those of a factor that are done,
    where not all are.

    Raises:
        Refused: the study is not possible, has no factor, or a target is not virtual; no drive has such a counter.
        RunFailed: a run failed.
    """
    wanted = study_of(study, target)
    chosen = [] if target is None else ["--target", target]
    run = f"mileage run {shlex.join([study, *chosen])}"
    if not wanted.factor:
        raise Refused(study, "has no [factor.NAME] to sweep over", advice=f"`{run}` runs it", code="missing")
    settings = [
        setting
        for setting in settings_of(wanted)
        if all(setting.levels[name] in some for name, some in levels.items())
    ]
    for setting in settings:
        if not capabilities_of(setting.target).simulated:
            raise Refused(
                study,
                found=f"target {setting.target}",
                advice=f"only virtual drives are swept, since others would disturb each other: use `{run}`",
                code="unsupported",
            )
        if setting.labels:
            raise Refused(
                study,
                f"labels ({setting.part}) name machines, which a sweep does not change",
                code="unsupported",
            )
    tasks = [msgspec.json.encode(at_setting(wanted, setting)) for setting in settings]
    names = sorted({name for setting in settings for name in setting.levels})
    if taken := sorted({*counters} & {*names, *COLUMNS}):
        raise Refused(
            "--counter",
            found=taken[0],
            advice="name a counter: that column is there already",
            code="wrong-value",
        )
    with CountedProgress(f"sweep of {wanted.name} over {', '.join(names)}", len(tasks)) as progress:
        found = spread(_rows_of, tasks, processes=processes, advance=progress.advance)
    known = sorted({name for rows in found for _, counted in rows for name in counted})
    if unknown := [name for name in counters if name not in known]:
        raise Refused(
            "--counter", found=unknown[0], advice=f"give one of {', '.join(known)}", code="wrong-value"
        )
    return [
        {
            **{name: setting.levels[name] for name in names},
            **row,
            **{name: counted.get(name) for name in counters},
        }
        for setting, rows in zip(settings, found, strict=True)
        for row, counted in rows
    ]


def columns_of(rows: Sequence[Row]) -> list[str]:
    """The columns of a table: the factors, then what was measured."""
    return list(rows[0]) if rows else []


def _rows_of(encoded: bytes) -> list[tuple[Row, dict[str, int]]]:
    """The measured values of one study, done in a folder that is removed again, each with the counters of its run."""
    study = msgspec.json.decode(encoded, type=Study)
    facts = facts_of_all(study, None)
    first, *rest = facts
    resolved = check_built(resolve(study, facts[first], others={name: facts[name] for name in rest}))
    with scratch_directory() as place:
        path = place / "study"
        folder = StudyFolder.create(path, resolved.to_toml(), resolved.to_json().encode())
        do(resolved, folder, None, Silent(), command="mileage sweep")
        return [
            (_row(run, metric, value), _counters(run))
            for run in runs_of(folder.content())
            for metric, value, _ in measured_of(run)
        ]


def _counters(run: AnyRun) -> dict[str, int]:
    return run.record.counters if isinstance(run.record, RunRecord) else {}


def _row(run: AnyRun, metric: str, value: float) -> Row:
    return {
        **{name: getattr(run, name) for name in COLUMNS[:5]},
        "metric": metric,
        "value": value,
        "write_amplification": write_amplification(_counters(run)),
    }
