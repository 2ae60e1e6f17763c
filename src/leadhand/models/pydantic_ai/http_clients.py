"""The HTTP client for a provider's package: with our timeouts, certificates, proxies and size limit.

Works with httpx2 and httpx, which take the same arguments.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from typing import Any

from leadhand.domain.errors import ConfigurationError
from leadhand.models.base_url import is_loopback

from .connection import Connection

LARGEST_BODY = 10_000_000
"""An answer longer than this, in bytes as they come over the wire, is not read to its end."""

CONNECT_TIMEOUT_S = 10.0
LONGEST_READ_S = 600.0


class TooLongAnswer(Exception):
    """More came than :data:`LARGEST_BODY`."""


class NotAnApi(Exception):
    """The server is not an API: it answers with a web page, or with a redirect, which must not receive the key."""


def http_client(library: Any, connection: Connection) -> Any:
    """An ``AsyncClient`` of ``library``. Raises :class:`ConfigurationError` for a CA file or proxy that cannot be used.

    How long a whole call may take is the caller's business: only the connection has a limit here.
    """
    timeouts = {"connect": CONNECT_TIMEOUT_S, "read": None, "write": None, "pool": None}

    async def patient(request: Any) -> None:
        # Their packages set their own timeout on each request, and would wait minutes for a connection.
        request.extensions = {**request.extensions, "timeout": timeouts}
        request.headers["User-Agent"] = "leadhand"  # instead of theirs, of which some send two

    class Bounded(library.AsyncByteStream):
        def __init__(self, stream: Any) -> None:
            self._stream = stream

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for chunk in self._stream:
                size += len(chunk)
                if size > LARGEST_BODY:
                    raise TooLongAnswer
                yield chunk

        async def aclose(self) -> None:
            await self._stream.aclose()

    async def checked(response: Any) -> None:
        # Checked here, because their packages only report that they cannot read the answer.
        if 300 <= response.status_code < 400:
            raise NotAnApi(f"answered {response.status_code}, a redirect to another address")
        page = "text/html" in response.headers.get("content-type", "").casefold()
        if page and response.status_code in (200, 400, 404, 405, 410):
            raise NotAnApi(f"answered {response.status_code} with a web page")
        response.stream = Bounded(response.stream)

    options = {
        "verify": certificates(connection.ca_file),
        # Loopback needs no proxy.
        "trust_env": not (connection.base_url and is_loopback(connection.base_url)),
        "limits": library.Limits(
            max_connections=connection.connections, max_keepalive_connections=connection.connections
        ),
        "timeout": library.Timeout(LONGEST_READ_S, connect=CONNECT_TIMEOUT_S),  # what their packages ask it for
        "event_hooks": {"request": [patient], "response": [checked]},
    }
    try:
        return library.AsyncClient(**options)
    except (ImportError, ValueError) as error:  # a proxy of another kind needs a package of its own
        what = f"the proxy that the environment names cannot be used: {str(error).partition(' Make sure')[0]}"
        raise ConfigurationError(what, "set HTTPS_PROXY and ALL_PROXY to an http:// address, or to nothing") from None


def certificates(ca_file: str | None) -> ssl.SSLContext:
    """The system's certificates, or those that SSL_CERT_FILE names, and those of ``ca_file``."""
    context = ssl.create_default_context()
    if ca_file is None:
        return context
    try:
        context.load_verify_locations(ca_file)
    except OSError as error:  # ssl.SSLError is one too
        raise ConfigurationError(
            f"the certificate file {ca_file} cannot be used: {error}", "correct the path to the CA file"
        ) from None
    return context
