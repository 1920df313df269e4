"""A study folder from a stranger, or from a damaged disk: no traceback, nothing written outside, every edit reported.

Finished folders of several kinds are damaged in one way each, drawn by a seed: bytes and lines changed, JSON values
edited with and without new checksums, files missing or exchanged, links, pipes and hard links put in. Then they are
read, reported, asked and resumed. `python -m tests.app.test_damaged_folders N [SEED]` tries N and prints the counts.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import random
import shutil
import stat
import sys
import tempfile
import time
import tomllib
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import pytest

from mileage import app
from mileage.app.export_tables import exported_tables
from mileage.app.importer import make_study, read_files
from mileage.app.study import run
from mileage.errors import MileageError
from mileage.store.query import Query
from tests.execute.conftest import STUDY, small_profile
from tests.formats.sample_reader import SAMPLES
from tests.store.sealing import seal_again, unseal

SMALL: Final = (
    STUDY.replace("CYCLES", "1")
    .replace("SHAM", "false")
    .replace("ON_FAILURE", "dnf")
    .replace("operations = 2000", "operations = 60")
    .replace("8MiB", "1MiB")
)
_BEFORE, _AFTER = SMALL.split('[[stage]]\nname = "torture"')
ALONE: Final = (
    f"{_BEFORE}[measure.throughput]{_AFTER.split('[measure.throughput]')[1].split('[torture.churn]')[0]}"
)
LEVELS: Final = '\n[factor.read_us]\nkind = "profile"\nlevels = [50, 80]\n[compare]\narms = "read_us"\n'
THOROUGH: Final = os.environ.get("MILEAGE_TEST_PROFILE") == "thorough"


class Folder(NamedTuple):
    """A finished study folder."""

    path: Path
    sealed: bool


def make_folders(place: Path) -> dict[str, Folder]:
    """Finished folders of every kind that is read."""
    profile = place / "drive.toml"
    profile.write_text(small_profile(8))
    studies = {
        "torture": SMALL.replace("TARGET", f"virtual:{profile}"),
        "levels": ALONE.replace("TARGET", f"virtual:{profile}") + LEVELS,
        "measured": ALONE.replace("TARGET", f"dir:{place}").replace("32MiB", "1MiB"),
    }
    found = {}
    for name, text in studies.items():
        study = place / f"{name}.toml"
        study.write_text(text)
        found[name] = Folder(run(str(study), out=place / name, report="text").folder.path, True)
    files = [SAMPLES / "fio-one-job.json"]
    imported = make_study(read_files(files), place / "imported")
    app.load(imported.path).write_report("text")
    found["imported"] = Folder(imported.path, True)
    shutil.copytree(place / "levels", place / "unsealed")
    unseal(place / "unsealed")
    found["unsealed"] = Folder(place / "unsealed", False)
    return found


VALUES: Final[tuple[Any, ...]] = (
    *(0, -1, 1, 10**30, 2**63, 1e308, -1e308, 0.5, None, True, False, "", "x", "../../etc", "9" * 5000),
    *([], {}, [None], {"a": None}, [[[[]]]], "\ud7ff\u202e\x1b[2J", "=1+1", [0] * 50, {"x": [1, 2]}),
)


def edit_value(draw: random.Random, value: Any) -> Any:
    """A JSON value with one value in it, however deep, replaced, removed or doubled."""
    if isinstance(value, dict) and value and draw.random() < 0.97:
        name = draw.choice(list(value))
        chance = draw.random()
        if chance < 0.05:
            return {key: found for key, found in value.items() if key != name}
        if chance < 0.08:
            return {**value, f"{name}x": value[name]}
        return {**value, name: edit_value(draw, value[name])}
    if isinstance(value, list) and value and draw.random() < 0.97:
        at = draw.randrange(len(value))
        chance = draw.random()
        if chance < 0.1:
            return value[:at] + value[at + 1 :]
        if chance < 0.2:
            return [*value[:at], value[at], *value[at:]]
        return [*value[:at], edit_value(draw, value[at]), *value[at + 1 :]]
    if isinstance(value, int) and not isinstance(value, bool) and draw.random() < 0.5:
        return draw.choice([value * 2, value + 1, value - 1, -value])
    return draw.choice(VALUES)


class Case(NamedTuple):
    """A folder being damaged, next to what is not to be touched."""

    draw: random.Random
    folder: Path
    victims: Path
    other: Path

    def files(self) -> list[Path]:
        return sorted(path for path in self.folder.rglob("*") if path.is_file() and not path.is_symlink())

    def truth(self) -> Path:
        """A file from which everything is derived."""
        return self.draw.choice(
            [self.folder / "journal.jsonl"] * 4
            + [self.folder / "plan.json", self.folder / "plan.toml"]
            + sorted(self.folder.glob("environment/**/*.json"))[:6]
        )


def change_bytes(case: Case) -> None:
    path = case.truth() if case.draw.random() < 0.8 else case.draw.choice(case.files())
    data = bytearray(path.read_bytes())
    at, many = case.draw.randrange(len(data) + 1), case.draw.randrange(1, 40)
    way = case.draw.randrange(4)
    if way == 0:
        data[at : at + many] = case.draw.randbytes(len(data[at : at + many]))
    elif way == 1:
        del data[at : at + many]
    elif way == 2:
        data[at:at] = case.draw.randbytes(many)
    elif data:
        at = min(at, len(data) - 1)
        data[at] ^= 1 << case.draw.randrange(8)
    path.write_bytes(data)


def cut(case: Case) -> None:
    path = case.truth()
    data = path.read_bytes()
    path.write_bytes(data[: case.draw.randrange(len(data))])


def move_lines(case: Case) -> None:
    path = case.folder / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    at, to = case.draw.randrange(len(lines)), case.draw.randrange(len(lines))
    way = case.draw.randrange(4)
    if way == 0:
        del lines[at]
    elif way == 1:
        lines.insert(to, lines[at])
    elif way == 2:
        lines[at], lines[to] = lines[to], lines[at]
    else:
        del lines[min(at, to) : max(at, to) + 1]
    path.write_bytes(b"".join(lines))


def line_of_another(case: Case) -> None:
    path = case.folder / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    others = (case.other / "journal.jsonl").read_bytes().splitlines(keepends=True)
    lines.insert(case.draw.randrange(len(lines) + 1), case.draw.choice(others))
    path.write_bytes(b"".join(lines))


def _edit_lines(case: Case) -> list[bytes]:
    lines = (case.folder / "journal.jsonl").read_bytes().splitlines()
    at = case.draw.randrange(len(lines))
    lines[at] = msgspec.json.encode(edit_value(case.draw, json.loads(lines[at])))
    return lines


def edit_journal(case: Case) -> None:
    lines = _edit_lines(case)
    (case.folder / "journal.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))


def forge_journal(case: Case) -> None:
    lines = _edit_lines(case)
    seal_again(case.folder, lines)


def edit_file(case: Case) -> None:
    path = case.draw.choice(
        [case.folder / "plan.json", *sorted(case.folder.glob("environment/**/*.json"))[:8]]
    )
    path.write_bytes(msgspec.json.encode(edit_value(case.draw, json.loads(path.read_bytes()))))


def forge_plan(case: Case) -> None:
    path = case.folder / "plan.json"
    path.write_bytes(msgspec.json.encode(edit_value(case.draw, json.loads(path.read_bytes()))))
    seal_again(case.folder)


def remove_file(case: Case) -> None:
    path = case.draw.choice([case.truth(), *case.files()])
    path.unlink()


def exchange_files(case: Case) -> None:
    if case.draw.random() < 0.5:
        one, two = case.draw.sample(case.files(), 2)
        first, second = one.read_bytes(), two.read_bytes()
        one.write_bytes(second)
        two.write_bytes(first)
    else:
        path = case.truth()
        there = case.other / path.relative_to(case.folder)
        if there.is_file():
            shutil.copyfile(there, path)


def add_file(case: Case) -> None:
    place = case.draw.choice(["", "environment/", "environment/raw/", "tables/", "state/", "new/"])
    name = case.draw.choice(
        ["x.json", "journal.jsonl.old", ".plan.json.part", "new.parquet", "stop--target-7.json"]
    )
    path = case.folder / place / name
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_bytes(case.draw.choice(case.files()).read_bytes())


def forbid(case: Case) -> None:
    """Take the permission to read a file away; root reads it nevertheless."""
    case.draw.choice([case.truth(), case.draw.choice(case.files())]).chmod(0)


PLACES: Final = (
    *("journal.jsonl", "plan.json", "plan.toml", "report.html", ".lock", ".tables.json", "samples.parquet"),
    *(
        "tables",
        "figures",
        "environment",
        "state",
        "logs",
        "traces",
        "environment/start.json",
        "environment/raw",
    ),
    *(
        "tables/cells.csv",
        "tables/measured.csv",
        ".report.html.part",
        "tables/within.csv",
        "new",
        "latency.parquet",
    ),
)


def put_link(case: Case) -> None:
    path = case.folder / case.draw.choice(PLACES)
    path.parent.mkdir(exist_ok=True)
    is_folder = path.is_dir() or path.suffix == ""
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    victim = case.victims / ("folder" if is_folder else "file")
    if not is_folder and case.draw.random() < 0.5:
        # The real content, so that everything else is as it should be.
        source = next((f for f in (case.other / path.name,) if f.is_file()), victim)
        victim = case.victims / "copy"
        shutil.copyfile(source, victim)
    way = case.draw.randrange(4)
    if way == 0 and not is_folder:
        os.link(victim, path)
    elif way == 1:
        os.mkfifo(path)
    else:
        path.symlink_to(victim if way == 2 else os.path.relpath(victim, path.parent))


WAYS: Final[dict[str, Callable[[Case], None]]] = {
    "bytes changed": change_bytes,
    "file cut": cut,
    "lines removed, doubled or swapped": move_lines,
    "line of another study": line_of_another,
    "JSON value of the journal": edit_journal,
    "JSON value of the journal, sealed again": forge_journal,
    "JSON value of plan or environment": edit_file,
    "JSON value of the plan, sealed again": forge_plan,
    "file removed": remove_file,
    "files exchanged": exchange_files,
    "file added": add_file,
    "link, pipe or hard link": put_link,
    "permission taken away": forbid,
}


def tree(place: Path) -> dict[str, str]:
    """Every path below a place, with what it is and the checksum of its content."""
    found = {}
    for path in sorted(place.rglob("*")):
        kind = stat.S_IFMT(path.lstat().st_mode)
        content = ""
        if kind == stat.S_IFREG:
            with suppress(PermissionError):
                content = hashlib.sha256(path.read_bytes()).hexdigest()
        found[str(path.relative_to(place))] = f"{kind:o} {content}"
    return found


def truths(folder: Path) -> dict[str, str]:
    """The files from which everything is derived."""
    wanted = ("journal.jsonl", "plan.json", "plan.toml")
    return {
        name: output
        for name, output in tree(folder).items()
        if name in wanted or (name.startswith("environment/") and name.endswith(".json"))
    }


def look(folder: Path, chance: float) -> str:
    """The report of a folder, and the less likely the more of what else reads it; refusals are one line each."""
    said = []
    actions: list[Callable[[], object]] = [lambda: app.load(folder).text()]
    if chance < 0.2:
        actions.append(lambda: app.load(folder).write_report("text"))
    if chance < 0.05:
        actions.append(lambda: [list(table.rows()) for table in exported_tables(folder)[1]])
        actions.append(lambda: Query([folder]).sql("SELECT count(*), max(value) FROM samples"))
        actions.append(lambda: Query([folder]).sql("SELECT * FROM studies"))
        actions.append(lambda: app.load(folder).method())
        actions.append(lambda: app.load(folder).outcome())
    if chance < 0.01:
        actions.append(lambda: run(str(folder), report="text"))
    for action in actions:
        try:
            said.append(str(action()))
        except MileageError as refusal:
            if len(str(refusal)) > 4000 or "\n" in str(refusal).strip():
                raise AssertionError(f"a refusal of more than a line: {refusal}") from refusal
            said.append(f"refused: {refusal}")
    return said[0]


def is_reported(text: str) -> bool:
    """Whether a report says that something is not as it was written, or missing, or refuses the folder."""
    return (
        text.startswith("refused: ") or "Not conclusive because" in " ".join(text.split()) or "seal  " in text
    )


def attempt(
    seed: int, folders: dict[str, Folder], place: Path, *, all_of_it: bool = False
) -> tuple[str, str]:
    """One damaged folder, from its seed: how it was damaged, and what came of it. `all_of_it`: all readers look."""
    draw = random.Random(seed)
    kind = draw.choice(sorted(folders))
    way = draw.choice(sorted(WAYS))
    work = place / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    shutil.copytree(folders[kind].path, work / "study")
    victims = work / "victims"
    (victims / "folder").mkdir(parents=True)
    (victims / "file").write_text("victim")
    (victims / "folder" / "cells.csv").write_text("victim")
    # Of one study in both forms, one journal may take the place of the other.
    twins = {"levels", "unsealed"} if kind in ("levels", "unsealed") else {kind}
    other = folders[draw.choice(sorted(set(folders) - twins))].path
    before = truths(work / "study")
    WAYS[way](Case(draw, work / "study", victims, other))
    changed = truths(work / "study") != before
    untouched = tree(victims)
    try:
        text = look(work / "study", 0.0 if all_of_it else draw.random())
        assert tree(victims) == untouched, "a file outside was touched"
        assert sorted(os.listdir(work)) == ["study", "victims"], "something was written outside"
        if changed and folders[kind].sealed and "sealed again" not in way:
            assert is_reported(text), f"an edit was not reported: {text[:600]}"
        if not folders[kind].sealed:
            assert "unsealed" in text or is_reported(text), text[:600]
    except Exception as cause:
        raise AssertionError(f"seed {seed}: {kind}, {way}") from cause
    if text.startswith("refused: "):
        return way, "refused"
    return way, "reported" if is_reported(text) else "as before"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Folder]:
    return make_folders(tmp_path_factory.mktemp("folders"))


def test_folders_that_were_not_touched_are_not_accused(folders: dict[str, Folder], tmp_path: Path) -> None:
    for name, found in folders.items():
        assert not app.load(found.path).outcome().caveats, name


@pytest.mark.slow
def test_damaged_folders(folders: dict[str, Folder], tmp_path: Path, pytestconfig: pytest.Config) -> None:
    start = int(pytestconfig.getoption("hypothesis_seed")) * 100_000
    many = 5000 if THOROUGH else 100
    for at in range(many):
        attempt(start + at, folders, tmp_path)


NOBODY: Final = 65534


@pytest.mark.slow
def test_damaged_folders_as_an_ordinary_user(
    folders: dict[str, Folder], tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """In a process that gave up root after it had loaded everything: an interpreter below /root cannot be started."""
    if os.geteuid() != 0:
        pytest.skip("becoming an ordinary user needs root")
    start = int(pytestconfig.getoption("hypothesis_seed")) * 100_000 + 50_000
    for at in range(10):
        attempt(start + at, folders, tmp_path, all_of_it=True)
    with tempfile.TemporaryDirectory(prefix="mileage-nobody-", dir="/var/tmp") as name:
        place = Path(name)
        mine = {
            kind: Folder(Path(shutil.copytree(found.path, place / kind)), found.sealed)
            for kind, found in folders.items()
        }
        for path in (place, *place.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
                for at in range(1000 if THOROUGH else 30):
                    attempt(start + at, mine, place / "attempt")
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def keep_parsed_profiles() -> None:
    """Parse each text of a drive profile once: the same few are read again for every folder."""
    genuine = tomllib.loads

    @cache
    def parsed(text: str) -> bytes:
        return pickle.dumps(genuine(text))

    tomllib.loads = lambda text: pickle.loads(parsed(text))


def main() -> None:
    """Try as many damaged folders as are asked for, from a seed that is printed."""
    many = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(2**32)
    sys.stdout.write(f"seed {seed}\n")
    keep_parsed_profiles()
    began = time.monotonic()
    counts: Counter[tuple[str, str]] = Counter()
    failures = []
    with tempfile.TemporaryDirectory() as name:
        folders = make_folders(Path(name))
        for at in range(many):
            if at % 1000 == 999:
                sys.stdout.write(f"{at + 1:,} after {time.monotonic() - began:.0f} s\n")
                sys.stdout.flush()
            try:
                counts[attempt(seed * 10_000_000 + at, folders, Path(name) / "attempt")] += 1
            except AssertionError as failure:
                failures.append(failure)
                cause = failure.__cause__
                sys.stdout.write(f"{failure}: {type(cause).__name__}: {cause}\n")
                sys.stdout.flush()
    for way in WAYS:
        output = {outcome: counts[way, outcome] for outcome in ("reported", "refused", "as before")}
        sys.stdout.write(f"{way:40} {', '.join(f'{number:5,} {word}' for word, number in output.items())}\n")
    sys.stdout.write(
        f"{many:,} damaged folders in {time.monotonic() - began:.0f} s, {len(failures)} failures\n"
    )
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
