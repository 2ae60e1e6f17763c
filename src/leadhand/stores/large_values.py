"""Large values of events, stored once: in their place, the body of an event refers to a payload by digest.

Arguments, plans, summaries and answers go through many events of a run, and through its forks. A text, list or object
of more than 4 kB is written as ``{"$stored":"sha256:…"}``, and a body with such references begins with ``@``, which no
JSON does. Payloads are plain JSON without references of their own, so a body names all that it needs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

from leadhand.domain.artifact import digest_of
from leadhand.domain.work_result import BLOB_ABOVE

from .connection import Connection, among

PACKED = "@"
KEY = '"$stored"'
REFERENCE = re.compile(r'\{"\$stored":"(sha256:[0-9a-f]{64})"\}')
DIGEST = '"sha256:'


def pack(body: str) -> tuple[str, dict[str, bytes]]:
    """Return the body of an event with references for its large values, and these values by digest."""
    if len(body) <= BLOB_ABOVE or KEY in body:
        return body, {}
    values: dict[str, bytes] = {}
    event = {name: _packed(value, values)[0] for name, value in json.loads(body).items()}
    return (PACKED + _json(event), values) if values else (body, {})


def _packed(value: Any, values: dict[str, bytes]) -> tuple[Any, bool]:
    """Return a value with references for the large ones in it, and whether it has any."""
    inside = False
    match value:
        case dict():
            parts = {name: _packed(each, values) for name, each in cast("dict[str, Any]", value).items()}
            inside = any(found for _, found in parts.values())
            value = {name: each for name, (each, _) in parts.items()}
        case list():
            items = [_packed(each, values) for each in cast("list[Any]", value)]
            inside = any(found for _, found in items)
            value = [each for each, _ in items]
        case str():
            if len(value) * 4 <= BLOB_ABOVE:
                return value, False
        case _:
            return value, False
    if inside:
        return value, True
    content = _json(value).encode()
    # A list or object that names a digest stays in the body, where it is looked for.
    if len(content) <= BLOB_ABOVE or (not isinstance(value, str) and DIGEST.encode() in content):
        return value, False
    digest = digest_of(content)
    values[digest] = content
    return {"$stored": digest}, True


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
        found |= {digest: bytes(content) for digest, content in rows}
    return found


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
