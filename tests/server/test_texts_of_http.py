"""The texts of the HTTP API are those of one golden file: problems, faults of requests, events and a run's view."""

from __future__ import annotations

import json
import re
import sqlite3
from dataclasses import asdict
from pathlib import Path
from typing import Any

import httpx2
import pytest
from golden import check_golden, joined, normalized
from server.conftest import OpenDoor
from server.doors import Door
from server.teams import Office
from server.test_problems import FAULTS
from stores.store_samples import AT, SAMPLES

from leadhand.app.steering.access import Scope
from leadhand.core.events import Entry
from leadhand.core.words import words
from leadhand.server import problems
from leadhand.server.app import Doors
from leadhand.server.rates import Allowed

GOLDEN = Path(__file__).parent / "golden" / "texts.txt"
PAY = "/api/tools/pay/call"


@pytest.fixture
async def refusals(api: Door, open_door: OpenDoor, home: Path, office: Office) -> list[httpx2.Response]:
    """Responses with problems, one of each code that a request can cause."""
    over, driven, bad = [await api.started(f"measure {place}") for place in ("Paris", "Rome", "Oslo")]
    for run_id in (over, bad):
        await api.over(run_id)
    await api.seen(lambda: api.run(driven), lambda _: office.calls["Rome"])
    with sqlite3.connect(home / "leadhand.db") as database:
        database.execute("UPDATE events SET body = '[]' WHERE run_id = ? AND seq = 2", (bad,))
    locked = await open_door(home=home / "locked", doors=Doors(key_needed=True, allowed=Allowed(requests_a_minute=1)))
    reader, busy = [await locked.key(name, Scope.READ) for name in ("reader", "busy")]
    await locked.get("/api/runs", headers=busy)
    unknown = await open_door(home=home / "unknown", models=None, tools=None, model="offline", offline=False)
    once = {"headers": {"idempotency-key": "once"}}
    await api.post("/api/runs", {"request": "measure Paris"}, **once)
    return [
        await api.get("/nowhere"),
        await api.http.delete("/api/runs"),
        await api.post("/api/runs", {}),
        await api.get("/api/runs/run_x"),
        await api.get(f"/api/runs/{bad}/events"),
        await api.http.delete(f"/api/runs/{driven}"),
        await api.post(f"/api/runs/{over}/cancel"),
        await api.post(PAY, {"args": {"to": "Ann"}}),
        await api.post("/api/runs", {"request": "measure Nice"}, **once),
        await api.http.post("/api/runs", content=b"{}"),
        await api.get("/api/runs", headers={"host": "evil.example"}),
        await api.post("/api/runs", headers={"origin": "https://evil.example"}),
        await api.post("/api/runs", {"request": "x" * problems.LARGEST_BODY}),
        await unknown.post("/api/runs", {"request": "x", "lead_model": "nobody:knows"}),
        await locked.get("/api/runs"),
        await locked.post("/api/runs", {"request": "x"}, headers=reader),
        await locked.get("/api/runs", headers=busy),
    ]


def of_problem(body: str | bytes) -> tuple[str, str]:
    problem = json.loads(body)
    return f"{problem['status']} {problem['code']}", f"{problem['detail']}\n{problem['how']}"


def of_words(said: dict[str, Any]) -> str:
    about = ", ".join((said["tone"], said["level"], *said["topics"]))
    return " | ".join(filter(None, (said["title"], said["text"], about)))


async def test_the_texts_of_the_api_are_the_golden_ones(api: Door, home: Path, refusals: list[httpx2.Response]) -> None:
    made = [problems.answer(each, "/") for each in (problems.ending(),)]
    bodies = [each.content for each in refusals]
    bodies += [bytes(each.body) for each in (*made, problems.defect("GET", "/", ZeroDivisionError()))]
    texts = [*map(of_problem, bodies)]
    assert len({code for code, _ in texts}) == len(texts), "one of each code"

    for method, path, body, _ in FAULTS:
        sent = await api.http.request(method, path, content=body, headers={"content-type": "application/json"})
        texts.append((f"{method} {path} {(body or b'').decode()}", of_problem(sent.content)[1]))

    entries = [Entry(seq=seq, at=AT, epoch=1, event=event) for seq, event in enumerate(SAMPLES, start=1)]
    samples = [f"{each.event.type}: {of_words(asdict(words(each)))}" for each in entries]
    texts.append(("one event of each type", "\n".join(samples)))

    run_id = await api.started("measure Oslo, measure Paris")
    await api.over(run_id)
    told = sorted((each["words"] for each in await api.events(run_id)), key=lambda said: said["subject"])
    texts.append(("the events of a run", "\n".join(f"{said['subject'] or 'run'}: {of_words(said)}" for said in told)))
    lanes = (await api.get(f"/api/runs/{run_id}/view")).json()["steps"]
    labels = [f"{key}: {lane['label']} | {lane['status']}" for key, lane in lanes.items()]
    texts.append(("the steps of a run", "\n".join(labels)))
    volatile = {re.escape(str(home)): "HOME", r"\brun_[0-9a-z]{26}\b": "RUN_ID", r"\bon \S+-[0-9a-f]{8}\b": "on HOST"}
    check_golden(GOLDEN, normalized(joined(texts), volatile))
