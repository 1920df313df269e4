"""`python -m benchmarks.page [FOLDER]`: the page of a study of 414 cells x 10 runs, and of one of 36,000 runs.

Both studies are planned as any other. Their journals are filled with a record of a real run on a virtual drive, series
and histogram included, whose duration differs from run to run by a seeded draw; so all that is read and drawn has its
true size. `mileage report` is timed in a process of its own. Where Chromium is installed, the page is opened from its
file without a network: until the first screen is painted, and how long the slowest of 40 steps of scrolling takes.
Fails when a page is larger than its bound. With FOLDER the studies are kept there.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any, Final

from mileage.app import plan
from mileage.plan import Plan
from mileage.store import StudyFolder

RUNS: Final = 10
SEED: Final = 414
REPEATS: Final = 3
PAGE_ALONE: Final = """\
import sys
from mileage import app
from mileage.report import render_html
render_html(app.load(sys.argv[1]).view())
"""
STUDY: Final = """\
name = "{name}"
question = "Does it matter what is written, at any size, depth and number of threads?"
target = "virtual:plain-64gib"
[[stage]]
name = "measured"
measure = [{measures}]
{tables}
[factor.depth]
levels = {depths}
{more}
[factor.content]
kind = "workload"
levels = {{ "2 %" = "compressible=2", "98 %" = "compressible=98" }}
[compare]
arms = "content"
baseline = "2 %"
candidate = "98 %"
"""
TABLE: Final = """\
[measure.{name}]
workload = [{workloads}]
record = [{records}]
stop = {{ operations = 20000 }}
repeat = 10
"""
RECORDS: Final = ("4KiB", "16KiB", "64KiB", "256KiB", "1MiB")
PATTERNS: Final = (
    *("sequential_write", "shuffled_write", "backward_write", "stride_write", "fixed_write", "zipf_write"),
    *("hot_cold_write", "partly_sequential_write", "iozone_stride_write", "sequential_read", "shuffled_read"),
    *("backward_read", "stride_read"),
)
IOPS: Final = ("iops.random_write", "iops.random_read", "iops.shuffled_write", "iops.shuffled_read")
SCROLL: Final = """(async () => { let slowest = 0; const step = document.documentElement.scrollHeight / 40;
  for (let at = 0; at < 40; at += 1) { const start = performance.now(); window.scrollTo(0, at * step);
    await new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)));
    slowest = Math.max(slowest, performance.now() - start); } return slowest; })()"""
PAINTED: Final = """new Promise(done => { const look = () => { const found = performance.getEntriesByName(
  "first-contentful-paint"); found.length ? done(found[0].startTime) : requestAnimationFrame(look); }; look(); })"""


def study_text(
    name: str, tables: dict[str, tuple[tuple[str, ...], tuple[str, ...]]], depths: str, more: str
) -> str:
    """A study file with these tables of workloads and records."""
    measured = [
        TABLE.format(name=table, workloads=listed(workloads), records=listed(records))
        for table, (workloads, records) in tables.items()
    ]
    return STUDY.format(
        name=name, measures=listed(tuple(tables)), tables="".join(measured), depths=depths, more=more
    )


def listed(words: tuple[str, ...]) -> str:
    """Words as the inside of a TOML array."""
    return ", ".join(json.dumps(word) for word in words)


def real_record() -> dict[str, Any]:
    """What a run on a virtual drive leaves in the journal: some sixty intervals, as a run of a minute has."""
    from mileage._core import Drive

    cell = next(cell for cell in plan("degradation").cells if cell.label.startswith("iops.random_write"))
    assert cell.workload is not None
    stop = {"operations": 2000}
    found: dict[str, Any] = json.loads(
        Drive("intel-x25e-64gb").run(json.dumps({**to_json(cell.workload), "stop": stop}))
    )
    return found


def to_json(value: object) -> Any:
    """A value of the plan as JSON has it."""
    import msgspec

    return msgspec.to_builtins(value)


def fill(folder: StudyFolder, resolved: Plan, record: dict[str, Any]) -> None:
    """Write the journal of a finished study: every run of the plan with the record, at its own duration."""
    rng = random.Random(SEED)
    middle = {cell.label: rng.gauss(0, 0.05) for cell in resolved.cells}
    encoded = json.dumps(record)
    elapsed = json.dumps(record["elapsed_ns"])
    now = "2026-01-01T00:00:00.000+00:00"
    with open(folder.journal, "w", encoding="utf-8") as file:
        head = {
            "kind": "study",
            "format": 1,
            "plan": resolved.hash,
            "mileage": "0",
            "command": "mileage run page",
        }
        file.write(json.dumps({**head, "started": now}) + "\n")
        for run in resolved.runs:
            ns = round(record["elapsed_ns"] * 2.718281828 ** (middle.get(run.cell, 0.0) + rng.gauss(0, 0.02)))
            own = encoded.replace(f'"elapsed_ns": {elapsed}', f'"elapsed_ns": {ns}', 1)
            levels = resolved.setting_of(run).levels
            entry = {
                "kind": "run",
                "run": run.index,
                "session": run.part,
                "cycle": run.cycle,
                "arm": run.arm,
                "stage": run.stage,
                "role": run.role,
                "block": run.block,
                "measure": run.measure,
                "cell": run.cell,
                "levels": levels,
                "metrics": run.metrics,
                "seed": run.seed,
                "started": now,
                "finished": now,
            }
            file.write(json.dumps(entry)[:-1] + f', "record": {own}}}\n')
        file.write(json.dumps({"kind": "end", "finished": now}) + "\n")


def opened(page: Path) -> str:
    """How the page does in Chromium."""
    from tests.report import chromium

    if chromium.PROGRAM is None:
        return "not opened: chromium is not installed"
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
        chromium.Chromium(Path(profile)) as browser,
    ):
        browser.open(page)
        painted, slowest = browser.ask(PAINTED), browser.ask(SCROLL)
        output = "" if not browser.console else f"; the console says {browser.console[:3]}"
    return f"first screen after {painted:,.0f} ms, slowest of 40 steps of scrolling {slowest:,.0f} ms{output}"


def timed(*words: str) -> tuple[float, float]:
    """Seconds that Python takes with these words, and seconds of processors."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)
    seconds, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def output(times: list[tuple[float, float]]) -> str:
    """Their medians in words."""
    seconds, cpu = (median(column) for column in zip(*times, strict=True))
    return f"{seconds:.1f} s, {cpu:.1f} s of processors, median of {len(times)}"


def one(
    name: str, text: str, place: Path, bound_bytes: float, record: dict[str, Any], aim_s: float | None = None
) -> bool:
    """Make one study and its page; whether the page is within its bound. `aim_s`, for the whole command, is printed."""
    file = place / f"{name}.toml"
    file.write_text(text, encoding="utf-8")
    resolved = plan(str(file))
    folder = StudyFolder.create(place / name, resolved.to_toml(), resolved.to_json().encode())
    fill(folder, resolved, record)
    whole = [timed("-m", "mileage", "report", str(folder.path)) for _ in range(REPEATS)]
    alone = [timed("-c", PAGE_ALONE, str(folder.path)) for _ in range(REPEATS)]
    size = folder.report.stat().st_size
    journal = folder.journal.stat().st_size / 1e6
    sys.stdout.write(
        f"{name}: {len(resolved.cells):,} cells, {len(resolved.runs):,} runs, journal {journal:,.0f} MB\n"
        f"  mileage report: {output(whole)} (tables, pictures as files and page)"
        f"{'' if aim_s is None else f'; aim: under {aim_s:g} s'}\n"
        f"  the page alone: {output(alone)}\n"
        f"  page: {size / 1e6:.2f} MB, at most {bound_bytes / 1e6:g}\n  {opened(folder.report)}\n"
    )
    sys.stdout.flush()
    return size <= bound_bytes


def main() -> None:
    """Both studies."""
    kept = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    patterns = tuple(f"pattern.{name}" for name in PATTERNS)
    small = study_text(
        "cells-414",
        {"patterns": (patterns, RECORDS), "iops": (IOPS, ("4KiB",))},
        "[1, 2, 4, 8, 16, 32]",
        "",
    )
    large = study_text(
        "runs-36000",
        {"patterns": (patterns[:12], RECORDS)},
        "[1, 2, 4, 8, 16, 32]",
        "[factor.threads]\nlevels = [1, 2, 4, 8, 16]\n",
    )
    with tempfile.TemporaryDirectory(prefix="mileage-page-") as scratch:
        place = kept or Path(scratch)
        place.mkdir(parents=True, exist_ok=True)
        record = real_record()
        held = one("cells-414", small, place, 4e6, record, aim_s=10)
        held = one("runs-36000", large, place, 15e6, record) and held
    sys.exit(0 if held else 1)


if __name__ == "__main__":
    main()
