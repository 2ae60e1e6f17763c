"""The ways in which an attempt ends without a result of its model."""

from __future__ import annotations

import re

from leadhand.domain.tool import GIVES_UP
from leadhand.domain.work_order import OpenCall

_CANNOT = re.compile(rf"[\s*_`]*{GIVES_UP}[*_`]*:[*_`\s]*(?P<reason>.*)", re.DOTALL)


def given_up(text: str) -> str:
    """Return why a worker gives up in words: ``CANNOT: reason``; "" for any other text."""
    found = _CANNOT.match(text)
    return (found["reason"].strip() or "no reason was given") if found is not None else ""


class Parked(Exception):
    """The attempt has to wait: it ends here, and another attempt continues it."""

    def __init__(self, open_calls: tuple[OpenCall, ...]) -> None:
        super().__init__(f"{len(open_calls)} open calls")
        self.open_calls = open_calls


class GaveUp(Exception):
    """The worker gave up its subtask."""


class Stuck(Exception):
    """The worker makes no progress; ``type`` is that of the attempt's failure."""

    def __init__(self, reason: str, type: str) -> None:
        super().__init__(reason)
        self.type = type
