"""Commands on a terminal of their own."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from typing import Any

import pexpect
from processes import OnTerminal

from leadhand.cli.terminal.prompt import ALLOW_CALL

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]")
MENU = re.escape(ALLOW_CALL)
"""The prompt of an approval request, to wait for."""
Terminal = Callable[..., Any]


def spawn(*arguments: str, columns: int = 120, **environment: str) -> Any:
    """A command, started on a terminal of so many columns."""
    inherited = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    return OnTerminal(
        sys.executable,
        ["-P", "-m", "leadhand", *arguments],
        env={**inherited, "TERM": "xterm-256color", **environment},
        dimensions=(40, columns),
        encoding="utf-8",
        timeout=90,
    )


def rest_of(child: Any) -> str:
    """What else it wrote until it ended."""
    child.expect(pexpect.EOF)
    child.close()
    return child.before
