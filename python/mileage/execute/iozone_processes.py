"""IOzone's tests whose children are processes: each child does its file's part of one test after the other.

Scope: the order of the tests, what IOzone's first process does between them (`sync`, the pause), and
the results, which are those that children as threads would have. The processes stay from the first test to the last,
where IOzone starts new ones for each.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from mileage import _core
from mileage.errors import Interrupted
from mileage.execute.processes import workers_for
from mileage.execute.run_failure import Poll
from mileage.execute.workers import Workers, ranks_here
from mileage.targets.file_identity import FileIdentity
from mileage.worker import IozoneOrder

_LOOK_S: Final = 0.05


class ChildProcesses:
    """The children of a set of tests (JSON) whose files are at `path`, each a process."""

    def __init__(self, path: str, suite: str, poll: Poll) -> None:
        self._path = path
        self._suite = suite
        self._value: dict[str, Any] = json.loads(suite)
        self._poll = poll
        self._known: dict[str, Any] = {}
        """Identities of the files that the tests so far opened."""
        self._done = [0, 0]
        """Bytes and operations of the tests so far."""
        self._results: list[dict[str, Any]] = []
        self._interrupted = False

    def run(self, finished: Callable[[str], None]) -> str:
        """Do all tests and return their results (JSON), as the core's `run_iozone`.

        `finished` gets the result (JSON) of each. Raises Refused, RunFailed, and OSError when a test is void.
        """
        steps = _core.iozone_steps(self._path, self._suite)
        before = {path: _identity_at(path) for path in self._paths}
        if self._is_faithful:
            os.sync()
            os.sync()
        try:
            with workers_for(self._value["workers"]) as workers:
                for result in self._tests(workers, steps):
                    if not self._interrupted and not result["record"].get("error"):
                        finished(json.dumps(result))
        finally:
            left = self._remove_files(before)
        if left is not None and self._results:
            self._results[-1]["record"].setdefault("notes", []).append(left)
        return json.dumps({"results": self._results, "interrupted": self._interrupted})

    @property
    def _paths(self) -> list[str]:
        """The children's files, as the core names them."""
        return self._value.get("files") or [
            f"{self._path}.{child}" for child in range(self._value["workers"])
        ]

    def _remove_files(self, before: dict[str, Any]) -> str | None:
        """Remove what the tests made; why a file is left, if so. `before`: what was there before them.

        A child that was killed in the first test did not report which file it had opened: it is what is there now where
        nothing or the same was before.
        """
        known = self._known.copy()
        for path, earlier in before.items():
            if path not in known and (own := _identity_at(path)) is not None and earlier in (None, own):
                known[path] = own
        return _core.remove_iozone_files(self._path, self._suite, json.dumps(list(known.items())))

    @property
    def _is_faithful(self) -> bool:
        return bool(self._value["mode"] == "fidelity")

    def _tests(self, workers: Workers, steps: int) -> Iterator[dict[str, Any]]:
        """Do the tests, until one fails or the user stops them."""
        for step in range(steps):
            try:
                result = self._test(workers, step)
            except Interrupted:
                self._interrupted = True
                return
            self._results.append(result)
            record = result["record"]
            self._interrupted = record.get("interrupted", False)
            yield result
            if self._interrupted or record.get("error"):
                return
            self._done[0] += record["bytes_read"] + record["bytes_written"]
            self._done[1] += record["ops_read"] + record["ops_written"]
            if self._is_faithful:
                os.sync()
            if not self._rest():
                self._interrupted = True
                return

    def _test(self, workers: Workers, step: int) -> dict[str, Any]:
        orders: Sequence[IozoneOrder] = [
            {
                "kind": "iozone",
                "path": self._path,
                "suite": self._suite,
                "step": step,
                "known": [(path, self._known[path])] if path in self._known else [],
                "share": {"first_thread": worker, "threads": 1},
            }
            for worker, path in enumerate(self._paths)
        ]
        done = workers.do(orders, workers.size, self._progress)
        shares, shifts_ns = list(done.shares), list(done.shifts_ns)
        result, known = json.loads(_core.merge_iozone_shares(self._suite, step, shares, shifts_ns))
        ranks = ranks_here()
        if ranks is not None and ranks.machines > 1:
            # On another machine the same file system has another device number.
            known = [(path, {**identity, "device": None}) for path, identity in known]
        self._known = dict(known)
        return dict(result)

    def _progress(self, byte_count: int, operations: int) -> bool:
        return self._poll(self._done[0] + byte_count, self._done[1] + operations)

    def _rest(self) -> bool:
        """Make the pause between two tests; False when the user ended it."""
        until_s = time.monotonic() + self._value.get("pause_ns", 0) / 1e9
        while (left_s := until_s - time.monotonic()) > 0:
            time.sleep(min(left_s, _LOOK_S))
            if self._progress(0, 0):
                return False
        return True


def _identity_at(path: str) -> dict[str, Any] | None:
    try:
        return FileIdentity.of_status(os.lstat(path)).to_json()
    except OSError:
        return None
