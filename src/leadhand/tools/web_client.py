"""HTTP client for public services: one session, an identifying User-Agent, rate limits, and a cache."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leadhand.core.errors import FailureClass, ToolError
from leadhand.core.value import Json
from leadhand.ports import ContextStore, WebReply

from .services import SERVICES, Service

if TYPE_CHECKING:
    import aiohttp

HOME = "https://github.com/leadhand/leadhand"
MAX_BODY_BYTES = 10 * 1024 * 1024
CONNECT_TIMEOUT_S = 5.0

Gate = Callable[[str], Awaitable[None]]
"""Waits until the service may receive another request, across all processes that share the store."""


@dataclass(slots=True)
class _Flight:
    """A running request, and the number of calls that wait for it."""

    task: asyncio.Task[WebReply]
    waiting: int = 0


class AiohttpWeb:
    """:class:`~leadhand.ports.Web` on aiohttp, for the services in :data:`~leadhand.tools.services.SERVICES`.

    Proxies are taken from the environment (``trust_env``), certificates from OpenSSL's defaults (``SSL_CERT_FILE``).
    Identical calls at the same time share one request; successful responses are cached for as long as the service's
    rules say.
    """

    def __init__(
        self,
        *,
        gate: Gate,
        cache: ContextStore | None = None,
        total_timeout: float = 20.0,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """``gate`` is awaited before every request to a service that requires a pause between two.

        ``total_timeout`` is the limit of one request in seconds, without the wait at the gate. API keys are in
        ``environment``.
        """
        self._environment = os.environ if environment is None else environment
        self._gate = gate
        self._cache = cache
        self._total_timeout = total_timeout
        self._session: aiohttp.ClientSession | None = None
        self._flights: dict[str, _Flight] = {}

    async def aclose(self) -> None:
        """Cancel running requests and close the connections."""
        tasks = [flight.task for flight in self._flights.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def get(self, service: str, url: str, params: Mapping[str, str | int | float]) -> WebReply:
        """Make a GET request; any status is a reply. Raises ``ToolError`` (``timeout``, ``bad_url``, …)."""
        return await self._ask(service, "GET", url, params=params)

    async def post(self, service: str, url: str, body: Json) -> WebReply:
        """Make a POST request with JSON. Raises as :meth:`get` does."""
        return await self._ask(service, "POST", url, json=body)

    async def _ask(self, service: str, method: str, url: str, **sent: Any) -> WebReply:
        rules = SERVICES.get(service)
        if rules is None:
            return await self._request(service, method, url, sent)
        asked = [service, method, url, sent.get("params"), sent.get("json")]
        key = json.dumps(asked, sort_keys=True, ensure_ascii=False)
        if self._cache is not None and (kept := await self._cache.cached(key)) is not None:
            return WebReply(status=200, body=kept)

        async def fetch() -> WebReply:
            if rules.seconds_between > 0:
                await self._gate(service)
            reply = await self._request(service, method, url, sent)
            if self._cache is not None and reply.status == 200 and reply.body is not None:
                await self._cache.cache(key, reply.body, rules.kept_s)
            return reply

        return await self._share(key, fetch)

    async def _share(self, key: str, fetch: Callable[[], Awaitable[WebReply]]) -> WebReply:
        """Return the result of ``fetch``, shared by all identical calls at the same time.

        If one caller is cancelled, the others still get the result; when all are cancelled, the request ends.
        """
        flight = self._flights.get(key)
        if flight is None:
            flight = self._flights[key] = _Flight(asyncio.ensure_future(fetch()))
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiting -= 1
            if not flight.waiting:
                flight.task.cancel()
                self._flights.pop(key, None)

    async def _request(self, service: str, method: str, url: str, sent: Mapping[str, Any]) -> WebReply:
        import aiohttp

        rules = SERVICES.get(service)
        title, setting = (rules.title, rules.setting) if rules else (service, "its URL")
        unreachable = "check the network (and HTTPS_PROXY), " + (
            "run with --offline for sample data, " if rules else ""
        )
        if self._session is None:
            self._session = aiohttp.ClientSession(
                trust_env=True,
                timeout=aiohttp.ClientTimeout(total=self._total_timeout, sock_connect=CONNECT_TIMEOUT_S),
                headers={"User-Agent": user_agent(), "Accept": "application/json"},
            )
        try:
            async with self._session.request(method, url, **sent, **self._with_key(rules)) as response:
                received = await _read(response.content, response.content_length, title)
                headers = {name.lower(): value for name, value in response.headers.items()}
                return _reply(response.status, received, headers, response.charset or "utf-8")
        except TimeoutError:
            raise ToolError(
                f"{title} did not connect in {CONNECT_TIMEOUT_S:g} s or answer in {self._total_timeout:g} s",
                type="timeout",
                class_=FailureClass.TRANSIENT,
                next_action=f"{unreachable}try again later, or set {setting} to another server",
            ) from None
        except aiohttp.InvalidURL:
            raise ToolError(
                f"{url!r} is not a valid address of {title}",
                type="bad_url",
                class_=FailureClass.UNAVAILABLE,
                next_action=f"correct {setting}",
            ) from None
        except aiohttp.ClientError as error:
            raise ToolError(
                f"the connection to {title} failed: {error or type(error).__name__}",
                type="connection",
                class_=FailureClass.TRANSIENT,
                next_action=f"{unreachable}or fix {setting} if it is set",
            ) from error

    def _with_key(self, rules: Service | None) -> dict[str, Any]:
        """The header with the API key of a service. A redirect is not followed, so that only the service gets it."""
        key = self._environment.get(rules.key, "").strip() if rules is not None and rules.key else ""
        if rules is None or not key:
            return {}
        return {
            "headers": {rules.key_header: f"Bearer {key}" if rules.key_header == "Authorization" else key},
            "allow_redirects": False,
        }


async def _read(content: aiohttp.StreamReader, announced: int | None, title: str) -> bytes:
    """Return the body. Raises ``ToolError`` as soon as it is too large."""
    received = bytearray()
    if (announced or 0) <= MAX_BODY_BYTES:
        async for chunk in content.iter_any():
            received += chunk
            if len(received) > MAX_BODY_BYTES:
                break
        else:
            return bytes(received)
    raise ToolError(
        f"{title} answered with more than {MAX_BODY_BYTES:,} bytes",
        type="body_too_large",
        class_=FailureClass.UNAVAILABLE,
        next_action="request less at once",
    )


def user_agent() -> str:
    """``leadhand/<version> (+https://…)``: the OSM services refuse the agents of stock libraries."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"leadhand/{version('leadhand')} (+{HOME})"
    except PackageNotFoundError:  # a source tree that was never installed
        return f"leadhand/0 (+{HOME})"


def _reply(status: int, received: bytes, headers: Mapping[str, str], charset: str) -> WebReply:
    try:
        return WebReply(status=status, body=json.loads(received), headers=headers)
    except (ValueError, RecursionError):  # invalid JSON or Unicode, or nested too deeply
        pass
    try:
        text = received.decode(charset, "replace")
    except LookupError:  # an unknown charset
        text = received.decode("utf-8", "replace")
    return WebReply(status=status, text=text, headers=headers)
