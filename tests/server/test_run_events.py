"""A run and its events as pages: the document, dense numbers, brief events, payloads by digest."""

from __future__ import annotations

import json
from typing import Any

import pytest
from server.conftest import OpenDoor
from server.doors import Door
from server.keys import LOCKED, keys_of

from leadhand import ToolReturn, tool
from leadhand.app.export.run_document import run_document
from leadhand.app.steering.access import Scope
from leadhand.runs import Run
from leadhand.testing.scripted_model import ScriptedModel, brief_of, plans, subtask

LONG = "é" * 5_000


@tool
async def echo(text: str) -> ToolReturn:
    """Return what looks like a reference to a payload."""
    return ToolReturn(summary=f"echoed {text}", raw={"$blob": text, "bytes": 1})


@tool
async def recite(to: str) -> ToolReturn:
    """Recite something long."""
    return ToolReturn(summary=f"recited to {to}", raw={"text": LONG})


async def test_the_document_is_that_of_the_command_line_and_python(api: Door) -> None:
    run_id = await api.started("measure Paris, measure Oslo")
    document = await api.over(run_id)

    entries, state = await api.runtime.store.read(run_id), await api.runtime.load(run_id)
    expected = run_document(state, owner=None)
    assert document == json.loads(json.dumps(expected.as_json()))
    assert document == await Run(api.runtime, await api.runtime.load(run_id), drive=False).document()
    assert document["gaps"][0]["name"] == "measure_1"
    assert document["last_seq"] == len(entries)


async def test_pages_of_events_are_dense_and_whole_and_beyond_the_end_there_is_nothing(api: Door) -> None:
    run_id = await api.started("measure Paris")
    head = (await api.over(run_id))["last_seq"]
    for limit in (1, 2, 7, head, 1_000):
        seen: list[dict[str, Any]] = []
        after: int | None = 0
        while after is not None:
            page = (await api.get(f"/api/runs/{run_id}/events", params={"after": after, "limit": limit})).json()
            assert page["last_seq"] == head
            assert len(page["events"]) <= limit
            seen += page["events"]
            after = page["next_after"]
        assert [event["seq"] for event in seen] == list(range(1, head + 1))
    assert seen[0]["type"] == "run_started"
    assert seen[-1]["type"] == "run_finished"

    page = (await api.get(f"/api/runs/{run_id}/events", params={"after": head + 5})).json()
    assert page == {"events": [], "next_after": None, "last_seq": head}
    missing = await api.get(f"/api/runs/{run_id}/events/{head + 1}")
    assert (missing.status_code, missing.json()["code"]) == (404, "not_found")
    assert f"1 to {head}" in missing.json()["how"]


async def test_every_event_of_a_page_has_words_and_can_be_read_alone(api: Door) -> None:
    run_id = await api.started("measure Paris")
    await api.over(run_id)
    for event in await api.events(run_id):
        assert (await api.get(f"/api/runs/{run_id}/events/{event['seq']}")).json() == event

    told = {event["type"]: event["words"] for event in await api.events(run_id)}

    assert told["tool_call_began"].pop("title")
    assert told["tool_call_began"] == {
        "text": "measure · Paris",
        "subject": "wo-001.0",
        "tone": "info",
        "level": "detail",
        "topics": ["tools"],
    }
    assert (told["run_finished"]["tone"], told["run_finished"]["level"]) == ("good", "phase")


async def test_brief_events_hold_no_long_text_and_whole_ones_all_of_it(api: Door) -> None:
    request = ", ".join(f"measure place_{n}" for n in range(60))
    run_id = await api.started(request)
    await api.over(run_id)

    brief = (await api.get(f"/api/runs/{run_id}/events", params={"brief": True})).json()["events"]
    assert brief[0]["definition"]["request"] == request[:299] + "…"
    assert (await api.events(run_id))[0]["definition"]["request"] == request
    assert (await api.get("/api/runs")).json()["runs"][0]["request"] == request[:200]


def reciter() -> ScriptedModel:
    return ScriptedModel(plan=lambda _: plans(subtask("recite", "recite", to="Ann")), lenient=True)


async def test_a_large_payload_is_had_by_its_digest(open_door: OpenDoor) -> None:
    api = await open_door(models=reciter(), tools=[recite])
    run_id = await api.started("recite")
    await api.over(run_id)
    returned = next(event for event in await api.events(run_id) if event["type"] == "tool_call_returned")
    digest = returned["raw"]["$blob"]

    payloads = f"/api/runs/{run_id}/events/{returned['seq']}/payloads"
    payload = await api.get(f"{payloads}/{digest}")

    assert payload.headers["content-type"] == "application/json"
    assert payload.json() == {"text": LONG}
    missing = await api.get(f"{payloads}/sha256:{'0' * 64}")
    assert (missing.status_code, missing.json()["code"]) == (404, "not_found")
    assert (await api.get(f"{payloads}/..%2f..%2fetc%2fpasswd")).status_code == 404
    assert (await api.get(f"{payloads}/sha256:xyz")).status_code == 404


@pytest.mark.parametrize("path", ["", "/events", "/events/1", "/events/stream", "/view", "/view/stream"])
@pytest.mark.parametrize("run_id", ["run_nobody", "%F0%9F%99%82", "a%00b"])
async def test_a_run_that_is_not_there_is_a_problem_and_no_stream(api: Door, run_id: str, path: str) -> None:
    missing = await api.get(f"/api/runs/{run_id}{path}")

    assert (missing.status_code, missing.json()["code"]) == (404, "no_such_run")
    assert missing.headers["content-type"] == "application/problem+json"
    assert missing.json()["how"]


@pytest.mark.parametrize(
    "place",
    [
        *("?after=-1", f"?after={2**63}", "?limit=0", "?limit=1001", "?after=x"),
        *("/0", "/-1", "/x", f"/{2**64}"),
    ],
)
async def test_a_page_or_an_event_number_that_is_none_is_refused(api: Door, place: str) -> None:
    run_id = await api.started("measure Paris")

    assert (await api.get(f"/api/runs/{run_id}/events{place}")).status_code == 422


async def test_a_key_reads_only_payloads_that_its_own_runs_refer_to(open_door: OpenDoor) -> None:
    keys = await keys_of(await open_door(models=reciter(), tools=[recite, echo], doors=LOCKED))
    await keys.add("stranger", Scope.RUN)
    run_id = await keys.started("runner", "recite")
    await keys.rests(run_id, "succeeded")
    returned = next(event for event in await keys.events(run_id) if event["type"] == "tool_call_returned")
    digest = returned["raw"]["$blob"]

    async def status(who: str, seq: int) -> int:
        return (await keys.get(who, f"/api/runs/{run_id}/events/{seq}/payloads/{digest}")).status_code

    seq = returned["seq"]
    assert [await status("runner", each) for each in (seq, seq - 1, 9999)] == [200, 404, 404]
    assert [await status("stranger", seq), await status("admin", seq)] == [404, 200]


async def test_a_tool_that_returns_a_reference_gives_no_access_to_the_payload(open_door: OpenDoor) -> None:
    plan = ScriptedModel(
        plan=lambda request: plans(
            subtask("a", "recite", to="Ann")
            if brief_of(request)["request"] == "recite"
            else subtask("a", "echo", text=brief_of(request)["request"])
        ),
        lenient=True,
    )
    keys = await keys_of(await open_door(models=plan, tools=[recite, echo], doors=LOCKED))
    await keys.add("stranger", Scope.RUN)
    theirs = await keys.started("runner", "recite")
    await keys.rests(theirs, "succeeded")
    digest = next(e["raw"]["$blob"] for e in await keys.events(theirs) if e["type"] == "tool_call_returned")

    mine = await keys.started("stranger", digest)
    await keys.rests(mine, "succeeded")

    returned = next(event for event in await keys.events(mine) if event["type"] == "tool_call_returned")
    forged = await keys.get("stranger", f"/api/runs/{mine}/events/{returned['seq']}/payloads/{digest}")
    assert forged.status_code == 404
    own = returned["raw"]["$blob"]
    data = await keys.get("stranger", f"/api/runs/{mine}/events/{returned['seq']}/payloads/{own}")
    assert data.json() == {"$blob": digest, "bytes": 1}
    supplied = await keys.post(
        "stranger",
        f"/api/runs/{mine}/supply",
        {"subtask": "wo-001.0", "summary": "x", "raw": {"$blob": digest, "bytes": 1}},
    )
    assert (supplied.status_code, "$blob" in supplied.json()["detail"]) == (409, True)
