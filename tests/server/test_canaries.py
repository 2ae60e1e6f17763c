"""Secrets show nowhere: not in the database, not in what the API says, not in streams, not in the log."""

from __future__ import annotations

import io
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from kept import kept_in
from server.conftest import OpenServer
from server.doors import Served
from server.streams import first, rest
from server.teams import Author

from leadhand import FailureClass, ToolError, ToolReturn, tool
from leadhand.app.steering.access import Scope
from leadhand.engine.redaction import Redactor
from leadhand.server.logs import reset_logging, set_up_logging
from leadhand.testing.scripted_model import plans, subtask

CANARY = "canary7f3a91d0e5c2"
"""The value of a variable whose name says that it is a secret."""
PATTERN = "sk-proj-0123456789abcdefghij"
"""What looks like a key, though nobody said that it is one."""


@tool
async def look_up(account: str) -> ToolReturn:
    """Look an account up."""
    return ToolReturn(
        summary=f"found it with {CANARY}",
        raw={"account": account, "api_key": "unnamed-secret-value", "seen": [CANARY, PATTERN], "long": CANARY * 500},
    )


@tool
async def fail(account: str) -> ToolReturn:
    """Fail, and say too much."""
    raise ToolError(f"refused: {CANARY} and {PATTERN}", type="refused", class_=FailureClass.UNAVAILABLE)


@tool
async def crash(account: str) -> ToolReturn:
    """Fail in a way that nobody foresaw."""
    raise RuntimeError(f"Authorization: Bearer {CANARY}{CANARY}")


@pytest.fixture
def author() -> Author:
    names = ("look_up", "fail", "crash")
    secret = (subtask(f"{name}_{CANARY}", name, account=f"{CANARY} {PATTERN}") for name in names)
    return Author(plan=plans(*secret, subtask("look_up", "look_up", account="ann")))


async def said_by(served: Served, run_id: str) -> str:
    """Everything that the API says of a run, and of what it used."""
    api = served.door
    said: list[str] = []
    for path in (
        "/api/runs",
        f"/api/runs?q={CANARY}",
        f"/api/runs/{run_id}",
        f"/api/runs/{run_id}/events?limit=1000",
        "/api/approvals",
        "/api/tools",
        "/api/flows",
        "/metrics",
    ):
        response = await api.get(path)
        assert response.status_code == 200
        said.append(response.text)
    for event in await api.events(run_id):
        said += [
            (await api.get(f"/api/runs/{run_id}/events/{event['seq']}/payloads/{digest}")).text
            for digest in _digests(event)
        ]
    async with served.watch(run_id) as stream:
        said += [str(each) for each in await rest(stream)]
    return "\n".join(said)


def _digests(value: Any) -> list[str]:
    match value:
        case {"$blob": digest}:
            return [cast("str", digest)]
        case dict() | list():
            inner = cast("dict[str, Any]", value).values() if isinstance(value, dict) else cast("list[Any]", value)
            return [digest for each in inner for digest in _digests(each)]
        case _:
            return []


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """What the server's log says, down to its smallest detail; not what the test's own client says."""
    clients = [logging.getLogger(name) for name in ("httpx2", "httpcore2")]
    stream = io.StringIO()
    for logger in clients:
        logger.setLevel(logging.WARNING)
    set_up_logging({"LEADHAND_LOG_LEVEL": "debug"}, stream, Redactor.of_environment(dict(os.environ)))
    yield stream
    reset_logging()
    for logger in clients:
        logger.setLevel(logging.NOTSET)


@pytest.fixture
def bank(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANK_API_KEY", CANARY)


async def test_a_secret_shows_nowhere(
    serve: OpenServer, author: Author, home: Path, bank: None, log: io.StringIO
) -> None:
    served = await serve(models=author, tools=[look_up, fail, crash])
    run_id = await served.door.started(f"Use {CANARY} and {PATTERN}")
    live: list[str] = []
    async with served.watch(run_id) as stream:
        author.write("It was found: ", CANARY[:7], CANARY[7:], " and ", PATTERN, " so ")
        delta = await first(stream, "delta")
        while "so " not in delta.data["text"]:
            live.append(str(delta))
            delta = await first(stream, "delta")
        author.end()
        live += [str(delta), *map(str, await rest(stream))]
    await served.door.over(run_id)
    for name in ("look_up", "fail", "crash"):
        called = await served.door.post(f"/api/tools/{name}/call", {"args": {"account": CANARY}})
        live.append(called.text)
    said = await said_by(served, run_id) + "\n".join(live)
    kept = kept_in(home)

    assert said.count("[redacted]") > 10
    assert kept.count(b"[redacted]") > 10
    for canary in (CANARY, PATTERN[8:], "unnamed-secret-value"):
        assert canary not in said
        assert canary.encode() not in kept
        assert canary not in log.getvalue()
    assert CANARY.encode() not in kept_in(home, "meta"), "what the environment has is in no table"
    assert "/api/tools/crash/call" in log.getvalue()


async def test_a_defect_in_the_middle_of_a_request_tells_the_log_no_secret(
    serve: OpenServer, bank: None, log: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = await serve()

    async def broken(_: str) -> None:
        raise ZeroDivisionError(f"divided {CANARY} by {PATTERN}")

    run_id = await served.door.started("measure Paris")
    await served.door.over(run_id)
    monkeypatch.setattr(served.door.service.runtime, "document", broken)
    response = await served.door.get(f"/api/runs/{run_id}")

    assert response.status_code == 500
    for said in (response.text, log.getvalue()):
        assert CANARY not in said
        assert PATTERN[8:] not in said
    assert "ZeroDivisionError" in log.getvalue()


async def test_a_secret_in_the_instructions_the_name_or_a_tag_of_a_run_shows_nowhere(
    serve: OpenServer, home: Path, bank: None
) -> None:
    served = await serve()
    named = {"name": f"with {PATTERN}", "tags": {"key": PATTERN}}
    body = {"request": "measure Paris", "instructions": {"work": f"{CANARY} or {PATTERN}."}, **named}
    run_id = (await served.door.post("/api/runs", body)).json()["run_id"]
    await served.door.over(run_id)
    said, kept = await said_by(served, run_id), kept_in(home)
    assert "[redacted] or [secret:sec_" in said
    for canary in (CANARY, PATTERN[8:]):
        assert canary not in said
        assert canary.encode() not in kept


async def test_a_key_is_kept_nowhere(serve: OpenServer, home: Path, log: io.StringIO) -> None:
    served = await serve()
    key = await served.door.key("ann", Scope.ADMIN)
    secret = key["authorization"].removeprefix("Bearer ")
    run_id = await served.door.started(f"measure {secret}", headers=key)
    opened = await served.door.post("/api/session", {"key": secret})
    token = opened.cookies["leadhand_session"]
    await served.door.over(run_id)
    said = await said_by(served, run_id)
    kept = kept_in(home, "meta")  # nor in the table of secrets

    for each in (secret, token, secret[12:]):
        assert each not in said
        assert each.encode() not in kept
        assert each not in log.getvalue()
    assert secret[:9].encode() in kept, "its beginning is what its holder knows it by"
