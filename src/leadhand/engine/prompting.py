"""The prompts: one Markdown file a role, read once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from leadhand.domain.conversation import Message, SystemMessage, UserMessage
from leadhand.flows.flow import Brief


@cache
def prompt(name: str) -> str:
    """The instructions in ``prompts/<name>.md``."""
    return (files("leadhand.engine") / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()


def opening(brief: Brief, instructions: Mapping[str, str]) -> tuple[Message, ...]:
    """How a conversation begins: the role's instructions (those of the run, by prompt, else those that ship), then its
    facts as one JSON object."""
    return (
        SystemMessage(text=instructions.get(brief.prompt) or prompt(brief.prompt)),
        UserMessage(text=json.dumps(brief.facts, ensure_ascii=False)),
    )
