"""How IOR lays out a file, drawn from its parameters: segments, in them one block per task, in it transfers.

Models the file from its start. What does not fit is not drawn and is said: at most three segments and eight transfers.
"""

from __future__ import annotations

from typing import Any, Final

from mileage.plan.sizes import format_bytes
from mileage.report import vega
from mileage.report.evidence import Layout
from mileage.report.theme import INK, INK_ON_PALE, PALE_COLOURS, SMALL_FONT_SIZE, marks, texts

_SEGMENTS: Final = 3
_TASKS: Final = 6
_TRANSFERS: Final = 8
_WIDTH: Final = 900
_HEIGHT: Final = 74


def layout_chart(layout: Layout) -> vega.Spec:
    """The start of the file."""
    segments, tasks = min(layout.segments, _SEGMENTS), min(layout.tasks, _TASKS)
    transfers = min(max(layout.block_bytes // layout.transfer_bytes, 1), _TRANSFERS)
    blocks: list[dict[str, Any]] = []
    lines: list[dict[str, Any]] = []
    heads: list[dict[str, Any]] = []
    for segment in range(segments):
        start = segment * (tasks + 0.35)
        heads.append({"x": start, "y": 2.3, "words": f"segment {segment}"})
        for task in range(tasks):
            at = start + task
            colour = PALE_COLOURS[task % len(PALE_COLOURS)]
            blocks.append(
                {"x": at, "right": at + 0.97, "y": 0, "top": 1.7, "colour": colour, "words": f"task {task}"}
            )
            lines += [{"x": at + 0.97 * k / transfers, "y": 0, "top": 0.7} for k in range(1, transfers)]
    end = segments * (tasks + 0.35)
    x = vega.channel("x:Q", scale=vega.scale(domain=[0, end], nice=False), axis=None)
    y = vega.channel("y:Q", scale=vega.scale(domain=[0, 2.7], nice=False), axis=None)
    named = [{**block, "x": block["x"] + 0.485, "y": 1.2} for block in blocks]
    return vega.layered(
        [
            marks(blocks)
            .mark("rect", aria=False, stroke=INK, strokeWidth=0.6)
            .encode(x=x, x2="right:Q", y=y, y2="top:Q", color=vega.channel("colour:N", scale=None)),
            marks(lines).mark("rule", color=INK, strokeWidth=0.6, aria=False).encode(x=x, y=y, y2="top:Q"),
            texts(named, color=INK_ON_PALE, fontSize=11).encode(x=x, y=y, text="words:N"),
            texts(heads, color=INK, align="left", fontSize=SMALL_FONT_SIZE).encode(x=x, y=y, text="words:N"),
        ],
        width=_WIDTH,
        height=_HEIGHT,
    )


def layout_words(layout: Layout) -> str:
    """The same in a sentence, with all figures."""
    inside = layout.block_bytes // layout.transfer_bytes
    files = "one file for all tasks" if layout.shared else "a file for each task"
    return (
        f"{layout.name}: {layout.segments:,} segments of {layout.tasks} blocks, one for each task; a block is "
        f"{format_bytes(layout.block_bytes)}, {inside:,} transfer{'' if inside == 1 else 's'} of "
        f"{format_bytes(layout.transfer_bytes)}; {files}. Drawn: the first {min(layout.segments, _SEGMENTS)} segments, "
        f"at most {_TASKS} tasks and {_TRANSFERS} transfers of a block."
    )
