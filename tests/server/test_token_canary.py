"""A token that a tool returned leaves the process nowhere: one run passes it on in every way, every door is read."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kept import kept_in
from server.conftest import OpenServer
from server.doors import Served
from server.receivers import receiver
from server.streams import first, rest
from server.teams import Author
from tracing.collector import collecting

from leadhand import FailureClass, ToolContext, ToolError, ToolReturn, tool
from leadhand.core.artifact import blob_of
from leadhand.core.secret import REFERENCE
from leadhand.core.tool import Source, WriteArtifact
from leadhand.server.app import Doors
from leadhand.server.logs import reset_logging, set_up_logging
from leadhand.testing.scripted_model import plans, subtask

TOKEN = "tok~4f9a22c1/b7e0d5"
"""Only the name of its field says that it is a secret; it is written otherwise in JSON and in URLs."""
FORMATS = ("html", "md", "json", "jsonl")
got: list[str] = []
"""What tools were given."""


@tool
async def log_in() -> dict[str, Any]:
    """Log in."""
    return {"user": "ann", "access_token": TOKEN}


@tool
async def echo(token: str, *, context: ToolContext) -> ToolReturn:
    """Say it everywhere."""
    got.append(token)
    context.emit(f"it is {token}")
    assert await context.ask(f"May I use {token}?", ("yes", token), 60) == "yes"
    return ToolReturn(
        summary=f"the token is {token}",
        raw={"text": token, "deep": [{token: [token]}], "json": f'{{"a": "{token}"}}', "long": f"{token}, " * 900},
        sources=(Source(title=token, url=f"https://mail.example/?t={token}"),),
        asks=(WriteArtifact(path="memory/token.txt", content=f"It is {token}\n" * 900),),
    )


@tool
async def refuse(token: str) -> str:
    """Fail, and say too much."""
    got.append(token)
    raise ToolError(
        f"refused {token}", type=token, class_=FailureClass.UNAVAILABLE, next_action=f"use another than {token}"
    )


@tool
async def crash(token: str) -> str:
    """Fail in a way that nobody foresaw."""
    got.append(token)
    logging.getLogger("leadhand.tests").warning("it has %s", token)
    raise RuntimeError(token) from KeyError(token)


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """Where the test has the server write its log."""
    clients = [logging.getLogger(name) for name in ("httpx2", "httpcore2")]
    for each in clients:
        each.setLevel(logging.WARNING)
    yield io.StringIO()
    reset_logging()
    for each in clients:
        each.setLevel(logging.NOTSET)


async def said_by(served: Served, run_id: str, document: dict[str, Any]) -> str:
    """Everything that any door says: each route that reads, with all that the run has names for."""
    api, said = served.door, list[str]()
    events = await api.events(run_id)
    run = await api.run(run_id)
    hooks = (await api.get("/api/webhooks")).json()["webhooks"]
    digests = [(each["seq"], found) for each in events for found in blobs_in(each)]
    places: dict[str, list[dict[str, Any]]] = {
        "{digest}": [{"run_id": run_id, "seq": seq, "digest": digest} for seq, digest in digests],
        "{seq}": [{"run_id": run_id, "seq": each["seq"]} for each in events],
        "{call_id}": [{"run_id": run_id, "call_id": each["call_id"]} for each in events if each.get("call_id")],
        "{path}": [{"run_id": run_id, "path": each["path"]} for each in run["artifacts"]],
        "{webhook_id}": [{"webhook_id": each["webhook_id"]} for each in hooks],
        "{run_id}": [{"run_id": run_id}],
        "{name}": [{"name": each} for each in ("echo", "refuse")],
        "{approval_id}": [],
    }
    for path, methods in document["paths"].items():
        if "get" in methods and not path.endswith("/stream"):
            for names in next((each for place, each in places.items() if place in path), [{}]):
                said.append((await api.get(path.format(**names))).text)
    for each in FORMATS:
        exported = await api.get(f"/api/runs/{run_id}/export", params={"format": each})
        assert exported.status_code == 200
        said.append(exported.text)
    for stream in (served.watch(run_id), served.watch_view(run_id)):
        async with stream as messages:
            said += map(str, await rest(messages))
    return "\n".join([*said, str(run)])


def blobs_in(value: Any) -> list[str]:
    """The digests of what is kept beside an event."""
    if (blob := blob_of(value)) is not None:
        return [blob.digest]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [digest for each in inner for digest in blobs_in(each)]


async def test_a_token_that_a_tool_returned_leaves_the_process_nowhere(
    serve: OpenServer, home: Path, log: io.StringIO, document: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    got.clear()
    of_login = {"$result": {"subtask": "0", "path": "/raw/access_token"}}
    passing = (subtask(each, each, token=of_login) | {"needs": [0]} for each in ("echo", "refuse", "crash"))
    author = Author(plan=plans(subtask("log_in", "log_in"), *passing))
    async with receiver() as hook:
        with collecting() as collector:
            monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
            served = await serve(models=author, tools=[log_in, echo, refuse, crash], doors=Doors(local=True))
            api = served.door
            set_up_logging({"LEADHAND_LOG_LEVEL": "debug"}, log, api.service.redactor)
            assert (await api.post("/api/webhooks", {"url": hook.url})).status_code == 201
            run_id = await api.started("Use the token")
            run = await api.seen(lambda: api.run(run_id), lambda run: run["question"])
            asked = str(run)
            await api.post(f"/api/runs/{run_id}/answer", {"text": "yes"})
            async with served.watch(run_id) as stream:
                author.write("The token is ", TOKEN[:7], TOKEN[7:], " so ")
                live = [str(await first(stream, "delta"))]
                author.end()
                live += map(str, await rest(stream))
            await api.over(run_id)
            messages = str(await hook.until(1))
            said = await said_by(served, run_id, document)
            kept = kept_in(home)
            whole = kept_in(home, "meta")
            assert (await api.http.delete(f"/api/runs/{run_id}")).is_success
            without = kept_in(home, "meta")
            await served.end()
            await api.lead.aclose()
    left = {
        "the doors": said,
        "a question": asked,
        "live text": "\n".join(live),
        "webhooks": messages,
        "the log": log.getvalue(),
        "traces and metrics": str(collector.requests) + str(collector.metrics) + str(collector.bodies),
        "the database": kept.decode(errors="replace"),
    }
    assert got == [TOKEN] * 3
    assert "RuntimeError: [redacted]" in left["the log"]
    assert "execute_tool echo" in left["traces and metrics"]
    for name in ("the doors", "a question", "live text", "the database"):
        assert REFERENCE.search(left[name]), name
    part = TOKEN[4:12]
    assert [name for name, text in left.items() if part in text] == []
    assert part.encode() in whole, "it is in the table of secrets"
    assert part.encode() not in without, "the run was deleted"
