"""Honest answers of a strong model are delivered word for word after one request to the writer."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from leadhand import Leadhand
from leadhand.testing.faults import request_of
from leadhand.testing.model_server import ScriptedServer
from leadhand.testing.scripted_model import ScriptedModel, worker_of

from .lies import Truthful, lying
from .runs import Played, play
from .scenes import HONEST, INCOMPLETE, SCENES
from .transcripts import FOLDER, reply, told

DIRECT = ("what can you do", "greeting", "explanation", "translation", "haiku", "sum")


@pytest.mark.parametrize("name", [*HONEST, *INCOMPLETE])
async def test_an_honest_answer_is_delivered_word_for_word_after_one_request(name: str, tmp_path: Path) -> None:
    scene = SCENES[name]
    played = await play(scene, tmp_path)
    document = played.answer.document
    assert document["answer"] == scene.delivered(scene.text)
    assert (played.writings, played.corrections) == (1, 0)
    assert document["status"] == scene.status
    assert played.evidence["doubts"] == []
    assert all(document["answer"][each["start"] : each["end"]] == each["text"] for each in _texts(document))
    if name in DIRECT:
        assert [each.worker for each in played.requests] == ["plan"]
        assert played.evidence["judged_by"] is None
    else:
        assert played.evidence["confirmed"] == len(document["claims"]) > 0
    if scene.status == "succeeded":
        assert document["gaps"] == []


def _texts(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The claims of an answer that are in its text."""
    return [each for each in document["claims"] if not each.get("path")]


async def test_a_question_is_asked_word_for_word(tmp_path: Path) -> None:
    request, asked = told(117)[0]["request"], reply(117)["question"]
    async with Leadhand(models=ScriptedModel(plan=[reply(117)]), home=tmp_path, check="judge") as lead:
        answer = await lead.run(request)
    assert (answer.status.value, answer.document["question"]["text"]) == ("waiting", asked)
    assert answer.document["answer"] is None


# --- over HTTP, and in a process -------------------------------------------------------------------------------------


def served(played: Played) -> ScriptedServer:
    """A server that answers as the model of a scene, which it knows by what a request is for."""

    def answer(body: dict[str, Any]) -> Any:
        request = request_of(body, "scripted")
        return played.reply(request.evolve(worker=worker_of(request)))

    return ScriptedServer(answer)


def flags_of(scene: Any, home: Path) -> list[str]:
    model, tools = "openai_compatible:scripted", str(FOLDER / f"{scene.tools}.py")
    own = ["--model", model, "--tools", tools, "--approve", "auto", "--check", "judge"]
    return ["run", scene.request, *own, "--home", str(home), "--json"]


@pytest.mark.parametrize(
    ("name", "lies", "code"),
    [("sum", False, 0), pytest.param("late orders", False, 0, marks=pytest.mark.slow), ("weather and route", True, 3)],
)
async def test_the_command_line_shows_the_answer_and_its_marks(
    name: str, lies: bool, code: int, tmp_path: Path
) -> None:
    scene: Any = SCENES[name]
    text, _, told_lies = lying(name) if lies else (scene.text, None, [])
    played = Played(scene, text, None, Truthful(told_lies))
    async with served(played) as server:
        command = [sys.executable, "-m", "leadhand", *flags_of(scene, tmp_path)]
        environment = {**os.environ, "LEADHAND_BASE_URL": server.base_url}
        process = await asyncio.create_subprocess_exec(
            *command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
        )
        out, err = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == code, err.decode()
    document = json.loads(out)
    assert document["answer"] == text
    assert (played.writings, played.corrections) == (1, int(lies))
    assert {each["part"] for each in document["evidence"]["doubts"]} == {each.part for each in told_lies}
    assert all(each.part in err.decode() for each in told_lies), "the marks are beside the answer"
    assert all(f"Not so: {each.part}" in err.decode() for each in told_lies), "with the reasons"
