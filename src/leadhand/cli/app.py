"""The entry point of the command ``leadhand``. ``--version`` is answered before anything else is imported."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from leadhand import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line, by default that of the process, and return its exit code."""
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
