"""`python -m benchmarks.published_studies`: how well the built-in studies agree with what their sources printed.

Runs each study of a source at its own scale, or takes it from DIR where it is there already, and prints the score of
each next to that of the model "nothing changes". Then it changes one thing at a time: for the X25-E of 2010 host and
drive (`drive-or-host`), for the SandForce drive of 2011 (`examples/sandforce_one_change.toml`) each part of the system.
`--page FILE` writes all of it, and a page of each study, into the documentation.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.published_studies.figures import EXAMPLES, figure_rows
from mileage import app
from mileage.app.published_results import compare_published, is_cell_of
from mileage.app.result import StudyResult
from mileage.formats.published_results import published_names
from mileage.judge.effects_apart import EffectsApart
from mileage.judge.published_score import PublishedComparison
from mileage.report.effects_apart import (
    effect_cells,
    effect_heads,
    effect_paragraphs,
    effect_rows,
    effects_sentence,
)
from mileage.report.published_results import row_of, score_rows, sentence

ROOT: Final = Path(__file__).parents[2]
DRIVE_OR_HOST: Final = "drive-or-host"
X25E: Final = "x25e-2010"
ONE_CHANGE: Final = "sandforce_one_change"
SANDFORCE: Final = "sandforce-2011"
LEAST_PERCENT: Final = 0.5
"""A row of a table of effects has at least one that is so large, or a published change."""


APART: Final = """\
## Host and drive apart

`mileage run drive-or-host` repeats tests of 2010 with the torture and with less memory left to the page cache, each \
alone and both together. Another seed, and 1/8 of the sizes in place of 1/16, give each test the same cause. The study \
can find a drive: with 7 % of spare flash in place of 34 % (`blocks_per_plane=6554` in each target) the drive alone \
makes random writes of 32 KiB 52 % slower (95 % CI 40 to 62 %), of 64 KiB 48 % (42 to 54 %), of 4 MiB 8 % (1 to \
14 %)."""
FIGURES: Final = """\
## Figures and tables of the sources

Where each is drawn from the studies above and from `examples/qmul_iozone.toml`, `examples/optane_or_flash.toml` and \
`examples/slc_cache.toml` (`mileage run STUDY --report full`). `mileage compare STUDY --published NAME --out NEW` \
draws the published figures next to them, and its table holds each printed cell against ours."""
ONE_BY_ONE: Final = """\
## One part of the system at a time

`examples/sandforce_one_change.toml` runs tests of the comparison of two kernels of 2011, those with its largest \
published changes among them, on systems that differ from the one with the older kernel in one thing each, in percent \
of it. The column `kernel-2-6-38` has everything that is documented to differ and that the model knows; the others \
show what would be needed."""


FULL_SCALE = """\
At full scale (`mileage run x25e-2010 --scale 1`: 45.6 TB of simulated I/O, 58 min on one processor, 4 GB of memory) \
the simulation has the sign of 4 of the 20 predicted changes and the size, within a factor of 2, of 1: creation of \
files by four tasks, -5.4 % here, -9 % published. 46 of 68 verdicts are equal, and both predicted rates are within \
15 %.

On a drive that the same benchmarks were done on before (`examples/x25e_used.toml`: 88 drive writes), at 1/16, the \
torture changes none of the 77 tests: 0 of 20 signs, 48 of 68 verdicts. What changes on a purged drive has changed by \
then."""


class Effect(NamedTuple):
    """Changes of a cell in percent, by system."""

    cell: str
    published: str
    changes: dict[str, float]


def study_in(folder: Path, name: str, file: str) -> StudyResult:
    """A finished study, begun or resumed where it is not finished."""
    place = folder / name
    if (place / "plan.json").exists() and not (study := app.load(place)).outcome().missing:
        return study
    return app.run(file, out=place, report="text")


def effects(study: StudyResult, published: PublishedComparison) -> list[Effect]:
    """What a system changes in the first stage."""
    factor = study.plan.study.compare.arms
    stated = str(study.plan.study.baseline)
    values: dict[tuple[str, str, str], list[float]] = {}
    keys = {cell.label: cell.key for cell in study.plan.cells}
    for sample in study.samples():
        key = keys[sample.cell]
        if sample.metric in ("rate_bytes_per_s", "ops_per_s"):
            at = (key.without(factor).label, key.factors[factor], sample.stage)
            values.setdefault(at, []).append(sample.value)
    means = {at: statistics.fmean(found) for at, found in values.items()}
    printed = {
        key.without(factor).label: row_of(one).published
        for one in published.results
        for key in keys.values()
        if is_cell_of(one.published, key)
    }
    found = []
    systems = list(study.plan.study.factor[factor].named)
    stage = study.plan.study.measuring_stages[0]
    for cell in dict.fromkeys(cell for cell, _, at in means if at == stage):
        base = means[cell, stated, stage]
        changes = {system: 100 * (means[cell, system, stage] / base - 1) for system in systems}
        words = printed.get(cell, "")
        if max(map(abs, changes.values())) >= LEAST_PERCENT or any(sign in words for sign in "+-"):
            found.append(Effect(cell, words, changes))
    return found


def page(
    comparisons: Sequence[PublishedComparison],
    tables: Mapping[str, list[Effect]],
    figures: Sequence[Sequence[str]] = (),
    apart: EffectsApart | None = None,
) -> str:
    """Everything as Markdown."""
    parts = [
        "# Published studies, repeated",
        "Written by `python -m benchmarks.published_studies --page FILE`, which runs the built-in studies `"
        + "`, `".join(one.study for one in comparisons)
        + "` on virtual drives, arrays and modelled hosts, and compares them with what their sources"
        " printed (`mileage compare STUDY --published NAME`). What was fitted was listed before the first comparison"
        " (`profiles/published`); everything else is predicted. *Nothing changes* is the model that a simulation must"
        " beat: each change is 0, each verdict is the same. A rate is the arithmetic mean of the runs, as the sources"
        " print theirs; a change is the ratio of geometric means.",
    ]
    for one in comparisons:
        heads = ("of what was predicted", "agree", "if nothing changed", "that model is")
        parts += [
            f"## {one.study}",
            " ".join(one.source.source),
            sentence(one),
            *markdown([heads, *score_rows(one.scores)]),
            *([FULL_SCALE] if one.study == "x25e-2010" else []),
        ]
        parts += disagreements(one)
    if apart is not None:
        rows = [effect_cells(row, apart) for row in effect_rows(apart)]
        table = markdown([effect_heads(apart), *rows])
        parts += [APART, effects_sentence(apart), *table, *effect_paragraphs(apart)]
    for text, found in tables.items():
        systems = list(found[0].changes) if found else []
        rows = [("cell", "published", *systems)]
        rows += [(e.cell, e.published, *(f"{e.changes[s]:+.1f}" for s in systems)) for e in found]
        parts += [text, *largest(found), *markdown(rows)]
    if figures:
        parts += [FIGURES, *markdown(figures)]
    return "\n\n".join(parts) + "\n"


def largest(found: Sequence[Effect], number: int = 3) -> Iterator[str]:
    """Of the tests with the largest published changes, the cell of each: which systems carry how much of it."""
    printed = [
        (float(effect.published.split()[0]), effect) for effect in found if effect.published[:1] in ("+", "-")
    ]
    by_test: dict[str, tuple[float, Effect]] = {}
    for change, effect in sorted(printed, key=lambda one: -abs(one[0])):
        by_test.setdefault(effect.cell.partition(" ")[0], (change, effect))
    for change, effect in list(by_test.values())[:number]:
        moves = sorted(effect.changes.items(), key=lambda one: -abs(one[1]))
        same_way = [
            (name, moved) for name, moved in moves if moved * change > 0 and abs(moved) >= LEAST_PERCENT
        ]
        words = ", ".join(f"`{name}` {moved:+.1f} %" for name, moved in same_way[:2])
        yield f"Largest: {effect.cell}, published {effect.published}; here {words or 'no system moves it this way'}."


def disagreements(one: PublishedComparison) -> Iterator[str]:
    """What disagrees, by mechanism: cells that share a reason are one row."""
    groups: dict[str, list[str]] = {}
    for result in one.results:
        row = row_of(result)
        if row.agrees is False:
            why = result.published.why_off or "no mechanism is known"
            groups.setdefault(why, []).append(f"{row.cell} ({row.published}; {row.found})")
    if groups:
        yield "### Disagreements and mechanisms"
        rows = [("mechanism, or what may be wrong with the source", "cells (published; simulated)")]
        rows += [(why, listed(cells)) for why, cells in groups.items()]
        yield from markdown(rows)


def listed(cells: Sequence[str], most: int = 12) -> str:
    """The first cells of many."""
    more = f", and {len(cells) - most} more" if len(cells) > most else ""
    return ", ".join(cells[:most]) + more


def markdown(rows: Sequence[Sequence[str]]) -> list[str]:
    """A table; its first row is the head."""
    head, *rest = rows
    lines = [head, ["---"] * len(head), *rest]
    return ["\n".join(f"| {' | '.join(row)} |" for row in lines)]


def main() -> None:
    """Run, print and write what was asked for."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument(
        "--studies", type=Path, metavar="DIR", help="finished studies, by name; others are added"
    )
    asked.add_argument("--only", nargs="*", choices=published_names(), default=published_names())
    asked.add_argument("--page", type=Path, metavar="FILE", help="write a page of the documentation")
    asked.add_argument(
        "--figures", action="store_true", help="draw all charts, and list where each figure is"
    )
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.studies or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        comparisons = []
        for name in given.only:
            study_in(folder, name, name)
            comparisons.append(compare_published(folder / name, name))
        tables: dict[str, list[Effect]] = {}
        apart = None
        sources = {one.source.name: one for one in comparisons}
        if X25E in given.only:
            apart = study_in(folder, DRIVE_OR_HOST, DRIVE_OR_HOST).apart()
        if SANDFORCE in given.only:
            own = study_in(folder, ONE_CHANGE, str(ROOT / "examples" / f"{ONE_CHANGE}.toml"))
            tables[ONE_BY_ONE] = effects(own, sources[SANDFORCE])
        figures = []
        if given.figures:
            for name in (*given.only, *EXAMPLES):
                file = name if name in given.only else str(ROOT / "examples" / f"{name}.toml")
                study_in(folder, name, file).write_report("full")
            figures = list(figure_rows(folder))
    text = page(comparisons, tables, figures, apart)
    sys.stdout.write(text)
    if given.page is not None:
        given.page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
