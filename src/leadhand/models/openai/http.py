"""Send requests to a chat-completions server and read the answer, streamed or not, with limits on size and time."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from leadhand.core.limits import Usage
from leadhand.core.value import is_object, objects_of, text_of
from leadhand.models.answers import decode_json
from leadhand.models.errors import failure_of
from leadhand.models.exceptions import classed
from leadhand.models.failures import LARGEST_BODY, UNBILLED, failed, looks_like_html, too_long
from leadhand.ports import ModelError

from .connections import Patience, proxy_for
from .stream import ChatStream

if TYPE_CHECKING:
    import aiohttp

CONNECT_TIMEOUT_S = 10.0
_LARGEST_REFUSAL = 100_000


class Answered(NamedTuple):
    """The decoded answer, and whether text was passed on while it arrived (``heard``)."""

    document: dict[str, Any]
    heard: bool = False


class ChatServer:
    """The client of a server's ``/chat/completions``, with a connection pool that opens at first use.

    ``key`` is sent as a bearer token and redacted in messages of failures; ``key_setting`` is where it is set, for
    messages. At most ``connections`` are open at once; calls beyond them wait.
    """

    def __init__(self, base_url: str, key: str, key_setting: str, connections: int) -> None:
        self.base_url = base_url
        self._key = key
        self._key_setting = key_setting
        self._connections = connections
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

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

        url = f"{self.base_url}/chat/completions"
        try:
            session = await self._open()
            async with session.post(url, data=aiohttp.BytesPayload(body), allow_redirects=False) as response:
                if not 200 <= response.status < 300:
                    text = (await self._read(response, patience, partly=True)).decode("utf-8", "replace")
                    raise self.refusal(response.status, response.headers, text.removeprefix("\ufeff"), UNBILLED)
                if "event-stream" in response.content_type:
                    return await self._stream(response, patience, on_text)
                return Answered(self._decoded(await self._read(response, patience), response.content_type))
        except (aiohttp.ClientError, UnicodeError) as error:
            raise classed(error, self.base_url, self._key) from None

    async def models(self, base_url: str = "", *, within_s: float) -> list[dict[str, Any]]:
        """Return the model list of the server at ``base_url`` (default: this server). Raises :class:`ModelError`."""
        listed = await self.fetch_json(f"{base_url or self.base_url}/models", within_s=within_s)
        return [model for model in objects_of(listed.get("data")) if text_of(model.get("id"))]

    async def fetch_json(self, url: str, body: object = None, *, within_s: float) -> dict[str, Any]:
        """Fetch a JSON object from ``url`` of this server: a GET, or a POST of ``body``. Raises :class:`ModelError`."""
        import aiohttp

        method = "GET" if body is None else "POST"
        try:
            async with asyncio.timeout(within_s):
                session = await self._open()
                async with session.request(method, url, json=body, allow_redirects=False) as response:
                    written = await response.read()
        except (aiohttp.ClientError, UnicodeError) as error:  # aiohttp's TimeoutErrors are among them
            raise classed(error, self.base_url, self._key) from None
        except TimeoutError:
            message = f"{url} did not answer within {within_s:g} s"
            raise failed("timeout", message, None, "check that the server is running and not busy") from None
        if response.status != 200:
            raise self.refusal(response.status, response.headers, written[:_LARGEST_REFUSAL].decode("utf-8", "replace"))
        return self._decoded(written, response.content_type)

    def refusal(self, status: int, headers: Mapping[str, str], body: str, usage: Usage | None = None) -> ModelError:
        """The error for an answer that :func:`failure_of` describes."""
        return ModelError(failure_of(status, headers, body, key=self._key, key_setting=self._key_setting), usage)

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
        self, response: aiohttp.ClientResponse, patience: Patience, on_text: Callable[[str], None] | None
    ) -> Answered:
        import aiohttp

        stream = ChatStream(on_text, self._key)
        try:
            while not stream.done and (chunk := await response.content.readany()):
                stream.feed(chunk)
                patience.received(chunk, begun=stream.done or stream.begun)
        except aiohttp.ClientError:
            if not stream.ended:
                raise failed("cut_stream", "the stream ended in the middle of the answer") from None
        return Answered(stream.document(), heard=stream.heard)

    def _decoded(self, body: bytes, content_type: str) -> dict[str, Any]:
        """The JSON object of a body. Raises ModelError for a web page, and for a truncated or malformed body."""
        if not body.strip():
            raise failed("empty_body", f"{self.base_url} answered with an empty body")
        try:
            document = decode_json(body)
        except ValueError:
            text = body[:2_000].decode("utf-8", "replace")
            if looks_like_html(content_type, text):
                raise failed("not_an_api", f"{self.base_url} answers with a web page", UNBILLED) from None
            message = f"the answer is truncated or not valid JSON: it starts with {text[:80]!r}"
            raise failed("bad_body", message, key=self._key) from None
        if not is_object(document):
            raise failed("bad_body", "the answer is not a JSON object")
        return document

    async def _open(self) -> aiohttp.ClientSession:
        """The session of this event loop, opened at first use."""
        loop = asyncio.get_running_loop()
        before = self._session
        if before is not None and not before.closed and self._loop is loop:
            return before
        session = self._session = self._new_session()
        self._loop = loop
        if before is not None:
            with contextlib.suppress(RuntimeError, ValueError):  # its event loop may be gone
                await before.close()
        return session

    def _new_session(self) -> aiohttp.ClientSession:
        import ssl

        import aiohttp

        headers = {"Content-Type": "application/json", "User-Agent": "leadhand"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        own = self.base_url.startswith("https:") and os.environ.get("SSL_CERT_FILE")
        certificates = ssl.create_default_context() if own else True  # aiohttp's own context was made at its import
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self._connections, ssl=certificates),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S),
            headers=headers,
            cookie_jar=aiohttp.DummyCookieJar(),
            proxy=proxy_for(self.base_url),
        )
