"""``--output-schema``: the answer as JSON, on stdout and in the run document."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli.conftest import CommandLine

from leadhand.cli.app import main

SCHEMA = {
    "type": "object",
    "properties": {"location": {"type": "string"}, "temperature_max": {"type": "number"}},
    "required": ["location", "temperature_max"],
}


@pytest.fixture
def home(tmp_path: Path) -> str:
    return str(tmp_path / "home")


def schema(tmp_path: Path, content: object = SCHEMA) -> str:
    path = tmp_path / "schema.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


def test_the_value_is_printed_and_kept(capsys: pytest.CaptureFixture[str], tmp_path: Path, home: str) -> None:
    words = ["run", "--offline", "--home", home, "What is the weather in Paris?", "--output-schema", schema(tmp_path)]
    assert main(words) == 0
    out = capsys.readouterr()
    value = json.loads(out.out)
    assert value["location"] == "Paris"
    assert isinstance(value["temperature_max"], float)
    run_id = next(line.split()[1] for line in out.err.splitlines() if line.startswith("run "))
    assert main(["runs", "show", run_id, "--home", home, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["value"] == value
    assert "Paris" in document["answer"]
    assert main(["runs", "show", run_id, "--home", home]) == 0
    assert '"location": "Paris"' in capsys.readouterr().out


def test_what_cannot_be_shaped_leaves_stdout_empty_and_the_text_on_stderr(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, home: str
) -> None:
    wrong = {"type": "object", "properties": {"price": {"type": "number"}}, "required": ["price"]}
    words = ["run", "--offline", "--home", home, "What is the weather in Paris?"]
    assert main([*words, "--output-schema", schema(tmp_path, wrong)]) == 3
    out = capsys.readouterr()
    assert out.out == ""
    assert "Paris" in out.err
    assert "price" in out.err


@pytest.mark.parametrize(
    ("content", "named"), [(None, "absent.json"), ("{", "schema.json"), ("[]", "JSON"), ({"type": "array"}, "object")]
)
def test_a_schema_that_cannot_be_used_is_refused(
    leadhand: CommandLine, tmp_path: Path, content: object, named: str
) -> None:
    path = str(tmp_path / "absent.json") if content is None else schema(tmp_path, content)
    for command in ("run", "report", "research"):
        leadhand(command, "--offline", "--output-schema", path, "What is the weather in Paris?").refused(named)
