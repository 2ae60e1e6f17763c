"""Classify the exceptions of pydantic-ai and the packages below it: each becomes one failure."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator

from pydantic_ai import exceptions
from pydantic_ai.models import known_model_names

from leadhand.core.limits import Usage
from leadhand.core.value import object_of
from leadhand.models.failures import UNBILLED, error_message, failed, looks_like_html
from leadhand.ports import ModelError

from .connection import Connection

_MOST_NAMES = 6

# By name, since the packages they come from may not be installed.
_CREDENTIALS = frozenset(
    {
        "NoCredentialsError",  # botocore
        "PartialCredentialsError",
        "CredentialRetrievalError",
        "TokenRetrievalError",
        "SSOTokenLoadError",
        "ProfileNotFound",
        "DefaultCredentialsError",  # google-auth
        "RefreshError",
    }
)
_SET_UPS = frozenset({"NoRegionError", "InvalidEndpointConfigurationError", "InvalidConfigError"})  # botocore
_NO_CONNECTION = frozenset({"ConnectError", "ConnectTimeout", "EndpointConnectionError", "PoolTimeout"})
_TIMEOUTS = frozenset({"ReadTimeout", "WriteTimeout", "ReadTimeoutError", "ConnectTimeoutError", "TimeoutError"})
_API_ERRORS: tuple[tuple[type[exceptions.ModelAPIError], str], ...] = (
    (exceptions.ModelQuotaExceededError, "quota"),
    (exceptions.ModelRateLimitError, "rate_limited"),
    (exceptions.ModelContextWindowExceededError, "context_length"),
    (exceptions.ModelAuthenticationError, "bad_key"),
    (exceptions.ModelNotFoundError, "unknown_model"),
)
_ERRORS: tuple[tuple[type[Exception], str, Usage | None], ...] = (
    (exceptions.UserError, "unsupported", UNBILLED),
    (exceptions.ContentFilterError, "content_filter", None),
    (exceptions.UnexpectedModelBehavior, "bad_body", None),
    (OSError, "connection", None),
)


def classed(error: Exception, connection: Connection) -> ModelError:
    """Return the model error for an exception, with the key redacted.

    Its usage is None (unknown) if the provider may have answered anyway.
    """
    chain = list(_causes(error))
    if found := next((cause for cause in chain if isinstance(cause, ModelError)), None):
        return found
    type, message, usage = _kind(error, chain, connection)
    asked = getattr(error, "retry_after", None)
    wait = float(asked) if isinstance(asked, int | float) else None
    return failed(type, message, usage, _advice(type, connection), retry_after_s=wait, key=connection.key)


def _kind(error: Exception, chain: list[BaseException], connection: Connection) -> tuple[str, str, Usage | None]:
    """The type, the message, and the usage."""
    title = connection.title
    names = {kind.__name__ for cause in chain for kind in type(cause).__mro__}
    said = f"{title}: {error or type(error).__name__}"
    if any(isinstance(cause, ssl.SSLError) for cause in chain):
        return "certificate", _unreached(chain, connection).replace("no connection", "no trusted connection"), UNBILLED
    if isinstance(error, exceptions.ModelTimeoutError | exceptions.ModelRequestTimeout):
        return "timeout", f"{title} did not answer in time", None
    if names & _CREDENTIALS:
        return "bad_key", f"{title} did not accept credentials from this machine: {chain[-1]}", UNBILLED
    if names & _SET_UPS:
        return "configuration", said, UNBILLED
    in_phase = isinstance(error, exceptions.ModelConnectionError) and error.phase in ("pool", "connect")
    if in_phase or names & _NO_CONNECTION:
        return "connection", _unreached(chain, connection), UNBILLED
    if isinstance(error, exceptions.ModelConnectionError):
        return "connection", f"the answer of {title} was cut off: {error}", None
    if isinstance(error, exceptions.ModelAPIError):
        return _of_api(error, title)
    if names & _TIMEOUTS:
        return "timeout", said, None
    # Others usually mean an answer in a form that their package does not expect: a KeyError, an IndexError.
    other = "bad_body", f"{title}: {type(error).__name__}: {error}", None
    return next(((kind, said, usage) for of, kind, usage in _ERRORS if isinstance(error, of)), other)


def _of_api(error: exceptions.ModelAPIError, title: str) -> tuple[str, str, Usage | None]:
    if not isinstance(error, exceptions.ModelHTTPError):
        status, said, html = 0, f"{title}: {error.message}", False
    else:
        status = error.status_code
        # Bedrock's body contains the whole response, so use only its message.
        body = object_of(object_of(error.body).get("Error")).get("Message") or error.body
        text = body if isinstance(body, str) else json.dumps(body, default=str)
        html = looks_like_html((error.headers or {}).get("content-type", ""), text)
        what = " with a web page" if html else f": {error_message(text)}" if error.body else ""
        said = f"{title} answered {status}{what}"
    usage = UNBILLED if status and not error.in_stream else None
    if html and status < 500:
        return "not_an_api", said, UNBILLED
    known = next((kind for of, kind in _API_ERRORS if isinstance(error, of)), "")
    if known or status == 413:
        return known or "context_length", said, usage
    if status:
        return f"http_{status}", said, usage
    if isinstance(error, exceptions.ModelUnavailableError | exceptions.ModelServerError):
        return "overloaded", said, usage
    return "refused" if isinstance(error, exceptions.ModelRequestRejectedError) else "bad_body", said, usage


def _advice(type: str, connection: Connection) -> str:
    """Return what a person can do about a failure of this type; "" for the usual advice."""
    match type:
        case "certificate":
            return "set SSL_CERT_FILE to the company's CA file, or fix the base URL"
        case "bad_key":
            variables = connection.key_variables
            return f"fix {variables[0]}, or give it access to this model" if variables else "fix the credentials"
        case "configuration":
            return "fix AWS_REGION, the base URL or the kind of credentials"
        case "unsupported":
            return "choose another model"
        case "unknown_model":
            known = [name for name in known_model_names() if name.startswith(f"{connection.provider}:")]
            return f"fix the name of the model, or use a known model: {', '.join(known[:_MOST_NAMES])}"
        case "not_an_api":
            return f"fix the base URL of {connection.title}"
        case _:
            return "see the provider's message" if type == "refused" or type.startswith("http_4") else ""


def _unreached(chain: list[BaseException], connection: Connection) -> str:
    """The message for a server that does not answer, with the cause from the end of the chain."""
    where = f"{connection.title} at {connection.base_url}" if connection.base_url else connection.title
    why = next((said for cause in reversed(chain) if (said := str(cause))), type(chain[0]).__name__)
    return f"no connection to {where}: {why}"


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    while id(error) not in seen:
        seen.add(id(error))
        yield error
        earlier = error.__cause__ or error.__context__
        if earlier is None:
            return
        error = earlier
