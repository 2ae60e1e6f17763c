"""Steps of built-in flows that Python code carries out: its calls are those of any worker, and what goes wrong in it
stays there."""

from __future__ import annotations

import asyncio
import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from leads import leadhand_of
from pydantic import BaseModel

from leadhand import Answer, Leadhand, Run, tool
from leadhand.core import events as ev
from leadhand.core.errors import FailureClass, ToolError
from leadhand.core.worker import Worker
from leadhand.flows import FlowContext
from leadhand.flows.flow import Desk
from leadhand.flows.seam.function import FunctionFlow
from leadhand.flows.seam.pending import Details
from leadhand.ports import ModelError
from leadhand.testing.scripted_model import ScriptedModel, fails, gives


class Facts(BaseModel):
    facts: list[str]


def coded(code: Callable[[Desk], Any], **worker: Any) -> FunctionFlow:
    """Return a flow of one step that code carries out, and one beside it that a model does."""
    coder = Worker(name="coder", loop="code", **{"instructions": "Be exact.", "counts": True, **worker})
    other = Worker(name="other", instructions="Say hello.", loop="reply", counts=True)

    async def both(run: FlowContext) -> str:
        steps = [
            run.step(coder, key="coder-1", input={"topic": run.request}, details=Details(code=code)),
            run.step(other, key="other-1", input={}),
        ]
        done = await run.gather(steps, return_failures=True)
        return "; ".join(each.text for each in done if each.ok) or "nothing"

    return FunctionFlow(both, "coded", workers=[coder, other])


def models(*steps: Any) -> ScriptedModel:
    return ScriptedModel().on(lambda request: request.worker == "other", always="hello").on(by_code, *steps)


def by_code(request: Any) -> bool:
    return request.worker == "coder"


async def ran(
    home: Path, code: Callable[[Desk], Any], *steps: Any, worker: dict[str, Any] | None = None, **settings: Any
) -> tuple[Answer, Run, ScriptedModel]:
    model = models(*steps)
    async with leadhand_of(models=model, flows=[coded(code, **(worker or {}))], home=home, **settings) as lead:
        run = await lead.start("heat pumps", flow="coded")
        return await run.answer(), run, model


def failure_of(run: Run) -> Any:
    failed = run.state.steps["coder-1"].failure
    assert failed is not None, "it did not fail"
    assert run.state.steps["other-1"].ok, "it took the other step with it"
    return failed


async def notes(lead: Leadhand, run_id: str) -> list[str]:
    entries = await (await lead.runtime()).store.read(run_id)
    return [entry.event.message for entry in entries if isinstance(entry.event, ev.NoteEmitted)]


# --- its calls -------------------------------------------------------------------------------------------------------


async def test_its_model_calls_are_recorded_with_what_was_asked_and_its_text_is_the_result(home: Path):
    async def code(desk: Desk) -> str:
        desk.emit(f"on {desk.brief['topic']}")
        said = await desk.ask("What is it?")
        found = await desk.ask({"find": "facts"}, Facts)
        assert isinstance(found, Facts)
        return f"{said} {len(found.facts)} facts"

    model = models("A machine.", gives({"facts": ["a", "b"]}))
    async with Leadhand(models=model, flows=[coded(code)], home=home) as lead:
        run = await lead.start("heat pumps", flow="coded")
        answer = await run.answer()
        assert answer.text == "A machine. 2 facts; hello"
        assert await notes(lead, run.run_id) == ["on heat pumps"]
        entries = await (await lead.runtime()).store.read(run.run_id)
    returned = [e.event for e in entries if isinstance(e.event, ev.ModelCallReturned) and e.event.asked]
    assert [event.asked["prompt"] for event in returned] == ["What is it?", {"find": "facts"}]
    assert returned[1].asked["output"] == Facts.model_json_schema()
    first = next(request for request in model.requests if by_code(request))
    assert [message.role for message in first.messages] == ["system", "user"]
    assert first.messages[0].text == "Be exact."
    assert run.state.steps["coder-1"].value is None, "the value of a question is not that of the step"


async def test_an_answer_that_does_not_fit_is_asked_for_again_with_the_reason(home: Path):
    async def code(desk: Desk) -> str:
        return ", ".join((await desk.ask("Which?", Facts)).facts)

    answer, _, model = await ran(home, code, "no JSON", gives({"facts": 1}), gives({"facts": ["a"]}))
    assert answer.text == "a; hello"
    last = [request for request in model.requests if by_code(request)][-1]
    assert len(last.messages) == 6
    assert "facts" in last.messages[-1].text


async def test_its_value_matches_the_output_of_the_worker(home: Path):
    async def code(desk: Desk) -> Facts:
        await desk.ask("Which?", Facts)
        return Facts(facts=["mine"])

    _, run, _ = await ran(home, code, gives({"facts": ["the model's"]}), worker={"output": Facts})
    assert run.state.steps["coder-1"].value == {"facts": ["mine"]}


@tool
def look(n: int) -> dict[str, Any]:
    """Look at something."""
    return {"seen": n}


async def test_it_calls_the_tools_of_its_worker_and_no_others(home: Path):
    @tool
    def secret() -> str:
        """Return a secret."""
        raise AssertionError("it was called")

    async def code(desk: Desk) -> str:
        seen = await desk.call("look", n=3)
        with pytest.raises(ToolError, match=r"secret.*look") as unknown:
            await desk.call("secret")
        with pytest.raises(ToolError, match="three") as wrong:
            await desk.call("look", n="three")
        assert [each.value.failure.type for each in (unknown, wrong)] == ["unknown_tool", "bad_arguments"]
        return str(seen.raw)

    answer, run, _ = await ran(home, code, worker={"tools": ("look",)}, tools=[look, secret])
    assert answer.text == "{'seen': 3}; hello"
    assert run.state.finished is not None
    assert [call.tool for call in run.state.steps["coder-1"].made] == ["look"]


async def test_it_needs_no_tool_to_make_calls_at_once(home: Path):
    @tool(parallel=True)
    def together(calls: list[dict[str, Any]]) -> list[Any]:
        """Make several calls at once."""
        raise AssertionError("it was called")

    async def code(desk: Desk) -> str:
        with pytest.raises(ToolError, match=r"together: .* asyncio\.gather"):
            await desk.call("together", calls=[{"tool": "look", "args": {"n": 1}}])
        return "done"

    answer, _, _ = await ran(home, code, worker={"tools": ("look", "together")}, tools=[look, together])
    assert answer.text == "done; hello"


async def test_parallel_calls_are_made_at_once(home: Path):
    async def code(desk: Desk) -> str:
        return " ".join(await asyncio.gather(*(desk.ask(f"{n}?") for n in range(3))))

    both = asyncio.Event()
    waiting: list[str] = []

    async def together(request: Any) -> str:
        waiting.append(request.messages[-1].text)
        if len(waiting) == 3:
            both.set()
        await both.wait()
        return "yes"

    answer, _, _ = await ran(home, code, together, together, together)
    assert answer.text == f"{' '.join(['yes'] * 3)}; hello"


# --- what goes wrong in it -------------------------------------------------------------------------------------------


def crash() -> None:
    raise KeyError("plan")


@pytest.mark.parametrize(
    ("breaks", "kind", "said"),
    [
        (crash, "exception", r"KeyError: 'plan' \(test_code_workers.py:\d+\)"),
        (lambda: sys.exit(3), "exception", "SystemExit"),
        (lambda: (_ for _ in ()).throw(asyncio.CancelledError()), "exception", "CancelledError"),
        (lambda: {"set": {1}}, "wrong_result", "set"),
    ],
)
async def test_what_code_raises_or_returns_wrong_costs_its_step_only(home: Path, breaks: Any, kind: str, said: str):
    async def code(desk: Desk) -> Any:
        return breaks()

    _, run, _ = await ran(home, code)
    failure = failure_of(run)
    assert re.search(said, failure.message), failure.message
    assert (failure.type, failure.class_) == (kind, FailureClass.INVALID)
    assert run.state.status == "partial"


async def test_a_value_that_does_not_match_the_output_is_refused(home: Path):
    async def code(desk: Desk) -> dict[str, Any]:
        return {"facts": "one"}

    _, run, _ = await ran(home, code, worker={"output": Facts})
    assert failure_of(run).type == "wrong_result"
    assert 'facts: "one"' in failure_of(run).message


async def test_code_that_ignores_its_cancellation_ends_with_its_attempt_and_makes_no_more_calls(home: Path):
    tries: list[str] = []
    refused = asyncio.get_running_loop().create_future()

    async def code(desk: Desk) -> str:
        tries.append("begun")
        if len(tries) > 1:
            return "done"
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            try:
                await desk.ask("Too late?")
            except RuntimeError as error:
                refused.set_result(str(error))
            await asyncio.sleep(600)
        return "late"

    answer, run, _ = await ran(home, code, attempt_timeout=0.5)
    assert answer.text == "done; hello"
    assert run.state.steps["coder-1"].failures == (FailureClass.TRANSIENT,)
    assert "coder-1" in await refused


async def test_a_model_call_that_fails_fails_the_code_with_its_cause_unless_it_is_caught(home: Path):
    async def code(desk: Desk) -> str:
        return await desk.ask("Anyone?")

    async def careful(desk: Desk) -> str:
        try:
            return await desk.ask("Anyone?")
        except ModelError as error:
            return f"failed: {error.failure.type}"

    down = fails("unavailable", "http_401", "down")
    _, run, _ = await ran(home / "1", code, down)
    assert (failure_of(run).type, failure_of(run).message) == ("http_401", "down")
    answer, _, _ = await ran(home / "2", careful, down)
    assert answer.text == "failed: http_401; hello"


async def test_its_model_calls_are_limited(home: Path):
    async def code(desk: Desk) -> str:
        while True:
            await desk.ask("Again?")

    _, run, _ = await ran(home, code, *["yes"] * 2, worker={"max_turns": 2})
    assert (failure_of(run).type, failure_of(run).class_) == ("max_turns", FailureClass.EXHAUSTED)
    _, run, _ = await ran(home / "2", code, *["yes"] * 2, worker={"max_requests": 2})
    assert failure_of(run).type == "allowance"


# --- it waits for people, and is run again ---------------------------------------------------------------------------


async def test_a_call_that_needs_approval_parks_it_and_its_finished_calls_are_not_made_again(home: Path):
    sent: list[int] = []
    runs: list[str] = []

    @tool(effect="once")
    def send(amount: int) -> str:
        """Send money."""
        sent.append(amount)
        return f"sent {amount}"

    async def code(desk: Desk) -> str:
        runs.append(desk.brief["topic"])
        amount = await desk.ask("How much?")
        desk.emit("sending")
        first, seen = await asyncio.gather(desk.call("send", amount=int(amount)), desk.call("look", n=1))
        second = await desk.call("send", amount=2)
        return f"{first.raw}, {seen.raw}, {second.raw}"

    model = models("5")
    settings = {"flows": [coded(code, tools=("send", "look"))], "tools": [send, look], "home": home}
    async with leadhand_of(models=model, **settings) as lead:
        run = await lead.start("heat pumps", flow="coded")
        await run.wait()
        assert run.state.status == "waiting"
        assert sent == []
        for amount in (5, 2):
            (question,) = await lead.approvals()
            assert question.approval.args == {"amount": amount}
            await lead.approve(question)
            run = await lead.resume(run.run_id)
            await run.wait()
        answer = await run.answer()
        assert await notes(lead, run.run_id) == ["sending"]
    assert str(answer).startswith("sent 5, {'seen': 1}, sent 2")
    assert sent == [5, 2]
    assert len(runs) == 3
    assert len([request for request in model.requests if by_code(request)]) == 1


async def test_an_approval_covers_the_call_that_was_shown_and_no_other(home: Path):
    sent: list[int] = []
    amounts = iter([5, 500, 500])

    @tool(effect="once")
    def send(amount: int) -> str:
        """Send money."""
        sent.append(amount)
        return "sent"

    async def code(desk: Desk) -> str:
        return str((await desk.call("send", amount=next(amounts))).raw)

    async with Leadhand(models=models(), flows=[coded(code, tools=("send",))], tools=[send], home=home) as lead:
        run = await lead.start("heat pumps", flow="coded")
        await run.wait()
        (question,) = await lead.approvals()
        await lead.approve(question)
        run = await lead.resume(run.run_id)
        await run.wait()
        assert sent == []
        (question,) = await lead.approvals()
        assert question.approval.args == {"amount": 500}


async def test_code_that_asks_something_else_the_next_time_is_asked_anew(home: Path):
    prompts = iter(["one?", "two?"])
    tries: list[int] = []

    async def code(desk: Desk) -> str:
        said = await desk.ask(next(prompts))
        tries.append(1)
        if len(tries) == 1:
            raise ConnectionError("lost")
        return said

    answer, _, _ = await ran(home, code, "first", "second")
    assert answer.text == "second; hello"


async def test_a_cancelled_run_stops_its_code(home: Path):
    started, stopped = asyncio.Event(), threading.Event()
    here = asyncio.get_running_loop()

    async def code(desk: Desk) -> str:
        here.call_soon_threadsafe(started.set)
        try:
            await asyncio.sleep(600)
        finally:
            stopped.set()
        return "late"

    async with Leadhand(models=models(), flows=[coded(code)], home=home) as lead:
        run = await lead.start("heat pumps", flow="coded")
        await started.wait()
        await run.cancel()
        await run.wait()
        assert run.state.status == "cancelled"
    assert await asyncio.to_thread(stopped.wait, 10)
