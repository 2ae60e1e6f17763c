"""A program as users write it, with the types that their editor shows. Checked by pyright and mypy, never run."""

from __future__ import annotations

from typing import Any, assert_type

from pydantic import BaseModel

from leadhand import (
    Answer,
    Leadhand,
    Run,
    RunStatus,
    TextPiece,
    TextRestarted,
    Tool,
    ToolContext,
    ToolReturn,
    Worker,
    events,
    tool,
)
from leadhand.flows import FlowContext, Result, flow


class Ticket(BaseModel):
    team: str
    urgent: bool


@tool
def tide(location: str) -> ToolReturn:
    """High tide at a harbour."""
    return ToolReturn(summary=f"High tide in {location} is at 11:42.")


@tool(effect="once", approval="ask", timeout=10)
async def send_mail(to: str, body: str, context: ToolContext) -> str:
    """Send a mail."""
    return f"sent to {to} by {context.deps}: {body}"


assert_type(tide("Dover"), ToolReturn)
_registered: Tool[..., Any] = send_mail
triage = Worker("triage", "Sort one support mail.", tools=[send_mail], output=Ticket)


@flow
async def twice(run: FlowContext, tone: str = "plain") -> str:
    first, second = await run.gather([run.ask(triage, mail=run.request), run.ask(triage, mail=tone)])
    assert_type(first, Result)
    return f"{first}{second.text}"


def in_sync(lead: Leadhand) -> None:
    answer = lead.run_sync("When is the tide in Dover?", output=Ticket, deps="session")
    assert_type(answer, Answer[Ticket])
    assert_type(answer.value, Ticket | None)
    assert_type(answer.text, str)
    assert_type(answer.status, RunStatus)
    assert_type(answer.cost_usd, float | None)
    for gap in answer.gaps:
        assert_type(gap.reason, str)
    for doubt in answer.doubts:
        assert_type(doubt.claim, str)
    for done in answer.done:
        assert_type(done.tool, str)
    assert_type(answer.usage.requests, int)
    assert_type(lead.map_sync(triage, ["a", "b"]), list[Result])


async def in_a_loop(lead: Leadhand) -> None:
    run = await lead.start("…", output=Ticket, messages=[{"role": "user", "content": "Hello"}])
    assert_type(run, Run[Ticket])
    async for piece in run.text():
        match piece:
            case TextPiece(text):
                assert_type(text, str)
            case TextRestarted(reason):
                assert_type(reason, str)
    async for event in run.events():
        match event:
            case events.ToolCallReturned():
                assert_type(event.tool, str)
                assert_type(event.ok, bool)
            case events.RunFinished():
                assert_type(event.status, RunStatus)
            case _:
                pass
    assert_type(await run.answer(), Answer[Ticket])
    async for result in lead.map(triage, ["a"]):
        assert_type(result, Result)


Leadhand("openai_compatible:small", base_url="http://127.0.0.1:8000/v1", tools=[tide, send_mail], flows=[twice])
