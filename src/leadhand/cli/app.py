"""The entry point of the command ``leadhand``. ``--version`` is answered before anything else is imported."""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False
"""For type checkers True, as in typing, which ``--version`` does not need."""

try:
    import signal

    from leadhand import __version__
except KeyboardInterrupt:
    os._exit(130)
if TYPE_CHECKING:
    from collections.abc import Sequence

THRESHOLDS = (20_000, 20, 20)
"""Of the garbage collector in the process of a command, which also leaves alone what was imported for it: with those
of Python, it looks through all imports again and again, which takes a tenth of the time of a short command."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line, by default that of the process, and return its exit code."""
    if arguments is None:
        signal.signal(signal.SIGINT, _quit)  # until the command begins, nothing has to be stopped
        gc.set_threshold(*THRESHOLDS)
        gc.disable()  # until the command begins
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if given in (["--version"], ["-V"]):
            print(f"leadhand {__version__}", flush=True)
            return 0
        from leadhand.cli.dispatch import dispatch

        return dispatch(given)
    except KeyboardInterrupt:
        return 130
    except OSError:  # neither stdout nor stderr can be written
        return 1
    finally:
        if arguments is None:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process ends: nothing is left to stop or to collect
            gc.freeze()


def _quit(*_: object) -> None:
    os._exit(130)
