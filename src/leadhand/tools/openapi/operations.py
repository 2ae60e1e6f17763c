"""The operations of an OpenAPI document: what a call of one sends and returns, and what it does."""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple
from urllib.parse import urljoin

from leadhand.core.errors import ConfigurationError
from leadhand.core.tool import Effect
from leadhand.core.value import Json, is_object, list_of, object_of, objects_of, text_of
from leadhand.tools.source import name_of

from .document import Document, is_url

LOGGER = logging.getLogger("leadhand.tools")
EFFECTS = {
    "get": Effect.PURE,
    "put": Effect.IDEMPOTENT,
    "delete": Effect.IDEMPOTENT,
    "post": Effect.ONCE,
    "patch": Effect.ONCE,
}
"""The methods that are tools, and what a second call of one does (RFC 9110 §9.2)."""
LONGEST_DESCRIPTION = 2_000
JSON, FORM, MULTIPART = "application/json", "application/x-www-form-urlencoded", "multipart/form-data"
_STYLES = {"path": ["simple"], "header": ["simple"], "cookie": ["form"], "query": ["form", "deepObject"]}
"""The styles of parameters that can be sent, by place; the first one is the default."""
_OF_OTHERS = ("accept", "content-type", "authorization")
"""Headers that the specification does not take for parameters."""


class Unsendable(ConfigurationError):
    """An operation has a parameter that cannot be sent."""


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
    """One operation. ``arguments`` and ``output`` are the JSON schemas of a call, ``keys`` names the security
    schemes that it asks for, and ``place`` is the URL of its API."""

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
    found, known, names = list[Operation](), list[str](), set(taken)
    for path, each in object_of(document.content.get("paths")).items():
        item = document.resolved(each)
        for method in (method for method in EFFECTS if is_object(item.get(method))):
            raw = item[method]
            name, tags = _name(text_of(raw.get("operationId")) or f"{method} {path}"), list_of(raw.get("tags"))
            known.append(name)
            called = [name, text_of(raw.get("operationId")), f"{method.upper()} {path}"]
            called += [f"tag:{tag}" for tag in tags]
            if not include or any(fnmatchcase(one, pattern) for one in called for pattern in include):
                servers = raw.get("servers") or item.get("servers") or document.content.get("servers")
                place = base_url or address(document, servers, url)
                try:
                    found.append(_operation(document, method, path, item, raw, _free(name, names), place))
                except Unsendable as error:
                    if include:
                        raise
                    LOGGER.warning("an operation is left out: %s", error.what)  # the others can be used
    if not found:
        problem = f"{document.where} has no operations{' that match ' * bool(include)}{', '.join(include)}"
        raise ConfigurationError(problem, f"Its operations are: {', '.join(known[:10]) or 'none'}.")
    return found


def address(document: Document, servers: Json, url: str) -> str:
    """Return the first of some servers as a URL. Raises ConfigurationError without one."""
    server = (objects_of(servers) or [{}])[0]
    at = text_of(server.get("url")) or "/"
    for name, variable in object_of(server.get("variables")).items():
        at = at.replace(f"{{{name}}}", str(object_of(variable).get("default", "")))
    at = urljoin(url, at)
    if not is_url(at) or "{" in at:
        how = 'Say where it is: openapi(…, base_url="https://…"), or base_url in the project.'
        raise ConfigurationError(f"{document.where} does not say at which address its API is", how)
    return at.rstrip("/")


def bare(media_type: str) -> str:
    """Return a media type without its parameters."""
    return media_type.partition(";")[0].strip().lower()


def is_json(media_type: str) -> bool:
    return bare(media_type) == JSON or bare(media_type).endswith("+json")


def _name(text: str) -> str:
    """Return an identifier for an id, or for a method and path."""
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")
    return name_of(name if name[:1].isalpha() else f"call_{name}")


def _free(name: str, taken: set[str]) -> str:
    """Return a name that is not taken yet, and take it."""
    number, free = 2, name
    while free in taken:
        number, free = number + 1, f"{name}_{number}"
    taken.add(free)
    return free


def _operation(
    document: Document, method: str, path: str, item: dict[str, Any], raw: dict[str, Any], name: str, at: str
) -> Operation:
    properties, required, taken = dict[str, Json](), list[str](), set[str]()
    parameters: list[Parameter] = []

    def argument(name: str, schema: Json, given: dict[str, Any], needed: bool) -> None:
        said = text_of(given.get("description"))
        properties[name] = {**schema, "description": said} if said and is_object(schema) else schema
        required.extend([name] if needed else [])

    given = map(document.resolved, (*list_of(item.get("parameters")), *list_of(raw.get("parameters"))))
    for (place, header), each in {(each.get("in"), text_of(each.get("name"))): each for each in given}.items():
        if place == "header" and header.casefold() in _OF_OTHERS:
            continue
        parameters.append(_parameter(document, f"{method.upper()} {path}", each, EFFECTS[method], taken))
        if parameters[-1].argument:
            media = object_of(next(iter(object_of(each.get("content")).values()), each))
            needed = each.get("required") is True or parameters[-1].place == "path"
            argument(parameters[-1].argument, media.get("schema", {}), each, needed)
    body = None
    if sent := document.resolved(raw.get("requestBody")):
        body, schema = _body(document, sent, taken)
        argument(body.argument, schema, sent, sent.get("required") is True)
    whole = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    summary, description = text_of(raw.get("summary") or item.get("summary")), text_of(raw.get("description"))
    said = "\n".join(filter(None, dict.fromkeys((summary.strip(), description.strip()))))
    asked = objects_of(raw.get("security", document.content.get("security")))
    return Operation(
        name=name,
        method=method,
        path=path,
        description=said[:LONGEST_DESCRIPTION] or f"{method.upper()} {path}",
        tags=[str(tag) for tag in list_of(raw.get("tags"))],
        parameters=parameters,
        body=body,
        arguments=document.schema(whole, sent=True),
        output=_output(document, raw),
        keys=" or ".join(" and ".join(each) for each in asked if each),
        place=at,
    )


def _parameter(document: Document, where: str, raw: dict[str, Any], effect: Effect, taken: set[str]) -> Parameter:
    name, place = text_of(raw.get("name")), text_of(raw.get("in"))
    styles = _STYLES.get(place, [])
    style = raw.get("style", (styles or [""])[0])
    if not name or style not in styles:
        problem = f"{where} of {document.where} has the parameter {name!r} in {place!r} with the style {style!r}"
        how = "Leave the operation out with include, or correct the document."
        raise Unsendable(f"{problem}, which is not supported", how)
    argument = re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("_") or place
    is_key = place == "header" and name.casefold() == "idempotency-key" and effect is Effect.ONCE
    argument = "" if is_key else _free(f"{place}_{argument}" if argument in taken else argument, taken)
    return Parameter(argument, name, place, style, raw.get("explode", style == "form") is True, "content" in raw)


def _body(document: Document, raw: dict[str, Any], taken: set[str]) -> tuple[Body, Json]:
    """Return a body, as JSON or a form if it can be, and its schema."""
    content = object_of(raw.get("content"))
    order = {kind: (not is_json(kind), bare(kind) != FORM, bare(kind) != MULTIPART) for kind in content}
    kind = min(order, key=order.__getitem__, default=JSON)
    media, argument = object_of(content.get(kind)), _free("request_body" if "body" in taken else "body", taken)
    files: list[str] = []
    for name, each in object_of(document.resolved(media.get("schema")).get("properties")).items():
        shape = document.resolved(each)
        shape = document.resolved(shape.get("items", shape))
        files += [name] if shape.get("format") == "binary" or "contentMediaType" in shape else []
    default = {} if is_json(kind) else {"type": "string"}
    return Body(argument, kind, object_of(media.get("encoding")), files), media.get("schema") or default


def _output(document: Document, raw: dict[str, Any]) -> dict[str, Any] | None:
    """Return the JSON schema of a success; None without one, or if it is not JSON."""
    nothing, schemas = {"type": "null"}, list[Json]()
    for code, each in object_of(raw.get("responses")).items():
        media = object_of(document.resolved(each).get("content")) if code.startswith("2") else {}
        found = next((object_of(part).get("schema") for kind, part in media.items() if is_json(kind)), None)
        if media and found is None:
            return None
        schemas += [found or nothing] if code.startswith("2") else []
    if all(each == nothing for each in schemas):
        return None
    return document.schema(schemas[0] if len(schemas) == 1 else {"anyOf": schemas}, sent=False)
