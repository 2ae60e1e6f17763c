"""Responses are compressed for clients that accept it: documents, files, and streams without a delay."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from pathlib import Path
from typing import Any

import pytest
from server.conftest import OpenDoor
from server.doors import Door
from server.teams import Office
from starlette.types import Message, Receive, Scope, Send

from leadhand.server.compression import Compression, accepts_gzip

GZIP = {"accept-encoding": "br, gzip"}
PLAIN = {"accept-encoding": "identity"}


@pytest.mark.parametrize(
    ("header", "accepted"),
    [("gzip", True), ("br, GZIP;q=0.5", True), ("", False), ("br", False), ("gzip;q=0", False), ("gzip; q=0.0", False)],
)
def test_gzip_is_used_where_it_is_accepted(header: str, accepted: bool) -> None:
    assert accepts_gzip(header) is accepted


async def test_documents_are_compressed_and_small_ones_are_not(api: Door) -> None:
    run_id = await api.started("measure Paris")
    await api.over(run_id)
    url = f"/api/runs/{run_id}"

    packed, plain = await api.get(url, headers=GZIP), await api.get(url, headers=PLAIN)
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert packed.json() == plain.json()
    assert int(packed.headers["content-length"]) < int(plain.headers["content-length"]) / 2
    assert packed.headers["vary"].lower() == plain.headers["vary"].lower() == "accept-encoding"
    small = await api.get("/healthz", headers=GZIP)
    assert (small.json(), "content-encoding" in small.headers) == ({"status": "ok"}, False)
    same = await api.get(url, headers={**GZIP, "if-none-match": packed.headers["etag"]})
    assert (same.status_code, same.content, "content-encoding" in same.headers) == (304, b"", False)


async def test_files_of_the_console_are_compressed_and_kept(open_door: OpenDoor, tmp_path: Path) -> None:
    for name in ("index.html", "main.js", "chunk-JOBHLA7S.js"):
        (tmp_path / name).write_text("export const text = 'words';\n" * 10_000)
    api = await open_door(console=tmp_path)

    main, chunk = await api.get("/main.js", headers=GZIP), await api.get("/chunk-JOBHLA7S.js", headers=GZIP)
    assert main.headers["content-encoding"] == chunk.headers["content-encoding"] == "gzip"
    assert main.text == (tmp_path / "main.js").read_text()
    assert main.headers["cache-control"] == "no-cache"
    assert "immutable" in chunk.headers["cache-control"]
    again = await api.get("/main.js", headers={**GZIP, "if-none-match": main.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    missing = await api.get("/chunk-AAAAAAAA.js", headers=GZIP)
    assert (missing.status_code, missing.headers["cache-control"]) == (404, "no-cache")


async def test_a_stream_that_is_compressed_has_every_event(api: Door, office: Office) -> None:
    run_id = await api.started("measure Paris")
    await api.over(run_id)
    url, stream = f"/api/runs/{run_id}/events", {"accept": "text/event-stream"}
    packed = await api.get(url, headers={**GZIP, **stream})
    plain = await api.get(url, headers={**PLAIN, **stream})
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.text == plain.text
    assert "event: end" in packed.text


async def _nothing() -> Message:
    raise AssertionError


async def test_each_message_of_a_stream_is_sent_at_once_and_waits_for_the_client() -> None:
    """The stream never runs ahead of the client: a message is asked for only when the one before it was taken."""
    sent: list[Message] = []
    taken = asyncio.Semaphore(0)
    arrived: asyncio.Queue[Message] = asyncio.Queue()
    made: list[int] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        start = {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]}
        await send(start)
        for number in range(3):
            made.append(number)
            await send({"type": "http.response.body", "body": b"data: %d\n\n" % number, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def client(message: Message) -> None:
        sent.append(message)
        arrived.put_nowait(message)
        await taken.acquire()

    scope: dict[str, Any] = {"type": "http", "method": "GET", "path": "/", "headers": [(b"accept-encoding", b"gzip")]}
    streaming = asyncio.create_task(Compression(app)(scope, _nothing, client))
    reader = zlib.decompressobj(31)
    await arrived.get()  # the head
    for number in range(3):
        taken.release()
        async with asyncio.timeout(30):
            message = await arrived.get()
        assert reader.decompress(message["body"]) == b"data: %d\n\n" % number
        assert made == list(range(number + 1))
    for _ in range(2):
        taken.release()
    await streaming
    whole = b"".join(each.get("body", b"") for each in sent)
    assert gzip.decompress(whole) == b"data: 0\n\ndata: 1\n\ndata: 2\n\n"
