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
_TIMEOUTS = frozenset({"ReadTimeout", "WriteTimeout", "ReadTimeoutError", "ConnectTimeoutError"})


def classed(error: Exception, connection: Connection) -> ModelError:
    """Return the model error for an exception, with the key redacted.

    Its usage is None (unknown) if the provider may have answered anyway.
    """
    chain = list(_causes(error))
    if found := next((cause for cause in chain if isinstance(cause, ModelError)), None):
        return found  # from our HTTP client
    type, message, usage, action = _kind(error, chain, connection)
    asked = getattr(error, "retry_after", None)
    wait = float(asked) if isinstance(asked, int | float) else None
    return failed(type, message, usage, action, retry_after_s=wait, key=connection.key)


_Kind = tuple[str, str, Usage | None, str]
"""The type, the message, the usage, and what a person can do ("" for the usual advice)."""


def _kind(error: Exception, chain: list[BaseException], connection: Connection) -> _Kind:
    title = connection.title
    names = {kind.__name__ for cause in chain for kind in type(cause).__mro__}
    if any(isinstance(cause, ssl.SSLError) for cause in chain):
        said = _unreached(chain, connection).replace("no connection", "no trusted connection")
        return "certificate", said, UNBILLED, "set SSL_CERT_FILE to the company's CA file, or fix the base URL"
    if isinstance(error, exceptions.ModelTimeoutError | exceptions.ModelRequestTimeout | TimeoutError):
        return "timeout", f"{title} did not answer in time", None, ""
    if names & _CREDENTIALS:
        said = f"{title} did not accept credentials from this machine: {chain[-1]}"
        return "bad_key", said, UNBILLED, _set_key(connection)
    if names & _SET_UPS:
        action = "fix AWS_REGION, the base URL or the kind of credentials"
        return "configuration", f"{title}: {error}", UNBILLED, action
    unreached = "connection", _unreached(chain, connection), UNBILLED, ""
    if isinstance(error, exceptions.ModelAPIError):
        if isinstance(error, exceptions.ModelConnectionError):
            if error.phase in ("pool", "connect") or names & _NO_CONNECTION:
                return unreached
            return "connection", f"the answer of {title} was cut off: {error}", None, ""
        return _of_api(error, connection)
    said = f"{title}: {error or type(error).__name__}"
    match error:
        case exceptions.UserError():
            return "unsupported", said, UNBILLED, "choose another model"
        case ImportError():
            return "missing_extra", said, UNBILLED, ""
        case exceptions.ContentFilterError():
            return "content_filter", said, None, ""
        case exceptions.UnexpectedModelBehavior():
            return "bad_body", f"{title} returned an unexpected answer: {error.message}", None, ""
        case _ if names & _TIMEOUTS:
            return "timeout", said, None, ""
        case _ if names & _NO_CONNECTION:
            return unreached
        case OSError():
            return "connection", said, None, ""
        case _:
            # Usually an answer in a form that their package does not expect: a KeyError, an IndexError.
            return "bad_body", f"{title}: {type(error).__name__}: {error}", None, ""


def _of_api(error: exceptions.ModelAPIError, connection: Connection) -> _Kind:
    status = error.status_code if isinstance(error, exceptions.ModelHTTPError) else 0
    said = _said(error, connection.title, status)
    usage = UNBILLED if status and not error.in_stream else None
    match error:
        case exceptions.ModelQuotaExceededError():
            return "quota", said, usage, ""
        case exceptions.ModelRateLimitError():
            return "rate_limited", said, usage, ""
        case exceptions.ModelContextWindowExceededError():
            return "context_length", said, usage, ""
        case exceptions.ModelAuthenticationError():
            return "bad_key", said, usage, _set_key(connection)
        case exceptions.ModelNotFoundError():
            return "unknown_model", said, usage, _other_names(error, connection)
        case _ if status == 413:
            return "context_length", said, usage, ""
        case _ if status in (408, 409, 425) or status >= 500:
            return f"http_{status}", said, usage, ""
        case exceptions.ModelUnavailableError() | exceptions.ModelServerError():
            return "overloaded", said, usage, ""
        case _ if status or isinstance(error, exceptions.ModelRequestRejectedError):
            return f"http_{status}" if status else "refused", said, usage, "see the provider's message"
        case _:
            return "bad_body", said, None, ""


def _said(error: exceptions.ModelAPIError, title: str, status: int) -> str:
    if not isinstance(error, exceptions.ModelHTTPError):
        return f"{title}: {error.message}"
    # Bedrock's body contains the whole response, so use only its message.
    said = object_of(object_of(error.body).get("Error")).get("Message") or error.body
    body = said if isinstance(said, str) else json.dumps(said, default=str)
    if looks_like_html((error.headers or {}).get("content-type", ""), body):
        return f"{title} answered {status} with a web page"
    return f"{title} answered {status}" + (f": {error_message(body)}" if error.body else "")


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


def _set_key(connection: Connection) -> str:
    variables = connection.key_variables
    return f"fix {variables[0]}, or give it access to this model" if variables else "fix the credentials"


def _other_names(error: exceptions.ModelAPIError, connection: Connection) -> str:
    """Return advice with the model that the error suggests, and some that pydantic-ai knows of this provider."""
    names = [name for name in known_model_names() if name.startswith(f"{connection.provider}:")]
    suggested = getattr(error, "suggested_model_id", None)
    if isinstance(suggested, str) and suggested:
        names.insert(0, suggested if ":" in suggested else f"{connection.provider}:{suggested}")
    shown = ", ".join([*dict.fromkeys(names)][:_MOST_NAMES])
    return "fix the name of the model" + (f", or use a known model: {shown}" if shown else "")
