"""The gate's own checks: pointers lead where their standard says, conditions are met or not, schemas fit or not."""

from __future__ import annotations

from typing import Any

import pytest

from leadhand.core.work_order import Unresolved, pointed, references, renamed, resolved
from leadhand.core.work_result import ResultData
from leadhand.engine.gate import schema_flaw, schema_problems

DOCUMENT = {"a": [{"b/c": 1, "d~e": 2}, 3], "": 4, "01": 5, "n": None}


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("", DOCUMENT),
        ("/a/0/b~1c", 1),
        ("/a/0/d~0e", 2),
        ("/a/1", 3),
        ("/", 4),
        ("/01", 5),
        ("/n", None),
    ],
)
def test_a_pointer_leads_where_its_standard_says(pointer: str, value: Any):
    assert pointed(DOCUMENT, pointer) == value


@pytest.mark.parametrize(
    "pointer", ["/b", "/a/2", "/a/-1", "/a/x", "/a/01", "/a/²", "a", "a/1", "summary", "/n/x", "/a/1/x"]
)
def test_a_pointer_to_nothing_and_what_is_no_pointer_lead_nowhere(pointer: str):
    with pytest.raises(Unresolved):
        pointed(DOCUMENT, pointer)


def test_what_does_not_fit_a_schema_is_said_in_one_sentence_each_and_at_most_eight():
    schema = {"type": "array", "items": {"type": "integer"}}

    assert schema_problems(schema, [1, 2]) == []
    (problem,) = schema_problems(schema, [1, "two"])
    assert problem.startswith('1: "two"')
    assert len(schema_problems(schema, ["x"] * 99)) == 8


def test_a_reference_stands_anywhere_in_an_argument():
    to = {"$result": {"subtask": "0", "path": "/raw/n"}}
    args = {"record": {"n": [to, 1]}, "m": "text"}

    assert references(args) == ["0"]
    args = renamed(args, lambda name: f"wo-001.{name}")
    assert references(args) == ["wo-001.0"]
    needs = {"wo-001.0": ResultData(summary="7", raw={"n": 7})}
    assert resolved(args, needs) == {"record": {"n": [7, 1]}, "m": "text"}
    assert resolved(args, {}) == {"m": "text"}, "a part that leads nowhere leaves the whole argument to a worker"


def test_a_reference_that_leads_nowhere_is_left_to_a_worker():
    to = {"$result": {"subtask": "wo-001.0", "path": "/raw/n"}}
    assert resolved({"n": to, "m": 1}, {}) == {"m": 1}
    assert resolved({"n": to, "m": 1}, {"wo-001.0": ResultData(summary="2")}) == {"m": 1}


def doubling(levels: int, reference: str) -> dict[str, Any]:
    """A schema of a few lines that stands for as many parts as two to the power of its levels."""
    parts: dict[str, Any] = {"part-0": {"type": "string"}}
    for level in range(1, levels + 1):
        named = {"$ref": reference.format(level - 1)}
        parts[f"part-{level}"] = {"allOf": [named, named]}
    return {"type": "object", "$defs": parts, "properties": {"a": {"$ref": reference.format(levels)}}}


def test_a_schema_whose_check_would_never_end_is_refused():
    assert "5,000,000" in schema_flaw(doubling(40, "#/$defs/part-{}"))


@pytest.mark.parametrize("reference", ["#part-{}", "elsewhere#/$defs/part-{}", "#/$defs/none-{}", "#/%24defs/part-{}"])
def test_a_reference_that_is_no_pointer_into_the_schema_is_refused(reference: str):
    assert schema_flaw(doubling(1, reference))


@pytest.mark.parametrize("place", ["{}", "+{}", "00{}"])
def test_references_to_places_in_lists_are_refused(place: str):
    """The levels are items of one list, and each refers to the previous one twice."""
    twice = [{"allOf": [{"$ref": "#/items/anyOf/" + place.format(level)}] * 2} for level in range(40)]
    levels = [{"type": "string"}, *twice]
    named = {"$ref": "#/items/anyOf/" + place.format(40)}
    schema = {"type": "object", "items": {"anyOf": levels}, "properties": {"a": named}}
    assert "cannot be used: refer to parts" in schema_flaw(schema)


def test_what_references_stand_for_is_looked_for_in_a_bounded_number_of_places():
    """Each of many references may begin at each of many identifiers, or stand for each of many anchors."""
    identified = {f"p{n}": {"$id": f"a{n}", "$ref": f"#/x{n}"} for n in range(20_000)}
    anchored = {f"p{n}": {"$anchor": "a", "$ref": "#a"} for n in range(20_000)}
    for parts in (identified, anchored):
        assert schema_flaw({"type": "object", "properties": parts})


def test_a_place_in_a_list_with_thousands_of_digits_leads_nowhere():
    named = {"$ref": "#/items/anyOf/" + "9" * 5_000}
    schema = {"type": "object", "items": {"anyOf": [{}]}, "properties": {"a": named}}
    assert "cannot be used: refer to parts" in schema_flaw(schema)


def test_a_long_chain_of_references_is_refused():
    parts: dict[str, Any] = {f"part-{n}": {"$ref": f"#/$defs/part-{n + 1}"} for n in range(20_000)}
    schema = {"type": "object", "$defs": {**parts, "part-20000": {}}, "properties": {"a": {"$ref": "#/$defs/part-0"}}}
    assert schema_flaw(schema)


def test_a_schema_that_refers_to_itself_or_often_to_one_part_is_none_of_these():
    node = {
        "$id": "https://example.com/node",
        "type": "object",
        "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}},
    }
    often = {"type": "object", "properties": {f"p{n}": {"$ref": "#/$defs/part-8"} for n in range(50)}}
    for schema in (node, doubling(8, "#/$defs/part-{}") | often):
        assert schema_flaw(schema) == ""
    (problem,) = schema_problems(node, {"left": {"right": {"left": 1}}})
    assert problem.startswith("left.right.left: 1 ")
