"""Send requests to a chat-completions server and read the answer, streamed or not, with limits on size and time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from leadhand.domain.errors import FailureClass
from leadhand.domain.limits import Usage
from leadhand.models.json_values import decode_json, is_object, object_of, objects_of
from leadhand.models.sse import ServerEvent, SseDecoder
from leadhand.ports import ModelError

from .connections import abandon, connection_failure, open_session, proxy_for
from .errors import failed, failure_of, looks_like_html, redacted
from .stream import Assembly
from .timeouts import Patience, Times

if TYPE_CHECKING:
    import aiohttp

LARGEST_BODY = 10_000_000
"""An answer longer than this, in bytes, is not read to its end."""

_LARGEST_REFUSAL = 100_000
_LARGEST_LIST = 1_000_000
LISTING_TIME_S = 2.0
"""Seconds for a server to list its models."""


class Answered(NamedTuple):
    """What came back: a decoded ``document``, or the ``status``, ``headers`` and ``body`` of a refusal.

    ``heard``: whether text was passed on while it arrived.
    """

    document: dict[str, Any] | None
    status: int = 200
    headers: Mapping[str, str] = {}
    body: str = ""
    heard: bool = False


class ChatServer:
    """A server's ``/chat/completions``, through connections that are kept and opened at first use.

    ``key`` is sent as a bearer token, and cut out of everything that failures say; ``key_setting`` is where it is set.
    """

    def __init__(
        self,
        base_url: str,
        key: str,
        *,
        times: Times,
        ca_file: str | None,
        connections: int,
        key_setting: str = "the API key",
    ) -> None:
        self.base_url = base_url
        self._key = key
        self._key_setting = key_setting
        self._times = times
        self._ca_file = ca_file
        self._connections = connections
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._proxy: str | None = None

    async def aclose(self) -> None:
        """Close the connections. The next call opens new ones."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def post(self, body: bytes, patience: Patience, on_text: Callable[[str], None] | None) -> Answered:
        """One request. ``on_text`` receives the answer's text if the server streams it.

        Raises :class:`ModelError` where nothing usable came back. Being cancelled closes the connection.
        """
        import aiohttp

        begun = False
        patience.asked()
        try:
            session = await self._open()
            async with session.post(
                f"{self.base_url}/chat/completions", data=body, proxy=self._proxy, allow_redirects=False
            ) as response:
                begun = True
                if not 200 <= response.status < 300:
                    text = (await self._read(response, patience, partly=True)).decode("utf-8", "replace")
                    return Answered(None, response.status, dict(response.headers), text.removeprefix("\ufeff"))
                if on_text is not None and "event-stream" in response.content_type:
                    return await self._stream(response, patience, on_text)
                return Answered(self._decoded(await self._read(response, patience), response.content_type))
        except (aiohttp.ClientError, UnicodeError) as error:
            raise self._unreached(error, begun=begun) from None

    async def models(self, base_url: str = "", *, within_s: float = LISTING_TIME_S) -> list[dict[str, Any]]:
        """What the server at ``base_url`` (its own if none is given) says of its models. Raises :class:`ModelError`."""
        listed = await self.fetch_json(f"{base_url or self.base_url}/models", within_s=within_s)
        return objects_of(object_of(listed).get("data"))

    async def fetch_json(self, url: str, body: object = None, *, within_s: float) -> object:
        """Fetch JSON from ``url`` of this server: a GET, or a POST of ``body``. Raises :class:`ModelError`."""
        import aiohttp

        begun = False
        try:
            async with asyncio.timeout(within_s):
                session = await self._open()
                method = "GET" if body is None else "POST"
                async with session.request(
                    method, url, json=body, proxy=self._proxy, allow_redirects=False
                ) as response:
                    begun = True
                    written = await response.content.read(_LARGEST_LIST)
                    while len(written) < _LARGEST_LIST and (more := await response.content.read(_LARGEST_LIST)):
                        written += more
        except TimeoutError as error:
            if isinstance(error, aiohttp.ClientError):
                raise self._unreached(error, begun=begun) from None
            message = f"{url} did not answer within {within_s:g} s"
            action = "check that the server is running and not busy"
            raise failed(message, "timeout", FailureClass.TRANSIENT, None, next_action=action) from None
        except (aiohttp.ClientError, UnicodeError) as error:
            raise self._unreached(error, begun=begun) from None
        if response.status != 200:
            text = written[:_LARGEST_REFUSAL].decode("utf-8", "replace")
            failure = failure_of(
                response.status, dict(response.headers), text, key=self._key, key_setting=self._key_setting
            )
            raise ModelError(failure)
        return self._decoded(written, response.content_type)

    def _unreached(self, error: Exception, *, begun: bool) -> ModelError:
        return self._clean(connection_failure(error, self.base_url, self._proxy, self._times.connect_s, begun=begun))

    async def _read(self, response: aiohttp.ClientResponse, patience: Patience, *, partly: bool = False) -> bytes:
        """The body, up to :data:`LARGEST_BODY`; only its beginning if ``partly``."""
        content = response.content
        if content.is_eof():  # it came with the headers, as most answers do
            whole = content.read_nowait()
            if len(whole) <= LARGEST_BODY:
                return whole
            raise self._too_long()
        chunks: list[bytes] = []
        size = 0
        patience.came(size)
        while chunk := await content.readany():
            chunks.append(chunk)
            size += len(chunk)
            patience.came(size)
            if partly and size > _LARGEST_REFUSAL:
                break
            if size > LARGEST_BODY:
                raise self._too_long()
        return b"".join(chunks)

    def _decoded(self, body: bytes, content_type: str) -> dict[str, Any]:
        """The JSON object of a body. Raises ModelError for a web page, and for a truncated or malformed body."""
        if not body.strip():
            raise failed(f"{self.base_url} answered with an empty body", "empty_body", FailureClass.TRANSIENT, None)
        try:
            document = decode_json(body)
        except ValueError:
            text = body[:2_000].decode("utf-8", "replace")
            if looks_like_html(content_type, text):
                raise failed(
                    f"{self.base_url} answers with a web page",
                    "not_an_api",
                    FailureClass.UNAVAILABLE,
                    Usage(requests=1, nanousd=0),
                    next_action="correct the base URL: it usually ends in /v1",
                ) from None
            if text.lstrip("\ufeff \r\n").startswith(("data:", "event:", ": ", ":\n")):
                return self._unasked_stream(body)
            message = f"the answer is truncated or not valid JSON: it starts with {text[:80]!r}"
            raise self._clean(failed(message, "bad_body", FailureClass.TRANSIENT, None)) from None
        if not is_object(document):
            raise failed("the answer is not a JSON object", "bad_body", FailureClass.TRANSIENT, None)
        return document

    def _unasked_stream(self, body: bytes) -> dict[str, Any]:
        """The answer of a server that streams whatever it is asked for, or says so under another name."""
        decoder, assembly = SseDecoder(), Assembly()
        done = self._take([*decoder.feed(body), *decoder.close()], assembly, lambda _: None)
        return self._assembled(assembly, done=done)

    async def _stream(
        self, response: aiohttp.ClientResponse, patience: Patience, on_text: Callable[[str], None]
    ) -> Answered:
        import aiohttp

        decoder, assembly = SseDecoder(), Assembly()
        size, done, heard = 0, False, False

        def pass_on(text: str) -> None:
            nonlocal heard
            heard = True
            on_text(text)

        content = response.content
        patience.came(size)
        try:
            while not done and (chunk := await content.readany()):
                size += len(chunk)
                patience.came(size)
                if size > LARGEST_BODY:
                    raise self._too_long()
                done = self._take(decoder.feed(chunk), assembly, pass_on)
        except aiohttp.ClientError:
            # Once the server has said why it stopped, all of the answer is there, however the connection ends.
            if not assembly.ended:
                raise failed(
                    "the stream ended in the middle of the answer", "cut_stream", FailureClass.TRANSIENT, None
                ) from None
        if not done:
            done = self._take(decoder.close(), assembly, pass_on)
        document = self._assembled(assembly, done=done)
        if assembly.error is None and (rest := assembly.close()):
            pass_on(rest)
        return Answered(document, heard=heard)

    def _assembled(self, assembly: Assembly, *, done: bool) -> dict[str, Any]:
        if assembly.error is not None:
            return {"error": dict(assembly.error)}
        if not (done or assembly.ended):
            raise failed("the stream ended before the answer was complete", "cut_stream", FailureClass.TRANSIENT, None)
        return assembly.document()

    def _take(self, events: list[ServerEvent], assembly: Assembly, on_text: Callable[[str], None]) -> bool:
        """Passes events on; whether the server said that this was the last."""
        for event in events:
            written = event.data.strip()
            if written == "[DONE]":
                return True
            if not written:
                continue  # some servers send this to keep a connection alive
            try:
                chunk = decode_json(written)
            except ValueError:
                if event.event not in ("message", "error"):
                    continue  # a custom heartbeat event
                message = f"a chunk of the answer is not valid JSON: it starts with {written[:80]!r}"
                raise self._clean(failed(message, "bad_body", FailureClass.TRANSIENT, None)) from None
            piece = object_of(chunk)
            if event.event == "error":
                piece = {"error": piece.get("error", chunk)}
            if text := assembly.take(piece):
                on_text(text)
            if assembly.error is not None:
                return True
        return False

    def _too_long(self) -> ModelError:
        return failed(
            f"the answer is longer than {LARGEST_BODY // 1_000_000} MB, and was not read to its end",
            "too_long_answer",
            FailureClass.INVALID,
            None,
            next_action="check the base URL: no model writes answers this long",
        )

    def _clean(self, error: ModelError) -> ModelError:
        """The same failure with the key redacted."""
        message = redacted(error.failure.message, self._key)
        return ModelError(error.failure.evolve(message=message), error.usage)

    async def _open(self) -> aiohttp.ClientSession:
        """The session of this event loop, opened at first use."""
        loop = asyncio.get_running_loop()
        before = self._session
        if before is not None and not before.closed and self._loop is loop:
            return before
        self._proxy = proxy_for(self.base_url)
        self._session = await open_session(
            key=self._key,
            connections=self._connections,
            connect_s=self._times.connect_s,
            url=self.base_url,
            ca_file=self._ca_file,
        )
        self._loop = loop
        session = self._session
        if before is not None:
            await abandon(before)
        return session
