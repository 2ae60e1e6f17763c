"""The browser of the tests: a Chromium on PATH, and flags that keep it from making requests of its own."""

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
)


def executable() -> str | None:
    """Return the path of a Chromium; None without one."""
    return next(filter(None, map(shutil.which, NAMES)), None)
