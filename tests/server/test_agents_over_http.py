"""The roles of the flow: what people set for them counts for the runs that are started from then on."""

from __future__ import annotations

from typing import Any

from server.doors import Door

from leadhand.domain.access import Scope
from leadhand.domain.events import RunStarted
from leadhand.domain.run import RunDefinition
from leadhand.flows.work_order.roles import instructions


def changed(definition: RunDefinition) -> dict[str, str]:
    """The instructions of a run that are not those that ship, by role."""
    return {role.name: role.instructions for role in definition.roles if role.instructions != instructions(role.name)}


async def started(api: Door, **body: Any) -> Any:
    """The definition that a new run is pinned to."""
    run_id = (await api.post("/api/runs", {"request": "measure Paris", **body})).json()["run_id"]
    (first,) = await api.service.runtime.store.read(run_id, limit=1)
    assert isinstance(first.event, RunStarted)
    return first.event.definition


async def test_instructions_that_were_set_are_pinned_to_new_runs_and_shown_with_who_set_them(api: Door) -> None:
    before = await started(api)
    answered = await api.http.put("/api/agents/worker", json={"instructions": "Be brief."})
    after = await started(api)

    assert answered.status_code == 200, answered.text
    assert answered.json()["instructions"] == "Be brief."
    assert answered.json()["changed"]["by"]
    assert (changed(before), changed(after)) == ({}, {"work": "Be brief."})
    listed = {each["name"]: each for each in (await api.get("/api/agents")).json()["agents"]}
    assert listed["worker"] == answered.json()
    assert listed["lead"]["changed"] is None


async def test_a_model_that_was_set_gives_way_to_one_that_is_asked_for(api: Door) -> None:
    assert (await api.http.put("/api/agents/reviewer", json={"model": "strict"})).status_code == 200

    assert (await started(api)).models.roles == {"review": "strict"}
    assert (await started(api, model="other")).models.roles == {}


async def test_a_role_can_be_as_it_ships_again(api: Door) -> None:
    shipped = (await api.get("/api/agents")).json()
    await api.http.put("/api/agents/lead", json={"instructions": "Plan little."})

    for _ in range(2):
        assert (await api.http.delete("/api/agents/lead")).status_code == 204
    assert (await api.get("/api/agents")).json() == shipped
    assert changed(await started(api)) == {}


async def test_a_role_that_is_as_it_ships_can_be_posted_once(api: Door) -> None:
    posted = await api.post("/api/agents", {"name": "composer", "instructions": "In one sentence."})
    again = await api.post("/api/agents", {"name": "composer", "instructions": "In two."})
    unknown = await api.post("/api/agents", {"name": "poet", "instructions": "In verse."})

    assert (posted.status_code, posted.headers["location"]) == (201, "/api/agents/composer")
    assert (again.status_code, again.json()["code"], unknown.status_code) == (409, "conflict", 404)
    assert changed(await started(api)) == {"compose": "In one sentence."}


async def test_what_cannot_be_set_is_refused(api: Door) -> None:
    assert (await api.http.put("/api/agents/poet", json={"model": "x"})).status_code == 404
    assert (await api.http.delete("/api/agents/poet")).status_code == 404
    assert (await api.http.put("/api/agents/lead", json={"instructions": "x" * 8_001})).status_code == 422
    assert (await api.http.put("/api/agents/lead", json={"instructions": ""})).status_code == 422
    assert (await api.http.put("/api/agents/lead", json={"model": " "})).status_code == 422
    assert (await api.http.put("/api/agents/lead", json={"mood": "good"})).status_code == 422
    assert changed(await started(api)) == {}


async def test_a_model_that_nobody_knows_is_refused(open_door: Any) -> None:
    api = await open_door(models=None, tools=None, offline=False, model="offline")

    refused = await api.http.put("/api/agents/lead", json={"model": "nobody:knows"})

    assert (refused.status_code, refused.json()["code"]) == (422, "configuration")


async def test_who_may_start_runs_may_not_change_roles(api: Door) -> None:
    runner = await api.key("runner", Scope.RUN)

    assert (await api.http.put("/api/agents/lead", json={"model": "x"}, headers=runner)).status_code == 403
    assert (await api.http.delete("/api/agents/lead", headers=runner)).status_code == 403
    assert (await api.get("/api/agents", headers=runner)).status_code == 200


async def test_a_run_can_be_taken_away_as_a_file(api: Door) -> None:
    run_id = await api.started("measure Paris")
    await api.over(run_id)
    lines = await api.get(f"/api/runs/{run_id}/export")
    page = await api.get(f"/api/runs/{run_id}/export?format=html")

    assert lines.text.splitlines()[0].startswith('{"seq":1,')
    assert page.text.startswith("<!doctype html>")
    assert page.headers["content-disposition"] == f'attachment; filename="{run_id}.html"'
    document = await api.get(f"/api/runs/{run_id}/export?format=json")
    assert document.headers["content-type"] == "application/json"
    assert document.json()["run_id"] == run_id
    answer = await api.get(f"/api/runs/{run_id}/export?format=md")
    assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
    assert "40 dB" in answer.text
    assert (await api.get(f"/api/runs/{run_id}/export?format=pdf")).status_code == 422
    assert (await api.get(f"/api/runs/{run_id}/artifacts/../../secret")).status_code == 404
    assert (await api.get(f"/api/runs/{run_id}/artifacts/notes.md")).status_code == 404
