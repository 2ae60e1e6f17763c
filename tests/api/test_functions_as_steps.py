"""Functions of a project and tools as steps of a flow: recorded, limited and approved, and failures stay theirs."""

from __future__ import annotations

import asyncio
import re
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from leads import leadhand_of
from pydantic import BaseModel

from leadhand import Answer, Leadhand, Limits, Run, RunStatus, ToolError, Worker, tool
from leadhand.core.errors import FailureClass
from leadhand.core.events import NoteEmitted
from leadhand.engine.calls.tool_calls import THREADS
from leadhand.flows import FlowContext, StepFailed, flow
from leadhand.flows.seam.function import FunctionFlow
from leadhand.testing.scripted_model import ScriptedModel

OTHER = Worker("other", "Say hello.", loop="reply")


def beside(function: Any, **given: Any) -> FunctionFlow:
    """Return a flow that runs a function as a step, beside a step of a model."""

    @flow
    async def both(run: FlowContext) -> str:
        steps = [run.do(function, key="own", **given), run.ask(OTHER)]
        return "; ".join(str(each) for each in await run.gather(steps, return_failures=True) if each.ok)

    return both


async def ran(made: FunctionFlow, home: Path, **settings: Any) -> tuple[Answer, Run]:
    async with leadhand_of(models=ScriptedModel(["hello"], lenient=True), flows=[made], home=home, **settings) as lead:
        run = await lead.start("x", flow=made.name)
        return await run.answer(), run


def failure_of(run: Run) -> Any:
    failed = run.state.steps["own"].failure
    assert failed is not None, "it did not fail"
    assert run.state.steps["other"].ok, "it took the other step with it"
    return failed


# --- functions -------------------------------------------------------------------------------------------------------


class Place(BaseModel):
    town: str
    people: int


@pytest.mark.parametrize(
    "found",
    [{"town": "Oslo"}, ["Oslo", 1], 5, None, "", Place(town="Oslo", people=7)],
    ids=lambda value: repr(value),
)
async def test_data_that_a_function_returns_is_the_value_of_its_step(found: Any, home: Path) -> None:
    async def find() -> Any:
        await asyncio.sleep(0)  # it may await anything
        return found

    values: list[Any] = []

    @flow
    async def finding(run: FlowContext) -> str:
        values.append((await run.do(find)).value)
        return "found"

    answer, _ = await ran(finding, home)
    assert answer.text == "found"
    assert values[-1] == (found.model_dump() if isinstance(found, Place) else found)


async def test_a_function_receives_its_input_with_the_results_of_other_steps(home: Path) -> None:
    async def count(text: str, towns: list[dict[str, Any]]) -> str:
        return f"{text}: {len(towns)} towns in {towns[0]['country']}"

    async def find(country: str) -> dict[str, Any]:
        return {"country": country}

    @flow
    async def counting(run: FlowContext):
        towns = await run.gather(run.do(find, country=each) for each in ("Norway", "Chile"))
        return await run.do(count, text="found", towns=towns)

    answer, _ = await ran(counting, home)
    assert answer.text == "found: 2 towns in Norway"


def crash() -> None:
    raise KeyError("plan")


@pytest.mark.parametrize(
    ("breaks", "kind", "said"),
    [
        (crash, "exception", r"KeyError: 'plan' \(test_functions_as_steps.py:\d+\)"),
        (lambda: sys.exit(3), "exception", "SystemExit"),
        (lambda: (_ for _ in ()).throw(asyncio.CancelledError()), "exception", "CancelledError"),
        (lambda: {"set": {1}}, "wrong_result", "set"),
        (lambda: "half \ud800", "wrong_result", "UTF-8"),
    ],
)
async def test_what_a_function_raises_or_returns_wrong_costs_its_step_only(
    home: Path, breaks: Any, kind: str, said: str
) -> None:
    async def own() -> Any:
        return breaks()

    answer, run = await ran(beside(own), home)
    failure = failure_of(run)
    assert re.search(said, failure.message), failure.message
    assert (failure.type, failure.class_) == (kind, FailureClass.INVALID)
    assert (answer.status, [gap.step for gap in answer.gaps]) == (RunStatus.PARTIAL, ["own"])


async def test_an_argument_that_the_function_does_not_take_fails_its_step(home: Path) -> None:
    async def own(town: str) -> str:
        return town

    _, run = await ran(beside(own, country="Norway"), home)
    assert "country" in failure_of(run).message


async def test_a_function_that_blocks_ends_with_its_attempt_and_holds_up_nobody(home: Path) -> None:
    release, late = threading.Event(), threading.Event()

    def own() -> str:
        if late.is_set():
            return "done"
        late.set()
        release.wait()  # on its thread, which nothing can stop
        return "late"

    answer, run = await ran(beside(own), home, attempt_timeout=0.5)
    release.set()
    assert answer.text.startswith("done; ")
    assert run.state.steps["own"].failures == (FailureClass.TRANSIENT,)


async def test_a_coroutine_function_that_blocks_the_loop_is_reported_with_its_line(home: Path) -> None:
    async def own() -> str:
        await asyncio.sleep(0)
        time.sleep(1.1)  # noqa: ASYNC251 (it blocks the loop)
        await asyncio.sleep(0)
        return "done"

    async with Leadhand(models=ScriptedModel(["hello"], lenient=True), flows=[beside(own)], home=home) as lead:
        run = await lead.start("x", flow="both")
        await run.answer()
        entries = await (await lead.runtime()).store.read(run.run_id)
    (note,) = [each.event.message for each in entries if isinstance(each.event, NoteEmitted)]
    line = own.__code__.co_firstlineno + 3
    assert f"line {line} of {Path(__file__).name} blocked the loop for 1.1 s" in note


def test_more_functions_than_threads_are_carried_out_in_each_run_of_a_process(home: Path) -> None:
    def own(n: int) -> str:
        time.sleep(0.01)
        return f"did {n}"

    @flow
    async def many(run: FlowContext) -> str:
        return " ".join(map(str, await run.gather(run.do(own, n=n) for n in range(THREADS + 8))))

    lead = Leadhand(model="offline", flows=[many], home=home)
    statuses = [lead.run_sync("all of it", flow="many").status for _ in range(2)]
    assert statuses == [RunStatus.SUCCEEDED] * 2


async def test_a_cancelled_run_stops_its_functions(home: Path) -> None:
    started, stopped = asyncio.Event(), threading.Event()
    here = asyncio.get_running_loop()

    async def own() -> str:
        here.call_soon_threadsafe(started.set)
        try:
            await asyncio.sleep(600)
        finally:
            stopped.set()
        return "late"

    async with Leadhand(models=ScriptedModel(["hello"], lenient=True), flows=[beside(own)], home=home) as lead:
        run = await lead.start("x", flow="both")
        await started.wait()
        await run.cancel()
        await run.wait()
        assert run.state.status == "cancelled"
    assert await asyncio.to_thread(stopped.wait, 10)


# --- tools -----------------------------------------------------------------------------------------------------------


@tool
def look(n: int) -> dict[str, Any]:
    """Look at something."""
    if n > 100:
        raise ToolError(f"there is no {n}", class_=FailureClass.INVALID)
    return {"seen": n}


@flow
async def looking(run: FlowContext, n: Any = 3) -> str:
    """Look at a number."""
    try:
        return f"saw {(await run.call('look', n=n)).value['seen']}"
    except StepFailed as failed:
        failed.waive()
        return f"{failed.failure.class_}: {failed.failure.message}"


@pytest.mark.parametrize(("n", "said"), [(3, "saw 3"), (101, "invalid: there is no 101"), ("three", '"three"')])
async def test_a_tool_is_called_without_a_model(n: Any, said: str, home: Path) -> None:
    with ScriptedModel([]) as models:
        async with Leadhand(models=models, flows=[looking], tools=[look], home=home) as lead:
            answer = await lead.run("x", flow="looking", n=n)
    assert said in answer.text
    assert (answer.status, answer.document["usage"]["requests"]) == (RunStatus.SUCCEEDED, 0)


@pytest.mark.parametrize("approved", [True, False])
async def test_a_call_that_needs_approval_waits_and_what_is_finished_is_not_done_again(
    *, approved: bool, home: Path
) -> None:
    sent: list[int] = []
    worked: list[str] = []

    @tool(effect="once")
    def send(amount: int) -> str:
        """Send money."""
        sent.append(amount)
        return f"sent {amount}"

    async def work_out(text: str) -> int:
        worked.append(text)
        return len(text)

    @flow
    async def paying(run: FlowContext) -> str:
        amount = await run.do(work_out, text=run.request)
        try:
            first, second = await run.gather(run.call("send", amount=amount.value + n) for n in range(2))
        except StepFailed as failed:
            return f"not sent: {failed.failure.class_}"
        return f"{first}, {second}"

    settings: dict[str, Any] = {"flows": [paying], "tools": [send], "home": home, "models": ScriptedModel([])}
    async with leadhand_of(**settings) as lead:
        run = await lead.start("pay", flow="paying")
        await run.wait()
        assert (run.state.status, sent) == ("waiting", [])
    async with leadhand_of(**settings) as lead:  # another process, as far as the run can tell
        for question in await lead.approvals():
            assert question.approval.args["amount"] in (3, 4)
            await (lead.approve(question) if approved else lead.deny(question, reason="too much"))
        answer = await (await lead.resume(run.run_id)).answer()
    assert answer.text == ("sent 3, sent 4" if approved else "not sent: rejected")
    assert sorted(sent) == ([3, 4] if approved else [])
    assert worked == ["pay"], "the function ran again"


@pytest.fixture
def hangs() -> Iterator[threading.Event]:
    """Lets tools that hang end, and their threads with them."""
    ends = threading.Event()
    before = set(threading.enumerate())
    yield ends
    ends.set()
    for thread in set(threading.enumerate()) - before:
        if thread.name.startswith("leadhand-tool"):
            thread.join(30)


async def test_tools_that_hang_have_a_limited_number_of_threads(home: Path, hangs: threading.Event) -> None:
    @tool(timeout=0.1, retries=0)
    def hang(n: int) -> str:
        """Wait for somebody."""
        hangs.wait(60)
        return "done"

    most = 0

    @flow
    async def hanging(run: FlowContext) -> str:
        steps = [run.call("hang", n=n) for n in range(THREADS + 18)]
        return f"{len(await run.gather(steps, return_failures=True))} calls"

    settings: dict[str, Any] = {"flows": [hanging], "tools": [hang], "home": home}
    async with leadhand_of(models=ScriptedModel([]), limits=Limits(max_workers=THREADS + 18), **settings) as lead:
        run = await lead.start("hang", flow="hanging")
        async for _ in run:
            most = max(most, sum(each.name.startswith("leadhand-tool") for each in threading.enumerate()))
    assert 0 < most <= THREADS
