"""Classify the exceptions of pydantic-ai: what a provider answered, or why it did not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic_ai.exceptions import ModelHTTPError

from leadhand.core.value import object_of
from leadhand.models import exceptions
from leadhand.models.errors import failure_of
from leadhand.models.failures import UNBILLED
from leadhand.ports import ModelError

from .connection import Connection


def classed(error: Exception, connection: Connection) -> ModelError:
    """Return the model error for an exception, with the key redacted."""
    if not isinstance(error, ModelHTTPError):
        where = f"{connection.title} at {connection.base_url}" if connection.base_url else connection.title
        return exceptions.classed(error, where, connection.key)
    said = object_of(error.body).get("Error")  # Bedrock's body contains the whole response
    body = {"message": object_of(said).get("Message"), "code": object_of(said).get("Code")} if said else error.body
    text = body if isinstance(body, str) else json.dumps(body, default=str) if body else ""
    variables = connection.key_variables
    setting = variables[0] if connection.key and variables else "the credentials"
    wait_s = getattr(error, "retry_after", None)  # also from the body
    headers = _headers(error) if wait_s is None else {"retry-after": str(wait_s)}
    failure = failure_of(
        error.status_code, headers, text, key=connection.key, key_setting=setting, server=connection.title
    )
    streaming = error.status_code == 200 or getattr(error, "in_stream", False)
    return ModelError(failure, None if streaming else UNBILLED)


def _headers(error: ModelHTTPError) -> Mapping[str, str]:
    """The headers of the answer: of httpx, or botocore's."""
    for cause in exceptions.causes(error):
        response: Any = getattr(cause, "response", None)
        kept = object_of(object_of(response).get("ResponseMetadata")).get("HTTPHeaders")
        headers = getattr(response, "headers", None) or kept
        if headers:
            return headers
    return {}
