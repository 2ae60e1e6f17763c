"""Classify the exceptions of pydantic-ai and the packages below it: each becomes one failure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic_ai.exceptions import ModelHTTPError

from leadhand.core.limits import Usage
from leadhand.core.value import object_of
from leadhand.models.errors import failure_of
from leadhand.models.failures import UNBILLED, failed
from leadhand.ports import ModelError

from .connection import Connection

_TYPES: tuple[tuple[str, Usage | None, frozenset[str]], ...] = (
    ("certificate", UNBILLED, frozenset({"SSLError"})),
    (
        "bad_key",
        UNBILLED,
        # botocore, google-auth
        frozenset({"NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError", "TokenRetrievalError"})
        | {"SSOTokenLoadError", "ProfileNotFound", "DefaultCredentialsError", "RefreshError"},
    ),
    (
        "configuration",
        UNBILLED,
        frozenset({"NoRegionError", "InvalidEndpointConfigurationError", "InvalidConfigError"}),  # botocore
    ),
    (
        "connection",
        UNBILLED,
        frozenset({"ConnectError", "ConnectTimeout", "EndpointConnectionError", "ConnectTimeoutError", "PoolTimeout"}),
    ),
    (
        "timeout",
        None,
        frozenset({"ReadTimeout", "WriteTimeout", "ReadTimeoutError", "TimeoutError"})
        | {"ModelTimeoutError", "ModelRequestTimeout"},
    ),
    ("unsupported", UNBILLED, frozenset({"UserError"})),
    ("content_filter", None, frozenset({"ContentFilterError"})),
    # Errors that a provider sends in the middle of its stream.
    ("rate_limited", None, frozenset({"ModelRateLimitError"})),
    ("overloaded", None, frozenset({"ModelUnavailableError", "ModelServerError"})),
    ("refused", None, frozenset({"ModelRequestRejectedError"})),
    ("connection", None, frozenset({"ModelConnectionError", "OSError"})),
)
"""The types of failures, and what such a call used (None: it may have been answered), by the names of exceptions: the
packages that they come from may not be installed. The first row that names a cause or one of its bases applies."""


def classed(error: Exception, connection: Connection) -> ModelError:
    """Return the model error for an exception, with the key redacted."""
    chain = list(_causes(error))
    if found := next((cause for cause in chain if isinstance(cause, ModelError)), None):
        return found
    if isinstance(error, ModelHTTPError):
        return _answered(error, chain, connection)
    names = {kind.__name__ for cause in chain for kind in type(cause).__mro__}
    # Others usually mean an answer in a form that their package does not expect: a KeyError, an IndexError.
    type_, usage = next(((kind, usage) for kind, usage, of in _TYPES if names & of), ("bad_body", None))
    where = f" at {connection.base_url}" if connection.base_url else ""
    why = next((said for cause in reversed(chain) if (said := str(cause))), "")
    message = f"{connection.title}{where}: {type(error).__name__}: {why}"
    return failed(type_, message, usage, key=connection.key)


def _answered(error: ModelHTTPError, chain: list[BaseException], connection: Connection) -> ModelError:
    """The error for what a provider answered, or sent in the middle of its stream."""
    said = object_of(error.body).get("Error")  # Bedrock's body contains the whole response
    body = {"message": object_of(said).get("Message"), "code": object_of(said).get("Code")} if said else error.body
    text = body if isinstance(body, str) else json.dumps(body, default=str) if body else ""
    variables = connection.key_variables
    setting = variables[0] if connection.key and variables else "the credentials"
    wait_s = getattr(error, "retry_after", None)  # also from the body
    headers = _headers(chain) if wait_s is None else {"retry-after": str(wait_s)}
    failure = failure_of(
        error.status_code, headers, text, key=connection.key, key_setting=setting, server=connection.title
    )
    streaming = error.status_code == 200 or getattr(error, "in_stream", False)
    return ModelError(failure, None if streaming else UNBILLED)


def _headers(chain: list[BaseException]) -> Mapping[str, str]:
    """The headers of the answer: of httpx, or botocore's."""
    for cause in chain:
        response: Any = getattr(cause, "response", None)
        kept = object_of(object_of(response).get("ResponseMetadata")).get("HTTPHeaders")
        headers = getattr(response, "headers", None) or kept
        if headers:
            return headers
    return {}


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    while id(error) not in seen:
        seen.add(id(error))
        yield error
        earlier = error.__cause__ or error.__context__
        if earlier is None:
            return
        error = earlier
