"""Flows as users write them: steps that cannot be asked for, options that cannot be stored, retries of steps."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from leadhand import FailureClass, Leadhand, RunStatus, ToolError, UsageError, Worker, tool
from leadhand.flows import FlowContext, Retry, flow
from leadhand.testing.scripted_model import ScriptedModel

WORKER = Worker("worker", "Answer.", tools=())


@flow
async def listed(run: FlowContext, any: Any = None) -> str:
    """Ask for two texts at once."""
    return " ".join(map(str, await run.gather(run.ask(WORKER, key=key) for key in ("one", "two"))))


async def another_worker(run: FlowContext) -> Any:
    return run.ask(Worker("worker", "Answer otherwise."))


async def unknown_tool(run: FlowContext) -> Any:
    return run.call("weather", town="Oslo")


async def tool_of_nobody(run: FlowContext) -> Any:
    return run.ask(WORKER, tools=["weather"])


async def tool_of_another_kind(run: FlowContext) -> Any:
    return run.ask(WORKER.version(tools=("weather",)))


async def no_worker(run: FlowContext) -> Any:
    return run.ask("worker")  # type: ignore[arg-type]


async def set_as_input(run: FlowContext) -> Any:
    return run.ask(WORKER, towns={"Oslo"})


async def step_as_input(run: FlowContext) -> Any:
    return run.ask(WORKER, first=run.ask(WORKER, key="first"))


async def tools_as_text(run: FlowContext) -> Any:
    return run.ask(WORKER, tools="weather")


async def no_function(run: FlowContext) -> Any:
    return run.do("upper", text="x")  # type: ignore[arg-type]


async def no_step(run: FlowContext) -> Any:
    return run.gather(["one"])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("wants", "named"),
    [
        (another_worker, "'worker'"),
        (unknown_tool, "weather"),
        (tool_of_nobody, "weather"),
        (tool_of_another_kind, "weather"),
        (no_worker, "'worker'"),
        (set_as_input, "`towns`"),
        (step_as_input, "`first`"),
        (tools_as_text, "`tools`"),
        (no_function, "upper"),
        (no_step, "str"),
    ],
)
async def test_a_run_whose_flow_asks_for_what_cannot_be_done_does_not_succeed(
    wants: Any, named: str, tmp_path: Path
) -> None:
    @flow
    async def impossible(run: FlowContext) -> Any:
        await run.ask(WORKER)
        return await (await wants(run))

    models = ScriptedModel(["first"], lenient=True)
    async with Leadhand(models=models, flows=[impossible], home=tmp_path) as lead:
        answer = await lead.run("x", flow="impossible")
    assert answer.status is RunStatus.PARTIAL
    assert "first" in answer.text
    failure = answer.document["failure"]
    assert named in failure["message"]
    if wants not in (unknown_tool, tool_of_nobody, tool_of_another_kind, another_worker):
        assert failure["type"] == "flow_error"
        line = inspect.getsourcelines(wants)[1] + 1
        assert f"line {line} of test_flows_of_users.py" in failure["message"]


@pytest.mark.parametrize("gathered", [False, True])
async def test_a_step_that_a_flow_returns_without_awaiting_it_is_no_answer(*, gathered: bool, tmp_path: Path) -> None:
    @flow
    async def hasty(run: FlowContext) -> Any:
        step = run.ask(WORKER)
        return run.gather([step]) if gathered else step

    async with Leadhand(models=ScriptedModel(["first"], lenient=True), flows=[hasty], home=tmp_path) as lead:
        answer = await lead.run("x", flow="hasty")
    assert answer.document["failure"]["type"] == "flow_error"
    assert "not awaited" in answer.document["failure"]["message"]


MISTAKEN = Worker("mistaken", "Look.", tools=("loook",))
OTHERS = {"mistaken": MISTAKEN}


async def helper(run: FlowContext) -> Any:
    return await run.ask(MISTAKEN)


@flow
async def by_a_helper(run: FlowContext) -> Any:
    return await helper(run)


@flow
async def by_another_flow(run: FlowContext) -> Any:
    return await by_a_helper(run)


@flow
async def by_a_dict(run: FlowContext) -> Any:
    return await run.ask(OTHERS[run.request])


@pytest.mark.parametrize("made", [by_a_helper, by_another_flow, by_a_dict], ids=lambda made: made.name)
async def test_workers_are_known_before_a_run_wherever_its_flow_names_them(made: Any, tmp_path: Path) -> None:
    async with Leadhand(models=ScriptedModel([]), flows=[made], home=tmp_path) as lead:
        with pytest.raises(UsageError, match=r"mistaken .*'loook'"):
            await lead.run("mistaken", flow=made.name)
        assert await (await lead.runtime()).store.runs() == []


def nested(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    "given",
    [nested(101), nested(240), nested(300), object(), "x" * 10_000_001],
    ids=["101", "240", "300", "object", "large"],
)
async def test_options_that_cannot_be_stored_are_refused(given: Any, tmp_path: Path) -> None:
    async with Leadhand(models=ScriptedModel([]), flows=[listed], home=tmp_path) as lead:
        with pytest.raises(UsageError, match="listed"):
            await lead.start("x", flow="listed", any=given)


async def test_a_step_without_an_order_is_retried(tmp_path: Path) -> None:
    refused = ["second"]

    def check(text: str, given: Any) -> None:
        if text in refused:
            raise Retry("not yet")

    checked = Worker("checked", "Answer.", tools=(), validate=check)

    @flow
    async def chain(run: FlowContext) -> str:
        one = await run.ask(WORKER)
        return f"{one} {await run.ask(checked, one=one)}"

    models = ScriptedModel(["first", *["second"] * 20])
    async with Leadhand(models=models, flows=[chain], home=tmp_path) as lead:
        run = await lead.start("x", flow="chain")
        assert (await run.wait()).status is RunStatus.PARTIAL
        refused.clear()
        await run.retry("checked")
        answer = await run.answer()
    assert answer.status is RunStatus.SUCCEEDED
    assert answer.text == "first second"


@tool
def power(town: str) -> str:
    """Look up the power of a town."""
    raise ToolError(f"dark in {town}", class_=FailureClass.UNAVAILABLE)


LOOKER = Worker("looker", "Look.", tools=("power",))


@flow
async def powered(run: FlowContext):
    """One worker with one tool, which fails."""
    return await run.ask(LOOKER, town="Oslo")


async def test_the_offline_model_does_not_repeat_a_failure_as_an_answer(tmp_path: Path) -> None:
    async with Leadhand(tools=[power], flows=[powered], model="offline", home=tmp_path) as lead:
        answer = await lead.run("x", flow="powered")
    assert answer.status is RunStatus.FAILED
    assert "dark in Oslo" in str(answer.gaps)


@flow
async def leaving(run: FlowContext) -> str:
    """Exit the interpreter instead of deciding."""
    raise SystemExit(3)


async def test_a_flow_that_exits_the_interpreter_ends_its_own_run_only(tmp_path: Path) -> None:
    async with Leadhand(flows=[leaving, listed], models=ScriptedModel(["first", "second"]), home=tmp_path) as lead:
        left = await lead.run("x", flow="leaving")
        other = await lead.run("x", flow="listed")
    assert (left.status, other.status) == (RunStatus.FAILED, RunStatus.SUCCEEDED)
    assert left.document["failure"]["type"] == "flow_error"
    assert "SystemExit" in left.document["failure"]["message"]
