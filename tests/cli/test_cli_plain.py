"""The plain reader and the parser read the same, wherever the plain reader reads at all."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from leadhand.cli import parser, plain
from leadhand.domain.errors import UsageError

PLAIN = [
    "run hello",
    "run 'several words' --offline",
    "run --offline",
    "run --offline hello --json",
    "run hello --model=ollama:llama3.1 --lead-model x --worker-model y --review-model z",
    "run hello --max-steps 2 --max-workers=100 --batch-size 5 --budget 0.5 --timeout 60",
    "run hello --budget 1e-3 --approve never --detach",
    "run hello --approve ask --approve 'tool:send_*=auto' --approval-timeout 60 --allow-unknown-price",
    "approvals list --json",
    "approvals approve 1a2b --args '{}' --always --reason 'why not'",
    "approvals deny 1a2b --reason no",
    "approvals settle run_01:wo-001.0/t0/c0 --did-not",
    "approvals settle 1a2b --happened --summary x --result '[1]' --home /tmp/x",
    "run hello --tools a.py --tools b.c --home /tmp/x --database sqlite:///x.db --debug",
    "run hello --home= --model=",
    "run -- --not-a-flag",
    "run ''",
    "runs list",
    "runs list --status running --text x --limit 5 --json --home /tmp",
    "runs show run_01 --seq 3",
    "runs resume --all",
    "runs resume run_01 --tools a.py --stream-json",
    "runs export run_01 --html --output x.html",
    "runs export run_01 --output -",
    "run - --json",
    "run --json -",
    "tools list --tools a.py",
    "tools call weather_tool location=Paris days=2 --offline --json",
    "tools call weather_tool",
    "doctor --json",
]
NOT_PLAIN = [
    "",
    "--help",
    "run --help",
    "run -h",
    "rn hello",
    "runs",
    "runs shw",
    "run hello there",
    "run hello --nope",
    "run hello --model",
    "run hello --model --offline",
    "run hello --budget -1",
    "run hello --offline --offline",
    "run hello --budget 1 --budget 2",
    "run hello --offline=true",
    "runs show",
    "tools call",
]


def comparable(call: tuple[Any, Any, dict[str, Any]]) -> tuple[Any, list[Any], dict[str, Any]]:
    function, args, keywords = call
    return function, [arg for arg in args if arg is not None], keywords


@pytest.mark.parametrize("line", PLAIN)
def test_a_plain_line_is_read_as_the_parser_reads_it(line: str) -> None:
    words = shlex.split(line)
    read = plain.read(words)

    assert read is not None
    assert comparable(read) == comparable(parser.parse(words))


@pytest.mark.parametrize("line", NOT_PLAIN)
def test_what_is_not_plain_is_left_to_the_parser(line: str) -> None:
    assert plain.read(shlex.split(line)) is None


@pytest.mark.parametrize("line", ["run hello --max-steps 1.5", "run hello --budget a", "runs list --limit many"])
def test_a_value_that_is_no_number_is_refused_at_once(line: str) -> None:
    with pytest.raises(UsageError, match="Give a "):
        plain.read(shlex.split(line))


def test_a_dash_is_a_request() -> None:
    read = plain.read(["run", "-", "--offline"])

    assert read is not None
    assert read[1] == ["-"]
