"""What every documented route does: it refuses what it would have to ignore, and repeats no request with a key."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Collection
from email.message import Message
from http import HTTPStatus
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from leadhand.core.errors import LeadhandError
from leadhand.core.value import Json
from leadhand.ports import in_database
from leadhand.server.access import Access
from leadhand.server.problems import Problem, answer, invalid
from leadhand.server.service import Service
from leadhand.server.start_request import checked_key

KEEPS_ITSELF = ("/api/runs", "/api/session", "/api/keys", "/api/webhooks")
"""POST routes whose responses are not kept: a run gets its id from the key, and the others are secret."""
KEPT_S = 86_400.0
"""Seconds for which the response to a request with an Idempotency-Key is kept."""
KEPT_HEADERS = ("content-type", "location")

_Handle = Callable[[Request], Awaitable[Response]]


class Route(APIRoute):
    """A route that refuses unknown query parameters (422), and bodies that are not JSON in UTF-8 (415); a POST
    with an ``Idempotency-Key`` is carried out once."""

    def get_route_handler(self) -> Callable[[Request], Any]:
        handle = super().get_route_handler()
        known = sorted(each.alias for each in self.dependant.query_params)
        keyed = "POST" in (self.methods or ()) and self.path not in KEEPS_ITSELF

        async def handler(request: Request) -> Response:
            _check_query(request, known)
            if len(request.headers.getlist("idempotency-key")) > 1:
                raise invalid("the request has more than one Idempotency-Key header", "Send one of them.")
            if self.body_field is not None:
                await _check_media_type(request)
            if keyed and (key := request.headers.get("idempotency-key")) is not None:
                return await _once(request, checked_key(key), handle)
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


async def _once(request: Request, key: str, handle: _Handle) -> Response:
    """Carry a request out, or return the response to an earlier one with the same principal, route, key and body.

    Raises Problem: 422 if the earlier body was another, 409 if the outcome of the earlier request is unknown.
    """
    access: Access = request.app.state.access
    service: Service = request.app.state.service
    principal = await access.who(request)
    if principal is None:
        return await handle(request)  # which refuses it
    who = f"{principal.key_id or ''}\n{request.url.path}\n{key}"
    name = f"idempotency: {hashlib.sha256(who.encode()).hexdigest()}"
    body = hashlib.sha256(await request.body()).hexdigest()
    store = service.runtime.store
    async with service.locks.setdefault(name, asyncio.Lock()):
        while not await in_database(store).cache_new(name, {"body": body}, KEPT_S):
            if (earlier := await store.cached(name)) is not None:  # else another server has just refused it
                await access.rates.check(principal.key_id)
                return _repeated(earlier, body)
        try:
            response = await handle(request)
        except (LeadhandError, RequestValidationError, HTTPException) as error:
            if not isinstance(error, LeadhandError) or answer(error, "").status_code < HTTPStatus.INTERNAL_SERVER_ERROR:
                await store.cache(name, None, 0.0)  # it was refused, and may be sent again
            raise
        headers: dict[str, Json] = {each: response.headers[each] for each in KEPT_HEADERS if each in response.headers}
        sent: Json = {"status": response.status_code, "headers": headers, "content": bytes(response.body).decode()}
        await store.cache(name, {"body": body, "response": sent}, KEPT_S)
        return response


def _repeated(earlier: Any, body: str) -> Response:
    if earlier["body"] != body:
        raise Problem(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            "idempotency_key_reused",
            "this Idempotency-Key was used for another request",
            "Use a new key for each request.",
        )
    sent = earlier.get("response")
    if sent is None:
        raise Problem(
            HTTPStatus.CONFLICT,
            "idempotency_key_in_use",
            "a request with this Idempotency-Key is being carried out by another server, or was interrupted",
            "Send it again for the response. If that does not help, see what the run shows, and use a new key.",
        )
    return Response(sent["content"], sent["status"], {**sent["headers"], "idempotency-replayed": "true"})
