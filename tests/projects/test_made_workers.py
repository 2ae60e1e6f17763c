"""Workers that are made and called during runs: the example project, approvals, rights, attachments, and restarts."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from leadhand import Leadhand, RunStatus, UsageError, tool
from leadhand.app.project.generated_workers import generated_workers
from leadhand.app.project.manifest import load_project
from leadhand.core.errors import ConfigurationError
from leadhand.testing.scripted_model import ScriptedModel, calls, calls_all, says

EXAMPLE = Path(__file__).parents[2] / "examples" / "pitchdeck_eval"
ORCHESTRATOR = "---\nname: orchestrator\ntoolsets: [dynamic_workers]\n---\nMake workers and call them.\n"
POET = {"name": "poet", "instructions": "Write verse.", "description": "Writes."}


@pytest.fixture(autouse=True)
def _own_modules() -> Iterator[None]:
    """Forget the modules of a project: the next test has a copy of its own."""
    yield
    for name in ("tools", "offline"):
        sys.modules.pop(name, None)


@pytest.fixture
def example(tmp_path: Path) -> Path:
    return Path(
        shutil.copytree(EXAMPLE, tmp_path / "project", ignore=shutil.ignore_patterns("generated", "__pycache__"))
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one worker that makes others."""
    folder = tmp_path / "project"
    (folder / "workers").mkdir(parents=True)
    (folder / "workers" / "orchestrator.worker").write_text(ORCHESTRATOR)
    (folder / "leadhand.toml").write_text('worker_files = ["workers/*.worker"]\ngenerated_workers_dir = "generated"\n')
    return folder


def lead_of(project: Path, script: Any = None, **settings: Any) -> Leadhand:
    """Return a Leadhand of a project, with a home beside it."""
    scripted = {} if script is None else {"models": script, "tools": []}
    return Leadhand.of_project(project, home=project.parent / "home", **{**scripted, **settings})


async def led(project: Path, script: Any, request: str = "Go", worker: str = "orchestrator", **settings: Any) -> Any:
    """Return the answer of a run that a worker leads, and that asks nobody."""
    async with lead_of(project, script, approve="auto", **settings) as lead:
        return await lead.run(request, worker=worker)


def returned(script: ScriptedModel) -> list[str]:
    """Return the results of tools in the last request."""
    return [each.content for each in script.requests[-1].messages if each.role == "tool"]


# --- the example -----------------------------------------------------------------------------------------------------


async def test_the_example_makes_an_evaluator_calls_it_on_every_deck_and_improves_it_once(example: Path) -> None:
    async with lead_of(example, offline=True, approve="auto") as lead:
        answer = await lead.run("Evaluate the pitch decks", worker="orchestrator")
    assert answer.status is RunStatus.SUCCEEDED
    assert re.findall(r"decks/(\w+).md.* (\d) of 5.* (\d+) %, .* (\d+) ", answer.text) == [
        ("solar", "5", "80", "18"),
        ("bread", "3", "45", "12"),
        ("boats", "1", "20", "7"),
    ]
    (made,) = generated_workers(load_project(example))
    assert (made.name, made.run_id, made.made_by) == ("deck_evaluator", answer.run_id, "orchestrator")
    assert "reason" in made.instructions


async def test_a_worker_that_was_made_is_unknown_to_the_next_run_until_it_is_declared(example: Path) -> None:
    async with lead_of(example, offline=True, approve="auto") as lead:
        await lead.run("Evaluate the pitch decks", worker="orchestrator")
        with pytest.raises(UsageError, match="'deck_evaluator'"):
            await lead.start("Evaluate decks/solar.md", worker="deck_evaluator")
    (made,) = generated_workers(load_project(example))
    shutil.copy(example / made.path, example / "workers" / "deck_evaluator.worker")
    _forget()
    async with lead_of(example, offline=True, approve="auto") as lead:
        run = await lead.start("Evaluate decks/solar.md", worker="deck_evaluator")
        assert (await run.document())["flow"] == "solo"


def _forget() -> None:
    for name in ("tools", "offline"):
        sys.modules.pop(name, None)


# --- making and calling ----------------------------------------------------------------------------------------------


async def test_a_created_worker_is_called_and_its_answer_goes_back(project: Path) -> None:
    script = ScriptedModel()
    script.on(lambda request: request.worker == "poet", says("Roses are red."))
    script.on(
        lambda request: request.worker == "orchestrator",
        calls("worker_create", **POET),
        calls("worker_call", worker="poet", input="Write about roses."),
        says("Roses: red."),
    )
    answer = await led(project, script)
    assert answer.text == "Roses: red."
    assert answer.status is RunStatus.SUCCEEDED


async def test_twenty_workers_are_made_and_called_at_once(project: Path) -> None:
    names = [f"poet{number}" for number in range(20)]
    script = ScriptedModel()
    script.on(lambda request: request.worker.startswith("poet"), always=says("A verse."))
    script.on(
        lambda request: request.worker == "orchestrator",
        calls_all(*(("worker_create", {**POET, "name": name}) for name in names)),
        calls_all(*(("worker_call", {"worker": name, "input": "Write."}) for name in names)),
        says("Twenty verses."),
    )
    answer = await led(project, script)
    assert answer.document["usage"]["requests"] == 23
    assert len(list(generated_workers(load_project(project)))) == 20


async def test_a_maker_cannot_give_what_it_lacks_and_nothing_is_written(project: Path) -> None:
    script = ScriptedModel(
        [
            calls("worker_create", **POET, tools=["weather_tool"]),
            calls("worker_create", **POET, tools=["worker_create"]),
            calls("worker_create", **{**POET, "name": "orchestrator"}),
            calls("worker_create", **{**POET, "name": "../poet"}),
            says("I could not."),
        ]
    )
    await led(project, script)
    messages = returned(script)
    for refused, named in zip(messages, ("'weather_tool'", "worker", "'orchestrator'", "name"), strict=True):
        assert json.loads(refused)["isError"]
        assert named in refused
    assert not (project / "generated").exists()


@pytest.mark.parametrize("approve", ["auto", "ask"])
async def test_a_call_in_the_same_reply_waits_for_the_worker_that_it_calls(project: Path, approve: str) -> None:
    better = {**POET, "instructions": "Write better verse."}
    script = ScriptedModel()
    script.on(lambda request: request.worker == "poet", always=lambda request: says(request.messages[0].text))
    script.on(
        lambda request: request.worker == "orchestrator",
        calls_all(("worker_create", POET), ("worker_call", {"worker": "poet", "input": "Write."})),
        calls_all(("worker_create", better), ("worker_call", {"worker": "poet", "input": "Write."})),
        says("Two verses."),
    )
    async with lead_of(project, script, approve=approve, on_approval=lambda _: True) as lead:
        answer = await lead.run("Go", worker="orchestrator")

    assert answer.status is RunStatus.SUCCEEDED, answer.gaps
    written = [each.messages[0].text for each in script.requests if each.worker == "poet"]
    assert [text.partition("\n")[0] for text in written] == ["Write verse.", "Write better verse."]


async def test_a_declared_worker_calls_another_which_cannot_call_it_back(project: Path) -> None:
    for name in ("editor", "critic"):
        (project / "workers" / f"{name}.worker").write_text(ORCHESTRATOR.replace("orchestrator", name))
    script = ScriptedModel()
    script.on(
        lambda request: request.worker == "critic",
        calls("worker_call", worker="editor", input="Edit it."),
        says("The editor may not be called."),
    )
    script.on(
        lambda request: request.worker == "editor",
        calls("worker_call", worker="critic", input="Judge it."),
        says("Edited."),
    )
    script.on(
        lambda request: request.worker == "orchestrator",
        calls("worker_call", worker="editor", input="Edit the text."),
        says("Done."),
    )
    await led(project, script)
    (refused,) = answered_to(script, "critic")
    assert json.loads(refused)["isError"]
    assert "editor" in refused


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
    (message,) = returned(script)
    assert json.loads(message)["isError"]
    assert path in message


# --- approvals and restarts ------------------------------------------------------------------------------------------


async def test_making_a_worker_waits_for_a_person_in_another_process_too(project: Path) -> None:
    first = ScriptedModel([calls("worker_create", **POET)])
    async with lead_of(project, first) as lead:
        run = await lead.start("Go", worker="orchestrator")
        await run.wait()
        (asked,) = await run.approvals()
        assert (asked.approval.tool, asked.approval.args["instructions"]) == ("worker_create", "Write verse.")
        assert not (project / "generated").exists(), "nothing is written before the answer"
    second = ScriptedModel()
    second.on(lambda request: request.worker == "poet", says("A verse."))
    second.on(
        lambda request: request.worker == "orchestrator",
        calls("worker_call", worker="poet", input="Write."),
        says("A verse."),
    )
    async with lead_of(project, second) as lead:
        await lead.approve(asked.id)
        answer = await (await lead.resume(run.run_id)).answer()
    assert answer.text == "A verse."
    (made,) = generated_workers(load_project(project))
    assert made.name == "poet"


async def test_a_denied_worker_is_not_made(project: Path) -> None:
    script = ScriptedModel([calls("worker_create", **POET), says("It was denied.")])
    async with lead_of(project, script) as lead:
        run = await lead.start("Go", worker="orchestrator")
        await run.wait()
        (asked,) = await run.approvals()
        await run.deny(asked.id, reason="too much")
        await (await lead.resume(run.run_id)).answer()
    (message,) = returned(script)
    assert "too much" in message
    assert not (project / "generated").exists()


# --- what has to be configured ---------------------------------------------------------------------------------------


async def test_a_project_without_a_directory_for_them_makes_no_workers(project: Path) -> None:
    (project / "leadhand.toml").write_text('worker_files = ["workers/*.worker"]\n')
    script = ScriptedModel([calls("worker_create", **POET), says("I could not.")])
    await led(project, script)
    (message,) = returned(script)
    assert json.loads(message)["isError"]
    assert not list(project.rglob("poet*"))


async def test_an_unknown_worker_tool_or_toolset_is_refused_before_the_run(project: Path) -> None:
    with pytest.raises(UsageError, match="'orchestratr'") as refused:
        await led(project, ScriptedModel(), worker="orchestratr")
    assert "orchestrator" in refused.value.how
    file = project / "workers" / "orchestrator.worker"
    for kind, name in (("tool", "wether"), ("toolset", "webb")):
        file.write_text(ORCHESTRATOR.replace("toolsets: [dynamic_workers]", f"{kind}s: [{name}]"))
        with pytest.raises(ConfigurationError, match=f"{kind} '{name}'"):
            await led(project, ScriptedModel())


# --- rights and ceilings ---------------------------------------------------------------------------------------------


@tool
def look(at: str) -> str:
    """Look at something."""
    return f"saw {at}"


@tool(effect="once")
def send(to: str) -> str:
    """Send something."""
    return f"sent to {to}"


def declare(project: Path, name: str, *lines: str) -> None:
    """Declare a worker, with these lines in its front matter."""
    front = "\n".join((f"name: {name}", *lines))
    (project / "workers" / f"{name}.worker").write_text(f"---\n{front}\n---\nDo it.\n")


def answered_to(script: ScriptedModel, worker: str) -> list[str]:
    """Return the results of tools in the last request of a worker."""
    last = [request for request in script.requests if request.worker == worker][-1]
    return [each.content for each in last.messages if each.role == "tool"]


async def test_a_maker_cannot_give_a_tool_of_the_run_that_it_lacks(project: Path) -> None:
    declare(project, "orchestrator", "tools: [look]", "toolsets: [dynamic_workers]")
    script = ScriptedModel([calls("worker_create", **POET, tools=["send"]), says("I could not.")])
    await led(project, script, tools=[look, send])
    (message,) = returned(script)
    assert json.loads(message)["isError"]
    assert "send" in message
    assert "look" in message
    assert not (project / "generated").exists()


async def test_nobody_is_asked_about_a_worker_that_would_be_refused(project: Path) -> None:
    script = ScriptedModel([calls("worker_create", **{**POET, "name": "orchestrator"}), says("I could not.")])
    async with lead_of(project, script) as lead:
        answer = await lead.run("Go", worker="orchestrator")
    assert answer.document["approvals"] == []
    assert "'orchestrator'" in returned(script)[0]


async def test_a_created_worker_cannot_make_others(project: Path) -> None:
    def script() -> ScriptedModel:
        made = ScriptedModel()
        helper = {**POET, "name": "helper"}
        made.on(lambda request: request.worker == "helper", always=says("A rhyme."))
        made.on(
            lambda request: request.worker == "poet",
            calls("worker_create", **helper),
            calls("worker_call", worker="helper", input="Rhyme."),
            says("Rhymed."),
        )
        made.on(
            lambda request: request.worker == "orchestrator",
            calls("worker_create", **POET),
            calls("worker_call", worker="poet", input="Write."),
            says("Done."),
        )
        return made

    first = script()
    await led(project, first)
    assert all(json.loads(each)["isError"] for each in answered_to(first, "poet"))
    assert [each.name for each in generated_workers(load_project(project))] == ["poet"]
    assert not [tool.name for tool in first.requests[2].tools if tool.name.startswith("worker_")]


async def test_a_worker_calls_another_which_calls_one_that_was_made(project: Path) -> None:
    declare(project, "editor", "toolsets: [dynamic_workers]")
    script = ScriptedModel()
    script.on(lambda request: request.worker == "poet", says("Roses are red."))
    script.on(
        lambda request: request.worker == "editor",
        calls("worker_call", worker="poet", input="Write."),
        says("Edited: Roses are red."),
    )
    script.on(
        lambda request: request.worker == "orchestrator",
        calls("worker_create", **POET),
        calls("worker_call", worker="editor", input="Have it written."),
        says("Done: red."),
    )
    answer = await led(project, script)
    assert answer.text == "Done: red."
    parents = {each["worker"]: each.get("parent", "") for each in answer.document["steps"]}
    assert parents["orchestrator"] == ""
    assert parents["editor"].startswith("work")
    assert parents["poet"].startswith(parents["editor"].partition("/a")[0] + "/t")


@pytest.mark.parametrize(
    ("limits", "settings"),
    [
        ("max_requests: 3", {}),
        ("max_tokens: 4000", {"max_output_tokens": 200}),
        ("budget: 0.004", {}),
    ],
)
@pytest.mark.parametrize("enough", [False, True])
async def test_what_a_created_worker_uses_counts_as_used_by_its_maker(
    project: Path, limits: str, settings: dict[str, Any], enough: bool
) -> None:
    declare(project, "orchestrator", "toolsets: [dynamic_workers]", *(() if enough else (f"limits: {{{limits}}}",)))
    used = {"input_tokens": 1_300, "nanousd": 1_350_000}
    script = ScriptedModel()
    script.on(lambda request: request.worker == "poet", says("A verse.").costing(**used))
    script.on(
        lambda request: request.worker == "orchestrator",
        calls("worker_create", **POET).costing(**used),
        calls("worker_call", worker="poet", input="Write.").costing(**used),
        says("A verse.").costing(**used),
    )
    answer = await led(project, script, **settings)
    assert answer.document["usage"]["requests"] == (4 if enough else 3)
    assert (answer.status is RunStatus.SUCCEEDED) is enough
    if not enough:
        assert answer.gaps[0].class_ == "exhausted"


# --- changed and expired approvals -----------------------------------------------------------------------------------


async def test_a_person_changes_a_worker_before_it_is_made(project: Path) -> None:
    script = ScriptedModel()
    script.on(lambda request: request.worker == "poet", says("Prose."))
    script.on(
        lambda request: request.worker == "orchestrator",
        calls("worker_create", **POET),
        calls("worker_call", worker="poet", input="Write."),
        says("Prose."),
    )
    async with lead_of(project, script, tools=[look]) as lead:
        run = await lead.start("Go", worker="orchestrator")
        await run.wait()
        (asked,) = await run.approvals()
        with pytest.raises(UsageError, match="'fly'"):
            await run.approve(asked.id, args={**POET, "tools": ["fly"]})
        with pytest.raises(UsageError, match="'orchestrator'"):
            await run.approve(asked.id, args={**POET, "name": "orchestrator"})
        await run.approve(asked.id, args={**POET, "instructions": "Write prose."})
        answer = await (await lead.resume(run.run_id)).answer()
    assert answer.text == "Prose."
    (made,) = generated_workers(load_project(project))
    assert made.instructions == "Write prose."
    (request,) = [each for each in script.requests if each.worker == "poet"]
    assert "Write prose." in request.messages[0].text


async def test_a_creation_that_nobody_approves_in_time_is_denied(project: Path) -> None:
    script = ScriptedModel([calls("worker_create", **POET), says("Nobody answered.")])
    async with lead_of(project, script, approval_timeout=0.05) as lead:
        run = await lead.start("Go", worker="orchestrator")
        state = await run.wait()
        while await run.approvals():  # noqa: ASYNC110 (time alone ends it)
            await asyncio.sleep(0.01)
        # On a busy machine, the time is up before the run rests, and it continues by itself.
        answer = await (run if state.finished else await lead.resume(run.run_id)).answer()
    (message,) = returned(script)
    assert json.loads(message)["isError"]
    assert answer.document["approvals"][0]["status"] == "expired"
    assert not (project / "generated").exists()
