"""``--solo``, ``--worker`` and ``--inputs`` on the command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.conftest import CommandLine

RULES = '''
from leadhand.flows import OfflineRequest


def shout(facts, request: OfflineRequest):
    """Answer in capitals; there is no answer to what begins with "bad"."""
    text = facts.get("input") or facts["request"]
    return None if text.startswith("bad") else text.upper()


OFFLINE = {"shouter": shout}
'''


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project with a worker, in which commands are given."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "shouter.worker").write_text("---\nname: shouter\n---\nShout.\n")
    (folder / "shout_rules.py").write_text(RULES)
    (folder / "leadhand.toml").write_text('worker_files = ["*.worker"]\noffline_rules = ["shout_rules.py"]\n')
    monkeypatch.chdir(folder)
    yield folder
    sys.modules.pop("shout_rules", None)


def inputs(folder: Path, *lines: str) -> str:
    (folder / "inputs.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return "inputs.jsonl"


def test_one_worker_with_every_tool(leadhand: CommandLine) -> None:
    result = leadhand("run", "--offline", "--solo", "What is the weather in Paris?", "--json")
    assert (result.code, result.json["flow"], result.json["calls"]) == (0, "solo", 1)
    assert [each["worker"] for each in result.json["steps"]] == ["solo"]


def test_a_worker_of_the_project(leadhand: CommandLine) -> None:
    result = leadhand("run", "--offline", "--worker", "shouter", "hello")
    assert (result.code, result.out.strip()) == (0, "HELLO")
    leadhand("run", "--offline", "--worker", "nobody", "hello").refused("nobody")


def test_each_line_of_a_file_has_a_result_in_its_order(leadhand: CommandLine, project: Path) -> None:
    file = inputs(project, '"one"', "", '"bad one"', '{"input": "three"}', '"one"')
    result = leadhand.process("run", "--offline", "--worker", "shouter", "--inputs", file)
    assert result.code == 3, result.err
    lines = [json.loads(line) for line in result.out.splitlines()]
    assert [each["ok"] for each in lines] == [True, False, True, True]
    assert [each.get("text") for each in lines] == ["ONE", None, "THREE", "ONE"]
    assert lines[1]["error"]["class"]
    assert leadhand.listing()["flow"] == "map"


def test_inputs_from_stdin_and_the_document(leadhand: CommandLine) -> None:
    flags = ("run", "--offline", "--worker", "shouter", "--inputs", "-", "--json")
    result = leadhand.process(*flags, input='"one"\n"two"\n')
    assert (result.code, result.json["value"]) == (0, ["ONE", "TWO"])


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (("--solo", "--worker", "shouter", "x"), "--solo"),
        (("--solo", "--flow", "report", "x"), "--flow"),
        (("--worker", "shouter", "--flow", "report", "x"), "--worker"),
        (("--inputs", "inputs.jsonl"), "worker"),
        (("--worker", "shouter", "--inputs", "inputs.jsonl", "x"), "inputs"),
        (("--worker", "shouter", "--inputs", "none.jsonl"), "none.jsonl"),
        (("--worker", "shouter", "--inputs", "broken.jsonl"), "broken.jsonl:2"),
        (("--worker", "shouter", "--inputs", "empty.jsonl"), "inputs"),
        (("--worker", " ", "x"), "is not a worker"),
        (("--solo", "--plan-only", "x"), "solo"),
    ],
)
def test_what_excludes_each_other_or_cannot_be_read(
    leadhand: CommandLine, project: Path, flags: tuple[str, ...], named: str
) -> None:
    inputs(project, '"one"')
    (project / "broken.jsonl").write_text('"one"\ntwo\n')
    (project / "empty.jsonl").write_text("\n")
    leadhand("run", "--offline", *flags).refused(named)
