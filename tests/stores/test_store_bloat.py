"""What a whole run with large arguments, results and an answer takes in the database: a few times their size."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from leadhand import Leadhand, tool
from leadhand.testing.scripted_model import ScriptedModel, plans, reviews, subtask

COUNT = 20
LETTER = 20_000
NAMES = [f"letter_{number}" for number in range(COUNT)]


def letter(name: str) -> str:
    return f"{name} \n" * (LETTER // len(f"{name} \n"))


@tool(name="send", approval="auto")
async def send(text: str) -> str:
    """Send a letter."""
    return f"sent: {text}"


@pytest.mark.slow
async def test_large_arguments_results_and_answers_are_not_copied_from_event_to_event(tmp_path: Path) -> None:
    plan = plans(*(subtask(name, "send", text=letter(name)) for name in NAMES))
    answer = "\n".join(f"{name} was sent. " + "It was sent as planned. " * 20 for name in NAMES)
    review = reviews(accept=[f"wo-001.{number}" for number in range(COUNT)], answer=answer)
    with ScriptedModel(plan=[plan], review=[review]) as model:
        async with Leadhand(models=model, tools=[send], home=tmp_path, budget=1.0) as lead:
            run = await lead.start("Send the letters")
            assert (await run.answer()).text == answer
    with closing(sqlite3.connect(tmp_path / "leadhand.db")) as connection:
        ((bodies,),) = connection.execute("SELECT sum(length(body)) FROM events")
        ((payloads,),) = connection.execute("SELECT sum(length(body)) FROM blobs")
    letters = COUNT * LETTER
    assert payloads < 4 * letters, "each letter is in a result and in the requests to the model"
    assert bodies < 5 * letters, "each letter is in the plan as it came, twice, and as it was issued, and in its call"
