"""A server in front of a real one, which writes down what passes, and can refuse what the real one supports."""

from __future__ import annotations

import json
from types import TracebackType
from typing import Any, Self

import aiohttp
from aiohttp import web


class Recorder:
    """Passes requests on to ``base_url`` and the answers back, also in pieces.

    ``grammar`` False: it answers requests for a ``response_format`` with status 400, as servers without JSON grammars
    do. ``endless``: the model writes until a limit stops it.
    """

    def __init__(self, base_url: str, *, grammar: bool = True, endless: bool = False) -> None:
        self._behind = base_url.removesuffix("/v1")
        self._grammar = grammar
        self._added: dict[str, Any] = {"ignore_eos": True} if endless else {}
        self.base_url = ""
        self.sent: list[dict[str, Any]] = []
        """The bodies of the calls to the model that were not refused."""
        self.refused = 0
        self.texts: list[str] = []
        """What the model wrote in each answer."""
        self.tokens = 0
        """What the server itself counted, of prompts and answers."""
        self._at_once = 0
        self.most_at_once = 0

    async def __aenter__(self) -> Self:
        self._client = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None))
        app = web.Application(client_max_size=10_000_000)
        app.router.add_route("*", "/{path:.*}", self._pass_on)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.base_url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        await self._runner.cleanup()
        await self._client.close()

    async def _pass_on(self, request: web.Request) -> web.StreamResponse:
        if not request.path.endswith("/chat/completions"):
            async with self._client.request(request.method, self._behind + request.path_qs) as got:
                return web.Response(body=await got.read(), status=got.status, content_type=got.content_type)
        body = await request.json()
        if "response_format" in body and not self._grammar:
            self.refused += 1
            return web.json_response({"error": {"message": "response_format is not supported"}}, status=400)
        self.sent.append(body)
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            return await self._answer(request, body)
        finally:
            self._at_once -= 1

    async def _answer(self, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        async with self._client.post(f"{self._behind}{request.path}", json=body | self._added) as got:
            response = web.StreamResponse(status=got.status, headers={"content-type": got.headers["content-type"]})
            await response.prepare(request)
            whole = b""
            async for piece in got.content.iter_any():
                whole += piece
                await response.write(piece)
        self._read(whole.decode())
        await response.write_eof()
        return response

    def _read(self, answer: str) -> None:
        """Write down the text and the tokens of an answer: one document, or a stream of them."""
        lines = [line.removeprefix("data:").strip() for line in answer.splitlines()]
        documents = [json.loads(line) for line in lines if line.startswith("{")]
        written = [
            choice.get("delta") or choice.get("message") for each in documents for choice in each.get("choices", ())
        ]
        self.texts.append("".join(part.get("content") or "" for part in written if part))
        self.tokens += next((each["usage"]["total_tokens"] for each in reversed(documents) if each.get("usage")), 0)
