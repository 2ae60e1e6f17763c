"""Worker files: what they define, and what a person reads if one is malformed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadhand.app.project.declared_workers import tool_names
from leadhand.app.project.worker_files import load_worker_file, parse_worker, worker_text
from leadhand.core.errors import ConfigurationError
from leadhand.core.tool import ToolSpec
from leadhand.flows.seam.function import Worker

WHOLE = """---
# a comment
name: pitch_evaluator
description: Evaluates one pitch deck.
model: openai:gpt-5
tools: [weather_tool]
toolsets:
  - web
limits:
  max_turns: 5
  budget: 0.5
output:
  type: object
  properties: {score: {type: integer}}
---

# Task

Judge decks.
"""


def test_a_worker_file_is_front_matter_and_instructions() -> None:
    worker = parse_worker(WHOLE, "x.worker")
    assert worker.name == "pitch_evaluator"
    assert worker.model == "openai:gpt-5"
    assert worker.limits == {"max_turns": 5, "budget": 0.5}
    assert worker.instructions == "# Task\n\nJudge decks."
    assert worker.output is not None


def test_a_worker_has_the_tools_that_it_names_and_those_of_its_toolsets() -> None:
    tools = [
        ToolSpec(name="weather_tool", description="w", parameters={}),
        ToolSpec(name="web_search", description="s", parameters={}, toolset="web"),
        ToolSpec(name="pay", description="p", parameters={}),
        ToolSpec(name="worker_create", description="c", parameters={}, toolset="dynamic_workers"),
    ]
    worker = parse_worker(WHOLE, "x.worker")
    assert tool_names(worker, tools) == ("weather_tool", "web_search")
    assert tool_names(worker.version(tools=("*",)), tools) == ("weather_tool", "web_search", "pay"), (
        "making workers has to be named"
    )


@pytest.mark.parametrize(
    ("text", "line", "named"),
    [
        ("", 1, ""),
        ("name: x\n", 1, ""),
        ("---\nname: x\n", 1, ""),
        ("---\nname: x\n---\n  \n", 3, ""),
        ("---\n---\nDo it.", 2, ""),
        ("---\n- name\n---\nDo it.", 2, ""),
        ("---\ndescription: y\n---\nDo it.", 1, "name"),
        ("---\nname: x\nnme: y\n---\nDo it.", 3, "'nme'"),
        ("---\nname: x\nlimits:\n  max_turn: 3\n---\nDo it.", 4, "'max_turn'"),
        ("---\nname: x\nlimits:\n  max_turns: many\n---\nDo it.", 4, "limits.max_turns"),
        ("---\nname: x\nlimits:\n  max_turns: 0\n---\nDo it.", 4, "limits.max_turns"),
        ("---\nname: ../x\n---\nDo it.", 2, "name"),
        ("---\nname: 3\n---\nDo it.", 2, "name"),
        ("---\nname: x\ntools: weather_tool\n---\nDo it.", 3, "tools"),
        ("---\nname: x\nname: y\n---\nDo it.", 3, "name"),
        ("---\nname: x\nlimits:\n  max_requests: 1\n  max_requests: 9\n---\nDo it.", 5, "line 4"),
        ("---\nname: x\nsettings:\n- {a: 1}\n- {b: 1, b: 1}\n---\nDo it.", 5, "b is given twice"),
        ("---\nname: x\ntools: [a\n---\nDo it.", 3, "YAML"),
        ("---\nname: x\nmodel: *m\n---\nDo it.", 1, "aliases"),
        ("---\nname: !!python/object:os.system x\n---\nDo it.", 2, "YAML"),
        ("---\nname: x\noutput: {type: array}\n---\nDo it.", 3, "output"),
        ("---\nname: x\ninput:\n  type: object\n  default: 2024-01-01\n---\nDo it.", 5, ""),
        ("---\nname: x\ninstructions: y\n---\nDo it.", 3, "'instructions'"),
        ("---\nname: x\nsource: y\n---\nDo it.", 3, "'source'"),
        ("---\nname: x\nyes: y\n---\nDo it.", 3, "'yes'"),
        ("---\nname: x\n~: y\n---\nDo it.", 3, "'~'"),
        ("---\nname: x\n<<: {model: y}\n---\nDo it.", 3, "'<<'"),
        ("---\nname: x\nlimits:\n  <<: {budget: 9}\n---\nDo it.", 4, "'<<'"),
        ("---\nname: x\nlimits:\n  budget: .nan\n---\nDo it.", 4, ""),
        ("---\nname: x\ntools:\n- a\n- 2024-01-01\n---\nDo it.", 3, ""),
        ('---\nname: x\ndescription: "\\ud800"\n---\nDo it.', 3, "UTF-8"),
        ("---\nname: x\n? [a]\n: y\n---\nDo it.", 3, "YAML"),
        ("---\nname: x\n\tmodel: y\n---\nDo it.", 3, "YAML"),
        ("---\nname: x\nmodel: \x07\n---\nDo it.", 3, "YAML"),
        ("---\r\nname: x\r\ntool: [a]\r\n---\r\nDo it.", 3, "'tool'"),
    ],
)
def test_a_malformed_file_is_refused_with_the_line(text: str, line: int, named: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        parse_worker(text, "x.worker")
    assert refused.value.what.startswith(f"x.worker:{line}: "), refused.value.what
    assert named in refused.value.what
    assert refused.value.how


def test_a_file_has_the_name_of_its_worker(tmp_path: Path) -> None:
    file = tmp_path / "other.worker"
    file.write_text("---\nname: x\n---\nDo it.")
    with pytest.raises(ConfigurationError, match=r"other\.worker.* x"):
        load_worker_file(file)
    good = file.rename(tmp_path / "x.worker")
    assert load_worker_file(good).name == "x"


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"x\.worker"):
        load_worker_file(tmp_path / "x.worker")
    (tmp_path / "x.worker").write_bytes(b"---\nname: x\n---\n\xff")
    with pytest.raises(ConfigurationError, match=r"x\.worker:4: .*UTF-8"):
        load_worker_file(tmp_path / "x.worker")
    (tmp_path / "x.worker").write_bytes(b"-" * 1_000_001)
    with pytest.raises(ConfigurationError, match="1,000,000"):
        load_worker_file(tmp_path / "x.worker")


TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=60)


@given(
    name=st.from_regex(r"[A-Za-z][A-Za-z0-9_\-]{0,20}", fullmatch=True),
    description=TEXTS,
    model=st.none() | TEXTS.filter(bool),
    tools=st.lists(TEXTS, max_size=3).map(tuple),
    budget=st.none() | st.floats(0, 1e6),
    instructions=TEXTS.filter(lambda text: text.strip()) | st.just("one\u2028two\n\n---\nthree"),
)
def test_what_is_written_is_read_back(
    name: str, description: str, model: str | None, tools: tuple[str, ...], budget: float | None, instructions: str
) -> None:
    worker = Worker(
        name=name,
        description=description,
        model=model,
        tools=tools,
        limits=None if budget is None else {"budget": budget},
        instructions=instructions.strip(),
    )
    assert parse_worker(worker_text(worker, "by run_1\nMarch"), "x.worker") == worker
