"""Flows, stores and models of one's own at the Python door, and flows that installed packages offer."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from memory_store import MemoryStore

from leadhand import ConfigurationError, Leadhand, LeadhandError, RunStatus, UsageError, Worker
from leadhand.app.project import flows as registry
from leadhand.app.project import toolsets
from leadhand.app.project.flows import FlowRegistry
from leadhand.app.project.source_files import all_flows
from leadhand.app.runtime.clock import SystemClock
from leadhand.flows import FlowContext, Retry, flow
from leadhand.testing.scripted_model import ScriptedModel

ECHO = Worker("echo", "Repeat `text`.", loop="reply")


@flow
async def echo(run: FlowContext, times: int = 1) -> str:
    """Have one worker answer the request."""
    return " ".join(map(str, await run.gather(run.ask(ECHO, text=run.request) for _ in range(times))))


def model(*texts: str) -> Any:
    return ScriptedModel([*texts])


async def test_a_flow_of_ones_own_runs_with_its_options(tmp_path: Path):
    async with Leadhand(flows=[echo], models=model("one", "two"), home=tmp_path) as lead:
        answer = await lead.run("Say it", flow="echo", times=2)
    assert answer.status is RunStatus.SUCCEEDED
    assert sorted(answer.text.split()) == ["one", "two"], "they are answered in parallel, in any order"
    assert answer.document["flow"] == "echo"


@flow
async def elsewhere(run: FlowContext) -> str:
    """Name another model when the step is made."""
    return str(await run.ask(ECHO, text=run.request, model="mine:large"))


async def test_a_step_cannot_use_another_model_in_an_offline_run(tmp_path: Path):
    mine = model("one", "two")
    async with Leadhand(flows=[elsewhere], models={"mine": mine}, model="offline", home=tmp_path) as lead:
        answer = await lead.run("Say it", flow="elsewhere")
    (gap,) = answer.gaps
    assert (gap.step, gap.class_) == ("echo", "unavailable")
    assert "mine:large" in gap.reason
    assert "offline" in gap.next_action
    assert mine.requests == []
    assert answer.document["usage"]["requests"] == 0


@pytest.mark.parametrize(
    ("flow", "options", "field"),
    [
        ("echoo", {}, ""),
        ("echo", {"time": 2}, "options.time"),
        ("echo", {"times": "often"}, "options.times"),
        ("work-order", {"times": 1}, "options.times"),
    ],
)
async def test_a_wrong_flow_or_option_is_refused_before_a_run_is_made(
    flow: str, options: dict[str, Any], field: str, tmp_path: Path
):
    async with Leadhand(flows=[echo], model="offline", home=tmp_path) as lead:
        with pytest.raises(UsageError) as refused:
            await lead.start("Say it", flow=flow, **options)
        assert refused.value.field == field
        assert flow in refused.value.what
        assert refused.value.how
        assert await (await lead.runtime()).store.runs() == []


async def test_a_store_of_ones_own_takes_the_place_of_the_database(tmp_path: Path):
    store = MemoryStore(SystemClock())
    async with Leadhand(flows=[echo], models=model("one"), store=store, home=tmp_path) as lead:
        answer = await lead.run("Say it", flow="echo")
        assert [line.run_id for line in await store.runs()] == [answer.run_id]
        with pytest.raises(ConfigurationError, match="keeps runs only"):
            assert (await lead.runtime()).database
    assert not list(tmp_path.glob("*.db"))


async def test_a_model_of_ones_own_stands_beside_the_built_in_ones_under_its_name(tmp_path: Path):
    adapters = {"mine": model("one")}
    async with Leadhand("mine:large", flows=[echo], models=adapters, home=tmp_path) as lead:
        answer = await lead.run("Say it", flow="echo")
    assert (answer.text, answer.document["model"]) == ("one", "mine:large")
    async with Leadhand(models={"mine": model("one")}, model="offline", home=tmp_path) as lead:
        assert (await lead.run("Weather in Paris?")).document["model"] == "offline"


@flow
async def broken(run: FlowContext) -> str:
    """Fail between two steps."""
    first = await run.ask(ECHO, text=run.request)
    raise KeyError(first.text)


async def test_a_flow_that_raises_ends_its_run_and_its_line_is_named_as_the_cause(tmp_path: Path):
    line = next(
        n for n, each in enumerate(Path(__file__).read_text().splitlines(), 1) if "raise KeyError(first" in each
    )
    async with Leadhand(flows=[broken], models=model("hello"), home=tmp_path) as lead:
        answer = await lead.run("Say it", flow="broken")
    failure = answer.document["failure"]
    assert answer.status is RunStatus.PARTIAL
    assert "hello" in answer.text, "what was found is kept"
    assert (failure["type"], failure["class"]) == ("flow_error", "unavailable")
    assert f"line {line} of test_own_flows.py" in failure["message"]
    assert "KeyError" in failure["message"]


def too_short(text: Any, given: Any) -> None:
    raise Retry("too short")


@flow
async def checked(run: FlowContext):
    """Accept no text."""
    return await run.ask(ECHO.version(validate=too_short), text=run.request)


async def test_a_text_that_the_flow_does_not_accept_fails_with_the_flows_reason(tmp_path: Path):
    async with Leadhand(flows=[checked], models=model(*["hello"] * 20), home=tmp_path) as lead:
        (gap,) = (await lead.run("Say it", flow="checked")).gaps
    assert (gap.class_, gap.reason) == ("invalid", "too short")


def test_flows_of_installed_packages_are_found_by_name(monkeypatch: pytest.MonkeyPatch):
    point = EntryPoint("echo", f"{__name__}:echo", registry.GROUP)
    broken = EntryPoint("broken", f"{__name__}:Nothing", registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: [point] if group == registry.GROUP else [])
    assert FlowRegistry().names() == ["echo", "map", "report", "research", "solo", "work-order"]
    assert FlowRegistry().get("echo").name == "echo"
    monkeypatch.setattr(registry, "entry_points", lambda group: [broken])
    with pytest.raises(ConfigurationError, match="broken"):
        FlowRegistry().names()


def test_installed_packages_are_searched_once_and_again_when_the_path_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    assert "echo" not in FlowRegistry().names()
    with monkeypatch.context() as patch:
        patch.setattr(toolsets.metadata, "entry_points", lambda **_: pytest.fail("the packages were searched again"))
        assert "echo" not in toolsets.entry_points(registry.GROUP).names
    folder = tmp_path / "echo-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: echo\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(f"[{registry.GROUP}]\necho = {__name__}:echo\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert "echo" in FlowRegistry().names()


@pytest.mark.parametrize(
    ("text", "what"), [("x = 1", "mine"), ("1 / 0", "ZeroDivisionError"), ("def (", "SyntaxError")]
)
def test_a_file_without_a_usable_flow_is_refused_with_the_reason(
    text: str, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises(LeadhandError, match=what):
        all_flows([str(file)])


@pytest.mark.parametrize("name", [".", "..", "examples/", "my flows", "no_such_module", "no_such_file.py"])
def test_a_name_that_is_neither_a_file_nor_a_module_is_refused(name: str):
    with pytest.raises(UsageError) as refused:
        all_flows([name])
    assert name in refused.value.what
    assert refused.value.how


async def undecorated(run: FlowContext) -> str:
    return ""


@pytest.mark.parametrize("flows", [[undecorated], [object()], [int], [echo, echo]])
def test_what_is_not_a_flow_or_there_twice_is_refused(flows: Any, tmp_path: Path):
    with pytest.raises(UsageError):
        Leadhand(flows=flows, home=tmp_path)


def test_a_file_of_flows_may_import_its_neighbours_and_is_read_again_once_it_is_corrected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "own_words_for_flows.py").write_text("NAME = 'own'\n")
    file = tmp_path / "own_flows.py"
    file.write_text("import own_words_for_flows\nraise OSError('not yet')\n")
    with pytest.raises(ConfigurationError, match="not yet"):
        all_flows([str(file)])
    assert "own_flows" not in sys.modules

    file.write_text(
        "from own_words_for_flows import NAME\nfrom leadhand.flows import flow\n"
        "@flow(name=NAME)\nasync def anything(run): return 'done'\n"
    )
    assert [flow.name for flow in all_flows([str(file)])] == ["own"]


def test_a_module_of_flows_is_found_in_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flows_beside.py").write_text("X = 1\n")
    with pytest.raises(UsageError, match="flows_beside"):
        all_flows(["flows_beside"])
