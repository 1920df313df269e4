"""DiskSpd's XML gives what its text gives for the same run, also of several timespans, targets and threads."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

import msgspec
import pytest

from mileage.analysis import imported_study
from mileage.errors import Refused
from mileage.formats.result import ToolRun
from mileage.model.imported_record import ImportedRecord, ImportedSeries, ReportedFigures
from mileage.model.journal_entries import ImportedRun
from tests.formats.diskspd_made import Made, text_of, xml_of
from tests.formats.sample_reader import of, of_text

ONE: Final = (Made(),)
TWO_TARGETS: Final = (Made(), Made(path=r"E:\other.dat", block=65536, depth=1, threads=((1000, 0),)))
SPANS: Final = (ONE, TWO_TARGETS, (Made(random=False, write_percent=0, threads=((5000, 0),)),))
XML: Final = xml_of(ONE)


def figures(run: ToolRun) -> dict[str, object]:
    """A run without its position in the file and its names there."""
    found: dict[str, object] = msgspec.to_builtins(run)
    return {name: value for name, value in found.items() if name not in ("line", "call", "printed")}


@pytest.mark.parametrize(
    "spans",
    [
        (ONE,),
        (TWO_TARGETS,),
        SPANS,
        ((Made(write_percent=100),),),
        ((Made(threads=((7, 0),) * 40),),),
        ((Made(depth=1, random=False),), ONE),
    ],
)
def test_text_and_xml_of_one_run_agree(tmp_path: Path, spans: tuple[tuple[Made, ...], ...]) -> None:
    text, xml = of_text(tmp_path, text_of(*spans)), of_text(tmp_path, xml_of(*spans))
    assert (text.layout, xml.layout) == ("diskspd", "diskspd-xml")
    assert (text.unread, text.lost, xml.unread, xml.lost) == ([], [], [], [])
    assert (xml.began, xml.machine, xml.version) == (text.began, text.machine, "2.2.0")
    assert len(xml.runs) == len(spans)
    assert [figures(run) for run in xml.runs] == [figures(run) for run in text.runs]


def independent(text: str) -> list[dict[str, float]]:
    """Each timespan of results, by another parser and another way."""
    found = []
    for span in ElementTree.fromstring(text).findall("TimeSpan"):
        seconds = float(span.findtext("TestTimeSeconds", ""))
        totals = {
            name: sum(int(element.text or "") for element in span.findall(f"Thread/Target/{name}"))
            for name in ("BytesCount", "IOCount", "ReadBytes", "WriteCount")
        }
        percentiles = {
            bucket.findtext("Percentile"): float(bucket.findtext("TotalMilliseconds", ""))
            for bucket in span.findall("Latency/Bucket")
        }
        totals |= {"p50": percentiles["50"], "p99": percentiles["99"], "p99_9": percentiles["99.9"]}
        mean = float(span.findtext("Latency/AverageTotalMilliseconds", ""))
        rates = {"rate": totals["BytesCount"] / seconds, "ops": totals["IOCount"] / seconds}
        found.append({**totals, **rates, "mean": mean, "sum": mean * totals["IOCount"]})
    return found


def test_an_independent_reader_agrees(tmp_path: Path) -> None:
    text = xml_of(*SPANS)
    runs, expected = of_text(tmp_path, text).runs, independent(text)
    assert len(runs) == len(expected) == 3
    for run, truth in zip(runs, expected, strict=True):
        assert (run.rate_bytes_per_s, run.ops_per_s) == pytest.approx((truth["rate"], truth["ops"]))
        assert (run.bytes_read, run.ops_written) == (truth["ReadBytes"], truth["WriteCount"])
        output = {name: truth[name] * 1e6 for name in ("mean", "p50", "p99", "p99_9")}
        assert {name: run.quantiles_ns[name] for name in output} == pytest.approx(output)
        assert run.latency_sum_ns == pytest.approx(truth["sum"] * 1e6)
        assert run.latency_p99_ns == run.quantiles_ns["p99"]


def test_threads_are_summed_and_targets_listed_together(tmp_path: Path) -> None:
    (run,) = of_text(tmp_path, xml_of(TWO_TARGETS)).runs
    assert run.cell == "diskspd.random_mix", "no size is that of all"
    assert run.levels["block size"] == "8192 and 65536"
    assert run.levels["filename"] == r"'D:\made.dat' and 'E:\other.dat'"
    assert (run.ops_read, run.ops_written, run.outstanding) == (76_000, 25_000, 2 * 4 + 1)
    assert run.bytes_read == 75_000 * 8192 + 1000 * 65536


SETTINGS: Final = (
    ("<DisableOSCache>true</DisableOSCache>", "", "cache", "using software cache"),
    ("<WriteThrough>true</WriteThrough>", "", "write cache", "using hardware write cache, writethrough off"),
    ("<DisableOSCache>", "<DisableLocalCache>", "write cache", "hardware and software write caches disabled"),
    ("<Throughput>0", '<Throughput unit="IOPS">100', "rate", "throughput rate-limited to 100 IOPS"),
    ("<Throughput>0", "<Throughput>300", "rate", "throughput rate-limited to 300 B/ms"),
    ("<IOPriority>3", "<IOPriority>1", "IO priority", "very low"),
    ("<RandomAccess>false", "<RandomAccess>true", "hint", "using FILE_FLAG_RANDOM_ACCESS hint"),
    ("<Pattern>sequential", "<Pattern>zero", "write buffers", "zeroing write buffers"),
    ("</Random>", "</Random>\n<RandomRatio>70</RandomRatio>", "pattern", "mixed random and sequential, 70%"),
    ("<BaseFileOffset>0", "<BaseFileOffset>4096", "base file offset", "4096"),
    ("<IOPriority>", "<MemoryMappedIo>true</MemoryMappedIo>\n<IOPriority>", "memory mapped", "memory mapped"),
    ("<Targets>", "<DisableAffinity>true</DisableAffinity>\n<Targets>", "affinity", "affinity disabled"),
    (
        "<Targets>",
        '<Affinity>\n<AffinityGroupAssignment Group="0" Processor="3"/>\n</Affinity>\n<Targets>',
        "affinity",
        "advanced affinity round robin (group/core): 0/3",
    ),
)


@pytest.mark.parametrize(("old", "new", "level", "words"), SETTINGS)
def test_settings_in_the_words_of_the_text(
    tmp_path: Path, old: str, new: str, level: str, words: str
) -> None:
    assert old in XML
    text = XML.replace(old, new).replace("</DisableOSCache>", "</DisableLocalCache>", "Local" in new)
    result = of_text(tmp_path, text)
    assert result.unread == []
    assert result.runs[0].levels[level].startswith(words)


def test_a_pool_of_threads(tmp_path: Path) -> None:
    """-F2 -O8: the target's own depth and threads do not count."""
    head, tail = XML.split("<Targets>")
    head = head.replace("<ThreadCount>0", "<ThreadCount>2").replace("<RequestCount>0", "<RequestCount>8")
    (run,) = of_text(tmp_path, f"{head}<Targets>{tail}").runs
    assert (run.outstanding, run.levels["request count"]) == (16, "8")
    assert "threads per file" not in run.levels


def test_several_documents_in_a_file(tmp_path: Path) -> None:
    """`diskspd -Rxml ... >> out.xml`, and one that PowerShell has saved with a declaration."""
    text = f'<?xml version="1.0" encoding="utf-8"?>\n{XML}{XML[:2500]}\n{XML}'
    result = of_text(tmp_path, text)
    assert [run.call for run in result.runs] == [2, 2 + XML.count("\n") + XML[:2500].count("\n") + 1]
    assert result.unread == []
    assert len(result.lost) >= 1


def test_an_ampersand_in_a_path_is_as_diskspd_writes_it(tmp_path: Path) -> None:
    (run,) = of_text(tmp_path, XML.replace("made.dat", "R&D &lt;.dat")).runs
    assert run.levels["filename"] == r"'D:\R&D <.dat'"


@pytest.mark.parametrize(
    "head",
    [
        '<!DOCTYPE Results [<!ENTITY a "b">]>\n',
        '<!DOCTYPE Results SYSTEM "file:///etc/passwd">\n',
        '<?xml version="1.0"?>\n<!DOCTYPE x [<!ENTITY x SYSTEM "file:///etc/hostname">]>\n',
    ],
)
def test_no_document_type(tmp_path: Path, head: str) -> None:
    with pytest.raises(Refused, match="a document type, which DiskSpd never writes"):
        of_text(tmp_path, head + XML.replace("HOST", "&x;"))


def test_an_entity_that_nobody_defined_is_text(tmp_path: Path) -> None:
    assert of_text(tmp_path, XML.replace("HOST", "&x;")).machine == {"host": "&x;"}


def test_a_torn_file_keeps_whole_timespans(tmp_path: Path) -> None:
    text = xml_of(*SPANS)
    result = of_text(tmp_path, text[: text.rindex("<Thread>")])
    assert len(result.runs) == 2
    assert result.lost[0].startswith("line ")
    assert result.lost[1].endswith("1 of 3 timespans have no whole results")
    with pytest.raises(
        Refused, match=r"without a whole <TimeSpan> of results \(line .*; run DiskSpd to its end"
    ):
        of_text(tmp_path, XML[: XML.rindex("<Thread>")])


@pytest.mark.parametrize("wrong", ["-1", "1e400", "", "4096 B", "9" * 40])
def test_a_count_that_is_none_makes_the_sum_unknown(tmp_path: Path, wrong: str) -> None:
    text = re.sub("<ReadBytes>[0-9]+", f"<ReadBytes>{wrong}", XML, count=1)
    result = of_text(tmp_path, text)
    (run,) = result.runs
    assert (run.bytes_read, run.rate_bytes_per_s) == (None, None)
    assert (run.ops_read, run.ops_per_s) == (75_000, 10_000)
    assert result.unread


@pytest.mark.parametrize(
    ("old", "new", "output"),
    [
        ("<IOCount>40000", "<IOCount>40001", "expected ReadCount and WriteCount together"),
        ("<Percentile>99<", "<Percentile>-99<", "from 0 on"),
        (
            "<ReadCount>30000</ReadCount>",
            "<ReadCount>3</ReadCount>\n<ReadCount>9</ReadCount>",
            "a second ReadCount",
        ),
        ("<Duration>", "<NewThing>7</NewThing>\n<Duration>", "not known"),
        ("<CPU>", "<CPU>\nkernel: oops", "no text of its own"),
        ("</Results>", "</Results>\nkernel: oops", "outside of <Results>"),
    ],
)
def test_what_is_not_understood_is_named(tmp_path: Path, old: str, new: str, output: str) -> None:
    assert old in XML
    result = of_text(tmp_path, XML.replace(old, new, 1))
    assert any(output in entry.why for entry in result.unread), result.unread


def test_missing_parts_of_a_document_are_reported(tmp_path: Path) -> None:
    thread = XML[XML.index("    <Thread>") : XML.index("    </Thread>\n") + len("    </Thread>\n")]
    result = of_text(tmp_path, XML.replace(thread, ""))
    assert result.lost[0].endswith("found results of 1 of 2 threads")
    bare = XML[: XML.index("  <Profile>")] + XML[XML.index("  </Profile>") + len("  </Profile>\n") :]
    result = of_text(tmp_path, bare)
    assert result.lost[0].endswith("the <Profile> has no parameters of this timespan")
    assert result.runs[0].rate_bytes_per_s == 81_920_000
    stopped = f"{XML[: XML.index('    <TestTimeSeconds>')]}<Error>stopped</Error></TimeSpan></Results>"
    with pytest.raises(Refused, match="DiskSpd was interrupted before it measured"):
        of_text(tmp_path, stopped)


@pytest.mark.parametrize(
    "text",
    [
        "<Results><System>" + "<a>" * 100_000,
        "<Results><TimeSpan>" * 5000,
        "<Results><TimeSpan>" + "</Results>" * 100_000,
        "<Results><TimeSpan>\0</TimeSpan></Results>",
        "<Results><TimeSpan>&#0;</TimeSpan></Results>",
        "<Results a='" + "x" * 1000 + "'><TimeSpan/></Results>",
        "<Results><TimeSpan/></Results>",
        "<Results><TimeSpan>" + "<Thread><Target/></Thread>" * 20_000 + "</TimeSpan></Results>",
    ],
)
def test_made_to_hurt(tmp_path: Path, text: str) -> None:
    path = tmp_path / "out.xml"
    path.write_text(text)
    try:
        result = of(path, "diskspd-xml")
    except Refused:
        return
    assert result.unread
    assert not any(run.measured for run in result.runs)


@pytest.mark.parametrize(
    ("cache", "direct"), [("software cache disabled", True), ("using software cache", False)]
)
def test_without_a_command_line_the_setting_says_whether_the_cache_was_bypassed(
    cache: str, direct: bool
) -> None:
    record = ImportedRecord(
        reported=ReportedFigures(5e9, 5e3, None, 10.0),
        bytes_read=1,
        bytes_written=0,
        ops_read=None,
        ops_written=None,
        quantiles_ns={},
        latency_sum_ns=None,
        outstanding=8,
        device_bytes=None,
        latency={},
        series=ImportedSeries(0, [], [], [], []),
        counters={},
        notes=[],
        error=None,
        file="made.xml",
        line=0,
    )
    run = ImportedRun(
        run=0,
        cycle=1,
        arm="torture",
        stage="imported",
        role="measure",
        block=1,
        measure="throughput",
        cell="diskspd.sequential_read",
        metrics=[],
        levels={"cache": cache},
        record=record,
    )
    assert imported_study._rate_facts(run, "diskspd ").bypasses is direct
