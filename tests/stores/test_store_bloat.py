"""What a whole run with large arguments, results and an answer takes in the database: a few times their size."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from leadhand import Leadhand, tool
from leadhand.core.conversation import AssistantMessage
from leadhand.core.limits import Usage
from leadhand.ports.models import ModelProfile, ModelReply, ModelRequest

COUNT = 20
LETTER = 20_000
NAMES = [f"letter_{number}" for number in range(COUNT)]


def letter(name: str) -> str:
    return f"{name} \n" * (LETTER // len(f"{name} \n"))


class LetterLead:
    """Plans one call for each letter, its text as an argument; accepts every result; answers with all of them."""

    def profile(self, model: str) -> ModelProfile:
        return ModelProfile(name=model, free=True)

    async def ask(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        usage = Usage(requests=1, input_tokens=1, output_tokens=1, nanousd=0)
        answer = "\n".join(f"{name} was sent. " + "It was sent as planned. " * 20 for name in NAMES)
        if request.output is None:
            return ModelReply(message=AssistantMessage(text=answer), usage=usage)
        if request.output.name == "plan":
            subtasks = [{"name": name, "tool": "send", "args": {"text": letter(name)}} for name in NAMES]
            value: dict[str, Any] = {"goal": "send letters", "subtasks": subtasks}
        else:
            facts = json.loads(request.messages[1].text)  # type: ignore[union-attr]
            verdicts = [{"subtask": each["subtask"], "verdict": "accept"} for each in facts["subtasks"]]
            value = {"verdicts": verdicts, "complete": True}
            if facts.get("compose"):
                value["answer"] = answer
        return ModelReply(message=AssistantMessage(), value=value, usage=usage)

    async def aclose(self) -> None:
        """There is nothing to close."""


@tool(name="send", approval="auto")
async def send(text: str) -> str:
    """Send a letter."""
    return f"sent: {text}"


@pytest.mark.slow
async def test_large_arguments_results_and_answers_are_not_copied_from_event_to_event(tmp_path: Path) -> None:
    models: Any = LetterLead()
    async with Leadhand(models=models, tools=[send], home=tmp_path, budget=1.0) as lead:
        run = await lead.start("Send the letters")
        await run.wait()
        store = (await lead.runtime()).store
        listing = await store.run(run.run_id)
    assert listing.completed == COUNT
    with closing(sqlite3.connect(tmp_path / "leadhand.db")) as connection:
        ((bodies,),) = connection.execute("SELECT sum(length(body)) FROM events")
        ((payloads,),) = connection.execute("SELECT sum(length(body)) FROM blobs")
    letters = COUNT * LETTER
    assert payloads < 4 * letters, "each letter is in a result and in the requests to the model"
    assert bodies < 4 * letters, "each letter is in the plan as it came and as it was issued, and in its call"
