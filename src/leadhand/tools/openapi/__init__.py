"""OpenAPI documents as tools: what a project says of an API. Up to 20 operations are tools; of more, three tools find,
describe and call them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

from pydantic import Field, ValidationError

from leadhand.core.errors import UsageError
from leadhand.core.limits import Seconds
from leadhand.core.tool import Effect
from leadhand.core.value import Value, one_line, shown
from leadhand.tools.source import Connection, from_environment


class OpenApi(Value):
    """An OpenAPI document, a file or a URL, as a source of tools. Make one with :func:`openapi`."""

    kind: ClassVar[str] = "openapi"
    name: str = Field(default="", pattern=r"^[A-Za-z_]\w*$|^$")
    document: str = Field(min_length=1)
    base_url: str = Field(default="", pattern=r"^https?://|^$")
    headers: dict[str, str] = {}
    include: tuple[str, ...] = ()
    effects: dict[str, Effect] = {}
    timeout: Seconds = 30.0

    def connect(self, environment: Mapping[str, str]) -> Connection:
        """Return a connection. Raises ConfigurationError if a variable that ``headers`` name is not set."""
        from leadhand.tools.openapi.connection import OpenApiConnection  # most processes call no API

        return OpenApiConnection(self, from_environment(self.headers, environment, f"the API {self.name}"))


def openapi(
    document: str | Path,
    *,
    base_url: str | None = None,
    headers: Mapping[str, str] | None = None,
    include: Sequence[str] | None = None,
    effects: Mapping[str, str] | None = None,
    name: str = "",
    timeout: float | str = 30.0,
) -> OpenApi:
    """Return an API, whose operations you pass with other tools: ``Leadhand(tools=[openapi("petstore.json")])``.

    :param document: its OpenAPI document (3.0 or 3.1), a file or an http(s) URL, JSON or YAML.
    :param base_url: where the API is, in place of the ``servers`` of the document.
    :param headers: headers of every request, and keys by the name of their security scheme, which says where they go.
        ``"env:TOKEN"`` reads the variable TOKEN of the environment.
    :param include: the operations to offer, all by default: ids, ``GET /pets/*`` or ``tag:pets``, with ``*`` and ``?``.
    :param effects: what a second call does, by the same patterns: ``{"DELETE *": "once"}`` asks before each DELETE.
        By default, GET is ``pure``, PUT and DELETE are ``idempotent``, and POST and PATCH are ``once``.
    :param timeout: the time of one call: seconds, or a text such as ``"2m"``.
    :param name: what its tools have in common, such as ``petstore``; by default from the file or the host.

    More than 20 operations become the tools ``NAME_search``, ``NAME_describe`` and ``NAME_call``. Raises UsageError for
    invalid settings.
    """
    given = {"base_url": base_url, "headers": headers, "include": include, "effects": effects, "timeout": timeout}
    settings: Any = {name: value for name, value in given.items() if value is not None}
    try:
        return OpenApi(name=name or _name_of(str(document)), document=str(document), **settings)
    except ValidationError as error:
        how = 'Pass a file or a URL: openapi("petstore.json"), openapi("https://example.org/openapi.json").'
        raise UsageError(f"{shown(str(document))} cannot be used as an API: {one_line(error)}", how) from error


def is_url(document: str) -> bool:
    return document.startswith(("http://", "https://"))


def _name_of(document: str) -> str:
    """Return a name: ``petstore`` for ``petstore.json``, ``example`` for a URL at ``api.example.org``."""
    host = (urlsplit(document).hostname or "").split(".")
    name = re.sub(r"\W+", "_", host[-2:][0] if is_url(document) else Path(document).stem)
    return name if name[:1].isalpha() else f"api_{name}"
