"""elbencho's table of phases, of 2020 and later; the figures compared with the last word of each line."""

from __future__ import annotations

from pathlib import Path

import pytest

from mileage.errors import Refused
from tests.formats.made_results import ELBENCHO_TEXT, ELBENCHO_TEXT_2020
from tests.formats.sample_reader import by_cell, of_text

MIB = 1 << 20


def last_words(text: str, phase: str) -> dict[str, str]:
    """Label and last word of each line of a phase."""
    block = next(part for part in text.split("---\n") if f"\n{phase} " in f"\n{part}")
    lines = [line for line in block.splitlines() if " : " in line]
    lines[0] = lines[0].replace(phase, " " * len(phase))
    return {line.partition(" : ")[0].strip(): line.split()[-1] for line in lines}


@pytest.mark.parametrize(("text", "seconds"), [(ELBENCHO_TEXT, 90.196), (ELBENCHO_TEXT_2020, 91.348)])
def test_a_phase_has_the_figures_of_the_last_thread(tmp_path: Path, text: str, seconds: float) -> None:
    result = of_text(tmp_path, text)
    words = last_words(text, "WRITE")
    run = by_cell(result)["elbencho.write"]
    assert run.rate_bytes_per_s == int(words["Throughput MiB/s"]) * MIB
    assert run.ops_per_s == int(words["IOPS"])
    assert run.elapsed_s == pytest.approx(seconds)
    assert (run.kind, run.levels) == ("throughput", {})
    assert dict(run.printed)["Total MiB [last]"] == int(words["Total MiB"])


def test_phases_without_data_and_of_a_mix(tmp_path: Path) -> None:
    result = of_text(tmp_path, ELBENCHO_TEXT)
    found = by_cell(result)
    assert (set(found), result.unread) == (
        {"elbencho.mkdirs", "elbencho.write", "elbencho.rwmix70"},
        [],
    )
    assert (found["elbencho.mkdirs"].ops_per_s, found["elbencho.mkdirs"].kind) == (1980, "iops")
    assert found["elbencho.mkdirs"].elapsed_s == 0.003
    assert found["elbencho.rwmix70"].rate_bytes_per_s == 39 * MIB
    assert found["elbencho.rwmix70"].ops_per_s == 10001
    assert found["elbencho.write"].quantiles_ns == {"min": 211e3, "mean": 13.6e6, "max": 1.21e9}
    assert result.facts == {"line 15": "SYNC"}


def test_a_phase_without_a_rate_is_reported(tmp_path: Path) -> None:
    result = of_text(tmp_path, ELBENCHO_TEXT_2020)
    assert [(entry.line, entry.text) for entry in result.unread] == [(10, "RMFILES")]


def test_a_damaged_first_line_of_a_phase_gives_nothing_to_the_phase_before(tmp_path: Path) -> None:
    result = of_text(tmp_path, ELBENCHO_TEXT.replace("RWMIX70     Elapsed", "rwmix70     Elapsed"))
    assert set(by_cell(result)) == {"elbencho.mkdirs", "elbencho.write"}
    assert len(result.unread) == 7


def test_a_text_without_a_figure_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no phase of elbencho with a figure"):
        of_text(tmp_path, "".join(ELBENCHO_TEXT.splitlines(keepends=True)[:2]))


def test_a_mix_without_its_total_has_the_sum_of_reads_and_writes(tmp_path: Path) -> None:
    lines = [line for line in ELBENCHO_TEXT.splitlines() if " total  " not in line or "Dirs" in line]
    run = by_cell(of_text(tmp_path, "\n".join(lines) + "\n"))["elbencho.rwmix70"]
    assert (run.rate_bytes_per_s, run.ops_per_s) == ((11 + 27) * MIB, 3000 + 7001)
    alone = "\n".join(line for line in lines if " read  " not in line) + "\n"
    assert "elbencho.rwmix70" not in by_cell(of_text(tmp_path, alone))
