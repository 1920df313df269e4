"""Which tests have a figure file of their own, `before_after_TEST`, and what is said of those that have none.

Models the headline cells by their test, in the order of the study. Refuses nothing.
"""

from __future__ import annotations

from typing import Final

from mileage.judge import CellVerdict
from mileage.report.view import StudyView

MOST_TESTS: Final = 30


def drawn_tests(view: StudyView) -> dict[str, list[CellVerdict]]:
    """The cells of each test that is drawn; none where a study has one test, which is drawn as a whole."""
    tests = _by_test(view)
    return dict(list(tests.items())[:MOST_TESTS]) if len(tests) > 1 else {}


def undrawn_tests(view: StudyView) -> list[str]:
    """A sentence on the tests without a file of their own; none where every test has one."""
    count = len(_by_test(view))
    if count <= MOST_TESTS:
        return []
    return [
        f"The first {MOST_TESTS} of {count} tests have a figure file before_after_TEST; the others are in the table "
        "of all cells and in tables/cells.csv."
    ]


def _by_test(view: StudyView) -> dict[str, list[CellVerdict]]:
    tests: dict[str, list[CellVerdict]] = {}
    for cell in view.headline:
        tests.setdefault(view.evidence.test_of(cell.cell), []).append(cell)
    return tests
