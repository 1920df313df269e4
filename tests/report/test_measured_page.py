"""The page of a study that compares nothing takes no orders from the texts in it."""

from mileage.report.measured_page import MeasuredPage, render_measured
from tests.report.test_figures import hostile_view

HOSTILE = "<script>alert(1)</script>\x1b]0;x\x07\u202e"


def test_hostile_texts_are_shown_and_not_obeyed() -> None:
    page = MeasuredPage(
        name=HOSTILE,
        question=HOSTILE,
        target=HOSTILE,
        setting=(HOSTILE,),
        cells=(),
        runs_total=1,
        runs_failed=0,
        method=HOSTILE,
        command=HOSTILE,
        identity={HOSTILE: HOSTILE},
        unfinished=(HOSTILE,),
        evidence=hostile_view(HOSTILE).evidence,
        factor=HOSTILE,
    )
    told = render_measured(page)
    assert told.count("<svg") == 3
    assert "<script>" not in told
    assert not set(told) & set("\x1b\x07\u202e")
    assert told.count("\\u001b]0;x\\u0007\\u202e") >= 9
