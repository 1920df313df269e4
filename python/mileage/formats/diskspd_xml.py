"""DiskSpd's XML output (-Rxml): the parameters and the results of each timespan, as its text output has them.

Scope: `<Results>` holds `<System>`, the `<Profile>` with the parameters of each timespan, and a `<TimeSpan>`
of results for each of them, in the same order. A timespan is a run, with the settings in the words of the text output,
so that both are the same cells. Bytes and operations are the sums over all threads and targets, and rates are these
over the test time, which has two digits. Latencies are those of reads and writes together, in milliseconds. The form
is that of XmlResultParser.cpp and Common.cpp of DiskSpd 2.2.
A timespan that is not whole, because the XML breaks off or is damaged in it, is lost; those before it are kept.
What it refuses: a document type or entities, which DiskSpd never writes; and a file without any whole timespan.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final
from xml.parsers import expat

import msgspec

from mileage.errors import Refused
from mileage.formats.diskspd import Span, put_direction, run_of
from mileage.formats.input_file import Source
from mileage.formats.json_documents import UNREAD_MAX
from mileage.formats.number_parser import number, whole
from mileage.formats.result import Result, ToolRun

LAYOUT: Final = "diskspd-xml"
DOCUMENTS_MAX: Final = 1000
"""Documents of a file that are read."""
DEPTH_MAX: Final = 20
"""Elements within elements; DiskSpd has 8."""
_EDGE: Final = re.compile(r"<(/?)Results(?:\s[^<>]{0,500})?>")
_LONE_AMPERSAND: Final = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9a-fA-F]{1,6});)")
"""DiskSpd writes the paths of its targets as they are."""
_UNLOOKED: Final = (
    *("ProcessorTopology", "CpuUtilization", "ETW", "ETWSessionInfo", "WaitStatistics", "Distribution"),
    "ThreadTargets",
)
"""Elements whose content is no figure or setting of a run."""
_NAMES: Final = """
ComputerName Version VersionDate RunTime PowerScheme Progress ResultFormat Verbose VerboseStats ExperimentFlags
PrecreateFiles CompletionRoutines MeasureLatency CalculateIopsStdDev DisableAffinity Duration Warmup Cooldown
ThreadCount RequestCount IoBucketDuration RandSeed RandomWriteData Path BlockSize BaseFileOffset SequentialScan
RandomAccess TemporaryFile UseLargePages DisableLocalCache DisableOSCache DisableAllCache WriteThrough MemoryMappedIo
FlushType Pattern SizeInBytes FilePath ParallelAsyncIO BurstSize ThinkTime FileSize Random RandomRatio StrideSize
InterlockedSequential ThreadStride MaxFileSize WriteRatio Throughput ThreadsPerFile IOPriority Weight TestTimeSeconds
ProcCount Error Id BytesCount IOCount ReadBytes ReadCount WriteBytes WriteCount Percentile ReadMilliseconds
WriteMilliseconds TotalMilliseconds AverageReadMilliseconds AverageWriteMilliseconds AverageTotalMilliseconds
AverageReadLatencyMilliseconds AverageWriteLatencyMilliseconds AverageLatencyMilliseconds ReadLatencyStdev
WriteLatencyStdev LatencyStdev ReadIopsStdDev WriteIopsStdDev IopsStdDev
"""
_LEAVES: Final = frozenset(_NAMES.split())
"""Elements that hold a text and no elements."""
_COUNTS: Final = ("ReadBytes", "ReadCount", "WriteBytes", "WriteCount")
_SUMS: Final = {"BytesCount": ("ReadBytes", "WriteBytes"), "IOCount": ("ReadCount", "WriteCount")}
_QUANTILES: Final = {0.0: "min", 50.0: "p50", 90.0: "p90", 99.0: "p99", 99.9: "p99_9", 100.0: "max"}
_FLAGS: Final = {
    "ParallelAsyncIO": ("parallel", "using parallel async I/O"),
    "SequentialScan": ("hint", "using FILE_FLAG_SEQUENTIAL_SCAN hint"),
    "RandomAccess": ("hint", "using FILE_FLAG_RANDOM_ACCESS hint"),
    "TemporaryFile": ("hint", "using FILE_ATTRIBUTE_TEMPORARY hint"),
}
"""Flags of a target: the setting, and how the text output says it."""
_NUMBERS: Final = {
    "BlockSize": "block size",
    "BaseFileOffset": "base file offset",
    "MaxFileSize": "max file size",
    "ThreadStride": "thread stride size",
}


class Element(msgspec.Struct):
    """An element: where it begins, and what is in it; its text by lines."""

    name: str
    line: int
    attributes: dict[str, str]
    leaves: dict[str, Element] = {}
    children: list[Element] = []
    """Child elements that have children themselves."""
    texts: dict[int, str] = {}
    parent: bool = False
    """Whether the element has any child, including those that are not kept."""

    @property
    def text(self) -> str:
        return "".join(self.texts.values()).strip()

    def text_of(self, name: str) -> str:
        """The text of a leaf; empty where there is none."""
        return self.leaves[name].text if name in self.leaves else ""

    def all(self, name: str) -> Iterator[Element]:
        """The children of a name."""
        return (child for child in self.children if child.name == name)


def knows(source: Source) -> bool:
    """Whether the beginning of a file has this layout."""
    head = source.text_head
    return bool(_EDGE.search(head)) and any(word in head for word in ("<System>", "<Profile>", "<TimeSpan>"))


def read(source: Source) -> Result:
    """Read all runs of a file. Raises Refused when it is none of DiskSpd's."""
    if not knows(source):
        raise Refused(
            source.path,
            found="no <Results> with the <System> or <TimeSpan> of DiskSpd's XML",
            code="not-understood",
        )
    text = "\n".join(source.lines()).replace("\r", " ")
    if re.search("<!(?:DOCTYPE|ENTITY)", text):
        raise Refused(
            source.path,
            "XML with a document type, which DiskSpd never writes",
            advice="not read",
            code="not-understood",
        )
    result = Result(tool="diskspd", version=None, layout=LAYOUT, runs=[])
    for count, (part, line, inside) in enumerate(_parts(text)):
        if count > DOCUMENTS_MAX:
            result.lost.append(f"line {line}: more than {DOCUMENTS_MAX} documents; the rest is ignored")
            break
        if inside:
            _Document(result, line).read(part)
        else:
            _outside(result, part, line)
    if not result.runs:
        why = f" ({result.lost[0]})" if result.lost else ""
        what = f"DiskSpd's XML without a whole <TimeSpan> of results{why}"
        raise Refused(source.path, what, advice="run DiskSpd to its end, and import that", code="incomplete")
    return result


def _parts(text: str) -> Iterator[tuple[str, int, bool]]:
    """Split a text into documents and the text between them, each with its first line.

    A truncated document ends where the next begins.
    """
    at, line, inside = 0, 1, False
    for edge in _EDGE.finditer(text):
        closes = bool(edge[1])
        if closes and not inside:
            continue
        stop = edge.end() if closes else edge.start()
        if stop > at:
            yield text[at:stop], line, inside
        line += text.count("\n", at, stop)
        at, inside = stop, not closes
    yield text[at:], line, inside


def _outside(result: Result, part: str, line: int) -> None:
    """Names the lines that stand outside of documents, but for an XML declaration."""
    for at, text in enumerate(re.sub(r"\A\s*<\?xml[^<>\n]*\?>", "", part).split("\n"), line):
        if text.strip() and len(result.unread) < UNREAD_MAX:
            result.skip(at, text, "outside of <Results>")


class _Document:
    """One `<Results>` element, processed while it is parsed."""

    def __init__(self, result: Result, line: int) -> None:
        self.result = result
        self.line = line
        self.stack: list[Element] = []
        self.spans: list[Span] = []
        self.found = 0
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters

    def read(self, part: str) -> None:
        """Read the document, or the complete elements of a truncated one."""
        try:
            self.parser.Parse(_LONE_AMPERSAND.sub("&amp;", part), True)
        except (expat.ExpatError, ValueError) as cause:
            why = expat.ErrorString(cause.code) if isinstance(cause, expat.ExpatError) else str(cause)
            self._lost(self._at(), f"damaged XML ({why}); what stands behind it up to </Results> is lost")
        if (missing := len(self.spans) - self.found) > 0:
            self._lost(self.line, f"{missing} of {len(self.spans)} timespans have no whole results")

    def _at(self) -> int:
        return self.line + max(self.parser.CurrentLineNumber, 1) - 1

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self.stack) >= DEPTH_MAX:
            raise ValueError("nested too deep")
        if self.stack:
            self.stack[-1].parent = True
        self.stack.append(Element(name, self._at(), attributes))

    def _characters(self, text: str) -> None:
        texts, at = self.stack[-1].texts, self._at()
        texts[at] = texts.get(at, "") + text

    def _end(self, name: str) -> None:
        element = self.stack.pop()
        unlooked = any(outer.name in _UNLOOKED for outer in self.stack)
        if not self.stack or (unlooked and not element.parent):
            self._foreign(element if element.parent else Element(name, 0, {}))
        elif name in _LEAVES and not element.parent and name in self.stack[-1].leaves:
            self._unread(element.line, f"<{name}> {element.text}", f"a second {name} in one element")
        elif name in _LEAVES and not element.parent:
            self.stack[-1].leaves[name] = element
        else:
            self._foreign(element)
            if len(self.stack) == 1:
                self._part(element)
            elif not unlooked and "SampleMillisecond" not in element.attributes:
                self.stack[-1].children.append(element)

    def _foreign(self, element: Element) -> None:
        """Names the lines of text that stand where only elements do."""
        for line, text in element.texts.items():
            if text.strip():
                self._unread(line, text, f"in <{element.name}>, which is not known or has no text of its own")

    def _unread(self, line: int, text: str, why: str) -> None:
        if len(self.result.unread) < UNREAD_MAX:
            self.result.skip(line, text, why)

    def _lost(self, line: int, text: str) -> None:
        self.result.lost.append(f"line {line}: {text}")

    def _part(self, element: Element) -> None:
        """Read one complete element on the second level of the document: `System`, `Profile` or `TimeSpan`."""
        if element.name == "System":
            self.result.began = self.result.began or element.text_of("RunTime") or None
            if host := element.text_of("ComputerName"):
                self.result.machine["host"] = host
            for tool in element.all("Tool"):
                self.result.version = self.result.version or tool.text_of("Version") or None
        elif element.name == "Profile":
            spans = [span for spans in element.all("TimeSpans") for span in spans.all("TimeSpan")]
            self.spans = [self._span(span) for span in spans]
        elif element.name == "TimeSpan":
            self.found += 1
            self._results(element)

    def _number(self, of: Element, name: str, parse: Callable[[str], float | None] = number) -> float | None:
        """The number in a leaf; None where there is none, and named where it is not from 0 on, or not whole."""
        found, text = parse(of.text_of(name)), of.text_of(name)
        if text and found is None:
            self._unread(of.leaves[name].line, f"<{name}> {text}", "expected a (whole) number from 0 on")
        return found

    def _whole(self, element: Element, name: str) -> int | None:
        found = self._number(element, name, whole)
        return None if found is None else int(found)

    def _span(self, element: Element) -> Span:
        """The parameters of a timespan, in the words of the text output."""
        span = Span(settings={}, targets=[])
        if (duration := self._whole(element, "Duration")) is not None:
            span.put("duration", f"{duration}s")
        pool, requests = self._whole(element, "ThreadCount") or 0, self._whole(element, "RequestCount") or 0
        if pool:
            span.put("number of outstanding I/O operations", str(requests))
        if pool and requests:
            span.put("request count", str(requests))
        cores = [core.attributes for affinity in element.all("Affinity") for core in affinity.children]
        if element.text_of("DisableAffinity") == "true":
            span.put("affinity", "affinity disabled")
        elif cores:
            words = ", ".join(f"{core.get('Group', '0')}/{core.get('Processor', '?')}" for core in cores)
            span.put("affinity", f"advanced affinity round robin (group/core): {words}")
        if element.text_of("RandomWriteData") == "true":
            span.put("write buffers", "generating random data for each write IO")
        for targets in element.all("Targets"):
            for target in targets.all("Target"):
                self._target(span, target, element.text_of("CompletionRoutines") == "true", pool, requests)
        return span

    def _target(self, span: Span, target: Element, routines: bool, pool: int, requests: int) -> None:
        """The parameters of a target; `pool`: threads that all targets share, each with its queue depth."""
        path = target.text_of("Path")
        span.put("path", f"template target '{path[1:]}'" if path.startswith("*") else f"'{path}'")
        span.put("think time", f"{self._whole(target, 'ThinkTime') or 0}ms")
        span.put("burst size", str(self._whole(target, "BurstSize") or 0))
        self._caching(span, target)
        for name, (setting, words) in _FLAGS.items():
            if target.text_of(name) == "true":
                span.put(setting, words)
        for name, setting in _NUMBERS.items():
            if (value := self._whole(target, name)) is not None:
                span.put(setting, str(value))
        if (writes := self._whole(target, "WriteRatio")) is not None and writes <= 100:
            span.put("reads", str(100 - writes))
        self._pattern(span, target)
        depth, threads = self._whole(target, "RequestCount"), self._whole(target, "ThreadsPerFile")
        if not (pool and requests) and depth is not None:
            span.put("number of outstanding I/O operations", str(depth))
        if not pool and threads is not None:
            span.put("threads per file", str(threads))
        if not pool and depth is not None and depth > 1:
            how = "completion routines (ReadFileEx/WriteFileEx)" if routines else "I/O Completion Ports"
            span.put("completion", f"using {how}")
        if priority := target.text_of("IOPriority"):
            span.put("IO priority", {"1": "very low", "2": "low", "3": "normal"}.get(priority, "unknown"))
        if rate := self._whole(target, "Throughput"):
            unit = target.leaves["Throughput"].attributes.get("unit", "B/ms")
            span.put("rate", f"throughput rate-limited to {rate} {unit}")

    def _caching(self, span: Span, target: Element) -> None:
        """The caches, memory mapping and content of the buffers."""
        options = {name for name, leaf in target.leaves.items() if leaf.text == "true"}
        direct = not options.isdisjoint(("DisableOSCache", "DisableAllCache"))
        local = "local software cache disabled, remote cache enabled"
        cached = local if "DisableLocalCache" in options else "using software cache"
        span.put("cache", "software cache disabled" if direct else cached)
        through = not options.isdisjoint(("WriteThrough", "DisableAllCache"))
        disabled = f"hardware {'' if direct else 'and software '}write cache{'' if direct else 's'} disabled"
        off = "using hardware write cache, writethrough off"
        span.put("write cache", f"{disabled}, writethrough on" if through else off)
        if "MemoryMappedIo" in options:
            flush = target.text_of("FlushType").replace("NoDrain", " with no drain")
            how = f", flush mode: Flush{flush}" if flush else ""
            span.put("memory mapped", f"memory mapped I/O enabled{how}")
        for content in target.all("WriteBufferContent"):
            if content.text_of("Pattern") == "zero":
                span.put("write buffers", "zeroing write buffers")
            for origin in content.all("RandomDataSource"):
                span.put("write buffer size", str(self._whole(origin, "SizeInBytes") or 0))

    def _pattern(self, span: Span, target: Element) -> None:
        random, stride = self._whole(target, "Random"), self._whole(target, "StrideSize")
        if random is not None:
            ratio = self._whole(target, "RandomRatio")
            mixed = f"mixed random and sequential, {ratio}% random"
            span.put("pattern", "random" if ratio in (None, 100) else mixed)
            span.put("alignment", str(random))
        elif stride is not None:
            ordered = target.text_of("InterlockedSequential") == "true"
            span.put("pattern", f"{'interlocked ' if ordered else ''}sequential")
            span.put("alignment", str(stride))

    def _results(self, element: Element) -> None:
        """The run of one timespan."""
        if element.text_of("Error"):
            self._lost(element.line, "DiskSpd was interrupted before it measured")
            return
        span = self.spans[self.found - 1] if self.found <= len(self.spans) else Span(settings={}, targets=[])
        if not span.targets:
            self._lost(element.line, "the <Profile> has no parameters of this timespan")
        seconds = self._number(element, "TestTimeSeconds")
        if seconds is not None:
            span.put("actual test time", f"{element.text_of('TestTimeSeconds')}s")
        if (threads := self._whole(element, "ThreadCount")) is not None:
            span.put("thread count", str(threads))
        targets = [target for thread in element.all("Thread") for target in thread.all("Target")]
        having = sum(1 for _ in element.all("Thread"))
        if not targets or having != threads:
            expected = "an unknown number of" if threads is None else threads
            self._lost(element.line, f"found results of {having} of {expected} threads")
        if not targets:
            return
        sums = self._sums(targets)
        figures = {}
        for column, (read, written) in zip(("bytes", "I/Os"), _SUMS.values(), strict=True):
            if read in sums and written in sums:
                figures[column] = float(sums[read] + sums[written])
        if seconds and "I/Os" in figures:
            figures["I/O per s"] = figures["I/Os"] / seconds
        options = {name: float(value) for name, value in sums.items()}
        for group in (*element.all("Latency"), *element.all("Iops")):
            options |= {
                name: value for name in group.leaves if (value := self._number(group, name)) is not None
            }
        if "AverageTotalMilliseconds" in options:
            figures["AvgLat"] = options["AverageTotalMilliseconds"]
        files = {target.text_of("Path"): str(self._whole(target, "FileSize") or 0) for target in targets}
        run = run_of(element.line, figures, span, files)
        run.call, run.printed = self.line, list(options.items())
        for part in ("Read", "Write"):
            columns = {"bytes": f"{part}Bytes", "I/Os": f"{part}Count"}
            put_direction(
                run, part.lower(), {to: options[name] for to, name in columns.items() if name in options}
            )
        for latency in element.all("Latency"):
            for bucket in latency.all("Bucket"):
                self._percentile(run, bucket)
        self.result.runs.append(run)

    def _sums(self, targets: list[Element]) -> dict[str, int]:
        """The counts over all threads and targets, but for those that one of them lacks: a part is not the whole."""
        sums = dict.fromkeys(_COUNTS, 0)
        for target in targets:
            values = {name: self._whole(target, name) for name in _COUNTS}
            for name, value in values.items():
                if value is None:
                    sums.pop(name, None)
                    if not target.text_of(name):
                        self._unread(target.line, "<Target>", f"expected a {name}; the sum of all is unknown")
                elif name in sums:
                    sums[name] += value
            for total, parts in _SUMS.items():
                if self._whole(target, total) not in (None, sum(values[part] or 0 for part in parts)):
                    text = f"<{total}> {target.text_of(total)}"
                    self._unread(target.leaves[total].line, text, f"expected {' and '.join(parts)} together")
        return sums

    def _percentile(self, run: ToolRun, bucket: Element) -> None:
        """Process one percentile of reads and writes together."""
        share, value = self._number(bucket, "Percentile"), self._number(bucket, "TotalMilliseconds")
        if share is None or value is None:
            return
        run.printed.append((f"TotalMilliseconds {share:.9g}", value))
        if share in _QUANTILES:
            run.quantiles_ns[_QUANTILES[share]] = 1e6 * value
        if share == 99:
            run.latency_p99_ns = 1e6 * value
