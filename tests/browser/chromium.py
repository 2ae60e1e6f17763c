"""Which browser the tests drive, and with what: a Chromium on PATH, kept from talking to its maker."""

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
    """The path of a Chromium; None where there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)
