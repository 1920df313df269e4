"""`mileage new` and `list studies --show`: files that can be run as they are written."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from mileage.app.new_study import write_new_study
from mileage.plan import builtin_names, parse_study
from mileage.plan.builtin import builtin_text
from mileage.targets.filesystem import look_at
from tests.command import mileage


@pytest.mark.parametrize("like", [None, *builtin_names()])
def test_a_new_study_is_valid_as_written(like: str | None, tmp_path: Path) -> None:
    options = () if like is None else ("--like", like)
    done = mileage("new", "my-disk.toml", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "mileage plan my-disk.toml" in done.stdout
    study = parse_study((tmp_path / "my-disk.toml").read_text(), "my-disk.toml")
    assert study.name == "my-disk"
    planned = mileage("plan", "my-disk.toml", cwd=tmp_path)
    assert planned.returncode == 0, planned.stderr


def test_the_target_is_the_one_that_is_given(tmp_path: Path) -> None:
    done = mileage("new", "s.toml", "-t", str(tmp_path), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f'target = "dir:{tmp_path}"' in (tmp_path / "s.toml").read_text()
    assert mileage("plan", "s.toml", "--quick", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("names", "levels"), [(("xfs", "ext4"), ("xfs", "ext4")), (("a/x", "b/x"), ("a", "b"))]
)
def test_two_targets_are_compared(names: tuple[str, str], levels: tuple[str, str], tmp_path: Path) -> None:
    targets = [tmp_path / name for name in names]
    for target in targets:
        target.mkdir(parents=True)
    done = mileage("new", "two.toml", "-t", str(targets[0]), "-t", str(targets[1]), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    study = parse_study((tmp_path / "two.toml").read_text(), "two.toml")
    assert study.factor["drive"].named == dict(
        zip(levels, (f"dir:{target}" for target in targets), strict=True)
    )
    assert (study.baseline, study.candidate) == levels
    planned = mileage("plan", "two.toml", "--quick", cwd=tmp_path)
    assert planned.returncode == 0, planned.stderr
    assert f"{levels[1]} with {levels[0]}" in planned.stdout


@pytest.mark.parametrize(("free", "file"), [(600 << 20, "150MiB"), (64 << 30, "1GiB")])
def test_the_work_file_fits_into_what_is_free(
    free: int, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Truth: a study that is refused for want of room is not valid as it stands."""
    ground = replace(look_at(tmp_path), free_bytes=free)
    monkeypatch.setattr("mileage.app.new_study.look_at", lambda place: ground)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    for number in (1, 2):
        targets = [str(tmp_path / name) for name in "ab"[:number]]
        text = write_new_study(tmp_path / f"s{number}.toml", targets=targets)
        assert f'file = "{file}"' in text
        assert parse_study(text, "s").state.file == file


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("old.toml",), "is there already"),
        (("a b.toml",), "letters, digits"),
        (("new.toml", "--like", "degradatoin"), "did you mean 'degradation'?"),
        (("new.toml", "-t", "/no/where"), "does not exist"),
        (("new.toml", "-t", ".", "-t", "/", "--like", "drives"), "measures one target; expected one"),
        (("new.toml", "-t", ".", "-t", ".", "-t", "."), "3 targets; expected one"),
    ],
)
def test_what_cannot_be_written_is_refused(words: tuple[str, ...], expected: str, tmp_path: Path) -> None:
    (tmp_path / "old.toml").write_text("mine")
    done = mileage("new", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert expected in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["old.toml"]
    assert (tmp_path / "old.toml").read_text() == "mine"


def test_a_built_in_study_is_printed_as_it_ships() -> None:
    assert mileage("list", "studies", "--show", "drives").stdout == builtin_text("drives")
    assert mileage("list", "drives", "--show", "drives").returncode == 2
    assert "did you mean 'drives'" in mileage("list", "studies", "--show", "drive").stderr
