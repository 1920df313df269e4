"""`mileage.measure`: a measurement from Python, with the options of the command as keywords."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from mileage.app.kept_history import kept_study, new_place, next_plan
from mileage.app.measurement import Measurement, planned, refuse_existing
from mileage.app.measurement import measure as measure_plan
from mileage.app.measurement_request import requested
from mileage.errors import Refused
from mileage.plan.measure_options import OPTIONS, Option
from mileage.plan.one_off_study import one_off

_OF_THE_COMMAND: Final = (
    *("target", "workload", "destroy", "save", "append", "sessions", "every"),
    *("latency_target", "as_study", "as_json"),
)
"""Options that are parameters here, or that only a command has."""
_NAMES: Final = {
    option.name.replace("-", "_"): option for option in OPTIONS if option.key not in _OF_THE_COMMAND
}


def measure(
    target: str,
    workload: str = "random_read",
    *,
    destroy: str | None = None,
    save: Path | str | None = None,
    append: bool = False,
    **options: object,
) -> Measurement:
    """Measure `workload` on `target`, as `mileage measure -t TARGET -w WORKLOAD` does.

    Options are those of the command, with `_` for `-`: `record="4KiB"`, `depth=32`, `for_="10s"`, `repeat=5`,
    `vary=["depth=1,2,4"]`, `direct=False`. A size or a time is a text with its unit, or a whole number of bytes.
    `destroy`: the file or device whose content may be lost. `save`: a new folder that keeps the study, or
    with `append` one that holds studies of this target, to which it is added.

    Raises:
        Refused: no such option, a value that it does not take, or a request that is not possible; nothing was written.
        RunFailed: a run failed; what Mileage put on the target is removed.
    """
    given = {option.key: _default(option) for option in OPTIONS} | {"target": target, "workload": workload}
    for name, value in options.items():
        option = _NAMES.get(name.rstrip("_"))
        if option is None:
            near = difflib.get_close_matches(name, _NAMES, n=1)
            raise Refused(
                name,
                "is no option of a measurement",
                expected=f"such as {near[0]}" if near else f"one of {', '.join(sorted(_NAMES))}",
                code="unknown-name",
            )
        given[option.key] = _value(name, option, value)
    folder = None if save is None else Path(save)
    words = [f"{name}={value!r}" for name, value in options.items()]
    call = f"mileage.measure({', '.join([repr(target), repr(workload), *words])})"
    measured = partial(
        measure_plan, destroy=destroy, log=given["log"], command=("python", "-c", f"import mileage; {call}")
    )
    if append:
        if folder is None:
            raise Refused("append=True", "adds to a folder", advice="name it with save", code="missing")
        plan = next_plan(requested(given), folder, partial(planned, destroy=destroy))
        with kept_study(place := new_place(folder, datetime.now(UTC))):
            return measured(plan, save=place)
    if folder is not None:
        refuse_existing(folder)
    return measured(planned(one_off(requested(given)), destroy), save=folder)


def _default(option: Option) -> Any:
    if option.form == "list":
        return ()
    return False if option.form == "flag" else option.default


def _value(name: str, option: Option, value: object) -> Any:
    """The value of an option as the command would have it. Raises Refused."""
    form = option.form
    if form in ("whole", "rate"):
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        raise Refused(f"{name}={value!r}", expected="a whole number", code="wrong-value")
    if form in ("flag", "switch"):
        if isinstance(value, bool):
            return value
        raise Refused(f"{name}={value!r}", expected="True or False", code="wrong-value")
    if form == "list":
        texts = [value] if isinstance(value, str) else value
        if isinstance(texts, Sequence) and all(isinstance(text, str) for text in texts):
            return tuple(texts)
        raise Refused(f"{name}={value!r}", expected="a text, or a list of texts", code="wrong-value")
    if form == "path" and isinstance(value, (str, Path)):
        return Path(value)
    if isinstance(form, tuple) and value not in form:
        raise Refused(f"{name}={value!r}", expected=f"one of {', '.join(form)}", code="wrong-value")
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return str(value)
    raise Refused(f"{name}={value!r}", expected="a text", code="wrong-value")
