"""A study that measures nothing has a page, too: it only writes."""

from pathlib import Path

from mileage import app

STUDY = """\
name = "only-torture"
question = "Does it survive?"
target = "virtual:plain-64gib"
[[stage]]
name = "wear"
torture = ["fill"]
[torture.fill]
workload = "throughput.write"
record = "1MiB"
amount = "0.001x"
"""


def test_a_study_without_a_measurement_says_so_and_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(STUDY, encoding="utf-8")
    result = app.run(str(file), out=tmp_path / "study")
    assert "No run was measured." in result.text()
    assert result.folder.report.stat().st_size > 1000
