"""The connection to an API: its tools, the requests that their calls make, and what the responses mean.

Addresses that are not public are used only if a person named one: with ``base_url``, in a file, or in a document at
such an address. Keys are sent to the origin of the API only.
"""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from collections.abc import Mapping
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leadhand.core.errors import ConfigurationError, FailureClass, ToolError
from leadhand.core.tool import Effect, PinnedOperation, ToolReturn, ToolSpec
from leadhand.core.value import Json, compact_json, object_of, text_of
from leadhand.engine.gate import schema_problems
from leadhand.engine.tool_returns import Unreadable, returned_value
from leadhand.ports import Caller, Page, ToolContext
from leadhand.ports.retry_after import retry_after
from leadhand.tools.openapi import OpenApi, is_url
from leadhand.tools.services import unavailable
from leadhand.tools.tool import Tool
from leadhand.tools.web import fetching, index

from .document import Document
from .operations import ACCEPT, Keys, Operation, invalid, is_json, keys_of, operations

if TYPE_CHECKING:
    from aiohttp import ClientResponse
    from yarl import URL

MOST_TOOLS = 20
"""Operations that are tools of their own."""
MOST_FOUND = 10
LONGEST_REASON = 1_000
"""Characters of the body of a failure that are reported."""


class OpenApiConnection:
    """A document and its API, of one event loop. The document is read when it is needed."""

    def __init__(self, settings: OpenApi, headers: Mapping[str, str]) -> None:
        """``headers`` are those of the settings, with the values of their variables."""
        name = self._name = settings.name
        self._settings, self._headers = settings, headers
        self._search, self._describe, self._call = (f"{name}_{each}" for each in ("search", "describe", "call"))
        self._how = f"find one with {self._search}"
        self._public, self._any = fetching.PageFetcher(), fetching.PageFetcher(allowed=lambda _address: True)
        self._operations: dict[str, Operation] = {}
        """By name; none before the document is read."""
        self._keys, self._base, self._fetcher = Keys(), "", self._public
        self._digest, self._tag = "", ""  # of the document, as it was read; the tag is its ETag

    async def aclose(self) -> None:
        """Close the connections to the API."""
        await self._public.aclose()
        await self._any.aclose()

    async def _read(self) -> dict[str, Operation]:
        """Return the operations of the document as it is now; it is parsed if it changed. Raises ConfigurationError."""
        where, tag, fetcher = self._settings.document, "", self._any
        try:
            if is_url(where):
                fetcher = self._any if await _is_private(fetching.checked_url(where)) else self._public
                known = {"If-None-Match": self._tag} if self._tag else {}
                received = await fetcher.fetch(where, headers={"Accept": ACCEPT, **known})
                content, tag = received.content, received.tag
            else:
                content = await asyncio.to_thread(Path(where).read_bytes)
            if (digest := sha256(content).hexdigest()) != self._digest:
                self._operations, self._keys, self._base = await asyncio.to_thread(self._parsed, content)
                self._fetcher = self._any if self._settings.base_url else fetcher
            self._digest, self._tag = digest, tag
        except (ToolError, OSError, RecursionError) as error:
            if not (self._tag and isinstance(error, ToolError) and error.failure.type == "http_304"):
                how = f"Correct the file or URL of the API {self._name}, or try again when it is there."
                why = getattr(error, "strerror", None) or error
                raise ConfigurationError(f"the OpenAPI document {where} cannot be read: {why}", how) from error
        return self._operations

    def _parsed(self, content: bytes) -> tuple[dict[str, Operation], Keys, str]:
        """Return the operations of a document, the keys, and the address of its API. Raises ConfigurationError."""
        document = Document(content, self._settings.document)
        if not (base := self._settings.base_url or document.address()):
            how = 'Say where it is: openapi(…, base_url="https://…"), or base_url in leadhand.toml.'
            raise ConfigurationError(f"{document.where} does not say at which address its API is", how)
        found = operations(document, self._settings, (self._search, self._describe, self._call))
        return {each.name: each for each in found}, keys_of(document, self._headers), base.rstrip("/")

    async def _pinned(self, name: str, digest: str) -> Operation:
        """Return an operation as a run has recorded it. Raises ToolError if the document has another one now."""
        try:
            for known in (self._operations, None):
                found = (known or await self._read()).get(name)
                if found is not None and found.digest == digest:
                    return found
        except ConfigurationError as error:
            raise unavailable(error.what, "unreadable_document", error.how, not_made=True) from error
        how = "start a new run, which uses the document as it is now"
        said = f"the operation {name} of {self._name} has changed since the run began, so it was not called"
        raise unavailable(said, "tool_changed", how, not_made=True)

    async def tools(self) -> list[Tool[..., Any]]:
        """Return the operations as tools, or the three tools that lead to them. Raises ConfigurationError for a
        document that cannot be read or used."""
        found, api, text = [*(await self._read()).values()], f"the API {self._name}", {"type": "string"}
        if len(found) <= MOST_TOOLS:
            return [
                self._tool(each.name, each.description, each.arguments, each.effect, each.digest, output=each.output)
                for each in found
            ]
        tags = ", ".join(dict.fromkeys(tag for each in found for tag in each.tags))[:500]
        search = f"Search the {len(found)} operations of {api}{tags and f' ({tags})'} by what they do, in a few words."
        describe = f"Describe an operation of {api} by its name, as {self._search} returns it."
        call = f"Call an operation of {api} with the arguments that {self._describe} describes."
        effect = max((each.effect for each in found), key=[*Effect].index)
        pinned = {each.name: self._in_run(each) for each in found}
        given = {"type": "object", "description": f"Of the operation, as {self._describe} describes them."}
        return [
            self._tool(self._search, search, _object(query=text), Effect.PURE),
            self._tool(self._describe, describe, _object(operation=text), Effect.PURE),
            self._tool(self._call, call, _object(operation=text, arguments=given), effect, operations=pinned),
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
        more |= {"timeout": self._settings.timeout, "target": self._target(name)}
        called = partial(self._called, operation, digest)
        of_many: Any = {self._search: self._found, self._describe: self._described, self._call: called}
        made = of_many.get(name, partial(self._made, name, digest))
        tool: Tool[..., Any] = Tool.from_schema(name, description, parameters, made, **given, **more)
        if name == self._call:
            tool.check = partial(self._check, operation, digest)
        if digest:
            tool.confirm = partial(self._pinned, operation or name, digest)
        return tool

    def _in_run(self, operation: Operation) -> PinnedOperation:
        about = {"target": self._target(operation.name), "description": _in_short(operation)["summary"]}
        return PinnedOperation(effect=operation.effect, fingerprint=operation.digest, **about)

    def _target(self, name: str) -> str:
        found = self._operations.get(name)
        return f"{found.method} {self._base}{found.path}" if found else ""

    def _check(self, name: str, digest: str, args: Mapping[str, Json], _caller: Caller | None = None) -> None:
        """Raise ToolError if a call would be refused, as far as that is known without reading the document."""
        if not name:
            raise invalid(f"there is no operation {args.get('operation')!r}", self._how)
        found, given = self._operations.get(name), object_of(args.get("arguments"))
        if found and found.digest == digest and (problems := schema_problems(found.arguments, given, secrets=True)):
            raise invalid(f"arguments of {name}: {'; '.join(problems)}", f"look up its arguments with {self._describe}")

    async def _called(self, name: str, digest: str, args: dict[str, Json], context: ToolContext) -> Any:
        output = (await self._pinned(name, digest)).output if name else None
        self._check(name, digest, args)
        return returned_value(await self._made(name, digest, object_of(args.get("arguments")), context), output)

    async def _found(self, args: dict[str, Json], _context: ToolContext) -> Json:
        given, database = self._operations or await self._read(), sqlite3.connect(":memory:")
        database.executescript(index.SCHEMA)
        for name, each in given.items():
            words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_", " ", f"{name} {each.path} {' '.join(each.tags)}")
            index.add(database, Page(url=name, title=words, text=each.description))
        pages = index.search(database, text_of(args["query"]), MOST_FOUND)
        database.close()
        return [_in_short(given[page.url]) for page in pages]

    async def _described(self, args: dict[str, Json], _context: ToolContext) -> Json:
        found = (self._operations or await self._read()).get(text_of(args["operation"]))
        if found is None:
            raise invalid(f"there is no operation {args['operation']!r}: {self._how}", self._how)
        return {**_in_short(found), "description": found.description, "arguments": found.arguments}

    async def _made(self, name: str, digest: str, args: dict[str, Json], context: ToolContext) -> Any:
        """Return JSON data, a text, that there is nothing, or a description of other data. Raises ToolError; the
        classes of statuses are in docs/how-to/call-an-api.md."""
        import aiohttp
        from yarl import URL

        operation = await self._pinned(name, digest)
        path, headers, data = operation.request(args, context.call_id, self._keys)
        at = URL(f"{self._base}{path}", encoded=True)
        if context.offline and not await _is_private(at):
            said = f"{self._name} is not called offline"
            raise unavailable(said, "offline", "start the run without offline", not_made=True)

        def stay(to: URL) -> None:
            if operation.method != "GET" or to.origin() != at.origin():
                said = f"{self._name} redirects {operation.where} to {fetching.shown(str(to))}"
                raise unavailable(said, "redirected", "set base_url to where the API is now")

        try:
            async with self._fetcher.followed(operation.method, at, stay, data=data, headers=headers) as (_, response):
                status, value = response.status, await _value(response)
        except (aiohttp.ClientError, OSError) as error:
            never_sent = isinstance(error, aiohttp.ClientConnectorError) and operation.effect is Effect.ONCE
            class_ = FailureClass.UNAVAILABLE if never_sent else FailureClass.TRANSIENT
            said = f"the connection to {self._name} failed: {error or type(error).__name__}"[:300]
            how = f"check that the API is at {self._base}, or set base_url to where it is"
            raise ToolError(said, type="connection", class_=class_, next_action=how, not_made=never_sent) from error
        if 200 <= status < 300:
            is_empty = value is None and operation.output is None
            return ToolReturn(summary=f"{self._name} answered {status}, without content") if is_empty else value
        is_refused = status in (401, 403, 407) or status < 400
        class_ = fetching.class_of(status, FailureClass.UNAVAILABLE if is_refused else FailureClass.INVALID)
        how = f"give {self._name} a key that may do this with headers, such as: {operation.keys or 'Authorization'}"
        reason = "" if value is None else value if isinstance(value, str) else compact_json(value)
        said = f"{self._name} answered {status}: {' '.join(reason.split())[:LONGEST_REASON]}".removesuffix(": ")
        wait_s = retry_after(response.headers, context.now())
        raise ToolError(said, type=f"http_{status}", class_=class_, next_action=how * is_refused, retry_after_s=wait_s)


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
        return {"media_type": kind, "bytes": len(content)}


async def _is_private(url: URL) -> bool:
    """Whether a host has an address that is not public."""
    try:
        return not all(map(fetching.is_public, await fetching.resolve(url.host or "", url.port or 0)))
    except OSError:
        return False  # it has no address at all


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    required = [name for name in properties if name != "arguments"]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _in_short(operation: Operation) -> dict[str, Any]:
    summary, effect = operation.description.partition("\n")[0][:200], operation.effect.value
    return {"operation": operation.name, "request": operation.where, "summary": summary, "effect": effect}
