"""Golden files: the one place per door that pins the wording of the product. All other tests assert codes and data.

``UPDATE_GOLDEN=1 uv run pytest PATH`` rewrites the golden files of the tests it runs.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

VOLATILE = {
    r"\brun_[2-7a-z]{26}\b": "RUN_ID",
    r'(?<="trace_id": ")[0-9a-f]{32}': "TRACE_ID",
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d| UTC)?": "TIME",
    r"\b\d+(\.\d+)?\s?(ms|s|min)\b": "DURATION",
}
"""What differs from run to run, as patterns, and what a golden file has in its place."""


def normalized(text: str, more: Mapping[str, str] | None = None) -> str:
    """Return the text without ids, times and durations. ``more`` maps further patterns, applied first, to what replaces
    them; pass a folder as ``re.escape(str(folder))``.
    """
    for pattern, instead in ((more or {}) | VOLATILE).items():
        text = re.sub(pattern, instead, text)
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def joined(texts: Iterable[tuple[str, str]]) -> str:
    """Return named texts as the content of one golden file, in their order: a heading and the text, indented."""
    indented = ((name, "".join(f"    {line}".rstrip() + "\n" for line in text.splitlines())) for name, text in texts)
    return "\n".join(f"# {name}\n\n{text}" for name, text in indented)


def check_golden(path: Path, text: str) -> None:
    """Fail with a diff if the text is not the content of the golden file; with ``UPDATE_GOLDEN=1`` rewrite the file."""
    text = text.rstrip("\n") + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return
    kept = path.read_text(encoding="utf-8") if path.exists() else ""
    if text != kept:
        diff = difflib.unified_diff(kept.splitlines(), text.splitlines(), str(path), "now", lineterm="")
        pytest.fail("UPDATE_GOLDEN=1 rewrites the file if this is intended:\n" + "\n".join(diff), pytrace=False)
