"""Fetch public pages, and nothing else: a model or a page must not make this process reach what is private.

The address of each connection is checked where it is made, so a name, a redirect or a change of either leads nowhere
else. No proxy is used for them: it would resolve names itself, where nothing can be checked. There are limits for the
size, also after decompression, and for the time of everything together.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import re
import socket
import zlib
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from leadhand.core.errors import FailureClass, ToolError
from leadhand.ports.retry_after import retry_after
from leadhand.tools.services import class_of, unavailable

if TYPE_CHECKING:
    import aiohttp
    from aiohttp.abc import AbstractResolver
    from yarl import URL

HOME = "https://github.com/leadhand/leadhand"
MOST_BYTES = 5_000_000
MOST_REDIRECTS = 5
WITHIN_S = 20.0
CONNECT_WITHIN_S = 5.0
AT_ONCE = 16
REDIRECTS = frozenset({301, 302, 303, 307, 308})
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_UNICAST = ipaddress.IPv6Network("2000::/3")
"""All of IPv6 that has been assigned to the public internet."""
_PRIVATE = tuple(map(ipaddress.ip_network, ("168.63.129.16/32", "192.0.0.0/24", "192.88.99.0/24", "3fff::/20")))
"""Not public, although older Pythons say so, or serving a cloud's own machines (Azure)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """What a server sent: the address after redirects, the media type, the encoding, the body, and its ``ETag``."""

    url: str
    kind: str
    charset: str
    content: bytes
    tag: str = ""


def is_public(address: str) -> bool:
    """Whether an IP address belongs to the public internet, and so does any IPv4 address inside it."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    if not ip.is_global or ip.is_multicast or any(ip in network for network in _PRIVATE):
        return False
    if isinstance(ip, ipaddress.IPv4Address):
        return True
    if ip.scope_id is not None or not (ip in _UNICAST or ip in _NAT64):
        return False
    inner = [ip.sixtofour, *(ip.teredo or ())]
    if ip in _NAT64:
        inner.append(ipaddress.IPv4Address(int(ip) & 0xFFFF_FFFF))
    return all(each is None or is_public(str(each)) for each in inner)


async def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a host as the operating system knows them."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[4][0]) for address in found))


class PageFetcher:
    """Fetches pages from addresses that are ``allowed``; with ``proxies``, through those that the environment names."""

    def __init__(
        self,
        *,
        allowed: Callable[[str], bool] = is_public,
        proxies: bool = False,
        within_s: float = WITHIN_S,
        resolver: AbstractResolver | None = None,
    ) -> None:
        """``resolver`` is replaced in tests only."""
        self._allowed, self._proxies, self._within_s, self._resolver = allowed, proxies, within_s, resolver
        self._session: aiohttp.ClientSession | None = None

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def fetch(self, url: str, *, within_s: float | None = None, **sent: Any) -> Received:
        """Return what is at an address. Raises ToolError: ``refused_url``, ``private_address``, ``http_404``, …"""
        start = checked_url(url)
        async with self.connected(shown(url), within_s), self.followed("GET", start, **sent) as (at, response):
            return await _received(at, response)

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> int:
        """Send JSON to an address, and return the HTTP status: redirects are not followed. Raises ToolError."""
        sent = {**headers, "Content-Type": "application/json", "Accept": "*/*"}
        at = checked_url(url)
        async with self.connected(shown(url)), self.request("POST", at, data=body, headers=sent) as response:
            return response.status

    @contextlib.asynccontextmanager
    async def request(self, method: str, url: URL, **sent: Any) -> AsyncGenerator[aiohttp.ClientResponse]:
        """Send a request to an address that was checked; redirects are not followed. Raises ToolError
        (``private_address``), and what aiohttp raises."""
        import aiohttp

        try:
            async with self._opened().request(method, url, allow_redirects=False, **sent) as response:
                yield response
        except aiohttp.InvalidURL as error:
            raise _refused(f"{shown(str(url))} is refused: {error.description}") from error
        except aiohttp.ClientConnectorError as error:
            if error.errno == errno.EACCES:
                raise _refused(f"{url.host} is refused: {error.strerror}", "private_address") from error
            raise

    @contextlib.asynccontextmanager
    async def followed(
        self, method: str, url: URL, check: Callable[[URL], None] = lambda _to: None, **sent: Any
    ) -> AsyncGenerator[tuple[URL, aiohttp.ClientResponse]]:
        """Send a request as :meth:`request` does, follow redirects, and yield where they end with the response.
        ``check`` raises for an address that is not followed. Raises ToolError (``too_many_redirects``), too."""
        at = url
        for _ in range(MOST_REDIRECTS + 1):
            async with self.request(method, at, **sent) as response:
                location = response.headers.get("Location", "")
                if response.status not in REDIRECTS or not location:
                    yield at, response
                    return
                at = checked_url(location, at)
                check(at)
        raise _refused(f"{shown(str(url))} redirects more than {MOST_REDIRECTS} times", "too_many_redirects")

    @contextlib.asynccontextmanager
    async def connected(self, name: str, within_s: float | None = None) -> AsyncGenerator[None]:
        """Raise ToolError, which has the ``name``, for what fails in the block, or takes longer than ``within_s``."""
        import aiohttp

        limit = min(within_s or self._within_s, self._within_s)
        try:
            async with asyncio.timeout(limit):
                yield
        except TimeoutError:
            raise _failed(f"{name} did not answer in {limit:g} s", "timeout") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise _failed(f"the connection to {name} failed: {error or type(error).__name__}"[:300]) from error

    def _opened(self) -> aiohttp.ClientSession:
        import aiohttp

        def connect(target: Any) -> socket.socket:
            """Make the socket of a connection, if the address that it will reach is allowed."""
            family, kind, protocol, _, at = target
            if not self._allowed(str(at[0])):
                raise PermissionError(errno.EACCES, f"{at[0]} is not a public address")
            return socket.socket(family, kind, protocol)

        if self._session is None:
            connector = aiohttp.TCPConnector(
                resolver=self._resolver,
                socket_factory=connect,
                use_dns_cache=False,
                force_close=not self._proxies,  # only those of services are used again
                limit=AT_ONCE,
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                trust_env=self._proxies,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_WITHIN_S),
                headers={
                    "User-Agent": user_agent(),
                    "Accept": "text/html, application/xhtml+xml, application/pdf, text/markdown, text/plain;q=0.9",
                    "Accept-Encoding": "gzip, deflate",
                },
            )
        return self._session


@cache
def user_agent() -> str:
    """``leadhand/<version> (+https://…)``: the OSM services refuse the agents of stock libraries."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"leadhand/{version('leadhand')} (+{HOME})"
    except PackageNotFoundError:  # a source tree that was never installed
        return f"leadhand/0 (+{HOME})"


def checked_url(url: str, base: URL | None = None) -> URL:
    """Return a URL that may be fetched; relative to ``base``, if there is one. Raises ToolError (``refused_url``)."""
    from yarl import URL

    try:
        at = URL(url) if base is None else base.join(URL(url))
        port = at.port
    except ValueError as error:
        raise _refused(f"{shown(url)} is not a URL: {error}") from None
    if at.scheme not in ("http", "https") or not at.host or not port:
        raise _refused(f"{shown(url)} is not an http or https URL")
    if at.user is not None or at.password is not None:
        raise _refused("a URL with a user name or password is not fetched")
    return at.with_fragment(None)


async def _received(url: URL, response: aiohttp.ClientResponse) -> Received:
    status = response.status
    if status != 200:
        raise _failed(
            f"{shown(str(url))} answered {status}",
            f"http_{status}",
            class_of(status, FailureClass.UNAVAILABLE),
            retry_after(response.headers, datetime.now(UTC)) if status == 429 else None,
        )
    content, tag = await body_of(response, str(url)), response.headers.get("ETag", "")
    return Received(url=str(url), kind=response.content_type, charset=response.charset or "", content=content, tag=tag)


async def body_of(response: aiohttp.ClientResponse, url: str) -> bytes:
    """Return the body, decompressed. Raises ToolError as soon as it is too large."""
    coding = response.headers.get("Content-Encoding", "identity").strip().lower() or "identity"
    if coding not in ("identity", "gzip", "x-gzip", "deflate"):
        raise _refused(f"{shown(url)} is compressed in a way that is not supported: {coding[:40]}", "bad_encoding")
    inflate = None
    if coding != "identity":
        inflate = zlib.decompressobj(wbits=47 if "gzip" in coding else 15)
    body = bytearray()
    async for chunk in response.content.iter_any():
        try:
            body += chunk if inflate is None else inflate.decompress(chunk, MOST_BYTES + 1 - len(body))
        except zlib.error as error:
            raise _refused(f"{shown(url)} is damaged: {error}", "bad_encoding") from None
        if len(body) > MOST_BYTES or (inflate is not None and inflate.unconsumed_tail):
            raise _refused(f"{shown(url)} is larger than {MOST_BYTES:,} bytes", "body_too_large")
    return bytes(body)


def shown(url: str) -> str:
    """Return an address for a message: without a query, which may hold secrets, and not too long."""
    return re.sub(r"//[^/@]*@", "//", url.partition("?")[0])[:200]


def _refused(message: str, kind: str = "refused_url") -> ToolError:
    return unavailable(message, kind, "use another source, at a public http or https URL")


def _failed(
    message: str,
    kind: str = "connection",
    class_: FailureClass = FailureClass.TRANSIENT,
    wait_s: float | None = None,
) -> ToolError:
    return ToolError(message, type=kind, class_=class_, next_action="use another source", retry_after_s=wait_s)
