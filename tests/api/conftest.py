"""Teams for the tests of the Python door: a scripted lead, tools that leave a trace, homes of their own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leadhand.core.conversation import AssistantMessage
from leadhand.core.limits import Usage
from leadhand.ports.models import ModelProfile, ModelReply, ModelRequest


class LeadOf:
    """A lead that plans ``calls`` of one tool (its name and the arguments of each) and accepts what succeeds."""

    def __init__(self, tool: str, calls: list[dict[str, Any]]) -> None:
        self._plan = {
            "goal": "test",
            "subtasks": [{"name": f"piece_{n}", "tool": tool, "args": args} for n, args in enumerate(calls)],
        }

    def profile(self, model: str) -> ModelProfile:
        return ModelProfile(name=model, free=True)

    async def ask(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        facts = json.loads(request.messages[1].text)
        value: dict[str, Any] | None = None
        text = ""
        if request.output is None:
            text = "; ".join(result["summary"] for result in facts["results"]) or "nothing"
        elif request.output.name == "plan":
            value = self._plan
        else:
            verdicts = [
                {"subtask": s["subtask"], "verdict": "accept" if s["status"] == "completed" else "drop"}
                for s in facts["subtasks"]
            ]
            value = {"verdicts": verdicts, "complete": all(v["verdict"] == "accept" for v in verdicts)}
        return ModelReply(message=AssistantMessage(text=text), value=value, usage=Usage(nanousd=0))

    async def aclose(self) -> None:
        """Nothing to close."""


@pytest.fixture
def lead_of() -> type[LeadOf]:
    return LeadOf


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"
