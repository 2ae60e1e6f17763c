"""Classify the exceptions of pydantic-ai and the packages below it: each becomes one failure."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator

from pydantic_ai import exceptions
from pydantic_ai.models import known_model_names

from leadhand.domain.errors import ConfigurationError, Failure, FailureClass
from leadhand.domain.limits import Usage
from leadhand.models.json_values import object_of
from leadhand.models.openai.errors import error_message, looks_like_html, redacted
from leadhand.ports import ModelError

from .connection import Connection
from .http_clients import LARGEST_BODY, NotAnApi, TooLongAnswer

_UNBILLED = Usage(requests=1, nanousd=0)
_LONGEST_WAIT_S = 24 * 3_600.0
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


def failed(message: str, type: str, class_: FailureClass, usage: Usage | None, *, next_action: str = "") -> ModelError:
    """A model error, from its parts."""
    return ModelError(
        Failure.model_validate({"message": message, "type": type, "class": class_, "next_action": next_action}), usage
    )


def broken_off(usage: Usage | None = None) -> ModelError:
    """An answer whose end never came."""
    return failed("the answer ended too early", "cut_stream", FailureClass.TRANSIENT, usage)


def classed(error: Exception, connection: Connection) -> ModelError:
    """The failure that ``error`` stands for. The key is cut out of everything it says.

    Its usage is None, which is unknown, where the provider may have answered all the same.
    """
    if isinstance(error, ModelError):
        return error
    class_, type, said, action, usage = _kind(error, connection)
    wait: float | None = None
    if class_ in (FailureClass.RATE_LIMITED, FailureClass.TRANSIENT):
        asked = getattr(error, "retry_after", None)
        wait = min(max(0.0, float(asked)), _LONGEST_WAIT_S) if isinstance(asked, int | float) else None
    return ModelError(
        Failure.model_validate(
            {
                "message": redacted(" ".join(said.split()), connection.key)[:600],
                "type": type,
                "class": class_,
                "next_action": action,
                "retry_after_s": wait,
            }
        ),
        usage,
    )


_Kind = tuple[FailureClass, str, str, str, Usage | None]


def _kind(error: Exception, connection: Connection) -> _Kind:
    """The class, the type, what to say, what a person can do (""; the class's own advice), and the usage."""
    title = connection.title
    if isinstance(error, ConfigurationError):
        return FailureClass.UNAVAILABLE, "configuration", error.what, error.how, _UNBILLED
    chain = list(_causes(error))
    names = {kind.__name__ for cause in chain for kind in type(cause).__mro__}
    if any(isinstance(cause, TooLongAnswer) for cause in chain):
        said = f"the answer is longer than {LARGEST_BODY // 1_000_000} MB"
        return FailureClass.INVALID, "too_long_answer", said, "", None
    if other := next((cause for cause in chain if isinstance(cause, NotAnApi)), None):
        action = f"correct the base URL of {title}"
        return FailureClass.UNAVAILABLE, "not_an_api", f"{title} {other}", action, _UNBILLED
    if any(isinstance(cause, ssl.SSLError) for cause in chain):
        action = "pass the company's certificate as the CA file, or correct the base URL"
        said = _unreached(error, connection).replace("no connection", "no trusted connection")
        return FailureClass.UNAVAILABLE, "certificate", said, action, _UNBILLED
    if isinstance(error, exceptions.ModelTimeoutError | exceptions.ModelRequestTimeout | TimeoutError):
        return FailureClass.TRANSIENT, "timeout", f"{title} did not answer in time", "", None
    if names & _CREDENTIALS:
        said = f"{title} did not accept credentials from this machine: {chain[-1]}"
        return FailureClass.UNAVAILABLE, "bad_key", said, _set_key(connection), _UNBILLED
    if names & _SET_UPS:
        action = "correct AWS_REGION, the base URL or the kind of credentials"
        return FailureClass.UNAVAILABLE, "configuration", f"{title}: {error}", action, _UNBILLED
    if isinstance(error, exceptions.ModelAPIError):
        return _of_api(error, connection, names)
    return _of_rest(error, connection, names)


def _of_api(error: exceptions.ModelAPIError, connection: Connection, names: set[str]) -> _Kind:
    """What the provider refused, or how the way to it failed."""
    status = error.status_code if isinstance(error, exceptions.ModelHTTPError) else 0
    said = _said(error, connection.title, status)
    usage = _UNBILLED if status and not error.in_stream else None
    match error:
        case exceptions.ModelQuotaExceededError():
            action = "add credit at the provider, or choose another model"
            return FailureClass.UNAVAILABLE, "quota", said, action, usage
        case exceptions.ModelRateLimitError():
            return FailureClass.RATE_LIMITED, "rate_limited", said, "", usage
        case exceptions.ModelContextWindowExceededError():
            return FailureClass.TOO_LARGE, "context_length", said, "", usage
        case exceptions.ModelAuthenticationError():
            return FailureClass.UNAVAILABLE, "bad_key", said, _set_key(connection), usage
        case exceptions.ModelNotFoundError():
            return FailureClass.UNAVAILABLE, "unknown_model", said, _other_names(error, connection), usage
        case exceptions.ModelConnectionError():
            if error.phase in ("pool", "connect") or names & _NO_CONNECTION:
                return FailureClass.TRANSIENT, "connection", _unreached(error, connection), "", _UNBILLED
            return (
                FailureClass.TRANSIENT,
                "connection",
                f"the answer of {connection.title} broke off: {error}",
                "",
                None,
            )
        case _ if status == 413:
            return FailureClass.TOO_LARGE, "context_length", said, "", usage
        case _ if status in (408, 409, 425) or status >= 500:
            return FailureClass.TRANSIENT, f"http_{status}", said, "", usage
        case exceptions.ModelUnavailableError() | exceptions.ModelServerError():
            return FailureClass.TRANSIENT, "overloaded", said, "", usage
        case _ if status or isinstance(error, exceptions.ModelRequestRejectedError):
            action = "see the provider's message"
            return FailureClass.INVALID, f"http_{status}" if status else "refused", said, action, usage
        case _:
            return FailureClass.TRANSIENT, "bad_body", said, "", None


def _said(error: exceptions.ModelAPIError, title: str, status: int) -> str:
    """What the provider said."""
    if not isinstance(error, exceptions.ModelHTTPError):
        return f"{title}: {error.message}"
    # Of Bedrock's body, which holds the whole answer, only what it says.
    said = object_of(object_of(error.body).get("Error")).get("Message") or error.body
    body = said if isinstance(said, str) else json.dumps(said, default=str)
    if looks_like_html((error.headers or {}).get("content-type", ""), body):
        return f"{title} answered {status} with a web page"
    return f"{title} answered {status}" + (f": {error_message(body)}" if error.body else "")


def _unreached(error: Exception, connection: Connection) -> str:
    """The message for a server that does not answer, with the cause from the end of the chain."""
    where = f"{connection.title} at {connection.base_url}" if connection.base_url else connection.title
    why = [said for cause in _causes(error) if (said := str(cause))]
    return f"no connection to {where}: {why[-1] if why else type(error).__name__}"


def _of_rest(error: Exception, connection: Connection, names: set[str]) -> _Kind:
    """What no class of pydantic-ai says: by its cause."""
    title = connection.title
    said = f"{title}: {error or type(error).__name__}"
    match error:
        case exceptions.UserError():
            return FailureClass.UNAVAILABLE, "unsupported", said, "choose another model", _UNBILLED
        case ImportError():
            action = "reinstall the provider's extra: its packages are incompatible"
            return FailureClass.UNAVAILABLE, "missing_extra", said, action, _UNBILLED
        case exceptions.ContentFilterError():
            return FailureClass.INVALID, "content_filter", said, "", None
        case exceptions.UnexpectedModelBehavior():
            return (
                FailureClass.TRANSIENT,
                "bad_body",
                f"{title} answered with something else: {error.message}",
                "",
                None,
            )
        case _ if names & _TIMEOUTS:
            return FailureClass.TRANSIENT, "timeout", said, "", None
        case _ if names & _NO_CONNECTION:
            return FailureClass.TRANSIENT, "connection", _unreached(error, connection), "", _UNBILLED
        case OSError():
            return FailureClass.TRANSIENT, "connection", said, "", None
        case _:
            # Mostly an answer that is not formed as their package takes for granted: a KeyError, an IndexError.
            return FailureClass.TRANSIENT, "bad_body", f"{title}: {type(error).__name__}: {error}", "", None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what led to it, the nearest first."""
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
    return f"correct {variables[0]}, or give it access to this model" if variables else "correct the credentials"


def _other_names(error: exceptions.ModelAPIError, connection: Connection) -> str:
    """The model the error suggests, and some that pydantic-ai knows of this provider."""
    names = [name for name in known_model_names() if name.startswith(f"{connection.provider}:")]
    suggested = getattr(error, "suggested_model_id", None)
    if isinstance(suggested, str) and suggested:
        suggested = suggested if ":" in suggested else f"{connection.provider}:{suggested}"
        names = [suggested, *(name for name in names if name != suggested)]
    known = f": {', '.join(names[:_MOST_NAMES])}" if names else ""
    return f"correct the model's name, or use a known model{known}" if known else "correct the model's name"
