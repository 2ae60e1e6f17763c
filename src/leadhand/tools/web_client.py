"""HTTP client for public services: one session, an identifying User-Agent, rate limits, and a cache."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from leadhand.core.errors import FailureClass, ToolError
from leadhand.core.value import Json
from leadhand.engine.calls.permits import Queue, rest
from leadhand.ports import Clock, ContextStore, WebReply

from .services import SERVICES, Service, setting

if TYPE_CHECKING:
    import aiohttp

HOME = "https://github.com/leadhand/leadhand"
MAX_BODY_BYTES = 10 * 1024 * 1024
CONNECT_TIMEOUT_S = 5.0


class OfflineWeb:
    """:class:`~leadhand.ports.Web` of a run without a network: every call fails."""

    async def get(self, service: str, url: str, params: Mapping[str, str | int | float]) -> WebReply:
        """Raise ``ToolError`` (``offline``)."""
        raise ToolError(
            f"{service} cannot be reached: the run is offline",
            type="offline",
            class_=FailureClass.UNAVAILABLE,
            next_action="run without --offline; a tool can check context.offline",
        )

    async def post(self, service: str, url: str, body: Json) -> WebReply:
        """Raise as :meth:`get` does."""
        return await self.get(service, url, {})


class AiohttpWeb:
    """:class:`~leadhand.ports.Web` on aiohttp, for the services in :data:`~leadhand.tools.services.SERVICES`.

    Proxies are taken from the environment (``trust_env``), certificates from OpenSSL's defaults (``SSL_CERT_FILE``).
    Successful responses are cached for as long as the service's rules say; identical calls wait for the first of them.
    """

    def __init__(
        self,
        store: ContextStore,
        clock: Clock,
        *,
        total_timeout: float = 20.0,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """``store`` has the gates and the cache that all processes share; ``clock`` waits at a gate.

        ``total_timeout`` is the limit of one request in seconds, without these waits. API keys are in ``environment``.
        """
        self._store = store
        self._clock = clock
        self._environment = os.environ if environment is None else environment
        self._total_timeout = total_timeout
        self._session: aiohttp.ClientSession | None = None
        self._asked: WeakValueDictionary[str, Queue] = WeakValueDictionary()

    async def aclose(self) -> None:
        """Close the connections."""
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
        rules = SERVICES.get(service) or Service(service, url, seconds_between=0, kept_s=0)
        if not rules.kept_s:
            return await self._request(service, rules, method, url, sent)
        asked = [service, method, url, sent.get("params"), sent.get("json")]
        key = json.dumps(asked, sort_keys=True, ensure_ascii=False)
        queue = self._asked.setdefault(key, Queue(1, service, "the same question is being asked"))
        async with queue.permit():
            if (kept := await self._store.cached(key)) is not None:
                return WebReply(status=200, body=kept)
            if rules.seconds_between:
                self._open()  # an import after the gate would delay this request, and not the next one
                wait = await self._store.pass_gate(service, rules.seconds_between)
                await rest(self._clock, wait, f"the rate limit of {service}")
            reply = await self._request(service, rules, method, url, sent)
            if reply.status == 200 and reply.body is not None:
                await self._store.cache(key, reply.body, rules.kept_s)
            return reply

    def _open(self) -> aiohttp.ClientSession:
        import aiohttp

        if self._session is None:
            self._session = aiohttp.ClientSession(
                trust_env=True,
                timeout=aiohttp.ClientTimeout(total=self._total_timeout, sock_connect=CONNECT_TIMEOUT_S),
                headers={"User-Agent": user_agent(), "Accept": "application/json"},
            )
        return self._session

    async def _request(self, service: str, rules: Service, method: str, url: str, sent: Mapping[str, Any]) -> WebReply:
        import aiohttp

        address = setting(service) if service in SERVICES else "its URL"
        how = f"check the network (and HTTPS_PROXY), or correct {address}"
        try:
            async with self._open().request(method, url, **sent, **self._with_key(rules)) as response:
                received = await _read(response.content, rules.title)
                headers = {name.lower(): value for name, value in response.headers.items()}
                return _reply(response.status, received, headers, response.charset or "utf-8")
        except TimeoutError:
            what = f"{rules.title} did not connect in {CONNECT_TIMEOUT_S:g} s or answer in {self._total_timeout:g} s"
            raise ToolError(what, type="timeout", class_=FailureClass.TRANSIENT, next_action=how) from None
        except aiohttp.InvalidURL:
            what = f"{url!r} is not a valid address of {rules.title}"
            how = f"correct {address}"
            raise ToolError(what, type="bad_url", class_=FailureClass.UNAVAILABLE, next_action=how) from None
        except aiohttp.ClientError as error:
            what = f"the connection to {rules.title} failed: {error or type(error).__name__}"
            raise ToolError(what, type="connection", class_=FailureClass.TRANSIENT, next_action=how) from error

    def _with_key(self, rules: Service) -> dict[str, Any]:
        """The header with the API key of a service. A redirect is not followed, so that only the service gets it."""
        key = self._environment.get(rules.key, "").strip()
        if not key:
            return {}
        return {
            "headers": {rules.key_header: f"Bearer {key}" if rules.key_header == "Authorization" else key},
            "allow_redirects": False,
        }


async def _read(content: aiohttp.StreamReader, title: str) -> bytes:
    """Return the body. Raises ``ToolError`` as soon as it is too large."""
    received = bytearray()
    async for chunk in content.iter_any():
        received += chunk
        if len(received) > MAX_BODY_BYTES:
            raise ToolError(
                f"{title} answered with more than {MAX_BODY_BYTES:,} bytes",
                type="body_too_large",
                class_=FailureClass.UNAVAILABLE,
                next_action="request less at once",
            )
    return bytes(received)


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
