"""The most that a key may ask for: the server's limits, and its own; over one run, over one day, over all its runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from server.conftest import OpenServer
from server.keys import LOCKED, Keys, keys_of
from server.teams import Office, team

from leadhand.app.steering.access import Scope
from leadhand.core.limits import NANO, Usage
from leadhand.ports.models import ModelProfile, ModelReply, ModelRequest


class Priced:
    """A team whose models cost a dollar for a million tokens, and report five thousand for each reply."""

    def __init__(self) -> None:
        self._team = team()

    def profile(self, model: str) -> ModelProfile:
        return ModelProfile(name=model, input_nanousd=1_000, output_nanousd=1_000)

    async def ask(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        reply = await self._team.ask(request, on_text)
        return reply.model_copy(update={"usage": Usage(input_tokens=4_900, output_tokens=100)})

    async def aclose(self) -> None:
        """Nothing is held open."""


@pytest.fixture
async def keys(serve: OpenServer) -> Keys:
    served = await serve(doors=LOCKED, budget=0.10, max_workers=8, max_requests=50, timeout=600.0)
    return await keys_of(served.door)


ABOVE: list[dict[str, Any]] = [
    {"budget": 1_000},
    {"budget": None},
    {"budget": 0.11},
    {"timeout": None},
    {"timeout": 601},
    {"max_workers": 9},
    {"max_steps": 100},
    {"max_requests": None},
    {"max_output_tokens": 1_000_000},
    {"budget": 0.05, "max_workers": 10_000},
]


@pytest.mark.slow
@pytest.mark.parametrize("limits", ABOVE, ids=str)
async def test_the_server_s_limits_are_the_most_that_a_key_gets(keys: Keys, limits: dict[str, Any]) -> None:
    refused = await keys.post("runner", "/api/runs", {"request": "measure Paris", "limits": limits})

    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert any(f"limits.{name}" in refused.json()["detail"] for name in limits)
    assert (await keys.get("admin", "/api/runs")).json()["runs"] == []
    assert (await keys.post("admin", "/api/runs", {"request": "measure Paris", "limits": limits})).status_code == 202


async def test_less_than_the_server_s_limits_is_for_everybody(keys: Keys) -> None:
    limits = {"budget": 0.05, "max_workers": 2, "max_steps": 1, "timeout": 5, "batch_size": 100, "max_tokens": 10**6}
    run_id = await keys.started("runner", "measure Paris", limits=limits)

    given = (await keys.events(run_id))[0]["definition"]["limits"]
    assert (given["budget"], given["max_workers"], given["timeout"]) == (0.05, 2, 5)


async def test_a_model_of_unknown_price_that_no_budget_bounds_is_for_admins(keys: Keys) -> None:
    body = {"request": "measure Paris", "limits": {"allow_unknown_price": True}}

    assert (await keys.post("runner", "/api/runs", body)).status_code == 403
    assert (await keys.post("admin", "/api/runs", body)).status_code == 202


class Unpriced(Priced):
    """The same team, of whose models nobody knows the price."""

    def profile(self, model: str) -> ModelProfile:
        return ModelProfile(name=model)


@pytest.mark.parametrize("ceiling", ["budget", "budget_per_day", "budget_total"])
async def test_a_ceiling_in_money_refuses_a_model_of_unknown_price(serve: OpenServer, ceiling: str) -> None:
    keys = await keys_of((await serve(doors=LOCKED, models=Unpriced(), allow_unknown_price=True)).door)
    await keys.add("small", Scope.ADMIN, **{ceiling: 1})
    free = {} if ceiling == "budget" else {"limits": {"budget": None}}

    for more in ({}, free):
        refused = await keys.post("small", "/api/runs", {"request": "measure Paris", **more})
        assert refused.status_code == 409, more
        assert "custom" in refused.json()["detail"]
    allowing = {"request": "measure Paris", "limits": {"allow_unknown_price": True}}
    assert (await keys.post("small", "/api/runs", allowing)).status_code == 403
    assert (await keys.post("runner", "/api/runs", {"request": "measure Paris"})).status_code == 202


async def test_only_a_budget_that_the_request_sets_refuses_a_model_of_unknown_price(serve: OpenServer) -> None:
    keys = await keys_of((await serve(doors=LOCKED, models=Unpriced())).door)

    refused = await keys.post("runner", "/api/runs", {"request": "measure Paris", "limits": {"budget": 0.5}})
    started = await keys.post("runner", "/api/runs", {"request": "measure Paris"})

    assert (refused.status_code, refused.json()["code"]) == (409, "configuration")
    assert "a budget of $0.5" in refused.json()["detail"]
    assert started.status_code == 202
    assert started.json()["limits"]["unpriced_models"] == ["custom"]


async def test_a_key_has_ceilings_of_its_own_even_as_an_admin(keys: Keys) -> None:
    await keys.add("small", Scope.RUN, Scope.ADMIN, budget=0.01, max_workers=3)
    shown = {"budget": 0.01, "budget_per_day": None, "budget_total": None, "max_runs": None, "max_workers": 3}
    shown["max_running_steps"] = None
    assert (await keys.get("small", "/api/session")).json()["ceilings"] == shown
    run_id = await keys.started("small", "measure Paris")
    limits = (await keys.events(run_id))[0]["definition"]["limits"]
    assert (limits["budget"], limits["max_workers"]) == (0.01, 3)

    for more in ({"budget": 0.02}, {"budget": None}, {"max_workers": 4}):
        refused = await keys.post("small", "/api/runs", {"request": "measure Paris", "limits": more})
        assert refused.status_code == 403, more


async def test_a_fork_has_no_higher_limits_than_the_key_that_makes_it(keys: Keys) -> None:
    run_id = await keys.started("admin", "measure Paris", limits={"budget": 100, "max_workers": 100})
    await keys.rests(run_id, "succeeded")
    await keys.add("small", Scope.ADMIN, budget=0.01, max_workers=3)

    fork = await keys.post("small", f"/api/runs/{run_id}/fork", {"at": 1})

    definition = (await keys.events(fork.json()["run_id"]))[0]["definition"]
    assert (definition["limits"]["budget"], definition["limits"]["max_workers"]) == (0.01, 3)
    assert definition["held_back"]["nanousd"] == NANO // 500
    assert definition["key_id"] == keys.ids["small"]


async def test_the_steps_of_all_runs_of_a_key_share_its_limit(keys: Keys, office: Office) -> None:
    await keys.add("narrow", Scope.RUN, max_running_steps=1)
    first = await keys.started("narrow", "measure Rome")
    await keys.door.seen(lambda: keys.events(first), lambda _: office.calls["Rome"])
    second = await keys.started("narrow", "measure Paris")
    noted = await keys.door.seen(
        lambda: keys.events(second), lambda events: any(each["type"] == "note_emitted" for each in events)
    )
    (note,) = [each["message"] for each in noted if each["type"] == "note_emitted"]
    assert f"`{keys.ids['narrow']}`" in note
    assert not office.calls["Paris"], "the other run's step came first"

    office.gate.set()
    for run_id in (first, second):
        await keys.rests(run_id, "succeeded")
        limits = (await keys.events(run_id))[0]["definition"]["concurrency"]["steps"]
        assert limits == [{"scope": f"the key `{keys.ids['narrow']}`", "most": 1}]


async def test_runs_at_once_are_counted_whichever_way_they_go_on(keys: Keys, office: Office) -> None:
    await keys.add("one", Scope.RUN, max_runs=1)
    first = await keys.started("one", "measure Rome")
    await keys.door.seen(lambda: keys.events(first), lambda _: office.calls["Rome"])
    refused = await keys.post("one", "/api/runs", {"request": "measure Rome"})
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "10")
    never = await keys.post("one", "/api/runs", {"request": "measure Rome", "limits": {"budget": 1_000}})
    assert never.status_code == 403, "what is never allowed is refused first"
    await keys.post("one", f"/api/runs/{first}/pause", {})
    second = await keys.started("one", "measure Rome")

    resumed = await keys.post("one", f"/api/runs/{first}/resume", {})

    assert (resumed.status_code, resumed.json()["code"]) == (429, "rate_limited")
    assert (await keys.get("admin", f"/api/runs/{first}")).json()["status"] == "paused"
    office.gate.set()
    await keys.rests(second, "succeeded")
    assert (await keys.post("one", f"/api/runs/{first}/resume", {})).status_code == 202


async def test_a_run_that_waits_for_approval_is_one_of_those_at_once_since_an_answer_continues_it(keys: Keys) -> None:
    await keys.add("one", Scope.RUN, Scope.APPROVE, max_runs=1)
    first = await keys.started("one", "pay Dover")
    (card,) = await keys.asked(first)

    refused = await keys.post("one", "/api/runs", {"request": "pay Dover"})
    assert (refused.status_code, "retry-after" in refused.headers) == (429, False), "no time helps"
    assert "GET /api/approvals" in refused.json()["how"]
    assert (await keys.post("one", f"/api/approvals/{card['approval_id']}", {"decision": "deny"})).status_code == 200
    await keys.rests(first, "failed", "partial")
    await keys.started("one", "measure Paris")


async def test_what_a_person_settles_in_a_run_that_is_over_continues_it_and_counts(keys: Keys, office: Office) -> None:
    await keys.add("one", Scope.RUN, max_runs=1)
    over = await keys.started("one", "measure Paris, measure Oslo")
    await keys.rests(over, "partial")
    other = await keys.started("one", "measure Rome")
    await keys.door.seen(lambda: keys.events(other), lambda _: office.calls["Rome"])

    for verb, body in (("supply", {"subtask": "wo-001.1", "summary": "12 km"}), ("skip", {"subtask": "wo-001.1"})):
        refused = await keys.post("one", f"/api/runs/{over}/{verb}", body)
        assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited"), verb
    office.gate.set()
    await keys.rests(other, "succeeded")
    assert (
        await keys.post("one", f"/api/runs/{over}/supply", {"subtask": "wo-001.1", "summary": "x"})
    ).status_code == 202


@pytest.mark.parametrize("ceiling", ["budget_per_day", "budget_total"])
async def test_all_runs_of_a_key_stay_below_its_budget_together(serve: OpenServer, ceiling: str) -> None:
    """Each run may spend a dollar; together they may spend two cents, which one of them needs half of."""
    keys = await keys_of((await serve(doors=LOCKED, models=Priced())).door)
    await keys.add("small", Scope.RUN, **{ceiling: 0.02})
    runs = [await keys.started("small", "measure Paris")]
    assert (await keys.rests(runs[0], "succeeded"))["usage"]["cost_usd"] == 0.01
    runs += [await keys.started("small", "measure Paris") for _ in range(5)]
    for run_id in runs:
        await keys.rests(run_id, "succeeded", "partial", "failed")

    documents = [(await keys.get("admin", f"/api/runs/{run_id}")).json() for run_id in runs]
    assert sum(run["usage"]["cost_usd"] for run in documents) <= 0.02
    short = next(run for run in documents if run["status"] != "succeeded")
    assert keys.ids["small"] in str(short)
    assert (await keys.rests(await keys.started("runner", "measure Paris"), "succeeded"))["status"] == "succeeded"


async def test_new_limits_of_a_resume_a_retry_and_a_fork_stay_within_the_ceilings(keys: Keys) -> None:
    await keys.add("small", Scope.ADMIN, budget=0.01)
    run_id = await keys.started("small", "measure Paris")
    await keys.rests(run_id, "succeeded")
    for who, more in (("small", 0.02), ("runner", 0.11)):
        mine = run_id if who == "small" else await keys.started("runner", "measure Paris")
        for verb, body in (("resume", {}), ("retry", {}), ("fork", {"at": 1})):
            refused = await keys.post(who, f"/api/runs/{mine}/{verb}", {**body, "limits": {"budget": more}})
            assert (refused.status_code, refused.json()["code"]) == (403, "forbidden"), (who, verb)

    fork = await keys.post("small", f"/api/runs/{run_id}/fork", {"at": 1, "limits": {"budget": 0.005}})

    definition = (await keys.events(fork.json()["run_id"]))[0]["definition"]
    assert definition["limits"]["budget"] == 0.005
    assert definition["held_back"]["nanousd"] == NANO // 1_000


async def test_a_fork_within_ceilings_keeps_calls_that_reserved_more_than_they_allow(serve: OpenServer) -> None:
    keys = await keys_of((await serve(doors=LOCKED, models=Priced(), budget=100.0)).door)
    run_id = await keys.started("admin", "measure Paris")
    seq = (await keys.rests(run_id, "succeeded"))["last_seq"]
    await keys.add("small", Scope.ADMIN, budget=1e-9)

    fork = await keys.post("small", f"/api/runs/{run_id}/fork", {"at": seq - 1, "confirmed": True})

    assert fork.status_code == 202, fork.text
    assert fork.json()["limits"]["budget"] == 1e-9
    events = await keys.events(fork.json()["run_id"])
    assert events[0]["definition"]["limits"]["budget"] == 1e-9
    changes = [event["limits"]["budget"] for event in events if event["type"] == "run_changed"]
    assert changes == [100, 1e-9]
