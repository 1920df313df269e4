"""What is done with the value of an option, as the kernel sees it.

Scope: the base line of the option's group with a distinctive name as the value, under strace. A call that has the name
is one that reads or one that could change something there.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

from tests.cli.canary_lines import BASES
from tests.cli.canary_options import Option
from tests.cli.canary_shop import STRACE, Shop, unmount_below

TOKEN: Final = "canaryname"
_CHANGES: Final = re.compile(
    r"(creat|unlink(at)?|rename(at2?)?|mkdir(at)?|rmdir|f?truncate|fallocate|link(at)?|symlink(at)?|mknod(at)?|bind"
    r"|f?chmod(at2?)?|[fl]?chown(at)?|[fl]?setxattr|utimensat)\("
)
_OPENS: Final = re.compile(r"(open|openat|openat2)\(")
_WRITES: Final = re.compile(r"O_(WRONLY|RDWR|CREAT|TRUNC|TMPFILE)")
_ASKS: Final = re.compile(r"(connect|openat|open|execve)\(")
_ARGUMENT: Final = re.compile(r"<(\w+)=([^>]*)>")


def probe(shop: Shop, option: Option, value: str, folder: Path) -> tuple[list[str], list[str]]:
    """The calls with the value that could change something there, and those that read there."""
    cwd = folder / "cwd"
    cwd.mkdir(parents=True)
    words = _words(option, value, cwd)
    if words is None:
        return [], []
    trace = folder / "trace"
    filled = shop.fill(words, {"w": str(cwd / "w"), "VALUE": value})
    before = (*STRACE, "-o", str(trace))
    done = shop.run(filled.split(), cwd, before)
    unmount_below(folder)
    assert not done.hung, f"{option.name} {value}: hangs: {filled}"
    named = _calls(trace, TOKEN)
    writes = [line for line in named if _could_change(line)]
    return writes, [line for line in named if _ASKS.match(line) and line not in writes]


def changing_calls(trace: Path, name: str) -> list[str]:
    """The calls of a trace that have the name and could change something there."""
    return [line for line in _calls(trace, name) if _could_change(line)]


def _calls(trace: Path, name: str) -> list[str]:
    lines = [line.partition(" ")[2].strip() for line in trace.read_text(errors="replace").splitlines()]
    # Where strace prints the path of a descriptor, a name that was opened before is seen again.
    return [line for line in lines if name in line and not line.startswith(("execve(", "+++"))]


def _could_change(line: str) -> bool:
    return bool(_CHANGES.match(line) or (_OPENS.match(line) and _WRITES.search(line)))


UNDONE: Final = {"drive array-tests"}
"""Groups whose line is refused: its study needs minutes."""
_DONE: Final = {"target": "dir:.", "ior -O": "testFile=x"}
"""What stands in the place of the option where the line needs one."""


def base_line(shop: Shop, group: str, folder: Path) -> list[str]:
    """The words of a group's line with no option more, and its working directory below the folder."""
    cwd = folder / "cwd"
    cwd.mkdir(parents=True)
    line = _ARGUMENT.sub(lambda found: found[2], BASES[group]).replace("{option}", _DONE.get(group, ""))
    if group == "study":
        (cwd / "probe.toml").write_text(_study("Study", "question", "?") or "")
        line = line.replace("{probe}", "probe.toml")
    return shop.fill(line, {"w": str(cwd / "w")}).split()


def _words(option: Option, value: str, cwd: Path) -> str | None:
    """The base line with the option; None where there is no place for it."""
    base = BASES.get(option.name, BASES[option.group])
    if option.group == "study":
        document = _study(*option.spelling.split("."), value)
        if document is None:
            return None
        (cwd / "probe.toml").write_text(document)
        base = base.replace("{probe}", "probe.toml")
    arguments = {f"<{name}>": default for name, default in _ARGUMENT.findall(base)}
    base = _ARGUMENT.sub(
        lambda found: "{VALUE}" if f"<{found[1]}>" == option.spelling else found[2], base
    ).strip()
    if option.spelling in arguments or option.group == "study":
        return re.sub(r" *\{option\}", "", base)
    return base.replace("{option}", _given(option))


def _given(option: Option) -> str:
    """The words that give the option."""
    if option.group in ("target",):
        return f"{option.spelling}{{VALUE}}"
    if option.group == "ior -O":
        return f"{option.spelling}={{VALUE}}"
    if option.group == "fio" and option.spelling not in ("--destroy", "--study"):
        return f"{option.spelling}={{VALUE}}"
    if option.group == "dd" and not option.spelling.startswith("-"):
        return f"{option.spelling}={{VALUE}}"
    if option.name in ("compare --workloads", "mpirun --mca"):
        return f"{option.spelling} {{VALUE}} {{VALUE}}"
    if option.name == "mpirun -x":
        return f"{option.spelling} NAME={{VALUE}}"
    if option.name == "drive serve --at":
        return f"{option.spelling} {{VALUE}} --no-loop"
    if option.name == "measure --workload":
        return f"{option.spelling} trace:{{VALUE}}"
    return f"{option.spelling} {{VALUE}}"


_PLACES: Final = {
    "Study": "",
    "State": "state",
    "Stage": "stage.0",
    "StopRule": "measure.m.stop",
    "Measure": "measure.m",
    "OwnWorkload": "workload.w",
    "Torture": "torture.t",
    "Compare": "compare",
    "Factor": "factor.f",
    "AccessRow": "workload.w.access.0",
    "IozoneSwitches": "measure.m.iozone",
    "MannerKeys": "measure.m.iozone.manner",
    "Relevance": "compare.relevance",
    "Repeat": "measure.m.repeat",
    "TraceFile": "workload.w.pattern.trace_file",
}
"""Where the table of each type stands in a study file."""
_LISTS: Final = ("before", "command", "cleanup", "files", "levels")


def _study(table: str, key: str, value: str) -> str | None:
    """A study in a directory, with one key changed; None for tables that no file has."""
    if table not in _PLACES:
        return None
    document: dict[str, Any] = {
        "name": "s",
        "target": "dir:.",
        "state": {"file": "64KiB"},
        "stage": [{"name": "p", "prepare": ["t"]}, {"name": "a", "measure": ["m"]}],
        "measure": {"m": {"workload": "sequential_write", "record": "4KiB", "stop": {"bytes": "64KiB"}}},
        "torture": {"t": {"workload": "sequential_write", "record": "4KiB", "amount": "64KiB"}},
    }
    if table in ("OwnWorkload", "AccessRow", "TraceFile"):
        document["measure"]["m"] = {"workload": "w", "repeat": 1}
    here: Any = document
    for step in filter(None, _PLACES[table].split(".")):
        if step.isdecimal():
            here = here[int(step)] if isinstance(here, list) else here.setdefault(step, {})
        elif step == "access":
            here = here.setdefault(step, [{"size": "4KiB"}])
        else:
            if not isinstance(here.get(step), (dict, list)):
                here[step] = {}
            here = here[step]
    if table == "Factor":
        here.update({"kind": "target", "levels": [value]})
    here[key] = {"note": value} if key == "notes" else [value] if key in _LISTS else value
    return "\n".join(f"{name} = {_toml(found)}" for name, found in document.items())


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {_toml(found)}' for key, found in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value)
