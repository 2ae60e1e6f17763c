"""The browser of the tests: a Chromium on PATH, and its flags.

The flags keep it from making requests of its own, and let the pages of a profile share one process whatever their
origin: a new process compiles and optimizes the console anew.
"""

from __future__ import annotations

import shutil

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-site-isolation-trials",
    "--renderer-process-limit=1",
)


def executable() -> str | None:
    """Return the path of a Chromium; None without one."""
    return next(filter(None, map(shutil.which, NAMES)), None)
