"""Runs a command, and kills what is left of it when Leadhand has ended without closing it: ``leash.py PIPE COMMAND…``.

Leadhand holds both ends of the pipe at this path. It is run as a file, without the package: it has to start fast.
"""

import os
import sys
import time

PATIENCE_S = 2.0
"""Seconds in which the command can end by itself."""


def watch(pipe: str) -> None:
    """Wait until nobody holds the pipe, and kill the group of this process."""
    os.dup2(os.open(pipe, os.O_RDONLY), 0)
    os.closerange(1, os.sysconf("SC_OPEN_MAX"))  # else nobody sees the end of what the command writes
    os.read(0, 1)
    time.sleep(PATIENCE_S)
    os.killpg(0, 9)


if __name__ == "__main__":
    first = os.fork()
    if not first:
        try:
            if not os.fork():
                watch(sys.argv[1])
        finally:
            os._exit(0)
    os.waitpid(first, 0)  # the second is nobody's child
    try:
        os.execvp(sys.argv[2], sys.argv[2:])  # noqa: S606
    except OSError as error:
        sys.exit(f"{sys.argv[2]}: {error.strerror}")
