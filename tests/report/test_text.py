"""The terminal's summary: as wide as asked, the same words as the page, nothing that steers a terminal."""

import re
import unicodedata
from pathlib import Path

import msgspec
import pytest

from mileage.judge import compare_stages
from mileage.model.caveat import veto
from mileage.report import StudyView, comparison_table, render_text
from mileage.report.sentence import verdict_sentence
from tests.report.conftest import comparison, example, samples

SNAPSHOT = Path(__file__).with_name("summary.txt")


def columns(line: str) -> int:
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in line)


def test_the_summary_is_what_was_agreed(study: StudyView) -> None:
    assert render_text(study) == SNAPSHOT.read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [60, 80, 132])
def test_no_line_is_wider_than_asked(width: int) -> None:
    long = [msgspec.structs.replace(s, cell=f"{s.cell} {'x' * 90} 宽{'日本' * 40} 16 MiB") for s in samples()]
    judged = compare_stages(
        long, baseline="before", candidate="after", relevance={}, caveats=[veto("edited", what="z" * 200)]
    )
    text = render_text(
        example(comparison=judged, target="語" * 300, command="c" * 300, notes=["読 " * 90]), width
    )
    # The command is copied: a word of it is not broken.
    above, _, rest = text.partition("Repeat it:\n")
    assert max(map(columns, [*above.splitlines(), *rest.partition("\n\n")[2].splitlines()])) <= width


def test_escape_codes_in_names_do_not_reach_the_terminal() -> None:
    text = render_text(example(name="\x1b]0;owned\x07", question="a\rb\u202ec", command="x\x9by"))
    assert not set(text) & set("\x1b\x07\r\u202e\x9b")


def test_a_narrow_terminal_is_refused(study: StudyView) -> None:
    with pytest.raises(ValueError, match="40 columns; expected 60 or more"):
        render_text(study, 40)


def test_a_study_without_cells_says_so() -> None:
    nothing = compare_stages([], baseline="before", candidate="after", relevance={})
    assert "No test was measured in both before and after." in render_text(example(comparison=nothing))


def test_the_table_alone_has_every_cell_and_no_trailing_line() -> None:
    judged = comparison()
    table = comparison_table(judged)
    assert all(cell.cell in table for cell in judged.headline)
    assert not table.endswith("\n")
    assert table in render_text(example(comparison=judged), verbose=True)


def test_the_verdict_is_the_end_and_what_is_unchanged_a_count(study: StudyView) -> None:
    brief, verbose = render_text(study), render_text(study, verbose=True)
    verdict = verdict_sentence(study.comparison)
    for text in (brief, verbose):
        words = " ".join(text.split())
        assert words.endswith(verdict)
        assert words.count(verdict.partition(". ")[0]) == 1
    marks = r"[▼▲=?≈] (?:slower|worse|undecided|same|real)"
    rows = re.findall(marks, brief)
    assert (len(rows), len(re.findall(marks, verbose))) == (5, 8)
    assert "3 tests without a relevant change" in brief
    passed = [check.name for check in study.trust if check.state == "ok"]
    assert f"[✓] {len(passed)} checks passed" in brief
    assert all(f"[✓] {name}" in verbose for name in passed)
    assert study.identity["plan"] in verbose
    assert study.identity["plan"] not in brief
    assert study.identity["kernel"] in " ".join(brief.split())


def test_undecided_tests_beyond_five_are_a_count() -> None:
    made = [
        msgspec.structs.replace(s, run=i * 100_000 + s.run, cell=f"{s.cell}, part {i}")
        for i in range(7)
        for s in samples(blocks=2)
        if s.cell == "throughput.random_write 4 MiB"
    ]
    judged = compare_stages(made, baseline="before", candidate="after", relevance={})
    undecided = [cell for cell in judged.cells if cell.verdict == "undecided"]
    assert len(undecided) == 7
    brief = render_text(example(comparison=judged))
    assert brief.count("? undecided") == 5
    assert "2 more tests undecided" in brief


@pytest.mark.parametrize(("seal", "is_shown"), [("none: the folder is unsealed", True), ("3fa9" * 16, False)])
def test_a_missing_seal_is_reported_always(study: StudyView, seal: str, is_shown: bool) -> None:
    sealed = example(identity={**study.identity, "seal": seal})
    assert (f"seal: {seal}" in " ".join(render_text(sealed).split())) is is_shown


def test_a_wide_table_has_both_values() -> None:
    judged = comparison()
    row = next(line for line in comparison_table(judged, 100).splitlines() if "random_write 4 KiB" in line)
    assert re.search(r"iops\.random_write 4 KiB +11,788 IOPS +8,408 IOPS +-28\.5 %", row)
    assert "IOPS" not in comparison_table(judged, 99)


def test_a_long_table_is_cut_and_says_where_the_rest_is() -> None:
    many = [
        msgspec.structs.replace(s, run=i * 100_000 + s.run, cell=f"{s.cell}, part {i}")
        for i in range(15)
        for s in samples(blocks=2)
    ]
    table = comparison_table(compare_stages(many, baseline="before", candidate="after", relevance={}))
    assert len(re.findall("[▼▲=?≈] (?:slower|faster|worse|better|same|undecided|real)", table)) == 60 + 30
    assert "The 60 of 90 tests that changed most; the other 30 are in the page" in table
