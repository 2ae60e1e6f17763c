"""An OpenAPI document (3.0 or 3.1) and its parts: JSON or YAML, with ``$ref`` followed and schemas as JSON schemas.

Specifications: spec.openapis.org/oas/v3.0.4 and v3.1.1. The schemas of 3.1 are JSON schemas (draft 2020-12) already;
those of 3.0 differ in ``nullable``, ``exclusiveMinimum`` and ``exclusiveMaximum``.
"""

from __future__ import annotations

import json
import re
from typing import Any, cast
from urllib.parse import unquote

from pydantic import Field

from leadhand.core.errors import ConfigurationError
from leadhand.core.value import Json, Value, is_list, is_object, object_of, one_line

_BY_NAME = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs"})
_ONE = frozenset({"items", "additionalProperties", "unevaluatedItems", "unevaluatedProperties", "propertyNames"})
_SCHEMAS = _ONE | {"not", "if", "then", "else", "contains", "allOf", "anyOf", "oneOf", "prefixItems", *_BY_NAME}
"""The keywords whose values are schemas, lists of them, or schemas by name."""


def is_url(document: str) -> bool:
    return document.startswith(("http://", "https://"))


class OpenApiSettings(Value):
    """What a project says of an API: see :func:`~leadhand.tools.openapi.source.openapi`."""

    name: str = Field(default="", pattern=r"^[A-Za-z_]\w*$|^$")
    document: str = Field(min_length=1)
    base_url: str = Field(default="", pattern=r"^https?://|^$")
    headers: dict[str, str] = {}
    include: tuple[str, ...] = ()
    timeout: float = Field(default=30.0, gt=0)


class Document:
    """A document. ``where`` is its file or URL, for messages."""

    def __init__(self, content: bytes, where: str) -> None:
        """Read a document. Raises ConfigurationError for one that cannot be used."""
        self.where = where
        self.content = object_of(_read(content, where))
        version = str(self.content.get("openapi", self.content.get("swagger", "none")))
        if not version.startswith("3."):
            how = "Give a document of version 3, not a page that shows it; npx swagger2openapi converts version 2."
            raise ConfigurationError(f"{where} is not an OpenAPI document of version 3 (its version: {version})", how)
        self._is_3_0 = version.startswith("3.0")

    def part(self, reference: str) -> Json:
        """Return the part of the document that a ``$ref`` names. Raises ConfigurationError without it."""
        found: Json = self.content if reference.startswith("#") else None
        for name in reference.split("/")[1:]:
            name = unquote(name).replace("~1", "/").replace("~0", "~")
            if is_list(found) and name.isdigit() and int(name) < len(found):
                found = found[int(name)]
            else:
                found = object_of(found).get(name)
        if found is None:
            how = "Put all parts into one file, for example with npx @redocly/cli bundle FILE --output openapi.yaml."
            raise ConfigurationError(f"{self.where} refers to {reference}, which is not in it", how)
        return found

    def resolved(self, value: Json) -> dict[str, Any]:
        """Return an object of the document, or the one that it refers to; {} for anything else. Raises RecursionError
        for references that lead in a circle."""
        if is_object(value) and isinstance(value.get("$ref"), str):
            return self.resolved(self.part(value["$ref"]))
        return object_of(value)

    def schema(self, schema: Json, *, sent: bool) -> dict[str, Any]:
        """Return a schema as a JSON schema with all definitions that it refers to (``$defs``). What is ``sent`` has no
        read-only properties; what is received may lack the write-only ones."""
        names: dict[str, str] = {}

        def name_of(reference: str) -> str:
            if reference not in names:
                name = re.sub(r"[^\w.-]+", "_", reference.removeprefix("#/components/schemas/"))
                names[reference] = name if name not in names.values() else f"{name}_{len(names)}"
            return f"#/$defs/{names[reference]}"

        def converted(value: Json) -> Json:
            if is_list(value):
                return [converted(each) for each in value]
            if not is_object(value):
                return value  # true or false
            found = dict(value)
            for key in _SCHEMAS.intersection(value):
                by_name = key in _BY_NAME and is_object(value[key])
                part = value[key]
                found[key] = {name: converted(each) for name, each in part.items()} if by_name else converted(part)
            if isinstance(found.get("$ref"), str):
                found["$ref"] = name_of(found["$ref"])
            found = _directed(found, "readOnly" if sent else "writeOnly", keep=not sent)
            return _of_3_0(found) if self._is_3_0 else found

        whole, definitions = object_of(converted(schema)), dict[str, Json]()
        while missing := [each for each in names if names[each] not in definitions]:
            definitions |= {names[each]: converted(self.part(each)) for each in missing}
        return {**whole, "$defs": definitions} if definitions else whole


def _directed(schema: dict[str, Any], mark: str, *, keep: bool) -> dict[str, Any]:
    """Return a schema of an object in which properties with a mark are not required, or are not there at all."""
    properties = object_of(schema.get("properties"))
    marked = {name for name, each in properties.items() if is_object(each) and each.get(mark)}
    if not marked:
        return schema
    kept = {name: each for name, each in properties.items() if keep or name not in marked}
    return {
        **schema,
        "properties": kept,
        "required": [each for each in schema.get("required", ()) if each not in marked],
    }


def _of_3_0(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema of version 3.0, whose parts are converted, as a JSON schema."""
    if "$ref" in schema:  # the specification ignores everything else
        return {key: schema[key] for key in ("$ref", "description") if key in schema}
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
        first: [each for each in found if not each[0].endswith((":timestamp", ":bool"))]
        for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    truth = re.compile("^(?:true|false)$", re.IGNORECASE)
    cast("Any", Loader).add_implicit_resolver("tag:yaml.org,2002:bool", truth, [*"tTfF"])
    reader: Any = yaml  # its types are incomplete
    try:
        text = content.decode("utf-8-sig")
        if text.lstrip().startswith("{"):
            return json.loads(text)
        if any(isinstance(event, yaml.AliasEvent) for event in reader.parse(text, Loader=Loader)):
            raise ValueError("YAML aliases, by which a short text can stand for a huge one, are not read")
        return json.loads(json.dumps(reader.load(text, Loader=Loader)))  # keys such as 200 are texts
    except (ValueError, TypeError, RecursionError, yaml.YAMLError) as error:
        how = "Give a file or a URL with an OpenAPI document of version 3, as JSON or YAML."
        raise ConfigurationError(f"{where} cannot be read: {one_line(error)}"[:300], how) from error
