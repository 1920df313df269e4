"""`mileage measure --append`: a study added to a history, or several sessions over time, each a study of it."""

from __future__ import annotations

import shlex
import textwrap
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from mileage.app.kept_history import kept_study, new_place, next_plan
from mileage.app.measurement import Measurement
from mileage.cli.endurance_values import time_s_of
from mileage.cli.one_off_plan import plan_of
from mileage.errors import Refused
from mileage.model.target_kind import capabilities_of
from mileage.plan import MeasurementRequest, Plan
from mileage.plan.sizes import duration
from mileage.targets.page_cache import drop_caches

_SESSIONS_MAX: Final = 1000
_WIDTH: Final = 80


def check_options(given: dict[str, Any]) -> None:
    """Raises Refused for options of a history that do not fit each other."""
    sessions, every = given["sessions"], given["every"]
    if given["append"] and given["save"] is None:
        raise Refused("--append", "adds to a folder", advice="name it with --save DIR", code="missing")
    if sessions is None:
        if every is not None:
            raise Refused(
                "--every", "is the time between sessions", advice="add --sessions N", code="missing"
            )
        return
    if not given["append"]:
        raise Refused("--sessions", "are kept in a history", advice="add --append and --save", code="missing")
    if not 2 <= sessions <= _SESSIONS_MAX:
        raise Refused(f"--sessions {sessions}", expected=f"2 to {_SESSIONS_MAX}", code="out-of-range")
    for option in ("session", "log"):
        if given[option] is not None:
            why = "each session is named by its time" if option == "session" else "it is of one measurement"
            raise Refused(f"--{option} and --sessions", why, advice=f"remove --{option}", code="conflict")
    simulated = capabilities_of(given["target"]).simulated
    if simulated and every is not None:
        raise Refused("--every", "has no effect in simulated time", advice="remove it", code="no-effect")
    if not simulated and every is None:
        raise Refused(
            "--sessions", "need a time from one start to the next", advice="add --every 30min", code="missing"
        )
    if every is not None:
        time_s_of("--every", every)


def append(
    asked: MeasurementRequest,
    given: dict[str, Any],
    measured: Callable[[Plan, Path], Measurement],
    show: Callable[[Measurement], None],
) -> None:
    """Measure once, or in several sessions, and keep each study. Raises Refused and RunFailed.

    `measured` does a plan in a new folder; `show` prints what came out.
    """
    history, count = given["save"], given["sessions"] or 1
    every_s = 0.0 if given["every"] is None else time_s_of("--every", given["every"])
    kind = capabilities_of(asked.target)
    if count > 1:
        click.echo(textwrap.fill(_scope(count, every_s, asked), _WIDTH), err=True)
    kept = []
    for number in range(count):
        began = datetime.now(UTC)
        place = new_place(history, began)
        if count > 1:
            asked = msgspec.structs.replace(asked, session=place.name)
        plan = next_plan(asked, history, partial(plan_of, destroy=given["destroy"]))
        if count > 1 and kind.is_real:
            # Without permission the files of this measurement are still its own.
            with suppress(Refused):
                drop_caches("--sessions")
        with kept_study(place):
            done = measured(plan, place)
        kept.append((place, done))
        if not given["as_json"]:
            show(done)
            click.echo(f"\nStudy folder: {place} ({_use(history)})")
        if number + 1 < count and not kind.simulated:
            _wait(began + timedelta(seconds=every_s), number + 2, count)
    if given["as_json"]:
        _print_json(kept, show, several=count > 1)


def _use(history: Path) -> str:
    count = sum(1 for _ in history.iterdir())
    studies = f"{count} {'study' if count == 1 else 'studies'} in {history}"
    return f"{studies}: `mileage compare --history {shlex.quote(str(history))} NEW`"


def _scope(count: int, every_s: float, asked: MeasurementRequest) -> str:
    """What several sessions of one command cover, and what not."""
    kind = capabilities_of(asked.target)
    if kind.simulated:
        return f"{count} simulations, each with a seed of its own: they show no spread of a machine."
    made = ""
    if not asked.kept and (kind.is_made or kind.has_work_file):
        made = f"a {'target' if kind.is_made else 'work file'} made anew, "
    last = duration((count - 1) * every_s)
    return (
        f"{count} sessions; the last begins in {last}. Each has {made}another seed and, where permitted, an empty page "
        "cache. All are on one boot, in one stretch of time, next to the same neighbours: what differs between "
        "boots and days is not in their spread."
    )


def _wait(until: datetime, number: int, count: int) -> None:
    left_s = (until - datetime.now(UTC)).total_seconds()
    if left_s > 0:
        click.echo(f"Session {number} of {count} begins at {until:%H:%M:%S} UTC", err=True)
        time.sleep(left_s)


def _print_json(
    kept: Sequence[tuple[Path, Measurement]], show: Callable[[Measurement], None], *, several: bool
) -> None:
    from mileage.report.cell_estimates import with_estimates

    if not several:
        show(kept[0][1])
        return
    found = [{"study": str(place), "cells": with_estimates(done.cells)} for place, done in kept]
    click.echo(msgspec.json.format(msgspec.json.encode({"sessions": found}), indent=2))
