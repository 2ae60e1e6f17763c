"""An API on this machine that an OpenAPI document describes: it checks and keeps what it receives."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote

import jsonschema_rs
from aiohttp import web
from aiohttp.test_utils import TestServer
from multidict import MultiDict

DATA = Path(__file__).parent / "data" / "openapi"
PETSTORE = DATA / "petstore.json"
HERE = "127.0.0.1"
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


def star_trek(folder: Path) -> Path:
    """Return a document with 120 operations."""
    path = folder / "star-trek.json"
    path.write_bytes(gzip.decompress((DATA / "star-trek.json.gz").read_bytes()))
    return path


class Received(NamedTuple):
    """A request as it came over the wire."""

    line: str
    query: list[tuple[str, str]]
    headers: dict[str, str]
    body: bytes
    form: dict[str, list[Any]]


class Api:
    """``answers`` has the answer to each request, by ``GET /pet/1`` or for all (``*``): JSON data, a response, or a
    coroutine function. ``document``: what requests are checked against."""

    def __init__(self, document: Path | None = None) -> None:
        self.document = {} if document is None else json.loads(document.read_text())
        self.answers: dict[str, Any] = {"*": None}
        self.received: list[Received] = []
        self.problems: list[str] = []
        self.url = ""

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Api]:
        app = web.Application(client_max_size=10_000_000)
        app.router.add_route("*", "/{path:.*}", self._handle)
        async with TestServer(app, host=HERE) as server:
            self.url = f"http://{HERE}:{server.port}"
            yield self

    @property
    def lines(self) -> list[str]:
        return [each.line for each in self.received]

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        is_form = request.content_type.endswith(("form-data", "urlencoded"))
        posted = await request.post() if is_form else MultiDict[Any]()
        form = {key: [_read(each) for each in posted.getall(key)] for key in posted}
        body = b"" if form else await request.read()
        path, _, query = request.raw_path.partition("?")
        seen = Received(f"{request.method} {path}", parse_qsl(query, True), dict(request.headers), body, form)
        self.received.append(seen)
        if self.document:
            self.problems += list(problems(self.document, seen))
        answer = self.answers.get(seen.line, self.answers["*"])
        if callable(answer):
            return await answer(request)
        return answer if isinstance(answer, web.Response) else web.json_response(answer)


def _read(part: Any) -> Any:
    """Return a part of a form: a text, or the bytes of a file."""
    return part.file.read() if isinstance(part, web.FileField) else part if isinstance(part, str) else part.decode()


def problems(document: dict[str, Any], seen: Received) -> Any:
    """Yield how a request violates a document, which has no styles but the default ones."""
    method, _, path = seen.line.partition(" ")
    found = [
        (item[method.lower()], match)
        for template, item in document["paths"].items()
        if method.lower() in item and (match := re.fullmatch(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", template), path))
    ]
    if not found:
        yield f"there is no operation for {seen.line}"
        return
    operation, match = found[0]
    given = {"path": match.groupdict(), "header": {name.lower(): each for name, each in seen.headers.items()}}
    for parameter in operation.get("parameters", ()):
        name, place, schema = parameter["name"], parameter["in"], parameter["schema"]
        values = [each for key, each in seen.query if key == name] if place == "query" else []
        if place != "query" and (one := given[place].get(name.lower() if place == "header" else name)) is not None:
            values = [unquote(one)]
        if not values and parameter.get("required"):
            yield f"{name} is missing"
        items = schema["items"] if schema.get("type") == "array" else schema
        is_text = items.get("type") == "string"
        yield from (flaw for each in values for flaw in flaws(document, items, each if is_text else json.loads(each)))
    body = operation.get("requestBody", {})
    body = document["components"]["requestBodies"][body["$ref"].rpartition("/")[2]] if "$ref" in body else body
    if seen.body and "json" in seen.headers.get("Content-Type", ""):
        yield from flaws(document, body["content"]["application/json"]["schema"], json.loads(seen.body))


def flaws(document: dict[str, Any], schema: Any, value: Any) -> list[str]:
    validator = jsonschema_rs.validator_for({**schema, "components": document["components"]})
    return [error.message for error in validator.iter_errors(value)]
