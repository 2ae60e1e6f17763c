"""One model call over HTTP: found from the view, with its prompt, reply, tokens and duration."""

from __future__ import annotations

from server.doors import Door

from leadhand.app.steering.access import Scope


async def test_every_model_call_of_the_view_opens(api: Door) -> None:
    run_id = await api.started("measure Paris")
    await api.over(run_id)
    view = (await api.get(f"/api/runs/{run_id}/view")).json()
    listed = {
        key: call
        for step in view["steps"].values()
        for attempt in step["attempts"].values()
        for key, call in attempt["calls"].items()
        if call["kind"] == "model"
    }
    assert listed

    for key, call in listed.items():
        by_number = (await api.get(f"/api/runs/{run_id}/calls/{key}")).json()
        assert by_number == (await api.get(f"/api/runs/{run_id}/calls/{call['id']}")).json()
        assert (by_number["call_id"], by_number["seq"]) == (call["id"], int(key))
        assert by_number["returned_seq"] == call["returned_seq"]
        assert by_number["prompt"]["messages"][0]["role"] == "system"
        assert by_number["usage"]["cost_usd"] == 0
        assert by_number["duration_ms"] >= 0


async def test_a_call_of_a_run_that_goes_on_has_its_prompt_from_its_beginning(api: Door) -> None:
    run_id = await api.started("measure Paris, measure Rome")
    plan = await api.seen(
        lambda: api.get(f"/api/runs/{run_id}/calls/plan/t1"), lambda found: found.status_code != 404
    )  # a run is under way before its first call
    assert "measure Paris" in plan.json()["prompt"]["messages"][1]["text"]


async def test_what_the_run_does_not_have_is_404_and_so_is_another_keys_run(api: Door) -> None:
    ann, bob = await api.key("ann"), await api.key("bob", Scope.READ)
    run_id = await api.started("measure Paris", headers=ann)
    await api.over(run_id)

    missing = await api.get(f"/api/runs/{run_id}/calls/wo-001.0/t9", headers=ann)
    assert missing.status_code == 404
    assert (await api.get(f"/api/runs/{run_id}/calls/plan/t1", headers=ann)).status_code == 200
    assert (await api.get(f"/api/runs/{run_id}/calls/plan/t1", headers=bob)).status_code == 404
