"""One process of a run that is spread over several: `python -m mileage.worker`, started by `execute.processes`.

What it models: one share of a run. Its job comes as one line of JSON on standard input; on standard output it says
how far it is (`{"bytes": ..., "operations": ...}`), and at last its `share`, or why there is none (`refused`,
`failed`). The end of standard input means that the run is to stop: so it does when the parent is gone.
What it refuses: nothing of its own. It imports only what a share needs, to begin soon.
"""

from __future__ import annotations

import json
import select
import sys


def main() -> int:
    """Do the share that standard input asks for. Returns the exit status of the process."""
    from mileage import _core
    from mileage.errors import Refused

    job = json.loads(sys.stdin.buffer.readline())

    def poll(byte_count: int, operations: int) -> bool:
        _say({"bytes": byte_count, "operations": operations})
        ready, _, _ = select.select([sys.stdin.buffer], [], [], 0)
        return bool(ready)

    try:
        share = _core.run_share(job["path"], job["workload"], job["options"], job["share"], poll)
    except BrokenPipeError:
        return 3
    except (Refused, ValueError) as refusal:
        _say({"refused": str(refusal)})
        return 2
    except OSError as cause:
        _say({"failed": str(cause)})
        return 3
    _say({"share": share})
    return 0


def _say(message: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
