"""Every field of what a built-in worker is given is named in its instructions, at every depth."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from leadhand.ports.models import ModelRequest
from leadhand.testing.scripted_model import brief_of

from .judges import contradicts, every, names_missing
from .runs import play
from .scenes import SCENES

OF_OTHERS = {
    "args",
    "raw",
    "returned",
    "read",
    "given",
    "answer",
    "data",
    "parameters",
    "options",
    "plan",
    "denied",
    "written",
}
"""Fields whose values tools, people and models made: nothing within them is Leadhand's."""
BY_KEY = {"evidence", "needs", "as_ordered", "passages", "work_out", "tools", "instructions"}
"""Fields whose objects have one entry for each key."""


def fields_in(value: Any, *, by_key: bool = False) -> Iterator[str]:
    """Yield the names of the fields of a brief, at every depth."""
    if isinstance(value, list):
        for each in value:
            yield from fields_in(each)
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from () if by_key else (name,)
            if by_key or name not in OF_OTHERS:
                yield from fields_in(each, by_key=not by_key and name in BY_KEY)


def named(text: str) -> set[str]:
    """The words in backticks."""
    return {word for quoted in re.findall(r"`([^`]+)`", text) for word in re.findall(r"\w+", quoted)}


SAY_IT = {"args", "work_out", "repairs", "why_it_is_done_again", "answered", "question", "answer", "summary", "raw"}
"""Fields of a subtask's brief whose names or sentences say what they are: its prompt is sent for every subtask."""


def unnamed(request: ModelRequest) -> set[str]:
    known = named(request.messages[0].text) | {"today"} | (SAY_IT if request.worker == "work" else set())
    return {*fields_in(brief_of(request))} - known


@pytest.mark.parametrize("judge", [every("unconfirmed"), contradicts, names_missing])
@pytest.mark.parametrize(
    "name", ["two printers", "late orders", "mail that a person changed", "follow-up", "trains", "report", "research"]
)
async def test_instructions_name_every_field_of_what_a_worker_is_given(name: str, judge: Any, tmp_path: Path) -> None:
    played = await play(SCENES[name], tmp_path, judge)
    lacking = {each.worker: found for each in played.requests if (found := unnamed(each))}
    assert not lacking
