"""The connection to an API: its tools, the requests that their calls make, and what the responses mean.

===================  ============  ========================================================
status               class         type
===================  ============  ========================================================
401, 403, 407        unavailable   ``http_401``, with the keys that the operation asks for
408, 5xx             transient     ``http_503``, with Retry-After
429                  rate_limited  ``http_429``, with Retry-After
any other 4xx        invalid       ``http_404``, with the beginning of what the API says
a redirect           unavailable   ``redirected``; GET follows up to five of the same origin
===================  ============  ========================================================

Addresses that are not public are used only if a person named one: with ``base_url``, in a file, or in a document at
such an address. Keys are sent to the origin of the API only.
"""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from collections.abc import Mapping, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from leadhand.core.errors import ConfigurationError, FailureClass, ToolError
from leadhand.core.tool import Effect, PinnedOperation, ToolSpec
from leadhand.core.value import Json, compact_json, object_of, text_of
from leadhand.engine.gate import schema_problems
from leadhand.engine.tool_returns import Unreadable, returned_value
from leadhand.ports import Caller, Page, ToolContext
from leadhand.ports.retry_after import retry_after
from leadhand.tools.tool import Tool
from leadhand.tools.web import fetching, index

from .document import Document, is_url
from .operations import Operation, address, is_json, operations, schemes_of
from .requests import Keys, Request, keys_of, request_of

if TYPE_CHECKING:
    from aiohttp import ClientResponse
    from yarl import URL

MOST_TOOLS = 20
"""Operations that are tools of their own."""
MOST_FOUND = 10
LARGEST_SHOWN = 8_000
"""Characters of the schema of a result that is described."""
LONGEST_REASON = 1_000
"""Characters of the body of a failure that are reported."""
_STRONGEST = (Effect.ONCE, Effect.IDEMPOTENT, Effect.PURE)


class _Api(NamedTuple):
    """A document as it was read: its operations by name, and the API, which ``may_be_private``."""

    title: str
    operations: dict[str, Operation]
    base: URL
    may_be_private: bool
    keys: Keys


class OpenApiConnection:
    """A document and its API, of one event loop. The document is read when it is needed."""

    def __init__(
        self,
        name: str,
        document: str,
        base_url: str = "",
        headers: Mapping[str, str] = MappingProxyType({}),
        include: Sequence[str] = (),
        timeout: float = 30.0,
    ) -> None:
        """What a project says of the API (see :func:`~leadhand.tools.openapi.source.openapi`); ``headers`` have the
        values of their variables."""
        self._name, self._where, self._base_url = name, document, base_url
        self._headers, self._include, self._timeout = headers, include, timeout
        self._search, self._describe, self._call = (f"{name}_{each}" for each in ("search", "describe", "call"))
        self._public, self._any = fetching.PageFetcher(), fetching.PageFetcher(allowed=lambda _address: True)
        self._api: _Api | None = None

    async def aclose(self) -> None:
        """Close the connections to the API."""
        await self._public.aclose()
        await self._any.aclose()

    # --- the document ------------------------------------------------------------------------------------------------

    async def _read(self) -> _Api:
        """Return the document as it is now. Raises ConfigurationError."""
        from yarl import URL

        where, base_url = self._where, self._base_url.rstrip("/")
        url = where if is_url(where) else ""
        try:
            is_named = not url or await _is_private(fetching.checked_url(url))
            fetcher = self._any if is_named else self._public
            content = (await fetcher.fetch(url)).content if url else await asyncio.to_thread(Path(where).read_bytes)
            document = await asyncio.to_thread(Document, content, where)
            reserved = (self._search, self._describe, self._call)
            found = await asyncio.to_thread(operations, document, self._include, reserved, url, base_url)
        except (ToolError, OSError, RecursionError) as error:
            how = f"Correct the file or URL of the API {self._name}, or try again when it is there."
            why = getattr(error, "strerror", None) or error
            raise ConfigurationError(f"the OpenAPI document {where} cannot be read: {why}", how) from error
        base = URL(base_url or address(document, document.content.get("servers"), url))
        may_be_private = (is_named or bool(base_url)) and await _is_private(base)
        title = text_of(object_of(document.content.get("info")).get("title")) or self._name
        keys = keys_of(schemes_of(document), self._headers)
        self._api = _Api(title, {each.name: each for each in found}, base, may_be_private, keys)
        return self._api

    async def _pinned(self, name: str, digest: str) -> tuple[_Api, Operation]:
        """Return an operation as a run has recorded it. Raises ToolError if the document has another one now."""
        try:
            api = self._api or await self._read()
            if name not in api.operations or api.operations[name].digest != digest:
                api = await self._read()
        except ConfigurationError as error:
            raise _unavailable(error.what, "unreadable_document", error.how) from error
        if name in api.operations and api.operations[name].digest == digest:
            return api, api.operations[name]
        how = "start a new run, which uses the document as it is now"
        raise _unavailable(f"the operation {name} of {self._name} has changed since the run began", "tool_changed", how)

    # --- the tools ---------------------------------------------------------------------------------------------------

    async def tools(self) -> list[Tool[..., Any]]:
        """Return the operations as tools, or the three tools that lead to them. Raises ConfigurationError for a
        document that cannot be read or used."""
        api = await self._read()
        found = [*api.operations.values()]
        if len(found) <= MOST_TOOLS:
            return [
                self._tool(each.name, each.description, each.arguments, each.effect, each.digest, output=each.output)
                for each in found
            ]
        tags = ", ".join(dict.fromkeys(tag for each in found for tag in each.tags))[:500]
        search = f"Search the {len(found)} operations of the API {api.title}{tags and f' ({tags})'}."
        describe, call = f"Describe an operation of the API {api.title}.", f"Call an operation of the API {api.title}."
        query = {"query": _text("What an operation should do, in a few words.")}
        name = {"operation": _text(f"The name of an operation, as {self._search} returns it.")}
        arguments = {"arguments": {"type": "object", "description": f"As {self._describe} describes them."}}
        effect = min((each.effect for each in found), key=_STRONGEST.index)
        pinned = {each.name: PinnedOperation(effect=each.effect, fingerprint=each.digest) for each in found}
        return [
            self._tool(self._search, search, _object(query), Effect.PURE),
            self._tool(self._describe, describe, _object(name), Effect.PURE),
            self._tool(self._call, call, _object({**name, **arguments}), effect, operations=pinned),
        ]

    def bind(self, spec: ToolSpec) -> Tool[..., Any]:
        """Return the tool that a run has recorded; the document is read when it is called."""
        own = spec.import_path.removeprefix(f"openapi:{self._name}:")
        return self._tool(own, spec.description, spec.parameters, spec.effect, spec.fingerprint)

    def _tool(
        self, own: str, description: str, parameters: dict[str, Any], effect: Effect, digest: str = "", **more: Any
    ) -> Tool[..., Any]:
        """Return a tool by its own name; that of a call of one operation of many is ``NAME_call.OPERATION``."""
        name, _, operation = own.partition(".")
        given = {"effect": effect, "origin": f"openapi:{self._name}", "fingerprint": digest, "toolset": self._name}
        given |= {"timeout": self._timeout}
        made: Any = {self._search: self._found, self._describe: self._described}.get(name)
        made = made or partial(self._made, operation if name == self._call else name, digest, name == self._call)
        tool: Tool[..., Any] = Tool.from_schema(name, description, parameters, made, **given, **more)
        if name == self._call:
            tool.check = partial(self._check, operation, digest)
        return tool

    def _check(self, name: str, digest: str, args: Mapping[str, Json], _caller: Caller | None = None) -> None:
        """Raise ToolError if a call would be refused, as far as that is known without reading the document."""
        if not name:
            raise self._unknown(args.get("operation"))
        found = self._api and self._api.operations.get(name)
        if found and found.digest == digest:
            _check_arguments(found, args)

    async def _made(
        self, name: str, digest: str, is_one_of_many: bool, args: dict[str, Json], context: ToolContext
    ) -> Any:
        if is_one_of_many:
            self._check(name, digest, args)
        api, operation = await self._pinned(name, digest)
        given = _check_arguments(operation, args) if is_one_of_many else args
        keys = api.keys if operation.place.startswith(str(api.base.origin())) else ()
        returned = await self._send(api, operation, request_of(operation, given, context.call_id, keys), context)
        return returned_value(returned, operation.output) if is_one_of_many else returned

    async def _found(self, args: dict[str, Json], _context: ToolContext) -> Json:
        given, database = (self._api or await self._read()).operations, sqlite3.connect(":memory:")
        database.executescript(index.SCHEMA)
        for name, each in given.items():
            words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_", " ", f"{name} {each.path} {' '.join(each.tags)}")
            index.add(database, Page(url=name, title=words, text=each.description))
        pages = index.search(database, text_of(args["query"]), MOST_FOUND)
        database.close()
        return [_in_short(given[page.url]) for page in pages]

    async def _described(self, args: dict[str, Json], _context: ToolContext) -> Json:
        found = (self._api or await self._read()).operations.get(text_of(args["operation"]))
        if found is None:
            raise self._unknown(args["operation"])
        about = {**_in_short(found), "description": found.description, "arguments": found.arguments}
        is_shown = found.output is not None and len(compact_json(found.output)) <= LARGEST_SHOWN
        return {**about, "returns": found.output} if is_shown else about

    def _unknown(self, name: Json) -> ToolError:
        said = f"there is no operation {name!r}; find one with {self._search}"
        return ToolError(said, type="bad_arguments", class_=FailureClass.INVALID)

    # --- requests ----------------------------------------------------------------------------------------------------

    async def _send(self, api: _Api, operation: Operation, request: Request, context: ToolContext) -> Json:
        """Return JSON data, a text, None for nothing, or a description of other data. Raises ToolError, by the table of
        this module."""
        import aiohttp

        if context.offline and not api.may_be_private:
            raise _unavailable(f"{self._name} is not called offline", "offline", "start the run without offline")
        try:
            status, headers, value = await self._followed(api, operation, request)
        except (aiohttp.ClientError, OSError) as error:
            never_sent = isinstance(error, aiohttp.ClientConnectorError) and operation.effect is Effect.ONCE
            class_ = FailureClass.UNAVAILABLE if never_sent else FailureClass.TRANSIENT
            said = f"the connection to {self._name} failed: {error or type(error).__name__}"[:300]
            how = f"check that the API is at {operation.place}, or set base_url to where it is"
            raise ToolError(said, type="connection", class_=class_, next_action=how) from error
        if 200 <= status < 300:
            return value
        class_, how = FailureClass.INVALID, ""
        if status in (401, 403, 407) or status < 400:
            class_ = FailureClass.UNAVAILABLE
            how = f"give {self._name} a key that may do this with headers, such as: {operation.keys or 'Authorization'}"
        elif status == 429:
            class_ = FailureClass.RATE_LIMITED
        elif status == 408 or status >= 500:
            class_ = FailureClass.TRANSIENT
        reason = "" if value is None else value if isinstance(value, str) else compact_json(value)
        said = f"{self._name} answered {status}: {' '.join(reason.split())[:LONGEST_REASON]}".removesuffix(": ")
        wait_s = retry_after(headers, context.now())
        raise ToolError(said, type=f"http_{status}", class_=class_, next_action=how, retry_after_s=wait_s)

    async def _followed(self, api: _Api, operation: Operation, request: Request) -> tuple[int, Mapping[str, str], Json]:
        """Return the status, the headers and the content of the response to a request, after redirects."""
        from yarl import URL

        at, method = URL(request.url, encoded=True), operation.method.upper()
        own = at.origin()
        fetcher = self._any if api.may_be_private and own == api.base.origin() else self._public
        for _ in range(fetching.MOST_REDIRECTS + 1):
            async with fetcher.request(method, at, data=request.data, headers=request.headers) as response:
                location = response.headers.get("Location", "")
                if response.status not in fetching.REDIRECTS or not location:
                    return response.status, response.headers, await _value(response)
            at = fetching.checked_url(location, at)
            if operation.effect is not Effect.PURE or at.origin() != own:
                break
        said = f"{self._name} redirects {method} {operation.path} to {fetching.shown(str(at))}"
        raise _unavailable(said, "redirected", "set base_url to where the API is now")


async def _value(response: ClientResponse) -> Json:
    """Return the content of a response. Raises ToolError; of a success Unreadable, since the call was made."""
    kind, content = response.content_type, b""
    try:
        content = await fetching.body_of(response, str(response.url))
        return None if not content else json.loads(content) if is_json(kind) else content.decode()
    except (ToolError, ValueError, RecursionError) as error:
        if response.ok and (is_json(kind) or not content):
            how = "ask for less at once if that is possible, or correct the API"
            said = f"what the API returned cannot be read: {error}"
            raise Unreadable(said, type="bad_result", class_=FailureClass.INVALID, next_action=how) from error
        return {"media_type": kind, "bytes": len(content), "sha256": sha256(content).hexdigest()}


async def _is_private(url: URL) -> bool:
    """Whether a host has an address that is not public."""
    try:
        return not all(map(fetching.is_public, await fetching.resolve(url.host or "", url.port or 0)))
    except OSError:
        return False  # it has no address at all


def _check_arguments(operation: Operation, args: Mapping[str, Json]) -> dict[str, Json]:
    """Return the arguments of one operation of many. Raises ToolError if they do not fit."""
    given = object_of(args.get("arguments"))
    if problems := schema_problems(operation.arguments, given):
        said = f"arguments of {operation.name}: {'; '.join(problems)}"
        raise ToolError(said, type="bad_arguments", class_=FailureClass.INVALID)
    return given


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    required = [name for name in properties if name != "arguments"]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _in_short(operation: Operation) -> dict[str, Any]:
    summary, where = operation.description.partition("\n")[0][:200], f"{operation.method.upper()} {operation.path}"
    return {"operation": operation.name, "request": where, "summary": summary, "effect": operation.effect.value}


def _unavailable(message: str, kind: str, how: str) -> ToolError:
    return ToolError(message, type=kind, class_=FailureClass.UNAVAILABLE, next_action=how)
