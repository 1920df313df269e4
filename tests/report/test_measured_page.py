"""The page of a study that compares nothing takes no orders from the texts in it."""

from msgspec.structs import replace

from mileage.report.measured_page import MeasuredPage, render_measured
from mileage.report.measured_pictures import measured_pictures
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


def test_a_change_of_level_is_drawn_and_told_for_runs_of_one_cell_only() -> None:
    one = hostile_view("one").evidence
    several = replace(one, runs=[*one.runs, replace(one.runs[0], arm="another")])
    drawn = {
        name: next(picture for picture in measured_pictures(found, "cell") if picture.name == "runs")
        for name, found in {"one": one, "several": several}.items()
    }
    told = {name: ("level changes at" in picture.caption.lower()) for name, picture in drawn.items()}
    dashed = {name: "stroke-dasharray" in picture.svg for name, picture in drawn.items()}
    assert told == dashed == {"one": True, "several": False}
