"""Follow-ups over HTTP: with the settings of the earlier run, as far as the caller may ask for them and read it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from server.conftest import OpenServer
from server.doors import OVER, Door
from server.keys import LOCKED, Keys, keys_of
from server.teams import Office

from leadhand import Limits
from leadhand.app.steering.access import Scope
from leadhand.core.events import ArtifactWritten
from leadhand.core.run import RunDefinition
from leadhand.core.tool import ApprovalPolicy
from leadhand.flows import FlowContext, flow


@flow(reads_artifacts=True)
async def files(run: FlowContext) -> str:
    """Ends at once; its runs can read the files of earlier ones."""
    return "done"


@pytest.fixture
async def keys(serve: OpenServer) -> Keys:
    keys = await keys_of((await serve(doors=LOCKED, flows=[files])).door)
    await keys.add("stranger", Scope.RUN, Scope.APPROVE)
    await keys.add("auditor", Scope.READ_ALL)
    await keys.add("lead", Scope.RUN, Scope.READ_ALL)
    return keys


async def follow_up(keys: Keys, who: str, run_id: str, **body: Any) -> str:
    response = await keys.post(who, f"/api/runs/{run_id}/follow-up", {"request": "and now?", **body})
    assert response.status_code == 202, response.text
    assert response.headers["location"] == f"/api/runs/{response.json()['run_id']}"
    assert response.json()["follows"]["run_id"] == run_id
    return response.json()["run_id"]


async def definition(door: Door, run_id: str) -> RunDefinition:
    return (await door.runtime.load(run_id)).definition


async def test_no_key_sees_the_files_of_another_key(keys: Keys) -> None:
    runtime = keys.door.runtime
    secret = await keys.started("runner", "x", flow="files")
    await keys.rests(secret, *OVER)
    digest = await runtime.store.put_blob(b"secret")
    written = ArtifactWritten(attempt="a/a1", path="memory/s.md", digest=digest, size=6)
    await runtime.store.append(secret, [written])

    async def readable(run_id: str) -> list[str]:
        await keys.rests(run_id, *OVER)
        return [file.run_id for file in (await definition(keys.door, run_id)).earlier]

    assert await readable(await keys.started("runner", "y", flow="files")) == [secret]
    for who in ("stranger", "lead", "admin"):
        assert await readable(await keys.started(who, "y", flow="files")) == [], who

    for who, status in (("stranger", 404), ("auditor", 403)):
        refused = await keys.post(who, f"/api/runs/{secret}/follow-up", {"request": "and now?"})
        assert refused.status_code == status, who
        assert "secret" not in refused.text
    assert (await keys.door.post(f"/api/runs/{secret}/follow-up", {"request": "x"})).status_code == 401

    mine = await follow_up(keys, "lead", secret)  # this key may read all runs, and starts its own
    assert await readable(mine) == [secret]
    assert (await definition(keys.door, mine)).key_id == keys.ids["lead"]
    assert await readable(await keys.started("lead", "z", flow="files")) == []
    assert (await keys.get("runner", f"/api/runs/{mine}")).status_code == 404
    assert (await keys.get("runner", f"/api/runs/{secret}")).json()["followed_by"] == []
    own = await follow_up(keys, "runner", secret)
    assert (await keys.get("runner", f"/api/runs/{secret}")).json()["followed_by"] == [own]
    listed = (await keys.get("runner", "/api/runs")).json()["runs"]
    assert {run["run_id"]: run["follows"] for run in listed}[own] == secret


async def test_a_follow_up_gets_nothing_that_its_caller_may_not_ask_for(keys: Keys, tmp_path: Path) -> None:
    runtime = keys.door.runtime
    usual = runtime.settings
    wide = usual.limits.patched(Limits(budget=7, max_workers=3, timeout=None))
    asked = replace(usual, limits=wide, documents=str(tmp_path), approve=ApprovalPolicy.AUTO)
    state = await runtime.start("measure Paris", asked=asked)
    await keys.door.service.driver.drive(state)

    taken = await definition(keys.door, await follow_up(keys, "lead", state.run_id, request="measure Rome"))
    assert taken.limits == usual.limits.evolve(max_workers=3)
    assert (taken.documents, taken.approve, taken.detached) == ("", ApprovalPolicy.ASK, True)
    free = await definition(keys.door, await follow_up(keys, "admin", state.run_id, request="measure Rome"))
    assert (free.limits, free.documents, free.approve) == (wide, "", ApprovalPolicy.ASK)
    told = {"limits": {"max_workers": 2, "budget": 0.5}, "request": "measure Rome"}
    less = await definition(keys.door, await follow_up(keys, "lead", state.run_id, **told))
    assert (less.limits.max_workers, less.limits.budget) == (2, 0.5)

    path = f"/api/runs/{state.run_id}/follow-up"
    for body, status, named in (
        ({"limits": {"budget": 5}}, 403, "limits.budget"),
        ({"options": {"depth": 1}}, 409, "'depth'"),
        ({"approve": "auto"}, 422, "approve"),
        ({"documents": "/"}, 422, "documents"),
        ({"flow": "none"}, 409, "'none'"),
        ({"request": " "}, 422, "request"),
    ):
        refused = await keys.post("lead", path, {"request": "measure Rome", **body})
        assert (refused.status_code, named in refused.json()["detail"]) == (status, True), refused.text


async def test_only_a_run_that_has_ended_is_followed_up_and_a_repetition_starts_no_other(
    keys: Keys, office: Office
) -> None:
    run_id = await keys.started("runner", "measure Rome")
    path, body = f"/api/runs/{run_id}/follow-up", {"request": "measure Paris"}
    early = await keys.post("runner", path, body)
    assert (early.status_code, early.json()["code"]) == (409, "conflict")
    assert f"GET /api/runs/{run_id}/events" in early.json()["how"]
    office.gate.set()
    await keys.rests(run_id, *OVER)

    headers = {**keys.header("runner"), "idempotency-key": "k"}
    first, again = [await keys.door.post(path, body, headers=headers) for _ in range(2)]
    assert (first.status_code, first.json()["run_id"]) == (202, again.json()["run_id"])
    assert again.headers["idempotency-replayed"] == "true"
    other = await keys.door.post(path, {"request": "measure Nice"}, headers=headers)
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_key_reused")
    run = await keys.rests(first.json()["run_id"], *OVER)
    assert run["answer"] == "Paris: 40 dB"
    missing = await keys.post("runner", "/api/runs/run_0/follow-up", body)
    assert missing.status_code == 404
