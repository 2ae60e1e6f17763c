"""Open connections to a server, with its proxy and certificates, and classify connection errors."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leadhand.domain.errors import ConfigurationError, FailureClass
from leadhand.domain.limits import Usage
from leadhand.models.base_url import is_loopback
from leadhand.ports import ModelError

from .errors import failed

if TYPE_CHECKING:
    import aiohttp

_UNBILLED = Usage(requests=1, nanousd=0)
_CHECK_ADDRESS = "check the base URL and the network, and whether a proxy is needed (HTTPS_PROXY)"


def checked_key(key: str | None, setting: str = "the API key") -> str:
    """The key without blanks around it, "" for none. Raises ConfigurationError for one that no header can carry."""
    key = (key or "").strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigurationError(
            f"{setting} contains line breaks, spaces or characters that keys do not have",
            "copy it again from the provider's page, on one line",
        )
    return key


def checked_ca_file(path: str | None) -> str | None:
    """The path of a file of certificates. Raises ConfigurationError if there is no such file."""
    if path is not None and not Path(path).is_file():
        raise ConfigurationError(f"the certificate file {path} does not exist", "correct the path to the CA file")
    return path


async def open_session(
    *, key: str, connections: int, connect_s: float, url: str, ca_file: str | None
) -> aiohttp.ClientSession:
    """A session for ``url``, with its own pool of at most ``connections``. Times are left to the caller, but for the
    one a connection may take. Raises :class:`ModelError` for a CA file that contains no certificates."""
    import aiohttp

    headers = {"Content-Type": "application/json", "User-Agent": "leadhand"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=connections, ssl=_certificates(url, ca_file)),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=connect_s),
        headers=headers,
        cookie_jar=aiohttp.DummyCookieJar(),
    )


async def abandon(session: aiohttp.ClientSession) -> None:
    """Closes a session of an event loop that is gone, as far as that goes."""
    with contextlib.suppress(RuntimeError, ValueError):
        await session.close()


def _certificates(url: str, ca_file: str | None) -> Any:
    """The system's certificates (``SSL_CERT_FILE`` moves them elsewhere), and those of the CA file beside them."""
    if not url.startswith("https:") or (ca_file is None and not os.environ.get("SSL_CERT_FILE")):
        return True
    import ssl

    context = ssl.create_default_context()
    if ca_file is None:
        return context
    try:
        context.load_verify_locations(ca_file)
    except (ssl.SSLError, OSError) as error:
        raise failed(
            f"the CA file {ca_file} contains no certificates: {error}",
            "certificate",
            FailureClass.UNAVAILABLE,
            _UNBILLED,
            next_action="use a file of certificates in PEM format",
        ) from None
    return context


def proxy_for(url: str) -> str | None:
    """The proxy the environment names for ``url``; never one between this machine and itself.

    aiohttp's ``trust_env`` does the same at every request, reads ``~/.netrc`` on a thread each time, and refuses an
    Authorization header where that file has an entry: so it is done here, once. Raises :class:`ModelError` for a
    proxy of another protocol.
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
        raise failed(
            f"the environment sets a {scheme}:// proxy, which is not supported",
            "proxy",
            FailureClass.UNAVAILABLE,
            _UNBILLED,
            next_action=f"set {parts.scheme.upper()}_PROXY to an HTTP proxy, or name the server in NO_PROXY",
        )
    return proxy if scheme else f"http://{proxy}"


def connection_failure(error: Exception, url: str, proxy: str | None, connect_s: float, *, begun: bool) -> ModelError:
    """The failure that an exception of aiohttp stands for. ``begun`` says whether an answer had begun.

    A call that did not reach the server cost nothing; the cost of an interrupted call is unknown.
    """
    import aiohttp

    match error:
        case aiohttp.ClientConnectorCertificateError():
            return _untrusted(error, url)
        case aiohttp.ClientSSLError():
            return failed(
                f"no TLS connection to {url}: {_reason(error)}",
                "certificate",
                FailureClass.UNAVAILABLE,
                _UNBILLED,
                next_action="see whether the base URL should begin with http:// instead of https://",
            )
        case aiohttp.ClientProxyConnectionError():
            return failed(
                f"no connection to the proxy at {error.host}:{error.port}: {_reason(error)}",
                "proxy",
                FailureClass.TRANSIENT,
                _UNBILLED,
                next_action="correct HTTPS_PROXY or HTTP_PROXY, or name the server in NO_PROXY",
            )
        case aiohttp.ClientHttpProxyError():
            refused = error.status in (401, 403, 407)
            return failed(
                f"the proxy refused to connect to {url}: {error.status} {error.message}",
                "proxy",
                FailureClass.UNAVAILABLE if refused else FailureClass.TRANSIENT,
                _UNBILLED,
                next_action="correct the proxy in HTTPS_PROXY, with its user name and password, or use NO_PROXY",
            )
        case aiohttp.ClientConnectorDNSError():
            message = f"no connection to {url}: the name {error.host} is not known ({_reason(error)})"
            return failed(message, "connection", FailureClass.TRANSIENT, _UNBILLED, next_action=_CHECK_ADDRESS)
        case aiohttp.ClientConnectorError():
            action = "start the server, or correct the base URL" if is_loopback(url) else _CHECK_ADDRESS
            message = f"no connection to {url}: {_reason(error)}"
            return failed(message, "connection", FailureClass.TRANSIENT, _UNBILLED, next_action=action)
        case aiohttp.ConnectionTimeoutError():
            message = f"no connection to {url} within {connect_s:g} s"
            return failed(message, "timeout", FailureClass.TRANSIENT, _UNBILLED, next_action=_CHECK_ADDRESS)
        case aiohttp.InvalidURL() | UnicodeError():
            return failed(
                f"the host name in the base URL {url} is invalid",
                "bad_url",
                FailureClass.UNAVAILABLE,
                Usage(requests=0, nanousd=0),
                next_action="correct the base URL",
            )
        case aiohttp.ClientPayloadError():
            return failed("the answer ended too early", "broken_off", FailureClass.TRANSIENT, None)
        case aiohttp.ClientConnectionError():
            what = "in the middle of its answer" if begun else "before it answered"
            return failed(f"{url} closed the connection {what}", "connection", FailureClass.TRANSIENT, None)
        case _:
            return failed(f"the answer is not valid HTTP: {error}", "bad_body", FailureClass.TRANSIENT, None)


def _untrusted(error: Exception, url: str) -> ModelError:
    named = os.environ.get("SSL_CERT_FILE", "")
    if named and not Path(named).is_file():
        action = f"SSL_CERT_FILE names {named}, which does not exist: correct or unset it"
    else:
        action = "pass the company's certificates as the CA file (or in SSL_CERT_FILE), or correct the base URL"
    why = getattr(getattr(error, "certificate_error", None), "verify_message", "") or error
    return failed(
        f"no trusted connection to {url}: {why}", "certificate", FailureClass.UNAVAILABLE, _UNBILLED, next_action=action
    )


def _reason(error: aiohttp.ClientConnectorError) -> str:
    return (error.os_error.strerror or str(error.os_error)) if error.os_error else str(error)
