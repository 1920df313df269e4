"""A browser for the tests: Chromium without a window and without a network, controlled over a pipe.

One JSON object each way, ended by a zero byte, is Chromium's own debugging protocol; nothing else is needed to press
keys, to set the size of the screen and to hear what the console says.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_TIMEOUT_S = 280.0


class Chromium:
    """One page in a browser of its own. `console` has every message and uncaught exception, `asked` every address."""

    def __init__(self, folder: Path) -> None:
        """Start it with a fresh profile in `folder`."""
        assert PROGRAM is not None
        command_read, self._send = os.pipe()
        self._receive, answer_write = os.pipe()
        arguments = [
            *(PROGRAM, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"),
            *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
            *("--no-first-run", "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={folder}"),
        ]
        # It listens at descriptor 3 and answers at 4; ours are moved out of their way.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (command_read, answer_write)]
        self._process = os.posix_spawn(
            PROGRAM,
            arguments,
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, ends[0], 3),
                (os.POSIX_SPAWN_DUP2, ends[1], 4),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            ],
        )
        for end in (command_read, answer_write, *ends):
            os.close(end)
        self._number = 0
        self._buffer = b""
        self._session: str | None = None
        self.console: list[str] = []
        self.asked: list[str] = []
        self._loaded = False
        target = self.do("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.do("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.do(f"{domain}.enable")
        offline = {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        self.do("Network.emulateNetworkConditions", **offline)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.kill(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)
        os.close(self._send)
        os.close(self._receive)

    def do(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command of the protocol, and its result."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._send, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                result: dict[str, Any] = answer["result"]
                return result

    def open(self, page: Path, width: int = 1280, height: int = 800, *, dark: bool = False) -> None:
        """Load a file on a screen of this size in pixels, until it is complete."""
        self.console.clear()
        self.asked.clear()
        self.do(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.do("Emulation.setEmulatedMedia", features=[scheme])
        self._loaded = False
        self.do("Page.navigate", url=page.as_uri())
        while not self._loaded:
            self._next()

    def ask(self, expression: str) -> Any:
        """The value of an expression in the page, waited for where it is a promise."""
        found = self.do("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def press(self, key: str, code: int) -> None:
        """Press a key and let it go."""
        for kind in ("keyDown", "keyUp"):
            self.do("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def picture(self, path: Path, *, whole: bool = False) -> None:
        """Store what is seen, or the whole page, as PNG."""
        found = self.do("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        if whole:
            size = self.do("Page.getLayoutMetrics")["cssContentSize"]
            clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
            found = self.do("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(found["data"]))

    def printed(self, path: Path) -> None:
        """Store the page as it is printed on A4, as PDF."""
        sheet = {"paperWidth": 8.27, "paperHeight": 11.69, "printBackground": True}
        path.write_bytes(base64.b64decode(self.do("Page.printToPDF", **sheet)["data"]))

    def _next(self) -> dict[str, Any]:
        """The next message; events are kept where they belong."""
        deadline = time.monotonic() + _TIMEOUT_S
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._receive], [], [], max(deadline - time.monotonic(), 0.0))
            part = os.read(self._receive, 1 << 20) if ready else b""
            assert part, "the browser said nothing for nearly five minutes, or ended"
            self._buffer += part
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        method, output = message.get("method"), message.get("params", {})
        if method == "Runtime.consoleAPICalled":
            self.console.append(str([part.get("value") for part in output["args"]]))
        elif method == "Runtime.exceptionThrown":
            self.console.append(str(output["exceptionDetails"]))
        elif method == "Log.entryAdded":
            self.console.append(str(output["entry"]["text"]))
        elif method == "Network.requestWillBeSent":
            self.asked.append(str(output["request"]["url"]))
        elif method == "Page.loadEventFired":
            self._loaded = True
        return message
