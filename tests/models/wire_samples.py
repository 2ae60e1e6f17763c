"""Answers as chat-completions servers write them, and how they are read."""

from __future__ import annotations

from typing import Any

from asking import GIVE_UP, WEATHER, asking, spec

from leadhand.models.answers import priced
from leadhand.models.openai.answers import reply_of, usage_of
from leadhand.models.openai.forms import Form
from leadhand.ports.models import ModelProfile, ModelRequest

MODEL = "openai_compatible:m"
WORK = asking({"task": "work"}, tools=[spec(WEATHER), GIVE_UP], model=MODEL)


def answer(message: dict[str, Any], **choice: Any) -> dict[str, Any]:
    return {"choices": [{"message": message, **choice}], "usage": {"prompt_tokens": 5, "completion_tokens": 3}}


def read(document: dict[str, Any], request: ModelRequest = WORK, form: Form | None = None) -> Any:
    usage = priced(usage_of(document), request, ModelProfile(name=MODEL), None)
    return reply_of(document, request, form or Form(), adapter="openai_compatible", usage=usage)
