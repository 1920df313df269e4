"""Check a study by all rules that do not depend on its target.

Scope: names, ranges, references between tables, sizes and times that can be read.
What it refuses: every rule that is broken, with its path, and by name what this version does not do: states other than
"purged" and "kept". What only follows from another fault is not reported.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Final

import msgspec

from mileage.errors import Refusal
from mileage.model.metrics import METRICS
from mileage.model.target_kind import capabilities_of
from mileage.plan import sizes
from mileage.plan.conversion import mismatch_of, with_ranges_checked
from mileage.plan.custom_workloads import how_in, own_workloads
from mileage.plan.factors import (
    DEVICE_STATE,
    KINDS,
    STATE_LEVELS,
    again,
    at_setting,
    excluded,
    key_of,
    kind_of,
    named_levels,
    settings_of,
)
from mileage.plan.families import find_workloads
from mileage.plan.faults import Faults, is_below, join, steps_of
from mileage.plan.initial_state import check_state
from mileage.plan.io_options import HOW_KEYS, IoOptions, check_how
from mileage.plan.named_workloads import NamedWorkload
from mileage.plan.profiles import PROFILES
from mileage.plan.study import (
    PURGE_EACH,
    REPORT_LEVELS,
    WORKLOAD_ARMS,
    Apart,
    Compare,
    Factor,
    Level,
    Measure,
    OwnWorkload,
    Repeat,
    Stage,
    State,
    Study,
    Torture,
    listed,
)
from mileage.plan.value_checks import SESSION_NAME_MAX, ValueChecks, is_session_name

STAGES_MAX: Final = 100
LIST_MAX: Final = 1000
"""Members of a list, and tables of a kind, at most."""
NOTES_MAX: Final = 50
NOTE_NAME_MAX: Final = 60
NOTE_MAX: Final = 500
"""Notes of a study at most; characters of the name of one, and of its text."""

_STUDY_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_ACTIONS: Final = ("measure", "torture", "prepare", "idle")
_STARTS: Final = ("purged", "kept")
_UNTIL: Final = {"pts-steady": 5, "steady": 20}
"""Rules that end rounds, and the rounds that they need."""
VARIED: Final = (*(key for key in HOW_KEYS if key not in ("pin", "log")), "span", "span_start")
"""Keys of a measure that may have levels in `vary`; record, threads, depth and workload take a list themselves."""


def check_study(study: Study, source: str, faults: Faults | None = None) -> None:
    """Raise BrokenStudy with all that makes no sense on any target; `faults` has those that are known already."""
    faults = faults or Faults(source)
    _Check(with_ranges_checked(study, faults), faults).everything()
    faults.refuse_any()


def blocks_of(repeat: int | Repeat) -> int:
    """Highest number of randomised blocks that a `repeat` asks for."""
    return repeat if isinstance(repeat, int) else repeat.max or repeat.min


class _Check(ValueChecks):
    def __init__(self, study: Study, faults: Faults) -> None:
        super().__init__(faults)
        self.study = study
        self.own: dict[str, NamedWorkload] = {}
        self.meant: set[str] = set()
        """Names that were probably meant where an unknown one stands."""

    def everything(self) -> None:
        self.head()
        self.tables()
        if self.study.factor:
            self.factors()
        else:
            self.design()
            self.state(self.study.state)
            for name, measure in self.study.measure.items():
                self.measure(join("measure", name), measure)
            for name, torture in self.study.torture.items():
                self.torture(join("torture", name), torture)
        self.stages()
        self.unused()
        self.compare(self.study.compare)
        if self.study.apart is not None:
            self.apart(self.study.apart)

    def workloads(self, path: str, words: str) -> tuple[NamedWorkload, ...]:
        """The workloads that a word stands for; none where it cannot be known."""
        if self.faults.is_marked(path) or self.faults.is_marked(join("workload", words)):
            return ()
        found: tuple[NamedWorkload, ...] = ()
        with self.faults.collected():
            found = find_workloads(words, self.study.target, self.faults.source, path, self.own)
        return found

    def head(self) -> None:
        study = self.study
        if not _STUDY_NAME.fullmatch(study.name):
            self.refuse(
                "name",
                found=f"{study.name!r}",
                expected="letters, digits, '.', '-' and '_', at most 80",
                code="wrong-value",
            )
        for path, text in (("question", study.question), ("target", study.target)):
            if not text.isprintable():
                self.refuse(
                    path,
                    found=f"{text!r}",
                    expected="one line without control characters",
                    code="wrong-value",
                )
        if study.session and not is_session_name(study.session):
            self.refuse(
                "session",
                found=f"{study.session!r}",
                expected=f"one line of at most {SESSION_NAME_MAX} characters",
                code="wrong-value",
            )
        self.notes()
        self.word("on_failure", study.on_failure, ("dnf", "stop"))
        if study.report is not None:
            self.word("report", study.report, REPORT_LEVELS)
        if study.scale is not None:
            self.reads("scale", partial(sizes.scale_divisor, study.scale))
        self.word("state.on_change", study.state.on_change, ("stop", "mark"))

    def notes(self) -> None:
        self.limit("notes", len(self.study.notes), NOTES_MAX, "notes")
        for key, text in self.study.notes.items():
            for what, length in ((key, NOTE_NAME_MAX), (text, NOTE_MAX)):
                if not what.strip() or not what.isprintable() or len(what) > length:
                    self.refuse(
                        join("notes", key),
                        found=f"{what!r}",
                        expected=f"one line of at most {length} characters",
                        code="wrong-value",
                    )

    def tables(self) -> None:
        """Names of tables, and lists short enough to be looked at."""
        study = self.study
        groups = (("workload", study.workload), ("measure", study.measure), ("torture", study.torture))
        for group, tables in groups:
            self.limit(group, len(tables), LIST_MAX, "tables")
            for name, table in tables.items():
                self.named(group, name)
                self.lists(join(group, name), table)
        self.filled("stage", study.stage, "[[stage]]")
        self.limit("stage", len(study.stage), STAGES_MAX, "stages")
        for index, stage in enumerate(study.stage):
            self.lists(f"stage[{index}]", stage)
        self.own = own_workloads(study, self.faults)

    def factors(self) -> None:
        """Rules of the factors, then every level: the study as it is at that level, the others at their first."""
        study = self.study
        for name in study.factor:
            self.named("factor", name)
        self.design()
        wrong = [fault.where for fault in self.faults.found]
        factors = {
            name: found
            for name, factor in study.factor.items()
            if not any(key == path or is_below(key, path) for path in [join("factor", name)] for key in wrong)
            if (found := self.readable(name, factor)).named
        }
        first = {name: next(iter(factor.named)) for name, factor in factors.items()}
        at_first = self.at_levels(factors, first)
        for fault in at_first:
            steps = steps_of(fault.where)
            changing = [name for name, factor in factors.items() if key_of(name, factor) in steps]
            # A fault that no factor changes is reported without a level, as in a study without factors.
            if changing:
                self.at_level(fault, changing[0], first[changing[0]])
            else:
                self.faults.add_refusal(fault)
        for name, factor in factors.items():
            for level in list(factor.named)[1:]:
                for fault in self.at_levels(factors, {**first, name: level}):
                    if fault not in at_first:
                        self.at_level(fault, name, level)

    def at_level(self, fault: Refusal, name: str, level: str) -> None:
        self.faults.add_refusal(
            Refusal(f"{join('factor', name)}.levels", text=f"level {level!r}: {fault.words}", code=fault.code)
        )

    def readable(self, name: str, factor: Factor) -> Factor:
        """A factor with those of its levels that have the type of what they change; the others are reported."""
        found = {}
        for level, value in factor.named.items():
            try:
                self.at_levels({name: factor}, {name: level}, check=False)
            except msgspec.ValidationError as error:
                wrong = mismatch_of(error, State if kind_of(name, factor) == "state" else Measure).refusal(
                    "", value
                )
                self.at_level(wrong, name, level)
            else:
                found[level] = value
        return msgspec.structs.replace(factor, levels=found)

    def at_levels(
        self, factors: Mapping[str, Factor], picked: Mapping[str, str], *, check: bool = True
    ) -> tuple[Refusal, ...]:
        """The faults of the study at one level of each factor. Raises ValidationError for one of the wrong type."""
        alone = {
            name: msgspec.structs.replace(factor, levels={picked[name]: factor.named[picked[name]]})
            for name, factor in factors.items()
        }
        compare = msgspec.structs.replace(self.study.compare, arms="stage", baseline=None, candidate=None)
        one = msgspec.structs.replace(
            self.study, factor=alone, exclude=(), aa=False, compare=compare, apart=None
        )
        study = at_setting(one, settings_of(one)[0])
        faults = self.faults.fresh()
        if check:
            with faults.collected():
                _Check(study, faults).everything()
        return faults.found

    def design(self) -> None:
        for fault in factor_problems(self.study):
            self.faults.add_refusal(fault)

    def lists(self, path: str, table: OwnWorkload | Measure | Torture | Stage) -> None:
        for field in table.__struct_fields__:
            value = getattr(table, field)
            if isinstance(value, tuple):
                self.limit(f"{path}.{field}", len(value), LIST_MAX, "entries")

    def state(self, state: State) -> None:
        if state.start not in _STARTS:
            known = ", ".join(f'"{start}"' for start in _STARTS)
            self.refuse(
                "state.start",
                f"{state.start!r} is not supported yet",
                advice=f"this version knows {known}",
                code="not-built",
            )
        if state.start == "kept" and not capabilities_of(self.study.target).in_place:
            self.refuse(
                "state.start",
                '"kept" needs a file: or block: target, whose content stays',
                advice=f"found {self.study.target}",
                code="unsupported",
            )
        for fault in check_state(state, self.study.target):
            self.faults.add_refusal(fault.below("state"))
        size = self.reads(
            "state.file", lambda: sizes.file_bytes(state.file, memory_bytes=1 << 40, limit_bytes=1 << 40)
        )
        if size == 0:
            self.refuse(
                "state.file", found=f"{state.file!r}", expected="more than 0 bytes", code="out-of-range"
            )

    def measure(self, path: str, measure: Measure) -> None:
        self.filled(f"{path}.workload", measure.workload, "workload")
        for index, workload in enumerate(listed(measure.workload)):
            at = f"{path}.workload" + (f"[{index}]" if isinstance(measure.workload, tuple) else "")
            found = self.workloads(at, workload)
            for key in ("record", "stop"):
                needing = [named for named in found if key != "record" or named.has_record]
                missing = [named.name for named in needing if getattr(named, key) is None]
                if getattr(measure, key) is None and missing:
                    self.refuse(
                        f"{path}.{key}",
                        "missing",
                        advice=f"it must be given, since {missing[0]} has none of its own",
                        code="missing",
                    )
        if measure.record is not None:
            self.record(f"{path}.record", measure.record)
        self.how(path, how_in(measure), measure.vary)
        self.levels(f"{path}.threads", measure.threads)
        self.levels(f"{path}.depth", measure.depth)
        self.area(f"{path}.span", measure.span)
        self.start(f"{path}.span_start", measure.span_start)
        if measure.stop is not None:
            self.stop(f"{path}.stop", measure.stop)
        self.repeat(f"{path}.repeat", measure.repeat)
        self.filled(f"{path}.metric", measure.metric, "metric")
        for metric in listed(measure.metric):
            if metric not in METRICS:
                self.faults.add_unknown(f"{path}.metric", metric, METRICS, "metric")

    def tasks(self, path: str, torture: Torture) -> None:
        if torture.tasks is None:
            return
        for key in ("threads", "processes", "files"):
            if getattr(torture, key) not in (None, 1):
                text = "is given together with tasks, which are processes with a file each where the target has them"
                self.refuse(f"{path}.{key}", text, advice="leave one out", code="conflict")

    def torture(self, path: str, torture: Torture) -> None:
        found = self.workloads(f"{path}.workload", torture.workload)
        if len(found) > 1:
            self.refuse(
                f"{path}.workload",
                found=f"the family {torture.workload!r}",
                expected="one workload",
                code="wrong-value",
            )
        self.how(path, how_in(torture), {})
        if len(found) == 1 and not found[0].writes:
            self.refuse(
                f"{path}.workload",
                f"{torture.workload} only reads",
                expected="a workload that writes",
                code="unsupported",
            )
        self.record(f"{path}.record", torture.record)
        self.tasks(path, torture)
        self.area(f"{path}.span", torture.span)
        self.start(f"{path}.span_start", torture.span_start)
        self.area(f"{path}.amount", torture.amount)
        if torture.time is not None:
            self.time(f"{path}.time", torture.time)
        if torture.read_back and len(found) == 1 and found[0].does.write < 100:
            self.refuse(
                f"{path}.read_back",
                f"{torture.workload} does not only write",
                advice="remove it",
                code="no-effect",
            )
        if torture.until is not None:
            self.word(f"{path}.until", torture.until, tuple(_UNTIL))
            if torture.rounds < _UNTIL.get(torture.until, 0):
                self.refuse(
                    f"{path}.rounds",
                    found=f"{torture.rounds}: until = {torture.until!r} needs {_UNTIL[torture.until]} or more",
                    code="too-few",
                )

    def word(self, path: str, found: str, known: tuple[str, ...]) -> None:
        if found not in known:
            self.refuse(
                path,
                found=f"{found!r}",
                expected=f"{' or '.join(repr(word) for word in known)}",
                code="unknown-word",
            )

    def stages(self) -> None:
        study = self.study
        seen: list[str] = []
        known: list[Stage] = []
        for index, stage in enumerate(study.stage):
            path = f"stage[{index}]"
            self.named(f"{path}.name", stage.name)
            if stage.name in seen:
                self.refuse(
                    f"{path}.name",
                    f"{stage.name!r} is the name of an earlier stage",
                    advice="names must differ",
                    code="repeated",
                )
            self.action(path, stage, seen)
            if isinstance(stage.measure, str) and stage.measure not in self.measuring(seen):
                stage = msgspec.structs.replace(stage, measure=())  # noqa: PLW2901
            seen.append(stage.name)
            known.append(stage)
        if study.sham and not any(stage.torture for stage in study.stage):
            self.refuse(
                "sham",
                found="true, but no stage tortures, so a sham cycle would skip nothing",
                code="no-effect",
            )
        # Treat an unknown stage as one that measures nothing, so that no fault is reported that only follows from it.
        self.study = msgspec.structs.replace(study, stage=tuple(known))

    def measuring(self, names: Iterable[str]) -> list[str]:
        return [name for name in names if self.study.stage_named(name).measure is not None]

    def unused(self) -> None:
        """A table that no stage uses has no effect, so it is refused rather than ignored."""
        study = self.study
        measured = {name for stage in study.stage for name in study.measures_of(stage)}
        written = {name for stage in study.stage for name in (*(stage.torture or ()), *(stage.prepare or ()))}
        named = {word for measure in study.measure.values() for word in listed(measure.workload)}
        named |= {table.workload for table in study.torture.values()}
        named |= {table.like for table in study.workload.values() if table.like is not None}
        if self.faults.is_marked("stage"):
            return
        for name in study.workload:
            if name not in named and not any(map(self.faults.is_marked, ("measure", "torture", "workload"))):
                self.refuse(
                    join("workload", name),
                    "no table uses it",
                    advice="name it in a [measure.*] table or remove it",
                    code="no-effect",
                )
        for group, tables, used in (
            ("measure", study.measure, measured),
            ("torture", study.torture, written),
        ):
            for name in tables:
                if name not in used | self.meant:
                    self.refuse(
                        join(group, name),
                        "no stage uses it",
                        advice="name it in a [[stage]] or remove it",
                        code="no-effect",
                    )

    def action(self, path: str, stage: Stage, seen: list[str]) -> None:
        given = [action for action in _ACTIONS if getattr(stage, action) is not None]
        if len(given) != 1:
            found = " and ".join(given) or "none"
            self.meant |= set() if given else {*self.study.measure, *self.study.torture}
            self.refuse(
                path, found=f"{found} of {', '.join(_ACTIONS)}", expected="exactly one", code="wrong-value"
            )
        if stage.idle is not None:
            self.time(f"{path}.idle", stage.idle)
        if isinstance(stage.measure, str):
            earlier = self.measuring(seen)
            if stage.measure not in earlier:
                what = "earlier stage that measures"
                self.faults.add_unknown(f"{path}.measure", stage.measure, earlier, what)
        else:
            self.references(f"{path}.measure", stage.measure, self.study.measure, "[measure.*] table")
        writing = (*self.study.torture, *PROFILES)
        self.references(f"{path}.torture", stage.torture, writing, "[torture.*] table")
        self.references(f"{path}.prepare", stage.prepare, writing, "[torture.*] table")

    def references(self, path: str, names: tuple[str, ...] | None, known: Iterable[str], what: str) -> None:
        if names == ():
            self.meant |= set(known)
            self.refuse(path, "the list is empty", expected=f"the name of at least one {what}", code="empty")
        for index, name in enumerate(names or ()):
            if name not in known:
                self.meant.add(self.faults.add_unknown(f"{path}[{index}]", name, known, what) or "")
        self.distinct(path, [repr(name) for name in names or ()])

    def compare_workloads(self, compare: Compare) -> None:
        study = self.study
        stage = study.stage_named(study.measuring_stages[-1]) if study.measuring_stages else None
        tables = () if stage is None else study.measures_of(stage)
        measured = {
            named.name: named
            for table in tables
            if table in study.measure
            for word in listed(study.measure[table].workload)
            for named in self.workloads(f"measure.{table}.workload", word)
        }
        found: list[NamedWorkload] = []
        for key, word in (("baseline", compare.baseline), ("candidate", compare.candidate)):
            path = f"compare.{key}"
            if word is None:
                text = 'missing; arms = "workload" needs two workloads to compare'
                self.refuse(path, text, expected=" or ".join(measured), code="missing")
                continue
            names = self.workloads(path, word)
            if len(names) == 1 and names[0].name in measured:
                found += names
            elif names:
                self.faults.add_unknown(path, word, measured, "workload in the last stage that measures")
        if len(found) < 2:
            return
        baseline, candidate = found
        if baseline.name == candidate.name:
            text = f"baseline and candidate are both {baseline.name!r}"
            self.refuse("compare", text, expected="two workloads", code="repeated")
        elif baseline.kind != candidate.kind:
            self.refuse(
                "compare",
                f"{baseline.name} is judged by {baseline.kind} and {candidate.name} by {candidate.kind}: there is no "
                "figure that both have",
                code="mismatch",
            )

    def compare(self, compare: Compare) -> None:
        if compare.arms == WORKLOAD_ARMS:
            self.compare_workloads(compare)
            return
        if compare.arms != "stage" and compare.arms not in self.study.factor:
            known = ["stage", WORKLOAD_ARMS, *self.study.factor]
            self.faults.add_unknown("compare.arms", compare.arms, known, "arm to compare")
            return
        study = self.study
        arms = study.compared
        of_stages = compare.arms not in study.factor
        kind = "stage" if of_stages else "level"
        what = "stage that measures" if of_stages else f"level of factor.{compare.arms}"
        for path, name in (("compare.baseline", compare.baseline), ("compare.candidate", compare.candidate)):
            if name is not None and name not in arms:
                self.faults.add_unknown(path, name, arms, what)
        if not {compare.baseline, compare.candidate} <= {None, *arms} or len(set(arms)) < len(arms):
            return
        if len(arms) < 2:
            if compare.baseline is not None or compare.candidate is not None:
                self.refuse("compare", "only one stage measures", expected="two to compare", code="too-few")
            return
        baseline, candidate = study.baseline or "", study.candidate or ""
        if baseline == candidate:
            self.refuse(
                "compare",
                f"baseline and candidate are both {baseline!r}",
                expected=f"two {kind}s",
                code="repeated",
            )
        if not of_stages or () in (study.stage_named(baseline).measure, study.stage_named(candidate).measure):
            return
        measures = [set(study.measures_of(study.stage_named(name))) for name in (baseline, candidate)]
        if not measures[0] & measures[1]:
            self.refuse(
                "compare",
                f"stages {baseline!r} and {candidate!r} have no measure in common",
                code="nothing-in-common",
            )

    def apart(self, apart: Apart) -> None:
        """A second cause: two levels of a factor that is not the one that is compared."""
        study = self.study
        if study.compares_workloads or study.baseline is None:
            text = "has no effect on a study that does not compare stages or levels"
            self.refuse("apart", text, code="no-effect")
            return
        others = [name for name in study.factor if name != study.compare.arms]
        if apart.factor not in others:
            self.faults.add_unknown("apart.factor", apart.factor, others, "factor that is not compared")
            return
        levels = tuple(study.factor[apart.factor].named)
        what = f"level of factor.{apart.factor}"
        for path, name in (("apart.baseline", apart.baseline), ("apart.candidate", apart.candidate)):
            if name is not None and name not in levels:
                self.faults.add_unknown(path, name, levels, what)
        known = apart.of(study.factor[apart.factor])
        if known.baseline == known.candidate:
            text = f"baseline and candidate are both {known.baseline!r}"
            self.refuse("apart", text, expected="two levels", code="repeated")
        texts = (*(apart.causes or ("first", "second")), apart.note)
        if apart.causes and (len(set(apart.causes)) < 2 or "" in apart.causes):
            self.refuse("apart.causes", f"found {apart.causes!r}", expected="two words", code="wrong-value")
        if not all(text.isprintable() and len(text) <= NOTE_MAX for text in texts):
            expected = f"lines of at most {NOTE_MAX} characters, without control characters"
            self.refuse("apart", "has a text that cannot be printed", expected=expected, code="wrong-value")

    def how(self, path: str, how: IoOptions, vary: dict[str, tuple[Level, ...]]) -> None:
        """The keys that say how I/O is done, with the first level of each key that varies, then with each level."""
        for key, levels in vary.items():
            at = join(f"{path}.vary", key)
            if key in ("workload", "record", "threads", "depth"):
                self.refuse(at, f"a list may be given to {key} itself: {key} = [...]", code="wrong-value")
            elif key not in VARIED:
                self.faults.add_unknown(at, key, VARIED, "key that varies")
            elif not levels:
                self.refuse(at, "the list is empty", expected="at least one level", code="empty")
            elif getattr(how, key, None) is not None:
                self.refuse(
                    at,
                    f"{key} is given twice: as a key and in vary",
                    advice="give it in one place",
                    code="conflict",
                )
            self.distinct(at, levels)
        first = {key: levels[0] for key, levels in vary.items() if key in HOW_KEYS and levels}
        every = [(key, level) for key in first for level in vary[key]]
        for key, level in every:
            given = {name: getattr(how, name) for name in HOW_KEYS if getattr(how, name) is not None}
            try:
                varied = msgspec.convert({**given, **first, key: level}, IoOptions)
            except msgspec.ValidationError as error:
                self.faults.add_refusal(mismatch_of(error, IoOptions).refusal(f"{path}.vary.{key}", level))
            else:
                self.keys(path, varied)
        if not first:
            self.keys(path, how)

    def keys(self, path: str, how: IoOptions) -> None:
        for fault in check_how(how):
            self.faults.add_refusal(fault.below(path))


# Check the factors of a study, before their levels are checked one by one.
# Scope: names, kinds, keys and levels of [factor.*] tables, `exclude`, `order`, `aa` and `state.carryover`.
# Each rule that is broken is a path and what is wrong there.

SETTINGS_MAX: Final = 10_000
"""Combinations of levels at most, those that are excluded among them."""
NAME_MAX: Final = 200
ORDERS: Final = ("random", "blocked", "listed")
CARRYOVERS: Final = ("none", "trim", "purge", PURGE_EACH, "remount")
_WORKLOAD_KEYS: Final = (
    "record",
    "threads",
    "depth",
    "span",
    "span_start",
    *(key for key in HOW_KEYS if key not in ("pin", "log")),
)
_DEFAULTS: Final = {"threads": 1, "depth": 1, "span": "file", "span_start": 0}


def factor_problems(study: Study) -> Iterator[Refusal]:
    """Every broken rule; `where` is the path of the value in the study."""
    found: list[Refusal] = []
    for name, factor in study.factor.items():
        path = join("factor", name)
        found += [*_kind(study, path, name, factor), *_levels(path, factor)]
    found += _twice(study)
    yield from found
    yield from _design(study)
    if not all(factor.levels for factor in study.factor.values()):
        return
    combinations = math.prod(len(named_levels(study, name)) for name in study.factor)
    if combinations > SETTINGS_MAX:
        yield Refusal(
            "factor",
            text=f"{combinations} combinations of levels",
            expected=f"at most {SETTINGS_MAX}",
            code="out-of-range",
        )
        return
    yield from _exclude(study)


def _kind(study: Study, path: str, name: str, factor: Factor) -> Iterator[Refusal]:
    known = ", ".join(f'"{kind}"' for kind in KINDS)
    kind, key = kind_of(name, factor), key_of(name, factor)
    if name in ("stage", WORKLOAD_ARMS):
        yield Refusal(
            path,
            text=f'compare.arms = "{name}" compares the {name}s',
            advice="give the factor another name",
            code="repeated",
        )
    if kind == "label" and any("," in level or "=" in level for level in factor.named):
        yield Refusal(
            f"{path}.levels",
            text='a level of a label has no "," and no "=", since --label NAME=LEVEL names it',
            code="wrong-value",
        )
    if factor.kind is not None and kind is None:
        yield Refusal(
            f"{path}.kind", found=f"{factor.kind!r}", expected=f"one of {known}", code="unknown-word"
        )
    elif kind is None:
        yield Refusal(
            f"{path}.kind",
            text=f"missing; {name!r} does not say what its levels change",
            expected=f"one of {known}",
            code="missing",
        )
    else:
        yield from _key(study, path, factor, kind, key)


def _key(study: Study, path: str, factor: Factor, kind: str, key: str) -> Iterator[Refusal]:
    """The key that a factor of a known kind changes."""
    if factor.key is not None and kind in ("target", "label"):
        yield Refusal(
            f"{path}.key",
            text=f"has no effect on a factor of kind {kind!r}",
            advice="remove it",
            code="no-effect",
        )
    if factor.found is not None and kind != "label":
        yield Refusal(
            f"{path}.found",
            text=f"has no effect on a factor of kind {kind!r}, which Mileage sets itself",
            advice="remove it",
            code="no-effect",
        )
    if kind == "state" and key not in STATE_LEVELS:
        what = "cannot change during a study" if key in State.__struct_fields__ else "is not a key of [state]"
        expected = ", ".join(STATE_LEVELS)
        yield Refusal(
            f"{path}.key" if factor.key else path,
            text=f"{key!r} {what}",
            expected=expected,
            code="unknown-key",
        )
    if kind == "state" and key in DEVICE_STATE and not capabilities_of(study.target).is_made:
        yield Refusal(
            path,
            text=f"needs a device for each level: a loop: target has one, found {study.target}",
            advice='on a device of your own measure one level after the other, with kind = "label"',
            code="unsupported",
        )
    if kind == "workload" and key not in _WORKLOAD_KEYS:
        expected = ", ".join(_WORKLOAD_KEYS)
        yield Refusal(
            f"{path}.key" if factor.key else path,
            text=f"{key!r} is not a key that varies",
            expected=f"one of {expected}",
            code="unknown-key",
        )
    elif kind == "workload":
        for table, measure in study.measure.items():
            yield from _doubled(path, table, measure, key)
    if kind == "profile" and not capabilities_of(study.target).simulated:
        yield Refusal(
            path,
            text="changes the profile of a virtual drive",
            advice=f"found target {study.target!r}",
            code="unsupported",
        )


def _doubled(path: str, table: str, measure: Measure, key: str) -> Iterator[Refusal]:
    if getattr(measure, key) != _DEFAULTS.get(key) or key in measure.vary:
        yield Refusal(
            f"measure.{table}.{key}",
            text=f"is given together with {path}",
            advice="give it in one place",
            code="conflict",
        )


def _levels(path: str, factor: Factor) -> Iterator[Refusal]:
    if len(factor.levels) < 2:
        yield Refusal(
            f"{path}.levels", found=f"{len(factor.levels)}", expected="two levels or more", code="too-few"
        )
    if len(factor.named) < len(factor.levels):
        yield Refusal(f"{path}.levels", text="a level is in the list twice", code="repeated")
    for level in factor.named:
        if not level.isprintable() or not level.strip() or len(level) > NAME_MAX:
            yield Refusal(
                f"{path}.levels",
                found=f"{level!r}",
                expected=f"a name of 1 to {NAME_MAX} characters that print",
                code="wrong-value",
            )


def _twice(study: Study) -> Iterator[Refusal]:
    seen: dict[tuple[str, str], str] = {}
    for name, factor in study.factor.items():
        kind = kind_of(name, factor)
        if kind is None or kind == "label":
            continue
        changed = (kind, "" if kind == "target" else key_of(name, factor))
        if changed in seen:
            yield Refusal(
                f"factor.{name}",
                text=f"changes what factor.{seen[changed]} changes",
                advice="give it in one place",
                code="repeated",
            )
        seen[changed] = name


def _exclude(study: Study) -> Iterator[Refusal]:
    unknown = False
    for index, out in enumerate(study.exclude):
        path = f"exclude[{index}]"
        if not out:
            yield Refusal(
                path,
                text="is empty and would exclude everything",
                expected='for example { cache = "warm" }',
                code="empty",
            )
            unknown = True
        for name, level in out.items():
            if name not in study.factor:
                known = ", ".join(study.factor) or "none"
                yield Refusal(
                    f"{path}.{name}",
                    text=f"there is no [factor.*] table {name!r}",
                    advice=f"known: {known}",
                    code="unknown-name",
                )
                unknown = True
                continue
            text = str(level).lower() if isinstance(level, bool) else str(level)
            levels = named_levels(study, name)
            if text not in levels:
                yield Refusal(
                    f"{path}.{name}",
                    text=f"{text!r} is not a level of factor.{name}",
                    expected=f"one of {', '.join(levels)}",
                    code="unknown-word",
                )
                unknown = True
        if not unknown and not any(excluded_by(study, index)):
            yield Refusal(path, text="excludes nothing", advice="remove it", code="no-effect")
    if study.factor and not unknown and not settings_of(study):
        yield Refusal(
            "exclude",
            text="excludes every combination of levels",
            expected="at least one to measure",
            code="empty",
        )


def excluded_by(study: Study, index: int) -> Iterator[bool]:
    """Check whether the exclusions remove every combination."""
    alone = msgspec.structs.replace(study, exclude=(study.exclude[index],))
    for combination in itertools.product(*(named_levels(study, name) for name in study.factor)):
        yield excluded(alone, dict(zip(study.factor, combination, strict=True)))


def _design(study: Study) -> Iterator[Refusal]:
    if study.order not in ORDERS:
        yield Refusal(
            "order", found=f"{study.order!r}", expected='"random", "blocked" or "listed"', code="unknown-word"
        )
    if study.order == "blocked" and not study.factor:
        yield Refusal(
            "order",
            found='"blocked", but the study has no [factor.*] table, so there are no arms to order',
            code="no-effect",
        )
    if study.aa and study.compare.arms not in study.factor:
        yield Refusal(
            "aa",
            found="true, but compare.arms names no [factor.*] table whose baseline could be measured twice",
            code="no-effect",
        )
    elif study.aa and (kind_of(study.compare.arms, study.factor[study.compare.arms]) == "label"):
        yield Refusal(
            "aa",
            found=f"true, but factor.{study.compare.arms} is a label, which is not measured side by side",
            code="no-effect",
        )
    elif study.aa:
        levels = study.factor[study.compare.arms].named
        if levels and again(study.compare.baseline or next(iter(levels))) in levels:
            yield Refusal(
                "aa",
                text="the name of its level is that of another level",
                advice="rename that one",
                code="repeated",
            )
    carryover = study.state.carryover
    if carryover not in CARRYOVERS:
        expected = ", ".join(f'"{word}"' for word in CARRYOVERS)
        yield Refusal(
            "state.carryover", found=f"{carryover!r}", expected=f"one of {expected}", code="unknown-word"
        )
    makes = study.state.filesystem is not None or "filesystem" in study.factor
    if carryover == "remount" and not makes:
        yield Refusal(
            "state.carryover",
            text="'remount' needs a file system that Mileage mounts: give state.filesystem",
            code="unsupported",
        )
    if carryover == "trim" and not makes and not capabilities_of(study.target).can_trim:
        yield Refusal(
            "state.carryover",
            text=f"'trim' needs a device; {study.target} is a file on one",
            expected='"none" or "purge"',
            code="unsupported",
        )
    if carryover in ("trim", "purge", PURGE_EACH):
        if any(stage.torture for stage in study.stage):
            yield Refusal(
                "state.carryover",
                text=f"{carryover!r} would undo what the torture did",
                expected='"none" or "remount"',
                code="conflict",
            )
        if study.state.start == "kept":
            yield Refusal(
                "state.carryover",
                text=f'{carryover!r} would lose the content that state.start = "kept" keeps',
                code="conflict",
            )
