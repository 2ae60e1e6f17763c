"""References to secrets: the text that stands for a secret wherever a value is written or shown.

A reference is ``[secret:sec_…]``, as a whole value or within a text. Text from elsewhere that looks like one is escaped
with a tilde, ``[~secret:…]``, and one that is escaped already gets another tilde.
"""

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from .value import Json, compact_json, is_list, is_object, object_of

REFERENCE = re.compile(r"\[secret:(sec_[0-9A-Za-z_]+)\]")
LOOKS_LIKE_ONE = "secret:"
"""What each reference has, and each escaped one."""
_REFERENCE_OR_ESCAPED = re.compile(rf"{REFERENCE.pattern}|\[~(~*{LOOKS_LIKE_ONE})")
_HOST = re.compile(r"(?:(?:https?|wss?|ftp):|//)[/\\]*([^/?#\"\s]+)", re.IGNORECASE)
"""The host of a URL within JSON, as the most lenient programs read it, with whatever may hide another one."""
_STYLES = (compact_json, partial(json.dumps, ensure_ascii=False), json.dumps, partial(json.dumps, indent=2))


class Secret(NamedTuple):
    """A secret of a run: its id, the source of the call that returned it, the name of the tool, and its value as JSON.

    ``origin`` is what :func:`source_of` returns, ``""`` for what the program itself wrote, and :data:`OF_REQUEST` or
    :data:`OF_MODEL` for what a person or a model wrote.
    """

    secret_id: str
    origin: str
    tool: str
    value: str

    @property
    def words(self) -> str:
        """What people read of it."""
        hosts = self.origin.split("\n")[1:]
        returned = f"a secret that {self.tool} returned{' from ' * bool(hosts)}{' and '.join(hosts)}"
        return returned if self.tool else f"a secret of {self.origin or 'the program'}"


Path = tuple[str | int, ...]
Placed = tuple[Path, list[Secret]]
"""The path of a secret in a value, and what it is for each source that returned it."""
OF_REQUEST, OF_MODEL = "the request", "a model"


def reference_to(secret_id: str) -> str:
    """Return the text that stands for a secret."""
    return f"[secret:{secret_id}]"


def escaped(text: str) -> str:
    """Return a text from elsewhere so that nothing in it is a reference."""
    return re.sub(rf"\[(~*{LOOKS_LIKE_ONE})", r"[~\1", text) if LOOKS_LIKE_ONE in text else text


def secrets_in(value: Json) -> Iterator[str]:
    """Yield the ids of the secrets to which the texts of a value refer."""
    written = value if isinstance(value, str) else compact_json(value)
    return (found[1] for found in REFERENCE.finditer(written)) if LOOKS_LIKE_ONE in written else iter(())


def has_secret(value: Json) -> bool:
    """Whether a value refers to a secret."""
    return next(secrets_in(value), None) is not None


def revealed(value: Json, find: Callable[[str], Json]) -> Json:
    """Return a value with what ``find`` returns for the id of each secret in place of its references, and with what is
    escaped as it was."""
    if is_object(value):
        return {str(revealed(name, find)): revealed(each, find) for name, each in value.items()}
    if is_list(value):
        return [revealed(each, find) for each in value]
    if not isinstance(value, str) or LOOKS_LIKE_ONE not in value:
        return value
    if whole := REFERENCE.fullmatch(value):
        return find(whole[1])
    if read := read_json(value):
        inner, write = read
        return write(revealed(inner, find))
    return _REFERENCE_OR_ESCAPED.sub(lambda found: as_text(find(found[1])) if found[1] else f"[{found[2]}", value)


def as_text(value: Json) -> str:
    """Return a secret as it stands within a text."""
    return value if isinstance(value, str) else compact_json(value)


def read_json(text: str) -> tuple[Json, Callable[[Json], str]] | None:
    """Return an object or list that a text is as JSON, and what writes it the same way; None for any other text."""
    body = text.strip()
    if body[:1] not in ("{", "["):
        return None
    try:
        value = json.loads(body)
        write = next((each for each in _STYLES if each(value) == body), None)
    except (ValueError, RecursionError):
        return None
    before, after = text[: text.index(body)], text[text.index(body) + len(body) :]
    return None if write is None else (value, lambda changed: f"{before}{write(changed)}{after}")


def source_of(origin: str, args: Json) -> str:
    """Return where a call sends its arguments: the origin of its tool, and each host of a URL in them in a line."""
    return "\n".join([origin, *sorted({each.lower().rstrip("\\") for each in _HOST.findall(compact_json(args))})])


def is_own(secret: Secret, source: str) -> bool:
    """Whether all to whom a call sends its arguments have returned a secret, which came from one of them."""
    return set(source.split("\n")) <= set(secret.origin.split("\n"))


def declares_secret(schema: Json, path: Path) -> bool:
    """Whether a JSON schema of arguments declares the value at ``path`` to be a secret: ``"format": "password"`` or
    ``"writeOnly": true``, as OpenAPI and Pydantic's ``SecretStr`` have it."""
    return any(_declared(schema, schema, path, 20))


def _declared(whole: Json, part: Json, path: Path, deepest: int) -> Iterator[bool]:
    if not is_object(part) or not deepest:
        return
    yield part.get("format") == "password" or part.get("writeOnly") is True
    inner = [each for name in ("anyOf", "oneOf", "allOf") for each in part.get(name) or ()]
    if str(part.get("$ref", "")).startswith("#/"):
        target = whole
        for name in part["$ref"][2:].split("/"):
            target = object_of(target).get(name)
        inner.append(target)
    for each in inner:
        yield from _declared(whole, each, path, deepest - 1)
    if path and isinstance(path[0], int):
        yield from _declared(whole, part.get("items"), path[1:], deepest - 1)
    elif path:
        yield from _declared(whole, object_of(part.get("properties")).get(str(path[0])), path[1:], deepest - 1)


def places_of_secrets(value: Json, *path: str | int) -> Iterator[tuple[Path, str]]:
    """Yield the path of each text of a value that refers to a secret, with the id of the secret. A name is such a text,
    too: its path ends with itself."""
    if is_object(value) or is_list(value):
        for name, each in value.items() if is_object(value) else enumerate(value):
            yield from (((*path, name), found) for found in secrets_in(str(name)))
            yield from places_of_secrets(each, *path, name)
    elif isinstance(value, str):
        yield from ((path, found) for found in secrets_in(value))
