"""Whatever comes back, a call ends in a reply or in one classed failure, and both fit into a log."""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
from collections.abc import AsyncIterator

import pytest
from asking import WEATHER, asking, planning, spec
from hypothesis import settings

from leadhand.core.errors import Failure
from leadhand.models.openai.adapter import OpenAICompatible
from leadhand.ports import ModelError
from leadhand.ports.models import ModelReply

REQUESTS = (
    asking({"task": "compose"}, model="x:m"),
    planning("x", model="x:m"),
    asking({"task": "work"}, tools=[spec(WEATHER)], model="x:m"),
)
_PIECE = (
    b'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"n","arguments":"%s"}}]}}]}\n\n'
)
BODIES = (
    (
        "application/json",
        b'{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],"usage":{"total_tokens":3}}',
    ),
    (
        "application/json",
        b'{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"n","arguments":"{}"}}]}}]}',
    ),
    ("text/event-stream", b'data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'),
    ("text/event-stream", b"".join((_PIECE % b"{", _PIECE % b"}", b"data: [DONE]\n\n"))),
    ("text/html", b"<html>no</html>"),
)
STATUSES = ("200 OK",) * 3 + ("202 Accepted", "302 Found", "401 No", "404 No", "429 Slow", "500 Oh")
INSERTED = (
    b"\xef\xbb\xbf",
    b"data: ",
    b"\r\n",
    *b'null [] {} "error": \\ud83d NaN 99999999999999999999 <think>'.split(),
)


def spoiled(chance: random.Random, text: bytes, times: int) -> bytes:
    """``text`` with pieces cut out, changed and put in."""
    changed = bytearray(text)
    for _ in range(chance.randint(0, times)):
        place = chance.randrange(len(changed) + 1)
        match chance.randrange(4):
            case 0:
                del changed[place : place + chance.randint(1, 30)]
            case 1:
                changed[place:place] = chance.randbytes(chance.randint(1, 6))
            case 2:
                changed[place : place + 1] = chance.randbytes(1)
            case _:
                changed[place:place] = chance.choice(INSERTED)
    return bytes(changed)


def answer(chance: random.Random) -> bytes:
    """An HTTP answer, spoiled: its body always, its head now and then."""
    content_type, body = chance.choice(BODIES)
    body = spoiled(chance, body, 3)
    head = b"HTTP/1.1 %s\r\nContent-Type: %s\r\nLocation: http://x/\r\nRetry-After: 3\r\nContent-Length: %d" % (
        chance.choice(STATUSES).encode(),
        content_type.encode(),
        len(body),
    )
    return spoiled(chance, head, 2 if chance.random() < 0.3 else 0) + b"\r\n\r\n" + body


@contextlib.asynccontextmanager
async def server(chance: random.Random) -> AsyncIterator[str]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
            await reader.readexactly(int(length[1]) if length else 0)
            writer.write(answer(chance))
            await writer.drain()
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
async def test_any_answer_is_a_reply_or_one_classed_failure(seed: int) -> None:
    chance = random.Random(seed)
    replies = 0
    async with server(chance) as url:
        for _ in range(4 * settings().max_examples):
            models = OpenAICompatible(url, idle_timeout_s=0.5)
            listener = (lambda _: None) if chance.random() < 0.5 else None
            try:
                reply = await models.ask(chance.choice(REQUESTS).evolve(patience_s=2.0), listener)
            except ModelError as error:
                failure = error.failure
                assert failure.message
                assert "\n" not in failure.message
                assert Failure.model_validate_json(failure.model_dump_json()) == failure
            else:
                replies += 1
                assert ModelReply.model_validate_json(reply.model_dump_json()) == reply
            await models.aclose()
    assert replies > 20, "too little is left whole to say anything"
