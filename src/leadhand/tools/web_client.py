"""The client of public services: within their rate limits, and with a cache."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from leadhand.core.errors import ToolError
from leadhand.core.value import Json
from leadhand.engine.calls.permits import Queue, rest
from leadhand.ports import Clock, ContextStore, WebReply
from leadhand.tools.web.extraction import decoded
from leadhand.tools.web.fetching import PageFetcher, body_of, checked_url

from .services import SERVICES, Service, setting, unavailable

if TYPE_CHECKING:
    import aiohttp
    from yarl import URL


class AiohttpWeb:
    """:class:`~leadhand.ports.Web` on aiohttp, for the services in :data:`~leadhand.tools.services.SERVICES`.

    Proxies are taken from the environment, certificates from OpenSSL's defaults (``SSL_CERT_FILE``).
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
        self._fetcher = PageFetcher(allowed=lambda _address: True, proxies=True, within_s=total_timeout)
        self._asked: WeakValueDictionary[str, Queue] = WeakValueDictionary()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._fetcher.aclose()

    async def get(self, service: str, url: str, params: Mapping[str, str | int | float]) -> WebReply:
        """Make a GET request; any status is a reply. Raises ``ToolError`` (``timeout``, ``refused_url``, …)."""
        return await self._ask(service, "GET", url, params)

    async def post(self, service: str, url: str, body: Json) -> WebReply:
        """Make a POST request with JSON. Raises as :meth:`get` does."""
        return await self._ask(service, "POST", url, {}, json=body)

    async def _ask(
        self, service: str, method: str, url: str, params: Mapping[str, str | int | float], **sent: Any
    ) -> WebReply:
        rules = SERVICES.get(service) or Service(service, url, seconds_between=0, kept_s=0)
        if not rules.kept_s:
            return await self._request(service, rules, method, url, params, sent)
        key = json.dumps([service, method, url, params, sent], sort_keys=True, ensure_ascii=False)
        queue = self._asked.setdefault(key, Queue(1, service, "the same question is being asked"))
        async with queue.permit():
            if (kept := await self._store.cached(key)) is not None:
                return WebReply(status=200, body=kept)
            if rules.seconds_between:
                wait = await self._store.pass_gate(service, rules.seconds_between)
                await rest(self._clock, wait, f"the rate limit of {service}")
            reply = await self._request(service, rules, method, url, params, sent)
            if reply.status == 200 and reply.body is not None:
                await self._store.cache(key, reply.body, rules.kept_s)
            return reply

    async def _request(
        self,
        service: str,
        rules: Service,
        method: str,
        url: str,
        params: Mapping[str, str | int | float],
        sent: Mapping[str, Any],
    ) -> WebReply:
        key = self._environment.get(rules.key, "").strip()
        headers = {"Accept": "application/json"}
        if key:
            headers[rules.key_header] = f"Bearer {key}" if rules.key_header == "Authorization" else key

        def stay(to: URL) -> None:
            if key and to.origin() != at.origin():
                what = f"{rules.title} redirects to {to.host}, which does not get its key"
                raise unavailable(what, "redirected", "")

        try:
            at = checked_url(url).extend_query(params)
            asking = self._fetcher.followed(method, at, stay, headers=headers, **sent)
            async with self._fetcher.connected(rules.title), asking as (_, response):
                return _reply(response, await body_of(response, url))
        except ToolError as error:
            failure = error.failure
            address = setting(service) if service in SERVICES else "its URL"
            how = f"check the network (and HTTPS_PROXY), or correct {address}"
            raise ToolError(failure.message, type=failure.type, class_=failure.class_, next_action=how) from error


def _reply(response: aiohttp.ClientResponse, content: bytes) -> WebReply:
    headers = {name.lower(): value for name, value in response.headers.items()}
    try:
        return WebReply(status=response.status, body=json.loads(content), headers=headers)
    except (ValueError, RecursionError):  # invalid JSON or Unicode, or nested too deeply
        return WebReply(status=response.status, text=decoded(content, response.charset or ""), headers=headers)
