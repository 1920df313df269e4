"""From a study folder to the value that the report draws: identity, trust lamps, torture traces, method."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import msgspec

from mileage.execute import stage_name
from mileage.judge import Comparison
from mileage.judge.audit import Audit, RunFacts, audit
from mileage.judge.overload import omission
from mileage.judge.regimes import regimes
from mileage.judge.steady import drift
from mileage.plan import Plan, describe
from mileage.plan.workload import Workload
from mileage.record import StudyFolder, left_out, measured_cells
from mileage.record.environment import diff
from mileage.record.journal import JournalContent
from mileage.report import StudyView, TortureTrace, TrustLamp
from mileage.report.measured_page import MeasuredPage
from mileage.report.setting import setting_lines
from mileage.report.view import LampState, RunShape


def measured_page(plan: Plan, folder: StudyFolder) -> MeasuredPage:
    """Collect what the page of a study that compares nothing shows."""
    content = folder.content()
    head = content.of_kind("study")
    environments = folder.environments()
    order = {cell.label: number for number, cell in enumerate(plan.cells)}
    return MeasuredPage(
        name=plan.study.name,
        question=plan.study.question,
        target=plan.study.target,
        setting=setting_lines(plan),
        cells=tuple(sorted(measured_cells(content), key=lambda cell: (cell.stage, order[cell.cell]))),
        runs_total=len(plan.runs) - left_out(content),
        runs_failed=len(content.of_kind("failed")),
        method=describe(plan),
        command=str(head[0]["command"]) if head else f"mileage run {folder.path}",
        identity=_identity(plan, head[0] if head else {}, environments),
    )


def study_view(plan: Plan, folder: StudyFolder, comparison: Comparison, aa: Audit | None = None) -> StudyView:
    """Collect what the report shows of a study folder. `aa` is the audit of the baseline measured twice."""
    content = folder.content()
    runs = content.runs()
    failed = content.of_kind("failed")
    saved = dict(folder.environments())
    order = dict.fromkeys(stage_name(run) for run in plan.runs)
    environments = [(name, saved[name]) for name in order if name in saved]
    changes = [
        f"{name}: {change}" for name, later in environments[1:] for change in diff(environments[0][1], later)
    ]
    head = content.of_kind("study")
    return StudyView(
        name=plan.study.name,
        question=plan.study.question,
        target=plan.study.target,
        identity=_identity(plan, head[0] if head else {}, environments),
        command=str(head[0]["command"]) if head else f"mileage run {folder.path}",
        comparison=comparison,
        torture=_traces(runs),
        environments=environments,
        environment_changes=list(dict.fromkeys(changes)),
        trust=_trust(plan, content, changes, comparison, aa),
        shapes=_shapes(runs),
        notes=_notes(runs),
        runs_total=len(plan.runs) - left_out(content),
        runs_failed=len(failed),
        method=describe(plan),
        capacity_bytes=plan.facts.capacity_bytes if plan.facts.virtual else None,
    )


def _identity(
    plan: Plan, head: dict[str, Any], environments: list[tuple[str, dict[str, str]]]
) -> dict[str, str]:
    first = environments[0][1] if environments else {}
    size = f"{plan.facts.capacity_bytes / 1e9:.1f} GB"
    known = {
        "target": plan.study.target,
        "size": size,
        "devices": "1",
        "kernel": first.get("kernel.release", "unknown"),
        "mileage": str(head.get("mileage", "unknown")),
        "plan": plan.hash[:16],
        "seed": str(plan.study.seed),
        "date": str(head.get("started", "unknown")),
    }
    return known


def _traces(runs: Sequence[dict[str, Any]]) -> list[TortureTrace]:
    """Rate and write amplification per interval over the bytes written, one trace per cycle."""
    traces: dict[int, TortureTrace] = {}
    for entry in runs:
        if entry["role"] != "torture":
            continue
        cycle = int(entry["cycle"])
        trace = traces.setdefault(cycle, TortureTrace(cycle, [], [], []))
        _extend(trace, entry["record"]["series"])
    return [
        trace
        if trace.write_amplification
        else TortureTrace(trace.cycle, trace.bytes_written, trace.rate_bytes_per_s)
        for trace in traces.values()
    ]


def _extend(trace: TortureTrace, series: dict[str, Any]) -> None:
    host = series["counters"].get("host_pages_written")
    flash = series["counters"].get("flash_pages_programmed")
    offset = trace.bytes_written[-1] if trace.bytes_written else 0.0
    interval_s = series["interval_ns"] / 1e9
    total = 0
    # The last interval is cut short by the end of the run; its rate would be wrong.
    for at in range(len(series["bytes_written"]) - 1):
        written = series["bytes_written"][at]
        total += written
        if written == 0:
            continue
        if host is not None and flash is not None and trace.write_amplification is not None:
            before_host, before_flash = (host[at - 1], flash[at - 1]) if at else (0, 0)
            if host[at] == before_host:
                continue
            trace.write_amplification.append((flash[at] - before_flash) / (host[at] - before_host))
        trace.bytes_written.append(offset + total)
        trace.rate_bytes_per_s.append(written / interval_s)


def _trust(
    plan: Plan,
    content: JournalContent,
    changes: list[str],
    comparison: Comparison,
    aa: Audit | None,
) -> list[TrustLamp]:
    runs = content.runs()
    failed = len(content.of_kind("failed"))
    needed = len(plan.runs) - left_out(content)
    missing = needed - len(runs)
    repeated = plan.study.cycles >= 3
    lamps = [
        TrustLamp("design", "ok" if repeated else "warn", comparison.design),
        TrustLamp(
            "runs",
            "ok" if not (missing or failed) else "bad" if missing else "warn",
            f"{len(runs)} of {needed} finished" + (f", {failed} failed and repeated" if failed else ""),
        ),
        TrustLamp(
            "sham arm",
            "ok" if plan.study.sham else "warn",
            "same time without torture, subtracted" if plan.study.sham else "none",
        ),
    ]
    lamps += [*_audit_lamps(plan, runs), _steady_lamp(runs)]
    if aa is not None:
        lamps.append(TrustLamp(aa.name, aa.state, aa.text))
    state: LampState = "bad" if changes else "ok"
    lamps.append(TrustLamp("environment", state, f"{len(changes)} changes" if changes else "unchanged"))
    return lamps


def _steady_lamp(runs: Sequence[dict[str, Any]]) -> TrustLamp:
    """Whether the torture had arrived where it was going when it ended: the last half of each cycle's last run."""
    last = {int(entry["cycle"]): entry for entry in runs if entry["role"] == "torture"}
    found = []
    for entry in last.values():
        written = entry["record"]["series"]["bytes_written"][:-1]
        rounds = written[len(written) // 2 :]
        if any(rounds):
            found.append(drift(rounds))
    judged = [entry for entry in found if entry.state != "too short"]
    if not judged:
        return TrustLamp("steady state", "unknown", "the torture was too short to tell")
    steady = sum(entry.state == "steady" for entry in judged)
    worst = max((entry.per_20_rounds for entry in judged), key=abs)
    state: LampState = "ok" if steady == len(judged) else "warn"
    told = f"end of torture steady in {steady} of {len(judged)}; drift {worst:+.1%} per 20 intervals at most"
    return TrustLamp("steady state", state, told)


def _audit_lamps(plan: Plan, runs: Sequence[dict[str, Any]]) -> list[TrustLamp]:
    found = {entry.name: TrustLamp(entry.name, entry.state, entry.text) for entry in audits(plan, runs)}
    if plan.facts.virtual:
        found["memory"] = TrustLamp("memory", "ok", "simulated drive: nothing is served from memory")
        found["interference"] = TrustLamp("interference", "ok", "virtual time: the host cannot disturb it")
    return list(found.values())


def audits(plan: Plan, runs: Sequence[dict[str, Any]]) -> tuple[Audit, ...]:
    """The audits of a study's measured runs, from their journal entries."""
    workloads = {run.index: run.workload for run in plan.runs}
    facts = [
        _facts(entry, workload)
        for entry in runs
        if entry["role"] == "measure" and (workload := workloads[int(entry["run"])]) is not None
    ]
    return audit(facts, direct=plan.study.state.cache == "direct" and plan.facts.direct_supported)


def _facts(entry: dict[str, Any], workload: Workload) -> RunFacts:
    record = entry["record"]
    threads = record.get("audit")
    device = record.get("usage", {}).get("device")
    return RunFacts(
        cell=str(entry["cell"]),
        latency_sum_ns=sum(record["latency"][kind]["sum_ns"] for kind in ("read", "write")),
        elapsed_ns=record["submit_ns"],
        outstanding=workload.depth * workload.threads,
        bytes_read=record["bytes_read"],
        bytes_written=record["bytes_written"],
        fetched_bytes=sum(thread["read_bytes"] for thread in threads) if threads else None,
        device_bytes=device["read_bytes"] + device["write_bytes"] if device else None,
    )


def _notes(runs: Sequence[dict[str, Any]]) -> list[str]:
    """Of all measured runs the one whose latencies hide most, in a sentence; none if none hides anything."""
    told: list[tuple[float, str]] = []
    for entry in runs:
        record = entry["record"]
        latency = record["latency"]
        if entry["role"] != "measure" or record["submit_ns"] == 0:
            continue
        kind = max(("read", "write"), key=lambda kind: latency[kind]["count"])
        service, response = _p99_ns(latency[kind]), _p99_ns(latency.get("response"))
        longest_ns = max(latency["read"]["max_ns"], latency["write"]["max_ns"])
        if service is None:
            continue
        sentence = omission(
            service_p99_ns=service,
            response_p99_ns=response,
            longest_ns=longest_ns,
            elapsed_ns=record["submit_ns"],
        )
        if sentence:
            told.append((longest_ns / record["submit_ns"], f"{entry['cell']}, {entry['stage']}: {sentence}"))
    return [max(told)[1]] if told else []


def _p99_ns(histogram: dict[str, Any] | None) -> float | None:
    from mileage import _core

    if histogram is None or histogram["count"] == 0:
        return None
    return _core.latency_quantile_ns(msgspec.json.encode(histogram).decode(), 0.99)


def _shapes(runs: Sequence[dict[str, Any]]) -> list[RunShape]:
    """What happened inside each torture run, from its rate per interval."""
    shapes = []
    for entry in runs:
        series = entry["record"]["series"]
        # The last interval is cut short by the end of the run; its rate would be wrong.
        written = series["bytes_written"][:-1]
        if entry["role"] != "torture" or not any(written):
            continue
        found = regimes([count / (series["interval_ns"] / 1e9) for count in written])
        done = list(accumulate(written, initial=0))
        shapes.append(
            RunShape(
                cell=str(entry["cell"]),
                cycle=int(entry["cycle"]),
                kind=found.kind,
                levels_bytes_per_s=[segment.level for segment in found.segments],
                cut_bytes=[float(done[cut]) for cut in found.cuts],
                cut_error_bytes=float(max(written)),
            )
        )
    return shapes
