"""A call of an operation as an HTTP request: parameters by their style, and the body by its media type.

Styles: spec.openapis.org/oas/v3.1.1, "Style Values". A value is always percent-encoded, so it stays inside its part of
the path or the query.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, unquote

from leadhand.core.errors import FailureClass, ToolError
from leadhand.core.value import Json, compact_json, is_list, is_object, list_of, object_of, text_of

from .document import Document
from .operations import FORM, MULTIPART, Body, Operation, Parameter, bare, is_json

if TYPE_CHECKING:
    import aiohttp

Keys = Sequence[tuple[Parameter, Json]]
"""What each request to an API carries besides the arguments of its call."""


class Request(NamedTuple):
    """What is sent: the encoded URL, headers and body."""

    url: str
    headers: dict[str, str]
    data: bytes | aiohttp.FormData | None


def keys_of(document: Document, given: Mapping[str, str]) -> Keys:
    """Return what is ``given`` where it belongs: by the name of a security scheme as that says (of basic access,
    ``user:password``), and any other name as a header."""
    found: list[tuple[Parameter, Json]] = []
    schemes = object_of(object_of(document.content.get("components")).get("securitySchemes"))
    for name, value in given.items():
        scheme = document.resolved(schemes.get(name, {"type": "apiKey", "in": "header", "name": name}))
        place, sent = text_of(scheme.get("in")), text_of(scheme.get("name"))
        if scheme.get("type") != "apiKey":
            is_basic = text_of(scheme.get("scheme")).lower() == "basic"
            value = f"Basic {b64encode(value.encode()).decode()}" if is_basic else f"Bearer {value}"
            place, sent = "header", "Authorization"
        found.append((Parameter("", sent, place, "simple", False, False), value))
    return found


def request_of(operation: Operation, args: Mapping[str, Json], call_id: str, keys: Keys) -> Request:
    """Return the request of a call with arguments that fit. ``call_id`` is the key of the call, for services that ask
    for one. Raises ToolError (``bad_arguments``) for values that would lead to another path, or end a header."""
    path, query, cookies = operation.path, list[str](), list[str]()
    headers = {"Accept": "application/json, */*;q=0.5"}
    given = [(each, args.get(each.argument) if each.argument else call_id) for each in operation.parameters]
    for parameter, value in (*given, *keys):
        if value is None:
            continue
        if parameter.place == "path":
            path = path.replace(f"{{{parameter.name}}}", _joined(parameter, value))
        elif parameter.place == "query":
            query += query_of(parameter, value)
        elif parameter.place == "cookie":
            cookies.append(f"{_quoted(parameter.name)}={_joined(parameter, value)}")
        else:
            headers[parameter.name] = unquote(_joined(parameter, value))
    for before, segment in zip(operation.path.split("/"), path.split("/"), strict=True):
        if before != segment and (not segment or {".", ".."}.intersection(re.split(r"[/\\]", unquote(segment)))):
            raise _unfit(f"a part of the path {operation.path} cannot be {unquote(segment)!r}")
    if broken := next((name for name, each in headers.items() if re.search(r"[\x00-\x1f\x7f]", each)), None):
        raise _unfit(f"{broken} is a header, which has no line breaks or control characters")
    data, body = None, operation.body
    if body is not None and body.argument in args:
        data = _data_of(body, args[body.argument])
        headers |= {"Content-Type": body.media_type} if isinstance(data, bytes) else {}
    headers |= {"Cookie": "; ".join(cookies)} if cookies else {}
    path = quote(path, safe="/%:@!$&'()*+,;=~")
    return Request(f"{operation.place}{path}{'?' * bool(query)}{'&'.join(query)}", headers, data)


def query_of(parameter: Parameter, value: Json) -> Iterator[str]:
    """Yield the encoded pairs ``name=value`` of a parameter of the query, or of a field of a form."""
    name, explode = _quoted(parameter.name), parameter.explode and not parameter.is_json
    if is_object(value) and parameter.style == "deepObject":
        for key, each in value.items():
            yield from query_of(parameter._replace(name=f"{parameter.name}[{key}]"), each)
    elif is_object(value) and explode:
        yield from (f"{_quoted(key)}={_written(each)}" for key, each in value.items())
    elif is_list(value) and (explode or parameter.style == "deepObject"):
        yield from (f"{name}={_written(each)}" for each in value)
    else:
        yield f"{name}={_joined(parameter, value)}"


def _joined(parameter: Parameter, value: Json) -> str:
    """Return a value as one encoded text."""
    if parameter.is_json:
        return _quoted(compact_json(value))
    if is_object(value):
        pairs = [(_quoted(key), _written(each)) for key, each in value.items()]
        items = ["=".join(pair) for pair in pairs] if parameter.explode else [part for pair in pairs for part in pair]
    else:
        items = [_written(each) for each in (value if is_list(value) else [value])]
    return ",".join(items)


def _quoted(text: str) -> str:
    return quote(text, safe="")


def _written(value: Json) -> str:
    return _quoted(_plain(value))


def _plain(value: Json) -> str:
    return value if isinstance(value, str) else "" if value is None else compact_json(value)


def _data_of(body: Body, value: Json) -> bytes | aiohttp.FormData:
    kind, fields = bare(body.media_type), [(name, each) for name, each in object_of(value).items() if each is not None]
    if kind == FORM:
        return "&".join(pair for name, each in fields for pair in _field(body, name, each)).encode()
    if kind != MULTIPART:
        return (compact_json(value) if is_json(kind) else _plain(value)).encode()
    import aiohttp

    form = aiohttp.FormData(default_to_multipart=True)
    for name, each in ((name, each) for name, given in fields for each in list_of(given) or [given]):
        form.add_field(name, _plain(each), filename=name if name in body.files else None)
    return form


def _field(body: Body, name: str, value: Json) -> Iterator[str]:
    """Yield the pairs of a field of a form: objects are JSON, unless the document names a style."""
    encoding = object_of(body.encoding.get(name))
    style = text_of(encoding.get("style")) or "form"
    explode = encoding.get("explode", style == "form") is True
    nested = is_object(value) and not encoding.keys() & {"style", "explode"}
    return query_of(Parameter(name, name, "query", style, explode, nested), value)


def _unfit(message: str) -> ToolError:
    return ToolError(message, type="bad_arguments", class_=FailureClass.INVALID, next_action="correct the arguments")
