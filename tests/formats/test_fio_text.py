"""fio's normal and terse output have the figures of its JSON; each file here is a part of one call's output."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from mileage.errors import Refused
from mileage.formats.result import ToolRun
from tests.formats.sample_reader import SAMPLES, by_cell, of, of_text

NORMAL = SAMPLES / "fio-three-jobs.out"
TERSE = SAMPLES / "fio-three-jobs.terse"
DIRECTIONS = ("read", "write", "trim")


def jobs(name: str) -> dict[str, list[dict[str, Any]]]:
    """The jobs of fio's JSON by name, as json reads them."""
    found: dict[str, list[dict[str, Any]]] = {}
    for job in json.loads((SAMPLES / name).read_text())["jobs"]:
        found.setdefault(job["jobname"], []).append(job)
    return found


def figures(same: list[dict[str, Any]]) -> tuple[float, float, float]:
    """Bytes per second, operations per second and seconds of jobs side by side."""
    parts = [job[direction] for job in same for direction in DIRECTIONS]
    seconds = max(part["runtime"] for part in parts) / 1000
    return (
        sum(part["io_bytes"] for part in parts) / seconds,
        sum(part["total_ios"] for part in parts) / seconds,
        seconds,
    )


def total(same: list[dict[str, Any]], direction: str, name: str) -> int:
    return sum(job[direction][name] for job in same)


def check_exact(run: ToolRun, same: list[dict[str, Any]]) -> None:
    assert (run.rate_bytes_per_s, run.ops_per_s, run.elapsed_s) == pytest.approx(figures(same), rel=1e-12)
    assert (run.bytes_read, run.bytes_written) == (
        total(same, "read", "io_bytes"),
        total(same, "write", "io_bytes"),
    )
    assert (run.ops_read, run.ops_written) == (
        total(same, "read", "total_ios"),
        total(same, "write", "total_ios"),
    )


def test_normal_output_has_the_exact_figures_of_the_json() -> None:
    result = of(NORMAL)
    runs = {run.levels["job"]: run for run in result.runs}
    assert (result.tool, result.version, result.unread, result.lost) == ("fio", "3.33", [], [])
    assert set(runs) == {"four", "seq"}
    for name, same in jobs("fio-three-jobs.json").items():
        check_exact(runs[name], same)


def test_latencies_of_normal_output_are_rounded_to_their_unit() -> None:
    run = next(run for run in of(NORMAL).runs if run.levels["job"] == "seq")
    latency = jobs("fio-three-jobs.json")["seq"][0]["write"]["clat_ns"]
    expected = {
        name: latency["percentile"][f"{percent:.6f}"]
        for name, percent in (("p50", 50), ("p90", 90), ("p99", 99), ("p99_9", 99.9))
    }
    expected |= {name: latency[name] for name in ("mean", "min", "max")}
    assert run.quantiles_ns == pytest.approx(expected, abs=1000)
    assert run.latency_p99_ns == run.quantiles_ns["p99"]


def test_normal_output_and_json_are_one_cell_in_a_comparison() -> None:
    assert set(by_cell(of(NORMAL))) == set(by_cell(of(SAMPLES / "fio-three-jobs.json")))


def test_clones_are_one_run_and_other_jobs_of_the_group_are_noted() -> None:
    for path in (NORMAL, TERSE):
        first, second = of(path).runs
        assert first.levels["jobs"] == "2"
        assert "percentiles of 2 jobs cannot be joined" in first.notes[0]
        assert (first.levels["concurrent"], second.levels["concurrent"]) == ("seq", "four")
        assert (first.latency_p99_ns, first.call) == (None, second.call)


@pytest.mark.parametrize(
    ("terse", "report"),
    [
        ("fio-three-jobs.terse", "fio-three-jobs.json"),
        ("fio-terse-4.terse", "fio-terse-4.json"),
        ("fio-terse-5.terse", "fio-terse-5.json"),
    ],
)
def test_terse_output_has_the_figures_of_the_json_in_whole_kib_and_operations(
    terse: str, report: str
) -> None:
    result = of(SAMPLES / terse)
    assert (result.version, result.unread) == ("3.33", [])
    expected = jobs(report)
    runs = {run.levels["job"]: run for run in result.runs}
    assert set(runs) == set(expected)
    for name, same in expected.items():
        rate, ops, seconds = figures(same)
        run = runs[name]
        assert run.rate_bytes_per_s == pytest.approx(rate, abs=1024 * len(same) * 2 / seconds)
        assert run.ops_per_s == pytest.approx(ops, abs=2 * len(same))
        assert run.elapsed_s == seconds
        assert run.bytes_written == pytest.approx(total(same, "write", "io_bytes"), abs=1024 * len(same))
        if len(same) == 1:
            most = max(DIRECTIONS, key=lambda direction: total(same, direction, "total_ios"))
            p99_ns = same[0][most]["clat_ns"]["percentile"]["99.000000"]
            assert run.latency_p99_ns == p99_ns // 1000 * 1000


def test_a_group_of_different_jobs_has_no_options() -> None:
    (run,) = of(SAMPLES / "fio-group.out").runs
    assert (run.cell, run.ops_read, run.ops_written) == ("fio.group of a and others", 68019, 35401)
    assert run.rate_bytes_per_s == pytest.approx((266 + 277) * 2**20 / 1.001, rel=0.005)
    assert "the jobs a, b" in run.notes[0]


def test_depth_and_engine_come_from_the_line_before_the_start() -> None:
    (run,) = of(SAMPLES / "fio-depth-8.out").runs
    assert (run.cell, run.outstanding) == ("fio.randread 4 KiB, depth 8", 8)
    assert run.latency_p99_ns == 4_424_000
    assert run.rate_bytes_per_s == pytest.approx(30437 * 4096 / 2.004, rel=1e-12)
    assert run.latency_sum_ns == pytest.approx(30437 * 525_610)


def test_calls_appended_to_one_file_are_repetitions(tmp_path: Path) -> None:
    text = (SAMPLES / "fio-depth-8.out").read_text()
    result = of_text(tmp_path, text + text.replace("30437", "30000"))
    assert [run.ops_read for run in result.runs] == [30437, 30000]
    assert len({run.call for run in result.runs}) == 2
    line = (SAMPLES / "fio-terse-4.terse").read_text()
    other = line.replace(";vda;", ";vdb;")
    assert other != line
    assert len(of_text(tmp_path, line + other).runs) == 2


def changed(line: str, **fields: str) -> str:
    """A terse line with other fields, by their number."""
    texts = line.split(";")
    for name, text in fields.items():
        texts[int(name.removeprefix("f"))] = text
    return ";".join(texts)


def test_terse_lines_that_may_be_jobs_or_runs_are_refused(tmp_path: Path) -> None:
    """Neither no statistics of disks nor zeros of them, of runs from the page cache, distinguish anything."""
    line = (SAMPLES / "fio-terse-4.terse").read_text().rstrip("\n")
    without = line.split(";")[:-9]
    for one in (";".join(without), ";".join([*without, "vda", *["0"] * 7, "0.00%"])):
        assert len(of_text(tmp_path, one + "\n").runs) == 1
        with pytest.raises(Refused, match=r"a second line of job 'mix' in group 0.*group_reporting"):
            of_text(tmp_path, f"{one}\n{changed(one, f5='77')}\n")
    assert of_text(tmp_path, f"{line}\n{changed(line, f5='77')}\n").runs[0].levels["jobs"] == "2"


def test_a_terse_line_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    line = (SAMPLES / "fio-terse-4.terse").read_text()
    with pytest.raises(Refused, match="line 2: the same as line 1"):
        of_text(tmp_path, line * 2)


@pytest.mark.parametrize("disk", ["vda", "vdb"])
def test_terse_status_reports_are_refused(tmp_path: Path, disk: str) -> None:
    """The last report may have the disk statistics of the one before it, or others."""
    line = (SAMPLES / "fio-terse-4.terse").read_text().rstrip("\n")
    first = changed(line, f5="100", f8="900", f46="50", f49="900").replace(";vda;", f";{disk};")
    with pytest.raises(Refused, match=r"line 2: job 'mix' with totals that continue those of line 1.*status"):
        of_text(tmp_path, f"{first}\n{line}\n")


def test_other_versions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"terse version 2; expected version 3, 4 or 5"):
        of_text(tmp_path, "2;card0;0;0;" + "1;" * 60 + "\n")
    with pytest.raises(Refused, match=r"fio-2\.21; expected fio 3"):
        of_text(tmp_path, TERSE.read_text().replace("fio-3.33", "fio-2.21"))
    with pytest.raises(Refused, match=r"fio-2\.21; expected fio 3"):
        of_text(tmp_path, NORMAL.read_text().replace("fio-3.33", "fio-2.21"))


def test_a_run_without_a_result_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no result of a job of fio was understood; was the run interrupted"):
        of_text(tmp_path, "".join(NORMAL.read_text().splitlines(keepends=True)[:7]))


def test_a_damaged_first_line_of_a_job_costs_that_job_only(tmp_path: Path) -> None:
    text = NORMAL.read_text().replace("seq: (groupid=0, jobs=1)", "seq: (groupid=0, jobs=x)")
    result = of_text(tmp_path, text)
    assert [run.levels["job"] for run in result.runs] == ["four"]
    assert "write: IOPS=2666" in " ".join(entry.text for entry in result.unread)


def test_bytes_that_do_not_fit_the_block_size_stay_rounded(tmp_path: Path) -> None:
    text = (SAMPLES / "fio-depth-8.out").read_text().replace("(119MiB/", "(100MiB/")
    (run,) = of_text(tmp_path, text).runs
    assert (run.bytes_read, run.rate_bytes_per_s) == (None, 59.3 * 2**20)


def test_status_reports_are_one_run_and_the_last_counts(tmp_path: Path) -> None:
    (run,) = of(SAMPLES / "fio-status.out").runs
    # The run status group of the last report: io=7208KiB, run=3001-3001msec.
    assert (run.bytes_read, run.elapsed_s, run.levels["jobs"]) == (7208 * 1024, 3.001, "2")
    assert run.ops_per_s == pytest.approx(1802 / 3.001)
    assert "4 status reports of one run" in run.notes[-1]
    torn = of_text(tmp_path, (SAMPLES / "fio-status.out").read_text().rpartition("four: (groupid")[0])
    assert [(run.ops_read, run.elapsed_s) for run in torn.runs] == [(1722, 2.864)]
    assert torn.lost == ["the status report that begins in line 154 is damaged; the one before it is used"]


def test_calls_without_their_first_lines_are_repetitions(tmp_path: Path) -> None:
    text = (SAMPLES / "fio-depth-8.out").read_text()
    begin = text.index("\n", text.index("(g=0)")) + 1
    name, date = re.findall(r"(pid=[0-9]+): (.*)", text)[0]
    later = text.replace(date, date[:-4] + "2030").replace("30437", "30500")
    for second in (later, later.replace(name, "pid=77")):
        result = of_text(tmp_path, text[begin:] + second[begin:])
        assert [run.ops_read for run in result.runs] == [30437, 30500]
        assert len({run.call for run in result.runs}) == 2


@pytest.mark.parametrize(("reads", "share"), [(6940, 70), (7060, 70), (4940, 50), (9990, 99), (20, 1)])
def test_a_mix_that_varies_by_half_a_percent_is_one_cell(tmp_path: Path, reads: int, share: int) -> None:
    """The text has no rwmixread, so the share in the label is measured: in steps, or repetitions would be cells."""
    text = re.sub(
        r"(issued rwts: total=)[0-9]+,[0-9]+,0",
        rf"\g<1>{reads},{10_000 - reads},0",
        NORMAL.read_text(),
    )
    cells = [run.cell for run in of_text(tmp_path, text).runs]
    assert f"fio.randrw 4 KiB, {share} % reads, 2 jobs" in cells


def test_clients_are_one_run_and_the_sum_that_fio_prints_is_another() -> None:
    """Run status groups of the two clients: io=3200KiB each, in 2002 and 2001 ms."""
    result = of(SAMPLES / "fio-clients.out")
    runs = by_cell(result)
    assert set(runs) == {"fio.randread 4 KiB, 4 jobs", "fio.all clients"}
    for run in runs.values():
        assert (run.bytes_read or run.rate_bytes_per_s) in (6400 * 1024, 3197 * 1024)
        assert (run.ops_read, run.elapsed_s) == (1600, 2.002)
        assert "concurrent" not in run.levels
    assert (result.version, result.machine, result.unread) == ("3.33", {"host": "host"}, [])


def test_reads_of_verify_are_no_part_of_the_rate(tmp_path: Path) -> None:
    """io=4096KiB in 6 ms of writing; reading back took 12 ms."""
    path = SAMPLES / "fio-verify.out"
    (run,) = of(path).runs
    assert (run.cell, run.elapsed_s, run.bytes_written) == ("fio.write 4 KiB", 0.006, 4096 * 1024)
    assert run.rate_bytes_per_s == pytest.approx(4096 * 1024 / 0.006)
    assert (run.ops_read, run.counters, run.quantiles_ns["p50"]) == (None, {"verified_ops": 1024}, 3000)
    bare = path.read_text().split("\n", 1)[1]
    (unknown,) = of_text(tmp_path, bare).runs
    assert "taken for one mix; the file does not state the pattern" in unknown.notes[-1]
    (slow,) = of_text(tmp_path, bare.replace("(4096KiB/12msec)", "(4096KiB/1200msec)")).runs
    assert (slow.rate_bytes_per_s, slow.ops_per_s, slow.elapsed_s) == (None, None, None)
    assert "reads took 1.2 s and writes 0.006 s, so they are no mix" in slow.notes[-1]


def test_terse_reads_and_writes_of_unequal_times_have_no_rate_together(tmp_path: Path) -> None:
    line = (SAMPLES / "fio-terse-4.terse").read_text().rstrip("\n")
    (mix,) = of_text(tmp_path, line + "\n").runs
    assert mix.rate_bytes_per_s
    assert "one mix" in mix.notes[-1]
    (phases,) = of_text(tmp_path, changed(line, f49="9000") + "\n").runs
    assert (phases.rate_bytes_per_s, phases.ops_per_s) == (None, None)
    assert "they are no mix" in phases.notes[-1]


def test_lines_of_syncs_are_of_no_direction() -> None:
    result = of(SAMPLES / "fio-sync.out")
    (run,) = result.runs
    assert result.unread == []
    assert (run.quantiles_ns["p50"], run.quantiles_ns["max"]) == (14_000, 246_000)
    assert dict(run.printed)["sync 50.00th (ns)"] == 3_818_000


@pytest.mark.parametrize("torn", ["  wri#e: IOPS=", "  mixed: IOPS=", "write: IOPS="])
def test_latencies_below_a_damaged_direction_are_of_no_other_one(tmp_path: Path, torn: str) -> None:
    text = (SAMPLES / "fio-verify.out").read_text().split("\n", 1)[1]
    result = of_text(tmp_path, text.replace("  write: IOPS=", torn))
    (run,) = result.runs
    assert (run.quantiles_ns["p50"], run.quantiles_ns["max"]) == (1144, 8522)
    assert len(result.unread) == 9


def test_a_job_that_reads_and_has_writes_holds_others(tmp_path: Path) -> None:
    """The line that lists the second job of the group is damaged."""
    text = (SAMPLES / "fio-group.out").read_text().replace("b: (g=0): rw=randwrite", "b# (g=0)- rw=randwrite")
    (run,) = of_text(tmp_path, text).runs
    assert run.cell == "fio.group of a and others"
