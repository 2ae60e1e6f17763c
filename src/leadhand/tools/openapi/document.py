"""An OpenAPI document (3.0 or 3.1) and its parts: JSON or YAML, with ``$ref`` followed and schemas as JSON schemas.

Specifications: spec.openapis.org/oas/v3.0.4 and v3.1.1. The schemas of 3.1 are JSON schemas (draft 2020-12) already;
those of 3.0 differ in ``nullable``, ``exclusiveMinimum`` and ``exclusiveMaximum``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from itertools import chain, count
from typing import Any
from urllib.parse import unquote, urljoin

from leadhand.core.errors import ConfigurationError
from leadhand.core.value import Json, is_list, is_object, list_of, object_of, objects_of, one_line, text_of
from leadhand.tools.openapi import is_url

_BY_NAME = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs"})
"""The keywords whose values are schemas by name."""
_DATA = frozenset({"example", "examples", "default", "enum", "const"})
"""The keywords whose values are data, whatever is in them."""


def free_name(name: str, taken: Collection[str]) -> str:
    """Return a name that is not taken: with a number, if there is one like it."""
    return next(each for each in chain([name], (f"{name}_{number}" for number in count(2))) if each not in taken)


class Document:
    """A document. ``where`` is its file or URL, for messages."""

    def __init__(self, content: bytes, where: str) -> None:
        """Read a document. Raises ConfigurationError for one that cannot be used."""
        self.where = where
        self.content = object_of(_read(content, where))
        version = str(self.content.get("openapi", self.content.get("swagger", "none")))
        if not version.startswith("3."):
            how = "Give a document of version 3; npx swagger2openapi converts version 2."
            raise ConfigurationError(f"{where} is not an OpenAPI document of version 3 (its version: {version})", how)

    def address(self, servers: Json = None) -> str:
        """Return the first of some servers (by default, of the document) as a URL; "" if that cannot be used."""
        server = (objects_of(servers or self.content.get("servers")) or [{}])[0]
        at = text_of(server.get("url")) or "/"
        for name, variable in object_of(server.get("variables")).items():
            at = at.replace(f"{{{name}}}", str(object_of(variable).get("default", "")))
        at = urljoin(self.where if is_url(self.where) else "", at).rstrip("/")
        return at if is_url(at) and "{" not in at else ""

    def part(self, reference: str) -> Json:
        """Return the part of the document that a ``$ref`` names. Raises ConfigurationError without it."""
        head, *names = unquote(reference).split("/")
        try:
            found: Json = {"#": self.content}[head]
            for name in names:
                found = found[int(name) if is_list(found) else name.replace("~1", "/").replace("~0", "~")]
        except (LookupError, TypeError, ValueError) as error:
            how = "Put all parts into one file, for example with npx @redocly/cli bundle FILE --output openapi.yaml."
            raise ConfigurationError(f"{self.where} refers to {reference}, which is not in it", how) from error
        return found

    def resolved(self, value: Json) -> dict[str, Any]:
        """Return an object of the document, or the one that it refers to; {} for anything else. Raises RecursionError
        for references that lead in a circle."""
        if is_object(value) and isinstance(value.get("$ref"), str):
            return self.resolved(self.part(value["$ref"]))
        return object_of(value)

    def schema(self, schema: Json, *, sent: bool) -> dict[str, Any]:
        """Return a schema as a JSON schema with all definitions that it refers to (``$defs``). What is ``sent`` has no
        read-only properties, what is received no write-only ones."""
        names, mark = dict[str, str](), "readOnly" if sent else "writeOnly"

        def converted(value: Json, *, by_name: bool = False) -> Json:
            if is_list(value):
                return [converted(each) for each in value]
            if not is_object(value):
                return value
            if by_name:
                return {name: converted(each) for name, each in value.items()}
            found = {key: converted(each, by_name=key in _BY_NAME) for key, each in value.items() if key not in _DATA}
            found |= {key: each for key, each in value.items() if key in _DATA}
            if isinstance(reference := found.get("$ref"), str):
                if reference not in names:
                    name = re.sub(r"[^\w.-]+", "_", reference.removeprefix("#/components/schemas/"))
                    names[reference] = free_name(name, names.values())
                found["$ref"] = f"#/$defs/{names[reference]}"
            properties = object_of(found.get("properties"))
            if hidden := {name for name, each in properties.items() if is_object(each) and each.get(mark)}:
                found["properties"] = {name: each for name, each in properties.items() if name not in hidden}
                found["required"] = [each for each in list_of(found.get("required")) if each not in hidden]
            return _of_3_1(found)

        whole, definitions = object_of(converted(schema)), dict[str, Json]()
        while missing := [each for each in names if names[each] not in definitions]:
            definitions |= {names[each]: converted(self.part(each)) for each in missing}
        return {**whole, "$defs": definitions} if definitions else whole


def _of_3_1(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema, whose parts are converted, without the keywords that only version 3.0 has."""
    found = dict(schema)
    for least, limit in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(found.get(limit), bool) and found.pop(limit) and least in found:
            found[limit] = found.pop(least)
    return {"anyOf": [found, {"type": "null"}]} if found.pop("nullable", False) is True else found


def _read(content: bytes, where: str) -> Json:
    import yaml  # imported late: most processes read no document

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        """YAML as JSON: no dates, and only true and false are truth values (YAML 1.2), so that NO stays Norway."""

    Loader.yaml_implicit_resolvers = {
        first: [each for each in found if first in "tTfF" or not each[0].endswith((":timestamp", ":bool"))]
        for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    reader: Any = yaml  # its types are incomplete
    try:
        text = content.decode("utf-8-sig")
        if text.lstrip().startswith("<"):
            how = "Give the document itself, to which the page links, such as …/openapi.json or …/v3/api-docs."
            raise ConfigurationError(f"{where} is a web page (HTML or XML), not an OpenAPI document", how)
        if text.lstrip().startswith("{"):
            return json.loads(text)
        if any(isinstance(event, yaml.AliasEvent) for event in reader.parse(text, Loader=Loader)):
            raise ValueError("YAML aliases, by which a short text can stand for a huge one, are not read")
        return json.loads(json.dumps(reader.load(text, Loader=Loader)))  # keys such as 200 are texts
    except (ValueError, TypeError, RecursionError, yaml.YAMLError) as error:
        how = "Give a file or a URL with an OpenAPI document of version 3, as JSON or YAML."
        raise ConfigurationError(f"{where} cannot be read: {one_line(error)}"[:300], how) from error
