"""Dependencies and parameter types that routes share."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Header, Path, Query, Request
from pydantic import StringConstraints

from leadhand.app.steering.access import Scope
from leadhand.app.telemetry.traces import callers_span
from leadhand.server.access import Access, Principal, allowed
from leadhand.server.service import Service

# All are async: FastAPI would call other functions in a thread, which takes longer than they do.


async def _service(request: Request) -> Service:
    return request.app.state.service


async def _access(request: Request) -> Access:
    return request.app.state.access


async def _callers_span(request: Request) -> str:
    return callers_span(request.headers.getlist("traceparent"))


TheAccess = Annotated[Access, Depends(_access)]
TheService = Annotated[Service, Depends(_service)]
CallersTrace = Annotated[str, Depends(_callers_span)]
Reader = Annotated[Principal, Depends(allowed(Scope.READ))]
ReaderOfAll = Annotated[Principal, Depends(allowed(Scope.READ_ALL))]
Runner = Annotated[Principal, Depends(allowed(Scope.RUN))]
RunnerReader = Annotated[Principal, Depends(allowed(Scope.RUN, on_run=Scope.READ))]
Admin = Annotated[Principal, Depends(allowed(Scope.ADMIN))]
Approver = Annotated[Principal, Depends(allowed(Scope.APPROVE))]

RunId = Annotated[str, Path(description="The run's full id.", examples=["run_01m7zh2rmzdv"], max_length=100)]
LONGEST_WAIT_S = 600
WaitSeconds = Annotated[
    float,
    Query(
        ge=0,
        le=LONGEST_WAIT_S,
        description="Answer when the run has ended, is paused or waits for approval, or after this many seconds.",
    ),
]
Words = Annotated[str, StringConstraints(max_length=10_000)]
"""A reason or another text that a person writes."""
IdempotencyKey = Annotated[
    str | None,
    Header(
        description="A second request with the same key and body returns the same run.",
        min_length=1,
        max_length=255,
        pattern="^[ -~]+$",
    ),
]
