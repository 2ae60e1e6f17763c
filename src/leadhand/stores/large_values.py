"""Large values of events, stored once: in their place, the body of an event refers to a blob by digest.

Arguments, plans, summaries and answers go through many events of a run, and through its forks. A text, list or object
of more than 4 kB is written as ``{"$blob":"sha256:…"}``, and a body with such references begins with ``@``, which no
JSON does. See :mod:`leadhand.core.artifact`: references with a size, which the engine makes, stay. Blobs are
plain JSON without references of their own, so a body names all that it needs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

from leadhand.core.artifact import BLOB_ABOVE, digest_of

from .connection import Connection, among

PACKED = "@"
REFERENCE = re.compile(r'\{"\$blob":"(sha256:[0-9a-f]{64})"\}')
DIGEST = '"sha256:'


def pack(body: str) -> tuple[str, dict[str, bytes]]:
    """Return the body of an event with references for its large values, and these values by digest."""
    if len(body) <= BLOB_ABOVE:
        return body, {}
    values: dict[str, bytes] = {}
    event = {name: _packed(value, values)[0] for name, value in json.loads(body).items()}
    return (PACKED + _json(event), values) if values else (body, {})


def _packed(value: Any, values: dict[str, bytes]) -> tuple[Any, int]:
    """Return a value with references for the large ones in it, and its most bytes as JSON; 0 if it has references."""
    whole = value
    match value:
        case str():
            most = 6 * len(value) + 2  # an escaped control character has six
        case {"$blob": _, **others} if not others:
            most = 0  # it looks like a reference
        case dict():
            parts = {name: _packed(each, values) for name, each in cast("dict[str, Any]", value).items()}
            most = 2 + sum(6 * len(name) + 4 + size for name, (_, size) in parts.items())
            if not all(size for _, size in parts.values()):
                return {name: each for name, (each, _) in parts.items()}, 0
        case list():
            items = [_packed(each, values) for each in cast("list[Any]", value)]
            most = 2 + sum(1 + size for _, size in items)
            if not all(size for _, size in items):
                return [each for each, _ in items], 0
        case int() | float():
            return value, len(str(value))
        case _:
            return value, 5
    if 0 < most <= BLOB_ABOVE:
        return whole, most
    content = _json(whole).encode()
    # A list or object that names a digest stays in the body, where it is looked for.
    if most and (len(content) <= BLOB_ABOVE or (not isinstance(value, str) and DIGEST.encode() in content)):
        return whole, len(content)
    digest = digest_of(content)
    values[digest] = content
    return {"$blob": digest}, 0


def unpack(body: str, values: Mapping[str, bytes]) -> str:
    """Return the body of an event as it was. Raises ValueError if one of its values is not among ``values``."""
    if not body.startswith(PACKED):
        return body
    try:
        return REFERENCE.sub(lambda found: values[found[1]].decode(), body[len(PACKED) :])
    except KeyError as error:
        raise ValueError(f"its value {error} is missing") from error


def values_of(connection: Connection, bodies: Iterable[str]) -> dict[str, bytes]:
    """Return the values that these bodies refer to, as far as the database has them."""
    digests = {digest for body in bodies if body.startswith(PACKED) for digest in REFERENCE.findall(body)}
    found: dict[str, bytes] = {}
    for condition, parameters in among("digest", [(digest,) for digest in sorted(digests)]):
        rows = connection.execute(f"SELECT digest, body FROM blobs WHERE {condition}", parameters)  # noqa: S608
        found |= {digest: content for digest, body in rows if (content := bytes_of(body)) is not None}
    return found


def bytes_of(body: object) -> bytes | None:
    """Return the body of a blob; None if it is damaged and has another type."""
    return body if isinstance(body, bytes) else None


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
