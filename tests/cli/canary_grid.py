"""Each command line with each thing at its path, without `--destroy`: what changed that nobody permitted.

An empty regular file may change, and a file that Mileage made and that is as Mileage left it. Everything else must be
as it was. The command ends in time, with 0 or 2; where it only reads, or a folder is missing, also as the tool itself
does. By hand, all combinations or those whose name has a text: `python -m tests.cli.canary_grid [TEXT] [--table FILE]`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from mileage.dropin.flags import TOOLS
from mileage.dropin.tool_statuses import IOZONE_MISSING, statuses_of
from mileage.execute.tool_tasks.ranks import ABORTED
from mileage.report.fitness import CANNOT_SAY
from tests.cli import canary_things as things
from tests.cli.canary_lines import CASES, Case
from tests.cli.canary_roles import Role, roles
from tests.cli.canary_shop import Done, Shop, unmount_below
from tests.cli.canary_things import DEVICES, KINDS, MADE, TYPOS, Canary, Maker

_REPLACED: Final = ("work", "result")
"""Roles of options whose own file is used again by the same command line."""
_PLACES: Final = ("place", "work")


@dataclass
class Outcome:
    """What a combination led to."""

    case: Case
    kind: str
    words: str = ""
    status: int | None = None
    """None: the combination does not exist, as the command leaves nothing at the path."""
    changed: list[str] = field(default_factory=list)
    """What changed without permission."""
    faults: list[str] = field(default_factory=list)
    """What else is wrong."""
    errors: str = ""

    @property
    def is_sound(self) -> bool:
        return not self.changed and not self.faults


def combinations(text: str = "") -> Iterator[tuple[Case, str]]:
    """All of them."""
    for case in CASES:
        for kind in KINDS:
            if kind in TYPOS and "{p}" not in case.at:
                continue
            if text in f"{case.option} {case.name} {kind}":
                yield case, kind


def needs_root(kind: str) -> bool:
    return kind in (*DEVICES, "backing") or kind in TYPOS


def attempt(shop: Shop, case: Case, kind: str, folder: Path) -> Outcome:
    """Try one combination in a new folder."""
    with ExitStack() as undo:
        undo.callback(things.remove_typos)
        undo.callback(unmount_below, folder)
        scene = _Scene(shop, case, kind, folder, Maker(folder / "things", undo))
        return scene.outcome()


class _Scene:
    def __init__(self, shop: Shop, case: Case, kind: str, folder: Path, maker: Maker) -> None:
        self._shop, self._case, self._kind, self._maker = shop, case, kind, maker
        self._cwd = folder / "cwd"
        self._cwd.mkdir(parents=True)
        maker.folder.mkdir()
        (folder / "own").mkdir()
        (folder / "dir").mkdir()
        self._names = {
            "p": str(maker.folder / "canary"),
            "w": str(folder / "own" / "w"),
            "folder": str(folder / "dir"),
            "cwd": str(self._cwd),
        }
        self._made: Done | None = None

    def outcome(self) -> Outcome:
        found = Outcome(self._case, self._kind)
        thing = self._thing()
        if thing is None:
            return found
        before = thing.snapshot()
        done = self._run(self._case.words)
        after = thing.snapshot()
        found.words, found.status, found.errors = self._filled(self._case.words), done.status, done.errors
        role = _role_of(self._case)
        if thing.kind == "directory" and role in _PLACES:
            for state in (before, after):
                state[str(thing.at)].pop("names", None) if state[str(thing.at)] else None
        if thing.kind not in ("empty", "made"):
            found.changed = things.differences(before, after)
        if done.hung:
            found.faults.append("hangs")
        elif done.crashed:
            found.faults.append("crashes")
        elif not (done.status in (0, 2, CANNOT_SAY) or self._case.reads or done.status == self._missing()):
            found.faults.append(f"status {done.status}")
        elif thing.kind in TYPOS and done.status == 0 and not self._case.reads:
            found.faults.append("not refused")
        if thing.kind == "made" and role in _REPLACED and done.status == 2:
            found.faults.append("refuses what it made itself")
        return found

    def _missing(self) -> int:
        """The status of a tool for a folder or a device that does not exist, where that is so; else 2.

        IOR and mdtest abort where a call fails: in a folder that does not exist, and with mknod on a name that does.
        IOzone's tests that read first have statuses of their own.
        """
        tool = self._case.words.split()[0]
        if tool in ("ior", "mdtest", "mpirun") and self._kind in ("typo-folder", "made"):
            return ABORTED
        if tool == "iozone" and self._kind == "typo-folder" and " -i 2 " in self._case.words:
            return IOZONE_MISSING["random_read"]
        is_missing = self._kind in TYPOS or _role_of(self._case) == "place"
        return statuses_of(tool).missing if is_missing and tool in TOOLS else 2

    def _thing(self) -> Canary | None:
        kind, case = self._kind, self._case
        if kind in TYPOS:
            self._names["p"] = str(TYPOS[kind])
            return things.typo(kind)
        if kind in DEVICES and case.at == "{p}":
            device = self._maker.device(kind)
            self._names["p"] = str(device)
            return self._maker.known_device(kind, device)
        at = self._cwd / self._filled(case.at)
        if kind not in MADE:
            return self._maker.put(kind, at)
        self._run(case.maker or case.words)
        if not at.is_file() or (kind == "edited" and not at.stat().st_size):
            return None
        if kind == "edited":
            things.edit(at)
        return Canary(kind, at, (at,))

    def _run(self, words: str) -> Done:
        for name, text in self._case.files.items():
            (self._cwd / name).write_text(self._filled(text))
        return self._shop.run(self._filled(words).split(), self._cwd, limit_s=self._case.limit_s)

    def _filled(self, words: str) -> str:
        return self._shop.fill(words, self._names)


def _role_of(case: Case) -> Role:
    group, _, spelling = case.option.rpartition(" ")
    return roles()[group, spelling]


def main() -> None:
    """Try the combinations and print what failed, and how many there are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", nargs="?", default="", help="only combinations whose name has this text")
    parser.add_argument("--table", type=Path, help="write a table of those that fail")
    given = parser.parse_args()
    began, tried, failed = time.monotonic(), 0, []
    with ExitStack() as undo:
        folder = Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="canary-")))
        shop = Shop(folder / "shop", undo)
        for number, (case, kind) in enumerate(combinations(given.text)):
            if needs_root(kind) and os.geteuid() != 0:
                continue
            found = attempt(shop, case, kind, folder / str(number))
            shutil.rmtree(folder / str(number), ignore_errors=True)
            tried += found.status is not None
            if not found.is_sound:
                failed.append(found)
                print(_row(found), flush=True)
    changed = sum(bool(one.changed) for one in failed)
    print(
        f"{tried} combinations in {time.monotonic() - began:.0f} s: "
        f"{changed} changed without permission, {len(failed) - changed} with another fault"
    )
    if given.table is not None:
        head = "| command line | at the path | status | changed | other fault | said |\n|---|---|---|---|---|---|\n"
        given.table.write_text(head + "".join(f"{_row(one)}\n" for one in failed))


def _row(found: Outcome) -> str:
    said = (found.errors.strip().splitlines() or [""])[-1][:120].replace("|", "/")
    what = found.case.name.replace("|", "/").replace("\\n", " ")
    cells = (
        f"`mileage {what}`",
        found.kind,
        found.status,
        "; ".join(found.changed),
        "; ".join(found.faults),
        said,
    )
    return f"| {' | '.join(str(cell) for cell in cells)} |"


if __name__ == "__main__":
    main()
