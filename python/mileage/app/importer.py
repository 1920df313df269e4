"""Other tools' files become a study folder, with the tables of a measured study.

Scope: all files that are named make one study with one stage; runs with equal cells are its repetitions, in
the order of the files. The plan says where it comes from and has no workload that could be run.
What it refuses: files of different tools, except of IOR and mdtest, one file named twice, two files of one run (copies,
unless they are said to be repetitions; a text and its spreadsheet), and files without any figure. Nothing is written
then.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from mileage.errors import Refusal, Refused
from mileage.formats import elbencho_csv, fio_logs, fio_terse, fio_text, samples_csv, vdbench
from mileage.formats.input_file import Source, open_source
from mileage.formats.io500 import SUMMARY
from mileage.formats.readers import TEXT_MAX, read_sources
from mileage.formats.result import Kind, Result, ToolRun
from mileage.model.cell_key import CellKey
from mileage.model.imported_record import ImportedRecord, ImportedSeries, ReportedFigures
from mileage.model.imported_settings import INCIDENTAL, NO_SETTINGS
from mileage.model.journal_entries import End, ImportedRun, SourceFile, StudyHead, UnreadLine
from mileage.model.metrics import METRICS, QUANTILES, MetricWord
from mileage.plan import Plan, Study, TargetFacts
from mileage.plan.factors import Setting
from mileage.plan.planned_runs import Cell, ImportedFile, ImportOrigin, PlannedRun
from mileage.plan.sizes import format_bytes
from mileage.plan.study import Measure, Stage, State
from mileage.plan.toml_literals import toml_value
from mileage.plan.value_checks import SESSION_NAME_MAX, is_session_name
from mileage.store import FORMAT, Journal, StudyFolder

STAGE: Final = "imported"
"""The one stage of an imported study, unless it is named."""
_CAMPAIGN: Final = frozenset({"ior", "mdtest"})
"""Tools whose files are imported together: they come as one, and a campaign measures with both."""
RUNS_MAX: Final = 100_000
_HEADLINE: Final[dict[Kind, tuple[MetricWord, ...]]] = {
    "throughput": ("throughput", "iops", "time"),
    "iops": ("iops", "throughput", "time"),
    "time": ("time", "throughput", "iops"),
}
"""The figure a kind of run is judged by, and what takes its place where the tool does not say it."""
_DEVICE: Final = re.compile(r"/dev/|[A-Z]:\Z")
"""A device of Unix, a drive of Windows."""
_DATES: Final = ("%a %b %d %H:%M:%S %Y", "%a %b %d %H:%M:%S %z %Y", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S")


def bytes_of(paths: Sequence[Path]) -> int:
    """Bytes of the files that `read_files` reads; 0 for one that cannot be read."""
    files = [_file_of(path) for path in paths]
    return sum(file.stat().st_size for file in files if file.is_file())


def read_files(
    paths: Sequence[Path],
    layout: str | None = None,
    *,
    equal: bool = False,
    advance: Callable[[int], None] | None = None,
) -> list[tuple[Source, Result]]:
    """Read files of one tool. `advance` is called with the bytes that were read.

    `equal`: files with equal content, or equal figures, are repetitions and no copies.

    Raises Refused; nothing is written.
    """
    sources: list[Source] = []
    refused: list[Refusal] = []
    for path in paths:
        # fio creates a log for each kind of latency and leaves some empty, which a pattern such as *.log includes.
        if fio_logs.is_empty(path):
            continue
        source = open_source(_file_of(path))
        for other in sources:
            # Two runs hardly ever agree to the last byte, so equal files are almost surely copies, which would narrow
            # the interval.
            if other.sha256 == source.sha256 and not (equal and not other.path.samefile(source.path)):
                refused += duplicate(path, f"has the same content as {other.path}", copy=not equal).refusals
                break
        else:
            sources.append(source)
    if refused:
        raise Refused.because(*refused)
    if not sources:
        raise Refused(paths[0], "an empty file", advice="the tool wrote nothing", code="empty")
    found = read_sources(sources, layout, advance)
    first = found[0]
    for source, result in found:
        if result.tool != first[1].tool and not {result.tool, first[1].tool} <= _CAMPAIGN:
            text, advice = (
                f"is of {result.tool}, {first[0].path} of {first[1].tool}",
                "import them one by one",
            )
            refused.append(Refusal(str(source.path), text=text, advice=advice, code="mismatch"))
        elif result.layout != fio_logs.LAYOUT and not any(run.measured for run in result.runs):
            text = f"not one figure was understood{_first_unread(result)}"
            refused.append(Refusal(str(source.path), text=text, code="not-understood"))
    if refused:
        raise Refused.because(*refused)
    if not any(run.measured for _, result in found for run in result.runs):
        raise Refused(sources[0].path, "not one figure was understood", code="not-understood")
    check_duplicates(found, equal=equal)
    return found


def _file_of(path: Path) -> Path:
    """The file that is read: a folder of IO500 stands for its summary."""
    return path / SUMMARY if (path / SUMMARY).is_file() else path


def _first_unread(result: Result) -> str:
    if result.unread:
        first = result.unread[0]
        return f"; line {first.line} has {first.text!r}: {first.why}"
    return f"; {result.lost[0]}" if result.lost else ""


def make_study(
    found: Sequence[tuple[Source, Result]],
    out: Path | None = None,
    *,
    name: str | None = None,
    stage: str = STAGE,
    session: str = "",
    command: str = "",
) -> StudyFolder:
    """Create a study folder from imported results. Raises Refused when the folder or a name cannot be used.

    `session`: the name of the session in which all of it was measured; empty: as the files say.
    """
    for word, what in ((name, "name"), (stage, "stage"), (session or None, "session")):
        if word is not None and not word.replace("-", "").replace("_", "").replace(".", "").isalnum():
            raise Refused(
                f"--{what} {word!r}", expected="letters, digits, '-', '_' and '.'", code="wrong-value"
            )
    if session and not is_session_name(session):
        raise Refused(
            "--session",
            f"has {len(session)} characters",
            expected=f"at most {SESSION_NAME_MAX}",
            code="out-of-range",
        )
    # Runs without a figure stay in the source entries of the journal, so that the report can list what is missing.
    runs = [(source, result, run) for source, result in found for run in result.runs if run.measured]
    name_settings([[run for run in result.runs if run.measured] for _, result in found])
    _separate_metrics(runs)
    if len(runs) > RUNS_MAX:
        raise Refused("", f"{len(runs):,} runs", advice=f"a study has at most {RUNS_MAX:,}", code="too-large")
    plan = _plan(found, [run for _, _, run in runs], blocks_of(runs), name or _tool_of(found), stage, session)
    folder = StudyFolder.create(out or _fresh_path(plan.study.name), _toml(plan), plan.to_json().encode())
    journal = Journal(folder.journal)
    try:
        journal.extend([_head(plan, found, command, folder.plan_checksums())])
        for planned, (source, _, run) in zip(plan.runs, runs, strict=True):
            journal.extend([_entry(planned, source, run)])
        for source, result in found:
            journal.extend([_source_record(source, result)])
        journal.extend([End(finished=datetime.now().isoformat(timespec="seconds"))])
    finally:
        journal.close()
    return folder


def _tool_of(found: Sequence[tuple[Source, Result]]) -> str:
    """The tool of the files, or the tools of a campaign: "ior-mdtest"."""
    return "-".join(sorted({result.tool for _, result in found}))


def _separate_metrics(runs: Sequence[tuple[Source, Result, ToolRun]]) -> None:
    """Make runs of one cell that have different figures different cells: they are no repetitions of one thing.

    Raises Refused for a table that a person wrote; a tool's file lacks a figure where it is damaged.
    """
    first: dict[str, tuple[str, Source, ToolRun]] = {}
    for source, result, run in runs:
        for metric in [word for word in metrics_of(run) if word not in QUANTILES]:
            other, before, twin = first.setdefault(run.cell, (metric, source, run))
            if other == metric:
                continue
            if result.layout == samples_csv.LAYOUT:
                raise Refused(
                    f"{source.path}, line {run.line}",
                    f"{metric} of {run.cell[:80]}, of which {before.path}, line {twin.line} has {other}",
                    expected="one figure in all repetitions of a cell",
                    advice="give what is another measurement another cell",
                    code="mismatch",
                )
            run.notes.append(
                f"{run.cell}: a run without {other}, which others of the cell have, is of a cell of its own"
            )
            run.cell = f"{run.cell[: TEXT_MAX - 40]}, {metric} only"


def name_settings(files: Sequence[Sequence[ToolRun]]) -> None:
    """Put into the labels of runs with equal labels the settings in which they differ: they are no repetitions.

    `files`: the runs of each file. Runs of one file that differ in the name of the job, its file or its directory were
    separated by the author of the job; between files such a difference may be incidental, which a note says, except for
    devices.
    """
    by_cell: dict[str, list[tuple[int, ToolRun]]] = {}
    for at, runs in enumerate(files):
        for run in runs:
            by_cell.setdefault(run.cell, []).append((at, run))
    for same in by_cell.values():
        names = dict.fromkeys(name for _, run in same for name in run.levels if name not in NO_SETTINGS)
        differing = [name for name in names if len({run.levels.get(name) for _, run in same}) > 1]
        chosen: list[str] = []
        # Real settings first: an incidental difference that follows from one of them then separates nothing more.
        for name in sorted(differing, key=lambda name: (name in INCIDENTAL, name != "job")):
            if name not in INCIDENTAL or (
                _is_setting(name, same) and _distinguishes_more(name, chosen, same)
            ):
                chosen.append(name)
            elif _distinguishes_more(name, chosen, same):
                _note_difference(name, [run for _, run in same])
        for _, run in same:
            settings = {name: run.levels[name] for name in chosen if name in run.levels}
            words = [f"{name} {value}" for name, value in settings.items()]
            run.cell = ", ".join([run.cell, *words])[:TEXT_MAX]
            record = run.key.record_bytes
            sizes = {} if record is None else {"record": format_bytes(record)}
            run.key = msgspec.structs.replace(run.key, shown=sizes | run.key.shown | settings)


def _is_setting(name: str, same: Sequence[tuple[int, ToolRun]]) -> bool:
    """Whether a difference that is usually incidental is a setting here.

    It varies within a file, or is another device.
    """
    found: dict[int, set[str | None]] = {}
    for at, run in same:
        found.setdefault(at, set()).add(run.levels.get(name))
    values = {value for one in found.values() for value in one}
    return any(len(one) > 1 for one in found.values()) or all(_DEVICE.match(value or "") for value in values)


def _distinguishes_more(name: str, chosen: Sequence[str], same: Sequence[tuple[int, ToolRun]]) -> bool:
    """Whether a level separates runs that the earlier levels leave together."""
    counts = [
        len({tuple(run.levels.get(key) for key in names) for _, run in same})
        for names in (chosen, [*chosen, name])
    ]
    return counts[0] < counts[1]


def _note_difference(name: str, same: Sequence[ToolRun]) -> None:
    values = list(dict.fromkeys(run.levels.get(name, "not recorded") for run in same))
    more = f" and {len(values) - 3} more" if len(values) > 3 else ""
    same[0].notes.append(
        f"the repetitions of {same[0].cell} differ in their {name}: {', '.join(values[:3])}{more}; where these are "
        "not the same thing measured again, import the files one by one"
    )


def _fresh_path(name: str) -> Path:
    number = 1
    while Path(f"mileage-import-{name}-{number}").exists():
        number += 1
    return Path(f"mileage-import-{name}-{number}")


def words_of(path: Path) -> str:
    """A path as text, whatever bytes its name has."""
    return os.fsencode(path).decode("utf-8", "replace")


def metrics_of(run: ToolRun) -> tuple[MetricWord, ...]:
    """The metrics that judge a run: the headline of its kind, and the quantiles that the file has.

    Where what was written was synced, the syncs are judged and not the writes into the page cache.

    Empty where the file has only a mean latency: the length of a log is no result.
    """
    headline = [word for word in _HEADLINE[run.kind] if getattr(run, METRICS[word].figure) is not None][:1]
    if headline == ["time"] and run.kind != "time" and run.quantiles_ns:
        headline = []
    synced = [word for word, row in QUANTILES.items() if row.figure in run.latencies_ns]
    has_own = run.latency_p99_ns is not None and not (synced and not run.ops_read)
    own: list[MetricWord] = ["p99"] if has_own else []
    return (*headline, *own, *synced)


def blocks_of(runs: Sequence[tuple[Source, Result, ToolRun]]) -> list[int]:
    """The block of each run, from 1: runs of one call share one; repetitions of a cell in one call have one each."""
    blocks: dict[tuple[str, int, int], int] = {}
    repetitions: Counter[tuple[str, int, str]] = Counter()
    found = []
    for source, _, run in runs:
        repetitions[source.sha256, run.call, run.cell] += 1
        key = source.sha256, run.call, repetitions[source.sha256, run.call, run.cell]
        found.append(blocks.setdefault(key, len(blocks) + 1))
    return found


def _plan(
    found: Sequence[tuple[Source, Result]],
    runs: list[ToolRun],
    blocks: Sequence[int],
    name: str,
    stage: str,
    session: str,
) -> Plan:
    """The plan of an imported study: its cells and runs by name, and no facts of a target, as the files have none."""
    files = tuple(
        ImportedFile(words_of(source.path), source.sha256, source.size, result.layout)
        for source, result in found
    )
    versions = dict.fromkeys(result.version for _, result in found if result.version)
    imported = ImportOrigin(_tool_of(found), " and ".join(versions) or None, files)
    cells: dict[str, ToolRun] = {}
    for run in runs:
        cells.setdefault(run.cell, run)
    planned = _planned(runs, blocks, stage)
    counts = Counter(entry.cell for entry in planned)
    study = Study(
        name=name,
        target=f"imported:{imported.tool}",
        stage=(Stage(name=stage, measure=(STAGE,)),),
        question=f"What did {imported.words} report?",
        measure={STAGE: Measure(workload=imported.tool)},
        session=session,
    )
    facts = TargetFacts(
        kind="imported",
        name=imported.tool,
        capacity_bytes=0,
        free_bytes=0,
        memory_bytes=0,
        block_bytes=0,
        direct_supported=False,
        host_layer=True,
    )
    digest = hashlib.sha256(
        msgspec.json.encode([[file.sha256 for file in files], [run.cell for run in runs], stage, name])
    ).hexdigest()
    return Plan(
        study=study,
        facts=facts,
        work_bytes=0,
        cells=tuple(
            Cell(
                label,
                STAGE,
                run.kind,
                metrics_of(run),
                counts[label],
                None,
                run.title,
                unit=label,
                stem=label,
                key=_key_of(label, run),
            )
            for label, run in cells.items()
        ),
        runs=planned,
        refusals=("it was imported: there is nothing to run",),
        hash=digest,
        settings=(Setting(levels={}, target=study.target, state=State()),),
        imported=imported,
    )


def _key_of(label: str, run: ToolRun) -> CellKey:
    """The key that the label of a cell is rendered from; of a label that has more in it, with the label as its name."""
    if run.key.workload and run.key.label == label:
        return run.key
    return msgspec.structs.replace(run.key, workload=run.key.workload or label, called=label, shown={})


def _planned(runs: list[ToolRun], blocks: Sequence[int], stage: str) -> tuple[PlannedRun, ...]:
    """The runs in order."""
    planned = []
    for index, (run, block) in enumerate(zip(runs, blocks, strict=True)):
        planned.append(
            PlannedRun(
                index=index,
                key=f"{stage}/block {block}/{run.cell}",
                cycle=1,
                arm="torture",
                stage=stage,
                role="measure",
                block=block,
                measure=run.kind,
                cell=run.cell,
                metrics=metrics_of(run),
                workload=None,
                seed=0,
            )
        )
    return tuple(planned)


def _toml(plan: Plan) -> str:
    """The text of plan.toml: what was imported, since nothing was planned."""
    assert plan.imported is not None
    lines = [
        "# Imported: another tool measured this. It cannot be run.",
        f"name = {toml_value(plan.study.name)}",
        f"question = {toml_value(plan.study.question)}",
        "",
        "[imported]",
        f"tool = {toml_value(plan.imported.tool)}",
    ]
    lines += [f"version = {toml_value(plan.imported.version)}"] if plan.imported.version else []
    for file in plan.imported.files:
        lines += [
            "",
            "[[imported.file]]",
            f"path = {toml_value(file.path)}",
            f"sha256 = {toml_value(file.sha256)}",
        ]
        lines += [f"size_bytes = {file.size_bytes}", f"layout = {toml_value(file.layout)}"]
    return "\n".join(lines) + "\n"


def _head(
    plan: Plan, found: Sequence[tuple[Source, Result]], command: str, files: dict[str, str]
) -> StudyHead:
    from mileage import __version__

    began = next((result.began for _, result in found if result.began), None)
    return StudyHead(
        format=FORMAT,
        mileage=__version__,
        plan=plan.hash,
        started=_date(began),
        began=began,
        command=command,
        imported_at=datetime.now().isoformat(timespec="seconds"),
        files=files,
    )


def _date(text: str | None) -> str | None:
    """A tool's date as the tables have it, in the tool's own zone; None where it is none."""
    for layout in _DATES if text else ():
        try:
            return datetime.strptime(str(text).strip(), layout).replace(tzinfo=None).isoformat()
        except ValueError:
            continue
    return None


def _entry(planned: PlannedRun, source: Source, run: ToolRun) -> ImportedRun:
    """The journal's line of a run. What the tool does not say is None."""
    return ImportedRun(
        run=planned.index,
        key=planned.key,
        session_name=run.session,
        cycle=1,
        arm="torture",
        stage=planned.stage,
        role="measure",
        block=planned.block,
        measure=run.kind,
        cell=run.cell,
        metrics=list(metrics_of(run)),
        levels=run.levels,
        record=ImportedRecord(
            reported=ReportedFigures(
                run.rate_bytes_per_s, run.ops_per_s, run.latency_p99_ns, run.elapsed_s, run.latencies_ns
            ),
            bytes_read=run.bytes_read,
            bytes_written=run.bytes_written,
            ops_read=run.ops_read,
            ops_written=run.ops_written,
            quantiles_ns=run.quantiles_ns,
            latency_sum_ns=run.latency_sum_ns,
            submission_counted=run.submission_counted,
            outstanding=run.outstanding,
            device_bytes=run.device_bytes,
            latency=run.latency,
            series=run.series or ImportedSeries(0, [], [], [], []),
            counters=run.counters,
            notes=run.notes,
            error=run.error,
            invalid=run.invalid,
            file=words_of(source.path),
            line=run.line,
            printed_names=[name for name, _ in run.printed],
            printed_figures=[value for _, value in run.printed],
        ),
    )


def _source_record(source: Source, result: Result) -> SourceFile:
    """The journal's line of a file: what it says of the whole, and what was not understood."""
    return SourceFile(
        path=words_of(source.path),
        sha256=source.sha256,
        layout=result.layout,
        tool=result.tool,
        version=result.version,
        began=result.began,
        began_at=_date(result.began),
        command=result.command,
        machine=result.machine,
        facts=result.facts,
        left_out=[run.cell for run in result.runs if not run.measured],
        unread=[UnreadLine(one.line, one.text, one.why) for one in result.unread],
        lost=result.lost,
    )


# Two files of one run are no repetitions: copies, files that share runs, and two layouts of the output of one call.
# Scope: files of one layout share a run when all its facts are equal. Two layouts hold different facts, some of them
# rounded: there each run of one file must have its test, its figures and its counts in the other file.
# What it refuses: such files, unless the user says that equal files of one layout are repetitions.


class _Digits(NamedTuple):
    """How far figures of one run may differ between two layouts."""

    share: float = 1e-6
    """Of a rate or a time."""
    ops_per_s: float = 0.0
    bytes_per_s: float = 0.0
    moved_bytes: float = 0.0


_DIGITS: Final = {
    fio_text.LAYOUT: _Digits(share=0.005),
    fio_terse.LAYOUT: _Digits(share=0.005, ops_per_s=1, moved_bytes=64 << 10),
    elbencho_csv.LAYOUT: _Digits(bytes_per_s=1 << 20, moved_bytes=2 << 20),
}
"""Three digits of fio's text; whole KiB of each job and operations of its terse output; whole MiB of elbencho's CSV."""
_TIME_S: Final = 0.002
_NAMES_MAX: Final = 3
"""Files with equal figures whose names a note has."""


def check_duplicates(found: list[tuple[Source, Result]], *, equal: bool) -> None:
    """Raises Refused for all files whose run another has; with `equal`, those of one layout get a note instead."""
    refused: list[Refusal] = []
    repeated: dict[Path, list[str]] = {}
    before: list[tuple[Source, Result, list[ToolRun], frozenset[bytes]]] = []
    for source, result in found:
        runs = [run for run in result.runs if run.measured]
        if not runs:
            continue
        facts = _facts(result, runs)
        for twin, other, theirs, their_facts in before:
            same_layout = other.layout == result.layout
            if not (_overlap(facts, their_facts) if same_layout else _agree(result, runs, other, theirs)):
                continue
            if not equal or not same_layout:
                text = f"has the same figures as {twin.path}"
                refused += duplicate(source.path, text, copy=same_layout).refusals
            else:
                repeated.setdefault(twin.path, []).append(source.path.name)
            break
        before.append((source, result, runs, facts))
    if refused:
        raise Refused.because(*refused)
    for twin, _, theirs, _ in before:
        if names := repeated.get(twin.path):
            more = f" and {len(names) - _NAMES_MAX} more" if len(names) > _NAMES_MAX else ""
            theirs[0].notes.append(
                f"{', '.join(names[:_NAMES_MAX])}{more}: same figures as {twin.path}, and repetitions (--equal-files)"
            )


def duplicate(path: Path, found: str, *, copy: bool) -> Refused:
    """A refusal of a file; of a `copy` with the option that accepts it."""
    more = ", or add --equal-files if each is of a run of its own" if copy else ""
    return Refused(path, found, advice=f"name one of them{more}", code="repeated")


def _facts(result: Result, runs: Sequence[ToolRun]) -> frozenset[bytes]:
    """The facts of each run by which copies are found.

    Positions and notes depend on the file and not on the run, so they must not hide a duplicate. The files of one run
    of vdbench repeat its averages below other lines.
    """
    if result.layout == vdbench.LAYOUT:
        return frozenset(msgspec.json.encode([run.cell, run.printed]) for run in runs)
    bare = [msgspec.structs.replace(run, line=0, call=0, notes=[]) for run in runs]
    return frozenset(msgspec.json.encode([result.began, run]) for run in bare)


def _overlap(a: frozenset[bytes], b: frozenset[bytes]) -> bool:
    """Whether all runs of one file are in the other."""
    return a <= b or b <= a


def _agree(a: Result, own: Sequence[ToolRun], b: Result, theirs: Sequence[ToolRun]) -> bool:
    """Whether all runs of one file are in the other, which has another layout."""
    first, second = (_DIGITS.get(one.layout, _Digits()) for one in (a, b))
    digits = _Digits(*(max(pair) for pair in zip(first, second, strict=True)))
    few, many = sorted((own, theirs), key=len)
    return all(any(_is_same(run, other, digits) for other in many) for run in few)


def _is_same(a: ToolRun, b: ToolRun, digits: _Digits) -> bool:
    """Whether two runs have one cell, and agree in all figures that both have: at least in a rate."""
    rates = (
        (a.rate_bytes_per_s, b.rate_bytes_per_s, digits.bytes_per_s),
        (a.ops_per_s, b.ops_per_s, digits.ops_per_s),
    )
    counts = (
        (a.ops_read, b.ops_read, 0),
        (a.ops_written, b.ops_written, 0),
        (a.bytes_read, b.bytes_read, digits.moved_bytes),
        (a.bytes_written, b.bytes_written, digits.moved_bytes),
    )
    return (
        a.cell == b.cell
        and any(None not in pair for pair in rates)
        and all(
            _is_near(one, other, unit, digits.share)
            for one, other, unit in (*rates, (a.elapsed_s, b.elapsed_s, _TIME_S))
        )
        and all(_is_near(one, other, unit, 0.0) for one, other, unit in counts)
    )


def _is_near(a: float | None, b: float | None, unit: float, share: float) -> bool:
    return a is None or b is None or abs(a - b) <= max(unit, share * max(a, b))
