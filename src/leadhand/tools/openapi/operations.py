"""The operations of an OpenAPI document: what a call of one sends and returns, and what it does."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple
from urllib.parse import urljoin

from leadhand.core.errors import ConfigurationError
from leadhand.core.tool import Effect
from leadhand.core.value import Json, is_object, list_of, object_of, objects_of, text_of

from .document import Document

EFFECTS = {
    "get": Effect.PURE,
    "put": Effect.IDEMPOTENT,
    "delete": Effect.IDEMPOTENT,
    "post": Effect.ONCE,
    "patch": Effect.ONCE,
}
"""The methods that are tools, and what a second call of one does (RFC 9110 §9.2)."""
LONGEST_NAME = 64
"""Characters of a tool's name that every provider of models takes."""
LONGEST_DESCRIPTION = 2_000
JSON, FORM, MULTIPART = "application/json", "application/x-www-form-urlencoded", "multipart/form-data"
_STYLES = {
    "path": ("simple",),
    "header": ("simple",),
    "cookie": ("form",),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
}
"""The styles of parameters by place, the default first."""


class Parameter(NamedTuple):
    """A parameter: ``argument`` is its name for a model, "" for the key of a call, which no model chooses; ``name`` is
    what is sent. The value of one that ``is_json`` is written as JSON."""

    argument: str
    name: str
    place: str
    style: str
    explode: bool
    is_json: bool


class Body(NamedTuple):
    """The body of a request. ``encoding`` says how the parts of a form are written, ``files`` which ones are files."""

    argument: str
    media_type: str
    encoding: dict[str, Any]
    files: list[str]


class Operation(NamedTuple):
    """One operation. ``arguments`` and ``output`` are the JSON schemas of a call, ``keys`` are in words what it asks
    for, and ``place`` is the URL of its API."""

    name: str
    method: str
    path: str
    description: str
    tags: list[str]
    parameters: list[Parameter]
    body: Body | None
    arguments: dict[str, Any]
    output: dict[str, Any] | None
    keys: str
    place: str

    @property
    def effect(self) -> Effect:
        return EFFECTS[self.method]

    @property
    def digest(self) -> str:
        """What a run records of it, in short: another one may do something else."""
        return hashlib.sha256(json.dumps(self._replace(place=""), sort_keys=True).encode()).hexdigest()[:16]


def operations(
    document: Document, include: Sequence[str], taken: Collection[str], url: str, base_url: str
) -> list[Operation]:
    """Return the operations of a document, in its order: those of which ``include`` matches the name, the id, the
    method and path (``GET /pets/*``) or a tag (``tag:pets``), all if it is empty.

    ``taken`` are names that none gets, ``url`` is where the document was read ("" for a file), ``base_url`` where the
    API is, in place of what the document says. Raises ConfigurationError for a document that cannot be used.
    """
    given = [_Given(document, method, path, item, raw) for method, path, item, raw in _listed(document)]
    found = [each for each in given if not include or each.matches(include)]
    if not found:
        known = ", ".join(each.name for each in given[:10]) or "none"
        problem = f"{document.where} has no operations{' that match ' * bool(include)}{', '.join(include)}"
        raise ConfigurationError(problem, f"Its operations are: {known}.")
    names = set(taken)
    return [each.operation(_free(each.name, names), base_url or each.place(url)) for each in found]


def address(document: Document, servers: Json, url: str) -> str:
    """Return the first of some servers as a URL. Raises ConfigurationError without one."""
    server = (objects_of(servers) or [{}])[0]
    at = text_of(server.get("url")) or "/"
    for name, variable in object_of(server.get("variables")).items():
        at = at.replace(f"{{{name}}}", str(object_of(variable).get("default", "")))
    at = urljoin(url, at)
    if not at.startswith(("http://", "https://")) or "{" in at:
        how = 'Say where it is: openapi(…, base_url="https://…"), or base_url in the project.'
        raise ConfigurationError(f"{document.where} does not say at which address its API is", how)
    return at.rstrip("/")


def _listed(document: Document) -> Iterator[tuple[str, str, dict[str, Any], dict[str, Any]]]:
    for path, each in object_of(document.content.get("paths")).items():
        item = document.resolved(each)
        yield from ((method, path, item, item[method]) for method in EFFECTS if is_object(item.get(method)))


def _free(name: str, taken: set[str]) -> str:
    """Return a name that is not taken yet, and take it."""
    number, free = 2, name
    while free in taken:
        number, free = number + 1, f"{name}_{number}"
    taken.add(free)
    return free


class _Given(NamedTuple):
    """An operation as a document has it, and the item of its path."""

    document: Document
    method: str
    path: str
    item: dict[str, Any]
    raw: dict[str, Any]

    @property
    def name(self) -> str:
        """Its name as an identifier: from its id, else from its method and path."""
        name = text_of(self.raw.get("operationId")) or f"{self.method} {self.path}"
        name = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")
        name = name if name[:1].isalpha() else f"call_{name}"
        tail = f"_{hashlib.sha256(name.encode()).hexdigest()[:8]}" if len(name) > LONGEST_NAME else ""
        return f"{name[: LONGEST_NAME - len(tail)]}{tail}"

    def matches(self, include: Sequence[str]) -> bool:
        tags = (f"tag:{tag}" for tag in list_of(self.raw.get("tags")))
        names = (self.name, text_of(self.raw.get("operationId")), f"{self.method.upper()} {self.path}", *tags)
        return any(fnmatchcase(name, pattern) for name in names for pattern in include)

    def place(self, url: str) -> str:
        servers = (each.get("servers") for each in (self.raw, self.item, self.document.content))
        return address(self.document, next(filter(None, servers), None), url)

    def operation(self, name: str, place: str) -> Operation:
        raw, document, taken = self.raw, self.document, set[str]()
        properties, required, parameters = dict[str, Json](), list[str](), list[Parameter]()
        for each in self._parameters():
            parameter = self._parameter(each, taken)
            parameters.append(parameter)
            if parameter.argument:
                media = next(iter(object_of(each.get("content")).values()), each)
                properties[parameter.argument] = _described(object_of(media).get("schema", {}), each)
                required += [parameter.argument] if each.get("required") or parameter.place == "path" else []
        body = None
        if given := document.resolved(raw.get("requestBody")):
            body, schema = self._body(given, taken)
            properties[body.argument] = _described(schema, given)
            required += [body.argument] if given.get("required") else []
        whole = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
        said = (
            text_of(each).strip() for each in (raw.get("summary") or self.item.get("summary"), raw.get("description"))
        )
        description = "\n".join(dict.fromkeys(filter(None, said))) or f"{self.method.upper()} {self.path}"
        return Operation(
            name=name,
            method=self.method,
            path=self.path,
            description=description[:LONGEST_DESCRIPTION],
            tags=[str(tag) for tag in list_of(raw.get("tags"))],
            parameters=parameters,
            body=body,
            arguments=document.schema(whole, sent=True),
            output=self._output(),
            keys=self._keys(),
            place=place,
        )

    def _parameters(self) -> list[dict[str, Any]]:
        """Return its parameters, which come before those of its path, without headers that the specification leaves to
        others."""
        given = map(
            self.document.resolved, (*list_of(self.item.get("parameters")), *list_of(self.raw.get("parameters")))
        )
        named = {(each.get("in"), text_of(each.get("name"))): each for each in given}
        void = ("accept", "content-type", "authorization")
        return [each for (place, name), each in named.items() if place != "header" or name.casefold() not in void]

    def _parameter(self, raw: dict[str, Any], taken: set[str]) -> Parameter:
        name, place = text_of(raw.get("name")), text_of(raw.get("in"))
        styles = _STYLES.get(place, ("",))
        style = raw.get("style", styles[0])
        if not name or style not in styles or not style:
            problem = f"{self.document.where} has the parameter {name!r} in {place!r} with the style {style!r}"
            how = f"Leave the operation {self.name} out with include, or correct the document."
            raise ConfigurationError(f"{problem}, which is not supported", how)
        is_key = place == "header" and name.casefold() == "idempotency-key" and EFFECTS[self.method] is Effect.ONCE
        argument = re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("_") or place
        argument = "" if is_key else _free(f"{place}_{argument}" if argument in taken else argument, taken)
        return Parameter(argument, name, place, style, raw.get("explode", style == "form") is True, "content" in raw)

    def _body(self, raw: dict[str, Any], taken: set[str]) -> tuple[Body, Json]:
        """Return its body, as JSON or a form if it can be, and the schema of the body."""
        content = object_of(raw.get("content"))
        order = {kind: (not is_json(kind), bare(kind) != FORM, bare(kind) != MULTIPART) for kind in content}
        kind = min(order, key=order.__getitem__, default=JSON)
        media, argument = object_of(content.get(kind)), _free("request_body" if "body" in taken else "body", taken)
        properties = object_of(self.document.resolved(media.get("schema")).get("properties"))
        files = [name for name, each in properties.items() if self._is_file(each)]
        default = {} if is_json(kind) else {"type": "string"}
        return Body(argument, kind, object_of(media.get("encoding")), files), media.get("schema") or default

    def _is_file(self, schema: Json) -> bool:
        shape = self.document.resolved(schema)
        return (
            self.document.resolved(shape.get("items", shape)).get("format") == "binary" or "contentMediaType" in shape
        )

    def _output(self) -> dict[str, Any] | None:
        """Return the JSON schema of a success; None without one, or if it is not JSON."""
        schemas: list[Json] = []
        for code, each in object_of(self.raw.get("responses")).items():
            media = object_of(self.document.resolved(each).get("content")) if code.startswith("2") else {}
            found = next((object_of(part).get("schema") for kind, part in media.items() if is_json(kind)), None)
            if media and found is None:
                return None
            schemas += [found or {"type": "null"}] if code.startswith("2") else []
        if all(each == {"type": "null"} for each in schemas):
            return None
        return self.document.schema(schemas[0] if len(schemas) == 1 else {"anyOf": schemas}, sent=False)

    def _keys(self) -> str:
        """Return what it asks for, such as ``api_key (apiKey header X-Key)``; "" for nothing."""
        schemes = schemes_of(self.document)
        words = {name: " ".join(str(each[key]) for key in _OF_SCHEME if key in each) for name, each in schemes.items()}
        asked = objects_of(self.raw.get("security", self.document.content.get("security")))
        return " or ".join(" and ".join(f"{name} ({words.get(name)})" for name in each) for each in asked if each)


_OF_SCHEME = ("type", "scheme", "in", "name")


def schemes_of(document: Document) -> dict[str, dict[str, Any]]:
    """Return the security schemes of a document by name."""
    given = object_of(document.content.get("components")).get("securitySchemes")
    return {name: document.resolved(each) for name, each in object_of(given).items()}


def _described(schema: Json, given: dict[str, Any]) -> Json:
    said = text_of(given.get("description"))
    return {**schema, "description": said} if said and is_object(schema) else schema


def bare(media_type: str) -> str:
    """Return a media type without its parameters."""
    return media_type.partition(";")[0].strip().lower()


def is_json(media_type: str) -> bool:
    return bare(media_type) == JSON or bare(media_type).endswith("+json")
