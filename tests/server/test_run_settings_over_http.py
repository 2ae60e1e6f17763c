"""Settings of single runs and plan approval over HTTP."""

from __future__ import annotations

from typing import Any

from leadhand.testing.scripted_model import ScriptedModel, brief_of, gives

REQUEST = "What is the weather in Paris tomorrow?"


async def started(api: Any, **body: Any) -> Any:
    params = {"wait": 20, "include": "work_orders"}
    return (await api.post("/api/runs", {"request": REQUEST, **body}, params=params)).json()


async def test_a_plan_waits_for_approval_and_is_then_carried_out(open_door: Any) -> None:
    api = await open_door(models=None, tools=None, offline=True)
    document = await started(api, approve_plan=True)
    assert (document["status"], document["work_orders"], document["approve_plan"]) == ("waiting", [], True)
    (card,) = (await api.get("/api/approvals")).json()["approvals"]
    assert (card["kind"], card["args"]["subtasks"][0]["tool"]) == ("plan", "weather_tool")
    answered = await api.post(f"/api/approvals/{card['approval_id']}", {"decision": "approve"})
    assert answered.status_code == 200
    again = await api.post(f"/api/approvals/{card['approval_id']}", {"decision": "approve"})
    assert again.status_code == 409
    document = (await api.get(f"/api/runs/{document['run_id']}", params={"wait": 20})).json()
    assert document["status"] == "succeeded"


async def test_a_run_that_only_plans_is_carried_out_by_a_resume(open_door: Any) -> None:
    api = await open_door(models=None, tools=None, offline=True)
    document = await started(api, plan_only=True)
    assert (document["status"], document["work_orders"]) == ("waiting", [])
    await api.post(f"/api/runs/{document['run_id']}/resume")
    document = (await api.get(f"/api/runs/{document['run_id']}", params={"wait": 20})).json()
    assert document["status"] == "succeeded"


async def test_settings_of_a_run_are_checked_and_shown(open_door: Any) -> None:
    api = await open_door(models=None, tools=None, offline=True)
    document = await started(api, tools=["weather_tool"], instructions={"plan": "Be brief."})
    assert (document["tools"], document["instructions"]) == (["weather_tool"], {"plan": "Be brief."})
    for body in ({"tools": ["nope"]}, {"instructions": {"nope": "x"}}, {"flow": "research", "plan_only": True}):
        refused = await api.post("/api/runs", {"request": REQUEST, **body})
        assert refused.status_code == 409, body
        assert refused.json()["how"]


async def test_a_request_brings_the_conversation_that_led_to_it(open_door: Any) -> None:
    said = [{"role": "user", "content": "And the weather?"}, {"role": "assistant", "content": "Where?"}]
    models = ScriptedModel(plan=[gives({"goal": "-", "subtasks": [], "answer": "Rain."})], lenient=True)
    api = await open_door(models=models)
    assert (await started(api, messages=said))["status"] == "succeeded"
    assert brief_of(models.requests[0])["conversation"]["messages"] == said
    for wrong in ([{"role": "system", "content": "x"}], [{"role": "user"}], "text"):
        assert (await api.post("/api/runs", {"request": REQUEST, "messages": wrong})).status_code == 422
