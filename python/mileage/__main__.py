"""`python -m mileage`, and the program `mileage`: the command line.

While its modules are imported Ctrl-C ends the process at once and quietly: there is nothing to undo yet, and Python
would print a traceback. An ignored SIGINT, as in the background of a shell script, stays ignored.
"""

import gc
import os
import signal

_GARBAGE_OBJECTS = 20_000
"""New objects after which Python searches for cycles among them."""


def main() -> None:
    """Run the command line and end the process with the command's exit status."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Modules make no garbage, and at Python's threshold of 700 objects their import is searched for it seventy times.
    gc.set_threshold(_GARBAGE_OBJECTS)
    try:
        from mileage.cli import main as command_line

        command_line()
    except (OSError, MemoryError) as error:
        # What ends a command cannot be imported either: `cli/exit_status.py` has the same words and status.
        reason = getattr(error, "strerror", None) or "not enough memory"
        os.write(
            2, f"mileage: {reason}: Mileage cannot begin; raise the limit (ulimit -n, ulimit -v)\n".encode()
        )
        os._exit(3)
    finally:
        # Python ends with searches for cycles among all objects, which all modules are: with none to search, a command
        # that does little takes a tenth less processor time.
        gc.freeze()


if __name__ == "__main__":
    main()
