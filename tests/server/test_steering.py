"""Steering runs over HTTP: every verb, who asked for it, and what cannot be done."""

from __future__ import annotations

from typing import Any

import pytest
from server.conftest import OpenDoor
from server.doors import Door
from server.teams import Office

from leadhand.app.steering.access import Scope


async def named(api: Door, run_id: str, kind: str, what: str | None = None) -> dict[str, Any]:
    """The first event of a kind; of a request, the first that asks for ``what``."""
    events = [event for event in await api.events(run_id) if event["type"] == kind]
    return next(event for event in events if what in (None, event.get("what")))


async def rome(api: Door, office: Office, **options: Any) -> str:
    """A run that has measured Paris, and waits in Rome."""
    run_id = await api.started("measure Paris, measure Rome", **options)
    await api.seen(lambda: api.run(run_id), lambda run: office.calls["Rome"] and _status(run, "0") == "completed")
    return run_id


def _status(run: dict[str, Any], index: str) -> str | None:
    state = run["work_state"]
    return state["subtask_state"][index]["status"] if state else None


async def test_cancelling_ends_a_run_and_names_who_wanted_it(api: Door, office: Office) -> None:
    run_id = await rome(api, office)

    response = await api.post(f"/api/runs/{run_id}/cancel", {}, headers=await api.key("ann", Scope.ADMIN))

    assert (response.status_code, response.json()["status"]) == (202, "cancelled")
    assert (await named(api, run_id, "run_requested", "cancel"))["by"] == "ann"
    again = await api.post(f"/api/runs/{run_id}/cancel")
    assert (again.status_code, again.json()["status"]) == (202, "cancelled")


async def test_a_parked_run_stays_parked_and_resuming_does_only_what_is_missing(api: Door, office: Office) -> None:
    run_id = await rome(api, office)

    parked = await api.post(f"/api/runs/{run_id}/pause", {"reason": "lunch"}, headers=await api.key("ann", Scope.ADMIN))
    assert (parked.status_code, parked.json()["status"]) == (202, "paused")
    request = await named(api, run_id, "run_requested", "pause")
    assert (request["by"], request["reason"]) == ("ann", "lunch")
    assert (await api.post(f"/api/runs/{run_id}/pause")).status_code == 202

    office.gate.set()
    resumed = await api.post(f"/api/runs/{run_id}/resume", {}, headers=await api.key("ben", Scope.ADMIN))
    assert resumed.status_code == 202
    assert (await named(api, run_id, "run_requested", "resume"))["by"] == "ben"
    assert (await api.over(run_id))["status"] == "succeeded"
    assert office.calls == {"Paris": 1, "Rome": 2}


async def test_what_is_driven_cannot_be_resumed(api: Door, office: Office) -> None:
    run_id = await rome(api, office)

    refused = await api.post(f"/api/runs/{run_id}/resume")

    assert (refused.status_code, refused.json()["code"]) == (409, "run_owned")


@pytest.mark.parametrize("verb", ["cancel", "pause", "resume"])
async def test_a_run_that_is_over_goes_nowhere(api: Door, verb: str) -> None:
    run_id = await api.started("measure Paris")
    await api.over(run_id)

    refused = await api.post(f"/api/runs/{run_id}/{verb}")

    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")


async def test_what_failed_is_done_again_and_nothing_else(api: Door, office: Office) -> None:
    run_id = await api.started("measure Paris, measure Oslo")
    assert (await api.over(run_id))["status"] == "partial"
    office.broken.clear()

    response = await api.post(f"/api/runs/{run_id}/retry", {}, headers=await api.key("ann", Scope.ADMIN))

    assert response.status_code == 202
    done = await api.over(run_id)
    assert done["status"] == "succeeded"
    assert "Oslo: 40 dB" in done["answer"]
    assert office.calls == {"Paris": 1, "Oslo": 2}
    assert (await named(api, run_id, "step_requested", "retry"))["by"] == "ann"


async def test_one_subtask_is_done_again_with_other_arguments(api: Door, office: Office) -> None:
    run_id = await api.started("measure Paris, measure Oslo")
    await api.over(run_id)
    wrong = await api.post(f"/api/runs/{run_id}/retry", {"subtasks": ["wo-001.1"], "args": {"place": 7}})
    unknown = await api.post(f"/api/runs/{run_id}/retry", {"subtasks": ["wo-001.9"]})

    right = await api.post(f"/api/runs/{run_id}/retry", {"subtasks": ["wo-001.1"], "args": {"place": "Bergen"}})

    assert (wrong.status_code, unknown.status_code, right.status_code) == (409, 404, 202)
    assert "Bergen: 40 dB" in (await api.over(run_id))["answer"]
    assert office.calls == {"Paris": 1, "Oslo": 1, "Bergen": 1}


async def test_other_arguments_for_a_run_whose_plan_was_approved_need_the_right_to_approve(
    api: Door, office: Office
) -> None:
    ann = await api.key("ann", Scope.RUN)
    body = {"request": "measure Oslo", "approve_plan": True}
    run_id = (await api.post("/api/runs", body, headers=ann)).json()["run_id"]
    (card,) = await api.asked(run_id)
    await api.post(f"/api/approvals/{card['approval_id']}", {"decision": "approve"})
    await api.over(run_id)
    changed = {"subtasks": ["wo-001.0"], "args": {"place": "Bergen"}}

    refused = await api.post(f"/api/runs/{run_id}/retry", changed, headers=ann)

    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert office.calls == {"Oslo": 1}
    again = await api.post(f"/api/runs/{run_id}/retry", {"subtasks": ["wo-001.0"]}, headers=ann)
    assert again.status_code == 202
    await api.over(run_id)
    other = await api.post(f"/api/runs/{run_id}/retry", changed)
    assert other.status_code == 202
    await api.over(run_id)
    assert office.calls == {"Oslo": 2, "Bergen": 1}


async def test_a_result_is_supplied_and_a_subtask_left_out(api: Door, office: Office) -> None:
    run_id = await api.started("measure Oslo")
    await api.over(run_id)
    supplied = await api.post(
        f"/api/runs/{run_id}/supply",
        {"subtask": "wo-001.0", "summary": "by hand: 31 dB", "raw": {"dB": 31}},
        headers=await api.key("ann", Scope.ADMIN),
    )
    assert supplied.status_code == 202
    assert (await api.over(run_id))["answer"] == "by hand: 31 dB"
    assert (await named(api, run_id, "step_requested", "supply"))["by"] == "ann"

    other = await api.started("measure Paris, measure Oslo")
    await api.over(other)
    skipped = await api.post(
        f"/api/runs/{other}/skip",
        {"subtask": "wo-001.1", "reason": "Oslo is far"},
        headers=await api.key("ben", Scope.ADMIN),
    )
    assert skipped.status_code == 202
    assert (await api.over(other))["gaps"][0]["name"] == "measure_1"
    request = await named(api, other, "step_requested", "skip")
    assert (request["by"], request["reason"]) == ("ben", "Oslo is far")


async def test_a_fork_is_another_run_that_begins_as_the_first(api: Door, office: Office) -> None:
    run_id = await api.started("measure Paris, measure Lyon")
    await api.over(run_id)
    before = await api.events(run_id)
    at = (await named(api, run_id, "order_issued"))["seq"]

    response = await api.post(f"/api/runs/{run_id}/fork", {"at": at}, headers=await api.key("ann", Scope.ADMIN))

    fork_id = response.json()["run_id"]
    assert response.status_code == 202
    assert response.headers["location"] == f"/api/runs/{fork_id}"
    assert fork_id != run_id
    assert (await api.over(fork_id))["status"] == "succeeded"
    assert office.calls == {"Paris": 2, "Lyon": 2}
    assert await api.events(run_id) == before
    line = next(run for run in (await api.get("/api/runs")).json()["runs"] if run["run_id"] == fork_id)
    assert line["detached"] is True


async def test_what_cannot_be_taken_back_wants_to_be_confirmed(open_door: OpenDoor, office: Office) -> None:
    api = await open_door(approve="auto")
    run_id = await api.started("pay Ann")
    await api.over(run_id)
    at = (await named(api, run_id, "order_issued"))["seq"]

    fork = await api.post(f"/api/runs/{run_id}/fork", {"at": at})
    assert (fork.status_code, fork.json()["code"]) == (409, "unconfirmed")
    assert fork.json()["done"][0]["tool"] == "pay"
    assert "confirmed" in fork.json()["how"]
    retry = await api.post(f"/api/runs/{run_id}/retry", {"subtasks": ["wo-001.0"]})
    assert retry.status_code == 409
    assert office.calls == {"Ann 1": 1}

    confirmed = await api.post(f"/api/runs/{run_id}/fork", {"at": at, "confirmed": True})
    assert confirmed.status_code == 202
    await api.over(confirmed.json()["run_id"])
    assert office.calls == {"Ann 1": 2}


BODIES: dict[str, dict[str, Any]] = {
    "skip": {"subtask": "wo-001.0"},
    "supply": {"subtask": "wo-001.0", "summary": "x"},
    "fork": {"at": 1},
}


@pytest.mark.parametrize("verb", ["cancel", "pause", "resume", "retry", "skip", "supply", "fork"])
async def test_nobody_steers_a_run_that_is_not_there_and_who_may_only_look_steers_none(api: Door, verb: str) -> None:
    path, body = f"/api/runs/run_nobody/{verb}", BODIES.get(verb, {})
    missing, refused = await api.post(path, body), await api.post(path, body, headers=await api.key("eve", Scope.READ))

    assert (missing.status_code, missing.json()["code"]) == (404, "no_such_run")
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")


@pytest.mark.parametrize(
    ("verb", "body"),
    [
        ("cancel", {"why": "x"}),
        ("pause", {"reason": 7}),
        ("pause", {"reason": "x" * 10_001}),
        ("retry", {"subtasks": "wo-001.0"}),
        ("skip", {}),
        ("supply", {"subtask": "wo-001.0"}),
        ("fork", {}),
        ("fork", {"at": "1"}),
    ],
)
async def test_a_body_that_does_not_fit_is_refused(api: Door, verb: str, body: Any) -> None:
    run_id = await api.started("measure Paris")

    refused = await api.post(f"/api/runs/{run_id}/{verb}", body)

    assert (refused.status_code, refused.json()["code"]) == (422, "invalid")
    assert refused.json()["errors"]


async def test_a_run_is_resumed_with_other_limits_and_more_than_the_server_s_needs_admin(
    open_door: OpenDoor, office: Office
) -> None:
    api = await open_door(max_requests=100, budget=None, timeout=600.0)
    runner = await api.key("ben", Scope.RUN)
    run_id = await rome(api, office, headers=runner)
    await api.post(f"/api/runs/{run_id}/pause")

    for more in ({"max_requests": 101}, {"timeout": 601.0}):
        for verb, body in (("resume", {}), ("retry", {}), ("fork", {"at": 3})):
            refused = await api.post(f"/api/runs/{run_id}/{verb}", {**body, "limits": more}, headers=runner)
            assert refused.status_code == 403, (verb, more)
    wrong = await api.post(f"/api/runs/{run_id}/resume", {"limits": {"max_worker": 3}}, headers=runner)
    assert wrong.status_code == 422

    office.gate.set()
    given = {"max_requests": 90, "timeout": 500.0, "budget": 2.5}
    resumed = await api.post(f"/api/runs/{run_id}/resume", {"limits": given}, headers=runner)
    assert resumed.status_code == 202
    assert (await named(api, run_id, "run_changed"))["by"] == "ben"
    limits = (await api.over(run_id))["limits"]
    assert (limits["max_requests"], limits["timeout"], limits["budget"]) == (90, 500.0, 2.5)
    fork = await api.post(f"/api/runs/{run_id}/fork", {"at": 3, "limits": {"max_requests": 500}})
    assert (fork.status_code, fork.json()["limits"]["max_requests"]) == (202, 500)


@pytest.mark.parametrize(
    ("verb", "body"), [("resume", {}), ("retry", {}), ("retry", {"confirmed": True}), ("fork", {"at": 3})]
)
async def test_a_request_that_a_server_without_the_tool_refuses_changes_nothing(
    open_door: OpenDoor, office: Office, verb: str, body: dict[str, Any]
) -> None:
    api = await open_door()
    run_id = await api.started("measure Paris, measure Oslo")
    before = await api.over(run_id)
    without = await open_door(tools=[office.pay])

    refused = await without.post(f"/api/runs/{run_id}/{verb}", {**body, "limits": {"max_requests": 90}})

    assert (refused.status_code, refused.json()["code"]) == (409, "configuration")
    assert await without.run(run_id) == before
    assert len((await without.get("/api/runs")).json()["runs"]) == 1


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["resume", "retry"])
async def test_research_that_ran_out_of_turns_continues_with_more(open_door: OpenDoor, verb: str) -> None:
    api = await open_door(model="offline", models=None, offline=True, tools=None)
    body = {"request": "What is a fork?", "flow": "research", "options": {"max_turns": 1}}
    run_id = (await api.post("/api/runs", body)).json()["run_id"]
    first = await api.over(run_id)
    assert (first["gaps"][0]["class"], "max_turns" in first["gaps"][0]["next_action"]) == ("exhausted", True)

    for given, status in (({}, 409), ({"max_turns": 1}, 409), ({"budget": 1.0}, 409), ({"max_turns": 1_001}, 422)):
        refused = await api.post(f"/api/runs/{run_id}/{verb}", {"limits": given})
        assert refused.status_code == status, refused.text
    assert (await api.run(run_id))["last_seq"] == first["last_seq"]

    more = await api.post(f"/api/runs/{run_id}/{verb}", {"limits": {"max_turns": 9}})
    assert more.status_code == 202, more.text
    last = await api.over(run_id)
    assert (last["status"], last["gaps"]) == ("succeeded", [])
    assert [each["answer"] for each in last["earlier_answers"]] == [first["answer"]]
