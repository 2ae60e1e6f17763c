"""Flows as users write them: needs within one round, steps that cannot be issued, retries without an order."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from leadhand import FailureClass, Leadhand, RunStatus, ToolError, UsageError, tool
from leadhand.flows import Finish, Flow, IssueStep, Outcome, RunView, Worker
from leadhand.testing.scripted_model import ScriptedModel


class Listed(Flow):
    """Issue a fixed list of steps at once, and answer with the texts of those that completed."""

    name = "listed"
    work: tuple[IssueStep, ...] = ()

    def roles(self, options: Any) -> list[Worker]:
        return [Worker(name="worker", instructions="Answer.", counts=True)]

    def next(self, run: RunView[Any]) -> Iterable[Any]:
        if not run.steps:
            return self.work
        return [] if run.open else [Finish()]

    def outcome(self, run: RunView[Any]) -> Outcome:
        done = [each for each in run.of("worker") if each.ok]
        return Outcome(answer=" ".join(each.text for each in done), uses=[each.id for each in done])


def flow_of(*work: IssueStep) -> Flow:
    return type("Own", (Listed,), {"work": work})()


async def answered(flow: Flow, home: Path, *texts: str) -> Any:
    async with Leadhand(models=ScriptedModel([*texts]), flows=[flow], home=home) as lead:
        return await lead.run("x", flow="listed")


async def test_a_step_may_need_another_one_of_the_same_round(tmp_path: Path) -> None:
    flow = flow_of(IssueStep(id="two", worker="worker", needs=("one",)), IssueStep(id="one", worker="worker"))
    answer = await answered(flow, tmp_path, "first", "second")
    assert answer.status is RunStatus.SUCCEEDED
    assert sorted(answer.text.split()) == ["first", "second"]


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (IssueStep(id="two", worker="unknown"), "'unknown'"),
        (IssueStep(id="two", worker="worker", needs=("three",)), "'three'"),
        (IssueStep(id="a/b", worker="worker"), "'a/b'"),
        (IssueStep(id="one", worker="worker", input={"other": 1}), "one"),
    ],
)
async def test_a_run_whose_flow_makes_an_impossible_step_does_not_succeed(
    other: IssueStep, named: str, tmp_path: Path
) -> None:
    answer = await answered(flow_of(IssueStep(id="one", worker="worker"), other), tmp_path, "first")
    assert answer.status in (RunStatus.FAILED, RunStatus.PARTIAL)
    failure = answer.document["failure"]
    assert failure["type"] == "flow_error"
    assert "listed" in failure["message"]
    assert named in failure["message"]


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
    class Open(Listed):
        class Options(Flow.Options):
            any: Any = None

    async with Leadhand(models=ScriptedModel([]), flows=[Open()], home=tmp_path) as lead:
        with pytest.raises(UsageError, match="listed"):
            await lead.start("x", flow="listed", any=given)


async def test_a_step_without_an_order_is_retried(tmp_path: Path) -> None:
    flow = flow_of(IssueStep(id="one", worker="worker"), IssueStep(id="two", worker="worker", needs=("one",)))
    refused = ["second"]
    flow.problems = lambda run, step, result: ["not yet"] if result.text in refused else []  # type: ignore[method-assign]
    models = ScriptedModel(["first", *["second"] * 20])
    async with Leadhand(models=models, flows=[flow], home=tmp_path) as lead:
        run = await lead.start("x", flow="listed")
        assert (await run.wait()).status is RunStatus.PARTIAL
        refused.clear()
        await run.retry("two")
        answer = await run.answer()
    assert answer.status is RunStatus.SUCCEEDED
    assert answer.text.split() == ["first", "second"]


class Powered(Listed):
    """One worker with one tool, which fails."""

    name = "powered"
    work = (IssueStep(id="one", worker="worker", input={"town": "Oslo"}),)

    def roles(self, options: Any) -> list[Worker]:
        return [Worker(name="worker", instructions="Look.", counts=True, tools=("power",))]


async def test_the_offline_model_does_not_repeat_a_failure_as_an_answer(tmp_path: Path) -> None:
    @tool
    def power(town: str) -> str:
        """Look up the power of a town."""
        raise ToolError(f"dark in {town}", class_=FailureClass.UNAVAILABLE)

    async with Leadhand(tools=[power], flows=[Powered], offline=True, home=tmp_path) as lead:
        answer = await lead.run("x", flow="powered")
    assert answer.status is RunStatus.FAILED
    assert "dark in Oslo" in str(answer.gaps)


class Leaving(Listed):
    """Exit the interpreter instead of deciding."""

    name = "leaving"

    def next(self, run: RunView[Any]) -> Iterable[Any]:
        raise SystemExit(3)


async def test_a_flow_that_exits_the_interpreter_ends_its_own_run_only(tmp_path: Path) -> None:
    async with Leadhand(
        flows=[Leaving, flow_of(IssueStep(id="one", worker="worker"))], models=ScriptedModel(["first"]), home=tmp_path
    ) as lead:
        left = await lead.run("x", flow="leaving")
        other = await lead.run("x", flow="listed")
    assert (left.status, other.status) == (RunStatus.FAILED, RunStatus.SUCCEEDED)
    assert "Leaving.next" in left.document["failure"]["message"]
    assert "SystemExit: 3" in left.document["failure"]["message"]
