"""Values that do not fit, from flows, offline rules and tools: each is the fault of the code that made it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from api.test_flows_of_users import nested
from api.test_rights_and_asks import WORKER, asking, results, run, team

from leadhand import ConfigurationError, Leadhand, RunStatus, ToolReturn, UsageError, tool
from leadhand.cli.app import main
from leadhand.core.asks import Delegate, SetTodos, Todo, WriteArtifact
from leadhand.flows import Call, Finish, Flow, IssueStep, Judge, OfflineRequest, Outcome, RunView, Worker
from leadhand.ports.models import ModelRequest
from leadhand.testing.scripted_model import ScriptedModel


class Plain(Flow):
    """One worker, whose text is the answer."""

    name = "plain"

    def roles(self, options: Any) -> Any:
        return [Worker(name="worker", instructions="Work.", counts=True)]

    def next(self, run: RunView[Any]) -> Any:
        if not run.steps:
            return [IssueStep(id="one", worker="worker")]
        return [] if run.open else [Finish()]


def odd(**attributes: Any) -> Flow:
    """The plain flow with other attributes; methods are given as what they return."""
    methods = ("roles", "next", "facts", "problems", "outcome")
    made = {name: (lambda *_, it=it: it) if name in methods else it for name, it in attributes.items()}
    return cast("Flow", type("Odd", (Plain,), made)())


def assign(**changes: Any) -> list[IssueStep]:
    return [IssueStep(**{"id": "one", "worker": "worker", **changes})]


async def outcome(flow: Flow, home: Path, **settings: Any) -> dict[str, Any]:
    given = {"models": ScriptedModel(["done"] * 3, lenient=True), **settings}
    async with Leadhand(flows=[flow], home=home, **given) as lead:
        document = (await lead.run("go", flow=flow.name)).document
    assert document["owner"] is None
    return document


def causes(document: dict[str, Any]) -> list[tuple[str, str]]:
    """Class and reason of every gap, or of the failure."""
    failure = document["failure"] or {"class": "", "message": ""}
    gaps = [(each["class"], each["reason"]) for each in document["gaps"]]
    return gaps or [(failure["class"], failure["message"])]


@pytest.mark.parametrize(
    ("attributes", "named"),
    [
        ({"next": assign(input={"x": object()})}, "next IssueStep.input"),
        ({"next": assign(input={"x": {1, 2}})}, "next IssueStep.input"),
        ({"next": assign(input={"x": float("nan")})}, "next IssueStep.input"),
        ({"next": assign(input={"x": "\ud800"})}, "next IssueStep.input"),
        *(({"next": assign(input={"x": nested(levels)})}, "next IssueStep.input") for levels in (100, 900)),
        ({"next": assign(input=["x"])}, "next IssueStep.input"),
        ({"next": assign(input={1: 2})}, "next IssueStep.input.1"),
        ({"next": assign(id=5)}, "next IssueStep.id"),
        ({"next": assign(id="x" * 5_000)}, "next IssueStep.id"),
        ({"next": assign(title="x" * 100_000)}, "next IssueStep.title"),
        ({"next": assign(title="\ud800")}, "next IssueStep.title"),
        ({"next": assign(needs="one")}, "next IssueStep.needs"),
        ({"next": assign(model=5)}, "next IssueStep.model"),
        ({"next": [Finish(failure=cast("Any", "text"))]}, "next Finish.failure"),
        ({"next": [Judge(cast("Any", "text"))]}, "next Judge.review"),
        ({"next": Finish()}, "next Finish("),
        ({"facts": ["x"]}, "facts TypeError"),
        ({"facts": {"x": object()}}, "facts object"),
        ({"facts": {"x": "\ud800"}}, "facts UTF-8"),
        ({"problems": [5]}, "problems 5"),
        ({"problems": ["\ud800"]}, "problems UTF-8"),
        ({"outcome": Outcome(answer=cast("Any", 5))}, "outcome Outcome.answer"),
        ({"outcome": Outcome(answer="\ud800")}, "outcome UTF-8"),
        ({"outcome": Outcome(gaps=cast("Any", ["no"]))}, "outcome Outcome.gaps.0"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_value_of_a_flow_that_does_not_fit_fails_its_run_and_names_the_method_and_the_value(
    tmp_path: Path, attributes: dict[str, Any], named: str
) -> None:
    document = await outcome(odd(**attributes), tmp_path)
    assert document["status"] in ("failed", "partial")
    method, part = named.split()
    class_, said = next(each for each in causes(document) if "Odd." in each[1])
    assert said.startswith(f"Odd.{method} ")
    assert part in said
    assert class_ == "unavailable"
    assert "\n" not in said


async def test_what_a_flow_raises_may_be_no_text(tmp_path: Path) -> None:
    def broken(*_: Any) -> Any:
        raise ValueError("half \ud800")

    flow = cast("Flow", type("Odd", (Plain,), {"next": broken})())
    reason = causes(await outcome(flow, tmp_path))[0][1]
    assert reason.startswith("Odd.next ")
    assert reason.endswith(r"ValueError: half \ud800")


@pytest.mark.parametrize(
    ("attributes", "what"),
    [
        ({"name": 5}, "name"),
        ({"name": "half \ud800"}, "name"),
        ({"version": "1"}, "version"),
        ({"version": True}, "version"),
        ({"Options": dict}, "Options"),
        ({"offline": [1]}, "offline"),
    ],
)
def test_a_definition_that_does_not_fit_is_refused_with_class_and_file(
    attributes: dict[str, Any], what: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as refused:
        Leadhand(flows=[odd(**attributes)], home=tmp_path)
    for part in ("Odd", "test_unfit_values.py", f"Definition.{what}: "):
        assert part in refused.value.what
    assert refused.value.how


@pytest.mark.parametrize(
    ("returned", "named"),
    [
        (["worker"], "'worker'"),
        (Worker(name="worker"), "Worker(name='worker'"),
        (None, "None"),
        ([Worker(name="worker", output={"type": "nonsense"})], "nonsense"),
    ],
)
async def test_workers_that_do_not_fit_start_no_run(returned: Any, named: str, tmp_path: Path) -> None:
    async with Leadhand(flows=[odd(roles=returned)], models=ScriptedModel([]), home=tmp_path) as lead:
        with pytest.raises(ConfigurationError) as refused:
            await lead.run("go", flow="plain")
        assert refused.value.what.startswith("Odd.roles ")
        assert named in refused.value.what
        assert "test_unfit_values.py" in refused.value.how
        assert await (await lead.runtime()).store.runs() == []


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("def __init__(self, language): self.language = language", "Own.__init__"),
        ("def roles(self, options): return [Worker(name='a', output=int)]", "Worker.output: <class 'int'>"),
        ("version = '1'", "Definition.version"),
        ("class Options(Flow.Options):\n        x: object = object()", "own"),
    ],
)
def test_on_the_command_line_a_flow_that_does_not_fit_is_refused_in_two_lines(
    line: str, named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / f"{tmp_path.name}.py"  # a module of another name for each case
    text = f"from leadhand.flows import Flow, Worker\nclass Own(Flow):\n    name = 'own'\n    {line}\n"
    file.write_text(text + ("" if "def roles" in line else "    def roles(self, options): return []\n"))
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
    document = await outcome(odd(offline={"worker": rule}), tmp_path, models=None, offline=True)
    ((class_, reason),) = causes(document)
    assert class_ == "unavailable"
    assert rule.__name__ in reason
    assert "'worker'" in reason


@pytest.mark.parametrize(
    ("attributes", "cause"),
    [
        ({"outcome": Outcome(uses=["unknown"])}, ("insufficient", "'unknown'")),
        ({"next": [*assign(), Finish()]}, ("rejected", "")),
    ],
)
async def test_a_run_that_ends_without_a_result_says_why(
    attributes: dict[str, Any], cause: tuple[str, str], tmp_path: Path
) -> None:
    document = await outcome(odd(**attributes), tmp_path)
    assert document["status"] == "failed"
    assert any(class_ == cause[0] and cause[1] in reason for class_, reason in causes(document))


# --- models ----------------------------------------------------------------------------------------------------------


async def test_a_step_for_an_unknown_model_fails_and_the_run_ends(tmp_path: Path) -> None:
    flow = odd(offline={"worker": lambda *_: "done"})
    flow.next = lambda run: (  # type: ignore[method-assign]
        [*assign(model="nosuch:thing"), IssueStep(id="two", worker="worker")]
        if not run.steps
        else []
        if run.open
        else [Finish()]
    )
    document = await outcome(flow, tmp_path, models=None, model="offline")
    assert document["status"] == "partial"
    assert document["answer"] == "done"
    ((class_, reason),) = causes(document)
    assert class_ == "unavailable"
    assert "'nosuch:thing'" in reason


async def test_a_delegation_to_an_unknown_model_is_an_error_to_the_model_that_asked(tmp_path: Path) -> None:
    @tool(name="ask")
    def ask() -> ToolReturn:
        """Ask the controller."""
        return ToolReturn(asks=(Delegate(worker="helper", model="nosuch:thing"),))

    def worker(facts: Mapping[str, Any], request: OfflineRequest) -> str | Call:
        return f"I was told: {request.results[0].content}" if request.results else Call("ask", {})

    asker = Worker(name="worker", instructions="Work.", counts=True, tools=("ask",))
    flow = odd(roles=[asker, Worker(name="helper", instructions="Help.")], offline={"worker": worker})
    document = await outcome(flow, tmp_path, models=None, model="offline", tools=[ask])
    assert document["status"] == "succeeded"
    assert "'nosuch:thing'" in document["answer"]


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
        (broken(lambda: write("a.md", media_type="text/plain\r\nX: 1")), "media_type"),
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
