"""The operations of an OpenAPI document: what a call of one sends and returns, and what it does.

Parameters are sent in the default styles of the specification (spec.openapis.org/oas/v3.1.1, "Style Values"), bodies as
JSON and as forms. What needs more is left out. A value is always percent-encoded, so it stays inside its part of the
path or the query.
"""

from __future__ import annotations

import json
import logging
import re
from base64 import b64encode
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from hashlib import sha256
from itertools import chain
from typing import Any
from urllib.parse import quote

from leadhand.core.errors import ConfigurationError, FailureClass, ToolError
from leadhand.core.tool import Effect
from leadhand.core.value import Json, compact_json, is_list, is_object, list_of, object_of, objects_of, text_of
from leadhand.tools.openapi import OpenApi
from leadhand.tools.source import chosen, name_of

from .document import Document, free_name

LOGGER = logging.getLogger("leadhand.tools")
_EFFECTS = {"get": "pure", "put": "idempotent", "delete": "idempotent", "post": "once", "patch": "once"}
"""The methods that are tools, and what a second call of one does (RFC 9110 §9.2)."""
LONGEST_DESCRIPTION = 2_000
FORM = "application/x-www-form-urlencoded"
_STYLES = {"path": "simple", "header": "simple", "query": "form"}
"""The style in which parameters are sent, by place."""
ACCEPT = "application/json, */*;q=0.5"
_OF_OTHERS = ("accept", "content-type", "authorization")
"""Headers that the specification does not take for parameters."""

_quoted = partial(quote, safe="")
Keys = list[tuple[dict[str, Any], str]]
"""What each request carries besides the arguments of its call: parameters and their values."""


class Unsendable(Exception):
    """An operation needs something that is not supported."""


class Operation:
    """One operation. ``arguments`` and ``output`` are the JSON schemas of a call, ``keys`` names the security schemes
    that it asks for, and ``digest`` is what a run records of it: another one may do something else."""

    def __init__(self, document: Document, method: str, path: str, item: Any, name: str, effect: Effect) -> None:
        """Read the operation of a method. Raises Unsendable."""
        raw, properties, required = item[method], dict[str, Json](), list[str]()
        self.name, self.where, self.effect = name, f"{method.upper()} {path}", effect
        self.method, self.path = method.upper(), path
        self.tags = [str(tag) for tag in list_of(raw.get("tags"))]
        said = [text_of(each).strip() for each in (raw.get("summary", item.get("summary")), raw.get("description"))]
        self.description = "\n".join(filter(None, dict.fromkeys(said)))[:LONGEST_DESCRIPTION] or self.where
        asked = objects_of(raw.get("security", document.content.get("security")))
        self.keys = " or ".join(" and ".join(each) for each in asked if each)
        self._parameters: dict[str, dict[str, Any]] = {}
        """By the name of the argument; "" is the key of a call, which no model chooses."""
        for each in _parameters(document, item, raw):
            sent, place, schema = each["name"], each["in"], each.get("schema", {})
            if place == "header" and sent.casefold() == "idempotency-key" and _EFFECTS[method] == "once":
                self._parameters[""] = each
                continue
            own = "body" if place == "body" else re.sub(r"[^A-Za-z0-9_.-]+", "_", sent).strip("_") or place
            own = free_name(f"{place}_{own}" if own in properties else own, properties)
            self._parameters[own], about = each, text_of(each.get("description"))
            properties[own] = {**schema, "description": about} if about and is_object(schema) else schema
            required += [own] if each.get("required") is True or place == "path" else []
        known = {each["name"] for each in self._parameters.values() if each["in"] == "path"}
        if not known.issuperset(re.findall(r"{(.*?)}", path)):
            raise Unsendable("its path has a part that is not described")
        whole = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
        self.arguments, self.output = document.schema(whole, sent=True), _output(document, raw)
        pinned = [document.address(), self.where, self.description, self._parameters, self.arguments, self.output]
        self.digest = sha256(json.dumps(pinned, sort_keys=True).encode()).hexdigest()[:16]

    def request(self, args: Mapping[str, Json], call_id: str, keys: Keys) -> tuple[str, dict[str, str], bytes | None]:
        """Return the encoded path and query, the headers and the body of a call. ``call_id`` is its key, for services
        that ask for one. Raises ToolError (``bad_arguments``) for a value that would change the path or end a header.
        """
        path, query, headers, data = self.path, list[str](), {"Accept": ACCEPT}, None
        args = {"": call_id, **args}
        given = [(each, args[name]) for name, each in self._parameters.items() if args.get(name) is not None]
        for parameter, value in (*given, *keys):
            name, place = parameter["name"], parameter["in"]
            if place == "body":
                fields = chain.from_iterable(pairs(field, each) for field, each in object_of(value).items())
                data, headers["Content-Type"] = (
                    (compact_json(value) if is_json(name) else "&".join(fields)).encode(),
                    name,
                )
            elif is_object(value):
                raise invalid(f"{name} cannot be an object, since it is not in the body")
            elif place == "query":
                query += pairs(name, value, explode=parameter.get("explode") is not False)
            elif place == "header":
                headers[name] = ",".join(_texts(value))
                if re.search(r"[\x00-\x1f\x7f]", headers[name]):
                    raise invalid(f"{name} is a header, which has no line breaks or control characters")
            else:
                parts = _texts(value)
                if not any(parts) or {".", ".."}.intersection(re.split(r"[/\\]", ",".join(parts))):
                    raise invalid(f"{name} is a part of the path {self.path}, and cannot be {','.join(parts)!r}")
                path = path.replace(f"{{{name}}}", ",".join(map(_quoted, parts)))
        return quote(path, safe="/%:@!$&'()*+,;=~") + "?" * bool(query) + "&".join(query), headers, data


def operations(document: Document, settings: OpenApi, taken: Collection[str]) -> list[Operation]:
    """Return the operations that a project uses, in the order of the document. Patterns of the settings match the name,
    the id, the method and path (``GET /pets/*``) and the tags (``tag:pets``).

    No operation gets one of the names ``taken``. Raises ConfigurationError for a document that cannot be used.
    """
    offered, names = list[tuple[Any, list[str]]](), set(taken)
    for path, each in object_of(document.content.get("paths")).items():
        item = document.resolved(each)
        for method in (method for method in _EFFECTS if is_object(item.get(method))):
            own, tags = text_of(item[method].get("operationId")), list_of(item[method].get("tags"))
            name = free_name(name_of(re.sub(r"\W+", "_", own or f"{method} {path}").strip("_")), names)
            names.add(name)
            known = [name, own or name, f"{method.upper()} {path}", *(f"tag:{tag}" for tag in tags)]
            offered.append(((method, path, item), known))
    found, left_out, whose = list[Operation](), list[str](), f"the API {settings.name}"
    for (method, path, item), known, effect in chosen(whose, offered, settings.include, settings.effects):
        try:
            servers = item[method].get("servers") or item.get("servers")
            if servers and document.address(servers) != document.address():
                raise Unsendable("it has a server of its own")
            found.append(Operation(document, method, path, item, known[0], effect or Effect(_EFFECTS[method])))
        except Unsendable as error:
            left_out.append(f"{known[0]} ({error})")
    if not found:
        problem = f"{document.where} has no operation that can be called: {', '.join(left_out[:10]) or 'no paths'}"
        raise ConfigurationError(problem, "Give another document, or take what cannot be called out of include.")
    if left_out:
        LOGGER.warning("%s operations of %s are left out: %s", len(left_out), whose, ", ".join(left_out[:10]))
    return found


def keys_of(document: Document, given: Mapping[str, str]) -> Keys:
    """Return what is ``given`` where it belongs: by the name of a security scheme as that says (of basic access,
    ``user:password``), and any other name as a header."""
    keys: Keys = []
    schemes = object_of(object_of(document.content.get("components")).get("securitySchemes"))
    for name, value in given.items():
        scheme = document.resolved(schemes.get(name, {"type": "apiKey", "in": "header", "name": name}))
        if scheme.get("type") != "apiKey":
            is_basic = text_of(scheme.get("scheme")).lower() == "basic"
            value = f"Basic {b64encode(value.encode()).decode()}" if is_basic else f"Bearer {value}"
            scheme = {"in": "header", "name": "Authorization"}
        elif scheme.get("in") == "cookie":
            scheme, value = {"in": "header", "name": "Cookie"}, f"{scheme.get('name')}={value}"
        keys.append((scheme, value))
    return keys


def is_json(media_type: str) -> bool:
    return re.match(r"application/([^;]*\+)?json *(;|$)", media_type, re.IGNORECASE) is not None


def pairs(name: str, value: Json, *, explode: bool = True) -> list[str]:
    """Return the encoded pairs ``name=value`` of a parameter of the query, or of a field of a form."""
    values = [_quoted(each) for each in _texts(value)]
    return [f"{_quoted(name)}={each}" for each in (values if explode else [",".join(values)])]


def invalid(message: str, how: str = "correct the arguments") -> ToolError:
    return ToolError(message, type="bad_arguments", class_=FailureClass.INVALID, next_action=how, not_made=True)


def _parameters(document: Document, item: dict[str, Any], raw: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the parameters of an operation, without optional ones that cannot be sent. The body is one, too: it is in
    ``body``, and its name is the media type. Raises Unsendable."""
    given = map(document.resolved, (*list_of(item.get("parameters")), *list_of(raw.get("parameters"))))
    for (place, name), each in {(each.get("in"), text_of(each.get("name"))): each for each in given}.items():
        if not name or place not in _STYLES or each.get("style", _STYLES[place]) != _STYLES[place] or "content" in each:
            if each.get("required") is True:
                raise Unsendable(f"its parameter {name} ({place}) has the style {each.get('style')}")
        elif place != "header" or name.casefold() not in _OF_OTHERS:
            yield each
    if body := document.resolved(raw.get("requestBody")):
        content = {kind: object_of(media) for kind, media in object_of(body.get("content")).items()}
        forms = (kind for kind, media in content.items() if kind.lower().startswith(FORM) and not media.get("encoding"))
        if not (kind := next(chain(filter(is_json, content), forms), "")):
            raise Unsendable(f"its body is {' or '.join(content)}")
        yield {**content[kind], **body, "in": "body", "name": kind}


def _output(document: Document, raw: dict[str, Any]) -> dict[str, Any] | None:
    """Return the JSON schema of a success; None without one, or if it is not JSON."""
    schemas, nothing = list[Json](), {"type": "null"}
    for code, each in object_of(raw.get("responses")).items():
        if code.startswith("2"):
            content = object_of(document.resolved(each).get("content"))
            found = [object_of(media).get("schema") for kind, media in content.items() if is_json(kind)]
            schemas.append(found[0] if found else None if content else nothing)
    if None in schemas or all(each == nothing for each in schemas):
        return None
    return document.schema(schemas[0] if len(schemas) == 1 else {"anyOf": schemas}, sent=False)


def _texts(value: Json) -> list[str]:
    """Return what is sent for a value: a text for each item of a list, which null is without any."""
    items = value if is_list(value) else [value] if value is not None else []
    return [each if isinstance(each, str) else "" if each is None else compact_json(each) for each in items]
