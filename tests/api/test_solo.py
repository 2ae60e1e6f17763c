"""``solo``, the plain agent: one worker with its tools, in Python, in a project, or with every tool of the run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from leads import leadhand_of
from pydantic import BaseModel

from leadhand import Leadhand, RunStatus, UsageError, Worker, tool
from leadhand.core.errors import ConfigurationError
from leadhand.core.events import ModelCallBegan
from leadhand.engine.sent_requests import sent_request
from leadhand.flows import FlowContext, Retry, flow
from leadhand.ports.models import ModelRequest
from leadhand.testing.scripted_model import ScriptedModel, brief_of, calls, fails, gives, says
from leadhand.workers import load_worker_file


class Ticket(BaseModel):
    team: str
    urgent: bool = False


@tool
def customer(email: str) -> str:
    """Look up a customer."""
    return f"{email} is a gold customer"


TRIAGE = Worker("triage", "Sort the mail.", tools=[customer], output=Ticket)
GOLD = gives({"team": "sales", "urgent": True})


def of(name: str) -> Callable[[ModelRequest], bool]:
    return lambda request: request.worker == name


def lead_of(home: Path, models: Any, **settings: Any) -> Leadhand:
    return leadhand_of(models=models, home=home, **{"check": "off", "tools": [], **settings})


def test_a_worker_carries_the_request_out_with_its_own_tools_and_gives_a_typed_value(tmp_path: Path) -> None:
    with ScriptedModel([calls("customer", email="ann@example.org"), GOLD]) as models:
        answer = lead_of(tmp_path, models).run_sync("A mail.", worker=TRIAGE)
    assert answer.value == Ticket(team="sales", urgent=True)
    assert (answer.status, answer.document["flow"]) == (RunStatus.SUCCEEDED, "solo")
    assert brief_of(models.requests[0])["request"] == "A mail."
    assert [each.name for each in models.requests[0].tools][:1] == ["customer"]
    assert answer.document["tools"] == ["customer"]


async def test_only_the_runs_of_a_worker_have_the_tools_that_it_brings(tmp_path: Path) -> None:
    with ScriptedModel([GOLD, says("Hello.")]) as models:
        async with lead_of(tmp_path, models) as lead:
            await lead.run("A mail.", worker=TRIAGE)
            answer = await lead.run("Hi", flow="solo")
    assert answer.document["tools"] == []


async def test_without_a_worker_it_has_every_tool_of_the_run(tmp_path: Path) -> None:
    with ScriptedModel([calls("customer", email="a@b.c"), says("Gold.")]) as models:
        async with lead_of(tmp_path, models, tools=[customer]) as lead:
            answer = await lead.run("Who is a@b.c?", flow="solo")
    assert (answer.text, answer.document["calls"]) == ("Gold.", 1)


async def test_a_worker_of_the_program_is_known_by_name(tmp_path: Path) -> None:
    with ScriptedModel([GOLD]) as models:
        async with lead_of(tmp_path, models, workers=[TRIAGE]) as lead:
            answer = await lead.run("A mail.", worker="triage")
            assert answer.value == Ticket(team="sales", urgent=True)
            for unknown in ("nobody", "", 5):
                with pytest.raises(UsageError):
                    await lead.run("A mail.", worker=unknown)  # type: ignore[arg-type]
            with pytest.raises(UsageError, match="flow"):
                await lead.run("A mail.", worker="triage", flow="report")


async def test_a_file_makes_the_same_worker_as_python(tmp_path: Path) -> None:
    text = """---
name: triage
description: Sorts mails.
tools: [customer]
model: ["openai:gpt-5", "ollama:llama3.1"]
settings: {temperature: 0.2, max_output_tokens: 400}
limits: {max_turns: 3}
---
Sort the mail.
"""
    (file := tmp_path / "triage.worker").write_text(text)
    made = Worker(
        "triage",
        "Sort the mail.",
        description="Sorts mails.",
        tools=("customer",),
        model=("openai:gpt-5", "ollama:llama3.1"),
        settings={"temperature": 0.2, "max_output_tokens": 400},
        limits={"max_turns": 3},
    )
    assert load_worker_file(file) == made
    settings = made.version(model=None)
    with ScriptedModel([says("Done.")]) as models:
        async with lead_of(tmp_path, models, tools=[customer]) as lead:
            await lead.run("A mail.", worker=settings)
    assert (models.requests[0].temperature, models.requests[0].max_tokens) == (0.2, 400)


async def test_what_was_sent_is_shown_with_its_settings(tmp_path: Path) -> None:
    worker = Worker("own", "Answer.", tools=(), settings={"temperature": 0.5, "reasoning_effort": "high"})
    with ScriptedModel([says("Yes.")]) as models:
        async with lead_of(tmp_path, models) as lead:
            answer = await lead.run("Go", worker=worker)
            store = (await lead.runtime()).store
            entries = await store.read(answer.run_id)
            (began,) = [each for each in entries if isinstance(each.event, ModelCallBegan)]
            sent = await sent_request(began, entries, store)
    asked = models.requests[0]
    assert (asked.temperature, asked.reasoning_effort) == (0.5, "high")
    assert (sent.temperature, sent.reasoning_effort) == (0.5, "high")


async def test_only_workers_can_be_workers(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        Leadhand(workers=["triage"], home=tmp_path)  # type: ignore[list-item]


@pytest.mark.parametrize(
    "given",
    [
        {"settings": {"temprature": 1}},
        {"settings": {"temperature": 9}},
        {"settings": {"reasoning_effort": "immense"}},
        {"model": []},
        {"tools": [5]},
        {"limits": {"max_turns": 0}},
        {"tools": [Worker("b", lambda given: given.request)]},
    ],
)
def test_a_worker_that_cannot_be_used_is_refused_when_it_is_defined(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Worker("a", "Work.", **given)


async def test_validate_sends_an_answer_back(tmp_path: Path) -> None:
    def known(ticket: Ticket, _given: Any) -> None:
        if ticket.team != "sales":
            raise Retry("there is no such team")

    with ScriptedModel([gives({"team": "golf"}), GOLD]) as models:
        answer = await _run(lead_of(tmp_path, models), TRIAGE.version(validate=known))
    assert answer.value.team == "sales"
    assert "there is no such team" in models.requests[1].messages[-1].text  # type: ignore[union-attr]


async def test_instructions_may_be_a_function_of_what_is_given(tmp_path: Path) -> None:
    own = Worker("own", lambda given: f"Answer {given.deps} about {given.input['request']!r}.", tools=())
    with ScriptedModel([says("Yes.")]) as models:
        async with lead_of(tmp_path, models) as lead:
            answer = await lead.run("noise", worker=own, instructions="Be brief.", deps="Ann")
    assert answer.text == "Yes."
    said = models.requests[0].messages[0].text  # type: ignore[union-attr]
    assert "Answer Ann about 'noise'" in said
    assert "Be brief." in said


async def _run(lead: Leadhand, worker: Worker) -> Any:
    async with lead:
        return await lead.run("A mail.", worker=worker)


# --- workers among the tools of a worker -----------------------------------------------------------------------------


async def test_a_worker_among_the_tools_of_another_is_called_like_a_tool(tmp_path: Path) -> None:
    boss = Worker("boss", "Have the mail sorted.", tools=[TRIAGE])
    with ScriptedModel() as models:
        models.on(of("boss"), calls("triage", input="A mail of a@b.c"), says("For sales."))
        models.on(of("triage"), calls("customer", email="a@b.c"), GOLD)
        answer = await _run(lead_of(tmp_path, models), boss)
    assert (answer.text, answer.status) == ("For sales.", RunStatus.SUCCEEDED)
    asked = models.requests[0].tools[0]
    assert (asked.name, asked.parameters["required"]) == ("triage", ["input"])
    task = next(request for request in models.requests if request.worker == "triage")
    assert brief_of(task)["input"] == "A mail of a@b.c"
    assert [each.name for each in task.tools][:1] == ["customer"], "it has its own tools, which its caller lacks"
    assert '"team":"sales"' in models.requests[-1].messages[-1].content  # type: ignore[union-attr]


async def test_a_worker_with_every_tool_has_no_worker_that_another_one_calls(tmp_path: Path) -> None:
    helper = Worker("helper", "Help.")
    with ScriptedModel() as models:
        models.on(of("boss"), calls("helper", input="Look."), says("Done."))
        models.on(of("helper"), says("Seen."))
        async with lead_of(tmp_path, models, tools=[customer]) as lead:
            await lead.run("Go", worker=Worker("boss", "Lead.", tools=[helper]))
    task = next(request for request in models.requests if request.worker == "helper")
    assert {each.name for each in task.tools} == {"customer", "give_up"}


async def test_also_in_a_flow_and_from_files(tmp_path: Path) -> None:
    boss = Worker("boss", "Have the mail sorted.", tools=[TRIAGE])

    @flow
    async def sorting(run: FlowContext) -> str:
        return (await run.ask(boss, final=True)).text

    with ScriptedModel() as models:
        models.on(of("boss"), calls("triage", input="A mail"), says("For sales."))
        models.on(of("triage"), GOLD)
        async with lead_of(tmp_path, models, flows=[sorting]) as lead:
            assert (await lead.run("Go", flow="sorting")).text == "For sales."
    (tmp_path / "one.worker").write_text("---\nname: one\ntools: [two]\n---\nAsk two.\n")
    (tmp_path / "two.worker").write_text("---\nname: two\n---\nAnswer.\n")
    (tmp_path / "leadhand.toml").write_text('worker_files = ["*.worker"]\n')
    with ScriptedModel() as models:
        models.on(of("one"), calls("two", input="What?"), says("It is 5."))
        models.on(of("two"), says("5"))
        async with Leadhand.of_project(tmp_path, home=tmp_path, models=models, tools=[], check="off") as lead:
            assert (await lead.run("Go", worker="one")).text == "It is 5."


@pytest.mark.parametrize("other", [{"tools": [customer]}, {"workers": [Worker("customer", "Another one.")]}])
async def test_names_that_mean_two_things_are_refused(tmp_path: Path, other: dict[str, Any]) -> None:
    named = Worker("boss", "Lead.", tools=[Worker("customer", "Look them up.")])
    async with lead_of(tmp_path, ScriptedModel(), **other) as lead:
        with pytest.raises(UsageError, match="customer"):
            await lead.run("Go", worker=named)


# --- models in reserve -----------------------------------------------------------------------------------------------


async def test_the_next_model_is_called_while_the_first_is_unavailable(tmp_path: Path) -> None:
    worker = Worker("own", "Answer.", tools=(), model=["custom:first", "custom:second", "custom:third"])
    gone = fails("unavailable", "unknown_model", "no such model")
    with ScriptedModel([gone, gives({"a": 1}), says("Yes.")]) as models:
        async with lead_of(tmp_path, models) as lead:
            answer = await lead.run("Go", worker=worker.version(validate=_twice()))
            entries = [each.event async for each in await lead.get(answer.run_id)]
    assert answer.text == "Yes."
    began = [each.model for each in entries if isinstance(each, ModelCallBegan)]
    assert began == ["custom:first", "custom:second", "custom:second"], "the first one is not called again"


def _twice() -> Callable[[Any, Any], None]:
    seen: list[Any] = []

    def check(value: Any, _given: Any) -> None:
        seen.append(value)
        if len(seen) == 1:
            raise Retry("once more")

    return check


async def test_if_all_are_unavailable_the_run_fails_and_says_so(tmp_path: Path) -> None:
    worker = Worker("own", "Answer.", tools=(), model=["custom:first", "custom:second"])
    gone = fails("unavailable", "unknown_model", "no such model")
    with ScriptedModel([gone, gone, says("Yes.")]) as models:
        async with lead_of(tmp_path, models) as lead:
            run = await lead.start("Go", worker=worker)
            answer = await run.answer()
            assert answer.status is RunStatus.FAILED
            assert answer.failure is not None
            assert answer.failure.class_ == "unavailable"
            await run.retry()  # another process, or the same one later
            assert (await run.answer()).text == "Yes."


# --- what holds for every run ----------------------------------------------------------------------------------------


async def test_a_follow_up_has_the_same_worker_and_sees_the_earlier_answer(tmp_path: Path) -> None:
    with ScriptedModel([GOLD, gives({"team": "support"})]) as models:
        async with lead_of(tmp_path, models) as lead:
            first = await lead.start("A mail.", worker=TRIAGE)
            await first.answer()
            answer = await (await first.follow_up("And now?")).answer()
    assert answer.status is RunStatus.SUCCEEDED
    assert answer.value == Ticket(team="support")
    brief = brief_of(models.requests[1])
    assert (brief["request"], brief["earlier"]["request"]) == ("And now?", "A mail.")


async def test_its_text_is_streamed(tmp_path: Path) -> None:
    pieces: list[str] = []
    with ScriptedModel([says("One two three.")]) as models:
        async with lead_of(tmp_path, models) as lead:
            (await lead.runtime()).texts.on_text = lambda _run, _attempt, piece: pieces.append(piece)
            await lead.run("Go", worker=Worker("own", "Answer.", tools=()))
    assert "".join(pieces).strip() == "One two three."


async def test_a_plan_cannot_be_approved_where_none_is_made(tmp_path: Path) -> None:
    async with lead_of(tmp_path, ScriptedModel()) as lead:
        with pytest.raises(UsageError, match="solo"):
            await lead.run("A mail.", worker=TRIAGE, plan_only=True)


async def test_a_run_of_a_worker_with_code_is_not_continued_without_it(tmp_path: Path) -> None:
    checked = TRIAGE.version(validate=lambda _value, _given: None)
    with ScriptedModel([fails("transient", "http_500", "down")] * 3) as models:
        async with lead_of(tmp_path, models) as lead:
            run = await lead.start("A mail.", worker=checked)
            await run.answer()
    async with lead_of(tmp_path, ScriptedModel(), tools=[customer]) as lead:
        with pytest.raises(ConfigurationError, match="workers="):
            await (await lead.get(run.run_id)).retry()
    with ScriptedModel([GOLD]) as models:
        async with lead_of(tmp_path, models, workers=[checked]) as lead:
            again = await lead.get(run.run_id)
            await again.retry()
            assert (await again.answer()).document["value"]["team"] == "sales"
