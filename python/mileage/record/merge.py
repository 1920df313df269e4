"""One study from several folders: the sessions of a study that were done on other boots or other machines.

What it models: a folder with the plan that all share and every finished run, each once, in the plan's order; where the
runs came from stands in its journal. What is still missing can be run on it.
What it refuses: folders of different plans, and a run that two folders have done differently.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from mileage.errors import Refused
from mileage.record.folder import StudyFolder
from mileage.record.journal import Journal, JournalContent

_ONCE = ("look", "calibrated", "session", "dnf", "environment", "accepted", "failed", "stage")


class _Design(msgspec.Struct):
    """What two plans must have in common to be one study; capacity and free space of a target may differ."""

    study: msgspec.Raw
    work_bytes: int
    runs: list[msgspec.Raw]
    areas: dict[int, int] = {}


def _told(sizes: Sequence[int]) -> str:
    return " and ".join(str(size) for size in dict.fromkeys(sizes))


def merge_folders(folders: Sequence[Path], out: Path) -> StudyFolder:
    """Join study folders into a new one at `out`. Raises Refused, with nothing written, when they do not fit."""
    if len({path.resolve() for path in folders}) < 2:
        raise Refused("merge: name two study folders or more, each once")
    sources = [StudyFolder.open(path) for path in folders]
    first, *others = [_design(source) for source in sources]
    for source, other in zip(sources[1:], others, strict=True):
        if bytes(other.study) != bytes(first.study) or other.runs != first.runs:
            raise Refused(
                f"merge: {source.path} holds another plan than {sources[0].path}; copy an unfinished folder to the "
                "other machine and run it there, so that both have one plan"
            )
        mine, its = ([found.work_bytes, *found.areas.values()] for found in (first, other))
        if mine != its:
            raise Refused(
                f"merge: the work area has {_told(mine)} bytes in {sources[0].path} and {_told(its)} in {source.path}; "
                "what was measured is not the same"
            )
    contents = [source.content() for source in sources]
    owner = _owners(sources, contents)
    merged = StudyFolder.create(
        out, sources[0].plan_toml.read_text(encoding="utf-8"), sources[0].plan_json.read_bytes()
    )
    _write_journal(merged, sources, contents, owner, len(first.runs))
    for number, source in enumerate(sources):
        _copy(source.environment, merged.environment, f"-{number + 1}")
        for part in ("traces", "logs"):
            _copy(source.path / part, merged.path / part, f"-{number + 1}")
    return merged


def _design(folder: StudyFolder) -> _Design:
    try:
        return msgspec.json.decode(folder.plan_json.read_bytes(), type=_Design)
    except msgspec.DecodeError as cause:
        raise Refused(f"{folder.plan_json} is damaged ({cause})") from cause


def _owners(sources: list[StudyFolder], contents: list[JournalContent]) -> dict[int, tuple[int, int]]:
    """For each run the number of the folder that has it, and its place among the folder's entries."""
    owner: dict[int, tuple[int, int]] = {}
    for number, content in enumerate(contents):
        if not content.entries:
            raise Refused(f"merge: {sources[number].path} has no run yet; leave it out")
        for at, head in enumerate(content.heads):
            if head.kind != "run":
                continue
            if head.run in owner:
                before, place = owner[head.run]
                if contents[before].entries[place]["record"] != content.entries[at]["record"]:
                    raise Refused(
                        f"merge: run {head.run} ({head.cell}) was done both in {sources[before].path} and in "
                        f"{sources[number].path}, with different results; keep one of them"
                    )
                continue
            owner[head.run] = number, at
    return owner


def _write_journal(
    merged: StudyFolder,
    sources: list[StudyFolder],
    contents: list[JournalContent],
    owner: dict[int, tuple[int, int]],
    planned: int,
) -> None:
    journal = Journal(merged.journal)
    try:
        journal.extend([contents[0].entries[0]])
        journal.extend(
            {"kind": "merged", "folder": str(source.path), "head": content.entries[0]}
            for source, content in zip(sources, contents, strict=True)
        )
        journal.extend(contents[number].entries[at] for _, (number, at) in sorted(owner.items()))
        told: list[dict[str, Any]] = []
        for content in contents:
            for kind in _ONCE:
                told += [entry for entry in content.of_kind(kind) if entry not in told]
        journal.extend(told)
        skipped = sum(int(entry.get("left_out", 0)) for entry in told)
        if len(owner) + skipped >= planned:
            ends = [
                entry
                for content in contents
                for kind in ("end", "session")
                for entry in content.of_kind(kind)
            ]
            last = max((str(entry["finished"]) for entry in ends), default="")
            journal.extend([{"kind": "end", "finished": last}])
    finally:
        journal.close()


def _copy(source: Path, place: Path, suffix: str) -> None:
    """Copy a folder's files; one whose name is taken by another content gets the suffix."""
    for path in sorted(source.rglob("*")) if source.is_dir() else []:
        if not path.is_file():
            continue
        to = place / path.relative_to(source)
        if to.exists() and to.read_bytes() != path.read_bytes():
            to = to.with_name(f"{to.stem}{suffix}{to.suffix}")
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, to)
