"""The method section is what was agreed for each built-in study, and says nothing that its plan does not."""

import re
from pathlib import Path

import msgspec
import pytest

from mileage.app import load, plan
from mileage.plan import Plan, builtin_names
from mileage.report.method import method_text
from mileage.report.text import paragraphs
from tests.command import mileage

AGREED = Path(__file__).with_name("methods")


def output(name: str, folder: Path) -> str:
    """The text with what depends on the machine (the target's folder and its size) as characters."""
    target = f"dir:{folder}" if name == "kernel" else None
    text = method_text(plan(name, target=target), version="1.2.3", started="2026-11-22T03:00:00+00:00")
    text = re.sub(r"hash [0-9a-f]{16}", "hash 0123456789abcdef", text)
    if target is not None:
        text = re.sub(re.escape(target) + r", [0-9.]+ [GTM]iB", "dir:PLACE, SIZE", text)
    return paragraphs(text, 100)


@pytest.mark.parametrize("name", builtin_names())
def test_the_method_of_a_built_in_study_is_what_was_agreed(name: str, tmp_path: Path) -> None:
    assert output(name, tmp_path) == (AGREED / f"{name}.txt").read_text(encoding="utf-8")


def changed(**keys: object) -> str:
    base = plan("degradation")
    return method_text(msgspec.structs.replace(base, study=msgspec.structs.replace(base.study, **keys)))


def test_each_sentence_follows_its_key() -> None:
    usual = changed()
    assert "Student's t on the 3 log ratios, each less the idle control's" in usual
    assert "There was no idle control" in changed(sham=False)
    assert "less the idle control's" not in changed(sham=False) + changed(sham=False, cycles=1)
    one = changed(cycles=1)
    assert "The one cycle began" in one
    assert "cannot say whether another cycle would agree" in one
    assert "Student's t on" not in one
    assert "any drift looks like a difference" in changed(order="blocked")
    assert "DNF (did not finish), which" not in changed(on_failure="stop")
    assert "seed 7;" in changed(seed=7)


def test_nothing_is_compared_where_nothing_is() -> None:
    base = plan("degradation")
    compare = msgspec.structs.replace(base.study.compare, baseline=None, candidate=None)
    stages = tuple(stage for stage in base.study.stage if stage.name in ("prepare", "before"))
    study = msgspec.structs.replace(base.study, compare=compare, stage=stages)
    text = method_text(msgspec.structs.replace(base, study=study))
    assert study.baseline is None
    assert "Nothing is compared" in text
    assert "Holm" not in text


def test_a_plan_of_levels_speaks_of_blocks_and_a_label_of_sessions(
    tmp_path: Path,
) -> None:
    levels: Plan = plan("compressibility")
    assert "log ratios of the two levels in each block" in method_text(levels)
    label = method_text(plan("kernel", target=f"dir:{tmp_path}"))
    assert "what else differed between the sessions" in label
    assert "Each block of a part held every cell once" in label
    assert "next to each other" not in label


def test_an_imported_study_claims_nothing_that_mileage_did(tmp_path: Path) -> None:
    sample = Path(__file__).parents[1] / "formats" / "samples" / "fio-client.json"
    done = mileage("import", str(sample), "--out", str(tmp_path / "s"))
    assert done.returncode == 0, done.stderr
    text = load(tmp_path / "s").method()
    assert "fio-client.json" in text.replace("\n", "")
    assert "Mileage measured nothing here" in " ".join(text.split())
    assert not [word for word in ("randomised", "purge", "drawn from the seed", "Audits") if word in text]


def test_a_varied_page_cache_is_described_for_all_its_levels(tmp_path: Path) -> None:
    study = tmp_path / "caches.toml"
    frame = f"""
        name = "caches"
        target = "dir:{tmp_path}"
        cycles = 1
        [[stage]]
        name = "measured"
        measure = ["read"]
        [measure.read]
        workload = ["iops.random_write"]
        record = "4KiB"
        stop = {{ time = "1s" }}
        repeat = 2
        [state]
        file = "64MiB"
    """
    study.write_text(f'{frame}\n[factor.cache]\nlevels = ["direct", "warm", "limited:96MiB"]\n')
    text = " ".join(method_text(plan(study)).split())
    assert (
        "The page cache was not the same for all cells: page cache bypassed; page cache used; "
        "page cache emptied, then within 96 MiB of memory." in text
    )
    study.write_text(f'{frame}\ncache = "limited:96MiB"\n')
    assert "The page cache was emptied, and held within 96 MiB of memory." in method_text(plan(study))
