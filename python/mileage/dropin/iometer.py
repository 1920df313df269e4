"""`mileage iometer FILE.icf`: the access specifications of an IOMeter configuration as a study.

Scope: a cell for each specification that is assigned, with the workers as threads.
What it refuses: a configuration whose workers differ, specifications that reply to a network, and no target.
"""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path
from typing import Final

from mileage.dropin.dropin_study import do_study, plan_of
from mileage.dropin.flags import GivenFlags
from mileage.errors import Refused
from mileage.formats.icf import Configuration, Line, read_icf
from mileage.formats.raw_print import Row, result_end, result_head, result_row, result_text
from mileage.model.run_record import RunRecord
from mileage.model.target_kind import capabilities_of
from mileage.plan import PlannedRun, Study
from mileage.plan.sizes import exact_bytes
from mileage.plan.study import AccessRow, Measure, OwnWorkload, Stage, State, StopRule, Torture
from mileage.targets.bare_path import with_scheme
from mileage.targets.door import check_result, write_result

_SECTOR: Final = 512
_FILE_BYTES: Final = 1 << 30
_UNIT: Final = 1 << 20
_WHERE: Final = "iometer: -r"
_KIND: Final = "iometer-results"


def run(given: GivenFlags) -> None:
    """Do every specification of the configuration. Raises Refused and RunFailed."""
    named = [*given.every("-c"), *given.operands]
    if len(named) != 1:
        raise Refused(
            "iometer",
            found=f"{len(named)} configurations",
            expected="one, such as test.icf",
            code="wrong-value",
        )
    target = given.last("-t")
    if target is None:
        raise Refused(
            "iometer: -t", "missing: what is measured here, such as -t dir:/mnt/scratch", code="missing"
        )
    configuration = read_icf(Path(named[0]))
    study = study_of(given, configuration, with_scheme(target))
    out = given.last("-r")
    if out is not None:
        check_result(_WHERE, out, _KIND)
    began = time.strftime("%Y-%m-%d %H:%M:%S")
    destroy = given.last("--destroy")
    description = configuration.description
    rows: list[Row] = []

    def finished(run: PlannedRun, record: RunRecord) -> str:
        """Add a specification to the file, or print its row."""
        rows.append(_row_of(study, str(tables[run.cell]), record))
        if out is None:
            return (result_head(description, began) if len(rows) == 1 else "") + result_row(rows[-1])
        write_result(_WHERE, out, _KIND, result_text(description, began, target, rows))
        return ""

    tables = {cell.label: cell.table for cell in plan_of(given, study, destroy).cells}
    do_study(given, study, destroy=destroy, finished=finished)
    if out is None:
        sys.stdout.write(result_end(began, target, rows))


def study_of(given: GivenFlags, found: Configuration, target: str) -> Study:
    """The study that does what the configuration says. Raises Refused."""
    seconds = _seconds(given, found)
    names = _assigned(found)
    first = found.workers[0] if found.workers else None
    for worker in found.workers[1:]:
        same = first is not None and (worker.outstanding, worker.size_sectors, worker.start_sector) == (
            first.outstanding,
            first.size_sectors,
            first.start_sector,
        )
        if not same:
            raise Refused(
                "iometer",
                f"{worker.name} has other settings than {first.name if first else ''}",
                advice="one run has one",
                code="unsupported",
            )
    threads = max(len(found.workers), 1)
    size = first.size_sectors * _SECTOR if first is not None else 0
    start = first.start_sector * _SECTOR if first is not None else 0
    own: dict[str, OwnWorkload] = {}
    tables: dict[str, Measure] = {}
    for number, name in enumerate(names):
        key = f"spec-{number + 1}-{re.sub('[^A-Za-z0-9]+', '-', name).strip('-').lower() or 'unnamed'}"
        own[key] = OwnWorkload(
            access=tuple(_row(name, line) for line in found.specifications[name]), title=name
        )
        tables[key] = Measure(
            workload=key,
            record=exact_bytes(max(line.size for line in found.specifications[name])),
            threads=threads,
            depth=first.outstanding if first is not None else 1,
            stop=StopRule(time=f"{seconds} s"),
            span=exact_bytes(size) if size else "file",
            span_start=start,
            warm_up=f"{found.ramp_s} s" if found.ramp_s else None,
            repeat=1,
        )
    return _whole(found, target, own, tables, start + (size or _FILE_BYTES))


def _whole(
    found: Configuration, target: str, own: dict[str, OwnWorkload], tables: dict[str, Measure], reach: int
) -> Study:
    kind = capabilities_of(target)
    kept = kind.is_block_device and kind.in_place
    filled = not kept and kind.moves_bytes
    area = -(-reach // _UNIT) * _UNIT
    state = State(start="kept") if kept else State(file=exact_bytes(area))
    fill = Torture(
        workload="throughput.write", record="1MiB", amount=exact_bytes(area), span=exact_bytes(area)
    )
    stages = (Stage(name="fill", prepare=("fill",)),) if filled else ()
    return Study(
        name="iometer",
        question=found.description or "What does IOMeter measure here?",
        target=target,
        order="listed",
        state=state,
        stage=(*stages, Stage(name="iometer", measure=tuple(tables))),
        workload=own,
        measure=tables,
        torture={"fill": fill} if filled else {},
    )


def _seconds(given: GivenFlags, found: Configuration) -> int:
    text = given.last("--seconds")
    if text is not None and not (text.isascii() and text.isdecimal() and 0 < len(text) < 8 and int(text) > 0):
        raise Refused(f"iometer: --seconds {text}", expected="a whole number, 1 or more", code="out-of-range")
    seconds = int(text) if text is not None else found.run_s
    if seconds <= 0:
        raise Refused("iometer", "the file has no run time", advice="give --seconds N", code="missing")
    return seconds


def _assigned(found: Configuration) -> list[str]:
    """Names of the specifications that are done, in order. Raises Refused."""
    names = list(dict.fromkeys(name for worker in found.workers for name in worker.specifications))
    names = names or found.defaults or list(found.specifications)
    for name in names:
        if not found.specifications.get(name):
            raise Refused(
                "iometer", f"the specification {name!r} is assigned and has no lines", code="malformed"
            )
    return names


def _row(name: str, line: Line) -> AccessRow:
    if line.reply:
        raise Refused(
            f"iometer: {name}",
            f"a reply of {line.reply} bytes is for a network target, which is not supported",
            code="not-built",
        )
    return AccessRow(
        size=line.size,
        share=line.share,
        reads=line.reads,
        random=line.random,
        delay=f"{line.delay_ms} ms" if line.delay_ms else None,
        burst=line.burst,
        align=line.align,
    )


def _row_of(study: Study, key: str, record: RunRecord) -> Row:
    table = study.measure[key]
    threads = table.threads if isinstance(table.threads, int) else 1
    depth = table.depth if isinstance(table.depth, int) else 1
    return figures_of(study.workload[key].title, threads, depth, record)


def figures_of(name: str, threads: int, depth: int, record: RunRecord) -> Row:
    """The row of a specification of that name, done by that many workers with that depth each."""
    each = record.latency_of("read", "write"), record.latency_of("read"), record.latency_of("write")
    return Row(
        specification=name,
        workers=threads,
        depth=depth,
        seconds=record.elapsed_s,
        reads=record.ops_read,
        writes=record.ops_written,
        bytes_read=record.bytes_read,
        bytes_written=record.bytes_written,
        mean_ns=(each[0].mean_ns or 0.0, each[1].mean_ns or 0.0, each[2].mean_ns or 0.0),
        max_ns=(each[0].max_ns, each[1].max_ns, each[2].max_ns),
    )
