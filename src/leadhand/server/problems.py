"""Errors as they go out: RFC 9457 problem details that say what is wrong and how to mend it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException
from starlette.responses import Response

from leadhand.domain.errors import LeadhandError, UsageError
from leadhand.domain.tool import ToolSpec

LOGGER = logging.getLogger("leadhand.server")
MEDIA_TYPE = "application/problem+json"

STATUS_OF = {
    "usage": HTTPStatus.UNPROCESSABLE_ENTITY,
    "no_such_run": HTTPStatus.NOT_FOUND,
    "run_owned": HTTPStatus.CONFLICT,
    "fenced": HTTPStatus.CONFLICT,
    "configuration": HTTPStatus.UNPROCESSABLE_ENTITY,
    "store": HTTPStatus.SERVICE_UNAVAILABLE,
    "error": HTTPStatus.SERVICE_UNAVAILABLE,
}
"""By the code of a LeadhandError."""


class ProblemDetails(BaseModel):
    """What an error looks like: ``detail`` says what is wrong, ``how`` what mends it, ``code`` is for programs."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    "type": "about:blank",
                    "title": "Not Found",
                    "status": 404,
                    "detail": "there is no run run_01m7zh2rmzdvjq26wwj6s9pcjw",
                    "how": "leadhand runs list shows what there is.",
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
    """An error with the HTTP status it goes out with; ``more`` are further members, ``headers`` further headers."""

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
    """What OpenAPI says of the errors a route may answer with."""
    return {
        status: {
            "description": HTTPStatus(status).phrase,
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}},
        }
        for status in statuses
    }


@contextmanager
def conflicts() -> Generator[None]:
    """What cannot be done to a run as it is now is a conflict (409), and no defect of the request."""
    try:
        yield
    except UsageError as error:
        raise Problem(HTTPStatus.CONFLICT, "conflict", error.what, error.how) from error


def unconfirmed(what: str, how: str, **more: Any) -> Problem:
    """What cannot be taken back, and was not confirmed."""
    return Problem(HTTPStatus.CONFLICT, "unconfirmed", what, how, **more)


def no_such(what: str, how: str) -> Problem:
    """Something that is not there."""
    return Problem(HTTPStatus.NOT_FOUND, "not_found", what, how)


def no_such_tool(name: str, tools: tuple[ToolSpec, ...]) -> Problem:
    """A tool that is not there."""
    return no_such(f"there is no tool {name!r}", f"There are: {', '.join(tool.name for tool in tools) or 'none'}.")


def answer(problem: LeadhandError, instance: str) -> Response:
    """The response to an error."""
    if isinstance(problem, Problem):
        status, headers, more = problem.status, problem.headers, problem.more
    else:
        status, headers, more = STATUS_OF.get(problem.code, HTTPStatus.CONFLICT), dict[str, str](), dict[str, Any]()
    body = {
        "type": "about:blank",
        "title": status.phrase,
        "status": status.value,
        "detail": problem.what,
        "how": problem.how,
        "code": problem.code,
        "instance": instance,
        **more,
    }
    return JSONResponse(body, status.value, headers, MEDIA_TYPE)


def defect(method: str, path: str, error: Exception) -> Response:
    """The response to what nobody foresaw, which goes to the log."""
    LOGGER.error("%s %s failed", method, path, exc_info=error)
    problem = Problem(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "internal",
        f"internal error: {type(error).__name__}",
        "It is a defect of Leadhand's, and in the server's log; runs are kept.",
    )
    return answer(problem, path)


def answer_errors(app: FastAPI) -> None:
    """Have every error of an app's routes answered as a problem; what nobody foresaw is left to the guard."""

    async def ours(request: Request, error: Exception) -> Response:
        assert isinstance(error, LeadhandError)
        return answer(error, request.url.path)

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        faults = [{"where": _where(fault["loc"]), "what": fault["msg"]} for fault in error.errors()]
        first = faults[0]
        return answer(
            Problem(
                HTTPStatus.UNPROCESSABLE_ENTITY,
                "invalid",
                f"{first['where']}: {first['what']}",
                "The routes and what they take are described at /docs.",
                errors=faults,
            ),
            request.url.path,
        )

    async def of_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        status = HTTPStatus(error.status_code)
        how = {404: "The routes are listed at /docs.", 405: "The methods of each route are listed at /docs."}
        problem = Problem(
            status,
            status.name.lower(),
            str(error.detail),
            how.get(status.value, ""),
            headers=error.headers,
        )
        return answer(problem, request.url.path)

    handlers: dict[type[Exception], Callable[[Request, Exception], Awaitable[Response]]] = {
        LeadhandError: ours,
        RequestValidationError: invalid,
        HTTPException: of_http,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)


def _where(location: tuple[int | str, ...]) -> str:
    return ".".join(map(str, location)) or "body"
