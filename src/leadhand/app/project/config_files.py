"""Files that people write: their values are checked, and an error names the file, the line and the nearest name."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from leadhand.core.errors import ConfigurationError
from leadhand.core.text import did_you_mean
from leadhand.core.value import is_list, is_object, json_problem, shown
from leadhand.flows.refused_options import field_names

V = TypeVar("V", bound=BaseModel)
Place = Sequence[str | int]
"""The place of a value in a file: the keys that lead to it."""
LineOf = Callable[[Place], int]
LARGEST_FILE = 1_000_000
"""Bytes of such a file, at most."""
MANIFEST = "leadhand.toml"
"""The manifest of a project."""


def find_manifest(start: Path) -> Path | None:
    """Return the manifest of a directory, or of the nearest one above it; None without one."""
    here = start.resolve()
    return next((found for each in (here, *here.parents) if (found := each / MANIFEST).is_file()), None)


def read_text(path: Path) -> str:
    """Return a file as text. Raises ConfigurationError if it is missing, too large, or not UTF-8."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
        text = content.decode()
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise fault(path, line, "the file is not valid UTF-8", "Save it as UTF-8.") from error
    except OSError as error:
        how = "Check the path, and that you may read the file."
        raise ConfigurationError(f"cannot read {path}: {error.strerror or error}", how) from error
    if len(content) > LARGEST_FILE:
        raise ConfigurationError(f"{path} is larger than {LARGEST_FILE:,} bytes", "Move long texts into other files.")
    return text.removeprefix("\ufeff")


def line_in(text: str, place: Place) -> int:
    """Return the line of the innermost key of a place that begins a line of TOML or YAML, or of its table."""
    at = 0
    for key in (each for each in place if isinstance(each, str)):
        name = rf"""["']?{re.escape(key)}["']?"""
        found = re.compile(rf"^[ \t]*(\[+[^\]\n]*\b)?{name}[ \t]*[=.\]:]", re.MULTILINE).search(text, at)
        if found is None:
            break
        at = found.start()
    return text.count("\n", 0, at) + 1


def unwritten(error: OSError, file: Path | None = None) -> str:
    """Return that a file could not be written, and why; ``file`` if the error does not name it."""
    return f"cannot write {file or error.filename}: {error.strerror or error}"


def fault(path: Path | str, line: int, what: str, how: str) -> ConfigurationError:
    """Return an error at a line of a file."""
    return ConfigurationError(f"{path}:{line}: {what}", how)


def validated(kind: type[V], data: object, path: Path | str, line_of: LineOf) -> V:
    """Return the content of a file as a value, without converting texts to numbers or the like.

    Raises ConfigurationError for the first fault. ``line_of`` finds the line of a place.
    """
    if problem := json_problem(data):
        what = f"a value cannot be stored as JSON: {problem}"
        raise fault(path, line_of(_problem_place(data)), what, "Write a number, or a text in quotes.")
    try:
        return kind.model_validate_json(json.dumps(data), strict=True)
    except ValidationError as error:
        found = error.errors(include_url=False)[0]
        place = found["loc"]
        place = place[:-1] if place[-1:] in (("str",), ("float",)) else place  # a member of a union
        name, known = ".".join(map(str, place)), field_names(kind, place[:-1])
        match found["type"]:
            case "extra_forbidden":
                what = f"unknown key {shown(place[-1])}"
                how = f"Use one of: {', '.join(known)}.{did_you_mean(str(place[-1]), known)}"
            case "missing":
                what, how = f"{name} is missing", f"Add {name}."
            case _:
                said = str(found.get("ctx", {}).get("error") or shown(found["input"]))
                what, how = f"invalid value for {name or 'the file'}: {said}", f"Correct it: {found['msg']}."
        raise fault(path, line_of(place), what, how) from error


def _problem_place(data: object, place: tuple[str | int, ...] = ()) -> tuple[str | int, ...]:
    """Return the place of the innermost value that JSON does not have, such as a date."""
    items = data.items() if is_object(data) else enumerate(data) if is_list(data) else ()
    return next((_problem_place(value, (*place, key)) for key, value in items if json_problem(value)), place)
