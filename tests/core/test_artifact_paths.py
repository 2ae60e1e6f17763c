"""Values and paths that come through the doors: within limits, and never out of their folder."""

from __future__ import annotations

import ntpath
import posixpath
import unicodedata
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from leadhand.core.artifact import LONGEST_NAME, LONGEST_PATH, MAX_DEPTH, confined
from leadhand.core.errors import UsageError
from leadhand.core.value import LARGEST, TOO_DEEP, json_problem

# Pieces that paths are attacked with, mixed with letters.
WINDOWS, UNICODE = ("\\", ":", "C:", "NUL", "com1"), ("é", "e\u0301", "\u202e", "\uff0f", "\uff0e")
pieces = st.text(max_size=4) | st.sampled_from(("/", "//", ".", "..", "~", "\0", " ", ".txt", *WINDOWS, *UNICODE))
paths = st.lists(pieces, max_size=8).map("".join) | st.text(max_size=30)


def accepted(path: str) -> str | None:
    try:
        return confined(path)
    except UsageError as error:
        str(error).encode()  # whatever the path is, the message can be printed
        return None


@given(paths)
@example("a/./b//c.txt")
@example("\ud800")
def test_an_accepted_path_stays_in_its_folder_on_every_system(path: str) -> None:
    found = accepted(path)
    if found is None:
        return
    for system, root in ((posixpath, "/runs/1"), (ntpath, "C:\\runs\\1")):
        joined = system.normpath(system.join(root, found))
        assert joined.startswith(root + system.sep)
        assert joined.removeprefix(root + system.sep).replace("\\", "/") == found, "nothing is left to normalise"
    for form in ("NFC", "NFKC", "NFD", "NFKD"):
        folded = unicodedata.normalize(form, found)
        assert folded.count("/") == found.count("/")
        assert ".." not in folded.split("/")
    assert len(found.encode()) <= LONGEST_PATH
    assert all(name.isprintable() for name in found.split("/"))


@given(paths)
def test_the_normal_form_of_a_path_is_its_own(path: str) -> None:
    found = accepted(path)
    assert found is None or confined(found) == found


@given(paths)
def test_two_spellings_of_a_path_are_one(path: str) -> None:
    found = accepted(path)
    if found is not None:
        assert accepted(unicodedata.normalize("NFD", found)) == found
        assert accepted("./" + found.replace("/", "/.//")) == found


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("notes.md", "notes.md"),
        ("memory/a b/ÄÖ 世界 🎈.txt", "memory/a b/ÄÖ 世界 🎈.txt"),
        ("./a//b/./c", "a/b/c"),
        ("cafe\u0301.md", "caf\u00e9.md"),
        (".hidden", ".hidden"),
        ("console.log", "console.log"),
        ("a..b/c...d", "a..b/c...d"),
        ("x" * LONGEST_NAME, "x" * LONGEST_NAME),
    ],
)
def test_usual_names_are_accepted(path: str, found: str) -> None:
    assert confined(path) == found


@pytest.mark.parametrize(
    "path",
    [
        "",
        ".",
        "/etc/passwd",
        "//server/share",
        "..",
        "a/../../b",
        "a/",
        "a/.",
        "a\\b",
        "C:/windows",
        "file:stream",
        "a\0b",
        "a\nb",
        "~/x",
        "a/~root",
        "a ",
        " a/b",
        "a./b",
        "...",
        "a\uff0fb",
        "\uff0e\uff0e/a",
        "\u2025/a",
        "a\u202etxt.exe",
        "a\u200bb",
        "a\u00a0b",
        "a\ud800b",
        "x" * (LONGEST_NAME + 1),
        "é" * (LONGEST_NAME // 2 + 1),
        "/".join(["x" * 190] * 3),
        "/".join("x" * (MAX_DEPTH + 1)),
    ],
)
def test_a_path_that_leaves_its_folder_anywhere_is_refused(path: str) -> None:
    with pytest.raises(UsageError, match="is not a path for an artifact"):
        confined(path)


def nested(levels: int, inner: Any = 0) -> Any:
    """A value of this many levels, lists and objects in turn."""
    for level in range(levels):
        inner = [inner] if level % 2 else {"a": inner}
    return inner


@pytest.mark.parametrize("levels", [200, 240, 254, 300, 900, 100_000])
def test_however_deep_a_value_is_the_reason_is_the_same(levels: int) -> None:
    assert json_problem(nested(levels)) == TOO_DEEP


def test_a_large_value_is_refused_with_its_size_and_the_limit() -> None:
    assert json_problem("x" * (LARGEST - 2)) == ""
    assert all(f"{each:,}" in json_problem(["x" * LARGEST]) for each in (LARGEST + 4, LARGEST))


def test_what_json_does_not_have_is_refused() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    for value in (float("nan"), float("inf"), object(), {1, 2}, b"x", 10**5_000, cycle):
        assert json_problem(value)
