"""What a study shows while it runs: what is known, in 80 columns; a line a minute in a log; no power for names."""

import re
from pathlib import Path

import msgspec
import pytest

from mileage.app import load
from mileage.app import plan as planned
from mileage.app import run as do
from mileage.app.result import StudyResult
from mileage.execute.live_view import CountedProgress, StudyStatus, Terminal
from mileage.model.histogram import Histogram
from mileage.model.run_record import RunRecord
from mileage.plan.estimate import remaining_s
from tests.execute.conftest import Small
from tests.terminal.test_streams import SHOUT, on_terminal

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


class Clock:
    """Seconds as a test says."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> StudyResult:
    folder = tmp_path_factory.mktemp("live")
    do(Small(folder).virtual(cycles=1)[0], out=folder / "s")
    return load(folder / "s")


def records(study: StudyResult) -> list[RunRecord]:
    return [entry.record for entry in study.content().runs()]


def test_the_lines_say_where_it_is_and_what_was_seen(study: StudyResult) -> None:
    clock = Clock()
    view = Terminal(clock)
    view.start(study.plan, {}, 1)
    view.stage("cycle 1/1 before")
    run = study.plan.runs[1]
    view.run(run)
    for megabytes in (1, 2, 4, 8):
        view.advance(megabytes << 20)
        clock.now_s += 0.5
        lines = view.lines(80)
    view.finished(run, records(study)[1])
    lines = view.lines(80)
    output = "\n".join(lines)
    assert all(len(line) <= 80 for line in lines)
    assert lines[0].startswith("cycle 1/1 before: small on virtual:")
    assert f"1 of {len(study.plan.runs)} runs" in lines[2]
    assert "left" in lines[2]
    assert f"cell        {run.cell}" in lines
    assert re.search("▂▃▅█ 16(.0)? MiB/s", output)
    assert re.search(r"latency     p50 \S+ \S+  p99 \S+ \S+  max ", output)
    assert "drive       write amplification" in output


@pytest.mark.parametrize(("count", "shown"), [(999, False), (1000, True)])
def test_a_percentile_needs_as_many_operations_as_on_the_page(
    study: StudyResult, count: int, shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    buckets = [(5, count - 1), (9, 1)]
    latency = {"read": Histogram(count=count, sum_ns=5 * count + 4, min_ns=5, max_ns=9, buckets=buckets)}
    record = msgspec.structs.replace(records(study)[1], latency=latency)
    standing = StudyStatus(Clock())
    standing.finished(study.plan.runs[1], record)
    assert dict(standing.last())["latency"] == (
        "p50 5 ns  p99 5 ns  max 9 ns" if shown else "p50 5 ns  max 9 ns"
    )


def test_the_time_left_is_that_of_the_plan_and_counts_down(study: StudyResult) -> None:
    clock = Clock()
    standing = StudyStatus(clock)
    assert standing.left_s() is None
    standing.start(study.plan, {0: 2.0}, 1)
    expected = remaining_s(study.plan, {0: 2.0}, lanes=1)
    assert standing.left_s() == pytest.approx(expected)
    clock.now_s += 0.5
    assert standing.left_s() == pytest.approx(expected - 0.5)


def test_a_log_has_a_line_a_minute(study: StudyResult, capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with Terminal(clock) as view:
        view.start(study.plan, {}, 1)
        view.stage("cycle 1/1 before")
        view.run(study.plan.runs[1])
        for _ in range(400):
            view.advance(1 << 20)
            clock.now_s += 0.5
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(",")[:2] for line in lines] == [
        [f"  {minutes} min", " cycle 1/1 before"] for minutes in (1, 2, 3)
    ]
    assert all("MiB/s" in line and "left" in line for line in lines)
    assert not set("".join(lines)) & set("\x1b\r")


def test_what_takes_less_than_a_minute_prints_nothing_into_a_log(
    study: StudyResult, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Clock()
    with Terminal(clock) as view, CountedProgress("sweep", 20, clock) as counted:
        view.start(study.plan, {}, 1)
        for stage in range(20):
            view.stage(f"stage {stage}")
            view.run(study.plan.runs[1])
            view.advance(1)
            counted.advance()
            clock.now_s += 2.9
    assert capsys.readouterr().err == ""


def test_a_search_shows_no_end_and_cells_have_the_names_of_the_command(study: StudyResult) -> None:
    run = next(run for run in study.plan.runs if run.role == "measure")
    view = Terminal(Clock(), labels={run.cell: "reads"}, endless=True)
    view.start(study.plan, {}, 1)
    view.stage("searching")
    view.run(run)
    assert [line.split(":")[0] for line in view.lines(80)] == ["searching", "cell        reads"]


@pytest.mark.parametrize("width", [80, 120])
def test_studies_done_one_by_one_look_the_same(width: int, capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with CountedProgress("sweep of op over spare", 8, clock) as view:
        for _ in range(2):
            clock.now_s += 45
            view.advance()
        name, drawn, far = view.lines(width)
    assert (name, far) == ("sweep of op over spare", "25 %  2 of 8 studies  about 4 min left")
    assert (drawn.count("━"), drawn.count("─")) == ((width - 2) // 4, width - 2 - (width - 2) // 4)
    assert capsys.readouterr().err == "  1 min, 25 %, 2 of 8 studies, about 4 min left\n"


def test_bytes_done_are_shown_with_their_rate(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with CountedProgress("", 4 << 30, clock, unit="bytes") as view:
        for part in ("filling", "random writes"):
            view.step(part)
            poll = view.advance_to()
            for byte_count in (1 << 29, 1 << 30):
                clock.now_s += 35
                assert not poll(byte_count, 7)
        assert [view.lines(80)[0], view.lines(80)[2]] == [
            "random writes",
            "50 %  2 GiB of 4 GiB  15 MB/s  about 2 min left",
        ]
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "  1 min, 25 %, 1 GiB of 4 GiB, 15 MB/s, about 4 min left",
        "  2 min, 50 %, 2 GiB of 4 GiB, 15 MB/s, about 2 min left",
    ]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("setting", "moves"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_on_a_terminal_only_our_own_escapes_arrive(
    small: Small, tmp_path: Path, setting: dict[str, str], moves: bool
) -> None:
    study = small.virtual(cycles=1)[0]
    environment = {"NO_COLOR": "", **setting}
    output, status = on_terminal(["run", study, "--out", SHOUT], tmp_path, **environment)
    assert status == 0, output
    assert "From one cycle" in ESCAPES.sub("", output)
    assert bool(ESCAPES.search(output)) == moves
    own = ESCAPES.sub("", output).replace("\r", "")
    assert not set(own) & set("\x1b\x07\x9b\u202e")
    assert "\\u001b]0;owned" in own
    for words in (["report", SHOUT], ["list", "studies", "."], ["query", "SELECT folder FROM studies"]):
        again, status = on_terminal(words, tmp_path, **environment)
        assert status == 0, again
        assert not set(re.sub(r"\x1b\[[0-9]+m", "", again)) & set("\x1b\x07\x9b\u202e\r")
        assert "\\u001b]0;owned" in again
        assert bool(ESCAPES.search(again)) == (moves and words[0] == "report")


def test_a_refused_study_shows_no_lines(tmp_path: Path) -> None:
    output, status = on_terminal(["run", "degradation", "--target", "virtual:none"], tmp_path)
    assert status == 2
    assert "\x1b" not in output


def test_a_plan_is_enough_to_start(tmp_path: Path) -> None:
    view = Terminal(Clock())
    view.start(planned(quick=True), {}, 2)
    assert "0 of 63 runs" in view.lines(80)[2]
