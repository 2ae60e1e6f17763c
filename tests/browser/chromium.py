"""The browser of the tests and of the benchmark of the console: a Chromium on PATH, and its flags.

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
SHELL = "chromium-headless-shell"
"""Chromium without windows, which takes a sixth less CPU. The tests prefer it; the benchmark has what users have."""
FOR_SHORT_VISITS = ("--no-zygote", "--js-flags=--no-opt,--no-maglev")
"""Flags of the tests, whose pages close before V8's optimizing compilers are of use."""


def executable(*names: str) -> str | None:
    """Return the path of the first of these programs (by default, of ``NAMES``) on PATH; None without one."""
    return next(filter(None, map(shutil.which, names or NAMES)), None)
