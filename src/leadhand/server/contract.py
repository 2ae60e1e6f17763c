"""What every documented route does: it refuses what it would have to ignore."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from email.message import Message
from http import HTTPStatus
from typing import Any

from fastapi import Request, Response
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import Query as QueryParameter
from fastapi.routing import APIRoute

from leadhand.server.problems import Problem, invalid

EXACT = 2**53
"""Below it, floats hold every integer."""


class _JsonRequest(Request):
    """A request in whose body 20.0 is the integer 20, as in JSON Schema."""

    async def json(self) -> Any:
        body = await self.body()
        value = json.loads(body, parse_float=_number)
        if b"\\u" in body:
            json.dumps(value, ensure_ascii=False).encode()  # halves of characters, which are no text, raise an error
        return value


def _number(text: str) -> float:
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < EXACT else number


class Route(APIRoute):
    """A route that refuses unknown query parameters (422), and bodies that are not JSON in UTF-8 (415)."""

    def get_route_handler(self) -> Callable[[Request], Any]:
        handle = super().get_route_handler()
        known = sorted(
            each.alias for each in get_flat_params(self.dependant) if isinstance(each.field_info, QueryParameter)
        )

        async def handler(request: Request) -> Response:
            request = _JsonRequest(request.scope, request.receive)
            _check_query(request, known)
            if self.body_field is not None:
                await _check_media_type(request)
            return await handle(request)

        return handler


def _check_query(request: Request, known: Collection[str]) -> None:
    unknown = next((name for name in request.query_params if name not in known), None)
    if unknown is not None:
        raise invalid(
            f"unknown query parameter {unknown!r}",
            f"Choose from: {', '.join(known)}." if known else "This route has no query parameters.",
        )


async def _check_media_type(request: Request) -> None:
    headers = request.headers
    given = Message()
    given["content-type"] = headers.get("content-type", "text/plain")
    is_json = given.get_content_type() == "application/json" or given.get_content_type().endswith("+json")
    readable = str(given.get_param("charset", "utf-8")).lower() in ("utf-8", "utf8", "us-ascii")
    if is_json and readable and headers.get("content-encoding", "identity").lower() == "identity":
        return
    if await request.body():
        raise Problem(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            "unsupported_media_type",
            "the body is not uncompressed JSON in UTF-8",
            "Send it with content-type: application/json.",
        )
