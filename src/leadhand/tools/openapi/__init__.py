"""OpenAPI documents as tools. Up to 20 operations are tools; of more, three tools find, describe and call them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from leadhand.core.errors import UsageError
from leadhand.tools.source import from_environment

from .connection import OpenApiConnection, is_url


@dataclass(frozen=True, slots=True)
class OpenApi:
    """An OpenAPI document as a source of tools; made by :func:`openapi`."""

    document: str
    name: str
    base_url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    include: tuple[str, ...] = ()
    kind: str = field(default="openapi", init=False)

    def connect(self, environment: Mapping[str, str]) -> OpenApiConnection:
        """Return a connection. Raises ConfigurationError if a variable that ``headers`` names is not set."""
        given = from_environment(self.headers, environment, f"the API {self.name}")
        return OpenApiConnection(self.name, self.document, self.base_url, given, self.include)


def openapi(
    document: str | Path,
    *,
    base_url: str | None = None,
    headers: Mapping[str, str] | None = None,
    include: Sequence[str] | None = None,
    name: str | None = None,
) -> OpenApi:
    """Return the operations of an OpenAPI document (3.0 or 3.1) as a source of tools: ``Leadhand(tools=[openapi(…)])``.

    :param document: a file or an http(s) URL, JSON or YAML.
    :param base_url: where the API is, in place of the ``servers`` of the document.
    :param headers: headers of every request, and keys by the name of their security scheme, which says where they go.
        ``"env:TOKEN"`` reads the variable TOKEN of the environment.
    :param include: the operations to offer, all by default: ids, ``GET /pets/*`` or ``tag:pets``, with ``*`` and ``?``.
    :param name: what its tools have in common, such as ``petstore``; by default from the file or the host.

    GET only reads, PUT and DELETE may be repeated, and POST and PATCH happen once and ask for approval. More than 20
    operations become the tools ``NAME_search``, ``NAME_describe`` and ``NAME_call``. Raises UsageError for a name that
    is no identifier.
    """
    at = str(document)
    host = (urlsplit(at).hostname or "").split(".")
    found = name or re.sub(r"\W+", "_", host[-2:][0] if is_url(at) else Path(at).stem)
    found = found if name or found[:1].isalpha() else f"api_{found}"
    if not found.isidentifier():
        raise UsageError(f"{found!r} is no valid name of an API", 'Use letters, digits and underscores: name="pets".')
    return OpenApi(at, found, (base_url or "").rstrip("/"), dict(headers or {}), tuple(include or ()))
