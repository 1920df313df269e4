"""The engine and a modelled host do the same work on files: the same calls in the same order, and the same results.

The engine's calls are those that strace saw the kernel receive, on a real directory; the host's those that it began. Of
operations on names each task is compared, of tools' tasks and of IOzone's tests each file.
"""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from typing import Any

import msgspec
import pytest

from mileage.execute.host_files import tasks_on_host
from mileage.model.run_record import RunRecord
from mileage.targets.host_target import HostTarget
from mileage.targets.target_kinds import open_target
from tests.execute.engine_calls import TOOLS, Called, engine_calls, totals

pytestmark = [
    pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace"),
    pytest.mark.xdist_group("file-calls"),
]

SMALL = "plain-64gib@server-2025,memory_bytes=268435456,cache_bytes=134217728,journal_bytes=16777216"


def names(operation: str, **more: Any) -> dict[str, Any]:
    return {
        "family": "names",
        "value": {"operation": operation, "files": 6, "threads": 2, "place": "given", **more},
    }


def iozone(**more: Any) -> dict[str, Any]:
    return {"family": "iozone", "value": {"file_bytes": 1 << 18, "record_bytes": 16384, **more}}


def tool(family: str, **more: Any) -> dict[str, Any]:
    return {"family": family, "value": {"tasks": 2, **more}}


IOR = {"transfer_bytes": 4096, "block_bytes": 16384, "segments": 3}
CASES = {
    "create": names("create", file_bytes=5000, fsync=True, create_with="truncating"),
    "open": names("open", order="shuffled", seed=7),
    "read": names("read", file_bytes=(1 << 20) + 5000, threads=1, files=2),
    "stat": names("stat", set_up="first", threads=3),
    "utime": names("utime", directories="per_worker"),
    "rename": names("rename"),
    "unlink": names("unlink", tree={"depth": 1, "fan_out": 2}),
    "mkdir": names("mkdir"),
    "rmdir": names("rmdir", threads=1),
    "readdir": names("readdir", directories="per_worker"),
    "IOzone": iozone(mode="fidelity"),
    "IOzone, intended": iozone(mode="intended"),
    "IOzone, children": iozone(mode="fidelity", workers=2, flush_timed=True, close_timed=True),
    "IOzone, intended children": iozone(mode="intended", workers=3),
    "IOR": tool("ior", **IOR, files="per_thread"),
    "IOR, one file": tool("ior", **IOR, files="shared", sync="fsync"),
    "metarates": tool("metarates", files=8),
    "metarates, own directories": tool("metarates", files=8, own_directories=True, fsync=True),
    "mdtest": tool("mdtest", files=6, write_bytes=3000, read_bytes=3000),
}


@pytest.fixture(scope="module")
def by_engine(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Any, list[tuple[str, Called]]]]:
    found, calls = engine_calls(tmp_path_factory.mktemp("engine"), list(CASES.values()))
    return dict(zip(CASES, zip(found, calls, strict=True), strict=True))


def by_host(case: dict[str, Any]) -> tuple[Any, list[tuple[str, Called]]]:
    """What a host did: results and calls as those of the engine."""
    target = open_target(f"virtual:{SMALL}", plan_hash="0123456789abcdef")
    assert isinstance(target, HostTarget)
    host, value = target.host, case["value"]
    host.trace_calls()
    if case["family"] in TOOLS:
        wanted = msgspec.convert(value, TOOLS[case["family"]])
        records = [it.record for it in tasks_on_host(host, wanted, "case", lambda *_: False)]
        above = "mileage"
    elif case["family"] == "iozone":
        found = json.loads(host.run_iozone("file", json.dumps(value)))["results"]
        records = [RunRecord.from_json(json.dumps(it["record"])) for it in found]
        above = ""
    else:
        found = json.loads(host.run_names("case", [("", json.dumps(value))]))["phases"]
        records = [RunRecord.from_json(json.dumps(it["record"])) for it in found]
        above = ""
    calls = [(str(task), _called(call, above)) for task, call in _named(json.loads(host.take_calls()))]
    return [totals(record) for record in records], calls


def with_effect(calls: list[tuple[str, Called]]) -> list[tuple[str, Called]]:
    """Without calls that remove what is not there, which both sides tolerate, and without O_CREAT for what is there."""
    there: set[str] = set()
    done = []
    for task, call in calls:
        kind, *paths = call
        if kind in ("unlink", "rmdir"):
            if paths[0] not in there:
                continue
            there.discard(paths[0])
        elif kind == "open" and paths[0] in there:
            flags = tuple(word for word in call[2] if word != "create")
            done.append((task, (kind, paths[0], flags)))
            continue
        elif kind in ("open", "mkdir"):
            there.add(paths[0])
        elif kind == "rename":
            there.discard(paths[0])
            there.add(paths[1])
        done.append((task, call))
    return done


def _named(calls: list[Any]) -> list[tuple[int, dict[str, Any]]]:
    """Calls with the path of the file that a handle is, in place of the handle."""
    paths: dict[int, str] = {}
    named = []
    for task, call in calls:
        ((kind, given),) = ({call: {}} if isinstance(call, str) else call).items()
        if kind == "open":
            paths[given["handle"]] = given["path"]
        path = given.get("path") or (paths[given["handle"]] if "handle" in given else "")
        named.append((task, {**given, "kind": kind, "path": path}))
    return named


def _called(call: dict[str, Any], above: str) -> Called:
    def below(path: str) -> str:
        return path.removeprefix(above).strip("/")

    kind, path = call["kind"], below(call["path"])
    match kind:
        case "open":
            return (kind, path, tuple(sorted(word for word, given in call["how"].items() if given)))
        case "read" | "write":
            return (kind, path, call["offset"], call["length"])
        case "rename":
            return (kind, below(call["from"]), below(call["to"]))
        case "unlink":
            return ("rmdir" if call["directory"] else "unlink", path)
        case "sync_all":
            return (kind,)
        case _:
            return (kind, path)


ITEM = re.compile(r"(?:file|dir)\.mdtest|n\d+f\d+")


def is_compared(family: str, call: Called) -> bool:
    """Not what the engine does to be sure of its files and directories, nor what it makes them with."""
    kind, path = call[0], call[1] if len(call) > 1 else ""
    match family:
        case "iozone":
            return kind not in ("stat", "mkdir")
        case "ior":
            return kind in ("read", "write", "sync")
        case "names":
            return kind not in ("mkdir", "rmdir") and (kind != "stat" or bool(path))
        case _:
            return bool(ITEM.search(path))


def compared(family: str, calls: list[tuple[str, Called]]) -> Any:
    """What must be equal of the calls of a case: those of each task, or of each file; and all on directories."""
    calls = with_effect(calls)
    if family == "ior":
        return Counter(call for _, call in calls if is_compared(family, call))
    on_directories = Counter(call for _, call in calls if call[0] in ("mkdir", "rmdir") and call[1])
    parts: dict[str, list[Called]] = {}
    for thread, call in calls:
        if is_compared(family, call):
            part = thread if family == "names" else call[1] if len(call) > 1 else ""
            parts.setdefault(part, []).append(call)
    if family == "names":
        return sorted(parts.values()), on_directories
    return parts, on_directories


@pytest.mark.parametrize("name", CASES)
def test_engine_and_host_make_the_same_calls_and_report_the_same_work(
    name: str, by_engine: dict[str, tuple[Any, list[tuple[str, Called]]]]
) -> None:
    case = CASES[name]
    results, calls = by_engine[name]
    of_host, host_calls = by_host(case)
    assert calls
    assert results == of_host
    assert compared(case["family"], host_calls) == compared(case["family"], calls)
