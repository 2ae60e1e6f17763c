"""Agents of other frameworks as tools (examples/pydantic_ai_agent.py, openai_agent.py): the run pays for them."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from processes import start_async

from leadhand.testing.faults import request_of
from leadhand.testing.model_server import ScriptedServer
from leadhand.testing.scripted_model import Step, calls, says

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
INNER = "gpt-5-mini"
"""The model of the agents; the worker has another one, which is free."""


def desk(body: dict[str, Any]) -> Step:
    """The worker asks the agent, which looks the book up; each request of the agent counts 1,000 and 100 tokens."""
    request = request_of(body, "scripted")
    if body["model"] == INNER:
        found = [each for each in body["messages"] if each["role"] == "tool"]
        step = says(f"It is there: {found[0]['content']}") if found else calls("catalogue", title="Dune")
        return step.costing(input_tokens=1_000, output_tokens=100)
    replied = len(request.messages) > 2
    return says(str(request.messages[-1].content)) if replied else calls("ask_librarian", question="Where is Dune?")


@pytest.mark.parametrize("example", ["pydantic_ai_agent.py", "openai_agent.py"])
async def test_what_the_agent_spends_is_in_the_costs_of_the_run(example: str, tmp_path: Path) -> None:
    async with ScriptedServer(desk) as server:
        leadhand = {
            "LEADHAND_BASE_URL": server.base_url,
            "LEADHAND_MODEL": "openai_compatible:scripted",
            "LEADHAND_PRICE": "0",
        }
        openai = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none", "OPENAI_AGENTS_DISABLE_TRACING": "1"}
        environment = {**os.environ, **leadhand, **openai, "LEADHAND_HOME": str(tmp_path), "LEADHAND_CHECK": "off"}
        pipe: Any = asyncio.subprocess.PIPE
        program = await start_async(sys.executable, str(EXAMPLES / example), env=environment, stdout=pipe)
        printed, _ = await asyncio.wait_for(program.communicate(), 90)
        inner = sum(body["model"] == INNER for body in server.bodies)
    text, costs = printed.decode().splitlines()
    assert "shelf 7" in text
    assert inner == 2
    assert costs.startswith(f"{len(server.bodies)} requests")
    assert costs.endswith("$0.000900")  # 2,000 tokens at $0.25 a million, and 200 at $2


def test_they_are_short() -> None:
    assert all(
        len((EXAMPLES / name).read_text().splitlines()) <= 60 for name in ("pydantic_ai_agent.py", "openai_agent.py")
    )
