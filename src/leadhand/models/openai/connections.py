"""Connections to a server: the proxy of the environment, the time limits of a call, and errors of the connection."""

from __future__ import annotations

import asyncio

from leadhand.core.errors import FailureClass
from leadhand.models.failures import LARGEST_BODY, UNBILLED, UNSENT, failed, too_long
from leadhand.models.server_settings import is_loopback
from leadhand.ports import ModelError
from leadhand.ports.models import ModelRequest


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
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(parts.netloc):
        return None
    if "://" not in proxy:
        return f"http://{proxy}"
    scheme = proxy.partition("://")[0].casefold()
    if scheme not in ("http", "https"):
        message = f"the environment sets a {scheme}:// proxy, which is not supported"
        action = f"set {parts.scheme.upper()}_PROXY to an HTTP proxy, or name the server in NO_PROXY"
        raise failed("proxy", message, UNBILLED, action)
    return proxy


class Patience:
    """The time limits of one call: until the answer begins, between two pieces (``idle_s``), and for the whole.

    Headers, blanks and messages that only keep the connection alive do not begin an answer.

    Used around the call: ``async with patience.timer: …``, which raises TimeoutError when one of them has passed; then
    :meth:`failure` says which. Timers are expensive, so one serves them all. ``size`` is how many bytes have come.
    """

    def __init__(self, request: ModelRequest, idle_s: float, name: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._request = request
        self._idle_s = idle_s
        self._name = name
        now = self._loop.time()
        self._deadline = now + request.deadline_s
        self.size = 0
        self._begun = False
        self.timer = asyncio.timeout_at(min(self._deadline, now + request.patience_s))

    def received(self, chunk: bytes, *, begun: bool) -> None:
        """Restart the limit after a piece: once the answer has ``begun``, the next has to follow within about
        ``idle_s``. Raises :class:`ModelError` for a body that is too long."""
        self.size += len(chunk)
        if self.size > LARGEST_BODY:
            raise too_long()
        now = self._loop.time()
        begins, self._begun = begun and not self._begun, begun or self._begun
        # A stream has many pieces, and moving a timer for each would cost more than reading them.
        # Before the answer begins, a piece only ever gives it more time.
        if begins or (self.timer.when() or 0.0) < min(self._deadline, now + self._idle_s):
            self.timer.reschedule(min(self._deadline, now + self._idle_s * 1.125))

    def failure(self) -> ModelError:
        """Return the failure for the limit that has passed. The usage of the call is unknown."""
        if self._loop.time() >= self._deadline:
            said = f"gave no whole answer within {self._request.deadline_s:g} s: {self.size} bytes had arrived"
            action = "allow more time (attempt_timeout), or ask for less at once"
        elif self._begun:
            said = f"sent nothing for {self._idle_s:g} s in the middle of its answer, after {self.size} bytes"
            action = ""
        else:
            said = f"did not begin to answer within {self._request.patience_s:g} s"
            action = "allow more time (model_patience)"
        return failed("timeout", f"{self._name} {said}", next_action=action)


def connection_failure(error: Exception, url: str, key: str, *, begun: bool) -> ModelError:
    """The failure for an exception of aiohttp. ``begun`` says whether an answer had begun; ``key`` is redacted.

    A call that did not reach the server cost nothing; the cost of an interrupted call is unknown.
    """
    import aiohttp

    usage, class_ = UNBILLED, None
    match error:
        case aiohttp.ClientSSLError() | aiohttp.ClientConnectorCertificateError():
            type, message, action = "certificate", f"no trusted connection to {url}: {_reason(error)}", ""
        case aiohttp.ClientProxyConnectionError() | aiohttp.ClientHttpProxyError():
            type, message = "proxy", f"no connection to {url} through the proxy: {error}"
            action = "fix HTTPS_PROXY or HTTP_PROXY, or add the server to NO_PROXY"
            if getattr(error, "status", 0) not in (401, 403, 407):
                class_ = FailureClass.TRANSIENT
        case aiohttp.InvalidURL() | UnicodeError():
            type, usage, action = "bad_url", UNSENT, "correct the base URL"
            message = f"the host name in the base URL {url} is invalid"
        case aiohttp.ClientConnectorError() | aiohttp.ConnectionTimeoutError():
            type, message = "connection", f"no connection to {url}: {_reason(error)}"
            action = "check that the server runs, the base URL, and whether a proxy is needed (HTTPS_PROXY)"
        case aiohttp.ClientPayloadError():
            type, message, usage, action = "broken_off", "the answer ended too early", None, ""
        case aiohttp.ClientConnectionError():
            what = "in the middle of its answer" if begun else "before it answered"
            type, message, usage, action = "connection", f"{url} closed the connection {what}", None, ""
        case _:
            type, message, usage, action = "bad_body", f"the answer is not valid HTTP: {error}", None, ""
    return failed(type, message, usage, action, class_=class_, key=key)


def _reason(error: Exception) -> str:
    found = getattr(error, "certificate_error", None) or getattr(error, "os_error", None) or error
    return str(getattr(found, "verify_message", "") or getattr(found, "strerror", "") or found)
