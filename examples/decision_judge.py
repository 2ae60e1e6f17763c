"""A judge of your own: a decision model, which answers typed questions with probabilities and writes no text.

pydantic-ai reaches such models as ``system-one:NAME`` (any server with that API, such as Ollama: set
``SYSTEM_ONE_BASE_URL``), ``openai-decisions:NAME`` and ``google-decisions:NAME``. Measure yours before you rely on it:
``uv run python -m benchmarks.judge --verifier examples.decision_judge:judge``.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from leadhand import Claim, ClaimDoubt, Leadhand, Verdicts, tool

if TYPE_CHECKING:
    from pydantic_ai.models import Model

MOST_LINES = 100
"""Of the evidence, to choose from."""
NOT_DONE = "not_done"
QUESTION = "What does this claim of an answer to the request rest on? Judge it by the evidence and the calls alone."
WHERE = "Which line of the evidence contradicts this claim?"
VERDICTS = {
    "confirmed": "The evidence says it, perhaps rounded, shortened or translated.",
    "derived": "It follows from the evidence or the request by arithmetic or comparison.",
    "own_words": "It states nothing that evidence could show: advice, wording, a heading, general knowledge.",
    "unconfirmed": "It states something that the evidence does not show.",
    "contradicted": "The evidence says otherwise.",
    NOT_DONE: "It says that something was done, sent, paid or booked, and no call did it.",
}


class DecisionJudge:
    """Judges each claim with one question, and has the model choose the line of the evidence that contradicts it.

    ``model`` is a name or a decision model of pydantic-ai. A contradiction that is less probable than ``sure`` is a
    doubt only. Parts of the request that an answer leaves out are not looked for.
    """

    def __init__(self, model: str | Model[Any] = "system-one:clm-latest", *, sure: float = 0.5) -> None:
        self.name = model if isinstance(model, str) else model.model_name
        self._model = model
        self._sure = sure

    async def verify(
        self, claims: Sequence[Claim], evidence: Mapping[str, Any], calls: Sequence[Any], request: str
    ) -> Verdicts:
        from pydantic_ai.models import infer_model  # takes seconds, and few runs have this judge
        from pydantic_ai.models.decision import ChoiceQuestion, DecisionModel, DecisionRequest

        model = infer_model(self._model)  # answers are judged on several threads: each has clients of its own
        if not isinstance(model, DecisionModel):
            raise TypeError(f"{self.name} writes texts: use it as the review model, not as a verifier")
        state: Any = {"request": request, "evidence": evidence, "calls": calls}

        async def choices(
            about: Sequence[Claim], asks: str, options: Mapping[int, Mapping[str, str]]
        ) -> dict[int, Any]:
            questions: Any = {
                f"claim_{each.n}": ChoiceQuestion(instructions=f"{asks} {_shown(each)}", criteria={**options[each.n]})
                for each in about
            }
            answers = (await model.decide(DecisionRequest(state=state, questions=questions), {})).answers
            return {each.n: answers[f"claim_{each.n}"] for each in about}

        async with model:
            judged = await choices(claims, QUESTION, dict.fromkeys([each.n for each in claims], VERDICTS))
            denied = [each for each in claims if judged[each.n].choice == "contradicted"]
            lines = {each.n: dict(islice(_lines(each, evidence), MOST_LINES)) for each in denied}
            several = [each for each in denied if len(lines[each.n]) > 1]  # else there is nothing to choose
            where = await choices(several, WHERE, lines) if several else {}
        verdicts: dict[int, str] = {}
        doubts: list[ClaimDoubt] = []
        for claim in claims:
            verdict = judged[claim.n].choice
            probability = judged[claim.n].probabilities[verdict]
            why = f"{self.name} finds this {verdict.replace('_', ' ')} with a probability of {probability:.0%}."
            doubt = ClaimDoubt(claim=claim.n, part=claim.text, why=why, action=verdict == NOT_DONE)
            if lines.get(claim.n):
                line = where[claim.n].choice if claim.n in where else next(iter(lines[claim.n]))
                doubt = doubt.evolve(evidence=line.partition(" ")[2], quote=lines[claim.n][line])
            if verdict in ("unconfirmed", "contradicted", NOT_DONE):
                doubts.append(doubt)
            if verdict in ("contradicted", NOT_DONE):
                verdict = "contradicted" if probability >= self._sure else "unconfirmed"
            verdicts[claim.n] = verdict
        return Verdicts.model_validate({"verdicts": verdicts, "doubts": doubts})


def _shown(claim: Claim) -> str:
    about = {"claim": claim.text, "header": claim.header, "path": claim.path, "cites": claim.cites}
    return json.dumps({name: value for name, value in about.items() if value}, ensure_ascii=False)


def _lines(claim: Claim, evidence: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the sentences and values of the evidence that a claim cites, or of all, each after its number and key."""
    number = 0
    for key in [key for key in claim.cites if key in evidence] or evidence:
        for leaf in _leaves(evidence[key]):
            for line in filter(None, map(str.strip, re.split(r"(?<=[.!?])\s+|\n", leaf))):
                number += 1
                yield f"{number} {key}", line


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        for each in cast("Iterable[Any]", value.values() if isinstance(value, dict) else value):
            yield from _leaves(each)
    elif value is not None:
        yield str(value)


def judge() -> DecisionJudge:
    """Return the judge that the environment names."""
    return DecisionJudge(os.environ.get("DECISION_MODEL", "system-one:clm-latest"))


@tool
def price_tool(article: str) -> dict[str, Any]:
    """Look up the price of an article."""
    return {"article": article, "price_eur": 104.5}


def main() -> int:
    lead = Leadhand(tools=[price_tool], verifier=judge())
    answer = lead.run_sync("What does the X200 cost?")
    print(answer)
    return 0 if answer.status == "succeeded" else 1


if __name__ == "__main__":
    sys.exit(main())
