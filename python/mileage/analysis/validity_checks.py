"""Validity checks of a verdict: reasons for and against trusting a study, each with its figure.

Joins the journal, the audits of `judge` and the report's checks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from mileage.analysis.assumptions import assumption_checks
from mileage.analysis.run_facts import JournalReading
from mileage.analysis.steady_state_checks import level_checks, measured_stages, state_checks
from mileage.execute import unfinished_lines
from mileage.execute.environment_guard import changed_by
from mileage.judge import CellVerdict, Comparison
from mileage.judge.audit import Audit, RunFacts, audit
from mileage.judge.disturbance import disturbances
from mileage.judge.steady_state import drift
from mileage.model.caveat import veto
from mileage.model.journal_entries import FailedRun, Look, StageKey
from mileage.model.metrics import QUANTILES, MetricWord
from mileage.plan import Plan
from mileage.plan.quantiles import BEYOND_MIN, quantile_is_supported
from mileage.report import ValidityCheck
from mileage.report.audit_words import audit_words
from mileage.report.quantity import duration
from mileage.report.sentence import design_words
from mileage.report.view import CheckState
from mileage.report.wording import counted
from mileage.store import skipped_runs
from mileage.store.environment import key_of, weighty
from mileage.store.journal import JournalContent

Environment = dict[str, str]


RUN_MIN_S: Final = 60.0
"""Seconds below which a run may have seen only what a device does at first: a cache that fills, spare space."""


def checks_of(
    plan: Plan,
    content: JournalContent,
    found: JournalReading,
    changes: Sequence[tuple[str, str, Environment, Environment]],
    comparison: Comparison,
    aa: tuple[Sequence[CellVerdict], Sequence[CellVerdict]] | None,
) -> list[ValidityCheck]:
    """Every check of a study that compares.

    `found`: what was read of its runs. `changes`: where a key of the environment changed, the line about it, and the
    two snapshots. `aa`: of the baseline measured twice the tests that were judged, and those that differ.
    """
    failed = len(content.of_kind(FailedRun))
    needed = len(plan.runs) - skipped_runs(content)
    missing = needed - found.runs
    blocks = comparison.units_baseline if comparison.unit == "block" else 0
    repeated = plan.study.cycles >= 3 or blocks >= 5
    few = comparison.descriptive and comparison.kind == "stages"
    more = ", of this device only: 3 cycles or more show whether it repeats" if few else ""
    checks = [
        ValidityCheck("design", "ok" if repeated else "warn", design_words(comparison) + more),
        ValidityCheck(
            "runs",
            "ok" if not (missing or failed) else "bad" if missing else "warn",
            f"{found.runs} of {needed} finished" + (f", {failed} failed and repeated" if failed else ""),
        ),
    ]
    checks += [ValidityCheck("DNF", "bad", line.removeprefix("DNF: ")) for line in unfinished_lines(content)]
    virtual = all(facts.virtual for facts in (plan.facts, *plan.others.values()))
    checks += [
        _length_check(found.lasted_s, virtual=virtual),
        *percentile_checks(found.counts),
        *_repetition_checks(content),
    ]
    tortured = any(stage.torture for stage in plan.study.stage)
    if tortured:
        removed = "subtracted" if comparison.sham_removed else "not part of this comparison"
        statement = (
            f"the same stages with idling in place of the stress; its change is {removed}"
            if plan.study.sham
            else "none, so what time alone does is not known"
        )
        checks.append(ValidityCheck("idle control", "ok" if plan.study.sham else "warn", statement))
    checks += _audit_checks(plan, found.facts)
    checks += [ValidityCheck(one.name, one.state, audit_words(one)) for one in disturbances(found.watched)]
    if tortured:
        checks.append(_steady_check(found.written))
    checks += level_checks(found.courses)
    # Before a torture a fresh drive is intended, so erased blocks are no fault there.
    judged = [comparison.candidate] if tortured and comparison.kind == "stages" else measured_stages(plan)
    checks += state_checks(plan, found.courses, judged)
    checks += _until_checks(plan, content)
    if aa is not None:
        checks.append(_aa_check(*aa))
    return [*checks, *assumption_checks(plan), _environment_check(plan, changes)]


def _aa_check(tested: Sequence[CellVerdict], off: Sequence[CellVerdict]) -> ValidityCheck:
    """Check the baseline that was measured twice: a difference between the two is a false alarm."""
    if not tested:
        return ValidityCheck("A/A", "unknown", "the baseline was not measured twice often enough to compare")
    worst = max(tested, key=lambda cell: abs((cell.ratio or 1.0) - 1.0))
    largest = f"largest difference {(worst.ratio or 1.0) - 1.0:+.1%} ({worst.cell})"
    if off:
        differ = f"{len(off)} of {len(tested)} cells of the baseline differ from themselves"
        return ValidityCheck("A/A", "bad", f"{differ}; {largest}")
    return ValidityCheck("A/A", "ok", f"the baseline measured twice does not differ from itself; {largest}")


def _length_check(lasted: Sequence[tuple[float, str]], *, virtual: bool) -> ValidityCheck:
    """Check whether measured runs are long enough to average rare events of a device.

    Simulated time has no noise of a machine to average.
    """
    if not lasted:
        return ValidityCheck("run length", "unknown", "no run was measured")
    shortest_s, cell = min(lasted)
    text = f"shortest run {duration(1e9 * shortest_s)} ({cell})"
    if virtual:
        return ValidityCheck("run length", "ok", f"{text}; simulated time has no noise to average")
    if shortest_s >= RUN_MIN_S:
        return ValidityCheck("run length", "ok", text)
    short = sum(time_s < RUN_MIN_S for time_s, _ in lasted)
    which = f"all {short:,}" if short == len(lasted) else f"{short:,} of {len(lasted):,}"
    rule = f"{which} runs are shorter than {RUN_MIN_S:g} s, and short runs are more sensitive to noise"
    whole = duration(1e9 * sum(max(time_s, RUN_MIN_S) for time_s, _ in lasted))
    advice = f'set stop.at_least = "{RUN_MIN_S:g} s": all {len(lasted):,} runs then take {whole}'
    return ValidityCheck("run length", "warn", f"{text}; {rule} ({advice})")


def percentile_checks(every: Sequence[tuple[MetricWord, int, str]]) -> list[ValidityCheck]:
    """Check whether each judged quantile of each run has enough operations beyond it.

    `every`: the metric, its operations in a run, and the cell.
    """
    found = []
    for row in QUANTILES.values():
        counts = [(count, cell) for word, count, cell in every if word == row.word]
        if not counts:
            continue
        fewest, cell = min(counts)
        name = row.word.replace("_", " ")
        statement = f"at least {counted(fewest, row.unit)} in each run ({cell})"
        short = sum(not quantile_is_supported(count, row.quantile) for count, _ in counts)
        if short:
            rule = f"fewer than {BEYOND_MIN} are slower than the {name}, which is then not judged"
            statement += f"; in {short} of {len(counts)} runs {rule}"
        found.append(ValidityCheck(name, "warn" if short else "ok", statement))
    return found


def _repetition_checks(content: JournalContent) -> list[ValidityCheck]:
    """Check the precision that tables with "repeat until precise" reached, from the last decision of each cycle."""
    last = {(*look.stage_key, look.table): look for look in content.of_kind(Look) if look.rule == "precision"}
    widths = [(look.half_width, look) for look in last.values() if look.half_width is not None]
    if not widths:
        return []
    width, look = max(widths, key=lambda pair: pair[0])
    reached = sum(found.enough for found in last.values())
    statement = (
        f"precise enough in {reached} of {len(last)}; {look.table} to +-{width:.2%} at worst (asked for "
        f"+-{look.precision:.2%}), where a difference of {look.detectable:.2%} would be found in 80 % of cases"
    )
    return [ValidityCheck("repetition", "ok" if reached == len(last) else "warn", statement)]


def _until_checks(plan: Plan, content: JournalContent) -> list[ValidityCheck]:
    """Check whether rounds of writing that should end in a steady state did so, by table."""
    last: dict[str, dict[tuple[StageKey, int], Look]] = {}
    for look in content.of_kind(Look):
        if look.rule != "precision":
            last.setdefault(look.table, {})[look.stage_key, look.setting] = look
    checks = []
    for table, found in last.items():
        reached = [look.times for look in found.values() if look.enough]
        most = plan.study.torture[table].rounds
        statement = f"{table} steady in {len(reached)} of {len(found)}"
        statement += f", after {min(reached)} to {max(reached)} rounds" if reached else ""
        statement += "" if len(reached) == len(found) else f"; not reached in {most} rounds in the others"
        state: CheckState = "ok" if len(reached) == len(found) else "warn"
        rule = next(iter(found.values())).rule
        checks.append(ValidityCheck("SNIA steady" if rule == "pts-steady" else "steady", state, statement))
    return checks


def grave_changes(plan: Plan, changes: Sequence[tuple[str, str, Environment, Environment]]) -> list[str]:
    """The changes that make runs incomparable, each once. Simulated time depends on no machine, and has none."""
    if plan.facts.virtual:
        return []
    own = changed_by(plan)
    grave = [
        line
        for _, line, before, after in changes
        if key_of(line) not in own and weighty(key_of(line), before, after)
    ]
    return list(dict.fromkeys(grave))


def _environment_check(
    plan: Plan, changes: Sequence[tuple[str, str, Environment, Environment]]
) -> ValidityCheck:
    """Grave changes make runs incomparable; a reboot or a changed setting is reported."""
    if not changes:
        return ValidityCheck("environment", "ok", "unchanged")
    grave = grave_changes(plan, changes)
    noted = grave or list(dict.fromkeys(line for _, line, *_ in changes))
    more = f" (and {len(noted) - 1} more)" if len(noted) > 1 else ""
    return ValidityCheck("environment", "bad" if grave else "warn", f"{noted[0]}{more}")


def _steady_check(tortures: Mapping[int, Sequence[int]]) -> ValidityCheck:
    """Check whether the torture had reached its final level: the last half of each cycle's last run."""
    judged = []
    for whole in tortures.values():
        written = whole[:-1]
        rounds = written[len(written) // 2 :]
        if any(rounds) and (found := drift(rounds)).state != "too short":
            judged.append((found, len(rounds)))
    if not judged:
        return ValidityCheck("steady state", "unknown", "the torture was too short to judge")
    steady = sum(found.state == "steady" for found, _ in judged)
    worst, intervals = max(judged, key=lambda pair: abs(pair[0].per_20_rounds))
    state: CheckState = "ok" if steady == len(judged) else "warn"
    statement = (
        f"the write rate of the last half of the torture's last run is level in {steady} of {len(judged)} cycles: in "
        f"{intervals} equal intervals of time its trend is {_signed(worst.per_20_rounds)} per 20 intervals"
        f"{' at most' if len(judged) > 1 else ''}"
    )
    return ValidityCheck("steady state", state, statement)


def _signed(share: float) -> str:
    """A share in percent with its sign, and without one where it rounds to nothing."""
    statement = f"{share:+.1%}"
    return statement[1:] if float(statement[:-1]) == 0 else statement


def _audit_checks(plan: Plan, facts: Sequence[RunFacts]) -> list[ValidityCheck]:
    found = {
        entry.name: ValidityCheck(entry.name, entry.state, audit_words(entry))
        for entry in audits(plan, facts)
    }
    if plan.facts.virtual:
        found["memory"] = ValidityCheck("memory", "ok", "simulated drive: nothing is served from memory")
        found["interference"] = ValidityCheck(
            "interference", "ok", "simulated time: the host cannot disturb it"
        )
    return list(found.values())


def audits(plan: Plan, facts: Sequence[RunFacts]) -> tuple[Audit, ...]:
    """The audits of a study's measured runs."""
    found = audit(facts, direct=plan.facts.direct_supported)
    others = [target for target in (plan.facts, *plan.others.values()) if target.memory_file_system]
    if not others:
        return found
    target, file_system = str(others[0].name), str(others[0].memory_file_system)
    bypasses = any(run.bypasses for run in facts)
    memory = Audit(
        name="memory",
        state="bad" if bypasses else "warn",
        kind="memory-file-system",
        figures={"target": target, "file_system": file_system},
        veto=veto("memory-file-system", target=target, file_system=file_system) if bypasses else None,
    )
    return tuple(memory if one.name == "memory" else one for one in found)
