"""JSON of servers that do not write it well is read as far as a log can keep it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadhand.core.conversation import ToolCall
from leadhand.models.answers import decode_json


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        ('\ufeff{"a": 1}', {"a": 1}),
        (b'{"a": "\xff"}', {"a": "�"}),
        ('{"a": "\\ud83d", "\\ude00": 1}', {"a": "?", "?": 1}),
        ('{"a": "\\ud83d\\ude00"}', {"a": "😀"}),
        ('{"a": "\ud83d"}', {"a": "?"}),
        ("[NaN]", None),
    ],
)
def test_marks_halves_and_stray_bytes_do_no_harm(written: str | bytes, value: Any) -> None:
    found = decode_json(written)
    if value is not None:
        assert found == value
    assert ToolCall.model_validate_json(ToolCall(id="", name="", arguments={"x": found}).model_dump_json())


@pytest.mark.parametrize("written", ["[NaN]", '{"a": -Infinity}', '["\\ud83d", NaN]'])
def test_what_is_no_number_is_refused_where_it_matters(written: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode_json(written, finite=True)


@pytest.mark.parametrize("written", ["", "{", '{"a": 1', "<html>", "[" * 100_000, '{"a":' * 500 + "1" + "}" * 500])
def test_what_is_no_json_is_an_error_and_nothing_worse(written: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode_json(written)


@given(st.text(alphabet=st.characters()) | st.binary())
def test_anything_decodes_or_raises_a_value_error(written: str | bytes) -> None:
    try:
        found = decode_json(written)
    except ValueError:
        return
    json.dumps(found)
