"""Scripted judges, and the briefs of the requests of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from leadhand.core.work_order import Step
from leadhand.ports.models import ModelRequest
from leadhand.testing.scripted_model import ScriptedModel, brief_of


class Wrong(NamedTuple):
    """Words of a claim that the evidence under ``key`` contradicts with the words of ``quote``."""

    words: str
    key: str
    quote: str


def judge(*wrong: Wrong, missing: tuple[Mapping[str, str], ...] = ()) -> Callable[[ModelRequest], Any]:
    """Return a judge that confirms every claim, but contradicts those with words that are wrong."""

    def reply(request: ModelRequest) -> Any:
        claims = brief_of(request)["claims"]
        doubts = [
            {"claim": each["n"], "part": words, "why": quote, "evidence": key, "quote": quote}
            for each in claims
            for words, key, quote in wrong
            if words in each["text"]
        ]
        verdicts = {str(each["n"]): "confirmed" for each in claims}
        verdicts |= {str(each["claim"]): "contradicted" for each in doubts}
        return {"verdicts": verdicts, "doubts": doubts, "missing": list(missing)}

    return reply


def contradicting(step: Step, n: int, wrong: Wrong) -> dict[str, Any]:
    """Return the reply of a judge that contradicts the claim ``n`` if it is among those of a step."""
    verdicts = {str(each): "contradicted" if each == n else "confirmed" for each in step.input["claims"]}
    return {
        "verdicts": verdicts,
        "doubts": [{"claim": n, "part": wrong.words, "evidence": wrong.key, "quote": wrong.quote}],
    }


def step_of(request: ModelRequest) -> str:
    """Return the step that a request belongs to."""
    return request.key.split("/")[1]


def briefs(scripted: ScriptedModel, name: str) -> list[dict[str, Any]]:
    """Return the briefs of a worker, or of a step, in the order of the requests."""
    return [brief_of(each) for each in scripted.requests if name in (each.worker, step_of(each))]
