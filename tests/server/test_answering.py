"""Questions to people over HTTP: listed over all runs, answered once, bound to what was shown."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from server.conftest import OpenDoor
from server.doors import Door
from server.teams import Office

from leadhand.app.steering.access import Scope


async def answer(api: Door, card: dict[str, Any], decision: str, **more: Any) -> dict[str, Any]:
    response = await api.post(f"/api/approvals/{card['approval_id']}", {"decision": decision, **more})
    assert response.status_code == 200, response.text
    return response.json()


async def answered(api: Door, run_id: str, kind: str = "approval_answered") -> list[dict[str, Any]]:
    return [event for event in await api.events(run_id) if event["type"] == kind]


async def test_a_question_shows_what_is_asked_and_a_yes_lets_the_run_go_on(api: Door, office: Office) -> None:
    run_id = await api.started("pay Ann")
    (card,) = await api.asked(run_id)

    assert (card["kind"], card["tool"], card["effect"]) == ("call", "pay", "once")
    assert card["args"] == {"to": "Ann"}
    assert (card["run_id"], card["request"], card["asked_for"]) == (run_id, "pay Ann", "wo-001.0")
    assert card["expires_at"] is None
    assert (card["called"], card.get("target"), card["summary"]) == ("pay", None, "Pay somebody.")
    assert office.calls == {}

    approver = await api.key("ann", Scope.APPROVE, Scope.READ_ALL)
    response = await api.post(
        f"/api/approvals/{card['approval_id']}", {"decision": "approve", "reason": "she earned it"}, headers=approver
    )
    assert (response.json()["status"], response.json()["by"]) == ("approved", "ann")
    assert (await api.over(run_id))["answer"] == "paid 1 to Ann"
    assert office.calls == {"Ann 1": 1}
    (said,) = await answered(api, run_id)
    assert (said["by"], said["approve"], said["reason"]) == ("ann", True, "she earned it")


async def test_other_arguments_are_what_is_carried_out(api: Door, office: Office) -> None:
    (card,) = await api.asked(await api.started("pay Ann"))
    wrong = await api.post(
        f"/api/approvals/{card['approval_id']}", {"decision": "approve", "args": {"to": "Ann", "amount": "x"}}
    )
    assert wrong.status_code in (409, 422)
    assert "amount" in wrong.json()["detail"]

    shown = await answer(api, card, "approve", args={"to": "Ben", "amount": 20})

    assert shown["args"] == {"to": "Ben", "amount": 20}
    assert shown["edited"]
    assert set(shown["origins"].values()) == {shown["by"]}
    assert (shown["approval_id"], shown["asked_for"]) == (card["approval_id"], card["asked_for"])
    assert (await api.over(card["run_id"]))["answer"] == "paid 20 to Ben"
    assert office.calls == {"Ben 20": 1}


async def test_a_no_is_final_and_its_reason_stands(api: Door, office: Office) -> None:
    (card,) = await api.asked(await api.started("pay Ann"))

    assert (await answer(api, card, "deny", reason="not today"))["status"] == "denied"

    run = await api.over(card["run_id"])
    assert run["gaps"][0]["class"] == "rejected"
    assert "not today" in run["gaps"][0]["reason"]
    assert office.calls == {}


async def test_always_answers_every_call_of_the_tool_in_this_run_alone(api: Door, office: Office) -> None:
    run_id = await api.started("pay Ann, pay Ben, pay Cem")
    other = await api.started("pay Dan")
    cards = await api.asked(run_id)
    await api.asked(other)

    await answer(api, cards[0], "approve", always=True)

    assert (await api.over(run_id))["status"] == "succeeded"
    assert office.calls == {"Ann 1": 1, "Ben 1": 1, "Cem 1": 1}
    assert len(await api.asked(other)) == 1


def rests_again(events: list[dict[str, Any]]) -> bool:
    """Whether a run has gone on after an answer, and waits for the next one."""
    return sum(event["type"] == "run_status_set" and event["status"] == "waiting" for event in events) == 2


async def test_nothing_is_answered_twice(api: Door, office: Office) -> None:
    run_id = await api.started("pay Ann, pay Ben")
    card = (await api.asked(run_id))[0]
    decisions = ("approve", "deny", "approve", "deny")
    url = f"/api/approvals/{card['approval_id']}"

    answers = await asyncio.gather(*(api.post(url, {"decision": each}) for each in decisions))

    statuses = sorted(each.status_code for each in answers)
    assert statuses == [200, 409, 409, 409]
    winner = next(each for each in answers if each.status_code == 200).json()["status"]
    await api.seen(lambda: api.events(run_id), rests_again)
    assert sum(office.calls.values()) == (winner == "approved")
    late = await api.post(url, {"decision": "approve"})
    assert (late.status_code, late.json()["code"]) == (409, "conflict")


async def test_whether_an_effect_happened_is_settled(api: Door, office: Office) -> None:
    run_id = await api.started("wire Ann")
    (card,) = await api.asked(run_id)
    assert (card["kind"], card["tool"]) == ("effect", "wire")
    unsaid = await api.post(f"/api/approvals/{card['approval_id']}", {"decision": "settle"})
    wrong = await api.post(f"/api/approvals/{card['approval_id']}", {"decision": "approve"})
    assert (unsaid.status_code, wrong.status_code) == (422, 409)

    settled = await answer(api, card, "settle", happened=True, summary="booked", raw={"booked": True})

    assert settled["status"] == "approved"
    assert (await api.over(run_id))["answer"] == "booked"
    assert office.calls == {"wire Ann": 1}
    (said,) = await answered(api, run_id, "approval_answered")
    assert (said["approve"], said["raw"]) == (True, {"booked": True})
    assert said["by"]


async def test_a_question_is_named_whole_so_that_an_answer_is_bound_to_what_was_shown(
    api: Door, office: Office
) -> None:
    """On the command line the beginning of an id will do; a program has no need for it."""
    run_id = await api.started("pay Ann")
    (card,) = await api.asked(run_id)
    for name in (card["approval_id"][:4], run_id, f"{run_id}:{card['call_id'].replace('/', '%2F')}"):
        assert (await api.post(f"/api/approvals/{name}", {"decision": "approve"})).status_code in (404, 409)
    assert office.calls == {}
    assert await api.asked(run_id) == [card]


@pytest.mark.slow
async def test_a_question_that_expires_while_the_run_rests_is_a_no(open_door: OpenDoor, office: Office) -> None:
    api = await open_door(approval_timeout=4.0)
    run_id = await api.started("pay Ann")
    (card,) = await api.asked(run_id)
    expires = datetime.fromisoformat(card["expires_at"])
    assert timedelta() < expires - datetime.now(UTC) <= timedelta(seconds=4)

    run = await api.over(run_id)

    assert run["gaps"][0]["class"] == "rejected"
    assert office.calls == {}
    (said,) = await answered(api, run_id)
    assert said["expired"]
    assert datetime.now(UTC) >= expires
    late = await api.post(f"/api/approvals/{card['approval_id']}", {"decision": "approve"})
    assert late.status_code == 409


@pytest.mark.parametrize("scopes", [(Scope.READ_ALL,), (Scope.RUN, Scope.READ_ALL)])
async def test_who_may_not_approve_answers_nothing(api: Door, office: Office, scopes: tuple[Scope, ...]) -> None:
    run_id = await api.started("pay Ann")
    (card,) = await api.asked(run_id)
    who = await api.key("reader", *scopes)

    refused = await api.post(f"/api/approvals/{card['approval_id']}", {"decision": "approve"}, headers=who)

    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert len((await api.get("/api/approvals", headers=who)).json()["approvals"]) == 1
    assert office.calls == {}


@pytest.mark.parametrize(
    "body", [{}, {"decision": "yes"}, {"decision": "approve", "args": []}, {"decision": "approve", "always": 1}]
)
async def test_an_answer_that_is_none_is_refused(api: Door, body: dict[str, Any]) -> None:
    (card,) = await api.asked(await api.started("pay Ann"))

    assert (await api.post(f"/api/approvals/{card['approval_id']}", body)).status_code == 422


async def test_open_approvals_come_newest_first_of_all_runs_or_of_one(api: Door) -> None:
    for who in ("Ann", "Ben", "Cem"):
        run_id = await api.started(f"pay {who}")
        await api.asked(run_id)
    every = (await api.get("/api/approvals")).json()
    names = [card["args"]["to"] for card in every["approvals"]]
    assert names == ["Cem", "Ben", "Ann"]
    assert await api.asked(run_id) == every["approvals"][:1]
    missing = await api.get("/api/approvals", params={"run_id": "run_nobody"})
    assert (missing.status_code, missing.json()["code"]) == (404, "no_such_run")
