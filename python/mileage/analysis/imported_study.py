"""Validity checks and notes for an imported study: how far the figures of another tool can be trusted.

Scope: the audits of measured studies on the facts of the files; the rest is "not known", with the reason.
What it refuses: guesses. A setting that no file states is not taken to be the tool's default.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from statistics import fmean
from typing import Any, Final

from mileage.analysis.ior_layouts import reported_layouts
from mileage.analysis.rate_curves import imported_curves
from mileage.analysis.steady_state_checks import CHANGE_MIN, course_of, course_words
from mileage.analysis.validity_checks import RUN_MIN_S, percentile_checks
from mileage.judge.audit import Audit, RunFacts, audit
from mileage.judge.memory_rate import RateFacts, memory_rate
from mileage.judge.outlier import ALPHA, VALUES_MIN, odd_one
from mileage.judge.rate_over_time import INTERVALS_MIN, REPETITIONS_MIN, RepetitionTrend, repetition_trend
from mileage.model.caveat import Caveat, veto
from mileage.model.imported_record import ImportedRecord
from mileage.model.imported_settings import INCIDENTAL
from mileage.model.journal_entries import ImportedRun, SourceFile
from mileage.model.metrics import METRICS, QUANTILES
from mileage.plan import Plan
from mileage.plan.iozone_suite import Suite
from mileage.plan.quantiles import quantile_is_supported
from mileage.plan.sizes import format_bytes, whole_number
from mileage.report import ValidityCheck
from mileage.report.audit_words import audit_words
from mileage.report.caveat_words import caveat_words
from mileage.report.imported_study import ImportedPage, ReportedCell, ReportedFile, UnreadLine
from mileage.report.quantity import duration
from mileage.report.view import CheckState
from mileage.report.wording import counted
from mileage.store import StudyFolder, outcome_of
from mileage.store.cell_measurements import SHARES
from mileage.store.tables import quantile_count

REPEATS_MIN: Final = 5
DATE_STEP_S: Final = 1.0
"""Seconds in which tools print dates."""
TESTS_MIN: Final = 3
"""Tests of a repetition that can be unlike the others together."""
ODD_MIN: Final = 0.05
"""The least difference of an odd repetition that is reported."""
_NOTES_MAX: Final = 20
_DIRECT_FLAGS: Final = {
    "iozone": frozenset(("-I",)),
    "ior": frozenset(("-B", "--posix.odirect")),
    "diskspd": frozenset(("-S", "-Su", "-Suw", "-Sh", "-Shw", "-h")),
}
"""Flags by which a tool bypasses the page cache."""
_MEMORY_BY_NAME: Final = ("hdparm.cached", "hdparm.cached_direct")
"""Tests that read from memory on purpose."""
_DIRECT_BY_NAME: Final = ("hdparm.cached_direct", "hdparm.buffered_direct")
"""Tests whose name states that they bypass the page cache."""


def imported_page(plan: Plan, folder: StudyFolder) -> ImportedPage:
    """Collect what is shown of an imported study."""
    assert plan.imported is not None
    content = folder.content(around_damage=True)
    runs = list(content.imported_runs())
    files = list(content.of_kind(SourceFile))
    head = content.study
    began = next((str(file.began) for file in files if file.began), "not recorded")
    machine = {key: value for file in files for key, value in file.machine.items()}
    identity = {
        "tool": plan.imported.words,
        "files": ", ".join(file.path for file in plan.imported.files),
        "sha256": ", ".join(file.sha256[:16] for file in plan.imported.files),
        "layout": ", ".join(dict.fromkeys(file.layout for file in plan.imported.files)),
        "began": began,
        **machine,
        "command line": next((str(file.command) for file in files if file.command), "not recorded"),
        "mileage": head.mileage if head is not None else "unknown",
        "seal": content.seal_words,
    }
    edited = outcome_of(folder, content, len(plan.runs)).caveats
    notes = dict.fromkeys(note for run in runs for note in run.record.notes)
    cells = tuple(_cells(plan, runs))
    return ImportedPage(
        name=plan.study.name,
        tool=plan.imported.words,
        cells=cells,
        curves=imported_curves(plan, runs, cells),
        layouts=tuple(reported_layouts(runs)),
        trust=(*(ValidityCheck("seal", "bad", caveat_words(one)) for one in edited), *checks(runs, files)),
        notes=tuple(notes)[:_NOTES_MAX],
        identity=identity,
        files=_reported_files(files, runs),
        lost=tuple(f"{file.path}: {text}" for file in files for text in file.lost),
        unread=tuple(
            UnreadLine(file.path, entry.line, entry.text, entry.why)
            for file in files
            for entry in file.unread
        ),
    )


def _reported_files(files: Sequence[SourceFile], runs: Sequence[ImportedRun]) -> tuple[ReportedFile, ...]:
    """What was found in each file, in their order; a file that belongs to another has no run of its own."""
    counts = Counter(run.record.file for run in runs)
    return tuple(
        ReportedFile(
            file.path,
            file.layout,
            counts[file.path],
            "; ".join(
                [
                    *([f"{counted(len(file.unread), 'line')} not understood"] if file.unread else []),
                    *([f"{counted(len(file.left_out), 'run')} without a figure"] if file.left_out else []),
                    *(["damaged"] if file.lost else []),
                ]
            ),
        )
        for file in files
    )


def _cells(plan: Plan, runs: list[ImportedRun]) -> Iterable[ReportedCell]:
    by_cell: dict[str, list[ImportedRecord]] = {}
    for run in runs:
        by_cell.setdefault(run.cell, []).append(run.record)
    titles = {cell.label: cell.title for cell in plan.cells}
    for label, records in by_cell.items():
        quantiles: dict[str, list[float]] = {}
        for record in records:
            count = quantile_count(record, METRICS["p99"])
            for name, value in record.quantiles_ns.items():
                share = SHARES.get(f"{name}_ns")
                if share is None or count is None or quantile_is_supported(count, share):
                    quantiles.setdefault(name, []).append(value)

        def values_of(name: str, records: list[ImportedRecord] = records) -> tuple[float, ...]:
            return tuple(value for r in records if (value := getattr(r.reported, name)) is not None)

        yield ReportedCell(
            cell=label,
            title=titles.get(label, ""),
            runs=len(records),
            rate_bytes_per_s=values_of("rate_bytes_per_s"),
            ops_per_s=values_of("ops_per_s"),
            elapsed_s=values_of("elapsed_s"),
            quantiles_ns={name: tuple(values) for name, values in quantiles.items()},
            latencies_ns={
                name: tuple(r.reported.latencies_ns[name] for r in records if name in r.reported.latencies_ns)
                for name in (row.figure for row in QUANTILES.values())
            },
            failed=sum(_is_lost(record) for record in records),
        )


def _is_lost(record: ImportedRecord) -> bool:
    """Whether a run failed and has no rate."""
    rates = (record.reported.rate_bytes_per_s, record.reported.ops_per_s)
    return record.error is not None and not any(rates)


def checks(runs: Sequence[ImportedRun], files: Sequence[SourceFile]) -> list[ValidityCheck]:
    """Every check of an imported study."""
    if not runs:
        return [ValidityCheck("runs", "bad", "the journal has no intact run")]
    found = [
        _failed(runs),
        _whole(files),
        _repeated(runs),
        *([ValidityCheck("calls", *odd)] if (odd := odd_repetition(runs)) is not None else []),
        *_run_order(runs),
        _length(runs),
        *_percentiles(runs),
        _steady(runs),
    ]
    memory = _memory(runs, files)
    for entry in audits(runs):
        if entry.name == "limited by" and entry.state == "ok" and memory.state == "warn":
            found.append(
                ValidityCheck(
                    entry.name, "unknown", "the page cache answered, or may have, instead of the device"
                )
            )
        elif entry.name != "memory":
            found.append(ValidityCheck(entry.name, entry.state, audit_words(entry)))
    found.append(memory)
    found.append(
        ValidityCheck(
            "device state",
            "unknown",
            "the files do not say what had been written to the device before the measurement",
        )
    )
    found.append(_environment(files))
    return found


def audits(runs: Sequence[ImportedRun]) -> tuple[Audit, ...]:
    """The audits of measured runs, on the output of another tool."""
    facts = [
        RunFacts(
            cell=run.cell,
            latency_sum_ns=round(record.latency_sum_ns),
            latency_whole=record.submission_counted,
            elapsed_ns=round(record.reported.elapsed_s * 1e9),
            outstanding=record.outstanding,
            operations=record.operations,
            bytes_read=record.bytes_read or 0,
            bytes_written=record.bytes_written or 0,
            device_bytes=record.device_bytes,
        )
        for run in runs
        if (record := run.record).latency_sum_ns is not None
        and record.reported.elapsed_s is not None
        and record.outstanding is not None
    ]
    return audit(facts, direct=False)


def study_caveats(plan: Plan, folder: StudyFolder, cells: Collection[str]) -> list[Caveat]:
    """The caveats of the runs of some cells."""
    content = folder.content(around_damage=True)
    files = list(content.of_kind(SourceFile))
    runs = [run for run in content.imported_runs() if run.cell in cells]
    found = outcome_of(folder, content, len(plan.runs)).caveats
    found += [entry.veto for entry in audits(runs) if entry.veto is not None]
    failed = [run for run in runs if run.record.error]
    found += [veto("run-failed", tests=(run.cell,), message=str(run.record.error)) for run in failed[:1]]
    invalid = [statement for run in runs if (statement := run.record.invalid)]
    found += [veto("run-invalid", what=statement) for statement in dict.fromkeys(invalid)][:1]
    served = [statement for statement, certain in memory_rates(runs, files) if certain]
    found += [veto("from-memory", what=statement) for statement in served[:1]]
    found += _overlaps(runs, files)
    found += _level_changes(runs)
    found += [_trend_caveat(cell, one) for cell, one in _trends(runs)[:1]]
    odd = _odd_repetition(runs)
    found += [veto("odd-repetition", **odd)] if "file" in odd else []
    found += [veto("file-damaged", what=text) for file in files for text in file.lost][:1]
    return found


def _overlaps(runs: Sequence[ImportedRun], files: Sequence[SourceFile]) -> list[Caveat]:
    """Repetitions that were made at the same time, the first two: each was measured under the load of the other.

    Tools print when a run began or when it ended, each its own; two runs of one tool overlap by either date where they
    are less than the shorter of them apart, but for the seconds in which dates are printed.
    """
    dates = {file.path: datetime.fromisoformat(file.began_at) for file in files if file.began_at}
    by_cell: dict[str, list[tuple[datetime, float, str]]] = {}
    for run in runs:
        elapsed_s = run.record.reported.elapsed_s
        if run.record.file in dates and elapsed_s is not None:
            by_cell.setdefault(run.cell, []).append((dates[run.record.file], elapsed_s, run.record.file))
    for cell, made in by_cell.items():
        for one, other in pairwise(sorted(made)):
            apart_s = (other[0] - one[0]).total_seconds()
            if one[2] != other[2] and apart_s < min(one[1], other[1]) - DATE_STEP_S:
                return [veto("overlapping-runs", tests=(cell,), one=one[2], other=other[2], apart_s=apart_s)]
    return []


def _level_changes(runs: Sequence[ImportedRun]) -> list[Caveat]:
    """Runs whose mean is one of different levels, the one that changes most."""
    found = [(abs(one.change), one, run) for run in runs if (one := course_of(run.record)).changes_level]
    most = max(found, key=lambda entry: entry[0], default=None)
    if most is None or most[0] < CHANGE_MIN:
        return []
    words = course_words(most[1], most[2].record)
    return [
        veto("level-change", tests=(most[2].cell,), changed_runs=len(found), runs=len(runs), course=words)
    ]


def differing_settings(
    a: tuple[Plan, StudyFolder], b: tuple[Plan, StudyFolder], names: Mapping[str, str]
) -> list[Caveat]:
    """Settings that are known on both sides of a cell in common, and differ, as vetoes.

    `names`: of each cell of the second that the first has as well its label there, and that in the first.
    """
    mine, others = _known_settings(*a), _known_settings(*b)
    found: dict[str, Caveat] = {}
    for theirs, cell in names.items():
        for name, level in mine.get(cell, {}).items():
            other = others.get(theirs, {}).get(name, level)
            if name not in INCIDENTAL and other != level:
                values = {"baseline": level, "candidate": other}
                found.setdefault(name, veto("setting-differs", tests=(cell,), key=name, **values))
    return list(found.values())


def _known_settings(plan: Plan, folder: StudyFolder) -> dict[str, dict[str, str]]:
    """The known settings of each cell, named as in the tools."""
    if plan.imported is not None:
        return {run.cell: run.levels for run in folder.content(around_damage=True).imported_runs()}
    found = {cell.label: dict(cell.key.factors) for cell in plan.cells}
    for cell in plan.cells:
        if cell.reach is not None:
            found[cell.label]["direct"] = str(int(cell.reach.options.direct))
        if isinstance(cell.job, Suite):
            found[cell.label]["file"] = format_bytes(cell.job.value.file_bytes)
    return found


def _failed(runs: Sequence[ImportedRun]) -> ValidityCheck:
    failed = [run for run in runs if run.record.error]
    if failed:
        first = failed[0]
        return ValidityCheck(
            "errors", "bad", f"{len(failed)} of {len(runs)} runs: {first.cell}, {first.record.error}"
        )
    return ValidityCheck("errors", "ok", "the files report none")


def _whole(files: Sequence[SourceFile]) -> ValidityCheck:
    lost = [text for file in files for text in file.lost]
    unread = sum(len(file.unread) for file in files)
    if lost:
        return ValidityCheck("files", "bad", lost[0])
    if unread:
        return ValidityCheck("files", "warn", f"{unread} line{'s' if unread != 1 else ''} not understood")
    return ValidityCheck("files", "ok", "all lines were understood")


def _repeated(runs: Sequence[ImportedRun]) -> ValidityCheck:
    counts: dict[str, int] = {}
    for run in runs:
        counts[run.cell] = counts.get(run.cell, 0) + 1
    least = min(counts.values())
    state: CheckState = "ok" if least >= REPEATS_MIN else "warn"
    enough = f"each cell has {least} runs or more"
    few = f"some cells have {least} run{'s' if least != 1 else ''}; {REPEATS_MIN} are needed to estimate the spread"
    return ValidityCheck(
        "repetition",
        state,
        enough if state == "ok" else few,
    )


def _run_order(runs: Sequence[ImportedRun]) -> list[ValidityCheck]:
    """Check whether rates rise or fall over the repetitions, which then are not independent.

    Only for cells with enough of them.
    """
    trends = _trends(runs)
    if trends:
        return [ValidityCheck("run order", "warn", caveat_words(_trend_caveat(*trends[0])))]
    enough = max(Counter(run.cell for run in runs).values()) >= REPETITIONS_MIN
    return [ValidityCheck("run order", "ok", "no trend over the repetitions")] if enough else []


def _trends(runs: Sequence[ImportedRun]) -> list[tuple[str, RepetitionTrend]]:
    """Cells whose repetitions, in the order of the files, go one way, the steepest first."""
    values: dict[str, list[float]] = {}
    for run in runs:
        for metric in run.metrics[:1]:
            if (value := run.record.reported.figure(metric)) is not None:
                values.setdefault(run.cell, []).append(value)
    found = [(cell, one) for cell, rates in values.items() if (one := repetition_trend(rates, len(values)))]
    return sorted(found, key=lambda entry: -abs(math.log1p(entry[1].change)))


def _trend_caveat(cell: str, found: RepetitionTrend) -> Caveat:
    return veto("trend", tests=(cell,), change=found.change, runs=found.n, rho=found.rho, p=found.p)


def odd_repetition(runs: Sequence[ImportedRun]) -> tuple[CheckState, str] | None:
    """Check whether all tests of one repetition (one call of the tool) differ from those of the other repetitions.

    Tests of one call share the same disturbances, so they do not confirm each other. None where there are too few
    repetitions of the same tests.
    """
    found = _odd_repetition(runs)
    if "file" in found:
        return "warn", caveat_words(veto("odd-repetition", **found))
    return (
        ("ok", "{blocks} of {test_count} tests each, none unlike the others".format(**found))
        if found
        else None
    )


def _odd_repetition(runs: Sequence[ImportedRun]) -> dict[str, Any]:
    """The figures of a repetition that is unlike the others, with its `file`; without it where none is.

    Empty where there are too few repetitions with the same tests to say so.
    """
    rates: dict[int, dict[str, float]] = {}
    first: dict[int, ImportedRun] = {}
    for run in runs:
        reported = run.record.reported
        rate = reported.ops_per_s if run.measure == "iops" else reported.rate_bytes_per_s
        if rate:
            first.setdefault(run.block, run)
            rates.setdefault(run.block, {})[run.cell] = rate
    alike: dict[frozenset[str], list[int]] = {}
    for block, cells in rates.items():
        alike.setdefault(frozenset(cells), []).append(block)
    blocks = max(alike.values(), key=len, default=[])
    tests = len(rates[blocks[0]]) if blocks else 0
    if tests < TESTS_MIN or len(blocks) < VALUES_MIN:
        return {}
    logs = [fmean(math.log(rate) for rate in rates[block].values()) for block in blocks]
    at = odd_one(logs)
    others = fmean(log for place, log in enumerate(logs) if place != at)
    if at is None or abs(change := math.expm1(logs[at] - others)) < ODD_MIN:
        return {"blocks": len(blocks), "test_count": tests}
    where = first[blocks[at]].record
    figures: dict[str, float | int | str] = {
        "file": where.file,
        "line": where.line,
        "others": len(blocks) - 1,
    }
    return {**figures, "test_count": tests, "change": change, "alpha": ALPHA}


def _length(runs: Sequence[ImportedRun]) -> ValidityCheck:
    lasted = [(time, run.cell) for run in runs if (time := run.record.reported.elapsed_s) is not None]
    if not lasted:
        return ValidityCheck("run length", "unknown", "the files do not record it")
    shortest_s, cell = min(lasted)
    state: CheckState = "ok" if shortest_s >= RUN_MIN_S and len(lasted) == len(runs) else "warn"
    return ValidityCheck(
        "run length",
        state,
        f"shortest run {duration(1e9 * shortest_s)} ({cell}); {RUN_MIN_S:g} s or more average out noise",
    )


def _percentiles(runs: Sequence[ImportedRun]) -> list[ValidityCheck]:
    """Check whether each judged quantile has enough operations beyond it."""
    counts = [
        (word, count, run.cell)
        for run in runs
        for word in run.metrics
        if word in QUANTILES and (count := quantile_count(run.record, QUANTILES[word])) is not None
    ]
    return percentile_checks(counts)


def _steady(runs: Sequence[ImportedRun]) -> ValidityCheck:
    """Check whether runs with a series kept one level of rate."""
    found = [(one, run) for run in runs if (one := course_of(run.record)).kind != "too short"]
    if not found:
        statement = f"no series over time has the {INTERVALS_MIN} intervals that the test needs"
        return ValidityCheck("steady state", "unknown", statement)
    changing = [(one, run) for one, run in found if one.changes_level]
    steady = sum(one.kind == "steady" for one, _ in found)
    statement = f"steady in {steady} of {len(found)} series"
    worst, run = max(changing or found, key=lambda pair: abs(pair[0].change))
    statement += f"; {run.cell}: {course_words(worst, run.record)}"
    return ValidityCheck("steady state", "ok" if steady == len(found) else "warn", statement)


def _memory(runs: Sequence[ImportedRun], files: Sequence[SourceFile]) -> ValidityCheck:
    """Check whether a rate is as high as only memory allows, since no tool counts reads from the page cache."""
    found = [statement for statement, _ in memory_rates(runs, files)]
    if not found:
        return ValidityCheck(
            "memory", "unknown", "not counted by the tool; no rate is beyond that of a device"
        )
    more = f" (and {len(found) - 1} more runs)" if len(found) > 1 else ""
    return ValidityCheck("memory", "warn", f"{found[0]}{more}")


def memory_rates(runs: Sequence[ImportedRun], files: Sequence[SourceFile]) -> list[tuple[str, bool]]:
    """Runs that were served from memory, with the reason; the certain ones first."""
    commands = {file.path: f"{file.tool} {file.command or ''}" for file in files}
    found = []
    for run in runs:
        statement = memory_rate(_rate_facts(run, commands.get(run.record.file, "")))
        if statement is not None and run.cell not in _MEMORY_BY_NAME:
            found.append((audit_words(statement), statement.certain))
    return sorted(found, key=lambda entry: not entry[1])


def _rate_facts(run: ImportedRun, command: str) -> RateFacts:
    record, levels = run.record, run.levels
    tool, _, words = command.partition(" ")
    direct = (levels.get("direct"), levels.get("direct IO"), {"0": "1"}.get(levels.get("buffered", "")))
    bypasses = any(value in ("1", "true", "True", "on") for value in direct) or run.cell in _DIRECT_BY_NAME
    # DiskSpd's XML has no command line, so its own words for the cache must do.
    bypasses = bypasses or levels.get("cache") == "software cache disabled"
    bypasses = bypasses or not _DIRECT_FLAGS.get(tool, frozenset()).isdisjoint(words.split())
    stated = (whole_number(levels.get(name, "")) for name in ("processes", "tasks", "clients"))
    workers = [count for count in stated if count is not None]
    streams = record.outstanding or next(iter(workers), 1 if tool in ("dd", "hdparm") else 0) or None
    read, written = record.bytes_read, record.bytes_written
    return RateFacts(
        cell=run.cell,
        streams=streams,
        bypasses=bypasses,
        waits=bypasses or run.measure == "iops",
        rate_bytes_per_s=record.reported.rate_bytes_per_s,
        ops_per_s=record.reported.ops_per_s,
        elapsed_s=record.reported.elapsed_s,
        moved_bytes=None if read is None or written is None else read + written,
        device_bytes=record.device_bytes,
    )


def _environment(files: Sequence[SourceFile]) -> ValidityCheck:
    machine = {key: value for file in files for key, value in file.machine.items()}
    if not machine:
        return ValidityCheck("environment", "unknown", "the files do not describe the machine")
    statement = ", ".join(f"{key} {value}" for key, value in machine.items())
    return ValidityCheck("environment", "unknown", f"only this is recorded: {statement}")
