"""What steps of any flow may do and spend, and what their tools may ask: through the real store, end to end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from leads import leadhand_of

from leadhand import Answer, RunStatus, ToolReturn, UsageError, Worker, tool
from leadhand.core.conversation import AssistantMessage, ToolCall, ToolMessage
from leadhand.core.limits import Usage
from leadhand.core.tool import DefineWorker, Delegate, SetTodos, Todo, WriteArtifact
from leadhand.flows import FlowContext, flow
from leadhand.flows.seam.function import FunctionFlow
from leadhand.ports.models import ModelProfile, ModelReply, ModelRequest

Said = Callable[[ModelRequest], "str | tuple[str, dict[str, Any]]"]


class Scripted:
    """A model that answers by a function: text, or the name and arguments of a tool to call."""

    def __init__(self, said: Said) -> None:
        self.said = said
        self.requests: list[ModelRequest] = []
        self.at_once = self.most_at_once = 0
        self.four = asyncio.Event()
        """Set once four are asked at the same time."""
        self.waits_for_four = False

    async def ask(self, request: ModelRequest, on_text: Any = None) -> ModelReply:
        self.requests.append(request)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        if self.at_once == 4:
            self.four.set()
        if self.waits_for_four:
            await self.four.wait()
        self.at_once -= 1
        said = self.said(request)
        message = AssistantMessage(text=said) if isinstance(said, str) else AssistantMessage(tool_calls=(_call(*said),))
        return ModelReply(message=message, usage=Usage(input_tokens=5, output_tokens=5, nanousd=1))

    def profile(self, model: str) -> ModelProfile:
        return ModelProfile(name=model, window=50_000, input_nanousd=1, output_nanousd=1)

    async def aclose(self) -> None: ...


def _call(name: str, args: dict[str, Any]) -> ToolCall:
    return ToolCall(id=f"call_{name}", name=name, arguments=args)


def results(request: ModelRequest) -> list[dict[str, Any]]:
    """What tools have answered so far."""
    return [json.loads(message.content) for message in request.messages if isinstance(message, ToolMessage)]


HELPER = Worker("helper", "Help.", tools=("look", "send"))
WORKER = Worker("worker", "Work.", tools=("look", "ask"))


def team(worker: Worker, count: int = 1) -> FunctionFlow:
    """Return a flow that asks one worker so many times at once, beside another one that tools may ask."""

    @flow(name="team")
    async def own(run: FlowContext) -> str:
        asked, _ = worker, HELPER
        return "\n\n".join(map(str, await run.gather(run.ask(asked, key=f"w{n}", n=n) for n in range(count))))

    return own


@tool
def look(n: int = 0) -> str:
    """Look at a number."""
    return f"saw {n}"


@tool
def send(n: int = 0) -> str:
    """Send a number."""
    return f"sent {n}"


def asking(*asks: Any, summary: str = "asked") -> Any:
    """A tool that asks these things of the controller."""

    @tool(name="ask")
    def ask() -> ToolReturn:
        """Ask the controller."""
        return ToolReturn(raw="its own", summary=summary, asks=asks)

    return ask


async def run(
    made: FunctionFlow, said: Said, home: Path, *tools: Any, at_once: bool = False, **settings: Any
) -> tuple[Answer, Scripted, Any]:
    models = Scripted(said)
    models.waits_for_four = at_once
    async with leadhand_of(flows=[made], models=models, tools=[look, send, *tools], home=home, **settings) as lead:
        answer = await lead.run("go", flow=made.name)
        runtime = await lead.runtime()
        state = await runtime.load(answer.run_id)
        contents = [await runtime.store.blob(each[-1].digest) for each in state.artifacts.values()]
        return answer, models, (state, contents)


# --- rights --------------------------------------------------------------------------------------------------------


async def test_every_step_takes_a_slot_whatever_its_flow(tmp_path: Path):
    worker = Worker("worker", "Work.", loop="reply")
    answer, models, _ = await run(team(worker, 40), lambda _: "done", tmp_path, at_once=True, max_workers=4)
    assert answer.status is RunStatus.SUCCEEDED
    assert models.most_at_once == 4


async def test_a_worker_is_offered_only_its_own_tools_and_any_other_call_is_answered_with_an_error(
    tmp_path: Path,
):
    def said(request: ModelRequest) -> Any:
        return "done" if results(request) else ("send", {"n": 1})

    _, models, _ = await run(team(WORKER), said, tmp_path, asking())
    assert {each.name for each in models.requests[0].tools} == {"look", "ask", "give_up"}
    (refused,) = results(models.requests[1])
    assert refused["isError"]
    assert all(name in refused["message"] for name in ("send", "ask", "look"))


async def test_a_worker_that_gives_one_reply_has_no_tools_and_a_call_it_makes_is_not_dropped(tmp_path: Path):
    worker = Worker("worker", "Work.", tools=("look",), loop="reply")

    def said(request: ModelRequest) -> Any:
        return "done" if results(request) else ("look", {"n": 1})

    answer, models, (state, _) = await run(team(worker), said, tmp_path)
    assert models.requests[0].tools == ()
    assert "look" in results(models.requests[1])[0]["message"]
    assert (answer.text, state.steps["w0"].calls) == ("done", ())


async def test_a_worker_that_names_a_tool_that_does_not_exist_is_refused_before_the_run(tmp_path: Path):
    worker = Worker("worker", "Work.", tools=("loook",))
    with pytest.raises(UsageError, match=r"worker .*'loook'.*\n.* look\?"):
        await run(team(worker), lambda _: "done", tmp_path)


@pytest.mark.parametrize("ceiling", [{"max_requests": 2}, {"budget": 0.000002}, {"max_tokens": 2_500}])
async def test_one_worker_can_use_up_its_own_ceiling_and_nobody_else_s(ceiling: dict[str, Any], tmp_path: Path):
    worker = Worker("worker", "Work.", tools=("look",), limits={"max_turns": 50, **ceiling})

    def said(request: ModelRequest) -> Any:
        endless = '"n":0' in getattr(request.messages[1], "text", "")
        return ("look", {"n": len(results(request))}) if endless else "done"

    answer, models, (state, _) = await run(team(worker, 3), said, tmp_path, max_output_tokens=500)
    assert answer.status is RunStatus.PARTIAL
    assert [gap.step for gap in answer.gaps] == ["w0"]
    assert answer.gaps[0].class_ == "exhausted"
    assert "w0" in answer.gaps[0].reason
    assert state.spent.requests == len(models.requests) < 10


# --- what tools ask for ----------------------------------------------------------------------------------------------


async def test_a_worker_is_defined_and_does_what_it_is_asked_to_within_the_rights_of_its_creator(tmp_path: Path):
    asks = (
        DefineWorker(name="scout", instructions="Scout.", tools=("look",)),
        Delegate(worker="scout", title="scouting", input={"where": "north"}),
    )

    def said(request: ModelRequest) -> Any:
        told = results(request)
        if request.worker == "scout":
            assert {each.name for each in request.tools} == {"look", "give_up"}
            return "scouted" if told else ("look", {"n": 7})
        return f"told {told[-1]['summary']}, {told[-1]['raw']}" if told else ("ask", {})

    answer, models, (state, _) = await run(team(WORKER), said, tmp_path, asking(*asks))
    assert answer.status is RunStatus.SUCCEEDED
    assert answer.text == "told scouted, saw 7", "its whole result goes back to the call"
    assert state.workers["scout"].tools == ("look",)
    scout = next(each for each in state.steps.values() if each.step.worker == "scout")
    assert (scout.step.parent, scout.step.title) == ("w0/a1", "scouting")
    assert [message.text for message in models.requests[1].messages[:1]] == ["Scout."]


@tool
def note() -> ToolReturn:
    """Write a note."""
    return ToolReturn(asks=(WriteArtifact(path="memory/north.md", content="# North"),))


async def test_the_paths_of_a_childs_artifacts_go_back_to_the_call_with_its_result(tmp_path: Path):
    asks = (DefineWorker(name="scribe", instructions="Write.", tools=("note",)), Delegate(worker="scribe"))

    def said(request: ModelRequest) -> Any:
        answered = results(request)
        if request.worker == "scribe":
            return "it is written" if answered else ("note", {})
        return json.dumps(answered[-1]) if answered else ("ask", {})

    worker = replace(WORKER, tools=("ask", "note"))
    answer, _, (state, _) = await run(team(worker), said, tmp_path, asking(*asks), note)
    given = json.loads(answer.text)
    assert given["summary"] == "it is written"
    assert given["artifacts"] == ["memory/north.md"]
    assert list(state.artifacts) == ["memory/north.md"]


@pytest.mark.parametrize(
    ("ask", "named"),
    [
        (Delegate(worker="pilot"), "'pilot'"),
        (Delegate(tools=("send",)), "send"),
        (DefineWorker(name="x", instructions="", tools=("send", "look")), "send"),
        (DefineWorker(name="helper", instructions=""), "'helper'"),
        (WriteArtifact(path="../out", content="x"), "../out"),
    ],
)
async def test_what_a_tool_may_not_ask_for_is_refused_with_the_reason_and_nothing_happens(
    ask: Any, named: str, tmp_path: Path
):
    def said(request: ModelRequest) -> Any:
        told = results(request)
        return f"I was told: {told[-1].get('message')}" if told else ("ask", {})

    answer, _, (state, _) = await run(team(WORKER), said, tmp_path, asking(SetTodos(todos=()), ask))
    assert named in answer.text
    assert (state.workers, state.artifacts, len(state.steps)) == ({}, {}, 1)


async def test_artifacts_and_todos_are_kept_as_asked_and_earlier_versions_stay(tmp_path: Path):
    todo = Todo(id="1", content="look", status="in_progress")
    asks = (WriteArtifact(path="notes/a.md", content="# One"), SetTodos(todos=(todo,)))

    def said(request: ModelRequest) -> Any:
        told = results(request)
        return ("ask", {}) if len(told) < 2 else f"kept: {told[-1]['summary']}"

    answer, _, (state, contents) = await run(team(WORKER), said, tmp_path, asking(*asks))
    assert answer.text == "kept: asked"
    assert contents == [b"# One"]
    assert [each["version"] for each in answer.document["artifacts"]] == [1, 2]
    assert answer.document["todos"] == [todo.model_dump(mode="json")]
    assert state.todos == (todo,)


async def test_a_child_spends_within_what_its_parent_may_spend(tmp_path: Path):
    worker = replace(WORKER, limits={"max_requests": 3})

    def said(request: ModelRequest) -> Any:
        told = results(request)
        if request.worker == "helper":
            return ("look", {"n": len(told)})  # for ever
        return f"I was told: {told[-1].get('message')}" if told else ("ask", {})

    answer, models, (state, _) = await run(team(worker), said, tmp_path, asking(Delegate(worker="helper")))
    assert len(models.requests) == 3, "the parent's ceiling holds for all that is done on its behalf"
    assert answer.status is RunStatus.FAILED
    assert state.steps["w0"].failure.class_ == "exhausted"
