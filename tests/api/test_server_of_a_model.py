"""The address and the key of a model's server, given in Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from leads import leadhand_of

from leadhand import RunStatus, UsageError, Worker
from leadhand.testing.model_server import ScriptedServer
from leadhand.testing.scripted_model import says

KEY = "test-key-5f2c9a7d1b3e"
WRITER = Worker("writer", "Answer.", tools=())


async def test_a_server_is_named_in_code_and_its_key_is_in_no_event(home: Path) -> None:
    async with ScriptedServer([says(f"Hello, {KEY}.")]) as server:
        given: Any = {"model": "openai_compatible:small", "base_url": server.base_url, "api_key": KEY}
        async with leadhand_of(**given, home=home) as lead:
            run = await lead.start("Go", worker=WRITER)
            answer = await run.answer()
            bodies = "".join([event.body async for event in run.events()])
        asked = server.requests[0]
    assert answer.status is RunStatus.SUCCEEDED
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in bodies + answer.text


@pytest.mark.parametrize(
    "given",
    [
        {"base_url": "nonsense"},
        {"base_url": "http://user:secret@host/v1"},
        {"api_key": "two words"},
        {"model": "ollama:llama3.1", "api_key": "key"},
    ],
)
def test_what_cannot_be_an_address_or_a_key_is_refused(home: Path, given: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        leadhand_of(**{"model": "openai_compatible:small", **given}, home=home)
