"""The command ``leadhand``. ``--version`` is answered before anything is imported; a command imports what it needs."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from leadhand import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out a command line, that of the process unless given, and return the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if given == ["--version"]:
            print(f"leadhand {__version__}", flush=True)
            return 0
        from leadhand.cli.carrying_out import carry_out

        return carry_out(given)
    except KeyboardInterrupt:
        return 130
    except OSError:  # stdout cannot be written, and there is nobody to tell
        return 1


if __name__ == "__main__":
    sys.exit(main())
