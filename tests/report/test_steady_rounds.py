"""SNIA's steady-state figure, for rounds whose window is known by arithmetic."""

import pytest

from mileage.judge.steady_state import pts_line, pts_window
from mileage.report import render_html
from mileage.report.chart_data import ChartData, SteadyRounds
from mileage.report.steady_rounds import steady_chart, steady_words
from tests.report.conftest import example

RATES = [300e6, 200e6, 104e6, 102e6, 100e6, 98e6, 96e6]
ROUNDS = SteadyRounds(
    name="churn",
    rates_bytes_per_s=RATES,
    first=2,
    mean=100e6,
    range=8e6,
    line=(104e6, 96e6),
    steady=True,
)


def test_the_window_is_that_of_the_rule() -> None:
    window = pts_window(RATES, len(RATES) - 1)
    assert (window.first, window.mean, window.range, window.steady) == (2, 100e6, 8e6, True)
    assert pts_line(RATES[2:]) == pytest.approx(ROUNDS.line)


def test_the_figure_has_rounds_window_slope_and_limits() -> None:
    chart = steady_chart([ROUNDS])
    assert chart is not None
    layers = chart["concat"][0]["layer"]
    drawn = [(layer["mark"]["type"], [row["y"] for row in layer["data"]["values"]]) for layer in layers]
    assert drawn[1:] == [
        ("rule", [90.0, pytest.approx(110.0)]),
        ("rule", [100.0]),
        ("line", [104.0, 96.0]),
        ("line", [rate / 1e6 for rate in RATES]),
    ]
    assert layers[0]["data"]["values"][0]["x"] == 2.6
    expected = (
        "churn: steady in rounds 3 to 7, mean 100 MB/s, range 8.0 % (limit 20 %), slope 8.0 % (limit 10 %)"
    )
    assert steady_words([ROUNDS]) == expected
    assert steady_chart([]) is None
    page = render_html(example(evidence=ChartData(steady=[ROUNDS])))
    assert "steady-state-title" in page
    assert expected in page
