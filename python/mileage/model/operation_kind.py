"""The kinds of operations: one row for each, with what reports call its latency.

Invariant: the names are those of `OpKind` in the crate `mileage-workload`; a new kind is one row here.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

OperationKind = Literal["read", "write", "sync", "discard"]
"""What an operation of a workload does."""


class LatencyKind(NamedTuple):
    """How the latencies of one kind of operation are reported."""

    latency: str
    """What a table calls them; at most 14 characters."""
    aliases: tuple[str, ...] = ()
    """What traces of other tools call the kind."""
    is_waited_for: bool = True
    """Whether a user waits for each of them; a sync ends a run and is reported by itself."""


OPERATION_KINDS: Final[dict[OperationKind, LatencyKind]] = {
    "read": LatencyKind("read latency", ("r",)),
    "write": LatencyKind("write latency", ("w",)),
    "discard": LatencyKind("discards", ("trim", "d")),
    "sync": LatencyKind("sync", ("fsync", "datasync", "fdatasync", "flush", "f"), is_waited_for=False),
}
"""In the order of reports."""
LATENCY_KINDS: Final[dict[str, LatencyKind]] = dict(
    [
        *OPERATION_KINDS.items(),
        ("metadata", LatencyKind("metadata")),
        ("commit", LatencyKind("commit", is_waited_for=False)),
        ("durable_write", LatencyKind("durable write", is_waited_for=False)),
        ("unfinished_sync", LatencyKind("unfinished sync", is_waited_for=False)),
        ("unfinished_commit", LatencyKind("unfinished commit", is_waited_for=False)),
    ]
)
"""Those of a workload, work on names, the two that end with a sync, and what syncs and commits had taken that failed or
were given up: every kind of a run record but `response`."""
UNFINISHED: Final = "unfinished_"
"""Before the name of a kind: those that failed or were given up, with what they had taken by then."""
WAITED_FOR: Final = tuple(name for name, kind in LATENCY_KINDS.items() if kind.is_waited_for)
"""Kinds of operations that a user waits for."""
