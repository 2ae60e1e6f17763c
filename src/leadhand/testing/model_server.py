"""A real HTTP server on this machine that speaks chat completions from a script, faults included."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from leadhand.models.json_values import list_of, object_of, objects_of, text_of

from .scripted_model import ScriptError
from .served import (
    Served,
    Serving,
    Servings,
    Way,
    bad_arguments,
    broken_off,
    completion,
    cut_stream,
    drip,
    empty,
    hang,
    huge,
    no_choices,
    out_of_quota,
    rate_limited,
    refusal,
    refuses,
    served_by,
    status,
    truncated,
    web_page,
)
from .steps import Step, step_of

if TYPE_CHECKING:
    from aiohttp import web

__all__ = [
    "ScriptedServer",
    "Seen",
    "Served",
    "Way",
    "bad_arguments",
    "broken_off",
    "cut_stream",
    "drip",
    "empty",
    "hang",
    "huge",
    "no_choices",
    "out_of_quota",
    "rate_limited",
    "refuses",
    "served_by",
    "status",
    "truncated",
    "web_page",
]


@dataclass(frozen=True, slots=True)
class Seen:
    """A request as it arrived: its decoded ``body`` and its ``headers``, names in lower case."""

    body: dict[str, Any]
    headers: Mapping[str, str]


class ScriptedServer:
    """A chat-completions server on a free port of 127.0.0.1: ``async with ScriptedServer([…]) as server``.

    ``script`` is a list of answers taken in order (:class:`~leadhand.testing.steps.Step`, a text, a JSON object, or a
    fault of this module, a function of the request), or one function that answers every call, such as
    :func:`served_by`. ``models`` are what ``GET /v1/models`` lists. A request beyond the script gets a 400 and
    fails :meth:`assert_done`, which leaving the context calls; so does an answer nobody asked for.

    ``base_url`` is for clients, ``requests`` what they sent, ``abandoned`` how many went away before their answer.
    """

    def __init__(
        self,
        script: Iterable[Servings] | Callable[[dict[str, Any]], Serving | Awaitable[Serving]] = (),
        *,
        models: Iterable[str] = ("scripted",),
    ) -> None:
        self._always = script if callable(script) else None
        self._script: deque[Servings] = deque() if callable(script) else deque(script)
        self._models = tuple(models)
        self._unexpected = 0
        self._closing = asyncio.Event()
        self._runner: web.AppRunner | None = None
        self.requests: list[Seen] = []
        self.abandoned = 0
        self.base_url = ""

    async def __aenter__(self) -> Self:
        from aiohttp import web

        app = web.Application(client_max_size=50_000_000)
        app.router.add_post("/v1/chat/completions", self._answer)
        app.router.add_get("/v1/models", self._list)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.5, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        port = self._runner.addresses[0][1]
        self.base_url = f"http://127.0.0.1:{port}/v1"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        if self._runner is not None:
            await self._runner.cleanup()
        if error is None:
            self.assert_done()

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The decoded bodies of the requests, in the order they came."""
        return [seen.body for seen in self.requests]

    def assert_done(self) -> None:
        """Raises :class:`~leadhand.testing.scripted_model.ScriptError` if too much or too little was asked."""
        if self._unexpected:
            raise ScriptError(f"{self._unexpected} requests came that the script does not answer")
        if self._script:
            raise ScriptError(f"{len(self._script)} answers that nothing asked for")

    async def _list(self, request: web.Request) -> web.Response:
        from aiohttp import web

        return web.json_response({"object": "list", "data": [{"id": name, "object": "model"} for name in self._models]})

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = object_of(json.loads(await request.text()))
        self.requests.append(Seen(body, {name.casefold(): value for name, value in request.headers.items()}))
        try:
            return await self._serve(await self._next(body), body, request)
        except asyncio.CancelledError:
            self.abandoned += 1
            raise

    async def _next(self, body: dict[str, Any]) -> Served:
        if self._always is not None:
            scripted: Servings = self._always
        elif self._script:
            scripted = self._script.popleft()
        else:
            self._unexpected += 1
            return status(400, "the script has no more answers", kind="script_exhausted")
        made = scripted(body) if callable(scripted) else scripted
        answer: Serving = await made if inspect.isawaitable(made) else made
        if isinstance(answer, Served):
            return answer
        step = step_of(answer)
        if step.delay_s:
            await asyncio.sleep(step.delay_s)
        return refusal(step.failure) if step.failure is not None else Served(step=step)

    async def _serve(self, served: Served, body: dict[str, Any], request: web.Request) -> web.StreamResponse:
        from aiohttp import web

        if served.way is Way.HANG:
            await self._closing.wait()
            return web.Response(status=503)
        if body.get("stream") and served.step is not None:
            return await self._stream(served, served.step, body, request)
        text = served.body if served.step is None else json.dumps(completion(served.step, body))
        if served.way is Way.WHOLE:
            return web.Response(
                status=served.status, text=text, content_type=served.content_type, headers=dict(served.headers)
            )
        encoded = text.encode()
        response = web.StreamResponse(status=served.status, headers=dict(served.headers))
        response.content_type = served.content_type
        response.content_length = len(encoded)
        await response.prepare(request)
        if served.way is Way.DRIP:
            for start in range(0, len(encoded), 64):
                await response.write(encoded[start : start + 64])
                await asyncio.sleep(served.pause_s)
            await response.write_eof()
        else:
            await response.write(encoded[: len(encoded) // 2])
            _hang_up(request)
        return response

    async def _stream(
        self, served: Served, step: Step, body: dict[str, Any], request: web.Request
    ) -> web.StreamResponse:
        from aiohttp import web

        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", **served.headers})
        await response.prepare(request)
        events = _events(step, body)
        if served.way in (Way.CUT_STREAM, Way.BREAK_OFF):
            events = events[: max(1, len(events) // 2)]
        for event in events:
            await response.write(event)
            if served.way is Way.DRIP:
                await asyncio.sleep(served.pause_s)
        if served.way is Way.BREAK_OFF:
            _hang_up(request)
            return response
        if served.way is not Way.CUT_STREAM:
            await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
        return response


def _hang_up(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()


def _events(step: Step, body: dict[str, Any]) -> list[bytes]:
    """The answer as server-sent events: words, then pieces of calls, then why it ended, then what was used."""
    document = completion(step, body)
    choice = objects_of(document["choices"])[0]
    message = object_of(choice["message"])
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    words = text_of(message.get("content")).split(" ")
    deltas += [{"content": word if n == len(words) - 1 else f"{word} "} for n, word in enumerate(words) if word or n]
    for index, call in enumerate(objects_of(message.get("tool_calls"))):
        function = object_of(call["function"])
        arguments = text_of(function.get("arguments"))
        half = len(arguments) // 2
        first = {"index": index, "id": call["id"], "type": "function"}
        deltas.append(
            {"tool_calls": [{**first, "function": {"name": function["name"], "arguments": arguments[:half]}}]}
        )
        deltas.append({"tool_calls": [{"index": index, "function": {"arguments": arguments[half:]}}]})
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
    asked = object_of(body.get("stream_options")).get("include_usage")
    if asked and "usage" in document:
        chunks.append({"choices": [], "usage": document["usage"]})
    return [f"data: {json.dumps({'model': body.get('model'), **chunk})}\n\n".encode() for chunk in list_of(chunks)]
