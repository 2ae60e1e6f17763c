"""The built-in instructions of the flows, in the ``prompts`` directory beside each."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def instructions_in(package: str, name: str) -> str:
    """Return the instructions from ``prompts/<name>.md`` of a package."""
    return (files(package) / "prompts" / f"{name}.md").read_text("utf-8").strip()
