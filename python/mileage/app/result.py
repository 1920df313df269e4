"""A study folder and what can be asked of it: samples, comparisons, checks, texts, page and tables."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from mileage.app.report_level import rewritten_level
from mileage.errors import JudgedFailure, Refused, RunFailed
from mileage.execute.concurrent_cycles import cycles_at_once
from mileage.plan import Plan
from mileage.plan.cell_keys import with_keys
from mileage.plan.consistency import inconsistency
from mileage.store import StudyFolder
from mileage.store.journal import JournalContent
from mileage.store.journal_line_check import brief
from mileage.store.study_outcome import edits
from mileage.terminal import wrapped

if TYPE_CHECKING:
    from mileage.analysis.journal_reader import JournalContents
    from mileage.analysis.run_facts import JournalReading
    from mileage.judge import Comparison, Sample
    from mileage.judge.effects_apart import EffectsApart
    from mileage.model.caveat import Caveat
    from mileage.report import StudyView
    from mileage.store import Outcome
    from mileage.store.tables import StagedTables


def load_plan(folder: StudyFolder) -> Plan:
    """The plan that a study folder was made with.

    Raises:
        Refused: it cannot be read, or was changed after the study began.
    """
    found = folder.decoded_plan(Plan)
    if problem := inconsistency(found):
        raise Refused(
            folder.plan_json,
            f"is not a plan that Mileage made: {brief(problem)}",
            advice=folder.without_plan,
            code="damaged",
        )
    return with_keys(found)


class StudyResult:
    """A study folder and what can be asked of it."""

    def __init__(self, folder: StudyFolder, resolved: Plan) -> None:
        """Open the results of a study folder; files are read when first needed."""
        self.folder = folder
        self.plan = resolved
        self._read_bytes = -1
        self._reading: JournalContents | None = None
        self._view: StudyView | None = None

    def __repr__(self) -> str:
        """The folder, and how much was measured."""
        found = self.outcome()
        return (
            f"StudyResult({str(self.folder.path)!r}, {found.needed - found.missing} of {found.needed} runs)"
        )

    def _repr_html_(self) -> str:
        """For a notebook: the comparison with its chart, or the text of what was measured."""
        import html

        if self.compares:
            from mileage.app.notebook_view import comparison_html

            return comparison_html(self.comparison())
        return f"<pre>{html.escape(self.text())}</pre>"

    def _look(self) -> None:
        """Forget what was read when the journal has grown since."""
        journal = self.folder.journal
        size = journal.stat().st_size if journal.exists() else 0
        if size != self._read_bytes:
            self._reading = self._view = None
            self._read_bytes = size

    def content(self) -> JournalContent:
        """The current contents of the journal; unreadable lines are skipped and reported as a veto."""
        return self.folder.content(around_damage=True)

    def plan_as_done(self) -> Plan:
        """The plan with the counts that its trials found."""
        from mileage.model.journal_entries import LengthFactor
        from mileage.plan.run_length import with_found_counts

        return with_found_counts(self.plan, self.content().of_kind(LengthFactor))

    def outcome(self) -> Outcome:
        """Progress of the study, and why it stopped."""
        from mileage.plan.estimate import remaining_s
        from mileage.plan.sizes import duration
        from mileage.store.durations import closed_s, spent_s
        from mileage.store.study_outcome import outcome_of

        content = self.content()

        def left() -> str:
            spent, closed = spent_s(content), closed_s(content)
            time_s = remaining_s(self.plan, spent, closed, lanes=cycles_at_once(self.plan))
            return f"about {duration(time_s)} left"

        return outcome_of(self.folder, content, len(self.plan.runs), self.plan.parts, left=left)

    def reading(self, staging: StagedTables | None = None) -> JournalContents:
        """The measurements in the journal, read once. With a `staging` they are read again, to fill its tables."""
        from mileage.analysis.journal_reader import read

        self._look()
        if self._reading is None or staging is not None:
            self._reading = read(self.plan, self.content(), staging)
        return self._reading

    def samples(self) -> list[Sample]:
        """Every measured value, ordered by run."""
        return self.reading().samples

    def seen(self) -> JournalReading:
        """The facts of the runs that the checks and vetoes need."""
        return self.reading().seen

    def comparison(self) -> Comparison:
        """The comparison that the study's plan asks for."""
        from mileage.app.answer import planned_answer

        return planned_answer(self.plan, self.samples(), self)

    def apart(self) -> EffectsApart | None:
        """The effects of two causes apart and together; None for a study that names no second cause."""
        from mileage.app.effects_apart import effects_apart

        return effects_apart(self.plan, self.samples(), self)

    def caveats(self) -> list[Caveat]:
        """Reasons against any conclusion from this study."""
        from mileage.app.answer import caveats_of

        measured = {run.stage for run in self.plan.runs if run.role == "measure"}
        return caveats_of(self, {cell.label for cell in self.plan.cells}, measured)

    def view(self) -> StudyView:
        """The values and tables that the report of this study is drawn from."""
        from mileage.analysis.level_names import renamed_view
        from mileage.analysis.planned_comparison import aa_differences
        from mileage.analysis.view import study_view

        self._look()
        if self._view is None:
            comparison = self.comparison()
            aa = aa_differences(self.plan, self.samples())
            view = study_view(self.plan, self.folder, comparison, self.reading(), aa)
            self._view = renamed_view(self._with_published(view, comparison), self.plan)
        return self._view

    def _with_published(self, view: StudyView, comparison: Comparison) -> StudyView:
        """The view with what the source printed that the study repeats, or a note that says why it has nothing.

        Of two causes, with their separate effects, which have what was printed next to each.
        """
        if (apart := self.apart()) is not None:
            return replace(view, apart=apart)
        name = self.plan.study.published
        if name is None:
            return view
        from mileage.app.published_results import published_next_to
        from mileage.formats.published_results import shipped_study

        try:
            return replace(
                view, published=published_next_to(shipped_study(name), self.plan, self.samples(), comparison)
            )
        except Refused as refusal:
            return replace(view, notes=[*view.notes, f"Not compared with what {name} printed: {refusal}."])

    def table(self, name: str) -> Any:
        """One of the tables `samples`, `series`, `latency` and `counters`, or `studies`, as a DuckDB relation.

        `.arrow()`, `.fetchnumpy()` and `.df()` of it give it to Arrow, NumPy and pandas. It is up to date with the
        journal, also while the study runs.

        Raises:
            Refused: there is no such table.
        """
        from mileage.store.query import Query

        # Allow files: the program that calls this could open them anyway.
        return Query([self.folder.path], allow_files=True).table(name)

    @property
    def compares(self) -> bool:
        """Whether at least two stages were measured, so that there is something to compare."""
        return self.plan.study.baseline is not None

    def figures(self) -> dict[str, object]:
        """The `comparison`, or the measured `cells` where nothing is compared: what `text` shows, as values."""
        if self.compares:
            apart = self.apart()
            return {"comparison": self.comparison()} | ({"apart": apart} if apart else {})
        from mileage.report.cell_estimates import with_estimates
        from mileage.store import measured_cells

        return {"cells": with_estimates(measured_cells(self.content(), self.plan))}

    def text(self, width: int = 80, *, verbose: bool = False) -> str:
        """The verdict, or what was measured where nothing is compared, in lines of at most `width` columns.

        `verbose`: of a comparison every check, test and explanation; the figures that identify the folder.
        """
        from mileage.analysis.view import measured_page
        from mileage.report import render_text
        from mileage.report.measurement_setup import setting_text
        from mileage.report.measurement_text import measured_text

        if self.plan.imported is not None:
            from mileage.analysis.imported_study import imported_page
            from mileage.report.imported_study import imported_text

            return imported_text(imported_page(self.plan, self.folder), width, verbose=verbose)
        if self.compares:
            return render_text(self.view(), width, verbose=verbose)
        page = measured_page(self.plan, self.folder, self.caveats())
        warnings = "".join(
            "\n".join(wrapped(line, width)) + "\n" for line in (*page.unfinished, page.answer) if line
        )
        warnings += "\n" if warnings else ""
        is_shown = verbose or page.identity["seal"].startswith("none")
        seal = "\n".join(["", *wrapped(f"seal: {page.identity['seal']}", width), ""]) if is_shown else ""
        if not page.cells:
            return f"{warnings}No run was measured.\n{seal}"
        elsewhere = "the page and tables/measured.csv have all"
        figures = measured_text(page.cells, self.plan.cells, elsewhere=elsewhere)
        return f"{warnings}{setting_text(self.plan_as_done(), width)}\n{figures}{seal}"

    def expect(self, seal: str) -> None:
        """Look whether the folder is as it was when its last line had this seal, or its first 16 digits or more.

        Raises:
            Refused: that is no seal.
            JudgedFailure: the folder is not as it was.
        """
        if not re.fullmatch("[0-9a-f]{16,64}", seal):
            raise Refused(
                f"--expect {seal}",
                expected="16 to 64 hexadecimal digits, as the report prints the seal",
                code="wrong-value",
            )
        content = self.content()
        edited = edits(self.folder, content)
        if not (content.seal or "").startswith(seal):
            edited.insert(0, f"expected seal {seal}, found {content.seal_words}")
        if edited:
            raise JudgedFailure(f"{self.folder.path} is not as it was written: {'; '.join(edited)}")

    def method(self, width: int = 80) -> str:
        """Describe how the study was measured and judged, in lines of at most `width` columns."""
        from mileage.analysis.view import method_of
        from mileage.report.text import paragraphs

        return paragraphs(method_of(self.plan, self.content()), width)

    def write_report(self, level: str | None = None) -> None:
        """Write the tables, the figures and the page into the study folder.

        `level`: "text" leaves the figures out; None: as the environment variable MILEAGE_REPORT says, or "full".

        Raises:
            Refused: the level is none of these.
            RunFailed: the disk is full.
        """
        pictures = rewritten_level(level) == "full"
        try:
            self._write_report(pictures=pictures)
        except OSError as error:
            raise RunFailed.from_os_error(f"writing the study folder {self.folder.path}", error) from error

    def _write_report(self, *, pictures: bool) -> None:
        from mileage.analysis.view import measured_page
        from mileage.report.measurement_page import write_measured
        from mileage.store.tables import PRINTED, TABLES, write_tables

        if self.plan.imported is not None:
            from mileage.analysis.imported_study import imported_page
            from mileage.report.imported_study import write_imported

            write_tables(self.content(), self.folder.directory, (*TABLES, PRINTED))
            write_imported(imported_page(self.plan, self.folder), self.folder.directory, drawn=pictures)
            return
        if not self.compares:
            write_tables(self.content(), self.folder.directory)
            page = measured_page(self.plan, self.folder, self.caveats())
            write_measured(page, self.folder.directory, drawn=pictures)
        else:
            self._write_comparison(drawn=pictures)

    def _write_comparison(self, *, drawn: bool) -> None:
        """Tables, page and, if they are `drawn`, figures of a study that compares.

        The tables are written while it is judged, the figures drawn while the page is made.
        """
        from concurrent.futures import ThreadPoolExecutor

        from mileage.analysis.chart_data import with_files
        from mileage.report import render_html, write_figures
        from mileage.report.gallery import gallery
        from mileage.report.render_pool import get_ready
        from mileage.report.view import cleaned
        from mileage.store.tables import StagedTables

        if drawn:
            get_ready()
        with StagedTables(self.folder.directory, self.content()) as staging, ThreadPoolExecutor(1) as writer:
            self.reading(staging)
            tables = writer.submit(staging.write)
            view = self.view()
            tables.result()
            # The page lists the tables with their sizes, so they come first.
            shown = cleaned(with_files(view, self.folder))
            pictures = gallery(shown) if drawn else None
            if pictures is not None:
                figures = writer.submit(write_figures, shown, self.folder.directory, pictures)
            self._write_csv(view)
            self._write_page(render_html(shown, pictures, drawn=drawn))
            if pictures is not None:
                figures.result()

    def _write_csv(self, view: StudyView) -> None:
        from mileage.analysis.run_variation import inside
        from mileage.report.difference_tables import write_differences
        from mileage.report.tables import rows_csv, write_tables

        write_tables(view.comparison, self.folder.directory, view.standings, view.evidence.device_classes)
        write_differences(view, self.folder.directory)
        within = inside(self.reading().arms)
        if within:
            self.folder.directory.write("tables/within.csv", rows_csv(within).encode())

    def _write_page(self, text: str) -> None:
        self.folder.directory.write(self.folder.report.name, text.encode())


def load(folder: Path | str) -> StudyResult:
    """Open a study folder, finished or not.

    Raises:
        Refused: it is none.
    """
    found = StudyFolder.open(Path(folder))
    return StudyResult(found, load_plan(found))
