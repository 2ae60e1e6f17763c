"""Any server that speaks the chat-completions protocol, through a thin client on aiohttp.

It asks once. Trying again is the controller's business; the one exception is a server that refuses a feature, which is
asked again in the form it knows (see ``openai_abilities``).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from leadhand.domain.conversation import ModelProfile, ModelReply, ModelRequest
from leadhand.domain.errors import ConfigurationError, FailureClass
from leadhand.domain.limits import Usage
from leadhand.ports import ModelError

from .base_url import checked_base_url, is_loopback
from .json_values import is_object, object_of
from .openai_abilities import Abilities, learn
from .openai_answers import failed, reply_of
from .openai_errors import error_message, failure_of, looks_like_html, redacted
from .openai_stream import Assembly
from .openai_wire import chat_body, encode
from .sse import ServerEvent, SseDecoder

if TYPE_CHECKING:
    import aiohttp

LARGEST_BODY = 10_000_000
"""An answer longer than this, in bytes, is not read to its end."""

_MOST_FORMS = 6  # requests one call may take while it learns what the server can do
_UNBILLED = Usage(requests=1, nanousd=0)


class _Answered(NamedTuple):
    """What came back: a decoded ``document``, or the ``status`` and body of a refusal."""

    document: dict[str, Any] | None
    status: int = 200
    headers: Mapping[str, str] = {}
    body: str = ""


class OpenAICompatible:
    """A server that speaks the chat-completions protocol.

    The model is what stands behind the colon of ``ModelRequest.model``. Times are in seconds: ``connect_timeout_s`` for
    the connection; ``first_byte_timeout_s`` until the answer begins, which without streaming is when all of it is
    written; ``idle_timeout_s`` between two pieces. The request's own deadline covers everything. ``ca_file`` holds
    certificates to trust besides the system's. By a model's full name, ``profiles`` tells its window and prices, and
    ``costs`` what a usage cost in nano-dollars.

    Raises :class:`~leadhand.domain.errors.ConfigurationError` for a malformed URL or key or a missing ``ca_file``.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        *,
        name: str = "openai_compatible",
        connect_timeout_s: float = 10.0,
        first_byte_timeout_s: float = 60.0,
        idle_timeout_s: float = 30.0,
        ca_file: str | None = None,
        connections: int = 100,
        profiles: Callable[[str], ModelProfile | None] | None = None,
        costs: Callable[[str, Usage], int | None] | None = None,
    ) -> None:
        self.name = name
        self.base_url = checked_base_url(base_url)
        self._key = _checked_key(api_key)
        self._connect_timeout_s = connect_timeout_s
        self._first_byte_timeout_s = first_byte_timeout_s
        self._idle_timeout_s = idle_timeout_s
        if ca_file is not None and not Path(ca_file).is_file():
            raise ConfigurationError(
                f"the certificate file {ca_file} does not exist", "correct the path to the CA file"
            )
        self._ca_file = ca_file
        self._connections = connections
        self._profiles = profiles
        self._costs = costs
        self._abilities: dict[str, Abilities] = {}
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._proxy: str | None = None

    def profile(self, model: str) -> ModelProfile:
        """What is known of ``model``; a server on this machine is free."""
        known = self._profiles(model) if self._profiles is not None else None
        if known is not None:
            return known
        if is_loopback(self.base_url):
            return ModelProfile(name=model, input_nanousd=0, output_nanousd=0, free=True)
        return ModelProfile(name=model)

    async def ask(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        """One call; see :class:`~leadhand.ports.Models`. Plain text is streamed to ``on_text``."""
        # The event loop's own time-out would also turn one that began outside into ours, so it is told apart here.
        deadline = asyncio.timeout(request.deadline_s)
        try:
            async with deadline:
                reply = await self._ask(request, on_text)
        except TimeoutError:
            if not deadline.expired():
                raise
            raise failed(
                f"no answer from {self.name} within {request.deadline_s:g} s", "timeout", FailureClass.TRANSIENT, None
            ) from None
        usage = self._priced(request.model, reply.usage)
        return reply if usage is reply.usage else reply.model_copy(update={"usage": usage})

    async def aclose(self) -> None:
        """Closes the connections. The client can be used again, and opens new ones."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _ask(self, request: ModelRequest, on_text: Callable[[str], None] | None) -> ModelReply:
        model = request.model.partition(":")[2] or request.model
        streamed = on_text is not None and request.output is None
        attempt = 0
        while True:
            attempt += 1
            abilities = self._abilities.get(model, Abilities())
            body = chat_body(request, model, abilities, adapter=self.name, stream=streamed)
            answered = await self._post(encode(body), on_text if streamed else None)
            if answered.document is not None:
                return self._reply(answered.document, request, abilities, attempt)
            said = error_message(answered.body)
            learned = learn(abilities, request, answered.status, said, streamed=streamed)
            if learned is None or attempt == _MOST_FORMS:
                failure = failure_of(answered.status, answered.headers, answered.body, key=self._key)
                raise ModelError(failure, Usage(requests=attempt, nanousd=0))
            if self._abilities.get(model, Abilities()) == abilities:  # else another call has learned meanwhile
                self._abilities[model] = learned

    def _reply(
        self, document: dict[str, Any], request: ModelRequest, abilities: Abilities, requests: int
    ) -> ModelReply:
        error = document.get("error")
        if error and not document.get("choices"):
            # OpenRouter and others answer 200 and say inside what went wrong, the status as a code.
            code = object_of(error).get("code")
            status = code if isinstance(code, int) and 400 <= code < 600 else 502
            raise ModelError(failure_of(status, {}, json.dumps(document), key=self._key), _UNBILLED)
        try:
            return reply_of(document, request, abilities, adapter=self.name, requests=requests)
        except ModelError as failure:
            failure.usage = self._priced(request.model, failure.usage) if failure.usage is not None else None
            raise

    def _priced(self, model: str, usage: Usage) -> Usage:
        """``usage`` with what it cost, if that can be known."""
        if usage.nanousd is not None:
            return usage
        cost = self._costs(model, usage) if self._costs is not None else None
        if cost is None and self.profile(model).free:
            cost = 0
        return usage if cost is None else usage.evolve(nanousd=cost)

    # HTTP

    async def _post(self, body: bytes, on_text: Callable[[str], None] | None) -> _Answered:
        """One request. Raises :class:`ModelError` where nothing usable came back."""
        import aiohttp

        try:
            session = await self._open()
            async with session.post(
                f"{self.base_url}/chat/completions", data=body, proxy=self._proxy, allow_redirects=False
            ) as response:
                if response.status != 200:
                    text = (await self._read(response, partly=True)).decode("utf-8", "replace")
                    return _Answered(None, response.status, dict(response.headers), text)
                if on_text is not None and "event-stream" in response.content_type:
                    return _Answered(await self._stream(response, on_text))
                document = _decoded(await self._read(response), response.content_type)
                if on_text is not None and (text := _plain_text(document)):
                    on_text(text)  # the server does not stream, after all
                return _Answered(document)
        except aiohttp.ClientPayloadError as error:
            kind = "cut_stream" if on_text is not None else "bad_body"
            raise self._failed(f"the answer broke off: {error}", kind, FailureClass.TRANSIENT) from None
        except (aiohttp.ClientConnectorCertificateError, aiohttp.ClientConnectorSSLError) as error:
            raise self._failed(
                f"no trusted connection to {self.base_url}: {error}",
                "certificate",
                FailureClass.UNAVAILABLE,
                next_action="give the company's certificate as the CA file, or correct the base URL",
            ) from None
        except aiohttp.ServerTimeoutError:
            raise self._failed(
                f"{self.base_url} did not answer in time (connect {self._connect_timeout_s:g} s, first byte "
                f"{self._first_byte_timeout_s:g} s)",
                "timeout",
                FailureClass.TRANSIENT,
            ) from None
        except aiohttp.ClientConnectionError as error:
            raise self._failed(
                f"no connection to {self.base_url}: {error}", "connection", FailureClass.TRANSIENT, usage=_UNBILLED
            ) from None
        except aiohttp.ClientError as error:
            raise self._failed(f"the answer is no proper HTTP: {error}", "bad_body", FailureClass.TRANSIENT) from None

    def _failed(
        self, message: str, type: str, class_: FailureClass, *, usage: Usage | None = None, next_action: str = ""
    ) -> ModelError:
        return failed(redacted(message, self._key)[:600], type, class_, usage, next_action=next_action)

    async def _read(self, response: aiohttp.ClientResponse, *, partly: bool = False) -> bytes:
        """The body, up to :data:`LARGEST_BODY`; only its beginning if ``partly``."""
        chunks: list[bytes] = []
        size, most = 0, 100_000 if partly else LARGEST_BODY
        while chunk := await self._next(response):
            chunks.append(chunk)
            size += len(chunk)
            if size > most:
                if partly:
                    break
                raise self._too_long()
        return b"".join(chunks)

    async def _next(self, response: aiohttp.ClientResponse) -> bytes:
        """The next piece of the body, b"" at its end."""
        idle = asyncio.timeout(self._idle_timeout_s)
        try:
            async with idle:
                return await response.content.readany()
        except TimeoutError:
            if not idle.expired():
                raise
            raise self._failed(
                f"{self.base_url} fell silent for {self._idle_timeout_s:g} s", "timeout", FailureClass.TRANSIENT
            ) from None

    def _too_long(self) -> ModelError:
        return self._failed(
            f"the answer is longer than {LARGEST_BODY // 1_000_000} MB", "too_long_answer", FailureClass.INVALID
        )

    async def _stream(self, response: aiohttp.ClientResponse, on_text: Callable[[str], None]) -> dict[str, Any]:
        decoder, assembly = SseDecoder(), Assembly()
        size, done = 0, False
        while not done and (chunk := await self._next(response)):
            size += len(chunk)
            if size > LARGEST_BODY:
                raise self._too_long()
            done = self._take(decoder.feed(chunk), assembly, on_text)
        if not done:
            done = self._take(decoder.close(), assembly, on_text)
        if assembly.error is not None:
            return {"error": dict(assembly.error)}
        if not (done or assembly.ended):
            raise self._failed("the answer broke off in the middle", "cut_stream", FailureClass.TRANSIENT)
        return assembly.document()

    def _take(self, events: list[ServerEvent], assembly: Assembly, on_text: Callable[[str], None]) -> bool:
        """Passes events on; whether the server said that this was the last."""
        for event in events:
            if event.data == "[DONE]":
                return True
            try:
                chunk = json.loads(event.data)
            except (ValueError, RecursionError):
                raise self._failed("a piece of the answer is no JSON", "bad_body", FailureClass.TRANSIENT) from None
            piece = object_of(chunk)
            if event.event == "error":
                piece = {"error": piece.get("error", chunk)}
            if text := assembly.take(piece):
                on_text(text)
            if assembly.error is not None:
                return True
        return False

    async def _open(self) -> aiohttp.ClientSession:
        """The session of this event loop, opened at first use."""
        import aiohttp

        loop = asyncio.get_running_loop()
        before = self._session
        if before is not None and not before.closed and self._loop is loop:
            return before
        headers = {"Content-Type": "application/json", "User-Agent": "leadhand"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        self._proxy = _proxy_for(self.base_url)
        self._loop = loop
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self._connections, ssl=self._certificates()),
            timeout=aiohttp.ClientTimeout(
                total=None, sock_connect=self._connect_timeout_s, sock_read=self._first_byte_timeout_s
            ),
            headers=headers,
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        session = self._session
        if before is not None:
            await _abandon(before)
        return session

    def _certificates(self) -> Any:
        """The system's certificates, and those of the CA file beside them."""
        if self._ca_file is None:
            return True
        import ssl

        context = ssl.create_default_context()
        try:
            context.load_verify_locations(self._ca_file)
        except ssl.SSLError as error:
            raise self._failed(
                f"{self._ca_file} holds no certificates: {error}", "certificate", FailureClass.UNAVAILABLE
            ) from None
        return context


async def _abandon(session: aiohttp.ClientSession) -> None:
    """Closes a session of an event loop that is gone, as far as that goes."""
    with contextlib.suppress(RuntimeError, ValueError):
        await session.close()


def _proxy_for(url: str) -> str | None:
    """The proxy the environment names for ``url``; never one between this machine and itself.

    aiohttp's ``trust_env`` does the same at every request, reads ``~/.netrc`` on a thread each time, and refuses an
    Authorization header where that file has an entry: hence by hand, and once.
    """
    if is_loopback(url):
        return None
    from urllib.parse import urlsplit
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(url)
    if proxy_bypass(parts.netloc):
        return None
    proxies = getproxies()
    return proxies.get(parts.scheme) or proxies.get("all")


def _checked_key(key: str | None) -> str:
    """The key without blanks around it, "" for none. Raises ConfigurationError for one that no header can carry."""
    key = (key or "").strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigurationError(
            "the API key holds blanks or characters no key has", "copy it again from the provider's page"
        )
    return key


def _decoded(body: bytes, content_type: str) -> dict[str, Any]:
    """The JSON object of a body. Raises ModelError: a web page is no API, anything else was cut or garbled."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        text = body[:2_000].decode("utf-8", "replace")
        if looks_like_html(content_type, text):
            raise failed(
                "the base URL answers with a web page",
                "not_an_api",
                FailureClass.UNAVAILABLE,
                Usage(requests=1, nanousd=0),
                next_action="correct the base URL: it usually ends in /v1",
            ) from None
        raise failed("the answer is cut off or no JSON", "bad_body", FailureClass.TRANSIENT, None) from None
    if not is_object(document):
        raise failed("the answer is no JSON object", "bad_body", FailureClass.TRANSIENT, None)
    return document


def _plain_text(document: Mapping[str, Any]) -> str:
    """The text of a plain answer, for whoever expected a stream."""
    match document:
        case {"choices": [{"message": {"content": str() as text}}, *_]}:
            return text
        case _:
            return ""
