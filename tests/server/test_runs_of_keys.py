"""A run belongs to the key that started it: other keys neither read it nor steer it, unless they were told they may."""

from __future__ import annotations

from typing import Any

import pytest
from refusals import refused
from server.conftest import OpenServer
from server.keys import LOCKED, Keys, keys_of
from server.teams import Office

from leadhand.app.steering.access import Scope
from leadhand.app.steering.keys import all_keys, make_key, revoke, user
from leadhand.core.errors import UsageError


@pytest.fixture
async def keys(serve: OpenServer) -> Keys:
    keys = await keys_of((await serve(doors=LOCKED)).door)
    await keys.add("stranger", Scope.RUN, Scope.APPROVE)
    await keys.add("auditor", Scope.READ_ALL)
    await keys.add("lead", Scope.RUN, Scope.READ_ALL)
    return keys


READING = (
    "", "/events", "/events/1", "/view", "/export", "/export?format=html", "/artifacts", "/artifacts/memory/x.md",
)  # fmt: skip
STEERING: dict[str, dict[str, Any]] = {
    "cancel": {},
    "pause": {},
    "resume": {},
    "retry": {},
    "skip": {"subtask": "wo-001.0"},
    "supply": {"subtask": "wo-001.0", "summary": "x"},
    "fork": {"at": 1},
}


async def test_a_key_finds_no_run_of_another_key(keys: Keys, office: Office) -> None:
    run_id = await keys.started("runner", "pay Dover")
    (card,) = await keys.asked(run_id)

    for path in READING:
        missing = await keys.get("stranger", f"/api/runs/{run_id}{path}")
        assert (missing.status_code, missing.json()["code"]) == (404, "no_such_run"), path
        nobody = await keys.get("stranger", f"/api/runs/run_nobody{path}")
        assert nobody.json()["detail"].replace("run_nobody", run_id) == missing.json()["detail"]
    for verb, body in STEERING.items():
        missing = await keys.post("stranger", f"/api/runs/{run_id}/{verb}", body)
        assert (missing.status_code, missing.json()["code"]) == (404, "no_such_run"), verb
    assert (await keys.get("stranger", "/api/runs")).json()["runs"] == []
    assert (await keys.get("stranger", "/api/runs?search=dover")).json()["runs"] == []
    assert len((await keys.get("runner", "/api/runs?search=dover")).json()["runs"]) == 1
    pages = [await keys.get("stranger", f"/api/runs?cursor={each}") for each in (run_id, "run_nobody")]
    assert [(page.status_code, page.json()["code"]) for page in pages] == [(404, "not_found")] * 2
    assert (await keys.get("stranger", "/api/approvals")).json()["approvals"] == []
    assert (await keys.get("stranger", f"/api/approvals?run_id={run_id}")).status_code == 404
    answered = await keys.post("stranger", f"/api/approvals/{card['approval_id']}", {"decision": "approve"})
    assert answered.status_code == 409
    assert office.calls == {}


async def test_what_is_told_of_all_runs_together_is_for_those_who_may_read_them(keys: Keys) -> None:
    run_id = await keys.started("runner", "pay Dover")
    await keys.asked(run_id)

    assert (await keys.get("stranger", "/metrics")).status_code == 403
    assert "leadhand_runs" in (await keys.get("auditor", "/metrics")).text


async def test_an_idempotency_key_finds_no_run_of_another_key(keys: Keys) -> None:
    body, answers = {"request": "measure Paris"}, []
    for who in ("runner", "stranger", "stranger"):
        headers = {**keys.header(who), "idempotency-key": "the same"}
        answers.append(await keys.door.post("/api/runs", body, headers=headers))

    first, other, again = [each.json()["run_id"] for each in answers]
    assert first != other == again
    assert [each.headers.get("idempotency-replayed") for each in answers] == [None, None, "true"]


async def test_a_stream_of_another_key_s_run_is_not_opened(keys: Keys) -> None:
    run_id = await keys.started("runner", "measure Paris")
    for path in ("events/stream", "view/stream"):
        refused = await keys.get("stranger", f"/api/runs/{run_id}/{path}")
        assert (refused.status_code, refused.json()["code"]) == (404, "no_such_run")


async def test_a_key_reads_and_steers_its_own_runs(keys: Keys, office: Office) -> None:
    run_id = await keys.started("stranger", "pay Dover")
    other = await keys.started("runner", "measure Paris")
    (card,) = await keys.asked(run_id)

    listed = (await keys.get("stranger", "/api/runs?limit=1")).json()
    assert ([run["run_id"] for run in listed["runs"]], listed["next_cursor"]) == ([run_id], None)
    assert (await keys.get("stranger", "/api/approvals")).json()["approvals"] == [card]
    assert (await keys.get("stranger", f"/api/runs/{run_id}")).status_code == 200
    response = await keys.post("stranger", f"/api/approvals/{card['approval_id']}", {"decision": "approve"})
    assert response.status_code == 200
    assert (await keys.rests(run_id, "succeeded"))["answer"] == "paid 1 to Dover"
    fork = await keys.post("stranger", f"/api/runs/{run_id}/fork", {"at": 1, "confirmed": True})
    assert (await keys.get("stranger", f"/api/runs/{fork.json()['run_id']}")).status_code == 200
    assert {run["run_id"] for run in (await keys.get("admin", "/api/runs")).json()["runs"]} >= {run_id, other}


async def test_who_may_read_all_runs_reads_them_and_steers_none(keys: Keys) -> None:
    run_id = await keys.started("runner", "measure Paris, measure Rome")
    for who in ("auditor", "lead", "approver"):
        assert (await keys.get(who, f"/api/runs/{run_id}")).status_code == 200
        assert [run["run_id"] for run in (await keys.get(who, "/api/runs")).json()["runs"]] == [run_id]
    for verb, body in STEERING.items():
        refused = await keys.post("lead", f"/api/runs/{run_id}/{verb}", body)
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden"), verb
    assert (await keys.post("admin", f"/api/runs/{run_id}/cancel", {})).status_code == 202


async def test_two_keys_in_use_never_have_one_name(keys: Keys) -> None:
    store = keys.door.runtime.database
    for taken in ("runner", user()):
        with refused(UsageError, taken):
            await make_key(store, f" {taken} ")
    old = next(key for key in await all_keys(store) if key.name == "runner")
    await revoke(store, old)

    new, _ = await make_key(store, "runner")

    assert new.key_id != old.key_id
