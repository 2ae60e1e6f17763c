"""A research run that reaches a limit of money or time ends with an answer from what was found, and says so."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from flows.judges import judge
from leadhand import RunStatus
from leadhand.app.runtime.clock import SystemClock
from leadhand.core.limits import Usage
from leadhand.ports.models import ModelProfile, ModelRequest
from leadhand.testing.scripted_model import ScriptedModel, calls, fails

from .runs import PASSAGES, SHOWN, SOUND, both, lead, model, research, subagent, task

PRICED = ModelProfile(name="priced", window=1_000_000, input_nanousd=1_000, output_nanousd=4_000)


def priced(scripted: ScriptedModel) -> ScriptedModel:
    """Let every reply of a model use 2,000 tokens, half a cent."""
    ask = scripted.ask

    async def used(request: ModelRequest, on_text: Any = None) -> Any:
        reply = await ask(request, on_text)
        return reply.evolve(usage=Usage(input_tokens=1_000, output_tokens=1_000))

    scripted.ask = used
    scripted.profile = lambda model: PRICED
    return scripted


def restless(request: ModelRequest) -> Any:
    """A lead that starts subagents for ever."""
    turn = sum(message.role == "assistant" for message in request.messages)
    return both(request) if turn == 0 else calls("subagent_run", **task(f"size {turn}"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limits", "kind", "most", "flag"),
    [
        ({"budget": 0.2}, "cost_usd", 0.2, "budget"),
        ({"max_requests": 20}, "requests", 20, "max_requests"),
        ({"max_tokens": 80_000, "budget": None}, "tokens", 80_000, "max_tokens"),
    ],
)
def test_what_is_held_back_pays_for_the_answer_and_its_judgement_whatever_the_lead_wants(
    home: Path, limits: dict[str, Any], kind: str, most: float, flag: str
) -> None:
    scripted = priced(model(lead=restless, writer=SOUND, judge=judge()))
    answer = research(home, scripted, max_turns=100, check="judge", **limits)

    assert (answer.status, answer.text) == (RunStatus.PARTIAL, SHOWN)
    usage = answer.document["usage"]
    assert {**usage, "tokens": usage["input_tokens"] + usage["output_tokens"]}[kind] <= most
    assert [each.worker for each in scripted.requests][-2:] == ["writer", "judge"]
    assert answer.evidence.confirmed == 2
    assert {each.class_ for each in answer.gaps} == {"exhausted"}
    assert any(flag in each.next_action for each in answer.gaps)


class Clock(SystemClock):
    """The time of the system, moved on by a test."""

    moved = timedelta(0)

    def now(self) -> datetime:
        return super().now() + self.moved


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> type[Clock]:
    monkeypatch.setattr(Clock, "moved", timedelta(0))
    monkeypatch.setattr("leadhand.app.runtime.runtime.SystemClock", Clock)
    return Clock


async def hang(request: ModelRequest) -> Any:
    await asyncio.Event().wait()


def late(clock: type[Clock], reply: Any) -> Any:
    """Return a step for which 85 of 100 seconds pass."""

    def step(request: ModelRequest) -> Any:
        clock.moved += timedelta(seconds=85)
        return reply(request) if callable(reply) else reply

    return step


def ended(answer: Any) -> None:
    found = [each for each in answer.gaps if "80 of 100 s" in each.reason]
    assert found
    assert all(each.class_ == "exhausted" and "timeout" in each.next_action for each in found)


def test_when_the_time_is_used_up_the_rest_of_it_is_for_the_answer_and_its_judgement(
    home: Path, clock: type[Clock]
) -> None:
    more = late(clock, calls("subagent_run", **task("owner")))
    scripted = model(lead=lead(both, more, SOUND), writer=SOUND, judge=judge())
    answer = research(home, scripted, timeout=100, check="judge")

    assert (answer.status, answer.text) == (RunStatus.PARTIAL, SHOWN)
    ended(answer)
    made = [each.worker for each in scripted.requests]
    assert (made.count("subagent"), made[-3:]) == (6, ["lead", "writer", "judge"]), "a task began too late"


def test_a_subagent_that_hangs_ends_with_the_time_for_the_work(home: Path, clock: type[Clock]) -> None:
    two = [{"tool": "subagent_run", "args": task(name)} for name in ("hanging", "owner")]
    scripted = model(
        lead=lead(both, calls("parallel_tool_call", calls=two), SOUND),
        hanging=hang,
        owner=late(clock, subagent),
        writer=SOUND,
    )
    answer = research(home, scripted, timeout=100)

    assert (answer.status, answer.text) == (RunStatus.PARTIAL, SHOWN)
    assert {each.name for each in answer.gaps} > {"hanging", "owner"}
    ended(answer)
    made = [each.worker for each in scripted.requests]
    assert (made.count("lead"), made[-1]) == (2, "writer"), "the lead was asked after its time"
    assert scripted.abandoned == 1


def test_without_time_for_an_answer_the_findings_are_listed(home: Path, clock: type[Clock]) -> None:
    more = late(clock, calls("subagent_run", **task("owner")))
    scripted = model(lead=lead(both, more), writer=late(clock, fails("unavailable", "quota", "no credit")))
    answer = research(home, scripted, timeout=100)

    assert answer.status is RunStatus.PARTIAL
    assert f"## costs\n\n{PASSAGES['bbbbbbbb.1']} [2]" in answer.text
    assert [each.class_ for each in answer.gaps] == ["exhausted", "exhausted"]
