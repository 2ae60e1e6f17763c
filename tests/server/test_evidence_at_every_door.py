"""What an answer rests on is the same at every door: counts, doubts with their reasons, what was done, the outcome."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from exports.pages import Page
from server.conftest import OpenDoor
from server.doors import Door
from server.teams import Office, team

from leadhand.app.export.outcome import NOT_JUDGED
from leadhand.cli.app import main
from leadhand.testing.scripted_model import ScriptedModel, judges, plans, reviews, says, subtask

SOUND, BOAST, LIE = "Paris is at 40 dB.", "It is <b>by far</b> the loudest town of France.", "Bob got 25 euros."
REASONS = ("No result <i>compares</i> towns.", "The amount is another.")
UNCONFIRMED = {"verdict": "unconfirmed", "part": "the loudest town of France", "why": REASONS[0]}
CONTRADICTED = {"part": "25 euros", "why": REASONS[1], "evidence": "wo-001.1", "quote": "paid 1 to Bob"}
REQUEST = "measure Paris, pay Bob"
Shown = Callable[..., str]


def writing(*claims: str) -> ScriptedModel:
    """A team whose answer makes these claims, each in a paragraph, and whose judge has doubts."""
    review = reviews(accept=["wo-001.0", "wo-001.1"], answer="\n\n".join(claims))
    return team(review=review, judge=judges(UNCONFIRMED, CONTRADICTED), correct=says("\n\n".join(claims)))


@pytest.fixture
def shown(home: Path, capsys: pytest.CaptureFixture[str]) -> Shown:
    """What a command of the command line prints."""

    def show(*command: str) -> str:
        capsys.readouterr()
        assert main([*command, "--home", str(home)]) == 0
        return capsys.readouterr().out

    return show


async def everywhere(api: Door, shown: Shown, run_id: str) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The documents of a run, and its texts by door."""
    answer = await (await api.lead.get(run_id)).answer()

    async def command(*words: str) -> str:
        return await asyncio.to_thread(shown, "runs", *words)

    exported = {name: await command("export", run_id, f"--{name}") for name in ("json", "jsonl", "md", "html")}
    documents = [
        await api.run(run_id),
        answer.document,
        json.loads(await command("show", run_id, "--json")),
        json.loads(exported["json"]),
        json.loads(exported["jsonl"].splitlines()[-1])["document"],
    ]
    page = Page(exported["html"])
    page.check_harmless()
    texts = {"str": str(answer), "show": await command("show", run_id), "md": exported["md"], "html": page.text}
    return documents, {door: text.replace("\\", "") for door, text in texts.items()}


async def test_the_counts_and_the_doubts_with_their_reasons_are_the_same_at_every_door(
    open_door: OpenDoor, shown: Shown
) -> None:
    model = writing(SOUND, BOAST, LIE)
    api = await open_door(models=model, check="judge", approve="auto")
    run_id = await api.started(REQUEST)
    await api.over(run_id)

    documents, texts = await everywhere(api, shown, run_id)
    document = documents[0]
    assert all(each == document for each in documents)
    assert (document["status"], document["answer"]) == ("partial", "\n\n".join([SOUND, BOAST, LIE]))
    evidence = document["evidence"]
    assert evidence["judged_by"] == document["model"]
    counts = {name: number for name, number in evidence.items() if isinstance(number, int)}
    assert counts == dict.fromkeys(counts, 0) | {"confirmed": 1, "unconfirmed": 1, "contradicted": 1}
    assert [each["why"] for each in evidence["doubts"]] == [*REASONS]
    assert evidence["doubts"][1]["quote"] == CONTRADICTED["quote"]
    assert [each["verdict"] for each in document["claims"]] == ["confirmed", "unconfirmed", "contradicted"]
    for door, text in texts.items():
        assert [reason for reason in (*REASONS, str(CONTRADICTED["quote"])) if reason not in text] == [], door
        assert "pay · Bob" in text, door
        assert document["model"] in text, door
    alone = (await api.get(f"/api/runs/{run_id}/answer")).json()
    assert alone == {name: document[name] for name in ("answer", "value", "status", "evidence")}
    answer = await (await api.lead.get(run_id)).answer()
    assert answer.text == document["answer"]
    assert [(each.part, each.verdict.value) for each in answer.doubts] == [
        (UNCONFIRMED["part"], "unconfirmed"),
        (CONTRADICTED["part"], "contradicted"),
    ]
    assert len(model.asked("correct")) == 1
    assert document["outcome"]["causes"] != []
    assert [each["action"] for each in document["outcome"]["actions"]] == ["follow_up"]


@pytest.mark.parametrize(("given", "calls"), [({}, 0), ({"worker_calls": "auto"}, 0), ({"worker_calls": "always"}, 1)])
async def test_a_body_can_have_workers_write_their_results(
    open_door: OpenDoor, given: dict[str, Any], calls: int
) -> None:
    model = team(work=says("Paris is at 40 dB."))
    api = await open_door(models=model, check="off", approve="auto")
    run = (await api.post("/api/runs?wait=60", {"request": "measure Paris", **given})).json()
    assert (run["status"], len(model.asked("work"))) == ("succeeded", calls)
    followed = (await api.post(f"/api/runs/{run['run_id']}/follow-up", {"request": "measure Paris"})).json()
    await api.over(followed["run_id"])
    assert len(model.asked("work")) == 2 * calls


@pytest.mark.parametrize("strict", [False, True])
async def test_a_doubt_changes_no_status_unless_it_is_strict(open_door: OpenDoor, *, strict: bool) -> None:
    api = await open_door(models=writing(SOUND, BOAST), check="judge", approve="auto")
    body = {"request": REQUEST, **({"strict": True} if strict else {})}
    run = (await api.post("/api/runs?wait=60", body)).json()
    assert (run["status"], run["failure"]) == ("partial" if strict else "succeeded", None)
    assert len(run["evidence"]["doubts"]) == 1
    assert (run["outcome"]["causes"], run["gaps"]) == ([], [])
    followed = (await api.post(f"/api/runs/{run['run_id']}/follow-up", {"request": REQUEST})).json()
    assert (await api.over(followed["run_id"]))["status"] == run["status"], "a follow-up is judged like its run"


@pytest.mark.parametrize("check", ["exact", "off"])
async def test_without_a_judge_every_door_says_so(open_door: OpenDoor, shown: Shown, check: str) -> None:
    api = await open_door(models=writing(SOUND, LIE), approve="auto")
    run = (await api.post("/api/runs?wait=60", {"request": REQUEST, "check": check})).json()

    documents, texts = await everywhere(api, shown, run["run_id"])
    for document in documents:
        assert (document["status"], document["evidence"]["judged_by"]) == ("succeeded", None)
        assert [each["verdict"] for each in document["claims"]] == ["not_checked", "not_checked"]
        assert (document["evidence"]["not_checked"], document["evidence"]["doubts"]) == (2, [])
    for door, text in texts.items():
        assert NOT_JUDGED in text, door


async def test_a_failed_run_shows_what_was_done_and_its_cause_once(open_door: OpenDoor, shown: Shown) -> None:
    model = team(review=reviews(drop={"wo-001.0": "it was not asked for"}))
    api = await open_door(models=model, approve="auto", check="judge")
    run_id = await api.started("pay Bob")
    document = await api.over(run_id)

    documents, texts = await everywhere(api, shown, run_id)
    assert all(each == document for each in documents)
    assert document["status"] == "failed"
    assert [(each["tool"], each["args"]["to"], each["ok"]) for each in document["done"]] == [("pay", "Bob", True)]
    (cause,) = document["outcome"]["causes"]
    for door, text in texts.items():
        assert "pay · Bob" in text, door
    assert [texts[door].count(cause) for door in ("str", "show")] == [1, 1]
    assert [texts[door].partition("Log")[0].count(document["gaps"][0]["reason"]) for door in ("md", "html")] == [1, 1]


async def test_a_call_whose_end_nobody_saw_is_neither_done_nor_failed(api: Door, office: Office, shown: Shown) -> None:
    run_id = await api.started("wire Ann")
    (action,) = (await api.until(run_id, "waiting"))["outcome"]["actions"]
    assert action["action"] == "settle"
    assert (await api.post(f"/api/runs/{run_id}/cancel")).status_code == 202

    document = await api.over(run_id)
    assert [(each["tool"], each["ok"]) for each in document["done"]] == [("wire", False)]
    assert (document["calls"], document["failed_calls"]) == (1, 0)
    _, texts = await everywhere(api, shown, run_id)
    assert [door for door, text in texts.items() if "wire · Ann" not in text] == []


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"check": "sometimes"}, "body.check"),
        ({"check": 1}, "body.check"),
        ({"strict": "yes please"}, "body.strict"),
        ({"worker_calls": "never"}, "body.worker_calls"),
    ],
)
async def test_values_that_name_no_check_are_refused(api: Door, body: dict[str, Any], where: str) -> None:
    refused = await api.post("/api/runs", {"request": REQUEST, **body})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid")
    assert [each["where"] for each in refused.json()["errors"]] == [where]


async def test_a_judge_that_the_built_in_model_would_be_is_refused(open_door: OpenDoor) -> None:
    api = await open_door(models=None, model="offline")
    refused = await api.post("/api/runs", {"request": REQUEST, "check": "judge"})
    assert refused.status_code == 409
    assert (await api.get("/api/runs")).json()["runs"] == []


async def test_the_actions_of_an_outcome_are_those_that_the_routes_accept(open_door: OpenDoor) -> None:
    plan = plans(subtask("measure", "measure", place="Paris"), subtask("oslo", "measure", place="Oslo"))
    api = await open_door(models=team(plan=plan), approve="ask")
    gap = await api.over(await api.started("measure Oslo"))
    actions = {each["action"]: each for each in gap["outcome"]["actions"]}
    assert list(actions) == ["retry", "follow_up"]
    assert not actions["retry"]["primary"], "its cause has to be removed first"
    assert (await api.post(f"/api/runs/{gap['run_id']}/retry", actions["retry"]["args"])).status_code == 202

    api = await open_door(home=api.runtime.settings.home / "other", approve="ask")
    (card,) = await api.asked(await api.started("pay Ann"))
    (action,) = (await api.run(card["run_id"]))["outcome"]["actions"]
    assert (action["action"], action["args"], action["primary"]) == (
        "approve",
        {"approval_id": card["approval_id"]},
        True,
    )

    limited = await api.post("/api/runs?wait=60", {"request": "measure Paris", "limits": {"max_requests": 1}})
    first = limited.json()["outcome"]["actions"][0]
    assert (first["action"], first["primary"]) == ("resume", True)
    assert first["args"] == limited.json()["proposed_limits"]
    run = f"/api/runs/{limited.json()['run_id']}"
    refused = (await api.post(f"{run}/resume")).json()
    assert (f"POST {run}/resume" in refused["how"], " --max-requests 1" in refused["how"]) == (True, False)
    again = await api.post(f"/api/runs/{limited.json()['run_id']}/resume", {"limits": first["args"]})
    assert again.status_code == 202
    assert (await api.over(limited.json()["run_id"]))["status"] == "succeeded"
