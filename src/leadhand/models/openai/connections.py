"""Connect to a server: its address, proxy and certificates, the time limits of a call, and errors of the connection."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from leadhand.core.errors import FailureClass
from leadhand.models.failures import LARGEST_BODY, UNBILLED, UNSENT, failed, too_long
from leadhand.models.server_settings import is_loopback
from leadhand.ports import ModelError

if TYPE_CHECKING:
    import aiohttp

_CHECK_ADDRESS = "check the base URL and the network, and whether a proxy is needed (HTTPS_PROXY)"


class Server(NamedTuple):
    """The address of a server and the settings of its connections.

    ``key`` is sent as a bearer token and redacted in messages of failures; ``key_setting`` is where it is set, for
    messages. The time limits are in seconds: for a connection, between two pieces of an answer.
    """

    base_url: str
    key: str
    key_setting: str
    connections: int
    connect_timeout_s: float
    idle_timeout_s: float

    def open(self) -> aiohttp.ClientSession:
        """A session with its own pool of connections."""
        import ssl

        import aiohttp

        headers = {"Content-Type": "application/json", "User-Agent": "leadhand"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        own = self.base_url.startswith("https:") and os.environ.get("SSL_CERT_FILE")
        certificates = ssl.create_default_context() if own else True  # aiohttp's own context was made at its import
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self.connections, ssl=certificates),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=self.connect_timeout_s),
            headers=headers,
            cookie_jar=aiohttp.DummyCookieJar(),
        )


def proxy_for(url: str) -> str | None:
    """Return the proxy that the environment sets for ``url``, never one for this machine.

    aiohttp's ``trust_env`` does the same at every request, reads ``~/.netrc`` on a thread each time, and refuses an
    Authorization header where that file has an entry. Raises :class:`ModelError` for a proxy of another protocol.
    """
    if is_loopback(url):
        return None
    from urllib.parse import urlsplit
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(url)
    if proxy_bypass(parts.netloc):
        return None
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy:
        return None
    scheme = proxy.partition("://")[0].casefold() if "://" in proxy else ""
    if scheme not in ("", "http", "https"):
        message = f"the environment sets a {scheme}:// proxy, which is not supported"
        action = f"set {parts.scheme.upper()}_PROXY to an HTTP proxy, or name the server in NO_PROXY"
        raise failed("proxy", message, UNBILLED, action)
    return proxy if scheme else f"http://{proxy}"


class Patience:
    """The time limits of one call: until the answer begins, between two pieces, and for the whole.

    Headers, blanks and messages that only keep the connection alive do not begin an answer.

    Used around the call: ``async with patience.timer: …``, which raises TimeoutError when one of them has passed; then
    :meth:`failure` says which. Timers are expensive, so one serves them all. ``size`` is how many bytes have come.
    """

    def __init__(self, server: Server, deadline_s: float, begin_s: float, name: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._server = server
        self._deadline_s = deadline_s
        self._begin_s = begin_s
        self._name = name
        self._deadline = self._loop.time() + deadline_s
        self.size = 0
        self._begun = False
        self._fresh = True
        # Moving a timer costs as much as creating it; a call whose answer comes in one piece moves none.
        self.timer = asyncio.timeout_at(min(self._deadline, self._loop.time() + begin_s))

    def sent(self) -> None:
        """Start the limit for a request that was sent: the answer has to begin within ``begin_s``."""
        self.size, self._begun = 0, False
        if not self._fresh:
            self._until(self._begin_s)
        self._fresh = False

    def received(self, chunk: bytes, *, begun: bool) -> None:
        """Restart the limit after a piece: once the answer has ``begun``, the next has to follow within about
        ``idle_timeout_s``. Raises :class:`ModelError` for a body that is too long."""
        self.size += len(chunk)
        if self.size > LARGEST_BODY:
            raise too_long()
        idle_s = self._server.idle_timeout_s
        begins, self._begun = begun and not self._begun, begun or self._begun
        # A stream has many pieces, and moving a timer for each would cost more than reading them.
        # Before the answer begins, a piece only ever gives it more time.
        if begins or (self.timer.when() or 0.0) < min(self._deadline, self._loop.time() + idle_s):
            self._until(idle_s * 1.125)

    def _until(self, seconds: float) -> None:
        self.timer.reschedule(min(self._deadline, self._loop.time() + seconds))

    def failure(self) -> ModelError:
        """Return the failure for the limit that has passed. The usage of the call is unknown."""
        whole = self._loop.time() >= self._deadline
        action = "allow more time with --attempt-timeout, or ask for less at once" if whole else ""
        match whole, self._begun:
            case True, False:
                said = f"gave no answer within {self._deadline_s:g} s: it had not started to answer"
            case True, True:
                said = f"gave no whole answer within {self._deadline_s:g} s: {self.size} bytes had arrived"
            case False, False:
                said = f"did not begin to answer within {self._begin_s:g} s"
                action = "allow more time with --model-patience"
            case _:
                idle_s = self._server.idle_timeout_s
                said = f"sent nothing for {idle_s:g} s in the middle of its answer, after {self.size} bytes"
        return failed("timeout", f"{self._name} {said}", next_action=action)


def connection_failure(error: Exception, server: Server, *, begun: bool) -> ModelError:
    """The failure for an exception of aiohttp. ``begun`` says whether an answer had begun.

    A call that did not reach the server cost nothing; the cost of an interrupted call is unknown.
    """
    import aiohttp

    url, usage, action = server.base_url, UNBILLED, ""
    class_: FailureClass | None = None
    match error:
        case aiohttp.ClientConnectorCertificateError():
            why = getattr(error.certificate_error, "verify_message", "") or error
            type, message, action = "certificate", f"no trusted connection to {url}: {why}", _trust()
        case aiohttp.ClientSSLError():
            type, message = "certificate", f"no TLS connection to {url}: {_reason(error)}"
            action = "check whether the base URL should begin with http:// instead of https://"
        case aiohttp.ClientProxyConnectionError():
            type, message = "proxy", f"no connection to the proxy at {error.host}:{error.port}: {_reason(error)}"
            action = "fix HTTPS_PROXY or HTTP_PROXY, or add the server to NO_PROXY"
            class_ = FailureClass.TRANSIENT
        case aiohttp.ClientHttpProxyError():
            type, message = "proxy", f"the proxy refused to connect to {url}: {error.status} {error.message}"
            action = "fix the proxy in HTTPS_PROXY, with its user name and password, or use NO_PROXY"
            class_ = None if error.status in (401, 403, 407) else FailureClass.TRANSIENT
        case aiohttp.ClientConnectorError():
            type, message = "connection", f"no connection to {url}: {_reason(error)}"
            action = "start the server, or fix the base URL" if is_loopback(url) else _CHECK_ADDRESS
        case aiohttp.ConnectionTimeoutError():
            type, action = "timeout", _CHECK_ADDRESS
            message = f"no connection to {url} within {server.connect_timeout_s:g} s"
        case aiohttp.InvalidURL() | UnicodeError():
            type, usage, action = "bad_url", UNSENT, "correct the base URL"
            message = f"the host name in the base URL {url} is invalid"
        case aiohttp.ClientPayloadError():
            type, message, usage = "broken_off", "the answer ended too early", None
        case aiohttp.ClientConnectionError():
            what = "in the middle of its answer" if begun else "before it answered"
            type, message, usage = "connection", f"{url} closed the connection {what}", None
        case _:
            type, message, usage = "bad_body", f"the answer is not valid HTTP: {error}", None
    return failed(type, message, usage, action, class_=class_, key=server.key)


def _trust() -> str:
    """Return what to do about a certificate that is not trusted."""
    named = os.environ.get("SSL_CERT_FILE", "")
    if named and not Path(named).is_file():
        return f"SSL_CERT_FILE names {named}, which does not exist: fix or unset it"
    return "set SSL_CERT_FILE to the company's CA file, or fix the base URL"


def _reason(error: aiohttp.ClientConnectorError) -> str:
    return (error.os_error.strerror or str(error.os_error)) if error.os_error else str(error)
