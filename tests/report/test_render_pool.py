"""Drawing in processes of their own: a refusal of the renderer is reported, a lost process is replaced."""

import os
import signal

import pytest

from mileage.report import render_pool, vega
from mileage.report.theme import FONT

CHART = vega.layered([vega.Marks([{"x": 1}]).mark("point").encode(x="x:Q")], width=40, height=40)


def test_a_chart_is_drawn() -> None:
    svg = render_pool.svg_of(CHART, name="one", title="A title", description="").result()
    assert svg.startswith("<svg")
    assert ">A title</title>" in svg
    drawn, png = render_pool.files_of(svg, where="Above", caption="Below").result()
    assert ">A title: Above</text>" in drawn
    assert png.startswith(b"\x89PNG")


def test_a_refusal_of_the_renderer_is_reported_and_the_next_chart_drawn() -> None:
    with pytest.raises(ValueError, match="Vega-Lite"):
        render_pool.svg_of(
            {"mark": {"type": 5}, "data": {"values": []}}, name="n", title="", description=""
        ).result()
    assert render_pool.svg_of(CHART, name="n", title="", description="").result()


def test_processes_that_were_killed_are_replaced() -> None:
    render_pool.svg_of(CHART, name="n", title="", description="").result()
    for process in render_pool._STARTED:
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
    assert render_pool.svg_of(CHART, name="n", title="", description="").result()


def test_characters_that_may_be_missing_are_drawn_with_the_fonts_of_the_machine() -> None:
    for letter in "▲▼≈=?■◄►×–−µ²…éŁΩЖ\N{NO-BREAK SPACE}":
        assert not render_pool._FOREIGN.search(letter), letter
    for letter in "漢א\U0001f600\N{ARABIC LETTER BEH}":
        assert render_pool._FOREIGN.search(letter), letter


def test_the_renderer_has_every_letter_that_is_drawn_with_its_own_fonts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def drawn(words: str) -> bytes:
        text = f'<text x="2" y="30" font-size="24" font-family="{FONT}">{words}</text>'
        return render_pool.files_of(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 40" width="40" height="40"><a/><b/>{text}</svg>',
            where="", caption="",
        ).result()[1]  # fmt: skip

    messages = [chr(code) for code in range(0xA1, 0x2600) if not render_pool._FOREIGN.search(chr(code))]
    # What no font has is drawn as nothing at all.
    blank = drawn("\N{NO-BREAK SPACE}")
    assert [letter for letter in messages if letter != "\N{SOFT HYPHEN}" and drawn(letter) == blank] == []
