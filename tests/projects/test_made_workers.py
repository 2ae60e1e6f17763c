"""Workers that are made and called during runs: the example project, approvals, rights, attachments, and restarts."""

from __future__ import annotations

import asyncio
import json
import random
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from projects.conftest import ORCHESTRATOR, declare, lead_of, led, played, requests_of, results_of

from leadhand import Leadhand, Limits, RunStatus, UsageError, tool
from leadhand.app.project.generated_workers import WorkerDocument, generated_workers
from leadhand.app.project.manifest import load_project
from leadhand.core.errors import ConfigurationError
from leadhand.ports.models import ModelRequest
from leadhand.testing.scripted_model import ScriptedModel, Step, brief_of, calls, calls_all, says

EXAMPLE = Path(__file__).parents[2] / "examples" / "pitchdeck_eval"
POET = {"name": "poet", "instructions": "Write verse.", "description": "Writes."}
CALL = {"worker": "poet", "input": "Write."}
MADE = [calls("worker_create", **POET), calls("worker_call", **CALL)]


@pytest.fixture(autouse=True)
def _own_modules() -> Iterator[None]:
    """Forget the modules of a project: the next test has a copy of its own."""
    yield
    _forget()


def _forget() -> None:
    for name in ("tools", "offline"):
        sys.modules.pop(name, None)


@pytest.fixture
def example(tmp_path: Path) -> Path:
    ignored = shutil.ignore_patterns("generated", "__pycache__")
    return Path(shutil.copytree(EXAMPLE, tmp_path / "project", ignore=ignored))


def made(project: Path) -> list[WorkerDocument]:
    """The workers that runs of a project made."""
    return list(generated_workers(load_project(project)))


@tool
def look(at: str) -> str:
    """Look at something."""
    return f"saw {at}"


@tool(effect="once")
def send(to: str) -> str:
    """Send something."""
    return f"sent to {to}"


# --- making and calling ----------------------------------------------------------------------------------------------


async def test_the_example_makes_an_evaluator_which_the_next_run_has_once_it_is_declared(example: Path) -> None:
    async with lead_of(example, model="offline", approve="auto") as lead:
        answer = await lead.run("Evaluate the pitch decks", worker="orchestrator")
        with pytest.raises(UsageError, match="'deck_evaluator'"):
            await lead.start("Evaluate decks/solar.md", worker="deck_evaluator")
    assert answer.status is RunStatus.SUCCEEDED
    assert re.findall(r"decks/(\w+).md.* (\d) of 5.* (\d+) %, .* (\d+) ", answer.text) == [
        ("solar", "5", "80", "18"),
        ("bread", "3", "45", "12"),
        ("boats", "1", "20", "7"),
    ]
    (worker,) = made(example)
    assert (worker.name, worker.run_id, worker.made_by) == ("deck_evaluator", answer.run_id, "orchestrator")
    assert "reason" in worker.instructions

    shutil.copy(example / worker.path, example / "workers" / "deck_evaluator.worker")
    _forget()
    async with lead_of(example, model="offline", approve="auto") as lead:
        run = await lead.start("Evaluate decks/solar.md", worker="deck_evaluator")
        assert (await run.document())["flow"] == "solo"


async def test_twenty_workers_are_made_and_called_at_once(project: Path) -> None:
    names = [f"poet{number}" for number in range(20)]
    script = played(
        orchestrator=[
            calls_all(*(("worker_create", {**POET, "name": name}) for name in names)),
            calls_all(*(("worker_call", {"worker": name, "input": "Write."}) for name in names)),
            says("Twenty verses."),
        ],
        **{name: says("A verse.") for name in names},
    )
    answer = await led(project, script)
    assert (answer.status, answer.text) == (RunStatus.SUCCEEDED, "Twenty verses.")
    assert answer.document["usage"]["requests"] == 23
    assert len(made(project)) == 20


@pytest.mark.parametrize("approve", ["auto", "ask"])
async def test_a_call_in_the_same_reply_waits_for_the_worker_that_it_calls(project: Path, approve: str) -> None:
    better = {**POET, "instructions": "Write better verse."}
    script = played(
        poet=lambda request: says(request.messages[0].text),
        orchestrator=[
            calls_all(("worker_create", POET), ("worker_call", CALL)),
            calls_all(("worker_create", better), ("worker_call", CALL)),
            says("Two verses."),
        ],
    )
    async with lead_of(project, script, approve=approve, on_approval=lambda _: True) as lead:
        answer = await lead.run("Go", worker="orchestrator")

    assert answer.status is RunStatus.SUCCEEDED, answer.gaps
    written = [each.messages[0].text for each in requests_of(script, "poet")]
    assert [text.partition("\n")[0] for text in written] == ["Write verse.", "Write better verse."]


async def test_a_declared_worker_calls_another_which_cannot_call_it_back(project: Path) -> None:
    for name in ("editor", "critic"):
        (project / "workers" / f"{name}.worker").write_text(ORCHESTRATOR.replace("orchestrator", name))
    script = played(
        critic=[calls("worker_call", worker="editor", input="Edit it."), says("The editor may not be called.")],
        editor=[calls("worker_call", worker="critic", input="Judge it."), says("Edited.")],
        orchestrator=[calls("worker_call", worker="editor", input="Edit the text."), says("Done.")],
    )
    await led(project, script)
    (refused,) = results_of(script, "critic")
    assert json.loads(refused)["isError"]
    assert "editor" in refused


async def test_a_worker_calls_another_which_calls_one_that_was_made(project: Path) -> None:
    declare(project, "editor", "toolsets: [dynamic_workers]")
    script = played(
        poet=[says("Roses are red.")],
        editor=[calls("worker_call", **CALL), says("Edited: Roses are red.")],
        orchestrator=[
            calls("worker_create", **POET),
            calls("worker_call", worker="editor", input="Have it written."),
            says("Done: red."),
        ],
    )
    answer = await led(project, script)
    assert answer.text == "Done: red."
    parents = {each["worker"]: each.get("parent", "") for each in answer.document["steps"]}
    assert parents["orchestrator"] == ""
    assert parents["editor"].startswith("work")
    assert parents["poet"].startswith(parents["editor"].partition("/a")[0] + "/t")


# --- rights and ceilings ---------------------------------------------------------------------------------------------


async def test_a_maker_cannot_give_what_it_lacks_and_nothing_is_written(project: Path) -> None:
    declare(project, "orchestrator", "tools: [look]", "toolsets: [dynamic_workers]")
    wrong = [{"tools": ["weather_tool"]}, {"tools": ["worker_create"]}, {"tools": ["send"]}]
    wrong += [{"name": "orchestrator"}, {"name": "../poet"}]
    script = ScriptedModel([*(calls("worker_create", **POET | each) for each in wrong), says("I could not.")])
    await led(project, script, tools=[look, send])
    for refused, named in zip(
        results_of(script), ("'weather_tool'", "worker", "send", "'orchestrator'", "name"), strict=True
    ):
        assert json.loads(refused)["isError"]
        assert named in refused
    assert "look" in results_of(script)[2]
    assert not (project / "generated").exists()


async def test_a_project_without_a_directory_for_them_makes_no_workers(project: Path) -> None:
    (project / "leadhand.toml").write_text('worker_files = ["workers/*.worker"]\n')
    script = ScriptedModel([calls("worker_create", **POET), says("I could not.")])
    await led(project, script)
    (message,) = results_of(script)
    assert json.loads(message)["isError"]
    assert not list(project.rglob("poet*"))


async def test_an_unknown_worker_tool_or_toolset_is_refused_before_the_run(project: Path) -> None:
    with pytest.raises(UsageError, match="'orchestratr'") as refused:
        await led(project, ScriptedModel(), worker="orchestratr")
    assert "orchestrator" in refused.value.how
    for kind, name in (("tool", "wether"), ("toolset", "webb")):
        declare(project, "orchestrator", f"{kind}s: [{name}]")
        with pytest.raises(ConfigurationError, match=f"{kind} '{name}'"):
            await led(project, ScriptedModel())


async def test_a_created_worker_cannot_make_others(project: Path) -> None:
    helper = {**POET, "name": "helper"}
    script = played(
        helper=says("A rhyme."),
        poet=[
            calls("worker_create", **helper),
            calls("worker_call", worker="helper", input="Rhyme."),
            says("Rhymed."),
        ],
        orchestrator=[*MADE, says("Done.")],
    )
    await led(project, script)
    assert all(json.loads(each)["isError"] for each in results_of(script, "poet"))
    assert [each.name for each in made(project)] == ["poet"]
    assert not [tool.name for tool in script.requests[2].tools if tool.name.startswith("worker_")]


@pytest.mark.parametrize(
    ("limits", "settings"),
    [("max_requests: 3", {}), ("max_tokens: 4000", {"limits": Limits(max_output_tokens=200)}), ("budget: 0.004", {})],
)
@pytest.mark.parametrize("enough", [False, True])
async def test_what_a_created_worker_uses_counts_as_used_by_its_maker(
    project: Path, limits: str, settings: dict[str, Any], enough: bool
) -> None:
    declare(project, "orchestrator", "toolsets: [dynamic_workers]", *(() if enough else (f"limits: {{{limits}}}",)))
    used = {"input_tokens": 1_300, "nanousd": 1_350_000}
    verse = says("A verse.").costing(**used)
    script = played(poet=[verse], orchestrator=[*(each.costing(**used) for each in MADE), verse])
    answer = await led(project, script, **settings)
    assert answer.document["usage"]["requests"] == (4 if enough else 3)
    assert (answer.status is RunStatus.SUCCEEDED) is enough
    if not enough:
        assert answer.gaps[0].class_ == "exhausted"


@pytest.mark.parametrize(
    "path", ["../secret.txt", "/etc/passwd", ".env", "missing.md", "link.md", "picture.png", "large.txt"]
)
async def test_attachments_are_text_files_of_the_project(project: Path, path: str) -> None:
    (project.parent / "secret.txt").write_text("secret")
    (project / ".env").write_text("KEY=1")
    (project / "link.md").symlink_to(project.parent / "secret.txt")
    (project / "picture.png").write_bytes(b"\x89PNG\xff")
    (project / "large.txt").write_bytes(b"a" * 1_000_001)
    script = ScriptedModel(
        [calls("worker_call", worker="orchestrator", input="Read it.", attachments=[path]), says("I could not.")]
    )
    await led(project, script)
    (message,) = results_of(script)
    assert json.loads(message)["isError"]
    assert path in message


# --- approvals and restarts ------------------------------------------------------------------------------------------


async def test_making_a_worker_waits_for_a_person_in_another_process_too(project: Path) -> None:
    async with lead_of(project, ScriptedModel([calls("worker_create", **POET)])) as lead:
        run = await lead.start("Go", worker="orchestrator")
        await run.wait()
        (asked,) = await run.approvals()
        assert (asked.approval.tool, asked.approval.args["instructions"]) == ("worker_create", "Write verse.")
        assert not (project / "generated").exists(), "nothing is written before the answer"
    second = played(poet=[says("A verse.")], orchestrator=[calls("worker_call", **CALL), says("A verse.")])
    async with lead_of(project, second) as lead:
        await lead.approve(asked.id)
        answer = await (await lead.resume(run.run_id)).answer()
    assert answer.text == "A verse."
    assert [each.name for each in made(project)] == ["poet"]


async def test_nobody_is_asked_about_a_worker_that_would_be_refused(project: Path) -> None:
    script = ScriptedModel([calls("worker_create", **{**POET, "name": "orchestrator"}), says("I could not.")])
    async with lead_of(project, script) as lead:
        answer = await lead.run("Go", worker="orchestrator")
    assert answer.document["approvals"] == []
    assert "'orchestrator'" in results_of(script)[0]


async def test_a_person_changes_a_worker_before_it_is_made(project: Path) -> None:
    script = played(poet=[says("Prose.")], orchestrator=[*MADE, says("Prose.")])
    async with lead_of(project, script, tools=[look]) as lead:
        run = await lead.start("Go", worker="orchestrator")
        await run.wait()
        (asked,) = await run.approvals()
        for change, named in (({"tools": ["fly"]}, "'fly'"), ({"name": "orchestrator"}, "'orchestrator'")):
            with pytest.raises(UsageError, match=named):
                await run.approve(asked.id, args={**POET, **change})
        await run.approve(asked.id, args={**POET, "instructions": "Write prose."})
        answer = await (await lead.resume(run.run_id)).answer()
    assert answer.text == "Prose."
    assert [each.instructions for each in made(project)] == ["Write prose."]
    (request,) = requests_of(script, "poet")
    assert "Write prose." in request.messages[0].text


@pytest.mark.parametrize("denied", [True, False], ids=["denied", "expired"])
async def test_a_worker_that_nobody_approves_is_not_made(project: Path, denied: bool) -> None:
    script = ScriptedModel([calls("worker_create", **POET), says("It was not made.")])
    async with lead_of(project, script, **({} if denied else {"limits": Limits(approval_timeout=0.05)})) as lead:
        run = await lead.start("Go", worker="orchestrator")
        state = await run.wait()
        if denied:
            await run.deny((await run.approvals())[0].id, reason="too much")
        while await run.approvals():  # noqa: ASYNC110 (time alone ends it)
            await asyncio.sleep(0.01)
        # On a busy machine, the time is up before the run rests, and it continues by itself.
        answer = await (run if state.finished else await lead.resume(run.run_id)).answer()
    (message,) = results_of(script)
    assert json.loads(message)["isError"]
    assert ("too much" in message) is denied
    assert answer.document["approvals"][0]["status"] == ("denied" if denied else "expired")
    assert not (project / "generated").exists()


# --- side by side ----------------------------------------------------------------------------------------------------

FLOWERS = [f"flower {number}" for number in range(20)]


def makes(request: ModelRequest) -> Step:
    """Make a poet of one flower, call it, and return its verse."""
    returned = [each.content for each in request.messages if each.role == "tool"]
    if request.worker.startswith("poet"):
        return says(request.messages[0].text.partition("\n")[0]).after(random.random() * 0.02)
    flower = brief_of(request)["input"]
    if not returned:
        create = ("worker_create", {**POET, "instructions": f"Write about {flower}."})
        call = ("worker_call", CALL)
        return calls_all(*((create, call) if flower < "flower 5" else (create,))).after(random.random() * 0.02)
    if len(returned) == 1:
        return calls("worker_call", **CALL).after(random.random() * 0.02)
    return says(returned[-1])


@pytest.mark.parametrize("approve", ["auto", "ask"])
async def test_each_input_calls_the_worker_that_was_made_for_it(project: Path, approve: Any) -> None:
    models = ScriptedModel().on(lambda _: True, always=makes)
    lead: Leadhand
    async with lead_of(project, models, approve=approve, on_approval=lambda _: True) as lead:
        results = [each async for each in lead.map("orchestrator", FLOWERS)]
    assert [each.text for each in results] == [f'{{"summary":"Write about {flower}."}}' for flower in FLOWERS]
    kept = {each.name: each.instructions for each in made(project)}
    assert sorted(kept.values()) == sorted(f"Write about {flower}." for flower in FLOWERS)
    assert "poet" in kept
