"""A gate over simulated results, from the files to the rule: of fio in one session, or against a history."""

from __future__ import annotations

import json
import math
import random
import tempfile
import time
from pathlib import Path
from typing import Any

from mileage.app import compare, history
from mileage.app.importer import make_study, read_files
from mileage.judge.gate_rules import parse_rule, results_of

SAMPLE = Path(__file__).parents[2] / "tests" / "formats" / "samples" / "fio-one-job.json"


def failures(rule: str, *, change: float, noise: float, runs: int, times: int, seed: int) -> int:
    """How many of `times` comparisons break the rule.

    `change`: the true ratio of the candidate's rate to the baseline's, less 1 (-0.1: a tenth slower). `noise`: standard
    deviation of the logarithm of a run's rate. `runs`: files of each side.
    """
    draw = random.Random(f"{seed} {change} {noise} {runs}")
    return sum(_breaks(rule, change, noise, runs, draw) for _ in range(times))


def _breaks(rule: str, change: float, noise: float, runs: int, draw: random.Random) -> bool:
    with tempfile.TemporaryDirectory() as place:
        for side, (name, ratio) in enumerate((("baseline", 1.0), ("candidate", 1.0 + change))):
            files = []
            for run in range(runs):
                files.append(Path(place) / f"{name}-{run}.json")
                document = result_of(ratio * math.exp(draw.gauss(0.0, noise)))
                # The two are measured in turn, one after the other.
                document["time"] = time.ctime(1_800_000_000 + 100 * (2 * run + side))
                files[-1].write_text(json.dumps(document))
            make_study(read_files(files), Path(place) / name, session="lab")
        found = compare(f"{place}/baseline", f"{place}/candidate")
    return any(one.outcome == "broken" for one in results_of(parse_rule(rule), found))


def history_failures(
    rule: str, *, change: float, between: float, noise: float, sessions: int, runs: int, times: int, seed: int
) -> int:
    """How many of `times` candidates of one session break the rule against a history of `sessions`.

    `between`: standard deviation between sessions, of the logarithm of the rate; otherwise as `failures`.
    """
    draw = random.Random(f"history {seed} {change} {between} {noise} {sessions} {runs}")
    found = 0
    for _ in range(times):
        with tempfile.TemporaryDirectory() as place:
            for name, count, ratio in (("history", sessions, 1.0), ("candidate", 1, 1.0 + change)):
                table = Path(place) / f"{name}.csv"
                table.write_text(_table(name, count, ratio, between, noise, runs, draw))
                make_study(read_files([table]), Path(place) / name)
            judged = history([f"{place}/history", f"{place}/candidate"])
        found += any(one.outcome == "broken" for one in results_of(parse_rule(rule), judged))
    return found


def _table(
    name: str, sessions: int, ratio: float, between: float, noise: float, runs: int, draw: random.Random
) -> str:
    """A table of samples of one test in some sessions."""
    lines = ["cell,repetition,value,unit,session"]
    for number in range(sessions):
        day = ratio * math.exp(draw.gauss(0.0, between))
        lines += [
            f"random read,{run},{1e4 * day * math.exp(draw.gauss(0.0, noise)):.4f},IOPS,{name} {number}"
            for run in range(1, runs + 1)
        ]
    return "\n".join([*lines, ""])


def result_of(factor: float) -> dict[str, Any]:
    """Fio's document with rates `factor` times those of the sample, and latencies to match."""
    document: dict[str, Any] = json.loads(SAMPLE.read_text(encoding="utf-8"))
    read = document["jobs"][0]["read"]
    for key in ("io_bytes", "io_kbytes", "bw_bytes", "bw", "iops", "total_ios"):
        read[key] = type(read[key])(read[key] * factor)
    for kind in ("clat_ns", "lat_ns", "slat_ns"):
        spread = read.get(kind, {})
        spread["N"] = read["total_ios"]
        spread["mean"] = spread.get("mean", 0.0) / factor
        spread["percentile"] = {name: int(ns / factor) for name, ns in spread.get("percentile", {}).items()}
    return document
