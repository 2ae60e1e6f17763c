"""Connections to a server: the proxy of the environment and the time limits of a call."""

from __future__ import annotations

import asyncio

from leadhand.models.failures import LARGEST_BODY, UNBILLED, failed, too_long
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
