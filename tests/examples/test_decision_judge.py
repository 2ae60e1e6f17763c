"""A judge of one's own: the decision model of the example, in a run and behind a server."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from examples.test_own_parts import loaded
from pydantic_ai.models.decision import ChoiceAnswer, DecisionModel, DecisionRequest, DecisionResponse
from pydantic_ai.models.test import TestModel as WritingModel

from leadhand import Answer, Claim, Leadhand
from leadhand.testing.scripted_model import ScriptedModel, gives, plans, reviews, says, subtask
from leadhand.verify.judge import Findings, checked_reply

EXAMPLE = loaded("decision_judge.py")
EVIDENCE: dict[str, Any] = {
    "p1": {"passage": "The lamp draws 70 watts. It was made in 1989.", "title": "Lamps"},
    "p2": {"passage": "The tower is 30 metres high."},
}


def choices(questions: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[str, float]]:
    """Choose an option for each question: what is said of watts is false, what is booked is not done."""
    found: dict[str, tuple[str, float]] = {}
    for name, question in questions.items():
        asked, options = question["instructions"], question["criteria"]
        if "confirmed" not in options:
            found[name] = (next(key for key, line in options.items() if "70 watts" in line or "104.5" in line), 0.9)
        elif "booked" in asked:
            found[name] = ("not_done", 0.8)
        elif "90" in asked:
            found[name] = ("contradicted", 0.4 if "perhaps" in asked else 0.9)
        else:
            found[name] = ("confirmed", 0.7)
    return found


class Decides(DecisionModel[None]):
    """A decision model without a server."""

    model_name = "stub"  # type: ignore[assignment]
    system = "stub"  # type: ignore[assignment]
    base_url = None  # type: ignore[assignment]

    async def decide(self, request: DecisionRequest, model_settings: Any) -> DecisionResponse:
        questions = {name: vars(question) for name, question in request.questions.items()}
        answers: dict[str, Any] = {
            name: ChoiceAnswer(choice=chosen, confidence=sure, probabilities={chosen: sure})
            for name, (chosen, sure) in choices(questions).items()
        }
        return DecisionResponse(answers=answers, model_name="stub")


async def judged(judge: Any, *texts: str, cites: tuple[str, ...] = ()) -> Findings:
    claims = [Claim(n=n, text=text, cites=cites) for n, text in enumerate(texts, start=1)]
    found = await judge.verify(claims, EVIDENCE, [], "About the lamp")
    return checked_reply(found.model_dump(mode="json"), claims, EVIDENCE, "About the lamp")


async def test_a_contradiction_quotes_the_line_that_the_model_chooses() -> None:
    found = await judged(EXAMPLE.DecisionJudge(Decides()), "It draws 90 watts", "It was made in 1989")
    assert found.verdicts == {1: "contradicted", 2: "confirmed"}
    (doubt,) = found.doubts
    assert (doubt.n, doubt.quote, doubt.evidence) == (1, "The lamp draws 70 watts.", "p1")


async def test_an_action_that_no_call_did_is_contradicted_without_a_quotation() -> None:
    found = await judged(EXAMPLE.DecisionJudge(Decides()), "I have booked a table")
    assert (found.verdicts, [each.quote for each in found.doubts]) == ({1: "contradicted"}, [None])


async def test_a_contradiction_that_is_not_probable_is_a_doubt() -> None:
    found = await judged(EXAMPLE.DecisionJudge(Decides()), "It perhaps draws 90 watts")
    assert found.verdicts == {1: "unconfirmed"}


async def test_a_model_that_writes_is_refused() -> None:
    with pytest.raises(TypeError):
        await judged(EXAMPLE.DecisionJudge(WritingModel()), "It draws 70 watts")


def test_a_run_is_judged_by_it(tmp_path: Path) -> None:
    plan = plans(subtask("price of the X200", "price_tool", article="X200"))
    text = "The X200 costs 104.50 euros.\n\nI have booked one for you."
    model = ScriptedModel(plan=[plan], work=says("It costs 104.5 euros."), review=reviews(answer=text))
    model.on(lambda request: "/correct-" in request.key, says(text))  # the writer insists
    model.on(lambda request: request.worker == "confirm", gives({"missing": []}))
    with model:
        lead = Leadhand(
            models=model,
            tools=[EXAMPLE.price_tool],
            home=tmp_path,
            check="judge",
            verifier=EXAMPLE.DecisionJudge(Decides()),
        )
        answer: Answer[Any] = lead.run_sync("What does the X200 cost?")
    assert answer.status == "partial"
    assert answer.document["answer"] == text
    evidence = answer.document["evidence"]
    assert (evidence["confirmed"], evidence["contradicted"], evidence["judged_by"]) == (1, 1, "stub")
    assert [each["part"] for each in evidence["doubts"]] == ["I have booked one for you."]


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[list[dict[str, Any]]]:
    """A server with the API of decision models, at the address in the environment; the requests that it got."""
    seen: list[dict[str, Any]] = []

    async def answer(request: web.Request) -> web.Response:
        seen.append(body := await request.json())
        answers: dict[str, Any] = {}
        for name, (chosen, sure) in choices(body["questions"]).items():
            others = [key for key in body["questions"][name]["criteria"] if key != chosen]
            shares = {chosen: sure, **dict.fromkeys(others, (1 - sure) / max(len(others), 1))}
            answers[name] = {"type": "choice", "choice": chosen, "confidence": sure, "probabilities": shares}
        return web.json_response({"model": "clm", "answers": answers, "usage": {"input_tokens": 5, "output_tokens": 1}})

    app = web.Application()
    app.router.add_post("/v1/systemone", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    monkeypatch.setenv("SYSTEM_ONE_BASE_URL", f"http://127.0.0.1:{runner.addresses[0][1]}")
    yield seen
    await runner.cleanup()


async def test_the_name_of_a_model_reaches_its_server(server: list[dict[str, Any]]) -> None:
    found = await judged(EXAMPLE.DecisionJudge("system-one:clm"), "It draws 90 watts", cites=("p1",))
    assert found.verdicts == {1: "contradicted"}
    assert [each["model"] for each in server] == ["clm", "clm"]
    assert server[0]["state"] == {"request": "About the lamp", "evidence": EVIDENCE, "calls": []}
    assert set(server[1]["questions"]["claim_1"]["criteria"].values()) == {
        "The lamp draws 70 watts.",
        "It was made in 1989.",
        "Lamps",
    }


def test_the_example_imports_pydantic_ai_only_to_judge() -> None:
    path = Path(EXAMPLE.__file__)
    code = f"import runpy, sys; runpy.run_path({str(path)!r}); sys.exit('pydantic_ai' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
