"""A study from end to end: the one place where plan, target, record, execute, judge and report meet.

The command line and the public functions of `mileage` are thin faces of this module.
"""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from mileage.doing import check_built, check_commands, do, facts_of_all, traces_of
from mileage.errors import MileageError, Refused, RunFailed
from mileage.execute import Progress, Silent, cycles_at_once, unfinished_lines
from mileage.judge import Comparison, Sample, compare_arms, compare_stages
from mileage.judge.grid import Rank, ranking
from mileage.judge.history import STUDIES_MIN, Change, changes
from mileage.plan import (
    WORKLOADS,
    Plan,
    Study,
    TargetFacts,
    builtin_names,
    builtin_text,
    parse_study,
    resolve,
)
from mileage.plan.factors import kind_of
from mileage.plan.lines import located
from mileage.record import StudyFolder, left_out, sample_rows, write_tables
from mileage.report import StudyView
from mileage.sessions import session_now

DEFAULT_STUDY = "degradation"


def _read_study(name: str) -> Study:
    """A built-in study by name, or a study file by path."""
    if name in builtin_names():
        return parse_study(builtin_text(name), name)
    text = _study_text(name)
    try:
        return parse_study(text, name)
    except Refused as refusal:
        raise Refused(located(str(refusal), name, text, name)) from None


def _study_text(name: str) -> str:
    path = Path(name)
    if not path.is_file():
        known = ", ".join(builtin_names())
        raise Refused(
            f"{name} is neither a built-in study ({known}) nor a study file; see `mileage list studies`"
        )
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as cause:
        raise Refused(f"{name} cannot be read as a study file: {cause}") from cause


def plan(
    study: str | None = None,
    *,
    target: str | None = None,
    quick: bool = False,
    seed: int | None = None,
    destroy: str | None = None,
) -> Plan:
    """Resolve a study on its target; nothing is written.

    Raises:
        Refused: the study, the target or the two together are not possible; one line says why and what to do.
    """
    wanted = _read_study(study or DEFAULT_STUDY)
    if target is not None:
        wanted = _on_target(wanted, target)
    named = Path(study) if study is not None and study not in builtin_names() else None
    traces = traces_of(wanted, named.parent if named else None)
    try:
        facts = _facts(wanted, destroy)
        first, *rest = facts
        others = {name: facts[name] for name in rest}
        resolved = resolve(wanted, facts[first], quick=quick, seed=seed, traces=traces, others=others)
        return check_built(resolved)
    except Refused as refusal:
        if named is None:
            raise
        raise Refused(located(str(refusal), wanted.name, _study_text(str(named)), str(named))) from None


def _facts(study: Study, destroy: str | None) -> dict[str, TargetFacts]:
    """The facts of every target. Raises Refused; of a target that a factor names, with the factor's path."""
    try:
        return facts_of_all(study, destroy)
    except Refused as refusal:
        for name, factor in study.factor.items():
            if kind_of(name, factor) in ("target", "profile"):
                raise Refused(f"{study.name}: factor.{name}: {refusal}") from None
        raise


def _on_target(study: Study, target: str) -> Study:
    """The study with another target than its own. Raises Refused when a factor names its targets."""
    for name, factor in study.factor.items():
        if kind_of(name, factor) == "target":
            raise Refused(
                f"--target {target}: factor.{name} of {study.name} names its targets; leave --target out"
            )
    return msgspec.structs.replace(study, target=target)


def run(
    study: str | None = None,
    *,
    target: str | None = None,
    quick: bool = False,
    out: Path | str | None = None,
    seed: int | None = None,
    destroy: str | None = None,
    labels: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    accept_change: bool = False,
    allow_commands: bool = False,
) -> StudyResult:
    """Run a study to its end and write its report; goes on where `out` (or `study`) is an unfinished study folder.

    `labels`: at which level of each label of the study this machine is now; only the runs of those levels are done.
    `accept_change`: goes on although kernel, firmware, scheduler, mount or memory changed; the journal tells.
    `allow_commands`: the programs that the study names may be run.

    Raises:
        Refused: as :func:`plan`, or the folder cannot be used.
        RunFailed: a run failed; calling this again on the folder goes on.
    """
    tell = progress or Silent()
    folder, resolved = _folder_and_plan(
        study, target, quick, out, seed, destroy, labels or {}, allow_commands=allow_commands
    )
    tell.note(f"study folder: {folder.path}")
    session = session_now(resolved, labels or {})
    here = shlex.quote(str(folder.path))
    try:
        left = do(
            resolved,
            folder,
            destroy,
            tell,
            command=_command(study, resolved, quick),
            session=session,
            accept_change=accept_change,
        )
        result = StudyResult(folder, resolved)
        result.write_report()
    except (MileageError, OSError) as error:
        tell.note(f"to go on: mileage run {here}{_label_options(session)}")
        if isinstance(error, OSError):
            raise RunFailed.from_os_error(f"writing the study folder {folder.path}", error) from error
        raise error
    for other in left:
        tell.note(f"left at {other}: mileage run {here}{_label_options(other)}")
    return result


def time_left(study: str) -> tuple[float, int, int] | None:
    """Seconds left of an unfinished study in a folder, runs done and runs needed; None when it is no study folder."""
    if not Path(study, "plan.json").is_file():
        return None
    from mileage.plan.estimate import remaining_s
    from mileage.record.spent import spent_s

    folder = StudyFolder.open(Path(study))
    resolved, content = _load_plan(folder), folder.content()
    needed = len(resolved.runs) - left_out(content)
    done = len(content.of_kind("run"))
    lanes = cycles_at_once(resolved)
    finished = bool(content.of_kind("end"))
    return (0.0 if finished else remaining_s(resolved, spent_s(content), lanes=lanes)), done, needed


def _label_options(session: str) -> str:
    return "".join(f" --label {shlex.quote(part)}" for part in session.split(", ") if part)


def _command(study: str | None, resolved: Plan, quick: bool) -> str:
    """The command that repeats a new study."""
    parts = ["mileage", "run", study or DEFAULT_STUDY]
    if not any(kind_of(name, factor) == "target" for name, factor in resolved.study.factor.items()):
        parts += ["--target", resolved.target]
    parts += ["--seed", str(resolved.study.seed)]
    return shlex.join(parts + (["--quick"] if quick else []))


def _folder_and_plan(
    study: str | None,
    target: str | None,
    quick: bool,
    out: Path | str | None,
    seed: int | None,
    destroy: str | None,
    labels: Mapping[str, str],
    *,
    allow_commands: bool,
) -> tuple[StudyFolder, Plan]:
    """The folder to work in and its plan: an unfinished study's own, or a new one."""
    given = Path(out) if out is not None else None
    unfinished = study if study and Path(study, "plan.json").is_file() else None
    if unfinished is None and given is not None and (given / "plan.json").is_file():
        unfinished = str(given)
    if unfinished is None:
        resolved = plan(study, target=target, quick=quick, seed=seed, destroy=destroy)
        session_now(resolved, labels)
        check_commands(resolved, allowed=allow_commands)
        path = given or _fresh_path(resolved.study.name)
        return StudyFolder.create(path, resolved.to_toml(), resolved.to_json().encode()), resolved
    folder = StudyFolder.open(Path(unfinished))
    resolved = _load_plan(folder)
    check_commands(resolved, allowed=allow_commands)
    asked = {"target": target, "seed": seed, "quick": quick or None}
    if any(value is not None for value in asked.values()) or (
        study and study != unfinished and given is not None
    ):
        again = plan(study or resolved.study.name, target=target, quick=quick, seed=seed, destroy=destroy)
        if again.hash != resolved.hash:
            raise Refused(
                f"{folder.path} holds another study (plan {resolved.hash[:16]}, asked for {again.hash[:16]}); "
                "resume it without further options, or name a new --out"
            )
    return folder, resolved


def _load_plan(folder: StudyFolder) -> Plan:
    try:
        return msgspec.json.decode(folder.plan_json.read_bytes(), type=Plan)
    except (msgspec.DecodeError, OSError) as cause:
        raise Refused(
            f"{folder.plan_json} is damaged ({cause}); start the study anew in another folder"
        ) from cause


def _fresh_path(name: str) -> Path:
    number = 1
    while Path(f"mileage-{name}-{number}").exists():
        number += 1
    return Path(f"mileage-{name}-{number}")


class StudyResult:
    """A study folder and what can be asked of it."""

    def __init__(self, folder: StudyFolder, resolved: Plan) -> None:
        """Join a folder with its plan; reads nothing yet."""
        self.folder = folder
        self.plan = resolved
        self._read_bytes = -1
        self._samples: list[Sample] | None = None
        self._view: StudyView | None = None

    def _look(self) -> None:
        """Forget what was read when the journal has grown since."""
        journal = self.folder.journal
        size = journal.stat().st_size if journal.exists() else 0
        if size != self._read_bytes:
            self._samples = self._view = None
            self._read_bytes = size

    def samples(self) -> list[Sample]:
        """Every measured value, ordered by run."""
        self._look()
        if self._samples is None:
            names = {field.name for field in msgspec.structs.fields(Sample)}
            rows = sample_rows(self.folder.content())
            self._samples = [
                Sample(**{key: value for key, value in row.items() if key in names}) for row in rows
            ]
        return self._samples

    def comparison(self) -> Comparison:
        """The comparison that the study's plan asks for."""
        from mileage.comparing import comparison_of
        from mileage.lamps import audits

        content = self.folder.content()
        needed = len(self.plan.runs) - left_out(content)
        missing = needed - len(content.of_kind("run"))
        vetoes = [f"{missing} of {needed} runs are missing"] if missing else []
        vetoes += unfinished_lines(content)
        vetoes += [found.veto for found in audits(self.plan, content.runs()) if found.veto is not None]
        return comparison_of(self.plan, self.samples(), vetoes)

    def view(self) -> StudyView:
        """What the report shows."""
        from mileage.comparing import aa_audit, standings_of
        from mileage.view import study_view

        self._look()
        if self._view is None:
            samples = self.samples()
            aa, places = aa_audit(self.plan, samples), standings_of(self.plan, samples)
            self._view = study_view(self.plan, self.folder, self.comparison(), aa, places)
        return self._view

    def table(self, name: str) -> Any:
        """One of the tables `samples`, `series`, `latency` and `counters`, or `studies`, as a DuckDB relation.

        `.arrow()`, `.fetchnumpy()` and `.df()` of it give it to Arrow, NumPy and pandas. It is up to date with the
        journal, also while the study runs.

        Raises:
            Refused: there is no such table.
        """
        from mileage.record.query import Query

        return Query([self.folder.path]).table(name)

    @property
    def compares(self) -> bool:
        """Whether at least two stages were measured, so that there is something to compare."""
        return self.plan.study.baseline is not None

    def text(self, width: int = 80) -> str:
        """The verdict, or what was measured where nothing is compared, in lines of at most `width` columns."""
        from mileage.report import render_text
        from mileage.report.measured import measured_text
        from mileage.report.setting import labels_of, setting_text
        from mileage.view import measured_page

        if self.compares:
            return render_text(self.view(), width)
        page = measured_page(self.plan, self.folder)
        told = "".join("\n".join(textwrap.wrap(line, width)) + "\n" for line in page.unfinished)
        if not page.cells:
            return told + "No run was measured.\n"
        labels = labels_of([cell.label for cell in self.plan.cells])
        return (
            told
            + setting_text(self.plan, width)
            + "\n"
            + measured_text(page.cells, [labels[c.cell] for c in page.cells])
        )

    def write_report(self) -> None:
        """Write the tables, the figures and the page into the study folder."""
        from mileage.inside import inside
        from mileage.report import render_html, write_figures
        from mileage.report.measured_page import write_measured
        from mileage.report.tables import rows_csv
        from mileage.report.tables import write_tables as write_csv
        from mileage.view import measured_page

        write_tables(self.folder.content(), self.folder.path)
        if not self.compares:
            write_measured(measured_page(self.plan, self.folder), self.folder.report, self.folder.tables)
            return
        view = self.view()
        self.folder.figures.mkdir(exist_ok=True)
        write_figures(view, self.folder.figures)
        self.folder.tables.mkdir(exist_ok=True)
        write_csv(view.comparison, self.folder.tables, view.standings)
        within = inside(self.plan, self.folder.content().runs())
        if within:
            (self.folder.tables / "within.csv").write_text(rows_csv(within), encoding="utf-8")
        self.folder.report.write_text(render_html(view), encoding="utf-8")


def load(folder: Path | str) -> StudyResult:
    """Open a study folder, finished or not.

    Raises:
        Refused: it is none.
    """
    found = StudyFolder.open(Path(folder))
    return StudyResult(found, _load_plan(found))


def compare(a: str, b: str, *, stage: str | None = None) -> Comparison:
    """Compare two stages of one study (`FOLDER:STAGE` twice), or one stage of two studies.

    Raises:
        Refused: a folder or a stage does not exist, or the two have no cell in common.
    """
    from mileage.comparing import tortured_between

    (first, first_stage), (second, second_stage) = _stage_of(a, stage), _stage_of(b, stage)
    relevance = msgspec.structs.asdict(first.plan.study.compare.relevance)
    if first.folder.path.resolve() == second.folder.path.resolve():
        if first_stage == second_stage:
            raise Refused(
                f"{a} and {b} are the same stage; name two stages, such as {a}:before and {a}:after"
            )
        return compare_stages(
            first.samples(),
            baseline=first_stage,
            candidate=second_stage,
            relevance=relevance,
            tortured=tortured_between(first.plan, first_stage, second_stage),
        )
    left = [s for s in first.samples() if s.stage == first_stage and s.arm == "torture"]
    right = [s for s in second.samples() if s.stage == second_stage and s.arm == "torture"]
    common = {s.cell for s in left} & {s.cell for s in right}
    if not common:
        raise Refused(f"{a} ({first_stage}) and {b} ({second_stage}) have no measured cell in common")
    return compare_arms(
        [s for s in left if s.cell in common],
        [s for s in right if s.cell in common],
        relevance=relevance,
        paired=False,
        labels=_labels((first.folder.path, first_stage), (second.folder.path, second_stage)),
    )


def _labels(a: tuple[Path, str], b: tuple[Path, str]) -> tuple[str, str]:
    """`FOLDER:STAGE` for two stages, each with as few of its parent folders as tell the two apart."""
    left, right = a[0].resolve().parts, b[0].resolve().parts
    depth = next(n for n in range(1, max(len(left), len(right)) + 1) if left[-n:] != right[-n:])
    return f"{Path(*left[-depth:])}:{a[1]}", f"{Path(*right[-depth:])}:{b[1]}"


def rank(studies: Sequence[str], *, stage: str | None = None) -> dict[str, tuple[Rank, ...]]:
    """For each cell that all studies measured, in the headline metric: the studies by rate, with ties.

    Raises:
        Refused: a folder or a stage does not exist, or no cell was measured in all of them.
    """
    measured = _measured(studies, stage)
    cells = [cell for cell in measured[0][1] if all(cell in values for _, values in measured)]
    if not cells:
        raise Refused(f"{', '.join(studies)} have no measured cell in common")
    try:
        return {cell: ranking({name: values[cell] for name, values in measured}) for cell in cells}
    except ValueError as cause:
        raise Refused(str(cause)) from cause


def history(studies: Sequence[str], *, stage: str | None = None) -> tuple[Change, ...]:
    """Where a target's level changed over studies of it, given in the order in which they were made.

    Raises:
        Refused: fewer than six studies, or as :func:`rank`.
    """
    if len(studies) < 2 * STUDIES_MIN:
        raise Refused(f"{len(studies)} studies: a history needs {2 * STUDIES_MIN} or more")
    measured = _measured(studies, stage)
    cells = [cell for cell in measured[0][1] if all(cell in values for _, values in measured)]
    if not cells:
        raise Refused(f"{', '.join(studies)} have no measured cell in common")
    try:
        return changes({cell: [median(values[cell]) for _, values in measured] for cell in cells})
    except ValueError as cause:
        raise Refused(str(cause)) from cause


def _measured(studies: Sequence[str], stage: str | None) -> list[tuple[str, dict[str, list[float]]]]:
    """Of each study the runs of each cell in its rate (bytes or operations per second), torture arm."""
    if len(set(studies)) < len(studies):
        raise Refused("a study is named twice; name each once")
    found = []
    for text in studies:
        result, name = _stage_of(text, stage)
        values: dict[str, list[float]] = {}
        for sample in result.samples():
            wanted = "ops_per_s" if sample.measure == "iops" else "rate_bytes_per_s"
            if (sample.stage, sample.arm, sample.metric) == (name, "torture", wanted):
                values.setdefault(sample.cell, []).append(sample.value)
        found.append((text, values))
    return found


def _stage_of(text: str, stage: str | None) -> tuple[StudyResult, str]:
    path, named = text, stage
    if not Path(text).exists() and ":" in text:
        path, named = text.rsplit(":", 1)
    result = load(path)
    measured = list(dict.fromkeys(run.stage for run in result.plan.runs if run.role == "measure"))
    if named is None:
        return result, measured[-1]
    if named not in measured:
        raise Refused(f"{path} has no measured stage {named!r}; expected one of {', '.join(measured)}")
    return result, named


def listing(what: str) -> list[dict[str, Any]]:
    """Names and titles of the built-in `studies`, `workloads`, `drives` or `tortures`."""
    return _LISTINGS[what]()


def listing_of(places: Sequence[Path]) -> list[dict[str, Any]]:
    """The study folders among and below some places: name (the folder), title, and the columns of table `studies`.

    Raises:
        Refused: a place holds none.
    """
    from mileage.record.query import study_folders, study_row

    rows = [study_row(folder) for folder in study_folders(places)]
    return [{"name": row["folder"], "title": _told(row), **row} for row in rows]


def _told(row: dict[str, Any]) -> str:
    state = "finished" if row["finished"] else f"{row['runs']} of {row['runs_planned']} runs"
    return f"{row['study']} on {row['target']}, {state}, {row['started'] or 'not begun'}"


def _studies() -> list[dict[str, Any]]:
    return [
        {"name": name, "title": parse_study(builtin_text(name), name).question} for name in builtin_names()
    ]


def _workloads() -> list[dict[str, Any]]:
    return [{"name": name, "title": named.title} for name, named in WORKLOADS.items()]


def _tortures() -> list[dict[str, Any]]:
    from mileage.plan.profiles import TITLES

    return [{"name": name, "title": title} for name, title in TITLES.items()]


def _drives() -> list[dict[str, Any]]:
    from mileage import _core
    from mileage.target.profiles import drive_names, load_profile

    return [{"name": name, "title": _core.drive_title(load_profile(name))} for name in drive_names()]


_LISTINGS: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "studies": _studies,
    "workloads": _workloads,
    "drives": _drives,
    "tortures": _tortures,
}
