"""Who judges, how strictly, with which model and within which limits; typed answers, own flows and streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from leadhand import Leadhand, Worker
from leadhand.core.work_result import Claim, ClaimVerdict
from leadhand.flows import FlowContext, flow
from leadhand.testing.scripted_model import ScriptedModel, brief_of, calls
from leadhand.verify.judge import ClaimDoubt, Verdicts

from .judges import Fickle, confirms, contradicts, every
from .runs import play
from .scenes import HONEST
from .transcripts import Scene, tools_of

PRINTERS = HONEST["two printers"]
assert isinstance(PRINTERS, Scene)
TEXT = replace(PRINTERS, shape=0)
"""Without a typed answer."""
DOUBTS = every("unconfirmed", evidence="wo-001.0")


@pytest.mark.parametrize("check", ["judge", "exact", "off"])
async def test_a_run_is_checked_as_it_asks_for(check: str, tmp_path: Path) -> None:
    played = await play(TEXT, tmp_path, text=f"{TEXT.text}\n\nSo it is [99].", check=check)
    document = played.answer.document
    assert (document["status"], document["answer"]) == ("succeeded", played.text)
    assert len(played.asked) == (check == "judge")
    assert played.evidence["judged_by"] == ("custom" if check == "judge" else None)
    counts = tuple(played.evidence[each] for each in ("confirmed", "unconfirmed", "not_checked"))
    rest = len(document["claims"]) - 1
    assert counts == {"judge": (rest, 1, 0), "exact": (0, 1, rest), "off": (0, 0, rest + 1)}[check]


@pytest.mark.parametrize(("judge", "status"), [(confirms, "succeeded"), (DOUBTS, "partial")])
async def test_a_strict_run_is_partial_if_anything_is_doubted(judge: Any, status: str, tmp_path: Path) -> None:
    played = await play(TEXT, tmp_path, judge, strict=True)
    assert (played.answer.status.value, played.answer.text, played.answer.gaps) == (status, played.text, ())
    assert (played.writings, played.corrections) == (1, 0)


@pytest.mark.parametrize(
    ("models", "name"),
    [
        ({"model": "a"}, "a"),
        ({"model": "a", "lead_model": "b"}, "b"),
        ({"model": "a", "lead_model": "b", "worker_model": "w", "review_model": "c"}, "c"),
    ],
)
async def test_the_judge_is_the_review_model_else_that_of_the_lead(
    models: dict[str, str], name: str, tmp_path: Path
) -> None:
    played = await play(TEXT, tmp_path, **models)
    assert [each.model for each in played.requests if each.worker == "judge"] == [name]
    assert played.evidence["judged_by"] == name


async def test_a_model_cannot_say_that_somebody_else_judged(tmp_path: Path) -> None:
    played = await play(TEXT, tmp_path, lambda request: {**confirms(request), "judged_by": "a person"})
    assert played.evidence["judged_by"] == "custom"


@pytest.mark.parametrize("requests", range(1, 10))
@pytest.mark.parametrize("judge", [lambda: confirms, Fickle])
async def test_a_run_with_little_left_is_judged_or_says_that_it_is_not(
    judge: Any, requests: int, tmp_path: Path
) -> None:
    played = await play(TEXT, tmp_path, judge(), max_requests=requests, worker_calls="always")
    assert len(played.requests) <= requests
    used = played.answer.document["usage"]["requests"]
    assert used == len(played.requests)
    if requests >= 5:
        assert played.answer.text == played.text
        assert played.asked, "what the judge needs is held back from the start"
        assert played.answer.status.value == ("partial" if requests < 8 else "succeeded")
        assert played.evidence["contradicted"] == 0


# --- a verifier of one's own -----------------------------------------------------------------------------------------


class Own:
    """A verifier that contradicts a price, and keeps what it was given."""

    name = "my rules"

    def __init__(self) -> None:
        self.given: list[tuple[Sequence[Claim], Mapping[str, Any], Sequence[Any], str]] = []

    async def verify(
        self, claims: Sequence[Claim], evidence: Mapping[str, Any], calls: Sequence[Any], request: str
    ) -> Verdicts:
        self.given.append((claims, evidence, calls, request))
        wrong = [each for each in claims if "€104.50" in each.text]
        verdicts = dict.fromkeys((each.n for each in claims), ClaimVerdict.CONFIRMED)
        verdicts |= dict.fromkeys((each.n for each in wrong), ClaimVerdict.CONTRADICTED)
        proof = {"why": "no", "evidence": "wo-001.1", "quote": '"price_eur":104.5'}
        return Verdicts(verdicts=verdicts, doubts=tuple(ClaimDoubt(claim=e.n, part="€104.50", **proof) for e in wrong))


class Raising(Own):
    name = ""

    async def verify(self, *_: Any) -> Verdicts:
        self.given.append(_)  # type: ignore[arg-type]
        raise RuntimeError("the service is away")


class Odd(Raising):
    async def verify(self, *_: Any) -> Any:
        self.given.append(_)  # type: ignore[arg-type]
        return {"verdicts": {"1": "contradicted"}}


async def test_a_verifier_of_ones_own_judges_in_place_of_a_model(tmp_path: Path) -> None:
    own = Own()
    played = await play(TEXT, tmp_path, verifier=own)
    assert played.asked == []
    assert played.evidence["judged_by"] == "my rules"
    assert [each["part"] for each in played.evidence["doubts"]] == ["€104.50"]
    assert (played.answer.status.value, played.corrections, len(own.given)) == ("partial", 1, 2)
    claims, evidence, made, request = own.given[0]
    assert [each.n for each in claims] == [each["n"] for each in played.answer.document["claims"]]
    assert evidence["wo-001.1"]["returned"]["price_eur"] == 104.5
    assert {each["tool"] for each in made} == {"price_lookup", "stock_lookup"}
    assert request == TEXT.request


@pytest.mark.parametrize("verifier", [Raising, Odd])
async def test_a_verifier_that_fails_leaves_the_claims_unchecked(verifier: type[Own], tmp_path: Path) -> None:
    own = verifier()
    played = await play(TEXT, tmp_path, verifier=own)
    assert (played.answer.status.value, played.answer.text) == ("succeeded", played.text)
    assert played.evidence["not_checked"] == len(played.answer.document["claims"])
    assert played.corrections == 0
    assert own.given


# --- typed answers, own flows, streams -------------------------------------------------------------------------------


async def test_each_leaf_of_a_typed_answer_is_judged(tmp_path: Path) -> None:
    played = await play(PRINTERS, tmp_path)
    (brief,) = played.asked
    paths = [each["path"] for each in brief["claims"] if "path" in each]
    assert len(paths) == 15
    assert paths[:2] == ["/models/0/article", "/models/0/price_eur"]
    assert played.answer.document["value"] == played.value


LOOK = Worker("look", "Look it up.", tools=("price_lookup",))


@flow
async def each(run: FlowContext) -> str:
    """Have one worker look up each article, and join what they say."""
    return "\n".join(map(str, await run.gather(run.ask(LOOK, article=f"X{n}00") for n in (1, 2))))


@pytest.mark.parametrize(("judge", "status"), [(Fickle(), "succeeded"), (contradicts, "partial")])
async def test_a_text_that_a_flow_joined_is_judged_twice_and_never_rewritten(
    judge: Any, status: str, tmp_path: Path
) -> None:
    def reply(request: Any) -> Any:
        if request.worker == "judge":
            return judge(request)
        article = brief_of(request)["article"]
        done = any(each.role == "tool" for each in request.messages)
        return f"The {article} has a warranty." if done else calls("price_lookup", article=article)

    model = ScriptedModel(reply)
    tools = tools_of("shop")
    async with Leadhand(models=model, flows=[each], tools=tools, home=tmp_path, check="judge") as lead:
        answer = await lead.run("Which warranties?", flow="each")
    assert answer.status.value == status
    assert answer.text == "The X100 has a warranty.\nThe X200 has a warranty."
    assert [each.worker for each in model.requests] == ["look"] * 4 + ["judge"] * 2


async def test_a_streamed_text_is_a_draft_until_it_is_judged(tmp_path: Path) -> None:
    pieces: dict[str, str] = {}

    def on_text(run_id: str, attempt: str, piece: str) -> None:
        pieces[attempt] = pieces.get(attempt, "") + piece

    played = await play(HONEST["memo"], tmp_path, Fickle(), corrected="Nothing is sure.", on_text=on_text)
    shown = {attempt.split("/")[0]: text for attempt, text in pieces.items()}
    assert played.answer.text == "Nothing is sure."
    assert [text for key, text in shown.items() if key.startswith("correct-")] == ["Nothing is sure."]
    assert shown["memo"] == played.text
    assert not any(key.startswith("judge") for key in shown)
