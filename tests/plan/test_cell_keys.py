"""Keys of cells: the label is what they render, old plans get the same ones, and what means the same matches."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from mileage.model.cell_key import CellKey, alike
from mileage.plan import Plan, TargetFacts, builtin_names, builtin_text, parse_study, places_of
from mileage.plan.cell_keys import with_keys
from mileage.plan.resolver import resolve

HEAD = """
name = "keys"
target = "dir:/scratch"
[state]
file = "64MiB"
"""
FILES = (
    HEAD
    + """
[[stage]]
name = "one"
measure = ["suite", "again", "tasks", "names", "program"]
[measure.suite]
workload = ["iozone.write", "iozone.read"]
record = ["64KiB", "1MiB"]
threads = [1, 4]
[measure.again]
workload = "iozone.read"
record = "1MiB"
threads = [4]
[measure.tasks]
workload = "ior.*"
threads = [1, 4]
[measure.names]
workload = "metadata.create"
vary = { sync = ["none", "fsync"] }
[measure.program]
workload = "make"
[workload.make]
command = ["make"]
"""
)
BLOCKS = (
    HEAD
    + """
[[stage]]
name = "fill"
prepare = ["fill"]
[[stage]]
name = "one"
measure = ["many", "few"]
[torture.fill]
workload = "throughput.write"
record = "1MiB"
amount = "1x"
[measure.many]
workload = ["iops.random_read", "pattern.mix"]
record = ["4KiB", "8KiB"]
stop = { time = "2 s" }
api = "uring"
depth = [1, 4]
vary = { reads = [70, 100], rate = [1000] }
[measure.few]
workload = "iops.random_read"
record = "4KiB"
stop = { time = "3 s" }
reads = 50
"""
)
FACTORS = """
name = "keys"
target = "dir:/scratch"
[state]
file = "64MiB"
[factor.record]
levels = ["64KiB", "1MiB"]
[factor.cache]
levels = ["warm", "direct"]
[[stage]]
name = "one"
measure = ["a"]
[measure.a]
workload = ["iozone.write", "iozone.read"]
threads = [1, 2]
[compare]
arms = "cache"
baseline = "warm"
candidate = "direct"
"""
STUDIES = {"files": FILES, "blocks": BLOCKS, "factors": FACTORS} | {
    name: builtin_text(name) for name in builtin_names()
}


def planned(text: str, directory: Callable[..., TargetFacts]) -> Plan:
    study = msgspec.structs.replace(parse_study(text, "keys.toml"), target="dir:/scratch")
    facts = directory(free_bytes=1 << 42)
    return resolve(study, facts, refuse=False, others=dict.fromkeys(places_of(study), facts))


@pytest.mark.parametrize("name", STUDIES)
def test_an_old_plan_without_keys_gets_those_that_it_would_be_made_with(
    name: str, directory: Callable[..., TargetFacts]
) -> None:
    plan = planned(STUDIES[name], directory)
    old = msgspec.json.decode(plan.to_json())
    for cell in old["cells"]:
        del cell["key"]
    read = msgspec.convert(old, Plan, str_keys=True)
    assert not any(cell.key.workload for cell in read.cells)
    assert [cell.key for cell in with_keys(read).cells] == [cell.key for cell in plan.cells]
    assert [cell.key.label for cell in plan.cells] == [cell.label for cell in plan.cells]
    assert len({cell.label for cell in plan.cells}) == len(plan.cells)


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        (
            FILES,
            (
                "iozone.write 64 KiB, 1 thread",
                "iozone.read 1 MiB, 4 threads",
                "iozone.read 1 MiB",
                "ior.write 4 threads",
                "metadata.create sync fsync",
                "make",
            ),
        ),
        (
            BLOCKS,
            (
                "iops.random_read 4 KiB, depth 4, 100 % reads, rate 1000/s",
                "iops.random 8 KiB, depth 1, 70 % reads, rate 1000/s",
                "iops.random 4 KiB, 50 % reads",
            ),
        ),
        (FACTORS, ("iozone.write, 2 threads, record 1MiB, cache direct",)),
    ],
)
def test_labels_stay_as_they_are(
    text: str, labels: tuple[str, ...], directory: Callable[..., TargetFacts]
) -> None:
    assert {cell.label for cell in planned(text, directory).cells} >= set(labels)


def test_a_label_without_a_factor_is_that_of_what_is_compared() -> None:
    key = CellKey(
        "iozone.read", shown={"record": "4 KiB"}, factors={"cache": "warm", "kernel": "6.1"}, table="a"
    )
    assert key.label == "iozone.read 4 KiB (a), cache warm, kernel 6.1"
    assert key.without("cache").label == "iozone.read 4 KiB (a), kernel 6.1"
    assert key.of_test("iozone").stem == "iozone 4 KiB (a)"
    assert key.parts == ["4 KiB (a)", "cache warm", "kernel 6.1"]


def test_cells_match_by_label_then_by_meaning_and_never_by_one_that_is_there_twice() -> None:
    def key(workload: str, depth: int | None = 1, work: str = "random_read") -> CellKey:
        return CellKey(workload, record_bytes=4096, threads=1, depth=depth, work=work)

    ours = {"a": key("a"), "b": key("b", 4), "c": key("c", 8), "same": key("same", 2)}
    others = {"x": key("x"), "y": key("y", 4), "z": key("z", 4), "u": key("u", None), "same": key("same", 9)}
    assert alike(ours, others) == {"x": "a", "same": "same"}
