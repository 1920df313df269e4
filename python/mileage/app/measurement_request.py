"""The request of a measurement, from values of the options of `mileage measure`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import msgspec

from mileage.app.measurement import asked_of
from mileage.errors import Refused
from mileage.plan import MeasurementRequest, TraceFile
from mileage.plan.io_options import IoOptions
from mileage.plan.measure_options import OPTIONS

_PROCESSOR_DIGITS: Final = 5
"""Digits of the number of a processor: no kernel has 100,000 of them."""


def requested(given: dict[str, Any]) -> MeasurementRequest:
    """The request that values of options make: one for each of `OPTIONS`, by its key. Raises Refused."""
    cache = _cache(given)
    asked = asked_of(given["target"], given["destroy"], cache)
    how = {option.key: given[option.key] for option in OPTIONS if option.sets == "how"}
    how |= {
        "spacing": "poisson" if given["poisson"] and given["latency_target"] is None else None,
        "cache": cache,
        "dsync": given["dsync"] or None,
        "power_cut": given["power_cut"] or None,
        "pin": _processors(given["pin"]),
        "log": True if given["log"] is not None else None,
    }
    fields = {option.key: given[option.key] for option in OPTIONS if option.sets == "asked"}
    return msgspec.structs.replace(asked, **fields, how=IoOptions(**how), traces=_traces(given))


def _traces(given: dict[str, Any]) -> dict[str, TraceFile]:
    """The traces that the workload, or a level of it, replays. Raises Refused."""
    words = [
        given["workload"] or "",
        *(word for text in given["vary"] for word in text.partition("=")[2].split(",")),
    ]
    found: dict[str, TraceFile] = {}
    for word in words:
        head, colon, path = word.strip().partition(":")
        if head == "trace" and colon:
            from mileage.formats.trace import read_trace, trace_file

            found[path] = trace_file(Path(path).resolve(), read_trace(Path(path)))
    return found


def _cache(given: dict[str, Any]) -> str | None:
    if given["cold"]:
        if given["direct"]:
            raise Refused(
                "--cold and --direct",
                "a cache that is bypassed is not emptied",
                advice="give one of them",
                code="conflict",
            )
        return "cold"
    if given["direct"] is None:
        return None
    return "direct" if given["direct"] else "warm"


def _processors(text: str | None) -> tuple[int, ...] | None:
    """The processors that a list such as "0,2-3" names, or "node1" for those of a NUMA node. Raises Refused."""
    if text is None:
        return None
    found: list[int] = []
    for part in text.split(","):
        if part.strip().startswith("node"):
            found += _of_node(text, part.strip().removeprefix("node"))
            continue
        first, dash, last = part.strip().partition("-")
        numbers = (first, last) if dash else (first,)
        if not all(number.isdecimal() and len(number) <= _PROCESSOR_DIGITS for number in numbers):
            raise Refused(
                f"--pin {text}",
                expected="processor numbers such as 0,2-3, or node0",
                advice=f"this machine has {os.cpu_count()}",
                code="wrong-value",
            )
        found += range(int(first), int(last or first) + 1)
    return tuple(found)


def _of_node(text: str, node: str) -> tuple[int, ...]:
    from mileage import _core

    if not node.isdecimal() or len(node) > 9:
        raise Refused(
            f"--pin {text}", expected="the number of a NUMA node, such as node0", code="wrong-value"
        )
    try:
        return tuple(_core.cpus_of_node(int(node)))
    except Refused as refusal:
        raise refusal.within(f"--pin {text}") from refusal
