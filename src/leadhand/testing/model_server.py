"""A real HTTP server on this machine that serves chat completions from a script, including faults."""

from __future__ import annotations

import asyncio
import inspect
import json
import ssl
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from aiohttp import web

from leadhand.core.value import object_of, objects_of, text_of

from .faults import Fault, Served, Serving, Servings, Way, completion, refusal, request_of, status
from .faults import fault as find_fault
from .scripted_model import ScriptError
from .steps import Step, step_of, words_of, worker_of


@dataclass(frozen=True, slots=True)
class Seen:
    """A request as it arrived: its decoded ``body`` and its ``headers``, names in lower case."""

    body: dict[str, Any]
    headers: Mapping[str, str]

    @property
    def worker(self) -> str:
        """Its worker: ``plan``, ``review``, ``work``, ``compose``, or another name that its output or brief has."""
        return worker_of(request_of(self.body, "scripted"))


@dataclass(slots=True)
class _Injected:
    """A fault and the requests it affects, as :meth:`ScriptedServer.inject` describes them."""

    served: Served
    nth: int
    times: int
    worker: str
    fitting: int = 0
    met: int = 0

    def meets(self, seen: Seen) -> bool:
        if self.worker and seen.worker != self.worker:
            return False
        self.fitting += 1
        if self.met == self.times or self.fitting < self.nth:
            return False
        self.met += 1
        return True


class ScriptedServer:
    """A chat-completions server on a free port of 127.0.0.1: ``async with ScriptedServer([…]) as server``.

    ``script`` is a list of answers taken in order (:class:`~leadhand.testing.steps.Step`, a text, a JSON object, or a
    fault of this module, a function of the request), or one function that answers every call, such as
    :func:`served_by`. ``models`` are what ``GET /v1/models`` lists. A request beyond the script gets a 400 and
    fails :meth:`assert_done`, which leaving the context calls; so does an unused answer.

    :meth:`inject` puts faults before the script. ``base_url`` is for clients, ``requests`` what they sent,
    ``in_flight`` how many are being answered, ``most_at_once`` the maximum of that, ``abandoned`` how many clients
    disconnected before their answer. ``port`` is a free one unless given; ``tls`` makes it an HTTPS server.
    """

    def __init__(
        self,
        script: Iterable[Servings] | Callable[[dict[str, Any]], Serving | Awaitable[Serving]] = (),
        *,
        models: Iterable[str] = ("scripted",),
        port: int = 0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._always = script if callable(script) else None
        self._script: deque[Servings] = deque() if callable(script) else deque(script)
        self._models = tuple(models)
        self._port = port
        self._tls = tls
        self._injected: list[_Injected] = []
        self._unexpected = 0
        self._changed = asyncio.Event()
        self._closing = asyncio.Event()
        self._runner: web.AppRunner | None = None
        self.requests: list[Seen] = []
        self.abandoned = 0
        self.in_flight = 0
        self.most_at_once = 0
        self.base_url = ""

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=50_000_000)
        app.router.add_post("/v1/chat/completions", self._answer)
        app.router.add_get("/v1/models", self._list)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.5, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port, ssl_context=self._tls)
        await site.start()
        port = self._runner.addresses[0][1]
        self.base_url = f"{'https' if self._tls else 'http'}://127.0.0.1:{port}/v1"
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._closing.set()
        if self._runner is not None:
            await self._runner.cleanup()
        if kind is None:
            self.assert_done()

    def inject(self, fault: Served | Fault | str, *, nth: int = 1, times: int = 1, worker: str = "") -> Self:
        """Answer some requests with ``fault``, a fault or the name of one of ``leadhand.testing.faults``.

        Of the requests for ``worker`` (by default, all requests), it affects the ``nth`` and those after it, ``times``
        in total. An affected request takes no answer from the script, so a retry gets that answer. A fault that affects
        fewer requests fails :meth:`assert_done`.
        """
        served = fault if isinstance(fault, Served) else find_fault(str(fault)).serve()
        self._injected.append(_Injected(served, nth, times, worker))
        return self

    async def until(self, reached: Callable[[], bool], *, within_s: float = 10.0) -> None:
        """Wait until something is true of what this server counts. Raises TimeoutError if that takes longer."""
        async with asyncio.timeout(within_s):
            while not reached():
                self._changed.clear()
                await self._changed.wait()

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The decoded bodies of the requests, in the order of arrival."""
        return [seen.body for seen in self.requests]

    def assert_done(self) -> None:
        """Raise :class:`~leadhand.testing.scripted_model.ScriptError` if requests or answers are left over."""
        if self._unexpected:
            raise ScriptError(f"{self._unexpected} requests arrived that the script does not answer")
        if self._script:
            raise ScriptError(f"{len(self._script)} answers were not used")
        missed = [fault for fault in self._injected if fault.met < fault.times]
        if missed:
            raise ScriptError(f"{len(missed)} faults affected fewer requests than expected")

    async def _list(self, request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": name, "object": "model"} for name in self._models]})

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        text = await request.text()
        body = object_of(json.loads(text))
        seen = Seen(body, {name.casefold(): value for name, value in request.headers.items()})
        self.requests.append(seen)
        self.in_flight += 1
        self.most_at_once = max(self.most_at_once, self.in_flight)
        self._changed.set()
        try:
            fault = next((fault for fault in self._injected if fault.meets(seen)), None)
            served = fault.served if fault is not None else await self._next(body)
            return await self._serve(served, body, request)
        except (asyncio.CancelledError, ConnectionError):
            self.abandoned += 1
            raise
        finally:
            self.in_flight -= 1
            self._changed.set()

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
        if served.way is Way.HANG:
            await self._closing.wait()
            return web.Response(status=503)
        if served.way is Way.HANG_UP:
            _hang_up(request)
            return web.Response()
        if body.get("stream") and served.step is not None:
            return await self._stream(served, served.step, body, request)
        # For faults of streams, a plain answer has the given body.
        text = served.body if served.step is None or served.body else json.dumps(completion(served.step, body))
        if served.way in (Way.WHOLE, Way.CUT_STREAM, Way.STREAM_ERROR):
            return web.Response(
                status=served.status, text=text, content_type=served.content_type, headers=dict(served.headers)
            )
        return await self._slowly(served, text.encode(), request)

    async def _slowly(self, served: Served, encoded: bytes, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=served.status, headers=dict(served.headers))
        response.content_type = served.content_type
        if served.way is not Way.ENDLESS:
            response.content_length = len(encoded)
        await response.prepare(request)
        match served.way:
            case Way.DRIP:
                for start in range(0, len(encoded), 64):
                    await response.write(encoded[start : start + 64])
                    await asyncio.sleep(served.pause_s)
                await response.write_eof()
            case Way.HANG_BODY:
                await self._closing.wait()
            case Way.ENDLESS:
                await response.write(b'{"choices": [{"message": {"content": "')
                while not self._closing.is_set():
                    await response.write(b"x" * 100_000)
            case _:
                await response.write(encoded[: len(encoded) // 2])
                _hang_up(request)
        return response

    async def _stream(
        self, served: Served, step: Step, body: dict[str, Any], request: web.Request
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", **served.headers})
        await response.prepare(request)
        events = _events(step, body)
        if served.way in (Way.CUT_STREAM, Way.BREAK_OFF, Way.STREAM_ERROR, Way.HANG_BODY):
            events = events[: max(1, len(events) // 2)]
        for event in events:
            await response.write(event)
            if served.way is Way.DRIP:
                await asyncio.sleep(served.pause_s)
            while served.way is Way.ENDLESS and event is not events[0] and not self._closing.is_set():
                await response.write(event)  # the first has no text
        if served.way is Way.HANG_BODY:
            await self._closing.wait()
        if served.way in (Way.BREAK_OFF, Way.HANG_BODY):
            _hang_up(request)
            return response
        if served.way is Way.STREAM_ERROR:
            await response.write(f"data: {served.body}\n\n".encode())
        elif served.way is not Way.CUT_STREAM:
            await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
        return response


def _hang_up(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()


def _events(step: Step, body: dict[str, Any]) -> list[bytes]:
    """Return the answer as server-sent events: words, pieces of calls, the finish reason, the usage."""
    document = completion(step, body)
    choice = objects_of(document["choices"])[0]
    message = object_of(choice["message"])
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": word} for word in words_of(text_of(message.get("content")))]
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
    with_usage = object_of(body.get("stream_options")).get("include_usage")
    if with_usage and "usage" in document:
        chunks.append({"choices": [], "usage": document["usage"]})
    return [f"data: {json.dumps({'model': body.get('model'), **chunk})}\n\n".encode() for chunk in chunks]
