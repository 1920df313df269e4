"""Merge several folders of one study whose parts were done on other boots or machines.

Scope: a folder with the plan that all share and every finished run, each once, in the plan's order; where the
runs came from stands in its journal. What is still missing can be run on it.
What it refuses: folders of different plans, a run that two folders have done differently, and work on names whose
number of files each folder found by trials of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from mileage.errors import Refused
from mileage.model.journal_entries import (
    AcceptedChange,
    Choice,
    DidNotFinish,
    End,
    Entry,
    EnvironmentChange,
    FailedRun,
    Files,
    ImportedRun,
    LengthFactor,
    Look,
    MergedFolder,
    PartEnd,
    Run,
    StageEnd,
    StudyHead,
)
from mileage.plan import Plan
from mileage.plan.run_length import shared_units
from mileage.store.journal import Journal, JournalContent
from mileage.store.journal_line_check import brief
from mileage.store.seal import checksum
from mileage.store.study_folder import FILE_BYTES_MAX, StudyFolder

_ONCE = (
    Look,
    LengthFactor,
    PartEnd,
    DidNotFinish,
    EnvironmentChange,
    AcceptedChange,
    FailedRun,
    StageEnd,
    Choice,
)


class _Design(msgspec.Struct):
    """Properties in which the plans of one study must agree; capacity and free space of a target may differ."""

    study: msgspec.Raw
    work_bytes: int
    runs: list[msgspec.Raw]
    areas: dict[int, int] = {}


def _size_list(sizes: Sequence[int]) -> str:
    return " and ".join(str(size) for size in dict.fromkeys(sizes))


def merge_folders(folders: Sequence[Path], out: Path) -> StudyFolder:
    """Join study folders into a new one at `out`. Raises Refused, with nothing written, when they do not fit."""
    if len({path.resolve() for path in folders}) < 2:
        raise Refused("merge", "give two study folders or more, each once", code="too-few")
    sources = [StudyFolder.open(path) for path in folders]
    first, *others = [source.decoded_plan(_Design) for source in sources]
    for source, other in zip(sources[1:], others, strict=True):
        if bytes(other.study) != bytes(first.study) or other.runs != first.runs:
            raise Refused(
                "merge",
                f"{source.path} holds another plan than {sources[0].path}",
                advice="copy an unfinished folder to the other machine and run it there, so that both have one "
                "plan",
                code="mismatch",
            )
        mine, its = ([found.work_bytes, *found.areas.values()] for found in (first, other))
        if mine != its:
            raise Refused(
                "merge",
                f"the work area has {_size_list(mine)} bytes in {sources[0].path} and {_size_list(its)} in "
                f"{source.path}",
                advice="what was measured is not the same",
                code="mismatch",
            )
    contents = [_content(source) for source in sources]
    owner = _owners(sources, contents)
    _refuse_other_counts(sources, contents)
    merged = StudyFolder.create(out, _plan_text(sources[0]), sources[0].read(sources[0].plan_json))
    files: dict[str, str] = {}
    for number, source in enumerate(sources):
        files |= _copy(source, merged, "environment", f"-{number + 1}")
        for part in ("traces", "logs"):
            _copy(source, merged, part, f"-{number + 1}")
    _write_journal(merged, sources, contents, owner, len(first.runs), files)
    return merged


def _content(source: StudyFolder) -> JournalContent:
    """Content of a folder. Raises Refused where it is not as it was written: a merged folder has seals of its own."""
    content = source.content()
    for name, why in source.changed_files(content).items():
        raise Refused(f"merge: {source.path / name}", why, advice="restore it", code="changed")
    return content


def _owners(sources: list[StudyFolder], contents: list[JournalContent]) -> dict[int, tuple[int, int]]:
    """For each run the number of the folder that has it, and its place among the folder's entries."""
    owner: dict[int, tuple[int, int]] = {}
    for number, content in enumerate(contents):
        if not content.entries:
            raise Refused(
                f"merge: {sources[number].path}", "has no run yet", advice="remove it", code="empty"
            )
        for at, head in enumerate(content.heads):
            if head.kind != "run":
                continue
            if head.run in owner:
                before, place = owner[head.run]
                if _record(contents[before], place) != _record(content, at):
                    raise Refused(
                        "merge",
                        f"run {head.run} ({head.cell}) was done both in {sources[before].path} and in "
                        f"{sources[number].path}, with different results",
                        advice="keep one of them",
                        code="repeated",
                    )
                continue
            owner[head.run] = number, at
    return owner


def _refuse_other_counts(sources: list[StudyFolder], contents: list[JournalContent]) -> None:
    """Work on names of different numbers of files is not comparable, and a study has one number for all its runs."""
    if not any(content.of_kind(LengthFactor) for content in contents):
        return
    shares = shared_units(sources[0].decoded_plan(Plan))
    found: dict[object, tuple[int, Path]] = {}
    for source, content in zip(sources, contents, strict=True):
        for entry in (each for each in content.of_kind(LengthFactor) if each.shared):
            factor, path = found.setdefault(shares[entry.cell], (entry.factor, source.path))
            if entry.factor != factor:
                raise Refused(
                    "merge",
                    f"trials found {factor} times the planned number of files in {path} and {entry.factor} times in "
                    f"{source.path} ({entry.cell})",
                    advice="their rates are not comparable; give the number of files (stop.operations) without "
                    "stop.at_least and run both again",
                    code="mismatch",
                )


def _record(content: JournalContent, at: int) -> object:
    """The record of the run at a place among the entries."""
    entry = content.entries[at]
    assert isinstance(entry, Run | ImportedRun)
    return entry.record


def _write_journal(
    merged: StudyFolder,
    sources: list[StudyFolder],
    contents: list[JournalContent],
    owner: dict[int, tuple[int, int]],
    planned: int,
    files: dict[str, str],
) -> None:
    journal = Journal(merged.journal)
    try:
        unsealed = [content for content in contents if content.seal is None]
        journal.extend([(unsealed or contents)[0].entries[0]])
        journal.extend(
            MergedFolder(folder=str(source.path), head=head)
            for source, content in zip(sources, contents, strict=True)
            for head in content.of_kind(StudyHead)
        )
        journal.extend(contents[number].entries[at] for _, (number, at) in sorted(owner.items()))
        added: list[Entry] = []
        for content in contents:
            for kind in _ONCE:
                added += [entry for entry in content.of_kind(kind) if entry not in added]
        journal.extend(added)
        if journal.is_sealed:
            journal.extend([Files(files=files)])
        skipped = sum(entry.left_out for entry in added if isinstance(entry, StageEnd | DidNotFinish))
        if len(owner) + skipped >= planned:
            ends = [end.finished for content in contents for end in content.of_kind(End)]
            ends += [end.finished for content in contents for end in content.of_kind(PartEnd)]
            ends += [run.finished for content in contents for run in content.runs()] if not ends else []
            journal.extend([End(finished=max(ends))] if ends else [])
    finally:
        journal.close()


def _plan_text(source: StudyFolder) -> str:
    """The plan as TOML. Raises Refused where it cannot be read."""
    try:
        return source.read(source.plan_toml).decode()
    except (OSError, UnicodeDecodeError) as cause:
        raise Refused(
            source.plan_toml, f"is damaged ({brief(cause)})", advice="restore it", code="damaged"
        ) from cause


def _copy(source: StudyFolder, merged: StudyFolder, part: str, suffix: str) -> dict[str, str]:
    """Copy the files of a part of a folder; the checksums of the copies, by their paths.

    One whose name is taken by another content gets the suffix.
    """
    found = {}
    for path in sorted((source.path / part).rglob("*")):
        if path.is_dir():
            continue
        name = str(path.relative_to(source.path))
        try:
            # Only environment files have a size limit, because logs and traces may be of any length.
            data = source.directory.read(name, FILE_BYTES_MAX if part == "environment" else None)
        except OSError as cause:
            raise Refused(path, f"cannot be read: {cause.strerror}", code="unreadable") from cause
        to = merged.path / name
        if to.exists() and to.read_bytes() != data:
            name = str(Path(name).with_name(f"{to.stem}{suffix}{to.suffix}"))
        merged.directory.write(name, data)
        found[name] = checksum(data)
    return found
