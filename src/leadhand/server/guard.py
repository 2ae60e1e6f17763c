"""Security checks in front of every route: host names, cross-site requests, and response headers.

Host check: another site may point its own name at this machine (DNS rebinding), so only our host names are accepted.
Cross-site requests: changes are accepted only from our own pages, by the headers that browsers set themselves
(Sec-Fetch-Site, Origin). A browser never sends a Bearer key by itself, so requests with a key are exempt.
Unexpected errors are answered here too, so that every response has these headers.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection
from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from leadhand.server.problems import LARGEST_BODY, Problem, answer, defect, ending, too_large

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
POLICY = (
    "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'self';"
    " object-src 'none'"
)
VERSIONED = re.compile(r"/(?:chunk|rare)-[A-Z0-9]{8}\.js$")
"""Files of the console whose name changes with their content. Browsers must revalidate the others each time."""
SECURITY = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class Guard:
    """ASGI middleware around the app. ``hosts`` are the accepted host names (None: any); pages of ``origins`` may make
    changes."""

    def __init__(self, app: ASGIApp, *, hosts: Collection[str] | None, origins: Collection[str] = ()) -> None:
        self._app = app
        self._hosts = hosts
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        begun = False
        only_head = scope["method"] == "HEAD"
        if only_head:  # answered as GET, without the body
            scope["method"] = "GET"

        async def secured(message: Message) -> None:
            nonlocal begun
            if only_head and begun:
                return
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(scope=message)
                for name, value in (SECURITY | scope.get("state", {}).get("limits", {})).items():
                    headers.setdefault(name, value)
                headers.setdefault("content-security-policy", POLICY)
                headers.setdefault("cache-control", _caching(scope["path"], message["status"]))
            await send(message)
            if only_head:  # at once, since a stream has no end
                await send({"type": "http.response.body", "body": b""})

        problem = self._problem(scope)
        app = self._app if problem is None else answer(problem, scope["path"])
        try:
            await app(scope, receive, secured)
        except asyncio.CancelledError:  # the server is shutting down
            if begun:
                raise
            await answer(ending(), scope["path"])(scope, receive, secured)
        except Exception as error:
            if begun:
                raise  # part of a response was already sent: the server closes the connection
            await defect(scope["method"], scope["path"], error)(scope, receive, secured)
        finally:
            if only_head:
                scope["method"] = "HEAD"

    def _problem(self, scope: Scope) -> Problem | None:
        """Return why this request is refused, or None."""
        headers = Headers(scope=scope)
        if (length := headers.get("content-length", "")).isdecimal() and int(length) > LARGEST_BODY:
            return too_large()
        if "content-length" in headers and "transfer-encoding" in headers:  # a proxy may see another request in it
            return Problem(
                HTTPStatus.BAD_REQUEST,
                "invalid",
                "the request has both Content-Length and Transfer-Encoding",
                "Send one of them.",
                headers={"connection": "close"},
            )
        host = headers.get("host", "")
        if self._hosts is not None and _name(host) not in self._hosts:
            return Problem(
                HTTPStatus.MISDIRECTED_REQUEST,
                "wrong_host",
                "this server does not accept the host name of this request",
                "Open it as 127.0.0.1 or localhost; behind a proxy, allow its host with --allow-host.",
            )
        if scope["method"] in SAFE or headers.get("authorization"):
            return None
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if origin is not None and origin in self._origins:
            return None
        if (origin is None or _own(origin, host)) and site in (None, "same-origin", "none"):
            return None
        return Problem(
            HTTPStatus.FORBIDDEN,
            "cross_site",
            "this request comes from a page of another site",
            "Send an API key as Authorization: Bearer lh_…, or allow the site: leadhand serve --cors ORIGIN.",
        )


def from_elsewhere(headers: Headers) -> bool:
    """Whether the request comes from a page of another origin."""
    origin = headers.get("origin")
    return origin is not None and not _own(origin, headers.get("host", ""))


def _caching(path: str, status: int) -> str:
    if VERSIONED.search(path) and status in (HTTPStatus.OK, HTTPStatus.NOT_MODIFIED):
        return "public, max-age=31536000, immutable"
    return "no-store" if path.startswith("/api") else "no-cache"


def _own(origin: str, host: str) -> bool:
    try:
        return origin != "null" and urlsplit(origin).netloc.lower() == host.lower()
    except ValueError:  # no browser sends this
        return False


def _name(host: str) -> str:
    """The name in a Host header, without its port; "" if it is not a host name."""
    found = re.fullmatch(r"(\[[^]]+\]|[^:,@\s]+)(:\d*)?", host)
    return found[1].strip("[]").lower().rstrip(".") if found else ""
