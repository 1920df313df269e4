"""The Python value has the Rust one's fields, JSON and rules."""

from __future__ import annotations

import msgspec
import pytest

from mileage.plan import Stop, Workload
from mileage.plan.pattern import PatternTable, Trace, TraceOp

VALID = Workload(
    pattern="random",
    read_percent=0,
    record_bytes=4096,
    span_start_bytes=0,
    span_bytes=1 << 20,
    depth=1,
    threads=2,
    stop=Stop(bytes=8192),
    seed=2**64 - 1,
)


def test_the_json_is_what_the_rust_side_reads() -> None:
    assert VALID.to_json() == (
        '{"pattern":"random","read_percent":0,"record_bytes":4096,"span_start_bytes":0,"span_bytes":1048576,'
        '"depth":1,"threads":2,"stop":{"bytes":8192,"operations":null,"time_ns":null},'
        '"seed":18446744073709551615,"content":"incompressible","sync":"none","sync_timed":false,'
        '"sync_every":0,"discard_percent":0,"files":"shared",'
        '"load":{"open":null,"cap":null,"think":null,"warm_up_ns":0},"verify":"off","generation":0}'
    )
    assert msgspec.json.decode(VALID.to_json(), type=Workload) == VALID
    assert VALID.problem() is None


def uneven(found: int, unit: str) -> str:
    return f"{found} bytes, not a multiple of {unit}: choose a size that divides evenly"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"record_bytes": 0}, ("record_bytes", "0: expected 1 to 1073741824")),
        ({"record_bytes": 1 << 31}, ("record_bytes", "2147483648: expected 1 to 1073741824")),
        ({"read_percent": 101}, ("read_percent", "101: expected 0 to 100")),
        ({"depth": 0}, ("depth", "0: expected 1 to 4096")),
        ({"threads": 1025}, ("threads", "1025: expected 1 to 1024")),
        (
            {"threads": 257, "pattern": "sequential", "stop": Stop(operations=300)},
            ("span_bytes", "256: expected 257 to 1099511627776 (in records, one for each thread at least)"),
        ),
        (
            {"span_bytes": 5000},
            (
                "span_bytes",
                uneven(5000, "4096 bytes (4 KiB)"),
            ),
        ),
        (
            {"span_start_bytes": 2**64 - 4096, "span_bytes": 8192},
            ("span_start_bytes", "18446744073709547520: expected 0 to 18446744073709543423"),
        ),
        ({"stop": Stop()}, ("stop", "no stop rule: give stop.bytes, stop.operations or stop.time_ns")),
        (
            {"stop": Stop(bytes=8193)},
            (
                "stop.bytes",
                uneven(8193, "4096 bytes (4 KiB)"),
            ),
        ),
        (
            {"stop": Stop(bytes=4096)},
            ("stop.bytes", "4096: expected 8192 or more (a record for each thread at least)"),
        ),
        (
            {"stop": Stop(operations=1)},
            ("stop.operations", "1: expected 2 or more (one for each thread at least)"),
        ),
        ({"stop": Stop(time_ns=0)}, ("stop.time_ns", "0: expected 1 to 9223372036854775807")),
        (
            {
                "pattern": PatternTable(trace=Trace((TraceOp(0, "read", 0, 512),), timed=False)),
                "read_percent": 100,
                "record_bytes": 512,
                "threads": 1,
                "content": "iozone_default",
                "verify": "all",
            },
            (
                "verify",
                "all: IOzone's bytes depend on the record, and operations of this pattern may differ in size: "
                "choose incompressible, mixed or zeros",
            ),
        ),
        (
            {"read_percent": 100, "content": "fio_scrambled", "verify": "all"},
            (
                "verify",
                "all: what fio writes without verify depends on the length of the write: choose incompressible, mixed "
                "or zeros",
            ),
        ),
    ],
    ids=str,
)
def test_every_rule_is_named_when_broken(changes: dict[str, object], problem: tuple[str, str]) -> None:
    assert msgspec.structs.replace(VALID, **changes).problem() == problem


@pytest.mark.parametrize("changes", [{"seed": 2**64}, {"seed": -1}, {"span_start_bytes": -4096}], ids=str)
def test_what_no_field_can_hold_is_refused(changes: dict[str, int]) -> None:
    problem = msgspec.structs.replace(VALID, **changes).problem()
    assert problem is not None
    assert problem[0] == "workload"
    assert "expected u64" in problem[1]


@pytest.mark.parametrize(
    ("stop", "operations"),
    [
        (Stop(bytes=8192), 2),
        (Stop(operations=7), 7),
        (Stop(bytes=40960, operations=7), 7),
        (Stop(bytes=8192, operations=7, time_ns=5), 2),
        (Stop(time_ns=5), None),
    ],
)
def test_the_first_limit_counts(stop: Stop, operations: int | None) -> None:
    assert msgspec.structs.replace(VALID, stop=stop).operations == operations
