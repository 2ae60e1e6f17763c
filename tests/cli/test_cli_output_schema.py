"""``--output-schema``: the answer as JSON, on stdout and in the run document."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli.conftest import CommandLine

WEATHER = ("run", "--offline", "What is the weather in Paris?")
SCHEMA = {
    "type": "object",
    "properties": {"location": {"type": "string"}, "temperature_max": {"type": "number"}},
    "required": ["location", "temperature_max"],
}


def schema(tmp_path: Path, content: object = SCHEMA) -> str:
    path = tmp_path / "schema.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


def test_the_value_is_printed_and_kept(leadhand: CommandLine, tmp_path: Path) -> None:
    result = leadhand(*WEATHER, "--output-schema", schema(tmp_path))
    assert (result.code, result.json["location"]) == (0, "Paris")
    assert isinstance(result.json["temperature_max"], float)
    run_id = leadhand.listing()["run_id"]
    document = leadhand("runs", "show", run_id, "--json").json
    assert (document["value"], "Paris" in document["answer"]) == (result.json, True)
    assert '"location": "Paris"' in leadhand("runs", "show", run_id).out


def test_what_cannot_be_shaped_leaves_stdout_empty_and_the_text_on_stderr(
    leadhand: CommandLine, tmp_path: Path
) -> None:
    wrong = {"type": "object", "properties": {"price": {"type": "number"}}, "required": ["price"]}
    result = leadhand(*WEATHER, "--output-schema", schema(tmp_path, wrong))
    assert (result.code, result.out, "Paris" in result.err, "price" in result.err) == (3, "", True, True)


@pytest.mark.parametrize(
    ("content", "named"), [(None, "absent.json"), ("{", "schema.json"), ("[]", "JSON"), ({"type": "array"}, "object")]
)
def test_a_schema_that_cannot_be_used_is_refused(
    leadhand: CommandLine, tmp_path: Path, content: object, named: str
) -> None:
    path = str(tmp_path / "absent.json") if content is None else schema(tmp_path, content)
    for command in ("run", "report", "research"):
        leadhand(command, "--offline", "--output-schema", path, "What is the weather in Paris?").refused(named)
