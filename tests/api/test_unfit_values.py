"""Values that do not fit, from flows, offline rules and tools: each is the fault of the code that made it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from api.test_flows_of_users import nested
from api.test_rights_and_asks import WORKER, asking, results, run, team
from leads import leadhand_of
from pydantic import BaseModel

from leadhand import ConfigurationError, Leadhand, RunStatus, ToolReturn, UsageError, Worker, tool
from leadhand.cli.app import main
from leadhand.core.tool import Delegate, SetTodos, Todo, WriteArtifact
from leadhand.flows import Call, FlowContext, OfflineRequest, flow
from leadhand.flows.seam.function import FunctionFlow
from leadhand.ports.models import ModelRequest
from leadhand.testing.scripted_model import ScriptedModel

PLAIN = Worker("worker", "Work.", tools=())


def asking_with(*workers: Worker, offline: Any = None, **given: Any) -> FunctionFlow:
    """Return a flow that asks the first worker with an input; it knows the others, too."""

    asked, *others = workers or (PLAIN,)

    @flow(name="plain", offline=offline)
    async def plain(run: FlowContext):
        return await run.ask([asked, *others][0], **given)

    return plain


async def outcome(made: FunctionFlow, home: Path, **settings: Any) -> dict[str, Any]:
    given = {"models": ScriptedModel(["done"] * 3, lenient=True), **settings}
    async with leadhand_of(flows=[made], home=home, **given) as lead:
        document = (await lead.run("go", flow=made.name)).document
    assert document["owner"] is None
    return document


def causes(document: dict[str, Any]) -> list[tuple[str, str]]:
    """Class and reason of every gap, or of the failure."""
    failure = document["failure"] or {"class": "", "message": ""}
    gaps = [(each["class"], each["reason"]) for each in document["gaps"]]
    return gaps or [(failure["class"], failure["message"])]


class Point(BaseModel):
    x: Any


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (object(), "object"),
        ({1, 2}, "set"),
        (b"bytes", "bytes"),
        (float("nan"), "NaN"),
        ([{"deep": float("inf")}], "NaN"),
        ("\ud800", "UTF-8"),
        (nested(101), "100 levels"),
        (nested(900), "deep"),
        ((each for each in "ab"), "generator"),
        (Point(x=object()), "object"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isascii() else "",
)
async def test_a_value_that_does_not_fit_into_an_input_fails_its_run_and_is_named(
    tmp_path: Path, given: Any, named: str
) -> None:
    document = await outcome(asking_with(x=given), tmp_path)
    assert document["status"] == "failed"
    ((class_, said),) = causes(document)
    assert "of test_unfit_values.py: `x` " in said
    assert named in said
    assert class_ == "unavailable"
    assert "\n" not in said


async def test_what_a_flow_raises_may_be_no_text(tmp_path: Path) -> None:
    @flow
    async def broken(run: FlowContext) -> str:
        raise ValueError("half \ud800")

    reason = causes(await outcome(broken, tmp_path))[0][1]
    assert "of test_unfit_values.py" in reason
    assert reason.endswith(r"half \ud800")


async def own(run: FlowContext) -> str:
    return ""


async def takes_nothing() -> str:
    return ""


async def takes_anything(run: FlowContext, **anything: Any) -> str:
    return ""


async def takes_the_request(run: FlowContext, request: str = "") -> str:
    return ""


def plain_function(run: FlowContext) -> str:
    return ""


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (plain_function, "coroutine"),
        (takes_nothing, "takes-nothing"),
        (takes_anything, "**anything"),
        (takes_the_request, "'request'"),
        (5, "5"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_function_that_cannot_be_a_flow_is_refused_when_it_is_defined(function: Any, what: str) -> None:
    with pytest.raises(UsageError) as refused:
        flow(function)
    assert what in refused.value.what
    assert refused.value.how


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"name": ""}, "''"),
        ({"output": int}, "int"),
        ({"tools": "look"}, "tools"),
        ({"limits": {"max_turn": 3}}, "'max_turn'"),
        ({"limits": {"max_turns": 0}}, "max_turns"),
        ({"loop": "twice"}, "loop"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_a_worker_that_does_not_fit_is_refused_when_it_is_made(given: dict[str, Any], what: str) -> None:
    with pytest.raises(UsageError) as refused:
        Worker(**{"name": "worker", **given})
    assert what in refused.value.what
    assert refused.value.how


async def test_an_output_that_is_no_schema_starts_no_run(tmp_path: Path) -> None:
    made = asking_with(Worker("worker", output={"type": "nonsense"}))
    async with Leadhand(flows=[made], models=ScriptedModel([]), home=tmp_path) as lead:
        with pytest.raises(ConfigurationError, match="nonsense") as refused:
            await lead.run("go", flow="plain")
        assert "test_unfit_values.py" in refused.value.how
        assert await (await lead.runtime()).store.runs() == []


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("@flow\ndef own(run): return ''\n", "own"),
        ("@flow\nasync def own(run, *languages): return ''\n", "*languages"),
        ("worker = Worker('a', output=int)\n", "int"),
        ("@flow\nasync def own(run, x: object = object()): return ''\n", "own"),
        ("async def own(run): return ''\n", "defines no flow"),
    ],
)
def test_on_the_command_line_a_flow_that_does_not_fit_is_refused_in_two_lines(
    text: str, named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / f"{tmp_path.name}.py"  # a module of another name for each case
    file.write_text(f"from leadhand import Worker\nfrom leadhand.flows import flow\n{text}")
    code = main(["run", "--offline", "--home", str(tmp_path / "home"), "--flows", str(file), "--flow", "own", "go"])
    said = capsys.readouterr().err
    assert code in (2, 6)
    assert named in said
    assert len(said.splitlines()) == 2
    assert "leadhand runs list" not in said


def raising(facts: Mapping[str, Any], request: Any) -> Any:
    raise KeyError("town")


def rubbish(facts: Mapping[str, Any], request: Any) -> Any:
    return 5


def unwritable(facts: Mapping[str, Any], request: Any) -> Any:
    return {"x": object()}


@pytest.mark.parametrize("rule", [raising, rubbish, unwritable])
async def test_an_offline_rule_that_goes_wrong_is_named(rule: Any, tmp_path: Path) -> None:
    document = await outcome(asking_with(offline={PLAIN: rule}), tmp_path, models=None, offline=True)
    ((class_, reason),) = causes(document)
    assert class_ == "unavailable"
    assert rule.__name__ in reason
    assert "'worker'" in reason


# --- models ----------------------------------------------------------------------------------------------------------


async def test_a_step_for_an_unknown_model_fails_and_the_run_ends(tmp_path: Path) -> None:
    @flow(offline={PLAIN: lambda *_: "done"})
    async def two(run: FlowContext) -> str:
        asked = (run.ask(PLAIN, model="nosuch:thing"), run.ask(PLAIN))
        return " ".join(str(each) for each in await run.gather(asked, return_failures=True) if each.ok)

    document = await outcome(two, tmp_path, models=None, model="offline")
    assert document["status"] == "partial"
    assert document["answer"] == "done"
    ((class_, reason),) = causes(document)
    assert class_ == "unavailable"
    assert "nosuch:thing" in reason


async def test_a_delegation_to_an_unknown_model_is_an_error_to_the_model_that_asked(tmp_path: Path) -> None:
    @tool(name="ask")
    def ask() -> ToolReturn:
        """Ask the controller."""
        return ToolReturn(asks=(Delegate(worker="helper", model="nosuch:thing"),))

    def worker(facts: Mapping[str, Any], request: OfflineRequest) -> str | Call:
        return f"I was told: {request.results[0].content}" if request.results else Call("ask", {})

    asks = Worker("worker", "Work.", tools=("ask",))
    made = asking_with(asks, Worker("helper", "Help.", tools=()), offline={asks: worker})
    document = await outcome(made, tmp_path, models=None, model="offline", tools=[ask])
    assert document["status"] == "succeeded"
    assert "nosuch:thing" in document["answer"]


# --- tools -----------------------------------------------------------------------------------------------------------


def told(request: ModelRequest) -> Any:
    return f"I was told: {results(request)[-1]['message']}" if results(request) else ("ask", {})


def broken(ask: Any) -> Any:
    """A tool that makes what it asks for with this function."""

    @tool(name="ask")
    def made() -> ToolReturn:
        """Ask the controller."""
        return ToolReturn(asks=(ask(),))

    return made


def write(path: str, **more: Any) -> WriteArtifact:
    return WriteArtifact(path=path, content="text", **more)


DOUBLE = SetTodos(todos=(Todo(id="1", content="a"), Todo(id="1", content="b")))


@pytest.mark.parametrize(
    ("tool_", "said"),
    [
        (broken(lambda: Delegate(input=cast("Any", [1]))), "Delegate.input"),
        (broken(lambda: Delegate(input={"x": object()})), "Delegate.input"),
        (broken(lambda: WriteArtifact(path="a.md", content="\ud800")), "UTF-8"),
        (broken(lambda: Delegate(title="\ud800")), "unicode"),
        (broken(lambda: Delegate(title="x" * 100_000, worker="helper")), "1000"),
        (asking(write("a.md"), write("a.md/b")), "a.md/b"),
        (asking(DOUBLE), "'1'"),
        (broken(lambda: SetTodos(todos=(Todo(id="1" * 5_000, content="a"),))), "200"),
    ],
)
async def test_what_a_tool_cannot_ask_is_an_error_to_the_model_and_the_run_goes_on(
    tool_: Any, said: str, tmp_path: Path
) -> None:
    answer, _, (state, _) = await run(team(WORKER), told, tmp_path, tool_)
    assert answer.status is RunStatus.SUCCEEDED
    assert said in answer.text
    assert "pydantic" not in answer.text
    assert "\n" not in answer.text
    assert not state.artifacts
    assert not state.todos


async def test_a_folder_cannot_be_written_where_an_earlier_call_wrote_a_file(tmp_path: Path) -> None:
    paths = iter(["a.md", "a.md/b"])

    def said(request: ModelRequest) -> Any:
        done = results(request)
        return ("ask", {}) if len(done) < 2 else f"I was told: {done[-1]['message']}"

    answer, _, (state, _) = await run(team(WORKER), said, tmp_path, broken(lambda: write(next(paths))))
    assert "a.md/b" in answer.text
    assert list(state.artifacts) == ["a.md"]
