"""Histories of runs whose workers are given by hand, and whose tools ask the controller for something."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.histories import TOOLS, History, definition
from leadhand.core import decide as do
from leadhand.core import events as ev
from leadhand.core.ids import tool_call_id
from leadhand.core.outcome import FlowAnswer, may_be_used
from leadhand.core.run import AttemptStatus
from leadhand.core.state import AttemptState, RunState, StepState
from leadhand.core.tool import Ask, Source, ToolSpec
from leadhand.core.work_order import OpenCall, Step
from leadhand.core.work_result import ResultData
from leadhand.core.worker import Worker
from leadhand.flows.seam.pending import PLAIN, Details

DELEGATES = tuple(
    ToolSpec(name=name, description="Another worker does it.", parameters={"type": "object"}, delegate=True)
    for name in ("research", "scout", "ask_one", "ask_two", "ask_three")
)


class Commanded:
    """A policy that wants nothing: what happens is commanded by the test. All results that count are the answer."""

    def next(self, state: RunState) -> Sequence[do.Command]:
        return []

    def details(self, state: RunState, key: str) -> Details:
        return PLAIN

    def brief(self, state: RunState, step: StepState) -> dict[str, Any]:
        return {**step.step.input}

    def answer(self, state: RunState) -> FlowAnswer:
        done = [each for each in state.steps.values() if each.counts and each.ok]
        text = "\n\n".join(each.data.summary for each in done if each.data is not None and may_be_used(each))
        return FlowAnswer(text, uses=[each.key for each in done])


def history_of(*workers: Worker, **limits: Any) -> History:
    """A run with these workers, in which nothing was handed out yet."""
    what = definition(**limits).evolve(flow="commanded", workers=workers, tools=(*TOOLS, *DELEGATES))
    return History(what, policy=Commanded())


def current(history: History, key: str) -> AttemptState:
    """The current attempt at a step; it is started if it was only scheduled."""
    attempt = history.state.steps[key].attempt
    assert attempt is not None, f"{key} has no attempt"
    if attempt.status is AttemptStatus.SCHEDULED:
        history.starts(attempt)
    return attempt


def assigned(history: History, key: str, worker: str, **more: Any) -> AttemptState:
    """Hand out a step, and start it."""
    recorded = history.state.worker(worker)
    step = Step(step_id=key, worker=worker, counts=recorded is not None and recorded.counts, **more)
    assert history.command(do.IssueStep(step)), history.refusal
    return current(history, key)


def asks(history: History, key: str, *wanted: Ask, tool: str = "look", turn: int = 1) -> str:
    """A tool of a step returns and asks for something; the attempt is parked. Return the call's id."""
    attempt = current(history, key)
    call_id = tool_call_id(key, attempt.conversation, turn, 0)
    history.write(
        ev.ToolCallBegan(attempt=attempt.attempt, call_id=call_id, tool=tool, args={"n": 1}),
        ev.ToolCallReturned(
            attempt=attempt.attempt, call_id=call_id, tool=tool, ok=True, summary="seen", raw={"n": 1}, asks=wanted
        ),
        ev.AttemptParked(
            attempt=attempt.attempt, open_calls=(OpenCall(call_id=call_id, kind="asks", tool=tool, args={"n": 1}),)
        ),
    )
    return call_id


def decided(history: History, key: str, *wanted: Ask, tool: str = "look", turn: int = 1) -> list[ev.AnyEvent]:
    """Have what a tool asks for decided; return the events that this makes."""
    call_id = asks(history, key, *wanted, tool=tool, turn=turn)
    before = len(history.log)
    assert history.command(do.Answer(call_id)), history.refusal
    return [entry.event for entry in history.log[before:]]


def comes_back(history: History, key: str, data: ResultData, *, value: Any = None) -> None:
    """A worker calls a tool that returns ``data``, and comes back with it; what it returned is settled."""
    attempt = current(history, key)
    used: tuple[str, ...] = ()
    if data.sources or data.raw is not None:
        used = (tool_call_id(key, attempt.conversation, 1, 0),)
        history.write(
            ev.ToolCallBegan(attempt=attempt.attempt, call_id=used[0], tool="write", args={}),
            ev.ToolCallReturned(
                attempt=attempt.attempt, call_id=used[0], tool="write", ok=True, raw=data.raw, sources=data.sources
            ),
        )
    if value is not None:
        history.thinks(attempt, value, data.summary)
    else:
        history.returns(attempt, data=data, used=used)
    assert history.command(do.Settle(step=key)), history.refusal


def page(name: str) -> Source:
    return Source(title=f"Page {name}", url=f"https://example.org/{name}")
