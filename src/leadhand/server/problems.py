"""Errors as RFC 9457 problem details, which say what is wrong and how to fix it."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import compile_path

from leadhand.core.errors import LeadhandError, UnreadableRun, UsageError
from leadhand.core.errors.advice import Advice

LOGGER = logging.getLogger("leadhand.server")
MEDIA_TYPE = "application/problem+json"
LARGEST_BODY = 1_000_000
"""Bytes of a request's body; 413 above. A request has 100,000 characters at most, of up to four bytes each."""
RETRY_AFTER_S = 2
"""Seconds after which a client may try again what the server cannot do now."""
LISTED = "See /openapi.json for the routes and their parameters."

STATUS_OF = {
    "usage": HTTPStatus.CONFLICT,
    "no_such_run": HTTPStatus.NOT_FOUND,
    "run_owned": HTTPStatus.CONFLICT,
    "fenced": HTTPStatus.CONFLICT,
    "configuration": HTTPStatus.CONFLICT,
    "store": HTTPStatus.SERVICE_UNAVAILABLE,
    "unreadable_run": HTTPStatus.SERVICE_UNAVAILABLE,
    "error": HTTPStatus.SERVICE_UNAVAILABLE,
}
"""By the code of a LeadhandError. What a schema can say is refused with 422 before a route is called; what only this
server or the state of a run can say is a conflict (409)."""


class ProblemDetails(BaseModel):
    """An error (RFC 9457): ``detail`` says what is wrong, ``how`` says how to fix it, ``code`` is for programs."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    "type": "about:blank",
                    "title": "Not Found",
                    "status": 404,
                    "detail": "there is no run run_01m7zh2rmzdvjq26wwj6s9pcjw",
                    "how": "`GET /api/runs` shows the runs of this database",
                    "code": "no_such_run",
                    "instance": "/api/runs/run_01m7zh2rmzdvjq26wwj6s9pcjw",
                }
            ]
        },
    )

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    how: str = ""
    code: str
    instance: str


class Problem(LeadhandError):
    """An error with its HTTP status; ``more`` are further members, ``headers`` further headers."""

    def __init__(
        self,
        status: HTTPStatus,
        code: str,
        what: str,
        how: str = "",
        *,
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(what, how)
        self.status = status
        self.code = code
        self.headers = dict(headers or {})
        self.more = more


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors that a route may return, as OpenAPI describes them."""
    return {
        status: {
            "description": HTTPStatus(status).phrase,
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}},
        }
        for status in statuses
    }


def unconfirmed(what: str, how: str, **more: Any) -> Problem:
    """The problem of an irreversible action that was not confirmed (409)."""
    return Problem(HTTPStatus.CONFLICT, "unconfirmed", what, how, **more)


def no_such(what: str, how: str) -> Problem:
    """The problem of something that does not exist (404)."""
    return Problem(HTTPStatus.NOT_FOUND, "not_found", what, how)


def invalid(what: str, how: str, **more: Any) -> Problem:
    """The problem of a request with an invalid value (422)."""
    return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid", what, how, **more)


def no_route(app: FastAPI, method: str, path: str, headers: Mapping[str, str] | None = None) -> Problem:
    """The problem of an unknown path (404), or of a method that the path does not support (405).

    ``headers`` name the supported methods of a path that the OpenAPI document does not describe.
    """
    routes = app.openapi()["paths"].items()
    methods = next((sorted(found) for route, found in routes if _regex(route).match(path)), list[str]())
    known = ", ".join([*methods, "head"] if "get" in methods else methods).upper()
    if method in known.split(", ") or not (known or headers):
        return Problem(HTTPStatus.NOT_FOUND, "not_found", f"{path} does not exist", LISTED)
    return Problem(
        HTTPStatus.METHOD_NOT_ALLOWED,
        "method_not_allowed",
        f"{path} does not support {method}",
        LISTED,
        headers={"allow": known} if known else headers,
    )


@cache
def _regex(route: str) -> re.Pattern[str]:
    """What a path of the OpenAPI document matches; the last two parameters may contain slashes."""
    return compile_path(re.sub(r"\{(path|call_id)\}$", r"{\1:path}", route))[0]


def answer(problem: LeadhandError, instance: str) -> Response:
    """The response to an error."""
    how = problem.how.http if isinstance(problem.how, Advice) else problem.how
    if isinstance(problem, Problem):
        status, headers, more = problem.status, problem.headers, problem.more
    else:
        status, headers, more = STATUS_OF.get(problem.code, HTTPStatus.CONFLICT), dict[str, str](), dict[str, Any]()
        if isinstance(problem, UsageError) and problem.field:
            more["errors"] = [{"where": f"body.{problem.field}", "what": problem.what, "how": how}]
    if status is HTTPStatus.SERVICE_UNAVAILABLE and problem.code != UnreadableRun.code:
        headers = {"retry-after": str(RETRY_AFTER_S), **headers}
    body = {
        "type": "about:blank",
        "title": status.phrase,
        "status": status.value,
        "detail": problem.what,
        "how": how,
        "code": "conflict" if problem.code == UsageError.code else problem.code,
        "instance": instance,
        **more,
    }
    # ASCII only: a quoted value may contain characters that UTF-8 cannot encode.
    return Response(json.dumps(body), status.value, headers, MEDIA_TYPE)


def too_large() -> Problem:
    """The problem of a body that exceeds the limit (413)."""
    return Problem(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "too_large",
        f"the body is larger than {LARGEST_BODY:,} bytes",
        "Send a smaller body. A request may have at most 100,000 characters.",
    )


def ending() -> Problem:
    """The problem of a request that arrives while the server shuts down (503)."""
    return Problem(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "ending",
        "the server is shutting down",
        "Try again after the restart. Runs are kept.",
    )


def defect(method: str, path: str, error: Exception) -> Response:
    """Log an unexpected error and return the response to it (500)."""
    LOGGER.error("%s %s failed", method, path, exc_info=error)
    problem = Problem(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "internal",
        f"internal error: {type(error).__name__}",
        "This is a bug in Leadhand. The server's log has the details. Runs are kept.",
    )
    return answer(problem, path)


def fault_of(error: Mapping[str, Any]) -> tuple[str, str]:
    """Return what is wrong with a request, in one line, and how to fix it: one error of its validation."""
    place, *names = error["loc"]
    field = ".".join(map(str, names))
    if error["type"] == "json_invalid":
        why = str(error["ctx"]["error"])
        what = f"the body is not valid JSON: {why[:1].lower()}{why[1:]} at character {field}"
        return what, "Send a JSON object."
    what = field if place == "body" else f"the {place} parameter {field}"
    what = what or "the body"
    match error["type"]:
        case "missing":
            return f"{what} is missing", f"Send {'it as a JSON object' if what == 'the body' else field}."
        case "extra_forbidden":
            return f"{what} is not a field of this request", "Remove it, or correct its name."
        case "model_attributes_type" | "model_type" | "dict_type":
            return f"{what} is not a JSON object", "Send a JSON object."
        case "value_error":
            how = str(error["ctx"]["error"])
            return f"invalid value for {what}", f"{how[:1].upper()}{how[1:]}."
        case "string_pattern_mismatch":
            return f"{what} does not have the required form", f"Send a text that matches {error['ctx']['pattern']}"
        case _:
            rule = re.sub(r"^(Input|Value|[A-Z][a-z]+) should ", "must ", error["msg"])
            return f"{what} {rule}", "Send a value that meets this requirement."


def answer_errors(app: FastAPI) -> None:
    """Return every expected error of an app's routes as a problem; the guard handles the others."""

    async def ours(request: Request, error: Exception) -> Response:
        assert isinstance(error, LeadhandError)
        return answer(error, request.url.path)

    async def of_pydantic(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        found = [(".".join(map(str, each["loc"])), fault_of(each)) for each in error.errors()]
        faults = [{"where": where, "what": what, "how": how} for where, (what, how) in found]
        return answer(invalid(*found[0][1], errors=faults), request.url.path)

    async def of_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        path = request.url.path
        match error.status_code:
            case 400:  # FastAPI raises this for a body that is not UTF-8
                return answer(invalid("the body is not JSON in UTF-8", "Send a JSON object in UTF-8."), path)
            case 404 | 405:
                return answer(no_route(app, request.method, path, error.headers), path)
            case 413:
                return answer(too_large(), path)
            case other:
                status = HTTPStatus(other)
                problem = Problem(status, status.name.lower(), str(error.detail), LISTED, headers=error.headers)
                return answer(problem, path)

    app.add_exception_handler(LeadhandError, ours)
    app.add_exception_handler(RequestValidationError, of_pydantic)
    app.add_exception_handler(HTTPException, of_http)
