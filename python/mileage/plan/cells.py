"""The cells of a study, and its tortures: workloads with sizes that fit into the work area.

Scope: a cell for every combination of workload, record, threads, depth and the levels of `vary`.
What it refuses: spans larger than the work area; sizes that do not divide evenly; keys that the target cannot
honour.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, cast

import msgspec

from mileage.errors import Refusal, Refused
from mileage.model.metrics import METRICS, MetricWord
from mileage.model.target_facts import TargetFacts
from mileage.model.target_kind import Capabilities
from mileage.plan import sizes
from mileage.plan.cell_keys import Slot, in_tables, labelled, slots
from mileage.plan.content import read_content, read_verify
from mileage.plan.custom_workloads import how_in
from mileage.plan.faults import BrokenStudy, Faults
from mileage.plan.file_job import JobRequest
from mileage.plan.io_options import IoOptions, Reach, load_of, merged, reach_of, without_effect
from mileage.plan.iozone_suite import Suite
from mileage.plan.named_workloads import Kind, NamedWorkload, as_done, on_target
from mileage.plan.page_cache_state import read_cache
from mileage.plan.pattern import SECTOR_BYTES, pattern_word, unit_bytes
from mileage.plan.planned_runs import Cell
from mileage.plan.quantiles import operations_needed
from mileage.plan.run_action import FileJob
from mileage.plan.study import Measure, Size, StopRule, Study, Torture, listed
from mileage.plan.study_checks import blocks_of
from mileage.plan.tasks import OWN_KEYS
from mileage.plan.transfer_api import ApiTable, api_word
from mileage.plan.work_area import Own, named_in, refuse, words
from mileage.plan.workload import Stop, Workload

_FIELDS: Final = {
    "record_bytes": "record",
    "read_percent": "reads",
    "discard_percent": "discards",
    "span_bytes": "span",
    "span_start_bytes": "span_start",
    "stop.time_ns": "stop.time",
    "load.open.operations_per_s": "rate",
    "load.open.ramp.to_operations_per_s": "ramp_to",
    "load.open.ramp.over_ns": "ramp_over",
    "load.cap.operations_per_s": "cap",
    "load.cap.bytes_per_s": "cap",
    "load.think.pause_ns": "think",
    "load.think.every_operations": "burst",
    "load.warm_up_ns": "warm_up",
}
"""Names of workload fields in study files, where they differ."""
_RATES: Final[tuple[Kind, ...]] = ("throughput", "iops")


def cells_of(study: Study, facts: TargetFacts, work_bytes: int, own: Own, faults: Faults) -> tuple[Cell, ...]:
    """Every cell of every [measure.NAME] table, with a label that is unique in the study."""
    making = _WorkloadMaker(study, facts, work_bytes, own, faults)
    cells: list[Cell] = []
    for name, measure in study.measure.items():
        with faults.collected():
            cells += making.cells(name, measure)
    return tuple(labelled(cell) for cell in in_tables(cells))


def tortures_of(
    study: Study, facts: TargetFacts, work_bytes: int, own: Own, faults: Faults
) -> dict[str, tuple[Workload, Reach | None]]:
    """The I/O of every [torture.NAME] table, with seed 0, and how it reaches the target."""
    making = _WorkloadMaker(study, facts, work_bytes, own, faults)
    found = {}
    for name, table in study.torture.items():
        with faults.collected():
            found[name] = making.torture(name, table)
    return found


class _WorkloadMaker:
    """Makes workloads for one study on one target."""

    def __init__(self, study: Study, facts: TargetFacts, work_bytes: int, own: Own, faults: Faults) -> None:
        self._study = study
        self._faults = faults
        self._facts = facts
        self._work_bytes = work_bytes
        self._own = own

    def cells(self, name: str, measure: Measure) -> Iterator[Cell]:
        """The cells of a [measure.NAME] table, unless what it says of work on files is wrong."""
        path = f"measure.{name}"
        found = named_in(self._study, path, measure.workload, self._own)
        if blocks := [named for named in found if named.job is None]:
            for key in ("fidelity", "iozone"):
                if getattr(measure, key):
                    text = f"has no effect on {blocks[0].name}"
                    refuse(
                        self._study,
                        f"{path}.{key}",
                        text,
                        advice="only IOzone's tests know it",
                        code="no-effect",
                    )
        sound = self._are_jobs_sound(path, measure, [named for named in found if named.job is not None])
        # Faults of a job are reported once for the table, not once for each of its combinations of levels.
        unused = {word for word in listed(measure.metric) if word in _OF_COMMITS}
        for slot in slots(measure, found):
            if slot.named.job is not None and not sound:
                continue
            cell = Cell(
                label="",
                table=name,
                kind=slot.named.kind,
                metrics=(),
                blocks=blocks_of(measure.repeat),
                workload=None,
                title=slot.named.title,
                key=slot.key,
            )
            work = self._job_of if slot.named.job is not None else self._io_of
            cell = msgspec.structs.replace(cell, **work(path, measure, found, slot))
            metrics = _metrics(measure, slot.named, cell)
            unused -= set(metrics)
            yield msgspec.structs.replace(cell, metrics=metrics, kind=_kind(slot.named, metrics))
        if unused:
            refuse(
                self._study,
                f"{path}.metric",
                found=", ".join(sorted(unused)),
                advice="sync between writes (sync_every) or write with dsync, so that there are commits to time",
                code="no-effect",
            )

    def _io_of(
        self, path: str, measure: Measure, found: list[NamedWorkload], slot: Slot
    ) -> dict[str, Workload | Reach | str | bool | None]:
        """Fields of a cell of block I/O: `workload`, `title`, `reach` and `power_cut`."""
        named = on_target(slot.named, self._facts.capabilities)
        # A level replaces the table's own key before anything is derived from it, so that a varied key and a fixed one
        # are checked and converted by the same code.
        table = msgspec.structs.replace(measure, **slot.levels)
        done = as_done(named, how_in(table))
        unit = unit_bytes(done.pattern, slot.record_bytes)
        span = self._span(path, table, unit)
        stop = self._stop(path, table.stop or named.stop or StopRule(), unit, done.once, span[1])
        workload = self._workload(done, slot.record_bytes, span, slot.threads, slot.depth, stop)
        reach = self._reach(done, slot.depth)
        self._check_blocks(path, workload, reach)
        self._check(path, done, workload, _FIELDS)
        return {
            "workload": workload,
            "title": _title(named, done, workload),
            "reach": reach,
            "power_cut": bool(done.how.power_cut),
        }

    def _job_of(
        self, path: str, measure: Measure, found: list[NamedWorkload], slot: Slot
    ) -> dict[str, FileJob]:
        """Fields of a cell of work on files.

        `job`, the run that measures it, and for a set all its tests in a table.
        """
        named, cache = slot.named, self._study.state.cache
        job = cast(type[Suite], named.job)
        how = how_in(msgspec.structs.replace(measure, **slot.levels))
        kind = self._facts.capabilities
        not_hosted = job.not_on_a_host(how, kind, cache) if kind.has_host else ()
        for fault in (*job.without_effect(how, cache), *not_hosted):
            self._faults.add_refusal(fault.below(path))
        asked = JobRequest(
            test=named.test,
            tests=tuple(other.test for other in found if other.job is job),
            record_bytes=slot.record_bytes,
            file_bytes=self._work_bytes,
            threads=slot.threads,
            stop=measure.stop or named.stop or StopRule(),
            how=merged(named.how, how),
            cache=cache,
            fidelity=measure.fidelity,
            switches=measure.iozone,
            programs=named.programs,
        )
        try:
            made = job.of(asked)
        except Refused as wrong:
            raise BrokenStudy(self._study.name, [fault.below(path) for fault in wrong.refusals]) from None
        limit_bytes = read_cache(how.cache or cache).limit_bytes
        return {"job": msgspec.structs.replace(made, limit_bytes=limit_bytes)}

    def _are_jobs_sound(self, path: str, measure: Measure, found: list[NamedWorkload]) -> bool:
        """Whether a table gives work on files only keys that it knows; others are reported."""
        if not found:
            return True
        known = self._faults.found
        kind = self._facts.capabilities
        if not all(kind.does(named.job.word()) for named in found if named.job is not None):
            self._faults.add(
                f"{path}.workload",
                f"{found[0].name} makes files of its own",
                found=f"{self._study.target}",
                expected="dir:PATH",
                code="needs-files",
            )
        if listed(measure.depth) != (1,):
            self._faults.add(
                f"{path}.depth",
                f"{found[0].name} does one operation at a time",
                advice="leave depth at 1",
                code="no-effect",
            )
        for key, whole in (("span", "file"), ("span_start", 0)):
            if getattr(measure, key) != whole or key in measure.vary:
                self._faults.add(
                    f"{path}.{key}",
                    f"{found[0].name} uses its file whole",
                    advice="remove it",
                    code="no-effect",
                )
        problems: dict[str, Refusal] = {}
        own_cache = msgspec.structs.replace(measure, cache=measure.cache or self._study.state.cache)
        for job in dict.fromkeys(named.job for named in found if named.job is not None):
            first = next(named.name for named in found if named.job is job)
            for fault in job.refusals(first, own_cache):
                problems.setdefault(fault.where, fault)
        for fault in problems.values():
            self._faults.add_refusal(fault.below(path))
        return self._faults.found == known

    def torture(self, name: str, table: Torture) -> tuple[Workload, Reach | None]:
        path = f"torture.{name}"
        (named,) = named_in(self._study, path, table.workload, self._own)
        table, tasks = self._with_tasks(table), table.tasks or 1
        done = as_done(named, how_in(table))
        record = sizes.size_bytes(table.record)
        amount = self._area(path, "amount", table.amount, record * tasks)
        stop = Stop(bytes=amount, time_ns=None if table.time is None else sizes.parse_time_ns(table.time))
        span = self._span(path, table, unit_bytes(done.pattern, record) * tasks)
        # `amount` is the total of all tasks, but with a file for each task the span is that of one file.
        if tasks > 1 and table.files == "per_thread":
            span = (span[0], span[1] // tasks)
        workload = self._workload(done, record, span, table.threads, table.depth, stop)
        reach = self._reach(done, table.depth)
        self._check_blocks(path, workload, reach)
        self._check(path, done, workload, {**_FIELDS, "stop.bytes": "amount", "stop.time_ns": "time"})
        return workload, reach

    def _with_tasks(self, table: Torture) -> Torture:
        """The table with its tasks as what they are on this target."""
        if table.tasks is None:
            return table
        target = self._facts.capabilities
        return msgspec.structs.replace(
            table,
            threads=table.tasks,
            processes=table.tasks if target.is_real else None,
            files="per_thread" if target.has_files else None,
        )

    def _workload(
        self,
        done: NamedWorkload,
        record_bytes: int,
        span: tuple[int, int],
        threads: int,
        depth: int,
        stop: Stop,
    ) -> Workload:
        how = done.how
        # Whether a trace has writes is known only when its file is read, so a sync is planned for every trace.
        syncs = done.writes or pattern_word(done.pattern) == "trace_file"
        sync = (how.sync or "fdatasync") if syncs and self._facts.capabilities.moves_bytes else "none"
        return Workload(
            pattern=done.pattern,
            read_percent=done.read_percent,
            record_bytes=record_bytes,
            span_start_bytes=span[0],
            span_bytes=span[1],
            depth=depth,
            threads=threads,
            stop=stop,
            # Every run gets its own seed from `expansion`; with one here, equal cells would not compare equal.
            seed=0,
            content=read_content(how.content or "incompressible"),
            sync=sync,
            sync_timed=sync != "none",
            sync_every=how.sync_every or 0,
            discard_percent=how.discards or 0,
            files=how.files or "shared",
            load=load_of(how, self._facts.capacity_bytes),
            verify=read_verify(how.verify or "off"),
            generation=how.generation or 0,
        )

    def _reach(self, done: NamedWorkload, depth: int) -> Reach | None:
        return reach_of(done.how, self._facts.capabilities, self._study.state.cache, depth)

    def _span(self, path: str, table: Measure | Torture, unit: int) -> tuple[int, int]:
        """First byte and length of what is visited, in bytes; the length is a multiple of `unit`."""
        # Records of one size may begin anywhere; where operations differ in size the core asks for whole sectors.
        start = self._area(path, "span_start", table.span_start, 1) if table.span_start else 0
        room = self._work_bytes - start
        if room < unit:
            area = f"the work area of {words(self._work_bytes)}"
            refuse(
                self._study,
                f"{path}.span_start",
                found=f"{words(start)}, where {words(unit)} do not fit into {area}",
                advice="begin earlier",
                code="out-of-range",
            )
        # The rest that is shorter than a unit is never visited: a shorter last record would have another latency.
        whole = table.span == "file"
        length = room - room % unit if whole else self._area(path, "span", table.span, unit)
        if length > room or length <= 0:
            beyond = f", which begins at {words(start)}" if start else ""
            found = f"{words(length)}{beyond}, more than the work area of {words(self._work_bytes)}"
            refuse(self._study, f"{path}.span", found=found, code="out-of-range")
        return start, length

    def _check_blocks(self, path: str, workload: Workload, reach: Reach | None) -> None:
        """Refuse what is no whole number of logical blocks where no page cache makes it one."""
        block_bytes = self._facts.block_bytes
        found = {"record": workload.record_bytes, "span_start": workload.span_start_bytes}
        odd = next((key for key, size in found.items() if size % block_bytes), None)
        if odd is None or not (reach is None or reach.options.direct):
            return
        block = f"the logical block of {self._study.target}, {words(block_bytes)}"
        refuse(
            self._study,
            f"{path}.{odd}",
            f"{words(found[odd])} is not a multiple of {block}, which direct access needs",
            advice='choose a multiple, or go through the page cache (cache = "warm", --no-direct)'
            if reach is not None
            else "choose a multiple, or put a host above the drive: virtual:NAME@HOST",
            code="does-not-divide",
        )

    def _stop(self, path: str, rule: StopRule, unit: int, once: bool, span_bytes: int) -> Stop:
        limit = None if rule.bytes is None else self._area(path, "stop.bytes", rule.bytes, unit)
        # A pattern that visits every record once has nothing left to do after its span.
        if once:
            limit = span_bytes if limit is None else min(limit, span_bytes)
        return Stop(
            bytes=limit,
            operations=rule.operations,
            time_ns=None if rule.time is None else sizes.parse_time_ns(rule.time),
        )

    def _area(self, path: str, key: str, size: Size, unit: int) -> int:
        """Bytes of a part or a multiple of the work area that the record, or its unit, must divide.

        Of a record that is no whole sectors, as many as fit.
        """
        area = sizes.area_bytes(size, work_bytes=self._work_bytes, multiple_bytes=unit)
        if unit % SECTOR_BYTES and area >= unit:
            return area - area % unit
        if area % unit:
            refuse(
                self._study,
                f"{path}.{key}",
                found=f"{words(area)}, which the record of {words(unit)} does not divide",
                advice="choose sizes that divide evenly",
                code="does-not-divide",
            )
        return area

    def _check(self, path: str, done: NamedWorkload, workload: Workload, fields: dict[str, str]) -> None:
        for key in OWN_KEYS:
            if getattr(done.how, key) is not None:
                text = f"has no effect on {done.name}"
                advice = "only ior.* and mdtest.* know it"
                self._faults.add(f"{path}.{key}", text, advice=advice, code="no-effect")
        on = f"not possible on target {str(self._study.target)!r}: "
        for fault in without_effect(done.how, self._facts.capabilities):
            self._faults.add_refusal(fault._replace(text=on + fault.text).below(path))
        reach = self._reach(done, workload.depth)
        for problem in (
            _reach_problem(reach, workload.depth, self._facts.capabilities),
            _processes_problem(done.how.processes or 1, workload),
            _power_cut_problem(done.how, reach, self._facts.capabilities),
        ):
            if problem is not None:
                self._faults.add_refusal(problem.below(path))
        if broken := workload.problem():
            field, text = broken
            self._faults.add(f"{path}.{fields.get(field, field)}", found=text, code="wrong-value")


def _threads_words(threads: int) -> str:
    return "1 thread" if threads == 1 else f"{threads} threads"


def _title(named: NamedWorkload, done: NamedWorkload, workload: Workload) -> str:
    """Description of a cell in a few words: the workload's own, unless the study changes its shares."""
    return named.title if done.does == named.does else workload.in_words


def _power_cut_problem(how: IoOptions, reach: Reach | None, target: Capabilities) -> Refusal | None:
    """Why the loss of a power cut cannot be counted; None when it can."""
    if not (how.power_cut and target.has_host and reach is not None and reach.caching.mode == "direct"):
        return None
    text = "of a modelled host, only synced writes through the page cache are followed"
    return Refusal("power_cut", text=text, advice='give cache = "warm"', code="unsupported")


def _reach_problem(reach: Reach | None, depth: int, target: Capabilities) -> Refusal | None:
    """A requested option that the API cannot honour; None when it honours all."""
    if reach is None:
        return None
    if target.has_host:
        if depth == 1 or reach.options.direct:
            return None
        text = "of a modelled host, only direct I/O has several operations of a thread in flight, as with Linux AIO"
        advice = f'give cache = "direct", or use {depth} threads'
        return Refusal("depth", text=text, advice=advice, code="unsupported")
    api = reach.options.api
    word = api_word(api)
    if depth > 1 and not (isinstance(api, ApiTable) and api.uring is not None):
        other = "" if api == "null" else ", or the API uring"
        return Refusal(
            "depth",
            f"{depth}",
            advice=f"{word} has one operation of a thread in flight: use {depth} threads{other}",
            code="unsupported",
        )
    if reach.options.direct and word.partition(":")[0] in ("mmap", "stdio"):
        text = 'add cache = "warm" or "cold" (--no-direct, --cold)'
        return Refusal(
            "api",
            text=f"{word} goes through the page cache, and the cache is bypassed",
            advice=text,
            code="conflict",
        )
    return None


def _processes_problem(processes: int, workload: Workload) -> Refusal | None:
    """Reason why a workload cannot use several processes; None when it can."""
    if processes > workload.threads:
        shared = _threads_words(workload.threads)
        return Refusal(
            "processes",
            found=f"{processes}",
            expected=f"at most the {shared} that they share",
            code="out-of-range",
        )
    if processes > 1 and workload.verify != "off" and workload.changes and workload.files == "shared":
        text = (
            "what one process writes to a shared file another cannot compare; give each thread its own file "
            "(files per_thread), or write first and verify in a run that only reads"
        )
        return Refusal("verify", text=f"has no use with {processes} processes: {text}", code="unsupported")
    return None


_OF_COMMITS: Final = frozenset(word for word, row in METRICS.items() if row.latency not in ("", "judged"))
"""Metrics that only a workload with commits has."""


def _kind(named: NamedWorkload, metrics: Sequence[MetricWord]) -> Kind:
    """Kind of the judged rate: the workload's own, or the single rate that a study asks for."""
    asked = [kind for kind in _RATES if kind in metrics]
    return asked[0] if len(asked) == 1 else named.kind


def _metrics(measure: Measure, named: NamedWorkload, cell: Cell) -> tuple[MetricWord, ...]:
    """What the table asks for; otherwise the workload's own, where commits replace the writes that they contain."""
    work = cell.workload
    commits = work is not None and _has_commits(work, cell.reach)
    if wanted := listed(measure.metric):
        return tuple(word for word in METRICS if word in wanted and (commits or word not in _OF_COMMITS))
    if work is None or not commits or "time" in named.metrics:
        return named.metrics
    own: list[MetricWord] = [word for word in named.metrics if word != "p99"]
    # A run that ends before it has commits enough is not asked for their p99.
    needed = operations_needed(METRICS["commit_p99"].quantile) * max(1, work.sync_every)
    enough = work.stop.operations is None or work.stop.operations >= needed
    return (*own, "commit_p50", "commit_p99") if enough else (*own, "commit_p50")


def _has_commits(work: Workload, reach: Reach | None) -> bool:
    """Whether a run has times of commits: it syncs between its writes, or each write is durable when it completes."""
    durable = work.sync == "fua" or (reach is not None and reach.options.dsync)
    return work.changes and (work.sync_every > 0 or durable)
