"""The files of a new project: a manifest, a tool, a worker, and a test of them."""

from __future__ import annotations

import json
from pathlib import Path

from leadhand.app.project.config_files import MANIFEST, unwritten
from leadhand.core.errors import ConfigurationError, UsageError

MANIFEST_TEXT = """\
# The project: every command finds this file from here, and from the directories below.
name = {name}
tools = ["tools.py"]
toolsets = []  # built-in tools to add, such as "web"
worker_files = ["workers/*.worker"]
generated_workers_dir = "generated"  # workers that are made during runs

[models]
# default = "openai:gpt-5"

[limits]
# budget = 1.0  # US dollars. A model whose price is not known is then refused.

[approve]
"*" = "ask"
"""
TOOLS = '''\
"""The tools of this project."""

from leadhand import tool

OPENING_HOURS = {"saturday": "10:00 to 14:00", "sunday": "closed"}


@tool(effect="pure")
def opening_hours(day: str) -> str:
    """Return the opening hours on a day of the week.

    Args:
        day: The day, such as Monday.
    """
    return OPENING_HOURS.get(day.strip().lower(), "9:00 to 17:00")
'''
WORKER = """\
---
name: receptionist
description: Answers questions about the opening hours.
tools: [opening_hours]
limits:
  max_turns: 5
---
Answer the request from what opening_hours returns. Do not guess: if it returns nothing for a day, say so.
"""
TEST = '''\
"""Tests of this project, without a model and without a network. Run them with: pytest"""

from pathlib import Path

from leadhand import Leadhand

PROJECT = Path(__file__).parent


def test_a_request_is_answered_with_the_tool_of_the_project(tmp_path):
    lead = Leadhand.of_project(PROJECT, model="offline", home=tmp_path)
    assert "10:00 to 14:00" in lead.run_sync("opening hours on Saturday").text


def test_the_worker_of_the_project_leads_a_run(tmp_path):
    lead = Leadhand.of_project(PROJECT, model="offline", home=tmp_path)
    answer = lead.run_sync("opening hours on Saturday", worker="receptionist")
    assert "10:00 to 14:00" in answer.text
'''


def write_project(directory: Path) -> list[Path]:
    """Write the files of a new project, and return their paths. No file is replaced.

    Raises UsageError if one of them exists, and then writes none, and for a file in place of the directory;
    ConfigurationError if they cannot be written.
    """
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory} is a file, not a directory", "Name a directory: leadhand init DIR")
    name = json.dumps(directory.resolve().name[:100], ensure_ascii=False)
    files = {
        directory / MANIFEST: MANIFEST_TEXT.format(name=name),
        directory / "tools.py": TOOLS,
        directory / "workers" / "receptionist.worker": WORKER,
        directory / "test_project.py": TEST,
    }
    for file in files:
        if file.exists() or file.is_symlink():
            how = "Choose another directory: leadhand init DIR. An existing project needs no leadhand init."
            raise UsageError(f"{file} exists, and leadhand init replaces no file", how)
    try:
        for file, text in files.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("x", encoding="utf-8") as new:
                new.write(text)
    except OSError as error:
        how = "Choose a directory in which you may write."
        raise ConfigurationError(unwritten(error), how) from error
    return list(files)
