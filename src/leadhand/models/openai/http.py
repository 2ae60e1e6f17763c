"""Send requests to a chat-completions server and read the answer, streamed or not, with limits on size and time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from leadhand.core.limits import Usage
from leadhand.core.value import is_object, objects_of, text_of
from leadhand.models.answers import decode_json
from leadhand.models.failures import LARGEST_BODY, UNBILLED, failed, looks_like_html, too_long
from leadhand.ports import ModelError

from .connections import Patience, Server, connection_failure, proxy_for
from .errors import failure_of
from .stream import ChatStream

if TYPE_CHECKING:
    import aiohttp

_LARGEST_REFUSAL = 100_000
_LARGEST_LIST = 1_000_000
LISTING_TIME_S = 2.0
"""Seconds for a server to list its models."""


class Answered(NamedTuple):
    """A response: a decoded ``document``, or the ``status``, ``headers`` and ``body`` of an error.

    ``heard``: whether text was passed on while it arrived.
    """

    document: dict[str, Any] | None
    status: int = 200
    headers: Mapping[str, str] = {}
    body: str = ""
    heard: bool = False


class ChatServer:
    """The client of a server's ``/chat/completions``, with a connection pool that opens at first use."""

    def __init__(self, server: Server) -> None:
        self.at = server
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._proxy: str | None = None

    async def aclose(self) -> None:
        """Close the connections. The next call opens new ones."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def post(self, body: bytes, patience: Patience, on_text: Callable[[str], None] | None) -> Answered:
        """Send one request. ``on_text`` receives the answer's text if the server streams it.

        Raises :class:`ModelError` if there is no usable response. Cancelling closes the connection.
        """
        import aiohttp

        begun = False
        patience.sent()
        try:
            session = await self._open()
            async with session.post(
                f"{self.at.base_url}/chat/completions", data=body, proxy=self._proxy, allow_redirects=False
            ) as response:
                begun = True
                if not 200 <= response.status < 300:
                    text = (await self._read(response, patience, partly=True)).decode("utf-8", "replace")
                    return Answered(None, response.status, dict(response.headers), text.removeprefix("\ufeff"))
                if on_text is not None and "event-stream" in response.content_type:
                    return await self._stream(response, patience, on_text)
                return Answered(self._decoded(await self._read(response, patience), response.content_type))
        except (aiohttp.ClientError, UnicodeError) as error:
            raise connection_failure(error, self.at, begun=begun) from None

    async def models(self, base_url: str = "", *, within_s: float = LISTING_TIME_S) -> list[dict[str, Any]]:
        """Return the model list of the server at ``base_url`` (default: this server). Raises :class:`ModelError`."""
        listed = await self.fetch_json(f"{base_url or self.at.base_url}/models", within_s=within_s)
        return objects_of(listed.get("data"))

    async def model_names(self, base_url: str = "", *, within_s: float = LISTING_TIME_S) -> list[str]:
        """The names of :meth:`models`."""
        listed = await self.models(base_url, within_s=within_s)
        return [name for model in listed if (name := text_of(model.get("id")))]

    async def fetch_json(self, url: str, body: object = None, *, within_s: float = LISTING_TIME_S) -> dict[str, Any]:
        """Fetch a JSON object from ``url`` of this server: a GET, or a POST of ``body``. Raises :class:`ModelError`."""
        import aiohttp

        begun = False
        method = "GET" if body is None else "POST"
        try:
            async with asyncio.timeout(within_s):
                session = await self._open()
                request = session.request(method, url, json=body, proxy=self._proxy, allow_redirects=False)
                async with request as response:
                    begun, written = True, b""
                    while len(written) < _LARGEST_LIST and (more := await response.content.read(_LARGEST_LIST)):
                        written += more
        except (aiohttp.ClientError, UnicodeError) as error:  # aiohttp's TimeoutErrors are among them
            raise connection_failure(error, self.at, begun=begun) from None
        except TimeoutError:
            message = f"{url} did not answer within {within_s:g} s"
            raise failed("timeout", message, None, "check that the server is running and not busy") from None
        if response.status != 200:
            raise self.refusal(response.status, response.headers, written[:_LARGEST_REFUSAL].decode("utf-8", "replace"))
        return self._decoded(written, response.content_type)

    def refusal(
        self, status: int, headers: Mapping[str, str], body: str, usage: Usage | None = None, *, inside: bool = False
    ) -> ModelError:
        """The error for an answer that :func:`failure_of` describes."""
        server = self.at
        failure = failure_of(status, headers, body, key=server.key, key_setting=server.key_setting, inside=inside)
        return ModelError(failure, usage)

    async def _read(self, response: aiohttp.ClientResponse, patience: Patience, *, partly: bool = False) -> bytes:
        """The body, up to :data:`LARGEST_BODY`; only its beginning if ``partly``."""
        content = response.content
        if content.is_eof():  # it came with the headers, as most answers do
            whole = content.read_nowait()
            if len(whole) > LARGEST_BODY:
                raise too_long()
            return whole
        chunks: list[bytes] = []
        while chunk := await content.readany():
            patience.received(chunk, begun=not chunk.isspace())
            chunks.append(chunk)
            if partly and patience.size > _LARGEST_REFUSAL:
                break
        return b"".join(chunks)

    async def _stream(
        self, response: aiohttp.ClientResponse, patience: Patience, on_text: Callable[[str], None]
    ) -> Answered:
        import aiohttp

        stream = ChatStream(on_text, self.at.key)
        try:
            while not stream.done and (chunk := await response.content.readany()):
                stream.feed(chunk)
                patience.received(chunk, begun=stream.done or stream.begun)
        except aiohttp.ClientError:
            if not stream.ended:
                raise stream.cut("in the middle of the answer") from None
        return Answered(stream.document(), heard=stream.heard)

    def _decoded(self, body: bytes, content_type: str) -> dict[str, Any]:
        """The JSON object of a body. Raises ModelError for a web page, and for a truncated or malformed body."""
        url = self.at.base_url
        if not body.strip():
            raise failed("empty_body", f"{url} answered with an empty body")
        try:
            document = decode_json(body)
        except ValueError:
            text = body[:2_000].decode("utf-8", "replace")
            if looks_like_html(content_type, text):
                raise failed("not_an_api", f"{url} answers with a web page", UNBILLED) from None
            if text.lstrip("\ufeff \r\n").startswith(("data:", "event:", ": ", ":\n")):
                stream = ChatStream(None, self.at.key)  # some servers always stream
                stream.feed(body)
                return stream.document()
            message = f"the answer is truncated or not valid JSON: it starts with {text[:80]!r}"
            raise failed("bad_body", message, key=self.at.key) from None
        if not is_object(document):
            raise failed("bad_body", "the answer is not a JSON object")
        return document

    async def _open(self) -> aiohttp.ClientSession:
        """The session of this event loop, opened at first use."""
        loop = asyncio.get_running_loop()
        before = self._session
        if before is not None and not before.closed and self._loop is loop:
            return before
        self._proxy = proxy_for(self.at.base_url)
        session = self._session = self.at.open()
        self._loop = loop
        if before is not None:
            with contextlib.suppress(RuntimeError, ValueError):  # its event loop may be gone
                await before.close()
        return session
