"""Questions of runs over HTTP: a run that asks waits, lists name it, and an answer continues it, once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from server.conftest import OpenDoor
from server.doors import Door
from server.keys import LOCKED, keys_of
from server.teams import Office, planner, team

from leadhand import Leadhand
from leadhand.app.steering.access import Scope
from leadhand.ports.models import ModelRequest
from leadhand.testing.scripted_model import ScriptedModel, Step, brief_of, gives, plans, subtask

QUESTION = "Which city do you mean?"


def plan(request: ModelRequest) -> Step:
    """Plan by the words of the request; ask which city is meant if it names none."""
    facts = brief_of(request)
    if facts["request"] != "measure it":
        return planner(request)
    answers = facts.get("answered", [])
    return (
        plans(subtask("measure", "measure", place=answers[0]["answer"])) if answers else gives({"question": QUESTION})
    )


def asking() -> ScriptedModel:
    return team(plan=plan)


async def waiting(api: Door) -> dict[str, Any]:
    """The document of a run that asks."""
    run: dict[str, Any] = (await api.post("/api/runs?wait=60", {"request": "measure it"})).json()
    assert run["status"] == "waiting"
    return run


async def test_waiting_ends_with_the_question_and_the_answer_finishes_the_run(open_door: OpenDoor) -> None:
    api = await open_door(models=asking())
    run = await waiting(api)
    path = f"/api/runs/{run['run_id']}"
    assert (run["question"]["text"], run["answer"]) == (QUESTION, None)
    assert run["outcome"]["actions"] == [
        {"action": "answer", "args": {"question_id": run["question"]["id"]}, "primary": True}
    ]
    await api.started("measure Paris")
    (line,) = (await api.get("/api/runs?asking=true")).json()["runs"]
    assert (line["run_id"], line["asking"]) == (run["run_id"], 1)

    answered = await api.post(f"{path}/answer", {"text": " Lyon "})

    assert answered.status_code == 202
    assert answered.json()["question"] is None
    over = (await api.get(f"{path}?wait=60")).json()
    assert (over["status"], over["answer"]) == ("succeeded", "Lyon: 40 dB")
    assert (await api.get("/api/runs?asking=true")).json()["runs"] == []
    (event,) = [each for each in await api.events(run["run_id"]) if each["type"] == "question_answered"]
    assert (event["text"], event["question_id"]) == ("Lyon", run["question"]["id"])


async def test_an_answer_that_cannot_count_is_refused_with_its_reason(open_door: OpenDoor, office: Office) -> None:
    api = await open_door(models=asking())
    run = await waiting(api)
    path = f"/api/runs/{run['run_id']}/answer"
    for body in ({}, {"text": ""}, {"text": " \n"}, {"text": "x" * 10_001}):
        refused = await api.post(path, body)
        assert (refused.status_code, refused.json()["errors"][0]["where"]) == (422, "body.text")
    assert (await api.post("/api/runs/run_unknown/answer", {"text": "Lyon"})).status_code == 404
    unknown = await api.post(path, {"text": "Lyon", "question_id": "question-9"})
    assert (unknown.status_code, unknown.json()["code"]) == (409, "conflict")
    assert (await api.run(run["run_id"]))["last_seq"] == run["last_seq"]

    assert (await api.post(path, {"text": "Rome", "question_id": run["question"]["id"]})).status_code == 202
    await api.seen(lambda: api.run(run["run_id"]), lambda _: office.calls["Rome"])
    for body in ({"text": "Nice", "question_id": run["question"]["id"]}, {"text": "Nice"}):
        again = await api.post(path, body)
        assert (again.status_code, again.json()["code"]) == (409, "conflict")
        assert again.json()["how"]
    office.gate.set()
    assert (await api.over(run["run_id"]))["answer"] == "Rome: 40 dB"
    ended = await api.post(path, {"text": "Nice"})
    assert (ended.status_code, f"/api/runs/{run['run_id']}/follow-up" in ended.json()["how"]) == (409, True)


async def test_an_answer_needs_the_right_to_run_and_a_run_of_the_same_key(open_door: OpenDoor) -> None:
    door = await open_door(models=asking(), doors=LOCKED)
    keys = await keys_of(door)
    await keys.add("other", Scope.RUN)
    await keys.add("reader", Scope.READ_ALL, Scope.APPROVE)
    run_id = await keys.started("runner", "measure it")
    await keys.rests(run_id, "waiting")
    path, body = f"/api/runs/{run_id}/answer", {"text": "Lyon"}

    assert (await keys.post("other", path, body)).status_code == 404
    assert (await keys.post("reader", path, body)).status_code == 403
    assert (await door.post(path, body)).status_code == 401
    assert (await keys.get("runner", "/api/runs?asking=true")).json()["runs"][0]["run_id"] == run_id
    assert (await keys.post("runner", path, body)).status_code == 202
    assert (await keys.rests(run_id, "succeeded"))["answer"] == "Lyon: 40 dB"
    (event,) = [each for each in await keys.events(run_id) if each["type"] == "question_answered"]
    assert event["by"] == "runner"


async def test_a_run_of_a_server_continues_by_itself_after_an_answer_from_another_process(
    open_door: OpenDoor, home: Path
) -> None:
    api = await open_door(models=asking())
    run = await waiting(api)
    assert run["detached"] is True
    async with Leadhand(home=home, model="offline") as elsewhere:
        await elsewhere.reply(run["run_id"], "Lyon")

    assert (await api.over(run["run_id"]))["answer"] == "Lyon: 40 dB"
