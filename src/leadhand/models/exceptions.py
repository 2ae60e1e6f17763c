"""Classify the exceptions of clients (aiohttp, pydantic-ai and the packages below it): each becomes one failure."""

from __future__ import annotations

from collections.abc import Iterator

from leadhand.core.errors import FailureClass
from leadhand.core.limits import Usage
from leadhand.ports import ModelError

from .failures import UNBILLED, UNSENT, failed

_NO_ACCESS = "{} did not accept credentials from this machine"
_UNREACHED = "no connection to {}"
_LATE = "{} did not answer in time"
_TYPES: tuple[tuple[str, str, Usage | None, str], ...] = (
    ("certificate", "no trusted connection to {}", UNBILLED, "SSLError ClientSSLError"),
    ("proxy", "no connection to {} through the proxy", UNBILLED, "ClientProxyConnectionError ClientHttpProxyError"),
    (
        "bad_key",
        _NO_ACCESS,
        UNBILLED,
        "NoCredentialsError PartialCredentialsError CredentialRetrievalError",
    ),  # botocore
    ("bad_key", _NO_ACCESS, UNBILLED, "TokenRetrievalError SSOTokenLoadError ProfileNotFound"),  # botocore
    ("bad_key", _NO_ACCESS, UNBILLED, "DefaultCredentialsError RefreshError"),  # google-auth
    (
        "configuration",
        "{} is not set up",
        UNBILLED,
        "NoRegionError InvalidEndpointConfigurationError InvalidConfigError",
    ),
    ("connection", _UNREACHED, UNBILLED, "ConnectError ConnectTimeout PoolTimeout"),  # httpx
    ("connection", _UNREACHED, UNBILLED, "EndpointConnectionError ConnectTimeoutError"),  # botocore
    ("connection", _UNREACHED, UNBILLED, "ClientConnectorError ConnectionTimeoutError"),  # aiohttp
    ("bad_url", "the host name is invalid in the address of {}", UNSENT, "InvalidURL UnicodeError"),
    ("timeout", _LATE, None, "ReadTimeout WriteTimeout ReadTimeoutError TimeoutError"),
    ("timeout", _LATE, None, "ModelTimeoutError ModelRequestTimeout"),
    ("unsupported", "{} cannot do this", UNBILLED, "UserError"),
    ("content_filter", "{} withheld the answer", None, "ContentFilterError"),
    # What a provider sends in the middle of its stream.
    ("rate_limited", "{} stopped its answer", None, "ModelRateLimitError"),
    ("overloaded", "{} stopped its answer", None, "ModelUnavailableError ModelServerError"),
    ("refused", "{} refused the request", None, "ModelRequestRejectedError"),
    ("broken_off", "the answer of {} ended too early", None, "ClientPayloadError"),
    ("connection", "the connection to {} broke", None, "ModelConnectionError ClientConnectionError OSError"),
    # Usually an answer in a form that the package does not expect: a KeyError, an IndexError.
    ("bad_body", "the answer of {} is malformed", None, "Exception"),
)
"""Types of failures, their messages, what such a call used (None: it may have been answered), and the exceptions by
name, since their packages may not be installed. The first row that names a cause or one of its bases applies."""


def classed(error: Exception, where: str, key: str) -> ModelError:
    """Return the error for an exception of a client of the server at ``where``; ``key`` is redacted."""
    chain = list(causes(error))
    if found := next((cause for cause in chain if isinstance(cause, ModelError)), None):
        return found
    names = {kind.__name__ for cause in chain for kind in type(cause).__mro__}
    type_, said, usage = next(row[:3] for row in _TYPES if not names.isdisjoint(row[3].split()))
    why = next((words for cause in reversed(chain) if (words := str(cause))), type(error).__name__)
    away = type_ == "proxy" and getattr(error, "status", 0) not in (401, 403, 407)
    class_ = FailureClass.TRANSIENT if away else None
    return failed(type_, f"{said.format(where)}: {why}", usage, class_=class_, key=key)


def causes(error: BaseException) -> Iterator[BaseException]:
    """The exception, and those that led to it."""
    seen: set[int] = set()
    while id(error) not in seen:
        seen.add(id(error))
        yield error
        earlier = error.__cause__ or error.__context__
        if earlier is None:
            return
        error = earlier
