"""System calls of the engine, as strace saw them, in the words of the calls of a file job.

`python -m tests.execute.engine_calls CASES` does the cases of a JSON file, each in a directory `caseN`, and prints what
each found.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from mileage.model.run_record import RunRecord
from mileage.plan.tasks import Ior, Mdtest, Metarates

KINDS = (
    "open,openat,creat,stat,read,write,pread64,pwrite64,lseek,fsync,fdatasync,close,unlink,unlinkat,rmdir,mkdir,mkdirat,newfstatat,"
    "utimensat,rename,renameat,renameat2,getdents64,ftruncate,sync"
)
TOOLS = {"ior": Ior, "mdtest": Mdtest, "metarates": Metarates}
FLAGS = {
    "O_CREAT": "create",
    "O_EXCL": "exclusive",
    "O_TRUNC": "truncate",
    "O_DIRECT": "direct",
    "O_DSYNC": "dsync",
    "O_SYNC": "dsync",
}
Called = tuple[Any, ...]
_LINE = re.compile(r"^(\d+) +(\w+)\((.*)\) += (-?\d+|\?)(.*)$")
_BEGUN = re.compile(r"^(\d+) +(\w+\(.*) <unfinished \.\.\.>$")
_RESUMED = re.compile(r"^(\d+) +<\.\.\. \w+ resumed>(.*)$")


def engine_calls(
    place: Path, cases: list[dict[str, Any]]
) -> tuple[list[Any], list[list[tuple[str, Called]]]]:
    """Do cases with the engine below a directory: what each found, and its calls in order, each with its thread."""
    (place / "cases.json").write_text(json.dumps(cases))
    trace = place / "trace"
    watched = ["strace", "-f", "--seccomp-bpf", "-y", "-s", "0", "-e", f"trace={KINDS}", "-o", str(trace)]
    done = subprocess.run(
        [*watched, sys.executable, "-m", "tests.execute.engine_calls", "cases.json"],
        cwd=place,
        env={"PYTHONPATH": str(Path(__file__).parents[2]), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return found, _by_case(trace.read_text(), place, len(cases))


@dataclass
class _Threads:
    """What the threads of one case called."""

    calls: list[tuple[str, Called]] = field(default_factory=list)
    positions: dict[tuple[str, str], int] = field(default_factory=dict)
    directories: set[str] = field(default_factory=lambda: {""})

    def note(self, thread: str, *call: Any) -> None:
        self.calls.append((thread, call))


def _whole(text: str) -> list[str]:
    """The lines of a trace, with calls that another thread came between put together."""
    begun: dict[str, str] = {}
    lines = []
    for line in text.splitlines():
        if match := _BEGUN.match(line):
            begun[match[1]] = line.removesuffix(" <unfinished ...>")
        elif match := _RESUMED.match(line):
            lines.append(begun.pop(match[1]) + match[2])
        else:
            lines.append(line)
    return lines


def _by_case(text: str, place: Path, cases: int) -> list[list[tuple[str, Called]]]:
    threads = [_Threads() for _ in range(cases)]
    root = re.compile(rf"{re.escape(str(place))}/case(\d+)(?:/([^>\"]*))?")
    synced = 0
    for line in _whole(text):
        match = _LINE.match(line)
        if not match or match[5].startswith(" E"):
            continue
        thread, name, arguments, result, _ = match.groups()
        if name == "sync":
            synced += 1
            continue
        paths = _paths(arguments, root)
        if paths:
            for _ in range(synced):
                threads[paths[0][0]].note(thread, "sync_all")
            synced = 0
            _one(threads[paths[0][0]], thread, name, arguments, [path for _, path in paths], int(result))
    return [it.calls for it in threads]


def _paths(arguments: str, root: re.Pattern[str]) -> list[tuple[int, str]]:
    """The case and the path below it of each file that a call names: by its descriptor, or by a name in a directory."""
    found: list[tuple[int, str]] = []
    above, is_named = "", True
    for descriptor, quoted in re.findall(r"<([^>]*)>|\"([^\"]*)\"", arguments):
        if descriptor and not is_named:
            found += _below(above, root)
        if descriptor:
            above, is_named = descriptor, False
        elif not is_named or not quoted.startswith("/"):
            found += _below(
                f"{above}/{quoted}" if quoted and not quoted.startswith("/") else quoted or above, root
            )
            is_named = True
        else:
            found += _below(quoted, root)
    return found if is_named else [*found, *_below(above, root)]


def _below(path: str, root: re.Pattern[str]) -> list[tuple[int, str]]:
    inside = root.search(path)
    return [(int(inside[1]), inside[2] or "")] if inside else []


def _one(it: _Threads, thread: str, name: str, arguments: str, paths: list[str], result: int) -> None:
    path = paths[0].rstrip("/.")
    position = (thread, path)
    numbers = [int(word) for word in re.findall(r"(?<=, )-?\d+(?=$|,)", arguments)]
    match name:
        case "open" | "openat" if "O_DIRECTORY" in arguments or "O_PATH" in arguments:
            it.directories.add(path)
        case "open" | "openat" | "creat" if result >= 0:
            it.positions[position] = 0
            given = {
                *re.findall(r"O_[A-Z]+", arguments),
                *(("O_CREAT", "O_TRUNC") if name == "creat" else ()),
            }
            it.note(
                thread, "open", path, tuple(sorted(word for flag, word in FLAGS.items() if flag in given))
            )
        case "ftruncate":
            _, made = it.calls.pop()
            it.note(thread, "open", made[1], tuple(sorted({*made[2], "truncate"})))
        case "lseek":
            it.positions[position] = result
        case "read" | "write" if numbers[-1] > 0 and path not in it.directories:
            offset = it.positions.get(position, 0)
            it.positions[position] = offset + max(result, 0)
            if result > 0:
                it.note(thread, name, path, offset, result)
        case "pread64" | "pwrite64":
            it.note(thread, name.removeprefix("p").removesuffix("64"), path, numbers[-1], result)
        case "fsync" | "fdatasync":
            it.note(thread, "sync", path)
        case "close" if path not in it.directories:
            it.note(thread, "close", path)
        case "stat" | "newfstatat" if "AT_EMPTY_PATH" not in arguments:
            it.note(thread, "stat", path)
        case "utimensat":
            it.note(thread, "utime", path)
        case "unlink" | "unlinkat" | "rmdir":
            kind = "rmdir" if name == "rmdir" or "AT_REMOVEDIR" in arguments else "unlink"
            it.note(thread, kind, path)
        case "mkdir" | "mkdirat":
            it.note(thread, "mkdir", path)
        case "rename" | "renameat" | "renameat2":
            it.note(thread, "rename", path, paths[1])
        case "getdents64" if result > 0:
            it.note(thread, "readdir", path)


def totals(record: RunRecord) -> list[int]:
    """What a record says was done, without its times."""
    counted = [
        record.bytes_read,
        record.bytes_written,
        record.ops_read,
        record.ops_written,
        record.ops_metadata,
    ]
    return [*counted, record.counters.get("entries", 0)]


def main() -> None:
    """Do the cases of a file with the engine."""
    from mileage import _core
    from mileage.execute.tasks import perform_tasks

    for number, case in enumerate(json.loads(Path(sys.argv[1]).read_text())):
        place = Path.cwd() / f"case{number}"
        family, value = case["family"], case["value"]
        if family in TOOLS:
            results = perform_tasks(place, msgspec.convert(value, TOOLS[family]), "case", lambda *_: False)
            print(json.dumps([totals(it.record) for it in results]))
            continue
        place.mkdir()
        if family == "iozone":
            found = json.loads(_core.run_iozone(place / "file", json.dumps(value)))["results"]
            records = [it["record"] for it in found]
        else:
            records = [json.loads(_core.run_metadata(place, json.dumps(value)))]
        print(json.dumps([totals(RunRecord.from_json(json.dumps(it))) for it in records]))


if __name__ == "__main__":
    main()
