"""A study with factors, run as one study per combination of levels, spread over processes or MPI ranks.

What it models: a grid of virtual drives, or of anything a factor changes about one: each combination is a separate
study on a separate drive, with the study's seed. So no combination waits for another, and the table does not depend on
the process that ran each one.
What it refuses: targets that are not virtual, whose runs would disturb each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from mileage.app.session import check_built, do, facts_of_all
from mileage.app.study import study_of
from mileage.errors import Refused
from mileage.execute import Silent
from mileage.execute.live_view import Counted
from mileage.execute.mpi.futures import spread
from mileage.model.target_kind import capabilities_of
from mileage.plan import Study
from mileage.plan.factors import at_setting, settings_of
from mileage.plan.resolver import resolve
from mileage.scratch import scratch_directory
from mileage.store import StudyFolder, sample_rows

Row = dict[str, Any]

COLUMNS = ("cycle", "arm", "stage", "block", "cell", "metric", "value")
"""Of a table, behind those of the factors."""


def sweep(study: str, *, target: str | None = None, processes: int | None = None) -> list[Row]:
    """Every measured value of every combination of the factors of a study, in the order of the combinations.

    Under an MPI launcher the ranks do them; otherwise `processes` processes, by default one per processor.

    Raises:
        Refused: the study is not possible, has no factor, or a target is not virtual.
        RunFailed: a run failed.
    """
    wanted = study_of(study, target)
    if not wanted.factor:
        raise Refused(
            study,
            "has no [factor.NAME] to sweep over",
            advice="`mileage run` does it as it is",
            code="missing",
        )
    settings = settings_of(wanted)
    for setting in settings:
        if not capabilities_of(setting.target).simulated:
            raise Refused(
                study,
                found=f"target {setting.target}",
                advice="only virtual drives are swept, since others would disturb each other: use `mileage run`",
                code="unsupported",
            )
        if setting.labels:
            raise Refused(
                study,
                f"labels ({setting.session}) name machines, which a sweep does not change",
                code="unsupported",
            )
    tasks = [msgspec.json.encode(at_setting(wanted, setting)) for setting in settings]
    names = sorted({name for setting in settings for name in setting.levels})
    with Counted(f"sweep of {wanted.name} over {', '.join(names)}", len(tasks)) as progress:
        found = spread(_rows_of, tasks, processes=processes, advance=progress.advance)
    return [
        {**{name: setting.levels[name] for name in names}, **row}
        for setting, rows in zip(settings, found, strict=True)
        for row in rows
    ]


def columns_of(rows: Sequence[Row]) -> list[str]:
    """The columns of a table: the factors, then what was measured."""
    return list(rows[0]) if rows else []


def _rows_of(encoded: bytes) -> list[Row]:
    """The measured values of one study, done in a folder that is removed again."""
    study = msgspec.json.decode(encoded, type=Study)
    facts = facts_of_all(study, None)
    first, *rest = facts
    resolved = check_built(resolve(study, facts[first], others={name: facts[name] for name in rest}))
    with scratch_directory() as place:
        path = place / "study"
        folder = StudyFolder.create(path, resolved.to_toml(), resolved.to_json().encode())
        do(resolved, folder, None, Silent(), command="mileage sweep")
        rows = list(sample_rows(folder.content()))
    return [{name: row[name] for name in COLUMNS} for row in rows]
