"""Runs call the operations of an API by what they do: reads at once, what happens once after a person approves it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from apis import PETSTORE, Api, star_trek

from leadhand import Leadhand, RunStatus
from leadhand.app.project.manifest import load_project
from leadhand.core.errors import ConfigurationError
from leadhand.core.tool import ApprovalPolicy
from leadhand.testing.scripted_model import ScriptedModel, calls, plans, says, subtask
from leadhand.tools.openapi import openapi

PET = {"name": "Rex", "photoUrls": []}


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with Api().open() as api:
        yield api


async def test_a_subtask_calls_an_operation_and_a_person_approves_what_happens_once(api: Api, home: Path) -> None:
    api.answers["GET /pet/findByStatus"] = [PET]
    plan = plans(subtask("look", "findPetsByStatus", status=["sold"]), subtask("add", "addPet", body=PET))
    models = ScriptedModel(plan=[plan], lenient=True)
    async with Leadhand(models=models, tools=[openapi(PETSTORE, base_url=api.url)], home=home) as lead:
        run = await lead.start("Add a pet like the sold ones.")
        assert (await run.wait()).status is RunStatus.WAITING
        assert api.lines == ["GET /pet/findByStatus"]
        (asked,) = await lead.approvals()
        assert (asked.approval.tool, asked.approval.args, asked.approval.effect) == ("addPet", {"body": PET}, "once")
        assert asked.approval.target == f"POST {api.url}/pet"
        assert asked.approval.summary == "Add a new pet to the store"
        await lead.approve(asked.id)
        answer = await (await lead.resume(run.run_id)).answer()
    assert answer.status is RunStatus.SUCCEEDED
    assert api.lines == ["GET /pet/findByStatus", "POST /pet"]


async def test_a_project_has_a_person_approve_what_may_be_repeated(api: Api, home: Path, tmp_path: Path) -> None:
    api.answers["*"] = web.Response(status=200)
    table = f"document = '{PETSTORE}'\nbase_url = '{api.url}'\ntimeout = '5s'\neffects = {{'DELETE *' = 'once'}}\n"
    (tmp_path / "leadhand.toml").write_text(f"[openapi.pets]\n{table}")
    models = ScriptedModel(plan=[plans(subtask("remove", "deletePet", petId=7))], lenient=True)
    async with Leadhand(models=models, tools=load_project(tmp_path).sources(), home=home) as lead:
        run = await lead.start("Remove pet 7.")
        assert (await run.wait()).status is RunStatus.WAITING
        (asked,) = await lead.approvals()
        assert (asked.approval.tool, asked.approval.effect, api.lines) == ("deletePet", "once", [])
        await lead.approve(asked.id)
        assert (await (await lead.resume(run.run_id)).answer()).status is RunStatus.SUCCEEDED
    assert api.lines == ["DELETE /pet/7"]


def call(operation: str, **arguments: Any) -> Any:
    return calls("trek_call", operation=operation, arguments=arguments)


async def test_a_call_among_many_is_approved_by_its_operation(api: Api, home: Path, tmp_path: Path) -> None:
    api.answers |= {"*": {"page": {}, "animals": [], "books": []}, "GET /animal": {"animal": {"uid": "x"}}}
    search = calls("trek_search", query="animals by name")
    script = [search, call("get_animal", uid="x"), call("post_animal_search"), call("post_animal_search", pageNumber=1)]
    models = ScriptedModel([*script, call("post_book_search"), says("Done.")])
    sources = [openapi(star_trek(tmp_path), base_url=api.url, name="trek")]
    asked: list[tuple[str, str]] = []
    async with Leadhand(models=models, tools=sources, home=home, check="off") as lead:
        run = await lead.start("Find animals.", flow="solo")
        while (await run.wait()).status is RunStatus.WAITING:
            (each,) = await lead.approvals()
            asked.append((each.approval.called, each.approval.target.removeprefix(f"POST {api.url}")))
            await run.approve(each.id, always=True)
            run = await lead.resume(run.run_id)
        answer = await run.answer()
    assert answer.status is RunStatus.SUCCEEDED
    operations = {"post_animal_search": "/animal/search", "post_book_search": "/book/search"}
    assert asked == [(f"trek_call.{name}", path) for name, path in operations.items()]
    assert [each["tool"] for each in answer.document["done"]] == ["trek_call"] * 3
    assert api.lines == ["GET /animal", *["POST /animal/search"] * 2, "POST /book/search"]


@pytest.mark.parametrize("is_asked", [True, False], ids=["after it was asked for", "before it is asked for"])
async def test_an_operation_that_changed_is_refused_before_a_person_is_asked_if_that_is_known(
    api: Api, home: Path, tmp_path: Path, is_asked: bool
) -> None:
    api.answers["*"] = [PET]
    document = tmp_path / "pets.json"
    document.write_text(PETSTORE.read_text())
    needs = {} if is_asked else {"needs": [0]}
    plan = plans(subtask("look", "findPetsByStatus", status=["sold"]), subtask("add", "addPet", body=PET, **needs))
    models = ScriptedModel(plan=[plan, plans(subtask("look", "findPetsByStatus", status=["sold"]))], lenient=True)
    rules = {"tool:findPetsByStatus": ApprovalPolicy.ASK, "*": ApprovalPolicy.ASK}
    async with Leadhand(models=models, tools=[openapi(document, base_url=api.url)], home=home, approve=rules) as lead:
        run = await lead.start("Add a pet like the sold ones.")
        await run.wait()
        document.write_text(PETSTORE.read_text().replace("Add a new pet to the store", "Delete the store"))
        await (await lead.start("Look.")).wait()  # it reads the document anew
        for each in await run.approvals():
            await run.approve(each)
        answer = await (await lead.resume(run.run_id)).answer()
    assert [each.tool for each in run.state.approvals.values()] == ["findPetsByStatus", "addPet"][: 1 + is_asked]
    assert (answer.status, answer.done, api.lines) == (RunStatus.PARTIAL, (), ["GET /pet/findByStatus"])
    assert "find out" not in answer.gaps[0].next_action


@pytest.mark.parametrize("is_ordered", [True, False])
async def test_without_questions_only_an_ordered_call_acts(
    api: Api, home: Path, tmp_path: Path, is_ordered: bool
) -> None:
    api.answers |= {"*": {"page": {}, "animals": []}, "GET /animal": {"animal": {"uid": "x"}}}
    acts = {"operation": "post_animal_search", "arguments": {}}
    ordered = subtask("find", "trek_call", **acts) if is_ordered else subtask("find")
    work = [] if is_ordered else [call("get_animal", uid="x"), call("post_animal_search"), says("Nothing was found.")]
    models = ScriptedModel(plan=[plans(ordered)], work=work, lenient=True)
    sources = [openapi(star_trek(tmp_path), base_url=api.url, name="trek")]
    async with Leadhand(models=models, tools=sources, home=home, approve=ApprovalPolicy.AUTO) as lead:
        answer = await lead.run("Find animals.")
    assert answer.status is RunStatus.SUCCEEDED
    assert api.lines == ["POST /animal/search" if is_ordered else "GET /animal"]


async def test_a_document_that_cannot_be_read_refuses_the_start(home: Path) -> None:
    async with Leadhand(models=ScriptedModel(), tools=[openapi("missing.json")], home=home) as lead:
        with pytest.raises(ConfigurationError, match=r"missing\.json"):
            await lead.start("Look.")
